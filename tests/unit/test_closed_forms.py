"""Closed forms one by one: facts, samplers, refusals, and how little they build."""

from __future__ import annotations

import math
import subprocess
import sys
import time
import tracemalloc
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from ldpopt import closed_forms
from ldpopt.closed_forms.form import exact_sum
from ldpopt.closed_forms.samplers import TOTAL, uniform_below
from ldpopt.errors import NotRepresentableError, StatementError

MILLION = 10**6


def rejects(count_of_tests, pvalue):
    """Whether a chi-square test at a false alarm rate of 1e-6 over the file speaks against the sampler."""
    return pvalue < 1e-6 / count_of_tests


class TestTopK:
    def test_facts(self):
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
        ("prior", "what"),
        [
            ([0.5, 0.47], "sums to 0.97"),
            ([1.5, -0.5], "no weight"),
            ([math.nan, 1.0], "no weight"),
            ([], "shape"),
            ([[0.5, 0.5]], "shape"),
            ({"a": 0, "b": 0}, "sum to 0"),
            (["x"], "no rectangular array"),
        ],
    )
    def test_refuses_what_is_no_prior(self, prior, what):
        with pytest.raises(StatementError, match=what):
            closed_forms.top_k(prior, 1.0)

    @pytest.mark.parametrize("delta", [-0.1, 1.1, math.nan, "much"])
    def test_refuses_what_is_no_delta(self, delta):
        with pytest.raises(StatementError, match="delta"):
            closed_forms.top_k([0.5, 0.5], 1.0, delta)

    def test_refuses_a_matrix_that_does_not_fit(self):
        form = closed_forms.top_k(np.full(MILLION, 1 / MILLION), 1.0)
        with pytest.raises(StatementError, match="GiB"):
            _ = form.mechanism

    def test_a_million_letters_are_quick_and_small(self):
        weights = 1 / np.arange(1, MILLION + 1) ** 1.1
        prior = np.random.default_rng(1).permutation(weights / weights.sum())
        tracemalloc.start()
        began = time.process_time()
        form = closed_forms.top_k(prior, 8.0, 0.01)
        reports = form.sampler.sample(np.arange(0, MILLION, 10), rng=1)
        took, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert form.k == np.count_nonzero(form.thresholds <= math.exp(8))
        assert np.isin(reports, form.members).mean() > 0.98
        assert took < 3  # about 0.3 s unmeasured: tracing and a busy machine take their share
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

    def test_refuses_what_is_no_share(self):
        with pytest.raises(StatementError, match=r"value = 1.5 is not in \[0, 1\]"):
            closed_forms.least_epsilon([0.5, 0.5], 1.5)


