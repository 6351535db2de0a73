"""Entries of certificate files at the ends of what is allowed, and simplex forms and claims by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.certificate import Certificate
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.documents import Entry
from ldpopt.solvers import Outcome, Status
from ldpopt.solving import gap_check
from ldpopt.solving.exact.simplex import StandardForm, canonical_form, improve
from ldpopt.solving.formulation import _pairwise_size, formulate, program_of_pairs, size
from ldpopt.solving.methods.method import RawSolution


def entry(value: Any) -> Entry:
    return Entry(value, "file", "key")


def test_whole_numbers_from_nought_to_below_the_end() -> None:
    assert [entry(value).whole(3) for value in (0, 2)] == [0, 2]
    for wrong in (-1, 3, 1.0, True, "1"):
        with pytest.raises(ModelFileError, match="integer from 0 to 2"):
            entry(wrong).whole(3)
    assert entry([[0, 4], [4, 1]]).counts(2, 2, 4).tolist() == [[0, 4], [4, 1]]
    for wrong in ([[0, 5]], [[-1, 2]], [[1]], [[1, 2, 3]], [[1, 2], [3, 4]], [[True, 1]], [[1.0, 1]], 3, [3]):
        with pytest.raises(ModelFileError):
            entry(wrong).counts(1, 2, 4)


@pytest.mark.parametrize("wrong", [[1.0, float("nan")], [1.0, float("inf")], [1.0], [1.0, "1"], [1, True], "ab", None])
def test_vectors_are_of_finite_numbers(wrong: Any) -> None:
    assert entry([1.0, -2.5]).numbers(2).tolist() == entry([1, -2.5]).numbers(2).tolist() == [1.0, -2.5]
    with pytest.raises(ModelFileError):
        entry(wrong).numbers(2)
    with pytest.raises(ModelFileError):
        entry([[1.0, 2.0], wrong]).numbers(2, 2)


def test_hexadecimals_and_rationals_have_a_usable_size() -> None:
    assert entry("-0x1.8p+1").hexadecimal() == -3.0
    assert entry("0x1p-1074").hexadecimal() == 5e-324
    for wrong in ("0x1p+1024", "0x2p+0", "1.5", "0x1p+1101", 1.0, "inf"):
        with pytest.raises(ModelFileError):
            entry(wrong).hexadecimal()
    assert entry("-3/4").rational() == F(-3, 4)
    for wrong in ("1/0", "1" + "0" * 400, "0.5", "1e3", 1, " 1"):
        with pytest.raises(ModelFileError):
            entry(wrong).rational()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("x" * 58, repr("x" * 58)),
        ("x" * 59, repr("x" * 59)[:56] + " ..."),
        ([1], "list"),
        (3.5, "3.5"),
        (None, "NoneType"),
    ],
)
def test_what_stands_there_is_shown_in_60_characters(value: Any, told: str) -> None:
    assert entry(value)._shown() == told
    with pytest.raises(ModelFileError) as caught:
        entry(value).whole(1)
    assert caught.value.what == f"{told} should be an integer from 0 to 0"


def test_missing_and_unknown_keys_are_named() -> None:
    assert list(entry({"a": 1, "b": 2}).table("a", "b")) == ["a", "b"]
    for wrong, words in (
        ({"a": 1}, "'b' is missing"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, "unknown key 'c'"),
        ([], "obj"),
    ):
        with pytest.raises(ModelFileError, match=words):
            entry(wrong).table("a", "b")


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    path = tmp_path / "proof.json"
    problem = lo.Problem([0.5, 0.5], "identity", lo.PureLDP("log(3)"), inputs=["a", "b"])
    lo.certify(lo.solve(problem, form="pairwise")).save(path)
    return path, json.loads(path.read_text())


def test_multipliers_are_positive_and_masses_sum_to_one(saved: Any) -> None:
    path, data = saved
    assert Certificate.load(path).recheck() == ()
    rows = data["multipliers"]["privacy"]
    assert rows
    for number in ("0x0.0p+0", "-0x1p-1074", "-0x1p-1"):
        data["multipliers"]["privacy"] = [*rows, [0, 1, [0], number]]
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError):
            Certificate.load(path)
    data["multipliers"]["privacy"] = [[0, 1, [0], "0x1p-1074"], *rows]
    path.write_text(json.dumps(data))
    assert Certificate.load(path)
    first = data["mechanism"]["masses"][0]
    for wrong in ([first[0] + 1, first[1]], [first[0] - 1, first[1]], [2**53 + 1, -1], [2**54, 0]):
        data["mechanism"]["masses"][0] = wrong
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError, match=r"masses"):
            Certificate.load(path)


def test_labels_in_files_are_text_or_numbers(saved: Any) -> None:
    path, data = saved
    data["statement"]["inputs"] = data["statement"]["outputs"] = ["a", 1]
    path.write_text(json.dumps(data))
    assert Certificate.load(path).problem.inputs == ("a", 1)
    for wrong in (True, None, [None], {}):
        data["statement"]["inputs"] = ["a", wrong]
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError):
            Certificate.load(path)


def test_a_form_has_one_length_of_rows_and_costs() -> None:
    good = (((F(1), F(2)),), (F(1),), (F(1), F(1)), ("a", "b"))
    assert StandardForm(*good).shape == (1, 2)
    for place, wrong in ((0, ((F(1),),)), (0, ()), (1, ()), (2, (F(1),)), (3, ("a", "a"))):
        changed: Any = [*good]
        changed[place] = wrong
        with pytest.raises(StatementError):
            StandardForm(*changed)


def form(cost: Any, rows: Any, right: Any) -> StandardForm:
    exact = tuple(tuple(map(F, row)) for row in rows)
    return StandardForm(exact, tuple(map(F, right)), tuple(map(F, cost)), tuple("abcdefgh"[: len(cost)]))


def test_degenerate_means_that_a_basic_variable_is_nought() -> None:
    assert canonical_form(form([1, 0], [[1, 1]], [0]), ["a"]).is_degenerate
    assert not canonical_form(form([1, 0], [[1, 1]], [1]), ["a"]).is_degenerate


@pytest.mark.parametrize("seed", range(30))
def test_pivots_from_any_basis_end_at_the_best_vertex(seed: int) -> None:
    """Against all bases, one by one: the optimum, or none where no basis is feasible."""
    from itertools import combinations

    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 4))
    free = rng.integers(-3, 4, (rows, 3))
    matrix = np.concatenate([free, np.eye(rows, dtype=int)], axis=1).tolist()
    matrix = [[*row, 0] for row in matrix] + [[1] * 3 + [0] * rows + [1]]  # bounded
    right = [*rng.integers(-3, 4, rows).tolist(), 5]
    made = form([*rng.integers(-4, 5, 3).tolist()] + [0] * (rows + 1), matrix, right)
    best, start = None, None
    for basis in combinations(range(rows + 4), rows + 1):
        try:
            table = canonical_form(made, basis)
        except StatementError:
            continue
        start = start or table
        if table.is_feasible:
            best = table.objective if best is None else max(best, table.objective)
    assert start is not None
    if best is None:
        with pytest.raises(lo.errors.InfeasibleError):
            improve(start)
        return
    found = improve(start)
    assert found.is_optimal
    assert found.objective == best


PROGRAM = formulate(lo.Problem([0.5, 0.5], "identity", lo.PureLDP("log(3)")), "pairwise")


def raw(duals: Any, *, status: Any = Status.OPTIMAL) -> Any:
    point = np.array([0.75, 0.25, 0.25, 0.75, *([0.0] * (PROGRAM.shape[1] - 4))])
    outcome = Outcome(status, "Optimal", point, np.array(duals, float))
    return RawSolution(PROGRAM, outcome, np.array([[0.75, 0.25], [0.25, 0.75]]), 1, "highs")


@pytest.mark.parametrize("most", [0, 10**9])
def test_what_multipliers_prove_decides_whether_it_is_optimal(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row sums priced at 3/8 prove 3/4; a price of ``d`` more proves ``d`` more, in floats and in integers."""
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", most)
    problem = lo.Problem([0.5, 0.5], "identity", lo.PureLDP("log(3)"))
    solution = lo.solve(problem, form="pairwise", solver="highs")
    assert solution.outcome is not None
    assert solution.outcome.row_duals is not None
    best = np.asarray(solution.outcome.row_duals)
    at = {span.name: span for span in PROGRAM.rows}["row_sum"].start

    def status(duals: Any, gap: float, **changes: Any) -> Status:
        measured = gap_check.repair_and_measure(replace(raw(duals), **changes), problem)
        found: Status = gap_check.check_gap(measured, gap).outcome.status
        return found

    assert status(best, 1e-12) is Status.OPTIMAL
    multipliers = {span.name: best[span.slice] for span in PROGRAM.rows}["privacy"].max()
    off = best.copy()
    off[at] += 0.01
    more = best.copy()
    more[best == multipliers] *= 1 + 1e-5  # what rows of privacy cost more
    assert status(more, 1e-7) is Status.FAILED
    assert status(more, 1e-4) is Status.OPTIMAL
    assert status(off[:-1], 0.0) is Status.OPTIMAL  # other rows: nothing is known
    assert status(best, 0.3, channel=np.full((2, 2), 0.5)) is Status.FAILED
    assert status(best, 0.34, channel=np.full((2, 2), 0.5)) is Status.OPTIMAL
    assert gap_check.bound_in_floats(PROGRAM, best, raw(best).outcome.point) == pytest.approx(0.75, abs=1e-12)
    assert gap_check.bound_in_floats(PROGRAM, off, raw(best).outcome.point) == pytest.approx(0.76, abs=1e-12)


