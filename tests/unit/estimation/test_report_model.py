"""Reports of several channels and of people who do not follow the rule: right values of public
cases, laws, and what is refused."""

from __future__ import annotations

from math import exp, inf
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused, thorough_or
from ldpopt import Counts, Mechanism, ReportModel, estimate_frequencies, techniques
from report_cases import anchor, anchored

BUDGETS = {0.5: (200, 88), 1.0: (300, 112), 2.0: (500, 165)}  # people, yes
SEEN = {1: {"yes": 430, "no": 570}, 2: {"yes": 740, "no": 260}}


def coin(truth: float) -> Mechanism:
    return Mechanism([[truth, 1 - truth], [1 - truth, truth]], inputs=["no", "yes"])


def budgets(**options: Any) -> ReportModel:
    coins = {epsilon: coin(exp(epsilon) / (1 + exp(epsilon))) for epsilon in BUDGETS}
    return ReportModel(coins, column="budget", **options)


def of_budgets() -> dict[Any, Any]:
    return {each: {"no": n - yes, "yes": yes} for each, (n, yes) in BUDGETS.items()}


def share_of_followers(t: np.ndarray) -> float:
    return float(t[1] / (t[0] + t[1]))


def test_cheating_detection_is_that_by_hand() -> None:
    found = techniques.cheating_detection("1/4", 0.75).estimate(SEEN)
    assert found.labels == ("no", "yes", "cheater")
    assert found.values == pytest.approx([0.620, 0.275, 0.105], abs=1e-12)
    assert found.std_error == pytest.approx([0.041833, 0.024486, 0.022230], abs=5e-7)


def test_unequal_halves_are_held_fixed() -> None:
    seen = {1: {"yes": 516, "no": 684}, 2: {"yes": 592, "no": 208}}
    found = techniques.cheating_detection(0.25, 0.75).estimate(seen)
    assert found.std_error == pytest.approx([0.042178, 0.022797, 0.024335], abs=5e-7)


def test_personal_budgets_are_one_estimate() -> None:
    right = {
        (True, "maximum_likelihood"): (0.267821, 0.024670),
        (True, "inversion"): (0.267166, 0.024746),
        (False, "inversion"): (0.257166, 0.036617),
    }
    for (assigned, method), (value, error) in right.items():
        found = budgets(assigned=assigned).estimate(of_budgets(), method=method)
        assert found.values[1] == pytest.approx(value, abs=5e-7)
        assert found.std_error[1] == pytest.approx(error, abs=5e-7)


def test_chosen_channels_are_the_mean_of_the_estimates_of_each() -> None:
    seen = of_budgets()
    each = [estimate_frequencies(part.mechanism, seen[part.name]) for part in budgets().parts]
    shares = np.array([each[i].n_reports for i in range(3)]) / 1000
    value = shares @ [one.values[1] for one in each]
    error = np.sqrt(shares**2 @ [one.std_error[1] ** 2 for one in each])
    found = budgets(assigned=False).estimate(seen)
    assert found.values[1] == pytest.approx(value, rel=1e-12)
    assert found.std_error[1] == pytest.approx(error, rel=1e-12)


def test_an_anchor_question_shows_who_is_careless() -> None:
    reports, weights = anchored()
    likely = anchor().estimate(reports, weights=weights, method="maximum_likelihood")
    assert likely.values[2] == pytest.approx(0.202432, abs=5e-7)
    assert likely.std_error[2] == pytest.approx(0.031626, abs=5e-7)
    share = likely.function(share_of_followers)
    assert (share.values[0], share.std_error[0]) == pytest.approx((0.117567, 0.024629), abs=5e-7)
    inverted = anchor().estimate(reports, weights=weights)
    assert inverted.values[2] == pytest.approx(0.211205, abs=5e-7)
    assert inverted.std_error[2] == pytest.approx(0.033000, abs=5e-7)
    share = inverted.function(share_of_followers)
    assert (share.values[0], share.std_error[0]) == pytest.approx((0.114740, 0.025487), abs=5e-7)


@pytest.mark.parametrize("method", ["inversion", "maximum_likelihood"])
def test_shares_among_followers_are_ratios(method: Any) -> None:
    reports, weights = anchored()
    every = anchor().estimate(reports, weights=weights, method=method)
    some = anchor().estimate(reports, weights=weights, method=method, followers=True)
    assert some.labels == ("no", "yes", "careless")
    assert some.values[1] == pytest.approx(share_of_followers(every.values), rel=1e-12)
    assert some.values[2] == pytest.approx(every.values[2], rel=1e-12)
    assert (some.interval[:, 0] < some.values).all()
    assert (some.values < some.interval[:, 1]).all()


