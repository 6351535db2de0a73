"""Check certificates of ldpopt with Python's standard library alone: ``python ldpopt_check.py FILE
...``.

It shares no code with ldpopt, and needs no other file. A file that claims more than is proved here
is refused.

**A program** (``certify(solve(problem))``): the masses are private for the real ``e**epsilon``;
``achieved`` is their value; ``bound`` bounds the value of every private mechanism that satisfies
the constraints.

**Reports** (``curve.certificate``): the reports that are stated are (epsilon, delta)-private
together at every epsilon that is claimed, whichever answers a person gives; if they are shuffled,
whatever all others answer.

**A design** (``design(workload, privacy)``): the masses are private; the estimator that is used,
``V = W X``, has the mean squared error ``achieved`` at most and the bias ``bias`` at most, which is
below 1e-9 of the standard deviation of one respondent's estimate; no private mechanism with any
unbiased estimator has less than ``bound``; and no name, label or number was changed since the
digest was written.

Why a bound holds. With ``G`` the Gram matrix of the workload centered by the weights ``r``, any
matrix ``S``, any vector ``y`` and ``N = S'GS``: if ``v'Nv <= (y.v)(r.v)`` for all extreme rays
``v`` of the cone of private columns, then no private mechanism is below ``2 tr(SG) - 1.y - sum_x
r_x G_xx`` (docs, "Estimation"). The rays:

* pure privacy: ``v = b + (1 - b) 1_A``, ``b = e**-epsilon``, of every set ``A`` of answers. Up to
  20 answers all sets are checked; for more, a matrix is shown to be positive semidefinite; means
  and products have their own proofs.
* one-sided privacy: the same for all nonempty sets of sensitive answers, and the unit vectors of
  the other answers.
* graphs and metrics: ``v = e**(epsilon u)``, ``u`` a vertex of the polytope ``u_x - u_z <= d(x,
  z)`` with its largest entry at 0. From one vertex all are reached along edges (Balinski 1961). At
  a vertex the tight ties connect all answers; an edge raises one part ``A``, where ``A`` and the
  rest are each connected by tight ties, and no tight tie prevents raising ``A``: all such ``A`` are
  enumerated. Distances are rounded up to 52 bits, those that differ by less than one part in 2**38
  are made equal to the largest, and a tie is left out if a chain is as short up to that: longer and
  fewer ties make the cone larger, so the bound holds for the given ones.

Every double is an integer over 2**1074, ``e**x`` is a decimal that Python rounds correctly, and one
unit further; sums and products are exact. Trusted: Python's integers and decimals, and that the
statement in the file is the one meant.

Exit codes: 0 everything holds; 1 something does not hold; 2 not readable as a certificate, or NOT
CHECKED, because the proof would take too long: files above 128 MiB, more than 10**9 products, parts
of more than 20 tied answers or 100 000 extreme rays, columns of more than 5000 nats.
"""

import json
import re
import sys
from bisect import bisect
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from hashlib import sha256
from itertools import (
    accumulate,
    combinations,
    combinations_with_replacement,
    compress,
    pairwise,
    permutations,
    product,
)
from math import ceil, comb, e, floor, frexp, isqrt, prod
from operator import add, mul
from pathlib import Path

# doubles are over S, masses over UNIT; of a program's claim
S = 2**1074
UNIT = 2**53
TOLERANCE = Fraction(1, 10**15)
# above these: not checked
BYTES = 2**27
PRODUCTS = 10**9
LISTED = 32
TIED = 20
RAYS = 100_000
NATS = 5000


class ClaimError(Exception):
    """The certificate does not hold."""


class NotCheckedError(Exception):
    """The certificate was not checked: it may hold or not."""


def need(holds, message, error=ValueError):
    """Raise an error if a condition does not hold."""
    if not holds:
        raise error(message)


def afford(products):
    """Refuse work that would take too long."""
    need(
        products <= PRODUCTS,
        f"{products:.1e} products are more than {PRODUCTS:.0e}",
        NotCheckedError,
    )


# Reading: every number is bounded before it is made.


def read(path):
    """Parse JSON; duplicate keys, NaN, infinity and long integers are refused."""

    def unique(pairs):
        need(len(dict(pairs)) == len(pairs), "a duplicate key")
        return dict(pairs)

    def whole(text):
        need(
            len(text) <= 400 and text.strip("-").isdigit(),
            f"{text:.60} is not a number of at most 400 digits",
        )
        return int(text)

    need(Path(path).is_file(), "no such file, or not a plain one", OSError)
    with open(path, "rb") as stream:
        raw = stream.read(BYTES + 1)
    need(len(raw) <= BYTES, f"the file has more than {BYTES >> 20} MiB", NotCheckedError)
    hooks = {"object_pairs_hook": unique, "parse_int": whole, "parse_constant": whole}
    return json.loads(raw.decode("utf-8-sig"), **hooks)


def keys(table, names):
    """Values of an object with exactly these keys."""
    need(
        isinstance(table, dict) and set(table) == set(names.split()),
        f"an object should have the keys {names}",
    )
    return map(table.get, names.split())


