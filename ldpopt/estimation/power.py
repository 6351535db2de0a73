r"""How many people are needed to find a difference between two groups.

A person's value has the variance :math:`s^2(t)` where the number is ``t``, noise included. With
``k`` times as many people in the second group, and :math:`\bar t` the mean of both groups,

.. math:: n = \left( \frac{z_{\alpha/2} \sqrt{s^2(\bar t) (1 + 1/k)} +
          z_{\text{power}} \sqrt{s^2(t_1) + s^2(t_2) / k}}{t_1 - t_2} \right)^2

people in the first group find the difference with the wanted power. Of all distributions of the
answers with the number ``t`` the one with the largest variance is taken: ``(t, s^2 + t^2)`` is then
on the upper hull of the points :math:`(w_x, b_x)` of the answers, as in
`ldpopt.estimation.planning`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import ReportSource, source_of
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.linear import upper_hull
from ldpopt.estimation.planning import MOST_PEOPLE, Source
from ldpopt.foundation.labelled import is_labelled, read_labelled
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import Float, inner_share, percentage, real_number, short_repr
from ldpopt.problem.prior import read_prior

SEARCH = 60  # steps of the search for the worst pair: two thirds of the range are left by each
SLACK = 1e-12  # relative size of rounding


def plan_difference(
    source: Source,
    difference: Any,
    *,
    power: float = 0.8,
    level: float = 0.05,
    shares: Any = None,
    ratio: float = 1.0,
    effect: float = 1.0,
) -> tuple[int, int]:
    r"""Return the numbers of people in two groups by which a difference between them is found.

    .. math:: n = d \left( \frac{z_{\alpha/2} \sqrt{s^2(\bar t) (1 + 1/k)} +
              z_{\text{power}} \sqrt{s^2(t_1) + s^2(t_2) / k}}{t_1 - t_2} \right)^2

    Parameters
    ----------
    source : Mechanism, design or frequency protocol
        Will draw the reports.
    difference : float or str, or mapping or Series name -> float
        Number of the second group minus that of the first, in the unit of what is estimated, or
        text such as ``"10%"``, a percentage of its span. With names: of these numbers only.
    power : float
        Probability that the difference is found, ``0 < power < 1``; default: ``0.8``.
    level : float
        Probability that a difference is found where there is none (two-sided). Default: ``0.05``.
    shares : float, or array_like, shape (n,), or mapping or Series label -> weight, optional
        The number in the first group, or the distribution of its answers; default: the pair of
        numbers that needs most people.
    ratio : float
        People in the second group for each one in the first. Default: ``1.0``.
    effect : float
        Design effect of weights, at least 1. Default: ``1.0``.

    Returns
    -------
    tuple of int
        People in the first and in the second group, each rounded up; the largest over the numbers.

    Raises
    ------
    StatementError
        If the difference is 0 or does not fit into the range of the number, an argument is out of
        its range, or the variances of the source are not listed.

    Notes
    -----
    This is the normal approximation for the test by `Estimate.__sub__`, whose exact power is within
    .02 of it for groups of 100 or more. O(k n log n) time.

    Examples
    --------
    >>> from ldpopt import Mechanism
    >>> die = Mechanism([[5 / 6, 1 / 6], [1 / 6, 5 / 6]], inputs=["no", "yes"])
    >>> plan_difference(die, 0.1, shares=0.2)
    (784, 784)
    """
    quantiles = (
        normal_quantile(1 - inner_share(level, "level", do="pass a level such as 0.05")),
        NormalDist().inv_cdf(inner_share(power, "power", do="pass a power such as 0.8")),
    )
    times = _at_least(ratio, "ratio", 0.0)
    design = _at_least(effect, "effect", 1.0)
    numbers = source_of(source, "plan_difference")
    wanted, second = numbers.moments
    curves = [_Variances.of(*pair) for pair in zip(wanted, second, strict=True)]
    sizes = _differences(difference, numbers.names, curves)
    starts = _starts(shares, numbers)
    plans = [(1, 1)]
    # many answers of a protocol have one curve
    each = {
        (
            curves[place].corners.tobytes(),
            size,
            None if starts is None else float(starts[place]),
        ): place
        for place, size in sizes.items()
    }
    for (_, size, start), place in each.items():
        people = design * curves[place].people(size, start, times, quantiles)
        if not max(1.0, times) * people <= MOST_PEOPLE:
            raise StatementError(
                f"{people:.3g} people are needed",
                code="people",
                do="look for a larger difference, or use a larger epsilon",
            )
        plans.append((_rounded_up(people), _rounded_up(times * people)))
    return max(plans)


@dataclass(frozen=True, eq=False)
class _Variances:
    """The largest variance of a person's value for each value ``t`` of a number: linear between the
    corners of a hull, less the square of ``t``.
    """

    corners: Float  # (c, 2): values of the number, ascending, and mean squares

    @classmethod
    def of(cls, wanted: Float, second: Float) -> "_Variances":
        """Those of a number, from its value and the mean square of a person's value by answer."""
        return cls(np.array(upper_hull(wanted, second)))

    @property
    def span(self) -> float:
        """The largest minus the least value of the number."""
        return float(self.corners[-1, 0] - self.corners[0, 0])

    def at(self, t: float) -> float:
        """The variance where the number is ``t``."""
        return max(0.0, float(np.interp(t, *self.corners.T)) - t * t)

    def people(
        self, size: float, start: float | None, times: float, quantiles: tuple[float, float]
    ) -> float:
        """People in the first group, whose number is ``start``, or that of the pair that needs
        most.
        """
        low, high = self.corners[[0, -1], 0].tolist()
        if start is not None:
            slack = SLACK * self.span
            if not (low - slack <= start <= high + slack and low - slack <= start + size):
                raise _out_of_range(start, size, low, high)
            if not start + size <= high + slack:
                raise _out_of_range(start, size, low, high)
            return self._root(start, size, times, quantiles) ** 2
        # The root is concave in the first number, so that a search finds the largest one.
        left = low
        right = high - abs(size)
        for _ in range(SEARCH):
            first = left + (right - left) / 3
            second = right - (right - left) / 3
            if self._root(first, abs(size), times, quantiles) < self._root(
                second, abs(size), times, quantiles
            ):
                left = first
            else:
                right = second
        return self._root((left + right) / 2, abs(size), times, quantiles) ** 2

    def _root(
        self, start: float, size: float, times: float, quantiles: tuple[float, float]
    ) -> float:
        """The root of the number of people in the first group."""
        end = start + size
        both = self.at((start + times * end) / (1 + times)) * (1 + 1 / times)
        apart = self.at(start) + self.at(end) / times
        return (quantiles[0] * sqrt(both) + quantiles[1] * sqrt(apart)) / abs(size)


