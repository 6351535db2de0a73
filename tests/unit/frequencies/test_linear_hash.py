"""The linear hash: supports by definition, privacy in rationals, the distribution of draws, and its
figures."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from builders import refused, thorough_or
from ldpopt.certificate.frequency_certificate import SubsetRandomizer, best_size
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.frequencies import LinearHash

PRIVATE = [(2, 5), (3, 20), (4, 60), (5, 100), (8, 64), (9, 30)]
PUBLIC = [(2, 4), (3, 20), (4, 16), (7, 40), (9, 50)]


def points(protocol):
    """All points of the space, shape (t, m), in the order of their numbers."""
    vectors = np.array(list(itertools.product(range(protocol.elements), repeat=protocol.length))).T[
        :, 1:
    ]
    numbers = protocol.space.numbers(vectors)
    first = np.unique(numbers, return_index=True)[1]
    assert numbers.max() + 1 == len(first)
    return vectors[:, first]


def supported(protocol, vectors):
    """Whether each point supports each label, shape (n, m), by the product of the vectors."""
    labels = protocol.space.digits(np.arange(len(protocol.inputs)))
    field = protocol.space.field
    found = []
    for label in labels.T:
        product = protocol.space.product(
            vectors[:-1], np.repeat(label[:, None], vectors.shape[1], axis=1)
        )
        found.append(field.sums[product, vectors[-1]] == 0)
    return np.array(found)


@pytest.mark.parametrize("q, n", PRIVATE)
def test_points_support_every_two_labels_alike_and_privacy_is_exact(q, n):
    protocol = LinearHash(n, "log(3)", q=q)
    inside = supported(protocol, points(protocol))
    c = inside[0].sum()
    m = inside.shape[1]
    likely = protocol.p / int(c)
    other = (1 - protocol.p) / int(m - c)
    assert likely / other == protocol._ratio() <= 3
    both = (inside[:1] & inside[1:]).sum(axis=1)
    assert (inside.sum(axis=1) == c).all()
    assert (both == both[0]).all()
    assert protocol.q == int(both[0]) * likely + int(c - both[0]) * other
    # points with the first label and without another one
    excess = int(c - both[0]) * (likely - Fraction(3, 2) * other)
    assert protocol._delta(Fraction(3, 2)) == excess
    witness = inside[:, protocol._witness()]
    assert (witness[0], witness[1]) == (True, False)


@pytest.mark.parametrize("q, n", PRIVATE)
def test_decoded_supports_are_those_of_the_definition(q, n):
    protocol = LinearHash(n, 1.0, q=q)
    answers = np.random.default_rng(n).integers(0, n, 500)
    reports = protocol.privatize(answers, rng=2)
    inside = supported(protocol, points(protocol))
    assert protocol.count(reports).values.tolist() == inside[:, reports].sum(axis=1).tolist()
    weights = np.random.default_rng(1).uniform(0, 2, 500)
    assert protocol.count(reports, weights=weights).values == pytest.approx(
        inside[:, reports] @ weights
    )


@pytest.mark.parametrize("q, n", PUBLIC)
def test_public_hashes_are_pairwise_independent_and_decoded_by_definition(q, n):
    protocol = LinearHash(n, "log(3)", public_coin=True, q=q)
    assert protocol.q == Fraction(1, q)
    assert protocol.bits == (q - 1).bit_length()
    hashes = np.arange(q ** (protocol.length - 1))
    labels = protocol.space.digits(np.arange(n))
    vectors = protocol.space.digits(hashes)
    values = np.array(
        [protocol.space.product(vectors, np.repeat(x[:, None], len(hashes), 1)) for x in labels.T]
    )
    same = (values[:, None] == values[None]).mean(axis=2)
    assert same == pytest.approx(np.where(np.eye(n), 1, 1 / q))
    kept = protocol.p
    other = (1 - protocol.p) / (q - 1)
    assert kept / other == protocol._ratio() <= 3
    assert protocol._delta(Fraction(2)) == (1 - Fraction(1, q)) * (kept - 2 * other)
    reports = protocol.privatize(np.random.default_rng(n).integers(0, n, 500), rng=2)
    seen = values[:, reports["hash"]] == reports["value"]
    assert protocol.count(reports).values.tolist() == seen.sum(axis=1).tolist()


@pytest.mark.parametrize("q, n", [(3, 9), (4, 10)])
def test_draws_have_the_stated_distribution(q, n):
    protocol = LinearHash(n, 1.0, q=q)
    inside = supported(protocol, points(protocol))
    draws = thorough_or(40_000, 1_000_000)
    m = inside.shape[1]
    for label in (0, n - 1):
        seen = np.bincount(protocol.privatize(np.full(draws, label), rng=label + 3), minlength=m)
        c = inside[label].sum()
        wanted = draws * np.where(
            inside[label], float(protocol.p) / c, float(1 - protocol.p) / (m - c)
        )
        statistic = ((seen - wanted) ** 2 / wanted).sum()
        assert statistic < m + 5 * np.sqrt(2 * m)


@pytest.mark.parametrize("coin", [False, True])
@pytest.mark.parametrize(
    "epsilon, q, ratio",
    [(1.0, 4, 1.0024), (2.0, 8, 1.0007), (3.0, 19, 1.0030), (4.0, 47, 1.0074), (5.0, 125, 1.0082)],
)
def test_a_million_labels_take_few_bits_within_a_percent_of_the_best_variance(
    epsilon, q, ratio, coin
):
    n = 10**6
    budget = Budget(epsilon)
    protocol = LinearHash(n, epsilon, public_coin=coin)
    best = SubsetRandomizer.of(n, best_size(n, budget), budget).total_variance
    assert protocol.elements == q
    assert float(protocol.total_variance / float(best)) == pytest.approx(ratio, abs=2e-4)
    assert protocol.bits <= (7 if coin else 23)
    assert protocol.audit().verdict == "certified"


@pytest.mark.long
def test_estimates_of_a_million_labels_are_as_wrong_as_predicted():
    protocol = LinearHash(10**6, 3.0)
    people = 10**6
    answers = np.random.default_rng(0).integers(0, 1000, people) ** 2
    found = protocol.estimate(protocol.privatize(answers, rng=1))
    truth = np.bincount(answers, minlength=10**6) / people
    assert people * ((found.values - truth) ** 2).sum() == pytest.approx(
        protocol.total_variance, rel=0.01
    )


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda: LinearHash(10**8, 1.0), "many-labels"),
        (lambda: LinearHash(10, 1.0, q=6), "finite-field"),
        (lambda: LinearHash(10, 1.0).count(np.array([-1])), "reports"),
        (lambda: LinearHash(10, 1.0, True).count(np.array([1])), "fields"),
    ],
)
def test_what_does_not_fit_is_refused(call, code):
    with refused(code):
        call()


def test_budgets_and_answers_are_read():
    with pytest.raises(StatementError, match="epsilon = 0"):
        LinearHash(10, 0.0)
    with pytest.raises(StatementError, match=r"0 \.\. 9"):
        LinearHash(10, 1.0).privatize([10])
