"""Bounds and certificates where one unit of the grid decides: roundings are to their side, by less than a unit."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import hops
from ldpopt.certificate import Certificate, Multipliers, PairRows, certify, exact_optimum, rational, recheck
from ldpopt.certificate.record import _residual, prove, relative_gap
from ldpopt.errors import CertificateError, NotRepresentableError
from ldpopt.foundation.budget import Budget, round_up
from ldpopt.foundation.rows import RowBlock
from ldpopt.solving.bounds import duals
from ldpopt.solving.bounds.columns import coarse_integers, columns_bound
from ldpopt.solving.bounds.grid import GRID, exact_grid, integers
from ldpopt.solving.channel_program import Structure

FINE = [0.1, 0.1 + 2.0**-330, 2.0**-322, 3 * 2.0**-321, 2.0**-1074, 1e-200, 7.0]
"""Numbers on the grid, finer than the grid, and so small that a rounding decides whether they are 0."""

IDENTITY = np.eye(3)


def statement(notion, prior=(0.5, 0.3, 0.2), utility=IDENTITY, **options):
    return lo.Problem(None if prior is None else list(prior), utility, notion, **options)


@pytest.mark.parametrize("value", [0.75, -0.75])
@pytest.mark.parametrize("coefficient", [*FINE, *(-v for v in FINE)])
def test_a_side_constraint_is_relaxed_by_less_than_a_unit(value, coefficient):
    unit = Fraction(1, 2**GRID)
    for side in (*FINE, *(-v for v in FINE)):
        block = RowBlock("one", *map(np.array, ([0], [1], [0], [coefficient], [side], [side])))
        costs = np.zeros((2, 2), dtype=object)
        constant = Fraction(duals._relax(costs, block, np.array([value]), GRID), 4**GRID)
        exactly = Fraction(value) * Fraction(side)
        assert exactly <= constant < exactly + unit
        reduced, exactly = Fraction(int(costs[1, 0]), 4**GRID), -Fraction(value) * Fraction(coefficient)
        assert exactly <= reduced < exactly + unit
        assert not costs[[0, 0, 1], [0, 1, 1]].any()


def test_a_multiplier_whose_side_is_infinite_proves_nothing():
    block = RowBlock("open", *map(np.array, ([0, 1], [0, 1], [0, 1], [1.0, 1.0], [-np.inf, 0.25], [0.5, np.inf])))
    for values, constant in (([-1.0, 1.0], 0), ([1.0, -1.0], Fraction(1, 2) - Fraction(1, 4)), ([0.0, 0.0], 0)):
        costs = np.zeros((2, 2), dtype=object)
        assert Fraction(duals._relax(costs, block, np.array(values), GRID), 4**GRID) == constant
        assert costs.any() == bool(constant)


@pytest.mark.parametrize("epsilon", [1e-12, 0.1, 1.0, "log(3)", 100.0, 221.0, 222.0, 319.0, 320.0, 321.0, 1e4])
@pytest.mark.parametrize("distance", [0.5, 1.0, 1.7])
def test_the_ratio_of_a_pair_is_rounded_down_by_less_than_a_unit(epsilon, distance):
    found = duals._ratio(Budget(epsilon), distance)
    high = 1 / Budget(epsilon).enclosure(Fraction(distance))[1]
    assert found <= high * 2**GRID < found + 1


@pytest.mark.parametrize("delta", [0.1, 2.0**-400, 1.0])
def test_pairs_are_relaxed_exactly_and_their_slack_rounded_up(delta):
    problem = statement(lo.ApproximateLDP(1.0, delta))
    pairs = PairRows(*map(np.array, ([0, 1], [1, 2], [0, 0, 1], [0, 2, 1], [0.3, 2.0**-319])))
    costs = np.zeros((3, 3), dtype=object)
    constant = duals._relax_pairs(costs, problem, pairs, GRID)
    ratio = duals._ratio(Budget(1.0), 1.0)
    one, two = (int(v) for v in integers([0.3, 2.0**-319]))
    expected = [[-one * ratio, 0, -one * ratio], [one << GRID, -two * ratio, one << GRID], [0, two << GRID, 0]]
    assert costs.tolist() == expected
    assert constant == sum(math.ceil(v * ratio * Fraction(delta)) for v in (one, two))


@pytest.mark.parametrize("given", [None, [0.0, 0.0, 0.0], [0.1, 0.7, 0.1], [3.0, 1.0, 1e-300]])
def test_weights_of_a_worst_case_are_a_distribution(given):
    problem = statement(lo.PureLDP(1.0), prior=None, objective="worst_case")
    block = None if given is None else np.array(given)
    shares, grid = duals.weights(problem, Multipliers("compact", np.zeros(3), block, PairRows.joined([]), ()))
    assert sum(shares) == 1 << grid
    assert min(shares) >= 0
    total = sum(map(Fraction, given or [0]))
    expected = [Fraction(v) / total for v in given] if total else [Fraction(1, 3)] * 3
    assert all(abs(Fraction(int(s), 1 << grid) - e) < Fraction(1, 2**50) for s, e in zip(shares, expected, strict=True))


def test_weights_of_a_prior_are_exact():
    problem = statement(lo.PureLDP(1.0), [1 - 2.0**-53, 2.0**-53, 0.0])
    shares, grid = duals.weights(problem, Multipliers("compact", np.zeros(3), None, PairRows.joined([]), ()))
    assert [Fraction(int(v), 1 << grid) for v in shares] == list(map(Fraction, problem.prior.tolist()))


@pytest.mark.parametrize("epsilon", [1e-12, 0.1, 1.0, 30.0, 800.0])
@pytest.mark.parametrize("delta", [0.0, 0.1, 2.0**-400])
@pytest.mark.parametrize("seed", range(4))
def test_the_shift_of_the_multipliers_is_the_least_integer(epsilon, delta, seed):
    rng = np.random.default_rng(seed)
    n, m = 3, 4
    costs = rng.integers(-50, 50, (n, m)).astype(object)
    given = rng.integers(-30, 90 if seed % 2 else 10, n).astype(object)
    budget = Budget(epsilon)
    structure = Structure("compact", np.zeros((n, m)), True, budget.b, budget.beta, delta)
    b, beta = Fraction(budget.b), Fraction(budget.beta)
    if not delta and epsilon == 800.0:
        b = Fraction(0)

    def feasible(shift):
        over = costs - given[:, None] - shift
        return all(beta * sum(v for v in column if v > 0) + b * sum(column) <= 0 for column in over.T)

    least = next(shift for shift in range(0 if delta else -200, 400) if feasible(shift))
    total = columns_bound(costs, given, structure)
    slack = sum(v for row in costs - given[:, None] - least for v in row if v > 0)
    if b or delta:
        assert total == sum(given) + n * least + math.ceil(slack * Fraction(delta))
    else:
        assert total <= sum(given) + n * least


@pytest.mark.parametrize("epsilon", ["0.1", 0.1, 1.0, 20.0, 90.0])
@pytest.mark.parametrize("distance", [Fraction(1), Fraction(1, 3), Fraction(5, 2)])
def test_rationals_near_the_exponential_are_on_their_sides_and_near(epsilon, distance):
    budget = Budget(epsilon)
    less, more = (rational._ratio(budget, distance, up) for up in (True, False))
    with mpmath.workdps(100):
        exactly = mpmath.exp(-mpmath.mpf(budget.nats.numerator) / budget.nats.denominator * distance.numerator
                             / distance.denominator)  # fmt: skip
        assert mpmath.mpf(less.numerator) / less.denominator < exactly < mpmath.mpf(more.numerator) / more.denominator
    assert more - less < less / 2**90
    assert more.denominator < 2 ** (100 + 1.5 * float(budget) * float(distance))


@pytest.mark.parametrize("epsilon", ["0.5", 1.0, 7.0])
@pytest.mark.parametrize("sense", ["gain", "loss"])
def test_the_optimum_of_a_coin_is_enclosed(epsilon, sense):
    utility = lo.Utility(np.eye(2) if sense == "gain" else 1 - np.eye(2), sense)
    low, high = exact_optimum(lo.Problem([0.5, 0.5], utility, lo.PureLDP(epsilon)))
    least, most = Budget(epsilon).enclosure()
    ends = [least / (1 + least), most / (1 + most)] if sense == "gain" else [1 / (1 + most), 1 / (1 + least)]
    assert low < ends[0] <= ends[1] < high
    assert high - low < Fraction(1, 2**90)


def test_problems_of_rationals_have_a_largest_size():
    with pytest.raises(NotRepresentableError, match="9 x 9"):
        exact_optimum(lo.Problem(np.full(9, 1 / 9), "identity", lo.PureLDP("log(3)")))
    with pytest.raises(NotRepresentableError, match="2 x 9"):
        exact_optimum(lo.Problem([0.5, 0.5], lo.Utility(np.ones((2, 9))), lo.PureLDP("log(3)")))


@pytest.fixture(scope="module")
def proofs():
    loss = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    half = lo.constraints.linear(loss.round(1) + 0.1, upper=2.9, name="half")
    return {
        sense: certify(lo.solve(statement(lo.PureLDP(1.0), utility=utility, constraints=blocks)))
        for sense, utility, blocks in (("gain", lo.Utility(3 - loss), []), ("loss", lo.Utility(loss, "loss"), [half]))
    }


TINY = Fraction(1, 2**500)


@pytest.mark.parametrize("sense, sign", [("gain", 1), ("loss", -1)])
def test_a_claim_that_is_off_by_a_hair_is_named(proofs, sense, sign):
    proof = proofs[sense]

    def failures(**claims):
        return [failure.split(":")[0] for failure in recheck(replace(proof, **claims)).failures]

    assert failures() == []
    assert recheck(proof).is_same
    for hair in (TINY, -TINY):
        assert "achieved" in failures(achieved=proof.achieved + hair)
        assert failures(gap=proof.gap + hair) == ["gap"]
    assert "bound" in failures(bound=proof.bound - sign * TINY)
    assert failures(bound=proof.bound + sign * TINY, gap=proof.gap + TINY) == []
    assert not recheck(replace(proof, bound=proof.bound + sign * TINY, gap=proof.gap + TINY)).is_same
    for side in (-np.inf, np.inf):
        assert failures(relative_gap=float(np.nextafter(proof.relative_gap, side))) == ["relative_gap"]
    for name, residual in proof.residuals.items():
        assert failures(residuals={name: residual}) == []
        assert failures(residuals={name: float(np.nextafter(residual, 1))}) == []
        assert len(failures(residuals={name: float(np.nextafter(residual, -1))})) == 1


@pytest.mark.parametrize("part", ["problem", "mechanism", "multipliers"])
def test_a_certificate_without_its_parts_is_not_checked(proofs, part):
    with pytest.raises(CertificateError, match="no problem, mechanism or multipliers"):
        recheck(replace(proofs["gain"], **{part: None}))
    with pytest.raises(CertificateError):
        recheck(replace(proofs["gain"], exact=False))


def test_the_gap_is_relative_to_the_bound_or_to_a_hundredth_of_the_stake(proofs):
    problem, multipliers = proofs["gain"].problem, proofs["gain"].multipliers
    matrix = problem.utility.matrix
    spread = [Fraction(row.max()) - Fraction(row.min()) for row in matrix]
    stake = sum(Fraction(p) * s for p, s in zip(problem.prior.tolist(), spread, strict=True))
    for best in (Fraction(0), stake / 100, -stake / 100, stake / 99, -stake / 50, Fraction(7)):
        for gap in (Fraction(0), Fraction(1, 3), TINY, -TINY):
            expected = round_up(gap / max(abs(best), stake / 100))
            assert relative_gap(problem, multipliers, best, gap) == expected
    nothing = lo.Problem([0.5, 0.5], np.zeros((2, 2)), lo.PureLDP(1.0))
    idle = Multipliers("compact", np.zeros(2), None, PairRows.joined([]), ())
    assert relative_gap(nothing, idle, Fraction(0), Fraction(0)) == 0.0
    assert relative_gap(nothing, idle, Fraction(0), TINY) == math.inf
    assert relative_gap(nothing, idle, TINY, TINY) == 1.0


@pytest.mark.parametrize("objective", ["expected", "worst_case"])
@pytest.mark.parametrize("sense", ["gain", "loss"])
def test_the_value_is_that_of_the_masses(objective, sense):
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(3, 4)) * np.array([[1.0], [1e-9], [1e5]])
    prior = None if objective == "worst_case" else [0.5, 0.3, 0.2]
    problem = lo.Problem(prior, lo.Utility(matrix, sense), lo.PureLDP(1.0), objective=objective)
    proof = certify(lo.solve(problem))
    masses = proof.mechanism.masses
    by_input = [sum(Fraction(u) * int(k) for u, k in zip(*rows, strict=True)) / 2**53
                for rows in zip(matrix.tolist(), masses, strict=True)]  # fmt: skip
    worst = min(by_input) if sense == "gain" else max(by_input)
    expected = sum(Fraction(p) * v for p, v in zip(problem.prior.tolist(), by_input, strict=True)) if prior else worst
    assert proof.achieved == expected
    assert proof.gap == (proof.bound - expected if sense == "gain" else expected - proof.bound) >= 0


def test_a_gap_that_is_asked_for_is_kept_to_the_last_digit(proofs):
    solution = lo.solve(proofs["gain"].problem)
    found = certify(solution).relative_gap
    assert certify(solution, gap=found).relative_gap == found
    with pytest.raises(CertificateError, match="more than the"):
        certify(solution, gap=float(np.nextafter(found, -1)))


def test_rows_of_a_graph_hold_for_ties_alone():
    problem = lo.Problem(np.full(4, 0.25), "identity", lo.GraphDP(1.0, nx.path_graph(4)))
    tied = PairRows(*map(np.array, ([0], [1], [0], [0], [0.1])))
    far = replace(tied, second=np.array([2]))
    idle = Multipliers("pairwise", None, None, tied, ())
    assert duals.bound(problem, idle) < duals.bound(problem, replace(idle, pairs=PairRows.joined([])))
    with pytest.raises(CertificateError, match="does not tie 0 to 2"):
        duals.bound(problem, replace(idle, pairs=far))
    metric = lo.Problem(np.full(4, 0.25), "identity", lo.MetricDP(1.0, hops(4)))
    assert duals.bound(metric, idle) == duals.bound(problem, idle)


def test_a_file_keeps_every_number(proofs, tmp_path):
    for proof in proofs.values():
        proof.save(tmp_path / "proof.json")
        assert (
            Certificate.load(tmp_path / "proof.json")
            == proof
            == prove(proof.problem, proof.mechanism, proof.multipliers)
        )


def test_weights_are_never_negative_however_shares_round():
    problem = statement(lo.PureLDP(1.0), prior=None, objective="worst_case")
    rng = np.random.default_rng(0)
    for _ in range(60):
        given = rng.random(3) * np.array([1.0, 1.0, 0.0])
        shares, grid = duals.weights(problem, Multipliers("compact", np.zeros(3), given, PairRows.joined([]), ()))
        assert sum(shares) == 1 << grid
        assert min(shares) == 0


def test_a_report_of_one_owner_is_worth_nothing_to_others():
    utility = np.array([[1.0, 0.5, 9.0, 2.0], [8.0, 0.25, 5.0, 1.0], [1.0, 0.125, 7.0, 3.0]])
    problem = lo.Problem([0.5, 0.25, 0.25], utility, lo.UtilityOptimizedLDP(1.0, [0], protected=[0, 3]),
                         outputs=[0, 1, 2, 3])  # fmt: skip
    idle = Multipliers("pairwise", None, None, PairRows.joined([]), ())
    allowed = problem.definition().allowed(4)
    best = [max(u for u, may in zip(*rows, strict=True) if may) for rows in zip(utility, allowed, strict=True)]
    assert not allowed.all()
    assert duals.bound(problem, idle) == sum(
        Fraction(p) * Fraction(b) for p, b in zip((0.5, 0.25, 0.25), best, strict=True)
    )
    free = lo.Problem([0.5, 0.25, 0.25], utility, lo.PureLDP(1.0))
    assert duals.bound(free, idle) == Fraction(9, 2) + 2 + Fraction(7, 4)


def test_pairs_without_delta_add_no_constant():
    pairs = PairRows(*map(np.array, ([0], [1], [0], [0], [0.3])))
    assert duals._relax_pairs(np.zeros((3, 3), dtype=object), statement(lo.PureLDP(1.0)), pairs, GRID) == 0
    assert duals._relax_pairs(None, statement(lo.PureLDP(1.0)), PairRows.joined([]), GRID) == 0


def test_rows_with_positive_multipliers_are_read_as_pairs():
    block = lo.privacy.Ties(1.0, 3).rows(2)
    values = np.zeros(len(block))
    values[[1, 4, 6]] = 0.5, -1.0, 2.0
    found = PairRows.of(block, values)
    assert (found.first.tolist(), found.second.tolist()) == ([0, 1], [1, 2])
    assert (found.row.tolist(), found.y.tolist(), found.value.tolist()) == ([0, 1], [1, 0], [0.5, 2.0])
    events = lo.privacy.Ties(1.0, 3).rows_of_events(np.array([0, 2]), np.array([2, 1]), np.array([[1, 1], [0, 1]]))
    found = PairRows.of(events, np.array([0.25, 1.0]))
    assert (found.row.tolist(), found.y.tolist()) == ([0, 0, 1], [0, 1, 1])
    both = PairRows.joined([found, found])
    assert both.row.tolist() == [0, 0, 1, 2, 2, 3]
    assert both.first.tolist() == [0, 2, 0, 2]
    other = RowBlock("other", *map(np.array, ([0, 0], [0, 1], [0, 1], [0.5, -1.0], [-np.inf], [0.0])))
    assert PairRows.of(other, np.ones(1)) is None


@pytest.mark.parametrize("notion", [lo.PureLDP(1.0), lo.OneSided(1.0, [0, 2]), lo.UtilityOptimizedLDP(1.0, [1]),
                                    lo.ApproximateLDP(1.0, 0.1, "entry")], ids=repr)  # fmt: skip
def test_any_multipliers_of_the_row_sums_prove_a_bound_and_the_best_a_tight_one(notion):
    rng = np.random.default_rng(4)
    problem = statement(notion, utility=rng.normal(size=(3, 3)) if notion.kind != "utility_optimized" else IDENTITY)
    proof = certify(lo.solve(problem, form="compact"))
    assert 0 <= proof.gap < Fraction(1, 10**12)
    given = proof.multipliers
    for scale in (1e-6, 0.1, 3.0):
        for _ in range(6):
            rough = replace(given, row_sums=given.row_sums + scale * rng.normal(size=3))
            assert duals.bound(problem, rough) >= proof.achieved


def test_coarse_costs_leave_room_where_all_are_negative():
    costs, given, bits = coarse_integers(np.full(5, 0.2), np.full((5, 2), -3.0), np.zeros(5))
    assert 5 * 4 * int(np.abs(costs).max()) < 2**63
    assert int(np.abs(costs).max()) > 2**50
    assert not given.any()
    assert Fraction(int(costs[0, 0]), 1) * Fraction(2) ** -bits >= Fraction(0.2) * -3
    nothing = coarse_integers(np.full(2, 0.5), np.zeros((2, 2)), np.zeros(2))
    assert (nothing[0].tolist(), nothing[1].tolist(), nothing[2]) == ([[0, 0], [0, 0]], [0, 0], 0)


def test_floats_of_every_exponent_are_on_their_sides_of_the_grid():
    for exponent in range(-340, -240):
        for mantissa in (1.0, 2 - 2.0**-52, -1.0, -1.5):
            value = math.ldexp(mantissa, exponent)
            exactly = Fraction(value) * 2**GRID
            assert integers([value]).tolist() == [math.floor(exactly)]
            assert integers([value], up=True).tolist() == [math.ceil(exactly)]


def test_the_grid_is_as_fine_as_the_finest_float_needs():
    full = 1 - 2.0**-53
    assert exact_grid(np.array([full])) == GRID
    assert exact_grid(np.array([full * 2.0**-267])) == GRID
    assert exact_grid(np.array([full * 2.0**-268])) == GRID + 1
    assert exact_grid(np.array([1.0, 0.0]), np.array([full * 2.0**-400, 3.0])) == 453
    assert exact_grid(np.zeros(3)) == exact_grid(np.zeros(0)) == GRID


def test_residuals_are_the_largest_violations_rounded_up():
    rng = np.random.default_rng(6)
    mechanism = lo.Mechanism(rng.multinomial(2**30, [0.2, 0.3, 0.5], size=3) / 2**30)
    rows = [[Fraction(int(k), 2**53) for k in row] for row in mechanism.masses.tolist()]
    for lower, upper in (
        (-np.inf, 0.4),
        (0.6, np.inf),
        (0.3, 0.35),
        (0.9, 0.95),
        (-np.inf, -(2.0**-400)),
        (2.0**-400, np.inf),
    ):
        coefficients = rng.normal(size=(3, 3)) / 3
        block = lo.constraints.linear(coefficients, lower=lower, upper=upper, name="one")
        activity = sum(Fraction(float(coefficients[x, y])) * rows[x][y] for x, y in np.ndindex(3, 3))
        over = [Fraction(0)]
        over += [Fraction(lower) - activity] if math.isfinite(lower) else []
        over += [activity - Fraction(upper)] if math.isfinite(upper) else []
        assert _residual(block, mechanism) == round_up(max(over))
    two = RowBlock("two", *map(np.array, ([0, 1], [0, 1], [0, 0], [1.0, 1.0], [0.0, 0.5], [0.0, 0.6])))
    first, second = rows[0][0], rows[1][0]
    assert _residual(two, mechanism) == round_up(max(first, Fraction(1, 2) - second, second - Fraction(0.6)))


@pytest.mark.parametrize("sense, sign", [("gain", 1), ("loss", -1)])
def test_a_difference_is_shown_with_both_numbers(proofs, sense, sign):
    proof = proofs[sense]
    (hair, *_) = recheck(replace(proof, achieved=proof.achieved + TINY)).failures
    assert hair.endswith("(they differ beyond these digits)")
    (failure, *_) = recheck(replace(proof, gap=Fraction(3, 4))).failures
    assert failure == f"gap: 0.75 is claimed, {float(sign * (proof.bound - proof.achieved)):.17g} was recomputed"


def test_multipliers_that_prove_nothing_are_named_and_privacy_is_audited_all_the_same(proofs):
    proof = proofs["gain"]
    far = replace(proof.multipliers, pairs=PairRows(*map(np.array, ([0], [0], [0], [0], [0.5]))))
    checked = recheck(replace(proof, multipliers=far))
    assert checked.found is None
    assert [failure.split(":")[0] for failure in checked.failures] == ["bound"]
    stricter = statement(lo.PureLDP(0.5), utility=proof.problem.utility)
    checked = recheck(replace(proof, multipliers=far, problem=stricter))
    assert [failure.split(":")[0] for failure in checked.failures] == ["bound", "privacy"]


def test_a_residual_that_is_not_claimed_is_0():
    fixed = lo.constraints.linear(np.arange(9.0).reshape(3, 3) / 7, lower=1.3, upper=1.3, name="fixed")
    proof = certify(lo.solve(statement(lo.PureLDP(1.0), constraints=[fixed])))
    assert proof.residuals["fixed"] > 0
    assert [f.split(":")[0] for f in recheck(replace(proof, residuals={})).failures] == ["residual of 'fixed'"]
    open_ = lo.constraints.linear(np.ones((3, 3)), upper=9.0, name="open")
    proof = certify(lo.solve(statement(lo.PureLDP(1.0), constraints=[open_])))
    assert recheck(replace(proof, residuals={})).holds


def test_a_notion_without_ties_has_a_bound_by_its_rows():
    class Plain:
        """A plug-in that says no more than it must."""

        def rows(self, inputs, n_outputs):
            return lo.privacy.Ties(1.0, len(inputs)).rows(n_outputs)

        def audit(self, channel):
            return lo.audit(channel, lo.PureLDP(1.0))

    proof = certify(lo.solve(statement(Plain())))
    assert 0 <= proof.gap < Fraction(1, 10**12)


@pytest.mark.parametrize("sense", ["gain", "loss"])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 3.0])
def test_the_exact_optimum_of_a_worst_case_is_that_of_its_certificate(sense, shift):
    utility = lo.Utility(np.random.default_rng(2).normal(size=(3, 3)) + shift, sense)
    problem = lo.Problem(None, utility, lo.ApproximateLDP("log(2)", 0.125), objective="worst_case")
    low, high = exact_optimum(problem)
    proof = certify(lo.solve(problem))
    assert low == high
    assert abs(proof.bound - low) < Fraction(1, 10**12)


@pytest.mark.parametrize("notion", [lo.UtilityOptimizedLDP("log(2)", [1]), lo.OneSided("log(2)", [0, 2])], ids=repr)
def test_the_exact_optimum_of_a_notion_with_exceptions_is_that_of_its_certificate(notion):
    fixed = lo.constraints.linear(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]), upper=0.9, name="cap")
    problem = statement(notion, constraints=[fixed])
    low, high = exact_optimum(problem)
    assert low == high
    assert abs(certify(lo.solve(problem)).bound - low) < Fraction(1, 10**12)


def test_large_budgets_are_solved_in_rationals_as_long_as_their_exponentials_are():
    coin = np.eye(2)
    assert exact_optimum(lo.Problem([0.5, 0.5], coin, lo.PureLDP(6000.0)))[1] <= 1
    with pytest.raises(NotRepresentableError, match="beyond 10000 nats"):
        exact_optimum(lo.Problem([0.5, 0.5], coin, lo.MetricDP(6000.0, [[0, 2], [2, 0]])))


def test_a_problem_of_the_largest_size_is_solved_in_rationals():
    low, high = exact_optimum(lo.Problem(np.full(8, 1 / 8), "identity", lo.PureLDP("log(3)")))
    assert low == high == Fraction(3, 10)


@pytest.mark.parametrize("side", [2.0**-400, -(2.0**-400)])
def test_a_residual_finer_than_the_grid_is_not_rounded_to_it(side):
    mechanism = lo.Mechanism([[0.5, 0.5]])
    ends = ([side], [np.inf]) if side > 0 else ([-np.inf], [side])
    block = RowBlock("fine", *map(np.array, ([0], [0], [0], [0.0], *ends)))
    assert _residual(block, mechanism) == 2.0**-400
