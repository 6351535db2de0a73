"""The verb: `design` reads the problem, runs the plan and proves the result."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.certificate.design_bound import NoBound
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.certificate.design_claim import DesignClaim
from ldpopt.certificate.design_statement import Statement, cone_of
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.method import (
    DESIGN_LIMITS,
    DesignLimits,
    DesignMethod,
    DesignTask,
    RawDesign,
)
from ldpopt.designing.plan import plan_of
from ldpopt.designing.realize import response
from ldpopt.designing.record import Design, ProvedDesign
from ldpopt.designing.saved import AnyDesign
from ldpopt.errors import LdpoptError, NotRepresentableError, PrivacyViolationError, StatementError
from ldpopt.foundation.deadline import Deadline, OutOfTimeError
from ldpopt.foundation.numbers import positive_seconds, real_number, require_kind, truth
from ldpopt.foundation.threads import few_threads
from ldpopt.privacy import Notion
from ldpopt.problem.design_problem import DesignProblem, Objective
from ldpopt.problem.workload import Workload
from ldpopt.solving.log import LOG, Step, log_to_stderr

LARGEST_GAP = 0.99  # largest gap that is accepted: a gap of 1 would accept every design
SMALL = 1e-2  # budget in nats below which differences of probabilities have few digits
NEAR = 1000.0  # a method runs once more if its gap is at most this multiple of the required gap
OTHER_SHUFFLED = (
    "this epsilon keeps a promise of shuffled reports for another mechanism than this one: "
    "see accounting.shuffled(design.mechanism, n) before these reports are shuffled"
)
# Errors of a method after which the next method is tried
FAILURES = (
    NotRepresentableError,
    StatementError,
    OutOfTimeError,
    ArithmeticError,
    np.linalg.LinAlgError,
)


class Options(TypedDict, total=False):
    """The options of `design` that do not decide which class the result has."""

    weights: ArrayLike | Mapping[Any, float] | None
    objective: Objective
    influence: float | Mapping[Any, float] | None
    liars: float | None
    people: int | None
    gap: float
    time_limit: float | None
    limits: DesignLimits
    verbose: bool


@overload
def design(
    workload: Workload | ArrayLike, privacy: Notion, *, outputs: int, **options: Unpack[Options]
) -> Design: ...
@overload
def design(
    workload: Workload | ArrayLike,
    privacy: Notion,
    *,
    outputs: None = None,
    **options: Unpack[Options],
) -> AnyDesign: ...
def design(
    workload: Workload | ArrayLike,
    privacy: Notion,
    *,
    weights: ArrayLike | Mapping[Any, float] | None = None,
    objective: Objective = "average",
    influence: float | Mapping[Any, float] | None = None,
    liars: float | None = None,
    people: int | None = None,
    gap: float = 1e-6,
    time_limit: float | None = None,
    outputs: int | None = None,
    limits: DesignLimits = DESIGN_LIMITS,
    verbose: bool = False,
) -> AnyDesign:
    r"""Find the private mechanism that estimates a workload with the smallest variance.

    .. math:: \min_{C, V} \sum_x r_x \Big( \sum_y C(y \mid x) |V_y|^2 - |W_x|^2 \Big)
              \quad \text{subject to} \quad V C = W

    over all private channels ``C`` with any number of reports and all unbiased linear estimators
    ``V``.

    Parameters
    ----------
    workload : Workload or array_like, shape (k, n)
        The numbers to be estimated.
    privacy : PureLDP, GraphDP, MetricDP or OneSided
        The privacy notion. For a graph or metric the extreme rays of the cone of columns are
        listed, at most 100000: any metric on 10 answers, a path of 17, most grids of 12. Components
        of a graph may be separate.
    weights : array_like, shape (n,), or mapping label -> weight, optional
        Weights of the answers in the average variance, such as a guess of their distribution;
        default: equal weights. The guess need not be right: the estimate is unbiased for every
        distribution.
    objective : {"average", "worst_case"}
        Whether the average variance is minimised, or the largest over the answers, which has no
        weights. Default: ``"average"``.
    influence : float, or mapping name -> float, optional
        Largest influence of a report on each number, in its unit: no report moves the number of
        reports times an estimate by more. A mapping caps the numbers that it names. See
        `least_influence` for the least one. Several numbers of more than 20 answers have a cap only
        if they are plain frequencies with equal weights and it is the same for all. Default: no
        cap.
    liars : float, optional
        Share of the people who may send anything, with ``people``: the influence is chosen for
        which the mean squared error is least. Default: nobody is thought of.
    people : int, optional
        Number of people, with ``liars``.
    gap : float
        Relative gap between value and bound at which the search stops. Default: ``1e-6``.
    time_limit : float, optional
        Seconds; then the best design so far is returned, with its gap. Default: no limit.
    outputs : int, optional
        Largest number of different reports; at least the number of answers that the workload
        distinguishes (under a graph or metric: the number of answers). The bound is still for any
        number of reports, so the gap shows what the restriction costs. Default: as many as the
        optimum needs.
    limits : DesignLimits, optional
        Measured thresholds for the choice of a method; default: ``DESIGN_LIMITS``.
    verbose : bool
        Print plan, rounds and gaps to stderr, too; the logger ``ldpopt`` always receives them.
        Default: ``False``.

    Returns
    -------
    Design or FormulaDesign
        Mechanism, estimator, variances and certificate; ``steps`` are the methods that ran. With a
        cap a `CappedDesign`, which is a `Design`, and with ``outputs`` always a `Design`. Else it
        may be a `FormulaDesign`, whose reports have no list: a `FrequencyDesign` for plain
        frequencies of more than 20 answers with equal weights: its reports are too many to list,
        and it has its own sampler; a `CappedFrequencyDesign` for these with one cap for all of
        them, or with liars; a `QuestionsDesign` for marginals of more than 512 answers to
        questions of two answers each.

    Raises
    ------
    StatementError
        If the workload depends on no answer, a weight or label does not fit, epsilon is 0,
        ``outputs`` are fewer than answers, or a cap is below the least influence.
    NotRepresentableError
        If the private columns do not form a cone, or the cone has too many extreme rays.
    PrivacyViolationError
        If the audit finds a violation; such a mechanism is never returned.

    Notes
    -----
    An optimal design over the extreme rays of the cone of columns, found by column generation: for
    pure privacy those with two values ``1`` and ``e**-epsilon``. Frequencies with equal weights
    take block designs if they are known, which have the fewest reports. Theory: docs, "Estimation".

    References
    ----------
    McKenna, Maity, Mazumdar and Miklau 2020, for the variance of the best estimator of a channel.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> best = design(Workload.frequencies(["no", "yes"]), PureLDP("log(3)"))
    >>> best.mechanism.channel.round(6).tolist(), round(best.value, 6), best.relative_gap < 1e-6
    ([[0.75, 0.25], [0.25, 0.75]], 1.5, True)
    """
    problem = DesignProblem(
        workload,  # type: ignore[arg-type]
        privacy,
        weights,  # type: ignore[arg-type]
        objective,
        outputs,
        influence,
        liars,
        people,
    )
    real_number(gap, "gap", 0.0, LARGEST_GAP)
    require_kind(limits, DesignLimits, "limits=")
    verbose = truth(verbose, "verbose")
    deadline = Deadline.after(positive_seconds(time_limit))
    form = DesignForm.of(problem, deadline)
    with log_to_stderr(verbose), few_threads(form.problem.workload.shape[1]):
        best = run_design(plan_of(form, limits, gap), DesignTask(form, gap, deadline, limits))
    return _with_note_on_shuffling(best, getattr(privacy, "epsilon", None))


def _with_note_on_shuffling(best: AnyDesign, epsilon: Any) -> AnyDesign:
    """A design with a note if its budget keeps a promise of shuffled reports for another
    mechanism.
    """
    proved = getattr(epsilon, "proved_for", None)
    if proved is None:
        return best
    try:
        is_same = best.mechanism.digest == getattr(proved, "digest", None)
    except (StatementError, NotRepresentableError):  # its reports are too many to list
        is_same = False
    return best if is_same else replace(best, notes=(*best.notes, OTHER_SHUFFLED))


def run_design(steps: tuple[Step[DesignMethod], ...], task: DesignTask) -> AnyDesign:
    """Try the methods in order until the gap is reached; the best estimator and the best bound are
    kept.
    """
    notes: list[str] = []
    ran: list[Step[DesignMethod]] = []
    best: DesignCertificate | None = None
    failure: LdpoptError | None = None
    for step in steps:
        LOG.info("%s", step)
        ran.append(step)
        try:
            raw = step.method.solve(task)
            if isinstance(raw, DesignClaim):
                optimum: AnyDesign = replace(ProvedDesign.of(raw), steps=tuple(ran))
                short = getattr(optimum, "short_reports", "")
                return (
                    replace(optimum, notes=(*optimum.notes, f"shorter reports: {short}"))
                    if short
                    else optimum
                )
            certificate = prove_design(task.form, raw)
        except FAILURES as error:
            failure = failure or (error if isinstance(error, LdpoptError) else None)
            notes.append(f"{step.method} failed: {getattr(error, 'what', '') or error}")
            continue
        certificate = _refined(step, task, certificate)
        best = certificate if best is None else better(best, certificate)
        notes += _done(step, raw, certificate, task)
        if best.relative_gap <= task.gap or task.deadline.is_over:
            break
    if best is None and task.form.problem.is_capped:
        assert failure is not None
        raise failure
    if best is None:
        try:
            best = prove_design(task.form, response(task))
        except StatementError as error:  # nothing can be estimated from randomized response
            raise failure or error from None
        notes.append("randomized response, because no method found a design")
    notes += _unreached(best, task)
    for note in notes:
        LOG.info("%s", note)
    return Design(best, tuple(notes), tuple(ran))


def _refined(
    step: Step[DesignMethod], task: DesignTask, certificate: DesignCertificate
) -> DesignCertificate:
    """Run once more for a tenth of the gap if rounding and proof cost more than the search reserved
    for them.
    """
    is_near = task.gap < certificate.relative_gap <= NEAR * task.gap
    if not step.method.can_refine or not is_near or task.deadline.is_over:
        return certificate
    try:
        again = step.method.solve(replace(task, gap=task.gap / 10))
        return (
            better(certificate, prove_design(task.form, again))
            if isinstance(again, RawDesign)
            else certificate
        )
    except FAILURES:
        return certificate


def _done(
    step: Step[DesignMethod], raw: RawDesign, certificate: DesignCertificate, task: DesignTask
) -> list[str]:
    """Notes about the run of a method: rounds of pricing, its own notes, and the gap if it is
    larger than required.
    """
    rounds = (
        [f"{step.method}: {raw.rounds} round{'s' * (raw.rounds > 1)} of pricing"]
        if raw.rounds
        else []
    )
    left = certificate.relative_gap
    ended = [f"{step.method} ended at a relative gap of {left:.2g}; {task.gap:.2g} was required"]
    return [*rounds, *raw.notes, *(ended if left > task.gap else [])]


def _unreached(certificate: DesignCertificate, task: DesignTask) -> list[str]:
    """Why the gap is larger than required, if it is."""
    if certificate.relative_gap <= task.gap:
        return []
    reasons = []
    if task.deadline.is_over:
        reasons.append("the time limit was over: a longer time_limit may close the gap")
    if task.form.problem.outputs is not None:
        reasons.append("the bound is for any number of reports, the value for at most `outputs`")
    epsilon = float(task.form.epsilon)
    rays = task.form.private_columns.rays
    depth = epsilon if rays is None else rays.depth
    if depth >= task.limits.large_epsilon:
        problem = (
            f"probabilities differ by up to e**{depth:.3g}: masses of 2**-53 and floats cannot "
            "close the gap"
        )
        spread = task.form.contrasts.spread
        share = float(certificate.gap / Fraction(spread)) if spread else 0.0
        reasons.append(
            f"{problem}; value minus bound is {share:.1g} of the variance that sampling has "
            "without privacy"
        )
    elif epsilon < SMALL:
        reasons.append(
            "the probabilities of a report hardly differ at this budget: floats have few "
            "digits for that"
        )
    elif not reasons:
        reasons.append(
            "the multipliers that were found prove no larger bound, and no better columns "
            "were found"
        )
    return reasons


def prove_design(form: DesignForm, raw: RawDesign) -> DesignCertificate:
    """Value of the channel with its estimator, and the bound of the first multipliers that hold, in
    rationals.
    """
    # The last multipliers that are tried treat all answers alike. If none hold, the bound is 0.
    problem = form.problem
    workload = form.problem.workload
    statement = Statement.of(workload.matrix, raw.weights, form.classes)
    rays = form.private_columns.rays
    cone = cone_of(problem.privacy, workload.inputs) if rays is None else rays
    alike: list[ProductBound] = []
    if (
        isinstance(cone, Fraction)
        and (spectrum := Spectrum.of(statement, Scheme((len(raw.weights),)))) is not None
    ):
        alike.append(ProductBound.best(spectrum, cone))
    multipliers = next(
        (bound for bound in chain(raw.bounds, alike) if bound.holds(statement, cone)), NoBound()
    )
    question = (workload, problem.privacy, raw.weights, problem.objective)
    estimate = (raw.channel, raw.left_inverse)
    certificate = DesignCertificate.of(*question, *estimate, multipliers, form.classes)
    if certificate.audit.verdict != "certified":
        violation = (
            "the channel that was found is not private: epsilon "
            f"{certificate.audit.epsilon:.9g} found"
        )
        where = f"inputs and output {certificate.audit.witness}"
        raise PrivacyViolationError(
            violation,
            code="audit",
            where=where,
            do="report this as a defect of ldpopt, with the problem",
        )
    return certificate


def better(first: DesignCertificate, second: DesignCertificate) -> DesignCertificate:
    """The design with the smaller value, and the multipliers with the larger bound."""
    best = first if first.achieved <= second.achieved else second
    bound = first if first.bound >= second.bound else second
    # An estimator with a bias within rounding may be better than the bound by as little.
    return replace(
        best,
        weights=bound.weights,
        multipliers=bound.multipliers,
        bound=min(bound.bound, best.achieved),
    )
