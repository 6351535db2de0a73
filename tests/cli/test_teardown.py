"""A command that ends after it read a table, or while one is being read."""

from __future__ import annotations

import io
import sys

import pytest

from builders import refused
from ldpopt.cli import app
from ldpopt.errors import ModelFileError
from ldpopt.tables import csv_

LONG = b"answer\n" + b"yes\nno\n" * (csv_.BLOCK // 3)


def whole():
    rows = csv_.CsvRows(io.BytesIO(LONG), "t").batches([0], [])
    assert sum(len(batch[0]) for batch in rows) == 2 * (csv_.BLOCK // 3)


def beginning():
    next(csv_.CsvRows(io.BytesIO(LONG), "t").batches([0], []))


def broken():
    with refused("fields", ModelFileError):
        list(csv_.CsvRows(io.BytesIO(b"answer\nyes,no\n"), "t").batches([0], []))


@pytest.mark.parametrize("read", [whole, beginning, broken])
def test_after_a_table_a_command_does_what_is_registered_and_skips_the_teardown(monkeypatch, read):
    ended = []
    monkeypatch.setattr(csv_, "_has_read", False)
    monkeypatch.setattr(app.atexit, "_run_exitfuncs", lambda: ended.append("registered"))
    monkeypatch.setattr(app.os, "_exit", ended.append)
    monkeypatch.setattr(app, "app", lambda: sys.exit(2))
    with pytest.raises(SystemExit):
        app.run()
    assert ended == []  # no table was read
    read()
    with pytest.raises(SystemExit):  # because `os._exit` is replaced
        app.run()
    assert ended == ["registered", 2]
