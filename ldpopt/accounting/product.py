"""Products of privacy loss distributions: the excess of all reports together, in integers rounded
one way.

Few atoms are listed (`atoms`); more are put on levels of the loss (`on_levels`).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Protocol

from ldpopt.accounting.atoms import ListedProduct, TooManyAtomsError, listed
from ldpopt.accounting.integers import UNIT, power, scaled
from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.accounting.on_levels import LEVELS, LevelProduct
from ldpopt.foundation.numbers import Float

MAX_PRODUCTS = 200_000  # of two lists of atoms
MAX_BITS = 100_000  # of a probability that is computed exactly
Questions = Sequence[tuple[PrivacyLoss, int]]


class Product(Protocol):
    """The excess of all reports: exact bounds, and floats to search with."""

    is_on_levels: bool  # so that its distance from the excess depends on their number

    @property
    def certain(self) -> Fraction:
        """Mass of reports that are impossible under the other answer."""

    def excess(self, a: Fraction) -> Fraction:
        """Bound on the excess at ``a``, with the certain mass."""

    def above(self, levels: Float) -> tuple[Float, Float]:
        """Masses under both answers of losses above some levels, in floats."""

    def levels(self) -> Float:
        """Levels at which a picture of `above` is drawn, descending."""

    def crossing(self, limit: float, most: float) -> float:
        """An epsilon up to ``most`` at which the excess without its certain part is about the
        limit, without proof.
        """


def product(questions: Questions, *, is_upper: bool, levels: int = LEVELS) -> Product:
    """The product of losses, each with its number of repetitions."""
    questions = [(loss, times) for loss, times in questions if times]
    certain = certain_of(questions, up=is_upper)
    if not all(loss.ratios for loss, _ in questions):
        return ListedProduct([], [], certain, is_upper)  # every report to one of them is certain
    try:
        left, right = listed(questions, MAX_PRODUCTS, up=is_upper)
    except TooManyAtomsError:
        return LevelProduct(tuple(questions), certain, levels, is_upper=is_upper)
    return ListedProduct(left, right, certain, is_upper)


def certain_of(questions: Questions, *, up: bool = True) -> Fraction:
    """Probability that some report is impossible under the other answer: exact, or rounded up or
    down if it has very many digits.
    """
    possible = Fraction(1)  # that no report is
    for loss, times in questions:
        share = 1 - loss.certain
        if not loss.certain:
            continue
        if times * share.denominator.bit_length() > MAX_BITS:
            multiply = partial(_short_product, up=not up)
            possible *= power(share, times, multiply)
        else:
            possible *= share**times
    return 1 - possible


def _short_product(left: Fraction, right: Fraction, *, up: bool) -> Fraction:
    """Product of two probabilities over `UNIT`, rounded up or down."""
    return Fraction(scaled(left * right, up=up), UNIT)
