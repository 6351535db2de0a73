"""Check certificates of ldpopt with Python's standard library alone: ``python ldpopt_check.py FILE ...``.

It shares nothing with ldpopt. It proves, in integers, that a mechanism is private for the real ``e**epsilon``, its
value, and a bound on all private ones that keep the constraints; a file that claims more is refused.
"""

import json
import re
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from itertools import accumulate, permutations
from pathlib import Path

S, UNIT, TOLERANCE = 2**1074, 2**53, Fraction(1, 10**15)  # doubles are over S, masses over UNIT; of a claim


class ClaimError(Exception):
    """The certificate does not hold."""


def need(holds, message, error=ValueError):
    """Refuse the file where a condition does not hold."""
    if not holds:
        raise error(message)


def read(path):
    """Parse JSON; a key that stands twice is refused."""

    def unique(pairs):
        need(len(dict(pairs)) == len(pairs), "a key stands twice")
        return dict(pairs)

    with open(path, encoding="utf-8") as stream:
        return json.load(stream, object_pairs_hook=unique)


def keys(table, names):
    """Values of an object that has these keys and no others."""
    need(isinstance(table, dict) and set(table) == set(names.split()), f"an object should have the keys {names}")
    return map(table.get, names.split())


def double(value, *shape):
    """A number (or hexadecimal text) as the integer over ``S`` that its double is; a list of them, with a shape."""
    if shape:
        need(isinstance(value, list) and len(value) == shape[0], f"a list should have length {shape[0]}")
        return [double(part, *shape[1:]) for part in value]
    value = float.fromhex(value) if isinstance(value, str) and "0x" in value else value
    need(type(value) in (int, float) and abs(value) < float("inf"), f"{value!r} is not a finite number")
    over, under = float(value).as_integer_ratio()
    return over * (S // under)


def labels(names):
    """Distinct labels, as JSON text."""
    texts = [json.dumps(name) for name in names]
    need(isinstance(names, list) and len(set(texts)) == len(texts), "labels are no list, or one stands twice")
    return texts


def masses(table, n, m):
    """Rows of integers over ``UNIT`` that sum to it."""
    fit = [len(row) == m and sum(row) == UNIT and all(type(mass) is int and mass >= 0 for mass in row) for row in table]
    need(len(fit) == n and all(fit), f"masses should be {n} rows of {m} integers >= 0 that sum to 2**53")
    return table


def power(stated, distance):
    """A rational at most ``e**(epsilon d)``, over and under; ``e**(-epsilon d)`` over ``S``, rounded down."""
    logarithm = re.fullmatch(r"(?:log|ln)\s*\((.+)\)", str(stated).strip().lower())
    ratio = Fraction(logarithm[1].strip()) if logarithm else None
    low, high = [near("ln", ratio, up) for up in (False, True)] if logarithm else [Fraction(stated)] * 2
    need(high >= 0 and type(stated) is not bool, "epsilon is no number >= 0")
    if ratio and distance == int(distance) <= 64:
        low = high = ratio ** int(distance)
    else:  # 1 / S is about e**-744
        low, high = (near("exp", min(end * distance, Fraction(750)), up) for end, up in ((low, False), (high, True)))
    return *max(low, Fraction(1)).as_integer_ratio(), high.denominator * S // high.numerator


def near(function, x, up):
    """A rational above or below ``ln`` or ``exp`` of one: decimals are exact to a unit of their last digit."""
    context = Context(prec=400, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emax=9999, Emin=-9999)
    value = getattr(context, function)(context.divide(x.numerator, x.denominator))
    return Fraction(context.next_plus(value) if up else context.next_minus(value))


KEYS = {"pure": "", "approximate": "delta form", "graph": "edges parts", "metric": "distance", "one_sided": "sensitive"}
KEYS["utility_optimized"] = "sensitive protected"  # what a notion states beside kind and epsilon


class Notion:
    """``P(i, E) <= e**(epsilon d) P(k, E) + delta`` for every tied pair and event ``E`` of tied reports.

    ``ties`` maps ``(i, k)`` to ``d``. ``single``: events are single reports. ``owner[y]``: the only input that may give
    report ``y``; None if ``y`` is tied. ``unit``: ``d``, where all of ``capped`` are tied to all others alike.
    """

    def __init__(self, table, inputs, outputs):
        n, kind, place = len(inputs), table["kind"], {name: x for x, name in enumerate(inputs)}
        need(set(table) <= {"kind", "epsilon", *KEYS[kind].split()}, f"unknown key among {sorted(table)}")
        secret = {place[name] for name in labels(table["sensitive"] if "sensitive" in KEYS[kind] else [])}
        self.delta, self.single = 0, table.get("form") == "entry"
        self.capped = secret if kind == "one_sided" else set(range(n))
        self.ties, self.owner = {(i, k): 1 for i in self.capped for k in range(n) if i != k}, [None] * len(outputs)
        if kind == "approximate":
            self.delta = double(table["delta"])
            need(0 <= self.delta <= S and table.get("form", "event") in ("event", "entry"), "delta or form is wrong")
        elif kind == "graph":
            edges = [(range(n).index(a), range(n).index(b)) for a, b in table["edges"]]
            self.ties, reached, size = {pair: 1 for edge in edges for pair in permutations(edge)}, {0}, 0
            while len(reached) > size:
                size, reached = len(reached), reached | {k for i, k in self.ties if i in reached}
            whole = table.get("parts") == "separate" or (len(reached) == n and "parts" not in table)
            need(whole and all(i != k for i, k in edges), "the graph has loops, or falls into parts")
        elif kind == "metric":
            rows = double(table["distance"], n, n)
            self.ties = {(i, k): Fraction(rows[i][k], S) for i, k in self.ties}
            symmetric = all(rows[k][i] == rows[i][k] > 0 for i, k in self.ties)
            need(symmetric and not any(rows[x][x] for x in range(n)), "it is no distance")
        elif kind == "utility_optimized":  # an unprotected report belongs to the input of the same label
            rest = set(outputs) - {name for name, x in place.items() if x not in secret}
            kept = set(labels(table["protected"])) if "protected" in table else rest
            need(rest <= kept <= set(outputs), "an unprotected report has no owner, or a protected one is none")
            self.owner = [None if y in kept else place[y] for y in outputs]
        alike = len(set(self.ties.values())) < 2 and len(self.ties) == len(self.capped) * (n - 1)
        self.unit = max(self.ties.values(), default=1) if alike else None
        self.powers = {distance: power(table["epsilon"], distance) for distance in {1, *self.ties.values()}}
        self.tied = [y for y, owner in enumerate(self.owner) if owner is None]

    def audit(self, rows):
        """Refuse masses that break an inequality."""
        for y, owner in enumerate(self.owner):
            own = owner is None or not any(row[y] for x, row in enumerate(rows) if x != owner)
            need(own, f"not private: report {y} is given by an input that does not own it", ClaimError)
        if self.unit in self.powers and not self.delta:  # many pairs, one ratio: compare the ends of each column
            over, under, _ = self.powers[self.unit]
            for y in self.tied:
                top, least = max((rows[x][y] for x in self.capped), default=0), min(row[y] for row in rows)
                need(top * under <= over * least, f"not private: report {y}", ClaimError)
            return
        for (i, k), distance in self.ties.items():
            over, under, _ = self.powers[distance]
            excess = [under * rows[i][y] - over * rows[k][y] for y in self.tied]
            beyond = max(excess, default=0) if self.single else sum(entry for entry in excess if entry > 0)
            need(beyond * S <= self.delta * UNIT * under, f"not private: input {i} against input {k}", ClaimError)


class Problem:
    """The statement: what is maximized or minimized over all private channels."""

    def __init__(self, table):
        names = "inputs outputs objective prior sense utility privacy constraints"
        inputs, outputs, self.objective, prior, self.sense, utility, privacy, blocks = keys(table, names)
        inputs, outputs = labels(inputs), labels(outputs)
        self.n, self.m = len(inputs), len(outputs)
        need(self.objective in ("expected", "worst_case") and self.sense in ("gain", "loss"), "objective or sense")
        need((prior is None) == (self.objective == "worst_case"), "a worst case has no prior")
        self.utility = double(utility, self.n, self.m)
        self.prior = None if prior is None else double(prior, self.n)
        fits = not self.prior or (min(self.prior) >= 0 and abs(sum(self.prior) - S) <= S >> 30)
        need(fits, "the prior does not sum to 1")
        self.notion = Notion(privacy, inputs, outputs)
        need(len({block["name"] for block in blocks}) == len(blocks), "two constraints have one name")
        self.blocks = {}  # name -> rows: terms (input, output, coefficient), and their sides
        for block in blocks:
            name, rows, lower, upper = keys(block, "name rows lower upper")
            terms = [[(range(self.n).index(x), range(self.m).index(y), double(a)) for x, y, a in row] for row in rows]
            sides = [[None if side is None else double(side) for side in part] for part in (lower, upper)]
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
            worst += [sign * (activity - side * UNIT) for sign, side in ((-1, lower), (1, upper)) if side is not None]
        return Fraction(max(worst), S * UNIT)

    def bound(self, table):
        """The bound that the multipliers prove, and the stake: the average spread of the utility."""
        form, sums, worst, privacy, constraints = keys(table, "form row_sums worst_case privacy constraints")
        need(form in ("compact", "pairwise") and set(constraints) == set(self.blocks), "unknown form or constraint")
        weights = self.prior or [max(weight, 0) for weight in double(worst or [0] * self.n, self.n)]
        weights = weights if any(weights) else [1] * self.n
        total, sign = S if self.prior else sum(weights), 1 if self.sense == "gain" else -1
        # Costs over the unit total * S * S; multipliers are over S, and bring the factor total with them.
        costs = [[sign * weight * worth * S for worth in row] for weight, row in zip(weights, self.utility)]
        constant = sum(self.relax(costs, row, total) for row in privacy)
        for name, values in constraints.items():
            for (terms, lower, upper), value in zip(self.blocks[name], double(values, len(self.blocks[name]))):
                side = upper if value > 0 else lower
                if value and side is not None:
                    for x, y, a in terms:
                        costs[x][y] -= a * value * total
                    constant += value * side * total
        owner = list(enumerate(self.notion.owner))
        best = sum(max(row[y] for y, own in owner if own in (None, x)) for x, row in enumerate(costs))
        if form == "compact":
            best = self.compact(costs, [value * total * S for value in double(sums, self.n)])
        spreads = [max(row) - min(row) for row in self.utility]
        stake = sum(map(int.__mul__, weights, spreads)) or Fraction(total * sum(spreads), self.n)
        return Fraction(sign * (constant + best), total * S * S), Fraction(stake, total * S)

    def relax(self, costs, row, total):
        """Move a row ``b P(i, E) - P(k, E) <= b delta``, ``b <= e**(-epsilon d)``, into the costs."""
        i, k, event, value = row
        need((i, k) in self.notion.ties, f"inputs {i} and {k} are not tied, but a multiplier says so")
        known = event == sorted(set(event)) and set(event) <= set(self.notion.tied) and double(value) > 0
        need(known and (len(event) == 1 or not (self.notion.single and self.notion.delta)), "no multiplier of an event")
        value, b = double(value) * total, self.notion.powers[self.notion.ties[i, k]][2]
        for y in event:
            costs[i][y] -= value * b
            costs[k][y] += value * S
        return -(-value * b * self.notion.delta // S)

    def compact(self, costs, duals):
        """Bound over columns ``P(x, y) = q + b M``, ``q`` in ``[0, (1 - b) M + delta]`` for capped inputs, ``M >= 0``.

        With ``e = costs - duals - t`` a column adds at most ``M ((1 - b) sum e+ + b sum e) + delta sum e+``. The
        bracket is <= 0 if ``t (k (1 - b) + n b) >= (1 - b) (sum of the k largest) + b (sum of all)`` for every ``k``.
        """
        notion, n = self.notion, self.n
        need(notion.unit is not None, "only notions that treat all pairs alike have a compact form")
        b = notion.powers[notion.unit][2]
        for x in range(n):  # entries without a cap must not cost more than their multiplier
            free = [y for y, own in enumerate(notion.owner) if own == x or (own is None and x not in notion.capped)]
            duals[x] = max([duals[x], *(costs[x][y] for y in free)])
        spare = [[costs[x][y] - duals[x] for x in range(n)] for y in notion.tied]
        shifts = [] if len(notion.capped) == n and len(spare) == self.m and not notion.delta else [0]
        for column in spare:
            tops, whole = accumulate(sorted(column, reverse=True), initial=0), b * sum(column)
            slopes = ((top, (S - b) * count + b * n) for count, top in enumerate(tops))
            shifts += [-(-((S - b) * top + whole) // slope) for top, slope in slopes if slope]
        shift = max(shifts, default=0)
        over = sum(max(entry - shift, 0) for column in spare for entry in column) if notion.delta else 0
        return sum(duals) + n * shift + -(-over * notion.delta // S)


def check_program(data):
    """Prove a certificate of ``solve``; return what was proved."""
    _, statement, mechanism, multipliers, claim = keys(data, "format statement mechanism multipliers claim")
    problem, (bits, rows) = Problem(statement), keys(mechanism, "bits masses")
    achieved, bound, gap, relative, residuals = keys(claim, "achieved bound gap relative_gap residuals")
    need(bits == 53 and set(residuals) == set(problem.blocks), "other bits, or residuals of other constraints")
    problem.notion.audit(masses(rows, problem.n, problem.m))
    value, (proved, stake), sign = problem.value(rows), problem.bound(multipliers), 1 if problem.sense == "gain" else -1
    achieved, bound, gap, relative = Fraction(achieved), Fraction(bound), Fraction(gap), Fraction(double(relative), S)
    own = gap / max(abs(bound), stake / 100, Fraction(1, S))
    claims = [("achieved", value, achieved == value), ("gap", sign * (bound - value), gap == sign * (bound - value))]
    claims += [("bound", proved, sign * (proved - bound) <= TOLERANCE * max(stake, abs(proved)))]
    claims += [("relative_gap", own, abs(relative - own) <= TOLERANCE * max(own, 1))]
    off = [(name, stated, problem.residual(rows, name)) for name, stated in residuals.items()]
    claims += [(f"residual of {name!r}", found, Fraction(double(stated), S) >= found) for name, stated, found in off]
    for name, found, holds in claims:
        need(holds, f"{name}: {float(found):.17g} was proved, not what is claimed", ClaimError)
    told = "".join(f", off {name!r} by {float(found):.2g}" for name, _, found in off if found)
    return f"{problem.objective} {problem.sense} {float(value):.15g}{told}", proved, sign * (proved - value)


def check(path):
    """Prove the certificate in a file, of a mechanism or of a design."""
    data = read(path)
    if data["format"] == "ldpopt certificate 1":
        return check_program(data)
    from ldpopt_check_designs import check_design

    return check_design(data)


def main(paths):
    """Check files; exit code 0 if every one holds, 1 if one does not, 2 if one is no certificate."""
    code = 0
    for path in paths:
        try:
            value, bound, gap = check(path)
            print(f"{path}: private; {value}, bound {float(bound):.15g}, gap {float(gap):.3g}: holds")
        except ClaimError as error:
            code = max(code, 1)
            print(f"{path}: DOES NOT HOLD: {error}")
        except Exception as error:  # whatever it is that fails, nothing was proved
            code = 2
            print(f"{path}: no certificate: {type(error).__name__}: {error}")
    return code


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))  # for python -I
    from ldpopt_check import main  # the copy of this file that designs import too

    sys.exit(main(sys.argv[1:]) if sys.argv[1:] else "usage: python ldpopt_check.py FILE ...")
