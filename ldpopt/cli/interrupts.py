"""Ctrl-C: it ends a command at once, but where a verb is at work, which keeps what is done and cleans up.

This file is what a command imports first, and stays light: nothing is heard before its handler stands.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130
"""Exit code, as shells count it."""


def end_at_once() -> None:
    """From now on, end this process on Ctrl-C; where it is ignored, as in the background, it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def heard_by_the_verb() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C instead, in here."""
    ours = signal.getsignal(signal.SIGINT) is _end
    if ours:
        signal.signal(signal.SIGINT, _raise)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, _end)


def work_begins() -> None:
    """Let a verb hear of Ctrl-C in whatever it does from now on: something may be done, and worth keeping."""
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"ldpopt: interrupted\n")
    os._exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    """End at once in the midst of an import, where libraries turn the exception into another or lose it."""
    at = frame
    while at is not None:
        if at.f_code.co_filename == "<frozen importlib._bootstrap>":
            _end(number, frame)
        at = at.f_back
    signal.default_int_handler(number, frame)
