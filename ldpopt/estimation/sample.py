"""How the people of a table were drawn from a population: weights, strata, clusters, the sizes of
the population, and known margins.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import first_duplicate, text_of
from ldpopt.foundation.numbers import real_number, short_repr, whole_number

NAMES = ("weights", "strata", "clusters")  # what is one column of the table
MOST = 10**12  # people or clusters of a population


@dataclass(frozen=True)
class Sample:
    r"""How the people of a table were drawn: columns of the table by name, and the population.

    With ``w`` the weights, ``v`` the values of the reports, strata ``h`` of :math:`n_h` units
    ``u``, of which there are :math:`N_h`, and :math:`e_u = \sum_{i \in u} w_i (v_i - \hat t)`,

    .. math:: \operatorname{Var} \hat t = \frac{1}{T^2} \sum_h \Big\{ (1 - f_h) \frac{n_h}{n_h - 1}
              \sum_u (e_u - \bar e_h)^2 + f_h \sum_{i \in h} w_i^2 \sum_x A_{x y_i} s_x^2 \Big\},
              \qquad f_h = n_h / N_h,

    with :math:`s_x^2` the variance of the value of a report by randomization alone: the sampled
    share shrinks the error of sampling, and not that of the noise. Theory: docs, "From reports to
    conclusions".

    Parameters
    ----------
    weights : str, optional
        Column of weights, ``>= 0``; default: those of the survey, else all 1.
    strata : str, optional
        Column of the parts of the population in which units were drawn separately; default: one.
    clusters : str, optional
        Column of the units that were drawn, such as classes or villages, all of whose people in the
        table have reports; names may repeat in other strata. Default: people were drawn one by one.
    population : int or mapping stratum -> int, optional
        Number of units of the population, from which they were drawn without replacement: people,
        or clusters if there are any. Of strata, the number of each. Default: very large.
    margins : mapping column -> mapping category -> number, optional
        Known numbers or shares of the population in the categories of other columns, which must not
        be protected: weights are fitted to all of them (raking, or post-strata for one column).

    Raises
    ------
    StatementError
        If a name is not text, a column has two roles, or a number is not positive.

    Examples
    --------
    >>> Sample(clusters="school", population=400).columns
    ('school',)
    """

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None
    population: int | Mapping[Hashable, int] | None = None
    margins: Mapping[str, Mapping[Hashable, float]] | None = None

    def __post_init__(self) -> None:
        """Check names and numbers; categories are kept as texts."""
        named = [name for name in (getattr(self, key) for key in NAMES) if name is not None]
        for name in (*named, *_mapping(self.margins, "margins")):
            if not isinstance(name, str):
                raise StatementError(
                    f"{short_repr(name)} is not the name of a column", code="name", do="pass text"
                )
        if (twice := first_duplicate(named)) is not None:
            raise StatementError(
                f"the column {twice[0]!r} has two roles in the sample",
                code="two-roles",
                do="name one column for weights, one for strata, one for clusters",
            )
        if self.weights in (self.margins or ()):
            raise StatementError(
                f"the weights {self.weights!r} are also a margin",
                code="weights-margin",
                do="name a column of categories as the margin",
            )
        object.__setattr__(self, "population", self._read_population())
        margins = {
            column: _by_text(shares, f"margins of {column!r}", _share)
            for column, shares in _mapping(self.margins, "margins").items()
        }
        object.__setattr__(self, "margins", margins or None)

    def _read_population(self) -> Any:
        if self.population is None:
            return None
        if isinstance(self.population, Mapping) and self.strata is None:
            raise StatementError(
                "the population is given by stratum, and there are no strata",
                code="population",
                do="pass strata= with {stratum: number}, or one number without strata",
            )
        if isinstance(self.population, Mapping):
            return _by_text(self.population, "population", _size)
        return _size(self.population, "population")

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that say to which part of the sample somebody belongs, each once."""
        names = (self.strata, self.clusters, *(self.margins or ()))
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, each once."""
        return (*(() if self.weights is None else (self.weights,)), *self.keys)

    @property
    def is_plain(self) -> bool:
        """Whether people were drawn one by one from a very large population, perhaps with
        weights.
        """
        return not self.keys and self.population is None

    @classmethod
    def read(cls, sample: Any, weights: str | None = None) -> Sample:
        """A sample, or None for people drawn one by one, with the column of the weights if it has
        none.

        Raises
        ------
        StatementError
            If it is no sample, or has another column of weights.
        """
        if weights is not None and not isinstance(weights, str):
            raise StatementError(
                f"{short_repr(weights)} is not the name of a column", code="name", do="pass text"
            )
        if sample is None:
            return cls(weights=weights)
        if not isinstance(sample, Sample):
            raise StatementError(
                f"a {type(sample).__name__} is not a sample",
                code="sample",
                do='pass Sample(strata="region", clusters="school")',
            )
        if weights is None or sample.weights == weights:
            return sample
        if sample.weights is not None:
            raise StatementError(
                f"two columns of weights: {weights!r} and {sample.weights!r} of the sample",
                code="two-weights",
                do="name the weights once",
            )
        return replace(sample, weights=weights)

    def to_dict(self) -> dict[str, Any]:
        """The sample without its weights as JSON data, whose keys are those of ``[sample]``; empty
        if there is nothing else.
        """
        stated = {key: getattr(self, key) for key in ("strata", "clusters", "population")}
        found = {key: value for key, value in stated.items() if value is not None}
        return found if self.margins is None else found | {"margins": self.margins}


def _mapping(values: Any, name: str) -> Mapping[Any, Any]:
    """A mapping that may be left out."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) or not values:
        raise StatementError(
            f"{name} = {short_repr(values)} is not a mapping with entries",
            code="mapping",
            do='pass a mapping, such as {"region": {"north": 0.4, "south": 0.6}}',
        )
    return values


def _by_text(values: Any, name: str, number: Any) -> dict[str, Any]:
    """Numbers by the texts of their labels: a file of reports has texts, too."""
    found: dict[str, Any] = {}
    for label, value in _mapping(values, name).items():
        if (text := category_of(label)) in found:
            raise StatementError(
                f"{text!r} is twice in {name}", code="duplicate", do="give each one number"
            )
        found[text] = number(value, f"{name}, {text!r}")
    return found


def _size(value: Any, name: str) -> int:
    return whole_number(value, name, 1, MOST)


def _share(value: Any, name: str) -> float:
    number = real_number(value, name, 0)
    if not 0 < number < math.inf:
        raise StatementError(
            f"{short_repr(value)} is not a number above 0",
            code="margin",
            where=name,
            do="give the share, or the number of people; leave out categories without people",
        )
    return number


def category_of(name: Any) -> str:
    """A category, stratum or cluster as text; 1.0 is 1, as a table with missing numbers has it."""
    is_int = isinstance(name, float) and name.is_integer()
    return text_of(int(name) if is_int else name)
