"""The optimum beside the mechanisms of the literature that apply, with and without remapping to the prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import NotRepresentableError, PrivacyViolationError, StatementError
from ldpopt.foundation.display import Facts, HasFacts, Part, Table, shown
from ldpopt.foundation.numbers import require_kind, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.problem import Problem
from ldpopt.solving.solution import Solution, value_of
from ldpopt.solving.solve import solve
from ldpopt.studies.literature.exponential import exponential, sharpened_exponential
from ldpopt.studies.literature.methods import MethodComparison, compare_methods
from ldpopt.studies.literature.planar_laplace import planar_laplace
from ldpopt.studies.literature.tight import tight_constraints

if TYPE_CHECKING:
    import pandas as pd

REMAPPED = ", remapped"
"""End of the name of a mechanism whose reports are replaced by what is best for the prior."""

ROUNDING = 1e-9
"""Share of the optimum by which rounding may make another mechanism better."""


@dataclass(frozen=True, eq=False)
class ComparedMechanism:
    """A mechanism in a comparison.

    Attributes
    ----------
    name : str
        Its name in the literature; ``"optimum"`` for the best one.
    mechanism : Mechanism
        Exactly private, with integer masses.
    value : float
        Its expected (or worst-case) gain or loss.
    ratio : float
        ``value`` over that of the optimum; nan if that is 0.
    epsilon : float
        Smallest epsilon of the notion that it keeps, by audit: nats, per unit of distance for a metric.
    verdict : str
        The audit's verdict on the notion.
    """

    name: str
    mechanism: Mechanism = field(repr=False)
    value: float
    ratio: float
    epsilon: float
    verdict: str


@dataclass(frozen=True, eq=False)
class Comparison(HasFacts):
    """An optimum compared with mechanisms from the literature.

    Attributes
    ----------
    problem : Problem
        The problem that all of them are for.
    best : ComparedMechanism
        The optimum.
    others : tuple of ComparedMechanism
        Mechanisms of the literature, the best of them first.
    left_out : dict
        Reason by name, for those that do not apply.
    methods : MethodComparison or None
        All ways to find the optimum, if they were compared too.
    """

    problem: Problem
    best: ComparedMechanism
    others: tuple[ComparedMechanism, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    methods: MethodComparison | None = None

    @property
    def rows(self) -> tuple[ComparedMechanism, ...]:
        """The optimum, and the mechanisms from the literature."""
        return (self.best, *self.others)

    @property
    def is_beaten(self) -> bool:
        """Whether a mechanism is better than the optimum by more than rounding: then a time limit ended its search."""
        gain = self.problem.utility.sense == "gain"
        lead = (1 if gain else -1) * (self.others[0].value - self.best.value) if self.others else 0.0
        return lead > ROUNDING * abs(self.best.value)

    def __repr__(self) -> str:
        """The facts as text."""
        return self.summary()

    def facts(self) -> Facts:
        """All methods if they were compared, the mechanisms, and which do not apply."""
        rows = [[r.name, shown(r.value, 9), f"{r.ratio:.4f}", r.epsilon, r.verdict] for r in self.rows]
        parts: list[Part] = [] if self.methods is None else [self.methods.table()]
        parts.append(Table(["mechanism", self.problem.utility.sense, "ratio", "epsilon", "audit"], rows))
        for why in dict.fromkeys(self.left_out.values()):
            names = ", ".join(name for name, reason in self.left_out.items() if reason == why)
            parts.append(f"does not apply: {names}: {why}")
        if self.is_beaten:
            name = self.others[0].name
            parts.append(f"{name} is better than what was found for the optimum: give solve() more time")
        return Facts(repr(self.problem), parts)

    def to_frame(self) -> pd.DataFrame:
        """Return a table: one row for each mechanism, columns value, ratio, epsilon, verdict."""
        from ldpopt.foundation.optional import pandas as pd

        columns = ["value", "ratio", "epsilon", "verdict"]
        table = {row.name: [getattr(row, column) for column in columns] for row in self.rows}
        return pd.DataFrame.from_dict(table, orient="index", columns=columns)


def compare(
    problem: Problem,
    *,
    points: Any = None,
    best: Solution | Mechanism | None = None,
    methods: bool = False,
    gap: float | None = None,
    time_limit: float | None = None,
) -> Comparison:
    r"""Compare the best private mechanism with mechanisms from the literature.

    .. math:: \text{ratio} = \frac{\text{value of the mechanism}}{\text{value of the optimum}}

    The mechanisms are the exponential mechanism, the same with the largest private factor, the mechanism of tight
    constraints, and the planar Laplace mechanism; each also with optimal remapping of its reports, if that changes a
    report.

    Parameters
    ----------
    problem : Problem
        Alphabet, prior, utility and notion.
    points : array_like, shape (n, 2), or DataFrame or mapping label -> coordinates, optional
        Places in a plane, for the planar Laplace mechanism; default: computed from the distances of a metric.
    best : Solution or Mechanism, optional
        The optimum, if it is known; default: it is computed.
    methods : bool
        Whether the optimum is computed by every method that applies: closed forms, all installed solvers in each form
        of the program, and the best extreme point of a small problem. Default: ``False``, by `solve` alone.
    gap, time_limit : float, optional
        As in `solve`; default: solve to the optimum, no limit.

    Returns
    -------
    Comparison
        Value, ratio and true epsilon of each mechanism, and for those that do not apply the reason.

    Raises
    ------
    StatementError
        If the points or ``best`` do not fit the problem.
    NoSolutionError
        If there is no private mechanism.

    Notes
    -----
    All are rounded to integer masses and audited for the problem's notion, in exact arithmetic.

    Examples
    --------
    >>> from ldpopt import MetricDP, Problem, Utility
    >>> distance = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> compare(Problem([0.2, 0.3, 0.5], Utility(distance, "loss"), MetricDP(1.0, distance))).others[0].name
    'tight constraints'
    """
    require_kind(problem, Problem, "compare()")
    all_methods = compare_methods(problem, time_limit=time_limit) if methods else None
    if best is None:
        best = all_methods.mechanism if all_methods else solve(problem, gap=gap, time_limit=time_limit)
    optimum = best.mechanism if isinstance(best, Solution) else best
    require_kind(optimum, Mechanism, "compare(best=...)")
    value = _value(problem, optimum)
    rows: list[ComparedMechanism] = []
    left_out: dict[str, str] = {}
    for name, build in _builders(points).items():
        try:
            mechanism = build(problem)
        except (NotRepresentableError, PrivacyViolationError) as error:
            left_out[name] = error.what
            continue
        if set(mechanism.outputs) <= set(problem.outputs):
            rows.append(_compared(problem, name, mechanism, value))
        else:
            left_out[name] = "it reports inputs, which are not all among the outputs"
        if problem.prior is not None:
            better = mechanism.remapped(problem.prior, problem.utility, outputs=problem.outputs)
            if better != mechanism:
                rows.append(_compared(problem, name + REMAPPED, better, value))
    sign = -1 if problem.utility.sense == "gain" else 1
    rows.sort(key=lambda row: sign * float(f"{row.value:.12g}"))  # those equal up to rounding keep their order
    first = _compared(problem, "optimum", optimum, value)
    return Comparison(problem, first, tuple(rows), left_out, all_methods)


def _builders(points: Any) -> dict[str, Callable[[Problem], Mechanism]]:
    return {
        "tight constraints": tight_constraints,
        "planar Laplace": partial(planar_laplace, points=points),
        "exponential": exponential,
        "sharpened exponential": sharpened_exponential,
    }


def _compared(problem: Problem, name: str, mechanism: Mechanism, optimum: float) -> ComparedMechanism:
    """Evaluate and audit a mechanism."""
    value, audit = _value(problem, mechanism), problem.privacy.audit(mechanism)
    ratio = value / optimum if optimum else np.nan
    return ComparedMechanism(name, mechanism, value, ratio, audit.epsilon, audit.verdict)


def _value(problem: Problem, mechanism: Mechanism) -> float:
    """Value of a mechanism with the inputs of a problem and some of its outputs, in any order."""
    if mechanism.inputs != problem.inputs:
        what = f"the mechanism has the inputs {short_repr(mechanism.inputs)}, the problem {short_repr(problem.inputs)}"
        raise StatementError(what, do="pass a mechanism for the same problem")
    place = {label: y for y, label in enumerate(problem.outputs)}
    unknown = next((label for label in mechanism.outputs if label not in place), None)
    if unknown is not None:
        raise StatementError(f"report {unknown!r} of the mechanism is not an output of the problem")
    channel = np.zeros(problem.utility.shape)
    channel[:, [place[label] for label in mechanism.outputs]] = mechanism.channel
    return value_of(problem, channel)
