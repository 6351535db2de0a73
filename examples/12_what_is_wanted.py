"""
Which mechanism estimates best?
===============================

Question: how is party identification distributed (ANES 1996, seven ordered steps)? The distribution function is wanted:
the share of people at or to the left of every step. The same people answer by three mechanisms at the same budget:
randomized response, the best subset selection, and the design for this very workload.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ldpopt import PureLDP, Workload, datasets, design
from ldpopt.estimation.designs import peers
from ldpopt.estimation.designs.realize import left_inverse

party = datasets.load("anes96:PID")
steps, epsilon, n = party.labels, 1.0, len(party.labels)
wanted = Workload.prefix(steps)
truth = wanted.matrix @ party.prior

# %%
# The design takes equal weights: it does not know the answers. Its certificate says how far it is from the best.

best = design(wanted, PureLDP(epsilon))
print(best)
print(best.certificate)

# %%
# The others get the best unbiased estimator for their channels.

channels = {
    "randomized response": peers.randomized_response(n, epsilon),
    "subset selection": min(
        (peers.subset_selection(n, epsilon, k) for k in range(1, n)), key=lambda c: peers.variance_of(wanted, c)
    ),
    "optimal design": best.mechanism.channel,
}
ratios = {name: peers.variance_of(wanted, channel) / best.value for name, channel in channels.items()}
print({name: round(ratio, 3) for name, ratio in ratios.items()})

# %%
# Three hundred surveys of the same people: root mean square error of every share.

rng, rounds, errors = np.random.default_rng(1996), 300, {}
for name, channel in channels.items():
    estimator = wanted.matrix @ left_inverse(channel, np.full(n, 1 / n))
    reports = sum(rng.multinomial(count, channel[x], rounds) for x, count in enumerate(party.counts))
    found = reports @ estimator.T / party.rows
    errors[name] = np.sqrt(np.mean((found - truth) ** 2, axis=0))

# %%
# The picture of the errors.

figure, axes = plt.subplots(figsize=(7, 4))
for name, error in errors.items():
    axes.plot(range(n), error, marker="o", label=f"{name} ({ratios[name]:.2f})")
axes.set_xticks(range(n), [f"<= {step}" for step in steps])
axes.set_ylabel("root mean square error of the share")
axes.set_ylim(bottom=0)
axes.legend(title="mechanism (variance over the optimum)")
figure.tight_layout()
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "what_is_wanted.png", dpi=150)

predicted = party.prior @ best.variance() / party.rows
simulated = float(np.sum(errors["optimal design"] ** 2))
print(f"sum of squared errors: predicted {predicted:.5f}, in {rounds} surveys {simulated:.5f}")
assert abs(simulated / predicted - 1) < 0.25
assert best.relative_gap < 1e-6
assert ratios["randomized response"] > ratios["subset selection"] > 1
