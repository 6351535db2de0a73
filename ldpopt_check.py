"""Check certificates of ldpopt with Python's standard library alone.

Use: ``python ldpopt_check.py FILE ...``. This file shares no code with ldpopt, and needs no other
one. A certificate that claims more than is proved here is refused.

The parts can be read in this order; the numbers are their first lines:

    1. Reading: files, numbers, labels, masses ...........................................  138
    2. e**x and ln between rationals .....................................................  293
    3. Privacy notions ...................................................................  367
    3a. Privacy notions of many budgets ..................................................  641
    3b. Privacy notions that compare averages ............................................  774
    4. Programs: what the mechanism is worth, and what no private mechanism can pass ..... 1106
    5. Designs: error and bias of the estimator that is used ............................. 1419
    5a. What a file says of its mechanism once more ...................................... 2218
    6. Designs: bounds on all private mechanisms ......................................... 2286
    6a. Sets of answers, one by one ...................................................... 2365
    6b. Sets of many answers, by a matrix that is positive semidefinite .................. 2436
    6c. Extreme rays of graphs, metrics and one-sided privacy ............................ 2555
    6d. A single mean .................................................................... 2870
    6e. Products: combinations of attributes ............................................. 2967
    6f. Questions of two answers each: moments of sets ................................... 3147
    6g. Caps on the influence ............................................................ 3444
    7. Reports: what several reports of a person reveal together ......................... 3623
    7a. One report, as atoms ............................................................. 3819
    7b. Shuffled reports ................................................................. 3975
    7c. The mean positive part of a sum of many variables ................................ 4048
    7d. Many reports: masses on levels of the loss ....................................... 4205
    7e. Answers that depend on reports ................................................... 4449
    8. Files, and the command line ....................................................... 4716

A function begins with its claim, as an inequality or equation where it has one. Names such as
``thm-estimation-bound`` are the labels of theorems in the documentation (docs/theory), where the
proofs are. ``x+`` is ``max(0, x)``; ``u.v`` is the sum of products; ``M'`` is the transpose of
``M``; ``1`` is also the vector of ones, and ``1_A`` that of a set: 1 for what is in ``A``, else 0.

**A program** (``certify(solve(problem))``): the masses are private for the real ``e**epsilon``;
``achieved`` is their value; they miss no side constraint by more than its residual; and ``bound``
bounds the value of every private mechanism that satisfies the constraints, up to `TOLERANCE`.

**A design** (``design(workload, privacy)``): the masses are private; the estimator that is used,
``V = W X`` with the first row of ``X`` exact (see `Design.read_estimator`), has the mean squared
error ``achieved`` at most and the bias ``bias`` at most, which is negligible (see `check_design`);
no private mechanism with any unbiased estimator has less than ``bound``; and no name, label or
number was changed since the digest was written.

**Reports** (``curve.certificate``): the reports that are stated are (epsilon, delta)-private
together at every epsilon that is claimed, for the pairs of answers that the file names (``null``
names all); if they are shuffled, whatever all others answer.

Every double is an integer over 2**1074. ``e**x`` and ``ln x`` are enclosed by the decimals next to
the one that Python rounds correctly. Sums and products are exact, or rounded to the side that
proves less. Where a float occurs it only proposes, and integers decide. Trusted: Python's integers
and decimals, and that the statement in the file is the one meant. What is printed of a program or a
design are the numbers that were found here, of reports the claims.

Exit codes: 0 everything holds; 1 something does not hold; 2 not readable as a certificate, or NOT
CHECKED, because the proof would take too long: files above 128 MiB, more than 10**9 products, parts
of more than 20 tied answers or 100 000 extreme rays, columns whose largest and least entries may
differ by a factor above ``e**5000`` (5000 nats).
"""

import json
import re
import sys
from bisect import bisect
from copy import copy
from decimal import MAX_EMAX, MAX_PREC, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
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
from math import ceil, comb, e, exp, floor, frexp, gcd, isqrt, lcm, pi, prod, sqrt
from operator import add, mul, ne
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

S = 2**1074  # doubles are integers over it
UNIT = 2**53  # masses, which are probabilities, are integers over it
TOLERANCE = Fraction(1, 10**15)  # by which a claimed bound of a program may pass the proved one

# What is above these numbers is not checked.
BYTES = 2**27  # of a file
PRODUCTS = 10**9  # of two numbers, for one purpose
LISTED = 32  # answers whose sets are listed
CAPPED = 20  # the same for caps on the influence
TIED = 20  # answers that are tied to each other
RAYS = 100_000
DIAGRAMS = 5000  # sets of two attributes that are listed; for more there is another proof
NATS = 5000  # epsilon times the largest distance in a column


class ClaimError(Exception):
    """The certificate does not hold: exit code 1."""


class NotCheckedError(Exception):
    """The certificate was not checked, and may hold or not: exit code 2."""


def need(holds, message, error=ValueError):
    """Raise an error if a condition does not hold.

    A ``ValueError`` says that the file is no certificate; `ClaimError` that it claims too much.
    """
    if not holds:
        raise error(message)


def afford(products):
    """Refuse work that would take too long, before it is begun."""
    need(
        products <= PRODUCTS,
        f"{products:.1e} products are more than {PRODUCTS:.0e}",
        NotCheckedError,
    )


def dot(left, right):
    """Sum of products; where one list is longer, the rest of it does not count."""
    return sum(map(mul, left, right))


def decimal(value, digits=15):
    """A rational in decimals, for messages only: nothing is decided by them."""
    return f"{float(value):.{digits}g}" if abs(value) < 10**308 else "more than 1e308"


# 1. Reading: files, numbers, labels, masses
#
# Every number is bounded before it is made, so that no file makes the checker hang. What two
# readers may read differently is refused: a certificate of one statement must not pass for one of
# another.


def read(path):
    """The JSON in a file.

    Duplicate keys, NaN, infinity, and integers of more than 400 characters are refused. A file that
    is no plain one, such as a pipe, is not opened.
    """

    def unique(pairs):
        need(len(dict(pairs)) == len(pairs), "a duplicate key")
        return dict(pairs)

    def integer(text):
        need(
            len(text) <= 400 and text.strip("-").isdigit(),
            f"{text:.60} is not a number of at most 400 digits",
        )
        return int(text)

    need(Path(path).is_file(), "no such file, or not a plain one", OSError)
    with open(path, "rb") as stream:
        raw = stream.read(BYTES + 1)
    need(len(raw) <= BYTES, f"the file has more than {BYTES >> 20} MiB", NotCheckedError)
    # Python calls the last hook for NaN and infinity only, which are no integers.
    hooks = {"object_pairs_hook": unique, "parse_int": integer, "parse_constant": integer}
    return json.loads(raw.decode("utf-8-sig"), **hooks)


def keys(table, names):
    """Values of an object that has exactly these keys, in the order of the names."""
    need(
        isinstance(table, dict) and set(table) == set(names.split()),
        f"an object should have the keys {names}",
    )
    return map(table.get, names.split())


