"""Mechanisms of the literature: their formulas, their exact privacy, and their place beside the
optimum."""

from __future__ import annotations

import itertools
import math
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

import ldpopt as lo
from builders import cases, refused
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.studies import literature
from ldpopt.studies.literature.planar_laplace import cell_masses, planar_laplace, points_in_plane

TRIANGLE = {"a": (0.0, 0.0), "b": (1.0, 0.0), "c": (0.0, 2.0)}


def spread(points):
    return np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))


def city(seed, n, epsilon):
    rng = np.random.default_rng(seed)
    distance = spread(rng.random((n, 2)) * 3)
    return lo.Problem(
        rng.dirichlet(np.ones(n)), lo.Utility(distance, "loss"), lo.MetricDP(epsilon, distance)
    )


# Planar Laplace


def test_masses_of_two_places_are_those_of_half_planes():
    apart, epsilon = 1.7, 0.8
    density = lambda t: epsilon**2 / math.pi * t * special.k1(epsilon * t)  # noqa: E731 - of one coordinate
    beyond = integrate.quad(density, apart / 2, np.inf, epsabs=1e-13)[0]
    masses = cell_masses(np.array([[0.0, 0.0], [apart, 0.0]]), epsilon)
    assert masses == pytest.approx(
        np.array([[1 - beyond, beyond], [beyond, 1 - beyond]]), abs=1e-12
    )


def test_masses_are_integrals_over_the_cells():
    points = np.random.default_rng(1).random((5, 2)) * 2
    angle = (np.arange(900) + 0.5) * 2 * np.pi / 900
    weight = 1 / 900
    share = (np.arange(600) + 0.5) / 600
    radius = -(special.lambertw((share - 1) / np.e, -1).real + 1) / 1.3  # quantiles of the distance
    noise = np.stack([np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle))], axis=-1)
    nearest = np.argmin(((points[0] + noise)[..., None, :] - points) ** 2 @ np.ones(2), axis=-1)
    counted = np.bincount(nearest.ravel(), minlength=5) * weight / 600
    assert cell_masses(points, 1.3)[0] == pytest.approx(counted, abs=5e-4)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 60.0])
@pytest.mark.parametrize(
    "points",
    [
        [(0, 0)],
        [(0, 0), (1, 1), (2, 2), (5, 5)],
        [(x, y) for x in range(5) for y in range(4)],
        [(0, 0), (1e-6, 0), (1, 0), (1e4, 3)],
    ],
    ids=["one", "line", "grid", "scales"],
)
def test_masses_of_a_source_are_those_of_a_distribution(points, epsilon):
    masses = cell_masses(np.array(points, float), epsilon)
    assert (masses >= 0).all()
    assert masses.sum(axis=1) == pytest.approx(np.ones(len(points)), abs=1e-13)


def test_masses_on_a_line_are_differences_of_half_planes():
    points = np.array([[0.0, 0.0], [0.6, 0.8], [3.0, 4.0]])
    epsilon = 1.1
    density = lambda t: epsilon**2 / math.pi * t * special.k1(epsilon * t)  # noqa: E731
    beyond = [integrate.quad(density, t, np.inf, epsabs=1e-13)[0] for t in (0.5, 3.0)]
    assert cell_masses(points, epsilon)[0] == pytest.approx(
        [1 - beyond[0], beyond[0] - beyond[1], beyond[1]], abs=1e-12
    )


def test_points_are_found_from_their_distances():
    problem = city(3, 9, 1.0)
    assert spread(points_in_plane(problem)) == pytest.approx(problem.privacy.distance, rel=1e-9)
    globe = lo.MetricDP.of_points(
        1.0, [(45.5, -73.6), (45.6, -73.5), (45.52, -73.7), (45.45, -73.55)], "great_circle"
    )
    found = literature.planar_laplace(globe)
    assert globe.audit(found).verdict == "certified"


