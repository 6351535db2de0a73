r"""Draws that repeat per person: with a secret key, the same id and answer give the same report.

A report's word, :math:`\lfloor F_k(\text{question}, \text{digest}, x, \text{id}) / 2^{11} \rfloor`,
is a keyed hash (BLAKE2b, RFC 7693). The idea is the permanent response of RAPPOR (Erlingsson,
Pihur, Korolova 2014).
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.files import replacing, require_path, strict_object
from ldpopt.foundation.numbers import Int, short_repr
from ldpopt.mechanism.sampling import BITS, Counts, Random, Words
from ldpopt.tables.coding import is_text
from ldpopt.tables.frames import as_arrow
from ldpopt.tables.vectors import bytes_of

FORMAT = "ldpopt key 1"
DO = "give each record its own id: the same id twice would draw the same report twice"
SIZE = 32  # bytes of a new key, and of the secret of a stream
LEAST, MOST = 16, 64  # smallest and largest number of bytes of a key; BLAKE2b takes at most 64
MAX_FILE_BYTES = 4096
# Purpose of a hash: hashes for different purposes are independent
DRAW, STREAM, NAME = b"ldpopt-draw-1", b"ldpopt-many-1", b"ldpopt-name-1"
PART = b"ldpopt-part-1"
OTHERS = stat.S_IRWXG | stat.S_IRWXO  # permissions of others than the owner of a file


class SecretKey:
    """A secret key from which the draws of all persons are derived; with it, reports can be traced
    back to answers.

    A report that changes from one survey to the next shows *that* the answer changed, also without
    the key; a second layer of fresh draws hides it.

    Parameters
    ----------
    secret : bytes
        16 to 64 bytes from a secure generator; `SecretKey.new` makes them.

    Raises
    ------
    StatementError
        If the secret is not bytes, or has another length.

    Examples
    --------
    >>> SecretKey(bytes(range(32)))
    SecretKey(name='54a3e187cd529909')
    """

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or not LEAST <= len(secret) <= MOST:
            size = (
                f"{len(secret)} bytes"
                if isinstance(secret, bytes)
                else f"a {type(secret).__name__}"
            )
            problem = f"a key has {LEAST} to {MOST} secret bytes, not {size}"
            raise StatementError(problem, code="secret", do="make one with SecretKey.new()")
        self._secret = secret

    @classmethod
    def new(cls) -> SecretKey:
        """Draw a key of 32 bytes from the operating system's generator."""
        return cls(secrets.token_bytes(SIZE))

    @classmethod
    def read(cls, key: Any) -> SecretKey:
        """Return a key that is given as such, or as bytes."""
        return key if isinstance(key, SecretKey) else cls(key)

    def __repr__(self) -> str:
        """The name, which does not reveal the secret."""
        return f"SecretKey(name={self.name!r})"

    def __eq__(self, other: object) -> bool:
        """Whether both are the same secret."""
        return isinstance(other, SecretKey) and secrets.compare_digest(self._secret, other._secret)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def name(self) -> str:
        """Sixteen hexadecimal digits that identify the key, and may be public."""
        return hashlib.blake2b(key=self._secret, person=NAME, digest_size=8).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the key to a new file that only its owner may read; an existing file is refused,
        never replaced.

        Raises
        ------
        ModelFileError
            If the file exists, since it may be the only copy of a key, or cannot be written.
        """
        try:
            with replacing(path, new=True) as stream:
                stream.write(
                    json.dumps({"format": FORMAT, "name": self.name, "key": self._secret.hex()})
                    + "\n"
                )
        except FileExistsError:
            do = "name another file; reports drawn with a key that is lost cannot be repeated"
            problem = "the file exists already; a key is never replaced"
            raise ModelFileError(problem, code="existing-file", where=str(path), do=do) from None
        except ValueError as error:
            if isinstance(error, ModelFileError):
                raise
            problem = f"cannot write the key: {error}"
            raise ModelFileError(
                problem, code="unwritable-key", where=str(path), do="check the path"
            ) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SecretKey:
        """Read a file of `save`; refused if it was changed, or if others than its owner may read
        it.

        Raises
        ------
        ModelFileError
            If the file is missing, has no key or a changed one, or others than its owner may read
            it.
        """
        require_path(path)
        where = os.fsdecode(path)
        try:
            mode = os.stat(path).st_mode
            if os.name == "posix" and stat.S_ISREG(mode) and mode & OTHERS:
                problem = f"others than its owner may use the key (mode {stat.S_IMODE(mode):o})"
                do = f"chmod 600 {where}"
                raise ModelFileError(problem, code="permissions", where=where, do=do)
            data = strict_object(path, MAX_FILE_BYTES)
            loaded = cls(bytes.fromhex(data["key"])) if data["format"] == FORMAT else None
            name = data["name"]
            if (
                set(data) != {"format", "name", "key"}
                or data["key"] != bytes.fromhex(data["key"]).hex()
            ):  # an unread key, or other digits of the same bytes
                loaded = None
        except OSError as error:
            problem = f"cannot read the key: {error.strerror or error}"
            raise ModelFileError(
                problem, code="unreadable-key", where=where, do="check the path"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, ModelFileError):
                raise
            loaded = None
        # raised outside the block, so that neither message nor chain can contain a secret
        if loaded is None:
            do = "write one with `ldpopt key FILE`"
            raise ModelFileError("not a key", code="key", where=where, do=do)
        if name != loaded.name:
            problem = (
                f"the key was changed: its name is {loaded.name} now, not {short_repr(name)} "
                "as written"
            )
            do = (
                "restore the file as it was written: another key draws all reports anew, and "
                "budgets add up"
            )
            raise ModelFileError(problem, code="key-name", where=where, do=do)
        return loaded


def part_id(key: SecretKey, content: str) -> str:
    """Id of the reports that are drawn from some content with a key: the same for the same content,
    which it does not tell.
    """
    keyed = hashlib.blake2b(content.encode(), key=key._secret, person=PART, digest_size=16)
    return keyed.hexdigest()


class Streams:
    """Endless streams of 64-bit words, one for each record: SHAKE-256 of its 32 secret bytes and a
    request number.
    """

    def __init__(self, secrets: list[bytes]) -> None:
        self._secrets = secrets
        self._requests = [0] * len(secrets)

    def __call__(self, rows: Int, count: int) -> Words:
        """Return the next ``count`` words of some records, shape ``(rows, count)``."""
        words = []
        for row in rows.tolist():
            request = self._requests[row].to_bytes(8, "little")
            words.append(hashlib.shake_256(self._secrets[row] + request).digest(8 * count))
            self._requests[row] += 1
        return (
            np.frombuffer(b"".join(words), dtype="<u8").astype(np.uint64).reshape(len(rows), count)
        )


@dataclass(frozen=True)
class KeyedDraws:
    """Source of words for the records of a column, or of a batch of it: each word depends on its
    own answer and id.
    """

    key: SecretKey
    question: str
    ids: list[bytes]

    def where(self, chosen: Any) -> KeyedDraws:
        """Return the draws of some records, given by a mask."""
        return KeyedDraws(
            self.key, self.question, [self.ids[row] for row in np.flatnonzero(chosen).tolist()]
        )

    def words(self, digest: str, codes: Counts) -> Words:
        """Return one 53-bit word per answer, shape (N,), for the digest of the mechanism; a
        microsecond a word.
        """
        hashes = b"".join(self._hashes(DRAW, 8, digest, codes))
        return np.frombuffer(hashes, dtype="<u8").astype(np.uint64) >> np.uint64(64 - BITS)

    def streams(self, digest: str, codes: Counts) -> Streams:
        """Return a stream of words per answer, for reports that take more than one word."""
        return Streams(self._hashes(STREAM, SIZE, digest, codes))

    def _hashes(self, purpose: bytes, size: int, digest: str, codes: Counts) -> list[bytes]:
        """Return keyed hashes of question, mechanism, answer and id."""
        text = self.question.encode("utf-8", "surrogatepass")
        # The length of every part before the id is fixed or hashed too: different inputs are never
        # the same bytes.
        start = hashlib.blake2b(key=self.key._secret, person=purpose, digest_size=size)
        start.update(len(text).to_bytes(8, "little") + text + bytes.fromhex(digest))
        copies = {}
        for code in np.unique(codes).tolist():
            start_of_answer = start.copy()
            start_of_answer.update(code.to_bytes(8, "little"))
            copies[code] = start_of_answer.copy
        hashes = []
        for code, name in zip(codes.tolist(), self.ids, strict=True):
            record = copies[code]()
            record.update(name)
            hashes.append(record.digest())
        return hashes


Draws = Random | KeyedDraws  # source of the draws of a column


@dataclass(frozen=True)
class Keyed:
    """A key, and the ids of the records: a column of a table, or a vector."""

    key: SecretKey
    id: Any

    @classmethod
    def read(cls, key: Any, id: Any, rng: Random) -> Keyed | None:
        """Read the arguments of a call; None if draws are not keyed."""
        if key is None and id is None:
            return None
        do = "pass key=SecretKey.load(path) and id='the column of the ids', or neither"
        if key is None:
            raise StatementError("id is given without key", code="ids-without-key", do=do)
        if id is None:
            raise StatementError("key is given without id", code="key-without-ids", do=do)
        if rng is not None:
            problem = "draws come from a key or from rng, not from both"
            raise StatementError(problem, code="key-and-rng", do="leave rng out")
        return cls(SecretKey.read(key), id)

    def draws(self, question: str, size: int) -> KeyedDraws:
        """Return the draws for answers whose ids are a vector of this size."""
        ids = ids_of(self.id, "the ids")
        if len(ids) != size:
            problem = f"{len(ids)} ids for {size} answers"
            raise StatementError(problem, code="id-count", do="give one id for each answer")
        return KeyedDraws(self.key, question, ids)


class Ids:
    """Ids of the records of a table, read batch by batch; ``where`` is the file and column, for
    messages.

    Duplicate ids are found by 64-bit hashes, eight bytes a row. With probability below ``n^2 /
    2^65`` two different ids of ``n`` rows have the same hash and the table is refused; Python's
    hashes differ from run to run.
    """

    def __init__(self, where: str, first_row: int = 0) -> None:
        self.where, self._row, self._first = where, first_row, first_row
        self._hashes: list[Any] = []

    def take(self, column: optional.pyarrow.Array) -> list[bytes]:
        """Ids of a batch, in UTF-8; a whole number is read as its digits."""
        pa = optional.pyarrow
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (is_text(kind) or pa.types.is_integer(kind)):
            problem = f"ids are texts or whole numbers, not {short_repr(str(kind))}"
            do = "write all ids as texts"
            raise StatementError(problem, code="id-type", where=self.where, do=do)
        texts = (
            column.cast(kind).cast(pa.large_string())
            if kind != pa.large_string()
            else column.cast(kind)
        )
        names = bytes_of(texts.cast(pa.large_binary()))
        if texts.null_count or b"" in names:
            row = next(row for row, text in enumerate(names) if not text)
            where = f"{self.where}, row {self._row + row}"
            raise StatementError("an id is missing", code="missing-id", where=where, do=DO)
        self._hashes.append(np.fromiter(map(hash, names), np.int64, len(names)))
        self._row += len(names)
        return names

    def require_distinct(self) -> None:
        """Refuse a table with duplicate ids."""
        hashes = np.concatenate(self._hashes) if self._hashes else np.empty(0, np.int64)
        ordered = np.sort(hashes)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(again):
            first, second = (np.flatnonzero(hashes == ordered[again[0]])[:2] + self._first).tolist()
            more = f"; {len(again):,} rows repeat an id" if len(again) > 1 else ""
            problem = f"rows {first} and {second} have the same id{more}"
            raise StatementError(problem, code="duplicate-id", where=self.where, do=DO)


def ids_of(column: Any, where: str) -> list[bytes]:
    """Ids in a column of a dataframe, a list or an array."""
    pa = optional.pyarrow
    try:
        array = as_arrow(column)
        array = (
            pa.array(column.to_list() if hasattr(column, "to_list") else column)
            if array is None
            else array
        )
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = None
    # outside the block: the error of arrow has an id, and would be shown as the cause
    if array is None:
        do = "write all ids as texts"
        raise StatementError("the ids are of several kinds", code="id-kinds", where=where, do=do)
    ids = Ids(where)
    names = ids.take(array)
    ids.require_distinct()
    return names
