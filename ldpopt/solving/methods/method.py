"""The interface of methods: which problems a method suits, its rank among the methods, and how it solves a problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.repair import Repaired
from ldpopt.privacy import MetricDP
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solvers import Feature, Outcome, Solver, Status, find
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.limits import LIMITS, Limits
from ldpopt.solving.methods.loops import Loops
from ldpopt.solving.problem_form import ProblemForm


@dataclass(frozen=True)
class Task:
    """One problem to be solved, and the settings for every method.

    Attributes
    ----------
    problem, form : Problem, ProblemForm
        The statement and its facts.
    deadline : Deadline
        The clock of the whole call.
    gap : float or None
        Relative gap at which to stop; None for the optimum.
    options : dict
        For the solver, under its own names.
    limits : Limits
        Measured thresholds.
    executor : dask.distributed.Client or None
        Whose workers share the work of a method that can use them.
    """

    problem: Problem
    form: ProblemForm
    deadline: Deadline = NO_LIMIT
    gap: float | None = None
    options: dict[str, Any] = field(default_factory=dict)
    limits: Limits = LIMITS
    executor: Any = None

    def options_for(self, solver: Solver) -> dict[str, Any]:
        """Options, with the gap for a solver that can stop at one."""
        gap = {} if self.gap is None or Feature.GAP not in solver.features else {"gap": self.gap}
        return gap | self.options


@dataclass(frozen=True)
class RawSolution:
    """The program with its generated rows, the outcome of its last solve, the unrepaired channel, and the solver.

    At a limit the channel is the best one so far, if there is one. ``gap`` is the relative gap of value and bound,
    where the method knows it; with the ``repaired`` channel it is that of `ldpopt.solving.claims.proved`.
    ``used_executor`` says whether workers of a cluster shared the work.
    """

    program: ChannelProgram
    outcome: Outcome
    channel: Float | None
    rounds: int
    solver: str
    gap: float | None = None
    repaired: Repaired | None = None
    used_executor: bool = False


@dataclass(frozen=True)
class Switch:
    """A method hands the problem over to another one.

    Attributes
    ----------
    to : str
        Name of the other method.
    because : str
        Why, in a sentence.
    program, channel : ChannelProgram, float array
        The relaxation solved last, and its optimum.
    accepted_gap : float
        Relative gap that the other method has to reach.
    resume : callable
        Continues with the first method if the other one fails.
    """

    to: str
    because: str
    program: ChannelProgram
    channel: Float
    accepted_gap: float
    resume: Callable[[], RawSolution | Switch]


class Method(ABC):
    """A way to solve problems."""

    name: ClassVar[str]
    forms: ClassVar[frozenset[str]] = frozenset()
    """Forms that a user may ask for and that leave this method in the plan: ``"compact"``, ``"pairwise"``, ..."""
    loops: ClassVar[Loops | None] = None
    """Compiled loops without which it cannot begin."""

    def restricted_to(self, form: Any) -> Method:
        """The same method for this form only; default: itself, as it has one form."""
        return self

    @abstractmethod
    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether it can solve such problems."""

    @abstractmethod
    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """Place in the order of methods to try, the fastest first; infinite if it should not be tried."""

    @abstractmethod
    def because(self, form: ProblemForm, limits: Limits) -> str:
        """Why it has this rank, in a sentence without a subject."""

    @abstractmethod
    def solve(self, task: Task, start: Switch | None = None) -> RawSolution | Switch:
        """Solve; ``start`` is given if another method hands the problem over."""

    def __str__(self) -> str:
        """Return the name."""
        return self.name


def small_task() -> Task:
    """A problem of four places that all loops of a method can be run with."""
    places = np.arange(4.0)
    worth = Utility(np.abs(places[:, None] - places), "loss")
    problem = Problem(np.array([0.4, 0.3, 0.2, 0.1]), worth, MetricDP(1.0, worth.matrix))
    return Task(problem, ProblemForm.of(problem), gap=1e-3)


def found(outcome: Outcome) -> bool:
    """Whether a solver found an optimum and returned its point."""
    return outcome.status is Status.OPTIMAL and outcome.point is not None


def solver_named(name: str) -> Solver:
    """Return the solver of a name; the interior point is found without a search through installed packages."""
    if name != "interior":
        return find(name)
    from ldpopt.solving.interior.compact import Interior

    return Interior()
