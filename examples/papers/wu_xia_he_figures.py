"""The figures of Wu, Xia and He (noise by neighbor-set partition), recomputed, and what they say of rates tried.

    python examples/papers/wu_xia_he_figures.py [FOLDER] [--fine]

| figure | here                                                                                          |
|--------|-----------------------------------------------------------------------------------------------|
| 1      | rate over (widening, epsilon) for V1 to V4: one sensitivity, measures 2, 101, 501 and 1001    |
| 2      | the same for V5, V6, V7: one measure, sensitivities 101, 1001 and 2001                        |
| 3      | densities of Laplace, the staircase and the partition of [0, 1] u [20, 21] at epsilon = 1     |
| claims | the share of cells below 1, and the best rate at the best widening, for each set              |

The rate is the mean absolute noise over that of the staircase mechanism at the same sensitivity: below 1 the partition
wins. The paper prints no axes; here the widening runs from 0.5 to 500 and epsilon from 0.1 to 5.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ldpopt import noise

SETS = {
    "V1": [(0, 1), (1000, 1001)],
    "V2": [(0, 100), (1000, 1001)],
    "V3": [(0, 500), (1000, 1001)],
    "V4": [(0, 500), (500, 1001)],
    "V5": [(0, 1), (100, 101)],
    "V6": [(0, 1), (1000, 1001)],
    "V7": [(0, 1), (2000, 2001)],
}
BUDGETS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def save(figure, path):
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(path)


def rate_map(name, widenings, epsilons):
    """Rates, shape (epsilons, widenings): one partition serves all budgets."""
    columns = []
    for widening in widenings:
        partition = noise.NeighborPartition(SETS[name], float(widening))
        columns.append([partition.noise(float(epsilon)).rate for epsilon in epsilons])
    return np.array(columns).T


def maps(folder, number, names, maps_by_name, widenings, epsilons):
    """One panel a set, all on one scale, with the line where the staircase is as good."""
    figure, axes = plt.subplots(1, len(names), figsize=(4.1 * len(names), 3.9), sharey=True, layout="constrained")
    for ax, name in zip(axes, names, strict=True):
        rates = maps_by_name[name]
        image = ax.pcolormesh(widenings, epsilons, rates, cmap="RdBu_r", vmin=0, vmax=2, shading="nearest")
        if rates.min() < 1 < rates.max():
            ax.contour(widenings, epsilons, rates, levels=[1.0], colors="black", linewidths=1)
        (_, a), (b, c) = SETS[name]
        ax.set(xscale="log", xlabel="widening", title=f"{name}: [0, {a}] u [{b}, {c}]")
    axes[0].set_ylabel(r"$\varepsilon$ (nats)")
    figure.colorbar(image, ax=axes, extend="max", label="rate: below 1 beats the staircase")
    save(figure, folder / f"figure_{number}.png")
    rows = [
        (name, w, e, maps_by_name[name][i, j])
        for name in names
        for j, w in enumerate(widenings)
        for i, e in enumerate(epsilons)
    ]
    write_csv(folder / f"figure_{number}.csv", ("set", "widening", "epsilon", "rate"), rows)


def densities(folder):
    """Figure 3: only the partition's density is not monotone on one side of 0."""
    r = np.linspace(-80, 80, 3201)
    partition = noise.NeighborPartition([(0, 1), (20, 21)], 1.0)
    assert partition.certify()
    kinds = {
        "Laplace": noise.Laplace(21.0, 1.0),
        "staircase": noise.Staircase(21.0, 1.0),
        "partition": partition.noise(1.0),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharex=True, layout="constrained")
    for ax, (name, law) in zip(axes, kinds.items(), strict=True):
        ax.plot(r, law.pdf(r), color="#08519c", linewidth=1)
        ax.set(title=f"{name}: mean |noise| {law.expected_abs:.2f}", xlabel="noise", ylim=(0, None))
    axes[0].set_ylabel("density")
    save(figure, folder / "figure_3.png")
    write_csv(folder / "figure_3.csv", ("noise", *kinds), zip(r, *(law.pdf(r) for law in kinds.values()), strict=True))
    rising = {name: bool((np.diff(law.pdf(r[r >= 0])) > 1e-12).any()) for name, law in kinds.items()}
    assert rising == {"Laplace": False, "staircase": False, "partition": True}


def claims(folder, maps_by_name):
    """What the paper says of rates, in numbers: at the best widening, and at a fixed one."""
    best = {
        name: [noise.optimal_widening(SETS[name], epsilon).noise(epsilon).rate for epsilon in BUDGETS] for name in SETS
    }
    rows = [(name, float((maps_by_name[name] < 1).mean()), *best[name]) for name in SETS]
    header = ("set", "share of cells below 1", *(f"best rate at epsilon {e:g}" for e in BUDGETS))
    write_csv(folder / "claims.csv", header, rows)
    for name, share, *rates in rows:
        print(f"{name}: {share:4.0%} of the map beats the staircase; best rates", *(f"{rate:.4f}" for rate in rates))
    # "The rate grows with the measure": true at the best widening and moderate budgets, false at a fixed small one.
    assert all(best["V1"][i] < best["V2"][i] < best["V3"][i] <= best["V4"][i] + 1e-9 for i in range(2, 6))
    fixed = [noise.NeighborPartition(SETS[name], 0.5).noise(0.1).rate for name in ("V1", "V4")]
    assert fixed[0] > fixed[1]
    # "It falls with the sensitivity": likewise.
    assert all(best["V5"][i] > best["V6"][i] > best["V7"][i] for i in range(2, 6))
    # "Generally better than the staircase": not at small budgets, and V5 loses at 0.5 even at its best widening.
    assert best["V5"][1] > 1
    with_supersets = noise.optimal_widening(SETS["V5"], 0.5, supersets=True).noise(0.5).rate
    assert with_supersets <= 1 + 1e-12


def main():
    parser = argparse.ArgumentParser(description="Recompute the figures of Wu, Xia and He.")
    parser.add_argument("folder", nargs="?", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--fine", action="store_true", help="40 x 40 points instead of 16 x 16")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="ldpopt-"))
    folder.mkdir(parents=True, exist_ok=True)
    points = 40 if options.fine else 16
    widenings, epsilons = np.geomspace(0.5, 500, points), np.linspace(0.1, 5, points)
    maps_by_name = {name: rate_map(name, widenings, epsilons) for name in SETS}
    maps(folder, 1, ("V1", "V2", "V3", "V4"), maps_by_name, widenings, epsilons)
    maps(folder, 2, ("V5", "V6", "V7"), maps_by_name, widenings, epsilons)
    densities(folder)
    claims(folder, maps_by_name)


if __name__ == "__main__":
    main()
