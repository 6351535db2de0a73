"""Reports that are sets of answers, in tables: positions with spaces between them, drawn and counted in batches."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.reports import read_weights, report_weights
from ldpopt.foundation.checks import Float, quoted
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.mechanism.origins import require_drawn_by
from ldpopt.mechanism.privatizing import Rule
from ldpopt.tables.coding import MISSING, Codes, Missing, MissingAnswers, is_missing, require_policy
from ldpopt.tables.files import place_of, reading
from ldpopt.tables.frames import as_frame, column_of
from ldpopt.tables.partitions import gathered, is_partitioned

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SetRule(Rule):
    """How the answers of one column become sets of answers."""

    mechanism: Any

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The answers."""
        protocol: SubsetSelection = self.mechanism
        return tuple(protocol.inputs)

    @property
    def odds(self) -> Fraction | None:
        """Largest ratio of the probabilities of a set under two answers, exactly."""
        protocol: SubsetSelection = self.mechanism
        return protocol.odds

    def no_sets(self) -> NDArray[np.int64]:
        """No reports at all."""
        return np.empty((0, self.mechanism.size), dtype=np.int64)

    def labels(self, as_text: bool) -> pa.Array:
        """Positions as texts."""
        import pyarrow as pa

        return pa.array([str(place) for place in range(len(self.mechanism.inputs))], pa.string())

    def entries(self, codes: Codes, source: Draws) -> tuple[Sequence[Hashable], Codes]:
        """Sets of positions as texts, one for each entry that is not missing."""
        texts = self.column(codes, self.labels(True), source).to_pylist()
        return [text or "" for text in texts], np.where(codes == MISSING, MISSING, np.arange(len(codes)))

    def column(self, codes: Codes, labels: pa.Array, source: Draws) -> pa.Array:
        """Sets of positions as texts; what is missing stays missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        answered = np.flatnonzero(codes != MISSING)
        if isinstance(source, KeyedDraws):
            streams = source.where(codes != MISSING).streams(self.mechanism.digest, codes[answered])
            rows = self.mechanism.choose(codes[answered], streams)
        else:
            rows = self.mechanism.privatize([self.inputs[code] for code in codes[answered].tolist()], rng=source)
        starts = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * self.mechanism.size)
        texts = pc.binary_join(pa.ListArray.from_arrays(starts, labels.take(pa.array(rows.ravel()))), " ")
        places = np.full(len(codes), -1)
        places[answered] = np.arange(len(answered))
        return texts.take(pa.array(places, mask=places < 0))


def count_sets(
    protocol: SubsetSelection,
    path: str | os.PathLike[str],
    column: str,
    weights: str | None = None,
    missing: Missing = "refuse",
) -> Counts:
    """Count the sets in a column of a file that have each answer.

    Raises
    ------
    StatementError
        If an entry is no set of positions, or is missing and must not be.
    """
    require_policy(missing)
    found: Any = 0
    require_drawn_by(os.fspath(path), column, protocol.digest)
    with reading(os.fspath(path)) as table:
        places = [place_of(table, name) for name in (column, *([] if weights is None else [weights]))]
        where, row = f"{path}, column {column}", table.first_row
        absent = MissingAnswers(where, "report")
        for texts, *beside in table.batches(places[:1], places[1:]):
            numbers = read_weights(beside[0], f"{path}, column {weights}", row) if beside else None
            sets, numbers = sets_of(protocol, texts, numbers, where, row, absent, missing == "refuse")
            found = protocol.count(sets, weights=numbers) + found
            row += len(texts)
        absent.require_none()
    return found if isinstance(found, Counts) else protocol.count(np.empty((0, protocol.size), dtype=np.int64))


def count_sets_of_frame(
    protocol: SubsetSelection, table: Any, column: Any, weights: Any = None, missing: Missing = "refuse"
) -> Counts:
    """Count the sets in a column of a dataframe that have each answer; see `count_sets`."""
    if is_partitioned(table):
        parts = gathered(table, lambda part, _: count_sets_of_frame(protocol, part, column, weights, missing))
        return sum(parts, protocol.count(np.empty((0, protocol.size), dtype=np.int64)))
    require_policy(missing)
    frame, where = as_frame(table), f"column {column!r}"
    numbers = column_of(frame, weights).to_numpy() if isinstance(weights, str) else weights
    numbers = report_weights(numbers, table, len(frame))
    absent = MissingAnswers(where, "report")
    texts = column_of(frame, column).to_list()
    sets, numbers = sets_of(protocol, texts, numbers, where, 0, absent, missing == "refuse")
    absent.require_none()
    return protocol.count(sets, weights=numbers)


def sets_of(
    protocol: SubsetSelection,
    texts: pa.Array | list[Any],
    weights: Float | None,
    where: str,
    row: int,
    absent: MissingAnswers,
    refuse: bool,
) -> tuple[NDArray[np.int64], Float | None]:
    """Sets in a batch of a column, and the weights of those that are not missing.

    Raises
    ------
    StatementError
        If an entry is no set of positions.
    """
    plain = texts if isinstance(texts, list) else texts.to_pylist()
    there = np.array([not is_missing(text, True) for text in plain], dtype=bool)
    if refuse:
        absent.add(np.where(there, 0, MISSING), row)
    return _positions(plain, there, protocol.size, where, row), None if weights is None else weights[there]


def _positions(texts: list[Any], there: NDArray[np.bool_], size: int, where: str, row: int) -> NDArray[np.int64]:
    """Positions in each set that is not missing."""
    rows = np.flatnonzero(there).tolist()
    found = np.empty((len(rows), size), dtype=np.int64)
    for place, at in enumerate(rows):
        parts = str(texts[at]).split(" ")
        if len(parts) != size or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            raise StatementError(
                f"the report{quoted(texts[at])} is not a set of {size} positions",
                where=f"{where}, row {row + at}",
                do="pass what privatize wrote",
            )
        found[place] = [int(part) for part in parts]
    return found
