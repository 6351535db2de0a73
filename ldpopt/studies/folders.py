"""Surveys in folders of Parquet files: privatized and counted file by file, in worker processes or on a cluster."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.errors import LdpoptError, ModelFileError, StatementError, showing_values, shows_values
from ldpopt.estimation.counts import Counts, ReportSource
from ldpopt.estimation.reports import count_file
from ldpopt.mechanism.files import origin_of_reports
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import OneQuestion, Question
from ldpopt.mechanism.sampling import Random, child_seed, seed_of
from ldpopt.processes.pool import Finished, Lost, run
from ldpopt.surveys.survey import Survey
from ldpopt.tables.coding import Missing
from ldpopt.tables.origin import merged, read_origin, require_raw

ENDINGS = (".parquet", ".pq")

PARTS = ".parts"
"""Folder in the target of the files that are being written."""

Progress = Callable[[int, int], None]


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
    """Write the reports of a folder of answers, file by file, once.

    A file appears in the target whole or not at all, and is never replaced: after whatever ended the run, the same call
    draws for the files that are missing, so that nobody's answer is drawn twice.

    Parameters
    ----------
    source, target : path
        Folders; every file of the source that ends in ``.parquet`` or ``.pq`` has one of the same name in the target.
        On a cluster, every worker has to see both.
    questions : mapping column -> Mechanism, design, Problem or Question, or Survey
        How each column becomes reports.
    keep : sequence of str
        Other columns to copy, unprotected; default: ``()``.
    rng : SeedSequence or int, optional
        Makes the draws repeatable, for tests only; each file draws from a seed of its own. Default: the operating
        system's generator, on each worker that of its own.
    key : SecretKey or bytes, optional
        Makes the draws repeatable person by person; see `Mechanism.privatize`. Default: none.
    id : str, optional
        Column of the ids, with ``key``; none comes twice in a file. Who is in several files gets the same report.
    again : bool
        Whether columns that are reports already, as their files say, may be privatized once more; default: ``False``.
    jobs : int
        Processes; default: ``1``. -1 for one on each core.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Works instead of processes of our own.
    progress : callable, optional
        Called with (finished, total) after each file.

    Returns
    -------
    int
        Number of rows in the target.

    Raises
    ------
    StatementError
        If an entry is no answer, or as in `Survey`.
    ModelFileError
        If a folder or file cannot be read or written, has reports already, or the target has files of another survey.
    LdpoptError
        If worker processes died three times at the same file.
    KeyboardInterrupt
        After Ctrl-C or SIGTERM; the files that are finished stay.
    """
    survey = survey_of(questions)
    rules, kept = survey.questions, survey.kept(keep)
    keyed = Keyed.read(key, id, rng)
    folder, goal = Path(source), Path(target)
    names = _names(folder)
    if goal.resolve() == folder.resolve():
        raise ModelFileError(
            "the reports would be written among the answers", where=str(goal), do="name another folder"
        )
    before = {name: read_origin(str(folder / name)) for name in names}
    for name, origin in before.items():
        if origin is not None and not again:
            require_raw(origin, rules, _schema(folder / name).names, str(folder / name))
    with _told("cannot write the folder", goal):
        (goal / PARTS).mkdir(parents=True, exist_ok=True)
    new = origin_of_reports(rules, kept, keyed, survey.one_question)
    finished = _finished(goal, {name: merged(new, origin) for name, origin in before.items()})
    seeds = None if rng is None else seed_of(rng)
    how = (keyed, survey.one_question, again, shows_values())
    task = _Privatize(folder.resolve(), goal.resolve(), rules, kept, seeds, *how)
    points = {name: (name, number) for number, name in enumerate(names) if name not in finished}
    total, done = len(names), len(finished)
    heard = None if progress is None else lambda now, _: progress(done + now, total)
    results = _results(run(task, points, jobs=jobs, executor=executor, progress=heard))
    shutil.rmtree(goal / PARTS, ignore_errors=True)  # with what killed workers have left
    rows: int = sum(results.values()) + sum(finished.values())
    return rows


def count_folder(
    folder: str | os.PathLike[str],
    questions: Mapping[str, Any] | Survey,
    *,
    weights: str | None = None,
    jobs: int = 1,
    executor: Any = None,
    progress: Progress | None = None,
) -> dict[str, Counts]:
    """Count the reports of each question in a folder of Parquet files; only counts travel.

    Parameters
    ----------
    folder : path
        What `privatize_folder` wrote. On a cluster, every worker has to see it.
    questions : mapping column -> Mechanism, design, Problem or Question, or Survey
        What drew each column.
    weights : str, optional
        Column with the weight of each person; default: all 1.
    jobs, executor, progress
        As in `privatize_folder`; default: ``1`` and none.

    Returns
    -------
    dict column -> Counts
        For `Survey.estimate`, or one by one for `estimate_frequencies` and the ``estimate`` of a design.

    Raises
    ------
    StatementError
        If an entry is no report of its question.
    ModelFileError
        If a file cannot be read, or says that its reports were drawn by another mechanism.
    LdpoptError
        If worker processes died three times at the same file.
    """
    place = Path(folder)
    points = {name: name for name in _names(place)}
    survey = survey_of(questions)
    weights = survey.weights if weights is None else weights
    task = _Count(place.resolve(), survey.columns, weights, shows_values())
    results = _results(run(task, points, jobs=jobs, executor=executor, progress=progress))
    return {column: sum((found[column] for found in results.values()), 0) for column in task.columns}


def survey_of(questions: Mapping[str, Any] | Survey) -> Survey:
    """How each column becomes reports: a survey, or the one in which all questions are asked."""
    if isinstance(questions, Survey):
        return questions
    if not isinstance(questions, Mapping):
        raise StatementError("there are no questions", do='pass {"column": mechanism, ...} or a Survey')
    return Survey(questions)


@dataclass(frozen=True)
class _Privatize:
    """Writes the reports of one file; the number of its rows."""

    source: Path
    target: Path
    rules: dict[str, Question]
    keep: tuple[str, ...]
    seed: np.random.SeedSequence | None
    keyed: Keyed | None
    one_question: OneQuestion | None
    again: bool
    shows: bool

    def __call__(self, point: tuple[str, int]) -> int:
        with showing_values(self.shows):
            return self._written(*point)

    def _written(self, name: str, number: int) -> int:
        if (self.target / name).exists():  # a cluster does a task again whose result it has lost
            return _rows(self.target / name)
        part = self.target / PARTS / f"{uuid.uuid4().hex}.parquet"
        rng = None if self.seed is None else child_seed(self.seed, number)
        try:
            how: dict[str, Any] = {"keep": self.keep, "rng": rng, "keyed": self.keyed, "again": self.again}
            how["one_question"] = self.one_question
            rows = privatize_file(self.source / name, part, self.rules, **how)
            with _told("cannot write the file", self.target / name):
                return self._published(part, self.target / name, rows)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()

    def _published(self, part: Path, whole: Path, rows: int) -> int:
        """Give a file its name, unless another worker, thought dead, has done so before."""
        try:
            os.link(part, whole)
        except FileExistsError:
            return _rows(whole)
        except OSError:  # a file system without links
            if whole.exists():
                return _rows(whole)
            os.replace(part, whole)
        return rows


@dataclass(frozen=True)
class _Count:
    """Counts the reports of one file."""

    folder: Path
    columns: dict[str, tuple[ReportSource, Missing]]
    weights: str | None
    shows: bool

    def __call__(self, name: str) -> dict[str, Counts]:
        with showing_values(self.shows):
            return count_file(str(self.folder / name), self.columns, self.weights)


def _names(folder: Path) -> list[str]:
    """Names of the tables of a folder, sorted."""
    with _told("cannot read the folder", folder):
        found = sorted(
            path.name for path in folder.iterdir() if path.suffix in ENDINGS and not path.name.startswith(".")
        )
    if not found:
        raise ModelFileError("the folder has no Parquet files", where=str(folder), do=f"files end in {ENDINGS[0]}")
    return found


def _finished(target: Path, origins: Mapping[str, dict[str, Any]]) -> dict[str, int]:
    """Rows of the files that an earlier start has written; files of another survey are refused."""
    found = {}
    for path in sorted(target.iterdir()):
        if path.suffix not in ENDINGS or path.name.startswith("."):
            continue
        stated = read_origin(str(path)) or {}
        facts = ("questions", "asked", "unprotected", "key")
        origin = origins.get(path.name)
        if origin is None or any(stated.get(fact) != origin[fact] for fact in facts):
            what = "the folder has a file that this call would not write: it is of other answers, questions or a key"
            raise ModelFileError(what, where=str(path), do="name an empty folder; reports are never replaced")
        found[path.name] = _rows(path)
    return found


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    rows: int = pq.read_metadata(path).num_rows
    return rows


def _schema(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.read_schema(path)


def _results(finished: Finished) -> dict[str, Any]:
    """Results of all files; an error where the run was interrupted, or workers died."""
    if finished.interrupted:
        raise KeyboardInterrupt(f"{len(finished.results)} files are finished")
    for name, found in finished.results.items():
        if isinstance(found, Lost):
            raise LdpoptError(found.reason, where=str(name), do="start again; what is finished stays")
    return finished.results


@contextmanager
def _told(what: str, path: Path) -> Iterator[None]:
    """Tell errors of the system in our words."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise ModelFileError(f"{what}: {why}", where=str(path), do="check the path") from None
