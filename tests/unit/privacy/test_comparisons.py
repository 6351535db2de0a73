"""Lists of comparisons: what is refused, their rows, and those of two notions at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.foundation.budget import Budget
from ldpopt.privacy import Comparisons
from ldpopt.privacy.comparisons import NOBODY, TIED

HALF = Fraction(1, 2)


def one(over, under, epsilon=1.0, n=3, **more):
    return Comparisons(n, (over,), (under,), (Budget(epsilon),), **more)


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: one({0: HALF}, {1: Fraction(1)}), "weights"),
        (lambda: one({0: Fraction(3, 2), 1: -HALF}, {1: Fraction(1)}), "weights"),
        (lambda: one({0: Fraction(1)}, {3: Fraction(1)}), "average-input"),
        (lambda: one({0: Fraction(1)}, {1: Fraction(1)}, 0.0), "zero-epsilon"),
        (lambda: Comparisons(2, ({0: Fraction(1)},), (), ()), "number"),
        (lambda: one({0: Fraction(1)}, {1: Fraction(1)}, owner=np.array([3])), "owner"),
        (lambda: one({0: Fraction(1)}, {1: Fraction(1)}) & one({}, {}, n=2), "weights"),
        (
            lambda: (
                one({0: Fraction(1)}, {1: Fraction(1)})
                & one({0: Fraction(1)}, {1: Fraction(1)}, n=2)
            ),
            "inputs",
        ),
    ],
)
def test_what_does_not_fit_is_refused(build, code):
    with refused(code):
        build()


@pytest.mark.parametrize(
    "notion",
    [
        lo.PureLDP("log(3)"),
        lo.GraphDP(0.7, nx.path_graph(4)),
        lo.MetricDP.of_points(0.5, [0.0, 1.0, 1.5, 4.0]),
        lo.OneSided(1.0, [0, 2]),
        lo.UtilityOptimizedLDP(1.0, [0, 1]),
    ],
)
def test_pairs_are_comparisons_with_the_same_private_channels(notion):
    rng = np.random.default_rng(0)
    rows = notion.comparisons(range(4)).rows(4)
    tied = notion.definition(range(4)).rows(4)
    for _ in range(200):
        channel = rng.dirichlet(np.ones(4) * rng.choice([0.3, 3, 30]), 4)
        share = rng.random()
        channel = share * channel + (1 - share) * channel.mean(axis=0)
        # rows differ by a positive factor
        own, other = rows.violation(channel), tied.violation(channel)
        assert (own.max() > 1e-12) == (other.max() > 1e-12)


def test_a_delta_or_generated_rows_are_no_comparisons():
    assert lo.ApproximateLDP(1.0, 0.1).comparisons(range(3)) is None
    assert lo.ApproximateLDP(1.0, 0.1, "entry").comparisons(range(3)) is None
    assert (lo.PureLDP(1.0) & lo.ApproximateLDP(1.0, 0.1, "entry")).comparisons(range(3)) is None


def test_no_private_channel_violates_the_rows():
    """Coefficients are rounded down: a channel at the lower end of the budget satisfies them."""
    for epsilon in ("log(3)", 1.0, 1e-9, "1/3", 30.0):
        comparisons = lo.PureLDP(epsilon).comparisons(range(2))
        low, _ = Budget(epsilon).enclosure()
        block = comparisons.rows(2)
        column = [low / (1 + low), 1 / (1 + low)]
        channel = [[column[0], column[1]], [column[1], column[0]]]
        for row in range(len(block)):
            parts = zip(block.row, block.x, block.y, block.coefficient, strict=True)
            total = sum(Fraction(float(c)) * channel[x][y] for r, x, y, c in parts if r == row)
            assert total <= 0


def test_a_report_of_one_answer_is_allowed_where_both_notions_allow_it():
    """Answer 2 may be revealed, and a pair that it is not in has a budget of its own."""
    both = lo.UtilityOptimizedLDP(1.0, [0, 1]) & lo.PairwiseLDP({(0, 1): 0.5})
    with pytest.raises(lo.errors.StatementError):
        both.check(range(3), range(3))  # the table knows answers 0 and 1 only
    table = [[0, 0.5, None], [0.5, 0, None], [None, None, 0]]
    both = lo.UtilityOptimizedLDP(1.0, [0, 1]) & lo.PairwiseLDP(table)
    answer = lo.solve(lo.Problem([1 / 3] * 3, "identity", both))
    assert answer.value == pytest.approx(0.595646, abs=5e-7)
    comparisons = both.comparisons(range(3))
    assert comparisons.units == (2,)
    assert comparisons.owner.tolist() == [TIED, TIED, 2]
    assert lo.certify(answer).relative_gap < 1e-12
    assert answer.mechanism.audit(both).verdict == "certified"


def test_a_report_that_one_notion_keeps_and_another_forbids_belongs_to_nobody():
    both = lo.UtilityOptimizedLDP(1.0, [0, 1]) & lo.PureLDP(2.0)
    assert both.comparisons(range(3)).owner.tolist() == [TIED, TIED, NOBODY]
    answer = lo.solve(lo.Problem([1 / 3] * 3, "identity", both))
    assert not answer.mechanism.channel[:, 2].any()
    assert answer.value == pytest.approx(
        lo.solve(lo.Problem([1 / 3] * 3, np.eye(3, 2), lo.PureLDP(1.0))).value
    )
    owners = lo.UtilityOptimizedLDP(1.0, [0], protected=["x"])
    silent = owners & lo.PureLDP(1.0)
    assert silent.comparisons([0, 1], [1, "x"]).owner.tolist() == [NOBODY, TIED]
    with refused("silent-input"):
        (lo.UtilityOptimizedLDP(1.0, []) & lo.PureLDP(1.0)).check([0, 1], [0, 1])


def test_averages_are_columns_where_that_is_smaller():
    prior = np.arange(40, 0, -1) / (41 * 20)
    problem = lo.Problem(prior, "identity", lo.PML(1.0))
    forms = {form: lo.formulate(problem, form) for form in ("averages", "pairwise")}
    assert lo.formulate(problem).form == "averages"
    assert len(forms["averages"].value) < 0.2 * len(forms["pairwise"].value)
    values = []
    for program in forms.values():
        model = program.to_highs()
        model.setOptionValue("output_flag", False)
        model.run()
        values.append(model.getObjectiveValue())
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    answer = lo.solve(problem)
    assert "averages" in answer.solver
    assert answer.value == pytest.approx(values[0], abs=1e-9)
    assert lo.certify(answer).relative_gap < 1e-12


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ((2, None, ({1: Fraction(1)},), (Budget(1),)), "list"),
        ((2, ({0: Fraction(1)},), (3,), (Budget(1),)), "type"),
        ((2, ({0: Fraction(1)},), ({1: Fraction(1)},), (1.0,)), "type"),
        ((2, ({0: Fraction(1)},), ({1: Fraction(1)},), (Budget(1),), (0.5,)), "type"),
        ((2, ({"a": Fraction(1)},), ({1: Fraction(1)},), (Budget(1),)), "type"),
        ((2, ({0: 1.0},), ({1: Fraction(1)},), (Budget(1),)), "type"),
        ((2, ({0: Fraction(1)},), ({1: Fraction(1)},), (Budget(1),), (), (), "ab"), "owner"),
    ],
)
def test_parts_of_another_kind_are_refused(parts: tuple[Any, ...], code: str) -> None:
    with refused(code):
        Comparisons(*parts)


def test_comparisons_of_what_is_no_ties_are_refused() -> None:
    with refused("type"):
        Comparisons.of_ties(np.ones(3))
