"""Behaviors of people who do not follow the rule, as rows beside those of the answers.

Somebody who always says "no", or tosses a coin, has no answer in the reports: the behavior is one
more kind of person, with a row of probabilities of the reports. It is no answer: a channel with the
row "always no" would have infinite epsilon, though those who follow the rule are as private as
before.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite, lcm
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import decimal_of
from ldpopt.foundation.labels import codes, nearest
from ldpopt.foundation.numbers import Float, rational, short_repr
from ldpopt.mechanism.mechanism import Mechanism

UNIFORM = "uniform"  # the behavior of people who give each report as often
NEAR_ONE = Fraction(1, 10**9)  # distance from 1 up to which probabilities are scaled to sum 1


@dataclass(frozen=True, eq=False)
class Part:
    """One channel of a model: rows of the answers, then of the behaviors."""

    name: Hashable
    mechanism: Mechanism
    rows: tuple[Hashable, ...]  # the answers, in the order of the model
    behaviors: tuple[tuple[Fraction, ...], ...]

    @cached_property
    def _answers(self) -> Any:
        return self.mechanism.counts[codes(self.rows, self.mechanism.inputs, "answer")]

    @cached_property
    def channel(self) -> Float:
        """Probability of each report, shape (n + b, m)."""
        answers = self._answers / self.mechanism.denominator
        return np.vstack([answers, *(list(map(float, row)) for row in self.behaviors)])

    @cached_property
    def masses(self) -> Any:
        """Integers in proportion to the probabilities, shape (n + b, m); all rows have one sum."""
        scale = lcm(*(share.denominator for row in self.behaviors for share in row))
        total = self.mechanism.denominator * scale
        rows = [
            *(self._answers.astype(object) * scale).tolist(),
            *([int(share * total) for share in row] for row in self.behaviors),
        ]
        return np.array(rows, dtype=object)


def part_of(
    name: Hashable, mechanism: Mechanism, rows: Sequence[Hashable], behaviors: Mapping[str, Any]
) -> Part:
    """The channel of a mechanism with the rows of some behaviors."""
    read = [_row(each, spec, mechanism.outputs) for each, spec in behaviors.items()]
    return Part(name, mechanism, tuple(rows), tuple(read))


def _row(behavior: str, spec: Any, reports: Sequence[Hashable]) -> tuple[Fraction, ...]:
    """Probabilities of the reports under a behavior, exactly."""
    if _is_label(spec, reports):
        return tuple(Fraction(int(report == spec)) for report in reports)
    if isinstance(spec, str) and spec == UNIFORM:
        return (Fraction(1, len(reports)),) * len(reports)
    where = f"behavior {short_repr(behavior)}"
    if isinstance(spec, (str, bytes)) or not isinstance(spec, Iterable):
        do = f'pass a report, "{UNIFORM}" or a probability for each report'
        if isinstance(spec, str):
            do = f"{do}; {nearest(spec, reports)}"
        raise StatementError(
            f"{short_repr(spec)} is no behavior", code="behavior", where=where, do=do
        )
    shares = _by_report(spec, reports, where)
    total = sum(shares, Fraction(0))
    if abs(total - 1) > NEAR_ONE:
        raise StatementError(
            f"the probabilities of the reports sum to {float(total):g}",
            code="sum",
            where=where,
            do="give probabilities that sum to 1",
        )
    return tuple(share / total for share in shares)


def _is_label(spec: Any, labels: Sequence[Hashable]) -> bool:
    try:
        return spec in set(labels)
    except TypeError:  # a list or mapping is no label
        return False


def _by_report(spec: Any, reports: Sequence[Hashable], where: str) -> list[Fraction]:
    """Probabilities by position, or by label: those of reports that are not named are 0."""
    named = dict(spec) if hasattr(spec, "keys") else dict(zip(reports, spec, strict=False))
    if hasattr(spec, "keys"):
        codes(list(named), reports, "report")
    elif len(list(spec)) != len(reports):
        raise StatementError(
            f"{len(list(spec))} probabilities for {len(reports)} reports",
            code="behavior-length",
            where=where,
            do="give a probability for each report",
        )
    return [exact_probability(named.get(report, 0)) for report in reports]


def exact_probability(value: Any) -> Fraction:
    """A probability; a float means the decimal that a person writes for it."""
    exact = decimal_of(value) if isinstance(value, float) and isfinite(value) else value
    return rational(exact, "probability of a report", "probability", 0, 1)
