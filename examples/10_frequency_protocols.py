"""
Standard frequency protocols and the optimum
============================================

Question: 944 voters each name their party on a scale of seven. Which protocol estimates the shares
best, which reveals one voter's answer best, and is the linear program's optimum among them?
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import Problem, PureLDP, datasets, frequencies, solve

party = datasets.load("anes96:PID")
print(f"{party}: {party.source}")
PROTOCOLS = {
    "randomized response": frequencies.RandomizedResponse,
    "symmetric bits": lambda inputs, epsilon: frequencies.UnaryEncoding(
        inputs, epsilon, kind="symmetric"
    ),
    "optimized bits": frequencies.UnaryEncoding,
    "local hashing": frequencies.LocalHashing,
    "subset selection": frequencies.SubsetSelection,
}

# %%
# Every protocol draws from integer masses; the audit finds its true epsilon, and no ratio beyond
# the budget.

for name, make in PROTOCOLS.items():
    audit = make(party.labels, 1.0).audit()
    print(f"{name:20} {audit.verdict} at epsilon = 1, delta at 0.5: {audit.delta_at(0.5):.4f}")

# %%
# For the shares: the root mean squared error over the seven labels, in closed form, and over 20
# surveys.

epsilons = np.array([0.25, 0.5, 1.0, 2.0, 3.0, 4.0])
errors = {}
tried = {}
for name, make in PROTOCOLS.items():
    protocols = [make(party.labels, epsilon) for epsilon in epsilons]
    errors[name] = np.sqrt([protocol.total_variance / (7 * party.rows) for protocol in protocols])
    rng = np.random.default_rng(1)
    found = [
        [p.estimate(p.privatize(party.sample, rng=rng)).values for _ in range(20)]
        for p in protocols
    ]
    tried[name] = np.sqrt(np.mean((np.array(found) - party.prior) ** 2, axis=(1, 2)))
    print(f"{name:20}", *(f"{error:.4f}" for error in errors[name]))

# %%
# For one answer: the chance that the best guess from a report is right, for someone who knows the
# shares. No private report can beat the program's optimum; which protocol reaches it depends on
# epsilon.

solutions = [
    solve(Problem(party.prior, "identity", PureLDP(epsilon), inputs=party.labels))
    for epsilon in epsilons
]
optimum = np.array([solution.value for solution in solutions])
listed = [name for name in PROTOCOLS if name != "local hashing"]  # its reports are too many to list
guesses = {}
for name in listed:
    channels = [PROTOCOLS[name](party.labels, epsilon).mechanism.channel for epsilon in epsilons]
    guesses[name] = np.array(
        [(party.prior[:, None] * channel).max(axis=0).sum() for channel in channels]
    )
    print(f"{name:20}", *(f"{guess:.4f}" for guess in guesses[name]))
print(f"{'optimum':20}", *(f"{value:.4f}" for value in optimum))

# %%
# Left: lines are closed forms, open markers the surveys. Randomized response is drawn thick, since
# subset selection is the same from epsilon = 2 on; so are optimized bits and local hashing. Right:
# nothing is above the optimum.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
looks = zip(
    ("#c6dbef", "#6baed6", "#cb181d", "#fd8d3c", "#00441b"),
    ("-", "-.", "-", ":", "--"),
    strict=True,
)
style = {
    name: {"color": c, "ls": line, "lw": 2}
    for name, (c, line) in zip(PROTOCOLS, looks, strict=True)
}
style["randomized response"]["lw"] = 7
for (name, look), marker in zip(style.items(), "sv^oD", strict=True):
    left.plot(epsilons, errors[name], label=name, **look)
    left.plot(epsilons, tried[name], marker, color="black", markerfacecolor="none", markersize=5)
    if name in listed:
        right.plot(epsilons, guesses[name], label=name, **look)
left.plot([], [], "o", color="black", markerfacecolor="none", label="20 surveys")
right.plot(epsilons, optimum, "k", lw=1, marker=".", label="optimum (linear program)")
for ax, title in ((left, "Seven shares from 944 reports"), (right, "One answer from one report")):
    ax.set(title=f"{title}, pure privacy", xlabel=r"$\varepsilon$ (nats)")
    ax.legend(frameon=False)
left.set(yscale="log", ylabel="error of a share (root mean square)")
right.set(ylabel="chance of a right guess")

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

from ldpopt import certify

assert all(make(party.labels, 1.0).audit().verdict == "certified" for make in PROTOCOLS.values())
assert all(certify(solution).relative_gap < 1e-9 for solution in solutions)
assert all((errors["subset selection"] <= errors[name] * (1 + 1e-9)).all() for name in PROTOCOLS)
assert all((guess <= optimum + 1e-9).all() for guess in guesses.values())
assert np.allclose([tried[name] / errors[name] for name in PROTOCOLS], 1, atol=0.35)
assert guesses["randomized response"][-1] > 0.99 * optimum[-1]

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "10_frequency_protocols.png", dpi=120)
# sphinx_gallery_end_ignore
