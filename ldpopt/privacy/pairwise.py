"""A budget of its own for each ordered pair of answers.

People, or answers, need not be protected alike: a table says how much likelier a report may be
under one answer than under another one, in each direction, and leaves out pairs that reports may
tell apart. Budgets of single answers become a table by a rule that is named.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import inf, isinf
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.averages import Odds, average_odds
from ldpopt.auditing.exact_matrices import exact
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labelled import Labels, is_labelled, positions_of, take_labels
from ldpopt.foundation.labels import Names, check_labels, nearest, read_alphabet
from ldpopt.foundation.numbers import require_choice, short_repr
from ldpopt.privacy.comparisons import Comparisons
from ldpopt.privacy.distributions import by_labels
from ldpopt.privacy.notion import ConeNotion, inputs_of, match_labels
from ldpopt.privacy.plain import MisstatedError, Table, as_label, at_key, plain_budget, read_table
from ldpopt.privacy.sentences import CHAIN, NotionFacts, as_note

Rule = Literal["own", "min", "mean"]
RULES = ("own", "min", "mean")
Entry = tuple[Hashable, Hashable, Budget]


class Chain(NamedTuple):
    """Two pairs that protect a third one more than its own budget does, in nats."""

    first: str
    through: str
    last: str
    budget: float
    implied: float


@dataclass(frozen=True)
class BudgetTable:
    """A table of budgets as it was read: its labels, and the pairs that have a budget."""

    labels: Labels
    entries: tuple[Entry, ...]
    is_by_position: bool  # whether the labels are the positions of an array


@dataclass(frozen=True)
class PairwiseLDP(ConeNotion):
    r"""Each ordered pair of answers has a budget: :math:`P(x, y) \le e^{\epsilon(x, x')} P(x', y)`.

    Parameters
    ----------
    table : mapping (label, label) -> epsilon, or array_like, shape (n, n)
        Nats in (0, 10000], or texts such as ``"log(3)"``; the entry of ``(x, x')`` bounds how much
        likelier a report is under ``x``. None or infinity: the pair is not compared. The diagonal
        is not read.

    Raises
    ------
    StatementError
        If an entry is not such a number, a pair is not one of two labels, the array is not square,
        or no pair is compared.

    Notes
    -----
    The two directions of a pair may differ. The definition is the table: a chain of pairs may imply
    a smaller budget between its ends than the table has there. An audit takes O(pairs m)
    operations; its epsilon is the largest loss of all pairs.

    Examples
    --------
    >>> notion = PairwiseLDP({("ill", "well"): "log(2)", ("well", "ill"): "log(8)"})
    >>> notion.audit([[0.5, 0.5], [0.25, 0.75]]).verdict
    'certified'
    """

    kind: ClassVar[str] = "pairwise"
    table: BudgetTable

    def __init__(self, table: Any) -> None:
        read = table if isinstance(table, BudgetTable) else BudgetTable(*_read_table(table))
        if not read.entries:
            raise StatementError(
                "no pair of answers has a budget",
                code="no-pairs",
                do="give at least one finite budget",
            )
        object.__setattr__(self, "table", read)

    @classmethod
    def of_answers(cls, budgets: Mapping[Hashable, float | str], rule: Rule = "own") -> Self:
        r"""A notion of a budget for each answer.

        .. math:: \epsilon(x, x') = \epsilon_x, \quad \min(\epsilon_x, \epsilon_{x'}), \quad
                  \text{or} \quad (\epsilon_x + \epsilon_{x'}) / 2

        Parameters
        ----------
        budgets : mapping label -> epsilon
            Nats in (0, 10000], or texts such as ``"log(3)"``, at least two.
        rule : {"own", "min", "mean"}
            The budget of a pair: that of its first answer, the smaller one, or the mean of both;
            default: ``"own"``.

        Returns
        -------
        PairwiseLDP
            With a budget for every ordered pair.

        Raises
        ------
        StatementError
            If there are fewer than two answers, a budget is not in its range, or the rule is
            unknown.

        Notes
        -----
        A mean of a logarithm is rounded down by less than :math:`2^{-180}`. By the smaller one and
        by the mean, chains through an answer with a small budget may tighten other pairs.

        Examples
        --------
        >>> len(PairwiseLDP.of_answers({"a": 0.5, "b": 1, "c": 2}).entries)
        6
        """
        require_choice(rule, RULES, "rule")
        if not isinstance(budgets, Mapping) or len(budgets) < 2:
            raise StatementError(
                f"{short_repr(budgets)} is not a table of budgets of at least two answers",
                code="answer-budgets",
                do='pass {"ill": 0.5, "well": 2}',
            )
        read = {label: Budget.positive(epsilon) for label, epsilon in budgets.items()}
        pairs = [(x, other) for x in read for other in read if x != other]
        return cls({(x, other): _of_rule(read[x], read[other], rule) for x, other in pairs})

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The pairs that have a budget: ``(first, second, budget)``."""
        return self.table.entries

    @property
    def labels(self) -> Labels:
        """The labels of the table in order of appearance, or the positions of an array."""
        return self.table.labels

    def __repr__(self) -> str:
        return f"PairwiseLDP(<{len(self.entries)} pairs of {len(self.labels)} answers>)"

    @property
    def alphabet(self) -> tuple[Hashable, ...] | None:
        """The labels of the table in order of appearance; None for an array without labels."""
        return None if self.table.is_by_position else self.labels

    @property
    def known_inputs(self) -> tuple[Hashable, ...]:
        """The labels, or the positions of an array."""
        return self.labels

    def _positions(self, inputs: Names) -> dict[Hashable, int]:
        """Position of each label of the table among the inputs."""
        if not self.table.is_by_position:
            return match_labels(self.labels, inputs, "table of budgets")
        if len(read_alphabet(inputs)) != len(self.labels):
            raise StatementError(
                f"the table of budgets has {len(self.labels)} rows for {len(inputs)} inputs",
                code="table-size",
                do="give one row and one column for each input",
            )
        return {x: x for x in range(len(self.labels))}

    def _ordered(self, inputs: Names) -> list[tuple[int, int, Budget]]:
        """Pairs of positions with their budgets, in ascending order."""
        position = self._positions(inputs)
        pairs = ((position[x], position[other], budget) for x, other, budget in self.entries)
        return sorted(pairs, key=lambda pair: pair[:2])

    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons:
        """A comparison of two entries for each pair, in the order of the inputs."""
        pairs = self._ordered(inputs)
        single = [{x: Fraction(1)} for x in range(len(self.labels))]
        return Comparisons(
            len(self.labels),
            tuple(single[x] for x, _, _ in pairs),
            tuple(single[other] for _, other, _ in pairs),
            tuple(budget for _, _, budget in pairs),
        )

    def notes(self, inputs: Names) -> tuple[str, ...]:
        """A pair that a chain of others protects more than its own budget does."""
        chain = CHAIN.say(NotionFacts(self, inputs))
        return (as_note(chain),) if chain else ()

    def tightest_chain(self, inputs: Names) -> Chain | None:
        """The pair that two others protect most beyond its budget; None if there is none."""
        chain = _tightest_chain(self._ordered(inputs), len(self.labels))
        if chain is None:
            return None
        first, through, last, budget, implied = chain
        names = [short_repr(read_alphabet(inputs)[x]) for x in (first, through, last)]
        return Chain(names[0], names[1], names[2], budget, implied)

    def audit(self, channel: Any) -> Audit:
        """Decide the claim pair by pair from the channel's numbers, exactly."""
        matrix = exact(channel)
        labels = inputs_of(self, channel)
        position = self._positions(labels)
        masses = matrix.entries.tolist()
        odds = [
            Odds(
                masses[position[x]],
                masses[position[other]],
                matrix.denominator,
                budget,
                (labels[position[x]], labels[position[other]]),
            )
            for x, other, budget in self.entries
        ]
        return average_odds(odds, matrix.outputs, f"budgets of {len(odds)} pairs")

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """``table`` lists pairs, ``matrix`` has a row for each input; or ``budgets`` of the answers
        with a ``rule``.
        """
        return ("table", "matrix", "budgets", "rule")

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """State the pairs in the order of the inputs: ``[first, second, budget]``."""
        pairs = self._ordered(inputs)
        names = read_alphabet(inputs)
        return {"table": [[names[x], names[k], plain_budget(budget)] for x, k, budget in pairs]}

    @classmethod
    def from_plain(cls, table: Table, inputs: Names) -> Self:
        """Read pairs ``[first, second, budget]``, a matrix, or budgets of answers."""
        table = read_table(table)
        stated = [key for key in ("table", "matrix", "budgets") if key in table]
        if len(stated) != 1:
            raise MisstatedError(
                "give a table of pairs, a matrix, or budgets of answers, and one of them",
                *stated[1:2],
                code="budget-forms",
                do="such as budgets = { ill = 0.5, well = 2 }",
            )
        if "rule" in table and stated != ["budgets"]:
            do = "remove it, or give budgets"
            raise MisstatedError("only budgets of answers have a rule", "rule", code="rule", do=do)
        if stated == ["table"]:
            return cls(_of_pairs(table["table"], inputs))
        if stated == ["matrix"]:
            with at_key("matrix"):
                if not isinstance(table["matrix"], list):
                    raise StatementError(
                        "the matrix is not a list of rows",
                        code="matrix",
                        do='write [["inf", 1], [2, "inf"]]: the diagonal is not read',
                    )
                notion = cls(table["matrix"])
                notion._positions(inputs)
                return notion
        budgets = table["budgets"]
        with at_key("budgets"):
            if not isinstance(budgets, dict):
                raise StatementError(
                    f"{short_repr(budgets)} is not a table of budgets",
                    code="answer-budgets",
                    do="write budgets = { ill = 0.5, well = 2 }",
                )
            named = by_labels(budgets, inputs)
            positions_of(tuple(named), read_alphabet(inputs), "table of budgets", "input")
        with at_key("rule" if table.get("rule", "own") not in RULES else "budgets"):
            return cls.of_answers(named, table.get("rule", "own"))

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """Budgets epsilon, and twice as much against later inputs."""
        labels = read_alphabet(inputs)
        budget = Budget(epsilon)
        double = Budget(2 * budget.lower_nats)
        return cls(
            {
                (x, other): budget if k < j else double
                for j, x in enumerate(labels)
                for k, other in enumerate(labels)
                if j != k
            }
        )


def _of_pairs(rows: Any, inputs: Names) -> dict[tuple[Hashable, Hashable], Any]:
    """Budgets of all ordered pairs of inputs, from the pairs of a file; None for the others.

    A file has a list of pairs, and not a matrix, since a matrix of three answers could be taken for
    three pairs. A pair that stands twice is refused: nobody could know which budget was meant.
    """
    labels = read_alphabet(inputs)
    known = set(labels)
    budgets: dict[tuple[Hashable, Hashable], Any] = dict.fromkeys(permutations(labels, 2))
    named = set()
    do = 'write table = [["ill", "well", 0.5], ["well", "ill", 2]]'
    if not isinstance(rows, list):
        raise MisstatedError("the table is not a list of pairs", "table", code="pair-table", do=do)
    for k, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3:
            problem = f"{short_repr(row)} is not a pair of answers with a budget"
            raise MisstatedError(problem, "table", k, code="pair-entry", do=do)
        pair = (as_label(row[0]), as_label(row[1]))
        for name in pair:
            if isinstance(name, dict) or name not in known:
                raise MisstatedError(
                    f"a pair names {short_repr(name)}, which is not an input",
                    "table",
                    k,
                    code="unknown-label",
                    do=nearest(name, labels),
                )
        if pair[0] == pair[1] or pair in named:
            problem = "stands twice in the table" if pair in named else "is no pair of two answers"
            raise MisstatedError(
                f"{short_repr(list(pair))} {problem}",
                "table",
                k,
                code="repeated-pair" if pair in named else "same-answer",
                do="remove this pair",
            )
        named.add(pair)
        with at_key("table", k):
            budgets[pair] = _entry(row[2], *pair)
    return budgets


def _of_rule(first: Budget, second: Budget, rule: Rule) -> Budget:
    """Budget of a pair of answers with these budgets."""
    if rule == "own":
        return first
    if rule == "min":
        return min(first, second)
    return Budget((first.lower_nats + second.lower_nats) / 2)


def _read_table(table: Any) -> tuple[Labels, tuple[Entry, ...], bool]:
    """Labels in order of appearance, and the pairs with a budget; whether they are positions."""
    if isinstance(table, Mapping) and all(isinstance(key, tuple) for key in table):
        return *_of_mapping(table), False
    plain, (rows, columns) = take_labels(table, "table of budgets", ("input", "input"))
    if (rows is None) != (columns is None) or (is_labelled(table) and rows is None):
        raise StatementError(
            "the table of budgets has labels on one side only",
            code="labels",
            do="label rows and columns, or neither",
        )
    matrix = plain.tolist() if isinstance(plain, np.ndarray) else plain
    n = len(matrix) if isinstance(matrix, (list, tuple)) else 0
    if not n or not all(isinstance(row, (list, tuple)) and len(row) == n for row in matrix):
        raise StatementError(
            "the table of budgets is neither a mapping of pairs nor a square array",
            code="table",
            do='pass {("ill", "well"): 0.5, ...}, or one row and one column for each input',
        )
    labels: Labels = tuple(range(n)) if rows is None else rows
    order = {label: k for k, label in enumerate(labels if columns is None else columns)}
    if set(order) != set(labels):
        raise StatementError(
            "rows and columns of the table of budgets have different labels",
            code="table-labels",
            do="give one row and one column for each input",
        )
    entries = [
        (x, other, budget)
        for j, x in enumerate(labels)
        for other in labels
        if x != other and (budget := _entry(matrix[j][order[other]], x, other)) is not None
    ]
    return labels, tuple(entries), rows is None


def _of_mapping(table: Mapping[Any, Any]) -> tuple[Labels, tuple[Entry, ...]]:
    """Labels and entries of a mapping of pairs."""
    entries = []
    for key, value in table.items():
        if len(key) != 2 or key[0] == key[1]:
            raise StatementError(
                f"{short_repr(key)} is not a pair of different answers",
                code="answer-pair",
                do='give pairs, such as ("ill", "well")',
            )
        if (budget := _entry(value, *key)) is not None:
            entries.append((key[0], key[1], budget))
    names = list(dict.fromkeys(label for key in table for label in key))
    return check_labels(names, None, "input", StatementError), tuple(entries)


def _entry(value: Any, x: Hashable, other: Hashable) -> Budget | None:
    """Budget of a pair; None for a pair that is not compared."""
    is_infinite = isinstance(value, (float, np.floating)) and isinf(value) and value > 0
    if value is None or is_infinite or (isinstance(value, str) and value.strip() == "inf"):
        return None
    try:
        return Budget.positive(value)
    except StatementError as error:
        where = f"the pair ({short_repr(x)}, {short_repr(other)})"
        raise error.restated(StatementError, where=where) from None


def _tightest_chain(
    pairs: list[tuple[int, int, Budget]], n: int
) -> tuple[int, int, int, float, float] | None:
    """The pair that two others protect most beyond its budget: ends, middle, budget and sum."""
    budgets = np.full((n, n), inf)
    for x, other, budget in pairs:
        budgets[x, other] = float(budget)
    best = None
    largest = 1e-9  # nats below which chains are not worth a sentence
    for x, other, budget in pairs:
        sums = budgets[x] + budgets[:, other]
        sums[[x, other]] = inf
        through = int(np.argmin(sums))
        if float(budget) - sums[through] > largest:
            largest = float(budget) - float(sums[through])
            best = (x, through, other, float(budget), float(sums[through]))
    return best
