"""The certificate of a design for many frequencies, and what the design has in common with those that list reports."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest

import ldpopt as lo
from ldpopt import PureLDP, Workload
from ldpopt.designing import frequency_certificate as subset_proof
from ldpopt.certificate.frequency_certificate import FrequencyCertificate
from ldpopt.errors import LdpoptError


def test_it_is_saved_and_checked_again(tmp_path):
    proof = lo.design(2 * lo.Workload.frequencies(50), lo.PureLDP("log(4)")).certificate
    proof.save(tmp_path / "proof.json")
    read = FrequencyCertificate.load(tmp_path / "proof.json")
    assert read.recheck() == ()
    assert (read.achieved, read.bound, read.size) == (proof.achieved, proof.bound, proof.size)


@pytest.mark.parametrize(
    "change",
    [
        lambda proof: {"bound": proof.bound + Fraction(1, 10**9)},
        lambda proof: {"achieved": proof.achieved - Fraction(1, 10**9)},
        lambda proof: {"size": proof.size + 1},
        lambda proof: {"privacy": lo.PureLDP(0.9)},
    ],
)
def test_a_claim_of_more_is_refused(change):
    proof = lo.design(lo.Workload.frequencies(30), lo.PureLDP(1.0)).certificate
    assert replace(proof, **change(proof)).recheck() != ()


def test_few_sets_are_listed_and_estimate_without_bias():
    best = lo.design(lo.Workload.frequencies(22), lo.PureLDP(3.0))
    assert best.n_reports == comb(22, best.protocol.size) == best.estimator.shape[1]
    np.testing.assert_allclose(best.estimator @ best.mechanism.channel.T, np.eye(22), atol=1e-9)
    variance = best.mechanism.channel @ (best.estimator**2).sum(axis=0) - 1
    np.testing.assert_allclose(variance, best.variance(), rtol=1e-9)


def test_many_sets_are_refused_in_words():
    with pytest.raises(LdpoptError, match="too many possible reports"):
        _ = lo.design(lo.Workload.frequencies(40), lo.PureLDP(0.5)).estimator


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, "log(3)", 4.0, 40.0])
def test_the_best_size_is_the_best_of_all_sizes(epsilon):
    budget = PureLDP(epsilon).epsilon
    base = 1 / budget.enclosure()[1]
    for n in range(2, 12):
        told = {k: subset_proof._told(n, k, base) for k in range(1, n)}
        assert told[subset_proof.best_size(n, budget)] == max(told.values())


def test_the_relative_gap_is_rounded_up_and_that_of_nothing_is_nothing():
    proof = FrequencyCertificate.of(Workload.frequencies(5), PureLDP(1.0))
    assert Fraction(proof.relative_gap) >= proof.gap / proof.achieved
    assert 0 <= proof.relative_gap <= 1e-12
    thrice = FrequencyCertificate.of(3 * Workload.frequencies(5), PureLDP(1.0))
    assert (thrice.achieved, thrice.bound) == (9 * proof.achieved, 9 * proof.bound)
    assert replace(proof, achieved=Fraction(0), bound=Fraction(0)).relative_gap == 0.0


def test_another_digest_is_refused(tmp_path):
    path = tmp_path / "proof.json"
    proof = FrequencyCertificate.of(Workload.frequencies(5), PureLDP(1.0))
    proof.save(path)
    path.write_text(path.read_text().replace(proof.protocol.digest, "0" * len(proof.protocol.digest)))
    with pytest.raises(LdpoptError, match="the digest is another"):
        FrequencyCertificate.load(path)
