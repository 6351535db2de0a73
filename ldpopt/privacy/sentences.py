"""What notions that compare averages promise of one report, in words, and for which prior.

As in `ldpopt.foundation.sentences`, each sentence is printed where it is true. A promise is about
one prior, or about distributions of the answer given a secret. Under others it need not hold, but
for one case: if each ordered pair of answers is compared on its own, as pure privacy does, the same
bound follows for all averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.foundation.sentences import Sentence, Topic, at_most_text
from ldpopt.privacy.comparisons import Comparisons

MOST = 6  # answers that are named


@dataclass(frozen=True, eq=False)
class NotionFacts:
    """A notion on some inputs."""

    privacy: Any
    inputs: Names

    @property
    def kind(self) -> str:
        """The kind of the notion, as in model files."""
        return str(self.privacy.kind)

    @cached_property
    def comparisons(self) -> Comparisons:
        """The comparisons of the notion; only for notions that have some."""
        found: Comparisons = self.privacy.comparisons(read_alphabet(self.inputs))
        return found

    @property
    def count(self) -> int:
        """Number of comparisons."""
        return len(self.comparisons)

    @property
    def pairs(self) -> int:
        """Number of ordered pairs of inputs."""
        return self.comparisons.n * (self.comparisons.n - 1)

    @cached_property
    def factors(self) -> list[Any]:
        """The largest allowed ratio of each comparison, rounded up, in ascending order."""
        return sorted(high for _, high in self.comparisons.enclosures)

    @property
    def least(self) -> str:
        """The smallest of the factors."""
        return at_most_text(self.factors[0])

    @property
    def most(self) -> str:
        """The largest of the factors."""
        return at_most_text(self.factors[-1])

    @property
    def budget(self) -> str:
        """The factor of the notion's budget."""
        return at_most_text(self.privacy.epsilon.enclosure()[1])

    @property
    def bounds(self) -> str:
        """The factor and the addition of each point of a curve."""
        return bounds_text(self.privacy.points)

    @property
    def name(self) -> str:
        """The class of the notion."""
        return type(self.privacy).__name__

    @cached_property
    def compares_all_pairs(self) -> bool:
        """Whether each ordered pair of inputs is compared on its own.

        Then every average of entries has the same bound against every other one. Else there is a
        channel that satisfies all comparisons, and another prior, or other distributions, for
        which it does not: bounds of averages that are not implied by pairs of entries are cut by a
        column that has its weight at one answer.
        """
        sides = zip(self.comparisons.over, self.comparisons.under, strict=True)
        single = {(*over, *under) for over, under in sides if len(over) == len(under) == 1}
        return sum(x != other for x, other in single) == self.pairs

    @property
    def impossible(self) -> str:
        """Names of the answers to which the prior of the notion gives no weight."""
        weights = self.privacy.weights(self.inputs)
        names = [label for label, weight in zip(self.inputs, weights, strict=True) if not weight]
        return ", ".join(map(str, names[:MOST])) + (", ..." * (len(names) > MOST))

    @cached_property
    def chain(self) -> Any:
        """The pair that two others protect most beyond its budget, of a table of budgets; else
        None.
        """
        return self.privacy.tightest_chain(self.inputs)

    @property
    def is_both_ways(self) -> bool:
        """Whether secrets are compared in both orders."""
        compared = set(self.privacy.compared)
        return all((other, name) in compared for name, other in compared)


PROMISE = Topic(
    "promise",
    (
        Sentence(
            "leakage",
            lambda facts: facts.kind == "leakage",
            "Whatever a reader wants to guess about a person's answer, one report multiplies the "
            "chance to be right by a factor of at most {facts.most}, if the reader expects the "
            "answers as often as in the prior of this notion.",
        ),
        Sentence(
            "information",
            lambda facts: facts.kind == "information",
            "One report multiplies the probability of each answer by a factor from 1/{facts.most} "
            "to {facts.most}, for a reader who expects the answers as often as in the prior of "
            "this notion.",
        ),
        Sentence(
            "secrets",
            lambda facts: facts.kind == "secrets" and facts.is_both_ways,
            "One report changes the odds between two secrets that are compared by a factor of at "
            "most {facts.most}, if the answer depends on the secret as this notion states.",
        ),
        Sentence(
            "secrets in one order",
            lambda facts: facts.kind == "secrets",
            "One report raises the odds of the first secret of a compared pair against the second "
            "by a factor of at most {facts.most}, if the answer depends on the secret as this "
            "notion states.",
        ),
        Sentence(
            "one factor",
            lambda facts: facts.kind == "pairwise" and facts.least == facts.most,
            "A report is at most {facts.most} times as likely under the first answer of a pair as "
            "under the second, for {facts.count:,} of the {facts.pairs:,} ordered pairs.",
        ),
        Sentence(
            "pairs",
            lambda facts: facts.kind == "pairwise",
            "A report is at most some times as likely under the first answer of a pair as under "
            "the second: from {facts.least} times to {facts.most} times, for {facts.count:,} of "
            "the {facts.pairs:,} ordered pairs.",
        ),
        Sentence(
            "bounds",
            lambda facts: facts.kind == "cone",
            "Of each report, {facts.count:,} averages over answers are bounded by other averages: "
            "the probability under the first is at most some times that under the second, and at "
            "most {facts.most} times.",
        ),
        Sentence("all", lambda facts: facts.kind == "all", "Several promises hold at once."),
    ),
)
"""What one report may tell, for each kind of notion that compares averages."""

