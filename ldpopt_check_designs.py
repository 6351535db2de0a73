"""The part of `ldpopt_check` for designs; run it as ``python ldpopt_check.py FILE ...``.

A design has masses, a left inverse of their channel, and multipliers. This file proves that the mechanism is private,
the variance of its unbiased estimator, and a bound that no private mechanism's falls below. Equations: docs,
"Estimation". Arithmetic as in `ldpopt_check`.
"""

from fractions import Fraction
from math import isqrt

from ldpopt_check import UNIT, ClaimError, Notion, S, double, keys, labels, masses, need, power


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
    need(data["format"] == "ldpopt design certificate 2", "no certificate of ldpopt, or an old one: write it again")
    need(data.get("proof") == "form", f"a design proved by {data.get('proof')!r} is not checked here")
    names = "format inputs names workload privacy weights objective masses left_inverse proof inverse line shift"
    parts = keys(data, names + " inequalities achieved bound")
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
    ) = parts
    n, k = len(labels(inputs)), len(labels(names))
    wanted, unit = short(double(workload, k, n))
    kinds, weights = {}, double(given, n)
    need(min(weights) >= 0 and sum(weights) > 0 and objective in ("average", "worst_case"), "weights or objective")
    for x, column in enumerate(zip(*wanted)):
        kinds.setdefault(column, []).append(x)
    (r,), _ = short([[sum(weights[x] for x in places) for places in kinds.values()]])
    need(isinstance(rows, list) and rows and isinstance(rows[0], list), "the masses should be lists")
    rows, c, total = masses(rows, n, len(rows[0])), len(kinds), sum(r)
    need(isinstance(privacy, dict) and privacy.get("kind") == "pure", "designs are checked for pure privacy only")
    notion = Notion(privacy, labels(inputs), [None] * len(rows[0]))
    notion.audit(rows)
    alike = all(rows[x] == rows[places[0]] for places in kinds.values() for x in places)
    need(alike, "answers that the workload does not tell apart are reported differently", ClaimError)
    gram = times(kinds, kinds)
    mean = [sum(map(int.__mul__, row, r)) for row in gram]
    whole = sum(map(int.__mul__, mean, r))
    gram = [[total * (total * gram[i][j] - mean[i] - mean[j]) + whole for j in range(c)] for i in range(c)]
    unit = unit * unit / total**2  # of gram: the workload centered by the weights
    spread = Fraction(sum(weight * gram[x][x] for x, weight in enumerate(r)), total) * unit
    value = variance(gram, unit, r, [rows[places[0]] for places in kinds.values()], inverse, objective)
    matrix, scale = short(double(matrix, c, c))
    line, step = short([double(line, c)])
    columns = list(zip(*matrix))
    form = times(times(columns, gram), columns)
    signs = None if shift is None else (double(shift, c + 1), eighths(more, c))
    holds = costs_hold(form, unit * scale**2, line[0], step, r, total, power(privacy["epsilon"], 1)[1], signs)
    need(holds, "a column of the cone costs more than the multipliers allow: they prove no bound", ClaimError)
    trace = sum(sum(map(int.__mul__, *pair)) for pair in zip(matrix, gram))
    proved = 2 * trace * scale * unit - sum(line[0]) * step - spread
    need(value - Fraction(achieved) <= value / 2**100, f"achieved: {float(value):.17g} was proved", ClaimError)
    need(Fraction(bound) - max(proved, 0) <= value / 2**100, f"bound: {float(proved):.17g} was proved", ClaimError)
    return f"{objective} variance {float(value):.15g}", proved, value - proved


def variance(gram, unit, r, rows, inverse, objective):
    """Variance of an unbiased estimator near ``W X``: ``X`` is made an exact left inverse of the channel, (6)."""
    c = len(r)
    x, scale = short(double(inverse, c, len(rows[0])))
    off = [
        [Fraction(entry, UNIT) * scale - (i == j) for j, entry in enumerate(row)]
        for i, row in enumerate(times(x, rows))
    ]
    size = root(sum(entry * entry for row in off for entry in row))
    need(size < 1, "the left inverse is none", ClaimError)
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
