"""The numbers of a page for one budget: the mechanism, its certificate and the precision of the estimates."""

from __future__ import annotations

import base64
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.designing import design
from ldpopt.designing.record import FormulaDesign
from ldpopt.errors import CertificateError, StatementError
from ldpopt.estimation.counts import ListedSource, MechanismSource
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.report.words import is_share, number_in_words
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.problem import Problem
from ldpopt.solving.certify import certify
from ldpopt.solving.solve import solve

MAX_CERTIFICATE_BYTES = 300_000  # largest certificate that a page includes
# Smallest singular value of a channel, over the largest, from which frequencies are called estimable
MIN_SINGULAR_VALUE = 1e-9
UNIFORM_TOLERANCE = 1e-12  # largest difference of two probabilities of a distribution that is called uniform


@dataclass(frozen=True, eq=False)
class Precision:
    """Standard deviations of one respondent's values, if true answers follow the assumed distribution."""

    words: Sequence[str]  # what each number is
    is_share: Sequence[bool]
    deviation: Float  # shape (k,); that of the estimate from N people is 1 / sqrt(N) times it
    truthful: Float  # the same if everybody sent the true answer
    is_uniform: bool  # whether the assumed distribution is the uniform one

    @classmethod
    def of(cls, source: ListedSource, prior: Float, words: Sequence[str]) -> Precision:
        """Deviations of the numbers that are estimated from a source, if the answers have this prior, shape (n,)."""
        wanted = source.wanted
        truthful = np.maximum(wanted**2 @ prior - (wanted @ prior) ** 2, 0.0)
        is_uniform = bool(np.ptp(prior) < UNIFORM_TOLERANCE)
        deviation = np.sqrt(source.variances(prior))
        return cls(words, list(map(is_share, wanted)), deviation, np.sqrt(truthful), is_uniform)


@dataclass(frozen=True, eq=False)
class Result:
    """The optimum for one budget."""

    privacy: Any  # the notion with this budget
    factor: float  # e**epsilon of the audit: the largest factor by which one report changes the odds of two answers
    mechanism: Mechanism | None  # None if there are too many different reports to list them
    value: float
    aim: str  # name of the value: an expected gain or loss, or a variance
    relative_gap: float  # certified
    precision: Precision | None  # None if nothing can be estimated from the reports
    certificate: str  # its file in base64; empty if it is too large

    @property
    def epsilon(self) -> float:
        """The budget in nats."""
        return float(self.privacy.epsilon)


def solve_at(problem: Problem | DesignProblem, multiple: float, time_limit: float | None) -> Result:
    """Solve a problem for a multiple of its budget."""
    if multiple != 1:
        budget = Budget(float(problem.privacy.epsilon) * multiple)
        problem = replace(problem, privacy=with_epsilon(problem.privacy, budget))
    return _solve(problem, time_limit) if isinstance(problem, Problem) else _design(problem, time_limit)


def _solve(problem: Problem, time_limit: float | None) -> Result:
    solution = solve(problem, time_limit=time_limit)
    mechanism, n = solution.mechanism, len(problem.inputs)
    try:
        certificate = certify(solution)
    except CertificateError as error:
        raise CertificateError(error.what, do="choose a solver that returns multipliers, such as highs") from None
    prior = np.full(n, 1 / n) if problem.prior is None else problem.prior
    singular = np.linalg.svd(mechanism.channel, compute_uv=False)
    precision = None
    if len(singular) == n and singular[-1] > MIN_SINGULAR_VALUE * singular[0]:
        precision = Precision.of(MechanismSource(mechanism), prior, list(map(text_of, problem.inputs)))
    aim = f"{'worst-case' if problem.objective == 'worst_case' else 'expected'} {problem.utility.sense}"
    numbers = float(solution.value), aim, certificate.relative_gap, precision
    return Result(problem.privacy, math.exp(certificate.audit.epsilon), mechanism, *numbers, _in_base64(certificate))


def _design(problem: DesignProblem, time_limit: float | None) -> Result:
    privacy, workload, weights = problem.privacy, problem.workload, problem.weights
    found: Any = design(workload, privacy, weights=weights, objective=problem.objective, time_limit=time_limit)
    aim = f"{'largest' if problem.objective == 'worst_case' else 'average'} variance"
    factor = math.exp(found.certificate.audit.epsilon)
    if isinstance(found, FormulaDesign):
        return Result(privacy, factor, None, found.value, aim, found.relative_gap, None, "")
    words = [number_in_words(*number, workload.inputs) for number in zip(found.names, found.wanted, strict=True)]
    precision = Precision.of(found, problem.all_weights, words)
    numbers = found.value, aim, found.relative_gap, precision
    return Result(privacy, factor, found.mechanism, *numbers, _in_base64(found.certificate))


def _in_base64(certificate: Any) -> str:
    """Return a certificate's file in base64; empty if it is too large, or cannot be saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        try:
            certificate.save(path)
        except (StatementError, CertificateError):
            return ""
        data = path.read_bytes()
    return base64.b64encode(data).decode() if len(data) <= MAX_CERTIFICATE_BYTES else ""
