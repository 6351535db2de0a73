"""Parts for threads and results of solvers do not depend on the number of cores."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from ldpopt.foundation import threads
from ldpopt.solving.methods.rays import trees


@given(st.integers(1, 5000), st.floats(1.0, 1e9))
def test_parts_cover_all_rows_once_and_are_large_enough_for_a_thread(rows, operations):
    parts = threads.parts_of(rows, operations)
    assert np.concatenate([np.arange(rows)[part] for part in parts]).tolist() == list(range(rows))
    sizes = [part.stop - part.start for part in parts]
    assert len(parts) <= threads.MAX_PARTS
    assert len(parts) == 1 or (min(sizes) + 1) * operations >= threads.PART_OPERATIONS


@pytest.mark.parametrize("solver", [pytest.param("interior", marks=pytest.mark.long), "auto"])
@pytest.mark.parametrize(
    "objective", ["expected", pytest.param("worst_case", marks=pytest.mark.long)]
)
def test_solutions_are_the_same_bit_for_bit_on_any_number_of_cores(monkeypatch, solver, objective):
    monkeypatch.setattr(threads, "PART_OPERATIONS", 1.0)
    monkeypatch.setattr(trees, "CHUNK", 100)
    rng = np.random.default_rng(4)
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 6))
    prior = rng.dirichlet(np.ones(30)) if objective == "expected" else None
    problem = lo.Problem(
        prior,
        lo.utility.table(rng.random((30, 30)), sense="loss"),
        lo.GraphDP(1.0, graph),
        objective=objective,
    )
    limits = lo.Limits(rays_entries=0, graph_entries=0)
    answers = []
    for count in (1, 2, 5):
        monkeypatch.setattr(threads, "cores", lambda count=count: count)
        answers.append(lo.solve(problem, solver=solver, gap=1e-6, limits=limits))
    assert "rays" in answers[0].solver or solver == "interior" or objective == "worst_case"
    channels = {answer.mechanism.channel.tobytes() for answer in answers}
    duals = {answer.duals["privacy"].tobytes() for answer in answers}
    assert (len(channels), len(duals)) == (1, 1)
