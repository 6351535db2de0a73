"""Regressions on reports: right values of public cases, laws, refusals, coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from builders import pairs_or_turns, refused, thorough_or
from ldpopt import Mechanism, ReportModel, regress, techniques
from ldpopt.errors import LimitReachedError, shows_values
from ldpopt.estimation.regression import problem
from report_cases import anchor, anchored

# report, woman, married, civic: people
CELLS = np.array(
    [210, 216, 210, 178, 215, 103, 176, 292, 138, 150, 85, 124, 109, 38, 55, 132], dtype=int
)
DIE = techniques.forced("1/6", "1/6")
FORMULA = "contact ~ woman + married + civic"


@dataclass
class Sample:
    """Names of columns, as `ldpopt.Sample` has them."""

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None
    margins: Any = None


def contacts() -> pd.DataFrame:
    """Reports of a survey on contacts with the police, with three covariates."""
    rows = np.array(list(np.ndindex(2, 2, 2, 2)))[np.repeat(np.arange(16), CELLS)]
    table = pd.DataFrame(rows[:, 1:], columns=["woman", "married", "civic"])
    return table.assign(contact=np.where(rows[:, 0] == 1, "yes", "no"))


def response(n: int, epsilon: float, labels: Any = None) -> Mechanism:
    rows = np.ones((n, n)) + (np.exp(epsilon) - 1) * np.eye(n)
    return Mechanism(rows / rows.sum(axis=1, keepdims=True), labels, labels)


def drawn(rng: Any, shares: np.ndarray) -> np.ndarray:
    """A position in each row of probabilities."""
    return (rng.random(len(shares))[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)


def protected(rng: Any, mechanism: Mechanism, codes: np.ndarray) -> np.ndarray:
    places = drawn(rng, np.asarray(mechanism.channel)[codes])
    return np.array(mechanism.outputs, dtype=object)[places]


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def ages(size: int = 1500, n: int = 3, seed: int = 3) -> pd.DataFrame:
    """Reports of ``n`` answers that depend on an age and a region."""
    rng = np.random.default_rng(seed)
    age, region = rng.normal(size=size).round(1), rng.choice(["n", "s", "w"], size)
    effect = 0.8 * age + 0.5 * (region == "s")
    logits = np.outer(effect - 0.3, np.arange(n)) / max(1, n - 2)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    reports = protected(rng, response(n, 1.5), drawn(rng, shares))
    return pd.DataFrame({"y": reports.astype(int), "age": age, "region": region})


def test_contacts_have_the_coefficients_of_the_public_case() -> None:
    found = regress(FORMULA, contacts(), {"contact": DIE})
    assert found.params.index.tolist() == ["Intercept", "woman", "married", "civic"]
    assert found.params.to_numpy() == pytest.approx([-0.7691, -0.6018, -0.3582, 0.3244], abs=5e-5)
    assert found.bse.to_numpy() == pytest.approx([0.1376, 0.1612, 0.1536, 0.1527], abs=5e-5)
    assert found.llf == pytest.approx(-1547.6479, abs=5e-5)
    smaller = found.test("contact ~ woman + married")
    assert smaller.freedom == 1
    assert smaller.statistic == pytest.approx(4.5747, abs=5e-5)
    assert smaller.p_value == pytest.approx(0.0324, abs=5e-5)


def test_robust_errors_of_contacts() -> None:
    found = regress(FORMULA, contacts(), {"contact": DIE}, sample=Sample())
    assert found.bse.to_numpy() == pytest.approx([0.1403, 0.1617, 0.1524, 0.1517], abs=5e-5)
    wald = (found.params / found.bse)["civic"] ** 2
    assert found.test("contact ~ woman + married").statistic == pytest.approx(wald)


def test_linear_model_of_contacts() -> None:
    found = regress(FORMULA, contacts(), {"contact": DIE}, kind="mean")
    assert found.params.to_numpy() == pytest.approx([0.3189, -0.1113, -0.0746, 0.0662], abs=5e-5)
    assert found.bse.to_numpy() == pytest.approx([0.0273, 0.0289, 0.0292, 0.0289], abs=5e-5)
    assert found.llf is None


def test_behaviors_are_shares_beside_the_coefficients() -> None:
    reports, weights = anchored()
    table = pd.DataFrame({"drug": reports, "w": weights})
    found = regress("drug ~ 1", table, {"drug": anchor()}, sample=Sample(weights="w"))
    share = logistic(found.params["Intercept"])
    error = share * (1 - share) * found.bse["Intercept"]
    assert (share, error) == pytest.approx((0.117567, 0.024629), abs=5e-7)
    careless = found.behaviors.loc["careless"]
    assert careless.tolist() == pytest.approx([0.202432, 0.031626], abs=5e-7)


def test_channels_of_people_are_their_own() -> None:
    """One intercept is the most likely share of `ReportModel.estimate`."""
    model = techniques.cheating_detection("1/4", "3/4", column="half")
    told = [(1, "yes", 430), (1, "no", 570), (2, "yes", 740), (2, "no", 260)]
    table = pd.DataFrame([(h, y) for h, y, n in told for _ in range(n)], columns=["half", "y"])
    found = regress("y ~ 1", table, {"y": model})
    every = model.estimate(table, column="y", method="maximum_likelihood", followers=True)
    assert logistic(found.params["Intercept"]) == pytest.approx(every.values[1], rel=1e-7)
    assert found.behaviors.loc["cheater", "std_error"] == pytest.approx(
        every.std_error[2], rel=1e-4
    )


def plain_log_likelihood(theta: np.ndarray, rows: Any, x: Mechanism, o: Mechanism) -> float:
    """Both protected: Pr(x | z) and Pr(o | x, z) logistic, summed over both, person by person."""
    a, b = theta[:3], theta[3:]
    total = 0.0
    for z, report_x, report_o in rows:
        px, q = logistic(b[0] + b[1] * z), 0.0
        for code in (0, 1):
            po = logistic(a[0] + a[1] * code + a[2] * z)
            seen = x.channel[code, x.outputs.index(report_x)]
            of_o = [o.channel[k, o.outputs.index(report_o)] for k in (0, 1)]
            q += (px if code else 1 - px) * seen * ((1 - po) * of_o[0] + po * of_o[1])
        total += float(np.log(q))
    return total


def both(rng: Any, size: int, epsilon: float) -> pd.DataFrame:
    z = rng.normal(size=size)
    x = (rng.random(size) < logistic(-0.4 + 0.5 * z)).astype(int)
    o = (rng.random(size) < logistic(-0.7 + 1.0 * x + 0.5 * z)).astype(int)
    coin = response(2, epsilon, ["no", "yes"])
    return pd.DataFrame({"z": z, "x": protected(rng, coin, x), "o": protected(rng, coin, o)})


def test_outcome_and_covariate_protected_are_the_plain_likelihood() -> None:
    from scipy.optimize import minimize

    table = both(np.random.default_rng(5), 300, 3.0)
    coin = response(2, 3.0, ["no", "yes"])
    found = regress("o ~ x + z", table, {"x": coin, "o": coin})
    assert found.params.index.tolist() == ["Intercept", "x[T.yes]", "z"]
    rows = list(zip(table["z"], table["x"], table["o"], strict=True))
    best = minimize(
        lambda t: -plain_log_likelihood(t, rows, coin, coin), np.zeros(5), method="BFGS"
    )
    assert found.llf == pytest.approx(-best.fun, abs=1e-6)
    assert found.params.to_numpy() == pytest.approx(best.x[:3], abs=2e-3)


def test_one_row_for_equal_people_changes_nothing(monkeypatch: Any) -> None:
    for kind in ("logit", "ordered", "mean"):
        table = ages()
        options: Any = {"kind": kind, "sample": Sample(strata="region")}
        merged = regress("y ~ age + region", table, {"y": response(3, 1.5)}, **options)
        with monkeypatch.context() as patch:
            every = np.arange(len(table))
            patch.setattr(problem, "equal_rows", lambda columns, rows=every: (rows, rows))
            alone = regress("y ~ age + region", table, {"y": response(3, 1.5)}, **options)
        assert np.allclose(merged.params, alone.params, rtol=1e-8, atol=1e-10)
        assert np.allclose(merged.bse, alone.bse, rtol=1e-8)


KINDS = ("logit", "ordered", "mean")
UNITS = ((15000.0, 50000.0), (0.001, 0.0), (5.0, 2000.0))


@pytest.mark.parametrize(("kind", "unit"), pairs_or_turns(KINDS, UNITS))
def test_other_units_of_a_covariate(kind: Any, unit: tuple[float, float]) -> None:
    table = ages()
    factor, shift = unit
    there = table.assign(age=shift + factor * table["age"])
    first, second = (
        regress("y ~ age + region", each, {"y": response(3, 1.5)}, kind=kind)
        for each in (table, there)
    )
    for name in ("params", "bse"):
        a, b = (getattr(each, name).loc["age"] for each in (first, second))
        assert np.allclose(a, np.asarray(b) * factor, rtol=1e-8)
    assert np.allclose(first.predict(table), second.predict(there), atol=1e-9)


def test_names_and_order_of_answers() -> None:
    table = contacts()
    found = regress(FORMULA, table, {"contact": DIE})
    other = table.assign(contact=table["contact"].map({"no": "never", "yes": "ever"}))
    rows = np.asarray(DIE.channel)
    renamed = Mechanism(rows, ["never", "ever"], ["never", "ever"])
    again = regress(FORMULA, other, {"contact": renamed})
    assert np.array_equal(found.params, again.params)
    turned = Mechanism(rows, ["ever", "never"], ["ever", "never"])
    back = regress(FORMULA, other, {"contact": turned})
    assert np.allclose(back.params, -found.params, atol=1e-9)
    assert np.allclose(back.bse, found.bse, rtol=1e-8)


def test_order_of_people_and_library_of_the_table_change_nothing() -> None:
    table = ages()
    found = regress("y ~ age * region", table, {"y": response(3, 1.5)})
    mixed = pl.from_pandas(table.sample(frac=1, random_state=7))
    again = regress("y ~ age * region", mixed, {"y": response(3, 1.5)})
    assert np.allclose(found.params, again.params, atol=1e-9)
    assert found.cov_params().index.equals(again.cov_params().index)


def test_weights_of_two_are_people_twice() -> None:
    table = ages(600).assign(w=2.0)
    twice = pd.concat([table, table])
    coin = {"y": response(3, 1.5)}
    once = regress("y ~ age", table, coin, sample=Sample(weights="w"))
    double = regress("y ~ age", twice, coin)
    assert np.allclose(once.params, double.params, atol=1e-9)
    assert once.llf == pytest.approx(double.llf, rel=1e-12)
    alone = regress("y ~ age", table, coin, sample=Sample())
    assert np.allclose(once.bse, alone.bse, rtol=1e-9)  # equal weights say nothing


def test_people_without_weight_are_not_there() -> None:
    table = ages(600).assign(w=np.arange(600) % 2)
    found = regress("y ~ age", table, {"y": response(3, 1.5)}, sample=Sample(weights="w"))
    half = regress("y ~ age", table[table["w"] > 0], {"y": response(3, 1.5)}, sample=Sample())
    assert found.nobs == 300
    assert np.allclose(found.params, half.params, atol=1e-9)
    assert np.allclose(found.bse, half.bse, rtol=1e-9)


def test_clusters_and_strata_are_sums_of_scores() -> None:
    """The linear model with a clear channel, its sandwich written out."""
    rng = np.random.default_rng(8)
    size = 240
    table = pd.DataFrame(
        {
            "z": rng.normal(size=size),
            "class": rng.integers(0, 24, size),
            "w": rng.choice([1.0, 3.0], size),
        }
    )
    table["town"] = np.where(table["class"] < 10, "a", "b")
    table["y"] = (rng.random(size) < logistic(table["z"])).astype(int)
    sample = Sample("w", "town", "class")
    found = regress("y ~ z", table, {"y": Mechanism(np.eye(2))}, kind="mean", sample=sample)
    x = np.column_stack([np.ones(size), table["z"]])
    w, y = table["w"].to_numpy(), table["y"].to_numpy()
    bread = np.linalg.inv(x.T @ (x * w[:, None]))
    b = bread @ x.T @ (w * y)
    scores = x * (w * (y - x @ b))[:, None]
    meat = np.zeros((2, 2))
    for town in "ab":
        inside = table["town"] == town
        sums = np.array(
            [
                scores[inside & (table["class"] == c)].sum(axis=0)
                for c in table["class"][inside].unique()
            ]
        )
        away = sums - sums.mean(axis=0)
        meat += len(sums) / (len(sums) - 1) * away.T @ away
    assert found.params.to_numpy() == pytest.approx(b, rel=1e-9)
    assert found.cov_params().to_numpy() == pytest.approx(bread @ meat @ bread, rel=1e-8)
    from scipy.stats import t

    half = t.ppf(0.975, 22) * found.bse["z"]  # 24 clusters less 2 strata
    assert found.conf_int().loc["z"].tolist() == pytest.approx(
        [found.params["z"] - half, found.params["z"] + half]
    )
    assert found.pvalues["z"] == pytest.approx(2 * t.sf(abs(found.params / found.bse)["z"], 22))


def test_clusters_of_one_person_are_people() -> None:
    table = ages(400).assign(person=np.arange(400))
    coin = {"y": response(3, 1.5)}
    one = regress("y ~ age", table, coin, sample=Sample(clusters="person"))
    assert np.allclose(one.bse, regress("y ~ age", table, coin, sample=Sample()).bse, rtol=1e-9)


def test_levels_of_a_protected_covariate_are_those_of_its_mechanism() -> None:
    rng = np.random.default_rng(2)
    mechanism = response(3, 4.0, ["a", "b", "c"])
    x = rng.integers(0, 3, 3000)
    table = pd.DataFrame({"x": protected(rng, mechanism, x), "y": 1.0 + 2.0 * (x == 2)})
    table["y"] += rng.normal(size=3000)
    found = regress("y ~ C(x)", table, {"x": mechanism}, kind="mean")
    assert found.params.index.tolist() == ["Intercept", "C(x)[T.b]", "C(x)[T.c]"]
    right = np.array([1.0, 0.0, 2.0])
    assert (np.abs(found.params - right) < 4 * found.bse).all()
    assert found.predict(pd.DataFrame({"x": ["c", "a"]})).to_numpy() == pytest.approx(
        [found.params.iloc[[0, 2]].sum(), found.params.iloc[0]]
    )
    seen = table[table["x"] != "b"]
    with refused("squares", LimitReachedError):  # b is a level, of which there are too few
        regress("y ~ x", seen, {"x": mechanism}, kind="mean")


def test_products_with_a_protected_covariate() -> None:
    table = both(np.random.default_rng(6), 2000, 4.0)
    coin = response(2, 4.0, ["no", "yes"])
    for kind in ("logit", "mean"):
        found = regress("o ~ x * z", table, {"x": coin, "o": coin}, kind=kind)
        assert found.params.index.tolist() == ["Intercept", "x[T.yes]", "z", "x[T.yes]:z"]
        smaller = found.test("o ~ x + z")
        assert smaller.freedom == 1
        assert smaller.p_value == pytest.approx(found.pvalues.iloc[-1], abs=0.05)


def test_clear_outcome_with_a_protected_covariate() -> None:
    rng = np.random.default_rng(9)
    table = both(rng, 4000, 3.0)
    clear = table.assign(sick=(rng.random(4000) < 0.4).astype(int))
    coin = response(2, 3.0, ["no", "yes"])
    found = regress("sick ~ x + z", clear, {"x": coin})
    assert (np.abs(found.params / found.bse)[1:] < 4).all()
    assert logistic(found.params["Intercept"]) == pytest.approx(0.4, abs=0.06)


def test_ordered_answers_have_cuts_in_place_of_an_intercept() -> None:
    table = ages(3000, 4)
    found = regress("y ~ age + C(region)", table, {"y": response(4, 1.5)}, kind="ordered")
    names = ["age", "C(region)[T.s]", "C(region)[T.w]", "0/1", "1/2", "2/3"]
    assert found.params.index.tolist() == names
    assert found.params[-3:].is_monotonic_increasing
    shares = found.predict(table.head(5))
    assert shares.columns.tolist() == [0, 1, 2, 3]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(np.ones(5))
    assert found.test("y ~ age").freedom == 2


def test_predictions_have_the_index_of_the_table_and_know_their_levels() -> None:
    table = ages()
    found = regress("y ~ age + region", table, {"y": response(3, 1.5)})
    some = table.drop(columns="y").iloc[[5, 2]]
    assert found.predict(some).index.tolist() == [5, 2]
    assert found.predict(some).sum(axis=1).to_numpy() == pytest.approx([1.0, 1.0])
    with refused("unknown-level"):
        found.predict(some.assign(region="east"))
    with refused("missing"):
        found.predict(some.assign(region=[None, "n"]))


def test_shapes_of_the_results_are_those_of_statsmodels() -> None:
    two = regress(FORMULA, contacts(), {"contact": DIE})
    assert isinstance(two.params, pd.Series)
    assert two.conf_int().columns.tolist() == [0, 1]
    assert two.cov_params().shape == (4, 4)
    assert two.nobs == 2431
    three = regress("y ~ age", ages(), {"y": response(3, 1.5)})
    assert three.params.columns.tolist() == [1, 2]
    assert three.params.index.tolist() == ["Intercept", "age"]
    assert three.conf_int().index.names == ["answer", "term"]
    assert three.to_frame().columns.tolist() == ["estimate", "std_error", "p_value", "low", "high"]
    assert "1: age" in three.summary()
    half = regress(FORMULA, contacts(), {"contact": DIE}, confidence=0.5)
    wide = two.conf_int()
    assert (half.conf_int()[1] < wide[1]).all()


def test_missing_entries_are_refused_or_left_out() -> None:
    table = ages(500).astype({"y": object})
    table.loc[3, "y"] = None
    table.loc[8, "age"] = np.nan
    table.loc[9, "region"] = None
    with refused("missing"):
        regress("y ~ age + region", table, {"y": response(3, 1.5)})
    found = regress("y ~ age + region", table, {"y": response(3, 1.5)}, missing="leave_out")
    assert found.nobs == 497


def chosen() -> ReportModel:
    halves = {"a": response(2, 1.0), "b": response(2, 3.0)}
    return ReportModel(halves, column="region", assigned=False)


def test_chosen_mechanisms_need_their_column() -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"region": rng.choice(["a", "b"], 800), "z": rng.normal(size=800)})
    table["y"] = rng.integers(0, 2, 800)
    with refused("chosen-channels"):
        regress("y ~ z", table, {"y": chosen()})
    assert "region[T.b]" in regress("y ~ z + region", table, {"y": chosen()}).params
    assert regress("y ~ z", table, {"y": chosen()}, kind="mean").nobs == 800


@pytest.mark.parametrize(
    ("formula", "code", "options"),
    [
        ("age ~ region", "outcome", {"protected": {}, "formula": "np.log(age) ~ region"}),
        ("age ~ region", "no-protected", {"kind": "mean"}),
        ("y ~ income", "column", {}),
        ("y + age", "formula", {}),
        ("y ~ age ~ region", "formula", {}),
        ("y | age ~ region", "formula", {}),
        ("age ~ np.log(y)", "function-of-protected", {"kind": "mean"}),
        ("age ~ I(y ** 2)", "function-of-protected", {"kind": "mean"}),
        ("np.log(y) ~ age", "function-of-protected", {}),
        ("y ~ y + age", "outcome-again", {}),
        ("y ~ age + I(2 * age)", "dependent-covariates", {}),
        ("y ~ 0 + region", "dependent-covariates", {"kind": "ordered"}),
        ("y ~ np.log(age)", "non-finite", {}),
        ("y ~ np.log(region)", "term", {}),
        ("y ~ age", "protected", {"protected": [response(3, 1.5)]}),
        ("y ~ age", "margin-category", {"sample": Sample(margins={"region": {"nowhere": 1.0}})}),
        ("y ~ age", "protected-margin", {"sample": Sample(margins={"y": {"0": 1.0}})}),
        ("y ~ age", "one-unit", {"sample": Sample(strata="alone")}),
        ("region ~ y", "outcome-number", {"kind": "mean"}),
        (
            "y ~ age",
            "answer-numbers",
            {"kind": "mean", "protected": {"y": response(3, 1.5, list("012"))}},
        ),
        ("same ~ y", "one-answer", {}),
        (
            "y ~ age",
            "behaviors-of-covariate",
            {
                "kind": "mean",
                "protected": {
                    "y": ReportModel(techniques.polytomous([0.1] * 3), behaviors={"lazy": 0})
                },
            },
        ),
    ],
)
def test_refusals(formula: str, code: str, options: dict[str, Any]) -> None:
    table = ages(200).assign(alone=[1] + [0] * 199, same=1)
    given: dict[str, Any] = {"protected": {"y": response(3, 1.5)}, **options}
    formula = given.pop("formula", formula)
    with refused(code):
        regress(formula, table, given.pop("protected"), **given)


@pytest.mark.parametrize(
    "formula", ["y ~ age", "z ~ age + region", "y ~ age + income", "y ~ age + region"]
)
def test_only_smaller_formulas_of_the_same_outcome_are_tested(formula: str) -> None:
    found = regress("y ~ age + region", ages(), {"y": response(3, 1.5)})
    if formula == "y ~ age":
        assert found.test(formula).freedom == 4  # two levels, two answers
        return
    with refused("column" if "income" in formula or "z" in formula else "nested"):
        found.test(formula)


def test_coding_of_what_is_left_decides_whether_a_formula_is_smaller() -> None:
    found = regress("y ~ age * region", ages(), {"y": response(3, 1.5)})
    assert found.test("y ~ age + region").freedom == 4
    with refused("nested"):  # without the main effect the product has all levels of the region
        found.test("y ~ age:region")


def test_separated_answers_have_no_maximum() -> None:
    table = pd.DataFrame({"z": np.repeat([0, 1], 300), "y": np.repeat([0, 1], 300)})
    with refused("separation", LimitReachedError):
        regress("y ~ z", table, {"y": Mechanism(np.eye(2))})


def test_no_entry_of_the_table_is_in_a_message() -> None:
    table = ages(200).assign(region="secret entry")
    assert not shows_values()
    for formula in ("y ~ np.log(region)", "y ~ age + I(region ** 2)"):
        with refused("term") as caught:
            regress(formula, table, {"y": response(3, 1.5)})
        error: BaseException | None = caught.value
        while error is not None:
            assert "secret entry" not in str(error)
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("epsilon", "size"), thorough_or([(2.0, 500)], [(1.0, 300), (2.0, 500), (4.0, 300)])
)
def test_intervals_of_a_protected_outcome_cover(epsilon: float, size: int) -> None:
    rng = np.random.default_rng(6)
    right, coin = np.array([-1.0, 0.7, 0.0]), response(2, epsilon)
    hits, runs = np.zeros(3), thorough_or(60, 400)
    for _ in range(runs):
        z = np.column_stack([rng.normal(size=size), rng.random(size) < 0.5])
        x = (rng.random(size) < logistic(right[0] + z @ right[1:])).astype(int)
        table = pd.DataFrame(z, columns=["a", "b"]).assign(y=protected(rng, coin, x).astype(int))
        try:
            ends = regress("y ~ a + b", table, {"y": coin}).conf_int()
        except LimitReachedError:  # few: the share of some answers seems to be 0
            runs -= 1
            continue
        hits += (ends[0] <= right) & (right <= ends[1])
    assert (np.abs(hits / runs - 0.95) < 4 * np.sqrt(0.95 * 0.05 / runs)).all()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["logit", "mean"])
def test_intervals_of_outcome_and_covariate_cover(kind: Any) -> None:
    rng = np.random.default_rng(5)
    coin = response(2, 2.0, ["no", "yes"])
    hits, runs = np.zeros(3), 200
    right = np.array([-0.7, 1.0, 0.5])
    for _ in range(runs):
        if kind == "logit":
            table = both(rng, 1000, 2.0)
        else:
            right = np.array([0.3, 0.2, 0.05])
            z, x = rng.normal(size=1000), (rng.random(1000) < 0.4).astype(int)
            o = (rng.random(1000) < np.clip(0.3 + 0.2 * x + 0.05 * z, 0, 1)).astype(int)
            table = pd.DataFrame(
                {"z": z, "x": protected(rng, coin, x), "o": protected(rng, coin, o)}
            )
        ends = regress("o ~ x + z", table, {"x": coin, "o": coin}, kind=kind).conf_int()
        hits += (ends[0] <= right) & (right <= ends[1])
    assert (hits / runs > 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)).all()


def test_what_trips_a_first_regression_is_named() -> None:
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    table = pd.DataFrame(
        {"q": ["no", "yes"] * 40, "age": range(20, 100), "group": [1, 2, 3, 4] * 20}
    )
    with refused("path"):
        regress("q ~ age", "reports.csv", {"q": coin})
    with refused("many-numbers") as caught:
        regress("age ~ q", table, {"q": coin})
    assert 'kind="mean"' in caught.value.do
    with refused("no-protected") as caught:
        regress("group ~ age", table, {"q": coin})
    assert "protected are 'q'" in caught.value.do
    assert list(regress("age ~ q", table, {"q": coin}, kind="mean").params.index) == [
        "Intercept",
        "q[T.yes]",
    ]
