"""Zhou, Lu and Wu 2019: vertices, regions and errata by definition.

`zhou_2019_numbers.py` and `zhou_2019_figures.py` in `examples/papers` compare the printed numbers.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpopt import ApproximateLDP, Problem, solve
from ldpopt.closed_forms import binary, top_k

THREE = "log(3)"


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_the_vertices_are_all_the_vertices(delta):
    """Cut every pair of the eight lines and keep what is feasible, in rationals."""
    alpha = Fraction(3)
    d = Fraction(delta)
    lines = [
        (alpha, 1, 1 - d, 1),
        (1, alpha, 1 - d, 1),
        (alpha, 1, alpha + d, -1),
        (1, alpha, alpha + d, -1),
    ]
    lines += [(1, 0, 0, 1), (0, 1, 0, 1), (1, 0, 1, -1), (0, 1, 1, -1)]
    found = set()
    for (a, b, c, _), (e, f, g, _) in itertools.combinations(lines, 2):
        det = a * f - b * e
        if det:
            x = Fraction(c * f - b * g) / det
            y = Fraction(a * g - c * e) / det
            if all(sign * (p * x + q * y) >= sign * r for p, q, r, sign in lines):
                found.add((float(x), float(y)))
    assert found == set(binary([0.5, 0.5], THREE, delta).vertices)


@pytest.mark.parametrize(
    ("first", "delta", "value", "region"),
    [
        (0.8, 0.0, 0.8, "first"),
        (0.6, 0.0, 0.75, "middle"),
        (0.1, 0.0, 0.9, "last"),
        (0.8, 0.25, 0.85, "first"),
        (0.6, 0.25, 0.8125, "middle"),
        (0.1, 0.25, 0.925, "last"),
    ],
)
def test_equations_4_and_15(first, delta, value, region):
    form = binary([first, 1 - first], THREE, delta)
    assert form.value == pytest.approx(value, abs=1e-15)
    assert form.region == region
    assert form.ties == (region,)
    assert len(form.face) == 1


def test_matrices_of_15():
    assert binary([0.9, 0.1], 0.1, 0.2).channel == pytest.approx(np.array([[1, 0], [0.8, 0.2]]))
    assert binary([0.1, 0.9], 0.1, 0.2).channel == pytest.approx(np.array([[0.2, 0.8], [0, 1]]))
    middle = (0.2 + math.exp(0.1)) / (math.exp(0.1) + 1)
    expected = np.array([[middle, 1 - middle], [1 - middle, middle]])
    assert binary([0.5, 0.5], 0.1, 0.2).channel == pytest.approx(expected)


@pytest.mark.parametrize("delta", [0.0, 0.2])
@pytest.mark.parametrize(("prior", "region"), [([0.75, 0.25], "first"), ([0.25, 0.75], "last")])
def test_equations_10_to_12_whole_edges_are_optimal(prior, region, delta):
    form = binary(prior, THREE, delta)
    assert set(form.ties) == {"middle", region}
    ends = np.array(form.face)
    assert ends.shape == (2, 2)
    for share in np.linspace(0, 1, 11):
        assert (share * ends[0] + (1 - share) * ends[1]) @ prior == pytest.approx(
            form.value, abs=1e-15
        )


def test_no_edge_is_optimal_beside_the_boundary():
    assert binary([0.7499, 0.2501], THREE).ties == ("middle",)
    assert binary([0.7501, 0.2499], THREE).ties == ("first",)


@pytest.mark.parametrize("delta", [0.0, 0.15])
def test_the_n_ary_answer_is_4_and_15_for_two_letters(delta):
    for first in np.linspace(0, 1, 21):
        one = binary([first, 1 - first], 0.4, delta)
        other = top_k([first, 1 - first], 0.4, delta)
        assert one.exact_value() == other.exact_value()


def test_breakpoints_are_where_the_number_of_members_changes():
    form = top_k([0.5, 0.3, 0.2], 1.0)
    assert form.thresholds == pytest.approx([1, 0.5 / 0.3, 0.8 / 0.2 - 1])
    for k, threshold in enumerate(form.thresholds[1:], start=2):
        assert top_k([0.5, 0.3, 0.2], math.log(threshold) - 1e-6).k == k - 1
        assert top_k([0.5, 0.3, 0.2], math.log(threshold) + 1e-6).k == k


def test_erratum_entry_wise_delta_is_weaker_beyond_two_outputs():
    """Equation (20) bounds single entries by delta: for these two rows one event still has (m - 1)
    times delta."""
    m, alpha, delta = 5, 3.0, 0.1
    first = np.append(np.full(m - 1, delta), 1 - (m - 1) * delta)
    second = np.eye(m)[-1]
    assert (first - alpha * second).max() <= delta
    assert (second - alpha * first).max() <= delta
    assert np.maximum(first - alpha * second, 0).sum() == pytest.approx((m - 1) * delta)


@pytest.mark.parametrize(("n", "delta"), [(2, 0.1), (3, 0.0), (4, 0.05), (5, 0.0)])
def test_section_4_without_the_row_sums(n, delta):
    """The reduced form: ``p[i, i] = 1 - sum of the others``, so n (n - 1) variables; upper bounds
    in place of sums."""
    prior = np.random.default_rng(n).dirichlet(np.ones(n))
    alpha = math.exp(0.8)
    column = {
        pair: k for k, pair in enumerate((i, j) for i in range(n) for j in range(n) if i != j)
    }

    def entry(i, j):
        """Coefficients and constant of p[i, j]."""
        row = np.zeros(len(column))
        if i != j:
            row[column[i, j]] = 1
            return row, 0.0
        row[[column[i, k] for k in range(n) if k != i]] = -1
        return row, 1.0

    rows = []
    bounds = []
    for a, b, j in itertools.product(range(n), repeat=3):
        if a != b:
            first, one = entry(a, j)
            second, other = entry(b, j)
            rows.append(first - alpha * second)
            bounds.append(alpha * other + delta - one)
    uppers = [-entry(i, i)[0] for i in range(n)]
    assert (len(column), len(rows), len(uppers)) == (n * (n - 1), n * n * (n - 1), n)
    cost = -sum(prior[i] * entry(i, i)[0] for i in range(n))
    found = linprog(
        cost, A_ub=np.array(rows + uppers), b_ub=np.append(bounds, np.ones(n)), bounds=(0, None)
    )
    problem = Problem(prior, "identity", ApproximateLDP(0.8, delta, form="entry"))
    assert 1 - found.fun == pytest.approx(solve(problem).value, abs=1e-9)
    assert 1 - found.fun == pytest.approx(top_k(prior, 0.8, delta).value, abs=1e-9)
