"""
A survey on the respondents' own devices
========================================

Question: what does a respondent's device get, what does it send, and what does the database keep?
The page draws the report on the device; here Python draws it, and sends the same messages to a
collector that runs on this machine.
"""

import json
import secrets
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ldpopt import Survey, fieldwork, techniques

survey = Survey({"smokes": techniques.warner(0.75)}, title="Smoking")
page = fieldwork.page(survey)
print(f"a page of {len(page):,} characters that loads nothing")

# %%
# What the page draws from: the exact masses of each report. The form has a digest, the words have
# one, and both go with each message, so that no report is counted under another question.

form = survey.form()
print(form["odds"], json.dumps(form["columns"]["smokes"]["reports"]))
print(survey.words_digest[:12])

# %%
# The collector shows the page and keeps reports: ``ldpopt survey collect FILE``. The port is any
# free one here.

folder = Path(tempfile.mkdtemp())
database = f"sqlite:///{folder}/reports.db"
survey.save(folder / "survey.json")
command = [sys.executable, "-m", "ldpopt", "survey", "collect", str(folder / "survey.json")]
collector = subprocess.Popen(
    [*command, "--to", database, "--port", "0", "--json", "-"], stdout=subprocess.PIPE, text=True
)
address = json.loads(collector.stdout.readline())["address"]
with urllib.request.urlopen(address) as answer:
    shown = answer.read().decode()
print(f"the collector shows a page of {len(shown):,} characters")

# %%
# A message: a random number, the digests, the report. The answer is not in it.

with fieldwork.Store(database, survey) as store:
    digest = store.digest


def send(report):
    """Send one report, as the page does; its status is 200 once the report is on the disk."""
    message = {"form": digest, "words": survey.words_digest, "id": secrets.token_hex(16)}
    body = json.dumps(message | {"reports": {"smokes": report}}).encode()
    request = urllib.request.Request(f"{address}reports", body, method="POST")
    with urllib.request.urlopen(request) as answer:
        return answer.status


answers = np.where(np.random.default_rng(1).random(400) < 0.3, "yes", "no")
reports = survey.privatize(pd.DataFrame({"smokes": answers}), rng=2)["smokes"]
try:
    statuses = {send(report) for report in reports}
finally:
    collector.send_signal(signal.SIGINT)  # Ctrl-C: afterwards the file shows no order of arrival
    ended = collector.wait()
    collector.stdout.close()
print(f"statuses {statuses}, the collector ended with {ended}")

# %%
# The reports are estimated from the database: ``ldpopt survey estimate FILE DATABASE``.

with fieldwork.Store(database, survey) as store:
    status = store.status()
print(status)
found = survey.estimate(database)["smokes"]
print(found)

axes = plt.figure(layout="constrained").add_subplot(ylabel="share", title="400 collected reports")
axes.bar(["reports of yes", "estimated share of yes"], [(reports == "yes").mean(), found.values[1]])
axes.vlines(1, *found.interval[1], color="black")

# sphinx_gallery_start_ignore
# Checks of what is above; the picture goes to the folder that the command names, or to the current
# one.
assert "getRandomValues" in page
assert "getRandomValues" in shown
assert form["odds"] == "3"
assert (status.reports, ended, len(statuses)) == (400, 0, 1)
assert abs(found.values[1] - (answers == "yes").mean()) < 5 * found.std_error[1]
rows = (folder / "reports.db").read_bytes()
assert b"127.0.0.1" not in rows

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(target / "23_fieldwork.png", dpi=110)
# sphinx_gallery_end_ignore
