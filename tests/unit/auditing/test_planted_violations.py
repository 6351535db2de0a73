"""Mistakes that people have made, each beside its honest twin: the audit flags all of the ones and
none of the others.

The last test lets solved mechanisms (a thousand in the thorough run) pass a third witness: the
definition in Fractions, written here.
"""

from __future__ import annotations

import copy
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest

from builders import distances, star, thorough_or
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    Mechanism,
    MetricDP,
    Problem,
    PureLDP,
    Utility,
    audit,
    solve,
)
from ldpopt.mechanism.sampling import AliasTable

E = Fraction(3)
PURE = PureLDP("log(3)")
LINE = GraphDP("log(3)", nx.path_graph(5))


def exact(rows):
    """Rows of Fractions, each divided by its sum."""
    table = [[Fraction(v) for v in row] for row in rows]
    return np.array([[v / sum(row) for v in row] for row in table], dtype=object)


def truth(n, ratio=E):
    """Randomized response: ``ratio`` for the truth, 1 for the others."""
    return exact([[ratio if x == y else 1 for y in range(n)] for x in range(n)])


def off_by_one_delta():
    # Noise on -k .. k, uniform: neighbors differ by one mass at each end. A window counted without
    # its middle has 2 k.
    k = 4
    rows = exact([[1 if 0 <= y - x <= 2 * k else 0 for y in range(2 * k + 2)] for x in range(2)])
    return (
        rows,
        ApproximateLDP(0.0, np.nextafter(1 / (2 * k + 1), 1)),
        rows,
        ApproximateLDP(0.0, 1 / (2 * k + 2)),
    )


def swapped_rows():
    good = clamped(5)
    return good, LINE, good[[2, 1, 0, 3, 4]], LINE


def clamped(n):
    """Two-sided geometric noise with ratio 1/3, clamped to 0 .. n - 1: the ends take the tails."""
    tail = [
        [E ** -abs(x - y) * (E / (E - 1) if y in (0, n - 1) else 1) for y in range(n)]
        for x in range(n)
    ]
    return exact(tail)


def dust_beside_zeros():
    rows = truth(3)
    good = np.concatenate([rows, np.full((3, 1), Fraction(0))], axis=1)
    bad = good.copy()
    bad[0, 3], bad[0, 1] = Fraction(1, 10**12), bad[0, 1] - Fraction(1, 10**12)
    return good, PURE, bad, PURE


def censoring(delta1, delta2):
    """Liu and Zhou's interval: c = (1 + delta2) / (E + 1), c + d = (E + delta1) / (E + 1)."""
    low = (1 + delta2) / (E + 1)
    high = (E + delta1) / (E + 1)
    return np.array([[1 - low, low], [1 - high, high]], dtype=object)


def asymmetric_censoring():
    return (
        censoring(Fraction(0), Fraction(0)),
        PURE,
        censoring(Fraction(1, 2), Fraction(1, 3)),
        PURE,
    )


def optimized_censoring():
    return censoring(Fraction(0), Fraction(0)), PURE, censoring(Fraction(1), 1 / E), PURE


def unary(n, p, q):
    """Every bit of a one-hot vector on its own: 1 with probability p at the answer, q elsewhere."""
    words = list(product((0, 1), repeat=n))
    keep = [[p if x == bit else q for bit in range(n)] for x in range(n)]
    rows = [
        [math.prod((k if b else 1 - k) for k, b in zip(row, word, strict=True)) for word in words]
        for row in keep
    ]
    return np.array(rows, dtype=object)


def unary_with_all_of_epsilon_on_each_bit():
    # Two bits differ between answers, so each may have half: sqrt(9) = 3 at epsilon = log(9).
    nine = PureLDP("log(9)")
    bad = unary(3, Fraction(9, 10), Fraction(1, 10))
    return unary(3, Fraction(3, 4), Fraction(1, 4)), nine, bad, nine


def optimized_unary_with_one_for_two():
    # p = 1/2, q = 1/(E + 1) is private; q = 1/(E + 2) is not.
    half = Fraction(1, 2)
    return unary(3, half, 1 / (E + 1)), PURE, unary(3, half, 1 / (E + 2)), PURE


def one_unit_of_mass():
    good = np.array([[3 << 51, 1 << 51], [1 << 51, 3 << 51]])
    bad = good + np.array([[1, -1], [0, 0]])
    return good / 2.0**53, PURE, bad / 2.0**53, PURE


