"""A table that is left before its end is known: the command line then ends without the interpreter's teardown."""

from __future__ import annotations

import io
import sys

import pytest

from ldpopt.cli import app
from ldpopt.errors import ModelFileError
from ldpopt.tables import csv_

TABLE = b"answer\n" + b"yes\nno\n" * (csv_.BLOCK // 3)


@pytest.fixture(autouse=True)
def _none_before(monkeypatch):
    monkeypatch.setattr(csv_, "_unfinished", 0)


def test_a_table_read_to_its_end_is_finished():
    assert sum(len(batch[0]) for batch in csv_.CsvRows(io.BytesIO(TABLE), "t").batches([0], [])) == 2 * (
        csv_.BLOCK // 3
    )
    assert not csv_.is_reading()


def test_a_table_left_early_or_refused_is_not(monkeypatch):
    next(csv_.CsvRows(io.BytesIO(TABLE), "t").batches([0], []))
    assert csv_.is_reading()
    with pytest.raises(ModelFileError, match="fields"):
        list(csv_.CsvRows(io.BytesIO(b"answer\nyes,no\n"), "t").batches([0], []))
    ended = []
    monkeypatch.setattr(app.os, "_exit", ended.append)
    monkeypatch.setattr(app, "app", lambda: sys.exit(2))
    with pytest.raises(SystemExit):  # only as `os._exit` is replaced
        app.run()
    assert ended == [2]
