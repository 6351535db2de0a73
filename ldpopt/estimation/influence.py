r"""Influence: how far one report in place of a true one can move an estimate.

A number ``j`` is estimated by the mean of one value :math:`V_{jy}` a report, whose mean for the
answer ``x`` is :math:`W_{jx}`. Whoever sends the report ``y`` although the answer is ``x`` moves
``N`` times the estimate, on average over honest reports, by

.. math:: V_{jy} - W_{jx}, \qquad \max_{x, y} (V_{jy} - W_{jx}) = \max_y V_{jy} - \min_x W_{jx},
          \quad \max_{x, y} (W_{jx} - V_{jy}) = \max_x W_{jx} - \min_y V_{jy} .

The larger one of both is the *influence* :math:`I_j`. Whatever a share ``g`` of all people sends,
the expected estimate is within :math:`g I_j` of the number, and the bound is attained. If people
are in several channels, a report stands in place of one of the same channel. Theory: docs,
"Influence".
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.display import Facts, HasFacts, Table, label
from ldpopt.foundation.numbers import Float, frozen, listed_items, real_number, shaped_array
from ldpopt.foundation.sentences import above_text

SHOWN = 10  # numbers in a summary
ROUNDING = 1e-9  # share of a number that is the rounding of floats


@dataclass(frozen=True, eq=False)
class Influence(HasFacts):
    r"""How far one report in place of a true one can move each number of an estimate.

    .. math:: \text{raises}_j = \max_y V_{jy} - \min_x W_{jx}, \qquad
              \text{lowers}_j = \max_x W_{jx} - \min_y V_{jy}

    Parameters
    ----------
    names : sequence of hashable
        The numbers.
    raises, lowers : array_like, shape (k,)
        By how much one report can raise and lower ``N`` times the estimate of ``N`` people, in the
        unit of the number; ``inf`` if reports have no largest value.
    spans : array_like, shape (k,), optional
        The largest minus the least possible value of each number; default: 1, as for shares.

    Raises
    ------
    StatementError
        If there are not as many entries as names, or one is below 0 or nan.

    Examples
    --------
    >>> from ldpopt import Mechanism
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> coin.influence.raises.round(6), coin.influence.sentence
    (array([1.5, 1.5]), 'a false report counts as up to 1.5 people')
    """

    names: tuple[Hashable, ...]
    raises: Float
    lowers: Float
    spans: Float = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Check the shapes and freeze the arrays."""
        names = tuple(listed_items(self.names, "names"))
        object.__setattr__(self, "names", names)
        spans = np.ones(len(names)) if self.spans is None else self.spans
        every = {"raises": self.raises, "lowers": self.lowers, "spans": spans}
        for name, values in every.items():
            array = shaped_array(values, f"{name} of an influence", len(names))
            if not (array >= 0).all():
                raise StatementError(
                    f"{name} of an influence has an entry that is not at least 0",
                    code="influence-sign",
                    do="give by how much a report moves the number, at least 0",
                )
            object.__setattr__(self, name, frozen(array.copy()))

    def __repr__(self) -> str:
        return f"Influence({len(self.names)} numbers, largest {self.largest:.6g})"

    @property
    def each(self) -> Float:
        """The influence of each number, the larger one of `raises` and `lowers`, shape (k,)."""
        return np.maximum(self.raises, self.lowers)

    @property
    def largest(self) -> float:
        """The largest influence of all numbers."""
        return float(self.each.max(initial=0.0))

    @property
    def in_people(self) -> Float:
        """As how many people who tell the truth one report counts, shape (k,): the influence over
        the span of the number; 0 for a number that is the same for all answers.
        """
        return np.divide(self.each, self.spans, out=np.zeros(len(self.names)), where=self.spans > 0)

    @property
    def most_people(self) -> float:
        """As how many people who tell the truth one report counts at most."""
        return float(self.in_people.max(initial=0.0))

    @property
    def sentence(self) -> str:
        """As how many people a false report counts, in words."""
        people = self.most_people
        if people == np.inf:
            return "a false report can move the estimate by any amount"
        return f"a false report counts as up to {people_text(people)} people"

    def times(self, factor: float) -> Influence:
        """That of people who take so many times the share of these reports that they have of all
        people.
        """
        number = real_number(factor, "factor", 0.0)
        return replace(self, raises=number * self.raises, lowers=number * self.lowers)

    def facts(self) -> Facts:
        """How far a report raises and lowers each number, and as how many people it counts."""
        columns = (map(label, self.names), self.raises, self.lowers, self.in_people)
        rows = [list(row) for row in zip(*columns, strict=True)]
        headings = ["number", "raises by at most", "lowers by at most", "in people"]
        parts: list[Any] = [Table(headings, rows[:SHOWN], digits=5)]
        if len(rows) > SHOWN:
            parts.append(f"and {len(rows) - SHOWN:,} more numbers, the largest {self.largest:.5g}")
        return Facts(f"influence: {self.sentence}", parts)


