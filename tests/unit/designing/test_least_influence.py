"""The least influence of a report that any private design has, against values computed apart."""

from __future__ import annotations

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import NotRepresentableError

THREE = lo.PureLDP("log(3)")
FREQUENCIES = {2: 3 / 2, 3: 15 / 8, 4: 2.0, 5: 2.0}
PREFIX = {3: 15 / 8, 4: 15 / 7, 5: 7 / 3, 6: 53 / 21}


@pytest.mark.parametrize(
    ("workload", "least"),
    [
        *((lo.Workload.frequencies(n), least) for n, least in FREQUENCIES.items()),
        *((lo.Workload.prefix(n), least) for n, least in PREFIX.items()),
        (lo.Workload.mean([0.0, 0.3, 1.0]), 3 / 2),
        (lo.Workload.mean(np.arange(40) / 39), 3 / 2),
    ],
)
def test_the_least_influence(workload: lo.Workload, least: float) -> None:
    found = lo.least_influence(workload, THREE)
    assert found == pytest.approx(least, abs=1e-9)
    best = lo.design(workload, THREE, influence=found)
    assert best.influence.largest <= found
    assert best.certificate.recheck() == ()
    with refused("least-influence"):
        lo.design(workload, THREE, influence=least * (1 - 1e-6))


def test_rows_of_different_spans_have_one_least_cap() -> None:
    workload = lo.Workload([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0]])
    found = lo.least_influence(workload, THREE)
    assert found >= 3 * 1.5 - 1e-9  # of the larger number alone
    best = lo.design(workload, THREE, influence=found)
    assert best.influence.largest <= found
    with refused("least-influence"):
        lo.design(workload, THREE, influence=found * (1 - 1e-6))


def test_more_answers_are_refused_by_name() -> None:
    with refused("capped-answers", NotRepresentableError):
        lo.least_influence(lo.Workload.prefix(30), THREE)
