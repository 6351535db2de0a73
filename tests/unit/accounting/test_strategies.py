"""People who choose answers, and what is asked next, by earlier reports: every strategy listed, in
rationals, and figures of another calculation."""

from __future__ import annotations

import itertools
import math
from copy import deepcopy
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
import ldpopt_check
from builders import cases, refused
from ldpopt import plotting
from ldpopt.accounting import CurveCertificate, compose, permanent, strategies
from ldpopt.accounting.privacy_loss import OneOf
from ldpopt.certificate.documents import digest_of, text_of

COIN = [[0.9, 0.1], [0.5, 0.5]]
THREE = [[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.2, 0.2, 0.6]]


def channel(rng, n, m, zeros):
    counts = rng.multinomial(20, np.ones(m) / m, size=n)
    while not zeros and counts.min() == 0:
        counts = rng.multinomial(20, np.ones(m) / m, size=n)
    return lo.Mechanism(counts / 20)


def rows(mechanism):
    return tuple(tuple(Fraction(int(p), 1 << 53) for p in row) for row in mechanism.counts)


def pairs_of(table):
    return list(itertools.permutations(range(len(table)), 2))


@cache
def laws(tables, pairs):
    """The law of all reports under both answers, of every strategy for questions in this order."""
    if not tables:
        return [((Fraction(1), Fraction(1)),)]
    table, *others = tables
    later = laws(tuple(others), pairs)
    found = set()
    for x, z in pairs or pairs_of(table):
        for chosen in itertools.product(later, repeat=len(table[0])):
            law = []
            for p, q, after in zip(table[x], table[z], chosen, strict=True):
                law += [(p * r, q * s) for r, s in after if p * r]
            found.add(tuple(sorted(law)))
    return sorted(found)


def largest(all_laws, a):
    return max(sum(max(p - a * q, 0) for p, q in law) for law in all_laws)


def of_any_next(tables, a, pairs=None):
    """The largest excess of people who choose the next question and both answers by reports."""
    if not tables:
        return max(1 - a, Fraction(0))
    best = Fraction(0)
    for i, table in enumerate(tables):
        others = tables[:i] + tables[i + 1 :]
        for x, z in pairs or pairs_of(table):
            total = Fraction(0)
            for p, q in zip(table[x], table[z], strict=True):
                if p:
                    total += p * of_any_next(others, a * q / p, pairs)
            best = max(best, total)
    return best


@cases(60)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_every_strategy_is_between_the_bounds(seed, zeros, is_three):
    rng = np.random.default_rng(seed)
    shapes = [(2, 2)] if is_three else [(2, 2), (2, 3), (3, 2), (2, 4)]
    n, m = shapes[int(rng.integers(len(shapes)))]
    reports = 3 if is_three else 2
    one = channel(rng, n, m, zeros)
    listed = laws((rows(one),) * reports, None)
    curve = compose([one], group=reports) if seed % 2 else compose([(one, reports)])
    assert curve.is_attained
    for epsilon in (0.0, 0.2, 0.7, 1.4, 3.4):
        low, high = lo.Budget(epsilon).enclosure()
        right = largest(listed, low)
        assert curve.delta(epsilon) >= right >= curve.delta_lower(epsilon)
        assert float(curve.delta(epsilon)) == pytest.approx(float(right), rel=1e-12, abs=1e-15)
        assert curve.delta_lower(epsilon) == pytest.approx(
            float(largest(listed, high)), rel=1e-12, abs=1e-15
        )
    right = (1 + largest(listed, Fraction(1))) / 2
    assert right - Fraction(1, 2**53) <= curve.guess() <= right + Fraction(1, 2**50)


@cases(60)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_any_channel_may_be_next(seed, zeros, one_sided):
    rng = np.random.default_rng(seed)
    kinds = [channel(rng, 2, int(rng.integers(2, 4)), zeros) for _ in range(2)]
    listed = [(kinds[0], 1 + int(rng.integers(2))), (kinds[1], 1)]
    pairs = [(0, 1)] if one_sided else None
    tables = tuple(rows(one) for one, times in listed for _ in range(times))
    curves = [compose(order, pairs=pairs) for order in (listed, listed[::-1])]
    for epsilon in (0.0, 0.4, 1.1):
        low, high = lo.Budget(epsilon).enclosure()
        right = of_any_next(tables, low, pairs)
        for curve in curves:
            assert curve.delta(epsilon) >= right
            assert float(curve.delta(epsilon)) == pytest.approx(float(right), rel=1e-9, abs=1e-13)
            assert curve.delta_lower(epsilon) <= of_any_next(tables, high, pairs)
            assert curve.delta_lower(epsilon) == pytest.approx(float(right), rel=1e-9, abs=1e-13)


