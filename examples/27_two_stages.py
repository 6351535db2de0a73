"""
A pilot first, then the best question
=====================================

Question: what is the mean of a blood value that is normally distributed with deviation 1, and
somewhere from -3 to 3? One report of a person says little about a mean that may be anywhere. If a
pilot of a fifth of the people finds it roughly, how much more do the others tell, at the same
epsilon?
"""

import matplotlib.pyplot as plt
import numpy as np

import ldpopt as lo
from ldpopt.stages import GaussianMean, adapted, estimate, optimum

family = GaussianMean(1.0, (-3, 3))
epsilon, people, true_mean = 1.0, 10_000, 1.2
rng = np.random.default_rng(5)
values = rng.normal(true_mean, 1.0, people)

# %%
# The pilot: 2000 people say by a coin whether their value is above -1, or above 1. Each of them has
# epsilon 1.

right = np.exp(epsilon) / (1 + np.exp(epsilon))
middles = (family.edges[:-1] + family.edges[1:]) / 2
pilot = []
for border, part in ((-1, values[:1000]), (1, values[1000:2000])):
    is_above = middles > border
    rows = np.where(is_above[:, None] == [False, True], right, 1 - right)
    mechanism = lo.Mechanism.private(rows, lo.PureLDP(epsilon), inputs=family.inputs)
    pilot.append((mechanism, mechanism.privatize(family.code(part), rng=1)))
first = estimate(family, *pilot[0], pilot=pilot[1:])
print(
    f"pilot: {first.values[0]:.2f}, from {first.interval[0, 0]:.2f} to {first.interval[0, 1]:.2f}"
)

# %%
# The second stage: the mechanism with the most information at the pilot's value, proved, and the
# same epsilon for everybody else. The interval uses the second stage alone.

second = adapted(family, first, epsilon)
reports = second.privatize(family.code(values[2000:]), rng=2)
result = estimate(family, second, reports, pilot=pilot)
low, high = result.interval[0]
print(f"both:  {result.values[0]:.2f}, from {low:.2f} to {high:.2f}")
floor = 1 / np.sqrt(people * optimum(family, true_mean, epsilon).value)
print(f"standard error {result.std_error[0]:.3f}; the floor for any private survey is {floor:.3f}")

# %%
# Without a pilot: one bit about the value, by the protocol that is best for a bounded mean. Its
# error does not become smaller because the values are normal.

bit = lo.mean.Duchi(epsilon, domain=(-6, 6))
plain = bit.estimate(bit.privatize(np.clip(values, -6, 6), rng=3))
print(f"one bit on [-6, 6]: {plain.values[0]:.2f}, standard error {plain.std_error[0]:.3f}")
ratio = (plain.std_error[0] / result.std_error[0]) ** 2
print(f"two stages need {ratio:.0f} times fewer people")

# %%
# How much a report tells about the mean, by where it is: the mechanism that was chosen at the
# pilot's value, and the best one at each value.

means = np.linspace(-3, 3, 61)


def information(mechanism, mean):
    """Fisher information of a report."""
    shares = family.probabilities(mean)
    slopes = (shares * family.scores(mean)) @ mechanism.channel
    return (slopes**2 / (shares @ mechanism.channel)).sum()


figure, ax = plt.subplots(figsize=(6.4, 3.6))
best = [optimum(family, float(mean), epsilon).value for mean in means]
ax.plot(means, best, label="best at each value")
ax.plot(means, [information(second, float(m)) for m in means], label="chosen after the pilot")
for mechanism, _ in pilot:
    ax.plot(means, [information(mechanism, float(m)) for m in means], color="gray", linewidth=0.8)
ax.axvline(true_mean, color="black", linewidth=0.6, linestyle=":")
ax.set(xlabel="mean", ylabel="information of one report", ylim=(0, None))
ax.legend(frameon=False)
figure.tight_layout()

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert low <= true_mean <= high
assert result.std_error[0] < 1.4 * floor
assert ratio > 10
assert all(information(second, float(m)) <= b + 1e-9 for m, b in zip(means, best, strict=True))

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "27_two_stages.png", dpi=110)
# sphinx_gallery_end_ignore
