"""The numbers of a problem as integers, read once: what value, bound and gap of a program are
computed from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.integers import Integers, exact_grid, exactly, integers
from ldpopt.foundation.numbers import Float
from ldpopt.problem.problem import Problem

BLOCK = 1 << 13  # entries whose Python integers are in memory at once
FEW = 200  # entries up to which sums of Python's integers take less time than those of digits
# Bits of the three digits of a utility, the first one below the largest entry, and of a mass
PART_BITS = (30, 26, 27)
COUNT_BITS = 18
# Units of the products of a digit of a mass and one of a utility
UNITS = np.array(
    [[1 << (COUNT_BITS * i + below) for below in (53, 27, 0)] for i in range(3)], dtype=object
)
MAX_TERMS = 1 << 14  # products of 48 bits whose sum stays below 2**63
DEEPEST = 900  # bits below the largest entry down to which a shifted float keeps all its bits


@dataclass(frozen=True, eq=False)
class ProgramDigits:
    """Utility and prior of a problem over powers of two, without rounding.

    `of` reads a problem once, at the door of a proof; value, bound and gap take what it returns.
    The entries of a large utility are the exception: they are read when they are used, and not
    kept, because a bound of row sums or of pairs alone needs none of them.
    """

    problem: Problem
    bits: int  # fractional bits with which every utility is exact, at least 320
    prior: tuple[Integers, int] | None  # (n,), and its own fractional bits; None for a worst case

    @classmethod
    def of(cls, problem: Problem) -> ProgramDigits:
        """Read a problem."""
        matrix = problem.utility.matrix
        bits = exact_grid(matrix)  # of all entries: the extremes may need fewer
        return cls(problem, bits, None if problem.prior is None else exactly(problem.prior))

    @cached_property
    def spread(self) -> Integers:
        """Best minus worst utility of each input, (n,), over ``2**bits``; never negative."""
        matrix = self.problem.utility.matrix
        extremes = integers(np.stack([matrix.max(axis=1), matrix.min(axis=1)]), grid=self.bits)
        return np.asarray(extremes[0] - extremes[1])

    @property
    def utility(self) -> Integers:
        """The utility, (n, m), over ``2**bits``."""
        return integers(self.problem.utility.matrix, grid=self.bits)

    def sums(self, counts: NDArray[np.int64]) -> tuple[Integers, int]:
        """Sum of counts times utilities of each input, exactly, and its fractional bits."""
        matrix = self.problem.utility.matrix
        if matrix.size <= FEW:
            bits = exact_grid(matrix, least=0)
            return (counts * integers(matrix, grid=bits)).sum(axis=1), bits
        top = int(np.frexp(np.abs(matrix).max())[1])
        bits = max(self.bits, sum(PART_BITS) - top)
        step = max(1, BLOCK // matrix.shape[1])
        totals = []
        for begin in range(0, len(matrix), step):
            rows = slice(begin, begin + step)
            parts = _parts(matrix[rows], top) if matrix.shape[1] <= MAX_TERMS else None
            if parts is not None:
                total = _sums_of_parts(counts[rows], parts) << (bits - sum(PART_BITS) + top)
            else:
                entries = integers(matrix[rows], grid=bits)
                total = (counts[rows].astype(object) * entries).sum(axis=1)
            totals.append(total)
        return np.concatenate(totals), bits


def _parts(matrix: Float, top: int) -> NDArray[np.int64] | None:
    """Floats below ``2**top`` in three digits with their signs; None if a float has lower bits."""
    if np.frexp(matrix)[1].min() < top - DEEPEST:
        return None
    digits = np.empty((len(PART_BITS), *matrix.shape), np.int64)
    rest = matrix
    for place, bits in enumerate(PART_BITS):
        scaled = np.ldexp(rest, bits if place else bits - top)
        whole = np.trunc(scaled)
        digits[place] = whole
        rest = scaled - whole  # exact: these are bits of the float itself
    return None if rest.any() else digits


def _sums_of_parts(counts: NDArray[np.int64], digits: NDArray[np.int64]) -> Integers:
    """Sum of counts below ``2**54`` times digits of each input, over the last digit's unit."""
    mask = (1 << COUNT_BITS) - 1
    masses = np.stack([counts & mask, (counts >> COUNT_BITS) & mask, counts >> (2 * COUNT_BITS)])
    sums = np.einsum("ixy,jxy->xij", masses, digits).astype(object)
    return np.asarray((sums * UNITS).sum(axis=(1, 2)), dtype=object)
