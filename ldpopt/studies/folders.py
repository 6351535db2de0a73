"""Surveys in folders of tables: privatized and counted file by file, in worker processes or on a
cluster.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ldpopt.errors import ModelFileError, StatementError, showing_values, shows_values
from ldpopt.estimation.counts import Counts, ReportSource
from ldpopt.estimation.reports import ALL, count_part, same_groups
from ldpopt.estimation.tallies import require_few_groups
from ldpopt.foundation.files import file_errors, require_path
from ldpopt.foundation.numbers import require_function, require_text, truth
from ldpopt.foundation.seeds import Random, child_seed, seed_of
from ldpopt.mechanism.files import origin_of_reports
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.privatizing import columns_of_answers, of_table, privatize_file
from ldpopt.mechanism.questions import Question
from ldpopt.processes.pool import run
from ldpopt.processes.run import RunOptions
from ldpopt.studies.folder_plan import AnswersFile, Plan
from ldpopt.surveys.count import of_the_same_people
from ldpopt.surveys.survey import Survey
from ldpopt.tables.coding import Missing
from ldpopt.tables.csv_format import CsvFormat, csv_format, reading_csv_as
from ldpopt.tables.files import position_of, reading
from ldpopt.tables.folder import TablePart
from ldpopt.tables.inventory import Checked, FileFacts, facts_of
from ldpopt.tables.origin import merged, read_origin, require_raw
from ldpopt.tables.places import MEMORY, beside, is_address, joined, place_of, plain, store_of

PARTS = ".parts"  # ending of the folder beside the target for files that are being written
Progress = Callable[[int, int], None]
SHARED = "name a folder on a disk that all workers share, or an address of a store such as s3://"


Rules = tuple[bool, CsvFormat]  # whether messages may quote answers, and how CSV is read


def _rules() -> Rules:
    """What holds here, for workers."""
    return shows_values(), csv_format()


@contextmanager
def _following(rules: Rules) -> Iterator[None]:
    """Let a worker follow the rules of the caller."""
    shows, form = rules
    separator, encoding = form.separator, form.encoding
    with showing_values(shows), reading_csv_as(separator=separator, encoding=encoding):
        yield


def _places(source: Any, target: Any, again: Any, progress: Any) -> tuple[str, str]:
    """Read the folders; refuse arguments of `privatize_folder` of another kind."""
    require_path(source)
    require_path(target)
    truth(again, "again")
    if progress is not None:
        require_function(progress, "progress")
    answers = _absolute(source)
    reports = _absolute(target)
    if (answers + "/").startswith(reports + "/") or (reports + "/").startswith(answers + "/"):
        raise ModelFileError(
            "the reports would be written among the answers",
            code="same-folder",
            where=reports,
            do="name another folder",
        )
    return answers, reports


def _absolute(path: Any) -> str:
    """A folder as every process finds it."""
    place = place_of(path)
    return plain(place) if is_address(place) else os.path.realpath(place)


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
    recursive: bool = False,
    jobs: int = 1,
    executor: Any = None,
    progress: Progress | None = None,
) -> int:
    """Write the reports of a folder of answers, file by file.

    A file appears in the target whole or not at all, and is never replaced. If a run ended early,
    the same call writes only the files that are missing, so no answer is randomized twice. An
    inventory beside the target, ``NAME.inventory.json``, says which files it has; `count_folder`
    compares it. ``NAME.sources.json`` records what was read, for a repeated call: keep it with the
    answers.

    Parameters
    ----------
    source, target : path
        Folders, or addresses such as ``"s3://bucket/answers"``. Every file of the source is a
        table, Parquet, CSV or packed CSV, or is refused by name; its reports are a Parquet file of
        the target. Folders such as ``country=de`` name a column. On a cluster, every worker must
        be able to read and write both.
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
        gets the same report for the same answer, and another one for another answer: `check_ids`
        finds them.
    again : bool
        Whether columns may be privatized that are reports already, by the origin in their files;
        default: ``False``.
    recursive : bool
        Whether the files of subfolders are read, too; otherwise a subfolder is refused. Default:
        ``False``.
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
        If a folder or file cannot be read or written, has reports already, is a copy of another
        one, or was changed since its reports were drawn; or if the target has other files.
    KeyboardInterrupt
        After Ctrl-C or SIGTERM; finished files are kept.
    """
    answers, reports = _places(source, target, again, progress)
    survey = survey_of(questions)
    kept = survey.kept(keep)
    keyed = Keyed.read(key, id, rng)
    options = RunOptions(jobs, executor)
    _require_own_memory(answers, reports, options)
    folder = Checked(answers, truth(recursive, "recursive"))
    drawing: dict[str, Any] = {"questions": survey.asked, "keep": kept, "keyed": keyed}
    drawing |= {"again": again, "one_question": survey.one_question}
    sources = _answers_files(folder, drawing, options)
    new = origin_of_reports(survey.asked, kept, keyed, survey.one_question)
    plan = Plan(reports, new, keyed)
    plan.of(sources, folder.listing.beside)
    _make_folders(reports)
    plan.begin()
    seed = None if rng is None else seed_of(rng)
    task = partial(_privatize, reports, seed, drawing, _rules())
    points = {
        each.target: (each, plan.inventory.parts[each.target].id, place)
        for place, (_, each) in enumerate(sorted(sources.items()))
    }
    options = RunOptions(jobs, executor, None, progress)
    drawn = run(task, points, options).complete("files", str)
    plan.finish(drawn)
    if not is_address(reports):
        shutil.rmtree(beside(reports, PARTS), ignore_errors=True)  # with those of killed workers
    return sum(facts.rows or 0 for facts in drawn.values())


def count_folder(
    folder: str | os.PathLike[str],
    questions: Mapping[str, Any] | Survey,
    *,
    weights: str | None = None,
    by: str | None = None,
    recursive: bool = False,
    jobs: int = 1,
    executor: Any = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Count the reports of each question in a folder of tables; on a cluster only counts are sent.

    The inventory beside the folder, if there is one, is compared: an unfinished, incomplete or
    changed folder is refused, and so are files that are there twice.

    Parameters
    ----------
    folder : path
        The target of `privatize_folder`, or its address. On a cluster, every worker must be able
        to read it.
    questions : mapping column -> Mechanism, design, Problem or Question, or Survey
        The randomizer that drew each column.
    weights : str, optional
        Column with the weight of each person; default: all 1.
    by : str, optional
        Column of groups, also one that folders such as ``country=de`` name; default: none.
    recursive : bool
        Whether the files of subfolders are read, too; those of an inventory always are. Default:
        ``False``.
    jobs, executor, progress
        As in `privatize_folder`; default: ``1``, ``None`` and ``None``.

    Returns
    -------
    dict column -> Counts, or column -> group -> Counts with ``by``
        Input of `Survey.estimate`, or column by column of `estimate_frequencies` and the
        ``estimate`` of a design.

    Raises
    ------
    StatementError
        If an entry is not a report of its question.
    ModelFileError
        If a file cannot be read, is missing, there twice or changed, or its reports were drawn by
        another mechanism according to their origin.
    """
    require_path(folder)
    survey = survey_of(questions)
    weights = survey.weights if weights is None else weights
    if by is not None:
        require_text(by, "by")
        if by in survey.columns:
            raise StatementError(
                f"the column {by!r} has reports, not groups",
                code="group",
                do="name another column",
            )
    place = _absolute(folder)
    options = RunOptions(jobs, executor, None, progress)
    _require_own_memory(place, place, options)
    checked = Checked(place, truth(recursive, "recursive"))
    task = partial(_count, survey.columns, weights, by, _rules())
    results = run(task, checked.parts, options).complete("files", str)
    checked.compare({name: facts for name, (facts, _) in results.items()})
    merged_counts = same_groups([counts for _, counts in results.values()])
    for groups in merged_counts.values():
        require_few_groups(list(groups), f"{place}, column {by}")
    counts = of_the_same_people(merged_counts)
    return counts if by is not None else {name: each[ALL] for name, each in counts.items()}


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


