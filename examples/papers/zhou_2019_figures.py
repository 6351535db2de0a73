"""The figures of Zhou, Lu and Wu 2019, recomputed.

    python examples/papers/zhou_2019_figures.py [FOLDER] [--fine]

| figure  | here                                                                          |
|---------|-------------------------------------------------------------------------------|
| 1, 5    | the private mechanisms for epsilon = 0.1, delta = 0 and 0.2, corners named    |
| 2 and 3 | model I: the closed form (4), the linear program, and their difference        |
| 6 and 7 | model II: the closed form (15), the linear program, and their difference      |
| 4, 8    | the optimal mechanisms of models I and II simulated, with confidence bands    |

The paper prints neither the axes of its surfaces, nor the delta of figures 6 to 8, nor the size of
its simulation. Here epsilon runs from 0 to 5, the prior from 0 to 1, delta is 0.2, and a simulated
point is the average of 20 surveys of 10 000 people. Each figure is a PNG and a CSV with all its
numbers.
"""

import argparse
import math
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from shared import BLUE, RED, Record, save, write_csv

from ldpopt import ApproximateLDP, Problem, PureLDP, closed_forms, plotting, simulate, sweep

DELTA = 0.2
POPULATION, REPEATS = 10_000, 20


def printed_corners(delta):
    """The corners as formulas of the paper, in its order."""
    alpha = math.exp(0.1)
    high = (delta + alpha) / (alpha + 1)
    low = (1 - delta) / (1 + alpha)
    if not delta:
        return [(0, 1), (high, high), (1, 0), (low, low)]
    return [
        (0, 1 - delta),
        (0, 1),
        (delta, 1),
        (high, high),
        (1, delta),
        (1, 0),
        (1 - delta, 0),
        (low, low),
    ]


def polytopes(folder, record):
    """Figures 1 and 5, and the corners beside the paper's formulas."""
    for number, row, privacy in ((1, "Z5", PureLDP(0.1)), (5, "Z14", ApproximateLDP(0.1, DELTA))):
        ax = plotting.polytope(privacy, prior=[0.5, 0.5])
        delta = getattr(privacy, "delta", 0.0)
        corners = closed_forms.binary([0.5, 0.5], 0.1, delta).vertices
        printed = printed_corners(delta)
        rows = [
            (name, *ours, *theirs)
            for name, ours, theirs in zip("ABCDEFGH", corners, printed, strict=False)
        ]
        header = (
            "corner",
            "p00",
            "p11",
            "p00, by the paper's formula",
            "p11, by the paper's formula",
        )
        write_csv(folder / f"figure_{number}.csv", header, rows)
        save(ax.figure, folder / f"figure_{number}.png")
        same = len(corners) == len(printed) and np.allclose(corners, printed, atol=1e-12)
        words = (
            f"{len(corners)} corners, all within {np.abs(np.subtract(corners, printed)).max():.0e}"
        )
        record.claim(row, "corners of the polytope", same, words, where=f"figure_{number}.png")


def surfaces(folder, name, privacy, grid):
    """A closed form beside the linear program, and the difference of the two."""
    epsilons, priors = grid
    found = sweep(Problem([0.5, 0.5], "identity", privacy), epsilons, priors)
    found.to_csv(folder / f"figures_{name}.csv")
    difference = np.abs(found.grid("value") - found.grid("closed_form"))
    figure = plt.figure(figsize=(15, 4.8), layout="constrained")
    for place, (column, title) in enumerate(
        (("closed_form", "closed form"), ("value", "linear program")), start=1
    ):
        ax = figure.add_subplot(1, 3, place, projection="3d")
        plotting.surface(found, ax, column=column)
        ax.set(title=title, ylabel=r"$\pi_0$", zlabel="", zlim=(0.5, 1))
    ax = figure.add_subplot(1, 3, 3)
    image = ax.pcolormesh(epsilons, priors[:, 0], difference.T, cmap="magma_r", shading="nearest")
    figure.colorbar(image, ax=ax)
    title = (
        rf"Two answers, $\delta = {getattr(privacy, 'delta', 0.0):g}$: expected share of "
        r"true reports"
    )
    figure.suptitle(title)
    ax.set(
        title=f"absolute difference, at most {difference.max():.1e}",
        xlabel=r"$\varepsilon$ (nats)",
        ylabel=r"$\pi_0$",
    )
    save(figure, folder / f"figures_{name}.png")
    assert difference.max() < 1e-9
    assert found.column("relative_gap").max() < 1e-9
    return found.grid("closed_form"), float(difference.max())


