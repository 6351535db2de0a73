"""Sequential tests: both promises and the mean number of people, simulated; order and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from builders import refused
from ldpopt.hypotheses import SequentialTest, best

FIRST = [0.25, 0.25, 0.25, 0.25]
SECOND = [0.1, 0.2, 0.3, 0.4]


def simulated(second_holds: bool, repeats: int = 1500) -> tuple[float, float]:
    """Share of surveys that reject the distribution that holds, and the mean of the reports."""
    test = best(FIRST, SECOND, 1.0)
    sequential = test.sequential(0.05, 0.9)
    low, high = sequential.boundaries
    masses = test.scores.second if second_holds else test.scores.first
    rng = np.random.default_rng(7)
    drawn = rng.choice(len(masses), (repeats, 12 * int(max(sequential.expected_people))), p=masses)
    walks = np.cumsum(test.scores.logs[drawn], axis=1)
    is_out = (walks >= high) | (walks <= low)
    assert is_out.any(axis=1).all()
    ends = is_out.argmax(axis=1)
    says_second = walks[np.arange(repeats), ends] >= high
    return float((says_second != second_holds).mean()), float(ends.mean() + 1)


@pytest.mark.parametrize(("second_holds", "limit"), [(False, 0.05), (True, 0.1)])
def test_both_promises_hold_and_people_are_few(second_holds: bool, limit: float) -> None:
    wrong, people = simulated(second_holds)
    assert wrong <= limit + 4 * math.sqrt(limit / 1500)
    test = best(FIRST, SECOND, 1.0)
    expected = test.sequential().expected_people[second_holds]
    assert expected <= people * 1.05  # what is beyond a boundary is left out
    assert people <= 1.15 * expected
    assert people < 0.7 * test.people()


def test_a_decision_reads_no_further_report() -> None:
    test = best(FIRST, SECOND, 1.0)
    sequential = test.sequential()
    towards = max(sequential.log_ratios, key=sequential.log_ratios.__getitem__)
    reports = iter([towards] * 1000)
    result = sequential.decide(reports)
    assert result.decision == "second"
    assert result.n_reports == 1000 - len(list(reports))
    number = math.ceil(math.log(20) / sequential.log_ratios[towards])
    assert result.n_reports == number
    away = min(sequential.log_ratios, key=sequential.log_ratios.__getitem__)
    assert sequential.decide([away] * 1000).decision == "first"
    assert sequential.decide([]).decision is None
    assert "ask more people" in str(sequential.decide([]).facts())
    assert "level" in str(sequential.facts())


def test_what_is_refused() -> None:
    sequential = best(FIRST, SECOND, 1.0).sequential()
    with refused("order"):
        sequential.decide({0: 3, 1: 4})  # type: ignore[arg-type]
    with refused("unknown-report"):
        sequential.decide(["yes"])
    with refused("unknown-report"):
        sequential.decide([[0]])
    with refused("list-of-reports"):
        sequential.decide(3)  # type: ignore[arg-type]
    with refused("list-of-reports"):
        sequential.decide(np.array(1.0))
    with refused("power"):
        best(FIRST, SECOND, 1.0).sequential(0.2, 0.1)


def test_an_infinite_ratio_decides_at_once() -> None:
    test = SequentialTest(0.05, 0.9, {"a": math.inf, "b": -math.inf, "c": 0.0}, (1.0, 1.0))
    assert test.decide(["c", "a"]).decision == "second"
    assert test.decide(["c", "b"]).decision == "first"
