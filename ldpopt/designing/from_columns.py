"""From an optimum in floats to a private channel, its left inverse and multipliers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from ldpopt.certificate.design_bound import LISTED, Bound, Statement
from ldpopt.certificate.design_value import value_above
from ldpopt.designing.column_generation import Optimum, generate
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.design_form import DesignForm, share_of_spread
from ldpopt.designing.methods.method import DesignTask, RawDesign
from ldpopt.designing.outputs import has_more, with_outputs
from ldpopt.designing.realize import Realized, left_inverse, realize
from ldpopt.errors import StatementError

MARGINS = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""Shares by which the largest cost is raised, one after the other, until exact arithmetic confirms the bound."""

LIMITED = 0.7
"""Share of the time left in which a design with few reports is sought; the rest is for the proof."""

MIXED = (1e-6, 1e-3, 0.1)
"""If weights near 0 make the floats useless, the weights are mixed with equal ones in these shares, in turn."""


def from_columns(task: DesignTask, optimum: Optimum) -> RawDesign:
    """Round the columns of an optimum to a private channel with at most the number of reports that is asked for."""
    form = task.form
    made, is_limited = optimum, has_more(optimum, form.allowed, form.problem.outputs)
    if is_limited:
        ending = task.deadline.share(LIMITED)
        made = with_outputs(optimum, form.allowed, form.problem.outputs, ending, for_all=form.is_worst_case)
    share = share_of_spread(form, optimum, task.gap)
    real = _best(task, optimum, made, share, is_limited)
    dual = optimum.dual
    weights = form.weights_of(dual.weights) if form.is_worst_case else form.problem.all_weights
    # Sets of more answers are not listed: without a diagonal the bound is that of answers alike, which needs no margin.
    is_bounded = form.staircases is None or dual.shift is not None or form.n <= LISTED
    bounds: Iterable[Bound] = (dual.multipliers(margin) for margin in MARGINS) if is_bounded else ()
    return RawDesign(real.channel, real.left_inverse, weights, bounds, optimum.rounds, optimum.notes)


def _best(task: DesignTask, optimum: Optimum, made: Optimum, share: float, is_limited: bool) -> Realized:
    """The first channel that is good enough; else the best one, by exact values."""
    form, statement = task.form, None
    dual = optimum.dual
    enough = (dual.bound - Contrasts(form.gram, dual.weights).spread) / (1 - task.gap)
    found: list[tuple[Fraction, Realized]] = []
    failure: StatementError | None = None
    is_large = float(form.epsilon) >= task.limits.large_epsilon and not is_limited
    for attempt in _realized(form, made, share, is_limited, task):
        if isinstance(attempt, StatementError):
            failure = attempt
            continue
        if not is_large:
            return attempt
        if statement is None:
            weights = form.weights_of(optimum.dual.weights) if form.is_worst_case else form.problem.all_weights
            statement = Statement.of(form.problem.workload.matrix, weights, form.classes)
        value = value_above(statement, attempt.channel, attempt.left_inverse, form.problem.objective)
        if value <= enough:
            return attempt
        found.append((value, attempt))
    if not found:
        assert failure is not None
        raise failure
    return min(found, key=lambda pair: pair[0])[1]


def _realized(
    form: DesignForm, made: Optimum, share: float, is_limited: bool, task: DesignTask
) -> Iterator[Realized | StatementError]:
    """Channels for an optimum: its own; for weights nearer to each other; randomized response.

    Answers of weight 0 under a large budget may get next to no reports, whose values are then beyond the floats, and
    designs for large budgets are so near to randomized response that floats may make them worse.
    """
    yield _attempt(form, made, share, lift=not is_limited)
    r = form.class_weights
    if not form.is_worst_case and not is_limited and r.min() <= 0.01 / len(r):
        for mixed in MIXED:
            near = Contrasts(form.gram, (1 - mixed) * r + mixed / len(r))
            if form.staircases is None or form.n <= task.limits.listed_answers:
                yield _attempt(form, generate(near, form.allowed.cone, gap=share, deadline=task.deadline), share)
    response = form.allowed.response
    mass = response.mass(made.contrasts.weights)
    even = Optimum(made.contrasts, response, mass / mass.sum(), made.value, made.dual, 0)
    yield _attempt(form, even, share, lift=False)


def _attempt(form: DesignForm, optimum: Optimum, share: float, lift: bool = True) -> Realized | StatementError:
    """A private channel with the left inverse for the problem's own weights, or why there is none."""
    try:
        real = realize(optimum.contrasts, optimum.columns, optimum.q, form.allowed, share, lift=lift)
        if form.is_worst_case:
            return real
        return Realized(real.channel, left_inverse(real.channel, form.class_weights))
    except StatementError as error:
        return error


def response(task: DesignTask) -> RawDesign:
    """Randomized response, without a bound: what is left if every method failed."""
    form = task.form
    columns, mass = form.allowed.response, form.allowed.response.mass(form.class_weights)
    real = realize(form.contrasts, columns, mass / mass.sum(), form.allowed, task.gap, lift=False)
    return RawDesign(real.channel, left_inverse(real.channel, form.class_weights), form.weights_of(form.class_weights))
