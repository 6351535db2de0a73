"""
Noise for a table
=================

Question: 944 voters told a pollster their age. How many are 65 or over, and how old are they on
average, if the answer must not reveal whether any one of them is in the table? This is the other
model of privacy: a trusted curator adds noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import datasets, neighbors, noise

ages = datasets.load("anes96:age")
years = np.asarray(ages.labels)[ages.codes]
truth = int((years >= 65).sum())
epsilon = 0.5
print(f"{ages}: {ages.source}")

# %%
# Sensitivity: how far the answer moves between neighbors. One person added or removed moves a count
# by 1 and a whole histogram by 1; one person *replaced* moves the histogram by 2. State which one
# is meant.

tables = neighbors.histograms(3, 4)
full = {table: table for table in tables.nodes if sum(table) == 4}
replaced = neighbors.within(
    full, lambda x, y: sum(abs(a - b) for a, b in zip(x, y, strict=True)), 2
)
print("count, add or remove:    ", noise.sensitivity(lambda table: table[0], tables))
print("histogram, add or remove:", noise.sensitivity(lambda table: table, tables))
print("histogram, replace:      ", noise.sensitivity(lambda table: table, replaced))

# %%
# Laplace noise of scale sensitivity / epsilon. The sum of ages has the sensitivity 100 if ages are
# cut off there; the mean is the sum over the count, each with half of the budget.

laplace = noise.Laplace(1.0, epsilon)
print(
    f"true count {truth}, published {truth + laplace.sample(1, rng=1)[0]:.1f} +- "
    f"{laplace.expected_abs:g} on average"
)
total = noise.Laplace(100.0, epsilon / 2)
people = noise.Laplace(1.0, epsilon / 2)
rng = np.random.default_rng(2)
published = (years.sum() + total.sample(2000, rng=rng)) / (ages.rows + people.sample(2000, rng=rng))
print(
    f"true mean {years.mean():.2f}, published {published[0]:.2f}; spread "
    f"{published.std():.2f} years"
)

# %%
# The low bits of a float reveal the answer to which it was added. What is published is noise on the
# whole numbers, drawn from integer masses; cut off to 0 .. 944 it is a mechanism, and the audit
# finds its true budget between neighbors.

counted = laplace.on_grid(1.0)
draws = truth + counted.sample(20_000, rng=3)
pair = counted.truncated(12)
print(f"drawn exactly: {draws[:8].tolist()}, mean {draws.mean():.2f}")
steps = [float(np.log(pair.channel[x] / pair.channel[x + 1]).max()) for x in range(11)]
print(
    f"largest loss between neighbors {max(steps):.12f} of {epsilon}; 11 apart "
    f"{pair.audit().epsilon:.6f}"
)

# %%
# Left: the densities of two neighbors. The band is where privacy allows the second one: within a
# factor e^epsilon of the first. Right: the draws.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
grid = np.linspace(truth - 9, truth + 10, 800)
first = laplace.pdf(grid - truth)
factor = np.exp(epsilon)
allowed = r"first curve, times $e^{-\varepsilon}$ to $e^{\varepsilon}$"
left.fill_between(grid, first / factor, first * factor, color="#c6dbef", label=allowed)
left.plot(grid, first, color="#08519c", label=f"{truth} people of 65 or over")
left.plot(grid, laplace.pdf(grid - truth - 1), "--", color="#cb181d", label="one more")
left.set(
    title=rf"Laplace noise, $\varepsilon = {epsilon:g}$",
    xlabel="published count",
    ylabel="density",
    ylim=(0, 0.55),
)
left.legend(frameon=False)
shown, counts = np.unique(draws, return_counts=True)
right.bar(shown, counts / len(draws), color="#9ecae1", label="20 000 draws")
right.plot(shown, counted.pdf(shown - truth), "k.", label="probability")
right.set(
    title="On whole numbers",
    xlabel="published count",
    ylabel="share",
    xlim=(truth - 15, truth + 15),
)
right.legend(frameon=False)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

from ldpopt import PureLDP

assert noise.sensitivity(lambda table: table, tables) == 1
assert noise.sensitivity(lambda table: table, replaced) == 2
assert max(steps) <= epsilon + 1e-12
assert pair.audit(PureLDP(11 * epsilon)).verdict == "certified"
assert abs(draws.mean() - truth) < 5 * np.sqrt(counted.variance / len(draws))

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "11_laplace_mechanism.png", dpi=120)
# sphinx_gallery_end_ignore
