"""The script of a user: `test_types.py` runs it and checks its types."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

import ldpopt
from ldpopt import (
    ApproximateLDP,
    Audit,
    Certificate,
    Counts,
    Design,
    Estimate,
    FormulaDesign,
    GraphDP,
    Mechanism,
    MetricDP,
    OneSided,
    Problem,
    PureLDP,
    Solution,
    Status,
    Survey,
    UtilityOptimizedLDP,
    Workload,
    audit,
    certify,
    closed_forms,
    design,
    errors,
    estimate_frequencies,
    extreme_points,
    load_model,
    mean,
    neighbors,
    noise,
    plan,
    plan_sample,
    plot,
    plotting,
    save_model,
    simplex,
    solve,
    sweep,
    testing,
    utility,
)
from ldpopt.mean import Duchi
from ldpopt.studies.sweep import Row, SweepResult


def statements() -> list[Problem]:
    """One problem of each notion."""
    import networkx as nx

    path: nx.Graph[int] = nx.path_graph(3)
    notions = [
        PureLDP("log(3)"),
        ApproximateLDP(1.0, 0.1, form="entry"),
        GraphDP(1.0, path),
        MetricDP.of_points(1.0, [[0.0], [1.0], [2.0]], metric="euclidean"),
        OneSided(1.0, sensitive=[0]),
        UtilityOptimizedLDP(1.0, sensitive=[0, 1]),
    ]
    worst = Problem(None, utility.absolute_error([0, 1, 2]), notions[0], objective="worst_case")
    return [*(Problem([0.3, 0.3, 0.4], "identity", notion) for notion in notions), worst]


def solved(problem: Problem) -> tuple[Solution, Mechanism, Certificate]:
    """The plan, the answer, its proof."""
    steps: list[str] = [f"{step.method}: {step.because}" for step in plan(problem, solver="auto")]
    answer = solve(problem, solver="auto", time_limit=60.0, gap=None)
    proof = certify(answer, exact=True)
    bound: Fraction | float = proof.bound
    found: Audit = answer.mechanism.audit(problem.privacy)
    assert steps
    assert answer.status is Status.OPTIMAL
    assert proof.relative_gap < 1e-6
    assert abs(float(bound) - answer.value) < 1e-6
    assert found.verdict == "certified"
    return answer, answer.mechanism, proof


def reports(mechanism: Mechanism, folder: Path) -> Estimate:
    """Draw, save, load, audit, estimate, plan."""
    drawn = mechanism.sample([0, 1, 2, 1] * 50, rng=np.random.default_rng(1))
    mechanism.save(folder / "mechanism.json")
    again = Mechanism.load(folder / "mechanism.json")
    counts = Counts.of(again, drawn) + Counts.of(again, drawn)
    estimate: Estimate = estimate_frequencies(again, drawn, method="inversion", confidence=0.95)
    people: int = plan_sample(again, half_width=0.05)
    epsilon: float = audit(again.channel).epsilon
    frame = estimate.to_frame()
    assert counts.n_reports == 400
    assert people > 1
    assert epsilon > 0
    assert len(frame) == len(estimate.values)
    return estimate


def surveys(problem: Problem) -> None:
    """A survey of two questions, and a workload's own design."""
    import pandas as pd

    survey = Survey({"color": problem, "size": solve(problem).mechanism})
    table = pd.DataFrame({"color": [0, 1, 2], "size": [2, 1, 0]})
    private = survey.privatize(table, rng=1)
    assert survey.epsilon > 0
    assert set(survey.estimate(private)) == {"color", "size"}
    found: Design | FormulaDesign = design(Workload.frequencies(3), PureLDP(1.0))
    assert found.average_variance >= found.bound * (1 - 1e-9)
    listed: Design = design(Workload.frequencies(3), PureLDP(1.0), outputs=3)
    assert listed.mechanism.channel.shape == (3, 3)


def protocols() -> float:
    """Means, noise, closed forms, layers, extreme points, the textbook simplex."""
    import networkx as nx

    for protocol in (
        Duchi(1.0, domain=(0, 10)),
        mean.Piecewise(1.0),
        mean.sampled(mean.Laplace(1.0), attributes=1),
    ):
        assert protocol.worst_case_variance > 0
    estimate = Duchi(1.0).estimate(Duchi(1.0).privatize([0.5, -0.5, 0.0], rng=1), confidence=0.9)
    steps = noise.NeighborPartition([(0, 1), (2, 3)], 0.5).noise(1.0)
    top = closed_forms.top_k([0.5, 0.3, 0.2], 1.0)
    points = extreme_points(PureLDP(1.0), 2)
    layers: tuple[frozenset[int], ...] = neighbors.bfs_partition(nx.path_graph(3), 0)
    form = simplex.canonical_form(
        simplex.binary_standard_form([0.4, 0.6], 1.0), simplex.MODEL_II["B2"].columns
    )
    assert top.mechanism.channel.shape == (3, 3)
    assert points.count == len(list(points.vertices))
    assert len(layers) == 3
    assert form is not None
    return float(np.sum(estimate.values)) + steps.variance + top.value


def grids(problem: Problem, folder: Path) -> None:
    """A sweep, its pictures, a model file."""
    found: SweepResult = sweep(problem, [0.5, "log(3)"], jobs=1, checkpoint=folder / "sweep.jsonl")
    again = ldpopt.sweep(problem, [0.5, 1.0])
    rows: tuple[Row, ...] = found.rows + again.rows
    assert len(rows) == 4
    assert found.to_frame().shape[0] == 2
    for ax in (
        plot(found),
        plotting.sweep(again),
        ldpopt.plot(solve(problem)),
        plotting.polytope(problem.privacy),
    ):
        title: str = ax.get_title()
        assert title
    save_model(problem, folder / "model.toml")
    assert load_model(folder / "model.toml").inputs == problem.inputs
    refused: type[errors.LdpoptError] = errors.StatementError
    assert refused("what", do="what to do").what == "what"
    assert callable(testing.check_notion)


def main(folder: Path) -> None:
    """Run all parts."""
    for problem in statements():
        solved(problem)
    first = statements()[0]
    assert len(reports(solve(first).mechanism, folder).values) == 3
    surveys(first)
    assert protocols() > 0
    grids(Problem([0.4, 0.6], "identity", PureLDP(1.0)), folder)
