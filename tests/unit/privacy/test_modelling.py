"""Models in cvxpy and PuLP have the optimum of `solve`; a parameter changes without a new
compilation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import pairs_or_turns, refused, thorough_or
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import Notion, SeparableNotion, TiedNotion, Ties
from ldpopt.privacy.notion import KINDS as NOTIONS
from ldpopt.solving.formulation import available_forms

cp: Any = pytest.importorskip("cvxpy")
pulp: Any = pytest.importorskip("pulp")

KINDS = (
    *(kind for kind, one in NOTIONS.items() if one.__module__.startswith("ldpopt.")),
    "event",
    "entry",
)


def case(kind: str, n: int, m: int, epsilon: float, rng: np.random.Generator) -> Any:
    notions: dict[str, Any] = {
        "pure": lambda: lo.PureLDP(epsilon),
        "event": lambda: lo.ApproximateLDP(epsilon, 0.1),
        "entry": lambda: lo.ApproximateLDP(epsilon, 0.1, "entry"),
        "graph": lambda: lo.GraphDP(epsilon, nx.path_graph(n)),
        "metric": lambda: lo.MetricDP.of_points(epsilon, rng.uniform(0, 2, (n, 2))),
        "one_sided": lambda: lo.OneSided(epsilon, [0]),
        "utility_optimized": lambda: lo.UtilityOptimizedLDP(epsilon, [0]),
    }
    return notions[kind]() if kind in notions else NOTIONS[kind].example(epsilon, range(n))


@pytest.mark.parametrize("n", thorough_or([3], [2, 3, 5]))
@pytest.mark.parametrize("kind", KINDS)
def test_models_have_the_optimum_of_solve(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    m = n if kind == "utility_optimized" else 4
    notion = case(kind, n, m, 0.8, rng)
    weighted = rng.dirichlet(np.ones(n))[:, None] * rng.uniform(size=(n, m))
    problem = lo.Problem(np.full(n, 1 / n), n * weighted, notion, inputs=range(n), outputs=range(m))
    best = lo.solve(problem).value

    channel = cp.Variable((n, m))
    if kind == "gaussian":
        with refused("curved", NotRepresentableError):
            notion.constraints(channel)
        return
    goal = cp.Maximize(cp.sum(cp.multiply(weighted, channel)))
    assert cp.Problem(goal, notion.constraints(channel)).solve(solver="CLARABEL") == pytest.approx(
        best, abs=1e-7
    )
    if kind == "curve":
        with refused("no-ratio"):
            notion.ratios(range(n))
    own = [0.0] if kind == "curve" else notion.ratios(range(n))
    has_many = kind == "metric" or len(own) > 1
    ratio = cp.Parameter(len(own), pos=True) if has_many else cp.Parameter(pos=True)
    rows = notion.constraints(channel, None if kind == "curve" else ratio)
    model = cp.Problem(goal, rows)
    assert model.is_dcp(dpp=True)
    ratio.value = own if has_many else own[0]
    assert model.solve(solver="CLARABEL") == pytest.approx(best, abs=1e-7)

    linear = pulp.LpProblem("channel", pulp.LpMaximize)
    entries = pulp.LpVariable.dicts("P", [(x, y) for x in range(n) for y in range(m)], 0)
    linear += pulp.lpSum(float(weighted[x, y]) * entries[x, y] for x in range(n) for y in range(m))
    notion.add_to(linear, entries)
    assert linear.solve(pulp.PULP_CBC_CMD(msg=0)) == 1
    assert pulp.value(linear.objective) == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize(("kind", "objective"), pairs_or_turns(KINDS, ("expected", "worst_case")))
def test_every_exact_form_has_the_optimum_of_solve(kind: str, objective: Any) -> None:
    rng = np.random.default_rng(5)
    prior = rng.dirichlet(np.ones(4)) if objective == "expected" else None
    notion = case(kind, 4, 4, 0.6, rng)
    limit = lo.constraints.linear(np.eye(4), upper=1.6, name="truth")
    problem = lo.Problem(prior, rng.random((4, 4)), notion, objective=objective, constraints=limit)
    best = lo.solve(problem).value
    for form in available_forms(problem):
        if kind == "gaussian" and form != "relaxation":
            with refused("curved", NotRepresentableError):
                lo.formulate(problem, form)
            continue
        program = lo.formulate(problem, form)
        highs = program.to_highs()
        linear = program.to_pulp()
        model = program.to_cvxpy()
        highs.run()
        linear.solve(pulp.PULP_CBC_CMD(msg=0))
        values = [
            highs.getObjectiveValue(),
            pulp.value(linear.objective),
            model.solve(solver="CLARABEL"),
        ]
        if form == "relaxation":
            assert min(values) > best - 1e-7
            assert "relaxation" in repr(program)
        else:
            assert values == pytest.approx([best] * 3, abs=1e-7)
        assert model.is_dcp(dpp=True)
        assert model.var_dict["P"].shape == (4, 4)
        ratio = set() if kind in ("curve", "gaussian") else {"ratio"}
        assert set(model.param_dict) == ratio | ({"prior"} if prior is not None else set())


def test_the_entry_wise_relaxation_is_weaker_than_the_event_wise_notion() -> None:
    rng = np.random.default_rng(3)
    problem = lo.Problem(rng.dirichlet(np.ones(4)), rng.random((4, 4)), lo.ApproximateLDP(0.5, 0.1))
    exact, relaxed = (lo.formulate(problem, form).to_highs() for form in (None, "relaxation"))
    exact.run()
    relaxed.run()
    assert exact.getObjectiveValue() == pytest.approx(lo.solve(problem).value, abs=1e-9)
    assert relaxed.getObjectiveValue() > exact.getObjectiveValue() + 1e-3


def test_a_ratio_beyond_floats_is_a_number() -> None:
    problem = lo.Problem([0.5, 0.5], "identity", lo.MetricDP(1.0, [[0, 800.0], [800.0, 0]]))
    model = lo.formulate(problem).to_cvxpy()
    assert model.solve(solver="CLARABEL") == pytest.approx(1.0)
    assert list(model.param_dict) == ["prior"]


def test_the_text_of_a_program_is_algebra() -> None:
    program = lo.formulate(lo.Problem([0.5, 0.3, 0.2], "identity", lo.ApproximateLDP(1.0, 0.1)))
    text = str(program)
    assert "array" not in text + repr(program)
    assert "excess[0,1,0]  0.367879 P[0,0] - P[1,0] - E[0,1,0] <= 0" in text
    assert "maximize 0.5 P[0,0] + 0.3 P[1,1] + 0.2 P[2,2]" in text


def test_a_metric_without_labels_has_its_ratios() -> None:
    found = lo.MetricDP(1.0, [[0, 1, 3], [1, 0, 2], [3, 2, 0]]).ratios()
    assert found == pytest.approx(np.exp([1.0, 2.0]))  # the distance 3 is implied by a chain


def test_what_does_not_fit_is_refused() -> None:
    channel = cp.Variable((3, 3))
    metric = lo.MetricDP(1.0, "absolute", points=[0.0, 1.0, 3.0])
    with refused("single-ratio"):
        metric.constraints(channel, cp.Parameter(pos=True))
    with refused("ratio"):
        lo.PureLDP(1.0).constraints(channel, 0.5)
    with refused("expression"):
        lo.PureLDP(1.0).constraints(np.eye(3))
    with refused("variable"):
        lo.PureLDP(1.0).add_to(pulp.LpProblem(), {("a", "a"): 1, ("b", "b"): 1})


class Dominated(Notion):
    """A plug-in that writes rows only: no report is more than twice as likely under the first input
    as elsewhere."""

    kind = ""

    def rows(self, inputs: Any, n_outputs: int) -> RowBlock:
        first = np.zeros((len(inputs) - 1) * n_outputs, int)
        second, output = (part.reshape(-1) for part in np.indices((len(inputs) - 1, n_outputs)))
        return RowBlock.of_pairs("privacy", first, second + 1, output, np.full(len(first), 0.5))

    def audit(self, channel: Any) -> Any:
        raise NotImplementedError


def test_a_notion_that_writes_rows_is_a_list_of_constraints_too() -> None:
    channel = cp.Variable((3, 3))
    constraints = Dominated().constraints(channel)
    best = cp.Problem(cp.Maximize(cp.trace(channel)), constraints).solve(solver="CLARABEL")
    linear = pulp.LpProblem("channel", pulp.LpMaximize)
    entries = pulp.LpVariable.dicts("P", [(x, y) for x in range(3) for y in range(3)], 0)
    linear += entries[0, 0] + entries[1, 1] + entries[2, 2]
    Dominated().add_to(linear, entries)
    linear.solve(pulp.PULP_CBC_CMD(msg=0))
    assert best == pytest.approx(pulp.value(linear.objective), abs=1e-7) == pytest.approx(2.0)
    with refused("no-ratio"):
        Dominated().constraints(channel, 2.0)


class Closer(TiedNotion, SeparableNotion):
    """A plug-in with ties and further rows: pure privacy, and the first two inputs are tied more
    closely."""

    kind = ""

    def ties(self, inputs: Any, outputs: Any = None, deadline: Any = None) -> Ties:
        return Ties("log(3)", len(inputs))

    def rows(self, inputs: Any, n_outputs: int) -> RowBlock:
        first, second = self.ties(inputs).pairs()
        close = (first < 2) & (second < 2)
        pair, y = (part.reshape(-1) for part in np.indices((len(first), n_outputs)))
        return RowBlock.of_pairs(
            "privacy", first[pair], second[pair], y, np.where(close, 2 / 3, 1 / 3)[pair]
        )

    def separate(self, channel: Any, inputs: Any) -> RowBlock | None:
        is_close = (2 * channel[:2] <= 3 * channel[1::-1] + 1e-9).all()
        return None if is_close else self.rows(inputs, channel.shape[1])

    def audit(self, channel: Any) -> Any:
        values = np.asarray(getattr(channel, "channel", channel))
        found = lo.audit(channel, lo.PureLDP("log(3)"))
        return (
            found
            if (2 * values[:2] <= 3 * values[1::-1]).all()
            else replace(found, verdict="violated")
        )


def test_rows_beyond_the_ties_of_a_notion_are_in_every_model() -> None:
    problem = lo.Problem([0.4, 0.3, 0.3], "identity", Closer())
    best = lo.solve(problem).value
    program = lo.formulate(problem)
    channel = cp.Variable((3, 3))
    goal = cp.Maximize(cp.sum(cp.multiply(np.diag([0.4, 0.3, 0.3]), channel)))
    own = cp.Problem(goal, Closer().constraints(channel))
    highs = program.to_highs()
    highs.run()
    values = [
        highs.getObjectiveValue(),
        program.to_cvxpy().solve(solver="CLARABEL"),
        own.solve(solver="CLARABEL"),
    ]
    assert values == pytest.approx([best] * 3, abs=1e-7)
    assert lo.formulate(problem, "relaxation").to_cvxpy().solve(solver="CLARABEL") > best + 1e-3


def test_what_is_no_model_is_refused() -> None:
    entries = pulp.LpVariable.dicts("P", [(0, 0), (0, 1), (1, 0), (1, 1)], 0)
    for model, table in ((None, entries), ("model", entries), (pulp.LpProblem(), {})):
        with pytest.raises(StatementError):
            lo.PureLDP(1.0).add_to(model, table)
    with pytest.raises(lo.errors.LdpoptError, match="label"):
        lo.Mechanism.private(np.eye(2), lo.PureLDP(1.0), ["a"])


def test_a_large_model_with_an_event_wise_delta_is_told_of_solve() -> None:
    notion = lo.ApproximateLDP(1.0, 0.05)
    with pytest.warns(UserWarning, match=r"solve\(Problem"):
        notion.constraints(cp.Variable((30, 30)))
    notion.constraints(cp.Variable((5, 5)))  # no warning
    lo.ApproximateLDP(1.0, 0.05, "entry").constraints(cp.Variable((30, 30)))


@pytest.mark.parametrize("value", [0.5, 0.0, -1.0])
def test_a_parameter_below_1_is_refused(value: float) -> None:
    with refused("ratio"):
        lo.PureLDP(1.0).constraints(cp.Variable((2, 2)), cp.Parameter(value=value))
    with refused("ratio"):
        lo.MetricDP(1.0, [[0, 2], [2, 0]]).constraints(
            cp.Variable((2, 2)), cp.Parameter(1, value=[value])
        )


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("duplicate-label", {"inputs": ["a", "a", "b"]}),
        ("label-list", {"inputs": iter("abc")}),
        ("label-list", {"outputs": 3}),
        ("ratio", {"ratio": cp.Variable()}),
    ],
)
def test_labels_and_ratios_of_another_kind_are_refused(code: str, arguments: Any) -> None:
    with refused(code):
        lo.PureLDP(1.0).constraints(cp.Variable((3, 3)), **arguments)


def test_a_complex_channel_is_refused() -> None:
    with refused("expression"):
        lo.PureLDP(1.0).constraints(cp.Variable((2, 2), complex=True))
