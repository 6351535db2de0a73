"""Intervals and errors under weights that are related to the answer, and Norm-Sub of frequencies
alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import refused, thorough_or
from ldpopt import Mechanism, PureLDP, Survey, Workload, design, estimate_frequencies
from ldpopt.designing.methods.method import DesignLimits
from ldpopt.estimation.counts import Counts, source_of
from ldpopt.estimation.options import Reading
from ldpopt.frequencies import RandomizedResponse
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.estimates import estimate_question
from ldpopt.surveys.pairs import pair_of
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

Z = 1.959963984540054
SHARE, RATIO = 0.1, 5.0  # yes-sayers are reached five times less often


def coin(epsilon):
    truth = 1 / (1 + np.exp(-epsilon))
    return Mechanism([[truth, 1 - truth], [1 - truth, truth]], ["no", "yes"])


def drawn(source, channel, labels, people, rng):
    """Counts of a survey with weights that follow the answer."""
    weights = np.array([1.0, RATIO])
    reached = np.array([1 - SHARE, SHARE]) / weights
    cells = (reached / reached.sum())[:, None] * channel
    seen = rng.multinomial(people, cells.ravel()).reshape(cells.shape)
    values, squares = weights @ seen, weights**2 @ seen
    sums = float(values.sum()), float(squares.sum())
    return Counts(source.digest, labels, values, squares, *sums, people)


@pytest.mark.parametrize("kind", ["inversion", "maximum_likelihood", "protocol"])
@pytest.mark.parametrize("epsilon", thorough_or([0.8], [0.8, 2.0, 8.0]))
def test_related_weights_are_covered(epsilon, kind):
    rng = np.random.default_rng([int(10 * epsilon), 46])
    mechanism = coin(epsilon)
    protocol = RandomizedResponse(["no", "yes"], epsilon)
    source = protocol if kind == "protocol" else source_of(mechanism, "")
    covered = []
    by_errors = []
    for _ in range(thorough_or(100, 2000)):
        counts = drawn(source, mechanism.channel, ("no", "yes"), 1500, rng)
        if kind == "protocol":
            found = protocol.estimate(counts)
        else:
            found = estimate_frequencies(mechanism, counts, method=kind)
        low, high = found.interval[1]
        covered.append(low <= SHARE <= high)
        by_errors.append(abs(found.values[1] - SHARE) <= Z * found.std_error[1])
    slack = 3 * np.sqrt(0.95 * 0.05 / len(covered))
    assert abs(np.mean(covered) - 0.95) <= slack + 0.01
    assert abs(np.mean(by_errors) - 0.95) <= slack + 0.015


FOUR = ["a", "b", "c", "d"]
SHARES = np.array([0.1, 0.3, 0.4, 0.2])  # the first answer has the large weight
BITS = np.array(list(product((0, 1), repeat=3)))
OF_BITS = np.where(BITS, [0.1, 0.3, 0.5], [0.9, 0.7, 0.5]).prod(axis=1)


def listed(source, truth, is_heavy):
    """Counts of the reports of listed channels, drawn at once, and what estimates their numbers."""
    weights = np.where(is_heavy, RATIO, 1.0)
    reached = truth / weights
    mechanism = source.mechanism
    cells = (reached / reached.sum())[:, None] * mechanism.channel

    def survey(rng):
        seen = rng.multinomial(1500, cells.ravel() / cells.sum()).reshape(cells.shape)
        values, squares = weights @ seen, weights**2 @ seen
        sums = float(values.sum()), float(squares.sum())
        return Counts(source.digest, mechanism.outputs, values, squares, *sums, 1500)

    return survey


def ranges(epsilon):
    best = design(Workload.ranges(FOUR), PureLDP(epsilon))
    survey = listed(best, SHARES, SHARES == 0.1)
    return best.wanted @ SHARES, lambda rng: best.estimate(survey(rng))


def ticks(epsilon):
    names = ("one", "two", "three")
    source = TicksQuestion(design(tick_workload(names), PureLDP(epsilon)), ticks=names).numbers
    survey = listed(source, OF_BITS, BITS[:, 0])
    return np.array([0.1, 0.3, 0.5]), lambda rng: source.estimate(survey(rng))


def answered(epsilon):
    best = design(Workload.prefix(FOUR[:3]).with_missing("d"), PureLDP(epsilon))
    whole = Survey({"q": Question(best, missing_answer="d")})
    survey = listed(best, SHARES, SHARES == 0.1)
    truth = np.array([0.1 / 0.8, 0.4 / 0.8, 0.2])
    return truth, lambda rng: estimate_question(whole, "q", survey(rng), Reading())


def pairs(epsilon):
    names = [("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes")]
    rows = np.kron(coin(epsilon).channel, coin(epsilon).channel)
    mechanism = Mechanism(rows, names)
    survey = listed(source_of(mechanism, ""), SHARES, SHARES == 0.1)
    return SHARES, lambda rng: estimate_frequencies(mechanism, survey(rng))


def joint(epsilon):
    questions = {"one": FOUR[:2], "two": FOUR[:3]}
    whole = Survey(questions, epsilon=epsilon, scheme="joint")
    truth = np.array([0.05, 0.2, 0.2, 0.05, 0.2, 0.3])
    survey = listed(whole.joint.source, truth, np.arange(6) % 3 == 0)
    tables = truth.reshape(2, 3).sum(axis=0)
    return tables, lambda rng: estimate_question(whole, "two", survey(rng), Reading())


def joint_table(epsilon):
    questions = {"one": FOUR[:2], "two": FOUR[:3]}
    whole = Survey(questions, epsilon=epsilon + 2, scheme="joint")  # at 2 it is refused
    truth = np.array([0.1, 0.2, 0.2, 0.2, 0.1, 0.2])
    source = pair_of(whole.joint, "one", "two")
    survey = listed(source, truth, np.arange(6) == 0)
    return truth, lambda rng: source.estimate(survey(rng))


def yes_no(epsilon):
    names = ("one", "two", "three")
    whole = Survey(dict.fromkeys(names, ("no", "yes")), epsilon=epsilon, scheme="joint")
    source = whole.joint.source
    weights = np.where(BITS[:, 0], RATIO, 1.0)
    reached = OF_BITS / weights

    def estimate(rng):
        drawn = rng.choice(8, 1500, p=reached / reached.sum())
        counts = Counts.of(source, source.privatize(BITS[drawn], rng), weights=weights[drawn])
        return estimate_question(whole, "one", counts, Reading())

    return np.array([0.9, 0.1]), estimate


def many_questions(epsilon):
    unlisted = DesignLimits(product_answers=2)
    best = design(Workload.marginals((2,) * 3, 2), PureLDP(epsilon), limits=unlisted)
    weights = np.where(BITS[:, 0], RATIO, 1.0)
    reached = OF_BITS / weights

    def estimate(rng):
        drawn = rng.choice(8, 1500, p=reached / reached.sum())
        reports = best.privatize(BITS[drawn], rng=rng)
        return best.estimate(reports, weights=weights[drawn])

    return best.wanted @ OF_BITS, estimate


def groups(epsilon):
    mechanism = coin(epsilon)
    whole = Survey({"q": mechanism}, weights="w")
    reached = np.array([1 - SHARE, SHARE / RATIO]) / (1 - SHARE + SHARE / RATIO)

    def estimate(rng):
        is_yes = (rng.random(2000) < reached[1]).astype(int)
        reports = np.where(rng.random(2000) < mechanism.channel[is_yes, 1], "yes", "no")
        columns = {"q": reports, "w": np.where(is_yes, RATIO, 1.0)}
        region = np.repeat(["south", "north"], [1500, 500])
        found = whole.estimate(pd.DataFrame(columns | {"region": region}), by="region")
        return found.groups["south"]["q"]

    return np.array([1 - SHARE, SHARE]), estimate


PATHS = [ranges, ticks, answered, pairs, joint, joint_table, yes_no, many_questions, groups]


# every path, with each budget on a third of them
@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [(kind, thorough_or(2.0, (8.0, 0.8, 2.0)[place % 3])) for place, kind in enumerate(PATHS)],
)
def test_related_weights_are_covered_on_every_path(kind, epsilon):
    rng = np.random.default_rng([int(10 * epsilon), 47])
    truth, estimate = kind(epsilon)
    size = thorough_or(50, 1000)
    ends = np.array([estimate(rng).interval for _ in range(size)])
    covers = ((ends[:, :, 0] <= truth + 1e-9) & (truth - 1e-9 <= ends[:, :, 1])).mean(axis=0)
    # four standard errors of the least of several coverages, and what is left by 33 heavy reports
    assert covers.min() >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / size) - 0.01


@given(
    answers=st.lists(st.tuples(st.sampled_from(FOUR[:2]), st.floats(0.01, 100)), min_size=2),
    epsilon=st.sampled_from([0.5, 2.0, 8.0]),
)
def test_design_effects_are_at_most_the_largest_weight_over_the_mean_one(answers, epsilon):
    reports, weights = zip(*answers, strict=True)
    mechanism = Mechanism(coin(epsilon).channel, FOUR[:2])
    for method in ("inversion", "maximum_likelihood"):
        found = estimate_frequencies(mechanism, reports, weights=weights, method=method)
        most = max(weights) / np.mean(weights)
        if found.effect is not None:  # all weights are 1
            assert (found.effect <= most * (1 + 1e-9)).all()
            kish = len(weights) * np.square(weights).sum() / np.sum(weights) ** 2
            assert (found.effect >= kish * (1 - 1e-9)).all()


def test_the_bound_of_design_effects_is_reached():
    reports = ["no"] * 9999 + ["yes"]
    found = estimate_frequencies(
        Mechanism(np.eye(2), ["no", "yes"]), reports, weights=[1.0] * 9999 + [5.0]
    )
    assert found.effect == pytest.approx([5, 5], rel=2e-3)


def test_equal_weights_change_nothing():
    mechanism = coin(1.0)
    reports = ["no"] * 60 + ["yes"] * 40
    plain, weighted = (
        estimate_frequencies(mechanism, reports, weights=weights)
        for weights in (None, np.full(100, 2.0))
    )
    assert weighted.interval == pytest.approx(plain.interval, rel=1e-12)
    assert weighted.std_error == pytest.approx(plain.std_error, rel=1e-12)


ANSWERS = ["a", "b", "c"]


@pytest.mark.parametrize(
    "work",
    [
        Workload.prefix(ANSWERS),
        Workload.ranges(ANSWERS),
        Workload([[0, 10, 20], [0, 100, 400]], ANSWERS, ["mean", "square"]),
    ],
)
def test_numbers_that_are_no_frequencies_are_not_projected(work):
    best = design(work, PureLDP(1.0))
    found = best.estimate(best.mechanism.privatize(ANSWERS * 100, rng=1))
    assert not found.is_distribution
    with refused("frequencies"):
        found.norm_sub()
    found.summary()


def test_frequencies_of_all_answers_are_projected():
    best = design(Workload.frequencies(ANSWERS), PureLDP(1.0))
    found = best.estimate(best.mechanism.privatize(ANSWERS * 100, rng=1))
    assert found.norm_sub().values.sum() == pytest.approx(1)
    protocol = RandomizedResponse(ANSWERS, 1.0)
    reports = protocol.privatize(ANSWERS * 100, rng=1)
    assert protocol.estimate(reports).norm_sub().values.sum() == pytest.approx(1)
    with refused("frequencies"):
        protocol.largest(reports, 2).norm_sub()
