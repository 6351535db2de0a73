"""Tasks that worker processes import."""

from __future__ import annotations

import os
import signal
import time


def square(x: int) -> int:
    return x * x


def slow_square(x: int) -> int:
    """Gives the test time to do something meanwhile."""
    time.sleep(0.005)
    return x * x


def deadly(x: int) -> int:
    """Kills its worker at 30, and once at 31."""
    if x == 30 or (x == 31 and not os.path.exists("died")):
        if x == 31:
            open("died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return x


def counted_death(x: int) -> int:
    """As `deadly`, with a line in a file for each try of 30."""
    if x == 30:
        with open("deaths", "a") as stream:
            stream.write("dead\n")
    return deadly(x)


def picky(x: int) -> int:
    time.sleep(0.002)
    if x == 20:
        raise ValueError("x is 20")
    return x


def late(x: int) -> int:
    """Takes longer than a scheduler is left alone."""
    time.sleep(0.4)
    return x
