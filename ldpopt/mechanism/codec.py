"""What reports look like in the column of a table: labels, one for each answer; other laws have codecs of their own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.tables.coding import MISSING, Coder, Codes, label_column
from ldpopt.tables.frames import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ldpopt.auditing.divergence import Audit

Reader = Callable[[Any, str, int], tuple[NDArray[Any], NDArray[np.bool_]]]
"""From a column, its name in messages and its first row to the reports in it, and which entries are reports."""


class Law(Protocol):
    """What draws the reports of a column: a `Mechanism`, or a protocol whose reports have a form in tables."""

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The answers."""

    @property
    def digest(self) -> str:
        """What files of reports and counts are checked against."""

    @property
    def odds(self) -> Fraction | None:
        """Largest ratio of the probabilities of a report under two answers, exactly; None where it is unbounded."""

    @property
    def codec(self) -> LabelCodec:
        """What its reports look like in a column."""

    def audit(self) -> Audit:
        """Exact privacy of what is drawn."""


class LabelCodec:
    """Reports that are labels: the outputs of a mechanism, as positions in arrays, shape (N,).

    Laws with other reports have a codec that is derived from this one.
    """

    form: ClassVar[str] = "labels"

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism

    @property
    def none(self) -> NDArray[np.int64]:
        """No reports at all."""
        return np.empty(0, dtype=np.int64)

    def labels(self, as_text: bool) -> pa.Array:
        """What reports are made of: the outputs."""
        return label_column(self.mechanism.outputs, as_text)

    def column(self, codes: Codes, labels: pa.Array, source: Draws) -> pa.Array:
        """Reports of answers as a column, dictionary-encoded; what is missing stays missing."""
        import pyarrow as pa

        drawn = self._draw(codes, source).astype(np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(drawn, mask=drawn == MISSING), labels)

    def entries(self, codes: Codes, source: Draws) -> tuple[Sequence[Hashable], Codes]:
        """Reports of answers for a dataframe: labels, and the code of each entry; what is missing stays missing."""
        return self.mechanism.outputs, self._draw(codes, source)

    def reader(self, as_text: bool) -> Reader:
        """What reads reports back, from columns or batches of them; an entry that is no report is refused."""
        coder = Coder(self.mechanism.outputs, "report", as_text=as_text)

        def read(column: Any, where: str, first_row: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
            codes = codes_of(column, coder, where, first_row)
            is_report = codes != MISSING
            return (codes if is_report.all() else codes[is_report]), is_report

        return read

    def _draw(self, codes: Codes, source: Draws) -> Codes:
        """Positions of reports, shape (N,); `MISSING` where there is no answer."""
        answered = codes != MISSING
        if not answered.all():
            reports = np.full(len(codes), MISSING)
            some = source.where(answered) if isinstance(source, KeyedDraws) else source
            reports[answered] = self._draw(codes[answered], some)
            return reports
        if isinstance(source, KeyedDraws):
            words = source.words(self.mechanism.digest, codes)
            drawn: Codes = self.mechanism.sampler.choose(codes, words)
        else:
            drawn = self.mechanism.sampler.draw(codes, rng=source)
        return drawn
