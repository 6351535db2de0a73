"""Laws of what is concluded from reports: differences, contrasts, functions, tests, samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from builders import cases
from ldpopt import (
    Counts,
    Estimate,
    Mechanism,
    Sample,
    Survey,
    estimate_frequencies,
    regress,
)

ANSWERS = tuple("abcde")


@dataclass(frozen=True)
class Case:
    """A random mechanism whose rows are independent, and reports with weights."""

    mechanism: Mechanism
    reports: tuple[Any, ...]
    weights: Any = None

    def estimate(self, **options: Any) -> Estimate:
        return estimate_frequencies(
            self.mechanism, list(self.reports), weights=self.weights, check_fit=False, **options
        )


@st.composite
def drawn(draw: Any, *, is_square: bool = False, is_weighted: bool | None = None) -> Case:
    n = draw(st.integers(2, 5))
    m = n if is_square else draw(st.integers(n, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    epsilon = draw(st.sampled_from([0.5, 1.0, 3.0]))
    rows = rng.dirichlet(np.full(m, 3.0), n) + np.expm1(epsilon) * np.eye(n, m) / m
    rows /= rows.sum(axis=1, keepdims=True)
    assume(np.linalg.cond(rows) < 100)
    mechanism = Mechanism(rows, ANSWERS[:n], [f"r{y}" for y in range(m)])
    size = draw(st.integers(30, 200))
    codes = np.append(np.arange(m), rng.integers(0, m, size))
    reports = tuple(mechanism.outputs[code] for code in codes)
    has_weights = draw(st.booleans()) if is_weighted is None else is_weighted
    weights = rng.choice([1.0, 2.5, 4.0], len(codes)) if has_weights else None
    return Case(mechanism, reports, weights)


def again(case: Case, seed: int) -> Case:
    """Other people with the same mechanism."""
    rng = np.random.default_rng(seed)
    reports = rng.choice(np.array(case.mechanism.outputs), len(case.reports) + 7)
    return Case(case.mechanism, (*case.mechanism.outputs, *reports.tolist()))


@given(drawn(), st.integers(0, 1000))
@cases(20)
def test_a_difference_is_antisymmetric_and_its_interval_mirrors(case: Case, seed: int) -> None:
    a, b = case.estimate(), again(case, seed).estimate()
    there, back = a - b, b - a
    assert np.array_equal(there.values, -back.values)
    np.testing.assert_allclose(there.interval, -back.interval[:, ::-1], atol=1e-13)
    assert np.array_equal(there.std_error, back.std_error)
    first = np.eye(len(a.values))[:1]
    p, q = (d.contrast(first).test(v).p_value for d, v in ((there, 0.1), (back, -0.1)))
    assert abs(p - q) < 1e-9


@given(drawn(), st.sampled_from(["inversion", "maximum_likelihood"]))
@cases(60)
def test_a_contrast_by_the_identity_is_the_same_bit_by_bit(case: Case, method: Any) -> None:
    estimate = case.estimate(method=method)
    same = estimate.contrast(np.eye(len(estimate.values)), estimate.labels)
    for name in ("values", "std_error", "interval", "covariance", "labels"):
        assert np.array_equal(getattr(same, name), getattr(estimate, name)), name


@given(drawn(), st.integers(0, 1000), st.integers(1, 4))
@cases(60)
def test_a_linear_function_is_a_contrast(case: Case, seed: int, rows: int) -> None:
    estimate = case.estimate()
    matrix = np.random.default_rng(seed).normal(size=(rows, len(estimate.values)))
    function, contrast = estimate.function(lambda t: matrix @ t), estimate.contrast(matrix)
    np.testing.assert_allclose(function.values, contrast.values, atol=1e-12)
    np.testing.assert_allclose(function.std_error, contrast.std_error, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(function.covariance, contrast.covariance, rtol=1e-7, atol=1e-12)


@given(drawn(is_square=True, is_weighted=False), st.integers(0, 1000))
@cases(60)
def test_shares_are_tested_by_pearson_if_the_channel_is_square(case: Case, seed: int) -> None:
    shares = np.random.default_rng(seed).dirichlet(np.ones(len(case.mechanism.inputs)))
    seen = pd.Series(case.reports).value_counts().reindex(case.mechanism.outputs)
    right = chisquare(seen, len(case.reports) * shares @ case.mechanism.channel)
    found = case.estimate().test(shares)
    assert abs(found.statistic / right.statistic - 1) < 1e-10
    assert found.freedom == len(shares) - 1


@given(drawn(is_square=True, is_weighted=False), drawn(is_square=True, is_weighted=False))
@cases(40)
def test_independence_is_tested_by_pearson_if_channels_are_square(one: Case, two: Case) -> None:
    size = min(len(one.reports), len(two.reports))
    table = pd.DataFrame({"one": one.reports[:size], "two": two.reports[:size]})
    found = Survey({"one": one.mechanism, "two": two.mechanism}).independence(table, "one", "two")
    seen = pd.crosstab(table["one"], table["two"]).to_numpy()
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / size
    right = ((seen - expected) ** 2 / expected).sum()
    assert abs(found.statistic - right) <= 1e-10 * max(1.0, right)
    assert found.freedom == (len(one.mechanism.inputs) - 1) * (len(two.mechanism.inputs) - 1)


@given(drawn(), st.randoms(use_true_random=False))
@cases(60)
def test_names_and_order_of_answers_and_reports_change_nothing(case: Case, random: Any) -> None:
    mechanism = case.mechanism
    rows, columns = (list(range(k)) for k in mechanism.channel.shape)
    random.shuffle(rows)
    random.shuffle(columns)
    outputs = [f"other {mechanism.outputs[y]}" for y in columns]
    inputs = [f"new {mechanism.inputs[x]}" for x in rows]
    channel = np.asarray(mechanism.channel)[np.ix_(rows, columns)]
    reports = tuple(f"other {report}" for report in case.reports)
    moved = Case(Mechanism(channel, inputs, outputs), reports, case.weights)
    first, second = case.estimate(), moved.estimate()
    np.testing.assert_allclose(second.values, first.values[rows], atol=1e-10)
    np.testing.assert_allclose(second.interval, first.interval[rows], atol=1e-9)
    np.testing.assert_allclose(second.std_error, first.std_error[rows], atol=1e-10)
    shares = np.arange(1.0, len(rows) + 1) / np.arange(1, len(rows) + 1).sum()
    statistics = first.test(shares).statistic, second.test(shares[rows]).statistic
    np.testing.assert_allclose(*statistics, rtol=1e-8)


@given(drawn(), st.lists(st.integers(0, 3), min_size=300, max_size=300))
@cases(60)
def test_counts_of_shards_are_those_of_all(case: Case, places: list[int]) -> None:
    reports = np.array(case.reports, dtype=object)
    shard = np.array(places[: len(reports)])
    parts = [
        Counts.of(
            case.mechanism,
            reports[shard == k].tolist(),
            weights=None if case.weights is None else case.weights[shard == k],
        )
        for k in range(4)
        if (shard == k).any()
    ]
    total: Any = sum(parts[1:], parts[0])
    whole = case.estimate()
    found = estimate_frequencies(case.mechanism, total, check_fit=False)
    np.testing.assert_allclose(found.values, whole.values, atol=1e-12)
    np.testing.assert_allclose(found.interval, whole.interval, atol=1e-12)
    np.testing.assert_allclose(found.std_error, whole.std_error, rtol=1e-10)
    if case.weights is None:  # whole numbers add up exactly
        assert np.array_equal(found.interval, whole.interval)


@given(drawn(is_square=True))
@cases(30)
def test_one_person_a_unit_is_the_plain_error_times_a_known_factor(case: Case) -> None:
    size = len(case.reports)
    table = pd.DataFrame({"q": case.reports, "person": np.arange(size)})
    table["w"] = 1.0 if case.weights is None else case.weights
    survey = Survey({"q": case.mechanism})
    single = survey.estimate(table, sample=Sample(weights="w", clusters="person"), check_fit=False)[
        "q"
    ]
    plain = survey.estimate(table, weights="w", check_fit=False)["q"]
    np.testing.assert_allclose(
        single.std_error, plain.std_error * np.sqrt(size / (size - 1)), rtol=1e-10
    )
    assert np.array_equal(single.values, plain.values)


@given(
    st.integers(0, 10_000),
    st.floats(1e-3, 1e5),
    st.floats(-1e3, 1e3),
    st.sampled_from(["logit", "mean"]),
)
@cases(10)
def test_units_of_a_covariate_and_rows_for_equal_people_change_nothing(
    seed: int, factor: float, shift: float, kind: Any
) -> None:
    rng = np.random.default_rng(seed)
    die = Mechanism(np.full((2, 2), 0.2) + 0.6 * np.eye(2), ["no", "yes"])
    z = rng.integers(0, 5, 300)
    table = pd.DataFrame({"z": z, "y": np.where(rng.random(300) < 0.3 + 0.08 * z, "yes", "no")})
    found = regress("y ~ z", table, {"y": die}, kind=kind)
    other = regress("y ~ z", table.assign(z=shift + factor * z), {"y": die}, kind=kind)
    for name in ("params", "bse"):
        one, two = getattr(found, name)["z"], getattr(other, name)["z"]
        np.testing.assert_allclose(two * factor, one, rtol=1e-8)
    sums = table.groupby(["z", "y"]).size().reset_index(name="people")
    merged = regress("y ~ z", sums, {"y": die}, kind=kind, sample=Sample(weights="people"))
    np.testing.assert_allclose(merged.params, found.params, rtol=1e-8, atol=1e-9)
