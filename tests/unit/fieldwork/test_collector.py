"""The collector: what it keeps, what it refuses, what it never has; invitations; the way back to
estimates."""

from __future__ import annotations

import json
import logging
import os
import random
import secrets
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import (
    cli_json,
    cli_output,
    load_script,
    refused,
    run_cli,
    run_python,
    sample_or_all,
    seconds,
    start_cli,
    thorough_or,
)
from ldpopt import Mechanism, PureLDP, Survey, Workload, design
from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.fieldwork import Store
from ldpopt.fieldwork.messages import InvalidMessageError
from ldpopt.mechanism.questions import Question
from ldpopt.tables.database import DatabaseRows
from ldpopt.tables.origin import read_origin

sqlalchemy = pytest.importorskip("sqlalchemy")
httpx = pytest.importorskip("httpx")
TestClient = pytest.importorskip("starlette.testclient").TestClient
app_of = pytest.importorskip("ldpopt.fieldwork.service").app_of

BENCHMARK = load_script(Path(__file__).parents[3] / "benchmarks" / "collect.py")
ODD = 'Wie "oft" %(x)s: d?'
SURVEY = Survey(
    {
        "absence": design(Workload.frequencies(["never", "once", "often"]), PureLDP(1.0)),
        "branch": design(Workload.frequencies([f"sector {k}" for k in range(28)]), PureLDP(1.0)),
        ODD: Question(Mechanism([[0.75, 0.25], [0.25, 0.75]], ["nein", "jä"]), missing="leave_out"),
    },
    title="Absence",
)
SIZE = SURVEY.form()["columns"]["branch"]["set"]["size"]
ANSWERS = pd.DataFrame(
    {
        "absence": ["never"] * 60 + ["once"] * 30 + ["often"] * 10,
        "branch": [f"sector {k % 28}" for k in range(100)],
        ODD: ["jä"] * 40 + ["nein"] * 40 + [None] * 20,
    }
)
"""Answers of a hundred people; twenty leave the last question out."""


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/reports.db"


@pytest.fixture
def databases(url):
    """Empty databases: SQLite, and PostgreSQL where LDPOPT_POSTGRES has the address of one for
    tests."""
    address = os.environ.get("LDPOPT_POSTGRES")
    if address is not None:
        BENCHMARK.clear(address)
    return [url, *([] if address is None else [address])]


@pytest.fixture
def client(url):
    with Store(url, SURVEY) as store, TestClient(app_of(store, "<p>page</p>")) as client:
        client.store = store
        yield client


@pytest.fixture(scope="module")
def bodies():
    return BENCHMARK.bodies_of(SURVEY, ANSWERS, rng=1)


def message(store, **changes):
    reports = {"absence": "0", "branch": " ".join(map(str, range(SIZE))), ODD: "jä"}
    told = {"form": store.digest, "words": SURVEY.words_digest}
    return told | {"id": secrets.token_hex(16), "reports": reports} | changes


def post(client, body):
    return client.post(
        "/reports", content=body if isinstance(body, (bytes, str)) else json.dumps(body)
    )


def test_a_report_is_kept_once_and_the_first_one_of_an_id_stays(client):
    first = message(client.store)
    assert [post(client, first).json() for _ in range(3)] == [{"kept": True}] * 3
    other = first | {"reports": first["reports"] | {"absence": "1"}}
    assert post(client, other).status_code == 409
    assert post(client, first).status_code == 200
    assert client.store.count() == 1


def test_every_report_that_devices_can_draw_is_kept(client, bodies):
    assert {post(client, body).status_code for body in bodies} == {200}
    assert client.store.count() == len(bodies)


def report(name, value):
    return lambda m: m["reports"].update({name: value})


def key(name, value):
    return lambda m: m.update({name: value})


