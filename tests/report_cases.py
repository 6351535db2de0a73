"""A crosswise question with an anchor question, whose answer is known, by which careless people are
seen: counts of a published example, by report and weight."""

from __future__ import annotations

import numpy as np

from ldpopt import Mechanism, ReportModel

Q = 0.15  # of the crosswise question and of the anchor question
ANCHOR = {"00": (116, 32), "01": (338, 87), "10": (252, 59), "11": (871, 245)}


def anchor() -> ReportModel:
    """The pair of a crosswise question and one that nobody can answer with yes."""
    rows = [
        [(1 - a) * Q, (1 - a) * (1 - Q), a * Q, a * (1 - Q)]  # reports 00 01 10 11
        for a in (1 - Q, Q)
    ]
    return ReportModel(
        Mechanism(rows, ["no", "yes"], list(ANCHOR)), behaviors={"careless": "uniform"}
    )


def anchored() -> tuple[list[str], np.ndarray]:
    reports = [report for report, each in ANCHOR.items() for n in each for _ in range(n)]
    weights = [
        w
        for each in ANCHOR.values()
        for n, w in zip(each, (1.25, 5.0), strict=True)
        for _ in range(n)
    ]
    return reports, np.array(weights)
