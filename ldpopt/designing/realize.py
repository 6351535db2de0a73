"""From an optimum in floats to a private channel in integer masses, its left inverse, and
multipliers to be checked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ldpopt.certificate.design_bound import Bound
from ldpopt.certificate.design_statement import Statement, value_above
from ldpopt.designing.average import optimize_average
from ldpopt.designing.column_generation import Optimum
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.few_reports import with_at_most
from ldpopt.designing.methods.method import DesignTask, RawDesign
from ldpopt.designing.private_columns import PRICED, PrivateColumns
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.repair import repair
from ldpopt.privacy.cones.columns import Columns

# Shares by which the largest cost is raised, one after the other, until exact arithmetic confirms
# the bound
MARGINS = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
# share of the time left in which a design with few reports is sought; the rest is for the proof
LIMITED = 0.7
# If weights near 0 make the floats useless, the weights are mixed with equal ones in these shares,
# in turn
MIXED = (1e-6, 1e-3, 0.1)
# smallest singular value over the largest below which a little randomized response is added
CONDITION = 1e-4
# largest share of randomized response that is mixed in; the variance grows by at most this share
SHARE = 1e-10


def raw_design(task: DesignTask, optimum: Optimum) -> RawDesign:
    """Round an optimum to a private channel with at most the number of reports of the problem.

    In order: fewer reports, if the problem limits them; a channel of masses that is exactly private
    (`repair`); its best left inverse in floats, for the weights of the problem; and the multipliers
    with growing margins. For the worst case the weights are the least favorable ones that the
    search has found, at which the bound is largest.

    A channel may fail at the second step or the third: the masses are multiples of ``2**-53``, and
    answers of weight 0 may get next to no reports. Then other channels are tried, see `_attempts`.
    At a large budget all of them are compared exactly, because floats do not show which is best.
    """
    form = task.form
    most = task.form.problem.outputs
    dual = optimum.dual
    made = optimum
    is_limited = most is not None and len(_estimable(optimum, form.private_columns, 0.0)[1]) > most
    if most is not None and is_limited:
        ending = task.deadline.share(LIMITED)
        made = with_at_most(optimum, form.private_columns, most, ending, for_all=form.is_worst_case)
    weights = form.weights_of(dual.weights) if form.is_worst_case else form.problem.all_weights
    best = _best(task, optimum, made, weights, is_limited)
    # More than 20 answers alike: their bound needs no margin.
    is_bounded = dual.shift is not None or form.n <= PRICED or form.balanced is None
    bounds: Iterable[Bound] = (
        (dual.scaled_bound(margin) for margin in MARGINS) if is_bounded else ()
    )
    return replace(best, weights=weights, bounds=bounds, rounds=optimum.rounds, notes=optimum.notes)


def _best(
    task: DesignTask, optimum: Optimum, made: Optimum, weights: Float, is_limited: bool
) -> RawDesign:
    """The first attempt that succeeds; at a large budget the first that is good enough exactly,
    else the best one.
    """
    form = task.form
    statement = None
    dual = optimum.dual
    # a variance with the gap that was asked for above the bound, in which the variance of the true
    # values is included
    enough = (dual.bound - Contrasts(form.gram, dual.weights).spread) / (1 - task.gap)
    attempts: list[tuple[Fraction, RawDesign]] = []
    failure: StatementError | None = None
    is_large = float(form.epsilon) >= task.limits.large_epsilon and not is_limited
    for attempt in _attempts(task, made, form.objective_gap(optimum, task.gap), is_limited):
        if isinstance(attempt, StatementError):
            failure = attempt
            continue
        if not is_large:
            return attempt
        if statement is None:
            statement = Statement.of(form.problem.workload.matrix, weights, form.classes)
        value = value_above(
            statement, attempt.channel, attempt.left_inverse, form.problem.objective
        )
        if value <= enough:
            return attempt
        attempts.append((value, attempt))
    if not attempts:
        assert failure is not None
        raise failure
    return min(attempts, key=lambda pair: pair[0])[1]


def _attempts(
    task: DesignTask, made: Optimum, share: float, is_limited: bool
) -> Iterator[RawDesign | StatementError]:
    """Channels for an optimum: its own; for weights nearer to each other; randomized response."""
    # Answers of weight 0 under a large budget may get next to no reports, whose values are then
    # beyond the floats, and designs for large budgets are so near to randomized response that
    # floats may make them worse.
    form = task.form
    yield _attempt(form, made, share, lift=not is_limited)
    r = form.class_weights
    if not form.is_worst_case and not is_limited and r.min() <= 0.01 / len(r):
        for mixed in MIXED:
            near = Contrasts(form.gram, (1 - mixed) * r + mixed / len(r))
            if form.staircases is None or form.n <= task.limits.listed_answers:
                optimum = optimize_average(
                    near, form.private_columns.cone, gap=share, deadline=task.deadline
                )
                yield _attempt(form, optimum, share)
    response = form.private_columns.response
    mass = response.mass(made.contrasts.weights)
    yield _attempt(
        form,
        Optimum(made.contrasts, response, mass / mass.sum(), made.value, made.dual),
        share,
        lift=False,
    )


def _attempt(
    form: DesignForm, optimum: Optimum, share: float, lift: bool = True
) -> RawDesign | StatementError:
    """A private channel from the columns ``q`` of an optimum, with the left inverse for the
    problem's own weights, or the error that says why there is none.

    With ``lift``, columns from which hardly every number can be estimated get a little randomized
    response: a quarter of ``share``, the relative gap that the design may have, at most.
    """
    # The error is returned, not raised: the caller tries the next channel.
    try:
        columns = optimum.columns
        q = optimum.q
        if lift:
            columns, q = _estimable(optimum, form.private_columns, min(SHARE, share / 4))
        channel = _private_channel(optimum.contrasts, columns, q, form.private_columns)
        weights = optimum.contrasts.weights if form.is_worst_case else form.class_weights
        return RawDesign(channel, left_inverse(channel, weights), form.weights_of(weights))
    except StatementError as error:
        return error


def response(task: DesignTask) -> RawDesign:
    """Randomized response, without a bound: the design if every method failed."""
    form = task.form
    columns = form.private_columns.response
    mass = form.private_columns.response.mass(form.class_weights)
    channel = _private_channel(form.contrasts, columns, mass / mass.sum(), form.private_columns)
    return RawDesign(
        channel, left_inverse(channel, form.class_weights), form.weights_of(form.class_weights)
    )


def _private_channel(
    contrasts: Contrasts, columns: Columns, q: Float, private: PrivateColumns
) -> Float:
    """The nearest channel that is exactly private."""
    order = np.lexsort(-columns.shapes.T[::-1])
    columns = columns.take(order)
    q = q[order]
    channel = (columns.vectors * (q / columns.mass(contrasts.weights))[:, None]).T
    names = private.privacy.reports(private.inputs, channel)
    fixed = repair(channel, private.privacy, inputs=private.inputs, outputs=names)
    return fixed.mechanism.channel[:, fixed.mechanism.channel.max(axis=0) > 0]


def left_inverse(channel: Float, weights: Float) -> Float:
    """Left inverse of least variance, ``r + (1 - r 1^T) M^-1 g_y`` for the report ``y``.

    The shape is ``(n, m)``. Column ``y`` is an estimate of the frequencies from one report; its
    mean over the reports of an answer is the indicator of the answer. It is computed by singular
    values of the scores and not from ``M``, whose condition is the square of theirs.
    """
    n = len(weights)
    least = channel.min(axis=0)
    over = channel - least
    mean = weights @ over
    q = least + mean
    scores = (over - mean) / q
    basis = np.linalg.qr(weights[:, None], mode="complete")[0][:, 1:]
    left, sizes, right = np.linalg.svd((basis.T @ scores) * np.sqrt(q), full_matrices=False)
    if len(sizes) < n - 1 or not sizes[-1] > 1e-13 * sizes[0]:
        problem = (
            "the reports cannot tell the answers apart: epsilon is too small for masses of 2**-53"
        )
        raise StatementError(problem, code="small-budget", do="choose a larger epsilon")
    solved = basis @ ((left / sizes) @ right) / np.sqrt(q)
    solved -= np.outer(weights, solved.sum(axis=0))
    inverse = solved + weights[:, None]
    # A step of Newton's method: reports that are rare at a large budget lose digits above.
    return np.asarray(inverse - (inverse @ channel.T - np.eye(n)) @ inverse)


def _estimable(optimum: Optimum, private: PrivateColumns, share: float) -> tuple[Columns, Float]:
    """Columns and probabilities, with a little randomized response if the information matrix is
    nearly singular.
    """
    # The optimum for a mean may have no information on other contrasts; rounding errors would then
    # decide about them.
    contrasts = optimum.contrasts
    columns = optimum.columns
    q = optimum.q
    sizes = np.linalg.svd(contrasts.scores(columns) * np.sqrt(q)[:, None], compute_uv=False)
    if len(sizes) == len(contrasts.weights) - 1 and sizes[-1] > CONDITION * sizes[0]:
        return columns, q
    single = private.response
    other = single.mass(contrasts.weights)
    mixed = np.concatenate([(1 - share) * q, share * other / other.sum()])
    shapes, place = np.unique(
        np.vstack([columns.shapes, single.shapes]), axis=0, return_inverse=True
    )
    total: Float = np.bincount(place.ravel(), weights=mixed).astype(np.float64)
    return Columns(shapes, columns.base, columns.spread), total
