"""Standard form, canonical form, and the exact replay of a solver's basis."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest

from builders import refused
from ldpopt import ApproximateLDP, GraphDP, Problem, PureLDP, certify, solve
from ldpopt.errors import InfeasibleError, NotRepresentableError, StatementError, UnboundedError
from ldpopt.problem.constraints import unbiased
from ldpopt.solvers import find
from ldpopt.solvers.program import LinearProgram, Span
from ldpopt.solving.exact.simplex import (
    MODEL_I,
    StandardForm,
    basis_of,
    binary_standard_form,
    canonical_form,
    improve,
    standard_form,
)
from ldpopt.solving.formulation import formulate
from ldpopt.solving.solution import Solution

INF = np.inf


def program(objective, rows, bounds, row_bounds, *, maximize=True):
    rows, bounds, row_bounds = (
        np.array(rows, float),
        np.array(bounds, float),
        np.array(row_bounds, float),
    )
    columns = len(objective)
    return LinearProgram(
        np.array(objective, float),
        maximize,
        np.arange(len(rows) + 1) * columns,
        np.tile(np.arange(columns), len(rows)),
        rows.reshape(-1),
        row_bounds[:, 0],
        row_bounds[:, 1],
        bounds[:, 0],
        bounds[:, 1],
        (Span("r", 0, len(rows)),),
        (Span("v", 0, columns),),
    )


def replay(made):
    """Solve a program made by hand with HiGHS and read its basis."""
    outcome = find("highs").solve(made)
    assert outcome.warm_start is not None
    solution = Solution(
        Problem([0.5, 0.5], "identity", PureLDP(1.0)), outcome.status, "", "highs", 0.0, {}, {}
    )
    table = canonical_form(*basis_of(replace(solution, program=made, outcome=outcome)))
    assert [float(v) for v in table.point.values()] == pytest.approx(
        outcome.point.tolist(), abs=1e-9
    )
    return table


def test_columns_and_rows_of_every_kind_are_written():
    """Bounded below, above, on both sides, not at all, and fixed; rows likewise; a minimum."""
    made = program(
        [1, -1, 2, 0.5, 3],
        [[1, 1, 1, 1, 1], [1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [1, -1, 0, 0, 0], [1, 1, 1, 1, 1]],
        [(-1, INF), (-INF, 4), (-2, 3), (-INF, INF), (1.5, 1.5)],
        [(2, 2), (-5, 6), (-INF, 9), (-7, INF), (-INF, INF)],
        maximize=False,
    )
    form = standard_form(made)
    assert form.names[:6] == ("v[0]", "v[1]", "v[2]", "room[v[2]]", "v[3]+", "v[3]-")
    assert form.names[6:] == ("above[r[1]]", "below[r[1]]", "below[r[2]]", "above[r[3]]")
    assert form.sign == -1
    table = replay(made)
    assert table.is_optimal
    assert float(table.objective) == pytest.approx(
        made.objective @ [float(v) for v in table.point.values()]
    )


@pytest.mark.parametrize("seed", range(40))
def test_bases_of_random_bounded_programs_are_optimal(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 6))
    columns = int(rng.integers(1, 7))
    matrix = rng.integers(-4, 5, (rows, columns))
    inside = rng.integers(-2, 3, columns)
    lower = np.where(rng.random(columns) < 0.3, -INF, inside - rng.integers(0, 3, columns))
    upper = np.where(rng.random(columns) < 0.3, INF, inside + rng.integers(0, 3, columns))
    value = matrix @ inside
    row_lower = np.where(rng.random(rows) < 0.4, -INF, value - rng.integers(0, 2, rows))
    row_upper = np.where(rng.random(rows) < 0.4, INF, value + rng.integers(0, 2, rows))
    duals = rng.integers(-2, 3, rows) * np.where(np.isfinite(row_upper), 1, 0)
    costs = np.abs(duals) @ matrix + rng.integers(-2, 3, columns) * np.isfinite(
        lower
    ) * np.isfinite(upper)
    made = program(
        costs,
        matrix,
        list(zip(lower, upper, strict=True)),
        list(zip(row_lower, row_upper, strict=True)),
    )
    outcome = find("highs").solve(made)
    if outcome.status.value != "optimal":
        pytest.skip("no optimum")
    table = improve(replay(made))
    assert table.is_optimal
    assert float(table.objective) == pytest.approx(float(made.objective @ outcome.point), abs=1e-12)
    assert made.residual(np.array([float(v) for v in table.point.values()])) < 1e-12


def problems():
    rng = np.random.default_rng(5)
    for kind in range(6):
        for n in (2, 3, 4):
            prior = rng.dirichlet(np.ones(n))
            epsilon = float(rng.uniform(0.05, 3))
            gain = rng.normal(size=(n, int(rng.integers(2, 5))))
            if kind == 0:
                yield Problem(prior, "identity", PureLDP(epsilon)), None
            elif kind == 1:
                yield Problem(prior, "absolute_error", PureLDP(epsilon)), "pairwise"
            elif kind == 2:
                yield Problem(prior, gain, ApproximateLDP(epsilon, 0.1)), None
            elif kind == 3:
                yield Problem(prior, gain, ApproximateLDP(epsilon, 0.05, "entry")), "pairwise"
            elif kind == 4:
                yield Problem(prior, "absolute_error", GraphDP(epsilon, nx.path_graph(n))), None
            else:
                yield Problem(None, gain, PureLDP(epsilon), objective="worst_case"), None
        yield Problem(np.full(3, 1 / 3), "identity", PureLDP(epsilon)), None  # a tie


@pytest.mark.parametrize(("problem", "form"), list(problems()))
def test_a_solver_basis_proves_its_optimum_in_rationals(problem, form):
    solution = solve(problem, form=form)
    table = improve(canonical_form(*basis_of(solution)))
    assert table.is_optimal
    assert abs(table.objective - certify(solution).bound) <= F(1, 10**12) * (
        1 + abs(table.objective)
    )
    dual_value = sum(
        price * right for price, right in zip(table.multipliers, table.form.right, strict=True)
    )
    assert dual_value == table.form.sign * (table.objective - table.form.constant)


def test_the_vertex_is_a_channel_in_rationals():
    solution = solve(Problem([0.5, 0.375, 0.125], "identity", PureLDP("log(2)")), form="pairwise")
    point = canonical_form(*basis_of(solution)).point
    assert [point[f"P[0,{y}]"] for y in range(3)] == [F(2, 3), F(1, 3), 0]
    assert all(sum(point[f"P[{x},{y}]"] for y in range(3)) == 1 for x in range(3))


def test_side_constraints_are_in_the_standard_form():
    solution = solve(
        Problem(
            [0.25, 0.5, 0.25],
            "squared_error",
            PureLDP("log(3)"),
            inputs=[0, 1, 2],
            outputs=[-2, 0, 2, 4],
            constraints=[unbiased([0, 1, 2], [-2, 0, 2, 4])],
        )
    )
    table = improve(canonical_form(*basis_of(solution)))
    assert abs(table.objective - certify(solution).bound) <= F(1, 10**10)


def test_a_basis_by_name_and_by_position():
    form, basis = basis_of(
        solve(Problem([0.6, 0.4], "identity", PureLDP("log(2)")), form="pairwise")
    )
    names = [form.names[position] for position in basis]
    by_name = canonical_form(form, names)
    assert by_name.basis == basis
    assert canonical_form(form, basis) == by_name
    assert by_name.is_optimal


@pytest.mark.parametrize(
    ("basis", "code"),
    [
        (["x1", "x2", "x3", "x4", "x7", "x9"], "basis-column"),
        ([0, 1, 2, 3, 6, 8], "basis-column"),
        ([0, 1, 2, 3, 6, -1], "basis-column"),
        (["x1", "x2"], "basis-size"),
        (["x1", "x1", "x3", "x4", "x7", "x8"], "basis-size"),
        (["x3", "x4", "x5", "x6", "x1", "x7"], "singular-basis"),
    ],
)
def test_wrong_bases_are_refused(basis, code):
    with refused(code):
        canonical_form(binary_standard_form([0.5, 0.5], 1.0), basis)


@pytest.mark.parametrize(
    "wrong",
    [
        {"prior": [0.5, 0.5]},
        {"prior": [0.5, 0.5], "epsilon": 1.0, "alpha": 3},
        {"prior": [0.5, 0.3, 0.2], "epsilon": 1.0},
        {"prior": [0.5, 0.5], "epsilon": 1.0, "delta": 2},
        {"prior": [0.5, 0.5], "alpha": 0.5},
        {"prior": [1.5, -0.5], "epsilon": 1.0},
        {"prior": ["a", "b"], "epsilon": 1.0},
        {"prior": [float("nan"), 1], "epsilon": 1.0},
    ],
)
def test_ill_posed_binary_models_are_refused(wrong):
    with pytest.raises(StatementError):
        binary_standard_form(**wrong)


def test_a_form_with_other_shapes_is_refused() -> None:
    good = (((F(1), F(2)),), (F(1),), (F(1), F(1)), ("a", "b"))
    assert StandardForm(*good).shape == (1, 2)
    for place, wrong in ((0, ((F(1),),)), (0, ()), (1, ()), (2, (F(1),))):
        changed: Any = [*good]
        changed[place] = wrong
        with refused("shape"):
            StandardForm(*changed)
    with refused("column-names"):
        StandardForm(*good[:3], ("a", "a"))


def form(cost: Any, rows: Any, right: Any) -> StandardForm:
    exact = tuple(tuple(map(F, row)) for row in rows)
    return StandardForm(
        exact, tuple(map(F, right)), tuple(map(F, cost)), tuple("abcdefgh"[: len(cost)])
    )


def test_a_vertex_with_a_basic_variable_of_zero_is_degenerate() -> None:
    assert canonical_form(form([1, 0], [[1, 1]], [0]), ["a"]).is_degenerate
    assert not canonical_form(form([1, 0], [[1, 1]], [1]), ["a"]).is_degenerate


@pytest.mark.parametrize("seed", range(30))
def test_pivots_end_at_the_best_vertex_from_any_basis(seed: int) -> None:
    """Against all bases, one by one: the optimum, or none where no basis is feasible."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 4))
    free = rng.integers(-3, 4, (rows, 3))
    matrix = np.concatenate([free, np.eye(rows, dtype=int)], axis=1).tolist()
    matrix = [[*row, 0] for row in matrix] + [[1] * 3 + [0] * rows + [1]]  # bounded
    right = [*rng.integers(-3, 4, rows).tolist(), 5]
    made = form([*rng.integers(-4, 5, 3).tolist()] + [0] * (rows + 1), matrix, right)
    best, start = None, None
    for basis in combinations(range(rows + 4), rows + 1):
        try:
            table = canonical_form(made, basis)
        except StatementError:
            continue
        start = start or table
        if table.is_feasible:
            best = table.objective if best is None else max(best, table.objective)
    assert start is not None
    if best is None:
        with pytest.raises(InfeasibleError):
            improve(start)
        return
    found = improve(start)
    assert found.is_optimal
    assert found.objective == best


