"""The plan: which method is chosen for which problem, notes of fallbacks, limits and deadlines."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import distances, random_problem, seconds
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.deadline import Deadline, OutOfTimeError
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.methods.direct import Direct
from ldpopt.solving.methods.method import Task
from ldpopt.solving.plan import METHODS, Step, plan, planned
from ldpopt.solving.problem_form import ProblemForm
from ldpopt.solving.solve import run_plan

EVENTS = lo.ApproximateLDP(1.0, 0.05)
ENTRIES = lo.ApproximateLDP(1.0, 0.05, form="entry")


def of_size(n: int, privacy: object, objective: str = "expected") -> lo.Problem:
    prior = np.full(n, 1 / n) if objective == "expected" else None
    return lo.Problem(prior, np.random.default_rng(n).random((n, n)), privacy, objective=objective)


def methods(problem: lo.Problem, *given: object, **options: object) -> list[str]:
    return [str(step.method) for step in lo.plan(problem, *given, **options)]


def metric(n: int) -> lo.MetricDP:
    return lo.MetricDP(1.0, distances(range(n)))


CHOICES = [
    (of_size(4, lo.PureLDP(1.0)), ["extreme columns", "direct"]),
    (of_size(37, lo.PureLDP(1.0)), ["extreme columns", "direct"]),
    (of_size(50, lo.PureLDP(1.0)), ["extreme columns", "output sifting", "direct"]),
    (of_size(51, lo.PureLDP(1.0)), ["output sifting", "direct"]),
    (of_size(38, lo.PureLDP(0.0)), ["direct"]),  # no usable interior, and all columns are alike
    (of_size(38, lo.PureLDP(31.0)), ["output sifting", "direct"]),  # an entry is lost beside 1
    (of_size(60, lo.PureLDP(1.0), "worst_case"), ["extreme columns", "direct"]),
    (of_size(61, lo.PureLDP(1.0), "worst_case"), ["direct"]),
    (of_size(37, ENTRIES), ["direct"]),
    (of_size(47, ENTRIES), ["direct"]),
    (of_size(48, ENTRIES), ["output sifting", "direct"]),
    (of_size(30, EVENTS), ["row generation", "event interior point"]),
    (of_size(4, EVENTS), ["row generation", "event interior point"]),
    (of_size(51, lo.ApproximateLDP(1.0, 0.0)), ["output sifting", "direct"]),
    (of_size(40, metric(40)), ["graph interior point", "direct"]),
    (of_size(40, metric(40), "worst_case"), ["graph interior point", "direct"]),
    (of_size(20, metric(20)), ["direct"]),
    (of_size(70, metric(70)), ["rays", "graph interior point", "direct"]),
    (of_size(50, metric(50)), ["graph interior point", "direct"]),
    (
        lo.Problem(np.full(50, 0.02), "absolute_error", metric(50)),
        ["rays", "graph interior point", "direct"],
    ),
    (of_size(40, lo.OneSided(1.0, sensitive=[0, 1])), ["direct"]),
    (of_size(40, lo.UtilityOptimizedLDP(1.0, sensitive=[0, 1])), ["direct"]),
    (of_size(55, lo.GraphDP(1.0, nx.complete_graph(55))), ["output sifting", "direct"]),
    (of_size(5, lo.GraphDP(1.0, nx.complete_graph(5))), ["extreme columns", "direct"]),
    (of_size(1, lo.PureLDP(1.0)), ["direct"]),
]


@pytest.mark.parametrize(("problem", "expected"), CHOICES, ids=lambda value: repr(value)[:60])
def test_structure_and_size_determine_the_methods(problem, expected):
    assert methods(problem) == expected


@pytest.mark.parametrize(("problem", "expected"), CHOICES, ids=lambda value: repr(value)[:60])
def test_every_step_has_a_reason_and_the_solution_lists_it(problem, expected):
    steps = lo.plan(problem)
    assert all(step.because and "\n" not in step.because for step in steps)
    if problem.utility.matrix.size > 400:
        return
    answer = lo.solve(problem)
    assert answer.notes[-len(answer.steps) :] == answer.steps
    assert answer.steps[0] == str(steps[0])
    assert lo.certify(answer).relative_gap < 1e-6


@pytest.mark.parametrize(
    ("solver", "form", "privacy", "expected"),
    [
        ("highs", None, lo.PureLDP(1.0), "direct"),
        ("highs", "sifted", lo.PureLDP(1.0), "output sifting"),
        ("highs", None, EVENTS, "row generation"),
        ("highs", "pairwise", EVENTS, "direct"),
        ("interior", None, lo.PureLDP(1.0), "output sifting"),
        ("interior", "compact", lo.PureLDP(1.0), "direct"),
        ("interior", None, metric(5), "graph interior point"),
        ("cvxpy:SCS", None, metric(5), "direct"),
        ("columns", None, lo.PureLDP(1.0), "direct"),
        ("auto", "sifted", lo.PureLDP(1.0), "output sifting"),
        ("auto", "compact", ENTRIES, "direct"),
    ],
)
def test_a_named_solver_or_form_leaves_one_method(solver, form, privacy, expected):
    assert methods(of_size(5, privacy), solver, form) == [expected]


def test_limits_change_the_plan():
    small = of_size(4, lo.PureLDP(1.0))
    sifting = lo.Limits(columns_entries=0, sifting_entries=1)
    assert methods(small, limits=sifting) == ["output sifting", "direct"]
    answer = lo.solve(small, limits=sifting)
    assert answer.solver.startswith("interior")
    assert answer.value == pytest.approx(lo.solve(small).value, rel=1e-10)


def test_limits_of_another_kind_are_refused():
    for limits in ({}, None, 3):
        with pytest.raises(StatementError, match="limits="):
            lo.solve(of_size(3, lo.PureLDP(1.0)), limits=limits)
    with pytest.raises(StatementError, match="sifting_entries"):
        lo.Limits(sifting_entries="x")


class Refusing(Direct):
    def solve(self, task, start=None):
        raise NotRepresentableError("too large")


class Failing(Direct):
    def solve(self, task, start=None):
        raw = super().solve(task)
        return replace(raw, outcome=Outcome(Status.FAILED, "it stalled"), channel=self.keeps(raw))

    def keeps(self, raw):
        return None


class FailingWithAChannel(Failing):
    def keeps(self, raw):
        return raw.channel


def run(*steps):
    problem = of_size(4, lo.PureLDP(1.0))
    return run_plan(
        tuple(Step(method, "test") for method in steps), Task(problem, ProblemForm.of(problem))
    )


def test_every_fallback_is_noted():
    raw, notes = run(Refusing(), Failing(), Direct())
    assert raw.outcome.status is Status.OPTIMAL
    assert notes == [
        "direct: test",
        "direct refused the problem: too large",
        "direct: test",
        "direct ended with 'it stalled'",
        "direct: test",
    ]


def test_a_refusal_by_the_last_method_is_raised():
    with pytest.raises(NotRepresentableError, match="too large"):
        run(Failing(), Refusing())


def test_the_channel_of_an_earlier_method_is_kept():
    raw, _ = run(FailingWithAChannel(), Failing())
    assert raw.channel is not None
    assert raw.outcome.status is Status.LIMIT


class Late(Direct):
    def solve(self, task, start=None):
        raise OutOfTimeError("counting")


def test_a_method_that_runs_out_of_time_leaves_the_channel_of_an_earlier_one():
    raw, notes = run(FailingWithAChannel(), Late())
    assert raw.channel is not None
    assert raw.outcome.status is Status.LIMIT
    assert notes[-1] == "direct: the time was over while counting"
    with pytest.raises(OutOfTimeError):
        run(Failing(), Late())


def test_graphs_are_solved_to_the_requested_gap():
    graph = nx.grid_2d_graph(6, 6)
    problem = lo.Problem(
        np.full(36, 1 / 36), "identity", lo.GraphDP(1.0, graph), inputs=list(graph)
    )
    rough = lo.solve(problem, solver="interior", gap=1e-2)
    assert rough.status is Status.OPTIMAL
    assert 1e-9 < lo.certify(rough).relative_gap <= 1e-2


def test_every_method_has_a_name_of_its_own_and_a_choice():
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    chosen = {name for _, expected in CHOICES for name in expected}
    assert set(names) <= chosen, f"CHOICES has no problem for {sorted(set(names) - chosen)}"


def test_a_costly_repair_is_noted():
    answer = lo.solve(of_size(8, lo.PureLDP(1.0)), solver="cvxpy:SCS", eps_abs=1e-3, eps_rel=1e-3)
    noted = [
        note
        for note in answer.notes
        if note.startswith("making the channel exactly private changed")
    ]
    assert len(noted) == 1
    assert not any(
        "making the channel" in note for note in lo.solve(of_size(8, lo.PureLDP(1.0))).notes
    )


def test_a_time_limit_covers_the_whole_call():
    rng = np.random.default_rng(0)
    points = rng.random((700, 3))
    table = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    problem = lo.Problem(np.full(700, 1 / 700), "identity", lo.MetricDP(1.0, table))
    began = time.process_time()
    answer = lo.solve(problem, time_limit=0.001)
    # of the processor: other processes do not count
    assert time.process_time() - began < seconds(3)
    assert answer.status is Status.LIMIT
    assert "dropping the metric's implied pairs" in answer.raw_status
    assert "the time limit of 0.001 s was over" in answer.raw_status
    assert answer.value == pytest.approx(1 / 700)
    assert any("whatever the answer" in note for note in answer.notes)
    assert lo.certify(answer).relative_gap == pytest.approx(1 - 1 / 700)


def test_the_time_of_the_plan_counts(monkeypatch):
    module = sys.modules["ldpopt.solving.solve"]
    limit = seconds(60)
    left = []

    def slow(*arguments):
        time.sleep(0.2)
        return planned(*arguments)

    def observed(steps, task):
        left.append(task.deadline.left)
        return run_plan(steps, task)

    monkeypatch.setattr(module, "planned", slow)
    monkeypatch.setattr(module, "run_plan", observed)
    answer = lo.solve(of_size(3, lo.PureLDP(1.0)), time_limit=limit)
    assert answer.status is Status.OPTIMAL
    assert left[0] <= limit - 0.2


def test_an_expired_deadline_raises():
    with pytest.raises(OutOfTimeError, match="counting"):
        Deadline(0.0).check("counting")
    assert Deadline.after(60).check("counting") is None
    assert Deadline(0.0).left == 1e-3


def test_problems_are_solved_to_the_requested_gap():
    problem = random_problem(lo.PureLDP(1.0), 60, rng=1)
    rough = lo.solve(problem, gap=0.05)
    fine = lo.solve(problem)
    assert lo.certify(rough).relative_gap <= 0.05
    assert lo.certify(fine).relative_gap < 1e-9
    assert rough.mechanism.audit(problem.privacy).verdict == "certified"


def test_at_a_limit_the_best_mechanism_so_far_is_returned():
    graph = nx.grid_2d_graph(8, 8)
    names = list(graph)
    problem = lo.Problem(np.full(64, 1 / 64), "identity", lo.GraphDP(1.0, graph), inputs=names)
    answer = lo.solve(problem, solver="interior", time_limit=0.3)
    if answer.status is Status.LIMIT:  # a fast machine may finish in time
        proof = lo.certify(answer)
        assert proof.audit.verdict == "certified"
        assert 0 < float(proof.achieved) <= float(proof.bound)
    assert [step.method.name for step in plan(problem)] == [
        "rays",
        "graph interior point",
        "direct",
    ]
