"""
Which of two distributions, with few people
===========================================

Question: in the country ten levels of income have known shares. Has a region the same ones, or has
it more rich and fewer poor people, as somebody claims? How many people have to be asked for their
income, if each of them sends one private report?
"""

import matplotlib.pyplot as plt
import numpy as np

import ldpopt as lo
from ldpopt.hypotheses import BinaryTest, best

levels = [f"level {k}" for k in range(1, 11)]
country = np.full(10, 0.1)
region = country * np.exp(0.3 * np.linspace(-1, 1, 10))
first = dict(zip(levels, country, strict=True))
second = dict(zip(levels, region / region.sum(), strict=True))

# %%
# The best mechanism of epsilon 1 only reports whether the income is in the upper half, by a coin
# that is right with probability .73. No private mechanism tells the two apart better.

test = best(first, second, 1.0)
print(test)
print(f"proved: no private report has a larger divergence than {float(test.bound):.6f}")
print(f"{test.people(level=0.05, power=0.9):,} people for a level of 5 % and a power of 90 %")

# %%
# Two mechanisms that are made for all ten shares need many more, with the same test.

shares = lo.design(lo.Workload.frequencies(levels), lo.PureLDP(1.0)).mechanism
response = lo.frequencies.RandomizedResponse(levels, 1.0).mechanism
needed = {"best for this test": test.people()}
for name, mechanism in {"best for the shares": shares, "randomized response": response}.items():
    needed[name] = BinaryTest.of(mechanism, first, second).people()
for name, people in needed.items():
    print(f"{name:20} {people:6,}")

# %%
# Reports may be looked at as they come: each is private by itself. The test stops when it is sure,
# on average after half as many people.

sequential = test.sequential(level=0.05, power=0.9)
rng = np.random.default_rng(1)
for name, law in {"country": first, "region": second}.items():
    ends = []
    for _ in range(400):
        answers = rng.choice(levels, 5000, p=list(law.values()))
        result = sequential.decide(test.mechanism.privatize(answers, rng=rng))
        ends.append((result.decision, result.n_reports))
    said = sum(decision == "second" for decision, _ in ends)
    people = np.mean([number for _, number in ends])
    print(f"{name:8} {said:3} of 400 surveys say region, after {people:,.0f} people on average")

# %%
# Power of the exact test by the number of people.

numbers = np.arange(200, 3001, 100)
figure, ax = plt.subplots(figsize=(6.4, 3.6))
others = {"best for this test": test, "randomized response": BinaryTest.of(response, first, second)}
for name, one in others.items():
    ax.plot(numbers, [one.power(int(people)) for people in numbers], label=name)
ax.axhline(0.9, color="gray", linewidth=0.7)
ax.set(xlabel="people", ylabel="power at a level of 5 %", ylim=(0, 1.02))
ax.legend(frameon=False)
figure.tight_layout()

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert needed["best for this test"] == 1485
assert 5 * needed["best for this test"] < needed["best for the shares"]
assert test.power(1485) >= 0.9
assert 0 <= float(test.bound) - test.optimum.value < 1e-12

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "26_two_populations.png", dpi=110)
# sphinx_gallery_end_ignore
