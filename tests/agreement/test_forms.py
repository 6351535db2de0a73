"""Compact programs against the definition, solvers against each other, exported models against the
value."""

from __future__ import annotations

import itertools
from importlib.util import find_spec

import highspy
import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

import ldpopt as lo
from builders import all_events, hops, single_events, thorough_or
from ldpopt import constraints
from ldpopt.mechanism.repair import repair
from ldpopt.solving.exact.optimum import exact_optimum
from ldpopt.solving.formulation import formulate, size

ROWS = {"entry": single_events, "event": all_events}
FORMS = ["compact", "pairwise"]


def plain(problem, ratio, delta=0.0, events="entry", tied=None, own=()):
    """Optimal value by scipy from the definition: every pair and every event.

    ``tied`` are the inputs that are protected, all if None; ``own`` are outputs that only the input
    of that name has.
    """
    matrix, (n, m) = problem.utility.matrix, problem.utility.shape
    sign = -1.0 if problem.utility.sense == "gain" else 1.0
    rows = []
    sides = []
    for x, k in itertools.permutations(range(n), 2):
        for event in ROWS[events](m):
            if (tied is not None and problem.inputs[x] not in tied) or any(
                problem.outputs[y] in own for y in event
            ):
                continue
            row = np.zeros((n, m))
            row[x, list(event)], row[k, list(event)] = 1 / ratio[x, k], -1.0
            rows.append(np.append(row.ravel(), 0.0))
            sides.append(delta / ratio[x, k])
    cost = np.zeros(n * m + 1)
    if problem.prior is None:
        cost[-1] = 1.0
        for x in range(n):
            row = np.zeros((n, m))
            row[x] = sign * matrix[x]
            rows.append(np.append(row.ravel(), -1.0))
            sides.append(0.0)
    else:
        cost[:-1] = sign * (problem.prior[:, None] * matrix).ravel()
    sums = np.hstack([np.kron(np.eye(n), np.ones(m)), np.zeros((n, 1))])
    forbidden = [y in own and x != y for x in problem.inputs for y in problem.outputs]
    bounds = [(0, 0 if zero else None) for zero in forbidden] + [(None, None)]
    kept = (np.array(rows), np.array(sides)) if rows else (None, None)
    found = linprog(cost, *kept, sums, np.ones(n), bounds)
    assert found.status == 0
    return sign * found.fun


def complete(problem):
    n = len(problem.inputs)
    return np.full((n, n), np.exp(float(problem.privacy.epsilon)))


def statement(seed, privacy, n=None, m=None):
    """A random problem: any sense, objective and shape, with zeros in the prior."""
    rng = np.random.default_rng(seed)
    n, m = n or int(rng.integers(2, 6)), m or int(rng.integers(2, 6))
    sense = "gain" if rng.random() < 0.5 else "loss"
    utility = lo.Utility(
        rng.integers(0, 9, (n, m)) / 8 if seed % 2 else rng.normal(size=(n, m)), sense
    )
    if seed % 3 == 0:
        return lo.Problem(None, utility, privacy(n), objective="worst_case")
    weights = rng.integers(0, 5, n) + 0.0
    weights[0] += 1
    return lo.Problem(dict(enumerate(weights)), utility, privacy(n))


PURE = [(0.0, 0), (0.3, 0), (1.0, 0), (4.0, 0)]
ENTRY = [(0.3, 0.05), (1.0, 0.2), (0.0, 0.1), (1.0, 1.0)]


@pytest.mark.parametrize("seed", range(thorough_or(2, 6)))
@pytest.mark.parametrize("epsilon, delta", PURE + ENTRY)
def test_pure_and_entry_wise_forms_agree_with_the_definition(seed, epsilon, delta):
    problem = statement(
        seed, lambda n: lo.ApproximateLDP(epsilon, delta, "entry") if delta else lo.PureLDP(epsilon)
    )
    values = [lo.solve(problem, form=form).value for form in FORMS]
    assert values[0] == pytest.approx(values[1], abs=1e-10)
    assert values[0] == pytest.approx(plain(problem, complete(problem), delta), abs=1e-8)


