r"""Smoothing: prices are computed between the master's multipliers and the best ones so far, the center.

.. math:: (1 - a)\, y + a\, \hat y

The share :math:`a` falls while the bound rises towards the master's multipliers, and grows otherwise (Wentges 1997; the
choice by a supergradient is that of Pessoa et al. 2018). Theory: docs, "Rays".
"""

from __future__ import annotations

from dataclasses import dataclass

from ldpopt.foundation.numbers import Float

START, WIDE_START, MOST = 0.5, 0.8, 0.95
"""Share of the center at the start, so with wide kernels, and at most."""

LESS, MORE = 0.1, 0.3
"""How much the share falls when the bound rises in the master's direction, and how much it grows otherwise."""

LONGER = 1.5
"""How many times as far the next step goes with views, when the bound rises in the master's direction."""

CLOSE = 1e-2
"""Gap below which the share falls also where kernels are not wide."""

LEAST = 0.04
"""Share below which nothing is smoothed when no output has a new ray."""


@dataclass
class Smoothing:
    """The share of the center, from 0 to 1.

    Attributes
    ----------
    is_wide : bool
        Whether kernel columns are wide, so that the best rays are far from them.
    has_views : bool
        Whether outputs are priced by views.
    share : float
        The share; 1 as long as only the multipliers to begin with are priced.
    """

    is_wide: bool
    has_views: bool
    share: float

    @classmethod
    def start(cls, *, is_wide: bool, has_views: bool) -> Smoothing:
        """Begin where nothing is known of good multipliers."""
        return cls(is_wide, has_views, WIDE_START if is_wide else START)

    def between(self, sums: Float, center: Float) -> Float:
        """Multipliers to price, from the master's and the center."""
        return (1 - self.share) * sums + self.share * center

    def leave_center(self) -> None:
        """Price others than the multipliers to begin with from now on."""
        self.share = MOST if self.is_wide else WIDE_START

    def halve(self) -> None:
        """Go nearer to the master's multipliers, as no output has a new ray."""
        self.share = self.share / 2 if self.share > LEAST else 0.0

    def adapt(self, gap: float, *, rises: bool) -> None:
        """Choose the next share: at this gap, and as the bound rises or falls towards the master's multipliers."""
        if not rises:
            self.share = min(MOST, self.share + MORE * (1 - self.share))
        elif self.has_views:  # far multipliers need many pivots, and prove nothing
            self.share = max(0.0, 1 - LONGER * (1 - self.share))
        elif self.is_wide or gap <= CLOSE:  # a long step from a poor bound costs more pivots than it gains
            self.share = max(0.0, self.share - LESS)
