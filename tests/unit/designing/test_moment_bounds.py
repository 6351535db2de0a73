"""Bounds by moments that the search finds: never above a cost, near the optimum, checked again."""

from __future__ import annotations

import collections
import functools
import itertools
import json
from dataclasses import replace
from fractions import Fraction as F
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ldpopt as lo
import ldpopt_check as checker
from builders import cases, thorough_or
from ldpopt import PureLDP, Workload
from ldpopt.certificate.design_bound_moments import MomentBound, MomentLevels
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_statement import AnswerClasses, Statement, least_ratio
from ldpopt.certificate.moments import Moments, four_answers, terms
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.methods.product.moments import Search, best_bound
from ldpopt.foundation.deadline import NO_LIMIT
from ldpopt.foundation.documents import Entry
from tampering import with_digest


def weight_of(d: int) -> Any:
    return np.array([x.bit_count() for x in range(2**d)])


@functools.cache
def all_sets(d: int) -> tuple[Any, Any]:
    """Share and weights ``W_j`` of every set."""
    sets = ((np.arange(2**2**d)[:, None] >> np.arange(2**d)) & 1).astype(float)
    energies = Scheme((2,) * d).energies(sets).reshape(len(sets), -1)
    return sets.mean(axis=1), np.array(
        [energies[:, weight_of(d) == j].sum(axis=1) for j in range(d + 1)]
    )


@example(4, [1, 1, 5, 4], "log(2)", ())  # no step is whole up to the end of the floats
@example(3, [3, 3, 1, 0], 1.0, ())
@example(4, [5, 1, 0, 2], 1.0, (1, 2, 3, 4))
@cases(20)
@given(
    st.integers(2, 4),
    st.lists(st.integers(0, 5), min_size=4, max_size=4),
    st.sampled_from(["log(2)", 1.0, 3.0]),
    st.sampled_from([(), (), (), (1,), (2, 4)]),
)
def test_no_set_costs_more_than_the_multipliers_allow(
    d: int, mu: list[int], epsilon: Any, apart: Any
) -> None:
    """All sets of up to 16 answers; the bound is not below that in closed form."""
    parts = [F(0), *(F(m) for m in mu[:d])]
    if not any(parts):
        parts[1] = F(1)
    levels = MomentLevels(tuple(parts), tuple(part * comb(d, j) for j, part in enumerate(parts)))
    base = least_ratio(PureLDP(epsilon).epsilon)
    bound = Search(levels, base, tuple(a for a in apart if a <= d)).bound(1e-7)
    assert bound.is_proved_by(levels, base)
    shares, weights = all_sets(d)
    b = float(base)
    nu = bound.eigenvalues**2 * [float(part) for part in parts]
    spare = bound.level * (b + (1 - b) * shares) ** 2 - (1 - b) ** 2 * (nu @ weights)
    assert spare.min() >= -1e-13 * bound.level
    mus = tuple(parts[x.bit_count()] for x in range(2**d))
    spectrum = Spectrum(Scheme((2,) * d), mus, F(0))
    closed = ProductBound.best(spectrum, base).value_of(spectrum)
    assert bound.value_of(levels) >= closed * F(999999, 1000000)


@pytest.mark.parametrize(
    "k, epsilon, gap",
    [(2, 1.0, 0.08), *thorough_or([], [(1, 1.0, 1e-6), (2, 3.0, 0.05), (3, 2.0, 0.02)])],
)
def test_the_optimum_over_all_sets_of_16_answers_is_not_below(
    k: int, epsilon: float, gap: float
) -> None:
    workload = Workload.marginals((2,) * 4, k)
    made = lo.design(workload, PureLDP(epsilon), gap=1e-5)
    levels = MomentLevels.marginals(4, k)
    base = least_ratio(PureLDP(epsilon).epsilon)
    statement = Statement.of(
        workload.matrix, np.full(16, 1 / 16), AnswerClasses.of(workload.matrix)
    )
    spectrum = Spectrum.of(statement, Scheme((2,) * 4))
    assert spectrum is not None
    assert MomentLevels.of(spectrum) == levels
    bound = Search(levels, base).bound(1e-8)
    found = float(bound.value_of(levels) - statement.spread)
    assert made.value * (1 - gap) <= found <= made.value


def test_bounds_of_eight_questions_are_those_of_another_solver() -> None:
    """Clarabel, on the same program written anew: agreement of the dual values."""
    for k, epsilon, expected in (
        (1, 4.0, 9.15100),
        *thorough_or([], [(2, 0.5, 9449.24), (2, 2.0, 456.375)]),
        (2, 4.0, 77.9070),
    ):
        levels = MomentLevels.marginals(8, k)
        found = Search(levels, least_ratio(PureLDP(epsilon).epsilon)).bound(1e-7).value_of(levels)
        spread = sum(levels.total) / 2**8
        assert float(found - spread) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(
    "k, epsilon, value, gap",
    [(3, 4.0, 286.649, 1e-5), pytest.param(2, 2.0, 489.869, 0.0186, marks=pytest.mark.long)],
)
def test_moments_of_four_answers_close_gaps_of_eight_questions(
    k: int, epsilon: float, value: float, gap: float
) -> None:
    """Those of three leave 5.8e-3 and 6.8e-2; the gaps with all distances are those of another
    solver."""
    levels = MomentLevels.marginals(8, k)
    spread = sum(levels.total) / 2**8
    bound = best_bound(
        levels, least_ratio(PureLDP(epsilon).epsilon), value + float(spread), 1e-6, NO_LIMIT
    )
    assert bound.apart == ((1,) if k == 3 else (1, 2, 3, 4, 5, 6, 7, 8))
    assert 1 - float(bound.value_of(levels) - spread) / value < gap


