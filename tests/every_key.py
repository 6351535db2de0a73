"""Every key and every entry of a file, at every depth: taken away, doubled, renamed, and with other
values of every type.

`changes` knows nothing of what a file means. Whether a change leaves it true is for the table of
`tests/agreement/test_every_key.py` to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

from tampering import digest_of

Data = Any
Path = tuple[Any, ...]

LISTED = 3
"""Entries of a list that are visited: the first, the second and the last."""


def places(data: Data, *path: Any) -> Iterator[Path]:
    """Every key of every object, and some entries of every list."""
    parts = list(data.items() if isinstance(data, dict) else enumerate(data))
    if isinstance(data, list) and len(parts) > LISTED:
        parts = [*parts[: LISTED - 1], parts[-1]]
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, (dict, list)):
            yield from places(part, *path, key)


def others(value: Any) -> Iterator[tuple[str, Any]]:
    """Other values in its place, of its own type and of other ones."""
    if isinstance(value, bool) or value is None:
        yield from (("0", 0), ("1", 1), ("text", "x"), ("true", True), ("false", False))
        yield from (("null", None), ("a list", []), ("an object", {}))
    elif isinstance(value, (int, float)):
        yield from (("more", value + 1), ("half", value / 2), ("negative", -value), ("0", 0))
        yield from (("-0.0", -0.0), ("true", True), ("null", None), ("text", str(value)))
        yield from (("slightly more", value * 1.001), ("huge", 10**399), ("tiny", 5e-324))
        yield "of the other type", int(value) if isinstance(value, float) else float(value)
        yield "in a list", [value]
    elif isinstance(value, str):
        yield from (("longer", value + "x"), ("empty", ""), ("in a list", [value]), ("1", 1))
        yield from (("upper case", value.upper()), ("spaces", f" {value} "), ("null", None))
        yield from _of_text(value)
    elif isinstance(value, list):
        yield from (("empty", []), ("reversed", value[::-1]), ("null", None), ("text", "x"))
        yield "an object", dict.fromkeys(map(str, range(len(value))), 0)
        if value:
            yield from (("an entry less", value[:-1]), ("the last twice", [*value, value[-1]]))
            yield "the first everywhere", [value[0]] * len(value)
    else:
        yield from (("empty", {}), ("an unread key", value | {"unread": 1}), ("null", None))
        yield from (("a list of it", [value]), ("a list", list(value)), ("text", "x"))
        yield "an unread empty key", value | {"": None}


def _of_text(value: str) -> Iterator[tuple[str, Any]]:
    """Of texts that are numbers: other numbers."""
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        return
    yield from (("twice", str(2 * number)), ("half", str(number / 2)), ("negative", str(-number)))
    yield from (
        ("0", "0"),
        ("a number", float(number)),
        ("not reduced", f"{2 * number.numerator}/{2 * number.denominator}"),
    )


AWAY = object()
RENAMED = object()


def changes(data: Data, step: int = 1, first: int = 0) -> Iterator[tuple[Path, str, Data]]:
    """Where, what, and the changed file; every ``step``-th one."""
    text = json.dumps(data)
    for path, what, value in islice(plans(data), first, None, step):
        yield path, what, changed(text, path, value)


def plans(data: Data) -> Iterator[tuple[Path, str, Any]]:
    """Where, what, and the other value, or that the key is taken away or renamed."""
    yield ("unread",), "an unread key", 1
    for path in places(data):
        value = at(data, path)
        written = json.dumps(value)
        for name, other in others(value):
            if json.dumps(other) != written:
                yield path, name, other
        if isinstance(path[-1], str):
            yield path, "taken away", AWAY
            if path[-1].upper() != path[-1]:
                yield path, "renamed", RENAMED


def changed(text: str, path: Path, value: Any) -> Data:
    """The file with another value at a place."""
    data = json.loads(text)
    table = at(data, path[:-1])
    if value is AWAY:
        del table[path[-1]]
    elif value is RENAMED:
        table[path[-1].upper()] = table.pop(path[-1])
    else:
        table[path[-1]] = value
    return data


def at(data: Data, path: Path) -> Any:
    """The value at a place."""
    for key in path:
        data = data[key]
    return data


def sealed(data: Data, seal: Callable[[Data], str] = digest_of) -> Data:
    """The file with digests that fit, also those of the certificates in it; as it is if it can have
    none."""
    data = json.loads(json.dumps(data))
    tables = [path for path in [(), *_objects(data)] if isinstance(at(data, path), dict)]
    for path in sorted(tables, key=len, reverse=True):
        table = at(data, path)
        if isinstance(table.get("digest"), str) and "format" in table:
            table["digest"] = seal(table)
    return data


def _objects(data: Data, *path: Any) -> Iterator[Path]:
    for key, part in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(part, (dict, list)):
            yield (*path, key)
            yield from _objects(part, *path, key)


def shown(path: Path) -> str:
    """A place as text, with ``*`` for the number of an entry."""
    return ".".join("*" if isinstance(key, int) else key for key in path)
