"""The part of `ldpopt_check` for designs; run it as ``python ldpopt_check.py FILE ...``.

A design has masses, a left inverse of their channel, and multipliers. This file proves that the mechanism is private,
the variance of its unbiased estimator, and a bound that no private mechanism's falls below. Equations: docs,
"Estimation". Arithmetic as in `ldpopt_check`.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import floor, isqrt, prod
from operator import mul

from ldpopt_check import UNIT, ClaimError, Notion, S, double, keys, labels, masses, need, power


def short(rows):
    """A matrix without the power of two that its entries share, and that power as a factor of ``1 / S``."""
    zeros = min(((entry & -entry).bit_length() - 1 for row in rows for entry in row if entry), default=0)
    return [[entry >> zeros for entry in row] for row in rows], Fraction(1 << zeros, S)


def dot(left, right):
    """Sum of products."""
    return sum(map(mul, left, right))


def times(left, right):
    """Product of a matrix with the transpose of another."""
    return [[dot(row, column) for column in right] for row in left]


def root(value):
    """A rational just above the square root."""
    return Fraction(isqrt(value.numerator * 4**200 // value.denominator) + 1, 2**200) if value > 0 else Fraction(0)


KEYS = {
    "form": "inverse line shift inequalities",
    "mean": "numbers values slope line",
    "product": "sizes eigenvalues level",
}


def check_design(data):
    """Prove a certificate of ``design``: see docs, "Estimation", for the equations of the same names."""
    need(
        data["format"] == "ldpopt design certificate 2", "no certificate of ldpopt, or of an old format: write it again"
    )
    kind = data["proof"]
    need(kind in KEYS and data["privacy"]["kind"] == "pure", "another notion or proof: it is not checked here")
    names = "format inputs names workload privacy weights objective masses left_inverse proof achieved bound "
    keys({key: data[key] for key in data if key != "about"}, names + KEYS[kind])  # what it says of itself is no claim
    design = Design(data)
    value, proved = PROOFS[kind](design, *(data[key] for key in KEYS[kind].split()))
    achieved, bound = Fraction(data["achieved"]), Fraction(data["bound"])
    need(value - achieved <= value / 2**100, f"achieved: {float(value):.17g} was proved", ClaimError)
    need(bound - max(proved, 0) <= value / 2**100, f"bound: {float(proved):.17g} was proved", ClaimError)
    return f"{design.objective} variance {float(value):.15g}", proved, value - proved


class Design:
    """Statement and masses, for classes of answers that the workload tells apart; private, or refused.

    ``gram * unit`` is the Gram matrix of the workload centered by the weights ``r / total``; ``spread`` its average;
    ``rows`` and ``left`` are the channel over ``UNIT`` and a left inverse over ``S``; ``base / S`` is ``e**-epsilon``.
    """

    def __init__(self, data):
        inputs, names, self.objective = labels(data["inputs"]), labels(data["names"]), data["objective"]
        wanted, unit = short(double(data["workload"], len(names), len(inputs)))
        weights, rows, kinds = double(data["weights"], len(inputs)), data["masses"], {}
        need(min(weights) >= 0 and sum(weights) > 0, "the weights are not >= 0 with a positive sum")
        need(self.objective in ("average", "worst_case"), "unknown objective")
        Notion(data["privacy"], inputs, [None] * len(rows[0])).audit(masses(rows, len(inputs), len(rows[0])))
        for x, column in enumerate(zip(*wanted)):
            kinds.setdefault(column, []).append(x)
        alike = all(rows[x] == rows[places[0]] for places in kinds.values() for x in places)
        need(alike, "answers that the workload does not tell apart are reported differently", ClaimError)
        (r,), _ = short([[sum(weights[x] for x in places) for places in kinds.values()]])
        self.r, self.total, self.c = r, sum(r), len(kinds)
        gram, total = times(kinds, kinds), self.total
        mean = [dot(row, r) for row in gram]
        whole = dot(mean, r)
        self.gram = [[total * (total * g - m - own) + whole for g, own in zip(row, mean)] for row, m in zip(gram, mean)]
        self.unit = unit * unit / total**2
        self.spread = self.unit * Fraction(sum(weight * self.gram[x][x] for x, weight in enumerate(r)), total)
        self.rows = [rows[places[0]] for places in kinds.values()]
        self.left, self.base = (
            double(data["left_inverse"], self.c, len(rows[0])),
            power(data["privacy"]["epsilon"], 1)[2],
        )

    def over_answers(self, values):
        """Average of the answers' values, or the largest."""
        if self.objective == "worst_case":
            return max(values)
        return dot(self.r, values) / self.total

    def error(self):
        """How far ``left`` is from a left inverse of the channel: the product less 1."""
        left, scale = short(self.left)
        found = enumerate(times(left, self.rows))
        return [[Fraction(entry, UNIT) * scale - (i == j) for j, entry in enumerate(row)] for i, row in found]

    def estimates(self):
        """Refuse a left inverse that is not unbiased up to rounding, where the value does not depend on it."""
        columns = list(zip(*self.error()))
        off = max(abs(entry) for row in times(self.gram, columns) for entry in row)
        need(off <= max(abs(g) for row in self.gram for g in row) / 10**6, "the left inverse is none", ClaimError)


