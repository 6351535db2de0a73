"""
A survey counted on a cluster
=============================

Question: the answers of 400 000 people are in eight files, too many for one machine. Can two
workers draw the reports and count them, so that nobody's report is drawn twice and only counts are
sent?
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster

from ldpopt import Counts, PureLDP, SecretKey, Workload, count_folder, design, privatize_folder

LABELS = ["never", "monthly", "weekly", "daily"]
SHARES = [0.46, 0.27, 0.18, 0.09]
scratch = tempfile.TemporaryDirectory()
work = Path(scratch.name)
(work / "answers").mkdir()
rng = np.random.default_rng(15)
for part in range(8):
    rows = {"id": np.arange(50_000) + 50_000 * part, "drinks": rng.choice(LABELS, 50_000, p=SHARES)}
    pd.DataFrame(rows).to_parquet(work / "answers" / f"{part}.parquet")

# %%
# Two workers on this machine. With a real scheduler this line is `client =
# Client("tcp://scheduler:8786")`, and the folders are on a disk that all workers see.

cluster = SubprocessCluster(n_workers=2, worker_kwargs={"nthreads": 1})
client = Client(cluster)

# %%
# The design with the smallest variance for the four shares. Each worker uses the random numbers of
# its own system; a file appears complete and is never replaced. The second call finds all files and
# draws nothing.

best = design(Workload.frequencies(LABELS), PureLDP("log(3)"))
written = privatize_folder(work / "answers", work / "reports", {"drinks": best}, executor=client)
first = [pd.read_parquet(work / "reports" / f"{part}.parquet") for part in range(8)]
privatize_folder(work / "answers", work / "reports", {"drinks": best}, executor=client)
second = [pd.read_parquet(work / "reports" / f"{part}.parquet") for part in range(8)]
print(
    f"{written:,} reports, epsilon = {best.mechanism.audit().epsilon:.4f}; drawn once: "
    f"{first[0].equals(second[0])}"
)

counts = count_folder(work / "reports", {"drinks": best}, executor=client)["drinks"]
found = best.estimate(counts)
print(counts)

# %%
# A dataframe of Dask is computed whenever it is needed, so its draws have a secret key: a person
# gets the same report again. The counts of a second computation are the same.

table = dd.read_parquet(work / "answers")
reports = best.mechanism.privatize(table, "drinks", key=SecretKey.new(), id="id")
lazily = [Counts.of(best.mechanism, reports, column="drinks") for _ in range(2)]
print(f"keyed, computed twice: {lazily[0].to_dict()} and {lazily[1].to_dict()}")
client.close()
cluster.close()

# %%
# The estimates beside the true shares.

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
places = np.arange(len(LABELS))
axis.bar(places, SHARES, color="#c6dbef", label="true shares")
spread = np.abs(found.interval.T - found.values)
axis.errorbar(
    places,
    found.values,
    spread,
    fmt="o",
    color="#08519c",
    capsize=4,
    label="estimates, 95 % intervals",
)
axis.set(
    xticks=places,
    xticklabels=LABELS,
    ylabel="share",
    title=r"400 000 reports counted by two workers: pure privacy, $\varepsilon$ = ln 3",
)
axis.legend(frameon=False)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys

assert all(one.equals(two) for one, two in zip(first, second, strict=True))
assert lazily[0] == lazily[1]
assert (np.abs(found.values - SHARES) < 5 * found.std_error).all()

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "15_cluster.png", dpi=120)
# sphinx_gallery_end_ignore