def double(value, *shape):
    """``S`` times the double that a number, or hexadecimal text, stands for: an integer.

    With a shape, lists of that many lists, and so on, of such integers. Every finite double is a
    multiple of ``2**-1074``, hence nothing is rounded but a decimal to its double, which is what
    every reader of JSON does.
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
    # The type of True is bool, so that it is no number here.
    need(
        type(value) in (int, float) and abs(value) < float("inf"),
        f"{value!r:.60} is not a finite number",
    )
    over, under = float(value).as_integer_ratio()
    return over * (S // under)


def whole(value, stop):
    """A whole number from 0 to before the end; neither true, which is 1, nor 1.0."""
    need(
        type(value) is int and 0 <= value < stop,
        f"{value!r:.60} is not a whole number from 0 to {stop - 1}",
    )
    return value


def listed(value):
    """A list."""
    need(isinstance(value, list), f"{value!r:.60} is not a list")
    return value


def fraction(text):
    """The rational of a text such as ``-3/4``: no exponents, at most 4000 digits a side."""
    plain = isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?", text)
    need(plain, f"{text!r:.60} is not a fraction")
    return Fraction(text)


def sized(text):
    """The rational of a text; an error if it is beyond all doubles."""
    value = fraction(text)
    float(value)
    return value


def labels(names):
    """Distinct labels of answers or reports, as texts; see `label`."""
    need(isinstance(names, list) and names, "labels are a list")
    texts = [label(name) for name in names]
    need(len(set(texts)) == len(texts), "a duplicate label")
    return texts


def label(name):
    """JSON text of a label: text, a finite number, or a list of labels.

    Equal numbers have one text, as 1, 1.0 and true have; the number 1 is not the text "1".
    """
    if isinstance(name, list):
        return f"[{', '.join(map(label, name))}]"
    if isinstance(name, str):
        return json.dumps(name)
    need(
        isinstance(name, (int, float)) and abs(name) < float("inf"),
        f"the label {name!r:.60} is neither text nor a finite number nor a list of them",
    )
    return json.dumps(int(name) if name == int(name) else name)


def masses(table, n, m):
    """The channel ``P(x, y) = table[x][y] / UNIT``: ``n`` rows of ``m`` integers ``>= 0``.

    Each row sums to ``UNIT`` exactly: a distribution of the reports, which a computer can draw
    from with 53 random bits.
    """
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
    """Refuse an object that was changed after its digest was written.

    The digest is the SHA-256 of all that the object says but for the digest. It protects from
    accidents; who changes a file on purpose computes it again, and all else is proved here anyway.
    """
    content = {key: data[key] for key in data if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    same = sha256(text.encode()).hexdigest() == data["digest"]
    need(
        same,
        "the digest does not fit: something was changed after the file was written",
        ClaimError,
    )


# 2. e**x and ln between rationals
#
# Privacy compares masses with e**epsilon, which is no rational. It is enclosed by two: an audit
# uses the lower one, so that masses which pass are private; a bound uses e**-epsilon rounded down,
# which allows more channels than there are, so that what is true of all of these is true of the
# private ones.


def near(function, x, up, digits=400):
    """A rational below ``ln x`` or ``exp x``, or above it if ``up``, near it to 395 digits or so.

    ``x`` is first rounded to a decimal in the same direction, and both functions rise. Python
    documents that its decimals are rounded correctly, to the nearest one whatever direction is set:
    the next decimal is on the right side.
    """
    context = Context(
        prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emax=10**8, Emin=-9999
    )
    value = getattr(context, function)(context.divide(x.numerator, x.denominator))
    return Fraction(context.next_plus(value) if up else context.next_minus(value))


@lru_cache(maxsize=None, typed=True)
def nats(epsilon, digits=400, most=10001):
    """``e**epsilon`` if it is a rational, else None; and ``low <= epsilon <= high``, rationals.

    ``epsilon`` is a number, 0.4 or "1/10", or a logarithm, "log(3)"; 0.4 is 4/10, and not the
    double near it. It is at least 0; above ``most`` it is refused.
    """
    need(type(epsilon) in (int, float, str) and len(str(epsilon)) <= 500, "epsilon is not a number")
    text = str(epsilon).strip().lower()
    logarithm = re.fullmatch(r"(?:log|ln)\s*\((.+)\)", text)
    text = logarithm[1].strip() if logarithm else text
    need(
        re.fullmatch(r"[-+0-9./]+(e[-+]?[0-9]{1,4})?", text),
        f"epsilon: {text!r:.60} is not a number",
    )
    number = Fraction(text)
    need(number >= (1 if logarithm else 0), "epsilon is not >= 0")
    low = near("ln", number, False, digits) if logarithm else number
    high = near("ln", number, True, digits) if logarithm else number
    need(high <= most, f"epsilon is above {most - 1}")
    ratio = number if logarithm else None if number else Fraction(1)  # e**0 is 1
    return ratio, max(low, Fraction(0)), high


@lru_cache(maxsize=None, typed=True)
def power(epsilon, distance):
    """``over, under, b`` with ``over / under <= e**(epsilon d)`` and ``b / S <= e**(-epsilon d)``.

    Equality holds in both, but for the rounding of ``b`` to an integer, if ``e**epsilon`` is a
    rational and ``d``, the distance, a whole number up to 64.
    """
    ratio, low, high = nats(epsilon)
    if ratio and distance == int(distance) <= 64:
        least = most = ratio ** int(distance)
    else:  # 1 / S is about e**-744: above 750 the first power is lowered, and b is 0
        least = near("exp", min(low * distance, Fraction(750)), up=False)
        most = near("exp", min(high * distance, Fraction(750)), up=True)
    return *max(least, Fraction(1)).as_integer_ratio(), most.denominator * S // most.numerator


def least_ratio(epsilon):
    """``low, high`` with ``low / high <= e**-epsilon``, near it to 96 bits, and ``low > 0``.

    Designs are bounded with it: columns whose entries differ by this smaller ratio form a larger
    cone, so that a bound for it holds for the real one too.
    """
    ratio, _, top = nats(epsilon)
    exact = ratio or near("exp", top, up=True)
    bits = 96 + max(0, exact.numerator.bit_length() - exact.denominator.bit_length())
    return (exact.denominator << bits) // exact.numerator, 1 << bits


# 3. Privacy notions
#
# A notion ties answers to each other. If i is tied to k at the distance d, no report may be more
# than e**(epsilon d) times as likely under i as under k, up to delta.

# The keys of each kind in a file, beside kind.
KEYS = {
    "pure": "epsilon",
    "approximate": "epsilon delta form edges neighbors",
    "graph": "epsilon edges parts neighbors",
    "metric": "epsilon distance",
    "one_sided": "epsilon sensitive",
    "utility_optimized": "epsilon sensitive protected",
    "curve": "points",
    "gaussian": "mu",
}


def need_keys(table):
    """Refuse a key that the kind of a notion does not have."""
    known = {"kind", *KEYS[table["kind"]].split()}
    need(set(table) <= known, f"unknown key among {sorted(table)}")


class Notion:
    """``P(i, E) <= e**(epsilon d) P(k, E) + delta`` for all tied pairs and events ``E``.

    The attribute ``delta`` is over ``S``. ``ties`` maps the ordered pair ``(i, k)`` to its distance
    ``d``. It is None if nothing needs to be listed: every ``i`` in ``capped`` is tied to all other
    ``k`` at the distance ``unit``, and no other ``i`` is. ``capped`` has all answers but in
    one-sided privacy, where it has the sensitive ones. ``unit`` is None if the distances differ, or
    some pairs are not tied.

    ``owner[y]`` is the only answer that may give report ``y``, to which no inequality applies; it
    is None for all other reports, which are ``tied``. An event ``E`` is a set of tied reports; with
    ``single`` it is a single one. ``is_pure``: all answers are tied at distance 1, with ``delta =
    0`` and no owners.
    """

    def __init__(self, table, inputs, outputs):
        kind = table["kind"]
        place = {name: x for x, name in enumerate(inputs)}
        self.n = len(inputs)
        self.epsilon = table["epsilon"]
        nats(self.epsilon)  # refused if it is none
        need(kind in TIES_OF, f"unknown kind {kind!r:.60}")
        need_keys(table)
        sensitive = sensitive_of(table, place) if "sensitive" in KEYS[kind] else set()
        self.delta = delta_of(table) if kind == "approximate" else 0
        self.single = table.get("form") == "entry"
        self.ties = TIES_OF[kind](table, place)
        self.capped = sensitive if kind == "one_sided" else set(range(self.n))
        self.owner = [None] * len(outputs)
        if kind == "utility_optimized":
            self.owner = owners_of(table, place, sensitive, outputs)
        self.tied = [y for y, owner in enumerate(self.owner) if owner is None]
        self.unit = common_distance(self.n, self.ties)
        self.is_pure = kind != "metric" and self.unit == 1 and len(self.capped) == self.n
        self.is_pure &= not self.delta
        if kind == "utility_optimized":
            self.is_pure &= len(sensitive) == self.n and "protected" not in table

    def at(self, epsilon):
        """The same notion at another budget."""
        stated = copy(self)
        stated.epsilon = epsilon
        return stated

    def distance(self, i, k):
        """Distance of a tied pair; None if it is not tied."""
        if self.ties is not None:
            return self.ties.get((i, k))
        return self.unit if i in self.capped and i != k and 0 <= k < self.n else None

    def audit(self, rows):
        """Refuse masses that violate an inequality of the notion."""
        need_owned(rows, self.owner)
        if self.unit is not None and not self.delta:
            self.audit_columns(rows)
        else:
            self.audit_pairs(rows)

    def audit_columns(self, rows):
        """One ratio for all pairs: ``under max_i P(i, y) <= over min_k P(k, y)`` for every report.

        ``i`` is capped and ``k`` is any answer; ``over / under <= e**(epsilon unit)``. If both are
        one answer, the largest mass is the least one, and the inequality holds.
        """
        over, under, _ = power(self.epsilon, self.unit)
        for y in self.tied:
            top = max((rows[x][y] for x in self.capped), default=0)
            least = min(row[y] for row in rows)
            need(top * under <= over * least, f"not private: report {y}", ClaimError)

    def audit_pairs(self, rows):
        """Each tied pair: ``sum_y (under P(i, y) - over P(k, y))+ <= under delta``.

        The event that has the largest excess is that of all reports with a positive one, so that
        the sum of the positive parts is the largest excess of all events. With ``single``, the
        largest term stands in place of the sum (thm-notions-entry-event compares the two).
        """
        pairs = self.ties
        if pairs is None:
            pairs = [pair for pair in permutations(range(self.n), 2) if pair[0] in self.capped]
        distances = set((self.ties or {}).values())
        afford(len(pairs) * len(self.tied) + 1000 * len(distances))
        for i, k in pairs:
            over, under, _ = power(self.epsilon, self.distance(i, k))
            excesses = [under * rows[i][y] - over * rows[k][y] for y in self.tied]
            if self.single:
                excess = max(excesses, default=0)
            else:
                excess = sum(entry for entry in excesses if entry > 0)
            need(
                excess * S <= self.delta * UNIT * under,
                f"not private: input {i} against input {k}",
                ClaimError,
            )


def need_owned(rows, owners):
    """Refuse masses of a report under an answer that does not own it, if another one does."""
    for y, owner in enumerate(owners):
        need(
            owner is None or not any(row[y] for x, row in enumerate(rows) if x != owner),
            f"not private: report {y} has mass under an input that does not own it",
            ClaimError,
        )


# What each kind of notion has of its own. A table is what the file says of the notion, and place
# maps the label of each answer to its number. TIES_OF has a function for each kind, which returns
# the ties: a distance for each ordered pair, or None where nothing needs to be listed.


def all_pairs(table, place):
    """None, of pure and approximate privacy, and of those with sensitive answers.

    All capped answers are tied to all others at the distance 1: no pairs need to be listed. Which
    answers are capped, and which reports have an owner, `Notion` says.
    """
    return None


def pairs_of_graph(table, place):
    """The two ends of every edge, both ways, at the distance 1; nothing is listed if all are tied.

    The answers are to be connected, unless the file says that the parts are meant to be separate:
    a report may then reveal in which part the answer is.
    """
    edges = edges_of(table, place)
    parts = table.get("parts", "connected")
    if edges is None:
        return None
    ties = {pair: 1 for edge in edges for pair in permutations(edge)}
    is_meant = parts == "separate" or (
        parts == "connected" and len(parts_of(len(place), ties)) == 1
    )
    need(
        is_meant and all(i != k for i, k in edges),
        "the graph has loops, or falls into parts",
    )
    return ties


def edges_of(table, place):
    """Edges as pairs of numbers of answers; None for a complete graph.

    They are stated as pairs of numbers (``edges``); or as ``neighbors``, which has pairs of labels
    or the name of a family: a path, a cycle, or the complete graph.
    """
    n = len(place)
    stated = table["neighbors"] if "neighbors" in table else {"edges": table["edges"]}
    need(
        len({"edges", "neighbors"} & set(table)) == 1 and len(stated) == 1,
        "a graph has edges or neighbors",
    )
    if "edges" in stated:

        def number(name):
            return whole(name, n) if "edges" in table else place[label(name)]

        return [(number(a), number(b)) for a, b in map(listed, listed(stated["edges"]))]
    need(stated["kind"] in ("path", "cycle", "complete"), "unknown neighbors")
    if stated["kind"] == "complete":
        return None
    path = [(x, x + 1) for x in range(n - 1)]
    return [*path, (n - 1, 0)] if stated["kind"] == "cycle" and n > 2 else path


def parts_of(n, pairs):
    """Connected components of the answers, given pairs of them.

    Every answer begins as a part of its own, and each pair joins the parts of its two answers.
    """
    part = list(range(n))
    for x, z in pairs:
        if part[x] != part[z]:
            part = [part[x] if number == part[z] else number for number in part]
    return [[x for x in range(n) if part[x] == number] for number in dict.fromkeys(part)]


def pairs_of_metric(table, place):
    """Every ordered pair at its distance: symmetric, 0 on the diagonal, positive elsewhere.

    The triangle inequality is not demanded: a chain of shorter ties implies the longer one, and
    neither an audit nor a bound needs to know of it.
    """
    n = len(place)
    rows = double(table["distance"], n, n)
    ties = {}
    for i, k in permutations(range(n), 2):
        ties[i, k] = Fraction(rows[i][k], S)
    symmetric = all(rows[k][i] == rows[i][k] > 0 for i, k in ties)
    diagonal = [row[x] for x, row in enumerate(rows)]
    need(symmetric and not any(diagonal), "it is not a distance")
    return ties


def pairs_of_delta(table, place):
    """The edges of a graph, if the file has one; else nothing is listed, as all are tied."""
    return pairs_of_graph(table, place) if {"edges", "neighbors"} & set(table) else None


TIES_OF = {
    "pure": all_pairs,
    "approximate": pairs_of_delta,
    "graph": pairs_of_graph,
    "metric": pairs_of_metric,
    "one_sided": all_pairs,
    "utility_optimized": all_pairs,
}


def common_distance(n, ties):
    """The distance of all pairs, if all are tied and at one distance; else None."""
    if ties is None:
        return 1
    alike = len(ties) == n * (n - 1) and len(set(ties.values())) < 2
    return max(ties.values(), default=1) if alike else None


def delta_of(table):
    """``S delta``, an integer from 0 to ``S``."""
    delta = double(table["delta"])
    need(
        0 <= delta <= S and table.get("form", "event") in ("event", "entry"),
        "delta or form is wrong",
    )
    return delta


def sensitive_of(table, place):
    """Numbers of the answers that are to be hidden; there may be none."""
    names = labels(table["sensitive"]) if table["sensitive"] != [] else []
    return {place[name] for name in names}


def owners_of(table, place, sensitive, outputs):
    """For each report the only answer that may give it, or None if it is protected.

    A report with the label of an answer that is not sensitive may reveal just this answer, unless
    the file says that it is protected. All other reports are.
    """
    public = {name for name, x in place.items() if x not in sensitive}
    others = set(outputs) - public
    kept = set(labels(table["protected"])) if "protected" in table else others
    need(
        others <= kept <= set(outputs),
        "an unprotected report without an owner, or a protected one not known",
    )
    return [None if y in kept else place[y] for y in outputs]


# 3a. Privacy notions of many budgets
#
# Each states what ``b P(i, E) - P(k, E)`` is at most, for every ``b > 0``.


class Curve:
    """``b P(i, E) - P(k, E) <= excess(b)`` for all answers ``i != k``, events ``E`` and ``b > 0``.

    Several budgets at once: ``P(i, E) <= e**epsilon P(k, E) + delta`` for each of the ``points``.
    """

    def __init__(self, table, inputs, outputs):
        need_keys(table)
        self.n = len(inputs)
        self.owner = [None] * len(outputs)
        self.unit = None
        self.read(table, inputs, outputs)

    def read(self, table, inputs, outputs):
        """One notion for each point; no two have one epsilon."""
        points = [listed(point) for point in listed(table["points"])]
        need(points and {len(point) for point in points} == {2}, "points are pairs")
        kind = {"kind": "approximate"}
        self.points = [
            Notion(kind | {"epsilon": e, "delta": delta}, inputs, outputs) for e, delta in points
        ]
        known = {nats(point.epsilon)[1:] for point in self.points}
        need(len(known) == len(points), "an epsilon occurs twice")

    def audit(self, rows):
        """Refuse masses that violate a point."""
        for point in self.points:
            point.audit(rows)

    def excess(self, b):
        """The least ``b delta + (b e**epsilon - 1)+`` of all points, as ``P(k, E) <= 1``."""
        bounds = []
        for point in self.points:
            ratio, _, high = nats(point.epsilon)
            above = ratio or near("exp", high, up=True)
            bounds.append(b * Fraction(point.delta, S) + max(b * above - 1, 0))
        return min(bounds)


class Gaussian(Curve):
    """``P(i, E) <= Phi(Phi**-1(P(k, E)) + mu)``: its curve lies below all of its tangents."""

    def read(self, table, inputs, outputs):
        """``mu`` in (0, 20], as it is written: 0.4 is 4/10."""
        text = str(table["mu"])
        is_number = type(table["mu"]) in (int, float, str) and len(text) <= 500
        need(
            is_number and re.fullmatch(r"[-+0-9./]+(e[-+]?[0-9]{1,4})?", text), "mu is not a number"
        )
        self.mu = Fraction(text)
        is_small = self.mu.denominator.bit_length() <= 5000
        need(0 < self.mu <= 20 and is_small, "mu is not above 0 and at most 20")

    def audit(self, rows):
        """Refuse masses that violate the claim at an event of the largest likelihood ratios.

        Between two of these events the curve of a pair is straight, and that of the claim is
        concave: both compare alike at all others (thm-curves-gaussian).
        """
        afford(20000 * self.n * self.n * len(self.owner))
        for i, k in permutations(range(self.n), 2):
            used = [y for y in range(len(self.owner)) if rows[i][y] or rows[k][y]]
            used.sort(key=lambda y: Fraction(rows[i][y], rows[i][y] + rows[k][y]), reverse=True)
            over = accumulate(rows[i][y] for y in used)
            under = accumulate(rows[k][y] for y in used)
            for w, u in zip(over, under):
                need(self.allows(w, u), f"not private: input {i} against input {k}", ClaimError)

    def allows(self, w, u):
        """Whether ``w <= UNIT Phi(Phi**-1(u / UNIT) + mu)``, decided with a smaller ``Phi``."""
        if w <= u:
            return True
        if u == 0 or w == UNIT:
            return False
        tail = Fraction(min(u, UNIT - u), UNIT)
        z = Fraction(NormalDist().inv_cdf(float(tail))) * (1 if 2 * u <= UNIT else -1)
        share = Fraction(u, UNIT)
        for step in range(3):  # a float proposes z, and Newton's steps a better one
            slack = Fraction(1, 10 ** (12 << step))
            if normal(z - slack)[1] <= share and w <= UNIT * normal(z - slack + self.mu)[0]:
                return True
            height = Fraction(exp(-(float(z) ** 2) / 2) / sqrt(2 * pi))
            z += floor((share - normal(z)[0]) / height * 2**400) * Fraction(1, 2**400)
        return False

    def excess(self, b):
        """``b Phi(z + mu) - Phi(z)`` at ``z = ln b / mu - mu / 2``, rounded up.

        The tangent of slope ``1 / b`` touches the curve there (thm-curves-gaussian).
        """
        low, high = (near("ln", b, up) / self.mu - self.mu / 2 for up in (False, True))
        return b * normal(high + self.mu)[1] - normal(low)[0]


OF_CURVES = {"curve": Curve, "gaussian": Gaussian}

# 2**-1000 is far above the tails beyond 40; the digits are those of pi, cut off
BEYOND = 40
DIGITS = (
    "3141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825"
)


@cache
def normal(z):
    """Rationals around the normal distribution function, ``2**-279`` apart.

    ``Phi(z) = 1/2 + (z - z**3/(2 3) + z**5/(2**2 2! 5) - ...) / sqrt(2 pi)``. A term is cut off by
    1 at most, which grows by ``e**(z z/2) < 2**(z z)``, and there are fewer than ``2**14``.
    """
    if abs(z) > BEYOND:
        least = Fraction(1, 2**1000)
        return (1 - least, Fraction(1)) if z > 0 else (Fraction(0), least)
    bits = 400 + 2 * int(z * z)
    power = floor(z * 2**bits)
    square = floor(z * z * 2**bits)
    total, k = 0, 0
    while power not in (0, -1) or k <= z * z:  # rounded down, negative powers end at -1
        total += power // (2 * k + 1)
        k += 1
        power = -power * square // (2 * k << bits)
    digits = len(DIGITS) - 1  # of pi, after the point
    root = Fraction(isqrt(2 * int(DIGITS) * 10 ** (digits + 2)), 10 ** (digits + 1))
    value = Fraction(1, 2) + Fraction(total, 2**bits) / root
    error = Fraction(1, 2**280)
    return max(value - error, Fraction(0)), min(value + error, Fraction(1))


# 3b. Privacy notions that compare averages
#
# Each is a list of comparisons of a column c, which has the masses of one report under all answers:
# ``v.c <= e**(epsilon d) u.c``, with weights ``v, u >= 0`` that sum to 1 each. Where a notion has a
# prior and the file states none for it, it is that of the problem.

# What each kind has beside ``kind`` in a file, in addition to `KEYS`.
AVERAGED = {
    "leakage": "epsilon prior",
    "information": "epsilon prior",
    "secrets": "epsilon secrets pairs",
    "pairwise": "table",
    "cone": "bounds",
    "all": "notions",
}
KEYS |= AVERAGED
NOBODY = -1  # owner of a report that no answer may give


class Comparison(NamedTuple):
    """``v.c <= e**(epsilon d) u.c``: weights by the numbers of the answers, none of them 0."""

    v: dict
    u: dict
    epsilon: object
    d: object = 1

    def whole(self):
        """``v, u, scale``: the weights times ``scale``, in integers."""
        weights = (*self.v.values(), *self.u.values())
        scale = lcm(*(weight.denominator for weight in weights))
        v = {x: int(a * scale) for x, a in self.v.items()}
        u = {x: int(a * scale) for x, a in self.u.items()}
        return v, u, scale

    def allows(self, x):
        """Whether it holds for the column of a report that only ``x`` gives."""
        over, under, _ = power(self.epsilon, self.d)
        return self.v.get(x, 0) * under <= over * self.u.get(x, 0)


class Comparisons:
    """A notion that is a list of comparisons, which hold for every report without an owner.

    ``owner[y]`` is the only answer that may give report ``y``, `NOBODY` if none may, and None for a
    report that is compared; ``units`` are the answers that may have such reports of their own.
    """

    is_pure = False
    unit = None

    def __init__(self, n, rows, owner, units=frozenset()):
        self.n = n
        self.rows = rows
        self.whole = [row.whole() for row in rows]
        self.owner = owner
        self.units = units
        self.tied = [y for y, keeper in enumerate(owner) if keeper is None]

    def at(self, epsilon):
        """The same comparisons, all at one budget."""
        rows = [row._replace(epsilon=epsilon) for row in self.rows]
        return Comparisons(self.n, rows, self.owner, self.units)

    def allows_unit(self, x):
        """Whether answer ``x`` may have a report of its own, by name or by all comparisons."""
        return x in self.units or all(row.allows(x) for row in self.rows)

    def audit(self, masses):
        """Refuse masses that violate a comparison: ``under v.c <= over u.c``, in integers.

        ``over / under <= e**(epsilon d)``, so that masses that pass are private.
        """
        need_owned(masses, self.owner)
        sizes = [len(row.v) + len(row.u) for row in self.rows]
        kinds = len({(row.epsilon, row.d) for row in self.rows})
        afford(sum(sizes) * len(self.tied) + 1000 * kinds)
        columns = list(zip(*masses))
        for r, (row, (v, u, _)) in enumerate(zip(self.rows, self.whole)):
            over, under, _ = power(row.epsilon, row.d)
            for y in self.tied:
                top = sum(weight * columns[y][x] for x, weight in v.items())
                least = sum(weight * columns[y][x] for x, weight in u.items())
                holds = under * top <= over * least
                need(holds, f"not private: report {y}, comparison {r}", ClaimError)

    def relax(self, costs, row, total):
        """Move rows ``v.c / e**(epsilon d) - u.c <= 0`` into the costs; they add nothing else.

        The row holds for every private channel, as ``b <= e**-(epsilon d)``; only for reports that
        are compared, and multipliers above 0. What the costs fall by is rounded down
        (thm-cones-bound).
        """
        r, event, value = listed(row)
        (y,) = listed(event)
        v, u, scale = self.whole[whole(r, len(self.rows))]
        known = isinstance(value, str) and self.owner[whole(y, len(self.owner))] is None
        need(known and double(value) > 0, "a multiplier that does not belong to a comparison")
        b = power(self.rows[r].epsilon, self.rows[r].d)[2]
        value = double(value) * total
        for x in {*v, *u}:
            weight = v.get(x, 0) * b - u.get(x, 0) * S
            costs[x][y] -= value * weight // scale
        return r, y


def notion_of(table, inputs, outputs, prior):
    """The notion of a file: pairs of answers, or averages; ``prior`` is that of the problem."""
    if table["kind"] not in AVERAGED:
        return Notion(table, inputs, outputs)
    return averaged(table, inputs, outputs, prior)


def averaged(table, inputs, outputs, prior):
    """The comparisons of a notion of any kind; those of pairs must have no delta.

    Their order is that of the answers, and of what the file lists.
    """
    kind = table["kind"]
    place = {name: x for x, name in enumerate(inputs)}
    need(kind in KEYS, f"unknown kind {kind!r:.60}")
    if kind == "all":
        return all_of(table, inputs, outputs, prior)
    if kind in AVERAGED:
        known = {"kind", *AVERAGED[kind].split()}
        need(set(table) <= known, f"unknown key among {sorted(table)}")
        rows = COMPARED[kind](table, place, prior)
        need(rows, "nothing is compared")
        for row in rows:
            need(nats(row.epsilon)[1] > 0, "epsilon is not above 0")
        return Comparisons(len(inputs), rows, [None] * len(outputs))
    notion = Notion(table, inputs, outputs)
    need(not notion.delta and nats(notion.epsilon)[1] > 0, "a delta, or epsilon is not above 0")
    pairs = permutations(range(notion.n), 2)
    rows = [
        Comparison({i: Fraction(1)}, {k: Fraction(1)}, notion.epsilon, notion.distance(i, k))
        for i, k in pairs
        if notion.distance(i, k) is not None
    ]
    return Comparisons(notion.n, rows, notion.owner, {*notion.owner} - {None})


def all_of(table, inputs, outputs, prior):
    """The comparisons of all notions that are listed, in their order; there are at least two.

    An answer may have reports of its own if one notion names it so and each of both allows them, as
    a unit or by its comparisons; a report that one notion gives to an answer is then that answer's,
    and otherwise nobody's, as is a report of two owners.
    """
    _, parts = keys(table, "kind notions")
    first, *others = [averaged(part, inputs, outputs, prior) for part in listed(parts)]
    need(others, "an intersection has at least two notions")
    for other in others:
        both = (first, other)
        named = first.units | other.units
        units = {x for x in named if all(part.allows_unit(x) for part in both)}
        owner = [common_owner(*keepers, units) for keepers in zip(first.owner, other.owner)]
        first = Comparisons(first.n, first.rows + other.rows, owner, units)
    return first


def common_owner(one, two, units):
    """Owner of a report under two notions: see `all_of`."""
    if one is None and two is None:
        return None
    if None not in (one, two):
        return one if one == two else NOBODY
    keeper = two if one is None else one
    return keeper if keeper in units else NOBODY


def of_leakage(table, place, prior):
    """Each answer against the average over the prior."""
    mean = prior_of(table, place, prior)
    return [Comparison({x: Fraction(1)}, mean, table["epsilon"]) for x in place.values()]


def of_information(table, place, prior):
    """Each answer against the average over the prior, and then the average against each answer."""
    rows = of_leakage(table, place, prior)
    return rows + [Comparison(u, v, epsilon) for v, u, epsilon, _ in rows]


def of_secrets(table, place, prior):
    """The distributions of the answer under two secrets, for the ordered pairs of secrets."""
    stated = table["secrets"]
    named = [[*pair] for pair in (stated.items() if isinstance(stated, dict) else listed(stated))]
    names = labels([name for name, _ in named])
    weights = {name: distribution(row, place) for name, (_, row) in zip(names, named)}
    need(len(names) > 1, "there are fewer than two secrets")
    pairs = list(permutations(names, 2))
    if table.get("pairs") is not None:
        pairs = [(label(s), label(t)) for s, t in map(listed, listed(table["pairs"]))]
    need(all(s != t for s, t in pairs), "a secret against itself")
    return [Comparison(weights[s], weights[t], table["epsilon"]) for s, t in dict.fromkeys(pairs)]


def of_pairs(table, place, prior):
    """Ordered pairs of answers, each with a budget of its own; each pair at most once."""
    rows = map(listed, listed(table["table"]))
    stated = [(place[label(i)], place[label(k)], epsilon) for i, k, epsilon in rows]
    need(len({(i, k) for i, k, _ in stated}) == len(stated), "a pair has two budgets")
    need(all(i != k for i, k, _ in stated), "a pair compares an answer with itself")
    stated.sort(key=lambda row: row[:2])
    return [
        Comparison({i: Fraction(1)}, {k: Fraction(1)}, epsilon)
        for i, k, epsilon in stated
        if epsilon not in (None, "inf")  # such a pair is not compared
    ]


def of_bounds(table, place, prior):
    """The comparisons that the file lists; their averages may leave out answers."""
    bounds = [keys(bound, "over under epsilon") for bound in listed(table["bounds"])]
    return [
        Comparison(*(distribution(part, place, some=True) for part in (over, under)), epsilon)
        for over, under, epsilon in bounds
    ]


COMPARED = {
    "leakage": of_leakage,
    "information": of_information,
    "secrets": of_secrets,
    "pairwise": of_pairs,
    "cone": of_bounds,
}


def names_of_reports(table, inputs, rows):
    """Labels of the reports of a design: numbers, but for answers that are not sensitive.

    A report that only one of these answers gives has its label. The numbers are then no labels of
    answers, so that all other reports are protected.
    """
    tables = listed(table["notions"]) if table["kind"] == "all" else [table]
    owning = [part for part in tables if part["kind"] == "utility_optimized"]
    columns = list(zip(*rows))
    if not owning:
        return list(range(len(columns)))
    secret = set(labels(owning[0]["sensitive"])) if owning[0]["sensitive"] != [] else set()
    texts = labels(inputs)
    others = (number for number in range(len(texts) + len(columns)) if str(number) not in texts)
    names = []
    for column in columns:
        givers = [x for x, mass in enumerate(column) if mass]
        is_own = len(givers) == 1 and texts[givers[0]] not in secret
        names.append(inputs[givers[0]] if is_own else next(others))
    return names


def averages_in_words(table, inputs, outputs):
    """A notion that compares averages, as its audit names it, or another one within it."""
    kind = table["kind"]
    if kind == "all":
        parts = [averages_in_words(part, inputs, outputs) for part in table["notions"]]
        return " and ".join(parts)
    if kind == "pairwise":
        return f"budgets of {len(COMPARED[kind](table, numbered(inputs), None))} pairs"
    if kind == "cone":
        return f"{len(table['bounds'])} bounds"
    epsilon = shown(table["epsilon"])
    if kind in ("leakage", "information"):
        return f"{kind} of {epsilon}"
    if kind == "secrets":
        return f"epsilon = {epsilon} between secrets"
    notion = Notion(table, inputs, outputs)
    if kind == "utility_optimized":
        return (
            f"epsilon = {epsilon} except for {len(outputs) - len(notion.tied)} invertible reports"
        )
    return ties_in_words(notion, table)


def ties_in_words(notion, table):
    """A notion that ties answers, and whom it ties to whom."""
    n = notion.n
    ties = n * (n - 1) if notion.ties is None else len(notion.ties)
    of_kind = {
        "pure": "",
        "graph": f" along {ties // 2} edges",
        "metric": " per unit of distance",
        "one_sided": f" for {len(notion.capped)} of {n} inputs",
    }
    return f"epsilon = {shown(table['epsilon'])}{of_kind[table['kind']]}"


def numbered(names):
    """The number of each label."""
    return {name: x for x, name in enumerate(names)}


def prior_of(table, place, prior):
    """The prior that the file states for the notion, else that of the problem.

    Doubles of the problem are taken as they are, and divided by their sum.
    """
    if table.get("prior") is not None:
        return distribution(table["prior"], place)
    need(prior is not None, "neither the notion nor the problem has a prior")
    return {x: Fraction(weight, sum(prior)) for x, weight in enumerate(prior) if weight}


def distribution(stated, place, some=False):
    """Weights that are not 0 by the number of the answer, divided by their sum.

    They are stated for each label, as an object or as pairs; or as one number for each answer,
    which sum to 1 up to ``10**-9``. With ``some``, labels that are left out have weight 0.
    """
    if isinstance(stated, list) and not any(isinstance(part, list) for part in stated):
        need(not some and len(stated) == len(place), "weights should be by label")
        weights = dict(enumerate(map(weight_of, stated)))
        need(abs(sum(weights.values()) - 1) <= Fraction(1, 10**9), "weights do not sum to 1")
    else:
        pairs = stated.items() if isinstance(stated, dict) else map(listed, listed(stated))
        names, values = zip(*pairs)
        weights = {place[name]: weight_of(value) for name, value in zip(labels([*names]), values)}
        need(some or len(weights) == len(place), "an answer has no weight")
    total = sum(weights.values())
    need(total > 0, "all weights are 0")
    return {x: weight / total for x, weight in weights.items() if weight}


def weight_of(value):
    """A rational ``>= 0``: that of a text such as ``1/3``, or the decimal that a number is."""
    need(type(value) in (int, float, str), f"{value!r:.60} is not a weight")
    text = str(value).strip().lower()
    plain = re.fullmatch(r"[-+]?[0-9./]{1,8001}(e[-+]?[0-9]{1,3})?", text)
    need(plain and Fraction(text) >= 0, f"{text!r:.60} is not a weight")
    return Fraction(text)


# 4. Programs: what the mechanism is worth, and what no private mechanism can pass
#
# A program maximizes a gain, or minimizes a loss, over all private channels P, which may have to
# satisfy linear side constraints. The bound is Lagrange's: whatever the multipliers are, each
# inequality that all private channels satisfy is added to the value with its multiplier, and the
# rest is maximized over channels that need satisfy less. A loss is a gain with the sign changed.


class Problem:
    """The statement: a value to maximize or minimize over all private channels.

    ``utility`` and ``prior`` are over ``S``; the prior is taken as it is stated, and may miss the
    sum 1 by ``2**-30``. ``spreads[x]`` is the difference that a report can make to the utility of
    answer ``x``. ``blocks`` maps the name of each side constraint to its
    rows ``lower <= sum a P(x, y) <= upper``: the terms ``(x, y, a)``, and the two sides, over
    ``S``, None where there is none.
    """

    def __init__(self, table):
        names = "inputs outputs objective prior sense utility privacy constraints"
        inputs, outputs, self.objective, prior, self.sense, utility, privacy, blocks = keys(
            table, names
        )
        inputs = labels(inputs)
        outputs = labels(outputs)
        self.n = len(inputs)
        self.m = len(outputs)
        need(
            self.objective in ("expected", "worst_case") and self.sense in ("gain", "loss"),
            "objective or sense",
        )
        need((prior is None) == (self.objective == "worst_case"), "a worst case has no prior")
        self.utility = double(utility, self.n, self.m)
        self.prior = None if prior is None else double(prior, self.n)
        if self.prior:
            off = abs(sum(self.prior) - S)
            need(min(self.prior) >= 0 and off <= S >> 30, "the prior does not sum to 1")
        self.spreads = [max(row) - min(row) for row in self.utility]
        of_kind = OF_CURVES.get(privacy["kind"])
        if of_kind:
            self.notion = of_kind(privacy, inputs, outputs)
        else:
            self.notion = notion_of(privacy, inputs, outputs, self.prior)
        need(
            len({block["name"] for block in listed(blocks)}) == len(blocks),
            "two constraints have one name",
        )
        self.blocks = {}
        for block in blocks:
            name, rows, lower, upper = keys(block, "name rows lower upper")
            terms = [
                [(whole(x, self.n), whole(y, self.m), double(a)) for x, y, a in listed(row)]
                for row in listed(rows)
            ]
            sides = [
                [None if side is None else double(side) for side in listed(part)]
                for part in (lower, upper)
            ]
            self.blocks[name] = list(zip(terms, *sides, strict=True))

    def value(self, rows):
        """``sum_x prior[x] sum_y utility[x][y] P(x, y)`` of masses, exactly.

        Of a worst case, the least of the sums over ``y`` for a gain, and the largest for a loss.
        """
        by_input = [dot(worth, row) for worth, row in zip(self.utility, rows)]
        if self.prior:
            return Fraction(dot(self.prior, by_input), S * S * UNIT)
        worst = min(by_input) if self.sense == "gain" else max(by_input)
        return Fraction(worst, S * UNIT)

    def residual(self, rows, name):
        """Largest violation of the rows of a side constraint by the masses; 0 if all hold."""
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
        """A number that no private channel passes, and the stake: the average spread.

        The average is by the weights; if that is 0, all answers count alike. For every private
        channel that satisfies the constraints, and any weights of the answers,

            value <= constant + sum_x,y costs[x][y] P(x, y)
                  <= constant + sum_x max_y costs[x][y],

        where ``costs`` are weight times utility, less what the multipliers move to the constant
        (thm-certificates-pairwise). The maximum is over the reports that ``x`` may give. In the
        compact form, rows of the channel are relaxed in place of pairs; see `compact`. The weights
        are the prior; of a worst case they are multipliers too, as the least of several numbers is
        at most their average (thm-certificates-worst).
        """
        form, sums, worst, privacy, constraints = keys(
            table, "form row_sums worst_case privacy constraints"
        )
        need(
            form in ("compact", "pairwise") and set(constraints) == set(self.blocks),
            "unknown form or constraint",
        )
        need(
            (sums is None) == (form == "pairwise") and (worst is None) == bool(self.prior),
            "row sums are of the compact form, and weights of a worst case",
        )
        weights = self.prior or double(worst, self.n)
        need(min(weights) >= 0, "a weight is negative")
        weights = weights if any(weights) else [1] * self.n
        total = S if self.prior else sum(weights)
        sign = 1 if self.sense == "gain" else -1
        # Costs are over total * S * S; multipliers are over S, and are multiplied by total.
        costs = [
            [sign * weight * worth * S for worth in row]
            for weight, row in zip(weights, self.utility)
        ]
        if isinstance(self.notion, Comparisons):
            used = [self.notion.relax(costs, row, total) for row in listed(privacy)]
            need(len(set(used)) == len(used), "a comparison and a report have two multipliers")
            constant = 0
        else:
            relax = self.relax_event if isinstance(self.notion, Curve) else self.relax_pair
            constant = sum(relax(costs, row, total) for row in listed(privacy))
        for name, values in constraints.items():
            constant += self.relax_constraint(costs, name, values, total)
        # In both forms: an answer that may give no report at all is refused here.
        best = sum(
            max(entry for entry, owner in zip(row, self.notion.owner) if owner in (None, x))
            for x, row in enumerate(costs)
        )
        if form == "compact":
            best = self.compact(costs, [value * total * S for value in double(sums, self.n)])
        stake = dot(weights, self.spreads) or Fraction(total * sum(self.spreads), self.n)
        return Fraction(sign * (constant + best), total * S * S), Fraction(stake, total * S)

    def relax_pair(self, costs, row, total):
        """Move a row ``b P(i, E) - P(k, E) <= b delta`` into the costs; what it adds to the bound.

        The row holds for every private channel, as ``b <= e**(-epsilon d)``; only for tied pairs,
        events of tied reports (of one, if the notion is entry by entry), and multipliers above 0.
        """
        i, k, event, value = listed(row)
        distance = self.notion.distance(whole(i, self.n), whole(k, self.n))
        need(
            distance is not None,
            f"inputs {i} and {k} have a multiplier, but are not tied",
        )
        places = {whole(y, self.m) for y in listed(event)}
        known = event == sorted(places) and places <= set(self.notion.tied) and double(value) > 0
        fits = known and (len(event) == 1 or not (self.notion.single and self.notion.delta))
        need(fits, "a multiplier that does not belong to an event")
        value = double(value) * total
        b = power(self.notion.epsilon, distance)[2]
        for y in event:
            costs[i][y] -= value * b
            costs[k][y] += value * S
        return -(-value * b * self.notion.delta // S)  # rounded up

    def relax_event(self, costs, row, total):
        """As `relax_pair`, for a row ``b P(i, E) - P(k, E) <= excess(b)`` of a curve."""
        i, k, event, value, b = listed(row)
        value, b = double(value) * total, double(b)
        places = {whole(y, self.m) for y in listed(event)}
        fits = whole(i, self.n) != whole(k, self.n) and event == sorted(places)
        need(fits and value > 0 and b > 0, "a multiplier that does not belong to an event")
        for y in event:
            costs[i][y] -= value * b
            costs[k][y] += value * S
        return ceil(value * S * self.notion.excess(Fraction(b, S)))

    def relax_constraint(self, costs, name, values, total):
        """Move rows ``lower <= sum a P(x, y) <= upper`` into the costs; what they add to the bound.

        A multiplier above 0 uses the upper side, one below 0 the lower one:
        ``value * sum a P(x, y) <= value * side``. Without that side the row proves nothing.
        """
        constant = 0
        for (terms, lower, upper), value in zip(
            self.blocks[name], double(values, len(self.blocks[name]))
        ):
            side = upper if value > 0 else lower
            if value and side is not None:
                for x, y, a in terms:
                    costs[x][y] -= a * value * total
                constant += value * side * total
        return constant

    def compact(self, costs, duals):
        """Upper bound of ``sum costs P`` over private channels, by multipliers of the row sums.

        With one distance for all pairs, a column of a private channel is ``P(x, y) = q_x + b M``
        with ``M >= 0`` and ``0 <= q_x <= (1 - b) M + delta`` for capped answers, ``0 <= q_x`` for
        others: ``b M`` is the least mass, if ``b > 0`` (thm-compact-rounding, thm-notions-capped).
        As rows sum to 1, for all numbers ``duals[x]`` and ``t``

            sum costs P = sum_x (duals[x] + t) + sum_x,y E(x, y) P(x, y),
            E(x, y) = costs[x][y] - duals[x] - t.

        Entries without a cap must not be worth more than nothing: their duals are raised to the
        costs, and ``t >= 0``. Then column ``y`` adds at most

            M ((1 - b) sum_x E+ + b sum_x E) + delta sum_x E+,

        and ``t`` is the least integer for which the bracket is not positive, for every column
        (thm-certificates-compact, thm-certificates-one-sided).
        """
        notion = self.notion
        need(
            notion.unit is not None,
            "only notions with one distance for all pairs have a compact form",
        )
        b = power(notion.epsilon, notion.unit)[2]
        for x in range(self.n):
            free = [
                y
                for y, owner in enumerate(notion.owner)
                if owner == x or (owner is None and x not in notion.capped)
            ]
            duals[x] = max([duals[x], *(costs[x][y] for y in free)])
        columns = [[costs[x][y] - duals[x] for x in range(self.n)] for y in notion.tied]
        shifts = [shift for column in columns for shift in self.least_shifts(column, b)]
        if len(notion.capped) < self.n or len(columns) < self.m or notion.delta:
            shifts.append(0)  # then t >= 0; whatever is above the least t is right too
        shift = max(shifts, default=0)
        excess = 0
        if notion.delta:
            excess = sum(max(entry - shift, 0) for column in columns for entry in column)
        return sum(duals) + self.n * shift + -(-excess * notion.delta // S)

    def least_shifts(self, column, b):
        """Integers whose largest is the least ``t`` that gives a column no positive price.

        The sum of positive parts of ``E = column - t`` is the largest sum of the ``k`` largest
        entries over all ``k``. So ``t`` is right if and only if, for every ``k``
        (thm-certificate-files-shift),

            t ((1 - b) k + b n) >= (1 - b) (sum of the k largest of the column) + b (sum of all).
        """
        base = b * sum(column)
        tops = accumulate(sorted(column, reverse=True), initial=0)
        for count, top in enumerate(tops):
            slope = (S - b) * count + b * self.n
            if slope:
                yield -(-((S - b) * top + base) // slope)  # rounded up


def check_program(data):
    """Check a certificate of ``solve``; its value in words, the bound and the gap.

    ``achieved`` and ``gap`` are to be exact. ``bound`` may pass the number that is proved here by
    `TOLERANCE` of the stake or of that number, since the library rounds ``e**-epsilon`` in another
    place; so a gap that is claimed may be below 0 by as much. A residual may be more cautious than
    it need be: it says only that no row is violated by more.
    """
    _, statement, mechanism, multipliers, claim = keys(
        data, "format statement mechanism multipliers claim"
    )
    problem = Problem(statement)
    bits, rows = keys(mechanism, "bits masses")
    achieved, bound, gap, relative, residuals = keys(
        claim, "achieved bound gap relative_gap residuals"
    )
    need(
        type(bits) is int and bits == 53 and set(residuals) == set(problem.blocks),
        "other bits, or residuals of other constraints",
    )
    problem.notion.audit(masses(rows, problem.n, problem.m))
    value = problem.value(rows)
    proved, stake = problem.bound(multipliers)
    sign = 1 if problem.sense == "gain" else -1
    achieved, bound, gap = map(fraction, (achieved, bound, gap))
    relative = Fraction(double(relative), S)
    share = gap / scale_of(problem, bound, stake)
    difference = sign * (bound - value)
    excess = sign * (proved - bound)
    violations = {name: problem.residual(rows, name) for name in residuals}
    claims = [
        ("achieved", value, achieved == value),
        ("gap", difference, gap == difference),
        ("bound", proved, excess <= TOLERANCE * max(stake, abs(proved))),
        ("relative_gap", share, abs(relative - share) <= TOLERANCE * max(share, 1)),
    ]
    for name, stated in residuals.items():
        holds = Fraction(double(stated), S) >= violations[name]
        claims.append((f"residual of {name!r}", violations[name], holds))
    for name, number, holds in claims:
        need(holds, f"{name}: {decimal(number, 17)} was proved, which is not the claim", ClaimError)
    more = "".join(
        f", off {name!r} by {decimal(number, 2)}" for name, number in violations.items() if number
    )
    return (
        f"{problem.objective} {problem.sense} {decimal(value)}{more}",
        proved,
        sign * (proved - value),
    )


def scale_of(problem, bound, stake):
    """What a relative gap is relative to: the bound, or a hundredth of the stake if that is larger.

    The weights of a worst case are multipliers, and may lie on answers whose reports hardly matter,
    so that the stake nearly vanishes. In a worst case it counts as no less than the least positive
    spread over ``n``.
    """
    least = 0
    if not problem.prior:
        least = Fraction(min(filter(None, problem.spreads), default=0), problem.n * S)
    return max(abs(bound), stake / 100, least / 100, Fraction(1, S))


# 5. Designs: error and bias of the estimator that is used
#
# A workload W has a column for each answer: W p is to be estimated, if p is the distribution of the
# answers. Each report y counts a vector V_y, and the mean of these vectors is the estimate. There
# are three kinds of files: of channels that are listed (`Design`), of subset selection for
# frequencies (`Frequencies`), and of sets of answers to many questions (`Questions`). Each kind has
# `errors()`, the mean squared error of one respondent's estimate and its largest squared bias; and
# `spread`, the variance that the answers have by themselves. What proves a bound is in part 6.
#
# Matrices are lists of rows of integers, each with one factor that its entries share.


def short(rows):
    """A matrix without the power of two that its entries share, and that power over ``S``."""
    zeros = min(
        ((entry & -entry).bit_length() - 1 for row in rows for entry in row if entry), default=0
    )
    return [[entry >> zeros for entry in row] for row in rows], Fraction(1 << zeros, S)


def times(left, right):
    """Product of a matrix with the transpose of another: ``left right'``."""
    afford(len(left) * len(right) * len(right[0] if right else ()))
    return [[dot(row, column) for column in right] for row in left]


