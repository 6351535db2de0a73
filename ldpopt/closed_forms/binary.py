"""Binary models of Zhou, Lu and Wu: two answers, with and without delta."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ldpopt.closed_forms.form import ResponseForm, read_delta
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.exact_draws import Codes
from ldpopt.problem.prior import prior_and_inputs

RegionName = Literal["first", "middle", "last"]
Point = tuple[Fraction, Fraction]
# utilities this close count as a tie: a float prior is not exactly on a boundary
TIE_TOLERANCE = Fraction(1, 2**50)


@dataclass(frozen=True, eq=False, kw_only=True)
class Binary(ResponseForm):
    """Result of `binary`; points are ``(p00, p11)``, the two probabilities of the truth.

    Parameters
    ----------
    region : {"first", "middle", "last"}
        ``"first"``: the first answer is always reported (except with probability delta);
        ``"last"``: the second one; ``"middle"``: randomized response. If several are optimal,
        ``"middle"``.
    ties : tuple of str
        Every optimal region: more than one at ``pi_0 = alpha/(alpha+1)`` or ``1/(alpha+1)``.
    """

    region: RegionName
    ties: tuple[RegionName, ...]
    prior: Float = field(repr=False)

    @property
    def vertices(self) -> tuple[tuple[float, float], ...]:
        """Corners of the set of private mechanisms, in order: 4 at delta 0, else 8 (fewer in
        extreme cases).
        """
        return tuple(
            (float(p), float(q))
            for p, q in _corners(self.epsilon.enclosure()[0], Fraction(self.delta))
        )

    @property
    def face(self) -> tuple[tuple[float, float], ...]:
        """Corners of the optimal face: one point, or the two ends of an optimal segment."""
        alpha = self.epsilon.enclosure()[0]
        weights = _exact(self.prior)
        corners = _corners(alpha, Fraction(self.delta))
        best = max(_utility(weights, corner) for corner in corners)
        return tuple(
            (float(p), float(q))
            for p, q in corners
            if _utility(weights, (p, q)) >= best - TIE_TOLERANCE
        )

    def exact_value(self) -> tuple[Fraction, Fraction]:
        """Return rational bounds of the optimal value for the real ``e**epsilon``, as
        `TopK.exact_value`.
        """
        weights = _exact(self.prior)
        share = Fraction(self.delta)
        ends = (_optimal_points(a, share).values() for a in self.epsilon.enclosure())
        low, high = (max(_utility(weights, p) for p in points) for points in ends)
        return low, high

    @property
    def response(self) -> tuple[Codes, Codes]:
        """The members, whose matrix is that of (4) or (15)."""
        members = {"first": [0], "middle": [0, 1], "last": [1]}[self.region]
        member_index = {"first": [0, -1], "middle": [0, 1], "last": [-1, 0]}[self.region]
        return np.array(members), np.array(member_index)


def binary(prior: Any, epsilon: float | str, delta: float = 0.0) -> Binary:
    r"""Find the largest probability of a truthful report for two answers.

    .. math:: u^* = \begin{cases} \pi_0 + (1 - \pi_0) \delta & \pi_0 \ge \alpha/(\alpha+1) \\
              (\alpha+\delta)/(\alpha+1) & 1/(\alpha+1) \le \pi_0 \le \alpha/(\alpha+1) \\
              \pi_0 \delta + 1 - \pi_0 & \pi_0 \le 1/(\alpha+1) \end{cases}
              \qquad \alpha = e^\epsilon

    Parameters
    ----------
    prior : array_like, shape (2,), or mapping label -> weight
        Probabilities of the two answers, summing to 1 within 1e-9; the weights of a mapping are
        normalized.
    epsilon : float or str
        Privacy budget in nats, ``0 <= epsilon <= 10000``, or ``"log(3)"``.
    delta : float
        ``0 <= delta <= 1``; event-wise and entry-wise are the same for two reports; default:
        ``0.0``.

    Returns
    -------
    Binary
        Value, region, ties, optimal face, corners; channel ``(2, 2)``.

    Raises
    ------
    StatementError
        If there are not two answers, or the prior or budget is ill posed.

    Notes
    -----
    Model I is ``delta = 0``, Model II has ``delta > 0``. Regions are decided in rationals. With
    ``delta > 0`` an outer region has a deterministic row, and a report of the rare answer reveals
    the truth. O(1).

    References
    ----------
    Zhou, Lu and Wu 2019, equations (4) and (15).

    Examples
    --------
    >>> form = binary([0.2, 0.8], 0.1, delta=0.15)
    >>> round(form.value, 12), form.region
    (0.83, 'last')
    """
    budget, delta = Budget(epsilon), read_delta(delta)
    weights, inputs = prior_and_inputs(prior)
    if len(weights) != 2:
        raise StatementError(
            f"binary needs two answers; the prior has {len(weights)}",
            code="answer-count",
            do="use top_k",
        )
    exact = _exact(weights)
    alpha = budget.enclosure()[0]
    values = {
        region: _utility(exact, point)
        for region, point in _optimal_points(alpha, Fraction(delta)).items()
    }
    best = max(values.values())
    ties = tuple(region for region, value in values.items() if value >= best - TIE_TOLERANCE)
    region: RegionName = "middle" if "middle" in ties else ties[0]
    common: Any = {"value": float(best), "inputs": inputs, "epsilon": budget, "delta": delta}
    return Binary(**common, region=region, ties=ties, prior=weights)


def _exact(prior: Float) -> Point:
    """The prior as two rationals."""
    return Fraction(float(prior[0])), Fraction(float(prior[1]))


def _utility(weights: Point, point: Point) -> Fraction:
    """Probability of the truth at a point ``(p00, p11)``."""
    return weights[0] * point[0] + weights[1] * point[1]


def _optimal_points(alpha: Fraction, delta: Fraction) -> dict[RegionName, Point]:
    """Return the optimal ``(p00, p11)`` of each region."""
    truth = (alpha + delta) / (alpha + 1)
    one = Fraction(1)
    return {"first": (one, delta), "middle": (truth, truth), "last": (delta, one)}


def _corners(alpha: Fraction, delta: Fraction) -> tuple[Point, ...]:
    """Return the distinct corners A to H of figure 5; at alpha = 1 D and H are not corners."""
    zero = Fraction(0)
    one = Fraction(1)
    truth = (alpha + delta) / (alpha + 1)
    other = (1 - delta) / (alpha + 1)
    corners = [
        (zero, 1 - delta),
        (zero, one),
        (delta, one),
        (truth, truth),
        (one, delta),
        (one, zero),
    ]
    corners += [(1 - delta, zero), (other, other)]
    if alpha == 1 and delta < 1:
        corners = [point for point in corners if point not in ((truth, truth), (other, other))]
    return tuple(dict.fromkeys(corners))
