"""The end of a collector by signals, batches with a bad message, health, rates, ports."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sqlite3
import sys
import threading
import time
from contextlib import closing

import pytest

from builders import run_cli, sample_or_all
from collecting import SURVEY, Collecting, message, stored_order, until
from ldpopt.errors import ModelFileError
from ldpopt.fieldwork import Store
from ldpopt.fieldwork.messages import Message

pytest.importorskip("sqlalchemy")
service = pytest.importorskip("ldpopt.fieldwork.service")
TestClient = pytest.importorskip("starlette.testclient").TestClient
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX")


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path}/reports.db", SURVEY) as store:
        yield store


def rows_in(path):
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("SELECT id FROM reports")}


ENDS = [signal.SIGTERM, signal.SIGINT, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


HEEDED = """
import signal

for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""Signals that the process which runs the tests may ignore, as under nohup."""


@posix
@pytest.mark.parametrize("number", sample_or_all(ENDS, 1))
def test_whatever_ends_a_collector_leaves_one_file_without_the_order_of_arrival(tmp_path, number):
    ids = [secrets.token_hex(16) for _ in range(40)]
    with Collecting(tmp_path, first=HEEDED) as collector:
        assert {collector.post(message(id=one)) for one in ids} == {200}
        assert collector.post("{") == 422
        code, said = collector.end(number)
    assert code == 0
    where = f"sqlite:///{collector.path}"
    assert said == f"ldpopt: stopped; 40 reports in {where}; 200: 40, 422: 1\n"
    assert not list(tmp_path.glob("reports.db-*"))
    order = stored_order(collector.path, ids)
    assert [ids[k] for k in order] == sorted(ids)


@posix
@pytest.mark.long
def test_a_killed_collector_shows_the_order_until_the_next_one_ends(tmp_path):
    """The test above can fail: this is what is there without an orderly end."""
    ids = [secrets.token_hex(16) for _ in range(40)]
    with Collecting(tmp_path) as collector:
        assert {collector.post(message(id=one)) for one in ids} == {200}
        collector.end(signal.SIGKILL)
    assert rows_in(collector.path) == set(ids)  # reads the log into the file
    assert stored_order(collector.path, ids) == list(range(40))
    with Collecting(tmp_path) as collector:
        assert collector.end()[0] == 0
    assert [ids[k] for k in stored_order(collector.path, ids)] == sorted(ids)


@posix
def test_counts_are_said_on_demand_and_nohup_is_respected(tmp_path):
    ignored = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    with Collecting(tmp_path, first=ignored) as collector:
        assert [collector.post(), collector.post("x")] == [200, 422]
        collector.send(signal.SIGHUP)
        collector.send(signal.SIGUSR1)
        until(lambda: "1 reports; 200: 1, 422: 1\n" in collector.said())
        assert collector.post() == 200
        assert collector.end()[0] == 0


@posix
@pytest.mark.long
def test_what_was_acknowledged_before_an_end_under_load_is_there(tmp_path):
    kept = []

    def client():
        while True:
            one = secrets.token_hex(16)
            try:
                if collector.post(message(id=one)) == 200:
                    kept.append(one)
            except OSError:
                return

    with Collecting(tmp_path) as collector:
        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        until(lambda: len(kept) > 100)
        code, _ = collector.end()
        for thread in threads:
            thread.join()
    assert code == 0
    assert set(kept) <= rows_in(collector.path)


@posix
@pytest.mark.long
def test_a_second_signal_ends_at_once_and_loses_nothing(tmp_path):
    with Collecting(tmp_path) as collector:
        assert [collector.post() for _ in range(3)] == [200] * 3
        with closing(sqlite3.connect(collector.path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM reports").fetchone() == (3,)
            collector.send(signal.SIGTERM)

            def is_closed():
                try:
                    collector.connect().close()
                except OSError:
                    return True
                return False

            until(is_closed)  # from now on it answers what is due, and then waits for the reader
            while collector.process.is_alive():
                collector.send(signal.SIGTERM)
                time.sleep(0.05)
    # 130: it came in the instant before the last step
    assert collector.process.exitcode in (-signal.SIGTERM, 130)
    assert len(rows_in(collector.path)) == 3


@posix
@pytest.mark.long
def test_an_end_says_that_somebody_keeps_the_order_in_the_log(tmp_path):
    with Collecting(tmp_path) as collector:
        assert collector.post() == 200
        with closing(sqlite3.connect(collector.path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM reports").fetchone()
            code, said = collector.end()
    assert code == 0
    warning, stopped = said.splitlines()
    assert warning.startswith("ldpopt: warning: the database may still show in which order")
    assert stopped.startswith("ldpopt: stopped; 1 reports")


@posix
@pytest.mark.parametrize("limit", sample_or_all([100_000, 60_000], 1))
def test_a_full_disk_loses_no_acknowledged_report(tmp_path, limit):
    """The limit of a file's size is met in the middle of a transaction, as a full disk is."""
    bound = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    statuses = {}
    with Collecting(tmp_path, first=bound) as collector:
        for _ in range(60):
            body = message()
            statuses[body["id"]] = collector.post(body)
        code, said = collector.end()
    kept = {one for one, status in statuses.items() if status == 200}
    assert set(statuses.values()) == {200, 503}
    assert kept <= rows_in(collector.path)
    assert code == 0
    assert said.count("cannot use the database") == 1  # a line, not one for each message


