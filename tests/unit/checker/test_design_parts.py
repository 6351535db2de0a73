"""What the independent checker proves of designs, part by part, against definitions in rationals
and every set."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

import ldpopt_check as checker
from checker_cases import refused
from ldpopt_check import Condition, NotCheckedError, S

JUST = 1 + F(1, 10**30)


def vectors(c: int, b: F) -> Any:
    """``v = b + (1 - b) 1_A`` of every set."""
    return [[b + (1 - b) * inside for inside in part] for part in product((0, 1), repeat=c)]


def dot(left: Any, right: Any) -> Any:
    return sum(a * b for a, b in zip(left, right, strict=True))


def form_of(matrix: Any, v: Any) -> Any:
    return dot(v, [dot(row, v) for row in matrix])


def test_arithmetic() -> None:
    assert checker.short([[12, -8], [0, 4]]) == ([[3, -2], [0, 1]], F(4, S))
    assert checker.short([[0]]) == ([[0]], F(1, S))
    assert checker.short([[3]]) == ([[3]], F(1, S))
    assert checker.times([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[17, 23], [39, 53]]
    for value in (F(2), F(1, 3), F(10**80), F(9), F(1, 2**390)):
        found = checker.root(value)
        assert (found - F(1, 2**200)) ** 2 <= value < found**2
    assert checker.root(F(0)) == checker.root(F(-1)) == 0


@pytest.mark.parametrize("seed", range(8))
def test_costs_hold_up_to_equality_for_every_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = int(rng.integers(1, 5))
    half = rng.integers(-5, 6, (c, c))
    form = (half @ half.T).tolist()
    line = rng.integers(1, 9, c).tolist()
    r = rng.integers(0, 9, c).tolist()
    r[0] += 1
    base = [S // 3, S // 100, S - 7][seed % 3]
    found = max(form_of(form, v) / (dot(line, v) * dot(r, v)) for v in vectors(c, F(base, S)))
    unit = F(3, 7)
    step = F(3, 7) * (found or F(1)) * sum(r)
    total = sum(r)
    holds = []
    for more in (1, JUST, 1 / JUST):
        ratio = unit * total / (step * more)
        condition = Condition(form, line, r, ratio.numerator, ratio.denominator)
        holds.append(checker.sets_hold(condition, base, S))
    assert holds == [True, True, found == 0]


@pytest.mark.parametrize("seed", range(6))
def test_the_form_in_signs_is_eight_times_pairs_and_sizes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = int(rng.integers(1, 5))
    pairs = rng.integers(0, 9, (c, c))
    factor = int(rng.integers(0, 5))
    size = int(rng.integers(0, c + 1))
    given = {"pairs": pairs.astype(float).tolist(), "size": size, "factor": float(factor)}
    form = checker.eighths(given, c)
    for part in product((0, 1), repeat=c):
        signs = [1, *(2 * inside - 1 for inside in part)]
        both = sum(int(pairs[x, y]) for y in range(c) for x in range(y) if part[x] and part[y])
        number = sum(part)
        assert form_of(form, signs) == 8 * S * (
            both + factor * (number - size) * (number - size - 1)
        )
    assert checker.eighths(None, c) == [[0] * (c + 1)] * (c + 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"size": -1},
        {"size": 3},
        {"size": 1.0},
        {"factor": -5e-324},
        {"pairs": [[0.0, -5e-324], [0.0, 0.0]]},
    ],
)
def test_a_multiplier_that_is_negative_or_of_no_size_is_refused(changes: Any) -> None:
    given = {"pairs": [[0.0, 1.0], [-1.0, -1.0]], "size": 2, "factor": 0.0}
    assert not refused(checker.eighths, given, 2)
    assert refused(checker.eighths, given | changes, 2)


@pytest.mark.parametrize("seed", range(6))
def test_costs_in_signs_are_the_same_costs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """``8 S^2 (under (y.v)(r.v) - over v N v)`` less what is taken, for every set; the diagonal has
    no part in it."""
    rng = np.random.default_rng(seed)
    c = int(rng.integers(1, 5))
    half = rng.integers(-5, 6, (c, c))
    form = (half @ half.T).tolist()
    line = rng.integers(-3, 9, c).tolist()
    r = rng.integers(1, 9, c).tolist()
    base = S // 3
    over = 5
    under = 7
    unit = F(1, 2**10)
    taken = rng.integers(0, 5, (c + 1, c + 1))
    taken = (taken + taken.T).tolist()
    seen: list[Any] = []
    monkeypatch.setattr(checker, "semidefinite", lambda matrix: bool(seen.append(matrix)) or True)
    shift = rng.integers(-9, 9, c + 1).tolist()
    condition = Condition(form, line, r, over, under)
    assert checker.signs_hold(condition, base, S, list(shift), taken, unit)
    eighth = S * under * 2**10
    for part, v in zip(product((0, 1), repeat=c), vectors(c, F(base, S)), strict=True):
        signs = [1, *(2 * inside - 1 for inside in part)]
        plain = 8 * S * S * (under * dot(line, v) * dot(r, v) - over * form_of(form, v))
        assert form_of(seen[0], signs) == plain - eighth * form_of(taken, signs)
    diagonal = [seen[0][x + 1][x + 1] for x in range(c)]
    more = [shift[0], *(s + 1 for s in shift[1:])]
    checker.signs_hold(condition, base, S, more, taken, unit)
    assert [seen[1][x + 1][x + 1] - own for x, own in enumerate(diagonal)] == [8 * eighth] * c
    assert seen[0] == [list(column) for column in zip(*seen[0], strict=True)]


def is_semidefinite(matrix: Any) -> bool:
    """By elimination in rationals."""
    rows = [[F(entry) for entry in row] for row in matrix]
    while rows:
        pivot = rows[0][0]
        if pivot < 0 or (pivot == 0 and any(rows[0])):
            return False
        first = rows[0]
        rows = [
            [
                entry - (row[0] * other / pivot if pivot else 0)
                for entry, other in zip(row[1:], first[1:], strict=True)
            ]
            for row in rows[1:]
        ]
    return True


@pytest.mark.parametrize("seed", range(20))
def test_a_matrix_that_is_called_semidefinite_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    half = rng.integers(-(2**20), 2**20, (n, n + seed % 2))
    gram = (half.astype(object) @ half.T.astype(object)) << 60
    unit = max(int(gram[x, x]) for x in range(n))
    least = unit >> (30 if seed < 10 else 24)
    plenty = [[int(gram[i, j]) + (least if i == j else 0) for j in range(n)] for i in range(n)]
    assert checker.semidefinite(plenty)
    vector = rng.integers(-3, 4, n)
    vector[0] = 1
    for share in (40, 45, 50, 55, 60, 70):  # a direction of cost 0, less a share
        flat = [[int(gram[i, j]) for j in range(n)] for i in range(n)]
        inside = [[flat[i][j] for j in range(n - 1)] for i in range(n - 1)]
        bent = [[*row, dot(vector[:-1].tolist(), row)] for row in inside]
        last = dot(vector[:-1].tolist(), [row[-1] for row in bent])
        bent.append([row[-1] for row in bent] + [last - (unit >> share)])
        assert not is_semidefinite(bent)
        assert not checker.semidefinite(bent)


def test_a_diagonal_without_a_positive_entry_is_not_enough() -> None:
    assert not checker.semidefinite([[0]])
    assert not checker.semidefinite([[1, 0], [0, 0]])
    assert checker.semidefinite([[1 << 200]])
    assert not checker.semidefinite([[1 << 60, 1 << 61], [1 << 61, 1 << 60]])


def test_a_wrong_factor_in_floats_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats propose, integers decide."""
    matrix = [[4 << 100 if i == j else 1 << 100 for j in range(3)] for i in range(3)]
    assert checker.semidefinite(matrix)
    right = checker.dot

    def wrong(left, other):
        return right(left, other) - 0.01 * any(isinstance(entry, float) for entry in left)

    monkeypatch.setattr(checker, "dot", wrong)
    assert not checker.semidefinite(matrix)


