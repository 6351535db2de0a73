r"""Designs for many answers: the bound first, then sets drawn from its moments until the value is
near it.

Each round keeps the likeliest columns, and adds neighbors of sets drawn with their probabilities.
Near the optimum very many sets cost next to the most that the bound allows. The new ones are among
these, as their prices are those of the bound with a small share of those of the columns so far; the
loop of `column_generation`, without that share, takes 35 s in place of 10 s for a prefix workload
of 40 answers and a gap of 8e-6. Sets are drawn as thresholds of normal variables, with correlations
by the arcsine law.

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
from ldpopt.privacy.cones.rays import Columns

# Limit on steps of L-BFGS for each update of the multipliers, at first and at last: it is doubled
# after a round that leaves more than this share of the gap
MASTER_STEPS, MOST_STEPS, GAINED = 100, 800, 0.8
SINGULAR = 1e9  # logarithm of the objective if the information is singular
TRIES = 3  # limit on updates of the multipliers
CURVATURE = 30.0  # curvature of the penalty of the center
# center, relative to the largest coordinate of a column, that is small enough to be removed
CENTERED = 1e-4
ROUNDS = 60  # limit on rounds
# Columns drawn at first, kept and added in a round, in multiples of the dimension of the invariant
# matrices
DRAWN, KEPT, ADDED = 1.0, 1.2, 0.5
FINISHING = 2e-8  # seconds of rounding and proof per report and square of the number of answers
SHARE = 0.3  # share of the seconds left that is kept for them: few seconds allow few reports
# total share of the single answers at first, with which every direction is estimable
SINGLES = 1e-3
# largest number of answers for which steps are doubled and two answers are exchanged, after such
# rounds
PAIRED = 64
FINER = 0.1  # tolerances of the bound and of the search for so few answers, in multiples of the gap
# share of the prices of the columns so far in those of such new columns; the rest are those of the
# bound
OWN = 0.02
FRESH = 0.1  # total probability of the new columns at the start of a round
# the search ends if the gap falls by less than this factor in so many rounds
STALLED, PROGRESS = 3, 0.9
REACHED = 0.95  # share of the gap aimed at that the search may use; the rest is for rounding
# relative excess of the cost of a new column over the value, in multiples of the gap aimed at
WORTH = 0.3
LEAST = 1e-5  # smallest share of an answer that is not rounded up


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
        self.scores, self.plain = scores, blocks.grams
        self.grams = [gram + lift * total / n * np.eye(len(gram)) for gram in blocks.grams]
        self.fixed = scores[0] if blocks.has_fixed else np.zeros((len(scores[0]), 0))
        self.unit = max(float(np.abs(self.fixed).max(initial=0.0)), 1e-300)
        self.multipliers = np.zeros(self.fixed.shape[1])

    def solve(
        self, q: Float, slope: Float | None, tolerance: float, steps: int, deadline: Deadline
    ) -> Weighted:
        """Minimize from given probabilities and multipliers."""
        how = {
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
        for _ in range(TRIES):
            root, _ = descend(self._evaluate, root, how, deadline)
            root = root / np.linalg.norm(root)
            center = (root**2) @ self.fixed / self.unit
            self.multipliers = self.multipliers + CURVATURE * center
            if np.abs(center).max(initial=0.0) <= CENTERED or deadline.is_over:
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
        """Objective with the penalty of the center, and its gradient."""
        total = float(root @ root)
        q = root**2 / total
        value, price = self.objective(q, self.grams)
        if not value > 0:  # the information is singular up to rounding: far too long a step
            return SINGULAR, np.zeros_like(root)
        center = q @ self.fixed / self.unit
        by_center = self.multipliers + CURVATURE * center
        gradient = self.fixed @ (by_center / self.unit) - self.costs(price) / value
        gradient = 2 * root / total * (gradient - q @ gradient)
        return float(
            np.log(value) + self.multipliers @ center + CURVATURE / 2 * (center @ center)
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
    permutations = symmetry.involutions(symmetry.symmetry_group(contrasts, hints, cone))
    n = len(contrasts.weights)
    room = max(n * (n + 1) // 2 // len(permutations), n)
    if deadline.left is not None:
        reports = SHARE * deadline.left / (FINISHING * n**2)
        room = min(room, max(int(reports / len(permutations)), n))
        deadline = deadline.before(
            min(room * len(permutations) * FINISHING * n**2, 2 * SHARE * deadline.left)
        )
    blocks = symmetry.Blocks(contrasts, permutations, cone.spread)
    # A search with tolerances near the gap ends before the gap.
    aim = gap * (FINER if n <= PAIRED else 1.0)
    dual, shares = relax(contrasts, cone, aim, deadline)
    # The gap is one of the variance, which is the objective less the spread.
    share = max(aim * (1 - contrasts.spread / dual.bound), LEAST_GAP)
    task = _Task(
        contrasts, cone, permutations, blocks, dual, room, share, deadline, np.random.default_rng(0)
    )
    columns, q = _first(task, shares, candidates)
    slope = None
    best = None
    history = list[float]()
    end = ""
    steps = MASTER_STEPS
    for number in range(1, ROUNDS + 1):
        master = FirstOrderMaster(blocks, blocks.scores(columns), 1e-3 * share**2)
        found = master.solve(q, slope, min(1e-7, share * 1e-4), steps, deadline)
        if best is None or found.value < best.value:
            shapes, q = symmetry.all_images(
                columns.shapes[found.q > UNUSED], found.q[found.q > UNUSED], permutations
            )
            best = Optimum(contrasts, cone.columns(shapes), q / q.sum(), found.value, dual, number)
        history.append((best.value - dual.bound) / (best.value - contrasts.spread))
        end = _reason_to_end(history, gap, deadline)
        if end:
            break
        if n <= PAIRED and len(history) > 1 and history[-1] > GAINED * history[-2]:
            steps = min(2 * steps, MOST_STEPS)
        fresh = _fresh(task, columns, found, late=steps > MASTER_STEPS)
        slope, (columns, q) = found.slope, _renewed(task, columns, found.q, fresh)
    assert best is not None
    sets = (
        f"{len(best.columns)} sets, drawn from the moments of the bound and improved step by step"
    )
    return replace(best, rounds=number, notes=(sets, end or f"ended after {ROUNDS} rounds"))


def _first(task: _Task, shares: Float, candidates: Float | None) -> tuple[Columns, Float]:
    """Sets drawn from the moments, sets of one answer, and candidates."""
    drawn = [draw(shares, int(DRAWN * task.room), task.rng)]
    if candidates is not None:
        drawn += [candidates, 1 - candidates]
    singles = symmetry.representatives(np.eye(len(task.contrasts.weights)), task.permutations)
    shapes = np.unique(np.vstack(drawn).astype(np.float64), axis=0)
    columns = task.cone.columns(
        symmetry.representatives(np.vstack([singles, shapes]), task.permutations)
    )
    q = np.where(columns.shapes.sum(axis=1) == 1, SINGLES / len(columns), 1 / len(columns))
    return columns, q / q.sum()


def _reason_to_end(history: Sequence[float], gap: float, deadline: Deadline) -> str:
    """Why the rounds end after these gaps, in words; empty if they go on."""
    if history[-1] <= REACHED * gap:
        return "ended at the gap aimed at"
    if deadline.is_over:
        return "ended at the time limit"
    if len(history) > STALLED and history[-1] > PROGRESS * history[-1 - STALLED]:
        return f"ended because {STALLED} rounds gained little: perhaps the bound is not tight"
    return ""


def _fresh(task: _Task, columns: Columns, found: Weighted, *, late: bool) -> Float:
    """Neighbors of sets drawn with their probabilities, the costliest at the prices of the columns
    first.
    """
    form = task.blocks.over_answers(found.price)
    line = task.blocks.line_over_answers(found.slope)
    price = Price(form, line, task.contrasts.weights)
    bounding = task.dual.price(task.contrasts.centered)
    own = OWN if late else 1.0
    scale = (1 - own) * (task.dual.value / task.dual.largest) ** 2
    mixed = replace(
        price, form=own * form + scale * bounding.form, slope=own * line + scale * bounding.slope
    )
    allowed = own * found.value + scale * task.dual.largest
    parents = columns.shapes[task.rng.choice(len(columns), 2 * task.room, p=found.q)]
    moved = task.permutations[task.rng.integers(len(task.permutations), size=len(parents))]
    # At an optimum over few columns the prices are reliable only near the columns in use: only
    # neighbors are priced.
    parents = np.take_along_axis(parents, moved, axis=1)
    shapes = neighbors(mixed, allowed, parents, task.cone.base, task.cone.spread, pairs=late)
    shapes = symmetry.new_representatives(shapes, columns, task.permutations)
    costs = price.costs(task.cone.columns(shapes))
    order = np.argsort(-costs)[: int(ADDED * task.room)]
    return np.asarray(shapes[order[costs[order] > found.value * (1 + WORTH * task.gap)]])


def _renewed(task: _Task, columns: Columns, q: Float, fresh: Float) -> tuple[Columns, Float]:
    """The columns with the largest probabilities and the new ones, with probabilities for a
    start.
    """
    kept = np.where(columns.shapes.sum(axis=1) == 1, np.inf, q)
    places = np.argsort(-kept)[: int(KEPT * task.room)]
    places = places[kept[places] > 3e-3 / len(q)]
    own = np.maximum(q[places], SINGLES / len(q))
    start = np.concatenate(
        [(1 - FRESH) * own / own.sum(), np.full(len(fresh), FRESH / max(len(fresh), 1))]
    )
    return columns.take(places).with_more(fresh), start / start.sum()


def draw(shares: Float, count: int, rng: np.random.Generator) -> Float:
    """Draw sets, shape ``(count, n)``, from shares of pairs of answers, shape ``(n, n)``."""
    n = len(shares)
    single = np.clip(np.diag(shares), LEAST, 1 - LEAST)
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