def test_a_channel_with_one_pair_is_asked_first_at_worst():
    rng = np.random.default_rng(5)
    for _ in range(10):
        coin = lo.Mechanism(COIN)
        share = float(rng.integers(11, 20)) / 20
        fair = lo.Mechanism([[share, 1 - share], [1 - share, share]])
        curve = compose([(coin, 2), fair])
        right = of_any_next((rows(coin), rows(coin), rows(fair)), Fraction(1))
        assert float(curve.delta(0.0)) == pytest.approx(float(right), rel=1e-12)
        assert curve.delta_lower(0.0) == pytest.approx(float(right), rel=1e-12)


def test_one_of_two_questions_is_drawn_and_known():
    one = compose([COIN]).sources[0][0]
    two = compose([THREE]).sources[0][0]
    curve = compose([(OneOf((one, two), is_attained=True), 2)])
    tables = rows(lo.Mechanism(COIN)), rows(lo.Mechanism(THREE))

    def left(times, a):
        if not times:
            return max(1 - a, Fraction(0))
        totals = []
        for table in tables:
            best = Fraction(0)
            for x, z in pairs_of(table):
                terms = zip(table[x], table[z], strict=True)
                best = max(best, sum(p * left(times - 1, a * q / p) for p, q in terms))
            totals.append(best)
        return sum(totals) / 2

    for epsilon in (0.0, 0.5, 1.3):
        right = float(left(2, lo.Budget(epsilon).enclosure()[0]))
        assert float(curve.delta(epsilon)) == pytest.approx(right, rel=1e-12)
        assert curve.delta_lower(epsilon) == pytest.approx(right, rel=1e-12)


def test_the_right_values_of_a_coin_for_one_answer():
    one = compose([COIN])
    assert one.guess() == pytest.approx(0.7, abs=1e-12)
    assert "right at most 70 of 100 times" in one.in_words
    certain_no = [[0.5, 0.5], [0.0, 1.0]]
    assert "right at most 75 of 100 times" in compose([certain_no]).in_words
    assert compose([(certain_no, 3)]).guess() == pytest.approx(0.9375, abs=1e-12)
    two = compose([(COIN, 2)])
    assert 0.4180746 <= two.delta(0.7) <= 0.4180747
    # another strategy for each first report reveals more than any two pairs that are fixed
    fixed = compose([(COIN, 2)], answers="fixed")
    assert float(two.delta("log(2)")) == pytest.approx(0.42, abs=1e-12)
    assert float(fixed.delta("log(2)")) == pytest.approx(0.37, abs=1e-12)
    assert float(fixed.delta(0.7)) == pytest.approx(0.367386985580, abs=1e-11)
    assert compose([(THREE, 2)]).delta(0.5) == pytest.approx(0.585127872930, abs=1e-11)


@pytest.mark.parametrize(
    ("times", "adaptive", "fixed"),
    [
        (20, 24.305886852, 24.251568),
        pytest.param(60, 56.138462959, 56.096041, marks=pytest.mark.long),
    ],
)
def test_reports_by_a_coin_for_one_answer(times, adaptive, fixed):
    curve = compose([(COIN, times)])
    found = curve.epsilon(1e-3)
    assert found == pytest.approx(adaptive, abs=1e-8)
    assert curve.delta_lower(found * (1 - 1e-9)) > 1e-3 >= curve.delta(found)
    assert curve.is_attained
    before = compose([(COIN, times)], answers="fixed")
    assert before.is_attained
    assert before.epsilon(1e-3) == pytest.approx(fixed, abs=1e-6)


def test_the_order_of_the_list_promises_nothing():
    one = [[0.4, 0.6], [0.5, 0.5]]
    two = [[0.2, 0.8], [0.05, 0.95]]
    for channels in ([one, two], [two, one]):
        curve = compose(channels)
        assert 0.225 - 1e-12 <= curve.delta(0.0) <= 0.22501
        assert curve.delta_lower(0.0) == pytest.approx(0.225, abs=1e-12)


