"""
From reports to conclusions: differences, medians, tests
========================================================

Question: do people in the north smoke more often than in the south, how old is the median person,
and did it change since last year? Everything is concluded from reports; nobody sees an answer.
"""

from itertools import pairwise

import numpy as np
import pandas as pd

from ldpopt import PureLDP, Survey, Workload, design, plan_difference, plot, techniques

EDGES = [15, 25, 35, 45, 55, 65, 100]
AGES = [f"{low}-{high - 1}" for low, high in pairwise(EDGES)]

# %%
# Smoking is asked by the crosswise model with a birthday in two of twelve months, which
# practitioners know; age by the best design for its distribution. How many people in each region
# show a difference of ten percentage points?

smokes = techniques.crosswise("1/6")
age = design(Workload.prefix(AGES), PureLDP(2.0))
print(f"epsilon {smokes.audit().epsilon:.3f}, people {plan_difference(smokes, 0.1)}")

survey = Survey({"smokes": smokes, "age": age}, title="Smoking and age")


def answers(seed: int, rise: float) -> pd.DataFrame:
    """Two years of other people: in the north 40 of 100 smoke, in the south 20."""
    draws = np.random.default_rng(seed)
    region = draws.choice(["north", "south"], 3000)
    share = np.where(region == "north", 0.4, 0.2) + rise
    return pd.DataFrame(
        {
            "smokes": np.where(draws.random(3000) < share, "yes", "no"),
            "age": draws.choice(AGES, 3000, p=[0.2, 0.25, 0.2, 0.15, 0.12, 0.08]),
            "region": region,
        }
    )


first, second = (
    survey.privatize(answers(year, rise), rng=year) for year, rise in ((1, 0.0), (2, 0.1))
)

# %%
# The difference between the regions, with an interval and a p-value that never contradict each
# other; of several rows also Holm's. On the command line: ``ldpopt survey estimate SURVEY REPORTS
# --by region --differences south``.

by_region = survey.estimate(first, by="region")
axes = plot(by_region)
differences = by_region.differences("south")
print(differences)
print(by_region.independence("smokes").summary())
axes = plot(by_region)

# %%
# The change since last year: ``--against REPORTS``.

change = survey.estimate(second) - survey.estimate(first)
print(change)

# %%
# The median age, in years: the classes have edges.

found = survey.estimate(first)
median = found["age"].quantile(0.5, edges=EDGES)
print(median)

# %%
# Are smoking and age related? Answers are independent exactly if reports are.

print(survey.independence(first, "smokes", "age").summary())

# %%
# Whatever else is wanted: the value of each report, as columns that any other program can average.

values = survey.values(first)
print(values[["smokes: yes"]].groupby(first["region"]).mean().round(3))

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

north = differences["north", "south"]["smokes"].contrast({"yes": 1})
low, high = north.interval[0]
assert low < 0.2 < high
assert by_region.independence("smokes").p_value < 1e-6
risen = change["after", "before"]["smokes"].contrast({"yes": 1})
assert risen.interval[0, 0] < 0.1 < risen.interval[0, 1]
assert 30 < median.values[0] < 42
assert survey.independence(first, "smokes", "age").p_value > 1e-3

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(target / "20_conclusions.png", dpi=110)
# sphinx_gallery_end_ignore