def test_floats_stay_floats():
    exact = binary_standard_form([0.3, 0.7], 1.0, 0.1)
    floats = StandardForm(
        tuple(tuple(map(float, row)) for row in exact.matrix),
        tuple(map(float, exact.right)),
        tuple(map(float, exact.cost)),
        exact.names,
    )
    rough, fine = (canonical_form(form, MODEL_I["B1"].columns) for form in (floats, exact))
    assert isinstance(rough.objective, float)
    assert rough.objective == pytest.approx(float(fine.objective), abs=1e-15)
    assert rough.is_optimal == fine.is_optimal


def test_the_tableau_is_the_inverse_times_the_matrix():
    form = binary_standard_form(["1/4", "3/4"], "log(3)", "1/5")
    table = canonical_form(form, MODEL_I["B1"].columns)
    frame = table.tableau()
    assert frame.loc["sigma", "b"] == table.objective == F(4, 5)
    for name in MODEL_I["B1"].columns:
        assert frame[name].tolist() == [int(name == row) for row in frame.index]
        assert frame.loc[name, "b"] == table.basic_solution[name]
    assert frame.loc["sigma", "x5"] == table.reduced_costs["x5"]
    for row, side in zip(form.matrix, form.right, strict=True):
        basic = [row[form.names.index(name)] for name in frame.index[:-1]]
        for column, value in zip(frame.columns, [*row, side], strict=True):
            assert sum(b * v for b, v in zip(basic, frame[column], strict=False)) == value