def test_few_levels_are_looser_and_hold():
    right = compose([(COIN, 20)])
    rough = compose([(COIN, 20)], levels=32)
    assert right.epsilon(1e-3) < rough.epsilon(1e-3) < 1.01 * right.epsilon(1e-3)
    assert rough.delta_lower(24.0) < right.delta_lower(24.0) <= right.delta(24.0)


def test_many_different_channels_are_still_a_bound(monkeypatch):
    kinds = [COIN, [[0.4, 0.6], [0.5, 0.5]], [[0.2, 0.8], [0.05, 0.95]]]
    every = compose(kinds)
    monkeypatch.setattr(strategies, "MAX_TABLES", 4)
    apart = compose(kinds)
    assert not apart.is_attained
    for epsilon in (0.0, 0.5, 1.5):
        assert apart.delta(epsilon) >= every.delta(epsilon) * (1 - Fraction(1, 2**40))
        assert apart.delta_lower(epsilon) <= every.delta_lower(epsilon) * (1 + 1e-12)


@cases(60)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 3))
def test_answers_that_are_fixed_beforehand(seed, zeros, reports):
    rng = np.random.default_rng(seed)
    table = channel(rng, int(rng.integers(2, 4)), 2, zeros)
    curve = compose([(table, reports)], answers="fixed")
    listed = []
    for chosen in itertools.product(pairs_of(rows(table)), repeat=reports):
        law = [(Fraction(1), Fraction(1))]
        for x, z in chosen:
            both = list(zip(rows(table)[x], rows(table)[z], strict=True))
            law = [(p * r, q * s) for p, q in law for r, s in both]
        listed.append(law)
    for epsilon in (0.0, 0.6, 2.0):
        right = float(largest(listed, lo.Budget(epsilon).enclosure()[0]))
        assert float(curve.delta(epsilon)) == pytest.approx(right, rel=1e-9, abs=1e-13)
        assert curve.delta(epsilon) >= right * (1 - 1e-15)
        assert curve.delta_lower(epsilon) <= right * (1 + 1e-15)
        adaptive = compose([(table, reports)]).delta(epsilon)
        assert adaptive >= curve.delta(epsilon) * (1 - Fraction(1, 2**40))
    points = curve.tradeoff()
    assert (np.diff(points[:, 0]) >= -1e-12).all()
    assert (np.diff(points[:, 1]) <= 1e-12).all()


def test_a_curve_of_fixed_answers_says_so_wherever_it_is_shown(tmp_path, capsys):
    fixed = compose([(COIN, 5)], answers="fixed")
    adaptive = compose([(COIN, 5)])
    assert "on answers given before anybody saw a report" in fixed.in_words
    assert "before anybody" not in adaptive.in_words
    shown = dict(part for part in fixed.facts().parts if isinstance(part, tuple))
    assert shown["answers"].startswith("fixed:")
    assert "reveal more" in shown["answers"]
    shown = dict(part for part in adaptive.facts().parts if isinstance(part, tuple))
    assert shown["answers"].startswith("adaptive:")
    assert "fixed answers" in repr(fixed)
    assert "fixed" not in repr(adaptive)
    assert "on fixed answers" in plotting.privacy_curve(fixed, points=2).get_title()
    # one answer is fixed before its report: nothing is assumed
    assert "answers" not in dict(
        part for part in compose([COIN]).facts().parts if isinstance(part, tuple)
    )
    # a file claims what holds for every strategy, also if it is of a fixed curve
    path = tmp_path / "a.json"
    fixed.prove(0.1).save(path)
    read = CurveCertificate.load(path)
    assert read.recheck() == ()
    assert "chosen by earlier reports" in read.facts().text(400)
    epsilon, delta = read.claims[-1]
    assert epsilon == fixed.epsilon(0.1)
    assert delta >= adaptive.delta(epsilon) > 0.1
    assert ldpopt_check.main([str(path)]) == 0
    assert "chosen by earlier reports" in capsys.readouterr().out


def test_too_many_ways_to_answer_beforehand_are_refused():
    rng = np.random.default_rng(3)
    tables = [channel(rng, 3, 3, zeros=False) for _ in range(4)]
    with refused("combinations") as caught:
        compose([(table, 30) for table in tables], answers="fixed")
    assert "ways to take pairs of answers beforehand" in str(caught.value)
    with refused("choice"):
        compose([COIN], answers="later")


