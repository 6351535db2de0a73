"""Laws that every solve keeps, for problems that hypothesis makes up."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, distances, star
from ldpopt.closed_forms import top_k

KINDS = ("pure", "entry", "event", "graph", "metric")
GAP = 1e-9

epsilons = st.one_of(
    st.floats(math.log(1e-6), math.log(50)).map(math.exp),
    st.sampled_from([0.0, 1e-6, 0.1, 1.0, 25.0, 37.0, 50.0, 100.0, 700.0, "log(3)", "log(7/2)"]),
)
deltas = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1.0]))


@st.composite
def priors(draw, n):
    """Weights with ties, zeros, point masses, and of very different size."""
    kind = draw(st.sampled_from(["whole", "point", "ragged"]))
    if kind == "point":
        return np.eye(n)[draw(st.integers(0, n - 1))]
    entry = st.integers(0, 4) if kind == "whole" else st.floats(0, 30).map(lambda v: math.exp(-v))
    weights = np.array(draw(st.lists(entry, min_size=n, max_size=n).filter(any)), float)
    return weights / weights.sum()


@st.composite
def notions(draw, n, kinds=KINDS):
    kind, epsilon = draw(st.sampled_from(kinds)), draw(epsilons)
    if kind == "pure":
        return lo.PureLDP(epsilon)
    if kind in ("entry", "event"):
        return lo.ApproximateLDP(epsilon, draw(deltas), kind)
    if kind == "graph":
        return lo.GraphDP(epsilon, draw(st.sampled_from([nx.path_graph, nx.complete_graph, star]))(n))
    points = np.cumsum(draw(st.lists(st.sampled_from([0.25, 0.5, 1.0, 1.7]), min_size=n, max_size=n)))
    return lo.MetricDP(epsilon, distances(points))


@st.composite
def problems(draw, kinds=KINDS, most=12, objectives=("expected", "worst_case")):
    """Any statement of up to 12 answers; utilities of few levels (ties) or of any floats."""
    n, m = draw(st.integers(1, most)), draw(st.integers(1, most))
    seed, coarse = draw(st.integers(0, 2**16)), draw(st.booleans())
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, (n, m)).astype(float) if coarse else rng.normal(size=(n, m))
    utility = lo.Utility(matrix, draw(st.sampled_from(["gain", "loss"])))
    objective = draw(st.sampled_from(objectives))
    prior = draw(priors(n)) if objective == "expected" else None
    return lo.Problem(prior, utility, draw(notions(n, kinds)), objective=objective)


def sign(problem):
    return 1 if problem.utility.sense == "gain" else -1


@cases(120)
@given(problems())
def test_every_answer_is_private_whole_and_proved(problem):
    answer = lo.solve(problem)
    mechanism, m = answer.mechanism, problem.utility.shape[1]
    assert mechanism.masses.sum(axis=1).tolist() == [2**53] * len(problem.inputs)
    assert mechanism.masses.min() >= 0
    assert [math.fsum(row) for row in mechanism.channel.tolist()] == [1.0] * len(problem.inputs)
    grid = [[Fraction(int(v), 2**53) for v in row] for row in mechanism.masses]
    assert [[Fraction(v) for v in row] for row in mechanism.channel.tolist()] == grid
    assert mechanism.audit(problem.privacy).verdict == "certified"
    assert lo.audit(mechanism.channel, problem.privacy).verdict == "certified"
    proof = lo.certify(answer)
    assert proof.audit.verdict == "certified"
    assert sign(problem) * (proof.bound - proof.achieved) == proof.gap >= 0
    assert proof.relative_gap <= GAP
    assert abs(float(proof.achieved) - answer.value) <= 1e-14 * max(1.0, np.abs(problem.utility.matrix).max()) * m


@cases(60)
@example((np.array([0.5, 0.5]), lo.ApproximateLDP(0.0, 1e-90, "entry")))
@example((np.array([0.5, 0.3, 0.2]), lo.ApproximateLDP("log(3)", 5e-324, "entry")))
@given(st.integers(1, 9).flatmap(lambda n: st.tuples(priors(n), notions(n, ("pure", "entry", "event")))))
def test_the_closed_form_lies_below_the_bound_and_is_reached(parts):
    prior, notion = parts
    problem = lo.Problem(prior, "identity", notion)
    form = top_k(prior, notion.epsilon, getattr(notion, "delta", 0.0))
    answer = lo.solve(problem)
    proof = lo.certify(answer)
    low, high = form.exact_value()
    assert low <= proof.bound
    assert proof.achieved <= high
    assert abs(form.value - answer.value) <= GAP * form.value
    assert abs(form.mechanism.expected(prior) - form.value) <= 1e-11


def value(problem, **changes):
    """Value of the best mechanism where larger is better, with parts of the statement exchanged."""
    parts = {
        "prior": problem.prior,
        "utility": problem.utility,
        "privacy": problem.privacy,
        "objective": problem.objective,
    } | changes
    changed = lo.Problem(parts["prior"], parts["utility"], parts["privacy"], objective=parts["objective"])
    return sign(changed) * lo.solve(changed).value


def with_budget(notion, epsilon):
    if isinstance(notion, lo.ApproximateLDP):
        return lo.ApproximateLDP(epsilon, notion.delta, notion.form)
    if isinstance(notion, lo.GraphDP):
        return lo.GraphDP(epsilon, notion.graph)
    return lo.MetricDP(epsilon, notion.distance) if isinstance(notion, lo.MetricDP) else lo.PureLDP(epsilon)


@cases(50)
@given(problems(most=6), st.floats(0, 6), st.floats(0, 6))
def test_more_budget_is_worth_no_less(problem, one, other):
    less, more = (value(problem, privacy=with_budget(problem.privacy, epsilon)) for epsilon in sorted((one, other)))
    assert less <= more + GAP


@cases(50)
@given(problems(("entry", "event"), most=6), deltas, deltas)
def test_more_delta_is_worth_no_less(problem, one, other):
    epsilon, form = problem.privacy.epsilon, problem.privacy.form
    less, more = (value(problem, privacy=lo.ApproximateLDP(epsilon, delta, form)) for delta in sorted((one, other)))
    assert less <= more + GAP


@cases(40)
@given(problems(most=6), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(problem, random):
    n, m = problem.utility.shape
    x, y = random.sample(range(n), n), random.sample(range(m), m)
    matrix = problem.utility.matrix[np.ix_(x, y)]
    privacy = problem.privacy
    if isinstance(privacy, lo.GraphDP):
        privacy = lo.GraphDP(privacy.epsilon, nx.relabel_nodes(privacy.graph, {old: k for k, old in enumerate(x)}))
    if isinstance(privacy, lo.MetricDP):
        privacy = lo.MetricDP(privacy.epsilon, privacy.distance[np.ix_(x, x)])
    prior = None if problem.prior is None else problem.prior[x]
    utility = lo.Utility(matrix, problem.utility.sense)
    assert abs(value(problem) - value(problem, prior=prior, utility=utility, privacy=privacy)) <= GAP


@st.composite
def channels(draw, n=None):
    n, m = n or draw(st.integers(1, 5)), draw(st.integers(1, 5))
    entry = st.one_of(st.integers(0, 3), st.floats(1e-3, 1))
    rows = draw(st.lists(st.lists(entry, min_size=m, max_size=m).filter(any), min_size=n, max_size=n))
    array = np.array(rows, float)
    return array / array.sum(axis=1, keepdims=True)


@cases(60)
@given(problems(("pure",), most=5), st.data())
def test_post_processing_never_costs_privacy(problem, data):
    first = lo.solve(problem).mechanism
    m = len(first.outputs)
    second = lo.Mechanism(data.draw(channels(m)), inputs=first.outputs, outputs=None)
    both = first.then(second)
    exactly = [
        [Fraction(int(v), 2**106) for v in row] for row in first.counts.astype(object) @ second.counts.astype(object)
    ]
    assert lo.audit(exactly, problem.privacy).verdict == "certified"
    assert abs(both.channel - np.array(exactly, float)).max() <= 2**-52
    # What is handed out is rounded to the grid: its epsilon may differ by the rounding, never by more.
    least = min([v for row in both.channel.tolist() for v in row if v] or [1.0])
    assert both.audit().epsilon <= first.audit().epsilon + 4 * 2**-53 / least


@cases(60)
@given(problems(most=6), st.integers(0, 2**16), st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 100.0]))
def test_any_multipliers_give_a_bound(problem, seed, noise):
    answer = lo.solve(problem)
    best = lo.certify(answer).achieved
    rng = np.random.default_rng(seed)
    duals = answer.outcome.row_duals + noise * rng.normal(size=len(answer.outcome.row_duals))
    if noise == 100.0:
        duals[:] = 0.0
    worst = {name: np.abs(rng.normal(size=len(old))) for name, old in answer.duals.items() if noise}
    spoilt = replace(answer, outcome=replace(answer.outcome, row_duals=duals), duals=answer.duals | worst)
    proof = lo.certify(spoilt)
    assert sign(problem) * (proof.bound - best) >= 0
    assert proof.relative_gap >= 0


names = st.one_of(st.text(max_size=8), st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@cases(60)
@given(channels(), st.data())
def test_files_read_back_the_same(channel, data):
    n, m = channel.shape
    inputs, outputs = (data.draw(st.lists(names, min_size=k, max_size=k, unique=True)) for k in (n, m))
    mechanism = lo.Mechanism(channel, inputs, outputs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mechanism.json"
        mechanism.save(path)
        twin = lo.Mechanism.load(path)
    assert (twin.inputs, twin.outputs) == (mechanism.inputs, mechanism.outputs)
    assert twin.channel.tobytes() == mechanism.channel.tobytes()
    assert (twin.masses == mechanism.masses).all()
