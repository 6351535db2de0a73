"""The certificate of a design for many frequencies, and what the design has in common with those
that list reports."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest

from ldpopt import PureLDP, Workload
from ldpopt.certificate.design_statement import least_ratio
from ldpopt.certificate.frequency_certificate import (
    FrequencyCertificate,
    SubsetRandomizer,
    best_size,
)


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, "log(3)", 4.0, 40.0])
def test_the_best_size_is_the_best_of_all_sizes(epsilon):
    budget = PureLDP(epsilon).epsilon
    for n in range(2, 12):
        values = {k: SubsetRandomizer.of(n, k, budget) for k in range(1, n)}
        values = {k: one.total_variance for k, one in values.items() if one.p > one.q}
        assert values[best_size(n, budget)] <= min(values.values()) * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("epsilon", [0.01, "log(3)", 4.0])
def test_the_bound_is_the_closed_formula(epsilon):
    """``(n - 1)^2 / max_k t(k) - (1 - 1/n)``, ``t(k) = (1-b)^2 k (1 - k/n) / (b + (1-b)
    k/n)^2``."""
    for n in (2, 7, 30, 200):
        privacy = PureLDP(epsilon)
        proof = FrequencyCertificate.of(Workload.frequencies(n), privacy)
        b = least_ratio(privacy.epsilon)
        information = max(
            (1 - b) ** 2 * k * (1 - Fraction(k, n)) / (b + (1 - b) * Fraction(k, n)) ** 2
            for k in range(1, n)
        )
        formula = (n - 1) ** 2 / information - (1 - Fraction(1, n))
        assert formula * (1 - Fraction(1, 10**13)) <= proof.bound <= formula
        assert proof.recheck() == ()


def test_the_value_is_the_variance_of_the_listed_channel():
    drawn = SubsetRandomizer.of(5, 2, PureLDP(1.0).epsilon)
    n = 5
    sets = [set(part) for part in itertools.combinations(range(n), 2)]
    p, q = drawn.p, drawn.q
    assert sum(p / 4 if 0 in part else (1 - p) / 6 for part in sets) == 1
    for x in (0, 3):
        found = [
            (p / 4 if x in part else (1 - p) / 6, [((z in part) - q) / (p - q) for z in range(n)])
            for part in sets
        ]
        assert [sum(share * values[z] for share, values in found) for z in range(n)] == [
            z == x for z in range(n)
        ]
        total = sum(
            share * sum((values[z] - (z == x)) ** 2 for z in range(n)) for share, values in found
        )
        assert total == drawn.total_variance


def test_the_relative_gap_is_rounded_up():
    proof = FrequencyCertificate.of(Workload.frequencies(5), PureLDP(1.0))
    assert Fraction(proof.relative_gap) >= proof.gap / proof.achieved
    assert 0 <= proof.relative_gap <= 1e-12
    thrice = FrequencyCertificate.of(3 * Workload.frequencies(5), PureLDP(1.0))
    assert thrice.achieved == 9 * proof.achieved
    assert float(thrice.bound) == pytest.approx(9 * float(proof.bound), rel=1e-14)
    assert replace(proof, achieved=Fraction(0), bound=Fraction(0)).relative_gap == 0.0
