"""How estimates are read: the options that every way of estimating has."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """Confidence of the intervals, whether those of all numbers hold at once, whether the fit of
    the reports is checked, and for how many liars intervals are widened.

    Public verbs take them as keywords and make one record, which the functions below them
    pass on.
    """

    confidence: float = 0.95  # coverage of each interval, or of all of them at once
    simultaneous: bool = False  # Bonferroni
    check_fit: bool = True  # warn about reports that hardly come from their mechanism, or refuse
    liars: float = 0.0  # share of people who send what they like, for which intervals are widened
