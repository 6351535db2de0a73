"""How good a design is proved to be, in words."""

from __future__ import annotations

from ldpopt.foundation.sentences import Sentence, Topic

OPTIMAL_GAP = 1e-3  # largest relative gap of a design that is called optimal in words

STANDING = Topic(
    "standing",
    (
        Sentence("optimum", lambda design: design.is_optimal, "optimum"),
        Sentence(
            "best found",
            lambda design: design.bound > 0,
            "best found, at most {facts.times_the_best} times the best",
        ),
        Sentence("no bound", lambda design: True, "best found, no bound"),
    ),
)
"""Whether a design is the best one, or how much better another one could be."""

TOPICS = (STANDING,)
