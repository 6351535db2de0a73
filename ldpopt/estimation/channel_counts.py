"""Positions of reports of several channels, from a column of reports and one that names each
person's channel.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import Int, quoted, short_repr, truth
from ldpopt.tables.coding import MISSING, Coder
from ldpopt.tables.frames import codes_of

if TYPE_CHECKING:
    pass


def numbers_by_pair(names: Sequence[Hashable], reports: Any) -> Any:
    """Numbers by pair of channel and report, from those by channel and then by report; reports in
    another form as they are.
    """
    if not names or not isinstance(reports, Mapping):
        return reports
    if not all(hasattr(each, "items") for each in reports.values()):
        return reports
    for name in reports:
        if name not in names:
            raise StatementError(
                f"there are reports of {short_repr(name)}, which is not the name of a mechanism",
                code="channel-name",
                do=nearest(name, names),
            )
    each_channel = reports.items()
    return {(name, y): number for name, each in each_channel for y, number in each.items()}


class ChannelCoder(Coder):
    """Reads the names of channels."""

    def __init__(self, model: Any, as_text: bool = False) -> None:
        names = tuple(part.name for part in model.parts)
        super().__init__(names, "channel", as_text=truth(as_text, "as_text"))

    def unknown(self, value: Any, where: str) -> StatementError:
        """Error for an entry that names no channel."""
        known = self.alphabet
        return StatementError(
            f"the model has no mechanism{quoted(value)} for some reports",
            code="channel",
            where=where,
            do=f"name one of {', '.join(map(short_repr, known))}; {nearest(value, known)}",
        )


class ChoiceCoder(ChannelCoder):
    """Reads the choices of people."""

    def unknown(self, value: Any, where: str) -> StatementError:
        """Error for an entry that is not one of the choices."""
        known = self.alphabet
        return StatementError(
            f"{'there is no' if value is None else 'nobody can make the'} choice{quoted(value)}",
            code="choice",
            where=where,
            do=f"name one of {', '.join(map(short_repr, known))}; {nearest(value, known)}",
        )


class PairReader:
    """Reads a column of reports with the column of channels beside it."""

    def __init__(self, model: Any, where: tuple[str, str], as_text: tuple[bool, bool]):
        self.model = model
        self.where, self.where_of_channel = where
        outputs = dict.fromkeys(y for part in model.parts for y in part.mechanism.outputs)
        self.reports = Coder(tuple(outputs), "report", as_text=as_text[0])
        self.channels = model.coder_of_names(as_text[1])
        self.table = np.full((len(model.parts), len(outputs)), MISSING)
        places = {report: code for code, report in enumerate(outputs)}
        for row, part, slice_ in zip(self.table, model.parts, model.slices, strict=True):
            codes = [places[report] for report in part.mechanism.outputs]
            row[codes] = np.arange(slice_.start, slice_.stop)

    def read(self, column: Any, channels: Any, first_row: int, keeps_all: bool) -> tuple[Int, Any]:
        """Positions of pairs, and which people have a report.

        Raises
        ------
        StatementError
            If somebody has a report and no channel (unless those are left out), a channel that
            there is not, or a report of another channel.
        """
        codes = codes_of(column, self.reports, self.where, first_row)
        names = codes_of(channels, self.channels, self.where_of_channel, first_row)
        there = codes != MISSING
        has_no_channel = there & (names == MISSING)
        if has_no_channel.any():
            if keeps_all and there.all():  # missing reports are refused by the caller
                place = f"{self.where_of_channel}, row {first_row + int(has_no_channel.argmax())}"
                raise self.channels.unknown(None, place)
            there &= ~has_no_channel
        pairs = self.table[names[there], codes[there]]
        if (pairs == MISSING).any():
            row = int(np.flatnonzero(there)[int((pairs == MISSING).argmax())])
            raise self._no_such_report(codes[row], names[row], first_row + row)
        return pairs, there

    def _no_such_report(self, code: int, channel: int, row: int) -> StatementError:
        report: Hashable = self.reports.alphabet[code]
        name = self.model.parts[channel].name
        return StatementError(
            f"the mechanism {short_repr(name)} has no such report{quoted(report)}",
            code="report-of-channel",
            where=f"{self.where}, row {row}",
            do=f"correct the entry, or that of {self.where_of_channel}",
        )
