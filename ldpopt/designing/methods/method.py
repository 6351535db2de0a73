"""The interface of methods for designs: the sizes up to which one is used, and how it solves a
problem.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import ClassVar

from ldpopt.certificate.design_bound import Bound
from ldpopt.certificate.design_claim import DesignClaim
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.private_columns import PRICED
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, real_number


@dataclass(frozen=True)
class DesignLimits:
    """Thresholds for the choice of a method; `plan_design` and `design` accept other values.

    Attributes
    ----------
    listed_answers : int
        Most answers whose sets are all priced; beyond, the bound is from a relaxation.
    loose_gap : float
        Gap from which on a relaxation is tried before all sets are priced.
    loose_answers : int
        Fewest answers for that. It is four to twenty times as fast, but for workloads of a rank
        below half of the answers (`benchmarks/choices.py`).
    product_answers : int
        Most answers of a product alphabet.
    second_answers : int
        Most answers for which a second method is tried after one that ended above the gap.
    large_epsilon : float
        Budget in nats from which rounding errors can make a design worse than randomized response.
    """

    listed_answers: int = PRICED
    loose_gap: float = 3e-4
    loose_answers: int = 16
    product_answers: int = 4096
    second_answers: int = 50
    large_epsilon: float = 10.0

    def __post_init__(self) -> None:
        for field in fields(self):
            real_number(getattr(self, field.name), field.name, 0)


DESIGN_LIMITS = DesignLimits()  # as measured on two cores (docs/measurements/estimation.md)


@dataclass(frozen=True, eq=False)
class DesignTask:
    """A design problem, and the settings for every method."""

    form: DesignForm
    gap: float = 1e-6  # relative gap of value and bound at which to stop
    deadline: Deadline = NO_LIMIT
    limits: DesignLimits = DESIGN_LIMITS


@dataclass(frozen=True, eq=False)
class RawDesign:
    """What a method returns: a private channel, an estimator, and multipliers of a bound.

    Nothing of it is believed. `prove_design` computes the privacy, the bias and the variance of the
    channel with its estimator in integers, and tries the bounds in order: each is a statement about
    all private mechanisms that a few inequalities prove, and the first one whose inequalities hold
    exactly is kept. A method may therefore give multipliers that are optimistic by a rounding
    error, followed by the same ones with growing margins. Without any that hold, the design has the
    bound of answers that are all treated alike, or 0.

    Rows are those of classes of answers, which are answers that the workload does not distinguish:
    they have the same row of the channel. Only the weights are of single answers.
    """

    channel: Float  # (c, m): a row for each class of answers, in multiples of 2**-53
    left_inverse: Float  # X, shape (c, m); the estimator is W X
    weights: Float  # of the answers for which the bounds hold, shape (n,)
    # the tightest first; the first that exact arithmetic confirms is used
    bounds: Iterable[Bound] = ()
    rounds: int = 0  # of pricing
    notes: tuple[str, ...] = ()


class DesignMethod(ABC):
    """A way to solve design problems.

    A method says by `because` whether it fits a problem, in words for the plan, and by `solve` what
    it has found. It need not succeed: any of the errors in `design.FAILURES` ends it, the next
    method of the plan is tried, and the reason is kept as a note. It does not check its result
    either, since that is proved in one place for all methods. `solve` returns a `RawDesign`, or, if
    the channel is too large to list, a finished certificate of its own kind.
    """

    name: ClassVar[str]
    # whether the optimum is known in closed form: no other method is planned
    is_optimal: ClassVar[bool] = False
    # whether a second run with a smaller gap can end with a smaller gap
    can_refine: ClassVar[bool] = False

    @abstractmethod
    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """Why the method is tried, as a clause for the plan; None if it cannot solve problems of
        this form.
        """

    @abstractmethod
    def solve(self, task: DesignTask) -> RawDesign | DesignClaim:
        """Find a channel, its left inverse and multipliers; or sets of answers with their
        certificate.
        """

    def __str__(self) -> str:
        return self.name
