"""Surveys in folders of Parquet files: privatized and counted file by file, in worker processes or
on a cluster.
"""

import os
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ldpopt.errors import ModelFileError, StatementError, showing_values, shows_values
from ldpopt.estimation.counts import Counts, ReportSource
from ldpopt.estimation.reports import ALL, count_file
from ldpopt.foundation import optional
from ldpopt.foundation.files import file_errors, require_path
from ldpopt.foundation.numbers import require_function, truth
from ldpopt.foundation.seeds import Random, child_seed, seed_of
from ldpopt.mechanism.files import origin_of_reports
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.privatizing import columns_of_answers, privatize_file
from ldpopt.processes.pool import run
from ldpopt.processes.run import RunOptions
from ldpopt.surveys.survey import Survey
from ldpopt.tables.coding import Missing
from ldpopt.tables.origin import merged, read_origin, require_raw
from ldpopt.tables.parquet import ENDINGS

PARTS = ".parts"  # folder in the target for files that are being written
Progress = Callable[[int, int], None]


def _folders(source: Any, target: Any, again: Any, progress: Any) -> tuple[Path, Path]:
    """Read the folders; refuse arguments of `privatize_folder` of another kind."""
    require_path(source)
    require_path(target)
    truth(again, "again")
    if progress is not None:
        require_function(progress, "progress")
    return Path(os.fsdecode(source)), Path(os.fsdecode(target))


def privatize_folder(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    questions: Mapping[str, Any] | Survey,
    *,
    keep: Sequence[str] = (),
    rng: Random = None,
    key: Any = None,
    id: str | None = None,
    again: bool = False,
    jobs: int = 1,
    executor: Any = None,
    progress: Progress | None = None,
) -> int:
    """Write the reports of a folder of answers, file by file.

    A file appears in the target whole or not at all, and is never replaced. If a run ended early,
    the same call writes only the files that are missing, so no answer is randomized twice.

    Parameters
    ----------
    source, target : path
        Folders; for every file of the source that ends in ``.parquet`` or ``.pq`` a file of the
        same name is written into the target. On a cluster, every worker must be able to read and
        write both.
    questions : mapping column -> Mechanism, design, Problem or Question, or Survey
        Randomizer of each column.
    keep : sequence of str
        Other columns to copy, unprotected; default: ``()``.
    rng : SeedSequence or int, optional
        Makes the draws repeatable, for tests only; each file has its own seed. Default: the
        generator of the operating system on which a worker runs.
    key : SecretKey or bytes, optional
        Makes the draws repeatable person by person; see `Mechanism.privatize`. Default: none.
    id : str, optional
        Column of the ids, with ``key``; distinct within a file. The same person in several files
        gets the same report.
    again : bool
        Whether columns may be privatized that are reports already, by the origin in their files;
        default: ``False``.
    jobs, executor, progress
        As in `sweep`; default: ``1``, ``None`` and ``None``.

    Returns
    -------
    int
        Number of rows in the target.

    Raises
    ------
    StatementError
        If an entry is not an answer of its question, or as in `Survey`.
    ModelFileError
        If a folder or file cannot be read or written, has reports already, or the target has files
        of another survey.
    KeyboardInterrupt
        After Ctrl-C or SIGTERM; finished files are kept.
    """
    answers, reports = _folders(source, target, again, progress)
    survey = survey_of(questions)
    columns = survey.asked
    kept = survey.kept(keep)
    keyed = Keyed.read(key, id, rng)
    names = _names(answers)
    if reports.resolve() == answers.resolve():
        problem = "the reports would be written among the answers"
        raise ModelFileError(
            problem, code="same-folder", where=str(reports), do="name another folder"
        )
    before = {name: read_origin(str(answers / name)) for name in names}
    for name, origin in before.items():
        if origin is not None and not again:
            names_of_columns = optional.pyarrow_parquet.read_schema(answers / name).names
            require_raw(origin, columns_of_answers(columns), names_of_columns, str(answers / name))
    with file_errors("cannot write the folder", reports):
        (reports / PARTS).mkdir(parents=True, exist_ok=True)
    new = origin_of_reports(columns, kept, keyed, survey.one_question)
    rows = _finished_rows(reports, {name: merged(new, origin) for name, origin in before.items()})
    seed = None if rng is None else seed_of(rng)
    options: dict[str, Any] = {"questions": columns, "keep": kept, "keyed": keyed, "again": again}
    options["one_question"] = survey.one_question
    task = partial(_privatize, answers.resolve(), reports.resolve(), seed, options, shows_values())
    points = {name: (name, number) for number, name in enumerate(names) if name not in rows}
    total = len(names)
    before_run = len(rows)
    report = None if progress is None else lambda done, _: progress(before_run + done, total)
    rows |= run(task, points, RunOptions(jobs, executor, None, report)).complete("files", str)
    shutil.rmtree(reports / PARTS, ignore_errors=True)  # with the parts of killed workers
    return sum(rows.values())


