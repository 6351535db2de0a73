"""
Places on a map
===============

Question: eight places in Manhattan. A report should hide a person's position among nearby places,
and less so among distant places: metric privacy, also called geo-indistinguishability (Andres et
al. 2013). How far off is the best report?
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import MetricDP, Problem, Utility, certify, solve

# %%
# Kilometers east and north of Union Square.

places = {
    "Battery Park": (-2.18, -3.63),
    "City Hall": (-1.26, -2.58),
    "Washington Sq.": (-0.52, -0.57),
    "Union Sq.": (0.0, 0.0),
    "Empire State": (0.46, 1.39),
    "Times Sq.": (0.47, 2.46),
    "Grand Central": (1.17, 1.87),
    "Columbus Circle": (0.78, 3.58),
}
points = np.array(list(places.values()))
kilometers = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))

# %%
# The problem: all places are equally likely, the loss is the distance between the true and the
# reported place, and the budget is epsilon = 1 for each kilometer.

problem = Problem(
    np.full(8, 1 / 8), Utility(kilometers, "loss"), MetricDP(1.0, kilometers), inputs=list(places)
)
solution = solve(problem)
proof = certify(solution)
print(
    f"{solution.value:.6f} km off on average; relative gap {proof.relative_gap:.1e}; "
    f"{proof.audit.verdict}"
)
print(solution.mechanism.to_frame().round(3).to_string())

# %%
# For comparison, the exponential mechanism: the probability of a place is proportional to
# exp(-distance / 2).

weights = np.exp(-kilometers / 2)
naive = weights / weights.sum(axis=1, keepdims=True)
naive_loss = (naive * kilometers).sum() / 8
print(f"exponential mechanism: {naive_loss:.4f} km off")

# %%
# The picture: the reports from Union Square, and those from all places together. Areas are
# probabilities.

figure, axes = plt.subplots(1, 2, figsize=(8.6, 5.8), layout="constrained", sharey=True)
channel = solution.mechanism.channel
for ax, title, size in (
    (axes[0], "reports from Union Square", channel[3]),
    (axes[1], "all reports", channel.mean(axis=0)),
):
    ax.scatter(*points.T, s=2600 * size, color="#6baed6", alpha=0.7, edgecolor="#08306b")
    ax.plot(*points.T, ".", color="#08306b", markersize=3)
    for (name, (east, north)), share in zip(places.items(), size, strict=True):
        offset = (6 + 29 * share**0.5, -3)
        ax.annotate(
            f"{name} {share:.0%}", (east, north), offset, textcoords="offset points", fontsize=8
        )
    ax.set(title=title, xlabel="km east", xlim=(-3.1, 3.6), aspect="equal")
axes[0].set_ylabel("km north")
figure.suptitle(r"metric privacy, $\varepsilon$ = 1 per kilometer", fontsize=10)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert proof.relative_gap < 1e-9
assert proof.audit.verdict == "certified"
assert solution.value < naive_loss

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "05_places.png", dpi=120)
# sphinx_gallery_end_ignore
