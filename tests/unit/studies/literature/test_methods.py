"""All methods for one problem: they agree, failures are kept, and Python users get them from
compare()."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.errors import InfeasibleError
from ldpopt.solvers import highs_

COIN = lo.Problem([0.5, 0.5], "identity", lo.PureLDP("log(3)"), inputs=["no", "yes"])
IMPOSSIBLE = lo.Problem(
    [1 / 3] * 3,
    "squared_error",
    lo.PureLDP(0.5),
    inputs=[-1.0, 0.0, 1.0],
    constraints=lo.constraints.unbiased([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]),
)


def test_all_methods_agree() -> None:
    names = []
    found = lo.compare(COIN, progress=names.append)
    # Two solvers know the compact form only: their other form is left out.
    assert {row.name for row in found.methods} == set(names[: len(found.methods) + 2]) - {
        "interior (pairwise)",
        "columns (pairwise)",
    }
    assert all(row.applies for row in found.methods)
    assert {
        "closed form binary",
        "closed form top_k",
        "highs (compact)",
        "highs (pairwise)",
    } <= set(names)
    assert found.finished == found.planned == len(names)
    for row in found.methods:
        assert row.value == pytest.approx(found.best.value, abs=1e-7)
        assert row.difference == row.value - found.best.value
        assert row.relative_gap < 1e-6
        assert (row.verdict, row.epsilon) == ("certified", pytest.approx(math.log(3)))
    assert found.best.value <= found.bound + 1e-12 == pytest.approx(0.75)
    assert found.best.mechanism.channel == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]))
    assert [row.kind for row in found.rows][:2] == ["closed form", "closed form"]
    assert "[a 1; 1 a] / (a+1), a = e^epsilon: exact entries" in found.summary()


def test_comparison_is_shown_as_text_html_table_and_data() -> None:
    found = lo.compare(COIN)
    for text in (repr(found), found._repr_html_()):
        assert all(row.name in text for row in found.rows)
        assert "does not apply: planar Laplace: planar noise needs two coordinates" in text
    table = found.to_frame()
    assert list(table.index) == [row.name for row in found.rows]
    assert table.loc["highs (compact)", "kind"] == "solver"
    data = found.to_dict()
    assert [row["name"] for row in data["rows"]] == list(table.index)
    assert data["rows"][-1]["value"] is None
    assert json.dumps(data, allow_nan=False)


def test_a_known_optimum_replaces_the_methods() -> None:
    found = lo.compare(COIN, best=lo.solve(COIN))
    assert [row.kind for row in found.methods] == ["optimum"]
    assert found.literature
    assert "highs" not in found.summary()


def test_a_decimal_budget_has_its_extreme_points_too() -> None:
    """The example of Zhou, Lu and Wu 2019 with delta; epsilon is a decimal, the entries are exact
    in a = e^epsilon."""
    problem = lo.Problem([0.4, 0.6], "identity", lo.ApproximateLDP(1.0, 0.2))
    row = next(row for row in lo.compare(problem).rows if row.kind == "extreme point")
    assert row.value == pytest.approx((math.e + 0.2) / (math.e + 1), rel=1e-15)
    assert row.note.startswith("[5a+1 4; 4 5a+1] / (5a+5), a = e^epsilon: exact entries")


def test_one_broken_solver_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no luck today")

    monkeypatch.setattr(highs_.Highs, "solve", broken)
    found = lo.compare(COIN)
    rows = {row.name: row for row in found.rows}
    assert rows["highs (compact)"].note == "RuntimeError: no luck today"
    assert rows["highs (compact)"].applies
    assert math.isnan(rows["highs (compact)"].value)
    assert found.best.value == pytest.approx(0.75)


def test_without_a_mechanism_the_error_says_why() -> None:
    found = lo.compare(IMPOSSIBLE)
    assert not any(row.mechanism for row in found.rows)
    assert "failed: highs" in found.summary()
    assert found.to_dict()["best"] is None
    with pytest.raises(InfeasibleError):
        _ = found.best


def test_ctrl_c_keeps_the_methods_that_are_finished() -> None:
    def interrupt(name: str) -> None:
        if name == "highs (pairwise)":
            raise KeyboardInterrupt

    found = lo.compare(COIN, progress=interrupt)
    assert 0 < found.finished == len(found.rows) < found.planned
    assert found.best.value == pytest.approx(0.75)

    def interrupt_at_once(name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lo.compare(COIN, progress=interrupt_at_once)


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (lo.Problem(None, np.eye(2), lo.PureLDP(1.0), objective="worst_case"), "with a worst case"),
        (lo.Problem([0.2] * 5, "identity", lo.PureLDP(1.0)), "5 x 5 channels have too many"),
        (
            lo.Problem([0.25] * 4, "identity", lo.ApproximateLDP(1.0, 0.1, "entry")),
            "4 x 4 channels have too many",
        ),
        (
            lo.Problem([0.5, 0.5], "identity", lo.UtilityOptimizedLDP(1.0, [0])),
            "one condition for every report",
        ),
        (
            lo.Problem([0.2, 0.8], "identity", lo.MetricDP(1.0, [[0, 0.3], [0.3, 0]])),
            "is not a known rational",
        ),
    ],
)
def test_the_best_extreme_point_is_for_small_problems(problem: lo.Problem, why: str) -> None:
    row = next(row for row in lo.compare(problem).rows if row.kind == "extreme point")
    assert not row.applies
    assert why in row.note
