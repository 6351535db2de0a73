"""Zhou, Lu and Wu 2019, sections 2.2.2 and 3.2.2: the proof by bases, in rationals and with
symbols."""

from __future__ import annotations

import random
from fractions import Fraction as F

import pytest

from ldpopt.closed_forms import binary
from ldpopt.errors import StatementError
from ldpopt.solving.exact.simplex import MODEL_I, MODEL_II, binary_standard_form, canonical_form


def as_printed(model, name, alpha, delta, first, second):
    """``(x1, x2)`` and the reduced costs of equations (7)-(9) and (16)-(18), as printed in the
    paper."""
    f = alpha**2 - 1
    s = (first - second * alpha) / f
    t = (second - first * alpha) / f
    middle = (alpha + delta) / (alpha + 1)
    return {
        ("I", "B1"): ((middle, middle), {"x5": s, "x6": t}),
        ("I", "B2"): ((0, 1), {"x3": -t, "x5": s}),
        ("I", "B3"): ((1, 0), {"x4": -s, "x6": t}),
        ("II", "B1"): ((middle, middle), {"x5": s, "x6": t}),
        ("II", "B2"): ((1, delta), {"x6": -second, "x7": second * alpha - first}),
        ("II", "B3"): ((delta, 1), {"x5": -first, "x8": first * alpha - second}),
    }[model, name]


CASES = [("I", MODEL_I, name) for name in MODEL_I] + [("II", MODEL_II, name) for name in MODEL_II]
every_basis = pytest.mark.parametrize(("model", "bases", "name"), CASES)


def draw(rng, model):
    alpha = 1 + F(rng.randint(1, 900), rng.randint(1, 300))
    delta = F(rng.randint(1, 99), 100) if model == "II" else F(0)
    first = F(rng.randint(0, 1000), 1000)
    return alpha, delta, first


def test_equation_5_matrix():
    form = binary_standard_form(["1/5", "4/5"], "log(3)")
    rows = [
        (3, 1, -1, 0, 0, 0, 0, 0),
        (1, 3, 0, -1, 0, 0, 0, 0),
        (1, 3, 0, 0, 1, 0, 0, 0),
        (3, 1, 0, 0, 0, 1, 0, 0),
        (1, 0, 0, 0, 0, 0, 1, 0),
        (0, 1, 0, 0, 0, 0, 0, 1),
    ]
    assert form.matrix == tuple(rows)
    assert form.right == (1, 1, 3, 3, 1, 1)
    assert form.cost == (F(1, 5), F(4, 5), 0, 0, 0, 0, 0, 0)


@every_basis
def test_basic_solutions_and_reduced_costs_symbolically(model, bases, name):
    sympy = pytest.importorskip("sympy")
    alpha, delta, first, second = sympy.symbols("alpha delta pi0 pi1", positive=True)
    delta = delta if model == "II" else sympy.Integer(0)
    form = binary_standard_form([first, second], delta=delta, alpha=alpha)
    table = canonical_form(form, bases[name].columns, simplify=sympy.cancel)
    point, sigma = as_printed(model, name, alpha, delta, first, second)
    for key, value in [("x1", point[0]), ("x2", point[1])]:
        assert sympy.cancel(table.basic_solution[key] - value) == 0
    for key in form.names:
        assert sympy.cancel(table.reduced_costs[key] - sigma.get(key, 0)) == 0


@every_basis
def test_each_basis_is_optimal_exactly_in_its_region(model, bases, name):
    rng = random.Random(name + model)
    for _ in range(20):
        alpha, delta, _ = draw(rng, model)
        low, high = bases[name].interval(alpha)
        hair = F(1, 10**12)
        for first in {
            low - hair,
            low,
            low + hair,
            (low + high) / 2,
            high - hair,
            high,
            high + hair,
        }:
            if 0 <= first <= 1:
                form = binary_standard_form([first, 1 - first], delta=delta, alpha=alpha)
                table = canonical_form(form, bases[name].columns)
                assert table.is_optimal == (low <= first <= high)
                if 0 < first < 1:
                    assert table.is_unique == (low < first < high)


@pytest.mark.parametrize(("bases", "delta"), [(MODEL_I, 0), (MODEL_II, 0.2)])
def test_the_optimal_basis_is_the_closed_form(bases, delta):
    for first in (0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9, 1.0):
        closed = binary([first, 1 - first], "log(3)", delta)
        tables = {
            basis.region: canonical_form(
                binary_standard_form([first, 1 - first], "log(3)", delta), basis.columns
            )
            for basis in bases.values()
        }
        optimal = {region for region, table in tables.items() if table.is_optimal}
        assert optimal == set(closed.ties)
        assert {tables[region].objective for region in optimal} == {closed.exact_value()[0]}


