"""Calls of notions with checked results: an error names the class, the method and the wrong result."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.deadline import NO_LIMIT, Deadline, OutOfTimeError
from ldpopt.foundation.numbers import Float, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.notion import Notion, SeparableNotion, TiedNotion, is_declared
from ldpopt.privacy.ties import Ties

T = TypeVar("T")
Labels = Sequence[Hashable]


def require_notion(privacy: Any) -> None:
    """Require a privacy notion."""
    do = "pass PureLDP(epsilon), ApproximateLDP(epsilon, delta), GraphDP, MetricDP or a plug-in"
    if privacy is None:
        raise StatementError("the problem has no privacy notion", do=do)
    if not isinstance(privacy, Notion):
        raise StatementError(f"{short_repr(privacy)} is not a privacy notion", do=do)


def check_alphabet(privacy: Any, inputs: Labels, outputs: Labels) -> None:
    """Ask a notion whether it fits the labels."""
    if is_declared(privacy):
        _asked(privacy, "check", lambda: privacy.check(inputs, outputs))


def notes_of(privacy: Any, inputs: Labels) -> tuple[str, ...]:
    """Ask a notion for its notes for readers of a solution."""
    if not is_declared(privacy):
        return ()
    found = _asked(privacy, "notes", lambda: privacy.notes(inputs))
    if not isinstance(found, tuple) or not all(isinstance(note, str) for note in found):
        raise _wrong(privacy, "notes", found, "a tuple of sentences")
    return found


def alphabet_of(privacy: Any) -> tuple[Hashable, ...] | None:
    """Inputs in the notion's own order, or None."""
    return privacy.alphabet if isinstance(privacy, Notion) and is_declared(privacy) else None


def ties_of(privacy: Any, inputs: Labels, outputs: Labels | None = None, deadline: Deadline = NO_LIMIT) -> Ties | None:
    """Ask a notion for its ties; None if it is not a tied one."""
    if not isinstance(privacy, TiedNotion):
        return None
    found = _asked(privacy, "ties", lambda: privacy.ties(inputs, outputs, deadline))
    return _checked_ties(privacy, "ties", found, len(inputs), outputs)


def definition_of(privacy: Any, inputs: Labels, outputs: Labels | None = None) -> Ties | None:
    """Ask a notion for all ties of its definition; None if it is not a tied one."""
    if not isinstance(privacy, TiedNotion):
        return None
    found = _asked(privacy, "definition", lambda: privacy.definition(inputs, outputs))
    return _checked_ties(privacy, "definition", found, len(inputs), outputs)


def rows_of(privacy: Any, inputs: Labels, n_outputs: int) -> RowBlock:
    """Ask a notion for its rows."""
    found = _asked(privacy, "rows", lambda: privacy.rows(inputs, n_outputs))
    return _checked_block(privacy, "rows", found, len(inputs), n_outputs)


def is_separated(privacy: Any) -> bool:
    """Whether a notion generates its rows when they are violated."""
    return isinstance(privacy, SeparableNotion) and bool(privacy.is_separated)


def separated(privacy: Any, channel: Float, inputs: Labels) -> RowBlock | None:
    """Ask a notion for rows that a channel violates; None if there are none, or if it generates none."""
    if not isinstance(privacy, SeparableNotion) or not privacy.is_separated:
        return None
    found = _asked(privacy, "separate", lambda: privacy.separate(channel, inputs))
    return None if found is None else _checked_block(privacy, "separate", found, *channel.shape)


def _asked(privacy: Any, method: str, ask: Callable[[], T]) -> T:
    """Call a method; an unexpected error becomes a StatementError that names the method."""
    try:
        return ask()
    except (LdpoptError, OutOfTimeError, MemoryError):
        raise
    except Exception as error:
        what = f"{type(privacy).__name__}.{method}() failed: {type(error).__name__}: {error}"
        raise StatementError(
            what, do="correct the notion; ldpopt.testing.check_notion tests all of its methods"
        ) from error


