"""Notions by hand: rows and separated events one unit inside and outside, and answers that are almost right."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from ldpopt.errors import MechanismError, NotRepresentableError, StatementError
from ldpopt.privacy import Ties, answers
from ldpopt.privacy.approximate import MAX_ROWS
from ldpopt.privacy.metric import read_distance
from ldpopt.privacy.notion import positions, read_labels, shape_of, with_epsilon

EVENTS = lo.ApproximateLDP("log(2)", 0.25)


def test_events_are_separated_only_where_a_slack_spreads_over_an_event() -> None:
    channel = np.eye(2)
    assert EVENTS.is_separated
    assert lo.ApproximateLDP(1.0, 1.0).is_separated
    for other in (lo.ApproximateLDP(1.0, 0.0), lo.ApproximateLDP(1.0, 0.25, "entry")):
        assert not other.is_separated
        assert other.separate(channel, [0, 1]) is None


@pytest.mark.parametrize("beyond", [0.0, 8.5e-10])
def test_an_event_is_separated_where_its_excess_is_above_delta(beyond: float) -> None:
    """Row 0 exceeds twice row 1 by 1/8 at outputs 0 and 1; row 1 exceeds twice row 0 by much at output 3."""
    channel = np.array([[0.375 + beyond, 0.625, 0.0, 0.0], [0.125, 0.25, 0.125, 0.5]])
    found = EVENTS.separate(channel, [0, 1])
    assert found is not None
    rows = [tuple(part[found.row == row].tolist() for part in (found.x, found.y)) for row in range(len(found))]
    expected = [([0, 1, 0, 1], [0, 0, 1, 1])] if beyond else []
    expected += [([1, 0, 1, 0], [2, 2, 3, 3])]
    assert [(sorted(zip(*row, strict=True))) for row in rows] == [sorted(zip(*row, strict=True)) for row in expected]
    assert found.upper.tolist() == pytest.approx([0.125] * len(found), abs=1e-15)


def test_nothing_is_separated_from_a_private_channel_nor_a_row_from_itself() -> None:
    assert EVENTS.separate(np.full((3, 4), 0.25), [0, 1, 2]) is None
    assert lo.ApproximateLDP(0.0, 0.25).separate(np.full((2, 2), 0.5), [0, 1]) is None
    assert lo.ApproximateLDP(5000.0, 0.25).separate(np.array([[1.0, 0.0], [0.5, 0.5]]), [0, 1]) is not None


def test_a_large_ratio_is_not_cut() -> None:
    channel = np.array([[0.5, 0.5], [1e-4, 1 - 1e-4]])
    assert lo.ApproximateLDP("log(100000)", 0.1).separate(channel, [0, 1]) is None


def test_every_pair_and_every_event_has_a_row() -> None:
    block = EVENTS.rows([0, 1, 2], 3)
    events = {(tuple(block.x[block.row == r]), tuple(block.y[block.row == r])) for r in range(len(block))}
    assert len(block) == len(events) == 6 * 6  # all but the empty event and the whole
    assert len(lo.ApproximateLDP(1.0, 0.25, "entry").rows([0, 1, 2], 3)) == 6 * 3


def test_events_are_written_down_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(EVENTS.rows([0, 1], 4)) == 2 * 14
    monkeypatch.setattr("ldpopt.privacy.approximate.MAX_ROWS", 2 * 16)
    assert len(EVENTS.rows([0, 1], 4)) == 2 * 14
    with pytest.raises(NotRepresentableError, match="64"):
        EVENTS.rows([0, 1], 5)
    monkeypatch.setattr("ldpopt.privacy.approximate.MAX_ROWS", 6 * 16 - 1)
    with pytest.raises(NotRepresentableError, match="96"):
        EVENTS.rows([0, 1, 2], 4)
    assert MAX_ROWS > 96


def test_a_graph_is_told_with_its_parts() -> None:
    path = nx.path_graph(3)
    assert repr(lo.GraphDP(1.0, path)) == "GraphDP(epsilon=1.0, graph=<3 nodes, 2 edges>)"
    apart: nx.Graph[Any] = nx.Graph([(0, 1), (2, 3)])
    notion = lo.GraphDP(1.0, apart, "separate")
    assert repr(notion) == 'GraphDP(epsilon=1.0, graph=<4 nodes, 2 edges>, parts="separate")'
    assert notion.notes(range(4)) == ("the neighbor graph has 2 parts, which reports may distinguish: {0, 1}, {2, 3}",)
    assert lo.GraphDP(1.0, path, "separate").notes(range(3)) == ()
    assert lo.GraphDP(1.0, path).notes(range(3)) == ()
    six: nx.Graph[Any] = nx.disjoint_union_all([nx.path_graph(6), *(nx.path_graph(1) for _ in range(5))])
    assert lo.GraphDP(1.0, six, "separate").notes(range(11))[0].endswith("{0, 1, 2, 3, 4, 5}, {6}, {7}, {8}, {9}, {10}")
    seven: nx.Graph[Any] = nx.disjoint_union_all([nx.path_graph(7), *(nx.path_graph(1) for _ in range(6))])
    told = lo.GraphDP(1.0, seven, "separate").notes(range(13))[0]
    assert told.endswith("{0, 1, 2, 3, 4, 5, ...}, {7}, {8}, {9}, {10}, {11}, ...")


@pytest.mark.parametrize(
    "graph", [nx.Graph(), nx.DiGraph([(0, 1)]), [(0, 1)], SimpleNamespace(edges=[]), SimpleNamespace(is_directed=bool)]
)
def test_what_is_no_neighbor_graph(graph: Any) -> None:
    with pytest.raises(StatementError):
        lo.GraphDP(1.0, graph)


def test_one_node_is_a_graph_and_a_loop_is_no_edge() -> None:
    assert lo.GraphDP(1.0, nx.empty_graph(1)).ties([0]).pairs()[0].tolist() == []
    looped: nx.Graph[Any] = nx.Graph([("a", "b"), ("b", "b")])
    notion = lo.GraphDP("log(2)", looped)
    assert notion.ties(["a", "b"]).is_complete
    assert notion.audit([[0.5, 0.5], [0.75, 0.25]]).claim.endswith("along 1 edges")


@pytest.mark.parametrize("labels", ["abc", "cab"])
def test_an_audit_along_edges_looks_both_ways_and_reads_plain_rows_in_the_order_of_the_nodes(labels: str) -> None:
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


LINE = [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]


def test_an_audit_by_distance_reads_plain_rows_in_the_order_of_the_table() -> None:
    rows = [[Fraction(1, 16), Fraction(15, 16)], [Fraction(1, 8), Fraction(7, 8)], [Fraction(1, 2), Fraction(1, 2)]]
    plain = lo.MetricDP("log(2)", LINE)
    named = lo.MetricDP("log(2)", LINE, list("abc"))
    for notion in (plain, named):
        assert notion.audit(rows).verdict == "certified"
        assert notion.audit([[Fraction(1, 17), Fraction(16, 17)], *rows[1:]]).verdict == "violated"
    turned = lo.Mechanism([[float(p) for p in row] for row in rows], list("cba"), ["x", "y"])
    assert named.audit(turned).verdict == "violated"


def test_distances_by_name_points_and_numbers() -> None:
    assert lo.MetricDP(1.0, "absolute", inputs=[1, 4]).matrix([1, 4]).tolist() == [[0, 3], [3, 0]]
    assert lo.MetricDP(1.0, "absolute").matrix([4, 1, 2]).tolist() == [[0, 3, 2], [3, 0, 1], [2, 1, 0]]
    points = {"a": 0.0, "b": 2.0}
    assert lo.MetricDP(1.0, "absolute", points=points).matrix("ba").tolist() == [[0, 2], [2, 0]]
    placed = {"a": (0.0, 0.0), "b": (3.0, 4.0)}
    assert lo.MetricDP(1.0, "manhattan", points=placed).matrix("ab")[0, 1] == 7
    for name, more in (("other", {}), ("euclidean", {}), (LINE, {"points": placed})):
        with pytest.raises(StatementError):
            lo.MetricDP(1.0, name, **more)
    with pytest.raises(StatementError, match="unknown distance 'other'"):
        lo.MetricDP(1.0, "other", points=placed)
    with pytest.raises(StatementError, match="needs numbers"):
        lo.MetricDP(1.0, "absolute").matrix(["a", "b"])


@pytest.mark.parametrize("table", [[1.0], [[0.0, 1.0]], [[]], np.zeros((0, 0)), [[0.0], [1.0]], np.zeros((1, 1, 1))])
def test_a_table_of_distances_is_square(table: Any) -> None:
    with pytest.raises((StatementError, MechanismError)):
        read_distance(table)


def test_stated_metrics_take_values_labels_or_positions() -> None:
    def read(inputs: Any, **table: Any) -> Any:
        return lo.MetricDP.from_stated({"epsilon": 1.0, **table}, inputs).matrix(inputs).tolist()

    assert read([1, 4], distance="absolute") == [[0, 3], [3, 0]]
    assert read(["a", "b", "c"], distance="absolute")[0] == [0, 1, 2]
    assert read(["a", "b"], distance="absolute", values=[1, 6]) == [[0, 5], [5, 0]]
    assert read(["a", "b"], distance="euclidean", points=[[0, 0], [3, 4]]) == [[0, 5], [5, 0]]
    for wrong, words in (
        ({"distance": "absolute", "points": [[0], [1]]}, "points are for"),
        ({"distance": "euclidean"}, "needs points"),
        ({"distance": "absolute", "values": [1]}, "values has 1 entries"),
        ({"distance": "euclidean", "points": [[0, 0]]}, "points has 1 entries"),
        ({"distance": "euclidean", "points": []}, r"values has 0"),
        ({"distance": [[0, 1], [1, 0]], "values": [1, 2]}, "not used"),
    ):
        with pytest.raises(StatementError, match=words):
            read(["a", "b"], **wrong)


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 4},
        {"delta": -1e-9},
        {"delta": 1.1},
        {"delta": math.nan},
        {"first": np.array([0])},
        {"distance": np.array([1.0])},
        {"first": np.array([0]), "second": np.array([1, 2])},
        {"first": np.array([0]), "second": np.array([1]), "distance": np.array([1.0, 1.0])},
        {"first": np.array([0]), "second": np.array([3])},
        {"first": np.array([-1]), "second": np.array([1])},
        {"first": np.array([0, 1]), "second": np.array([1, 1])},
        {"first": np.array([0, 1]), "second": np.array([1, 0]), "distance": np.array([1.0, 0.0])},
        {"first": np.array([0, 1]), "second": np.array([1, 0]), "distance": np.array([1.0, -1.0])},
        {"first": np.array([0, 1]), "second": np.array([1, 0]), "distance": np.array([1.0, math.inf])},
        {"capped": np.ones(2, bool)},
        {"owner": np.array([-1, 0])},
        {"owner": np.array([-1, 0, 3])},
        {"owner": np.array([-2, 0, 1])},
    ],
)
def test_ties_that_are_almost_right_are_refused(changes: Any) -> None:
    bad = replace(Ties(1.0, 3), **changes)
    with pytest.raises(StatementError, match=r"ties\(\) returned"):
        answers._checked_ties(object(), "ties", bad, 3, None)


def test_ties_that_are_just_right_are_taken() -> None:
    ends = np.array([0, 2]), np.array([2, 0])
    for ties in (
        Ties(1.0, 3),
        Ties(1.0, 3, *ends),
        Ties(1.0, 3, *ends, np.array([2.0, 2.0])),
        Ties(1.0, 3, np.zeros(0, np.int64), np.zeros(0, np.int64)),
        Ties(1.0, 3, capped=np.ones(3, bool), owner=np.array([-1, 0, 2])),
        Ties(1.0, 3, delta=1.0),
    ):
        assert answers._checked_ties(object(), "ties", ties, 3, None) is ties


@pytest.mark.parametrize(
    ("array", "size", "words"),
    [
        ([], 0, ""),
        ([0], 1, ""),
        ([0, 1, 2], 3, ""),
        ([2, 2], 3, ""),
        ([0, 3], 3, "3"),
        ([-1, 2], 3, "2"),
        ([0.0], 1, "other things than integers"),
    ],
)
def test_positions_are_checked_at_both_ends(array: Any, size: int, words: str) -> None:
    assert answers._wrong_positions(np.array(array), size) == words


def test_only_a_notion_that_separates_is_asked_for_events() -> None:
    channel = np.eye(2)
    assert answers.separated(lo.PureLDP(1.0), channel, [0, 1]) is None
    assert answers.separated(lo.ApproximateLDP(1.0, 0.25, "entry"), channel, [0, 1]) is None
    assert answers.separated(EVENTS, channel, [0, 1]) is not None


def test_labels_and_positions_are_matched_one_to_one() -> None:
    assert positions("ba", "ab", "it") == {"a": 0, "b": 1}
    for labels, inputs in (("abc", "ab"), ("a", "ab")):
        with pytest.raises(StatementError, match=r"'c'|'b'"):
            positions(labels, inputs, "it")
    assert shape_of(np.eye(2)) == ((0, 1), False)
    assert shape_of([[1], [1], [1]]) == ((0, 1, 2), False)
    for wrong in (3.0, np.array(3.0)):
        with pytest.raises(MechanismError):
            shape_of(wrong)
    with pytest.raises(StatementError, match="duplicate sensitive label 'b'"):
        read_labels(["a", "b", "b"], "sensitive")
    for wrong in ("ab", {"a": 1}, 3, [[]]):
        with pytest.raises(StatementError):
            read_labels(wrong, "sensitive")


def test_a_budget_is_changed_only_where_there_is_one() -> None:
    assert with_epsilon(lo.PureLDP(1.0), 2.0) == lo.PureLDP(2.0)

    @dataclass(frozen=True)
    class Other:
        size: float = 1.0

    for wrong in (Other(), lo.PureLDP, object()):
        with pytest.raises(StatementError):
            with_epsilon(wrong, 2.0)


OWN = lo.UtilityOptimizedLDP("log(2)", ["a"])


def test_owners_are_the_inputs_of_unprotected_reports() -> None:
    assert OWN.ties("abc").owner.tolist() == [-1, 1, 2]  # type: ignore[union-attr]
    assert OWN.ties("abc", "xca").owner.tolist() == [-1, 2, -1]  # type: ignore[union-attr]
    assert OWN.ties("bac", "bx").owner.tolist() == [0, -1]  # type: ignore[union-attr]
    assert lo.UtilityOptimizedLDP(1.0, list("abc")).ties("abc").owner is None
    with pytest.raises(StatementError, match="input 'a' has nothing to report"):
        OWN.ties("abc", "bc")
    with pytest.raises(StatementError, match="input 'a' has nothing to report"):
        OWN.ties("bac", "bc")
    for protected, outputs, label in ((["a"], "axyb", "'x'"), (["b"], "ab", "'a'")):
        with pytest.raises(StatementError, match=f"report {label}"):
            lo.UtilityOptimizedLDP(1.0, ["a"], protected).ties("ab", outputs)


def test_an_audit_of_owned_reports_reads_positions_where_there_are_no_labels() -> None:
    notion = lo.UtilityOptimizedLDP("log(2)", [0])
    assert notion.audit([[1.0, 0.0], [0.5, 0.5]]).verdict == "certified"
    assert notion.audit([[0.75, 0.25], [0.5, 0.5]]).verdict == "violated"
    assert notion.audit([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]).verdict == "certified"
    kept = lo.UtilityOptimizedLDP("log(2)", ["a"], ["a", "x"])
    good = lo.Mechanism([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]], "ab", "axb")
    assert kept.audit(good).verdict == "certified"
    with pytest.raises(StatementError, match="report 'y'"):
        kept.audit(lo.Mechanism([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], "ab", "ayz"))
