"""
Which mechanism for which prior
===============================

Question: three answers, and a survey that must be private. When is it best to randomize among all
three, when among two, and when does the best mechanism ignore the question altogether?

The optimum is a maximum of linear functions of the prior, one for each extreme point of the private
channels. So the priors fall into cells, and their borders are known exactly.
"""

from fractions import Fraction

import matplotlib.pyplot as plt

from ldpopt import PureLDP, plotting
from ldpopt.polytope.convex import best_channel, mutual_information
from ldpopt.polytope.regions import epsilon_breakpoints, prior_regions

# %%
# Two answers first: the breakpoints of Zhou, Lu and Wu 2019, 1/(e^epsilon + 1) and
# e^epsilon/(e^epsilon + 1).

for region in prior_regions(PureLDP("log(3)"), 2):
    print(
        f"{region.label:9} best for a first answer of weight {region.corners[0][0]} to "
        f"{region.corners[1][0]}"
    )

# %%
# Three answers: 33 extreme points, of which 7 kinds are ever best. Randomized response among all
# three is the best choice for 16 % of the priors only.

regions = prior_regions(PureLDP("log(3)"), 3)
for region in regions:
    shown = ["(" + ", ".join(map(str, corner)) + ")" for corner in region.corners]
    print(f"{region.label:12} {float(region.share):6.1%}  corners {' '.join(shown)}")

# %%
# One prior, all budgets: the second answer joins at e^epsilon = 5/3, the third one at 3.

prior = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
ranges = epsilon_breakpoints(prior)
for found in ranges:
    low, high = found.epsilons
    print(
        f"epsilon from {low:.4f} to {high:.4f}: randomize among the {found.k} likeliest, "
        f"{found.members}"
    )

# %%
# Is the truth the right thing to maximize? For information about the answer, other mechanisms are
# best: two outputs at small budgets, one for the first answer and one for the two others.

weights = [float(weight) for weight in prior]
regimes = {
    epsilon: best_channel(mutual_information(weights), epsilon) for epsilon in (0.1, 0.5, 1.0, 3.0)
}
for epsilon, best in regimes.items():
    print(
        f"epsilon {epsilon}: {best.value:.6f} nats by {best.regime}, outputs raised for "
        f"{best.patterns}"
    )

# %%
# The picture at two budgets: as epsilon grows, the middle takes over.

figure, axes = plt.subplots(1, 2, figsize=(12.0, 5.6), layout="constrained")
figure.suptitle(
    "The best mechanism by prior: randomized response (RR) on all three answers, or on the top "
    "one or two"
)
for ax, ratio in zip(axes, (3, 12), strict=True):
    plotting.regions(prior_regions(PureLDP(f"log({ratio})"), 3), ax)
    ax.set_title(rf"$e^\varepsilon = {ratio}$")

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

from ldpopt import Problem, solve

assert sum(region.share for region in regions) == 1
assert regions[-1].share == Fraction(3 - 1, 3 + 2) ** 2
assert [found.ratios[0] for found in ranges] == [1, Fraction(5, 3), 3]
assert abs(solve(Problem(weights, "identity", PureLDP("log(2)"))).value - 2 * 0.8 / 3) < 1e-12
assert ranges[1].ratios[0] < 2 < ranges[2].ratios[0]
assert regimes[0.1].regime == "binary"
assert regimes[3.0].regime == "randomized response"

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "09_regions.png", dpi=120)
# sphinx_gallery_end_ignore
