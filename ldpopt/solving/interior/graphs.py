r"""Interior point for channels tied pair by pair: graphs and metrics, where every output is a block of its own.

Privacy rows ``P[k, y] - r P[i, y] >= 0`` stay within an output; only the row sums (and, for a worst case, the inputs'
expectations) join the outputs. So a Newton step factors one matrix of order ``n`` for each output, a graph Laplacian
with weights, and one of order ``n`` (or ``2 n``) for what joins them: ``O(m n^3)``, instead of the ``n m`` columns of a
general method. Theory: docs, "Graphs and metrics: an interior point by outputs".
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.sparse import csr_array

from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.foundation.checks import Float
from ldpopt.foundation.rows import Int
from ldpopt.solvers import Outcome, Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.interior.threads import few_threads

GAP = 1e-11
"""Distance of bound and value, over the larger of the bound and a hundredth of the spread, that ends the iteration."""

MOST_STEPS = 120
"""Iterations; 10 to 45 are usual."""

IDLE = 5
"""Iterations without a better point after which the best one is returned."""

SHORT = 0.995
"""Share of the way to the boundary that a step goes."""

LEAST = 1e-3
"""Privacy loss along a tie below which the inside of the cones is too thin for floats."""

SOLVED = 1e-9
"""Gap up to which an answer counts as optimal."""

CORRECTIONS = 2
"""Tries to lengthen a step by bringing outlying products of slack and multiplier back (Gondzio 1996)."""


@dataclass(frozen=True)
class _Data:
    """The program by outputs: arrays have shape (m, n) for entries, (m, pairs) for ties."""

    cost: Float
    gain: Float | None
    first: Int
    second: Int
    ratio: Float
    unit: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.cost.shape[0], self.cost.shape[1]


def fits(program: LinearProgram) -> bool:
    """Whether a program is of the kind that this solver takes: pairwise ties without slack, and nothing else."""
    return _read(program) is not None


class Blocks:
    """Interior point by outputs for graph and metric privacy; its point is in the middle of the optimal face."""

    name = "blocks"
    quick = math.inf

    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Solve; options are ``gap`` and ``iterations``.

        Raises
        ------
        NotRepresentableError, SolverOptionError
            For a program with other rows than ties, or too tight ones; for other options.
        """
        deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
        settings = {"gap": GAP, "iterations": MOST_STEPS} | options
        if len(settings) > 2:
            raise SolverOptionError(f"blocks knows no option {sorted(set(options) - {'gap', 'iterations'})}")
        data = _read(program)
        if data is None:
            what = "the interior point by outputs solves pairwise programs of ties of 0.001 nats or more, no side rows"
            raise NotRepresentableError(what, do='use solver="highs"')
        with few_threads(program.structure.shape[0]):
            return _followed(program, data, settings, deadline)


def _followed(program: LinearProgram, data: _Data, settings: dict[str, Any], deadline: float) -> Outcome:
    """Follow the path until the gap is small enough, or no longer falls."""
    state = _State.start(data)
    best, value, stale = state, _Value.of(data, state), 0
    for step in range(int(settings["iterations"])):
        if value.gap <= settings["gap"] or stale >= IDLE:
            break
        if time.perf_counter() > deadline:
            return Outcome(Status.LIMIT, f"time limit after {step} iterations, gap {value.gap:.1e}")
        moved = _Newton(data, state).step()
        if moved is None:
            break
        state = moved
        now = _Value.of(data, state)
        best, value, stale = (state, now, 0) if now.distance < value.distance else (best, value, stale + 1)
    return _outcome(program, data, best, value)


