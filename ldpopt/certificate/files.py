"""A certificate as JSON that says everything itself: statement, masses, multipliers and claim, each exactly."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.certificate.entries import Entry
from ldpopt.certificate.program_bound import Multipliers, PairRows
from ldpopt.certificate.statement import plain_problem, read_problem
from ldpopt.errors import CertificateError, ModelFileError
from ldpopt.foundation.checks import Float
from ldpopt.foundation.files import replacing, strict_json
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import MetricDP
from ldpopt.statement.problem import Problem

FORMAT = "ldpopt certificate 1"

LARGEST_FILE = 2**30
"""Bytes of a certificate's file: about 3000 places with all their distances and multipliers."""

NUMBER_BYTES, MULTIPLIER_BYTES = 19, 44
"""Bytes of a mass, utility or distance, and of a multiplier with its pair (measured with a city of 1000 places)."""

NEXT = ",\n"
"""Between the entries of an object, each on its own line."""


@dataclass(frozen=True)
class Content:
    """What a certificate's file holds: the statement, the mechanism, the multipliers, and what is claimed of them."""

    problem: Problem
    mechanism: Mechanism
    multipliers: Multipliers
    achieved: Fraction
    bound: Fraction
    gap: Fraction
    relative_gap: float
    residuals: dict[str, float]


def write(proof: Content, path: str | os.PathLike[str]) -> None:
    """Write a certificate; see `Certificate.save`."""
    problem, mechanism, multipliers = proof.problem, proof.mechanism, proof.multipliers
    _require_small(problem, multipliers)
    data = {
        "format": FORMAT,
        "statement": plain_problem(problem),
        "mechanism": {"bits": mechanism.denominator.bit_length() - 1, "masses": mechanism.counts},
        "multipliers": _plain_multipliers(multipliers, problem),
        "claim": {
            "achieved": str(proof.achieved),
            "bound": str(proof.bound),
            "gap": str(proof.gap),
            "relative_gap": proof.relative_gap.hex(),
            "residuals": {name: off.hex() for name, off in proof.residuals.items()},
        },
    }
    with replacing(path) as stream:
        stream.writelines(_formatted(data))


def _require_small(problem: Problem, multipliers: Multipliers) -> None:
    """Refuse what could not be read back, before minutes are spent on writing it."""
    n, m = problem.utility.shape
    numbers = 2 * n * m + (n * n if isinstance(problem.privacy, MetricDP) else 0)
    size = NUMBER_BYTES * numbers + MULTIPLIER_BYTES * len(multipliers.pairs.value)
    if size > LARGEST_FILE:
        what = (
            f"the certificate would take about {size / 2**30:.2g} GiB as a file; at most {LARGEST_FILE >> 30} is read"
        )
        raise CertificateError(what, do="recheck() it here, and save its mechanism with mechanism.save(path)")


def read(path: str | os.PathLike[str]) -> Content:
    """Read a certificate; see `Certificate.load`."""
    name = os.fspath(path)
    try:
        whole = Entry(strict_json(path, LARGEST_FILE), name)
    except OSError as error:
        what = f"cannot read the certificate: {error.strerror or error}"
        raise ModelFileError(what, where=name, do="check the path") from None
    except ValueError as error:
        raise ModelFileError(f"not a certificate in JSON: {error}", where=name) from None
    table = whole.table("format", "statement", "mechanism", "multipliers", "claim")
    table["format"].text(FORMAT)
    problem = read_problem(table["statement"])
    mechanism = _mechanism(table["mechanism"], problem)
    multipliers = _multipliers(table["multipliers"], problem)
    claim = table["claim"].table("achieved", "bound", "gap", "relative_gap", "residuals")
    off = claim["residuals"].table(*(block.name for block in problem.constraints))
    return Content(
        problem,
        mechanism,
        multipliers,
        claim["achieved"].rational(),
        claim["bound"].rational(),
        claim["gap"].rational(),
        claim["relative_gap"].hexadecimal(),
        {block: entry.hexadecimal() for block, entry in off.items()},
    )


