r"""Privacy loss distributions: a few atoms, masses at likelihood ratios, that bound the excess of
every pair of answers.

.. math:: h(a) = \max_{x, x'} \sum_y \max(P_{xy} - a P_{x'y},
          0) \le c + \sum_i p_i \max(1 - a / r_i, 0), \quad a \ge 0

The left side is convex and linear between likelihood ratios and the crossings of two pairs, so a
right side that interpolates it at some of them, the largest included, is an upper bound. If one
pair of answers attains the maximum everywhere, or all of them are taken, the two are equal.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TypeVar

import numpy as np

from ldpopt.accounting.renyi import log_ratio, renyi_divergence

T = TypeVar("T")


def summed(pairs: Iterable[tuple[T, Fraction]]) -> dict[T, Fraction]:
    """The sum of the numbers of each key, in the order of the keys."""
    sums: dict[T, Fraction] = {}
    for key, number in pairs:
        before = sums.get(key, Fraction(0))
        sums[key] = before + number
    return sums


@dataclass(frozen=True)
class PrivacyLoss:
    """A privacy loss distribution whose excess bounds that of all pairs of answers, or that of one
    pair from below.

    An atom ``(r, p)`` stands for reports of probability ``p`` under one answer and ``p / r`` under
    the other; its excess at ``a`` is ``max(p - a p / r, 0)``. The loss of a report is ``log r``.
    Losses of independent reports are multiplied: ratios and masses of every combination of atoms.
    """

    ratios: tuple[Fraction, ...]  # positive, ascending
    masses: tuple[Fraction, ...]  # of each ratio
    certain: Fraction  # mass of reports that are impossible under the other answer
    is_attained: bool = True  # by one pair of answers at every ratio, up to the rounding of masses

    @classmethod
    def of(
        cls,
        atoms: Iterable[tuple[Fraction, Fraction]],
        certain: Fraction = Fraction(0),
        *,
        is_attained: bool = True,
    ) -> "PrivacyLoss":
        """The loss of some ratios and masses in any order; those of equal ratios are added."""
        masses = summed(sorted(atoms))
        return cls(tuple(masses), tuple(masses.values()), certain, is_attained)

    @classmethod
    def mean(cls, shares: Sequence[tuple[Fraction, "PrivacyLoss"]]) -> "PrivacyLoss":
        """The loss whose excess is the mean of those of some losses, with weights of the sum 1."""
        atoms = []
        certain = Fraction(0)
        for share, loss in shares:
            certain += share * loss.certain
            for ratio, mass in zip(loss.ratios, loss.masses, strict=True):
                atoms.append((ratio, share * mass))
        is_attained = all(loss.is_attained for _, loss in shares)
        return cls.of(atoms, certain, is_attained=is_attained)

    def excess(self, a: Fraction) -> Fraction:
        """The right side of the bound on ``h(a)`` in the module's docstring."""
        atoms = zip(self.ratios, self.masses, strict=True)
        parts = (p * (1 - a / r) for r, p in atoms if r > a)
        return self.certain + sum(parts, Fraction(0))

    def renyi(self, order: float) -> float:
        """Renyi divergence of an order of at least 1, in nats and in floats: an upper bound for an
        upper loss.
        """
        if self.certain:
            return inf
        masses = np.array([float(p) for p in self.masses])
        logs = np.array([log_ratio(r) for r in self.ratios])
        # of an upper loss, either sum may be other than 1
        return max(0.0, float(renyi_divergence(masses, logs, order)))


# of reports that do not depend on the answer
NOTHING = PrivacyLoss((Fraction(1),), (Fraction(1),), Fraction(0))


def interpolated(
    points: Sequence[Fraction], values: Sequence[Fraction], *, is_attained: bool
) -> PrivacyLoss:
    """The loss whose excess is the lower hull of values at points, 0 the first; the last value
    holds from there on.

    Theorem of the module: an excess is convex in ``a``, and linear between likelihood ratios. An
    atom ``(r, p)`` is a bend of the excess at ``r`` by ``p / r``.
    """
    corners: list[tuple[Fraction, Fraction]] = []
    slopes: list[Fraction] = []  # between corners
    for a, value in zip(points, values, strict=True):
        # a corner on or above the line from the one before it to the new one is not on the hull
        while slopes and value - corners[-1][1] <= slopes[-1] * (a - corners[-1][0]):
            del corners[-1]
            del slopes[-1]
        if corners:
            before, height = corners[-1]
            slopes.append((value - height) / (a - before))
        corners.append((a, value))
    atoms = []
    # the last bend is to a level line
    after = [*slopes[1:], Fraction(0)]
    for (a, _), left, right in zip(corners[1:], slopes, after, strict=False):
        atoms.append((a, a * (right - left)))
    return PrivacyLoss.of(atoms, values[-1], is_attained=is_attained)
