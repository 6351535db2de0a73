"""Certificates of designs before the independent checker: what is claimed, stated or multiplied beyond the proof."""

from __future__ import annotations

import copy
import functools
import json
import tempfile
from fractions import Fraction as F
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check_designs as designs
from checker_cases import refused
from ldpopt_check import UNIT, S, power


def dot(left: Any, right: Any) -> Any:
    return sum(a * b for a, b in zip(left, right, strict=True))


def form_of(matrix: Any, v: Any) -> Any:
    return dot(v, [dot(row, v) for row in matrix])


MADE: dict[str, tuple[Any, dict[str, Any]]] = {
    "form": (lo.Workload.prefix(3), {"weights": [0.5, 0.25, 0.25]}),
    "worst": (lo.Workload.prefix(3), {"objective": "worst_case"}),
    "same": (lo.Workload([[1, 1, 0, 0.5], [0, 0, 2, 0.25]]), {}),
    "mean": (lo.Workload.mean(range(21)), {"gap": 0.02}),
    "product": (lo.Workload.marginals({"a": range(2), "b": range(3), "c": range(4)}, 2), {}),
    "alike": (lo.Workload.marginals({"a": range(3), "b": range(7)}, 1), {"objective": "worst_case"}),
}
CASES = list(MADE)
JUST = 1 + F(1, 2**100)


