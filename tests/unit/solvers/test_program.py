"""Linear programs: names, provenance, residuals, and files."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from builders import dense_rows, refused, run_python, thorough_or
from ldpopt import GraphDP, Problem, PureLDP, RowBlock, constraints
from ldpopt.solvers.program import Span, plain_names, pulp_sides
from ldpopt.solving.channel_program import program_blocks
from ldpopt.solving.formulation import formulate

ANSWERS = {"no": 1, "yes": 3}


def problem(**changes):
    return Problem(ANSWERS, "identity", PureLDP("log(3)"), **changes)


def test_names_say_what_rows_and_columns_are():
    compact = formulate(problem())
    assert compact.column_names() == [
        "Q[no,no]",
        "Q[no,yes]",
        "Q[yes,no]",
        "Q[yes,yes]",
        "M[no]",
        "M[yes]",
    ]
    assert compact.row_names()[:3] == ["row_sum[no]", "row_sum[yes]", "privacy[no,no]"]
    pairwise = formulate(problem(), "pairwise")
    assert pairwise.column_names() == ["P[no,no]", "P[no,yes]", "P[yes,no]", "P[yes,yes]"]
    assert pairwise.row_names()[2:] == [
        "privacy[no,yes,no]",
        "privacy[no,yes,yes]",
        "privacy[yes,no,no]",
        "privacy[yes,no,yes]",
    ]


def test_side_constraints_and_the_worst_case_have_names_too():
    block = constraints.linear([[1, 0], [0, 0]], upper=0.5, name="at most half")
    statement = Problem(None, np.eye(2), PureLDP(1), objective="worst_case", constraints=block)
    program = formulate(statement)
    assert program.column_names()[-1] == "worst"
    assert program.row_names()[-3:] == ["worst_case[0]", "worst_case[1]", "at most half[0,0]"]
    assert [span.name for span in program.rows] == [
        "row_sum",
        "privacy",
        "worst_case",
        "at most half",
    ]


@pytest.mark.parametrize("form", ["compact", "pairwise"])
def test_spans_cover_rows_and_columns_without_gap(form):
    block = constraints.unbiased([0, 1], [-3, 4])
    program = formulate(problem(constraints=block), form)
    for spans, size in ((program.rows, program.shape[0]), (program.columns, program.shape[1])):
        assert [span.start for span in spans] == [0, *(span.stop for span in spans[:-1])]
        assert spans[-1].stop == size
        assert [len(list(span.names())) for span in spans] == [
            span.stop - span.start for span in spans
        ]
    values = np.arange(program.shape[0])
    blocks = program_blocks(program, values)
    assert list(blocks) == ["row_sum", "privacy", "unbiased"]
    assert np.concatenate(list(blocks.values())).tolist() == values.tolist()


def test_a_run_of_one_has_a_plain_name_and_others_are_numbered():
    assert list(Span("worst", 4, 5).names()) == ["worst"]
    assert list(Span("extra", 4, 6).names()) == ["extra[0]", "extra[1]"]


def test_files_have_no_two_names_alike():
    names = plain_names(["P[a b,c]", "P[a_b,c]", "x<=y"])
    assert len(set(names)) == 3
    assert not {" ", "<", "="} & set("".join(names))
    assert plain_names(["P[a,b]"])[0] in ("P[a,b]", "P(a,b)")


def test_sides_of_a_row():
    assert pulp_sides(1.0, 1.0) == [(0, 1.0, "")]
    assert pulp_sides(-np.inf, 2.0) == [(-1, 2.0, "")]
    assert pulp_sides(1.0, np.inf) == [(1, 1.0, "")]
    assert pulp_sides(1.0, 2.0) == [(-1, 2.0, "_upper"), (1, 1.0, "_lower")]
    assert pulp_sides(-np.inf, np.inf) == []


@pytest.mark.parametrize(
    "point, residual",
    [
        ([1, 1], 0.0),
        ([0, 0], 1.0),
        ([3, 2], 2.0),
        ([-0.5, 2], 0.5),
        ([4.25, 0], 1.25),
        ([0, 2.75], 0.75),
    ],
)
def test_residual_is_the_largest_violation_of_a_row_or_bound(point, residual):
    program = dense_rows([1, 1], [[1, 1]], 1, 3, column_upper=[4, 2])
    assert program.residual(np.array(point, float)) == residual


def test_the_matrix_is_the_rows():
    rows = [[1, 0, 2], [0, 0, 0], [0, -3, 0]]
    program = dense_rows([1, 1, 1], rows, 0, 1)
    assert program.matrix.toarray().tolist() == rows
    assert (program.shape, program.nnz) == ((3, 3), 3)


@pytest.mark.parametrize("form", ["compact", "pairwise"])
def test_rows_at_a_point_and_columns_under_multipliers_are_products_with_the_matrix(form):
    block = constraints.linear([[1, 0], [0, 0]], upper=0.5)
    program = formulate(problem(constraints=block), form)
    draws = np.random.default_rng(0)
    duals, point = (draws.normal(size=size) for size in program.shape)
    assert np.allclose(
        program.activity(point), program.matrix.toarray() @ point, rtol=0, atol=1e-14
    )
    assert np.allclose(program.adjoint(duals), duals @ program.matrix.toarray(), rtol=0, atol=1e-14)
    unused = replace(
        program,
        start=np.append(program.start, program.start[-1]),
        row_lower=np.append(program.row_lower, 0),
    )
    assert unused.activity(point)[-1] == 0


def test_a_block_knows_how_far_a_channel_is_out_of_it():
    block = RowBlock(
        "b",
        np.array([0, 0, 1]),
        np.array([0, 1, 1]),
        np.array([0, 0, 1]),
        np.array([1.0, -2.0, 4.0]),
        np.array([0.0, -np.inf]),
        np.array([0.25, 1.0]),
    )
    channel = np.array([[0.5, 0.5], [0.5, 0.5]])
    assert block.activity(channel).tolist() == [-0.5, 2.0]
    assert block.violation(channel).tolist() == [0.5, 1.0]
    assert len(block) == 2
    graph = GraphDP("log(2)", nx.path_graph(2)).rows([0, 1], 2)
    assert graph.violation(np.array([[0.75, 0.25], [0.5, 0.5]])).max() == 0
    assert graph.violation(np.array([[0.8, 0.2], [0.5, 0.5]])).max() == pytest.approx(0.05)


@pytest.mark.parametrize("name", ["model.txt", "model", "lp", ".lp.gz"])
def test_a_format_that_is_none(tmp_path, name):
    with refused("file-format"):
        formulate(problem()).write(tmp_path / name)
    assert not list(tmp_path.iterdir())


WRITE = """
from ldpopt import Problem, PureLDP
from ldpopt.errors import StatementError
from ldpopt.solving.formulation import formulate
for ending in ("lp", "mps"):
    try:
        program = formulate(Problem([0.5, 0.5], "identity", PureLDP(1.0)))
        program.write("no such folder/model." + ending)
    except StatementError as error:
        print(error.what)
"""


def test_a_file_that_cannot_be_written(tmp_path):
    # In a process of its own: a solver's writer may crash rather than say so.
    done = run_python(WRITE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("cannot write") == 2


def test_what_highs_refuses_is_said():
    program = formulate(problem())
    with refused("steep-coefficient"):
        replace(program, value=np.full(program.nnz, 1e20)).to_highs()


def test_solvers_print_nothing_to_stdout():
    # the import of cvxpy takes most of the time
    names = thorough_or(("highs", "cbc"), ("highs", "cbc", "cvxpy:HIGHS"))
    code = "from ldpopt import Problem, PureLDP, solve"
    code += f"\nfor solver in {names}:"
    code += "\n    solve(Problem([0.2, 0.8], 'identity', PureLDP(1.0)), solver=solver)"
    done = run_python(code)
    assert (done.returncode, done.stdout) == (0, "")