def _read(program: LinearProgram) -> _Data | None:
    """Read the blocks out of a pairwise program, or None if it has other rows."""
    structure = program.structure
    spans = {span.name: span for span in program.rows}
    if getattr(structure, "form", "") != "pairwise" or len(spans) != len(program.rows):
        return None
    if list(spans) not in (["row_sum", "privacy"], ["row_sum", "privacy", "worst_case"]):
        return None
    (n, m), block = structure.shape, spans["privacy"].block
    if block is None or n < 2:
        return None
    size = len(block) // m
    if len(block.row) != 2 * size * m or np.isfinite(block.lower).any() or block.upper.any():
        return None
    pairs, ratio = block.x.reshape(size, m, 2), block.coefficient.reshape(size, m, 2)
    first, second = pairs[:, 0, 0], pairs[:, 0, 1]
    alike = (
        (pairs == pairs[:, :1]).all()
        and (block.y.reshape(size, m, 2) == np.arange(m)[None, :, None]).all()
        and (ratio == ratio[:, :1]).all()
        and (ratio[:, 0, 1] == -1).all()
        and ((ratio[:, 0, 0] > 0) & (ratio[:, 0, 0] < 1 - LEAST)).all()
    )
    # Mutual ties make every entry non-negative by themselves, and every block's matrix positive definite.
    mutual = set(zip(first.tolist(), second.tolist(), strict=True))
    if not alike or any((k, i) not in mutual for i, k in mutual) or len(set(first.tolist())) < n:
        return None
    sign = 1.0 if program.maximize else -1.0
    gain = None
    if "worst_case" in spans:
        rows = spans["worst_case"]
        dense = program.matrix[rows.slice].toarray()[:, : n * m].reshape(n, n, m)
        gain = -sign * dense[np.arange(n), np.arange(n)].T
    cost = sign * structure.weighted.T
    unit = float(np.abs(cost if gain is None else gain / n).max())
    if not unit > 0 or not math.isfinite(unit):
        return None
    scaled = None if gain is None else np.ascontiguousarray(gain) / unit
    return _Data(np.ascontiguousarray(cost) / unit, scaled, first, second, ratio[:, 0, 0].copy(), unit)


@dataclass(frozen=True)
class _State:
    """A point: entries ``p`` and slacks ``t`` of the ties, ``e`` of expectations; multipliers ``ties, sums, prior``."""

    p: Float
    t: Float
    ties: Float
    sums: Float
    e: Float
    prior: Float
    worst: float

    @classmethod
    def start(cls, data: _Data) -> _State:
        """Uniform reports are private with room to spare; all products of slack and multiplier are the same."""
        m, n = data.shape
        t = np.repeat(((1 - data.ratio) / m)[None], m, axis=0)
        if data.gain is None:
            size = float(np.abs(data.cost).max())
            e, prior, worst = np.zeros(0), np.zeros(0), 0.0
        else:
            size = float(np.abs(data.gain).max()) / n
            mean = data.gain.mean(axis=0)
            worst = float(mean.min()) - max(size, float(np.ptp(mean)))
            e, prior = mean - worst, np.full(n, 1 / n)
        cost = data.cost if data.gain is None else data.gain * prior
        return cls(np.full((m, n), 1 / m), t, size * float(t.mean()) / t, cost.max(axis=0), e, prior, worst)


@dataclass(frozen=True)
class _Value:
    """What a point proves: how far its value is from the bound of its multipliers, also as a share."""

    distance: float
    gap: float

    @classmethod
    def of(cls, data: _Data, state: _State) -> _Value:
        p = np.maximum(state.p, 0.0)
        p = p / p.sum(axis=0)
        if data.gain is None:
            cost, value = data.cost, float((data.cost * p).sum())
        else:
            cost = data.gain * (state.prior / state.prior.sum())
            value = float((data.gain * p).sum(axis=0).min())
        bound = float((cost + _pull(data, state.ties)).max(axis=0).sum())
        spread = float((cost.max(axis=0) - cost.min(axis=0)).sum())
        out = float(np.abs(1 - state.p.sum(axis=0)).max())
        distance = max(bound - value, 0.0) if out < 1e-6 and math.isfinite(bound - value) else math.inf
        return cls(distance, distance / max(abs(bound), spread / 100, 1e-300))


def _over(data: _Data, p: Float) -> Float:
    """What the ties leave over: ``P[k, y] - r P[i, y]``, shape (m, pairs)."""
    return p[:, data.second] - data.ratio * p[:, data.first]


def _pull(data: _Data, ties: Float) -> Float:
    """Transpose of `_over`, shape (m, n)."""
    n = data.shape[1]
    size = np.arange(len(data.first))
    entries = np.concatenate([np.ones(len(size)), -data.ratio])
    place = (np.concatenate([data.second, data.first]), np.concatenate([size, size]))
    return _times(csr_array((entries, place), shape=(n, len(size))), ties)


def _times(matrix: Any, rows: Float) -> Float:
    """Apply a sparse matrix to every row of an array."""
    return np.ascontiguousarray((matrix @ rows.T).T)


def _longest(*pairs: tuple[Float, Float]) -> float:
    """Longest step, at most 1, that keeps all arrays positive."""
    longest = 1.0
    for array, step in pairs:
        down = step < 0
        if down.any():
            longest = min(longest, float((array[down] / -step[down]).min()))
    return longest