def test_points_go_by_label_and_may_have_another_metric():
    flat = np.array(list(TRIANGLE.values()))
    walked = lo.MetricDP.of_points(1.0, TRIANGLE, "manhattan")
    table = pd.DataFrame(flat, index=list("abc"), columns=["x", "y"]).loc[["c", "a", "b"]]
    one = literature.planar_laplace(walked, TRIANGLE)
    other = literature.planar_laplace(walked, table)
    assert one == other
    assert one.inputs == ("a", "b", "c")
    assert walked.audit(one).verdict == "certified"
    graph = lo.GraphDP(1.0, nx.path_graph(3))
    problem = lo.Problem([0.2, 0.3, 0.5], "absolute_error", graph)
    assert graph.audit(literature.planar_laplace(problem, flat)).verdict == "certified"


@pytest.mark.parametrize(
    "problem, points, code, kind",
    [
        (
            lo.Problem([0.5, 0.5], "identity", lo.PureLDP(1.0)),
            None,
            "coordinates",
            NotRepresentableError,
        ),
        (lo.MetricDP(1.0, 1 - np.eye(4)), None, "distance", NotRepresentableError),
        (lo.MetricDP.of_points(1.0, [0.0, 1.0, 3.0]), None, "line", NotRepresentableError),
        (
            lo.MetricDP.of_points(0.0, [(0, 0), (1, 1), (0, 3)]),
            None,
            "zero-epsilon",
            NotRepresentableError,
        ),
        (
            lo.MetricDP.of_points(1.0, [(0, 0), (1, 1), (0, 3)]),
            [(0, 0), (0, 0), (1, 1)],
            "coinciding-places",
            StatementError,
        ),
        (
            lo.MetricDP.of_points(1.0, [(0, 0), (1, 1), (0, 3)]),
            [(0, 0), (1, 0)],
            "shape",
            StatementError,
        ),
        (
            lo.MetricDP.of_points(1.0, TRIANGLE),
            TRIANGLE | {"d": (3, 3)},
            "unknown-label",
            StatementError,
        ),
        ("a city", None, "problem", StatementError),
    ],
)
def test_problems_without_points_in_a_plane_are_refused(problem, points, code, kind):
    with refused(code, kind):
        literature.planar_laplace(problem, points)


# Privacy and formulas


@cases(12)
@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([0.05, 0.7, 1.0, 4.0, 30.0]))
def test_every_mechanism_keeps_its_epsilon_exactly(seed, n, epsilon):
    problem = city(seed, n, epsilon)
    best = lo.Mechanism(np.full((n, n), 1 / n))
    found = lo.compare(problem, best=best)
    assert all(
        row.verdict == "certified" and row.epsilon <= epsilon
        for row in (found.best, *found.literature)
    )
    plain = {row.name: row for row in found.literature if not row.name.endswith("remapped")}
    if n > 2:
        assert {"planar Laplace", "exponential", "sharpened exponential"} <= set(plain)
        assert plain["sharpened exponential"].epsilon == pytest.approx(epsilon, rel=1e-3)
        assert plain["sharpened exponential"].value <= plain["exponential"].value + 1e-9
    for row in found.literature:
        if row.name.endswith("remapped"):
            assert row.value <= plain[row.name.removesuffix(", remapped")].value + 1e-12


def test_every_mechanism_is_compared():
    functions = {name: vars(literature)[name] for name in literature.__all__}
    makers = {
        name
        for name, make in functions.items()
        if make.__annotations__.get("return") is lo.Mechanism
    }
    assert "tight_constraints" in makers
    problem = city(0, 3, 1.0)
    compared = {
        row.name.lower().replace(" ", "_")
        for row in lo.compare(problem, best=lo.solve(problem)).literature
    }
    assert makers <= compared, f"methods.py does not have {makers - compared}"