def double(value, *shape):
    """The double of a number (or hexadecimal text) as an integer over ``S``; with a shape, lists of
    them.
    """
    if shape:
        need(
            isinstance(value, list) and len(value) == shape[0],
            f"a list should have length {shape[0]}",
        )
        return [double(part, *shape[1:]) for part in value]
    if isinstance(value, str) and re.fullmatch(
        r"-?0x[01](\.[0-9a-f]{1,13})?p[+-]?[0-9]{1,4}", value
    ):
        value = float.fromhex(value)
    need(
        type(value) in (int, float) and abs(value) < float("inf"),
        f"{value!r:.60} is not a finite number",
    )
    over, under = float(value).as_integer_ratio()
    return over * (S // under)


def fraction(text):
    """A rational such as ``-3/4``: no exponents, at most 4000 digits."""
    plain = isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?", text)
    need(plain, f"{text!r:.60} is not a fraction")
    return Fraction(text)


@lru_cache(maxsize=None, typed=True)
def nats(given, digits=400):
    """``e**epsilon`` if it is a rational, else None; and rationals below and above epsilon."""
    need(type(given) in (int, float, str) and len(str(given)) <= 500, "epsilon is not a number")
    text = str(given).strip().lower()
    logarithm = re.fullmatch(r"(?:log|ln)\s*\((.+)\)", text)
    text = logarithm[1].strip() if logarithm else text
    need(
        re.fullmatch(r"[-+0-9./]+(e[-+]?[0-9]{1,4})?", text),
        f"epsilon: {text!r:.60} is not a number",
    )
    number = Fraction(given) if isinstance(given, float) else Fraction(text)
    need(number >= (1 if logarithm else 0), "epsilon is not >= 0")
    low, high = (
        [near("ln", number, up, digits) for up in (False, True)] if logarithm else [number] * 2
    )
    need(high <= 10001, "epsilon is above 10000")
    return (number if logarithm else None), max(low, Fraction(0)), high


def near(function, x, up, digits=400):
    """A rational above or below ``ln`` or ``exp`` of one: decimals are exact to a unit of their
    last digit.
    """
    context = Context(
        prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emax=9999, Emin=-9999
    )
    value = getattr(context, function)(context.divide(x.numerator, x.denominator))
    return Fraction(context.next_plus(value) if up else context.next_minus(value))


@lru_cache(maxsize=None, typed=True)
def power(given, distance):
    """A rational at most ``e**(epsilon d)``, over and under; ``e**(-epsilon d)`` over ``S``,
    rounded down.
    """
    ratio, low, high = nats(given)
    if ratio and distance == int(distance) <= 64:
        low = high = ratio ** int(distance)
    else:  # 1 / S is about e**-744
        low, high = (
            near("exp", min(end * distance, Fraction(750)), up)
            for end, up in ((low, False), (high, True))
        )
    return *max(low, Fraction(1)).as_integer_ratio(), high.denominator * S // high.numerator


def labels(names):
    """Distinct labels, as JSON text."""

    def plain(name):
        return type(name) in (str, int, float) or (isinstance(name, list) and all(map(plain, name)))

    need(
        isinstance(names, list) and names and all(map(plain, names)),
        "labels are a list of text, numbers and lists",
    )
    texts = [json.dumps(name) for name in names]
    need(len(set(texts)) == len(texts), "a duplicate label")
    return texts


def masses(table, n, m):
    """Rows of integers over ``UNIT`` that sum to it."""
    fit = [
        len(row) == m and set(map(type, row)) == {int} and min(row) >= 0 and sum(row) == UNIT
        for row in table
    ]
    need(
        len(fit) == n and all(fit),
        f"masses should be {n} rows of {m} integers >= 0 that sum to 2**53",
    )
    return table


def need_digest(data):
    """Refuse an object that was changed after its digest was written."""
    rest = {key: data[key] for key in data if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    same = sha256(text.encode()).hexdigest() == data["digest"]
    need(
        same,
        "the digest does not fit: something was changed after the file was written",
        ClaimError,
    )


# Privacy.

KEYS = {
    "pure": "",
    "approximate": "delta form",
    "graph": "edges parts neighbors",
    "metric": "distance",
}
# beside kind and epsilon
KEYS |= {"one_sided": "sensitive", "utility_optimized": "sensitive protected"}


class Notion:
    """``P(i, E) <= e**(epsilon d) P(k, E) + delta`` for every tied pair and event ``E`` of tied
    reports. ``ties`` maps ``(i, k)`` to ``d``; None if all of ``capped`` are tied to all others at
    distance ``unit``; with ``single``, events are single reports. ``owner[y]``: the only input that
    may give ``y``; None if ``y`` is tied.
    """

    def __init__(self, table, inputs, outputs):
        self.n = len(inputs)
        kind = table["kind"]
        place = {name: x for x, name in enumerate(inputs)}
        n, self.epsilon, _ = self.n, table["epsilon"], nats(table["epsilon"])
        need(kind in KEYS, f"unknown kind {kind!r:.60}")
        need(
            set(table) <= {"kind", "epsilon", *KEYS[kind].split()},
            f"unknown key among {sorted(table)}",
        )
        named = (
            labels(table["sensitive"])
            if "sensitive" in KEYS[kind] and table["sensitive"] != []
            else []
        )
        secret = {place[name] for name in named}
        self.delta = 0
        self.single = table.get("form") == "entry"
        self.ties = None
        self.unit = 1
        self.capped = secret if kind == "one_sided" else set(range(n))
        self.owner = [None] * len(outputs)
        if kind == "approximate":
            self.delta = double(table["delta"])
            need(
                0 <= self.delta <= S and table.get("form", "event") in ("event", "entry"),
                "delta or form is wrong",
            )
        elif kind == "graph":
            edges = edges_of(table, place)
            parts = table.get("parts", "connected")
            if edges is not None:
                self.ties = {pair: 1 for edge in edges for pair in permutations(edge)}
                whole = parts == "separate" or (
                    parts == "connected" and len(parts_of(n, self.ties)) == 1
                )
                need(
                    whole and all(i != k for i, k in edges),
                    "the graph has loops, or falls into parts",
                )
        elif kind == "metric":
            rows = double(table["distance"], n, n)
            self.ties = {(i, k): Fraction(rows[i][k], S) for i, k in permutations(range(n), 2)}
            symmetric = all(rows[k][i] == rows[i][k] > 0 for i, k in self.ties)
            need(symmetric and not any(rows[x][x] for x in range(n)), "it is not a distance")
        elif (
            kind == "utility_optimized"
        ):  # an unprotected report belongs to the input of the same label
            rest = set(outputs) - {name for name, x in place.items() if x not in secret}
            kept = set(labels(table["protected"])) if "protected" in table else rest
            need(
                rest <= kept <= set(outputs),
                "an unprotected report without an owner, or a protected one not known",
            )
            self.owner = [None if y in kept else place[y] for y in outputs]
        if self.ties is not None:  # one distance for all pairs, if there is one
            alike = len(self.ties) == n * (n - 1) and len(set(self.ties.values())) < 2
            self.unit = max(self.ties.values(), default=1) if alike else None
        self.is_pure = (
            kind != "metric" and self.unit == 1 and len(self.capped) == n and not self.delta
        )
        self.is_pure &= kind != "utility_optimized" or (
            len(secret) == n and "protected" not in table
        )
        self.tied = [y for y, owner in enumerate(self.owner) if owner is None]

    def distance(self, i, k):
        """Distance of a tied pair; None if it is not tied."""
        if self.ties is not None:
            return self.ties.get((i, k))
        return self.unit if i in self.capped and i != k and 0 <= k < self.n else None

    def audit(self, rows):
        """Refuse masses that violate an inequality."""
        for y, owner in enumerate(self.owner):
            own = owner is None or not any(row[y] for x, row in enumerate(rows) if x != owner)
            need(
                own,
                f"not private: report {y} has mass under an input that does not own it",
                ClaimError,
            )
        # many pairs, one ratio: compare the ends of each column
        if self.unit is not None and not self.delta:
            over, under, _ = power(self.epsilon, self.unit)
            for y in self.tied:
                top = max((rows[x][y] for x in self.capped), default=0)
                least = min(row[y] for row in rows)
                need(top * under <= over * least, f"not private: report {y}", ClaimError)
            return
        every = permutations(range(self.n), 2)
        pairs = (
            [pair for pair in every if pair[0] in self.capped] if self.ties is None else self.ties
        )
        afford(len(pairs) * len(self.tied) + 1000 * len(set((self.ties or {}).values())))
        for i, k in pairs:
            over, under, _ = power(self.epsilon, self.distance(i, k))
            excess = [under * rows[i][y] - over * rows[k][y] for y in self.tied]
            beyond = (
                max(excess, default=0)
                if self.single
                else sum(entry for entry in excess if entry > 0)
            )
            need(
                beyond * S <= self.delta * UNIT * under,
                f"not private: input {i} against input {k}",
                ClaimError,
            )


def edges_of(table, place):
    """Edges of a graph: pairs of positions, or ``neighbors``, the name of a family or pairs of
    labels; None: all.
    """
    n = len(place)
    given = table["neighbors"] if "neighbors" in table else {"edges": table["edges"]}
    need(
        len({"edges", "neighbors"} & set(table)) == 1 and len(given) == 1,
        "a graph has edges or neighbors",
    )
    if "edges" in given:
        find = range(n).index if "edges" in table else lambda name: place[json.dumps(name)]
        return [(find(a), find(b)) for a, b in given["edges"]]
    need(given["kind"] in ("path", "cycle", "complete"), "unknown neighbors")
    around = [(n - 1, 0)] if given["kind"] == "cycle" and n > 2 else []
    return None if given["kind"] == "complete" else [(x, x + 1) for x in range(n - 1)] + around


def parts_of(n, pairs):
    """Connected components of the answers, given pairs of them."""
    part = list(range(n))
    for x, z in pairs:
        if part[x] != part[z]:
            part = [part[x] if own == part[z] else own for own in part]
    return [[x for x in range(n) if part[x] == own] for own in dict.fromkeys(part)]


# Programs.


class Problem:
    """The statement: a value to maximize or minimize over all private channels."""

    def __init__(self, table):
        names = "inputs outputs objective prior sense utility privacy constraints"
        inputs, outputs, self.objective, prior, self.sense, utility, privacy, blocks = keys(
            table, names
        )
        inputs, outputs = labels(inputs), labels(outputs)
        self.n = len(inputs)
        self.m = len(outputs)
        need(
            self.objective in ("expected", "worst_case") and self.sense in ("gain", "loss"),
            "objective or sense",
        )
        need((prior is None) == (self.objective == "worst_case"), "a worst case has no prior")
        self.utility, self.prior = (
            double(utility, self.n, self.m),
            None if prior is None else double(prior, self.n),
        )
        fits = not self.prior or (min(self.prior) >= 0 and abs(sum(self.prior) - S) <= S >> 30)
        need(fits, "the prior does not sum to 1")
        self.spreads = [max(row) - min(row) for row in self.utility]
        self.notion = Notion(privacy, inputs, outputs)
        need(
            len({block["name"] for block in blocks}) == len(blocks), "two constraints have one name"
        )
        self.blocks = {}  # name -> rows: terms (input, output, coefficient), and their sides
        for block in blocks:
            name, rows, lower, upper = keys(block, "name rows lower upper")
            terms = [
                [(range(self.n).index(x), range(self.m).index(y), double(a)) for x, y, a in row]
                for row in rows
            ]
            sides = [
                [None if side is None else double(side) for side in part] for part in (lower, upper)
            ]
            self.blocks[name] = list(zip(terms, *sides, strict=True))

    def value(self, rows):
        """Exact value of the masses."""
        by_input = [sum(map(int.__mul__, worth, row)) for worth, row in zip(self.utility, rows)]
        if self.prior:
            return Fraction(sum(map(int.__mul__, self.prior, by_input)), S * S * UNIT)
        return Fraction(min(by_input) if self.sense == "gain" else max(by_input), S * UNIT)

    def residual(self, rows, name):
        """Largest violation of a side constraint by the masses."""
        worst = [0]
        for terms, lower, upper in self.blocks[name]:
            activity = sum(a * rows[x][y] for x, y, a in terms)
            worst += [
                sign * (activity - side * UNIT)
                for sign, side in ((-1, lower), (1, upper))
                if side is not None
            ]
        return Fraction(max(worst), S * UNIT)

    def bound(self, table):
        """The bound proved by the multipliers, and the stake: the average spread of the utility."""
        form, sums, worst, privacy, constraints = keys(
            table, "form row_sums worst_case privacy constraints"
        )
        need(
            form in ("compact", "pairwise") and set(constraints) == set(self.blocks),
            "unknown form or constraint",
        )
        weights = self.prior or [max(weight, 0) for weight in double(worst or [0] * self.n, self.n)]
        weights = weights if any(weights) else [1] * self.n
        total = S if self.prior else sum(weights)
        sign = 1 if self.sense == "gain" else -1
        # Costs over the unit total * S * S; multipliers are over S, and are multiplied by total.
        costs = [
            [sign * weight * worth * S for worth in row]
            for weight, row in zip(weights, self.utility)
        ]
        constant = sum(self.relax(costs, row, total) for row in privacy)
        for name, values in constraints.items():
            for (terms, lower, upper), value in zip(
                self.blocks[name], double(values, len(self.blocks[name]))
            ):
                side = upper if value > 0 else lower
                if value and side is not None:
                    for x, y, a in terms:
                        costs[x][y] -= a * value * total
                    constant += value * side * total
        owner = list(enumerate(self.notion.owner))
        best = sum(
            max(row[y] for y, own in owner if own in (None, x)) for x, row in enumerate(costs)
        )
        if form == "compact":
            best = self.compact(costs, [value * total * S for value in double(sums, self.n)])
        stake = sum(map(int.__mul__, weights, self.spreads)) or Fraction(
            total * sum(self.spreads), self.n
        )
        return Fraction(sign * (constant + best), total * S * S), Fraction(stake, total * S)

    def relax(self, costs, row, total):
        """Move a row ``b P(i, E) - P(k, E) <= b delta``, ``b <= e**(-epsilon d)``, into the
        costs.
        """
        i, k, event, value = row
        distance = self.notion.distance(i, k)
        need(
            distance is not None,
            f"inputs {i!r:.60} and {k!r:.60} have a multiplier, but are not tied",
        )
        known = (
            event == sorted(set(event))
            and set(event) <= set(self.notion.tied)
            and double(value) > 0
        )
        fits = known and (len(event) == 1 or not (self.notion.single and self.notion.delta))
        need(fits, "a multiplier that does not belong to an event")
        value, b = double(value) * total, power(self.notion.epsilon, distance)[2]
        for y in event:
            costs[i][y] -= value * b
            costs[k][y] += value * S
        return -(-value * b * self.notion.delta // S)

    def compact(self, costs, duals):
        """Bound over columns ``P(x, y) = q + b M``, ``q`` in ``[0, (1 - b) M + delta]`` for capped
        inputs, ``M >= 0``. With ``e = costs - duals - t`` a column adds at most ``M ((1 - b) sum e+
        + b sum e) + delta sum e+``. The bracket is <= 0 if ``t (k (1 - b) + n b) >= (1 - b) (sum of
        the k largest) + b (sum of all)`` for every ``k``.
        """
        notion, n = self.notion, self.n
        need(
            notion.unit is not None,
            "only notions with one distance for all pairs have a compact form",
        )
        b = power(notion.epsilon, notion.unit)[2]
        for x in range(n):  # entries without a cap must not cost more than their multiplier
            free = [
                y
                for y, own in enumerate(notion.owner)
                if own == x or (own is None and x not in notion.capped)
            ]
            duals[x] = max([duals[x], *(costs[x][y] for y in free)])
        spare = [[costs[x][y] - duals[x] for x in range(n)] for y in notion.tied]
        shifts = (
            [] if len(notion.capped) == n and len(spare) == self.m and not notion.delta else [0]
        )
        for column in spare:
            tops = accumulate(sorted(column, reverse=True), initial=0)
            whole = b * sum(column)
            slopes = ((top, (S - b) * count + b * n) for count, top in enumerate(tops))
            shifts += [-(-((S - b) * top + whole) // slope) for top, slope in slopes if slope]
        shift = max(shifts, default=0)
        over = (
            sum(max(entry - shift, 0) for column in spare for entry in column)
            if notion.delta
            else 0
        )
        return sum(duals) + n * shift + -(-over * notion.delta // S)


def check_program(data):
    """Check a certificate of ``solve``; return its value in words, the bound and the gap."""
    _, statement, mechanism, multipliers, claim = keys(
        data, "format statement mechanism multipliers claim"
    )
    problem = Problem(statement)
    bits, rows = keys(mechanism, "bits masses")
    achieved, bound, gap, relative, residuals = keys(
        claim, "achieved bound gap relative_gap residuals"
    )
    need(
        bits == 53 and set(residuals) == set(problem.blocks),
        "other bits, or residuals of other constraints",
    )
    problem.notion.audit(masses(rows, problem.n, problem.m))
    value = problem.value(rows)
    proved, stake = problem.bound(multipliers)
    sign = 1 if problem.sense == "gain" else -1
    achieved, bound, gap = map(fraction, (achieved, bound, gap))
    least = (
        0
        if problem.prior
        else Fraction(min(filter(None, problem.spreads), default=0), problem.n * S)
    )
    relative, own = (
        Fraction(double(relative), S),
        gap / max(abs(bound), stake / 100, least / 100, Fraction(1, S)),
    )
    claims = [
        ("achieved", value, achieved == value),
        ("gap", sign * (bound - value), gap == sign * (bound - value)),
    ]
    claims += [("bound", proved, sign * (proved - bound) <= TOLERANCE * max(stake, abs(proved)))]
    claims += [("relative_gap", own, abs(relative - own) <= TOLERANCE * max(own, 1))]
    off = [(name, claim, problem.residual(rows, name)) for name, claim in residuals.items()]
    claims += [
        (f"residual of {name!r}", found, Fraction(double(claim), S) >= found)
        for name, claim, found in off
    ]
    for name, found, holds in claims:
        need(holds, f"{name}: {decimal(found, 17)} was proved, which is not the claim", ClaimError)
    more = "".join(f", off {name!r} by {decimal(found, 2)}" for name, _, found in off if found)
    return (
        f"{problem.objective} {problem.sense} {decimal(value)}{more}",
        proved,
        sign * (proved - value),
    )


# Designs. Matrices are lists of rows of integers, each with one factor that they share.


def short(rows):
    """A matrix without the power of two that its entries share, and that power as a factor of ``1 /
    S``.
    """
    zeros = min(
        ((entry & -entry).bit_length() - 1 for row in rows for entry in row if entry), default=0
    )
    return [[entry >> zeros for entry in row] for row in rows], Fraction(1 << zeros, S)


def dot(left, right):
    """Sum of products."""
    return sum(map(mul, left, right))


def times(left, right):
    """Product of a matrix with the transpose of another."""
    afford(len(left) * len(right) * len(right[0] if right else ()))
    return [[dot(row, column) for column in right] for row in left]


def root(value):
    """A rational just above the square root."""
    return (
        Fraction(isqrt(value.numerator * 4**200 // value.denominator) + 1, 2**200)
        if value > 0
        else Fraction(0)
    )


def check_design(data):
    """Check a certificate of ``design``: error and bias of the estimator that is used, and the
    bound.
    """
    need(
        data["format"] == "ldpopt design certificate 3",
        f"{data['format']!r:.60} is not a known format of ldpopt",
    )
    need_digest(data)
    # the latter claims nothing
    data = {key: data[key] for key in data if key not in ("digest", "about")}
    kind = Frequencies if "size" in data else Questions if "kinds" in data else Design
    keys(data, f"format privacy objective multipliers achieved bound bias {kind.KEYS}")
    need(data["objective"] in ("average", "worst_case"), "unknown objective")
    achieved, bound, bias = (fraction(data[key]) for key in ("achieved", "bound", "bias"))
    design = kind(data)
    value, off = design.errors()
    need(
        value <= achieved,
        f"achieved: the estimator has a mean squared error of {decimal(value)}",
        ClaimError,
    )
    need(
        off * 10**18 <= value + design.spread,
        f"the estimator has a bias of {decimal(root(off))}",
        ClaimError,
    )
    need(bias >= 0 and off <= bias**2, f"bias: {decimal(root(off))} was found", ClaimError)
    numbers = dict(data["multipliers"])
    proof = numbers.pop("kind")
    need(proof in PROOFS[kind], f"unknown multipliers {proof!r:.60}")
    proved = max(PROOFS[kind][proof](design, **numbers), Fraction(0))
    need(bound <= proved, f"bound: {decimal(proved)} was proved", ClaimError)
    mean = "mean" if data["objective"] == "average" else "largest mean"
    return (
        f"{mean} squared error {decimal(value)}, bias {decimal(root(off), 2)}",
        proved,
        value - proved,
    )


class Design:
    """Statement, masses and estimator of a design; refused if the masses are not private.
    ``kind[x]`` is the number of answer ``x`` among those with different columns of the workload.
    ``gram * unit`` is the Gram matrix of the columns less the first one; ``left * scale`` has a row
    for each kind, of the first one zeros; ``rows`` are the masses. For the bound, ``base`` is
    ``e**-epsilon``, over and under, ``r`` over its sum the weights of ``c`` answers, one of each
    kind under pure privacy, else all of them, and ``centered * factor`` their Gram matrix centered
    by the weights; ``spread`` is its average.
    """

    KEYS = "inputs names workload weights masses left_inverse"

    def __init__(self, data):
        inputs = labels(data["inputs"])
        names = labels(data["names"])
        self.objective = data["objective"]
        n = len(inputs)
        k = len(names)
        self.rows = data["masses"]
        m = len(self.rows[0])
        wanted, unit = short(double(data["workload"], k, n))
        self.weights = double(data["weights"], n)
        need(
            min(self.weights) >= 0 and sum(self.weights) > 0,
            "the weights are not >= 0 with a positive sum",
        )
        self.notion = Notion(data["privacy"], inputs, [None] * m)
        self.base = least_ratio(data["privacy"]["epsilon"])
        self.notion.audit(masses(self.rows, n, m))
        columns = [
            tuple(entry - row[0] for entry, row in zip(column, wanted)) for column in zip(*wanted)
        ]
        number = {column: j for j, column in enumerate(dict.fromkeys(columns))}
        self.kind = [number[column] for column in columns]
        self.unit = unit * unit
        self.gram = times(list(number), list(number))
        of = self.kind if self.notion.is_pure else range(n)  # number of each answer among the c
        self.c, (weights,) = max(of) + 1, short([self.weights])[0]
        self.r = [sum(weight for j, weight in zip(of, weights) if j == x) for x in range(self.c)]
        self.read_estimator(double(data["left_inverse"], n, m))
        kinds, self.total = dict(zip(of, self.kind)).values(), sum(self.r)
        gram = [[self.gram[i][j] for j in kinds] for i in kinds]
        mean = [dot(row, self.r) for row in gram]
        whole = dot(mean, self.r)
        total = self.total
        self.centered = [
            [total * (total * g - a - b) + whole for g, b in zip(row, mean)]
            for row, a in zip(gram, mean)
        ]
        self.factor = self.unit / total**2
        own = sum(r * row[x] for x, (r, row) in enumerate(zip(self.r, self.centered)))
        self.spread = self.factor * Fraction(own, total)

    def read_estimator(self, given):
        """Rows of the left inverse, summed over answers of one kind; the first one follows from the
        others.
        """
        rest = (
            [S - sum(column) for column in zip(*given[1:])]
            if len(given) > 1
            else [S] * len(given[0])
        )
        near = all(own == double(other / S) for own, other in zip(given[0], rest))
        need(
            near, "the first row of the left inverse is not 1 less the others, rounded", ClaimError
        )
        left = [[0] * len(given[0]) for _ in self.gram]
        for j, row in zip(self.kind, given):
            if j:
                left[j] = [one + two for one, two in zip(left[j], row)]
        self.left, self.scale = short(left)

    def errors(self):
        """Mean squared error of the estimator, average or largest, and the largest squared bias."""
        gram, left = self.gram, self.left
        over = self.scale.numerator
        under = UNIT * self.scale.denominator
        sizes = [
            dot(column, moved) for column, moved in zip(zip(*left), times(list(zip(*left)), gram))
        ]
        errors = []
        biases = []
        for x, (row, means) in enumerate(zip(self.rows, times(self.rows, left))):
            j = self.kind[x]
            second = Fraction(dot(row, sizes), UNIT) * self.scale**2
            cross = Fraction(2 * over * dot(means, gram[j]), under)
            errors.append(self.unit * (second - cross + gram[j][j]))
            off = [over * mean - under * (i == j) for i, mean in enumerate(means)]
            off[0] = 0  # the first column is the origin
            square = sum(own * dot(off, line) for own, line in zip(off, gram) if own)
            biases.append(self.unit * Fraction(square, under**2))
        mean = dot(self.weights, errors) / sum(self.weights)
        return mean if self.objective == "average" else max(errors), max(biases)


# Bounds on all private mechanisms: each function returns the bound that its multipliers prove, or
# refuses them.

COSTS = "a column of the cone costs more than the multipliers allow: they prove no bound"


def least_ratio(epsilon):
    """``e**-epsilon`` rounded down to 96 bits, over and under: a bound for a smaller ratio holds
    for this one too.
    """
    ratio, _, top = nats(epsilon)
    exact = ratio or near("exp", top, up=True)
    bits = 96 + max(0, exact.numerator.bit_length() - exact.denominator.bit_length())
    return (exact.denominator << bits) // exact.numerator, 1 << bits


def by_form(design, inverse, line, shift, inequalities):
    """``2 tr(SG) - 1.y - spread``, if ``v'Nv <= (y.v)(r.v)`` for every ray ``v``."""
    c, gram, unit = design.c, design.centered, design.factor
    matrix, scale = short(double(inverse, c, c))
    (line,), step = short([double(line, c)])
    columns = list(zip(*matrix))
    form = times(times(columns, gram), columns)
    r = design.r
    # v'Nv times this against (y.v)(r.v), in the integers at hand
    ratio = unit * scale**2 * design.total / step
    over, under = ratio.numerator, ratio.denominator
    need(shift is None or design.notion.is_pure, "a shift is for pure privacy")
    need(inequalities is None or shift is not None, "inequalities need a shift")
    if not design.notion.is_pure:
        holds = rays_hold(form, over, under, line, r, design.notion)
    elif shift is not None:
        signs = double(shift, c + 1), eighths(inequalities, c), step / design.total
        holds = signs_hold(form, over, under, line, r, *design.base, *signs)
    else:
        need(c <= LISTED, f"more than {LISTED} answers need a shift", NotCheckedError)
        holds = sets_hold(form, over, under, line, r, *design.base)
    need(holds, COSTS, ClaimError)
    return (2 * sum(map(dot, matrix, gram))) * scale * unit - sum(line) * step - design.spread


def sets_hold(form, over, under, line, r, low, high):
    """Whether ``over v'Nv <= under (y.v)(r.v)`` for ``v = low + (high - low) 1_A`` of every set
    ``A``.
    """
    c = len(r)
    rest = high - low
    twice = [
        [under * (line[i] * r[j] + line[j] * r[i]) - 2 * over * form[i][j] for j in range(c)]
        for i in range(c)
    ]
    parts = [
        [low * low * sum(map(sum, twice))],
        [rest * (2 * low * sum(t) + rest * t[i]) for i, t in enumerate(twice)],
    ]
    # the spare part: constant, linear, pairs
    parts += [[2 * rest * rest * entry for entry in row] for row in twice]
    bits = sum(abs(entry) for part in parts for entry in part).bit_length()
    # rounding down, for speed, lowers the value of every set
    down = max(bits - 61, 0) if c > 20 else 0
    (constant,), linear, *pairs = [[entry >> down for entry in part] for part in parts]
    # the values of all sets of half the answers are the digits of one integer
    half = c // 2
    width = bits - down + 3
    ones = [((1 << (width << k)) - 1) // ((1 << width) - 1) for k in range(half + 1)]
    inside = 0
    sign = ones[-1] << width - 1

    def sums(values):  # of every set
        total = 0
        for k, value in enumerate(values):
            total += total + value * ones[k] << (width << k)
        return total

    for k in range(half):
        inside += inside + sums(pairs[k][:k]) << (width << k)

    def holds(x, linear, value):
        if x == c:
            return (inside + sums(linear[:half]) + value * ones[-1] + sign) & sign == sign
        return holds(x + 1, linear, value) and holds(
            x + 1, [*map(add, linear, pairs[x])], value + linear[x]
        )

    return holds(half, linear, constant)


def eighths(given, c):
    """Eight times a form in ``(1, s)`` that is not negative for any set: pairs of answers, and
    consecutive sizes.
    """
    if given is None:
        return [[0] * (c + 1)] * (c + 1)
    pairs, size, factor = keys(given, "pairs size factor")
    pairs, factor = double(pairs, c, c), double(factor)
    need(type(size) is int and 0 <= size <= c and factor >= 0, "the factor of the size is negative")
    both = [[0 if x == y else pairs[min(x, y)][max(x, y)] for y in range(c)] for x in range(c)]
    need(min(map(min, both)) >= 0, "a multiplier of a pair is negative")
    sums = [sum(row) for row in both]
    found = [[sum(sums), *sums], *([own, *row] for own, row in zip(sums, both))]
    # 2 (|A| - k - 1/2); its square less 1 is 4 (|A| - k)(|A| - k - 1)
    twice = [c - 2 * size - 1] + [1] * c
    found = [
        [entry + 2 * factor * i * j for entry, j in zip(row, twice)] for row, i in zip(found, twice)
    ]
    found[0][0] -= 2 * factor
    return found


def signs_hold(form, over, under, line, r, low, high, shift, taken, unit):
    """The same for many answers: in signs ``(1, s)``, ``2 v = (high + low) + (high - low) s``.
    A diagonal whose sum is 0, ``shift``, adds 0 there; ``taken``, from `eighths`, is not negative
    for any set.
    """
    c = len(r)
    all_ = high + low
    one = high - low
    y, mass = ([all_ * sum(part), *(one * entry for entry in part)] for part in (line, r))
    cost = [[all_ * all_ * sum(map(sum, form)), *(all_ * one * sum(row) for row in form)]]
    cost += [[cost[0][i + 1], *(one * one * entry for entry in row)] for i, row in enumerate(form)]
    shift[0] = -sum(shift[1:])
    eighth = Fraction(high * high * under, S) / unit

    def spare(i, j):
        kept = under * (y[i] * mass[j] + y[j] * mass[i]) - 2 * over * cost[i][j]
        return kept * eighth.denominator + eighth.numerator * (
            8 * (i == j) * shift[i] - taken[i][j]
        )

    return semidefinite([[spare(i, j) for j in range(c + 1)] for i in range(c + 1)])


def semidefinite(matrix):
    """Whether an integer matrix is ``L L'`` plus one with a dominant diagonal; True is a proof,
    floats only guess L.
    """
    size = range(len(matrix))
    afford(len(matrix) ** 3)
    if min(matrix[i][i] for i in size) <= 0:
        return False
    half = [matrix[i][i].bit_length() + 1 >> 1 for i in size]
    near = [
        [float(Fraction(matrix[i][j], 1 << half[i] + half[j])) for j in range(i + 1)] for i in size
    ]
    for slack in (1e-14, 1e-12, 1e-10):
        factor = []
        for i in size:
            row = []
            for j in range(i):
                row.append((near[i][j] - dot(row, factor[j])) / factor[j][j])
            pivot = near[i][i] - slack * len(matrix) - sum(entry * entry for entry in row)
            if pivot <= 0:
                return False
            factor.append([*row, pivot**0.5])
        rows = [[int(entry * 2**54) << half[i] for entry in row] for i, row in enumerate(factor)]
        rest = [[(matrix[i][j] << 108) - dot(rows[i], rows[j]) for j in range(i + 1)] for i in size]
        others = [sum(abs(rest[max(i, j)][min(i, j)]) for j in size if j != i) for i in size]
        if all(rest[i][i] >= other for i, other in enumerate(others)):
            return True
    return False


def rays_hold(form, over, under, line, r, notion):
    """The same for the rays of a graph, a metric or one-sided privacy, whose entries are enclosed.
    ``w <= v <= w + error``, so that both sides change by no more than ``error`` times sums of
    absolute values.
    """
    rays, unit = tied_rays(notion)
    distances = {d for ray in rays for d in ray if d}
    deepest = max(distances, default=0) * unit * nats(notion.epsilon)[2]
    need(deepest <= NATS, f"a column of more than {NATS} nats", NotCheckedError)
    bits = 256 + 5 * ceil(deepest)
    places = bits // 3 + 20
    known = {}
    _, low, high = nats(notion.epsilon, max(400, places))
    for d in distances:
        down, up = (
            near("exp", -end * unit * d, side, places) for end, side in ((high, False), (low, True))
        )
        known[d] = floor(down * 2**bits), ceil(up * 2**bits)
    error = max((up - down for down, up in known.values()), default=0)
    values = {None: 0, 0: 1 << bits} | {d: down for d, (down, _) in known.items()}
    sizes = under * sum(map(abs, line)) * sum(map(abs, r)) + over * sum(
        abs(entry) for row in form for entry in row
    )
    lost = 2 * error * ((1 << bits) + error) * sizes
    for ray in rays:
        w = [values[d] for d in ray]
        cost = sum(own * dot(row, w) for own, row in zip(w, form) if own)
        right = dot(line, w)
        mass = dot(r, w)
        if under * right * mass - over * cost < lost or (
            not mass and right < error * sum(map(abs, line))
        ):
            return False
    return True


def tied_rays(notion):
    """Rays as distances below 0, None for an entry 0, and their unit: the vertices of every part.
    One-sided privacy: sets of sensitive answers, and single other answers, in epsilon.
    """
    everyone = range(notion.n)
    if notion.ties is None:
        secret = sorted(notion.capped)
        need(len(secret) < RAYS.bit_length(), f"more than {RAYS} extreme rays", NotCheckedError)
        sets = [part for size in range(1, len(secret) + 1) for part in combinations(secret, size)]
        units = [
            [0 if x == z else None for x in everyone] for z in everyone if z not in notion.capped
        ]
        return [[int(x not in part) for x in everyone] for part in sets] + units, 1
    lengths, chains, unit = whole_lengths(notion.n, notion.ties)
    found = []
    for part in parts_of(notion.n, lengths):
        place = {x: i for i, x in enumerate(part)}
        ties = [(place[x], place[z], size) for (x, z), size in lengths.items() if x in place]
        for below in vertices([chains[x][part[0]] for x in part], ties):
            ray = dict(zip(part, below))
            found.append([ray.get(x) for x in range(notion.n)])
        need(len(found) <= RAYS, f"more than {RAYS} extreme rays", NotCheckedError)
    return found, unit


def whole_lengths(n, ties):
    """Ties as integers, none shorter than given, without those that follow; the shortest chains;
    the unit.
    """
    afford(len(ties) * n * n)
    unit = Fraction(2) ** (frexp(max(ties.values(), default=1))[1] - 52)
    whole = {(x, z): max(1, ceil(d / unit)) for (x, z), d in ties.items() if x < z}
    first = 0
    equal = {}
    for size in sorted(set(whole.values())):
        first = first if first and size - first <= first >> 38 else size
        equal[first] = size  # in the end the largest of those that begin with this one
    begins = sorted(equal)
    far = 1 << 100
    lengths = {}
    chains = [[0 if x == z else far for z in range(n)] for x in range(n)]
    for size, x, z in sorted(
        (equal[begins[bisect(begins, size) - 1]], x, z) for (x, z), size in whole.items()
    ):
        if chains[x][z] > size + (size >> 38):
            lengths[x, z] = lengths[z, x] = size
            to = list(chains[x])
            on = list(chains[z])
            for own, a, b in zip(chains, to, on):
                own[:] = [min(have, a + size + d, b + size + c) for have, c, d in zip(own, to, on)]
    return lengths, chains, unit


def vertices(start, ties):
    """Vertices ``u`` of ``u_x - u_z <= length`` for ties ``(x, z, length)``, as distances below
    their largest entry. The first one, ``start``, is as far above one answer as chains of ties
    allow.
    """
    size = len(start)
    need(size <= TIED, f"{size} answers are tied to each other", NotCheckedError)
    waiting = [tuple(max(start) - entry for entry in start)]
    found = set(waiting)
    while waiting:
        below = waiting.pop()
        spare = []
        held = [0] * size
        holds = [0] * size
        for x, z, length in ties:
            left = length - (below[z] - below[x])
            if left:
                spare.append((left, 1 << x, 1 << z))
            else:  # x is as far above z as allowed: if x is raised, z is raised too
                held[x] |= 1 << z
                holds[z] |= 1 << x
        for raised in edges_from(held, holds):
            step = min(left for left, x, z in spare if raised & x and not raised & z)
            moved = [entry - step if raised >> x & 1 else entry for x, entry in enumerate(below)]
            vertex = tuple(entry - min(moved) for entry in moved)
            if vertex not in found:
                found.add(vertex)
                waiting.append(vertex)
                need(len(found) <= RAYS, f"more than {RAYS} extreme rays", NotCheckedError)
    return found


def edges_from(held, holds):
    """Sets of answers, as bits, that an edge raises: closed under `held`, connected, and with a
    connected rest.
    """
    everyone = (1 << len(held)) - 1
    near = [one | two for one, two in zip(held, holds)]

    def flood(chosen, along, allowed):
        fresh = chosen
        while fresh:
            x = (fresh & -fresh).bit_length() - 1
            more = along[x] & allowed & ~chosen
            chosen, fresh = chosen | more, fresh & (fresh - 1) | more
        return chosen

    waiting = [(flood(1, held, everyone), 0), (0, flood(1, holds, everyone))]
    while waiting:
        inside, outside = waiting.pop()
        sides = ((inside, everyone & ~outside), (outside, everyone & ~inside))
        if inside & outside or any(
            side & ~flood(side & -side, near, allowed) for side, allowed in sides
        ):
            continue  # contradictory, or not connected any more
        free = everyone & ~(inside | outside)
        if free:
            waiting.append((flood(inside | (free & -free), held, everyone), outside))
            waiting.append((inside, flood(outside | (free & -free), holds, everyone)))
        elif inside and outside:
            yield inside


def by_mean(design, numbers, slope, line):
    """A workload of multiples of ``w``: ``2 k.w - 1.y``, if ``(k.v)^2 <= (y.v)(r.v)`` for every
    set's column.
    """
    need(
        design.notion.is_pure, "these multipliers prove a bound under pure privacy only", ClaimError
    )
    r, c, gram, unit = design.r, design.c, design.centered, design.factor
    w, k, y = ([Fraction(entry, S) for entry in double(part, c)] for part in (numbers, slope, line))
    middle = dot(r, w) / design.total
    centered = [entry - middle for entry in w]
    pivot = max(range(c), key=lambda x: abs(centered[x]))
    need(centered[pivot], "the numbers are all the same", ClaimError)
    factor = gram[pivot][pivot] * unit / centered[pivot] ** 2
    holds = all(
        g * unit == factor * a * b for a, row in zip(centered, gram) for b, g in zip(centered, row)
    )
    need(holds, "the workload is not of multiples of the numbers", ClaimError)
    r = [Fraction(weight, design.total) for weight in r]
    need(line_holds(k, y, r, Fraction(*design.base)), COSTS, ClaimError)
    return factor * (2 * dot(k, centered) - sum(y)) - design.spread


def line_holds(k, y, r, b):
    """Whether ``(k.v)^2 <= (y.v)(r.v)`` for ``v = b + (1 - b) 1_A`` of every set ``A``.
    That is ``v.a(t) >= 0`` for all ``t``, ``a(t) = r t^2 - 2 k t + y``: only sets ``{a(t) < 0}``
    matter. They change at roots, which are known to 200 bits; if roots are nearer to each other,
    every set between them is checked.
    """
    inside = {x for x in range(len(k)) if not r[x] and (k[x] < 0 or k[x] == 0 > y[x])}
    events = []
    for x, (p, q, w) in enumerate(zip(k, y, r)):
        if w and p * p > w * q:
            spread = root(p * p - w * q) / w
            middle = p / w
            events += [
                (floor((middle - spread) * 2**200), x, False),
                (floor((middle + spread) * 2**200), x, True),
            ]
        elif not w and p:
            events.append((floor(q / p * 2**199), x, p < 0))
    # error of a root, in units of its last bit
    groups = [[]]
    near = 8 + 4 / min(w for w in r if w)
    for event in sorted(events):
        if not groups[-1] or event[0] - groups[-1][-1][0] > near:
            groups.append([])
        groups[-1].append(event)
    for group in groups:
        free = sorted({x for _, x, _ in group})
        need(len(free) <= 12, "too many roots are too near to each other", NotCheckedError)
        for size in range(len(free) + 1):
            for more in combinations(free, size):
                chosen = inside.difference(free).union(more)
                one, two, three = (
                    b * sum(part) + (1 - b) * sum(part[x] for x in chosen) for part in (k, y, r)
                )
                if two < 0 or one * one > two * three:
                    return False
        for _, x, leaves in group:
            (inside.discard if leaves else inside.add)(x)
    return True


def largest_contrast(n, low, high):
    """Largest ``(1-b)^2 k (n-k) / (b n + (1-b) k)^2`` over ``k``, which rises up to ``n b / (1 +
    b)``, then falls.
    """
    least = n * low // (low + high)
    step = high - low
    sizes = {min(n - 1, max(1, k)) for k in (least, least + 1)}
    return max(Fraction(step * step * k * (n - k), (low * n + step * k) ** 2) for k in sizes)


def largest_diagram(sizes, nu, low, high):
    """Largest ratio of the cost of a set to its allowance if two attributes count, each separately:
    then only row and column sums matter, and for given row sums a Ferrers diagram has the largest
    squared column sums (Gale, Ryser).
    """
    p, q = sizes
    n = prod(sizes)
    most = Fraction(0)
    for rows in combinations_with_replacement(range(q + 1), p):
        k = sum(rows)
        columns = [sum(row > place for row in rows) for place in range(q)]
        energy = nu[2] * (Fraction(sum(row**2 for row in rows), q) - Fraction(k * k, n))
        energy += nu[1] * (Fraction(sum(column**2 for column in columns), p) - Fraction(k * k, n))
        most = max(most, energy * n * (high - low) ** 2 / (low * n + (high - low) * k) ** 2)
    return most


def largest_by_pairs(sizes, rank, nu, raised, low, high):
    """The same by pairs: the cost is raised to ``raised_T``, and by that of the constant less the
    same multiple of ``m**2``, so that it is linear in the shares of pairs in the set, by their
    differences: from ``2 m - 1`` to ``m``.
    """
    n = prod(sizes)
    square = raised[0]
    entries = transform([square, *map(max, nu[1:], raised[1:])], sizes)
    first, *rest = (entry * pairs / n for entry, pairs in zip(entries, rank))
    over = first + sum(max(c, 0) for c in rest)
    under = sum(min(c, 0) for c in rest)
    energies = (
        n * (k * over + max(2 * k - n, 0) * under) - square * k * k for k in range(1, n + 1)
    )
    return max(
        energy * (high - low) ** 2 / (low * n + (high - low) * k) ** 2
        for k, energy in enumerate(energies, 1)
    )


def by_product(design, sizes, eigenvalues, level, raised=None):
    """Matrices that depend only on the attributes in which answers differ: diagonal in one space
    for each set ``T``. With ``S = sum_T sigma_T E_T`` and a constant ``y = level`` only the size of
    a set matters, or its pairs.
    """
    mu, off = in_scheme(design, sizes)
    level, *sigma = (Fraction(entry, S) for entry in double([level, *eigenvalues], 1 + len(mu)))
    nu = [s * s * (m + off) for s, m in zip(sigma, mu)]
    rank = [
        prod(size - 1 for size, part in zip(sizes, parts) if part)
        for parts in product((0, 1), repeat=len(sizes))
    ]
    if raised is not None:
        most = largest_by_pairs(
            sizes, rank, nu, [Fraction(own, S) for own in double(raised, len(nu))], *design.base
        )
    elif len(sizes) == 2 and mu[3] == off == 0 and comb(sum(sizes), sizes[0]) <= 5000:
        most = largest_diagram(sizes, nu, *design.base)
    else:
        most = largest_contrast(design.c, *design.base) * max(nu)
    need(level >= max(most, 0), COSTS, ClaimError)
    return (
        2 * sum(s * m * size for s, m, size in zip(sigma, mu, rank))
        - design.c * level
        - design.spread
    )


def in_scheme(design, sizes):
    """Eigenvalues of the Gram matrix, averaged over pairs that differ in the same attributes.
    The rest changes no eigenvalue by more than the second result.
    """
    need(
        design.notion.is_pure, "these multipliers prove a bound under pure privacy only", ClaimError
    )
    n = design.c
    need(
        all(type(size) is int and 1 < size <= n for size in sizes) and prod(sizes) == n,
        "other sizes",
        ClaimError,
    )
    need(len(set(design.r)) == 1, "the weights are not all equal", ClaimError)
    mu, off = spectrum(design.centered, sizes)
    return [entry * design.factor for entry in mu], off * design.factor


def spectrum(form, sizes):
    """Eigenvalues of a matrix averaged over pairs that differ in the same attributes; largest row
    sum of the rest.
    """
    afford(len(form) ** 2 * len(sizes))
    answers = list(product(*map(range, sizes)))
    full = prod(size - 1 for size in sizes)
    seen = [
        [sum((a != b) << i for i, (a, b) in enumerate(zip(x[::-1], z[::-1]))) for z in answers]
        for x in answers
    ]
    sums = [0] * 2 ** len(sizes)
    counts = [0] * 2 ** len(sizes)
    for parts, row in zip(seen, form):
        for part, entry in zip(parts, row):
            sums[part] += entry
            counts[part] += 1
    common = len(form) * full  # a multiple of every count
    average = [total * (common // count) for total, count in zip(sums, counts)]
    rest = max(
        sum(abs(entry * common - average[part]) for part, entry in zip(*pair))
        for pair in zip(seen, form)
    )
    return transform([Fraction(entry, common) for entry in average], sizes), Fraction(rest, common)


def transform(found, sizes):
    """Eigenvalues, from the entry for each set of attributes that differ; of these, the entries
    times their number.
    """
    for axis, size in enumerate(reversed(sizes)):
        for place in (place for place in range(len(found)) if not place >> axis & 1):
            one = found[place]
            two = found[place | 1 << axis]
            found[place] = one + (size - 1) * two
            found[place | 1 << axis] = one - two
    return found


def by_moments(design, eigenvalues, level, factors, apart):
    """Questions of two answers each: as `by_product`, with the largest eigenvalue of each number of
    questions.
    """
    d = design.c.bit_length() - 1
    mu, off = in_scheme(design, [2] * d)
    groups = [[m for place, m in enumerate(mu) if place.bit_count() == j] for j in range(d + 1)]
    largest = [max(group) + off for group in groups]
    total = list(map(sum, groups))
    return (
        most_by_moments(design.base, largest, total, eigenvalues, level, factors, apart)
        - design.spread
    )


def most_by_moments(base, largest, total, eigenvalues, level, factors, apart):
    """``2 tr(SG) - 1.y``, if ``(1-b)^2 sum_j nu_j W_j <= y E v^2`` for all sets: both sides are
    linear in moments. A moment is the share of answers ``x`` that are in the set with two answers,
    given three distances, or with three, as in `four`; () is 1. ``apart`` are the distances of two
    given answers, for matrices of moments of four. The right side less the left, times ``2**d``, is
    ``sum tr(L' M L)`` over the matrices ``M`` of `moments` and a rest: no moment is negative, none
    is above the share of the set. ``W_j`` is the set's weight in the sets of ``j`` questions.
    """
    d = len(total) - 1
    b = Fraction(*base)
    mass = (0, 0, 0)
    rest = {}
    sums = {}
    level, *sigma = (Fraction(entry, S) for entry in double([level, *eigenvalues], d + 2))
    for j, share in enumerate([level, *(-s * s * m for s, m in zip(sigma[1:], largest[1:]))]):
        # 2**d W_j is the sum of C(d, i) K_j(i) times the moment of two answers at distance i
        for i in range(d + 1):
            rest[0, i, i] = rest.get((0, i, i), 0) + (1 - b) ** 2 * share * comb(d, i) * signs(
                d, j, i
            )
    rest[()], rest[mass] = 2**d * level * b**2, rest[mass] + 2**d * level * 2 * b * (1 - b)
    need(
        all(type(a) is int and 0 < a <= d for a in apart),
        "distances are from 1 to the number of questions",
    )
    afford(20 * len(apart) * comb(d + 7, 7))
    blocks = [*moments(d), *(block for a in apart for block in given_two(d, a)), *forms(d)]
    (given,), unit = short([double(factors, sum(size * (size + 1) // 2 for size, _ in blocks))])
    given = iter(given)
    for size, entries in blocks:
        lower = [[next(given) for _ in range(i + 1)] for i in range(size)]
        # the longer row ends in zeros
        square = [[dot(row, other) for other in lower] for row in lower]
        for i, j, moment, factor in entries:
            sums[moment] = sums.get(moment, 0) + factor * square[i][j]
    rest = {
        moment: rest.get(moment, 0) - sums.get(moment, 0) * unit**2 for moment in {*rest, *sums}
    }
    slope = rest[mass] + sum(
        min(own, 0) for moment, own in rest.items() if moment not in ((), mass)
    )
    need(rest[()] >= 0 <= rest[()] + slope, COSTS, ClaimError)
    return 2 * dot(sigma, total) - 2**d * level


def signs(d, j, i):
    """Sum over the answers to ``d`` questions with ``j`` ones of ``-1`` to the number of these in
    ``i`` questions.
    """
    return sum((-1) ** a * comb(i, a) * comb(d - i, j - a) for a in range(j + 1))


def moments(d):
    """Size and entries ``(row, column, moment, factor)`` of matrices that are positive semidefinite
    for every set. Given an answer in the set, or outside: blocks of Schrijver 2005.
    """
    for k in range(d // 2 + 1):
        inside = []
        outside = [(0, 0, (), 1), (0, 0, (0, 0, 0), -1)] * (k == 0)
        for i, j, t, factor in blocks_of(d, k):
            place = (i - k, j - k)
            far = i + j - 2 * t
            inside.append((*place, tuple(sorted((i, j, far))), factor))
            # else one of the others is the given one: it leaves its row to the constant
            if min(i, j):
                outside += [(*place, (0, far, far), factor), (*place, inside[-1][2], -factor)]
            elif max(i, j):
                outside += [(*place, (0, 0, 0), factor), (*place, (0, far, far), -factor)]
        yield from ((d - 2 * k + 1, entries) for entries in (inside, outside))


def blocks_of(d, k):
    """``i, j, t, factor``: answers of ``i`` and ``j`` ones, ``t`` of them common, in a block of a
    symmetric matrix.
    """
    for i, j in product(range(k, d - k + 1), repeat=2):
        for t in range(max(0, i + j - d), min(i, j) + 1):
            factor = 0
            for u in range(max(t, k), min(i, j, d - k) + 1):
                ways = comb(d - 2 * k, u - k) * comb(d - k - u, i - u) * comb(d - k - u, j - u)
                factor += (-1) ** (u - t) * comb(u, t) * ways
            yield i, j, t, factor


def given_two(d, a):
    """As `moments`, given answers 0 and ``w`` of ``a`` ones: both in the set, only 0, or none.
    Questions are exchanged among these ``a`` and among the others. ``y`` and ``z`` have ``i`` and
    ``j`` of the ones of ``w``, ``t`` of them common, and ``u``, ``v`` and ``s`` others. The row of
    ``w`` is that of 0 or is 0: it is left out.
    """
    for k, m in product(range(a // 2 + 1), range((d - a) // 2 + 1)):
        rows = list(product(range(k, a - k + 1), range(m, d - a - m + 1)))
        if k == m == 0:
            rows.remove((a, 0))
        place = {row: number for number, row in enumerate(rows)}
        both = []
        one = []
        none = [(0, 0, (), 1), (0, 0, (0, 0, 0), -2), (0, 0, (0, a, a), 1)] * (k == m == 0)
        for (i, j, t, factor), (u, v, s, more) in product(blocks_of(a, k), blocks_of(d - a, m)):
            if (i, u) in place and (j, v) in place:
                spot, factor, far = (
                    (place[i, u], place[j, v]),
                    factor * more,
                    i + j + u + v - 2 * (t + s),
                )
                of = four(0, a - i - j + t, u - s, i - t, v - s, j - t, s, t)
                near, end = (
                    tuple(sorted((x + u, y + v, far))) for x, y in ((i, j), (a - i, a - j))
                )
                both.append((*spot, of, factor))
                one += [(*spot, near, factor), (*spot, of, -factor)]
                if i + u and j + v:
                    none += [
                        (*spot, (0, far, far), factor),
                        (*spot, near, -factor),
                        (*spot, end, -factor),
                    ]
                    none.append((*spot, of, factor))
                elif i + u or j + v:  # the constant against the other one
                    x = i + j + u + v
                    y = a - i - j + u + v
                    none += [
                        (*spot, (0, 0, 0), factor),
                        (*spot, (0, x, x), -factor),
                        (*spot, (0, y, y), -factor),
                    ]
                    none.append((*spot, tuple(sorted((a, x, y))), factor))
        yield from ((len(rows), entries) for entries in (both, one, none))


@cache
def four(*counts):
    """The same for answers ``0, w, y, z`` in any order; the three distances if two of them are
    equal. ``counts`` are the numbers of questions by the answers that differ from 0 there, which
    have the bits 1, 2 and 4.
    """
    far = {}
    for pair in combinations(range(4), 2):
        far[pair] = sum(
            count for kind, count in enumerate(counts) if len({2 * kind >> x & 1 for x in pair}) > 1
        )
    for (_, last), distance in far.items():
        if distance == 0:
            return tuple(sorted(own for pair, own in far.items() if last not in pair))
    found = []
    for first, *others in permutations(range(4)):
        moved = dict.fromkeys(product((0, 1), repeat=3), 0)
        for kind, count in enumerate(counts):
            moved[tuple((2 * kind >> x ^ 2 * kind >> first) & 1 for x in others)] += count
        found.append(tuple(moved.values())[1:])
    return min(found)


def forms(d):
    """As `moments`, matrices of one row: patterns of three answers, and sizes."""
    for a, b, c in combinations_with_replacement(range(1, d + 1), 3):
        known = [(), (0, 0, 0), (0, 0, 0), (0, a, a), (0, 0, 0), (0, b, b), (0, c, c), (a, b, c)]
        for p in range(8 * (c <= min(a + b, 2 * d - a - b) and (a + b + c) % 2 == 0)):
            yield 1, [(0, 0, known[q], (-1) ** (p ^ q).bit_count()) for q in range(8) if p & q == p]
    for k in range(min(2**d, 40) if d < 10 else 0):  # (|A| - k)(|A| - k - 1)
        pairs = [(0, 0, (0, i, i), 2**d * comb(d, i)) for i in range(d + 1)]
        yield 1, [*pairs, (0, 0, (0, 0, 0), -(2 * k + 1) * 2**d), (0, 0, (), k * (k + 1))]


class Frequencies:
    """Subset selection for all frequencies with equal weights, times ``unit``: reports are ``k`` of
    ``n`` answers. With probability ``p`` a set has the truth and ``k - 1`` others, else ``k``
    others, all such sets equally likely; ``q`` is the probability that it has a given other answer.
    ``(count / N - q) / (p - q)`` is unbiased.
    """

    KEYS = "inputs unit size mass"

    def __init__(self, data):
        kind, epsilon = keys(data["privacy"], "kind epsilon")
        need(
            kind == "pure" and data["objective"] == "average",
            "frequencies are proved for pure privacy, on average",
        )
        self.n = len(labels(data["inputs"]))
        self.k = data["size"]
        mass = data["mass"]
        self.unit = Fraction(double(data["unit"]), S) ** 2
        self.base = least_ratio(epsilon)
        n = self.n
        k = self.k
        over, under, _ = power(epsilon, 1)
        need(
            type(k) is type(mass) is int and 0 < k < n and 0 < mass < UNIT,
            "size or mass is out of range",
        )
        need(mass * (n - k) * under <= (UNIT - mass) * k * over, "not private", ClaimError)
        self.p = Fraction(mass, UNIT)
        self.q = (self.p * (k - 1) + (1 - self.p) * k) / (n - 1)
        need(self.p > self.q, "reports have no information", ClaimError)
        self.spread = self.unit * (1 - Fraction(1, n))

    def errors(self):
        """Mean squared error and squared bias, the same for all answers."""
        p, q = self.p, self.q
        return self.unit * (self.n * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)), 0

    def bound(self, sizes, eigenvalues, level):
        """By the product bound with one attribute."""
        n = self.n
        most = largest_contrast(self.n, *self.base)
        need(sizes == [n] and type(sizes[0]) is int, "other sizes")
        level, _, sigma = (Fraction(entry, S) for entry in double([level, *eigenvalues], 3))
        need(level >= most * sigma**2 * self.unit, COSTS, ClaimError)
        return 2 * sigma * self.unit * (n - 1) - n * level - self.spread


class Questions:
    """Tables of ``d`` questions of two answers each: reports are random sets of answers, of some
    kinds. The numbers of ones in some parts of the questions decide which answers are in a set.
    Which questions these are, and which answers count as ones, is uniform; a set has the truth with
    probability ``held``, over ``UNIT``. The sign of ``j`` questions is -1 to the number of ones;
    its mean over the set, times the contrast of the set and ``2**d`` over ``information[j]``,
    estimates the sign of the truth without bias. These estimates are uncorrelated on average over
    the answers, with the mean square ``2**d / information[j]``; the error of a table is the same
    for every answer.
    """

    KEYS = "questions tables kinds"

    def __init__(self, data):
        kind, epsilon = keys(data["privacy"], "kind epsilon")
        d = len(data["questions"])
        need(kind == "pure", "sets are proved for pure privacy")
        need(0 < d <= 24, f"{d} questions", NotCheckedError)
        labels([name for name, *_ in data["questions"]])
        need(
            all(len(labels(answers)) == 2 for _, *answers in data["questions"]),
            "a question has two answers",
        )
        self.mu = [Fraction(0)] * (d + 1)
        self.information = [Fraction(0)] * (d + 1)
        for ways, factor in data["tables"]:
            need(
                type(ways) is int and 0 < ways <= d, "a table has from one to all of the questions"
            )
            for j in range(1, ways + 1):
                self.mu[j] += (
                    Fraction(double(factor), S) ** 2 * 2 ** (d - ways) * comb(d - j, ways - j)
                )
        self.total, self.base = (
            [mu * comb(d, j) for j, mu in enumerate(self.mu)],
            least_ratio(epsilon),
        )
        self.spread = sum(self.total) / 2**d
        for parts, inside, mass, held in data["kinds"]:
            need(
                {*map(type, [*parts, *inside, mass, held])} == {int},
                "a kind of sets has whole numbers only",
            )
            need(
                min(parts) > 0 < mass and sum(parts) <= d and 0 < held < UNIT,
                "a number is out of range",
            )
            afford(100 * prod(part + 1 for part in parts) ** 2)
            cells = list(product(*(range(part + 1) for part in parts)))
            ways = 2 ** sum(parts)
            need(
                len(inside) == len(cells) and {*inside} == {0, 1},
                "sets have some of the numbers of ones, not all",
            )
            own = list(compress(cells, inside))
            sums = {j: sum(prod(map(signs, parts, cell, j)) for cell in own) for j in cells}
            high = Fraction(held, sums[cells[0]])
            low = Fraction(UNIT - held, ways - sums[cells[0]])
            over, under, _ = power(epsilon, 1)
            need(high * under <= low * over, "not private", ClaimError)
            need(high > low, "sets do not favor the truth")
            for j, value in sums.items():
                square = (
                    Fraction(mass, UNIT)
                    * ((high - low) * value / UNIT) ** 2
                    * prod(map(comb, parts, j))
                )
                self.information[sum(j)] += square * 2**d / comb(d, sum(j))
        need(
            sum(mass for _, _, mass, _ in data["kinds"]) == UNIT,
            "the masses of the kinds do not sum to 2**53",
        )
        need(
            any(self.mu) and all(own for own, mu in zip(self.information, self.mu) if mu),
            "no table or information",
        )

    def errors(self):
        """Mean squared error and squared bias, the same for all answers."""
        return sum(
            total / own for total, own in zip(self.total, self.information) if total
        ) - self.spread, 0

    def bound(self, eigenvalues, level, factors, apart):
        """By the moments of sets."""
        return (
            most_by_moments(self.base, self.mu, self.total, eigenvalues, level, factors, apart)
            - self.spread
        )


PROOFS = {Frequencies: {"product": Frequencies.bound}, Questions: {"moments": Questions.bound}}
PROOFS[Design] = {
    "form": by_form,
    "mean": by_mean,
    "product": by_product,
    "moments": by_moments,
    "none": lambda _: 0,
}


# What reports reveal.

# bits of masses of atoms, and of ratios in fixed point
ACCOUNT, PLACES = "ldpopt account certificate 1", 1024
ONE = ((1 << PLACES, 1 << PLACES),)  # the atoms of no report


class Account:
    """What reports of a person reveal together: pairs of masses that bound the excess ``sum (P - a
    Q)+``. Of one channel the largest excess of all pairs of answers is convex in ``a``. An atom at
    each of some ratios, with the change of slope there, interpolates it, which is an upper bound.
    For channels fixed in advance the products of the atoms bound the excess of all reports, also if
    answers depend on earlier reports. Two halves are multiplied out; masses under the first answer
    are rounded up, others down, and close ratios are raised to the largest of them.
    """

    def __init__(self, reports):
        need(isinstance(reports, list) and reports, "there are no reports")
        one = reports[0] if len(reports) == 1 else {}
        self.alone = (
            one
            if one.get("kind") == "shuffled" and one["times"] == 1 and type(one["times"]) is int
            else None
        )
        self.certain = 0
        self.halves = [ONE] * 2
        rest = 1
        for report in [] if self.alone else reports:
            times = report["times"]
            need(type(times) is int and 0 <= times < 2**20, "times is not a number of repetitions")
            atoms, certain = atoms_of(report)
            rest *= (1 - certain) ** times
            for part in (times - times // 2, times // 2):
                small = len(self.halves[0]) > len(self.halves[1])
                self.halves[small] = multiply(
                    self.halves[small], repeat(multiply, ONE, atoms, part)
                )
        self.certain = 1 - rest

    def excess(self, a):
        """Upper bound of the excess at ``a``."""
        if self.alone:
            return most_of(self.alone, a)
        left, right = self.halves
        over, under = a.as_integer_ratio()
        right = sorted(right, key=order, reverse=True)
        sums = [(0, 0), *accumulate(right, lambda one, two: (one[0] + two[0], one[1] + two[1]))]
        total = 0
        for p, q in left:  # the first atoms count, whose excess with this one is positive
            place = bisect(
                right, False, key=lambda atom, p=p, q=q: p * atom[0] * under <= over * q * atom[1]
            )
            total += under * p * sums[place][0] - over * q * sums[place][1]
        return self.certain + Fraction(total, under << 2 * PLACES)


def order(atom):
    """Ratio of an atom in fixed point."""
    return (atom[0] << 2 * PLACES) // atom[1] if atom[1] else 1 << 5 * PLACES


def multiply(left, right):
    """Products of atoms; ratios that differ by less than one part in 2**44 become the largest of
    them.
    """
    afford(300 * len(left) * len(right))
    found = [(-(-p * r >> PLACES), q * s >> PLACES) for p, q in left for r, s in right]
    found.sort(key=order, reverse=True)
    merged = []
    top = None
    for p, q in found:
        if top and top[1] and (top[0] * q << 44) <= (p * top[1] << 44) + p * top[1]:
            mass = merged[-1][0] + p
            merged[-1] = (mass, mass * top[1] // top[0])
        elif p:
            top = (p, q)
            merged.append(top)
    return merged


def repeat(multiply, found, law, times):
    """Product of one law, and of another a number of times."""
    while times:
        found = multiply(found, law) if times & 1 else found
        times //= 2
        law = multiply(law, law) if times else law
    return found


def atoms_of(report):
    """Atoms of one report, and the mass of reports that are impossible under another answer, as
    bounds.
    """
    if report["kind"] == "one_of":
        parts = report["sources"]
        need(
            isinstance(parts, list) and parts and set(report) == {"kind", "times", "sources"},
            "no sources",
        )
        each = [atoms_of(part) for part in parts]
        atoms = [(-(-p // len(parts)), q // len(parts)) for found, _ in each for p, q in found]
        return atoms, sum(certain for _, certain in each) / len(parts)
    if report["kind"] == "ratios":
        top = fraction(report["odds"])
        share = fraction(report["share"])
        need(top >= 1 and 0 <= share * (1 + 1 / top) <= 1, "odds or share out of range")
        masses = [(share, share / top), (share / top, share), (1 - share - share / top,) * 2]
        return [(ceil(p * 2**PLACES), floor(q * 2**PLACES)) for p, q in masses], Fraction(0)
    points = sorted({fraction(text) for text in report["ratios"]})
    need(not points or points[0] > 0, "a ratio is not positive")
    afford(10**5 * len(points))
    corners = []  # of the lower hull of the bounds, which a convex excess is below
    for a, value in [
        (Fraction(0), Fraction(1)),
        *((a, min(most_of(report, a), Fraction(1))) for a in points),
    ]:
        while len(corners) > 1 and (corners[-1][1] - corners[-2][1]) * (a - corners[-2][0]) >= (
            value - corners[-2][1]
        ) * (corners[-1][0] - corners[-2][0]):
            corners.pop()
        corners.append((a, min(value, corners[-1][1]) if corners else value))
    slopes = [(v - u) / (b - a) for (a, u), (b, v) in pairwise(corners)] + [Fraction(0)]
    bends = [(a * (t - s), t - s) for (a, _), s, t in zip(corners[1:], slopes, slopes[1:])]
    return [(ceil(p * 2**PLACES), floor(q * 2**PLACES)) for p, q in bends], corners[-1][1]


def most_of(report, a):
    """Largest excess of all pairs of answers of one report at ``a``: exact, or by the blanket if it
    is shuffled.
    """
    kind = report["kind"]
    table = report["masses"]
    extra = {"reports": "", "shuffled": "people", "permanent": "fresh publications"}[kind]
    names = {"kind", "masses", "pairs", "ratios", *extra.split()}
    need(set(report) in (names, names | {"times"}), f"reports should have the keys {sorted(names)}")
    n = len(table)
    masses(table, n, len(table[0]))
    pairs = list(permutations(range(n), 2)) if report["pairs"] is None else report["pairs"]
    need(
        all(len(pair) == 2 and {*map(type, pair)} == {int} for pair in pairs),
        "pairs are of two positions",
    )
    need(pairs and all(0 <= x < n for pair in pairs for x in pair), "a pair names no row")
    if kind == "shuffled":
        return most_shuffled(table, pairs, report["people"], a)
    unit = UNIT
    if kind == "permanent":
        times = report["publications"]
        fresh = masses(report["fresh"], len(table[0]), len(report["fresh"][0]))
        need(type(times) is int and times > 0, "publications is not a positive number")
        afford(1000 * comb(times + len(fresh[0]) - 1, times) * n * len(fresh))
        unit = UNIT ** (times + 1)
        columns = []
        for reports in combinations_with_replacement(range(len(fresh[0])), times):
            ways = prod(range(1, times + 1))
            for y in set(reports):
                ways //= prod(range(1, reports.count(y) + 1))
            weights = [ways * prod(row[y] for y in reports) for row in fresh]
            columns.append([sum(map(mul, row, weights)) for row in table])
        table = list(zip(*columns))
    over, under = a.as_integer_ratio()
    excesses = (
        sum(max(under * p - over * q, 0) for p, q in zip(table[x], table[z])) for x, z in pairs
    )
    return Fraction(max(excesses), under * unit)


def most_shuffled(table, pairs, n, a):
    """Excess of the shuffled reports of ``n`` people: all data sets of two answers and reports, or
    the blanket. With the least masses ``m`` of the reports: ``E (V_1 + ... + V_n)+ / n``, where
    ``V`` is ``(P - a Q) / m`` with probability ``m``, else 0; a report without such a mass counts
    with ``(P - a Q)+`` (Balle and others, 2019).
    """
    need(type(n) is int and 0 < n <= 10**7, "people is not a number from 1 to 10**7")
    if len(table) == len(table[0]) == 2 and n <= 200:
        return max(most_of_two(table, x, z, n, a) for x, z in pairs)
    least = [min(column) for column in zip(*table)]
    best = Fraction(0)
    bits = [max(max(column).bit_length() - 36, 0) for column in zip(*table)]
    # Rows that differ by rounding are made equal: more mass for x, less for z and the blanket.
    every = (zip(table[x], table[z], least, bits) for x, z in pairs)
    for rows in {
        tuple(sorted((-(-p >> b) << b, q >> b << b, m >> b << b) for p, q, m, b in own))
        for own in every
    }:
        sparse = [(p, q) for p, q, m in rows if m * n * 10**5 < UNIT]
        alone = sum((max(Fraction(p - a * q, UNIT), Fraction(0)) for p, q in sparse), Fraction(0))
        law = {}
        for p, q, m in rows:
            if m * n * 10**5 >= UNIT:
                law[(p - a * q) / m] = law.get((p - a * q) / m, 0) + Fraction(m, UNIT)
        best = max(best, alone + positive_part(law, n) / n)
    return best


def most_of_two(table, x, z, n, a):
    """Largest excess of two answers and two reports over the answers of all others, by
    enumeration.
    """
    afford(10 * n**3)
    one = 2**512
    over, under = a.as_integer_ratio()

    def law(counts, up):
        found = [one]
        for row, count in zip(table, counts):
            for _ in range(count):
                pairs = zip([*found, 0], [0, *found])
                sums = [u * row[0] + v * row[1] for u, v in pairs]
                found = [-(-mass // UNIT) if up else mass // UNIT for mass in sums]
        return found

    best = 0
    for count in range(n):
        first, second = ([n - 1 - count, count] for _ in range(2))
        first[x] += 1
        second[z] += 1
        parts = zip(law(first, True), law(second, False))
        best = max(best, sum(max(under * p - over * q, 0) for p, q in parts))
    return Fraction(best, under * one)


def positive_part(law, n):
    """Upper bound of the mean positive part of a sum of n variables; the mass that is missing is at
    0. Values are split between two multiples of a step, with their mean, which raises every convex
    mean. Masses get weights ``b**s``, which center the sum. Those far from the center are left out,
    and count with the largest ``s b**-s``, at most ``b / (2 (b - 1))``. Masses are over 10**36,
    rounded up; products are those of long decimals.
    """
    top = max(law, default=0)
    if top <= 0:
        return Fraction(0)
    floats = [(float(value), float(mass)) for value, mass in law.items()]
    unit = 40 / float(top) / 2**40

    def slope(b):
        return sum(v * p * e ** (b * (v - float(top))) for v, p in floats)

    low = unit * bisect(range(2**40), 0, key=lambda place: slope(place * unit))
    spread = sum(v * v * p * e ** min(low * v, 40) for v, p in floats) ** 0.5
    least = (top - min(law)) / 2**14
    step = max(Fraction(spread / (40 if n <= 1000 else 16 if n <= 20000 else 6)), least)
    cells = {0: 1 - sum(law.values())}
    for value, mass in law.items():
        place = floor(value / step)
        share = value / step - floor(value / step)
        cells[place] = cells.get(place, 0) + mass * (1 - share)
        cells[place + 1] = cells.get(place + 1, 0) + mass * share
    base = Fraction(round(e ** (low * float(step)) * 2**40), 2**40)
    ten = 10**36
    width = 76
    weights = {s: Fraction(ceil(mass * base**s * 2**200), 2**200) for s, mass in cells.items()}
    total = sum(weights.values())
    context = Context(prec=999999999999999999, Emax=999999999999999999)
    start = min(cells)
    first = [ceil(weights.get(s, 0) / total * ten) for s in range(start, max(cells) + 1)]
    afford(len(first) * 10**4)

    def joined(one, two):
        (a, left, lost, scale), (b, right, more, factor) = one, two
        texts = ["".join(f"{mass:0{width}d}" for mass in reversed(part)) for part in (left, right)]
        count = len(left) + len(right) - 1
        digits = str(context.multiply(*map(Decimal, texts))).zfill(width * count)[-width * count :]
        found = [
            -(-int(digits[k : k + width]) // ten) for k in range(width * (count - 1), -1, -width)
        ]
        begin = min(bisect(list(accumulate(found)), 10**12 - 1), len(found) - 1)
        end = max(len(found) - bisect(list(accumulate(found[::-1])), 10**12 - 1), begin + 1)
        need(
            sum(left) < 1.1 * ten and sum(right) < 1.1 * ten,
            "rounding has changed masses",
            NotCheckedError,
        )
        lost = (lost + more) * Fraction(11, 10) + Fraction(
            sum(found[:begin]) + sum(found[end:]), ten
        )
        return a + b + begin, found[begin:end], lost, upwards(scale * factor)

    least, parts, lost, scale = repeat(
        joined, (0, [ten], 0, Fraction(1)), (start, first, 0, total), n
    )
    most = min(Fraction(n * max(cells)), base / (2 * (base - 1)) if base > 1 else n * max(cells))
    over, under = base.as_integer_ratio()
    first = max(least, 1)
    share = -(-ten * under**first // over**first)
    sums = 0
    for s in range(first, least + len(parts)):
        sums += -(-s * parts[s - least] * share // ten)
        share = -(-share * under // over)
    return (Fraction(sums, ten) + lost * most) * scale * step


def upwards(value):
    """A positive rational with 200 significant bits, not below."""
    shift = max(200 + value.denominator.bit_length() - value.numerator.bit_length(), 0)
    return Fraction(ceil(value * 2**shift), 2**shift)


def check_account(data):
    """Check a certificate of what reports reveal: the delta that is claimed at each epsilon."""
    keys(data, "format reports claims made_by digest")
    need_digest(data)
    account = Account(data["reports"])
    words = []
    need(isinstance(data["claims"], list) and data["claims"], "there are no claims")
    for claim in data["claims"]:
        epsilon, delta = keys(claim, "epsilon delta")
        ratio, low, _ = nats(epsilon)
        found = account.excess(ratio or near("exp", low, up=False))
        need(
            found <= fraction(delta),
            f"delta at epsilon {epsilon}: {decimal(found)} was found",
            ClaimError,
        )
        words.append(f"({epsilon:.9g}, {decimal(fraction(delta), 9)})")
    return f"all reports together are (epsilon, delta)-private with {', '.join(words)}"


# The files.


def decimal(value, digits=15):
    """A rational in decimals."""
    return f"{float(value):.{digits}g}" if abs(value) < 10**308 else "more than 1e308"


def check(path):
    """Check the certificate in a file; its value in words, the bound and the gap."""
    data = read(path)
    need(
        isinstance(data, dict) and isinstance(data.get("format"), str),
        "not a certificate of ldpopt",
    )
    kinds = {
        "ldpopt certificate 1": check_program,
        ACCOUNT: lambda data: (check_account(data), None, None),
    }
    return kinds.get(data["format"], check_design)(data)


def main(paths):
    """Check files, print one line for each, and return the largest exit code."""
    code = 0
    for path in paths:
        try:
            value, bound, gap = check(path)
            proved = "" if bound is None else f", bound {decimal(bound)}, gap {decimal(gap, 3)}"
            line = f"private; {value}{proved}: holds"
            own = 0
        except ClaimError as error:
            line = f"DOES NOT HOLD: {error}"
            own = 1
        except NotCheckedError as error:
            line = f"NOT CHECKED: {error}"
            own = 2
        except Exception as error:  # any failure: nothing was proved
            line = f"not a certificate: {type(error).__name__}: {error}"
            own = 2
        code = max(code, own)
        print(f"{path}: {line[:500]}")
    return code


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    if not sys.argv[1:]:
        print("usage: python ldpopt_check.py FILE ...", file=sys.stderr)
    sys.exit(main(sys.argv[1:]) if sys.argv[1:] else 2)
