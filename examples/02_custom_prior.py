"""
Your own prior
==============

Question: a clinic asks how people smoke. It knows roughly how frequent the answers are. Which
randomized answers are true most often at epsilon = 1, and can the optimum be checked without a
solver?
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from ldpopt import Mechanism, Problem, PureLDP, certify, closed_forms, plotting, solve

# %%
# A prior is a mapping label -> weight. The labels become the inputs and outputs; the weights are
# divided by their sum.

weights = {"never": 50, "stopped": 22, "sometimes": 14, "daily": 11, "heavily": 3}
problem = Problem(weights, "identity", PureLDP(1.0))
print(problem)
print(dict(zip(problem.inputs, problem.prior.round(3).tolist(), strict=True)))

# %%
# Solve and certify. ``achieved`` and ``bound`` are exact rationals that hold for the real number e.

solution = solve(problem)
proof = certify(solution)
print(solution.mechanism.to_frame().round(4))
print(
    f"value {solution.value:.12f}, relative gap {proof.relative_gap:.1e}, audit "
    f"{proof.audit.verdict}"
)

# %%
# The closed form: k-ary randomized response among the k likeliest answers. Which k depends on the
# prior and epsilon. The solver may return another mechanism of the same value: the other answers
# may be reported as any of these k.

form = closed_forms.top_k(weights, 1.0)
members = [form.inputs[code] for code in form.members]
print(f"closed form {form.value:.12f}: randomized response among {members}")
low, high = form.exact_value()
print(f"the optimum lies between two rationals {float(high - low):.0e} apart")

# %%
# Save the mechanism. Every float is read back unchanged, so the loaded mechanism is private too, as
# the audit confirms.

folder = Path(tempfile.mkdtemp())
solution.mechanism.save(folder / "smoking.json")
again = Mechanism.load(folder / "smoking.json")
print(again.audit(PureLDP(1.0)))
print(again.sample(["daily", "never", "never"], rng=7))

# %%
# The picture: the prior, and what each answer becomes.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained", width_ratios=[2, 3]
)
left.bar(range(5), problem.prior, color="#9ecae1")
left.bar(form.members, problem.prior[form.members], color="#08519c", label="ever reported")
left.set_xticks(range(5), problem.inputs, rotation=45, ha="right", rotation_mode="anchor")
left.set_ylabel("prior")
left.legend(frameon=False)
left.set_title("the answers")
plotting.mechanism(solution.mechanism, right)
right.set_title(r"pure privacy, $\varepsilon$ = 1")

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys

import numpy as np

assert abs(solution.value - form.value) < 1e-12
assert low <= proof.bound
assert proof.relative_gap < 1e-12
assert np.array_equal(again.channel, solution.mechanism.channel)
assert again.audit(PureLDP(1.0)).verdict == "certified"

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "02_custom_prior.png", dpi=120)
# sphinx_gallery_end_ignore