class TestBinary:
    def test_at_budget_zero_every_region_ties_for_the_even_prior(self):
        form = closed_forms.binary([0.5, 0.5], 0.0)
        assert form.ties == ("first", "middle", "last")
        assert form.vertices == ((0, 1), (1, 0))
        assert set(form.face) == {(0, 1), (1, 0)}

    def test_a_letter_that_never_occurs_leaves_an_edge(self):
        assert closed_forms.binary([0.0, 1.0], 1.0, 0.2).face == ((0, 1), (0.2, 1))

    def test_delta_one_is_the_truth(self):
        form = closed_forms.binary([0.3, 0.7], 0.5, 1.0)
        assert form.value == 1
        assert form.channel.tolist() == [[1, 0], [0, 1]]

    def test_needs_two_letters(self):
        with pytest.raises(StatementError, match="two answers"):
            closed_forms.binary([0.2, 0.3, 0.5], 1.0)

    @pytest.mark.parametrize("prior", [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    def test_sampler_follows_the_channel(self, prior):
        form = closed_forms.binary(prior, 0.4, 0.1)
        for x in (0, 1):
            law = [float(form.sampler.law(x).get(y, 0)) for y in (0, 1)]
            assert law == pytest.approx(form.channel[x], abs=1e-15)


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

    def test_law_is_the_channel_up_to_rounding(self):
        for form in self.forms():
            for x, row in enumerate(form.channel):
                law = form.sampler.law(x)
                assert [float(law.get(y, 0)) for y in range(len(row))] == pytest.approx(row, abs=1e-14)

    @pytest.mark.parametrize("rng", [5, None], ids=["seeded", "system"])
    def test_draws_follow_the_law(self, rng):
        for form in self.forms():
            n, size = len(form.inputs), 20_000
            for x in range(n):
                law = form.sampler.law(x)
                counts = np.bincount(form.sampler.draw(np.full(size, x), rng=rng), minlength=n)
                assert counts.sum() == counts[sorted(law)].sum()
                if len(law) > 1:
                    expected = np.array([float(law[y]) for y in sorted(law)]) * size
                    assert not rejects(50, stats.chisquare(counts[sorted(law)], expected).pvalue)

    def test_a_seed_repeats_and_a_generator_advances(self):
        sampler, answers = closed_forms.randomized_response(9, 1.0).sampler, np.arange(9).repeat(20)
        assert (sampler.draw(answers, rng=3) == sampler.draw(answers, rng=3)).all()
        generator = np.random.default_rng(3)
        assert (sampler.draw(answers, rng=generator) != sampler.draw(answers, rng=generator)).any()

    @pytest.mark.parametrize("answers", [[3], [-1], [0.5], [[0]], ["a"]])
    def test_refuses_codes_out_of_range(self, answers):
        with pytest.raises(StatementError):
            closed_forms.randomized_response(3, 1.0).sampler.sample(answers)

    def test_no_answers_no_reports(self):
        assert len(closed_forms.randomized_response(3, 1.0).sampler.sample([])) == 0

    @pytest.mark.parametrize(
        "bound, words, again, drawn", [(6144, [TOTAL - 1, 7], 5, [5, 7]), (3, [0, TOTAL - 1], TOTAL // 2, [1, 2])]
    )
    def test_uniform_below_rejects_the_surplus_words(self, bound, words, again, drawn):
        served = iter([np.array(words, dtype=np.uint64), np.array([again], dtype=np.uint64)])
        assert uniform_below(bound, 2, lambda size: next(served)).tolist() == drawn

    def test_tiny_budgets_fall_back_to_the_uniform_law(self):
        sampler = closed_forms.minimax(3, 1e-17).sampler
        assert sampler.law(0) == {0: Fraction(1, 3), 1: Fraction(1, 3), 2: Fraction(1, 3)}


class TestWorstPrior:
    def test_ball(self):
        found = closed_forms.worst_prior_in_ball([0.6, 0.3, 0.1], 0.1)
        assert found == pytest.approx([0.5, 0.3, 0.2])
        assert closed_forms.worst_prior_in_ball([0.6, 0.3, 0.1], 0.9) == pytest.approx([1 / 3] * 3)
        assert closed_forms.worst_prior_in_ball([0.6, 0.3, 0.1], 0.0) == pytest.approx([0.6, 0.3, 0.1])

    def test_ball_is_the_worst_of_random_priors_in_it(self):
        generator, center = np.random.default_rng(0), np.array([0.5, 0.3, 0.15, 0.05])
        worst = closed_forms.top_k(closed_forms.worst_prior_in_ball(center, 0.12), 1.0).value
        for _ in range(200):
            step = generator.normal(size=4)
            step -= step.mean()
            other = center + step * (0.24 / np.abs(step).sum())
            if (other >= 0).all():
                assert closed_forms.top_k(other / other.sum(), 1.0).value >= worst - 1e-12

    @pytest.mark.parametrize(
        ("low", "high", "what"),
        [([0.6, 0.6], [1, 1], "no prior"), ([0, 0], [0.4, 0.4], "no prior"), ([0.5, 0.2], [0.4, 1], "no interval")],
    )
    def test_refuses_empty_boxes(self, low, high, what):
        with pytest.raises(StatementError, match=what):
            closed_forms.worst_prior(low, high)

    def test_robust_value_of_all_priors_is_minimax(self):
        found = closed_forms.robust_value(np.eye(4), 0.9, 0.05)
        assert found.value == pytest.approx(closed_forms.minimax(4, 0.9, 0.05).value, abs=1e-9)
        assert closed_forms.top_k(found.worst_prior, 0.9, 0.05).value == pytest.approx(found.value, abs=1e-9)

    def test_robust_value_of_one_prior_is_top_k(self):
        prior = [0.5, 0.3, 0.2]
        assert closed_forms.robust_value([prior], 1.0).value == pytest.approx(closed_forms.top_k(prior, 1.0).value)


class TestBins:
    def test_order_of_values_does_not_matter(self):
        prior, values = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 1.0, 4.0, 9.0])
        order = np.array([2, 0, 3, 1])
        one, other = closed_forms.bins(prior, values, 1.0), closed_forms.bins(prior[order], values[order], 1.0)
        assert one.value == pytest.approx(other.value, abs=1e-15)
        assert values[one.bins].tolist() == values[order][other.bins].tolist()

    def test_large_budgets_tell_the_truth(self):
        form = closed_forms.bins([0.25] * 4, [0, 1, 2, 3], 1e4)
        assert form.value == 0
        assert form.bins.tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        ("values", "loss", "what"),
        [
            ([0, 0, 1], "absolute", "distinct"),
            ([0, 1], "absolute", "distinct"),
            ([0, 1, 2], "huber", "unknown loss"),
            ([0, 1, 2], lambda v, w: float((v - w) % 2), "not monotone"),
        ],
    )
    def test_refuses(self, values, loss, what):
        with pytest.raises(StatementError, match=what):
            closed_forms.bins([0.2, 0.3, 0.5], values, 1.0, loss)

    def test_hundreds_of_letters(self):
        n = 250
        prior = np.random.default_rng(0).dirichlet(np.ones(n))
        form = closed_forms.bins(prior, np.arange(n), 1.0, "squared")
        assert (prior[:, None] * form.loss * form.channel).sum() == pytest.approx(form.value, rel=1e-12)


class TestGraphs:
    @pytest.mark.parametrize("n", [2, 3, 10])
    def test_uniform_path(self, n):
        alpha = 7 / 2
        expected = (2 * alpha + (n - 2) * (alpha - 1)) / (n * (alpha + 1))
        assert closed_forms.path_graph([1 / n] * n, "log(7/2)").value == pytest.approx(expected, rel=1e-14)

    def test_party_identification(self):
        counts = {"SD": 200, "WD": 180, "ID": 108, "II": 37, "IR": 94, "WR": 150, "SR": 175}
        assert closed_forms.path_graph(counts, 1.0).value == pytest.approx(
            closed_forms.path_graph(list(np.array(list(counts.values())) / 944), 1.0).value
        )

    def test_long_paths_and_extreme_budgets(self):
        for epsilon in (0.0, 1e-9, 1.0, 40.0, 1e4):
            prior = np.random.default_rng(0).dirichlet(np.ones(5000))
            form = closed_forms.path_graph(prior, epsilon)
            assert prior.max() - 1e-15 <= form.value <= 1 + 1e-12

    def test_kernel_agrees_with_the_path_and_the_complete_graph(self):
        assert closed_forms.kernel(nx.path_graph(6), [1 / 6] * 6, 0.8).value == pytest.approx(
            closed_forms.path_graph([1 / 6] * 6, 0.8).value
        )
        assert closed_forms.kernel(nx.complete_graph(5), [0.2] * 5, 0.8).value == pytest.approx(
            closed_forms.minimax(5, 0.8).value
        )

    def test_kernel_names_the_entry_that_refuses(self):
        with pytest.raises(NotRepresentableError, match=r"K\^-1 prior\)\['c'\]"):
            closed_forms.kernel(nx.path_graph(["a", "b", "c"]), {"a": 0.5, "b": 0.5, "c": 0.0}, 0.5)

    def test_kernel_puts_the_prior_into_the_order_of_the_nodes(self):
        graph = nx.Graph([("b", "a"), ("a", "c")])
        form = closed_forms.kernel(graph, {"a": 2, "b": 1, "c": 1}, 2.0)
        assert form.inputs == ("b", "a", "c")
        assert form.distance[0].tolist() == [0, 1, 2]

    @pytest.mark.parametrize(
        "distance",
        [[[0, 1], [2, 0]], [[0, 0], [0, 0]], [[1, 1], [1, 0]], [[0, math.inf], [math.inf, 0]], [[0, 1, 1]] * 3, [[0]]],
    )
    def test_kernel_refuses_what_is_no_metric(self, distance):
        with pytest.raises(StatementError):
            closed_forms.kernel(distance, [0.5, 0.5], 1.0)

    def test_kernel_takes_shortcuts(self):
        far = [[0, 1, 9], [1, 0, 1], [9, 1, 0]]
        assert closed_forms.kernel(far, [0.3, 0.4, 0.3], 1.0).distance[0, 2] == 2


class TestClassics:
    def test_fair_coin_is_log_3(self):
        form = closed_forms.coin()
        assert form.epsilon.ratio == 3
        assert form.channel.tolist() == [[0.75, 0.25], [0.25, 0.75]]
        for budget in (0.0, 0.5, 1.0):
            assert form.delta_at(budget) == pytest.approx(0.75 - math.exp(budget) / 4, abs=1e-15)
        assert form.delta_at("log(3)") == form.delta_at(2.0) == 0

    def test_the_budget_is_two_sided(self):
        """At 1/4 the report "yes" tells more, (5/8)/(1/8) against (7/8)/(3/8); at 3/4 the report "no" does."""
        assert closed_forms.coin("1/2", "1/4").epsilon.ratio == 5
        assert closed_forms.coin("1/2", "3/4").epsilon.ratio == 5

    def test_an_honest_coin_hides_nothing(self):
        assert closed_forms.coin(1, "1/2").epsilon == math.inf
        assert closed_forms.coin("1/2", 0).epsilon == math.inf
        assert closed_forms.coin("1/2", 0).delta_at(5.0) == 0.5
        assert closed_forms.coin(0, "1/2").epsilon == 0

    @pytest.mark.parametrize("arguments", [(1.5,), (0.5, -0.1), ("x",), (math.nan,), (math.inf,)])
    def test_refuses_what_is_no_probability(self, arguments):
        with pytest.raises(StatementError, match="no probability"):
            closed_forms.coin(*arguments)

    @pytest.mark.parametrize("n", [0, -1, 2.0, True])
    def test_refuses_what_is_no_size(self, n):
        with pytest.raises(StatementError, match="alphabet size"):
            closed_forms.randomized_response(n, 1.0)


def test_mechanisms_are_certified():
    """What is handed out keeps the claim in exact arithmetic and costs next to nothing."""
    forms = [
        closed_forms.binary([0.2, 0.8], 0.1, 0.15),
        closed_forms.binary([0.5, 0.5], 1.0),
        closed_forms.top_k({"a": 5, "b": 3, "c": 2}, 1.0),
        closed_forms.top_k([0.5, 0.3, 0.2], 1.0, 0.1),
        closed_forms.top_k([0.5, 0.3, 0.2], 800.0),
        closed_forms.path_graph({"x": 5, "y": 3, "z": 2}, 1.0),
        closed_forms.kernel(nx.cycle_graph(5), [0.2] * 5, 1.0),
        closed_forms.robust_value([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], 1.0),
        closed_forms.minimax(6, 0.3),
        closed_forms.coin(0.3, 0.7),
    ]
    for form in forms:
        mechanism = form.mechanism
        assert mechanism.audit(form.privacy).verdict == "certified", form
        assert mechanism.inputs == tuple(form.inputs)
        if hasattr(form, "prior"):
            assert mechanism.expected(form.prior) == np.float64(form.value) or (
                abs(mechanism.expected(form.prior) - form.value) < 1e-9
            )


def test_bins_mechanism_is_certified():
    form = closed_forms.bins([0.1, 0.2, 0.3, 0.4], [0, 1, 2, 3], 1.0)
    assert form.mechanism.audit(form.privacy).verdict == "certified"
    assert form.mechanism.expected(form.prior, form.utility) == pytest.approx(form.value, abs=1e-9)


@pytest.mark.parametrize("size", [0, 1, 5, 1000])
def test_exact_sum(size):
    values = np.random.default_rng(size).random(size) * 10.0 ** np.random.default_rng(1).integers(-300, 5, size)
    assert exact_sum(values) == sum((Fraction(float(v)) for v in values), Fraction(0))


def test_nothing_heavy_is_imported():
    """A package of the same path without its front door: only what the closed forms import themselves is loaded."""
    code = f"""
import sys, types
package = types.ModuleType("ldpopt")
package.__path__ = [{str(Path(closed_forms.__file__).parents[1])!r}]
sys.modules["ldpopt"] = package
from ldpopt.closed_forms import top_k
top_k([0.5, 0.5], 1.0).sampler.sample([0, 1])
print(sorted({{"scipy", "networkx", "pandas", "matplotlib", "cvxpy", "pulp"}} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
