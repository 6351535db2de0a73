"""A plug-in whose definition is curved: Renyi privacy of order 2 by its tangents.

``sum_y P_x(y)**2 / P_k(y) <= e**epsilon`` for all pairs. For every ``r >= 0`` the square ``p**2 /
q`` is at least ``2 r p - r**2 q``, so that tangents are rows that cut off no private channel.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from builders import refused, thorough_or, where_installed
from ldpopt import Audit, Budget, RowBlock
from ldpopt.auditing.exact_matrices import exact
from ldpopt.errors import CertificateError, NotRepresentableError, StatementError
from ldpopt.foundation.budget import round_up
from ldpopt.mechanism.repair import repair
from ldpopt.privacy import GaussianLDP, SeparableNotion
from ldpopt.testing import check_notion

STEEPEST = 1e4  # slope of the steepest tangent: HiGHS refuses coefficients of 1e15


@dataclass(frozen=True)
class Renyi(SeparableNotion):
    """Renyi privacy of order 2; ``steepest`` bounds the slopes of its tangents."""

    epsilon: Budget
    steepest: float = STEEPEST

    def rows(self, inputs: Any, n_outputs: int) -> RowBlock:
        raise NotRepresentableError("a curve has no list of rows", do="let solve() generate them")

    def separate(self, channel: Any, inputs: Any) -> RowBlock | None:
        most = float(self.epsilon.enclosure()[0])
        parts = []
        for x, k in itertools.permutations(range(len(channel)), 2):
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = np.nan_to_num(channel[x] / channel[k], nan=1.0, posinf=np.inf)
            slope = np.minimum(slope, self.steepest)
            if (2 * slope * channel[x] - slope**2 * channel[k]).sum() > most + 1e-13:
                parts.append(self.tangent(x, k, slope))
        return RowBlock.joined("privacy", parts) if parts else None

    def tangent(self, x: int, k: int, slope: Any) -> RowBlock:
        m = len(slope)
        ends = np.repeat([x, k], m), np.tile(np.arange(m), 2)
        below = -np.nextafter(slope**2, np.inf)
        upper = np.array([round_up(self.epsilon.enclosure()[1])])
        values = np.concatenate([2 * slope, below])
        return RowBlock("privacy", np.zeros(2 * m, int), *ends, values, np.array([-np.inf]), upper)

    def is_valid(self, block: RowBlock) -> bool:
        """Whether each row is at most ``sum 2 r P_x - r**2 P_k`` for some ``r``, exactly."""
        for row in range(len(block)):
            mine = block.row == row
            over: dict[Any, Fraction] = {}
            under: dict[Any, Fraction] = {}
            places = zip(block.x[mine].tolist(), block.y[mine].tolist(), strict=True)
            for place, value in zip(places, block.coefficient[mine].tolist(), strict=True):
                (over if value > 0 else under)[place] = Fraction(value)
            first, second = {x for x, _ in over}, {x for x, _ in under}
            if not (len(first) <= 1 >= len(second)) or first & second or not second:
                return False
            k = next(iter(second))
            is_below = all((v / 2) ** 2 <= -under.get((k, y), 0) for (_, y), v in over.items())
            if not is_below or Fraction(block.upper[row]) < self.epsilon.enclosure()[1]:
                return False
        return not np.isfinite(block.lower).any()

    def audit(self, channel: Any) -> Audit:
        matrix = exact(channel)
        low, high = self.epsilon.enclosure()
        worst = Fraction(1)
        for p, q in itertools.permutations(matrix.entries.tolist(), 2):
            if any(a and not b for a, b in zip(p, q, strict=True)):
                return Audit(math.inf, 0.0, None, "violated")
            squares = sum(Fraction(a * a, b) for a, b in zip(p, q, strict=True) if b)
            worst = max(worst, squares / matrix.denominator)
        verdict = "certified" if worst <= low else "violated" if worst > high else "undecided"
        epsilon = math.log(worst)
        return Audit(
            min(epsilon, self.epsilon) if verdict == "certified" else epsilon, 0.0, None, verdict
        )


def symmetric(n: int, epsilon: float) -> float:
    """Probability of the truth in the best symmetric channel, by halving the exact condition."""

    def squares(p: float) -> float:
        q = (1 - p) / (n - 1)
        return p * p / q + q * q / p + (n - 2) * q

    low, high = 1 / n, 1 - 1e-12
    for _ in range(60):
        p = (low + high) / 2
        low, high = (p, high) if squares(p) <= math.exp(epsilon) else (low, p)
    return low


@pytest.mark.parametrize(("n", "value"), [(2, 0.6868), (3, 0.5481), (4, 0.4667)])
def test_the_best_channel_for_the_truth(n: int, value: float) -> None:
    found = lo.solve(lo.Problem(np.full(n, 1 / n), "identity", Renyi(Budget(0.5))))
    assert found.value == pytest.approx(value, abs=5e-5)
    assert found.value == pytest.approx(symmetric(n, 0.5), abs=1e-9)
    proof = lo.certify(found)
    assert proof.relative_gap < 1e-6
    assert proof.audit.verdict == "certified"
    assert not proof.recheck()


@pytest.mark.parametrize("seed", range(4))
def test_a_drawn_gain_is_proved(seed: int) -> None:
    """Its proof is that of the tangents; no channel on the way to a constant one is better."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 3
    gain, prior, notion = rng.random((n, n)), rng.dirichlet(np.ones(n)), Renyi(Budget(0.8))
    proof = lo.certify(lo.solve(lo.Problem(prior, gain, notion)))
    assert proof.relative_gap < 1e-6
    for _ in range(20):
        other = repair(rng.dirichlet(np.ones(n), n), notion).mechanism
        assert (prior @ (gain * other.channel).sum(axis=1)) <= float(proof.bound)


