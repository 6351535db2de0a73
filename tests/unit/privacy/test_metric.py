"""Metric privacy: tables, names of distances, points, audits by distance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.deadline import Deadline, OutOfTimeError
from ldpopt.privacy.metric import read_distance

LINE = [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]


def test_audits_read_arrays_in_the_order_of_the_table() -> None:
    rows = [
        [Fraction(1, 16), Fraction(15, 16)],
        [Fraction(1, 8), Fraction(7, 8)],
        [Fraction(1, 2), Fraction(1, 2)],
    ]
    plain = lo.MetricDP("log(2)", LINE)
    named = lo.MetricDP("log(2)", LINE, list("abc"))
    for notion in (plain, named):
        assert notion.audit(rows).verdict == "certified"
        assert notion.audit([[Fraction(1, 17), Fraction(16, 17)], *rows[1:]]).verdict == "violated"
    turned = lo.Mechanism([[float(p) for p in row] for row in rows], list("cba"), ["x", "y"])
    assert named.audit(turned).verdict == "violated"


def test_distances_have_names_points_or_numeric_labels() -> None:
    assert lo.MetricDP(1.0, "absolute", inputs=[1, 4]).matrix([1, 4]).tolist() == [[0, 3], [3, 0]]
    assert lo.MetricDP(1.0, "absolute").matrix([4, 1, 2]).tolist() == [
        [0, 3, 2],
        [3, 0, 1],
        [2, 1, 0],
    ]
    points = {"a": 0.0, "b": 2.0}
    assert lo.MetricDP(1.0, "absolute", points=points).matrix("ba").tolist() == [[0, 2], [2, 0]]
    placed = {"a": (0.0, 0.0), "b": (3.0, 4.0)}
    assert lo.MetricDP(1.0, "manhattan", points=placed).matrix("ab")[0, 1] == 7
    for name, more in (("other", {}), ("euclidean", {}), (LINE, {"points": placed})):
        with pytest.raises(StatementError):
            lo.MetricDP(1.0, name, **more)
    with refused("unknown-distance"):
        lo.MetricDP(1.0, "other", points=placed)
    with refused("numbers"):
        lo.MetricDP(1.0, "absolute").matrix(["a", "b"])


@pytest.mark.parametrize(
    "table", [[1.0], [[0.0, 1.0]], [[]], np.zeros((0, 0)), [[0.0], [1.0]], np.zeros((1, 1, 1))]
)
def test_tables_of_distances_have_to_be_square(table: Any) -> None:
    with pytest.raises((StatementError, MechanismError)):
        read_distance(table)


def test_tables_in_files_take_values_labels_or_positions() -> None:
    def read(inputs: Any, **table: Any) -> Any:
        return lo.MetricDP.from_plain({"epsilon": 1.0, **table}, inputs).matrix(inputs).tolist()

    assert read([1, 4], distance="absolute") == [[0, 3], [3, 0]]
    assert read(["a", "b", "c"], distance="absolute")[0] == [0, 1, 2]
    assert read(["a", "b"], distance="absolute", values=[1, 6]) == [[0, 5], [5, 0]]
    assert read(["a", "b"], distance="euclidean", points=[[0, 0], [3, 4]]) == [[0, 5], [5, 0]]
    for wrong, code in (
        ({"distance": "absolute", "points": [[0], [1]]}, "points"),
        ({"distance": "euclidean"}, "no-points"),
        ({"distance": "absolute", "values": [1]}, "label-count"),
        ({"distance": "euclidean", "points": [[0, 0]]}, "label-count"),
        ({"distance": "euclidean", "points": []}, "coordinates"),
        ({"distance": [[0, 1], [1, 0]], "values": [1, 2]}, "unused-values"),
    ):
        with refused(code):
            read(["a", "b"], **wrong)


def test_ties_are_computed_on_demand_and_obey_a_deadline() -> None:
    distance = np.abs(np.subtract.outer(np.arange(700.0), np.arange(700.0)))
    problem = lo.Problem(np.full(700, 1 / 700), "identity", lo.MetricDP(1.0, distance))
    with pytest.raises(OutOfTimeError, match="implied pairs"):
        problem.ties(Deadline(0.0))
