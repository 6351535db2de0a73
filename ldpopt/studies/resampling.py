"""Input of an experiment: answers of a table, drawn with replacement, and protocols by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.estimation.reports import read_numbers
from ldpopt.foundation.labels import first_duplicate, nearest
from ldpopt.foundation.numbers import quoted, real_number, require_memory
from ldpopt.tables.files import position_of, reading

if TYPE_CHECKING:
    import pyarrow as pa

# Protocols of `ldpopt.mean` whose only parameter is the budget
PROTOCOLS = ("Duchi", "Piecewise", "Hybrid", "Laplace", "SquareWave", "RandomCensoring")


class Resampled:
    """Answers of people in a table, CSV or Parquet, drawn with replacement: the ``data`` of `compare_means`.

    ``columns`` are distinct columns of numbers in the range from ``low`` to ``high``, which is known before the survey.
    """

    def __init__(self, path: str, columns: Sequence[str], low: float, high: float) -> None:
        self.low, self.high = real_number(low, "low"), real_number(high, "high")
        if not self.low < self.high:
            raise StatementError(f"the range from {low!r} to {high!r} is empty", do="pass the least answer first")
        if not math.isfinite(self.high - self.low):
            what = f"the range from {low!r} to {high!r} is infinite"
            raise StatementError(what, do="pass bounds of the answers; protocols for means need them")
        if (twice := first_duplicate(columns)) is not None:
            raise StatementError(f"column {twice[0]!r} is named twice", where=path, do="name each column once")
        with reading(path) as table:
            positions = [position_of(table, column) for column in columns]
            chunks, row = [np.empty((0, len(positions)), np.float32)], table.first_row
            for batch in table.batches([], positions):
                chunks.append(self._scaled(batch, [f"{path}, column {column}" for column in columns], row))
                row += len(batch[0])
        self._answers = np.concatenate(chunks)
        if not len(self._answers):
            raise StatementError("the table has no rows", where=path, do="pass a table with at least one person")

    def __len__(self) -> int:
        """Number of people in the table."""
        return len(self._answers)

    def __call__(self, users: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw the answers of this many people, scaled into [0, 1]; shape (users, columns)."""
        n_bytes = users * (8 + 4 * self._answers.shape[1])
        require_memory(n_bytes, f"a data set of {users:,} people", do="take fewer people")
        return self._answers[rng.integers(0, len(self._answers), users)]

    def _scaled(self, batch: Sequence[pa.Array], where: Sequence[str], first_row: int) -> NDArray[np.float32]:
        """The answers of a batch, scaled into [0, 1]."""
        columns = []
        for column, name in zip(batch, where, strict=True):
            answers = read_numbers(column, name, first_row, "answer")
            wrong = np.flatnonzero(~((self.low <= answers) & (answers <= self.high)))
            if len(wrong):
                what = f"the answer{quoted(float(answers[wrong[0]]))} is not from {self.low:g} to {self.high:g}"
                do = "pass the range of all possible answers; leave people without an answer out"
                raise StatementError(what, where=f"{name}, row {first_row + int(wrong[0])}", do=do)
            columns.append((answers - self.low) / (self.high - self.low))
        return np.stack(columns, axis=1).astype(np.float32)


def protocols(names: Sequence[str], attributes: int) -> Mapping[str, Callable[[float], Any]]:
    """Protocols by name in which each person reports one of several attributes."""
    for name in names:
        if name not in PROTOCOLS:
            raise StatementError(f"unknown protocol {name!r}", do=nearest(name, PROTOCOLS))
    return {name: partial(_protocol, name, attributes) for name in names}


def _protocol(name: str, attributes: int, epsilon: float) -> Any:
    """The protocol of this name at a budget; a function, so that it can be sent to other processes."""
    from ldpopt import mean

    return mean.sampled(getattr(mean, name)(epsilon), attributes=attributes)