@pytest.mark.long
def test_it_passes_all_checks() -> None:
    check_notion(Renyi(Budget(0.5)), post_processing=True)


class Unproved(Renyi):
    """Does not say that its rows are valid."""

    def is_valid(self, block: RowBlock) -> bool:
        return False


class TooStrict(Renyi):
    """Its rows cut off private channels."""

    def tangent(self, x: int, k: int, slope: Any) -> RowBlock:
        block = super().tangent(x, k, slope)
        return replace(block, upper=0.97 * block.upper)


def test_rows_that_are_not_stated_to_be_valid_prove_nothing() -> None:
    found = lo.solve(lo.Problem([0.5, 0.5], "identity", Unproved(Budget(0.5))))
    assert found.value == pytest.approx(0.6868, abs=5e-5)
    assert any("is_valid" in note for note in found.notes)
    with refused("generated-rows", CertificateError):
        lo.certify(found)
    stated = lo.solve(lo.Problem([0.5, 0.5], "identity", Renyi(Budget(0.5))))
    assert not any("is_valid" in note for note in stated.notes)


def test_rows_that_cut_off_private_channels_are_found() -> None:
    notion = TooStrict(Budget(0.5))
    with pytest.raises(AssertionError, match="cuts off"):
        check_notion(notion, only=["private channels"])
    with refused("generated-rows", CertificateError):
        lo.certify(lo.solve(lo.Problem([0.5, 0.5], "identity", notion)))


def test_why_a_solver_refuses_a_steep_tangent() -> None:
    with refused("steep-coefficient", StatementError):
        lo.solve(lo.Problem([0.5, 0.5], "identity", Renyi(Budget(0.5), 1e10)))


def test_the_file_of_a_plug_in_without_a_form_is_refused(tmp_path: Any) -> None:
    proof = lo.certify(lo.solve(lo.Problem([0.5, 0.5], "identity", Renyi(Budget(0.5)))))
    with refused("notion-rows", CertificateError):
        proof.save(tmp_path / "proof.json")


@pytest.mark.parametrize("solver", where_installed("highs", "cbc", "cvxpy", "piqp"))
def test_every_solver_ends_with_a_proof(solver: str) -> None:
    prior = thorough_or([0.6, 0.4], [0.5, 0.3, 0.2])
    problem = lo.Problem(prior, "identity", GaussianLDP(1))
    best = lo.solve(problem).value
    found = lo.solve(problem, solver=solver)
    assert found.value == pytest.approx(best, abs=1e-6)
    assert lo.certify(found).relative_gap < 1e-5


def test_a_requested_gap_ends_the_rounds() -> None:
    rng = np.random.default_rng(2)
    problem = lo.Problem(rng.dirichlet(np.ones(4)), rng.random((4, 4)), GaussianLDP(1))
    rough, fine = (lo.solve(problem, gap=gap) for gap in (1e-2, None))
    rounds = [int(found.steps[-1].split()[0]) for found in (rough, fine)]
    assert rounds[0] < rounds[1]
    assert lo.certify(rough).relative_gap < 1e-2
