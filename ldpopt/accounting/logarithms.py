"""Losses as integers over a power of two, and their exponentials as integers rounded one way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from math import ceil, floor

from ldpopt.accounting.integers import rounded, scaled
from ldpopt.foundation.budget import log_enclosure

LOSS_BITS = 192
GRAIN = 1 << LOSS_BITS  # losses are integers over it
WHOLE_BITS = 256
WHOLE = 1 << WHOLE_BITS  # factors e**-x are integers over it
# Python rounds exponentials of decimals correctly: 100 digits and this margin enclose them
DECIMALS = Context(prec=100, Emax=MAX_EMAX, Emin=MIN_EMIN)
MARGIN = Decimal("1e-90")
SHORT = 1000  # bits of a ratio whose logarithm is computed at once
LARGE_STEP = 16 << LOSS_BITS  # above it factors of neighbors are not multiplied


def loss_of(ratio: Fraction, *, up: bool) -> int:
    """Logarithm of a positive ratio over `GRAIN`, rounded up or down."""
    if ratio < 1:
        return -loss_of(1 / ratio, up=not up)
    extra = ratio.numerator.bit_length() - ratio.denominator.bit_length() - SHORT
    if extra <= 0:
        return scaled(log_enclosure(ratio)[up], up=up, bits=LOSS_BITS)
    # a ratio such as e**10000 is shortened: what is left of it times a power of 2
    short = Fraction(rounded(ratio.numerator, ratio.denominator << extra, up=up))
    return scaled(
        log_enclosure(short)[up] + extra * log_enclosure(Fraction(2))[up], up=up, bits=LOSS_BITS
    )


def decay(loss: int, *, up: bool) -> int:
    """``e**-loss`` over `WHOLE`, for a loss of at least 0 over `GRAIN`, rounded up or down."""
    return WHOLE if not loss else _power(-loss, up=up)


def growth(loss: int, *, up: bool) -> int:
    """``e**loss`` over `WHOLE`, for a loss of at least 0 over `GRAIN`, rounded up or down."""
    return WHOLE if not loss else _power(loss, up=up)


def _power(loss: int, *, up: bool) -> int:
    """``e**loss`` over `WHOLE`, rounded up or down."""
    exponent = DECIMALS.divide(Decimal(loss), Decimal(GRAIN))
    value = DECIMALS.multiply(DECIMALS.exp(exponent), Decimal(WHOLE))
    # the error of the exponent is below 1e-90 for a loss below 1e9, and one of the power itself
    error = DECIMALS.multiply(value, MARGIN)
    return ceil(DECIMALS.add(value, error)) if up else floor(DECIMALS.subtract(value, error))


def places_of(losses: Sequence[int], step: int, *, up: bool) -> Iterator[tuple[int, int, int, int]]:
    """For losses of at least 0 the level below, the distance ``d`` to it, ``e**-d`` and ``e**(step
    - d)``, both over `WHOLE` and rounded up or down.
    """
    if not isinstance(losses, range) or step > LARGE_STEP:
        for loss in losses:
            place, distance = divmod(loss, step)
            yield place, distance, decay(distance, up=up), growth(step - distance, up=up)
        return
    # Of equally spaced losses each factor is the one before it times a constant. All factors are
    # positive, so that products of bounds are bounds.
    passed, shift = divmod(losses.step, step)
    factor = decay(shift, up=up)
    turn = growth(step, up=up)
    place = 0
    distance = 0
    below = WHOLE
    for _ in losses:
        yield place, distance, below, rounded(below * turn, WHOLE, up=up)
        place += passed
        distance += shift
        below = rounded(below * factor, WHOLE, up=up)
        if distance >= step:
            place += 1
            distance -= step
            below = rounded(below * turn, WHOLE, up=up)
