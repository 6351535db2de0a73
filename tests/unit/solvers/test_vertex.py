"""A rough answer is refined at the vertex of its basis, here and in a child process."""

import networkx as nx
import numpy as np
import pytest

from ldpopt import GraphDP, Problem, PureLDP, Utility
from ldpopt.solvers import Feature, Outcome, Solver, Status, find
from ldpopt.solvers.highs_ import Highs
from ldpopt.solvers.refinement import point_of
from ldpopt.solvers.vertex import at_vertex
from ldpopt.solving.formulation import formulate


def steps(n):
    return Utility(np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float), "loss")


def path_program(n=30):
    prior = np.random.default_rng(1030).dirichlet(np.ones(n))
    return formulate(Problem(prior, steps(n), GraphDP(1.0, nx.path_graph(n))))


def worst_program(n=20):
    return formulate(Problem(None, steps(n), PureLDP(1.0), objective="worst_case"))


@pytest.mark.parametrize("make", [path_program, worst_program])
def test_the_vertex_has_no_residuals(make):
    program = make()
    rough = find("highs").solve(program, refined=False)
    assert point_of(program, rough).residual > 1e-9
    fine, residual = at_vertex(program, rough)
    assert residual < 1e-13
    assert point_of(program, fine).residual < 1e-13
    assert fine.warm_start is rough.warm_start


def test_a_spoiled_point_comes_back_from_its_basis():
    program = worst_program(6)
    right = find("highs").solve(program)
    noise = 1e-4 * np.random.default_rng(0).normal(size=len(right.point))
    spoiled = Outcome(
        Status.OPTIMAL, "", right.point + noise, right.row_duals * 1.01, None, right.warm_start
    )
    fine, residual = at_vertex(program, spoiled)
    assert residual < 1e-13
    assert program.objective @ fine.point == pytest.approx(
        program.objective @ right.point, rel=1e-13
    )


def test_what_has_no_vertex_is_returned_as_it_is():
    program = worst_program(4)
    failed = Outcome(Status.FAILED, "stopped")
    assert at_vertex(program, failed) == (failed, np.inf)
    right = find("highs").solve(program, refined=False)
    bare = Outcome(Status.OPTIMAL, "", right.point + 1e-3, right.row_duals)
    assert at_vertex(program, bare)[0] is bare


def test_a_child_refines_as_this_process_does(monkeypatch):
    program = path_program(12)
    rough = find("highs").solve(program, refined=False)
    here = find("highs").refine(program, rough)
    monkeypatch.setattr(Highs, "in_process_nonzeros", 0)
    there = find("highs").refine(program, rough, time_limit=60.0)
    assert there.status is Status.OPTIMAL
    assert np.array_equal(here.point, there.point)
    assert np.array_equal(here.row_duals, there.row_duals)


def test_costs_of_any_size_are_refined_in_their_unit():
    prior = np.random.default_rng(3).dirichlet(np.ones(8))
    loss = Utility(steps(8).matrix * 1e9, "loss")
    program = formulate(Problem(prior, loss, GraphDP(1.0, nx.path_graph(8))))
    solver = find("highs")
    fine = solver.refine(program, solver.solve(program, refined=False))
    assert point_of(program, fine).residual < 1e-13


def test_a_solver_without_a_refinement_solves_again():
    class Twice(Solver):
        name = "twice"
        features = frozenset({Feature.ROUGH})

        def solve(self, program, *, time_limit=None, refined=True, **options):
            asked.append(refined)
            return find("highs").solve(program, refined=refined)

    asked = []
    program = worst_program(4)
    solver = find(Twice())
    rough = solver.solve(program, refined=False)
    assert solver.refine(program, rough).status is Status.OPTIMAL
    assert asked == [False, True]
