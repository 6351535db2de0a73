"""
From research code: sweeps, shadow prices, a live model
=======================================================

Question: how does the optimum depend on epsilon, what is the price of a little more privacy, and
what if the model needs a constraint that the library does not have?
"""

import cvxpy
import highspy
import numpy as np

from ldpopt import (
    ApproximateLDP,
    Mechanism,
    Problem,
    PureLDP,
    constraints,
    formulate,
    plotting,
    solve,
    sweep,
)

prior = [0.45, 0.25, 0.15, 0.10, 0.05]
problem = Problem(prior, "identity", PureLDP(1.0))

# %%
# A sweep: every point is solved, certified and compared with the closed form.

table = sweep(problem, np.linspace(0.1, 4, 14))
print(table.to_frame()[["epsilon", "value", "closed_form", "relative_gap"]].iloc[::4])

# %%
# Shadow prices. With delta, the rows Q[x,y] - beta M[y] <= delta have duals: the gain for one more
# unit of slack. Their sum is the slope of the value in delta, here 1 - u0 by the formula delta + (1
# - delta) u0.

delta = 0.05
solution = solve(Problem(prior, "identity", ApproximateLDP(1.0, delta, form="entry")))
slope = solution.duals["privacy"].sum()
u0 = (solution.value - delta) / (1 - delta)
print(f"d value / d delta = {slope:.9f}, formula 1 - u0 = {1 - u0:.9f}")

# %%
# One more row by hand: the rarest answer must be reported truthfully with probability at least
# 0.25. First in HiGHS:
# ``formulate`` gives the program, ``to_highs`` the live model, whose columns Q[x,y], M[y] make up P
# = Q + b M.

program = formulate(problem)
highs = program.to_highs()
names = program.column_names()
columns = [names.index("Q[4,4]"), names.index("M[4]")]
highs.addRow(0.25, highspy.kHighsInf, 2, columns, [1.0, program.structure.b])
highs.run()
print(f"HiGHS with the row: {highs.getObjectiveValue():.9f} instead of {solve(problem).value:.9f}")

# %%
# The same in cvxpy: P is a matrix of variables.

model = formulate(problem).to_cvxpy()
P = model.var_dict["P"]
model = cvxpy.Problem(model.objective, [*model.constraints, P[4, 4] >= 0.25])
model.solve(solver=cvxpy.CLARABEL)
print(f"cvxpy with the row: {model.value:.9f}")

# %%
# A channel from a live model is a float array, private only up to tolerances. `Mechanism.private`
# makes it exactly private. The library also takes this row as a side constraint, and then gives its
# dual and a certificate.

entry = np.zeros((5, 5))
entry[4, 4] = 1
constrained = solve(
    Problem(
        prior,
        "identity",
        PureLDP(1.0),
        constraints=constraints.linear(entry, lower=0.25, name="rare"),
    )
)
fixed = Mechanism.private(P.value, PureLDP(1.0))
print(f"constrained: {constrained.value:.9f}; price of the row {constrained.duals['rare'][0]:.6f}")
print(f"cvxpy's channel, made private: {fixed.notes[0]}")
ax = plotting.sweep(table)
ax.plot(1.0, constrained.value, "s", color="#cb181d")
names = ["linear program", "closed form", "the rarest answer true at least 1 time in 4"]
ax.legend(ax.get_lines(), names, frameon=False, loc="upper left")
ax.set(
    title="Five answers, pure privacy: answers that are reported truthfully",
    ylabel="expected share of true reports",
)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert np.abs(table.column("value") - table.column("closed_form")).max() < 1e-12
assert abs(slope - (1 - u0)) < 1e-9
assert abs(highs.getObjectiveValue() - constrained.value) < 1e-9
assert abs(model.value - constrained.value) < 1e-6
assert fixed.audit(PureLDP(1.0)).verdict == "certified"

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
ax.figure.savefig(target / "06_research.png", dpi=120)
# sphinx_gallery_end_ignore
