"""A model: a problem with the other entries of its file."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.notion import Notion, with_epsilon
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile.schema import Divergence
from ldpopt.problem.problem import Problem


@dataclass(frozen=True)
class Expect:
    """Expected values of the solved model: ``abs(solution.value - value) <= tolerance``, also for
    the variance.

    Attributes
    ----------
    value : float or None
        Of the utility.
    tolerance : float
        Of both.
    variance : float or None
        Of the design for the workload.
    """

    value: float | None
    tolerance: float = 1e-9
    variance: float | None = None


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Two distributions of the answers, of which reports shall tell which one holds.

    Attributes
    ----------
    inputs : tuple of hashable
        The answers.
    first, second : ndarray, shape (n,)
        Their probabilities under the hypothesis and under the alternative.
    privacy : Notion
        What the mechanism must satisfy.
    level : float
        Chance, at most, to reject the first if it holds; default: ``0.05``.
    power : float
        Chance, at least, to reject it if the second holds; default: ``0.9``.
    kind : {"kl", "total_variation", "chi_square", "squared_hellinger"}
        Divergence of the reports that is as large as possible; default: ``"kl"``.
    """

    inputs: tuple[Hashable, ...]
    first: Float
    second: Float
    privacy: Notion
    level: float = 0.05
    power: float = 0.9
    kind: Divergence = "kl"

    def __eq__(self, other: object) -> bool:
        """Whether both state the same test."""
        if not isinstance(other, Hypotheses):
            return NotImplemented
        same = np.array_equal(self.first, other.first) and np.array_equal(self.second, other.second)
        mine, others = (
            (each.inputs, each.privacy, each.level, each.power, each.kind) for each in (self, other)
        )
        return same and mine == others

    def __hash__(self) -> int:
        return hash((self.inputs, self.first.tobytes(), self.second.tobytes()))


@dataclass(frozen=True)
class Model:
    """A problem with title, source, solver settings and expected value.

    Attributes
    ----------
    problem : Problem or None
        Argument of `solve`; None if the file has a workload and no utility.
    title, source : str
        Title and source; empty if the file has none.
    solver : str
        Argument of `solve`.
    time_limit : float or None
        Seconds.
    expect : Expect or None
        Checked by a test, shown by the command line.
    design : DesignProblem or None
        Argument of `ldpopt.design`; None if the file has no workload.
    hypotheses : Hypotheses or None
        Arguments of `ldpopt.hypotheses.best`; None if the file has no table ``[test]``.
    """

    problem: Problem | None
    title: str = ""
    source: str = ""
    solver: str = "auto"
    time_limit: float | None = None
    expect: Expect | None = None
    design: DesignProblem | None = None
    hypotheses: Hypotheses | None = None

    def require_problem(self, where: str = "") -> Problem:
        """Return the problem, or refuse a model without a utility."""
        if self.problem is None:
            has = "a workload" if self.design is not None else "two distributions to test"
            fitting = "`ldpopt design`, `compare`" if self.design is not None else "`ldpopt test`"
            raise StatementError(
                f"the model has {has} and no utility",
                code="utility",
                where=where,
                do=f"use {fitting} or `check`; or add [utility]",
            )
        return self.problem

    def require_design(self, where: str = "") -> DesignProblem:
        """Return the design problem, or refuse a model without a workload."""
        if self.design is None:
            do = 'add [workload], for example with kind = "frequencies"'
            raise StatementError("the model has no workload", code="workload", where=where, do=do)
        return self.design

    def require_hypotheses(self, where: str = "") -> Hypotheses:
        """Return the two distributions, or refuse a model without them."""
        if self.hypotheses is None:
            raise StatementError(
                "the model has no two distributions to test",
                code="test",
                where=where,
                do="add [test] with first = [...] and second = [...], or weights by answer",
            )
        return self.hypotheses

    def at(self, epsilon: float | str) -> "Model":
        """The same model at another budget, without the expected value."""
        notion = with_epsilon(self.privacy, Budget(epsilon))
        problem = None if self.problem is None else replace(self.problem, privacy=notion)
        design = None if self.design is None else replace(self.design, privacy=notion)
        stated = self.hypotheses
        hypotheses = None if stated is None else replace(stated, privacy=notion)
        return replace(self, problem=problem, design=design, hypotheses=hypotheses, expect=None)

    @property
    def privacy(self) -> Any:
        """The privacy notion."""
        parts = (self.design, self.problem, self.hypotheses)
        return next(part.privacy for part in parts if part is not None)

    @property
    def inputs(self) -> tuple[Hashable, ...]:
        """The answers."""
        if self.problem is not None:
            return tuple(self.problem.inputs)
        if self.design is not None:
            return tuple(self.design.workload.inputs)
        return self.require_hypotheses().inputs
