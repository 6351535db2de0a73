"""The result of a comparison: a row for each method and mechanism, with its numbers beside the best
one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ldpopt.errors import NoSolutionError, NotRepresentableError
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts, Part, Table, shown
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.problem import Problem

LITERATURE = "literature"  # kind of the mechanisms that need not be optimal
ROUNDING = 1e-9  # share of the optimum by which rounding may make another mechanism better


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """One method or mechanism of a comparison.

    Attributes
    ----------
    name : str
        A closed form, a solver with the form of its program, or a mechanism by its name in the
        literature.
    kind : str
        ``"closed form"``, ``"solver"``, ``"extreme point"``, ``"optimum"`` (given by the caller) or
        ``"literature"``.
    seconds : float
        Wall time.
    value : float
        Expected (or worst-case) gain or loss of the mechanism; nan without one, as the other
        numbers.
    difference, ratio : float
        ``value`` minus the best value, and over it; the ratio is nan if the best value is 0.
    bound, relative_gap : float
        The method's own bound on all mechanisms, nan if it has none; and the relative gap to it,
        else to the tightest bound of all methods.
    epsilon : float
        Smallest epsilon of the notion that the mechanism keeps, by audit: nats, per unit of
        distance for a metric.
    verdict : str
        The audit's verdict on the notion; empty without a mechanism.
    note : str
        Why there is no mechanism, or a remark.
    applies : bool
        Whether the method is for such problems; it may have failed nevertheless.
    mechanism : Mechanism or None
        Exactly private, with integer masses.
    failure : Exception or None
        Why there is no mechanism.
    """

    name: str
    kind: str
    seconds: float
    value: float = math.nan
    difference: float = math.nan
    ratio: float = math.nan
    bound: float = math.nan
    relative_gap: float = math.nan
    epsilon: float = math.nan
    verdict: str = ""
    note: str = ""
    applies: bool = True
    mechanism: Mechanism | None = field(default=None, repr=False)
    failure: Exception | None = field(default=None, repr=False)


# Attributes of a row in tables of data
COLUMNS = (
    "kind",
    "value",
    "difference",
    "ratio",
    "relative_gap",
    "epsilon",
    "verdict",
    "seconds",
    "note",
)


@dataclass(frozen=True, eq=False)
class Comparison(HasFacts):
    """All methods for a problem, and the mechanisms of the literature.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        The methods for the optimum, then the mechanisms of the literature, the best of them first,
        then those that do not apply. A form of the program that a solver does not support is left
        out, if it solved the other.
    bound : float
        The tightest certified bound; nan without one.
    finished, planned : int
        Number of methods that ran, and of all; fewer ran if Ctrl-C ended the comparison.
    """

    problem: Problem
    rows: tuple[ComparisonRow, ...]
    bound: float
    finished: int
    planned: int

    @property
    def best(self) -> ComparisonRow:
        """First row with the best value of the methods for the optimum.

        Raises
        ------
        LdpoptError
            If no method has a mechanism: the problem is infeasible, or a limit was reached.
        """
        for row in self.methods:
            if row.difference == 0.0:
                return row
        failures = [row.failure for row in self.methods if row.failure is not None]
        failures.sort(
            key=lambda why: (
                not isinstance(why, NoSolutionError),
                isinstance(why, NotRepresentableError),
            )
        )
        raise failures[0]

    @property
    def methods(self) -> tuple[ComparisonRow, ...]:
        """The rows of the methods for the optimum."""
        return tuple(row for row in self.rows if row.kind != LITERATURE)

    @property
    def literature(self) -> tuple[ComparisonRow, ...]:
        """The rows of the mechanisms from the literature that apply, the best first."""
        return tuple(
            row for row in self.rows if row.kind == LITERATURE and row.mechanism is not None
        )

    @property
    def is_beaten(self) -> bool:
        """Whether a mechanism is better than the optimum by more than rounding: then a time limit
        ended its search.
        """
        sign = 1 if self.problem.utility.sense == "gain" else -1
        others = self.literature
        return bool(others) and sign * others[0].difference > ROUNDING * abs(
            others[0].value - others[0].difference
        )

    def __repr__(self) -> str:
        return self.summary()

    def facts(self) -> Facts:
        """The methods with a bound on all mechanisms, the mechanisms of the literature, and what
        does not apply.
        """
        sense, literature = self.problem.utility.sense, self.literature
        solved = [row for row in self.methods if row.mechanism is not None]
        parts: list[Part] = []
        if any(row.kind != "optimum" for row in solved):
            rows = [
                [
                    r.name,
                    shown(r.value, 12),
                    *(f"{x:.1e}" for x in (r.difference, r.relative_gap)),
                    r.verdict,
                    f"{r.seconds:.3f}",
                ]
                for r in solved
            ]
            ahead = "" if math.isnan(self.bound) else f"{self.bound - self.best.value:.1e}"
            rows.append(["certified bound", shown(self.bound, 12), ahead, "", "", ""])
            parts.append(
                Table(["method", sense, "difference", "relative gap", "audit", "seconds"], rows)
            )
        if literature:
            rows = [
                [
                    r.name,
                    shown(r.value, 9),
                    f"{r.difference:.1e}",
                    f"{r.ratio:.4f}",
                    shown(r.epsilon),
                    r.verdict,
                ]
                for r in (replace(self.best, name="optimum"), *literature)
            ]
            parts.append(
                Table(["mechanism", sense, "difference", "ratio", "epsilon", "audit"], rows)
            )
        parts += [f"{row.name}: {row.note}" for row in solved if row.note]
        left_out = [row for row in self.rows if row.mechanism is None]
        for applies, note in dict.fromkeys((row.applies, row.note) for row in left_out):
            names = [row.name for row in left_out if (row.applies, row.note) == (applies, note)]
            names = names if applies else [*dict.fromkeys(map(_solver_of, names))]
            parts.append(f"{'failed' if applies else 'does not apply'}: {', '.join(names)}: {note}")
        if self.is_beaten:
            parts.append(
                f"{literature[0].name} is better than what was found for the optimum: give "
                "more time"
            )
        if self.finished < self.planned:
            parts.append(f"interrupted: {self.finished} of {self.planned} methods are finished")
        return Facts(repr(self.problem), parts)

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a table: one row for each method and mechanism, with its kind, numbers, verdict,
        seconds and note.
        """
        table = {row.name: [getattr(row, column) for column in COLUMNS] for row in self.rows}
        return optional.pandas.DataFrame.from_dict(table, orient="index", columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Return what the command writes as JSON: the best value, the bound, and the rows; nan is
        None.
        """
        rows = [
            {name: getattr(row, name) for name in ("name", *COLUMNS, "applies")}
            for row in self.rows
        ]
        rows = [
            {key: None if value != value else value for key, value in row.items()} for row in rows
        ]
        best = self.best.value if any(row.difference == 0.0 for row in self.methods) else None
        bound = None if math.isnan(self.bound) else self.bound
        return {"sense": self.problem.utility.sense, "best": best, "bound": bound, "rows": rows}


def completed(
    problem: Problem, rows: Sequence[ComparisonRow], finished: int, planned: int
) -> Comparison:
    """Fill in the numbers that depend on other rows, and sort the literature."""
    is_gain = problem.utility.sense == "gain"
    solved = [row for row in rows if row.kind != LITERATURE and row.mechanism is not None]
    best = (max if is_gain else min)((row.value for row in solved), default=math.nan)
    bound = (min if is_gain else max)(
        [row.bound for row in rows if not math.isnan(row.bound)], default=math.nan
    )
    solvers = {_solver_of(row.name) for row in solved}
    kept = []
    for row in rows:
        if row.applies or _solver_of(row.name) not in solvers:
            computed = (
                math.nan if row.kind == LITERATURE else abs(bound - row.value) / (abs(bound) or 1.0)
            )
            gap = computed if math.isnan(row.relative_gap) else row.relative_gap
            ratio = row.value / best if best else math.nan
            kept.append(replace(row, difference=row.value - best, ratio=ratio, relative_gap=gap))
    # Those equal up to rounding keep their order; nan, without a mechanism, comes last.
    order = {row.name: (-1 if is_gain else 1) * float(f"{row.value:.12g}") for row in kept}
    literature = [row for row in kept if row.kind == LITERATURE]
    literature.sort(key=lambda row: (math.isnan(row.value), order[row.name]))
    methods = [row for row in kept if row.kind != LITERATURE]
    return Comparison(problem, (*methods, *literature), bound, finished, planned)


def _solver_of(name: str) -> str:
    """Name of a method without the form of its program."""
    return name.partition(" (")[0]
