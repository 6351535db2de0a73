"""Ctrl-C: it ends the process at once, except while a command works, which saves finished results and cleans up.

The command line imports this file first, so that its handler is installed early; it imports no large library.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130
"""Exit code after Ctrl-C, by the convention of shells."""


def exit_on_interrupt() -> None:
    """From now on, end this process on Ctrl-C, unless the signal is ignored, as in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """Within this context, raise KeyboardInterrupt on Ctrl-C instead (not during an import)."""
    ours = signal.getsignal(signal.SIGINT) is _end
    if ours:
        signal.signal(signal.SIGINT, _raise)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, _end)


def allow_interrupts_everywhere() -> None:
    """From now on, raise KeyboardInterrupt during imports too, so that finished results are saved."""
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"ldpopt: interrupted\n")
    os._exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; during an import end at once, since libraries may replace or lose the exception."""
    at = frame
    while at is not None:
        if at.f_code.co_filename == "<frozen importlib._bootstrap>":
            _end(number, frame)
        at = at.f_back
    signal.default_int_handler(number, frame)
