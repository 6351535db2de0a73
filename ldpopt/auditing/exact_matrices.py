"""A channel as the exact numbers that it holds: integers over one denominator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.checks import holds_no_numbers, real_array, require_room, summed
from ldpopt.foundation.labelled import take_labels


@dataclass(frozen=True)
class Exact:
    """A channel as integers over one denominator, with the labels to speak of it; outputs never given are left out.

    ``whole`` holds int64 or Python integers, ``entries`` always Python integers; ``floats`` are the same numbers
    rounded to nearest, for screening only.
    """

    whole: NDArray[Any]
    denominator: int
    floats: NDArray[np.float64]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]

    @cached_property
    def entries(self) -> NDArray[np.object_]:
        """Python integers, which do not overflow."""
        return self.whole.astype(object)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.floats.shape[0], self.floats.shape[1]


def exact(channel: Any) -> Exact:
    """Read a mechanism's masses, or any array of floats, ints or Fractions, exactly.

    Raises
    ------
    MechanismError
        If it is no matrix of non-negative numbers with rows that sum to 1 within 1e-9.
    StatementError
        If a label of a table occurs twice, or its rows have different labels.
    """
    if hasattr(channel, "counts") and hasattr(channel, "denominator"):
        used = np.flatnonzero(channel.counts.any(axis=0))
        counts = channel.counts[:, used]
        names = tuple(channel.outputs[y] for y in used)
        return Exact(counts, channel.denominator, counts / float(channel.denominator), channel.inputs, names)
    channel, (inputs, outputs) = take_labels(channel, "channel")
    require_room(channel, "channel")
    try:
        if holds_no_numbers(channel):
            raise ValueError
        array = np.asarray(channel)
    except ValueError:
        raise MechanismError("the channel is no rectangular array of real numbers") from None
    try:
        floats = real_array(array, "channel")
    except StatementError as error:
        raise MechanismError(error.what) from None
    if (
        array.dtype == object
        and array.ndim == 2
        and all(isinstance(v, (int, Fraction)) and not isinstance(v, bool) for v in array.flat)
    ):
        denominator = math.lcm(*(Fraction(v).denominator for v in array.flat))
        entries = np.array([[int(v * denominator) for v in row] for row in array], dtype=object)
    elif floats.ndim == 2 and floats.size and np.isfinite(floats).all():
        mantissa, exponent = np.frexp(floats)
        least = int(exponent[floats != 0].min(initial=1)) - 53
        shift = np.where(floats == 0, 0, exponent - 53 - least).astype(object)
        entries = (mantissa * 2.0**53).astype(np.int64).astype(object) << shift
        denominator = 1 << max(0, -least)
        entries = entries << max(0, least)
    if floats.ndim != 2 or not floats.size or not np.isfinite(floats).all() or (floats < 0).any():
        raise MechanismError(f"an array of shape {floats.shape} is no channel: finite, non-negative, (inputs, outputs)")
    sums = summed(floats, axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > 1e-9:
        raise MechanismError(f"row {worst} of the channel sums to {sums[worst]:.12g}, not 1")
    used = np.flatnonzero((entries != 0).any(axis=0))  # rationals may be too small for a float
    names = inputs or tuple(range(len(floats))), outputs or tuple(range(floats.shape[1]))
    return Exact(entries[:, used], denominator, floats[:, used], names[0], tuple(names[1][y] for y in used))
