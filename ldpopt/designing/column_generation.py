"""Column generation: solve a master program on some columns, price all others, add the costliest
ones.

One loop for both masters, `average` and `worst_case`. Gaps are those of the variance: the value
less the spread.
"""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dtrtri

from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import Cone, Dual, Price, Priced
from ldpopt.designing.symmetry import Permutations, new_representatives
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import Columns
from ldpopt.solving.interior.path_following import Iterate, NewtonSystem, follow_path

ROUNDS = 120  # limit on rounds of pricing
# a search is repeated with a steadier master only if its gap is above this multiple of the required
# one: the methods ask for half of what the user asked for
MISSED = 2.0
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
    """A design in floats with the multipliers of a bound, before rounding and proof.

    The design is a probability for each column of the cone. Its channel has a report for each
    column ``v``, with the probabilities ``theta v_x``, where ``theta = q / (r.v)`` turns the
    probability under the weights ``r`` into a multiple. The multipliers may be those of another
    design, because value and bound are improved separately: the gap between them is what counts.
    """

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
class MasterResult:
    """Result of a master on its columns: a design, and multipliers with their prices."""

    x: Float  # multiples of the columns, in the master's own unit: the next start
    r: Float  # weights of the answers
    price: Price  # of every column
    gap: float  # relative, on these columns
    off: float  # error of the equations
    # the design with all images, and multipliers with the largest cost of these columns
    optimum: Optimum
    variance: float  # its average variance, or the largest


class Master(Protocol):
    """A program on some of the columns, with the symmetries of the problem.

    A master knows what is minimised, the average variance or the largest one, and nothing of the
    other columns. It takes columns, a start, and a relative gap; it returns a `MasterResult`, whose
    multipliers price all columns of the cone. ``room`` columns are enough for an optimum, as the
    invariant matrices have this dimension (Caratheodory).
    """

    symmetries: Permutations
    room: int

    def solve(
        self, columns: Columns, x: Float | None, r: Float, gap: float, deadline: Deadline
    ) -> MasterResult:
        """Find the best design on the columns up to a relative gap.

        It starts from the multiples ``x`` of the columns and the weights ``r`` of the answers; None
        for ``x`` means a start of its own.
        """
        ...

    def profile(self, columns: Columns) -> Float | float:
        """Relative sizes of the multiples with which unused columns start; 1 if all are alike."""
        ...

    def steadier(self) -> "Master | None":
        """The same program with a safer, slower iteration; None if there is no safer one."""
        ...


@dataclass(frozen=True)
class Begin:
    """What is known before the first master."""

    first: float = FIRST  # gap of the first master
    most: int = 60  # limit on the new columns of a round, if the master sets no larger one
    bound: float = -np.inf  # a proved bound on the variance of all designs


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
    begin: Begin = Begin(),
) -> tuple[Optimum, float]:
    """The best design of a cone, with the best multipliers, and its variance.

    A round has three parts. (1) The master is solved on the columns so far, up to the gap
    ``target``, which begins with ``begin.first``. (2) Its multipliers price all columns of the
    cone. The largest cost gives a bound for every design,

    .. code-block:: text

        bound = value**2 / largest cost - spread,

    and the costliest columns are new. (3) Unused columns are dropped, the new ones are added, and
    the target is reduced. The search ends if the gap between the least variance and the largest
    bound, which may be of different rounds or known before, is at most ``gap``; if time is over; or
    if there is no new column although the master was asked for a quarter of the gap.

    In the last case the master has lost its way if its gap is still larger than what it was asked
    for. The search is then repeated with its steadier form, and the better of both designs is
    returned with the better of both bounds.
    """
    search = _ColumnGeneration(master, cone, gap, deadline, begin)
    search.run(columns, r, begin.first)
    if search.is_astray and (steadier := master.steadier()) is not None:
        again = _ColumnGeneration(steadier, cone, gap, deadline, begin)
        again.run(columns, r, begin.first)
        search = search.joined_with(again)
    return search.result()


