r"""Which question a person's report is about, where several are on the questionnaire.

One of ``d`` questions is drawn for each person. The others get no report, or a report of an answer that is drawn
uniformly (fake data), so that nobody sees which question was asked. The law of such a column is

.. math:: \frac{1}{d} P(y \mid x) + \Big( 1 - \frac{1}{d} \Big) \frac{1}{n} \sum_{x'} P(y \mid x') .
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.mechanism.sampling import BITS, bit_source
from ldpopt.tables.coding import MISSING, Codes

MOST = 2048
"""Largest number of questions, and of answers to one: a product with 53 bits fits into 64."""

ASKED = hashlib.sha256(b"ldpopt: which question is asked").hexdigest()
FAKE = hashlib.sha256(b"ldpopt: an answer that nobody gave").hexdigest()
"""In the place of a mechanism's digest: keyed words of their own."""


@dataclass(frozen=True)
class Asking:
    """One of ``questions`` for each person; with ``fake`` the others get reports of random answers, else none."""

    questions: int
    fake: bool

    def __post_init__(self) -> None:
        """Check the number."""
        if not 2 <= self.questions <= MOST:
            what = f"one of {self.questions} questions cannot be drawn"
            raise StatementError(what, do=f"ask from 2 to {MOST}, or split the budget")

    def choose(self, size: int, source: Draws) -> Codes:
        """Position of the question for each person."""
        return _uniform(self.questions, size, source, ASKED)

    def answers(self, codes: Codes, asked: Any, inputs: int, source: Draws) -> Codes:
        """Answers to privatize: those of the people who are asked, and fakes or none of the others."""
        if not self.fake:
            return np.where(asked, codes, MISSING)
        if inputs > MOST:
            raise StatementError(f"fake answers are of at most {MOST} labels, not {inputs}", do="split the budget")
        return np.where(asked, codes, _uniform(inputs, len(codes), source, FAKE))

    def law(self, mechanism: Any) -> Any:
        """Channel from the answer to what a column shows: the mechanism itself where there are no fakes."""
        if not self.fake:
            return mechanism
        channel = mechanism.counts / mechanism.denominator
        share = 1 / self.questions
        mixed = share * channel + (1 - share) * channel.mean(axis=0)
        return type(mechanism)(mixed / mixed.sum(axis=1, keepdims=True), mechanism.inputs, mechanism.outputs)


def _uniform(count: int, size: int, source: Draws, purpose: str) -> Codes:
    """Numbers below ``count``, uniform up to ``2**-53``; privacy does not depend on their law."""
    if isinstance(source, KeyedDraws):
        words = source.words(purpose, np.zeros(size, dtype=np.int64))
    else:
        words = bit_source(source)(size)
    found: Codes = ((words * np.uint64(count)) >> np.uint64(BITS)).astype(np.int64)
    return found
