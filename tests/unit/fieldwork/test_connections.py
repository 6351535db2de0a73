"""Connections that say nothing, say it slowly, or do not read: others get their answers."""

from __future__ import annotations

import json
import sys
import time

import pytest

from builders import sample_or_all, seconds
from collecting import SURVEY, Collecting, is_closed, message, until
from ldpopt.fieldwork import connections

pytest.importorskip("sqlalchemy")
pytest.importorskip("uvicorn")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs limits of POSIX")

SHORT = "import ldpopt.fieldwork.connections as c; c.SECONDS = 0.5"
"""Half a second in place of ten."""


LOWERED = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))"
"""A limit of file descriptors."""


def test_silent_connections_give_way_to_people(tmp_path):
    """With 128 descriptors 32 connections may be silent: more come than there are descriptors."""
    with Collecting(tmp_path, first=LOWERED) as collector:
        silent = [collector.connect() for _ in range(100)]
        assert {collector.post() for _ in range(10)} == {200}
        assert collector.ask("GET", "/health")[0] == 200
        assert all(is_closed(one) for one in silent[:50])  # the oldest ones
        code, said = collector.end()
        for one in silent:
            one.close()
    assert (code, said.count("\n")) == (0, 1)


@pytest.mark.long
def test_unfinished_messages_give_way_too(tmp_path):
    head = b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: 150\r\n\r\n{"
    with Collecting(tmp_path, first=LOWERED) as collector:
        slow = [collector.connect() for _ in range(100)]
        for one in slow:
            one.sendall(head)
        assert {collector.post() for _ in range(10)} == {200}
        assert all(is_closed(one) for one in slow[:50])
        for one in slow:
            one.close()
        code, said = collector.end()
    assert code == 0
    assert "cut off" in said
    assert said.count("\n") == 1


def test_heads_that_do_not_end_are_cut_off(tmp_path):
    with Collecting(tmp_path, first=SHORT) as collector:
        silent = [collector.connect() for _ in range(10)]
        slow = [collector.connect() for _ in range(10)]
        idle = [collector.connect() for _ in range(10)]
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nx-")
        for one in idle:
            one.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            assert one.recv(15) == b"HTTP/1.1 200 OK"

        def all_are_closed():
            for one in slow:
                try:
                    one.sendall(b"a")
                except OSError:
                    continue
                return False
            return True

        until(all_are_closed)
        assert all(is_closed(one) for one in silent + idle)
        assert collector.post() == 200
        for one in silent + slow + idle:
            one.close()
        assert collector.end()[1].count("\n") == 1


LONG_PAGE = f"""{SHORT}
import ldpopt.fieldwork.form_page as f
page = f.page
f.page = lambda *a, **k: page(*a, **k) + " " * 12_000_000"""


@pytest.mark.parametrize("closes", sample_or_all([b"connection: close\r\n", b""], 1))
def test_a_slow_reader_gets_the_whole_page_and_whoever_reads_nothing_is_cut_off(tmp_path, closes):
    with Collecting(tmp_path, first=LONG_PAGE) as collector:
        reader, idle = collector.connect(), collector.connect()
        for one in (reader, idle):
            one.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n" + closes + b"\r\n")
        size = 0
        while size < 12_000_000:
            part = reader.recv(200_000)
            assert part, f"cut off after {size} bytes"
            size += len(part)
            time.sleep(0.012)
        assert is_closed(idle)
        rest = sum(map(len, iter(lambda: idle.recv(1), b"")))
        assert rest < 12_000_000
        for one in (reader, idle):
            one.close()
        assert collector.end()[0] == 0


def test_requests_that_come_together_are_all_answered(tmp_path):
    """Three messages in one packet, and the last one in two."""
    bodies = [json.dumps(message()).encode() for _ in range(3)]
    sent = b"".join(
        b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        for body in bodies
    )
    with Collecting(tmp_path, first=SHORT) as collector:
        one = collector.connect()
        one.sendall(sent[:-20])
        time.sleep(0.1)
        one.sendall(sent[-20:])
        answers = b""
        while answers.count(b'{"kept":true}') < 3:
            part = one.recv(1 << 12)
            assert part, answers
            answers += part
        one.close()
        assert collector.end()[1].startswith("ldpopt: stopped; 3 reports")


def test_cut_uploads_write_nothing(tmp_path):
    with Collecting(tmp_path) as collector:
        for _ in range(30):
            one = collector.connect()
            one.sendall(b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: 150\r\n\r\n{")
            one.close()
        until(lambda: collector.post() == 200)
        code, said = collector.end()
    assert code == 0
    assert said.endswith("cut off 30\n")
    assert said.count("\n") == 1


def test_what_is_not_http_is_counted_and_not_written(tmp_path):
    with Collecting(tmp_path) as collector:
        one = collector.connect()
        one.sendall(b"secret words\r\n\r\n")
        assert is_closed(one)
        one.close()
        said = collector.end()[1]
    assert "secret" not in said
    assert "uvicorn.error WARNING 1" in said


@pytest.mark.parametrize(("limit", "most"), [(256, 96), (96, 16), (1024, 480), (4096, 500)])
def test_the_number_of_connections_follows_from_the_descriptors(monkeypatch, limit, most):
    import resource

    raised = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit // 2, limit))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: raised.append(limits))
    assert connections.most_waiting() == most
    assert raised == [(limit, limit)]


@pytest.mark.long
def test_three_thousand_silent_connections(tmp_path):
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard not in (-1, resource.RLIM_INFINITY) and hard < 8192:
        pytest.skip("needs 8,192 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, hard))
    with Collecting(tmp_path) as collector:
        silent = [collector.connect() for _ in range(3000)]
        assert {collector.post() for _ in range(50)} == {200}
        end = time.monotonic() + seconds(60)
        while not all(is_closed(one) for one in silent):
            assert time.monotonic() < end
        for one in silent:
            one.close()
        code, said = collector.end()
    assert (code, said) == (
        0,
        f"ldpopt: stopped; 50 reports in sqlite:///{collector.path}; 200: 50\n",
    )
    assert SURVEY.count(f"sqlite:///{collector.path}")["smokes"].n_reports == 50
