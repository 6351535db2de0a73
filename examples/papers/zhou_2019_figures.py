"""The figures of Zhou, Lu and Wu 2019, recomputed.

    python examples/papers/zhou_2019_figures.py [FOLDER] [--fine]

| figure  | here                                                                          |
|---------|-------------------------------------------------------------------------------|
| 1, 5    | the private mechanisms for epsilon = 0.1, delta = 0 and 0.2, corners named    |
| 2 and 3 | model I: the closed form (4), the linear program, and their difference        |
| 6 and 7 | model II: the closed form (15), the linear program, and their difference      |
| 4, 8    | the optimal mechanisms of models I and II simulated, and the distance from theory |

The paper prints neither the axes of its surfaces, nor the delta of figures 6 to 8, nor the size of its simulation. Here
epsilon runs from 0 to 5, the prior from 0 to 1, delta is 0.2, and a simulated point is the average of 20 surveys of
10 000 people. Each figure is a PNG and a CSV with all its numbers.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from ldpopt.simulate import simulate
from ldpopt.sweep import sweep

from ldpopt import ApproximateLDP, Problem, PureLDP, closed_forms, plot

DELTA = 0.2
POPULATION, REPEATS = 10_000, 20


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def save(figure, path):
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(path)


def polytopes(folder):
    """Figures 1 and 5, and the corners to six digits."""
    for number, privacy in ((1, PureLDP(0.1)), (5, ApproximateLDP(0.1, DELTA))):
        ax = plot.polytope(privacy, prior=[0.5, 0.5])
        delta = getattr(privacy, "delta", 0.0)
        ax.set_title(rf"$\varepsilon = 0.1$, $\delta = {delta:g}$")
        corners = closed_forms.binary([0.5, 0.5], 0.1, delta).vertices
        assert len(corners) == (8 if delta else 4)
        rows = [(name, *point) for name, point in zip("ABCDEFGH", corners, strict=False)]
        write_csv(folder / f"figure_{number}.csv", ("corner", "p00", "p11"), rows)
        save(ax.figure, folder / f"figure_{number}.png")


def surfaces(folder, name, privacy, grid):
    """A closed form beside the linear program, and the difference of the two."""
    epsilons, priors = grid
    found = sweep(Problem([0.5, 0.5], "identity", privacy), epsilons, priors)
    found.to_csv(folder / f"figures_{name}.csv")
    difference = np.abs(found.grid("value") - found.grid("closed_form"))
    figure = plt.figure(figsize=(15, 4.8), layout="constrained")
    for place, (column, title) in enumerate((("closed_form", "closed form"), ("value", "linear program")), start=1):
        ax = figure.add_subplot(1, 3, place, projection="3d")
        plot.surface(found, ax, column=column)
        ax.set(title=title, ylabel=r"$\pi_0$", zlabel="", zlim=(0.5, 1))
    ax = figure.add_subplot(1, 3, 3)
    image = ax.pcolormesh(epsilons, priors[:, 0], difference.T, cmap="magma_r", shading="nearest")
    figure.colorbar(image, ax=ax)
    ax.set(
        title=f"absolute difference, at most {difference.max():.1e}", xlabel=r"$\varepsilon$ (nats)", ylabel=r"$\pi_0$"
    )
    save(figure, folder / f"figures_{name}.png")
    assert difference.max() < 1e-9
    assert found.column("relative_gap").max() < 1e-9
    return found.grid("closed_form")


def simulation(folder, number, delta, grid, theory):
    """The optimal mechanisms at work: average utility of the surveys, and how far it is from theory."""
    epsilons, priors = grid
    mean, deviation, rng = np.empty(theory.shape), np.empty(theory.shape), np.random.default_rng(number)
    for place in np.ndindex(theory.shape):
        prior = priors[place[1]]
        mechanism = closed_forms.binary(prior, float(epsilons[place[0]]), delta).mechanism
        found = simulate(mechanism, prior, population=POPULATION, repeats=REPEATS, rng=rng)
        mean[place], deviation[place] = found.mean, found.std_error
    write_csv(
        folder / f"figure_{number}.csv",
        ("epsilon", "prior", "simulated", "std_error", "theory"),
        [(epsilons[i], priors[k][0], mean[i, k], deviation[i, k], theory[i, k]) for i, k in np.ndindex(theory.shape)],
    )
    figure = plt.figure(figsize=(10.5, 4.8), layout="constrained")
    ax = figure.add_subplot(1, 2, 1, projection="3d")
    across, along = np.meshgrid(priors[:, 0], epsilons)
    ax.plot_surface(along, across, mean, cmap="viridis", linewidth=0.2, edgecolor="black")
    ax.view_init(elev=28, azim=-128)
    ax.set_box_aspect(None, zoom=0.88)
    ax.set(title="simulated", xlabel=r"$\varepsilon$ (nats)", ylabel=r"$\pi_0$", zlim=(0.5, 1))
    ax = figure.add_subplot(1, 2, 2)
    limit = np.abs(mean - theory).max()
    image = ax.pcolormesh(
        epsilons, priors[:, 0], (mean - theory).T, cmap="RdBu", shading="nearest", vmin=-limit, vmax=limit
    )
    figure.colorbar(image, ax=ax)
    ax.set(title="simulated minus theory", xlabel=r"$\varepsilon$ (nats)", ylabel=r"$\pi_0$")
    save(figure, folder / f"figure_{number}.png")
    # The deviation of a mean of REPEATS surveys is at most sqrt(1/4 / (POPULATION * REPEATS)); five of them everywhere.
    assert np.abs(mean - theory).max() < 5 * np.sqrt(0.25 / (POPULATION * REPEATS))


def main():
    parser = argparse.ArgumentParser(description="Recompute the figures of Zhou, Lu and Wu 2019.")
    parser.add_argument("folder", nargs="?", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--fine", action="store_true", help="41 x 41 points instead of 11 x 11")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="ldpopt-"))
    folder.mkdir(parents=True, exist_ok=True)
    points = 41 if options.fine else 11
    first = np.linspace(0, 1, points)
    grid = np.linspace(0, 5, points), np.stack([first, 1 - first], axis=1)
    polytopes(folder)
    for name, number, privacy in (("2_and_3", 4, PureLDP(1.0)), ("6_and_7", 8, ApproximateLDP(1.0, DELTA))):
        theory = surfaces(folder, name, privacy, grid)
        simulation(folder, number, getattr(privacy, "delta", 0.0), grid, theory)


if __name__ == "__main__":
    main()
