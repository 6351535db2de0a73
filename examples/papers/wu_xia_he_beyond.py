"""What Wu, Xia and He state in words or for R^n, and what they leave open, computed.

    python examples/papers/wu_xia_he_beyond.py [FOLDER] [--fine]

| picture or table  | here                                                                                      |
|-------------------|-------------------------------------------------------------------------------------------|
| sensitivities.csv | local and global l_1, l_2 and l_inf sensitivity of a linear query (definition 1)          |
| ball.png          | (9) in the plane: mean error over the radius of the l_1, l_2 or l_inf ball, best radius   |
| bound.png         | how far the partition is from the best noise there is: a lower bound by linear program    |

In the plane the neighbor set is [0, 2]^2 u ([20, 22] x [0, 2]): two totals, of which one person adds little to both, or
much to the first.
"""

import argparse
import itertools
import math
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from scipy.ndimage import distance_transform_cdt, distance_transform_edt
from scipy.optimize import linprog
from scipy.signal import fftconvolve
from scipy.sparse import coo_array
from shared import BLUE, GREEN, RED, Record, save, write_csv

from ldpopt import neighbors, noise
from ldpopt.errors import StatementError
from ldpopt.noise.layers import optimal_levels

NORMS = {1: "l_1", 2: "l_2", math.inf: "l_inf"}
BUDGETS = (0.5, 1.0, 2.0, 3.0, 5.0)


def sensitivities(folder, record):
    """W1, W2: a linear query on tables of at most 3 people of 4 kinds."""
    tables, weights = neighbors.histograms(4, 3), np.array([[0, 1, 20, 21], [1, 0, 2, 1]])
    rows = []
    for name, norm in (("l_1", 1), ("l_2", 2), ("l_inf", "inf")):
        everywhere = noise.sensitivity(lambda table: weights @ table, tables, norm=norm)
        columns = float(np.linalg.norm(weights, {"inf": np.inf}.get(norm, norm), axis=0).max())
        local = [
            noise.sensitivity(lambda table: weights @ table, nx.Graph([(x, y) for y in tables[x]]), norm=norm)
            for x in tables.nodes
        ]
        rows.append((name, everywhere, columns, min(local), max(local)))
        same = everywhere == columns == max(local)
        text = f"{name}: {everywhere:.6g}, local {min(local):.6g} to {max(local):.6g}"
        record.claim("W2", "global sensitivity is the longest column", same, text, where="sensitivities.csv")
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


class Plane:
    """Layers of the neighbor set in the plane, on a grid of one half: private on the grid by construction."""

    STEP = 0.5
    BLOCKS = (((0, 2), (0, 2)), ((20, 22), (0, 2)))

    def __init__(self, layers):
        self.layers = layers
        reach = [round((layers + 0.5) * high / self.STEP) for high in (22, 2 + 12)]
        self.half = np.array(reach)
        members = np.zeros(2 * self.half + 1, dtype=bool)
        for (a, b), (c, d) in self.BLOCKS:
            at = [slice(round(low / self.STEP), round(high / self.STEP) + 1) for low, high in ((a, b), (c, d))]
            for sign in (1, -1):
                where = [
                    slice(h + s.start, h + s.stop) if sign > 0 else slice(h - s.stop + 1, h - s.start + 1)
                    for h, s in zip(self.half, at, strict=True)
                ]
                members[tuple(where)] = True
        members[tuple(self.half)] = True
        self.members, self.sums = members, [self._origin()]
        for _ in range(layers):
            self.sums.append(fftconvolve(self.sums[-1], members, mode="same") > 0.5)
        across = [self.STEP * np.arange(-h, h + 1) for h in self.half]
        self.points = np.stack(np.meshgrid(*across, indexing="ij"))

    def _origin(self):
        grid = np.zeros(2 * self.half + 1, dtype=bool)
        grid[tuple(self.half)] = True
        return grid

    def distances(self, norm):
        """Distance of every point to each t-fold sum."""
        if norm == 2:
            return [self.STEP * distance_transform_edt(~reached) for reached in self.sums]
        kind = "taxicab" if norm == 1 else "chessboard"
        return [self.STEP * distance_transform_cdt(~reached, metric=kind) for reached in self.sums]

    def levels(self, distances, radius):
        """Least t within `radius` of the t-fold sum; beyond the last one `layers + 1`."""
        found = np.full(self.members.shape, self.layers + 1)
        for t in reversed(range(self.layers + 1)):
            found[distances[t] <= radius] = t
        return found

    def is_private(self, levels):
        """Whether a step of the neighbor set changes no level by more than one, wherever both ends are on the grid."""
        reached = [levels <= t for t in range(self.layers + 1)]
        return all(
            (fftconvolve(inner, self.members, mode="same") > 0.5)[~outer].sum() == 0
            for inner, outer in itertools.pairwise(reached)
        )

    def loss(self, levels, norm, epsilon):
        """Mean l_p norm of the noise; the layers that are left out weigh less than exp(-epsilon layers)."""
        weight = np.where(levels > self.layers, 0.0, np.exp(-epsilon * levels))
        return float((weight * np.linalg.norm(self.points, norm, axis=0)).sum() / weight.sum())


