"""What reports show: ranks and null vectors against elimination in Fractions, numbers of channels
of deficient rank, and reports that practically nobody gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused, thorough_or
from ldpopt import Mechanism, Survey, Workload, estimate_frequencies, plan_sample
from ldpopt.estimation.identified import (
    PRIMES,
    Dependence,
    has_independent_rows,
    least_values,
    rare_reports,
)
from ldpopt.estimation.inversion import why_not_estimable
from ldpopt.estimation.linear import left_inverse, weighted_left_inverse
from ldpopt.mechanism.questions import Question

# "careless" reports as half of the people with each answer would.
CARELESS = Mechanism(
    [[0.75, 0.25, 0], [0.25, 0.75, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]],
    inputs=["no", "yes", "careless", "refused"],
)


def rank_of(rows: list[list[Fraction]]) -> int:
    """Elimination as in a textbook."""
    rows = [list(row) for row in rows]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((row for row in rows[rank:] if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows.insert(rank, pivot)
        for place in range(rank + 1, len(rows)):
            factor = rows[place][column] / pivot[column]
            rows[place] = [a - factor * b for a, b in zip(rows[place], pivot, strict=True)]
        rank += 1
    return rank


@st.composite
def dependent_rows(draw):
    """Integers of any rank, in part with an entry that is one unit off."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    rank = draw(st.integers(1, n))
    most = draw(st.sampled_from([2, 1000, 2**24]))
    entry = st.integers(0, most)
    left = draw(st.lists(st.lists(entry, min_size=rank, max_size=rank), min_size=n, max_size=n))
    right = draw(st.lists(st.lists(entry, min_size=m, max_size=m), min_size=rank, max_size=rank))
    rows = np.array(left, dtype=np.int64) @ np.array(right, dtype=np.int64)
    if draw(st.booleans()):
        rows[draw(st.integers(0, n - 1)), draw(st.integers(0, m - 1))] += 1
    return rows


@given(dependent_rows(), st.data())
@cases(200)
def test_ranks_null_vectors_and_hidden_numbers_are_those_of_fractions(rows, data):
    exact = [[Fraction(int(value)) for value in row] for row in rows]
    n = len(rows)
    dependence = Dependence.of(rows)
    assert dependence.rank == rank_of(exact)
    assert sorted([*dependence.kept, *dependence.others]) == list(range(n))
    number = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n)), float)
    # In the row space if and only if, as a further column, it does not raise the rank.
    beside = [[*row, Fraction(value)] for row, value in zip(exact, number.tolist(), strict=True)]
    is_hidden = rank_of(beside) > dependence.rank
    assert bool(len(dependence.hidden(number[None]))) == is_hidden
    if is_hidden:
        vector = dependence.null_vector(number)
        for column in zip(*exact, strict=True):
            assert sum(part * column[row] for row, part in vector.items()) == 0
        assert sum(part * Fraction(number[row]) for row, part in vector.items()) != 0


@given(dependent_rows())
@cases(200)
def test_a_proof_of_independent_rows_is_never_false(rows):
    channel = rows / max(1, rows.max())
    with np.errstate(all="ignore"):
        inverse = np.linalg.pinv(channel).T
    if has_independent_rows(channel, inverse):
        assert Dependence.of(rows).rank == len(rows)


def test_an_unlucky_prime_and_large_entries():
    first = PRIMES[0]
    rows = np.array([[first, 1, 0], [0, 1, 0], [2**52, 2**52 - 1, 2**51]])
    assert Dependence.of(rows).rank == 3
    twice = np.array([[first, 2 * first], [1, 2], [3, 5]])
    dependence = Dependence.of(twice)
    assert dependence.rank == 2
    assert dependence.null_vector(np.array([1.0, 0, 0])) in (
        {1: 1, 0: Fraction(-1, first)},
        {0: 1, 1: -first},
    )


def test_rows_that_differ_by_one_unit_are_independent_and_a_sum_of_rows_is_not():
    rng = np.random.default_rng(1)
    masses = rng.integers(0, 2**46, (40, 60))
    masses[39] = masses[:39].sum(axis=0)
    assert Dependence.of(masses).rank == 39
    masses[39, 7] += 1
    assert Dependence.of(masses).rank == 40


