"""Certificates as JSON: strict reading, text in parts, and the digest.

Reading is strict and writing is reproducible. `open_document` refuses what JSON leaves open (a key
twice, numbers that are not finite), and an `Entry` knows its file and key, so that each error names
both. The digest is of the values in one canonical form and not of the bytes, so that a file may be
formatted anew without losing it; it finds accidents, and proves nothing, because whoever changes a
number can write the digest anew.
"""

import hashlib
import json
import os
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import ModelFileError
from ldpopt.foundation.documents import UNCHANGED, Entry, reading_json
from ldpopt.foundation.files import strict_json
from ldpopt.mechanism.mechanism import Mechanism

UNIT = 1 << 53  # sum of the masses of a row
NEXT = ",\n"  # between the entries of an object, each on its own line


def open_document(path: str | os.PathLike[str], largest: int) -> Entry:
    """Read a JSON file of at most so many bytes."""
    with reading_json(
        path, "a certificate", "`ldpopt solve MODEL --certificate FILE` or save() writes one"
    ):
        return Entry(strict_json(path, largest), os.fspath(path))


def read_masses(
    entry: Entry, inputs: Sequence[Hashable], outputs: Sequence[Hashable] | None = None
) -> Mechanism:
    """Read integer masses, each row with the sum ``2**53``; outputs are numbered if they have no
    labels.

    The masses are those that are drawn from, not probabilities near them: they are compared with
    the masses of the mechanism that is made of them.
    """
    rows = entry.list(len(inputs))
    m = len(rows[0].list()) if outputs is None else len(outputs)
    counts = entry.counts(len(inputs), m, UNIT)
    sums = counts.astype(object).sum(axis=1)
    wrong = np.flatnonzero(sums != UNIT)
    if len(wrong):
        raise entry.error(f"row {wrong[0]} of the masses sums to {sums[wrong[0]]}, not {UNIT}")
    mechanism = Mechanism(counts / float(UNIT), inputs, range(m) if outputs is None else outputs)
    if not np.array_equal(
        mechanism.counts, counts
    ):  # pragma: no cover - rounding leaves the grid as it is
        raise entry.error(
            "the masses are not those of a mechanism: reading them as floats changes some"
        )
    return mechanism


def text_of(data: dict[str, Any]) -> Iterator[str]:
    """An object as JSON text, in parts: each row of a matrix on its own line, for readers and text
    tools.
    """
    yield "{\n"
    for i, (key, part) in enumerate(data.items()):
        yield f"{NEXT if i else ''} {json.dumps(key)}: "
        if not isinstance(part, dict) or not any(
            isinstance(value, (list, dict, np.ndarray, Iterator)) for value in part.values()
        ):
            yield from _rows(part)
            continue
        yield "{\n"
        for j, (name, value) in enumerate(part.items()):
            yield f"{NEXT if j else ''}  {json.dumps(name)}: "
            yield from _rows(value)
        yield "\n }"
    yield "\n}\n"


def _rows(value: Any) -> Iterator[str]:
    """Text of a matrix row by row, so that few rows are in memory as text; of any other value at
    once.
    """
    is_matrix = isinstance(value, list) and value and isinstance(value[0], list)
    if not is_matrix and not isinstance(value, (np.ndarray, Iterator)):
        yield _flat(value)
        return
    i = -1
    for i, row in enumerate(value):
        yield f"{',' if i else '['}\n   {_flat(row)}"
    yield "[]" if i < 0 else "\n  ]"


def _flat(value: Any) -> str:
    """JSON text of a value on one line."""
    return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value, allow_nan=False)


def digest_of(data: dict[str, Any]) -> str:
    """SHA-256 of the sorted, compact JSON text of an object without its key "digest"; a row of a
    matrix at a time.
    """
    digest = hashlib.sha256()
    for part in _canonical({key: value for key, value in data.items() if key != "digest"}):
        digest.update(part.encode())
    return digest.hexdigest()


def flaws_of(entry: Entry) -> tuple[str, ...]:
    """Whether the digest in an object is that of its other values: no flaw, or a sentence.

    A wrong digest is a flaw and no error: the numbers can still be checked, and the result names
    the flaw beside whatever else does not hold.
    """
    claimed = entry.part("digest").text()
    try:
        is_same = claimed == digest_of(entry.value)
    except (ValueError, RecursionError):
        problem = "a number is not finite, or lists are nested too deep"
        raise ModelFileError(problem, where=entry.path, do=UNCHANGED) from None
    return (
        () if is_same else ("the file was changed after it was written: its digest does not fit",)
    )


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
