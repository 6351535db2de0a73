r"""Plain compact programs of one shape along budgets: from one to the next only one row changes.

The compact program of `formulation` has the budget in all of its rows. With :math:`c = b / \beta =
1 / (e^\epsilon - 1)`, columns ``N[y]`` for :math:`\beta M_y` and one column ``s`` for the share of
a row that is not constant, it is

.. math:: \max \sum_{x,y} w_{xy} Q_{xy} + c \sum_{x,y} w_{xy} N_y, \quad
          \sum_y Q_{xy} = s, \quad Q_{xy} \le N_y, \quad s + c \sum_y N_y = 1 .

A vertex of one budget is feasible at the next but for the last row, so the primal simplex method
goes on from it. The multipliers of the rows ``sum_y Q = s`` are those of the row sums. As every
answer is repaired, audited and proved from its own numbers, a chain changes how long a search takes
and which of several optima it returns, nothing else.
"""

from typing import Any, NamedTuple

import numpy as np

from ldpopt.certificate.program_bound import Multipliers, PairRows
from ldpopt.certificate.program_certificate import Certificate, prove
from ldpopt.errors import CertificateError
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair_read
from ldpopt.problem.problem import Problem
from ldpopt.solvers.kept_program import KeptAnswer, KeptProgram
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.gap_check import REFINED_GAP
from ldpopt.solving.limits import LIMITS
from ldpopt.solving.methods.direct import Direct
from ldpopt.solving.plan import planned
from ldpopt.solving.problem_form import ProblemForm

# c = 1 / (exp(epsilon) - 1) outside of which floats of one size do not show the last row: epsilon
# from 0.01 to 9.2
LEAST_SHARE, MOST_SHARE = 1e-4, 100.0
NO_PAIRS = PairRows.joined([])


class ProvedAnswer(NamedTuple):
    """An audited mechanism, and the certificate of its value."""

    mechanism: Mechanism
    certificate: Certificate


def can_follow(problem: Problem) -> bool:
    """Whether a problem has a plain compact program that `solve` would give to HiGHS as a whole."""
    facts = ProblemForm.of(problem)
    if facts.ties is None or not (facts.is_plain_compact and facts.ties.is_plain):
        return False
    method = planned(facts, "auto", None, LIMITS)[0].method
    return isinstance(method, Direct) and method.solver == "highs"


class AlongBudgets:
    """The program of one shape, kept in one model for all budgets, priors and utilities."""

    def __init__(self, shape: tuple[int, int], *, maximize: bool) -> None:
        self._shape = shape
        self._sign = 1.0 if maximize else -1.0
        self._kept = KeptProgram(_program(*shape, maximize=maximize))

    def vertex(self, problem: Problem, start: Any = None) -> KeptAnswer | None:
        """An optimal vertex at the problem's budget, from the basis of another one; None if HiGHS
        has none, or the budget is too small or large for floats.
        """
        m = self._shape[1]
        share = _share(problem)
        if problem.prior is None or not LEAST_SHARE <= share <= MOST_SHARE:
            return None
        weighted = problem.prior[:, None] * problem.utility.matrix
        costs = np.concatenate([weighted.reshape(-1), share * weighted.sum(axis=0), [0.0]])
        if not costs.any():
            return None
        return self._kept.solve(costs, np.append(np.full(m, share), 1.0), start)

    def answer(self, problem: Problem, vertex: KeptAnswer) -> ProvedAnswer | None:
        """The mechanism at a vertex, repaired and audited, with its certificate; None if its gap is
        one at which `solve` would refine the answer.
        """
        n, m = self._shape
        entries = vertex.point[: n * m].reshape(n, m)
        channel = entries + _share(problem) * vertex.point[n * m : n * m + m]
        row_sums = self._sign * vertex.row_duals[:n]
        if not (np.isfinite(row_sums).all() and np.isfinite(channel).all()):
            return None
        names = problem.inputs, problem.outputs
        fixed = repair_read(channel, *names, problem.privacy, problem.ties())
        multipliers = Multipliers("compact", row_sums, None, NO_PAIRS, ())
        try:
            proof = prove(problem, fixed.mechanism, multipliers, fixed.audit)
        except CertificateError:
            return None
        return ProvedAnswer(fixed.mechanism, proof) if proof.relative_gap <= REFINED_GAP else None


def _share(problem: Problem) -> float:
    """The ratio ``b / beta`` of a plain compact program; infinite at epsilon 0, and at a budget
    with other ties.
    """
    ties = problem.ties()
    if ties is None or not (ties.is_plain and ties.budget.beta):
        return np.inf
    return ties.budget.b / ties.budget.beta


def _program(n: int, m: int, *, maximize: bool) -> LinearProgram:
    """The program of a shape, with costs and coefficients of the last row that are replaced."""
    entries = np.arange(n * m).reshape(n, m)
    floors = n * m + np.arange(m)
    rest = n * m + m
    sums = np.column_stack([entries, np.full(n, rest)])
    caps = np.column_stack([entries.reshape(-1), np.tile(floors, n)])
    index = np.concatenate([sums.reshape(-1), caps.reshape(-1), floors, [rest]])
    values = [np.tile(np.append(np.ones(m), -1.0), n), np.tile([1.0, -1.0], n * m), np.ones(m + 1)]
    lengths = np.concatenate([np.full(n, m + 1), np.full(n * m, 2), [m + 1]])
    upper = np.zeros(n + n * m + 1)
    upper[-1] = 1.0
    lower = upper.copy()
    lower[n:-1] = -np.inf
    return LinearProgram(
        np.zeros(rest + 1),
        maximize,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        index.astype(np.int32),
        np.concatenate(values),
        lower,
        upper,
        np.zeros(rest + 1),
        np.full(rest + 1, np.inf),
        (),
        (),
    )
