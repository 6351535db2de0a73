"""Mechanisms of the caller beside the best design of their epsilon."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan, log

import networkx as nx
import numpy as np
import pytest

from builders import refused
from ldpopt import (
    GraphDP,
    Mechanism,
    PureLDP,
    ReportModel,
    Workload,
    compare_designs,
    design,
    plot,
    techniques,
)
from ldpopt.designing import literature
from ldpopt.designing.sentences import OWN
from ldpopt.errors import StatementError

SHARES = Workload.frequencies(["no", "yes"])
AT = {"no": 0.8, "yes": 0.2}
NAMED = {
    "warner": (techniques.warner("1/6"), Fraction(5)),
    "crosswise": (techniques.crosswise("1/6"), Fraction(5)),
    "triangular": (techniques.triangular("1/6"), None),
    "mangat": (techniques.mangat("7/10"), None),
    "two-stage": (techniques.two_stage("3/10", "7/10"), Fraction(79, 21)),
    "forced": (techniques.forced("1/6", "1/6"), Fraction(5)),
    "forced yes": (techniques.forced(0, "1/2"), None),
    "unrelated": (techniques.unrelated("7/10", "1/12"), Fraction(29)),
    "unrelated, even": (techniques.unrelated("2/3", "1/2"), Fraction(5)),
    "Kuk": (techniques.kuk("1/5", "4/5"), Fraction(4)),
    "Kuk, three": (techniques.kuk("1/5", "4/5", draws=3), Fraction(64)),
    "items": (techniques.item_count(["1/2"] * 4), None),
}


@pytest.fixture(autouse=True)
def _few_steps_of_the_longest_search(monkeypatch):
    """The literature takes the time of these tests, which are about other rows."""
    monkeypatch.setattr(literature, "STEPS", 10)


def people(channel, p):
    """Variance of the most likely share, times the number of people, by the information."""
    no, yes = channel
    seen = (1 - p) * no + p * yes
    return 1 / ((yes - no) ** 2 / np.where(seen > 0, seen, 1)).sum()


def least_total(channel, rows, p):
    """Least sum of variances of a person's unbiased values at the distribution ``p``."""
    q = p @ channel
    inverse = np.linalg.inv((channel / q) @ channel.T)
    values = rows @ inverse @ channel / q
    return float(q @ (values**2).sum(axis=0) - ((rows @ p) ** 2).sum())


def test_techniques_need_the_people_that_their_information_says() -> None:
    found = compare_designs(
        SHARES, PureLDP(1.0), weights=AT, others={k: v[0] for k, v in NAMED.items()}
    )
    assert [row.name for row in found.own] == list(NAMED)
    for row in found.own:
        mechanism, odds = NAMED[row.name]
        if odds is None:
            assert row.epsilon == inf
            assert row.optimum is None
            assert isnan(row.people)
            assert isnan(row.ratio)
            assert OWN.chosen(row).name == "no optimum"
            continue
        assert row.epsilon == pytest.approx(log(odds), rel=1e-12)
        kept = float(odds / (1 + odds))
        best = people(np.array([[kept, 1 - kept], [1 - kept, kept]]), 0.2)
        assert row.people == pytest.approx(people(mechanism.channel, 0.2) / best, rel=1e-5)
    times = {row.name: round(row.people, 3) for row in found.own if row.optimum is not None}
    assert times.pop("unrelated") == 1.427
    assert times.pop("Kuk, three") in (1.515, 1.516)  # 1.5155
    assert set(times.values()) == {1.0}
    assert len(times) == 6


def test_the_literature_keeps_its_rows_and_its_order() -> None:
    alone = compare_designs(SHARES, PureLDP(1.0))
    beside = compare_designs(SHARES, PureLDP(1.0), others={"mine": NAMED["Kuk"][0]})
    assert [row.name for row in beside.literature] == [row.name for row in alone.others]
    assert [row.name for row in beside.others] == [*(row.name for row in alone.others), "mine"]
    assert alone.own == ()
    assert alone.to_dict()["own"] == []


def test_answers_are_aligned_by_label() -> None:
    workload = Workload.prefix(["a", "b", "c"])
    channel = np.array([[0.5, 0.3, 0.1, 0.1], [0.2, 0.4, 0.2, 0.2], [0.1, 0.1, 0.2, 0.6]])
    weights = {"c": 0.2, "a": 0.5, "b": 0.3}
    mine = Mechanism(channel, ["a", "b", "c"])
    turned = Mechanism(channel[[2, 0, 1]], ["c", "a", "b"])
    found = compare_designs(
        workload, PureLDP(1.0), weights=weights, others={"mine": mine, "turned": turned}
    ).own
    assert np.allclose(found[0].variances, found[1].variances, rtol=1e-9)
    assert found[0].people == pytest.approx(found[1].people, rel=1e-9)
    assert found[0].optimum is found[1].optimum, "one epsilon, one design"
    p = np.array([0.5, 0.3, 0.2])
    rows = np.asarray(workload.matrix)
    sampling = float(p @ (rows**2).sum(axis=0) - ((rows @ p) ** 2).sum())
    total = least_total(channel, rows, p)
    best = found[0].optimum
    assert float(p @ found[0].variances) + sampling == pytest.approx(total, rel=1e-9)
    assert found[0].people == pytest.approx(total / (best.average_variance + sampling), rel=1e-6)
    assert best.privacy.epsilon == pytest.approx(log(0.6 / 0.1), rel=1e-12)


