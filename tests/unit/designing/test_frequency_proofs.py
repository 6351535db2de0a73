"""Certificates of designs for frequencies: saved, checked again, refused if they were changed."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt import PureLDP, Workload
from ldpopt.certificate.frequency_certificate import (
    FrequencyCertificate,
)
from ldpopt.errors import LdpoptError
from ldpopt.mechanism.questions import Question


def test_a_certificate_is_saved_and_checked_again(tmp_path):
    proof = lo.design(2 * lo.Workload.frequencies(50), lo.PureLDP("log(4)")).certificate
    proof.save(tmp_path / "proof.json")
    read = FrequencyCertificate.load(tmp_path / "proof.json")
    assert read.recheck() == ()
    assert (read.achieved, read.bound, read.size) == (proof.achieved, proof.bound, proof.size)


def test_few_sets_are_listed_and_estimate_without_bias():
    best = lo.design(lo.Workload.frequencies(22), lo.PureLDP(3.0))
    assert best.n_reports == comb(22, best.protocol.size) == best.estimator.shape[1]
    np.testing.assert_allclose(best.estimator @ best.mechanism.channel.T, np.eye(22), atol=1e-9)
    variance = best.mechanism.channel @ (best.estimator**2).sum(axis=0) - 1
    np.testing.assert_allclose(variance, best.variance(), rtol=1e-9)


def test_many_sets_are_refused_in_words():
    with pytest.raises(LdpoptError, match="possible reports"):
        _ = lo.design(lo.Workload.frequencies(40), lo.PureLDP(0.5)).estimator


def test_another_digest_is_refused(tmp_path):
    path = tmp_path / "proof.json"
    design = lo.design(Workload.frequencies(25), PureLDP(1.0))
    design.certificate.save(path)
    path.write_text(path.read_text().replace(design.protocol.digest, "0" * 64))
    with pytest.raises(LdpoptError, match="digest"):
        FrequencyCertificate.load(path)


def test_multipliers_for_another_number_of_answers_prove_nothing():
    proof = lo.design(lo.Workload.frequencies(30), lo.PureLDP(1.0)).certificate
    assert proof.recheck() == ()
    assert replace(proof, multipliers=replace(proof.multipliers, sizes=(29,))).recheck() != ()


def test_a_certificate_draws_no_reports_of_a_column():
    """Its randomizer has no answers by name."""
    best = lo.design(lo.Workload.frequencies(30), lo.PureLDP(1.0))
    assert len(Question(best).inputs) == 30
    with refused("randomizer"):
        Question(best.certificate)
