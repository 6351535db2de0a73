"""Laws of weights on every way of estimating: equal ones change nothing, scaling all changes
nothing, and intervals are as much wider as errors and design effects say.

The reference needs no formula of the library: the report of a person with the weight 5 stands five
times in a table without weights. With ``T`` and ``S`` the sums of the weights and of their squares,
that table has the same estimates, and errors and intervals are ``sqrt(S / T)`` times as long if
weights are unrelated to the answers. The weighted error over that, squared, is the ``D`` of Rao and
Scott, and the law is

    length of interval = sqrt(S / T max(1, D)) times that of the table with repeated reports

up to the share ``2 c (1 + 1 / v)`` of it, with ``c = z^2 max(1, D) S / T^2`` and ``v`` the variance
of one report's value, by which score intervals of few reports differ from normal ones: for the
roots of ``(t - x)^2 = c (b + m x - x^2)`` it is at most ``c`` times the largest variance, over
``v``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import sample_or_all, thorough_or
from ldpopt import Mechanism, PureLDP, Survey, Workload, design, estimate_frequencies
from ldpopt.certificate.frequency_certificate import FrequencyCertificate
from ldpopt.designing.frequency_design import FrequencyDesign
from ldpopt.designing.methods.method import DesignLimits
from ldpopt.designing.record import KINDS
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.surveys.schemes import SCHEMES

PEOPLE = thorough_or(600, 4000)
Z = 1.959963984540054
NEAR = 0.97  # least length of an interval in normal intervals: it is about 1 without weights too
LABELS = ["a", "b", "c", "d"]
CHOSEN = np.random.default_rng(46).choice(4, PEOPLE, p=[0.15, 0.3, 0.35, 0.2])
ANSWERS = [LABELS[place] for place in CHOSEN]
WEIGHTS = {  # related to the answer: rare answers have the large ones, or common ones
    "rare": np.where(CHOSEN == 0, 5.0, 1.0),
    "common": np.where(CHOSEN == 0, 1.0, 4.0),
}


@dataclass(frozen=True)
class Way:
    """One way of estimating: ``estimate(rows, weights, **options)`` takes the reports of some
    rows; everybody else has none."""

    estimate: Callable[..., Any]
    reported: Any = ...


def of_source(source, draws=None, answers=ANSWERS):
    reports = np.asarray((draws or source).privatize(answers, rng=1))
    return Way(
        lambda rows, weights, **options: source.estimate(reports[rows], weights=weights, **options)
    )


def of_design(workload, **options):
    best = design(workload, PureLDP(3.0), **options)
    return of_source(best, best.mechanism)


def of_sizes(**options):
    few = DesignLimits(listed_answers=2)
    return of_source(design(Workload.frequencies(LABELS), PureLDP(3.0), limits=few, **options))


def of_mechanism(**fixed):
    channel = np.ones((4, 4)) + np.expm1(2.0) * np.eye(4)
    mechanism = Mechanism(channel / channel.sum(axis=1), LABELS)
    reports = np.asarray(mechanism.privatize(ANSWERS, rng=1))

    def estimate(rows, weights, **options):
        reports_of_rows = reports[rows].tolist()
        return estimate_frequencies(mechanism, reports_of_rows, weights=weights, **options, **fixed)

    return Way(estimate)


def of_largest(source):
    reports = source.privatize(ANSWERS, rng=1)
    return Way(
        lambda rows, weights, check_fit, simultaneous=True: source.largest(
            reports[rows], 2, weights=weights, check_fit=check_fit
        )
    )


def of_many_questions():
    unlisted = DesignLimits(product_answers=2)
    best = design(Workload.marginals((2,) * 4, 2), PureLDP(3.0), limits=unlisted)
    rng = np.random.default_rng(48)
    bits = rng.random((PEOPLE, 4)) < 0.3
    bits[:, 0] = CHOSEN == 0
    return of_source(best, answers=bits.astype(int))


QUESTIONS = """
[question.smokes]
labels = ["no", "yes"]
[question.income]
labels = ["low", "mid", "high"]
missing = "answer"
"""
MANY = [f"t{k}" for k in range(10)]  # ticks, too many for a listed channel
MORE = """
[question.age]
labels = ["a", "b", "c", "d"]
workload = "prefix"
[question.used]
ticks = ["tea", "mate", "beer"]
"""
TICKS = f"""
[question.many]
ticks = {json.dumps(MANY)}
"""
YES_NO = "".join(f'[question.{name}]\nlabels = ["no", "yes"]\n' for name in ("one", "two", "three"))
TABLES = {  # fake data take no workload, and a design on all combinations should be small
    "split": QUESTIONS + MORE + TICKS,
    "one_question": QUESTIONS + MORE + thorough_or("", TICKS),  # a second to solve
    "fake_data": QUESTIONS,
    "joint": QUESTIONS,
    "joint, yes or no": YES_NO,
}
PAIRS = {
    "split": ("smokes", "age"),
    "joint": ("smokes", "income"),
    "joint, yes or no": ("one", "two"),
}


def answers():
    """A table of answers that depend on the one that decides the weights."""
    rng = np.random.default_rng(47)
    other = rng.integers(0, 4, PEOPLE)
    mixed = np.where(rng.random(PEOPLE) < 0.7, CHOSEN, other)
    yes = np.array(["no", "yes"])
    columns = {
        "smokes": yes[(CHOSEN == 0).astype(int)],
        "income": np.array(["low", "mid", "high", None], dtype=object)[mixed],
        "age": np.array(LABELS)[CHOSEN],
        "used": np.array(["tea", "tea;mate", "none", "beer"])[mixed],
        "many": np.array(["t0", "t0;t1", "none", "t2;t3;t9"])[mixed],
        "one": yes[(CHOSEN == 0).astype(int)],
        "two": yes[(mixed == 0).astype(int)],
        "three": yes[(other < 2).astype(int)],
        "region": np.where(rng.random(PEOPLE) < 0.6, "south", "north"),
    }
    return pd.DataFrame(columns)


@cache
def survey_of(kind):
    """A survey and its reports."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "survey.toml"
        file.write_text(f'scheme = "{kind.split(",")[0]}"\nepsilon = 8.0\n{TABLES[kind]}')
        survey = Survey.from_toml(file)
    table = answers()[[*survey.questions, "region"]]
    return survey, survey.privatize(table, rng=1)


