"""Changes of a saved design, and whether its claim is then false: for the library, the command line
and the checker.

A change is *false* where the claim does not hold any more, or the file is none: it has to be
refused even if somebody computes the digest again. All other changes make the file another one that
is true, such as one with other labels: it is refused for its digest only, and accepted with a new
one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

Data = dict[str, Any]

UNIT = 2**53

ODD: dict[str, Any] = {
    "null": None,
    "true": True,
    "text": "x",
    "an object": {},
    "a number": 2.5,
    "a huge integer": 10**400,
    "an empty list": [],
}
"""Values of a wrong type; a place where one of them fits is left out below."""

NUMBERS = (
    "1e999999999",
    "1e5",
    "0x1p0",
    "nan",
    "inf",
    "",
    " 1",
    "1/0",
    "1.5",
    "--1",
    "9" * 5000,
    "1/" + "9" * 5000,
    1.0,
)
"""What is no fraction."""


def digest_of(data: Data) -> str:
    """The digest of a file: of all that it says but for the digest itself."""
    rest = {key: value for key, value in data.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def with_digest(data: Data) -> Data:
    """The same file with the digest that fits, if it can have one."""
    try:
        return {**data, "digest": digest_of(data)}
    except ValueError:
        return data


def first_row(rows: list[list[float]]) -> list[float]:
    """What the first row of a left inverse is by convention: 1 less the others, rounded once."""
    return [
        math.fsum([1.0, *(-entry for entry in column)]) for column in zip(*rows[1:], strict=True)
    ] or rows[0]


def tamperings(data: Data, most: int | None = None) -> Iterator[tuple[str, Data, bool]]:
    """Name, changed file with a digest that fits, and whether the claim is then false; each once.

    About ``most`` of them, spread over all kinds of changes and beginning with another one for each
    file, or all if ``most`` is None.
    """
    makers = [_of_any, _of_claims]
    kinds = {"size": [_of_frequencies], "sizes": [_of_sizes], "kinds": [_of_questions]}
    makers += next(
        (kinds[key] for key in kinds if key in data), [_of_reports, _of_estimators, _of_statements]
    )
    makers += [_of_privacy, _of_multipliers]
    text = json.dumps(data)
    changes = [change for maker in makers for change in maker(data)]
    step = max(1, len(changes) // most) if most else 1
    for name, change, is_false in changes[len(text) % step :: step]:
        other = json.loads(text)
        change(other)
        if not is_false and name != "another title":
            # it has the digest of the mechanism, which labels and reports are part of
            other.pop("about", None)
        other = with_digest(other)
        if json.dumps(other) != text:
            yield name, other, is_false


def account_tamperings(data: Data) -> Iterator[tuple[str, Data, bool]]:
    """As `tamperings`, for what reports reveal."""
    text = json.dumps(data)
    for name, change, is_false in _of_accounts(data):
        other = json.loads(text)
        change(other)
        try:
            other = with_digest(other)
        except TypeError:
            continue
        if json.dumps(other) != text:
            yield name, other, is_false


Change = tuple[str, Callable[[Data], Any], bool]


def put(value: Any, *path: Any) -> Callable[[Data], None]:
    """Put a value at a place, or what a function makes of the old one."""

    def change(data: Data) -> None:
        table: Any = data
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value(table[path[-1]]) if callable(value) else value

    return change


def scaled(factor: float) -> Callable[[Any], Any]:
    """Numbers of a list of lists times a factor."""
    return lambda part: (
        [scaled(factor)(entry) for entry in part] if isinstance(part, list) else part * factor
    )


def swapped(part: list[Any]) -> list[Any]:
    """The first and the last entry exchanged."""
    return [part[-1], *part[1:-1], part[0]]


def _of_any(data: Data) -> Iterator[Change]:
    """Keys and types."""
    for key in data:
        if key not in ("about", "digest"):
            # without liars it is the certificate of a cap
            yield f"no {key}", lambda other, key=key: other.pop(key), key != "liars"
    yield "another key", put(1, "extra"), True
    yield "an unknown format", put("ldpopt design certificate 4", "format"), True
    for key in (
        "questions" if "kinds" in data else "inputs",
        "privacy",
        "multipliers",
        "achieved",
        "bias",
    ):
        for name, odd in ODD.items():
            yield f"{key}: {name}", put(odd, key), True
    names = "questions" if "kinds" in data else "inputs"
    for twice in ([1, 1.0], [0.0, -0.0], [1, True], [[1], [1.0]], [["a", 0], ["a", -0.0]]):
        if "kinds" not in data:
            change = put(lambda labels, twice=twice: [*twice, *labels[2:]], names)
        else:
            change = put(lambda rows, twice=twice: [[rows[0][0], *twice], *rows[1:]], names)
        yield f"labels {twice}", change, True
    if "about" in data:
        yield "an unread key in about", put(1, "about", "more"), True
        yield "a key of about less", lambda other: other["about"].pop("notion"), True
        yield "another title", put("another", "about", "title"), False
        yield "it says nothing of itself", lambda other: other.pop("about"), False


def _of_claims(data: Data) -> Iterator[Change]:
    """Value, bound and bias."""
    achieved, bound, bias = (Fraction(data[key]) for key in ("achieved", "bound", "bias"))
    for less in (Fraction(1, 10**9), Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(2)):
        yield (
            f"achieved less {float(less)} of it",
            put(str(achieved * (1 - less)), "achieved"),
            True,
        )
    yield "achieved below the bound", put(str(bound * Fraction(999, 1000)), "achieved"), True
    for more in (Fraction(1, 10**6), Fraction(1, 2)):
        yield (
            f"bound with {float(more)} of achieved more",
            put(str(bound + more * achieved), "bound"),
            True,
        )
    yield "bound above achieved", put(str(2 * achieved), "bound"), True
    for name in ("achieved", "bound", "bias"):
        for number in NUMBERS:
            yield f"{name}: {number!s:.20}", put(number, name), True
    yield "a negative bias", put("-1", "bias"), True
    if bias:
        yield "a smaller bias", put(str(bias / 2), "bias"), True
        yield "no bias", put("0", "bias"), True
    yield "achieved is larger", put(str(2 * achieved), "achieved"), False
    yield "bound is smaller", put(str(bound / 2), "bound"), False
    yield "bound is negative", put("-7/3", "bound"), False


def _of_reports(data: Data) -> Iterator[Change]:
    """Masses, and the order of the reports."""
    rows = data["masses"]
    other = next((x for x, row in enumerate(rows) if row != rows[0]), 0)

    def exchange(data: Data) -> None:
        rows = data["masses"]
        rows[0], rows[other] = rows[other], rows[0]

    if other:
        yield "two rows of the masses exchanged", exchange, True
    x = max(range(len(rows)), key=lambda x: max(rows[x]))
    large = rows[x].index(max(rows[x]))
    small = rows[x].index(min(rows[x]))

    def moved(share: int) -> Callable[[Data], None]:
        def change(data: Data) -> None:
            amount = data["masses"][x][large] // share
            data["masses"][x][large] -= amount
            data["masses"][x][small] += amount

        return change

    for share in (2, 1000, 10**6):
        yield f"mass moved: 1 of {share}", moved(share), True
    yield "a mass one more", put(lambda mass: mass + 1, "masses", 0, 0), True
    yield "a negative mass", put(lambda row: [-1, row[1] + row[0] + 1, *row[2:]], "masses", 0), True
    yield "a mass in floats", put(float, "masses", 0, 0), True
    yield "a mass is true", put(True, "masses", 0, 0), True
    yield "a row of the masses less", put(lambda rows: rows[:-1], "masses"), True
    yield "a row of the masses more", put(lambda rows: [*rows, rows[-1]], "masses"), True
    yield "a report less", put(lambda rows: [row[:-1] for row in rows], "masses"), True
    yield "no masses", put([], "masses"), True
    yield (
        "the masses of one answer for all",
        put(lambda rows: [rows[0]] * len(rows), "masses"),
        True,
    )
    columns = list(zip(*rows, strict=True))
    if columns[0] != columns[-1]:
        yield (
            "two reports exchanged in the masses alone",
            put(lambda rows: [swapped(row) for row in rows], "masses"),
            True,
        )

    def renumber(data: Data) -> None:
        for key in ("masses", "left_inverse"):
            data[key] = [swapped(row) for row in data[key]]

    yield "two reports exchanged everywhere", renumber, False


def _of_estimators(data: Data) -> Iterator[Change]:
    """The left inverse: as the forger would have it, with its first row by the convention and the
    claims raised."""
    n = len(data["masses"])
    weights = data["weights"]
    shares = [weight / sum(weights) for weight in weights]
    achieved = Fraction(data["achieved"])
    bias = Fraction(data["bias"])

    def moved(c: float, *, raised: bool = False, kept: bool = False) -> Callable[[Data], None]:
        def change(data: Data) -> None:
            rows = [
                [entry + c * r for entry in row]
                for row, r in zip(data["left_inverse"], shares, strict=True)
            ]
            data["left_inverse"] = rows if kept else [first_row(rows), *rows[1:]]
            if raised:
                data["achieved"] = str(2 * achieved + 1)
                data["bias"] = str(bias + 10**6)

        return change

    for c in (0.9, -0.9, 1e-3, 1e-6):
        yield f"left inverse + {c} r 1'", moved(c), True
        yield f"left inverse + {c} r 1', with all claims raised", moved(c, raised=True), True
        yield f"left inverse + {c} r 1', the first row too", moved(c, kept=True), True

    def changed(
        make: Callable[[list[list[float]]], list[list[float]]], raised: bool
    ) -> Callable[[Data], None]:
        def change(data: Data) -> None:
            rows = make(data["left_inverse"])
            data["left_inverse"] = [first_row(rows), *rows[1:]]
            if raised:
                data["achieved"] = str(10**9 * achieved + 10**9)
                data["bias"] = str(bias + 10**6)

        return change

    # The last answer with a column of its own in the workload: others have no part in the
    # estimates.
    columns = list(zip(*data["workload"], strict=True))
    last = max(x for x in range(n) if columns[x] != columns[0])
    last = next(x for x in range(n) if columns[x] == columns[last] and any(data["left_inverse"][x]))
    for raised in (False, True):
        more = ", with all claims raised" if raised else ""
        for factor in (1.01, 1 + 1e-6, 0.0, -1.0):
            yield f"left inverse times {factor}{more}", changed(scaled(factor), raised), True
        yield (
            f"left inverse: one row doubled{more}",
            changed(lambda rows: _with_row(rows, last, scaled(2)), raised),
            True,
        )
        yield (
            f"left inverse: one row moved{more}",
            changed(
                lambda rows: _with_row(rows, last, lambda row: [entry + 1e-4 for entry in row]),
                raised,
            ),
            True,
        )
    yield (
        "the first row of the left inverse is another",
        put(lambda row: [row[0] + 1e-9, *row[1:]], "left_inverse", 0),
        True,
    )
    yield "the first row of the left inverse is zeros", put(scaled(0.0), "left_inverse", 0), True
    yield "a row of the left inverse less", put(lambda rows: rows[:-1], "left_inverse"), True
    yield "left inverse: no number", put("1.0", "left_inverse", 0, 0), True
    yield "left inverse: a huge number", put(1e300, "left_inverse", last, 0), True


def _with_row(
    rows: list[list[float]], x: int, make: Callable[[list[float]], list[float]]
) -> list[list[float]]:
    return [make(row) if place == x else row for place, row in enumerate(rows)]


def _of_statements(data: Data) -> Iterator[Change]:
    """Workload, weights, objective, names and labels."""
    workload = data["workload"]
    weights = data["weights"]
    first = [row[0] for row in workload]
    other = next(x for x in range(len(weights)) if [row[x] for row in workload] != first)
    yield (
        "an entry of the workload is one more",
        put(lambda entry: entry + 1.0, "workload", 0, other),
        True,
    )
    yield "the workload is doubled", put(scaled(2.0), "workload"), True
    yield (
        "a row of the workload is doubled",
        put(scaled(2.0), "workload", 0),
        len(set(workload[0])) > 1,
    )
    yield (
        "a row of the workload less, with its name",
        _shorter,
        any(len(set(row)) > 1 for row in workload[-1:]),
    )
    yield "a name less", put(lambda names: names[:-1], "names"), True
    yield (
        "a column of the workload less",
        put(lambda rows: [row[:-1] for row in rows], "workload"),
        True,
    )
    yield "the workload is infinite", put(float("inf"), "workload", 0, 0), True
    yield (
        "a constant is added to a row of the workload",
        put(lambda row: [entry + 1.0 for entry in row], "workload", 0),
        (any(Fraction(entry) + 1 != Fraction(entry + 1.0) for entry in workload[0])),
    )
    if len(data["names"]) > 1:
        yield "two names exchanged", put(swapped, "names"), False
        yield "two rows of the workload exchanged", put(swapped, "workload"), False
        yield "a name stands twice", put(lambda names: [names[1], *names[1:]], "names"), True
    yield "another name", put("another", "names", 0), False
    yield "a weight is negative", put(-1.0, "weights", 0), True
    yield "no weights", put(scaled(0.0), "weights"), True
    yield "a weight less", put(lambda part: part[:-1], "weights"), True
    yield "one weight is much larger", put(lambda weight: 9.0 + 9 * weight, "weights", other), True
    yield "all weights doubled", put(scaled(2.0), "weights"), False
    yield "an unknown objective", put("best", "objective"), True
    yield "the average in place of the worst case", put("average", "objective"), False
    yield "a label stands twice", put(lambda labels: [labels[1], *labels[1:]], "inputs"), True
    yield "a label less", put(lambda labels: labels[:-1], "inputs"), True
    yield "no labels", put([], "inputs"), True
    if not _names_labels(data["privacy"]):
        yield "two labels exchanged", put(swapped, "inputs"), False
        yield "another label", put("another", "inputs", 0), False
    else:
        named = json.dumps(data["privacy"])
        x = next(x for x, label in enumerate(data["inputs"]) if json.dumps(label) in named)
        yield "another label than the notion names", put("another", "inputs", x), True


def _shorter(data: Data) -> None:
    if len(data["names"]) > 1:
        data["names"], data["workload"] = data["names"][:-1], data["workload"][:-1]
    else:
        data["workload"] = scaled(0.5)(data["workload"])


def _names_labels(privacy: Data) -> bool:
    return "sensitive" in privacy or "edges" in privacy.get("neighbors", {})


def _of_privacy(data: Data) -> Iterator[Change]:
    """Epsilon, graph, distances, sensitive answers: too little for the mechanism, or too much for
    the bound."""
    privacy = data["privacy"]
    for epsilon in (
        "0.01",
        "log(1)",
        0,
        50,
        -1,
        "-1",
        "1e999999",
        "log(1e999999)",
        "1e-99999",
        "nan",
        "",
        None,
        True,
        "2",
    ):
        yield f"epsilon {epsilon}", put(epsilon, "privacy", "epsilon"), True
    yield "an unknown notion", put("other", "privacy", "kind"), True
    yield "a key of another notion", put(0.5, "privacy", "delta"), True
    yield "no epsilon", lambda other: other["privacy"].pop("epsilon"), True
    if privacy["kind"] == "graph":
        yield "a complete graph", put({"kind": "complete"}, "privacy", "neighbors"), True
        yield "an unknown graph", put({"kind": "tree"}, "privacy", "neighbors"), True
        yield "no graph", lambda other: other["privacy"].pop("neighbors"), True
        edges = privacy["neighbors"].get("edges")
        if edges:
            a = data["inputs"][0]
            b = data["inputs"][-1]
            yield (
                "an edge less",
                put(lambda edges: edges[1:], "privacy", "neighbors", "edges"),
                True,
            )
            if [a, b] not in edges:
                yield (
                    "an edge more",
                    put(lambda edges: [*edges, [a, b]], "privacy", "neighbors", "edges"),
                    True,
                )
            yield (
                "a loop",
                put(lambda edges: [*edges, [a, a]], "privacy", "neighbors", "edges"),
                True,
            )
            yield (
                "an edge to nowhere",
                put(lambda edges: [*edges, [a, "nowhere"]], "privacy", "neighbors", "edges"),
                True,
            )
    if privacy["kind"] == "metric":
        path = ("privacy", "distance")
        yield "all distances halved", put(scaled(0.5), *path), True
        yield "all distances doubled", put(scaled(2.0), *path), True
        yield "a distance one way", put(lambda d: 0.9 * d, *path, 0, 1), True
        yield "a distance to itself", put(1.0, *path, 0, 0), True
        yield "a negative distance", put(lambda rows: scaled(-1.0)(rows), *path), True
        yield "a distance of 0", put(lambda rows: _symmetric(rows, lambda d: 0.0), *path), True
        yield (
            "a distance is halved",
            put(lambda rows: _symmetric(rows, lambda d: d / 2), *path),
            True,
        )
        yield "a row of distances less", put(lambda rows: rows[:-1], *path), True
    if privacy["kind"] == "one_sided":
        rest = [label for label in data["inputs"] if label not in privacy["sensitive"]]
        yield (
            "a sensitive answer more",
            put(lambda part: [*part, rest[0]], "privacy", "sensitive"),
            True,
        )
        yield "a sensitive answer less", put(lambda part: part[1:], "privacy", "sensitive"), True
        yield "all answers are sensitive", put(data["inputs"], "privacy", "sensitive"), True
        yield "an unknown sensitive answer", put(["nobody"], "privacy", "sensitive"), True
        yield (
            "a sensitive answer stands twice",
            put(lambda part: [*part, part[0]], "privacy", "sensitive"),
            True,
        )


def _symmetric(rows: list[list[float]], make: Callable[[float], float]) -> list[list[float]]:
    rows[0][1] = rows[1][0] = make(rows[0][1])
    return rows


def _of_multipliers(data: Data) -> Iterator[Change]:
    """What proves the bound: every number of it, up and down; none that the bound claimed still
    follows from."""
    given = data["multipliers"]
    for name in ("form", "mean", "product", "moments", "other", 3):
        if name != given["kind"]:
            yield f"multipliers of kind {name}", put(name, "multipliers", "kind"), True
    yield "multipliers with another key", put(1, "multipliers", "extra"), True
    yield "no multipliers", put({"kind": "none"}, "multipliers"), Fraction(data["bound"]) > 0
    for key in given:
        if key != "kind":
            yield (
                f"no {key} of the multipliers",
                lambda other, key=key: other["multipliers"].pop(key),
                True,
            )
            yield f"{key} of the multipliers is text", put("x", "multipliers", key), True
    for key in ("inverse", "line", "slope", "eigenvalues", "level", "same", "others"):
        if key in given:
            for factor in (1.1, 0.9, 2.0, 0.0, -1.0):
                yield f"{key} times {factor}", put(scaled(factor), "multipliers", key), True
    if "factors" in given:
        for factor in (2.0, 0.9, 0.0):
            yield f"factors times {factor}", put(scaled(factor), "multipliers", "factors"), True
        yield "a factor less", put(lambda part: part[:-1], "multipliers", "factors"), True
        yield "a factor more", put(lambda part: [*part, 0.0], "multipliers", "factors"), True
        yield "a huge factor", put(1e308, "multipliers", "factors", 0), True
        yield "another distance", put(lambda apart: [*apart, 3], "multipliers", "apart"), True
        yield "a distance of 0", put([0], "multipliers", "apart"), True
        yield "a distance that is no integer", put([1.0], "multipliers", "apart"), True
    if isinstance(given.get("line"), list):
        yield "line: an entry less", put(lambda line: line[:-1], "multipliers", "line"), True
        yield "line: a huge entry", put(1e308, "multipliers", "line", 0), True
    if given.get("shift"):
        # Up to 32 answers all sets are checked without the shift: the claim holds all the same.
        is_needed = len(data["multipliers"]["line"]) > 32 or bool(given.get("inequalities"))
        yield "no shift", put(None, "multipliers", "shift"), is_needed
        yield "shift times 2", put(scaled(2.0), "multipliers", "shift"), True
        yield "shift without an entry", put(lambda shift: shift[:-1], "multipliers", "shift"), True
    elif "shift" in given and data["privacy"]["kind"] != "pure":
        yield (
            "a shift for listed rays",
            put([0.0] * (len(given["line"]) + 1), "multipliers", "shift"),
            True,
        )
    if given.get("inequalities"):
        yield "a negative pair", put(-1.0, "multipliers", "inequalities", "pairs", 0, 1), True
        yield (
            "a negative factor",
            put(lambda t: -1.0 - t, "multipliers", "inequalities", "factor"),
            True,
        )
        yield "a size that is none", put(-1, "multipliers", "inequalities", "size"), True
    if "sizes" in given:
        yield "other sizes", put(lambda sizes: [*sizes, 2], "multipliers", "sizes"), True
        yield (
            "sizes in floats",
            put(lambda sizes: [float(size) for size in sizes], "multipliers", "sizes"),
            True,
        )
        yield "sizes with a 1", put(lambda sizes: [*sizes, 1], "multipliers", "sizes"), True
        yield (
            "negative sizes",
            put(lambda sizes: [-size for size in sizes], "multipliers", "sizes"),
            True,
        )
    if "raised" in given:
        for factor in (0.5, 2.0, 0.0, -1.0):
            yield (
                f"raised eigenvalues times {factor}",
                put(scaled(factor), "multipliers", "raised"),
                True,
            )
        yield "a raised eigenvalue less", put(lambda part: part[:-1], "multipliers", "raised"), True
        yield "no raised eigenvalues", lambda other: other["multipliers"].pop("raised"), True
        yield "one is raised less", put(lambda part: part * 0.9, "multipliers", "raised", -2), True
        yield (
            "that of the constant is another",
            put(lambda part: part + 1.0, "multipliers", "raised", 0),
            True,
        )
    if "numbers" in given:
        yield "numbers times 2", put(scaled(2.0), "multipliers", "numbers"), True
        yield (
            "one number is another",
            put(lambda number: number + 0.5, "multipliers", "numbers", 0),
            True,
        )


def _of_frequencies(data: Data) -> Iterator[Change]:
    """Subset selection: sets, masses and the unit."""
    n = len(data["inputs"])
    size = data["size"]
    mass = data["mass"]
    for other in (size + 1, size - 1, 0, n, -1, float(size), True, "1", 10**300):
        yield f"size {other!s:.20}", put(other, "size"), True
    for other in (
        mass + 1,
        mass - mass // 1000,
        UNIT,
        UNIT + 1,
        0,
        -1,
        float(mass),
        "1",
        mass // 10,
        10**300,
    ):
        yield f"mass {other!s:.20}", put(other, "mass"), True
    for factor in (2.0, 1 + 1e-6, 0.0, 1e200):
        yield f"unit times {factor}", put(lambda unit, factor=factor: unit * factor, "unit"), True
    yield "unit times 0.5", put(lambda unit: unit / 2, "unit"), True
    yield "unit is text", put("1", "unit"), True
    yield "a label more", put(lambda labels: [*labels, "more"], "inputs"), True
    yield "a label less", put(lambda labels: labels[:-1], "inputs"), True
    yield "a label stands twice", put(lambda labels: [labels[1], *labels[1:]], "inputs"), True
    yield "two labels exchanged", put(swapped, "inputs"), False
    yield "another label", put("another", "inputs", 0), False
    yield "the worst case", put("worst_case", "objective"), True


def _of_sizes(data: Data) -> Iterator[Change]:
    """Sets of a few sizes: sizes, masses, values, the cap and the unit."""
    first = data["sizes"][0]
    others = {
        "size": (0, -1, len(data["inputs"]), float(first["size"]), True, "1", 10**300),
        "mass": (first["mass"] + 1, 0, -1, float(first["mass"]), "1", UNIT, 10**300),
        "held": (first["held"] + 2**20, first["held"] // 2, UNIT, 0, -1, float(first["held"])),
        "inside": (first["inside"] * (1 + 1e-6), first["inside"] / 2, "1", None, 1e300),
        "outside": (first["outside"] * (1 + 1e-6), -first["outside"], "1", None, 1e300),
    }
    for key, values in others.items():
        for value in values:
            yield f"{key} {value!s:.20}", put(value, "sizes", 0, key), True
        yield f"no {key}", lambda other, key=key: other["sizes"][0].pop(key), True
    yield "a size has another key", put(1, "sizes", 0, "extra"), True
    yield "no sizes", put([], "sizes"), True
    yield "a size stands twice", put(lambda sizes: [sizes[0], *sizes], "sizes"), True
    yield "sizes descend", put(lambda sizes: [*sizes, sizes[0]], "sizes"), True
    for factor in (1 - 1e-6, 2.0, 0.0, -1.0):
        yield f"cap times {factor}", put(scaled(factor), "cap"), True
    yield "cap is text", put("3", "cap"), True
    for factor in (2.0, 1 + 1e-6, 0.0, -1.0, 1e200):
        yield f"unit times {factor}", put(scaled(factor), "unit"), True
    yield "unit is text", put("1", "unit"), True
    yield "a label more", put(lambda labels: [*labels, "more"], "inputs"), True
    yield "a label less", put(lambda labels: labels[:-1], "inputs"), True
    yield "a label stands twice", put(lambda labels: [labels[1], *labels[1:]], "inputs"), True
    yield "two labels exchanged", put(swapped, "inputs"), False
    yield "another label", put("another", "inputs", 0), False
    yield "the worst case", put("worst_case", "objective"), True
    if "liars" in data:
        error = Fraction(data["liars"]["criterion"])
        yield "more liars", put(scaled(2), "liars", "share"), True
        yield "fewer people", put(lambda people: people - 1, "liars", "people"), True
        yield "a smaller error", put(str(error / 2), "liars", "criterion"), True
        yield "a larger least error", put(str(error), "liars", "least"), True
        yield "a step less", put(lambda steps: steps[1:], "liars", "steps"), True
        yield "a larger error", put(str(2 * error), "liars", "criterion"), False


def _of_questions(data: Data) -> Iterator[Change]:
    """Tables of questions: sets, which are what the estimator is made of, masses, tables and
    questions."""
    questions = data["questions"]
    tables = data["tables"]
    kinds = data["kinds"]
    names = ("parts", "inside", "mass", "held")
    for place, (parts, inside, mass, held) in enumerate(kinds):
        others: list[tuple[int, Any]] = [
            (3, other) for other in (held + 1, held + 2**40, UNIT - 1, UNIT, 0, -1)
        ]
        others += [
            (3, held - 2**30),
            (3, float(held)),
            (3, True),
            (3, None),
            (2, mass + 1),
            (2, mass - 1),
            (2, 0),
        ]
        others += [
            (2, -mass),
            (2, float(mass)),
            (2, "1"),
            (2, 10**300),
            (0, []),
            (0, [*parts, 1]),
            (0, [-1]),
            (0, [0]),
        ]
        others += [
            (0, [len(questions) + 1]),
            (0, [float(parts[0]), *parts[1:]]),
            (0, "x"),
            (1, inside[:-1]),
        ]
        others += [
            (1, [*inside, 1]),
            (1, [1 - own for own in inside]),
            (1, [0] * len(inside)),
            (1, [1] * len(inside)),
        ]
        others += [(1, [2 * own for own in inside]), (1, [bool(own) for own in inside])]
        for k, other in others:
            yield f"kind {place}, {names[k]}: {other!s:.20}", put(other, "kinds", place, k), True
        yield f"kind {place} has another number", put([*kinds[place], 1], "kinds", place), True
    yield "no kinds", put([], "kinds"), True
    yield "a kind less", put(kinds[1:], "kinds"), True
    yield "a kind more", put([*kinds, kinds[0]], "kinds"), True
    if len(kinds) > 1:
        yield "kinds exchanged", put(swapped, "kinds"), False
    if len({kind[2] for kind in kinds}) > 1:
        moved = [
            [*kind[:2], other[2], kind[3]]
            for kind, other in zip(kinds, swapped(kinds), strict=True)
        ]
        yield "masses of two kinds exchanged", put(moved, "kinds"), True
    for place, (ways, factor) in enumerate(tables):
        for other in (
            [ways, 2 * factor],
            [ways, factor * (1 + 1e-6)],
            [ways, 0.0],
            [ways % len(questions) + 1, factor],
        ):
            yield f"table {place}: {other}", put(other, "tables", place), True
        for other in (
            [0, factor],
            [-1, factor],
            [9, factor],
            [float(ways), factor],
            [ways, "1"],
            [ways],
            [ways, None],
        ):
            yield f"table {place}: {other}", put(other, "tables", place), True
        yield f"table {place} with the opposite sign", put([ways, -factor], "tables", place), False
    yield "no tables", put([], "tables"), True
    yield "a table more", put([*tables, [1, 1.0]], "tables"), True
    yield "a question less", put(questions[1:], "questions"), True
    yield "a question more", put([*questions, ["more", 0, 1]], "questions"), True
    yield "a question twice", put([questions[1], *questions[1:]], "questions"), True
    yield "a question of three answers", put([*questions[0], "third"], "questions", 0), True
    yield "a question of one answer", put(questions[0][:2], "questions", 0), True
    yield "an answer stands twice", put(questions[0][1], "questions", 0, 2), True
    yield "two questions exchanged", put(swapped, "questions"), False
    yield "another name of a question", put("another", "questions", 0, 0), False
    yield "another answer", put("another", "questions", 0, 2), False
    yield "the worst case", put("worst_case", "objective"), False
    yield "an unknown objective", put("best", "objective"), True


def _of_accounts(data: Data) -> Iterator[Change]:
    """Reports, their repetitions, pairs and ratios, and the claims."""
    report = data["reports"][0]
    claims = data["claims"]

    yield "more repetitions", put(report["times"] + 1, "reports", 0, "times"), True
    for value in (-1, 2.0, True, None, "2", 10**300):
        yield f"repetitions {value!s:.9}", put(value, "reports", 0, "times"), True
    yield "a report more", put([*data["reports"], report], "reports"), True
    yield "no reports", put([], "reports"), True
    yield "an unknown kind", put("other", "reports", 0, "kind"), True
    yield "another key", put(1, "reports", 0, "more"), True
    yield (
        "a smaller epsilon",
        put(claims[-1]["epsilon"] - 0.1, "claims", len(claims) - 1, "epsilon"),
        True,
    )
    for value in (None, "x", -1.0):
        yield f"epsilon {value}", put(value, "claims", 0, "epsilon"), True
    for value in NUMBERS:
        yield f"delta {value!s:.9}", put(value, "claims", 0, "delta"), True
    yield "no claims", put([], "claims"), True
    yield "another format", put("ldpopt account certificate 9", "format"), True
    if "masses" in report:
        first, second = report["masses"][0][:2]
        sharper = [[1 << 53, *[0] * (len(report["masses"][0]) - 1)], *report["masses"][1:]]
        yield "a sharper row", put(sharper, "reports", 0, "masses"), True
        yield "a sum that is not 1", put(first + 1, "reports", 0, "masses", 0, 0), True
        yield "masses in floats", put(float(first), "reports", 0, "masses", 0, 0), True
        yield "a negative mass", put(-second, "reports", 0, "masses", 0, 1), True
        yield (
            "a pair that is not there",
            put([[0, len(report["masses"])]], "reports", 0, "pairs"),
            True,
        )
        yield "no pairs", put([], "reports", 0, "pairs"), True
    if "people" in report:
        yield "fewer people", put(report["people"] - 10, "reports", 0, "people"), True
        yield "no people", put(0, "reports", 0, "people"), True
    if "publications" in report:
        yield (
            "more publications",
            put(report["publications"] + 2, "reports", 0, "publications"),
            True,
        )
        yield "a fresh row less", put(report["fresh"][1:], "reports", 0, "fresh"), True
    for key in data:
        if key != "digest":
            yield f"no {key}", lambda other, key=key: other.pop(key), True
    yield "an unread key", put(1, "more"), True
    yield "an unread key of a claim", put(1, "claims", 0, "more"), True
    yield "made by a number", put(1, "made_by"), True
    yield "made by another", put("another", "made_by"), False
    yield "a delta above 1", put("2", "claims", 0, "delta"), True
    yield "the largest delta", put("1", "claims", 0, "delta"), False
    for place, part in enumerate(data["reports"]):
        yield f"report {place}: 0 repetitions", put(0, "reports", place, "times"), True
        yield (
            f"report {place}: no repetitions",
            lambda other, k=place: other["reports"][k].pop("times"),
            True,
        )
        yield from _of_sources(part, "reports", place)


def _of_sources(part: Data, *path: Any) -> Iterator[Change]:
    """One source, or those of which one is drawn."""
    where = "/".join(map(str, path))
    yield f"{where}: an unread key", put(1, *path, "more"), True
    for place, source in enumerate(part.get("sources", [])):
        for times in (0, 1, 5):
            yield f"{where}: {times} nested", put(times, *path, "sources", place, "times"), True
        yield from _of_sources(source, *path, "sources", place)
    if "masses" in part:
        for pairs in ([[0, 0]], [[0, 1], [1, 1]], [[0]], [[0, 1.0]], [[False, True]]):
            yield f"{where}: pairs {pairs}", put(pairs, *path, "pairs"), True
        for ratios in (["0"], ["-1"], [1.0], "1", ["1/0"], [None]):
            yield f"{where}: ratios {ratios}", put(ratios, *path, "ratios"), True
        if part["ratios"]:
            yield f"{where}: ratios exchanged", put(swapped, *path, "ratios"), False
            more = [*part["ratios"], "1/3", part["ratios"][0]]
            yield f"{where}: more ratios", put(more, *path, "ratios"), False
    if part["kind"] == "ratios":
        for odds in ("1/2", "0", "-1", 3):
            yield f"{where}: odds {odds}", put(odds, *path, "odds"), True
        yield f"{where}: a share above 1", put("2", *path, "share"), True
