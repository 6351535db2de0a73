"""What a budget alone means for the mechanism of a problem, in words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import nan

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.sentences import Sentence, Topic
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import BITS
from ldpopt.problem.problem import Problem

WIDEST = BITS * 0.6931471805599453  # nats of the largest ratio of two masses


@dataclass(frozen=True, eq=False)
class BudgetFacts:
    """What the notes on a budget depend on; the mechanism is None if none was found."""

    is_trivial: bool
    epsilon: Budget | None  # of a notion with ties
    delta: Fraction | float
    mechanism: Mechanism | None

    @classmethod
    def of(cls, problem: Problem, mechanism: Mechanism | None) -> BudgetFacts:
        """The facts of a problem whose notion has ties; of others the budget is not known."""
        # those that were made before, if any: for a note none are made, which may take long
        ties = problem.__dict__.get("_ties")
        epsilon, delta = (None, 0.0) if ties is None else (ties.budget, ties.delta)
        return cls(problem.is_trivial, epsilon, delta, mechanism)

    @property
    def nats(self) -> float:
        """The budget as a float; nan if it is not known."""
        return nan if self.epsilon is None else float(self.epsilon)

    @property
    def is_zero(self) -> bool:
        """Whether the probabilities that are compared are equal."""
        return self.nats == 0 and not self.delta

    @property
    def is_constant(self) -> bool:
        """Whether all rows of the mechanism are equal."""
        if self.mechanism is None:
            return False
        counts = self.mechanism.counts
        return bool((counts == counts[0]).all())


NONE_IS_LEFT = Topic(
    "note: no privacy cost",
    (
        Sentence(
            "one input",
            lambda facts: facts.is_trivial,
            "there is only one input: reports reveal nothing, so privacy costs nothing",
        ),
        Sentence(
            "constant",
            lambda facts: facts.is_zero and facts.is_constant,
            "epsilon = 0: reports do not depend on the answer; the mechanism is a constant row",
        ),
        Sentence(
            "equal",
            lambda facts: facts.is_zero,
            "epsilon = 0: two probabilities of a report that the notion compares are equal",
        ),
    ),
)

EVERYTHING = Topic(
    "note: delta",
    (
        Sentence(
            "all mechanisms",
            lambda facts: facts.delta == 1,
            "delta = 1 allows every mechanism: the notion protects nobody",
        ),
    ),
)

FLOOR = Topic(
    "note: masses",
    (
        Sentence(
            "widest ratio",
            lambda facts: facts.nats > WIDEST,
            f"probabilities are multiples of 2**-{BITS}: an epsilon of {{facts.nats:.6g}} allows "
            f"some below 2**-{BITS}, and none is used, which is more private and costs at most "
            f"2**-{BITS} per entry",
        ),
    ),
)

TOPICS = (NONE_IS_LEFT, EVERYTHING, FLOOR)
"""All notes on the budget of a solution."""
