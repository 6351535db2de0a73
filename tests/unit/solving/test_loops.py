"""Compiled loops: small problems need none, and time limits hold during compilation."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.foundation.deadline import Deadline
from ldpopt.solving.methods.graph_interior import GraphInteriorPoint
from ldpopt.solving.methods.loops import Loops, NotCompiledError

SMALL = """
import sys
import networkx as nx, numpy as np, ldpopt as lo
distance = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
table = lo.utility.table(distance, sense="loss")
prior = [0.4, 0.3, 0.1, 0.1, 0.1]
notions = lo.PureLDP(1), lo.ApproximateLDP(1, 0.01), lo.GraphDP(1, nx.path_graph(5)), lo.MetricDP(1, distance)
for privacy in notions:
    lo.certify(lo.solve(lo.Problem(prior, table, privacy)))
    lo.certify(lo.solve(lo.Problem(None, table, privacy, objective="worst_case")))
points = np.random.default_rng(0).random((30, 2))
solution = lo.solve(lo.Problem(np.full(30, 1 / 30), "identity", lo.MetricDP.of_points(1.0, points)))
assert solution.status is lo.Status.OPTIMAL
print("numba" in sys.modules)
"""


def test_small_problems_compile_nothing():
    done = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.fixture
def blocked(monkeypatch):
    """The interior point by outputs whose loops never finish compiling."""
    gate = threading.Event()
    monkeypatch.setattr(GraphInteriorPoint, "loops", Loops("interior point", gate.wait))
    yield gate
    gate.set()


def metric_problem():
    distance = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    return lo.Problem(np.full(6, 1 / 6), lo.utility.table(distance, sense="loss"), lo.MetricDP(1.0, distance))


def test_waiting_ends_at_the_deadline_but_compilation_continues(blocked):
    loops = GraphInteriorPoint.loops
    with pytest.raises(NotCompiledError, match="compiling the loops of the interior point"):
        loops.wait(Deadline.after(0.05))
    blocked.set()
    loops.wait()
    loops.wait(Deadline.after(0.0))


def test_another_method_answers_if_loops_are_not_ready(blocked):
    answer = lo.solve(metric_problem(), time_limit=3.0, limits=lo.Limits(graph_entries=1))
    assert answer.status is lo.Status.OPTIMAL
    assert "highs" in answer.solver
    assert any("compiling the loops" in note for note in answer.notes)
    free = lo.solve(metric_problem(), solver="highs")
    assert answer.value == pytest.approx(free.value, rel=1e-9)


def test_without_another_method_the_constant_report_is_returned(blocked):
    answer = lo.solve(metric_problem(), solver="interior", time_limit=0.2)
    assert answer.status is lo.Status.LIMIT
    assert "compiling the loops" in answer.raw_status
    assert lo.certify(answer).audit.verdict == "certified"


def test_an_error_in_the_example_does_not_block_the_method():
    def fails():
        raise MemoryError

    loops = Loops("nothing", fails)
    loops.wait()
    loops.wait(Deadline.after(0.0))
