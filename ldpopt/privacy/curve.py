"""Privacy under several budgets (epsilon, delta) at once: a privacy curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, pairwise
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.auditing.audits import Audit, Verdict
from ldpopt.auditing.divergence import approximate_divergence
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, round_up
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.foundation.numbers import (
    Float,
    rational,
    real_number,
    shaped_array,
    short_repr,
    whole_number,
)
from ldpopt.foundation.rows import Mask, RowBlock
from ldpopt.privacy import plain
from ldpopt.privacy.notion import SeparableNotion
from ldpopt.privacy.ties import no_rows

MAX_NONZEROS = 2_000_000  # of all rows that are written down
MIN_EXCESS = 1e-14  # smallest excess of an event that is a violation; repair removes smaller ones


@dataclass(frozen=True)
class CurveLDP(SeparableNotion):
    r"""Several budgets at once: :math:`P_x(S) \le e^{\epsilon_k} P_{x'}(S) + \delta_k` for every
    ``k`` and set ``S``.

    `ApproximateLDP.of_curve` returns it.

    Parameters
    ----------
    points : sequence of (epsilon, delta)
        At least one; each epsilon once, in nats in [0, 10000] or ``"log(p/q)"``, each delta in
        [0, 1]. They are put into the order of epsilon.

    Raises
    ------
    StatementError
        If there is no point, a number is out of range, or an epsilon occurs twice.

    Examples
    --------
    >>> CurveLDP([(0.5, 0.2), (1.0, 0.05)]).audit([[0.6, 0.4], [0.4, 0.6]]).verdict
    'certified'
    """

    kind: ClassVar[str] = "curve"
    points: tuple[tuple[Budget, float], ...]

    def __init__(self, points: Sequence[tuple[float | str, float]]) -> None:
        object.__setattr__(self, "points", _read_points(points))

    def __repr__(self) -> str:
        text = ", ".join(f"({epsilon!r}, {delta!r})" for epsilon, delta in self.points)
        return f"ApproximateLDP.of_curve([{text}])"

    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """One row for each point, ordered pair and event, if they are few."""
        n = len(read_alphabet(inputs))
        m = whole_number(n_outputs, "n_outputs")
        count = n * (n - 1) * len(self.points) * 2.0 ** min(m, 1000)
        if count * m > MAX_NONZEROS:
            raise no_rows("a privacy curve", count)
        sizes = range(1, m)
        events = chain.from_iterable(combinations(range(m), size) for size in sizes)
        listed = [[y in event for y in range(m)] for event in events]
        member = np.array(listed, bool).reshape(len(listed), m)
        first, second = np.nonzero(~np.eye(n, dtype=bool))
        pair = np.repeat(np.arange(len(first)), len(member))
        mask = np.tile(member, (len(first), 1))
        blocks = [self._rows(k, first[pair], second[pair], mask) for k in range(len(self.points))]
        return RowBlock.joined("privacy", blocks)

    def separate(self, channel: Float, inputs: Names) -> RowBlock | None:
        r"""The most violated event of every ordered pair at every point; None if there is none.

        The separation is exact up to floats; it takes O(k n^2 m).
        """
        values = shaped_array(channel, "channel", len(read_alphabet(inputs)), None)
        blocks = []
        for k, (epsilon, delta) in enumerate(self.points):
            ratio = float(min(epsilon.enclosure()[0], Fraction(10**300)))
            for x, row in enumerate(values):
                excess = row - ratio * values
                total = np.maximum(excess, 0.0).sum(axis=1)
                others = np.flatnonzero(total > delta + MIN_EXCESS * (1 + min(ratio, 10.0)))
                others = others[others != x]
                if len(others):
                    mask = excess[others] > 0
                    blocks.append(self._rows(k, np.full(len(others), x), others, mask))
        return RowBlock.joined("privacy", blocks) if blocks else None

    def excess(self, ratio: Fraction) -> Fraction:
        r"""The least of :math:`b \delta_k + (b e^{\epsilon_k} - 1)^+` over the points ``k``."""
        b = read_ratio(ratio)
        return min(
            b * Fraction(delta) + max(b * epsilon.enclosure()[1] - 1, Fraction(0))
            for epsilon, delta in self.points
        )

    def audit(self, channel: Any) -> Audit:
        """Decide every point from the channel's numbers, exactly; epsilon and delta are those of
        the point that is nearest to a violation.
        """
        audits = [approximate_divergence(channel, *point, "event") for point in self.points]
        margins = [
            audit.delta - delta for audit, (_, delta) in zip(audits, self.points, strict=True)
        ]
        worst = audits[margins.index(max(margins))]
        verdicts = {audit.verdict for audit in audits}
        ranks: tuple[Verdict, ...] = ("violated", "undecided", "certified")
        verdict = next(rank for rank in ranks if rank in verdicts)
        claim = "; ".join(
            f"epsilon = {epsilon!r}, delta = {delta!r}" for epsilon, delta in self.points
        )
        return Audit(worst.epsilon, worst.delta, worst.witness, verdict, claim, worst.curve)

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """The points as pairs of numbers."""
        return {"points": [[plain.plain_budget(e), delta] for e, delta in self.points]}

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """The budget with delta 0.05, and half of it with delta 0.1."""
        budget = Budget(epsilon)
        return cls([(budget, 0.05), (budget.share(Fraction(1, 2)), 0.1)])

    def _rows(self, k: int, first: Any, second: Any, member: Mask) -> RowBlock:
        """Rows of a point; ratio and side are rounded so that no private channel is cut off."""
        ratio = self.points[k][0].b
        upper = round_up(self.excess(Fraction(ratio)))
        sides = np.full(len(first), ratio), np.full(len(first), upper)
        return RowBlock.of_events("privacy", first, second, member, *sides)


def read_ratio(ratio: Any) -> Fraction:
    """The coefficient ``b`` of a row, a positive rational."""
    number = rational(ratio, "ratio", "number above 0", 0)
    if number == 0:
        raise StatementError("ratio = 0 belongs to no row", code="zero-ratio", do="give ratio > 0")
    return number


def _read_points(points: Any) -> tuple[tuple[Budget, float], ...]:
    """Points in the order of epsilon."""
    is_list = isinstance(points, (list, tuple, np.ndarray)) and len(points) > 0
    if not is_list or not all(
        isinstance(point, (list, tuple, np.ndarray)) and len(point) == 2 for point in points
    ):
        raise StatementError(
            f"{short_repr(points)} is not a list of pairs (epsilon, delta)",
            code="curve-points",
            do="pass at least one pair, such as [(0.5, 0.1), (1.0, 0.01)]",
        )
    do = "give a probability, usually far below 0.1"
    read = [
        (Budget(epsilon), real_number(delta, "delta", 0, 1, do=do)) for epsilon, delta in points
    ]
    read.sort()
    for (epsilon, _), (other, _) in pairwise(read):
        if epsilon.enclosure() == other.enclosure():
            raise StatementError(
                f"epsilon = {epsilon!r} has two deltas",
                code="duplicate-epsilon",
                do="keep the smaller delta",
            )
    return tuple(read)
