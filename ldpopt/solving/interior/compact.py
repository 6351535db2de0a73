"""The interior point for compact programs, as a solver: one small dense system per step, for every
utility.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Int
from ldpopt.foundation.threads import few_threads
from ldpopt.solvers import Feature, Outcome, Solver, Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.interior.central_path import CentralPath
from ldpopt.solving.interior.path_following import check_options

# relative gap at which to stop, between a valid bound and the value of a feasible channel
GAP = 1e-11
MAX_STEPS = 300  # largest number of steps; 10 to 30 are usual


class Interior(Solver):
    """Primal-dual interior point for pure and entry-wise budgets; it stops at a gap to a valid
    bound.
    """

    name = "interior"
    features = frozenset({Feature.WARM_START, Feature.OTHER_OUTPUTS, Feature.GAP})
    in_process_nonzeros = math.inf

    def solve(
        self,
        program: LinearProgram,
        *,
        time_limit: float | None = None,
        warm_start: Any = None,
        kept: Int | None = None,
        gap: float = GAP,
        steps: int = MAX_STEPS,
        **options: Any,
    ) -> Outcome:
        """Solve a compact program, or start from an earlier outcome's ``warm_start``."""
        # With kept, that outcome belongs to a program with other outputs: kept[j] is the position
        # of output j in it, or
        # -1.
        check_options({"gap": gap, "steps": steps} | options)
        if not (isinstance(program, ChannelProgram) and program.is_plain_compact):
            problem = (
                "the interior point solves compact programs: one constraint for all pairs, an "
                "expected value"
            )
            raise NotRepresentableError(problem, code="compact-program", do='use solver="highs"')
        structure = program.structure
        sign = 1.0 if structure.maximize else -1.0
        costs = sign * structure.weighted
        deadline = Deadline.after(time_limit)
        new_path = partial(CentralPath, costs, structure.b, structure.beta, structure.delta)
        earlier_path = warm_start if isinstance(warm_start, CentralPath) else None
        path = (
            earlier_path
            if earlier_path is not None and kept is None
            else new_path(earlier_path, kept)
        )
        # Overflows are detected by the gap, or by a direction that is not finite.
        with few_threads(costs.shape[1]), np.errstate(all="ignore"):
            status = path.iterate(gap, steps, deadline)
            if status is not Status.OPTIMAL and path.resumed and not deadline.is_over:
                path = new_path()
                status = path.iterate(gap, steps, deadline)
        best = path.in_units(path.at)
        y = sign * best.y
        z = sign * best.z
        point = np.concatenate([best.s.reshape(-1), best.m])
        rows = np.concatenate([y, z.reshape(-1)])
        below = structure.b * (structure.weighted.sum(axis=0) - y.sum()) + structure.beta * z.sum(
            axis=0
        )
        reduced = np.concatenate([(structure.weighted - y[:, None] - z).reshape(-1), below])
        return Outcome(
            status,
            f"{path.steps_taken} steps, relative gap {path.gap:.1e}",
            point,
            rows,
            reduced,
            path,
        )
