"""Interior point, sifting and simplex on compact programs: the same value, each with its own
certificate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, sample_or_all, thorough_or
from ldpopt.solving.methods.output_sifting import SiftingProblem

FEW_AT_FIRST = lo.Limits(whole_entries=0, columns_entries=0)
"""Limits with which small programs, too, are solved on few outputs first."""

ALL_AT_ONCE = lo.Limits(whole_entries=60 * 60, columns_entries=0)

METHODS = {
    "interior": {"solver": "interior", "form": "compact"},
    "sifted": {"solver": "interior", "limits": FEW_AT_FIRST},
    "sifted simplex": {"solver": "highs", "form": "sifted"},
}
EPSILONS = [1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0, 30.0, 37.0, 100.0, 700.0, 1000.0]
DELTAS = [None, 1e-9, 0.05, 0.3, 0.99, 1.0]


def distances(n, m):
    return np.abs(np.subtract.outer(np.linspace(0, 1, n), np.linspace(0, 1, m)))


UTILITIES = {
    "identity": lambda rng, n, m: np.eye(n, m),
    "absolute": lambda rng, n, m: -distances(n, m),
    "squared": lambda rng, n, m: -(distances(n, m) ** 2),
    "random": lambda rng, n, m: rng.random((n, m)),
    "sparse": lambda rng, n, m: rng.random((n, m)) * (rng.random((n, m)) < 0.1),
    "rank one": lambda rng, n, m: np.outer(rng.normal(size=n), rng.normal(size=m)),
    "ties": lambda rng, n, m: rng.integers(0, 3, (n, m)).astype(float),
    "equal": lambda rng, n, m: np.full((n, m), rng.normal()),
    "equal rows": lambda rng, n, m: np.repeat(rng.normal(size=(1, m)), n, axis=0),
    "equal columns": lambda rng, n, m: np.repeat(rng.normal(size=(n, 1)), m, axis=1),
    "zero": lambda rng, n, m: np.zeros((n, m)),
    "ragged": lambda rng, n, m: 10.0 ** rng.uniform(-8, 8, (n, m)),
}
PRIORS = {
    "uniform": lambda rng, n: np.ones(n),
    "dirichlet": lambda rng, n: rng.dirichlet(np.ones(n)),
    "zeros": lambda rng, n: rng.random(n) * (rng.random(n) < 0.5) + (np.arange(n) == 0),
    "point": lambda rng, n: (np.arange(n) == n // 2) + 0.0,
    "dominant": lambda rng, n: np.where(np.arange(n) == 0, 1.0, 1e-6),
    "ragged": lambda rng, n: 10.0 ** rng.uniform(-12, 0, n),
}
SHAPES = [
    (1, 1),
    (1, 5),
    (2, 2),
    (2, 7),
    (3, 2),
    (5, 1),
    (8, 8),
    (12, 30),
    (20, 20),
    (30, 7),
    (40, 40),
]


def notion(epsilon, delta):
    return lo.PureLDP(epsilon) if delta is None else lo.ApproximateLDP(epsilon, delta, form="entry")


def statement(seed, shape, utility, prior, epsilon, delta=None, scale=1.0, offset=0.0):
    rng = np.random.default_rng(seed)
    weights = PRIORS[prior](rng, shape[0])
    matrix = UTILITIES[utility](rng, *shape) * scale + offset
    sense = "gain" if seed % 2 else "loss"
    return lo.Problem(weights / weights.sum(), lo.Utility(matrix, sense), notion(epsilon, delta))


def agree(problem, methods=METHODS):
    """Solve by these methods, and by simplex on the whole program; return the answers."""
    plain = lo.solve(problem, solver="highs", form="compact")
    matrix = problem.utility.matrix
    stake = float(problem.prior @ (matrix.max(axis=1) - matrix.min(axis=1)))
    answers = {name: lo.solve(problem, **METHODS[name]) for name in methods}
    for name, answer in answers.items():
        assert answer.value == pytest.approx(plain.value, rel=1e-10, abs=1e-10 * stake), name
        assert lo.certify(answer, exact=False).relative_gap <= 1e-9, name
        assert answer.mechanism.audit(problem.privacy).verdict == "certified"
    return answers


CASES = [
    (seed, shape, utility, prior)
    for seed, (utility, (shape, prior)) in enumerate(
        zip(
            list(UTILITIES) * 3,
            zip(SHAPES * 4, ["uniform", *PRIORS] * 6, strict=False),
            strict=False,
        )
    )
]


@pytest.mark.parametrize("seed, shape, utility, prior", CASES[thorough_or(-len(UTILITIES), None) :])
def test_all_methods_agree_and_are_certified(seed, shape, utility, prior):
    epsilon = EPSILONS[5 * seed % 11]
    delta = DELTAS[max(0, 7 * seed % 10 - 4)]
    agree(statement(seed, shape, utility, prior, epsilon, delta))


@pytest.mark.parametrize("epsilon, delta", sample_or_all(itertools.product(EPSILONS, DELTAS), 6))
def test_budgets_of_any_size(epsilon, delta):
    seed = DELTAS.index(delta)
    utility = ["random", "squared", "ties", "identity"][EPSILONS.index(epsilon) % 4]
    answers = agree(statement(seed, (6, 6), utility, "dirichlet", epsilon, delta), ["interior"])
    assert int(answers["interior"].raw_status.split()[0]) <= 80


@pytest.mark.parametrize(
    "scale", thorough_or([1e-60, 1e3, 1e300], [1e-60, 1e-6, 1e-3, 1e3, 1e6, 1e300])
)
@pytest.mark.parametrize("utility", thorough_or(["random"], ["random", "absolute"]))
def test_utilities_in_any_unit(scale, utility):
    for delta in (None, 0.05):
        agree(statement(1, (8, 12), utility, "dirichlet", 1.0, delta, scale))


@pytest.mark.parametrize("delta", [None, 0.05])
def test_an_offset_of_the_utility_changes_only_the_value(delta):
    for utility in ("random", "identity"):
        plain = statement(3, (8, 8), utility, "dirichlet", 1.0, delta)
        lifted = statement(3, (8, 8), utility, "dirichlet", 1.0, delta, offset=1e6)
        for name, answer in agree(lifted).items():
            assert answer.value - 1e6 == pytest.approx(
                lo.solve(plain, **METHODS[name]).value, abs=1e-4
            ), name


@pytest.mark.parametrize("utility", [name for name in UTILITIES if name != "ragged"])
@pytest.mark.parametrize("epsilon", thorough_or([1.0], [0.1, 1.0, 5.0]))
def test_the_interior_point_takes_few_steps(utility, epsilon):
    for shape, prior, delta in (
        ((60, 60), "dirichlet", None),
        ((60, 60), "ragged", 0.01),
        ((30, 50), "zeros", None),
    ):
        answer = lo.solve(
            statement(5, shape, utility, prior, epsilon, delta), **METHODS["interior"]
        )
        assert int(answer.raw_status.split()[0]) <= 80
        assert float(answer.raw_status.split()[-1]) <= 1e-10


@pytest.mark.parametrize("utility", ["random", "absolute", "identity"])
def test_sifting_solves_on_some_outputs_only(utility):
    problem = statement(1, (16, 200), utility, "dirichlet", 0.3)
    for answer in agree(problem).values():
        if answer.program.structure.shape[1] < 200:
            assert f"{answer.program.structure.shape[1]} of 200 outputs" in answer.solver
    assert lo.solve(problem, **METHODS["sifted"]).program.structure.shape[1] < 200


def test_poor_initial_outputs_are_corrected(monkeypatch):
    monkeypatch.setattr(
        SiftingProblem, "initial_outputs", lambda whole: np.array([whole.costs.shape[1] - 1])
    )
    for utility, delta in itertools.product(
        ["random", "absolute", "identity", "ties"], [None, 0.05]
    ):
        for answer in agree(statement(1, (10, 25), utility, "dirichlet", 1.0, delta)).values():
            assert answer.program.structure.shape[1] > 1


def test_auto_exchanges_columns_for_small_problems_and_sifts_large_ones():
    small, large = (statement(1, (n, n), "random", "dirichlet", 1.0) for n in (20, 60))
    assert lo.solve(small).solver == "columns (compact)"
    assert lo.solve(small, limits=FEW_AT_FIRST).solver == "highs (compact)"
    answer = lo.solve(large, limits=FEW_AT_FIRST)
    assert answer.solver.endswith("of 60 outputs)")
    assert lo.solve(large, limits=ALL_AT_ONCE).solver == "interior (compact)"
    assert answer.value == pytest.approx(lo.solve(large, solver="highs").value, rel=1e-10)


def test_auto_uses_simplex_if_the_interior_point_fails(monkeypatch):
    from ldpopt.solvers import Outcome, Status
    from ldpopt.solving.interior import compact

    monkeypatch.setattr(
        compact.Interior, "solve", lambda self, program, **_: Outcome(Status.FAILED, "no")
    )
    problem = statement(1, (51, 51), "random", "dirichlet", 1.0)
    answer = lo.solve(problem)
    assert answer.solver == "highs (compact)"
    assert "output sifting ended with 'no'" in answer.notes


@pytest.mark.parametrize("solver", ["interior", "highs"])
def test_the_last_round_is_returned_at_the_limit_of_rounds(solver):
    problem = statement(1, (30, 60), "random", "dirichlet", 3.0)
    limits = lo.Limits(whole_entries=0, sifting_rounds=0)
    answer = lo.solve(problem, solver=solver, form="sifted", limits=limits)
    assert answer.status is lo.Status.LIMIT
    assert "after 1 programs" in answer.raw_status
    proof = lo.certify(answer)
    best = lo.solve(problem).value
    assert proof.audit.verdict == "certified"
    assert proof.relative_gap > 1e-9
    assert float(proof.achieved) <= best <= float(proof.bound)


@st.composite
def statements(draw):
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    budget = draw(st.sampled_from(EPSILONS)), draw(st.sampled_from(DELTAS))
    utility = draw(st.sampled_from(sorted(UTILITIES)))
    prior = draw(st.sampled_from(sorted(PRIORS)))
    return statement(
        draw(st.integers(0, 2**16)),
        shape,
        utility,
        prior,
        *budget,
        draw(st.sampled_from([1.0, 1e-6, 1e6])),
    )


@cases(15)
@given(statements())
def test_all_methods_find_the_optimum(problem):
    agree(problem)


@cases(10)
@given(statements(), st.randoms(use_true_random=False))
def test_the_order_of_inputs_and_outputs_does_not_matter(problem, random):
    rows = list(range(len(problem.inputs)))
    columns = list(range(len(problem.outputs)))
    random.shuffle(rows)
    random.shuffle(columns)
    utility = lo.Utility(problem.utility.matrix[np.ix_(rows, columns)], problem.utility.sense)
    moved = lo.Problem(problem.prior[rows], utility, problem.privacy)
    one, other = (lo.solve(p, **METHODS["sifted"]) for p in (problem, moved))
    stake = float(np.abs(problem.utility.matrix).max())
    assert one.value == pytest.approx(other.value, rel=1e-10, abs=1e-10 * stake)


@cases(15)
@given(statements())
def test_an_output_worse_than_all_others_changes_nothing(problem):
    matrix = problem.utility.matrix
    gain = problem.utility.sense == "gain"
    worst = (matrix.min(axis=1) if gain else matrix.max(axis=1))[:, None]
    wider = lo.Problem(
        problem.prior,
        lo.Utility(np.hstack([worst, matrix]), problem.utility.sense),
        problem.privacy,
    )
    stake = float(np.abs(matrix).max())
    value = lo.solve(wider, **METHODS["sifted"]).value
    if problem.privacy.__class__ is lo.PureLDP:
        assert value == pytest.approx(
            lo.solve(problem, **METHODS["sifted"]).value, rel=1e-10, abs=1e-10 * stake
        )
    else:
        best = lo.solve(problem, **METHODS["sifted"]).value
        assert (value >= best - 1e-10 * stake) if gain else (value <= best + 1e-10 * stake)
