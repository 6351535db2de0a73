r"""Score intervals, which keep their coverage for labels never seen, few reports and large epsilon.

A normal interval takes the variance at the estimate, which is 0 for a label that was never
reported. A *score* interval (Wilson 1927 for a share) has all values ``t`` that the estimate does
not contradict,

.. math:: (\hat t - t)^2 \le z^2 \sigma^2(t) / N,

with the variance that the estimate would have at ``t``. For randomized response that variance
depends on ``t`` alone. Otherwise it depends on the whole distribution: the estimated one is mixed
with the answers of the largest or least ``w`` until its number is ``t``; its second moment is then
linear in ``t``, and the ends are roots of a quadratic.
"""

from statistics import NormalDist
from typing import Any

import numpy as np

from ldpopt.auditing.black_box import lower_limit, upper_limit
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, inner_share, real_array, shaped_array, truth

FARTHEST_TAIL = 35.0  # normal quantile up to which Student's quantiles are computed
LARGEST_QUANTILE = 1e70  # its fourth power is a float


def normal_quantile(confidence: float) -> float:
    r"""Return ``z`` with :math:`\Pr(|Z| \le z) = \text{confidence}` for a standard normal ``Z``:
    1.96 for 0.95.
    """
    return -NormalDist().inv_cdf(
        (1 - inner_share(confidence, "confidence", do="pass a coverage such as 0.95")) / 2
    )


def interval_quantile(confidence: float, count: int, simultaneous: bool) -> float:
    """Return ``z`` of each of ``count`` intervals, which hold alone or all at once (Bonferroni)."""
    alone = normal_quantile(confidence)
    simultaneous = truth(simultaneous, "simultaneous")
    return (
        normal_quantile(1.0 - (1.0 - confidence) / count) if simultaneous and count > 1 else alone
    )


def student_quantile(z: Any, freedom: float) -> Any:
    """The quantile of Student's t distribution with the probability of a normal quantile ``z >=
    0``; for infinite freedom ``z`` itself.
    """
    if freedom == np.inf:
        return z
    from scipy.special import ndtr, stdtrit

    tail = ndtr(-np.clip(z, 0.0, FARTHEST_TAIL))  # all that floats have
    return np.minimum(-stdtrit(freedom, tail), LARGEST_QUANTILE)


def tail(z: Any) -> Any:
    """Probability that a standard normal number is below ``-z``; a number, or an array."""
    if np.ndim(z) == 0:
        return NormalDist().cdf(-float(z))
    from scipy.special import ndtr

    return ndtr(-z)


def norm_sub(values: Float) -> Float:
    """Return the nearest frequencies, as `Estimate.norm_sub`: the Euclidean projection on the
    simplex.
    """
    values = shaped_array(values, "values", None)
    if not (len(values) and np.isfinite(values).all()):
        raise StatementError(
            "the values are not finite, or there are none", code="range", do="give finite values"
        )
    falling = np.sort(values)[::-1]
    shift = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - shift[int(np.flatnonzero(falling > shift)[-1])], 0.0))


def _scale(scale: Any, numbers: Any) -> Float:
    """Read one over numbers of reports: one number, or one for each number."""
    read = real_array(scale, "scale")
    if read.shape not in ((), np.shape(numbers)) or not ((read >= 0) & (read < np.inf)).all():
        raise StatementError(
            "the scale is not one over a number of reports",
            code="scale",
            do="give a number >= 0, or one for each number",
        )
    return read


def _quantile(z: Any, numbers: Any) -> Any:
    """Read a quantile of the normal distribution: one number, or one for each number."""
    read = real_array(z, "z")
    if (
        read.shape not in ((), np.shape(numbers))
        or not ((read >= 0) & (read <= LARGEST_QUANTILE)).all()
    ):
        raise StatementError(
            "z is not a quantile of the normal, or of Student's distribution",
            code="quantile",
            do=f"give a number from 0 to {LARGEST_QUANTILE:g}, or one for each number",
        )
    return float(read) if read.ndim == 0 else read


def share_intervals(share: Float, scale: Any, z: Any) -> Float:
    """Wilson intervals of shares, shape ``(k, 2)``; ``scale`` is one over the number of reports, a
    number or of shape (k,).
    """
    share, scale = shaped_array(share, "share", None), _scale(scale, share)
    if len(share) and not (share.min() >= 0 and share.max() <= 1):
        raise StatementError("a share is not in [0, 1]", code="share-range", do="give shares")
    z = _quantile(z, share)
    c = z * z * scale
    half = np.sqrt(c * (share * (1 - share) + c / 4))
    middle = share + c / 2
    return np.stack([(middle - half) / (1 + c), (middle + half) / (1 + c)], axis=-1)