@pytest.mark.parametrize("seed", range(thorough_or(2, 6)))
@pytest.mark.parametrize("epsilon, delta", [(0.3, 0.05), (1.0, 0.2), (0.0, 0.1), (2.0, 0.01)])
def test_generated_events_agree_with_all_events_and_the_definition(seed, epsilon, delta):
    problem = statement(seed, lambda n: lo.ApproximateLDP(epsilon, delta))
    generated, listed = (lo.solve(problem, form=form) for form in FORMS)
    assert generated.value == pytest.approx(listed.value, abs=1e-10)
    assert generated.value == pytest.approx(
        plain(problem, complete(problem), delta, "event"), abs=1e-8
    )
    sign = 1 if problem.utility.sense == "gain" else -1
    entry = lo.Problem(
        problem.prior,
        problem.utility,
        lo.ApproximateLDP(epsilon, delta, "entry"),
        objective=problem.objective,
    )
    assert sign * generated.value <= sign * lo.solve(entry).value + 1e-10


def test_event_wise_and_entry_wise_optima_differ():
    loss = lo.utility.absolute_error(range(4))
    notions = [lo.ApproximateLDP(0.5, 0.3, form) for form in ("event", "entry")]
    values = [
        lo.solve(lo.Problem([0.24, 0.43, 0.01, 0.32], loss, notion)).value for notion in notions
    ]
    assert values[0] > values[1] + 0.05


GRAPHS = {
    "path": nx.path_graph(5),
    "cycle": nx.cycle_graph(5),
    "star": nx.star_graph(4),
    "complete": nx.complete_graph(5),
    "house": nx.house_graph(),
}


@pytest.mark.parametrize("epsilon", [0.2, 1.5])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_agrees_with_its_hop_distance_and_the_definition(name, epsilon):
    graph = GRAPHS[name]
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    distance = np.array([[hops[x][k] for k in range(5)] for x in range(5)], float)
    for seed in range(thorough_or(1, 3)):
        problem = statement(seed, lambda n: lo.GraphDP(epsilon, graph), n=5)
        metric = statement(seed, lambda n: lo.MetricDP(epsilon, distance), n=5)
        value = lo.solve(problem).value
        assert value == pytest.approx(lo.solve(metric).value, abs=1e-10)
        assert value == pytest.approx(plain(problem, np.exp(epsilon * distance)), abs=1e-8)
    if name == "complete":
        assert value == pytest.approx(
            lo.solve(statement(seed, lambda n: lo.PureLDP(epsilon), n=5)).value, abs=1e-10
        )


def test_shortest_paths_replace_distances_that_violate_the_triangle_inequality():
    distance = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]], float)
    shortest = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]], float)
    one, other = (
        lo.Problem([0.3, 0.3, 0.4], "identity", lo.MetricDP(0.8, d)) for d in (distance, shortest)
    )
    assert lo.solve(one).value == pytest.approx(lo.solve(other).value, abs=1e-12)
    assert lo.solve(one).mechanism.audit(other.privacy).verdict == "certified"


NOTIONS = {
    "pure": lambda n: lo.PureLDP(0.8),
    "entry": lambda n: lo.ApproximateLDP(0.8, 0.1, "entry"),
    "event": lambda n: lo.ApproximateLDP(0.8, 0.1),
    "graph": lambda n: lo.GraphDP(0.8, nx.path_graph(n)),
    "metric": lambda n: lo.MetricDP(0.8, np.sqrt(hops(n))),
}


@pytest.mark.parametrize("notion", [*NOTIONS, "one-sided", "utility-optimized"])
@pytest.mark.parametrize("seed", range(thorough_or(1, 3)))
def test_solvers_agree(notion, seed):
    problem = (
        statement(seed, NOTIONS[notion])
        if notion in NOTIONS
        else exceptional(seed + 1, notion, 1.0)[0]
    )
    names = ["highs", "cbc", "cvxpy"] + ["piqp"] * (find_spec("piqp") is not None)
    answers = [lo.solve(problem, solver=name) for name in names]
    values = [answer.value for answer in answers]
    assert values == pytest.approx([values[0]] * len(values), abs=1e-7)
    sign = 1 if problem.utility.sense == "gain" else -1
    best = max(sign * lo.certify(answer).achieved for answer in answers)
    assert all(sign * lo.certify(answer).bound >= best for answer in answers)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("seed", range(thorough_or(1, 3)))
