"""Samplers of closed forms: their probabilities are the channel, and draws follow them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from builders import thorough_or
from ldpopt import closed_forms
from ldpopt.closed_forms.form import ResponseSampler
from ldpopt.errors import StatementError
from ldpopt.mechanism.exact_draws import TOTAL, uniform_below


def rejects(count_of_tests, pvalue):
    """Whether a chi-square test at a false alarm rate of 1e-6 over the file speaks against the
    sampler."""
    return pvalue < 1e-6 / count_of_tests


def plain_responses(sampler, answers, generator):
    """Randomized response by numpy from the words of a generator."""

    def source(count):
        return generator.integers(0, TOTAL - 1, count, np.uint64, endpoint=True)

    parts = []
    k = len(sampler.members)
    for start in range(0, len(answers), 1 << 15):
        part = answers[start : start + (1 << 15)]
        position = uniform_below(k, len(part), source)
        own = sampler.member_index[part]
        if not sampler.is_uniform and k > 1:
            other = uniform_below(k - 1, len(part), source)
            other += other >= own
            keeps = source(len(part)) < np.uint64(sampler.truth_mass)
            position = np.where(own >= 0, np.where(keeps, own, other), position)
        reports = sampler.members[position]
        if sampler.delta_mass:
            told = source(len(part)) < np.uint64(sampler.delta_mass)
            reports = np.where(told, part, reports)
        parts.append(reports)
    return np.concatenate(parts)


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

    @pytest.mark.parametrize("size", [2, 16, 3000, 70_000])
    def test_reports_of_the_system_take_two_bytes_and_a_word_if_these_do_not_decide(
        self, size, monkeypatch
    ):
        drawn = []
        generator = np.random.default_rng(size)

        def system(count):
            drawn.append(count)
            return generator.bytes(count)

        sampler = closed_forms.randomized_response(size, 1.0).sampler
        answers = np.arange(size).repeat(max(1, 60_000 // size))
        monkeypatch.setattr("os.urandom", system)
        reports = sampler.draw(answers)
        replaced = int((reports != answers).sum())
        truth = float(sampler.probabilities(0)[0])
        values = 65535 - int(truth * 65536)
        rest = values % (size - 1) / values  # of the replaced ones; one other answer takes no word
        words = 8 * replaced * rest if size > 2 else 0
        assert sum(drawn) == pytest.approx(2 * len(answers) + words, rel=0.05)
        assert not rejects(50, stats.binomtest(replaced, len(answers), 1 - truth).pvalue)
        distance = np.bincount((reports - answers) % size, minlength=size)[1:]
        if size > 2:
            assert not rejects(50, stats.chisquare(distance).pvalue)

    @pytest.mark.parametrize("size", [2, 3, 16, 1000, 40_000, 70_000])
    @pytest.mark.parametrize("epsilon", thorough_or([1.0, 30.0], [0.3, 1.0, 30.0]))
    def test_the_first_bits_and_the_others_have_the_exact_law(self, size, epsilon):
        """Of all values of the first 16 bits some keep the answer, one may, and each other answer
        has equally many; the others draw one of them evenly."""
        sampler = closed_forms.randomized_response(size, epsilon).sampler
        own = np.ones(1 << 16, np.int64)
        firsts = np.arange(1 << 16, dtype=np.uint16)
        asked = []

        def positions(firsts, between, other):
            """The positions if the value that may keep draws one word, and the others another."""
            words = iter([between, other])
            asked.clear()

            def source(count):
                asked.append(count)
                return np.full(count, next(words), np.uint64)

            return sampler._positions(own[: len(firsts)], firsts, source)

        most = TOTAL - TOTAL % (size - 1) - 1  # chooses the last other answer
        last = positions(firsts, TOTAL - 1, most)
        first = positions(firsts, TOTAL - 1, 1)
        kept = int((last == 1).sum())
        left = sampler.probabilities(1)[1] * (1 << 16) - kept
        assert 0 <= left < 1
        least = int(left * (1 << 37))  # of the 2^37 words of the value that may keep
        assert least == left * (1 << 37)
        for low in {least - 1, least, 0, (1 << 37) - 1} - {-1}:
            drawn = positions(firsts[kept : kept + 1], low << 16 | 0xFFFF, most)
            assert (drawn[0] == 1) == (low < least)
        positions(firsts, TOTAL - 1, most)
        each = (65535 - kept) // (size - 1)
        replaced = 65536 - kept - each * (size - 1)
        assert asked == [1, replaced] if size > 2 else asked == [1]
        decided = np.bincount(last[last == first], minlength=size)
        if size > 2:
            assert np.delete(decided, 1).tolist() == [each] * (size - 1)
        else:
            assert decided[0] == 65536 - kept

    @pytest.mark.parametrize("bits", ["PCG64", "MT19937", "SFC64", "Philox"])
    def test_a_seed_draws_the_words_of_its_generator(self, bits):
        """As since the first release: a word for the position of a stranger, one for the other
        answer, one that keeps, one for delta; of 53 bits, for chunks of 2**15 answers."""
        forms = [
            *self.forms(),
            closed_forms.randomized_response(1, 1.0),
            closed_forms.randomized_response(2047, 1.0),
            closed_forms.randomized_response(5000, 2.0),
        ]
        for form in forms:
            if not isinstance(form.sampler, ResponseSampler):
                continue
            answers = np.random.default_rng(0).integers(len(form.inputs), size=70_000)
            wanted = plain_responses(
                form.sampler, answers, np.random.Generator(getattr(np.random, bits)(7))
            )
            generator = np.random.Generator(getattr(np.random, bits)(7))
            assert np.array_equal(form.sampler.draw(answers, rng=generator), wanted)
            again = form.sampler.draw(answers[::-1], rng=generator)
            assert (again[::-1] != wanted).any() or len(form.inputs) == 1

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
