"""The influence of one report, by its definition: from the estimates of single reports."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from builders import refused, thorough_or
from ldpopt import (
    Influence,
    Mechanism,
    PureLDP,
    ReportModel,
    Survey,
    Workload,
    design,
    frequencies,
    mean,
)
from ldpopt.designing.questions_design import QuestionsDesign
from ldpopt.estimation.influence import least_in_people
from ldpopt.estimation.sums import Sums
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.mean.protocol import NumberProtocol
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

E1 = math.e


@pytest.mark.parametrize(
    ("protocol", "right"),
    [
        (frequencies.RandomizedResponse(2, "log(3)"), 1.5),
        (frequencies.RandomizedResponse(3, "log(3)"), 2.0),
        (frequencies.RandomizedResponse(4, "log(3)"), 2.5),
        (frequencies.RandomizedResponse(100, 1.0), 58.6157),
        (frequencies.SubsetSelection(100, 1.0, size=27), 3.1339),
        (frequencies.UnaryEncoding(100, 1.0), 3.1640),
        (frequencies.LinearHash(1000, 1.0), 3.3279),
    ],
)
def test_the_influence_on_frequencies_is_that_of_their_probabilities(protocol, right):
    influence = protocol.influence
    assert influence.largest == pytest.approx(right, abs=5e-5)
    assert influence.names == tuple(protocol.inputs)
    p, q = Fraction(protocol.p), Fraction(protocol.q)
    assert influence.raises[0] == float((1 - q) / (p - q))
    assert influence.lowers[0] == float(1 - (0 - q) / (p - q))


@pytest.mark.parametrize("kind", FrequencyProtocol.PUBLISHED, ids=lambda kind: kind.__name__)
def test_single_reports_of_a_protocol_reach_its_influence(kind):
    protocol = kind(5, 1.0)
    number = thorough_or(60, 300)
    reports = protocol.privatize([0] * number, rng=1)
    values = [protocol.estimate(reports[i : i + 1], check_fit=False).values for i in range(number)]
    assert np.max(values) == pytest.approx(protocol.influence.raises[0])
    assert 1 - np.min(values) == pytest.approx(protocol.influence.lowers[0])


@pytest.mark.parametrize(
    ("workload", "right"),
    [
        (Workload.frequencies(range(4)), 2.746),
        (Workload.frequencies(range(16)), 3.182),
        (Workload.prefix(range(8)), 4.44),
        pytest.param(Workload.prefix(range(16)), 6.87, marks=pytest.mark.long),
    ],
    ids=["4", "16", "prefix 8", "prefix 16"],
)
def test_a_design_has_the_influence_of_its_estimator(workload, right):
    best = design(workload, PureLDP(1.0))
    influence = best.influence
    assert influence.largest == pytest.approx(right, abs=6e-3)
    single = np.array(
        [best.estimate([y], check_fit=False).values for y in best.mechanism.outputs]
    ).T
    wanted = np.asarray(workload.matrix)
    away = single[:, :, None] - wanted[:, None, :]
    assert influence.raises == pytest.approx(np.maximum(away.max(axis=(1, 2)), 0))
    assert influence.lowers == pytest.approx(np.maximum(-away.min(axis=(1, 2)), 0))
    assert influence.in_people[-1] > 1 if wanted[-1].min() == 0 else influence.in_people[-1] == 0


def test_sets_of_many_answers_have_the_influence_of_the_protocol_in_the_unit_of_the_workload():
    best = design(Workload.frequencies(range(100)), PureLDP(1.0))
    assert best.influence.largest == pytest.approx(3.1339, abs=5e-5)
    scaled = design(-3 * Workload.frequencies(range(30)), PureLDP(1.0))
    plain = design(Workload.frequencies(range(30)), PureLDP(1.0))
    assert scaled.influence.raises == pytest.approx(3 * plain.influence.lowers)
    assert scaled.influence.lowers == pytest.approx(3 * plain.influence.raises)
    assert scaled.influence.in_people == pytest.approx(plain.influence.in_people)


def test_tables_of_many_questions_have_the_influence_of_reports_that_occur():
    attributes = {f"q{i}": ["no", "yes"] for i in range(10)}
    best = design(Workload.marginals(attributes, 2), PureLDP(1.0))
    assert isinstance(best, QuestionsDesign)
    rng = np.random.default_rng(3)
    answers = rng.integers(0, len(best.workload.inputs), thorough_or(30, 400))
    reports = best.privatize([best.workload.inputs[place] for place in answers], rng=4)
    values = np.array([best.estimate(one[None], check_fit=False).values for one in reports])
    assert best.influence.raises == pytest.approx(np.full(values.shape[1], values.max()))
    assert best.influence.lowers == pytest.approx(np.full(values.shape[1], 1 - values.min()))


@pytest.mark.parametrize("kind", NumberProtocol.PUBLISHED, ids=lambda kind: kind.__name__)
def test_a_mean_moves_by_the_largest_report_in_the_unit_of_the_data(kind):
    protocol = kind(1.0, domain=(10.0, 30.0))
    influence = protocol.influence
    low, high = protocol.report_range
    if low == -math.inf:
        assert influence.largest == math.inf
        assert influence.in_people[0] == math.inf
        assert "any amount" in influence.sentence
        return
    most = protocol.estimate([high]).values[0]
    least = protocol.estimate([low]).values[0]
    assert influence.raises[0] == pytest.approx(most - 10)
    assert influence.lowers[0] == pytest.approx(30 - least)
    # no eps-private unbiased mean is moved by less, and the bit attains it
    bound = (1 + 1 / math.tanh(0.5)) / 2
    assert influence.in_people[0] >= bound * (1 - 1e-9)
    assert kind is not mean.Duchi or influence.in_people[0] == pytest.approx(bound)


@pytest.mark.parametrize("method", ["ratio", "horvitz_thompson"])
@pytest.mark.parametrize("chosen", [1, 2, 3])
def test_means_of_vectors_move_by_the_attribute_that_a_forger_chooses(method, chosen):
    alone = mean.Duchi(1.0, domain=(0.0, 4.0))
    protocol = mean.sampled(alone, attributes=3, method=method, chosen=chosen)
    size = 4000
    reports = protocol.privatize(np.zeros((size, 3)), rng=5)
    before = protocol.estimate(reports).values
    forged = reports.reshape(size, -1).copy()
    forged["attribute"][:200] = np.arange(chosen)
    forged["report"][:200] = alone.report_range[1]
    moved = protocol.estimate(forged.reshape(reports.shape)).values - before
    # 200 of the largest reports on attribute 0, in place of reports of the least answer
    assert 0.8 < size / 200 * moved[0] / protocol.influence.raises[0] < 1.15
    vector = mean.DuchiVector(1.0, 3, domain=(0.0, 4.0))
    ends = [vector.estimate(np.full((1, 3), sign)).values[0] for sign in (1, -1)]
    assert vector.influence.raises == pytest.approx([ends[0]] * 3)
    assert vector.influence.lowers == pytest.approx([4 - ends[1]] * 3)


def test_a_report_stands_in_place_of_one_of_the_same_channel():
    plain = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    skewed = Mechanism([[0.95, 0.05], [0.4, 0.6]], inputs=["no", "yes"])
    model = ReportModel({1: plain, 2: skewed}, behaviors={"cheater": "no"})
    source = model.stacked(np.array([30.0, 70.0]))
    raises = lowers = np.full(3, -np.inf)
    for place, part in enumerate(model.parts):
        columns = source.estimator[:, model.slices[place]]
        means = columns @ part.channel.T
        away = columns[:, :, None] - means[:, None, :]
        raises = np.maximum(raises, away.max(axis=(1, 2)))
        lowers = np.maximum(lowers, -away.min(axis=(1, 2)))
    assert source.influence.raises == pytest.approx(raises)
    assert source.influence.lowers == pytest.approx(lowers)
    # a constant of a channel moves the values of its reports, and not what a report can do
    source.estimator[:, model.slices[0]] += 7.0
    assert source.influence.raises == pytest.approx(raises)
    assert model.influence.names == ("no", "yes", "cheater")
    one = ReportModel(plain)
    assert one.influence.raises == pytest.approx(plain.influence.raises)


def test_liars_move_the_estimate_by_their_share_of_the_influence():
    best = design(Workload.prefix(range(4)), PureLDP(1.0))
    values, wanted = best.estimator, np.asarray(best.workload.matrix)
    channel = best.mechanism.channel
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    variance = shares @ (channel @ (values[1] ** 2) - (channel @ values[1]) ** 2)
    moves = []
    squares = []
    people, liars = 50, 0.2
    for sent in range(len(channel.T)):
        for answer in range(4):
            moved = liars * (values[1, sent] - wanted[1, answer])
            moves.append(abs(moved))
            squares.append((1 - liars) * variance / people + moved**2)
            assert moves[-1] <= liars * best.influence.each[1] * (1 + 1e-9)
    assert max(moves) == pytest.approx(liars * best.influence.each[1])
    # the second bound, by exact moments of a small survey: one liar of two people
    reports = np.add.outer(values[1], values[1][int(values[1].argmax())] + np.zeros(1)) / 2
    for answer in range(4):
        law = channel[answer]
        truth = (wanted[1, answer] + wanted[1].min()) / 2
        mean_square = law @ (reports[:, 0] - truth) ** 2
        own = law @ values[1] ** 2 - wanted[1, answer] ** 2
        assert mean_square <= own / 4 + (best.influence.each[1] / 2) ** 2 + 1e-9
    attained = [
        channel[answer] @ (reports[:, 0] - (wanted[1, answer] + wanted[1].min()) / 2) ** 2
        - (channel[answer] @ values[1] ** 2 - wanted[1, answer] ** 2) / 4
        for answer in range(4)
    ]
    assert max(attained) == pytest.approx((best.influence.raises[1] / 2) ** 2)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_no_private_design_has_less_influence(epsilon):
    bound = (1 + 1 / math.tanh(epsilon / 2)) / 2
    for workload in (
        Workload.frequencies(range(2)),
        Workload.frequencies(range(5)),
        Workload.prefix(range(5)),
        Workload.mean(range(6)),
    ):
        people = design(workload, PureLDP(epsilon)).influence.in_people
        spans = np.ptp(np.asarray(workload.matrix), axis=1)
        assert (people[spans > 0] >= bound * (1 - 1e-9)).all()
    bit = design(Workload.frequencies(range(2)), PureLDP(epsilon)).influence
    assert bit.largest == pytest.approx(bound)
    assert least_in_people(epsilon) == pytest.approx(bound)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_test_sees_liars_who_send_all_reports_of_a_target(size):
    n, liars, target = 5, 0.05, 2
    protocol = frequencies.SubsetSelection(n, 1.0, size=size)
    p, q = float(protocol.p), float(protocol.q)
    value = (1 - q) / (p - q)
    sets = list(combinations(range(n), size))
    inside, outside = math.comb(n - 1, size - 1), math.comb(n - 1, size)
    channel = np.array(
        [[p / inside if x in each else (1 - p) / outside for each in sets] for x in range(n)]
    )
    lies = np.array([target in each for each in sets]) / inside
    least = liars * (value - 1) / ((n - 1) * (1 - liars))
    for rest in (least, 0.9 * least):
        shares = np.full(n, rest)
        shares[target] = 1 - (n - 1) * rest
        law = (1 - liars) * shares @ channel + liars * lies
        found = np.linalg.lstsq(channel.T, law, rcond=None)[0]
        assert found @ channel == pytest.approx(law)  # the law of these answers, if they are shares
        assert found.sum() == pytest.approx(1)
        assert (found.min() >= -1e-12) == (rest == least)
    assert lies @ [(sum(x == target for x in each) - q) / (p - q) for each in sets] == (
        pytest.approx(value)
    )


def test_reports_that_never_occur_move_nothing():
    channel = [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]
    assert Mechanism(channel).influence.largest == pytest.approx(1.5)


def test_sums_of_numbers_have_an_influence_of_their_own():
    best = design(Workload.frequencies(range(4)), PureLDP(1.0))
    matrix = np.array([[1.0, 1, 0, 0], [1.0, 1, 1, 1], [1.0, -1, 0, 0]])
    values = matrix @ best.estimator
    influence = Sums(best, matrix).influence
    assert influence.raises[0] == pytest.approx(values[0].max())
    assert influence.each[1] == pytest.approx(0, abs=1e-9)
    assert influence.in_people[1] == 0
    assert influence.each[2] == pytest.approx(values[2].max() + 1)


@pytest.mark.parametrize(
    ("scheme", "right"),
    [
        # the shares among the reports that name a question: forgers name it, d / s times as often
        ("joint", 4 * (1 + 1 / math.tanh(0.5)) / 2),
        ("split", (1 + 1 / math.tanh(0.125)) / 2),
        ("one_question", 4 * (1 + 1 / math.tanh(0.5)) / 2),
        ("fake_data", 0.5 + 2 / math.tanh(0.5)),
    ],
)
def test_where_the_device_draws_the_question_forgers_choose_it(scheme, right):
    questions = {f"q{i}": ["no", "yes"] for i in range(4)}
    survey = Survey(questions, epsilon=1.0, scheme=scheme)
    assert survey.influence("q2").largest == pytest.approx(right, rel=1e-6)
    assert survey.influence("q2").names == ("no", "yes")
    with refused("question"):
        survey.influence("q9")


def test_a_joint_report_of_a_design_has_the_influence_of_its_values():
    # four yes/no questions: the values of the best joint report, if its mean is not a ratio
    attributes = {f"q{i}": ["no", "yes"] for i in range(4)}
    best = design(Workload.marginals(attributes, 1), PureLDP(1.0))
    assert best.influence.largest == pytest.approx(4.83, abs=5e-3)


@pytest.mark.parametrize("count", [3, 11])
def test_the_share_of_a_tick_moves_as_that_of_its_design(count):
    names = tuple(f"t{i}" for i in range(count))
    best = design(tick_workload(names), PureLDP(1.0))
    shares = TicksQuestion(best, ticks=names).numbers
    assert shares.influence.names == names
    assert shares.influence.raises == pytest.approx(best.influence.raises[1::2])
    assert shares.influence.lowers == pytest.approx(best.influence.raises[0::2])


def test_numbers_that_are_no_influence_are_refused():
    with refused("shape"):
        Influence(("a",), [1.0, 2.0], [1.0])
    with refused("influence-sign"):
        Influence(("a",), [-1.0], [1.0])
    with refused("influence-sign"):
        Influence(("a",), [1.0], [math.nan])
    with refused("rank"):
        Mechanism([[0.5, 0.5], [0.5, 0.5]]).influence  # noqa: B018
    made = Influence(("a", "b"), [2.0, 0.0], [1.0, 0.0], [4.0, 0.0])
    assert made.in_people.tolist() == [0.5, 0.0]
    assert made.largest == 2.0
    assert "0.5 people" in made.summary()
    assert made.times(3).raises.tolist() == [6.0, 0.0]