SETS = " ".join(map(str, range(SIZE - 1)))
WRONG = {
    "an answer in place of a report": report("absence", "never"),
    "a number": report("absence", 1),
    "a truth value": report("absence", True),
    "null where missing answers are refused": report("absence", None),
    "null in place of a set": report("branch", None),
    "a list": report("absence", ["1"]),
    "an object": report("absence", {"1": 1}),
    "spaces": report("absence", " 1"),
    "other digits": report("absence", "\u0661"),
    "an empty text": report("absence", ""),
    "a surrogate": report("absence", "\ud800"),
    "a zero byte": report("absence", "1\0"),
    "a small set": report("branch", "1 2 3"),
    "an answer twice in a set": report("branch", f"0 {SETS}"),
    "an answer that is not there": report("branch", f"{SETS} 28"),
    "a set with zeros": report("branch", f"{SETS} 027"),
    "a set out of order": report("branch", "27 " + " ".join(map(str, range(1, SIZE)))),
    "a set with two spaces": report("branch", f"{SETS}  27"),
    "a set with a line break": report("branch", f"{SETS} 27\n"),
    "a set with other digits": report("branch", f"{SETS} \u0662\u0667"),
    "a set with a minus": report("branch", f"-1 {SETS}"),
    "a question too many": report("income", "1"),
    "a question too few": lambda m: m["reports"].pop("absence") and None,
    "a list of reports": key("reports", ["0"]),
    "no reports": lambda m: m.pop("reports") and None,
    "null for all": key("reports", None),
    "another form": key("form", 64 * "0"),
    "other words": key("words", 64 * "0"),
    "words in a list": key("words", []),
    "no words": lambda m: m.pop("words") and None,
    "no form": lambda m: m.pop("form") and None,
    "a form in a list": key("form", []),
    "an id with a line break": key("id", 32 * "a" + "\n"),
    "a short id": key("id", "a"),
    "an id with capitals": key("id", 32 * "A"),
    "an id of another type": key("id", 1),
    "an id in a list": key("id", [32 * "a"]),
    "a name": key("name", "Ann"),
    "a time": key("time", "2026-11-25T10:00:00Z"),
    "an invitation that nobody asked for": key("invitation", 32 * "0"),
    "a list as the message": lambda m: [m],
    "null": lambda m: "null",
    "nothing": lambda m: b"",
    "a number that is none": lambda m: json.dumps(m).replace('"0"', "NaN", 1),
    "no UTF-8": lambda m: json.dumps(m).encode("utf-16"),
    "lists in lists": lambda m: "[" * 500,
    "half a message": lambda m: json.dumps(m)[:-1],
    "two messages": lambda m: json.dumps(m)[:300] * 2,
    "a key twice": lambda m: json.dumps(m).replace('"id"', '"id": "0", "id"'),
    "a report twice": lambda m: json.dumps(m).replace('"absence"', '"absence": "1", "absence"'),
    "a huge number": lambda m: "1" * 400,
}


@pytest.mark.parametrize("name", WRONG)
def test_messages_that_no_device_sends_are_refused(client, name):
    wrong = message(client.store)
    changed = WRONG[name](wrong)
    answer = post(client, wrong if changed is None else changed)
    assert answer.status_code == 422
    assert answer.json()["refused"]
    assert client.store.count() == 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["form", "id", "reports", "absence", "branch", ODD]), x
            )
        ),
    )
)
def test_no_other_json_is_a_message(data):
    from ldpopt.fieldwork.messages import MessageReader

    reader = MessageReader(SURVEY.form(), [SURVEY.words_digest], False)
    with pytest.raises(InvalidMessageError):
        reader.read(json.dumps(data).encode())


def test_long_messages_are_refused_before_they_are_read(client):
    right = json.dumps(message(client.store))
    assert post(client, right + " " * client.store.reader.max_bytes).status_code == 413
    assert post(client, b"x" * 5_000_000).status_code == 413
    assert client.store.count() == 0


def test_the_longest_message_fits(client):
    longest = message(client.store)
    longest["reports"]["branch"] = " ".join(map(str, range(28 - SIZE, 28)))
    longest["reports"][ODD] = "nein"
    assert post(client, json.dumps(longest, indent=2, ensure_ascii=True)).status_code == 200


def test_one_question_has_at_most_one_report(url):
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    survey = Survey({"a": coin, "b": coin}, scheme="one_question")
    with Store(url, survey) as store:
        base = {"form": store.digest, "words": survey.words_digest, "id": 32 * "0"}
        for reports in ({"a": "no", "b": "yes"}, {"a": None, "b": None}):
            with pytest.raises(InvalidMessageError, match=r"^[02] questions"):
                store.reader.read(json.dumps(base | {"reports": reports}).encode())
        assert store.add(
            [store.reader.read(json.dumps(base | {"reports": {"a": None, "b": "yes"}}).encode())]
        ) == [True]