def root(value):
    """A rational above the square root, by at most ``2**-200``; 0 where there is none to take."""
    return (
        Fraction(isqrt(value.numerator * 4**200 // value.denominator) + 1, 2**200)
        if value > 0
        else Fraction(0)
    )


def check_design(data):
    """Check a certificate of ``design``; error and bias in words, the bound and the gap.

    The bound is for estimators without bias, and rounding leaves a bias. For every answer it must
    be at most 1e-9 of a standard deviation, ``bias**2 * 10**18 <= error + spread``: with the
    average error, the right side is the variance of an estimate ``V_y`` whose truth is drawn by the
    weights; in a worst case it has the largest error instead. The mean of ``10**16`` estimates has
    a standard deviation of 1e-8 of that of one, ten times the bias: fewer respondents cannot see
    the bias (thm-estimation-claim).
    """
    need(
        data["format"] == "ldpopt design certificate 3",
        f"{data['format']!r:.60} is not a known format of ldpopt",
    )
    need_digest(data)
    about = [data["about"]] if "about" in data else []
    data = {key: data[key] for key in data if key not in ("digest", "about")}
    if "size" in data:
        kind = Frequencies
    elif "kinds" in data:
        kind = Questions
    elif "liars" in data:
        kind = LiarsFrequencies
    elif "sizes" in data:
        kind = CappedFrequencies
    elif "people" in data:
        kind = Liars
    elif "caps" in data:
        kind = Capped
    else:
        kind = Design
    keys(data, f"format privacy objective multipliers achieved bound bias {kind.KEYS}")
    need(data["objective"] in ("average", "worst_case"), "unknown objective")
    achieved, bound, bias = (sized(data[key]) for key in ("achieved", "bound", "bias"))
    design = kind(data)
    for stated in about:
        check_about(stated, design, data["privacy"])
    error, squared_bias = design.errors()
    need(
        error <= achieved,
        f"achieved: the estimator has a mean squared error of {decimal(error)}",
        ClaimError,
    )
    need(
        squared_bias * 10**18 <= error + design.spread,
        f"the estimator has a bias of {decimal(root(squared_bias))}",
        ClaimError,
    )
    need(
        bias >= 0 and squared_bias <= bias**2,
        f"bias: {decimal(root(squared_bias))} was found",
        ClaimError,
    )
    multipliers = dict(data["multipliers"])
    proof = multipliers.pop("kind")
    need(proof in PROOFS[kind], f"unknown multipliers {proof!r:.60}")
    proved = max(PROOFS[kind][proof](design, **multipliers), Fraction(0))
    need(bound <= proved, f"bound: {decimal(proved)} was proved", ClaimError)
    mean = "mean" if data["objective"] == "average" else "largest mean"
    more = design.check_liars(error) if kind in (Liars, LiarsFrequencies) else ""
    return (
        f"{mean} squared error {decimal(error)}, bias {decimal(root(squared_bias), 2)}{more}",
        proved,
        error - proved,
    )


class Design:
    """Statement, masses and estimator of a listed design; refused if the masses are not private.

    Answers are of one *kind* if their columns of the workload are equal; ``kind[x]`` is the number
    of the kind of ``x``. With ``d_j`` the column of kind ``j`` less that of kind 0, ``gram * unit``
    is the matrix of all ``d_i.d_j``. ``rows`` are the masses, and report ``y`` counts

        V_y = W_0 + sum_j d_j left[j][y] scale,     left[0] = 0.

    What follows is for the bound. ``base`` is ``e**-epsilon``, rounded down, as two integers: the
    numerator and the denominator. ``unit`` is a square, as that of every design. Under pure privacy
    answers of one kind can be joined (thm-estimation-structure-equal), under other notions not:
    there are ``c`` answers afterwards. ``r`` over its sum ``total`` are their weights, and
    ``centered * factor`` is their Gram matrix ``G``: that of the columns less their mean by these
    weights. ``spread = sum_x r_x G_xx / total``.
    """

    KEYS = "inputs names workload weights masses left_inverse"

    def __init__(self, data):
        inputs = labels(data["inputs"])
        names = labels(data["names"])
        self.objective = data["objective"]
        self.rows = data["masses"]
        n = len(inputs)
        m = len(self.rows[0])
        workload, unit = short(double(data["workload"], len(names), n))
        self.weights = double(data["weights"], n)
        need(
            min(self.weights) >= 0 and sum(self.weights) > 0,
            "the weights are not >= 0 with a positive sum",
        )
        self.inputs = data["inputs"]
        rows = masses(self.rows, n, m)
        privacy = data["privacy"]
        if privacy["kind"] in ("pure", "graph", "metric", "one_sided"):
            self.reports = range(m)
            self.notion = Notion(privacy, inputs, [None] * m)
            self.base = least_ratio(privacy["epsilon"])
        else:
            need(privacy["kind"] != "approximate", "no bound of designs holds for this notion")
            self.reports = names_of_reports(privacy, self.inputs, rows)
            prior = self.weights if self.objective == "average" else None
            self.notion = averaged(privacy, inputs, labels(self.reports), prior)
        self.notion.audit(rows)
        self.workload = workload
        self.step = unit
        self.unit = unit * unit
        self.read_values(data, n, m)

    def read_values(self, data, n, m):
        """The estimator, and what the bound is about."""
        self.join_alike(self.workload)
        self.read_estimator(double(data["left_inverse"], n, m))
        self.center()

    def is_private(self, epsilon):
        """Whether the masses are private with another epsilon, 0 to 10000."""
        stated = self.notion.at(epsilon)
        try:
            stated.audit(self.rows)
        except ClaimError:
            return False
        return True

    def in_words(self, privacy):
        """The notion, as its audit names it."""
        if isinstance(self.notion, Comparisons):
            return averages_in_words(privacy, labels(self.inputs), labels(self.reports))
        return ties_in_words(self.notion, privacy)

    def digest(self):
        """The hash of labels and masses."""
        numbers = (mass.to_bytes(8, "little") for row in self.rows for mass in row)
        return hash_of("mechanism", [self.inputs, self.reports], numbers)

    def join_alike(self, workload):
        """The kinds of answers, and the Gram matrix of their columns less the first one."""
        columns = [
            tuple(entry - row[0] for entry, row in zip(column, workload))
            for column in zip(*workload)
        ]
        number = {column: j for j, column in enumerate(dict.fromkeys(columns))}
        self.kind = [number[column] for column in columns]
        self.gram = times(list(number), list(number))

    def read_estimator(self, inverse):
        """Rows of the left inverse ``X``, summed over the answers of each kind.

        Columns of ``X`` sum to 1, so that a constant in the workload is estimated without error,
        and ``V_y = W_0 + sum_x (W_x - W_0) X(x, y)``. The first row in the file must be 1 less the
        others, rounded to a double; the estimator that is checked has 1 less the others, exactly.
        """
        first = [S] * len(inverse[0])
        if len(inverse) > 1:
            first = [S - sum(column) for column in zip(*inverse[1:])]
        is_rounded = all(entry == double(exact / S) for entry, exact in zip(inverse[0], first))
        need(
            is_rounded,
            "the first row of the left inverse is not 1 less the others, rounded",
            ClaimError,
        )
        left = [[0] * len(inverse[0]) for _ in self.gram]
        for j, row in zip(self.kind, inverse):
            if j:
                left[j] = [*map(add, left[j], row)]
        self.left, self.scale = short(left)

    def center(self):
        """The centered Gram matrix ``G_ij = (d_i - d) . (d_j - d)``, ``d = sum_x r_x d_x / total``.

        That is ``d_i.d_j - d_i.d - d_j.d + d.d``; here it is multiplied by ``total**2``, to be in
        integers.
        """
        of = self.kind if self.notion.is_pure else range(len(self.kind))  # the number among the c
        (weights,), _ = short([self.weights])
        self.c = max(of) + 1
        self.r = [0] * self.c
        for x, weight in zip(of, weights):
            self.r[x] += weight
        kinds = dict(zip(of, self.kind)).values()
        rows = [self.gram[i] for i in kinds]
        gram = [[row[j] for j in kinds] for row in rows]
        mean = [dot(row, self.r) for row in gram]
        mean_squared = dot(mean, self.r)
        total = sum(self.r)
        self.centered = []
        for row, a in zip(gram, mean):
            entries = [total * (total * entry - a - b) for entry, b in zip(row, mean)]
            self.centered.append([entry + mean_squared for entry in entries])
        self.total = total
        self.factor = self.unit / total**2
        diagonal = [row[x] for x, row in enumerate(self.centered)]
        self.spread = self.factor * Fraction(dot(self.r, diagonal), total)

    def errors(self):
        """Mean squared error, the average by the weights or the largest; and largest squared bias.

        With ``u_y = V_y - W_0`` and ``d`` the column of answer ``x`` less that of kind 0
        (thm-estimation-claim),

            error_x = sum_y P(x, y) |u_y|^2 - 2 d . sum_y P(x, y) u_y + |d|^2,
            bias_x  = |sum_y P(x, y) u_y - d|.
        """
        gram = self.gram
        left = self.left
        over = self.scale.numerator
        under = UNIT * self.scale.denominator
        reports = list(zip(*left))
        moved = times(reports, gram)
        sizes = [dot(report, other) for report, other in zip(reports, moved)]
        errors = []
        biases = []
        for x, (row, means) in enumerate(zip(self.rows, times(self.rows, left))):
            j = self.kind[x]
            second_moment = Fraction(dot(row, sizes), UNIT) * self.scale**2
            mean_times_truth = Fraction(over * dot(means, gram[j]), under)
            errors.append(self.unit * (second_moment - 2 * mean_times_truth + gram[j][j]))
            # The coefficients of the bias, by the d of each kind; d_0 = 0 needs none.
            off = [over * mean - under * (i == j) for i, mean in enumerate(means)]
            off[0] = 0
            square = dot(off, [dot(off, line) for line in gram])
            biases.append(self.unit * Fraction(square, under**2))
        average = dot(self.weights, errors) / sum(self.weights)
        return average if self.objective == "average" else max(errors), max(biases)


class Capped(Design):
    """A design whose influence has a cap: report ``y`` counts ``V_y``, the column of the values.

    A report raises number ``j``, in place of a true one, by at most ``max_y V_jy - min_x W_jx``,
    and lowers it by at most ``max_x W_jx - min_y V_jy``. None of both may be above the cap, if
    there is one (null in the file is none). What follows is for the bound: ``wide`` is twice the
    workload less the middle of each row, over ``2 / step``, a column for each kind of answers, and
    ``reach`` the cap of each row less half of its span.
    """

    KEYS = "inputs names workload weights caps masses values"

    def read_values(self, data, n, m):
        """The values and their caps, and the workload less the middle of each row."""
        k = len(self.workload)
        self.values = double(data["values"], k, m)
        matrix = [[entry * self.step for entry in row] for row in self.workload]
        caps = [None if cap is None else Fraction(double(cap), S) for cap in listed(data["caps"])]
        need(len(caps) == k, "as many caps as numbers")
        self.reach = []
        for row, values, cap in zip(matrix, self.values, caps):
            if cap is None:
                self.reach.append(None)
                continue
            raises = Fraction(max(values), S) - min(row)
            lowers = max(row) - Fraction(min(values), S)
            size = max(raises, lowers)
            need(size <= cap, f"a report has an influence of {decimal(size)}", ClaimError)
            self.reach.append(cap - (max(row) - min(row)) / 2)
        self.join_alike(self.workload)
        self.center()
        first = {}
        for x, number in enumerate(self.kind if self.notion.is_pure else range(n)):
            first.setdefault(number, x)
        middles = [max(row) + min(row) for row in self.workload]
        self.wide = [
            [2 * row[x] - middle for x in first.values()]
            for row, middle in zip(self.workload, middles)
        ]

    def errors(self):
        """Mean squared error, the average by the weights or the largest; and largest squared bias.

        Of every number and answer: ``sum_y P(x, y) (V_jy - W_jx)^2``, and the square of
        ``sum_y P(x, y) V_jy - W_jx``.
        """
        n = len(self.rows)
        errors = [Fraction(0)] * n
        biases = [Fraction(0)] * n
        afford(n * len(self.rows[0]) * len(self.values) * 2)
        for values, row in zip(self.values, self.workload):
            squares = [value * value for value in values]
            for x, masses in enumerate(self.rows):
                truth = row[x] * self.step
                mean = Fraction(dot(masses, values), UNIT * S)
                errors[x] += Fraction(dot(masses, squares), UNIT * S * S)
                errors[x] += truth * (truth - 2 * mean)
                biases[x] += (mean - truth) ** 2
        average = dot(self.weights, errors) / sum(self.weights)
        return average if self.objective == "average" else max(errors), max(biases)


class Liars(Capped):
    """A capped design for a share ``g`` of liars among ``N`` people.

    With the variance ``F`` and the largest influence ``s`` in spans of the ``k`` numbers, the mean
    squared error is at most ``(1 - g) F / (k N) + (g s)^2`` times the mean of the squares of the
    spans. A step has multipliers for all designs of at most so many spans, and null is no limit.
    """

    KEYS = f"{Capped.KEYS} share people steps criterion least"

    def read_values(self, data, n, m):
        """The share of liars, the steps and both numbers, and what a capped design has."""
        super().read_values(data, n, m)
        self.spans = [(max(row) - min(row)) * self.step for row in self.workload]
        need(self.objective == "average", "liars are for the average error")
        self.claims = LiarsClaims(data, self.spans)

    def check_liars(self, variance):
        """Check both numbers, given the variance; in words."""
        largest = max(
            max(
                Fraction(max(values), S) - min(row) * self.step,
                max(row) * self.step - Fraction(min(values), S),
            )
            / span
            for values, row, span in zip(self.values, self.workload, self.spans)
            if span
        )

        def prove(spans, step):
            slope, line = keys(step, "slope line")
            self.reach = [
                None if spans is None or not span else (spans - Fraction(1, 2)) * span
                for span in self.spans
            ]
            return by_caps(self, slope, line)

        return self.claims.check(variance, largest, prove)


class LiarsClaims:
    """What a file claims of liars: their share ``g``, the number ``N`` of people, and steps.

    Of ``k`` numbers with these ``spans`` a variance ``F`` and an influence of ``s`` spans have the
    error ``(1 - g) F / (k N) + (g s)^2`` times the mean of the squares of the spans.
    """

    def __init__(self, data, spans):
        self.share = Fraction(double(data["share"]), S)
        self.people = data["people"]
        need(0 <= self.share < 1, "a share of liars is from 0 to 1")
        need(type(self.people) is int and self.people > 0, "a number of people is 1 or more")
        self.steps = listed(data["steps"])
        self.criterion = sized(data["criterion"])
        self.least = sized(data["least"])
        self.spans = spans

    def error_at(self, variance, spans):
        """The error with liars of a variance and an influence in spans."""
        k = len(self.spans)
        squares = sum(span * span for span in self.spans) / k
        return (1 - self.share) * variance / (k * self.people) + (self.share * spans) ** 2 * squares

    def check(self, variance, largest, prove):
        """Check the error with liars, and that no design has less than ``least``; in words.

        ``prove`` bounds the variance of all designs of at most some spans, None for no limit. The
        least variance falls in the influence. So a design of more than ``a`` and at most ``b``
        spans has at least the error of the bound at ``b`` spans and of the influence ``a``
        (thm-influence-interval-of-liars).
        """
        error = self.error_at(variance, largest)
        need(error <= self.criterion, f"with liars the error is {decimal(error)}", ClaimError)
        least = None
        start = Fraction(0)
        for i, step in enumerate(self.steps):
            need(isinstance(step, dict) and "spans" in step, "a step has a limit, or null")
            limit = step["spans"]
            is_last = limit is None
            need(is_last == (i == len(self.steps) - 1), "the last step has no limit", ClaimError)
            end = None if is_last else Fraction(double(limit), S)
            need(is_last or end > start, "steps rise", ClaimError)
            parts = {key: value for key, value in step.items() if key != "spans"}
            bound = max(prove(end, parts), Fraction(0))
            lower = self.error_at(bound, start)
            least = lower if least is None else min(least, lower)
            start = end
        need(least is not None, "no steps", ClaimError)
        need(self.least <= least, f"with liars at least {decimal(least)} was proved", ClaimError)
        return f", with liars {decimal(error)} where at least {decimal(least)} is needed"


class Frequencies:
    """Subset selection, for all frequencies with equal weights, times ``unit`` in the file.

    A report is a set of ``k`` of the ``n`` answers: with probability ``p`` one that has the truth
    and ``k - 1`` others, else one of ``k`` others; all such sets are equally likely. So a set with
    an answer is ``p (n - k) / ((1 - p) k)`` times as likely under this answer as under another one
    that it has not: at most ``e**epsilon``, and above 1, as ``p > q``. ``q = (k - p) / (n - 1)`` is
    the probability that a set has a given answer which is not the truth. Of ``N`` reports,
    ``(count / N - q) / (p - q)`` estimates the frequency of an answer without bias
    (thm-estimation-frequencies). The attribute ``unit`` is the square of the factor in the file.
    """

    KEYS = "inputs unit size mass"

    def __init__(self, data):
        kind, epsilon = keys(data["privacy"], "kind epsilon")
        need(
            kind == "pure" and data["objective"] == "average",
            "frequencies are proved for pure privacy, on average",
        )
        self.inputs = data["inputs"]
        self.n = len(labels(self.inputs))
        self.k = data["size"]
        mass = data["mass"]
        self.unit = Fraction(double(data["unit"]), S) ** 2
        self.base = least_ratio(epsilon)
        n = self.n
        k = self.k
        need(
            type(k) is type(mass) is int and 0 < k < n and 0 < mass < UNIT,
            "size or mass is out of range",
        )
        self.p = Fraction(mass, UNIT)
        self.odds = self.p * (n - k) / ((1 - self.p) * k)
        need(self.is_private(epsilon), "not private", ClaimError)
        self.q = (self.p * (k - 1) + (1 - self.p) * k) / (n - 1)
        need(self.p > self.q, "reports have no information", ClaimError)
        self.spread = self.unit * (1 - Fraction(1, n))

    def is_private(self, epsilon):
        """Whether the odds are at most ``e**epsilon``."""
        over, under, _ = power(epsilon, 1)
        return self.odds * under <= over

    def in_words(self, privacy):
        """The notion."""
        return odds_in_words(privacy)

    def digest(self):
        """The hash of labels, ``p``, ``q`` and odds."""
        return hash_of("SubsetSelection", [self.inputs], [self.p, self.q, self.odds])

    def errors(self):
        """Mean squared error of all frequencies together, and no bias; the same for all answers.

        A report has the truth with variance ``p (1 - p)``, and each of the ``n - 1`` others with
        ``q (1 - q)``; all of it is divided by ``(p - q)**2``.
        """
        p = self.p
        q = self.q
        variances = p * (1 - p) + (self.n - 1) * q * (1 - q)
        return self.unit * variances / (p - q) ** 2, 0

    def bound(self, sizes, eigenvalues, level):
        """The bound of `by_product` with a single attribute, whose values are the answers.

        The Gram matrix is ``unit`` times the projection on the contrasts, whose rank is ``n - 1``.
        Of the two ``eigenvalues`` of ``K``, that of the constant plays no part, the other is sigma.
        """
        n = self.n
        most = largest_contrast(self.n, *self.base)
        need(sizes == [n] and type(sizes[0]) is int, "other sizes")
        level, _, sigma = (Fraction(entry, S) for entry in double([level, *eigenvalues], 3))
        need(level >= most * sigma**2 * self.unit, COSTS, ClaimError)
        return 2 * sigma * self.unit * (n - 1) - n * level - self.spread


class CappedFrequencies:
    """Random sets of a few sizes, for all frequencies with equal weights, times ``unit``.

    First a size is drawn, by masses that do not depend on the answer; then a set of ``k`` of the
    ``n`` answers as in `Frequencies`, with the probability ``p`` of those that have the truth. So
    the odds of a set are those among the sets of its size. A set counts ``a`` for each of its
    answers, and ``b`` for each other one. What a report moves a frequency by is at most the larger
    one of ``max V - min(0, unit)`` and ``max(0, unit) - min V`` over all of these values: at most
    the cap. ``drawn`` has the probability of each size, ``k``, ``p``, ``a`` and ``b``.
    """

    KEYS = "inputs unit cap sizes"

    def __init__(self, data):
        kind, epsilon = keys(data["privacy"], "kind epsilon")
        need(
            kind == "pure" and data["objective"] == "average",
            "frequencies are proved for pure privacy, on average",
        )
        self.inputs = data["inputs"]
        self.n = len(labels(self.inputs))
        self.unit = Fraction(double(data["unit"]), S)
        need(self.unit, "frequencies times 0")
        self.base = least_ratio(epsilon)
        self.numbers = []
        self.drawn = []
        self.odds = Fraction(1)
        last = 0
        for each in listed(data["sizes"]):
            k, mass, held, a, b = keys(each, "size mass held inside outside")
            need(
                {type(k), type(mass), type(held)} == {int},
                "sizes and masses are whole numbers",
            )
            need(
                last < k < self.n and mass > 0 and 0 < held < UNIT,
                "a size or mass out of range",
            )
            last = k
            p = Fraction(held, UNIT)
            # with the truth one of comb(n - 1, k - 1) sets, else one of comb(n - 1, k)
            ratio = p * (self.n - k)
            ratio /= (1 - p) * k
            need(ratio > 1, "a size without information", ClaimError)
            self.odds = max(self.odds, ratio)
            self.numbers += [k, mass, held]
            values = [Fraction(entry, S) for entry in double([a, b], 2)]
            share = Fraction(mass, UNIT)
            self.drawn.append((share, k, p, *values))
        total = sum(share for share, *_ in self.drawn)
        need(total == 1, "masses do not sum to 2**53", ClaimError)
        need(self.is_private(epsilon), "not private", ClaimError)
        every = [value for *_, a, b in self.drawn for value in (a, b)]
        raises = max(every) - min(self.unit, 0)
        lowers = max(self.unit, 0) - min(every)
        self.size = max(raises, lowers)
        cap = Fraction(double(data["cap"]), S)
        need(self.size <= cap, f"a report has an influence of {decimal(self.size)}", ClaimError)
        self.reach = cap - abs(self.unit) / 2
        self.spread = self.unit**2 * (1 - Fraction(1, self.n))

    def is_private(self, epsilon):
        """Whether the odds of no size are above ``e**epsilon``."""
        over, under, _ = power(epsilon, 1)
        return self.odds * under <= over

    def in_words(self, privacy):
        """The notion."""
        return odds_in_words(privacy)

    def digest(self):
        """The hash of labels, and of size and masses of the sets of each size."""
        return hash_of("SetsOfSizes", [self.inputs], self.numbers)

    def errors(self):
        """Mean squared error of all frequencies together, and squared bias, of every answer.

        ``truth`` is the mean of what a report counts for the true answer, and ``every`` that of
        ``k a + (n - k) b``, for all; so it counts ``(every - truth) / (n - 1)`` for any other one.
        The error is the mean of ``k a^2 + (n - k) b^2``, less ``2 unit truth``, and ``unit^2``.
        """
        n = self.n
        truth = every = squares = Fraction(0)
        for share, k, p, a, b in self.drawn:
            truth += share * (p * a + (1 - p) * b)
            other = n - k
            every += share * (k * a + other * b)
            squares += share * (k * a * a + other * b * b)
        other = (every - truth) / (n - 1)
        bias = (truth - self.unit) ** 2 + (n - 1) * other**2
        return squares - 2 * self.unit * truth + self.unit**2, bias

    def bound(self, same, others, line):
        """The bound of `by_caps` for ``K`` with ``same`` on its diagonal and ``others`` off it.

        ``eta`` is the same ``line`` for all answers, and so (**) is the same for all sets of one
        size (thm-influence-sizes); no set and all answers are checked, too. ``W_j - m_j`` is half
        of the unit for the answer ``j`` itself, and minus this for the others.
        """
        n = self.n
        afford(1000 * n)
        same, others, line = (Fraction(entry, S) for entry in double([same, others, line], 3))
        low, high = self.base
        base = Fraction(low, high)
        need(self.reach is None or self.reach >= 0, COSTS, ClaimError)
        for k in range(n + 1):
            total = k + (n - k) * base
            weight = total / n
            common = others * total
            inside = common + same - others
            outside = common + (same - others) * base
            cost = k * self.price(inside, weight)
            cost += (n - k) * self.price(outside, weight)
            need(cost <= line * total, COSTS, ClaimError)
        trace = n * self.unit / 2 * (same - (n - 1) * others)
        return 2 * trace - n * line - n * self.unit**2 / 4

    def price(self, z, weight):
        """``h(z, weight)``, by its definition: the best value is ``z / weight``, cut."""
        value = abs(z) / weight
        if self.reach is not None:
            value = min(value, self.reach)
        return value * (2 * abs(z) - value * weight)


class LiarsFrequencies(CappedFrequencies):
    """Such sets for a share of liars; see `LiarsClaims`. All numbers have the span ``|unit|``."""

    KEYS = f"{CappedFrequencies.KEYS} liars"

    def __init__(self, data):
        super().__init__(data)
        names = "share people steps criterion least"
        claims = dict(zip(names.split(), keys(data["liars"], names)))
        self.claims = LiarsClaims(claims, [abs(self.unit)] * self.n)

    def check_liars(self, variance):
        """Check both numbers, given the variance; in words."""
        span = abs(self.unit)

        def prove(spans, step):
            self.reach = None if spans is None else (spans - Fraction(1, 2)) * span
            return self.bound(*keys(step, "same others line"))

        return self.claims.check(variance, self.size / span, prove)


class Questions:
    """Tables of ``d`` questions of two answers each, estimated from random sets of answers.

    A report is a set of some of the ``2**d`` combinations of answers. It is of one of some *kinds*,
    which are drawn by their masses. A kind takes some of the questions, in disjoint parts of given
    sizes: the numbers of ones in the parts decide whether a combination is in the set. Which
    questions the parts have, and which of their two answers count as ones, is drawn uniformly, but
    so that the set has the truth with the probability ``held``, over ``UNIT``.

    The *sign* of ``j`` questions is -1 to the number of ones among them. Its sum over the set,
    times ``(high - low) / UNIT`` of `add_kind` and ``2**d / information[j]``, estimates the sign of
    the truth without bias; the sum is over the answers to the questions of the parts only, and 0
    for questions that are not all in the parts. These estimates are uncorrelated on average over
    the answers, with the mean square ``2**d / information[j]`` (thm-products-kinds). ``mu[j]`` is
    the eigenvalue of the Gram matrix of the tables on the signs of ``j`` questions, of which there
    are ``comb(d, j)``; ``total[j]`` is the sum of these.
    """

    KEYS = "questions tables kinds"

    def __init__(self, data):
        kind, epsilon = keys(data["privacy"], "kind epsilon")
        self.d = len(data["questions"])
        self.epsilon = epsilon
        need(kind == "pure", "sets are proved for pure privacy")
        need(0 < self.d <= 24, f"{self.d} questions", NotCheckedError)
        self.answers = [answers for _, *answers in data["questions"]]
        self.numbers = []
        self.odds = Fraction(1)
        labels([name for name, *_ in data["questions"]])
        need(
            all(len(labels(answers)) == 2 for _, *answers in data["questions"]),
            "a question has two answers",
        )
        self.mu = self.eigenvalues_of(data["tables"])
        self.total = [mu * comb(self.d, j) for j, mu in enumerate(self.mu)]
        self.base = least_ratio(epsilon)
        self.spread = sum(self.total) / 2**self.d
        self.information = [Fraction(0)] * (self.d + 1)
        for parts, inside, mass, held in data["kinds"]:
            self.add_kind(parts, inside, mass, held)
        need(
            sum(mass for _, _, mass, _ in data["kinds"]) == UNIT,
            "the masses of the kinds do not sum to 2**53",
        )
        need(
            any(self.mu) and all(value for value, mu in zip(self.information, self.mu) if mu),
            "no table or information",
        )

    def eigenvalues_of(self, tables):
        """The eigenvalues ``mu`` of all tables of ``ways`` questions times a factor, added up:

            mu[j] = sum of factor**2 * 2**(d - ways) * comb(d - j, ways - j).

        Each set of ``j`` questions is part of ``comb(d - j, ways - j)`` tables. ``mu[0]`` is 0: the
        share of all is known without any report.
        """
        d = self.d
        mu = [Fraction(0)] * (d + 1)
        for ways, factor in tables:
            need(
                type(ways) is int and 0 < ways <= d, "a table has from one to all of the questions"
            )
            for j in range(1, ways + 1):
                square = Fraction(double(factor), S) ** 2
                mu[j] += square * 2 ** (d - ways) * comb(d - j, ways - j)
        return mu

    def add_kind(self, parts, inside, mass, held):
        """Check that a kind of sets is private, and add what its sets tell to the information.

        A *cell* is a list of numbers of ones, one for each part; ``inside`` has a 1 for the cells
        that are in the set. ``sums[j]`` is the sum of the sign of ``j_1, j_2, ...`` questions of
        the parts, over those of the ``2**t`` combinations of answers to the ``t`` questions of all
        parts that are in the set: a sum of products of Krawtchouk's polynomials, `signs`. That of
        no questions is their number, ``size``. Given the answers of a person, each set of the kind
        that has them is drawn with a probability in proportion to ``high``, each other one to
        ``low``, which is less: this is private if ``high <= e**epsilon low``.

        Given ``j`` questions, ``j_1, j_2, ...`` of them are in the parts with the probability
        ``prod comb(part, j_i) / comb(d, j)``. Then the kind tells of their sign
        ``((high - low) sums / UNIT)**2``: the sum of ``a**2 / q`` over its sets, with ``q`` the
        mean of ``P(x, set)`` over all answers ``x``, and ``a`` that of ``P(x, set)`` times the
        sign. ``information[j]`` is ``2**d`` times the average of this over the kinds.
        """
        d = self.d
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
        need(
            len(inside) == len(cells) and {*inside} == {0, 1},
            "sets have some of the numbers of ones, not all",
        )
        members = list(compress(cells, inside))
        sums = {j: sum(prod(map(signs, parts, cell, j)) for cell in members) for j in cells}
        size = sums[cells[0]]
        high = Fraction(held, size)
        low = Fraction(UNIT - held, 2 ** sum(parts) - size)
        self.odds = max(self.odds, high / low)
        self.numbers += [*parts, *inside, mass, held]
        need(self.is_private(self.epsilon), "not private", ClaimError)
        need(high > low, "sets do not favor the truth")
        for j, value in sums.items():
            square = ((high - low) * value / UNIT) ** 2
            share = Fraction(mass, UNIT) * prod(map(comb, parts, j))
            self.information[sum(j)] += share * square * 2**d / comb(d, sum(j))

    def is_private(self, epsilon):
        """Whether the odds of no kind of sets are above ``e**epsilon``."""
        over, under, _ = power(epsilon, 1)
        return self.odds * under <= over

    def in_words(self, privacy):
        """The notion."""
        return odds_in_words(privacy)

    def digest(self):
        """The hash of the answers, and of the numbers of all kinds."""
        return hash_of("SetsOfKinds", self.answers, self.numbers)

    def errors(self):
        """Mean squared error of all tables, and no bias; the same for all answers.

        ``sum_j total[j] / information[j]`` less the spread: the mean square of the estimate less
        the square of its mean.
        """
        terms = (value / known for value, known in zip(self.total, self.information) if value)
        return sum(terms) - self.spread, 0

    def bound(self, eigenvalues, level, factors, apart):
        """By the moments of sets, `most_by_moments`."""
        multipliers = (eigenvalues, level, factors, apart)
        return most_by_moments(self.base, self.mu, self.total, *multipliers) - self.spread


def signs(d, j, i):
    """Krawtchouk's polynomial ``K_j(i)``: a sum of signs over all answers that have ``j`` ones.

    The answers are those to ``d`` questions; the sign is -1 to the number of ones in ``i`` of them.
    ``a`` counts these, in ``comb(i, a) comb(d - i, j - a)`` answers.
    """
    return sum((-1) ** a * comb(i, a) * comb(d - i, j - a) for a in range(j + 1))


# 5a. What a file says of its mechanism once more
#
# Beside what is proved, a file names its notion in words, the smallest epsilon of its masses, and
# the hash by which reports and counts of the mechanism are recognized. A page may be written from
# them, so that they have to be those of the masses.


def check_about(about, design, privacy):
    """Check what the file says of the mechanism once more: notion, smallest epsilon, and digest.

    The smallest epsilon was rounded up, by less than ``2**-40`` of it: the mechanism is private
    with it, and not with that part less. A digest is that of labels and masses, by which reports
    and counts of the mechanism are recognized.
    """
    title, notion, epsilon, delta, digest, made_by = keys(
        about, "title notion epsilon delta digest made_by"
    )
    texts = [title, notion, digest, made_by]
    numbers = [epsilon, delta]
    need(
        {*map(type, texts)} == {str} and {*map(type, numbers)} <= {int, float},
        "about has texts and numbers",
    )
    need(notion == design.in_words(privacy), f"about: {notion!r:.60} is another notion", ClaimError)
    need(digest == design.digest(), "about: the digest of another mechanism", ClaimError)
    need(delta == 0, "about: a delta that the notion has not", ClaimError)
    number = Fraction(str(epsilon))
    less = number * (1 - Fraction(1, 2**40))
    is_least = design.is_private(epsilon) and not (less and design.is_private(f"{less}"))
    need(is_least, f"about: {epsilon} is not the smallest epsilon", ClaimError)


def shown(epsilon):
    """A budget as it is written in words: a number in decimals, quoted if it is no decimal."""
    if not isinstance(epsilon, str):
        return repr(float(epsilon))
    text = epsilon.strip()
    return repr(text) if "/" in text or "(" in text else text


def odds_in_words(privacy):
    """The notion of sets, which are private by the largest ratio of two probabilities."""
    return f"{float(nats(privacy['epsilon'])[1]):.6g}-LDP"


def hash_of(kind, alphabets, numbers):
    """The SHA-256 of a kind of mechanism, of labels, one a line, and of numbers."""
    digest = sha256(f"{kind}\n".encode())
    for names in alphabets:
        lines = "".join(f"{line_of(name)}\n" for name in names)
        digest.update(f"{lines}--\n".encode("utf-8", "surrogatepass"))
    for number in numbers:
        digest.update(number if isinstance(number, bytes) else f"{number}\n".encode())
    return digest.hexdigest()


def line_of(name):
    """A label as Python writes it; equal numbers, as 1, 1.0 and true, are one rational."""
    if isinstance(name, (int, float)):
        return str(Fraction(name))
    return repr(as_tuple(name))


def as_tuple(name):
    """A label in which lists are tuples."""
    return tuple(map(as_tuple, name)) if isinstance(name, list) else name


# 6. Designs: bounds on all private mechanisms
#
# Each function named by_... returns the bound that its multipliers prove, or refuses them. Let
# G be the Gram matrix of the workload, centered by the weights r (with sum 1), K any matrix (in
# files: inverse), eta any vector (in files: line), and N = K'GK. If
#
#     v'Nv <= (eta.v)(r.v)     for every extreme ray v of the cone of private columns,     (*)
#
# then no private mechanism has an unbiased estimator of a smaller error than
# 2 tr(KG) - eta.1 - spread (thm-estimation-bound).
#
# In short: (*) holds for sums of rays too, hence for every column c of a private channel, because
# v'Nv / (r.v) is convex and of degree 1. With q = r.c the probability of report y, U = V_y - W r,
# and C the workload with its mean W r subtracted from each column, so that G = C'C,
#
#     0 <= sum_y q |U - C K c / q|^2 = (error + spread) - 2 tr(KG) + sum_y c'Nc / q:
#
# sum_y q |U|^2 is the error and the spread, and sum_y U c' = C, both because there is no bias. The
# last sum is at most sum_y eta.c = eta.1, as the columns of all reports add up to 1.
#
# The rays are, with b = e**-epsilon:
#
# pure privacy        v = b + (1 - b) 1_A for every set A of answers: 1 in A, b elsewhere
#                     (thm-estimation-columns). Up to 32 answers all sets are tried; for more, a
#                     matrix is shown to be positive semidefinite; means and products have proofs of
#                     their own.
# one-sided privacy   the same for nonempty sets of sensitive answers, and the unit vectors of the
#                     other answers (thm-estimation-structure-one-sided).
# graphs, metrics     v = e**(epsilon u), u a vertex of the polytope u_x - u_z <= d(x, z) with its
#                     largest entry at 0 (thm-estimation-structure-rays).

COSTS = "a column of the cone costs more than the multipliers allow: they prove no bound"


class Condition(NamedTuple):
    """Condition (*) in integers: ``over v'Nv <= under (eta.v)(r.v)``.

    ``form`` is ``N``, ``line`` is ``eta`` and ``r`` the weights, each up to a positive factor;
    ``over / under`` is what these factors amount to.
    """

    form: list
    line: list
    r: list
    over: int
    under: int


def by_form(design, inverse, line, shift, inequalities):
    """``2 tr(KG) - eta.1 - spread``, if (*) holds for the rays of the notion, one by one or in all.

    ``shift`` and ``inequalities`` help to prove it for all sets of many answers; see `signs_hold`.
    """
    c = design.c
    gram = design.centered
    matrix, scale = short(double(inverse, c, c))
    (line,), step = short([double(line, c)])
    columns = list(zip(*matrix))
    form = times(times(columns, gram), columns)
    ratio = design.factor * scale**2 * design.total / step
    condition = Condition(form, line, design.r, ratio.numerator, ratio.denominator)
    need(shift is None or design.notion.is_pure, "a shift is for pure privacy")
    need(inequalities is None or shift is not None, "inequalities need a shift")
    if isinstance(design.notion, Comparisons):
        holds = averages_hold(condition, design.notion)
    elif not design.notion.is_pure:
        holds = rays_hold(condition, design.notion)
    elif shift is not None:
        shift = double(shift, c + 1)
        taken = eighths(inequalities, c)
        holds = signs_hold(condition, *design.base, shift, taken, step / design.total)
    else:
        need(c <= LISTED, f"more than {LISTED} answers need a shift", NotCheckedError)
        holds = sets_hold(condition, *design.base)
    need(holds, COSTS, ClaimError)
    trace = sum(map(dot, matrix, gram)) * scale * design.factor
    return 2 * trace - sum(line) * step - design.spread


# 6a. Sets of answers, one by one


def sets_hold(condition, low, high):
    """Whether (*) holds for ``v = low + (high - low) 1_A`` of every set ``A`` of answers.

    ``under (eta.v)(r.v) - over v'Nv`` has to be ``>= 0``: for a set, it is a constant, a number for
    each answer in it, and one for each pair, `spare_of_sets`. Half of the answers are decided one
    after another, and for each decision all sets of the other half are looked at together: their
    values are the digits of one long integer. A digit is raised by half of its range, so that its
    highest bit, which ``sign`` masks, is 1 if and only if the value is ``>= 0``.
    """
    c = len(condition.r)
    constant, linear, pairs = spare_of_sets(condition, low, high)
    entries = [constant, *linear, *(entry for row in pairs for entry in row)]
    bits = sum(map(abs, entries)).bit_length()
    # Rounding down, for speed, lowers the value of every set, by less than 2**10 units: that, and
    # the sign, have room in the three more bits of width, as 61 bits are left.
    down = max(bits - 61, 0) if c > 20 else 0
    constant >>= down
    linear = [entry >> down for entry in linear]
    pairs = [[entry >> down for entry in row] for row in pairs]
    half = c // 2
    width = bits - down + 3
    # The first k answers have 2**k sets; ones[k] is the integer that has the digit 1 for each.
    limits = [1 << (width << k) for k in range(half + 1)]  # above all integers of 2**k digits
    ones = [(limit - 1) // (limits[0] - 1) for limit in limits]
    sign = ones[half] << width - 1

    def sums(values):
        """A digit for each set of the first answers: the sum of the values of those in it."""
        total = 0
        for k, value in enumerate(values):  # the sets without answer k, then those with it
            total += total + value * ones[k] << (width << k)
        return total

    inside = 0  # a digit for each set of the first half: the pairs in it
    for k in range(half):
        inside += inside + sums(pairs[k][:k]) << (width << k)

    def holds_from(x, linear, value):
        """The answers from ``half`` to ``x`` are decided: their value, and what others add."""
        if x == c:
            return (inside + sums(linear[:half]) + value * ones[half] + sign) & sign == sign
        return holds_from(x + 1, linear, value) and holds_from(
            x + 1, [*map(add, linear, pairs[x])], value + linear[x]
        )

    return holds_from(half, linear, constant)


def spare_of_sets(condition, low, high):
    """The parts of ``2 (under (eta.v)(r.v) - over v'Nv)`` for ``v = low + step 1_A``.

    With ``M = under (eta r' + r eta') - 2 over N``, here ``twice``, the number is ``v'Mv``. It is
    the sum of the constant ``low**2 1'M1``; for each answer ``x`` of ``A``,
    ``2 low step (M1)_x + step**2 M_xx``; and for each pair of answers of ``A``, ``2 step**2 M_xz``.
    """
    form, line, r, over, under = condition
    c = len(r)
    step = high - low
    twice = [[0] * c for _ in range(c)]
    for i, j in product(range(c), repeat=2):
        prices = line[i] * r[j] + line[j] * r[i]
        twice[i][j] = under * prices - 2 * over * form[i][j]
    constant = low * low * sum(map(sum, twice))
    linear = [step * (2 * low * sum(row) + step * row[i]) for i, row in enumerate(twice)]
    pairs = [[2 * step * step * entry for entry in row] for row in twice]
    return constant, linear, pairs


# 6b. Sets of many answers, by a matrix that is positive semidefinite


def signs_hold(condition, low, high, shift, taken, unit):
    """Whether (*) holds for every set, by one matrix: True is a proof, False proves nothing.

    With the signs ``s_x = 1`` in ``A`` and -1 elsewhere, ``2 v = (high + low) + (high - low) s``.
    So eight times ``under (eta.v)(r.v) - over v'Nv`` is a quadratic form in ``(1, s)``, and it is
    enough that a matrix of the form is positive semidefinite. As ``s_x**2 = 1``, a diagonal whose
    sum is 0, ``shift``, adds nothing to the form. ``taken``, from `eighths`, is not negative for
    any set: it is subtracted, and what is left is shown to be ``>= 0``. Both are integers over
    ``S`` for (*) as it is stated, where ``(eta.v)(r.v)`` is that of the condition times ``unit``,
    and the entries of ``v`` are 1 and ``b``, not ``high`` and ``low``: ``scale`` is the factor to
    the integers of the condition.
    """
    form, line, r, over, under = condition
    c = len(r)
    both = high + low
    step = high - low
    # eta.v, r.v and v'Nv as forms in (1, s): the entry of 1 first.
    prices = [both * sum(line), *(step * entry for entry in line)]
    weights = [both * sum(r), *(step * entry for entry in r)]
    constant = both * both * sum(map(sum, form))
    linear = [both * step * sum(row) for row in form]
    cost = [[constant, *linear]]
    for entry, row in zip(linear, form):
        cost.append([entry, *(step * step * cell for cell in row)])
    shift[0] = -sum(shift[1:])  # what the file has there is not used
    scale = Fraction(high * high * under, S) / unit

    def spare(i, j):
        twice = prices[i] * weights[j] + prices[j] * weights[i]
        kept = under * twice - 2 * over * cost[i][j]
        moved = -taken[i][j]
        if i == j:
            moved += 8 * shift[i]
        return kept * scale.denominator + scale.numerator * moved

    size = range(c + 1)
    return semidefinite([[spare(i, j) for j in size] for i in size])


def eighths(inequalities, c):
    """The matrix of eight times a form in ``(1, s)`` that is ``>= 0`` for every set ``A``.

    It is a sum with factors ``>= 0`` of two kinds. For each pair of answers, 1 if both are in
    ``A``: eight times that is ``2 (1 + s_x)(1 + s_z)``. And ``(|A| - k)(|A| - k - 1)``, which is
    ``>= 0`` as sizes are whole numbers: eight times that is ``2 (t**2 - 1)`` with
    ``t = 2 |A| - 2 k - 1``.
    """
    if inequalities is None:
        return [[0] * (c + 1)] * (c + 1)
    pairs, size, factor = keys(inequalities, "pairs size factor")
    pairs = double(pairs, c, c)
    factor = double(factor)
    need(type(size) is int and 0 <= size <= c and factor >= 0, "the factor of the size is negative")
    both = [[0] * c for _ in range(c)]
    for x, z in combinations(range(c), 2):
        both[x][z] = both[z][x] = pairs[x][z]
    need(min(map(min, both)) >= 0, "a multiplier of a pair is negative")
    sums = [sum(row) for row in both]
    matrix = [[sum(sums), *sums]]
    for entry, row in zip(sums, both):
        matrix.append([entry, *row])
    t = [c - 2 * size - 1] + [1] * c  # in (1, s), as 2 |A| is c and the sum of the signs
    for i, row in enumerate(matrix):
        matrix[i] = [entry + 2 * factor * t[i] * other for entry, other in zip(row, t)]
    matrix[0][0] -= 2 * factor
    return matrix


def semidefinite(matrix):
    """Whether a symmetric integer matrix is ``L L'`` plus one with a dominant diagonal.

    Both are positive semidefinite: then so is the matrix, and True is a proof. A diagonal is
    dominant if it is at least the sum of the absolute values of the others in its row. Floats only
    propose ``L``, of the matrix with a diagonal that is a little smaller; integers compute the
    difference. Rows and columns are first divided by powers of two that bring the diagonal near 1;
    ``rows`` are the integers ``2**54 L`` with these powers multiplied in again.
    """
    size = range(len(matrix))
    afford(len(matrix) ** 3)
    if min(matrix[i][i] for i in size) <= 0:
        return False
    half = [matrix[i][i].bit_length() + 1 >> 1 for i in size]
    scaled = [
        [float(Fraction(matrix[i][j], 1 << half[i] + half[j])) for j in range(i + 1)] for i in size
    ]
    for slack in (1e-14, 1e-12, 1e-10):
        factor = cholesky(scaled, slack * len(matrix))
        if factor is None:
            return False
        rows = [[int(entry * 2**54) << half[i] for entry in row] for i, row in enumerate(factor)]
        left = [[0] * len(matrix) for _ in size]
        for i in size:
            for j in range(i + 1):
                left[i][j] = left[j][i] = (matrix[i][j] << 108) - dot(rows[i], rows[j])
        if all(2 * row[i] >= sum(map(abs, row)) for i, row in enumerate(left)):
            return True
    return False


def cholesky(matrix, slack):
    """Lower triangle ``L`` with ``L L'`` near a matrix less ``slack`` on its diagonal, in floats.

    None if there is none. Nothing is claimed of it.
    """
    factor = []
    for i, line in enumerate(matrix):
        row = []
        for j in range(i):
            row.append((line[j] - dot(row, factor[j])) / factor[j][j])
        pivot = line[i] - slack - sum(entry * entry for entry in row)
        if pivot <= 0:
            return None
        factor.append([*row, pivot**0.5])
    return factor


# 6c. Extreme rays of graphs, metrics and one-sided privacy


def rays_hold(condition, notion):
    """Whether (*) holds for the rays of a graph, a metric or one-sided privacy.

    Entries ``e**-h`` are no rationals: they are enclosed, ``w <= v <= w + error``, in integers over
    ``2**bits``. A product of two entries then changes by at most ``error (2 * 2**bits + error)``,
    and a side of (*) by as much times the sum of the absolute values of its coefficients: ``lost``
    is more than both changes together. If ``r.v`` is 0, (*) does not depend on ``eta``, and the
    last step of the proof needs ``eta.v >= 0`` by itself.
    """
    form, line, r, over, under = condition
    rays, unit = tied_rays(notion)
    distances = {d for ray in rays for d in ray if d}
    deepest = max(distances, default=0) * unit * nats(notion.epsilon)[2]
    need(deepest <= NATS, f"a column of more than {NATS} nats", NotCheckedError)
    bits = 256 + 5 * ceil(deepest)  # any number is valid; fewer may refuse what holds
    known = enclosed_powers(notion.epsilon, unit, distances, bits)
    error = max((up - down for down, up in known.values()), default=0)
    values = {None: 0, 0: 1 << bits} | {d: down for d, (down, _) in known.items()}
    prices = sum(map(abs, line))
    costs = sum(abs(entry) for row in form for entry in row)
    sizes = under * prices * sum(map(abs, r)) + over * costs
    lost = 2 * error * ((1 << bits) + error) * sizes
    for ray in rays:
        w = [values[d] for d in ray]
        cost = sum(entry * dot(row, w) for entry, row in zip(w, form) if entry)
        price = dot(line, w)
        weight = dot(r, w)
        if under * price * weight - over * cost < lost:
            return False
        if not weight and price < error * prices:
            return False
    return True


def enclosed_powers(epsilon, unit, distances, bits):
    """For each ``d``: integers ``down <= 2**bits e**(-epsilon unit d) <= up``."""
    places = bits // 3 + 20  # decimal digits
    _, low, high = nats(epsilon, max(400, places))
    known = {}
    for d in distances:
        down = near("exp", -high * unit * d, False, places)
        up = near("exp", -low * unit * d, True, places)
        known[d] = floor(down * 2**bits), ceil(up * 2**bits)
    return known


def tied_rays(notion):
    """The extreme rays ``e**-(epsilon unit d_x)``: lists of ``d``, None for an entry 0; ``unit``.

    Of one-sided privacy: the sets of sensitive answers, 0 in the set and 1 elsewhere, and single
    other answers. Of ties: the vertices of every connected part, None elsewhere.
    """
    everyone = range(notion.n)
    if notion.ties is None:
        secret = sorted(notion.capped)
        need(len(secret) < RAYS.bit_length(), f"more than {RAYS} extreme rays", NotCheckedError)
        others = [z for z in everyone if z not in notion.capped]
        rays = []
        for size in range(1, len(secret) + 1):
            sets = combinations(secret, size)
            rays += [[int(x not in part) for x in everyone] for part in sets]
        rays += [[0 if x == z else None for x in everyone] for z in others]
        return rays, 1
    lengths, chains, unit = integer_lengths(notion.n, notion.ties)
    rays = []
    for part in parts_of(notion.n, lengths):
        place = {x: i for i, x in enumerate(part)}
        ties = [(place[x], place[z], size) for (x, z), size in lengths.items() if x in place]
        for below in vertices([chains[x][part[0]] for x in part], ties):
            ray = dict(zip(part, below))
            rays.append([ray.get(x) for x in range(notion.n)])
        need(len(rays) <= RAYS, f"more than {RAYS} extreme rays", NotCheckedError)
    return rays, unit


def integer_lengths(n, ties):
    """Ties as integers times ``unit``; lengths of the shortest chains of ties; ``unit``.

    Distances are rounded up to 52 bits, and those that differ by less than one part in ``2**38``
    are made equal to the largest; a tie is left out if a chain is as short up to that. Longer and
    fewer ties make the cone larger: a bound for it holds for the stated ones. Without this, lengths
    such as 0.1, 0.2 and 0.3, which add up but for rounding, would have many more vertices.
    """
    afford(len(ties) * n * n)
    longest = max(ties.values(), default=1)
    unit = Fraction(2) ** (frexp(longest)[1] - 52)
    rounded = {(x, z): max(1, ceil(d / unit)) for (x, z), d in ties.items() if x < z}
    equal = largest_of_near(rounded.values())
    lengths = {}
    chains = [[1 << 100] * n for _ in range(n)]
    for x in range(n):
        chains[x][x] = 0
    for size, x, z in sorted((equal[size], x, z) for (x, z), size in rounded.items()):
        if chains[x][z] > size + (size >> 38):
            lengths[x, z] = lengths[z, x] = size
            # Every chain may now go from its one end to x, over the tie to z, and on, or reversed.
            to_x = list(chains[x])
            to_z = list(chains[z])
            for row, a, b in zip(chains, to_x, to_z):
                for end, (from_x, from_z) in enumerate(zip(to_x, to_z)):
                    row[end] = min(row[end], a + size + from_z, b + size + from_x)
    return lengths, chains, unit


def largest_of_near(sizes):
    """For each size the largest of those that are near it.

    In order, a group ends before a size that is above its first one by more than one part in
    ``2**38``.
    """
    groups = []
    for size in sorted(set(sizes)):
        if not groups or size - groups[-1][0] > groups[-1][0] >> 38:
            groups.append([])
        groups[-1].append(size)
    return {size: group[-1] for group in groups for size in group}


def vertices(start, ties):
    """Vertices ``u`` of ``u_x - u_z <= length`` for ties ``(x, z, length)`` that connect all.

    Each is a tuple of the distances below its largest entry. ``start`` is as far above one answer
    as chains of ties allow, hence a vertex. From one vertex all are reached along edges of the
    polytope (Balinski 1961), which is bounded once one entry is fixed. An edge raises ``u`` on a
    set of answers, `edges_from`, until the first tie ``u_x - u_z`` with only ``x`` in it becomes
    tight; that one always comes, as all are tied both ways.
    """
    size = len(start)
    need(size <= TIED, f"{size} answers are tied to each other", NotCheckedError)
    waiting = [tuple(max(start) - entry for entry in start)]
    known = set(waiting)
    while waiting:
        below = waiting.pop()
        loose = []
        forces = [0] * size
        forced_by = [0] * size
        for x, z, length in ties:
            spare = length - (below[z] - below[x])
            if spare:
                loose.append((spare, 1 << x, 1 << z))
            else:  # x is as far above z as allowed: if x is raised, z is raised too
                forces[x] |= 1 << z
                forced_by[z] |= 1 << x
        for raised in edges_from(forces, forced_by):
            step = min(spare for spare, x, z in loose if raised & x and not raised & z)
            moved = [entry - step if raised >> x & 1 else entry for x, entry in enumerate(below)]
            vertex = tuple(entry - min(moved) for entry in moved)
            if vertex not in known:
                known.add(vertex)
                waiting.append(vertex)
                need(len(known) <= RAYS, f"more than {RAYS} extreme rays", NotCheckedError)
    return known


def edges_from(forces, forced_by):
    """Sets of answers, as bits, that the edges from a vertex raise.

    Bit ``z`` of ``forces[x]``, and bit ``x`` of ``forced_by[z]``: if x is raised, so is z. At a
    vertex the tight ties connect all answers, and along an edge just one freedom is left: it raises
    a set, such that the set and the rest are each connected by tight ties, and that no tight tie
    prevents it. All such sets are enumerated. Of some answers it is decided that they are
    ``inside`` or ``outside``, with all that follows by the tight ties, and the next free one is
    tried both ways.
    """
    everyone = (1 << len(forces)) - 1
    linked = [up | down for up, down in zip(forces, forced_by)]

    def flood(chosen, along, allowed):
        """All allowed answers that are reached from the chosen ones."""
        fresh = chosen
        while fresh:
            x = (fresh & -fresh).bit_length() - 1
            more = along[x] & allowed & ~chosen
            chosen |= more
            fresh = fresh & (fresh - 1) | more
        return chosen

    def is_connected(side, allowed):
        return not side & ~flood(side & -side, linked, allowed)

    waiting = [(flood(1, forces, everyone), 0), (0, flood(1, forced_by, everyone))]
    while waiting:
        inside, outside = waiting.pop()
        if inside & outside:
            continue  # a contradiction
        if not is_connected(inside, everyone & ~outside):
            continue  # nor will it be, whatever is added
        if not is_connected(outside, everyone & ~inside):
            continue
        free = everyone & ~(inside | outside)
        first = free & -free
        if free:
            waiting.append((flood(inside | first, forces, everyone), outside))
            waiting.append((inside, flood(outside | first, forced_by, everyone)))
        elif inside and outside:
            yield inside


# 6c (continued). Rays of comparisons of averages
#
# The columns with ``v.c <= A u.c`` for every comparison are a cone that has all private columns,
# where ``A >= e**(epsilon d)`` is a rational. It starts as that of all columns, whose rays are the
# single answers, and each comparison cuts it: the rays beyond are replaced by those in which edges
# between both sides meet the cut (Motzkin et al. 1953).


def averages_hold(condition, notion):
    """Whether (*) holds for the rays of a list of comparisons, and for the reports of one answer.

    All numbers are integers. If ``r.v`` is 0, the last step of the proof needs ``eta.v >= 0``.
    """
    form, line, r, over, under = condition
    units = [[int(x == z) for x in range(notion.n)] for z in notion.units]
    for v in averaged_rays(notion) + units:
        cost = sum(entry * dot(row, v) for entry, row in zip(v, form) if entry)
        price = dot(line, v)
        weight = dot(r, v)
        if under * price * weight < over * cost or (not weight and price < 0):
            return False
    return True


def averaged_rays(notion):
    """The extreme rays of a list of comparisons, as integers.

    A ray is kept with the rows on which it is 0, as bits: the first n are those of the answers, and
    the others those of the comparisons that cut. Two rays are the ends of an edge if no third one
    is 0 on all rows on which both are.
    """
    n = notion.n
    need(n <= TIED, f"{n} answers are compared with each other", NotCheckedError)
    everyone = range(n)
    rays = [([int(x == z) for x in everyone], (1 << n) - 1 - (1 << z)) for z in everyone]
    bit = 1 << n
    for row in sorted(set(rows_above(notion))):
        values = [dot(row, ray) for ray, _ in rays]
        if min(values) >= 0:
            continue
        sides = [[i for i, value in enumerate(values) if value * sign > 0] for sign in (1, -1)]
        edges = edges_between(rays, *sides, n)
        joined = []
        for i, k in edges:
            pairs = zip(rays[i][0], rays[k][0])
            ray = [values[i] * b - values[k] * a for a, b in pairs]
            divisor = gcd(*ray)
            zeros = rays[i][1] & rays[k][1] | bit
            joined.append(([entry // divisor for entry in ray], zeros))
        kept = zip(rays, values)
        rays = [
            (ray, on if value else on | bit) for (ray, on), value in kept if value >= 0
        ] + joined
        bit <<= 1
        need(len(rays) <= RAYS, f"more than {RAYS} extreme rays", NotCheckedError)
    return [ray for ray, _ in rays]


def edges_between(rays, above, below, n):
    """Pairs of rays, one of each side, that are the ends of an edge.

    ``holders[row]`` has a bit for each ray that is 0 on the row. The ends of an edge have n - 2
    independent rows in common, so that pairs with fewer rows are passed over.
    """
    afford(len(above) * len(below) * n)
    rows = max(on for _, on in rays).bit_length()
    holders = [
        sum(1 << i for i, (_, on) in enumerate(rays) if on >> row & 1) for row in range(rows)
    ]
    for i in above:
        for k in below:
            common = rays[i][1] & rays[k][1]
            if common.bit_count() < n - 2:
                continue
            both = (1 << len(rays)) - 1
            for row in range(rows):
                if common >> row & 1:
                    both &= holders[row]
            if both.bit_count() == 2:
                yield i, k


def rows_above(notion):
    """``A u - v`` in integers for each comparison, with a rational ``A >= e**(epsilon d)``.

    Budgets that are whole multiples of one number, up to 16, have powers of one rational: ratios
    that are rounded one by one would split rays, and many more would be listed.
    """
    sizes = {}
    ratios = []
    for row in notion.rows:
        ratio, _, high = nats(row.epsilon)
        is_exact = ratio is not None and row.d == int(row.d) <= 64
        ratios.append(ratio ** int(row.d) if is_exact else short_above(high * row.d))
        if ratio is None:
            sizes[len(ratios) - 1] = Fraction(high * row.d)
    unit = lcm(*(size.denominator for size in sizes.values()))
    step = Fraction(gcd(*(int(size * unit) for size in sizes.values())), unit)
    if sizes and max(sizes.values()) <= 16 * step:
        base = short_above(step)
        ratios = [base ** int(sizes[i] / step) if i in sizes else a for i, a in enumerate(ratios)]
    for ratio, (v, u, _) in zip(ratios, notion.whole):
        over, under = ratio.as_integer_ratio()
        yield tuple(over * u.get(x, 0) - under * v.get(x, 0) for x in range(notion.n))


def short_above(size):
    """A rational of at least ``e**size``; what it has above 1 is rounded up to 100 bits or so."""
    need(size <= NATS, f"a budget of more than {NATS} nats", NotCheckedError)
    excess = near("exp", Fraction(size), up=True) - 1
    shift = 100 + max(0, excess.denominator.bit_length() - excess.numerator.bit_length())
    return 1 + Fraction(ceil(excess * 2**shift), 2**shift)


# 6d. A single mean


def by_mean(design, numbers, slope, line):
    """A workload of multiples of one row of numbers ``w``: ``factor (2 k.w - y.1) - spread``.

    With ``w`` centered by the weights, ``G = factor w w'``. Let ``k = K'w`` (in files: slope) and
    ``eta = factor y`` (``y`` is the line in the file): (*) is ``(k.v)^2 <= (y.v)(r.v)``, and
    ``tr(KG) = factor k.w``. As ``w`` is not 0, every ``k`` is ``K'w`` for some ``K``.
    """
    need(
        design.notion.is_pure, "these multipliers prove a bound under pure privacy only", ClaimError
    )
    c = design.c
    gram = design.centered  # G over unit
    unit = design.factor
    w = [Fraction(entry, S) for entry in double(numbers, c)]
    k = [Fraction(entry, S) for entry in double(slope, c)]
    y = [Fraction(entry, S) for entry in double(line, c)]
    middle = dot(design.r, w) / design.total
    centered = [entry - middle for entry in w]
    pivot = max(range(c), key=lambda x: abs(centered[x]))
    need(centered[pivot], "the numbers are all the same", ClaimError)
    factor = gram[pivot][pivot] * unit / centered[pivot] ** 2  # all of G is compared below
    holds = all(
        g * unit == factor * a * b for a, row in zip(centered, gram) for b, g in zip(centered, row)
    )
    need(holds, "the workload is not of multiples of the numbers", ClaimError)
    r = [Fraction(weight, design.total) for weight in design.r]
    need(line_holds(k, y, r, Fraction(*design.base)), COSTS, ClaimError)
    return factor * (2 * dot(k, centered) - sum(y)) - design.spread


def line_holds(k, y, r, b):
    """Whether ``(k.v)^2 <= (y.v)(r.v)`` for ``v = b + (1 - b) 1_A`` of every set ``A``.

    As ``r.v > 0``, this says that ``sum_x v_x a_x(t) >= 0`` for all ``t``, with the quadratics
    ``a_x(t) = r_x t^2 - 2 k_x t + y_x``: the discriminant is not positive. For each ``t`` the worst
    set is ``{x: a_x(t) < 0}``: only these need to be tried (thm-estimation-structure-mean).
    """
    return all(
        price >= 0 and slope * slope <= price * weight
        for slope, price, weight in sums_of_worst_sets(k, y, r, b)
    )


def sums_of_worst_sets(k, y, r, b):
    """``k.v``, ``y.v`` and ``r.v`` of every set ``{x: a_x(t) < 0}`` of some ``t``.

    They change at the roots of the quadratics, which are sorted; where roots are too near to each
    other to be sorted, every set that may lie between them is tried.
    """
    inside = set()  # those with a_x(t) < 0 for t near -infinity: rising lines, constants below 0
    for x, weight in enumerate(r):
        if not weight and (k[x] < 0 or k[x] == 0 > y[x]):
            inside.add(x)
    for group in near_roots(k, y, r):
        free = sorted({x for _, x, _ in group})
        need(len(free) <= 12, "too many roots are too near to each other", NotCheckedError)
        for size in range(len(free) + 1):
            for more in combinations(free, size):
                chosen = inside.difference(free).union(more)
                yield tuple(
                    b * sum(part) + (1 - b) * sum(part[x] for x in chosen) for part in (k, y, r)
                )
        for _, x, leaves in group:
            (inside.discard if leaves else inside.add)(x)


def near_roots(k, y, r):
    """Roots of ``r_x t^2 - 2 k_x t + y_x`` in order, in groups of those that are near each other.

    Each is ``(root, x, leaves)``: the root in units of ``2**-200``, rounded down, and whether ``x``
    leaves the set ``{a_x(t) < 0}`` there, or enters it. The square root, which is rounded up by at
    most a unit, is divided by ``r_x``; hence roots that differ by more than ``8 + 4 / min r`` units
    are in their order. With ``r_x = 0`` there is one root, ``y_x / (2 k_x)``. There is a first
    group even if there are no roots, so that one set is tried at least.
    """
    roots = []
    for x, (slope, price, weight) in enumerate(zip(k, y, r)):
        square = slope * slope - weight * price
        if weight and square > 0:
            middle = slope / weight
            spread = root(square) / weight
            roots.append((floor((middle - spread) * 2**200), x, False))
            roots.append((floor((middle + spread) * 2**200), x, True))
        elif not weight and slope:
            roots.append((floor(price / slope * 2**199), x, slope < 0))
    groups = [[]]
    apart = 8 + 4 / min(weight for weight in r if weight)
    for event in sorted(roots):
        if not groups[-1] or event[0] - groups[-1][-1][0] > apart:
            groups.append([])
        groups[-1].append(event)
    return groups


# 6e. Products: combinations of attributes
#
# The Gram matrix depends only on the attributes in which two answers differ. Such matrices have the
# same eigenspaces, one for each set T of attributes: G = sum_T mu_T E_T, rank E_T = the product of
# (size - 1) over T (thm-estimation-structure-scheme). Take K = sum_T sigma_T E_T (in files:
# eigenvalues), hence N = sum_T nu_T E_T with nu_T = sigma_T^2 mu_T, and eta = level for every
# answer. Then 2 tr(KG) = 2 sum_T sigma_T mu_T rank E_T, and (*) is, for a set A of k of the n
# answers,
#
#     (1 - b)^2 sum_{T not empty} nu_T |E_T 1_A|^2 <= level / n (b n + (1 - b) k)^2,
#
# as the projections E_T of the constant are 0. Lists that belong to the sets T are in the order of
# products: the first attribute is that of the highest bit.


def largest_contrast(n, low, high):
    """Largest ``(1 - b)^2 k (n - k) / (b n + (1 - b) k)^2`` over ``k = 1, ..., n - 1``.

    Times ``max nu_T``, it is the least level for which (*) holds by itself, because
    ``sum_T |E_T 1_A|^2 = k (n - k) / n``. It rises up to ``k = n b / (1 + b)``, then falls: the two
    whole numbers next to it decide (thm-estimation-structure-sizes). ``b = low / high``.
    """
    least = n * low // (low + high)
    step = high - low
    ratios = []
    for size in (least, least + 1):
        k = min(n - 1, max(1, size))
        mass = low * n + step * k
        ratios.append(Fraction(step * step * k * (n - k), mass * mass))
    return max(ratios)


def largest_diagram(sizes, nu, low, high):
    """The least level of two attributes that count one by one: ``nu_T = 0`` if T has both.

    The values of the first attribute are ``p`` rows of ``q`` answers, those of the second one the
    columns. The cost of a set depends on its row sums and column sums only,

        |E_T 1_A|^2 = sum row^2 / q - k^2 / n     if T has the attribute of the rows,

    and ``sum column^2 / p - k^2 / n`` if it has the other one.

    For given row sums a Ferrers diagram, whose rows begin at one side, has the largest sum of
    squared column sums (Gale, Ryser; thm-estimation-structure-ferrers): all of these are tried.
    """
    p, q = sizes
    n = prod(sizes)
    step = high - low
    most = Fraction(0)
    for rows in combinations_with_replacement(range(q + 1), p):
        k = sum(rows)
        columns = [sum(row > place for row in rows) for place in range(q)]
        by_rows = Fraction(dot(rows, rows), q) - Fraction(k * k, n)
        by_columns = Fraction(dot(columns, columns), p) - Fraction(k * k, n)
        energy = nu[2] * by_rows + nu[1] * by_columns
        mass = low * n + step * k
        most = max(most, energy * n * step**2 / mass**2)
    return most


def largest_by_pairs(sizes, rank, nu, raised, low, high):
    """The least level by the shares of pairs of answers that are in the set (thm-products-pairs).

    The ``nu_T`` may be raised, to ``raised_T``, and that of the constant, ``raised[0]``, is any
    number, whose part is taken away again. With ``m = k / n``, the cost of a set over ``n`` is then

        sum_S c_S phi_S - raised[0] m^2,

    where ``phi_S`` says of which share of the pairs of answers that differ in just the attributes
    ``S`` both are in the set. ``c_S`` is the entry of ``sum_T raised_T E_T`` at these pairs, by
    `transform`, times the number of answers that differ from a given one in just ``S``: this number
    is ``rank E_S``. ``phi_S`` is ``m`` for no difference, else at most ``m``, and at least 0 and
    ``2 m - 1``: a ``c_S > 0`` counts with the most, and one below 0 with the least.
    """
    n = prod(sizes)
    square = raised[0]
    entries = transform([square, *map(max, nu[1:], raised[1:])], sizes)
    first, *others = (entry * pairs / n for entry, pairs in zip(entries, rank))
    over = first + sum(max(c, 0) for c in others)
    under = sum(min(c, 0) for c in others)
    step = high - low
    ratios = []
    for k in range(1, n + 1):
        energy = n * (k * over + max(2 * k - n, 0) * under) - square * k * k
        mass = low * n + step * k
        ratios.append(energy * step**2 / mass**2)
    return max(ratios)


def by_product(design, sizes, eigenvalues, level, raised=None):
    """``2 sum_T sigma_T mu_T rank E_T - n level - spread``, if the level is large enough.

    It is large enough by the pairs of a set, where eigenvalues are raised; by all Ferrers diagrams,
    of two attributes that count by themselves; or by the sizes of sets alone. What the Gram matrix
    has beside its eigenvalues ``mu_T`` adds at most ``sigma_T^2 off`` to each ``nu_T``.
    """
    mu, off = in_scheme(design, sizes)
    numbers = double([level, *eigenvalues], 1 + len(mu))
    level, *sigma = (Fraction(number, S) for number in numbers)
    nu = [s * s * (eigenvalue + off) for s, eigenvalue in zip(sigma, mu)]
    contrasts = [size - 1 for size in sizes]
    subsets = product((0, 1), repeat=len(sizes))
    rank = [prod(compress(contrasts, parts)) for parts in subsets]
    is_separate = len(sizes) == 2 and mu[3] == off == 0
    if raised is not None:
        raised = [Fraction(number, S) for number in double(raised, len(nu))]
        most = largest_by_pairs(sizes, rank, nu, raised, *design.base)
    elif is_separate and comb(sum(sizes), sizes[0]) <= DIAGRAMS:
        most = largest_diagram(sizes, nu, *design.base)
    else:
        most = max(nu) * largest_contrast(design.c, *design.base)
    need(level >= max(most, 0), COSTS, ClaimError)
    trace = sum(s * m * size for s, m, size in zip(sigma, mu, rank))
    return 2 * trace - design.c * level - design.spread


def in_scheme(design, sizes):
    """``mu_T`` of the Gram matrix, and a bound ``off`` on all eigenvalues of what it leaves.

    The Gram matrix is averaged over pairs that differ in the same attributes. All weights must be
    equal, and the sizes those of the attributes.
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
    """Eigenvalues of a matrix averaged over pairs that differ in the same attributes; and ``off``.

    ``off`` is the largest sum of the absolute values in a row of the difference, which no
    eigenvalue of a symmetric matrix exceeds. ``seen[x][z]`` has a bit for each attribute in which
    they differ.
    """
    afford(len(form) ** 2 * len(sizes))
    answers = list(product(*map(range, sizes)))
    full = prod(size - 1 for size in sizes)
    bits = [1 << axis for axis in reversed(range(len(sizes)))]
    seen = [[sum(compress(bits, map(ne, x, z))) for z in answers] for x in answers]
    sums = [0] * 2 ** len(sizes)
    counts = [0] * 2 ** len(sizes)
    for parts, row in zip(seen, form):
        for part, entry in zip(parts, row):
            sums[part] += entry
            counts[part] += 1
    common = len(form) * full  # a multiple of every count
    average = [total * (common // count) for total, count in zip(sums, counts)]
    off = max(
        sum(abs(entry * common - average[part]) for part, entry in zip(*pair))
        for pair in zip(seen, form)
    )
    return transform([Fraction(entry, common) for entry in average], sizes), Fraction(off, common)


def transform(entries, sizes):
    """Eigenvalues, from the entry for each set of attributes that differ; the list is overwritten.

    Of one attribute, a matrix with ``a`` on the diagonal and ``b`` elsewhere has the eigenvalue
    ``a + (size - 1) b`` on the constant and ``a - b`` on the contrasts; of several, this is done
    for one after another. Of eigenvalues it makes the entries times the number of answers, because
    two such steps multiply by the size.
    """
    for axis, size in enumerate(reversed(sizes)):
        for place in (place for place in range(len(entries)) if not place >> axis & 1):
            same = entries[place]
            differ = entries[place | 1 << axis]
            entries[place] = same + (size - 1) * differ
            entries[place | 1 << axis] = same - differ
    return entries


# 6f. Questions of two answers each: moments of sets
#
# The answers are all combinations of answers to d questions, and sets T of the same number j of
# questions have one sigma_j. The weights W_j = sum_T |E_T 1_A|^2 / 2**d over these T decide what a
# set A costs. Distance is the number of questions that two answers answer otherwise. A moment is
# the share of lists of answers at given distances all of whose answers are in A: of single answers
# x; of x and y at one distance; of x, y and z at three; or of four, up to all exchanges of
# questions and of the two answers of a question. Names of moments: () is 1, (0, 0, 0) the share of
# A, (0, i, i) that of two answers at distance i, (a, b, c) that of three, in order, and what `four`
# returns.


def by_moments(design, eigenvalues, level, factors, apart):
    """The bound of `most_by_moments` less the spread, for a listed design.

    Of all sets of ``j`` questions the largest eigenvalue counts, with ``off``, which is that of
    what is not in the scheme; see `by_product`.
    """
    d = design.c.bit_length() - 1
    mu, off = in_scheme(design, [2] * d)
    groups = [[] for _ in range(d + 1)]
    for place, eigenvalue in enumerate(mu):
        groups[place.bit_count()].append(eigenvalue)
    largest = [max(group) + off for group in groups]
    total = list(map(sum, groups))
    multipliers = (eigenvalues, level, factors, apart)
    return most_by_moments(design.base, largest, total, *multipliers) - design.spread


def most_by_moments(base, largest, total, eigenvalues, level, factors, apart):
    """``2 tr(KG) - eta.1 = 2 sum_j sigma_j total_j - 2**d level``, if (*) holds for every set.

    With ``m`` the share of the set and ``nu_j = sigma_j^2 largest_j``, (*) is
    (thm-products-moments)

        (1 - b)^2 sum_j nu_j W_j <= level (b^2 + 2 b (1 - b) m + (1 - b)^2 W_0).

    The right side less the left, times ``2**d``, is a sum of coefficients times moments. Matrices
    ``M`` of moments that are positive semidefinite for every set have ``tr(L' M L) >= 0`` for any
    ``L``, here the triangles in ``factors``. They are subtracted, and what is left need not be 0:
    no moment is negative, and none is above ``m``. So it is at least ``left[()] + m slope``, which
    is ``>= 0`` for all ``m`` from 0 to 1 if it is at both ends (thm-products-rationals). ``apart``
    are the distances of two given answers, for matrices of moments of four.
    """
    d = len(total) - 1
    b = Fraction(*base)
    share = (0, 0, 0)
    numbers = double([level, *eigenvalues], d + 2)
    level, *sigma = (Fraction(number, S) for number in numbers)
    nu = [s * s * m for s, m in zip(sigma, largest)]
    nu[0] = -level
    left = {}
    for moment, cost in weighed(nu).items():
        left[moment] = -((1 - b) ** 2) * cost
    left[()] = 2**d * level * b**2
    left[share] += 2**d * level * 2 * b * (1 - b)
    need(
        all(type(a) is int and 0 < a <= d for a in listed(apart)),
        "distances are from 1 to the number of questions",
    )
    afford(20 * len(apart) * comb(d + 7, 7))
    blocks = list(moments(d))
    for a in apart:
        blocks += given_two(d, a)
    blocks += forms(d)
    traces, unit = traces_of(blocks, factors)
    for moment, trace in traces.items():
        left[moment] = left.get(moment, 0) - trace * unit**2
    slope = left[share]
    for moment, entry in left.items():
        if moment not in ((), share):
            slope += min(entry, 0)
    need(left[()] >= 0 <= left[()] + slope, COSTS, ClaimError)
    return 2 * dot(sigma, total) - 2**d * level


def weighed(nu):
    """``2**d sum_j nu_j W_j`` as coefficients of moments.

    ``2**d W_j`` is the sum of ``comb(d, i) K_j(i)`` times the moment of two answers at distance
    ``i``, with Krawtchouk's polynomials, `signs`.
    """
    d = len(nu) - 1
    coefficients = {}
    for i in range(d + 1):
        cost = sum(factor * signs(d, j, i) for j, factor in enumerate(nu))
        coefficients[0, i, i] = cost * comb(d, i)
    return coefficients


def traces_of(blocks, factors):
    """``sum tr(L' M L)`` over all matrices ``M``: a coefficient for each moment, in ``unit**2``.

    The factors are all ``L``, lower triangles, row by row; ``tr(L' M L)`` is the sum of the entries
    of ``M`` times those of ``L L'``.
    """
    count = sum(size * (size + 1) // 2 for size, _ in blocks)
    (numbers,), unit = short([double(factors, count)])
    numbers = iter(numbers)
    traces = {}
    for size, entries in blocks:
        lower = [[next(numbers) for _ in range(i + 1)] for i in range(size)]
        # The longer row ends in what is multiplied by zeros, which `dot` leaves out.
        square = [[dot(row, other) for other in lower] for row in lower]
        for i, j, moment, factor in entries:
            traces[moment] = traces.get(moment, 0) + factor * square[i][j]
    return traces, unit


def moments(d):
    """Matrices of moments that are positive semidefinite for every set: size, and entries.

    An entry is ``(row, column, moment, factor)``; entries at the same place are added. With ``p``
    the indicator of the set, ``x`` a uniform answer, and ``q_y = p_(x + y)``, where ``x + y``
    answers otherwise than ``x`` just the questions that are 1 in ``y``, the matrices are averages
    of squares:

        E p_x q q'  (x is in the set)     and     E (1 - p_x) (1, q)(1, q)'  (x is outside).

    Averaged over all exchanges of the questions too, they fall into the blocks of Schrijver 2005,
    by the numbers ``i`` and ``j`` of ones of ``y`` and ``z`` (thm-products-inequalities).
    """
    for k in range(d // 2 + 1):
        inside = []
        outside = []
        if k == 0:  # the entry of 1
            outside.append((0, 0, (), 1))
            outside.append((0, 0, (0, 0, 0), -1))
        for i, j, t, factor in blocks_of(d, k):
            place = (i - k, j - k)
            far = i + j - 2 * t
            moment = tuple(sorted((i, j, far)))
            inside.append((*place, moment, factor))
            if min(i, j):
                outside.append((*place, (0, far, far), factor))
                outside.append((*place, moment, -factor))
            elif max(i, j):  # y or z is x itself, which is not in the set: 1 takes its row
                outside.append((*place, (0, 0, 0), factor))
                outside.append((*place, (0, far, far), -factor))
        yield d - 2 * k + 1, inside
        yield d - 2 * k + 1, outside


def blocks_of(d, k):
    """Entries ``i, j, t, factor`` of block ``k`` of a matrix that the exchanges of questions keep.

    The matrix is indexed by answers with ``i`` and ``j`` ones, ``t`` of them common, and the factor
    is Schrijver's ``beta``, equation (4) of thm-products-inequalities.
    """
    for i, j in product(range(k, d - k + 1), repeat=2):
        for t in range(max(0, i + j - d), min(i, j) + 1):
            factor = 0
            for u in range(max(t, k), min(i, j, d - k) + 1):
                ways = comb(d - 2 * k, u - k)
                ways *= comb(d - k - u, i - u)
                ways *= comb(d - k - u, j - u)
                factor += (-1) ** (u - t) * comb(u, t) * ways
            yield i, j, t, factor


def given_two(d, a):
    """As `moments`, given two answers ``x`` and ``x + w``, ``w`` of ``a`` ones (thm-products-four).

    The three matrices are ``E p_x p_w q q'`` (both are in the set), ``E p_x (1 - p_w) q q'`` (only
    the first one is), and ``E (1 - p_x)(1 - p_w) (1, q)(1, q)'`` (none is), with ``p_w`` for the
    indicator of ``x + w``. Averages are over all ``x`` and all ``w`` of ``a`` ones, so that the
    entries are moments. Given ``w``, questions are exchanged among the ``a`` and among the others,
    so that the factors are products. ``y`` has ``i`` ones among the ``a`` questions and ``u`` among
    the others, ``z`` has ``j`` and ``v``, and ``t`` and ``s`` are common. The row of ``w`` is that
    of 0, or 0: it is left out.
    """
    for k, m in product(range(a // 2 + 1), range((d - a) // 2 + 1)):
        rows = list(product(range(k, a - k + 1), range(m, d - a - m + 1)))
        if k == m == 0:
            rows.remove((a, 0))
        place = {row: number for number, row in enumerate(rows)}
        both = []
        first = []
        none = []
        if k == m == 0:  # the entry of 1
            none.append((0, 0, (), 1))
            none.append((0, 0, (0, 0, 0), -2))
            none.append((0, 0, (0, a, a), 1))
        for ones, others in product(blocks_of(a, k), blocks_of(d - a, m)):
            i, j, t, factor = ones
            u, v, s, other = others
            if (i, u) not in place or (j, v) not in place:
                continue
            spot = (place[i, u], place[j, v])
            factor *= other
            with_x, with_w, every = shares_given_two(a, ones, others)
            both.append((*spot, every, factor))
            first.append((*spot, with_x, factor))
            first.append((*spot, every, -factor))
            # The entry of the third matrix: what is added, and what is subtracted.
            more = []
            less = []
            if i + u and j + v:
                far = i + j + u + v - 2 * (t + s)
                more = [(0, far, far), every]
                less = [with_x, with_w]
            elif i + u or j + v:  # y or z is x itself, which is not in the set: 1 takes its row
                to_x = i + j + u + v
                to_w = a - i - j + u + v
                more = [(0, 0, 0), tuple(sorted((a, to_x, to_w)))]
                less = [(0, to_x, to_x), (0, to_w, to_w)]
            none += [(*spot, moment, factor) for moment in more]
            none += [(*spot, moment, -factor) for moment in less]
        for entries in (both, first, none):
            yield len(rows), entries


def shares_given_two(a, ones, others):
    """Names of the moments of ``x, y, z``; of ``x + w, y, z``; and of all four.

    ``y`` has ``i`` ones among the ``a`` questions of ``w``, and ``z`` has ``j``; ``t`` are common.
    Among the other questions these are ``u``, ``v`` and ``s``.
    """
    i, j, t, _ = ones
    u, v, s, _ = others
    far = i + j + u + v - 2 * (t + s)  # the distance of y and z
    with_x = tuple(sorted((i + u, j + v, far)))
    with_w = tuple(sorted((a - i + u, a - j + v, far)))
    every = four(0, a - i - j + t, u - s, i - t, v - s, j - t, s, t)
    return with_x, with_w, every


@cache
def four(*counts):
    """The name of the moment of four answers ``0, w, y, z``: the same in whatever order they are.

    ``counts[kind]`` is the number of questions that just the answers of ``kind`` answer otherwise
    than 0: ``w`` has the bit 1, ``y`` 2 and ``z`` 4; in ``2 * kind`` the answer 0 has a bit too,
    which is never set, and all four are numbered by their bits. If two answers are equal, the name
    is that of three: their distances in order. Else each of the four is taken for 0, the others are
    put in every order, and the least of all lists of counts is the name.
    """
    distances = {}
    for pair in combinations(range(4), 2):
        distances[pair] = sum(
            count for kind, count in enumerate(counts) if len({2 * kind >> x & 1 for x in pair}) > 1
        )
    for (_, last), distance in distances.items():
        if distance == 0:
            return tuple(sorted(size for pair, size in distances.items() if last not in pair))
    names = []
    for first, *others in permutations(range(4)):
        moved = dict.fromkeys(product((0, 1), repeat=3), 0)
        for kind, count in enumerate(counts):
            moved[tuple((2 * kind >> x ^ 2 * kind >> first) & 1 for x in others)] += count
        names.append(tuple(moved.values())[1:])
    return min(names)


def forms(d):
    """As `moments`, matrices of one row and one column: numbers that are ``>= 0`` for every set."""
    yield from patterns(d)
    if d < 10:
        yield from sizes_of_sets(d)


def patterns(d):
    """Of three answers, the shares for which those of ``p`` are in the set, and the others not.

    By inclusion and exclusion it is a sum over all ``q`` that contain ``p``: the share for which
    those of ``q`` are in the set, with the sign -1 to the number that ``q`` has more. There are
    three answers at the distances ``a, b, c`` if ``a + b + c`` is even and none is too long.
    """
    share = (0, 0, 0)
    for a, b, c in combinations_with_replacement(range(1, d + 1), 3):
        if c > min(a + b, 2 * d - a - b) or (a + b + c) % 2:
            continue
        # By the bits of q: the first answer has bit 1, the second 2, the third 4.
        known = [(), share, share, (0, a, a)]
        known += [share, (0, b, b), (0, c, c), (a, b, c)]
        for p in range(8):
            entries = []
            for q in range(8):
                if p & q == p:
                    sign = (-1) ** (p ^ q).bit_count()
                    entries.append((0, 0, known[q], sign))
            yield 1, entries


def sizes_of_sets(d):
    """``(|A| - k)(|A| - k - 1)``, which is ``>= 0`` for whole numbers ``k``.

    ``|A|**2`` is ``2**d sum_i comb(d, i)`` times the moment of two answers at distance ``i``.
    """
    n = 2**d
    square = [(0, 0, (0, i, i), n * comb(d, i)) for i in range(d + 1)]
    for k in range(min(n, 40)):
        linear = (0, 0, (0, 0, 0), -(2 * k + 1) * n)
        constant = (0, 0, (), k * (k + 1))
        yield 1, [*square, linear, constant]


# 6g. Caps on the influence
#
# If the values of a report are at most B_j from the middle m_j of number j, and
#
#     sum_j h_j(k_j.v, r.v) <= eta.v   for every extreme ray v,     h_j(z, p) = max 2 V z - p V^2
#                                                                   over all |V| <= B_j,      (**)
#
# then no private mechanism with an unbiased estimator within the caps has a smaller error than
# 2 sum_j k_j.(W_j - m_j) - eta.1 - sum_x r_x |W_x - m|^2 (thm-influence-bound). In short: with V
# less m, 2 V k.c - (r.c) V^2 <= h(k.c, r.c) for each column c, h is convex and of degree 1, so that
# (**) holds for columns too; summed over the reports the left side is 2 sum_j k_j.(W_j - m_j), less
# the mean of the squares of V. Times p: h p = z^2 - (|z| - B p)+^2, and with p = 0: h = 2 B |z|.


class Price(NamedTuple):
    """Condition (**) in integers: rows ``k``, ``eta`` and ``r`` over one denominator; the reach of
    each row over ``unit``, None without a cap.
    """

    slope: list
    line: list
    r: list
    reach: list
    unit: int

    def fits(self, z, price, weight):
        """Whether (**) holds, given the sums ``k_j.v``, ``eta.v`` and ``r.v`` over one
        denominator.
        """
        if price < 0:
            return False
        unit = self.unit
        if not weight:
            if any(size and reach is None for size, reach in zip(z, self.reach)):
                return False
            costs = sum(2 * reach * abs(size) for size, reach in zip(z, self.reach) if size)
            return costs <= unit * price
        cost = 0
        for size, reach in zip(z, self.reach):
            size = unit * abs(size)
            cost += size * size
            if reach is not None and size > reach * weight:
                cost -= (size - reach * weight) ** 2
        return cost <= unit * unit * price * weight


def by_caps(design, slope, line):
    """``2 sum_j k_j.(W_j - m_j) - eta.1 - sum_x r_x |W_x - m|^2``, if (**) holds for the rays."""
    k = len(design.wide)
    c = design.c
    rows = double(slope, k, c)
    prices = double(line, c)
    need(all(reach is None or reach >= 0 for reach in design.reach), COSTS, ClaimError)
    used = [j for j in range(k) if any(rows[j])]
    unit = lcm(*(design.reach[j].denominator for j in used if design.reach[j] is not None))
    reach = [None if design.reach[j] is None else int(design.reach[j] * unit) for j in used]
    # K and eta are over S, and r over its sum: all over S times that sum
    total = design.total
    scaled = [[entry * total for entry in rows[j]] for j in used]
    weights = [weight * S for weight in design.r]
    price = Price(
        scaled,
        [entry * total for entry in prices],
        weights,
        reach,
        unit,
    )
    if isinstance(design.notion, Comparisons):
        holds = averages_fit(price, design.notion)
    elif not design.notion.is_pure:
        holds = rays_fit(price, design.notion)
    elif len(used) <= 1:
        own = scaled[0] if used else [0] * c
        parts = [
            [*map(Fraction, own)],
            [*map(Fraction, price.line)],
            [*map(Fraction, weights)],
        ]
        holds = worst_sets_fit(price, parts, Fraction(*design.base))
    else:
        need(c <= CAPPED, f"caps for more than {CAPPED} answers", NotCheckedError)
        holds = all_sets_fit(price, *design.base)
    need(holds, COSTS, ClaimError)
    half = design.step / 2
    trace = Fraction(sum(map(dot, rows, design.wide)), S) * half
    squares = [sum(entry * entry for entry in column) for column in zip(*design.wide)]
    constant = half * half * Fraction(dot(design.r, squares), total)
    return 2 * trace - Fraction(sum(prices), S) - constant


def averages_fit(price, notion):
    """Whether (**) holds for the rays of a list of comparisons, in integers."""
    units = [[int(x == z) for x in range(notion.n)] for z in notion.units]
    return all(
        price.fits([dot(row, v) for row in price.slope], dot(price.line, v), dot(price.r, v))
        for v in averaged_rays(notion) + units
    )


def rays_fit(price, notion):
    """Whether (**) holds for the rays of ties, whose entries are enclosed as in `rays_hold`.

    ``h`` rises with the size of ``z`` and falls with ``p``: sizes are raised, and weights and
    prices lowered, by the most that the errors of entries change.
    """
    rays, unit = tied_rays(notion)
    distances = {d for ray in rays for d in ray if d}
    deepest = max(distances, default=0) * unit * nats(notion.epsilon)[2]
    need(deepest <= NATS, f"a column of more than {NATS} nats", NotCheckedError)
    bits = 256 + 5 * ceil(deepest)
    known = enclosed_powers(notion.epsilon, unit, distances, bits)
    error = max((up - down for down, up in known.values()), default=0)
    values = {None: 0, 0: 1 << bits} | {d: down for d, (down, _) in known.items()}
    lost = [error * sum(map(abs, row)) for row in price.slope]
    less = error * sum(map(abs, price.line))
    afford(len(rays) * len(price.line) * (len(price.slope) + 2))
    for ray in rays:
        w = [values[d] for d in ray]
        z = [abs(dot(row, w)) + more for row, more in zip(price.slope, lost)]
        least = dot(price.line, w) - less
        weight = dot(price.r, w)
        if not price.fits(z, least, weight):
            return False
    return True


def worst_sets_fit(price, parts, b):
    """Whether (**) holds for all sets, if at most one row is not 0.

    ``h(k.v, r.v) - eta.v`` is the most of ``-sum_x v_x a_x(V)`` over ``|V| <= B``, with the
    quadratics of `line_holds`: for each ``V`` the worst set is ``{x: a_x(V) < 0}``
    (thm-influence-row).
    """
    rows = len(price.slope)
    return all(
        price.fits([slope][:rows], line, weight)
        for slope, line, weight in sums_of_worst_sets(*parts, b)
    )


def all_sets_fit(price, low, high):
    """Whether (**) holds for ``v = low + (high - low) 1_A`` of every set ``A``.

    Answers are decided one after another; the sums of a set are those of the set without its last
    answer, and one number more for each row.
    """
    step = high - low
    vectors = [*price.slope, price.line, price.r]
    afford(len(vectors) << len(price.r))
    start = [low * sum(vector) for vector in vectors]
    moves = [[step * vector[x] for vector in vectors] for x in range(len(price.r))]

    def fit_from(x, sums):
        if x == len(moves):
            *z, line, weight = sums
            return price.fits(z, line, weight)
        return fit_from(x + 1, sums) and fit_from(x + 1, [*map(add, sums, moves[x])])

    return fit_from(0, start)


# The functions that prove a bound, by the kind of the file and that of the multipliers.
PROOFS = {
    Design: {
        "form": by_form,
        "mean": by_mean,
        "product": by_product,
        "moments": by_moments,
        "none": lambda _: 0,
    },
    Capped: {"capped": by_caps, "none": lambda _: 0},
    Liars: {"capped": by_caps, "none": lambda _: 0},
    Frequencies: {"product": Frequencies.bound},
    CappedFrequencies: {"sizes": CappedFrequencies.bound, "none": lambda _: 0},
    LiarsFrequencies: {"sizes": CappedFrequencies.bound, "none": lambda _: 0},
    Questions: {"moments": Questions.bound},
}


# 7. Reports: what several reports of a person reveal together
#
# The excess of a channel at a >= 0 is the largest sum_y (P(x, y) - a P(z, y))+ of all pairs of
# answers that the file names. At a = e**epsilon it is the least delta for which the channel is
# (epsilon, delta)-private. It is convex in a, does not rise, and is 1 at a = 0. Many reports are
# bounded by lists of atoms: an atom (p, q) is a report that has the mass p under one answer and q
# under the other, and the ratio p / q, so that a list has the excess sum (p - a q)+. Masses of
# atoms are integers over 2**PLACES: p is rounded up and q down, which raises the excess.

ACCOUNT = "ldpopt account certificate 1"
PLACES = 1024
NOTHING = ((1 << PLACES, 1 << PLACES),)  # the atoms of no report: one that is certain


def check_account(data):
    """Check a certificate of what reports reveal: the delta that is claimed at each epsilon.

    The excess at ``a <= e**epsilon`` is at least that at ``e**epsilon``.
    """
    keys(data, "format reports claims made_by digest")
    need_digest(data)
    need(isinstance(data["made_by"], str), "made_by is not text")
    account = Account(data["reports"])
    words = []
    need(isinstance(data["claims"], list) and data["claims"], "there are no claims")
    for claim in data["claims"]:
        epsilon, delta = keys(claim, "epsilon delta")
        need(type(epsilon) in (int, float), "epsilon is not a number")
        ratio, low, _ = nats(epsilon, most=10**7 + 1)
        delta = sized(delta)
        need(delta <= 1, "a delta is above 1")
        excess = account.excess(low, ratio, delta)
        need(
            excess <= delta,
            f"delta at epsilon {epsilon}: {decimal(excess)} was found",
            ClaimError,
        )
        words.append(f"({epsilon:.9g}, {decimal(delta, 9)})")
    return (
        f"all reports together are (epsilon, delta)-private with {', '.join(words)}, "
        f"comparing {account.compared} of answers, also if they are chosen by earlier reports"
    )


class Account:
    """What reports of a person reveal together, by channels that are fixed in advance.

    If the excess of each channel is at most that of a list of atoms, the excess of all reports is
    at most that of the products of the atoms, also if answers depend on earlier reports
    (thm-composition-adaptive). The products of two halves of the reports are multiplied out and
    kept in ``halves``; an excess is summed over the pairs of both. If there are too many, the atoms
    of each channel are in ``many``, and put on levels of the loss. ``certain`` is the probability
    that some report is impossible under the other answer: it counts with its whole mass. A single
    shuffled report needs no atoms, and is bounded itself: ``alone``. ``compared`` says which
    pairs of answers are told apart: a file may name some for each channel.
    """

    def __init__(self, reports):
        need(isinstance(reports, list) and reports, "there are no reports")
        stated = [dict(report) for report in reports]
        stated.sort(key=lambda report: report.get("kind") != "strategies")  # the most atoms first
        counts = [report.pop("times") for report in stated]
        need(
            all(type(times) is int and 0 < times < 2**20 for times in counts),
            "times is not a number of repetitions",
        )
        named = sorted({tuple(pair) for report in stated for pair in named_pairs(report)})
        self.compared = f"only the pairs {named!s:.200}" if named else "all pairs"
        is_alone = counts == [1] and stated[0].get("kind") == "shuffled"
        self.alone = stated[0] if is_alone else None
        laws = [] if is_alone else [(*atoms_of(report), n) for report, n in zip(stated, counts)]
        self.certain = 1 - prod(never(certain, times) for _, certain, times in laws)
        self.many = [(atoms, times) for atoms, _, times in laws]
        self.levels = {}
        self.halves = None if sum(counts) > FEW and on_one_lattice(self.many) else self.listed()

    def listed(self):
        """Two lists of atoms whose products are those of all reports; None if they are too many.

        ``n`` reports have ``n (d - 1) + 1`` different ratios or more, if one report has ``d``.
        """
        if any((times // 4 * (len(atoms) - 1)) ** 2 > RATIOS for atoms, times in self.many):
            return None
        halves = [NOTHING, NOTHING]
        try:
            for atoms, times in self.many:
                for part in (times - times // 2, times // 2):
                    small = len(halves[0]) > len(halves[1])
                    halves[small] = multiply(halves[small], repeat(multiply, NOTHING, atoms, part))
        except NotCheckedError:
            return None
        return halves

    def excess(self, loss, ratio, delta):
        """Upper bound of the excess at ``a = e**loss``, which is ``ratio`` if it is given.

        ``certain + sum (p r - a q s)+`` over atoms ``(p, q)`` and ``(r, s)`` of the two halves.
        The second half is in the order of its ratios, the largest first. For each atom of the first
        half, the positive terms are those of some first atoms of the second one; their sum is
        ``p sum r - a q sum s``. Levels have as many digits as ``delta`` needs.
        """
        if not (self.alone or self.halves):
            bits = next(b for b, least in RESOLUTIONS if delta > least or not least)
            if bits not in self.levels:
                self.levels[bits] = levels_of_all(self.many, bits)
            excess = self.certain + excess_of_levels(self.levels[bits], loss, bits)
            return min(excess, Fraction(1))
        a = ratio or near("exp", loss, up=False)
        if self.alone:
            ratios_of(self.alone)
            return most_of(self.alone, a)
        left, right = self.halves
        over, under = a.as_integer_ratio()
        right = sorted(right, key=order, reverse=True)
        sums_r = list(accumulate((r for r, _ in right), initial=0))
        sums_s = list(accumulate((s for _, s in right), initial=0))
        total = 0
        for p, q in left:

            def is_spent(atom, p=p, q=q):
                return under * p * atom[0] <= over * q * atom[1]

            count = bisect(right, False, key=is_spent)
            total += under * p * sums_r[count] - over * q * sums_s[count]
        return self.certain + Fraction(total, under << 2 * PLACES)


def never(certain, times):
    """Lower bound of the probability that none of some reports is certain: a power, rounded down
    if it has very many digits.
    """
    if times < 1000 or not certain:
        return (1 - certain) ** times

    def joined(left, right):
        return left * right >> PLACES

    share = floor((1 - certain) * 2**PLACES)
    return Fraction(repeat(joined, 1 << PLACES, share, times), 1 << PLACES)


def named_pairs(report):
    """The pairs of answers that a report compares, by position; none if it compares all."""
    if report["kind"] in ("one_of", "strategies"):
        return [pair for source in report["sources"] for pair in named_pairs(source)]
    return report.get("pairs") or []


def order(atom):
    """Ratio of an atom in fixed point; a large number if it has no mass under the other answer.

    The order is exact: masses ``q`` are at most ``2**PLACES``, as no excess is below ``1 - a``. So
    two different ratios differ by ``1 / (q q')`` or more, which is at least the last digit.
    """
    return (atom[0] << 2 * PLACES) // atom[1] if atom[1] else 1 << 5 * PLACES


def multiply(left, right):
    """Atoms whose excess is at least that of all products of two atoms.

    Ratios that differ by less than one part in ``2**44`` become the largest of them: the masses
    under the first answer are added, and the mass under the other one becomes what gives this
    ratio, rounded down, which is no more than the sum was.
    """
    afford(300 * len(left) * len(right))
    atoms = [(-(-p * r >> PLACES), q * s >> PLACES) for p, q in left for r, s in right]
    atoms.sort(key=order, reverse=True)
    merged = []
    top_p = top_q = 0
    for p, q in atoms:
        # Whether top_p / top_q is at most p / q times 1 + 2**-44.
        if top_q and (top_p * q << 44) <= (p * top_q << 44) + p * top_q:
            mass = merged[-1][0] + p
            merged[-1] = (mass, mass * top_q // top_p)
        elif p:
            top_p = p
            top_q = q
            merged.append((p, q))
    return merged


def repeat(combine, start, law, times):
    """``start`` combined with a law a number of times, by squares of the law.

    The law is one of atoms, to be multiplied, or of a variable, of which many are added.
    """
    result = start
    while times:
        if times & 1:
            result = combine(result, law)
        times //= 2
        if times:
            law = combine(law, law)
    return result


# 7a. One report, as atoms


def atoms_of(report):
    """Atoms of one report, and a mass that is impossible under the other answer, as bounds.

    The excess is at most ``certain + sum (p - a q)+``. It is convex, hence below its chords between
    the corners ``(a_i, value_i)``. The chords are the excess of an atom of the ratio ``a_i`` at
    each corner, whose mass ``q`` is the change of slope there, ``p = a_i q``, and of the last value
    (thm-composition-interpolation).
    """
    if report["kind"] == "one_of":
        return atoms_of_sources(report)
    if report["kind"] == "ratios":
        return atoms_of_ratios(report)
    if report["kind"] == "strategies":
        return atoms_of_strategies(report)
    return atoms_between(corners_of(report))


def atoms_between(corners):
    """Atoms whose excess is the chords between corners, and the last value, which is certain."""
    slopes = [(v - u) / (b - a) for (a, u), (b, v) in pairwise(corners)]
    slopes.append(Fraction(0))  # after the last corner
    bends = [after - before for before, after in pairwise(slopes)]
    atoms = [(a * bend, bend) for (a, _), bend in zip(corners[1:], bends)]
    return in_places(atoms), corners[-1][1]


def in_places(atoms):
    """Atoms of rationals over ``2**PLACES``, the first mass rounded up, the other one down."""
    return [(ceil(p * 2**PLACES), floor(q * 2**PLACES)) for p, q in atoms]


def corners_of(report):
    """Corners ``(a, value)`` with ``excess(a) <= value``, of a convex curve that does not rise.

    They are the lower hull of the bounds at the ratios in the file: an excess is convex, so that it
    is below the chord of any two bounds. Other ratios would only bound it less well.
    """
    return corners_at(report, ratios_of(report))


def corners_at(report, points):
    """Corners at some ratios, in order."""
    afford(10**5 * len(points))
    bounds = [(Fraction(0), Fraction(1))]
    bounds += [(a, min(most_of(report, a), Fraction(1))) for a in points]
    corners = []
    for a, value in bounds:
        while len(corners) > 1 and is_above(corners[-2], corners[-1], (a, value)):
            corners.pop()
        corners.append((a, min(value, corners[-1][1]) if corners else value))
    return corners


def ratios_of(report):
    """The ratios in a file, in order; a report that is bounded by itself needs none."""
    need(isinstance(report["ratios"], list), "ratios are a list")
    points = sorted({sized(text) for text in report["ratios"]})
    need(not points or points[0] > 0, "a ratio is not positive")
    return points


def is_above(left, middle, right):
    """Whether the middle one of three points is on the chord of the others, or above it."""
    rise = middle[1] - left[1]
    run = middle[0] - left[0]
    return rise * (right[0] - left[0]) >= (right[1] - left[1]) * run


def atoms_of_sources(report):
    """The report of one of several channels, drawn for each person, and known: a mean of excesses.

    Each channel has the same probability, by which its masses are divided.
    """
    _, parts = keys(report, "kind sources")
    need(isinstance(parts, list) and parts, "no sources")
    each = [atoms_of(part) for part in parts]
    atoms = [(-(-p // len(parts)), q // len(parts)) for source, _ in each for p, q in source]
    return atoms, sum(certain for _, certain in each) / len(parts)


def atoms_of_ratios(report):
    """A report that tells one of two answers from the other with given ``odds``, or tells nothing.

    Under an answer, it speaks for it with the probability ``share``, for the other one with
    ``share / odds``, and else for none.
    """
    _, odds, share = keys(report, "kind odds share")
    odds = sized(odds)
    share = sized(share)
    need(odds >= 1 and 0 <= share * (1 + 1 / odds) <= 1, "odds or share out of range")
    small = share / odds
    equal = 1 - share - small
    return in_places([(share, small), (small, share), (equal, equal)]), Fraction(0)


def most_of(report, a):
    """Largest excess of one report at ``a``, of the pairs of answers that the file names.

    It is a bound of it if shuffled. ``null`` names all pairs. Pairs are ordered: of one-sided
    privacy, a file names those in one direction only. Of pairs that it does not name, it claims
    nothing. Shuffled reports show no more than the report itself, from which they can be made.
    """
    kind = report["kind"]
    table = report["masses"]
    extra = {"reports": "", "shuffled": "people", "permanent": "fresh publications"}[kind]
    keys(report, f"kind masses pairs ratios {extra}")
    n = len(table)
    masses(table, n, len(table[0]))
    pairs = list(permutations(range(n), 2)) if report["pairs"] is None else report["pairs"]
    need(
        all(len(pair) == 2 and {*map(type, pair)} == {int} for pair in pairs),
        "pairs are of two positions",
    )
    need(pairs and all(0 <= x < n for pair in pairs for x in pair), "a pair names no row")
    need(all(x != z for x, z in pairs), "a pair compares an answer with itself")
    unit = UNIT
    if kind == "permanent":
        times = report["publications"]
        fresh = masses(report["fresh"], len(table[0]), len(report["fresh"][0]))
        need(type(times) is int and times > 0, "publications is not a positive number")
        afford(1000 * comb(times + len(fresh[0]) - 1, times) * n * len(fresh))
        unit = UNIT ** (times + 1)
        table = of_publications(table, fresh, times)
    best = max(excess_of(table[x], table[z], a) for x, z in pairs)
    excess = Fraction(best, a.denominator * unit)
    if kind == "shuffled":
        excess = min(excess, most_shuffled(table, pairs, report["people"], a))
    return excess


def excess_of(first, second, a):
    """``sum (p - a q)+`` of two lists of masses, times the denominator of ``a``."""
    over, under = a.as_integer_ratio()
    return sum(max(under * p - over * q, 0) for p, q in zip(first, second))


def of_publications(table, fresh, times):
    """The channel of ``times`` fresh reports of one permanent report, over ``UNIT**(times + 1)``.

    The permanent report ``y`` is drawn once, by the table, and each publication draws from it by
    the fresh channel. Only the numbers of the reports matter: those that differ in their order, of
    which there are ``times!`` over the factorials of these numbers, count as one report.
    """
    columns = []
    for reports in combinations_with_replacement(range(len(fresh[0])), times):
        ways = prod(range(1, times + 1))
        for y in set(reports):
            ways //= prod(range(1, reports.count(y) + 1))
        weights = [ways * prod(row[y] for y in reports) for row in fresh]
        columns.append([dot(row, weights) for row in table])
    return list(zip(*columns))


# 7b. Shuffled reports


def most_shuffled(table, pairs, n, a):
    """Upper bound of the excess at ``a`` of the shuffled reports of ``n`` people, of all pairs.

    Let ``m_y`` be the least mass of report ``y``, the *blanket*: with this probability a person
    gives it whatever the answer is. For answers ``x`` and ``z`` (Balle and others 2019;
    thm-shuffling-blanket),

        excess <= sum of (P - a Q)+ over reports without blanket  +  E max(0, V_1 + ... + V_n) / n,

    with ``P`` and ``Q`` the masses of the report under ``x`` and ``z``, and ``V = (P - a Q) / m_y``
    with the probability ``m_y``, else 0. A smaller blanket only raises the bound, so that very rare
    reports count as if they had none, and rows that differ by rounding are made equal: more mass
    for ``x``, less for ``z`` and the blanket. Of two answers and two reports of few people all data
    sets are compared.
    """
    need(type(n) is int and 0 < n <= 10**7, "people is not a number from 1 to 10**7")
    if len(table) == len(table[0]) == 2 and n <= 200:
        return max(most_of_two(table, x, z, n, a) for x, z in pairs)
    blanket = [min(column) for column in zip(*table)]
    bits = [max(max(column).bit_length() - 36, 0) for column in zip(*table)]
    kinds = set()
    for x, z in pairs:
        rows = zip(table[x], table[z], blanket, bits)
        rounded = [(-(-p >> b) << b, q >> b << b, m >> b << b) for p, q, m, b in rows]
        kinds.add(tuple(sorted(rounded)))
    best = Fraction(0)
    for rows in kinds:
        rare = Fraction(0)
        law = {}
        for p, q, m in rows:
            if m * n * 10**5 < UNIT:
                rare += max(Fraction(p - a * q, UNIT), Fraction(0))
            else:
                value = (p - a * q) / m
                law[value] = law.get(value, 0) + Fraction(m, UNIT)
        excess = rare + positive_part(law, n) / n
        best = max(best, excess)
    return best


def most_of_two(table, x, z, n, a):
    """Largest excess of two answers and two reports over all answers of the ``n - 1`` others.

    Only the number of people who give the second answer matters, and the number of second reports
    is all that is seen. Its law under ``x`` is rounded up, that under ``z`` down.
    """
    afford(10 * n**3)
    unit = 2**512

    def law(counts, up):
        """Masses of the number of second reports, given how many people have each answer."""
        masses = [unit]
        for row, count in zip(table, counts):
            for _ in range(count):
                pairs = zip([*masses, 0], [0, *masses])
                sums = [u * row[0] + v * row[1] for u, v in pairs]
                masses = [-(-mass // UNIT) if up else mass // UNIT for mass in sums]
        return masses

    best = 0
    for count in range(n):
        first = [n - 1 - count, count]
        second = [n - 1 - count, count]
        first[x] += 1
        second[z] += 1
        excess = excess_of(law(first, True), law(second, False), a)
        best = max(best, excess)
    return Fraction(best, a.denominator * unit)


# 7c. The mean positive part of a sum of many variables

ONE = 10**36  # masses of a law are integers over it, rounded up
WIDTH = 76  # decimal digits that hold a sum of products of two masses
NEGLIGIBLE = 10**12  # mass over ONE that may be cut off at each end of a law
LONG = Context(prec=MAX_PREC, Emax=MAX_EMAX)  # products of decimals are exact


def positive_part(law, n):
    """Upper bound of ``E max(0, X_1 + ... + X_n)`` for independent X of a law ``{value: mass}``.

    Mass that is missing from the law is at 0. Four steps, each of which can only raise the result:

    1. every value is split between two multiples of a step, with the same mean: the mean of a
       convex function rises (Jensen);
    2. the mass at ``s`` steps gets the weight ``base**s``, so that the sum of n of them is centered
       at 0: far fewer masses are negligible then;
    3. the law of the sum, in integers over ``ONE``, rounded up; its ends are cut off, and their
       mass is remembered as ``lost``;
    4. the weights are taken back: the sum of ``s base**-s mass`` over ``s > 0``, plus what was
       lost, at the largest value that ``s base**-s`` can have.
    """
    if max(law, default=0) <= 0:
        return Fraction(0)
    tilt = centering_tilt(law)
    step = lattice_step(law, tilt, n)
    cells = on_lattice(law, step)
    base = Fraction(round(e ** (tilt * float(step)) * 2**40), 2**40)
    weights = {s: Fraction(ceil(mass * base**s * 2**200), 2**200) for s, mass in cells.items()}
    first, masses, lost, scale = law_of_sum(weights, n)
    largest = Fraction(n * max(cells))
    if base > 1:
        # With x = 1 / base, (1 - x) s x**s is largest at x = s / (s + 1): (s / (s + 1))**(s + 1),
        # which is below 1 / e, hence below 1/2.
        largest = min(largest, base / (2 * (base - 1)))
    return (without_weights(first, masses, base) + lost * largest) * scale * step


def centering_tilt(law):
    """The ``b`` from 0 to ``40 / max x`` at which the mean of ``x e**(b x)`` changes its sign.

    In floats: every ``b`` gives a valid bound, a good one a small bound.
    """
    top = float(max(law))
    pairs = [(float(value), float(mass)) for value, mass in law.items()]

    def slope(b):
        return sum(value * mass * e ** (b * (value - top)) for value, mass in pairs)

    unit = 40 / top / 2**40
    return unit * bisect(range(2**40), 0, key=lambda place: slope(place * unit))


def lattice_step(law, tilt, n):
    """A step that is fine beside the spread of the tilted law, with at most 2**14 cells for one X.

    In floats: every positive step gives a valid bound.
    """
    pairs = [(float(value), float(mass)) for value, mass in law.items()]
    second_moment = sum(value * value * mass * e ** min(tilt * value, 40) for value, mass in pairs)
    if n <= 1000:
        cells_per_spread = 40
    elif n <= 20000:
        cells_per_spread = 16
    else:
        cells_per_spread = 6
    least = (max(law) - min(law)) / 2**14
    return max(Fraction(second_moment**0.5 / cells_per_spread), least)


def on_lattice(law, step):
    """Masses at ``place * step``, with the mean of every value; what is missing is at 0."""
    cells = {0: 1 - sum(law.values())}
    for value, mass in law.items():
        place = floor(value / step)
        share = value / step - place
        cells[place] = cells.get(place, 0) + mass * (1 - share)
        cells[place + 1] = cells.get(place + 1, 0) + mass * share
    return cells


def law_of_sum(weights, n):
    """``first, masses, lost, scale`` of the sum of n variables with these weights at whole numbers.

    The weight of ``first + k`` is at most ``scale masses[k] / ONE``, and all others together are at
    most ``scale lost``.
    """
    total = sum(weights.values())
    places = range(min(weights), max(weights) + 1)
    masses = [ceil(weights.get(s, 0) / total * ONE) for s in places]
    afford(len(masses) * 10**4)
    nothing = (0, [ONE], 0, Fraction(1))
    return repeat(sum_of_two, nothing, (min(weights), masses, 0, total), n)


def sum_of_two(left, right):
    """Law of the sum of two independent variables, as in `law_of_sum`.

    Masses are digits of a long decimal, ``WIDTH`` for each: one product has all sums of products.
    Without rounding, a law and what it has lost sum to 1 at most, so that what is lost of the sum
    is at most what both have lost, and what is cut off here; 11/10 is more than needed. That masses
    sum to less than 11/10 ensures that sums of products have room in ``WIDTH`` digits.
    """
    left_first, left_masses, left_lost, left_scale = left
    right_first, right_masses, right_lost, right_scale = right
    for masses in (left_masses, right_masses):
        need(sum(masses) < 1.1 * ONE, "rounding has changed masses", NotCheckedError)
    count = len(left_masses) + len(right_masses) - 1
    masses = [-(-mass // ONE) for mass in coefficients(left_masses, right_masses, WIDTH)]
    begin = small_ones(masses)
    end = max(count - small_ones(masses[::-1]), begin + 1)
    cut = Fraction(sum(masses[:begin]) + sum(masses[end:]), ONE)
    lost = (left_lost + right_lost) * Fraction(11, 10) + cut
    first = left_first + right_first + begin
    scale = upwards(left_scale * right_scale)
    return first, masses[begin:end], lost, scale


def small_ones(masses, most=NEGLIGIBLE - 1):
    """How many masses at the beginning are negligible together; at least one is kept."""
    sums = list(accumulate(masses))
    return min(bisect(sums, most), len(masses) - 1)


def coefficients(left, right, width):
    """Coefficients of the product of two polynomials, none of which has more digits than width."""
    count = len(left) + len(right) - 1
    first = as_decimal(left, width)
    second = first if left is right else as_decimal(right, width)
    digits = str(LONG.multiply(first, second)).zfill(width * count)[-width * count :]
    starts = range(width * (count - 1), -1, -width)
    return [int(digits[start : start + width]) for start in starts]


def as_decimal(masses, width):
    """The decimal whose digits are the masses, the first one last."""
    return Decimal("".join([f"{mass:0{width}d}" for mass in reversed(masses)]))


def without_weights(first, masses, base):
    """Sum of ``s base**-s mass`` over all ``s > 0``, every term rounded up."""
    over, under = base.as_integer_ratio()
    start = max(first, 1)
    weight = -(-ONE * under**start // over**start)
    total = 0
    for s in range(start, first + len(masses)):
        total += -(-s * masses[s - first] * weight // ONE)
        weight = -(-weight * under // over)
    return Fraction(total, ONE)


def upwards(value):
    """A rational with 200 significant bits that is not below a positive one."""
    shift = max(200 + value.denominator.bit_length() - value.numerator.bit_length(), 0)
    return Fraction(ceil(value * 2**shift), 2**shift)


# 7d. Many reports: masses on levels of the loss
#
# The loss of an atom ``(p, q)`` is ``ln(p / q)``. Reports are bounded by masses at equally spaced
# losses, the *levels*: ``(start, step, masses, lost)`` stands for ``masses[j]`` at the loss ``x_j =
# start + j step`` and for ``lost`` at an infinite one, and the excess of the reports is, for every
# ``a >= 0``,
#
#     at most   lost + sum_j masses[j] (1 - a e**-x_j)+ .
#
# A term rises with its mass and with its loss, and is at most its mass. So losses and masses are
# rounded up; what is cut off at low losses counts at the lowest level kept, what is cut off at high
# ones is lost. A mass between two levels goes to both (see `shared`). Losses add up exactly: they
# are integers over LOSSES (thm-composition-levels, thm-composition-window).

LOSSES = 2**200  # losses are integers over it
PARTS = 2**256  # powers of e up to 1 are integers over it
# Bits of masses, and the least delta that they are used for; a sixth of the bits is below the tails
RESOLUTIONS = ((128, Fraction(1, 10**12)), (256, Fraction(1, 10**45)), (512, 0))
RATIOS = 10**5  # products of two lists of the reports by one channel
FEW = 300  # reports whose atoms are listed in any case
ALL_LEVELS = 2**17
MOST_STEPS = 64  # from the least to the largest loss of a channel that has a lattice
NEAR = 10**9  # a loss is on a lattice if it is nearer to it than the step over this


def power_of_e(loss, up):
    """``e**(loss / LOSSES)`` over PARTS, rounded up or down."""
    power = near("exp", Fraction(loss, LOSSES), up, 150) if loss else Fraction(1)
    return ceil(power * PARTS) if up else floor(power * PARTS)


def losses_of(atoms):
    """Losses of atoms, rounded up; an atom without mass under the other answer has none."""
    return [ceil(near("ln", Fraction(p, q), True, 150) * LOSSES) for p, q in atoms if q]


def lattice_of(losses):
    """The largest step of which the losses are multiples from the least one on, or None."""
    least = min(losses)
    span = max(losses) - least
    if not span:
        return LOSSES
    for count in range(1, MOST_STEPS + 1):
        rests = [(loss - least) * count % span for loss in losses]
        if all(min(rest, span - rest) * NEAR <= span for rest in rests):
            return max(span // count, 1)
    return None


def on_one_lattice(many):
    """Whether all losses of all channels are multiples of one step, none of them too many."""
    steps = []
    for atoms, _ in many:
        losses = losses_of(atoms)
        step = lattice_of(losses) if losses else LOSSES
        if step is None:
            return False
        steps.append(step)
    return max(steps) < 10**4 * measure(steps)


def measure(steps):
    """A number of which the steps are multiples, up to a small part of the least of them."""
    common = steps[0]
    for step in steps[1:]:
        least = min(common, step) // 10**7
        while step > least:
            rest = common % step
            common, step = step, min(rest, step - rest)
    return max(common, 1)


def levels_of_all(many, bits):
    """The levels of all reports: powers of each channel, then their products, the smallest first.

    Powers have the step of their own lattice, or one that is small beside the spread. Then all get
    the step of a common lattice, or one that divides the whole spread into ALL_LEVELS.
    """
    parts = [levels_of_one(atoms, times, bits) for atoms, times in many]
    steps = [part[1] for part in parts]
    spread = 0
    reach = 0
    for part in parts:
        spread += variance(part)
        reach += part[1] / LOSSES * len(part[2])
    width = min(reach, 2.4 * sqrt(tail_of(bits) * spread))
    step = max(max(steps) // round(max(steps) / measure(steps)), 1)
    if len({*steps}) > 1 and width * LOSSES / step > ALL_LEVELS:
        step = max(int(width * LOSSES / ALL_LEVELS), 1)
    if len({*steps}) > 1:
        parts = [on_step(part, step) for part in parts]
    afford(10**3 * max(len(part[2]) for part in parts) * len(parts))
    while len(parts) > 1:
        parts.sort(key=lambda part: len(part[2]))
        parts = [joined_levels(parts[0], parts[1], bits), *parts[2:]]
    return parts[0]


def tail_of(bits):
    """The negative binary logarithm of the mass that may be cut off at each end of a product."""
    return bits * 5 // 6 - 20


def variance(part):
    """Variance of the losses on levels, about."""
    _, step, masses, _ = part
    total = sum(masses) or 1
    mean = sum(j * mass for j, mass in enumerate(masses)) // total
    square = sum((j - mean) ** 2 * mass for j, mass in enumerate(masses)) / total
    return square * (step / LOSSES) ** 2


def levels_of_one(atoms, times, bits):
    """Levels of a number of reports by one channel."""
    losses = losses_of(atoms)
    lost = sum(-(-p >> PLACES - bits) for p, q in atoms if not q)
    if not losses:
        return 0, LOSSES, [0], lost
    masses = [-(-p >> PLACES - bits) for p, q in atoms if q]
    least = min(losses)
    step = lattice_of(losses)
    most = ALL_LEVELS if step else ALL_LEVELS // 4
    step = step or max((max(losses) - least) // (ALL_LEVELS // 8), 1)
    places = []
    for loss, mass in zip(losses, masses):
        j, rest = divmod(loss - least, step)
        fallen = power_of_e(-rest, False)
        places.append((j, fallen, mass))
    single = (least, step, shared(places, step), lost)

    def combine(left, right):
        while left[1] < right[1]:
            left = every_second(left)
        while right[1] < left[1]:
            right = every_second(right)
        both = joined_levels(left, right, bits)
        while len(both[2]) > most:
            both = every_second(both)
        return both

    def squared(part):
        return combine(part, part)

    result = None
    for bit in bin(times)[2:]:
        result = squared(result) if result else None
        if bit == "1":
            result = combine(result, single) if result else single
    return result


def shared(places, step):
    """Masses on levels, of ``(j, e**-d, mass)``: a mass at a distance ``d`` above the level j.

    ``(1 - a e**-x)+`` is convex in ``e**-x``, so that its mean rises if a mass is divided between
    two levels with the mean of ``e**-x`` kept. With the share ``(1 - e**-d) / (1 - e**-step)`` for
    the level above, it is; a larger share only raises a loss.
    """
    whole = PARTS - power_of_e(-step, True)
    sums = {}
    for j, fallen, mass in places:
        above = min(mass, -(-mass * (PARTS - fallen) // whole))
        sums[j] = sums.get(j, 0) + mass - above
        sums[j + 1] = sums.get(j + 1, 0) + above
    return [sums.get(j, 0) for j in range(max(sums) + 1)]


def every_second(part):
    """The same on every second level: a level between two is shared by them."""
    start, step, masses, lost = part
    fallen = power_of_e(-step, False)
    places = [(j // 2, fallen if j % 2 else PARTS, mass) for j, mass in enumerate(masses)]
    return start, 2 * step, shared(places, 2 * step), lost


def on_step(part, step):
    """The same on levels with another step, from the same first one on.

    The distance to the level below grows from level to level by a constant, but where it passes a
    level: ``e**-d`` is multiplied by two constants, rounded down. Steps above 16 nats would leave
    no digits of it: there every power is computed.
    """
    start, old, masses, lost = part
    if step > 16 * LOSSES:
        places = []
        for i, mass in enumerate(masses):
            j, rest = divmod(i * old, step)
            fallen = power_of_e(-rest, False)
            places.append((j, fallen, mass))
        return start, step, shared(places, step), lost
    passed, shift = divmod(old, step)
    fall = power_of_e(-shift, False)
    turn = power_of_e(step, False)
    places = []
    j = distance = 0
    fallen = PARTS
    for mass in masses:
        places.append((j, fallen, mass))
        distance += shift
        j += passed + distance // step
        fallen = fallen * fall // PARTS
        if distance >= step:
            distance -= step
            fallen = fallen * turn // PARTS
    return start, step, shared(places, step), lost


def joined_levels(left, right, bits):
    """Levels of the reports of both, with the same step.

    The reports of one have no more mass than 1, so that what the other has lost counts with the
    masses of the one that is on levels here, or with 1.
    """
    start, step, left_masses, left_lost = left
    other, _, right_masses, right_lost = right
    largest = min(max(left_masses) * sum(right_masses), sum(left_masses) * max(right_masses))
    products = coefficients(left_masses, right_masses, len(str(largest)) + 1)
    masses = [-(-mass >> bits) for mass in products]
    cut = 1 << bits - tail_of(bits)
    begin = small_ones(masses, cut)
    end = max(len(masses) - small_ones(masses[::-1], cut), begin + 1)
    kept = masses[begin:end]
    kept[0] += sum(masses[:begin])
    lost = left_lost - (-right_lost * sum(left_masses) >> bits) + sum(masses[end:])
    return start + other + begin * step, step, kept, lost


def excess_of_levels(part, loss, bits):
    """``lost + sum_j masses[j] (1 - a e**-x_j)+`` with ``a = e**loss``, rounded up.

    From the first level above ``a`` on: ``a e**-x_j``, rounded down, falls by a constant factor.
    """
    start, step, masses, lost = part
    place = floor(loss * LOSSES)
    first = max((place - start) // step + 1, 0)
    fallen = power_of_e(place - start - first * step, False)
    fall = power_of_e(-step, False)
    total = lost
    for mass in masses[first:]:
        total += mass - mass * fallen // PARTS
        fallen = fallen * fall // PARTS
    return Fraction(total, 1 << bits)


# 7e. Answers that depend on reports
#
# People may choose what is asked next, and both answers, by the reports before. Let ``H`` be the
# largest excess if some numbers of reports by each channel are left, and ``H'`` that if there is
# one less of a channel. ``H`` is at ``a`` the largest ``certain + sum p H'(a q / p)`` of what may
# be asked and answered (thm-strategies-recursion), where ``(p, q)`` are the atoms of the reports to
# this pair of answers. It is convex and does not rise: a *curve* is a list of corners ``(a,
# value)``, between which are chords, and after which it is level (thm-strategies-chords).

STEP = 2**120  # the a of corners are integers over it
TOP = 2**200  # values of corners are integers over it
SHORT = 2**256  # masses of atoms are integers over it
SMALL = TOP >> 70  # values below are not bounded as well, relative to them
FURTHEST = 2**900  # corners at larger a are left out, and those below 2**-60


def atoms_of_strategies(report):
    """Atoms of all reports of several channels, and a mass that is impossible.

    A corner has an ``a`` that floats propose, and a value that integers bound. Their number is at
    most that of the ``levels`` of the file: fewer would only bound less well.
    """
    _, levels, sources = keys(report, "kind levels sources")
    need(type(levels) is int and 1 < levels <= 2**17, "levels is not a number of levels")
    need(isinstance(sources, list) and sources, "there are no sources")
    stated = [dict(source) for source in sources]
    counts = [source.pop("times") for source in stated]
    need(
        all(type(times) is int and 0 < times < 2**20 for times in counts),
        "times is not a number of repetitions",
    )
    asked = [choices_of(source) for source in stated]
    afford(10**4 * prod(times + 1 for times in counts))
    left = {(0,) * len(counts): [(0, TOP), (STEP, 0)]}
    work = 0
    for total in range(1, sum(counts) + 1):
        fewer, left = left, {}
        for state in states_of(counts, total):
            following = []
            for i, parts in enumerate(asked):
                if state[i]:
                    others = (*state[:i], state[i] - 1, *state[i + 1 :])
                    following.append((parts, fewer[others]))
            left[state] = one_more(following, levels)
            work += 20 * len(left[state]) * sum(size_of(parts) for parts, _ in following)
            afford(work)
    (last,) = left.values()
    return atoms_between([(Fraction(a, STEP), Fraction(value, TOP)) for a, value in last])


def states_of(counts, total):
    """All ways to have a number of reports left."""
    if not counts:
        return [()] if total == 0 else []
    first, *others = counts
    states = []
    for n in range(min(first, total) + 1):
        later = states_of(others, total - n)
        states += [(n, *state) for state in later]
    return states


def choices_of(report):
    """Parts of a report, of which one is drawn and known, each a list of ``(atoms, certain)``.

    In each part a person chooses one. It bounds the excess of all pairs of answers of a group; that
    groups are about alike is proposed by floats, and proves nothing. Masses are over SHORT.
    """
    if report["kind"] == "one_of":
        _, sources = keys(report, "kind sources")
        need(isinstance(sources, list) and sources, "there are no sources")
        parts = [choices_of(source) for source in sources]
        need(all(len(part) == 1 for part in parts), "one of several is drawn twice")
        n = len(parts)
        shares = []
        for (part,) in parts:
            share = []
            for atoms, certain in part:
                atoms = [(-(-p // n), q // n) for p, q in atoms]
                share.append((atoms, -(-certain // n)))
            shares.append(share)
        return shares
    if report["kind"] not in ("reports", "permanent"):
        return [[in_short(*atoms_of(report))]]
    most_of(report, Fraction(1))  # reads the masses and the pairs
    rows = report["masses"]
    if report["kind"] == "permanent":
        rows = of_publications(rows, report["fresh"], report["publications"])
    pairs = report["pairs"] or list(permutations(range(len(rows)), 2))
    afford(5000 * len(pairs) * (len(pairs) + len(rows[0])))
    # curves are straight between ratios, so that two are compared at all of them
    bends = sorted({float(ratio) for x, z in pairs for ratio in ratios_between(rows, x, z)})
    places = bends[:: -(-len(bends) // 400)] + [2.0 ** (k / 5) for k in range(-60, 61)]
    curves = []
    for x, z in pairs:
        curve = curve_in_floats(rows[x], rows[z], places)
        curves.append((curve, x, z))
    choices = []
    for group in groups_of(curves):
        named = [[x, z] for _, x, z in group]
        points = ratios_between(rows, *named[0])
        largest = max(max(ratios_between(rows, x, z), default=1) for x, z in named)
        points |= {largest}
        corners = corners_at({**report, "pairs": named}, sorted(points))
        choice = in_short(*atoms_between(corners))
        choices.append(choice)
    return [choices]


def ratios_between(rows, x, z):
    """Ratios of the masses of two rows, where both are positive."""
    return {Fraction(p, q) for p, q in zip(rows[x], rows[z]) if p and q}


def curve_in_floats(first, second, places):
    """Excesses of a pair of rows at many ``a``, about."""
    unit = sum(first)
    p = [mass / unit for mass in first]
    q = [mass / unit for mass in second]
    curve = []
    for a in places:
        excess = 0.0
        for u, v in zip(p, q):
            gain_of_report = u - a * v
            excess += max(gain_of_report, 0.0)
        curve.append(excess)
    return curve


def groups_of(curves):
    """Curves, each in the group of the first one that is not below it anywhere."""
    groups = []
    for curve in sorted(curves, reverse=True, key=lambda curve: sum(curve[0])):
        for group in groups:
            if all(value <= most + 1e-12 for value, most in zip(curve[0], group[0][0])):
                group.append(curve)
                break
        else:
            groups.append([curve])
    return groups


def in_short(atoms, certain):
    """Atoms of fewer digits: the first mass rounded up, the other one down."""
    unit = (1 << PLACES) // SHORT
    short = [(-(-p // unit), q // unit) for p, q in atoms if p]
    spent = sum(p for p, q in short if not q)
    certain = ceil(certain * SHORT) + spent
    return [(p, q) for p, q in short if q], certain


def size_of(parts):
    """Number of atoms of all choices."""
    return sum(len(atoms) for part in parts for atoms, _ in part)


def one_more(following, levels):
    """The curve before one more report, from what may be asked and the curve that is left then."""
    places = {STEP}
    for parts, corners in following:
        for part in parts:
            for atoms, _ in part:
                for p, q in atoms:
                    places.update(-(-a * p // q) for a, _ in corners[1:])
    known = {a: largest_of(following, a) for a in apart(places)}
    # where another choice becomes the best one, the curve bends between two points; near the
    # crossing a third choice may be better still, so that new places are looked at again
    new = set(known)
    for _ in range(6):
        crossings = set()
        for a, b in pairwise(sorted(known)):
            before = known[a][1]
            after = known[b][1]
            if before == after or not (a in new or b in new):
                continue
            left = gain(following, a, before, after)
            right = gain(following, b, after, before)
            if left > 0 and right > 0:
                crossings.add(a + (b - a) * left // (left + right))
        new = crossings - set(known)
        if not new:
            break
        known.update((a, largest_of(following, a)) for a in new)
    corners = [(0, TOP)]
    for a in apart(known):
        value = min(known[a][0], corners[-1][1])
        while len(corners) > 1 and is_above(corners[-2], corners[-1], (a, value)):
            corners.pop()
        corners.append((a, min(value, corners[-1][1])))
    return thinned(corners, levels)


def apart(places):
    """Places in order, without those that are too near to another, too small or too large."""
    kept = []
    for a in sorted(places, reverse=True):
        if STEP >> 60 < a < FURTHEST * STEP and (not kept or kept[-1] - a > a >> 40):
            kept.append(a)
    return kept[::-1]


def largest_of(following, a):
    """The largest value at ``a`` of all that may be asked and chosen, and the choice: the number of
    the question, and in each of its parts that of the pair of answers.
    """
    options = []
    for i, (parts, corners) in enumerate(following):
        total = 0
        chosen = []
        for part in parts:
            values = [value_of(atoms, certain, corners, a) for atoms, certain in part]
            total += max(values)
            chosen.append(values.index(max(values)))
        options.append((total, (i, *chosen)))
    value, choice = max(options)
    return min(-(-value // SHORT), TOP), choice


def gain(following, a, first, second):
    """By how much a choice is better than another one at ``a``."""
    totals = []
    for i, *chosen in (first, second):
        parts, corners = following[i]
        total = 0
        for part, k in zip(parts, chosen):
            atoms, certain = part[k]
            total += value_of(atoms, certain, corners, a)
        totals.append(total)
    return totals[0] - totals[1]


def value_of(atoms, certain, corners, a):
    """``certain + sum p H(a q / p)`` over TOP and SHORT, of a curve with these corners."""
    total = certain * TOP
    for p, q in atoms:
        j = bisect(corners, a * q // p, key=first_of) - 1
        low, value = corners[j]
        total += p * value
        if j + 1 < len(corners):
            high, after = corners[j + 1]
            total -= (value - after) * (a * q - p * low) // (high - low)
    return total


def first_of(corner):
    """The ``a`` of a corner."""
    return corner[0]


def thinned(corners, levels):
    """At most so many corners: those go whose loss raises the curve least, relative to it."""
    while len(corners) > levels + 1:
        rises = [0.0]
        for (a, u), (b, v), (c, w) in zip(corners, corners[1:], corners[2:]):
            chord = u - (u - w) * (b - a) // (c - a)
            rises.append((chord - v) / (v + SMALL))
        limit = sorted(rises)[min(len(corners) - levels, len(rises) // 3)]
        kept = corners[:1]
        is_out = False
        for corner, rise in zip(corners[1:-1], rises[1:]):
            is_out = not is_out and rise <= limit and corner[0] != STEP
            if not is_out:
                kept.append(corner)
        corners = [*kept, corners[-1]]
    return corners


# 8. Files, and the command line


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
    """Check files, print one line for each, and return the largest exit code.

    Whatever goes wrong, nothing was proved: an error of any kind is one of the file.
    """
    code = 0
    for path in paths:
        try:
            value, bound, gap = check(path)
            proved = "" if bound is None else f", bound {decimal(bound)}, gap {decimal(gap, 3)}"
            line = f"private; {value}{proved}: holds"
            status = 0
        except ClaimError as error:
            line = f"DOES NOT HOLD: {error}"
            status = 1
        except NotCheckedError as error:
            line = f"NOT CHECKED: {error}"
            status = 2
        except Exception as error:
            line = f"not a certificate: {type(error).__name__}: {error}"
            status = 2
        code = max(code, status)
        print(f"{path}: {line[:500]}")
    return code


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    if not sys.argv[1:]:
        print("usage: python ldpopt_check.py FILE ...", file=sys.stderr)
    sys.exit(main(sys.argv[1:]) if sys.argv[1:] else 2)
