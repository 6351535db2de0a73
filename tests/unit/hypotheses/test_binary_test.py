"""Tests of two distributions: people beside numbers computed apart, level and power by enumeration,
p-values beside the law of all samples, labels and refusals.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import StatementError
from ldpopt.hypotheses import BinaryTest, best


def tilted(n: int, how: str = "tilt") -> tuple[Any, Any]:
    """The uniform distribution, and one with tilted odds or one answer 1.5 times as common."""
    x = np.linspace(-1, 1, n)
    first = np.full(n, 1 / n)
    second = first * (np.exp(0.3 * x) if how == "tilt" else 1 + 0.5 * (x == 1))
    return first, second / second.sum()


@pytest.mark.parametrize(
    ("n", "how", "epsilon", "formula", "people"),
    [
        (10, "tilt", 1.0, 1467, 1485),
        (10, "tilt", 2.0, 538, 548),
        (4, "tilt", 1.0, 1026, 1032),
        (4, "tilt", 2.0, 376, 377),
        (10, "one answer", 1.0, 4779, 4796),
    ],
)
def test_people_are_those_that_were_computed_apart(
    n: int, how: str, epsilon: float, formula: int, people: int
) -> None:
    test = best(*tilted(n, how), epsilon)
    assert math.ceil(test._start(0.05, 0.9)) == formula
    assert test.people(0.05, 0.9) == people


def binomial_tail(people: int, chance: Fraction, least: int) -> Fraction:
    """The probability of at least so many ones, in rationals."""
    p, q = chance.numerator, chance.denominator - chance.numerator
    terms = (math.comb(people, k) * p**k * q ** (people - k) for k in range(least, people + 1))
    return Fraction(sum(terms), chance.denominator**people)


@pytest.mark.parametrize("case", range(20))
def test_level_and_power_hold_by_enumeration(case: int) -> None:
    rng = np.random.default_rng(case)
    n = int(rng.integers(2, 8))
    first, second = rng.dirichlet(np.full(n, 2.0), 2)
    test = best(first, second, float(rng.uniform(1.0, 3.0)))
    level = float(rng.choice([0.01, 0.05, 0.2]))
    power = float(rng.choice([0.5, 0.8, 0.95]))
    people = test.people(level, power)
    law = test.scores.law(people)
    least = law.critical(level)
    if len(law.first) > 2:
        simulated_power(test, people, least, level, power)
        return
    chances = [Fraction(float(masses[1])) for masses in (law.first, law.second)]
    reached = [binomial_tail(people, chance.limit_denominator(2**60), least) for chance in chances]
    assert reached[0] <= level
    assert reached[1] >= power
    # one report fewer would be rejected too often
    assert binomial_tail(people, chances[0].limit_denominator(2**60), least - 1) > level


def simulated_power(test: BinaryTest, people: int, least: int, level: float, power: float) -> None:
    """Level and power of a test of more than two ratios, within five standard errors."""
    rng = np.random.default_rng(0)
    scores = test.scores.whole(people)
    repeats = 4000
    shares = [
        (rng.multinomial(people, masses / masses.sum(), repeats) @ scores >= least).mean()
        for masses in (test.scores.first, test.scores.second)
    ]
    assert shares[0] <= level + 5 * math.sqrt(level / repeats)
    assert shares[1] >= power - 5 * math.sqrt((1 - power) / repeats)


@pytest.mark.parametrize("case", range(12))
def test_p_values_are_those_of_all_samples(case: int) -> None:
    rng = np.random.default_rng(case)
    m = int(rng.integers(2, 5))
    people = int(rng.integers(1, 6))
    channel = rng.dirichlet(np.ones(m), 3)
    first, second = rng.dirichlet(np.ones(3), 2)
    test = BinaryTest.of(lo.Mechanism(channel), first, second)
    scores = test.scores.whole(people)
    samples = list(itertools.product(range(m), repeat=people))
    chance = np.array([np.prod(test.scores.first[list(sample)]) for sample in samples])
    sums = scores[np.array(samples)].sum(axis=1)
    for sample, total in zip(
        samples[:: max(1, len(samples) // 40)], sums[:: max(1, len(samples) // 40)], strict=True
    ):
        counts = {y: sample.count(y) for y in range(m)}
        result = test.test(counts, level=0.3)
        right = chance[sums >= total].sum()
        assert right - 1e-12 <= result.p_value <= right + 1e-9
        assert result.is_significant == (total >= test.scores.law(people).critical(0.3))
        ratio = sum(math.log((second @ channel)[y] / (first @ channel)[y]) for y in sample)
        assert result.statistic == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize("people", [1, 7, 300])
def test_the_window_has_the_binomial_law(people: int) -> None:
    from ldpopt.hypotheses.scores import BinomialTail, WindowTail

    law = np.array([0.7, 0.3])
    exact = BinomialTail(people, law)
    window = WindowTail.of(people, law)
    for total in range(-1, people + 3):
        assert window.at(total) == pytest.approx(exact.at(total), abs=1e-12)
    assert window.first_below(0.05) == exact.first_below(0.05)


def test_the_mechanism_is_private_and_no_other_has_a_larger_divergence() -> None:
    test = best(*tilted(6), "log(3)")
    assert test.mechanism.audit().epsilon <= math.log(3) * (1 + 1e-12)
    assert test.optimum is not None
    assert 0 <= float(test.bound) - test.optimum.value <= 1e-12  # type: ignore[arg-type]
    others = [
        lo.frequencies.RandomizedResponse(6, "log(3)").mechanism,
        lo.design(lo.Workload.frequencies(6), lo.PureLDP("log(3)")).mechanism,
    ]
    for other in others:
        assert BinaryTest.of(other, *tilted(6)).people() > test.people()


def test_other_notions_than_pure_privacy() -> None:
    notion = lo.GraphDP("log(3)", nx.path_graph(["a", "b", "c"]))
    test = best({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.2, "b": 0.3, "c": 0.5}, notion)
    assert test.mechanism.audit(notion).verdict == "certified"
    pure = best({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.2, "b": 0.3, "c": 0.5}, "log(3)")
    assert test.people() < pure.people()


def test_labels_decide() -> None:
    ordered = best({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.2, "b": 0.3, "c": 0.5}, 1.0)
    other = best({"a": 0.5, "b": 0.3, "c": 0.2}, {"c": 0.5, "a": 0.2, "b": 0.3}, 1.0)
    assert ordered.people() == other.people()
    channel = dict(zip(ordered.mechanism.inputs, ordered.mechanism.channel.tolist(), strict=True))
    turned = lo.Mechanism([channel["c"], channel["a"], channel["b"]], ["c", "a", "b"])
    same = BinaryTest.of(turned, {"b": 0.3, "c": 0.2, "a": 0.5}, {"a": 0.2, "c": 0.5, "b": 0.3})
    assert same.people() == ordered.people()
    with refused("unknown-label"):
        best({"a": 0.5, "b": 0.5}, {"a": 0.5, "c": 0.5}, 1.0)


def test_reports_that_only_one_distribution_gives_decide() -> None:
    test = BinaryTest.of(lo.Mechanism(np.eye(3)), [0.5, 0.5, 0.0], [0.2, 0.4, 0.4])
    result = test.test({0: 1, 1: 1, 2: 1})
    assert result.statistic == math.inf
    assert result.p_value < 1e-8
    assert test.test({0: 5, 1: 5}).p_value > 0.05


def test_more_people_have_more_power() -> None:
    test = best(*tilted(10), 4.0)  # reports of several ratios
    assert len(test.scores.levels) > 2
    powers = [test.power(people) for people in (50, 100, 200, 400)]
    assert powers == sorted(powers)
    assert test.power(test.people(0.05, 0.9)) >= 0.9


def test_what_is_refused() -> None:
    with refused("same-distributions"):
        best([0.5, 0.5], [0.5, 0.5], 1.0)
    with refused("hypotheses"):
        best([0.5, 0.5], [0.5, 0.25, 0.25], 1.0)
    with refused("choice"):
        best([0.5, 0.5], [0.4, 0.6], 1.0, kind="renyi")  # type: ignore[arg-type]
    with refused("same-hypotheses"):
        BinaryTest.of(lo.Mechanism([[0.5, 0.5], [0.5, 0.5]]), [0.5, 0.5], [0.4, 0.6])
    test = best([0.5, 0.5], [0.4, 0.6], 1.0)
    with refused("power"):
        test.people(0.5, 0.4)
    with refused("people"):
        best([0.5, 0.5], [0.5 - 1e-6, 0.5 + 1e-6], 0.01).people()
    with refused("no-reports"):
        test.test({0: 0, 1: 0})
    weighted = lo.Counts.of(test.mechanism, [0, 1, 1], weights=[1.0, 2.0, 3.0])
    with refused("weights"):
        test.test(weighted)
    with pytest.raises(StatementError):
        test.test({"no": 3})


@pytest.mark.parametrize(
    ("level", "power"),
    [
        pytest.param(1e-300, 0.9, marks=pytest.mark.long),
        (1e-16, 0.9),
        (0.05, 1 - 1e-12),
        (0.05, 1 - 2.0**-53),
    ],
)
def test_levels_near_0_and_powers_near_1_have_their_people(level: float, power: float) -> None:
    """Two ratios: by sums of binomial terms in integers, at the people found and with one less."""
    test = best([0.9, 0.1], [0.1, 0.9], 3.0)
    people = test.people(level, power)
    law = test.scores.law(1)
    first, second = (Fraction(float(masses[1])) for masses in (law.first, law.second))

    def terms(chance: Fraction) -> list[int]:
        """The probabilities of each number of ones, times the denominator to the power people."""
        one, other = chance.numerator, chance.denominator - chance.numerator
        return [math.comb(people, k) * one**k * other ** (people - k) for k in range(people + 1)]

    tails = list(itertools.accumulate(reversed(terms(first))))  # from the top down
    rare = [tail <= Fraction(level) * first.denominator**people for tail in tails]
    critical = people - sum(rare) + 1
    missed = Fraction(sum(terms(second)[:critical]), second.denominator**people)
    assert missed <= 1 - Fraction(power)
    found = test.power(people, level)
    assert Fraction(found) <= 1 - missed
    assert 1 - found == pytest.approx(float(missed), rel=1e-6, abs=2.0**-52)


def test_shares_below_the_rounding_of_the_law_are_refused() -> None:
    """Several ratios: the law of the sum is known to so many digits, and no more people help."""
    test = best([0.5, 0.3, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5], 5.0)
    assert len(test.scores.levels) > 2
    for level, power in ((1e-300, 0.9), (0.05, 1 - 1e-15)):
        with refused("rounding"):
            test.people(level, power)
    assert test.power(test.people(1e-9, 0.99), 1e-9) >= 0.99


def test_hypotheses_that_hardly_differ_are_shown_and_have_no_sequential_test() -> None:
    test = best([0.5, 0.5], [0.5 + 1e-12, 0.5 - 1e-12], 1.0)
    shown = dict(part for part in test.facts().parts if isinstance(part, tuple))
    # 4 (z + z)^2 / (2 d tanh(epsilon / 2))^2 / 4, with d = 1e-12
    right = 8.5638 / (2e-12 * math.tanh(0.5)) ** 2
    assert float(shown["people, level 5 %, power 90 %"].removeprefix("about ")) == pytest.approx(
        right, rel=0.01
    )
    with refused("people"):
        test.sequential()


def test_facts_and_the_printed_form() -> None:
    test = best(*tilted(4), 1.0)
    text = str(test.facts())
    assert "1,032" in text or "1032" in text
    assert repr(test).startswith("BinaryTest(4 answers")
    assert "rejected" in str(test.test({0: 10, 1: 400}).facts())