class TestNumbersOfADeficientChannel:
    """What is identified is estimated; what is not is refused by name, with the reason."""

    @pytest.mark.parametrize("method", ["inversion", "maximum_likelihood"])
    def test_frequencies_are_refused_with_the_reason(self, method):
        with refused("rank") as error:
            estimate_frequencies(CARELESS, {0: 60, 1: 40}, method=method)
        assert "rank 3 for 4" in error.value.what
        assert "'no', 'yes', 'careless'" in error.value.what
        assert "1/2 'no', 1/2 'yes'" in error.value.what
        assert "rank 3" in why_not_estimable(CARELESS)
        with refused("rank"):
            plan_sample(CARELESS, half_width=0.1)

    def test_numbers_that_are_identified_are_estimated_without_bias(self):
        rows = {"refused": [0, 0, 0, 1], "others": [1, 1, 1, 0], "yes, half": [0, 1, 0.5, 0]}
        numbers = Workload(list(rows.values()), CARELESS.inputs, list(rows))
        truth = np.array([0.3, 0.2, 0.1, 0.4])
        expected = dict(enumerate((800_000 * truth @ CARELESS.channel).round().astype(int)))
        estimate = estimate_frequencies(CARELESS, expected, numbers=numbers)
        assert estimate.labels == tuple(rows)
        assert estimate.values == pytest.approx([0.4, 0.6, 0.25])
        # The least variance: the only values of independent reports of three kinds.
        share = truth @ CARELESS.channel
        values = np.array([[0, 0, 2], [1, 1, -1], [-0.5, 1.5, -0.5]])
        spread = np.sqrt((share @ (values**2).T - (values @ share) ** 2) / 800_000)
        assert estimate.std_error == pytest.approx(spread, rel=1e-6)
        low, high = estimate.interval.T
        assert ((low < values @ share) & (values @ share < high)).all()

    def test_numbers_that_are_not_identified_are_refused(self):
        numbers = Workload([[0, 1, 0, 0], [0, 0, 0, 1]], CARELESS.inputs, ["yes", "refused"])
        with refused("rank") as error:
            estimate_frequencies(CARELESS, {0: 60, 1: 40}, numbers=numbers)
        assert "do not show 'yes', because" in error.value.what

    def test_other_numbers_and_methods_are_refused(self):
        numbers = Workload([[0, 0, 0, 1]], CARELESS.inputs)
        with refused("method-of-numbers"):
            estimate_frequencies(CARELESS, {0: 6}, method="maximum_likelihood", numbers=numbers)
        with refused("numbers"):
            estimate_frequencies(CARELESS, {0: 6}, numbers=Workload([[0, 1]]))

    def test_numbers_of_independent_rows_are_those_of_the_frequencies(self):
        coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], [0, 1])
        all_of = estimate_frequencies(coin, {0: 70, 1: 30})
        same = estimate_frequencies(
            coin, {0: 70, 1: 30}, numbers=Workload.frequencies(["no", "yes"])
        )
        assert same.values == pytest.approx(all_of.values)
        assert same.std_error == pytest.approx(all_of.std_error)
        assert same.interval == pytest.approx(all_of.interval)

    def test_questions_of_a_survey_are_refused_by_name(self):
        coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["a", "b"], [0, 1])
        survey = Survey({"coin": coin, "careless": CARELESS})
        reports = pd.DataFrame({"coin": [0, 1] * 50, "careless": [0, 1] * 50})
        for call in (
            lambda: survey.estimate(reports),
            lambda: survey.estimate_pair(reports, "coin", "careless"),
        ):
            with refused("rank") as error:
                call()
            assert "'careless'" in error.value.where

    def test_missing_answers_that_reports_do_not_tell_apart(self):
        survey = Survey({"q": Question(CARELESS, missing_answer="careless")})
        with refused("rank") as error:
            survey.estimate(pd.DataFrame({"q": [0, 1, 2] * 50}))
        assert "'careless'" in error.value.what


