"""
A city
======

Question: an app asks where in Montreal you are, and keeps only a blurred answer: two places one
kilometer apart look alike up to a factor e. How close can the reported place be on average, and how
close are the usual mechanisms?
"""

import matplotlib.pyplot as plt
import numpy as np
import plotly.data

from ldpopt import MetricDP, Problem, Utility, certify, compare, plotting, solve

# %%
# The data: car-hours of car sharing in 249 zones of Montreal over a month, which come with plotly
# (MIT license). Zones of a square kilometer are one place, at their mean; kilometers east and north
# of the middle of the city.

zones = plotly.data.carshare(return_type="pandas")
latitude = zones["centroid_lat"].to_numpy()
longitude = zones["centroid_lon"].to_numpy()
hours = zones["car_hours"].to_numpy()
degree = 111.195  # kilometers of a degree of latitude
east = (longitude - longitude.mean()) * degree * np.cos(np.radians(latitude.mean()))
north = (latitude - latitude.mean()) * degree
cells, cell = np.unique(np.round(np.stack([east, north], axis=1)), axis=0, return_inverse=True)
cell, names = cell.ravel(), [f"{x} E, {y} N" for x, y in cells.astype(int)]
weight = np.bincount(cell, hours)
points = np.stack([np.bincount(cell, hours * axis) / weight for axis in (east, north)], axis=1)
prior = weight / weight.sum()

# %%
# The problem: metric privacy with epsilon = 1 per kilometer (geo-indistinguishability, Andres et
# al. 2013); the loss is the distance between the true and the reported place. A gap of a tenth of a
# percent is accepted, and certified.

privacy = MetricDP.of_points(1.0, points, inputs=names)
loss = Utility(privacy.distance, "loss")
problem = Problem(prior, loss, privacy)
solution = solve(problem, gap=1e-3)
proof = certify(solution, exact=False)
print(
    f"{len(points)} places: {solution.value:.4f} km off on average, at most "
    f"{proof.relative_gap:.1e} above the optimum"
)

# %%
# For comparison: mechanisms from the literature, all exactly private. Planar Laplace noise has a
# mean length of 2 km before it is moved to the nearest place; remapping to the prior recovers a
# part of the loss.

found = compare(problem, best=solution)
print(found)
ratio = {row.name: row.ratio for row in found.rows}

# %%
# What an adversary who knows the prior learns: the chance to guess the place, and the distance of
# the best guess.

for row in (found.best, next(row for row in found.literature if row.name == "planar Laplace")):
    leaks = row.mechanism.leakage(prior)
    error = row.mechanism.inference_error(prior, loss)
    before, after = leaks.prior_vulnerability, leaks.posterior_vulnerability
    print(f"{row.name}: place guessed {before:.1%} -> {after:.1%}, best guess {error:.2f} km off")

# %%
# The city. Left: an arrow goes from a place to the mean of its reports. Right: the expected
# distance by place, and the reports of one place.

best = solution.mechanism
figure, axes = plt.subplots(1, 2, figsize=(13.5, 5.6), layout="constrained")
plotting.places(best, points, axes[0], prior=prior, privacy=privacy)
plotting.places(
    best, points, axes[1], prior=prior, color="loss", origin=names[prior.argmax()], privacy=privacy
)
for ax, text in zip(
    axes, ("arrows: to the mean of a place's reports", "lines: reports from one place"), strict=True
):
    ax.set_title(f"{ax.get_title()}; {text}", fontsize=10)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert proof.relative_gap <= 1e-3
assert all(row.verdict == "certified" for row in found.rows)
assert ratio["planar Laplace"] > 1.2
assert ratio["planar Laplace, remapped"] < ratio["planar Laplace"]

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "13_city.png", dpi=110)
# sphinx_gallery_end_ignore