@pytest.mark.parametrize("objective", ["average", "worst_case"])
@pytest.mark.parametrize("make", [Workload.frequencies, Workload.ranges])
def test_no_mechanism_is_better_than_the_optimum_of_its_epsilon(make, objective) -> None:
    rng = np.random.default_rng(3)
    others = {
        f"mine {k}": Mechanism(
            (rows := 0.2 + rng.random((3, 5))) / rows.sum(axis=1, keepdims=True), ["a", "b", "c"]
        )
        for k in range(4)
    }
    found = compare_designs(make(["a", "b", "c"]), PureLDP(1.0), objective=objective, others=others)
    assert len(found.own) == 4
    for row in found.own:
        assert row.ratio > 1
        assert row.people > 1 - 1e-6
        assert row.value >= row.optimum.bound


def test_the_worst_distribution_is_the_worst_one() -> None:
    found = compare_designs(
        SHARES, PureLDP(1.0), objective="worst_case", others={"mine": NAMED["unrelated"][0]}
    ).own[0]
    grid = np.linspace(0, 1, 100_001)

    def worst(variances):
        # the shares of no and yes have the variance p (1 - p) each
        return ((1 - grid) * variances[0] + grid * variances[1] + 2 * grid * (1 - grid)).max()

    expected = worst(found.variances) / worst(found.optimum.variance())
    assert found.people == pytest.approx(expected, rel=1e-6)
    assert found.people < found.ratio


def test_what_reports_do_not_show_is_left_out_with_its_reason() -> None:
    three = ["a", "b", "c"]
    blurred = Mechanism([[0.7, 0.3], [0.3, 0.7], [0.3, 0.7]], three)
    others = {"blurred": blurred}
    whole = compare_designs(Workload.frequencies(three), PureLDP(1.0), others=others)
    assert whole.own == ()
    assert "'b' and 'c' give the same reports" in whole.left_out["blurred"] or (
        "'c' and 'b' give the same reports" in whole.left_out["blurred"]
    )
    part = Workload([[1, 0, 0]], inputs=three, names=["a"])
    row = compare_designs(part, PureLDP(1.0), others=others).own[0]
    assert row.people == pytest.approx(1, abs=1e-6)
    assert row.variances == pytest.approx([1.3125, 1.3125, 1.3125])


def test_an_answer_of_weight_0_may_have_a_report_of_its_own() -> None:
    # Of the people of weight 1 none gives the report of the third answer.
    mine = Mechanism([[0.7, 0.3, 0], [0.3, 0.7, 0], [0.25, 0.25, 0.5]], ["a", "b", "c"])
    found = compare_designs(
        Workload.frequencies(["a", "b", "c"]),
        PureLDP(1.0),
        weights=[0.5, 0.5, 0],
        others={"mine": mine},
    ).own[0]
    assert found.average == pytest.approx(2 * 1.3125, rel=1e-6)
    assert np.isfinite(found.variances).all()


def test_epsilon_is_that_of_the_notion() -> None:
    line = nx.Graph([("a", "b"), ("b", "c")])
    mine = Mechanism([[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]], ["a", "b", "c"])
    numbers = Workload.mean({"a": 0, "b": 1, "c": 2})
    found = compare_designs(numbers, GraphDP(1.0, line), others={"mine": mine})
    assert found.own[0].epsilon == pytest.approx(log(2.5), rel=1e-12)
    assert found.own[0].optimum.privacy.graph is line
    assert not found.literature
    assert found.own[0].people >= 1 - 1e-6


def test_what_cannot_be_compared_is_refused_by_name() -> None:
    def compared(others, workload=SHARES):
        return compare_designs(workload, PureLDP(1.0), others=others)

    mine = NAMED["Kuk"][0]
    with refused("report-model", StatementError) as caught:
        compared({"cheaters": techniques.cheating_detection("1/4", "3/4")})
    assert "'cheaters'" in caught.value.where
    with refused("report-model", StatementError):
        compared({"mine": ReportModel(mine)})
    by_number = compared({"mine": mine}, Workload.frequencies(2))  # has no labels to align
    assert by_number.own[0].people == compared({"mine": mine}).own[0].people
    with refused("answers-of-mechanism", StatementError):
        compared({"mine": mine}, Workload.frequencies(3))
    with refused("answers-of-mechanism", StatementError):
        compared({"mine": mine}, Workload.frequencies([0, "no"]))
    with refused("answers-of-mechanism", StatementError):
        compared({"mine": mine}, Workload.frequencies(["no", "yes", "no answer"]))
    with refused("taken-name", StatementError):
        compared({"subset selection": mine})
    for wrong in (
        mine,
        [mine],
        {1: mine},
        {"mine": mine.channel},
        {"mine": design(SHARES, PureLDP(1.0))},
    ):
        with pytest.raises(StatementError):
            compared(wrong)


def test_tables_and_pictures_have_the_rows() -> None:
    others = {"mine": NAMED["unrelated"][0], "open": NAMED["mangat"][0]}
    found = compare_designs(SHARES, PureLDP(1.0), weights=AT, others=others)
    table = found.to_frame()
    assert table.loc["mine", "epsilon"] == pytest.approx(log(29))
    assert table.loc["mine", "people"] == pytest.approx(1.4274, abs=5e-5)
    assert table.loc["open", "epsilon"] == inf
    assert table.loc["optimum", "epsilon"] == 1.0
    text = found.summary()
    assert "1.427 times the people of the optimum" in " ".join(text.split())
    assert "no optimum to compare with" in " ".join(text.split())
    data = found.to_dict()["own"]
    assert data[0]["optimum"] == found.own[0].optimum.value
    assert data[1]["optimum"] is None
    names = [line.get_label() for line in plot(found).get_lines()]
    assert any(name.startswith("mine") for name in names)
    assert sum(name.startswith("best at") for name in names) == 1
