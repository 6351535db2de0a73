"""ChannelProgram: a linear program over the entries of a channel, with the data from which it was built."""

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
    """The data from which a channel program was built; ``b`` to ``ties`` belong to the compact form."""

    form: Form
    weighted: Float  # (n, m): prior[x] * utility[x, y]; zeros for a worst-case objective
    maximize: bool
    b: float = 0.0  # exp(-epsilon), rounded down
    beta: float = 0.0  # 1 - exp(-epsilon), rounded up
    delta: float = 0.0
    ties: Ties | None = None

    @property
    def is_complete(self) -> bool:
        """Whether it is a compact form with caps for every input and output, as interior points need it."""
        return self.form == "compact" and (self.ties is None or self.ties.is_complete)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.weighted.shape[0], self.weighted.shape[1]

    def channel(self, point: Float) -> Float:
        """The channel at a point of the program, shape (n, m); not yet repaired."""
        n, m = self.shape
        entries = point[: n * m].reshape(n, m)
        return entries + self.b * point[n * m : n * m + m] if self.form == "compact" else entries.copy()

    def compressed(self, block: RowBlock) -> tuple[Int, Int, Float]:
        """Compressed rows over the columns, from rows over the channel."""
        n, m = self.shape
        row, column, value = block.row.astype(np.int64), block.x.astype(np.int64) * m + block.y, block.coefficient
        if self.form == "compact":
            row = np.concatenate([row, row])
            column = np.concatenate([column, n * m + block.y])
            value = np.concatenate([value, self.b * value])
        return compress(row, column, value, len(block), n * m + m + 1)


@dataclass(frozen=True)
class ChannelProgram(LinearProgram):
    """The linear program of a problem; `structure.channel` returns the channel at a point."""

    structure: Structure

    @property
    def is_plain_compact(self) -> bool:
        """Whether its only rows are those of the complete compact form: row sums and caps."""
        return self.structure.is_complete and [span.name for span in self.rows] == ["row_sum", "privacy"]


def compress(row: Int, column: Int, value: Float, n_rows: int, n_columns: int) -> tuple[Int, Int, Float]:
    """Compressed rows of triplets, with duplicate ones added."""
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
