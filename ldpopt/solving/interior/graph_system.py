"""The Newton system of the interior point for graphs and metrics: one block for each output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotri, dpotrs
from scipy.sparse import csr_array

from ldpopt.foundation.checks import Float
from ldpopt.foundation.rows import Int
from ldpopt.solving.interior.steps import NewtonSystem, Point, cholesky


@dataclass(frozen=True)
class GraphProgram:
    """The program by outputs: ``cost`` or, in the worst case, ``gain`` of shape (m, n); ordered pairs and their ratio.

    Costs and gains are divided by ``unit``, the largest of them.
    """

    cost: Float
    gain: Float | None
    first: Int
    second: Int
    ratio: Float
    unit: float

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of outputs and inputs."""
        return self.cost.shape[0], self.cost.shape[1]

    def apply(self, p: Float) -> Float:
        """Slack of the ties: ``P[k, y] - r P[i, y]``, shape (m, pairs)."""
        return p[:, self.second] - self.ratio * p[:, self.first]

    def adjoint(self, ties: Float) -> Float:
        """Transpose of `apply`, shape (m, n)."""
        return by_rows(self._incidence, ties)

    @cached_property
    def _incidence(self) -> Any:
        size = np.arange(len(self.first))
        entries = np.concatenate([np.ones(len(size)), -self.ratio])
        place = (np.concatenate([self.second, self.first]), np.concatenate([size, size]))
        return csr_array((entries, place), shape=(self.shape[1], len(size)))

    def priced(self, prior: Float) -> Float:
        """Costs of the entries, under a prior in the worst case."""
        return self.cost if self.gain is None else self.gain * prior

    def start(self) -> GraphPoint:
        """Start with uniform reports, strictly private, and equal products of slacks and multipliers."""
        m, n = self.shape
        t = np.repeat(((1 - self.ratio) / m)[None], m, axis=0)
        if self.gain is None:
            size = float(np.abs(self.cost).max())
            e, prior, worst = np.zeros(0), np.zeros(0), np.zeros(1)
        else:
            size = float(np.abs(self.gain).max()) / n
            mean = self.gain.mean(axis=0)
            worst = np.array([mean.min() - max(size, float(np.ptp(mean)))])
            e, prior = mean - worst, np.full(n, 1 / n)
        sums = self.priced(prior).max(axis=0)
        return GraphPoint(np.full((m, n), 1 / m), t, e, worst, size * float(t.mean()) / t, prior, sums)

    def distance(self, at: GraphPoint) -> tuple[float, float]:
        """Gap between the value of a point and the bound of its multipliers, absolute and relative."""
        p = np.maximum(at.p, 0.0)
        p = p / p.sum(axis=0)
        cost = self.cost if self.gain is None else self.gain * (at.prior / at.prior.sum())
        value = float((cost * p).sum()) if self.gain is None else float((self.gain * p).sum(axis=0).min())
        bound = float((cost + self.adjoint(at.ties)).max(axis=0).sum())
        spread = float((cost.max(axis=0) - cost.min(axis=0)).sum())
        residual = float(np.abs(1 - at.p.sum(axis=0)).max())
        distance = max(bound - value, 0.0) if residual < 1e-6 and math.isfinite(bound - value) else math.inf
        return distance, distance / max(abs(bound), spread / 100, 1e-300)


@dataclass(frozen=True)
class GraphPoint(Point):
    """A point of the iteration, or a step: entries, slacks of ties and expectations; their multipliers.

    Entries and row sums' multipliers ``sums`` are free, and so is the worst case's value ``worst``.
    """

    p: Float
    t: Float
    e: Float
    worst: Float
    ties: Float
    prior: Float
    sums: Float

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"p", "t", "e", "worst"})

    @property
    def slacks(self) -> tuple[Float, ...]:
        """Of ties and expectations."""
        return self.t, self.e

    @property
    def multipliers(self) -> tuple[Float, ...]:
        """Of ties, and the prior of the worst case."""
        return self.ties, self.prior


