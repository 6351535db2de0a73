"""Certificates of curves: the library and the independent checker accept true files, and refuse
every false change."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import ldpopt as lo
import ldpopt_check as checker
from builders import refused, thorough_or
from ldpopt.accounting import CurveCertificate, compose, permanent, shuffled
from tampering import account_tamperings, with_digest


def response(n, epsilon):
    return lo.closed_forms.top_k(np.full(n, 1 / n), epsilon).mechanism


def random_channel(seed, n, m):
    return lo.Mechanism(np.random.default_rng(seed).dirichlet(np.ones(m), n))


def one_sided():
    return compose([(lo.Mechanism([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]), 3)], pairs=[(0, 1)])


CURVES = {
    "waves": lambda: compose([(response(10, 0.5), 30)]),
    "no worst pair": lambda: compose([(random_channel(1, 3, 4), 2), random_channel(2, 2, 3)]),
    "one-sided": one_sided,
    "impossible reports": lambda: compose(
        [([[0.9999, 0.0001, 0.0], [0.0, 0.0001, 0.9999]], 1), response(3, 1.0)]
    ),
    "permanent": lambda: permanent(response(3, 2.0), response(3, 1.0), 4),
    "shuffled": lambda: shuffled(response(4, 1.0), thorough_or(6, 30)),
    "shuffled yes or no": lambda: shuffled(response(2, 1.0), thorough_or(12, 30)),
    "waves shuffled": lambda: compose([(shuffled(response(2, 1.0), thorough_or(6, 20)), 3)]),
    "one question": lambda: lo.Survey(
        {"a": response(2, 1.0), "b": lo.design(lo.Workload.frequencies(30), lo.PureLDP(1.0))},
        scheme="one_question",
    ).account(4),
}


def proved(name):
    curve = CURVES[name]()
    return (
        curve.prove(1e-4, 0.5)
        if name != "impossible reports"
        else CurveCertificate.of(curve, [1.0, 3.0])
    )


def verdicts(path, data):
    """Whether the library and the checker accept the file."""
    path.write_text(json.dumps(data))
    try:
        own = not CurveCertificate.load(path).recheck()
    except lo.errors.LdpoptError:
        own = False
    return own, checker.main([str(path)]) == 0


@pytest.mark.parametrize("name", CURVES)
def test_true_files_hold_and_smaller_deltas_do_not(tmp_path, name):
    path = tmp_path / "a.json"
    certificate = proved(name)
    certificate.save(path)
    data = json.loads(path.read_text())
    assert CurveCertificate.load(path).claims == certificate.claims
    assert verdicts(path, data) == (True, True)
    lower = copy.deepcopy(data)
    for claim in lower["claims"]:
        claim["delta"] = str(Fraction(claim["delta"]) * Fraction(98, 100))
    assert verdicts(path, with_digest(lower)) == (False, False)
    assert verdicts(path, lower) == (False, False)  # with the old digest, too


@pytest.mark.parametrize(
    "name", ["waves", "one-sided", "permanent", pytest.param("shuffled", marks=pytest.mark.long)]
)
def test_false_changes_are_refused_with_any_digest(tmp_path, name):
    path = tmp_path / "a.json"
    proved(name).save(path)
    for what, other, is_false in account_tamperings(json.loads(path.read_text())):
        assert verdicts(path, other) == (not is_false, not is_false), what


def test_ratios_of_the_file_only_cost_precision(tmp_path):
    """The checker interpolates at the ratios in the file: others prove a larger delta."""
    path = tmp_path / "a.json"
    proved("waves").save(path)
    data = json.loads(path.read_text())
    data["reports"][0]["ratios"] = ["1/2", "1", "9"]
    data["claims"] = [{"epsilon": 15.0, "delta": "1"}, {"epsilon": 1.0, "delta": "1"}]
    assert verdicts(path, with_digest(data)) == (True, True)
    data["claims"][0]["delta"] = "1/1000000000000"
    assert verdicts(path, with_digest(data))[1] is False


def test_the_fresh_layer_is_aligned_with_the_permanent_reports_by_label():
    rows = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    first = lo.Mechanism(rows, ["a", "b", "c"], ["x", "y", "z"])
    order = [2, 0, 1]
    fresh = lo.Mechanism(rows, first.outputs)
    expected = permanent(first, fresh, 5).delta(1.0)
    assert (
        expected
        == permanent(first, rows, 5).delta(1.0)
        != permanent(first, rows[order], 5).delta(1.0)
    )
    for other in (
        lo.Mechanism(rows[order], ["z", "x", "y"]),
        pd.DataFrame(rows, first.outputs).iloc[order],
    ):
        assert permanent(first, other, 5).delta(1.0) == expected
    with refused("next-input", lo.errors.MechanismError) as caught:
        permanent(first, lo.Mechanism(rows, ["x", "w", "z"]), 5)
    assert "'y'" in str(caught.value)


def test_memoised_reports_never_reveal_more_than_the_permanent_one():
    printed = {1: 0.7353, 2: 1.3250, 5: 1.9523, 10: 1.9997}
    for times, epsilon in printed.items():
        curve = permanent(response(2, 2.0), response(2, 1.0), times)
        assert curve.epsilon(0.0) == pytest.approx(epsilon, abs=5e-5)
        assert curve.is_attained
        # The number of yes reports is binomial under each permanent report.
        p = 1 / (1 + math.exp(-2))
        r = 1 / (1 + math.exp(-1))
        rows = [
            [math.comb(times, k) * q**k * (1 - q) ** (times - k) for k in range(times + 1)]
            for q in (r, 1 - r)
        ]
        first = [p * a + (1 - p) * b for a, b in zip(*rows, strict=True)]
        exact = sum(max(a - math.exp(0.4) * b, 0) for a, b in zip(first, first[::-1], strict=True))
        assert float(curve.delta(0.4)) == pytest.approx(exact, rel=1e-12)
        assert curve.delta_lower(0.4) == pytest.approx(exact, rel=1e-12)
    once = response(4, 2.0).then(response(4, 1.0))
    assert float(permanent(response(4, 2.0), response(4, 1.0), 1).delta(0.2)) == pytest.approx(
        float(compose([once]).delta(0.2)), rel=1e-12
    )


def test_budgets_add_up_along_the_edges_of_a_graph():
    graph = lo.GraphDP(0.5, __import__("networkx").path_graph(4))
    channel = lo.solve(lo.Problem([0.25] * 4, "identity", graph)).mechanism
    assert compose([(channel, 3)], pairs=graph).epsilon(0.0) <= 1.5 + 1e-12
    assert compose([channel], pairs=[(0, 3)]).epsilon(0.0) <= 1.5 + 1e-12  # three edges
    assert compose([channel], pairs=graph).epsilon(0.0) < compose([channel]).epsilon(0.0)


def test_the_account_of_a_survey():
    coin = response(2, 1.0)
    die = response(6, 1.0)
    assert lo.Survey({"a": coin, "b": die}).account(3).delta(1.0) == compose(
        [(coin, 3), (die, 3)]
    ).delta(1.0)
    one = lo.Survey({"a": coin, "b": die}, scheme="one_question").account()
    mean = (compose([coin]).delta(0.5) + compose([die]).delta(0.5)) / 2
    assert float(one.delta(0.5)) == pytest.approx(float(mean), rel=1e-12)
    assert (
        lo.Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=2.0, scheme="joint")
        .account()
        .epsilon(0)
        <= 2 + 1e-9
    )
    shuffle = lo.Survey({"a": coin}).account(people=40)
    assert shuffle.delta(0.3) >= shuffled(coin, 40).delta(0.3)
    with pytest.raises(lo.errors.StatementError, match="drawn"):
        lo.Survey({"a": coin, "b": die}, scheme="one_question").account(people=100)


def test_waves_of_a_survey_keep_their_promise(tmp_path):
    path = tmp_path / "s.toml"
    text = "waves = {{ count = 12, epsilon = 4.0, delta = {} }}\n[question.a]\nlabels = [{}]\n"
    labels = ", ".join(f'"{k}"' for k in range(10))
    path.write_text(text.format("1e-6", labels))
    survey = lo.Survey.from_toml(path)
    assert survey.account(12).delta(4.0) <= Fraction(1e-6)
    assert 0.355 < survey.epsilon < 0.375  # 4 / 12 without accounting
    path.write_text(text.format("0.0", labels))
    assert lo.Survey.from_toml(path).epsilon == pytest.approx(1 / 3)
    path.write_text("epsilon = 1.0\n" + text.format("0.0", labels))
    with pytest.raises(lo.errors.ModelFileError, match="epsilon"):
        lo.Survey.from_toml(path)


@pytest.mark.parametrize(
    "call",
    [
        lambda: permanent(response(2, 1.0), response(3, 1.0), 2),
        lambda: permanent(response(10, 1.0), response(10, 1.0), 30),
        lambda: compose([([[1.0, 0.0], [0.0, 1.0]], 1)]).prove(1e-6),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(lo.errors.StatementError):
        call()


MANY = {
    "10 000": lambda: compose([(response(10, 0.5), 10_000)]),
    "a million": lambda: compose([(response(10, 0.5), 1_000_000)]),
    "two kinds": lambda: compose([(response(2, 0.3), 4000), (response(7, 0.45), 3000)]),
    "off a lattice": lambda: compose([(random_channel(4, 2, 4), 400)], pairs=[(0, 1)]),
}
SHORT = ("10 000", "two kinds")
"""Those that are checked in the usual set, too."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name not in SHORT)) for name in MANY],
)
def test_forged_accounts_of_many_reports_are_refused(tmp_path, name):
    path = tmp_path / "a.json"
    curve = MANY[name]()
    curve.prove(1e-6).save(path)
    data = json.loads(path.read_text())
    assert verdicts(path, data) == (True, True)
    epsilon = data["claims"][-1]["epsilon"]
    assert epsilon == curve.epsilon(1e-6)

    def forged(change):
        other = copy.deepcopy(data)
        change(other)
        return verdicts(path, with_digest(other)), verdicts(path, {**other})

    claim = data["claims"][-1]
    smaller = str(Fraction(claim["delta"]) * Fraction(995, 1000))
    rows = [row[-1:] + row[:-1] for row in data["reports"][0]["masses"]]
    sharper = [[int(entry) for entry in row] for row in data["reports"][0]["masses"]]
    for row in sharper:
        top = max(row)
        row[row.index(top)] += min(row) // 50
        row[row.index(min(row))] -= min(row) // 50
    no = (False, False)
    assert forged(lambda d: d["claims"][-1].update(delta=smaller)) == (no, no)
    if name == "off a lattice":  # each check of it takes ten seconds
        return
    assert forged(lambda d: d["claims"][-1].update(epsilon=epsilon * 0.9995)) == (no, no)
    more = data["reports"][0]["times"] + 1 + data["reports"][0]["times"] // 100
    assert forged(lambda d: d["reports"][0].update(times=more)) == (no, no)
    assert forged(lambda d: d["reports"][0].update(masses=sharper)) == (no, no)
    assert verdicts(path, {**data, "digest": "0" * 64}) == no
    # fewer reports reveal less, and so does the same channel with its columns in another order
    assert forged(lambda d: d["reports"][0].update(masses=rows)) == ((True, True), no)


def test_more_repetitions_than_a_certificate_proves_are_refused():
    with refused("many-repetitions"):
        compose([(response(2, 0.1), 1 << 20)]).prove(1e-6)


@pytest.mark.long
def test_a_curve_with_more_levels_claims_what_the_usual_number_proves(tmp_path):
    path = tmp_path / "a.json"
    channel = random_channel(4, 2, 4)
    curve = compose([(channel, 60)], pairs=[(0, 1)], levels=1 << 17)
    curve.prove(1e-6).save(path)
    assert verdicts(path, json.loads(path.read_text())) == (True, True)
    few = compose([(channel, 60)], pairs=[(0, 1)], levels=64)
    with pytest.warns(UserWarning, match="upper bound"):
        few.prove(1e-6).save(path)
    assert verdicts(path, json.loads(path.read_text())) == (True, True)
