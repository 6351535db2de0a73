"""A certificate as JSON that says everything itself: statement, masses, multipliers and claim, each exactly."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.certificate.documents import Entry, open_document, text_of
from ldpopt.certificate.program_bound import Multipliers, PairRows
from ldpopt.certificate.statement import plain_problem, read_problem
from ldpopt.errors import CertificateError
from ldpopt.foundation.checks import Float
from ldpopt.foundation.files import replacing
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import MetricDP
from ldpopt.statement.problem import Problem

FORMAT = "ldpopt certificate 1"

LARGEST_FILE = 2**30
"""Bytes of a certificate's file: about 3000 places with all their distances and multipliers."""

NUMBER_BYTES, MULTIPLIER_BYTES = 19, 44
"""Bytes of a mass, utility or distance, and of a multiplier with its pair (measured with a city of 1000 places)."""


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
        stream.writelines(text_of(data))


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
    whole = open_document(path, LARGEST_FILE)
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
    if table["bits"].value != 53:
        raise table["bits"].error(f"masses over 2**{table['bits'].value} are not known", "state them over 2**53")
    return table["masses"].masses(problem.inputs, problem.outputs)


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