class _Newton:
    """The linear system of one iteration, factored, and the steps found with it."""

    def __init__(self, data: _Data, state: _State) -> None:
        self.data, self.state = data, state
        m, n = data.shape
        self.weight = state.ties / state.t
        cost = data.cost if data.gain is None else data.gain * state.prior
        self.left_sum = 1 - state.p.sum(axis=0)
        self.left_tie = _over(data, state.p) - state.t
        self.left_dual = cost - state.sums + _pull(data, state.ties)
        if data.gain is not None:
            self.left_worst = (data.gain * state.p).sum(axis=0) - state.worst - state.e
        self._factor(m, n)

    def _factor(self, m: int, n: int) -> None:
        """Factor each output's matrix and add up their inverses for what joins the outputs."""
        data, gain = self.data, self.data.gain
        low, high = np.minimum(data.first, data.second), np.maximum(data.first, data.second)
        key, inverse = np.unique(low * n + high, return_inverse=True)
        row, column, pairs = key // n, key % n, np.arange(len(inverse))
        off = _times(csr_array((-data.ratio, (inverse, pairs)), shape=(len(key), len(pairs))), self.weight)
        squares = np.concatenate([np.ones(len(pairs)), data.ratio**2])
        place = (np.concatenate([data.second, data.first]), np.concatenate([pairs, pairs]))
        diagonal = _times(csr_array((squares, place), shape=(n, len(pairs))), self.weight)
        joined = np.zeros((n, n) if gain is None else (2 * n, 2 * n))
        matrix, own = np.zeros((n, n), order="F"), np.arange(n)
        self.factors: list[tuple[Float, Float]] = []
        for j in range(m):
            scale = 1 / np.sqrt(diagonal[j])
            matrix[row, column] = matrix[column, row] = off[j] * scale[row] * scale[column]
            matrix[own, own] = 1.0
            factor = _cholesky(matrix)
            self.factors.append((factor, scale))
            inverted, _ = dpotri(factor, lower=1)
            inverted = scale[:, None] * (inverted + np.tril(inverted, -1).T) * scale
            joined[:n, :n] += inverted
            if gain is not None:
                joined[:n, n:] -= inverted * gain[j]
                joined[n:, n:] += gain[j][:, None] * inverted * gain[j]
        if gain is not None:
            joined[n:, :n] = joined[:n, n:].T
            joined[own + n, own + n] += self.state.e / self.state.prior
        self.join_scale = 1 / np.sqrt(np.diag(joined))
        self.join = _cholesky(np.asfortranarray(joined * self.join_scale * self.join_scale[:, None]))

    def _blocks(self, right: Float) -> Float:
        """Solve every output's system, right-hand sides of shape (m, n)."""
        parts = zip(self.factors, right, strict=True)
        return np.stack([scale * dpotrs(factor, scale * one, lower=1)[0] for (factor, scale), one in parts])

    def _joined(self, right: Float) -> Float:
        return np.asarray(self.join_scale * dpotrs(self.join, self.join_scale * right, lower=1)[0])

    def _coupled(self, right: Float, sums: Float, worst: Float | None, prior: float) -> tuple[Float, ...]:
        """Solve the blocks together with the row sums and, in the worst case, the expectations."""
        data = self.data
        free = self._blocks(right)
        if data.gain is None or worst is None:
            y = self._joined(free.sum(axis=0) - sums)
            return free - self._blocks(np.broadcast_to(y, right.shape)), y, np.zeros(0), np.zeros(1)
        n = data.shape[1]
        base = self._joined(np.concatenate([free.sum(axis=0) - sums, -(data.gain * free).sum(axis=0) + worst]))
        along = self._joined(np.concatenate([np.zeros(n), np.ones(n)]))
        shift = (prior - base[n:].sum()) / along[n:].sum()
        both = base + shift * along
        y, pi = both[:n], both[n:]
        return free - self._blocks(y - data.gain * pi), y, pi, np.array([shift])

    def _direction(self, aim_tie: Float, aim_worst: Float) -> tuple[Float, ...]:
        """Newton direction for given products, refined once: ``(p, sums, prior, worst, t, ties, e)``."""
        data, state = self.data, self.state
        right = _pull(data, aim_tie / state.t - self.weight * self.left_tie) + self.left_dual
        worst = None if data.gain is None else aim_worst / state.prior - self.left_worst
        left = 0.0 if data.gain is None else 1 - float(state.prior.sum())
        p, y, pi, w = self._coupled(right, self.left_sum, worst, left)
        for refining in (True, False):
            t = _over(data, p) + self.left_tie
            ties = (aim_tie - state.ties * t) / state.t
            e = np.zeros(0) if data.gain is None else (data.gain * p).sum(axis=0) - w + self.left_worst
            if refining:
                drift = self.left_dual - y + _pull(data, ties)
                rest = None
                if data.gain is not None and worst is not None:
                    drift = drift + data.gain * pi
                    rest = worst - (data.gain * p).sum(axis=0) + w - state.e / state.prior * pi
                more = self._coupled(drift, self.left_sum - p.sum(axis=0), rest, left - float(pi.sum()))
                p, y, pi, w = p + more[0], y + more[1], pi + more[2], w + more[3]
        return p, y, pi, w, t, ties, e

    def step(self) -> _State | None:
        """Predict, correct, and move; None where the numbers have given out."""
        state = self.state
        count = state.t.size + state.e.size
        middle = (float((state.ties * state.t).sum()) + float(state.prior @ state.e)) / count
        first = self._direction(-state.ties * state.t, -state.prior * state.e)
        ahead, behind = self._lengths(first)
        _, _, pi, _, t, ties, e = first
        reached = float(((state.ties + behind * ties) * (state.t + ahead * t)).sum())
        reached += float((state.prior + behind * pi) @ (state.e + ahead * e))
        aim = middle * (max(reached, 0.0) / count / middle) ** 3
        aims = aim - state.ties * state.t - ties * t, aim - state.prior * state.e - pi * e
        best = self._direction(*aims)
        ahead, behind = self._lengths(best)
        for _ in range(CORRECTIONS):
            _, _, pi, _, t, ties, e = best
            wide, deep = min(1.0, 1.1 * ahead + 0.1), min(1.0, 1.1 * behind + 0.1)
            aims = (
                aims[0] + _correction((state.t + wide * t) * (state.ties + deep * ties), aim),
                aims[1] + _correction((state.e + wide * e) * (state.prior + deep * pi), aim),
            )
            trial = self._direction(*aims)
            lengths = self._lengths(trial)
            if sum(lengths) < 1.01 * (ahead + behind):
                break
            best, (ahead, behind) = trial, lengths
        ahead, behind = min(1.0, SHORT * ahead), min(1.0, SHORT * behind)
        p, y, pi, w, t, ties, e = best
        if not all(np.isfinite(part).all() for part in best):
            return None
        return _State(
            state.p + ahead * p,
            state.t + ahead * t,
            state.ties + behind * ties,
            state.sums + behind * y,
            state.e + ahead * e,
            state.prior + behind * pi,
            state.worst + ahead * float(w[0]),
        )

    def _lengths(self, direction: tuple[Float, ...]) -> tuple[float, float]:
        _, _, pi, _, t, ties, e = direction
        state = self.state
        return _longest((state.t, t), (state.e, e)), _longest((state.ties, ties), (state.prior, pi))


