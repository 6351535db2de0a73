r"""Designs with few reports: as few as the optimum needs, by a basic solution, or at most a given
number.

With fewer than a basic solution has, the best columns need not be extreme rays, and the program is
not convex. The search starts from clusters of the reports of the optimum. At a point with columns
``(q_y, q_y a_y)``

.. math:: \sum_y q_y a_y a_y^T \succeq \sum_y \big( e_y a_y^{0T} + a_y^0 e_y^T - q_y a_y^0 a_y^{0T}
          \big),
          \quad e_y = q_y a_y,

with equality there. The right side is linear in ``(q, e)``, so that the value of the left is at
most a convex function of them, which is decreased by Newton steps, with a logarithmic barrier that
keeps the columns private.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ldpopt.designing.average import AverageMaster
from ldpopt.designing.block_designs import balanced_design
from ldpopt.designing.column_generation import UNUSED, Optimum
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import PrivateColumns
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import Columns

# probability below which a report is left out if possible: interior points end with useless reports
RARE = 1e-6
STARTS = 8  # number of starts of the descent
# weight of the directions that the workload does not need: reports keep some information on them
UNNEEDED = 1e-9
INSIDE = 0.05  # share of constant columns that is mixed in at the start
APART = 1e-2  # random displacement of reports at the start, relative to their size
WIDE, NARROW = 0.1, 1e-9  # total weight of the barrier relative to the value, at first and at last
STEPS = 40  # limit on steps for each weight of the barrier
ROUNDS = 8  # weights of the answers that are tried for the worst case
# largest number of entries of a channel for Newton steps; else reports are only clustered
LARGEST = 1200


def with_fewer_reports(optimum: Optimum, gap: float, deadline: Deadline = NO_LIMIT) -> Optimum:
    """Drop columns that are not needed, unless that costs more than a share of the gap.

    The value depends on total, center and information of a design only: ``1 + d + d (d + 1) / 2``
    numbers that are linear in the probabilities, for ``d = n - 1`` contrasts. A basic solution of
    these equations has at most as many columns (Caratheodory). It is found by
    the simplex method with a random objective, and its probabilities are then optimized once more.
    Last, columns of next to no probability are dropped: an
    interior point never sets them to 0.
    """
    rows = _equations(optimum.contrasts.scores(optimum.columns))
    places = _basic(rows, optimum.q, deadline) if rows.shape[1] > len(rows) else None
    if places is not None:
        start = np.maximum(np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0], 1e-12)
        optimum = _on_columns(optimum, places, start, gap, deadline)
    often = np.flatnonzero(optimum.q > RARE)
    return (
        optimum
        if len(often) == len(optimum.q)
        else _on_columns(optimum, often, optimum.q[often], gap, deadline)
    )


def _on_columns(
    optimum: Optimum, places: Int, start: Float, gap: float, deadline: Deadline
) -> Optimum:
    """The best probabilities of some of the columns, if they cost no more than a share of the
    gap.
    """
    contrasts = optimum.contrasts
    n = len(contrasts.weights)
    scores = contrasts.scores(optimum.columns)[places]
    if deadline.is_over or np.linalg.matrix_rank(scores) < n - 1:
        return optimum  # only the columns left out have information on some direction
    master = AverageMaster(scores, contrasts.reduced, np.eye(n - 1)[None])
    polished = master.solve(start=start, gap=1e-12, deadline=deadline)
    value = contrasts.value(polished.value)
    off = np.abs(_equations(scores)[:n] @ polished.q - np.eye(n)[0]).max()
    if value - optimum.value > gap / 4 * (optimum.value - contrasts.spread) or off > 1e-10:
        return optimum
    used = polished.q > UNUSED
    q = polished.q[used] / polished.q[used].sum()
    return replace(optimum, columns=optimum.columns.take(places[used]), q=q, value=value)


def with_fewer_reports_for_all(
    optimum: Optimum, gap: float, deadline: Deadline = NO_LIMIT
) -> Optimum:
    """Drop columns that are not needed, keeping the variance of every answer.

    For the worst case: there are ``n`` more equations, one for the second moment under each answer.
    The design is returned unchanged if the largest variance or the equations would suffer.
    """
    contrasts = optimum.contrasts
    columns = optimum.columns
    scores = contrasts.scores(columns)
    moments = _second_moments(optimum)
    each = columns.vectors / columns.mass(contrasts.weights)[:, None]
    rows = np.vstack([_equations(scores), (each * moments[:, None]).T / moments.max()])
    places = _basic(rows, optimum.q, deadline) if len(columns) > len(rows) else None
    if places is None:
        return optimum
    q = np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0]
    places = places[q > RARE]
    q = np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0]
    used = q > UNUSED
    fewer = replace(optimum, columns=columns.take(places[used]), q=q[used] / q[used].sum())
    off = np.abs(
        _equations(contrasts.scores(fewer.columns)) @ fewer.q
        - rows[: len(rows) - len(each.T)] @ optimum.q
    )
    is_worse = variances(fewer).max() > variances(optimum).max() * (1 + gap / 2)
    return optimum if is_worse or off.max() > max(gap, 1e-10) else fewer


def variances(optimum: Optimum) -> Float:
    """Variance of a report for every answer."""
    contrasts = optimum.contrasts
    columns = optimum.columns
    share = optimum.q / columns.mass(contrasts.weights)
    return np.asarray(
        columns.vectors.T @ (share * _second_moments(optimum)) - np.diag(contrasts.centered)
    )


def _second_moments(optimum: Optimum) -> Float:
    """``|V_y|^2`` of the best estimator of the centered workload, for every column."""
    contrasts = optimum.contrasts
    scores = optimum.contrasts.scores(optimum.columns)
    inverse = np.linalg.pinv((scores.T * optimum.q) @ scores, hermitian=True)
    estimator = contrasts.basis / contrasts.unit @ inverse @ scores.T
    return np.asarray(np.einsum("xa,xa->a", contrasts.centered @ estimator, estimator))


def _equations(scores: Float) -> Float:
    """Coefficients of the probabilities in their equations: total, center and information
    matrix.
    """
    first, second = np.triu_indices(scores.shape[1])
    return np.vstack([np.ones(len(scores)), scores.T, (scores[:, first] * scores[:, second]).T])


def _basic(rows: Float, q: Float, deadline: Deadline) -> Int | None:
    """Columns of a basic solution of the equations that ``q`` solves, with no more columns than
    rows; None if none is found in time.
    """
    from scipy.optimize import linprog

    if deadline.is_over:
        return None
    # Any solution of the equations will do: at random costs the best one is a single vertex.
    cost = np.random.default_rng(0).random(len(q))
    solution = linprog(
        cost,
        A_eq=rows,
        b_eq=rows @ q,
        method="highs-ds",
        options={"time_limit": deadline.left or np.inf},
    )
    return None if solution.status != 0 or solution.x is None else np.flatnonzero(solution.x > 1e-9)


def with_at_most(
    optimum: Optimum,
    private: PrivateColumns,
    most: int,
    deadline: Deadline,
    *,
    for_all: bool = False,
) -> Optimum:
    """The best design known with at most ``most`` reports, for the average or for the largest
    variance.
    """
    made = (_for_all if for_all else _for_average)(optimum, private, most, deadline)
    n = len(optimum.contrasts.weights)
    contrasts = (
        Contrasts(optimum.contrasts.gram, np.full(n, 1 / n)) if for_all else optimum.contrasts
    )
    even = balanced_design(contrasts, private.cone, most)
    if even is None:
        return made
    even = replace(even, dual=made.dual)
    better = variances(even).max() < variances(made).max() if for_all else even.value < made.value
    return even if better else made


def _for_average(
    optimum: Optimum,
    private: PrivateColumns,
    most: int,
    deadline: Deadline,
    *,
    near: Optimum | None = None,
) -> Optimum:
    """The best design found for the average, from several starts or from ``near``; no fewer reports
    than answers.
    """
    contrasts = optimum.contrasts
    most = min(most, max(len(contrasts.weights), len(optimum.q)))
    space = _Space.of(contrasts, private)
    best: tuple[float, Float] | None = None
    for start in range(STARTS if near is None else 1):
        # Every other start has fewer reports than allowed: these are sometimes better in the end.
        count = max(len(contrasts.weights), 2 * most // 3) if start % 2 else most
        joined = (
            _clusters(space, optimum, count, start)
            if near is None
            else _coordinates(contrasts, near)
        )
        z = _inside(space, joined, max(count, len(joined)), start)
        if most * len(contrasts.weights) <= LARGEST:
            z = _descend(space, z, deadline)
        value = space.value(z)
        if best is None or value < best[0]:
            best = value, z
        if deadline.is_over:
            break
    assert best is not None
    return _optimum(optimum, best[1])


def _for_all(optimum: Optimum, private: PrivateColumns, most: int, deadline: Deadline) -> Optimum:
    """The best design found for the largest variance: weights of answers with a large one grow from
    round to round.
    """
    gram = optimum.contrasts.gram
    r = optimum.contrasts.weights
    share = optimum.q / optimum.columns.mass(r)
    best: tuple[float, Optimum] | None = None
    near: Optimum | None = None
    for _ in range(ROUNDS):
        contrasts = Contrasts(gram, r).scaled_to(optimum.columns)
        at = replace(optimum, contrasts=contrasts, q=share * optimum.columns.mass(r))
        made = _for_average(at, private, most, deadline, near=near)
        near = made
        each = variances(made)
        if best is None or each.max() < best[0]:
            best = float(each.max()), made
        if deadline.is_over:
            break
        r = r * each / (r @ each)
    assert best is not None
    return best[1]


@dataclass(frozen=True, eq=False)
class _Space:
    """Coordinates ``z = (q, e)`` of columns, in which value and privacy are simple.

    ``q`` is the probability of a report and ``e`` its score times ``q``, so that a column has ``n``
    coordinates. Both are linear in the column, and so is a tie of two answers: ``z . row >= 0``
    for each row of ``rows``. The information is the sum of ``e e^T / q``, which is convex in ``z``;
    a sum of columns is the column of the joined reports.
    """

    gram: Float
    rows: Float

    @classmethod
    def of(cls, contrasts: Contrasts, private: PrivateColumns) -> "_Space":
        lift = contrasts.unit * contrasts.basis
        tied = private.conditions @ lift
        rows = np.vstack(
            [
                np.column_stack([np.ones(len(tied)), tied]),
                np.column_stack([np.ones(len(lift)), lift]),
            ]
        )
        return cls(contrasts.reduced + UNNEEDED * np.eye(len(contrasts.reduced)), rows)

    def value(self, z: Float) -> float:
        # the objective tr(G (sum e e^T / q)^-1), infinite for a singular matrix
        q = z[:, 0]
        e = z[:, 1:]
        try:
            return float(np.trace(cho_solve(cho_factor((e.T / q) @ e), self.gram)))
        except LinAlgError:
            return float("inf")


def _coordinates(contrasts: Contrasts, design: Optimum) -> Float:
    """Columns of a design, perhaps for other weights."""
    q = (
        design.q
        / design.columns.mass(design.contrasts.weights)
        * design.columns.mass(contrasts.weights)
    )
    return np.column_stack([q, q[:, None] * contrasts.scores(design.columns)])


def _clusters(space: _Space, optimum: Optimum, most: int, start: int) -> Float:
    """Clusters of the reports of the optimum; two starts by Ward's rule, the others by k-means.

    Joining two reports loses information: in the coordinates of the points, the value grows by the
    weighted squared distance of the two, to first order. So the best clusters are those of least
    squares.
    """
    scores = optimum.contrasts.scores(optimum.columns)
    q = optimum.q
    inverse = np.linalg.pinv((scores.T * q) @ scores, hermitian=True)
    values, vectors = np.linalg.eigh(inverse @ space.gram @ inverse)
    points = scores @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    label = (
        _ward(points, q, most)
        if start < 2
        else _k_means(points, q, most, np.random.default_rng(start))
    )
    z = np.zeros((label.max() + 1, scores.shape[1] + 1))
    np.add.at(z, label, np.column_stack([q, q[:, None] * scores]))
    return z


def _inside(space: _Space, z: Float, most: int, start: int) -> Float:
    """A point with ``most`` reports at which every tie is slack."""
    z = np.vstack([z, np.zeros((most - len(z), z.shape[1]))])
    # Clusters may have no information on a direction, and empty ones have to differ.
    spread = np.random.default_rng(start).standard_normal((most, z.shape[1] - 1)) * APART / most
    z[:, 1:] += spread - spread.mean(axis=0)
    constant = np.zeros_like(z)
    constant[:, 0] = 1 / len(z)
    share = INSIDE
    while ((z * (1 - share) + share * constant) @ space.rows.T).min() <= 0:
        share = (1 + share) / 2
    return np.asarray((1 - share) * z + share * constant)


def _ward(points: Float, q: Float, most: int) -> Int:
    """Join the two clusters that lose least, until there are at most ``most``."""
    label = np.arange(len(q))
    q = q.copy()
    points = points.copy()
    alive = np.ones(len(q), dtype=bool)
    square = (points**2).sum(axis=1)
    loss = (
        np.maximum(square + square[:, None] - 2 * points @ points.T, 0)
        * np.outer(q, q)
        / (q + q[:, None])
    )
    np.fill_diagonal(loss, np.inf)
    for _ in range(len(q) - most):
        first, second = np.unravel_index(int(loss.argmin()), loss.shape)
        points[first] = (q[first] * points[first] + q[second] * points[second]) / (
            q[first] + q[second]
        )
        q[first] += q[second]
        alive[second] = False
        label[label == second] = first
        loss[second] = loss[:, second] = np.inf
        fresh = ((points - points[first]) ** 2).sum(axis=1) * q * q[first] / (q + q[first])
        loss[first] = loss[:, first] = np.where(alive, fresh, np.inf)
        loss[first, first] = np.inf
    return np.asarray(np.unique(label, return_inverse=True)[1].ravel())


def _k_means(points: Float, q: Float, most: int, rng: np.random.Generator) -> Int:
    """Clusters around centers, which are random reports at first."""
    centers = points[rng.choice(len(q), min(most, len(q)), replace=False, p=q / q.sum())]
    label = np.zeros(len(q), np.int64)
    for _ in range(10):
        label = ((points[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        for k in np.unique(label):
            centers[k] = np.average(points[label == k], axis=0, weights=q[label == k])
    return np.asarray(np.unique(label, return_inverse=True)[1].ravel())


def _descend(space: _Space, z: Float, deadline: Deadline) -> Float:
    """Newton steps of the convex function above the value, with a barrier of decreasing weight.

    The function touches the value at the point, with the same gradient, and lies above it
    everywhere: whatever lowers it lowers the value (majorization). The steps end at a point where
    the value has no direction of descent, which may be a local minimum.
    """
    best = z
    weight = WIDE
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
    """The point after one step, and its gain."""
    m, width = z.shape
    sums = np.tile(np.eye(width), m)
    try:
        gradient, hessian = _derivatives(space, z, base, level)
        factor = cho_factor(hessian + 1e-12 * np.diag(np.diag(hessian)), overwrite_a=True)
        solved = cho_solve(factor, gradient)
        across = cho_solve(factor, sums.T)
        step = across @ np.linalg.solve(sums @ across, sums @ solved) - solved
    except LinAlgError:
        return z, 0.0
    slope = float(gradient @ step)
    move = step.reshape(z.shape)
    slack = z @ space.rows.T
    change = move @ space.rows.T
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
    """Gradient of value and barrier, and Hessian of the convex function above them."""
    q = z[:, 0]
    e = z[:, 1:]
    m, width = z.shape
    a = e / q[:, None]
    inverse = np.linalg.inv((e.T / q) @ e)
    price = inverse @ space.gram @ inverse / base
    slack = z @ space.rows.T
    through = a @ price
    gradient = (
        np.column_stack([np.einsum("yd,yd->y", through, a), -2 * through])
        - level * (1 / slack) @ space.rows
    )
    # A coordinate of column y changes the information by u a^T + a u^T.
    u = np.concatenate([np.concatenate([-a[y][None] / 2, np.eye(width - 1)]) for y in range(m)])
    owner = np.repeat(np.arange(m), width)
    au_inverse = a @ inverse @ u.T
    au_price = a @ price @ u.T
    left = au_inverse[owner]
    right = au_price[owner]
    hessian = left * right.T
    hessian += hessian.T
    hessian += (a @ inverse @ a.T)[np.ix_(owner, owner)] * (u @ price @ u.T)
    hessian += (u @ inverse @ u.T) * (a @ price @ a.T)[np.ix_(owner, owner)]
    # Twice, because the value is quadratic in the inverse.
    hessian *= 2.0
    blocks = np.einsum("tx,yt,tz->yxz", space.rows, level / slack**2, space.rows, optimize=True)
    for y in range(m):
        part = slice(y * width, (y + 1) * width)
        hessian[part, part] += blocks[y]
    return gradient.ravel(), hessian


def _optimum(optimum: Optimum, z: Float) -> Optimum:
    """The design at these coordinates."""
    contrasts = optimum.contrasts
    columns = optimum.columns
    q = z[:, 0]
    a = z[:, 1:] / z[:, :1]
    over = contrasts.unit * a @ contrasts.basis.T
    top = over.max(axis=1, keepdims=True)
    # Relative to the largest entry, in the scale of the cone: the largest shape is 1.
    shapes = 1 + (over - top) / (1 + top) / columns.spread
    inverse = np.linalg.inv((z[:, 1:].T / q) @ z[:, 1:])
    value = contrasts.value(float(np.sum(inverse * contrasts.reduced)))
    return replace(
        optimum, columns=Columns(shapes, columns.base, columns.spread), q=q / q.sum(), value=value
    )
