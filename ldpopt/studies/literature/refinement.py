"""Refinement of channels: whether the reports of one can be computed from those of another."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import NoSolutionError, StatementError
from ldpopt.foundation.numbers import Float, Int, frozen, real_number, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import BITS, round_rows
from ldpopt.problem.utility import Utility
from ldpopt.solvers import find
from ldpopt.solvers.program import LinearProgram, Span

WHOLE = 1 << BITS  # sum of the masses of a row
GAIN_BITS = 40  # binary digits to which the gain of a witness is rounded
# Largest number of products, and largest denominator, for which rules of simple fractions are tried
MAX_SIMPLE_WORK, MAX_SIMPLE_DENOMINATOR = 200_000, 10_000


@dataclass(frozen=True, eq=False)
class Refinement:
    """How closely a channel can be approximated by post-processing another one, with both proofs.

    Attributes
    ----------
    low, high : Fraction
        Bounds on the least distance of the second channel from the first one post-processed: total
        variation of the worst input.
    rule : ndarray of Fraction, shape (m, k)
        Row-stochastic; it attains `high`, exactly.
    prior : ndarray, shape (n,)
        Prior of the witness for `low`, up to rounding.
    gain : Utility
        Gain in [0, 1] of the witness: the second channel has a posterior vulnerability larger by at
        least `low`.
    """

    low: Fraction
    high: Fraction
    tolerance: float
    rule: NDArray[Any] = field(repr=False)
    prior: Float = field(repr=False)
    gain: Utility = field(repr=False)

    @property
    def verdict(self) -> Literal["refined", "not refined", "undecided"]:
        """Decided by the two bounds, which are rationals."""
        if self.high <= Fraction(self.tolerance):
            return "refined"
        return "not refined" if self.low > Fraction(self.tolerance) else "undecided"


def find_refinement(first: Any, second: Any, *, tolerance: float = 1e-12) -> Refinement:
    r"""Decide whether the second channel is the first one post-processed: :math:`B = A R` for a
    stochastic R.

    .. math:: \min_R \max_x \sum_b (B - A R)_{xb}^+ \;=\;
              \max_{\pi,\; 0 \le g \le 1} \sum_{x, b} \pi_x B_{xb} \, g(x, b) - V_g(\pi, A)

    Parameters
    ----------
    first, second : Mechanism or array_like, shapes (n, m) and (n, k)
        Channels A and B, of which the integer masses are compared. Inputs are aligned by label.
    tolerance : float
        Distance that counts as equal: masses are multiples of ``2**-53``, so that products of
        channels are rounded. Default: ``1e-12``.

    Returns
    -------
    Refinement
        Verdict, bounds on the distance as rationals, the rule R, and a prior and gain for which B
        leaks more than A.

    Raises
    ------
    StatementError
        If the inputs differ.
    NoSolutionError
        If the linear program is not solved.

    Notes
    -----
    A linear program of ``m k + n k`` columns. Both bounds are recomputed in integers from its
    solution: the left side from the rule, rounded to a stochastic one, the right side from the
    multipliers, rounded to a gain.

    References
    ----------
    McIver, Morgan, Smith, Espinoza and Meinicke 2014: there is no refinement exactly if some gain
    and prior prove it.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> weaker = Mechanism([[0.625, 0.375], [0.375, 0.625]])
    >>> find_refinement(coin, weaker).verdict, find_refinement(weaker, coin).verdict
    ('refined', 'not refined')
    """
    mechanism, other = (
        channel if isinstance(channel, Mechanism) else Mechanism(channel)
        for channel in (first, second)
    )
    share = real_number(tolerance, "tolerance", 0.0, 1.0)
    source = mechanism.counts
    target = other.counts[_order(mechanism, other)]
    outcome = find("highs").solve(_program(source / WHOLE, target / WHOLE))
    if outcome.point is None or outcome.row_duals is None:
        raise NoSolutionError(
            f"the program of the refinement ended with {outcome.raw_status!r}", code="program"
        )
    m = source.shape[1]
    k = target.shape[1]
    high, rule = _best_rule(source, target, np.maximum(outcome.point[: m * k].reshape(m, k), 0.0))
    low, prior, gain = _witness(
        source, target, outcome.row_duals[: target.size].reshape(target.shape)
    )
    return Refinement(
        low,
        high,
        share,
        frozen(rule),
        frozen(prior),
        Utility(gain, "gain", mechanism.inputs, other.outputs),
    )


def _order(first: Mechanism, second: Mechanism) -> list[int]:
    """Rows of the second channel in the order of the first one's inputs."""
    place = {label: x for x, label in enumerate(second.inputs)}
    if set(place) != set(first.inputs):
        problem = (
            f"the channels have different inputs: {short_repr(first.inputs)} and "
            f"{short_repr(second.inputs)}"
        )
        raise StatementError(
            problem, code="other-inputs", do="compare channels for the same answers"
        )
    return [place[label] for label in first.inputs]


