"""Several mechanisms, of which each person has one: who has which is seen in a column of a table,
and is no secret.

What a report tells is told by the mechanism of the person. A promise to everybody is therefore that
of the worst mechanism.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.foundation.labels import codes as places_of
from ldpopt.foundation.numbers import Int
from ldpopt.mechanism.codec import LabelCodec
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.mechanism.sampling import Places
from ldpopt.tables.coding import MISSING, Codes

if TYPE_CHECKING:
    from ldpopt.auditing.audits import Audit
    from ldpopt.mechanism.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class AssignedMechanisms:
    """Mechanisms by name, with the same answers; a position of an answer is that of the mechanism
    times the number of answers, plus that of the answer.
    """

    mechanisms: Mapping[Hashable, Mechanism]
    inputs: tuple[Hashable, ...]
    digest: str

    @cached_property
    def outputs(self) -> tuple[Hashable, ...]:
        """The reports of any mechanism."""
        return tuple(dict.fromkeys(y for law in self.mechanisms.values() for y in law.outputs))

    @property
    def worst(self) -> Mechanism:
        """The mechanism whose reports change the odds of two answers most, exactly."""
        return max(self.mechanisms.values(), key=_odds)

    @property
    def odds(self) -> Fraction | None:
        """Largest ratio of the probabilities of a report under two answers, exactly; None if it is
        unbounded.
        """
        return self.worst.odds

    @property
    def codec(self) -> AssignedCodec:
        """How its reports are written in a column."""
        return AssignedCodec(self)

    def audit(self) -> Audit:
        """The exact privacy of the worst mechanism."""
        return self.worst.audit()

    @cached_property
    def places(self) -> list[tuple[Mechanism, Int, Int]]:
        """Each mechanism, with the positions of the answers among its own, and those of its reports
        among all.
        """
        return [
            (
                law,
                np.asarray(places_of(self.inputs, law.inputs, "answer")),
                np.asarray(places_of(law.outputs, self.outputs, "report")),
            )
            for law in self.mechanisms.values()
        ]


def _odds(law: Mechanism) -> Fraction | float:
    return inf if law.odds is None else law.odds


class AssignedCodec(LabelCodec):
    """Reports that are outputs of each person's own mechanism."""

    def places(self, codes: Codes, source: Draws) -> Places:
        """Draw positions of reports, shape (N,); `MISSING` if the answer is missing."""
        n = len(self.randomizer.inputs)
        reports = np.full(len(codes), MISSING, dtype=np.int32)
        for place, (law, answers, outputs) in enumerate(self.randomizer.places):
            has_law = (codes >= place * n) & (codes < (place + 1) * n)
            if has_law.any():
                some: Any = source.where(has_law) if isinstance(source, KeyedDraws) else source
                drawn = law.codec.places(answers[codes[has_law] - place * n], some)
                reports[has_law] = outputs[drawn]
        return reports
