"""Designs as files: one file has the mechanism, the estimator and the proof.

A design that lists its reports is saved as its certificate, which holds all of these. A design for the frequencies of
many answers is saved as its statement and the size of its sets; value and bound are computed again from these.
"""

from __future__ import annotations

import json
import os
from fractions import Fraction

from ldpopt.certificate.entries import Entry
from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.estimation.designs import files
from ldpopt.estimation.designs.certificate_ import DesignCertificate
from ldpopt.estimation.designs.record import Design
from ldpopt.estimation.designs.subsets import FrequencyDesign, frequency_design
from ldpopt.foundation.files import replacing, strict_json
from ldpopt.privacy import PureLDP
from ldpopt.statement.workloads import Workload

FORMAT = "ldpopt frequency design 1"


def save_design(found: Design | FrequencyDesign, path: str | os.PathLike[str]) -> None:
    """Write a design with its proof as JSON; atomic.

    Parameters
    ----------
    found : Design or FrequencyDesign
        What `design` returned.
    path : path-like
        `load_design`, `Mechanism.from_json` and the command line read it.

    Raises
    ------
    StatementError
        If it is another object.
    MechanismError
        If a label is neither text nor a number.
    ModelFileError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from ldpopt import PureLDP, Workload, design
    >>> path = os.path.join(tempfile.mkdtemp(), "design.json")  # load_design(path) reads it back
    >>> save_design(design(Workload.prefix(["low", "high"]), PureLDP(1.0)), path)
    """
    if isinstance(found, Design):
        found.certificate.save(path)
        return
    if not isinstance(found, FrequencyDesign):
        raise StatementError(f"a {type(found).__name__} is not a design", do="pass what `design` returned")
    data = {
        "format": FORMAT,
        "inputs": files.plain_labels(found.workload.inputs),
        "unit": found.workload.unit,
        "epsilon": found.privacy.epsilon.text,
        "size": found.protocol.size,
        "achieved": str(found.achieved),
        "bound": str(found.bound_fraction),
    }
    with replacing(path) as stream:
        stream.write("{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(data[key])}" for key in data) + "\n}\n")


def load_design(path: str | os.PathLike[str]) -> Design | FrequencyDesign:
    """Read a design that `save_design`, `DesignCertificate.save` or ``ldpopt design`` wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    Design or FrequencyDesign
        What it claims is not checked: `DesignCertificate.recheck` and ``ldpopt certify`` do that.

    Raises
    ------
    ModelFileError
        If the file is missing or no design.
    """
    if is_frequency_design(path):
        found, size, _, _ = _read(path)
        if size != found.protocol.size:
            what = f"the file has sets of {size}; the best are of {found.protocol.size}"
            raise ModelFileError(what, where=f"{os.fspath(path)}: size", do="design again")
        return found
    proof = DesignCertificate.load(path)
    return Design(proof.workload, proof.mechanism, proof)


def recheck_frequencies(path: str | os.PathLike[str]) -> tuple[FrequencyDesign, tuple[str, ...]]:
    """Read a design for frequencies, compute everything again from its statement, and say what does not hold."""
    found, size, achieved, bound = _read(path)
    failures = []
    if found.audit().verdict != "certified":
        failures.append(f"the mechanism is not private: epsilon {found.audit().epsilon:.9g} found")
    if size != found.protocol.size:
        failures.append(f"sets of {size} are not the best: those of {found.protocol.size} are")
    if bound > found.bound_fraction:
        failures.append("the bound claimed is above the one proved")
    if achieved < found.achieved:
        failures.append("the estimator has a larger variance than claimed")
    return found, tuple(failures)


def is_frequency_design(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it is a design for frequencies; what is not a plain file is not opened."""
    return files.says(path, FORMAT)


def _read(path: str | os.PathLike[str]) -> tuple[FrequencyDesign, int, Fraction, Fraction]:
    name = os.fspath(path)
    try:
        whole = Entry(strict_json(path, files.LARGEST_FILE), name)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"no design in JSON: {error}", where=name) from None
    table = whole.table("format", "inputs", "unit", "epsilon", "size", "achieved", "bound")
    table["format"].text(FORMAT)
    inputs = files.read_labels(table["inputs"])
    try:
        workload = table["unit"].number() * Workload.frequencies(inputs)
        found = frequency_design(workload, PureLDP(table["epsilon"].text()))
    except ModelFileError:
        raise
    except LdpoptError as error:
        raise ModelFileError(error.what, where=name, do=error.do) from None
    return found, table["size"].whole(len(inputs)), table["achieved"].rational(), table["bound"].rational()