@pytest.fixture(
    scope="module",
    params=[(5, 1, 1.0, ()), pytest.param((6, 1, 4.0, (1,)), marks=pytest.mark.long)],
)
def made(request: Any) -> Any:
    d, k, epsilon, apart = request.param
    found = lo.design(Workload.marginals((2,) * d, k), PureLDP(epsilon))
    assert found.certificate.multipliers.kind == "moments"
    assert found.certificate.multipliers.apart == apart
    return found


def test_forged_multipliers_are_refused(made: Any, tmp_path: Any) -> None:
    proof = made.certificate
    multipliers = proof.multipliers
    data = proof.to_dict()
    whole = len(proof.multipliers.eigenvalues) - 1
    assert proof.recheck() == ()
    largest = int(np.abs(multipliers.factors).argmax())

    def with_factor(value: float) -> MomentBound:
        factors = multipliers.factors.copy()
        factors[largest] = value
        return replace(multipliers, factors=factors)

    forged = {
        "a factor": with_factor(1.01 * multipliers.factors[largest]),
        "no factors": replace(multipliers, factors=0 * multipliers.factors),
        "a lower level": replace(multipliers, level=multipliers.level * (1 - 1e-6)),
        "larger eigenvalues": replace(
            multipliers, eigenvalues=multipliers.eigenvalues * (1 + 1e-6)
        ),
        "no number": replace(multipliers, level=float("nan")),
        "no factor": with_factor(float("nan")),
        "infinite": with_factor(float("inf")),
        "too few eigenvalues": replace(multipliers, eigenvalues=multipliers.eigenvalues[:-1]),
        "another distance": replace(multipliers, apart=(2,)),
        "no distance": replace(multipliers, apart=(whole + 1,)),
    }
    for name, other in forged.items():
        assert replace(proof, multipliers=other).recheck(), name
        changed = {**data, "multipliers": {"kind": other.kind, **other.plain()}}
        (tmp_path / "forged.json").write_text(json.dumps(with_digest(changed)))
        assert checker.main([tmp_path / "forged.json"]) > 0, name
    assert replace(
        proof, bound=proof.achieved * F(10001, 10000), achieved=proof.achieved * F(10002, 10000)
    ).recheck()


def test_multipliers_of_other_workloads_are_refused(made: Any) -> None:
    multipliers = made.certificate.multipliers
    base = least_ratio(made.privacy.epsilon)
    whole = made.workload
    n = whole.matrix.shape[1]
    classes = AnswerClasses.of(whole.matrix)
    equal = np.full(n, 1.0)
    assert multipliers.holds(Statement.of(whole.matrix, equal, classes), base)
    assert not multipliers.holds(Statement.of(1.001 * whole.matrix, equal, classes), base)
    assert not multipliers.holds(Statement.of(whole.matrix, np.arange(1.0, n + 1.0), classes), base)
    assert not multipliers.holds(Statement.of(whole.matrix, equal, classes), base * F(99, 100))
    larger = Workload.marginals((2,) * 7, 1).matrix
    assert not multipliers.holds(
        Statement.of(larger, np.full(128, 1.0), AnswerClasses.of(larger)), base
    )


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_matrices_of_moments_are_those_of_the_library(d: int) -> None:
    """Written twice, with other names of the moments: every entry is the same linear form."""
    apart = tuple(range(1, d + 1))
    ours = Moments.of(d, apart)
    names = {(): 0, **Moments.of(d).number}
    for a in apart:
        for (i, j, t, _), (u, v, s, _) in itertools.product(terms(a, 0), terms(d - a, 0)):
            name = checker.four(0, a - i - j + t, u - s, i - t, v - s, j - t, s, t)
            number = ours.number[four_answers(a, (i, j, t), (u, v, s))]
            assert names.setdefault(name, number) == number
    assert sorted(names.values()) == list(range(len(ours)))
    blocks = [
        *checker.moments(d),
        *(block for a in apart for block in checker.given_two(d, a)),
        *checker.forms(d),
    ]
    for own, (size, entries) in zip(ours.blocks, blocks, strict=True):
        forms: Any = [collections.Counter(), collections.Counter()]
        for i, j, moment, factor in zip(
            own.rows, own.columns, own.moments, own.factors, strict=True
        ):
            forms[0][int(i), int(j), int(moment)] += int(factor)
        for i, j, name, factor in entries:
            forms[1][i, j, names[name]] += factor
        assert own.size == size
        assert forms[0] == forms[1]  # counters are equal up to zeros


def test_distances_in_files_are_ascending_and_few(made: Any) -> None:
    plain = made.certificate.multipliers.plain()
    for apart in ([0], [2, 1], [1, 1], [99], ["1"], [True]):
        with pytest.raises(lo.errors.ModelFileError, match="apart"):
            MomentBound.read(
                Entry({**plain, "apart": apart}, "a.json"), 2 ** (len(plain["eigenvalues"]) - 1)
            )
    with pytest.raises(lo.errors.ModelFileError, match="16"):
        MomentBound.read(Entry({**plain, "apart": [1]}, "a.json"), 2**20)
