"""
Privacy as constraints of your own model
========================================

Question: what if the objective is not an expected gain? A privacy notion is a list of constraints
of a cvxpy or PuLP model: state any objective, solve it with any solver, and take home the nearest
exactly private mechanism.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pulp

from ldpopt import (
    ApproximateLDP,
    Mechanism,
    Problem,
    PureLDP,
    Utility,
    convex,
    extreme_points,
    solve,
)

# %%
# Five answers, their shares in two groups of people, and a loss: how many steps a report is away
# from the answer.

answers = ["never", "rarely", "monthly", "weekly", "daily"]
young = np.array([0.35, 0.30, 0.20, 0.10, 0.05])
old = np.array([0.15, 0.20, 0.25, 0.25, 0.15])
prior = (young + old) / 2
loss = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
privacy = ApproximateLDP(1.0, 0.05)

P = cp.Variable((5, 5), name="P")
constraints = privacy.constraints(P)
losses = cp.sum(cp.multiply(loss, P), axis=1)  # the expected loss of each answer


def solve_own(name, objective, *others):
    """Solve a model; return the nearest exactly private mechanism, and the objective's value for
    the mechanism."""
    model = cp.Problem(objective, [*constraints, *others])
    model.solve(solver="CLARABEL")
    mechanism = Mechanism.private(P.value, privacy, answers)
    P.value = mechanism.channel
    print(
        f"{name}: {model.value:.6f}, exactly private {objective.value:.6f}; {mechanism.notes[-1]}"
    )
    return mechanism, float(objective.value)


# %%
# The usual objective first: the expected loss. `solve` finds the same value, and a certificate.

_, average = solve_own("expected loss", cp.Minimize(prior @ losses))
problem = Problem(prior, Utility(loss, "loss"), privacy, inputs=answers)
print(f"solve: {solve(problem).value:.6f}")

# %%
# Three ways to care about the answers that lose most: the worst case, the conditional value at risk
# (the mean loss of the half of people who lose most), and a limit on the difference between the two
# groups.

_, worst = solve_own("largest loss of an answer", cp.Minimize(cp.max(losses)))
threshold = cp.Variable()
share = 0.5
tail = threshold + prior @ cp.pos(losses - threshold) / share
_, at_risk = solve_own("mean loss of the half who lose most", cp.Minimize(tail))
difference = cp.abs((young - old) @ losses)
_, fair = solve_own(
    "expected loss, groups differ by .02", cp.Minimize(prior @ losses), difference <= 0.02
)

# %%
# Two priors at once: the largest of the two groups' expected losses.

_, two = solve_own(
    "larger loss of the groups", cp.Minimize(cp.maximum(young @ losses, old @ losses))
)

# %%
# Least information: the mutual information of answer and report, in nats, if the expected loss is
# limited. This is the rate-distortion function of the answers, with privacy on top. The information
# is convex in the channel.

reports = cp.reshape(prior @ P, (1, 5), order="C")
weights = prior[:, None]
information = cp.sum(cp.rel_entr(cp.multiply(weights, P), weights @ reports))
limits = np.linspace(1.02 * average, prior @ np.abs(np.arange(5) - 1), 6)
rates = [
    solve_own(f"loss up to {limit:.3f}", cp.Minimize(information), prior @ losses <= limit)[1]
    for limit in limits
]

# %%
# The *largest* information is not a concave objective, so that no convex solver finds it. It is
# attained at an extreme point: there are finitely many, and for these utilities a linear program
# over the possible columns needs no list.

largest = {}
for n in (2, 3, 4):
    measure = convex.mutual_information(np.full(n, 1 / n))
    points = extreme_points(PureLDP("log(3)"), n)
    largest[n] = max(measure.value(np.array(point, float)) for point in points.vertices)
    best = convex.best_channel(measure, "log(3)")
    print(
        f"{n} answers: {largest[n]:.9f} among {points.count} extreme points; best_channel "
        f"{best.value:.9f}"
    )

# %%
# A parameter in place of e^epsilon: the model is compiled once, and solved again for every budget.

ratio = cp.Parameter(pos=True, name="ratio")
model = cp.Problem(cp.Minimize(cp.max(losses)), privacy.constraints(P, ratio))
budgets = np.linspace(0.25, 4, 16)
curve = []
for epsilon in budgets:
    ratio.value = np.exp(epsilon)
    curve.append(model.solve(solver="CLARABEL"))

# %%
# PuLP: the same rows by name, for solvers of linear programs and for mixed-integer models. Here a
# report may be used or not, and three of the five must do.

pairs = [(x, y) for x in answers for y in answers]
entries = pulp.LpVariable.dicts("P", pairs, 0)
mixed = pulp.LpProblem("three_reports", pulp.LpMinimize)
distance = {(x, y): abs(answers.index(x) - answers.index(y)) for x, y in pairs}
mixed += pulp.lpSum(prior[answers.index(x)] * distance[x, y] * entries[x, y] for x, y in pairs)
privacy.add_to(mixed, entries)
used = pulp.LpVariable.dicts("used", answers, cat="Binary")
mixed += pulp.lpSum(used.values()) <= 3, "at_most_three"
for x, y in pairs:
    mixed += entries[x, y] <= used[y], f"only_used({x},{y})"
mixed.solve(pulp.PULP_CBC_CMD(msg=False))
chosen = [y for y in answers if used[y].value() > 0.5]
print(
    f"three reports: {pulp.value(mixed.objective):.6f} with {', '.join(chosen)}; all five: "
    f"{average:.6f}"
)

# %%
# The pictures: least information by the loss that is allowed, and the worst-case loss by the
# budget.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
left.plot(limits, rates, "o-", color="#08519c")
left.set(xlabel="limit of the expected loss (steps)", ylabel="mutual information (nats)")
left.set_title("Least information about an answer", fontsize=10)
right.plot(budgets, curve, ".-", color="#cb181d")
right.set(xlabel=r"$\varepsilon$", ylabel="largest expected loss of an answer (steps)")
right.set_title(r"One model, sixteen budgets ($\delta = 0.05$)", fontsize=10)
for axes in (left, right):
    axes.set_ylim(bottom=0)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert abs(average - solve(problem).value) < 1e-6
assert average <= at_risk <= worst + 1e-6  # more weight on the worst answers
assert fair >= average - 1e-7
assert two >= average - 1e-7
assert (np.diff(rates) < 1e-6).all()
assert rates[-1] < 1e-6
# randomized response and the binary mechanism of Kairouz, Oh and Viswanath 2016
for n, found in largest.items():
    measure = convex.mutual_information(np.full(n, 1 / n))
    half = np.arange(n)[:, None] < n // 2
    response = 1 + 2 * np.eye(n)
    binary = np.where(np.hstack([half, ~half]), 0.75, 0.25)
    assert found >= max(measure.value(response / (n + 2)), measure.value(binary)) - 1e-12
    assert abs(found - convex.best_channel(measure, "log(3)").value) < 1e-9
assert (np.diff(curve) < 1e-7).all()
assert pulp.value(mixed.objective) >= average - 1e-7

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "16_own_model.png", dpi=120)
# sphinx_gallery_end_ignore
