"""Forged certificates under notions that compare averages: the library, the command line and the
checker refuse each of them.

A forgery is made with care: the numbers that the file claims of its masses are computed again, so
that only what was forged is false.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from decimal import Context
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ldpopt as lo
import ldpopt_check as checker
from builders import run_cli, sample_or_all
from genuine import averaged_problems, files
from ldpopt.errors import LdpoptError
from ldpopt.foundation.budget import round_up
from tampering import Data, put

KINDS = averaged_problems()
UNIT = 2**53
Forgery = tuple[str, Data]
Row = tuple[dict[int, Fraction], dict[int, Fraction], Fraction]


def accepted_by(path: Path, data: Data) -> tuple[bool, bool, bool]:
    """Whether the library, the command line and the checker accept a file."""
    path.write_text(json.dumps(data))
    try:
        own = not lo.Certificate.load(path).recheck()
    except LdpoptError:
        own = False
    return own, run_cli("certify", path).exit_code == 0, checker.main([str(path)]) == 0


# The definitions once more, by hand, for the inputs a, b, c.


def weights(stated: Any) -> list[Fraction]:
    numbers = [stated[name] for name in "abc"] if isinstance(stated, dict) else stated
    exact = [Fraction(str(number)) for number in numbers]
    return [number / sum(exact) for number in exact]


def ratio_of(epsilon: Any) -> Fraction:
    """``e**epsilon`` to 60 digits."""
    text = str(epsilon)
    if text.startswith("log"):
        return Fraction(text[4:-1])
    number = Fraction(text)
    context = Context(prec=60)
    return Fraction(context.exp(context.divide(number.numerator, number.denominator)))


def rows_of(privacy: Data, prior: list[float]) -> list[Row]:
    """Averages over and under, and ``e**epsilon``, of each comparison."""
    unit = [{x: Fraction(1)} for x in range(3)]

    def part(numbers: list[Fraction]) -> dict[int, Fraction]:
        return {x: number for x, number in enumerate(numbers) if number}

    kind = privacy["kind"]
    if kind in ("leakage", "information"):
        stated = privacy.get("prior")
        exact = [Fraction(p) for p in prior]
        mean = part(weights(stated) if stated else [p / sum(exact) for p in exact])
        epsilon = ratio_of(privacy["epsilon"])
        up: list[Row] = [(row, mean, epsilon) for row in unit]
        return up + [(mean, row, epsilon) for row in unit if kind == "information"]
    if kind == "secrets":
        laws = {name: part(weights(row)) for name, row in privacy["secrets"].items()}
        pairs = privacy.get("pairs") or [[s, t] for s in laws for t in laws if s != t]
        return [(laws[s], laws[t], ratio_of(privacy["epsilon"])) for s, t in pairs]
    if kind == "pairwise":
        table = [("abc".index(x), "abc".index(k), ratio_of(e)) for x, k, e in privacy["table"]]
        return [(unit[x], unit[k], ratio) for x, k, ratio in table]
    if kind == "cone":
        both = [(bound["over"], bound["under"], bound["epsilon"]) for bound in privacy["bounds"]]
        return [
            (
                part(weights(dict.fromkeys("abc", 0) | over)),
                part(weights(dict.fromkeys("abc", 0) | under)),
                ratio_of(epsilon),
            )
            for over, under, epsilon in both
        ]
    if kind == "all":
        return [row for notion in privacy["notions"] for row in rows_of(notion, prior)]
    assert kind in ("pure", "utility_optimized"), f"add the definition of {kind!r}"
    epsilon = ratio_of(privacy["epsilon"])
    return [(unit[x], unit[k], epsilon) for x in range(3) for k in range(3) if x != k]


def excess(row: Row, column: list[int]) -> float:
    """By how many units a column is above a comparison."""
    over, under, ratio = row
    top = sum(weight * column[x] for x, weight in over.items())
    return float(top - ratio * sum(weight * column[x] for x, weight in under.items()))


def with_value(data: Data) -> Data:
    """The file with the value and the gap of its masses; its bound is that of the file."""
    statement, claim = data["statement"], data["claim"]
    value = sum(
        (
            Fraction(p) * Fraction(worth) * Fraction(mass, UNIT)
            for p, worths, masses in zip(
                statement["prior"], statement["utility"], data["mechanism"]["masses"], strict=True
            )
            for worth, mass in zip(worths, masses, strict=True)
        ),
        Fraction(0),
    )
    gap = Fraction(claim["bound"]) - value
    stake = sum(Fraction(p) for p in statement["prior"])
    scale = max(abs(Fraction(claim["bound"])), stake / 100)
    relative = round_up(gap / scale)
    claim |= {"achieved": str(value), "gap": str(gap), "relative_gap": relative.hex()}
    return data


def tight_ones(data: Data) -> Iterator[Forgery]:
    """A few units of mass more for what a comparison bounds, in each column where it is tight."""
    masses = data["mechanism"]["masses"]
    statement = data["statement"]
    owned = {2} if "sensitive" in json.dumps(statement["privacy"]) else set()
    rows = rows_of(statement["privacy"], statement["prior"])
    for r, row in enumerate(rows):
        for y in set(range(3)) - owned:
            column = [masses[x][y] for x in range(3)]
            if not any(column) or excess(row, column) < -100:
                continue
            assert excess(row, column) <= 0
            x = max(row[0], key=lambda x: row[0][x] - row[2] * row[1].get(x, 0))
            more = 1
            while excess(row, [column[k] + more * (k == x) for k in range(3)]) <= 0:
                more += 1
                assert more < 10**4
            other = copy.deepcopy(data)
            source = max(set(range(3)) - {y}, key=lambda k: masses[x][k])
            other["mechanism"]["masses"][x][y] += more
            other["mechanism"]["masses"][x][source] -= more
            yield f"{more} more of {x} in column {y}, comparison {r}", with_value(other)


def of_multipliers(data: Data) -> Iterator[tuple[str, Any]]:
    """Multipliers that belong to nothing, or twice to one comparison."""
    rows = data["multipliers"]["privacy"]
    place = ("multipliers", "privacy", 0)
    count = len(rows_of(data["statement"]["privacy"], data["statement"]["prior"]))
    if len(data["statement"]["privacy"].get("notions", ())) and "sensitive" in json.dumps(data):
        yield "of an owned report", put([*rows, [0, [2], "0x1.0p-9"]], "multipliers", "privacy")
    for r in (count, count + 5, -1, True, 0.0, "0", None, [0]):
        yield f"comparison {r}", put(r, *place, 0)
    for event in ([], [3], [-1], [0, 1], [True], [0.0], 0, None, ["0"]):
        yield f"outputs {event}", put(event, *place, 1)
    for value in ("-0x1.0p-3", "0x0.0p+0", 0.5, "0.5", None, "0x1.0p+1025", "1"):
        yield f"multiplier {value}", put(value, *place, 2)
    yield "twice", put([*rows, rows[0]], "multipliers", "privacy")
    yield "twice with another number", put([*rows, [*rows[0][:2], "0x1.0p-30"]], *place[:2])
    yield "an entry more", put([*rows[0], 0], *place)
    yield "an entry less", put(rows[0][:2], *place)
    yield "as of pairs", put([0, 1, [0], rows[0][2]], *place)
    yield "an object", put({"0": rows[0]}, "multipliers", "privacy")
    yield "the compact form", put("compact", "multipliers", "form")
    yield "none", put([], "multipliers", "privacy")
    yield "doubled", put(lambda text: (2 * float.fromhex(text)).hex(), *place, 2)


def tables(privacy: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Where the objects of a notion stand that have a meaning of their own."""
    if isinstance(privacy, dict):
        yield path
        for key in ("notions", "bounds"):
            for k, part in enumerate(privacy.get(key, ())):
                yield from tables(part, *path, key, k)