def test_pages_of_any_origin_may_send_and_nothing_may_frame_the_page(client):
    answer = post(client, message(client.store))
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "set-cookie" not in answer.headers
    assert "POST" in client.options("/reports").headers["access-control-allow-methods"]
    page = client.get("/")
    assert page.text == "<p>page</p>"
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert [
        client.request(method, "/reports").status_code for method in ("GET", "PUT", "DELETE")
    ] == [405] * 3
    assert client.get("/docs").status_code == 404


def test_a_survey_closes(url):
    now = datetime.now(UTC)
    for until, status in ((now - timedelta(seconds=1), 410), (now + timedelta(days=1), 200)):
        with Store(url, SURVEY) as store, TestClient(app_of(store, "open", until)) as client:
            assert post(client, message(store)).status_code == status
            assert ("closed" in client.get("/").text) == (status == 410)
            assert ("open" in client.get("/").text) == (status == 200)


def test_a_locked_database_keeps_nothing_and_the_same_message_is_kept_later(
    client, url, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(
            client.store,
            "add",
            lambda messages: (_ for _ in ()).throw(ModelFileError("database is locked")),
        )
        body = message(client.store)
        assert post(client, body).status_code == 503
    assert client.store.count() == 0
    assert post(client, body).status_code == 200


def test_the_database_of_another_survey_or_wave_is_refused(url):
    Store(url, SURVEY).close()
    later = Survey(SURVEY.questions, title=SURVEY.title, words={"wave": 2})
    coin = Survey({"absence": SURVEY.questions["absence"]})
    for other in (later, coin):
        with refused("form", ModelFileError):
            Store(url, other)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("id",), "same-name"),
        (("ID",), "same-name"),
        (("age", "Age"), "same-name"),
        (("",), "name"),
        (("x" * 64,), "name"),
        (("a\nb",), "name"),
    ],
)
def test_names_that_cannot_be_columns_are_refused(url, names, code):
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    with refused(code):
        Store(url, Survey(dict.fromkeys(names, coin)))


@pytest.mark.parametrize(
    "address",
    [
        "mysql://x/y",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:////nowhere/at/all.db",
        "postgresql+asyncpg://x/y",
    ],
)
def test_other_databases_are_refused(address):
    with pytest.raises(ModelFileError):
        Store(address, SURVEY)


def test_messages_have_no_password():
    pytest.importorskip("psycopg", reason="needs the driver of PostgreSQL")
    address = "postgresql+psycopg://ann:secret@localhost:1/none?connect_timeout=1"
    for use in (lambda: Store(address, SURVEY), lambda: SURVEY.count(address)):
        with pytest.raises(LdpoptError) as caught:
            use()
        assert "secret" not in caught.value.one_line
        assert "ann:***@localhost" in caught.value.one_line


def test_the_database_knows_nothing_else_and_rows_are_in_the_order_of_ids(
    client, url, bodies, caplog, tmp_path
):
    """Files of the database and the log have no address, no agent, no time, no order of arrival."""
    caplog.set_level(logging.DEBUG)
    bodies = bodies[: thorough_or(30, None)]
    for body in bodies:
        client.post(
            "/reports",
            content=body,
            headers={"user-agent": "marker-agent", "x-forwarded-for": "203.0.113.7"},
        )
        client.post("/reports", content=body.replace(b'"absence": "', b'"absence": "marker-answer'))
    client.store.close()
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        tables = dict(
            connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
        )
        columns = [row[1] for row in connection.execute("PRAGMA table_info(reports)")]
        stored = [row[0] for row in connection.execute("SELECT id FROM reports NOT INDEXED")]
    connection.close()
    assert set(tables) == {"reports", "about", "invitations"}
    assert "WITHOUT ROWID" in tables["reports"]
    assert columns == ["id", *SURVEY.questions]
    assert stored == sorted(json.loads(body)["id"] for body in bodies)
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    written = (
        raw
        + "\n".join(
            record.getMessage() for record in caplog.records if record.name != "httpx"
        ).encode()
    )
    for marker in (b"marker-agent", b"203.0.113.7", b"testclient", b"marker-answer", b"127.0.0.1"):
        assert marker not in written
    assert all(json.loads(body)["id"].encode() in raw for body in bodies)


