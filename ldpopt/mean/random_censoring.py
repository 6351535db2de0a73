r"""Random censoring: one bit a user, ``Pr(1 | x) = c + d x``, symmetric or as the paper's optimized interval has it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.divergence import Verdict
from ldpopt.errors import PrivacyViolationError, StatementError
from ldpopt.mean.protocol import Protocol, Source
from ldpopt.mechanism import Mechanism
from ldpopt.privacy import PureLDP
from ldpopt.sampling import BITS
from ldpopt.utility import Float


class RandomCensoring(Protocol):
    r"""Report whether a number in [0, 1] exceeds a random threshold: RCP_Single, and the paper's other intervals.

    .. math:: \Pr(1 \mid x) = c + d x, \quad c = \frac{1 + \delta_2}{E + 1}, \quad c + d = \frac{E + \delta_1}{E + 1},
              \quad V(x) = \Bigl(\frac{c}{d} + x\Bigr) \Bigl(\frac{1 - c - d}{d} + 1 - x\Bigr), \quad E = e^\epsilon

    Parameters
    ----------
    epsilon : float or str
        Nominal budget in nats, positive.
    delta1 : float
        Shift of the upper end, at most 1. No privacy parameter.
    delta2 : float
        Shift of the lower end, at least -1. No privacy parameter.

    Raises
    ------
    StatementError
        If the interval is empty or leaves [0, 1].

    Notes
    -----
    Output 1 keeps the ratio ``E`` where ``delta1 <= E delta2``, output 0 where ``delta2 >= E delta1``. The paper checks
    output 1 alone and asks for ``delta1 / E <= delta2 <= delta1``, ``delta1 > 0``: **every** such point violates
    epsilon-LDP. Its optimum ``RCP_Opt`` (``delta1 = 1``, ``delta2 = exp(-epsilon)``) has the true epsilon ``inf`` and
    ``delta = 1 - 1/E`` at every budget, since report 0 proves ``x != 1``. It is kept to compare with, and `audit` says
    so. Among the private intervals the symmetric one is best for every ``x``; theory: docs, "Means".

    The true epsilon is :math:`\max(\ln\frac{E + \delta_1}{1 + \delta_2}, \ln\frac{E - \delta_2}{1 - \delta_1})`.
    O(1) a report, drawn in integers: the masses of both ends are rounded inward, so that it is private exactly.

    References
    ----------
    Liu and Zhou 2023, Algorithms 1-3, Theorems 1-2, Corollary 1.

    Examples
    --------
    >>> round(RandomCensoring(1.0).worst_case_variance, 9)
    1.170673594
    >>> RandomCensoring(1.0, delta1=1.0, delta2=math.exp(-1)).audit().epsilon
    inf
    """

    domain = (0.0, 1.0)
    report_range = (0.0, 1.0)

    def __init__(self, epsilon: float | str, delta1: float = 0.0, delta2: float = 0.0) -> None:
        super().__init__(epsilon)
        self.delta1, self.delta2 = _shift(delta1, "delta1"), _shift(delta2, "delta2")
        b = math.exp(-self.epsilon)
        self.lower = (1 + self.delta2) * b / (1 + b)
        self.above = (1 - self.delta1) * b / (1 + b)
        self.slope = (-math.expm1(-self.epsilon) + b * (self.delta1 - self.delta2)) / (1 + b)
        self.offset = self.lower
        if self.delta1 > 1 or self.delta2 < -1 or not self.slope > 0:
            raise StatementError(
                f"delta1 = {self.delta1:g} and delta2 = {self.delta2:g} give the interval "
                f"[{self.lower:.6g}, {1 - self.above:.6g}], which is empty or leaves [0, 1]",
                do="state delta1 <= 1, delta2 >= -1 and delta2 - delta1 < exp(epsilon) - 1",
            )

    def __repr__(self) -> str:
        """Budget, shifts, and a flag where the budget does not hold."""
        shifts = f", delta1={self.delta1:g}, delta2={self.delta2:g}" if self.delta1 or self.delta2 else ""
        flag = "" if self._privacy()[2] == "certified" else f", NOT {float(self.epsilon):.6g}-LDP"
        return f"{type(self).__name__}(epsilon={self.epsilon!r}{shifts}{flag})"

    @cached_property
    def counts(self) -> tuple[int, int]:
        """Masses of report 1 at both ends of the domain over ``2**53``, rounded inward."""
        total, ratio = 1 << BITS, self.epsilon.enclosure()[0]
        lower = math.ceil(total * (1 + Fraction(self.delta2)) / (ratio + 1))
        upper = total - math.ceil(total * (1 - Fraction(self.delta1)) / (ratio + 1))
        if not lower < upper:
            raise StatementError(f"epsilon = {self.epsilon!r} is too small for words of {BITS} bits")
        return lower, upper

    @property
    def mechanism(self) -> Mechanism:
        """The channel from the ends 0 and 1 to the two reports, exactly private.

        Raises
        ------
        PrivacyViolationError
            If the interval is not epsilon-LDP.
        """
        lower, upper = self.counts
        total = 1 << BITS
        mechanism = Mechanism(np.array([[total - lower, lower], [total - upper, upper]]) / float(total))
        audit = mechanism.audit(PureLDP(self.epsilon))
        if audit.verdict != "certified":
            raise PrivacyViolationError(
                f"this interval is not {float(self.epsilon):.6g}-LDP: epsilon {self._privacy()[0]:.6g} found",
                where=f"report {audit.witness[2]}" if audit.witness else "",
                do="use delta1 = delta2 = 0, which is better than every other private interval",
            )
        return mechanism

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        lower, upper = self.counts
        # The rounded threshold stays between the masses of the ends, whose ratio is what privacy is about.
        threshold = np.clip(lower + np.rint((upper - lower) * x).astype(np.int64), lower, upper)
        reports: NDArray[Any] = (source(x.size).astype(np.int64) < threshold).astype(np.uint8)
        return reports

    def _reports(self, reports: Any) -> Float:
        array = super()._reports(reports)
        if not ((array == 0) | (array == 1)).all():
            raise StatementError("a report is neither 0 nor 1", do="pass the bits that randomize returned")
        return array

    def _variance(self, x: Any) -> Any:
        return (self.lower / self.slope + x) * (self.above / self.slope + 1 - x)

    def _privacy(self) -> tuple[float, tuple[Any, Any, Any] | None, Verdict]:
        b, epsilon = math.exp(-self.epsilon), float(self.epsilon)
        one = math.inf if self.delta2 == -1 else epsilon + math.log1p(b * self.delta1) - math.log1p(self.delta2)
        zero = math.inf if self.delta1 == 1 else epsilon + math.log1p(-b * self.delta2) - math.log1p(-self.delta1)
        witness = (1.0, 0.0, 1) if one >= zero else (0.0, 1.0, 0)
        return max(one, zero), witness, self._verdict()

    def _verdict(self) -> Verdict:
        """Decide ``delta1 <= E delta2`` and ``E delta1 <= delta2`` for the real ``E``, in rationals."""
        first, second = Fraction(self.delta1), Fraction(self.delta2)
        held = [first <= ratio * second and ratio * first <= second for ratio in self.epsilon.enclosure()]
        return "certified" if all(held) else "violated" if not any(held) else "undecided"

    def _delta(self, epsilon: float) -> float:
        # 1 - c = (1 - c - d) + d: without the difference of two numbers near 1.
        growth = math.expm1(min(epsilon, 709.0))
        return max(0.0, self.slope - growth * min(self.lower, self.above))


def _shift(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise StatementError(f"{name} = {value!r} is no finite number")
    return number
