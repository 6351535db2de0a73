"""
A questionnaire: planned, privatized, estimated
===============================================

Question: 6366 women answered a magazine about marriage, faith and affairs. What would be known if nobody had
to trust the office with an answer, and how many people would have been needed?
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import statsmodels.api as sm

from ldpopt import SecretKey, Survey, compare_schemes

folder = Path(tempfile.mkdtemp())
data = sm.datasets.fair.load_pandas().data
table = pd.DataFrame(
    {
        "affair": (data["affairs"] > 0).map({False: "no", True: "yes"}),
        "marriage": data["rate_marriage"].astype(int),
        "religious": data["religious"].astype(int),
        "person": range(len(data)),
    }
)
print(f"{len(table)} people; statsmodels.datasets.fair (public domain)")

# %%
# The statement: a person spends at most epsilon = 3 over all three questions. Everybody may answer all of them with a
# third of it each, or one question that is drawn, with all of it. The file leaves the choice to the variances.

STATED = """
title   = "Marriage, faith and affairs"
epsilon = 3.0
scheme  = "best"
[question.affair]
labels = ["no", "yes"]
[question.marriage]
labels = [1, 2, 3, 4, 5]
[question.religious]
labels = [1, 2, 3, 4]
"""
(folder / "survey.toml").write_text(STATED)
survey = Survey.from_toml(folder / "survey.toml")
print(compare_schemes({"affair": 2, "marriage": 5, "religious": 4}, 3.0).why)
print(survey)

# %%
# Before the field work: people for four percentage points, at the worst distribution.

for name in survey.questions:
    told = survey.precision(name)
    print(f"{name:10} {told.people(0.04).max():6,} people; 6366 give +-{told.half_width(len(table)).max():.3f}")

# %%
# Reports drawn with a key: privatizing again gives the same reports.

key = SecretKey.new()
reports = survey.privatize(table, key=key, id="person").drop(columns="person")
estimates = survey.estimate(reports)

# %%
# The estimates with 95 % intervals beside the truth, which only this example knows.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained", width_ratios=[2, 5, 4])
for ax, (name, told) in zip(axes, estimates.items(), strict=True):
    truth = table[name].value_counts(normalize=True).reindex(list(told.labels))
    places = range(len(truth))
    ax.bar(places, truth, color="0.85", label="truth")
    low, high = told.interval.T
    ax.errorbar(
        places, told.values, [told.values - low, high - told.values], fmt="o", capsize=3, label="estimate, 95 %"
    )
    ax.set_xticks(list(places), [str(label) for label in told.labels])
    ax.set_title(f"{name}: {told.n_reports:,} reports")
    ax.axhline(0, color="0.3", linewidth=0.8)
    missed = [label for label, share, a, b in zip(told.labels, truth, low, high, strict=True) if not a <= share <= b]
    print(f"{name}: outside of its interval: {missed or 'none'}")
axes[0].set_ylabel("share of people")
axes[1].legend(loc="upper left")
figure.suptitle("One question for each person, epsilon = 3")

# sphinx_gallery_start_ignore
# The picture goes to the folder that the command names, or to the current one.
import sys

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "14_questionnaire.png", dpi=150)
# sphinx_gallery_end_ignore
