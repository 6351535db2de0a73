"""The interface of methods for designs: which problems a method suits, and how it solves one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ldpopt.certificate.design_bound import Bound
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.limits import DESIGN_LIMITS, DesignLimits
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.frequencies.subset_selection import SubsetSelection


@dataclass(frozen=True, eq=False)
class DesignTask:
    """A design problem, and the settings for every method.

    Attributes
    ----------
    form : DesignForm
        The problem and its facts.
    gap : float
        Relative gap of value and bound at which to stop.
    deadline : Deadline
        When the search has to end.
    limits : DesignLimits
        Measured thresholds.
    """

    form: DesignForm
    gap: float = 1e-6
    deadline: Deadline = NO_LIMIT
    limits: DesignLimits = DESIGN_LIMITS


@dataclass(frozen=True, eq=False)
class RawDesign:
    """What a method found; nothing of it is trusted.

    Attributes
    ----------
    channel : ndarray, shape (c, m), or SubsetSelection
        Probabilities of the reports for each class of answers, in multiples of ``2**-53``; or a protocol whose channel
        is too large to list, with a left inverse and a bound of its own.
    left_inverse : ndarray, shape (c, m), or None
        ``X``; the estimator is ``W X``.
    weights : ndarray, shape (n,)
        Weights of the answers for which the bound holds.
    bounds : iterable of Bound
        Multipliers, the tightest first: the first ones that exact arithmetic confirms prove the bound.
    rounds : int
        Of pricing.
    notes : tuple of str
        What was done, and why it ended.
    """

    channel: Float | SubsetSelection
    left_inverse: Float | None
    weights: Float
    bounds: Iterable[Bound] = ()
    rounds: int = 0
    notes: tuple[str, ...] = ()


class DesignMethod(ABC):
    """A way to solve design problems."""

    name: ClassVar[str]
    is_optimal: ClassVar[bool] = False
    """Whether the optimum is known in closed form, so that no other method is planned after it."""

    can_refine: ClassVar[bool] = False
    """Whether a smaller gap asked for brings a smaller one."""

    @abstractmethod
    def suits(self, form: DesignForm, limits: DesignLimits) -> bool:
        """Whether it can solve such problems."""

    @abstractmethod
    def because(self, form: DesignForm, limits: DesignLimits) -> str:
        """Why it is tried, in a sentence without a subject."""

    @abstractmethod
    def solve(self, task: DesignTask) -> RawDesign:
        """Find a channel, its left inverse and multipliers."""

    def __str__(self) -> str:
        """Return the name."""
        return self.name
