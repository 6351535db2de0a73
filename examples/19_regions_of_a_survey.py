"""
A survey by region: from the question to the table
===================================================

Question: how is the health of 2000 people in four regions, do they smoke, and what did they use?
One question is ordered, one is yes or no, one has several ticks; people have weights, and some do
not answer.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from ldpopt import Survey, plot
from ldpopt.studies.survey_simulation import simulate_survey

folder = Path(tempfile.mkdtemp())
draws = np.random.default_rng(1)
size = 2000
region = draws.choice(["north", "east", "south", "west"], size, p=[0.4, 0.3, 0.2, 0.1])
health = draws.choice(["bad", "fair", "good"], size, p=[0.2, 0.5, 0.3]).astype(object)
health[draws.random(size) < 0.15] = None
ticked = draws.random((size, 3)) < [0.6, 0.3, 0.1]
ticks = np.array(["alcohol", "tobacco", "cannabis"])
table = pd.DataFrame(
    {
        "region": region,
        "weight": draws.lognormal(0, 0.4, size),
        "health": health,
        "smokes": np.where(draws.random(size) < 0.3, "yes", "no"),
        "used": [";".join(ticks[row]) for row in ticked],  # an empty cell: none of them
    }
)

# %%
# The survey: a missing answer on health is an answer of its own, and takes no part in the order of
# the others.

SURVEY = """
title   = "Health by region"
epsilon = 8.0
weights = "weight"
[question.health]
labels   = ["bad", "fair", "good"]
workload = "prefix"
missing  = "answer"
[question.smokes]
labels = ["no", "yes"]
share  = 0.25
[question.used]
ticks = ["alcohol", "tobacco", "cannabis"]
"""
(folder / "survey.toml").write_text(SURVEY)
survey = Survey.from_toml(folder / "survey.toml")
print(survey)

# %%
# Before anybody is asked: what do 2000 people give? On the command line: ``ldpopt survey
# simulate``.

expected = simulate_survey(survey, size, repeats=5, rng=1)
print(expected.round(3))

# %%
# Reports, and the table by region. The groups and the weights are not protected; the table says so.

reports = survey.privatize(table, rng=1)
found = survey.estimate(reports, by="region")
print(found)
axes = plot(found)

# %%
# Beside it the table that nobody may see: weighted means among those who answered, as R's ``svyby``
# has them.

answered = table[table["health"].notna()]
bad = answered.groupby("region")[["health", "weight"]].apply(
    lambda part: np.average(part["health"] == "bad", weights=part["weight"])
)
print(bad.round(3))

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

health = {name: own["health"] for name, own in found.groups.items()}
assert all(abs(one.values[0] - bad[name]) < 5 * one.std_error[0] for name, one in health.items())
assert {one.labels for one in health.values()} == {("<= bad", "<= fair", "no answer")}

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(target / "19_regions_of_a_survey.png", dpi=110)
# sphinx_gallery_end_ignore