def test_a_repaired_channel_is_private_and_near(notion, seed):
    rng = np.random.default_rng(seed)
    problem = statement(seed, NOTIONS[notion])
    answer = lo.solve(problem)
    n, m = problem.utility.shape
    pushed = np.maximum(answer.mechanism.channel + rng.normal(0, 1e-9, (n, m)), 0)
    channel = repair(pushed, problem.privacy).mechanism.channel
    assert problem.privacy.rows(problem.inputs, m).violation(channel).max() <= 1e-15
    assert np.abs(channel - answer.mechanism.channel).max() < 1e-6


def exported(seed):
    block = constraints.linear(np.eye(3), 0.5, 2.9, name="some truth")
    problem = lo.Problem(
        {"no way": 1, "no": 2, "yes": 3}, "identity", lo.PureLDP("log(3)"), constraints=block
    )
    worst = lo.Problem(
        None, lo.utility.absolute_error(range(3)), lo.PureLDP(1.0), objective="worst_case"
    )
    graph = lo.Problem([0.2, 0.3, 0.5], "squared_error", lo.GraphDP(1.0, nx.path_graph(3)))
    return (problem, worst, graph)[seed]


@pytest.mark.parametrize("kind", range(3))
def test_exported_models_have_the_same_value_and_accept_another_row(kind):
    problem = exported(kind)
    program = formulate(problem)
    value = lo.solve(problem).value
    highs = program.to_highs()
    highs.run()
    assert highs.getObjectiveValue() == pytest.approx(value, abs=1e-8)
    assert highs.getColName(0)[1] in readable(program.column_names()[0])
    pulp_model = program.to_pulp()
    pulp = pytest.importorskip("pulp")
    pulp_model.solve(pulp.PULP_CBC_CMD(msg=False))
    assert pulp.value(pulp_model.objective) == pytest.approx(value, abs=1e-7)
    cvxpy_model = program.to_cvxpy()
    assert cvxpy_model.solve(solver="CLARABEL") == pytest.approx(value, abs=1e-6)
    assert cvxpy_model.var_dict["P"].shape == problem.utility.shape
    # An additional row forbids the likeliest entry.
    likeliest = int(np.argmax(highs.getSolution().col_value[:9]))
    highs.addRow(0.0, 0.0, 1, np.array([likeliest], np.int32), np.array([1.0]))
    highs.run()
    columns = pulp_model.variablesDict()
    name = program.column_names()[likeliest]
    (name,) = columns.keys() & (readable(name) | {name.translate(str.maketrans("[] ", "___"))})
    pulp_model += columns[name] == 0
    pulp_model.solve(pulp.PULP_CBC_CMD(msg=False))
    assert pulp.value(pulp_model.objective) == pytest.approx(highs.getObjectiveValue(), abs=1e-7)
    assert abs(highs.getObjectiveValue() - value) > 1e-3


@pytest.mark.parametrize("ending", ["lp", "mps", "LP"])
@pytest.mark.parametrize("kind", range(3))
def test_exported_files_have_the_same_value_and_names(tmp_path, kind, ending):
    problem = exported(kind)
    path = tmp_path / f"model.{ending}"
    program = formulate(problem)
    program.write(path)
    reader = highspy.Highs()
    reader.setOptionValue("output_flag", False)
    assert reader.readModel(str(path)).name == "kOk"
    reader.run()
    assert reader.getObjectiveValue() == pytest.approx(lo.solve(problem).value, abs=1e-8)
    text = path.read_text()
    assert readable(program.column_names()[0]) & set(text.split())
    if kind == 0:
        assert readable("row_sum[no way]") & set(text.replace(":", " ").split())
        assert "some_truth" in text


def readable(name):
    """Possible spellings of a name in a file: LP files have no brackets."""
    plain = name.replace(" ", "_")
    return {plain, plain.replace("[", "(").replace("]", ")")}


