"""Leakage, information privacy, secrets, budgets of pairs, any cone, and intersections."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import StatementError
from ldpopt.privacy import Intersection
from ldpopt.privacy.notion import with_epsilon

PRIORS = ([0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.3, 0.6, 0.1])
GAIN = [[1, 0.2, 0], [0, 1, 0.3], [0.4, 0, 1]]
SECRETS = {"ill": [0.6, 0.2, 0.1, 0.1], "well": [0.1, 0.2, 0.3, 0.4]}
BUDGETS = {0: 0.5, 1: 1, 2: 2, 3: 3}


def value(notion, prior, gain="identity"):
    answer = lo.solve(lo.Problem(prior, gain, notion))
    proof = lo.certify(answer)
    assert proof.audit.verdict == "certified"
    assert proof.relative_gap < 1e-12
    return answer.value


@pytest.mark.parametrize(
    ("notion", "best"),
    [
        (lo.PML(1.0), 0.826193819),
        (lo.InformationPrivacy(1.0), 0.725799244),
        (lo.PureLDP(1.0), 0.584846863),
        (lo.PML("log(3/2)"), 0.6),
    ],
)
def test_the_truth_under_three_notions(notion, best):
    assert value(notion, PRIORS[0]) == pytest.approx(best, abs=5e-10)


@pytest.mark.parametrize(
    ("notion", "best"),
    [
        (lo.InformationPrivacy, (0.644618653, 0.76, 0.693359795)),
        (lo.PML, (0.691103594, 0.76, 0.732678278)),
    ],
)
def test_the_prior_of_a_notion_is_that_of_the_problem(notion, best):
    problem = lo.Problem(PRIORS[0], GAIN, notion(0.5))
    found = [lo.solve(replace(problem, prior=prior)).value for prior in PRIORS]
    assert found == pytest.approx(best, abs=5e-10)
    for prior in PRIORS:  # the same with the notion's own words
        stated = replace(problem, prior=prior, privacy=notion(0.5, prior))
        assert lo.solve(stated).value == pytest.approx(
            lo.solve(replace(problem, prior=prior)).value
        )


def test_a_stated_prior_stays():
    stated = lo.PML(0.5, PRIORS[1])
    problem = lo.Problem(PRIORS[0], GAIN, stated)
    assert problem.privacy == stated
    again = replace(problem, prior=PRIORS[2])
    assert again.privacy == stated
    assert any("stated" in note for note in lo.solve(problem).notes)


def test_a_worst_case_needs_a_stated_prior():
    problem = lo.Problem(PRIORS[0], GAIN, lo.PML(0.5))
    for parts in ({"prior": None, "objective": "worst_case"},):
        with refused("notion-prior"):
            replace(problem, **parts)
    with refused("notion-prior"):
        lo.Problem(None, GAIN, lo.PML(0.5) & lo.PureLDP(1.0), objective="worst_case")
    with refused("notion-prior"):
        lo.PML(0.5).audit(np.eye(3))
    worst = lo.Problem(None, GAIN, lo.PML(0.5, PRIORS[0]), objective="worst_case")
    assert lo.certify(lo.solve(worst)).relative_gap < 1e-9


def test_the_hidden_prior_counts():
    one, two = (lo.Problem(prior, GAIN, lo.PML(0.5)).privacy for prior in PRIORS[:2])
    assert one != two
    assert hash(one) != hash(two)
    assert one == lo.Problem(PRIORS[0], GAIN, lo.PML(0.5)).privacy
    assert one.bound_to(None, range(3)) == lo.PML(0.5)
    assert with_epsilon(one, lo.PML(0.7).epsilon).weights(range(3)) == one.weights(range(3))


def test_labels_of_a_prior_decide():
    by_label = lo.PML(0.5, {"c": 2, "a": 5, "b": 3})
    problem = lo.Problem({"a": 5, "b": 3, "c": 2}, GAIN, by_label)
    assert lo.solve(problem).value == pytest.approx(0.691103594, abs=5e-10)
    with refused("unknown-label"):
        lo.Problem({"a": 5, "b": 3, "d": 2}, GAIN, by_label)
    with refused("entries"):
        lo.Problem([0.5, 0.5], "identity", lo.PML(0.5, PRIORS[0]))


def test_answers_of_probability_0_are_protected():
    notion = lo.PML(0.5, {"a": 1, "b": 1, "c": 0})
    assert notion.audit(lo.Mechanism(np.eye(3), "abc", "abc")).epsilon == math.inf
    assert any("probability 0" in note for note in notion.notes(tuple("abc")))


@pytest.mark.parametrize(
    ("rule", "best"), [("own", 0.494632952), ("min", 0.412180318), ("mean", 0.611297012)]
)
def test_budgets_of_answers(rule, best):
    notion = lo.PairwiseLDP.of_answers(BUDGETS, rule)
    assert value(notion, [0.25] * 4) == pytest.approx(best, abs=5e-10)


def test_a_chain_through_a_sensitive_answer_is_told():
    by_minimum = lo.PairwiseLDP.of_answers(BUDGETS, "min")
    (note,) = by_minimum.notes(range(4))
    assert "through answer 0" in note
    assert " at 1 in place of 2" in note
    assert lo.PairwiseLDP.of_answers(BUDGETS, "own").notes(range(4)) == ()


def test_directions_of_a_pair_differ():
    notion = lo.PairwiseLDP({("ill", "well"): "log(2)", ("well", "ill"): "log(8)"})
    tight = lo.Mechanism([[0.5, 0.5], [0.25, 0.75]], ["ill", "well"])
    assert notion.audit(tight).verdict == "certified"
    turned = lo.Mechanism([[0.25, 0.75], [0.5, 0.5]], ["ill", "well"])
    assert notion.audit(turned).verdict == "certified"
    over = notion.audit(lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["ill", "well"]))
    assert over.verdict == "violated"
    assert over.witness == ("ill", "well", "ill")
    assert over.epsilon == pytest.approx(math.log(3))


def test_one_direction_may_be_free():
    notion = lo.PairwiseLDP([[None, math.inf], ["log(2)", None]])
    assert len(notion.entries) == 1
    answer = lo.solve(lo.Problem([0.5, 0.5], "identity", notion))
    assert answer.value == pytest.approx(0.75)
    assert answer.mechanism.channel == pytest.approx(np.array([[0.5, 0.5], [0.0, 1.0]]))


def test_secrets():
    notion = lo.Secrets(0.5, SECRETS)
    assert value(notion, [0.4, 0.3, 0.2, 0.1]) == pytest.approx(0.839215972, abs=5e-10)
    one_way = lo.Secrets(0.5, SECRETS, pairs=[("ill", "well")])
    assert value(one_way, [0.4, 0.3, 0.2, 0.1]) > 0.8393
    found = one_way.audit(np.eye(4))
    assert found.verdict == "violated"
    assert found.witness == ("ill", "well", 0)
    assert found.epsilon == pytest.approx(math.log(6))


def test_a_cone_of_the_same_bounds_is_the_same_notion():
    prior = dict(zip("abc", PRIORS[0], strict=True))
    bounds = [lo.OddsBound({x: 1}, prior, 0.5) for x in "abc"]
    cone = lo.ColumnCone(bounds)
    assert value(cone, prior, GAIN) == pytest.approx(0.691103594, abs=5e-10)
    assert cone.comparisons("abc").over == lo.PML(0.5, prior).comparisons("abc").over
    with refused("unknown-label"):
        lo.Problem({"a": 1, "b": 2}, "identity", cone)


def test_several_notions_at_once():
    both = lo.PureLDP(1.5) & lo.PML(0.7, PRIORS[0])
    three = both & lo.InformationPrivacy(0.6, PRIORS[0])
    assert isinstance(three, Intersection)
    assert len(three.notions) == 3
    each = [value(part, PRIORS[0], GAIN) for part in three.notions]
    assert value(three, PRIORS[0], GAIN) <= min(each)
    assert value(lo.PureLDP(1.0) & lo.PureLDP(2.0), PRIORS[0]) == pytest.approx(0.584846863)
    with pytest.raises(TypeError):
        lo.PureLDP(1.0) & 2.0  # type: ignore[operator]
    with refused("few-notions"):
        Intersection([lo.PureLDP(1.0)])


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: lo.PML(0.0), "zero-epsilon"),
        (lambda: lo.PML(1.0, [0.5, 0.4]), "sum"),
        (lambda: lo.PML(1.0, {"a": 0, "b": 0}), "zero-weights"),
        (lambda: lo.PML(1.0, {"a": -1, "b": 2}), "rational"),
        (lambda: lo.PML(1.0, "ab"), "distribution"),
        (lambda: lo.PML(1.0, []), "distribution"),
        (lambda: lo.InformationPrivacy(1.0, [math.nan, 1.0]), "rational"),
        (lambda: lo.Secrets(1.0, {"ill": [1.0, 0.0]}), "few-secrets"),
        (lambda: lo.Secrets(1.0, [[1.0, 0.0]]), "secret-table"),
        (lambda: lo.Secrets(1.0, SECRETS, pairs=[("ill", "ill")]), "secret-pair"),
        (lambda: lo.Secrets(1.0, SECRETS, pairs=[("ill", "sick")]), "unknown-secret"),
        (lambda: lo.Secrets(1.0, {"a": [0.5, 0.6], "b": [0.5, 0.5]}), "sum"),
        (lambda: lo.PairwiseLDP({("a", "a"): 1.0}), "answer-pair"),
        (lambda: lo.PairwiseLDP({("a", "b"): None}), "no-pairs"),
        (lambda: lo.PairwiseLDP([[0, 1, 2], [1, 0, 2]]), "table"),
        (lambda: lo.PairwiseLDP([[0, 0.0], [1, 0]]), "zero-epsilon"),
        (lambda: lo.PairwiseLDP([[0, math.nan], [1, 0]]), "epsilon"),
        (lambda: lo.PairwiseLDP.of_answers({"a": 1}), "answer-budgets"),
        (lambda: lo.PairwiseLDP.of_answers({"a": 1, "b": 2}, "max"), "choice"),
        (lambda: lo.ColumnCone([]), "no-bounds"),
        (lambda: lo.ColumnCone([({"a": 1}, {"b": 1}, 1)]), "odds-bound"),
        (lambda: lo.OddsBound([1.0], {"a": 1}, 1.0), "unlabelled"),
        (lambda: lo.OddsBound({"a": 1}, {"a": 1}, 0), "zero-epsilon"),
    ],
)
def test_what_is_no_notion_is_refused(build, code):
    with refused(code):
        build()


def test_numbers_are_the_decimals_that_are_written():
    notion = lo.Secrets(1.0, {"a": [0.6, 0.2, 0.1, 0.1], "b": ["1/3", "1/3", "1/6", "1/6"]})
    assert notion.comparisons(range(4)).over[0][1] == Fraction(1, 5)
    assert notion.comparisons(range(4)).under[0][0] == Fraction(1, 3)
    thirds = lo.PML(1.0, [1 / 3, 1 / 3, 1 / 3])
    assert sum(thirds.weights(range(3))) == 1


def test_a_budget_too_small_for_the_grid_has_equal_rows():
    answer = lo.solve(lo.Problem(PRIORS[0], GAIN, lo.PML("1e-30")))
    assert (answer.mechanism.channel == answer.mechanism.channel[0]).all()
    assert answer.mechanism.audit(lo.PML("1e-30", PRIORS[0])).verdict == "certified"


def test_repr_reads_as_what_it_is():
    for notion in (lo.PML(1.0, {"a": 1, "b": 3}), lo.PML("log(3)"), lo.InformationPrivacy(0.5)):
        assert eval(repr(notion), {"PML": lo.PML, "InformationPrivacy": lo.InformationPrivacy}) == (
            notion
        )
    with pytest.raises(StatementError):
        lo.PML("log(1/2)")
