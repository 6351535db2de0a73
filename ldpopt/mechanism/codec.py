"""How reports are written in a column of a table, and read back: as labels. Other reports have
their own codec.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.audits import Audit
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.mechanism.sampling import Places
from ldpopt.tables.coding import MISSING, Coder, Codes, label_column
from ldpopt.tables.frames import codes_of
from ldpopt.tables.vectors import column_of_numbers

if TYPE_CHECKING:
    import pyarrow as pa

# Reads a column, its name in messages and its first row: the reports in it, and which entries are
# not missing
Reader = Callable[[Any, str, int], tuple[NDArray[Any], NDArray[np.bool_]]]


class Randomizer(Protocol):
    """Draws the reports of a column: a `Mechanism`, or a protocol whose reports can be written in a
    table.
    """

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The possible answers."""

    @property
    def digest(self) -> str:
        """Hash by which files of reports and counts are recognized."""

    @property
    def odds(self) -> Fraction | None:
        """Largest ratio of the probabilities of a report under two answers, exactly; None if it is
        unbounded.
        """

    @property
    def codec(self) -> LabelCodec:
        """How its reports are written in a column."""

    def audit(self) -> Audit:
        """Return the exact privacy of the draws."""


def answers_not_reports(where: str) -> StatementError:
    """Error for a column of answers in place of reports."""
    return StatementError(
        "the column has answers, not reports",
        code="answers",
        where=where,
        do="draw the reports first, and pass their table: `ldpopt privatize`, of a survey `ldpopt "
        "survey privatize SURVEY ANSWERS -o REPORTS`, in Python privatize()",
    )


class LabelCodec:
    """Reports that are outputs of a mechanism: labels in tables, positions in arrays, (N,); others
    are subclasses.
    """

    form: ClassVar[str] = "labels"

    def __init__(self, randomizer: Any) -> None:
        self.randomizer = randomizer

    @property
    def no_reports(self) -> NDArray[np.int64]:
        """An empty array of reports."""
        return np.empty(0, dtype=np.int64)

    def labels(self, as_text: bool) -> pa.Array:
        """Return the entries that reports are composed of: the outputs."""
        return label_column(self.randomizer.outputs, as_text)

    def column(self, codes: Codes, labels: pa.Array, source: Draws) -> pa.Array:
        """Draw the reports of answers as a dictionary-encoded column; missing answers stay
        missing.
        """
        from ldpopt.foundation.optional import pyarrow as pa

        drawn = self.places(codes, source)
        is_missing = None if not len(drawn) or drawn.min() > MISSING else drawn == MISSING
        return pa.DictionaryArray.from_arrays(column_of_numbers(drawn, is_missing), labels)

    def entries(self, codes: Codes, source: Draws) -> tuple[Sequence[Hashable], Codes]:
        """Draw the reports of answers for a dataframe: labels, and the position of each entry among
        them.
        """
        return self.randomizer.outputs, self.draw(codes, source)

    def reader(self, as_text: bool) -> Reader:
        """Return the function that reads reports in columns or batches of them; it refuses all
        other entries.
        """
        coder = Coder(self.randomizer.outputs, "report", as_text=as_text)

        def read(column: Any, where: str, first_row: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
            try:
                codes = codes_of(column, coder, where, first_row)
            except StatementError as error:
                if error.code == "unknown-label" and self._has_answers(column, as_text):
                    raise answers_not_reports(where) from None
                raise
            is_report = codes != MISSING
            return (codes if is_report.all() else codes[is_report]), is_report

        return read

    def _has_answers(self, column: Any, as_text: bool) -> bool:
        """Whether every entry of a column is an answer of the randomizer, or missing."""
        try:
            codes_of(column, Coder(self.randomizer.inputs, "answer", as_text=as_text), "", 0)
        except (StatementError, ModelFileError):
            return False
        return True

    def draw(self, codes: Codes, source: Draws) -> Codes:
        """Draw positions of reports, shape (N,); `MISSING` if the answer is missing."""
        return self.places(codes, source).astype(np.int64)

    def places(self, codes: Codes, source: Draws) -> Places:
        """Draw as `draw`, as numbers of 32 bits, which a column takes as they are."""
        if len(codes) and codes.min() == MISSING:
            answered = codes != MISSING
            reports = np.full(len(codes), MISSING, dtype=np.int32)
            some = source.where(answered) if isinstance(source, KeyedDraws) else source
            reports[answered] = self.places(codes[answered], some)
            return reports
        sampler = self.randomizer.sampler
        if isinstance(source, KeyedDraws):
            words = source.words(self.randomizer.digest, codes)
            return np.asarray(sampler.choose(codes, words), dtype=np.int32)
        return np.asarray(sampler.draw_places(codes, source))
