r"""What people reveal who give all their answers before any report is published: the largest excess
of all ways to take pairs of answers beforehand.

.. math:: \delta = \max_{n_1 + \dots + n_k = T} \sum_y \Bigl(\prod_t P_{x_t y_t}
          - a \prod_t P_{x'_t y_t}\Bigr)^+

The order of equal channels does not matter, only how often each pair is taken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from itertools import product as every
from math import comb, prod

import numpy as np

from ldpopt.accounting.choices import composites, parts_of
from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.accounting.privacy_loss import Source
from ldpopt.accounting.product import Product, product
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float

MAX_COMBINATIONS = 10_000
MAX_SHOWN = 2000  # levels of a picture
Losses = list[tuple[PrivacyLoss, int]]  # with repetitions


@dataclass(frozen=True, eq=False)
class LargestProduct:
    """The largest of several products at every place: an excess is that of one of them."""

    products: Sequence[Product]

    @property
    def is_on_levels(self) -> bool:
        """Whether one of them depends on a number of levels."""
        return any(each.is_on_levels for each in self.products)

    @property
    def certain(self) -> Fraction:
        """The largest mass of reports that are impossible under another answer."""
        return max(each.certain for each in self.products)

    def excess(self, a: Fraction) -> Fraction:
        """The largest excess at ``a``."""
        return max(each.excess(a) for each in self.products)

    def above(self, levels: Float) -> tuple[Float, Float]:
        """Masses under both answers of losses above some levels, of the product with the largest
        excess at each, in floats.
        """
        sides = [each.above(levels) for each in self.products]
        masses, others = (np.stack(side) for side in zip(*sides, strict=True))
        certain = np.array([float(each.certain) for each in self.products])[:, None]
        # the certain mass of the largest product is counted by whoever asks
        masses = masses + certain - float(self.certain)
        with np.errstate(over="ignore", invalid="ignore"):
            excesses = masses - np.nan_to_num(np.exp(levels) * others)
        best = excesses.argmax(axis=0)
        places = np.arange(len(levels))
        return masses[best, places], others[best, places]

    def levels(self) -> Float:
        """Levels at which a picture of `above` is drawn, descending."""
        levels = np.unique(np.concatenate([each.levels() for each in self.products]))
        return levels[:: -(-len(levels) // MAX_SHOWN)][::-1]

    def crossing(self, limit: float, most: float) -> float:
        """An epsilon up to ``most`` at which the excess is about the limit, without proof."""
        certain = self.certain
        return max(
            each.crossing(limit + float(certain - each.certain), most) for each in self.products
        )


def combinations_of(sources: Sequence[tuple[Source, int]], side: int) -> Iterator[Losses]:
    """Upper (side 0) or lower losses of every way to take pairs of answers beforehand."""
    each = []
    for losses, times in _choices(sources):
        taken = []
        for counts in _counts(len(losses), times):
            used = [(loss[side], n) for loss, n in zip(losses, counts, strict=True) if n]
            taken.append(used)
        each.append(taken)
    for some in every(*each):
        yield list(chain.from_iterable(some))


def largest_product(
    sources: Sequence[tuple[Source, int]], *, is_upper: bool, levels: int
) -> LargestProduct:
    """The largest product of all ways to take pairs of answers beforehand."""
    side = 0 if is_upper else 1
    return LargestProduct(
        [
            product(losses, is_upper=is_upper, levels=levels)
            for losses in combinations_of(sources, side)
        ]
    )


def require_few(sources: Sequence[tuple[Source, int]]) -> None:
    """Refuse reports for which there are too many ways to take pairs."""
    choices = _choices(sources)
    count = prod(comb(times + len(losses) - 1, times) for losses, times in choices)
    if count > MAX_COMBINATIONS:
        problem = (
            f"there are {count:,} ways to take pairs of answers beforehand, more than "
            f"{MAX_COMBINATIONS:,}"
        )
        do = 'give answers="adaptive", which bounds them too, or name fewer pairs'
        raise StatementError(problem, code="combinations", do=do)


def _choices(
    sources: Sequence[tuple[Source, int]],
) -> list[tuple[Sequence[tuple[PrivacyLoss, PrivacyLoss]], int]]:
    """The pairs of losses that may be taken at each question, with its repetitions."""
    times_of: dict[Source, int] = {}
    for source, times in sources:
        times_of[source] = times_of.get(source, 0) + times
    kinds: list[tuple[Sequence[tuple[PrivacyLoss, PrivacyLoss]], int]] = []
    for source, times in times_of.items():
        parts = parts_of(source)
        kinds.append(([source.losses] if parts is None else composites(parts), times))
    return kinds


def _counts(kinds: int, times: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of so many numbers."""
    if kinds == 1:
        yield (times,)
        return
    for first in range(times + 1):
        for others in _counts(kinds - 1, times - first):
            yield (first, *others)
