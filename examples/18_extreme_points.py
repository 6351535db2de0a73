"""
Every private mechanism: the extreme points
===========================================

Question: what do all private mechanisms look like, which of them can be optimal, and is there a
formula for n answers?
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import (
    ApproximateLDP,
    Problem,
    PureLDP,
    Utility,
    closed_forms,
    compare,
    extreme_points,
    plot,
    solve,
)

# %%
# Two answers. The private mechanisms are a polygon in the plane of two probabilities, and a linear
# utility is largest at a corner. The points are exact, and their text has ``a`` for e^epsilon, so
# that it holds for every epsilon.

pure = PureLDP("log(3)")
points = extreme_points(pure, 2)
print(points)
print(points[2].tolist())

# %%
# A utility has lines of equal value; the best corner is where the last of them touches. With delta
# there are eight corners (Zhou, Lu and Wu 2019, figures 1 and 5).

prior = [0.6, 0.4]
problem = Problem(prior, Utility([[1.0, 0.2], [0.0, 0.8]], "gain"), pure)
delta = ApproximateLDP(0.1, 0.2)
figure, axes = plt.subplots(2, 2, figsize=(13.5, 9.5), layout="constrained", height_ratios=(2, 1))
plot(points, axes[0, 0], problem=problem)
plot(extreme_points(delta, 2), axes[0, 1], problem=Problem(prior, "identity", delta))
print(points.best(problem))

# %%
# A comparison solves a problem in every way that applies, with the extreme points among them.

print(compare(Problem(prior, "identity", delta)))

# %%
# Three and four answers. There are 33 and 904 extreme points, but all of them are made of a few
# columns: an entry is the smallest one of its column, or ``a`` times as large. The pictures count
# the points in which a column occurs.

for n, ax in zip((3, 4), axes[1], strict=True):
    plot(extreme_points(pure, n), ax)
print(extreme_points(pure, 3).to_frame(formulas=True)[["in use", "formula"]].iloc[::8].to_string())

# %%
# Five answers. The 164 825 extreme points are found from 47 of them by permutations, so one can be
# taken without a list of the others. New in five answers: some points have an entry between the two
# levels, here in the column with 2.

many = extreme_points(pure, 5)
print(f"{len(many):,} points in {len(many.orbits)} orbits; number 100 000 is {many[100_000]}")
between = next(orbit for orbit in many.orbits if any(2 in column for column in orbit.pattern))
print(f"between the levels: {between.representative}, and {between.size - 1:,} more")

# %%
# Truthful reports. For the share of true reports there is a closed form for n answers, ``top_k``:
# only the k most probable answers are reported, and the best k depends on the prior and epsilon. It
# agrees with the best of the 164 825 points in rational numbers, and with the linear program.

shares = [8 / 16, 4 / 16, 2 / 16, 1 / 16, 1 / 16]  # exact in binary
truth = Problem(shares, "identity", pure)
form = closed_forms.top_k(shares, "log(3)")
best = many.best(truth)
print(
    f"best of {len(many):,}: {best.value}; closed form with k = {form.k}: {form.exact_value()[0]}"
)
print(f"linear program: {solve(truth).value:.12f}")

# %%
# The formula goes on where no list can: for 24 answers the number of extreme points has never been
# counted.

weights = 1 / np.arange(1, 25)
form = closed_forms.top_k(weights / weights.sum(), 1.0)
print(
    f"24 answers, epsilon = 1: the {form.k} most probable are reported, {form.value:.1%} of the "
    "reports are true"
)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert (len(points), len(extreme_points(pure, 3)), len(extreme_points(pure, 4)), len(many)) == (
    4,
    33,
    904,
    164_825,
)
assert str(points[2]) == "[1 a; a 1] / (a+1)"
assert best.value == closed_forms.top_k(shares, "log(3)").exact_value()[0]
assert abs(solve(truth).value - best.value) < 1e-12
assert form.value > weights.max() / weights.sum() - 1e-12

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "18_extreme_points.png", dpi=110)
# sphinx_gallery_end_ignore
