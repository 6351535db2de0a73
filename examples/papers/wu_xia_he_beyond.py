"""What Wu, Xia and He state in words or for R^n, and what they leave open, computed.

    python examples/papers/wu_xia_he_beyond.py [FOLDER] [--fine]

| picture or table | here |
|---|---|
| sensitivities.csv | local and global l_1, l_2, l_inf sensitivity of a linear query (def. 1) |
| pareto.png | (1) and (2): Pareto front of small and large counts, by linear programs |
| ball.png | (9) in the plane: mean error over the radius of a ball, and the best radius |
| bound.png | how far the partition is from the best noise: a bound by linear program |
| nonlinear.png | median, mode, maximum, distinct kinds of 70 tables: layers, and the optimum |

In the plane the neighbor set is [0, 2]^2 u ([20, 22] x [0, 2]): two totals, of which one person
adds little to both, or much to the first. The radius of the ball is the widening, which the paper
calls delta.
"""

import argparse
import itertools
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from shared import BLUE, GRAY, GREEN, RED, Record, save, write_csv

from ldpopt import GraphDP, Problem, layers, neighbors, noise, pareto_front, plot, solve
from ldpopt.errors import StatementError
from ldpopt.noise.layers import optimal_levels

NORMS = {1: "l_1", 2: "l_2", math.inf: "l_inf"}
BUDGETS = (0.5, 1.0, 2.0, 3.0, 5.0)


def sensitivities(folder, record):
    """W1, W2: a linear query on tables of at most 3 people of 4 kinds."""
    tables = neighbors.histograms(4, 3)
    weights = np.array([[0, 1, 20, 21], [1, 0, 2, 1]])
    rows = []
    for name, norm in (("l_1", 1), ("l_2", 2), ("l_inf", "inf")):
        everywhere = noise.sensitivity(lambda table: weights @ table, tables, norm=norm)
        columns = float(np.linalg.norm(weights, {"inf": np.inf}.get(norm, norm), axis=0).max())
        local = [
            noise.sensitivity(
                lambda table: weights @ table, nx.Graph([(x, y) for y in tables[x]]), norm=norm
            )
            for x in tables.nodes
        ]
        rows.append((name, everywhere, columns, min(local), max(local)))
        same = everywhere == columns == max(local)
        text = f"{name}: {everywhere:.6g}, local {min(local):.6g} to {max(local):.6g}"
        record.claim(
            "W2", "global sensitivity is the longest column", same, text, where="sensitivities.csv"
        )
    header = ("norm", "global", "longest column", "least local", "greatest local")
    write_csv(folder / "sensitivities.csv", header, rows)
    full = all(row[3] == row[4] for row in rows)
    record.claim(
        "W2",
        "local sensitivity is the same everywhere",
        full,
        "a full table can only lose somebody whom it has",
        where="sensitivities.csv",
        because="true without a limit on the number of people",
    )
    record.shown("W1", "f(x) = A x on histograms", where="sensitivities.csv")


def pareto(folder, record):
    """W3, W5: counts of 0 to 10 people as a path; objectives are the mean errors of small and of
    large counts."""
    graph = neighbors.path(range(11))
    problem = Problem(np.full(11, 1 / 11), "absolute_error", GraphDP(1.0, graph))
    front = pareto_front(problem, range(4))
    groups = [np.append(np.full(4, 1 / 4), np.zeros(7)), np.append(np.zeros(4), np.full(7, 1 / 7))]
    fair = Problem(None, problem.utility, problem.privacy, objective="worst_case")
    mechanisms = {
        "layers, weights by column": layers.bfs_mechanism(graph, 1.0, repair="columns").mechanism,
        "layers, smaller budget": layers.bfs_mechanism(graph, 1.0, repair="budget").mechanism,
        "min-max": solve(fair).mechanism,
    }
    points = {
        name: [one.expected(group, problem.utility) for group in groups]
        for name, one in mechanisms.items()
    }
    rows = [("front", *values) for values in front.values] + [
        (name, *values) for name, values in points.items()
    ]
    write_csv(
        folder / "pareto.csv",
        ("mechanism", "mean error, counts 0 to 3", "mean error, counts 4 to 10"),
        rows,
    )
    ax = plot(front)
    for (name, (across, up)), look in zip(points.items(), ("s", "D", "^"), strict=True):
        ax.plot(across, up, look, color=RED, markersize=6, label=name)
    ax.set(
        xlabel="mean error of the counts 0 to 3",
        ylabel="mean error of the counts 4 to 10",
        xlim=(0.4, 1.5),
        ylim=(0.5, 2),
    )
    ax.legend(fontsize=8)
    save(ax.figure, folder / "pareto.png")
    excess = {
        name: float(np.interp(across, *front.values.T) * -1 + up)
        for name, (across, up) in points.items()
    }
    text = f"{len(front.values)} corners; above the front: " + ", ".join(
        f"{k} {v:.4f}" for k, v in excess.items()
    )
    assert front.is_complete
    assert excess["layers, weights by column"] < 1e-6
    record.shown("W3", "front of two groups of counts, epsilon 1", where="pareto.png", ours=text)
    mode = min(
        float((m.channel.diagonal() - m.channel.max(axis=1)).min()) for m in front.mechanisms
    )
    because = "an assumption: where weights are unequal, optima break it"
    text = f"on the front some truth has a probability {-mode:.3f} below that of another report"
    record.claim(
        "W5",
        "Pareto optima have their mode at the answer",
        mode >= 0,
        text,
        where="pareto.png",
        because=because,
    )


