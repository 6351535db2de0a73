"""Certificates as JSON: values of a file with their keys, labels, masses, notions, and the text with its digest."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import CertificateError, ModelFileError, StatementError
from ldpopt.foundation.files import strict_json
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.stated import read_table
from ldpopt.privacy.tables import MisstatedError

UNIT = 1 << 53
"""Sum of the masses of a row."""

NEXT = ",\n"
"""Between the entries of an object, each on its own line."""

_RATIONAL = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")

_HEX = re.compile(r"-?0x[01](\.[0-9a-f]{1,13})?p[+-][0-9]{1,4}")


def open_document(path: str | os.PathLike[str], largest: int) -> Entry:
    """Read a JSON file of at most so many bytes."""
    name = os.fspath(path)
    try:
        return Entry(strict_json(path, largest), name)
    except OSError as error:
        what = f"cannot read the certificate: {error.strerror or error}"
        raise ModelFileError(what, where=name, do="check the path") from None
    except ValueError as error:
        raise ModelFileError(f"not a certificate in JSON: {error}", where=name) from None


class Entry:
    """A value of a file and its key."""

    def __init__(self, value: Any, path: str, key: str = "") -> None:
        self.value, self.path, self.key = value, path, key

    def error(self, what: str, do: str = "") -> ModelFileError:
        """Build an error with file and key."""
        return ModelFileError(what, where=f"{self.path}: {self.key}" if self.key else self.path, do=do)

    def table(self, *keys: str) -> dict[str, Entry]:
        """Read an object with exactly these keys."""
        if not isinstance(self.value, dict):
            raise self.error(f"{self._shown()} should be an object with the keys {', '.join(keys)}")
        missing, unknown = [k for k in keys if k not in self.value], [k for k in self.value if k not in keys]
        if missing or unknown:
            what = f"the key {missing[0]!r} is missing" if missing else f"unknown key {unknown[0]!r}"
            raise self.error(what, f"known here: {', '.join(keys)}")
        return {key: Entry(self.value[key], self.path, f"{self.key}.{key}".lstrip(".")) for key in keys}

    def part(self, key: str) -> Entry:
        """Read one value of an object that may have other keys."""
        if not isinstance(self.value, dict) or key not in self.value:
            raise self.error(f"the key {key!r} is missing")
        return Entry(self.value[key], self.path, f"{self.key}.{key}".lstrip("."))

    def list(self, size: int | None = None) -> Sequence[Entry]:
        """Read a list, of the given size if there is one."""
        if not isinstance(self.value, list) or size not in (None, len(self.value)):
            raise self.error(f"{self._shown()} should be a list{'' if size is None else f' of {size}'}")
        return [Entry(value, self.path, f"{self.key}[{i}]") for i, value in enumerate(self.value)]

    def text(self, *choices: str) -> str:
        """Read text, one of the choices if there are any."""
        if not isinstance(self.value, str) or (choices and self.value not in choices):
            raise self.error(f"{self._shown()} should be {' or '.join(map(repr, choices)) or 'text'}")
        return self.value

    def whole(self, stop: int) -> int:
        """Read an integer from 0 to ``stop - 1``."""
        if type(self.value) is not int or not 0 <= self.value < stop:
            raise self.error(f"{self._shown()} should be an integer from 0 to {stop - 1}")
        return self.value

    def number(self) -> float:
        """Read a finite number."""
        if type(self.value) not in (int, float) or not abs(self.value) <= 1.7976931348623157e308:
            raise self.error(f"{self._shown()} should be a finite number")
        return float(self.value)

    def numbers(self, *shape: int) -> Float:
        """Read a vector or matrix of finite numbers."""
        plain = self.value
        if len(shape) == 1 and isinstance(plain, list) and len(plain) == shape[0] and set(map(type, plain)) == {float}:
            found = np.array(plain)
            if np.isfinite(found).all():
                return found
        rows = self.list(shape[0])
        if len(shape) == 1:
            return np.array([row.number() for row in rows])
        return np.array([row.numbers(*shape[1:]) for row in rows])

    def counts(self, n: int, m: int, most: int) -> NDArray[np.int64]:
        """Read a matrix of integers from 0 to ``most``."""
        return np.array([row._row_of_counts(m, most) for row in self.list(n)], np.int64)

    def _row_of_counts(self, m: int, most: int) -> Any:
        plain = self.value
        usual = isinstance(plain, list) and len(plain) == m and set(map(type, plain)) == {int}
        if usual and min(plain) >= 0 and max(plain) <= most:
            return plain
        return [entry.whole(most + 1) for entry in self.list(m)]

    def rational(self) -> Fraction:
        """Read ``"p/q"``."""
        text = self.text()
        if not _RATIONAL.fullmatch(text):
            raise self.error(f"{self._shown()} should be a rational such as '3/4'")
        try:
            value = Fraction(text)
            float(value)
        except (ZeroDivisionError, OverflowError):
            raise self.error(f"{self._shown()} is not a number of a usable size") from None
        return value

    def hexadecimals(self, size: int) -> Float:
        """Read a vector of floats written as ``"0x1.8p-1"``."""
        return np.array([entry.hexadecimal() for entry in self.list(size)], float)

    def hexadecimal(self) -> float:
        """Read a finite float written as ``"0x1.8p-1"``."""
        text = self.text()
        if not _HEX.fullmatch(text) or not -1100 <= int(text.split("p")[1]) < 1024:
            raise self.error(f"{self._shown()} should be a finite number in hexadecimal, such as '0x1.8p-1'")
        return float.fromhex(text)

    def labels(self) -> Sequence[Hashable]:
        """Read labels: text, numbers, and lists of them as tuples."""
        found: list[Hashable] = []
        for row in self.list():
            if isinstance(row.value, list):
                found.append(tuple(row.labels()))
            elif isinstance(row.value, (str, int)) and not isinstance(row.value, bool):
                found.append(row.value)
            else:
                found.append(row.number())
        return found

    def privacy(self, inputs: Sequence[Hashable]) -> Any:
        """Read a notion, a table with its kind."""
        if not isinstance(self.value, dict):
            raise self.error("the privacy notion should be an object with its kind and its keys")
        try:
            return read_table(self.value, inputs)
        except MisstatedError as error:
            below = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.key)
            raise Entry(None, self.path, self.key + below).error(error.what, error.do) from None
        except StatementError as error:
            raise self.error(error.what, error.do) from None

    def masses(self, inputs: Sequence[Hashable], outputs: Sequence[Hashable] | None = None) -> Mechanism:
        """Read integer masses whose rows sum to ``2**53``; without labels the outputs are numbered."""
        rows = self.list(len(inputs))
        m = len(rows[0].list()) if outputs is None else len(outputs)
        counts = self.counts(len(inputs), m, UNIT)
        sums = counts.astype(object).sum(axis=1)
        wrong = np.flatnonzero(sums != UNIT)
        if len(wrong):
            raise self.error(f"row {wrong[0]} of the masses sums to {sums[wrong[0]]}, not {UNIT}")
        mechanism = Mechanism(counts / float(UNIT), inputs, range(m) if outputs is None else outputs)
        if not np.array_equal(mechanism.counts, counts):  # pragma: no cover - rounding leaves the grid as it is
            raise self.error("the masses are not those that would be drawn")
        return mechanism

    def _shown(self) -> str:
        text = repr(self.value) if isinstance(self.value, (str, int, float)) else type(self.value).__name__
        return text if len(text) <= 60 else f"{text[:56]} ..."


def plain_labels(labels: Sequence[Hashable]) -> list[Any]:
    """Labels as JSON data, tuples as lists."""
    found: list[Any] = []
    for label in labels:
        value = label.item() if isinstance(label, np.generic) else label
        if isinstance(value, tuple):
            found.append(plain_labels(value))
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            found.append(value)
        else:
            raise CertificateError(f"label {label!r} is neither text nor a number: it cannot be written as JSON")
    return found


def text_of(data: dict[str, Any]) -> Iterator[str]:
    """An object as JSON text, in parts: each row of a matrix on its own line, for readers and text tools."""
    yield "{\n"
    for i, (key, part) in enumerate(data.items()):
        yield f"{NEXT if i else ''} {json.dumps(key)}: "
        if not isinstance(part, dict) or not any(_is_long(value) for value in part.values()):
            yield from _rows(part)
            continue
        yield "{\n"
        for j, (name, value) in enumerate(part.items()):
            yield f"{NEXT if j else ''}  {json.dumps(name)}: "
            yield from _rows(value)
        yield "\n }"
    yield "\n}\n"


def _is_long(value: Any) -> bool:
    return isinstance(value, (list, dict, np.ndarray, Iterator))


def _rows(value: Any) -> Iterator[str]:
    """Text of a matrix row by row, so that few rows are in memory as text; of any other value at once."""
    is_matrix = isinstance(value, list) and value and isinstance(value[0], list)
    if not is_matrix and not isinstance(value, (np.ndarray, Iterator)):
        yield _flat(value)
        return
    i = -1
    for i, row in enumerate(value):
        yield f"{',' if i else '['}\n   {_flat(row)}"
    yield "[]" if i < 0 else "\n  ]"


def _flat(value: Any) -> str:
    return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value, allow_nan=False)


def digest_of(data: dict[str, Any]) -> str:
    """SHA-256 of the sorted, compact JSON text of an object without its key "digest"; a row of a matrix at a time."""
    found = hashlib.sha256()
    for part in _canonical({key: value for key, value in data.items() if key != "digest"}):
        found.update(part.encode())
    return found.hexdigest()


def _canonical(value: Any) -> Iterator[str]:
    """``json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)`` in parts."""
    if isinstance(value, dict):
        for i, key in enumerate(sorted(value)):
            yield f"{',' if i else '{'}{json.dumps(key)}:"
            yield from _canonical(value[key])
        yield "}" if value else "{}"
    elif isinstance(value, list) and value and isinstance(value[0], list):
        for i, row in enumerate(value):
            yield ",["[not i]
            yield from _canonical(row)
        yield "]"
    else:
        yield json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
