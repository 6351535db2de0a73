"""Few reports: block designs counted, limits kept, and what they cost."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from builders import thorough_or
from ldpopt import GraphDP, OneSided, PureLDP, Workload, design
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_statement import Statement, least_ratio
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing import few_reports
from ldpopt.designing.block_designs import block_design, field
from ldpopt.designing.literature import randomized_response, variance_of
from ldpopt.errors import StatementError


@pytest.fixture
def few_starts(monkeypatch):
    """The descent takes the time of these tests, from each start alike."""
    monkeypatch.setattr(few_reports, "STARTS", thorough_or(2, few_reports.STARTS))


@pytest.mark.parametrize("q", [2, 3, 4, 5, 8, 9, 16, 25, 27])
def test_fields(q):
    made = field(q)
    assert len(set(made.numbers(made.elements).tolist())) == q
    subfield = made.trace(np.arange(q - 1), made.p)
    assert not subfield[:, 1:].any()
    values = np.bincount(subfield[:, 0], minlength=made.p)
    assert values[0] == q // made.p - 1
    assert (values[1:] == q // made.p).all()


def test_no_fields_of_other_sizes():
    assert [q for q in range(2, 30) if field(q) is None] == [
        6,
        10,
        12,
        14,
        15,
        18,
        20,
        21,
        22,
        24,
        26,
        28,
    ]


@pytest.mark.parametrize(
    "n, size, count",
    [
        *(
            (7, 3, 7),
            (11, 5, 11),
            (13, 4, 13),
            (13, 9, 13),
            (15, 7, 15),
            (16, 6, 16),
            (21, 5, 21),
            (31, 6, 31),
        ),
        *(
            (40, 13, 40),
            (57, 8, 57),
            (9, 3, 12),
            (16, 8, 30),
            (12, 6, 22),
            (13, 3, 26),
            (9, 4, 18),
            (8, 4, 14),
        ),
        *((6, 1, 6), (6, 5, 6)),
    ],
)
def test_block_designs_by_counting(n, size, count):
    """Projective and affine spaces, residues, biplanes, Steiner systems, complements."""
    sets = block_design(n, size)
    assert sets.shape == (count, n)
    assert {tuple(row) for row in sets.sum(axis=1, keepdims=True)} == {(size,)}
    pairs = {int(sets[:, x] @ sets[:, z]) for x, z in itertools.combinations(range(n), 2)}
    assert pairs == {count * size * (size - 1) // (n * (n - 1))}


def test_fewer_sets_than_answers_balance_nothing():
    for n, size in itertools.product(range(2, 16), range(1, 15)):
        sets = block_design(n, size)
        assert sets is None or n <= len(sets) <= n * (n - 1) / 2 or n <= 3


@pytest.mark.parametrize("n, epsilon", [(7, 0.3), (11, 0.2), (13, 0.8), (13, 0.2)])
@pytest.mark.parametrize("objective", ["average", "worst_case"])
def test_frequencies_take_block_designs(n, epsilon, objective):
    alpha = np.exp(epsilon)
    sizes = np.arange(1, n)
    told = ((1 - 1 / alpha) / (sizes + (n - sizes) / alpha)) ** 2 * n * sizes * (n - sizes)
    made = design(Workload.frequencies(n), PureLDP(epsilon), objective=objective)
    known = block_design(n, int(sizes[told.argmax()]))
    assert (
        made.n_reports == (n * (n - 1) // 2 + 1 if known is None else len(known)) or known is None
    )
    assert made.value == pytest.approx((n - 1) ** 2 / told.max() - (1 - 1 / n), rel=1e-9)
    assert made.certificate.recheck() == ()


@pytest.mark.parametrize("n, epsilon", [(21, 1.15), (31, 1.4), (57, 1.8)])
def test_many_answers_in_as_many_reports(n, epsilon):
    """Projective planes of order 4, 5 and 7, whose answers are all alike."""
    made = design(3 * Workload.frequencies(n), PureLDP(epsilon), outputs=n)
    assert made.n_reports == n
    assert made.relative_gap <= 1e-10
    assert made.certificate.recheck() == ()
    assert made.value == pytest.approx(
        design(3 * Workload.frequencies(n), PureLDP(epsilon)).value, rel=1e-9
    )


def test_the_bound_of_one_attribute_is_that_of_all_sets():
    statement = Statement.of(np.eye(7), np.full(7, 1 / 7))
    privacy = PureLDP(0.3)
    base = least_ratio(privacy.epsilon)
    by_sets = design(Workload.frequencies(7), privacy).certificate.multipliers
    alike = ProductBound.best(Spectrum.of(statement, Scheme((7,))), base)
    assert (by_sets.kind, alike.kind) == ("form", "product")
    for found in (by_sets, alike):
        assert found.holds(statement, base)
    assert float(alike.value(statement)) == pytest.approx(float(by_sets.value(statement)), rel=1e-5)
    assert alike.value(statement) >= by_sets.value(statement)


CASES = [
    (Workload.prefix(4), PureLDP(1.0)),
    *thorough_or([], [(Workload.frequencies(5), PureLDP(1e-3))]),
    (Workload.ranges(4), GraphDP(1.0, nx.cycle_graph(4))),
    (Workload.prefix(4), OneSided(1.0, [0, 1])),
    (Workload.frequencies(4), GraphDP(1.0, nx.Graph([(0, 1), (2, 3)]), parts="separate")),
]


@pytest.mark.usefixtures("few_starts")
@pytest.mark.parametrize("workload, privacy", CASES)
def test_a_limit_on_reports_is_kept_and_its_cost_is_proved(workload, privacy):
    n = workload.shape[1]
    free = design(workload, privacy, gap=1e-7)
    values = []
    for most in (n, n + 2):
        made = design(workload, privacy, outputs=most, gap=1e-7)
        assert made.n_reports <= most
        assert made.mechanism.audit(privacy).verdict == "certified"
        assert np.allclose(made.estimator @ made.mechanism.channel.T, workload.matrix, atol=1e-6)
        assert made.certificate.recheck() == ()
        assert made.value >= free.bound
        assert made.relative_gap == pytest.approx(1 - free.bound / made.value, abs=1e-6)
        values.append(made.value)
    assert values[1] <= values[0] * (1 + 1e-6)
    same = design(workload, privacy, outputs=free.n_reports, gap=1e-7)
    assert same.value == pytest.approx(free.value, rel=1e-9)


@pytest.mark.usefixtures("few_starts")
def test_a_limit_for_the_worst_case():
    workload = Workload.prefix(3)
    free = design(workload, PureLDP(1.0), objective="worst_case")
    made = design(workload, PureLDP(1.0), objective="worst_case", outputs=3)
    assert made.n_reports == 3
    assert free.value <= made.value < 1.5 * free.value
    assert made.variance().max() == pytest.approx(made.value, rel=1e-6)
    assert made.certificate.recheck() == ()


def test_as_many_reports_as_answers_beat_randomized_response():
    """Which has as many, and is optimal for frequencies under a large budget."""
    made = design(Workload.frequencies(5), PureLDP(3.0), outputs=5)
    assert made.relative_gap <= 1e-9
    for epsilon in thorough_or([0.5], [0.5, 1.0]):
        limited = design(Workload.prefix(5), PureLDP(epsilon), outputs=5)
        assert limited.value <= variance_of(
            Workload.prefix(5), randomized_response(5, epsilon).channel
        ) * (1 + 1e-9)


def test_another_size_is_used_if_the_best_has_no_block_design():
    """The plane of order 2 has sets of 3; sets of 2 are best here."""
    made = design(Workload.frequencies(7), PureLDP(1.0), outputs=7)
    assert made.n_reports == 7
    assert made.relative_gap == pytest.approx(0.12, abs=0.01)


@pytest.mark.usefixtures("few_starts")
def test_limited_designs_are_the_same_each_time():
    first, second = (design(Workload.prefix(4), PureLDP(1.0), outputs=5) for _ in range(2))
    assert np.array_equal(first.mechanism.channel, second.mechanism.channel)


def test_worst_cases_drop_columns_too():
    made = design(Workload.prefix(6), PureLDP(1.0), objective="worst_case", gap=1e-6)
    assert made.n_reports <= 6 * 7 // 2 + 6
    assert made.relative_gap <= 1e-6


@pytest.mark.parametrize("outputs", [4, 0, -1, 2.5, True, "5"])
def test_refused_in_words(outputs):
    with pytest.raises(StatementError, match=r"outputs|reports"):
        design(Workload.prefix(5), PureLDP(1.0), outputs=outputs)
    with pytest.raises(StatementError):
        design(Workload([[1.0, 0.0, 0.0, 1.0, 0.0]]), GraphDP(1.0, nx.path_graph(5)), outputs=4)
    assert design(Workload([[1.0, 0.0, 0.0, 1.0, 0.0]]), PureLDP(1.0), outputs=2).n_reports == 2
