"""Private channels made from nearly private ones."""

from __future__ import annotations

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.solving.interior.pricing import project_to_private


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 40.0, 1000.0])
def test_a_projected_channel_is_private_and_near(epsilon, delta, off):
    rng = np.random.default_rng(1)
    b = np.exp(-epsilon)
    for _ in range(20):
        top = rng.dirichlet(np.ones(4)) / (b + rng.random())
        channel = rng.uniform(b * top, top + delta, (6, 4))
        channel /= channel.sum(axis=1, keepdims=True)
        channel = project_to_private(channel, b, delta) * (1 + off * rng.uniform(-1, 1, (6, 1)))
        made = project_to_private(channel, b, delta)
        assert made.sum(axis=1) == pytest.approx(1, abs=1e-14)
        assert (b * (made.max(axis=0) - delta) <= made * (1 + 1e-14) + 1e-16).all()
        assert np.abs(made - channel).max() <= 20 * off / min(1.0, epsilon + delta) + 1e-12


def test_rows_without_weight_do_not_change_the_others():
    """Such rows may lack mass when the interior point ends; scaling them up would exceed delta."""
    rng = np.random.default_rng(330)
    prior = np.where(np.arange(5) == 0, 1 - 1e-6, 1e-6 / 4)
    for _ in range(20):
        problem = lo.Problem(
            prior, lo.Utility(rng.normal(size=(5, 12))), lo.ApproximateLDP(1e-3, 0.3, form="entry")
        )
        assert lo.certify(lo.solve(problem, solver="interior")).relative_gap <= 1e-10
