"""Several notions at once: what each of them forbids is forbidden.

Somebody may want pure privacy against those who know nothing, and a stricter bound against those
who know how frequent the answers are; or a graph for neighbors, and a weaker notion for all others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.auditing.audits import Audit, Verdict
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import Names
from ldpopt.foundation.numbers import Float, listed_items, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.comparisons import Comparisons
from ldpopt.privacy.notion import Notion, from_table, require_notion, to_table
from ldpopt.privacy.plain import MisstatedError, Table, at_key, required


@dataclass(frozen=True)
class Intersection(Notion):
    """All of several notions at once; ``a & b`` makes one.

    Parameters
    ----------
    notions : sequence of Notion
        At least two; those of another intersection count one by one.

    Raises
    ------
    StatementError
        If an element is not a notion, or there are fewer than two.

    Notes
    -----
    If each notion is a list of comparisons, so is the intersection, with everything that follows
    from one. A report that only one answer may give is allowed where all notions allow it, as a
    report of this answer or by their comparisons. Otherwise the rows of all notions are written
    together, or generated, and each notion audits the channel for itself: the claim holds if every
    one of them does.

    Examples
    --------
    >>> from ldpopt import PML, PureLDP
    >>> both = PureLDP(2.0) & PML(0.5, {"a": 3, "b": 1})
    >>> both.audit([[0.6, 0.4], [0.2, 0.8]]).verdict
    'certified'
    """

    kind: ClassVar[str] = "all"
    notions: tuple[Notion, ...]

    def __init__(self, notions: Sequence[Notion]) -> None:
        parts: list[Notion] = []
        for notion in listed_items(notions, "notions", "pass a list of notions"):
            require_notion(notion)
            parts += notion.notions if isinstance(notion, Intersection) else [notion]
        if len(parts) < 2:
            raise StatementError(
                f"{len(parts)} notions make no intersection",
                code="few-notions",
                do="pass at least two",
            )
        object.__setattr__(self, "notions", tuple(parts))

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.notions))

    @property
    def alphabet(self) -> tuple[Hashable, ...] | None:
        """The labels of the first notion that has any."""
        return next((part.alphabet for part in self.notions if part.alphabet is not None), None)

    @property
    def known_inputs(self) -> tuple[Hashable, ...] | None:
        """The inputs of the first notion that knows them."""
        known = (part.known_inputs for part in self.notions)
        return self.alphabet or next((names for names in known if names is not None), None)

    @property
    def is_separated(self) -> bool:
        """Whether rows of a notion have to be generated."""
        return any(part.is_separated for part in self.notions)

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse what one of the notions refuses."""
        for part in self.notions:
            part.check(inputs, outputs)
        if (comparisons := self.comparisons(inputs, outputs)) is None:
            return
        silent = np.flatnonzero(~comparisons.allowed(len(outputs)).any(axis=1))
        if len(silent):
            raise StatementError(
                f"input {short_repr(inputs[silent[0]])} has no report that all notions allow",
                code="silent-input",
                do="add an output that no notion keeps for one input",
            )

    def notes(self, inputs: Names) -> tuple[str, ...]:
        """The notes of all notions, each once."""
        return tuple(dict.fromkeys(note for part in self.notions for note in part.notes(inputs)))

    def bound_to(self, prior: Float | None, inputs: Names) -> Self:
        """The same intersection with each notion bound to the prior."""
        return type(self)([part.bound_to(prior, inputs) for part in self.notions])

    def reports(self, inputs: Names, columns: Float) -> tuple[Hashable, ...]:
        """The labels of the first notion in which they matter."""
        plain = super().reports(inputs, columns)
        named = (part.reports(inputs, columns) for part in self.notions)
        return next((names for names in named if names != plain), plain)

    def standing_alone(self) -> Self:
        """The same intersection with each notion outside of its problem."""
        return type(self)([part.standing_alone() for part in self.notions])

    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons | None:
        """The comparisons of all notions, in their order; None if a notion has none."""
        lists = [part.comparisons(inputs, outputs) for part in self.notions]
        listed = [part for part in lists if part is not None]
        if len(listed) < len(lists):
            return None
        return reduce(lambda one, two: one & two, listed)

    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """The rows of all notions."""
        if (comparisons := self.comparisons(inputs)) is not None:
            return comparisons.rows(n_outputs)
        return _stacked([part.rows(inputs, n_outputs) for part in self.notions])

    def separate(self, channel: Float, inputs: Names) -> RowBlock | None:
        """Rows of any of the notions that a channel violates, shape (n, m); None if there are
        none.
        """
        blocks = [_violated(part, channel, inputs) for part in self.notions]
        listed = [block for block in blocks if block is not None]
        return _stacked(listed) if listed else None

    def audit(self, channel: Any) -> Audit:
        """Audit each notion; the result is that of the first one that fails, else that of the
        largest epsilon.
        """
        audits = [part.audit(channel) for part in self.notions]
        verdict: Verdict = next(
            (
                name
                for name in ("violated", "undecided")
                if any(audit.verdict == name for audit in audits)
            ),
            "certified",
        )
        told = [audit for audit in audits if audit.verdict == verdict]
        worst = max(told, key=lambda audit: audit.epsilon)
        claims = " and ".join(audit.claim for audit in audits if audit.claim)

        def curve(at: Budget) -> float:
            return max(audit.curve(at) for audit in audits)

        delta = max(audit.delta for audit in told)
        return replace(worst, delta=delta, verdict=verdict, claim=claims, curve=curve)

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """A table of each notion, with its kind."""
        return {"notions": [to_table(part, inputs, explicit=explicit) for part in self.notions]}

    @classmethod
    def from_plain(cls, table: Table, inputs: Names) -> Self:
        """Read the tables of the notions."""
        notions = required(table, "notions")
        if not isinstance(notions, list) or not all(isinstance(part, dict) for part in notions):
            raise MisstatedError(
                "the notions are not a list of tables",
                "notions",
                do='write notions = [{ kind = "pure", epsilon = 1 }, { kind = "leakage", ... }]',
            )
        read = []
        for k, part in enumerate(notions):
            with at_key("notions", k):
                read.append(from_table(part, inputs))
        return cls(read)

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """Pure privacy at twice epsilon, and a budget epsilon along a path."""
        from ldpopt.privacy.graph import GraphDP
        from ldpopt.privacy.pure import PureLDP

        double = Budget(2 * Budget(epsilon).lower_nats)
        return cls([PureLDP(double), GraphDP.example(epsilon, inputs)])