def count_folder(
    folder: str | os.PathLike[str],
    questions: Mapping[str, Any] | Survey,
    *,
    weights: str | None = None,
    jobs: int = 1,
    executor: Any = None,
    progress: Progress | None = None,
) -> dict[str, Counts]:
    """Count the reports of each question in a folder of Parquet files; on a cluster only counts are
    sent.

    Parameters
    ----------
    folder : path
        The target of `privatize_folder`. On a cluster, every worker must be able to read it.
    questions : mapping column -> Mechanism, design, Problem or Question, or Survey
        The randomizer that drew each column.
    weights : str, optional
        Column with the weight of each person; default: all 1.
    jobs, executor, progress
        As in `privatize_folder`; default: ``1``, ``None`` and ``None``.

    Returns
    -------
    dict column -> Counts
        Input of `Survey.estimate`, or column by column of `estimate_frequencies` and the
        ``estimate`` of a design.

    Raises
    ------
    StatementError
        If an entry is not a report of its question.
    ModelFileError
        If a file cannot be read, or its reports were drawn by another mechanism according to their
        origin.
    """
    require_path(folder)
    points = {name: name for name in _names(Path(os.fsdecode(folder)))}
    survey = survey_of(questions)
    weights = survey.weights if weights is None else weights
    task = partial(
        _count, Path(os.fsdecode(folder)).resolve(), survey.columns, weights, shows_values()
    )
    results = run(task, points, RunOptions(jobs, executor, None, progress)).complete("files", str)
    return {
        column: sum((counts[column] for counts in results.values()), 0) for column in survey.columns
    }


def survey_of(questions: Mapping[str, Any] | Survey) -> Survey:
    """The survey itself, or for randomizers by column the survey in which everybody gets all
    questions.
    """
    if isinstance(questions, Survey):
        return questions
    if not isinstance(questions, Mapping):
        raise StatementError(
            "there are no questions",
            code="no-question",
            do='pass {"column": mechanism, ...} or a Survey',
        )
    return Survey(questions)


def _privatize(
    source: Path,
    target: Path,
    seed: Any,
    options: dict[str, Any],
    shows: bool,
    point: tuple[str, int],
) -> int:
    """Write the reports of one file, and return the number of its rows."""
    name, number = point
    finished = target / name
    if not finished.exists():  # a cluster repeats a task if it lost the result
        part = target / PARTS / f"{uuid.uuid4().hex}.parquet"
        rng = None if seed is None else child_seed(seed, number)
        try:
            with showing_values(shows):
                privatize_file(source / name, part, rng=rng, **options)
            with file_errors("cannot write the file", finished):
                _publish(part, finished)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()
    return _rows(finished)


def _publish(part: Path, finished: Path) -> None:
    """Give a file its name, unless a worker that was thought to be dead has written it."""
    try:
        os.link(part, finished)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not finished.exists():
            os.replace(part, finished)


def _count(
    folder: Path,
    columns: Mapping[str, tuple[ReportSource, Missing]],
    weights: str | None,
    shows: bool,
    name: str,
) -> dict[str, Counts]:
    """Count the reports of one file."""
    with showing_values(shows):
        return {
            column: counts[ALL]
            for column, counts in count_file(str(folder / name), columns, weights).items()
        }


def _names(folder: Path) -> list[str]:
    """Names of the tables of a folder, sorted."""
    with file_errors("cannot read the folder", folder):
        names = sorted(path.name for path in folder.iterdir() if _is_table(path))
    if not names:
        raise ModelFileError(
            "the folder has no Parquet files",
            code="empty-folder",
            where=str(folder),
            do=f"files end in {ENDINGS[0]}",
        )
    return names


def _is_table(path: Path) -> bool:
    return path.suffix in ENDINGS and not path.name.startswith(".")


def _finished_rows(target: Path, origins: Mapping[str, dict[str, Any]]) -> dict[str, int]:
    """Number of rows of each file that an earlier call wrote; files of another survey are
    refused.
    """
    rows = {}
    for path in filter(_is_table, sorted(target.iterdir())):
        stated = read_origin(str(path)) or {}
        origin = origins.get(path.name)
        if origin is None or any(
            stated.get(key) != origin[key] for key in ("questions", "asked", "unprotected", "key")
        ):
            problem = (
                "the folder has a file that this call would not write: of other answers, "
                "questions or keys"
            )
            raise ModelFileError(
                problem,
                code="foreign-file",
                where=str(path),
                do="name an empty folder; reports are never replaced",
            )
        rows[path.name] = _rows(path)
    return rows


def _rows(path: Path) -> int:
    return int(optional.pyarrow_parquet.read_metadata(path).num_rows)
