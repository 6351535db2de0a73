"""What a person may choose at a question: pairs of answers, of which none is worse than another
everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.accounting.pairs import RowPairs
from ldpopt.accounting.privacy_loss import OneOf, Source

MAX_PAIRS = 2000  # of different laws that are compared with each other
MAX_POINTS = 300  # at which they are compared in floats
CLOSE = 2.0**-36  # curves that differ by less are those of one pair


@dataclass(frozen=True)
class PairChoice:
    """A pair of answers: a loss that bounds it and all pairs that reveal less, and its own loss."""

    upper: PrivacyLoss
    lower: PrivacyLoss


Shares = list[tuple[Fraction, PrivacyLoss]]
# Of a question one part is drawn, with its weight, and is known; a person chooses in each part.
Parts = tuple[tuple[Fraction, tuple[PairChoice, ...]], ...]


@lru_cache(maxsize=256)
def parts_of(source: Source) -> Parts | None:
    """The choices of a source; None if one pair attains its curve, or it has no listed pairs."""
    if isinstance(source, OneOf):
        return _of_mixture(source)
    pairs = source.distinct
    if source.losses[0].is_attained or pairs is None or len(pairs.first) > MAX_PAIRS:
        return None
    if pairs.is_attained:
        return None
    choices = _choices_of(pairs)
    return ((Fraction(1), choices),) if len(choices) > 1 else None


def _of_mixture(source: OneOf) -> Parts | None:
    """The choices of one of several sources, each with its probability; None if no source has any,
    or the mixture is only bounded from above.
    """
    if not source.is_attained:
        return None
    parts: list[tuple[Fraction, tuple[PairChoice, ...]]] = []
    share = Fraction(1, len(source.sources))
    is_any = False
    for each in source.sources:
        known = parts_of(each)
        is_any = is_any or known is not None
        # a source without choices is one pair
        for weight, choices in known or ((Fraction(1), (PairChoice(*each.losses),)),):
            parts.append((share * weight, choices))
    return tuple(parts) if is_any else None


def _choices_of(pairs: RowPairs) -> tuple[PairChoice, ...]:
    """The pairs that are left after those that reveal less."""
    points = pairs.ratios(MAX_POINTS)
    ends = np.array([float(point) for point in points])
    curves = pairs.excesses(ends)
    choices = []
    for best, members in _groups(curves):
        group = pairs.taken(members)
        alone = pairs.taken([best])
        # whatever the floats said, the loss bounds all members at these points, and so everywhere
        at = sorted({*alone.ratios(len(alone.first[0]) + 1), group.largest_ratio, Fraction(1)})
        upper = group.upper(at) if len(members) > 1 else alone.loss(0)
        choices.append(PairChoice(upper, alone.loss(0)))
    return tuple(choices)


def _groups(curves: np.ndarray) -> list[tuple[int, list[int]]]:
    """Rows that no other one exceeds everywhere, each with those that it exceeds, up to rounding.

    Blackwell: a pair whose curve is below another's everywhere is never the better choice.
    """
    kept: list[tuple[int, list[int]]] = []
    for k in np.argsort(-curves.sum(axis=1), kind="stable").tolist():
        for best, members in kept:
            if (curves[k] <= curves[best] + CLOSE).all():
                members.append(k)
                break
        else:
            kept.append((k, [k]))
    return kept


def terms_of(parts: Parts) -> int:
    """Number of reports of all pairs of a question."""
    return sum(len(choice.upper.ratios) for _, choices in parts for choice in choices)


def composites(parts: Parts) -> Sequence[tuple[PrivacyLoss, PrivacyLoss]]:
    """Losses of all ways to choose in every part beforehand."""
    losses: list[tuple[Shares, Shares]] = [([], [])]
    for weight, choices in parts:
        losses = [
            ([*upper, (weight, choice.upper)], [*lower, (weight, choice.lower)])
            for upper, lower in losses
            for choice in choices
        ]
    return [(PrivacyLoss.mean(upper), PrivacyLoss.mean(lower)) for upper, lower in losses]
