r"""Mechanisms beside a design: those of the literature, and the caller's own, each of these beside
the best design of the same epsilon.

A number of people estimates the workload as well as another number does with another mechanism if
the variances of the estimates are the same. For a person drawn at random from answers of
distribution ``p`` the variance of the values is that of the mechanism and that of the drawing,

.. math:: \sum_x p_x v_x + \sum_x p_x |W_x|^2 - |W p|^2 ,

so that at large budgets all mechanisms need as many people as a census of the same size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.designing.design import design
from ldpopt.designing.literature import largest_in_people
from ldpopt.designing.saved import AnyDesign
from ldpopt.designing.sentences import OWN
from ldpopt.errors import LdpoptError, StatementError
from ldpopt.estimation.identified import least_values
from ldpopt.estimation.intervals import norm_sub
from ldpopt.estimation.linear import shown_rows, weighted_left_inverse
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, frozen, require_kind, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.workload import Workload

ROUNDS = 200  # limit on changes of the weights towards the worst case of a mechanism
CLOSE = 1e-4  # share by which the largest variance may exceed the least possible one for a channel
MIXED = 1e-9  # share of equal weights that is added to weights of which some are 0
STEPS = 20_000  # limit on steps towards the worst distribution
NEAR = 1e-7  # share by which the variance at the worst distribution may be missed


@dataclass(frozen=True, eq=False)
class OtherMechanism:
    """A mechanism of the literature for a workload.

    Attributes
    ----------
    name : str
        Its name in `NAMES`.
    variances : ndarray, shape (n,)
        Variance of one respondent's values for every answer, summed over the workload.
    average, worst : float
        Their average over the weights, and their largest.
    value : float
        The one of the two that is the objective.
    ratio : float
        ``value`` over that of the design.
    note : str
        Size of sets, or how the estimator was chosen; may be empty.
    influence : float
        As how many people a false report counts at most; nan if it is not computed.
    """

    name: str
    variances: Float
    average: float
    worst: float
    value: float
    ratio: float
    note: str = ""
    influence: float = math.nan


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnMechanism(OtherMechanism):
    """A mechanism of the caller for a workload, beside the best design of the same epsilon.

    Attributes
    ----------
    name : str
        As it was given.
    variances : ndarray, shape (n,)
        Variance of one respondent's values for every answer, with the estimator that is best for
        the objective.
    average, worst : float
        Their average over the weights, and their largest.
    value : float
        The one of the two that is the objective.
    ratio : float
        ``value`` over that of `optimum`; nan if there is none.
    note : str
        Empty.
    influence : float
        As how many people a false report counts at most; nan if it is not computed.
    epsilon : float
        Least epsilon of the notion that the mechanism satisfies, in nats: exact, rounded up; may be
        infinite.
    optimum : Design, FormulaDesign or None
        The best design of this epsilon; None if epsilon is infinite.
    people : float
        People who are needed for the same precision, over those that `optimum` needs: at the
        weights of the answers, or for the worst case each at its worst distribution. nan if there
        is no optimum.
    """

    epsilon: float
    optimum: AnyDesign | None
    people: float

    @property
    def standing(self) -> str:
        """How many people it needs, in words."""
        return OWN.say(self)


def least_favorable(at: Callable[[Float], Float], r: Float, objective: str) -> tuple[Float, Float]:
    """Variances of a channel with its best estimator for weights ``r``, and these; for the worst
    case, at the least favorable weights.
    """
    variances = at(r)
    if objective == "average":
        return variances, r
    best = variances, r
    for _ in range(ROUNDS):
        if best[0].max() <= (1 + CLOSE) * float(r @ variances):
            break
        r = r * variances / (r @ variances)
        variances = at(r)
        best = (variances, r) if variances.max() < best[0].max() else best
    return best


def read_own(others: Any, workload: Workload, taken: frozenset[str]) -> dict[str, Mechanism]:
    """The caller's mechanisms by name, with the answers in the order of the workload."""
    if others is None:
        return {}
    do = 'pass others={"mine": mechanism}'
    require_kind(others, Mapping, "others=", do)
    made = {}
    for name, mechanism in others.items():
        require_kind(name, str, "others=", do)
        if name in taken:
            raise StatementError(
                f"another row has the name {short_repr(name)}",
                code="taken-name",
                where="others=",
                do="choose another name",
            )
        made[name] = _aligned(name, mechanism, workload)
    return made


def _aligned(name: str, mechanism: Any, workload: Workload) -> Mechanism:
    """A mechanism with the answers of a workload, in their order."""
    where = f"others, {short_repr(name)}"
    if isinstance(mechanism, ReportModel):
        raise StatementError(
            "a ReportModel has no epsilon: it describes how people answer, too",
            code="report-model",
            where=where,
            do="compare its mechanisms, each with a name",
        )
    require_kind(mechanism, Mechanism, where, "pass a Mechanism, such as design.mechanism")
    answers = workload.inputs
    are_numbers = answers == tuple(range(len(answers)))
    if (
        are_numbers
        and len(mechanism.inputs) == len(answers)
        and not set(mechanism.inputs) & set(answers)
    ):
        # a workload of a number of answers has no labels: they are in the mechanism's order
        return Mechanism(mechanism.channel, answers, mechanism.outputs)
    if differing := set(mechanism.inputs) ^ set(answers):
        only = min(map(short_repr, differing))
        both = [f"{', '.join(map(short_repr, each[:6]))}" for each in (mechanism.inputs, answers)]
        raise StatementError(
            f"the mechanism has the answers {both[0]}, the workload {both[1]}: only one of "
            f"them has {only}",
            code="answers-of-mechanism",
            where=where,
            do="give both the same labels, such as Workload.frequencies(mechanism.inputs)",
        )
    places = [mechanism.inputs.index(answer) for answer in answers]
    return Mechanism(mechanism.channel[places], answers, mechanism.outputs)