def one_ulp():
    # The last float p for which p / (1 - p) keeps e, read exactly, and the next one.
    p = 1 / (1 + math.exp(-1))
    odds = [
        at
        for at in (np.nextafter(p, 0), p, np.nextafter(p, 1))
        if (Fraction(at) / (1 - Fraction(at))) < E_LOW
    ]
    last = max(odds)
    coins = [
        np.array([[v, 1 - v], [1 - v, v]], dtype=object)
        for v in map(Fraction, (last, np.nextafter(last, 1)))
    ]
    return coins[0], PureLDP(1.0), coins[1], PureLDP(1.0)


E_LOW = Fraction("2.71828182845904523536028747135266249775724709369995957496696")
"""e, rounded down at the 59th decimal."""


def path_for_a_cycle():
    rows = clamped(5)
    return rows, LINE, rows, GraphDP("log(3)", nx.cycle_graph(5))


def entry_for_event():
    # Six reports of 1/10 that only one answer gives: each is within delta, together they are not.
    rows = np.array(
        [[Fraction(1, 10)] * 6 + [Fraction(4, 10)], [Fraction(0)] * 6 + [Fraction(1)]], dtype=object
    )
    tenth = np.nextafter(0.1, 1)
    return (
        rows,
        ApproximateLDP("log(3)", tenth, "entry"),
        rows,
        ApproximateLDP("log(3)", tenth, "event"),
    )


def normalizer_of_each_row():
    # A star: E ** -distance to the report, divided by each row's own sum, costs up to twice
    # epsilon.
    star = nx.star_graph(5)
    hops = dict(nx.all_pairs_shortest_path_length(star))
    rows = exact([[E ** -hops[x][y] for y in range(6)] for x in range(6)])
    return rows, GraphDP("log(9)", star), rows, GraphDP("log(3)", star)


def cut_without_clamping():
    return clamped(5), LINE, exact([[E ** -abs(x - y) for y in range(5)] for x in range(5)]), LINE