def of_statements(data: Data) -> Iterator[tuple[str, Any]]:
    """Other budgets and priors, averages that are none, keys that nobody reads, missing keys."""
    for path in tables(data["statement"]["privacy"], "statement", "privacy"):
        table = data
        for key in path:
            table = table[key]
        yield f"{path}: an unread key", put(1, *path, "more")
        for key in table:
            if key != "pairs" and (key != "prior" or "epsilon" not in table):
                yield f"{path}: no {key}", without(*path, key)
        if "epsilon" in table:
            for epsilon in (0, -1, "0", "log(1)", "log(1/2)", None, True, [1], "", "1e999", 10001):
                yield f"{path}: epsilon {epsilon}", put(epsilon, *path, "epsilon")
            yield f"{path}: epsilon more", put("3", *path, "epsilon")
            yield f"{path}: epsilon less", put("1/100", *path, "epsilon")
        if "kind" in table:
            for kind in ("other", "", None, "approximate", "PML", ["leakage"]):
                yield f"{path}: kind {kind}", put(kind, *path, "kind")
        for side in ("prior", "over", "under"):
            if side in table:
                yield from of_weights(f"{path}: {side}", *path, side)
        for name in table.get("secrets", ()):
            yield from of_weights(f"{path}: {name}", *path, "secrets", name)
    yield from of_kinds(data["statement"]["privacy"], "statement", "privacy")


