"""Statements of docs/theory, tried by their definitions on random small cases, in rationals where
they are exact."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from builders import all_events, cases
from ldpopt import OneSided, Problem, UtilityOptimizedLDP, certify, solve
from ldpopt.certificate.program_bound import Multipliers, PairRows, bound
from ldpopt.solving.interior.central_path import CentralPath, CompactSystem

SEEDS = st.integers(0, 10**6)
NO_PAIRS = PairRows.joined([])


@cases(40)
@given(SEEDS, st.integers(2, 5), st.integers(2, 4), st.sampled_from([0.0, 0.07]))
def test_a_newton_step_solves_the_linearized_conditions(seed, n, k, delta) -> None:
    """docs/theory/interior.md, theorem 1, at points that satisfy the caps and the definition of w
    only."""
    rng = np.random.default_rng(seed)
    path = CentralPath(rng.normal(size=(n, k)), 0.4, 0.6, delta)
    b = path.b
    beta = path.beta
    c = path.c
    m = rng.uniform(0.1, 1, k)
    cap = delta + beta * m
    s = rng.uniform(0.1, 0.9, (n, k)) * cap
    y = rng.normal(size=n)
    z = rng.uniform(0.1, 1, (n, k))
    z += np.maximum(c - y[:, None], 0)
    h = rng.uniform(0.1, 1, k) if delta else np.zeros(k)
    at = type(path.at)(s, cap - s, m, y[:, None] + z - c, z, h, y)
    aims = tuple(rng.normal(size=part.shape) for part in (s, s, m))
    move = CompactSystem(path, at).direction(aims)

    def equal(left, right) -> None:
        assert left == pytest.approx(right, abs=1e-9, rel=1e-9)

    equal(at.s * move.w + at.w * move.s, aims[0])
    equal(at.t * move.z + at.z * move.t, aims[1])
    equal(move.s + move.t, np.tile(beta * move.m, (n, 1)))
    equal(move.w, move.y[:, None] + move.z)
    equal((s + move.s).sum(axis=1) + b * (m + move.m).sum(), np.ones(n))
    equal(
        h + move.h, -b * (c - (y + move.y)[:, None]).sum(axis=0) - beta * (z + move.z).sum(axis=0)
    )
    if delta:
        equal(at.m * move.h + at.h * move.m, aims[2])


@cases(60)
@given(st.data())
def test_filling_keeps_a_column_in_the_cone(data) -> None:
    """docs/theory/repair.md, lemma 2, in integers; the ratio is a = 5/2."""
    a = Fraction(5, 2)
    n = data.draw(st.integers(2, 4))
    total = 1000
    kept = data.draw(st.integers(500, 1000))
    slack = data.draw(st.sampled_from([Fraction(0), Fraction(1, 50)]))
    top = data.draw(st.integers(0, 300))
    least = max(-((-(top - slack * kept)) // a), 0)
    column = [top, *(data.draw(st.sampled_from([top, least])) for _ in range(n - 1))]
    assert all(x <= a * z + slack * kept for x, z in product(column, repeat=2))
    constant = data.draw(st.sampled_from([0, 1, 50]))
    most = (a - 1) * constant + slack * (total - kept)
    fill = [data.draw(st.sampled_from([0, int(most)])) for _ in range(n)]
    filled = [entry + constant + more for entry, more in zip(column, fill, strict=True)]
    assert all(x <= a * z + slack * total for x, z in product(filled, repeat=2))


@cases(60)
@given(st.data())
def test_mixing_with_a_constant_row_makes_a_channel_private(data) -> None:
    """docs/theory/repair.md, lemma 3, for two rows and every event, in rationals."""
    alpha = Fraction(3, 2)
    delta = data.draw(st.sampled_from([Fraction(0), Fraction(1, 20)]))

    def row() -> list[Fraction]:
        parts = [Fraction(data.draw(st.integers(1, 20))) for _ in range(3)]
        return [part / sum(parts) for part in parts]

    first = row()
    second = row()
    constant = row()
    events = [event for size in (1, 2, 3) for event in combinations(range(3), size)]

    def excess(one: list[Fraction], other: list[Fraction], event: tuple[int, ...]) -> Fraction:
        return sum((one[y] - alpha * other[y] for y in event), Fraction(0))

    def largest(share: Fraction) -> Fraction:
        rows = [
            [(1 - share) * p + share * c for p, c in zip(r, constant, strict=True)]
            for r in (first, second)
        ]
        return max(excess(rows[i], rows[1 - i], event) for i in (0, 1) for event in events)

    violation = largest(Fraction(0)) - delta
    if violation <= 0:
        return
    least = min(sum((constant[y] for y in event), Fraction(0)) for event in events)
    share = violation / (violation + delta + (alpha - 1) * least)
    assert largest(share) <= delta < largest(Fraction(0))
    if delta:
        assert largest(violation / (violation + delta)) <= delta


@cases(40)
@given(SEEDS, st.integers(2, 3), st.integers(2, 3))
def test_any_numbers_prove_a_bound_for_all_events(seed, n, m) -> None:
    """docs/theory/row_generation.md, theorem 3, against the program of all events."""
    rng = np.random.default_rng(seed)
    b = rng.uniform(0.2, 0.9)
    delta = rng.uniform(0, 0.3)
    costs = rng.normal(size=(n, m))
    eta = rng.normal(size=n)
    nu = rng.random((n, n))
    shares = rng.random((n, n, m)) * nu[:, :, None]
    for i in range(n):
        nu[i, i], shares[i, i] = 0, 0
    given_up = b * shares.sum(axis=1) - shares.sum(axis=0)
    h = float((costs - eta[:, None] - given_up).max())
    proved = eta.sum() + n * h + b * delta * nu.sum()

    rows = []
    sides = []
    for i, k in product(range(n), repeat=2):
        for event in all_events(m):
            if i != k and event:
                row = np.zeros((n, m))
                row[i, list(event)] = b
                row[k, list(event)] = -1
                rows.append(row.ravel())
                sides.append(b * delta)
    sums = np.kron(np.eye(n), np.ones(m))
    optimum = -linprog(-costs.ravel(), np.array(rows), sides, sums, np.ones(n)).fun
    assert optimum <= proved + 1e-9


@cases(30)
@given(SEEDS, st.integers(3, 7))
def test_balls_change_by_one_factor_along_an_edge(seed, n) -> None:
    """docs/theory/graphs.md, proposition 2, for every set of inputs and every depth; exponents are
    whole numbers."""
    rng = np.random.default_rng(seed)
    graph = nx.random_labeled_tree(n, seed=seed)
    graph.add_edges_from((int(x), int(z)) for x, z in rng.integers(0, n, (2, 2)) if x != z)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    query = rng.integers(0, 3, n)
    for size in range(1, n + 1):
        for kept in combinations(range(n), size):
            near = [min(hops[x][a] for a in kept) for x in range(n)]
            assert all(abs(near[x] - near[z]) <= 1 for x, z in graph.edges)
    for value, depth in product(set(query.tolist()), range(n)):
        layer = [min(hops[x][z] for z in range(n) if query[z] == value) for x in range(n)]
        exponents = [max(depth - number, 0) for number in layer]
        assert all(abs(exponents[x] - exponents[z]) <= 1 for x, z in graph.edges)


@cases(40)
@given(SEEDS, st.integers(2, 4), st.integers(1, 3))
def test_one_multiplier_of_a_pair_is_enough(seed, n, m) -> None:
    """docs/theory/blocks.md, proposition 6: the bound does not rise."""
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(n, m))
    more, less = np.sort(rng.random((2, m)), axis=0)[::-1]
    r, back = rng.random(2)

    def proved(forward: np.ndarray, backward: np.ndarray) -> float:
        """Bound with multipliers of ``p1 - r p0 >= 0`` and ``p0 - back p1 >= 0``."""
        moved = costs.copy()
        moved[1] += forward - back * backward
        moved[0] += backward - r * forward
        return float(moved.max(axis=1).sum())

    assert proved(more - back * less, np.zeros(m)) <= proved(more, less) + 1e-12


@cases(20)
@given(SEEDS, st.sampled_from(["one-sided", "utility-optimized"]))
def test_any_row_sums_prove_a_bound_where_some_inputs_are_capped(seed, kind) -> None:
    """docs/theory/certificates.md, theorem 3, at random multipliers; with those of a solution the
    bound is tight."""
    rng = np.random.default_rng(seed)
    notion = OneSided(1.0, [0, 1]) if kind == "one-sided" else UtilityOptimizedLDP(1.0, [0, 1])
    problem = Problem(rng.dirichlet(np.ones(4)), rng.normal(size=(4, 4)), notion)
    answer = solve(problem)
    for _ in range(5):
        found = bound(problem, Multipliers("compact", rng.normal(size=4), None, NO_PAIRS, ()))
        assert float(found) >= answer.value - 1e-9
    assert float(certify(answer).bound) == pytest.approx(answer.value, abs=1e-8)


@cases(40)
@given(SEEDS, st.integers(2, 5), st.floats(0.1, 3))
def test_points_of_the_elliptope_have_the_stated_value(seed, n, epsilon) -> None:
    """docs/theory/estimation_algorithms.md, proposition 2: the moments of unit vectors against the
    formula."""
    rng = np.random.default_rng(seed)
    b = np.exp(-epsilon)
    r = rng.dirichlet(np.ones(n))
    a = (1 + b) / 2
    h = (1 - b) / 2
    t = rng.uniform(-0.9, 0.9)
    u = rng.normal(size=(n, n + 1))
    u /= np.linalg.norm(u, axis=1)[:, None]
    workload = rng.normal(size=(2, n))
    centered = workload - np.outer(workload @ r, np.ones(n))
    gram = centered.T @ centered
    turned = np.eye(n) - np.outer(np.ones(n), r)
    length = h * t + np.sqrt(a**2 - h**2 * (1 - t**2) * ((r @ u) ** 2).sum())
    inverse = np.linalg.pinv(turned @ u @ u.T @ turned.T, rcond=1e-10)
    stated = length**2 / (h**2 * (1 - t**2)) * np.trace(gram @ inverse)

    z = np.column_stack([np.full(n, t), np.sqrt(1 - t**2) * u])
    first = (np.eye(1, n + 2)[0] * length - h * r @ z) / a
    assert np.linalg.norm(np.vstack([first, z]), axis=1) == pytest.approx(np.ones(n + 1))
    v = a * first + h * z
    moments = v @ v.T / (v @ (r @ v))[0]
    assert moments @ r == pytest.approx(np.ones(n))
    assert np.trace(gram @ np.linalg.pinv(moments - 1, rcond=1e-10)) == pytest.approx(
        stated, rel=1e-6
    )
