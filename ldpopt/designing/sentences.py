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

OWN = Topic(
    "own mechanism",
    (
        Sentence(
            "no optimum",
            lambda row: row.optimum is None,
            "no optimum to compare with: a report rules an answer out, so that epsilon is infinite",
        ),
        Sentence(
            "best found",
            lambda row: not row.optimum.is_optimal,
            "{facts.people:.4g} times the people of the best design that was found at its epsilon",
        ),
        Sentence(
            "as few people",
            lambda row: row.people <= 1 + OPTIMAL_GAP,
            "as few people as the optimum at its epsilon",
        ),
        Sentence(
            "more people",
            lambda row: True,
            "{facts.people:.4g} times the people of the optimum at its epsilon",
        ),
    ),
)
"""How many people a mechanism of the caller needs beside the best design of the same epsilon."""

TOPICS = (STANDING, OWN)
