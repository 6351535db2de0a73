"""
A satisfaction survey of 10 000 people
======================================

Question: a university asks 10 000 people whether they are satisfied with its teaching system, and
about 80 % are. Nobody should have to reveal the answer. How often can people tell the truth if
every report must be private?

This is the motivating survey of Zhou, Lu and Wu 2019, with their numbers: epsilon = 0.1, delta =
0.15.
"""

import matplotlib.pyplot as plt

from ldpopt import ApproximateLDP, Problem, PureLDP, audit, certify, closed_forms, plotting, solve

# %%
# The problem: 0 is "not satisfied", 1 is "satisfied". The identity utility is the expected share of
# true answers. The paper's delta applies to single reports ("entry"); with two reports this equals
# the usual delta over all events.

prior = {"0": 0.2, "1": 0.8}
pure = Problem(prior, "identity", PureLDP(0.1))
approximate = Problem(prior, "identity", ApproximateLDP(0.1, 0.15, form="entry"))

# %%
# Solve both, and prove both: no private mechanism does better than ``bound``.

solutions = {"pure": solve(pure), "with delta": solve(approximate)}
for name, solution in solutions.items():
    proof = certify(solution)
    print(
        f"{name}: {solution.value:.6f} of answers true, bound {float(proof.bound):.6f}; "
        f"{proof.audit.verdict}"
    )
    print(solution.mechanism.to_frame(), "\n")

# %%
# The closed forms (4) and (15) of the paper give the same values without a solver.

forms = {
    "pure": closed_forms.binary(prior, 0.1),
    "with delta": closed_forms.binary(prior, 0.1, 0.15),
}
for name, form in forms.items():
    print(f"{name}: closed form {form.value:.6f}, region {form.region!r}")

# %%
# What do the two optima do? The pure one always reports "1": 80 % of the reports are true, and the
# survey learns nothing. The one with delta reports "0" for 15 % of the unsatisfied and for nobody
# else: a "0" proves the answer.

channel = forms["with delta"].channel
exposed = 10_000 * 0.2 * channel[0, 0]
pure_epsilon = audit(channel).epsilon
print(channel)
print(
    f"expected reports of '0': {exposed:.0f} of 10 000, and each of them proves that its sender is "
    "not satisfied"
)
print(
    "Pr(answer is 0 | report is 0) = "
    f"{solutions['with delta'].mechanism.posterior(prior)[0, 0]:.9f}"
)
print(f"smallest pure epsilon of this channel: {pure_epsilon}")

# %%
# The private mechanisms as points (p00, p11), as in figures 1 and 5 of the paper. The red corner is
# the optimum.

figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained")
for ax, problem in zip(axes, (pure, approximate), strict=True):
    plotting.polytope(problem.privacy, ax, prior=[0.2, 0.8])
    ax.set(
        xlabel="$p_{00}$: the unsatisfied who report 0",
        ylabel="$p_{11}$: the satisfied who report 1",
    )

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

import numpy as np

assert all(abs(forms[name].value - solutions[name].value) < 1e-12 for name in forms)
assert abs(solutions["pure"].value - 0.80) < 1e-12
assert abs(solutions["with delta"].value - 0.83) < 1e-12
assert abs(exposed - 300) < 1e-6
assert np.isinf(pure_epsilon)

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "01_survey.png", dpi=120)
# sphinx_gallery_end_ignore
