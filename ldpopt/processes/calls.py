"""Calls as bytes: functions, arguments, results and errors that are sent between processes."""

from __future__ import annotations

import pickle
import signal
import traceback
from collections.abc import Callable
from typing import Any

from ldpopt.errors import LdpoptError, StatementError

DO_IMPORTABLE = "define its functions and classes in a module that a worker can import"


def packed(value: Any) -> bytes:
    """Pickle a value, also one whose functions or classes are defined in a script or notebook."""
    import cloudpickle

    try:
        raw: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise StatementError(f"this cannot be sent to another process: {error}", do=DO_IMPORTABLE) from None
    return raw


def answer(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Call a function, and return its result or error as bytes for `result_of`."""
    import cloudpickle

    try:
        raw: bytes = cloudpickle.dumps((True, function(*arguments)))
    except Exception as error:
        return _packed_error(error)
    return raw


def result_of(raw: bytes) -> Any:
    """Return the result in the bytes of `answer`, or raise its error."""
    is_result, found = pickle.loads(raw)
    if not is_result:
        raise found
    return found


def _packed_error(error: Exception) -> bytes:
    """Pickle an error, with its traceback as a note; a RuntimeError replaces one that cannot be pickled."""
    replacement = RuntimeError(f"{type(error).__name__}: {error}")
    for candidate in (error, replacement):
        if not isinstance(candidate, LdpoptError):  # whose message explains itself
            candidate.add_note(f"In another process:\n{traceback.format_exc()}")
    try:
        pickle.loads(raw := pickle.dumps((False, error)))
    except Exception:
        return pickle.dumps((False, replacement))
    return raw


def describe_exit(code: int) -> str:
    """Describe how a process ended by its exit code, which is negative for a signal."""
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if name == "SIGKILL":
        return "killed by SIGKILL, for example because memory ran out"
    return f"crashed with {name}"
