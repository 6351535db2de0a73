"""Intervals for a share of liars: what they cover, and what is refused."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest

from builders import refused, thorough_or
from ldpopt import (
    Counts,
    Mechanism,
    PureLDP,
    Question,
    ReportModel,
    Survey,
    Workload,
    design,
    estimate_frequencies,
    frequencies,
    mean,
)
from ldpopt.estimation.influence import ReportValues

E1 = math.e / (1 + math.e)
COIN = Mechanism([[E1, 1 - E1], [1 - E1, E1]], inputs=["no", "yes"])
REPORTS = {"no": 250, "yes": 150}


def law_of_reports(yes: int, people: int) -> np.ndarray:
    """Probability of each number of reports "yes" of so many people with so many answers "yes"."""

    def binomial(n, p):
        return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])

    return np.convolve(binomial(yes, E1), binomial(people - yes, 1 - E1))


@cache
def interval_of_yes(yes: int, people: int, liars: float) -> tuple[float, float]:
    """The interval of the share of "yes" from a number of reports, which surveys share."""
    counts = {"no": people - yes, "yes": yes}
    return tuple(estimate_frequencies(COIN, counts, liars=liars, check_fit=False).interval[1])


@pytest.mark.parametrize(("liars", "wide", "plain"), [(0.01, 0.969, 0.932), (0.05, 0.974, 0.608)])
def test_the_score_interval_covers_whatever_liars_send(liars, wide, plain):
    people = 400
    false = round(liars * people)
    with_liars = []
    without = []
    for share in (0.0, 0.05, 0.3, 0.5):
        for sent in (0, 1):  # all liars send it, and the other one is their answer
            honest = people - false
            yes = round(share * honest)
            truth = (yes + false * (1 - sent)) / people
            law = law_of_reports(yes, honest)
            covered = np.zeros((2, len(law)))
            for seen in np.flatnonzero(law > 1e-12):
                number = int(seen) + false * sent
                for place, allowed in enumerate((liars, 0.0)):
                    low, high = interval_of_yes(number, people, allowed)
                    covered[place, seen] = low <= truth <= high
            with_liars.append(covered[0] @ law)
            without.append(covered[1] @ law)
    assert min(with_liars) >= wide
    assert min(without) == pytest.approx(plain, abs=2e-3)


def test_intervals_are_widened_by_the_share_times_the_influence():
    plain = estimate_frequencies(COIN, REPORTS)
    wide = estimate_frequencies(COIN, REPORTS, liars=0.02)
    by = 0.02 * COIN.influence.each[:, None] * [-1, 1]
    assert wide.interval == pytest.approx(plain.interval + by)
    assert wide.std_error.tolist() == plain.std_error.tolist()
    assert (wide.fit, wide.liars, plain.liars) == (plain.fit, 0.02, 0.0)
    assert wide.at(0.8).interval == pytest.approx(plain.at(0.8).interval + by)
    assert "liars" in repr(wide)
    assert "2 % of liars" in wide.summary()
    assert "liars" not in plain.summary()
    assert wide.to_frame()["liars"].tolist() == [0.02, 0.02]
    assert "liars" not in plain.to_frame()
    moved = wide.norm_sub()
    assert moved.interval == pytest.approx(np.clip(wide.interval, 0, 1))
    assert moved.liars == 0.02
    assert moved.at(0.95).interval == pytest.approx(moved.interval)
    assert moved.nearest_shares is None


def test_a_sum_has_the_influence_of_one_report_on_the_sum():
    best = design(Workload.frequencies(range(4)), PureLDP(1.0))
    reports = dict.fromkeys(best.mechanism.outputs, 50)
    matrix = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1], [1, -1, 0, 0]])
    wide = best.estimate(reports, liars=0.1)
    plain = best.estimate(reports)
    summed = wide.contrast(matrix)
    values = matrix @ best.estimator
    wanted = matrix
    influence = np.maximum(
        values.max(axis=1) - wanted.min(axis=1), wanted.max(axis=1) - values.min(axis=1)
    )
    by = 0.1 * influence[:, None] * [-1, 1]
    assert summed.interval == pytest.approx(plain.contrast(matrix).interval + by, abs=1e-9)
    assert summed.liars == 0.1
    # less than the sum of what one report does to each
    assert influence[0] < 0.99 * best.influence.each[:2].sum()
    # a mean is a sum
    numbers = wide.mean([0, 1, 2, 3]).interval - plain.mean([0, 1, 2, 3]).interval
    assert numbers[0, 1] == pytest.approx(
        0.1
        * ReportValues(
            *(np.arange(4)[None] @ each for each in (best.estimator, np.eye(4))),
            best.mechanism.channel,
        ).each[0]
    )
    protocol = frequencies.UnaryEncoding(["a", "b"], 1.0)
    found = protocol.estimate(protocol.privatize(["a"] * 50, rng=1), liars=0.1)
    triple = found.contrast({"a": -3})
    assert np.diff(triple.interval) == pytest.approx(3 * np.diff(found.interval[:1]))


def test_what_liars_do_to_two_groups_adds_up():
    first, second = (
        [estimate_frequencies(COIN, counts, liars=liars) for liars in (0.0, 0.02)]
        for counts in (REPORTS, {"no": 90, "yes": 110})
    )
    by = 2 * 0.02 * COIN.influence.each[:, None] * [-1, 1]
    wide = first[1] - second[1]
    assert wide.interval == pytest.approx((first[0] - second[0]).interval + by)
    assert wide.liars == 0.02
    assert (first[1] - second[0]).interval == pytest.approx(
        (first[0] - second[0]).interval + by / 2
    )
    assert wide.at(0.5).interval == pytest.approx((first[0] - second[0]).at(0.5).interval + by)


def test_among_those_who_answered_an_interval_has_all_that_liars_can_have_moved():
    best = design(Workload.prefix(range(3)).with_missing("none"), PureLDP(1.5))
    survey = Survey({"q": Question(best, missing_answer="none")})
    rng = np.random.default_rng(2)
    answers = rng.choice(4, 900, p=[0.3, 0.3, 0.3, 0.1])
    labels = np.array([*best.workload.inputs], dtype=object)
    reports = survey.privatize(pd.DataFrame({"q": labels[answers]}), rng=3)
    counts = survey.count(reports)["q"]
    of_all = best.estimate(counts)
    values, wanted = best.estimator, np.asarray(best.workload.matrix)
    missing = list(best.names).index("none")
    wide = survey.estimate_question("q", counts, liars=0.03)
    plain = survey.estimate_question("q", counts)
    assert wide.liars == 0.03
    assert wide.values.tolist() == plain.values.tolist()
    for place in range(len(wide.values) - 1):
        row = list(best.names).index(wide.labels[place])
        for side in (0, 1):
            t = wide.interval[place, side]
            number = values[row] - t * (1 - values[missing])
            truth = wanted[row] - t * (1 - wanted[missing])
            influence = max(number.max() - truth.min(), truth.max() - number.min())
            distance = abs(of_all.values[row] - t * (1 - of_all.values[missing]))
            # so that true reports may be nearer, and these do not contradict t
            assert distance > 0.03 * influence
            away = abs(plain.interval[place, side] - wide.interval[place, side])
            slope = abs(1 - of_all.values[missing])
            assert away == pytest.approx(0.03 * influence / slope, rel=0.1)


def test_shares_among_those_who_answered_of_sets_allow_for_every_set():
    answers = [*range(25), "none"]
    best = design(Workload.frequencies(answers), PureLDP(1.0))
    survey = Survey({"q": Question(best, missing_answer="none")})
    ratios = np.linspace(-0.2, 1.2, 5)
    rows = np.array([0, 3, 7, 8, 24])
    found = best.ratio_influence(rows, [25], ratios)
    p, q = float(best.protocol.p), float(best.protocol.q)
    for t, influence in zip(ratios, found, strict=True):
        values = [
            ((a - q) - t * ((p - q) - (b - q))) / (p - q) for a in (0, 1) for b in (0, 1)
        ]  # sets of several answers: with and without both
        truth = [1 - t, 0.0, -t]
        assert influence == pytest.approx(max(max(values) - min(truth), max(truth) - min(values)))
    table = pd.DataFrame({"q": [0, 1, "none", 3] * 300})
    reports = survey.privatize(table, rng=3)
    wide, plain = (survey.estimate(reports, liars=liars)["q"] for liars in (0.01, 0.0))
    assert (wide.interval[:, 0] < plain.interval[:, 0]).all()
    assert (wide.interval[:, 1] > plain.interval[:, 1]).all()


def test_in_each_channel_liars_can_be_all():
    skewed = Mechanism([[0.95, 0.05], [0.4, 0.6]], inputs=["no", "yes"])
    model = ReportModel({1: COIN, 2: skewed}, behaviors={"cheater": "no"})
    seen = {1: {"no": 430, "yes": 570}, 2: {"no": 1400, "yes": 600}}
    plain, wide = (model.estimate(seen, liars=liars) for liars in (0.0, 0.02))
    counts = Counts.of(
        model, {(name, y): n for name, each in seen.items() for y, n in each.items()}
    )
    source = model.at(counts)
    by = 0.02 * source.influence.each
    assert wide.interval[:, 1] == pytest.approx(plain.interval[:, 1] + by)
    followers = [model.estimate(seen, liars=liars, followers=True) for liars in (0.0, 0.02)]
    assert (followers[1].interval[:, 1] > followers[0].interval[:, 1] + 0.01).all()
    assert followers[1].liars == 0.02
    with refused("liars-of-likelihood"):
        model.estimate(seen, method="maximum_likelihood", liars=0.02)


@pytest.mark.parametrize("scheme", ["joint", "split", "one_question", "fake_data"])
def test_all_liars_may_be_at_the_question(scheme):
    survey = Survey({f"q{i}": ["no", "yes"] for i in range(3)}, epsilon=2.0, scheme=scheme)
    table = pd.DataFrame({f"q{i}": ["no", "yes"] * 600 for i in range(3)})
    table["region"] = ["north", "south", "south"] * 400
    reports = survey.privatize(table, rng=5)
    plain, wide = (survey.estimate(reports, by="region", liars=liars) for liars in (0, 0.01))
    by = (wide["q1"].interval - plain["q1"].interval)[:, 1]
    assert by == pytest.approx(0.01 * survey.influence("q1").each, rel=0.15)
    if scheme == "one_question":
        people = sum(plain[name].n_reports for name in plain)
        of_one = COIN_OF[2.0] * people / plain["q1"].n_reports
        assert by == pytest.approx([0.01 * of_one] * 2)
    assert wide["q1"].liars == wide.liars == 0.01
    north = wide.groups["north"]["q1"].interval - plain.groups["north"]["q1"].interval
    assert north[:, 1] == pytest.approx(by, rel=0.2)
    assert "1 % of liars of each group" in wide.summary()
    assert {row["liars"] for row in wide.entries()} == {0.01}
    assert "liars" not in plain.entries()[0]
    one, other = wide.differences(), plain.differences()
    assert [row["p"] for row in one.entries()] == [row["p"] for row in other.entries()]
    assert one.entries()[0]["high"] > other.entries()[0]["high"] + by[0]
    assert "true" in one.summary()
    moved = wide.consistent()
    assert moved.liars == 0.01
    with refused("widened"):
        wide.independence("q1")
    alone = survey.estimate_question(
        "q1", survey.count(reports)[survey.column_of("q1")], liars=0.01
    )
    assert alone.liars == 0.01


COIN_OF = {2.0: (1 + 1 / math.tanh(1.0)) / 2}


def test_pairs_and_trees_and_ticks_are_widened_too():
    survey = Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=4.0, scheme="joint")
    table = pd.DataFrame({"a": ["no", "yes"] * 500, "b": ["no", "no"] * 500})
    reports = survey.privatize(table, rng=1)
    plain, wide = (survey.estimate_pair(reports, "a", "b", liars=liars) for liars in (0, 0.01))
    assert (wide.interval[:, 1] > plain.interval[:, 1] + 0.01).all()
    split = Survey({"a": ["no", "yes"], "b": ["u", "v", "w"]}, epsilon=4.0)
    table["b"] = ["u", "v"] * 500
    reports = split.privatize(table, rng=1)
    plain, wide = (split.estimate_pair(reports, "a", "b", liars=liars) for liars in (0, 0.01))
    assert (wide.interval[:, 1] > plain.interval[:, 1] + 0.01).all()


def test_means_are_widened_in_their_unit():
    protocol = mean.Duchi(1.0, domain=(0.0, 20.0))
    reports = protocol.privatize(np.full(500, 3.0), rng=1)
    plain, wide = (protocol.estimate(reports, liars=liars) for liars in (0.0, 0.03))
    by = 0.03 * protocol.influence.largest
    assert wide.interval == pytest.approx(plain.interval + np.array([-by, by]))
    for vector in (
        mean.DuchiVector(1.0, 3),
        mean.sampled(mean.Duchi(1.0), attributes=3, chosen=2),
        mean.sampled(mean.Duchi(1.0), attributes=3, method="horvitz_thompson"),
    ):
        reports = vector.privatize(np.zeros((3000, 3)), rng=1)
        plain, wide = (vector.estimate(reports, liars=liars) for liars in (0.0, 0.03))
        by = wide.interval[:, 1] - plain.interval[:, 1]
        assert by == pytest.approx(0.03 * vector.influence.each, rel=0.1)
    laplace = mean.Laplace(1.0)
    with refused("unbounded-influence"):
        laplace.estimate([0.3, 0.1], liars=0.01)
    assert laplace.estimate([0.3, 0.1], liars=0.0).liars == 0
    with refused("attribute-twice"):
        twice = mean.sampled(mean.Duchi(1.0), attributes=3, chosen=2)
        reports = twice.privatize(np.zeros((5, 3)), rng=1)
        reports["attribute"][2] = 1
        twice.estimate(reports)


def test_protocols_and_designs_by_formula_are_widened():
    protocol = frequencies.LinearHash(30, 1.0)
    reports = protocol.privatize([3] * 400, rng=1)
    for plain, wide in (
        [protocol.estimate(reports, liars=liars) for liars in (0.0, 0.02)],
        [protocol.largest(reports, 4, liars=liars) for liars in (0.0, 0.02)],
    ):
        by = 0.02 * protocol.influence.largest
        assert wide.interval == pytest.approx(plain.interval + np.array([-by, by]))
    scaled = design(-3 * Workload.frequencies(range(30)), PureLDP(1.0))
    reports = scaled.privatize([3] * 400, rng=1)
    plain, wide = (scaled.estimate(reports, liars=liars) for liars in (0.0, 0.02))
    by = 0.02 * scaled.influence.largest
    assert wide.interval == pytest.approx(plain.interval + np.array([-by, by]))
    assert plain.at(0.95).interval == pytest.approx(plain.interval)
    assert plain.contrast({3: 2}).values == pytest.approx(2 * plain.values[3])
    many = design(Workload.marginals({f"q{i}": [0, 1] for i in range(10)}, 1), PureLDP(1.0))
    reports = many.privatize([many.workload.inputs[0]] * 200, rng=1)
    plain, wide = (many.estimate(reports, liars=liars) for liars in (0.0, 0.02))
    assert wide.interval[:, 1] == pytest.approx(plain.interval[:, 1] + 0.02 * many.influence.each)


def test_what_takes_all_reports_as_true_refuses_liars():
    wide = estimate_frequencies(COIN, REPORTS, liars=0.01)
    for call in (
        lambda: wide.test([0.5, 0.5]),
        lambda: wide.contrast({"yes": 1}).test(0.5),
        lambda: wide.function(lambda t: t[0]),
        lambda: wide.quantile(0.5),
        lambda: wide.deviation([0, 1]),
    ):
        with refused("widened"):
            call()
    with refused("liars-of-likelihood"):
        estimate_frequencies(COIN, REPORTS, method="maximum_likelihood", liars=0.01)
    for share in (-0.1, 1.0, 2):
        with refused("liars"):
            estimate_frequencies(COIN, REPORTS, liars=share)
    with refused("real-number"):
        estimate_frequencies(COIN, REPORTS, liars="many")


PEOPLE = 2000


def worst_of(values: np.ndarray, wanted: np.ndarray, place: int, up: bool) -> tuple[int, int]:
    """The report and the answer of liars who raise or lower a number as far as they can."""
    best = np.argmax if up else np.argmin
    least = np.argmin if up else np.argmax
    return int(best(values[place])), int(least(wanted[place]))


def forged(rng, cells: np.ndarray, shares: np.ndarray, liars: float, worst: tuple[int, int], scale):
    """Counts of reports by answer and report, with the liars' reports; and the shares of all."""
    false = round(liars * PEOPLE)
    honest = rng.multinomial(PEOPLE - false, shares)
    seen = np.array([rng.multinomial(n, law) for n, law in zip(honest, cells, strict=True)])
    sent, own = worst
    values = scale @ seen
    squares = scale**2 @ seen
    # liars have the mean weight, so that their share of the weight is that of the people
    weight = float(scale @ honest) / (PEOPLE - false)
    values[sent] += weight * false
    squares[sent] += weight**2 * false
    truth = scale * honest
    truth[own] += weight * false
    return values, squares, truth / truth.sum()