def test_several_behaviors_are_one_share_of_those_who_do_not_follow() -> None:
    rows = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1]]
    mechanism = Mechanism(rows, ["no", "yes"], list("abcd"))
    model = ReportModel(mechanism, behaviors={"first": "c", "second": {"d": 0.9, "c": "1/10"}})
    found = model.estimate(dict(zip("abcd", [300, 200, 250, 250], strict=True)), followers=True)
    every = model.estimate(dict(zip("abcd", [300, 200, 250, 250], strict=True)))
    assert found.labels == ("no", "yes", "behaviors")
    assert found.values[2] == pytest.approx(every.values[2:].sum())


def test_one_mechanism_without_behaviors_is_that_mechanism() -> None:
    seen = {"no": 300, "yes": 200}
    model = ReportModel(coin(0.75))
    plain, found = estimate_frequencies(coin(0.75), seen), model.estimate(seen)
    for name in ("values", "std_error", "interval", "covariance"):
        assert np.array_equal(getattr(plain, name), getattr(found, name))
    assert found.fit == plain.fit
    assert Counts.of(model, seen) == Counts.of(coin(0.75), seen)


@given(
    yes=st.lists(st.integers(1, 99), min_size=2, max_size=2),
    truths=st.lists(st.sampled_from([0.6, 0.75, 0.9]), min_size=2, max_size=2),
)
@cases(20)
def test_moved_values_keep_the_estimate_and_leave_the_noise_within_channels(
    yes: list[int], truths: list[float]
) -> None:
    model = ReportModel({"a": coin(truths[0]), "b": coin(truths[1])})
    seen = {name: {"no": 100 - y, "yes": y} for name, y in zip("ab", yes, strict=True)}
    counts = Counts.of(model, seen)
    source = model.at(counts)
    plain = source.left_inverse @ counts.values / counts.total
    found = model.estimate(seen, check_fit=False)
    assert found.values == pytest.approx(plain, abs=1e-12)
    within = [
        np.ptp(source.left_inverse[1, part]) ** 2 * (y / 100) * (1 - y / 100) * 100
        for part, y in zip((slice(0, 2), slice(2, 4)), yes, strict=True)
    ]
    assert found.std_error[1] == pytest.approx(np.sqrt(sum(within)) / 200, rel=1e-9)


def tables() -> pd.DataFrame:
    rows = [
        (name, report)
        for name, each in of_budgets().items()
        for report, n in each.items()
        for _ in range(n)
    ]
    return pd.DataFrame(rows, columns=["budget", "report"]).sample(frac=1, random_state=1)


def test_tables_have_a_column_of_the_channel(tmp_path: Any) -> None:
    model, table = budgets(), tables()
    right = Counts.of(model, of_budgets())
    assert Counts.of(model, table, column="report") == right
    assert Counts.of(model, pl.from_pandas(table), column="report") == right
    assert Counts.of(model, list(zip(table["budget"], table["report"], strict=True))) == right
    table.to_csv(tmp_path / "reports.csv", index=False)
    assert Counts.of(model, tmp_path / "reports.csv", column="report") == right
    assert model.estimate(table, column="report").values[1] == pytest.approx(0.267166, abs=5e-7)


def test_shards_add_up_with_weights() -> None:
    model = budgets()
    table = tables().assign(w=np.arange(1000) % 3 + 0.5)
    whole = Counts.of(model, table, column="report", weights="w")
    parts = sum(Counts.of(model, table[i::4], column="report", weights="w") for i in range(4))
    assert parts.values == pytest.approx(whole.values, rel=1e-12)
    assert parts.squares == pytest.approx(whole.squares, rel=1e-12)
    assert parts.n_reports == whole.n_reports == 1000
    few = model.estimate(parts)
    assert few.std_error == pytest.approx(model.estimate(whole).std_error, rel=1e-9)


def test_missing_reports_and_channels_are_left_out_on_request() -> None:
    model, table = budgets(), tables()
    table.iloc[0, 1] = None
    table.iloc[1, 0] = None
    with refused("missing-answer"):
        Counts.of(model, table, column="report")
    assert Counts.of(model, table, column="report", missing="leave_out").n_reports == 998
    table.iloc[0, 1] = "no"
    with refused("channel"):
        Counts.of(model, table, column="report")


def test_names_of_answers_may_be_in_another_order() -> None:
    swapped = Mechanism([[0.1, 0.9], [0.9, 0.1]], ["yes", "no"], ["no", "yes"])
    seen = {"a": {"no": 60, "yes": 40}, "b": {"no": 55, "yes": 45}}
    same = ReportModel({"a": coin(0.8), "b": coin(0.9)}).estimate(seen)
    assert ReportModel({"a": coin(0.8), "b": swapped}).estimate(seen).values == pytest.approx(
        same.values, abs=1e-12
    )


def test_given_shares_are_tested_with_fixed_numbers_of_people() -> None:
    """For two rows and one number the statistic is the square of the score distance."""
    found = budgets().estimate(of_budgets())
    one = found.contrast({"yes": 1.0}).test(0.25)
    assert found.test([0.75, 0.25]).statistic == pytest.approx(one.statistic**2, rel=0.01)


