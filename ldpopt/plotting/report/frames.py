"""What a page shows for one budget: the mechanism, its proof and the precision of what is estimated from it."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.designing import FrequencyDesign, design
from ldpopt.designing.realize import left_inverse
from ldpopt.errors import CertificateError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.problem import Problem
from ldpopt.solving.certify import certify
from ldpopt.solving.solve import solve

LARGEST_PROOF = 300_000
"""Bytes of a certificate that the page carries."""

LEAST_SINGULAR = 1e-9
"""Smallest singular value of a channel, over the largest, from which frequencies are said to be estimable."""


UNIFORM = 1e-12
"""Largest difference of two probabilities of a distribution that is called uniform."""


@dataclass(frozen=True, eq=False)
class Frame:
    """One budget.

    Attributes
    ----------
    epsilon : Budget
        The budget that was stated.
    factor : float
        ``e**epsilon`` of the audit: by what one report can change the odds of two answers at most.
    mechanism : Mechanism or None
        None where the reports are too many to list.
    value : float
        Expected gain or loss, or variance.
    aim : str
        What the value is.
    relative_gap : float
        Certified.
    precision : Precision or None
        None where nothing can be estimated from the reports.
    proof : str
        The certificate in base64; empty where it is too large.
    """

    epsilon: Budget
    factor: float
    mechanism: Mechanism | None
    value: float
    aim: str
    relative_gap: float
    precision: Precision | None
    proof: str


@dataclass(frozen=True, eq=False)
class Precision:
    r"""How much each estimated number varies.

    Attributes
    ----------
    names : sequence of hashable
        The numbers.
    deviation : ndarray, shape (k,)
        Standard deviation of one respondent's value, who is drawn from the assumed distribution: that of the estimate
        from N people is :math:`1 / \sqrt N` times it.
    truthful : ndarray, shape (k,)
        The same if everybody answered the truth.
    is_uniform : bool
        Whether the assumed distribution is the uniform one.
    """

    names: tuple[Hashable, ...]
    deviation: Float
    truthful: Float
    is_uniform: bool

    @classmethod
    def of(cls, channel: Float, estimator: Float, wanted: Float, prior: Float, names: Any) -> Precision:
        """Deviations of the estimator ``V`` of ``W p``."""
        mean = wanted @ prior
        reports = prior @ channel
        noisy = estimator**2 @ reports - mean**2
        exact = wanted**2 @ prior - mean**2
        is_uniform = bool(np.ptp(prior) < UNIFORM)
        return cls(tuple(names), np.sqrt(np.maximum(noisy, 0.0)), np.sqrt(np.maximum(exact, 0.0)), is_uniform)


def frame(asked: Problem | DesignProblem, factor: float | None, time_limit: float | None) -> Frame:
    """Solve the problem for its own budget, or for a multiple of it."""
    if factor is not None:
        budget = Budget(float(asked.privacy.epsilon) * factor)
        asked = replace(asked, privacy=with_epsilon(asked.privacy, budget))
    return _solved(asked, time_limit) if isinstance(asked, Problem) else _designed(asked, time_limit)


def _solved(problem: Problem, time_limit: float | None) -> Frame:
    solution = solve(problem, time_limit=time_limit)
    mechanism = solution.mechanism
    try:
        proof = certify(solution)
    except CertificateError as error:
        raise CertificateError(error.what, do="choose a solver that returns multipliers, such as highs") from None
    n = len(problem.inputs)
    prior = np.full(n, 1 / n) if problem.prior is None else problem.prior
    singular = np.linalg.svd(mechanism.channel, compute_uv=False)
    precision = None
    if len(singular) == n and singular[-1] > LEAST_SINGULAR * singular[0]:
        inverse = left_inverse(mechanism.channel, np.full(n, 1 / n))
        precision = Precision.of(mechanism.channel, inverse, np.eye(n), prior, problem.inputs)
    assert problem.utility is not None
    kind = "worst-case" if problem.objective == "worst_case" else "expected"
    return Frame(
        problem.privacy.epsilon,
        float(np.exp(proof.audit.epsilon)),
        mechanism,
        float(solution.value),
        f"{kind} {problem.utility.sense}",
        proof.relative_gap,
        precision,
        _packed(proof),
    )


def _designed(asked: DesignProblem, time_limit: float | None) -> Frame:
    found: Any = design(
        asked.workload, asked.privacy, weights=asked.weights, objective=asked.objective, time_limit=time_limit
    )
    aim = f"{'largest' if asked.objective == 'worst_case' else 'average'} variance"
    if isinstance(found, FrequencyDesign):
        factor = float(np.exp(found.audit().epsilon))
        return Frame(asked.privacy.epsilon, factor, None, found.value, aim, found.relative_gap, None, "")
    n = asked.workload.shape[1]
    prior = np.full(n, 1 / n) if asked.weights is None else asked.weights / asked.weights.sum()
    channel, wanted = found.mechanism.channel, np.asarray(asked.workload.matrix)
    precision = Precision.of(channel, found.estimator, wanted, prior, asked.workload.names)
    factor = float(np.exp(found.certificate.audit.epsilon))
    proof = _packed(found.certificate)
    return Frame(asked.privacy.epsilon, factor, found.mechanism, found.value, aim, found.relative_gap, precision, proof)


def _packed(proof: Any) -> str:
    """A certificate's file in base64; empty where it is large, or has no form as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        try:
            proof.save(path)
        except (StatementError, CertificateError):
            return ""
        data = path.read_bytes()
    return base64.b64encode(data).decode() if len(data) <= LARGEST_PROOF else ""
