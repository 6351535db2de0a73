"""Numbers of the running example in docs/theory, three answers at epsilon = log 3, compared with
the text.

Statements that no other test tries by brute force are tried here, too.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from builders import cases
from ldpopt import GraphDP, OneSided, Problem, PureLDP, Workload, certify, design, mean, solve
from ldpopt.certificate.program_bound import Multipliers, PairRows, bound
from ldpopt.privacy.cones.rays import ZERO, rays_of
from ldpopt.solving.interior.central_path import CentralPath

THEORY = Path(__file__).parents[2] / "docs" / "theory"
EPSILON = "log(3)"
THIRD = Fraction(1, 3)


@cache
def page(name: str) -> str:
    """Text of a page on one line, with fractions as a/b."""
    text = " ".join((THEORY / f"{name}.md").read_text(encoding="utf-8").split())
    return re.sub(
        r"\\t?frac(?:(\d)(\d)|\{(\d+)\}\{(\d+)\}|(\d)\{(\d+)\}|\{(\d+)\}(\d))", _written, text
    )


def _written(found: re.Match[str]) -> str:
    """A fraction of LaTeX as a/b."""
    return "/".join(number for number in found.groups() if number)


def rational(value: float) -> Fraction:
    """The fraction with a small denominator that a number of the library is."""
    found = Fraction(float(value)).limit_denominator(500)
    assert float(found) == pytest.approx(float(value), abs=1e-6)
    return found


def shows(name: str, text: str, *values: object) -> None:
    """A page has this text, with a number (a fraction, or words) in the place of each @."""
    parts = text.split("@")
    assert len(parts) == len(values) + 1
    written = parts[0] + "".join(
        f"{value}{rest}" for value, rest in zip(values, parts[1:], strict=True)
    )
    assert written in page(name), written


def centered(matrix: np.ndarray) -> np.ndarray:
    """``I - 1 1^T / n`` of the size of a matrix."""
    return np.eye(len(matrix)) - 1 / len(matrix)


def test_estimation() -> None:
    found = design(Workload.frequencies(3), PureLDP(EPSILON))
    channel = found.mechanism.channel
    true = rational(channel[0, 0])
    other = rational(channel[0, 1])
    assert channel == pytest.approx(np.where(np.eye(3, dtype=bool), float(true), float(other)))
    shows(
        "estimation",
        r"$P(x, x) = @$ and $P(x, y) = @$. Here $q_y = @$",
        true,
        other,
        rational(channel.mean(axis=0)[0]),
    )
    q = channel.mean(axis=0)
    g = channel / q - 1
    shows(
        "estimation", r"$g_y$ is $@$ at $y$ and $@$ elsewhere", rational(g[0, 0]), rational(g[0, 1])
    )
    information = (g * q) @ g.T
    scale = rational(information[0, 0] / centered(g)[0, 0])
    assert information == pytest.approx(float(scale) * centered(g))
    value = rational(found.average_variance)
    spread = rational(np.trace(centered(g)) / 3)
    shows(
        "estimation",
        r"M = @\, \Pi, \qquad M^{+} = @\, \Pi, \qquad F = 2 \cdot @ - @ = @ .",
        *(scale, 1 / scale, 1 / scale, spread, value),
    )
    estimator = 1 / 3 + g[:, 0] / float(scale)
    shows(
        "estimation",
        r"$V_y(x) = 1/3 + @ g_y(x)$: @ for the reported answer and $@$ for",
        1 / scale,
        *map(rational, estimator[:2]),
    )

    slope = THIRD * 2 / scale
    shows("estimation", r"$K = @ \Pi$ and $\eta = @ \mathbf 1$", 1 / scale, slope)
    left = []
    right = []
    for size in range(4):
        v = [Fraction(1) if x < size else THIRD for x in range(3)]
        square = sum(entry**2 for entry in v) - sum(v) ** 2 / 3
        left.append(square / scale**2)
        right.append(slope * sum(v) * sum(v) / 3)
    assert all(a <= b for a, b in zip(left, right, strict=True))
    shows("estimation", "| $v^T N v$ | @ | @ | @ | @ |", *left)
    shows("estimation", r"| $(\eta \cdot v)(r \cdot v)$ | @ | @ | @ | @ |", *right)
    trace = 2 / scale
    assert 2 * trace - 3 * slope - spread == value
    assert float(found.certificate.bound) == pytest.approx(float(value), abs=1e-9)
    shows("estimation", r"$2 \cdot @ - @ - @ = @$", trace, 3 * slope, spread, value)
    energy = [4 * Fraction(k * (3 - k), 27) / (THIRD + Fraction(2 * k, 9)) ** 2 for k in (1, 2)]
    shows("estimation", r"$\tau(1) = @$ and $\tau(2) = @$", *energy)
    assert 4 / max(energy) - Fraction(2, 3) == value
    worst = design(Workload.frequencies(3), PureLDP(EPSILON), objective="worst_case")
    shows("estimation", "worst case of the example is the average, @,", rational(worst.value))


def multipliers(
    form: str, *, rows: list[float] | None = None, sums: list[float] | None = None
) -> Multipliers:
    """Multipliers of the rows for the two true reports, or of the row sums."""
    count = len(rows or [])
    index = np.arange(count)
    pairs = PairRows(index, index[::-1].copy(), index, index, np.array(rows or [], float))
    return Multipliers(form, None if sums is None else np.array(sums, float), None, pairs, ())  # type: ignore[arg-type]


def test_certificates() -> None:
    prior = [Fraction(2, 5), Fraction(3, 5)]
    problem = Problem(prior, "identity", PureLDP(EPSILON))
    certificate = certify(solve(problem))
    assert certificate.achieved == pytest.approx(0.75)

    for weights in ([Fraction(21, 40), Fraction(9, 40)], [Fraction(1, 2), Fraction(1, 4)]):
        costs = [
            [prior[x] - THIRD * weights[x] if x == y else weights[y] for y in range(2)]
            for x in range(2)
        ]
        total = sum(max(row) for row in costs)
        assert float(
            bound(problem, multipliers("pairwise", rows=[float(w) for w in weights]))
        ) == pytest.approx(float(total))
        if weights[0] == Fraction(1, 2):
            shows(
                "certificates",
                "the first row of $c'$ is $(@, @)$ and the second $(@, @)$: the bound is $@ + @ "
                "= @$",
                *costs[0],
                *costs[1],
                max(costs[0]),
                max(costs[1]),
                total,
            )
        else:
            shows(
                "certificates",
                r"\begin{pmatrix} @ & @ \\ @ & @ \end{pmatrix},",
                *costs[0],
                *costs[1],
            )
            shows(
                "certificates",
                "the bound is $@ + @ = @$. Randomized response, $P(x, x) = @$",
                costs[0][0],
                costs[1][1],
                total,
                rational(certificate.achieved),
            )
    sums = [Fraction(9, 40), Fraction(21, 40)]
    shows("certificates", r"with $\eta = (@, @)$", *sums)
    compact = bound(problem, multipliers("compact", sums=[float(w) for w in sums]))
    shows("certificates", r"both pricings are 0, and the bound is again $@$", rational(compact))
    three = Problem([1 / 3] * 3, "identity", PureLDP(EPSILON))
    bounded = bound(three, multipliers("compact", sums=[0.2] * 3))
    shows(
        "certificates",
        "for every output and the bound $@$, the value of randomized response",
        rational(bounded),
    )
    assert solve(three).value == pytest.approx(float(bounded))


def prices(costs: np.ndarray, columns: np.ndarray) -> list[Fraction]:
    """Least cost of a column whose entry at the root is 1, for the output of each row of costs: the
    best ray."""
    return [
        rational(min(row @ ray / ray[root] for ray in columns)) for root, row in enumerate(costs)
    ]


def test_rays() -> None:
    path = GraphDP(EPSILON, nx.path_graph(3))
    answer = solve(Problem([1 / 3] * 3, "identity", path))
    columns = answer.mechanism.channel.T
    written = [f"({', '.join(map(str, map(rational, column)))})" for column in columns]
    shows("rays", "channel with the columns $@$, $@$, $@$ is private", *written)
    shows("rays", "tells the truth with probability $@$", rational(answer.value))
    rays = 3.0 ** -rays_of(path, range(3)).below
    assert len(rays) == 4
    assert len(rays_of(GraphDP(EPSILON, nx.complete_graph(3)), range(3)).below) == 6
    for entries in ("1/4, 1/6, 1/4", "1/5, 1/5, 1/5"):
        eta = -np.array([float(Fraction(entry)) for entry in entries.split(", ")])
        assert f"$\\eta = -({entries})$" in page("rays")
        found = prices(-np.eye(3) / 3 - eta, rays)
        total = rational(eta.sum()) + sum(min(price, Fraction(0)) for price in found)
        if any(found):
            shows("rays", "the prices are $@, @, @$, and the bound is $@$", *found, total)
        else:
            shows("rays", r"The bound is $\sum_x \eta_x = @$", total)
            assert total == -rational(answer.value)
    trees = [
        ((1, 0, "above"), (2, 1, "below")),
        ((0, 1, "below"), (2, 1, "below")),
        ((1, 2, "above"), (0, 1, "below")),
    ]
    shows("rays", "the bound is $@$: poorer than $@$", rational(proved(trees, eta)), total)


def kept_costs(costs: np.ndarray, tree: tuple[tuple[int, int, str], ...]) -> np.ndarray:
    """What each node keeps by theorem 4 at ratio 3, from the edges (node, parent, kind of tie) of a
    tree."""
    left = costs.copy()
    rest = {node: (parent, kind) for node, parent, kind in tree}
    while rest:
        leaf = next(node for node in rest if node not in {parent for parent, _ in rest.values()})
        parent, kind = rest.pop(leaf)
        if (kind == "below" and left[leaf] >= 0) or (kind == "above" and left[leaf] <= 0):
            left[parent] += left[leaf] * (1 / 3 if left[leaf] >= 0 else 3)
            left[leaf] = 0
    return left


def proved(trees: list[tuple[tuple[int, int, str], ...]], eta: np.ndarray) -> float:
    """Bound of theorem 4 for the identity under equal priors, from one tree for each output."""
    kept = [kept_costs(-np.eye(3)[j] / 3 - eta, tree) for j, tree in enumerate(trees)]
    return float((eta + np.minimum(0, np.min(kept, axis=0))).sum())


def rooted_trees(root: int) -> list[tuple[tuple[int, int, str], ...]]:
    """All trees on three answers with this root, and all kinds of ties."""
    a, c = (x for x in range(3) if x != root)
    shapes = [((a, root), (c, root)), ((a, root), (c, a)), ((c, root), (a, c))]
    return [
        tuple((*edge, kind) for edge, kind in zip(shape, kinds, strict=True))
        for shape in shapes
        for kinds in product(("below", "above"), repeat=2)
    ]


@cases(30)
@given(st.lists(st.floats(-0.5, 0.2), min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_any_tree_proves_a_bound_and_the_best_trees_prove_the_prices(eta, random) -> None:
    """Complete graph on three answers, whose optimum is that of randomized response."""
    values = np.array(eta)
    every = [rooted_trees(root) for root in range(3)]
    for _ in range(5):
        assert proved([random.choice(trees) for trees in every], values) <= -3 / 5 + 1e-9
    sets = [kept for size in (1, 2) for kept in combinations(range(3), size)]
    columns = np.array([np.where(np.isin(range(3), kept), 1.0, 1 / 3) for kept in sets])
    for j, costs in enumerate(-np.eye(3) / 3 - values):
        price = min(costs @ ray / ray[j] for ray in columns)
        kept = [kept_costs(costs, tree) for tree in every[j]]
        assert all(one[j] <= price + 1e-12 for one in kept if (np.delete(one, j) >= 0).all())
        assert any(
            one[j] == pytest.approx(price, abs=1e-12) and (np.delete(one, j) >= -1e-12).all()
            for one in kept
        )


def test_blocks() -> None:
    problem = Problem([1 / 3] * 3, "identity", GraphDP(EPSILON, nx.path_graph(3)))
    ties = problem.ties()
    assert ties is not None
    first, second = ties.pairs()
    assert len(first) == 4
    rows = [
        [Fraction(int(x == k)) - THIRD * int(x == i) for x in range(3)]
        for i, k in zip(first, second, strict=True)
    ]
    slacks = {sum(row) * THIRD for row in rows}
    assert len(slacks) == 1
    shows("blocks", r"all four slacks are $@$", *slacks)
    form = [[sum(row[u] * row[v] for row in rows) for v in range(3)] for u in range(3)]
    shows(
        "blocks",
        r"\begin{pmatrix} @ & @ & @ \\ @ & @ & @ \\ @ & @ & @ \end{pmatrix}",
        *(entry for row in form for entry in row),
    )
    shows("blocks", r"H \mathbf 1 = (@,\ @,\ @)", *map(sum, form))
    assert np.linalg.eigvalsh(np.array(form, float)).min() > 0
    # Row sums of diag(p) H diag(p) with weights lambda / t, for any multipliers and entries.
    rng = np.random.default_rng(1)
    b = np.array(rows, float)
    p = rng.uniform(1, 1.5, 3)
    lam = rng.random(4)
    scaled = np.diag(p) @ (b.T * (lam / (b @ p))) @ b @ np.diag(p)
    assert scaled.sum(axis=1) == pytest.approx(p * (b.T @ lam))
    assert scaled.sum() == pytest.approx(lam @ b @ p)


def test_interior() -> None:
    path = CentralPath(np.eye(3) / 3, 1 / 3, 2 / 3, 0.0)
    m, s, t = (rational(part.flat[0]) for part in (path.at.m, path.at.s, path.at.t))
    floor = THIRD * m
    cap = m
    shows(
        "interior",
        r"$M_j = @$ for each output: floors $b M_j = @$, caps $@$, and uniform reports with "
        r"$s_{xj} = @$ and "
        r"$t_{xj} = @$",
        m,
        floor,
        cap,
        s,
        t,
    )
    assert 2 / (1 / floor + 1 / cap) == THIRD == s + floor
    rng = np.random.default_rng(2)
    for difference, width, mu in zip(
        rng.normal(size=50), rng.random(50), 10.0 ** rng.uniform(-8, 1, 50), strict=True
    ):
        size = abs(difference)
        root = np.sqrt(width**2 * size**2 + 4 * mu**2)
        low = (mu + 2 * mu**2 / (root + width * size)) / width
        w, z = (low + size, low) if difference > 0 else (low, low + size)
        s_ = width * z / (w + z)
        t_ = width * w / (w + z)
        assert (s_ * w, t_ * z, s_ + t_, w - z) == pytest.approx(
            (mu, mu, width, difference), rel=1e-6
        )


def test_mean() -> None:
    answers = np.array([-1.0, 0.0, 1.0])
    duchi = mean.Duchi(EPSILON).variance(answers)
    bit = mean.RandomCensoring(EPSILON).variance((answers + 1) / 2)
    shows(
        "mean",
        r"its variances are @, @, @; the symmetric bit has $@$, @, $@$ on",
        *map(rational, duchi),
        *map(rational, bit),
    )
    piecewise = mean.Piecewise(EPSILON).variance(answers)
    hybrid = mean.Hybrid(EPSILON).variance(answers)
    shows(
        "mean",
        "`Piecewise` has @, @, @, and `Hybrid` @ for all",
        *(f"{value:.4f}" for value in piecewise),
        f"{hybrid.max():.4f}",
    )
    average = design(Workload.mean([-1, 0, 1]), PureLDP(EPSILON))
    sets = sorted({tuple(np.flatnonzero(column > 0.3)) for column in average.mechanism.channel.T})
    assert sets == [(0,), (0, 1), (1, 2), (2,)]
    high = rational(average.mechanism.channel.max())
    low = rational(average.mechanism.channel.min())
    shows(
        "mean", "with probability $@$ by the answers that it names and $@$ by the others", high, low
    )
    shows("mean", "Its average variance is $@$", rational(average.value))
    worst = design(Workload.mean([-1, 0, 1]), PureLDP(EPSILON), objective="worst_case")
    shows("mean", "every answer has the variance $@$", rational(worst.value))
    channel = np.where([[x in kept for kept in sets] for x in range(3)], float(high), float(low))
    for counts, text in (
        ((Fraction(7, 3), Fraction(5, 3)), r"counts $-@$, $-@$, $@$, $@$"),
        ((Fraction(5, 2), Fraction(3, 2)), r"$\mp @$ and $\mp @$"),
    ):
        values = np.array([-counts[0], -counts[1], counts[1], counts[0]], float)
        assert channel @ values == pytest.approx(answers)
        variance = channel @ values**2 - answers**2
        if text.startswith("counts"):
            assert variance.mean() == pytest.approx(average.value)
            shows("mean", text, *counts, *counts[::-1])
        else:
            assert variance == pytest.approx(np.full(3, worst.value), abs=1e-6)
            shows("mean", text, *counts)
    exposed = mean.rcp_opt(EPSILON).audit()
    shows("mean", r"and $@$ in the example", rational(exposed.delta_at(1.0)))


@cases(100)
@given(st.floats(0.05, 4), st.floats(0, 1), st.floats(0, 1))
def test_every_private_bit_is_a_processed_symmetric_one(epsilon, first, second) -> None:
    ratio = np.exp(epsilon)
    # Any private pair of probabilities of report 1, low <= high.
    low = first
    high = low + second * (min(ratio * low, 1 - (1 - low) / ratio) - low)
    symmetric = np.array([[ratio, 1.0], [1.0, ratio]]) / (ratio + 1)
    gain = (high - low) / (ratio - 1)
    u = low - gain
    v = high + gain
    assert -1e-9 <= u <= v + 1e-9 <= 1 + 2e-9
    assert symmetric @ np.array([u, v]) == pytest.approx([low, high], abs=1e-9)


@cases(30)
@given(st.integers(2, 5), st.integers(0, 10**6))
def test_rays_of_one_sided_privacy_generate_the_cone_and_none_is_superfluous(n, seed) -> None:
    rng = np.random.default_rng(seed)
    sensitive = sorted(rng.choice(n, rng.integers(1, n), replace=False).tolist())
    below = rays_of(OneSided(EPSILON, sensitive), range(n)).below
    rays = np.where(below == ZERO, 0.0, 3.0**-below)
    column = rng.exponential(size=n) * (rng.random(n) < 0.8)
    top = rng.exponential()
    column[sensitive] = top * rng.uniform(1 / 3, 1, len(sensitive))
    column = np.maximum(column, column[sensitive].max() / 3)
    assert nnls(rays.T, column)[1] == pytest.approx(0, abs=1e-8)
    for k in range(len(rays)):
        assert nnls(np.delete(rays, k, axis=0).T, rays[k])[1] > 1e-3
