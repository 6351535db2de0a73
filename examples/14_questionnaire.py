"""
A questionnaire: planned, privatized, estimated
===============================================

Question: 6366 women answered a magazine about marriage, faith and affairs. What could be estimated
from private reports, and how many people would have been needed?
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
# The survey: a person spends at most epsilon = 3 over all three questions. Everybody may answer all
# of them with a third of it each, or one question that is drawn, with all of it, or give one report
# on all answers together. The scheme "best" chooses by the variances.

SURVEY = """
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
(folder / "survey.toml").write_text(SURVEY)
survey = Survey.from_toml(folder / "survey.toml")
print(compare_schemes({"affair": 2, "marriage": 5, "religious": 4}, 3.0).why)
print(survey)

# %%
# Before the survey: people for four percentage points, at the worst distribution.

for name in survey.questions:
    precision = survey.precision(name)
    people = precision.people(0.04).max()
    width = precision.half_width(len(table)).max()
    print(f"{name:10} {people:6,} people; 6366 give +-{width:.3f}")

# %%
# Reports drawn with a key: privatizing again gives the same reports.

key = SecretKey.new()
reports = survey.privatize(table, key=key, id="person").drop(columns="person")
estimates = survey.estimate(reports)

# %%
# The estimates with 95 % intervals beside the truth, which only this example has.

figure, axes = plt.subplots(
    1, 3, figsize=(10, 3.4), sharey=True, layout="constrained", width_ratios=[2, 5, 4]
)
for ax, (name, estimate) in zip(axes, estimates.items(), strict=True):
    truth = table[name].value_counts(normalize=True).reindex(list(estimate.labels))
    places = range(len(truth))
    ax.bar(places, truth, color="0.85", label="truth")
    low, high = estimate.interval.T
    ax.errorbar(
        places,
        estimate.values,
        [estimate.values - low, high - estimate.values],
        fmt="o",
        capsize=3,
        label="estimate, 95 %",
    )
    ax.set_xticks(list(places), [str(label) for label in estimate.labels])
    ax.set_title(f"{name}: {estimate.n_reports:,} reports")
    ax.axhline(0, color="0.3", linewidth=0.8)
    missed = [
        label
        for label, share, a, b in zip(estimate.labels, truth, low, high, strict=True)
        if not a <= share <= b
    ]
    print(f"{name}: outside of its interval: {missed or 'none'}")
axes[0].set_ylabel("share of people")
axes[1].legend(loc="upper left")
figure.suptitle(f"Scheme {survey.scheme}, epsilon = 3")

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys

assert survey.scheme != "split"
assert survey.odds <= survey.limit.enclosure()[0]  # in rationals
assert reports.equals(survey.privatize(table, key=key, id="person").drop(columns="person"))
assert (reports.notna().sum(axis=1) == 1).all()
for name, estimate in estimates.items():
    truth = table[name].value_counts(normalize=True).reindex(list(estimate.labels))
    assert (abs(estimate.values - truth.to_numpy()) <= 6 * estimate.std_error).all()

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "14_questionnaire.png", dpi=150)
# sphinx_gallery_end_ignore
