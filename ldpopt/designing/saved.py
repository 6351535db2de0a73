"""Designs as files: saved and loaded, without what searches for one."""

import os

from ldpopt.designing.capped_design import CappedDesign
from ldpopt.designing.capped_frequency_design import CappedFrequencyDesign
from ldpopt.designing.frequency_design import FrequencyDesign
from ldpopt.designing.questions_design import QuestionsDesign
from ldpopt.designing.record import Design, FormulaDesign, ProvedDesign
from ldpopt.foundation.numbers import require_kind

# Their classes are imported so that files of all can be read.
LISTED: tuple[type[Design], ...] = (Design, CappedDesign)
FORMULAS: tuple[type[FormulaDesign], ...] = (
    FrequencyDesign,
    CappedFrequencyDesign,
    QuestionsDesign,
)
AnyDesign = Design | FormulaDesign


def save_design(found: AnyDesign, path: str | os.PathLike[str], *, title: str = "") -> None:
    """Write a design with its proof as JSON; atomic.

    Parameters
    ----------
    found : Design or FormulaDesign
        Result of `design`.
    path : path-like
        `load_design`, `Mechanism.load` and the command line read it.
    title : str
        Purpose of the design; default: ``""``. Notion, epsilon, digest and version are also
        written.

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
    require_kind(found, (Design, FormulaDesign), "save_design()", "pass what `design` returned")
    found.save(path, title=title)


def load_design(path: str | os.PathLike[str]) -> AnyDesign:
    """Read a design that `save_design`, `DesignCertificate.save` or ``ldpopt design`` wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    Design or FormulaDesign
        Its claims are not checked: `DesignCertificate.recheck` and ``ldpopt certify`` do that.

    Raises
    ------
    ModelFileError
        If the file is missing or is not a design.
    """
    loaded: AnyDesign = ProvedDesign.load(path)
    return loaded
