"""What a polytope needs of a notion: mutual ties, and the inputs in the order of its rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.numbers import short_repr
from ldpopt.privacy import Notion, TiedNotion, Ties


def read_inputs(privacy: Any, n: int, inputs: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    """Labels in the order of the rows: those given, or those that the notion knows, or 0, 1, 2, ..."""
    own = privacy.alphabet if isinstance(privacy, Notion) else None
    known = own if inputs is None else tuple(inputs)
    names: tuple[Hashable, ...] = tuple(range(n)) if known is None else known
    if len(names) != n:
        raise StatementError(f"there are {len(names)} labels for {n} inputs")
    return names


def require_mutual(privacy: Any, inputs: tuple[Hashable, ...]) -> Ties:
    """Ties of a notion that ties each pair both ways, for every report."""
    if isinstance(privacy, type) or not isinstance(privacy, TiedNotion):
        raise StatementError(
            f"{short_repr(privacy)} is not a notion with ties", do="pass PureLDP(epsilon), GraphDP or MetricDP"
        )
    ties = privacy.ties(inputs)
    if not ties.is_mutual:
        raise NotRepresentableError(
            f"extreme points need a notion that ties pairs both ways, for every report; {privacy!r} does not",
            do="solve the program instead, or take PureLDP, GraphDP or MetricDP",
        )
    return ties