def _differences(
    difference: Any, names: Sequence[Hashable], curves: Sequence[_Variances]
) -> dict[int, float]:
    """The wanted difference of each number that is not the same for all answers, by its place."""
    if is_labelled(difference):
        read = read_labelled(difference, "difference", ("number",))
        known = {name: place for place, name in enumerate(names)}
        unknown = [name for name in read.axes[0] or () if name not in known]
        if unknown:
            raise StatementError(
                f"the difference names {short_repr(unknown[0])}, which is not a number",
                code="unknown-label",
                do=nearest(unknown[0], names),
            )
        sizes = {
            known[name]: float(d) for name, d in zip(read.axes[0] or (), read.values, strict=True)
        }
    elif isinstance(difference, str) and (share := percentage(difference)) is not None:
        sizes = {place: share * curve.span for place, curve in enumerate(curves) if curve.span}
    else:
        size = real_number(difference, "difference", do='pass a number such as 0.1, or "10%"')
        sizes = {place: size for place, curve in enumerate(curves) if curve.span}
    for place, size in sizes.items():
        if not 0 < abs(size) <= curves[place].span * (1 + SLACK):
            raise StatementError(
                f"the difference {size:g} is not above 0 and at most {curves[place].span:g}, the "
                "range of the number",
                code="range",
                where=f"number {short_repr(names[place])}",
                do="pass a number such as 0.1; percentage points are hundredths",
            )
    return sizes


def _starts(shares: Any, numbers: ReportSource) -> Float | None:
    """Each number in the first group, shape (k,); None for the pair that needs most people."""
    if shares is None:
        return None
    if np.ndim(shares) == 0 and not is_labelled(shares):
        return np.full(len(numbers.names), real_number(shares, "shares"))
    return numbers.numbers_at(read_prior(shares, numbers.answers, "shares")[0])


def _at_least(value: Any, name: str, low: float) -> float:
    """Read a factor: at least ``low``, and above 0."""
    number = real_number(value, name, low)
    if not 0 < number < np.inf:
        raise StatementError(
            f"{name} = {short_repr(value)} is not positive", code="sign", do="pass 1.0 or more"
        )
    return number


def _out_of_range(start: float, size: float, low: float, high: float) -> StatementError:
    return StatementError(
        f"the numbers {start:g} and {start + size:g} of the groups are not within {low:g} and "
        f"{high:g}",
        code="first-group",
        do="pass another share of the first group, or a smaller difference",
    )


def _rounded_up(people: float) -> int:
    """A whole number of people; what is above one by rounding alone is not another person."""
    return max(1, ceil(people * (1 - SLACK)))