def compare_own(
    mechanisms: Mapping[str, Mechanism],
    problem: DesignProblem,
    gap: float,
    time_limit: float | None,
    best: AnyDesign,
) -> tuple[list[OwnMechanism], dict[str, str]]:
    """The row of each mechanism, and why some have none; mechanisms of one epsilon share the
    optimum.
    """
    optima = {float(problem.privacy.epsilon): best}
    rows: list[OwnMechanism] = []
    left_out: dict[str, str] = {}
    for name, mechanism in mechanisms.items():
        try:
            epsilon = problem.privacy.audit(mechanism).epsilon
            variances, influence = _variances(mechanism, problem)
            if math.isfinite(epsilon) and epsilon not in optima:
                optima[epsilon] = design(
                    problem.workload,
                    with_epsilon(problem.privacy, Budget(epsilon)),
                    weights=problem.weights,
                    objective=problem.objective,
                    gap=gap,
                    time_limit=time_limit,
                )
        except LdpoptError as error:
            left_out[name] = error.what
            continue
        row = _row(name, variances, epsilon, problem, optima.get(epsilon))
        rows.append(replace(row, influence=influence))
    return rows, left_out


def _row(
    name: str, variances: Float, epsilon: float, problem: DesignProblem, optimum: AnyDesign | None
) -> OwnMechanism:
    """The row of a mechanism with these variances."""
    average = float(problem.all_weights @ variances)
    worst = float(variances.max())
    value = worst if problem.objective == "worst_case" else average
    ratio = math.nan
    people = math.nan
    if optimum is not None:
        ratio = value / optimum.value
        people = _total(variances, problem) / _total(optimum.variance(), problem)
    return OwnMechanism(
        name,
        frozen(variances),
        average,
        worst,
        value,
        ratio,
        epsilon=epsilon,
        optimum=optimum,
        people=people,
    )


def _variances(mechanism: Mechanism, problem: DesignProblem) -> tuple[Float, float]:
    """Variances of a mechanism with the best unbiased estimator of the workload, and the influence
    of a report in people; numbers that its reports do not show are refused.
    """
    workload = problem.workload
    channel = mechanism.counts / mechanism.denominator
    inverse = weighted_left_inverse(channel, channel.mean(axis=0))
    kept = shown_rows(mechanism, inverse, workload.matrix, workload.names)
    rows = workload.matrix - workload.matrix.mean(axis=1, keepdims=True)

    def values_of(moved: Float, r: Float) -> Float:
        # An answer of weight 0 has a variance too, and reports of its own perhaps.
        expected = ((1 - MIXED) * r + MIXED / len(r)) @ channel
        return least_values(channel[kept], moved[:, kept], expected)

    def ends(part: Float) -> tuple[Float, Float]:
        means = (part @ weights)[:, None]
        values = (values_of(part - means, weights) + means)[:, channel.max(axis=0) > 0]
        return values.max(axis=1), values.min(axis=1)

    # `ends` is called last, when the least favorable weights are known
    if len(rows) > rows.shape[1]:
        rows = np.linalg.qr(rows, mode="r")  # the same sums of squares

    def at(r: Float) -> Float:
        moved = rows - (rows @ r)[:, None]
        values = values_of(moved, r)
        return np.asarray(channel @ (values**2).sum(axis=0) - (moved**2).sum(axis=0))

    variances, weights = least_favorable(at, problem.all_weights, problem.objective)
    return variances, largest_in_people(workload, ends)


def _total(variances: Float, problem: DesignProblem) -> float:
    """Variance of the values of a person drawn at random, at the weights or at the worst
    distribution.
    """
    gram = problem.workload.contrast_gram
    second = variances + np.diag(gram)
    r = problem.all_weights
    if problem.objective == "average":
        return float(second @ r - r @ gram @ r)
    return _largest(second, gram)


def _largest(second: Float, gram: Float) -> float:
    """Largest ``second . p - p gram p`` over all distributions ``p``, by accelerated gradient
    steps with a bound of what is missing.
    """
    length = 2.0 * float(np.linalg.eigvalsh(gram)[-1])
    p = np.full(len(second), 1.0 / len(second))
    ahead = p
    value = 0.0
    for step in range(STEPS):
        slope = second - 2.0 * gram @ p
        value = float(second @ p - p @ gram @ p)
        if slope.max() - slope @ p <= NEAR * value:
            break
        moved = norm_sub(ahead + (second - 2.0 * gram @ ahead) / length)
        ahead = moved + step / (step + 3.0) * (moved - p)
        p = moved
    return value
