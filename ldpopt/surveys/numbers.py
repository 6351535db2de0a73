"""Questions whose answers are whole numbers: all from the least to the most in equal steps, or
classes of them; a mean of many numbers is drawn on a grid.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float, require_kind, whole_number
from ldpopt.mechanism.grids import RoundingGrid
from ldpopt.mechanism.keyed import Draws
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.problem.modelfile.page import Key, Page
from ldpopt.problem.workload import Workload
from ldpopt.tables.coding import DECIMAL, UNKNOWN, Coder, Codes

GRID = 11  # points of the grid of a mean: more gain less than 2 % of its standard error
MAX_NUMBER = 10**9 - 1  # largest number: a page reads up to nine digits
MAX_NUMBERS = 100_000  # largest number of numbers of a question
FEW_CLASSES = 16  # largest number of answers whose shares up to each take few masses
MAX_CLASSES = 50  # largest one for which they fit on a page
KEYS = ({"least", "most"}, {"least", "most", "step"}, {"starts", "most"})


@dataclass(frozen=True)
class Numbers:
    """Whole numbers that people can give: from ``least`` to ``most`` in steps, or classes that
    begin at ``starts``, of which the last one ends with ``most``.
    """

    least: int
    most: int
    step: int = 1
    starts: tuple[int, ...] = ()

    @classmethod
    def read(cls, stated: Any) -> Numbers:
        """Read what a file says: ``least``, ``most``, perhaps ``step``; or ``starts`` and
        ``most``.
        """
        do = "state { least = 18, most = 99 }, or { starts = [18, 30, 45], most = 99 }"
        require_kind(stated, Mapping, "number", do)
        if set(stated) not in KEYS:
            raise StatementError(
                f"number has {', '.join(map(str, stated)) or 'nothing'}", code="number-keys", do=do
            )
        most = whole_number(stated["most"], "most", 0, MAX_NUMBER)
        if "starts" in stated:
            return cls._of_starts(stated["starts"], most)
        least = whole_number(stated["least"], "least", 0, MAX_NUMBER)
        step = whole_number(stated.get("step", 1), "step", 1, MAX_NUMBER)
        if most <= least or (most - least) % step:
            raise StatementError(
                f"the numbers from {least} in steps of {step} do not end with {most}",
                code="number-range",
                do="let the most be the least and some steps more",
            )
        if (count := (most - least) // step + 1) > MAX_NUMBERS:
            raise StatementError(
                f"there are {count:,} numbers from {least} to {most}",
                code="number-count",
                do="state a larger step, or starts: classes of numbers",
            )
        return cls(least, most, step)

    @classmethod
    def _of_starts(cls, stated: Any, most: int) -> Numbers:
        """The numbers of classes."""
        require_kind(stated, (list, tuple), "starts", "state a list of whole numbers")
        starts = tuple(whole_number(start, "a start", 0, MAX_NUMBER) for start in stated)
        ends = (*starts, most + 1)
        if len(starts) < 2 or any(right <= left for left, right in pairwise(ends)):
            raise StatementError(
                f"the classes that start at {', '.join(map(str, starts))} do not ascend to {most}",
                code="number-starts",
                do="give at least two starts, each larger than the one before, and most at the end",
            )
        return cls(starts[0], most, 1, starts)

    def to_dict(self) -> dict[str, Any]:
        """As a file states it."""
        if self.starts:
            return {"starts": list(self.starts), "most": self.most}
        return {"least": self.least, "most": self.most, "step": self.step}

    @property
    def values(self) -> range:
        """All numbers that people can give."""
        return range(self.least, self.most + 1, self.step)

    @property
    def edges(self) -> tuple[int, ...]:
        """Ends of the classes: a number stands for all up to the next one."""
        return (*(self.starts or self.values), self.most + self.step)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The numbers, or the classes as texts: "30 to 44"."""
        if not self.starts:
            return tuple(self.values)
        ends = (*self.starts, self.most + 1)
        return tuple(
            str(left) if right == left + 1 else f"{left} to {right - 1}"
            for left, right in pairwise(ends)
        )

    @property
    def grid(self) -> tuple[int, ...]:
        """The points on which a mean is drawn: all numbers, or eleven of them."""
        last = len(self.values) - 1
        if self.starts or last < GRID:
            return tuple(self.values)
        steps = GRID - 1
        # the nearest numbers to equal parts; between two of them, the lower one
        return tuple(self.values[(2 * k * last + steps - 1) // (2 * steps)] for k in range(GRID))

    def inputs(self, workload: str | None, otherwise: Any = None) -> tuple[Hashable, ...]:
        """Labels of the answers that reports are drawn for: the points of the grid for a mean, else
        all numbers or classes. ``otherwise`` is the answer of people who are not asked: if it is a
        number, it has a point of its own, and is not rounded.
        """
        if workload != "mean" or self.starts:
            return self.labels
        is_between = type(otherwise) is int and otherwise in self.values
        return tuple(sorted({*self.grid, otherwise})) if is_between else self.grid

    def require_room(self, workload: str | None) -> None:
        """Refuse shares up to each of so many numbers that no page has room for the masses."""
        if workload not in (None, "mean", "frequencies") and len(self.labels) > MAX_CLASSES:
            raise StatementError(
                f"the workload {workload!r} of {len(self.labels)} numbers has too many masses",
                code="number-classes",
                do="state classes: number = { starts = [18, 30, 45, 65], most = 99 }",
            )

    def place(self, number: int) -> int | None:
        """Position of a number, or of its class; None if nobody can give it."""
        if self.starts:
            is_there = self.least <= number <= self.most
            return bisect_right(self.starts, number) - 1 if is_there else None
        return self.values.index(number) if number in self.values else None

    def __str__(self) -> str:
        steps = "" if self.step == 1 else f" in steps of {self.step}"
        return f"a whole number from {self.least} to {self.most}{steps}"


@dataclass(frozen=True)
class NumberQuestion(Question):
    """A question about a whole number. If its mean is wanted, and the inputs of ``source`` are a
    grid of the numbers, each answer is rounded at random to one of two points.
    """

    number: Numbers = field(default=Numbers(0, 1), kw_only=True)

    def __post_init__(self) -> None:
        number = self.number
        if not isinstance(number, Numbers):
            object.__setattr__(self, "number", Numbers.read(number))
        super().__post_init__()
        self._require_numbers()

    def _require_numbers(self) -> None:
        """Refuse a source whose inputs are not the numbers, or a grid of them for their mean."""
        if self._has_all:
            return
        labels = tuple(self.inputs)
        workload = self.source if isinstance(self.source, Workload) else self._workload
        points = self._points
        is_grid = not self.number.starts and labels[: len(points)] == tuple(points)
        is_grid &= len(points) > 1 and all(left < right for left, right in pairwise(points))
        is_grid &= bool(points) and (points[0], points[-1]) == (self.number.least, self.number.most)
        if not is_grid or workload is None or not _is_mean(workload, points):
            raise StatementError(
                f"the inputs of the mechanism are not {self.number}, nor a grid of them with "
                "their mean",
                code="number-inputs",
                do="design the mean of some of the numbers with the first and the last, or list "
                "all numbers",
            )

    @property
    def _workload(self) -> Workload | None:
        return getattr(self.source, "workload", None)

    @cached_property
    def grid(self) -> RoundingGrid | None:
        """The grid to which answers are rounded; None if every number has a row of its own."""
        if self._has_all:
            return None
        points = tuple(self._points)
        return RoundingGrid(points, self.number.values, len(self.inputs) - len(points))

    @property
    def _has_all(self) -> bool:
        every = self.number.labels
        return tuple(self.inputs)[: len(every)] == every

    @property
    def _points(self) -> list[int]:
        """The inputs that are numbers of the question."""
        values = self.number.values
        return [label for label in self.inputs if isinstance(label, int) and label in values]

    @property
    def is_rounded(self) -> bool:
        """Whether there is a grid."""
        return self.grid is not None

    @property
    def given(self) -> Sequence[Hashable]:
        """The numbers, and the answers that are none."""
        if self.grid is None:
            return self.inputs
        return (*self.number.values, *self.inputs[len(self.grid.points) :])

    @property
    def in_words(self) -> tuple[str, ...]:
        """The answers in words: all numbers as one, or each class, and what is no number."""
        count = len(self.number.labels)
        numbers = map(str, self.number.labels if self.number.starts else [self.number])
        return (*numbers, *map(text_of, self.given[count:]))

    def placed(self, codes: Codes, source: Draws) -> Codes:
        """Positions of points of the grid, at random."""
        return codes if self.grid is None else self.grid.place(codes, source, self._digest)

    @property
    def _digest(self) -> str:
        """Of the rounding: that of the mechanism, or of nothing in a joint report."""
        return "" if isinstance(self.source, Workload) else str(self.randomizer.digest)

    def input_shares(self, shares: Float) -> Float:
        """Shares of the points of the grid."""
        return shares if self.grid is None else self.grid.shares(shares)

    def given_shares(self, shares: Float) -> Float:
        """Shares of the numbers, by those of the points of the grid."""
        return shares if self.grid is None else self.grid.spread(shares)

    def coder(self, *, as_text: bool = False) -> Coder:
        """What reads the numbers, and the answers that are none."""
        return _NumberCoder(self, as_text)


def _is_mean(workload: Workload, points: Sequence[int]) -> bool:
    """Whether a workload has the mean of numbers, and beside it the same for all of them, as the
    shares of other answers: these alone are those of numbers that are rounded at random.
    """
    rows = np.asarray(workload.matrix)[:, : len(points)]
    uneven = rows[np.ptp(rows, axis=1) > 0]
    return len(uneven) == 1 and np.array_equal(uneven[0], np.array(points, dtype=np.float64))


class _NumberCoder(Coder):
    """Converts numbers to positions among all that can be given; of classes, to that of the class
    with the number. A number is never moved into the range.
    """

    def __init__(self, question: NumberQuestion, as_text: bool) -> None:
        super().__init__(question.given, "answer", as_text=as_text)
        self._number = question.number

    def code(self, value: Any) -> int:
        """Position of a number or a label."""
        code = super().code(value)
        if code != UNKNOWN or not self._number.starts or isinstance(value, bool):
            return code
        text = value if isinstance(value, str) else str(value)
        number = float(text) if DECIMAL.fullmatch(text) else 0.5
        place = self._number.place(int(number)) if number.is_integer() else None
        return UNKNOWN if place is None else place

    def unknown(self, value: Any, where: str) -> StatementError:
        """Error for an entry that is no number of the question; it does not quote the entry."""
        return StatementError(
            f"an answer is not {self._number}",
            code="answer-in-range",
            where=where,
            do="correct the entry: numbers are not moved into the range",
        )


def require_not_rounded(name: str, question: Question) -> None:
    """Refuse a table with a number of which the mean is reported."""
    if question.is_rounded:
        raise StatementError(
            f"a table needs the share of each answer, and of {name!r} the mean is reported",
            code="rounded-pair",
            do="state classes of the number: number = { starts = [18, 30, 45], most = 99 }",
        )


def require_number(page: Page, key: Key, section: Any) -> None:
    """Refuse a number in a survey file that nobody can give, and keys that have no effect there."""
    with page.at(*key, "number"):
        number = Numbers.read(section.number)
        if section.missing_answer in number.values:
            raise StatementError(
                f"the missing answer {section.missing_answer} is one of the numbers",
                code="number-missing",
                do='set missing_label to a text, such as "no answer"',
            )
    with page.at(*key, "workload"):
        number.require_room(section.workload)
    without = ["labels", "ticks", "edges"] + ([] if number.starts else ["values"])
    if section.workload == "mean" and number.grid != number.labels:
        without.append("prior")  # of the points of a grid it says nothing
    for other in without:
        if getattr(section, other) is not None:
            raise page.error(
                (*key, other),
                f"{other} has no effect together with a number",
                f"remove {other}",
                code="no-effect",
            )


def many_masses(question: Question) -> str:
    """What the masses of a question about a number take of the page, if it has many classes."""
    law = question.source if isinstance(question.source, Workload) else question.randomizer
    count = len(question.inputs) - (question.missing_code is not None)
    is_few = not isinstance(question, NumberQuestion) or count <= FEW_CLASSES
    if is_few or not isinstance(law, Mechanism):
        return ""
    size = len(json.dumps(law.counts.tolist(), separators=(",", ":")))
    return (
        f"{count} numbers or classes have {len(law.outputs):,} reports, whose masses take {size:,} "
        "bytes of the page for respondents; fewer classes take far fewer"
    )
