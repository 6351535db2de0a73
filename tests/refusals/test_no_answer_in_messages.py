"""No message, chain of errors, log or file contains an answer, in whatever form the answers are
passed."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders import run_cli
from ldpopt import (
    Counts,
    Mechanism,
    PureLDP,
    SecretKey,
    Survey,
    Workload,
    count_folder,
    design,
    estimate_frequencies,
    mean,
    privatize_folder,
)
from ldpopt.closed_forms import randomized_response
from ldpopt.errors import LdpoptError, StatementError, showing_values
from ldpopt.frequencies import FrequencyProtocol
from ldpopt.studies.experiment import Resampled
from ldpopt.tables.files import reading

CANARY, NUMBER = "Yess-kanarie", 73519.25
"""An answer near the label ``yes``, and a number that is in no domain."""

SECRETS = ("kanarie", "73519", "did you mean")

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
DIGITS = Mechanism([[0.75, 0.25], [0.25, 0.75]])
SETS = design(Workload.frequencies(list("abcde")), PureLDP(1.0))
SURVEY = Survey({"q": COIN})
KEY = SecretKey(bytes(range(32)))

COLUMN = ["no", CANARY, "yes"]
FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.DataFrame,
    "objects": lambda columns: pd.DataFrame(
        {name: pd.Series(one, dtype=object) for name, one in columns.items()}
    ),
    "categories": lambda columns: pd.DataFrame(columns).astype("category"),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "arrow": lambda columns: pa.table(columns),
}


def chain(error: BaseException | None) -> Iterator[str]:
    """Texts and attributes of an error and of those before it."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield from (
            str(error),
            repr(error),
            repr(error.args),
            repr(vars(error)),
            str(getattr(error, "doc", "")),
        )
        yield from getattr(error, "__notes__", ())
        if error.__cause__ is not None:
            yield from chain(error.__cause__)
        error = error.__context__


def require_silent(*texts: str) -> None:
    for text in texts:
        for word in SECRETS:
            assert word not in text, text


@pytest.fixture
def silent(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], recwarn: Any
) -> Iterator[None]:
    with caplog.at_level(logging.DEBUG):
        yield
    require_silent(caplog.text, *capfd.readouterr(), *(str(one.message) for one in recwarn))


def require_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(LdpoptError) as refused:
        call()
    require_silent(*chain(refused.value))