def simulation(folder, number, delta, grid, theory):
    """The optimal mechanisms at work: average utility of the surveys, with 95 % intervals, beside
    theory."""
    epsilons, priors = grid
    shape = theory.shape
    rng = np.random.default_rng(number)
    mean, low, high, least, most = (np.empty(shape) for _ in range(5))
    for place in np.ndindex(shape):
        prior = priors[place[1]]
        mechanism = closed_forms.binary(prior, float(epsilons[place[0]]), delta).mechanism
        found = simulate(mechanism, prior, population=POPULATION, repeats=REPEATS, rng=rng)
        mean[place] = found.mean
        (low[place], high[place]), (least[place], most[place]) = found.interval, found.band
    header = (
        "epsilon",
        "prior",
        "simulated",
        "interval_low",
        "interval_high",
        "survey_low",
        "survey_high",
        "theory",
    )
    tables = (mean, low, high, least, most, theory)
    rows = [
        (epsilons[i], priors[k][0], *(table[i, k] for table in tables))
        for i, k in np.ndindex(shape)
    ]
    write_csv(folder / f"figure_{number}.csv", header, rows)
    figure = plt.figure(figsize=(15, 4.8), layout="constrained")
    people = f"{POPULATION:,}".replace(",", " ")
    figure.suptitle(
        rf"{REPEATS} simulated surveys of {people} people at each point, two answers, $\delta "
        rf"= {delta:g}$"
    )
    ax = figure.add_subplot(1, 3, 1, projection="3d")
    across, along = np.meshgrid(priors[:, 0], epsilons)
    ax.plot_surface(along, across, mean, cmap="viridis", linewidth=0.2, edgecolor="black")
    ax.view_init(elev=28, azim=-128)
    ax.set_box_aspect(None, zoom=0.88)
    ax.set(title="simulated", xlabel=r"$\varepsilon$ (nats)", ylabel=r"$\pi_0$", zlim=(0.5, 1))
    distances(figure, grid, mean - theory)
    bands(figure.add_subplot(1, 3, 3), grid, (mean, least, most), theory)
    save(figure, folder / f"figure_{number}.png")
    # The deviation of a mean of REPEATS surveys is at most sqrt(1/4 / (POPULATION * REPEATS)); five
    # of them everywhere.
    assert np.abs(mean - theory).max() < 5 * np.sqrt(0.25 / (POPULATION * REPEATS))
    chance = (theory > 1e-12) & (theory < 1 - 1e-12)
    return float(((low <= theory) & (theory <= high))[chance].mean())


def distances(figure, grid, difference):
    """Map of the distance between surveys and theory."""
    epsilons, priors = grid
    ax = figure.add_subplot(1, 3, 2)
    figure.colorbar(
        ax.pcolormesh(
            epsilons, priors[:, 0], np.abs(difference).T, cmap="viridis_r", shading="nearest"
        ),
        ax=ax,
    )
    ax.set(
        title="absolute difference of the mean from theory",
        xlabel=r"$\varepsilon$ (nats)",
        ylabel=r"$\pi_0$",
    )


def bands(ax, grid, simulated, theory):
    """Distance from theory along three priors: the average of the surveys, and the band of 95 % of
    them."""
    epsilons, priors = grid
    looks = ((0.5, BLUE, "-", "o"), (0.8, RED, "--", "s"), (0.9, "black", ":", "^"))
    for prior, color, line, marker in looks:
        k = int(np.abs(priors[:, 0] - prior).argmin())
        mean, least, most = (1000 * (values[:, k] - theory[:, k]) for values in simulated)
        ax.fill_between(epsilons, least, most, color=color, alpha=0.12, linewidth=0)
        for edge in (least, most):
            ax.plot(epsilons, edge, line, color=color, linewidth=0.7)
        ax.plot(
            epsilons,
            mean,
            line,
            marker=marker,
            markersize=3,
            color=color,
            label=rf"$\pi_0 = {prior:g}$",
        )
    ax.axhline(0, color="black", linewidth=0.6)
    ax.set(
        title="mean and 95 % range of the surveys",
        xlabel=r"$\varepsilon$ (nats)",
        ylabel="(survey - theory) x 1000",
    )
    ax.legend(frameon=False)


def main():
    parser = argparse.ArgumentParser(description="Recompute the figures of Zhou, Lu and Wu 2019.")
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where to write (default: a temporary folder)"
    )
    parser.add_argument("--fine", action="store_true", help="41 x 41 points instead of 11 x 11")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="ldpopt-"))
    folder.mkdir(parents=True, exist_ok=True)
    points = 41 if options.fine else 11
    first = np.linspace(0, 1, points)
    grid = np.linspace(0, 5, points), np.stack([first, 1 - first], axis=1)
    record = Record(folder)
    polytopes(folder, record)
    models = (
        ("2_and_3", 4, PureLDP(1.0), "Z7 Z11 Z12"),
        ("6_and_7", 8, ApproximateLDP(1.0, DELTA), "Z16 Z16 Z16"),
    )
    for name, number, privacy, ids in models:
        formula, solver, drawn = ids.split()
        theory, difference = surfaces(folder, name, privacy, grid)
        record.shown(formula, "surface of the closed form", where=f"figures_{name}.png")
        text = f"greatest difference {difference:.0e} on {points} x {points} points"
        record.claim(
            solver,
            "solver's surface is the closed form's",
            difference < 1e-9,
            text,
            where=f"figures_{name}.png",
        )
        share = simulation(folder, number, getattr(privacy, "delta", 0.0), grid, theory)
        text = f"{share:.1%} of the 95 % intervals hold the closed form"
        # 20 surveys and a normal quantile cover 93.5 %; fewer points vary more.
        where = f"figure_{number}.png"
        record.claim(
            drawn,
            "simulation is near the closed form",
            abs(share - 0.935) < 0.6 / points,
            text,
            where=where,
        )
    record.save()


if __name__ == "__main__":
    main()
