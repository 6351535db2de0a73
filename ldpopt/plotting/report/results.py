"""The numbers of a page for one budget: the mechanism, its certificate and the precision of the
estimates.
"""

from __future__ import annotations

import base64
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.designing.design import design
from ldpopt.designing.record import FormulaDesign
from ldpopt.errors import CertificateError, StatementError
from ldpopt.estimation.counts import ListedSource, MechanismSource
from ldpopt.estimation.inversion import why_not_estimable
from ldpopt.estimation.linear import linear_variances
from ldpopt.estimation.planning import Precision, precision
from ldpopt.foundation.budget import Budget, decimal_of
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.report.sentences import PageFacts
from ldpopt.plotting.report.words import is_share, number_in_words
from ldpopt.privacy import CurveLDP, GaussianLDP
from ldpopt.privacy.notion import has_epsilon, with_epsilon
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.problem import Problem
from ldpopt.solving.certify import certify
from ldpopt.solving.solve import solve
from ldpopt.surveys.questionnaire import Questionnaire

MAX_CERTIFICATE_BYTES = 300_000  # largest certificate that a page includes


@dataclass(frozen=True, eq=False)
class Result:
    """The optimum for one budget."""

    privacy: Any  # the notion with this budget
    # e**epsilon of the audit: the largest factor by which one report changes the odds of two
    # answers
    factor: float
    source: Any  # the mechanism or the design that draws the reports
    mechanism: Mechanism | None  # None if there are too many different reports to list them
    value: float
    aim: str  # name of the value: an expected gain or loss, or a variance
    relative_gap: float  # certified
    certificate: str  # its file in base64; empty if it is too large
    # at the assumed distribution; None if nothing can be estimated from the reports
    precision: Precision | None = None
    words: Sequence[str] = ()  # what each number is
    is_share: Sequence[bool] = ()
    # variances of one respondent's values if everybody sent the true answer
    truthful: Sequence[float] = ()

    @cached_property
    def facts(self) -> PageFacts:
        """What the sentences about a person's risk depend on."""
        return PageFacts(Questionnaire({"this question": self.source}))

    @property
    def influence(self) -> str:
        """As how many people a false report counts, in a sentence."""
        source = MechanismSource(self.source) if isinstance(self.source, Mechanism) else self.source
        sentence: str = source.influence.sentence
        return f"{sentence[0].upper()}{sentence[1:]}."

    @property
    def epsilon(self) -> float:
        """The budget in nats; 0 for a notion of several budgets."""
        return float(self.privacy.epsilon) if has_epsilon(self.privacy) else 0.0

    @property
    def budget(self) -> str:
        """The numbers that the notion states, in words; empty if each pair has its own."""
        return budget_text(self.privacy)


def budget_text(privacy: Any) -> str:
    """The budget of a notion in words."""
    if isinstance(privacy, GaussianLDP):
        return f"mu = {float(privacy.mu):.4g}"
    if isinstance(privacy, CurveLDP):
        points = (f"epsilon = {float(e):.4g} with delta = {d:g}" for e, d in privacy.points)
        return "; ".join(points)
    return f"epsilon = {float(privacy.epsilon):.4g}" if has_epsilon(privacy) else ""


def solve_at(problem: Problem | DesignProblem, multiple: float, time_limit: float | None) -> Result:
    """Solve a problem for a multiple of its budget."""
    if multiple != 1:
        budget = Budget(Budget(problem.privacy.epsilon).lower_nats * decimal_of(multiple))
        problem = replace(problem, privacy=with_epsilon(problem.privacy, budget))
    return (
        _solve(problem, time_limit)
        if isinstance(problem, Problem)
        else _design(problem, time_limit)
    )


def _solve(problem: Problem, time_limit: float | None) -> Result:
    solution = solve(problem, time_limit=time_limit)
    mechanism = solution.mechanism
    n = len(problem.inputs)
    try:
        certificate = certify(solution)
    except CertificateError as error:
        raise CertificateError(
            error.what,
            code="multipliers",
            do="choose a solver that returns multipliers, such as highs",
        ) from None
    prior = np.full(n, 1 / n) if problem.prior is None else problem.prior
    aim = (
        f"{'worst-case' if problem.objective == 'worst_case' else 'expected'} "
        f"{problem.utility.sense}"
    )
    numbers = float(solution.value), aim, certificate.relative_gap, _in_base64(certificate)
    factor = math.exp(certificate.audit.epsilon)
    result = Result(problem.privacy, factor, mechanism, mechanism, *numbers)
    if why_not_estimable(mechanism):
        return result
    return with_precision(
        result, MechanismSource(mechanism), prior, list(map(text_of, problem.inputs))
    )


def _design(problem: DesignProblem, time_limit: float | None) -> Result:
    privacy, workload, weights = problem.privacy, problem.workload, problem.weights
    best: Any = design(
        workload, privacy, weights=weights, objective=problem.objective, time_limit=time_limit
    )
    aim = f"{'largest' if problem.objective == 'worst_case' else 'average'} variance"
    factor = math.exp(best.certificate.audit.epsilon)
    if isinstance(best, FormulaDesign):
        return Result(privacy, factor, best, None, best.value, aim, best.relative_gap, "")
    words = [
        number_in_words(*number, workload.inputs)
        for number in zip(best.names, best.wanted, strict=True)
    ]
    numbers = best.value, aim, best.relative_gap, _in_base64(best.certificate)
    return with_precision(
        Result(privacy, factor, best, best.mechanism, *numbers), best, problem.all_weights, words
    )


def with_precision(
    result: Result, source: ListedSource, prior: Float, words: Sequence[str]
) -> Result:
    """Add the precision of the numbers that are estimated from a source, if the answers have this
    prior, shape (n,).
    """
    wanted = source.wanted
    truthful = linear_variances(np.eye(len(prior)), wanted, wanted, prior).tolist()
    about: dict[str, Any] = {
        "words": words,
        "is_share": list(map(is_share, wanted)),
        "truthful": truthful,
    }
    return replace(result, precision=precision(source, prior=prior), **about)


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
