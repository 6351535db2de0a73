"""Closed forms against the plain linear program: every entry a variable, every privacy row written
out."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

import ldpopt as lo
from builders import distances, pairwise_rows, thorough_or
from ldpopt import closed_forms
from ldpopt.closed_forms.recognize import recognize
from ldpopt.errors import NotRepresentableError
from ldpopt.problem.utility import absolute_error, squared_error

FAMILIES = [
    name
    for name in closed_forms.__all__
    if getattr(
        getattr(getattr(closed_forms, name), "__annotations__", {}).get("return"), "__name__", ""
    )
    in closed_forms.__all__
]
"""Functions that return a closed form."""

PROBLEMS = {
    "binary": lo.Problem([0.4, 0.6], "identity", lo.ApproximateLDP(1.0, 0.1)),
    "top_k": lo.Problem([0.5, 0.3, 0.2], "identity", lo.PureLDP(1.0)),
    "bins": lo.Problem([0.5, 0.3, 0.2], "absolute_error", lo.PureLDP(1.0)),
    "minimax": lo.Problem(None, "identity", lo.PureLDP(1.0), inputs="abc", objective="worst_case"),
    "path_graph": lo.Problem([0.5, 0.3, 0.2], "identity", lo.GraphDP(1.0, nx.path_graph(3))),
    "kernel": lo.Problem([0.3, 0.4, 0.3], "identity", lo.MetricDP(2.0, distances([0.0, 1.0, 2.5]))),
}
"""For each family a problem in which `recognize` finds it."""

OTHERS = {
    "coin": "a choice of the budget",
    "randomized_response": "top_k",
    "robust_value": "a set of priors",
}
"""Families that are no answer to a `Problem`, with the reason or the family that is found
instead."""


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in OTHERS])
def test_every_family_is_found_for_its_problem_and_has_the_optimum_of_the_program(name):
    assert name in PROBLEMS, (
        f"PROBLEMS has no problem of the family {name!r} (or OTHERS the reason why there is none)"
    )
    found = {match.name: match for match in recognize(PROBLEMS[name])}
    assert name in found, (
        f"recognize() does not find {name!r}: add a Match to closed_forms/recognize.py"
    )
    form = found[name].build()
    assert form.value == pytest.approx(lo.solve(PROBLEMS[name]).value, abs=1e-9)
    assert form.mechanism.audit(form.privacy).verdict == "certified"


@pytest.mark.parametrize("name", ["binary", "top_k", "minimax", "path_graph"])
def test_the_exact_value_of_a_family_lies_between_value_and_bound_of_the_program(name):
    (match,) = (match for match in recognize(PROBLEMS[name]) if match.name == name)
    low, high = match.build().exact_value()
    proof = lo.certify(lo.solve(PROBLEMS[name]))
    assert proof.achieved <= high
    assert low <= proof.bound
    assert high - low <= 1e-40


def optimum(gain, ratio, delta=0.0, subsets=False):
    """Greatest ``sum gain * P`` over the private channels."""
    n, m = gain.shape
    rows, bounds = pairwise_rows(n, m, ratio, delta, "event" if subsets else "entry")
    sums = np.kron(np.eye(n), np.ones(m))
    result = linprog(
        -gain.ravel(),
        rows if len(rows) else None,
        bounds if len(rows) else None,
        sums,
        np.ones(n),
        bounds=(0, 1),
    )
    assert result.status == 0
    return -result.fun


def complete(n, epsilon):
    return np.full((n, n), np.exp(epsilon))


def random_prior(n, seed):
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.7))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.07, 0.5])
@pytest.mark.parametrize("subsets", [False, True], ids=["entry", "event"])
def test_top_k_is_the_optimum_for_both_meanings_of_delta(n, epsilon, delta, subsets):
    if subsets and n > 3:
        n = 4
    for seed in range(thorough_or(1, 2)):
        prior = random_prior(n, seed)
        found = optimum(np.diag(prior), complete(n, epsilon), delta, subsets)
        assert closed_forms.top_k(prior, epsilon, delta).value == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize(
    "prior", [[0.4, 0.4, 0.2], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25] * 4], ids=str
)
def test_top_k_with_ties_and_zeros(prior):
    for epsilon in (0.05, 0.7, 2.0):
        found = optimum(np.diag(prior), complete(len(prior), epsilon))
        assert closed_forms.top_k(prior, epsilon).value == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_binary_is_the_optimum(delta):
    for first in np.linspace(0, 1, 11):
        prior = np.array([first, 1 - first])
        form = closed_forms.binary(prior, 0.6, delta)
        assert form.value == pytest.approx(
            optimum(np.diag(prior), complete(2, 0.6), delta), abs=1e-9
        )
        assert prior @ form.channel.diagonal() == pytest.approx(form.value, abs=1e-12)


def test_minimax_is_the_greatest_smallest_truth_probability():
    n, epsilon, delta = 4, 0.8, 0.1
    rows, bounds = pairwise_rows(n, n, complete(n, epsilon), delta)
    floor = np.zeros((n, n * n + 1))
    floor[:, -1] = 1
    floor[np.arange(n), np.arange(n) * (n + 1)] = -1
    cost = np.zeros(n * n + 1)
    cost[-1] = -1
    matrix = np.vstack([np.hstack([rows, np.zeros((len(rows), 1))]), floor])
    sums = np.hstack([np.kron(np.eye(n), np.ones(n)), np.zeros((n, 1))])
    result = linprog(cost, matrix, np.concatenate([bounds, np.zeros(n)]), sums, np.ones(n))
    assert closed_forms.minimax(n, epsilon, delta).value == pytest.approx(-result.fun, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_robust_value_is_the_optimum_against_a_polytope_of_priors(epsilon, delta):
    priors = np.stack([random_prior(4, seed) for seed in range(3)])
    n = 4
    rows, bounds = pairwise_rows(n, n, complete(n, epsilon), delta)
    worst = np.array([np.append(-np.diag(prior).ravel(), 1) for prior in priors])
    matrix = np.vstack([np.hstack([rows, np.zeros((len(rows), 1))]), worst])
    sums = np.hstack([np.kron(np.eye(n), np.ones(n)), np.zeros((n, 1))])
    cost = np.zeros(n * n + 1)
    cost[-1] = -1
    result = linprog(cost, matrix, np.concatenate([bounds, np.zeros(3)]), sums, np.ones(n))
    form = closed_forms.robust_value(priors, epsilon, delta)
    assert form.value == pytest.approx(-result.fun, abs=1e-8)
    channel = form.channel
    assert (priors @ channel.diagonal()).min() == pytest.approx(form.value, abs=1e-9)
    assert channel.sum(axis=1) == pytest.approx(np.ones(n))
    assert (rows @ channel.ravel() <= bounds + 1e-12).all()
    low, high = form.exact_value()
    assert low <= high
    assert float(high - low) < 1e-9


def test_worst_prior_of_a_box_is_the_worst_of_its_corners():
    low = np.array([0.1, 0.0, 0.2])
    high = np.array([0.6, 0.25, 0.9])
    corners = []
    for free in range(3):
        others = [i for i in range(3) if i != free]
        for ends in itertools.product(*((low[i], high[i]) for i in others)):
            corner = np.zeros(3)
            corner[others] = ends
            corner[free] = 1 - sum(ends)
            if low[free] <= corner[free] <= high[free]:
                corners.append(corner)
    for epsilon in (0.2, 1.0, 2.5):
        flat = closed_forms.top_k(closed_forms.worst_prior(low, high), epsilon, 0.05)
        assert flat.value == pytest.approx(
            closed_forms.robust_value(corners, epsilon, 0.05).value, abs=1e-9
        )
        # The mechanism of the largest optimal k is a saddle point: no corner makes it worse.
        assert (np.array(corners) @ flat.channel.diagonal()).min() >= flat.value - 1e-12


@pytest.mark.parametrize(
    ("loss", "table"), [("absolute", absolute_error), ("squared", squared_error)]
)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5, 4.0])
def test_bins_is_the_least_loss(loss, table, epsilon):
    for n, seed in ((1, 0), (2, 1), (4, 2), (5, 3)):
        prior = random_prior(n, seed)
        values = np.random.default_rng(seed).permutation(
            np.cumsum(np.random.default_rng(seed).random(n) + 0.1)
        )
        form = closed_forms.bins(prior, values, epsilon, loss)
        weighted = prior[:, None] * table(values).matrix
        assert form.value == pytest.approx(-optimum(-weighted, complete(n, epsilon)), abs=1e-8)
        assert (weighted * form.channel).sum() == pytest.approx(form.value, abs=1e-12)


def test_bins_with_a_callable_loss_is_the_least_loss():
    def lopsided(truth, report):
        return 3 * (report - truth) if report > truth else (truth - report) ** 0.5

    prior = random_prior(5, 7)
    values = np.array([0.0, 1.0, 1.5, 3.0, 7.0])
    weighted = prior[:, None] * np.array([[lopsided(v, w) for w in values] for v in values])
    for epsilon in (0.3, 1.0, 3.0):
        found = -optimum(-weighted, complete(5, epsilon))
        assert closed_forms.bins(prior, values, epsilon, lopsided).value == pytest.approx(
            found, abs=1e-8
        )


def test_bins_agrees_with_every_set_of_bins():
    prior = random_prior(7, 11)
    values = np.arange(7.0) ** 1.5
    alpha = np.exp(1.2)
    loss = absolute_error(values).matrix
    ratios = [
        ((prior @ loss[:, list(d)]).sum() + (alpha - 1) * prior @ loss[:, list(d)].min(axis=1))
        / (alpha + k - 1)
        for k in range(1, 8)
        for d in itertools.combinations(range(7), k)
    ]
    assert closed_forms.bins(prior, values, 1.2).value == pytest.approx(min(ratios), abs=1e-13)


def hops(graph):
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    return np.array([[lengths[i][k] for k in graph] for i in graph], dtype=float)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 3.0])
def test_path_graph_is_the_optimum(epsilon):
    for n, seed in ((1, 0), (2, 1), (3, 2), (6, 3)):
        prior = random_prior(n, seed)
        distance = hops(nx.path_graph(n))
        form = closed_forms.path_graph(prior, epsilon)
        assert form.value == pytest.approx(
            optimum(np.diag(prior), np.exp(epsilon * distance)), abs=1e-8
        )
        assert prior @ form.channel.diagonal() == pytest.approx(form.value, abs=1e-12)
        assert form.channel.sum(axis=1) == pytest.approx(np.ones(n))


def test_kernel_is_the_optimum_or_raises():
    applied = refused = 0
    graphs = [
        nx.path_graph(5),
        nx.complete_graph(4),
        nx.cycle_graph(5),
        nx.star_graph(4),
        nx.grid_2d_graph(2, 3),
    ]
    for graph, epsilon, seed in itertools.product(graphs, (0.4, 1.5, 3.0), range(2)):
        n = len(graph)
        prior = np.random.default_rng(seed).dirichlet(np.full(n, 30.0 if seed else 1.0))
        try:
            form = closed_forms.kernel(graph, prior, epsilon)
        except NotRepresentableError as error:
            refused += "does not apply" in str(error)
            continue
        applied += 1
        assert form.value == pytest.approx(
            optimum(np.diag(prior), np.exp(epsilon * hops(graph))), abs=1e-8
        )
        assert prior @ form.channel.diagonal() == pytest.approx(form.value, abs=1e-9)
    assert applied >= 8
    assert refused >= 3


def test_kernel_of_a_weighted_metric():
    places = np.array([0.0, 0.7, 1.1, 2.5])
    distance = distances(places)
    prior = np.array([0.3, 0.2, 0.2, 0.3])
    form = closed_forms.kernel(distance, prior, 2.0)
    assert form.value == pytest.approx(optimum(np.diag(prior), np.exp(2.0 * distance)), abs=1e-8)