DEPENDS = Topic(
    "depends on",
    (
        Sentence(
            "prior, squared",
            lambda facts: facts.kind == "information" and not facts.compares_all_pairs,
            "Privacy is promised for one prior: for another one a report can tell more, and the "
            "factor is then at most the square.",
        ),
        Sentence(
            "prior",
            lambda facts: facts.kind == "leakage" and not facts.compares_all_pairs,
            "Privacy is promised for one prior: for another one a report can tell more.",
        ),
        Sentence(
            "distributions",
            lambda facts: facts.kind == "secrets" and not facts.compares_all_pairs,
            "Privacy is promised for the stated distributions of the answer given a secret: for "
            "others a report can tell more. About the answer itself no more than this is promised.",
        ),
    ),
)
"""For which prior, or which distributions, a promise holds."""

PART = Topic(
    "part of several",
    (
        Sentence(
            "entries",
            lambda facts: facts.kind == "approximate" and facts.privacy.form == "entry",
            "A report is at most {facts.budget} times as likely under one answer as under another, "
            "plus {facts.privacy.delta}.",
        ),
        Sentence(
            "events",
            lambda facts: facts.kind == "approximate",
            "A set of reports is at most {facts.budget} times as likely under one answer as under "
            "another, plus {facts.privacy.delta}.",
        ),
        Sentence(
            "neighbors",
            lambda facts: facts.kind == "graph",
            "One report changes the odds between two neighboring answers by a factor of at most "
            "{facts.budget}.",
        ),
        Sentence(
            "distance",
            lambda facts: facts.kind == "metric",
            "One report changes the odds between two answers by a factor of at most "
            "{facts.budget} to the power of their distance.",
        ),
        Sentence(
            "sensitive",
            lambda facts: facts.kind == "one_sided",
            "One report raises the odds of a sensitive answer against any other one by a factor of "
            "at most {facts.budget}.",
        ),
        Sentence(
            "protected",
            lambda facts: facts.kind == "utility_optimized",
            "A protected report changes the odds between any two answers by a factor of at most "
            "{facts.budget}; every other one reveals an answer that is not sensitive.",
        ),
        Sentence(
            "pure",
            lambda facts: facts.kind == "pure",
            "One report changes the odds between any two answers by a factor of at most "
            "{facts.budget}.",
        ),
        Sentence(
            "curve",
            lambda facts: facts.kind == "curve",
            "For any set of reports: its probability for one answer is at most {facts.bounds}.",
        ),
        Sentence(
            "gaussian",
            lambda facts: facts.kind == "gaussian",
            "Two answers are as hard to tell apart by one report as two normal distributions whose "
            "means are {facts.privacy.mu} standard deviations apart.",
        ),
        Sentence(
            "definition",
            lambda facts: True,
            "One report tells no more than the definition of {facts.name} allows.",
        ),
    ),
)
"""What any other notion promises, where it is one of several."""

IMPOSSIBLE = Topic(
    "impossible answers",
    (
        Sentence(
            "protected",
            lambda facts: bool(facts.impossible),
            "Answers of probability 0 are protected as all others ({facts.impossible}): stricter "
            "than a definition about possible answers.",
        ),
    ),
)
"""Answers that the prior of a notion rules out."""

CHAIN = Topic(
    "chain",
    (
        Sentence(
            "tighter",
            lambda facts: facts.chain is not None,
            "A chain through answer {facts.chain.through} protects {facts.chain.first} against "
            "{facts.chain.last} at {facts.chain.implied:.6g} in place of {facts.chain.budget:.6g}; "
            "other pairs may be protected by chains too.",
        ),
    ),
)
"""A pair of answers that two others protect more than its own budget does."""

TOPICS = (PROMISE, DEPENDS, PART, IMPOSSIBLE, CHAIN)


def bounds_text(points: Sequence[tuple[Budget, float]]) -> str:
    """The factor and the addition of each point of a curve, rounded up."""
    return ", and at most ".join(
        f"{at_most_text(epsilon.enclosure()[1])} times its probability for any other answer, "
        f"plus {delta!r}"
        for epsilon, delta in points
    )


def as_note(sentence: str) -> str:
    """A sentence as notes are written: without a capital and a full stop."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def promises_of(privacy: Any, inputs: Names) -> list[str]:
    """The sentences about a notion: what it promises, and for which prior.

    None are returned for notions that compare answers in pairs with one budget, which pages and
    commands describe themselves; where such a notion is one of several, it has its sentence too.
    """
    facts = NotionFacts(privacy, inputs)
    said = [text for topic in (PROMISE, DEPENDS) if (text := topic.say(facts))]
    for part in privacy.notions if facts.kind == "all" else ():
        said += promises_of(part, inputs) or [PART.say(NotionFacts(part, inputs))]
    return [text for text in said if text]
