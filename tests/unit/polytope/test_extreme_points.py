"""Extreme points: counts, structure, orbits and the best one for a problem."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import islice

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import is_vertex, refused, thorough_or
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.polytope import staircase
from ldpopt.polytope.halfspaces import halfspaces
from ldpopt.polytope.staircase import FREE
from ldpopt.polytope.vertices import ListedPoints, StaircasePoints, extreme_points
from ldpopt.privacy import installed

LOG3 = lo.PureLDP("log(3)")


def orbit_sizes(points, most=None):
    """Number of collections of each size, from their orbits."""
    sizes = {}
    for collection in staircase.collection_orbits(points, most):
        moved = np.sort(staircase.images_of(points)[:, list(collection.sets)], axis=1)
        stabilizer = int((moved == np.array(collection.sets)).all(axis=1).sum())
        sizes[len(collection.sets)] = (
            sizes.get(len(collection.sets), 0) + math.factorial(points) // stabilizer
        )
    return sizes


class TestBalancedCollections:
    @pytest.mark.parametrize(
        "points, sizes",
        [
            (2, {2: 1}),
            (3, {2: 3, 3: 2}),
            (4, {2: 7, 3: 12, 4: 22}),
            (5, {2: 15, 3: 50, 4: 250, 5: 976}),
        ],
    )
    def test_their_numbers_are_the_known_ones(self, points, sizes):
        assert orbit_sizes(points) == sizes

    def test_six_points_with_few_sets(self):
        assert orbit_sizes(6, 3) == {2: 31, 3: 180}

    @pytest.mark.parametrize("points", [3, 4, 5])
    def test_weights_balance_every_point(self, points):
        for collection in staircase.collection_orbits(points):
            for point in range(points):
                held = [
                    w
                    for s, w in zip(collection.sets, collection.weights, strict=True)
                    if s >> point & 1
                ]
                assert sum(held) == collection.total
            assert math.gcd(*collection.weights, collection.total) == 1

    def test_dependent_or_unbalanced_sets_have_no_weights(self):
        assert staircase.balance(3, (1, 2)) is None
        assert staircase.balance(4, (3, 5, 10, 12)) is None
        assert staircase.balance(3, (3, 5, 6)).weights == (1, 1, 1)

    def test_too_many_families_are_rejected_with_their_number(self):
        with refused("families") as caught:
            staircase.collection_orbits(7)
        assert "9.54e+09" in caught.value.what


class TestCounts:
    @pytest.mark.parametrize("epsilon", ["log(3)", "log(7/2)", 0.1, 5.0])
    @pytest.mark.parametrize(
        "n, by_columns, orbits",
        [
            (1, {1: 1}, 1),
            (2, {1: 2, 2: 2}, 2),
            (3, {1: 3, 2: 18, 3: 12}, 4),
            (4, {1: 4, 2: 84, 3: 288, 4: 528}, 10),
        ],
    )
    def test_counts_by_number_of_used_outputs(self, n, by_columns, orbits, epsilon):
        points = extreme_points(lo.PureLDP(epsilon), n)
        assert points.counts_by_columns == by_columns
        assert len(points.orbits) == orbits

    def test_five_answers(self):
        points = extreme_points(LOG3, 5, orbits=True)
        two_levels = sum(
            o.size for o in points.orbits if not any(FREE in column for column in o.pattern)
        )
        assert (two_levels, points.count, len(points.orbits)) == (150_425, 164_825, 47)

    @pytest.mark.parametrize("n, m", [(3, 2), (2, 4), (4, 3), (3, 5), (5, 3)])
    def test_orbits_and_stabilizers(self, n, m):
        for orbit in extreme_points(LOG3, n, m).orbits:
            assert orbit.size * orbit.stabilizer == math.factorial(n) * math.factorial(m)

    def test_at_epsilon_zero_only_constant_channels_are_private(self):
        assert extreme_points(lo.PureLDP(0), 3, 4).counts_by_columns == {1: 4}


class TestPoints:
    @pytest.mark.parametrize("n, m", [(2, 2), (3, 3), (4, 4), (3, 5), (4, 2)])
    def test_each_point_is_listed_once_and_is_private(self, n, m):
        points = extreme_points(LOG3, n, m)
        listed = [tuple(vertex.flat) for vertex in points.vertices]
        assert len(set(listed)) == len(listed) == points.count
        for vertex in islice(points.vertices, 0, None, 7):
            assert all(sum(row) == 1 for row in vertex)
            assert lo.audit(vertex, LOG3).verdict == "certified"

    @pytest.mark.parametrize("alpha", [Fraction(3), Fraction(7, 2)])
    def test_points_with_free_entries_are_extreme(self, alpha):
        """The tight ratios and row sums of each orbit's representative leave no direction to move
        in."""
        points = extreme_points(lo.PureLDP(f"log({alpha})"), 5)
        for orbit in points.orbits:
            vertex = orbit.representative
            rows = [np.eye(5)[x][:, None] * np.ones(5) for x in range(5)]
            for y in range(5):
                for x in range(5):
                    for k in range(5):
                        if x != k and vertex[x, y] == alpha * vertex[k, y]:
                            row = np.zeros((5, 5))
                            row[x, y] = 1
                            row[k, y] = -float(alpha)
                            rows.append(row)
            assert np.linalg.matrix_rank(np.array(rows).reshape(-1, 25)) == 25
            assert lo.audit(vertex, points.privacy).verdict == "certified"

    def test_a_point_with_a_free_entry_is_the_only_optimum_of_some_utility(self):
        points = extreme_points(LOG3, 5)
        orbit = next(o for o in points.orbits if any(FREE in column for column in o.pattern))
        vertex = orbit.representative
        gain = np.zeros((5, 5))
        for y in range(5):
            for x in range(5):
                for k in range(5):
                    if x != k and vertex[x, y] == 3 * vertex[k, y]:
                        gain[x, y] += 1
                        gain[k, y] -= 3
        problem = lo.Problem(np.full(5, 0.2), gain, LOG3)
        best = points.best(problem)
        assert best.is_unique
        assert (best.vertices[0] == vertex).all()
        assert abs(lo.solve(problem).mechanism.channel - vertex.astype(float)).max() < 1e-12


class TestSequence:
    @pytest.mark.parametrize(
        "notion, n, m",
        [
            (LOG3, 3, 3),
            (lo.PureLDP(1.0), 4, 3),
            (lo.PureLDP(0), 2, 3),
            (lo.ApproximateLDP(0.1, 0.2), 2, 2),
        ],
    )
    def test_positions_slices_and_iteration_agree(self, notion, n, m):
        points = extreme_points(notion, n, m)
        listed = list(points)
        assert len(points) == points.count == len(listed)
        assert all((points[k] == point).all() for k, point in enumerate(listed))
        assert (points[-1] == listed[-1]).all()
        assert [str(point) for point in points[1:9:3]] == [str(point) for point in listed[1:9:3]]
        for outside in (len(points), -len(points) - 1):
            with pytest.raises(IndexError, match=f"position {outside}"):
                points[outside]

    def test_positions_are_found_without_a_list(self):
        points = extreme_points(lo.PureLDP(1.0), 5)
        position = thorough_or(16_384, 163_840)
        assert (points[position] == next(islice(points, position, None))).all()

    def test_iteration_reports_its_progress(self):
        calls = []
        points = extreme_points(LOG3, 4)
        assert len(list(points.iterate(lambda done, total: calls.append((done, total))))) == 904
        assert calls[-1] == (904, 904)

    def test_a_table_has_a_row_for_each_point(self):
        points = extreme_points(LOG3, 2, 3, inputs=["no", "yes"])
        table = points.to_frame(formulas=True)
        assert list(table.columns[:3]) == ["in use", "P(no,0)", "P(no,1)"]
        assert table["in use"].value_counts().to_dict() == points.counts_by_columns
        assert table.iloc[-1, 1:7].tolist() == points[-1].astype(float).ravel().tolist()
        assert list(table["formula"]) == [point.formula for point in points]

    def test_columns_and_their_counts(self):
        counts = extreme_points(LOG3, 4).column_counts()
        assert sorted(counts.values(), reverse=True) == [252] * 6 + [204] * 8 + [4]

    def test_texts_are_short(self):
        points = extreme_points(lo.PureLDP(1.0), 3)
        best = points.best(lo.Problem([0.2, 0.3, 0.5], "identity", points.privacy))
        for thing in (points, points.vertices, points[3], str(points[3]), points.orbits[1], best):
            assert len(repr(thing)) < 200
        assert repr(points).startswith(
            "33 extreme points of PureLDP(1.0), 3 x 3: 3 with 1 report in use, 18 with 2, 12"
        )

    def test_points_are_arrays_of_fractions(self):
        point = extreme_points(LOG3, 2)[2]
        assert point.tolist() == [
            [Fraction(1, 4), Fraction(3, 4)],
            [Fraction(3, 4), Fraction(1, 4)],
        ]
        assert repr(2 * point).startswith("array([[Fraction(1, 2)")
        assert lo.Mechanism(point).audit(LOG3).verdict == "certified"


class TestFormulas:
    def test_those_of_the_binary_models(self):
        """Zhou, Lu and Wu 2019, figures 1 and 5, with epsilon = 0.1 and delta = 0.2."""
        assert [str(point) for point in extreme_points(lo.PureLDP(0.1), 2)] == [
            "[1 0; 1 0]",
            "[0 1; 0 1]",
            "[1 a; a 1] / (a+1)",
            "[a 1; 1 a] / (a+1)",
        ]
        corners = {str(point) for point in extreme_points(lo.ApproximateLDP(0.1, 0.2), 2)}
        assert {
            "[5a+1 4; 4 5a+1] / (5a+5)",
            "[4 5a+1; 5a+1 4] / (5a+5)",
            "[0 5; 1 4] / 5",
        } < corners

    def test_powers_and_roots(self):
        path = extreme_points(lo.GraphDP(1.0, nx.path_graph(3)), 3)
        assert "[1 a-1 a^2; a a^2-a a; a^2 a-1 1] / (a^2+a)" in map(str, path)
        half = extreme_points(lo.MetricDP("log(4)", [[0, 0.5], [0.5, 0]]), 2)
        assert str(half[1]) == "[0.3333 0.6667; 0.6667 0.3333]"

    @pytest.mark.parametrize(
        "make, n",
        [
            (lo.PureLDP, 3),
            (lambda e: lo.ApproximateLDP(e, 0.1), 2),
            (lambda e: lo.GraphDP(e, nx.cycle_graph(3)), 3),
        ],
    )
    def test_one_formula_holds_for_all_budgets(self, make, n):
        """The formulas at one budget, evaluated at another, are the points there."""
        first = extreme_points(make("log(3)"), n, 3)
        second = extreme_points(make("log(7/2)"), n, 3)
        assert sorted(map(str, first)) == sorted(map(str, second))
        for point in islice(second, 0, None, 5):
            rows, _, divisor = str(point).partition("]")

            def value(text):
                return eval(
                    re.sub(r"(\d)a", r"\1*a", text).replace("^", "**"), {"a": Fraction(7, 2)}
                )

            below = value(divisor.removeprefix(" / ")) if divisor else 1
            assert [
                [Fraction(value(v), below) for v in row.split()] for row in rows[1:].split(";")
            ] == point.tolist()


class TestLongLists:
    PATH = lo.GraphDP(1.0, nx.path_graph(7))

    def test_they_are_refused_with_their_number(self):
        with refused("many-points") as caught:
            _ = extreme_points(self.PATH, 7).count
        assert re.search(r"2\.\de\+10 .* 7 reports", caught.value.what)
        assert "time limit" in caught.value.do
        with refused("many-points") as caught:
            _ = extreme_points(lo.ApproximateLDP("log(3)", 0.1), 8).count
        assert "delta = 0" in caught.value.what

    def test_the_estimate_of_their_number_is_near(self):
        counts = extreme_points(lo.PureLDP(1.0), 4).counts_by_columns
        assert ListedPoints(lo.PureLDP(1.0), (4, 4), range(4))._likely_count == pytest.approx(
            counts[4], rel=0.15
        )

    def test_a_long_list_is_announced_and_a_hopeless_limit_refused(self):
        path = lo.GraphDP(1.0, nx.path_graph(5))
        assert "at most 0.5 s" in extreme_points(path, 5, time_limit=0.5).forecast
        assert "about 160 s" in extreme_points(lo.PureLDP(1.0), 6).forecast
        assert extreme_points(lo.PureLDP(1.0), 4).forecast == ""
        with refused("time-limit") as caught:
            extreme_points(lo.PureLDP(1.0), 6, time_limit=5.0)
        assert "160 s" in caught.value.what

    def test_a_time_limit_keeps_the_points_that_are_found(self):
        points = extreme_points(lo.GraphDP("log(3)", nx.path_graph(5)), 5, time_limit=0.5)
        assert not points.is_complete
        assert repr(points).startswith("at least")
        spaces = halfspaces(points.privacy, 5)
        assert all(is_vertex(spaces, point) for point in islice(points, 0, None, points.count // 3))
        assert len({tuple(point.flat) for point in points}) == points.count > 0
        with refused("time-limit"):
            points.best(lo.Problem(np.full(5, 0.2), "identity", points.privacy))
        assert "time limit ended the list" in points.summary()


class TestBest:
    def test_the_binary_model_and_its_ties(self):
        points = extreme_points(LOG3, 2)
        best = points.best(lo.Problem([0.5, 0.5], "identity", LOG3))
        assert (best.value, best.is_unique) == (Fraction(3, 4), True)
        tied = points.best(lo.Problem([0.75, 0.25], "identity", LOG3))
        assert tied.value == Fraction(3, 4)
        assert len(tied.vertices) == 2  # the segment BC of Zhou, Lu and Wu 2019, eq. (10)
        assert tied.mechanism.audit(LOG3).verdict == "certified"

    def test_a_loss_is_minimized(self):
        problem = lo.Problem([0.5, 0.3, 0.2], lo.utility.absolute_error([0, 1, 2]), LOG3)
        assert float(extreme_points(LOG3, 3).best(problem).value) == pytest.approx(
            lo.solve(problem).value, abs=1e-14
        )

    def test_inputs_are_aligned_by_label(self):
        middle = lo.GraphDP("log(3)", nx.path_graph(["a", "c", "b"]))
        problem = lo.Problem({"b": 0.5, "a": 0.3, "c": 0.2}, "identity", middle)
        best = extreme_points(middle, 3).best(problem)
        assert float(best.value) == pytest.approx(lo.solve(problem).value, abs=1e-14)
        assert best.mechanism.expected(problem.prior, "identity") == pytest.approx(
            float(best.value), abs=1e-14
        )
        other = lo.GraphDP("log(3)", nx.path_graph(["x", "y", "z"]))
        points = extreme_points(middle, 3)
        problem = lo.Problem([0.5, 0.3, 0.2], "identity", other, inputs="xyz")
        with pytest.raises(StatementError, match="'x'"):
            points.best(problem)

    @pytest.mark.parametrize(
        "other", [lo.PureLDP("log(2)"), lo.GraphDP("log(3)", nx.path_graph(3))]
    )
    def test_another_notion_is_refused(self, other):
        points = extreme_points(LOG3, 3)
        problem = lo.Problem([0.5, 0.3, 0.2], "identity", other)
        with refused("notion"):
            points.best(problem)

    def test_problems_whose_optimum_need_not_be_extreme_are_rejected(self):
        worst = lo.Problem(None, np.eye(2), LOG3, objective="worst_case")
        with pytest.raises(NotRepresentableError):
            extreme_points(LOG3, 2).best(worst)
        with refused("shape"):
            extreme_points(LOG3, 3).best(lo.Problem([0.5, 0.5], "identity", LOG3))


@pytest.mark.parametrize("privacy", [LOG3, lo.ApproximateLDP("log(3)", 0.1)])
def test_no_inputs_or_outputs_have_no_extreme_points(privacy):
    for n, m in ((0, 2), (2, 0)):
        with pytest.raises(StatementError, match="less than 1"):
            extreme_points(privacy, n, m)


def test_pure_privacy_is_listed_by_its_structure():
    assert isinstance(extreme_points(lo.ApproximateLDP("log(3)", 0.0), 3), StaircasePoints)
    assert isinstance(extreme_points(lo.ApproximateLDP("log(3)", 0.1), 3), ListedPoints)


def problem_with(notion, n):
    return lo.Problem([1 / n] * n, "identity", notion)


@pytest.mark.parametrize("refusing", [extreme_points, problem_with])
def test_what_is_no_notion_is_told_all_notions(refusing):
    with refused("notion") as caught:
        refusing(1.0, 3)
    names = {kind.__name__ for kind in installed().values()}
    assert len(names) >= 6
    assert all(name in caught.value.do for name in names)


@pytest.mark.parametrize("n", [0, -1, 2.5, "3"])
def test_wrong_sizes_are_rejected(n):
    with pytest.raises(StatementError):
        extreme_points(LOG3, n)


def test_extreme_points_of_separate_parts():
    graph = nx.Graph([(0, 1)])
    graph.add_node(2)
    points = lo.extreme_points(lo.GraphDP("log(3)", graph, "separate"), 3, 2)
    # Four of the pair, each with two of the third input.
    assert points.count == 8


def test_extreme_points_of_other_notions():
    complete = lo.GraphDP("log(3)", nx.complete_graph(3))
    assert lo.extreme_points(complete, 3).count == 33
    assert lo.extreme_points(lo.OneSided("log(2)", [0]), 2).count == 4
    with refused("one-condition", NotRepresentableError):
        lo.extreme_points(lo.UtilityOptimizedLDP("log(2)", [0]), 2)
