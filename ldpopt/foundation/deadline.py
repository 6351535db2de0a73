"""The deadline of a whole call, which is passed to everything that may take long."""

import math
import time
from dataclasses import dataclass

# smallest number of seconds that `Deadline.left` returns: solvers refuse a limit of zero
MIN_SECONDS_LEFT = 1e-3


class OutOfTimeError(Exception):
    """The deadline is over. `solve` catches this error and returns ``Status.LIMIT``; users never
    see it.
    """


@dataclass(frozen=True)
class Deadline:
    """A moment by which work has to end."""

    moment: float = math.inf  # in the seconds of `time.perf_counter`; infinite without a limit

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """Count from now; None means no limit."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float | None:
        """Seconds left, at least a thousandth; None without a limit."""
        return (
            None
            if self.moment == math.inf
            else max(self.moment - time.perf_counter(), MIN_SECONDS_LEFT)
        )

    def share(self, part: float) -> "Deadline":
        """Deadline after a part of the seconds that are left."""
        return self if self.left is None else Deadline.after(part * self.left)

    def before(self, seconds: float) -> "Deadline":
        """Deadline that is earlier by some seconds, for work that cannot be interrupted."""
        return Deadline(self.moment - seconds)

    @property
    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return time.perf_counter() >= self.moment

    def check(self, doing: str) -> None:
        """Raise an error if the deadline is over."""
        if self.is_over:
            raise OutOfTimeError(doing)


NO_LIMIT = Deadline()  # for calls without a time limit
