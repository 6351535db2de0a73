r"""Designs with few reports: at most as many columns as asked for, whatever they are.

With fewer reports than the optimum has, the best columns need not be extreme rays, and the program is not convex. Its
reports are joined to begin with: joining two loses their distance in the prices of the optimum, as in Ward's clusters.
From there and from other clusters the value is brought down. At a point with columns ``(q_y, q_y a_y)``

.. math:: \sum_y q_y a_y a_y^T \succeq \sum_y \big( e_y a_y^{0T} + a_y^0 e_y^T - q_y a_y^0 a_y^{0T} \big),
          \quad e_y = q_y a_y,

with equality there. The right side is linear in ``(q, e)``, so that the value of the left is at most a convex function
of them. Its Newton steps lower the value, between logarithms that keep the columns private.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ldpopt.designing.allowed import Allowed
from ldpopt.designing.column_generation import Optimum
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.fewer_reports import variances
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns

STARTS = 8
"""Clusters that the descent begins with."""

UNNEEDED = 1e-9
"""Weight of the directions that the workload does not need, so that reports tell them all the same."""

INSIDE = 0.05
"""Share of constant columns that is mixed in to begin with."""

APART = 1e-2
"""How far reports are moved at random to begin with, relative to their size."""

WIDE, NARROW = 0.1, 1e-9
"""Weight of all logarithms together, at first and at last, relative to the value."""

STEPS = 40
"""Limit on steps for each weight."""

ROUNDS = 8
"""Weights that are tried for the worst case."""

LARGEST = 1200
"""Most entries of a channel for which the Newton steps are made; beyond, reports are joined only."""


def limited(
    optimum: Optimum, allowed: Allowed, most: int, deadline: Deadline, *, near: Optimum | None = None
) -> Optimum:
    """Design with at most ``most`` reports, no fewer than answers."""
    contrasts = optimum.contrasts
    most = min(most, max(len(contrasts.weights), len(optimum.q)))
    space = _Space.of(contrasts, allowed)
    best: tuple[float, Float] | None = None
    for start in range(STARTS if near is None else 1):
        # Every other start has fewer reports than it may: the best few are sometimes found more easily.
        count = max(len(contrasts.weights), 2 * most // 3) if start % 2 else most
        joined = _clusters(space, optimum, count, start) if near is None else _coordinates(contrasts, near)
        z = _inside(space, joined, max(count, len(joined)), start)
        if most * len(contrasts.weights) <= LARGEST:
            z = _descended(space, z, deadline)
        value = space.value(z)
        if best is None or value < best[0]:
            best = value, z
        if deadline.is_over:
            break
    assert best is not None
    return _written(optimum, best[1])


def limited_for_all(optimum: Optimum, allowed: Allowed, most: int, deadline: Deadline) -> Optimum:
    """Design with at most ``most`` reports for the largest variance: weights grow where the variance is large."""
    gram, r = optimum.contrasts.gram, optimum.contrasts.weights
    share = optimum.q / optimum.columns.mass(r)
    best: tuple[float, Optimum] | None = None
    near: Optimum | None = None
    for _ in range(ROUNDS):
        contrasts = Contrasts(gram, r)
        contrasts = replace(contrasts, unit=float(np.abs(contrasts.atoms(optimum.columns)).max()))
        at = replace(optimum, contrasts=contrasts, q=share * optimum.columns.mass(r))
        made = limited(at, allowed, most, deadline, near=near)
        near, each = made, variances(made)
        if best is None or each.max() < best[0]:
            best = float(each.max()), made
        if deadline.is_over:
            break
        r = r * each / (r @ each)
    assert best is not None
    return best[1]


@dataclass(frozen=True, eq=False)
class _Space:
    """Coordinates ``z = (q, e)`` of columns, ``n`` each, and the ties as rows ``z . row >= 0``."""

    gram: Float
    rows: Float

    @classmethod
    def of(cls, contrasts: Contrasts, allowed: Allowed) -> _Space:
        first, second, nats = allowed.ties
        lift, low, high = contrasts.unit * contrasts.basis, np.exp(-nats), -np.expm1(-nats)
        tied = (lift[second] - low[:, None] * lift[first]) / high[:, None]
        rows = np.vstack([np.column_stack([np.ones(len(tied)), tied]), np.column_stack([np.ones(len(lift)), lift])])
        return cls(contrasts.reduced + UNNEEDED * np.eye(len(contrasts.reduced)), rows)

    def value(self, z: Float) -> float:
        q, e = z[:, 0], z[:, 1:]
        try:
            factor = cho_factor((e.T / q) @ e)
        except LinAlgError:
            return float("inf")
        return float(np.trace(cho_solve(factor, self.gram)))


def _coordinates(contrasts: Contrasts, design: Optimum) -> Float:
    """Columns of a design, perhaps for other weights."""
    q = design.q / design.columns.mass(design.contrasts.weights) * design.columns.mass(contrasts.weights)
    return np.column_stack([q, q[:, None] * contrasts.atoms(design.columns)])


def _clusters(space: _Space, optimum: Optimum, most: int, start: int) -> Float:
    """Reports of the optimum joined into clusters; two starts by Ward's rule, others around random ones."""
    atoms, q = optimum.contrasts.atoms(optimum.columns), optimum.q
    inverse = np.linalg.pinv((atoms.T * q) @ atoms, hermitian=True)
    values, vectors = np.linalg.eigh(inverse @ space.gram @ inverse)
    places = atoms @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    label = _ward(places, q, most) if start < 2 else _around(places, q, most, np.random.default_rng(start))
    z = np.zeros((label.max() + 1, atoms.shape[1] + 1))
    np.add.at(z, label, np.column_stack([q, q[:, None] * atoms]))
    return z


