"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ldpopt.errors import ModelFileError
from ldpopt.foundation.files import parse_strictly, replacing, strict_json


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_devices_are_written_in_place_and_errors_keep_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # not /dev/null: a write that is wrong would replace it for the whole machine
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    with replacing("pipe") as stream:
        stream.write("x")
    assert os.read(reader, 2) == b"x"
    os.close(reader)
    assert Path("pipe").is_fifo()
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


def test_a_file_is_whole_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def synced(handle: int) -> None:
        assert os.path.getsize(hidden()) == 3
        done.append("synced")

    def hidden() -> Path:
        return next(tmp_path.glob(".new.*.ldpopt-part"))

    rename = os.replace
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("renamed"), rename(*names)))
    with replacing(tmp_path / "new") as stream:
        stream.write("all")
        assert not (tmp_path / "new").exists()
    assert done == ["synced", "renamed"]
    assert (tmp_path / "new").read_text() == "all"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize("new", [False, True])
def test_a_name_goes_from_one_whole_file_to_the_other(tmp_path: Path, new: bool) -> None:
    """The file that was written gets the name; nothing is copied, which a kill could cut."""
    file = tmp_path / "file"
    if not new:
        file.write_text("old")
    with replacing(file, new=new) as stream:
        stream.write("new")
        number = os.fstat(stream.fileno()).st_ino
        assert new or file.read_text() == "old"
    assert (file.stat().st_ino, file.read_text()) == (number, "new")
    assert list(tmp_path.iterdir()) == [file]


def test_json_of_the_largest_size_is_read_and_a_byte_more_is_not(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text('{"a": 1}')
    size = file.stat().st_size
    assert strict_json(file, size) == {"a": 1}
    with pytest.raises(ValueError, match="more than"):
        strict_json(file, size - 1)


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', "[NaN]", "[Infinity]", "[-Infinity]", "[" * 10**6, '"\xff"']
)
def test_what_json_leaves_open_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_strictly(text.encode("latin-1"))
