"""What is known of a design problem before anything is solved: its size, its rank, its symmetry, and the way taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.certificate.answer_classes import is_pure, merged_by
from ldpopt.designing.allowed import allowed_by
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.design import read_weights
from ldpopt.designing.listed_rays import ListedRays
from ldpopt.designing.pricing import LISTED
from ldpopt.designing.symmetry import group
from ldpopt.foundation.checks import Float
from ldpopt.statement.design_problem import DesignProblem

LARGEST = 2000
"""Most answers for which rank and symmetries are computed."""


@dataclass(frozen=True)
class DesignFacts:
    """Facts of a design problem.

    Attributes
    ----------
    rows, answers : int
        Shape of the workload.
    rank : int or None
        Its rank; None where the answers are too many.
    told_apart : int
        Answers that it tells apart, each with the others that it does not tell from it.
    symmetries : int
        Permutations that leave the problem as it is and are used; 1 is the identity alone.
    is_symmetric : bool
        Whether all permutations do.
    method, because : str
        How `design` goes about it, and why.
    """

    rows: int
    answers: int
    rank: int | None
    told_apart: int
    symmetries: int
    is_symmetric: bool
    method: str
    because: str


def design_facts(asked: DesignProblem) -> DesignFacts:
    """Tell size, rank, symmetry and method of a design problem.

    Parameters
    ----------
    asked : DesignProblem
        What is to be estimated, how private, and for whom.

    Returns
    -------
    DesignFacts
        Nothing is solved for them.
    """
    workload, (k, n) = asked.workload, asked.workload.shape
    pure = is_pure(asked.privacy, workload.inputs)
    if workload.unit is not None and asked.weights is None and n > LISTED and asked.objective == "average" and pure:
        because = f"the frequencies of more than {LISTED} answers, weighted alike: subset selection is optimal"
        return DesignFacts(k, n, n, n, 1, True, "closed form", because)
    merged = merged_by(asked.privacy, workload.matrix, workload.inputs)
    told = len(merged.first)
    if told > LARGEST:
        return DesignFacts(k, n, None, told, 1, False, *_method(told, asked.objective))
    allowed = allowed_by(asked.privacy, workload.matrix, workload.inputs)
    gram = np.asarray(workload.gram[np.ix_(merged.first, merged.first)])
    rank = int(np.linalg.matrix_rank(gram, hermitian=True))
    r = np.bincount(merged.classes, weights=read_weights(asked.weights, workload)).astype(np.float64)
    hints = workload.symmetries if told == n else ()
    count = len(group(Contrasts(gram, r), hints, allowed.cone)) if told > 1 else 1
    how = _method(told, asked.objective)
    if isinstance(allowed.cone, ListedRays) and told > 1:
        how = "column generation", f"the columns of the notion are sums of {len(allowed.cone.all):,} rays, all priced"
    return DesignFacts(k, n, rank, told, count, pure and _is_symmetric(gram, r), *how)


def _is_symmetric(gram: Float, r: Float) -> bool:
    """Whether all permutations leave Gram matrix and weights as they are."""
    n = len(gram)
    diagonal, rest = np.diag(gram), gram[~np.eye(n, dtype=bool)]
    return bool(np.ptp(r) == 0 and np.ptp(diagonal) == 0 and (n < 2 or np.ptp(rest) == 0))


def _method(told: int, objective: str) -> tuple[str, str]:
    if told < 2:
        return "none", "every number of the workload is the same for all answers: it is known without asking"
    if told <= LISTED:
        aim = ", at the hardest weights" if objective == "worst_case" else ""
        return "column generation", f"the sets of up to {LISTED} answers are all priced{aim}: the bound is exact"
    if objective == "worst_case":
        return "none", f"the worst case is designed for at most {LISTED} answers that the workload tells apart"
    return (
        "relaxation first",
        f"more than {LISTED} answers: the bound is from the elliptope, columns follow until near it",
    )
