"""The audit of a black box: a lower confidence bound on epsilon from samples of a randomizer."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, inner_share, is_whole, read_size, short_repr

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
    rng: np.random.Generator | int | None = None,
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
    rng : numpy.random.Generator or int, optional
        Passed to the randomizer; default: a fresh generator.

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
        raise StatementError(f"draws = {short_repr(draws)} is too few", do="give 10 000 or more")
    draws, confidence = read_size(draws), inner_share(confidence, "confidence")
    generator = np.random.default_rng(rng)
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
    low = lower_limit(int(held[over][event].sum()), draws - half, risk)
    high = upper_limit(int(held[1 - over][event].sum()), draws - half, risk)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def _reports(
    randomize: Randomizer, answer: Any, draws: int, rng: np.random.Generator
) -> NDArray[Any]:
    array = np.asarray(randomize(answer, draws, rng))
    if array.shape != (draws,):
        problem = f"the randomizer returned an array of shape {array.shape} for {draws} reports"
        raise StatementError(
            problem, do="return one label or number for each report, shape (size,)"
        )
    return array


def _value_codes(
    first: NDArray[Any], second: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of the reports' values; too many distinct numbers are grouped by quantiles of the first
    halves.
    """
    values, inverse = np.unique(np.concatenate([first, second]), return_inverse=True)
    if len(values) > MAX_CELLS and values.dtype.kind in "fiu":
        half = len(first) // 2
        chosen = np.concatenate([first[:half], second[:half]])
        edges = np.unique(np.quantile(chosen, np.linspace(0, 1, MAX_CELLS + 1)[1:-1]))
        inverse = np.searchsorted(edges, np.concatenate([first, second]), side="right")
    return inverse[: len(first)], inverse[len(first) :]


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
        order = np.argsort(-(likely + 0.5) / (rare + 0.5), kind="stable")
        hits = np.cumsum(likely[order])
        misses = np.cumsum(rare[order])
        with np.errstate(divide="ignore"):
            bound = np.log(lower_limit(hits, size, risk)) - np.log(upper_limit(misses, size, risk))
        at = int(np.argmax(bound))
        if bound[at] > best[0]:
            best = (float(bound[at]), over, order[: at + 1])
    return best[1], best[2]


def lower_limit(hits: Any, size: float, risk: float) -> Any:
    """Clopper and Pearson's lower limit of a probability, from hits in ``size`` trials."""
    from scipy.special import betaincinv

    count: Float = np.asarray(hits, float)
    return np.where(count > 0, betaincinv(np.maximum(count, 1), size - count + 1, risk), 0.0)


def upper_limit(hits: Any, size: float, risk: float) -> Any:
    """Clopper and Pearson's upper limit of a probability."""
    return 1.0 - lower_limit(size - np.asarray(hits, float), size, risk)
