"""Counts of the reports of several channels, from those of a table by the names of the channels."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.reports import NO_GROUP
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import quoted, short_repr
from ldpopt.tables.coding import Missing

if TYPE_CHECKING:
    from ldpopt.estimation.report_model import ReportModel


def by_channel(
    model: ReportModel, groups: Mapping[Hashable, Counts], missing: Missing
) -> Iterator[tuple[int, Counts]]:
    """The position of each channel that is named, and its counts.

    Raises
    ------
    StatementError
        If people have no channel, or one that the model does not have.
    """
    coder = model.coder
    for name, counts in groups.items():
        if not counts.n_reports or (name == NO_GROUP and missing == "leave_out"):
            continue
        code = coder.code(name)
        if code < 0:
            known = [part.name for part in model.parts]
            raise StatementError(
                f"the model has no mechanism{quoted(name)} for some reports",
                code="channel",
                where=f"column {model.column!r}",
                do=f"name one of {', '.join(map(short_repr, known))}; {nearest(name, known)}",
            )
        yield code, counts


def counts_of_part(model: ReportModel, place: int, counts: Counts) -> Counts:
    """Counts of the reports of one channel as counts of pairs.

    Raises
    ------
    StatementError
        If the channel has no such report.
    """
    part = model.parts[place]
    sums: list[Any] = []
    places = {report: code for code, report in enumerate(part.mechanism.outputs)}
    start = model.slices[place].start
    for each in (counts.values, counts.squares):
        found = np.zeros(len(model.mechanism.outputs), dtype=each.dtype)
        for report, number in zip(counts.labels, each, strict=True):
            if report in places:
                found[start + places[report]] = number
            elif number > 0:
                raise StatementError(
                    f"the mechanism {short_repr(part.name)} has no such report{quoted(report)}",
                    code="report-of-channel",
                    where=f"column {model.column!r}",
                    do="correct the column of the mechanisms",
                )
        sums.append(found)
    return Counts(
        model.digest,
        model.mechanism.outputs,
        sums[0],
        sums[1],
        counts.total,
        counts.total_squares,
        counts.n_reports,
        counts.people,
    )
