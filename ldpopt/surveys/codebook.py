"""The codebook of a survey: what each report in a table means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.foundation.labels import text_of
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from ldpopt.surveys.survey import Survey


def codebook(survey: Survey) -> list[dict[str, Any]]:
    """Rows: a column, a report (or a number of one), the answers that give it most often, and how
    much more often.
    """
    found = []
    for column, drawn in survey.randomizers.items():
        if isinstance(drawn, Mechanism):
            channel = np.asarray(drawn.counts / drawn.denominator)
            most = channel.max(axis=0)
            least = channel.min(axis=0)
            likely = channel >= np.sqrt(most * least) * (1 - 1e-12)
            meanings = [
                ", ".join(text_of(drawn.inputs[x]) for x in np.argsort(-p, kind="stable") if own[x])
                for p, own in zip(channel.T, likely.T, strict=True)
            ]
            ratios = np.divide(most, least, out=np.full(len(most), np.inf), where=least > 0)
            rows = list(zip(drawn.outputs, meanings, ratios.tolist(), strict=True))
        else:
            odds = float(
                (1 + drawn.bias) / (1 - drawn.bias)
                if isinstance(drawn, YesNoPatterns)
                else drawn.odds
            )
            names = [
                ": ".join(map(text_of, x)) if isinstance(x, tuple) else text_of(x)
                for x in drawn.inputs
            ]
            rows = [(number, f"the list has {name}", odds) for number, name in enumerate(names)]
        found += [
            {"column": column, "report": text_of(y), "likely": name, "times": n}
            for y, name, n in rows
        ]
    return found
