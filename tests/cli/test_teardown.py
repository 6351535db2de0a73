"""A command that ends while a table is being read."""

from __future__ import annotations

import io
import sys

import pytest

from builders import refused
from ldpopt.cli import app
from ldpopt.errors import ModelFileError
from ldpopt.tables import csv_

LONG = b"answer\n" + b"yes\nno\n" * (csv_.BLOCK // 3)


def test_after_a_table_that_was_not_read_to_its_end_a_command_skips_the_teardown(monkeypatch):
    monkeypatch.setattr(csv_, "_unfinished", 0)
    whole = csv_.CsvRows(io.BytesIO(LONG), "t").batches([0], [])
    assert sum(len(batch[0]) for batch in whole) == 2 * (csv_.BLOCK // 3)
    assert not csv_.is_reading()
    next(csv_.CsvRows(io.BytesIO(LONG), "t").batches([0], []))
    assert csv_.is_reading()
    with refused("fields", ModelFileError):
        list(csv_.CsvRows(io.BytesIO(b"answer\nyes,no\n"), "t").batches([0], []))
    ended = []
    monkeypatch.setattr(app.os, "_exit", ended.append)
    monkeypatch.setattr(app, "app", lambda: sys.exit(2))
    with pytest.raises(SystemExit):  # because `os._exit` is replaced
        app.run()
    assert ended == [2]
