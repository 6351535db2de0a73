"""
What several reports reveal together
====================================

Question: somebody answers a yes/no question on each of 100 days. What does a reader of all reports
learn at most, and how much less is it than the sum of the budgets says?
"""

import matplotlib.pyplot as plt
import numpy as np

from ldpopt import accounting, techniques

# %%
# Each report is true with probability 11/20 (Warner's design). Budgets add up to 100 times
# log(11/9).

card = techniques.warner("11/20")
account = accounting.compose([(card, 100)])
print(f"pure: epsilon {account.epsilon(0):.3f}")

# %%
# With a probability of one in a million that the bound fails, much less: the curve of all (epsilon,
# delta) is exact up to rounding.

for delta in (1e-6, 1e-3):
    print(f"delta {delta:g}: epsilon {account.epsilon(delta):.3f}")

# %%
# In words: a guess that was right for 50 of 100 people.

print(f"a guess is right for at most {np.ceil(100 * account.guess(0.5)):.0f} of 100")

budgets = np.linspace(0, 20, 60)
axes = plt.figure().add_subplot(xlabel="epsilon", ylabel="delta", yscale="log")
axes.plot(budgets, [max(account.delta(float(budget)), 1e-9) for budget in budgets])

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert abs(account.epsilon(0) - 100 * np.log(11 / 9)) < 1e-6
assert account.epsilon(1e-3) < account.epsilon(1e-6) < account.epsilon(0) / 1.5
assert 0.5 < account.guess(0.5) < 1

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(target / "21_account.png", dpi=110)
# sphinx_gallery_end_ignore
