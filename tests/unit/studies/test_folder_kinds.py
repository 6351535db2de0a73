"""Whatever lies in a folder is read or refused by its name: no row is passed over, none counted
twice."""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from builders import refused
from ldpopt import Mechanism, count_folder, privatize_folder
from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.tables.packed import OPENERS

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
SURE = Mechanism([[1.0, 0.0], [0.0, 1.0]], inputs=["no", "yes"])
QUESTION = {"smokes": SURE}
"""Reports of this question are the answers, so that a test sees whose are there."""


class Folder:
    """Writes files with answers of new people, and counts them."""

    def __init__(self, path: Path) -> None:
        self.path, self.people = path, 0
        path.mkdir(exist_ok=True)

    def answers(self, rows: int = 10) -> pd.DataFrame:
        first = self.people
        self.people += rows
        ids = range(first, first + rows)
        return pd.DataFrame({"smokes": ["no", "yes"] * (rows // 2), "id": ids})

    def at(self, name: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def parquet(self, name: str, rows: int = 10, **more: Any) -> Path:
        self.answers(rows).assign(**more).to_parquet(self.at(name))
        return self.at(name)

    def csv(self, name: str, rows: int = 10) -> Path:
        self.at(name).write_text(self.text(rows))
        return self.at(name)

    def text(self, rows: int = 10) -> str:
        return str(self.answers(rows).to_csv(index=False))

    def zip(self, name: str, *tables: str) -> None:
        with zipfile.ZipFile(self.at(name), "w") as archive:
            for table in tables:
                archive.writestr(table, self.text())


def typed(folder: Folder) -> None:
    """Types and orders of columns that differ from file to file."""
    schemas = {
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
        "large": pa.large_string(),
    }
    for name, kind in schemas.items():
        frame = folder.answers()
        columns = {"id": pa.array(frame["id"], pa.int32()), "smokes": pa.array(frame["smokes"])}
        columns["smokes"] = columns["smokes"].cast(kind)
        pq.write_table(pa.table(columns), folder.at(f"{name}.parquet"))
    folder.answers().assign(id=lambda frame: frame["id"].astype(str)).to_parquet(
        folder.at("texts.parquet")
    )


def spark(folder: Folder) -> None:
    """What Spark leaves beside its parts."""
    folder.at("_SUCCESS").write_bytes(b"")
    folder.at("._SUCCESS.crc").write_bytes(b"crc\0rest")
    folder.parquet("part-00000.snappy.parquet")
    folder.at(".part-00000.snappy.parquet.crc").write_bytes(b"crc\0rest")
    table = pa.table({"smokes": pa.array([], pa.string())})
    pq.write_metadata(table.schema, folder.at("_common_metadata"))


def packed(path: Path, text: str, opener: Any) -> None:
    with opener(path, "wb") as file:
        file.write(text.encode())


def gzipped_twice(path: Path, text: str) -> None:
    """A file of gzip that was appended to."""
    path.write_bytes(gzip.compress(text[:30].encode()) + gzip.compress(text[30:].encode()))


def copied(name: str, copy: str) -> Callable[[Folder], Any]:
    return lambda folder: folder.at(copy).write_bytes(folder.parquet(name).read_bytes())


def lines(build: Callable[[Folder], Any], *names: str) -> Callable[[Folder], None]:
    """Two usual files, and what is built beside them."""

    def built(folder: Folder) -> None:
        for name in names or ("1.parquet", "2.parquet"):
            folder.parquet(name)
        build(folder)

    return built


def damaged(name: str, content: bytes) -> Callable[[Folder], Any]:
    return lambda folder: folder.at(name).write_bytes(content)


def cut(name: str) -> Callable[[Folder], Any]:
    def built(folder: Folder) -> None:
        path = folder.parquet(name)
        path.write_bytes(path.read_bytes()[:-20])

    return built


READ: dict[str, Callable[[Folder], Any]] = {  # every row is read
    "two files": lines(lambda folder: None),
    "one file": lambda folder: folder.parquet("1.parquet"),
    "endings in capitals": lambda folder: (folder.parquet("1.PARQUET"), folder.parquet("2.Pq")),
    "a CSV file beside": lines(lambda folder: folder.csv("3.csv")),
    "CSV in capitals": lines(lambda folder: folder.csv("3.CSV")),
    "a text file": lines(lambda folder: folder.csv("3.txt")),
    "CSV files only": lambda folder: (folder.csv("a.csv"), folder.csv("b.csv", 4)),
    **{
        f"packed as {ending}": lines(
            lambda folder, ending=ending, opener=opener: packed(
                folder.at(f"3.csv{ending}"), folder.text(), opener
            )
        )
        for ending, opener in OPENERS.items()
    },
    "gzip of two parts": lines(lambda folder: gzipped_twice(folder.at("3.csv.gz"), folder.text())),
    "zip": lines(lambda folder: folder.zip("3.zip", "answers.csv")),
    "zip of a folder": lines(lambda folder: folder.zip("3.csv.zip", "inside/answers.csv")),
    "Excel": lines(lambda folder: folder.answers().to_excel(folder.at("3.xlsx"), index=False)),
    "hive": lambda folder: (
        folder.parquet("country=de/1.parquet"),
        folder.parquet("country=fr/1.parquet", 4),
    ),
    "hive of two columns": lambda folder: (
        folder.parquet("country=de/year=2024/1.parquet"),
        folder.parquet("country=de/year=2025/1.parquet"),
    ),
    "hive of a missing name": lambda folder: folder.parquet(
        "country=__HIVE_DEFAULT_PARTITION__/1.parquet"
    ),
    "hive with codes of signs": lambda folder: folder.parquet("place=a%2Fb/1.parquet"),
    "hive beside files": lines(lambda folder: folder.parquet("country=de/3.parquet")),
    "hive of CSV": lambda folder: folder.csv("country=de/1.csv"),
    "subfolders": lambda folder: (
        folder.parquet("1.parquet"),
        folder.parquet("more/1.parquet"),
        folder.csv("more/deep/1.csv"),
    ),
    "an empty subfolder": lines(lambda folder: (folder.path / "more").mkdir()),
    "names with spaces and signs": lambda folder: (
        folder.parquet("1 of 2.parquet"),
        folder.parquet("ü#%?&.parquet"),
        folder.parquet("-.csv.parquet"),
    ),
    "names of several lines": lambda folder: folder.parquet("a\nb.parquet"),
    "other columns": lines(lambda folder: folder.parquet("3.parquet", age=3)),
    "other types and orders": typed,
    "files without rows": lines(
        lambda folder: (folder.parquet("3.parquet", 0), folder.parquet("4.parquet", 0))
    ),
    "two headers": lines(lambda folder: (folder.csv("3.csv", 0), folder.csv("4.csv", 0))),
    "a link to a file elsewhere": lines(
        lambda folder: os.symlink(
            folder.parquet("3.parquet").rename(folder.path.parent / "far"), folder.at("3.parquet")
        )
    ),
    "what Spark writes": spark,
    "what a file manager leaves": lines(
        lambda folder: folder.at(".DS_Store").write_bytes(b"\0\0\0\1Bud1rest")
    ),
    "all kinds": lambda folder: (
        folder.parquet("1.parquet"),
        folder.csv("2.csv"),
        folder.zip("3.zip", "a.csv"),
        folder.parquet("country=de/4.PARQUET"),
    ),
}

RECURSIVE = {"subfolders", "an empty subfolder"}

REFUSED: dict[str, tuple[Callable[[Folder], Any], str, str]] = {  # by code and name
    "nothing": (lambda folder: None, "empty-folder", "in"),
    "a subfolder": (lines(lambda f: f.parquet("more/3.parquet")), "subfolder", "more"),
    "an empty plain subfolder": (lines(lambda f: f.at("more/x").parent), "subfolder", "more"),
    "a subfolder in hive": (
        lambda f: f.parquet("country=de/more/1.parquet"),
        "subfolder",
        "country=de/more",
    ),
    "a hidden subfolder": (lines(lambda f: f.parquet(".git/3.parquet")), "hidden-folder", ".git"),
    "a private subfolder": (lines(lambda f: f.parquet("_old/3.parquet")), "hidden-folder", "_old"),
    "a log of Delta": (
        lines(lambda f: f.at("_delta_log/0.json").write_text("{}")),
        "table-log",
        "_delta_log",
    ),
    "a hidden table": (lines(lambda f: f.parquet(".3.parquet")), "hidden-file", ".3.parquet"),
    "a private table": (lines(lambda f: f.parquet("_3.parquet")), "hidden-file", "_3.parquet"),
    "a marker with rows": (lines(lambda f: f.csv("_SUCCESS")), "hidden-file", "_SUCCESS"),
    "a checksum with rows": (
        lines(lambda f: f.at(".1.parquet.crc").write_text(f.text())),
        "hidden-file",
        ".1.parquet.crc",
    ),
    "metadata with rows": (lines(lambda f: f.parquet("_metadata")), "hidden-file", "_metadata"),
    "a part of a killed program": (
        lines(lambda f: f.at(".3.csv.x.ldpopt-part").write_text("smokes\nno\n")),
        "hidden-file",
        ".ldpopt-part",
    ),
    "another ending": (lines(lambda f: f.csv("3.tsv")), "no-table", "3.tsv"),
    "a backup": (lines(lambda f: f.parquet("3.parquet.bak")), "no-table", "3.parquet.bak"),
    "a file that is being copied": (
        lines(lambda f: f.parquet("3.parquet.crdownload")),
        "no-table",
        "3.parquet.crdownload",
    ),
    "Parquet without an ending": (lines(lambda f: f.parquet("part-0")), "no-table", "part-0"),
    "text without an ending": (lines(lambda f: f.csv("README")), "no-table", "README"),
    "JSON": (lines(lambda f: f.at("3.json").write_text("[]")), "no-table", "3.json"),
    "zstandard": (lines(lambda f: f.at("3.csv.zst").write_text("x")), "no-table", "3.csv.zst"),
    "packed Parquet": (
        lines(lambda f: f.at("3.parquet.gz").write_bytes(gzip.compress(b"PAR1"))),
        "no-table",
        "3.parquet.gz",
    ),
    "a copy": (lines(copied("3.parquet", "4.parquet")), "copied-file", "4.parquet"),
    "a copy in a subfolder": (
        lines(copied("3.parquet", "country=de/3.parquet")),
        "copied-file",
        "3.parquet",
    ),
    "a copy that is packed": (
        lines(lambda f: f.at("4.csv.gz").write_bytes(gzip.compress(f.csv("3.csv").read_bytes()))),
        "copied-file",
        "4.csv.gz",
    ),
    "a link to its neighbor": (
        lines(lambda f: os.symlink(f.at("1.parquet"), f.at("3.parquet"))),
        "copied-file",
        "3.parquet",
    ),
    "a link of the system to its neighbor": (
        lines(lambda f: os.link(f.at("1.parquet"), f.at("3.parquet"))),
        "copied-file",
        "3.parquet",
    ),
    "a link to nothing": (
        lines(lambda f: os.symlink(f.path / "gone", f.at("3.parquet"))),
        "link",
        "3.parquet",
    ),
    "a link to a folder": (
        lines(lambda f: os.symlink(f.path.parent, f.at("country=de"))),
        "link",
        "country=de",
    ),
    "a link to itself": (
        lines(lambda f: os.symlink("3.parquet", f.at("3.parquet"))),
        "link",
        "3.parquet",
    ),
    "a pipe": (lines(lambda f: os.mkfifo(f.at("3.parquet"))), "device", "3.parquet"),
    "an empty file": (lines(damaged("3.parquet", b"")), "empty-file", "3.parquet"),
    "an empty text": (lines(damaged("3.csv", b"")), "empty-file", "3.csv"),
    "a text called Parquet": (lines(damaged("3.parquet", b"no,yes\n")), "parquet", "3.parquet"),
    "Parquet called CSV": (lines(lambda f: f.parquet("3.csv")), "parquet", "3.csv"),
    "a Parquet file that was cut": (lines(cut("3.parquet")), "parquet", "3.parquet"),
    "gzip that was cut": (
        lines(lambda f: f.at("3.csv.gz").write_bytes(gzip.compress(f.text(5000).encode())[:-40])),
        "packed",
        "3.csv.gz",
    ),
    "a text called gzip": (lines(lambda f: f.csv("3.csv.gz")), "packed", "3.csv.gz"),
    "a text called zip": (lines(lambda f: f.csv("3.zip")), "packed", "3.zip"),
    "a zip of two": (lines(lambda f: f.zip("3.zip", "a.csv", "b.csv")), "zip", "3.zip"),
    "a zip of nothing": (lines(lambda f: f.zip("3.zip")), "zip", "3.zip"),
    "a table in two formats": (
        lines(lambda f: f.csv("1.csv")),
        "same-name",
        "1.csv",
    ),
    "a name in two cases": (
        lines(lambda f: f.parquet("1.PARQUET")),
        "same-name",
        "1.PARQUET",
    ),
    "a table without the column": (
        lines(lambda f: pd.DataFrame({"drinks": ["no"]}).to_parquet(f.at("3.parquet"))),
        "column",
        "3.parquet",
    ),
    "a text without a header": (
        lines(lambda f: f.at("3.csv").write_text("no\nyes\nno\n")),
        "column",
        "3.csv",
    ),
    "rows of several lengths": (
        lines(lambda f: f.at("3.csv").write_text("smokes\nno\nno,yes\n")),
        "fields",
        "3.csv",
    ),
    "another answer": (
        lines(lambda f: pd.DataFrame({"smokes": ["perhaps"]}).to_parquet(f.at("3.parquet"))),
        "unknown-label",
        "3.parquet",
    ),
    "an answer in the name": (
        lambda f: pd.DataFrame({"id": [1]}).to_parquet(f.at("smokes=no/1.parquet")),
        "answers-in-names",
        "smokes",
    ),
    "a column in the file and the name": (
        lambda f: f.parquet("country=de/1.parquet", country="de"),
        "column-twice",
        "country=de",
    ),
    "a group in two folders": (
        lambda f: f.parquet("country=de/country=fr/1.parquet"),
        "group-twice",
        "country=de/country=fr",
    ),
    "an origin without its table": (
        lines(lambda f: f.at("3.csv.origin.json").write_text("{}")),
        "no-table",
        "3.csv.origin.json",
    ),
}


def test_there_are_many_kinds() -> None:
    assert len(READ) + len(REFUSED) >= 60


@pytest.mark.parametrize("kind", READ)
def test_every_row_is_read(kind: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "in")
    READ[kind](folder)
    target = tmp_path / "out"
    options = {"recursive": kind in RECURSIVE}
    assert privatize_folder(folder.path, target, QUESTION, keep=["id"], **options) == folder.people
    counts = count_folder(target, QUESTION)["smokes"]
    assert counts.n_reports == folder.people
    assert privatize_folder(folder.path, target, QUESTION, keep=["id"], **options) == folder.people
    ids = pd.concat(
        pq.ParquetFile(path).read(["id"]).to_pandas().astype(str)
        for path in target.rglob("*.parquet")
    )
    assert ids["id"].nunique() == folder.people


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_read_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "in")
    build, code, name = REFUSED[kind]
    build(folder)
    with pytest.raises(LdpoptError) as caught:
        privatize_folder(folder.path, tmp_path / "out", QUESTION)
    assert caught.value.code == code, str(caught.value)
    assert name in str(caught.value)
    assert caught.value.do
    # The same folder as one of reports is refused, too, unless it has no origin to disagree.
    if code not in ("answers-in-names",):
        with pytest.raises(LdpoptError) as caught:
            count_folder(folder.path, QUESTION)
        assert name in str(caught.value) or code == "column-twice"


def drawn(tmp_path: Path) -> tuple[Folder, Path]:
    """Two files of answers, and their reports."""
    folder = Folder(tmp_path / "in")
    folder.parquet("1.parquet")
    folder.parquet("2.parquet")
    target = tmp_path / "out"
    assert privatize_folder(folder.path, target, QUESTION, keep=["id"]) == 20
    return folder, target


def swap(path: Path) -> None:
    """Other answers of as many people, in as many bytes."""
    frame = pd.read_parquet(path)
    frame["smokes"] = frame["smokes"].to_numpy()[::-1]
    frame.to_parquet(path)


def swap_ids(path: Path) -> None:
    """The same reports of other people, with the notes and the bytes of before."""
    table, size = pq.read_table(path), path.stat().st_size
    ids = table["id"].take(list(range(len(table)))[::-1])
    pq.write_table(table.set_column(table.column_names.index("id"), "id", ids), path)
    assert path.stat().st_size == size


SOURCES: dict[str, tuple[Callable[[Folder], Any], str]] = {  # what happens to answers afterwards
    "grown": (lambda f: f.parquet("2.parquet", 100), "changed-source"),
    "shrunk": (lambda f: f.parquet("2.parquet", 4), "changed-source"),
    "other content": (lambda f: swap(f.at("2.parquet")), "changed-source"),
    "missing": (lambda f: f.at("2.parquet").unlink(), "missing-source"),
    "renamed": (lambda f: f.at("2.parquet").rename(f.at("3.parquet")), "missing-source"),
    "copied": (
        lambda f: f.at("3.parquet").write_bytes(f.at("2.parquet").read_bytes()),
        "copied-file",
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_that_changes_after_its_reports_are_drawn_is_refused(
    kind: str, tmp_path: Path
) -> None:
    folder, target = drawn(tmp_path)
    change, code = SOURCES[kind]
    change(folder)
    with pytest.raises(ModelFileError) as caught:
        privatize_folder(folder.path, target, QUESTION, keep=["id"])
    assert caught.value.code == code, str(caught.value)
    assert count_folder(target, QUESTION)["smokes"].n_reports == 20


def test_reports_that_are_lost_or_of_another_run_are_not_drawn_again(tmp_path: Path) -> None:
    folder, target = drawn(tmp_path)
    other = tmp_path / "other"
    privatize_folder(folder.path, other, QUESTION, keep=["id"])
    lost = target / "2.parquet"
    lost.unlink()
    for code in ("missing-part", "foreign-file"):
        with refused(code, ModelFileError):
            privatize_folder(folder.path, target, QUESTION, keep=["id"])
        lost.write_bytes((other / "2.parquet").read_bytes())


TARGETS: dict[str, tuple[Callable[[Path], Any], str]] = {  # what happens to reports afterwards
    "planted": (
        lambda t: pd.DataFrame({"smokes": ["no"]}).to_parquet(t / "0.parquet"),
        "foreign-file",
    ),
    "planted CSV": (lambda t: (t / "0.csv").write_text("smokes\nno\n"), "foreign-file"),
    "copied": (
        lambda t: (t / "0.parquet").write_bytes((t / "1.parquet").read_bytes()),
        "foreign-file",
    ),
    "copied in place of another": (
        lambda t: (t / "2.parquet").write_bytes((t / "1.parquet").read_bytes()),
        "copied-file changed-part",
    ),
    "missing": (lambda t: (t / "2.parquet").unlink(), "missing-part"),
    "written anew": (
        lambda t: pd.read_parquet(t / "2.parquet").to_parquet(t / "2.parquet"),
        "changed-part",
    ),
    "other reports": (lambda t: swap(t / "2.parquet"), "changed-part"),
    "as many bytes": (lambda t: swap_ids(t / "2.parquet"), "changed-part"),
    "cut": (
        lambda t: (t / "2.parquet").write_bytes((t / "2.parquet").read_bytes()[:-9]),
        "changed-part",
    ),
    "in a subfolder": (
        lambda t: Folder(t).parquet("more/3.parquet"),
        "foreign-file",
    ),
    "hidden": (lambda t: Folder(t).parquet(".parts/3.parquet"), "hidden-folder"),
    "without an inventory": (
        lambda t: (t.parent / "out.inventory.json").unlink(),
        "no-inventory",
    ),
    "with a changed inventory": (
        lambda t: (t.parent / "out.inventory.json").write_text(
            (t.parent / "out.inventory.json").read_text().replace("true", "false")
        ),
        "inventory",
    ),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_reports_that_are_not_those_of_the_inventory_are_refused(kind: str, tmp_path: Path) -> None:
    _, target = drawn(tmp_path)
    change, codes = TARGETS[kind]
    change(target)
    with pytest.raises(ModelFileError) as caught:
        count_folder(target, QUESTION)
    assert caught.value.code in codes.split(), str(caught.value)
    assert caught.value.do
