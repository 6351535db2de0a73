"""What an audit says in words: whether reports tell answers apart, and by how much at least."""

from __future__ import annotations

from math import inf

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.sentences import Sentence, Topic

NO_WITNESS = Topic(
    "no witness",
    (
        Sentence(
            "equal averages",
            lambda audit: set(audit.nouns) != {"answer"} and audit.curve(Budget(0)) == 0,
            "none: all averages that are compared are equal",
        ),
        Sentence(
            "equal",
            lambda audit: audit.curve(Budget(0)) == 0,
            "none: all rows that are compared are equal",
        ),
        Sentence(
            "within",
            lambda audit: audit.curve(Budget(0)) > 0,
            "none: no report exceeds the claimed epsilon",
        ),
        Sentence("unknown", lambda audit: True, "none"),  # an audit of a plug-in without a curve
    ),
)
"""Why no answers and no report show how large delta is."""

DELTA = Topic(
    "smallest delta",
    (
        Sentence(
            "none",
            # a claim that reports exceed without a bound has a delta above 0
            lambda audit: audit.epsilon == inf and audit.delta == 0,
            "none: no epsilon is large enough, and none is claimed",
        ),
        Sentence("number", lambda audit: True, "{facts.delta:.12g}"),
    ),
)
"""The least delta at the epsilon of a claim, or at the least epsilon of all."""

TOPICS = (NO_WITNESS, DELTA)
