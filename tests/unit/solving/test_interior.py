"""The interior point as a solver: results, warm starts, limits, options, refusals, and the command
line."""

from __future__ import annotations

import numpy as np
import pytest

import ldpopt as lo
from builders import dense_rows, hops, refused
from ldpopt.errors import NotRepresentableError, SolverOptionError, StatementError
from ldpopt.foundation.deadline import NO_LIMIT
from ldpopt.solvers import Status, find
from ldpopt.solving.formulation import formulate
from ldpopt.solving.interior import central_path
from ldpopt.solving.interior.path_following import follow_path


def statement(n=12, privacy=None, sense="gain"):
    rng = np.random.default_rng(n)
    matrix = rng.random((n, n + 1))
    return lo.Problem(
        rng.dirichlet(np.ones(n)), lo.Utility(matrix, sense), privacy or lo.PureLDP(1.0)
    )


def restricted(problem, chosen):
    matrix = problem.utility.matrix[:, chosen]
    part = lo.Utility(matrix, problem.utility.sense)
    return formulate(lo.Problem(problem.prior, part, problem.privacy, outputs=range(len(chosen))))


@pytest.mark.parametrize("sense", ["gain", "loss"])
@pytest.mark.parametrize(
    "privacy", [lo.PureLDP(1.0), lo.ApproximateLDP(0.5, 0.1, form="entry"), lo.PureLDP(37.0)]
)
def test_results_agree_with_highs(privacy, sense):
    program = formulate(statement(privacy=privacy, sense=sense))
    outcome = find("interior").solve(program)
    plain = find("highs").solve(program)
    sign = 1.0 if program.maximize else -1.0
    assert outcome.status is Status.OPTIMAL
    assert program.residual(outcome.point) < 1e-12
    assert program.objective @ outcome.point == pytest.approx(
        program.objective @ plain.point, rel=1e-10
    )
    assert (
        np.abs(
            program.objective - program.matrix.T @ outcome.row_duals - outcome.column_duals
        ).max()
        < 1e-12
    )
    # Caps are upper bounds, and columns are at least 0.
    assert (sign * outcome.row_duals[len(program.structure.weighted) :]).min() > -1e-12
    assert (sign * outcome.column_duals).max() < 1e-12
    ends = program.row_upper @ np.where(np.isfinite(program.row_upper), outcome.row_duals, 0.0)
    assert ends == pytest.approx(program.objective @ plain.point, rel=1e-10)


def test_it_stops_at_the_requested_gap_and_continues_from_there():
    program = formulate(statement(30))
    solver = find("interior")
    rough = solver.solve(program, gap=1e-2)
    steps = [int(rough.raw_status.split()[0])]
    assert 0 < float(rough.raw_status.split()[-1]) <= 1e-2
    fine = solver.solve(program, gap=1e-10, warm_start=rough.warm_start)
    steps += [
        int(outcome.raw_status.split()[0]) for outcome in (fine, solver.solve(program, gap=1e-10))
    ]
    assert float(fine.raw_status.split()[-1]) <= 1e-10
    assert steps[0] < steps[1] == steps[2]


def steps(outcome):
    return int(outcome.raw_status.split()[0])


@pytest.mark.parametrize(
    "privacy", [lo.PureLDP(1.0), lo.PureLDP(5.0), lo.ApproximateLDP(0.5, 0.01, form="entry")]
)
def test_warm_starts_with_added_and_removed_outputs(privacy):
    problem = statement(40, privacy)
    solver = find("interior")
    chosen = np.arange(30)
    before = solver.solve(restricted(problem, chosen), gap=1e-6)
    after = np.concatenate([chosen[2:], [35, 38]])
    kept = np.append(np.arange(2, 30), [-1, -1])
    program = restricted(problem, after)
    cold = solver.solve(program)
    warm = solver.solve(program, warm_start=before.warm_start, kept=kept)
    assert program.residual(warm.point) < 1e-10
    assert program.objective @ warm.point == pytest.approx(
        program.objective @ cold.point, rel=1e-10
    )
    # Removed outputs may be added again.
    again = restricted(problem, chosen)
    back = solver.solve(again, warm_start=warm.warm_start, kept=np.append([-1, -1], np.arange(28)))
    assert again.objective @ back.point == pytest.approx(
        again.objective @ solver.solve(again).point, rel=1e-10
    )


def test_a_warm_start_takes_fewer_steps():
    problem = statement(60, lo.PureLDP(3.0))
    solver = find("interior")
    channel = lo.solve(problem, solver="interior", form="compact").mechanism.channel
    used = np.flatnonzero(channel.max(axis=0) > 1e-6)
    before = solver.solve(formulate(problem), gap=1e-9)
    assert 1 < len(used) < before.warm_start.at.m.size
    program = restricted(problem, used)
    warm = solver.solve(program, warm_start=before.warm_start, kept=used)
    assert warm.warm_start.resumed
    assert steps(warm) < steps(solver.solve(program))


def test_without_a_suitable_checkpoint_it_starts_anew():
    problem = statement(12)
    solver = find("interior")
    before = solver.solve(restricted(problem, np.arange(2)), gap=1e-9)
    program = restricted(problem, np.arange(2, 12))
    warm = solver.solve(program, warm_start=before.warm_start, kept=np.full(10, -1))
    assert not warm.warm_start.resumed
    assert steps(warm) == steps(solver.solve(program))


