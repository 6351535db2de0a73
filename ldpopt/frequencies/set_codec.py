"""Reports that are sets of answers, in the columns of tables: positions with spaces between them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import quoted
from ldpopt.mechanism.codec import LabelCodec, Reader
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.tables.coding import MISSING, Codes, is_missing

if TYPE_CHECKING:
    import pyarrow as pa

    from ldpopt.frequencies.subset_selection import SubsetSelection


class SetCodec(LabelCodec):
    """Reports of subset selection in a column: texts there, rows of positions, shape (N, k), in arrays."""

    form: ClassVar[str] = "sets"
    randomizer: SubsetSelection

    @property
    def no_reports(self) -> NDArray[np.int64]:
        """An empty array of reports."""
        return np.empty((0, self.randomizer.size), dtype=np.int64)

    def labels(self, as_text: bool) -> pa.Array:
        """Positions as texts."""
        import pyarrow as pa

        return pa.array([str(place) for place in range(len(self.randomizer.inputs))], pa.string())

    def entries(self, codes: Codes, source: Draws) -> tuple[Sequence[Hashable], Codes]:
        """Sets of positions as texts, one for each entry that is not missing."""
        texts = self.column(codes, self.labels(True), source).to_pylist()
        return [text or "" for text in texts], np.where(codes == MISSING, MISSING, np.arange(len(codes)))

    def column(self, codes: Codes, labels: pa.Array, source: Draws) -> pa.Array:
        """Sets of positions as texts; what is missing stays missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        protocol, answered = self.randomizer, np.flatnonzero(codes != MISSING)
        if isinstance(source, KeyedDraws):
            streams = source.where(codes != MISSING).streams(protocol.digest, codes[answered])
            rows = protocol.choose(codes[answered], streams)
        else:
            rows = protocol.privatize([protocol.inputs[code] for code in codes[answered].tolist()], rng=source)
        starts = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * protocol.size)
        texts = pc.binary_join(pa.ListArray.from_arrays(starts, labels.take(pa.array(rows.ravel()))), " ")
        places = np.full(len(codes), -1)
        places[answered] = np.arange(len(answered))
        return texts.take(pa.array(places, mask=places < 0))

    def reader(self, as_text: bool) -> Reader:
        """Sets of positions; an entry that is none is refused."""
        return self._read

    def _read(self, column: Any, where: str, first_row: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Sets in a column, shape (N, k), and which entries are sets, not missing."""
        texts = column.to_list() if hasattr(column, "to_list") else column.to_pylist()
        size = self.randomizer.size
        is_report = np.array([not is_missing(text, True) for text in texts], dtype=bool)
        rows = np.flatnonzero(is_report).tolist()
        sets = np.empty((len(rows), size), dtype=np.int64)
        for place, row in enumerate(rows):
            parts = str(texts[row]).split(" ")
            if len(parts) != size or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
                raise StatementError(
                    f"the report{quoted(texts[row])} is not a set of {size} positions",
                    where=f"{where}, row {first_row + row}",
                    do="pass what privatize wrote",
                )
            sets[place] = [int(part) for part in parts]
        return sets, is_report