def of_survey(kind, name, group=None):
    survey, table = survey_of(kind)
    by = None if group is None else "region"

    def estimate(rows, weights, **options):
        found = survey.estimate(table.iloc[rows], weights=weights, by=by, **options)
        return (found if group is None else found.groups[group])[name]

    has_report = table[survey.column_of(name)].notna().to_numpy()
    return Way(estimate, has_report & (True if group is None else table["region"] == group))


def of_pair(kind):
    survey, table = survey_of(kind)
    return Way(
        lambda rows, weights, **options: survey.estimate_pair(
            table.iloc[rows], *PAIRS[kind], weights=weights, **options
        )
    )


def ways():
    """Every way of estimating, by name; made when it is first tried."""
    found = {
        "inversion": partial(of_mechanism),
        "normal intervals": partial(of_mechanism, intervals="normal"),
        "maximum likelihood": partial(of_mechanism, method="maximum_likelihood"),
        "numbers of a mechanism": partial(of_mechanism, numbers=Workload.prefix(LABELS)),
        "Design of frequencies": partial(of_design, Workload.frequencies(LABELS)),
        "Design of ranges": partial(of_design, Workload.ranges(LABELS)),
        "CappedDesign": partial(of_design, Workload.frequencies(LABELS), influence=2.5),
        "LiarsDesign": partial(of_design, Workload.frequencies(LABELS), liars=0.02, people=1000),
        "FrequencyDesign": lambda: of_source(
            FrequencyDesign(FrequencyCertificate.of(Workload.frequencies(LABELS), PureLDP(2.0)))
        ),
        "CappedFrequencyDesign": partial(of_sizes, influence=1.3),
        "LiarsFrequencyDesign": partial(of_sizes, liars=0.02, people=1000),
        "QuestionsDesign": of_many_questions,
    }
    for protocol in FrequencyProtocol.PUBLISHED:
        found[protocol.__name__] = lambda protocol=protocol: of_source(protocol(LABELS, 2.0))
        name = f"largest of {protocol.__name__}"
        found[name] = lambda protocol=protocol: of_largest(protocol(LABELS, 2.0))
    for kind, questions in TABLES.items():
        names = list(tomllib.loads(questions)["question"])
        for name in names:
            found[f"{name}, {kind}"] = partial(of_survey, kind, name)
        for name in names[: thorough_or(1, None)]:
            found[f"{name} in a group, {kind}"] = partial(of_survey, kind, name, "south")
    return found | {f"pair, {kind}": partial(of_pair, kind) for kind in PAIRS}