def test_the_optimum_at_an_irrational_ratio_is_a_lower_bound_of_the_closed_form():
    form = binary_standard_form([0.5, 0.5], 0.1)
    assert (
        canonical_form(form, MODEL_I["B1"].columns).objective
        == binary([0.5, 0.5], 0.1).exact_value()[0]
    )


@pytest.mark.parametrize("delta", [F(0), F(1, 5)])
def test_equations_10_to_12_segments_of_optima(delta):
    bases = MODEL_II if delta else MODEL_I
    for alpha in (F(3, 2), F(3), F(7, 2)):
        for region in ("first", "last"):
            low, high = next(basis for basis in bases.values() if basis.region == region).interval(
                alpha
            )
            first = low if region == "first" else high
            form = binary_standard_form([first, 1 - first], delta=delta, alpha=alpha)
            ends = [canonical_form(form, basis.columns) for basis in bases.values()]
            ends = [table for table in ends if table.is_optimal]
            assert len(ends) == 2
            assert not any(table.is_unique for table in ends)
            for step in range(11):
                x1, x2 = (
                    sum(
                        w * e.basic_solution[k]
                        for w, e in zip((10 - step, step), ends, strict=True)
                    )
                    / 10
                    for k in ("x1", "x2")
                )
                assert first * x1 + (1 - first) * x2 == (alpha + delta) / (alpha + 1)
                equation = (
                    alpha * (1 - x1) + delta if region == "first" else (alpha + delta - x1) / alpha
                )
                assert x2 == equation


def test_erratum_printed_right_hand_side_of_model_2():
    """Rows 3 and 4 need ``e^eps + delta``; with the printed side, the vertices differ from the
    text."""
    alpha = F(3)
    delta = F(1, 5)
    first = {"B1": F(1, 2), "B2": F(9, 10), "B3": F(1, 10)}
    wrong = {"B1": (F(3, 4), F(3, 4)), "B2": (1, 0), "B3": (0, 1)}
    right = {"B1": (F(4, 5), F(4, 5)), "B2": (1, delta), "B3": (delta, 1)}
    for name, basis in MODEL_II.items():
        prior = [first[name], 1 - first[name]]
        forms = [
            binary_standard_form(prior, delta=delta, alpha=alpha, printed=flag)
            for flag in (True, False)
        ]
        printed_table, table = (canonical_form(form, basis.columns) for form in forms)
        assert (printed_table.basic_solution["x1"], printed_table.basic_solution["x2"]) == wrong[
            name
        ]
        assert (table.basic_solution["x1"], table.basic_solution["x2"]) == right[name]
        assert printed_table.reduced_costs == table.reduced_costs
        assert printed_table.objective < table.objective


def test_the_outer_bases_of_model_1_are_infeasible_in_model_2():
    form = binary_standard_form(["9/10", "1/10"], delta="1/5", alpha=3)
    for name, negative in (("B2", "x1"), ("B3", "x2")):
        table = canonical_form(form, MODEL_I[name].columns)
        assert table.basic_solution[negative] == F(-1, 10)
        assert not table.is_feasible


@pytest.mark.parametrize("basis", [MODEL_I["B1"], MODEL_I["B2"], MODEL_I["B3"], MODEL_II["B1"]])
def test_erratum_bases_are_singular_at_epsilon_0(basis):
    with pytest.raises(StatementError, match="singular"):
        canonical_form(binary_standard_form([0.5, 0.5], 0.0), basis.columns)


def test_the_other_bases_of_model_2_hold_at_epsilon_0():
    for name, point in (("B2", (1, F(1, 5))), ("B3", (F(1, 5), 1))):
        table = canonical_form(
            binary_standard_form([F(1, 2), F(1, 2)], 0, "1/5"), MODEL_II[name].columns
        )
        assert (table.basic_solution["x1"], table.basic_solution["x2"]) == point
        assert table.is_optimal


def test_theorem_1_is_only_sufficient_at_a_degenerate_vertex():
    """At C = (1, 0) of Model I three rows are tight, and x2 = 0: two bases of the same point
    disagree."""
    form = binary_standard_form(["9/10", "1/10"], "log(3)")
    passes = canonical_form(form, MODEL_I["B3"].columns)
    fails = canonical_form(form, ["x1", "x2", "x3", "x5", "x6", "x8"])
    assert passes.basic_solution == fails.basic_solution
    assert passes.is_degenerate
    assert fails.is_degenerate
    assert passes.is_optimal
    assert not fails.is_optimal
    assert fails.reduced_costs["x4"] == F(1, 30)