class TestRareReports:
    """A number that only reports of probability 1e-12 show has full rank, and is not shown."""

    @pytest.mark.parametrize("mass", [2.0**-53, 1e-12, 1e-8])
    @pytest.mark.parametrize("method", ["inversion", "maximum_likelihood"])
    def test_answers_that_only_rare_reports_tell_apart_are_refused(self, mass, method):
        channel = [[0.5, 0.5, 0], [0.5 - mass, 0.5, mass], [0.25, 0.75, 0]]
        mechanism = Mechanism(channel, inputs=["a", "b", "c"], outputs=range(3))
        assert Dependence.of(mechanism.counts).rank == 3
        with refused("silent") as error:
            estimate_frequencies(mechanism, {0: 2500, 1: 2500}, method=method)
        assert "'a', 'b'" in error.value.what
        assert "'c'" not in error.value.what
        numbers = Workload([[1, 1, 0], [0, 0, 1]], mechanism.inputs, ["a or b", "c"])
        shown = estimate_frequencies(mechanism, {0: 2000, 1: 3000}, numbers=numbers)
        assert shown.values == pytest.approx([0.6, 0.4])
        assert (shown.std_error < 0.1).all()

    def test_more_people_show_what_few_do_not(self):
        channel = [[0.5, 0.5, 0], [0.499, 0.5, 0.001], [0.25, 0.75, 0]]
        mechanism = Mechanism(channel, inputs=["a", "b", "c"], outputs=range(3))
        with refused("silent"):
            estimate_frequencies(mechanism, {0: 20, 1: 20})
        many = {0: 447_000, 1: 552_700, 2: 300}
        assert estimate_frequencies(mechanism, many).values[1] == pytest.approx(0.3, abs=1e-9)
        assert why_not_estimable(mechanism) == ""

    def test_a_coin_that_is_nearly_fair_is_refused_for_any_number_of_people(self):
        coin = Mechanism([[0.5 + 1e-12, 0.5 - 1e-12], [0.5 - 1e-12, 0.5 + 1e-12]])
        with refused("silent"):
            estimate_frequencies(coin, {0: 10**6, 1: 10**6})
        assert "do not show" in why_not_estimable(coin)

    def test_the_standard_error_has_the_reports_that_were_not_given(self):
        # The last report is expected from 0.04 of 4000 people, and carries most of the variance.
        share = 1e-5
        channel = np.array(
            [[0.75, 0.25, 0], [0.25, 0.75, 0], [0.5 - share / 2, 0.5 - share / 2, share]]
        )
        mechanism = Mechanism(channel, inputs=["no", "yes", "third"], outputs=range(3))
        people = 4000
        assert rare_reports(channel, people).tolist() == [False, False, True]
        assert rare_reports(channel, 10 * people).tolist() == [False, False, False]
        numbers = Workload([[0.0, 1.0, 0.5001]], mechanism.inputs, ["nearly"])
        estimate = estimate_frequencies(mechanism, {0: 2000, 1: 2000}, numbers=numbers)
        values = least_values(channel, numbers.matrix, channel.mean(axis=0))[0]
        assert abs(values[2]) > 5
        frequencies = np.array([0.5, 0.5, 0])
        second = values[:2] ** 2 @ [0.5, 0.5] + values[2] ** 2 * (frequencies @ channel)[2]
        spread = np.sqrt((second - estimate.values[0] ** 2) / people)
        assert estimate.std_error[0] == pytest.approx(spread, rel=1e-9)

    def test_no_report_is_rare_among_many_that_are_as_likely(self):
        assert not rare_reports(np.full((3, 1000), 0.001), 1).any()


@given(st.integers(2, 6), st.integers(0, 6), st.integers(0, 10**6))
@cases(100)
def test_left_inverses_are_inverses(n, more, seed):
    channel = np.random.default_rng(seed).dirichlet(np.ones(n + more), n)
    mechanism = Mechanism(channel)
    inverse = left_inverse(mechanism)
    size = np.abs(inverse).max()
    assert inverse @ mechanism.channel.T == pytest.approx(np.eye(n), abs=1e-13 * size)
    expected = mechanism.channel.mean(axis=0)
    again = weighted_left_inverse(mechanism.channel, expected)
    assert inverse == pytest.approx(again, abs=1e-12 * size)
    values = least_values(mechanism.channel, np.eye(n), expected)
    assert values == pytest.approx(again, abs=1e-12 * size**2)


def test_large_channels_of_small_rank():
    size = thorough_or(500, 1500)
    constant = Mechanism(np.full((size, 4), 0.25))
    with refused("rank") as error:
        estimate_frequencies(constant, {0: 1})
    assert f"rank 1 for {size}" in error.value.what