def test_an_invitation_is_for_one_report(databases):
    for url in databases:
        with Store(url, SURVEY, invited=True) as store, TestClient(app_of(store)) as client:
            links = store.invite(20)
            assert len(set(links)) == 20
            honest = [message(store, invitation=link) for link in links[:10]]
            assert [post(client, one).status_code for one in honest * 2] == [200] * 20
            second = [message(store, invitation=link) for link in links[:10]]
            forged = [message(store, invitation=secrets.token_hex(16)) for _ in range(5)]
            assert {post(client, one).status_code for one in second + forged} == {409}
            assert post(client, message(store)).status_code == 422
            assert store.count() == 10


def test_nothing_connects_an_invitation_with_a_report(url):
    with Store(url, SURVEY, invited=True) as store:
        links = store.invite(6)
        random.Random(1).shuffle(links)
        for link in links[:3]:
            assert store.add(
                [store.reader.read(json.dumps(message(store, invitation=link)).encode())]
            ) == [True]
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        left = connection.execute("SELECT * FROM invitations").fetchall()
        reports = connection.execute("SELECT * FROM reports").fetchall()
    connection.close()
    assert len(left) == 3
    assert all(len(row) == 1 for row in left)
    assert not {link for link in links if any(link in str(row) for row in left + reports)}


def test_two_writers_share_a_database(databases, bodies):
    for url in databases:
        with Store(url, SURVEY) as one, Store(url, SURVEY) as two:
            messages = [one.reader.read(body) for body in bodies]
            assert one.add(messages[:60]) == [True] * 60
            assert two.add(messages[40:]) == [True] * 60
            assert one.count() == two.count() == 100


def test_estimates_from_the_database_and_from_its_table_are_the_same(databases, bodies, tmp_path):
    expected = pd.DataFrame([json.loads(body)["reports"] for body in bodies])
    for url in databases:
        with Store(url, SURVEY) as store:
            store.add([store.reader.read(body) for body in bodies])
        counts = SURVEY.count(url)
        assert counts == SURVEY.count(expected)
        SURVEY.save(tmp_path / "survey.json")
        for table in ("table.csv", "table.parquet"):
            found = cli_json("survey", "export", url, "-o", tmp_path / table)
            assert found["reports"] == 100
            assert SURVEY.count(tmp_path / table) == counts
            assert read_origin(str(tmp_path / table)) == read_origin(url)
            assert "id" not in pd.read_csv(tmp_path / "table.csv").columns
        rows = pd.read_csv(tmp_path / "table.csv", dtype=str, keep_default_na=False)
        order = np.argsort([json.loads(body)["id"] for body in bodies])
        assert rows["branch"].tolist() == expected["branch"].iloc[order].tolist()
        data = cli_json("survey", "estimate", tmp_path / "survey.json", url)
        assert data["origin_known"] is True
        shares = [
            entry["estimate"] for entry in data["estimates"] if entry["question"] == "absence"
        ]
        np.testing.assert_allclose(shares, SURVEY.estimate(expected)["absence"].values)


def test_a_database_in_batches_is_counted_as_a_whole(url, bodies, monkeypatch):
    with Store(url, SURVEY) as store:
        store.add([store.reader.read(body) for body in bodies])
    whole = SURVEY.count(url)
    monkeypatch.setattr("ldpopt.tables.database.ROWS", 7)
    assert SURVEY.count(url) == whole


def test_reports_of_another_mechanism_are_not_counted(url, bodies):
    with Store(url, SURVEY) as store:
        store.add([store.reader.read(body) for body in bodies])
    other = Survey(
        dict(SURVEY.questions)
        | {"absence": design(Workload.frequencies(["a", "b", "c"]), PureLDP(2.0))},
        title=SURVEY.title,
    )
    with refused("form", ModelFileError) as caught:
        other.count(url)
    assert "'absence'" in caught.value.what
    with pytest.raises(ModelFileError, match="no such database"):
        SURVEY.count(url + "x")


def test_texts_of_whole_number_reports_are_counted_in_a_dataframe():
    """A database or a file read as text has "0" where the report is 0."""
    best = SURVEY.questions["absence"].source
    survey = Survey({"absence": best})
    numbers = pd.DataFrame({"absence": [0, 1, 2, 2]})
    assert survey.count(numbers.astype(str)) == survey.count(numbers)


