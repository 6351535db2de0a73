"""
What protected answers depend on
================================

Question: 6366 women were asked in 1974 whether they had an affair (Fair 1978). Does it depend on
the years of marriage, on religion, on how the marriage is rated? Suppose that each affair was asked
by the crosswise model, so that only reports are known, and everything else was asked openly. What
does a regression find, and what would it have found with the true answers?
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
import statsmodels.formula.api as smf

from ldpopt import Survey, techniques

women = sm.datasets.fair.load_pandas().data
women["affair"] = np.where(women["affairs"] > 0, "yes", "no")
terms = ["yrs_married", "religious", "rate_marriage"]

# %%
# "Is exactly one of these true: your mother was born in January or February; you had an affair?"
# One of six is born in these months, and the answer is the report.

survey = Survey({"affair": techniques.crosswise("1/6")}, title="Affairs")
reports = survey.privatize(women[["affair", *terms]], rng=1)
print(reports.head(3))

# %%
# The logits of the answers, not of the reports: the chances of the mechanism are in the likelihood.
# On the command line: ``ldpopt survey regress SURVEY REPORTS FORMULA``.

formula = f"affair ~ {' + '.join(terms)}"
fit = survey.regress(formula, reports)
print(fit.summary())

# %%
# Beside it: the true answers; and reports that are taken for answers, whose coefficients are too
# near to zero however many people there are.

women["had"] = (women["affair"] == "yes").astype(int)
women["told"] = (reports["affair"] == "different").astype(int)  # five times of six, if yes
known, naive = (
    smf.logit(f"{outcome} ~ {' + '.join(terms)}", women).fit(disp=False)
    for outcome in ("had", "told")
)
for term in terms:
    print(f"{term:14} {fit.params[term]:7.3f} +- {fit.bse[term]:.3f}", end="")
    print(
        f"   answers known {known.params[term]:7.3f}   reports as answers {naive.params[term]:7.3f}"
    )
print(f"errors are {(fit.bse[terms] / known.bse[terms]).mean():.1f} times as large as with answers")

axes = plt.figure(figsize=(7, 3.5), layout="constrained").add_subplot(ylabel="coefficient")
for shift, (label, center, error) in enumerate(
    [
        ("private reports", fit.params, fit.bse),
        ("answers known", known.params, known.bse),
        ("reports taken for answers", naive.params, naive.bse),
    ]
):
    places = np.arange(3) + 0.15 * (shift - 1)
    axes.errorbar(places, center[terms], 1.96 * error[terms], fmt="o", capsize=3, label=label)
axes.set_xticks(range(3), ["years married", "religious", "rating of the marriage"])
axes.axhline(0, color="#888888", linewidth=0.8)
axes.legend()

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

assert len(women) == 6366
for term in terms:
    apart = (fit.bse[term] ** 2 - known.bse[term] ** 2) ** 0.5  # of the draws alone
    assert abs(fit.params[term] - known.params[term]) < 4 * apart
    assert abs(naive.params[term]) < 0.65 * abs(known.params[term])
assert (fit.pvalues[terms] < 1e-6).all()
assert 1.4 < (fit.bse[terms] / known.bse[terms]).mean() < 1.8

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(target / "29_regression.png", dpi=110)
# sphinx_gallery_end_ignore
