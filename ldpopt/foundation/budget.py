r"""Privacy budgets: ``epsilon`` in nats with its exact value, and rational enclosures of
``e**epsilon``.
"""

from __future__ import annotations

import math
import re
import sys
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import is_whole, real_number, short_repr

BITS = 192  # significant bits kept in an enclosure of ``e**epsilon``
# Largest accepted budget in nats: ``e**10000`` still has an exact enclosure; larger budgets give no
# privacy
LARGEST = 10_000.0
MAX_NATS = 1e8  # largest multiple of a budget whose exponential is computed; it takes 20 megabytes
# Python rounds decimals correctly, their exponentials and logarithms too; the tests compare with
# another library
DECIMALS = Context(prec=90, Emax=MAX_EMAX, Emin=MIN_EMIN)
ROUGH = Context(prec=28, Emax=MAX_EMAX, Emin=MIN_EMIN)
# Around a rough logarithm of a ratio in this range: its error is below 1e-23 of it
ROUGH_ENDS = Decimal("0.999999999999999999999"), Decimal("1.000000000000000000001")
ROUGH_RANGE = 1.01, 1e300
LOG_2 = DECIMALS.ln(Decimal(2))
MAX_TEXT = 40  # characters of a fraction that is shown
ERROR = Decimal("1e-9")  # in units of the last bit that is kept, far above the error of 90 digits
_LOG = re.compile(r"\s*(?:log|ln)\s*\(\s*([^()]+?)\s*\)\s*", re.IGNORECASE)


class Budget(float):
    r"""A privacy budget: a float in nats that also stores the exact real number that was given.

    Parameters
    ----------
    epsilon : float, int, Fraction or str
        Nats, ``0 <= epsilon <= 10000``. A float is the exact decimal of its shortest writing: 0.1
        and ``"0.1"`` are one tenth, in Python, in files and on the command line. ``"1/3"`` is one
        third, and ``"log(7/2)"`` makes :math:`e^{\epsilon}` the exact rational 7/2.

    Raises
    ------
    StatementError
        If it is not a number, negative, nan, infinite or larger than 10000.

    Examples
    --------
    >>> Budget(0.4).nats, Budget("log(3)").ratio
    (Fraction(2, 5), Fraction(3, 1))
    >>> low, high = Budget(1.0).enclosure()
    >>> low < high < low * (1 + Fraction(1, 2**180))
    True
    """

    nats: Fraction | None
    ratio: Fraction | None
    text: str
    # the mechanism for which a promise of shuffled reports was proved at this budget, if it has one
    proved_for: Any = None

    def __new__(cls, epsilon: float | str | Fraction) -> Budget:
        """Read the text or number; see the class."""
        if isinstance(epsilon, Budget):
            return epsilon
        nats, ratio = _parse(epsilon)
        number = log_of(ratio) if ratio is not None else float(nats)  # type: ignore[arg-type]
        self = super().__new__(cls, number)
        self.nats, self.ratio = nats, ratio
        self.text = _text(epsilon, float(self), nats)
        return self

    @classmethod
    def positive(cls, epsilon: float | str | Fraction) -> Budget:
        """Read a budget that must be positive, since reports have to depend on the answer."""
        if not (budget := cls(epsilon)) > 0:
            raise StatementError(
                "at epsilon = 0 reports do not depend on the answer",
                code="zero-epsilon",
                do="give epsilon > 0",
            )
        return budget

    def __repr__(self) -> str:
        """``1.0``, ``'1/3'`` or ``'log(3)'``: text that reads back as the same budget."""
        is_number = self.ratio is None and "/" not in self.text
        return self.text if is_number else repr(self.text)

    def __reduce__(self) -> tuple[type[Budget], tuple[str | Fraction]]:
        """Pickle by the exact value."""
        written = self.text if self.ratio is not None else self.nats
        return Budget, (written,)  # type: ignore[return-value]

    @property
    def exact_text(self) -> str:
        """Text of the exact value, also where `text` is shortened."""
        if self.ratio is not None or _parse(self.text)[0] == self.nats:
            return self.text
        return str(self.nats)

    def share(self, part: Fraction | int) -> Budget:
        """A part of the budget, from 0 to 1, exactly; of a logarithm within ``2**-180`` below."""
        part = _exact(part, "part")
        return self if part == 1 else Budget(self.lower_nats * part)

    def enclosure(self, multiple: Fraction | int = 1) -> tuple[Fraction, Fraction]:
        r"""Rationals ``low <= exp(multiple * epsilon) <= high``, equal if the value is a known
        rational.

        The multiple, such as a hop count or a distance, is not negative; ``high / low - 1 <
        2**-180``.
        """
        if isinstance(multiple, (int, Fraction)) and multiple == 1:
            return self._own_enclosure
        multiple = _exact(multiple, "multiple")
        if multiple * Fraction(float(self)) > MAX_NATS:
            problem = f"exp(epsilon d) of more than {MAX_NATS:g} nats has too many digits"
            raise StatementError(problem, code="digits", do="give smaller distances")
        if self.ratio is not None:
            if multiple.denominator == 1 and multiple <= 64:
                return self.ratio**multiple.numerator, self.ratio**multiple.numerator
            low, high = log_enclosure(self.ratio)
            return exp_enclosure(low * multiple)[0], exp_enclosure(high * multiple)[1]
        assert self.nats is not None
        return exp_enclosure(self.nats * multiple)

    @cached_property
    def _own_enclosure(self) -> tuple[Fraction, Fraction]:
        """Enclosure of ``exp(epsilon)`` itself, computed once."""
        if self.ratio is not None:
            return self.ratio, self.ratio
        assert self.nats is not None
        return exp_enclosure(self.nats)

    @property
    def lower_nats(self) -> Fraction:
        """The budget in nats: exact, or for a rational ``exp(epsilon)`` a lower bound within
        ``2**-180``.
        """
        return Fraction(self.nats or 0) if self.ratio is None else log_enclosure(self.ratio)[0]

    @cached_property
    def rounded_up(self) -> float:
        """Smallest float whose binary value is at least the budget in nats."""
        return round_up(log_enclosure(self.ratio)[1] if self.nats is None else self.nats)

    @cached_property
    def above(self) -> float:
        """The float that is read as this budget; else the smallest above it, by its bits too."""
        if self.nats is None:
            return epsilon_above(log_enclosure(self.ratio)[1])
        return float(self) if self.nats == decimal_of(self) else epsilon_above(self.nats)

    @cached_property
    def b(self) -> float:
        r""":math:`e^{-\epsilon}`, rounded down (so that ``b P[x, y] <= P[x', y]`` excludes no
        private channel).
        """
        return _inverse_of(self.enclosure()[1])[0]

    @cached_property
    def beta(self) -> float:
        r""":math:`1 - e^{-\epsilon}`, rounded up."""
        return _inverse_of(self.enclosure()[1])[1]


