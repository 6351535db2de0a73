"""Certificates of designs as JSON: statement, masses, estimator, multipliers and claim, each exactly."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ldpopt.certificate.answer_classes import merged_by
from ldpopt.certificate.design_bound import Multipliers
from ldpopt.certificate.design_bound_mean import MeanMultipliers
from ldpopt.certificate.design_bound_product import ProductMultipliers
from ldpopt.certificate.design_claim import DesignClaim
from ldpopt.certificate.entries import Entry
from ldpopt.errors import LdpoptError, MechanismError, ModelFileError
from ldpopt.foundation.checks import frozen
from ldpopt.foundation.files import replacing, strict_json
from ldpopt.mechanism.files import require_digest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.stated import read_table, table_of
from ldpopt.statement.workloads import Workload

FORMAT = "ldpopt design certificate 2"

OLD_FORMAT = "ldpopt design certificate 1"
"""Of the first designs: it names neither the notion of privacy nor the kind of proof."""

PROOFS = {proof.kind: proof for proof in (Multipliers, ProductMultipliers, MeanMultipliers)}
"""Kinds of proofs."""

ABOUT = "about"
"""Key of what a file says of itself: title, notion, epsilon, delta, digest, and what wrote it. It proves nothing."""

LARGEST_FILE = 2**31
"""Bytes of a file."""


def write(data: dict[str, Any], about: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a certificate as JSON data, and what it says of itself; atomic."""
    with replacing(path) as stream:
        lines = [f" {json.dumps(key)}: {_rows(value)}" for key, value in {**data, ABOUT: about}.items()]
        stream.write("{\n" + ",\n".join(lines) + "\n}\n")


def split(data: Any, name: str) -> tuple[Entry, str | None]:
    """A certificate without what it says of itself, and the digest that is stated there, if any.

    Raises
    ------
    ModelFileError
        If what it says of itself has other keys than `write` wrote.
    """
    if not isinstance(data, dict) or ABOUT not in data:
        return Entry(data, name), None
    about = Entry(data[ABOUT], name, ABOUT).table("title", "notion", "epsilon", "delta", "digest", "made_by")
    return Entry({key: value for key, value in data.items() if key != ABOUT}, name), about["digest"].text()


def to_dict(proof: DesignClaim) -> dict[str, Any]:
    """A certificate as JSON data."""
    return {
        "format": FORMAT,
        "inputs": plain_labels(proof.workload.inputs),
        "names": plain_labels(proof.workload.names),
        "workload": proof.workload.matrix.tolist(),
        "privacy": table_of(proof.privacy, proof.workload.inputs),
        "weights": proof.weights.tolist(),
        "objective": proof.objective,
        "masses": proof.mechanism.counts.tolist(),
        "left_inverse": proof.left_inverse.tolist(),
        "proof": proof.multipliers.kind,
        **proof.multipliers.stated(),
        "achieved": str(proof.achieved),
        "bound": str(proof.bound),
    }


def read(path: str | os.PathLike[str]) -> DesignClaim:
    """Read a certificate; see `DesignCertificate.load`."""
    name = os.fspath(path)
    try:
        data = strict_json(path, LARGEST_FILE)
    except OSError as error:
        what = f"cannot read the certificate: {error.strerror or error}"
        raise ModelFileError(what, where=name, do="check the path") from None
    except ValueError as error:
        raise ModelFileError(f"not a certificate in JSON: {error}", where=name) from None
    return from_dict(data, name)


