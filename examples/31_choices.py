"""
People choose their epsilon
===========================

Question: a survey on smoking lets each person choose how well the answer is protected. Smokers are
more careful: they choose a small epsilon more often. What is the share of smokers, and what becomes
of it if somebody forgets that the choice has to do with the answer?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpopt as lo

menu = [0.5, 1.0, 2.0, 4.0]
survey = lo.Survey({"smokes": ["no", "yes"]}, choices=menu)
print(survey)

# %%
# 6000 people, of whom 25 % smoke. The chance of each choice depends on the answer.

rng = np.random.default_rng(3)
people = 6000
smokes = rng.random(people) < 0.25
chances = np.where(smokes[:, None], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])
places = (rng.random(people)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
answers = pd.DataFrame(
    {"smokes": np.where(smokes, "yes", "no"), "choice": np.array(menu)[np.minimum(places, 3)]}
)
reports = survey.privatize(answers, rng=4)

# %%
# Estimates are by strata of the choice: they are right whatever the choice has to do with the
# answer. Pooled ones let people with a larger epsilon count more, which is right only if somebody
# drew the budgets: here they miss most of the smokers.

strata = survey.estimate(reports)["smokes"]
pooled = survey.estimate(reports, pooled=True)["smokes"]
for name, estimate in {"by strata": strata, "pooled": pooled}.items():
    low, high = estimate.interval[1]
    print(f"{name:10} {estimate.values[1]:.3f}, from {low:.3f} to {high:.3f}")
print(f"truth      {smokes.mean():.3f}")

# %%
# What a choice buys: the standard error of the same 6000 people if all of them have one epsilon.

errors = {}
for epsilon in menu:
    single = lo.Survey({"smokes": ["no", "yes"]}, epsilon=epsilon)
    prior = {"no": 0.75, "yes": 0.25}
    errors[epsilon] = float(np.sqrt(single.precision("smokes", prior=prior).variances[1] / people))
for epsilon, error in errors.items():
    print(f"everybody {epsilon}: {error:.4f}")
print(f"chosen:        {strata.std_error[1]:.4f}")

# %%
# Both estimates with their intervals, and the truth.

figure, ax = plt.subplots(figsize=(6.4, 2.6))
for place, estimate in enumerate((strata, pooled)):
    ax.plot(estimate.interval[1], [place, place], color="black")
    ax.plot(estimate.values[1], place, "o", color="black")
ax.axvline(smokes.mean(), color="gray", linewidth=0.8, linestyle=":")
ax.set(yticks=[0, 1], yticklabels=["by strata", "pooled"], ylim=(-0.6, 1.6), xlabel="smokers")
figure.tight_layout()

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert strata.interval[1, 0] <= smokes.mean() <= strata.interval[1, 1]
assert pooled.interval[1, 1] < smokes.mean() - 0.05
assert errors[4.0] < strata.std_error[1] < errors[0.5]

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "31_choices.png", dpi=110)
# sphinx_gallery_end_ignore
