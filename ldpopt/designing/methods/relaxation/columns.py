r"""Designs for many answers: the bound first, then sets drawn from its moments until the value is
near it.

The relaxation (`program`) gives a bound, multipliers that price every set, and for every two
answers the share of the sets that have both. Near the optimum very many sets cost next to the most
that the bound allows, and no search lists them; but sets drawn with these shares are among them.
One round:

(1) The average master is solved on the columns so far, by first-order steps.
(2) The best design so far is kept with all its images. The search ends at the gap, at the time
    limit, or if some rounds have gained little: then the bound is perhaps not tight.
(3) Sets of the design are drawn with their probabilities, and each is replaced by its costliest
    neighbor: one answer is exchanged, late in a search of few answers two. Prices are those of the
    bound, with a small share of those of the columns so far. Without that mixture, the loop of
    `column_generation` takes 35 s in place of 10 s for a prefix workload of 40 answers and a gap
    of 8e-6.
(4) The likeliest columns are kept, the costliest new ones are added with a small probability, and
    the master starts from there.

Sets are drawn as thresholds of normal variables, with correlations by the arcsine law.

The average master takes first-order steps, cheap for tens of thousands of columns. With ``q = w^2 /
|w|^2`` the only constraint is the center. Its multipliers are updated a few times; L-BFGS minimises

.. math:: \log \operatorname{tr}(G M^{-1}) + \lambda \cdot c + \tfrac{\rho}{2} |c|^2,
          \quad M = \sum_A q_A g_A g_A^T, \quad c = \sum_A q_A g_A .

The remaining center is removed by a factor near 1 for each column.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from ldpopt.designing import symmetry
from ldpopt.designing.column_generation import UNUSED, Optimum
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.methods.relaxation.program import LEAST_GAP, descend, relax
from ldpopt.designing.private_columns import Dual, Price, Staircases, neighbors
from ldpopt.designing.symmetry import Blocks
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import Columns

SINGULAR = 1e9  # logarithm of the objective if the information is singular


@dataclass(frozen=True)
class RelaxationLimits:
    """Thresholds of the search.

    Those of columns, steps and few answers were chosen by runs on prefix sums of 33 to 64 answers
    (docs/measurements/estimation.md); ``benchmarks/designs.py gaps`` compares the gaps of two
    states of the library. Those of seconds were measured by ``benchmarks/designs.py limits``.
    Shares are of the gap aimed at unless said otherwise.
    """

    # columns, in multiples of the dimension of the invariant matrices
    drawn: float = 1.0  # drawn from the moments of the bound at first
    kept: float = 1.2  # kept in a round, the likeliest ones
    added: float = 0.5  # added in a round, the costliest ones
    new_columns_share: float = 0.1  # total probability of the columns of a round, at its start
    singles_share: float = 1e-3  # that of single answers, with which every direction is estimable
    # share of the prices of the columns so far in the prices of new ones, late in a search; the
    # others are those of the bound
    columns_price_share: float = 0.02
    excess: float = 0.3  # of the cost of a new column over the value, for which it is worth adding
    least_share: float = 1e-5  # smallest probability of an answer in a set that is drawn

    # steps of the master
    steps: int = 100  # of L-BFGS for each update of the multipliers of the center
    most_steps: int = 800  # the same at last: they are doubled after a round of little progress
    little_progress: float = 0.8  # a round that leaves more than this share of its gap
    updates: int = 3  # of the multipliers
    curvature: float = 30.0  # of the penalty of the center
    center: float = 1e-4  # over the largest coordinate: small enough to be removed by factors

    # few answers
    paired: int = 64  # most answers of which two are exchanged at once, and whose steps are doubled
    finer: float = 0.1  # tolerance of bound and search for so few answers

    # the end
    rounds: int = 60
    reached: float = 0.95  # share of the gap that the search may use; the rest is for rounding
    end_rounds: int = 3  # the search ends if the gap falls by less than the next factor in so many
    end_progress: float = 0.9
    finishing: float = 2e-8  # seconds of rounding and proof per report and answer squared
    finishing_share: float = 0.3  # of the seconds left: few seconds allow few reports


LIMITS = RelaxationLimits()


@dataclass(frozen=True, eq=False)
class Weighted:
    """A design on given columns."""

    q: Float  # probabilities, with center 0, shape (m,)
    value: float  # tr(G M^-1)
    price: list[Float]  # M^-1 G M^-1 for each block
    slope: Float  # multipliers of the center, in coordinates of the first block


class FirstOrderMaster:
    """The program on columns with given scores; a ``lift`` adds this share of an equal Gram
    matrix.
    """

    def __init__(self, blocks: Blocks, scores: list[Float], lift: float) -> None:
        total = float(sum(np.trace(gram) for gram in blocks.grams))
        n = sum(len(gram) for gram in blocks.grams)
        self.scores = scores
        self.plain = blocks.grams  # without the lift
        self.grams = [gram + lift * total / n * np.eye(len(gram)) for gram in blocks.grams]
        self.fixed = scores[0] if blocks.has_fixed else np.zeros((len(scores[0]), 0))
        self.unit = max(float(np.abs(self.fixed).max(initial=0.0)), 1e-300)
        self.multipliers = np.zeros(self.fixed.shape[1])

    def solve(
        self, q: Float, slope: Float | None, tolerance: float, steps: int, deadline: Deadline
    ) -> Weighted:
        """Minimize from given probabilities and multipliers."""
        options = {
            "maxiter": steps,
            "maxfun": 2 * steps,
            "maxcor": 30,
            "ftol": tolerance,
            "gtol": 1e-12,
        }
        root = np.sqrt(q)
        value, price = self.objective(q, self.grams)
        if slope is not None:
            self.multipliers = slope * self.unit / value
        for _ in range(LIMITS.updates):
            root, _ = descend(self._evaluate, root, options, deadline)
            root = root / np.linalg.norm(root)
            center = (root**2) @ self.fixed / self.unit
            self.multipliers = self.multipliers + LIMITS.curvature * center
            if np.abs(center).max(initial=0.0) <= LIMITS.center or deadline.is_over:
                break
        q = self.centered(root**2)
        value, price = self.objective(q, self.grams)
        return Weighted(
            q, self.objective(q, self.plain)[0], price, self.multipliers / self.unit * value
        )

    def centered(self, q: Float) -> Float:
        """Probabilities times factors near 1, with which the center is 0."""
        rows = np.column_stack([np.ones(len(q)), self.fixed])
        for _ in range(3):
            change = (
                rows
                @ np.linalg.lstsq(
                    (rows.T * q) @ rows, np.eye(rows.shape[1])[0] - q @ rows, rcond=1e-13
                )[0]
            )
            q = q * np.maximum(1 + change, 0.1)
        return np.asarray(q / q.sum())

    def objective(self, q: Float, grams: list[Float]) -> tuple[float, list[Float]]:
        """``tr(G M^-1)`` and the blocks of ``M^-1 G M^-1``."""
        value = 0.0
        price = []
        for scores, gram in zip(self.scores, grams, strict=True):
            inverse = np.linalg.inv((scores.T * q) @ scores)
            value += float(np.sum(inverse * gram))
            price.append(inverse @ gram @ inverse)
        return value, price

    def costs(self, price: list[Float]) -> Float:
        """``g N g`` of every column."""
        parts = [
            np.einsum("ad,ad->a", scores @ form, scores)
            for scores, form in zip(self.scores, price, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0))

    def _evaluate(self, root: Float) -> tuple[float, Float]:
        """The augmented Lagrangian of a center ``c = 0`` at ``q = root^2 / |root|^2``, ``ln tr(G
        M^-1) + multipliers.c + curvature / 2 |c|^2``, and its gradient.
        """
        total = float(root @ root)
        q = root**2 / total
        value, price = self.objective(q, self.grams)
        if not value > 0:  # the information is singular up to rounding: far too long a step
            return SINGULAR, np.zeros_like(root)
        center = q @ self.fixed / self.unit
        by_center = self.multipliers + LIMITS.curvature * center
        gradient = self.fixed @ (by_center / self.unit) - self.costs(price) / value
        gradient = 2 * root / total * (gradient - q @ gradient)
        return float(
            np.log(value) + self.multipliers @ center + LIMITS.curvature / 2 * (center @ center)
        ), gradient


@dataclass(frozen=True, eq=False)
class _Task:
    """Data shared by all rounds."""

    contrasts: Contrasts
    cone: Staircases
    permutations: symmetry.Permutations
    blocks: symmetry.Blocks
    dual: Dual
    room: int
    gap: float
    deadline: Deadline
    rng: np.random.Generator


def relaxed_average(
    contrasts: Contrasts,
    cone: Staircases,
    hints: Sequence[Int] = (),
    *,
    gap: float = 1e-3,
    deadline: Deadline,
    candidates: Float | None = None,
) -> Optimum:
    """Design for the average over many answers; ``candidates`` are sets, shape ``(c, n)``."""
    n = len(contrasts.weights)
    task, shares = _relaxed_task(contrasts, cone, hints, gap, deadline)
    columns, q = _first(task, shares, candidates)
    slope = None
    best: Optimum | None = None
    history: list[float] = []
    end = ""
    steps = LIMITS.steps
    for number in range(1, LIMITS.rounds + 1):
        master = FirstOrderMaster(task.blocks, task.blocks.scores(columns), 1e-3 * task.gap**2)
        result = master.solve(q, slope, min(1e-7, task.gap * 1e-4), steps, task.deadline)
        if best is None or result.value < best.value:
            best = _with_images(task, columns, result, number)
        history.append((best.value - task.dual.bound) / (best.value - contrasts.spread))
        end = _reason_to_end(history, gap, task.deadline)
        if end:
            break
        # Few answers are worth more steps; for many, a round takes too long then.
        has_gained = len(history) < 2 or history[-1] <= LIMITS.little_progress * history[-2]
        if n <= LIMITS.paired and not has_gained:
            steps = min(2 * steps, LIMITS.most_steps)
        fresh = _fresh(task, columns, result, late=steps > LIMITS.steps)
        slope = result.slope
        columns, q = _renewed(task, columns, result.q, fresh)
    assert best is not None
    sets = (
        f"{len(best.columns)} sets, drawn from the moments of the bound and improved step by step"
    )
    end = end or f"ended after {LIMITS.rounds} rounds"
    return replace(best, rounds=number, notes=(sets, end))


def _relaxed_task(
    contrasts: Contrasts, cone: Staircases, hints: Sequence[Int], gap: float, deadline: Deadline
) -> tuple[_Task, Float]:
    """The data of all rounds, with the bound; and the shares of pairs of answers in its sets."""
    permutations = symmetry.involutions(symmetry.symmetry_group(contrasts, hints, cone))
    images = len(permutations)
    n = len(contrasts.weights)
    room = max(n * (n + 1) // 2 // images, n)
    if deadline.left is not None:
        reports = LIMITS.finishing_share * deadline.left / (LIMITS.finishing * n**2)
        room = min(room, max(int(reports / images), n))
        reserve = room * images * LIMITS.finishing * n**2
        deadline = deadline.before(min(reserve, 2 * LIMITS.finishing_share * deadline.left))
    blocks = symmetry.Blocks(contrasts, permutations, cone.spread)
    # A search with tolerances near the gap ends before the gap.
    aim = gap * (LIMITS.finer if n <= LIMITS.paired else 1.0)
    dual, shares = relax(contrasts, cone, aim, deadline)
    # The gap is one of the variance, which is the objective less the spread.
    objective_gap = max(aim * (1 - contrasts.spread / dual.bound), LEAST_GAP)
    rng = np.random.default_rng(0)
    task = _Task(contrasts, cone, permutations, blocks, dual, room, objective_gap, deadline, rng)
    return task, shares


def _with_images(task: _Task, columns: Columns, result: Weighted, rounds: int) -> Optimum:
    """The design of the master with all images of its columns, and the multipliers of the bound."""
    used = result.q > UNUSED
    shapes, q = symmetry.all_images(columns.shapes[used], result.q[used], task.permutations)
    return Optimum(
        task.contrasts, task.cone.columns(shapes), q / q.sum(), result.value, task.dual, rounds
    )


def _first(task: _Task, shares: Float, candidates: Float | None) -> tuple[Columns, Float]:
    """Sets drawn from the moments, sets of one answer, and candidates."""
    drawn = [draw(shares, int(LIMITS.drawn * task.room), task.rng)]
    if candidates is not None:
        drawn += [candidates, 1 - candidates]
    singles = symmetry.representatives(np.eye(len(task.contrasts.weights)), task.permutations)
    shapes = np.unique(np.vstack(drawn).astype(np.float64), axis=0)
    columns = task.cone.columns(
        symmetry.representatives(np.vstack([singles, shapes]), task.permutations)
    )
    q = np.where(
        columns.shapes.sum(axis=1) == 1, LIMITS.singles_share / len(columns), 1 / len(columns)
    )
    return columns, q / q.sum()


def _reason_to_end(history: Sequence[float], gap: float, deadline: Deadline) -> str:
    """Why the rounds end after these gaps, in words; empty if they go on."""
    if history[-1] <= LIMITS.reached * gap:
        return "ended at the gap aimed at"
    if deadline.is_over:
        return "ended at the time limit"
    if (
        len(history) > LIMITS.end_rounds
        and history[-1] > LIMITS.end_progress * history[-1 - LIMITS.end_rounds]
    ):
        return (
            f"ended because {LIMITS.end_rounds} rounds gained little: perhaps the bound is not "
            "tight"
        )
    return ""


def _fresh(task: _Task, columns: Columns, result: Weighted, *, late: bool) -> Float:
    """Neighbors of sets drawn with their probabilities, the costliest at the prices of the columns
    first.
    """
    form = task.blocks.over_answers(result.price)
    line = task.blocks.line_over_answers(result.slope)
    price = Price(form, line, task.contrasts.weights)
    bounding = task.dual.price(task.contrasts.centered)
    mixture = LIMITS.columns_price_share if late else 1.0
    scale = (1 - mixture) * (task.dual.value / task.dual.largest) ** 2
    mixed = replace(
        price,
        form=mixture * form + scale * bounding.form,
        slope=mixture * line + scale * bounding.slope,
    )
    allowed = mixture * result.value + scale * task.dual.largest
    parents = columns.shapes[task.rng.choice(len(columns), 2 * task.room, p=result.q)]
    moved = task.permutations[task.rng.integers(len(task.permutations), size=len(parents))]
    # At an optimum over few columns the prices are reliable only near the columns in use: only
    # neighbors are priced.
    parents = np.take_along_axis(parents, moved, axis=1)
    shapes = neighbors(mixed, allowed, parents, task.cone.base, task.cone.spread, pairs=late)
    shapes = symmetry.new_representatives(shapes, columns, task.permutations)
    costs = price.costs(task.cone.columns(shapes))
    order = np.argsort(-costs)[: int(LIMITS.added * task.room)]
    return np.asarray(shapes[order[costs[order] > result.value * (1 + LIMITS.excess * task.gap)]])


def _renewed(task: _Task, columns: Columns, q: Float, fresh: Float) -> tuple[Columns, Float]:
    """The columns with the largest probabilities and the new ones, with probabilities for a
    start.
    """
    kept = np.where(columns.shapes.sum(axis=1) == 1, np.inf, q)
    places = np.argsort(-kept)[: int(LIMITS.kept * task.room)]
    places = places[kept[places] > 3e-3 / len(q)]
    likely = np.maximum(q[places], LIMITS.singles_share / len(q))
    start = np.concatenate(
        [
            (1 - LIMITS.new_columns_share) * likely / likely.sum(),
            np.full(len(fresh), LIMITS.new_columns_share / max(len(fresh), 1)),
        ]
    )
    return columns.take(places).with_more(fresh), start / start.sum()


def draw(shares: Float, count: int, rng: np.random.Generator) -> Float:
    """Draw sets, shape ``(count, n)``, from shares of pairs of answers, shape ``(n, n)``."""
    n = len(shares)
    single = np.clip(np.diag(shares), LIMITS.least_share, 1 - LIMITS.least_share)
    scale = np.sqrt(single * (1 - single))
    # For shares of one half the signs of normal variables with these correlations have the shares
    # exactly.
    normal = np.sin(
        np.pi / 2 * np.clip((shares - np.outer(single, single)) / np.outer(scale, scale), -1, 1)
    )
    normal[np.diag_indices(n)] = 1.0
    centering = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(centering @ normal @ centering)
    factor = vectors * np.sqrt(np.maximum(values, 1e-6))
    factor /= np.linalg.norm(factor, axis=1, keepdims=True)
    scores = rng.standard_normal((count, n)) @ factor.T + ndtri(single)
    # Random rounding has a variance of its own, about a fifth.
    spread = np.sqrt(max(float(shares.sum() - np.trace(shares) ** 2) - 0.2, 0.0))
    sizes = np.floor(single.sum() + spread * rng.standard_normal(count) + rng.random(count))
    sizes = np.clip(sizes, 1, n - 1).astype(np.int64)
    return np.asarray(
        scores >= np.sort(scores, axis=1)[np.arange(count), n - sizes][:, None], dtype=np.float64
    )
