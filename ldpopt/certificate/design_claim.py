"""The claim of a design's certificate: statement, mechanism, multipliers, value and bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpopt.certificate.design_bound import Proof
from ldpopt.foundation.checks import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.statement.workloads import Workload


@dataclass(frozen=True, eq=False)
class DesignClaim:
    r"""What a certificate says of a design, and the numbers that prove it.

    Attributes
    ----------
    workload : Workload
        What is estimated.
    privacy : privacy notion
        How private.
    weights : ndarray, shape (n,)
        Weights of the answers; for the worst case those that are hardest.
    objective : {"average", "worst_case"}
        Whether ``achieved`` is the average or the largest variance.
    mechanism : Mechanism
        The channel that is handed out.
    left_inverse : ndarray, shape (c, m)
        ``X``, for one answer of each class that the workload tells apart; the estimator is ``W X``.
    multipliers : Proof
        ``S`` and ``y``, in a form that fits the workload's structure.
    achieved, bound : Fraction
        Upper bound of the variance of the mechanism with its best unbiased estimator; lower bound for every private
        mechanism with any number of reports.
    """

    workload: Workload
    privacy: Any
    weights: Float
    objective: str
    mechanism: Mechanism
    left_inverse: Float
    multipliers: Proof
    achieved: Fraction
    bound: Fraction
