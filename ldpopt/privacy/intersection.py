"""Several notions at once: what each of them forbids is forbidden.

Somebody may want pure privacy against those who know nothing, and a stricter bound against those
who know how frequent the answers are; or a graph for neighbors, and a weaker notion for all others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.auditing.audits import Audit, Verdict
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.foundation.numbers import Float, listed_items, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.comparisons import Comparisons
from ldpopt.privacy.events import events_hold, height_of_ties
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
        return None if any(part is None for part in lists) else _joined(lists)

    def compared_part(self, inputs: Names, outputs: Names) -> Comparisons | None:
        """The comparisons of those notions that have any; None if none has."""
        return _joined([part.comparisons(inputs, outputs) for part in self.notions])

    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """The rows of all notions."""
        if (comparisons := self.comparisons(inputs)) is not None:
            return comparisons.rows(n_outputs)
        return _stacked([_written(part, inputs, n_outputs) for part in self.notions])

    def labelled_rows(self, inputs: Names, outputs: Names) -> RowBlock:
        """The comparisons of all notions, and the rows of those that have none."""
        m = len(read_alphabet(outputs, "output"))
        lists = [part.comparisons(inputs, outputs) for part in self.notions]
        compared = _joined(lists)
        blocks = [] if compared is None else [compared.rows(m)]
        for part, comparisons in zip(self.notions, lists, strict=True):
            if comparisons is None:
                blocks.append(_written(part, inputs, m))
        return _stacked(blocks)

    def starting_rows(self, inputs: Names, outputs: Names) -> RowBlock:
        """The comparisons, and the rows of notions whose rows are not generated."""
        m = len(read_alphabet(outputs, "output"))
        lists = [part.comparisons(inputs, outputs) for part in self.notions]
        compared = _joined(lists)
        blocks = [] if compared is None else [compared.rows(m)]
        for part, comparisons in zip(self.notions, lists, strict=True):
            if comparisons is None and not part.is_separated:
                blocks.append(part.labelled_rows(inputs, outputs))
        return _stacked(blocks)

    def separate(self, channel: Float, inputs: Names) -> RowBlock | None:
        """Rows that a channel violates, shape (n, m), of the first notion whose rows are generated;
        None if there are none.

        All rows of the other notions are among `starting_rows`.
        """
        for part in self._separated:
            block: RowBlock | None = part.separate(channel, inputs)
            if block is not None:
                return block
        return None

    @property
    def _separated(self) -> list[Any]:
        """The notions whose rows are generated."""
        return [part for part in self.notions if part.is_separated]

    def is_valid(self, block: RowBlock) -> bool:
        """Whether all rows are of one of the notions whose rows are generated."""
        return any(_recognizes(part, block) for part in self._separated)

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


def _joined(lists: Sequence[Comparisons | None]) -> Comparisons | None:
    """All comparisons of some lists; None if there is no list."""
    listed = [part for part in lists if part is not None]
    return reduce(lambda one, two: one & two, listed) if listed else None


def _written(part: Notion, inputs: Names, n_outputs: int) -> RowBlock:
    """All rows of a notion; none of them are generated beside those of other notions."""
    try:
        return part.rows(inputs, n_outputs)
    except NotRepresentableError as error:
        if error.code != "rows":
            raise
        do = 'take fewer outputs, or form="entry", whose rows are few'
        raise NotRepresentableError(error.what, code="rows", do=do) from None


def _recognizes(part: Any, block: RowBlock) -> bool:
    """Whether a notion states, from the numbers alone, that private channels satisfy all rows."""
    if part.is_valid(block):
        return True
    if part.excess(Fraction(1, 2)) is not None:
        return events_hold(block, part.excess)
    inputs = block.inputs
    ties = None if inputs is None else part.definition(inputs, block.outputs)
    if ties is None or not ties.is_shared:
        return False
    tied = np.zeros((ties.n, ties.n), bool)
    tied[ties.pairs()] = True
    return events_hold(block, height_of_ties(ties), tied)


def _stacked(blocks: list[RowBlock]) -> RowBlock:
    """The rows of several blocks under one name; none of no blocks."""
    if not blocks:
        none = np.zeros(0, np.int64)
        return RowBlock("privacy", none, none, none, np.zeros(0), np.zeros(0), np.zeros(0))
    return RowBlock.joined("privacy", blocks)
