"""Formulations: published counts, exact coefficients, and refusal before anything is built."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from builders import refused
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    MetricDP,
    OneSided,
    Problem,
    PureLDP,
    Utility,
    UtilityOptimizedLDP,
    constraints,
)
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.rows import RowBlock
from ldpopt.solving.formulation import (
    add_rows,
    compress,
    default_form,
    formulate,
    pairwise_size,
    program_of_pairs,
    row_sums,
    size,
)


def uniform(n, privacy, m=None, **changes):
    return Problem(np.full(n, 1 / n), np.eye(n, m), privacy, **changes)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_counts_of_zhou_lu_wu_equation_20(n):
    program = formulate(uniform(n, ApproximateLDP(1.0, 0.1, "entry")), "pairwise")
    rows = {span.name: span.stop - span.start for span in program.rows}
    assert program.shape[1] == n**2
    assert rows == {"row_sum": n, "privacy": n**2 * (n - 1)}
    assert (program.column_lower == 0).all()
    assert np.count_nonzero(np.isfinite(program.column_upper)) == 0


@pytest.mark.parametrize("n, m", [(1, 1), (2, 5), (4, 3), (6, 6)])
def test_counts_of_the_compact_program(n, m):
    program = formulate(uniform(n, PureLDP(1.0), m))
    assert program.shape == (n * m + n, n * m + m)
    assert program.nnz == 4 * n * m
    assert np.abs(program.value).max() <= 1


def graph_problem(**changes):
    return uniform(5, GraphDP(1.0, nx.cycle_graph(5)), **changes)


@pytest.mark.parametrize(
    "problem, form",
    [
        (uniform(4, PureLDP(1.0), 3), "compact"),
        (uniform(4, PureLDP(1.0), 3), "pairwise"),
        (uniform(3, ApproximateLDP(1.0, 0.1)), "relaxation"),
        (uniform(3, ApproximateLDP(1.0, 0.1), 4), "events"),
        (uniform(3, ApproximateLDP(1.0, 0.1)), "pairwise"),
        (uniform(3, ApproximateLDP(1.0, 0.1, "entry"), 4), "pairwise"),
        (graph_problem(), "pairwise"),
        (graph_problem(constraints=constraints.unbiased(range(1, 6), range(1, 6))), "pairwise"),
        (Problem(None, np.ones((3, 2)), PureLDP(1.0), objective="worst_case"), "compact"),
    ],
)
def test_sizes_are_counted_without_building(problem, form):
    counted = size(problem, form)
    program = formulate(problem, form)
    assert (counted.rows, counted.columns) == program.shape
    assert counted.nonzeros >= program.nnz * 0.6
    assert counted.memory > 8 * program.nnz


def test_event_rows_are_all_proper_events():
    program = formulate(uniform(3, ApproximateLDP(1.0, 0.1), 4), "pairwise")
    assert program.shape[0] == 3 + 6 * (2**4 - 2)


def test_ratios_are_rounded_so_that_the_program_is_a_relaxation():
    for epsilon in (1e-9, 0.1, 1.0, "log(3)", 25, 700):
        problem = uniform(3, PureLDP(epsilon))
        low, high = problem.privacy.epsilon.enclosure()
        structure = formulate(problem).structure
        assert Fraction(structure.b) <= 1 / high
        assert Fraction(structure.beta) >= 1 - 1 / high
        block = problem.privacy.rows(range(3), 3)
        assert Fraction(float(block.coefficient.max())) <= 1 / high
        assert float(block.coefficient.max()) == pytest.approx(float(1 / low), rel=1e-12)


@pytest.mark.parametrize("form", ["event", "entry"])
def test_the_slack_is_rounded_up(form):
    notion = ApproximateLDP("log(3)", 0.1, form)
    block = notion.rows(range(3), 3)
    positive = block.coefficient > 0
    for row in range(len(block)):
        b = Fraction(float(block.coefficient[positive & (block.row == row)][0]))
        assert Fraction(float(block.upper[row])) >= b * Fraction(0.1)


def test_the_channel_of_a_point_is_the_channel_it_was_made_from():
    rng = np.random.default_rng(0)
    problem = uniform(3, PureLDP(1.0), 4)
    channel = 0.9 / 4 + 0.1 * rng.dirichlet(np.ones(4), size=3)
    structure = formulate(problem).structure
    floors = channel.min(axis=0) / structure.b
    point = np.concatenate([(channel - structure.b * floors).ravel(), floors])
    assert structure.channel(point) == pytest.approx(channel, abs=1e-15)
    program = formulate(problem)
    assert program.residual(point) < 1e-12
    assert program.objective @ point == pytest.approx((channel * np.eye(3, 4)).sum() / 3)
    pairwise = formulate(problem, "pairwise")
    assert pairwise.residual(channel.ravel()) < 1e-12
    assert (pairwise.structure.channel(channel.ravel()) == channel).all()


@pytest.mark.parametrize("form", ["compact", "pairwise"])
def test_added_rows_have_the_same_activity_in_both_forms(form):
    rng = np.random.default_rng(1)
    problem = uniform(3, PureLDP(1.0))
    channel = 0.2 + 0.4 * rng.dirichlet(np.ones(3), size=3)
    block = constraints.linear(rng.normal(size=(3, 3)), 0, 1, "extra")
    program = add_rows(formulate(problem, form), block, problem)
    point = channel.ravel()
    if form == "compact":
        b = program.structure.b
        floors = channel.min(axis=0) / b
        point = np.concatenate([(channel - b * floors).ravel(), floors])
    assert (program.matrix @ point)[-1] == pytest.approx(block.activity(channel)[0])
    assert (program.row_lower[-1], program.row_upper[-1]) == (0, 1)


def test_default_forms_are_chosen_and_impossible_ones_refused():
    assert default_form(uniform(3, PureLDP(1.0))) == "compact"
    assert default_form(uniform(3, ApproximateLDP(1.0, 0.1))) == "events"
    assert default_form(uniform(3, ApproximateLDP(1.0, 0.1, "entry"))) == "compact"
    assert default_form(graph_problem()) == "pairwise"
    with refused("form", NotRepresentableError) as caught:
        formulate(graph_problem(), "compact")
    assert "no compact" in str(caught.value)
    with refused("form", NotRepresentableError) as caught:
        formulate(uniform(2, MetricDP(1.0, [[0, 1], [1, 0]])), "compact")
    assert "no compact" in str(caught.value)
    with refused("relaxation", NotRepresentableError):
        formulate(uniform(3, ApproximateLDP(1.0, 0.1)), "compact")
    with refused("form", NotRepresentableError) as caught:
        formulate(uniform(3, PureLDP(1.0)), "events")
    assert "no events" in str(caught.value)
    with pytest.raises(StatementError, match="'dense'"):
        formulate(uniform(2, PureLDP(1.0)), "dense")


def test_too_many_events_are_refused():
    problem = uniform(25, ApproximateLDP(1.0, 0.1))
    with pytest.raises((NotRepresentableError, StatementError), match=r"rows|memory"):
        formulate(problem, "pairwise")


@pytest.mark.parametrize("privacy", [PureLDP(1.0), ApproximateLDP(1.0, 0.1)])
def test_a_program_larger_than_memory_is_refused_before_it_is_built(privacy):
    class Wide:
        shape = (20_000, 20_000)

    problem = uniform(2, privacy)
    object.__setattr__(problem, "utility", Wide())
    tracemalloc.start()
    with pytest.raises(StatementError, match="GiB of memory"):
        formulate(problem)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**22


def test_a_named_utility_of_a_huge_alphabet_is_refused_before_it_is_built():
    prior = np.full(10**6, 1e-6)
    with pytest.raises(StatementError, match="1000000 x 1000000"):
        Problem(prior, "identity", PureLDP(1.0))


def test_no_coefficient_is_zero():
    for epsilon in (0, 800):
        program = formulate(uniform(3, PureLDP(epsilon)))
        assert (program.value != 0).all()
        assert program.start[-1] == program.nnz
    loss = Problem([0.5, 0.5], Utility([[0, 1], [1, 0]], "loss"), PureLDP(1.0))
    assert not formulate(loss).maximize


def test_compressing_sums_duplicate_entries():
    start, index, value = compress(
        np.array([1, 0, 1, 1]), np.array([2, 1, 2, 0]), np.array([1.0, 5.0, 2.0, 4.0]), 3, 3
    )
    assert start.tolist() == [0, 1, 3, 3]
    assert index.tolist() == [1, 0, 2]
    assert value.tolist() == [5.0, 4.0, 3.0]
    assert compress(np.array([0, 0]), np.array([1, 1]), np.array([1.0, -1.0]), 1, 2)[
        0
    ].tolist() == [0, 0]


def test_pairs_are_rows_in_the_order_of_their_inputs(monkeypatch):
    problem = Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))
    ends = np.array([2, 0, 1]), np.array([1, 2, 0])
    ratio = np.array([0.25, 0.5, 0.75])
    block = RowBlock.of_pairs("privacy", *ends, np.array([0, 2, 2]), ratio)
    assert block.x.tolist() == [1, 2, 0, 2, 0, 1]
    assert block.coefficient.tolist() == [-1.0, 0.25, 0.5, -1.0, -1.0, 0.75]
    assert (block.lower == -np.inf).all()
    assert not block.upper.any()
    program = add_rows(row_sums(problem), block, problem)
    duals = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    expected = np.array([[1.0, 1, 1 + 2.5 - 6], [2 - 4, 2, 2 + 4.5], [3 + 1, 3, 3 - 5]])
    for rows in (2, 1 << 20):
        monkeypatch.setattr("ldpopt.solvers.program.BLOCK", rows)
        assert program.adjoint(duals).reshape(3, 3).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "notion", [PureLDP(1.0), UtilityOptimizedLDP(1.0, [0]), OneSided(1.0, [1])]
)
@pytest.mark.parametrize("kind", ["compact", "pairwise"])
@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_sizes_of_notions_with_exceptions_are_counted(notion, kind, objective):
    prior = [0.5, 0.3, 0.2] if objective == "expected" else None
    problem = Problem(prior, np.eye(3), notion, objective=objective)
    counted = size(problem, kind)
    program = formulate(problem, kind)
    assert (counted.rows, counted.columns) == program.shape
    assert counted.nonzeros >= len(program.value)


def test_the_program_of_all_pairs_and_outputs_is_the_pairwise_one():
    problem = Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))
    whole = formulate(problem, "pairwise")
    ties = problem.ties()
    assert ties is not None
    first, second = (np.repeat(inputs, 3) for inputs in ties.pairs())
    some = program_of_pairs(
        problem, first, second, np.tile(np.arange(3), 6), np.full(18, ties.ratio(up=False))
    )
    dense = [
        {tuple(row) for row in program.matrix.toarray().round(12).tolist()}
        for program in (whole, some)
    ]
    assert dense[0] == dense[1]
    assert pairwise_size(None, 3, 2) == (18, 30)