def least_in_people(epsilon: float) -> float:
    r"""The least influence of a report in people, :math:`(1 + \coth(\epsilon / 2)) / 2`: of every
    private mechanism and unbiased estimator of a number that depends on the answers.
    """
    if not epsilon > 0:
        return math.inf
    return (1 + 1 / math.tanh(epsilon / 2)) / 2


def people_text(people: float) -> str:
    """A number of people with three digits, rounded up but for the rounding of floats."""
    if np.isnan(people):
        return "-"
    return "any number of" if people == np.inf else above_text(people * (1 - ROUNDING), 3)


@dataclass(frozen=True, eq=False)
class ReportValues:
    """The values of listed reports in some numbers, and what they are on average by answer.

    If people are in several channels, ``blocks`` are the reports of each; a report then stands in
    place of one of the same channel.
    """

    values: Float  # (k, m)
    wanted: Float  # (k, n)
    channel: Float  # (n, m)
    blocks: Sequence[slice] = ()

    def contrast(self, matrix: Float) -> ReportValues:
        """Those of sums of the numbers."""
        return replace(self, values=matrix @ self.values, wanted=matrix @ self.wanted)

    @property
    def ends(self) -> tuple[Float, Float]:
        """By how much a report can raise and lower each number, each of shape (k,)."""
        possible = np.asarray((self.channel > 0).any(axis=0))
        raises = np.zeros(len(self.values))
        lowers = np.zeros(len(self.values))
        for block in self.blocks or (slice(None),):
            places = np.arange(len(possible))[block]
            values = self.values[:, places[possible[places]]]
            if not values.size:  # nobody is in this channel
                continue
            means = self.wanted
            if len(self.blocks) > 1:
                law = self.channel[:, block]
                means = self.values[:, block] @ (law / law.sum(axis=1, keepdims=True)).T
            raises = np.maximum(raises, values.max(axis=1) - means.min(axis=1))
            lowers = np.maximum(lowers, means.max(axis=1) - values.min(axis=1))
        return raises, lowers

    @property
    def each(self) -> Float:
        """The influence on each number, shape (k,)."""
        return np.maximum(*self.ends)

    def influence(self, names: Sequence[Hashable], spans: Float) -> Influence:
        """The influence on the numbers, by name."""
        return Influence(tuple(names), *self.ends, spans)


def influence_of_support(names: Sequence[Hashable], p: Any, q: Any, unit: float = 1.0) -> Influence:
    r"""The influence on frequencies :math:`(s - q) / (p - q)` of a report that supports a label or
    not: it raises by :math:`(1 - q) / (p - q)` and lowers by :math:`p / (p - q)`, in some unit.
    """
    size = len(names)
    raises = float((1 - q) / (p - q))
    lowers = float(p / (p - q))
    if unit < 0:
        raises, lowers = lowers, raises
    most, least, span = (np.full(size, abs(unit) * end) for end in (raises, lowers, 1.0))
    return Influence(tuple(names), most, least, span)
