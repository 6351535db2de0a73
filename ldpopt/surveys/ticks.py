"""Questions of which several answers may be ticked: the answers are sets of ticks, and the share of
each is estimated.

In a table a cell has the ticks with semicolons between them, and is empty for none; or each tick
has a column of 0 and 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, product
from typing import Any

import numpy as np

from ldpopt.designing.questions_design import QuestionsDesign
from ldpopt.errors import StatementError
from ldpopt.estimation.chosen import ChosenSource
from ldpopt.estimation.counts import Counts, ReportSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.influence import Influence
from ldpopt.foundation.labels import first_duplicate, no_label
from ldpopt.foundation.numbers import Float, listed_items
from ldpopt.mechanism.questions import Question
from ldpopt.problem.prior import read_prior
from ldpopt.problem.workload import Workload
from ldpopt.surveys.shared import JointNumbers
from ldpopt.tables.coding import MISSING, Coder, Codes, Missing

NONE, SEPARATOR = "none", ";"  # the answer without ticks; what is between ticks
LISTED_TICKS = 9  # largest number of ticks for which the channel of all sets of ticks is listed
MAX_TICKS = 16  # largest number of ticks: there are 2^16 answers


def tick_workload(ticks: Sequence[str]) -> Workload:
    """The shares of people without and with each tick, for all sets of ticks."""
    if not 2 <= len(ticks) <= MAX_TICKS:
        raise StatementError(
            f"a question of {len(ticks)} ticks, with that of a missing answer",
            code="tick-count",
            do=f"give from 2 to {MAX_TICKS}; ask more in two questions",
        )
    if (twice := first_duplicate(ticks)) is not None:
        raise StatementError(
            f"the tick {twice[0]!r} is there twice",
            code="same-tick",
            do="give each tick a name of its own",
        )
    if bad := [
        tick for tick in ticks if SEPARATOR in tick or tick.strip() != tick or tick in ("", NONE)
    ]:
        raise StatementError(
            f"{bad[0]!r} cannot be a tick",
            code="tick",
            do=f"use texts without {SEPARATOR!r}, other than {NONE!r}",
        )
    labels = tick_labels(ticks) if len(ticks) <= LISTED_TICKS else None
    return Workload.marginals({tick: [0, 1] for tick in ticks}, 1, labels)


def tick_labels(ticks: Sequence[str]) -> tuple[str, ...]:
    """All sets of ticks as texts."""
    return tuple(
        SEPARATOR.join(compress(ticks, bits)) or NONE for bits in product((0, 1), repeat=len(ticks))
    )


@dataclass(frozen=True)
class TicksQuestion(Question):
    """A question with several ticks; the last one stands for a missing answer, if one does.

    If each tick has a column of its own, ``columns`` are their names, in the order of the ticks.
    """

    ticks: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("ticks", "columns"):
            object.__setattr__(self, name, tuple(listed_items(getattr(self, name), name)))
        if self.edges is not None:
            raise StatementError(
                "ticks have no order, and no edges",
                code="edges-of-ticks",
                do="leave the edges out",
            )
        super().__post_init__()
        if (twice := first_duplicate(self.columns)) is not None:
            raise StatementError(
                f"two ticks have the column {twice[0]!r}",
                code="tick-column",
                do="give each tick a column of its own, or all of them one column: a list of ticks",
            )
        if self.missing_answer is not None and isinstance(self.source, QuestionsDesign):
            raise StatementError(
                f"of more than {LISTED_TICKS} ticks, none can stand for a missing answer",
                code="missing-tick",
                do='set missing = "leave" or "refuse", or ask in two questions',
            )

    @cached_property
    def inputs(self) -> Sequence[Hashable]:
        """All sets of ticks as texts; of a question about the column of a single tick, 0 and 1."""
        return tick_labels(self.ticks) if self.ticks else super().inputs

    @property
    def numbers(self) -> Any:
        """What estimates the share of each tick."""
        if isinstance(self.source, QuestionsDesign):
            return TickShares(self.source, self.ticks)
        if isinstance(self.source, ChosenSource):
            return self.source.each(self._shares_from)
        return self._shares_from(self.source)

    def _shares_from(self, source: Any) -> JointNumbers:
        """The share of each tick, without those of the people who do not tick it."""
        return JointNumbers(source, self.ticks, source.wanted[1::2], source.estimator[1::2])

    @property
    def parts(self) -> dict[str, Question]:
        """Questions by the columns of the ticks, if they have columns."""
        policy: Any = (
            "refuse" if self.missing == "refuse" and self.missing_answer is None else "leave_out"
        )
        return {
            column: TicksQuestion(Workload.frequencies([0, 1]), policy) for column in self.columns
        }

    def combine(self, codes: Iterable[Codes]) -> Codes:
        """Positions of sets of ticks; one missing tick makes the whole answer a missing one."""
        if not self.columns:
            return super().combine(codes)
        columns = np.stack(list(codes))
        powers = 1 << np.arange(len(self.ticks))[::-1]
        places = np.maximum(columns, 0).T @ powers[: len(columns)]
        missing = MISSING if self.missing_code is None else self.missing_code
        return np.where((columns == MISSING).any(axis=0), missing, places)

    def columns_of(self, codes: Codes) -> dict[str, Any]:
        """Columns of 0 and 1 for positions of sets of ticks; nan for a missing answer."""
        count = len(self.ticks)
        missing = -1 if self.missing_code is None else self.missing_code
        return {
            column: np.where(codes == missing, np.nan, codes >> (count - 1 - k) & 1)
            for k, column in enumerate(self.columns)
        }

    def prior(self, shares: Mapping[str, float], otherwise: float) -> Float:
        """Frequencies of the answers, which are sets of ticks, from the share of people with each
        tick, if ticks are independent; ``otherwise`` is the share of a tick that is not named.

        If "no answer" is one of the ticks, it is the last, and stands alone: its share is kept, and
        the sets without it share the rest.
        """
        each = [shares.get(tick, otherwise) for tick in self.ticks]
        weights = np.array(
            [np.prod(row) for row in product(*((1 - share, share) for share in each))]
        )
        if self.missing_code is not None:
            share = shares.get(self.ticks[-1], 0.0)
            weights *= np.where(
                np.arange(len(weights)) % 2, 0.0, (1 - share) / max(1 - each[-1], 1e-300)
            )
            weights[self.missing_code] = share
        return read_prior(weights.tolist(), tuple(self.inputs))[0]

    def coder(self, *, as_text: bool = False) -> Coder:
        """What reads the ticks of a cell in any order, of which none may be there, or one tick as 0
        or 1 (or 1.0).
        """
        return _TicksCoder(self.inputs, self.ticks, as_text)


class TickShares(ReportSource):
    """Shares of many ticks, estimated from the reports of a design that are drawn by formula."""

    names: tuple[Hashable, ...] = ()

    def __init__(self, source: QuestionsDesign, ticks: tuple[str, ...]) -> None:
        self.source, self.names = source, ticks

    @property
    def randomizer(self) -> Any:
        """The design."""
        return self.source

    @property
    def wanted(self) -> Float:
        """Which sets have each tick, shape (ticks, n)."""
        return self.source.wanted[1::2]

    @property
    def spans(self) -> Float:
        """1 for each share."""
        return self.source.spans[1::2]

    @property
    def influence(self) -> Influence:
        """That of the design on the shares of people with each tick."""
        both = self.source.influence
        ends = both.raises[1::2], both.lowers[1::2]
        return Influence(self.names, *ends, self.spans)

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Counts of the design."""
        return self.source.counts_of(reports, weights, missing)

    def p_value(self, counts: Counts) -> float:
        """That of the design."""
        return self.source.p_value(counts)

    def variances(self, prior: Any = None) -> Float:
        """Variance of one respondent's value for each share."""
        return self.source.variances(prior)[1::2]

    def estimate(self, reports: Any, confidence: float = 0.95, **options: Any) -> Estimate:
        """Estimate the share of each tick; if all intervals hold at once, those of the people
        without it do, too.
        """
        both = self.source.estimate(reports, confidence, **options)
        return replace(
            both,
            values=both.values[1::2],
            std_error=both.std_error[1::2],
            interval=both.interval[1::2],
            labels=self.names,
            is_distribution=False,
            band=both.bounds.contrast(np.eye(len(both.values))[1::2]),
            effect=None if both.effect is None else both.effect[1::2],
        )


class _TicksCoder(Coder):
    """Converts sets of ticks to codes."""

    def __init__(self, alphabet: Sequence[Hashable], ticks: Sequence[str], as_text: bool) -> None:
        super().__init__(alphabet, "answer", as_text=as_text)
        self.ticks = ticks

    def code(self, value: Any) -> int:
        """Position of a set of ticks."""
        if isinstance(value, str) and not self.ticks:
            return super().code(value.removesuffix(".0"))
        if not isinstance(value, str):
            return super().code(value)
        ticked = {part.strip() for part in value.split(SEPARATOR)} - {""}
        if not ticked <= set(self.ticks):
            return super().code(value)
        return super().code(SEPARATOR.join(tick for tick in self.ticks if tick in ticked) or NONE)

    def unknown(self, value: Any, where: str) -> StatementError:
        """Error for an entry that is not a set of ticks."""
        error = no_label(value, [*self.ticks, NONE], "answer", where)
        if not self.ticks or not isinstance(value, str):
            return error
        do = f"{error.do}; write {SEPARATOR!r} between several ticks"
        return StatementError(error.what, code=error.code, where=error.where, do=do)
