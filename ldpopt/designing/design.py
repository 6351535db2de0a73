"""The verb `design`: from a workload and a budget to the mechanism with the smallest error, proved."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.certificate.answer_classes import is_pure
from ldpopt.certificate.design_bound import Statement, budget_of
from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.certificate.design_value import value_above
from ldpopt.designing.allowed import Allowed, allowed_by
from ldpopt.designing.column_generation import Optimum, generate
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.dual import Dual
from ldpopt.designing.fewer_reports import balanced, with_fewer_for_all, with_fewer_reports
from ldpopt.designing.methods.product.method import Products
from ldpopt.designing.methods.relaxation import generate_large
from ldpopt.designing.methods.single_mean.method import Means
from ldpopt.designing.outputs import has_more, require_outputs, with_outputs
from ldpopt.designing.pricing import LISTED, Staircases
from ldpopt.designing.prove import bounded
from ldpopt.designing.realize import Realized, left_inverse, realize
from ldpopt.designing.record import Design
from ldpopt.designing.subsets import FrequencyDesign, frequency_design
from ldpopt.designing.task import Method, Task
from ldpopt.designing.worst import generate_worst
from ldpopt.designing.worst_large import generate_worst_large
from ldpopt.errors import StatementError
from ldpopt.foundation.checks import Float, normalized, positive_seconds, real_number, require_kind, short_repr
from ldpopt.foundation.clock import Deadline
from ldpopt.foundation.labelled import read_labelled
from ldpopt.privacy import Notion, PureLDP
from ldpopt.statement.workloads import Workload

STRUCTURED: tuple[Method, ...] = (Products(), Means())
"""Methods for workloads of a certain structure, tried in this order before the general ones."""

Objective = Literal["average", "worst_case"]

MIXED = (1e-6, 1e-3, 0.1)
"""Shares of equal weights that are tried where floats spoil the design for weights near 0."""

LARGEST_GAP = 0.99
"""Largest gap that may be asked for: at 1 nothing would be asked."""

LARGE = 10.0
"""Nats above which they may."""


def design(
    workload: Workload | ArrayLike,
    privacy: Notion,
    *,
    weights: ArrayLike | Mapping[Any, float] | None = None,
    objective: Objective = "average",
    gap: float = 1e-6,
    time_limit: float | None = None,
    outputs: int | None = None,
) -> Design | FrequencyDesign:
    r"""Find the private mechanism that estimates a workload with the smallest variance.

    .. math:: \min_{C, V} \sum_x r_x \Big( \sum_y C(y \mid x) |V_y|^2 - |W_x|^2 \Big)
              \quad \text{subject to} \quad V C = W

    over all private channels ``C`` with any number of reports and all unbiased linear estimators ``V``.

    Parameters
    ----------
    workload : Workload or array_like, shape (k, n)
        What is to be estimated.
    privacy : PureLDP, GraphDP, MetricDP or OneSided
        The privacy notion. For a graph or metric the extreme rays of the cone of columns are listed, at most 100000:
        any metric on 10 answers, a path of 17, most grids of 12. Components of a graph may be separate.
    weights : array_like, shape (n,), or mapping label -> weight, optional
        Weights of the answers in the average variance, such as a guess of their distribution; default: equal weights.
        The guess need not be right: the estimate is unbiased for every distribution.
    objective : {"average", "worst_case"}
        What is minimised: the average variance, or the largest over the answers; that takes no weights.
        Default: ``"average"``.
    gap : float
        Relative gap between value and bound at which the search stops. Default: ``1e-6``.
    time_limit : float, optional
        Seconds; then the best design so far is returned, with its gap. Default: no limit.
    outputs : int, optional
        Largest number of different reports; at least the number of answers that the workload distinguishes (under a
        graph or metric: the number of answers). The bound is still for any number of reports, so the gap shows what
        the restriction costs. Default: as many as the optimum needs.

    Returns
    -------
    Design
        Mechanism, estimator, variances and certificate. A `FrequencyDesign` for plain frequencies of more than 20
        answers with equal weights: its reports are too many to list, and it has its own sampler.

    Raises
    ------
    StatementError
        If the workload depends on no answer, a weight or label does not fit, epsilon is 0, or ``outputs`` are fewer
        than answers.
    NotRepresentableError
        If the private columns do not form a cone, or the cone has too many extreme rays.

    Notes
    -----
    An optimal design over the extreme rays of the cone of columns, found by column generation: for pure privacy those
    with two values ``1`` and ``e**-epsilon``. Frequencies with equal weights take block designs where they are known,
    which have the fewest reports. Theory: docs, "Estimation".

    References
    ----------
    McKenna, Maity, Mazumdar and Miklau 2020, for the variance of the best estimator of a channel.

    Examples
    --------
    >>> best = design(Workload.frequencies(["no", "yes"]), PureLDP("log(3)"))
    >>> best.mechanism.channel.round(6).tolist(), round(best.value, 6), best.relative_gap < 1e-6
    ([[0.75, 0.25], [0.25, 0.75]], 1.5, True)
    """
    wanted = workload if isinstance(workload, Workload) else Workload(workload)
    require_kind(privacy, Notion, "design")
    if objective not in ("average", "worst_case"):
        raise StatementError(f"objective {short_repr(objective)} is unknown", do="use 'average' or 'worst_case'")
    if objective == "worst_case" and weights is not None:
        raise StatementError("the worst case takes no weights", do='leave them out, or use objective="average"')
    budget = budget_of(privacy, wanted.inputs)
    if not budget > 0:
        raise StatementError("at epsilon = 0 no report can depend on the answer", do="state epsilon > 0")
    if is_pure(privacy, wanted.inputs):
        _require_masses(float(budget))
    real_number(gap, "gap", 0.0, LARGEST_GAP)
    deadline = Deadline.after(positive_seconds(time_limit))
    is_plain = wanted.unit is not None and weights is None and outputs is None
    if is_plain and wanted.shape[1] > LISTED and is_pure(privacy, wanted.inputs):
        return frequency_design(wanted, PureLDP(budget))
    r = read_weights(weights, wanted)
    allowed = allowed_by(privacy, wanted.matrix, wanted.inputs, deadline)
    if outputs is not None:
        require_outputs(outputs, len(allowed.merged.first))
    task = Task(wanted, privacy, r, allowed, objective, gap, deadline)
    for method in STRUCTURED if outputs is None else ():
        made = method.solve(task) if method.suits(task) else None
        if made is not None:
            return made
    if objective == "worst_case":
        return _worst(wanted, privacy, allowed, gap, deadline, outputs)
    allowed.require_said(r)
    found = _optimum(wanted, r, allowed, gap, deadline, outputs)
    return _designed(wanted, privacy, r, allowed, found, gap, deadline, outputs)


def read_weights(weights: Any, workload: Workload) -> Float:
    """Weights of the answers, summing to 1."""
    n = workload.shape[1]
    if weights is None:
        return np.full(n, 1.0 / n)
    array = read_labelled(weights, "list of weights", ("answer", "answer")).to(workload.inputs)
    if array.shape != (n,):
        raise StatementError(f"the weights have shape {array.shape}; there are {n} answers")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise StatementError(
            f"weight {array[bad[0]]} is not a finite number >= 0", where=f"answer {workload.inputs[bad[0]]!r}"
        )
    return normalized(array)


def _optimum(
    workload: Workload, r: Float, allowed: Allowed, gap: float, deadline: Deadline, outputs: int | None
) -> tuple[Optimum, Dual]:
    """Design for the classes of answers, and what bounds it."""
    merged, cone = allowed.merged, allowed.cone
    n = len(merged.first)
    _require_told_apart(n)
    gram = workload.contrast_gram[np.ix_(merged.first, merged.first)]
    contrasts = Contrasts(np.asarray(gram), np.bincount(merged.classes, weights=r).astype(np.float64))
    even = balanced(contrasts, cone)
    if outputs is not None and n > LISTED and (even is None or len(even.q) > outputs):
        even = balanced(contrasts, cone, outputs)
    if even is not None and (outputs is None or len(even.q) <= outputs):
        return even, even.dual
    hints = workload.symmetries if n == workload.shape[1] else ()
    if n <= LISTED or not isinstance(cone, Staircases):
        optimum = generate(contrasts, cone, hints, gap=gap / 2, deadline=deadline)
        return with_fewer_reports(optimum, gap), optimum.dual
    candidates = workload.candidates if n == workload.shape[1] else None
    optimum = generate_large(contrasts, cone, hints, gap=gap, deadline=deadline, candidates=candidates)
    return optimum, optimum.dual


def _designed(
    workload: Workload,
    privacy: Notion,
    r: Float,
    allowed: Allowed,
    found: tuple[Optimum, Dual],
    gap: float,
    deadline: Deadline,
    outputs: int | None,
) -> Design:
    """Mechanism, estimator and proof of an optimum."""
    (optimum, dual), merged = found, allowed.merged
    statement = Statement.of(workload.matrix, r, merged)
    multipliers = bounded(statement, dual, allowed)
    bound = max(multipliers.below(statement), Fraction(0))
    share = gap * (1 - optimum.contrasts.spread / optimum.value)
    if has_more(optimum, allowed, outputs):
        optimum = with_outputs(optimum, allowed, outputs, deadline)
        real = realize(optimum.contrasts, optimum.columns, optimum.q, allowed, share, lift=False)
    else:
        real = _best_realized(statement, optimum, allowed, share, bound / Fraction(1 - gap))[1]
    certificate = DesignCertificate.of(
        workload, privacy, r, "average", real.channel, real.left_inverse, multipliers, merged
    )
    notes = (*_notes(optimum.rounds, certificate, gap, statement.spread), *optimum.notes)
    return Design(workload, certificate.mechanism, certificate, notes)


def _worst(
    workload: Workload, privacy: Notion, allowed: Allowed, gap: float, deadline: Deadline, outputs: int | None
) -> Design:
    """Design for the largest variance over the answers."""
    merged, cone = allowed.merged, allowed.cone
    n = len(merged.first)
    _require_told_apart(n)
    gram = np.asarray(workload.contrast_gram[np.ix_(merged.first, merged.first)])
    if n > LISTED and isinstance(cone, Staircases):
        whole = n == workload.shape[1]
        hints, candidates = (workload.symmetries, workload.candidates) if whole else ((), None)
        optimum, _ = generate_worst_large(gram, cone, hints, gap=gap, deadline=deadline, candidates=candidates)
    else:
        even = balanced(Contrasts(gram, np.full(n, 1 / n)), cone)
        optimum = even or with_fewer_for_all(generate_worst(gram, cone, gap=gap / 2, deadline=deadline)[0], gap)
    lift = not has_more(optimum, allowed, outputs)
    made = optimum if lift else with_outputs(optimum, allowed, outputs, deadline, for_all=True)
    r = np.zeros(workload.shape[1])
    r[merged.first] = optimum.dual.weights
    statement = Statement.of(workload.matrix, r, merged)
    multipliers = bounded(statement, optimum.dual, allowed)
    bound = multipliers.below(statement)
    real = realize(made.contrasts, made.columns, made.q, allowed, gap, lift=lift)
    achieved = value_above(statement, real.channel, real.left_inverse, "worst_case")
    if lift and achieved > bound / Fraction(1 - gap) and float(budget_of(privacy, workload.inputs)) >= LARGE:
        other = _responding(statement, made.contrasts, allowed, gap, "worst_case")
        achieved, real = min((achieved, real), other, key=lambda pair: pair[0])
    certificate = DesignCertificate.of(
        workload, privacy, r, "worst_case", real.channel, real.left_inverse, multipliers, merged
    )
    notes = _notes(optimum.rounds, certificate, gap, statement.spread)
    return Design(workload, certificate.mechanism, certificate, notes)


def _notes(rounds: int, certificate: DesignCertificate, gap: float, spread: Fraction) -> tuple[str, ...]:
    """What was done; for a large budget, why value and bound stay apart."""
    done, epsilon = f"{rounds} rounds of pricing", float(budget_of(certificate.privacy, certificate.workload.inputs))
    if certificate.relative_gap <= gap or epsilon < LARGE:
        return (done,)
    return (
        done,
        f"e**-epsilon = {np.exp(-epsilon):.2g}: masses of 2**-53 and floats cannot close the gap at this budget; value "
        f"minus bound is {float(certificate.gap / spread):.1g} of the variance that sampling has without privacy",
    )


def _require_masses(budget: float) -> None:
    """Different masses over ``2**53`` differ by a factor of at least ``1 + 2**-53``, about ``exp(2**-53)``."""
    if budget < 2.0**-53:
        raise StatementError(
            f"epsilon = {budget:.3g} is too small for probabilities in multiples of 2**-53: "
            "no report can depend on the answer",
            do="state a larger epsilon",
        )


def _require_told_apart(n: int) -> None:
    if n < 2:
        raise StatementError(
            "every number of the workload is the same for all answers: it is known without asking",
            do="state a workload that depends on the answer",
        )


def _best_realized(
    statement: Statement, optimum: Optimum, allowed: Allowed, share: float, enough: Fraction
) -> tuple[Fraction, Realized]:
    """Channel of an optimum; where floats spoil it, also of designs for weights that are nearer to each other.

    Answers of weight 0 under a large budget may get next to no reports, whose values are then beyond the floats.
    """
    r = optimum.contrasts.weights
    found: list[tuple[Fraction, Realized]] = []
    for mixed in (0.0, *MIXED):
        weights = (1 - mixed) * r + mixed / len(r)
        near = optimum
        if mixed:
            near = generate(Contrasts(optimum.contrasts.gram, weights), allowed.cone, gap=share)
        try:
            real = realize(near.contrasts, near.columns, near.q, allowed, share)
        except StatementError:
            if mixed == MIXED[-1] and not found:
                raise
            continue
        best = left_inverse(real.channel, r)
        found.append((value_above(statement, real.channel, best, "average"), Realized(real.channel, best)))
        if found[-1][0] <= enough or float(allowed.privacy.epsilon) < LARGE or r.min() > 0.01 / len(r):
            break
    if min(found, key=lambda pair: pair[0])[0] > enough and float(allowed.privacy.epsilon) >= LARGE:
        found.append(_responding(statement, optimum.contrasts, allowed, share, "average"))
    return min(found, key=lambda pair: pair[0])


def _responding(
    statement: Statement, contrasts: Contrasts, allowed: Allowed, share: float, objective: Objective
) -> tuple[Fraction, Realized]:
    """Randomized response, to which designs for large budgets come so near that floats may make them worse."""
    mass = allowed.response.mass(contrasts.weights)
    real = realize(contrasts, allowed.response, mass / mass.sum(), allowed, share, lift=False)
    return value_above(statement, real.channel, real.left_inverse, objective), real
