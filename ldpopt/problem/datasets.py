"""Real priors and samples from installed packages, read lazily, each with its source and license."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.labels import label_array, nearest
from ldpopt.foundation.numbers import Float, frozen, short_repr

PUBLIC_DOMAIN = "public domain"
FAIR = "Fair, R. (1978), A theory of extramarital affairs, Journal of Political Economy 86, 45-61; "
ANES = "American National Election Studies 1996; statsmodels.datasets.anes96"
RAND = "RAND Health Insurance Experiment; Cameron and Trivedi (2005), Microeconometrics; statsmodels.datasets.randhie"


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
        answers: NDArray[Any] = label_array(self.labels)[self.codes]
        return answers

    def __repr__(self) -> str:
        """Name, size and labels, shortened."""
        shown = ", ".join(map(str, self.labels[:8])) + (", ..." if len(self.labels) > 8 else "")
        return f"Dataset({self.name!r}, {self.rows} rows, {len(self.labels)} labels: {shown})"


def load(name: str) -> Dataset:
    """Read a data set by name.

    Parameters
    ----------
    name : str
        ``"file:question"``, one of `available`.

    Returns
    -------
    Dataset
        Labels, counts, sample, source and license.

    Raises
    ------
    StatementError
        If there is no data set of that name; the message names the nearest one.
    LdpoptError
        If its package is not installed; the message names the extra to install.

    Examples
    --------
    >>> load("fair:affairs").counts
    array([4313, 2053])
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise StatementError(f"unknown data set {short_repr(name)}", do=nearest(name, DATASETS))
    return DATASETS[name](name)


def available() -> tuple[str, ...]:
    """Names of the data sets whose package is installed here.

    Examples
    --------
    >>> "anes96:PID" in available()
    True
    """
    return tuple(DATASETS) if importlib.util.find_spec("statsmodels") else ()


def anes96_party(name: str) -> Dataset:
    """Party identification in seven ordered levels, strong Democrat to strong Republican."""
    levels = dict(enumerate(("SD", "WD", "ID", "II", "IR", "WR", "SR")))
    return _recoded(name, "Party identification", _column("anes96", "PID"), levels, ANES, PUBLIC_DOMAIN)


def anes96_leaning(name: str) -> Dataset:
    """Political leaning in seven ordered levels, extremely liberal to extremely conservative."""
    levels = dict(enumerate(("EL", "L", "SL", "M", "SC", "C", "EC"), start=1))
    return _recoded(name, "Own political leaning", _column("anes96", "selfLR"), levels, ANES, PUBLIC_DOMAIN)


def anes96_education(name: str) -> Dataset:
    """Education in seven ordered levels."""
    names = ("1-8 grades", "some high school", "high school", "some college", "college", "master", "PhD")
    levels = dict(enumerate(names, start=1))
    return _recoded(name, "Education", _column("anes96", "educ"), levels, ANES, PUBLIC_DOMAIN)


def anes96_income(name: str) -> Dataset:
    """Household income in 24 ordered brackets, 1 (below 3 000 dollars) to 24 (105 000 and over)."""
    levels = {code: code for code in range(1, 25)}
    return _recoded(name, "Household income bracket", _column("anes96", "income"), levels, ANES, PUBLIC_DOMAIN)


def anes96_vote(name: str) -> Dataset:
    """Vote that the respondent expects to cast, Clinton or Dole."""
    levels = {0: "Clinton", 1: "Dole"}
    return _recoded(name, "Expected vote", _column("anes96", "vote"), levels, ANES, PUBLIC_DOMAIN)


def anes96_age(name: str) -> Dataset:
    """Age in years."""
    return _numbers(name, "Age in years", _column("anes96", "age"), ANES, PUBLIC_DOMAIN)


def fair_affairs(name: str) -> Dataset:
    """Whether a married woman reports an affair, a sensitive question."""
    answer = (_column("fair", "affairs") > 0).astype(np.int64)
    return _fair(name, "Any extramarital affair", answer, {0: "no", 1: "yes"})


def fair_rating(name: str) -> Dataset:
    """How a married woman rates her marriage, in five ordered levels."""
    levels = dict(enumerate(("very poor", "poor", "fair", "good", "very good"), start=1))
    return _fair(name, "Rating of the marriage", _column("fair", "rate_marriage"), levels)