@pytest.mark.parametrize("first", ["0", "1/10", "1/4", "1/2", "3/4", "9/10", "1"])
@pytest.mark.parametrize("delta", [0, "1/5"])
def test_pivots_end_at_the_optimum_of_the_binary_models(first, delta):
    form = binary_standard_form([F(first), 1 - F(first)], "log(3)", delta)
    value = set()
    for basis in ("123478", "124678", "123578", "123458", "123467", "125678", "345678"):
        table = improve(canonical_form(form, [f"x{k}" for k in basis]))
        assert table.is_optimal
        value.add(table.objective)
    d = F(delta)
    p = F(first)
    assert value == {max(p + (1 - p) * d, (3 + d) / 4, p * d + 1 - p)}


def test_pivots_prove_that_there_is_no_optimum():
    endless = StandardForm(((F(1), F(-1)),), (F(1),), (F(0), F(1)), ("x", "y"))
    with pytest.raises(UnboundedError, match="'y'"):
        improve(canonical_form(endless, ["x"]))
    empty = StandardForm(((F(1), F(1)),), (F(-1),), (F(0), F(1)), ("x", "y"))
    with pytest.raises(InfeasibleError, match="'x'"):
        improve(canonical_form(empty, ["x"]))


def test_an_optimum_without_a_basis_is_solved_again():
    problem = Problem([0.5, 0.3, 0.2], "identity", PureLDP("log(2)"))
    solution = solve(problem)
    assert not hasattr(solution.outcome.warm_start, "col_status")
    table = improve(canonical_form(*basis_of(solution)))
    assert table.is_optimal
    assert float(table.objective) == pytest.approx(solution.value, rel=1e-12)


def test_a_solution_without_an_optimum_has_no_basis():
    solution = solve(Problem([0.5, 0.5], "identity", PureLDP(1.0)))
    with refused("no-basis", NotRepresentableError):
        basis_of(replace(solution, program=None))
    with refused("no-basis", NotRepresentableError):
        basis_of(replace(solution, outcome=replace(solution.outcome, point=None)))


def test_large_programs_are_refused_before_they_are_written():
    large = formulate(Problem(np.full(60, 1 / 60), "identity", PureLDP(1.0)))
    with refused("row-count", NotRepresentableError) as caught:
        standard_form(large)
    assert "3660 rows" in str(caught.value)


def test_a_coefficient_that_is_not_finite_is_refused():
    with refused("finite-number"):
        standard_form(program([np.nan], [[1]], [(0, 1)], [(0, 1)]))
