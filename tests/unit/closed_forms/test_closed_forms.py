"""Closed forms: the small families, exact privacy of all families, and what importing them
loads."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from builders import refused, run_python
from ldpopt import closed_forms
from ldpopt.closed_forms.form import exact_sum
from ldpopt.errors import StatementError


class TestBinary:
    def test_at_budget_zero_every_region_ties_for_the_even_prior(self):
        form = closed_forms.binary([0.5, 0.5], 0.0)
        assert form.ties == ("first", "middle", "last")
        assert form.vertices == ((0, 1), (1, 0))
        assert set(form.face) == {(0, 1), (1, 0)}

    def test_an_answer_of_probability_zero_gives_an_optimal_edge(self):
        assert closed_forms.binary([0.0, 1.0], 1.0, 0.2).face == ((0, 1), (0.2, 1))

    def test_at_delta_one_the_truth_is_optimal(self):
        form = closed_forms.binary([0.3, 0.7], 0.5, 1.0)
        assert form.value == 1
        assert form.channel.tolist() == [[1, 0], [0, 1]]

    def test_other_than_two_answers_are_rejected(self):
        with refused("answer-count"):
            closed_forms.binary([0.2, 0.3, 0.5], 1.0)


class TestBins:
    def test_order_of_values_does_not_matter(self):
        prior = np.array([0.1, 0.2, 0.3, 0.4])
        values = np.array([0.0, 1.0, 4.0, 9.0])
        order = np.array([2, 0, 3, 1])
        one = closed_forms.bins(prior, values, 1.0)
        other = closed_forms.bins(prior[order], values[order], 1.0)
        assert one.value == pytest.approx(other.value, abs=1e-15)
        assert values[one.bins].tolist() == values[order][other.bins].tolist()

    def test_at_large_budgets_the_truth_is_optimal(self):
        form = closed_forms.bins([0.25] * 4, [0, 1, 2, 3], 1e4)
        assert form.value == 0
        assert form.bins.tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        ("values", "loss", "code"),
        [
            ([0, 0, 1], "absolute", "values"),
            ([0, 1], "absolute", "values"),
            ([0, 1, 2], "huber", "loss"),
            ([0, 1, 2], lambda v, w: float((v - w) % 2), "monotonicity"),
        ],
    )
    def test_wrong_values_and_losses_are_rejected(self, values, loss, code):
        with refused(code):
            closed_forms.bins([0.2, 0.3, 0.5], values, 1.0, loss)

    def test_value_is_the_loss_of_the_channel_for_250_answers(self):
        n = 250
        prior = np.random.default_rng(0).dirichlet(np.ones(n))
        form = closed_forms.bins(prior, np.arange(n), 1.0, "squared")
        assert (prior[:, None] * form.loss * form.channel).sum() == pytest.approx(
            form.value, rel=1e-12
        )


class TestClassics:
    def test_fair_coin_is_log_3(self):
        form = closed_forms.coin()
        assert form.epsilon.ratio == 3
        assert form.channel.tolist() == [[0.75, 0.25], [0.25, 0.75]]
        for budget in (0.0, 0.5, 1.0):
            assert form.delta_at(budget) == pytest.approx(0.75 - math.exp(budget) / 4, abs=1e-15)
        assert form.delta_at("log(3)") == form.delta_at(2.0) == 0

    def test_budget_is_the_larger_ratio_of_both_reports(self):
        """At 1/4 the report "yes" has the larger ratio, (5/8)/(1/8) against (7/8)/(3/8); at 3/4 the
        report "no"."""
        assert closed_forms.coin("1/2", "1/4").epsilon.ratio == 5
        assert closed_forms.coin("1/2", "3/4").epsilon.ratio == 5

    def test_a_coin_that_reveals_an_answer_has_an_infinite_budget(self):
        assert closed_forms.coin(1, "1/2").epsilon == math.inf
        assert closed_forms.coin("1/2", 0).epsilon == math.inf
        assert closed_forms.coin("1/2", 0).delta_at(5.0) == 0.5
        assert closed_forms.coin(0, "1/2").epsilon == 0

    @pytest.mark.parametrize("arguments", [(1.5,), (0.5, -0.1), ("x",), (math.nan,), (math.inf,)])
    def test_wrong_probabilities_are_rejected(self, arguments):
        with pytest.raises(StatementError, match="not a probability"):
            closed_forms.coin(*arguments)

    @pytest.mark.parametrize("n", [0, -1, 2.0, True])
    def test_wrong_alphabet_sizes_are_rejected(self, n):
        with refused("alphabet"):
            closed_forms.randomized_response(n, 1.0)


def test_mechanisms_are_certified():
    """Mechanisms are private in exact arithmetic, and have the value of the formula."""
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
    values = np.random.default_rng(size).random(size) * 10.0 ** np.random.default_rng(1).integers(
        -300, 5, size
    )
    assert exact_sum(values) == sum((Fraction(float(v)) for v in values), Fraction(0))


def test_nothing_heavy_is_imported():
    """Without the package's own `__init__` only the imports of the closed forms themselves are
    loaded."""
    code = f"""
import sys, types
package = types.ModuleType("ldpopt")
package.__path__ = [{str(Path(closed_forms.__file__).parents[1])!r}]
sys.modules["ldpopt"] = package
from ldpopt.closed_forms import top_k
top_k([0.5, 0.5], 1.0).sampler.sample([0, 1])
print(sorted({{"scipy", "networkx", "pandas", "matplotlib", "cvxpy", "pulp"}} & set(sys.modules)))
"""
    assert run_python(code).stdout.strip() == "[]"


BUDGETS = [0.05, 0.5, 1.0, 2.5, 8.0, "log(3)"]
UNIFORM = [0.25] * 4


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_closed_forms_use_their_whole_epsilon(epsilon):
    for form in (closed_forms.top_k(UNIFORM, epsilon), closed_forms.path_graph(UNIFORM, epsilon)):
        budget = float(form.epsilon)
        found = form.mechanism.audit(form.privacy)
        assert found.verdict == "certified"
        assert found.epsilon == pytest.approx(budget, abs=1e-9)
