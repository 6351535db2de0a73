"""
Several questions, one report on all of them
============================================

Question: six habits are asked, each yes or no, and all answers of a person together may reveal no
more than epsilon = 3. Should each question get a sixth of the budget, should each person be asked
one of the questions, or should one report be about all of them?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ldpopt import Survey, Workload, compare_schemes

habits = ["smokes", "drinks", "gambles", "speeds", "skips work", "takes pills"]
questions = {habit: Workload.frequencies(["no", "yes"]) for habit in habits}

# %%
# The schemes are compared before anybody is asked: the variance of a share, times the number of
# people. At a budget of 1 a joint report is no better than one question for each person; at 3 it
# needs about half the people.

for epsilon in (1.0, 3.0):
    compared = compare_schemes(questions, epsilon)
    variances = {scheme: round(mean, 2) for scheme, mean in compared.average.items()}
    print(f"epsilon {epsilon:g}: {variances}, best: {compared.best}")

# %%
# The joint report is one column: some of the questions, each with a yes or a no. Epsilon is that of
# all answers of a person together.

survey = Survey(questions, scheme="joint", epsilon=3.0, title="Habits")
print(survey.summary())

shares = {"smokes": 0.22, "drinks": 0.55, "gambles": 0.08, "speeds": 0.31}
shares |= {"skips work": 0.12, "takes pills": 0.05}
draws = np.random.default_rng(1)
yes = draws.random((20_000, 6)) < list(shares.values())
people = pd.DataFrame(np.where(yes, "yes", "no"), columns=habits)
people.loc[people["smokes"] == "yes", "drinks"] = "yes"  # whoever smokes drinks too
reports = survey.privatize(people, rng=2)
print(reports.head(3))

# %%
# The shares with their intervals; and from the same reports a table of two questions, for which
# nothing was planned.

found = survey.estimate(reports)
yes_shares = {habit: found[habit].values[1] for habit in habits}
print({habit: round(float(share), 3) for habit, share in yes_shares.items()})
pair = survey.estimate_pair(reports, "smokes", "drinks")
print(pair)

axes = plt.figure(figsize=(7, 3.5), layout="constrained").add_subplot(ylabel="share of yes")
low, high = np.array([found[habit].interval[1] for habit in habits]).T
truth = (people == "yes").mean()
axes.vlines(habits, low, high, label="95% interval from one joint report")
axes.plot(habits, truth, "o", label="truth")
axes.legend()

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert compared.best == "joint"
assert abs(compared.average["joint"] - 1.0070) < 1e-4
assert abs(compared.average["one_question"] - 1.8308) < 1e-4
assert abs(compared.average["split"] - 4.1677) < 1e-4
assert compare_schemes(questions, 1.0).best == "one_question"
errors = np.array([found[habit].std_error[1] for habit in habits])
assert (np.abs(np.array(list(yes_shares.values())) - truth) < 5 * errors).all()
cells = pd.crosstab(people["smokes"], people["drinks"], normalize=True).to_numpy()
assert np.abs(pair.values - cells.ravel()).max() < 5 * pair.std_error.max()
assert abs(pair.values[2]) < 5 * pair.std_error[2]  # nobody smokes and does not drink

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(target / "28_joint_report.png", dpi=110)
# sphinx_gallery_end_ignore
