"""Check certificates of ldpopt with Python's standard library alone: ``python ldpopt_check.py FILE ...``.

This file shares nothing with ldpopt: it reads the statement, the masses and the multipliers, and computes in integers

1. whether the mechanism is private, for the real number ``e**epsilon``;
2. its value;
3. a bound that no private mechanism exceeds (for a loss: falls below).

It prints what it proved itself. A claim of the file that says more than that is refused. Exit code: 0 if every file
holds, 1 if one does not, 2 if one is no certificate. The proof of the bound: docs, "Certificates".

Arithmetic: every double is an integer over ``S = 2**1074``, and ``e**-epsilon`` is rounded down to one: a bound stays
valid, since more channels are private then.
"""

import json
import sys
from fractions import Fraction
from itertools import accumulate
from math import isqrt

S, UNIT = 2**1074, 2**53


class FormatError(Exception):
    """The file is not a certificate that this program knows."""


class ClaimError(Exception):
    """The certificate does not hold."""


# ------------------------------------------------------------------------------------------------ reading


def read(path):
    """Parse JSON; repeated keys, nan and infinity are refused."""

    def unique(pairs):
        need(len(dict(pairs)) == len(pairs), "a key stands twice")
        return dict(pairs)

    def refuse(word):
        raise FormatError(f"{word} is not a number")

    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream, object_pairs_hook=unique, parse_constant=refuse)
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"no JSON: {error}") from None


def need(holds, message):
    """Refuse the file where a condition on its form does not hold."""
    if not holds:
        raise FormatError(message)


def keys(table, *names):
    """Values of an object that has these keys and no others."""
    need(isinstance(table, dict) and set(table) == set(names), f"an object should have the keys {', '.join(names)}")
    return [table[name] for name in names]


