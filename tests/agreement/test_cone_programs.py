"""Random problems under all notions that are lists of comparisons, and intersections of them: the
optimum of an own program, the definition in rationals, and every solver.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

import ldpopt as lo
from builders import sample_or_all

LABELS = "abcdef"
ERRORS = {
    "auto": (1e-8, 1e-12),
    "highs": (1e-8, 1e-12),
    "cbc": (1e-8, 1e-7),  # it prints multipliers of a few digits
    "cvxpy:CLARABEL": (1e-6, 1e-5),  # an interior point
}
"""Solvers, with the largest error of a value and the largest certified gap."""

SOLVERS = tuple(ERRORS)


def unit(n, x):
    return [float(k == x) for k in range(n)]


def statements(rng, n):
    """Notions on n answers, with their definitions as lists of averages and ratios, by hand."""
    epsilon = float(rng.choice([0.05, 0.3, 1.0, 2.0]))
    labels = LABELS[:n]
    a = math.exp(epsilon)
    weights = rng.integers(1, 9, n).tolist()
    prior = dict(zip(labels, weights, strict=True))
    mean = [w / sum(weights) for w in weights]
    others = [rng.integers(1, 9, n).tolist() for _ in range(2)]
    rows = [[w / sum(row) for w in row] for row in others]
    table = {
        (labels[x], labels[k]): round(float(rng.uniform(0.2, 2)), 3)
        for x in range(n)
        for k in range(n)
        if x != k and rng.random() < 0.8
    } or {(labels[0], labels[1]): 0.5}
    known = {**{(x, k): None for x in labels for k in labels if x != k}, **table}
    pairs = [(x, k) for x in range(n) for k in range(n) if x != k]
    secrets = dict(zip("st", (dict(zip(labels, row, strict=True)) for row in others), strict=True))
    over_mean = [(unit(n, x), mean, a) for x in range(n)]
    return {
        "pure": (lo.PureLDP(epsilon), [(unit(n, x), unit(n, k), a) for x, k in pairs]),
        "leakage": (lo.PML(epsilon, prior), over_mean),
        "information": (
            lo.InformationPrivacy(epsilon, prior),
            over_mean + [(mean, unit(n, x), a) for x in range(n)],
        ),
        "secrets": (
            lo.Secrets(epsilon, secrets),
            [(rows[0], rows[1], a), (rows[1], rows[0], a)],
        ),
        "pairwise": (
            lo.PairwiseLDP(known),
            [
                (unit(n, x), unit(n, k), math.exp(known[labels[x], labels[k]]))
                for x, k in pairs
                if known[labels[x], labels[k]] is not None
            ],
        ),
        "path": (
            lo.GraphDP(epsilon / 2, lo.neighbors.path(labels)),
            [(unit(n, x), unit(n, k), math.sqrt(a)) for x, k in pairs if abs(x - k) == 1],
        ),
    }


def own_optimum(prior, gain, bounds):
    """The best channel of a linear program that is written here."""
    n, m = gain.shape
    rows = []
    for over, under, ratio in bounds:
        for y in range(m):
            row = np.zeros((n, m))
            row[:, y] = np.array(over) / ratio - np.array(under)
            rows.append(row.reshape(-1))
    sums = np.kron(np.eye(n), np.ones(m))
    found = linprog(
        -(np.array(prior)[:, None] * gain).reshape(-1),
        np.array(rows),
        np.zeros(len(rows)),
        sums,
        np.ones(n),
        method="highs",
    )
    return -found.fun


def is_private(mechanism, bounds):
    """Whether all bounds hold for the masses, in rationals, up to the float of a ratio."""
    columns = [[Fraction(int(v)) for v in column] for column in mechanism.masses.T]
    for over, under, ratio in bounds:
        for column in columns:
            above = sum(Fraction(w) * v for w, v in zip(over, column, strict=True))
            below = sum(Fraction(w) * v for w, v in zip(under, column, strict=True))
            if above > below * Fraction(ratio) * (1 + Fraction(1, 10**13)):
                return False
    return True


def problems():
    """Numbers of random problems: one notion each, or two."""
    names = ("leakage", "information", "secrets", "pairwise", "path", "pure")
    chosen = [(name,) for name in names[:4]] + list(combinations(names, 2))
    return [(seed, parts) for seed in range(22) for parts in chosen]


@pytest.mark.parametrize(("seed", "parts"), sample_or_all(problems(), 12))
def test_the_optimum_is_that_of_the_definition(seed, parts, tmp_path):
    rng = np.random.default_rng([seed, len(parts)])
    n, m = (int(k) for k in rng.integers(2, 7, 2))
    stated = statements(rng, n)
    notion, bounds = stated[parts[0]]
    for name in parts[1:]:
        notion, bounds = notion & stated[name][0], bounds + stated[name][1]
    prior = rng.dirichlet(np.ones(n))
    gain = rng.random((n, m))
    problem = lo.Problem(prior, gain, notion, inputs=tuple(LABELS[:n]), outputs=range(m))
    answer = lo.solve(problem, solver=SOLVERS[seed % len(SOLVERS)])
    best = own_optimum(prior, gain, bounds)
    tolerance, gap = ERRORS[SOLVERS[seed % len(SOLVERS)]]
    assert answer.value == pytest.approx(best, abs=tolerance)
    assert is_private(answer.mechanism, bounds)
    proof = lo.certify(answer)
    assert proof.audit.verdict == "certified"
    assert proof.relative_gap < gap
    proof.save(tmp_path / "proof.json")
    again = lo.Certificate.load(tmp_path / "proof.json")
    assert again.recheck() == ()
    assert (again.achieved, again.bound) == (proof.achieved, proof.bound)