@functools.cache
def text_of(name: str) -> str:
    """Certificate of a small design."""
    workload, options = MADE[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.json"
        lo.design(workload, lo.PureLDP("log(3)"), **options).certificate.save(path)
        return path.read_text()


@pytest.fixture
def data(name: str) -> Any:
    return json.loads(text_of(name))


@pytest.mark.parametrize("name", CASES)
def test_claims_may_not_be_better_than_what_is_proved(data: Any, name: str) -> None:
    text, proved, gap = designs.check_design(data)
    value = proved + gap
    assert text == f"{data['objective']} variance {float(value):.15g}"
    off = value / 2**100
    for key, at, sign in (("achieved", value, -1), ("bound", max(proved, 0), 1)):
        assert not refused(designs.check_design, {**data, key: str(at + sign * off)})
        assert refused(designs.check_design, {**data, key: str(at + sign * JUST * off)})


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_variance_and_the_bound_is_below_every_estimator(data: Any, name: str) -> None:
    """The variance of the best unbiased estimator of the same channel, in floats, is no larger and hardly smaller."""
    _, proved, gap = designs.check_design(data)
    wanted, weights = np.array(data["workload"], float), np.array(data["weights"], float)
    channel, weights = np.array(data["masses"], float) / UNIT, weights / weights.sum()
    centered = wanted - (wanted @ weights)[:, None]
    frequency = weights @ channel
    scaled = channel / np.sqrt(frequency)
    inverse = np.linalg.pinv(scaled.T @ np.eye(len(weights)))
    estimator = centered @ np.linalg.lstsq((scaled @ scaled.T), scaled, rcond=1e-9)[0] / np.sqrt(frequency)
    assert inverse.size
    second = (estimator**2).sum(axis=0) @ channel.T
    variance = second - (centered**2).sum(axis=0)
    found = weights @ variance if data["objective"] == "average" else variance.max()
    assert float(proved + gap) == pytest.approx(found, rel=1e-4)
    assert 0 <= float(gap) <= (0.02 if name in ("mean", "alike") else 1e-5) * found


def changed(data: Any, *path: Any, to: Any) -> Any:
    """A copy with another value, or a function of the old one."""
    data = copy.deepcopy(data)
    table = data
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = to(table[path[-1]]) if callable(to) else to
    return data


def times(factor: float) -> Any:
    return lambda part: [times(factor)(entry) for entry in part] if isinstance(part, list) else part * factor


@pytest.mark.parametrize("name", CASES)
def test_a_mechanism_that_spends_more_or_another_statement_is_refused(data: Any, name: str) -> None:
    for path, value in (
        (["privacy", "epsilon"], 1.09),
        (["privacy", "kind"], "approximate"),
        (["format"], "ldpopt design certificate 1"),
        (["objective"], "other"),
        (["proof"], "other"),
        (["extra"], 1),
        (["weights", 0], -1.0),
        (["weights", 0], -0.01),
        (["weights"], times(0.0)),
        (["left_inverse"], times(0.0)),
        (["left_inverse"], times(1.01)),
        (["inputs", 0], data["inputs"][1]),
        (["names"], [["x"]] * len(data["names"]) if len(data["names"]) > 1 else "x"),
        (["masses", 0], data["masses"][-1]),
        (["masses"], data["masses"][:-1]),
        (["workload", 0, 0], lambda old: old + 3.0),
    ):
        assert refused(designs.check_design, changed(data, *path, to=value)), path


WRONG: dict[str, list[Any]] = {
    "form": [(["line"], times(0.999)), (["line", 1], lambda old: old - 0.1), (["inverse"], times(1.01))],
    "same": [(["line"], times(0.999)), (["inverse"], times(1.01))],
    "worst": [(["line"], times(0.999)), (["inverse"], times(1.01)), (["weights"], [1.0, 0.0, 0.0])],
    "mean": [
        (["line"], times(0.97)),
        (["slope"], times(1.02)),
        (["values", 0], times(1.0001)),
        (["numbers"], times(1.0001)),
        (["numbers", 3], times(2)),
        (["workload"], [[float(x * x) for x in range(21)]]),
        (["workload"], [[float(x) for x in range(21)], [0.0] * 20 + [1.0]]),
        (["left_inverse", 0, 0], times(3)),
    ],
    "product": [
        (["eigenvalues"], times(1.001)),
        (["level"], times(0.999)),
        (["sizes"], [4, 3, 2]),
        (["sizes"], [24]),
        (["sizes"], [2, 3, 4, 1]),
    ],
    "alike": [(["eigenvalues"], times(1.001)), (["level"], times(0.999)), (["sizes"], [7, 3]), (["sizes"], [21])],
}


@pytest.mark.parametrize("name", CASES)
def test_multipliers_that_prove_too_much_are_refused(data: Any, name: str) -> None:
    modest = {**data, "achieved": str(10**9), "bound": "0"}  # no claim is wrong, only the proof
    assert not refused(designs.check_design, modest)
    for path, value in WRONG[name]:
        assert refused(designs.check_design, changed(modest, *path, to=value)), path
    if name == "same":
        assert data["masses"][0] == data["masses"][1] != data["masses"][2]
        with pytest.raises(designs.ClaimError, match="does not tell apart"):
            designs.Design(changed(data, "masses", 1, to=data["masses"][2]))
    with pytest.raises(ValueError, match="weights"):
        designs.Design(changed(data, "weights", 0, to=-0.01))
    if name in ("mean", "form", "same", "worst"):
        _, bound, _ = designs.check_design(data)
        weaker = changed(changed(data, "line", to=times(1.5)), "bound", to="0")
        _, other, _ = designs.check_design(weaker)
        assert other < bound


NUMBERS, SQUARES, LAST = [float(x) for x in range(21)], [float(x * x) for x in range(21)], [0.0] * 20 + [1.0]


@pytest.mark.parametrize("wanted", [[SQUARES], [NUMBERS, SQUARES], [NUMBERS, LAST]])
def test_a_workload_is_of_multiples_of_the_numbers_in_every_entry(wanted: Any) -> None:
    modest = {**json.loads(text_of("mean")), "achieved": str(10**9), "bound": "0"}
    with pytest.raises(designs.ClaimError, match="not of multiples of the numbers"):
        designs.check_design({**modest, "workload": wanted, "names": [str(x) for x in range(len(wanted))]})


FANO = [{x % 7, (x + 1) % 7, (x + 3) % 7} for x in range(7)]
SWAPPED = [{{0: 1, 1: 0}.get(x, x) for x in line} for line in FANO]


@pytest.mark.parametrize("lines, alike", [(FANO, True), (SWAPPED, False)])
def test_only_answers_that_a_turn_takes_to_each_other_are_alike(lines: Any, alike: bool) -> None:
    """Seven answers on the lines of a plane: with two names exchanged, a value more takes lines to no lines."""
    high, low = UNIT // 6, UNIT // 24
    rows = [[high if x in line else low for line in lines] for x in range(7)]
    for objective in ("average", "worst_case"):
        design = a_statement([[0]], rows, [[6 * (x == z) - (x != z) for z in range(7)] for x in range(7)], [1] * 7)
        design.objective, design.base, design.spread, design.estimates = objective, S // 4, F(0), lambda: None
        if alike or objective == "average":
            assert designs.by_product(design, [7], [0.0, 0.0], 1.0)[1] == -7
        else:
            with pytest.raises(ValueError, match="not seen to be alike"):
                designs.by_product(design, [7], [0.0, 0.0], 1.0)


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("base", [S // 1000, S // 3, S - S // 9])
def test_the_level_of_a_product_is_the_largest_cost_of_a_set(n: int, base: int) -> None:
    """``n |u|^2 / (1.u)^2 - 1`` for ``u = b + (1 - b) 1_A``: a single answer costs most where ``b`` is small."""
    rows = [[3 * UNIT // 4 if x == y else UNIT // (4 * (n - 1)) for y in range(n)] for x in range(n)]
    design = a_statement([[0]], rows, [[n * (x == z) - 1 for z in range(n)] for x in range(n)], [1] * n)
    design.base, design.spread, design.estimates = base, F(0), lambda: None
    costs, b = [], F(base, S)
    for size in range(1, n):
        u = [F(1)] * size + [b] * (n - size)
        costs.append(n * (dot(u, u) - sum(u) ** 2 / F(n)) / sum(u) ** 2)
    least = max(costs) * F(n, 7)  # the form has the eigenvalue n / 7 where answers differ
    level = float(least)
    for number in (level, float(np.nextafter(level, 9e9)), float(np.nextafter(level, 0.0))):
        assert refused(designs.by_product, design, [n], [0.0, 1.0], number) == (F(number) < least)


def a_statement(left: Any, rows: Any, gram: Any, r: Any, objective: str = "average") -> Any:
    """A design's parts, by hand."""
    design = SimpleNamespace(
        c=len(rows), objective=objective, r=r, total=sum(r), gram=gram, unit=F(1, 7), rows=rows, left=left
    )
    for name in ("over_answers", "error", "estimates"):
        setattr(design, name, functools.partial(getattr(designs.Design, name), design))
    return design


@pytest.mark.parametrize("objective", ["average", "worst_case"])
def test_the_variance_of_an_exact_left_inverse_is_its_formula_and_of_another_one_above(objective: str) -> None:
    rows = [[UNIT // 2, UNIT // 2, 0], [UNIT // 4, UNIT // 4, UNIT // 2]]
    plain = [[F(1), F(3), F(-2)], [F(0), F(0), F(2)]]  # its product with the channel is the identity
    gram, r = [[3, -1], [-1, 2]], [3, 1]
    left = [[int(entry * S) for entry in row] for row in plain]
    design = a_statement(left, rows, gram, r, objective)
    assert design.error() == [[0, 0], [0, 0]] or plain
    inverse = [[F(1), F(1), F(-1)], [F(0), F(0), F(2)]]
    design = a_statement([[int(entry * S) for entry in row] for row in inverse], rows, gram, r, objective)
    assert design.error() == [[0, 0], [0, 0]]
    design.estimates()
    columns = list(zip(*inverse, strict=True))
    second = [sum(F(row[y], UNIT) * form_of(gram, column) for y, column in enumerate(columns)) / 7 for row in rows]
    spread = [F(gram[x][x], 7) for x in range(2)]
    each = [a - b for a, b in zip(second, spread, strict=True)]
    exact = dot([F(3, 4), F(1, 4)], each) if objective == "average" else max(each)
    assert designs.variance(design) == exact
    design.left[0][0] += S >> 30
    above = designs.variance(design)
    assert exact < above < exact + F(1, 2**20)
    design.left[0][1] += S >> 4
    off, grams = np.array(design.error(), float), np.array(gram, float) / 7
    lost = np.sqrt((off * (grams @ off)).sum()) / (1 - np.sqrt((off**2).sum()))
    estimator = np.array([[float(F(entry, S)) for entry in row] for row in design.left])
    channel = np.array(rows, float) / UNIT
    pairs = zip(channel @ np.diag(estimator.T @ grams @ estimator), channel @ (estimator**2).sum(axis=0), strict=True)
    second, plain, least = np.array([[a, b, grams[x, x]] for x, (a, b) in enumerate(pairs)]).T
    if objective == "average":
        second, plain, least = (np.array([part @ [0.75, 0.25]]) for part in (second, plain, least))
    told = ((np.sqrt(second) + lost * np.sqrt(plain)) ** 2 - least).max()
    assert float(designs.variance(design)) == pytest.approx(told, rel=1e-12)
    design.left[0][0] += 2 * S
    assert refused(design.estimates)
    assert refused(designs.variance, design)


def test_averages_and_the_largest() -> None:
    design = a_statement([[0]], [[UNIT]], [[1]], [3, 1])
    assert design.over_answers([F(1), F(5)]) == 2
    design.objective = "worst_case"
    assert design.over_answers([F(1), F(5)]) == 5


def test_a_statement_is_centered_and_merged() -> None:
    """Answers that the workload does not tell apart are one answer with both weights."""
    data = json.loads(text_of("same"))
    data["workload"] = [[1.0, 1.0, 0.0, 0.5], [0.0, 0.0, 2.0, 0.25]]
    design = designs.Design(data)
    assert (design.c, design.total) == (3, 4 * (design.r[0] // 2))
    weights = [F(1, 2), F(1, 4), F(1, 4)]
    wanted = [[F(1), F(0)], [F(0), F(2)], [F(1, 2), F(1, 4)]]
    mean = [dot(weights, column) for column in zip(*wanted, strict=True)]
    centered = [[a - b for a, b in zip(row, mean, strict=True)] for row in wanted]
    gram = [[dot(one, two) for two in centered] for one in centered]
    assert [[entry * design.unit for entry in row] for row in design.gram] == gram
    assert design.spread == sum(w * gram[x][x] for x, w in enumerate(weights))
    assert design.base == power("log(3)", 1)[2]
    assert len(design.left) == len(design.rows) == 3
