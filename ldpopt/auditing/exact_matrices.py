"""A channel as exact numbers: integers over one denominator.

A float is a rational number: ``0.1`` is 3602879701896397 over ``2**55``. Whoever passes floats is
audited for these numbers, and not for those that were meant; a mechanism is audited for the masses
that it draws from. Nothing is normalized: rows that sum to 1 within 1e-9 are compared as they are.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.labelled import take_labels
from ldpopt.foundation.numbers import (
    contains_non_numbers,
    real_array,
    require_room,
    row_blocks,
    summed,
)

ULPS = 2.0**-50  # relative slack of screening in floats; entries within it are decided in integers
# largest distance of a user's row sum from 1; the sampled masses always sum to exactly 1
ROW_SUM_TOLERANCE = 1e-9
# largest relative distance from 1 or 100 at which an error says what the numbers were meant to be
MEANT_TOLERANCE = 1e-2


@dataclass(frozen=True)
class ExactChannel:
    """A channel as integers over one denominator, with labels; outputs of probability 0 are left
    out.

    The probability ``P[x, y]`` is ``numerators[x, y] / denominator``. Since all entries have one
    denominator, ``P[x, y] <= r P[x', y]`` for a rational ``r = a / b`` is a comparison of integers,
    ``b numerators[x, y] <= a numerators[x', y]``.

    ``numerators`` has int64 or Python integers, ``entries`` always Python integers, both (n, m).
    ``floats`` are the same numbers rounded to nearest, for screening only; ``is_rounded`` is False
    if they are known to be equal.
    """

    numerators: NDArray[Any]
    denominator: int
    floats: NDArray[np.float64]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    is_rounded: bool

    @cached_property
    def entries(self) -> NDArray[np.object_]:
        """`numerators` as Python integers, which do not overflow."""
        return self.numerators.astype(object)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.floats.shape[0], self.floats.shape[1]


def exact(channel: Any) -> ExactChannel:
    """Read a mechanism's masses, or any array of floats, ints or Fractions, exactly."""
    is_law = hasattr(channel, "counts") and hasattr(channel, "denominator")
    if is_law and not isinstance(channel, type):
        return _masses(channel)
    channel, (inputs, outputs) = take_labels(channel, "channel")
    array, floats = _real_matrix(channel)
    require_stochastic(floats)
    rationals = (isinstance(v, (int, Fraction)) and not isinstance(v, bool) for v in array.flat)
    is_rounded = array.dtype == object and all(rationals)
    if is_rounded:
        denominator = math.lcm(*(Fraction(v).denominator for v in array.flat))
        entries = np.array([[int(v * denominator) for v in row] for row in array], dtype=object)
    else:
        entries, denominator = _dyadics(floats)
    # decided by the integers: a positive rational may be 0 as a float
    used = np.flatnonzero((entries != 0).any(axis=0))
    rows = inputs or tuple(range(len(floats)))
    columns = outputs or tuple(range(floats.shape[1]))
    reports = tuple(columns[y] for y in used)
    return ExactChannel(entries[:, used], denominator, floats[:, used], rows, reports, is_rounded)


def _masses(mechanism: Any) -> ExactChannel:
    """Integer masses of a mechanism."""
    counts = mechanism.counts
    names = tuple(mechanism.outputs)
    used = counts.any(axis=0).nonzero()[0]
    are_all_used = len(used) == counts.shape[1]
    if not are_all_used:
        counts = counts[:, used]
        names = tuple(names[y] for y in used.tolist())
    denominator = mechanism.denominator
    # counts up to 2**53 over a power of two are floats
    is_rounded = denominator > 2**53 or bool(denominator & (denominator - 1))
    # shared if it has the same numbers, as a large one takes much memory
    floats = vars(mechanism).get("channel")
    if not are_all_used or floats is None or not _is_quotient(floats, counts, float(denominator)):
        floats = counts / float(denominator)
    return ExactChannel(counts, denominator, floats, mechanism.inputs, names, is_rounded)


def _is_quotient(floats: NDArray[np.float64], counts: NDArray[Any], denominator: float) -> bool:
    """Whether floats equal counts divided by the denominator, bit by bit."""
    return floats.shape == counts.shape and all(
        bool((floats[rows] == counts[rows] / denominator).all()) for rows in row_blocks(counts)
    )


def _real_matrix(channel: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """An array of real numbers, as given and as floats."""
    require_room(channel, "channel")
    try:
        if contains_non_numbers(channel):
            raise ValueError
        array = np.asarray(channel)
    except ValueError:
        problem = "the channel is not a rectangular array of real numbers"
        do = "give rows of one length, of floats, integers or Fractions"
        raise MechanismError(problem, code="rectangle", do=do) from None
    try:
        return array, real_array(array, "channel")
    except StatementError as error:
        raise error.restated(MechanismError) from None


def require_matrix(array: NDArray[Any]) -> None:
    """Require rows and columns."""
    if array.ndim != 2 or 0 in array.shape:
        problem = f"the channel has shape {array.shape}; expected (inputs, outputs)"
        do = "give one row for each input, one column for each output"
        raise MechanismError(problem, code="shape", do=do)


def require_stochastic(array: NDArray[np.float64], tolerance: float = ROW_SUM_TOLERANCE) -> None:
    """Require rows of probabilities that sum to 1."""
    require_matrix(array)
    is_probability = (array >= 0) & (array < np.inf)
    if not is_probability.all():
        require_no_nan(array)
        x, y = map(int, np.argwhere(~is_probability)[0])
        problem = f"P[{x}, {y}] = {array[x, y]} is not a probability"
        raise MechanismError(problem, code="probability", do="give numbers from 0 to 1")
    sums = summed(array, axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > tolerance:
        problem = f"row {worst} of the channel sums to {sums[worst]:.12g}, not 1"
        code, do = _meant(array, sums)
        raise MechanismError(problem, code=code, do=do)


def require_no_nan(array: NDArray[np.float64]) -> None:
    """Refuse entries that are not a number, and name the first one."""
    if np.isnan(array).any():
        x, y = map(int, np.argwhere(np.isnan(array))[0])
        problem = f"P[{x}, {y}] is nan, not a number"
        raise MechanismError(problem, code="nan", do="give the missing probability")


def require_upright(array: NDArray[np.float64]) -> None:
    """Refuse a matrix whose columns sum to 1 or 100 and whose rows do not."""
    sums = summed(array, axis=1)
    code, do = _meant(array, sums)
    if code == "transposed":
        worst = int(np.argmax(np.abs(sums / sums.mean() - 1)))
        problem = f"row {worst} of the channel sums to {sums[worst]:.12g}, not 1"
        raise MechanismError(problem, code=code, do=do)


def _meant(array: NDArray[np.float64], sums: NDArray[np.float64]) -> tuple[str, str]:
    """What a matrix that is no channel was meant to be, as the code of an error and its advice;
    percentages may be rounded.
    """

    def are(totals: NDArray[np.float64], whole: float) -> bool:
        return bool(np.abs(totals / whole - 1).max() <= MEANT_TOLERANCE)

    columns = summed(array, axis=0)
    if are(sums, 100.0):
        return "percent", "its rows sum to 100: divide by 100"
    for whole, also in ((1.0, ""), (100.0, ", and divide by 100")):
        if are(columns, whole) and not are(sums, whole):
            do = f"its columns sum to {whole:g}: transpose it{also}; each answer has a row"
            return "transposed", do
    return "row-sum", "normalize the rows, or find the missing mass"


def _dyadics(floats: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Integers over a power of two, for floats read exactly; of int64 if they have at most 62
    bits.

    A float is ``m 2**(e - 53)`` with a whole number ``m`` of at most 53 bits. With the smallest of
    all exponents as the common one, the others become shifts to the left.
    """
    mantissa, exponent = np.frexp(floats)
    lowest = int(exponent[floats != 0].min(initial=1)) - 53
    shift = np.where(floats == 0, 0, exponent - 53 - lowest).astype(np.int64)
    entries = (mantissa * 2.0**53).astype(np.int64)
    if lowest <= 0 and shift.max() <= 62 - 53:
        return entries << shift, 1 << -lowest
    return entries.astype(object) << (shift + max(0, lowest)).astype(object), 1 << max(0, -lowest)