def _program(source: Float, target: Float) -> LinearProgram:
    """Minimize s over R, E, s: ``E + A R >= B``, ``sum_b E <= s``, ``sum_b R = 1``."""
    from scipy import sparse

    n, m = source.shape
    k = target.shape[1]
    same = sparse.eye_array(k)
    ones = np.ones((1, k))
    blocks: Any = [
        [sparse.kron(source, same), sparse.eye_array(n * k), None],
        [None, sparse.kron(sparse.eye_array(n), ones), -np.ones((n, 1))],
        [sparse.kron(sparse.eye_array(m), ones), None, None],
    ]
    matrix: Any = sparse.block_array(blocks, format="csr")
    columns = m * k + n * k + 1
    sizes = {"reached": n * k, "distance": n, "row_sum": m}
    starts = np.cumsum([0, *sizes.values()]).tolist()
    rows = tuple(
        Span(name, start, start + size)
        for (name, size), start in zip(sizes.items(), starts, strict=False)
    )
    spans = (
        rows,
        (Span("R", 0, m * k), Span("E", m * k, columns - 1), Span("s", columns - 1, columns)),
    )
    lower = np.concatenate([target.ravel(), np.full(n, -np.inf), np.ones(m)])
    upper = np.concatenate([np.full(n * k, np.inf), np.zeros(n), np.ones(m)])
    start = matrix.indptr.astype(np.int64)
    index = matrix.indices.astype(np.int64)
    bounds = lower, upper, np.zeros(columns), np.full(columns, np.inf)
    return LinearProgram(
        np.eye(1, columns, columns - 1)[0], False, start, index, matrix.data, *bounds, *spans
    )


def _best_rule(source: Int, target: Int, weights: Float) -> tuple[Fraction, NDArray[Any]]:
    """Least exact distance of the rules near a float one, and the rule."""
    weights = weights / weights.sum(axis=1, keepdims=True)
    counts = round_rows(weights).astype(object)
    rules = [np.array([[Fraction(v, WHOLE) for v in row] for row in counts.tolist()], dtype=object)]
    if len(source) * weights.size <= MAX_SIMPLE_WORK:
        simple = [
            [Fraction(v).limit_denominator(MAX_SIMPLE_DENOMINATOR) for v in row]
            for row in weights.tolist()
        ]
        if all(sum(row) == 1 for row in simple):
            rules.append(np.array(simple, dtype=object))
    least, place = min((_distance(source, target, rule), place) for place, rule in enumerate(rules))
    return least, rules[place]


def _distance(source: Int, target: Int, rule: NDArray[Any]) -> Fraction:
    """Total variation of the worst row, exactly."""
    excess = np.maximum(target.astype(object) - source.astype(object) @ rule, 0)
    return max(sum(row, Fraction(0)) for row in excess) / WHOLE


def _witness(
    source: Int, target: Int, duals: Float
) -> tuple[Fraction, NDArray[np.float64], NDArray[np.float64]]:
    """Exact advantage of the second channel for a gain near the multipliers; prior and gain,
    rounded to floats.
    """
    scaled = np.maximum(duals, 0.0) / max(float(np.abs(duals).max()), 1e-300)
    gains = np.floor(scaled * 2.0**GAIN_BITS).astype(np.int64).astype(object)
    weights = gains.max(axis=1)
    total = int(weights.sum())
    if not total:
        return Fraction(0), np.full(len(source), 1.0 / len(source)), np.zeros(target.shape)
    reached = int((gains * target.astype(object)).sum())
    allowed = int((source.astype(object).T @ gains).max(axis=1).sum())
    prior = np.array([int(w) / total for w in weights])
    gain = np.array(
        [[int(v) / int(max(w, 1)) for v in row] for row, w in zip(gains, weights, strict=True)]
    )
    return Fraction(max(0, reached - allowed), total * WHOLE), prior, gain
