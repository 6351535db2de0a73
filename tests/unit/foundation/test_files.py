"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ldpopt.errors import ModelFileError
from ldpopt.foundation.files import replacing


def test_devices_are_written_in_place_and_errors_keep_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with replacing(os.devnull) as stream:
        stream.write("x")
    assert not Path(os.devnull).is_file()
    Path("old").write_text("old")
    Path("link").symlink_to("old")
    with pytest.raises(ZeroDivisionError), replacing("old") as stream:
        stream.write(f"new {1 / 0}")
    assert Path("old").read_text() == "old"
    with replacing("link") as stream:
        stream.write("new")
    assert Path("link").is_symlink()
    assert Path("old").read_text() == "new"
    with pytest.raises(ModelFileError), replacing("."):
        pass
