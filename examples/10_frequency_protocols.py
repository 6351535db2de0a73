"""
Standard frequency protocols and the optimum
============================================

Question: 944 voters each name their party on a scale of seven. Which protocol estimates the shares best, which reveals
one voter's answer best, and is the linear program's optimum among them?
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ldpopt import Problem, PureLDP, certify, datasets, frequencies, solve

party = datasets.load("anes96:PID")
print(f"{party}: {party.source}")
SHELF = {
    "randomized response": frequencies.RandomizedResponse,
    "symmetric bits": lambda inputs, epsilon: frequencies.UnaryEncoding(inputs, epsilon, kind="symmetric"),
    "optimized bits": frequencies.UnaryEncoding,
    "local hashing": frequencies.LocalHashing,
    "subset selection": frequencies.SubsetSelection,
}

# %%
# Every protocol draws from integer masses; the audit finds its true epsilon, and no ratio beyond the budget.

for name, make in SHELF.items():
    audit = make(party.labels, 1.0).audit()
    print(f"{name:20} {audit.verdict} at epsilon = 1, delta at 0.5: {audit.delta_at(0.5):.4f}")
    assert audit.verdict == "certified"

# %%
# For the shares: the root mean squared error over the seven labels, in closed form, and over 20 surveys.

epsilons = np.array([0.25, 0.5, 1.0, 2.0, 3.0, 4.0])
errors, tried = {}, {}
for name, make in SHELF.items():
    protocols = [make(party.labels, epsilon) for epsilon in epsilons]
    errors[name] = np.sqrt([protocol.total_variance / (7 * party.rows) for protocol in protocols])
    rng = np.random.default_rng(1)
    found = [[p.estimate(p.privatize(party.sample, rng=rng)).values for _ in range(20)] for p in protocols]
    tried[name] = np.sqrt(np.mean((np.array(found) - party.prior) ** 2, axis=(1, 2)))
    print(f"{name:20}", *(f"{error:.4f}" for error in errors[name]))

# %%
# For one answer: the chance that the best guess from a report is right, when the guesser knows the shares. No private
# report can beat the program's optimum; which of the shelf reaches it depends on epsilon.

solutions = [solve(Problem(party.prior, "identity", PureLDP(epsilon), inputs=party.labels)) for epsilon in epsilons]
assert all(certify(solution).relative_gap < 1e-9 for solution in solutions)
optimum = np.array([solution.value for solution in solutions])
listed = [name for name in SHELF if name != "local hashing"]  # its reports are too many to list
guesses = {}
for name in listed:
    channels = [SHELF[name](party.labels, epsilon).mechanism.channel for epsilon in epsilons]
    guesses[name] = np.array([(party.prior[:, None] * channel).max(axis=0).sum() for channel in channels])
    print(f"{name:20}", *(f"{guess:.4f}" for guess in guesses[name]))
print(f"{'optimum':20}", *(f"{value:.4f}" for value in optimum))

# %%
# Left: lines are closed forms, dots the surveys. Right: the optimum is the upper line.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
colors = dict(zip(SHELF, ("#08519c", "#9ecae1", "#cb181d", "#fd8d3c", "#238b45"), strict=True))
for name in SHELF:
    left.plot(epsilons, errors[name], color=colors[name], label=name, linewidth=4 if "response" in name else 1.5)
    left.plot(epsilons, tried[name], ".", color=colors[name])
for name in listed:
    right.plot(epsilons, guesses[name], color=colors[name], label=name, linewidth=4 if "response" in name else 1.5)
right.plot(epsilons, optimum, "k--", label="linear program")
left.set(yscale="log", xlabel=r"$\varepsilon$ (nats)", ylabel="error of a share (root mean square)")
right.set(xlabel=r"$\varepsilon$ (nats)", ylabel="chance of a right guess")
left.legend(frameon=False)
right.legend(frameon=False)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="ldpopt-"))
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "10_frequency_protocols.png", dpi=120)
print(folder / "10_frequency_protocols.png")

assert all((errors["subset selection"] <= errors[name] * (1 + 1e-9)).all() for name in SHELF)
assert all((guess <= optimum + 1e-9).all() for guess in guesses.values())
assert np.allclose([tried[name] / errors[name] for name in SHELF], 1, atol=0.35)
assert guesses["randomized response"][-1] > 0.99 * optimum[-1]
