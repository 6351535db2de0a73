"""
A mean of numbers by three protocols
====================================

Question: how many hours a day do people sleep on average? Each person's hours are reported once,
with epsilon 1; which protocol has the smallest error?
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import mean

draws = np.random.default_rng(1)
hours = np.clip(draws.normal(7, 1, 5000), 0, 12)

# %%
# The domain is from 0 to 12 hours: Duchi's protocol has two reports, the piecewise one an interval,
# and the hybrid mixes both.

protocols = [kind(1.0, domain=(0, 12)) for kind in (mean.Duchi, mean.Piecewise, mean.Hybrid)]
found = {type(p).__name__: p.estimate(p.privatize(hours, rng=2)) for p in protocols}
for name, estimate in found.items():
    print(name, estimate.values.round(2), estimate.interval.round(2).tolist())

# %%
# What is drawn is audited in closed form, over all pairs of answers and all events.

print([protocol.audit().verdict for protocol in protocols])

axes = plt.figure().add_subplot(ylabel="hours")
low, high = np.array([estimate.interval[0] for estimate in found.values()]).T
axes.vlines(list(found), low, high)
axes.axhline(hours.mean())

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert all(abs(e.values[0] - hours.mean()) < 5 * e.std_error[0] for e in found.values())
assert {protocol.audit().verdict for protocol in protocols} == {"certified"}

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(target / "22_mean.png", dpi=110)
# sphinx_gallery_end_ignore
