"""Every method of designs has a problem; the plan shown is the plan that runs; a method that fails
has a follower."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import cli_json, refused, sample_or_all, thorough_or
from ldpopt import DesignLimits, DesignProblem, Workload, plan_design
from ldpopt.designing.methods.method import DesignMethod, RawDesign
from ldpopt.designing.plan import METHODS
from ldpopt.designing.symmetry import all_images
from ldpopt.errors import NotRepresentableError, StatementError

PURE = lo.PureLDP(1.0)
CASES: dict[str, list[DesignProblem]] = {
    "subset selection": [
        DesignProblem(Workload.frequencies(30), PURE),
        DesignProblem(Workload.frequencies(30), PURE, objective="worst_case"),
    ],
    "sets of few questions": [
        DesignProblem(Workload.marginals([2] * 10, 1), PURE),
        *thorough_or(
            [], [DesignProblem(Workload.marginals([2] * 10, 1), PURE, objective="worst_case")]
        ),
    ],
    "product": [
        DesignProblem(Workload.marginals([2, 2, 2, 3], 2), PURE),
        DesignProblem(Workload.marginals([2] * 5, 1), PURE, objective="worst_case"),
    ],
    "single mean": [
        DesignProblem(Workload.mean(range(25)), PURE),
        DesignProblem(Workload.mean(range(25)), PURE, objective="worst_case"),
    ],
    "block design": [
        DesignProblem(Workload.frequencies(7), PURE),
        DesignProblem(2 * Workload.frequencies(7), PURE, objective="worst_case"),
    ],
    "column generation": [
        DesignProblem(Workload.prefix(6), PURE),
        DesignProblem(Workload.prefix(6), PURE, objective="worst_case"),
        DesignProblem(Workload.prefix(6), PURE, np.arange(1, 7)),
        DesignProblem(Workload.prefix(list(range(6))), lo.GraphDP(1.0, nx.path_graph(6))),
        DesignProblem(
            Workload.prefix(list("abc")), lo.OneSided(1.0, sensitive=["a"]), objective="worst_case"
        ),
    ],
    "relaxation": [
        DesignProblem(Workload.prefix(22), PURE),
        DesignProblem(Workload.prefix(25), PURE, objective="worst_case"),
    ],
}


def names(problem, *limits, **gap):
    return [str(step.method) for step in plan_design(problem, *limits, **gap)]


def test_a_loose_gap_tries_the_relaxation_before_all_sets_are_priced():
    prefix = DesignProblem(Workload.prefix(18), PURE)
    assert names(prefix) == ["column generation"]
    assert names(prefix, gap=2e-4) == ["column generation"]
    assert names(prefix, gap=3e-4) == ["relaxation", "column generation"]
    assert names(DesignProblem(Workload.prefix(15), PURE), gap=1e-3) == ["column generation"]
    assert names(DesignProblem(Workload.prefix(22), PURE), gap=1e-3) == ["relaxation"]
    few_rows = Workload(np.random.default_rng(0).random((5, 18)))
    assert names(DesignProblem(few_rows, PURE), gap=1e-3) == ["column generation"]
    path = DesignProblem(Workload.prefix(16), lo.GraphDP(1.0, nx.path_graph(16)))
    assert names(path, gap=1e-3) == ["column generation"]
    limits = DesignLimits(loose_gap=1e-2, loose_answers=4)
    assert names(prefix, limits, gap=1e-3) == ["column generation"]
    small = DesignProblem(Workload.prefix(5), PURE)
    assert names(small, limits, gap=1e-2) == ["relaxation", "column generation"]
    for gap in (-1.0, 2.0, float("nan"), "much"):
        with pytest.raises(StatementError):
            plan_design(small, gap=gap)


@pytest.mark.parametrize("objective", ["average", "worst_case"])
def test_a_design_with_a_loose_gap_reaches_it_by_the_first_method_of_its_plan(objective):
    problem = DesignProblem(Workload.prefix(16), PURE, objective=objective)
    rough = lo.design(Workload.prefix(16), PURE, objective=objective, gap=1e-2)
    assert rough.relative_gap <= 1e-2
    assert [str(step.method) for step in rough.steps] == ["relaxation"]
    assert rough.steps[0] == plan_design(problem, gap=1e-2)[0]
    assert rough.certificate.recheck() == ()


def rows_of(kind, n):
    """Coefficients of the numbers that are asked of n answers."""
    return {
        "prefix": np.tril(np.ones((n, n))),
        "random": np.random.default_rng(n).normal(size=(n, n)),
        "differences": np.diff(np.eye(n), axis=0),
    }[kind]


def rough_and_fine(kind, n, objective, fine_gap):
    """A design with a loose gap by the relaxation alone, and a finer one; no bound is above a
    value."""
    workload = Workload(rows_of(kind, n))
    how = {"objective": objective, "limits": DesignLimits(loose_answers=n)}
    rough = lo.design(workload, PURE, gap=1e-3, **how)
    fine = lo.design(workload, PURE, gap=fine_gap, **how)
    assert [str(step.method) for step in rough.steps] == ["relaxation"]
    assert rough.relative_gap <= 1e-3
    assert rough.certificate.recheck() == ()
    assert rough.bound <= fine.value
    assert fine.bound <= rough.value
    return rough, fine


@pytest.mark.parametrize("kind", sample_or_all(["prefix", "random", "differences"], 1))
def test_a_loose_gap_needs_no_second_method_where_the_relaxation_is_not_tight(kind):
    """Its bound is 2e-3 below the optimum of prefix sums of 16 answers; all sets prove more."""
    rough, fine = rough_and_fine(kind, thorough_or(12, 16), "average", 1e-5)
    assert 2 * design_rounds(rough) < design_rounds(fine)


@pytest.mark.parametrize(
    "kind, n",
    thorough_or(
        [("prefix", 10), ("random", 10), ("differences", 10)],
        [("prefix", 16), ("random", 18), ("differences", 16)],
    ),
)
def test_a_worst_case_with_a_loose_gap_prices_all_sets_at_its_weights(kind, n):
    """Else its bound stays that of the elliptope, and pricing begins again from few columns."""
    rough, _ = rough_and_fine(kind, n, "worst_case", 1e-4)
    assert design_rounds(rough) <= 3


def test_equal_images_of_columns_are_joined():
    """Sets are joined by a number each, other shapes row by row: in the same order, and their
    probabilities are added."""
    rng = np.random.default_rng(3)
    order = np.array([np.arange(7), np.arange(7)[::-1]])
    for most in (2, 3):
        shapes = rng.integers(most, size=(40, 7)).astype(float)
        q = rng.dirichlet(np.ones(40))
        images, shares = all_images(shapes, q, order)
        expected: dict[tuple[float, ...], float] = {}
        for shape, share in zip(shapes.tolist(), q.tolist(), strict=True):
            for image in (shape, shape[::-1]):
                expected[tuple(image)] = expected.get(tuple(image), 0.0) + share / 2
        assert [tuple(image) for image in images.tolist()] == sorted(expected)
        assert shares == pytest.approx([expected[key] for key in sorted(expected)])


def design_rounds(found):
    """Rounds of pricing, from the notes."""
    return sum(int(note.split()[-4]) for note in found.notes if note.endswith("of pricing"))


def test_column_generation_follows_a_relaxation_that_ends_above_the_gap():
    limits = DesignLimits(loose_gap=1e-9, loose_answers=4)
    fine = lo.design(Workload.prefix(7), PURE, gap=1e-7, limits=limits)
    best = lo.design(Workload.prefix(7), PURE)
    assert fine.relative_gap <= 1e-7
    assert fine.value == pytest.approx(best.value, rel=1e-6)
    assert str(fine.steps[0].method) == "relaxation"


def test_every_method_has_a_problem():
    assert list(CASES) == [method.name for method in METHODS], (
        "CASES needs a problem of each method, in the order of METHODS of designing/plan.py"
    )


@pytest.mark.parametrize(
    ("name", "problem"),
    [(name, problem) for name, problems in CASES.items() for problem in problems],
)
def test_the_plan_that_is_printed_is_the_one_that_runs(name, problem, tmp_path):
    plan = plan_design(problem)
    assert plan[0].method.name == name
    found = lo.design(**vars(problem), gap=1e-2)
    assert found.steps == plan[: len(found.steps)]
    assert found.steps[0].method is plan[0].method
    lo.save_model(problem, tmp_path / "model.toml")
    shown = cli_json("check", tmp_path / "model.toml")["workload"]["plan"]
    assert shown == [{"method": step.method.name, "because": step.because} for step in plan]


def test_a_method_above_the_gap_is_followed_by_the_next_one_and_a_note():
    gap = thorough_or(5e-3, 1e-4)
    found = lo.design(Workload.marginals([2, 2, 2, 3], 2), PURE, gap=gap)
    assert [step.method.name for step in found.steps] == ["product", "relaxation"]
    assert any(note.startswith("product ended at a relative gap of") for note in found.notes)
    assert found.certificate.recheck() == ()
    alone = lo.design(
        Workload.marginals([2, 2, 2, 3], 2), PURE, gap=gap, limits=DesignLimits(second_answers=0)
    )
    assert found.value <= alone.value
    assert found.bound >= alone.bound


class Failing(DesignMethod):
    """A method that fails in the way it is told."""

    name = "failing"

    def __init__(self, error):
        self.error = error

    def because(self, form, limits):
        return "it fails"

    def solve(self, task) -> RawDesign:
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        np.linalg.LinAlgError("Singular matrix"),
        ZeroDivisionError(),
        NotRepresentableError("too large"),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_a_method_that_fails_is_followed_by_another_one(error, alone, monkeypatch):
    methods = (Failing(error),) if alone else (Failing(error), *METHODS)
    monkeypatch.setattr("ldpopt.designing.plan.METHODS", methods)
    found = lo.design(Workload.prefix(4), PURE)
    assert found.notes[0].startswith("failing failed")
    assert found.certificate.recheck() == ()
    if alone:
        assert 0.5 < found.relative_gap < 1  # of answers alike
        assert any(note.startswith("randomized response") for note in found.notes)
    else:
        assert found.relative_gap <= 1e-6


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (lambda: DesignProblem(Workload([[1, 1]]), PURE), "constant-workload"),
        (lambda: DesignProblem(Workload.prefix(3), lo.PureLDP(0.0)), "zero-budget"),
        (lambda: DesignProblem(Workload.prefix(3), PURE, outputs=2), "few-outputs"),
    ],
)
def test_an_ill_posed_problem_has_no_plan(problem, code):
    with refused(code):
        plan_design(problem())


def test_outputs_are_a_whole_number():
    with pytest.raises(StatementError, match=r"outputs.* 2\.5"):
        DesignProblem(Workload.prefix(3), PURE, outputs=2.5)


@pytest.mark.parametrize("constant", [1.7e9, 1e12])
def test_a_constant_takes_no_digits_from_an_estimate(constant):
    """Values less the constant, errors and planned precision are those without the constant."""
    plain, moved = (
        lo.design(Workload(np.tril(np.ones((4, 4))) + c), PURE) for c in (0.0, constant)
    )
    reports = plain.mechanism.sample([0, 1, 2, 3] * 500, rng=1)
    one = plain.estimate(reports)
    two = moved.estimate(reports)
    assert plain.mechanism.digest == moved.mechanism.digest
    assert np.allclose(two.values - constant, one.values, atol=1e-15 * constant)
    assert np.array_equal(two.std_error, one.std_error)
    assert np.array_equal(moved.variances(), plain.variances())
    assert (moved.value, moved.bound) == (plain.value, plain.bound)


def test_an_estimator_whose_left_inverse_is_huge_is_rounded_once():
    """Answers that a workload does not distinguish, under a graph: entries of the left inverse
    cancel."""
    workload = Workload([[1.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 2.0, 0.0, 0.0]], inputs=range(5))
    found = lo.design(workload, lo.GraphDP(0.4, nx.path_graph(5)), weights=[2, 0, 1, 0, 0])
    inverse = [[Fraction(v) for v in row] for row in found.certificate.left_inverse.tolist()]
    for row, values in zip(workload.matrix.tolist(), found.estimator.tolist(), strict=True):
        w = [Fraction(v) for v in row]
        for column, value in zip(zip(*inverse, strict=True), values, strict=True):
            exact = w[0] + sum((a - w[0]) * x for a, x in zip(w[1:], column[1:], strict=True))
            assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
