"""
The report that tells most about a parameter
============================================

Question: scores from 0 to 100 in steps of a half, normally distributed with deviation 15 and a mean
near 40. What does one private report tell about the mean at most, as Fisher information, and which
report does it? No private mechanism, however it is made, tells more: the bound is a rational.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from ldpopt import PureLDP, audit, convex

steps = np.linspace(0, 100, 201)
prior = np.exp(-((steps - 40) ** 2) / (2 * 15**2))
prior /= prior.sum()
slopes = (steps - prior @ steps) / 15**2  # of the logarithm of each probability
information = convex.fisher_information(slopes, prior)

# %%
# The best channel has few reports, each a set of answers for which it is e**epsilon times as
# likely. For a small epsilon there are two, "low" and "high"; more follow as the budget grows.

best = {epsilon: convex.best_channel(information, epsilon) for epsilon in (0.5, 1.0, 2.0, 4.0)}
known = float(prior @ slopes**2)
for epsilon, found in best.items():
    print(
        f"epsilon {epsilon:g}: {len(found.patterns)} reports, {found.value / known:.4f} of what "
        f"answers tell, gap {found.gap:.0e}"
    )

# %%
# The certificate is checked again from its numbers alone, and the channel is audited exactly.

print(best[4.0].certificate.recheck())
print(best[4.0].mechanism.audit(PureLDP(4.0)).verdict)

# %%
# Beside it: noise with the distribution of Laplace, rounded to the steps and cut off at 0 and 100,
# and randomized response. How many times as many people do they need for the same error?


def laplace(epsilon):
    """Probability of each step around a score with noise of the scale 100 / epsilon."""
    borders = np.concatenate([[-np.inf], (steps[1:] + steps[:-1]) / 2, [np.inf]])
    return np.diff(stats.laplace.cdf(borders, steps[:, None], 100 / epsilon))


def response(epsilon):
    """The truth e**epsilon times as often as each other score."""
    rows = np.exp(epsilon * np.eye(len(steps)))
    return rows / rows.sum(axis=1, keepdims=True)


needed = {}
for epsilon, found in best.items():
    for method in (laplace, response):
        needed[method, epsilon] = found.value / information.value(method(epsilon))
    print(
        f"epsilon {epsilon:g}: Laplace {needed[laplace, epsilon]:.2f} times as many, "
        f"randomized response {needed[response, epsilon]:.0f}"
    )

figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained", sharey=True)
for ax, epsilon in zip(axes, (1.0, 4.0), strict=True):
    ax.step(steps, best[epsilon].mechanism.channel, where="mid")
    ax.set(title=f"epsilon {epsilon:g}", xlabel="score", ylabel="probability of each report")

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert [len(found.patterns) for found in best.values()] == [2, 2, 2, 5]
shares = [found.value / known for found in best.values()]
assert np.allclose(shares, [0.0386, 0.1373, 0.3730, 0.7569], atol=5e-5)
assert max(found.gap for found in best.values()) < 1e-15
assert all(
    best[epsilon].mechanism.audit(PureLDP(epsilon)).verdict == "certified" for epsilon in best
)
assert min(needed.values()) > 1
assert all(audit(laplace(e)).epsilon <= e + 1e-9 for e in best)

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "30_extremal_channels.png", dpi=110)
# sphinx_gallery_end_ignore