class GraphSystem(NewtonSystem[GraphPoint]):
    """The factored linear system of one iteration."""

    def __init__(self, data: GraphProgram, at: GraphPoint) -> None:
        self.data, self.at = data, at
        self.tie_weight = at.ties / at.t
        self.sum_residual = 1 - at.p.sum(axis=0)
        self.tie_residual = data.apply(at.p) - at.t
        self.dual_residual = data.priced(at.prior) - at.sums + data.adjoint(at.ties)
        self.prior_residual = 0.0 if data.gain is None else 1 - float(at.prior.sum())
        if data.gain is not None:
            self.worst_residual = (data.gain * at.p).sum(axis=0) - at.worst - at.e
        self._factor()

    def _factor(self) -> None:
        """Factor each output's matrix, and add up their inverses to the Schur complement that couples the outputs."""
        (m, n), gain = self.data.shape, self.data.gain
        row, column, off, diagonal = self._laplacians()
        schur = np.zeros((n, n) if gain is None else (2 * n, 2 * n))
        matrix, own = np.zeros((n, n), order="F"), np.arange(n)
        self.factors: list[tuple[Float, Float]] = []
        for j in range(m):
            scale = 1 / np.sqrt(diagonal[j])
            matrix[row, column] = matrix[column, row] = off[j] * scale[row] * scale[column]
            matrix[own, own] = 1.0
            factor = cholesky(matrix)
            self.factors.append((factor, scale))
            inverted, _ = dpotri(factor, lower=1)
            inverted = scale[:, None] * (inverted + np.tril(inverted, -1).T) * scale
            schur[:n, :n] += inverted
            if gain is not None:
                schur[:n, n:] -= inverted * gain[j]
                schur[n:, n:] += gain[j][:, None] * inverted * gain[j]
        if gain is not None:
            schur[n:, :n] = schur[:n, n:].T
            schur[own + n, own + n] += self.at.e / self.at.prior
        self.schur_scale = 1 / np.sqrt(np.diag(schur))
        self.schur_factor = cholesky(np.asfortranarray(schur * self.schur_scale * self.schur_scale[:, None]))

    def _laplacians(self) -> tuple[Int, Int, Float, Float]:
        """Pairs of inputs, and for each output their weights off the diagonal and the weights on it."""
        data, n = self.data, self.data.shape[1]
        low, high = np.minimum(data.first, data.second), np.maximum(data.first, data.second)
        key, inverse = np.unique(low * n + high, return_inverse=True)
        pairs = np.arange(len(inverse))
        off = by_rows(csr_array((-data.ratio, (inverse, pairs)), shape=(len(key), len(pairs))), self.tie_weight)
        squares = np.concatenate([np.ones(len(pairs)), data.ratio**2])
        place = (np.concatenate([data.second, data.first]), np.concatenate([pairs, pairs]))
        diagonal = by_rows(csr_array((squares, place), shape=(n, len(pairs))), self.tie_weight)
        return key // n, key % n, off, diagonal

    def _solve_outputs(self, right: Float) -> Float:
        """Solve every output's system, right-hand sides of shape (m, n)."""
        parts = zip(self.factors, right, strict=True)
        return np.stack([scale * dpotrs(factor, scale * one, lower=1)[0] for (factor, scale), one in parts])

    def _solve_schur(self, right: Float) -> Float:
        return np.asarray(self.schur_scale * dpotrs(self.schur_factor, self.schur_scale * right, lower=1)[0])

    def _solve_coupled(
        self, right: Float, sums: Float, worst: Float | None, prior: float
    ) -> tuple[Float, Float, Float, Float]:
        """Solve all outputs together with the row sums and, in the worst case, the expectations."""
        data = self.data
        uncoupled = self._solve_outputs(right)
        if data.gain is None or worst is None:
            y = self._solve_schur(uncoupled.sum(axis=0) - sums)
            return uncoupled - self._solve_outputs(np.broadcast_to(y, right.shape)), y, np.zeros(0), np.zeros(1)
        n = data.shape[1]
        base = self._solve_schur(
            np.concatenate([uncoupled.sum(axis=0) - sums, -(data.gain * uncoupled).sum(axis=0) + worst])
        )
        unit_response = self._solve_schur(np.concatenate([np.zeros(n), np.ones(n)]))
        shift = (prior - base[n:].sum()) / unit_response[n:].sum()
        combined = base + shift * unit_response
        y, pi = combined[:n], combined[n:]
        return uncoupled - self._solve_outputs(y - data.gain * pi), y, pi, np.array([shift])

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> GraphPoint:
        """Newton step that changes the products of slacks and multipliers by these amounts, refined once."""
        data, at, (aim_tie, aim_worst) = self.data, self.at, aims
        right = data.adjoint(aim_tie / at.t - self.tie_weight * self.tie_residual) + self.dual_residual
        worst = None if data.gain is None else aim_worst / at.prior - self.worst_residual
        p, y, prior, w = self._solve_coupled(right, self.sum_residual, worst, self.prior_residual)
        entry_residual = self.dual_residual - y + data.adjoint(self._tie_step(p, aim_tie))
        expectation_residual = None
        if data.gain is not None and worst is not None:
            entry_residual = entry_residual + data.gain * prior
            expectation_residual = worst - (data.gain * p).sum(axis=0) + w - at.e / at.prior * prior
        change = self._solve_coupled(
            entry_residual,
            self.sum_residual - p.sum(axis=0),
            expectation_residual,
            self.prior_residual - float(prior.sum()),
        )
        p, y, prior, w = p + change[0], y + change[1], prior + change[2], w + change[3]
        t, e = data.apply(p) + self.tie_residual, np.zeros(0)
        if data.gain is not None:
            e = (data.gain * p).sum(axis=0) - w + self.worst_residual
        return GraphPoint(p, t, e, w, self._tie_step(p, aim_tie), prior, y)

    def _tie_step(self, p: Float, aim: Float) -> Float:
        """Multipliers of the ties in the step that has these entries."""
        return np.asarray((aim - self.at.ties * (self.data.apply(p) + self.tie_residual)) / self.at.t)


def by_rows(matrix: Any, rows: Float) -> Float:
    """Apply a sparse matrix to every row of an array."""
    return np.ascontiguousarray((matrix @ rows.T).T)
