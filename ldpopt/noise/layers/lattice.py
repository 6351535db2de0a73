"""Additive noise for linear queries with one to three integer answers, by the word metric of the
query's columns.
"""

from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, Int, read_size, short_repr, whole_number
from ldpopt.mechanism.exact_draws import (
    TOTAL,
    Source,
    geometric_draws,
    round_decay_up,
    uniform_below,
)
from ldpopt.mechanism.sampling import bit_source
from ldpopt.noise.layers.words import Tail, WordMetric

# Largest average level of a draw in one dimension; listing the points of a higher layer takes
# minutes
MAX_MEAN_LEVEL = 1 << 20


class LatticeNoise:
    r"""Noise on :math:`\mathbb Z^n`, ``n`` = 1, 2 or 3, private for a query ``f(x) = A x`` with
    integer columns.

    .. math:: p(r) = e^{-\epsilon L(r)} / Z, \qquad Z = \sum_t e^{-\epsilon t} |R_t|

    Parameters
    ----------
    columns : sequence of int, or of pairs or triples of int
        Columns of ``A``: the change of the answer when a record is added. If neighbors replace a
        record, pass the differences of columns. For answers on a grid, all possible changes in
        units of the grid.
    epsilon : float or str
        Nats for one record, ``0 < epsilon <= 10000``, or ``"log(3)"``.
    widening : float, Fraction or int
        Radius of the l_p ball of integer points that is layer 0; default: ``0``. The papers write
        delta.
    norm : {1, 2, inf}
        ``p`` of the ball; default: ``2``.

    Raises
    ------
    StatementError
        If the columns are not integers, or the budget or the ball is out of range.
    NotRepresentableError
        If no polynomial tail is found within two million points.

    Notes
    -----
    Adding or removing a record changes the answer by plus or minus a column, and ``L`` by at most
    one. The normalizer is the same for all answers. In one dimension the tail is proved: once two
    layers are translates of the previous ones, all later layers are. In more dimensions sizes are a
    polynomial in the end (Khovanskii); they must have grown by the volume of the columns' hull
    twelve times in a row, and every layer that a sample comes from is listed and checked.

    References
    ----------
    Wu, Xia and He, sections 4 to 6, problem (9); Khovanskii 1992. Theory: docs, "Neighbor graphs".

    Examples
    --------
    >>> noise = LatticeNoise([1], "log(3)")
    >>> round(noise.normalizer, 12), round(noise.expected_l1, 12), noise.sample(3, rng=2).tolist()
    (2.0, 0.75, [0, -1, 0])
    """

    def __init__(
        self,
        columns: ArrayLike,
        epsilon: float | str,
        widening: float | Fraction = 0,
        norm: float = 2,
    ) -> None:
        self.epsilon = Budget(epsilon)
        self._decay_numerator = round_decay_up(self.epsilon)
        if self._decay_numerator >= TOTAL:
            problem = f"epsilon = {self.epsilon!r} is too small: the noise would not be finite"
            raise StatementError(problem, code="small-budget", do="choose a larger epsilon")
        self.words = WordMetric(columns, widening, norm)
        self.tail: Tail = self.words.tail()

    def __repr__(self) -> str:
        return (
            f"LatticeNoise({self.words!r}, epsilon={self.epsilon!r}, tail from {self.tail.start})"
        )

    @property
    def dimension(self) -> int:
        """Number of integers in an answer."""
        return self.words.dimension

    def size(self, number: int) -> int:
        """Return the number of points of a layer; in the tail by its polynomial."""
        number = whole_number(number, "the number of a layer")
        if number < self.tail.start:
            return self.words.size(number)
        return self._polynomial(number)

    def _polynomial(self, number: int) -> int:
        """Value of the tail's polynomial, by its forward differences; also before the tail."""
        value, binomial = 0, 1
        for k, difference in enumerate(self.tail.sizes):
            value += difference * binomial
            binomial = binomial * (number - self.tail.start - k) // (k + 1)
        return value

    @cached_property
    def normalizer(self) -> float:
        r""":math:`Z = \sum_{t<T} x^t |R_t| + x^T \sum_k \Delta^k |R_T| \, x^k / (1-x)^{k+1}`, ``x =
        exp(-epsilon)``.
        """
        return self._series([self.words.size(t) for t in range(self.tail.start)], self.tail.sizes)

    @cached_property
    def expected_l1(self) -> float:
        r"""Expected l1 norm of the noise.

        In closed form if the sums of l1 norms over the layers become polynomials of their number:
        always in one dimension, in two only for some columns. Otherwise `expected_norm`.
        """
        if self.tail.moments is None:
            return self.expected_norm(1)
        head = [self.words.moment(t) for t in range(self.tail.start)]
        return self._series(head, self.tail.moments) / self.normalizer

    def expected_norm(self, p: float) -> float:
        """Expected l_p norm of the noise for ``p`` = 1, 2 or inf, as a sum over layers.

        It ends when the remainder, at most ``sum_t x^t (t g + w) |R_t|`` with g the longest column
        and w the radius of the ball (both in the l1 norm), is below 1e-12 of it; a sum that takes
        too many points is refused.
        """
        if not isinstance(p, (int, float)) or p not in (1, 2, np.inf):
            raise StatementError(
                f"p = {short_repr(p)} is unknown", code="norm", do="give 1, 2 or inf"
            )
        x = np.exp(-float(self.epsilon))
        total = 0.0
        number = 0
        longest = int(np.abs(self.words.columns).sum(axis=1).max())
        widest = int(np.abs(self.words.layer(0)).sum(axis=1).max())
        while True:
            total += x**number * float(np.linalg.norm(self.words.layer(number), p, axis=1).sum())
            number += 1
            # From here on each term of the bound is at most x (1 + 1/number)**n times the previous
            # one.
            ratio = x * (1 + 1 / number) ** self.dimension
            tail_bound = x**number * (number * longest + widest) * self.size(number)
            if number > self.tail.start and ratio < 1 and tail_bound / (1 - ratio) < 1e-12 * total:
                return float(total / self.normalizer)

    def pmf(self, points: ArrayLike) -> Float:
        """Return the probability ``exp(-epsilon L) / Z`` of each lattice point.

        Parameters
        ----------
        points : array_like of int, shape (N, n)
            Sums of columns; in one dimension also shape (N,).

        Raises
        ------
        StatementError
            If a point is not of integers, or of another dimension.
        """
        return np.asarray(np.exp(-float(self.epsilon) * self.words.level(points)) / self.normalizer)

    def sample(self, size: int, *, rng: np.random.Generator | int | None = None) -> Int:
        r"""Draw noise exactly, for the rational :math:`b \ge e^{-\epsilon}` that is a multiple of
        ``2**-53``.

        Arguments are those of `Noise.sample`; the values have shape (size,) in one dimension, else
        (size, n).

        Notes
        -----
        Rejection sampling. The proposed level is the sum of ``n`` geometric draws, with probability
        proportional to ``binom(t + n - 1, n - 1) b**t``. It is kept with probability ``|R_t| / (M
        binom(t + n - 1, n - 1))``, a ratio of whole numbers. Then a point of the layer is drawn
        uniformly.
        """
        size = read_size(size)
        if (TOTAL - self._decay_numerator) * (MAX_MEAN_LEVEL >> 5 * (self.dimension - 1)) < TOTAL:
            problem = (
                f"the average level of a draw is {TOTAL / (TOTAL - self._decay_numerator):.3g}, "
                "too many points"
            )
            raise StatementError(problem, do="state a larger epsilon")
        source = bit_source(rng)
        levels = np.zeros(size, dtype=np.int64)
        waiting = np.arange(size)
        while len(waiting):
            levels[waiting], kept = self._propose(len(waiting), source)
            waiting = waiting[~kept]
        drawn = np.zeros((size, self.dimension), dtype=np.int64)
        for level in np.unique(levels):
            points = self.words.layer(int(level))
            if len(points) != self.size(int(level)):
                problem = (
                    f"layer {level} has {len(points)} points instead of {self.size(int(level))}"
                )
                do = (
                    "choose a larger epsilon, at which only the first layers are drawn: their "
                    "sizes follow the formula"
                )
                raise NotRepresentableError(problem, do=do)
            here = np.flatnonzero(levels == level)
            drawn[here] = points[uniform_below(len(points), len(here), source)]
        return drawn[:, 0] if self.dimension == 1 else drawn

    @cached_property
    def _acceptance_bound(self) -> int:
        """A whole ``M`` with ``|R_t| <= M binom(t + n - 1, n - 1)`` for all t, by backward
        differences.
        """
        n = self.dimension
        heads = [-(-self.size(t) // comb(t + n - 1, n - 1)) for t in range(self.tail.start + 1)]
        before = [self._polynomial(-1 - j) for j in range(n)]
        differences = [
            sum((-1) ** j * comb(k, j) * before[j] for j in range(k + 1)) for k in range(n)
        ]
        return int(max(*heads, sum(max(c, 0) for c in differences)))

    def _propose(self, size: int, source: Source) -> tuple[Int, Any]:
        """Levels, and whether each is kept.

        The sum of ``n`` geometric numbers is ``t`` with a weight of ``exp(-epsilon t) binom(t + n -
        1, n - 1)``; it is kept with probability ``|R_t|`` over ``M`` times this binomial.
        """
        draws = (
            geometric_draws(self._decay_numerator, size, source) for _ in range(self.dimension)
        )
        levels = np.sum(list(draws), axis=0)
        n = self.dimension
        numbers, index = np.unique(levels, return_inverse=True)
        sizes = np.array([self.size(t) for t in numbers.tolist()], dtype=np.int64)
        bounds = np.array(
            [self._acceptance_bound * comb(t + n - 1, n - 1) for t in numbers.tolist()],
            dtype=np.int64,
        )
        return levels, uniform_below(bounds[index], size, source) < sizes[index]

    def _series(self, head: list[int], differences: tuple[int, ...]) -> float:
        """``sum_t exp(-epsilon t) c_t``: of the first coefficients, then of a polynomial, given by
        its forward differences.
        """
        x = np.exp(-float(self.epsilon))
        complement = -np.expm1(-float(self.epsilon))
        powers = np.exp(-float(self.epsilon) * np.arange(len(head)))
        tail = sum(float(d) * x**k / complement ** (k + 1) for k, d in enumerate(differences))
        return float(
            powers @ np.array(head, dtype=float) + np.exp(-float(self.epsilon) * len(head)) * tail
        )