def _inside(space: _Space, z: Float, most: int, start: int) -> Float:
    """So many reports, all ties loose."""
    z = np.vstack([z, np.zeros((most - len(z), z.shape[1]))])
    # Clusters may miss a direction, and empty ones have to move apart.
    spread = np.random.default_rng(start).standard_normal((most, z.shape[1] - 1)) * APART / most
    z[:, 1:] += spread - spread.mean(axis=0)
    constant = np.zeros_like(z)
    constant[:, 0] = 1 / len(z)
    share = INSIDE
    while ((z * (1 - share) + share * constant) @ space.rows.T).min() <= 0:
        share = (1 + share) / 2
    return np.asarray((1 - share) * z + share * constant)


def _ward(places: Float, q: Float, most: int) -> NDArray[np.int64]:
    """Join the two clusters that lose least, until there are few enough."""
    label, q, places = np.arange(len(q)), q.copy(), places.copy()
    alive = np.ones(len(q), dtype=bool)
    square = (places**2).sum(axis=1)
    loss = np.maximum(square + square[:, None] - 2 * places @ places.T, 0) * np.outer(q, q) / (q + q[:, None])
    np.fill_diagonal(loss, np.inf)
    for _ in range(len(q) - most):
        one, other = np.unravel_index(int(loss.argmin()), loss.shape)
        places[one] = (q[one] * places[one] + q[other] * places[other]) / (q[one] + q[other])
        q[one] += q[other]
        alive[other] = False
        label[label == other] = one
        loss[other] = loss[:, other] = np.inf
        fresh = ((places - places[one]) ** 2).sum(axis=1) * q * q[one] / (q + q[one])
        loss[one] = loss[:, one] = np.where(alive, fresh, np.inf)
        loss[one, one] = np.inf
    return np.asarray(np.unique(label, return_inverse=True)[1].ravel())


