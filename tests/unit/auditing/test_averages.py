"""Audits of averages against their definitions, in rationals and by another list of bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.auditing.averages import Odds, average_odds
from ldpopt.foundation.budget import Budget

PRIOR = {"a": 4, "b": 3, "c": 2, "d": 1}
LABELS = tuple(PRIOR)


def random_mechanism(rng):
    channel = rng.dirichlet(np.ones(4) * rng.choice([0.3, 2, 20]), 4)
    share = rng.random()
    return lo.Mechanism(share * channel + (1 - share) * channel.mean(axis=0), LABELS, LABELS)


def ratio_of(mechanism, pairs):
    """The largest ratio of two averages of rows over the reports, in rationals."""
    rows = [[Fraction(int(v), mechanism.denominator) for v in row] for row in mechanism.masses]
    worst = Fraction(1)
    for over, under in pairs:
        for column in zip(*rows, strict=True):
            above = sum(w * v for w, v in zip(over, column, strict=True))
            below = sum(w * v for w, v in zip(under, column, strict=True))
            if above > worst * below:
                if not below:
                    return math.inf
                worst = above / below
    return worst


def unit(x):
    return [Fraction(int(k == x)) for k in range(4)]


MEAN = [Fraction(w, 10) for w in PRIOR.values()]
ROWS = ([Fraction(k, 10) for k in (6, 2, 1, 1)], [Fraction(k, 10) for k in (1, 2, 3, 4)])
CASES = {
    "leakage": (lambda e: lo.PML(e, PRIOR), [(unit(x), MEAN) for x in range(4)]),
    "information": (
        lambda e: lo.InformationPrivacy(e, PRIOR),
        [pair for x in range(4) for pair in ((unit(x), MEAN), (MEAN, unit(x)))],
    ),
    "secrets": (
        lambda e: lo.Secrets(e, {"s": [0.6, 0.2, 0.1, 0.1], "t": [0.1, 0.2, 0.3, 0.4]}),
        [ROWS, ROWS[::-1]],
    ),
    "pairs": (
        lambda e: lo.PairwiseLDP({("a", "b"): e, ("b", "a"): e, ("c", "d"): e, ("d", "a"): e}),
        [(unit(0), unit(1)), (unit(1), unit(0)), (unit(2), unit(3)), (unit(3), unit(0))],
    ),
    "cone": (
        lambda e: lo.ColumnCone(
            [lo.OddsBound({"a": 1}, PRIOR, e), lo.OddsBound(PRIOR, {"d": 2}, e)]
        ),
        [(unit(0), MEAN), (MEAN, unit(3))],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_epsilon_is_the_log_of_the_largest_ratio(name):
    make, pairs = CASES[name]
    rng = np.random.default_rng(1)
    for _ in range(40):
        mechanism = random_mechanism(rng)
        worst = ratio_of(mechanism, pairs)
        found = make(1.0).audit(mechanism)
        exact = math.log1p(worst - 1)
        assert exact * (1 - 1e-15) <= found.epsilon <= exact * (1 + 1e-12)
        if worst > 1:
            assert make(f"log({worst})").audit(mechanism).verdict == "certified"
            below = f"log({worst - (worst - 1) / 10**9})"
            assert make(below).audit(mechanism).verdict == "violated"


@pytest.mark.parametrize("name", CASES)
def test_a_named_notion_is_audited_as_the_cone_of_its_comparisons(name):
    make, _ = CASES[name]
    rng = np.random.default_rng(2)
    comparisons = make(0.7).comparisons(LABELS)
    bounds = [
        lo.OddsBound(
            {LABELS[x]: w for x, w in over.items()}, {LABELS[x]: w for x, w in under.items()}, 0.7
        )
        for over, under in zip(comparisons.over, comparisons.under, strict=True)
    ]
    for _ in range(40):
        mechanism = random_mechanism(rng)
        named, listed = make(0.7).audit(mechanism), lo.ColumnCone(bounds).audit(mechanism)
        assert (named.verdict, named.epsilon, named.delta) == (
            listed.verdict,
            listed.epsilon,
            listed.delta,
        )
        assert named.delta_at(0.3) == listed.delta_at(0.3)


def test_delta_is_the_excess_over_an_average():
    found = lo.PML("log(3/2)", [0.5, 0.5]).audit([[0.9, 0.1], [0.3, 0.7]])
    # 0.7 - 1.5 * 0.4 for the second answer, 0.9 - 1.5 * 0.6 for the first
    assert found.verdict == "violated"
    assert found.delta == pytest.approx(0.1)
    assert found.witness == (1, "everyone", 1)
    assert found.epsilon == pytest.approx(math.log(0.7 / 0.4))
    assert found.delta_at(0.0) == pytest.approx(0.3)


def test_the_witness_of_a_claim_that_fails_exceeds_its_budget_most():
    notion = lo.PairwiseLDP({("a", "b"): 3.0, ("b", "a"): "log(3/2)"})
    found = notion.audit(lo.Mechanism([[0.8, 0.2], [0.2, 0.8]], ["a", "b"]))
    assert found.verdict == "violated"
    assert found.witness[:2] == ("b", "a")


def test_an_impossible_report_has_no_bound():
    found = lo.PML(1.0, {"a": 1, "b": 0}).audit(lo.Mechanism(np.eye(2), ["a", "b"], ["u", "v"]))
    assert found.epsilon == math.inf
    assert found.verdict == "violated"
    assert found.witness == ("b", "everyone", "v")


def test_equal_rows_have_no_witness():
    found = lo.InformationPrivacy(1.0, PRIOR).audit(lo.Mechanism(np.full((4, 4), 0.25), LABELS))
    assert (found.epsilon, found.delta, found.witness) == (0.0, 0.0, None)


def test_no_pair_of_averages_is_certified():
    found = average_odds([], [], "nothing")
    assert (found.epsilon, found.verdict) == (0.0, "certified")
    pair = Odds([3, 1], [1, 3], 4, Budget("log(3)"), ("s", "t"))
    assert average_odds([pair], ["u", "v"], "one").verdict == "certified"
