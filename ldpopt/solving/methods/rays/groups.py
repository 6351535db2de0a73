r"""Groups: neighboring inputs whose row sums are 1 on average only, a relaxation with fewer rows for the master.

With weights that sum to 1 in each group,

.. math:: \sum_{x \in g} W_{gx} \sum_y P(x, y) = 1 .

A multiplier of a group's row, shared by these weights, is a vector of multipliers of all inputs: it prices outputs, and
proves a bound, as any other. Columns change little from an input to the next, so that little of the bound is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int


@dataclass(frozen=True, eq=False)
class Groups:
    """Inputs in groups.

    Attributes
    ----------
    number : int array, shape (n,)
        The group of every input; none is empty.
    weight : float array, shape (n,)
        How much every input counts in its group; sums to 1 there.
    """

    number: Int
    weight: Float

    @classmethod
    def of(cls, number: Int, share: Float) -> Groups:
        """Groups whose inputs count in proportion to some positive numbers."""
        return cls(number, share / np.bincount(number, share)[number])

    def averages(self, rays: Float) -> Float:
        """Average entries of each group, shape (groups, k), of rays that are columns."""
        n = len(self.number)
        return np.asarray(csr_array((self.weight, (self.number, np.arange(n)))) @ rays)

    def shared(self, sums: Float) -> Float:
        """Multipliers of all inputs, shape (n,), from those of groups."""
        return np.asarray(self.weight * sums[self.number])

    def summed(self, sums: Float) -> Float:
        """Multipliers of groups from those of all inputs: the reverse of `shared`."""
        return np.asarray(np.bincount(self.number, sums), float)

    def summed_rows(self, rows: Float) -> Float:
        """Sums over each group of several vectors, which are rows."""
        n = len(self.number)
        return np.asarray((csr_array((np.ones(n), (self.number, np.arange(n)))) @ rows.T).T)
