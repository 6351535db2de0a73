"""The worst prior in a ball, in a box and in a convex hull."""

from __future__ import annotations

import numpy as np
import pytest

from builders import refused
from ldpopt import closed_forms


class TestWorstPrior:
    def test_ball(self):
        found = closed_forms.worst_prior_in_ball([0.6, 0.3, 0.1], 0.1)
        assert found == pytest.approx([0.5, 0.3, 0.2])
        assert closed_forms.worst_prior_in_ball([0.6, 0.3, 0.1], 0.9) == pytest.approx([1 / 3] * 3)
        assert closed_forms.worst_prior_in_ball([0.6, 0.3, 0.1], 0.0) == pytest.approx(
            [0.6, 0.3, 0.1]
        )

    def test_ball_is_the_worst_of_random_priors_in_it(self):
        generator = np.random.default_rng(0)
        center = np.array([0.5, 0.3, 0.15, 0.05])
        worst = closed_forms.top_k(closed_forms.worst_prior_in_ball(center, 0.12), 1.0).value
        for _ in range(200):
            step = generator.normal(size=4)
            step -= step.mean()
            other = center + step * (0.24 / np.abs(step).sum())
            if (other >= 0).all():
                assert closed_forms.top_k(other / other.sum(), 1.0).value >= worst - 1e-12

    @pytest.mark.parametrize(
        ("low", "high", "code"),
        [
            ([0.6, 0.6], [1, 1], "bounds"),
            ([0, 0], [0.4, 0.4], "bounds"),
            ([0.5, 0.2], [0.4, 1], "interval"),
        ],
    )
    def test_empty_boxes_are_rejected(self, low, high, code):
        with refused(code):
            closed_forms.worst_prior(low, high)

    def test_robust_value_of_all_priors_is_minimax(self):
        found = closed_forms.robust_value(np.eye(4), 0.9, 0.05)
        assert found.value == pytest.approx(closed_forms.minimax(4, 0.9, 0.05).value, abs=1e-9)
        assert closed_forms.top_k(found.worst_prior, 0.9, 0.05).value == pytest.approx(
            found.value, abs=1e-9
        )

    def test_robust_value_of_one_prior_is_top_k(self):
        prior = [0.5, 0.3, 0.2]
        assert closed_forms.robust_value([prior], 1.0).value == pytest.approx(
            closed_forms.top_k(prior, 1.0).value
        )
