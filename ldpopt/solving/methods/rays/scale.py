"""How costs were normalized, and what a gap is relative to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """How costs were normalized, and what a gap is relative to.

    Attributes
    ----------
    offset, unit : float
        A true cost is ``offset + unit * cost``; a unit of 0 where all reports are worth the same.
    floor : float
        Least true cost that gaps are relative to.
    """

    offset: float
    unit: float
    floor: float

    def share(self, distance: float, bound: float) -> float:
        """Relative gap."""
        return self.unit * max(distance, 0.0) / max(abs(self.offset + self.unit * bound), self.floor, 1e-300)

    @property
    def least(self) -> float:
        """Least normalized cost that gaps are relative to; about, as the bound is not known."""
        return max(self.floor, abs(self.offset)) / self.unit if self.unit else 1.0
