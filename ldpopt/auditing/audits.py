"""What an audit says, and who can make one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import short_repr

Verdict = Literal["certified", "violated", "undecided"]


@dataclass(frozen=True)
class Audit:
    """What an exact check of a channel found.

    Attributes
    ----------
    epsilon : float
        Smallest budget in nats at which the channel keeps the claim's delta (0 without a claim), rounded up;
        ``inf`` where there is none.
    delta : float
        Smallest delta at the claim's epsilon (0 without a claim), rounded up.
    witness : tuple or None
        ``(x, x', y)`` that attains it: labels, or positions for a plain array; ``y`` is a tuple of outputs (an event)
        for event-wise claims; None where all rows are equal.
    verdict : {"certified", "violated", "undecided"}
        Whether the claim holds for the real ``e**epsilon``. Without a claim: whether any finite epsilon does.
    claim : str
        What was checked.
    """

    epsilon: float
    delta: float
    witness: tuple[Any, Any, Any] | None
    verdict: Verdict
    claim: str = ""
    curve: Callable[[Budget], float] = field(default=lambda _: math.nan, repr=False, compare=False)

    def delta_at(self, epsilon: float | str) -> float:
        r"""Hockey-stick divergence :math:`\max_{x,x'} \sum_y (P(y|x) - e^{\epsilon} P(y|x'))^+`, rounded up."""
        return self.curve(Budget(epsilon))


@runtime_checkable
class Auditor(Protocol):
    """What can audit a channel: every privacy notion."""

    def audit(self, channel: Any) -> Audit:
        """Recompute epsilon and delta from the numbers."""
        ...


def require_notion(privacy: Any) -> None:
    """Refuse what cannot audit a channel.

    Raises
    ------
    StatementError
        If it has no ``audit``, or is the class of a notion without its budget.
    """
    if isinstance(privacy, type) or not isinstance(privacy, Auditor):
        raise StatementError(
            f"{short_repr(privacy)} is not a privacy notion",
            do="pass PureLDP(epsilon), ApproximateLDP, GraphDP or MetricDP",
        )


def audit_by(privacy: Auditor, channel: Any) -> Audit:
    """Ask a notion for its audit.

    Raises
    ------
    StatementError
        If it returns anything else than an audit with numbers and a verdict.
    """
    found = privacy.audit(channel)
    is_audit = isinstance(found, Audit) and found.verdict in get_args(Verdict)
    if not is_audit or not (found.epsilon >= 0 and found.delta >= 0):
        shown = short_repr(found)
        what = f"{type(privacy).__name__}.audit() returned {shown}, not an Audit with a verdict and numbers >= 0"
        raise StatementError(what, do="mend the notion; ldpopt.testing.check_notion tries all of it")
    return found