def by_form(design, inverse, line, shift, more):
    """Value by the estimator; bound ``2 tr(S G) - 1.y - spread`` if no column costs more than ``y`` allows."""
    c, unit, value = design.c, design.unit, variance(design)
    matrix, scale = short(double(inverse, c, c))
    (line,), step = short([double(line, c)])
    columns = list(zip(*matrix))
    form = times(times(columns, design.gram), columns)
    signs = None if shift is None else (double(shift, c + 1), eighths(more, c))
    holds = costs_hold(form, unit * scale**2, line, step, design.r, design.total, design.base, signs)
    need(holds, COSTS, ClaimError)
    trace = sum(map(dot, matrix, design.gram))
    return value, 2 * trace * scale * unit - sum(line) * step - design.spread


def variance(design):
    """Variance of an unbiased estimator near ``W X``: ``X`` is made an exact left inverse of the channel, (6)."""
    gram, unit, (x, scale), off = design.gram, design.unit, short(design.left), design.error()
    size = root(sum(entry * entry for row in off for entry in row))
    need(size < 1, "the left inverse is none", ClaimError)
    turned = list(zip(*off))
    lost = root(sum(map(dot, off, times(gram, turned))) * unit) / (1 - size)
    columns = list(zip(*x))
    moments = [dot(column, row) for column, row in zip(columns, times(columns, gram))]
    squares = [dot(column, column) for column in columns]
    second = [Fraction(value) * unit * scale**2 / UNIT for (value,) in times(design.rows, [moments])]
    plain = [Fraction(value) * scale**2 / UNIT for (value,) in times(design.rows, [squares])]
    least = [gram[i][i] * unit for i in range(design.c)]
    if design.objective == "average":
        second, plain, least = ([design.over_answers(part)] for part in (second, plain, least))
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
    pairs, size, factor = keys(given, "pairs size factor")
    pairs, factor = double(pairs, c, c), double(factor)
    need(type(size) is int and 0 <= size <= c and factor >= 0, "the factor of the size is negative")
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

    def spare(i, j):
        kept = under * (y[i] * mass[j] + y[j] * mass[i]) - 2 * over * cost[i][j]
        return kept + eighth * (8 * (i == j) * shift[i] - taken[i][j])

    return semidefinite([[spare(i, j) for j in range(c + 1)] for i in range(c + 1)])


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


def by_mean(design, numbers, values, slope, line):
    """A workload of multiples of ``w``, reports with values whose mean is ``w``: bound ``2 k.w - 1.y``, if it holds."""
    r, c, gram = design.r, design.c, design.gram
    w, k, y = ([Fraction(entry, S) for entry in double(part, c)] for part in (numbers, slope, line))
    values = [Fraction(entry, S) for entry in double(values, len(design.rows[0]))]
    middle = dot(r, w) / design.total
    centered = [entry - middle for entry in w]
    pivot = max(range(c), key=lambda x: abs(centered[x]))
    factor = gram[pivot][pivot] * design.unit / centered[pivot] ** 2
    holds = all(g * design.unit == factor * a * b for a, row in zip(centered, gram) for b, g in zip(centered, row))
    need(holds, "the workload is not of multiples of the numbers", ClaimError)
    means = [dot(row, values) / UNIT for row in design.rows]
    second = [dot(row, [value**2 for value in values]) / UNIT for row in design.rows]
    need(means == w, "the means of the reports' values are not the numbers", ClaimError)
    design.estimates()
    need(line_holds(k, y, [Fraction(weight, design.total) for weight in r], design.base), COSTS, ClaimError)
    told = 2 * dot(k, centered) - sum(y)
    return factor * design.over_answers([a - b**2 for a, b in zip(second, w)]), factor * told - design.spread


