"""The query by which an engine of SQL counts reports where they lie."""

from __future__ import annotations

from collections.abc import Sequence

from ldpopt.estimation.counts import ReportSource, source_of
from ldpopt.estimation.tallies import Dialect, write_query
from ldpopt.mechanism.mechanism import Mechanism


def counts_query(
    source: Mechanism | ReportSource,
    table: str | Sequence[str],
    column: str,
    *,
    by: str | None = None,
    weights: str | None = None,
    dialect: Dialect = "duckdb",
) -> str:
    r"""Write the SQL query that counts the reports in a column; `Counts.of_rows` reads its rows.

    .. math:: n_{gy} = \#\{i : g_i = g, y_i = y\}, \qquad
              \textstyle\sum w_i, \quad \textstyle\sum w_i^2 \text{ over the same } i

    A row for each report and group leaves the engine, and no person's report. O(N) in the engine.

    Parameters
    ----------
    source : Mechanism, design or frequency protocol
        The source of the reports.
    table : str or sequence of str
        Name of the table, or schema and name; quoted as they are.
    column : str
        Column of the reports.
    by : str, optional
        Column of groups, for `Counts.by_group`; default: all people together.
    weights : str, optional
        Column with the weight of each person; default: all 1.
    dialect : {"duckdb", "sqlite", "postgresql", "ansi"}
        The engine; ``"ansi"`` is for others that quote names by ``"``. Its collations may take two
        texts for equal, so reports that differ in case, accents or outer spaces only are refused.
        Default: ``"duckdb"``.

    Returns
    -------
    str
        One statement without a semicolon.

    Raises
    ------
    StatementError
        If a name is empty or no text, the dialect is unknown, or two reports may be counted
        together.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> print(counts_query(coin, "reports", "smokes", by="region").splitlines()[1])
      r."smokes" AS report,
    """
    source = source_of(source, "counts_query")
    return write_query(source, table, column, by, weights, dialect)
