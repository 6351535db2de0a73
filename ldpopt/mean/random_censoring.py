r"""Random censoring: one bit per user, ``Pr(1 | x) = c + d x``, with the symmetric or another
interval.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.audits import verdict_of_ratio
from ldpopt.auditing.divergence import Audit
from ldpopt.errors import PrivacyViolationError, StatementError
from ldpopt.foundation.numbers import Float, real_number, short_repr
from ldpopt.mean.protocol import Domain, NumberProtocol, Privacy, read_domain
from ldpopt.mechanism.exact_draws import TOTAL, Source
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import PureLDP


class RandomCensoring(NumberProtocol, published=True):
    r"""Report whether a number in [0, 1] exceeds a random threshold: RCP_Single, and the paper's
    other intervals.

    .. math:: \Pr(1 \mid x) = c + d x, \quad c = \frac{1 + \delta_2}{E + 1},
              \quad c + d = \frac{E + \delta_1}{E + 1},
              \quad V(x) = \Bigl(\frac{c}{d} + x\Bigr) \Bigl(\frac{1 - c - d}{d} + 1 - x\Bigr),
              \quad E = e^\epsilon

    Parameters
    ----------
    epsilon : float or str
        Nominal budget in nats, positive.
    delta1 : float
        Shift of the upper end, at most 1; not a privacy parameter; default: ``0.0``.
    delta2 : float
        Shift of the lower end, at least -1; not a privacy parameter; default: ``0.0``.

    Raises
    ------
    StatementError
        If the interval is empty or leaves [0, 1].

    Notes
    -----
    Output 1 keeps the ratio ``E`` if ``delta1 <= E delta2``, output 0 if ``delta2 >= E delta1``.
    The paper checks output 1 only, and **every** point that it allows violates epsilon-LDP; its
    optimum ``RCP_Opt`` (``delta1 = 1``, ``delta2 = exp(-epsilon)``) is kept for comparison. Among
    the private intervals the symmetric one is best for every ``x``; theory: docs, "Means".

    The true epsilon is :math:`\max(\ln\frac{E + \delta_1}{1 + \delta_2}, \ln\frac{E - \delta_2}{1 -
    \delta_1})`. O(1) per report, drawn in integers: the masses of both ends are rounded inward to
    multiples of ``2**-53``, so it is exactly private. All properties describe the rounded
    probabilities.

    Attributes
    ----------
    counts : tuple of int
        Masses of report 1 at both ends of the domain, over ``2**53``.
    lower, above : float
        The numbers ``c`` and ``1 - c - d``.

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

    natural_domain = (0.0, 1.0)
    report_range = (0.0, 1.0)
    _report_values = np.array([0.0, 1.0])

    def __init__(
        self,
        epsilon: float | str,
        delta1: float = 0.0,
        delta2: float = 0.0,
        *,
        domain: Domain = None,
    ) -> None:
        super().__init__(epsilon, domain)
        self.delta1 = _shift(delta1, "delta1")
        self.delta2 = _shift(delta2, "delta2")
        ratio = self.epsilon.enclosure()[0]
        lower = math.ceil(TOTAL * (1 + Fraction(self.delta2)) / (ratio + 1))
        upper = TOTAL - math.ceil(TOTAL * (1 - Fraction(self.delta1)) / (ratio + 1))
        if not 0 <= lower < upper <= TOTAL:
            interval = (
                f"[{lower / TOTAL:.6g}, {upper / TOTAL:.6g}], which is empty or leaves [0, 1]"
            )
            problem = (
                f"delta1 = {self.delta1:g} and delta2 = {self.delta2:g} give the "
                f"interval {interval}"
            )
            do = (
                "pass delta1 <= 1, delta2 >= -1, delta2 - delta1 < exp(epsilon) - 1, and "
                "epsilon above 1e-15"
            )
            raise StatementError(problem, do=do)
        self._set_masses(lower, upper)

    def _set_masses(self, lower: int, upper: int) -> None:
        """Set the masses of report 1 at both ends of the domain."""
        self.counts = lower, upper
        self.lower = lower / TOTAL
        self.above = (TOTAL - upper) / TOTAL
        self.slope = (upper - lower) / TOTAL
        self.offset, self._natural_bias = self.lower, 0.5 / (upper - lower)

    def __repr__(self) -> str:
        shifts = (
            f", delta1={self.delta1:g}, delta2={self.delta2:g}"
            if self.delta1 or self.delta2
            else ""
        )
        flag = "" if self._privacy()[2] == "certified" else f", NOT {float(self.epsilon):.6g}-LDP"
        return f"{type(self).__name__}(epsilon={self.epsilon!r}{shifts}{flag})"

    @property
    def _has_three_losses(self) -> bool:  # type: ignore[override]
        return self.counts[0] + self.counts[1] == TOTAL

    @property
    def mechanism(self) -> Mechanism:
        """The channel from the ends 0 and 1 to the two reports, exactly private; refused if the
        interval is not.
        """
        lower, upper = self.counts
        mechanism = Mechanism(
            np.array([[TOTAL - lower, lower], [TOTAL - upper, upper]]) / float(TOTAL)
        )
        audit = mechanism.audit(PureLDP(self.epsilon))
        if audit.verdict != "certified":
            problem = (
                f"this interval is not {float(self.epsilon):.6g}-LDP: epsilon "
                f"{self._privacy()[0]:.6g} found"
            )
            do = "use delta1 = delta2 = 0, which is better than every other private interval"
            raise PrivacyViolationError(
                problem,
                code="interval",
                where=f"report {audit.witness[2]}" if audit.witness else "",
                do=do,
            )
        return mechanism

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        lower, upper = self.counts
        # The rounded threshold stays between the masses of the ends, whose ratio decides privacy.
        threshold = np.clip(lower + np.rint((upper - lower) * x).astype(np.int64), lower, upper)
        return np.asarray(source(x.size).astype(np.int64) < threshold).astype(np.uint8)

    def _variance(self, x: Any) -> Any:
        return (self.lower / self.slope + x) * (self.above / self.slope + 1 - x)

    def _privacy(self) -> Privacy:
        lower, upper = self.counts
        ratio_of_one = Fraction(upper, lower) if lower else math.inf
        ratio_of_zero = Fraction(TOTAL - lower, TOTAL - upper) if upper < TOTAL else math.inf
        epsilon, verdict = verdict_of_ratio(max(ratio_of_one, ratio_of_zero), self.epsilon)
        return epsilon, (1.0, 0.0, 1) if ratio_of_one >= ratio_of_zero else (0.0, 1.0, 0), verdict

    def _delta(self, epsilon: float) -> float:
        # Uses 1 - c = (1 - c - d) + d, to avoid a difference of two numbers near 1.
        return max(0.0, self.slope - math.expm1(min(epsilon, 709.0)) * min(self.lower, self.above))


