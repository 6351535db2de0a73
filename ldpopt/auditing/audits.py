"""What audits take and return: pairs of tied inputs, and an `Audit`."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.sentences import DELTA, NO_WITNESS
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_above, round_up
from ldpopt.foundation.display import Facts, HasFacts, label
from ldpopt.foundation.numbers import short_repr, whole_number

ANSWERS = ("answer", "answer")  # what pairs of rows are
Verdict = Literal["certified", "violated", "undecided"]
VERDICTS = get_args(Verdict)
Witness = tuple[Any, Any, Any]  # two inputs, and an output or an event
Worst = tuple[float, Witness | None]  # the largest number of all pairs, and what attains it
# number of entries that are compared at once; a megabyte of floats stays near the processor
BLOCK = 1 << 17


@dataclass(frozen=True)
class Audit(HasFacts):
    """Result of an exact check of a channel.

    Attributes
    ----------
    epsilon : float
        Smallest budget in nats at which the channel keeps the claim's delta (0 without a claim),
        rounded up; ``inf`` if none exists.
    delta : float
        Smallest delta at the claim's epsilon (0 without a claim), rounded up.
    witness : tuple or None
        ``(x, x', y)`` that attains it: labels, or positions for a plain array; ``y`` is a tuple of
        outputs (an event) for event-wise claims; None if all rows are equal.
    verdict : {"certified", "violated", "undecided"}
        Whether the claim holds for the real ``e**epsilon``. Without a claim: whether any finite
        epsilon holds.
    nouns : tuple of two str
        What the first two parts of the witness are, such as answers or secrets; an empty one has a
        name that needs no noun.
    mu : float or None
        Smallest ``mu`` of a Gaussian claim, rounded up; ``epsilon`` is then that of pure privacy.
        None for other claims.
    """

    epsilon: float
    delta: float
    witness: Witness | None
    verdict: Verdict
    claim: str = ""
    curve: Callable[[Budget], float] = field(default=lambda _: math.nan, repr=False, compare=False)
    nouns: tuple[str, str] = field(default=ANSWERS, repr=False)
    mu: float | None = None

    def __post_init__(self) -> None:
        """Refuse other numbers and verdicts, for audits of plug-ins."""
        numbers = (self.epsilon, self.delta)
        are_numbers = all(isinstance(v, (int, float, Fraction, np.number)) for v in numbers)
        is_verdict = isinstance(self.verdict, str) and self.verdict in VERDICTS
        if not (are_numbers and is_verdict and all(v >= 0 for v in numbers)):
            problem = (
                f"not an audit: epsilon {short_repr(self.epsilon)}, delta "
                f"{short_repr(self.delta)}, verdict "
                f"{short_repr(self.verdict)}"
            )
            do = f"give numbers >= 0, and one of {', '.join(VERDICTS)}"
            raise StatementError(problem, code="audit", do=do)

    def facts(self) -> Facts:
        """The claim, the verdict, the numbers and the witness."""
        if self.witness is None:
            witness = NO_WITNESS.say(self)
        else:
            x, other, y = self.witness
            event = (
                ", ".join(map(label, y[:8])) + (", ..." if len(y) > 8 else "")
                if isinstance(y, tuple)
                else label(y)
            )
            witness = f"{_compared(self.nouns, label(x), label(other))}, report {event}"
        rows = [
            ("claim", f"{self.claim or 'none'}: {self.verdict}"),
            *([] if self.mu is None else [("smallest mu", f"{self.mu:.12g}")]),
            ("smallest epsilon", f"{self.epsilon:.12g}"),
        ]
        return Facts("Audit", [*rows, ("smallest delta", DELTA.say(self)), ("witness", witness)])

    def numbers_text(self, digits: int = 9) -> str:
        """Epsilon, delta and verdict on one line; mu and verdict of a Gaussian claim."""
        digits = whole_number(digits, "digits", 1, 17)
        if self.mu is not None:
            return f"mu {self.mu:.{digits}g}: {self.verdict}"
        return f"epsilon {self.epsilon:.{digits}g}, delta {self.delta:.{digits}g}: {self.verdict}"

    def delta_at(self, epsilon: float | str) -> float:
        r"""Hockey-stick divergence :math:`\max_{x,x'} \sum_y (P(y|x) - e^{\epsilon} P(y|x'))^+`,
        rounded up.
        """
        return self.curve(Budget(epsilon))


def _compared(nouns: tuple[str, str], first: str, second: str) -> str:
    """Two things that are compared, in words."""
    if nouns[0] == nouns[1] and nouns[0]:
        return f"{nouns[0]}s {first} and {second}"
    names = zip(nouns, (first, second), strict=True)
    return " against ".join(f"{noun} {name}" if noun else name for noun, name in names)


def verdict_of_ratio(ratio: Fraction | float, budget: Budget) -> tuple[float, Verdict]:
    """Epsilon, rounded up, of the exact largest ratio of two probabilities; and the verdict on the
    budget.

    The number ``e**epsilon`` is irrational. It is enclosed by rationals, ``low <= e**epsilon <=
    high``, and a ratio is certified at most ``low``, violated above ``high``, and undecided
    between. A certified ratio has at most the claimed epsilon: rounding up may not make it larger.
    """
    low, high = budget.enclosure()
    verdict: Verdict = "certified" if ratio <= low else "violated" if ratio > high else "undecided"
    if not isinstance(ratio, Fraction):
        return math.inf, verdict
    epsilon = log_above(ratio)
    return min(epsilon, budget.above) if verdict == "certified" else epsilon, verdict


def audit_by_odds(
    odds: Fraction, epsilon: Budget, delta: Callable[[Fraction], Fraction], witness: Witness
) -> Audit:
    """Audit of a randomizer whose largest ratio ``odds`` of two probabilities of a report is known
    exactly, and whose least delta at ``e**epsilon = a`` is ``delta(a)``.
    """
    least, verdict = verdict_of_ratio(odds, epsilon)

    def curve(at: Budget) -> float:
        return max(0.0, round_up(delta(Budget(at).enclosure()[0])))

    delta_there = 0.0 if verdict == "certified" else curve(epsilon)
    return Audit(least, delta_there, witness, verdict, f"{float(epsilon):.6g}-LDP", curve)


class Pairs(NamedTuple):
    """Ordered pairs of tied inputs, and their distance: the factor of epsilon."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distance: NDArray[np.float64]

    @property
    def number(self) -> int:
        """Number of pairs."""
        return len(self.first)

    def by_first(self, m: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
        """Yield an input, some inputs that it is tied to and their distances, in parts for channels
        of m outputs.
        """
        order = np.argsort(self.first, kind="stable")
        first = self.first[order]
        second = self.second[order]
        distance = self.distance[order]
        starts = np.flatnonzero(np.diff(first, prepend=-1))
        size = max(1, BLOCK // m)
        for start, stop in pairwise([*starts.tolist(), len(first)]):
            for low in range(start, stop, size):
                part = slice(low, min(low + size, stop))
                yield int(first[start]), second[part], distance[part]


class PairsOfTable(NamedTuple):
    """All ordered pairs at a positive distance; the table of 5000 inputs takes 200 megabytes, a
    list of pairs 600.
    """

    table: NDArray[np.float64]

    @property
    def number(self) -> int:
        """Number of pairs."""
        return int(np.count_nonzero(self.table > 0))

    def by_first(self, m: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
        """As `Pairs.by_first`."""
        size = max(1, BLOCK // m)
        for x, row in enumerate(self.table):
            tied = np.flatnonzero(row > 0)
            for low in range(0, len(tied), size):
                others = tied[low : low + size]
                yield x, others, row[others]


AnyPairs = Pairs | PairsOfTable
