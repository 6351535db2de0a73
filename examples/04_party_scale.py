"""
An ordered scale
================

Question: people place themselves on a seven-step scale from strong Democrat to strong Republican
(ANES 1996). Only neighboring steps must be hard to distinguish. A report two steps off is worse
than one that is one step off. Which mechanism is nearest to the truth on average?
"""

import matplotlib.pyplot as plt

from ldpopt import GraphDP, Problem, PureLDP, certify, datasets, neighbors, plotting, solve

party = datasets.load("anes96:PID")
prior = dict(zip(party.labels, party.prior.tolist(), strict=True))
print(f"{party}; {party.source}")
print({label: round(share, 4) for label, share in prior.items()})

# %%
# The problem: the inputs are on a path graph, the loss counts steps. Inputs r steps apart are
# protected at r epsilon.

ordered = Problem(prior, "absolute_error", GraphDP(1.0, neighbors.path(party.labels)))
everywhere = Problem(prior, "absolute_error", PureLDP(1.0))

# %%
# Solve, certify. Local differential privacy protects all pairs equally, which costs one more step
# on average.

solutions = {"path": solve(ordered), "all pairs": solve(everywhere)}
for name, solution in solutions.items():
    proof = certify(solution)
    print(
        f"{name}: {solution.value:.6f} steps off on average, gap {proof.relative_gap:.1e}, "
        f"{proof.audit.verdict}"
    )

# %%
# Along the path every report is used. With all pairs protected equally only two are: the scale
# becomes a yes or no.

figure, axes = plt.subplots(1, 2, figsize=(12.5, 4.6), layout="constrained")
for ax, (name, solution) in zip(axes, solutions.items(), strict=True):
    plotting.mechanism(solution.mechanism, ax)
    ax.set_title(rf"{name}, $\varepsilon$ = 1: {solution.value:.3f} steps off")

# %%
# The audit of the first one: epsilon is 1 between neighboring steps and larger between the ends.

mechanism = solutions["path"].mechanism
print(mechanism.audit(ordered.privacy))
print(f"between any two inputs: {mechanism.audit().epsilon:.6f}")

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert abs(solutions["path"].value - 0.61012136842364) < 1e-9
assert solutions["path"].value < solutions["all pairs"].value
assert mechanism.audit(ordered.privacy).verdict == "certified"
assert mechanism.audit(everywhere.privacy).verdict == "violated"

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "04_party_scale.png", dpi=120)
# sphinx_gallery_end_ignore
