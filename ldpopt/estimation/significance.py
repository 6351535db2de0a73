r"""Tests: whether a number has a value, whether frequencies have given shares, whether two answers
are independent.

**One number.** The p-value is the confidence at which the interval touches the value: an interval
and its test never contradict each other.

**Frequencies and independence.** With ``M`` a matrix of values of the reports, shape (r, m),
:math:`q` the shares of ``N`` reports and :math:`q_0 = P^T p_0` those expected,

.. math:: T = N \, d^T (M (\operatorname{diag} q_0 - q_0 q_0^T) M^T)^{-1} d,
          \qquad d = M (q - q_0)

is chi-square with as many degrees as ``M`` has rows, if the matrix is regular. Answers are
independent if and only if their reports are, so for the table ``Q`` of the reports of two
questions, with margins :math:`q_a, q_b`,

.. math:: S = M_a (Q - q_a q_b^T) M_b^T, \qquad
          T = N \operatorname{tr}(C_a^{-1} S C_b^{-1} S^T), \qquad
          C = M (\operatorname{diag} q - q q^T) M^T .

``M`` is the left inverse of the channel, or where there is none (or a report was never seen) the
scores :math:`P \operatorname{diag}(1/q)` of rows that are independent over the reports that occur,
decided in rationals; one row is left out, since shares sum to 1. For a square channel both are
Pearson's statistic of the reports. Variances are those under the hypothesis, so that no border of
the simplex is met: tests by the estimated variance reject far too often with few reports, and
likelihood ratios too rarely.

**Weights and samples.** ``T`` is divided by the mean design effect
:math:`\operatorname{tr}(C_0^{-1} C) / r`, where ``C`` has the squares of the weights, or is the
covariance of the sample (Rao and Scott 1981). With clusters its quantiles are those of Fisher's F
with the degrees of freedom of the clusters, as Student's t for one number.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import Band, LikelihoodBand, ProjectedBand, ScoreBand
from ldpopt.estimation.identified import (
    Dependence,
    has_independent_rows,
    independent_numbers,
    integers,
)
from ldpopt.estimation.liars import plain_band
from ldpopt.estimation.linear import weighted_left_inverse
from ldpopt.estimation.sampled import ReportNoise, SampledNumbers, SampledPeople
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.numbers import Float, real_number, short_repr
from ldpopt.problem.prior import read_prior

if TYPE_CHECKING:
    from ldpopt.estimation.estimate import Estimate

FARTHEST = 38.0  # standard deviations: what is more unlikely has no float
BISECTIONS = 40  # of a quantile: to less than 1e-10


@dataclass(frozen=True)
class Significance(HasFacts):
    """The result of a test; made by `Estimate.test`.

    Attributes
    ----------
    statistic : float
        Chi-square, or for one number its distance from the value in standard deviations.
    freedom : int or None
        Degrees of freedom of the chi-square; None for one number.
    p_value : float
        Probability of such a statistic or a larger one if the hypothesis holds.
    hypothesis : str
        What was tested, in words.

    Examples
    --------
    >>> Significance(3.84, 1, 0.05, "answers are independent").p_value
    0.05
    """

    statistic: float
    freedom: int | None
    p_value: float
    hypothesis: str

    def facts(self) -> Facts:
        """The hypothesis, and the three numbers."""
        facts = [
            ("statistic", self.statistic),
            ("degrees of freedom", self.freedom),
            ("p-value", self.p_value),
        ]
        return Facts(f"test: {self.hypothesis}", facts)


def significance_of(estimate: Estimate, values: Any) -> Significance:
    """Test one number, or frequencies; see `Estimate.test`."""
    labels = estimate.labels or tuple(range(len(estimate.values)))
    if estimate.is_distribution and len(labels) > 1:
        return _test_frequencies(estimate, labels, values)
    if len(estimate.values) != 1:
        raise StatementError(
            f"there are {len(estimate.values)} numbers, which are not the frequencies of all "
            "answers",
            code="several-numbers",
            do="test one number: .contrast({label: 1}).test(value)",
        )
    value = real_number(values, "value")
    z = float(distances(estimate.bounds, np.array([value]))[0])
    return Significance(z, None, float(two_sided(z)), f"{labels[0]} is {value:g}")


def distances(band: Band, values: Float) -> Float:
    """The quantiles at which the intervals touch some values, shape (k,), by bisection; infinite
    for values that no answers give.
    """
    low, high = np.broadcast_to(np.asarray(band.possible), (len(values), 2)).T
    near = np.zeros(len(values))
    far = np.full(len(values), FARTHEST)
    for _ in range(BISECTIONS):
        middle = (near + far) / 2
        ends = band.ends(middle)
        is_in = (ends[:, 0] <= values) & (values <= ends[:, 1])
        near, far = np.where(is_in, near, middle), np.where(is_in, middle, far)
    touching = np.where(far == FARTHEST, np.inf, np.where(near == 0, 0.0, far))
    return np.where((values < low) | (values > high), np.inf, touching)


def two_sided(z: Any) -> Any:
    """Probability that a standard normal number is at least as far from 0."""
    from scipy.special import ndtr

    return 2 * ndtr(-np.asarray(z))


def p_values(estimate: Estimate, values: Float) -> Float:
    """The p-value of each number against its value, shape (k,), if all reports are true; of
    simultaneous intervals times their number.
    """
    times = len(values) if estimate.simultaneous else 1
    return np.asarray(
        np.minimum(1.0, times * two_sided(distances(plain_band(estimate.bounds), values)))
    )


def _test_frequencies(estimate: Estimate, labels: Sequence[Hashable], values: Any) -> Significance:
    """Test given shares of all answers."""
    if np.ndim(values) == 0 and not hasattr(values, "keys"):
        raise StatementError(
            f"{short_repr(values)} is not a share for each of {len(labels)} answers",
            code="hypothesis",
            do="pass shares that sum to 1; test one number by .contrast({label: 1}).test(value)",
        )
    shares = read_prior(values, tuple(labels), "shares")[0]
    words = f"shares are {', '.join(f'{share:.3g}' for share in shares[:8])}"
    hypothesis = f"{words}{', ...' if len(shares) > 8 else ''}"
    band = estimate.bounds
    band = band.unbiased if isinstance(band, ProjectedBand) else band
    if isinstance(band, (ScoreBand, LikelihoodBand)) and len(band.channel) == len(shares):
        expected = shares @ band.channel
        return _test_reports(band, expected, hypothesis)
    if len(shares) == 2:
        z = float(distances(band, shares)[1])
        return Significance(z, None, float(two_sided(z)), hypothesis)
    raise StatementError(
        "the shares of a protocol that keeps no table of its reports cannot be tested together",
        code="supports",
        do="test one answer: .contrast({label: 1}).test(value)",
    )


def _test_reports(band: Any, expected: Float, hypothesis: str) -> Significance:
    """Pearson's statistic in the directions that answers can move the shares of the reports."""
    counts = band.counts
    share = counts.values / counts.total
    if (share[expected == 0] > 0).any():
        return Significance(np.inf, max(1, len(band.channel) - 1), 0.0, hypothesis)
    scores = _Directions.of(band.channel, expected, band.groups)
    distance = scores.white @ (share - expected)
    effect = 1.0
    of_error = np.inf
    if counts.sampled is not None:
        values = scores.white - distance[:, None]
        drawn = _Drawn(counts.sampled, band.channel, _inverse_of(band))
        effect, of_error = drawn.effect(values, counts.total, counts.scale)
    elif counts.is_weighted:
        people = (scores.white**2).sum(axis=0) - 2 * distance @ scores.white + distance @ distance
        effect = float(people @ counts.squares) / counts.total_squares / max(1, scores.freedom)
    statistic = distance @ distance / counts.scale
    return _chi_square(statistic, scores.freedom, effect, hypothesis, of_error)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The people of a test, from a sample, and the channel of their reports with its left inverse,
    if it has one.
    """

    sampled: SampledPeople
    channel: Float
    inverse: Float | None

    def effect(self, values: Float, total: float, scale: float) -> tuple[float, float]:
        """The mean variance of some numbers of mean 0 and covariance ``scale`` if people were drawn
        one by one, in units of it, and its degrees of freedom.
        """
        noise = ReportNoise.of(values, values @ self.channel.T, self.channel, self.inverse)
        numbers = SampledNumbers(self.sampled, values, total, noise)
        return float(numbers.variances.sum() / scale) / max(1, len(values)), numbers.freedom


def independence(
    values: Float,
    squares: Float,
    channels: tuple[Float, Float],
    hypothesis: str,
    sampled: SampledPeople | None = None,
) -> Significance:
    """Test whether the answers to two questions are independent, or an answer and a group, whose
    channel is the identity.

    ``values`` and ``squares``, shape (m_a, m_b), are the sums of the weights, and of their squares,
    of the people with each pair of reports; ``sampled`` has the pairs in the same order.
    """
    margins = values.sum(axis=1) / values.sum(), values.sum(axis=0) / values.sum()
    first, second = map(_Directions.of, channels, margins)
    drawn = None
    if sampled is not None:
        inverses = [weighted_left_inverse(each, each.mean(axis=0)) for each in channels]
        both: list[Any] = [np.kron(*channels), np.kron(*inverses)]
        drawn = _Drawn(sampled, *both)
    return _independence(values, squares, (first, second), hypothesis, drawn)


def _independence(
    values: Float,
    squares: Float,
    directions: tuple[_Directions, _Directions],
    hypothesis: str,
    drawn: _Drawn | None = None,
) -> Significance:
    """The statistic of a table of reports in some directions of both."""
    first, second = directions
    total = values.sum()
    table = values / total
    margins = table.sum(axis=1), table.sum(axis=0)
    away = first.white @ (table - np.outer(*margins)) @ second.white.T
    freedom = first.freedom * second.freedom
    scale = squares.sum() / total**2
    effect = 1.0
    of_error = np.inf
    if drawn is not None:
        pairs = np.kron(first.white, second.white) - away.reshape(-1, 1)
        effect, of_error = drawn.effect(pairs, total, scale)
    elif not np.array_equal(values, squares):
        sizes = np.outer((first.white**2).sum(axis=0), (second.white**2).sum(axis=0))
        people = sizes - 2 * first.white.T @ away @ second.white + (away**2).sum()
        effect = float((people * squares).sum()) / squares.sum() / max(1, freedom)
    return _chi_square((away**2).sum() / scale, freedom, effect, hypothesis, of_error)


def homogeneity(bands: Sequence[ScoreBand], hypothesis: str) -> Significance:
    """Test whether the numbers of several groups of people are the same: whether the value of a
    report and the group are independent.

    For frequencies this is `independence` with the identity as the channel of the groups.
    """
    values, squares = (
        np.stack([getattr(band.counts, key) for band in bands], axis=1).astype(float)
        for key in ("values", "squares")
    )
    margins = values.sum(axis=1) / values.sum(), values.sum(axis=0) / values.sum()
    groups = _Directions.of(np.eye(len(bands)), margins[1])
    first = bands[0]
    if len(first.estimator) == len(first.channel):
        answers = _Directions.of(first.channel, margins[0])
    else:  # other numbers than all frequencies, such as one question of a joint report
        answers = _Directions.of_values(first.estimator, first.wanted, margins[0])
    return _independence(values, squares, (answers, groups), hypothesis, _drawn_of_groups(bands))


def _inverse_of(band: ScoreBand) -> Float | None:
    """The left inverse of the channel of all people; None if they chose one of several."""
    return None if band.is_chosen else band.inverse


def _drawn_of_groups(bands: Sequence[ScoreBand]) -> _Drawn | None:
    """The people of several groups of one sample; None without a sample."""
    samples = [band.counts.sampled for band in bands if band.counts.sampled is not None]
    if not samples:
        return None
    every = samples[0]
    for other in samples[1:]:
        every = every + other
    places = np.full(len(every.table.groups), -1)
    for place, each in enumerate(samples):
        places[each.groups] = place
    sampled = every.with_groups_as_reports(places.tolist(), len(samples))
    channel = bands[0].channel
    inverse = _inverse_of(bands[0])
    same = np.eye(len(samples))
    both: list[Any] = [np.kron(channel, same), None if inverse is None else np.kron(inverse, same)]
    return _Drawn(sampled, *both)


@dataclass(frozen=True, eq=False)
class _Directions:
    """Values of the reports whose mean is 0 and covariance the identity if their shares are as
    expected.
    """

    white: Float  # (freedom, m)

    @property
    def freedom(self) -> int:
        """Number of directions in which answers can move the shares."""
        return len(self.white)

    @classmethod
    def of(cls, channel: Float, expected: Float, groups: Any = None) -> _Directions:
        """Those of a channel at some expected shares of the reports, shape (m,).

        Shares of ``groups`` of reports, numbers of shape (m,), are fixed: the means are 0 in each.
        """
        occurs = expected > 0
        part = channel[:, occurs]
        share = expected[occurs]
        kept = _independent_rows(part)
        if len(kept) < 2:
            return cls(np.zeros((0, len(expected))))
        if len(kept) == len(channel) and occurs.all():
            values = weighted_left_inverse(channel, channel.mean(axis=0))[1:]
        else:
            # The scores of all kept rows have a mean of 1 times their shares: one is left out, of
            # an answer that the shares show.
            weights = np.linalg.lstsq((part[kept] / np.sqrt(share)).T, np.sqrt(share))[0]
            values = (part[kept] / share)[np.arange(len(kept)) != int(np.abs(weights).argmax())]
        white = np.zeros((len(values), len(expected)))
        group = None if groups is None else groups[occurs]
        white[:, occurs] = _whitened(values, share, group)
        return cls(white)

    @classmethod
    def of_values(cls, values: Float, wanted: Float, expected: Float) -> _Directions:
        """Those of some numbers, shape (k, n), of which each report has a value, shape (k, m).

        Numbers that are a sum of others and a constant for every answer are left out.
        """
        rows = independent_numbers(wanted)
        if not len(rows):
            return cls(np.zeros((0, len(expected))))
        return cls(_whitened(values[rows], expected))


def _whitened(values: Float, share: Float, groups: Any = None) -> Float:
    """Values with mean 0 and covariance the identity at the shares of the reports; with groups of
    reports, whose shares are fixed, with mean 0 in each.
    """
    group = np.zeros(len(share), np.int64) if groups is None else groups
    is_in = group == np.arange(group.max() + 1)[:, None]
    means = (values * share) @ is_in.T / np.maximum(is_in @ share, np.finfo(float).tiny)
    centered = values - means @ is_in
    try:
        root = np.linalg.cholesky((centered * share) @ centered.T)
    except np.linalg.LinAlgError:
        raise StatementError(
            "only reports that practically nobody gives tell the answers apart",
            code="silent",
            do="merge answers, or use a larger epsilon",
        ) from None
    return np.asarray(np.linalg.solve(root, centered))


def _independent_rows(channel: Float) -> Any:
    """Positions of independent rows that span all rows, decided exactly."""
    if has_independent_rows(channel, weighted_left_inverse(channel, channel.mean(axis=0))):
        return np.arange(len(channel))
    masses: Any = integers(channel)
    return Dependence.of(masses).kept


def _chi_square(
    statistic: float, freedom: int, effect: float, hypothesis: str, of_error: float = np.inf
) -> Significance:
    """The result of a statistic, chi-square in many clusters; in few, whose error has ``of_error``
    degrees of freedom, Fisher's F.
    """
    from scipy.special import chdtrc, fdtrc

    value = float(statistic / (effect if effect > 0 else 1.0))
    chance = 1.0
    if freedom and of_error < np.inf:
        chance = float(fdtrc(freedom, of_error, value / freedom))
    elif freedom:
        chance = float(chdtrc(freedom, value))
    return Significance(value, freedom, chance, hypothesis)
