"""The best report that depends on no answer: the mechanism at hand when time is over before a method found one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import Repaired
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.formulation import row_sums
from ldpopt.solving.solution import Solution


def with_constant_report(solution: Solution, problem: Problem) -> Solution:
    """Add the best constant mechanism to a solution that ended at a limit without any.

    With row multipliers of 0 its certificate bounds it by the best value without privacy. Nothing is added to a
    problem with side constraints or a worst-case objective, or where the notion forbids that report.
    """
    if solution.status is not Status.LIMIT or problem.prior is None or problem.constraints:
        return solution
    worth = problem.prior @ problem.utility.gain
    best = int(worth.argmax())
    channel = np.zeros(problem.utility.shape)
    channel[:, best] = 1.0
    mechanism = Mechanism(channel, inputs=problem.inputs, outputs=problem.outputs)
    audit = mechanism.audit(problem.privacy)
    if audit.verdict != "certified":
        return solution
    program = row_sums(problem)
    outcome = Outcome(Status.LIMIT, solution.raw_status, channel.reshape(-1), np.zeros(len(program.row_lower)))
    note = f"no method found a mechanism in time: this one reports {problem.outputs[best]!r} whatever the answer"
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
