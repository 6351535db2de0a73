"""Gaussian privacy: values, audits at the border, tangents, and what is refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from builders import refused, thorough_or
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.normal import normal_cdf, probit
from ldpopt.privacy import GaussianLDP
from ldpopt.privacy.notion import with_epsilon
from ldpopt.solving.formulation import formulate

NORMAL = NormalDist()
VALUES = [
    (2, 1, 0.69146246),
    (3, "0.5", 0.45692849),
    (3, 1, 0.57806162),
    (4, 1, 0.50846563),
    (5, 1, 0.45928378),
]


def largest_difference(channel: Any) -> float:
    """Largest difference of two probits over all events, by enumeration in floats."""
    n, m = np.shape(channel)
    worst = 0.0
    for x, k in itertools.permutations(range(n), 2):
        for size in range(1, m):
            for event in itertools.combinations(range(m), size):
                p, q = (float(sum(channel[row][y] for y in event)) for row in (x, k))
                if 0 < p < 1 and 0 < q < 1:
                    worst = max(worst, NORMAL.inv_cdf(p) - NORMAL.inv_cdf(q))
                elif p > q:
                    return math.inf
    return worst


def symmetric(n: int, mu: float) -> float:
    """Value of the best symmetric channel, by halving."""
    low, high = 1 / n, 1 - 1e-9
    for _ in range(60):
        p = (low + high) / 2
        table = np.full((n, n), (1 - p) / (n - 1))
        np.fill_diagonal(table, p)
        low, high = (p, high) if largest_difference(table) <= mu else (low, p)
    return low


@pytest.mark.parametrize(("n", "mu", "value"), thorough_or(VALUES[:3], VALUES))
def test_the_best_channel_for_the_truth_is_symmetric(n: int, mu: Any, value: float) -> None:
    found = lo.solve(lo.Problem(np.full(n, 1 / n), "identity", GaussianLDP(mu)))
    proof = lo.certify(found)
    assert found.value == pytest.approx(value, abs=6e-9)
    assert found.value == pytest.approx(symmetric(n, float(mu)), abs=1e-9)
    assert proof.relative_gap < 1e-12
    audit = found.mechanism.audit(GaussianLDP(mu))
    assert audit.verdict == "certified"
    assert audit.mu <= float(mu)
    assert largest_difference(found.mechanism.channel) <= float(mu) + 1e-12


@pytest.mark.parametrize("seed", range(thorough_or(2, 16)))
def test_the_optimum_of_drawn_gains_is_proved_and_near_its_budget(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, mu = int(rng.integers(2, 5)), int(rng.integers(2, 5)), float(rng.uniform(0.1, 3.0))
    constraint = (
        [] if seed % 2 else [lo.constraints.linear(np.ones((n, m)) * rng.random(m), 0.1 * n)]
    )
    problem = lo.Problem(
        rng.dirichlet(np.ones(n)),
        lo.Utility(rng.random((n, m)), ("gain", "loss")[seed % 3 == 0]),
        GaussianLDP(mu),
        constraints=constraint,
    )
    found = lo.solve(problem)
    assert lo.certify(found).relative_gap < 1e-9
    assert largest_difference(found.mechanism.channel) <= mu + 1e-11


def test_a_worst_case_is_solved() -> None:
    problem = lo.Problem(None, "identity", GaussianLDP(1), inputs=[0, 1, 2], objective="worst_case")
    found = lo.solve(problem)
    assert found.value == pytest.approx(0.57806162, abs=6e-9)  # the best channel is symmetric
    assert lo.certify(found).relative_gap < 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_the_audit_finds_the_largest_difference_of_all_events(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    counts = rng.multinomial((9, 1000)[seed % 2], rng.dirichlet(np.full(m, 0.6), n))
    channel = [[Fraction(int(count), int(row.sum())) for count in row] for row in counts]
    expected = largest_difference(channel)
    found = lo.audit(channel, GaussianLDP(1))
    assert found.mu == pytest.approx(expected, abs=1e-9)
    if abs(expected - 1) > 1e-9:
        assert found.verdict == ("certified" if expected < 1 else "violated")


def test_the_verdict_turns_at_one_unit_of_a_mass() -> None:
    """Masses over 2**53 next to ``Phi(1)``, of which the lower is private at ``mu = 2``."""
    unit = 2**53
    top = int(normal_cdf(Fraction(1))[0] * unit)
    assert top < normal_cdf(Fraction(1))[0] * unit < top + 1
    for mass, verdict in ((top, "certified"), (top + 1, "violated")):
        rows = [[Fraction(mass, unit), Fraction(unit - mass, unit)]]
        rows.append(rows[0][::-1])
        assert lo.audit(rows, GaussianLDP(2)).verdict == verdict


@pytest.mark.parametrize(
    ("rows", "verdict", "mu"),
    [
        ([[1, 0], [1, 0]], "certified", 0.0),
        ([[0.5, 0.5], [1, 0]], "violated", math.inf),
        ([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]], "violated", math.inf),
        ([[1.0]], "certified", 0.0),
    ],
)
def test_zeros(rows: Any, verdict: str, mu: float) -> None:
    found = lo.audit(rows, GaussianLDP(20))
    assert (found.verdict, found.mu) == (verdict, mu)
    assert (found.witness is None) == (mu == 0)


def test_the_audit_speaks_of_mu() -> None:
    found = lo.audit([[0.75, 0.25], [0.25, 0.75]], GaussianLDP(1))
    assert found.numbers_text(4) == "mu 1.349: violated"
    assert "smallest mu" in str(found.facts())
    assert found.epsilon == pytest.approx(math.log(3))
    assert found.delta_at("log(2)") == pytest.approx(0.25)


@pytest.mark.parametrize("mu", [Fraction(1, 10), Fraction(1), Fraction(7, 2), Fraction(20)])
def test_no_tangent_cuts_off_a_point_of_the_curve(mu: Fraction) -> None:
    """The curve at many points, enclosed, lies below tangents of all slopes, and touches them."""
    notion = GaussianLDP(str(mu))
    for ratio in (1.0, 0.9, 0.5, 1e-3, 1e-30, 3.0):
        b = Fraction(ratio)
        height = notion.excess(b)
        z = (math.log(ratio)) / float(mu) - float(mu) / 2
        gaps = []
        for shift in (-3.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 3.0):
            at = Fraction(z + shift)
            low, high = normal_cdf(at + mu)[1], normal_cdf(at)[0]
            gaps.append(height - (b * low - high))
            assert b * normal_cdf(at + mu)[0] - normal_cdf(at)[1] <= height
        assert float(min(gaps)) < 1e-12


@pytest.mark.parametrize("mu", [0.1, 1, "7/2"])
def test_rows_are_those_of_the_deltas_of_all_epsilons(mu: Any) -> None:
    """``excess(e**-epsilon)`` is ``delta(epsilon) e**-epsilon`` of Balle and Wang 2018."""
    number = float(Fraction(str(mu)))
    for epsilon in (0.0, 0.3, 2.0, 7.0):
        delta = NORMAL.cdf(number / 2 - epsilon / number) - math.exp(epsilon) * NORMAL.cdf(
            -number / 2 - epsilon / number
        )
        found = float(GaussianLDP(mu).excess(Fraction(math.exp(-epsilon))))
        assert found == pytest.approx(math.exp(-epsilon) * delta, abs=1e-13)


def test_separation_finds_what_the_audit_finds() -> None:
    rng = np.random.default_rng(1)
    notion = GaussianLDP(1)
    found = 0
    tries = thorough_or(24, 60)
    for _ in range(tries):
        channel = rng.dirichlet(np.ones(4), 3)
        channel = channel.mean(axis=0) + rng.random() * (channel - channel.mean(axis=0))
        block = notion.separate(channel, range(3))
        assert (block is None) == (lo.audit(channel, notion).verdict == "certified")
        found += block is not None
        if block is not None:
            assert block.violation(channel).max() > 0
    assert tries / 12 < found < tries * 11 / 12


def test_a_mechanism_keeps_its_notion_in_a_file(tmp_path: Any) -> None:
    problem = lo.Problem([0.5, 0.5], "identity", GaussianLDP("1/3"))
    lo.save_model(problem, tmp_path / "model.toml")
    assert 'mu = "1/3"' in (tmp_path / "model.toml").read_text()
    assert lo.load_model(tmp_path / "model.toml").privacy == GaussianLDP("1/3")


@pytest.mark.parametrize(
    ("mu", "code"),
    [
        (0, "zero-mu"),
        (-1, "rational"),
        (21, "rational"),
        ("log(3)", "rational"),
        (math.nan, "rational"),
        (True, "rational"),
        (None, "rational"),
        ("1e-2000", "rational"),
    ],
)
def test_what_is_no_mu(mu: Any, code: str) -> None:
    with refused(code):
        GaussianLDP(mu)


def test_what_has_no_rows_and_no_epsilon() -> None:
    problem = lo.Problem([0.5, 0.5], "identity", GaussianLDP(1))
    with refused("curved", NotRepresentableError):
        formulate(problem)
    with refused("curved", NotRepresentableError):
        lo.solve(problem, form="pairwise")
    with refused("no-epsilon"):
        with_epsilon(problem.privacy, lo.Budget(1.0))


def test_decimals_are_exact() -> None:
    assert GaussianLDP(0.1) == GaussianLDP("0.1") == GaussianLDP("1/10")
    assert repr(GaussianLDP("1/3")) == "GaussianLDP('1/3')"
    low, high = probit(normal_cdf(Fraction(1, 3))[0])
    assert low <= Fraction(1, 3)
    assert high - low < Fraction(1, 2**150)
