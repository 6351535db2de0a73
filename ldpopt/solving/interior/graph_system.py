"""The Newton system of the interior point for graphs and metrics: a block for each output, joined by the row sums."""

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

    Numbers are divided by ``unit``, the largest of them.
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
        """Uniform reports are private with room to spare; all products of slack and multiplier are the same."""
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
        """How far the value of a point is from the bound of its multipliers, also as a share."""
        p = np.maximum(at.p, 0.0)
        p = p / p.sum(axis=0)
        cost = self.cost if self.gain is None else self.gain * (at.prior / at.prior.sum())
        value = float((cost * p).sum()) if self.gain is None else float((self.gain * p).sum(axis=0).min())
        bound = float((cost + self.adjoint(at.ties)).max(axis=0).sum())
        spread = float((cost.max(axis=0) - cost.min(axis=0)).sum())
        residual = float(np.abs(1 - at.p.sum(axis=0)).max())
        apart = max(bound - value, 0.0) if residual < 1e-6 and math.isfinite(bound - value) else math.inf
        return apart, apart / max(abs(bound), spread / 100, 1e-300)


@dataclass(frozen=True)
class GraphPoint(Point):
    """A point of the iteration, or a step: entries, slacks of ties and expectations; their multipliers.

    Entries and row sums' multipliers ``sums`` are free, as is the worst case's value ``worst``.
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
    """The linear system of one iteration, factored."""

    def __init__(self, data: GraphProgram, at: GraphPoint) -> None:
        self.data, self.at = data, at
        self.weight = at.ties / at.t
        self.left_sum = 1 - at.p.sum(axis=0)
        self.left_tie = data.apply(at.p) - at.t
        self.left_dual = data.priced(at.prior) - at.sums + data.adjoint(at.ties)
        self.left_prior = 0.0 if data.gain is None else 1 - float(at.prior.sum())
        if data.gain is not None:
            self.left_worst = (data.gain * at.p).sum(axis=0) - at.worst - at.e
        self._factor()

    def _factor(self) -> None:
        """Factor each output's matrix and add up their inverses for what joins the outputs."""
        (m, n), gain = self.data.shape, self.data.gain
        row, column, off, diagonal = self._laplacians()
        joined = np.zeros((n, n) if gain is None else (2 * n, 2 * n))
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
            joined[:n, :n] += inverted
            if gain is not None:
                joined[:n, n:] -= inverted * gain[j]
                joined[n:, n:] += gain[j][:, None] * inverted * gain[j]
        if gain is not None:
            joined[n:, :n] = joined[:n, n:].T
            joined[own + n, own + n] += self.at.e / self.at.prior
        self.join_scale = 1 / np.sqrt(np.diag(joined))
        self.join = cholesky(np.asfortranarray(joined * self.join_scale * self.join_scale[:, None]))

    def _laplacians(self) -> tuple[Int, Int, Float, Float]:
        """Pairs of inputs, and for each output their weights off the diagonal and the weights on it."""
        data, n = self.data, self.data.shape[1]
        low, high = np.minimum(data.first, data.second), np.maximum(data.first, data.second)
        key, inverse = np.unique(low * n + high, return_inverse=True)
        pairs = np.arange(len(inverse))
        off = by_rows(csr_array((-data.ratio, (inverse, pairs)), shape=(len(key), len(pairs))), self.weight)
        squares = np.concatenate([np.ones(len(pairs)), data.ratio**2])
        place = (np.concatenate([data.second, data.first]), np.concatenate([pairs, pairs]))
        diagonal = by_rows(csr_array((squares, place), shape=(n, len(pairs))), self.weight)
        return key // n, key % n, off, diagonal

    def _by_output(self, right: Float) -> Float:
        """Solve every output's system, right-hand sides of shape (m, n)."""
        parts = zip(self.factors, right, strict=True)
        return np.stack([scale * dpotrs(factor, scale * one, lower=1)[0] for (factor, scale), one in parts])

    def _joined(self, right: Float) -> Float:
        return np.asarray(self.join_scale * dpotrs(self.join, self.join_scale * right, lower=1)[0])

    def _coupled(
        self, right: Float, sums: Float, worst: Float | None, prior: float
    ) -> tuple[Float, Float, Float, Float]:
        """Solve all outputs together with the row sums and, in the worst case, the expectations."""
        data = self.data
        free = self._by_output(right)
        if data.gain is None or worst is None:
            y = self._joined(free.sum(axis=0) - sums)
            return free - self._by_output(np.broadcast_to(y, right.shape)), y, np.zeros(0), np.zeros(1)
        n = data.shape[1]
        base = self._joined(np.concatenate([free.sum(axis=0) - sums, -(data.gain * free).sum(axis=0) + worst]))
        along = self._joined(np.concatenate([np.zeros(n), np.ones(n)]))
        shift = (prior - base[n:].sum()) / along[n:].sum()
        both = base + shift * along
        y, pi = both[:n], both[n:]
        return free - self._by_output(y - data.gain * pi), y, pi, np.array([shift])

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> GraphPoint:
        """Newton step that changes the products of slacks and multipliers by these amounts, refined once."""
        data, at, (aim_tie, aim_worst) = self.data, self.at, aims
        right = data.adjoint(aim_tie / at.t - self.weight * self.left_tie) + self.left_dual
        worst = None if data.gain is None else aim_worst / at.prior - self.left_worst
        p, y, prior, w = self._coupled(right, self.left_sum, worst, self.left_prior)
        drift = self.left_dual - y + data.adjoint(self._ties(p, aim_tie))
        rest = None
        if data.gain is not None and worst is not None:
            drift = drift + data.gain * prior
            rest = worst - (data.gain * p).sum(axis=0) + w - at.e / at.prior * prior
        more = self._coupled(drift, self.left_sum - p.sum(axis=0), rest, self.left_prior - float(prior.sum()))
        p, y, prior, w = p + more[0], y + more[1], prior + more[2], w + more[3]
        t, e = data.apply(p) + self.left_tie, np.zeros(0)
        if data.gain is not None:
            e = (data.gain * p).sum(axis=0) - w + self.left_worst
        return GraphPoint(p, t, e, w, self._ties(p, aim_tie), prior, y)

    def _ties(self, p: Float, aim: Float) -> Float:
        """Multipliers of the ties in the step that has these entries."""
        return np.asarray((aim - self.at.ties * (self.data.apply(p) + self.left_tie)) / self.at.t)


def by_rows(matrix: Any, rows: Float) -> Float:
    """Apply a sparse matrix to every row of an array."""
    return np.ascontiguousarray((matrix @ rows.T).T)
