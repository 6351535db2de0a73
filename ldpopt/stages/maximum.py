r"""The most likely value of a parameter, from the reports of one or several mechanisms.

.. math:: \ell(\theta) = \sum_m \sum_y c_{my} \log \sum_x p_x(\theta) P^{(m)}_{xy}

The interval has all values with :math:`2 (\ell(\hat\theta) - \ell(\theta)) \le z^2`, from the least
to the largest. It uses the second stage alone: given the pilot, which chose the mechanism, these
are the reports of an ordinary survey. The value itself uses the reports of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import Band, MultiplesBand
from ldpopt.estimation.counts import Counts, source_of
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.foundation.numbers import Float, listed_items, require_kind
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.stages.families import GRID, AnswerFamily

BISECTIONS = 60
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class ParameterLikelihood:
    """The log likelihood of the parameter of a family, from counts of reports by mechanism."""

    family: AnswerFamily
    parts: tuple[tuple[Mechanism, Float], ...]  # how often there is each report

    def at(self, theta: float) -> float:
        """Log likelihood at a value."""
        shares = self.family.probabilities(theta)
        total = 0.0
        for mechanism, counts in self.parts:
            seen = counts > 0
            masses = shares @ mechanism.channel[:, seen]
            with np.errstate(divide="ignore"):
                total += float(counts[seen] @ np.log(masses))
        return total

    @cached_property
    def grid(self) -> tuple[Float, Float]:
        """Values over the domain, and the log likelihood at each."""
        values, shares = self.family.on_grid
        heights = np.zeros(len(values))
        for mechanism, counts in self.parts:
            seen = counts > 0
            with np.errstate(divide="ignore"):
                heights += np.log(shares @ mechanism.channel[:, seen]) @ counts[seen]
        return values, heights

    @cached_property
    def largest(self) -> tuple[float, float]:
        """The most likely value, by a golden section around the best one of the grid, and its log
        likelihood.
        """
        values, heights = self.grid
        place = int(np.argmax(heights))
        low = values[max(place - 1, 0)]
        high = values[min(place + 1, GRID)]
        for _ in range(BISECTIONS):
            left = high - GOLDEN * (high - low)
            right = low + GOLDEN * (high - low)
            if self.at(left) >= self.at(right):
                high = right
            else:
                low = left
        found = [values[place], float(low + high) / 2]
        best = max(found, key=self.at)
        return float(best), self.at(best)

    def ends(self, z: float) -> tuple[float, float]:
        """The least and the largest value whose deviance is at most ``z^2``."""
        value, height = self.largest
        limit = height - z * z / 2
        values, heights = self.grid
        inside = np.append(values[heights >= limit], value)
        ends = []
        for side, last in ((-1, float(inside.min())), (1, float(inside.max()))):
            step = (values[1] - values[0]) * side
            near = last
            far = float(np.clip(last + step, *self.family.domain))
            for _ in range(BISECTIONS):
                middle = (near + far) / 2
                if middle in (near, far):
                    break
                if self.at(middle) >= limit:
                    near = middle
                else:
                    far = middle
            ends.append(near)
        return ends[0], ends[1]


@dataclass(frozen=True, eq=False)
class DevianceBand:
    """A parameter with the intervals of its likelihood; the value may be that of more reports."""

    value: float
    likelihood: ParameterLikelihood

    @property
    def values(self) -> Float:
        """The estimate, shape (1,)."""
        return np.array([self.value])

    @cached_property
    def errors(self) -> Float:
        """Half of the length of the interval of one standard error, shape (1,)."""
        return np.asarray(np.diff(self.ends(1.0))[:, 0] / 2)

    @property
    def covariance(self) -> Float:
        """The square of the standard error."""
        return np.asarray(self.errors[:, None] ** 2)

    @property
    def effect(self) -> None:
        """There are no weights."""
        return None

    @property
    def possible(self) -> Float:
        """The domain, shape (1, 2)."""
        return np.array([self.likelihood.family.domain])

    @property
    def freedom(self) -> float:
        """Infinite: there are no clusters."""
        return float("inf")

    @property
    def influence_values(self) -> None:
        """There is no sample with strata or clusters."""
        return None

    def ends(self, z: Any) -> Float:
        """Ends of the interval, shape (1, 2)."""
        return np.array([self.likelihood.ends(float(np.ravel(z)[0]))])

    def contrast(self, matrix: Float) -> Band:
        """A multiple of the parameter."""
        return MultiplesBand.of(self, matrix)


def estimate(
    family: AnswerFamily,
    mechanism: Mechanism,
    reports: Any,
    *,
    pilot: Sequence[tuple[Mechanism, Any]] = (),
    confidence: float = 0.95,
    check_fit: bool = True,
) -> Estimate:
    r"""Estimate the parameter of a family from the reports of the second stage, and of the pilot.

    .. math:: \hat\theta = \arg\max_\theta \sum_m \sum_y c_{my}
              \log \sum_x p_x(\theta) P^{(m)}_{xy}

    over both stages; the interval has all values that the second stage alone does not refute.

    Parameters
    ----------
    family : AnswerFamily
        Distributions of the answers.
    mechanism : Mechanism
        That of the second stage, from `adapted`; or any other one of the same answers.
    reports : Counts, or sequence of labels, or mapping or Series label -> count
        Its reports, without weights.
    pilot : sequence of (Mechanism, reports)
        Mechanisms of the pilot, with their reports, of other people; default: ``()``.
    confidence : float
        Coverage of the interval; default: ``0.95``.
    check_fit : bool
        Whether reports that hardly come from the mechanism cause a warning or an error, see
        `goodness_of_fit`; default: ``True``.

    Returns
    -------
    Estimate
        One number within the domain. The standard error is half of the interval of one deviation.

    Raises
    ------
    StatementError
        If there are no reports, they have weights, a mechanism is for other answers, or the same
        people are in both stages.

    Notes
    -----
    O(400 n m) for ``n`` answers and ``m`` reports. The pilot moves the value by a few percent of
    its error; the interval does not use it, since the choice of the mechanism depends on it.

    Examples
    --------
    >>> from ldpopt.stages import GaussianMean, adapted
    >>> family = GaussianMean(1.0, (-3, 3))
    >>> half = adapted(family, 0.0, "log(3)")
    >>> estimate(family, half, {0: 450, 1: 550}).values.round(3)
    array([0.253])
    """
    require_kind(family, AnswerFamily, "stages.estimate()", "pass GaussianMean(sd, domain)")
    last = _counted(family, mechanism, reports)
    earlier = []
    for item in listed_items(pilot, "pilot"):
        if not (isinstance(item, tuple) and len(item) == 2):
            raise StatementError(
                "the pilot is not a list of (mechanism, reports)",
                code="pilot",
                do="pass [(mechanism, reports), ...]",
            )
        earlier.append(_counted(family, *item))
    people: frozenset[int] = frozenset()
    for _, counts in (last, *earlier):
        if people & counts.people:
            raise StatementError(
                "the same reports are in both stages",
                code="stages",
                do="ask each person in one stage only",
            )
        people |= counts.people
    fit = checked_fit(source_of(mechanism, "stages.estimate"), last[1], check_fit)
    parts = tuple((law, counts.values.astype(np.float64)) for law, counts in (last, *earlier))
    second = ParameterLikelihood(family, parts[:1])
    value = ParameterLikelihood(family, parts).largest[0]
    return Estimate.of_band(
        DevianceBand(value, second),
        last[1],
        confidence,
        method="two stages" if earlier else "maximum_likelihood",
        labels=("parameter",),
        fit=fit,
    )


def expected(family: AnswerFamily, mechanism: Mechanism, shares: Float) -> float:
    """The value that the estimate tends to with more and more reports, if the answers have some
    shares; these may be outside of the family, and then it is the value nearest to them.
    """
    return ParameterLikelihood(family, ((mechanism, shares @ mechanism.channel),)).largest[0]


def nearest_value(family: AnswerFamily, numbers: Float, wanted: Float) -> float:
    """The value whose numbers ``wanted @ p`` are nearest to estimated ones, of least squares."""
    from scipy.optimize import minimize_scalar

    def distance(theta: float) -> float:
        return float(((numbers - wanted @ family.probabilities(theta)) ** 2).sum())

    values, shares = family.on_grid
    place = int(np.argmin(((numbers - shares @ wanted.T) ** 2).sum(axis=1)))
    ends = (values[max(place - 1, 0)], values[min(place + 1, GRID)])
    return float(minimize_scalar(distance, bounds=ends, method="bounded").x)


def _counted(family: AnswerFamily, mechanism: Any, reports: Any) -> tuple[Mechanism, Counts]:
    """A mechanism with its rows in the order of the family, and the counts of its reports."""
    require_kind(mechanism, Mechanism, "stages.estimate()", "pass the mechanism of the reports")
    if tuple(mechanism.inputs) != family.inputs:
        raise StatementError(
            f"the {len(mechanism.inputs)} answers of the mechanism are not those of the family",
            code="answers",
            do="pass a mechanism of family.inputs, in their order",
        )
    counts = Counts.of(mechanism, reports).require_some()
    if counts.is_weighted or counts.sampled is not None:
        raise StatementError(
            "the parameter of a family is estimated from people of equal weight, drawn one by one",
            code="weights",
            do="leave the weights out",
        )
    return mechanism, counts
