"""Objects of another kind than a function takes: arrays where records are expected, generators,
single numbers for lists, texts for numbers; and values that were accepted although they cannot be
meant."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import ldpopt as lo
from builders import refused, run_python
from ldpopt import accounting, errors, frequencies, layers, neighbors, noise, plotting
from ldpopt.errors import LdpoptError
from ldpopt.mechanism.revealing import revealed_by
from ldpopt.solvers import Solver

PURE = lo.PureLDP(1.0)
COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
PROBLEM = lo.Problem([0.5, 0.5], "identity", PURE)
DESIGN = lo.design(lo.Workload.frequencies(["no", "yes"]), PURE)
TWICE = pd.DataFrame([["no", "yes"], ["yes", "no"]], columns=["q", "q"])
REPORTS = ["no", "yes"] * 20

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "points beside a matrix": (
        lambda: lo.MetricDP(1.0, np.eye(2), points=np.array([0.0, 1.0])),
        "unknown-distance",
    ),
    "a mechanism for a notion": (lambda: COIN.audit(COIN), "notion"),
    "the same of an array": (lambda: lo.audit(np.eye(2), COIN), "notion"),
    "an array for counts": (lambda: DESIGN.frequencies(np.array([1.0, 2.0])), "type"),
    "an array for a p-value": (lambda: DESIGN.p_value(np.array([1.0, 2.0])), "type"),
    "counts of another mechanism": (
        lambda: DESIGN.p_value(lo.Counts.of(frequencies.UnaryEncoding(3, 1.0), [[0, 1, 1]])),
        "source",
    ),
    "counts for a protocol": (
        lambda: frequencies.UnaryEncoding(3, 1.0).p_value(np.ones(3)),
        "type",
    ),
    "an array for a mechanism": (lambda: COIN.counts_after(np.eye(2)), "type"),
    "a problem for regions": (lambda: plotting.regions(PROBLEM), "list"),
    "a notion for a partition": (lambda: noise.LevelNoise(PURE, 1.0), "type"),
    "a number for generators": (lambda: neighbors.cayley(3, 2), "list"),
    "a huge group": (lambda: neighbors.cayley(10**13, [1]), "memory"),
    "nothing for points": (
        lambda: lo.convex.best_listed(None, lo.convex.mutual_information([0.5, 0.5])),
        "type",
    ),
    "a number for budgets": (lambda: lo.sweep(PROBLEM, np.array(1.0)), "list"),
    "a text for a delta": (lambda: lo.sweep(PROBLEM, [1.0], deltas=["log(1/3)"]), "real-number"),
    "a number for pairs": (lambda: accounting.compose([COIN], pairs=1.0), "list"),
    "ragged columns": (lambda: layers.LatticeNoise([1, (1, 0)], 1.0), "integers"),
    "a generator for labels": (lambda: PURE.ties(letter for letter in "ab"), "label-list"),
    "nothing for inputs": (lambda: PURE.rows(None, 2), "label-list"),
    "an array for a number of outputs": (lambda: PURE.rows(["a", "b"], np.eye(2)), "whole-number"),
    "two columns of a name": (lambda: COIN.privatize(TWICE, columns="q"), "repeated-column"),
    "the same of reports": (lambda: lo.Survey({"q": COIN}).estimate(TWICE), "repeated-column"),
    "an array for a truth value": (
        lambda: lo.estimate_frequencies(COIN, REPORTS, check_fit=np.array([True, False])),
        "truth",
    ),
    "an array for a name": (lambda: lo.Survey({"q": COIN}).require(np.eye(2)), "question"),
    "an unknown name": (
        lambda: lo.Survey({"q": COIN}).estimate(
            lo.Survey({"q": COIN}).privatize(pd.DataFrame({"q": REPORTS}), rng=1)
        )["r"],
        "question",
    ),
    "an unknown option": (lambda: lo.plot(lo.audit(COIN), nonsense=1), "option"),
    "a matrix for a program": (lambda: lo.simplex.standard_form(np.eye(2)), "type"),
    "a short point": (lambda: lo.formulate(PROBLEM).activity(np.ones(1)), "shape"),
    "no path": (lambda: lo.formulate(PROBLEM).write(3.5), "path"),
    "no path of a key": (lambda: lo.SecretKey.load(None), "path"),
    "bytes for a title": (lambda: COIN.save("c.json", title=b"1"), "text"),
    "no time": (lambda: lo.compare(PROBLEM, time_limit=-1), "time-limit"),
    "no time of a sweep": (lambda: lo.sweep(PROBLEM, [1.0], time_limit=-1), "time-limit"),
    "no time for points": (lambda: lo.extreme_points(PURE, 2, time_limit=0), "time-limit"),
    "no time for designs": (
        lambda: lo.compare_designs(lo.Workload.prefix(3), PURE, time_limit=-1),
        "time-limit",
    ),
    "no time of a solver": (
        lambda: lo.solvers.find("highs").solve(lo.formulate(PROBLEM), time_limit=float("nan")),
        "real-number",
    ),
    "labels that differ in blanks": (lambda: lo.Mechanism(np.eye(2), ["no", "no "]), "blanks"),
    "answers that differ in blanks": (lambda: lo.Workload.frequencies(["a b", "a  b"]), "blanks"),
}


@pytest.mark.parametrize(("call", "code"), CALLS.values(), ids=CALLS)
def test_an_argument_of_another_kind_is_refused(call: Callable[[], Any], code: str) -> None:
    with pytest.raises(LdpoptError) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.do


@pytest.mark.parametrize(
    "numbers",
    [[1, 2], (x for x in [1, 2]), {"no": 1, "yes": 2}, "12", np.array(1.0), 1j, True, COIN],
    ids=lambda value: type(value).__name__,
)
def test_numbers_of_an_estimate_are_a_workload(numbers: Any) -> None:
    with refused("type"):
        lo.estimate_frequencies(COIN, REPORTS, numbers=numbers)


def test_a_survey_estimate_is_still_a_mapping() -> None:
    survey = lo.Survey({"q": COIN})
    found = survey.estimate(survey.privatize(pd.DataFrame({"q": REPORTS}), rng=1))
    assert "r" not in found
    assert found.get("r") is None
    with pytest.raises(KeyError):
        found["r"]


def test_records_with_arrays_are_compared_without_an_error() -> None:
    program = lo.formulate(PROBLEM)
    assert program != lo.formulate(PROBLEM)
    assert program == program
    assert PURE.ties(["a", "b"]).rows(2) != PURE.ties(["a", "b"]).rows(2)


def test_a_process_that_may_use_little_memory_refuses_what_does_not_fit() -> None:
    code = """