def _shift(value: Any, name: str) -> float:
    """Read one of the two shifts of the interval."""
    number = real_number(value, name)
    if not math.isfinite(number):
        raise StatementError(
            f"{name} = {short_repr(value)} is not a finite number", do="give a number from -1 to 1"
        )
    return number


class NoPrivacy(RandomCensoring):
    r"""Report whether a number in [0, 1] exceeds a uniform threshold: one bit, and no privacy.

    .. math:: \Pr(1 \mid x) = x, \qquad V(x) = x (1 - x)

    Notes
    -----
    Its true epsilon is infinite and its delta is 1: report 1 proves ``x != 0``, report 0 proves ``x
    != 1``. It is a baseline of protocols that send a bit, and no lower bound for others: for fixed
    answers the error of bits is ``sum x (1 - x) / N**2``, which reports of real numbers undercut.

    References
    ----------
    Liu and Zhou 2023, equations (3)-(7) and Theorem 3.

    Examples
    --------
    >>> NoPrivacy().worst_case_variance, NoPrivacy().audit().delta_at(5.0)
    (0.25, 1.0)
    """

    def __init__(self, *, domain: Domain = None) -> None:
        """Set the domain: there is no budget."""
        self._data_domain = read_domain(domain)
        self._set_masses(0, TOTAL)

    def __repr__(self) -> str:
        return (
            "NoPrivacy()" if self._data_domain is None else f"NoPrivacy(domain={self._data_domain})"
        )

    def audit(self) -> Audit:
        """Return epsilon ``inf`` and delta 1 at every budget: each report excludes an answer."""
        epsilon, witness, verdict = self._privacy()
        return Audit(
            epsilon, self._delta(0.0), witness, verdict, "any epsilon", curve=lambda _: 1.0
        )

    def _privacy(self) -> Privacy:
        return math.inf, (1.0, 0.0, 1), "violated"
