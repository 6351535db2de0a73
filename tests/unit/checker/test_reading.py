"""What the independent checker reads and audits, at the tightest case: one unit more is refused."""

from __future__ import annotations

from decimal import Context
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpopt_check as checker
from checker_cases import EPS, refused, tabled
from ldpopt_check import UNIT, ClaimError, Notion, S, double, labels, masses, power
from tampering import NUMBERS


def is_private(
    table: dict[str, Any], rows: list[list[int]], inputs: str = "abc", outputs: Any = None
) -> bool:
    """Whether masses pass the audit of a notion."""
    outputs = [f'"{y}"' for y in (outputs if outputs is not None else range(len(rows[0])))]
    notion = Notion(table, [f'"{x}"' for x in inputs[: len(rows)]], outputs)
    try:
        notion.audit(rows)
    except ClaimError:
        return False
    return True


def test_numbers_are_read_exactly_and_other_values_are_refused() -> None:
    assert [double(1), double(-0.5), double("0x1.8p+1"), double(5e-324)] == [S, -S // 2, 3 * S, 1]
    assert double([[0.1, 2]], 1, 2) == [[int(F(0.1) * S), 2 * S]]
    for wrong in (True, None, "1.5", "ff", float("inf"), float("nan"), [1.0], "0xinf"):
        assert refused(double, wrong), wrong
    for wrong, shape in (
        ([1.0], (2,)),
        ([1.0, 1.0], (1,)),
        (1.0, (1,)),
        ([[1.0], [1.0, 2.0]], (2, 1)),
        ("0x1", (3,)),
    ):
        assert refused(double, wrong, *shape), wrong


def test_labels_are_distinct_and_one_is_not_its_text() -> None:
    assert labels([1, "1", 1.5]) == ["1", '"1"', "1.5"]
    assert refused(labels, ["a", "a"])
    assert refused(labels, "ab")


def test_masses_are_whole_and_sum_to_one() -> None:
    half = UNIT // 2
    assert masses([[half, half], [0, UNIT]], 2, 2)
    for wrong in (
        [[half, half]],
        [[half, half], [half, half], [half, half]],
        [[half, half], [UNIT]],
        [[half, half], [half, half, 0]],
        [[half, half], [half, half - 1]],
        [[half, half], [half, half + 1]],
        [[half, half], [-1, UNIT + 1]],
        [[half, half], [float(half), half]],
    ):
        assert refused(masses, wrong, 2, 2), wrong


def test_duplicate_missing_and_unknown_keys_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1, "b": {"c": 1, "c": 2}}')
    assert refused(checker.read, path)
    path.write_text('{"a": 1, "b": {"c": 1}}')
    assert checker.read(path) == {"a": 1, "b": {"c": 1}}
    assert list(checker.keys({"b": 2, "a": 1}, "a b")) == [1, 2]
    for wrong in ({"a": 1}, {"a": 1, "b": 2, "c": 3}, ["a", "b"]):
        assert refused(checker.keys, wrong, "a b")


@pytest.mark.parametrize(
    "stated", [0, 1e-12, 0.3, "0.1", 1.0, "log(3/2)", "ln(7)", 30, 700.0, 744, 745, 2000]
)
@pytest.mark.parametrize("distance", [F(1), F(1, 3), F(5, 2), F(64), F(65)])
def test_powers_are_on_their_sides_and_within_a_unit(stated: Any, distance: F) -> None:
    """``over / under <= e**(epsilon d)`` and ``b <= S e**(-epsilon d)``, by 600 digits, and nearly
    so."""
    digits = Context(prec=600, Emax=99999, Emin=-99999)
    over, under, b = power(stated, distance)
    if isinstance(stated, str) and stated[0] == "l":
        exponent = digits.multiply(
            digits.ln(digits.divide(*F(stated.partition("(")[2][:-1]).as_integer_ratio())), 1
        )
    else:
        exponent = digits.divide(*F(str(stated)).as_integer_ratio())
    exponent = digits.divide(digits.multiply(exponent, distance.numerator), distance.denominator)
    true = F(digits.exp(exponent))
    close = 1 + F(1, 10**390)
    exact = F(over, under)
    assert 1 <= exact <= true * (1 + F(1, 10**590))
    assert exact * close >= min(true, F(digits.exp(750)))
    assert 0 <= b <= S / true * (1 + F(1, 10**590))
    assert b + 2 > S / true / close


