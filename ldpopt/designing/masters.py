"""Shared parts of the two masters: the inverse of an information matrix, and Newton steps with curved prices."""

from abc import abstractmethod
from typing import Self, TypeVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dtrtri

from ldpopt.foundation.numbers import Float
from ldpopt.solving.interior.path_following import NewtonSystem, Point

STALLED = 20  # steps without a smaller gap before the iteration ends
# Dual residual, as a share of the products: above, a step only restores dual feasibility; below, the prices are nearly
# straight
CURVED, STRAIGHT = 0.3, 1e-3
# Least share of the mean product that a step aims at, if prices are nearly straight and if not
CENTERING = (1e-3, 0.03)
# Singular value of a design, relative to the largest, below which a direction counts as without information
LEAST = 1e-10
NEEDED = 1e-8  # share of a workload in such directions above which the workload needs them
FINEST = 1e-15  # least variance relative to the value that floats can resolve
P = TypeVar("P", bound=Point)


class CurvedPoint(Point):
    """A point whose primal and dual variables move by the same length, as in programs whose prices are not linear."""

    def lengths(self, step: Self) -> tuple[float, float]:
        """The shorter one of the primal and the dual length, for both."""
        both = min(super().lengths(step))
        return both, both


class CurvedSystem(NewtonSystem[P]):
    """Newton steps of a program whose prices are not linear."""

    corrections: int = 0

    @abstractmethod
    def residual(self) -> float:
        """Dual residual: sum of slacks times the distances of their multipliers from the reduced prices."""

    def step(self) -> P | None:
        """Restore dual feasibility first if it is poor; else predict and correct."""
        at, share = self.at, self.residual() / self.at.products
        if share > CURVED:
            mean = at.products / sum(part.size for part in at.slacks)
            return self.moved(self.direction(tuple(mean - x * u for x, u in at.complementary_pairs)))
        self.centering = CENTERING[share > STRAIGHT]
        return super().step()


def half_inverse(rows: Float, weights: Float, gram: Float) -> Float:
    """``R`` with ``R R^T`` the inverse of ``rows^T diag(weights) rows``, which is not formed: that would lose digits.

    The pseudo-inverse if some direction has no information. But if the workload, of this Gram matrix, needs that
    direction, it gets the least information that floats can resolve, so that the value is huge.
    """
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
    """Errors of equations: the larger of their size and of their effect on the variance by their multipliers."""
    errors = np.abs(short)
    return max(float(errors @ np.abs(dual)) / variance, float(errors.max()))