@posix
def test_a_moved_database_acknowledges_nothing_until_it_is_back(tmp_path):
    with Collecting(tmp_path) as collector:
        assert (collector.post(), collector.ask("GET", "/health")[0]) == (200, 200)
        collector.path.rename(tmp_path / "away")
        assert [collector.post(), collector.post()] == [503, 503]
        assert collector.ask("GET", "/health") == (503, b'{"ok":false}')
        (tmp_path / "away").rename(collector.path)
        assert (collector.post(), collector.ask("GET", "/health")[0]) == (200, 200)
        code, said = collector.end()
    assert (code, len(rows_in(collector.path))) == (0, 2)
    assert said.count("moved, deleted or replaced") == 1


@posix
def test_a_used_port_names_the_option(tmp_path):
    SURVEY.save(tmp_path / "survey.json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        to = ("--to", f"sqlite:///{tmp_path}/r.db")
        done = run_cli("survey", "collect", tmp_path / "survey.json", "--port", port, *to)
    assert done.exit_code == 2
    assert "--port" in done.stderr


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", sample_or_all(["::1", "::"], 1))
def test_a_collector_listens_to_ipv6(tmp_path, host):
    with Collecting(tmp_path, "--host", host) as collector:
        assert collector.address == f"http://[{host}]:{collector.port}/"
        assert collector.post() == 200


def test_an_end_in_the_past_is_refused(tmp_path):
    SURVEY.save(tmp_path / "survey.json")
    for past in ("2020-01-01", "2020-01-01T10:00+00:00"):
        done = run_cli("survey", "collect", tmp_path / "survey.json", "--until", past)
        assert done.exit_code == 2
        assert "--until" in done.stderr
    assert not os.path.exists("reports.db")


def test_the_counts_are_those_of_the_answers(store):
    collector = service.Collector(store)
    with TestClient(collector.app()) as client:
        for body in (message(), message(form="0"), message()):
            client.post("/reports", json=body)
        assert client.get("/health").json() == {"ok": True}
        assert client.get("/reports/").status_code == 404  # not sent to another address
    assert collector.answers == {200: 2, 422: 1}
    assert str(collector.answers) == "200: 2, 422: 1"


@pytest.mark.parametrize(
    "error", [UnicodeEncodeError("latin-1", "x", 0, 1, "y"), ModelFileError("x", code="locked")]
)
def test_a_bad_message_harms_itself_only_and_a_locked_database_all(store, monkeypatch, error):
    """Of 40 messages that wait at once every fifth makes the database fail."""
    calls = []
    is_bad = {f"{k:032x}": k % 5 == 0 for k in range(40)}
    add = store.add

    def failing(messages):
        calls.append(len(messages))
        if any(is_bad[one.id] for one in messages):
            raise error
        return add(messages)

    monkeypatch.setattr(store, "add", failing)

    async def keep_all():
        writer = service.Writer(store)
        task = asyncio.create_task(writer.run())
        made = [writer.keep(Message(one, {"smokes": "yes"})) for one in is_bad]
        found = await asyncio.gather(*made, return_exceptions=True)
        await writer.end()
        await task
        return dict(zip(is_bad, found, strict=True))

    found = asyncio.run(keep_all())
    if isinstance(error, ModelFileError):
        assert len(calls) == 1
        assert set(map(type, found.values())) == {ModelFileError}
    else:
        assert {one for one, result in found.items() if result is True} == {
            one for one, bad in is_bad.items() if not bad
        }
        assert store.count() == 32


def test_a_value_that_the_database_does_not_take_is_no_message_for_later(store, monkeypatch):
    from sqlalchemy import exc

    def refuse(messages):
        from ldpopt.tables.database import database_errors

        with database_errors("x"):
            raise exc.DataError("INSERT", {"a": "secret"}, ValueError("secret"))

    collector = service.Collector(store)
    with TestClient(collector.app()) as client:
        monkeypatch.setattr(store, "add", refuse)
        answer = client.post("/reports", json=message())
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_the_order_of_arrival_goes_when_nobody_comes(store, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "IDLE", 0.05)
    ids = [secrets.token_hex(16) for _ in range(20)]
    log = tmp_path / "reports.db-wal"
    with TestClient(service.app_of(store)) as client:
        for one in ids:
            assert client.post("/reports", json=message(id=one)).status_code == 200
        until(lambda: log.stat().st_size == 0)
        order = stored_order(tmp_path / "reports.db", ids)
        assert [ids[k] for k in order] == sorted(ids)
        assert client.post("/reports", json=message()).status_code == 200


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(service.time, "monotonic", lambda: self.now)


def test_a_rate_bounds_reports_and_says_when_to_come_again(store, monkeypatch):
    clock = Clock(monkeypatch)
    collector = service.Collector(store, rate=0.5)
    with TestClient(collector.app()) as client:

        def post(body):
            answer = client.post("/reports", json=body)
            return answer.status_code, answer.headers.get("retry-after")

        assert [post(message(form="0"))[0] for _ in range(9)] == [422] * 9  # they do not count
        assert [post(message()) for _ in range(7)] == [(200, None)] * 5 + [(429, "2")] * 2
        clock.now += 1.0
        assert post(message()) == (429, "1")
        clock.now += 1.0
        assert [post(message()) for _ in range(2)] == [(200, None), (429, "2")]
        exposed = client.post("/reports", json=message()).headers["access-control-expose-headers"]
        assert exposed == "retry-after"
    assert store.count() == 6


def test_with_invitations_only_those_count_that_are_used(tmp_path, monkeypatch):
    Clock(monkeypatch)
    with Store(f"sqlite:///{tmp_path}/r.db", SURVEY, invited=True) as store:
        links = store.invite(3)
        collector = service.Collector(store, rate=0.2)  # two at once
        with TestClient(collector.app()) as client:

            def post(body):
                return client.post("/reports", json=body).status_code

            forged = [post(message(invitation=secrets.token_hex(16))) for _ in range(5)]
            first = message(invitation=links[0])
            again = [post(first) for _ in range(5)]
            rest = [post(message(invitation=link)) for link in links[1:]]
        assert (forged, again, rest) == ([409] * 5, [200] * 5, [200, 429])


def test_a_conflict_uses_no_invitation(tmp_path):
    with Store(f"sqlite:///{tmp_path}/r.db", SURVEY, invited=True) as store:
        first, second = store.invite(2)
        taken = message(invitation=first)
        other = taken | {"reports": {"smokes": "no"}, "invitation": second}
        with TestClient(service.app_of(store)) as client:
            found = [
                client.post("/reports", json=body).status_code
                for body in (taken, other, message(invitation=second))
            ]
    assert found == [200, 409, 200]