def test_the_commands_invite_and_estimate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SURVEY.save("survey.json")
    data = cli_json(
        "survey",
        "invite",
        "survey.json",
        7,
        "--page",
        "https://survey.example.org/",
        "-o",
        "links.csv",
    )
    assert data["invitations"] == 7
    links = Path("links.csv").read_text().split()[1:]
    assert all(
        link.startswith("https://survey.example.org/#i=") and len(link) == 62 for link in links
    )
    for page in ("x", "survey.example.org/", "localhost:8000/", "https:///x", "https://a b.org"):
        done = run_cli("survey", "invite", "survey.json", 7, "--page", page, "-o", "l.csv")
        assert "address of a page" in done.stderr
    assert "not a date" in run_cli("survey", "collect", "survey.json", "--until", "tomorrow").stderr
    assert "0 reports" in cli_output("survey", "export", "sqlite:///reports.db", "-o", "t.csv")


@pytest.mark.long
def test_the_command_collect_serves_the_page_and_logs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SURVEY.save("survey.json")
    process = start_cli(
        "survey", "collect", "survey.json", "--port", "0", "--until", "2999-12-31", "--json", "-"
    )
    address = json.loads(process.stdout.readline())["address"]
    with Store("sqlite:///reports.db", SURVEY) as store, httpx.Client() as client:
        assert store.digest in client.get(address).text
        statuses = [
            client.post(f"{address}reports", content=json.dumps(body)).status_code
            for body in (message(store), message(store, reports={"absence": "marker-answer"}))
        ]
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=seconds(60))
    assert (statuses, process.returncode) == ([200, 422], 0)
    assert out == ""
    assert error == "ldpopt: stopped; 1 reports in sqlite:///reports.db; 200: 1, 422: 1\n"
    assert not [path for path in tmp_path.iterdir() if b"marker-answer" in path.read_bytes()]


@pytest.mark.long
def test_missing_packages_are_named_in_one_line():
    code = """
import sys
sys.modules["sqlalchemy"] = sys.modules["starlette"] = None
import ldpopt
from ldpopt.fieldwork import Store
from ldpopt.fieldwork.service import app_of
coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
for use in (lambda: Store("sqlite:///r.db", ldpopt.Survey({"a": coin})), lambda: app_of(None)):
    try:
        use()
    except ldpopt.errors.LdpoptError as error:
        print(error.one_line)
"""
    lines = run_python(code).stdout.splitlines()
    assert len(lines) == 2
    assert all(
        line.endswith('which is not installed | do: pip install "ldpopt[collect]"')
        for line in lines
    )


ALONE = """
import sys
BLOCKED = set("pandas pyarrow narwhals polars openpyxl pyreadstat matplotlib statsmodels".split())
BLOCKED |= set("plotly cvxpy clarabel pulp dask distributed psycopg".split())
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if (package := name.partition(".")[0]) in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=package)
sys.meta_path.insert(0, NotInstalled())
from ldpopt.cli import main
main()
"""
"""The command line as after `pip install "ldpopt[collect]"`."""


@pytest.mark.long
def test_the_ten_minutes_of_the_documents_need_the_extra_collect_alone(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "fieldwork.md").read_text()
    part = text.partition("## From the survey file")[2].partition("\n## ")[0]
    statement, commands = (
        part.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("toml", "text")
    )
    (tmp_path / "survey.toml").write_text(statement)
    lines = [line.partition("#")[0].split()[1:] for line in commands.splitlines()]
    assert [words[0] for words in lines] == ["survey", "plan", "survey", "survey", "survey"]
    for words in lines:
        command = [sys.executable, "-c", ALONE, *words]
        if words[:2] == ["survey", "collect"]:
            survey = Survey.load(tmp_path / "survey.json")
            answers = pd.DataFrame({"absence": ["never"] * 40, "smokes": ["no"] * 30 + [None] * 10})
            _send(command, tmp_path, BENCHMARK.bodies_of(survey, answers, rng=2))
            continue
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, "needs" in done.stderr) == (0, False), done.stderr
    url = f"sqlite:///{tmp_path}/reports.db"
    assert survey.count(url) == survey.count(tmp_path / "reports.csv")
    assert survey.count(url)["absence"].n_reports == 40


def _send(command, folder, bodies):
    """Start a collector, send messages to it, and end it."""
    words = [*command, "--port", "0", "--json", "-"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
    address = json.loads(process.stdout.readline())["address"]
    with httpx.Client() as client:
        for body in bodies:
            assert client.post(f"{address}reports", content=body).status_code == 200
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=seconds(60))
    assert process.returncode == 0


