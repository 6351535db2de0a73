"""More answers than are listed: a bound from a relaxation first, then sets drawn from its
moments.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ldpopt.certificate.design_bound import LISTED
from ldpopt.designing.average import optimize_average
from ldpopt.designing.column_generation import Begin, Optimum, gap_of
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask, RawDesign
from ldpopt.designing.methods.relaxation.columns import LIMITS, draw, relaxed_average
from ldpopt.designing.methods.relaxation.program import relax
from ldpopt.designing.private_columns import Staircases
from ldpopt.designing.realize import raw_design
from ldpopt.designing.symmetry import symmetry_group
from ldpopt.designing.worst_case import (
    MinimaxDesign,
    least_weight,
    minimax_optimum,
    optimize_worst_case,
    solve_minimax,
)
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import Columns

ROUNDS = 5  # limit on rounds for the worst case
# gap of the first round, in multiples of the gap of the task; later rounds use half of that gap
FIRST = 3.0
KEPT = 1e-6  # share of the largest multiple below which a column is dropped between rounds
# share of the average probability below which a column of the average is not used for the worst
# case
RARE = 0.01
SECONDS = 2e-11  # of a Newton step of the saddle point, for each cube of the columns
STEPS = 20  # Newton steps for which time has to remain: it limits the number of columns
USED = 1e-9  # probability below which a column is left out of the mechanism
# Sets that are drawn, and columns added in a round, if all sets are priced too: in multiples of the
# dimension of the symmetric matrices (`benchmarks/choices.py`)
DRAWN, ADDED = 4.0, 1.5
AROUND = 2.0  # the same for sets that are drawn beside those of a saddle point
# smallest weight of an answer, in multiples of the average, for which columns are sought
LEAST = 1e-6


class Relaxation(DesignMethod):
    """A semidefinite relaxation bounds all designs; good sets are drawn from its moments."""

    name = "relaxation"

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """Pure privacy (only its columns are staircases), and more answers than are listed for a
        search; up to ``LISTED`` a proof may still list all sets.
        """
        if form.staircases is None or form.n <= limits.listed_answers:
            return None
        end = ", then that of all sets" if form.n <= LISTED else ""
        return (
            f"the sets of {form.n} answers are too many to list: the bound is that of the "
            f"elliptope{end}"
        )

    def solve(self, task: DesignTask) -> RawDesign:
        """Compute the bound, then add columns until the value is near the bound."""
        form = task.form
        cone = task.form.staircases
        assert cone is not None
        drawn = self._drawn(task, cone)
        is_reached = gap_of(drawn[0].bound, drawn[1]) <= task.gap
        if form.n > LISTED or is_reached or task.deadline.before(3 * cone.listing_seconds).is_over:
            return raw_design(task, drawn[0])
        listed = self._listed(task, cone, drawn[0])
        best = min(drawn, listed, key=lambda pair: pair[1])[0]
        proof = max(drawn, listed, key=lambda pair: pair[0].bound)[0]
        return raw_design(task, replace(best, dual=proof.dual, rounds=listed[0].rounds))

    def _drawn(self, task: DesignTask, cone: Staircases) -> tuple[Optimum, float]:
        """The design on sets that are drawn from the moments of the bound, and its variance."""
        form = task.form
        gap = task.gap
        deadline = task.deadline
        if form.is_worst_case:
            return relaxed_worst_case(
                form.gram,
                cone,
                form.hints,
                gap=gap,
                deadline=deadline,
                candidates=form.candidates,
            )
        optimum = relaxed_average(
            form.contrasts,
            cone,
            form.hints,
            gap=gap,
            deadline=deadline,
            candidates=form.candidates,
        )
        return _average(form, optimum)

    def _listed(self, task: DesignTask, cone: Staircases, start: Optimum) -> tuple[Optimum, float]:
        """The design of column generation, whose bound is that of all sets, and its variance."""
        form = task.form
        gap = task.gap / 2
        deadline = task.deadline
        if form.is_worst_case:
            return optimize_worst_case(form.gram, cone, gap=gap, deadline=deadline, start=start)
        optimum = optimize_average(
            form.contrasts, cone, form.hints, gap=gap, deadline=deadline, start=start.columns
        )
        return _average(form, optimum)


class FirstRelaxation(Relaxation):
    """The same for few answers and a loose gap, with all sets priced: for the average from sets
    drawn at once, until the better of both bounds is near; for the worst case at its weights.
    """

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """Pure privacy, answers that could be listed, a workload of many directions."""
        is_size = limits.loose_answers <= form.n <= limits.listed_answers
        if form.staircases is None or not is_size or 2 * (form.rank or 0) < form.n:
            return None
        return (
            f"for a gap of {limits.loose_gap:g} or more it is faster than pricing all sets of the "
            f"{form.n} answers"
        )

    def solve(self, task: DesignTask) -> RawDesign:
        """Compute the bound, then generate columns from sets drawn from its moments."""
        form = task.form
        cone = form.staircases
        assert cone is not None
        if form.is_worst_case:
            return self._worst_case(task, cone)
        dual, shares = relax(form.contrasts, cone, LIMITS.finer * task.gap, task.deadline)
        room = form.n * (form.n + 1) / 2
        drawn = draw(shares, int(DRAWN * room), np.random.default_rng(0))
        units = np.eye(form.n)
        begin = Begin(most=int(ADDED * room), bound=dual.bound - form.contrasts.spread)
        optimum = optimize_average(
            form.contrasts,
            cone,
            form.hints,
            gap=LIMITS.reached * task.gap,
            deadline=task.deadline,
            start=_sets(cone, units, 1 - units, drawn),
            begin=begin,
        )
        better = max(optimum.dual, dual, key=lambda multipliers: multipliers.bound)
        return raw_design(task, replace(optimum, dual=better))

    def _worst_case(self, task: DesignTask, cone: Staircases) -> RawDesign:
        """The design of `priced_worst_case`; column generation follows if its gap is larger."""
        form = task.form
        best, variance, proof = priced_worst_case(
            form.gram,
            cone,
            form.hints,
            gap=LIMITS.reached * task.gap,
            deadline=task.deadline,
            candidates=form.candidates,
        )
        is_late = task.deadline.before(3 * cone.listing_seconds).is_over
        if gap_of(proof.bound, variance) > task.gap and not is_late:
            listed, value = self._listed(task, cone, best)
            best = listed if value < variance else best
            proof = listed if listed.bound > proof.bound else proof
            best = replace(best, rounds=listed.rounds)
        return raw_design(task, replace(best, dual=proof.dual))


def _average(form: DesignForm, optimum: Optimum) -> tuple[Optimum, float]:
    """A design for the average, and its average variance."""
    return optimum, optimum.value - form.contrasts.spread


def relaxed_worst_case(
    gram: Float,
    cone: Staircases,
    hints: Sequence[Int] = (),
    *,
    gap: float = 1e-3,
    deadline: Deadline = NO_LIMIT,
    candidates: Float | None = None,
) -> tuple[Optimum, float]:
    """Design for the largest variance over many answers, and that variance; ``candidates`` are
    sets, ``(m, n)``.
    """
    # In turn: columns for the average at the weights so far, and the saddle point on these, which
    # has new weights.
    n = len(gram)
    r = np.full(n, 1.0 / n)
    rounds = 0
    round_gap = FIRST * gap
    best: tuple[Optimum, float] | None = None
    dual: Optimum | None = None
    while True:
        rounds += 1
        contrasts = Contrasts(gram, r)
        average = relaxed_average(
            contrasts,
            cone,
            hints,
            gap=round_gap,
            deadline=deadline.share(0.5),
            candidates=candidates,
        )
        if dual is None or average.bound > dual.bound:
            dual = average
        if best is not None and gap_of(dual.bound, best[1]) <= gap:
            break
        columns = _pool(cone, average, candidates, deadline)
        saddle, best = _saddle(gram, columns, r, gap, deadline, best)
        if gap_of(dual.bound, best[1]) <= gap or rounds == ROUNDS or deadline.is_over:
            break
        candidates = columns.shapes[saddle.theta > KEPT * saddle.theta.max()]
        r = _symmetric(contrasts, cone, saddle.r, hints)
        round_gap = gap / 2
    return replace(best[0], dual=dual.dual, rounds=rounds), best[1]


def priced_worst_case(
    gram: Float,
    cone: Staircases,
    hints: Sequence[Int] = (),
    *,
    gap: float = 1e-3,
    deadline: Deadline = NO_LIMIT,
    candidates: Float | None = None,
) -> tuple[Optimum, float, Optimum]:
    """Design for the largest variance over few answers, that variance, and the average design with
    the largest bound; ``candidates`` are sets, ``(m, n)``.
    """
    # As `relaxed_worst_case`, but from the second round on the average at the weights of the saddle
    # point prices all sets: its bound is tight, that of the elliptope is not.
    n = len(gram)
    room = n * (n + 1) // 2
    r = np.full(n, 1.0 / n)
    contrasts = Contrasts(gram, r)
    _, shares = relax(contrasts, cone, gap, deadline.share(0.1))
    units = np.eye(n)
    drawn = [units, 1 - units, draw(shares, int(AROUND * room), np.random.default_rng(0))]
    proof = relaxed_average(
        contrasts,
        cone,
        hints,
        gap=FIRST * gap,
        deadline=deadline.share(0.5),
        candidates=candidates,
    )
    columns = _pool(cone, proof, candidates, deadline)
    best: tuple[Optimum, float] | None = None
    for rounds in range(1, ROUNDS + 1):
        saddle, best = _saddle(gram, columns, r, gap, deadline, best)
        if gap_of(proof.bound, best[1]) <= gap or rounds == ROUNDS or deadline.is_over:
            break
        r = _symmetric(contrasts, cone, saddle.r, hints)
        contrasts = Contrasts(gram, r)
        used = columns.shapes[saddle.theta > KEPT * saddle.theta.max()]
        start = _sets(cone, *drawn, used)
        begin = Begin(most=int(ADDED * room))
        average = optimize_average(
            contrasts, cone, hints, gap=gap / 2, deadline=deadline, start=start, begin=begin
        )
        proof = average if average.bound > proof.bound else proof
        if gap_of(proof.bound, best[1]) <= gap:
            break
        often = average.columns.shapes[np.argsort(-average.q)[:room]]
        columns = _sets(cone, units, often, used)
    assert best is not None
    return replace(best[0], rounds=rounds), best[1], proof


def _saddle(
    gram: Float,
    columns: Columns,
    r: Float,
    gap: float,
    deadline: Deadline,
    best: tuple[Optimum, float] | None,
) -> tuple[MinimaxDesign, tuple[Optimum, float]]:
    """The saddle point on some columns, from weights ``r``, (n,), and the better one of its design
    and the best one so far, each with its largest variance.
    """
    n = len(r)
    start = 0.9 * r + 0.1 / n  # away from the boundary
    least = least_weight(n, gap)
    saddle = solve_minimax(gram, columns, None, start, gap=gap / 10, least=least, deadline=deadline)
    now = minimax_optimum(gram, columns, saddle, used=USED)
    return saddle, now if best is None or now[1] < best[1] else best


def _pool(
    cone: Staircases, average: Optimum, candidates: Float | None, deadline: Deadline
) -> Columns:
    """Columns of the average design, the candidates, and single answers, with which every direction
    is estimable.
    """
    often = np.argsort(-average.q)[: int((average.q > RARE / len(average.q)).sum())]
    if deadline.left is not None:
        most = int((deadline.left / (STEPS * SECONDS)) ** (1 / 3))
        often = often[: max(most - cone.n, cone.n)]
        candidates = (
            None if candidates is None else candidates[: max(most - cone.n - len(often), 0)]
        )
    shapes = [average.columns.shapes[often], np.eye(cone.n)]
    return _sets(cone, *shapes, *([] if candidates is None else [candidates]))


def _sets(cone: Staircases, *shapes: Float) -> Columns:
    """The columns of distinct sets."""
    return cone.columns(np.unique(np.vstack(shapes), axis=0))


def _symmetric(contrasts: Contrasts, cone: Staircases, r: Float, hints: Sequence[Int]) -> Float:
    """Positive weights, averaged over the symmetries of the workload."""
    n = len(r)
    plain = replace(contrasts, weights=np.full(n, 1.0 / n))
    r = np.mean([r[order] for order in symmetry_group(plain, hints, cone)], axis=0)
    r = np.maximum(r / r.sum(), LEAST / n)
    return np.asarray(r / r.sum())
