"""
Reports drawn and counted by Spark
==================================

Question: the answers of 20 000 people are in Spark. Can its executors draw the reports and count
them, so that nobody's report is drawn twice? And does a database count the same?

Needs Java and ``pip install "ldpopt[spark]"``; without them this example ends with a word.
"""

import os
import shutil
import sys
import warnings

try:
    from pyspark.sql import SparkSession
except ModuleNotFoundError:
    sys.exit(print("skipped: pyspark is not installed"))
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    sys.exit(print("skipped: Spark needs Java"))

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ldpopt import PureLDP, SecretKey, Survey, Workload, design

# %%
# Two threads on this machine; on a cluster this line names its address.

warnings.simplefilter("ignore")  # Spark warns of new versions of pandas
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()

LABELS = ["never", "monthly", "weekly", "daily"]
rng = np.random.default_rng(25)
people = pd.DataFrame(
    {
        "person": np.arange(20_000),
        "drinks": rng.choice(LABELS, 20_000, p=[0.46, 0.27, 0.18, 0.09]),
        "region": rng.choice(["north", "south"], 20_000),
    }
)
answers = spark.createDataFrame(people)

# %%
# Spark computes a table again for each action. With a key a person's report is the same each time,
# on Spark and in pandas.

survey = Survey({"drinks": design(Workload.frequencies(LABELS), PureLDP("log(3)"))})
key = SecretKey.new()
reports = survey.privatize(answers, key=key, id="person")
counts = survey.count(reports)["drinks"]
alone = survey.count(survey.privatize(people, key=key, id="person"))["drinks"]
print(f"reports 0 to 3, counted by Spark: {counts.to_dict()}; as in one process: {counts == alone}")
estimate = survey.estimate(reports, by="region")
print(estimate)
spark.stop()

# %%
# The shares of all people, from the counts alone, beside those of their answers, which only a
# simulation has.

shares = survey.estimate({"drinks": counts})["drinks"]
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
spread = np.abs(shares.interval.T - shares.values)
style = {"fmt": "o", "color": "#08519c", "capsize": 4}
axis.errorbar(range(4), shares.values, spread, **style, label="estimate, 95 % interval")
true = people["drinks"].value_counts(normalize=True)[LABELS]
axis.bar(range(4), true, color="#c6dbef", label="answers")
axis.legend()
axis.set(
    xticks=range(4),
    xticklabels=LABELS,
    ylabel="share",
    title=r"20 000 reports drawn and counted by Spark: $\varepsilon$ = ln 3",
)

# sphinx_gallery_start_ignore
from pathlib import Path

assert counts == alone
target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "25_spark.png", dpi=120)
# sphinx_gallery_end_ignore