def line_holds(k, y, r, base):
    """Whether ``(k.v)^2 <= (y.v)(r.v)`` for ``v = b + (1 - b) 1_A`` of every set ``A``.

    That is ``v.a(t) >= 0`` for all ``t``, ``a(t) = r t^2 - 2 k t + y``: only the sets ``{a(t) < 0}`` count. They change
    at roots, which are known to 200 bits; where roots are nearer, every set between is checked.
    """
    b, inside, events = Fraction(base, S), {x for x in range(len(k)) if not r[x] and (k[x] < 0 or k[x] == 0 > y[x])}, []
    for x, (p, q, w) in enumerate(zip(k, y, r)):
        if w and p * p > w * q:
            spread, middle = root(p * p - w * q) / w, p / w
            events += [(floor((middle - spread) * 2**200), x, False), (floor((middle + spread) * 2**200), x, True)]
        elif not w and p:
            events.append((floor(q / p * 2**199), x, p < 0))
    groups, near = [[]], 8 + 4 / min(w for w in r if w)  # what a root may be off, in units of its last bit
    for event in sorted(events):
        if not groups[-1] or event[0] - groups[-1][-1][0] > near:
            groups.append([])
        groups[-1].append(event)
    for group in groups:
        free = sorted({x for _, x, _ in group})
        need(len(free) <= 12, "too many roots are too near each other")
        for size in range(len(free) + 1):
            for more in combinations(free, size):
                chosen = inside.difference(free).union(more)
                one, two, three = (b * sum(part) + (1 - b) * sum(part[x] for x in chosen) for part in (k, y, r))
                if two < 0 or one * one > two * three:
                    return False
        for _, x, leaves in group:
            (inside.discard if leaves else inside.add)(x)
    return True


def by_product(design, sizes, eigenvalues, level):
    """Forms that only see in which attributes answers differ: all are diagonal in the same spaces, one a set ``T``."""
    n, (level, *sigma) = design.c, [Fraction(entry, S) for entry in double([level, *eigenvalues], 1 + 2 ** len(sizes))]
    need(n == prod(sizes) and min(sizes) > 1 and len(set(design.r)) == 1, "other sizes or weights", ClaimError)
    mu = [entry * design.unit for entry in spectrum(design.gram, sizes)]
    rank = [prod(size - 1 for size, part in zip(sizes, parts) if part) for parts in product((0, 1), repeat=len(sizes))]
    low, step = design.base, S - design.base
    most = max(Fraction(step * step * k * (n - k), (low * n + step * k) ** 2) for k in range(1, n))
    need(level >= most * max(s * s * m for s, m in zip(sigma, mu)), COSTS, ClaimError)
    told, columns = [Fraction(0)] * len(mu), list(zip(*design.rows))
    for high, least, size in {(max(v), min(v), v.count(max(v))) for v in columns if max(v) > min(v)}:
        alike = [v for v in columns if (max(v), min(v), v.count(max(v))) == (high, least, size)]
        need(all(v.count(least) == n - size for v in alike), "a report has more than two masses", ClaimError)
        bits = [sum((v[x] == high) << y for y, v in enumerate(alike)) for x in range(n)]
        pairs = [[(one & two).bit_count() for two in bits] for one in bits]
        share = Fraction((high - least) ** 2 * n, UNIT * (least * n + (high - least) * size))
        told = [have + share * new for have, new in zip(told, spectrum(pairs, sizes))]
    if design.objective == "worst_case":  # all answers alike: a value more in one attribute changes nothing
        answers = list(product(*map(range, sizes)))
        for axis, size in enumerate(sizes):
            moved = [answers.index((*x[:axis], (x[axis] + 1) % size, *x[axis + 1 :])) for x in answers]
            need(Counter(columns) == Counter(zip(*(design.rows[x] for x in moved))), "answers are not seen to be alike")
    design.estimates()
    value = sum(m * size / have for m, size, have in zip(mu[1:], rank[1:], told[1:]) if m) - design.spread
    return value, 2 * sum(s * m * size for s, m, size in zip(sigma, mu, rank)) - n * level - design.spread


def spectrum(form, sizes):
    """Eigenvalues of a form that only sees in which attributes two answers differ, by the set of attributes."""
    answers, seen = list(product(*map(range, sizes))), {}
    for x, row in zip(answers, form):
        for z, entry in zip(answers, row):
            alike = seen.setdefault(tuple(a != b for a, b in zip(x, z)), entry) == entry
            need(alike, "a form sees more than in which attributes answers differ", ClaimError)
    found = [seen[parts] for parts in product((False, True), repeat=len(sizes))]
    for axis, size in enumerate(reversed(sizes)):
        for place in (place for place in range(len(found)) if not place >> axis & 1):
            one, two = found[place], found[place | 1 << axis]
            found[place], found[place | 1 << axis] = one + (size - 1) * two, one - two
    return found


COSTS = "a column of the cone costs more than the multipliers allow: they prove no bound"
PROOFS = {"form": by_form, "mean": by_mean, "product": by_product}