LISTS: dict[str, Callable[[], Any]] = {
    "sample": lambda: COIN.sample(COLUMN),
    "sample of an array": lambda: COIN.sample(np.array(COLUMN)),
    "sample of a series": lambda: COIN.sample(pd.Series(COLUMN)),
    "sample of a text": lambda: COIN.sample(CANARY),
    "sample of lists": lambda: COIN.sample([["no"], [CANARY]]),
    "sample of codes": lambda: DIGITS.sample([0, 73519]),
    "sample with a key": lambda: COIN.sample(COLUMN, key=KEY, id=["a", "b", "c"]),
    "ids of several kinds": lambda: COIN.sample(["no", "yes"], key=KEY, id=[1, CANARY]),
    "ids of floats": lambda: COIN.sample(["no", "yes"], key=KEY, id=[1.0, NUMBER]),
    "the same id twice": lambda: COIN.sample(["no", "yes"], key=KEY, id=[CANARY, CANARY]),
    "privatize a list": lambda: COIN.privatize(COLUMN),
    "counts": lambda: Counts.of(COIN, COLUMN),
    "counts of a series": lambda: Counts.of(COIN, pd.Series(COLUMN)),
    "counts of polars": lambda: Counts.of(COIN, pl.Series(COLUMN)),
    "counts of arrow": lambda: Counts.of(COIN, pa.array(COLUMN)),
    "counts of mixed objects": lambda: Counts.of(COIN, pd.Series([1, CANARY, None], dtype=object)),
    "counts of a stream": lambda: Counts.of(COIN, iter(COLUMN)),
    "counts of a text": lambda: Counts.of(COIN, CANARY),
    "counts of dates": lambda: Counts.of(COIN, [(CANARY,), {CANARY}]),
    "counts by label": lambda: Counts.of(COIN, {CANARY: 3}),
    "counts by person": lambda: Counts.of(COIN, {"no": CANARY}),
    "counts by person in a series": lambda: Counts.of(COIN, pd.Series({"no": CANARY, "yes": "no"})),
    "value counts": lambda: Counts.of(COIN, pd.Series(COLUMN).value_counts()),
    "value counts twice": lambda: Counts.of(
        COIN, pd.Series([1, 2], index=[CANARY, CANARY], name="count")
    ),
    "value counts of polars": lambda: Counts.of(COIN, pl.Series("a", COLUMN).value_counts()),
    "counts of numbers": lambda: Counts.of(DIGITS, {0: NUMBER}),
    "weights": lambda: Counts.of(COIN, ["no", "yes"], weights=[1, CANARY]),
    "weights below 0": lambda: Counts.of(COIN, ["no", "yes"], weights=[1, -NUMBER]),
    "weights by answer": lambda: Counts.of(
        COIN, pd.Series(["no"], index=[CANARY]), weights=pd.Series([1.0])
    ),
    "weights of answers": lambda: Counts.of(
        COIN, pd.Series(["no"]), weights=pd.Series([1.0], index=[CANARY])
    ),
    "weights twice": lambda: Counts.of(
        COIN, pd.Series(["no"]), weights=pd.Series([1.0, 2.0], index=[CANARY] * 2)
    ),
    "estimate": lambda: estimate_frequencies(COIN, COLUMN),
    "estimate by likelihood": lambda: estimate_frequencies(
        COIN, COLUMN, method="maximum_likelihood"
    ),
    "design": lambda: design(Workload.prefix(["low", "mid", "top"]), PureLDP(1.0)).estimate(
        [CANARY]
    ),
    "closed form": lambda: randomized_response(3, 1.0).mechanism.sample([CANARY]),
    "sampler": lambda: randomized_response(3, 1.0).sampler.sample([0, 73519]),
    "sampler of texts": lambda: randomized_response(3, 1.0).sampler.sample([CANARY]),
    "local copies": lambda: SURVEY.estimate({"q": COLUMN}),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.usefixtures("silent")
def test_lists(name: str) -> None:
    require_refused(LISTS[name])


@pytest.mark.parametrize("protocol", FrequencyProtocol.PUBLISHED)
@pytest.mark.parametrize("inputs", [4, list("abcd")])
@pytest.mark.usefixtures("silent")
def test_frequency_protocols(protocol: Any, inputs: Any) -> None:
    found = protocol(inputs, 1.0)
    for answers in ([CANARY], np.array([CANARY]), [0, 73519], [NUMBER], CANARY, [[CANARY]]):
        require_refused(lambda answers=answers: found.privatize(answers))
        require_refused(lambda answers=answers: found.estimate(answers))
    require_refused(lambda: found.estimate([[1, 0, 0, 73519]]))


MEANS: dict[str, Callable[[], Any]] = {
    **{kind.__name__: kind for kind in mean.NumberProtocol.PUBLISHED},
    "without privacy": lambda epsilon: mean.NoPrivacy(),
    "not private": mean.rcp_opt,
    "designed": lambda epsilon: mean.designed([0.0, 0.5, 1.0], [-2.0, 3.0], epsilon),
    "DuchiVector": lambda epsilon: mean.DuchiVector(epsilon, 2),
    "sampled": lambda epsilon: mean.sampled(mean.Duchi(epsilon), attributes=2),
    "sampled without Duchi": lambda epsilon: mean.sampled(mean.Laplace(epsilon), attributes=2),
}


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.usefixtures("silent")
def test_mean_protocols(name: str) -> None:
    protocol = MEANS[name](1.0)
    for answers in (
        [0.5, NUMBER],
        [0.5, CANARY],
        np.array([0.5, NUMBER]),
        CANARY,
        [[NUMBER, NUMBER]],
        [CANARY, object()],
    ):
        require_refused(lambda answers=answers: protocol.privatize(answers))
        require_refused(lambda answers=answers: protocol.variance(answers))
    for reports in ([0.5, 1e200], [CANARY], [[0.5, CANARY]]):
        require_refused(lambda reports=reports: protocol.estimate(reports))
    if np.isfinite(getattr(protocol, "report_range", (np.inf,))).all():
        require_refused(lambda: protocol.estimate([0.0, NUMBER]))


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.usefixtures("silent")
def test_dataframes(library: str) -> None:
    make = FRAMES[library]
    keyed = {"key": KEY, "id": "i"}
    frame = make({"q": COLUMN, "w": COLUMN, "i": ["a", "b", "c"]})
    answers = make({"q": ["no", "yes", "no"], "i": [CANARY, CANARY, "c"], "w": [CANARY] * 3})
    require_refused(lambda: COIN.privatize(frame, "q"))
    require_refused(lambda: COIN.privatize(frame, "q", **keyed))
    require_refused(lambda: COIN.privatize(answers, "q", **keyed))
    require_refused(lambda: SURVEY.privatize(frame))
    require_refused(lambda: SURVEY.count(frame))
    require_refused(lambda: SURVEY.estimate(answers, weights="w"))
    require_refused(lambda: Counts.of(COIN, frame, column="q"))
    require_refused(lambda: Counts.of(COIN, answers, column="q", weights="w"))
    require_refused(lambda: Survey({"q": SETS}).count(frame))
    if library in ("objects", "polars"):
        mixed = FRAMES[library]({"q": ["no", 3, CANARY], "i": ["a", "b", "c"]})
        for survey in (SURVEY, Survey({"q": SETS})):
            require_refused(lambda survey=survey: survey.count(mixed))
            require_refused(lambda survey=survey: survey.privatize(mixed))
    numbers = make({"q": [0.0, 1.0, NUMBER]})
    require_refused(lambda: DIGITS.privatize(numbers, "q"))
    require_refused(lambda: Counts.of(DIGITS, numbers, column="q"))


def write(path: Path, text: str) -> Path:
    """A table as CSV, or as Parquet with columns of text."""
    if path.suffix == ".parquet":
        rows = [line.split(",") for line in text.splitlines()]
        pq.write_table(
            pa.table({name: [row[at] for row in rows[1:]] for at, name in enumerate(rows[0])}), path
        )
    else:
        path.write_text(text)
    return path


TABLES = {
    "an unknown answer": f"q,w,i\nno,1,a\n{CANARY},1,b\n",
    "a weight": f"q,w,i\nno,1,a\nyes,{CANARY},b\n",
    "ids": f"q,w,i\nno,1,{CANARY}\nyes,1,{CANARY}\n",
}
BROKEN = {
    "a field too many": f"q,w,i\nno,1,a\n{CANARY},{CANARY},{CANARY},{CANARY}\n",
    "a field too few": f"q,w,i\nno,1,a\n{CANARY}\n",
    "no UTF-8": f"q,w,i\nno,1,a\n{CANARY}\xff,1,b\n",
    "an open quotation": f'q,w,i\nno,1,a\n"{CANARY},1,b\n',
    "a long line": "q,w,i\n" + CANARY * 400_000 + ",1,b\n",
    "no header": f"{CANARY},3,yes\nno,1,yes\n",
    "no header, one column": f"{NUMBER}\n1\n",
    "no header, one answer twice": f"{CANARY},{CANARY}\nno,yes\n",
    "a header that is no text": f"{CANARY}\xff,q\nno,yes\n",
    "a header with an open quotation": f'"{CANARY}\nno\n',
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", [*TABLES, *BROKEN])
@pytest.mark.usefixtures("silent")
def test_files_and_commands(
    tmp_path: Path, name: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in BROKEN and ending == "parquet":
        pytest.skip("text only")
    monkeypatch.chdir(tmp_path)
    COIN.save("coin.json")
    SURVEY.save("survey.json")
    SETS.certificate.save("sets.json")
    KEY.save("key.json")
    table = Path(f"answers.{ending}")
    if name in TABLES:
        write(table, TABLES[name])
    else:
        table.write_bytes(BROKEN[name].encode("latin-1"))
    before = set(tmp_path.iterdir())
    ways: list[Callable[[], Any]] = [
        lambda: SURVEY.privatize_file(table, "out.csv", keep=["w"], key=KEY, id="i"),
        lambda: SURVEY.count(table, weights="w"),
        lambda: Survey({"q": SETS}).count(table, weights="w"),
        lambda: Counts.of(COIN, table, column="q", weights="w"),
    ]
    for way in ways:
        if name not in ("ids", "a weight") or (way is ways[0]) == (name == "ids"):
            require_refused(way)
    swapped = (
        lambda: Mechanism.load(table),
        lambda: Survey.load(table),
        lambda: Counts.load(table),
        lambda: SecretKey.load(table),
        lambda: Resampled(str(table), ["q"], 0.0, 1.0),
    )
    for way in swapped:
        require_refused(way)
    keyed = ("--key", "key.json", "--id", "i")
    commands = [
        ("privatize", "coin.json", table, "-c", "q", "-o", "out.csv", *keyed),
        ("privatize", "sets.json", table, "-c", "q", "-o", "out.parquet", *keyed),
        ("privatize", table, "coin.json", "-c", "q", "-o", "out.csv"),
        ("estimate", table, "coin.json", "-c", "q"),
        ("survey", "privatize", "survey.json", table, "-o", "out.csv", *keyed),
        ("survey", "privatize", table, "survey.json", "-o", "out.csv"),
        (
            "experiment",
            table,
            "-c",
            "q",
            "--range",
            "0:1",
            "--people",
            9,
            "--epsilon",
            1,
            "--sets",
            1,
        ),
        ("check", table),
        ("solve", table),
        ("certify", table),
    ]
    if name != "ids":
        commands += [
            ("estimate", "coin.json", table, "-c", "q", "--weights", "w"),
            ("estimate", "sets.json", table, "-c", "q"),
            ("survey", "estimate", "survey.json", table, "--weights", "w"),
        ]
    for command in commands:
        result = run_cli(*command)
        if name == "a weight" and command[0] in ("privatize", "survey") and "privatize" in command:
            continue
        assert result.exit_code != 0, command
        require_silent(result.stdout, result.stderr, *chain(result.exception))
    for path in set(tmp_path.iterdir()) - before:
        require_silent(path.read_bytes().decode("latin-1"))


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.usefixtures("silent")
def test_folders(tmp_path: Path, jobs: int) -> None:
    source = tmp_path / "answers"
    source.mkdir()
    for place in range(2):
        pq.write_table(pa.table({"q": COLUMN, "w": COLUMN}), source / f"{place}.parquet")
    require_refused(lambda: privatize_folder(source, tmp_path / "out", {"q": COIN}, jobs=jobs))
    COIN.save(tmp_path / "coin.json")
    if jobs == 1:
        require_refused(lambda: count_folder(source, {"q": COIN}))
    run = run_cli("privatize", tmp_path / "coin.json", source, "-c", "q", "-o", tmp_path / "new")
    require_silent(run.stderr, run.stdout, *chain(run.exception))
    shown = run_cli(
        "estimate", tmp_path / "coin.json", source, "-c", "q", "-j", jobs, "--show-values"
    )
    assert CANARY in shown.stderr


@pytest.mark.long
@pytest.mark.usefixtures("silent")
def test_clusters() -> None:
    distributed = pytest.importorskip("distributed", reason='needs pip install "ldpopt[dask]"')
    dd = pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(pd.DataFrame({"q": COLUMN, "i": ["a", "b", "c"]}), npartitions=1)
    require_refused(lambda: COIN.privatize(table, "q", key=KEY, id="i").compute(scheduler="sync"))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        require_refused(lambda: COIN.privatize(table, "q", key=KEY, id="i").compute())
        require_refused(lambda: Counts.of(COIN, table, column="q"))
        require_refused(lambda: SURVEY.count(table))


def test_answers_are_shown_on_request(tmp_path: Path) -> None:
    with showing_values(), pytest.raises(StatementError, match="Yess-kanarie") as shown:
        COIN.sample(COLUMN)
    assert "known: no, yes" in str(shown.value)
    require_refused(lambda: COIN.sample(COLUMN))
    (tmp_path / "a.csv").write_text(TABLES["an unknown answer"])
    COIN.save(tmp_path / "coin.json")
    command = (
        "privatize",
        tmp_path / "coin.json",
        tmp_path / "a.csv",
        "-c",
        "q",
        "-o",
        tmp_path / "b.csv",
    )
    assert f"unknown answer '{CANARY}'" in run_cli(*command, "--show-values").stderr
    result = run_cli(*command)
    assert "row 3" in result.stderr
    require_silent(result.stderr)


def test_statements_keep_their_helpful_messages(tmp_path: Path) -> None:
    with pytest.raises(LdpoptError, match="'yes'"):
        COIN.expected({"no": 1, "yess": 2})
    with pytest.raises(LdpoptError, match="'smokes'"):
        COIN.privatize(pd.DataFrame({"smokes": ["no"]}), "smoke")
    (tmp_path / "a.csv").write_text("smokes\nno\n")
    with pytest.raises(LdpoptError, match="'smokes'"):
        Counts.of(COIN, tmp_path / "a.csv", column="smoke")
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"inputs": [{}], "outputs": ["a"], "channel": [[1.0]]}))
    with pytest.raises(LdpoptError, match="the label"):
        Mechanism.load(path)


def test_a_row_is_named_by_the_reader_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(BROKEN["a field too many"])
    with reading(str(tmp_path / "a.csv")) as table, pytest.raises(LdpoptError, match="row 3"):
        list(table.batches([0], []))
