r"""Estimators that are linear in the shares of the reports, and their variances.

A number :math:`t = w \cdot p` is estimated by the mean of one value :math:`v_y` a report.
``wanted`` is the matrix of the ``w``, shape (k, n); an estimator is the matrix of the ``v``, shape
(k, m).
"""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.identified import SHOWN, Dependence, has_independent_rows, least_values
from ldpopt.foundation.numbers import Float, Int, short_repr
from ldpopt.mechanism.mechanism import Mechanism

# largest condition number of a square channel that is inverted without its singular values
MAX_CONDITION = 1e6
DISTINCT = (
    "use a mechanism with linearly independent rows (a constant one has rank 1), merge inputs, or "
    "estimate numbers that the reports show: numbers=Workload(...)"
)


def left_inverse(mechanism: Mechanism) -> Float:
    """Return the estimator of the frequencies, shape ``(n, m)``: least squares weighted for uniform
    answers.

    Linearly dependent rows are refused, by an exact decision: see `ldpopt.estimation.identified`.
    """
    channel = mechanism.counts / mechanism.denominator
    return inverse_of_rows(channel, mechanism.counts, mechanism.inputs)


def inverse_of_rows(
    channel: Float, masses: Any, names: Sequence[Hashable], do: str = DISTINCT
) -> Float:
    """Return the estimator of the shares of the rows of a channel, shape ``(n, m)``, by its integer
    masses, of which each column may have a scale of its own.

    Linearly dependent rows are refused by name.
    """
    inverse = weighted_left_inverse(channel, channel.mean(axis=0))
    if (dependence := _dependence(masses, channel, inverse)) is not None:
        raise not_identified(names, masses, dependence, np.eye(len(channel)), names, do)
    return inverse


def _dependence(masses: Any, channel: Float, inverse: Float) -> Dependence | None:
    """The proved dependence of the rows of a channel; None if it is proved that there is none."""
    if has_independent_rows(channel, inverse):
        return None
    dependence = Dependence.of(masses)
    return dependence if len(dependence.others) else None


def estimator_of(
    mechanism: Mechanism, wanted: Float, names: Sequence[Hashable]
) -> tuple[Float, Float]:
    """Return the estimator of numbers, shape (k, m), and one of frequencies, shape (n, m), that
    give the same reports.

    The frequencies are those of answers with independent rows, and 0 for other answers. Numbers
    that the reports do not identify are refused by name.
    """
    channel = mechanism.counts / mechanism.denominator
    expected = channel.mean(axis=0)
    inverse = weighted_left_inverse(channel, expected)
    kept = shown_rows(mechanism, inverse, wanted, names)
    if len(kept) == len(channel):
        return least_values(channel, wanted, expected), inverse
    frequencies = np.zeros(channel.shape)
    frequencies[kept] = weighted_left_inverse(channel[kept], expected)
    return least_values(channel[kept], wanted[:, kept], expected), frequencies


def shown_rows(
    mechanism: Mechanism, inverse: Float, wanted: Float, names: Sequence[Hashable]
) -> Int:
    """Positions of independent rows of the channel, by which the numbers, shape (k, n), are
    identified; all rows if the approximate inverse proves that they are independent.

    Numbers that the reports do not identify are refused by name.
    """
    channel = mechanism.counts / mechanism.denominator
    if (dependence := _dependence(mechanism.counts, channel, inverse)) is None:
        return np.arange(len(channel))
    if len(dependence.hidden(wanted)):
        raise not_identified(mechanism.inputs, mechanism.counts, dependence, wanted, names)
    return dependence.kept