@pytest.mark.parametrize(
    "privacy",
    [
        lo.PureLDP("log(3)"),
        lo.GraphDP(0.7, nx.cycle_graph(4)),
        lo.MetricDP.of_points(1.0, [0, 1, 3, 4]),
    ],
)
def test_exponential_is_its_formula(privacy):
    gain = np.random.default_rng(2).random((4, 6))
    ties = privacy.definition(range(4))
    x, k = ties.pairs()
    distance = 1.0 if ties.distance is None else ties.distance[:, None]
    sensitivity = (np.abs(gain[x] - gain[k]) / distance).max()
    weights = np.exp(float(privacy.epsilon) / (2 * sensitivity) * gain)
    found = literature.exponential(lo.Problem([0.25] * 4, gain, privacy))
    assert found.channel == pytest.approx(weights / weights.sum(axis=1, keepdims=True), abs=1e-12)


def test_equal_gains_need_no_noise():
    problem = lo.Problem([0.5, 0.5], [[1.0, 2.0], [1.0, 2.0]], lo.PureLDP(1.0))
    assert literature.exponential(problem).channel.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert literature.sharpened_exponential(problem).channel.tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_tight_constraints_are_tight_and_the_known_closed_forms():
    response = literature.tight_constraints(
        lo.Problem([0.2, 0.3, 0.5], "identity", lo.PureLDP("log(4)"))
    )
    assert response.channel == pytest.approx((3 * np.eye(3) + 1) / 6)
    line = np.array([0.0, 1.0, 4.0])
    distance = np.abs(np.subtract.outer(line, line))
    kernel = lo.closed_forms.kernel(distance, [0.3, 0.3, 0.4], 1.0)
    assert literature.tight_constraints(lo.MetricDP(1.0, distance)).channel == pytest.approx(
        kernel.channel, abs=1e-12
    )
    with refused("tight-constraints", NotRepresentableError) as caught:
        literature.tight_constraints(
            lo.Problem(np.full(5, 0.2), "identity", lo.GraphDP(0.2, nx.star_graph(4)))
        )
    assert "report 0" in str(caught.value)


def test_separate_parts_never_report_each_other():
    graph = nx.Graph([("a", "b"), ("c", "d"), ("d", "e")])
    privacy = lo.GraphDP(1.0, graph, parts="separate")
    problem = lo.Problem(dict.fromkeys("abcde", 1.0), "identity", privacy)
    found = lo.compare(problem)
    assert all(row.verdict == "certified" for row in found.rows if row.mechanism)
    tight = next(row for row in found.literature if row.name == "tight constraints")
    assert tight.mechanism.channel[0, 2] == 0
    assert tight.value == pytest.approx(found.best.value, abs=1e-9)


# Remapping


@cases(16)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 3))
def test_remapping_is_the_best_rule_for_the_reports(seed, n, m):
    rng = np.random.default_rng(seed)
    mechanism = lo.Mechanism(rng.dirichlet(np.ones(m), n))
    prior = rng.dirichlet(np.ones(n))
    loss = rng.random((n, 3))
    found = mechanism.remapped(prior, lo.Utility(loss, "loss"))
    rules = itertools.product(range(3), repeat=m)
    least = min((prior @ (mechanism.channel * loss[:, list(rule)])).sum() for rule in rules)
    assert found.expected(prior, lo.Utility(loss, "loss")) == pytest.approx(least, abs=1e-12)
    assert found.audit().epsilon <= mechanism.audit().epsilon
    assert (found.masses.sum(axis=1) == mechanism.denominator).all()


def test_remapping_goes_by_label():
    coin = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["tails", "heads"])
    loss = pd.DataFrame([[0.0, 1.0], [1.0, 0.0]], index=["yes", "no"], columns=["yes", "no"])
    found = coin.remapped({"yes": 0.4, "no": 0.6}, lo.Utility(loss, "loss"))
    assert (found.inputs, found.outputs) == (("no", "yes"), ("no", "yes"))
    assert found.channel.tolist() == coin.channel.tolist()
    assert coin.remapped([0.5, 0.5], np.eye(2), outputs=["guess no", "guess yes"]).outputs == (
        "guess no",
        "guess yes",
    )
    with pytest.raises(StatementError, match="maybe"):
        coin.remapped({"maybe": 1.0, "no": 1.0})