def test_infinite_sides_stand_at_the_point_and_a_little_beyond() -> None:
    def most(*given: Any) -> float:
        with np.errstate(invalid="ignore"):
            return gap_check._largest_sum(*given)

    one, zero, infinite = np.array([2.0]), np.array([0.0]), np.array([np.inf])
    assert most(one, -infinite, np.array([3.0]), zero) == 6.0
    assert most(-one, np.array([-4.0]), infinite, zero) == 8.0
    assert most(one, zero, infinite, np.array([5.0])) == 2 * 5 + 2 * 5
    assert most(one, zero, infinite, np.array([0.5])) == 2 * 0.5 + 2
    assert most(-one, -infinite, zero, np.array([-3.0])) == 6 + 6
    assert most(zero, -infinite, infinite, np.array([5.0])) == 0.0


@pytest.mark.parametrize("notion", [lo.PureLDP(1.0), lo.UtilityOptimizedLDP(1.0, [0]), lo.OneSided(1.0, [1])])
@pytest.mark.parametrize("kind", ["compact", "pairwise"])
@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_counts_of_a_form_are_those_of_its_program(notion: Any, kind: Any, objective: Any) -> None:
    prior = [0.5, 0.3, 0.2] if objective == "expected" else None
    problem = lo.Problem(prior, np.eye(3), notion, objective=objective)
    counted, program = size(problem, kind), formulate(problem, kind)
    assert (counted.rows, counted.columns) == program.shape
    assert counted.nonzeros >= len(program.value)


def test_a_program_of_all_pairs_and_outputs_is_the_pairwise_one() -> None:
    problem = lo.Problem([0.5, 0.3, 0.2], "identity", lo.PureLDP(1.0))
    whole = formulate(problem, "pairwise")
    ties = problem.ties()
    assert ties is not None
    first, second = (np.repeat(inputs, 3) for inputs in ties.pairs())
    some = program_of_pairs(problem, first, second, np.tile(np.arange(3), 6), np.full(18, ties.ratio(up=False)))
    dense = [{tuple(row) for row in program.matrix.toarray().round(12).tolist()} for program in (whole, some)]
    assert dense[0] == dense[1]
    assert _pairwise_size(None, 3, 2) == (18, 30)
