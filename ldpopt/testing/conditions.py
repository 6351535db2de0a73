"""Parts of every conformance check: its choice by name, its conditions, the report of what
failed.
"""

from collections.abc import Iterable, Sequence

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import listed_items, short_repr


def chosen_checks(only: Sequence[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """Names of the checks to run: all, or those in ``only``, which must be known."""
    names = tuple(known)
    only = None if only is None else listed_items(only, "only", "pass a list of names of checks")
    for name in only or ():
        if name not in names:
            raise StatementError(
                f"unknown check {short_repr(name)}", code="check", do=nearest(name, names)
            )
    return names if only is None else tuple(only)


def require(holds: bool, failure: str) -> None:
    """Fail with a description unless a condition holds."""
    if not holds:
        raise AssertionError(failure)


def require_none(failures: Sequence[str], tested: str) -> None:
    """Fail with all descriptions if there are any."""
    if failures:
        raise AssertionError(
            "\n".join([f"{tested} fails {len(failures)} of the checks", *failures])
        )
