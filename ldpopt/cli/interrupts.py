"""Ctrl-C: it ends the process at once, except while a command works, which then keeps its finished
results.

The command line imports this file first, so that its handler is installed early; it imports no
large library.
"""

import os
import signal
import threading
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130  # exit code after Ctrl-C, by the convention of shells


def exit_on_interrupt() -> None:
    """From now on, end this process on Ctrl-C, unless the signal is ignored, as in the
    background.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_on_interrupt(raises: bool = True) -> None:
    """From now on, raise KeyboardInterrupt on Ctrl-C instead; or no longer."""
    old, new = (_end, _raise) if raises else (_raise, _end)
    if signal.getsignal(signal.SIGINT) is old:
        signal.signal(signal.SIGINT, new)


def _end(number: int, frame: FrameType | None) -> None:
    """End the process at once."""
    with suppress(OSError):
        os.write(2, b"ldpopt: interrupted\n")
    os._exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; not during an import but after it, since libraries may replace or
    lose the exception.
    """
    at = frame
    while at is not None:
        if at.f_code.co_filename == "<frozen importlib._bootstrap>":
            threading.Timer(0.05, signal.raise_signal, [number]).start()
            return
        at = at.f_back
    signal.default_int_handler(number, frame)
