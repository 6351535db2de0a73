"""A random set of answers, of one of a few sizes: its masses, privacy and digest."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpopt.certificate.frequency_certificate import TOTAL, SubsetRandomizer
from ldpopt.foundation.documents import Entry
from ldpopt.mechanism.channels import digest


@dataclass(frozen=True)
class SizesRandomizer:
    """First the size is drawn, by masses over ``2**53`` that do not depend on the answer, then a
    set of this size.

    Whoever sees a set sees its size, which says nothing about the answer. So the odds of a set are
    those among the sets of its size.
    """

    sets: tuple[SubsetRandomizer, ...]  # one for each size, ascending
    masses: tuple[int, ...]  # of the sizes, positive, of the sum 2**53

    @property
    def n(self) -> int:
        """Number of answers."""
        return self.sets[0].n

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes, ascending."""
        return tuple(each.size for each in self.sets)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The probability of each size."""
        return tuple(Fraction(mass, TOTAL) for mass in self.masses)

    @property
    def odds(self) -> Fraction:
        """Largest ratio of the probabilities of a set under two answers."""
        return max(each.odds for each in self.sets)

    def delta(self, ratio: Fraction) -> Fraction:
        """Hockey-stick divergence of two answers."""
        pairs = zip(self.shares, self.sets, strict=True)
        return sum(
            (share * max(each.delta(ratio), Fraction(0)) for share, each in pairs), Fraction()
        )

    def witness(self, inputs: Sequence[Hashable]) -> tuple[Any, Any, Any]:
        """Two answers and a set with these odds."""
        return max(self.sets, key=lambda each: each.odds).witness(inputs)

    def digest(self, inputs: Sequence[Hashable]) -> str:
        """Digest that counts of its reports have too."""
        numbers = [
            number
            for mass, each in zip(self.masses, self.sets, strict=True)
            for number in (each.size, mass, each.mass)
        ]
        return digest("SetsOfSizes", (inputs,), numbers)

    @classmethod
    def read(cls, entries: Sequence[dict[str, Entry]], n: int) -> SizesRandomizer:
        """Read sizes and masses of a file, each in a table of its own."""
        sets = []
        masses = []
        last = 0
        for table in entries:
            size = table["size"].whole(n)
            drawn = SubsetRandomizer(n, size, table["held"].whole(TOTAL))
            mass = table["mass"].whole(TOTAL + 1)
            if size <= last or not mass:
                raise table["size"].error("sizes ascend from 1, each with a positive mass")
            if not drawn.p > drawn.q:
                flaw = f"do not depend on the answer: p = {float(drawn.p):.6g} <= q"
                raise table["size"].error(f"sets of {size} answers {flaw}")
            last = size
            sets.append(drawn)
            masses.append(mass)
        return cls(tuple(sets), tuple(masses))
