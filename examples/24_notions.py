"""
One question under five notions of privacy
==========================================

Question: how do people come to work? The same three answers are protected in five ways. What does
each of them cost, and what does it promise?
"""

import matplotlib.pyplot as plt

from ldpopt import (
    PML,
    GraphDP,
    InformationPrivacy,
    Problem,
    PureLDP,
    Secrets,
    certify,
    neighbors,
    plot,
    solve,
)

# %%
# Pure privacy protects each answer against each other one, whatever a reader knows. A graph leaves
# out a pair. Leakage (PML) and information are about a reader who knows how frequent the answers
# are. Secrets are not the answer: here, whether somebody is rich may not be told.

answers = ["car", "train", "bicycle"]
prior = {"car": 5, "train": 3, "bicycle": 2}
notions = {
    "pure": PureLDP(1.0),
    "graph": GraphDP(1.0, neighbors.path(answers)),
    "leakage": PML(1.0),
    "information": InformationPrivacy(1.0),
    "secrets": Secrets(
        1.0,
        {
            "rich": {"car": 0.8, "train": 0.1, "bicycle": 0.1},
            "poor": {"car": 0.2, "train": 0.4, "bicycle": 0.4},
        },
    ),
}

# %%
# The best mechanism for each, with a proof. Leakage needs much less noise than pure privacy at the
# same epsilon, since a report that is rare for everybody may be likely for one answer.

solutions = {name: solve(Problem(prior, "identity", notion)) for name, notion in notions.items()}
for name, solution in solutions.items():
    proof = certify(solution)
    alone = solution.mechanism.audit()
    print(
        f"{name:12} {solution.value:.6f}  gap {float(proof.gap):.0e}  any pair {alone.epsilon:.4g}"
    )

# %%
# What each promises, and whether that depends on a prior: the notes of a solution say it.

for name, solution in solutions.items():
    for note in solution.notes:
        print(f"{name}: {note}")

# %%
# Two notions at once: leakage, and no two answers further apart than by the factor e**2.

both = solve(Problem(prior, "identity", notions["leakage"] & PureLDP(2.0)))
print(f"both: {both.value:.6f}")

# %%
# The mechanisms side by side.

figure, axes = plt.subplots(1, 5, figsize=(17, 4), layout="constrained")
for ax, (name, solution) in zip(axes, solutions.items(), strict=True):
    plot(solution.mechanism, ax)
    ax.set_title(f"{name}: {solution.value:.4f}")

# sphinx_gallery_start_ignore
# Checks of what is above; the picture goes to the folder that the command names, or to the current
# one.
import sys
from pathlib import Path

assert abs(solutions["pure"].value - 0.584846863) < 1e-9
assert abs(solutions["leakage"].value - 0.826193819) < 1e-9
assert abs(solutions["information"].value - 0.725799244) < 1e-9
assert solutions["pure"].value < both.value < solutions["leakage"].value
assert all(certify(solution).relative_gap < 1e-9 for solution in solutions.values())
target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "24_notions.png", dpi=110)
# sphinx_gallery_end_ignore
