"""Every fuzz test expects an answer or a clean refusal, within two seconds of processor time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from builders import seconds
from ldpopt.errors import LdpoptError

SECONDS = seconds(2.0)


class HangError(BaseException):
    """Not an `Exception`, so that no handler of the library catches it."""


def require_clean(refusal: LdpoptError) -> None:
    """A refusal says what is wrong, in a few lines."""
    assert refusal.what.strip()
    assert "\n" not in refusal.one_line
    assert "Traceback" not in str(refusal)
    assert len(str(refusal)) < 2000


def limited(call: Callable[[], Any]) -> Any:
    """Call within the time, on a machine that seems to have 1 GiB of memory, so that too large
    problems are refused and not tried; a refusal has to be clean.
    """

    def stop(_: int, frame: Any) -> None:
        if frame.f_code.co_name == "gc_callback":  # hypothesis's own: what it raises is lost
            return
        raise HangError(f"more than {SECONDS} s")

    memory = os.sysconf
    os.sysconf = lambda name: 2**18 if name == "SC_PHYS_PAGES" else memory(name)
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 0.1)
    try:
        return call()
    except LdpoptError as error:
        require_clean(error)
        raise
    finally:
        os.sysconf = memory
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def answers_or_refuses(call: Callable[[], Any]) -> Any:
    """Return the answer of a call, or None if it is refused cleanly; any other exception is a
    fault.
    """
    try:
        return limited(call)
    except LdpoptError:
        return None


def is_honest(values: Any) -> bool:
    """Whether nested values hold finite real numbers only: no text, truth value, complex or missing
    number."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return False
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, (list, tuple, range)):
        return all(map(is_honest, values))
    if (
        isinstance(values, (bool, np.bool_, str, bytes, complex, np.complexfloating))
        or values is None
    ):
        return False
    return bool(-1.8e308 < values < 1.8e308)


@pytest.fixture(scope="session", name="answers_or_refuses")
def _answers_or_refuses() -> Callable[[Callable[[], Any]], Any]:
    return answers_or_refuses


@pytest.fixture(scope="session", name="limited")
def _limited() -> Callable[[Callable[[], Any]], Any]:
    return limited


@pytest.fixture(scope="session", name="is_honest")
def _is_honest() -> Callable[[Any], bool]:
    return is_honest


@pytest.fixture(autouse=True)
def _own_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("fuzz"))