def _answers_files(
    folder: Checked, drawing: Mapping[str, Any], options: RunOptions
) -> dict[str, AnswersFile]:
    """Look at all files of answers, before anything is drawn: columns, content, origin."""
    read = columns_of_answers(drawing["questions"])
    _require_no_answers_in_names(folder, read)
    keyed = drawing["keyed"]
    kept = [*drawing["keep"], *([] if keyed is None else [keyed.id])]
    look = partial(_look, drawing["questions"], kept, drawing["again"], _rules())
    looked = run(look, folder.parts, options).complete("files", str)
    folder.compare({name: facts for name, (facts, _) in looked.items()})
    new = origin_of_reports(drawing["questions"], drawing["keep"], keyed, drawing["one_question"])
    return {
        name: AnswersFile(folder.parts[name], facts, merged(new, origin))
        for name, (facts, origin) in looked.items()
    }


def _require_own_memory(source: str, target: str, options: RunOptions) -> None:
    """Refuse worker processes for the memory of this one."""
    if options.jobs != 1 and (source.startswith(MEMORY) or target.startswith(MEMORY)):
        raise StatementError(
            "other processes do not see memory://, which is the memory of this one",
            code="memory",
            do="leave jobs out (-j), or name a folder",
        )


def _require_no_answers_in_names(folder: Checked, columns: Sequence[Any]) -> None:
    """Refuse folders whose names have answers: which file a report is in would tell them."""
    for part in folder.parts.values():
        if told := [column for column, _ in part.groups if column in columns]:
            raise ModelFileError(
                f"the folders name the answers to {told[0]!r}: which file a report is in would "
                "tell the answer",
                code="answers-in-names",
                where=folder.folder,
                do="write the table without folders for this column",
            )