@pytest.mark.parametrize(
    ("careless", "is_shown"),
    [("uniform", False), ("same", True), ({"same": 0.9, "different": 0.1}, True)],
)
def test_what_two_halves_show(careless: Any, is_shown: bool) -> None:
    """People who toss a coin are half of each answer in halves with q and 1 - q."""
    halves = {1: techniques.crosswise(0.15), 2: techniques.crosswise(0.85)}
    model = ReportModel(halves, behaviors={"careless": careless})
    seen = {name: {"same": 300, "different": 200} for name in (1, 2)}
    if is_shown:
        assert model.estimate(seen, check_fit=False).values.sum() == pytest.approx(1)
        return
    with refused("rank") as error:
        model.estimate(seen, check_fit=False)
    assert "'careless'" in str(error.value)
    assert "1/2 'no', 1/2 'yes'" in str(error.value)


def test_a_channel_without_people_shows_nothing() -> None:
    model = techniques.cheating_detection(0.25, 0.75)
    with refused("rank"):
        model.estimate({1: SEEN[1]})


def test_a_model_has_no_audit_and_its_mechanisms_have() -> None:
    model = techniques.cheating_detection(0.25, 0.75)
    assert not hasattr(model, "audit")
    assert model.parts[0].mechanism.audit().epsilon == inf


def test_reports_of_no_model_are_recognized() -> None:
    seen = {each: {"no": 1, "yes": 499} for each in BUDGETS}
    assert Counts.of(budgets(), seen).n_reports == 1500
    with refused("fit"):
        budgets().estimate(seen)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: ReportModel({}), "no-mechanisms"),
        (
            lambda: ReportModel({1: coin(0.8), 2: techniques.polytomous([0.1] * 3)}),
            "answers-of-channels",
        ),
        (lambda: ReportModel(coin(0.8), behaviors={"lazy": "maybe"}), "behavior"),
        (lambda: ReportModel(coin(0.8), behaviors={"lazy": 0.3}), "behavior"),
        (lambda: ReportModel(coin(0.8), behaviors={"lazy": [0.3, 0.3]}), "sum"),
        (lambda: ReportModel(coin(0.8), behaviors={"lazy": [1.0]}), "behavior-length"),
        (lambda: ReportModel(coin(0.8), behaviors={"no": "yes"}), "duplicate-label"),
        (lambda: techniques.cheating_detection(0.5, "1/2"), "same-halves"),
        (lambda: techniques.cheating_detection(0.5, 1.5), "rational"),
        (lambda: ReportModel(coin(0.8)).estimate({"no": 3}, followers=True), "no-behaviors"),
        (lambda: ReportModel({1: coin(0.8)}).estimate(tables(), column="report"), "channel-column"),
        (
            lambda: budgets(assigned=False).estimate(of_budgets(), method="maximum_likelihood"),
            "chosen-channels",
        ),
    ],
)
def test_refusals(call: Any, code: str) -> None:
    with refused(code):
        call()


@pytest.mark.parametrize("n", thorough_or([400], [200, 400, 2000]))
def test_intervals_of_stacked_channels_cover(n: int) -> None:
    """Halves drawn by chance, so that their numbers vary: 95 % intervals of all three shares."""
    rng = np.random.default_rng(11)
    model = techniques.cheating_detection(0.25, 0.75)
    truth = np.array([0.6, 0.3, 0.1])
    yes = [truth @ part.channel[:, 1] for part in model.parts]
    runs = thorough_or(300, 2000)
    hits = np.zeros(3)
    for _ in range(runs):
        first = rng.binomial(n, 0.5)
        seen = {}
        for half, people in ((1, first), (2, n - first)):
            told = int(rng.binomial(people, yes[half - 1]))
            seen[half] = {"no": people - told, "yes": told}
        low, high = model.estimate(seen, check_fit=False).interval.T
        hits += (low <= truth) & (truth <= high)
    assert (hits / runs > 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)).all()
    assert (hits / runs < 0.95 + 4 * np.sqrt(0.95 * 0.05 / runs)).all()


def test_sums_of_shares_among_followers_with_weights() -> None:
    """Both answers together are all who follow the rule; their difference has an interval."""
    reports, weights = anchored()
    found = anchor().estimate(reports, weights=weights, followers=True)
    both = found.contrast({"no": 1.0, "yes": 1.0})
    assert both.values == pytest.approx([1.0])
    apart = found.contrast({"no": 1.0, "yes": -1.0})
    assert apart.std_error == pytest.approx(2 * found.std_error[[1]], rel=1e-6)
    assert apart.interval[0, 0] < apart.values[0] < apart.interval[0, 1]


def test_names_that_are_no_channel_are_refused() -> None:
    model = techniques.cheating_detection("1/4", "3/4")
    for second in (3, "2"):
        with refused("channel-name"):
            model.estimate({1: {"yes": 43, "no": 57}, second: {"yes": 74, "no": 26}})
