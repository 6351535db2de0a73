"""Values of a JSON file, read strictly: each error names the file and the key."""

import os
import re
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.foundation.files import file_errors, require_path
from ldpopt.foundation.kinds import require_holding
from ldpopt.foundation.numbers import Float, Int, short_repr

_RATIONAL = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
_HEX = re.compile(r"-?0x[01](\.[0-9a-f]{1,13})?p[+-][0-9]{1,4}")
# Advice for a value of a file that ldpopt cannot have written
UNCHANGED = (
    "use the file as ldpopt wrote it: this one was changed, cut off, or is of another "
    "kind; write it again"
)


@contextmanager
def reading_json(path: str | os.PathLike[str], content: str, do: str) -> Iterator[None]:
    """Turn every error while a JSON file is read into one that names the file; ``content`` is such
    as "a mechanism".
    """
    require_path(path)
    where = os.fspath(path)
    try:
        with file_errors(f"cannot read the {content.removeprefix('a ')}", path, absent=do):
            require_holding(path, content, do)
            yield
    except ModelFileError:
        raise
    except LdpoptError as error:
        raise error.restated(ModelFileError, where=where) from None
    except (
        *(ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError),
        ArithmeticError,  # an integer beyond all floats
    ) as error:
        why = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        if isinstance(error, (TypeError, AttributeError, IndexError)):  # in Python's own words
            why = "a value has the wrong type, such as text in place of a number"
        raise ModelFileError(
            f"not {content} in JSON: {why}", code="json", where=where, do=do
        ) from None


