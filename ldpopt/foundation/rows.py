"""Rows over the entries of a channel: the form of privacy notions and side constraints."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import Labels, positions_of
from ldpopt.foundation.numbers import (
    Float,
    Int,
    any_array,
    listed_items,
    positions,
    require_kind,
    require_text,
    shaped_array,
    whole_number,
)

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RowBlock:
    r"""Named rows ``lower <= sum coefficient * P[x, y] <= upper`` over the entries of a channel.

    Attributes
    ----------
    name : str
        Where the rows come from: ``"privacy"``, ``"unbiased"``, ...
    row, x, y : int arrays, shape (nnz,)
        Which row, input and output a coefficient belongs to; ``row`` does not decrease.
    coefficient : float array, shape (nnz,)
        The non-zeros.
    lower, upper : float arrays, shape (rows,)
        Two-sided bounds, infinite if there is none.
    inputs, outputs : tuple of hashable, or None
        Labels of the positions ``x`` and ``y`` of a block that was given with labels; a `Problem`
        puts them into the order of its alphabets. None: the positions are those of the problem.
    shape : (int, int), or None
        Numbers of inputs and outputs that the rows are about; a problem of another shape refuses
        them. None: as many as the problem has; positions beyond are still refused.
    """

    name: str
    row: Int
    x: Int
    y: Int
    coefficient: Float
    lower: Float
    upper: Float
    inputs: Labels | None = None
    outputs: Labels | None = None
    shape: tuple[int, int] | None = None

    @classmethod
    def of_pairs(cls, name: str, first: Int, second: Int, y: Int, ratio: Float) -> RowBlock:
        """Rows ``ratio P[first, y] - P[second, y] <= 0``, in small integers, each in the order of
        its inputs.
        """
        first = positions(first, "first inputs")
        size = len(first)
        second = positions(second, "second inputs", size)
        y = positions(y, "outputs", size)
        ratio = shaped_array(ratio, "ratio", size)
        swapped = np.asarray(first > second)[:, None]
        ends = np.stack([first, second], axis=1).astype(np.int32)
        coefficient = np.stack([ratio, np.full(size, -1.0)], axis=1)
        return cls(
            name,
            np.repeat(np.arange(size, dtype=np.int32), 2),
            np.where(swapped, ends[:, ::-1], ends).reshape(-1),
            np.repeat(y.astype(np.int32), 2),
            np.where(swapped, coefficient[:, ::-1], coefficient).reshape(-1),
            np.broadcast_to(-np.inf, size),
            np.broadcast_to(0.0, size),
        )

    @classmethod
    def joined(cls, name: str, blocks: Sequence[RowBlock]) -> RowBlock:
        """The rows of some blocks of positions, at least one, one block after the other."""
        require_text(name, "name")
        blocks = listed_items(blocks, "blocks", "pass a list of RowBlock")
        for block in blocks:
            require_kind(block, RowBlock, "RowBlock.joined()")
        if not blocks:
            raise StatementError(
                "there are no blocks to join", code="no-blocks", do="pass at least one"
            )
        offsets = np.cumsum([0, *map(len, blocks)]).tolist()
        rows = [block.row + k for block, k in zip(blocks, offsets, strict=False)]
        return cls(
            name,
            np.concatenate(rows),
            np.concatenate([block.x for block in blocks]),
            np.concatenate([block.y for block in blocks]),
            np.concatenate([block.coefficient for block in blocks]),
            np.concatenate([block.lower for block in blocks]),
            np.concatenate([block.upper for block in blocks]),
        )

    @classmethod
    def of_events(
        cls, name: str, first: Int, second: Int, member: Mask, ratio: Float, upper: Float
    ) -> RowBlock:
        """Rows ``ratio P_x(S) - P_x'(S) <= upper`` of pairs and events, a mask (rows, m)."""
        first = positions(first, "first inputs")
        size = len(first)
        second = positions(second, "second inputs", size)
        chosen = any_array(member, "mask of the events")
        if chosen.shape[:1] != (size,) or chosen.ndim != 2 or chosen.dtype.kind not in "biuf":
            raise StatementError(
                f"the mask of the events has the shape {chosen.shape}, not ({size}, m)",
                code="mask",
                do="give a row of truth values for each event",
            )
        ratio = shaped_array(ratio, "ratio", size)
        upper = shaped_array(upper, "upper sides", size)
        row, y = np.nonzero(chosen)
        x = np.stack([first[row], second[row]], axis=1).reshape(-1)
        value = np.stack([ratio[row], np.full(len(row), -1.0)], axis=1).reshape(-1)
        lower = np.full(size, -np.inf)
        return cls(name, np.repeat(row, 2), x, np.repeat(y, 2), value, lower, upper)

    def __len__(self) -> int:
        return len(self.lower)

    def misfit(self, n: int, m: int) -> str:
        """How its shape differs from that of a channel, in words; empty if it does not, or if the
        rows state no shape.
        """
        if self.shape is None:
            return ""
        if not (isinstance(self.shape, tuple) and len(self.shape) == 2):
            return "its shape is not a pair of numbers"
        n, m = whole_number(n, "n"), whole_number(m, "m")
        rows, columns = self.shape
        if rows != (n if self.inputs is None else len(self.inputs)):
            return f"it is about {rows} inputs, and there are {n}"
        if columns != (m if self.outputs is None else len(self.outputs)):
            return f"it is about {columns} outputs, and there are {m}"
        return ""

    def fault(self, n: int, m: int) -> str:
        """What is wrong with the rows for a channel of shape (n, m), in words; empty if nothing
        is.
        """
        n, m = whole_number(n, "n"), whole_number(m, "m")
        parts = (self.row, self.x, self.y, self.coefficient)
        if len({np.shape(part) for part in parts}) > 1 or np.shape(self.lower) != np.shape(
            self.upper
        ):
            return "its arrays differ in length"
        for kind, array, size in (
            ("row", self.row, len(self)),
            ("input", self.x, n),
            ("output", self.y, m),
        ):
            if np.asarray(array).dtype.kind not in "iu":
                return f"its {kind}s are not integers"
            ends = (np.min(array), np.max(array)) if len(array) else (0, -1)
            if ends[0] < 0 or ends[1] >= size:
                return (
                    f"it refers to {kind} {ends[0] if ends[0] < 0 else ends[1]}, and there are "
                    f"{size} {kind}s"
                )
        sides = (self.coefficient, self.lower, self.upper)
        if any(np.asarray(side).dtype.kind not in "iuf" for side in sides):
            return "a coefficient or bound is not a real number"
        if (np.diff(self.row) < 0).any():
            return "its row numbers decrease"
        if (
            not np.isfinite(self.coefficient).all()
            or np.isnan(self.lower).any()
            or np.isnan(self.upper).any()
        ):
            return "a coefficient is not finite, or a bound is nan"
        return ""

    def to(self, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> RowBlock:
        """Move labelled positions into the order of two alphabets; rows are sorted by their first
        entry.
        """
        if self.inputs is None and self.outputs is None:
            return self
        name = f"constraint {self.name!r}"
        x = _moved(self.x, self.inputs, inputs, name, "input")
        y = _moved(self.y, self.outputs, outputs, name, "output")
        head = np.full(len(self), len(inputs))
        np.minimum.at(head, self.row, x)
        sequence = np.argsort(head, kind="stable")
        row = np.argsort(sequence)[self.row]
        order = np.lexsort((y, x, row))
        lower = self.lower[sequence]
        upper = self.upper[sequence]
        return RowBlock(
            self.name,
            row[order],
            x[order],
            y[order],
            self.coefficient[order],
            lower,
            upper,
            shape=self.shape,
        )

    def activity(self, channel: Float) -> Float:
        """Evaluate the left-hand sides at a channel, shape (rows,)."""
        channel = shaped_array(channel, "channel", None, None)
        if len(self.row) and not (
            self.x.max() < channel.shape[0] and self.y.max() < channel.shape[1]
        ):
            raise StatementError(
                f"a channel of shape {channel.shape} has not all entries of {self.name!r}",
                code="shape",
                do="pass a channel of all its inputs and outputs",
            )
        total: Float = np.bincount(
            self.row, self.coefficient * channel[self.x, self.y], len(self)
        ).astype(float)
        return total

    def violation(self, channel: Float) -> Float:
        """Violation of each row's bounds at a channel, shape (rows,); 0 if the row holds."""
        value = self.activity(channel)
        return np.maximum(np.maximum(self.lower - value, value - self.upper), 0.0)


def _moved(
    position: Int, labels: Labels | None, alphabet: Sequence[Hashable], name: str, kind: str
) -> Int:
    """Positions of entries in the order of the alphabet."""
    if labels is None:
        return position
    moved: Int = np.argsort(positions_of(labels, alphabet, name, kind))[position]
    return moved
