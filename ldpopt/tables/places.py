"""Where tables lie: paths of this machine, or addresses of stores such as ``s3://bucket/folder``,
by fsspec.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.foundation import optional
from ldpopt.foundation.files import file_errors, readable, replacing

# The package of each scheme beside fsspec; none for the memory of this process
PACKAGES = {
    "memory": "",
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
}
FILE = "file://"
MEMORY = "memory://"
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")
KNOWN = "use file://, s3://, gs://, az:// or memory://"
BESIDE = ".origin.json"  # ending of the name of the file beside a CSV file


@dataclass(frozen=True)
class Found:
    """What is in a folder under a name."""

    name: str
    kind: str  # "file", "folder", "link" to a folder or to nothing, or "device"
    size: int


def is_address(path: str) -> bool:
    """Whether a path is an address in a store, such as ``s3://bucket/answers.csv``."""
    scheme = SCHEME.match(path)
    return scheme is not None and scheme[0].lower() in PACKAGES


def place_of(path: str | os.PathLike[str], databases: bool = False) -> str:
    """A path or address as text: ``file://`` becomes a path, and a scheme that is not known is
    refused; ``databases`` are left to others.
    """
    name = os.fsdecode(path)
    if (scheme := SCHEME.match(name)) is None:
        return name
    if scheme[0].lower() == "file":
        parts = urlsplit(name)
        if parts.netloc not in ("", "localhost") or not parts.path:
            do = "write file:///home/me/answers, with three slashes"
            raise ModelFileError(
                "the address names another machine", code="host", where=name, do=do
            )
        return unquote(name[len(FILE) + len(parts.netloc) :])
    if not databases and scheme[0].lower() not in PACKAGES:
        raise ModelFileError(
            f"tables are not kept at {scheme[0]}://", code="scheme", where=name, do=KNOWN
        )
    return name


def plain(path: str) -> str:
    """A path from the root, or an address, without a slash at its end."""
    if not is_address(path):
        return os.path.abspath(path)
    scheme, _, rest = path.partition("://")
    return f"{scheme.lower()}://{rest.strip('/')}"


def beside(path: str, ending: str) -> str:
    """The path of a file beside a folder: of its name with an ending."""
    name = plain(path)
    root = name.partition("://")[2] if is_address(name) else name.strip("/")
    has_buckets = is_address(name) and not name.startswith(MEMORY)
    if not root or (has_buckets and "/" not in root):
        raise ModelFileError(
            "there is no place beside this folder",
            code="root",
            where=path,
            do="name a folder in it",
        )
    return name + ending


def joined(folder: str, name: str) -> str:
    """The path of a file in a folder."""
    return f"{folder.rstrip('/') if folder.strip('/') else folder}/{name}" if folder else name


def store_of(path: str) -> Disk | ObjectStore:
    """The disks of this machine, or the store of an address."""
    return ObjectStore(path) if is_address(path) else Disk()


def is_folder(path: str) -> bool:
    """Whether a table is a folder of tables; the rows of stdin and of databases are none."""
    name = place_of(path, databases=True)
    if name == "-" or (SCHEME.match(name) and not is_address(name)):
        return False
    return store_of(name).kind(name) == "folder"


class Disk:
    """The disks of this machine."""

    def kind(self, path: str) -> str:
        """Whether a path is a "file" or a "folder"; "" if there is nothing."""
        return "folder" if os.path.isdir(path) else "file" if os.path.exists(path) else ""

    def entries(self, folder: str) -> list[Found]:
        """What is in a folder, by name."""
        with file_errors("cannot read the folder", folder):
            return sorted(map(_entry, os.scandir(folder)), key=lambda entry: entry.name)

    def open(self, path: str) -> IO[bytes]:
        """Open a file to read."""
        return readable(path).open("rb")

    def size(self, path: str) -> int:
        """Number of bytes of a file."""
        return os.path.getsize(path)

    def create(self, part: str, target: str) -> bool:
        """Give a file on the same disk its name, unless there is one; return which."""
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(part, target)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if os.path.exists(target):
                return False
            os.replace(part, target)
        return True

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(path)

    def write(self, path: str, content: bytes, private: bool = False) -> None:
        """Replace a file at once; a private one is for its owner only."""
        with replacing(path, binary=True, private=private) as stream:
            stream.write(content)


