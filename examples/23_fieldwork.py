"""
A survey on the respondents' own devices
========================================

Question: what does a respondent's device get, what does it send, and what does the database keep?
The page draws the report; here the message is made by hand.
"""

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from ldpopt import Survey, fieldwork, techniques

survey = Survey({"smokes": techniques.warner(0.75)}, title="Smoking")
page = fieldwork.page(survey)
print(f"a page of {len(page):,} characters that loads nothing")

# %%
# What the page draws from: the exact masses of each report. Its digest and that of the words go
# with each message.

form = survey.form()
print(form["odds"], json.dumps(form["columns"]["smokes"]["reports"]))
print(survey.words_digest[:12])

# %%
# The database begins empty; ``ldpopt survey collect`` keeps the messages of the page in it, and
# ``ldpopt survey estimate`` reads it.

folder = Path(tempfile.mkdtemp())
with fieldwork.Store(f"sqlite:///{folder}/reports.db", survey) as store:
    status = store.status()
print(status.reports)

masses = form["columns"]["smokes"]["masses"]
axes = plt.figure().add_subplot(ylabel="probability of the report 'yes'")
axes.bar(form["questions"]["smokes"]["answers"], [row[1] / 2**53 for row in masses])

# sphinx_gallery_start_ignore
# Checks of what is above; the picture goes to the folder that the command names, or to the current
# one.
import sys

assert "getRandomValues" in page
assert form["odds"] == "3"
assert status.reports == 0

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(target / "23_fieldwork.png", dpi=110)
# sphinx_gallery_end_ignore