def fair_religious(name: str) -> Dataset:
    """How religious, in four ordered levels."""
    levels = dict(enumerate(("not", "mildly", "fairly", "strongly"), start=1))
    return _fair(name, "How religious", _column("fair", "religious"), levels)


def randhie_health(name: str) -> Dataset:
    """Self-rated health, poor to excellent: three indicator columns; excellent if none is set."""
    flags = np.stack([_column("randhie", column) for column in ("hlthp", "hlthf", "hlthg")])
    codes = np.where(flags.any(axis=0), flags.argmax(axis=0), 3)
    levels = dict(enumerate(("poor", "fair", "good", "excellent")))
    return _recoded(name, "Self-rated health", codes, levels, RAND, PUBLIC_DOMAIN)


def randhie_visits(name: str) -> Dataset:
    """Outpatient visits to a doctor in a year, a count."""
    return _numbers(name, "Visits to a doctor in a year", _column("randhie", "mdvis"), RAND, PUBLIC_DOMAIN)


def modechoice_mode(name: str) -> Dataset:
    """How 210 travelers went between Sydney, Canberra and Melbourne."""
    chosen = _column("modechoice", "mode")[_column("modechoice", "choice") == 1]
    source = "Greene and Hensher (1997), multinomial logit and discrete choice models; statsmodels.datasets.modechoice"
    levels = {1: "air", 2: "train", 3: "bus", 4: "car"}
    return _recoded(name, "Mode of travel", chosen, levels, source, PUBLIC_DOMAIN)


DATASETS: Mapping[str, Callable[[str], Dataset]] = {
    "anes96:PID": anes96_party,
    "anes96:selfLR": anes96_leaning,
    "anes96:educ": anes96_education,
    "anes96:income": anes96_income,
    "anes96:vote": anes96_vote,
    "anes96:age": anes96_age,
    "fair:affairs": fair_affairs,
    "fair:rate_marriage": fair_rating,
    "fair:religious": fair_religious,
    "randhie:health": randhie_health,
    "randhie:mdvis": randhie_visits,
    "modechoice:mode": modechoice_mode,
}
"""One function for each data set."""


@lru_cache(maxsize=8)
def _frame(file: str) -> Any:
    """Read a table of statsmodels, which takes seconds to import and so is imported only here."""
    try:
        return importlib.import_module(f"statsmodels.datasets.{file}").load_pandas().data
    except ImportError as error:
        raise LdpoptError(
            f"the data set {file!r} needs the package {(error.name or 'statsmodels').split('.')[0]}, "
            "which is not installed",
            do='pip install "ldpopt[data]"',
        ) from None


def _column(file: str, column: str) -> NDArray[Any]:
    return np.asarray(_frame(file)[column])


def _recoded(
    name: str, question: str, column: NDArray[Any], levels: Mapping[int, Hashable], source: str, license: str
) -> Dataset:
    """Map the codes of a column to their labels; every code must have one."""
    found, index = np.unique(column, return_inverse=True)
    position = {code: place for place, code in enumerate(levels)}
    strange = [code for code in found.tolist() if code not in position]
    if strange:
        raise LdpoptError(
            f"the installed data set {name!r} has the code {strange[0]}, which ldpopt does not know",
            do="install statsmodels >= 0.14 as ldpopt was tested with",
        )
    places = np.array([position[code] for code in found.tolist()], dtype=np.int64)
    return Dataset(name, question, tuple(levels.values()), frozen(places[index.ravel()]), source, license)


def _numbers(name: str, question: str, column: NDArray[Any], source: str, license: str) -> Dataset:
    """Take the whole numbers that occur as labels, in ascending order."""
    levels = {int(value): int(value) for value in np.unique(column)}
    return _recoded(name, question, column.astype(np.int64), levels, source, license)


def _fair(name: str, question: str, column: NDArray[Any], levels: Mapping[int, Hashable]) -> Dataset:
    source = FAIR + "statsmodels.datasets.fair (6366 women, Redbook 1974)"
    return _recoded(name, question, column, levels, source, "included in statsmodels with the author's permission")