def ball_loss(reach, radius, epsilon):
    """Mean norm for noise by the norm alone: level t in the ball of radius ``radius + t reach`` of
    the plane."""
    t = np.arange(400)
    ends = radius + t * reach
    area = np.diff(ends**2, prepend=0.0)
    first = np.diff(2 / 3 * ends**3, prepend=0.0)
    weight = np.exp(-epsilon * t)
    return float((weight * first).sum() / (weight * area).sum())


def ball(folder, record, fine):
    """W10: the l_p ball in R^2, on a grid; its best radius, and the same with the sensitivity
    alone."""
    epsilon = 2.0
    step = 0.5 if fine else 1.0
    low, high = (
        np.arange(round(a / step), round(b / step) + 1).tolist() for a, b in ((0, 2), (20, 22))
    )
    steps = [(x, y) for x in low + high for y in low]
    radii = np.arange(0.5, 12.1, 0.75 if fine else 1.5)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12.5, 4.4), layout="constrained", width_ratios=(1, 1.25)
    )
    rows = []
    for (norm, name), color, line in zip(
        NORMS.items(), (RED, BLUE, GREEN), ("--", "-", "-."), strict=True
    ):
        kinds = [layers.LatticeNoise(steps, epsilon, radius / step, norm) for radius in radii]
        losses = [step * kind.expected_norm(norm) for kind in kinds]
        reach = float(np.linalg.norm([22, 2], norm))
        alone = min(ball_loss(reach, radius, epsilon) for radius in np.linspace(0.5, reach, 200))
        best = int(np.argmin(losses))
        points = np.concatenate([kinds[best].words.layer(t) for t in range(5)])
        level = kinds[best].words.level(points)
        private = all(
            np.abs(kinds[best].words.level(points + v) - level).max() <= 1
            for v in kinds[best].words.columns
        )
        rows += [(name, radius, loss, alone) for radius, loss in zip(radii, losses, strict=True)]
        label = f"${name}$".replace("inf", r"\infty")
        label += f": best {losses[best]:.2f}, by sensitivity alone {alone:.1f}"
        left.plot(radii, losses, line, color=color, label=label)
        left.plot(radii[best], losses[best], "o", color=color)
        text = (
            f"{name}: radius {radii[best]:g}, mean error {losses[best]:.3f}; by sensitivity "
            f"alone {alone:.2f}"
        )
        record.claim(
            "W10",
            "the widened partition of the plane is private and beats the sensitivity",
            private and losses[best] < alone,
            text,
            where="ball.png",
        )
        if norm == 2:
            plot(kinds[best], right)
    left.set(
        title=r"Mean error by widening, two totals, $\varepsilon = 2$",
        xlabel=r"widening (the paper's $\delta$): radius of the innermost ball",
        ylabel="mean error, measured in the same norm",
    )
    left.legend(frameon=False, fontsize=8)
    right.set_title(f"layers at the best $l_2$ widening, in steps of {step:g}", fontsize=10)
    save(figure, folder / "ball.png")
    write_csv(folder / "ball.csv", ("norm", "widening", "mean error", "by sensitivity alone"), rows)


