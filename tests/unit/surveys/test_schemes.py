"""All questions, one question, or fake data: true budgets by enumeration, unbiased estimates,
variances."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from builders import refused, thorough_or
from ldpopt import Mechanism, PureLDP, SecretKey, Survey, Workload, compare_schemes, design
from ldpopt.errors import StatementError
from ldpopt.frequencies import RandomizedResponse
from ldpopt.mechanism.questions import OneQuestion, Question


def question(size, epsilon):
    return RandomizedResponse(list(range(size)), epsilon).mechanism


def joint_distribution(mechanisms, one_question):
    """Probability of every row of reports under every row of answers, from the definition."""
    count = len(mechanisms)
    answers = list(itertools.product(*(range(len(one.inputs)) for one in mechanisms)))
    table = []
    for row in answers:
        total = 0
        for place in range(count) if one_question else [None]:
            columns = []
            for other, (one, answer) in enumerate(zip(mechanisms, row, strict=True)):
                own = one.channel[answer]
                if place is None or other == place:
                    columns.append(
                        own if place is None or one_question.fake_data else np.append(own, 0.0)
                    )
                elif one_question.fake_data:
                    columns.append(one.channel.mean(axis=0))
                else:
                    columns.append(np.append(np.zeros_like(own), 1.0))  # no report
            part = columns[0]
            for column in columns[1:]:
                part = np.multiply.outer(part, column)
            total = total + part / (count if one_question else 1)
        table.append(total.ravel())
    return answers, np.array(table)


def largest_loss(table, pairs):
    with np.errstate(divide="ignore", invalid="ignore"):
        return max(float(np.nanmax(np.log(table[x] / table[y]))) for x, y in pairs)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 5), (3, 2, 4)])
@pytest.mark.parametrize("scheme", ["split", "one_question", "fake_data"])
def test_the_budget_of_a_person_is_the_true_one(sizes, scheme):
    mechanisms = [question(size, 0.9) for size in sizes]
    survey = Survey({f"q{place}": one for place, one in enumerate(mechanisms)}, scheme=scheme)
    answers, table = joint_distribution(mechanisms, survey.one_question)
    assert table.sum(axis=1) == pytest.approx(1)
    every = list(itertools.permutations(range(len(answers)), 2))
    assert largest_loss(table, every) == pytest.approx(survey.epsilon, abs=1e-9)


def test_fake_data_amplify_for_one_attribute_of_equal_size_and_not_for_others():
    # The claim: reports at log(d (e^eps - 1) + 1) make the row eps-private. It holds where one of d
    # equal attributes changes, fails for a person, and fails for one attribute where the numbers of
    # answers differ.
    epsilon, count = 1.0, 2
    amplified = math.log(count * (math.exp(epsilon) - 1) + 1)
    for sizes, holds in (((3, 3), True), ((2, 6), False)):
        mechanisms = [question(size, amplified) for size in sizes]
        answers, table = joint_distribution(mechanisms, OneQuestion(count, fake_data=True))
        every = list(itertools.permutations(range(len(answers)), 2))
        near = [
            (x, y)
            for x, y in every
            if sum(a != b for a, b in zip(answers[x], answers[y], strict=True)) == 1
        ]
        assert (largest_loss(table, near) <= epsilon + 1e-9) is holds
        assert largest_loss(table, every) == pytest.approx(amplified, abs=1e-9)


@pytest.mark.parametrize("scheme", ["split", "one_question", "fake_data"])
def test_estimates_are_unbiased_and_their_variance_is_the_closed_form(scheme):
    people = 2000
    rounds = thorough_or(15, 300)
    sizes = {"a": 2, "b": 4}
    shares = {"a": [0.8, 0.2], "b": [0.5, 0.3, 0.2, 0.0]}
    whole = 1.5
    each = whole / 2 if scheme == "split" else whole
    survey = Survey(
        {name: design(Workload.frequencies(size), PureLDP(each)) for name, size in sizes.items()},
        scheme=scheme,
        epsilon=whole,
    )
    draws = np.random.default_rng(5)
    found = {name: [] for name in sizes}
    for _ in range(rounds):
        table = pd.DataFrame(
            {name: draws.choice(size, people, p=shares[name]) for name, size in sizes.items()}
        )
        estimates = survey.estimate(survey.privatize(table, rng=draws))
        for name, one in estimates.items():
            found[name].append(one.values)
    closed = compare_schemes(sizes, whole, priors=shares).variances[scheme]
    for name in sizes:
        values = np.array(found[name])
        variance = survey.precision(name, prior=shares[name]).variances / people
        assert (np.abs(values.mean(axis=0) - shares[name]) <= 5 * np.sqrt(variance / rounds)).all()
        spread = 6 * math.sqrt(2 / rounds)
        assert np.abs(values.var(axis=0, ddof=1) / variance - 1).max() < spread
        assert closed[name] / people == pytest.approx(variance.mean(), rel=1e-6)


def test_small_budgets_ask_one_question_large_ones_ask_all_and_the_reason_is_named():
    few = {"a": 2, "b": 2, "c": 2}
    assert compare_schemes(few, 0.5).best == "one_question"
    assert compare_schemes(few, 12.0).best == "joint"
    # too many combinations for a joint report
    assert compare_schemes({"a": 5, "b": 5, "c": 5}, 12.0).best == "split"
    assert "times for split" in compare_schemes(few, 0.5).why
    for epsilon in (0.2, 1.0, 3.0, 8.0):
        average = compare_schemes(few, epsilon).average
        assert average["one_question"] <= average["fake_data"]
    assert compare_schemes({"a": 2}, 1.0).best == "split"
    with refused("no-question"):
        compare_schemes({}, 1.0)


def test_one_question_is_drawn_for_each_person_the_same_with_a_key():
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    table = pd.DataFrame(
        {"a": ["yes"] * 3000, "b": ["no"] * 3000, "c": ["no"] * 3000, "id": range(3000)}
    )
    survey = Survey(dict.fromkeys("abc", coin), scheme="one_question")
    key = SecretKey(bytes(32))
    found = survey.privatize(table, key=key, id="id")
    is_drawn = found[["a", "b", "c"]].notna()
    assert (is_drawn.sum(axis=1) == 1).all()
    assert (np.abs(is_drawn.sum() - 1000) < 6 * math.sqrt(3000 * 2 / 9)).all()
    again = survey.privatize(table.sample(frac=1, random_state=1), key=key, id="id").sort_index()
    assert again.equals(found)
    rows = np.flatnonzero(is_drawn["a"])
    alone = coin.sample(["yes"] * len(rows), key=key, id=rows.tolist(), question="a")
    assert found["a"][rows].tolist() == alone.tolist()


def test_fake_data_need_no_missing_answers():
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    with refused("fake-missing"):
        Survey({"a": coin, "b": Question(coin, "leave_out")}, scheme="fake_data")
    with pytest.raises(StatementError, match="'spilt'"):
        Survey({"a": coin}, scheme="spilt")


@pytest.mark.parametrize(
    "workload",
    [
        Workload.prefix(["low", "middle", "high"]),
        Workload.mean([18, 40, 90, 91], inputs=["a", "b", "c", "d"]),
        Workload.mean([1, 5, 9], inputs=["a", "b", "c"]).with_missing("no answer"),
    ],
)
def test_numbers_of_a_design_are_estimated_without_bias_among_fake_data(workload) -> None:
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    best = design(workload, PureLDP(1.0))
    survey = Survey({"a": coin, "b": best, "c": coin}, scheme="fake_data")
    law = survey.randomizers["b"]
    truth = best.mechanism.counts / best.mechanism.denominator
    mixture = truth / 3 + 2 / 3 * truth.mean(axis=0)
    assert np.abs(law.channel - mixture).max() < 1e-15
    numbers = survey.sources["b"]
    assert np.abs(law.channel @ numbers.estimator.T - workload.matrix.T).max() < 1e-11 * (
        1 + np.abs(numbers.estimator).max()
    )
    answers = pd.DataFrame({"a": ["no"] * 9000, "b": [workload.inputs[1]] * 9000})
    reports = survey.privatize(answers.assign(c="no"), rng=1)
    estimate = survey.estimate(reports, confidence=0.9999)["b"]
    inside = (estimate.interval[:, 0] <= workload.matrix[:, 1] + 1e-9) & (
        workload.matrix[:, 1] - 1e-9 <= estimate.interval[:, 1]
    )
    assert inside.all()


@pytest.mark.parametrize("scheme", ["one_question", "fake_data"])
def test_a_regression_takes_one_of_questions_of_which_one_is_answered(scheme) -> None:
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    survey = Survey({"a": coin, "b": coin}, scheme=scheme)
    rng = np.random.default_rng(1)
    answers = pd.DataFrame({name: rng.choice(["no", "yes"], 600) for name in "ab"})
    reports = survey.privatize(answers, rng=2).assign(age=range(600))
    for formula, kind in (("a ~ b", "logit"), ("b ~ age + C(a)", "logit"), ("a ~ b", "mean")):
        with refused("one-question"):
            survey.regress(formula, reports, kind=kind, missing="leave_out")
    with refused("one-question"):
        survey.regress("age ~ a * b", reports, kind="mean", missing="leave_out")
    found = survey.regress("a ~ 1", reports, kind="mean", missing="leave_out")
    share = survey.estimate(reports)["a"].values[1]
    assert found.params.iloc[0] == pytest.approx(share, rel=1e-9)
