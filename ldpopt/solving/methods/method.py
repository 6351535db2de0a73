"""The interface of methods: which problems one can solve, its rank, and how it solves them; answers
of methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ldpopt.certificate.program_bound import Multipliers
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.mechanism.repair import Repaired
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Solver, Status, find
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import program_of_pairs, worst_case_utility
from ldpopt.solving.limits import LIMITS, Limits
from ldpopt.solving.problem_form import ProblemForm
from ldpopt.solving.solution import Proved

# Privacy rows ``ratio P[first, output] <= P[second, output]``: first inputs, second inputs,
# outputs, ratios
PairRows = tuple[Int, Int, Int, Float]


@dataclass(frozen=True)
class Task:
    """A problem to be solved, and the settings for every method."""

    problem: Problem
    form: ProblemForm  # properties of the problem
    deadline: Deadline = NO_LIMIT  # of the whole call
    gap: float | None = None  # relative gap at which to stop; None: the optimum
    options: dict[str, Any] = field(default_factory=dict)  # of the solver, under its own names
    limits: Limits = LIMITS  # measured thresholds
    executor: Any = None  # dask.distributed.Client whose workers a method may use, or None


@dataclass(frozen=True)
class RawSolution:
    """The answer of a method, before it is checked."""

    program: ChannelProgram  # with its generated rows
    outcome: Outcome  # of its last solve
    channel: Float | None  # (n, m), not repaired; at a limit the best one so far, if there is one
    rounds: int  # 0 for a method without rounds
    solver: str  # name of the solver
    # Relative gap of value and bound, if the method computes it; with a ``repaired`` channel, that
    # channel's gap
    gap: float | None = None
    # the repaired and audited channel (`gap_check.repair_and_measure`)
    repaired: Repaired | None = None
    used_executor: bool = False  # whether workers of a cluster were used
    multipliers: Multipliers | None = None  # if the program has not all rows to which they belong
    # the answer with roundoff alone left of the solver's errors, which takes longer
    refine: "Callable[[], RawSolution] | None" = None
    proved: Proved | None = None  # the certificate of the ``repaired`` channel


@dataclass(frozen=True)
class Switch:
    """A method's request that another method continue."""

    to: str  # name of the other method
    because: str  # the reason, as a clause
    program: ChannelProgram  # the relaxation solved last
    channel: Float  # its optimum
    accepted_gap: float  # relative gap that the other method must reach
    # continues with the first method if the other one fails
    resume: "Callable[[], RawSolution | Switch]"


class Method(ABC):
    """A way to solve problems."""

    name: ClassVar[str]
    # Which values of `form` in `solve` plan the method: `"compact"`, `"pairwise"`, `"sifted"`
    forms: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether the method can solve problems of this form."""

    @abstractmethod
    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """Rank in the order in which methods are tried, the fastest first; infinite if it should
        not be tried.
        """

    @abstractmethod
    def because(self, form: ProblemForm, limits: Limits) -> str:
        """Why the method has its rank, as a clause for the plan."""

    @abstractmethod
    def solve(self, task: Task, start: Switch | None = None) -> RawSolution | Switch:
        """Solve the problem; ``start`` is the request of a method that switched to this one."""

    def __str__(self) -> str:
        return self.name


def optimal_point(outcome: Outcome) -> Float | None:
    """The point that a solver found, if it is optimal."""
    return outcome.point if outcome.status is Status.OPTIMAL else None


def solver_named(name: str | Solver) -> Solver:
    """The solver with a name, or itself; the interior point is returned without a search through
    installed packages.
    """
    if name != "interior":
        return find(name)
    from ldpopt.solving.interior.compact import Interior

    return Interior()


def pair_answer(
    problem: Problem,
    channel: Float,
    rows: PairRows,
    multipliers: Float,
    outcome: Outcome,
    *,
    rounds: int,
    solver: str,
    gap: float,
) -> RawSolution:
    """The program with the privacy rows that have multipliers, and its outcome, of which status
    and message are known.
    """
    # The multipliers are those of the row sums, the privacy rows and, for a worst case, the inputs,
    # with the objective to be maximized.
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    program = program_of_pairs(problem, *rows)
    point = channel.reshape(-1)
    if problem.prior is None:
        by_input = (worst_case_utility(problem) * channel).sum(axis=1)
        point = np.append(
            point, (by_input.min() if sign > 0 else by_input.max()) / program.objective[-1]
        )
    duals = sign * multipliers
    reduced_costs = program.objective - program.adjoint(duals)
    outcome = Outcome(outcome.status, outcome.raw_status, point, duals, reduced_costs)
    return RawSolution(program, outcome, channel, rounds, solver, gap)
