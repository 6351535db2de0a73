"""All methods for one problem: they agree, failures are kept, and Python users get them from compare()."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from ldpopt.errors import InfeasibleError
from ldpopt.solvers import highs_
from ldpopt.studies.literature.methods import compare_methods

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
    found = compare_methods(COIN, progress=names.append)
    # The interior point solver knows the compact form only: its other form is left out.
    assert [row.name for row in found.rows] == [name for name in names if name != "interior (pairwise)"]
    assert all(row.applies for row in found.rows)
    assert {"closed form binary", "closed form top_k", "highs (compact)", "highs (pairwise)"} <= set(names)
    assert names[-1] == "best extreme point"
    assert found.finished == found.planned == len(names)
    for row in found.rows:
        assert row.value == pytest.approx(found.best, abs=1e-7)
        assert row.difference == row.value - found.best
        assert row.relative_gap < 1e-6
        assert row.verdict == "certified"
    assert found.best <= found.bound + 1e-12 == pytest.approx(0.75)
    assert found.mechanism.channel == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]))


def test_compare_has_the_methods_too() -> None:
    plain, full = lo.compare(COIN), lo.compare(COIN, methods=True)
    assert plain.methods is None
    assert full.methods is not None
    assert full.best.value == full.methods.best == pytest.approx(plain.best.value)
    assert "highs (compact)" in full.summary()
    assert "highs (compact)" in full._repr_html_()


def test_one_broken_solver_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no luck today")

    monkeypatch.setattr(highs_.Highs, "solve", broken)
    found = compare_methods(COIN)
    rows = {row.name: row for row in found.rows}
    assert rows["highs (compact)"].error == "RuntimeError: no luck today"
    assert rows["highs (compact)"].applies
    assert math.isnan(rows["highs (compact)"].value)
    assert found.best == pytest.approx(0.75)


def test_without_a_mechanism_the_error_says_why() -> None:
    found = compare_methods(IMPOSSIBLE)
    assert math.isnan(found.best)
    with pytest.raises(InfeasibleError):
        _ = found.mechanism
    with pytest.raises(InfeasibleError):
        lo.compare(IMPOSSIBLE, methods=True)


def test_ctrl_c_keeps_the_methods_that_are_finished() -> None:
    def interrupt(name: str) -> None:
        if name == "highs (pairwise)":
            raise KeyboardInterrupt

    found = compare_methods(COIN, progress=interrupt)
    assert 0 < found.finished == len(found.rows) < found.planned
    assert found.best == pytest.approx(0.75)

    def interrupt_at_once(name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_methods(COIN, progress=interrupt_at_once)


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (lo.Problem(None, np.eye(2), lo.PureLDP(1.0), objective="worst_case"), "with a worst case"),
        (lo.Problem([0.2] * 5, "identity", lo.PureLDP(1.0)), "too many extreme points to list, or"),
        (lo.Problem([0.25] * 4, "identity", lo.ApproximateLDP(1.0, 0.1, "entry")), "too many extreme points to list"),
        (lo.Problem([0.5, 0.5], "identity", lo.OneSided(1.0, sensitive=[0])), "notions that tie both ways are listed"),
        (lo.Problem([0.2, 0.3, 0.5], "identity", lo.GraphDP(1.0, nx.path_graph(3))), "e^epsilon is not rational"),
    ],
)
def test_the_best_extreme_point_is_for_small_problems(problem: lo.Problem, why: str) -> None:
    last = compare_methods(problem).rows[-1]
    assert last.name == "best extreme point"
    assert not last.applies
    assert why in last.error