class _ColumnGeneration:
    """The state of `generate_columns`: the best design, the best multipliers, rounds, and times."""

    def __init__(
        self, master: Master, cone: Cone, gap: float, deadline: Deadline, begin: Begin
    ) -> None:
        self.begin = begin
        self.master = master
        self.cone = cone
        self.gap = gap
        self.deadline = deadline
        self.rounds = 0
        self.quickest = np.inf  # seconds of the quickest pricing
        self.best: Optimum | None = None
        self.variance = np.inf  # of the best design
        self.off = np.inf  # error of the equations of the best design
        self.proof: Optimum | None = None  # whose multipliers have the largest bound
        self.is_astray = False  # the last master missed its gap, and so did the search

    def run(self, columns: Columns, r: Float, target: float) -> None:
        """Solve and price in turn, from these columns and weights."""
        n = len(r)
        x = None
        while True:
            self.rounds += 1
            reserve = PROOF * self.quickest if self.rounds > 1 else 0.0
            result = self.master.solve(columns, x, r, target, self.deadline.before(reserve))
            shapes, bound, is_over = self._price(columns, result, target)
            least = self._least_gap
            if max(self._gap, self.off) <= least or is_over:
                costlier = self._costlier(columns)
                if not len(costlier) or is_over:
                    return
                shapes = np.vstack([shapes, costlier])
            fresh = new_representatives(shapes, columns, self.master.symmetries)
            if not len(fresh) and target <= least / 4:
                self._costlier(columns)  # a last attempt at a better bound
                has_missed = max(self._gap, self.off) > MISSED * least
                self.is_astray = result.gap > target and has_missed
                return
            next_target = min(
                FEWER * gap_of(bound, result.variance), target if len(fresh) else target / 3
            )
            target = max(next_target, least / 4)
            kept = _kept(columns, result, self.master.room)
            columns = columns.take(kept).with_more(fresh)
            x = np.concatenate([result.x[kept], np.zeros(len(fresh))])
            # An interior point needs a start away from the boundary, for new columns and weights.
            x = 0.7 * x + 0.3 * x.sum() / len(x) * self.master.profile(columns)
            r = 0.9 * result.r + 0.1 / n

    def result(self) -> tuple[Optimum, float]:
        """The best design with the best multipliers, and its variance."""
        assert self.best is not None
        assert self.proof is not None
        return replace(self.best, dual=self.proof.dual, rounds=self.rounds), self.variance

    def joined_with(self, other: "_ColumnGeneration") -> "_ColumnGeneration":
        """The search with the better design and the better bound of both."""
        assert self.proof is not None
        assert other.proof is not None
        # A small variance means nothing while the equations have an error.
        if (other.off > self.gap / 4, other.variance) < (self.off > self.gap / 4, self.variance):
            self.best = other.best
            self.variance = other.variance
            self.off = other.off
        if other.proof.bound > self.proof.bound:
            self.proof = other.proof
        self.rounds += other.rounds
        return self

    def _price(
        self, columns: Columns, result: MasterResult, target: float
    ) -> tuple[Float, float, bool]:
        """Shapes of costly columns, the bound of this round, and whether time or rounds are over.

        The best design and the best multipliers are renewed.
        """
        began = time.perf_counter()
        dual = result.optimum.dual
        most = self._most(columns)
        priced = self.cone.price(result.price, dual.value * (1 + target / 4), columns, most)
        self.quickest = min(self.quickest, time.perf_counter() - began)
        # Many sets are priced once more, if a local search finds none, and proved.
        stop = self.deadline.before((1 + PROOF) * self.quickest + 2 * self.cone.listing_seconds)
        largest = max(priced.largest, dual.value)
        now = replace(result.optimum, dual=replace(dual, largest=largest))
        if self.best is None or self.off > self.gap / 4 or result.variance < self.variance:
            self.best = now
            self.variance = result.variance
            self.off = result.off
        self.proof, shapes = _stabilized(self.cone, self.proof, now, columns, priced, stop)
        return shapes, now.bound, self.rounds == ROUNDS or stop.is_over

    def _most(self, columns: Columns) -> int:
        """Limit on the new columns of a round."""
        n: int = columns.shapes.shape[1]
        return max(self.begin.most, 2 * n, self.master.room // 2)

    @property
    def _gap(self) -> float:
        """Relative gap between the best design and the best bound."""
        assert self.proof is not None
        return gap_of(max(self.proof.bound, self.begin.bound), self.variance)

    @property
    def _least_gap(self) -> float:
        """The gap aimed at, or the smallest one that floats can reach if that is larger."""
        assert self.best is not None
        spread = self.best.contrasts.spread
        return max(self.gap, FINEST * (1 + spread / max(self.variance, 1e-300)))

    def _costlier(self, columns: Columns) -> Float:
        """Columns above the largest cost of the best multipliers, which have no bound then."""
        proof = self.proof
        assert proof is not None
        price = proof.dual.price(proof.contrasts.centered)
        costlier = self.cone.costlier(price, proof.dual.largest, self._most(columns))
        if len(costlier):
            self.proof = replace(proof, dual=replace(proof.dual, largest=np.inf))
        return costlier


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
    priced_mixed = cone.price(
        mixed.price(now.contrasts.centered), mixed.value, columns, max(60, len(priced.shapes))
    )
    mixed = replace(mixed, largest=priced_mixed.largest)
    shapes = np.unique(np.vstack([priced.shapes, priced_mixed.shapes]), axis=0)
    return (replace(now, dual=mixed) if mixed.bound > best.dual.bound else best), shapes


def _kept(columns: Columns, result: MasterResult, room: int) -> Int:
    """Places of the columns that are used or cost nearly as much, and of single answers and their
    complements.
    """
    costs = result.price.costs(columns)
    short = 1 - costs / costs.max()
    size = columns.shapes.sum(axis=1)
    # With single answers and their complements, every direction is estimable.
    useful = (size == 1) | (size == columns.shapes.shape[1] - 1)
    useful |= short < 10 * max(result.gap, 1e-9)
    useful |= result.x > 1e-6 * result.x.sum() / len(columns)
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
    *,
    gap: float,
    deadline: Deadline,
) -> P:
    """The best point on the central path by its relative gap; ``steps`` are at most, and without a
    smaller gap.
    """
    path = follow_path(
        start,
        lambda point: (gap_at(point),) * 2,
        system,
        gap=gap,
        steps=steps[0],
        stalled_steps=steps[1],
        deadline=deadline,
    )
    return path.point


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