def without(*path: Any) -> Any:
    def change(data: Data) -> None:
        table: Any = data
        for key in path[:-1]:
            table = table[key]
        del table[path[-1]]

    return change


def of_weights(what: str, *path: Any) -> Iterator[tuple[str, Any]]:
    """Weights that are no average."""
    for name, value in {
        "nothing": {},
        "numbers that do not sum to 1": [0.5, 0.3, 0.3],
        "too few numbers": [0.5, 0.5],
        "all 0": {"a": 0, "b": 0, "c": 0},
        "a negative one": {"a": 2, "b": -1, "c": 1},
        "an unknown label": {"a": 1, "b": 1, "c": 1, "d": 1},
        "a label twice": [["a", 1], ["b", 1], ["c", 1], ["a", 1]],
        "true": {"a": True, "b": 1, "c": 1},
        "no number": {"a": "x", "b": 1, "c": 1},
        "a division by 0": {"a": "1/0", "b": 1, "c": 1},
        "text": "abc",
    }.items():
        yield f"{what}: {name}", put(value, *path)


def of_kinds(privacy: Data, *path: Any) -> Iterator[tuple[str, Any]]:
    """What belongs to one kind: exchanged secrets, pairs and bounds."""
    kind = privacy["kind"]
    if kind == "secrets":
        for pairs in ([], [["ill"]], [["ill", "ill"]], [["ill", "nobody"]], [["well", "ill"]], "x"):
            yield f"pairs {pairs}", put(pairs, *path, "pairs")
        yield "one secret", put({"ill": [0.5, 0.25, 0.25]}, *path, "secrets")
        names = list(privacy["secrets"])
        for name in names:
            yield f"no secret {name}", put({name: privacy["secrets"][name]}, *path, "secrets")
    if kind == "pairwise":
        table = privacy["table"]
        exchanged = [[k, x, epsilon] for x, k, epsilon in table]
        yield "exchanged pairs", put(exchanged, *path, "table")
        for k, row in enumerate(table):
            yield f"no pair {k}", put([*table[:k], *table[k + 1 :]], *path, "table")
            yield f"pair {k} twice", put([*table, row], *path, "table")
            yield f"pair {k} of one", put([row[0], row[0], row[2]], *path, "table", k)
            yield f"pair {k} of nobody", put(["nobody", *row[1:]], *path, "table", k)
        yield "no pairs", put([], *path, "table")
        yield "budgets", put({"a": 0.5, "b": 1}, *path, "budgets")
    if kind == "cone":
        for k, bound in enumerate(privacy["bounds"]):
            other = bound | {"over": bound["under"], "under": bound["over"]}
            yield f"bound {k} exchanged", put(other, *path, "bounds", k)
        yield "bounds exchanged", put(privacy["bounds"][::-1], *path, "bounds")
        yield "no bounds", put([], *path, "bounds")
    if kind == "all":
        notions = privacy["notions"]
        yield "notions exchanged", put(notions[::-1], *path, "notions")
        yield "one notion", put(notions[:1], *path, "notions")
        delta = {"kind": "approximate", "epsilon": 1.0, "delta": 0.01, "form": "entry"}
        yield "a notion with a delta", put([*notions, delta], *path, "notions")


def forgeries(name: str) -> list[Forgery]:
    data = json.loads(files("program")[name])
    found = list(tight_ones(data))
    assert found, "no column is tight"
    for maker in (of_multipliers, of_statements):
        for what, change in maker(data):
            other = copy.deepcopy(data)
            change(other)
            if other != data:
                found.append((what, other))
    return found


@pytest.mark.parametrize("name", KINDS)
def test_forged_certificates_are_refused_by_all(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    data = json.loads(files("program")[name])
    assert accepted_by(path, data) == (True, True, True)
    assert accepted_by(path, with_value(data)) == (True, True, True)
    for what, other in sample_or_all(forgeries(name), 8):
        assert accepted_by(path, other) == (False, False, False), what


@pytest.mark.parametrize("name", KINDS)
def test_units_in_a_tight_column_are_refused_for_privacy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """The rest of the file is true of the new masses."""
    path = tmp_path / "a.json"
    for what, other in tight_ones(json.loads(files("program")[name])):
        path.write_text(json.dumps(other))
        failures = lo.Certificate.load(path).recheck()
        assert any("violated" in failure for failure in failures), (what, failures)
        assert checker.main([str(path)]) == 1
        assert "not private" in capsys.readouterr().out, what


def test_there_are_hundreds_of_forgeries() -> None:
    assert sum(len(forgeries(name)) for name in KINDS) >= 300
