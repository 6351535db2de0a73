"""The dual bound: right for any multipliers, and rounded to the safe side by less than a unit of
the grid."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import hops, refused
from ldpopt.certificate import Multipliers, PairRows
from ldpopt.certificate import program_bound as duals
from ldpopt.certificate.integers import GRID, integers
from ldpopt.certificate.program_digits import ProgramDigits
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.rows import RowBlock
from ldpopt.solving.certify import certify, pair_rows

FINE = [0.1, 0.1 + 2.0**-330, 2.0**-322, 3 * 2.0**-321, 2.0**-1074, 1e-200, 7.0]
"""Numbers on the grid, finer than the grid, and so small that a rounding decides whether they are
0."""

IDENTITY = np.eye(3)
PRIOR = np.array([0.4, 0.3, 0.2, 0.1])
GAIN = (np.random.default_rng(5).random((4, 3)) / 4 + np.eye(4, 3)).round(3)
HOPS = hops(4) * 0.7
NOTIONS = {
    "pure": lo.PureLDP("log(7/2)"),
    "event": lo.ApproximateLDP(0.5, 0.1),
    "entry": lo.ApproximateLDP(0.5, 0.1, "entry"),
    "graph": lo.GraphDP(1.0, nx.path_graph(4)),
    "metric": lo.MetricDP(1.0, HOPS),
}


def statement(notion, prior=(0.5, 0.3, 0.2), utility=IDENTITY, **options):
    return lo.Problem(None if prior is None else list(prior), utility, notion, **options)


@pytest.mark.parametrize("value", [0.75, -0.75])
@pytest.mark.parametrize("coefficient", [*FINE, *(-v for v in FINE)])
def test_a_side_constraint_is_relaxed_by_less_than_a_unit(value, coefficient):
    unit = Fraction(1, 2**GRID)
    for side in (*FINE, *(-v for v in FINE)):
        block = RowBlock("one", *map(np.array, ([0], [1], [0], [coefficient], [side], [side])))
        costs = np.zeros((2, 2), dtype=object)
        constant = Fraction(duals.relaxed(costs, block, np.array([value]), GRID), 4**GRID)
        exactly = Fraction(value) * Fraction(side)
        assert exactly <= constant < exactly + unit
        reduced = Fraction(int(costs[1, 0]), 4**GRID)
        exactly = -Fraction(value) * Fraction(coefficient)
        assert exactly <= reduced < exactly + unit
        assert not costs[[0, 0, 1], [0, 1, 1]].any()


def test_a_multiplier_whose_side_is_infinite_proves_nothing():
    block = RowBlock(
        "open", *map(np.array, ([0, 1], [0, 1], [0, 1], [1.0, 1.0], [-np.inf, 0.25], [0.5, np.inf]))
    )
    for values, constant in (
        ([-1.0, 1.0], 0),
        ([1.0, -1.0], Fraction(1, 2) - Fraction(1, 4)),
        ([0.0, 0.0], 0),
    ):
        costs = np.zeros((2, 2), dtype=object)
        assert Fraction(duals.relaxed(costs, block, np.array(values), GRID), 4**GRID) == constant
        assert costs.any() == bool(constant)


@pytest.mark.parametrize(
    "epsilon", [1e-12, 0.1, 1.0, "log(3)", 100.0, 221.0, 222.0, 319.0, 320.0, 321.0, 1e4]
)
@pytest.mark.parametrize("distance", [0.5, 1.0, 1.7])
def test_the_ratio_of_a_pair_is_rounded_down_by_less_than_a_unit(epsilon, distance):
    found = duals.ratio_below(Budget(epsilon), distance)
    high = 1 / Budget(epsilon).enclosure(Fraction(distance))[1]
    assert found <= high * 2**GRID < found + 1


@pytest.mark.parametrize("delta", [0.1, 2.0**-400, 1.0])
def test_pairs_are_relaxed_exactly_and_their_slack_rounded_up(delta):
    problem = statement(lo.ApproximateLDP(1.0, delta))
    pairs = PairRows(*map(np.array, ([0, 1], [1, 2], [0, 0, 1], [0, 2, 1], [0.3, 2.0**-319])))
    costs = np.zeros((3, 3), dtype=object)
    constant = duals.relaxed_pairs(costs, problem, pairs, GRID)
    ratio = duals.ratio_below(Budget(1.0), 1.0)
    one, two = (int(v) for v in integers([0.3, 2.0**-319]))
    expected = [
        [-one * ratio, 0, -one * ratio],
        [one << GRID, -two * ratio, one << GRID],
        [0, two << GRID, 0],
    ]
    assert costs.tolist() == expected
    assert constant == sum(math.ceil(v * ratio * Fraction(delta)) for v in (one, two))


@pytest.mark.parametrize("given", [None, [0.0, 0.0, 0.0], [0.1, 0.7, 0.1], [3.0, 1.0, 1e-300]])
def test_weights_of_a_worst_case_are_a_distribution(given):
    problem = statement(lo.PureLDP(1.0), prior=None, objective="worst_case")
    block = None if given is None else np.array(given)
    shares, grid = duals.weights(
        ProgramDigits.of(problem),
        Multipliers("compact", np.zeros(3), block, PairRows.joined([]), ()),
    )
    assert sum(shares) == 1 << grid
    assert min(shares) >= 0
    total = sum(map(Fraction, given or [0]))
    expected = [Fraction(v) / total for v in given] if total else [Fraction(1, 3)] * 3
    assert all(
        abs(Fraction(int(s), 1 << grid) - e) < Fraction(1, 2**50)
        for s, e in zip(shares, expected, strict=True)
    )


def test_weights_of_a_prior_are_exact():
    problem = statement(lo.PureLDP(1.0), [1 - 2.0**-53, 2.0**-53, 0.0])
    shares, grid = duals.weights(
        ProgramDigits.of(problem),
        Multipliers("compact", np.zeros(3), None, PairRows.joined([]), ()),
    )
    assert [Fraction(int(v), 1 << grid) for v in shares] == list(
        map(Fraction, problem.prior.tolist())
    )


def test_rows_of_a_graph_hold_for_ties_alone():
    problem = lo.Problem(np.full(4, 0.25), "identity", lo.GraphDP(1.0, nx.path_graph(4)))
    tied = PairRows(*map(np.array, ([0], [1], [0], [0], [0.1])))
    far = replace(tied, second=np.array([2]))
    idle = Multipliers("pairwise", None, None, tied, ())
    assert duals.bound(problem, idle) < duals.bound(
        problem, replace(idle, pairs=PairRows.joined([]))
    )
    with refused("untied", CertificateError) as caught:
        duals.bound(problem, replace(idle, pairs=far))
    assert "0 to 2" in str(caught.value)
    metric = lo.Problem(np.full(4, 0.25), "identity", lo.MetricDP(1.0, hops(4)))
    assert duals.bound(metric, idle) == duals.bound(problem, idle)


def test_rounded_weights_are_never_negative():
    problem = statement(lo.PureLDP(1.0), prior=None, objective="worst_case")
    rng = np.random.default_rng(0)
    for _ in range(60):
        given = rng.random(3) * np.array([1.0, 1.0, 0.0])
        shares, grid = duals.weights(
            ProgramDigits.of(problem),
            Multipliers("compact", np.zeros(3), given, PairRows.joined([]), ()),
        )
        assert sum(shares) == 1 << grid
        assert min(shares) == 0


def test_only_the_owner_of_a_report_can_gain_from_it():
    utility = np.array([[1.0, 0.5, 9.0, 2.0], [8.0, 0.25, 5.0, 1.0], [1.0, 0.125, 7.0, 3.0]])
    problem = lo.Problem(
        [0.5, 0.25, 0.25],
        utility,
        lo.UtilityOptimizedLDP(1.0, [0], protected=[0, 3]),
        outputs=[0, 1, 2, 3],
    )
    idle = Multipliers("pairwise", None, None, PairRows.joined([]), ())
    allowed = problem.definition().allowed(4)
    best = [
        max(u for u, may in zip(*rows, strict=True) if may)
        for rows in zip(utility, allowed, strict=True)
    ]
    assert not allowed.all()
    assert duals.bound(problem, idle) == sum(
        Fraction(p) * Fraction(b) for p, b in zip((0.5, 0.25, 0.25), best, strict=True)
    )
    free = lo.Problem([0.5, 0.25, 0.25], utility, lo.PureLDP(1.0))
    assert duals.bound(free, idle) == Fraction(9, 2) + 2 + Fraction(7, 4)


def test_pairs_without_delta_add_no_constant():
    pairs = PairRows(*map(np.array, ([0], [1], [0], [0], [0.3])))
    assert (
        duals.relaxed_pairs(np.zeros((3, 3), dtype=object), statement(lo.PureLDP(1.0)), pairs, GRID)
        == 0
    )
    assert duals.relaxed_pairs(None, statement(lo.PureLDP(1.0)), PairRows.joined([]), GRID) == 0


def test_rows_with_positive_multipliers_are_read_as_pairs():
    block = lo.privacy.Ties(1.0, 3).rows(2)
    values = np.zeros(len(block))
    values[[1, 4, 6]] = 0.5, -1.0, 2.0
    found = pair_rows(block, values)
    assert (found.first.tolist(), found.second.tolist()) == ([0, 1], [1, 2])
    assert (found.row.tolist(), found.y.tolist(), found.value.tolist()) == (
        [0, 1],
        [1, 0],
        [0.5, 2.0],
    )
    events = lo.privacy.Ties(1.0, 3).rows_of_events(
        np.array([0, 2]), np.array([2, 1]), np.array([[1, 1], [0, 1]])
    )
    found = pair_rows(events, np.array([0.25, 1.0]))
    assert (found.row.tolist(), found.y.tolist()) == ([0, 0, 1], [0, 1, 1])
    both = PairRows.joined([found, found])
    assert both.row.tolist() == [0, 0, 1, 2, 2, 3]
    assert both.first.tolist() == [0, 2, 0, 2]
    other = RowBlock(
        "other", *map(np.array, ([0, 0], [0, 1], [0, 1], [0.5, -1.0], [-np.inf], [0.0]))
    )
    assert pair_rows(other, np.ones(1)) is None


@pytest.mark.parametrize(
    "notion",
    [
        lo.PureLDP(1.0),
        lo.OneSided(1.0, [0, 2]),
        lo.UtilityOptimizedLDP(1.0, [1]),
        lo.ApproximateLDP(1.0, 0.1, "entry"),
    ],
    ids=repr,
)
def test_any_multipliers_of_the_row_sums_prove_a_bound_and_the_best_a_tight_one(notion):
    rng = np.random.default_rng(4)
    problem = statement(
        notion, utility=rng.normal(size=(3, 3)) if notion.kind != "utility_optimized" else IDENTITY
    )
    proof = certify(lo.solve(problem, form="compact"))
    assert 0 <= proof.gap < Fraction(1, 10**12)
    given = proof.multipliers
    for scale in (1e-6, 0.1, 3.0):
        for _ in range(6):
            rough = replace(given, row_sums=given.row_sums + scale * rng.normal(size=3))
            assert duals.bound(problem, rough) >= proof.achieved


def test_a_notion_without_ties_has_a_bound_by_its_rows():
    class Plain(lo.privacy.Notion):
        """A plug-in with the required methods only."""

        def rows(self, inputs, n_outputs):
            return lo.privacy.Ties(1.0, len(inputs)).rows(n_outputs)

        def audit(self, channel):
            return lo.audit(channel, lo.PureLDP(1.0))

    proof = certify(lo.solve(statement(Plain())))
    assert 0 <= proof.gap < Fraction(1, 10**12)


def plain_bound(problem, multipliers):
    """The bound of pairwise rows, number by number."""
    cost = [
        [Fraction(float(p)) * Fraction(float(u)) for u in row]
        for p, row in zip(problem.prior, GAIN, strict=True)
    ]
    constant = Fraction(0)
    pairs = multipliers.pairs
    privacy = problem.privacy
    for r, value in enumerate(pairs.value):
        x = pairs.first[r]
        k = pairs.second[r]
        event = pairs.y[pairs.row == r]
        distance = HOPS[x, k] if isinstance(privacy, lo.MetricDP) else 1
        b = Fraction(
            math.floor(2**GRID / privacy.epsilon.enclosure(Fraction(float(distance)))[1]), 2**GRID
        )
        for y in event:
            cost[x][y] -= Fraction(float(value)) * b
            cost[k][y] += Fraction(float(value))
        constant += Fraction(float(value)) * b * Fraction(getattr(privacy, "delta", 0.0))
    for block, values in multipliers.blocks:
        for r, value in enumerate(values.tolist()):
            side = float(block.upper[r] if value > 0 else block.lower[r])
            if value == 0 or np.isinf(side):
                continue
            for x, y, a in zip(block.x, block.y, block.coefficient, strict=True):
                cost[x][y] -= Fraction(value) * Fraction(float(a))
            constant += Fraction(value) * Fraction(side)
    return constant + sum(max(row) for row in cost)


@pytest.mark.parametrize("notion", ["pure", "event", "graph", "metric"])
@pytest.mark.parametrize("tiny", [1.0, 2.0**-300, 2.0**-322, 2.0**-1000])
def test_the_bound_is_the_plain_one_rounded_up(notion, tiny):
    rng = np.random.default_rng(2)
    for _ in range(4):
        odd = lo.constraints.linear(rng.normal(size=(4, 3)) * tiny, -tiny, tiny, "odd")
        problem = lo.Problem(PRIOR, GAIN, NOTIONS[notion], constraints=[odd])
        pairs = PairRows(
            np.array([0, 1, 2]),
            np.array([1, 2, 3]),
            np.array([0, 1, 2, 2]),
            np.array([2, 0, 0, 1]),
            rng.random(3),
        )
        multipliers = Multipliers(
            "pairwise", None, None, pairs, ((odd, rng.normal(size=1) / tiny**0.5),)
        )
        exact = plain_bound(problem, multipliers)
        found = duals.bound(problem, multipliers)
        assert 0 <= found - exact < Fraction(16, 2**320) * Fraction(1 / tiny) + Fraction(1, 2**150)


def test_the_bound_sees_a_budget_that_floats_do_not():
    # e**epsilon = 1 + 1e-100: a coin that leans by 2.5e-101 is private, and better than a fair one.
    ratio = 1 + Fraction(1, 10**100)
    proof = certify(lo.solve(lo.Problem([0.5, 0.5], "identity", lo.PureLDP(f"log({ratio})"))))
    best = ratio / (1 + ratio)
    assert Fraction(1, 2) < best <= proof.bound
    assert proof.relative_gap < 1e-15