@pytest.mark.parametrize(
    "channels",
    [
        [(COIN, 5)],
        [(COIN, 2), (THREE, 2), [[0.75, 0.25], [0.25, 0.75]]],
        [([[0.5, 0.5], [0.0, 1.0]], 3)],
        [([[0.5, 0.25, 0.25], [0.125, 0.875, 0.0], [0.25, 0.25, 0.5]], 4)],
        [(permanent(COIN, [[0.75, 0.25], [0.25, 0.75]], 3), 2), (COIN, 1)],
    ],
    ids=["coin", "different", "one coin", "zeros", "permanent"],
)
def test_certificates_of_strategies(channels, tmp_path, capsys):
    import ldpopt_check

    curve = compose(channels)
    certain = float(curve.upper.certain)
    proof = curve.prove(*(certain + (1 - certain) * part for part in (0.7, 0.1, 1e-3)))
    path = tmp_path / "a.json"
    proof.save(path)
    assert CurveCertificate.load(path).recheck() == ()
    assert ldpopt_check.main([str(path)]) == 0
    assert "all reports together are" in capsys.readouterr().out
    kinds = [report["kind"] for report in proof.to_dict()["reports"]]
    assert kinds.count("strategies") == 1
    epsilon, delta = proof.claims[-1]
    assert delta <= curve.delta(epsilon) * (1 + Fraction(1, 10**5))
    assert math.isfinite(epsilon)


def test_forged_certificates_of_strategies_are_refused(tmp_path, capsys):
    import ldpopt_check

    curve = compose([(COIN, 2)])
    data = curve.prove(1e-2).to_dict()
    path = tmp_path / "a.json"

    def verdicts(changed):
        unsigned = {key: value for key, value in changed.items() if key != "digest"}
        path.write_text("".join(text_of({**unsigned, "digest": digest_of(unsigned)})))
        code = ldpopt_check.main([str(path)])
        capsys.readouterr()
        try:
            return code == 0, CurveCertificate.load(path).recheck() == ()
        except lo.errors.LdpoptError:
            return code == 0, False

    assert verdicts(data) == (True, True)
    smaller = deepcopy(data)
    smaller["claims"][1]["delta"] = str(Fraction(data["claims"][1]["delta"]) * Fraction(999, 1000))
    assert verdicts(smaller) == (False, False)
    # what people reveal whose answers are fixed is less
    fixed = deepcopy(data)
    delta = compose([(COIN, 2)], answers="fixed").delta(0.7)
    assert delta < Fraction(9, 10) * curve.delta(0.7)
    fixed["claims"][1] = {"epsilon": 0.7, "delta": str(delta)}
    assert verdicts(fixed) == (False, False)
    more = deepcopy(data)
    more["reports"][0]["sources"][0]["times"] = 3
    assert verdicts(more) == (False, False)
    inside = deepcopy(data)
    inside["reports"][0]["sources"] = [{"times": 1, **deepcopy(data["reports"][0])}]
    del inside["reports"][0]["sources"][0]["sources"]
    assert verdicts(inside) == (False, False)
    for key, wrong in (("levels", 0), ("levels", "many"), ("sources", [])):
        strange = deepcopy(data)
        strange["reports"][0][key] = wrong
        assert verdicts(strange) == (False, False)


@pytest.mark.parametrize("seed", [4, 7, 12, 18, 25, 28, 214])
def test_the_checker_finds_the_curve_of_two_channels_that_reveal_little(seed, tmp_path):
    """Their ratios are near 1, and pairs that differ there only are no group."""
    rng = np.random.default_rng(seed)
    masses = [rng.integers(1, 19, (2, int(rng.integers(2, 4)))) for _ in range(2)]
    kinds = [lo.Mechanism(each / each.sum(axis=1, keepdims=True)) for each in masses]
    curve = compose([(kinds[0], 2), kinds[1]])
    curve.prove(1e-2, 0.1).save(tmp_path / "account.json")
    assert ldpopt_check.main([str(tmp_path / "account.json")]) == 0


def test_a_third_choice_may_be_best_where_two_cross():
    first = lo.Mechanism([[0.5, 0.5], [0.3, 0.7]])
    second = lo.Mechanism([[0.65, 0.35], [0.5, 0.5]])
    curve = compose([(first, 2), second])
    low, _ = lo.Budget(0.4).enclosure()
    right = of_any_next((rows(first), rows(first), rows(second)), low)
    assert float(curve.delta(0.4)) == pytest.approx(float(right), rel=1e-12)
