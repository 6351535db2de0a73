"""
How many people answer at random
================================

Question: a tenth of the people click through a form without reading it. One answer of a person does
not show it, and their answers pull every share towards equal ones. If a question is asked twice, at
its place and once more at the end, what can be said of careless people, and of the others?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpopt as lo

labels = ["never", "rarely", "often", "daily"]
shares = np.array([0.55, 0.25, 0.15, 0.05])
people, careless = 20_000, 0.1
rng = np.random.default_rng(7)
truth = rng.choice(4, people, p=shares)
clicks = rng.random(people) < careless
first, second = (np.where(clicks, rng.integers(4, size=people), truth) for _ in range(2))

# %%
# Asked once: the shares are those of what people answered, careless or not.

once = lo.Survey({"theft": labels}, epsilon=2.0)
table = pd.DataFrame({"theft": np.array(labels)[first]})
plain = once.estimate(once.privatize(table, rng=1))["theft"]

# %%
# Asked twice: the device keeps the common answer, or "inconsistent", and draws one report with the
# same epsilon. Shares are those among careful people, and the last number is the share of careless
# ones.

twice = lo.Survey({"theft": lo.Question(labels, repeat=True)}, epsilon=2.0)
table["theft again"] = np.array(labels)[second]
found = twice.estimate(twice.privatize(table, rng=1))["theft"]
print(found)

# %%
# The truth is that of careful people. A plain question has too many who steal daily.

for place, label in enumerate(labels):
    print(
        f"{label:7} true {shares[place]:.3f}, once {plain.values[place]:.3f}, "
        f"twice {found.values[place]:.3f}"
    )
share = found.values[-1]
low, high = found.interval[-1]
print(f"careless people: {share:.3f}, from {low:.3f} to {high:.3f}")

# %%
# The price, if nobody is careless: the report is about one answer more.

guess = dict(zip(labels, shares, strict=True))
ratio = float(
    twice.precision("theft", prior=guess).variances[3]
    / once.precision("theft", prior=guess).variances[3]
)
print(f"{ratio:.2f} times as many people for the same error of the rarest answer")

# %%
# Both estimates, with the true shares of careful people as lines.

figure, ax = plt.subplots(figsize=(6.4, 3.2))
rows = np.arange(4)
for shift, estimate, name in ((-0.1, plain, "asked once"), (0.1, found, "asked twice")):
    reach = np.abs(estimate.interval[:4].T - estimate.values[:4])
    ax.errorbar(rows + shift, estimate.values[:4], reach, fmt="o", capsize=3, label=name)
ax.hlines(shares, rows - 0.3, rows + 0.3, color="gray", linewidth=0.9)
ax.set(xticks=rows, xticklabels=labels, ylabel="share", ylim=(0, None))
ax.legend(frameon=False)
figure.tight_layout()

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert low <= careless <= high
assert low > 0.05
assert plain.interval[3, 0] > shares[3]
assert found.interval[3, 0] <= shares[3] <= found.interval[3, 1]
assert 1 < ratio < 1.3

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "32_careless.png", dpi=110)
# sphinx_gallery_end_ignore