@pytest.mark.parametrize("seed", range(40))
def test_lines_hold_up_to_equality_for_every_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = int(rng.integers(1, 6))
    base = [S // 3, S // 50, S - 9][seed % 3]
    k = [F(int(a), 8) for a in rng.integers(-8, 9, c)]
    if seed % 4 == 0:
        k[-1] = k[0]  # roots that coincide
    r = [F(int(a), 16) for a in rng.integers(0 if seed % 2 else 1, 3 if seed % 2 else 9, c)]
    r[0] += 1
    y = [F(int(a), 4) for a in rng.integers(1, 9, c)]
    if seed % 4 == 0:
        r[-1], y[-1] = r[0], y[0]
    found = max(dot(k, v) ** 2 / (dot(y, v) * dot(r, v)) for v in vectors(c, F(base, S)))
    for more, holds in ((1, True), (JUST, True), (1 / JUST, found == 0)):
        assert checker.line_holds(k, [found * more * entry for entry in y], r, F(base, S)) == holds


@pytest.mark.parametrize(
    ("k", "y", "r"),
    [
        ([5, -4], [9, 4], [4, 3]),
        ([-6, -3], [2, 12], [1, 0]),
        ([-2, -5, -2], [4, 1, 7], [2, 3, 0]),
        ([0, 6, 4], [11, 5, 9], [2, 3, 1]),
        ([6, -4, 2, 0], [1, 5, 12, 10], [3, 3, 0, 3]),
        ([6, -4, 2, 5], [2, 1, 3, 5], [4, 1, 0, 0]),
    ],
)
def test_lines_that_one_set_breaks_do_not_hold(k: Any, y: Any, r: Any) -> None:
    """Cases in which the set is found only where every root is in its place."""
    base = S // 3
    vs = vectors(len(k), F(S // 3, S))
    most = max(F(dot(k, v)) ** 2 / (dot(y, v) * dot(r, v)) for v in vs)
    k, r = [F(entry) for entry in k], [F(entry) for entry in r]
    for share, holds in ((F(99, 100), False), (F(1), True)):
        assert checker.line_holds(k, [most * share * entry for entry in y], r, F(base, S)) == holds


def test_negative_lines_do_not_hold() -> None:
    half = F(1, 2)
    assert not checker.line_holds([F(0), F(0)], [F(1), F(-3)], [F(1), F(1)], half)
    assert checker.line_holds([F(0), F(0)], [F(1), F(-1, 2)], [F(1), F(1)], half)
    assert not checker.line_holds([F(0), F(0)], [F(1), F(-3)], [F(1), F(0)], half)
    assert not checker.line_holds([F(0), F(0)], [F(1), F(-2, 3)], [F(1), F(0)], half)
    assert not checker.line_holds([F(0), F(-9)], [F(1), F(1)], [F(1), F(0)], half)
    assert not checker.line_holds([F(0), F(9)], [F(1), F(1)], [F(1), F(0)], half)
    with pytest.raises(NotCheckedError, match="too near"):
        checker.line_holds([F(1)] * 13 + [F(0)], [F(1, 2)] * 13 + [F(900)], [F(1)] * 14, half)


@pytest.mark.parametrize("sizes", [(2,), (4,), (2, 3), (3, 2), (2, 2, 3)])
def test_eigenvalues_of_products_are_products(sizes: tuple[int, ...]) -> None:
    """A form is a sum of products of identities (1 everywhere) and of ones (the size on what is
    constant, else 0)."""
    rng = np.random.default_rng(3)
    n = prod(sizes)
    form = np.zeros((n, n), int)
    values = np.zeros(2 ** len(sizes), int)
    for kinds in product((False, True), repeat=len(sizes)):
        part = np.ones((1, 1), int)
        own = [1]
        weight = int(rng.integers(1, 9))
        for kind, size in zip(kinds, sizes, strict=True):
            part = np.kron(part, np.ones((size, size), int) if kind else np.eye(size, dtype=int))
            own = [value * (factor if kind else 1) for value in own for factor in (size, 0)]
        form, values = form + weight * part, values + weight * np.array(own)
    assert checker.spectrum(form.tolist(), sizes) == (values.tolist(), 0)
    more = form.copy()
    more[0, 1] += 3 * n
    more[1, 0] += 3 * n
    found, rest = checker.spectrum(more.tolist(), sizes)
    pattern = np.array(
        [[[a != b for a, b in zip(x, z, strict=True)] for z in cells(sizes)] for x in cells(sizes)]
    )
    same = (pattern == pattern[0, 1]).all(axis=2)
    average = form + np.where(same, 6 * n / same.sum(), 0)
    assert rest == pytest.approx(np.abs(more - average).sum(axis=1).max())
    assert sorted(float(value) for value in found) == pytest.approx(sorted(set_of(average, sizes)))


def cells(sizes: tuple[int, ...]) -> Any:
    return product(*map(range, sizes))


def set_of(form: Any, sizes: tuple[int, ...]) -> Any:
    """One eigenvalue of a form for each set of attributes, by functions of just these
    attributes."""
    for kept in product((False, True), repeat=len(sizes)):
        function = np.ones(1)
        for keep, size in zip(kept, sizes, strict=True):
            function = np.kron(
                function, np.eye(size)[0] - np.eye(size)[1] if keep else np.ones(size)
            )
        yield float(function @ form @ function / (function @ function))
