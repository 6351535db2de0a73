"""What a report tells for certain: which answers it rules out, and whether only one is left.

From the integer masses themselves: a mass of 0 is a report that an answer never gives, and every
other mass, however small, is one that it can give.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpopt.errors import NotRepresentableError
from ldpopt.mechanism.codec import Randomizer

MAX_SETS = 5000  # sets of answers that several reports can leave; more are not listed


@dataclass(frozen=True)
class Revealing:
    """What the reports of one column tell for certain, from `revealed_by`.

    Attributes
    ----------
    has_choice : bool
        Whether there are two answers at least.
    is_silent : bool
        Whether no report depends on the answer.
    is_random : bool
        Whether every answer can give two reports at least.
    tells : tuple of (report, answer)
        Reports that only this one of several answers can give.
    chances : tuple of (answer, Fraction)
        Probability of such a report, of each answer that has one.
    left : frozenset of int
        Answers that a report leaves possible, as sets of bits; only those of reports that rule an
        answer out.
    is_open : bool
        Whether every report tells the answer.
    """

    has_choice: bool
    is_silent: bool
    is_random: bool
    tells: tuple[tuple[Hashable, Hashable], ...] = ()
    chances: tuple[tuple[Hashable, Fraction], ...] = ()
    left: frozenset[int] = frozenset()
    is_open: bool = False

    @property
    def rules_out(self) -> bool:
        """Whether some report is impossible under some answer."""
        return bool(self.left)

    def tells_within(self, times: int) -> bool:
        """Whether some reports of one answer, at most ``times`` of them, leave no other answer.

        If there are too many combinations to list, they are said to tell it.
        """
        if not self.has_choice:
            return False
        sets = set(self.left)
        for _ in range(times - 1):
            if any(map(_is_single, sets)):
                return True
            # reports of one person always have an answer in common: the true one
            more = {both for a in sets for b in self.left if (both := a & b)} | sets
            if more == sets:
                break
            if len(more) > MAX_SETS:
                return True
            sets = more
        return any(map(_is_single, sets))


def revealed_by_any(each: Sequence[Revealing]) -> Revealing:
    """What the reports of several mechanisms tell for certain, of which each person has one that is
    known: whatever those of one tell.
    """
    first = each[0]
    if len(each) == 1:
        return first
    chances: dict[Hashable, Fraction] = {}
    for answer, chance in (pair for law in each for pair in law.chances):
        chances[answer] = max(chance, chances.get(answer, chance))
    return Revealing(
        first.has_choice,
        is_silent=all(law.is_silent for law in each),
        is_random=all(law.is_random for law in each),
        tells=tuple(pair for law in each for pair in law.tells),
        chances=tuple(chances.items()),
        left=frozenset().union(*(law.left for law in each)),
        is_open=all(law.is_open for law in each),
    )


def revealed_by(law: Randomizer) -> Revealing:
    """What the reports of a mechanism tell for certain, or those of a protocol.

    Raises
    ------
    NotRepresentableError
        If the reports are not listed, and their ratios are unbounded.
    """
    has_choice = len(law.inputs) > 1
    masses = getattr(law, "counts", None)
    if masses is None:
        if law.odds is None:
            problem = f"what reports of a {type(law).__name__} rule out is not known"
            do = "list its masses in a Mechanism"
            raise NotRepresentableError(problem, code="unlisted-reports", do=do)
        return Revealing(has_choice, is_silent=law.odds == 1, is_random=True)
    masses = masses[:, masses.any(axis=0)]
    can = masses > 0
    return Revealing(
        has_choice,
        is_silent=bool((masses == masses[0]).all()),
        is_random=bool((can.sum(axis=1) > 1).all()),
        **(_certainties(law, masses, can) if has_choice and not can.all() else {}),
    )


def _certainties(law: Any, masses: Any, can: Any) -> dict[str, Any]:
    """The reports that tell an answer, how likely they are, and what the others leave possible."""
    occurring = [
        report for report, column in zip(law.outputs, law.counts.T, strict=True) if column.any()
    ]
    singles = can.sum(axis=0) == 1
    places = can.argmax(axis=0)
    tells = tuple(
        (occurring[y], law.inputs[places[y]]) for y in range(len(occurring)) if singles[y]
    )
    certain = masses[:, singles].sum(axis=1)
    chances = tuple(
        (answer, Fraction(int(mass), law.denominator))
        for answer, mass in zip(law.inputs, certain, strict=True)
        if mass
    )
    columns = {tuple(column) for column in can.T.tolist() if not all(column)}
    left = frozenset(
        sum(1 << x for x, is_left in enumerate(column) if is_left) for column in columns
    )
    return {"tells": tells, "chances": chances, "left": left, "is_open": bool(singles.all())}


def _is_single(answers: int) -> bool:
    """Whether a set of bits has one element."""
    return answers & (answers - 1) == 0