def not_identified(
    inputs: Sequence[Hashable],
    masses: Any,
    dependence: Dependence,
    wanted: Float,
    names: Sequence[Hashable],
    do: str = DISTINCT,
) -> StatementError:
    """Return the error for numbers that reports do not identify, with the reason."""
    hidden = dependence.hidden(wanted)
    shown = [short_repr(names[place]) for place in hidden[:SHOWN]]
    n, m = masses.shape
    return StatementError(
        f"the channel has rank {dependence.rank} for {n} inputs: the reports do not show "
        f"{', '.join(shown)}{', ...' if len(hidden) > SHOWN else ''}, because "
        f"{dependence.reason(wanted[hidden[0]], inputs)}",
        code="rank",
        where=f"channel of shape ({n}, {m})",
        do=do,
    )


def weighted_left_inverse(channel: Float, expected: Float) -> Float:
    r"""Return ``A`` with ``A P^T = I``, shape ``(n, m)``: least squares, output ``y`` weighted by
    ``1 / expected[y]``.

    If ``expected`` is a mixture :math:`P^T u` of rows, ``1^T A q = sum(q)``: the estimates sum to
    1. Whether rows are independent is not decided here; entries may be infinite if they are not.
    """
    n, m = channel.shape
    if n == m and (only := _inverse(channel)) is not None:
        return only
    root = np.zeros(m)
    np.divide(1.0, np.sqrt(expected), out=root, where=expected > 0)
    # The singular values of the scaled channel itself; its Gram matrix would square the condition
    # number.
    left, singular, right = np.linalg.svd(channel * root, full_matrices=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (left / singular) @ right * root  # type: ignore[no-any-return]


def _inverse(channel: Float) -> Float | None:
    """The only left inverse of a square channel, in a tenth of the time; None if it may be
    inaccurate.
    """
    try:
        # rows one after the other: a contrast by the identity must add in the same order
        inverse: Float = np.ascontiguousarray(np.linalg.inv(channel).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    condition = float(np.abs(channel).sum(axis=0).max() * np.abs(inverse).sum(axis=1).max())
    return inverse if condition < MAX_CONDITION else None


def is_partition(wanted: Float) -> bool:
    """Whether the numbers are the frequencies of all answers, or of classes of these: every answer
    counts in one number, as 1.
    """
    return bool(((wanted == 0) | (wanted == 1)).all() and (wanted.sum(axis=0) == 1).all())


def linear_variances(channel: Float, values: Float, wanted: Float, prior: Float | None) -> Float:
    """Return the variances of one respondent's values, shape (k,), for an estimator ``values``."""
    # Without a prior each is the largest over all distributions of the answers.
    second = values**2 @ channel.T
    if prior is not None:
        return np.asarray(np.maximum(second @ prior - (wanted @ prior) ** 2, 0.0))
    return np.array([worst_variance(w, b) for w, b in zip(wanted, second, strict=True)])


def worst_variance(means: Float, second: Float) -> float:
    r"""Largest :math:`b \cdot p - (w \cdot p)^2` over all distributions ``p``.

    The value grows with the height of the point :math:`(w \cdot p, b \cdot p)`, so the maximum lies
    on the upper hull of the points :math:`(w_x, b_x)`. On an edge of slope ``m`` it lies at ``m /
    2``, or at an end.
    """
    hull = upper_hull(means, second)
    best = max(b - w * w for w, b in hull)
    for (w, b), (w2, b2) in pairwise(hull):
        slope = (b2 - b) / (w2 - w)
        place = min(max(slope / 2, w), w2)
        best = max(best, b + slope * (place - w) - place * place)
    return max(best, 0.0)


def upper_hull(means: Float, second: Float) -> list[tuple[float, float]]:
    """Corners of the upper hull of the points ``(means, second)``, from left to right."""
    order = np.lexsort((second, means))
    hull: list[tuple[float, float]] = []
    for point in zip(means[order].tolist(), second[order].tolist(), strict=True):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        if hull and hull[-1][0] == point[0]:
            hull.pop()
        hull.append(point)
    return hull


def _turns_up(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Whether the middle point is on or below the line between the others."""
    return (middle[0] - first[0]) * (last[1] - first[1]) >= (middle[1] - first[1]) * (
        last[0] - first[0]
    )