class Entry:
    """A value of a JSON file and its key; errors name the file and the key."""

    def __init__(self, value: Any, path: str, key: str = "") -> None:
        self.value, self.path, self.key = value, path, key

    def error(self, problem: str, do: str = UNCHANGED, *, code: str = "") -> ModelFileError:
        """An error that names the file and the key."""
        where = f"{self.path}: {self.key}" if self.key else self.path
        return ModelFileError(problem, code=code, where=where, do=do)

    def table(self, *keys: str) -> "dict[str, Entry]":
        """Read an object that has these keys and no other."""
        if not isinstance(self.value, dict):
            problem = f"{self._shown()} should be an object with the keys {', '.join(keys)}"
            raise self.error(problem, code="object")
        missing = [k for k in keys if k not in self.value]
        unknown = [k for k in self.value if k not in keys]
        do = f"give exactly these keys: {', '.join(keys)}"
        if missing:
            raise self.error(f"the key {missing[0]!r} is missing", do, code="missing-key")
        if unknown:
            raise self.error(f"unknown key {unknown[0]!r}", do, code="unknown-key")
        return {
            key: Entry(self.value[key], self.path, f"{self.key}.{key}".lstrip(".")) for key in keys
        }

    def part(self, key: str) -> "Entry":
        """Read one value of an object that may have others."""
        if not isinstance(self.value, dict) or key not in self.value:
            raise self.error(f"the key {key!r} is missing", code="missing-key")
        return Entry(self.value[key], self.path, f"{self.key}.{key}".lstrip("."))

    def parts(self) -> "dict[str, Entry]":
        """Read an object whose keys are names."""
        if not isinstance(self.value, dict):
            raise self.error(f"{self._shown()} should be an object")
        return {key: self.part(key) for key in self.value}

    def list(self, size: int | None = None) -> "Sequence[Entry]":
        """Read a list, of the given size if there is one."""
        if not isinstance(self.value, list) or size not in (None, len(self.value)):
            raise self.error(
                f"{self._shown()} should be a list{'' if size is None else f' of {size}'}",
                code="list",
            )
        return [Entry(value, self.path, f"{self.key}[{i}]") for i, value in enumerate(self.value)]

    def text(self, *choices: str) -> str:
        """Read text, one of the choices if there are any."""
        if not isinstance(self.value, str) or (choices and self.value not in choices):
            raise self.error(
                f"{self._shown()} should be {' or '.join(map(repr, choices)) or 'text'}",
                code="text",
            )
        return self.value

    def whole(self, stop: int) -> int:
        """Read an integer from 0 to ``stop - 1``."""
        if type(self.value) is not int or not 0 <= self.value < stop:
            problem = f"{self._shown()} should be an integer from 0 to {stop - 1}"
            raise self.error(problem, code="whole-number")
        return self.value

    def number(self) -> float:
        """Read a finite number."""
        if type(self.value) not in (int, float) or not abs(self.value) <= 1.7976931348623157e308:
            raise self.error(f"{self._shown()} should be a finite number", code="finite-number")
        return float(self.value)

    def numbers(self, *shape: int) -> Float:
        """Read a vector or matrix of finite numbers."""
        plain = self.value
        if (
            len(shape) == 1
            and isinstance(plain, list)
            and len(plain) == shape[0]
            and set(map(type, plain)) == {float}
        ):
            array = np.array(plain)
            if np.isfinite(array).all():
                return array
        rows = self.list(shape[0])
        if len(shape) == 1:
            return np.array([row.number() for row in rows])
        return np.array([row.numbers(*shape[1:]) for row in rows])

    def counts(self, n: int, m: int, most: int) -> Int:
        """Read a matrix of integers from 0 to ``most``."""
        return np.array([row._row_of_counts(m, most) for row in self.list(n)], np.int64)

    def _row_of_counts(self, m: int, most: int) -> Any:
        plain = self.value
        usual = isinstance(plain, list) and len(plain) == m and set(map(type, plain)) == {int}
        if usual and min(plain) >= 0 and max(plain) <= most:
            return plain
        return [entry.whole(most + 1) for entry in self.list(m)]

    def rational(self) -> Fraction:
        """Read a rational that is written as ``"p/q"`` or as a whole number."""
        text = self.text()
        if not _RATIONAL.fullmatch(text):
            raise self.error(f"{self._shown()} should be a rational such as '3/4'", code="rational")
        try:
            value = Fraction(text)
            float(value)
        except (ZeroDivisionError, OverflowError):
            problem = f"{self._shown()} is not a number of a usable size"
            raise self.error(problem, code="number-size") from None
        return value

    def hexadecimals(self, size: int) -> Float:
        """Read a vector of floats written as ``"0x1.8p-1"``."""
        return np.array([entry.hexadecimal() for entry in self.list(size)], float)

    def hexadecimal(self) -> float:
        """Read a finite float written as ``"0x1.8p-1"``."""
        text = self.text()
        if not _HEX.fullmatch(text) or not -1100 <= int(text.split("p")[1]) < 1024:
            raise self.error(
                f"{self._shown()} should be a finite number in hexadecimal, such as '0x1.8p-1'",
                code="hexadecimal",
            )
        return float.fromhex(text)

    def labels(self) -> Sequence[Hashable]:
        """Read labels: text, numbers, and lists of them as tuples."""
        read: list[Hashable] = []
        for entry in self.list():
            if isinstance(entry.value, list):
                read.append(tuple(entry.labels()))
            elif isinstance(entry.value, (str, int)):  # true and false, too, are labels
                read.append(entry.value)
            elif isinstance(entry.value, float):
                read.append(entry.number())  # refuses NaN, which equals no label
            else:
                raise entry.error(
                    f"the label {entry._shown()} is neither text nor a number nor a list of them",
                    code="labels",
                )
        return read

    def _shown(self) -> str:
        text = (
            repr(self.value)
            if isinstance(self.value, (str, int, float))
            else type(self.value).__name__
        )
        return text if len(text) <= 60 else f"{text[:56]} ..."


def plain_labels(labels: Sequence[Hashable]) -> list[Any]:
    """Return labels as JSON has them: text and numbers as they are, tuples of them as lists."""
    plain: list[Any] = []
    for label in labels:
        value = label.item() if isinstance(label, np.generic) else label
        if isinstance(value, tuple):
            plain.append(plain_labels(value))
        elif isinstance(value, (str, int, float)):
            plain.append(value)
        else:
            problem = f"label {short_repr(label)} is neither text nor a number nor a tuple of them"
            raise StatementError(
                f"{problem}: it cannot be written as JSON",
                code="label-kinds",
                do="give labels of these kinds",
            )
    return plain