def test_counts_of_a_database_are_those_of_its_table_for_all_kinds_of_reports(tmp_path):
    """Labels, sets, patterns of a joint report, gaps; groups and weights of a table with more
    columns."""
    yes_no = Survey({name: ["no", "yes"] for name in "abcdef"}, epsilon=2.0, scheme="joint")
    answers = pd.DataFrame({name: ["yes", "no", "no"] * 20 for name in "abcdef"})
    for survey, people in ((SURVEY, ANSWERS), (yes_no, answers)):
        url = f"sqlite:///{tmp_path}/{len(people)}.db"
        bodies = BENCHMARK.bodies_of(survey, people, rng=4, columns=list(survey.columns))
        with Store(url, survey) as store:
            store.add([store.reader.read(body) for body in bodies])
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            connection.execute("ALTER TABLE reports ADD COLUMN region TEXT")
            connection.execute("ALTER TABLE reports ADD COLUMN weight TEXT")
            rows = connection.execute("SELECT id FROM reports").fetchall()
            for place, (one,) in enumerate(rows):
                region = ("North", "South", None)[place % 3]
                values = (region, str(0.5 + place % 7), one)
                connection.execute("UPDATE reports SET region=?, weight=? WHERE id=?", values)
        connection.close()
        cli_output("survey", "export", url, "-o", tmp_path / "t.csv")
        cli_output("survey", "export", url, "-o", tmp_path / "t.parquet")
        for table in (tmp_path / "t.csv", tmp_path / "t.parquet"):
            assert survey.count(url) == survey.count(table)
            assert survey.count(url, weights="weight") == survey.count(table, weights="weight")
            by_group = [
                survey.counts_by_group(survey.columns, source, "weight", "region")
                for source in (url, str(table))
            ]
            assert by_group[0] == by_group[1]
            assert set(next(iter(by_group[0].values()))) == {"North", "South", "(missing)"}


def test_a_database_counts_equal_reports_itself_but_sets(databases, bodies):
    """Few sets are equal; a group by them would sort them all."""
    engine = sqlalchemy.Engine
    for url in databases:
        with Store(url, SURVEY) as store:
            store.add([store.reader.read(body) for body in bodies])
        seen = []

        def note(_connection, _cursor, statement, *_more, seen=seen):
            seen.append(statement)

        sqlalchemy.event.listen(engine, "before_cursor_execute", note)
        try:
            SURVEY.count(url)
        finally:
            sqlalchemy.event.remove(engine, "before_cursor_execute", note)
        of_reports = [text for text in seen if "FROM reports" in text]
        assert ["GROUP BY" in text for text in of_reports] == [True, True, False]
        assert ["branch" in text for text in of_reports] == [False, False, True]


def test_all_columns_of_a_database_are_counted_at_one_moment(databases, bodies, monkeypatch):
    """Though each has a statement of its own, and reports come meanwhile."""
    for url in databases:
        with Store(url, SURVEY) as store:
            messages = [store.reader.read(body) for body in bodies]
            store.add(messages[:50])
            late = iter(messages[50:])
            plain = DatabaseRows.equal_rows

            def slowly(self, positions, plain=plain, store=store, late=late):
                yield from plain(self, positions)
                assert store.add([next(late)]) == [True]

            with monkeypatch.context() as patched:
                patched.setattr(DatabaseRows, "equal_rows", slowly)
                counts = SURVEY.count(url)
            assert store.count() == 52
            assert counts == SURVEY.count(
                pd.DataFrame([json.loads(body)["reports"] for body in bodies[:50]])
            )


def test_groups_of_a_database_may_be_its_weights(url, bodies):
    with Store(url, SURVEY) as store:
        store.add([store.reader.read(body) for body in bodies])
    path = url.removeprefix("sqlite:///")
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE reports ADD COLUMN weight TEXT DEFAULT '0.1'")
        connection.execute("UPDATE reports SET weight = '3' WHERE id < '8'")
    connection.close()
    cli_output("survey", "export", url, "-o", f"{path}.csv")
    found, expected = (
        SURVEY.counts_by_group(SURVEY.columns, source, "weight", "weight")
        for source in (url, f"{path}.csv")
    )
    for name, groups in expected.items():
        assert set(groups) == set(found[name]) == {"0.1", "3"}
        for group, counts in groups.items():
            other = found[name][group]
            assert (other.n_reports, other.labels) == (counts.n_reports, counts.labels)
            np.testing.assert_allclose(other.values, counts.values, rtol=1e-12)
            np.testing.assert_allclose(other.squares, counts.squares, rtol=1e-12)


