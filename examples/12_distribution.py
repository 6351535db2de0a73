"""
Which mechanism estimates best?
===============================

Question: how is party identification distributed (ANES 1996, seven ordered steps)? The distribution
function is to be estimated: the share of people at or to the left of each step. The same people
answer by three mechanisms at the same budget: randomized response, subset selection, and the design
for this workload.
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import PureLDP, Workload, datasets, design, estimate_frequencies, frequencies

party = datasets.load("anes96:PID")
steps = party.labels
epsilon = 1.0
n = len(party.labels)
workload = Workload.prefix(steps)
truth = workload.matrix @ party.prior

# %%
# The design uses equal weights: it does not know the answers. Its certificate bounds the distance
# from the optimum.

best = design(workload, PureLDP(epsilon))
print(best)
print(best.certificate)

# %%
# The estimators: the value that each report contributes to each share. For the other two mechanisms
# they follow from the estimated shares of single answers.

mechanisms = {
    "randomized response": frequencies.RandomizedResponse(steps, epsilon).mechanism,
    "subset selection": frequencies.SubsetSelection(steps, epsilon).mechanism,
    "optimal design": best.mechanism,
}
estimators = {
    name: workload.matrix
    @ np.column_stack([estimate_frequencies(m, {report: 1}).values for report in m.outputs])
    for name, m in mechanisms.items()
}
estimators["optimal design"] = best.estimator

# %%
# The error of each share: predicted from the channel, and measured in thousands of surveys of the
# same people.

rng = np.random.default_rng(1996)
rounds = 4000
predicted = {}
simulated = {}
for name, mechanism in mechanisms.items():
    channel = mechanism.channel
    estimator = estimators[name]
    variance = party.prior @ (channel @ estimator.T**2 - workload.matrix.T**2)
    predicted[name] = np.sqrt(np.maximum(variance, 0) / party.rows)
    reports = sum(
        rng.multinomial(count, channel[x], rounds) for x, count in enumerate(party.counts)
    )
    simulated[name] = np.sqrt(np.mean((reports @ estimator.T / party.rows - truth) ** 2, axis=0))
totals = {name: float(np.sum(error**2)) for name, error in predicted.items()}
ratios = {name: total / totals["optimal design"] for name, total in totals.items()}
print({name: round(ratio, 2) for name, ratio in ratios.items()})

# %%
# The picture of the errors: lines are predicted, marks are the surveys. The last share is always 1.
# Subset selection is the best for the shares of single answers, and so at the left end; in sums its
# errors grow.

figure, axes = plt.subplots(figsize=(7.5, 4.2))
styles = {"tab:blue": ":s", "tab:orange": "--^", "tab:green": "-o"}
for (color, (*line, mark)), name in zip(styles.items(), mechanisms, strict=True):
    axes.plot(
        100 * predicted[name][:-1], "".join(line), color=color, label=f"{name}: {ratios[name]:.2f}"
    )
    axes.plot(100 * simulated[name][:-1], mark, color=color, markerfacecolor="white")
axes.set_xticks(
    range(n - 1),
    [f"up to {step}\n{share:.0%}" for step, share in zip(steps[:-1], truth, strict=False)],
)
axes.set_xlabel("estimated share, and its true size")
axes.set_ylabel("root mean square error, percentage points")
axes.set_ylim(bottom=0)
axes.set_title(
    f"{party.rows} people, $\\varepsilon$ = {epsilon:g}: predicted (lines), in {rounds} "
    "surveys (marks)",
    loc="left",
)
axes.legend(title="sum of squared errors over the optimum", frameon=False, loc="lower center")
axes.spines[["top", "right"]].set_visible(False)
axes.grid(axis="y", alpha=0.3)
figure.tight_layout()

total = float(np.sum(simulated["optimal design"] ** 2))
print(
    f"sum of squared errors: predicted {totals['optimal design']:.5f}, in {rounds} "
    f"surveys {total:.5f}"
)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

least = totals["optimal design"]
assert abs(total / least - 1) < 0.25
assert abs(least / (party.prior @ best.variance() / party.rows) - 1) < 1e-6
assert best.relative_gap < 1e-6
assert ratios["randomized response"] > ratios["subset selection"] > 1

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "12_distribution.png", dpi=150)
# sphinx_gallery_end_ignore
