"""One report on all questions: exact distributions of the sampler, the theorem and its bound,
estimates, keys."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused, run_cli, thorough_or
from ldpopt import Counts, PureLDP, SecretKey, Survey, Workload, compare_schemes, design
from ldpopt.certificate.yes_no_certificate import (
    PatternRandomizer,
    YesNoCertificate,
    most_information,
)
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.frequencies.yes_no import TOTAL, WordChoices, YesNoPatterns, draw_order
from ldpopt.mechanism.questions import Question
from ldpopt.studies.folders import count_folder, privatize_folder
from ldpopt.studies.survey_simulation import simulate_survey
from ldpopt.surveys.joint import JOINT
from ldpopt.surveys.pairs import pair_of
from tampering import with_digest

# The table of the best joint report: sum of the variances of all 2 d shares, from an independent
# search
SEARCHED = {
    (2, 0.5): 32.3416,
    (2, 1): 8.3654,
    (2, 2): 1.6441,
    (2, 4): 0.1548,
    (3, 2): 4.4492,
    (3, 4): 0.4812,
    (4, 1): 35.4616,
    (4, 2): 8.5764,
    (4, 4): 1.3723,
    (5, 1): 56.0334,
    (5, 2): 14.0253,
    (5, 4): 2.7681,
    (6, 1): 81.2880,
    (6, 2): 20.7965,
}


class EveryChoice:
    """Choices of one person, all of which are tried in turn, with the probability of those that
    were made."""

    def __init__(self, path):
        self.path = list(path)
        self.made = []
        self.probability = Fraction(1)

    def _next(self, weights):
        place = len(self.made)
        taken = self.path[place] if place < len(self.path) else 0
        self.made.append((taken, len(weights)))
        self.probability *= weights[taken]
        return taken

    def below(self, rows, ends):
        end = int(np.broadcast_to(ends, rows.shape)[0])
        return np.array([self._next([Fraction(1, end)] * end)])

    def is_below(self, rows, mass):
        return np.array([bool(self._next([1 - Fraction(mass, TOTAL), Fraction(mass, TOTAL)]))])

    @classmethod
    def distribution(cls, draw):
        """Exact probability of each result of ``draw(choices)``."""
        found = {}
        path = []
        while path is not None:
            choices = cls(path)
            result = draw(choices)
            found[result] = found.get(result, 0) + choices.probability
            path = next(
                (
                    [*(taken for taken, _ in choices.made[:place]), choices.made[place][0] + 1]
                    for place in reversed(range(len(choices.made)))
                    if choices.made[place][0] + 1 < choices.made[place][1]
                ),
                None,
            )
        return found


def exact_channel(patterns):
    """Probability of every report for every row of answers, by trying all choices of the
    sampler."""
    d = patterns.pattern.questions
    return {
        row: EveryChoice.distribution(
            lambda choices, row=row: tuple(
                patterns.choose(np.array([row], dtype=np.int8), choices, lambda truth: choices)[
                    0
                ].tolist()
            )
        )
        for row in itertools.product((0, 1), repeat=d)
    }


def patterns_of(d, epsilon, size=None, least=None):
    budget = Budget(epsilon)
    certificate = YesNoCertificate.of(d, budget)
    if size is not None:
        drawn = PatternRandomizer.of(d, size, least, budget)
        certificate = YesNoCertificate(budget, drawn, drawn.value, Fraction(0))
    return YesNoPatterns({f"q{k}": ("no", "yes") for k in range(d)}, certificate)


@pytest.mark.parametrize(
    ("d", "size", "least"),
    [
        (1, 1, 1),
        (2, 1, 1),
        (2, 2, 2),
        (3, 2, 2),
        (3, 3, 2),
        *thorough_or([], [(3, 3, 3), (4, 3, 2)]),
    ],
)
def test_the_distribution_of_the_sampler_is_exact_private_and_has_the_stated_bias_and_variance(
    d, size, least
):
    patterns = patterns_of(d, 1.7, size, least)
    drawn = patterns.pattern
    channel = exact_channel(patterns)
    reports = sorted(next(iter(channel.values())))
    assert len(reports) == math.comb(d, size) * 2**size
    assert all(sum(row.values()) == 1 and len(row) == len(reports) for row in channel.values())
    pairs = list(itertools.permutations(channel, 2))
    odds = max(channel[x][y] / channel[z][y] for x, z in pairs for y in reports)
    assert odds == drawn.odds <= Budget(1.7).enclosure()[0] < odds * (1 + Fraction(1, 2**40))
    assert patterns.audit().verdict == "certified"
    for ratio in (Fraction(1), Fraction(2), Fraction(1, 2)):
        most = max(
            sum(max(channel[x][y] - ratio * channel[z][y], 0) for y in reports) for x, z in pairs
        )
        if ratio >= 1:
            assert most == max(drawn.delta(ratio), 0)
        pair = patterns.worst_pair.channel
        assert float(most) == pytest.approx(
            np.maximum(pair[0] - float(ratio) * pair[1], 0).sum(), abs=1e-12
        )
    # Unbiased values of the shares: 1/2 -+ d / (2 s bias) for a named answer, 1/2 for others.
    total = Fraction(0)
    for row, chances in channel.items():
        for j in range(d):
            values = {y: Fraction(0) for y in reports}
            for y in reports:
                named = [place for place in y if place // 2 == j]
                if named:
                    values[y] = Fraction(d, size) * (2 * (named[0] % 2) - 1) / drawn.bias
            mean = sum(chances[y] * values[y] for y in reports)
            assert mean == 2 * row[j] - 1
            total += sum(chances[y] * (values[y] - mean) ** 2 for y in reports) / 2
    assert total / 2**d == drawn.value
    if size > 1:
        both, only, none = drawn.pair()
        seen = {key: Fraction(0) for key in ("both", "only", "none")}
        row = next(iter(channel))
        for y, chance in channel[row].items():
            right = [place % 2 == row[place // 2] for place in y if place // 2 in (0, 1)]
            if len(right) == 2:
                seen["both" if all(right) else "none" if not any(right) else "only"] += chance
        asked = Fraction(size * (size - 1), d * (d - 1))
        assert (seen["both"], seen["only"], seen["none"]) == (
            asked * both,
            2 * asked * only,
            asked * none,
        )


def test_uniform_numbers_and_orders_have_no_bias():
    # Words that are cut off are drawn again: each number below 3 has as many words of 53 bits as
    # the others.
    words = iter([TOTAL - 1, TOTAL - 2, 5, 4])
    choices = WordChoices(
        lambda rows, count: np.array([[next(words)] for _ in rows], dtype=np.uint64)
    )
    assert TOTAL % 3 == 2
    assert choices.below(np.array([0]), 3).tolist() == [2]
    for count, size in ((3, 2), (4, 3), (4, 4)):
        drawn = EveryChoice.distribution(
            lambda one, count=count, size=size: tuple(
                draw_order(one, np.array([0]), count, size)[0].tolist()
            )
        )
        assert set(drawn) == set(itertools.permutations(range(count), size))
        assert set(drawn.values()) == {Fraction(1, math.perm(count, size))}


@pytest.mark.parametrize(("d", "epsilon"), SEARCHED)
def test_the_closed_form_is_the_optimum_that_a_search_finds(d, epsilon):
    found = YesNoCertificate.of(d, Budget(float(epsilon)))
    assert float(found.achieved) == pytest.approx(SEARCHED[d, epsilon], rel=5e-4)
    assert found.recheck() == ()
    assert found.relative_gap < 1e-12


@pytest.mark.parametrize(
    ("d", "epsilon"),
    [(2, 1.0), (3, 2.0), *thorough_or([], [(2, 3.0), (4, 1.5), (4, 4.0), *SEARCHED])],
)
def test_a_design_on_all_combinations_agrees_within_its_gap(d, epsilon):
    found = design(Workload.marginals([2] * d, 1), PureLDP(float(epsilon)), gap=1e-4, time_limit=60)
    closed = YesNoCertificate.of(d, Budget(float(epsilon)))
    assert found.bound <= float(closed.achieved) * (1 + 1e-9)
    assert float(closed.bound) <= found.value * (1 + 1e-9)
    assert found.value / float(closed.achieved) - 1 <= found.relative_gap + 1e-9


@given(st.integers(1, 10**4), st.floats(0.01, 12))
@cases(60)
def test_value_and_bound_hold_for_any_number_of_questions(d, epsilon):
    found = YesNoCertificate.of(d, Budget(epsilon))
    assert found.recheck() == ()
    assert 0 <= found.bound <= found.achieved
    assert found.audit.verdict == "certified"
    if epsilon <= math.log(3) or d <= 6:
        assert found.relative_gap < 1e-6  # proved optimal
    # Every pattern of any size has at most the information of the bound, and asking one question
    # has its own value.
    limit = most_information(d, Budget(epsilon))
    size = min(d, 7)
    for least in range(1, size + 1):
        drawn = PatternRandomizer.of(d, size, least, Budget(epsilon))
        assert size * drawn.bias**2 <= limit
    one = d / 2 * (d / math.tanh(epsilon / 2) ** 2 - 1)
    assert float(found.achieved) <= one * (1 + 1e-6)


@pytest.mark.parametrize("d", [2, 3, 4, *thorough_or([], [5])])
def test_no_set_of_rows_has_more_information_than_the_listed_ones(d):
    # From the definition, over all 2^(2^d) sets for small d, and random ones beyond.
    rows = np.array(list(itertools.product((-1, 1), repeat=d)))
    draws = np.random.default_rng(d)
    every = range(2 ** (2**d)) if d <= 3 else draws.integers(0, 2 ** (2**d), 20000)
    sets = np.array([[mask >> k & 1 for k in range(2**d)] for mask in map(int, every)], dtype=float)
    level = sets @ rows / 2**d
    share = sets.mean(axis=1)
    for epsilon in (0.5, 1.5, 2.5, 5.0):
        ratio = math.exp(epsilon)
        found = (ratio - 1) ** 2 * (level**2).sum(axis=1) / (1 + (ratio - 1) * share) ** 2
        limit = float(most_information(d, Budget(epsilon)))
        assert found.max() <= limit * (1 + 1e-12)
        if d <= 3:
            assert found.max() == pytest.approx(limit, rel=1e-12)


def test_a_claim_that_does_not_hold_is_found():
    found = YesNoCertificate.of(20, Budget(2.0))
    drawn = found.randomizer
    greedy = PatternRandomizer(drawn.questions, drawn.size, drawn.least, drawn.mass + TOTAL // 1000)
    for wrong, words in (
        (
            YesNoCertificate(found.epsilon, drawn, found.achieved, found.bound * Fraction(11, 10)),
            "less than the bound",
        ),
        (
            YesNoCertificate(found.epsilon, drawn, found.bound, found.bound),
            "larger variance than claimed",
        ),
        (YesNoCertificate(found.epsilon, greedy, found.achieved, found.bound), "not private"),
    ):
        assert any(words in failure for failure in wrong.recheck())


HABITS = {"smokes": ["no", "yes"], "drinks": ["never", "ever"], "votes": [0, 1]}


def people(size, rng=0):
    """Answers to `HABITS` of which two depend on each other, with an id."""
    draws = np.random.default_rng(rng)
    smokes = draws.random(size) < 0.2
    drinks = draws.random(size) < np.where(smokes, 0.7, 0.1)
    votes = draws.random(size) < 0.05
    return pd.DataFrame(
        {
            "smokes": np.where(smokes, "yes", "no"),
            "drinks": np.where(drinks, "ever", "never"),
            "votes": votes.astype(int),
            "id": np.arange(size),
        }
    )


SHARES = {"smokes": [0.8, 0.2], "drinks": [0.78, 0.22], "votes": [0.95, 0.05]}
TABLE = [0.8 * 0.9, 0.8 * 0.1, 0.2 * 0.3, 0.2 * 0.7]  # smokes and drinks
ANSWERS = {
    "yes/no": HABITS,
    "mixed": {
        "smokes": Workload.frequencies(["no", "yes"]),
        "drinks": ["never", "ever"],
        "votes": range(3),
    },
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_intervals_of_questions_and_pairs_cover_as_stated(kind):
    rounds = thorough_or(15, 200)
    size = 600
    survey = Survey(ANSWERS[kind], epsilon=2.5, scheme="joint")
    covered = {name: [] for name in [*SHARES, "pair"]}
    values = []
    draws = np.random.default_rng(3)
    for number in range(rounds):
        reports = survey.privatize(people(size, number), rng=draws)
        found = dict(survey.estimate(reports, confidence=0.9))
        values.append([one.values[1] for one in found.values()])
        found |= {"pair": survey.estimate_pair(reports, "smokes", "drinks", confidence=0.9)}
        for name, truth in (SHARES | {"pair": TABLE}).items():
            low, high = found[name].interval[: len(truth)].T
            covered[name].append((low <= truth) & (truth <= high))
    slack = 4.5 * math.sqrt(0.09 / rounds)
    for name, hits in covered.items():
        share = np.mean(hits, axis=0)
        assert (np.abs(share - 0.9) < slack + 0.012).all(), (name, share)
    mean = np.mean(values, axis=0)
    spread = np.std(values, axis=0, ddof=1)
    assert (
        np.abs(mean - [truth[1] for truth in SHARES.values()]) < 4.5 * spread / math.sqrt(rounds)
    ).all()
    for place, name in enumerate(SHARES):
        prior = [*SHARES[name], 0.0] if kind == "mixed" and name == "votes" else SHARES[name]
        expected = survey.precision(name, prior=prior).variances[1] / size
        # Of a design, beside equally common answers to the other questions: nearly the same.
        assert abs(spread[place] ** 2 / expected - 1) < 6 * math.sqrt(2 / rounds) + 0.1 * (
            kind == "mixed"
        )


@pytest.mark.parametrize("kind", ANSWERS)
def test_tables_files_folders_counts_and_saved_surveys_agree(kind, tmp_path):
    survey = Survey(ANSWERS[kind], epsilon=2.0, scheme="joint", weights="w")
    table = people(900)
    table["w"] = np.random.default_rng(1).uniform(0.5, 2, 900)
    survey.save(tmp_path / "s.json")
    twin = Survey.load(tmp_path / "s.json")
    assert twin.joint is not None
    assert (twin.joint.source.digest, twin.epsilon) == (survey.joint.source.digest, survey.epsilon)
    assert twin.joint.certificate.recheck() == ()
    assert twin.joint.certificate.bound == survey.joint.certificate.bound
    key = SecretKey(bytes(32))
    reports = survey.privatize(table, key=key, id="id")
    assert list(reports) == ["id", "w", JOINT]
    found = survey.estimate(reports)
    pair = survey.estimate_pair(reports, "smokes", "drinks")
    table.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "in").mkdir()
    table[:400].to_parquet(tmp_path / "in" / "1.parquet")
    table[400:].to_parquet(tmp_path / "in" / "2.parquet")
    for name in ("r.csv", "r.parquet"):
        assert twin.privatize_file(tmp_path / "a.csv", tmp_path / name, key=key, id="id") == 900
        assert twin.count(tmp_path / name)[JOINT].n_reports == 900
        for question, one in twin.estimate(tmp_path / name).items():
            assert one.values == pytest.approx(found[question].values)
        assert twin.estimate_pair(tmp_path / name, "smokes", "drinks").values == pytest.approx(
            pair.values
        )
        with pytest.raises(ModelFileError, match="column 'smokes'"):
            twin.privatize_file(tmp_path / name, tmp_path / "again.csv")
    assert privatize_folder(tmp_path / "in", tmp_path / "out", twin, key=key, id="id") == 900
    whole = survey.count(reports)[JOINT]
    assert count_folder(tmp_path / "out", twin)[JOINT].values == pytest.approx(whole.values)
    parts = [survey.count(reports[:300])[JOINT], survey.count(reports[300:])[JOINT]]
    assert survey.estimate({JOINT: parts[0] + parts[1]})["votes"].values == pytest.approx(
        found["votes"].values
    )
    for other in (pl.from_pandas(table), pa.table(table)):
        again = survey.privatize(other, key=key, id="id")
        assert type(again) is type(other)
        assert survey.count(again)[JOINT] == whole


def test_keyed_reports_repeat_and_depend_on_the_reported_answers_only():
    survey = Survey(HABITS, epsilon=2.0, scheme="joint")
    table = people(2000)
    key = SecretKey(bytes(32))
    assert survey.joint.source.size == 2
    first = survey.privatize(table, key=key, id="id")[JOINT]
    shuffled = survey.privatize(
        table.sample(frac=1, random_state=1), key=key, id="id"
    ).sort_index()[JOINT]
    assert first.tolist() == shuffled.tolist()
    changed = survey.privatize(table.assign(votes=1 - table["votes"]), key=key, id="id")[JOINT]
    asked = [{int(place) // 2 for place in text.split()} for text in first]
    assert asked == [{int(place) // 2 for place in text.split()} for text in changed]
    is_asked = np.array([2 in places for places in asked])
    assert (first == changed)[~is_asked].all()
    # Reports of other answers are drawn independently: they agree as often as two independent ones.
    drawn = survey.joint.source.pattern
    both, only, none = drawn.pair()
    agree = float(2 * both * only + 2 * only * none)
    share = (first == changed)[is_asked].mean()
    assert abs(share - agree) < 5 * math.sqrt(agree / is_asked.sum())
    other = survey.privatize(table, key=SecretKey(bytes(31) + b"1"), id="id")[JOINT]
    assert (first == other).mean() < 0.5


def test_missing_answers_are_refused_left_out_or_answers():
    table = people(300)
    table.loc[7, "drinks"] = None
    with refused("missing-answer"):
        Survey(HABITS, epsilon=2.0, scheme="joint").privatize(table)
    for questions in (
        HABITS | {"drinks": Question(Workload.frequencies(["never", "ever"]), "leave_out")},
        HABITS | {"drinks": Question(Workload.frequencies(["never", "ever", "?"]), "leave_out")},
    ):
        survey = Survey(questions, epsilon=2.0, scheme="joint")
        assert survey.unprotected == ("drinks",)
        reports = survey.privatize(table, rng=1)
        assert np.flatnonzero(reports[JOINT].isna()).tolist() == [7]
        assert survey.count(reports)[JOINT].n_reports == 299
    answer = Question(Workload.frequencies(["never", "ever", "?"]), missing_answer="?")
    survey = Survey(HABITS | {"drinks": answer}, epsilon=2.0, scheme="joint")
    assert survey.privatize(table, rng=1)[JOINT].notna().all()
    assert survey.estimate(survey.privatize(table, rng=1))["drinks"].labels == (
        "never",
        "ever",
        "?",
    )


def test_other_numbers_than_frequencies():
    ages = [20, 40, 60]
    questions = {
        "smokes": ["no", "yes"],
        "age": Workload.mean(ages, inputs=ages),
        "sport": Workload.prefix([0, 1, 2]),
    }
    survey = Survey(questions, epsilon=3.0, scheme="joint")
    draws = np.random.default_rng(1)
    table = pd.DataFrame(
        {"smokes": draws.choice(["no", "yes"], 5000), "age": draws.choice([20, 40, 60], 5000)}
    )
    table["sport"] = draws.choice(3, 5000, p=[0.5, 0.3, 0.2])
    found = survey.estimate(survey.privatize(table, rng=1))
    assert found["age"].labels == questions["age"].names
    for name, truth in (("age", [40.0]), ("sport", [0.5, 0.8, 1.0]), ("smokes", [0.5, 0.5])):
        assert (np.abs(found[name].values - truth) <= 5 * found[name].std_error + 1e-9).all()


def test_thousands_of_questions():
    d = 10_000
    survey = Survey({f"q{k}": ["no", "yes"] for k in range(d)}, epsilon=4.0, scheme="joint")
    row = (np.random.default_rng(1).random(d) < 0.3).astype(np.int8)
    draws = np.random.default_rng(2)
    reports = survey.joint.source.privatize(
        np.broadcast_to(row, (thorough_or(20_000, 200_000), d)), draws
    )
    counts = Counts.of(survey.joint.source, reports)
    truth = np.stack([1 - row, row], axis=1)
    inside = []
    for place, name in list(enumerate(survey.questions))[:: thorough_or(50, 4)]:
        low, high = survey.estimate_question(name, counts).interval.T
        inside.append((low <= truth[place]) & (truth[place] <= high))
    assert abs(np.mean(inside) - 0.95) < 4.5 * math.sqrt(0.05 / len(inside)) + 0.01
    assert survey.joint.certificate.recheck() == ()
    assert survey.epsilon <= 4.0


@pytest.mark.parametrize(
    ("questions", "epsilon", "code"),
    [
        (HABITS, None, "joint-budget"),
        ({"a": ["no", "yes"]}, 1.0, "joint"),
        ({"a": range(9), "b": range(8)}, 1.0, "combinations"),
        ({"a": ["no", "yes"], JOINT: ["no", "yes"]}, 1.0, "joint-column"),
        (
            {"a": ["no", "yes"], "b": patterns_of(2, 1.0).worst_pair},
            1.0,
            "joint-mechanism",
        ),
    ],
)
def test_surveys_without_a_joint_report(questions, epsilon, code):
    with refused(code):
        Survey(questions, epsilon=epsilon, scheme="joint")


def test_a_budget_may_be_too_small_for_a_joint_report():
    with pytest.raises(StatementError, match="too small"):
        Survey(HABITS, epsilon=1e-18, scheme="joint")


def test_pairs_that_reports_do_not_show_and_wrong_reports_are_refused():
    small = Survey(HABITS, epsilon=0.5, scheme="joint")
    reports = small.privatize(people(50), rng=1)
    with refused("dependence") as error:
        small.estimate_pair(reports, "smokes", "drinks")
    assert "at epsilon 0.5 " in error.value.what
    assert "epsilon 1.5 " in error.value.do
    with refused("dependence"):
        small.joint.source.pair("smokes", "drinks")
    large = Survey(HABITS, epsilon=2.0, scheme="joint")
    for wrong in ([[0, 1]], [[0, 6]], [[2, 1]], [[0, 2, 4]]):
        with pytest.raises(StatementError, match="2 of 3"):
            Counts.of(large.joint.source, wrong)
    with refused("fit"):
        large.estimate_question("smokes", Counts.of(large.joint.source, [[0, 2]] * 3000))
    with refused("question"):
        large.estimate_pair(reports, "smokes", "eats")
    with refused("one-question"):
        Survey(
            dict.fromkeys("ab", patterns_of(2, 1.0).worst_pair), scheme="one_question"
        ).estimate_pair(reports, "a", "b")


def test_the_joint_report_is_compared_with_other_schemes():
    for epsilon in (0.3, 1.0):
        assert compare_schemes(dict.fromkeys("abc", 2), epsilon).best == "one_question"
    found = compare_schemes(dict.fromkeys("abc", 2), 2.0, priors={"a": [0.9, 0.1]})
    assert found.best == "joint"
    survey = Survey(dict.fromkeys("abc", range(2)), epsilon=2.0, scheme="joint")
    for name, prior in (("a", [0.9, 0.1]), ("b", [0.5, 0.5])):
        assert found.variances["joint"][name] == pytest.approx(
            survey.precision(name, prior=prior).variances.mean()
        )
    gains = {
        d: min(compare_schemes(dict.fromkeys(map(str, range(d)), 2), 4.0).average.values())
        for d in (2, 5)
    }
    assert gains == pytest.approx({2: 0.1548 / 4 + 0.25, 5: 2.7681 / 10 + 0.25}, rel=1e-3)
    assert "joint" not in compare_schemes({"a": 9, "b": 9}, 2.0).variances


STATEMENT = """
title = "Habits"
epsilon = 3.0
scheme = "joint"
[question.smokes]
labels = ["no", "yes"]
[question.drinks]
labels = ["never", "ever"]
"""
MIXED = '[question.age]\nlabels = [1, 2, 3]\nworkload = "prefix"\nmissing = "answer"\n'


@pytest.mark.parametrize("more", ["", MIXED])
def test_surveys_in_toml_on_the_command_line(more, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(STATEMENT + more)
    table = people(3000).rename(columns={"votes": "age"})
    table["age"] += 1
    table.to_csv("answers.csv", index=False)
    solved = json.loads(run_cli("survey", "solve", "s.toml", "-o", "s.json", "--json", "-").stdout)
    assert solved["scheme"] == "joint"
    assert solved["certificate"]["bound"] <= solved["certificate"]["achieved"]
    assert run_cli("survey", "check", "s.toml").exit_code == 0
    assert run_cli("plan", "s.json", "--people", "1000").exit_code == 0
    done = run_cli("privatize", "s.json", "answers.csv", "-o", "reports.csv")
    assert done.exit_code == 0, done.stderr
    estimated = json.loads(run_cli("estimate", "s.json", "reports.csv", "--json", "-").stdout)
    shares = {(one["question"], one["answer"]): one["estimate"] for one in estimated["estimates"]}
    assert abs(shares["smokes", "yes"] - 0.2) < 0.1
    paired = json.loads(
        run_cli(
            "estimate", "s.json", "reports.csv", "--pair", "smokes", "drinks", "--json", "-"
        ).stdout
    )
    assert [one["answer"] for one in paired["estimates"]] == [
        [a, b] for a in ("no", "yes") for b in ("never", "ever")
    ]
    for one, truth in zip(paired["estimates"], TABLE, strict=True):
        assert abs(one["estimate"] - truth) < 6 * one["std_error"]
    assert (
        run_cli(
            "estimate", "s.json", "reports.csv", "--pair", "smokes", "drinks", "-o", "table.csv"
        ).exit_code
        == 0
    )
    Path("b.toml").write_text((STATEMENT + more).replace('"joint"', '"best"'))
    assert Survey.from_toml("b.toml").scheme == "joint"


@pytest.mark.parametrize(
    ("old", "new", "code", "key"),
    [
        ("epsilon = 3.0", "", "total-budget", ": scheme"),
        (
            '"yes"]',
            '"yes"]\nutility = "identity"',
            "own-budget",
            "smokes.utility",
        ),
        ('"yes"]', '"yes"]\nepsilon = 1.0', "own-budget", "smokes.epsilon"),
    ],
)
def test_mistakes_in_toml(old, new, code, key, tmp_path):
    (tmp_path / "s.toml").write_text(STATEMENT.replace(old, new, 1))
    with refused(code, ModelFileError) as error:
        Survey.from_toml(tmp_path / "s.toml")
    assert error.value.where.endswith(key)


def test_a_changed_file_is_refused_or_its_claims_fail(tmp_path):
    survey = Survey(HABITS, epsilon=2.0, scheme="joint")
    survey.save(tmp_path / "s.json")
    data = json.loads((tmp_path / "s.json").read_text())
    for key, value, fails in (
        ("mass", TOTAL - 1, True),
        ("bound", "100", False),
        ("questions", 4, True),
    ):
        changed = json.loads(json.dumps(data))
        changed["joint"][key] = value
        (tmp_path / "t.json").write_text(json.dumps(with_digest(changed)))
        if fails:
            with pytest.raises((ModelFileError, StatementError)):
                Survey.load(tmp_path / "t.json")
        else:
            assert Survey.load(tmp_path / "t.json").joint.certificate.recheck()


@pytest.mark.parametrize(
    "answers", [["no", "yes"], ["never", "sometimes", "often"]], ids=["patterns", "design"]
)
def test_simulated_joint_reports_have_the_planned_errors(answers):
    survey = Survey({"smokes": answers, "drinks": ["no", "yes"]}, epsilon=3.0, scheme="joint")
    shares = {
        "smokes": dict(zip(answers, [0.7, 0.2, 0.1], strict=False)),
        "drinks": {"no": 0.6, "yes": 0.4},
    }
    shares["smokes"][answers[-1]] += 1 - sum(shares["smokes"].values())
    repeats = thorough_or(15, 40)
    found = simulate_survey(survey, 400, shares=shares, repeats=repeats, rng=1).set_index(
        ["question", "answer"]
    )
    for name in survey.questions:
        assert found["truth"][name].to_dict() == pytest.approx(shares[name])
        # no distribution of the answers has larger ones
        worst = survey.precision(name).variances / 400
        assert (
            found["rmse"][name].to_numpy() ** 2 <= worst * (1 + 5 * math.sqrt(2 / repeats))
        ).all()


@contextlib.contextmanager
def suppressed(code: str):
    """Pass over an error of this code."""
    try:
        yield
    except StatementError as error:
        if error.code != code:
            raise


TWO = {"a": ["no", "yes"], "b": ["low", "mid", "high"]}
TABLE_OF_TWO = np.array([[0.40, 0.20, 0.05], [0.05, 0.10, 0.20]])


def reports_of(survey: Survey, table: np.ndarray, size: int, rng: np.random.Generator):
    """Reports of people drawn from a table of all answers."""
    drawn = rng.choice(table.size, size, p=table.ravel())
    columns = zip(survey.questions, np.unravel_index(drawn, table.shape), strict=True)
    labels = {name: survey.questions[name].inputs for name in survey.questions}
    answers = {name: [labels[name][code] for code in codes] for name, codes in columns}
    return survey.privatize(pd.DataFrame(answers), rng=rng)


@pytest.mark.parametrize("epsilon", [*thorough_or([], [0.5]), 1.0, 4.0])
def test_a_table_is_refused_or_right(epsilon):
    survey = Survey(TWO, epsilon=epsilon, scheme="joint")
    reports = reports_of(survey, TABLE_OF_TWO, 5000, np.random.default_rng(46))
    if epsilon > 1:
        pair = survey.estimate_pair(reports, "a", "b")
        assert (np.abs(pair.values - TABLE_OF_TWO.ravel()) < 5 * pair.std_error).all()
        assert (pair.std_error < 0.01).all()
        return
    with refused("dependence") as error:
        survey.estimate_pair(reports, "a", "b")
    assert f"at epsilon {epsilon:g} " in error.value.what
    assert "standard error would be" in error.value.what
    enough = float(error.value.do.split()[2])
    larger = Survey(TWO, epsilon=enough, scheme="joint")
    reports = reports_of(larger, TABLE_OF_TWO, 5000, np.random.default_rng(47))
    pair = larger.estimate_pair(reports, "a", "b")
    assert (np.abs(pair.values - TABLE_OF_TWO.ravel()) < 5 * pair.std_error).all()


@pytest.mark.parametrize("number", range(thorough_or(2, 20)))
def test_tables_of_random_surveys_are_refused_or_right(number, monkeypatch):
    # The same kind as benchmarks/tables_of_two.py, which has the figures.
    monkeypatch.setattr("ldpopt.surveys.pairs.LARGER", ())
    rng = np.random.default_rng([number, 46])
    sizes = rng.integers(2, 5, thorough_or(2, rng.integers(2, 4))).tolist()
    epsilon = round(float(np.exp(rng.uniform(np.log(0.2), np.log(8)))), 3)
    names = [f"q{place}" for place in range(len(sizes))]
    survey = Survey(
        {name: list(range(size)) for name, size in zip(names, sizes, strict=True)},
        epsilon=epsilon,
        scheme="joint",
    )
    truth = rng.dirichlet(np.ones(math.prod(sizes))).reshape(sizes)
    reports = reports_of(survey, truth, 5000, rng)
    shown = 0
    for one, two in itertools.combinations(range(len(sizes)), 2):
        table = truth.sum(axis=tuple(set(range(len(sizes))) - {one, two})).ravel()
        with suppressed("dependence"):
            pair = survey.estimate_pair(reports, names[one], names[two])
            assert (np.abs(pair.values - table) < 5 * pair.std_error).all()
            shown += 1
    assert shown or epsilon < 5


def test_the_standard_error_of_a_table_is_the_deviation_of_its_estimates():
    # Nobody gives the first two answers together, and few reports of them are expected.
    survey = Survey({"a": range(3), "b": range(3)}, epsilon=6.5, scheme="joint")
    truth = np.full((3, 3), 1 / 8)
    truth[0, 0] = 0
    pair = pair_of(survey.joint, "a", "b")
    share = truth.ravel() @ survey.joint.source.mechanism.channel
    rng = np.random.default_rng(1)
    rounds = thorough_or(30, 1000)
    estimates = [
        pair.estimate(dict(enumerate(rng.multinomial(1000, share))), check_fit=False)
        for _ in range(rounds)
    ]
    values = np.array([each.values for each in estimates])
    errors = np.array([each.std_error for each in estimates])
    deviation = np.std(values, axis=0)
    assert np.abs(errors.mean(axis=0) / deviation - 1).max() < 0.2 + 2 / math.sqrt(rounds)
    # The share of nobody has an error that does not vanish where none of its reports was given.
    assert errors[:, 0].min() > 0.4 * deviation[0]
    assert np.allclose([np.diag(each.covariance) for each in estimates], errors**2)
