"""Proofs of designs: what a certificate claims is compared to the last digit, and saved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from builders import thorough_or
from ldpopt import GraphDP, PureLDP, Workload, design, load_design, save_design
from ldpopt.certificate.design_bound import FormBound, NoBound
from ldpopt.certificate.design_statement import (
    AnswerClasses,
    Statement,
    value_of,
)
from ldpopt.foundation.budget import round_up

TINY = Fraction(1, 2**500)
NOTHING = FormBound(np.zeros((3, 3)), np.zeros(3))


@pytest.fixture(scope="module")
def certificate():
    return design(Workload.prefix(3), PureLDP("log(3)"), weights=[2, 1, 1], gap=1e-9).certificate


def test_many_reports_are_computed_in_parts(monkeypatch):
    from ldpopt.certificate import design_statement

    made = design(Workload.prefix(5), PureLDP(1.0)).certificate
    given = Statement.of(made.workload.matrix, made.weights)
    whole = value_of(given, made.mechanism.channel, made.left_inverse, "average")
    monkeypatch.setattr(design_statement, "CELLS", 15)
    assert value_of(given, made.mechanism.channel, made.left_inverse, "average") == whole


def test_the_smallest_wrong_claim_is_named(certificate):
    matrix = certificate.workload.matrix
    proved = certificate.multipliers.value(
        Statement.of(matrix, certificate.weights, AnswerClasses.of(matrix))
    )
    assert replace(certificate, bound=proved).recheck() == ()
    assert (
        replace(certificate, bound=proved + TINY)
        .recheck()[0]
        .startswith("the multipliers prove less than the bound claimed: ")
    )
    found = replace(certificate, achieved=certificate.bound).recheck()
    assert len(found) == 1
    assert found[0].startswith("the estimator has a larger variance than claimed: ")


@pytest.mark.parametrize("multipliers", [NOTHING, NoBound()])
def test_without_a_proof_the_bound_is_zero(certificate, multipliers):
    idle = replace(certificate, multipliers=multipliers, bound=Fraction(0))
    assert idle.recheck() == ()
    assert (
        replace(idle, bound=TINY)
        .recheck()[0]
        .startswith("the multipliers prove less than the bound claimed: ")
    )


@pytest.mark.parametrize(
    "achieved, bound", [(Fraction(7, 2), Fraction(1, 3)), (Fraction(1, 9), Fraction(0))]
)
def test_the_gap_is_relative_to_the_value(certificate, achieved, bound):
    claim = replace(certificate, achieved=achieved, bound=bound)
    assert claim.gap == achieved - bound
    assert claim.relative_gap == round_up((achieved - bound) / achieved)


def test_a_value_of_zero_has_a_gap_of_zero(certificate):
    assert replace(certificate, achieved=Fraction(0), bound=Fraction(0)).relative_gap == 0.0


@pytest.mark.parametrize("n", [5, 24])
def test_designs_without_a_bound_are_saved_and_read(n, tmp_path):
    """Multipliers of zeros were refused for more than 20 answers."""
    made = design(Workload.prefix(n), PureLDP(1.0), gap=0.5)
    idle = replace(
        made, certificate=replace(made.certificate, multipliers=NoBound(), bound=Fraction(0))
    )
    save_design(idle, tmp_path / "design.json")
    read = load_design(tmp_path / "design.json")
    assert (read.bound, read.relative_gap, read.value) == (0.0, 1.0, made.value)
    assert read.certificate.recheck() == ()


def test_rays_of_no_cost_are_no_failure():
    """On a path of 6 answers at a budget of 40 no multipliers held, and the zeros in their place
    did not either."""
    graph = nx.path_graph(6)
    for seed in range(thorough_or(1, 4)):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((3, 6)) + 10.0 ** rng.integers(3, 9)
        for objective in ("average", "worst_case"):
            assert design(rows, GraphDP(40, graph), objective=objective).certificate.recheck() == ()
