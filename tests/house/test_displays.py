"""What is printed: one line, a short table, HTML for notebooks; nothing wider than 80 columns in a pipe."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import run_cli

PROBLEM = lo.Problem({"<no>": 0.4, "yes": 0.6}, "identity", lo.PureLDP("log(3)"))
SOLUTION = lo.solve(PROBLEM)


def test_a_certificate_is_one_line_of_floats() -> None:
    text = repr(lo.certify(SOLUTION))
    assert text.startswith("Certificate(achieved=0.75, bound=0.75, relative_gap=")
    assert len(text) < 120
    assert "\n" not in text


@pytest.mark.parametrize(
    "thing",
    [
        PROBLEM,
        SOLUTION,
        SOLUTION.mechanism,
        lo.certify(SOLUTION),
        SOLUTION.mechanism.audit(PROBLEM.privacy),
        lo.estimate_frequencies(SOLUTION.mechanism, ["yes", "<no>", "yes"]),
        lo.extreme_points(PROBLEM.privacy, 3),
        lo.sweep(PROBLEM, np.linspace(0.1, 2, 25)),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_notebooks_show_a_table(thing: object) -> None:
    page = thing._repr_html_()  # type: ignore[attr-defined]
    assert page.count("<table") == page.count("</table>") >= 1
    assert "<no>" not in page
    assert page.count("<tr") <= 35
    assert len(repr(thing)) < 400


def test_tables_in_a_pipe_have_80_columns() -> None:
    for command in (
        ("compare", "coin"), ("models",), ("vertices", "zhou_nary"), ("solve", "anes96_income"), ("examples",),
    ):  # fmt: skip
        text = run_cli(*command).stdout
        tables = [line for line in text.splitlines() if not line.startswith(("does not apply:", "certificate:"))]
        assert max(map(len, tables)) <= 80, command


def test_a_large_channel_is_shown_by_its_likeliest_reports() -> None:
    text = run_cli("solve", "anes96_income").stdout
    assert "24 x 24, 24 reports in use" in text
    assert "21 others 0.8165" in text
    assert "and 4 answers more" in text


def test_extreme_points_for_any_epsilon() -> None:
    text = run_cli("vertices", "zhou_nary").stdout
    assert "1 1 \u03b1 / 1 \u03b1 1 / \u03b1 1 1" in text
    assert "0.2119 0.2119 0.5761" in text
    assert "/5835008329519258320227205796779630939657678624050392151701" not in text
    exact = json.loads(run_cli("vertices", "zhou_nary", "--json", "-").stdout)
    assert "/" in exact["orbits"][1]["representative"][0][0]
    assert run_cli("vertices", "coin", "--fractions", "--list", "1").stdout.count("1/4") == 2


def test_a_decimal_budget_has_extreme_points_along_a_graph() -> None:
    graph = nx.path_graph(3)
    points = lo.extreme_points(lo.GraphDP(1.0986122886681098, graph), 3)  # the float just above ln 3
    exact = lo.extreme_points(lo.GraphDP("log(3)", graph), 3)
    assert points.counts_by_columns == exact.counts_by_columns
    nearest = [min(float(abs(np.subtract(a, b)).max()) for b in exact.vertices) for a in points.vertices]
    assert max(nearest) < 1e-11
    assert all(lo.audit(vertex.astype(float)).epsilon < 2.2 for vertex in points.vertices if (vertex > 0).all())


def test_compare_says_what_does_not_apply() -> None:
    result = run_cli("compare", "worst_case")
    line = next(line for line in result.stdout.splitlines() if line.startswith("best extreme point"))
    assert "does not apply" in line
    assert "note: best extreme point: with a worst case" in result.stderr