def from_dict(data: Any, name: str) -> DesignClaim:
    """Read a certificate that `to_dict` made; the name is that of its place in messages."""
    whole, digest = split(data, name)
    stated = whole.value if isinstance(whole.value, dict) else {}
    if stated.get("format") == OLD_FORMAT:
        what = f"{OLD_FORMAT!r} is an old format, without the notion of privacy; {FORMAT!r} is read"
        raise ModelFileError(what, where=name, do="design again: `ldpopt design MODEL -o FILE`")
    kind = stated.get("proof")
    keys = PROOFS[kind if isinstance(kind, str) and kind in PROOFS else "form"].keys
    table = whole.table(
        *("format", "inputs", "names", "workload", "privacy", "weights", "objective", "masses"),
        *("left_inverse", "proof", *keys, "achieved", "bound"),
    )
    table["format"].text(FORMAT)
    try:
        found = _certificate(table)
    except ModelFileError:
        raise
    except LdpoptError as error:
        raise ModelFileError(error.what, where=name, do=error.do) from None
    require_digest(digest, found.mechanism.digest, name)
    return found


def is_design(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it is a certificate of a design; what is not a plain file is not opened."""
    return says(path, FORMAT.rsplit(" ", 1)[0])


def says(path: str | os.PathLike[str], words: str) -> bool:
    """Whether a plain file begins with a format of these words."""
    if not os.path.isfile(path):
        return False  # opening a named pipe would wait for its writer
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return words in stream.read(100)
    except OSError:
        return False


def _certificate(table: dict[str, Entry]) -> DesignClaim:
    inputs, names = read_labels(table["inputs"]), read_labels(table["names"])
    n = len(inputs)
    workload = Workload(table["workload"].numbers(len(names), n), inputs, names)
    weights = table["weights"].numbers(n)
    if (weights < 0).any() or not weights.any():
        raise table["weights"].error("the weights are not >= 0 with a positive sum")
    privacy = _privacy(table["privacy"], inputs)
    c = len(merged_by(privacy, workload.matrix, inputs).first)
    mechanism = _mechanism(table["masses"], inputs)
    m = len(mechanism.outputs)
    proof = PROOFS[table["proof"].text(*PROOFS)]
    return DesignClaim(
        workload,
        privacy,
        frozen(weights),
        table["objective"].text("average", "worst_case"),
        mechanism,
        frozen(table["left_inverse"].numbers(c, m)),
        proof.read(table, c, m),
        table["achieved"].rational(),
        table["bound"].rational(),
    )


def _privacy(entry: Entry, inputs: Sequence[Hashable]) -> Any:
    if not isinstance(entry.value, dict):
        raise entry.error("a privacy notion is an object with its kind")
    privacy = read_table(entry.value, inputs)
    privacy.check(inputs, ())
    return privacy


def _mechanism(entry: Entry, inputs: Sequence[Hashable]) -> Mechanism:
    rows = entry.list(len(inputs))
    m = len(rows[0].list())
    counts = entry.counts(len(inputs), m, 1 << 53)
    wrong = np.flatnonzero(counts.astype(object).sum(axis=1) != 1 << 53)
    if len(wrong):
        raise entry.error(f"row {wrong[0]} of the masses does not sum to {1 << 53}")
    return Mechanism(counts / float(1 << 53), inputs, range(m))


def plain_labels(labels: Sequence[Hashable]) -> list[Any]:
    """Labels as JSON has them, tuples as lists."""
    found: list[Any] = []
    for label in labels:
        value = label.item() if isinstance(label, np.generic) else label
        if isinstance(value, tuple):
            found.append(plain_labels(value))
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            found.append(value)
        else:
            raise MechanismError(f"label {label!r} is neither text nor a number: it cannot be written as JSON")
    return found


def read_labels(entry: Entry) -> list[Hashable]:
    """Labels as they were: what `plain_labels` wrote."""
    found: list[Hashable] = []
    for row in entry.list():
        if isinstance(row.value, list):
            found.append(tuple(read_labels(row)))
        elif isinstance(row.value, (str, int)) and not isinstance(row.value, bool):
            found.append(row.value)
        else:
            found.append(row.number())
    return found


def _rows(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + ",\n".join(f"  {json.dumps(row, allow_nan=False)}" for row in value) + "\n ]"
    return json.dumps(value, allow_nan=False)
