"""One clock for a whole call: the moment by which it has to end, handed down to whatever may take long."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

LEAST = 1e-3
"""Seconds that are left, at least: a solver takes no limit of zero."""


class OutOfTimeError(Exception):
    """The deadline is over. `solve` catches it and answers with ``Status.LIMIT``; it never reaches a user."""


@dataclass(frozen=True)
class Deadline:
    """A moment by which work has to end.

    Attributes
    ----------
    moment : float
        By `time.perf_counter`; infinite without a limit.

    Examples
    --------
    >>> Deadline.after(None).left is None, Deadline.after(60.0).is_over
    (True, False)
    """

    moment: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Count from now; None means no limit."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float | None:
        """Seconds left, at least a thousandth; None without a limit."""
        return None if self.moment == math.inf else max(self.moment - time.perf_counter(), LEAST)

    @property
    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return time.perf_counter() >= self.moment

    def check(self, doing: str) -> None:
        """Stop work that has no answer of its own to give.

        Parameters
        ----------
        doing : str
            What was going on, for the user: ``"dropping implied pairs of the metric"``.

        Raises
        ------
        OutOfTimeError
            If the deadline is over.
        """
        if self.is_over:
            raise OutOfTimeError(doing)


NO_LIMIT = Deadline()
"""For calls without a time limit."""