def lower_bound(blocks, epsilon, step, reach):
    r"""Least mean |noise| of any private additive noise, from below.

    A density is averaged over cells of `step`; steps of the neighbor set that are whole numbers of
    cells move cells onto cells, so their masses keep the ratio too. A cell counts with the least
    |r| in it, all beyond `reach` with `reach`, and only rows between cells within it are written:
    each of these lowers the value. The bound is the dual's: for multipliers >= 0 it is the least
    reduced cost, whatever the solver's tolerance.
    """
    last = round(reach / step)
    cells = np.arange(-last, last + 1)
    moves = [
        k
        for low, high in blocks
        for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        if k
    ]
    low = np.concatenate([np.arange(len(cells) - k) for k in moves])
    high = np.concatenate([np.arange(k, len(cells)) for k in moves])
    first = np.concatenate([low, high])
    second = np.concatenate([high, low])
    # The mirror image of a private noise is private, so their mean is: cells k and -k share a
    # variable.
    first, second = np.abs(cells[first]), np.abs(cells[second])
    pairs = np.unique(np.stack([first, second])[:, first != second], axis=1)
    rows = np.arange(pairs.shape[1])
    entries = np.concatenate([np.full(len(rows), math.exp(-epsilon)), np.full(len(rows), -1.0)])
    matrix = coo_array(
        (entries, (np.tile(rows, 2), pairs.ravel())), shape=(len(rows), last + 2)
    ).tocsr()
    share = np.append(1.0, np.full(last + 1, 2.0))
    cost = share * np.append(np.maximum(step * np.arange(last + 1) - step / 2, 0.0), reach)
    rows = {"A_ub": matrix, "b_ub": np.zeros(len(rows)), "A_eq": share[None, :], "b_eq": [1.0]}
    found = linprog(cost, **rows, method="highs-ipm")
    multipliers = np.maximum(-found.ineqlin.marginals, 0.0)
    return float(((cost + matrix.T @ multipliers) / share).min())


def bound(folder, record, fine):
    """W22: best partition, staircase and lower bound on V5."""
    blocks = [(0, 1), (100, 101)]
    rows = []
    for epsilon in BUDGETS:
        best = noise.optimal_widening(blocks, epsilon, supersets=True).noise(epsilon)
        stairs = noise.Staircase(101.0, epsilon).expected_abs
        reach = 101.0 * min(10, 3 + math.ceil(8 / epsilon))
        least = lower_bound(blocks, epsilon, 0.5 if fine else 1.0, reach)
        rows.append(
            (
                epsilon,
                least / stairs,
                best.rate,
                1.0,
                noise.Laplace(101.0, epsilon).expected_abs / stairs,
            )
        )
    header = ("epsilon", "lower bound", "partition, best widening", "staircase", "Laplace")
    write_csv(folder / "bound.csv", header, rows)
    table = np.array(rows)
    figure, ax = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
    for column, (color, look) in enumerate(
        ((GREEN, "^-"), (RED, "o-"), (BLUE, "s--"), ("black", "d:")), start=1
    ):
        ax.plot(table[:, 0], table[:, column], look, color=color, label=header[column])
    ax.set(
        title="Noise for $[0, 1] \\cup [100, 101]$",
        xlabel=r"$\varepsilon$ (nats)",
        ylabel="mean |noise| / that of the staircase",
        ylim=(0, 1.5),
    )
    ax.legend(frameon=False)
    save(figure, folder / "bound.png")
    assert (table[:, 1] <= table[:, 2] * (1 + 1e-9)).all()
    shares = ", ".join(f"{row[2] / row[1]:.3f} at {row[0]:g}" for row in rows)
    record.shown(
        "W22", "best partition over the lower bound of all noise", where="bound.png", ours=shares
    )


