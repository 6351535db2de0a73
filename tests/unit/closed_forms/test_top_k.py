"""Top-k: results, wrong arguments, a million answers, and the least budget for a value."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from builders import refused
from ldpopt import closed_forms
from ldpopt.errors import StatementError

MILLION = 10**6


class TestTopK:
    def test_results_for_three_answers(self):
        form = closed_forms.top_k([0.2, 0.5, 0.3], 1.0)
        assert form.k == 2
        assert form.members.tolist() == [1, 2]
        assert form.thresholds == pytest.approx([1, 5 / 3, 3])
        assert form.dual.sum() == pytest.approx(form.value)
        assert form.dual[0] == 0

    @pytest.mark.parametrize(
        ("prior", "epsilon", "value", "k"),
        [
            ([1.0], 1.0, 1.0, 1),
            ([0.0, 1.0, 0.0], 2.0, 1.0, 1),
            ([0.25] * 4, 0.0, 0.25, 4),
            ([0.25] * 4, "log(5)", 5 / 8, 4),
            ([0.4, 0.4, 0.2], 0.0, 0.4, 2),
            ([0.5, 0.25, 0.25], 1e-9, 0.5, 1),
            ([0.5, 0.25, 0.25], 1e4, 1.0, 3),
            ([0.5, 0.5], "log(3)", 0.75, 2),
        ],
    )
    def test_extremes(self, prior, epsilon, value, k):
        form = closed_forms.top_k(prior, epsilon)
        assert form.value == pytest.approx(value, rel=1e-15)
        assert form.k == k

    def test_small_budgets_keep_their_digits(self):
        form = closed_forms.top_k([0.5, 0.5], 1e-9)
        low, high = form.exact_value()
        assert form.value - 0.5 == pytest.approx(2.5e-10, rel=1e-6)
        assert high / low - 1 < Fraction(1, 2**170)

    def test_weights_by_label_are_normalized(self):
        form = closed_forms.top_k({"no": 30, "yes": 10}, "log(3)")
        assert form.inputs == ("no", "yes")
        assert form.value == pytest.approx(0.75)
        assert set(form.sampler.sample(["no", "yes"] * 50, rng=1)) <= {"no", "yes"}

    @pytest.mark.parametrize(
        ("prior", "code"),
        [
            ([0.5, 0.47], "sum"),
            ([1.5, -0.5], "probability"),
            ([math.nan, 1.0], "probability"),
            ([], "shape"),
            ([[0.5, 0.5]], "shape"),
        ],
    )
    def test_wrong_priors_are_rejected(self, prior, code):
        with refused(code):
            closed_forms.top_k(prior, 1.0)

    @pytest.mark.parametrize(
        ("prior", "words"), [({"a": 0, "b": 0}, "sum to 0"), (["x"], "the prior")]
    )
    def test_priors_that_are_no_numbers_are_rejected(self, prior, words):
        with pytest.raises(StatementError, match=words):
            closed_forms.top_k(prior, 1.0)

    @pytest.mark.parametrize("delta", [-0.1, 1.1, math.nan, "much"])
    def test_wrong_deltas_are_rejected(self, delta):
        with pytest.raises(StatementError, match="delta"):
            closed_forms.top_k([0.5, 0.5], 1.0, delta)

    def test_a_matrix_that_does_not_fit_into_memory_is_rejected(self):
        form = closed_forms.top_k(np.full(MILLION, 1 / MILLION), 1.0)
        with pytest.raises(StatementError, match="GiB"):
            _ = form.mechanism

    def test_a_million_answers_need_little_memory(self):
        weights = 1 / np.arange(1, MILLION + 1) ** 1.1
        prior = np.random.default_rng(1).permutation(weights / weights.sum())
        tracemalloc.start()
        form = closed_forms.top_k(prior, 8.0, 0.01)
        reports = form.sampler.sample(np.arange(0, MILLION, 10), rng=1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert form.k == np.count_nonzero(form.thresholds <= math.exp(8))
        assert np.isin(reports, form.members).mean() > 0.98
        assert peak < 250e6


class TestLeastEpsilon:
    @pytest.mark.parametrize(
        ("prior", "value", "delta", "epsilon"),
        [
            ([0.5, 0.5], 0.75, 0.0, math.log(3)),
            ([0.8, 0.2], 0.8, 0.0, 0.0),
            ([0.8, 0.2], 0.5, 0.0, 0.0),
            ([0.5, 0.5], 1.0, 0.0, math.inf),
            ([0.0, 1.0], 1.0, 0.0, 0.0),
            ([0.5, 0.5], 1.0, 1.0, 0.0),
            ([0.5, 0.5], 0.8, 0.2, math.log(3)),
            ([0.1] * 10, 1.0, 0.0, math.inf),
        ],
    )
    def test_values(self, prior, value, delta, epsilon):
        assert closed_forms.least_epsilon(prior, value, delta) == pytest.approx(epsilon, rel=1e-14)

    def test_values_above_one_are_rejected(self):
        with pytest.raises(StatementError, match=r"value = 1\.5"):
            closed_forms.least_epsilon([0.5, 0.5], 1.5)