def _exact(value: Any, name: str) -> Fraction:
    """Read a number >= 0 exactly: an integer, a Fraction or a float by its bits."""
    if isinstance(value, Fraction) and value >= 0:
        return value
    number = real_number(value, name, 0, sys.float_info.max)
    return Fraction(int(value) if is_whole(value) else number)


def round_down(value: Fraction) -> float:
    """Return the largest float that is at most ``value``."""
    nearest = float(value)
    over, under = nearest.as_integer_ratio()  # compared as integers: products of Fractions are slow
    is_below = over * value.denominator <= value.numerator * under
    return nearest if is_below else math.nextafter(nearest, -math.inf)


@lru_cache(maxsize=4096)
def _inverse_of(high: Fraction) -> tuple[float, float]:
    """``1 / high`` rounded down, and ``1 - 1 / high`` rounded up."""
    inverse = 1 / high
    return round_down(inverse), 0.0 - round_down(inverse - 1)


def round_up(value: Fraction) -> float:
    """Return the smallest float that is at least ``value`` (inf beyond the float range)."""
    try:
        return 0.0 - round_down(-value)
    except OverflowError:
        return math.inf


@lru_cache(maxsize=4096)
def decimal_of(number: float) -> Fraction:
    """The exact decimal of the shortest writing of a float: 2/5 for 0.4."""
    return Fraction(*Decimal(repr(float(number))).as_integer_ratio())


