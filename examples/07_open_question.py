"""
More than two answers: an open question, answered
=================================================

Question: Zhou, Lu and Wu 2019 leave open how the optimal utility of n answers depends on the prior
and the budget. Is there a formula as for two?

There is: with the prior in descending order and S_k the sum of its first k entries,

    u* = delta + (1 - delta) max over k of  e^epsilon S_k / (e^epsilon + k - 1),

reached by randomized response among the k likeliest answers. For delta = 0 it is known (RRTop-k,
Ghazi et al. 2021).
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import ApproximateLDP, Problem, PureLDP, closed_forms, solve

prior = [0.5, 0.3, 0.2]

# %%
# The k-th answer joins where e^epsilon passes the threshold t_k = S_(k-1) / prior_k - (k - 2). For
# (0.5, 0.3, 0.2):

form = closed_forms.top_k(prior, 1.0)
breakpoints = np.log(form.thresholds)
print(f"thresholds of e^epsilon: {form.thresholds}, breakpoints in epsilon: {breakpoints.round(6)}")
print(f"at epsilon = 1: k = {form.k}, value {form.value:.10f}")

# %%
# The linear program agrees, on both sides of each breakpoint and for both meanings of delta.

worst = 0.0
for epsilon in (0.1, *(breakpoints[1:] - 0.01), *(breakpoints[1:] + 0.01), 3.0):
    for delta in (0.0, 0.1):
        value = closed_forms.top_k(prior, epsilon, delta).value
        for kind in ("event", "entry"):
            solution = solve(Problem(prior, "identity", ApproximateLDP(epsilon, delta, form=kind)))
            worst = max(worst, abs(solution.value - value))
print(f"largest difference between formula and linear program: {worst:.1e}")

# %%
# Why it cannot be better: multipliers y >= 0 that sum to u0. Any private channel has u(P) <= delta
# + (1 - delta) sum y. In rationals, for the upper end of an enclosure of e^epsilon:

dual = form.exact_dual()
low, high = form.exact_value()
print(f"multipliers {[round(float(y), 6) for y in dual]}, sum {float(sum(dual)):.10f}")
print(f"the optimum lies between {float(low):.16f} and {float(high):.16f}")

# %%
# The inverse question: the least budget at which 80 % of the answers can be true.

epsilon = closed_forms.least_epsilon(prior, 0.8)
print(f"80 % true answers need epsilon = {epsilon:.6f}")

# %%
# The value is the upper envelope of one curve for each k; the breakpoints are where they cross.

epsilons = np.linspace(0, 3, 301)
alpha = np.exp(epsilons)[:, None]
sums = np.cumsum(prior)
curves = alpha * sums / (alpha + np.arange(3))
figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for k in range(3):
    ax.plot(
        epsilons, curves[:, k], linestyle=(":", "--", "-")[k], color="#084594", label=f"k = {k + 1}"
    )
ax.plot(epsilons, curves.max(axis=1), color="black", linewidth=3, alpha=0.25, label="optimum")
solved = [solve(Problem(prior, "identity", PureLDP(epsilon))).value for epsilon in epsilons[::30]]
ax.plot(epsilons[::30], solved, "o", color="#cb181d", markersize=4, label="linear program")
for place, breakpoint_ in enumerate(breakpoints[1:], start=2):
    ax.axvline(breakpoint_, color="gray", linestyle=":", linewidth=1)
    ax.annotate(rf"$\ln t_{place}$", (breakpoint_ + 0.03, 0.36), fontsize=9)
ax.set(xlabel=r"$\varepsilon$ (nats)", ylabel="expected share of true answers", ylim=(0.33, 1))
ax.set_title("Three answers, pure privacy: randomized response among k of them")
ax.legend(frameon=False, fontsize=8)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert worst < 1e-12
assert abs(closed_forms.top_k(prior, epsilon).value - 0.8) < 1e-12
assert abs(form.value - 0.5848468629040040) < 1e-12

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "07_open_question.png", dpi=120)
# sphinx_gallery_end_ignore