# Comparison


def test_comparison_has_the_optimum_first_and_says_what_does_not_apply():
    problem = city(7, 8, 1.0)
    found = lo.compare(problem, best=lo.solve(problem))
    values = [row.value for row in found.literature]
    assert values == sorted(values)
    assert all(
        row.ratio == row.value / found.best.value >= 1 - 1e-9 for row in found.rows if row.mechanism
    )
    assert found.best.value == pytest.approx(lo.solve(problem).value)
    assert found.to_frame().loc["planar Laplace", "epsilon"] <= 1.0
    assert "planar Laplace" in repr(found)
    assert "<table" in found._repr_html_()
    event = lo.compare(lo.Problem([0.2, 0.8], "identity", lo.ApproximateLDP(1.0, 0.1)))
    others = {row.name: row for row in event.rows if row.kind == "literature"}
    assert not any(others[name].applies for name in ("exponential", "planar Laplace"))
    assert {row.name for row in event.literature} == {
        name for name, row in others.items() if row.applies
    }
    assert "ApproximateLDP" in repr(event)


def test_every_mechanism_of_the_comparison_is_public_under_its_name() -> None:
    rows = lo.compare(lo.Problem([0.2, 0.8], "identity", lo.PureLDP(1.0))).rows
    names = {
        row.name.removesuffix(", remapped").lower().replace(" ", "_")
        for row in rows
        if row.kind == "literature"
    }
    missing = names - set(literature.__all__)
    assert not missing, f"ldpopt/studies/literature/__init__.py has no {missing}"


def test_comparison_of_gains_worst_cases_and_other_outputs():
    gains = lo.compare(lo.Problem([0.2, 0.3, 0.5], "identity", lo.PureLDP(1.0)))
    ratios = [round(row.ratio, 11) for row in gains.literature]
    assert ratios == sorted(ratios, reverse=True)
    worst = lo.compare(lo.Problem(None, np.eye(3), lo.PureLDP(1.0), objective="worst_case"))
    assert not any("remapped" in row.name for row in worst.rows)
    other = lo.compare(
        lo.Problem({"a": 1, "b": 1}, lo.Utility([[1, 0, 2], [0, 1, 0]]), lo.PureLDP(1.0))
    )
    assert "not all among the outputs" in other.to_frame().loc["tight constraints", "note"]
    assert "tight constraints, remapped" in {row.name for row in other.literature}


def test_comparison_says_that_another_mechanism_is_better_than_an_unfinished_search():
    problem = city(7, 8, 1.0)
    constant = lo.Mechanism(np.eye(8)[np.zeros(8, int)])
    found = lo.compare(problem, best=constant)
    assert found.is_beaten
    assert "more time" in repr(found)
    assert not lo.compare(problem, best=lo.solve(problem)).is_beaten


def test_comparison_refuses_another_mechanism():
    problem = city(7, 3, 1.0)
    with refused("other-inputs"):
        lo.compare(problem, best=lo.Mechanism(np.eye(2)))
    with refused("unknown-output"):
        lo.compare(problem, best=lo.Mechanism(np.eye(3), outputs=list("abc")))
    with refused("type"):
        lo.compare("a problem")


@pytest.mark.parametrize("scale", [1e-3, 1e12, 1e200, 1e299])
def test_the_unit_of_the_places_does_not_matter(scale: float) -> None:
    """Squares of such distances are no floats; a budget for each of their units."""
    distance = np.array([[0, 1, 1.0], [1, 0, 1.2], [1, 1.2, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = planar_laplace(lo.MetricDP(1 / scale, distance * scale))
    known = planar_laplace(lo.MetricDP(1.0, distance))
    assert found.channel == pytest.approx(known.channel, abs=1e-9)


def test_a_budget_next_to_nothing_has_no_planar_noise() -> None:
    with refused("small-budget", NotRepresentableError):
        planar_laplace(lo.MetricDP(1e-200, [[0, 1, 1.0], [1, 0, 1.2], [1, 1.2, 0]]))
