"""The commands on tables of answers: key, privatize and estimate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ldpopt.cli.output import (
    Json,
    MechanismPath,
    label,
    new_axes,
    number,
    print_table,
    progress_bar,
    report,
    require_writable,
    save_figure,
    say,
)
from ldpopt.cli.running import Dask, Jobs, executor_of
from ldpopt.cli.shell import refuse
from ldpopt.errors import showing_values
from ldpopt.foundation.labels import text_of

if TYPE_CHECKING:
    from ldpopt.estimation.counts import Counts
    from ldpopt.mechanism.keyed import SecretKey

MissingOption = Annotated[
    Literal["refuse", "leave_out"],
    typer.Option(help="Missing answers: refuse the table, or leave them out (which reveals who did not answer)."),
]

Answers = Annotated[
    str, typer.Argument(metavar="ANSWERS", help="Table: CSV or Parquet, or a folder of Parquet; '-' for stdin.")
]

Tables = Annotated[
    str, typer.Argument(metavar="REPORTS", help="Table: CSV or Parquet, or a folder of Parquet; '-' for stdin.")
]

Reports = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="REPORTS",
        help="CSV or Parquet, by the ending; '-' for stdout; or a folder.",
    ),
]

KeyFile = Annotated[
    str | None,
    typer.Option("--key", metavar="FILE", help="File with a secret key: the same id and answer give the same report."),
]

Identity = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Ids of the records, for --key.")]


def _show_values(context: typer.Context, shows: bool) -> bool:
    """Let messages quote answers until the command ends."""
    context.with_resource(showing_values(shows))
    return shows


Again = Annotated[
    bool, typer.Option("--again", help="Privatize columns that are reports already, as a second layer over the first.")
]

ShowValues = Annotated[
    bool,
    typer.Option("--show-values", callback=_show_values, help="Let messages quote entries of the table."),
]

Seed = Annotated[int | None, typer.Option(min=0, help="Repeatable draws, for tests only.")]

DOUBTFUL, IMPOSSIBLE = 1e-3, 1e-6
"""Probabilities below which reports are said not to look like those of the mechanism, and are refused."""


def privatize(
    mechanism: MechanismPath,
    answers: Answers,
    column: Annotated[
        list[str], typer.Option("--column", "-c", metavar="C", help="Which column of the table; may be repeated.")
    ],
    output: Reports,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Copy this column unprotected; may be repeated."),
    ] = None,
    missing: MissingOption = "refuse",
    missing_answer: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The answer that stands for a missing one.")
    ] = None,
    key: KeyFile = None,
    identity: Identity = None,
    again: Again = False,
    seed: Seed = None,
    jobs: Jobs = 1,
    dask: Dask = None,
    show_values: ShowValues = False,
    json: Json = None,
) -> None:
    """Replace the answers of a table, or of a folder of Parquet files, by reports.

    Reports are drawn with the operating system's random numbers, or from a key and the ids of the records. All other
    columns would be unprotected; they are dropped, unless --keep names them. Answers are matched with the mechanism's
    labels as text. A file is written completely or not at all. For a folder (-j and --dask are for folders), a repeated
    command continues where the last one stopped; no file is replaced. A column that is a report already, as its file
    says, is refused; with --again a second layer is drawn, and estimates need the product of both mechanisms.
    """
    from ldpopt.cli.instruments import read_instrument
    from ldpopt.estimation.inversion import why_not_estimable
    from ldpopt.mechanism.keyed import Keyed
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.mechanism.privatizing import privatize_file

    secret = read_key(key, identity, seed)
    if json == "-" and output == "-":
        raise typer.BadParameter("the reports and the JSON cannot both go to stdout")
    require_writable(None if output == "-" or is_folder(answers) else output)
    require_folder(answers, dask)
    _require_distinct(column)
    instrument = read_instrument(mechanism)
    rules = dict.fromkeys(column, instrument.rule(missing, missing_answer))
    keyed = None if secret is None else Keyed(secret, identity)

    def announce() -> None:
        useless = why_not_estimable(instrument.source) if isinstance(instrument.source, Mechanism) else ""
        if useless:
            say(f"warning: {useless}")
        for note in _warnings(len(column), seed, missing, keep):
            say(note)

    if is_folder(answers):
        announce()
        how: dict[str, Any] = {"keep": keep or [], "rng": seed, "key": secret, "id": identity, "again": again}
        total = privatize_all(answers, output, rules, jobs, dask, **how)
    else:
        draw: dict[str, Any] = {"rng": seed, "keyed": keyed, "again": again}
        total = privatize_file(answers, output, rules, keep=keep or [], announce=announce, **draw)
    if total == 0:
        say("note: the table has a header and no rows")
    data = {"rows": total, "column": column[0], "columns": column, "kept": list(keep or []), "output": output}
    data["key"] = None if keyed is None else keyed.key.name
    report(data, json, lambda: None if output == "-" else print(f"{output}: {total:,} reports"))


def is_folder(path: str) -> bool:
    """Whether a table is a folder of Parquet files."""
    return path != "-" and Path(path).is_dir()


def require_folder(path: str, dask: str | None) -> None:
    """Refuse a cluster for one file."""
    if dask is not None and not is_folder(path):
        raise typer.BadParameter(f"--dask is for a folder of Parquet files, and {path} is none")


def privatize_all(source: str, target: str, questions: Any, jobs: int, dask: str | None, **how: Any) -> int:
    """Write the reports of a folder, with a progress bar; see `privatize_folder`."""
    from ldpopt.studies.folders import privatize_folder

    if target == "-" or Path(target).suffix:
        raise typer.BadParameter(f"{source} is a folder: its reports go to a folder, not to {target}")
    with progress_bar(f"privatizing {Path(source).name}") as bar, executor_of(dask, jobs) as executor:
        return privatize_folder(source, target, questions, jobs=jobs, executor=executor, progress=bar, **how)


def count_all(folder: str, questions: Any, weights: str | None, jobs: int, dask: str | None) -> dict[str, Counts]:
    """Count the reports of a folder, with a progress bar; see `count_folder`."""
    from ldpopt.studies.folders import count_folder

    with progress_bar(f"counting {Path(folder).name}") as bar, executor_of(dask, jobs) as executor:
        return count_folder(folder, questions, weights=weights, jobs=jobs, executor=executor, progress=bar)


def read_key(key: str | None, identity: str | None, seed: int | None) -> SecretKey | None:
    """Read the key of --key; refuse one without ids, or beside a seed."""
    from ldpopt.mechanism.keyed import SecretKey

    if (key is None) != (identity is None):
        raise typer.BadParameter("--key and --id belong together: the secret, and the column of the ids")
    if key is not None and seed is not None:
        raise typer.BadParameter("draws come from a --key or from a --seed, not from both")
    return None if key is None else SecretKey.load(key)


def key(path: Annotated[str, typer.Argument(metavar="FILE", help="A new file.")], json: Json = None) -> None:
    """Write a new secret key for privatize --key.

    The file has 32 random bytes from the operating system, and only its owner may read it. Somebody who has the key can
    find out the answers; without it the draws cannot be repeated. The name of the key, which is printed, is not secret.
    """
    from ldpopt.mechanism.keyed import SecretKey

    secret = SecretKey.new()
    secret.save(path)
    report({"path": path, "name": secret.name}, json, lambda: print(f"{path}: key {secret.name}"))


def _require_distinct(columns: list[str]) -> None:
    """Refuse a column that is named twice."""
    twice = next((name for place, name in enumerate(columns) if name in columns[:place]), None)
    if twice is not None:
        raise typer.BadParameter(f"column {twice!r} is named twice")


def _warnings(columns: int, seed: int | None, missing: str, keep: list[str] | None) -> Iterator[str]:
    """What is not private, before anything is written."""
    if seed is not None:
        yield "note: anybody who knows the --seed can undo the draws; use it for tests only"
    if columns > 1:
        yield f"note: {columns} columns of one person are drawn by themselves; the budgets of a person add up"
    if missing == "leave_out":
        yield "note: a missing answer stays missing in the reports: who did not answer is not protected"
    if keep:
        yield f"note: not protected: {', '.join(map(label, keep))}"


def estimate(
    mechanism: MechanismPath,
    reports: Tables,
    column: Annotated[list[str], typer.Option("--column", "-c", metavar="C", help="Which column of the table.")],
    weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the weight of each respondent.")
    ] = None,
    missing: MissingOption = "refuse",
    method: Annotated[
        Literal["inversion", "maximum_likelihood"],
        typer.Option(help="Estimator: unbiased inversion, or maximum likelihood."),
    ] = "inversion",
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Simultaneous intervals: all hold at once.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="TABLE", help="The table as CSV or Parquet, by the ending.")
    ] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Bar chart with intervals.")] = None,
    jobs: Jobs = 1,
    dask: Dask = None,
    show_values: ShowValues = False,
    json: Json = None,
) -> None:
    """Estimate from reports: the frequencies of the answers, or the numbers that a design is for.

    Estimates are unbiased, with score intervals; norm_sub is the nearest distribution without negative shares. The exit
    code is 1 if the reports cannot come from the mechanism (p-value below 1e-6).
    """
    from ldpopt.cli.instruments import read_instrument
    from ldpopt.estimation.fit import goodness_of_fit
    from ldpopt.tables.kinds import kind_of
    from ldpopt.tables.origin import says_nothing

    require_writable(output, picture=plot)
    require_folder(reports, dask)
    if output is not None:
        kind_of(output)
    instrument = read_instrument(mechanism)
    if len(column) > 1:
        raise typer.BadParameter("one column at a time: the reports of each have their own mechanism")
    if is_folder(reports):
        seen = count_all(reports, {column[0]: instrument.rule(missing, None)}, weights, jobs, dask)[column[0]]
    else:
        seen = instrument.count(reports, column[0], weights, missing)
    found = instrument.estimate(seen, method, confidence, simultaneous)
    chance = None if seen.is_weighted else goodness_of_fit(instrument.source, seen)
    entries = _entries(found)
    data = {
        "method": found.method,
        "n_reports": found.n_reports,
        "confidence": confidence,
        "simultaneous": simultaneous,
        "p_value": chance,
        "origin_known": not says_nothing(reports),
        "estimates": entries,
    }
    together = ", all at once" if simultaneous else ""
    title = f"{found.n_reports:,} reports, {found.method.replace('_', ' ')}, {100 * confidence:g} % intervals{together}"
    headings = [name.replace("_", " ") for name in entries[0]]
    shown = [[label(answer), *(number(value, 5) for value in rest)] for answer, *rest in (e.values() for e in entries)]
    report(data, json, lambda: print_table(headings, shown, title=title))
    if output is not None:
        save_table(output, entries)
    if plot is not None:
        from ldpopt import plotting as pictures

        size = (max(5.0, min(13.0, 2.0 + 0.55 * len(entries))), 4.0)
        save_figure(plot, pictures.estimate(found, new_axes(size)).figure)
    if data["origin_known"] is False and (chance is None or chance >= DOUBTFUL):
        say_unknown_origin(reports)
    if chance is not None and chance < DOUBTFUL:
        what = f"these do not look like reports of it (p-value {max(chance, 1e-300):.0e}); are they raw answers?"
        if chance < IMPOSSIBLE:
            refuse(what)
        say(f"warning: {what}")


def say_unknown_origin(reports: str) -> None:
    """Say that nothing is known of what drew these reports."""
    from ldpopt.tables.origin import BESIDE

    beside = f" (no {Path(reports).name}{BESIDE} beside it)" if Path(reports).suffix.lower() in (".csv", ".txt") else ""
    name = "the table" if reports == "-" else reports
    say(f"note: {name} does not say which mechanism drew its reports{beside}: raw answers can pass for reports")


def save_table(path: str, entries: list[dict[str, Any]]) -> None:
    """Write estimates as a table, every number exactly."""
    import pyarrow as pa

    from ldpopt.tables.files import writing

    rows = [entry | {first: text_of(entry[first])} for entry in entries for first in list(entry)[:1]]
    table = pa.Table.from_pylist(rows)
    with writing(path, list(table.schema)) as write:
        write([column.combine_chunks() for column in table.columns])


def _entries(found: Any) -> list[dict[str, Any]]:
    """Estimates one by one: unbiased, with intervals, and the nearest frequencies (Norm-Sub) beside them."""
    what = "number" if found.method == "design" else "answer"
    entries = [
        {what: name, "estimate": value, "std_error": error, "low": low, "high": high}
        for name, value, error, (low, high) in zip(
            found.labels or (), found.values.tolist(), found.std_error.tolist(), found.interval.tolist(), strict=True
        )
    ]
    if found.method == "inversion" and len(entries) > 1:
        for entry, value in zip(entries, found.norm_sub().values.tolist(), strict=True):
            entry["norm_sub"] = value
    return entries
