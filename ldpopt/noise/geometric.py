"""Two-sided geometric noise on the integers, and the mechanism that clamps it to a range."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, read_size, require_memory, short_repr, whole_number
from ldpopt.mechanism.exact_draws import two_sided_geometric_draws
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.mechanism.sampling import bit_source
from ldpopt.noise.noise import IntegerNoise, Random, exact_power, read_integer, read_points
from ldpopt.privacy import GraphDP
from ldpopt.privacy.neighbors import within


class Geometric(IntegerNoise):
    r"""Two-sided geometric noise on the integers.

    .. math:: P(k) = \frac{1-b}{1+b} b^{|k|}, \qquad b = e^{-\epsilon / \Delta}

    Parameters
    ----------
    sensitivity : int
        Largest change of the integer answer between neighbors, positive.
    epsilon : float or str
        Nats, positive, or ``"log(3)"``.

    Raises
    ------
    StatementError
        If the sensitivity is not a positive whole number, or epsilon is not positive.

    Notes
    -----
    `sample` is exact. It counts heads of a coin with the rational probability `decay`, ``b``
    rounded up to a multiple of ``2**-53``, so it is private for the real ``e**epsilon``. About ten
    64-bit words per draw at every budget.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan 2012; Canonne, Kamath and Steinke 2020 for the draws.

    Examples
    --------
    >>> Geometric(1, "log(3)").pdf([0, 1]).round(12).tolist()
    [0.5, 0.166666666667]
    """

    def __init__(self, sensitivity: float, epsilon: float | str) -> None:
        super().__init__(sensitivity, epsilon)
        if self.sensitivity != int(self.sensitivity):
            problem = f"sensitivity = {short_repr(sensitivity)} is not a whole number"
            raise StatementError(problem, do="use Laplace(...).on_grid(step)")
        self._budget_share = Fraction(1, int(self.sensitivity))

    @property
    def _rate(self) -> float:
        return float(self.epsilon) / self.sensitivity

    def mass(self, k: int) -> Fraction:
        """Return the exact probability that `sample` draws ``k``."""
        b = self.decay
        return (1 - b) / (1 + b) * exact_power(b, abs(read_integer(k)))

    @property
    def expected_abs(self) -> float:
        """``1 / sinh(epsilon / sensitivity)``."""
        return 2 * math.exp(-self._rate) / -math.expm1(-2 * self._rate)

    @property
    def variance(self) -> float:
        """``2 b / (1 - b)**2``."""
        return 2 * math.exp(-self._rate) / math.expm1(-self._rate) ** 2

    @property
    def normalizer(self) -> float:
        """``(1 + b) / (1 - b)``."""
        return (1 + math.exp(-self._rate)) / -math.expm1(-self._rate)

    def pdf(self, r: ArrayLike) -> Float:
        """Return the probability of each ``r``; 0 off the integers."""
        r = read_points(r)
        with np.errstate(over="ignore"):  # the probability there is 0 anyway
            return np.where(
                r == np.floor(r), np.exp(-self._rate * np.abs(r)) / self.normalizer, 0.0
            )

    def cdf(self, r: ArrayLike) -> Float:
        """See `Noise.cdf`."""
        k = np.floor(read_points(r))
        with np.errstate(over="ignore"):
            tail = np.exp(-self._rate * np.where(k >= 0, k + 1, -k)) / (1 + math.exp(-self._rate))
        return np.where(k >= 0, 1 - tail, tail)

    def sample(self, size: int, *, rng: Random = None) -> NDArray[np.int64]:
        """Draw exactly, with the masses of `mass`; see `Noise.sample`."""
        return two_sided_geometric_draws(self._decay_numerator, read_size(size), bit_source(rng))

    def truncated(self, n: int) -> Mechanism:
        """Clamp answer plus noise to ``0 .. n-1``, as an exactly private mechanism on the path.

        Parameters
        ----------
        n : int
            Number of answers, ``n >= 2``.

        Returns
        -------
        Mechanism
            Channel ``(n, n)``, repaired and certified for answers at most `sensitivity` apart.

        Raises
        ------
        StatementError
            If ``n`` is not a whole number of at least 2, or the matrix does not fit into the
            memory.
        """
        n = whole_number(n, "n", 2)
        require_memory(40 * n * n, f"the {n} x {n} matrix of this noise")
        points = np.arange(n)
        channel = np.exp(-self._rate * np.abs(np.subtract.outer(points, points))) / self.normalizer
        outer = np.exp(-self._rate * points) / (1 + math.exp(-self._rate))
        channel[:, 0] = outer
        channel[:, -1] = outer[::-1]
        graph = within(range(n), lambda x, y: abs(x - y), self.sensitivity)
        return repair(
            channel, GraphDP(self.epsilon, graph), inputs=range(n), outputs=range(n)
        ).mechanism
