"""What a method of designing gets, and what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ldpopt.certificate.answer_classes import AnswerClasses
from ldpopt.certificate.design_bound import Bound
from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.designing.allowed import Allowed
from ldpopt.designing.pricing import Staircases
from ldpopt.designing.record import Design
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import Deadline
from ldpopt.privacy import Notion
from ldpopt.statement.workloads import Workload


@dataclass(frozen=True, eq=False)
class Task:
    """A design that is asked for.

    Attributes
    ----------
    workload : Workload
        What is estimated.
    privacy : privacy notion
        How private.
    weights : ndarray, shape (n,)
        Weights of the answers, summing to 1.
    allowed : Allowed
        Its columns, and the classes of answers that the workload tells apart.
    objective : {"average", "worst_case"}
        What is minimised.
    gap : float
        Relative gap that is aimed at.
    deadline : Deadline
        When to stop.
    """

    workload: Workload
    privacy: Notion
    weights: Float
    allowed: Allowed
    objective: str
    gap: float
    deadline: Deadline

    @property
    def merged(self) -> AnswerClasses:
        """Classes of answers that the workload tells apart."""
        return self.allowed.merged

    @property
    def is_pure(self) -> bool:
        """Whether all answers are tied alike."""
        return isinstance(self.allowed.cone, Staircases)

    @property
    def epsilon(self) -> Budget:
        """Budget of pure privacy."""
        found: Budget = self.allowed.privacy.epsilon
        return found

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.merged.first)

    @property
    def class_weights(self) -> Float:
        """Weights of the classes."""
        return np.bincount(self.merged.classes, weights=self.weights).astype(np.float64)

    def hardest(self, class_weights: Float) -> Float:
        """Weights of the answers from weights of the classes."""
        found = np.zeros(len(self.weights))
        found[self.merged.first] = class_weights
        return found

    def finish(self, channel: Float, left_inverse: Float, multipliers: Bound, weights: Float, note: str) -> Design:
        """Design of a private channel for the classes, with value and bound in rationals."""
        certificate = DesignCertificate.of(
            self.workload, self.privacy, weights, self.objective, channel, left_inverse, multipliers, self.merged
        )
        return Design(self.workload, certificate.mechanism, certificate, (note,))


class Method(Protocol):
    """A way to design for workloads of a certain structure."""

    def suits(self, task: Task) -> bool:
        """Whether it can be used."""
        ...

    def solve(self, task: Task) -> Design | None:
        """Design and proof; None where it fails."""
        ...
