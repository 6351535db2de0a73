"""The optimum beside the mechanisms of the literature that apply, with and without remapping to the prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import NotRepresentableError, PrivacyViolationError, StatementError
from ldpopt.foundation.numbers import require_kind, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.problem import Problem
from ldpopt.solving.solution import Solution, value_of
from ldpopt.solving.solve import solve
from ldpopt.studies.literature.exponential import exponential, sharpened_exponential
from ldpopt.studies.literature.planar_laplace import planar_laplace
from ldpopt.studies.literature.tight import tight_constraints

if TYPE_CHECKING:
    import pandas as pd

REMAPPED = ", remapped"
"""End of the name of a peer whose reports are replaced by what is best for the prior."""

ROUNDING = 1e-9
"""Share of the optimum by which rounding may make a peer better."""


@dataclass(frozen=True, eq=False)
class PeerMechanism:
    """A mechanism in a comparison.

    Attributes
    ----------
    name : str
        Which.
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
class Comparison:
    """An optimum compared with mechanisms from the literature.

    Attributes
    ----------
    problem : Problem
        The statement.
    best : PeerMechanism
        The optimum.
    peers : tuple of PeerMechanism
        The others, the best of them first.
    left_out : dict
        Reason by name, for those that do not apply.
    """

    problem: Problem
    best: PeerMechanism
    peers: tuple[PeerMechanism, ...]
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[PeerMechanism, ...]:
        """The optimum and the peers."""
        return (self.best, *self.peers)

    @property
    def is_beaten(self) -> bool:
        """Whether a peer is better than the optimum by more than rounding: then a time limit ended its search."""
        gain = self.problem.utility.sense == "gain"
        lead = (1 if gain else -1) * (self.peers[0].value - self.best.value) if self.peers else 0.0
        return lead > ROUNDING * abs(self.best.value)

    def __repr__(self) -> str:
        """A table, what does not apply, and whether a peer is better."""
        width = max(len(row.name) for row in self.rows)
        lines = [f"{'':{width}}  {self.problem.utility.sense:>10}   ratio  epsilon"]
        lines += [f"{row.name:{width}}  {row.value:10.6g}  {row.ratio:6.4g}  {row.epsilon:7.4g}" for row in self.rows]
        lines += [f"{name} does not apply: {why}" for name, why in self.left_out.items()]
        if self.is_beaten:
            lines.append(f"{self.peers[0].name} is better than what was found for the optimum: give solve() more time")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a table: one row for each mechanism, columns value, ratio, epsilon, verdict."""
        import pandas as pd

        columns = ["value", "ratio", "epsilon", "verdict"]
        table = {row.name: [getattr(row, column) for column in columns] for row in self.rows}
        return pd.DataFrame.from_dict(table, orient="index", columns=columns)

    def _repr_html_(self) -> str:
        html: str = self.to_frame().to_html(float_format="{:.6g}".format)
        return html


def compare(
    problem: Problem,
    *,
    points: Any = None,
    best: Solution | Mechanism | None = None,
    gap: float | None = None,
    time_limit: float | None = None,
) -> Comparison:
    r"""Compare the best private mechanism with mechanisms from the literature.

    .. math:: \text{ratio} = \frac{\text{value of the peer}}{\text{value of the optimum}}

    The mechanisms are the exponential mechanism, the same with the largest private factor, the mechanism of tight
    constraints, and the planar Laplace mechanism; each also with optimal remapping of its reports, if that changes a
    report.

    Parameters
    ----------
    problem : Problem
        What is asked.
    points : array_like, shape (n, 2), or DataFrame or mapping label -> coordinates, optional
        Places in a plane, for the planar Laplace mechanism; default: computed from the distances of a metric.
    best : Solution or Mechanism, optional
        The optimum, where it is known; default: it is computed.
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
    >>> compare(Problem([0.2, 0.3, 0.5], Utility(distance, "loss"), MetricDP(1.0, distance))).peers[0].name
    'tight constraints'
    """
    require_kind(problem, Problem, "compare()")
    found = solve(problem, gap=gap, time_limit=time_limit) if best is None else best
    optimum = found.mechanism if isinstance(found, Solution) else found
    require_kind(optimum, Mechanism, "compare(best=...)")
    table = _Table(problem, _value(problem, optimum))
    rows: list[PeerMechanism] = []
    left_out: dict[str, str] = {}
    for name, build in _builders(points).items():
        try:
            mechanism = build(problem)
        except (NotRepresentableError, PrivacyViolationError) as error:
            left_out[name] = error.what
            continue
        if set(mechanism.outputs) <= set(problem.outputs):
            rows.append(table.row(name, mechanism))
        else:
            left_out[name] = "it reports inputs, which are not all among the outputs"
        if problem.prior is not None:
            better = mechanism.remapped(problem.prior, problem.utility, outputs=problem.outputs)
            if better != mechanism:
                rows.append(table.row(name + REMAPPED, better))
    sign = -1 if problem.utility.sense == "gain" else 1
    rows.sort(key=lambda row: sign * float(f"{row.value:.12g}"))  # peers equal up to rounding keep their order
    return Comparison(problem, table.row("optimum", optimum), tuple(rows), left_out)


def _builders(points: Any) -> dict[str, Callable[[Problem], Mechanism]]:
    return {
        "tight constraints": tight_constraints,
        "planar Laplace": partial(planar_laplace, points=points),
        "exponential": exponential,
        "sharpened exponential": sharpened_exponential,
    }


@dataclass(frozen=True)
class _Table:
    """What a row is computed from."""

    problem: Problem
    optimum: float

    def row(self, name: str, mechanism: Mechanism) -> PeerMechanism:
        value = _value(self.problem, mechanism)
        ratio = value / self.optimum if self.optimum else np.nan
        audit = self.problem.privacy.audit(mechanism)
        return PeerMechanism(name, mechanism, value, ratio, audit.epsilon, audit.verdict)


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
