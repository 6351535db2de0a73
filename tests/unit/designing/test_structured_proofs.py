"""Bounds that use the structure of a workload, beside the sets and the designs of the search."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from ldpopt import PureLDP, Workload, design
from ldpopt.certificate.design_bound_product import Spectrum
from ldpopt.certificate.design_statement import AnswerClasses, Statement, least_ratio
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.private_columns import indicators


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 2), (3, 3), (2, 5)])
@pytest.mark.parametrize("base", [F(1, 3), F(1, 50)])
def test_ferrers_diagrams_have_the_largest_cost_for_two_separate_attributes(
    sizes: Any, base: F
) -> None:
    """The level is that of every set, gone through one by one."""
    scheme = Scheme(sizes)
    rng = np.random.default_rng(sum(sizes))
    for _ in range(5):
        sigma = [F(0), *(F(int(rng.integers(1, 30)), 7) for _ in range(2)), F(5)]
        mu = (F(0), *(F(int(rng.integers(0, 30)), 3) for _ in range(2)), F(0))
        spectrum = Spectrum(scheme, mu, F(0))
        assert spectrum.is_separable
        form = scheme.matrix(
            np.array([float(s * s * m) for s, m in zip(sigma, mu, strict=True)]).reshape(2, 2)
        )
        sets = indicators(np.arange(1, 2**scheme.n - 1), scheme.n)
        mass = float(base) * scheme.n + (1 - float(base)) * sets.sum(axis=1)
        cost = (
            scheme.n
            * (1 - float(base)) ** 2
            * np.einsum("ax,xz,az->a", sets, form, sets, optimize=True)
            / mass**2
        )
        assert float(spectrum.least_level(sigma, base)) == pytest.approx(cost.max(), rel=1e-12)


@pytest.mark.parametrize(
    ("sizes", "k", "epsilon", "gap"),
    [
        ((3,) * 4, 1, 1.0, 1e-6),
        ((3,) * 4, 1, 4.0, 1e-6),
        ((4,) * 3, 2, 4.0, 1e-6),
        ((3, 4, 5), 1, 4.0, 6e-3),
    ],
)
def test_gaps_of_tables_of_questions_with_several_answers(
    sizes: Any, k: int, epsilon: float, gap: float
) -> None:
    """The closed form left 2e-2 to 1."""
    made = design(Workload.marginals(sizes, k), PureLDP(epsilon))
    assert made.certificate.multipliers.raised is not None
    assert made.certificate.recheck() == ()
    assert 0 <= made.relative_gap < gap
    rows = made.workload.matrix
    weights = np.ones(made.workload.shape[1])
    statement = Statement.of(
        rows, weights, AnswerClasses.under(made.privacy, rows, made.workload.inputs)
    )
    kept = replace(made.certificate.multipliers, raised=None)
    assert made.certificate.multipliers.holds(statement, least_ratio(made.privacy.epsilon))
    assert not kept.holds(statement, least_ratio(made.privacy.epsilon))
