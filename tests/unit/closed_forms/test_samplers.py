"""Samplers of closed forms: their probabilities are the channel, and draws follow them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from ldpopt import closed_forms
from ldpopt.errors import StatementError


def rejects(count_of_tests, pvalue):
    """Whether a chi-square test at a false alarm rate of 1e-6 over the file speaks against the
    sampler."""
    return pvalue < 1e-6 / count_of_tests


class TestSamplers:
    def forms(self):
        return [
            closed_forms.top_k([0.4, 0.3, 0.2, 0.1], 1.2, 0.1),
            closed_forms.minimax(5, 0.7),
            closed_forms.bins([0.1, 0.2, 0.3, 0.4], [3, 1, 2, 0], 1.0),
            closed_forms.path_graph([0.1, 0.3, 0.2, 0.4], 0.5),
            closed_forms.path_graph([0.2, 0.2, 0.2, 0.2, 0.2], 2.0),
            closed_forms.path_graph([0.5, 0.5], 0.0),
        ]

    def test_probabilities_are_the_channel_up_to_rounding(self):
        for form in self.forms():
            for x, row in enumerate(form.channel):
                probabilities = form.sampler.probabilities(x)
                assert [float(probabilities.get(y, 0)) for y in range(len(row))] == pytest.approx(
                    row, abs=1e-14
                )

    @pytest.mark.parametrize("rng", [5, None], ids=["seeded", "system"])
    def test_draws_follow_the_probabilities(self, rng):
        for form in self.forms():
            n = len(form.inputs)
            size = 20_000
            for x in range(n):
                probabilities = form.sampler.probabilities(x)
                counts = np.bincount(form.sampler.draw(np.full(size, x), rng=rng), minlength=n)
                assert counts.sum() == counts[sorted(probabilities)].sum()
                if len(probabilities) > 1:
                    expected = (
                        np.array([float(probabilities[y]) for y in sorted(probabilities)]) * size
                    )
                    assert not rejects(
                        50, stats.chisquare(counts[sorted(probabilities)], expected).pvalue
                    )

    @pytest.mark.parametrize("size", [2, 16, 3000])
    def test_reports_of_the_system_take_a_byte_and_a_word_if_they_are_replaced(
        self, size, monkeypatch
    ):
        drawn = []
        generator = np.random.default_rng(size)

        def system(count):
            drawn.append(count)
            return generator.bytes(count)

        sampler = closed_forms.randomized_response(size, 1.0).sampler
        answers = np.arange(size).repeat(60_000 // size)
        monkeypatch.setattr("os.urandom", system)
        reports = sampler.draw(answers)
        replaced = int((reports != answers).sum())
        words = 8 * replaced if size > 2 else 0  # there is one other answer
        assert sum(drawn) == pytest.approx(len(answers) + words, rel=0.05)
        truth = float(sampler.probabilities(0)[0])
        assert not rejects(50, stats.binomtest(replaced, len(answers), 1 - truth).pvalue)
        distance = np.bincount((reports - answers) % size, minlength=size)[1:]
        if size > 2:
            assert not rejects(50, stats.chisquare(distance).pvalue)

    def test_a_seed_repeats_and_a_generator_advances(self):
        sampler = closed_forms.randomized_response(9, 1.0).sampler
        answers = np.arange(9).repeat(20)
        assert (sampler.draw(answers, rng=3) == sampler.draw(answers, rng=3)).all()
        generator = np.random.default_rng(3)
        assert (sampler.draw(answers, rng=generator) != sampler.draw(answers, rng=generator)).any()

    @pytest.mark.parametrize("answers", [[3], [-1], [0.5], [[0]], ["a"]])
    def test_wrong_codes_are_rejected(self, answers):
        with pytest.raises(StatementError):
            closed_forms.randomized_response(3, 1.0).sampler.sample(answers)

    def test_no_answers_no_reports(self):
        assert len(closed_forms.randomized_response(3, 1.0).sampler.sample([])) == 0

    def test_tiny_budgets_give_uniform_reports(self):
        sampler = closed_forms.minimax(3, 1e-17).sampler
        assert sampler.probabilities(0) == {0: Fraction(1, 3), 1: Fraction(1, 3), 2: Fraction(1, 3)}
