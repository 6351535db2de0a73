"""The common part of the interior-point methods: Mehrotra's predictor and corrector, Cholesky
factor, main loop.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ldpopt.errors import SolverOptionError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

STEP_TO_BOUNDARY = 0.995  # smallest length of a step as a share of the distance to the boundary
# A step stops short of the boundary by this share, times the share of the products that the
# predictor leaves, or less
STEP_BACKOFF, LEAST_SHARE = 0.03, 1e-4
# Entries of one block of work, so that temporary arrays fit in the processor's cache and need
# little memory
BLOCK = 1 << 15


@dataclass(frozen=True)
class Iterate:
    """A point of the iteration, or a step: arrays of primal and dual variables."""

    PRIMAL: ClassVar[frozenset[str]] = frozenset()  # names of the primal fields
    SLACKS: ClassVar[tuple[str, ...]] = ()  # names of the primal fields that stay positive
    # names of their multipliers, in this order; they stay positive, too
    MULTIPLIERS: ClassVar[tuple[str, ...]] = ()

    @property
    def slacks(self) -> tuple[Float, ...]:
        """Primal variables that stay positive."""
        return tuple(getattr(self, name) for name in self.SLACKS)

    @property
    def multipliers(self) -> tuple[Float, ...]:
        """Multipliers of the slacks, in the same order."""
        return tuple(getattr(self, name) for name in self.MULTIPLIERS)

    @property
    def complementary_pairs(self) -> list[tuple[Float, Float]]:
        """Each array of slacks with its multipliers."""
        return list(zip(self.slacks, self.multipliers, strict=True))

    @property
    def products(self) -> float:
        """Sum of slacks times multipliers."""
        return sum(
            float(np.vdot(slack, multiplier)) for slack, multiplier in self.complementary_pairs
        )

    def moved(self, step: Self, primal: float, dual: float) -> Self:
        """The point after a step with these primal and dual lengths."""
        lengths = {
            field.name: primal if field.name in self.PRIMAL else dual for field in fields(self)
        }
        return type(self)(
            *(
                getattr(self, name) + length * getattr(step, name)
                for name, length in lengths.items()
            )
        )

    def lengths(self, step: Self) -> tuple[float, float]:
        """Longest primal and dual steps, at most 1, that keep slacks and multipliers positive."""
        return longest_step(self.slacks, step.slacks), longest_step(
            self.multipliers, step.multipliers
        )


P = TypeVar("P", bound=Iterate)


class NewtonSystem(ABC, Generic[P]):
    """The linear system of one iteration, factored at the point ``at``."""

    at: P
    # second-order terms would spoil these, and are multiplied by their length
    has_short_steps: ClassVar[bool] = False
    centering: float = 0.0  # smallest target of the products, as a share of their mean

    @abstractmethod
    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> P:
        """Newton step that changes the products of slacks and multipliers by these amounts."""

    def step(self) -> P | None:
        """Predict, correct, and move; None on numerical failure."""
        at = self.at
        count = sum(part.size for part in at.slacks)
        mean = at.products / count
        affine = self.direction(tuple(-x * u for x, u in at.complementary_pairs), refine=False)
        lengths = at.lengths(affine)
        reached = _products_after(at, affine, *lengths) / count
        aim = mean * max((max(reached, 0.0) / mean) ** 3, self.centering)
        second_order = zip(at.complementary_pairs, affine.complementary_pairs, strict=True)
        weight = min(lengths) if self.has_short_steps else 1.0
        aims = tuple(
            np.ascontiguousarray(aim - x * u - weight * dx * du)
            for (x, u), (dx, du) in second_order
        )
        del affine, second_order  # frees large arrays
        return self.moved(self.direction(aims), max(reached / mean, LEAST_SHARE))

    def moved(self, step: P, share: float = 1.0) -> P | None:
        """The point after nearly the longest step from ``at``; None on numerical failure."""
        if not all(bool(np.isfinite(getattr(step, field.name)).all()) for field in fields(step)):
            return None
        primal, dual = self.at.lengths(step)
        length = max(STEP_TO_BOUNDARY, 1 - STEP_BACKOFF * share)
        return self.at.moved(step, min(1.0, length * primal), min(1.0, length * dual))


class Factor:
    """The Cholesky factor of a matrix, which is scaled in place to a unit diagonal; only its lower
    half is read.
    """

    def __init__(self, matrix: Float, ridge: float = 0.0) -> None:
        self.unit = 1 / np.sqrt(np.diag(matrix))
        matrix *= self.unit
        matrix *= self.unit[:, None]
        while True:
            lifted = matrix.copy(order="F")
            lifted[np.diag_indices(len(lifted))] += ridge
            self.lower, failed = dpotrf(lifted, lower=1, overwrite_a=1)
            if not failed or ridge > 1:
                break
            ridge = max(100 * ridge, 1e-15)  # if it fails, a small ridge is added

    def solve(self, right: Float) -> Float:
        """Solve for one right-hand side, or for some that are columns."""
        unit = self.unit if right.ndim == 1 else self.unit[:, None]
        return np.asarray(unit * dpotrs(self.lower, unit * right, lower=1)[0])


@dataclass(frozen=True)
class PathResult(Generic[P]):
    """The best point of an iteration, its relative gap, the number of steps, and whether the
    deadline ended it.
    """

    point: P
    gap: float
    steps: int
    timed_out: bool


def follow_path(
    start: P,
    measure: Callable[[P], tuple[float, float]],
    system: Callable[[P], NewtonSystem[P]],
    *,
    gap: float,
    steps: int,
    stalled_steps: int,
    deadline: Deadline,
) -> PathResult[P]:
    """Follow the central path until the gap is reached or no longer improves, or time is over."""
    # measure returns the gap between value and bound at a point, absolute and relative; infinite if
    # it is too large.
    at = start
    best = start
    distance, share = measure(start)
    stale = 0
    longest = 0.0
    for step in range(steps):
        if share <= gap or stale >= stalled_steps:
            return PathResult(best, share, step, False)
        began = time.perf_counter()
        if began + longest >= deadline.moment:  # the next step would end after the deadline
            return PathResult(best, share, step, True)
        try:
            moved = system(at).step()
        except np.linalg.LinAlgError:  # singular in floats: the best point so far is the answer
            moved = None
        longest = max(longest, time.perf_counter() - began)
        if moved is None:
            return PathResult(best, share, step, False)
        at = moved
        now = measure(moved)
        is_better = now[0] < distance or distance == math.inf
        best, (distance, share), stale = (
            (at, now, 0) if is_better else (best, (distance, share), stale + 1)
        )
    return PathResult(best, share, steps, False)


def check_options(options: dict[str, Any]) -> None:
    """Refuse options of a solver other than a positive ``gap`` and a number of ``steps``."""
    for name, value in options.items():
        if name not in ("gap", "steps"):
            raise SolverOptionError(
                f"the interior point has no option {name!r}",
                code="unknown-option",
                do="its options are gap and steps",
            )
        if not isinstance(value, float if name == "gap" else int) or not value > 0:
            do = "gap is a positive float, steps a positive integer"
            raise SolverOptionError(f"{name} = {value!r} is not valid", code="option-value", do=do)


def longest_step(arrays: tuple[Float, ...], steps: tuple[Float, ...]) -> float:
    """Longest step, at most 1, that keeps all arrays positive."""
    steepest = 1.0
    for array, step in zip(arrays, steps, strict=True):
        for x, dx in _blocks(array, step):
            steepest = max(steepest, -float((dx / x).min()))
    return 1.0 / steepest


def _blocks(*arrays: Float) -> Iterator[tuple[Float, ...]]:
    """Views of arrays of the same shape, in flat blocks."""
    flat = [array.reshape(-1) for array in arrays]
    for begin in range(0, flat[0].size, BLOCK):
        yield tuple(array[begin : begin + BLOCK] for array in flat)


def _products_after(at: Iterate, step: Iterate, primal: float, dual: float) -> float:
    """Sum of slacks times multipliers after a step with these lengths."""
    total = 0.0
    for numbers in zip(at.slacks, at.multipliers, step.slacks, step.multipliers, strict=True):
        for x, u, dx, du in _blocks(*numbers):
            total += float(((x + primal * dx) * (u + dual * du)).sum())
    return total