def binomial_intervals(share: Float, scale: Any, z: Any) -> Float:
    """Clopper and Pearson's intervals of shares, shape ``(k, 2)``: the risk is at most that of
    ``z``, however small.
    """
    hits = np.round(np.clip(share, 0.0, 1.0) / scale, 6)
    place: Any = slice(None)
    if np.ndim(scale) == 0 and np.ndim(z) == 0:
        hits, place = np.unique(hits, return_inverse=True)
    risk = tail(z)
    ends = lower_limit(hits, 1 / scale, risk), upper_limit(hits, 1 / scale, risk)
    return np.asarray(np.stack(ends, axis=-1)[place])


def score_intervals(
    estimates: Float, wanted: Float, second: Float, frequencies: Float, scale: Any, z: Any
) -> Float:
    """Score intervals, shape (k, 2), of unbiased ``estimates`` of ``wanted @ p``, linear in the
    reports; not clipped.

    ``wanted`` and ``second``, the mean square of a person's value by answer, have shape (k, n),
    ``frequencies`` (n,); ``scale`` is one over the (effective) number of reports, a number or of
    shape (k,), and so is ``z``, a quantile of the normal distribution.
    """
    estimates = shaped_array(estimates, "estimates", None)
    k = len(estimates)
    wanted = shaped_array(wanted, "wanted", k, None)
    second = shaped_array(second, "second", k, wanted.shape[1])
    frequencies = shaped_array(frequencies, "frequencies", wanted.shape[1])
    if not wanted.shape[1]:
        raise StatementError("there are no answers", code="shape", do="give frequencies")
    scale, z = _scale(scale, estimates), _quantile(z, estimates)
    mean, moment, ends, slopes = moments_at_ends(wanted, second, frequencies)
    (low, low_moment), (high, high_moment) = ends
    # A number that is equal for all answers is known: no other value is possible.
    c = np.where(low < high, z * z * scale, 0.0)
    # If an estimate is so far out that no possible value agrees, the ends have the variance at the
    # nearest one.
    is_above = estimates > (low + high) / 2
    half = np.sqrt(
        c * np.maximum(np.where(is_above, high_moment - high**2, low_moment - low**2), 0.0)
    )
    sides = []
    for slope, side in zip(slopes, (-1, 1), strict=True):
        middle = estimates + c * slope / 2
        intercept = moment - slope * mean
        inside = middle**2 - (1 + c) * (estimates**2 - c * intercept)
        root = (middle + side * np.sqrt(np.maximum(inside, 0.0))) / (1 + c)
        sides.append(np.where(inside < 0, estimates + side * half, root))
    return np.stack(sides, axis=-1)


def null_variances(wanted: Float, second: Float, frequencies: Float) -> Float:
    """Variances of one person's values if the numbers ``wanted @ p`` are 0, shape (k,); see
    `score_intervals`.
    """
    mean, moment, _, slopes = moments_at_ends(wanted, second, frequencies)
    return np.asarray(np.maximum(moment - np.where(mean > 0, *slopes) * mean, 0.0))


def moments_at_ends(
    wanted: Float, second: Float, frequencies: Float
) -> tuple[Float, Float, Any, list[Float]]:
    """Numbers and second moments, at the frequencies and at the least and largest number, and the
    slopes to these.
    """
    mean = wanted @ frequencies
    moment = second @ frequencies
    ends = []
    for best in (wanted.min(axis=1), wanted.max(axis=1)):
        at_end = np.abs(wanted - best[:, None]) <= 1e-12 * (1.0 + np.abs(best[:, None]))
        weights = np.where(at_end, frequencies, 0.0)
        none = ~(weights.sum(axis=1) > 0)
        weights[none] = at_end[none]
        ends.append((best, (second * weights).sum(axis=1) / weights.sum(axis=1)))
    chord = _slope(*ends[0], *ends[1], np.zeros(len(mean)))
    return mean, moment, ends, [_slope(mean, moment, *end, chord) for end in ends]


def _slope(at: Float, moment: Float, end: Float, there: Float, otherwise: Float) -> Float:
    """Return the slope of the second moment between two numbers, or ``otherwise`` if they are
    equal.
    """
    distance = end - at
    near = np.abs(distance) <= 1e-12 * (1.0 + np.abs(end))
    return np.where(near, otherwise, (there - moment) / np.where(near, 1.0, distance))
