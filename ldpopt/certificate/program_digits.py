"""The numbers of a problem as integers, read once: what value, bound and gap of a program are
computed from.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    kept: Integers | None  # the utility, (n, m), over 2**bits; None if it is large
    spread: Integers  # best minus worst utility of each input, (n,), over 2**bits; never negative
    prior: tuple[Integers, int] | None  # (n,), and its own fractional bits; None for a worst case

    @classmethod
    def of(cls, problem: Problem) -> ProgramDigits:
        """Read a problem."""
        matrix = problem.utility.matrix
        prior = None if problem.prior is None else exactly(problem.prior)
        if matrix.size <= LARGE:
            utility, bits = exactly(matrix)
            return cls(problem, bits, utility, utility.max(axis=1) - utility.min(axis=1), prior)
        bits = exact_grid(matrix)  # of all entries: the extremes may need fewer
        extremes = integers(np.stack([matrix.max(axis=1), matrix.min(axis=1)]), grid=bits)
        return cls(problem, bits, None, np.asarray(extremes[0] - extremes[1]), prior)

    @property
    def utility(self) -> Integers:
        """The utility, (n, m), over ``2**bits``."""
        if self.kept is not None:
            return self.kept
        return integers(self.problem.utility.matrix, grid=self.bits)

    def entries(self, rows: slice, used: Any) -> Integers:
        """Some entries of some rows of the utility, over ``2**bits``."""
        if self.kept is not None:
            return np.asarray(self.kept[rows][used], dtype=object)
        return integers(self.problem.utility.matrix[rows][used], grid=self.bits)