COUNTING = """
import json
from ldpopt import Survey
survey, url = Survey.load(sys.argv[1]), sys.argv[2]
print(json.dumps({
    name: {group: [counts.values.tolist(), counts.squares.tolist(), counts.n_reports]
           for group, counts in groups.items()}
    for by in (None, "region")
    for name, groups in ((f"{name} by {by}", groups) for name, groups in
                         survey.counts_by_group(survey.columns, url, None, by).items())}))
assert not BLOCKED & {name.partition(".")[0] for name in sys.modules}
"""
"""Counts of a database by group, with the weights of the survey."""


@pytest.mark.parametrize(
    "kind", sample_or_all(["labels, sets and gaps", "patterns", "one question"], 1)
)
def test_groups_and_weights_are_counted_with_the_extra_collect_alone(databases, tmp_path, kind):
    yes_no = {name: ["no", "yes"] for name in "abcdef"}
    answers = pd.DataFrame({name: ["yes", "no", "no"] * 20 for name in yes_no})
    coins = dict.fromkeys("abcdef", Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]))
    questions, people, options = {
        "labels, sets and gaps": (SURVEY.questions, ANSWERS, {}),
        "patterns": (yes_no, answers, {"epsilon": 2.0, "scheme": "joint"}),
        "one question": (coins, answers, {"scheme": "one_question"}),
    }[kind]
    fields = {"region": ["North", "South"], "weight": []}
    survey = Survey(questions, weights="weight", fields=fields, **options)
    survey.save(tmp_path / "survey.json")
    rows = people.assign(weight=1)
    bodies = BENCHMARK.bodies_of(survey, rows, rng=4, columns=list(survey.columns))
    code = ALONE.partition("from ldpopt.cli")[0] + COUNTING
    for url in databases:
        if url.startswith("postgresql"):  # its driver is no part of the extra
            code = code.replace(" psycopg", "")
        with Store(url, survey) as store:
            for place, body in enumerate(bodies):
                mine = {"region": ("North", "South")[place % 2], "weight": f"{0.5 + place % 7}"}
                told = {"fields": mine, "invitation": store.invite(1, mine)[0]}
                sent = json.dumps(json.loads(body) | told).encode()
                assert store.add([store.reader.read(sent)]) == [True]
        cli_output("survey", "export", url, "-o", tmp_path / "t.csv")
        done = run_python(code, tmp_path / "survey.json", url)
        assert json.loads(done.stdout) == {
            f"{name} by {by}": {
                "null" if group is None else group: [
                    counts.values.tolist(),
                    counts.squares.tolist(),
                    counts.n_reports,
                ]
                for group, counts in groups.items()
            }
            for by in (None, "region")
            for name, groups in survey.counts_by_group(
                survey.columns, str(tmp_path / "t.csv"), None, by
            ).items()
        }


def test_a_wrong_weight_in_a_database_is_refused_with_its_row(url):
    with Store(url, SURVEY) as store:
        store.add([store.reader.read(json.dumps(message(store)).encode()) for _ in range(3)])
    path = url.removeprefix("sqlite:///")
    wrong = {" 1": "non-number", "1_0": "non-number", "x": "non-number", "-1": "weight-value"}
    for text, code in (wrong | {None: "weight-value"}).items():
        with sqlite3.connect(path) as connection:
            with suppress(sqlite3.OperationalError):
                connection.execute("ALTER TABLE reports ADD COLUMN weight TEXT")
            connection.execute("UPDATE reports SET weight = '1'")
            last = "UPDATE reports SET weight = ? WHERE id = (SELECT max(id) FROM reports)"
            connection.execute(last, (text,))
        connection.close()
        with refused(code) as caught:
            SURVEY.count(url, weights="weight")
        assert caught.value.where.endswith("row 3")


@pytest.mark.long
def test_killed_collectors_lose_no_acknowledged_report(databases, tmp_path):
    for url in databases:
        found = BENCHMARK.kill_under_load(SURVEY, url, kills=10, folder=tmp_path)
        assert found["kills"] == 10
        assert found["lost"] == found["changed"] == found["twice"] == 0
        assert found["rows"] == found["acknowledged"] > 0
