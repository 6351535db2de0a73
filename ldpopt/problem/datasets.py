"""Real priors and samples from installed packages, read lazily, each with its source and
license.
"""

import importlib.util
import tomllib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.labels import label_array, nearest
from ldpopt.foundation.numbers import Float, frozen, short_repr


@dataclass(frozen=True, eq=False)
class Dataset:
    """The answers of real people to one question.

    Parameters
    ----------
    name : str
        Argument of `load`, such as ``"anes96:PID"``.
    question : str
        The question.
    labels : tuple of hashable, length n
        Possible answers, in the order of the scale if it has one.
    codes : ndarray of int64, shape (rows,)
        Answer of each respondent as a position in ``labels``.
    source, license : str
        Source and license of the data.

    Examples
    --------
    >>> party = load("anes96:PID")
    >>> party.rows, party.labels[:3]
    (944, ('SD', 'WD', 'ID'))
    """

    name: str
    question: str
    labels: tuple[Hashable, ...]
    codes: NDArray[np.int64]
    source: str
    license: str

    @property
    def rows(self) -> int:
        """Number of respondents."""
        return len(self.codes)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Respondents for each label, shape ``(n,)``."""
        return np.bincount(self.codes, minlength=len(self.labels)).astype(np.int64)

    @property
    def prior(self) -> Float:
        """Share of each label, shape ``(n,)``, summing to 1."""
        return np.asarray(self.counts / self.rows)

    @property
    def sample(self) -> NDArray[Any]:
        """The answers as labels, shape ``(rows,)``, in the order of the file."""
        return np.asarray(label_array(self.labels)[self.codes])

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.labels[:8])) + (", ..." if len(self.labels) > 8 else "")
        return f"Dataset({self.name!r}, {self.rows} rows, {len(self.labels)} labels: {shown})"


def load(name: str) -> Dataset:
    """Read a data set by name; an error names the nearest one, or the package to install.

    Parameters
    ----------
    name : str
        ``"file:question"``, one of `available`.

    Raises
    ------
    StatementError
        If no data set has this name.
    LdpoptError
        If the package with the data is not installed.

    Examples
    --------
    >>> load("fair:affairs").counts
    array([4313, 2053])
    """
    if not isinstance(name, str) or name not in QUESTIONS:
        raise StatementError(
            f"unknown data set {short_repr(name)}", code="data-set", do=nearest(name, QUESTIONS)
        )
    return _read(name)


def available() -> tuple[str, ...]:
    """Names of the data sets whose package is installed here.

    Examples
    --------
    >>> "anes96:PID" in available()
    True
    """
    return tuple(QUESTIONS) if importlib.util.find_spec("statsmodels") else ()


def _read(name: str) -> Dataset:
    """Read the answers to a question; every code must have a label."""
    file, column = name.split(":")
    question, labels = QUESTIONS[name]
    codes = CODES[name]() if name in CODES else read_table(file)[column]
    present, index = np.unique(codes, return_inverse=True)
    labels = {int(code): int(code) for code in present} if labels is None else labels
    position = {code: k for k, code in enumerate(labels)}
    if unknown := [code for code in present.tolist() if code not in position]:
        problem = (
            f"the installed data set {name!r} has the code {unknown[0]}, which ldpopt does not know"
        )
        raise LdpoptError(
            problem, code="answer-code", do="install statsmodels >= 0.14 as ldpopt was tested with"
        )
    positions = np.array([position[code] for code in present.tolist()], dtype=np.int64)
    source, license = SOURCES[file]
    return Dataset(
        name, question, tuple(labels.values()), frozen(positions[index.ravel()]), source, license
    )


@lru_cache(maxsize=8)
def read_table(file: str) -> Mapping[str, NDArray[Any]]:
    """Columns of a file of statsmodels, which is not imported: that would take longer than most
    problems.
    """
    if (package := importlib.util.find_spec("statsmodels")) is None:
        problem = f"the data set {file!r} needs the package statsmodels, which is not installed"
        raise LdpoptError(problem, code="package", do='pip install "ldpopt[data]"')
    folder = package.submodule_search_locations[0]  # type: ignore[index]
    path = Path(folder, "datasets", file, f"{file}.csv")
    header = path.read_text(encoding="utf-8").partition("\n")[0]
    mark = next(mark for mark in "\t;," if mark in header)
    names = [name.strip("\"'\r") for name in header.split(mark)]
    return dict(zip(names, np.loadtxt(path, delimiter=mark, skiprows=1, unpack=True), strict=True))


def _health() -> NDArray[np.int64]:
    """Self-rated health from three indicator columns; excellent (3) if none is set."""
    flags = np.stack([read_table("randhie")[column] for column in ("hlthp", "hlthf", "hlthg")])
    return np.where(flags.any(axis=0), flags.argmax(axis=0), 3)


FILES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
SOURCES = {file: (table["source"], table["license"]) for file, table in FILES.items()}
"""Source and license of each file of statsmodels."""

# Question of each data set and labels of its codes, in their order; None: the numbers that occur
# are the labels
QUESTIONS: Mapping[str, tuple[str, Mapping[int, Hashable] | None]] = {
    f"{file}:{name}": (
        entry["question"],
        dict(enumerate(entry["labels"], entry.get("first", 1))) if "labels" in entry else None,
    )
    for file, table in FILES.items()
    for name, entry in table["questions"].items()
}
CODES: Mapping[str, Callable[[], NDArray[Any]]] = {
    "fair:affairs": lambda: read_table("fair")["affairs"] > 0,
    "randhie:health": _health,
    "modechoice:mode": lambda: read_table("modechoice")["mode"][
        read_table("modechoice")["choice"] == 1
    ],
}
"""Codes of the data sets that are not a column of their file."""
