"""A channel as exact numbers: integers over one denominator."""

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


@dataclass(frozen=True)
class Exact:
    """A channel as integers over one denominator, with labels; outputs of probability 0 are left
    out.

    ``whole`` has int64 or Python integers, ``entries`` always Python integers, both (n, m).
    ``floats`` are the same numbers rounded to nearest, for screening only; ``is_rounded`` is False
    if they are known to be equal.
    """

    whole: NDArray[Any]
    denominator: int
    floats: NDArray[np.float64]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    is_rounded: bool

    @cached_property
    def entries(self) -> NDArray[np.object_]:
        """`whole` as Python integers, which do not overflow."""
        return self.whole.astype(object)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.floats.shape[0], self.floats.shape[1]


def exact(channel: Any) -> Exact:
    """Read a mechanism's masses, or any array of floats, ints or Fractions, exactly."""
    if hasattr(channel, "counts") and hasattr(channel, "denominator"):
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
    used = np.flatnonzero((entries != 0).any(axis=0))  # rationals may be too small for a float
    names = inputs or tuple(range(len(floats))), outputs or tuple(range(floats.shape[1]))
    outputs = tuple(names[1][y] for y in used)
    return Exact(entries[:, used], denominator, floats[:, used], names[0], outputs, is_rounded)


def _masses(mechanism: Any) -> Exact:
    """Integer masses of a mechanism."""
    used = mechanism.counts.any(axis=0)
    counts = mechanism.counts if used.all() else mechanism.counts[:, used]
    names = tuple(mechanism.outputs[y] for y in np.flatnonzero(used))
    denominator = mechanism.denominator
    is_rounded = denominator > 2**53 or bool(denominator & (denominator - 1))
    # shared if it has the same numbers, as a large one takes much memory
    floats = vars(mechanism).get("channel")
    if floats is None or not used.all() or not _is_quotient(floats, counts, float(denominator)):
        floats = counts / float(denominator)
    return Exact(counts, denominator, floats, mechanism.inputs, names, is_rounded)


def _is_quotient(floats: NDArray[np.float64], counts: NDArray[Any], denominator: float) -> bool:
    """Whether floats equal counts divided by the denominator, bit by bit."""
    return all(
        np.array_equal(floats[rows], counts[rows] / denominator) for rows in row_blocks(counts)
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
        raise MechanismError(
            problem, do="give rows of one length, of floats, integers or Fractions"
        ) from None
    try:
        return array, real_array(array, "channel")
    except StatementError as error:
        raise error.restated(MechanismError) from None


def require_matrix(array: NDArray[Any]) -> None:
    """Require rows and columns."""
    if array.ndim != 2 or 0 in array.shape:
        problem = f"the channel has shape {array.shape}; expected (inputs, outputs)"
        raise MechanismError(problem, do="give one row for each input, one column for each output")


def require_stochastic(array: NDArray[np.float64], tolerance: float = ROW_SUM_TOLERANCE) -> None:
    """Require rows of probabilities that sum to 1."""
    require_matrix(array)
    is_probability = (array >= 0) & (array < np.inf)
    if not is_probability.all():
        x, y = map(int, np.argwhere(~is_probability)[0])
        raise MechanismError(
            f"P[{x}, {y}] = {array[x, y]} is not a probability", do="give numbers from 0 to 1"
        )
    sums = summed(array, axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > tolerance:
        problem = f"row {worst} of the channel sums to {sums[worst]:.12g}, not 1"
        raise MechanismError(problem, do="normalize the rows, or find the missing mass")


def _dyadics(floats: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Integers over a power of two, for floats read exactly; of int64 if they have at most 62
    bits.
    """
    mantissa, exponent = np.frexp(floats)
    lowest = int(exponent[floats != 0].min(initial=1)) - 53
    shift = np.where(floats == 0, 0, exponent - 53 - lowest).astype(np.int64)
    entries = (mantissa * 2.0**53).astype(np.int64)
    if lowest <= 0 and shift.max() <= 62 - 53:
        return entries << shift, 1 << -lowest
    return entries.astype(object) << (shift + max(0, lowest)).astype(object), 1 << max(0, -lowest)