def _entry(entry: os.DirEntry[str]) -> Found:
    """One entry of a folder of this machine."""
    with suppress(OSError):
        facts = entry.stat()
        if stat.S_ISREG(facts.st_mode):
            return Found(entry.name, "file", facts.st_size)
        if stat.S_ISDIR(facts.st_mode):
            return Found(entry.name, "link" if entry.is_symlink() else "folder", 0)
        return Found(entry.name, "device", 0)
    return Found(entry.name, "link", 0)


class ObjectStore:
    """The store of an address, which has files as a whole: they appear when they are complete."""

    def __init__(self, address: str) -> None:
        scheme = address.partition("://")[0].lower()
        if package := PACKAGES[scheme]:
            getattr(optional, package)  # a missing one is named with its extra
        with _store_errors("cannot reach the store", address):
            self._system, _ = optional.fsspec.core.url_to_fs(address, use_listings_cache=False)

    def kind(self, path: str) -> str:
        """Whether an address is a "file" or a "folder"; "" if there is nothing."""
        with _store_errors("cannot reach the store", path), suppress(FileNotFoundError):
            self._system.invalidate_cache()
            facts = self._system.info(path)
            return "folder" if facts["type"] == "directory" else "file"
        return ""

    def entries(self, folder: str) -> list[Found]:
        """What is in a folder, by name."""
        with _store_errors("cannot read the folder", folder):
            self._system.invalidate_cache()
            marker = self._system._strip_protocol(folder).rstrip("/")
            rows = [
                (str(row["name"]).rstrip("/"), row) for row in self._system.ls(folder, detail=True)
            ]
        return sorted(
            (
                Found(
                    name.rpartition("/")[2],
                    "folder" if row["type"] == "directory" else "file",
                    int(row.get("size") or 0),
                )
                for name, row in rows
                if name != marker  # the mark of the folder itself
            ),
            key=lambda entry: entry.name,
        )

    def open(self, path: str) -> IO[bytes]:
        """Open a file to read."""
        with _store_errors("cannot read the table", path):
            stream: IO[bytes] = self._system.open(path, "rb")
            return stream

    def size(self, path: str) -> int:
        """Number of bytes of a file."""
        with _store_errors("cannot read the table", path):
            self._system.invalidate_cache()
            return int(self._system.size(path))

    def create(self, part: str, target: str) -> bool:
        """Copy a file of this machine to an address, unless there is one; return which."""
        with _store_errors("cannot write the file", target):
            if self.kind(target):
                return False
            try:
                self._system.put_file(part, target, mode="create")
            except FileExistsError:
                return False
            except (TypeError, NotImplementedError):  # a store that cannot ask for a new name
                self._system.put_file(part, target)
        return True

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError), _store_errors("cannot remove the file", path):
            if self.kind(path):
                self._system.rm_file(path)

    def write(self, path: str, content: bytes, private: bool = False) -> None:
        """Replace a file at once; who may read it is set in the store."""
        with _store_errors("cannot write the file", path):
            self._system.pipe_file(path, content)


@contextmanager
def _store_errors(problem: str, where: str) -> Iterator[None]:
    """Raise whatever a store says as a ModelFileError."""
    try:
        yield
    except (LdpoptError, FileExistsError, TypeError, NotImplementedError):
        raise
    except FileNotFoundError:
        why = "there is no such file or folder"
    except ImportError as error:
        why = f"{error}"
    except Exception as error:  # each store has kinds of its own
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
    else:
        return
    do = "check the address, and the keys of the store in the environment"
    raise ModelFileError(f"{problem}: {why}", code="store", where=where, do=do)


def write_new(path: str, content: bytes) -> bool:
    """Write a file at once unless there is one; return which."""
    store = store_of(path)
    with tempfile.TemporaryDirectory(
        prefix=".", suffix=".ldpopt-part", dir=None if is_address(path) else os.path.dirname(path)
    ) as folder:
        part = os.path.join(folder, "part")
        Path(part).write_bytes(content)
        return store.create(part, path)


def open_table(path: str) -> IO[bytes]:
    """Open a file of this machine or of a store to read."""
    return store_of(path).open(path)


@contextmanager
def replacing_in_store(path: str) -> Iterator[IO[bytes]]:
    """Write a file of a store: it is collected here, and sent when it is complete."""
    with tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, "part")
        with open(part, "wb") as stream:
            yield stream
        store = ObjectStore(path)
        with _store_errors("cannot write the file", path):
            store._system.put_file(part, path)
