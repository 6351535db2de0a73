"""Extreme columns beside HiGHS, beside the program of all columns, and by their own multipliers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import random_problem, refused, run_python, thorough_or
from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.solvers import Status, find
from ldpopt.solving import columns
from ldpopt.solving.formulation import formulate


def all_columns(problem: lo.Problem) -> np.ndarray:
    """Every extreme column of one output, (2**n, n)."""
    b = float(np.exp(-float(problem.ties().budget)))
    return np.array(list(product([b, 1.0], repeat=len(problem.inputs))))


def value_over_all_columns(problem: lo.Problem) -> float:
    """The optimum over levels of all columns of all outputs, by HiGHS."""
    listed = all_columns(problem)
    gain = problem.utility.gain
    n, m = gain.shape
    levels = len(listed) * m
    sums = np.repeat(listed, m, axis=0)  # a column and an output, in this order
    by_input = sums * np.tile(gain.T, (len(listed), 1))
    from scipy.optimize import linprog

    if problem.prior is not None:
        found = linprog(-by_input @ problem.prior, A_eq=sums.T, b_eq=np.ones(n))
    else:
        costs = np.append(np.zeros(levels), -1.0)
        below = np.hstack([-by_input.T, np.ones((n, 1))])
        rows = np.hstack([sums.T, np.zeros((n, 1))])
        bounds = [(0, None)] * levels + [(None, None)]
        found = linprog(costs, below, np.zeros(n), rows, np.ones(n), bounds)
    return float(-found.fun) if problem.utility.sense == "gain" else float(found.fun)


def columns_alone(problem: lo.Problem) -> lo.Solution:
    """What `solve` finds by extreme columns, without another method after them."""
    return lo.solve(problem, solver="columns")


CASES = [
    (seed, sense, objective)
    for seed in range(thorough_or(2, 12))
    for sense in ("gain", "loss")
    for objective in ("expected", "worst_case")
]


@pytest.mark.parametrize("seed, sense, objective", CASES)
def test_the_optimum_over_all_listed_columns_is_found(seed, sense, objective):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 6, 2)
    epsilon = float(rng.choice([0.02, 0.3, 1.0, 3.0]))
    problem = random_problem(lo.PureLDP(epsilon), n, m, rng=rng, sense=sense, objective=objective)
    answer = columns_alone(problem)
    assert answer.value == pytest.approx(value_over_all_columns(problem), rel=1e-8)
    assert lo.certify(answer).relative_gap < 1e-12


UTILITIES = {
    "random": lambda rng, n, m: rng.random((n, m)),
    "identity": lambda rng, n, m: np.eye(n, m),
    "distance": lambda rng, n, m: -abs(np.subtract.outer(np.arange(n), np.arange(m))) / n,
    "sparse": lambda rng, n, m: rng.random((n, m)) * (rng.random((n, m)) < 0.1),
    "ties": lambda rng, n, m: rng.integers(0, 3, (n, m)).astype(float),
    "equal": lambda rng, n, m: np.full((n, m), 0.3),
    "zero": lambda rng, n, m: np.zeros((n, m)),
    "tiny": lambda rng, n, m: 1e-120 * rng.random((n, m)),
    "large": lambda rng, n, m: 1e120 * rng.random((n, m)),
    "mixed sizes": lambda rng, n, m: 10.0 ** rng.uniform(-6, 6, (n, m)),
}
SHAPES = [(2, 2), (2, 9), (7, 3), (12, 12), (20, 20), (31, 5), (6, 40), (30, 30)]


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_the_value_is_that_of_highs(utility, objective):
    rng = np.random.default_rng(list(UTILITIES).index(utility))
    for shape in thorough_or([(2, 9), (12, 12)], SHAPES):
        for epsilon in thorough_or((0.01, 2.0, 29.0), (0.01, 0.4, 2.0, 9.0, 29.0)):
            n, m = shape
            prior = rng.dirichlet(np.full(n, 0.3))
            prior[rng.integers(n)] = 0.0
            matrix = UTILITIES[utility](rng, n, m)
            problem = lo.Problem(
                prior / prior.sum() if objective == "expected" else None,
                lo.Utility(matrix, rng.choice(["gain", "loss"])),
                lo.PureLDP(epsilon),
                objective=objective,
            )
            answer = lo.solve(problem)
            plain = lo.solve(problem, solver="highs")
            stake = float(np.abs(matrix).max())
            assert answer.value == pytest.approx(plain.value, rel=1e-10, abs=1e-11 * stake)
            proof = lo.certify(answer)
            assert proof.relative_gap <= max(1e-10, 2 * lo.certify(plain).relative_gap)
            assert answer.mechanism.audit(problem.privacy).verdict == "certified"


@st.composite
def problems(draw) -> lo.Problem:
    n, m = draw(st.integers(2, 8)), draw(st.integers(1, 8))
    entries = st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0, 0.3])
    matrix = draw(st.lists(st.lists(entries, min_size=m, max_size=m), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    objective = draw(st.sampled_from(["expected", "worst_case"]))
    prior = np.array(weights, float) / sum(weights) if objective == "expected" else None
    utility = lo.Utility(np.array(matrix), draw(st.sampled_from(["gain", "loss"])))
    epsilon = draw(st.sampled_from([0.002, 0.1, "log(2)", "log(3)", 1.0, 5.0, 30.0]))
    return lo.Problem(prior, utility, lo.PureLDP(epsilon), objective=objective)


@given(problems())
def test_degenerate_problems_are_solved(problem):
    answer = lo.solve(problem)
    assert answer.status is Status.OPTIMAL
    plain = lo.solve(problem, solver="highs")
    assert answer.value == pytest.approx(plain.value, rel=1e-10, abs=1e-11)
    assert lo.certify(answer).relative_gap <= 1e-10


@pytest.mark.parametrize("sense", ["gain", "loss"])
@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_multipliers_and_reduced_costs_are_those_of_the_program(sense, objective):
    problem = random_problem(lo.PureLDP(0.8), 9, 7, rng=3, sense=sense, objective=objective)
    program = formulate(problem)
    outcome = find("columns").solve(program)
    duals = outcome.row_duals
    np.testing.assert_allclose(
        program.objective - program.adjoint(duals), outcome.column_duals, atol=1e-14
    )
    assert program.residual(outcome.point) < 1e-13
    value = program.objective @ outcome.point
    assert value == pytest.approx(columns_alone(problem).value, rel=1e-12)
    # the row sums are the only sides that are not 0
    assert duals[:9].sum() == pytest.approx(value, rel=1e-12)
    sign = 1 if sense == "gain" else -1
    assert (sign * outcome.column_duals[: 9 * 7 + 7]).max() < 1e-14
    assert (sign * duals[9 : 9 + 63]).min() >= 0
    activity = program.activity(outcome.point)
    assert abs(duals[9:] * activity[9:]).max() < 1e-13  # complementary slackness
    assert abs(outcome.column_duals * outcome.point).max() < 1e-13


@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_no_listed_column_has_a_gain_at_the_multipliers(objective):
    for seed in range(5):
        problem = random_problem(lo.PureLDP(1.0), 5, 6, rng=seed, objective=objective)
        outcome = find("columns").solve(formulate(problem))
        eta, weight = outcome.row_duals[:5], problem.prior
        if weight is None:
            weight = outcome.row_duals[-5:]
            assert weight.min() > -1e-14
            assert weight.sum() == pytest.approx(1)
        excess = weight[:, None] * problem.utility.matrix - eta[:, None]
        assert (all_columns(problem) @ excess).max() < 1e-13


def test_an_answer_has_as_many_columns_as_rows():
    problem = random_problem(lo.PureLDP(1.0), 12, rng=5)
    channel = columns_alone(problem).mechanism.channel
    channel = channel[:, channel.max(axis=0) > 0]
    assert channel.shape[1] <= 12
    # of an output with one extreme column, entries have two values
    low, high = channel.min(axis=0), channel.max(axis=0)
    is_low, is_high = channel < low * (1 + 1e-9), channel > high * (1 - 1e-9)
    assert (is_low | is_high).mean() > 0.9


def test_other_programs_and_options_are_refused():
    solver = find("columns")
    entry_wise = random_problem(lo.ApproximateLDP(1.0, 0.01, form="entry"), 3)
    for program in (
        formulate(entry_wise),
        formulate(random_problem(lo.PureLDP(1.0), 3), "pairwise"),
    ):
        with refused("column-program", NotRepresentableError):
            solver.solve(program)
    program = formulate(random_problem(lo.PureLDP(1.0), 3))
    with refused("unknown-option", SolverOptionError):
        solver.solve(program, steps=3)
    for value in (0, -1, 2.5, True):
        with refused("option-value", SolverOptionError):
            solver.solve(program, exchanges=value)
    limited = solver.solve(formulate(random_problem(lo.PureLDP(1.0), 15)), exchanges=1)
    assert limited.status is Status.LIMIT
    assert limited.point is None


@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_the_whole_program_is_solved_if_columns_fail(monkeypatch, objective):
    problem = random_problem(lo.PureLDP(1.0), 15, objective=objective)
    plain = lo.solve(problem, solver="highs")
    for name, value in (("EXCHANGES", 0), ("LEAST_LEVEL", 1.0)):
        with monkeypatch.context() as patch:
            patch.setattr(columns, name, value)
            answer = lo.solve(problem)
        assert answer.solver == "highs (compact)"
        assert answer.value == pytest.approx(plain.value, rel=1e-12)
        assert answer.steps[1].startswith("extreme columns ended with")


def test_inaccurate_multipliers_are_replaced_by_those_of_the_whole_program(monkeypatch):
    problem = random_problem(lo.PureLDP(1.0), 15)
    monkeypatch.setattr(columns, "TOLERANCE", 1e-3)  # columns with a gain are left out
    answer = lo.solve(problem)
    assert answer.solver == "highs (compact)"
    assert lo.certify(answer).relative_gap < 1e-12


SOLVED = """
import hashlib, numpy as np, ldpopt as lo
digest = hashlib.sha256()
for n in (3, 6, 14):
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / n
    for prior, objective in ((np.full(n, 1 / n), "expected"), (None, "worst_case")):
        problem = lo.Problem(prior, lo.Utility(-steps), lo.PureLDP(1.0), objective=objective)
        digest.update(lo.solve(problem, solver="columns").mechanism.channel.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.long
def test_of_several_optima_each_processor_finds_the_same(monkeypatch):
    """Linear algebra of OpenBLAS has other last digits with each set of instructions."""
    found = set()
    for kind in ("Prescott", "Haswell", "SkylakeX"):
        monkeypatch.setenv("OPENBLAS_CORETYPE", kind)
        found.add(run_python(SOLVED).stdout)
    assert len(found) == 1
    assert "\n" in found.pop()


def test_a_round_of_a_large_problem_is_short_enough_for_a_deadline(monkeypatch):
    program = formulate(random_problem(lo.PureLDP(1.0), 12, rng=5))
    whole = find("columns").solve(program)
    rounds = []
    usual = columns.exchange_columns

    def counted(*arguments):
        rounds.append(arguments[-2])
        return usual(*arguments)

    monkeypatch.setattr(columns, "exchange_columns", counted)
    monkeypatch.setattr(columns, "ROUND_OPERATIONS", 5 * (12 * 12 + 12 * 12))
    short = find("columns").solve(program)
    assert set(rounds) == {5}
    assert len(rounds) > 3
    assert short.status is Status.OPTIMAL
    values = [program.objective @ outcome.point for outcome in (short, whole)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
