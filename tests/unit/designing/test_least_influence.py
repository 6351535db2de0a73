"""The least influence of a report that any private design has, against values computed apart."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import refused, sample_or_all, thorough_or
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.capped import method
from ldpopt.designing.methods.capped.exclusion import no_design
from ldpopt.designing.methods.capped.task import CappedTask
from ldpopt.errors import CertificateError, NotRepresentableError
from ldpopt.foundation.deadline import NO_LIMIT
from ldpopt.problem.design_problem import DesignProblem

THREE = lo.PureLDP("log(3)")
N = thorough_or(8, 40)
FREQUENCIES = {2: 3 / 2, 3: 15 / 8, 4: 2.0, 5: 2.0}
PREFIX = {3: 15 / 8, 4: 15 / 7, 5: 7 / 3, 6: 53 / 21}


@pytest.mark.parametrize(
    ("workload", "least"),
    [
        *(
            (lo.Workload.frequencies(n), least)
            for n, least in sample_or_all(FREQUENCIES.items(), 1)
        ),
        *((lo.Workload.prefix(n), least) for n, least in sample_or_all(PREFIX.items(), 1)),
        (lo.Workload.mean([0.0, 0.3, 1.0]), 3 / 2),
        (lo.Workload.mean(np.arange(N) / (N - 1)), 3 / 2),
    ],
)
def test_the_least_influence(workload: lo.Workload, least: float) -> None:
    found = lo.least_influence(workload, THREE)
    assert found == pytest.approx(least, abs=1e-9)
    best = lo.design(workload, THREE, influence=found)
    assert best.influence.largest <= found
    assert best.certificate.recheck() == ()
    with refused("least-influence"):
        lo.design(workload, THREE, influence=least * (1 - 1e-6))


def test_rows_of_different_spans_have_one_least_cap() -> None:
    workload = lo.Workload([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0]])
    found = lo.least_influence(workload, THREE)
    assert found >= 3 * 1.5 - 1e-9  # of the larger number alone
    best = lo.design(workload, THREE, influence=found)
    assert best.influence.largest <= found
    with refused("least-influence"):
        lo.design(workload, THREE, influence=found * (1 - 1e-6))


def test_more_answers_are_refused_by_name() -> None:
    with refused("capped-answers", NotRepresentableError):
        lo.least_influence(lo.Workload.prefix(30), THREE)


def task_of(workload: lo.Workload, privacy: lo.Notion) -> CappedTask:
    problem = DesignProblem(workload, privacy)
    return CappedTask(DesignForm.of(problem, NO_LIMIT))


NOTIONS = (
    THREE,
    lo.PureLDP(2.0),
    lo.GraphDP(1.0, nx.path_graph(4)),
    lo.MetricDP(1.0, np.abs(np.subtract.outer(range(4), range(4)))),
)


@pytest.mark.parametrize("seed", range(thorough_or(5, 40)))
def test_caps_that_a_design_keeps_are_never_excluded(seed: int) -> None:
    # the influence of the design without a cap, number by number: some design has these caps
    rng = np.random.default_rng(seed)
    workload = lo.Workload(rng.random((int(rng.integers(1, 4)), 4)))
    privacy = NOTIONS[seed % len(NOTIONS)]
    free = lo.design(workload, privacy)
    reached = np.maximum(free.influence.raises, free.influence.lowers)
    task = task_of(workload, privacy)
    some = np.where(rng.random(len(reached)) < 0.3, np.inf, reached * (1 + 1e-12))
    some[0] = reached[0] * (1 + 1e-12)
    assert not no_design(task, some, NO_LIMIT)


@pytest.mark.parametrize("seed", range(thorough_or(4, 30)))
def test_caps_below_the_least_common_one_are_excluded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    workload = lo.Workload(rng.random((int(rng.integers(1, 4)), 4)))
    privacy = NOTIONS[seed % len(NOTIONS)]
    task = task_of(workload, privacy)
    least = lo.least_influence(workload, privacy)
    for part in (1e-7, 1e-3, 0.1, 0.9):
        assert no_design(task, np.full(workload.shape[0], least * (1 - part)), NO_LIMIT)
    assert not no_design(task, np.full(workload.shape[0], least), NO_LIMIT)


def test_caps_of_half_of_the_span_are_excluded() -> None:
    for cap in (0.5, 0.4):
        assert no_design(task_of(lo.Workload.frequencies(4), THREE), np.full(4, cap), NO_LIMIT)
        with refused("least-influence"):
            lo.design(lo.Workload.frequencies(4), THREE, influence=cap)


def test_what_is_not_proved_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "no_design", lambda *_: False)
    with refused("unknown-influence", CertificateError):
        lo.design(lo.Workload.frequencies(4), THREE, influence=1.9)
