r"""Smoothing: rays are priced between the master's multipliers and the center, the best multipliers so far.

.. math:: (1 - a)\, y + a\, \hat y

The share :math:`a` falls as long as the bound rises towards the master's multipliers, and grows otherwise (Wentges
1997; the choice by a supergradient is that of Pessoa et al. 2018). Theory: docs, "Rays".
"""

from dataclasses import dataclass

from ldpopt.foundation.numbers import Float

# Share of the center at first, at first with wide kernels, and at most
INITIAL_SHARE, INITIAL_SHARE_WIDE, MAX_SHARE = 0.5, 0.8, 0.95
# How much the share falls if the bound rises towards the master's multipliers, and grows otherwise
DECREASE, INCREASE = 0.1, 0.3
STEP_GROWTH = 1.5  # factor of the step from the center with views, if the bound rises towards the master's multipliers
SMALL_GAP = 1e-2  # gap below which the share falls even if kernels are not wide
MIN_SHARE = 0.04  # share below which it becomes 0 if no output has a new ray


@dataclass
class Smoothing:
    """The share of the center, from 0 to 1; it is 1 as long as only the initial multipliers are priced."""

    is_wide: bool  # whether kernel columns are wide, so that the best rays are far from them
    has_views: bool

    def __post_init__(self) -> None:
        self.share = INITIAL_SHARE_WIDE if self.is_wide else INITIAL_SHARE  # without good initial multipliers

    def between(self, sums: Float, center: Float) -> Float:
        """The multipliers to price, from the master's and the center."""
        return (1 - self.share) * sums + self.share * center

    def leave_center(self) -> None:
        """Price other multipliers than the initial ones from now on."""
        self.share = MAX_SHARE if self.is_wide else INITIAL_SHARE_WIDE

    def halve(self) -> None:
        """Move towards the master's multipliers, as no output has a new ray."""
        self.share = self.share / 2 if self.share > MIN_SHARE else 0.0

    def adapt(self, gap: float, *, rises: bool) -> None:
        """Choose the next share, at this gap, if the bound rises or falls towards the master's multipliers."""
        if not rises:
            self.share = min(MAX_SHARE, self.share + INCREASE * (1 - self.share))
        elif self.has_views:  # multipliers far from the center need many pivots, and prove nothing
            self.share = max(0.0, 1 - STEP_GROWTH * (1 - self.share))
        elif self.is_wide or gap <= SMALL_GAP:  # from a poor bound, a long step costs more pivots than it gains
            self.share = max(0.0, self.share - DECREASE)