import resource
import ldpopt as lo
protocol = lo.frequencies.UnaryEncoding(100_000, 1.0)
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    protocol.privatize([0] * 100_000)
except lo.errors.StatementError as error:
    print(error.code)
"""
    pytest.importorskip("resource", reason="limits of Unix")
    assert run_python(code).stdout.strip() == "memory"


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        ([[1.01, -0.01], [0.25, 0.75]], "negative entries, down to -0.01"),
        ([[0.75, 0.23], [0.25, 0.75]], "sums from 0.98 to 1"),
    ],
)
def test_what_makes_a_matrix_a_channel_is_noted(channel: Any, words: str) -> None:
    notes = lo.Mechanism.private(channel, lo.PureLDP(6.0)).notes
    assert any(words in note for note in notes)
    assert len(lo.Mechanism.private([[0.75, 0.25], [0.25, 0.75]], lo.PureLDP(6.0)).notes) == 1


def test_points_are_refused_before_a_solver_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(*_: Any, **__: Any) -> Any:
        raise AssertionError("a solver ran")

    monkeypatch.setattr("ldpopt.studies.literature.methods.solve", solve)
    for points in ([(0, 0)], [(0, 0), (0, 0)], "far", np.eye(3)):
        with pytest.raises(LdpoptError):
            lo.compare(PROBLEM, points=points)


def test_what_unlisted_reports_without_a_bound_rule_out_is_not_known() -> None:
    class Unlisted:
        inputs = ("no", "yes")
        odds = None

    with refused("unlisted-reports", errors.NotRepresentableError):
        revealed_by(Unlisted())  # type: ignore[arg-type]


def test_orders_beyond_floats_leak_no_warning() -> None:
    curve = accounting.compose([COIN])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert curve.renyi(1e308) == pytest.approx(np.log(3), abs=1e-9)


def test_solvers_are_found() -> None:
    assert isinstance(lo.solvers.find("highs"), Solver)
    assert nx.is_connected(neighbors.cayley(5, {1, 2}))
