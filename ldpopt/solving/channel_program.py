"""ChannelProgram: a linear program over the entries of a channel, with the data that it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.certificate.program_bound import Form
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int, RowBlock
from ldpopt.privacy import Ties
from ldpopt.solvers.program import LinearProgram


@dataclass(frozen=True, eq=False)
class Structure:
    r"""What a channel program was made from.

    Attributes
    ----------
    form : {"compact", "pairwise"}
        Which columns it has.
    weighted : float array, shape (n, m)
        Objective over the channel: ``prior[x] * utility[x, y]``; zeros for a worst-case objective.
    maximize : bool
        Direction.
    b, beta, delta : float
        Of the compact form: :math:`e^{-\epsilon}` rounded down, :math:`1 - e^{-\epsilon}` rounded up, slack.
    ties : Ties or None
        The ties of the compact form.
    """

    form: Form
    weighted: Float
    maximize: bool
    b: float = 0.0
    beta: float = 0.0
    delta: float = 0.0
    ties: Ties | None = None

    @classmethod
    def of_ties(cls, ties: Ties, weighted: Float, maximize: bool) -> Structure:
        """Structure of a compact program."""
        return cls("compact", weighted, maximize, ties.budget.b, ties.budget.beta, ties.delta, ties)

    @property
    def is_complete(self) -> bool:
        """Whether it is a compact form with caps for every input and output, as pricing and interior points need it."""
        return self.form == "compact" and (self.ties is None or self.ties.is_complete)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.weighted.shape[0], self.weighted.shape[1]

    def channel(self, point: Float) -> Float:
        """Read the channel out of a point of the program, shape (n, m); not yet repaired."""
        n, m = self.shape
        entries = point[: n * m].reshape(n, m)
        return entries + self.b * point[n * m : n * m + m] if self.form == "compact" else entries.copy()

    def row_sums(self, activity: Float) -> Float:
        """Duals of the row sums, shape (n,)."""
        return activity[: self.shape[0]]

    def compressed(self, block: RowBlock) -> tuple[Int, Int, Float]:
        """Rows over the channel as compressed rows over the columns."""
        n, m = self.shape
        row, column, value = block.row.astype(np.int64), block.x.astype(np.int64) * m + block.y, block.coefficient
        if self.form == "compact":
            row = np.concatenate([row, row])
            column = np.concatenate([column, n * m + block.y])
            value = np.concatenate([value, self.b * value])
        return compress(row, column, value, len(block), n * m + m + 1)


@dataclass(frozen=True)
class ChannelProgram(LinearProgram):
    """The linear program of a problem; its `structure` reads a channel out of a point."""

    structure: Structure

    @property
    def is_plain_compact(self) -> bool:
        """Whether it has the rows of the complete compact form only: row sums and caps."""
        return self.structure.is_complete and [span.name for span in self.rows] == ["row_sum", "privacy"]


def compress(row: Int, column: Int, value: Float, n_rows: int, n_columns: int) -> tuple[Int, Int, Float]:
    """Sum duplicate triplets and sort them into compressed rows."""
    key = row * n_columns + column
    if (key[1:] > key[:-1]).all() and value.all():
        return np.searchsorted(row, np.arange(n_rows + 1)), column, value
    key, inverse = np.unique(key, return_inverse=True)
    summed = np.bincount(inverse, value, len(key))
    key, summed = key[summed != 0], summed[summed != 0]
    start = np.searchsorted(key, np.arange(n_rows + 1) * n_columns)
    return start, key % n_columns, summed


def program_blocks(program: LinearProgram, values: Any) -> dict[str, Float]:
    """Split a vector over the rows by block name; blocks of one name are joined."""
    parts: dict[str, list[Float]] = {}
    for span in program.rows:
        parts.setdefault(span.name, []).append(values[span.slice])
    return {name: np.concatenate(part) for name, part in parts.items()}