def _around(places: Float, q: Float, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Clusters around centers that begin as random reports."""
    centers = places[rng.choice(len(q), min(most, len(q)), replace=False, p=q / q.sum())]
    label = np.zeros(len(q), np.int64)
    for _ in range(10):
        label = ((places[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        for k in np.unique(label):
            centers[k] = np.average(places[label == k], axis=0, weights=q[label == k])
    return np.asarray(np.unique(label, return_inverse=True)[1].ravel())


def _descended(space: _Space, z: Float, deadline: Deadline) -> Float:
    """Newton steps of the convex function above the value, with logarithms of shrinking weight."""
    best, weight = z, WIDE
    while weight >= NARROW and not deadline.is_over:
        base = space.value(z)
        level = weight / (len(z) * len(space.rows))
        for _ in range(STEPS):
            moved, gained = _step(space, z, base, level)
            z = moved
            if gained <= 0.01 * weight or deadline.is_over:
                break
        best = z if space.value(z) < space.value(best) else best
        weight *= 0.2
    return best


def _step(space: _Space, z: Float, base: float, level: float) -> tuple[Float, float]:
    """One step, and what it gained."""
    m, width = z.shape
    sums = np.tile(np.eye(width), m)
    try:
        gradient, hessian = _derivatives(space, z, base, level)
        factor = cho_factor(hessian + 1e-12 * np.diag(np.diag(hessian)), overwrite_a=True)
        solved, across = cho_solve(factor, gradient), cho_solve(factor, sums.T)
        step = across @ np.linalg.solve(sums @ across, sums @ solved) - solved
    except LinAlgError:
        return z, 0.0
    slope, move = float(gradient @ step), step.reshape(z.shape)
    slack, change = z @ space.rows.T, move @ space.rows.T
    falling = change < 0
    length = min(1.0, 0.99 * float(np.min(-slack[falling] / change[falling], initial=np.inf)))
    here = space.value(z) / base - level * float(np.log(slack).sum())
    for _ in range(30):
        moved = z + length * move
        there = space.value(moved) / base - level * float(np.log(slack + length * change).sum())
        if there <= here + 1e-4 * length * slope:
            return moved, here - there
        length /= 2
    return z, 0.0


def _derivatives(space: _Space, z: Float, base: float, level: float) -> tuple[Float, Float]:
    """Gradient of value and logarithms, and Hessian of the convex function above them."""
    q, e = z[:, 0], z[:, 1:]
    m, width = z.shape
    a = e / q[:, None]
    inverse = np.linalg.inv((e.T / q) @ e)
    price = inverse @ space.gram @ inverse / base
    slack = z @ space.rows.T
    through = a @ price
    gradient = np.column_stack([np.einsum("yd,yd->y", through, a), -2 * through]) - level * (1 / slack) @ space.rows
    # A coordinate of column y changes the information by u a^T + a u^T.
    u = np.concatenate([np.concatenate([-a[y][None] / 2, np.eye(width - 1)]) for y in range(m)])
    owner = np.repeat(np.arange(m), width)
    au_inverse, au_price = a @ inverse @ u.T, a @ price @ u.T
    left, right = au_inverse[owner], au_price[owner]
    hessian = left * right.T
    hessian += hessian.T
    hessian += (a @ inverse @ a.T)[np.ix_(owner, owner)] * (u @ price @ u.T)
    hessian += (u @ inverse @ u.T) * (a @ price @ a.T)[np.ix_(owner, owner)]
    # The convex function's scale: twice the value's, as the value is quadratic in the inverse.
    hessian *= 2.0
    blocks = np.einsum("tx,yt,tz->yxz", space.rows, level / slack**2, space.rows, optimize=True)
    for y in range(m):
        part = slice(y * width, (y + 1) * width)
        hessian[part, part] += blocks[y]
    return gradient.ravel(), hessian


def _written(optimum: Optimum, z: Float) -> Optimum:
    """Columns of coordinates."""
    contrasts, columns = optimum.contrasts, optimum.columns
    q, a = z[:, 0], z[:, 1:] / z[:, :1]
    over = contrasts.unit * a @ contrasts.basis.T
    top = over.max(axis=1, keepdims=True)
    # Below the largest entry, in the scale of the cone: shapes from 1 down.
    shapes = 1 + (over - top) / (1 + top) / columns.spread
    inverse = np.linalg.inv((z[:, 1:].T / q) @ z[:, 1:])
    value = contrasts.value(float(np.sum(inverse * contrasts.reduced)))
    return replace(optimum, columns=Columns(shapes, columns.base, columns.spread), q=q / q.sum(), value=value)
