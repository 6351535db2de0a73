"""Sentences that claim something, each with the condition under which it is true.

A page has no claims of its own: it names a topic, and of its sentences the first one is printed
whose condition holds for the facts. The topics of a room are in a tuple ``TOPICS``; a test prints
them for many mechanisms, and computes by other means whether each printed sentence is true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

LARGEST_WRITTEN = 10**15  # larger numbers are written as a power of ten
NEARLY_CERTAIN = Fraction(995, 1000)  # a larger probability is said to be nearly certain


@dataclass(frozen=True)
class Sentence:
    """A claim in words, with places such as ``{facts.people}``, and whether it is true of facts."""

    name: str
    holds: Callable[[Any], bool]
    text: str

    def about(self, facts: Any) -> str:
        """The sentence with the numbers of the facts."""
        return self.text.format(facts=facts)


@dataclass(frozen=True)
class Topic:
    """What a page says at one place: sentences from the strongest claim to the weakest."""

    name: str
    sentences: tuple[Sentence, ...]

    def chosen(self, facts: Any) -> Sentence | None:
        """The first sentence that is true of the facts; None if nothing can be said."""
        return next((sentence for sentence in self.sentences if sentence.holds(facts)), None)

    def say(self, facts: Any) -> str:
        """The chosen sentence with its numbers; empty if there is none."""
        sentence = self.chosen(facts)
        return "" if sentence is None else sentence.about(facts)


def at_most_text(number: Fraction, thousands: str = ",", decimal: str = ".") -> str:
    """A number of three digits that is not below another, at least 1, for "at most"."""
    if number > LARGEST_WRITTEN:
        return f"10^{len(str(ceil(number) - 1))}"
    digits = len(str(floor(number)))
    places = max(0, 3 - digits)
    unit = Fraction(10) ** (digits - 3)
    integer, remainder = divmod(ceil(number / unit) * unit, 1)
    fraction = str(int(remainder * 10**places)).zfill(places).rstrip("0") if places else ""
    text = f"{int(integer):,}".replace(",", thousands)
    return f"{text}{decimal}{fraction}" if fraction else text


def guess_after(share: Fraction, odds: Fraction) -> Fraction:
    r"""Largest probability that a guess is right after reports, :math:`ap / (1 - p + ap)`: it was
    right with the probability ``p``, and each answer gives them at most ``a`` times as often as
    another.
    """
    return odds * share / (1 - share + odds * share)


def hundredths_text(chance: Fraction, decimal: str = ".") -> str | None:
    """A probability in hundredths with a digit that is rounded up; None if it is so nearly 1 that
    words have to say it.
    """
    if chance > NEARLY_CERTAIN:
        return None
    hundredths, tenths = divmod(ceil(1000 * chance), 10)
    return f"{hundredths}{decimal}{tenths}" if tenths else str(hundredths)


def below_text(number: Fraction | float, digits: int) -> str:
    """A number with some digits that is not above another, for "at least"."""
    return _with_digits(number, Context(digits, ROUND_FLOOR))


def above_text(number: Fraction | float, digits: int) -> str:
    """A number with some digits that is not below another, for "at most"."""
    return _with_digits(number, Context(digits, ROUND_CEILING))


def _with_digits(number: Fraction | float, context: Context) -> str:
    """The exact quotient, rounded once, in the notation of floats."""
    exact = Fraction(number)
    rounded = context.divide(*map(Decimal, exact.as_integer_ratio()))
    return f"{rounded.normalize(context):g}"