def counts_from(source, values: np.ndarray, squares: np.ndarray) -> Counts:
    """Counts of weighted reports."""
    sums = float(values.sum()), float(squares.sum())
    if (values == np.round(values)).all():
        values, squares = values.astype(int), squares.astype(int)
    return Counts(source.digest, source.mechanism.outputs, values, squares, *sums, PEOPLE)


@pytest.mark.parametrize("kind", ["design", "weights", "joint", "answered", "groups"])
@pytest.mark.parametrize("liars", thorough_or([0.05], [0.01, 0.05]))
def test_simulated_surveys_with_the_worst_reports_are_covered(kind, liars):
    scale = np.ones(4)
    shares = np.array([0.35, 0.3, 0.2, 0.15])
    place = 1
    missing = None
    source = design(Workload.frequencies(["a", "b", "c", "d"]), PureLDP(1.0))
    if kind == "joint":
        whole = Survey({"one": ["x", "y"], "two": ["u", "v", "w"]}, epsilon=1.5, scheme="joint")
        source = whole.joint.numbers_of("two")
        shares = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1])
        scale = np.ones(6)
    elif kind == "weights":
        scale = np.array([1.0, 3.0, 1.0, 2.0])
    elif kind == "answered":
        best = design(Workload.prefix(["a", "b", "c"]).with_missing("d"), PureLDP(1.5))
        source, missing = best, list(best.names).index("d")
        whole = Survey({"q": Question(best, missing_answer="d")})
    values, wanted = np.asarray(source.estimator), np.asarray(source.wanted)
    sides = [place], [place]
    if kind == "answered":  # liars who aim at the ratio
        t = 0.5
        row = wanted[0] - t * (1 - wanted[missing])
        values = values[:1] - t * (1 - values[missing])
        wanted = row[None]
        sides = [0], [0]
    rng = np.random.default_rng(7)
    channel = source.mechanism.channel
    covered = {True: []} if liars < 0.05 else {True: [], False: []}
    for number in range(thorough_or(40, 600)):
        up = bool(number % 2)
        worst = worst_of(values, wanted, sides[0][0], up)
        law = (rng, channel, shares, liars)
        seen, squares, truth = forged(*law, worst, scale)
        counts = counts_from(source, seen, squares)
        true = np.asarray(source.wanted) @ truth
        for allowed in covered:
            options = {"liars": liars if allowed else 0.0, "check_fit": False}
            if kind == "answered":
                found = whole.estimate_question("q", counts, **options)
                at = found.interval[0]
                right = true[0] / (1 - true[missing])
            else:
                found = source.estimate(counts, **options)
                at = found.interval[place]
                right = true[place]
            if kind == "groups":  # all liars of the other group lie the other way
                other = worst_of(values, wanted, place, not up)
                seen, squares, truth = forged(*law, other, scale)
                second = source.estimate(counts_from(source, seen, squares), **options)
                at = (found - second).interval[place]
                right = true[place] - (wanted @ truth)[place]
            covered[allowed].append(at[0] <= right <= at[1])
    share = {key: float(np.mean(each)) for key, each in covered.items()}
    assert share[True] >= 0.95 - 2 * (0.05 * 0.95 / len(covered[True])) ** 0.5
    assert liars < 0.05 or share[False] < 0.8
