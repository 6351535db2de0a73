"""Tasks, points and results as bytes for another process."""

from __future__ import annotations

from typing import Any

from ldpopt.errors import StatementError

DEFINE = "define its functions and classes in a module that a worker can import"


def packed(value: Any) -> bytes:
    """Pickle a value, also one whose functions or classes are defined in a script or notebook."""
    import cloudpickle

    try:
        raw: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise StatementError(f"this cannot be sent to another process: {error}", do=DEFINE) from None
    return raw