def ball_loss(reach, radius, epsilon):
    """Mean norm for noise by the norm alone: level t in the ball of radius ``radius + t reach`` of the plane."""
    t = np.arange(400)
    ends = radius + t * reach
    area, first = np.diff(ends**2, prepend=0.0), np.diff(2 / 3 * ends**3, prepend=0.0)
    weight = np.exp(-epsilon * t)
    return float((weight * first).sum() / (weight * area).sum())


def ball(folder, record, fine):
    """W10: the l_p ball in R^2, its best radius, and the same with the sensitivity alone."""
    epsilon, plane = 2.0, Plane(9 if fine else 6)
    radii = np.arange(0.5, 12.1, 0.5 if fine else 1.5)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 4.4), layout="constrained", width_ratios=(1, 1.25))
    rows, shown = [], None
    for (norm, name), color, line in zip(NORMS.items(), (RED, BLUE, GREEN), ("--", "-", "-."), strict=True):
        distances = plane.distances(norm)
        losses = [plane.loss(plane.levels(distances, radius), norm, epsilon) for radius in radii]
        reach = float(np.linalg.norm([22, 2], norm))
        alone = min(ball_loss(reach, radius, epsilon) for radius in np.linspace(0.5, reach, 200))
        best = int(np.argmin(losses))
        levels = plane.levels(distances, radii[best])
        private = plane.is_private(levels)
        rows += [(name, radius, loss, alone) for radius, loss in zip(radii, losses, strict=True)]
        left.plot(
            radii,
            losses,
            line,
            color=color,
            label=f"${name}$".replace("inf", r"\infty")
            + f": best {losses[best]:.2f}, by sensitivity alone {alone:.1f}",
        )
        left.plot(radii[best], losses[best], "o", color=color)
        text = f"{name}: radius {radii[best]:g}, mean error {losses[best]:.3f}; by sensitivity alone {alone:.2f}"
        record.claim(
            "W10",
            "the widened partition of R^2 is private and beats the sensitivity",
            private and losses[best] < alone,
            text,
            where="ball.png",
        )
        shown = levels if norm == 2 else shown
    left.set(
        title=r"Mean error by radius, two totals, $\varepsilon = 2$",
        xlabel="radius of the innermost ball",
        ylabel="mean error, measured in the same norm",
    )
    left.legend(frameon=False, fontsize=8)
    extent = [edge * plane.STEP for edge in (-plane.half[0], plane.half[0], -plane.half[1], plane.half[1])]
    image = right.imshow(
        np.where(shown > plane.layers, np.nan, shown).T, origin="lower", extent=extent, cmap="viridis_r", aspect="auto"
    )
    right.set(
        title="Levels at the best $l_2$ radius (density $e^{-2}$ per level)",
        xlabel="noise of the first total",
        ylabel="noise of the second total",
        xlim=(-100, 100),
        ylim=(-40, 40),
    )
    figure.colorbar(image, ax=right, label="level")
    save(figure, folder / "ball.png")
    write_csv(folder / "ball.csv", ("norm", "radius", "mean error", "by sensitivity alone"), rows)


def lower_bound(blocks, epsilon, step, reach):
    r"""Least mean |noise| of any private additive noise, from below.

    A density is averaged over cells of `step`; steps of the neighbor set that are whole numbers of cells move cells
    onto cells, so their masses keep the ratio too. A cell counts with the least |r| in it, all beyond `reach` with
    `reach`, and only rows between cells within it are written: each of these lowers the value. The bound is the
    dual's: for multipliers >= 0 it is the least reduced cost, whatever the solver's tolerance.
    """
    last = round(reach / step)
    cells = np.arange(-last, last + 1)
    moves = [
        k for low, high in blocks for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1) if k
    ]
    low = np.concatenate([np.arange(len(cells) - k) for k in moves])
    high = np.concatenate([np.arange(k, len(cells)) for k in moves])
    first, second = np.concatenate([low, high]), np.concatenate([high, low])
    # The mirror image of a private noise is private, so their mean is: cells k and -k share a variable.
    first, second = np.abs(cells[first]), np.abs(cells[second])
    pairs = np.unique(np.stack([first, second])[:, first != second], axis=1)
    rows = np.arange(pairs.shape[1])
    entries = np.concatenate([np.full(len(rows), math.exp(-epsilon)), np.full(len(rows), -1.0)])
    matrix = coo_array((entries, (np.tile(rows, 2), pairs.ravel())), shape=(len(rows), last + 2)).tocsr()
    share = np.append(1.0, np.full(last + 1, 2.0))
    cost = share * np.append(np.maximum(step * np.arange(last + 1) - step / 2, 0.0), reach)
    rows = {"A_ub": matrix, "b_ub": np.zeros(len(rows)), "A_eq": share[None, :], "b_eq": [1.0]}
    found = linprog(cost, **rows, method="highs-ipm")
    multipliers = np.maximum(-found.ineqlin.marginals, 0.0)
    return float(((cost + matrix.T @ multipliers) / share).min())


