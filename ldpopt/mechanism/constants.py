r"""Exact repair by constants, for notions that are lists of comparisons of averages.

Both averages of a constant column are equal. Adding the constant ``s`` to a column ``c`` therefore
turns :math:`v \cdot c \le a\, u \cdot c` into :math:`v \cdot c + s \le a (u \cdot c + s)`, which
holds from

.. math:: s = \max_r \frac{(v_r \cdot c - a_r\, u_r \cdot c)^+}{a_r - 1}

on. Constants add the same mass to every row, so that the rows of the result have equal sums: one
pass over the columns is enough, and nothing is iterated. All numbers are Python integers; the ratio
``a`` is the lower end of its enclosure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.mechanism import sampling
from ldpopt.privacy import Comparisons

TOTAL = 1 << sampling.BITS
UNIT = TOTAL << 64  # denominator of the channel that is repaired


class _Needs:
    """The least constant that each column needs."""

    def __init__(self, comparisons: Comparisons) -> None:
        self.rows = []
        for (over, under, scale), (low, _) in zip(
            comparisons.whole, comparisons.enclosures, strict=True
        ):
            self.rows.append((over, under, low, scale))

    def least(self, column: Sequence[int]) -> Fraction:
        """The least constant that makes every comparison of a column of integers hold."""
        most = Fraction(0)
        for over, under, ratio, scale in self.rows:
            above = sum(weight * column[x] for x, weight in over.items())
            below = sum(weight * column[x] for x, weight in under.items())
            excess = above * ratio.denominator - ratio.numerator * below
            if excess > 0:
                most = max(most, Fraction(excess, scale * (ratio.numerator - ratio.denominator)))
        return most


def repaired_by_constants(values: Float, comparisons: Comparisons) -> Float:
    r"""Integer masses over ``2**53`` of a private channel near a row-stochastic one, shape (n, m).

    Owned reports keep their masses, rounded down. With ``S`` the sum of the constants that the
    exact columns need, ``K = max a / (a - 1)`` and ``m`` compared columns, masses at the scale
    ``(2**53 - m (2 K + 1)) / (1 + S)`` leave room for everything that rounding adds: flooring
    raises a need by at most ``K``. What is then missing in a row differs between rows by less than
    the number of columns; it goes to the compared column with the largest minimum.
    """
    m = values.shape[1]
    tied = np.flatnonzero(comparisons.tied_outputs(m)).tolist()
    owners = [] if comparisons.owner is None else comparisons.owner.tolist()
    if not tied:
        return _of_units(values, owners)
    lows = [low for low, _ in comparisons.enclosures]
    if min(lows, default=Fraction(2)) <= 1:
        return _constant(values, tied)
    needs = _Needs(comparisons)
    columns = _whole_columns(values)
    total = sum((needs.least(columns[y]) for y in tied), Fraction(0)) / UNIT
    most = max((low / (low - 1) for low in lows), default=Fraction(1))
    reserve = math.ceil(len(tied) * (most + 1)) + math.ceil(len(tied) * most) + len(owners)
    scale = math.floor((TOTAL - reserve) / (1 + total))
    if scale <= 0:
        return _constant(values, tied)
    masses = [[entry * scale // UNIT for entry in column] for column in columns]
    for y in tied:
        constant = math.ceil(needs.least(masses[y]))
        masses[y] = [mass + constant for mass in masses[y]]
    heaviest = max(tied, key=lambda y: min(masses[y]))
    missing = [TOTAL - sum(row) for row in zip(*masses, strict=True)]
    masses[heaviest] = [mass + rest for mass, rest in zip(masses[heaviest], missing, strict=True)]
    return np.array(masses, dtype=float).T


def _whole_columns(values: Float) -> list[list[int]]:
    """Columns of integers over `UNIT` whose rows sum to exactly it, within ``2**-64`` of the
    floats.
    """
    rows = []
    for row in values.tolist():
        entries = [int(Fraction(entry) * UNIT) for entry in row]
        largest = entries.index(max(entries))
        entries[largest] += UNIT - sum(entries)
        rows.append(entries)
    return [list(column) for column in zip(*rows, strict=True)]


def _constant(values: Float, tied: list[int]) -> Float:
    """Equal rows over the compared columns: the only channel that no budget excludes."""
    mean = np.zeros(values.shape[1])
    mean[tied] = values[:, tied].mean(axis=0) if values[:, tied].any() else 1.0
    rounded = sampling.round_rows(mean[None] / mean.sum()).astype(float)
    return np.repeat(rounded, len(values), axis=0)


def _of_units(values: Float, owners: list[int]) -> Float:
    """Masses if every report has an owner: what is missing goes to a report of the answer."""
    masses = np.floor(values * TOTAL)
    for x in range(len(masses)):
        report = owners.index(x)
        masses[x, report] += TOTAL - masses[x].sum()
    return masses
