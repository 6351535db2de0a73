"""Designs as files: a design is saved as its certificate, with mechanism, estimator and proof.

A design for the frequencies of many answers has no channel but the size of its sets and the mass of those that contain
the truth.
"""

import os

from ldpopt.designing.frequency_design import FrequencyDesign
from ldpopt.designing.record import Design, ProvedDesign
from ldpopt.errors import StatementError


def save_design(found: Design | FrequencyDesign, path: str | os.PathLike[str], *, title: str = "") -> None:
    """Write a design with its proof as JSON; atomic.

    Parameters
    ----------
    found : Design or FrequencyDesign
        Result of `design`.
    path : path-like
        `load_design`, `Mechanism.load` and the command line read it.
    title : str
        Purpose of the design; default: ``""``. Notion, epsilon, digest and version are also written.

    Raises
    ------
    StatementError
        If it is another object.
    CertificateError
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
    if not isinstance(found, (Design, FrequencyDesign)):
        raise StatementError(f"a {type(found).__name__} is not a design", do="pass what `design` returned")
    found.save(path, title=title)


def load_design(path: str | os.PathLike[str]) -> Design | FrequencyDesign:
    """Read a design that `save_design`, `DesignCertificate.save` or ``ldpopt design`` wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    Design or FrequencyDesign
        Its claims are not checked: `DesignCertificate.recheck` and ``ldpopt certify`` do that.

    Raises
    ------
    ModelFileError
        If the file is missing or is not a design.
    """
    found: Design | FrequencyDesign = ProvedDesign.load(path)
    return found