def _mechanism(entry: Entry, problem: Problem) -> Mechanism:
    table = entry.table("bits", "masses")
    n, m = problem.utility.shape
    if table["bits"].value != 53:
        raise table["bits"].error(f"masses over 2**{table['bits'].value} are not known", "state them over 2**53")
    counts = table["masses"].counts(n, m, 1 << 53)
    sums = counts.astype(object).sum(axis=1)
    wrong = np.flatnonzero(sums != 1 << 53)
    if len(wrong):
        raise table["masses"].error(f"row {wrong[0]} of the masses sums to {sums[wrong[0]]}, not {1 << 53}")
    mechanism = Mechanism(counts / float(1 << 53), problem.inputs, problem.outputs)
    if not np.array_equal(mechanism.counts, counts):  # pragma: no cover - rounding leaves the grid as it is
        raise table["masses"].error("the masses are not those that would be drawn")
    return mechanism


def _plain_multipliers(multipliers: Multipliers, problem: Problem) -> dict[str, Any]:
    pairs = multipliers.pairs
    ends = np.searchsorted(pairs.row, np.arange(len(pairs.value) + 1))
    places = zip(pairs.first.tolist(), pairs.second.tolist(), pairs.value.tolist(), strict=True)
    return {
        "form": multipliers.form,
        "row_sums": _hex(multipliers.row_sums),
        "worst_case": _hex(multipliers.worst_case),
        "privacy": (
            [x, k, pairs.y[ends[r] : ends[r + 1]].tolist(), value.hex()] for r, (x, k, value) in enumerate(places)
        ),
        "constraints": {block.name: _hex(values) for block, values in multipliers.blocks},
    }


def _multipliers(entry: Entry, problem: Problem) -> Multipliers:
    table = entry.table("form", "row_sums", "worst_case", "privacy", "constraints")
    n, m = problem.utility.shape
    form: Any = table["form"].text("compact", "pairwise")
    row_sums = table["row_sums"].hexadecimals(n) if form == "compact" else None
    worst_case = table["worst_case"].hexadecimals(n) if problem.prior is None else None
    if worst_case is not None and (worst_case < 0).any():
        raise table["worst_case"].error("a weight of the worst case is negative")
    first, second, row, y, value = [], [], [], [], []
    for r, stated in enumerate(table["privacy"].list()):
        x, k, event, number = stated.list(4)
        outputs = [output.whole(m) for output in event.list()]
        if sorted(set(outputs)) != outputs:
            raise event.error("the outputs of an event are each named once, in order")
        first.append(x.whole(n))
        second.append(k.whole(n))
        row += [r] * len(outputs)
        y += outputs
        value.append(number.hexadecimal())
        if value[-1] <= 0:
            raise number.error(f"the multiplier {value[-1]} is not positive")
    places = [np.array(part, np.int64) for part in (first, second, row, y)]
    pairs = PairRows(places[0], places[1], places[2], places[3], np.array(value, float))
    given = table["constraints"].table(*(block.name for block in problem.constraints))
    blocks = tuple((block, given[block.name].hexadecimals(len(block))) for block in problem.constraints)
    return Multipliers(form, row_sums, worst_case, pairs, blocks)


def _hex(values: Float | None) -> list[str] | None:
    return None if values is None else [value.hex() for value in values.tolist()]


def _formatted(data: dict[str, Any]) -> Iterator[str]:
    """One line for each row of a matrix, for people and text tools."""
    yield "{\n"
    for i, (key, part) in enumerate(data.items()):
        yield f"{NEXT if i else ''} {json.dumps(key)}: "
        if not isinstance(part, dict):
            yield _flat(part)
            continue
        yield "{\n"
        for j, (name, value) in enumerate(part.items()):
            yield f"{NEXT if j else ''}  {json.dumps(name)}: "
            yield from _rows(value)
        yield "\n }"
    yield "\n}\n"


def _rows(value: Any) -> Iterator[str]:
    """A matrix or the multipliers row by row, so that few rows are text at once; anything else as it is."""
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
