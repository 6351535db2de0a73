"""Draws of mean protocols, on grids so small that every probability can be listed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from ldpopt import mean
from ldpopt.errors import StatementError
from ldpopt.mechanism.exact_draws import TOTAL


class SmallPiecewise(mean.Piecewise):
    cell_bits = 5


class SmallSquareWave(mean.SquareWave):
    cell_bits = 5


class SmallLaplace(mean.Laplace):
    bits = 4


BANDED = [SmallPiecewise, SmallSquareWave]


def band_rows(protocol):
    """Each row from the definition: the band's mass spread over its cells, the rest over all."""
    share = Fraction(protocol.levels.mass, TOTAL)
    width, cells = protocol.band_cells, protocol.cells
    rows = []
    for start in range(cells - width + 1):
        inside = [
            share / width if start <= cell < start + width else Fraction(0) for cell in range(cells)
        ]
        rows.append([mass + (1 - share) / cells for mass in inside])
    return rows


def laplace_rows(protocol, reach, number=float):
    """Noise ``z + 1/2`` of two-sided geometric size; reports from ``-reach`` to ``points +
    reach``."""
    powers = [
        number(1 - Fraction(1, protocol.scale)) ** z / (2 * protocol.scale)
        for z in range(protocol.points + reach)
    ]
    reports = range(-reach, protocol.points + reach)
    return [
        [powers[y - i if y >= i else i - y - 1] for y in reports]
        for i in range(protocol.points + 1)
    ]


def worst_delta(rows, budget):
    table = np.array(rows, dtype=float)
    ratio = math.exp(budget)
    return max(np.maximum(p - ratio * q, 0).sum() for p, q in itertools.permutations(table, 2))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, "log(3)", 4.0])
@pytest.mark.parametrize("kind", BANDED)
class TestBanded:
    def test_audit(self, kind, epsilon):
        protocol = kind(epsilon)
        rows = band_rows(protocol)
        audit = protocol.audit()
        assert all(sum(row) == 1 for row in rows)
        ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
        assert ratio <= protocol.epsilon.enclosure()[0]
        assert audit.verdict == "certified"
        assert audit.epsilon == pytest.approx(math.log(ratio), rel=1e-12)
        for share in (0.0, 0.5, 0.99):
            budget = share * float(protocol.epsilon)
            assert audit.delta_at(budget) == pytest.approx(worst_delta(rows, budget), rel=1e-9)

    def test_mean_and_variance(self, kind, epsilon):
        protocol = kind(epsilon)
        low, high = protocol.domain
        centers = (
            protocol.middle
            + (2 * np.arange(protocol.cells) - protocol.cells + 1) * protocol.half_cell
        )
        for x, row in zip(
            np.linspace(low, high, protocol.steps + 1), band_rows(protocol), strict=True
        ):
            masses = np.array(row, dtype=float)
            first = masses @ centers
            assert first == pytest.approx(
                protocol.offset + protocol.slope * x, abs=1e-12 * protocol.report_range[1]
            )
            assert protocol.variance(x) == pytest.approx(
                masses @ (centers - first) ** 2 / protocol.slope**2, rel=1e-9
            )

    def test_draws_follow_the_distribution(self, kind, epsilon):
        protocol = kind(epsilon)
        low, high = protocol.domain
        for start in (0, protocol.steps // 3, protocol.steps):
            x = low + (high - low) * start / protocol.steps
            reports = protocol.privatize(np.full(40_000, x), rng=2)
            cells = np.rint(
                ((reports - protocol.middle) / protocol.half_cell + protocol.cells - 1) / 2
            ).astype(int)
            expected = np.array(band_rows(protocol)[start], dtype=float) * 40_000
            assert chisquare(np.bincount(cells, minlength=protocol.cells), expected).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [0.2, 1.0, "log(3)", 4.0])
class TestLaplace:
    def test_audit(self, epsilon):
        protocol = SmallLaplace(epsilon)
        rows = laplace_rows(protocol, 400)
        audit = protocol.audit()
        assert sum(rows[0]) == pytest.approx(1, abs=1e-9)
        ratio = max(
            max(column) / min(column)
            for column in zip(*laplace_rows(protocol, 2, Fraction), strict=True)
        )
        assert (
            ratio <= protocol.epsilon.enclosure()[0] < ratio * protocol.scale / (protocol.scale - 1)
        )
        assert audit.verdict == "certified"
        assert audit.epsilon == pytest.approx(math.log(ratio), rel=1e-12)
        for share in (0.0, 0.3, 0.5, 0.9):
            budget = share * float(protocol.epsilon)
            assert audit.delta_at(budget) == pytest.approx(
                worst_delta(rows, budget), rel=1e-9, abs=1e-12
            )
        assert audit.delta_at(float(protocol.epsilon) + 1) == 0

    def test_mean_and_variance(self, epsilon):
        protocol = SmallLaplace(epsilon)
        reports = (np.arange(-400, protocol.points + 400) + 0.5) * 2 / protocol.points - 1
        for x, row in zip(
            np.linspace(-1, 1, protocol.points + 1), laplace_rows(protocol, 400), strict=True
        ):
            masses = np.array(row, dtype=float)
            assert masses @ reports == pytest.approx(x, abs=1e-6)
            assert protocol.variance(x) == pytest.approx(masses @ (reports - x) ** 2, rel=1e-6)

    def test_draws_follow_the_distribution(self, epsilon):
        protocol = SmallLaplace(epsilon)
        reports = protocol.privatize(np.full(40_000, -1.0), rng=2)
        places = np.rint((reports + 1) * protocol.points / 2 - 0.5).astype(int)
        kept = places[np.abs(places) <= 60]
        row = np.array(laplace_rows(protocol, 60)[0][:121])
        assert (
            chisquare(np.bincount(kept + 60, minlength=121), row / row.sum() * len(kept)).pvalue
            > 1e-6
        )


def test_rounded_answers_stay_among_the_points():
    """Beyond 2**53 points floats round: the last answer must not leave by what they round up."""
    for epsilon in (0.3, 1.1, 1.3, 3.7, 77.7, 700.0, 9999.9):
        protocol = mean.Laplace(epsilon)
        assert protocol._nearest_point(np.array([-1.0]))[0] == 0
        assert (
            protocol.points * (1 - 1e-15)
            <= protocol._nearest_point(np.array([1.0]))[0]
            <= protocol.points
        )
        for banded in (mean.Piecewise(epsilon), mean.SquareWave(epsilon)):
            high = np.full(2000, banded.domain[1])
            assert banded.privatize(high, rng=1).max() <= banded.report_range[1]


def test_the_operating_systems_bits_serve():
    for kind in (mean.Laplace, mean.Piecewise, mean.Hybrid, mean.SquareWave):
        protocol = kind(1.0)
        assert protocol.estimate(protocol.privatize(np.full(2000, 0.5))).values[0] == pytest.approx(
            0.5, abs=1
        )


@pytest.mark.parametrize(
    "kind", [mean.Laplace, mean.Piecewise, mean.SquareWave, mean.RandomCensoring, mean.DuchiVector]
)
def test_budgets_below_the_masses_are_refused(kind):
    with pytest.raises(StatementError):
        kind(1e-17, 2) if kind is mean.DuchiVector else kind(1e-17)