def _wrong(privacy: Any, method: str, found: Any, expected: str) -> StatementError:
    shown = short_repr(found) if isinstance(found, (str, int, float, type(None))) else f"a {type(found).__name__}"
    what = f"{type(privacy).__name__}.{method}() returned {shown}, not {expected}"
    return StatementError(what, do="correct the notion; ldpopt.testing.check_notion tests all of its methods")


def _checked_block(privacy: Any, method: str, block: Any, n: int, m: int) -> RowBlock:
    if not isinstance(block, RowBlock):
        raise _wrong(privacy, method, block, "a RowBlock")
    parts = (block.row, block.x, block.y, block.coefficient)
    if len({np.shape(part) for part in parts}) > 1 or np.shape(block.lower) != np.shape(block.upper):
        raise _wrong(privacy, method, block, "one with arrays of the same length")
    for name, array, size in (("row", block.row, len(block)), ("x", block.x, n), ("y", block.y, m)):
        fault = _wrong_positions(array, size)
        if fault:
            what = {"row": "rows", "x": "inputs", "y": "outputs"}[name]
            raise _wrong(privacy, method, block, f"rows of this channel: {name} has {fault} for {size} {what}")
    if (np.diff(block.row) < 0).any():
        raise _wrong(privacy, method, block, "one whose row numbers do not decrease")
    if not np.isfinite(block.coefficient).all() or np.isnan(block.lower).any() or np.isnan(block.upper).any():
        raise _wrong(privacy, method, block, "one of numbers: a coefficient is not finite, or a bound is nan")
    return block


def _wrong_positions(array: Any, size: int) -> str:
    """Describe entries that are not positions below ``size``; empty if all are."""
    if not len(array):
        return ""
    if np.asarray(array).dtype.kind not in "iu":
        return "other things than integers"
    return "" if 0 <= np.min(array) <= np.max(array) < size else f"{int(np.max(array))}"


def _checked_ties(privacy: Any, method: str, ties: Any, n: int, outputs: Labels | None) -> Ties:
    if not isinstance(ties, Ties):
        raise _wrong(privacy, method, ties, "Ties")
    if ties.n != n:
        raise _wrong(privacy, method, ties, f"ties of {n} inputs (n = {ties.n!r})")
    _check_pairs(privacy, method, ties, n)
    if not 0 <= ties.delta <= 1:
        raise _wrong(privacy, method, ties, f"a delta in [0, 1] ({ties.delta!r})")
    if ties.capped is not None and np.shape(ties.capped) != (n,):
        raise _wrong(privacy, method, ties, f"capped of shape ({n},)")
    _check_owner(privacy, method, ties, n, outputs)
    return ties


def _check_pairs(privacy: Any, method: str, ties: Ties, n: int) -> None:
    if (ties.first is None) != (ties.second is None) or (ties.first is None and ties.distance is not None):
        raise _wrong(privacy, method, ties, "pairs: first, second and distance go together")
    if ties.first is not None and ties.second is not None:
        ends = np.concatenate([ties.first, ties.second])
        same = len(ties.first) == len(ties.second) and (ties.distance is None or len(ties.distance) == len(ties.first))
        if not same or (len(ends) and not 0 <= ends.min() <= ends.max() < n) or (ties.first == ties.second).any():
            raise _wrong(privacy, method, ties, f"pairs of two of the {n} inputs each")
    if ties.distance is not None and not (np.isfinite(ties.distance) & (ties.distance > 0)).all():
        raise _wrong(privacy, method, ties, "distances that are positive and finite")


def _check_owner(privacy: Any, method: str, ties: Ties, n: int, outputs: Labels | None) -> None:
    if ties.owner is None:
        return
    m = n if outputs is None else len(outputs)
    if np.shape(ties.owner) != (m,) or not ((ties.owner >= -1) & (ties.owner < n)).all():
        raise _wrong(privacy, method, ties, f"an owner (one of {n} inputs, or -1) for each of {m} outputs")
