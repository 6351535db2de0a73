r"""Duchi, Jordan and Wainwright's mechanism for vectors: all attributes in one report, for any
number of attributes.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.auditing.divergence import Audit
from ldpopt.errors import StatementError
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.influence import Influence
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, whole_number
from ldpopt.mean.banded import TwoLevel
from ldpopt.mean.protocol import Domain, VectorProtocol
from ldpopt.mechanism.exact_draws import TOTAL, Source, coin_tosses, fair_bits
from ldpopt.mechanism.sampling import CHUNK

# largest number of attributes; probabilities are computed with integers of as many bits
MAX_ATTRIBUTES = 100_000


class DuchiVector(VectorProtocol):
    r"""Report signs ``z`` of all ``m`` attributes: a random corner of the cube, likely on the
    answer's side.

    .. math:: v_j = \pm 1 \text{ with mean } x_j, \qquad \Pr(z \mid v) \propto
              \begin{cases} e^\epsilon & z \cdot v > 0 \\ 1 & z \cdot v \le 0 \end{cases}

    .. math:: E[B z \mid x] = x, \quad
              B = \frac{4^h}{\binom{2h}{h}} \Bigl( \frac{e^\epsilon + 1}{e^\epsilon - 1} - \tau
              \Bigr), \;
              h = \lfloor m / 2 \rfloor, \qquad V(x_j) = B^2 - x_j^2

    with ``tau`` the share of corners on the border, ``binom(m, h) / 2**m`` for even ``m`` and 0 for
    odd ``m``.

    Parameters
    ----------
    epsilon : float or str
        Budget in nats for the whole report, positive.
    attributes : int
        Number of attributes ``m``, from 1 to 100 000.

    Attributes
    ----------
    size : float
        ``B``.

    Raises
    ------
    StatementError
        If epsilon is not positive, there are too many attributes, or the domain is not an interval.

    Notes
    -----
    With one attribute it is `Duchi`. Two opposite corners are the worst pair. For even ``m`` the
    mechanism as first published is **not** epsilon-LDP, because of border corners. Corrected by
    Nguyen et al. Theory: docs, "Means".

    `privatize` returns an int8 array of signs, shape ``(N, m)``. O(m) random words per user, drawn
    exactly.

    References
    ----------
    Duchi, Jordan and Wainwright 2018; Nguyen et al. 2016; Wang et al. 2019, algorithm 3.

    Examples
    --------
    >>> protocol = DuchiVector("log(3)", attributes=2)
    >>> round(protocol.size, 6), protocol.audit().verdict
    (3.0, 'certified')
    """

    def __init__(self, epsilon: float | str, attributes: int, *, domain: Domain = None) -> None:
        super().__init__(whole_number(attributes, "attributes", 1, MAX_ATTRIBUTES), domain)
        budget = Budget.positive(epsilon)
        m = self.attributes
        self._rows_at_a_time = max(1, 4 * CHUNK // m)
        # m / E|sum of m fair signs| as a product, without large numbers.
        growth = math.prod(2 * i / (2 * i - 1) for i in range(1, m // 2 + 1))
        border = 0 if m % 2 else math.comb(m, m // 2)
        self.epsilon = budget
        self.levels = TwoLevel(budget, Fraction((1 << m) - border, 2 << m))
        self.size = 2 * float(self.levels.fraction) * growth / self.levels.likely

    def __repr__(self) -> str:
        return f"DuchiVector(epsilon={self.epsilon!r}, attributes={self.attributes})"

    def estimate(
        self, reports: ArrayLike, confidence: float = 0.95, *, liars: float = 0.0
    ) -> Estimate:
        """Estimate the mean of each attribute, without bias, from the signs that `privatize`
        returned.

        Arguments are those of `NumberProtocol.estimate`, for reports of shape (N, m). The ``m``
        values have sample standard errors, that of the worst case if all signs are equal.
        """
        normal_quantile(confidence)
        liars = read_liars(liars)
        signs = np.asarray(reports)
        fits = (
            signs.ndim == 2
            and signs.shape[1] == self.attributes
            and len(signs)
            and signs.dtype.kind in "if"
        )
        if not fits or not (np.abs(signs) == 1).all():
            problem = f"the reports are not signs of shape (users, {self.attributes})"
            raise StatementError(problem, do="pass what privatize returned")
        n = len(signs)
        means = signs.sum(axis=0, dtype=np.float64) / n
        spread = (1 - means) * (1 + means) * n / max(1, n - 1)
        variance = np.where(
            spread > 0, spread * (self._unit * self.size) ** 2, self.worst_case_variance
        )
        estimate = Estimate(
            self._to_data_unit(means * self.size),
            np.sqrt(variance / n),
            n,
            float(confidence),
            repr(self),
        )
        return widened(estimate, liars, lambda: self.influence.each)

    @property
    def influence(self) -> Influence:
        """How far one report in place of a true one can move each mean: by a sign."""
        return self._influence_of((-self.size, self.size), range(self.attributes))

    def audit(self) -> Audit:
        """Return the true privacy of the whole report, in closed form."""
        epsilon, verdict = self.levels.privacy()
        ones = (1.0,) * self.attributes
        low, high = self.domain
        witness = ((high,) * self.attributes, (low,) * self.attributes, ones)
        claim = f"{float(self.epsilon):.6g}-LDP"
        return Audit(
            epsilon,
            0.0,
            witness,
            verdict,
            claim,
            curve=lambda budget: self.levels.delta(float(budget)),
        )

    def _empty(self, users: int) -> NDArray[Any]:
        return np.empty((users, self.attributes), dtype=np.int8)

    def _fill(self, reports: NDArray[Any], x: NDArray[Any], source: Source) -> None:
        threshold = np.rint((self._read_answers(x) + 1) * (TOTAL / 2)).astype(np.int64)
        rounded = source(x.size).view(np.int64).reshape(x.shape) < threshold
        agrees = fair_bits(x.size, source).reshape(x.shape).astype(bool)
        wanted = np.flatnonzero(coin_tosses(self.levels.mass, len(x), source))
        while len(wanted):
            twice = 2 * np.count_nonzero(agrees[wanted], axis=1)
            # A corner on the wrong side is negated; one on the border is drawn again.
            wrong, wanted = wanted[twice < self.attributes], wanted[twice == self.attributes]
            agrees[wrong] = ~agrees[wrong]
            again = fair_bits(len(wanted) * self.attributes, source)
            agrees[wanted] = again.reshape(-1, self.attributes).astype(bool)
        reports[:] = 2 * (agrees == rounded) - 1

    def _variance(self, x: Any) -> Float:
        return np.asarray((self.size - x) * (self.size + x))
