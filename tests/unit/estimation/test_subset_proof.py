"""The certificate of a design for many frequencies, and what the design has in common with those that list reports."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.errors import LdpoptError
from ldpopt.estimation.designs.subset_proof import FrequencyCertificate


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
