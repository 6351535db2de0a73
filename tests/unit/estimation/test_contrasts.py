"""Sums, differences, functions, means, quantiles and tests of estimates: right values by hand, and
laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import refused, thorough_or
from ldpopt import (
    Estimate,
    Mechanism,
    PureLDP,
    Workload,
    design,
    estimate_frequencies,
    frequencies,
)
from ldpopt.errors import StatementError
from ldpopt.estimation.functions import odds_ratio, phi, ratio
from ldpopt.estimation.intervals import normal_quantile


def coin(truth: float = 0.75) -> Mechanism:
    return Mechanism([[truth, 1 - truth], [1 - truth, truth]], inputs=["no", "yes"])


def of_coin(yes: int, n: int = 500, truth: float = 0.75, **options: Any) -> Estimate:
    return estimate_frequencies(coin(truth), {"no": n - yes, "yes": yes}, **options)


def sources() -> dict[str, Any]:
    """One estimate of each kind, of three or more numbers where it can have so many."""
    seen = {0: 50, 1: 70, 2: 80}
    mechanism = Mechanism([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    prefix = design(Workload.prefix(4), PureLDP(1.0))
    many = design(Workload.frequencies(4), PureLDP(1.0))
    protocol = frequencies.RandomizedResponse(3, 1.0)
    reports = prefix.mechanism.privatize([0, 1, 2, 3] * 100, rng=1)
    weights = np.tile([1.0, 3.0], 200)
    return {
        "inversion": estimate_frequencies(mechanism, seen),
        "likelihood": estimate_frequencies(mechanism, seen, method="maximum_likelihood"),
        "normal": estimate_frequencies(mechanism, seen, intervals="normal"),
        "simultaneous": estimate_frequencies(mechanism, seen, simultaneous=True),
        "prefix": prefix.estimate(reports),
        "weighted": prefix.estimate(reports, weights=weights),
        "all at once": prefix.estimate(reports, simultaneous=True),
        "frequencies": many.estimate(many.mechanism.privatize([0, 1, 2, 3] * 100, rng=2)),
        "protocol": protocol.estimate(protocol.privatize([0, 1, 2] * 80, rng=3)),
        "largest": protocol.largest(protocol.privatize([0, 1, 2] * 80, rng=3), 2),
        "by hand": Estimate([0.2, 0.8], [0.1, 0.1], 50),
        "nearest": estimate_frequencies(mechanism, seen).norm_sub(),
    }


SOURCES = sources()


@pytest.mark.parametrize("name", SOURCES)
def test_intervals_at_the_same_confidence_are_the_same(name: str) -> None:
    estimate = SOURCES[name]
    again = estimate.at(estimate.confidence)
    assert np.array_equal(again.interval, estimate.interval)
    wider = estimate.at(0.99).interval
    low, high = estimate.interval.T
    assert (wider[:, 0] <= low + 1e-12).all()
    assert (wider[:, 1] >= high - 1e-12).all()


@pytest.mark.parametrize("name", SOURCES)
def test_a_contrast_by_the_identity_changes_nothing(name: str) -> None:
    estimate = SOURCES[name]
    again = estimate.contrast(np.eye(len(estimate.values)))
    assert np.array_equal(again.values, estimate.values)
    if name != "nearest":  # its intervals are normal after a contrast: the moved estimates
        assert np.array_equal(again.interval, estimate.interval)
    assert np.array_equal(again.std_error, estimate.std_error)


@pytest.mark.parametrize("name", SOURCES)
def test_a_test_never_contradicts_its_interval(name: str) -> None:
    single = SOURCES[name].contrast(np.eye(len(SOURCES[name].values))[:1])
    low, high = np.broadcast_to(single.bounds.possible, (1, 2))[0]
    for value in np.linspace(-0.2, 1.2, thorough_or(5, 29)):
        p = single.test(value).p_value
        inside = single.interval[0, 0] <= value <= single.interval[0, 1]
        if not low <= value <= high:
            assert p == 0
        elif abs(p - 0.05) > 1e-9:
            assert (p > 0.05) == inside


@given(st.integers(1, 99), st.integers(1, 199), st.sampled_from([0.6, 0.75, 0.99]))
def test_differences_are_antisymmetric(first: int, second: int, truth: float) -> None:
    a, b = of_coin(first, 100, truth, check_fit=False), of_coin(second, 200, truth, check_fit=False)
    there, back = a - b, b - a
    np.testing.assert_allclose(there.values, -back.values, atol=1e-15)
    np.testing.assert_allclose(there.interval, -back.interval[:, ::-1], atol=1e-12)
    np.testing.assert_allclose(there.std_error, np.hypot(a.std_error, b.std_error))
    assert there.n_reports == 300


def test_a_difference_is_by_square_and_add() -> None:
    a, b = of_coin(220), of_coin(180, 400)
    d = a - b
    (la, ua), (lb, ub) = a.interval[1], b.interval[1]
    ta, tb = a.values[1], b.values[1]
    assert d.interval[1, 0] == pytest.approx(ta - tb - np.hypot(ta - la, ub - tb), abs=1e-12)
    assert d.interval[1, 1] == pytest.approx(ta - tb + np.hypot(ua - ta, tb - lb), abs=1e-12)


def test_differences_match_labels() -> None:
    other = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["yes", "no"])
    a = of_coin(220)
    b = estimate_frequencies(other, {"no": 320, "yes": 180})
    np.testing.assert_allclose((a - b).values, (a - of_coin(180)).values, atol=1e-12)
    assert (a - b).labels == ("no", "yes")
    with refused("labels"):
        a - estimate_frequencies(Mechanism(np.eye(2) * 0.5 + 0.25), {0: 30, 1: 40})
    with refused("labels"):
        a - Estimate([0.4, 0.6], [0.1, 0.1], 20)


def test_the_same_people_are_refused() -> None:
    a = of_coin(220)
    with refused("same-people"):
        a - a
    with refused("same-people"):
        a - a.at(0.9)
    b = of_coin(180)
    with refused("same-people"):
        (a - b) - b
    with pytest.raises(TypeError):
        a - 1  # type: ignore[operator]


def test_a_contrast_has_the_variance_of_the_sum() -> None:
    a = of_coin(220)
    assert a.covariance is not None
    step = a.contrast({"yes": 1, "no": -1})
    by_hand = np.array([-1, 1]) @ a.covariance @ np.array([-1, 1])
    assert step.std_error[0] == pytest.approx(np.sqrt(by_hand), rel=1e-12)
    assert step.values[0] == pytest.approx(a.values[1] - a.values[0], abs=1e-15)
    named = a.contrast({"step": {"no": -1, "yes": 1}, "share": {"no": 0, "yes": 1}})
    assert named.labels == ("step", "share")
    table = pd.DataFrame({"yes": [1.0], "no": [-1.0]}, index=["step"])
    np.testing.assert_array_equal(a.contrast(table).interval, step.interval)
    np.testing.assert_array_equal(a.contrast(pd.Series({"yes": 1, "no": -1})).values, step.values)
    np.testing.assert_allclose(a.contrast([-1, 1], ["step"]).interval, step.interval, atol=1e-12)
    for wrong, code in (({"maybe": 1}, "unknown-label"), ([1, 1, 1], "shape")):
        with refused(code):
            a.contrast(wrong)
    with refused("covariance"):
        SOURCES["protocol"].contrast([[1, -1, 0]])


def test_functions_are_linear_where_f_is() -> None:
    a = SOURCES["inversion"]
    matrix = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, 1.0]])
    by_function = a.function(lambda t: matrix @ t)
    by_matrix = a.contrast(matrix)
    np.testing.assert_allclose(by_function.values, by_matrix.values, atol=1e-12)
    np.testing.assert_allclose(by_function.std_error, by_matrix.std_error, rtol=1e-8)
    exact = a.function(lambda t: matrix @ t, gradient=matrix)
    np.testing.assert_allclose(exact.std_error, by_function.std_error, rtol=1e-8)
    half = normal_quantile(0.95) * by_function.std_error
    np.testing.assert_allclose(by_function.interval[:, 1] - by_function.values, half, rtol=1e-9)
    with refused("function"):
        a.function(lambda t: np.array([np.nan]))
    with refused("function"):
        a.function(3)  # type: ignore[arg-type]
    with refused("covariance"):
        SOURCES["protocol"].function(lambda t: t[0] / t[1])
    with refused("shape"):
        a.function(lambda t: t[0], gradient=[1.0])


def test_functions_of_tables() -> None:
    table = Estimate([0.4, 0.1, 0.2, 0.3], [0.01] * 4, 100, covariance=1e-4 * np.eye(4))
    assert table.function(odds_ratio).values[0] == pytest.approx(6)
    assert table.function(phi).values[0] == pytest.approx(0.1 / np.sqrt(0.5 * 0.5 * 0.6 * 0.4))
    assert of_coin(220).function(ratio).values[0] == pytest.approx(0.38 / 0.62)
    with refused("shape"):
        of_coin(220).function(phi)


def test_means_and_deviations() -> None:
    die = Mechanism(np.full((6, 6), 0.1) + 0.4 * np.eye(6), inputs=range(1, 7))
    seen = {1: 90, 2: 110, 3: 100, 4: 120, 5: 80, 6: 100}
    found = estimate_frequencies(die, seen)
    faces = np.arange(1, 7)
    assert found.mean().values[0] == pytest.approx(faces @ found.values)
    assert found.covariance is not None
    variance = faces @ found.covariance @ faces
    second = faces**2 @ found.values - (faces @ found.values) ** 2
    assert found.deviation().values[0] == pytest.approx(np.sqrt(second + variance))
    words = estimate_frequencies(coin(), {"no": 320, "yes": 180})
    assert words.mean({"yes": 10, "no": 0}).values[0] == pytest.approx(10 * words.values[1])
    with refused("numbers"):
        words.mean()
    with refused("frequencies"):
        SOURCES["prefix"].mean()
    with refused("variance"):
        rare = estimate_frequencies(coin(0.6), {"no": 100}, check_fit=False)
        rare.deviation([0, 1])
    # other units of the numbers change nothing else
    scaled = found.deviation(1e6 + 1e-3 * faces)
    assert scaled.values[0] == pytest.approx(1e-3 * found.deviation().values[0], rel=1e-6)
    assert scaled.std_error[0] == pytest.approx(1e-3 * found.deviation().std_error[0], rel=1e-5)


def test_shares_are_tested_by_pearson_on_the_reports() -> None:
    found = of_coin(220)
    test = found.test([0.5, 0.5])
    expected = np.array([250, 250])
    pearson = ((np.array([280, 220]) - expected) ** 2 / expected).sum()
    assert (test.statistic, test.freedom) == (pytest.approx(pearson, rel=1e-10), 1)
    assert found.test({"yes": 0.5, "no": 0.5}).statistic == pytest.approx(pearson, rel=1e-10)
    assert found.norm_sub().test([0.5, 0.5]).statistic == pytest.approx(pearson, rel=1e-10)
    three = SOURCES["inversion"]
    q0 = np.array([0.2, 0.3, 0.5]) @ np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    pearson = ((np.array([50, 70, 80]) - 200 * q0) ** 2 / (200 * q0)).sum()
    for each in (three, SOURCES["likelihood"]):
        assert each.test([0.2, 0.3, 0.5]).statistic == pytest.approx(pearson, rel=1e-10)
    with refused("several-numbers"):
        SOURCES["prefix"].test(0.5)
    with refused("hypothesis"):
        three.test(0.5)
    with refused("supports"):
        SOURCES["protocol"].test([0.2, 0.3, 0.5])
    with pytest.raises(StatementError):
        three.test([0.2, 0.8])


def test_reports_that_shares_exclude_have_p_value_0() -> None:
    sure = Mechanism([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], inputs=["a", "b"])
    found = estimate_frequencies(sure, {0: 5, 1: 6, 2: 4})
    assert found.test([1, 0]).p_value == 0
    assert 0 < found.test([0.4, 0.6]).p_value <= 1


def test_weights_of_equal_size_change_no_test() -> None:
    mechanism = Mechanism([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    reports = [0] * 50 + [1] * 70 + [2] * 80
    plain = estimate_frequencies(mechanism, reports).test([0.2, 0.3, 0.5])
    weighted = estimate_frequencies(mechanism, reports, weights=[2.5] * 200)
    # with weights the statistic is divided by the estimated design effect, close to 1
    assert weighted.test([0.2, 0.3, 0.5]).statistic == pytest.approx(plain.statistic, rel=0.1)
    scaled = estimate_frequencies(mechanism, reports, weights=[5.0] * 200)
    assert scaled.test([0.2, 0.3, 0.5]).statistic == pytest.approx(
        weighted.test([0.2, 0.3, 0.5]).statistic, rel=1e-12
    )


EDGES = [0, 10, 20, 30, 40]


@pytest.mark.parametrize("name", ["prefix", "frequencies", "weighted"])
def test_quantiles_invert_the_distribution_function(name: str) -> None:
    found = SOURCES[name]
    shares = found.values if name != "frequencies" else np.cumsum(found.values)
    heights = np.concatenate([[0.0], shares[:3], [1.0]])
    assert (np.diff(heights) > 0).all()
    for p in (0.1, 0.5, 0.8):
        point = found.quantile(p, edges=EDGES)
        assert np.interp(point.values[0], EDGES, heights) == pytest.approx(p)
        low, high = point.interval[0]
        assert low <= point.values[0] <= high
        assert point.std_error[0] == pytest.approx((high - low) / (2 * normal_quantile(0.95)))
        label = found.quantile(p)
        assert label.scale == (0, 1, 2, 3)
        assert label.values[0] == np.searchsorted(heights[1:], p)
        assert label.interval[0, 0] <= label.values[0] <= label.interval[0, 1]


def test_a_quantile_is_where_its_share_is_not_rejected() -> None:
    found = SOURCES["prefix"]
    at = found.quantile(0.5, edges=EDGES)
    low, high = found.interval.T
    ends = [np.interp(at.interval[0, 0], EDGES, [0, *high[:3], 1])]
    ends += [np.interp(at.interval[0, 1], EDGES, [0, *low[:3], 1])]
    np.testing.assert_allclose(ends, 0.5, atol=1e-9)
    assert at.test(at.interval[0, 0] - 0.01).p_value < 0.05 < at.test(at.values[0]).p_value


def test_open_classes_have_infinite_quantiles() -> None:
    found = SOURCES["prefix"]
    edges = [-np.inf, 10, 20, 30, np.inf]
    assert found.quantile(0.01, edges=edges).values[0] == -np.inf
    assert found.quantile(0.99, edges=edges).interval[0, 1] == np.inf
    assert np.isfinite(found.quantile(0.5, edges=edges).values).all()


def test_quantiles_go_by_the_order_of_numbers() -> None:
    rows = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    mixed = Mechanism(rows, inputs=[30, 10, 20], outputs=[30, 10, 20])
    ordered = Mechanism(rows, inputs=[10, 20, 30], outputs=[10, 20, 30])
    seen = {10: 100, 20: 60, 30: 40}
    first, second = (estimate_frequencies(m, seen).quantile(0.5) for m in (mixed, ordered))
    assert first.scale == second.scale == (10, 20, 30)
    np.testing.assert_allclose(first.interval, second.interval)


def test_wrong_quantiles_are_refused() -> None:
    found = SOURCES["prefix"]
    for edges in ([0, 10], [0, 10, 10, 20, 30], [0, 1, np.inf, 2, 3], ["a"] * 5, [np.nan] * 5):
        with refused("edges"):
            found.quantile(0.5, edges=edges)
    with refused("share"):
        found.quantile(1.0)
    with refused("frequencies"):
        (found - SOURCES["all at once"]).quantile(0.5)
    with refused("frequencies"):
        SOURCES["by hand"].quantile(0.5)


@pytest.mark.parametrize("names", [list("abc"), [0, 1, 2], [(0, "x"), (0, "y"), (1, "x")]])
def test_rows_by_label_need_not_name_the_same_numbers(names: list[Any]) -> None:
    mechanism = Mechanism([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]], inputs=names)
    estimate = estimate_frequencies(
        mechanism, dict(zip(mechanism.outputs, [50, 70, 80], strict=True))
    )
    first, second, third = names
    series = pd.Series([1.0, -1.0], index=pd.Index([third, first], tupleize_cols=False))
    rows = {"one": {first: 1.0}, "two": {second: 1.0, third: 2.0}, "three": series}
    found = estimate.contrast(rows)
    by_position = estimate.contrast([[1, 0, 0], [0, 1, 2], [-1, 0, 1]])
    assert found.labels == ("one", "two", "three")
    assert np.array_equal(found.values, by_position.values)
    assert np.array_equal(found.interval, by_position.interval)
    with refused("unknown-label"):
        estimate.contrast({"one": {first: 1.0}, "two": {"other": 1.0}})


@pytest.mark.parametrize("result", ["text", None, [1.0, "text"], [[1.0], [1.0, 2.0]], {"a": 1.0}])
def test_a_function_without_numbers_is_refused(result: Any) -> None:
    with refused("rectangle"):
        of_coin(200).function(lambda t: result)
