"""What results of every package show in a notebook."""

from __future__ import annotations

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.foundation.display import (
    Described,
)

PROBLEM = lo.Problem({"<no>": 0.4, "yes": 0.6}, "identity", lo.PureLDP("log(3)"))
SOLUTION = lo.solve(PROBLEM)


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


def test_notebooks_get_text_without_outputs_and_codes_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[object] = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *parts: shown.append(parts))
    text = repr(lo.compare(lo.Problem([0.5, 0.5], "identity", lo.PureLDP(1.0))))
    assert "certified bound" in text
    assert "\x1b" not in text
    assert not shown


def results() -> dict[str, Described]:
    """Results with more than one line."""
    problem = lo.Problem([0.5, 0.3, 0.2], "identity", lo.PureLDP(1.0))
    workload = lo.Workload.mean(range(30))
    information = lo.convex.mutual_information([0.5, 0.3, 0.2])
    return {
        "direct": lo.plan(problem),
        "single mean": lo.plan_design(lo.DesignProblem(workload, lo.PureLDP(1.0))),
        "weight of group": lo.pareto_front(problem, [0]),
        "randomized response": lo.convex.best_channel(information, 1.0),
        "extreme rays": lo.convex.best_channel(information, lo.PML(0.5)),
        "true epsilon": lo.Survey({"color": problem}),
    }


def test_all_results_have_html_and_a_summary() -> None:
    for word, result in results().items():
        assert word in result._repr_html_()
        assert "<table" in result._repr_html_()
        assert word in result.summary()
