"""The interface of privacy notions: base classes for the capabilities that a notion may have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.auditing.divergence import Audit
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labelled import take_labels
from ldpopt.foundation.labels import first_duplicate
from ldpopt.foundation.numbers import Float, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.tables import Table, parameters, plain_fields, read_fields
from ldpopt.privacy.ties import Ties


class Notion(ABC):
    """A linear privacy notion.

    A notion has `rows` and `audit`; an object of any class with these two methods counts as one. Derive from `Notion`
    for a form in files, from `TiedNotion` for the compact program and the exact repair of columns, from
    `SeparableNotion` if there are too many rows to write down.
    """

    kind: ClassVar[str] = ""
    """Name in model files and certificates; that of the entry point."""

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        """Count a class with callable ``rows`` and ``audit`` as a `Notion`, but not as a subclass of it."""
        if cls is not Notion:
            return NotImplemented
        methods = (getattr(other, name, None) for name in ("rows", "audit"))
        return True if all(map(callable, methods)) else NotImplemented

    @abstractmethod
    def rows(self, inputs: Sequence[Hashable], n_outputs: int) -> RowBlock:
        """Write the definition as linear rows over the channel's entries."""

    @abstractmethod
    def audit(self, channel: Any) -> Audit:
        """Recompute epsilon and delta from the numbers, independently of `rows`."""

    def check(self, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> None:
        """Refuse an alphabet that does not fit the notion; must be fast, since every problem calls it.

        Raises
        ------
        StatementError
            If a graph, a distance or a sensitive label has other inputs or outputs.
        """
        return

    def notes(self, inputs: Sequence[Hashable]) -> tuple[str, ...]:
        """Remarks on the notion for readers of a solution, in sentences."""
        return ()

    @property
    def alphabet(self) -> tuple[Hashable, ...] | None:
        """Inputs in the notion's own order, for arrays without labels; None if any inputs are allowed."""
        return None

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """Keys of its table in a file, beside ``kind``; default: the parameters of its class."""
        return parameters(cls)

    def stated(self, inputs: Sequence[Hashable]) -> dict[str, Any]:
        """State the notion in plain TOML and JSON values; default: the fields of its dataclass."""
        return plain_fields(self)

    def explicit(self, inputs: Sequence[Hashable]) -> dict[str, Any]:
        """State the notion for a proof, whose reader should not have to know any names; default: as `stated`."""
        return self.stated(inputs)

    @classmethod
    def from_stated(cls, table: Table, inputs: Sequence[Hashable]) -> Self:
        """Read what `stated` returned, or what a user wrote in its place.

        Raises
        ------
        StatementError
            If a key is missing or a value is wrong; as MisstatedError where the key is known.
        """
        found: Self = read_fields(cls, table)
        return found


class TiedNotion(Notion):
    """A notion that ties rows of the channel output by output: `ties` says which, `rows` follows."""

    @abstractmethod
    def ties(
        self, inputs: Sequence[Hashable], outputs: Sequence[Hashable] | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties:
        """Describe the ties that have to be written; implied ones may be left out.

        Parameters
        ----------
        inputs, outputs : sequence of hashable
            Labels; the outputs default to the inputs.
        deadline : Deadline, optional
            Long computations call ``deadline.check(...)`` regularly; default: ``NO_LIMIT``.
        """

    def definition(self, inputs: Sequence[Hashable], outputs: Sequence[Hashable] | None = None) -> Ties:
        """Describe all ties of the definition at once, including implied ones; certificates are checked against them.

        The default is `ties`.
        """
        return self.ties(inputs, outputs)

    def rows(self, inputs: Sequence[Hashable], n_outputs: int) -> RowBlock:
        """Write a row for each tie and output."""
        return self.ties(inputs).rows(n_outputs)


class SeparableNotion(Notion):
    """A notion that may have too many rows to write down: rows are generated when a channel violates them."""

    @property
    def is_separated(self) -> bool:
        """Whether there are rows to generate."""
        return True

    @abstractmethod
    def separate(self, channel: Float, inputs: Sequence[Hashable]) -> RowBlock | None:
        """Find rows that a channel violates, shape (n, m); None if there are none."""


def is_declared(privacy: Any) -> bool:
    """Whether a notion derives from `Notion` and so has all of its methods."""
    return Notion in type(privacy).__mro__


def with_epsilon(privacy: Any, epsilon: Budget) -> Any:
    """Return the same notion at another budget."""
    is_budgeted = is_dataclass(privacy) and any(field.name == "epsilon" and field.init for field in fields(privacy))
    if not is_budgeted or isinstance(privacy, type):
        what = f"{short_repr(privacy)} has no epsilon to sweep"
        raise StatementError(what, do="use a notion that is a dataclass with epsilon")
    return replace(privacy, epsilon=epsilon)


def positions(labels: Sequence[Hashable], inputs: Sequence[Hashable], what: str) -> dict[Hashable, int]:
    """Match the labels of a graph or table with the inputs, one to one."""
    place = {label: x for x, label in enumerate(inputs)}
    for label in labels:
        if label not in place:
            wrong = f"{what} names {label!r}, which is not an input"
            raise StatementError(wrong, do=f"the inputs are {list(inputs)[:8]}")
    known = set(labels)
    for label in inputs:
        if label not in known:
            raise StatementError(f"input {label!r} is missing from {what}", do="add it, or take it out of the inputs")
    return place


def shape_of(channel: Any) -> tuple[tuple[Hashable, ...], bool]:
    """Inputs of a mechanism or labelled table, or positions of a plain array; and whether they are labels."""
    if hasattr(channel, "inputs"):
        return tuple(channel.inputs), True
    channel, (rows, _) = take_labels(channel, "channel")
    if rows is not None:
        return rows, True
    if not hasattr(channel, "__len__") or getattr(channel, "ndim", 1) == 0:
        raise MechanismError(
            f"{short_repr(channel)} is not a channel", do="pass a Mechanism or an array (inputs, outputs)"
        )
    return tuple(range(len(channel))), False


def read_labels(given: Any, what: str) -> tuple[Hashable, ...]:
    """Read a list of distinct labels of a notion, such as the sensitive inputs."""
    do = f"pass {what} as a list of labels"
    is_list = hasattr(given, "__iter__") and getattr(given, "ndim", 1) == 1
    if isinstance(given, (str, bytes, dict)) or not is_list:
        raise StatementError(f"{what} = {short_repr(given)} is not a list of labels", do=do)
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in given)
    try:
        duplicate = first_duplicate(names)
    except TypeError:
        raise StatementError(f"{what} = {short_repr(given)} has a label that is not hashable", do=do) from None
    if duplicate is not None:
        raise StatementError(f"duplicate {what} label {short_repr(duplicate[0])}")
    return names


def require_known(names: Sequence[Hashable], alphabet: Sequence[Hashable], what: str, kind: str) -> None:
    """Refuse labels of a notion that are not in the alphabet."""
    known = set(alphabet)
    for name in names:
        if name not in known:
            do = f"the {kind}s are {list(alphabet)[:8]}"
            raise StatementError(f"{what} names {short_repr(name)}, which is not an {kind}", do=do)
