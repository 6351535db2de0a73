"""What the rounds end with."""

from __future__ import annotations

from dataclasses import dataclass

from ldpopt.foundation.numbers import Float
from ldpopt.solving.methods.rays.trees import TreeMultipliers


@dataclass(frozen=True, eq=False)
class RaysResult:
    """The best channel found, and what proves its gap.

    Attributes
    ----------
    channel : float array, shape (n, m)
        Not yet repaired.
    sums : float array, shape (n,)
        Multipliers of the row sums.
    pairs : TreeMultipliers
        Multipliers of the ties, for costs to be minimized.
    gap : float
        Relative gap of value and bound, in floats.
    rounds : int
        Rounds done.
    ended : str
        Why it ended: ``"gap"``, ``"stalled"``, ``"slow"`` or ``"time"``.
    """

    channel: Float
    sums: Float
    pairs: TreeMultipliers
    gap: float
    rounds: int
    ended: str
