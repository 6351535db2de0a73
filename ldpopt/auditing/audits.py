"""Results of audits, and the objects that can audit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_enclosure, round_up
from ldpopt.foundation.display import Facts, HasFacts, label
from ldpopt.foundation.numbers import short_repr

Verdict = Literal["certified", "violated", "undecided"]


@dataclass(frozen=True)
class Audit(HasFacts):
    """Result of an exact check of a channel.

    Attributes
    ----------
    epsilon : float
        Smallest budget in nats at which the channel keeps the claim's delta (0 without a claim), rounded up;
        ``inf`` if none exists.
    delta : float
        Smallest delta at the claim's epsilon (0 without a claim), rounded up.
    witness : tuple or None
        ``(x, x', y)`` that attains it: labels, or positions for a plain array; ``y`` is a tuple of outputs (an event)
        for event-wise claims; None if all rows are equal.
    verdict : {"certified", "violated", "undecided"}
        Whether the claim holds for the real ``e**epsilon``. Without a claim: whether any finite epsilon holds.
    claim : str
        The claim, as text.
    """

    epsilon: float
    delta: float
    witness: tuple[Any, Any, Any] | None
    verdict: Verdict
    claim: str = ""
    curve: Callable[[Budget], float] = field(default=lambda _: math.nan, repr=False, compare=False)

    def facts(self) -> Facts:
        """The claim, the verdict, the numbers and the witness."""
        witness = "none: all rows are equal"
        if self.witness is not None:
            x, other, y = self.witness
            event = ", ".join(map(label, y[:8])) + (", ..." if len(y) > 8 else "") if isinstance(y, tuple) else label(y)
            witness = f"answers {label(x)} and {label(other)}, report {event}"
        rows = [("claim", f"{self.claim or 'none'}: {self.verdict}"), ("smallest epsilon", f"{self.epsilon:.12g}")]
        return Facts("Audit", [*rows, ("smallest delta", f"{self.delta:.12g}"), ("witness", witness)])

    def delta_at(self, epsilon: float | str) -> float:
        r"""Hockey-stick divergence :math:`\max_{x,x'} \sum_y (P(y|x) - e^{\epsilon} P(y|x'))^+`, rounded up."""
        return self.curve(Budget(epsilon))


@runtime_checkable
class Auditor(Protocol):
    """An object that can audit a channel: every privacy notion."""

    def audit(self, channel: Any) -> Audit:
        """Recompute epsilon and delta from the numbers."""
        ...


def require_notion(privacy: Any) -> None:
    """Refuse an object that is not a privacy notion.

    Raises
    ------
    StatementError
        If it has no ``audit``, or is a class instead of an instance.
    """
    if isinstance(privacy, type) or not isinstance(privacy, Auditor):
        raise StatementError(
            f"{short_repr(privacy)} is not a privacy notion",
            do="pass PureLDP(epsilon), ApproximateLDP, GraphDP or MetricDP",
        )


def audit_by(privacy: Auditor, channel: Any) -> Audit:
    """Ask a notion for its audit."""
    found = privacy.audit(channel)
    is_audit = isinstance(found, Audit) and found.verdict in get_args(Verdict)
    if not is_audit or not (found.epsilon >= 0 and found.delta >= 0):
        shown = short_repr(found)
        what = f"{type(privacy).__name__}.audit() returned {shown}, not an Audit with a verdict and numbers >= 0"
        raise StatementError(what, do="correct the notion; ldpopt.testing.check_notion tests all of its methods")
    return found


def verdict_of_ratio(ratio: Fraction | float, budget: Budget) -> tuple[float, Verdict]:
    """Epsilon, rounded up, of the exact largest ratio of two probabilities; and the verdict on the budget."""
    low, high = budget.enclosure()
    verdict: Verdict = "certified" if ratio <= low else "violated" if ratio > high else "undecided"
    if not isinstance(ratio, Fraction):
        return math.inf, verdict
    epsilon = round_up(log_enclosure(ratio)[1])
    return min(epsilon, budget.rounded_up) if verdict == "certified" else epsilon, verdict


def audit_by_odds(
    odds: Fraction, epsilon: Budget, delta: Callable[[Fraction], Fraction], witness: tuple[Any, Any, Any]
) -> Audit:
    """Audit of a law whose largest ratio of two probabilities of a report is known exactly."""
    least, verdict = verdict_of_ratio(odds, epsilon)

    def curve(at: Budget) -> float:
        return max(0.0, round_up(delta(at.enclosure()[0])))

    found = 0.0 if verdict == "certified" else curve(epsilon)
    return Audit(least, found, witness, verdict, f"{float(epsilon):.6g}-LDP", curve)