def test_a_warm_start_that_fails_is_followed_by_a_new_start(monkeypatch):
    problem = statement(30)
    solver = find("interior")
    before = solver.solve(restricted(problem, np.arange(20)), gap=1e-6)
    follow = central_path.CentralPath.iterate
    failing = lambda path, *how: Status.FAILED if path.resumed else follow(path, *how)  # noqa: E731
    monkeypatch.setattr(central_path.CentralPath, "iterate", failing)
    program = restricted(problem, np.arange(21))
    warm = solver.solve(program, warm_start=before.warm_start, kept=np.append(np.arange(20), -1))
    assert warm.status is Status.OPTIMAL
    assert steps(warm) == steps(solver.solve(program))


def test_too_few_steps_give_the_status_limit():
    outcome = find("interior").solve(formulate(statement()), steps=2)
    assert outcome.status is Status.LIMIT
    assert outcome.raw_status.startswith("2 steps")
    answer = lo.solve(statement(), solver="interior", steps=2)
    assert answer.status is Status.LIMIT
    assert lo.certify(answer).audit.verdict == "certified"


@pytest.mark.parametrize("form", ["compact", "sifted"])
def test_a_time_limit_is_kept(form):
    answer = lo.solve(statement(60), solver="interior", form=form, time_limit=1e-6)
    assert answer.status is Status.LIMIT
    assert (answer.mechanism.channel == answer.mechanism.channel[0]).all()
    assert lo.certify(answer).audit.verdict == "certified"


def test_a_stall_with_a_large_gap_is_a_failure(monkeypatch):
    monkeypatch.setattr(central_path.CompactSystem, "step", lambda run: None)
    outcome = find("interior").solve(formulate(statement()))
    assert outcome.status is Status.FAILED
    assert float(outcome.raw_status.split()[-1]) > 1e-6


@pytest.mark.parametrize("form", ["compact", "sifted"])
@pytest.mark.parametrize(
    "options", [{"gap": 0.0}, {"gap": -1.0}, {"gap": float("nan")}, {"gap": "small"}]
)
def test_a_bad_gap_is_refused(form, options):
    with pytest.raises(StatementError, match="gap"):
        lo.solve(statement(), solver="interior", form=form, **options)


@pytest.mark.parametrize("form", ["compact", "sifted"])
@pytest.mark.parametrize("options", [{"steps": 0}, {"steps": 1.5}, {"steps": "ten"}])
def test_bad_steps_are_refused(form, options):
    with refused("option-value", SolverOptionError) as caught:
        lo.solve(statement(), solver="interior", form=form, **options)
    assert "steps = " in str(caught.value)


@pytest.mark.parametrize("form", ["compact", "sifted"])
def test_an_unknown_option_is_refused(form):
    with pytest.raises(SolverOptionError, match="no option 'presolve'") as caught:
        lo.solve(statement(), solver="interior", form=form, presolve="off")
    assert "\n" not in caught.value.what


def unsupported():
    yield "event", statement(4, lo.ApproximateLDP(0.5, 0.1)), None
    yield "pairwise", statement(4), "pairwise"
    worst = lo.Problem(None, np.eye(3), lo.PureLDP(1.0), objective="worst_case")
    yield "worst case", worst, None
    yield "worst case, compact", worst, "compact"
    side = lo.constraints.linear(np.eye(3), upper=2.0, name="side")
    yield (
        "side rows",
        lo.Problem([0.5, 0.3, 0.2], np.eye(3), lo.PureLDP(1.0), constraints=[side]),
        "compact",
    )
    yield "no budget", statement(4, lo.PureLDP(0)), None
    yield "hardly a budget", statement(4, lo.PureLDP(1e-12)), None


@pytest.mark.parametrize(
    "problem, form", [case[1:] for case in unsupported()], ids=[case[0] for case in unsupported()]
)
def test_unsupported_problems_are_refused(problem, form):
    with pytest.raises(NotRepresentableError, match=r'solver="highs"'):
        lo.solve(problem, solver="interior", form=form)


def test_programs_without_a_channel_are_refused():
    with refused("compact-program", NotRepresentableError):
        find("interior").solve(dense_rows([3, 5], [[1, 0], [0, 2]], -np.inf, [4, 12]))


def test_metrics_are_solved_by_outputs_and_cannot_be_sifted():
    problem = statement(4, lo.MetricDP(0.5, hops(4)))
    for form in (None, "pairwise"):
        answer = lo.solve(problem, solver="interior", form=form)
        assert answer.solver == "graph interior (pairwise)"
        assert answer.value == pytest.approx(lo.solve(problem, solver="highs").value, rel=1e-10)
    with refused("sifted-problem", NotRepresentableError):
        lo.solve(problem, form="sifted")


@pytest.mark.parametrize("epsilon", [0, 1e-4])
def test_a_metric_with_losses_too_small_for_floats_is_refused(epsilon):
    problem = statement(4, lo.MetricDP(epsilon, hops(4)))
    with refused("graph-problem", NotRepresentableError):
        lo.solve(problem, solver="interior")
    assert lo.solve(problem).status is Status.OPTIMAL


def test_a_singular_system_ends_the_iteration_at_the_best_point():
    class Singular:
        def step(self):
            raise np.linalg.LinAlgError("Singular matrix")

    never = {"gap": 1e-9, "steps": 5, "stalled_steps": 3, "deadline": NO_LIMIT}
    found = follow_path("start", lambda point: (0.5, 0.25), lambda point: Singular(), **never)
    assert (found.point, found.gap, found.steps, found.timed_out) == ("start", 0.25, 0, False)
