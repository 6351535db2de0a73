"""The numbers of a problem as integers, read once: what value, bound and gap of a program are
computed from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.certificate.integers import Integers, exact_grid, exactly, integers
from ldpopt.problem.problem import Problem

# Entries from which the utility is read in parts, to hold few Python integers at once
LARGE = 20_000


@dataclass(frozen=True, eq=False)
class ProgramDigits:
    """Utility and prior of a problem over powers of two, without rounding.

    `of` reads a problem once, at the door of a proof; value, bound and gap take what it returns.
    The entries of a large utility are the exception: they are read when they are used, and not
    kept, because a bound of row sums or of pairs alone needs none of them.
    """

    problem: Problem
    bits: int  # fractional bits with which every utility is exact, at least 320
    spread: Integers  # best minus worst utility of each input, (n,), over 2**bits; never negative
    prior: tuple[Integers, int] | None  # (n,), and its own fractional bits; None for a worst case

    @classmethod
    def of(cls, problem: Problem) -> ProgramDigits:
        """Read a problem."""
        matrix = problem.utility.matrix
        bits = exact_grid(matrix)  # of all entries: the extremes may need fewer
        extremes = integers(np.stack([matrix.max(axis=1), matrix.min(axis=1)]), grid=bits)
        prior = None if problem.prior is None else exactly(problem.prior)
        return cls(problem, bits, np.asarray(extremes[0] - extremes[1]), prior)

    @cached_property
    def _kept(self) -> Integers | None:
        """The utility, if it is not large."""
        matrix = self.problem.utility.matrix
        return integers(matrix, grid=self.bits) if matrix.size <= LARGE else None

    @property
    def utility(self) -> Integers:
        """The utility, (n, m), over ``2**bits``."""
        if self._kept is not None:
            return self._kept
        return integers(self.problem.utility.matrix, grid=self.bits)

    def entries(self, rows: slice, used: Any) -> Integers:
        """Some entries of some rows of the utility, over ``2**bits``."""
        if self._kept is not None:
            return np.asarray(self._kept[rows][used], dtype=object)
        return integers(self.problem.utility.matrix[rows][used], grid=self.bits)