@pytest.mark.parametrize(
    "labels",
    [["3a", "é"], ["x\ty", "z"], ["a|b", "c\\d"], ["a b", "a_b"]],
    ids=["accent", "tab", "bar", "twin"],
)
@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_exported_files_with_unusual_labels_can_be_read(tmp_path, labels, ending):
    path = tmp_path / f"model.{ending}"
    formulate(lo.Problem([0.5, 0.5], "identity", lo.PureLDP("log(3)"), inputs=labels)).write(path)
    reader = highspy.Highs()
    reader.setOptionValue("output_flag", False)
    assert reader.readModel(str(path)).name == "kOk"
    reader.run()
    assert reader.getObjectiveValue() == pytest.approx(0.75, abs=1e-9)
    assert "Q" in path.read_text()


# One-sided and utility-optimized privacy.


def exceptional(seed, kind, epsilon):
    """A random problem, its sensitive inputs and the reports with an owner."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    inputs = list(range(n))
    sensitive = sorted(rng.choice(n, int(rng.integers(0, n + 1)), replace=False).tolist())
    if kind == "one-sided":
        outputs = list(range(int(rng.integers(1, 6))))
        notion = lo.OneSided(epsilon, sensitive)
        own = []
    else:
        more = [f"r{k}" for k in range(int(rng.integers(1 if seed % 2 else 0, 3)))]
        outputs = [*rng.permutation(inputs).tolist(), *more]
        loose = (
            [x for x in inputs if x not in sensitive and rng.random() < 0.3]
            if seed % 3 == 0
            else []
        )
        protected = None if not loose else [*sensitive, *more, *loose]
        notion = lo.UtilityOptimizedLDP(epsilon, sensitive, protected)
        own = [x for x in inputs if x not in sensitive and x not in loose]
    utility = lo.Utility(
        rng.normal(size=(n, len(outputs))), "gain" if rng.random() < 0.5 else "loss"
    )
    prior = None if seed % 4 == 3 else rng.dirichlet(np.ones(n))
    objective = "worst_case" if prior is None else "expected"
    problem = lo.Problem(
        prior, utility, notion, inputs=inputs, outputs=outputs, objective=objective
    )
    return problem, inputs if kind != "one-sided" else sensitive, own


CASES = [
    (kind, seed)
    for kind in ("one-sided", "utility-optimized")
    for seed in range(thorough_or(3, 12))
]


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5, 5.0])
@pytest.mark.parametrize("kind, seed", CASES)
def test_compact_pairwise_and_plain_programs_agree(kind, seed, epsilon):
    problem, tied, own = exceptional(seed, kind, epsilon)
    value = plain(problem, complete(problem), tied=tied, own=own)
    for form in ("compact", "pairwise"):
        answer = lo.solve(problem, form=form, solver="highs")
        assert answer.value == pytest.approx(value, abs=1e-8)
        proof = lo.certify(answer)
        assert proof.relative_gap < 1e-8
        counted = size(problem, form)
        built = formulate(problem, form)
        assert (counted.rows, counted.columns) == built.shape
        assert counted.nonzeros >= built.nnz or problem.prior is None


@pytest.mark.parametrize("kind, seed", CASES[::2])
def test_exact_optima_lie_between_value_and_bound(kind, seed):
    problem, _, _ = exceptional(seed, kind, "log(3)" if seed % 4 else 0.7)
    low, high = exact_optimum(problem)
    proof = lo.certify(lo.solve(problem, solver="highs"))
    sign = 1 if problem.utility.sense == "gain" else -1
    assert sign * proof.achieved <= sign * (high if sign > 0 else low)
    assert sign * (low if sign > 0 else high) <= sign * proof.bound
    assert abs(proof.bound - proof.achieved) < 1e-9


def test_side_constraints_count():
    problem, _, _ = exceptional(1, "utility-optimized", 1.0)
    n, m = problem.utility.shape
    row = lo.constraints.linear(np.eye(n, m), upper=0.5 * n, name="half")
    stated = lo.Problem(
        problem.prior,
        problem.utility,
        problem.privacy,
        inputs=problem.inputs,
        outputs=problem.outputs,
        constraints=row,
    )
    answers = [lo.solve(stated, form=form) for form in ("compact", "pairwise")]
    assert answers[0].value == pytest.approx(answers[1].value, abs=1e-9)
    assert all(lo.certify(answer).relative_gap < 1e-9 for answer in answers)
