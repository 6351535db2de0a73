"""The picture on the first page: true answers, the mechanism that is provably best, and what its
reports tell.

Run from the repository: ``python docs/about.py`` writes ``docs/about.png``.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ldpopt import datasets, design, read_model

model = read_model("anes96_party_prefix").design
best = design(model.workload, model.privacy, weights=model.weights)
people = datasets.load("anes96:PID").sample
found = best.estimate(best.mechanism.privatize(people, rng=1))
truth = np.cumsum(model.weights)
levels = np.arange(len(truth))

figure = Figure(figsize=(11, 3.6), layout="constrained")
left, middle, right = figure.subplots(1, 3)

left.bar(levels, model.weights, color="0.55", edgecolor="black", linewidth=0.6)
left.set(title="1. Each person has an answer\nthat must stay private", ylabel="share of people")

image = middle.imshow(best.mechanism.channel, cmap="Greys", aspect="auto")
middle.set(
    title="2. and sends a report, drawn from\nthe best private channel, $\\varepsilon$ = 1",
    xlabel="report",
)
middle.set_yticks(levels, model.workload.inputs or [])
figure.colorbar(image, ax=middle, label="P(report | answer)")

low, high = found.interval.T
right.fill_between(levels, low, high, color="0.85", label="95 % interval")
right.plot(levels, found.values, "o-", color="black", markersize=4, label="estimate from reports")
right.plot(levels, truth, "s--", color="#b2182b", markersize=4, label="truth")
right.set(
    title="3. The reports estimate the distribution\nwith the smallest possible variance",
    ylim=(0, 1.1),
)
right.set_ylabel("share up to this answer")
right.legend(loc="lower right", fontsize=8)
for axes in (left, right):
    axes.set_xticks(levels, model.workload.inputs or [])
    axes.set_xlabel("answer, strong Democrat to strong Republican", fontsize=8)

for axes in (left, middle, right):
    axes.title.set_fontsize(10)
figure.savefig(Path(__file__).with_name("about.png"), dpi=110)
