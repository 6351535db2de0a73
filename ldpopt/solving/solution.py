"""Solution: the result of a solve, in the utility's own unit, with the audited mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.program_certificate import Certificate
from ldpopt.errors import InfeasibleError, LimitReachedError, NoSolutionError, UnboundedError
from ldpopt.foundation.display import Facts, HasFacts, Part
from ldpopt.foundation.numbers import Float, require_kind, row_blocks
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import Repaired
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import row_sums

if TYPE_CHECKING:
    from ldpopt.certificate.program_bound import Multipliers


@dataclass(frozen=True, eq=False)
class Proved:
    """A certificate, and the numbers of the solver from which its multipliers were read."""

    certificate: Certificate
    program: ChannelProgram
    row_duals: Float

    def is_of(self, solution: Solution) -> bool:
        """Whether it is about the mechanism and the multipliers that a solution has now."""
        proof, outcome = self.certificate, solution.outcome
        if proof.problem is not solution.problem or proof.mechanism is not solution.mechanism:
            return False
        if solution.multipliers is not None:
            return proof.multipliers is solution.multipliers
        is_same = outcome is not None and outcome.row_duals is self.row_duals
        return is_same and solution.program is self.program


@dataclass(frozen=True)
class Solution(HasFacts):
    """The answer to a problem.

    Attributes
    ----------
    problem : Problem
        The problem that was solved.
    status : Status
        How the solve ended. OPTIMAL: the certificate's gap is at most 1e-6 (1e-9 with
        ``solver="auto"`` on programs of up to 30 000 non-zeros), or at most the requested gap.
        LIMIT: a mechanism with a larger gap, or none in time. If a solver returns no multipliers,
        OPTIMAL is its claim, which `certify` refuses.
    raw_status : str
        The status in the solver's own words.
    duals : dict of str to float array
        Shadow prices by block of rows: change of the optimal value per unit of the row's bound.
    reduced_costs : dict of str to float array
        The same by block of columns.
    solver : str
        Name of the solver, and form of the program.
    runtime : float
        Wall time in seconds, from formulation to the audited mechanism.
    notes : tuple of str
        Remarks: trivial cases, raised masses, the cost of the repair, and the `steps`.
    steps : tuple of str
        The methods of the `plan` that were run, why they were chosen, and how unsuccessful ones
        ended.
    program : ChannelProgram
        The solved program, with its generated rows.
    outcome : Outcome
        The solver's own numbers, for `certify`.
    multipliers : Multipliers or None
        For graphs and metrics with more than 9 million entries: numbers that prove the bound,
        because the privacy rows are not written out in `program`, and there are no reduced costs.
    proved : Proved or None
        The certificate that was proved while solving; `certify` returns it.
    """

    problem: Problem
    status: Status
    raw_status: str
    solver: str
    runtime: float
    duals: dict[str, Float] = field(repr=False)
    reduced_costs: dict[str, Float] = field(repr=False)
    notes: tuple[str, ...] = ()
    program: ChannelProgram | None = field(default=None, repr=False)
    outcome: Outcome | None = field(default=None, repr=False)
    repaired: Repaired | None = field(default=None, repr=False)
    conflict: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    multipliers: Multipliers | None = field(default=None, repr=False)
    proved: Proved | None = field(default=None, repr=False)

    @property
    def mechanism(self) -> Mechanism:
        """The repaired and audited mechanism.

        Raises
        ------
        InfeasibleError, UnboundedError, LimitReachedError, NoSolutionError
            If there is none; the error carries this solution.
        """
        if self.repaired is None:
            raise self.no_solution()
        return self.repaired.mechanism

    @property
    def value(self) -> float:
        """Expected (or worst-case) gain or loss of `mechanism` itself; nan without one."""
        return (
            math.nan
            if self.repaired is None
            else value_of(self.problem, self.repaired.mechanism.channel)
        )

    def __repr__(self) -> str:
        return f"Solution({self.status.value}, value={self.value:.12g}, solver={self.solver!r})"

    def facts(self, certificate: Certificate | None = None) -> Facts:
        """The mechanism, its value and privacy, the solver, and remarks.

        Parameters
        ----------
        certificate : Certificate, optional
            From `certify`; its bound and gap are added. Default: none.

        Raises
        ------
        StatementError
            If it is no certificate.

        Examples
        --------
        >>> from ldpopt import Problem, PureLDP, solve
        >>> solution = solve(Problem([0.5, 0.5], "identity", PureLDP("log(3)")))
        >>> ("expected gain", "0.75") in solution.facts().parts
        True
        """
        if certificate is not None:
            require_kind(certificate, Certificate, "facts()", "pass certify(solution)")
        parts: list[Part] = []
        if self.repaired is not None:
            worst = "worst-case" if self.problem.objective == "worst_case" else "expected"
            parts += [
                *self.mechanism.facts().parts,
                (f"{worst} {self.problem.utility.sense}", f"{self.value:.12g}"),
            ]
        parts.append(("solver", f"{self.solver}, {self.status.value}, {self.runtime:.3g} s"))
        if certificate is not None:
            bounds = (
                f"achieved {float(certificate.achieved):.12g}, bound "
                f"{float(certificate.bound):.12g}"
            )
            parts.append(("certificate", f"{bounds}, relative gap {certificate.relative_gap:.2g}"))
            parts += certificate.residual_facts()
        if self.repaired is not None:
            parts.append(("audit", self.repaired.audit.numbers_text()))
        return Facts(repr(self.problem), [*parts, *(("note", text) for text in self.notes)])

    def no_solution(self) -> NoSolutionError:
        """The error that explains why there is no mechanism; it carries this solution."""
        problem = f"{self.solver} ended with {self.raw_status!r}"
        if self.status is Status.INFEASIBLE:
            blocks = " and ".join(self.conflict) or "the constraints"
            return InfeasibleError(
                f"no channel satisfies {blocks} together",
                code="conflict",
                do="relax one of them, or raise epsilon",
                solution=self,
            )
        if self.status is Status.UNBOUNDED:
            return UnboundedError(problem, do="bound the side constraints", solution=self)
        if self.status is Status.LIMIT:
            return LimitReachedError(
                problem, do="raise time_limit, or choose another solver", solution=self
            )
        return NoSolutionError(problem, do="choose another solver", solution=self)


def value_of(problem: Problem, channel: Float) -> float:
    """Value of a channel, shape (n, m), under a problem's objective, in the utility's unit."""
    utility = problem.utility.matrix
    parts = [(utility[rows] * channel[rows]).sum(axis=1) for rows in row_blocks(channel)]
    by_input = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if problem.prior is not None:
        return math.fsum((problem.prior * by_input).tolist())
    return float(by_input.min() if problem.utility.sense == "gain" else by_input.max())


def _may_be_constant(problem: Problem) -> NDArray[np.bool_]:
    """Mask of the outputs that everybody may report: those that reveal no single input."""
    outputs = len(problem.outputs)
    notion = problem.definition() or problem.comparisons()
    return np.ones(outputs, bool) if notion is None else notion.tied_outputs(outputs)


def with_constant_report(solution: Solution, problem: Problem) -> Solution:
    """Add the best constant report to a solution that ended at a limit without a mechanism, if it
    is permitted.
    """
    if solution.status is not Status.LIMIT or problem.prior is None or problem.constraints:
        return solution
    gains = problem.prior @ problem.utility.gain
    best = int(np.where(_may_be_constant(problem), gains, -np.inf).argmax())
    channel = np.zeros(problem.utility.shape)
    channel[:, best] = 1.0
    mechanism = Mechanism(channel, inputs=problem.inputs, outputs=problem.outputs)
    audit = mechanism.audit(problem.privacy)
    if audit.verdict != "certified":
        return solution
    program = row_sums(problem)
    outcome = Outcome(
        Status.LIMIT, solution.raw_status, channel.reshape(-1), np.zeros(len(program.row_lower))
    )
    note = (
        f"no method found a mechanism in time: this one reports {problem.outputs[best]!r} "
        "whatever the answer"
    )
    return replace(
        solution,
        solver="constant report",
        duals={},
        reduced_costs={},
        repaired=Repaired(mechanism, audit, 0.0),
        program=program,
        outcome=outcome,
        notes=(*solution.notes, note),
    )
