"""Tables of two questions from joint reports: what the reports show of them, and from which epsilon
on they do.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.certificate.yes_no_certificate import YesNoCertificate
from ldpopt.designing.record import Design
from ldpopt.errors import LdpoptError, LimitReachedError, StatementError
from ldpopt.estimation.band import ScoreBand
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.identified import silence, silent_numbers
from ldpopt.estimation.likelihood import most_likely
from ldpopt.estimation.linear import estimator_of
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.privacy import PureLDP
from ldpopt.surveys.joint import JointQuestion, joint_workload
from ldpopt.surveys.shared import JointNumbers, cells_of

# budgets that are tried for a table that is refused
LARGER = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0)
TRIAL_SECONDS = 10.0  # for all trials together


def pair_of(joint: JointQuestion, name: str, other: str) -> Any:
    """What counts and estimates the table of two questions of a joint report.

    A table that reports do not show for one person (``people = 1.0``) is refused.

    Raises
    ------
    StatementError
        If both are the same question, or no estimator of the table without bias exists.
    """
    if name == other:
        raise StatementError(
            f"a table of {name!r} and itself", code="same-question", do="name two questions"
        )
    source = joint.source
    if isinstance(source, YesNoPatterns):
        if not source.shows_pairs:
            raise not_shown(joint, name, other, 1.0, f"reports have {source.size} answers each")
        return source.pair(name, other)
    names, wanted = cells_of(joint.questions, joint.paths, name, other)
    try:
        estimator, _ = estimator_of(source.mechanism, wanted, names)
    except StatementError as error:
        if error.code != "rank":
            raise
        # the message ends with the reason
        reason = error.what.rpartition("because ")[2]
        raise not_shown(joint, name, other, 1.0, reason) from None
    return PairNumbers(joint, (name, other), names, wanted, estimator)


def wanted_of(joint: JointQuestion, name: str, other: str) -> Float:
    """The table of two questions as numbers of the combinations of answers, shape (k, n)."""
    return cells_of(joint.questions, joint.paths, name, other)[1]


class PairNumbers(JointNumbers):
    """The table of two questions, estimated from the reports of a design on all combinations."""

    def __init__(
        self,
        joint: JointQuestion,
        pair: tuple[str, str],
        names: Sequence[Hashable],
        wanted: Float,
        estimator: Float,
    ) -> None:
        super().__init__(joint.source, names, wanted, estimator)
        self.joint = joint
        self.pair = pair

    def estimate(self, reports: Any, confidence: float = 0.95, **options: Any) -> Estimate:
        """Estimate the table, without bias; refuse it if reports of so many people do not show
        it.
        """
        counts = self.count(reports).require_some()
        people = 1 / counts.scale
        channel = self.mechanism.channel
        silent, errors = silent_numbers(self.estimator, channel, self.wanted, people)
        if len(silent):
            raise not_shown(self.joint, *self.pair, people, silence(errors[silent[0]]))
        return super().estimate(counts, confidence, **options)

    def band(self, counts: Counts, **fields: Any) -> ScoreBand:
        """The band of the table, with the variances at the most likely shares of the reports."""
        channel = self.mechanism.channel
        try:
            frequencies = most_likely(channel, counts.values / counts.total)
        except LimitReachedError:
            return super().band(counts, **fields)
        matrices = (self.estimator, self.wanted, channel, self.left_inverse)
        return _LikelyBand.of(counts, *matrices, likely=frequencies @ channel, **fields)


@dataclass(frozen=True, eq=False)
class _LikelyBand(ScoreBand):
    """Numbers whose variances are taken at the most likely shares of the reports.

    A few reports may carry most of a variance: their expected shares are known better than those
    that were seen.
    """

    likely: Any = None  # (m,)

    @cached_property
    def _spread_of_likely(self) -> Float:
        centered = self.estimator - (self.estimator @ self.likely)[:, None]
        spread = (centered * self.likely) @ centered.T * self.counts.scale
        # of weights, too, a rare report tells less than those of all people expect of it
        wider = np.sqrt(np.broadcast_to(self.scales.interval / self.counts.scale, len(spread)))
        return np.asarray(spread * wider * wider[:, None])

    @property
    def covariance(self) -> Float | None:
        """Covariance at the likely shares."""
        return self._spread_of_likely if self.has_covariance else None

    @cached_property
    def errors(self) -> Float:
        """Standard errors at the likely shares."""
        return np.sqrt(np.maximum(np.diag(self._spread_of_likely), 0.0))


def not_shown(
    joint: JointQuestion, name: str, other: str, people: float, reason: str
) -> StatementError:
    """Return the error for a table that joint reports do not show, with an epsilon at which they
    do.
    """
    epsilon = epsilon_of(joint)
    enough = enough_epsilon(joint, name, other, people)
    larger = "a larger epsilon" if enough is None else f"epsilon {enough:g} or more"
    return StatementError(
        f"at epsilon {epsilon:g} the joint report does not show how the answers to {name!r} and "
        f"{other!r} go together: {reason}",
        code="dependence",
        do=f"use {larger}, or the scheme 'split'",
    )


def epsilon_of(joint: JointQuestion) -> float:
    """The budget of a joint report."""
    source = joint.source
    budget = source.certificate if isinstance(source, YesNoPatterns) else source.privacy
    return float(budget.epsilon)


def enough_epsilon(joint: JointQuestion, name: str, other: str, people: float) -> float | None:
    """The least of some larger budgets at which joint reports of so many people show the table;
    None if none was found in time.
    """
    until = time.monotonic() + TRIAL_SECONDS
    for epsilon in LARGER:
        seconds = until - time.monotonic()
        if epsilon <= epsilon_of(joint) or seconds <= 0:
            continue
        if _shows_table(joint, name, other, people, epsilon, seconds):
            return epsilon
    return None


def _shows_table(
    joint: JointQuestion, name: str, other: str, people: float, epsilon: float, seconds: float
) -> bool:
    """Whether joint reports at another budget show the table."""
    from ldpopt.designing.design import design

    questions = joint.questions
    if isinstance(joint.source, YesNoPatterns):
        pairs = {each: question.inputs for each, question in questions.items()}
        budget = Budget.positive(epsilon)
        return YesNoPatterns(pairs, YesNoCertificate.of(len(pairs), budget)).shows_pairs
    wanted = wanted_of(joint, name, other)
    try:
        workload = joint_workload(questions, joint.pairs)
        best = design(workload, PureLDP(epsilon), time_limit=seconds)
        if not isinstance(best, Design):
            return False
        estimator, _ = estimator_of(best.mechanism, wanted, range(len(wanted)))
    except LdpoptError:
        return False
    silent, _ = silent_numbers(estimator, best.mechanism.channel, wanted, people)
    return not len(silent)
