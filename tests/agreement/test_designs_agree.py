"""Designs against plain programs over all columns, a descent over channels, closed forms and the
linear program."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from builders import pairwise_rows, sample_or_all, thorough_or
from ldpopt import PureLDP, Workload, design, mean

CASES = [
    (Workload.frequencies(4), 1.0),
    (Workload.prefix(5), 0.5),
    (Workload.ranges(4), 2.0),
    (Workload.mean([0, 1, 3, 4]), 1.0),
    (Workload.means({"age": [1, 2, 3, 4, 5], "cost": [3, 1, 4, 1, 5]}), 3.0),
    (Workload.marginals([2, 2], 1), 1.0),
    (2 * Workload.prefix(4) + Workload.frequencies(4), 0.2),
    (Workload(np.random.default_rng(3).standard_normal((3, 5))), 1.5),
]


def staircases(n, epsilon):
    """Columns of all sets but the empty one and the whole: 1 on the set, ``exp(-epsilon)`` off
    it."""
    sets = (np.arange(1, 2**n - 1)[:, None] >> np.arange(n)) & 1
    return np.exp(-epsilon) + (1 - np.exp(-epsilon)) * sets


def plain_program(rows, r, epsilon, worst=False):
    """Cone program: probabilities ``theta`` of the columns ``v`` and what their reports count, ``q
    = theta V``.

    Minimizes the sum over answers of ``r_x theta_A v_A(x) |V_A|^2``, by cones of ``|q_A|^2 /
    theta_A``.
    """
    import cvxpy as cp

    columns = staircases(len(r), epsilon)
    theta = cp.Variable(len(columns), nonneg=True)
    q = cp.Variable((len(rows), len(columns)))
    ratio = cp.Variable(len(columns))
    moments = columns.T @ ratio - (rows**2).sum(axis=0)
    limits = [
        cp.quad_over_lin(q[:, place], theta[place]) <= ratio[place] for place in range(len(columns))
    ]
    unbiased = [columns.T @ theta == 1, q @ columns == rows]
    problem = cp.Problem(
        cp.Minimize(cp.max(moments) if worst else r @ moments), [*unbiased, *limits]
    )
    return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize(
    "workload, epsilon, skewed", sample_or_all(((*c, s) for s in (True, False) for c in CASES), 3)
)
def test_a_plain_cone_program_over_all_columns(workload, epsilon, skewed):
    n = workload.shape[1]
    r = 1.0 / np.arange(1, n + 1) if skewed else np.ones(n)
    r /= r.sum()
    made = design(workload, PureLDP(epsilon), weights=r, gap=1e-9)
    assert made.value == pytest.approx(plain_program(workload.matrix, r, epsilon), rel=1e-6)


@pytest.mark.parametrize("workload, epsilon", thorough_or(CASES[:3], CASES))
def test_a_plain_cone_program_of_the_worst_case(workload, epsilon):
    made = design(workload, PureLDP(epsilon), objective="worst_case", gap=1e-7)
    r = np.ones(workload.shape[1])
    assert made.value == pytest.approx(
        plain_program(workload.matrix, r, epsilon, worst=True), rel=1e-6
    )


def average_variance(channel, rows, r):
    """Of the best unbiased estimator, by the normal equations."""
    q = r @ channel
    information = (channel / q) @ channel.T + 1e-12 * np.eye(len(r))
    return float(np.trace(rows @ np.linalg.solve(information, rows.T)) - r @ (rows**2).sum(axis=0))


@pytest.mark.parametrize(
    "rows", [np.eye(3), np.tril(np.ones((3, 3)))[:2], [[0.0, 1.0, 3.0], [1.0, 0.0, 0.0]]]
)
@pytest.mark.parametrize("m", thorough_or([6], [3, 6]))
def test_descent_over_channels_never_passes_the_bound(rows, m):
    """Over all entries of a channel with m reports, with the rows of privacy by its definition."""
    rows, n, epsilon = np.asarray(rows), 3, 1.0
    r = np.full(n, 1 / n)
    private, _ = pairwise_rows(n, m, np.full((n, n), np.exp(epsilon)))
    sums = np.kron(np.eye(n), np.ones(m))
    rules = [
        {"type": "ineq", "fun": lambda flat: -(private @ flat), "jac": lambda flat: -private},
        {"type": "eq", "fun": lambda flat: sums @ flat - 1, "jac": lambda flat: sums},
    ]
    ratios = []
    for seed in range(thorough_or(2, 4)):
        start = np.random.default_rng(seed).uniform(1, np.exp(epsilon), (n, m))
        start /= start.sum(axis=1, keepdims=True)
        reached = minimize(
            lambda flat: average_variance(flat.reshape(n, m), rows, r),
            start.ravel(),
            method="SLSQP",
            bounds=[(1e-6, 1)] * (n * m),
            constraints=rules,
            options={"maxiter": 100},
        ).x.reshape(n, m)
        reached /= reached.sum(axis=1, keepdims=True)
        spent = float(np.log((reached.max(axis=0) / reached.min(axis=0)).max()))
        # What rounding spends above the budget is allowed to the bound, too.
        ratios.append(
            average_variance(reached, rows, r) / design(rows, PureLDP(max(spent, epsilon))).bound
        )
    assert min(ratios) >= 1 - 1e-8
    assert m < 6 or min(ratios) < 1.05


@pytest.mark.parametrize("epsilon", [0.01, 0.5, "log(3)", 4.0, 8.0])
def test_two_answers_are_warners(epsilon):
    """The same mechanism and variance for all weights and for the worst case."""
    e = float(np.exp(PureLDP(epsilon).epsilon))
    for options in ({}, {"weights": [1, 3]}, {"objective": "worst_case"}):
        made = design(Workload([[0.0, 1.0]]), PureLDP(epsilon), gap=1e-9, **options)
        assert np.sort(made.mechanism.channel[0]) == pytest.approx(
            [1 / (e + 1), e / (e + 1)], rel=1e-9
        )
        assert made.value == pytest.approx(e / (e - 1) ** 2, rel=1e-8)


def best_subsets(n, epsilon, sizes=None):
    """Closed form of Ye and Barg 2018, in rationals of a float ``exp(epsilon)``: the least variance
    over the sizes."""
    e = Fraction(float(np.exp(epsilon)))
    found = {}
    for d in sizes or range(1, n):
        inside = e * d / (e * d + n - d)
        also = Fraction(d - 1, n - 1) * inside + Fraction(d, n - 1) * (1 - inside)
        spread = inside - also
        found[d] = float((inside * (1 - inside) + (n - 1) * also * (1 - also)) / spread**2)
    return min(found.values())


@pytest.mark.parametrize("n", range(2, thorough_or(9, 14)))
def test_frequencies_are_subset_selection(n):
    for epsilon in thorough_or((0.5, 3.0), (0.05, 0.5, 1.0, 3.0, 6.0)):
        made = design(Workload.frequencies(n), PureLDP(epsilon), gap=1e-9)
        assert made.value == pytest.approx(best_subsets(n, epsilon), rel=1e-8)
        if n <= thorough_or(8, 14):
            worst = design(
                Workload.frequencies(n), PureLDP(epsilon), objective="worst_case", gap=1e-6
            )
            assert worst.value == pytest.approx(made.value, rel=2e-6)


@pytest.mark.parametrize(
    "n, epsilon", [(21, 0.5), (40, 2.0), (1000, 5.0), (thorough_or(10**5, 10**6), 1.0)]
)
def test_frequencies_of_many_answers(n, epsilon):
    made = design(Workload.frequencies(n), PureLDP(epsilon))
    e = float(np.exp(epsilon))
    sizes = {min(n - 1, max(1, int(n / (e + 1)) + more)) for more in (-1, 0, 1, 2)}
    inside = {d: e * d / (e * d + n - d) for d in sizes}
    also = {d: (d - 1) / (n - 1) * p + d / (n - 1) * (1 - p) for d, p in inside.items()}
    least = min(
        (inside[d] * (1 - inside[d]) + (n - 1) * also[d] * (1 - also[d]))
        / (inside[d] - also[d]) ** 2
        for d in sizes
    )
    assert made.value == pytest.approx(least, rel=1e-9)
    assert made.bound == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("objective", ["worst_case", "expected"])
@pytest.mark.parametrize(
    "values, epsilon", [([-1, 0, 1], 1.0), ([0, 1, 2, 5], 2.0), ([-1, -0.5, 0.5, 1], 0.5)]
)
def test_a_mean_is_that_of_the_linear_program(values, epsilon, objective):
    """On a fine grid of outputs the linear program comes near the design from above, with its
    reports from both."""
    prior = np.arange(1.0, len(values) + 1)
    prior /= prior.sum()
    if objective == "expected":
        made = design(Workload.mean(values), PureLDP(epsilon), weights=prior, gap=1e-8)
    else:
        made = design(Workload.mean(values), PureLDP(epsilon), objective="worst_case", gap=1e-8)
    ends = np.abs(made.estimator).max() * 1.05
    fine = np.linspace(-ends, ends, thorough_or(151, 301))
    given = {"prior": prior, "objective": "expected"} if objective == "expected" else {}
    coarse = mean.designed(values, fine, epsilon, **given)
    own = mean.designed(
        values, np.unique(np.concatenate([fine, made.estimator.ravel()])), epsilon, **given
    )

    def value(protocol):
        found = protocol.variance(np.array(values, float))
        return float(prior @ found) if objective == "expected" else float(found.max())

    assert made.bound <= value(coarse) * (1 + 1e-7)
    assert value(coarse) == pytest.approx(made.value, rel=5e-3)
    assert value(own) == pytest.approx(made.value, rel=1e-6)