def _make_folders(target: str) -> None:
    """Make the target, and the folder beside it for parts, which must be on the same disk."""
    if is_address(target):
        return
    parts = beside(target, PARTS)
    with file_errors("cannot write the folder", target):
        Path(target).mkdir(parents=True, exist_ok=True)
        Path(parts).mkdir(exist_ok=True)
        if os.stat(target).st_dev == os.stat(parts).st_dev:
            return
        Path(parts).rmdir()
    raise ModelFileError(
        "the folder is a disk of its own, and files cannot be moved into it at once",
        code="mount",
        where=target,
        do="name a folder in it",
    )


def _require_seen(path: str, kind: str) -> None:
    """Refuse a worker that does not see what the caller sees."""
    if store_of(path).kind(path) != kind:
        raise ModelFileError(
            f"a worker does not find this {kind}", code="not-shared", where=path, do=SHARED
        )


def _look(
    questions: Mapping[str, Question],
    kept: Sequence[str],
    again: bool,
    rules: Rules,
    part: TablePart,
) -> tuple[FileFacts, dict[str, Any] | None]:
    """FileFacts and origin of a file of answers; refuse one without the columns that are needed, or
    unless ``again`` is true one whose columns of answers are reports.
    """
    with _following(rules):
        _require_seen(part.path, "file")
        origin = read_origin(part.path)
        with reading(part) as table:
            read = columns_of_answers(of_table(questions, table.columns))
            if not again:
                require_raw(origin, read, table.columns, part.path)
            for column in (*read, *kept):
                position_of(table, column)
        return facts_of(part, origin), origin


def _privatize(
    target: str,
    seed: Any,
    options: dict[str, Any],
    rules: Rules,
    point: tuple[AnswersFile, str | None, int],
) -> FileFacts:
    """Write the reports of one file, unless they are there, and return the facts of their file."""
    source, id, number = point
    name = source.target
    finished = joined(target, name)
    if (
        store_of(finished).kind(finished) != "file"
    ):  # a cluster repeats a task if it lost the result
        if not is_address(target):
            _require_seen(target, "folder")
        rng = None if seed is None else child_seed(seed, number)
        with _following(rules), _part(target, finished) as part:
            _require_unchanged(source, store_of(source.part.path).size(source.part.path), None)
            rows = privatize_file(source.part, part, rng=rng, part=id, **options)
            _require_unchanged(source, None, rows)
    facts = facts_of(TablePart(target, name))
    if facts.id != id:
        raise ModelFileError(
            f"{name!r} was written by another run",
            code="foreign-file",
            where=target,
            do="let one run write into a folder",
        )
    return facts


def _require_unchanged(source: AnswersFile, size: int | None, rows: int | None) -> None:
    """Refuse a file that changes while it is read."""
    facts = source.facts
    if size not in (None, facts.size) or (None not in (rows, facts.rows) and rows != facts.rows):
        raise ModelFileError(
            "the file was changed while it was read",
            code="changing-file",
            where=source.part.path,
            do="wait until it is complete, and repeat the call",
        )


@contextmanager
def _part(target: str, finished: str) -> Iterator[str]:
    """A path to write to, which becomes the finished file when the block ends, unless there is one
    by then: a worker that was thought to be dead has written it.
    """
    name = f"{uuid.uuid4().hex}.parquet"
    if is_address(target):
        with tempfile.TemporaryDirectory() as folder:
            part = os.path.join(folder, name)
            yield part
            store_of(finished).create(part, finished)
        return
    part = os.path.join(beside(target, PARTS), name)
    try:
        os.makedirs(beside(target, PARTS), exist_ok=True)
        yield part
        with file_errors("cannot write the file", finished):
            store_of(finished).create(part, finished)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _count(
    columns: Mapping[str, tuple[ReportSource, Missing]],
    weights: str | None,
    by: str | None,
    rules: Rules,
    part: TablePart,
) -> tuple[FileFacts, dict[str, dict[Hashable, Counts]]]:
    """FileFacts of one file, and its counts by column and group."""
    with _following(rules):
        _require_seen(part.path, "file")
        return facts_of(part), count_part(part, columns, weights, by)
