"""What is said of notions that compare averages is true of every mechanism that they allow.

As in `test_sentences.py`, what is true is computed here in rationals from the probabilities alone.
A sentence that something can be larger is true if a mechanism is shown for which it is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.stats import norm

import ldpopt as lo
from builders import run_cli, thorough_or
from ldpopt.auditing.audits import Audit
from ldpopt.mechanism.repair import repair
from ldpopt.plotting.report import report
from ldpopt.privacy.sentences import (
    CHAIN,
    DEPENDS,
    IMPOSSIBLE,
    PART,
    PROMISE,
    TOPICS,
    NotionFacts,
    promises_of,
)
from plug_in_notions import Halved

ABC = ("a", "b", "c")
PRIOR = {"a": 5, "b": 3, "c": 2}
LAWS = {"ill": {"a": 6, "b": 3, "c": 1}, "well": {"a": 1, "b": 3, "c": 6}}
POINTS = {name: {label: int(label == name) for label in ABC} for name in ABC}
PATH = nx.path_graph(["a", "b", "c"])
EVENT = lo.ApproximateLDP(1.0, 0.05)
NOTIONS: dict[str, Any] = {
    "leakage": lo.PML(0.4, PRIOR),
    "leakage of one answer": lo.PML(0.4, {"a": 1, "b": 0, "c": 0}),
    "wide leakage": lo.PML(3.0, PRIOR),
    "information": lo.InformationPrivacy("log(3/2)", PRIOR),
    "secrets": lo.Secrets(0.5, LAWS),
    "secrets in one order": lo.Secrets(0.5, LAWS, [("ill", "well")]),
    "secrets that are answers": lo.Secrets(0.5, POINTS),
    "some secrets that are answers": lo.Secrets(0.5, POINTS, [("a", "b"), ("b", "a")]),
    "budgets": lo.PairwiseLDP.of_answers({"a": 0.5, "b": 1.0, "c": 2.0}),
    "smaller budgets": lo.PairwiseLDP.of_answers({"a": 0.5, "b": 2.0, "c": 3.0}, "min"),
    "one budget": lo.PairwiseLDP({("a", "b"): 1.0, ("b", "c"): 1.0}),
    "bounds": lo.ColumnCone(
        [lo.OddsBound({"a": 1, "b": 1}, {"c": 1}, 0.5), lo.OddsBound({"c": 1}, PRIOR, 0.2)]
    ),
    "pure and leakage": lo.PureLDP(1.5) & lo.PML(0.4, PRIOR),
    "graph and metric": lo.GraphDP(0.7, PATH) & lo.MetricDP.of_points(0.5, [0, 1, 3], inputs=ABC),
    "one-sided and information": lo.OneSided(0.8, ["a"]) & lo.InformationPrivacy(0.5, PRIOR),
    "utility-optimized and secrets": lo.UtilityOptimizedLDP(1.0, ["a", "b"])
    & lo.Secrets(0.5, LAWS),
    "entries and leakage": lo.ApproximateLDP(1.0, 0.05, "entry") & lo.PML(0.4, PRIOR),
    "events and leakage": EVENT & lo.PML(0.4, PRIOR),
    "curve and leakage": lo.CurveLDP([(0.5, 0.1), (1.0, 0.01)]) & lo.PML(0.4, PRIOR),
    "normal distributions and leakage": lo.GaussianLDP(0.8) & lo.PML(0.4, PRIOR),
}
OWN: dict[str, Any] = {"plug-in and leakage": (Halved(1.5) & lo.PML(0.4, PRIOR), ABC)}
"""A notion that no file can hold."""
TWO: dict[str, Any] = {
    "information of one of two": (lo.InformationPrivacy(0.5, {"a": 1, "b": 0}), ("a", "b")),
    "leakage of one of two": (lo.PML(0.5, {"a": 1, "b": 0}), ("a", "b")),
}
CASES = {name: (notion, ABC) for name, notion in NOTIONS.items()} | TWO | OWN


@dataclass(frozen=True)
class World:
    """A notion, with mechanisms that it allows."""

    privacy: Any
    inputs: tuple[str, ...]

    @cached_property
    def mechanisms(self) -> list[list[list[Fraction]]]:
        """Masses of optima, and of repairs of drawn channels."""
        n = len(self.inputs)
        rng = np.random.default_rng(0)
        found = []
        for gain in (np.eye(n), *rng.random((thorough_or(1, 2), n, n))):
            problem = lo.Problem([1 / n] * n, gain, self.privacy, inputs=self.inputs)
            found.append(lo.solve(problem).mechanism)
        for _ in range(thorough_or(1, 3)):
            drawn = rng.dirichlet(np.full(n, 0.3), n)
            repaired = repair(drawn, self.privacy, inputs=self.inputs, outputs=self.inputs)
            found.append(repaired.mechanism)
        return [
            [[Fraction(int(mass), 2**53) for mass in row] for row in mechanism.masses]
            for mechanism in found
        ]

    def columns(self) -> Iterator[list[Fraction]]:
        for rows in self.mechanisms:
            yield from ([*column] for column in zip(*rows, strict=True) if any(column))

    @property
    def prior(self) -> list[Fraction]:
        weights = self.privacy.prior.to(self.inputs, "prior")
        return list(weights)


def average(column: list[Fraction], weights: Any) -> Fraction:
    return sum((w * p for w, p in zip(weights, column, strict=True)), Fraction(0))


def numbers_in(text: str) -> list[Fraction]:
    """The factors in a sentence."""
    return [Fraction(found) for found in re.findall(r"(?<![\d/])\d+\.\d+", text)]


def guesses_within(world: World, prior: list[Fraction], factor: Fraction) -> bool:
    """Whether no gain of a guess rises by more than a factor, for drawn gains."""
    rng = np.random.default_rng(1)
    n = len(world.inputs)
    gains = [np.eye(n, dtype=int), *rng.integers(0, 9, (20, n, n)), *rng.integers(0, 2, (9, n, 2))]
    for column in world.columns():
        mean = average(column, prior)
        if not mean:
            if any(column):
                return False
            continue
        for gain in gains:
            columns = gain.T.tolist()
            joint = [[g * p for g, p in zip(row, column, strict=True)] for row in columns]
            after = max(average(row, prior) for row in joint)
            before = max(average([Fraction(g) for g in row], prior) for row in columns)
            if after > factor * mean * before:
                return False
    return True


def shares_within(world: World, prior: list[Fraction], factor: Fraction) -> bool:
    """Whether each report is between 1/factor and factor times as likely as on average."""
    return all(
        mean / factor <= p <= mean * factor
        for column in world.columns()
        for mean in [average(column, prior)]
        for p in column
    )


def most_of(world: World, over: list[Fraction], under: list[Fraction]) -> Fraction | float:
    """The largest ratio of two averages."""
    best: Fraction | float = Fraction(0)
    for column in world.columns():
        low = average(column, under)
        high = average(column, over)
        if high and not low:
            return float("inf")
        if low:
            best = max(best, high / low)
    return best


def unit(x: int, n: int) -> list[Fraction]:
    return [Fraction(int(k == x)) for k in range(n)]


def most_of_rows(world: World) -> Fraction | float:
    n = len(world.inputs)
    pairs = itertools.permutations(range(n), 2)
    return max(most_of(world, unit(x, n), unit(other, n)) for x, other in pairs)


def laws(world: World) -> dict[Any, list[Fraction]]:
    return {name: list(row.to(world.inputs, "law")) for name, row in world.privacy.secrets}


def compared(world: World) -> list[tuple[Any, Any]]:
    names = list(laws(world))
    return list(world.privacy.pairs or itertools.permutations(names, 2))


def secrets_within(world: World, factor: Fraction, *, both: bool) -> bool:
    table = laws(world)
    pairs = compared(world)
    if both and any((t, s) not in pairs for s, t in pairs):
        return False
    return all(most_of(world, table[s], table[t]) <= factor for s, t in pairs)


def budgets_within(world: World, text: str) -> bool:
    """No pair with a budget is above the largest factor, and the counts are right."""
    count, pairs = map(int, re.findall(r"for (\d+) of the (\d+) ordered pairs", text)[0])
    n = len(world.inputs)
    entries = world.privacy.entries
    least, most = min(numbers_in(text)), max(numbers_in(text))
    place = {name: x for x, name in enumerate(world.inputs)}
    for x, other, budget in entries:
        ratio = most_of(world, unit(place[x], n), unit(place[other], n))
        if not ratio <= Fraction(budget.enclosure()[1]) <= most:
            return False
    smallest = min(budget.enclosure()[0] for _, _, budget in entries)
    return (count, pairs) == (len(entries), n * (n - 1)) and smallest <= least


def bounds_within(world: World, text: str) -> bool:
    place = {name: x for x, name in enumerate(world.inputs)}

    def weights(side: Any) -> list[Fraction]:
        found = [Fraction(0)] * len(world.inputs)
        for name, weight in zip(side.labels, side.weights, strict=True):
            found[place[name]] = weight
        return found

    bounds = world.privacy.bounds
    factor = max(numbers_in(text))
    return int(re.findall(r"report, (\d+) averages", text)[0]) == len(bounds) and all(
        most_of(world, weights(bound.over), weights(bound.under)) <= factor for bound in bounds
    )


def is_larger_elsewhere(world: World, times: int = 1) -> bool:
    """Whether for a prior near a single answer some mechanism passes the factor; with two, that no
    mechanism passes its square for any.
    """
    factor = world.privacy.epsilon.enclosure()[1]
    ends = most_of_rows(world)
    return ends > factor and (times == 1 or ends <= factor**2)


def is_larger_for_others(world: World) -> bool:
    """Whether for secrets that are single answers some mechanism passes the factor."""
    return most_of_rows(world) > world.privacy.epsilon.enclosure()[1]


def events_within(world: World, text: str) -> bool:
    factor, delta = numbers_in(text)
    for rows in world.mechanisms:
        for first, second in itertools.permutations(rows, 2):
            excesses = [p - factor * q for p, q in zip(first, second, strict=True)]
            positive = [part for part in excesses if part > 0]
            found = (
                max(positive, default=Fraction(0)) if text.startswith("A report") else sum(positive)
            )
            if found > delta:
                return False
    return True


def curve_within(world: World, text: str) -> bool:
    numbers = numbers_in(text)
    return all(
        sum((max(p - factor * q, Fraction(0)) for p, q in zip(*pair, strict=True)), Fraction(0))
        <= delta
        for rows in world.mechanisms
        for pair in itertools.permutations(rows, 2)
        for factor, delta in zip(numbers[::2], numbers[1::2], strict=True)
    )


def normal_within(world: World, text: str) -> bool:
    """Whether no event is likelier than a shift of a normal distribution by ``mu`` makes it."""
    (mu,) = numbers_in(text)
    rounding = 1e-9
    for rows in world.mechanisms:
        events = [
            combination
            for size in range(1, len(rows[0]))
            for combination in itertools.combinations(range(len(rows[0])), size)
        ]
        for first, second in itertools.permutations(rows, 2):
            for event in events:
                p, q = (float(sum(row[y] for y in event)) for row in (first, second))
                if p > norm.cdf(norm.ppf(q) + float(mu)) + rounding:
                    return False
    return True


def definition_within(world: World, text: str) -> bool:
    """Whether a part is named, and every mechanism passes its audit."""
    (part,) = (each for each in world.privacy.notions if type(each).__name__ in text)
    channels = (np.array(rows, float) for rows in world.mechanisms)
    return all(part.audit(channel).verdict == "certified" for channel in channels)


def parts_within(kind: str) -> Callable[[World, str], bool]:
    """The sentence on a part of several notions: pairs of a kind within its factor."""

    def holds(world: World, text: str) -> bool:
        n = len(world.inputs)
        (factor,) = numbers_in(text)
        part = next(part for part in world.privacy.notions if part.kind == kind)
        for x, other in itertools.permutations(range(n), 2):
            names = world.inputs[x], world.inputs[other]
            power = 1
            if kind == "graph" and not PATH.has_edge(*names):
                continue
            if kind == "metric":
                power = int(part.matrix(world.inputs)[x][other])
            if kind == "one_sided" and names[0] not in part.sensitive:
                continue
            for rows in world.mechanisms:
                for y in range(n):
                    if kind == "utility_optimized" and world.inputs[y] not in part.sensitive:
                        owner = world.inputs[y]
                        if any(row[y] for k, row in enumerate(rows) if world.inputs[k] != owner):
                            return False
                        continue
                    if rows[x][y] > factor**power * rows[other][y]:
                        return False
        return True

    return holds


def is_tighter(world: World, text: str) -> bool:
    """Whether the first pair has the larger budget, and the two others have the sum together."""
    found = re.findall(r"'(\w)'.*'(\w)' against '(\w)' at ([\d.]+) in place of ([\d.]+)", text)
    ((through, first, last, implied, budget),) = found
    table = {(x, other): float(epsilon) for x, other, epsilon in world.privacy.entries}
    total = table[first, through] + table[through, last]
    return total == float(implied) < float(budget) == table[first, last]


def names_impossible(world: World, text: str) -> bool:
    """Whether the named answers are those of weight 0, and no report is likelier under them."""
    named = set(re.findall(r"\((.*)\)", text)[0].split(", "))
    weights = dict(zip(world.inputs, world.prior, strict=True))
    factor = world.privacy.epsilon.enclosure()[1]
    return named == {name for name, weight in weights.items() if not weight} and all(
        column[world.inputs.index(name)] <= factor * average(column, world.prior)
        for name in named
        for column in world.columns()
    )


TRUTHS: dict[tuple[str, str], Callable[[World, str], bool]] = {
    ("promise", "leakage"): lambda world, text: guesses_within(
        world, world.prior, numbers_in(text)[0]
    ),
    ("promise", "information"): lambda world, text: (
        shares_within(world, world.prior, max(numbers_in(text)))
        and all(f"1/{number}" for number in numbers_in(text))
    ),
    ("promise", "secrets"): lambda world, text: secrets_within(
        world, numbers_in(text)[0], both=True
    ),
    ("promise", "secrets in one order"): lambda world, text: (
        secrets_within(world, numbers_in(text)[0], both=False)
        and not secrets_within(world, numbers_in(text)[0], both=True)
    ),
    ("promise", "pairs"): budgets_within,
    ("promise", "one factor"): budgets_within,
    ("promise", "bounds"): bounds_within,
    ("promise", "all"): lambda world, text: len(world.privacy.notions) > 1,
    ("depends on", "prior"): lambda world, text: is_larger_elsewhere(world),
    ("depends on", "prior, squared"): lambda world, text: is_larger_elsewhere(world, 2),
    ("depends on", "distributions"): lambda world, text: is_larger_for_others(world),
    ("impossible answers", "protected"): names_impossible,
    ("chain", "tighter"): is_tighter,
    ("part of several", "entries"): events_within,
    ("part of several", "events"): events_within,
    ("part of several", "neighbors"): parts_within("graph"),
    ("part of several", "distance"): parts_within("metric"),
    ("part of several", "sensitive"): parts_within("one_sided"),
    ("part of several", "protected"): parts_within("utility_optimized"),
    ("part of several", "pure"): parts_within("pure"),
    ("part of several", "curve"): curve_within,
    ("part of several", "gaussian"): normal_within,
    ("part of several", "definition"): definition_within,
}
"""By topic and sentence: whether it is true."""


def printed() -> Iterator[tuple[str, str, str, World, str]]:
    for name, (privacy, inputs) in CASES.items():
        world = World(privacy, inputs)
        more = {"pairwise": (CHAIN,), "leakage": (IMPOSSIBLE,), "information": (IMPOSSIBLE,)}
        for topic in (PROMISE, DEPENDS, *more.get(privacy.kind, ())):
            facts = NotionFacts(privacy, inputs)
            if (sentence := topic.chosen(facts)) is not None:
                yield name, topic.name, sentence.name, world, sentence.about(facts)
        for part in getattr(privacy, "notions", ()):
            facts = NotionFacts(part, inputs)
            if PROMISE.chosen(facts) is None:
                sentence = PART.chosen(facts)
                assert sentence is not None
                yield name, PART.name, sentence.name, world, sentence.about(facts)


def test_every_sentence_on_notions_is_true_where_it_is_printed() -> None:
    seen = set()
    for name, topic, sentence, world, text in printed():
        seen.add((topic, sentence))
        assert TRUTHS[topic, sentence](world, text), f"{name}: {text!r} is false"
    rows = {(topic.name, each.name) for topic in TOPICS for each in topic.sentences}
    assert rows == set(TRUTHS), f"each sentence needs its truth: {sorted(rows ^ set(TRUTHS))}"
    assert seen == set(TRUTHS), "nothing in this test prints these"


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_said_of_other_priors_where_each_pair_is_compared(name: str) -> None:
    """Then all averages are within the factor, whatever the prior is."""
    privacy, inputs = CASES[name]
    if not hasattr(privacy, "epsilon") or DEPENDS.chosen(NotionFacts(privacy, inputs)):
        pytest.skip("it is said")
    assert most_of_rows(World(privacy, inputs)) <= privacy.epsilon.enclosure()[1], (
        f"{privacy!r} allows more for another prior: add a sentence to DEPENDS of "
        "ldpopt/privacy/sentences.py"
    )


@pytest.mark.parametrize("name", NOTIONS)
def test_pages_and_commands_print_the_sentences(name: str, tmp_path: Any) -> None:
    privacy = NOTIONS[name]
    problem = lo.Problem([0.5, 0.3, 0.2], "identity", privacy, inputs=ABC)
    said = promises_of(problem.privacy, ABC)
    lo.save_model(problem, tmp_path / "m.toml")
    shown = " ".join(run_cli("check", tmp_path / "m.toml").stdout.split())
    for sentence in said:
        assert sentence in shown.replace(" promise: ", " "), sentence
    if privacy.kind != "all":
        page = " ".join(report(problem, budgets=False).replace("&#39;", "'").split())
        assert all(sentence in page for sentence in said)
    notes = lo.solve(problem).notes
    depends = DEPENDS.say(NotionFacts(problem.privacy, ABC))
    assert not depends or any(note in depends.lower() for note in map(str.lower, notes))


# What an audit compares.


def witness_of(audit: Audit) -> str:
    return str(dict(audit.facts().parts)["witness"])


@pytest.mark.parametrize(
    ("notion", "words"),
    [
        (lo.PML(0.1, PRIOR), "answer c against everyone, report c"),
        (lo.InformationPrivacy(0.1, PRIOR), "everyone against answer a, report b"),
        (lo.Secrets(0.1, LAWS), "secrets ill and well, report a"),
        (lo.PureLDP(0.1), "answers c and a, report c"),
        (lo.PairwiseLDP({("a", "c"): 0.1, ("b", "c"): 5}), "answers a and c, report a"),
        (
            lo.ColumnCone([lo.OddsBound({"a": 1}, PRIOR, 0.1)]),
            "average over of bound 0 against average under of bound 0, report a",
        ),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_audits_name_what_is_compared(notion: Any, words: str) -> None:
    mechanism = lo.Mechanism([[0.9, 0.05, 0.05], [0.1, 0.5, 0.4], [0.1, 0.4, 0.5]], ABC, ABC)
    assert witness_of(mechanism.audit(notion)).startswith(words)
