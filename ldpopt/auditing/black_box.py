"""The audit of a black box: a lower confidence bound on epsilon from samples of a randomizer."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import (
    Float,
    inner_share,
    is_whole,
    read_size,
    require_function,
    short_repr,
)
from ldpopt.foundation.seeds import Purpose, Random, generator_of

# Largest number of distinct values of reports; more are grouped by quantiles of the first half of
# the sample
MAX_CELLS = 512
Randomizer = Callable[[Any, int, np.random.Generator], Any]


def audit_sampler(
    randomize: Randomizer,
    x: Any,
    x_prime: Any,
    *,
    draws: int,
    confidence: float = 0.99,
    rng: Random = None,
) -> float:
    r"""Lower confidence bound on the true epsilon of a black box.

    .. math:: \epsilon \ge \ln \frac{\underline{P}(S \mid x)}{\overline{P}(S \mid x')}

    An event ``S`` is chosen on half of the reports; Clopper and Pearson's limits bound its
    probabilities on the others.

    Parameters
    ----------
    randomize : callable
        ``randomize(x, size, rng)`` returns ``size`` reports of the answer ``x``: labels or numbers,
        shape (size,).
    x, x_prime : object
        Two answers; both directions are tried.
    draws : int
        Number of reports per answer, at least 100.
    confidence : float
        In (0, 1): the bound exceeds the true epsilon with probability at most ``1 - confidence``;
        default: ``0.99``.
    rng : numpy.random.Generator, SeedSequence or int, optional
        Passed to the randomizer, a seed as a generator; default: a fresh generator.

    Returns
    -------
    float
        Nats, at least 0. A small value does not prove privacy: events rarer than about ``1 /
        draws`` are not observed. Use the exact audit if the probabilities are known.

    Raises
    ------
    StatementError
        If a number is out of range, or the randomizer returns another number of reports.

    Notes
    -----
    O(draws log draws).

    Examples
    --------
    >>> def coin(x, size, rng):
    ...     return rng.random(size) < (0.75 if x else 0.25)
    >>> 1.0 < audit_sampler(coin, 0, 1, draws=100_000, rng=1) < math.log(3)
    True
    """
    if not is_whole(draws, 100):
        problem = f"draws = {short_repr(draws)} is too few"
        raise StatementError(problem, code="draws", do="give 10 000 or more")
    draws = read_size(draws)
    confidence = inner_share(confidence, "confidence")
    require_function(randomize, "randomize", "pass a function of (answer, size, generator)")
    generator = generator_of(rng, Purpose.AUDIT)
    reports = [_reports(randomize, answer, draws, generator) for answer in (x, x_prime)]
    codes = _value_codes(*reports)
    half = draws // 2
    cells = int(max(code.max() for code in codes)) + 1
    seen = [np.bincount(code[:half], minlength=cells) for code in codes]
    held = [np.bincount(code[half:], minlength=cells) for code in codes]
    # The event is chosen on the first half; the two limits on the second half use half of the risk
    # each.
    risk = (1 - confidence) / 2
    over, event = _best_event(seen, half, risk)
    hits = int(held[over][event].sum())
    false_hits = int(held[1 - over][event].sum())
    low = lower_limit(hits, draws - half, risk)
    high = upper_limit(false_hits, draws - half, risk)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def _reports(
    randomize: Randomizer, answer: Any, draws: int, rng: np.random.Generator
) -> NDArray[Any]:
    array = np.asarray(randomize(answer, draws, rng))
    if array.shape != (draws,):
        problem = f"the randomizer returned an array of shape {array.shape} for {draws} reports"
        do = "return one label or number for each report, shape (size,)"
        raise StatementError(problem, code="report-count", do=do)
    return array


def _value_codes(
    first: NDArray[Any], second: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of the reports' values; too many distinct numbers are grouped by quantiles of the first
    halves.
    """
    reports = np.concatenate([first, second])
    values, cells = np.unique(reports, return_inverse=True)
    if len(values) > MAX_CELLS and values.dtype.kind in "fiu":
        # edges from the first halves only: the second halves must not choose their own event
        half = len(first) // 2
        chosen = np.concatenate([first[:half], second[:half]])
        levels = np.linspace(0, 1, MAX_CELLS + 1)[1:-1]
        edges = np.unique(np.quantile(chosen, levels))
        cells = np.searchsorted(edges, reports, side="right")
    return cells[: len(first)], cells[len(first) :]


def _best_event(
    seen: list[NDArray[np.int64]], size: int, risk: float
) -> tuple[int, NDArray[np.int64]]:
    """The answer under which the best event is likelier, and the cells of the event, from the first
    half.
    """
    # By the Neyman-Pearson lemma the candidates are the prefixes of the cells in order of
    # descending ratio.
    best: tuple[float, int, NDArray[np.int64]] = (-math.inf, 0, np.zeros(0, np.int64))
    for over in (0, 1):
        likely = seen[over]
        rare = seen[1 - over]
        ratio = (likely + 0.5) / (rare + 0.5)  # 0.5: a cell that was not seen is not impossible
        order = np.argsort(-ratio, kind="stable")
        hits = np.cumsum(likely[order])
        false_hits = np.cumsum(rare[order])
        low = lower_limit(hits, size, risk)
        high = upper_limit(false_hits, size, risk)
        with np.errstate(divide="ignore"):
            bound = np.log(low) - np.log(high)
        at = int(np.argmax(bound))
        if bound[at] > best[0]:
            best = (float(bound[at]), over, order[: at + 1])
    _, over, event = best
    return over, event


def lower_limit(hits: Any, size: Any, risk: float) -> Any:
    r"""Clopper and Pearson's lower limit of a probability, from hits in ``size`` trials.

    The probability ``p`` at which so many hits or more have the probability ``risk``: a true
    probability is below the limit with probability at most ``risk``.

    .. math:: \Pr[\mathrm{Bin}(n, p) \ge k] = I_p(k, n - k + 1) = \text{risk}
    """
    from scipy.special import betaincinv

    count: Float = np.asarray(hits, float)
    limit = betaincinv(np.maximum(count, 1), size - count + 1, risk)
    return np.where(count > 0, limit, 0.0)


def upper_limit(hits: Any, size: Any, risk: float) -> Any:
    """Clopper and Pearson's upper limit of a probability: 1 minus the lower limit of the misses."""
    return 1.0 - lower_limit(size - np.asarray(hits, float), size, risk)