def double(value):
    """A number as the integer over ``S`` that its double is; multipliers are hexadecimal text."""
    if isinstance(value, str):
        value = float.fromhex(value)
    need(type(value) in (int, float) and abs(value) < float("inf"), f"{value!r} is not a finite number")
    over, under = float(value).as_integer_ratio()
    return over * (S // under)


def doubles(values, *shape):
    """A list, or a list of lists, of doubles with a given shape."""
    need(isinstance(values, list) and len(values) == shape[0], f"a list should have length {shape[0]}")
    return [doubles(part, *shape[1:]) for part in values] if shape[1:] else [double(part) for part in values]


def index(value, size):
    """A position."""
    need(type(value) is int and 0 <= value < size, f"{value!r} is not a position below {size}")
    return value


def labels(values):
    """Distinct labels."""
    need(isinstance(values, list) and values, "the labels should be a list")
    names = [tuple(name) if isinstance(name, list) else name for name in values]
    need(len(set(names)) == len(names), "a label stands twice")
    return names


def masses(table, n, m):
    """Rows of integers over ``2**53`` that sum to it."""
    need(isinstance(table, list) and len(table) == n, f"the masses should have {n} rows")
    for row in table:
        need(isinstance(row, list) and len(row) == m, f"a row of masses should have {m} entries")
        need(all(type(mass) is int and mass >= 0 for mass in row), "a mass is not an integer >= 0")
        need(sum(row) == UNIT, "a row of masses does not sum to 2**53")
    return table


# ------------------------------------------------------------------------------------------------ e to the epsilon


def logarithm(ratio):
    """Rationals around ``log(ratio)``, ``ratio >= 1``: ``k log 2 + log(m)``, each by the series of 2 artanh(z)."""

    def series(z):
        one = 2**1500
        square, term, total, order = z * z, one * z.numerator // z.denominator, 0, 1
        while term:
            total += term // order
            term, order = term * square.numerator // square.denominator, order + 2
        return Fraction(2 * total, one), Fraction(2 * total + 8 * order, one)  # z <= 3/5: a cut costs below 3 units

    k = ratio.numerator.bit_length() - ratio.denominator.bit_length() - 1
    k = max(k, 0)
    low, high = series((ratio / 2**k - 1) / (ratio / 2**k + 1))
    two_low, two_high = series(Fraction(1, 3))
    return low + k * two_low, high + k * two_high


def exponential(x, up):
    """A rational above or below ``e**x``, ``0 <= x <= 700``: Taylor on ``x / 2**s <= 1/2``, then ``s`` squarings."""
    s = max(0, (x.numerator // x.denominator).bit_length() + 1)
    bits = 1200 + 2 * s
    y = (x.numerator << bits) // (x.denominator << s) + up
    total = term = 1 << bits
    order = 0
    while term > 1:
        order += 1
        term = (term * y >> bits) // order + up
        total += term
    total += 3 * up  # terms halve at least: the rest is below the last ones
    for _ in range(s):
        total = (total * total >> bits) + up
    return Fraction(total, 1 << bits)


class Budget:
    """``epsilon``: a number of nats (text is read as a decimal), or ``log(p/q)``."""

    def __init__(self, stated):
        text = stated.strip().lower() if isinstance(stated, str) else None
        self.ratio = None
        try:
            if text is not None and text.startswith(("log", "ln")):
                inner = text[text.index("(") :].strip()
                need(inner[0] == "(" and inner[-1] == ")", "epsilon should be log(p/q)")
                self.ratio = Fraction(inner[1:-1].strip())
                need(self.ratio >= 1, "epsilon is negative")
                self.low, self.high = logarithm(self.ratio)
            else:
                need(not isinstance(stated, bool), "epsilon is not a number")
                self.low = self.high = Fraction(stated if text is None else text)
                need(self.low >= 0, "epsilon is negative")
        except (ValueError, TypeError, ZeroDivisionError, OverflowError):
            raise FormatError(f"epsilon = {stated!r} is not a number") from None

    def power(self, distance=Fraction(1)):
        """A rational that is at most ``e**(epsilon d)``, and ``e**(-epsilon d)`` rounded down, over ``S``."""
        if self.ratio is not None and distance.denominator == 1 and distance <= 64:
            exact = self.ratio ** int(distance)
            return exact, exact.denominator * S // exact.numerator
        low = exponential(min(self.low * distance, Fraction(700)), 0)
        if self.high * distance > 700:
            return low, 0  # below the grid
        high = exponential(self.high * distance, 1)
        return low, high.denominator * S // high.numerator


# ------------------------------------------------------------------------------------------------ privacy notions


KEYS = {
    "pure": (),
    "approximate": ("delta", "form"),
    "graph": ("neighbors", "edges", "parts"),
    "metric": ("distance",),
    "one_sided": ("sensitive",),
    "utility_optimized": ("sensitive", "protected"),
}


class Notion:
    """Which pairs of inputs are tied and at which distance, delta, and who may give which report.

    ``P(i, E) <= e**(epsilon d) P(k, E) + delta`` for every event ``E`` of tied reports (for every single report if
    ``single``). ``ties`` maps ``(i, k)`` to ``d``; None: ``i`` in ``capped`` with all others, alike.
    ``owner[y]``: the only input that may give report ``y``; None if ``y`` is tied.
    """

    def __init__(self, table, inputs, outputs):
        n, kind = len(inputs), table.get("kind") if isinstance(table, dict) else None
        need(kind in KEYS, f"unknown notion {kind!r}")
        need(set(table) <= {"kind", "epsilon", *KEYS[kind]}, f"unknown key among {sorted(table)}")
        self.budget, self.inputs, self.outputs = Budget(table.get("epsilon")), inputs, outputs
        self.place = {name: x for x, name in enumerate(inputs)}
        self.delta, self.single, self.ties = 0, False, None
        self.capped, self.owner = set(range(n)), [None] * len(outputs)
        if kind == "approximate":
            self.delta, self.single = double(table.get("delta")), table.get("form") == "entry"
            need(0 <= self.delta <= S and table.get("form", "event") in ("event", "entry"), "delta or form is wrong")
        elif kind == "graph":
            edges = neighbors(table, n, self.place)
            self.ties = {pair: Fraction(1) for a, b in edges for pair in ((a, b), (b, a))}
        elif kind == "metric":
            rows = doubles(table.get("distance"), n, n)
            self.ties = {(i, k): Fraction(rows[i][k], S) for i in range(n) for k in range(n) if i != k}
            need(all(d > 0 for d in self.ties.values()), "a distance is not positive")
            need(all(rows[i][k] == (i != k) * rows[k][i] for i in range(n) for k in range(n)), "it is no distance")
        elif kind == "one_sided":
            self.capped = {self.place[name] for name in self.sensitive(table)}
        elif kind == "utility_optimized":
            self.owner = self.owners(set(self.sensitive(table)), table.get("protected"))
        alike = set(self.ties.values()) if self.ties is not None else {Fraction(1)}
        if len(alike) == 1 and len(self.ties or ()) == n * (n - 1):
            self.ties = None
        self.unit = alike.pop() if self.ties is None else None
        self.tied = [y for y, owner in enumerate(self.owner) if owner is None]

    def sensitive(self, table):
        """Sensitive labels, which are inputs."""
        names = labels(table["sensitive"]) if table.get("sensitive") else []
        need(set(names) <= set(self.place), "a sensitive label is no input")
        return names

    def owners(self, sensitive, protected):
        """An unprotected report belongs to the input of the same label, which is not sensitive."""
        own = [name in self.place and name not in sensitive for name in self.outputs]
        kept = [not mine if protected is None else name in protected for name, mine in zip(self.outputs, own)]
        need(all(mine or safe for mine, safe in zip(own, kept)), "an unprotected report has no owner")
        return [None if safe else self.place[name] for name, safe in zip(self.outputs, kept)]

    def distance(self, i, k):
        """Distance of a pair; None if it is not tied."""
        if self.ties is not None:
            return self.ties.get((i, k))
        return self.unit if i != k and i in self.capped else None

    def audit(self, rows):
        """Refuse masses that break an inequality."""
        for y, owner in enumerate(self.owner):
            if owner is not None and any(row[y] for x, row in enumerate(rows) if x != owner):
                raise ClaimError(f"not private: report {y} is given by an input that does not own it")
        if self.ties is None and not self.delta:
            ratio = self.budget.power(self.unit)[0]
            for y in self.tied:
                column = [row[y] for row in rows]
                if max((column[x] for x in self.capped), default=0) * ratio.denominator > ratio.numerator * min(column):
                    raise ClaimError(f"not private: report {y}")
            return
        pairs = self.ties
        if pairs is None:
            pairs = {(i, k): self.unit for i in self.capped for k in range(len(rows)) if i != k}
        ratios = {distance: self.budget.power(distance)[0] for distance in set(pairs.values())}
        for (i, k), distance in pairs.items():
            over, under = ratios[distance].numerator, ratios[distance].denominator
            excess = [under * rows[i][y] - over * rows[k][y] for y in self.tied]
            beyond = max(excess, default=0) if self.single else sum(e for e in excess if e > 0)
            if beyond * S > self.delta * UNIT * under:
                raise ClaimError(f"not private: input {i} against input {k}")


def neighbors(table, n, place):
    """Edges of a neighbor graph, as pairs of positions."""
    if "edges" in table:
        need("neighbors" not in table, "edges are stated twice")
        return [(index(i, n), index(k, n)) for i, k in table["edges"]]
    stated = table.get("neighbors")
    need(isinstance(stated, dict), "neighbors should be an object")
    kind = stated.get("kind", "edges")
    if kind == "edges":
        pairs = [tuple(edge) for edge in stated["edges"]]
        need(all(len(edge) == 2 and set(edge) <= set(place) for edge in pairs), "an edge names no input")
        return [(place[a], place[b]) for a, b in pairs]
    if kind == "grid":
        rows, columns = stated["rows"], stated["columns"]
        need(rows * columns == n, "the grid does not fit the inputs")
        across = [(x, x + 1) for x in range(n) if (x + 1) % columns]
        return across + [(x, x + columns) for x in range(n - columns)]
    need(kind in ("path", "cycle", "complete"), f"unknown neighbors {kind!r}")
    if kind == "complete":
        return [(i, k) for i in range(n) for k in range(i)]
    return [(x, (x + 1) % n) for x in range(n if kind == "cycle" else n - 1)]


# ------------------------------------------------------------------------------------------------ linear programs


class Problem:
    """The statement: what is maximized or minimized over all private channels."""

    def __init__(self, table):
        inputs, outputs, self.objective, prior, self.sense, utility, privacy, blocks = keys(
            table, "inputs", "outputs", "objective", "prior", "sense", "utility", "privacy", "constraints"
        )
        inputs, outputs = labels(inputs), labels(outputs)
        self.n, self.m = len(inputs), len(outputs)
        need(self.objective in ("expected", "worst_case") and self.sense in ("gain", "loss"), "objective or sense")
        self.utility = doubles(utility, self.n, self.m)
        self.prior = doubles(prior, self.n) if self.objective == "expected" else None
        need(self.prior is not None or prior is None, "a worst case has no prior")
        need(self.prior is None or min(self.prior) >= 0, "a prior weight is negative")
        need(self.prior is None or abs(sum(self.prior) - S) <= S >> 30, "the prior does not sum to 1")
        self.notion = Notion(privacy, inputs, outputs)
        self.blocks = {}
        for block in blocks:
            name, rows, lower, upper = keys(block, "name", "rows", "lower", "upper")
            need(name not in self.blocks, "two constraints have one name")
            terms = [[(index(x, self.n), index(y, self.m), double(a)) for x, y, a in row] for row in rows]
            sides = [[None if side is None else double(side) for side in part] for part in (lower, upper)]
            need(len(terms) == len(sides[0]) == len(sides[1]), "sides and rows of a constraint differ in number")
            self.blocks[name] = list(zip(terms, *sides))

    def value(self, rows):
        """Exact value of the masses."""
        by_input = [sum(map(int.__mul__, worth, row)) for worth, row in zip(self.utility, rows)]
        if self.prior is not None:
            return Fraction(sum(map(int.__mul__, self.prior, by_input)), S * S * UNIT)
        return Fraction(min(by_input) if self.sense == "gain" else max(by_input), S * UNIT)

    def residual(self, rows, name):
        """Largest violation of a side constraint by the masses."""
        worst = 0
        for terms, lower, upper in self.blocks[name]:
            activity = sum(a * rows[x][y] for x, y, a in terms)
            worst = max(
                worst, *(s * (activity - side * UNIT) for s, side in ((-1, lower), (1, upper)) if side is not None), 0
            )
        return Fraction(worst, S * UNIT)

    def bound(self, table):
        """The bound that the multipliers prove, and the stake: the average spread of the utility."""
        form, row_sums, worst_case, privacy, constraints = keys(
            table, "form", "row_sums", "worst_case", "privacy", "constraints"
        )
        need(form in ("compact", "pairwise"), "unknown form")
        weights, total = self.prior, S
        if weights is None:
            weights = [max(weight, 0) for weight in doubles(worst_case, self.n)] if worst_case else [1] * self.n
            weights = weights if sum(weights) else [1] * self.n
            total = sum(weights)
        sign = 1 if self.sense == "gain" else -1
        # Costs over the unit total * S * S; multipliers are over S, and bring the factor total with them.
        costs = [[sign * weight * worth * S for worth in row] for weight, row in zip(weights, self.utility)]
        constant = sum(self.relax(costs, row, total) for row in privacy)
        need(isinstance(constraints, dict) and set(constraints) == set(self.blocks), "multipliers of other constraints")
        for name, values in constraints.items():
            for (terms, lower, upper), value in zip(self.blocks[name], doubles(values, len(self.blocks[name]))):
                side = upper if value > 0 else lower
                if value and side is not None:
                    for x, y, a in terms:
                        costs[x][y] -= a * value * total
                    constant += value * side * total
        if form == "pairwise":
            allowed = [[y for y, owner in enumerate(self.notion.owner) if owner in (None, x)] for x in range(self.n)]
            best = sum(max(row[y] for y in places) for row, places in zip(costs, allowed))
        else:
            best = self.compact(costs, [value * total * S for value in doubles(row_sums, self.n)])
        stake = sum(weight * (max(row) - min(row)) for weight, row in zip(weights, self.utility))
        return Fraction(sign * (constant + best), total * S * S), Fraction(stake, total * S)

    def relax(self, costs, row, total):
        """Move a row ``b P(i, E) - P(k, E) <= b delta``, ``b <= e**(-epsilon d)``, into the costs."""
        i, k, event, value = row
        distance = self.notion.distance(index(i, self.n), index(k, self.n))
        need(distance is not None, f"inputs {i} and {k} are not tied, but a multiplier says so")
        need(event == sorted(set(event)) and set(event) <= set(self.notion.tied), "an event has other reports")
        need(len(event) == 1 or not (self.notion.single and self.notion.delta), "events have single reports here")
        value, b = double(value) * total, self.notion.budget.power(distance)[1]
        need(value > 0, "a multiplier is not positive")
        for y in event:
            costs[i][y] -= value * b
            costs[k][y] += value * S
        return -(-value * b * self.notion.delta // S)

    def compact(self, costs, duals):
        """Bound over columns ``P(x, y) = q + b M``, ``q`` in ``[0, (1 - b) M + delta]`` for capped inputs, ``M >= 0``.

        With ``e = costs - duals - t`` a column adds at most ``M ((1 - b) sum e+ + b sum e) + delta sum e+``. The
        bracket is <= 0 if ``t (k (1 - b) + n b) >= (1 - b) (sum of the k largest) + b (sum of all)`` for every ``k``.
        """
        need(self.notion.ties is None, "only notions that treat all pairs alike have a compact form")
        notion, b = self.notion, self.notion.budget.power(self.notion.unit)[1]
        capped, full = notion.capped, len(notion.capped) == self.n and len(notion.tied) == self.m
        for x in range(self.n):  # entries without a cap must not cost more than their multiplier
            free = [
                costs[x][y] for y, owner in enumerate(notion.owner) if owner == x or (owner is None and x not in capped)
            ]
            duals[x] = max([duals[x], *free])
        shift = None if full and not notion.delta else 0
        spare = [[costs[x][y] - duals[x] for x in range(self.n)] for y in notion.tied]
        for column in spare:
            tops, everything = accumulate(sorted(column, reverse=True), initial=0), b * sum(column)
            for count, top in enumerate(tops):
                slope = (S - b) * count + b * self.n
                if slope:
                    least = -(-((S - b) * top + everything) // slope)
                    shift = least if shift is None else max(shift, least)
        shift = shift or 0
        over = sum(max(entry - shift, 0) for column in spare for entry in column) if notion.delta else 0
        return sum(duals) + self.n * shift + -(-over * notion.delta // S)


TOLERANCE = Fraction(1, 10**9)
"""How far a bound may be from what is proved here, over the stake: roundings differ. What is printed is proved."""


def check_program(data):
    """Prove a certificate of ``solve``; return what was proved."""
    _, statement, mechanism, multipliers, claim = keys(data, "format", "statement", "mechanism", "multipliers", "claim")
    problem = Problem(statement)
    bits, rows = keys(mechanism, "bits", "masses")
    need(bits == 53, "masses are over 2**53")
    rows = masses(rows, problem.n, problem.m)
    achieved, bound, gap, relative, residuals = keys(claim, "achieved", "bound", "gap", "relative_gap", "residuals")
    problem.notion.audit(rows)
    value = problem.value(rows)
    proved, stake = problem.bound(multipliers)
    sign = 1 if problem.sense == "gain" else -1
    agree(Fraction(achieved) == value, "achieved", achieved, value)
    agree(sign * (proved - Fraction(bound)) <= TOLERANCE * max(stake, abs(proved)), "bound", bound, proved)
    agree(Fraction(gap) == sign * (Fraction(bound) - value), "gap", gap, sign * (Fraction(bound) - value))
    own = Fraction(gap) / max(abs(Fraction(bound)), stake / 100, Fraction(1, S))
    agree(abs(Fraction(double(relative), S) - own) <= TOLERANCE * max(own, 1), "relative_gap", relative, own)
    need(isinstance(residuals, dict) and set(residuals) == set(problem.blocks), "residuals of other constraints")
    for name, stated in residuals.items():
        agree(Fraction(double(stated), S) >= problem.residual(rows, name), f"residual of {name}", stated, "more")
    return f"{problem.objective} {problem.sense} {float(value):.15g}", proved, sign * (proved - value)


def agree(holds, name, claimed, proved):
    """Refuse a number that says more than was proved."""
    if not holds:
        shown = proved if isinstance(proved, str) else f"{float(proved):.17g}"
        raise ClaimError(f"{name}: {str(claimed)[:40]} is claimed, {shown} was proved")


# ------------------------------------------------------------------------------------------------ designs


def short(rows):
    """A matrix without the power of two that its entries share, and that power as a factor of ``1 / S``."""
    zeros = min(((entry & -entry).bit_length() - 1 for row in rows for entry in row if entry), default=0)
    return [[entry >> zeros for entry in row] for row in rows], Fraction(1 << zeros, S)


def times(left, right):
    """Product of a matrix with the transpose of another."""
    return [[sum(map(int.__mul__, row, column)) for column in right] for row in left]


def root(value):
    """A rational just above the square root."""
    return Fraction(isqrt(value.numerator * 4**200 // value.denominator) + 1, 2**200) if value > 0 else Fraction(0)


def check_design(data):
    """Prove a certificate of ``design``: see docs, "Estimation", for the equations of the same names."""
    need(data.get("proof") == "form", f"a design proved by {data.get('proof')!r} is not checked here")
    (
        _,
        inputs,
        names,
        workload,
        privacy,
        given,
        objective,
        rows,
        inverse,
        _,
        matrix,
        line,
        shift,
        more,
        achieved,
        bound,
    ) = keys(
        *(data, "format", "inputs", "names", "workload", "privacy", "weights", "objective", "masses"),
        *("left_inverse", "proof", "inverse", "line", "shift", "inequalities", "achieved", "bound"),
    )
    n, k = len(labels(inputs)), len(labels(names))
    wanted, unit = short(doubles(workload, k, n))
    kinds, weights = {}, doubles(given, n)
    need(min(weights) >= 0 and sum(weights) > 0 and objective in ("average", "worst_case"), "weights or objective")
    for x, column in enumerate(zip(*wanted)):
        kinds.setdefault(column, []).append(x)
    (r,), _ = short([[sum(weights[x] for x in places) for places in kinds.values()]])
    need(isinstance(rows, list) and rows and isinstance(rows[0], list), "the masses should be lists")
    rows, c, total = masses(rows, n, len(rows[0])), len(kinds), sum(r)
    need(isinstance(privacy, dict) and privacy.get("kind") == "pure", "designs are checked for pure privacy only")
    notion = Notion(privacy, labels(inputs), [None] * len(rows[0]))
    notion.audit(rows)
    if any(rows[x] != rows[places[0]] for places in kinds.values() for x in places):
        raise ClaimError("answers that the workload does not tell apart are reported differently")
    gram = times(kinds, kinds)
    mean = [sum(map(int.__mul__, row, r)) for row in gram]
    whole = sum(map(int.__mul__, mean, r))
    gram = [[total * (total * gram[i][j] - mean[i] - mean[j]) + whole for j in range(c)] for i in range(c)]
    unit = unit * unit / total**2  # of gram: the workload centered by the weights
    spread = Fraction(sum(weight * gram[x][x] for x, weight in enumerate(r)), total) * unit
    value = variance(gram, unit, r, [rows[places[0]] for places in kinds.values()], inverse, objective)
    matrix, scale = short(doubles(matrix, c, c))
    line, step = short([doubles(line, c)])
    columns = list(zip(*matrix))
    form = times(times(columns, gram), columns)
    signs = None if shift is None else (doubles(shift, c + 1), eighths(more, c))
    if not costs_hold(form, unit * scale**2, line[0], step, r, total, notion.budget.power()[1], signs):
        raise ClaimError("a column of the cone costs more than the multipliers allow: they prove no bound")
    trace = sum(sum(map(int.__mul__, *pair)) for pair in zip(matrix, gram))
    proved = 2 * trace * scale * unit - sum(line[0]) * step - spread
    agree(value - Fraction(achieved) <= value / 2**100, "achieved", achieved, value)
    agree(Fraction(bound) - max(proved, 0) <= value / 2**100, "bound", bound, proved)
    return f"{objective} variance {float(value):.15g}", proved, value - proved


def variance(gram, unit, r, rows, inverse, objective):
    """Variance of an unbiased estimator near ``W X``: ``X`` is made an exact left inverse of the channel, (6)."""
    c = len(r)
    x, scale = short(doubles(inverse, c, len(rows[0])))
    off = [
        [Fraction(entry, UNIT) * scale - (i == j) for j, entry in enumerate(row)]
        for i, row in enumerate(times(x, rows))
    ]
    size = root(sum(entry * entry for row in off for entry in row))
    if size >= 1:
        raise ClaimError("the left inverse is none")
    turned = list(zip(*off))
    moved = [[sum(g * e for g, e in zip(row, column)) for column in turned] for row in gram]
    lost = root(sum(e * m for pair in zip(off, moved) for e, m in zip(*pair)) * unit) / (1 - size)
    columns = list(zip(*x))
    moments = [sum(map(int.__mul__, column, row)) for column, row in zip(columns, times(columns, gram))]
    squares = [sum(map(int.__mul__, column, column)) for column in columns]
    second = [Fraction(value) * unit * scale**2 / UNIT for (value,) in times(rows, [moments])]
    plain = [Fraction(value) * scale**2 / UNIT for (value,) in times(rows, [squares])]
    least = [gram[i][i] * unit for i in range(c)]
    if objective == "average":
        second, plain, least = (
            [sum(map(Fraction.__mul__, map(Fraction, r), part)) / sum(r)] for part in (second, plain, least)
        )
    return max((root(a) + lost * root(b)) ** 2 - e if lost else a - e for a, b, e in zip(second, plain, least))


def costs_hold(form, unit, line, step, r, total, base, signs):
    """Whether ``v N v <= (y . v)(r . v)`` for ``v = b + (1 - b) 1_A`` of every set ``A``, ``b = base / S``."""
    c, rest = len(r), S - base
    scale = unit * total / step  # v N v * scale <= (y . v)(r . v) in the integers at hand
    over, under = scale.numerator, scale.denominator
    if signs is not None:
        return signs_hold(form, over, under, line, r, base, *signs, step / total)
    need(c <= 24, "more than 24 answers need a shift")
    moved = [base * sum(row) for row in form]  # N v
    square, right, mass, inside = base * sum(moved), base * sum(line), base * sum(r), [False] * c
    for number in range(1 << c):
        if square * over > right * mass * under:
            return False
        x = (~number & (number + 1)).bit_length() - 1  # Gray code: the answer that enters or leaves
        if x < c:
            change = -rest if inside[x] else rest
            inside[x] = not inside[x]
            square += change * (2 * moved[x] + change * form[x][x])
            moved = [entry + change * own for entry, own in zip(moved, form[x])]
            right, mass = right + change * line[x], mass + change * r[x]
    return True


def eighths(given, c):
    """Eight times a form in ``(1, s)`` that no set makes negative: pairs of answers, and sizes next to each other."""
    if given is None:
        return [[0] * (c + 1)] * (c + 1)
    pairs, size, factor = keys(given, "pairs", "size", "factor")
    pairs, factor = doubles(pairs, c, c), double(factor)
    need(index(size, c + 1) is size and factor >= 0, "the factor of the size is negative")
    both = [[0 if x == y else pairs[min(x, y)][max(x, y)] for y in range(c)] for x in range(c)]
    need(min(map(min, both)) >= 0, "a multiplier of a pair is negative")
    sums = [sum(row) for row in both]
    found = [[sum(sums), *sums], *([own, *row] for own, row in zip(sums, both))]
    twice = [c - 2 * size - 1] + [1] * c  # 2 (|A| - k - 1/2); its square less 1 is 4 (|A| - k)(|A| - k - 1)
    found = [[entry + 2 * factor * i * j for entry, j in zip(row, twice)] for row, i in zip(found, twice)]
    found[0][0] -= 2 * factor
    return found


def signs_hold(form, over, under, line, r, base, shift, taken, unit):
    """The same for many answers: in signs ``(1, s)``, ``2 v = (1 + b) + (1 - b) s``, a diagonal of sum 0 is free."""
    c, high, low = len(r), S + base, S - base
    y, mass = ([high * sum(part), *(low * entry for entry in part)] for part in (line, r))
    cost = [[high * high * sum(map(sum, form)), *(high * low * sum(row) for row in form)]]
    cost += [[cost[0][i + 1], *(low * low * entry for entry in row)] for i, row in enumerate(form)]
    shift[0] = -sum(shift[1:])
    eighth = Fraction(S) * under / unit
    need(eighth.denominator == 1, "the shift does not fit")  # unit is a power of two over total
    eighth = int(eighth)
    size = range(c + 1)
    return semidefinite(
        [
            [
                under * (y[i] * mass[j] + y[j] * mass[i])
                - 2 * over * cost[i][j]
                + eighth * (8 * (i == j) * shift[i] - taken[i][j])
                for j in size
            ]
            for i in size
        ]
    )


def semidefinite(matrix):
    """Whether an integer matrix is ``L L^T`` plus a matrix with dominant diagonal; True is a proof."""
    size = range(len(matrix))
    if min(matrix[i][i] for i in size) <= 0:
        return False
    half = [matrix[i][i].bit_length() + 1 >> 1 for i in size]
    near = [[float(Fraction(matrix[i][j], 1 << half[i] + half[j])) for j in range(i + 1)] for i in size]
    for slack in (1e-14, 1e-12, 1e-10):
        factor = []
        for i in size:
            row = []
            for j in range(i):
                row.append((near[i][j] - sum(map(float.__mul__, row, factor[j]))) / factor[j][j])
            pivot = near[i][i] - slack * len(matrix) - sum(entry * entry for entry in row)
            if pivot <= 0:
                return False
            factor.append([*row, pivot**0.5])
        rows = [[int(entry * 2**54) << half[i] for entry in row] for i, row in enumerate(factor)]
        rest = [[(matrix[i][j] << 108) - sum(map(int.__mul__, rows[i], rows[j])) for j in range(i + 1)] for i in size]
        others = [sum(abs(rest[max(i, j)][min(i, j)]) for j in size if j != i) for i in size]
        if all(rest[i][i] >= other for i, other in enumerate(others)):
            return True
    return False


CHECKS = {"ldpopt certificate 1": check_program, "ldpopt design certificate 2": check_design}

OLD = "ldpopt design certificate 1"
"""A format without the notion of privacy; it is not read."""


FAULTS = (FormatError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError)
"""What a file that is no certificate leads to."""


def main(paths):
    """Check files; return the exit code."""
    code = 0
    for path in paths:
        try:
            data = read(path)
            need(isinstance(data, dict) and data.get("format") != OLD, f"{OLD!r} is an old format: design again")
            need(data.get("format") in CHECKS, "not a certificate of ldpopt")
            value, bound, gap = CHECKS[data["format"]](data)
            print(f"{path}: private; {value}, bound {float(bound):.15g}, gap {float(gap):.3g}: holds")
        except ClaimError as error:
            code = max(code, 1)
            print(f"{path}: DOES NOT HOLD: {error}")
        except FAULTS as error:
            code = 2
            print(f"{path}: no certificate: {error}")
    return code


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python ldpopt_check.py FILE ...")
    sys.exit(main(sys.argv[1:]))