def _correction(products: Float, aim: float) -> Float:
    """Change that brings products into [aim / 10, 10 aim], none by more than 10 aim downwards."""
    return np.asarray(np.maximum(np.clip(products, 0.1 * aim, 10 * aim) - products, -10 * aim))


def _cholesky(matrix: Float) -> Float:
    """Lower factor of a matrix with unit diagonal; where roundoff spoils it, of one with a slightly larger diagonal."""
    ridge = 0.0
    while True:
        lifted = matrix.copy(order="F")
        lifted[np.diag_indices(len(lifted))] += ridge
        factor, failed = dpotrf(lifted, lower=1, overwrite_a=1)
        if not failed or ridge > 1:
            return np.asarray(factor)
        ridge = max(100 * ridge, 1e-15)


def _outcome(program: LinearProgram, data: _Data, state: _State, value: _Value) -> Outcome:
    sign = 1.0 if program.maximize else -1.0
    duals = np.zeros(program.shape[0])
    spans = {span.name: span for span in program.rows}
    duals[spans["row_sum"].slice] = sign * data.unit * state.sums
    # Rows are written as r P[i] - P[k] <= 0.
    duals[spans["privacy"].slice] = sign * data.unit * state.ties.T.reshape(-1)
    point = state.p.T.reshape(-1)
    if data.gain is not None:
        prior = state.prior / state.prior.sum()
        duals[spans["worst_case"].slice] = sign * prior
        by_input = (data.gain * state.p).sum(axis=0)
        point = np.append(point, sign * data.unit * by_input.min())
    reduced = program.objective - program.matrix.T @ duals
    status = Status.OPTIMAL if value.gap <= SOLVED else Status.FAILED
    return Outcome(status, f"gap {value.gap:.1e}", np.maximum(point, program.column_lower), duals, reduced)