def nonlinear(folder, record):
    """W22: queries that are not linear, on tables of at most 4 people of 4 kinds."""
    tables = neighbors.histograms(4, 4)
    queries = {
        "median": lambda h: int(np.searchsorted(np.cumsum(h), (sum(h) + 1) // 2)) if any(h) else 0,
        "mode": lambda h: int(np.argmax(h)),
        "maximum": lambda h: max((k for k in range(4) if h[k]), default=0),
        "distinct kinds": lambda h: sum(count > 0 for count in h),
    }
    rows = []
    for name, query in queries.items():
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            found = layers.bfs_mechanism(tables, epsilon, query)
            weights = min(
                v for k, v in found.tried.items() if k != "layers" and not isinstance(v, str)
            )
            rows.append((name, epsilon, weights / found.optimum, found.ratio, found.optimum))
            assert found.mechanism.audit(found.problem.privacy).verdict == "certified"
    header = (
        "query",
        "epsilon",
        "best weights / optimum",
        "best by layers / optimum",
        "least steps from the truth",
    )
    write_csv(folder / "nonlinear.csv", header, rows)
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained", sharey=True)
    for ax, name in zip(axes, queries, strict=True):
        table = np.array([row[1:4] for row in rows if row[0] == name])
        ax.plot(table[:, 0], table[:, 1], "s--", color=GRAY, label="best weights by layer")
        ax.plot(table[:, 0], table[:, 2], "o-", color=BLUE, label="best mechanism by layers")
        ax.set(title=name, xlabel=r"$\varepsilon$ (nats)", ylim=(0.95, 1.8))
        ax.axhline(1, color="black", linewidth=0.8)
    axes[0].set_ylabel("loss / least loss")
    axes[0].legend(frameon=False, fontsize=8)
    save(figure, folder / "nonlinear.png")
    shares = ", ".join(
        f"{name} {max(row[3] for row in rows if row[0] == name):.3f}" for name in queries
    )
    text = (
        f"at most {shares} times the optimum; weights alone up to {max(row[2] for row in rows):.2f}"
    )
    record.shown(
        "W22", "queries that are not linear, on 70 tables", where="nonlinear.png", ours=text
    )


def thirty_five(depth):
    """Sizes and moments of the layers of b + {x_1 g_1 + ... + x_4 g_4: the x_i add up to at most
    3}, in units of b."""
    far = 10**13
    tiny = [
        np.dot(x, 1000 ** np.arange(4))
        for x in itertools.product(range(4), repeat=4)
        if sum(x) <= 3
    ]
    steps = np.array([far + t for t in tiny] + [-far - t for t in tiny])
    found = [np.zeros(1, dtype=np.int64)]
    for _ in range(depth):
        found.append(
            np.setdiff1d(np.unique(found[-1][:, None] + steps), np.concatenate(found[-2:]))
        )
    # In the continuum the point 0 has no measure.
    return np.array([0.0, *map(len, found[1:])]), np.array(
        [np.abs(layer / far).sum() for layer in found]
    )


def repeats_from(part):
    """Whether B_t is one block that grows by c per step from t = n - 1 on, and not before; in exact
    numbers."""

    def is_block(t):
        core, scale = part.core(t)
        return len(core) == 1 and Fraction(core[0][1], scale) == t * part.blocks[-1][1]

    return [is_block(t) for t in range(part.steps - 2, part.steps + 4)] == [False] + [True] * 5


def statements(record):
    """W4 to W9, W11 to W14 and W18 to W20: what is said in words."""
    v1 = [(0, 1), (1000, 1001)]
    v4 = [(0, 1001)]
    v5 = [(0, 1), (100, 101)]
    v7 = [(0, 1), (2000, 2001)]
    theory, tests = "docs/theory/noise.md", "tests/paper/test_wu_xia_he.py"
    density = noise.NeighborPartition(v5, 15).noise(2.0)
    r = np.linspace(-400, 400, 8001)
    quality = np.log(density.pdf(r)) / 2.0
    levels = np.unique(np.round(quality + np.log(density.normalizer) / 2.0, 9))
    is_whole = np.array_equal(levels, np.arange(levels.min(), 1))
    for row, what in (
        ("W3", "min-max and several objectives"),
        ("W5", "what the assumption excludes"),
    ):
        record.shown(row, what, where=theory)
    record.claim(
        "W4",
        "q has the levels 0, -1, -2, ...",
        is_whole,
        f"{len(levels)} levels for V5",
        where=theory,
    )
    people = neighbors.histograms(3, 3)
    hops = dict(nx.all_pairs_shortest_path_length(people))
    steps = max(abs(hops[x][z] - hops[y][z]) for x, y in people.edges for z in people.nodes)
    sizes = [
        sum(
            math.exp(-d)
            for d in nx.single_source_shortest_path_length(nx.star_graph(500), x).values()
        )
        for x in (0, 1)
    ]
    text = (
        f"by {steps} on tables of 3 people; yet on a star of 500 normalizers differ, and "
        "epsilon 1 costs "
    )
    text += f"{1 + abs(math.log(sizes[0] / sizes[1])):.3f}"
    record.claim(
        "W6",
        "layers of neighbors differ by at most one",
        steps == 1,
        text,
        where="docs/theory/graphs.md",
    )
    part = noise.NeighborPartition(v5, 0.5)
    record.claim(
        "W7",
        "layers are the same around every answer",
        part.certify(),
        "certified for V5",
        where=theory,
    )
    found = optimal_levels(part.moments.measure[:60], part.moments.first[:60], 1.0)
    where = "tests/unit/noise/test_levels.py"
    few = optimal_levels(*thirty_five(5), 8.0)
    for row, what, property_ in (
        ("W8", "Lemma 3", "is_monotone"),
        ("W9", "Theorem 1: levels -i", "is_descending"),
    ):
        holds = getattr(found, property_)
        record.claim(
            row, f"{what}, on 60 layers of V5", holds, "holds" if holds else "fails", where=where
        )
        means = ", ".join(f"{mean:.4g}" for mean in few.layer_means[1:4])
        text = (
            f"35 points at epsilon 8: layer means {means}; loss {few.descending_value:.4f}, at "
            f"best {few.value:.4f}"
        )
        because = "later layers may lie nearer to 0"
        record.claim(
            row, f"{what}, in general", getattr(few, property_), text, where=where, because=because
        )
    measures = [
        float(sum(high - low for low, high in noise.NeighborPartition(v, 1.0).blocks))
        for v in (v1, [(0, 100), (1000, 1001)], [(0, 500), (1000, 1001)], v4)
    ]
    for got, printed in zip(measures, ("2", "101", "501", "1001"), strict=True):
        record.value("W11", "measure of the neighbor set", got, printed, where=theory)
    record.shown("W12", "Algorithm 1 in closed form, and literally in rationals", where=tests)
    parts = [noise.NeighborPartition(v, 0.5) for v in (v1, v7)]
    steps = [part.steps for part in parts]
    text = f"n = {steps[0]} for V1, {steps[1]} for V7, and not before"
    record.claim(
        "W13",
        "one step repeats outward from n on",
        all(map(repeats_from, parts)),
        text,
        where=tests,
    )
    record.claim(
        "W19", "converged within 2200 steps", max(steps) <= 2200, f"{max(steps)} steps", where=tests
    )
    rates = noise.Laplace(7.0, 1.3), noise.Staircase(7.0, 1.3)
    record.value(
        "W14",
        "Laplace: c / epsilon",
        rates[0].expected_abs,
        f"{7 / 1.3!r}",
        where=theory,
        within=1e-12,
    )
    formula = 7 * math.exp(0.65) / math.expm1(1.3)
    record.value(
        "W14",
        "staircase: c exp(epsilon / 2) / (E - 1)",
        rates[1].expected_abs,
        f"{formula!r}",
        where=theory,
        within=1e-12,
    )
    # V4 at epsilon 1: a tail of layers of measure m, from R_n on one block of geometric distance.
    # Begun at 0, that distance leads to R_{n-1} a second time.
    n = 2
    m = noise.NeighborPartition(v4, 0.5).moments.measure[-1]
    x = math.exp(-1)
    tail = x**n * m / (1 - x)
    loss = math.log((x ** (n - 1) * m + tail * (1 - x)) / (tail * (1 - x) * x))
    record.claim(
        "W18",
        "Algorithm 2 draws the density",
        loss <= 1,
        f"a loss of {loss:.3f} at epsilon 1 if the geometric distribution begins at 0",
        where=tests,
        because="the geometric distribution must begin at 1",
    )
    try:
        converges = noise.NeighborPartition([(0, 1), (10, 10)], 0.5).steps > 0
    except StatementError:
        converges = False
    because = "false where the farthest block is a point"
    text = "[0, 1] u {10} never converges"
    record.claim("W20", "always finitely many steps", converges, text, where=tests, because=because)


def main():
    parser = argparse.ArgumentParser(
        description="Compute what Wu, Xia and He say in words or leave open."
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where to write (default: a temporary folder)"
    )
    parser.add_argument("--fine", action="store_true", help="finer grids and cells")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="ldpopt-"))
    folder.mkdir(parents=True, exist_ok=True)
    record = Record(folder)
    sensitivities(folder, record)
    pareto(folder, record)
    ball(folder, record, options.fine)
    bound(folder, record, options.fine)
    nonlinear(folder, record)
    statements(record)
    record.save()


if __name__ == "__main__":
    main()
