"""Questions of which several answers may be ticked: the answers are sets of ticks, and the share of each is estimated.

In a table a cell has the ticks with semicolons between them, and is empty for none; or each tick has a column of 0
and 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import no_label
from ldpopt.mechanism.questions import Question
from ldpopt.problem.workload import Workload
from ldpopt.surveys.joint import JointNumbers
from ldpopt.tables.coding import MISSING, Coder, Codes

NONE, SEPARATOR = "none", ";"  # the answer without ticks; what is between ticks
MAX_TICKS = 8  # largest number of ticks: there are 2^8 answers


def tick_workload(ticks: Sequence[str]) -> Workload:
    """The shares of people without and with each tick, for all sets of ticks."""
    if not 2 <= len(ticks) <= MAX_TICKS:
        do = f"give from 2 to {MAX_TICKS}; ask more in two questions"
        raise StatementError(f"{len(ticks)} ticks, with the one for a missing answer if there is one", do=do)
    if bad := [tick for tick in ticks if SEPARATOR in tick or tick.strip() != tick or tick in ("", NONE)]:
        raise StatementError(f"{bad[0]!r} cannot be a tick", do=f"use texts without {SEPARATOR!r}, other than {NONE!r}")
    labels = [SEPARATOR.join(compress(ticks, bits)) or NONE for bits in product((0, 1), repeat=len(ticks))]
    return Workload.marginals({tick: [0, 1] for tick in ticks}, 1, labels)


@dataclass(frozen=True)
class TicksQuestion(Question):
    """A question with several ticks; the last one stands for a missing answer, if one does.

    If each tick has a column of its own, ``columns`` are their names, in the order of the ticks.
    """

    ticks: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def numbers(self) -> Any:
        """What estimates the share of each tick."""
        return JointNumbers(self.source, self.ticks, self.source.wanted[1::2], self.source.estimator[1::2])

    @property
    def parts(self) -> dict[str, Question]:
        """Questions by the columns of the ticks, if they have columns."""
        policy: Any = "refuse" if self.missing == "refuse" and self.missing_answer is None else "leave_out"
        return {column: TicksQuestion(Workload.frequencies([0, 1]), policy) for column in self.columns}

    def combine(self, codes: Iterable[Codes]) -> Codes:
        """Positions of sets of ticks; one missing tick makes the whole answer a missing one."""
        if not self.columns:
            return super().combine(codes)
        columns, weights = np.stack(list(codes)), 1 << np.arange(len(self.ticks))[::-1]
        found = np.maximum(columns, 0).T @ weights[: len(columns)]
        missing = MISSING if self.missing_code is None else self.missing_code
        return np.where((columns == MISSING).any(axis=0), missing, found)

    def coder(self, *, as_text: bool = False) -> Coder:
        """What reads the ticks of a cell in any order, of which none may be there, or one tick as 0 or 1 (or 1.0)."""
        return _TicksCoder(self.inputs, self.ticks, as_text)


class _TicksCoder(Coder):
    """Converts sets of ticks to codes."""

    def __init__(self, alphabet: Sequence[Hashable], ticks: Sequence[str], as_text: bool) -> None:
        super().__init__(alphabet, "answer", as_text=as_text)
        self.ticks = ticks

    def code(self, value: Any) -> int:
        """Position of a set of ticks."""
        if isinstance(value, str) and not self.ticks:
            return super().code(value.removesuffix(".0"))
        given = {part.strip() for part in value.split(SEPARATOR)} - {""} if isinstance(value, str) else {None}
        is_known = given <= set(self.ticks)
        return super().code(SEPARATOR.join(tick for tick in self.ticks if tick in given) or NONE if is_known else value)

    def unknown(self, value: Any, where: str) -> StatementError:
        """Error for an entry that is not a set of ticks."""
        return no_label(value, [*self.ticks, NONE], "answer", where)