def bound(folder, record, fine):
    """W22: best partition, staircase and lower bound on V5."""
    blocks, rows = [(0, 1), (100, 101)], []
    for epsilon in BUDGETS:
        best = noise.optimal_widening(blocks, epsilon, supersets=True).noise(epsilon)
        stairs = noise.Staircase(101.0, epsilon).expected_abs
        reach = 101.0 * min(10, 3 + math.ceil(8 / epsilon))
        least = lower_bound(blocks, epsilon, 0.5 if fine else 1.0, reach)
        rows.append((epsilon, least / stairs, best.rate, 1.0, noise.Laplace(101.0, epsilon).expected_abs / stairs))
    header = ("epsilon", "lower bound", "partition, best widening", "staircase", "Laplace")
    write_csv(folder / "bound.csv", header, rows)
    table = np.array(rows)
    figure, ax = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
    for column, (color, look) in enumerate(((GREEN, "^-"), (RED, "o-"), (BLUE, "s--"), ("black", "d:")), start=1):
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
    record.shown("W22", "best partition over the lower bound of all noise", where="bound.png", ours=shares)


def statements(record):
    """W3 to W9, W11 to W14 and W18 to W21: what is said in words."""
    v1, v4, v5, v7 = [(0, 1), (1000, 1001)], [(0, 1001)], [(0, 1), (100, 101)], [(0, 1), (2000, 2001)]
    theory, tests = "docs/theory/noise.md", "tests/paper/test_wu_xia_he.py"
    for row, what in (("W3", "min-max and expected objectives"), ("W4", "levels of a density"), ("W5", "mode at 0")):
        record.shown(row, what, where=theory)
    people = neighbors.histograms(3, 3)
    hops = dict(nx.all_pairs_shortest_path_length(people))
    steps = max(abs(hops[x][z] - hops[y][z]) for x, y in people.edges for z in people.nodes)
    sizes = [
        sum(math.exp(-d) for d in nx.single_source_shortest_path_length(nx.star_graph(500), x).values()) for x in (0, 1)
    ]
    text = f"by {steps} on tables of 3 people; yet on a star of 500 normalizers differ, and epsilon 1 costs "
    text += f"{1 + abs(math.log(sizes[0] / sizes[1])):.3f}"
    record.claim("W6", "layers of neighbors differ by at most one", steps == 1, text, where="docs/theory/graphs.md")
    part = noise.NeighborPartition(v5, 0.5)
    record.claim("W7", "layers are the same around every answer", part.certify(), "certified for V5", where=theory)
    found = optimal_levels(part.moments.measure[:60], part.moments.first[:60], 1.0)
    where = "tests/unit/noise/test_levels.py"
    for row, what, holds in (("W8", "Lemma 3", found.is_monotone), ("W9", "Theorem 1: levels -i", found.is_descending)):
        record.claim(row, f"{what}, on 60 layers of V5", holds, "holds" if holds else "fails", where=where)
        text = "fails on a set of 35 points, whose layer means are 1.0001, 0.944 and 1.589"
        record.claim(row, f"{what}, in general", False, text, where=where, because="later layers may lie nearer to 0")
    measures = [
        float(sum(high - low for low, high in noise.NeighborPartition(v, 1.0).blocks))
        for v in (v1, [(0, 100), (1000, 1001)], [(0, 500), (1000, 1001)], v4)
    ]
    for got, printed in zip(measures, ("2", "101", "501", "1001"), strict=True):
        record.value("W11", "measure of the neighbor set", got, printed, where=theory)
    record.shown("W12", "Algorithm 1 in closed form, and literally in rationals", where=tests)
    steps = [noise.NeighborPartition(v, 0.5).steps for v in (v1, v7)]
    record.claim(
        "W13", "one step repeats outward from n on", True, f"n = {steps[0]} for V1, {steps[1]} for V7", where=tests
    )
    record.claim("W19", "converged within 2200 steps", max(steps) <= 2200, f"{max(steps)} steps", where=tests)
    rates = noise.Laplace(7.0, 1.3), noise.Staircase(7.0, 1.3)
    record.value("W14", "Laplace: c / epsilon", rates[0].expected_abs, f"{7 / 1.3!r}", where=theory, within=1e-12)
    formula = 7 * math.exp(0.65) / math.expm1(1.3)
    record.value(
        "W14",
        "staircase: c exp(epsilon / 2) / (E - 1)",
        rates[1].expected_abs,
        f"{formula!r}",
        where=theory,
        within=1e-12,
    )
    x = math.exp(-1)
    record.claim(
        "W18",
        "Algorithm 2 draws the density",
        False,
        f"a loss of {math.log((1 + x) / x**2):.3f} at epsilon 1 if the geometric distribution begins at 0",
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
    parser = argparse.ArgumentParser(description="Compute what Wu, Xia and He say in words or leave open.")
    parser.add_argument("folder", nargs="?", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--fine", action="store_true", help="finer grids and cells")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="ldpopt-"))
    folder.mkdir(parents=True, exist_ok=True)
    record = Record(folder)
    sensitivities(folder, record)
    ball(folder, record, options.fine)
    bound(folder, record, options.fine)
    statements(record)
    record.save()


if __name__ == "__main__":
    main()
