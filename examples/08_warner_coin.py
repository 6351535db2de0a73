"""
Two coins, and an honest interval
=================================

Question: the coin scheme of Dwork and Roth 2014, section 3.2. Toss a coin; on heads tell the truth,
on tails toss again and say "yes" on heads. How private is it, and what do 30 "yes" among 100 people
mean?
"""

import matplotlib.pyplot as plt
from scipy.stats import binom

from ldpopt import Problem, PureLDP, closed_forms, estimate_frequencies, plotting, solve

# %%
# The mechanism: Pr(yes | yes) = 3/4, Pr(yes | no) = 1/4. The exact audit finds epsilon = ln 3.

coin = closed_forms.coin()
audit = coin.mechanism.audit(PureLDP("log(3)"))
print(coin.mechanism.to_frame())
print(f"epsilon {coin.epsilon} = {float(coin.epsilon):.6f}: {audit.verdict}")
print(f"at 1.09 already violated: {coin.mechanism.audit(PureLDP(1.09)).verdict}")

# %%
# No other mechanism at ln 3 tells the truth more often in the worst case: the coin is optimal.

best = solve(
    Problem(None, "identity", PureLDP("log(3)"), inputs=["no", "yes"], objective="worst_case")
)
print(f"optimal worst-case truth probability: {best.value}")

# %%
# The survey: 100 people, 30 report "yes". The estimate is (0.30 - 0.25) / 0.5 = 10 %. With its
# interval:

estimate = estimate_frequencies(coin.mechanism, {"yes": 30, "no": 70})
print(estimate)
low, high = estimate.interval[1]
print(
    f"between {low:.1%} and {high:.1%} are guilty: the interval is not clipped, and it contains 0"
)

# %%
# If nobody were guilty, there would still be 30 or more "yes" in one of seven surveys.

chance = float(binom.sf(29, 100, 0.25))
print(f"Pr(30 or more 'yes' | nobody guilty) = {chance:.3f}")

# %%
# Thirty reports of "yes" are not a confession: with 10 % guilty, three of four come from the
# innocent.

posterior = coin.mechanism.posterior({"no": 0.9, "yes": 0.1})
print(f"Pr(guilty | report yes) = {posterior[1, 1]:.2f}")

# %%
# The picture: the delta of the coin at each smaller epsilon, max(0, 3/4 - e^epsilon / 4), and the
# estimate.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
plotting.delta_curve(audit, left)
plotting.estimate(estimate, right)
right.set_title(r"The estimate at $\varepsilon$ = ln 3", fontsize=10)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

import numpy as np

assert coin.epsilon.ratio == 3
assert audit.verdict == "certified"
assert best.value == 0.75
assert np.isclose(estimate.values[1], 0.10)
assert low < 0 < high
assert all(np.isclose(audit.delta_at(e), max(0, 0.75 - np.exp(e) / 4)) for e in (0, 0.5, 1, 1.2))

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "08_warner_coin.png", dpi=120)
# sphinx_gallery_end_ignore
