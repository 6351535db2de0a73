"""The bound for many answers: the relaxed program with inequalities of sets, by multipliers.

Each round minimises the objective of `vectors` with a penalty for every inequality that is broken, and moves the
multipliers. What they are at the end makes the unpenalised program a bound, which `elliptope` proves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpopt.certificate.design_bound_elliptope import Inequalities
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.dual import Dual
from ldpopt.designing.methods.relaxation.elliptope import raise_cost
from ldpopt.designing.methods.relaxation.vectors import Moments, Program
from ldpopt.designing.pricing import Staircases
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

LIFTS = (1e-6, 1e-9)
"""Shares of an equal Gram matrix added, in turn: directions that the workload does not need keep some information."""

STARTS, NEAR = 4, 3e-3
"""Limit on starts, and the relative distance of bound and objective at which one is good enough."""

STEPS = 1000
"""Limit on steps of L-BFGS for each program."""

SEARCH, PROOF = 0.4, 0.6
"""Shares of a time limit after which the relaxed program, and the proof of its bound, have to end."""

ROUNDS = 40
"""Limit on rounds of multipliers."""

SIZED = 3
"""Rounds until the size between which no set lies is fixed."""

PENALTY = 30.0
"""Curvature of the penalties, for each answer."""

LEAST_GAP = 1e-8
"""Relative gap of the objective below which no more is asked of floats."""

ROUGH, FINE = 1e-10, 1e-13
"""Relative changes of the objective at which L-BFGS ends, in the rounds and in the last one."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The relaxed optimum.

    Attributes
    ----------
    dual : Dual
        Multipliers with a proved largest cost.
    shares : ndarray, shape (n, n)
        Share of the sets that have two answers; on the diagonal, one answer.
    """

    dual: Dual
    shares: Float


def relax(contrasts: Contrasts, cone: Staircases, gap: float, deadline: Deadline) -> Relaxed:
    """Solve the relaxed program and prove its bound; from several starts, if the bound is far below the objective."""
    searching, proving = deadline.share(SEARCH), deadline.share(PROOF)
    best: Relaxed | None = None
    for start in range(STARTS):
        found = _relaxed(contrasts, cone, gap, start, searching, proving)
        if best is None or found.dual.bound > best.dual.bound:
            best = found
        short = found.dual.value - best.dual.bound
        if short <= max(NEAR, gap) * (found.dual.value - contrasts.spread) or searching.is_over:
            break
    assert best is not None
    return best


def _relaxed(
    contrasts: Contrasts, cone: Staircases, gap: float, start: int, searching: Deadline, proving: Deadline
) -> Relaxed:
    """From one start: L-BFGS ends in local minima of the program with multipliers, which prove little."""
    n = len(contrasts.weights)
    flat = np.append(np.random.default_rng(start).standard_normal(n * n), 0.0)
    for lift in LIFTS:
        search = _Search(Program(contrasts, cone, lift))
        flat, value = search.minimize(flat, ROUGH, searching)
    # The gap is one of the variance, which is what the objective exceeds the spread by.
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
    dual = _proved(contrasts, cone, search.program.inverse(at), inequalities, gap / 20, proving)
    return Relaxed(dual, at.shares)


def _proved(
    contrasts: Contrasts, cone: Staircases, inverse: Float, inequalities: Inequalities, gap: float, deadline: Deadline
) -> Dual:
    """Bound of ``S``, given in the coordinates of the contrasts with unit 1, and of the multipliers."""
    basis, r = contrasts.basis, contrasts.weights
    form = basis @ (inverse.T @ contrasts.reduced @ inverse * contrasts.size) @ basis.T
    value = float(np.sum(inverse * contrasts.reduced)) * contrasts.size
    rough = Dual(r, contrasts.needed(inverse), value, value, np.zeros(len(r)), inequalities=inequalities)
    return raise_cost(rough, form, cone, gap, deadline)


class _Search:
    """Minimise the objective with penalties; multipliers of what is broken."""

    def __init__(self, program: Program) -> None:
        n = program.n
        self.program, self.unit = program, 1.0
        self.pairs, self.factor, self.size = np.zeros((n, n)), 0.0, 0
        self.penalty = self.size_penalty = 0.0

    def point(self, flat: Float) -> Moments:
        """Moments at the variables: directions of the unit vectors, and ``t`` by its inverse tanh."""
        n = self.program.n
        units = flat[:-1].reshape(n, n)
        return self.program.moments(units / np.linalg.norm(units, axis=1, keepdims=True), math.tanh(flat[-1]))

    def minimize(self, flat: Float, tolerance: float, deadline: Deadline) -> tuple[Float, float]:
        """Limited-memory quasi-Newton steps."""
        from scipy.optimize import minimize

        def stop(_: Float) -> None:
            if deadline.is_over:
                raise StopIteration

        self.unit *= self._evaluate(flat)[0] if not self.penalty else 1.0
        found = minimize(  # type: ignore[call-overload]
            self._evaluate,
            flat,
            jac=True,
            method="L-BFGS-B",
            callback=stop,
            options={"maxiter": STEPS, "maxfun": 2 * STEPS, "maxcor": 20, "ftol": tolerance, "gtol": 1e-9},
        )
        return np.append(self.point(found.x).units.ravel(), found.x[-1]), float(found.fun)

    def move(self, flat: Float, resize: bool) -> None:
        """Take the multipliers that the penalties stand for; perhaps another size."""
        at, n = self.point(flat), self.program.n
        pairs, factor, _ = self._broken(at)
        if not self.penalty:
            self.unit *= self._evaluate(flat)[0]
            self.penalty, self.size_penalty = PENALTY / n, PENALTY * n
        self.pairs, self.factor = pairs, factor
        size = int(np.trace(at.shares))
        if resize and size != self.size:
            self.size, self.factor = size, 0.0

    @property
    def _share(self) -> float:
        """Shares are measured for reports of length 1."""
        return self.program.a**2

    def multipliers(self, flat: Float) -> Inequalities:
        """What the multipliers become, in the unit of the objective."""
        pairs, factor, _ = self._broken(self.point(flat))
        scale = self.unit * self._share
        return Inequalities(pairs * scale, self.size, factor / self.program.n**2 * scale)

    def _broken(self, at: Moments) -> tuple[Float, float, float]:
        """Multipliers after this point, of pairs and of the size; what the sizes are over their least."""
        n, k = self.program.n, self.size
        scale = self._share / at.length**2
        over = float(at.shares.sum() - (2 * k + 1) * np.trace(at.shares) + k * (k + 1))
        left = np.maximum(0.0, self.pairs - self.penalty * scale * at.shares)
        np.fill_diagonal(left, 0.0)
        return left, max(0.0, self.factor - self.size_penalty * scale * over / n**2), over

    def _evaluate(self, flat: Float) -> tuple[float, Float]:
        """Objective with penalties, and its gradient."""
        at, n = self.point(flat), self.program.n
        objective, by_units, by_length, by_tilt = self.program.value(at)
        value, by_length = objective / self.unit, by_length / self.unit
        if self.penalty:
            left, factor, over = self._broken(at)
            scale = self._share / at.length**2
            value += float((left**2).sum() - (self.pairs**2).sum()) / (4 * self.penalty)
            value += (factor**2 - self.factor**2) / (2 * self.size_penalty)
            by_shares = -(scale / 2) * left - factor * scale / n**2
            by_shares[np.diag_indices(n)] += (2 * self.size + 1) * factor * scale / n**2
            by_scale = -float((left * at.shares).sum()) / 2 - factor * over / n**2
            more, tilted = self.program.pull(at, by_shares, by_length - 2 * by_scale * scale / at.length)
        else:
            more, tilted = self.program.pull(at, np.zeros((n, n)), by_length)
        by_units = by_units / self.unit + more
        by_units -= at.units * np.sum(by_units * at.units, axis=1, keepdims=True)
        lengths = np.linalg.norm(flat[:-1].reshape(n, n), axis=1, keepdims=True)
        return value, np.append((by_units / lengths).ravel(), (by_tilt / self.unit + tilted) * at.spread)