def test_a_ratio_is_exact_at_whole_distances() -> None:
    assert power(EPS, 1) == (3, 1, S // 3)
    assert power("log(3)", F(64))[:2] == (3**64, 1)
    assert power(" LN ( 3/2 ) ", F(2))[:2] == (9, 4)
    assert power(0, F(1)) == (1, 1, S)
    low = F(*power(EPS, F(65))[:2])
    high = 3**65
    assert high * (1 - F(1, 10**390)) < low < high


@pytest.mark.parametrize(
    "stated", [-1e-9, "-1", "log(1/2)", "log(0)", "log(-3)", True, None, "nan", "log(3", "x"]
)
def test_values_that_are_not_an_epsilon_are_refused(stated: Any) -> None:
    assert refused(power, stated, F(1))


def test_a_decimal_is_never_on_the_wrong_side() -> None:
    for function in ("ln", "exp"):
        for x in (F(1, 3), F(2), F(700), F(10**30 + 1, 10**30)):
            low = checker.near(function, x, up=False)
            high = checker.near(function, x, up=True)
            digits = Context(prec=600)
            true = F(getattr(digits, function)(digits.divide(x.numerator, x.denominator)))
            assert low < true < high
            assert high - low <= abs(true) / 10**365


@pytest.mark.parametrize(
    ("table", "most", "beyond"),
    [
        (tabled(), [[3, 1], [1, 1]], [[4, 1], [1, 1]]),
        (tabled(), [[1, 1], [1, 3]], [[1, 1], [1, 4]]),
        (tabled(), [[6, 1], [2, 1], [5, 3]], [[7, 1], [2, 1], [5, 3]]),
        (tabled(epsilon="log(3/2)"), [[3], [2]], [[4], [2]]),
        (tabled(), [[0], [0]], [[1], [0]]),
        (tabled("approximate", delta=0.0), [[3, 3], [1, 1]], [[3, 4], [1, 1]]),
        (tabled("approximate", delta=2.0**-53), [[4, 3], [1, 1]], [[5, 3], [1, 1]]),
        (tabled("approximate", delta=2.0**-53), [[4, 2], [1, 1]], [[4, 4], [1, 1]]),
        (tabled("approximate", delta=2.0**-53, form="event"), [[1, 1], [4, 0]], [[1, 1], [4, 4]]),
        (tabled("approximate", delta=2.0**-53, form="entry"), [[4, 4], [1, 1]], [[4, 5], [1, 1]]),
        (tabled("approximate", delta=2.0**-53, epsilon="log(3/2)"), [[4], [2]], [[5], [2]]),
        (tabled("approximate", delta=2.0**-53), [[1], [4]], [[1], [5]]),
        (tabled("graph", edges=[[0, 1], [1, 2]]), [[9], [3], [1]], [[10], [3], [1]]),
        (tabled("graph", edges=[[0, 1], [1, 2]]), [[1], [3], [9]], [[1], [4], [9]]),
        (tabled("graph", edges=[[0, 2]], parts="separate"), [[3], [0], [1]], [[4], [0], [1]]),
        (
            tabled("metric", distance=[[0, 1, 3], [1, 0, 2], [3, 2, 0]]),
            [[27], [9], [1]],
            [[28], [10], [1]],
        ),
        (
            tabled("metric", distance=[[0, 1, 3], [1, 0, 2], [3, 2, 0]]),
            [[1], [3], [27]],
            [[1], [3], [28]],
        ),
        (tabled("metric", distance=[[0, 2], [2, 0]]), [[9], [1]], [[10], [1]]),
        (
            tabled("metric", distance=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
            [[3], [1], [1]],
            [[4], [1], [1]],
        ),
        (tabled("metric", distance=[[0, 5e-324], [5e-324, 0]]), [[1], [1]], [[2], [1]]),
        (tabled("one_sided", sensitive=["a"]), [[3, 0], [1, 9]], [[4, 0], [1, 9]]),
        (tabled("one_sided", sensitive=["a", "c"]), [[3], [9], [1]], [[3], [9], [0]]),
        (tabled("one_sided", sensitive=["b"]), [[9], [3], [1]], [[9], [4], [1]]),
        (tabled("one_sided", sensitive=[]), [[9], [0]], None),
    ],
)
def test_one_unit_more_is_not_private(table: Any, most: Any, beyond: Any) -> None:
    assert is_private(table, most)
    assert beyond is None or not is_private(table, beyond)


def test_reports_of_an_owner_are_his_alone() -> None:
    optimized = tabled("utility_optimized", sensitive=["a"])
    assert is_private(optimized, [[3, 0, 0], [1, 9, 0], [1, 0, 9]], outputs="abc")
    assert not is_private(optimized, [[4, 0, 0], [1, 9, 0], [1, 0, 9]], outputs="abc")
    assert not is_private(optimized, [[3, 1, 0], [1, 9, 0], [1, 0, 9]], outputs="abc")
    assert not is_private(optimized, [[3, 0, 0], [1, 9, 1], [1, 0, 9]], outputs="abc")
    assert not is_private(optimized, [[3, 1, 0], [1, 0, 0], [1, 0, 9]], outputs="abc")
    kept = optimized | {"protected": ["a", "b"]}
    assert is_private(kept, [[3, 3, 0], [1, 9, 0], [1, 3, 9]], outputs="abc")
    assert not is_private(kept, [[3, 2, 0], [1, 9, 0], [1, 3, 9]], outputs="abc")
    assert refused(is_private, optimized | {"protected": ["b"]}, [[1, 1], [1, 1]], "ab", "ab")
    assert refused(is_private, optimized | {"protected": ["a", "z"]}, [[1, 1], [1, 1]], "ab", "ab")
    assert is_private(optimized | {"protected": ["z"]}, [[1, 0], [1, 1]], "ab", "zb")


@pytest.mark.parametrize(
    "table",
    [
        tabled(delta=0.5),
        tabled(sensitive=["a"]),
        tabled("other"),
        tabled("approximate"),
        tabled("approximate", delta=-5e-324),
        tabled("approximate", delta=float(np.nextafter(1, 2))),
        tabled("approximate", delta=0.1, form="pair"),
        tabled("graph", edges=[[0, 1]]),
        tabled("graph", edges=[[0, 1], [0, 2]], parts="other"),
        tabled("graph", edges=[[0, 1], [1, 2], [2, 2]]),
        tabled("graph", edges=[[0, 1], [1, 2], [2, 2]], parts="separate"),
        tabled("graph", edges=[[0, 1], [1, 3]]),
        tabled("graph", edges=[[0, 1], [1, -1]]),
        tabled("metric", distance=[[0, 1, 1], [1, 0, 1], [1, 2, 0]]),
        tabled("metric", distance=[[0, 1, 1], [1, 0, 0], [1, 0, 0]]),
        tabled("metric", distance=[[0, 1, 1], [1, 1, 1], [1, 1, 0]]),
        tabled("metric", distance=[[0, 1, -1], [1, 0, 1], [-1, 1, 0]]),
        tabled("metric", distance=[[0, 1], [1, 0]]),
        tabled("one_sided", sensitive=["z"]),
        tabled("one_sided", sensitive=["a", "a"]),
        tabled("one_sided", sensitive="a"),
        tabled("one_sided"),
    ],
)
def test_an_ill_posed_notion_is_refused(table: Any) -> None:
    assert refused(is_private, table, [[1], [1], [1]])


def test_delta_may_be_zero_or_one() -> None:
    assert is_private(tabled("approximate", delta=1.0), [[UNIT, 0], [0, UNIT]])
    assert not is_private(tabled("approximate", delta=1 - 2.0**-53), [[UNIT, 0], [0, UNIT]])


def test_graphs_by_family_or_by_labels() -> None:
    def edges(n: int, **table: Any) -> Any:
        return checker.edges_of(table, {f'"{x}"': place for place, x in enumerate("abcd"[:n])})

    assert edges(4, neighbors={"kind": "path"}) == [(0, 1), (1, 2), (2, 3)]
    assert edges(4, neighbors={"kind": "cycle"}) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert edges(2, neighbors={"kind": "cycle"}) == edges(2, neighbors={"kind": "path"}) == [(0, 1)]
    assert edges(3, neighbors={"kind": "complete"}) is None
    assert (
        edges(3, neighbors={"edges": [["a", "c"], ["b", "a"]]})
        == edges(3, edges=[[0, 2], [1, 0]])
        == [(0, 2), (1, 0)]
    )
    for wrong in (
        {},
        {"edges": [], "neighbors": {"kind": "path"}},
        {"neighbors": {"edges": [["a", "z"]]}},
    ):
        assert refused(lambda wrong=wrong: edges(3, **wrong))
    for wrong in (
        {"kind": "tree"},
        {"kind": "path", "edges": []},
        {"edges": [["a"]]},
        {},
        [],
        "path",
        None,
    ):
        assert refused(lambda wrong=wrong: edges(3, neighbors=wrong)), wrong
    assert checker.parts_of(5, [(0, 3), (3, 0), (1, 4), (4, 1)]) == [[0, 3], [1, 4], [2]]


def test_a_graph_without_edges_ties_nothing() -> None:
    assert is_private(tabled("graph", edges=[], parts="separate"), [[1, 0], [0, 1]])
    assert not is_private(tabled("graph", neighbors={"kind": "complete"}), [[4, 1], [1, 4]])


def test_one_is_not_true() -> None:
    """Not even where the power of 1 is known already."""
    assert power(1, F(1)) == power(1.0, F(1))
    assert refused(power, True, F(1))


@pytest.mark.parametrize(
    "stated",
    ["1e99999", "log(1e99999)", "log(1e9999)", "9" * 501, "1e-99999", 10001.5, "log(1/0)", "1_0"],
)
def test_an_epsilon_of_absurd_size_is_refused(stated: Any) -> None:
    assert refused(power, stated, F(1))


@pytest.mark.parametrize("text", [*NUMBERS, None, True, 3])
def test_claims_are_fractions(text: Any) -> None:
    assert refused(checker.fraction, text)
    assert [checker.fraction(t) for t in ("3", "-3/4", "0/7")] == [3, F(-3, 4), 0]
