"""A questionnaire: questions by name, each with its mechanism; the budget of a person is the sum over the questions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, digest_of
from ldpopt.estimation.designs.record import Design
from ldpopt.estimation.inversion import Estimate, estimate_frequencies
from ldpopt.foundation.labels import nearest
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.privatizing import Rule, privatize_file, privatize_frame
from ldpopt.mechanism.sampling import Random
from ldpopt.solving.solve import solve
from ldpopt.statement.problem import Problem


class Survey:
    r"""Several questions to the same people.

    .. math:: \epsilon = \sum_i \epsilon_i

    Parameters
    ----------
    questions : mapping name -> Mechanism, design, Problem or Rule
        The name is that of the column. A problem is solved. A `Rule` states, besides the mechanism, what is done where
        an answer is missing; by default it is refused.

    Attributes
    ----------
    rules : dict name -> Rule
        Mechanism and treatment of missing answers of each question.
    designs : dict name -> Design
        Designs among them, which have their own estimators.

    Raises
    ------
    StatementError
        If there are no questions, a name is no text, or a question is none of these.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> survey = Survey({"smokes": coin, "drinks": coin})
    >>> round(survey.epsilon, 6)
    2.197225
    """

    def __init__(self, questions: Mapping[str, Any]) -> None:
        if not isinstance(questions, Mapping) or not questions:
            raise StatementError("a survey needs questions", do='pass {"name": mechanism, ...}')
        self.rules: dict[str, Rule] = {}
        self.designs: dict[str, Design] = {}
        for name, question in questions.items():
            if not isinstance(name, str):
                raise StatementError(f"the name {name!r} of a question is no text", do="name the column")
            if isinstance(question, Design):
                self.designs[name] = question
            self.rules[name] = _rule(name, question)

    def __repr__(self) -> str:
        """Questions and budget."""
        return f"Survey({', '.join(self.rules)}: epsilon {self.epsilon:.6g})"

    @cached_property
    def epsilon(self) -> float:
        """Budget in nats of a person who answers all questions: the sum of the audited ones, each rounded up."""
        return sum(self.budgets.values())

    @cached_property
    def budgets(self) -> dict[str, float]:
        """Audited epsilon of each question; infinite where a mechanism is not pure."""
        return {name: rule.mechanism.audit().epsilon for name, rule in self.rules.items()}

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Questions of which the reports show who did not answer."""
        return tuple(name for name, rule in self.rules.items() if rule.missing == "leave_out")

    def privatize(self, table: Any, *, rng: Random = None, key: Any = None, id: Any = None) -> Any:
        """Replace the columns of all questions in a dataframe by reports; other columns stay, unprotected.

        Parameters
        ----------
        table : dataframe of pandas, polars or pyarrow
            One row for each person.
        rng : numpy.random.Generator, SeedSequence or int, optional
            Makes the draws repeatable; each question draws from a spawned generator. Default: the operating system's
            generator.
        key : SecretKey or bytes, optional
            Makes the draws repeatable person by person; see `Mechanism.privatize`. Default: none.
        id : label, optional
            Column of the ids, with ``key``.

        Returns
        -------
        dataframe
            Of the same library, with the same index.

        Raises
        ------
        StatementError
            If a column is not there, an entry is no answer, or an answer is missing and must not be.
        """
        return privatize_frame(table, self.rules, rng, Keyed.read(key, id, rng))

    def privatize_file(
        self,
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        keep: Sequence[str] = (),
        rng: Random = None,
        key: Any = None,
        id: str | None = None,
    ) -> int:
        """Write the reports of a file of answers, CSV or Parquet, in one pass; return the number of rows.

        All columns but the questions and ``keep`` are dropped; see `Mechanism.privatize` for the other arguments.
        """
        return privatize_file(source, target, self.rules, keep=keep, rng=rng, keyed=Keyed.read(key, id, rng))

    def count(self, table: Any, *, weights: Any = None) -> dict[str, Counts]:
        """Count the reports of each question in a dataframe or file.

        Parameters
        ----------
        table : dataframe, or path of a CSV or Parquet file
            What `privatize` gave.
        weights : array_like, Series or column name, optional
            Weight of each person; default: all 1.

        Raises
        ------
        StatementError
            If a column is not there, or an entry is no report of its question.
        """
        return {
            name: Counts.of(rule.mechanism, table, column=name, weights=weights, missing=rule.missing)
            for name, rule in self.rules.items()
        }

    def estimate(
        self, table: Any, *, weights: Any = None, confidence: float = 0.95, simultaneous: bool = False
    ) -> dict[str, Estimate]:
        """Estimate every question: frequencies of the answers, or the numbers that a design is for.

        Parameters
        ----------
        table : dataframe, path of a file, or mapping name -> Counts
            Reports, or their counts.
        weights : array_like, Series or column name, optional
            Weight of each person; default: all 1.
        confidence : float
            Coverage of the intervals, ``0 < confidence < 1``; default: ``0.95``.
        simultaneous : bool
            Whether the intervals of one question hold at once (Bonferroni); default: ``False``.

        Returns
        -------
        dict name -> Estimate
            Among those who answered, where missing answers are left out.

        Raises
        ------
        StatementError
            If a question is missing, or counts are of another mechanism.
        """
        counts = self._counts(table) if isinstance(table, Mapping) else self.count(table, weights=weights)
        found = {}
        for name, rule in self.rules.items():
            best = self.designs.get(name)
            found[name] = (
                estimate_frequencies(rule.mechanism, counts[name], confidence=confidence, simultaneous=simultaneous)
                if best is None
                else best.estimate(counts[name], confidence, simultaneous=simultaneous)
            )
        return found

    def _counts(self, counts: Mapping[str, Any]) -> dict[str, Counts]:
        """Counts of each question, checked to be of its mechanism."""
        for name in counts:
            if name not in self.rules:
                raise StatementError(f"counts of {name!r}, which is no question", do=nearest(name, self.rules))
        for name, rule in self.rules.items():
            if not isinstance(counts.get(name), Counts):
                raise StatementError(f"there are no counts of question {name!r}", do="pass what survey.count gave")
            counts[name].require(digest_of(rule.mechanism))
        return dict(counts)


def _rule(name: str, question: Any) -> Rule:
    """How a question is asked."""
    if isinstance(question, Rule):
        return question
    if isinstance(question, Problem):
        question = solve(question)
    mechanism = question if isinstance(question, Mechanism) else getattr(question, "mechanism", None)
    if not isinstance(mechanism, Mechanism):
        what = f"question {name!r} is a {type(question).__name__}"
        raise StatementError(what, do="pass a mechanism, a design, a problem or a Rule")
    return Rule(mechanism)
