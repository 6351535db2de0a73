"""Graph privacy: parts of the graph, edges and loops, audits along the edges."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import StatementError
from ldpopt.mechanism.repair import repair


def test_notes_list_the_parts_of_a_graph() -> None:
    path = nx.path_graph(3)
    assert repr(lo.GraphDP(1.0, path)) == "GraphDP(epsilon=1.0, graph=<3 nodes, 2 edges>)"
    apart: nx.Graph[Any] = nx.Graph([(0, 1), (2, 3)])
    notion = lo.GraphDP(1.0, apart, "separate")
    assert repr(notion) == 'GraphDP(epsilon=1.0, graph=<4 nodes, 2 edges>, parts="separate")'
    assert notion.notes(range(4)) == (
        "the neighbor graph has 2 parts, which reports may distinguish: {0, 1}, {2, 3}",
    )
    assert lo.GraphDP(1.0, path, "separate").notes(range(3)) == ()
    assert lo.GraphDP(1.0, path).notes(range(3)) == ()
    six: nx.Graph[Any] = nx.disjoint_union_all(
        [nx.path_graph(6), *(nx.path_graph(1) for _ in range(5))]
    )
    assert (
        lo.GraphDP(1.0, six, "separate")
        .notes(range(11))[0]
        .endswith("{0, 1, 2, 3, 4, 5}, {6}, {7}, {8}, {9}, {10}")
    )
    seven: nx.Graph[Any] = nx.disjoint_union_all(
        [nx.path_graph(7), *(nx.path_graph(1) for _ in range(6))]
    )
    note = lo.GraphDP(1.0, seven, "separate").notes(range(13))[0]
    assert note.endswith("{0, 1, 2, 3, 4, 5, ...}, {7}, {8}, {9}, {10}, {11}, ...")


@pytest.mark.parametrize(
    "graph",
    [
        nx.Graph(),
        nx.DiGraph([(0, 1)]),
        [(0, 1)],
        SimpleNamespace(edges=[]),
        SimpleNamespace(is_directed=bool),
    ],
)
def test_other_objects_are_not_neighbor_graphs(graph: Any) -> None:
    with pytest.raises(StatementError):
        lo.GraphDP(1.0, graph)


def test_loops_are_ignored_and_one_node_is_enough() -> None:
    assert lo.GraphDP(1.0, nx.empty_graph(1)).ties([0]).pairs()[0].tolist() == []
    looped: nx.Graph[Any] = nx.Graph([("a", "b"), ("b", "b")])
    notion = lo.GraphDP("log(2)", looped)
    assert notion.ties(["a", "b"]).is_complete
    assert notion.audit([[0.5, 0.5], [0.75, 0.25]]).claim.endswith("along 1 edges")


@pytest.mark.parametrize("labels", ["abc", "cab"])
def test_audits_compare_both_ways_and_read_arrays_in_the_order_of_the_nodes(labels: str) -> None:
    notion = lo.GraphDP("log(2)", nx.path_graph(list(labels)))
    rows = [[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]]
    assert notion.audit(rows).verdict == "certified"
    assert notion.audit(rows).epsilon == pytest.approx(math.log(2), abs=1e-15)
    for wrong in ([[0.125, 0.875], *rows[1:]], [*rows[:2], [0.875, 0.125]]):
        assert notion.audit(wrong).verdict == "violated"
    assert notion.audit(lo.Mechanism(rows, labels, ["x", "y"])).verdict == "certified"
    far = lo.Mechanism(rows, [labels[1], labels[0], labels[2]], ["x", "y"])  # 0.25 beside 0.75
    assert notion.audit(far).verdict == "violated"
    with pytest.raises(StatementError):
        notion.audit(rows[:2])


def test_a_complete_graph_is_compact():
    problem = lo.Problem([1 / 3] * 3, "identity", lo.GraphDP("log(3)", nx.complete_graph(3)))
    assert problem.ties().is_complete
    answer = lo.solve(problem)
    assert answer.solver == "columns (compact)"
    assert answer.value == pytest.approx(0.6, abs=1e-12)
    assert lo.certify(answer).relative_gap < 1e-12


def test_separate_parts_have_to_be_allowed(tmp_path):
    graph = nx.Graph([("a", "b"), ("c", "d")])
    graph.add_node("e")
    with refused("graph-parts") as caught:
        lo.GraphDP(1.0, graph)
    assert "3 parts" in str(caught.value)
    notion = lo.GraphDP("log(3)", graph, parts="separate")
    problem = lo.Problem([0.2] * 5, "identity", notion, inputs=list("abcde"))
    answer = lo.solve(problem)
    assert answer.value == pytest.approx((4 * 0.75 + 1) / 5, abs=1e-12)
    assert (
        "the neighbor graph has 3 parts, which reports may distinguish: {a, b}, {c, d}, {e}"
        in answer.notes
    )
    assert lo.certify(answer).relative_gap < 1e-12
    lo.save_model(problem, tmp_path / "parts.toml")
    assert lo.load_model(tmp_path / "parts.toml").privacy.parts == "separate"
    lo.certify(answer).save(tmp_path / "proof.json")
    assert lo.Certificate.load(tmp_path / "proof.json").problem.privacy.parts == "separate"
    assert repair(np.eye(5), notion, inputs=list("abcde")).audit.verdict == "certified"
    assert lo.GraphDP(1.0, nx.path_graph(3), parts="separate").notes(range(3)) == ()
    with pytest.raises(StatementError, match="'both'"):
        lo.GraphDP(1.0, graph, parts="both")