def budget_above(value: Fraction) -> float:
    """Return the smallest float that is at least ``value`` if it is read as a budget."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if decimal_of(nearest) >= value else math.nextafter(nearest, math.inf)


def epsilon_above(value: Fraction) -> float:
    """Return the smallest float that is at least ``value``, by its bits and read as a budget."""
    return max(round_up(value), budget_above(value))


def _in_float(ratio: Fraction) -> float:
    """The nearest float; infinite beyond their range."""
    try:
        return ratio.numerator / ratio.denominator
    except OverflowError:
        return math.inf


def log_above(ratio: Fraction) -> float:
    """`epsilon_above` of the upper bound of a logarithm, ratio >= 1: a few digits decide nearly
    always, else all.
    """
    if ROUGH_RANGE[0] < (number := _in_float(ratio)) < ROUGH_RANGE[1]:
        near = Decimal(math.log(number))
        value = ROUGH.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
        # log r = near + log(r e**-near), whose argument is 1 within 1e-12; exp is faster than ln
        off = ROUGH.subtract(ROUGH.multiply(value, ROUGH.exp(near.copy_negate())), Decimal(1))
        nats = ROUGH.add(near, off)
        low, high = (ROUGH.multiply(nats, end) for end in ROUGH_ENDS)
        nearest = float(nats)
        after = math.nextafter(nearest, math.inf)
        least = min(Decimal(nearest), Decimal(repr(nearest)))  # by its bits, and read as a budget
        if least >= high:
            return nearest
        if least < low and Decimal(repr(after)) >= high:
            return after
    return epsilon_above(log_enclosure(ratio)[1])


def _text(epsilon: Any, number: float, nats: Fraction | None) -> str:
    """Text of a budget as it was given; a long fraction is shortened to a float."""
    if isinstance(epsilon, str):
        return epsilon.strip()
    exact = str(nats)
    is_float = nats is None or nats == decimal_of(number) or len(exact) > MAX_TEXT
    return repr(number) if is_float else exact


def _parse(epsilon: Any) -> tuple[Fraction | None, Fraction | None]:
    """Exact nats, or the exact ratio ``e**epsilon``; the other is None."""
    epsilon = _number_or_text(epsilon)
    if type(epsilon) is float and 0 <= epsilon <= LARGEST:
        return decimal_of(epsilon), None
    match = _LOG.fullmatch(epsilon) if isinstance(epsilon, str) else None
    if match is None:
        nats = _fraction(epsilon, epsilon)
        _require_range(epsilon, nats)
        return nats, None
    ratio = _fraction(match[1], epsilon)
    _require_range(epsilon, log_of(ratio) if ratio >= 1 else -math.inf)
    return None, ratio


def _number_or_text(epsilon: Any) -> int | float | Fraction | str:
    """Unwrap scalars of other libraries; refuse other objects that are not numbers."""
    if isinstance(epsilon, np.ndarray) and not epsilon.ndim:
        epsilon = epsilon[()]
    if isinstance(epsilon, (bool, np.bool_, bytes, bytearray, type(np.ma.masked))):
        raise _refusal(epsilon, "is not a number")
    is_signal = isinstance(epsilon, Decimal) and epsilon.is_snan()  # no float at all
    is_own = isinstance(epsilon, (np.floating, Decimal)) and not is_signal
    if is_own and math.isfinite(epsilon):
        return str(epsilon)  # the shortest writing in its own precision
    if isinstance(epsilon, (int, float, Fraction, str)):
        return epsilon
    try:
        return float(epsilon)
    except (TypeError, ValueError):
        raise _refusal(epsilon, "is not a number") from None


def _require_range(epsilon: object, nats: Fraction | float) -> None:
    if nats < 0:
        raise _refusal(epsilon, "is negative", code="negative-epsilon")
    if nats > LARGEST:
        why = "is above 10000 nats, which gives no privacy"
        raise _refusal(epsilon, why, code="large-epsilon")


def _fraction(value: float | str | Fraction, epsilon: object) -> Fraction:
    if isinstance(value, float) and not math.isfinite(value):
        if value > 0:
            why = (
                "is infinite: without a bound on privacy the best mechanism reports the "
                "answer itself"
            )
            raise _refusal(epsilon, why, code="infinite-epsilon")
        raise _refusal(epsilon, "is not a finite number")
    if isinstance(value, float):
        return decimal_of(value)
    if isinstance(value, str) and re.search(r"e\s*\S{5,}\s*$", value, re.IGNORECASE):
        raise _refusal(epsilon, "is not a number of reasonable size", code="epsilon-size")
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError, TypeError):
        has_comma = isinstance(value, str) and re.fullmatch(r"\s*\d+,\d+\s*", value)
        why = "has a comma in place of a point" if has_comma else "is not a number"
        raise _refusal(epsilon, why) from None


def _refusal(epsilon: object, why: str, *, code: str = "epsilon") -> StatementError:
    return StatementError(
        f"epsilon = {short_repr(epsilon)} {why}",
        code=code,
        do='give epsilon in nats, from 0 to 10000, as a number or as "log(p/q)" with p >= q',
    )


def log_of(ratio: Fraction) -> float:
    """Natural logarithm of a rational >= 1, correct to a few ulps: screening in floats relies on
    it.
    """
    if ratio < 2:
        return math.log1p(float(ratio - 1))
    # beyond the floats
    shift = max(0, ratio.numerator.bit_length() - ratio.denominator.bit_length() - 1000)
    return math.log(ratio / (1 << shift)) + shift * math.log(2)


@lru_cache(maxsize=65536)
def exp_enclosure(x: Fraction) -> tuple[Fraction, Fraction]:
    """``2**k exp(x - k log 2)`` for ``x >= 0``: the exponential, from 1 to 2, rounded outward to
    `BITS` bits.
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    with localcontext(DECIMALS):
        nats = Decimal(x.numerator) / Decimal(x.denominator)
        k = int(nats / LOG_2)
        power = (nats - k * LOG_2).exp() * 2 ** (BITS - 1)
        low = math.floor(power - ERROR)
        high = math.ceil(power + ERROR)
    if k == 0:  # e**x is at least 1, which the margin would miss
        low = max(low, 1 << (BITS - 1))
    return Fraction(low << k, 1 << (BITS - 1)), Fraction(high << k, 1 << (BITS - 1))


@lru_cache(maxsize=256)
def log_enclosure(ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Rational bounds of ``log(ratio)``, ratio >= 1; near 1 by ``t - t**2/2 <= log(1+t) <= t``."""
    excess = ratio - 1
    if excess * 2 ** (BITS // 2) < 1:
        return excess - excess * excess / 2, excess
    with localcontext(DECIMALS):
        log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() * 2 ** (BITS + 32)
        low = math.floor(log - ERROR)
        high = math.ceil(log + ERROR)
    return Fraction(low, 1 << (BITS + 32)), Fraction(high, 1 << (BITS + 32))
