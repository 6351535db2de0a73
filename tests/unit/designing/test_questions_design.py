"""Designs for tables of many questions: against a listed channel, by their draws, in files, and at
large sizes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction as F
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check as checker
from builders import listed_sets, refused, thorough_or
from ldpopt import PureLDP, Workload, design
from ldpopt.certificate.documents import digest_of
from ldpopt.certificate.questions_certificate import Kind, QuestionsCertificate, SetsOfKinds
from ldpopt.designing.methods.method import DesignLimits
from ldpopt.designing.methods.product.unlisted import kind_of
from ldpopt.designing.questions_design import QuestionsDesign
from ldpopt.errors import LdpoptError

SMALL = DesignLimits(product_answers=2)  # so that no channel is listed
KINDS = [
    ((2,), (1, 0, 0)),
    ((1, 1), (0, 1, 1, 1)),
    ((1, 2), (0, 0, 1, 1, 0, 0)),
    ((3,), (1, 0, 0, 1)),
    ((3,), (1, 0, 0, 0)),
    ((1,), (0, 1)),
]


def channel_of(made: QuestionsDesign) -> tuple[Any, Any]:
    """All reports, and their probabilities, shape (n, m), by definition."""
    d = len(made.workload.attributes)
    rows = []
    columns = []
    for place, kind in enumerate(made.certificate.randomizer.kinds):
        own, sets = listed_sets(d, kind.parts, kind.inside)
        p = kind.held / 2**53
        m = float(kind.share)
        assert np.allclose(sets.mean(axis=1), m)
        rows += [[place, *row] for row in own]
        columns.append(kind.mass / 2**53 / len(sets) * np.where(sets > 0, p / m, (1 - p) / (1 - m)))
    return np.array(rows), np.vstack(columns).T


def made_of(workload: Any, epsilon: Any, d: int, pairs: list[Any]) -> QuestionsDesign:
    """A design with given kinds of sets, not the best ones."""
    first = design(workload, PureLDP(epsilon), limits=SMALL)
    budget = first.privacy.epsilon
    kinds = [
        kind_of(parts, np.array(inside), 1 / len(pairs), budget)
        for parts, inside in pairs
        if sum(parts) <= d
    ]
    total = sum(kind.mass for kind in kinds)
    kinds[0] = replace(kinds[0], mass=kinds[0].mass + 2**53 - total)
    return QuestionsDesign(
        QuestionsCertificate.of(workload, first.privacy, kinds, first.certificate.multipliers)
    )


STACK = 2.0 * Workload.marginals((2,) * 3, 1) + Workload.marginals((2,) * 3, 3)


@pytest.mark.parametrize(
    "workload",
    [
        Workload.marginals((2,) * thorough_or(3, 4), 2),
        STACK,
        -3.0 * Workload.marginals((2,) * 3, 1),
    ],
)
@pytest.mark.parametrize("best", [True, False])
def test_value_bias_and_variances_are_those_of_the_listed_channel(
    workload: Any, best: bool
) -> None:
    d = len(workload.attributes)
    made = (
        design(workload, PureLDP(1.5), limits=SMALL) if best else made_of(workload, 1.5, d, KINDS)
    )
    rows, channel = channel_of(made)
    assert len(rows) == made.n_reports
    np.testing.assert_allclose(channel.sum(axis=1), 1, atol=1e-12)
    assert (channel.max(axis=0) / channel.min(axis=0)).max() <= np.exp(1.5) * (1 + 1e-12)
    assert float(made.odds) == pytest.approx(
        (channel.max(axis=0) / channel.min(axis=0)).max(), rel=1e-12
    )
    values = np.array([made.estimate([row], check_fit=False).values for row in rows]).T
    np.testing.assert_allclose(
        values @ channel.T, workload.matrix, atol=1e-9 * np.abs(values).max()
    )
    squares = channel @ (values**2).sum(axis=0) - (workload.matrix**2).sum(axis=0)
    np.testing.assert_allclose(squares, made.value, rtol=1e-9)
    prior = np.random.default_rng(0).dirichlet(np.ones(len(channel)))
    exact = (values**2) @ (prior @ channel) - (workload.matrix @ prior) ** 2
    np.testing.assert_allclose(made.variances(prior), exact, rtol=1e-9)
    worst = max(made.variances(np.eye(len(channel))[0])[0], made.variances(prior)[0])
    assert made.variances()[0] >= worst * (1 - 1e-12)
    delta = max(
        np.maximum(channel[x] - 2.0 * channel[z], 0).sum()
        for x, z in permutations(range(len(channel)), 2)
    )
    assert float(made.certificate.randomizer.delta(F(2))) == pytest.approx(delta, abs=1e-12)


def test_the_variance_is_the_least_of_all_estimators_of_the_channel() -> None:
    workload = Workload.marginals((2,) * 3, 2)
    made = made_of(workload, 1.0, 3, KINDS)
    _, channel = channel_of(made)
    information = (channel / channel.mean(axis=0)) @ channel.T
    least = np.trace(workload.matrix @ np.linalg.pinv(information) @ workload.matrix.T)
    spread = (workload.matrix**2).sum(axis=0).mean()
    assert made.value == pytest.approx(least - spread, rel=1e-9)


def test_draws_have_the_probabilities_that_are_certified() -> None:
    made = made_of(Workload.marginals((2,) * 3, 2), 2.0, 3, KINDS)
    rows, channel = channel_of(made)
    place = {tuple(row): y for y, row in enumerate(rows.tolist())}
    for x in ((0, 0, 0), (1, 0, 1)):
        drawn = made.privatize([x] * 40_000, rng=7)
        counts = np.bincount([place[tuple(row)] for row in drawn.tolist()], minlength=len(rows))
        expected = 40_000 * channel[made.inputs.index(x)]
        assert ((counts - expected) ** 2 / expected).sum() < len(rows) + 5 * np.sqrt(2 * len(rows))


def test_estimates_counts_and_weights() -> None:
    workload = Workload.marginals(
        {"smokes": ["no", "yes"], "old": ["no", "yes"], "male": [0, 1]}, 2
    )
    made = design(workload, PureLDP(2.0), limits=SMALL)
    answers = [("no", "yes", 1)] * 300 + [("yes", "yes", 0)] * 700
    reports = made.privatize(answers, rng=1)
    one = made.count(reports[:400])
    two = made.count(reports[400:])
    whole = made.estimate(reports)
    np.testing.assert_allclose(made.estimate(one + two).values, whole.values)
    np.testing.assert_allclose(
        made.estimate(reports, weights=np.full(1000, 2.0)).values, whole.values
    )
    double = made.estimate(np.vstack([reports, reports[:400]]))
    weighted = made.estimate(reports, weights=np.repeat([2.0, 1.0], [400, 600]))
    np.testing.assert_allclose(weighted.values, double.values)
    assert whole.labels == workload.names
    assert weighted.fit is None
    truth = workload.matrix @ [answers.count(x) / 1000 for x in workload.inputs]
    assert np.abs((whole.values - truth) / whole.std_error).max() < 4
    wide = made.estimate(reports, simultaneous=True)
    assert (np.ptp(wide.interval, axis=1) > np.ptp(whole.interval, axis=1)).all()


def test_raw_answers_and_other_rows_are_refused_without_an_answer_in_the_message() -> None:
    made = design(Workload.marginals((2,) * 3, 2), PureLDP(2.0), limits=SMALL)
    good = made.privatize([(0, 1, 1)] * 500, rng=0)
    assert lo.goodness_of_fit(made, good) > 1e-3
    fixed = np.tile(good[0], (2000, 1))
    assert lo.goodness_of_fit(made, fixed) < 1e-6
    for odd in (
        [(0, 1, 1)],
        [[0, 9, 0, 0]],
        [[0, 0, 0, 0]],
        [[-1, 1, 1, 0]],
        [[9, *good[0, 1:]]],
        [[0.5] * 4],
    ):
        with refused("report-row"):
            made.count(odd)
    for odd in ([(0, 1)], [(0, 1, 2)], [5], "text"):
        with pytest.raises(LdpoptError) as error:
            made.privatize(odd)
        assert "(0, 1" not in str(error.value)
    assert made.privatize([]).shape == (0, 4)


def test_with_a_key_a_report_depends_on_key_question_id_and_answers_alone() -> None:
    made = design(Workload.marginals((2,) * 3, 2), PureLDP(2.0), limits=SMALL)
    key = bytes(range(32))
    answers = [(0, 1, 1)] * 300 + [(1, 0, 0)] * 300
    ids = list(range(600))
    first = made.privatize(answers, key=key, id=ids)
    np.testing.assert_array_equal(made.privatize(answers[::-1], key=key, id=ids[::-1]), first[::-1])
    for other in (
        made.privatize(answers, key=bytes(32), id=ids),
        made.privatize(answers, key=key, id=[600 + name for name in ids]),
        made.privatize(answers, key=key, id=ids, question="another"),
        made.privatize(answers[::-1], key=key, id=ids),
    ):
        assert 0 < (other == first).all(axis=1).mean() < 0.5
    rows, channel = channel_of(made)
    place = {tuple(row): y for y, row in enumerate(rows.tolist())}
    drawn = made.privatize([(1, 0, 1)] * 30_000, key=key, id=range(30_000))
    counts = np.bincount([place[tuple(row)] for row in drawn.tolist()], minlength=len(rows))
    expected = 30_000 * channel[made.inputs.index((1, 0, 1))]
    assert ((counts - expected) ** 2 / expected).sum() < len(rows) + 5 * np.sqrt(2 * len(rows))
    column = made.codec.entries(np.array([3, -1, 4]), np.random.default_rng(0))
    assert [len(text.split(" ")) for text in column[0]] == [4, 1, 4]


def test_files_and_forged_files(tmp_path: Any) -> None:
    made = design(STACK, PureLDP("log(4)"), limits=SMALL)
    path = tmp_path / "design.json"
    lo.save_design(made, path, title="test")
    again = lo.load_design(path)
    assert isinstance(again, QuestionsDesign)
    assert again.certificate.recheck() == ()
    assert (again.digest, again.value, again.bound) == (made.digest, made.value, made.bound)
    reports = made.privatize([(0, 0, 1)] * 100, rng=0)
    np.testing.assert_array_equal(again.estimate(reports).values, made.estimate(reports).values)
    data = json.loads(path.read_text())
    del data["about"], data["digest"]
    achieved = F(data["achieved"])
    bound = F(data["bound"])
    kind = data["kinds"][0]

    def fails(**changed: Any) -> bool:
        other = {**data, **changed}
        path.write_text(json.dumps({**other, "digest": digest_of(other)}))
        try:
            return bool(lo.load_design(path).certificate.recheck())
        except LdpoptError:
            return True

    assert not fails()
    assert not fails(achieved=str(2 * achieved), bound=str(bound / 2))
    assert fails(achieved=str(achieved * F(999999, 1000000)))
    assert fails(bound=str(bound * F(1000001, 1000000)))
    assert fails(tables=[[1, 2.0], [2, 1.0]])
    assert fails(tables=[[1, 2.5], [3, 1.0]])
    assert fails(questions=data["questions"][:2])
    assert fails(privacy={"kind": "pure", "epsilon": "log(3)"})
    assert fails(privacy={"kind": "pure", "epsilon": "log(5)"})
    assert fails(multipliers={"kind": "none"})
    for place, odd in [
        (2, kind[2] + 1),
        (3, kind[3] + 2**40),
        (3, 0),
        (3, 2**53),
        (0, [9]),
        (0, []),
        (1, kind[1][:-1]),
    ]:
        assert fails(kinds=[[*kind[:place], odd, *kind[place + 1 :]], *data["kinds"][1:]]), (
            place,
            odd,
        )


@pytest.mark.parametrize(
    "d, k, epsilon, value, gap",
    [
        (10, 2, 1.0, None, 2.5e-3),
        pytest.param(10, 1, 4.0, 16.0769, 0.054, marks=pytest.mark.long),
        pytest.param(10, 3, 2.0, 8454.24, 2e-4, marks=pytest.mark.long),
        pytest.param(16, 2, 4.0, 1305.41, 0.11, marks=pytest.mark.long),
        pytest.param(16, 3, 4.0, 17649.3, 0.08, marks=pytest.mark.long),
        pytest.param(20, 2, 4.0, 3094.74, 0.13, marks=pytest.mark.long),
    ],
)
def test_large_designs_have_the_values_and_gaps_of_the_search_by_hand(
    d: int, k: int, epsilon: float, value: float | None, gap: float, tmp_path: Any
) -> None:
    made = design(Workload.marginals((2,) * d, k), PureLDP(epsilon))
    assert isinstance(made, QuestionsDesign)
    assert value is None or made.value == pytest.approx(value, rel=1e-4)
    assert 0 <= made.relative_gap <= gap
    assert made.certificate.recheck() == ()
    assert made.audit().verdict == "certified"
    path = tmp_path / "design.json"
    lo.save_design(made, path)
    _, bound, proved_gap = checker.check(path)
    assert bound == pytest.approx(made.certificate.bound, rel=1e-12)
    assert bound + proved_gap == made.certificate.achieved


@pytest.mark.long
def test_the_same_design_as_with_a_listed_channel() -> None:
    """Where both can be made, the value is the same up to rounding, since the best sets depend on
    few questions."""
    for k, epsilon in ((1, 1.0), (2, 3.0)):
        workload = Workload.marginals((2,) * 6, k)
        one = design(workload, PureLDP(epsilon))
        two = design(workload, PureLDP(epsilon), limits=SMALL)
        assert one.value <= two.value * (1 + 1e-6)
        assert two.value <= one.value * 1.01
        assert one.bound == pytest.approx(two.bound, rel=1e-5)


def test_the_information_of_kinds_adds_up_and_symmetric_parts_agree() -> None:
    """A symmetric set of three questions, and the same one as a set of three parts."""
    symmetric = Kind((3,), (1, 0, 0, 1), 2**53, 2**52)
    parted = Kind(
        (1, 1, 1), tuple(int(sum(x) in (0, 3)) for x in product((0, 1), repeat=3)), 2**53, 2**52
    )
    assert symmetric.share == parted.share
    assert symmetric.weights(3) == parted.weights(3)
    assert sum(symmetric.weights(3)) == symmetric.share
    assert SetsOfKinds(5, (symmetric,)).information(2) == SetsOfKinds(5, (parted,)).information(2)