def staircase(period, sensitivity=3, reach=12):
    """Levels that fall by E after each period, on a window of a cycle so long that all rows look
    alike."""
    n = 2 * reach
    noise = [E ** -(min(r, n - r) // period) for r in range(n)]
    return exact([[noise[(y - x) % n] for y in range(n)] for x in range(sensitivity + 1)])


def staircase_with_a_wrong_period():
    return staircase(3), PURE, staircase(2), PURE


def table_off_by_one(part):
    """An alias table whose aliases or thresholds are one off, as what it would draw."""

    def build():
        masses = np.where(np.eye(3, dtype=bool), 96, 80).astype(np.int64)
        table = AliasTable(masses, bits=8)
        broken = copy.copy(table)
        if part == "alias":
            broken.alias = np.where(
                table.threshold < 1 << table.low_bits, (table.alias + 1) % 3, table.alias
            )
        else:
            broken.threshold = np.minimum(
                table.threshold + (table.threshold > 0), 1 << table.low_bits
            )
        claim = PureLDP("log(6/5)")
        return table.realized() / 256, claim, broken.realized() / 256, claim

    return build


def twice_the_same_budget():
    once = truth(2)
    twice = np.array([[a * b for a in row for b in row] for row in once], dtype=object)
    return once, PURE, twice, PURE


def printed_with_two_decimals():
    rows = truth(5)
    bad = np.array([[round(v, 2) for v in row] for row in rows], dtype=object)
    bad[np.arange(5), np.arange(5)] += 1 - bad.sum(axis=1)
    return rows, PURE, bad, PURE


def far_apart_as_near():
    points = np.array([0.0, 1.0, 3.0])
    distance = distances(points)
    rows = clamped(4)[[0, 1, 3]]
    return rows, MetricDP("log(3)", distance), rows, MetricDP("log(3)", np.minimum(distance, 2.0))


PLANTED = {
    "off-by-one delta": off_by_one_delta,
    "swapped rows": swapped_rows,
    "dust beside zeros": dust_beside_zeros,
    "asymmetric censoring": asymmetric_censoring,
    "RCP_Opt": optimized_censoring,
    "unary, epsilon on each bit": unary_with_all_of_epsilon_on_each_bit,
    "optimized unary, wrong q": optimized_unary_with_one_for_two,
    "one unit of mass": one_unit_of_mass,
    "one ulp above e": one_ulp,
    "a path's noise on a cycle": path_for_a_cycle,
    "entry-wise for event-wise": entry_for_event,
    "a normalizer for each row": normalizer_of_each_row,
    "cut instead of clamped": cut_without_clamping,
    "staircase, wrong period": staircase_with_a_wrong_period,
    "alias off by one": table_off_by_one("alias"),
    "threshold off by one": table_off_by_one("threshold"),
    "two reports for the price of one": twice_the_same_budget,
    "printed with two decimals": printed_with_two_decimals,
    "distances cut short": far_apart_as_near,
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_violations_are_found_and_correct_twins_are_not(name):
    good, claim, bad, wrong = PLANTED[name]()
    assert audit(good, claim).verdict == "certified"
    found = audit(bad, wrong)
    assert found.verdict == "violated"
    assert found.witness is not None
    assert (found.epsilon > float(wrong.epsilon)) or (found.delta > getattr(wrong, "delta", 0.0))
    assert is_private(good, claim)
    assert not is_private(bad, wrong)


def power(budget, distance=1.0):
    """``exp(epsilon d)`` to 60 digits, a little less."""
    with localcontext() as context:
        context.prec = 70
        if budget.ratio is not None:
            if distance == int(distance):
                return budget.ratio ** int(distance)
            log = (Decimal(budget.ratio.numerator) / Decimal(budget.ratio.denominator)).ln()
        else:
            log = Decimal(budget.nats.numerator) / Decimal(budget.nats.denominator)
        return max(
            Fraction(1), Fraction((log * Decimal(float(distance))).exp() * (1 - Decimal(10) ** -60))
        )


def is_private(channel, notion):
    """The definitions, number by number; shares nothing with the library but the statement."""
    rows = (
        channel.masses.tolist()
        if isinstance(channel, Mechanism)
        else [[Fraction(v) for v in row] for row in channel]
    )
    unit = 1 << 53 if isinstance(channel, Mechanism) else 1
    assert all(sum(row) == unit and min(row) >= 0 for row in rows)
    alike = power(notion.epsilon)
    delta = Fraction(getattr(notion, "delta", 0.0)) * unit
    for (x, first), (k, second) in product(enumerate(rows), repeat=2):
        if x == k or (isinstance(notion, GraphDP) and not notion.graph.has_edge(x, k)):
            continue
        ratio = (
            power(notion.epsilon, notion.distance[x, k]) if isinstance(notion, MetricDP) else alike
        )
        excess = [max(p - ratio * q, 0) for p, q in zip(first, second, strict=True)]
        if (max(excess) if getattr(notion, "form", "event") == "entry" else sum(excess)) > delta:
            return False
    return True


def random_notion(rng, n):
    epsilon = [float(np.exp(rng.uniform(-7, 3.5))), "log(3)", "log(7/2)", 1.0, 0.0, 40.0][
        rng.integers(6)
    ]
    delta = float(rng.choice([0.0, 1e-9, 0.01, 0.3, rng.random()]))
    kind = int(rng.integers(5))
    if kind == 0:
        return PureLDP(epsilon)
    if kind in (1, 2):
        return ApproximateLDP(epsilon, delta, ("event", "entry")[kind - 1])
    if kind == 3:
        return GraphDP(epsilon, nx.path_graph(n) if rng.random() < 0.5 else star(n))
    points = np.cumsum(rng.choice([0.25, 1.0, 1.7], n))
    return MetricDP(epsilon, distances(points))


def nudged(rng, mechanism):
    """The same mechanism with a few units of mass moved between two reports of one answer."""
    counts = mechanism.counts.copy()
    x = rng.integers(len(counts))
    y, other = rng.permutation(counts.shape[1])[:2]
    moved = min(int(counts[x, y]), int(rng.integers(1, 4)))
    counts[x, y], counts[x, other] = counts[x, y] - moved, counts[x, other] + moved
    return Mechanism(counts / 2.0**53)


def test_no_certified_mechanism_is_a_violation():
    rng = np.random.default_rng(11)
    for _ in range(thorough_or(25, 500)):
        n, m = rng.integers(2, 6, 2)
        utility = Utility(
            rng.random((n, m)).round(int(rng.integers(1, 9))),
            ("gain", "loss")[int(rng.integers(2))],
        )
        notion = random_notion(rng, n)
        if rng.random() < 0.25:
            problem = Problem(None, utility, notion, objective="worst_case")
        else:
            problem = Problem(rng.dirichlet(np.full(n, 0.7)), utility, notion)
        mechanism = solve(problem).mechanism
        assert mechanism.audit(notion).verdict == "certified"
        assert is_private(mechanism, notion), notion
        other = nudged(rng, mechanism)
        assert (other.audit(notion).verdict == "certified") == is_private(other, notion), notion
