"""Reports of all questions counted in one pass over a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpopt.estimation.counts import Counts, count_chunk, empty_counts
from ldpopt.estimation.reports import Chunk, read_weights
from ldpopt.estimation.set_tables import SetRule, sets_of
from ldpopt.foundation.checks import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.origins import require_drawn_by
from ldpopt.mechanism.privatizing import Rule
from ldpopt.tables.coding import Coder, MissingAnswers
from ldpopt.tables.files import Rows, place_of, reading


def count_file(
    path: str, rules: Mapping[str, Rule], laws: Mapping[str, Mechanism], weights: str | None
) -> dict[str, Counts]:
    """Count the reports of each question; what is missing is left out where its rule says so.

    Parameters
    ----------
    path : str
        A table, CSV or Parquet.
    rules : mapping name -> Rule
        How each question was asked.
    laws : mapping name -> Mechanism
        What the reports of each column are drawn by.
    weights : str or None
        Column of the weights.

    Raises
    ------
    StatementError
        If a column is not there, or an entry is no report of its question.
    """
    for name, law in laws.items():
        require_drawn_by(path, name, law.digest)
    with reading(path) as table:
        places = [place_of(table, name) for name in rules]
        beside = [] if weights is None else [place_of(table, weights)]
        columns = [_Column(table, name, rule, laws[name]) for name, rule in rules.items()]
        row = table.first_row
        for batch in table.batches(places, beside):
            numbers = read_weights(batch[-1], f"{path}, column {weights}", row) if beside else None
            for column, part in zip(columns, batch, strict=False):
                column.add(part, numbers, row)
            row += len(batch[0])
        for column in columns:
            column.absent.require_none()
    return {name: column.counts for name, column in zip(rules, columns, strict=True)}


class _Column:
    """Counts of one column so far."""

    def __init__(self, table: Rows, name: str, rule: Rule, law: Mechanism) -> None:
        self.where = f"{table.name}, column {name}"
        self.rule, self.law = rule, law
        self.absent = MissingAnswers(self.where, "report")
        if isinstance(rule, SetRule):
            self.counts = rule.mechanism.count(rule.no_sets())
        else:
            self.counts = empty_counts(law)
            self.coder = Coder(law.outputs, "report", as_text=table.is_text(table.columns.index(name)))

    def add(self, reports: Any, weights: Float | None, first_row: int) -> None:
        """Count those of a batch."""
        keeps_all = self.rule.missing == "refuse"
        if isinstance(self.rule, SetRule):
            sets, numbers = sets_of(
                self.rule.mechanism, reports, weights, self.where, first_row, self.absent, keeps_all
            )
            self.counts += self.rule.mechanism.count(sets, weights=numbers)
            return
        codes = self.coder.codes(reports, self.where, first_row)
        if keeps_all:
            self.absent.add(codes, first_row)
        self.counts += count_chunk(self.law, Chunk(codes, weights).answered())
