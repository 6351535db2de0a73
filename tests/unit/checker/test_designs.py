"""Files of designs before the independent checker: the kinds that there are, every tampering, and
rays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction as F
from itertools import islice, permutations, product
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check as checker
from builders import listed_sets, thorough_or
from checker_cases import ALL_SETS, SLOW, designs, is_short, refused, saved, tabled
from ldpopt_check import UNIT, Condition, NotCheckedError, Notion
from tampering import tamperings, with_digest

CASES = [name for name in designs() if name not in thorough_or(ALL_SETS[1:], ())]


@pytest.fixture
def data(name: str) -> Any:
    return json.loads(saved(name))


@pytest.mark.parametrize("name", CASES)
def test_every_kind_holds_and_better_claims_are_refused(data: Any, name: str) -> None:
    said, proved, gap = checker.check_design(data)
    value = proved + gap
    assert said.startswith(
        f"{'mean' if data['objective'] == 'average' else 'largest mean'} squared error "
    )
    for key, at, sign in (("achieved", value, -1), ("bound", proved, 1)):
        assert not refused(checker.check_design, with_digest({**data, key: str(at)}))
        beyond = at + sign * value * F(1, 2**100)
        assert refused(checker.check_design, with_digest({**data, key: str(beyond)}))


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_that_of_the_estimator_that_is_used(data: Any, name: str) -> None:
    """By its definition, with every report counted for by hand, in floats."""
    _, proved, gap = checker.check_design(data)
    if "size" in data:
        n = len(data["inputs"])
        p = data["mass"] / UNIT
        q = (p * (data["size"] - 1) + (1 - p) * data["size"]) / (n - 1)
        # one count is a Bernoulli number
        found = (p * (1 - p) + (n - 1) * q * (1 - q)) / (p - q) ** 2
    elif "sizes" in data:
        n = len(data["inputs"])
        found = 0.0
        for each in data["sizes"]:
            p = each["held"] / UNIT
            q = (p * (each["size"] - 1) + (1 - p) * each["size"]) / (n - 1)
            a, b, truth = each["inside"], each["outside"], data["unit"]
            own = p * (a - truth) ** 2 + (1 - p) * (b - truth) ** 2
            others = (n - 1) * (q * a**2 + (1 - q) * b**2)
            found += each["mass"] / UNIT * (own + others)
    elif "kinds" in data:  # the best estimator of all reports, listed
        d = len(data["questions"])
        columns = []
        for parts, inside, mass, held in data["kinds"]:
            sets = listed_sets(d, parts, inside)[1]
            p = held / UNIT
            share = sets[0].mean()
            columns.append(
                mass / UNIT / len(sets) * np.where(sets > 0, p / share, (1 - p) / (1 - share))
            )
        channel = np.vstack(columns).T
        most = np.exp(float(lo.PureLDP(data["privacy"]["epsilon"]).epsilon))
        assert (channel.max(axis=0) / channel.min(axis=0)).max() <= most * (1 + 1e-12)
        wanted = np.vstack(
            [
                factor * lo.Workload.marginals((2,) * d, ways).matrix
                for ways, factor in data["tables"]
            ]
        )
        inverse = np.linalg.pinv((channel / channel.mean(axis=0)) @ channel.T, rcond=1e-10)
        found = np.trace(wanted @ inverse @ wanted.T) - (wanted**2).sum(axis=0).mean()
    else:
        wanted = np.array(data["workload"], float)
        rows = np.array(data["masses"], float) / UNIT
        counted = (
            wanted[:, :1]
            + (wanted - wanted[:, :1])[:, 1:] @ np.array(data["left_inverse"], float)[1:]
        )
        away = counted[:, None] - wanted[:, :, None]
        errors = ((away**2).sum(axis=0) * rows).sum(axis=1)
        found = (
            np.average(errors, weights=data["weights"])
            if data["objective"] == "average"
            else errors.max()
        )
        assert np.abs(counted @ rows.T - wanted).max() < 1e-10
    assert float(proved + gap) == pytest.approx(found, rel=1e-9)
    assert 0 <= float(gap) <= (0.02 if name in ("mean", "elliptope", "alike") else 1e-5) * found


@pytest.mark.parametrize("name", [name for name in CASES if name not in thorough_or(SLOW, ())])
def test_false_claims_are_refused_and_true_ones_need_a_new_digest(data: Any, name: str) -> None:
    """A false claim with a new digest too; a true one for its old digest only."""
    counted = {False: 0, True: 0}
    usual = 12 if is_short(name) else 6
    for what, other, is_false in tamperings(
        data, thorough_or(usual, 50 if name in ALL_SETS else 110)
    ):
        assert refused(checker.check_design, other) == is_false, what
        assert refused(checker.check_design, {**other, "digest": data["digest"]}), what
        counted[is_false] += 1
    assert counted[True] >= thorough_or(4, 30)
    assert counted[False] >= thorough_or(0, 1)


# The rays of graphs and metrics, against a list of all spanning trees.


def by_spanning_trees(n: int, ties: dict[tuple[int, int], F]) -> set[tuple[F, ...]]:
    """Vertices by their definition: points that keep all ties, where tight ones connect all
    answers."""
    found = set()

    def grow(u: dict[int, F]) -> Iterator[dict[int, F]]:
        if len(u) == n:
            yield u
            return
        for (x, z), d in ties.items():
            if x in u and z not in u:
                for value in (u[x] - d, u[x] + d):
                    yield from grow({**u, z: value})

    for u in grow({0: F(0)}):
        if all(u[x] - u[z] <= d for (x, z), d in ties.items()):
            found.add(tuple(max(u.values()) - u[x] for x in range(n)))
    return found


def ties_of(seed: int) -> tuple[int, dict[str, Any], dict[tuple[int, int], F]]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    if seed % 2:
        edges = [[x, z] for x in range(n) for z in range(x) if rng.random() < 0.6 or x == z + 1]
        return (
            n,
            tabled("graph", edges=edges),
            {pair: F(1) for edge in edges for pair in permutations(edge)},
        )
    distance = rng.integers(1, 4, (n, n)).astype(float)
    distance = np.triu(distance, 1) + np.triu(distance, 1).T
    table = tabled("metric", distance=distance.tolist())
    return n, table, {(x, z): F(distance[x, z]) for x, z in permutations(range(n), 2)}


@pytest.mark.parametrize("seed", range(40))
def test_all_rays_are_found(seed: int) -> None:
    n, table, ties = ties_of(seed)
    notion = Notion(table, [str(x) for x in range(n)], [None])
    if notion.ties is None:
        return
    rays, unit = checker.tied_rays(notion)
    assert {tuple(F(d) * unit for d in ray) for ray in rays} == by_spanning_trees(n, ties)
    assert len(set(map(tuple, rays))) == len(rays)


def test_known_numbers_of_rays() -> None:
    def count(n: int, edges: Any, **more: Any) -> int:
        table = tabled("graph", edges=edges, **more)
        return len(checker.tied_rays(Notion(table, [str(x) for x in range(n)], [None]))[0])

    assert count(6, [[x, x + 1] for x in range(5)]) == 2**5
    assert count(7, [[x, (x + 1) % 7] for x in range(7)]) == 140
    assert count(5, [[0, 1], [2, 3], [3, 4]], parts="separate") == 2 + 4
    assert count(2, [], parts="separate") == 2
    alike = [[float(x != z) for z in range(5)] for x in range(5)]
    notion = Notion(tabled("metric", distance=alike), list("abcde"), [None])
    assert len(checker.tied_rays(notion)[0]) == 2**5 - 2
    places = np.random.default_rng(0).random((6, 2))
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)).tolist()
    assert (
        len(checker.tied_rays(Notion(tabled("metric", distance=apart), list("abcdef"), [None]))[0])
        == 252
    )


def test_nearly_equal_lengths_are_made_equal_and_none_is_shorter() -> None:
    line = [0.1 * x for x in range(5)]
    ties = {(x, z): F(abs(line[x] - line[z])) for x, z in permutations(range(5), 2)}
    lengths, chains, unit = checker.integer_lengths(5, ties)
    assert sorted(lengths) == sorted(
        (x, z) for x, z in permutations(range(5), 2) if abs(x - z) == 1
    )
    assert all(size * unit >= ties[pair] for pair, size in lengths.items())
    assert all(F(chains[x][z]) * unit * (1 + F(1, 2**37)) >= d for (x, z), d in ties.items())
    assert len(set(lengths.values())) == 1


def test_too_many_rays_are_not_checked() -> None:
    def rays(n: int, edges: Any) -> Any:
        return checker.tied_rays(
            Notion(tabled("graph", edges=edges), [str(x) for x in range(n)], [None])
        )

    with pytest.raises(NotCheckedError, match="tied"):
        rays(21, [[x, x + 1] for x in range(20)])
    checked, checker.RAYS = checker.RAYS, 100
    try:
        with pytest.raises(NotCheckedError, match="extreme rays"):
            rays(8, [[x, x + 1] for x in range(7)])
    finally:
        checker.RAYS = checked
    many = [str(x) for x in range(17)]
    with pytest.raises(NotCheckedError, match="extreme rays"):
        checker.tied_rays(Notion(tabled("one_sided", sensitive=list(range(17))), many, [None]))


@pytest.mark.parametrize("seed", range(20))
def test_rays_hold_up_to_nearly_equality(seed: int) -> None:
    n, table, _ = ties_of(seed)
    rng = np.random.default_rng(seed)
    table["epsilon"] = float(rng.random() * 3)
    notion = Notion(table, [str(x) for x in range(n)], [None])
    if notion.ties is None:
        return
    half = rng.integers(-5, 6, (n, n))
    form = half @ half.T
    line = rng.integers(1, 9, n)
    r = rng.integers(1, 9, n)
    rays, unit = checker.tied_rays(notion)
    vs = np.exp(-table["epsilon"] * float(unit) * np.array(rays, float))
    ratio = F(float((((vs @ form) * vs).sum(axis=1) / ((vs @ line) * (vs @ r))).max()))
    for more, holds in ((1 + F(1, 10**9), True), (1 - F(1, 10**9), ratio == 0)):
        limit = ratio * more
        condition = Condition(
            form.tolist(), line.tolist(), r.tolist(), limit.denominator, limit.numerator
        )
        found = checker.rays_hold(condition, notion)
        assert found == holds or ratio == 0


@pytest.mark.parametrize("sensitive", [[], [0], [0, 2]])
def test_a_report_of_weight_zero_has_no_negative_price(sensitive: list[int]) -> None:
    """Where all answers that may give a report have weight 0, nothing but ``y >= 0`` keeps the
    bound from rising."""
    notion = Notion(tabled("one_sided", sensitive=sensitive), ["0", "1", "2"], [None])
    nothing = [[0] * 3 for _ in range(3)]
    for price in (-1, -(10**9)):
        assert not checker.rays_hold(Condition(nothing, [1, price, 1], [1, 0, 1], 1, 1), notion)
    if not sensitive:
        assert checker.rays_hold(Condition(nothing, [1, 0, 1], [1, 0, 1], 1, 1), notion)


@pytest.mark.parametrize("n", [2, 3, 7, 40])
@pytest.mark.parametrize("epsilon", ["log(3)", 0.01, 5.0, 40.0, 700.0, 10000])
def test_the_largest_contrast_is_that_of_the_best_size(n: int, epsilon: Any) -> None:
    low, high = checker.least_ratio(epsilon)
    exact = F(1, 3) if epsilon == "log(3)" else F(exp(-epsilon)) if epsilon < 700 else F(0)
    assert 0 < F(low, high) <= exact * (1 + F(1, 10**15)) or epsilon >= 700
    assert low > 0
    step = high - low
    found = max(F(step * step * k * (n - k), (low * n + step * k) ** 2) for k in range(1, n))
    assert checker.largest_contrast(n, low, high) == found


# Files that are none, absurd or without an end.

TEXTS = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"[1",
    b'"x"',
    b"\xff\xfe\x00",
    b'{"format": NaN}',
    b"{}",
    b'{"format": 3}',
    b'{"format": "other"}',
    b'{"format": ["ldpopt design certificate 3"]}',
    b"[" * 10**6,
    b'{"a":' * 10**5,
    b'{"format": "ldpopt design certificate 3", "format": "ldpopt design certificate 3"}',
    b"9" * 10**6,
    b'{"format": "ldpopt certificate 1"}',
    b'{"format": "ldpopt design certificate 3", "x": Infinity}',
    b'{"format": "ldpopt design certificate 2", "inputs": []}',
    b'{"format": "ldpopt frequency design 1"}',
    b'{"format": "ldpopt design certificate 1", "proof": {}}',
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_other_files_give_one_line(text: bytes, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(text)
    assert checker.main([path]) == 2
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert ": not a certificate: " in said
    assert len(said) < 1000


def test_no_file_a_folder_and_a_pipe(tmp_path: Path, capsys: Any) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none", tmp_path, tmp_path / "pipe", "a\0b"):
        assert checker.main([path]) == 2
    assert capsys.readouterr().out.count("not a certificate") == 4


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["sets", "cycle", "places", "frequencies", "product"])
def test_a_file_cut_off_or_with_a_byte_changed_is_refused(name: str, tmp_path: Path) -> None:
    text = json.dumps(json.loads(saved(name))).encode()
    path = tmp_path / "file.json"
    rng = np.random.default_rng(0)
    for _ in range(thorough_or(8, 40)):
        path.write_bytes(text[: int(rng.integers(len(text)))])
        assert refused(checker.check, path)
        place = int(rng.integers(len(text)))
        other = bytearray(text)
        other[place] = other[place] % 127 + 1
        path.write_bytes(other)
        try:
            same = json.loads(other) == json.loads(text)  # the last digit of a double
        except ValueError:
            same = False
        assert same or refused(checker.check, path), (place, other[place])


def test_checks_that_take_too_long_are_not_made(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(json.loads(saved("sets"))))
    for name, least in (("BYTES", 1000), ("PRODUCTS", 100), ("LISTED", 3)):
        before = getattr(checker, name)
        setattr(checker, name, least)
        try:
            assert checker.main([path]) == 2
        finally:
            setattr(checker, name, before)
        assert ": NOT CHECKED: " in capsys.readouterr().out
    assert checker.main([path]) == 0


ABSURD: list[Any] = [
    "1e999999999",
    "9" * 4000 + "/1",
    "1/" + "7" * 4000,
    "log(1e9999)",
    {"a": {}},
    [[[]]],
]
ABSURD_CASES = ["sets", "alike", "cycle", "mean", "line", "one_sided", "frequencies"]
ABSURD += [1e308, 5e-324, -1e308, 10**399]


@pytest.mark.timeout(200)
@pytest.mark.parametrize("name", thorough_or(["worst", "frequencies"], ABSURD_CASES))
def test_absurd_numbers_at_every_key_end_soon(name: str) -> None:
    data = json.loads(saved(name))

    def places(part: Any, path: tuple[Any, ...]) -> Any:
        entries = (
            part.items()
            if isinstance(part, dict)
            else enumerate(part[:2])
            if isinstance(part, list)
            else ()
        )
        for key, value in entries:
            yield (*path, key)
            yield from places(value, (*path, key))

    tried = product(
        places({k: v for k, v in data.items() if k not in ("about", "digest")}, ()), ABSURD
    )
    # a tenth of a second each
    for path, odd in islice(tried, 0, None, 3 if name in ALL_SETS else 1):
        other = json.loads(json.dumps(data))
        table = other
        for key in path[:-1]:
            table = table[key]
        if table[path[-1]] == odd:
            continue
        before, table[path[-1]] = table[path[-1]], odd
        weaker = path[0] in ("achieved", "bias", "bound", "names", "inputs")  # or another label
        weaker |= (
            path[0] == "left_inverse"
            and odd == 5e-324
            and isinstance(before, float)
            and abs(before) < 1e-12
        )
        # of constants, which the centered workload is not about
        weaker |= path == ("multipliers", "eigenvalues", 0)
        assert refused(checker.check_design, with_digest(other)) or weaker, (path, odd)


@pytest.mark.parametrize(
    "notion",
    [
        {"kind": "approximate", "epsilon": 1.0, "delta": 1.0, "form": "event"},
        {"kind": "utility_optimized", "epsilon": 1.0, "sensitive": []},
    ],
    ids=["everything is allowed", "nothing is sensitive"],
)
def test_a_weaker_notion_does_not_keep_the_bound_of_a_pure_design(tmp_path, notion):
    """Its mechanism is private under the weaker notion too, but the bound is not one of it."""
    path = tmp_path / "design.json"
    lo.design(lo.Workload.prefix(3), lo.PureLDP(1.0)).save(path)
    data = json.loads(path.read_text())
    assert not refused(checker.check_design, data)
    assert refused(checker.check_design, with_digest({**data, "privacy": notion}))
