r"""The bound for many answers: a relaxed program with inequalities of sets, by multipliers.

A unit vector for each answer replaces its signs ``s``, and ``z_0`` replaces 1. By the channel's
equations all vectors ``z_x`` have the same product ``t`` with the direction of ``p = a z_0 + h
sum_x r_x z_x``. Splitting them along it leaves free unit vectors ``u_x``:

.. math:: z_x = (t, \sqrt{1 - t^2}\, u_x), \quad
          |p| = h t + \sqrt{a^2 - h^2 (1 - t^2) |\bar u|^2}, \quad \bar u = \sum_x r_x u_x ,

with the objective :math:`|p|^2 / (h^2 (1 - t^2)) \operatorname{tr}(G (T U U^T T^T)^{-1})`. The
share of the sets that have both of two answers becomes ``(1 + z_0 z_x + z_0 z_y + z_x z_y) / 4``.

Each round minimises the objective with a penalty for every violated inequality, and updates the
multipliers (an augmented Lagrangian). With the last multipliers the program without penalties is a
bound. It is proved by the smallest cost for which a matrix is positive semidefinite
(`design_bound_elliptope`),

.. math:: \min \eta \quad \text{subject to} \quad
          \eta \, p p^T + \tfrac12 (p u^T + u p^T) + \operatorname{diag}(d) - \bar N \succeq 0,
          \quad
          \textstyle\sum u = 0, \quad \sum d = 0

with ``p = (a, h r)`` and ``N`` in signs, to which multiples of the inequalities are added: by a
barrier method with Newton steps over ``eta``, ``u`` and ``d``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from ldpopt.certificate.design_bound_elliptope import Inequalities
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import Dual, Staircases
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float

# Shares of an equal Gram matrix added, in turn: directions that the workload does not need keep
# some information
LIFTS = (1e-6, 1e-9)
# limit on starts, and the relative distance of bound and objective at which a start is accepted
STARTS, NEAR = 4, 3e-3
STEPS = 1000  # limit on steps of L-BFGS for each program
# Shares of a time limit after which the relaxed program, and the proof of its bound, have to end
SEARCH, PROOF = 0.4, 0.6
ROUNDS = 40  # limit on rounds of multipliers
# rounds after which the size ``k`` of the inequality ``(|A| - k)(|A| - k - 1) >= 0`` is fixed
SIZED = 3
PENALTY = 30.0  # curvature of the penalties per answer
LEAST_GAP = 1e-8  # smallest relative gap of the objective that is aimed at in floats
# relative changes of the objective at which L-BFGS ends, in the rounds and in the last one
ROUGH, FINE = 1e-10, 1e-13
FASTER = 0.15  # factor of the weight of the barrier from one center to the next
NEWTON_STEPS = 400  # limit on Newton steps; 40 to 80 are usual


def descend(
    function: Callable[[Float], tuple[float, Float]],
    start: Float,
    options: dict[str, float],
    deadline: Deadline,
) -> tuple[Float, float]:
    """Minimize a function of value and gradient by L-BFGS until the deadline; the best point and
    its value.
    """
    from scipy.optimize import minimize

    def stop(_: Float) -> None:
        if deadline.is_over:
            raise StopIteration

    end = minimize(  # type: ignore[call-overload]
        function, start, jac=True, method="L-BFGS-B", callback=stop, options=options
    )
    return np.asarray(end.x), float(end.fun)


@dataclass(frozen=True, eq=False)
class VectorMoments:
    """Moments of the unit vectors."""

    units: Float  # u_x, one a row, shape (n, n)
    tilt: float  # t
    mean: Float  # the mean of u over the weights, shape (n,)
    root: float  # the square root above
    length: float  # |p|
    products: Float  # u_x u_y, shape (n, n)
    # share of the sets that have two answers; on the diagonal, one answer; shape (n, n)
    shares: Float

    @property
    def spread(self) -> float:
        """``1 - t^2``."""
        return 1 - self.tilt**2


class Program:
    """Objective and moments of unit vectors, with their derivatives."""

    def __init__(self, contrasts: Contrasts, cone: Staircases, lift: float) -> None:
        n = len(contrasts.weights)
        self.r = contrasts.weights
        self.n = n
        self.a = cone.base + cone.spread / 2
        self.h = cone.spread / 2
        # A little of every direction, even of those that the workload does not need.
        self.gram = contrasts.reduced + lift / n * np.eye(n - 1)
        self.tilted = contrasts.basis.T @ (np.eye(n) - np.outer(np.ones(n), self.r))

    def moments(self, units: Float, tilt: float) -> VectorMoments:
        """Moments of unit vectors, shape (n, n), at the common product ``tilt``, which is t."""
        a = self.a
        h = self.h
        spread = 1 - tilt**2
        mean = self.r @ units
        root = math.sqrt(max(a * a - h * h * float(mean @ mean) * spread, 1e-300))
        products = units @ units.T
        along = tilt * root / a - (h * spread / a) * (units @ mean)
        shares = (1 + along[:, None] + along + tilt**2 + spread * products) / 4
        return VectorMoments(units, tilt, mean, root, h * tilt + root, products, shares)

    def inverse(self, at: VectorMoments) -> Float:
        """``S`` in the coordinates of the contrasts with unit 1."""
        part = self.tilted @ at.units
        return np.asarray(np.linalg.inv(part @ part.T) * self._scale(at))

    def value(self, at: VectorMoments) -> tuple[float, Float, float, float]:
        """Objective, and its derivatives by the unit vectors, ``|p|`` and ``t``."""
        part = self.tilted @ at.units
        inverse = np.linalg.inv(part @ part.T)
        through = self.gram @ inverse
        scale = self._scale(at)
        value = float(np.trace(through)) * scale
        by_units = -2 * scale * (self.tilted.T @ (inverse @ (through @ part)))
        return value, by_units, 2 * value / at.length, 2 * value * at.tilt / at.spread

    def chain_rule(
        self, at: VectorMoments, by_shares: Float, by_length: float
    ) -> tuple[Float, float]:
        """Chain rule: derivatives by shares and ``|p|`` become derivatives by the unit vectors and
        ``t``.
        """
        a = self.a
        h = self.h
        t = at.tilt
        spread = at.spread
        by_along = by_shares.sum(axis=1) / 2
        by_product = -(h * spread / a) * by_along
        by_root = by_length + float(by_along.sum()) * t / a
        square = float(at.mean @ at.mean)
        by_units = (spread / 2) * (by_shares @ at.units) + np.outer(by_product, at.mean)
        by_units += np.outer(
            self.r, by_product @ at.units - (h * h * spread / at.root * by_root) * at.mean
        )
        by_tilt = float((by_shares * (1 - at.products)).sum()) * t / 2
        by_tilt += float(by_along.sum()) * at.root / a + (2 * t * h / a) * float(
            by_along @ (at.units @ at.mean)
        )
        by_tilt += h * by_length + h * h * square * t / at.root * by_root
        return by_units, by_tilt

    def _scale(self, at: VectorMoments) -> float:
        return at.length**2 / (self.h**2 * at.spread)


def relax(
    contrasts: Contrasts, cone: Staircases, gap: float, deadline: Deadline
) -> tuple[Dual, Float]:
    """Multipliers with a proved largest cost, and the shares of `Moments`; from several starts if
    the bound is poor.
    """
    searching = deadline.share(SEARCH)
    proving = deadline.share(PROOF)
    best: tuple[Dual, Float] | None = None
    for start in range(STARTS):
        relaxed = _relaxed_from(contrasts, cone, gap, start, searching, proving)
        if best is None or relaxed[0].bound > best[0].bound:
            best = relaxed
        short = relaxed[0].value - best[0].bound
        if short <= max(NEAR, gap) * (relaxed[0].value - contrasts.spread) or searching.is_over:
            break
    assert best is not None
    return best


def _relaxed_from(
    contrasts: Contrasts,
    cone: Staircases,
    gap: float,
    start: int,
    searching: Deadline,
    proving: Deadline,
) -> tuple[Dual, Float]:
    """The relaxed optimum that the search finds from one start; it may be a local one, whose bound
    is poor.
    """
    n = len(contrasts.weights)
    flat = np.append(np.random.default_rng(start).standard_normal(n * n), 0.0)
    for lift in LIFTS:
        search = _AugmentedLagrangian(Program(contrasts, cone, lift))
        flat, value = search.minimize(flat, ROUGH, searching)
    # The gap is one of the variance, which is the objective less the spread.
    gap = max(gap * (1 - contrasts.spread / (value * search.unit * contrasts.size)), LEAST_GAP)
    for number in range(ROUNDS):
        search.move(flat, number < SIZED)
        before = value
        flat, value = search.minimize(flat, ROUGH, searching)
        if (number >= SIZED and value - before <= gap / 50 * value) or searching.is_over:
            break
    flat, _ = search.minimize(flat, FINE, searching)
    inequalities = search.multipliers(flat).times(contrasts.size)
    at = search.point(flat)
    return _proved(
        contrasts, cone, search.program.inverse(at), inequalities, gap / 20, proving
    ), at.shares


def _proved(
    contrasts: Contrasts,
    cone: Staircases,
    inverse: Float,
    inequalities: Inequalities,
    gap: float,
    deadline: Deadline,
) -> Dual:
    """Multipliers with a proved largest cost, from ``S`` in the coordinates of the contrasts with
    unit 1.
    """
    basis = contrasts.basis
    r = contrasts.weights
    form = basis @ (inverse.T @ contrasts.reduced @ inverse * contrasts.size) @ basis.T
    value = float(np.sum(inverse * contrasts.reduced)) * contrasts.size
    rough = Dual(
        r, contrasts.needed(inverse), value, value, np.zeros(len(r)), inequalities=inequalities
    )
    return raise_cost(rough, form, cone, gap, deadline)


class _AugmentedLagrangian:
    """The augmented Lagrangian: objective, penalties and multipliers of the inequalities.

    The inequalities are those that moments of sets satisfy and moments of unit vectors may violate:
    no share of the sets that have two answers is negative, and ``(|A| - k)(|A| - k - 1) >= 0`` on
    average for one whole number ``k``, the size. A violation costs its square. After each descent
    the slope of this penalty at the point becomes the multiplier, so that the penalty need not
    grow.
    """

    def __init__(self, program: Program) -> None:
        n = program.n
        self.program = program
        self.unit = 1.0
        self._share = program.a**2  # unit of shares: they are those of reports of length 1
        self.pairs = np.zeros((n, n))
        self.factor = 0.0
        self.size = 0
        self.penalty = self.size_penalty = 0.0

    def point(self, flat: Float) -> VectorMoments:
        """Moments at the variables: directions of the unit vectors, and ``t`` by its inverse
        tanh.
        """
        n = self.program.n
        units = flat[:-1].reshape(n, n)
        return self.program.moments(
            units / np.linalg.norm(units, axis=1, keepdims=True), math.tanh(flat[-1])
        )

    def minimize(self, flat: Float, tolerance: float, deadline: Deadline) -> tuple[Float, float]:
        """Minimize from these variables by L-BFGS; the variables, with unit vectors, and the
        value.
        """
        self.unit *= self._evaluate(flat)[0] if not self.penalty else 1.0
        options = {
            "maxiter": STEPS,
            "maxfun": 2 * STEPS,
            "maxcor": 20,
            "ftol": tolerance,
            "gtol": 1e-9,
        }
        end, value = descend(self._evaluate, flat, options, deadline)
        return np.append(self.point(end).units.ravel(), end[-1]), value

    def move(self, flat: Float, resize: bool) -> None:
        """Update the multipliers from the penalties at a point; perhaps the size too."""
        at = self.point(flat)
        n = self.program.n
        pairs, factor, _ = self._updated(at)
        if not self.penalty:
            self.unit *= self._evaluate(flat)[0]
            self.penalty = PENALTY / n
            self.size_penalty = PENALTY * n
        self.pairs = pairs
        self.factor = factor
        size = int(np.trace(at.shares))
        if resize and size != self.size:
            self.size = size
            self.factor = 0.0

    def multipliers(self, flat: Float) -> Inequalities:
        """The updated multipliers, in the unit of the objective."""
        pairs, factor, _ = self._updated(self.point(flat))
        scale = self.unit * self._share
        return Inequalities(pairs * scale, self.size, factor / self.program.n**2 * scale)

    def _updated(self, at: VectorMoments) -> tuple[Float, float, float]:
        """Updated multipliers of pairs and of the size, and the value of the inequality of the
        size.
        """
        n = self.program.n
        k = self.size
        scale = self._share / at.length**2
        over = float(at.shares.sum() - (2 * k + 1) * np.trace(at.shares) + k * (k + 1))
        left = np.maximum(0.0, self.pairs - self.penalty * scale * at.shares)
        np.fill_diagonal(left, 0.0)
        return left, max(0.0, self.factor - self.size_penalty * scale * over / n**2), over

    def _evaluate(self, flat: Float) -> tuple[float, Float]:
        """Objective with penalties, and its gradient."""
        at = self.point(flat)
        n = self.program.n
        objective, by_units, by_length, by_tilt = self.program.value(at)
        value = objective / self.unit
        by_length = by_length / self.unit
        by_shares = np.zeros((n, n))
        if self.penalty:
            left, factor, over = self._updated(at)
            scale = self._share / at.length**2
            value += float((left**2).sum() - (self.pairs**2).sum()) / (4 * self.penalty)
            value += (factor**2 - self.factor**2) / (2 * self.size_penalty)
            by_shares = -(scale / 2) * left - factor * scale / n**2
            by_shares[np.diag_indices(n)] += (2 * self.size + 1) * factor * scale / n**2
            by_scale = -float((left * at.shares).sum()) / 2 - factor * over / n**2
            by_length -= 2 * by_scale * scale / at.length
        more, tilted = self.program.chain_rule(at, by_shares, by_length)
        by_units = by_units / self.unit + more
        by_units -= at.units * np.sum(by_units * at.units, axis=1, keepdims=True)
        lengths = np.linalg.norm(flat[:-1].reshape(n, n), axis=1, keepdims=True)
        return value, np.append(
            (by_units / lengths).ravel(), (by_tilt / self.unit + tilted) * at.spread
        )


@dataclass(frozen=True, eq=False)
class _Cost:
    """The matrix inequality, divided by the value."""

    direction: Float
    cost: Float

    def slack(self, x: Float) -> Float:
        """The matrix at ``x = (eta, u, d)``, which has to be positive definite."""
        n = len(self.direction) - 1
        cross = np.outer(
            self.direction, x[0] * self.direction + np.concatenate([[0.0], x[1 : n + 1]])
        )
        matrix = (cross + cross.T) / 2 - self.cost
        matrix[np.diag_indices_from(matrix)] += x[n + 1 :]
        return matrix

    def derivatives(self, inverse: Float) -> tuple[Float, Float]:
        """Gradient and Hessian of minus the log determinant."""
        n = len(self.direction) - 1
        p = self.direction
        along = inverse @ p
        through = float(p @ along)
        gradient = -np.concatenate([[through], along[1:], np.diag(inverse)])
        hessian = np.empty((2 * n + 2, 2 * n + 2))
        hessian[0, 0] = through**2
        hessian[0, 1 : n + 1] = through * along[1:]
        hessian[0, n + 1 :] = along**2
        hessian[1 : n + 1, 1 : n + 1] = (
            through * inverse[1:, 1:] + np.outer(along[1:], along[1:])
        ) / 2
        hessian[1 : n + 1, n + 1 :] = inverse[1:] * along
        hessian[n + 1 :, n + 1 :] = inverse**2
        lower = np.tril_indices_from(hessian, -1)
        hessian[lower] = hessian.T[lower]
        return gradient, hessian


def raise_cost(
    dual: Dual, form: Float, cone: Staircases, gap: float, deadline: Deadline = NO_LIMIT
) -> Dual:
    """The dual with the smallest cost that is proved for all columns; ``form`` is ``N``, shape
    ``(n, n)``.
    """
    r = dual.weights
    size = dual.value
    n = len(r)
    # entries of a column are a + h s, with signs s: a middle and half of the range
    a = cone.base + cone.spread / 2
    h = cone.spread / 2
    tilt = np.eye(n) - np.outer(np.ones(n), r)
    cost = np.zeros((n + 1, n + 1))
    cost[1:, 1:] = h**2 * (tilt.T @ form @ tilt) / size
    if dual.inequalities is not None:
        cost += dual.inequalities.form / size
    inequality = _Cost(np.concatenate([[a], h * r]), cost)
    x = _follow(inequality, _start(inequality, r, a, h), gap, deadline)
    # x is (eta, u, d): the largest cost, the multipliers of the entries and those of their squares
    return replace(
        dual, largest=float(x[0]) * size, slope=x[1 : n + 1] / h * size, shift=x[n + 1 :] * size
    )


def _start(inequality: _Cost, r: Float, a: float, h: float) -> Float:
    """An interior point: a large multiple of one for the cost 0."""
    n = len(r)
    mixed = (1 - h * h / (a * a)) / 2
    share = (1 - mixed) * r + mixed / n
    room = (a * a - h * h * float(np.sum(r * r / share))) / 2
    x = np.concatenate([[1.0], np.zeros(n), [-room], room * share])
    free = _Cost(inequality.direction, np.zeros_like(inequality.cost)).slack(x)
    return 2 * float(eigh(inequality.cost, free, eigvals_only=True)[-1]) * x


def _follow(inequality: _Cost, x: Float, gap: float, deadline: Deadline) -> Float:
    """Newton steps along the path of centers."""
    n = len(inequality.direction) - 1
    weight = float(x[0])
    equations = np.zeros((2, 2 * n + 2))
    equations[0, 1 : n + 1], equations[1, n + 1 :] = 1.0, 1.0
    for _ in range(NEWTON_STEPS):
        step, size = _newton(inequality, x, weight, equations)
        x = _inside(inequality, x, step)
        if deadline.is_over and x[0] < 1e3:
            break
        if size < 0.5:
            if weight * (n + 1) <= gap * x[0]:
                break
            weight *= FASTER
    return x


def _newton(inequality: _Cost, x: Float, weight: float, equations: Float) -> tuple[Float, float]:
    """Newton step for ``eta / weight - log det`` and its length in the local norm."""
    inverse = np.linalg.inv(inequality.slack(x))
    gradient, hessian = inequality.derivatives((inverse + inverse.T) / 2)
    gradient[0] += 1 / weight
    diagonal = np.diag(hessian)
    if not (diagonal > 0).all():  # the inverse overflows
        return np.zeros_like(x), 0.0
    scale = 1 / np.sqrt(diagonal)
    hessian *= scale
    hessian *= scale[:, None]
    rows = equations * scale
    try:
        hessian[np.diag_indices_from(hessian)] += 1e-13
        factor = cho_factor(hessian, check_finite=False)
        solved = cho_solve(factor, np.column_stack([gradient * scale, rows.T]), check_finite=False)
    except LinAlgError:
        return np.zeros_like(x), 0.0
    # The step also corrects rounding errors of the equations.
    dual = np.linalg.solve(rows @ solved[:, 1:], rows @ solved[:, 0] - equations @ x)
    step = scale * (solved[:, 1:] @ dual - solved[:, 0])
    return step, math.sqrt(max(-float(gradient @ step), 0.0))


def _inside(inequality: _Cost, x: Float, step: Float) -> Float:
    """The point after nine tenths of the longest step, at most 1, with a positive definite
    matrix.
    """
    length = 1.0
    for _ in range(60):
        try:
            np.linalg.cholesky(inequality.slack(x + length / 0.9 * step))
        except np.linalg.LinAlgError:
            length *= 0.7
            continue
        return np.asarray(x + length * step)
    return x
