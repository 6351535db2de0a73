r"""The interface of randomizers of one number and of vectors: a domain, a variance, an audit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.auditing.divergence import Audit
from ldpopt.errors import StatementError
from ldpopt.estimation.inversion import Estimate
from ldpopt.foundation.numbers import Float, quoted, real_array, whole_number
from ldpopt.mechanism.exact_draws import Source
from ldpopt.mechanism.sampling import BITS, CHUNK, bit_source

Random = np.random.Generator | int | None

TOTAL = 1 << BITS
"""Masses are integers over this denominator."""


class Randomizer(ABC):
    """Randomizes bounded answers and estimates their mean; see `Protocol` for numbers, `VectorProtocol` for vectors.

    Attributes
    ----------
    domain : tuple of float
        Least and largest answer, in the unit of the data.
    natural_domain : tuple of float
        The same on the protocol's own scale, which its reports have; the domain unless another was stated.
    """

    natural_domain: tuple[float, float] = (-1.0, 1.0)
    _stated_domain: tuple[float, float] | None = None

    @property
    def domain(self) -> tuple[float, float]:
        """Least and largest answer, in the unit of the data."""
        return self._stated_domain or self.natural_domain

    @property
    def _unit(self) -> float:
        """How many units of the data one of the natural scale is."""
        if self._stated_domain is None:
            return 1.0
        (low, high), (least, most) = self._stated_domain, self.natural_domain
        return (high - low) / (most - least)

    def _in_units(self, x: Any) -> Any:
        """Numbers of the natural scale in the unit of the data."""
        return x if self._stated_domain is None else self.domain[0] + self._unit * (x - self.natural_domain[0])

    def _natural(self, x: Any) -> Any:
        """Numbers within the domain on the natural scale."""
        if self._stated_domain is None:
            return x
        least, most = self.natural_domain
        return np.clip(least + (x - self.domain[0]) / self._unit, least, most)

    @property
    def knots(self) -> tuple[float, ...]:
        """Answers between which the variance is a quadratic."""
        return self.domain

    @abstractmethod
    def privatize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw the reports of all users."""

    @abstractmethod
    def estimate(self, reports: Any, confidence: float = 0.95) -> Estimate:
        """Estimate the mean of the answers."""

    @abstractmethod
    def audit(self) -> Audit:
        """Return the true privacy of one user's report."""

    def variance(self, x: ArrayLike) -> Any:
        """Variance of one user's unbiased contribution to the mean, in the squared unit of the answers.

        Parameters
        ----------
        x : array_like
            Answers within the domain.

        Returns
        -------
        float or ndarray
            In the shape of ``x``.
        """
        array = self._answers(x)
        found = self._unit**2 * self._variance(array)
        return found if array.ndim else float(found)

    @property
    def worst_case_variance(self) -> float:
        """Largest `variance` over the whole domain."""
        return self._unit**2 * quadratic_maximum(self._variance, tuple(self._natural(x) for x in self.knots))

    @abstractmethod
    def _variance(self, x: Any) -> Any:
        """See `variance`; ``x`` is within the natural domain, and so is the unit."""

    def _answers(self, x: ArrayLike) -> Float:
        """Read answers, and put them on the natural scale."""
        array = real_array(x, "list of answers")
        low, high = self.domain
        # Two reductions without temporaries; nan fails both comparisons.
        if array.size and not (array.min() >= low and array.max() <= high):
            bad = int(np.argmax(~((array >= low) & (array <= high)).ravel()))
            raise StatementError(
                f"the answer{quoted(float(array.ravel()[bad]))} lies outside [{low:g}, {high:g}]",
                where=f"entry {bad}",
                do="state domain=(low, high) that holds all answers; nothing is clipped",
            )
        return np.asarray(self._natural(array))


class VectorProtocol(Randomizer):
    """A randomizer of ``m`` bounded numbers per user.

    Parameters
    ----------
    attributes : int
        Number of attributes ``m``, at least 1.
    domain : tuple of float, optional
        Least and largest answer of every attribute; default: the natural domain.

    Raises
    ------
    StatementError
        If ``attributes`` is not a whole number >= 1, or the domain is not an interval.
    """

    def __init__(self, attributes: int, domain: tuple[float, float] | None = None) -> None:
        self.attributes = whole_number(attributes, "attributes", 1)
        self._stated_domain = read_domain(domain)

    def privatize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw the report of each user.

        Parameters
        ----------
        x : array_like, shape (N, m)
            Answers within the domain, one user a row; nothing is clipped.
        rng : numpy.random.Generator or int, optional
            Makes the draws repeatable (default: every bit from the operating system's generator).

        Returns
        -------
        ndarray, length N
            The reports; see the class for their type.

        Raises
        ------
        StatementError
            If the shape is wrong, or an answer that is read is outside the domain.
        """
        # A plain array is read in parts: a copy might not fit into memory.
        plain = type(x) is np.ndarray and x.dtype.kind in "iuf"
        answers: NDArray[Any] = x if plain else real_array(x, "list of answers")  # type: ignore[assignment]
        if answers.ndim != 2 or answers.shape[1] != self.attributes:
            raise StatementError(f"answers have shape {answers.shape}; expected (users, {self.attributes})")
        source, reports = bit_source(rng), self._empty(len(answers))
        for part in chunks(len(answers), self._rows_at_a_time):
            self._fill(reports[part], answers[part], source)
        return reports

    @property
    def _rows_at_a_time(self) -> int:
        return CHUNK

    @abstractmethod
    def _empty(self, users: int) -> NDArray[Any]:
        """Room for the reports."""

    @abstractmethod
    def _fill(self, reports: NDArray[Any], x: NDArray[Any], source: Source) -> None:
        """Write the reports of some users."""


def read_domain(domain: Any) -> tuple[float, float] | None:
    """Read a stated domain; None if there is none."""
    if domain is None:
        return None
    ends = real_array(domain, "domain")
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1] or not np.isfinite(ends[1] - ends[0]):
        raise StatementError(
            f"the domain {domain!r} is not an interval", do="state domain=(least answer, largest answer)"
        )
    return float(ends[0]), float(ends[1])


def chunks(size: int, length: int = CHUNK) -> Iterator[slice]:
    """Cut ``range(size)`` into slices that fit in the cache."""
    return (slice(start, min(start + length, size)) for start in range(0, size, length))


def quadratic_maximum(function: Callable[[Any], Any], knots: tuple[float, ...]) -> float:
    """Return the exact maximum of a function that is a quadratic between neighboring knots: ends and vertices."""
    grid = np.asarray(knots, float)
    left, right = grid[:-1], grid[1:]
    start, middle, stop = (np.asarray(function(x), float) for x in (left, (left + right) / 2, right))
    bend = 2 * (start + stop - 2 * middle)
    rise = stop - start - bend
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(bend < 0, np.clip(-rise / (2 * bend), 0.0, 1.0), 0.0)
    return float(max(start.max(), stop.max(), (start + rise * vertex + bend * vertex**2).max()))


def uniforms(source: Source, size: int) -> Float:
    """Floats in [0, 1) from whole words; for simulation."""
    return np.asarray(source(size) * 2.0**-BITS, np.float64)


def below(mass: int, size: int, source: Source) -> NDArray[np.bool_]:
    """Toss exact coins of probability ``mass / 2**53``."""
    coins: NDArray[np.bool_] = source(size) < np.uint64(mass)
    return coins


def fair_bits(size: int, source: Source) -> NDArray[np.uint8]:
    """Toss fair coins, 48 from each word."""
    low_bytes = source(-(-size // 48)).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :6]
    return np.unpackbits(low_bytes)[:size]