def _violated(part: Notion, channel: Float, inputs: Names) -> RowBlock | None:
    """Rows of one notion that a channel violates; None if there are none."""
    if part.is_separated:
        block: RowBlock | None = part.separate(channel, inputs)  # type: ignore[attr-defined]
        return block
    rows = part.rows(inputs, channel.shape[1])
    kept = np.flatnonzero(rows.violation(channel) > 0)
    return _chosen(rows, kept) if len(kept) else None


def _chosen(block: RowBlock, kept: Any) -> RowBlock:
    """Some rows of a block."""
    number = np.full(len(block), -1)
    number[kept] = np.arange(len(kept))
    entries = number[block.row] >= 0
    return RowBlock(
        block.name,
        number[block.row[entries]],
        block.x[entries],
        block.y[entries],
        block.coefficient[entries],
        block.lower[kept],
        block.upper[kept],
    )


def _stacked(blocks: list[RowBlock]) -> RowBlock:
    """The rows of several blocks under one name."""
    offsets = np.cumsum([0, *(len(block) for block in blocks)]).tolist()
    shifted = [block.row + k for block, k in zip(blocks, offsets, strict=False)]
    return RowBlock(
        "privacy",
        np.concatenate(shifted),
        np.concatenate([block.x for block in blocks]),
        np.concatenate([block.y for block in blocks]),
        np.concatenate([block.coefficient for block in blocks]),
        np.concatenate([block.lower for block in blocks]),
        np.concatenate([block.upper for block in blocks]),
    )
