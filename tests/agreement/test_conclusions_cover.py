"""Coverage of intervals and size of tests of all that is concluded from reports: the cases of
benchmarks/conclusions.py, with fewer surveys. Exact sums have no error; of simulated figures 4
standard errors are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import load_script
from ldpopt import Sample, Survey, estimate_frequencies, techniques

pytest.importorskip("formulaic")
CASES: Any = load_script(Path(__file__).parents[2] / "benchmarks" / "conclusions_cases.py")


def missed(rows: Iterator[Any]) -> list[str]:
    """Lines outside of their range."""
    every = list(rows)
    assert every
    return [f"{row.kind}: {row.figures}" for row in every if row.is_missed]


def test_differences_cover() -> None:
    """Exact, for small groups; the thorough set has larger ones."""
    assert missed(CASES.differences(((30, 30), (30, 100)))) == []


def test_differences_of_the_sums_are_those_of_estimates() -> None:
    law = CASES.coin(2.0)
    first, second = CASES.shares_of(2.0, 30), CASES.shares_of(2.0, 100)
    for i, j in ((0, 0), (7, 55), (30, 12), (16, 100)):
        one, two = (
            estimate_frequencies(law, {"no": n - k, "yes": k}, check_fit=False)
            for n, k in ((30, i), (100, j))
        )
        band = CASES.DifferenceBand(first[[i]], second[[j]])
        assert band.ends(CASES.Z)[0] == pytest.approx((one - two).interval[1], abs=1e-13)


@pytest.mark.parametrize(("people", "share", "epsilon"), [(200, 0.374, 1.0), (500, 0.05, 4.0)])
def test_finite_populations_cover(people: int, share: float, epsilon: float) -> None:
    assert 0.93 <= CASES.finite(epsilon, people, share) <= 0.97


def test_the_table_of_a_test_is_that_of_a_survey() -> None:
    rng = np.random.default_rng(1)
    one, two, *_ = CASES.tables(2.0)["2 x 5, sets of 2"]
    table = pd.DataFrame({"a": rng.integers(0, 2, 300), "b": rng.integers(0, 10, 300)})
    seen = pd.crosstab(table["a"], table["b"]).to_numpy(dtype=float)
    right = Survey({"a": one, "b": two}).independence(table, "a", "b")
    found = CASES.independence(seen, seen, (one.channel, two.channel), "")
    assert (found.statistic, found.freedom) == (pytest.approx(right.statistic), right.freedom)


def test_clusters_and_strata_have_the_error_of_a_survey_package() -> None:
    """Figures of samplics 0.6.1, Taylor's method, for the values of the reports."""
    rng = np.random.default_rng(5)
    columns: dict[str, Any] = {
        "stratum": np.repeat([0, 1, 2], 80),
        "cluster": np.arange(240) // 10,
        "w": rng.choice([1.0, 2.0, 5.0], 240),
    }
    table = pd.DataFrame(columns | {"q": np.where(rng.random(240) < 0.4, "yes", "no")})
    survey = Survey({"q": techniques.forced("1/6", "1/6")})
    found = survey.estimate(table, sample=Sample("w", "stratum", "cluster"))["q"]
    assert found.values[1] == pytest.approx(0.38046875, abs=1e-8)
    assert found.std_error[1] == pytest.approx(0.05874891584854084, rel=1e-8)


LONG: dict[str, Callable[[], Iterator[Any]]] = {
    "differences": lambda: CASES.differences(((100, 100), (1000, 1000))),
    "quantiles": lambda: CASES.quantiles(100),
    "tests": lambda: CASES.rejected(500, (100, 1000)),
    "tests of weighted people": lambda: CASES.rejected_weighted(300, (150, 1500)),
    "weights": lambda: CASES.weights(500),
    "samples": lambda: CASES.samples(60),
    "regressions": lambda: CASES.regressions(30),
    "behaviors": lambda: CASES.behaviors(100, 100),
}


@pytest.mark.long
@pytest.mark.parametrize("part", LONG)
def test_all_parts_are_in_their_range(part: str) -> None:
    assert missed(LONG[part]()) == []
