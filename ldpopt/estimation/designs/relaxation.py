r"""The design over the elliptope: a bound for any number of answers, in seconds.

Signs ``s`` of a set are replaced by unit vectors. What a report says is then a vector ``u`` for each answer, and after
the offset of the set's size is eliminated in closed form the relaxed program has no constraint left but lengths:

.. math:: \min_{|u_x| = 1} \varphi(|\bar u|^2) \operatorname{tr}\big(G (B^T T U U^T T^T B)^{-1}\big), \quad
          \bar u = \sum_x r_x u_x, \quad
          \varphi(m) = \min_{|t| < 1} \frac{\big(\sqrt{a^2 - h^2 m (1 - t^2)} - h t\big)^2}{h^2 (1 - t^2)} .

Its optimum proves a bound on the design by `elliptope`; for prefixes and ranges it is within a thousandth of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.estimation.designs.contrasts import Contrasts
from ldpopt.estimation.designs.dual import Dual
from ldpopt.estimation.designs.elliptope import raise_cost
from ldpopt.estimation.designs.pricing import Staircases
from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import Deadline

LIFTS = (1e-6, 1e-9)
"""Shares of an equal Gram matrix added, in turn: directions that the workload does not need keep some information."""

STEPS = 3000
"""Limit on steps of L-BFGS for each."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The optimum over the elliptope.

    Attributes
    ----------
    dual : Dual
        Multipliers with a proved largest cost.
    form : ndarray, shape (n, n)
        ``N`` over all answers.
    moments : ndarray, shape (n + 1, n + 1)
        Moment matrix of the signs that nearly break the bound.
    """

    dual: Dual
    form: Float
    moments: Float


def relax(contrasts: Contrasts, cone: Staircases, gap: float, deadline: Deadline) -> Relaxed:
    """Solve the relaxed program, and prove its bound."""
    n = len(contrasts.weights)
    inner = _Inner(contrasts, cone)
    vectors = np.random.default_rng(0).standard_normal((n, n))
    for lift in LIFTS:
        vectors = inner.minimize(vectors, lift, min(gap * 1e-3, 1e-9))
    inverse = inner.inverse(vectors, LIFTS[-1])
    return proved(contrasts, cone, inverse, gap / 4, deadline)


def proved(contrasts: Contrasts, cone: Staircases, inverse: Float, gap: float, deadline: Deadline) -> Relaxed:
    """Bound of any ``S``, given in the coordinates of the contrasts with unit 1."""
    basis = contrasts.basis
    form = inverse.T @ contrasts.reduced @ inverse * contrasts.size
    value = float(np.sum(inverse * contrasts.reduced)) * contrasts.size
    whole = basis @ form @ basis.T
    r = contrasts.weights
    rough = Dual(r, contrasts.needed(inverse), value, value, np.zeros(len(r)))
    dual, moments = raise_cost(rough, whole, cone, gap, deadline)
    return Relaxed(dual, whole, moments)


class _Inner:
    """The relaxed program over unit vectors."""

    def __init__(self, contrasts: Contrasts, cone: Staircases) -> None:
        n = len(contrasts.weights)
        self.r, self.gram = contrasts.weights, contrasts.reduced
        self.a, self.h = cone.base + cone.spread / 2, cone.spread / 2
        self.tilt = contrasts.basis.T @ (np.eye(n) - np.outer(np.ones(n), self.r))

    def minimize(self, vectors: Float, lift: float, tolerance: float) -> Float:
        """Limited-memory quasi-Newton steps over directions."""
        from scipy.optimize import minimize

        gram = self.gram + lift / len(self.gram) * np.eye(len(self.gram))
        shape = vectors.shape
        found = minimize(  # type: ignore[call-overload]
            lambda flat: self._logarithm(flat.reshape(shape), gram),
            vectors.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": STEPS, "maxfun": 2 * STEPS, "maxcor": 20, "ftol": tolerance, "gtol": 1e-9},
        )
        return np.asarray(_unit(found.x.reshape(shape)))

    def inverse(self, vectors: Float, lift: float) -> Float:
        """``S`` at given vectors."""
        part = self.tilt @ _unit(vectors)
        information = part @ part.T / self._offset(float(np.sum((self.r @ _unit(vectors)) ** 2)))[0]
        return np.asarray(np.linalg.inv(information))

    def _logarithm(self, vectors: Float, gram: Float) -> tuple[float, Float]:
        """Logarithm of the objective, and its gradient."""
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = vectors / lengths
        part = self.tilt @ unit
        inverse = np.linalg.inv(part @ part.T)
        value = float(np.sum(inverse * gram))
        mean = self.r @ unit
        factor, growth = self._offset(float(mean @ mean))
        slope = -2 * self.tilt.T @ (inverse @ gram @ inverse @ part) / value
        slope += np.outer(self.r, mean) * (2 * growth / factor)
        slope -= unit * np.sum(slope * unit, axis=1, keepdims=True)
        return float(np.log(value) + np.log(factor)), (slope / lengths).ravel()

    def _offset(self, m: float) -> tuple[float, float]:
        """``phi(m)`` and its derivative."""
        from scipy.optimize import minimize_scalar

        a, h = self.a, self.h

        def root(t: float) -> float:
            return float(np.sqrt(max(a * a - h * h * m * (1 - t * t), 0.0)))

        found = minimize_scalar(
            lambda t: (root(t) - h * t) ** 2 / (h * h * (1 - t * t)),
            bounds=(-1 + 1e-12, 1 - 1e-12),
            method="bounded",
            options={"xatol": 1e-12},
        )
        t = float(found.x)
        return float(found.fun), -(root(t) - h * t) / max(root(t), 1e-300)


def _unit(vectors: Float) -> Float:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
