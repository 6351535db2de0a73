"""
A sensitive survey, from design to estimate
===========================================

Question: 6366 women were asked in 1974 whether they had an extramarital affair (Fair 1978); 32.2 %
said yes. If every answer had been randomized first, how well could the rate still be estimated?
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import Problem, PureLDP, datasets, estimate_frequencies, solve
from ldpopt.errors import StatementError

survey = datasets.load("fair:affairs")
truth = float(survey.prior[1])
print(f"{survey}: {survey.source}")

# %%
# First thought: the mechanism with most true answers for the known prior. At small epsilon it is
# constant: two thirds would answer "no", so everybody reports "no". It is optimal, and useless for
# estimates because all reports are equal.

prior = dict(zip(survey.labels, survey.prior.tolist(), strict=True))
constant = solve(Problem(prior, "identity", PureLDP(0.5))).mechanism
print(constant.to_frame())
try:
    estimate_frequencies(constant, constant.sample(survey.sample, rng=1))
    raise AssertionError("a constant row must not be inverted")
except StatementError as error:
    print(f"{error}\n")

# %%
# Each objective has its own optimum. For estimates, every answer needs a chance of a true report:
# optimize the worst case. The result is symmetric randomized response, whose two rows differ at
# every epsilon > 0. It needs no prior.

epsilons = [0.25, 0.5, 1.0, 2.0, 4.0]
estimates = []
for seed, epsilon in enumerate(epsilons):
    problem = Problem(
        None, "identity", PureLDP(epsilon), inputs=survey.labels, objective="worst_case"
    )
    solution = solve(problem)
    reports = solution.mechanism.sample(survey.sample, rng=seed)
    estimates.append(estimate_frequencies(solution.mechanism, reports))
    (_, rate), (_, error), (_, (low, high)) = (
        estimates[-1].values,
        estimates[-1].std_error,
        estimates[-1].interval,
    )
    share = (reports == "yes").mean()
    print(
        f"epsilon {epsilon:4}: {share:.1%} report yes, estimate {rate:.1%} +- {error:.1%} "
        f"[{low:.1%}, {high:.1%}]"
    )
print(f"truth among the {survey.rows} women: {truth:.1%}")

# %%
# Of five 95 % intervals one may well miss, and the one at epsilon = 1 does. Over 200 repetitions
# they cover the truth a little more often than 95 %, since they also allow for the choice of the
# women, who stay the same here.

problem = Problem(None, "identity", PureLDP(1.0), inputs=survey.labels, objective="worst_case")
mechanism = solve(problem).mechanism
covered = 0
for seed in range(200):
    low, high = estimate_frequencies(mechanism, mechanism.sample(survey.sample, rng=seed)).interval[
        1
    ]
    covered += low <= truth <= high
print(f"coverage at epsilon = 1: {covered / 200:.1%}")

# %%
# The error bars are those intervals. They shrink with epsilon; at 0.25 even 6366 answers are
# imprecise.

rates = np.array([estimate.values[1] for estimate in estimates])
errors = np.array([estimate.std_error[1] for estimate in estimates])
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.axhline(truth, color="#cb181d", linestyle="--", label=f"true rate {truth:.1%}")
ax.errorbar(
    epsilons,
    rates,
    1.96 * errors,
    fmt="o",
    color="#08519c",
    capsize=4,
    label="estimate, 95 % interval",
)
ax.set_xscale("log", base=2)
ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
ax.set_yticks([0.2, 0.25, 0.3, 0.35, 0.4, 0.45])
ax.yaxis.set_major_formatter("{x:.0%}")
ax.set_xlabel(r"$\varepsilon$ (nats)")
ax.set_ylabel("share of yes")
ax.set_title(r"6366 answers, pure privacy: the estimate at each $\varepsilon$")
ax.legend(frameon=False)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

from ldpopt import certify

assert certify(solution).audit.verdict == "certified"
assert (np.abs(rates - truth) < 4 * errors).all()
assert (np.diff(errors) < 0).all()
assert covered >= 185

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "03_fair_survey.png", dpi=120)
# sphinx_gallery_end_ignore
