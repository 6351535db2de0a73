"""The answer of a method that finds a channel, and multipliers of its row sums and of single privacy rows."""

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.formulation import program_of_pairs, worst_case_utility
from ldpopt.solving.methods.method import RawSolution

# Privacy rows ``ratio P[first, output] <= P[second, output]``: first inputs, second inputs, outputs, ratios
PairRows = tuple[Int, Int, Int, Float]


def pair_answer(
    problem: Problem,
    channel: Float,
    rows: PairRows,
    multipliers: Float,
    status: Status,
    message: str,
    *,
    rounds: int,
    solver: str,
    gap: float,
) -> RawSolution:
    """The program with the privacy rows that have multipliers, and its outcome."""
    # The multipliers are those of the row sums, the privacy rows and, for a worst case, the inputs, with the objective
    # to be maximized.
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    program = program_of_pairs(problem, *rows)
    point = channel.reshape(-1)
    if problem.prior is None:
        by_input = (worst_case_utility(problem) * channel).sum(axis=1)
        worst = by_input.min() if sign > 0 else by_input.max()
        point = np.append(point, worst / program.objective[-1])
    duals = sign * multipliers
    outcome = Outcome(status, message, point, duals, program.objective - program.adjoint(duals))
    return RawSolution(program, outcome, channel, rounds, solver, gap)
