"""Sweeps: the grid, its table, what fails and what is kept."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import refused
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    MetricDP,
    Problem,
    PureLDP,
    constraints,
    neighbors,
    solve,
)
from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.privacy import Notion
from ldpopt.processes.pool import Finished, Lost
from ldpopt.solvers import Status
from ldpopt.studies.sweep import Case, Grid, GridPoint, sweep

BINARY = Problem([0.3, 0.7], "identity", PureLDP(1.0), inputs=["no", "yes"])


def test_values_are_those_of_the_closed_form() -> None:
    found = sweep(BINARY, [0.1, "log(3)", 3.0])
    assert found.column("value") == pytest.approx(found.column("closed_form"), abs=1e-12)
    assert found.column("value")[1] == pytest.approx(0.75)
    assert np.all(found.column("relative_gap") < 1e-12)
    assert (np.diff(found.column("value")) >= 0).all()
    assert not found.interrupted


def test_priors_run_fastest() -> None:
    priors = [[0.0, 1.0], [0.5, 0.5], [0.9, 0.1]]
    found = sweep(BINARY, [0.5, 1.0], priors)
    assert [row.prior for row in found.rows] == [0, 1, 2, 0, 1, 2]
    assert found.grid().shape == (2, 3)
    assert found.grid()[:, 0] == pytest.approx([1.0, 1.0])
    assert found.grid()[:, 1] == pytest.approx(1 / (1 + np.exp([-0.5, -1.0])))
    assert found.to_frame().columns.tolist()[-2:] == ["weight[no]", "weight[yes]"]


@pytest.mark.parametrize(
    "privacy",
    [
        ApproximateLDP(1.0, 0.1),
        ApproximateLDP(1.0, 0.1, "entry"),
        GraphDP(1.0, neighbors.path([0, 1, 2])),
        MetricDP(1.0, [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
    ],
    ids=["event", "entry", "graph", "metric"],
)
def test_every_notion_is_swept(privacy: Any) -> None:
    found = sweep(Problem([0.5, 0.3, 0.2], "identity", privacy), [0.5, 1.0, 2.0])
    values = found.column("value")
    formulas = found.column("closed_form")
    assert np.isfinite(values).all()
    assert values == pytest.approx(np.where(np.isnan(formulas), values, formulas), abs=1e-9)
    assert (np.diff(values) > 0).all()


def test_processes_give_the_same_table() -> None:
    calls: list[tuple[int, int]] = []
    found = sweep(
        BINARY, [0.5, 1.0, 2.0], jobs=2, progress=lambda done, total: calls.append((done, total))
    )
    assert found.column("value").tolist() == sweep(BINARY, [0.5, 1.0, 2.0]).column("value").tolist()
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_a_checkpoint_goes_on_with_the_same_table_and_refuses_other_sweeps(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    file = tmp_path / "points"
    epsilons = [0.5, "log(2)"]
    priors = [[0.5, 0.5], [0.2, 0.8]]
    part = sweep(BINARY, epsilons, priors, checkpoint=file, progress=stop)
    assert len(part.rows) == 2
    calls: list[int] = []
    whole = sweep(
        BINARY, epsilons, priors, checkpoint=file, progress=lambda done, total: calls.append(done)
    )
    assert calls == [3, 4]
    assert list(map(repr, whole.rows[:2])) == list(map(repr, part.rows))  # nan is not equal to nan
    assert whole.grid().tolist() == sweep(BINARY, epsilons, priors).grid().tolist()
    for grid in ([epsilons], [[0.5], priors]):
        with refused("other-run", ModelFileError) as caught:
            sweep(BINARY, *grid, checkpoint=file)
        assert "'sweep of 4 points" in str(caught.value)
    with refused("unwritable-problem"):
        sweep(
            Problem([0.5, 0.5], "identity", PureLDP(1.0), inputs=[None, 1]),
            [1.0],
            checkpoint=tmp_path / "new",
        )


def test_points_that_failed_are_solved_again_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(problem: Problem, **options: Any) -> Any:
        epsilon = float(problem.privacy.epsilon)
        if epsilon == 0.5:
            raise LdpoptError("no process could be started for the solver")
        found = solve(problem, **options)
        return (
            replace(found, status=Status.FAILED, raw_status="killed", repaired=None)
            if epsilon == 1.0
            else found
        )

    calls: list[int] = []
    undisturbed = sweep(BINARY, [0.5, 1.0, 2.0])
    with monkeypatch.context() as patch:
        patch.setattr("ldpopt.studies.sweep.solve", failing)
        found = sweep(BINARY, [0.5, 1.0, 2.0], checkpoint=tmp_path / "points")
    assert [row.status for row in found.rows] == [
        "no process could be started for the solver",
        "failed: killed",
        "optimal",
    ]
    again = sweep(
        BINARY,
        [0.5, 1.0, 2.0],
        checkpoint=tmp_path / "points",
        progress=lambda done, _: calls.append(done),
    )
    assert calls == [2, 3]
    assert again.column("value").tolist() == undisturbed.column("value").tolist()


def test_deltas_and_problems_are_varied_and_mechanisms_kept(tmp_path: Path) -> None:
    sizes = {n: Problem(np.full(n, 1 / n), "identity", ApproximateLDP(1.0, 0.1)) for n in (2, 3)}
    options: dict[str, Any] = {
        "deltas": [0.0, 0.2],
        "keep": True,
        "checkpoint": tmp_path / "points",
    }
    found = sweep(sizes, [0.5, 1.0], **options)
    assert found.grid().shape == (4, 2, 1)
    for case, (n, delta) in enumerate([(2, 0.0), (2, 0.2), (3, 0.0), (3, 0.2)]):
        for k, epsilon in enumerate([0.5, 1.0]):
            best = solve(Problem(np.full(n, 1 / n), "identity", ApproximateLDP(epsilon, delta)))
            assert found.grid()[case, k, 0] == pytest.approx(best.value, abs=1e-12)
            row = found.rows[2 * case + k]
            kept = found.mechanisms[2 * case + k]
            assert (row.model, row.delta, row.epsilon) == (str(n), delta, epsilon)
            assert kept is not None
            assert kept.audit().delta_at(epsilon) <= delta
            assert kept.expected(np.full(n, 1 / n)) == pytest.approx(row.value)
    assert found.to_frame().columns.tolist()[-2:] == ["model", "delta"]
    again = sweep(
        sizes, [0.5, 1.0], **options, progress=lambda *_: pytest.fail("all points were finished")
    )
    assert [one.digest for one in again.mechanisms] == [one.digest for one in found.mechanisms]
    shared = sweep({"a": BINARY, "b": BINARY}, [1.0], [[0.5, 0.5], [0.3, 0.7]])
    assert shared.grid().shape == (2, 1, 2)
    assert (shared.grid()[0] == shared.grid()[1]).all()


@pytest.mark.parametrize(
    "problem, options, code",
    [
        (BINARY, {"deltas": [0.1]}, "delta"),
        (Problem([0.3, 0.7], "identity", ApproximateLDP(1.0, 0.1)), {"deltas": []}, "no-deltas"),
        ({}, {}, "no-problems"),
        (
            {"a": BINARY, "b": Problem([0.5, 0.5], "absolute_error", PureLDP(1.0))},
            {},
            "mixed-values",
        ),
        (
            {"a": BINARY, "b": Problem([0.5, 0.5], "identity", PureLDP(1.0))},
            {"priors": [[0.5, 0.5]]},
            "other-inputs",
        ),
    ],
)
def test_bad_cases_are_refused(problem: Any, options: Any, code: str) -> None:
    with refused(code):
        sweep(problem, [1.0], **options)


def test_a_point_whose_workers_died_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from ldpopt.studies import sweep as module

    grid = Grid((Case("", math.nan, BINARY),), (Budget(1.0),), (None,), "auto", None, False)
    ended = Finished({0: Lost("3 workers died"), 2: grid(GridPoint(0, 0, 0))}, True, 3)
    monkeypatch.setattr(module, "run", lambda *_, **__: ended)
    found = sweep(BINARY, [0.5, 0.7, 1.0])
    assert [row.status for row in found.rows] == ["failed: 3 workers died", "optimal"]
    assert np.isnan(found.grid()[:, 0]).tolist() == [True, True, False]


def test_the_table_as_csv_reads_back(tmp_path: Path) -> None:
    found = sweep(BINARY, [0.5, 1.0])
    text = found.to_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == text
    rows = list(csv.DictReader(text.splitlines()))
    assert [float(row["value"]) for row in rows] == found.column("value").tolist()
    assert list(rows[0]) == [
        "epsilon",
        "prior",
        "value",
        "relative_gap",
        "closed_form",
        "status",
        "seconds",
    ]


def test_points_that_fail_say_so() -> None:
    values = [-1.0, 0.0, 1.0]
    problem = Problem(
        [0.2, 0.3, 0.5],
        "squared_error",
        PureLDP(1.0),
        inputs=values,
        constraints=constraints.unbiased(values, values),
    )
    found = sweep(problem, [0.5, 1.0])
    assert [row.status for row in found.rows] == ["infeasible", "infeasible"]
    assert all(math.isnan(row.value) for row in found.rows)
    assert ",,," in found.to_csv().splitlines()[1]
    missing = sweep(BINARY, [1.0], solver="nobody")
    assert "nobody" in missing.rows[0].status


def test_an_interrupt_keeps_the_finished_rows() -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    found = sweep(BINARY, np.linspace(0.1, 5, 50), progress=stop)
    assert found.interrupted
    assert len(found.rows) == 2
    assert np.isnan(found.grid()[2:]).all()
    assert len(found.to_csv().splitlines()) == 3


@pytest.mark.parametrize(
    "epsilons, options, words",
    [
        ([], {}, "0 points"),
        ([-1.0], {}, "negative"),
        ([1.0], {"priors": [0.5, 0.5]}, "shape"),
        ([1.0], {"priors": [[0.5, 0.6]]}, "sums to"),
        ([1.0], {"jobs": 0}, "processes"),
    ],
)
def test_bad_grids_are_refused_before_the_first_point(
    epsilons: Any, options: Any, words: str
) -> None:
    with pytest.raises(StatementError, match=words):
        sweep(BINARY, epsilons, **options)


def test_a_worst_case_has_no_priors() -> None:
    problem = Problem(None, "identity", PureLDP(1.0), inputs=["a", "b"], objective="worst_case")
    assert sweep(problem, [1.0]).rows[0].closed_form == pytest.approx(
        sweep(problem, [1.0]).rows[0].value
    )
    with refused("worst-case"):
        sweep(problem, [1.0], [[0.5, 0.5]])


def test_a_notion_without_epsilon_is_refused() -> None:
    class Odd(Notion):
        def rows(self, *_: object) -> None: ...

        def audit(self, *_: object) -> None: ...

    with pytest.raises(StatementError, match="no epsilon"):
        sweep(Problem([0.5, 0.5], "identity", Odd()), [1.0])
