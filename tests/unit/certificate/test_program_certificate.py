"""Claims of a certificate are compared to the last digit: values, gaps, residuals, and the parts
that it needs."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.certificate import Multipliers, PairRows, recheck
from ldpopt.certificate.program_certificate import prove, relative_gap, residual_of
from ldpopt.certificate.program_digits import ProgramDigits
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.rows import RowBlock
from ldpopt.solving.certify import certify

IDENTITY = np.eye(3)


def statement(notion, prior=(0.5, 0.3, 0.2), utility=IDENTITY, **options):
    return lo.Problem(None if prior is None else list(prior), utility, notion, **options)


@pytest.fixture(scope="module")
def proofs():
    loss = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    half = lo.constraints.linear(loss.round(1) + 0.1, upper=2.9, name="half")
    return {
        sense: certify(lo.solve(statement(lo.PureLDP(1.0), utility=utility, constraints=blocks)))
        for sense, utility, blocks in (
            ("gain", lo.Utility(3 - loss), []),
            ("loss", lo.Utility(loss, "loss"), [half]),
        )
    }


TINY = Fraction(1, 2**500)


@pytest.mark.parametrize("sense, sign", [("gain", 1), ("loss", -1)])
def test_the_smallest_wrong_claim_is_named(proofs, sense, sign):
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
    assert not recheck(
        replace(proof, bound=proof.bound + sign * TINY, gap=proof.gap + TINY)
    ).is_same
    for side in (-np.inf, np.inf):
        assert failures(relative_gap=float(np.nextafter(proof.relative_gap, side))) == [
            "relative_gap"
        ]
    for name, residual in proof.residuals.items():
        assert failures(residuals={name: residual}) == []
        assert failures(residuals={name: float(np.nextafter(residual, 1))}) == []
        assert len(failures(residuals={name: float(np.nextafter(residual, -1))})) == 1


@pytest.mark.parametrize("part", ["problem", "mechanism", "multipliers"])
def test_a_certificate_without_its_parts_is_not_checked(proofs, part):
    with refused("incomplete-certificate", CertificateError):
        recheck(replace(proofs["gain"], **{part: None}))
    with pytest.raises(CertificateError):
        recheck(replace(proofs["gain"], exact=False))


def test_the_gap_is_relative_to_the_bound_or_to_a_hundredth_of_the_stake(proofs):
    problem, multipliers = proofs["gain"].problem, proofs["gain"].multipliers
    digits = ProgramDigits.of(problem)
    matrix = problem.utility.matrix
    spread = [Fraction(row.max()) - Fraction(row.min()) for row in matrix]
    stake = sum(Fraction(p) * s for p, s in zip(problem.prior.tolist(), spread, strict=True))
    for best in (Fraction(0), stake / 100, -stake / 100, stake / 99, -stake / 50, Fraction(7)):
        for gap in (Fraction(0), Fraction(1, 3), TINY, -TINY):
            expected = round_up(gap / max(abs(best), stake / 100))
            assert relative_gap(digits, multipliers, best, gap) == expected
    nothing = ProgramDigits.of(lo.Problem([0.5, 0.5], np.zeros((2, 2)), lo.PureLDP(1.0)))
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
    by_input = [
        sum(Fraction(u) * int(k) for u, k in zip(*rows, strict=True)) / 2**53
        for rows in zip(matrix.tolist(), masses, strict=True)
    ]
    worst = min(by_input) if sense == "gain" else max(by_input)
    expected = (
        sum(Fraction(p) * v for p, v in zip(problem.prior.tolist(), by_input, strict=True))
        if prior
        else worst
    )
    assert proof.achieved == expected
    assert proof.gap == (proof.bound - expected if sense == "gain" else expected - proof.bound) >= 0


def test_the_required_gap_is_compared_to_the_last_digit(proofs):
    solution = lo.solve(proofs["gain"].problem)
    found = certify(solution).relative_gap
    assert certify(solution, gap=found).relative_gap == found
    with refused("gap", CertificateError):
        certify(solution, gap=float(np.nextafter(found, -1)))


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
        activity = sum(
            Fraction(float(coefficients[x, y])) * rows[x][y] for x, y in np.ndindex(3, 3)
        )
        over = [Fraction(0)]
        over += [Fraction(lower) - activity] if math.isfinite(lower) else []
        over += [activity - Fraction(upper)] if math.isfinite(upper) else []
        assert residual_of(block, mechanism) == round_up(max(over))
    two = RowBlock(
        "two", *map(np.array, ([0, 1], [0, 1], [0, 0], [1.0, 1.0], [0.0, 0.5], [0.0, 0.6]))
    )
    first = rows[0][0]
    second = rows[1][0]
    assert residual_of(two, mechanism) == round_up(
        max(first, Fraction(1, 2) - second, second - Fraction(0.6))
    )


@pytest.mark.parametrize("sense, sign", [("gain", 1), ("loss", -1)])
def test_a_difference_is_shown_with_both_numbers(proofs, sense, sign):
    proof = proofs[sense]
    (hair, *_) = recheck(replace(proof, achieved=proof.achieved + TINY)).failures
    assert hair.endswith("(they differ beyond these digits)")
    (failure, *_) = recheck(replace(proof, gap=Fraction(3, 4))).failures
    assert (
        failure == f"gap: 0.75 is claimed, {float(sign * (proof.bound - proof.achieved)):.17g} "
        "was recomputed"
    )


def test_privacy_is_audited_even_if_the_multipliers_prove_nothing(proofs):
    proof = proofs["gain"]
    far = replace(proof.multipliers, pairs=PairRows(*map(np.array, ([0], [0], [0], [0], [0.5]))))
    checked = recheck(replace(proof, multipliers=far))
    assert checked.found is None
    assert [failure.split(":")[0] for failure in checked.failures] == ["bound"]
    stricter = statement(lo.PureLDP(0.5), utility=proof.problem.utility)
    checked = recheck(replace(proof, multipliers=far, problem=stricter))
    assert [failure.split(":")[0] for failure in checked.failures] == ["bound", "privacy"]


def test_a_residual_that_is_not_claimed_is_0():
    fixed = lo.constraints.linear(
        np.arange(9.0).reshape(3, 3) / 7, lower=1.3, upper=1.3, name="fixed"
    )
    proof = certify(lo.solve(statement(lo.PureLDP(1.0), constraints=[fixed])))
    assert proof.residuals["fixed"] > 0
    assert [f.split(":")[0] for f in recheck(replace(proof, residuals={})).failures] == [
        "residual of 'fixed'"
    ]
    open_ = lo.constraints.linear(np.ones((3, 3)), upper=9.0, name="open")
    proof = certify(lo.solve(statement(lo.PureLDP(1.0), constraints=[open_])))
    assert recheck(replace(proof, residuals={})).holds


@pytest.mark.parametrize("side", [2.0**-400, -(2.0**-400)])
def test_a_residual_finer_than_the_grid_is_not_rounded_to_it(side):
    mechanism = lo.Mechanism([[0.5, 0.5]])
    ends = ([side], [np.inf]) if side > 0 else ([-np.inf], [side])
    block = RowBlock("fine", *map(np.array, ([0], [0], [0], [0.0], *ends)))
    assert residual_of(block, mechanism) == 2.0**-400


def test_the_gap_of_a_zero_bound_is_relative_to_the_stake_of_all_inputs():
    # All weight on an input that never loses proves no more than that a loss is not negative.
    problem = lo.Problem(
        None, lo.utility.table([[0, 0], [1, 2]], "loss"), lo.PureLDP(1.0), objective="worst_case"
    )
    idle = Multipliers("pairwise", None, np.array([1.0, 0.0]), PairRows.joined([]), ())
    proof = prove(problem, lo.solve(problem).mechanism, idle)
    assert proof.bound == 0 < proof.gap
    assert proof.relative_gap == 200  # a gap of 1 over a hundredth of the average spread, 1/2
    free = lo.Problem(
        None, lo.utility.table([[0, 0], [0, 0]], "loss"), lo.PureLDP(1.0), objective="worst_case"
    )
    assert prove(free, lo.solve(free).mechanism, idle).relative_gap == 0


@pytest.mark.parametrize("weight", [0.0, 2.0**-51, 2.0**-30, 0.25])
def test_the_gap_of_a_worst_case_is_relative_to_a_stake_that_does_not_vanish_with_the_multipliers(
    weight,
):
    # The first answer is always worth 0: any weight on the others is an error of the multipliers.
    matrix = [[0.0, 0.0], [4000.0, 0.0], [0.0, 1000.0]]
    problem = lo.Problem(
        None, lo.utility.table(matrix, "gain"), lo.PureLDP(1.0), objective="worst_case"
    )
    rough = Multipliers(
        "pairwise", None, np.array([1.0 - weight, weight, 0.0]), PairRows.joined([]), ()
    )
    proof = prove(problem, lo.solve(problem).mechanism, rough)
    bound = 4000 * Fraction(weight)
    assert (proof.achieved, proof.bound) == (0, bound)
    # a hundredth of a third of 1000
    assert proof.relative_gap == round_up(bound / max(bound, Fraction(1000, 300)))
