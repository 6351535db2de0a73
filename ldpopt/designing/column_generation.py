"""Column generation: solve a master program on some columns, price all others, add the costliest
ones.

One loop for both masters, `average` and `worst_case`. Gaps are those of the variance: the value
less the spread.
"""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dtrtri

from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import Cone, Dual, Price, Priced
from ldpopt.designing.symmetry import Permutations, new_representatives
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.rays import Columns
from ldpopt.solving.interior.path_following import Iterate, NewtonSystem, follow_path

ROUNDS = 120  # limit on rounds of pricing
UNUSED = 1e-13  # probability below which a column is left out of the mechanism
FINEST = 1e-12  # gap that floats can reach, relative to the value
FIRST, FOUND = 0.03, 1e-3  # gap of the first master, if the first columns are those of a design
# time that is kept for the proof in integers, in multiples of the quickest pricing of all columns
PROOF = 80.0
FEWER = 0.5  # gap of the next master, in multiples of the gap that pricing found
STALLED = 20  # steps without a smaller gap before the iteration ends
# Dual residual, as a share of the products: above, a step only restores dual feasibility; below,
# the prices are nearly straight
CURVED, STRAIGHT = 0.3, 1e-3
# least share of the mean product that a step aims at, if prices are straight and if not
CENTERING = (1e-3, 0.03)
# singular value of a design, relative to the largest, below which a direction has no information
LEAST = 1e-10
NEEDED = 1e-8  # share of a workload in such directions above which the workload needs them
RESOLVED = 1e-15  # least variance relative to the value that floats can resolve
P = TypeVar("P", bound=Iterate)


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best design found, in the coordinates of its `Contrasts`."""

    contrasts: Contrasts
    columns: Columns  # those with positive probability, with all their images
    q: Float  # probabilities of the columns
    value: float  # tr(W_c I^-1 W_c^T)
    dual: Dual  # multipliers of a bound, which holds if all columns were priced
    rounds: int = 0  # of pricing
    notes: tuple[str, ...] = ()

    @property
    def bound(self) -> float:
        """Lower bound on the variance for the weights, and so on the largest variance."""
        return self.dual.bound - self.contrasts.spread


@dataclass(frozen=True, eq=False)
class Solved:
    """Result of a master on its columns."""

    x: Float  # multiples of the columns, in the master's own unit: the next start
    r: Float  # weights of the answers
    price: Price  # of every column
    gap: float  # relative, on these columns
    off: float  # error of the equations
    # the design with all images, and multipliers with the largest cost of these columns
    optimum: Optimum
    variance: float  # its average variance, or the largest


class Master(Protocol):
    """A program on some of the columns, with the symmetries of the problem; ``room`` columns are
    enough for it.
    """

    symmetries: Permutations
    room: int

    def solve(
        self, columns: Columns, x: Float | None, r: Float, gap: float, deadline: Deadline
    ) -> Solved:
        """Find the best design on the columns up to a relative gap, starting from ``x`` and
        ``r``.
        """
        ...


def gap_of(bound: float, value: float) -> float:
    """Relative gap; 0 if the value is 0 up to rounding, because then no bound is better than 0."""
    return 1 - bound / value if value > 0 else 0.0


def generate_columns(
    master: Master,
    cone: Cone,
    columns: Columns,
    r: Float,
    *,
    gap: float,
    deadline: Deadline,
    first: float = FIRST,
) -> tuple[Optimum, float]:
    """Add columns until the gap of the variance is closed; the best design with the best
    multipliers, its variance.
    """
    n = len(r)
    x = None
    target = first
    rounds = 0
    quickest = np.inf
    best: tuple[Optimum, float] | None = None
    proof: Optimum | None = None
    off = np.inf
    while True:
        rounds += 1
        solved = master.solve(
            columns, x, r, target, deadline.before(PROOF * quickest if rounds > 1 else 0.0)
        )
        began = time.perf_counter()
        dual = solved.optimum.dual
        most = max(60, 2 * n, master.room // 2)
        priced = cone.price(solved.price, dual.value * (1 + target / 4), columns, most)
        quickest = min(quickest, time.perf_counter() - began)
        # Many sets are priced once more, if a local search finds none, and proved.
        stop = deadline.before((1 + PROOF) * quickest + 2 * cone.listing_seconds)
        now = replace(solved.optimum, dual=replace(dual, largest=max(priced.largest, dual.value)))
        if best is None or off > gap / 4 or solved.variance < best[1]:
            best = (now, solved.variance)
            off = solved.off
        proof, shapes = _stabilized(cone, proof, now, columns, priced, stop)
        least = max(gap, FINEST * (1 + best[0].contrasts.spread / max(best[1], 1e-300)))
        is_over = rounds == ROUNDS or stop.is_over
        if max(gap_of(proof.bound, best[1]), off) <= least or is_over:
            costlier = cone.costlier(
                proof.dual.price(proof.contrasts.centered), proof.dual.largest, most
            )
            if not len(costlier):
                break
            proof = replace(proof, dual=replace(proof.dual, largest=np.inf))
            if is_over:
                break
            shapes = np.vstack([shapes, costlier])
        fresh = new_representatives(shapes, columns, master.symmetries)
        if not len(fresh) and target <= least / 4:
            if len(
                cone.costlier(proof.dual.price(proof.contrasts.centered), proof.dual.largest, most)
            ):
                proof = replace(proof, dual=replace(proof.dual, largest=np.inf))
            break
        target = max(
            min(FEWER * gap_of(now.bound, solved.variance), target if len(fresh) else target / 3),
            least / 4,
        )
        kept = _kept(columns, solved, master.room)
        columns = columns.take(kept).with_more(fresh)
        x = np.concatenate([solved.x[kept], np.zeros(len(fresh))])
        x, r = 0.7 * x + 0.3 * x.sum() / len(x), 0.9 * solved.r + 0.1 / n
    return replace(best[0], dual=proof.dual, rounds=rounds), best[1]


def _stabilized(
    cone: Cone,
    best: Optimum | None,
    now: Optimum,
    columns: Columns,
    priced: Priced,
    deadline: Deadline,
) -> tuple[Optimum, Float]:
    """Stabilized pricing: if the new bound is lower than the best one, price at the mean of both
    multipliers too.
    """
    if best is None or now.bound >= best.bound:
        return now, priced.shapes
    if now.contrasts is not best.contrasts or deadline.is_over:
        return best, priced.shapes
    mixed = best.dual.mean(now.dual)
    found = cone.price(
        mixed.price(now.contrasts.centered), mixed.value, columns, max(60, len(priced.shapes))
    )
    mixed = replace(mixed, largest=found.largest)
    shapes = np.unique(np.vstack([priced.shapes, found.shapes]), axis=0)
    return (replace(now, dual=mixed) if mixed.bound > best.dual.bound else best), shapes


def _kept(columns: Columns, solved: Solved, room: int) -> Int:
    """Places of the columns that are used or cost nearly as much, and of single answers and their
    complements.
    """
    costs = solved.price.costs(columns)
    short = 1 - costs / costs.max()
    size = columns.shapes.sum(axis=1)
    # With single answers and their complements, every direction is estimable.
    useful = (size == 1) | (size == columns.shapes.shape[1] - 1)
    useful |= (short < 10 * max(solved.gap, 1e-9)) | (
        solved.x > 1e-6 * solved.x.sum() / len(columns)
    )
    if len(columns) <= room:
        useful |= short < 0.1
    return np.flatnonzero(useful)


class CurvedPoint(Iterate):
    """A point whose primal and dual variables move by the same length, as in programs whose prices
    are not linear.
    """

    def lengths(self, step: Self) -> tuple[float, float]:
        """The shorter one of the primal and the dual length, for both."""
        both = min(super().lengths(step))
        return both, both


class CurvedSystem(NewtonSystem[P]):
    """Newton steps of a program whose prices are not linear."""

    @abstractmethod
    def residual(self) -> float:
        """Dual residual: sum of slacks times the distances of their multipliers from the reduced
        prices.
        """

    def step(self) -> P | None:
        """Restore dual feasibility first if it is poor; else predict and correct."""
        at = self.at
        share = self.residual() / self.at.products
        if share > CURVED:
            mean = at.products / sum(part.size for part in at.slacks)
            return self.moved(
                self.direction(tuple(mean - x * u for x, u in at.complementary_pairs))
            )
        self.centering = CENTERING[share > STRAIGHT]
        return super().step()


def follow(
    start: P,
    gap_at: Callable[[P], float],
    system: Callable[[P], NewtonSystem[P]],
    steps: tuple[int, int],
    **how: Any,
) -> P:
    """The best point on the central path by its relative gap; ``steps`` are at most, and without a
    smaller gap.
    """
    limits: Any = {"steps": steps[0], "stalled_steps": steps[1]}
    return follow_path(start, lambda point: (gap_at(point),) * 2, system, **limits, **how).point


def half_inverse(rows: Float, weights: Float, gram: Float) -> Float:
    """``R`` with ``R R^T`` the (pseudo-)inverse of ``rows^T diag(weights) rows``, which is not
    formed.
    """
    # A direction without information that the workload, of this Gram matrix, needs gets the least
    # that floats resolve.
    root = np.sqrt(weights)[:, None] * rows
    size = np.linalg.norm(root, axis=0)
    if not np.isfinite(size).all():
        raise LinAlgError("information is not finite")
    size[size == 0] = 1.0
    if len(root) >= len(size):
        factor = np.linalg.qr(root / size, mode="r")
        if np.abs(np.diag(factor)).min() > LEAST:
            return np.asarray(dtrtri(factor)[0] / size[:, None])
    _, sizes, turned = np.linalg.svd(root / size)
    sizes = np.append(sizes, np.zeros(len(turned) - len(sizes)))
    kept = np.flatnonzero(sizes > LEAST * sizes[0])
    needed = np.abs(np.diag(turned @ (gram / size / size[:, None]) @ turned.T))
    if needed.sum() - needed[kept].sum() > NEEDED * needed.sum():
        return np.asarray(turned.T / np.maximum(sizes, LEAST * sizes[0]) / size[:, None])
    half = np.zeros_like(turned)
    half[:, kept] = turned[kept].T / sizes[kept]
    return np.asarray(half / size[:, None])


def relative_error(short: Float, dual: Float, variance: float) -> float:
    """Errors of equations: the larger of their size and of their effect on the variance by their
    multipliers.
    """
    errors = np.abs(short)
    return max(float(errors @ np.abs(dual)) / variance, float(errors.max()))