WAYS = ways()
way_of = cache(lambda name: WAYS[name]())


def test_every_scheme_and_kind_of_design_is_there():
    assert {kind.split(",")[0] for kind in TABLES} == set(SCHEMES)
    assert {kind.__name__ for kind in KINDS.values()} <= {name.split()[0] for name in WAYS}


def same(one, other, tolerance=0.0):
    """Whether two estimates are equal, to the last bit or up to a tolerance."""
    for key in ("values", "std_error", "interval"):
        assert getattr(one, key) == pytest.approx(getattr(other, key), rel=tolerance, abs=tolerance)
    assert (one.covariance is None) == (other.covariance is None)
    if one.covariance is not None:
        assert one.covariance == pytest.approx(other.covariance, rel=1e-7, abs=1e-12)


ALL = np.arange(PEOPLE)


@pytest.mark.parametrize("simultaneous", thorough_or([False], [False, True]))
@pytest.mark.parametrize("name", WAYS)
def test_equal_weights_change_nothing(name, simultaneous):
    way = way_of(name)
    estimate = partial(way.estimate, simultaneous=simultaneous, check_fit=False)
    plain = estimate(ALL, None)
    assert plain.effect is None
    for weight in thorough_or((4.0, 0.7), (1, 1.0, 4.0, 0.7)):
        weighted = estimate(ALL, np.full(PEOPLE, weight))
        # 0.7 is not a sum of few powers of two, and sums of it are rounded
        same(weighted, plain, 1e-7 if weight == 0.7 else 0.0)
        if weight != 1:
            assert weighted.effect == pytest.approx(np.ones(len(plain.values)), abs=1e-9)


@pytest.mark.parametrize(
    ("related", "simultaneous"), thorough_or([("rare", False)], [("rare", False), ("common", True)])
)
@pytest.mark.parametrize("name", sample_or_all(WAYS, 15))
def test_the_scale_of_the_weights_changes_nothing(name, simultaneous, related):
    estimate = partial(way_of(name).estimate, simultaneous=simultaneous, check_fit=False)
    weighted = estimate(ALL, WEIGHTS[related])
    same(estimate(ALL, WEIGHTS[related] / 8), weighted)
    same(estimate(ALL, WEIGHTS[related] * 0.7), weighted, 1e-7)


@pytest.mark.parametrize("related", thorough_or(["rare"], WEIGHTS))
@pytest.mark.parametrize("name", [name for name in WAYS if not name.startswith("largest")])
def test_intervals_are_as_long_as_errors_and_design_effects_say(name, related):
    way = way_of(name)
    weights = WEIGHTS[related]
    weighted = way.estimate(ALL, weights, check_fit=False)
    repeated = way.estimate(np.repeat(ALL, weights.astype(int)), None, check_fit=False)
    reported = weights[way.reported]
    kish = (reported**2).sum() / reported.sum() ** 2
    unrelated = repeated.std_error * np.sqrt(reported.sum() * kish)  # error if D were 1
    there = np.ptp(repeated.interval, axis=1) > 1e-9  # other numbers are the same for all answers
    assert weighted.values == pytest.approx(repeated.values, rel=1e-6, abs=1e-9)
    assert weighted.effect[~there] == pytest.approx(len(reported) * kish)
    found, unrelated = (each[there] for each in (weighted.std_error, unrelated))
    length, plain = (np.ptp(each.interval, axis=1)[there] for each in (weighted, repeated))
    ratio = (found / unrelated) ** 2  # D
    most = ratio if name == "normal intervals" else np.maximum(1, ratio)
    slack = 2 * Z**2 * kish * most * (1 + kish / unrelated**2)
    expected = plain * np.sqrt(reported.sum() * kish * most)
    assert (abs(length / expected - 1) <= slack).all()
    # designs of more reports than answers: errors by the seen reports, intervals by the answers
    assert (length >= 2 * Z * found * (NEAR - slack)).all()
    effect = weighted.effect[there]
    assert (abs(effect / (len(reported) * kish * np.maximum(1, ratio)) - 1) <= slack).all()
    assert (effect <= reported.max() / reported.mean() * (1 + slack)).all()
