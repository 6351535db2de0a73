"""Certificates of linear programs for tests: statements, and changes of files that are found."""

from __future__ import annotations

import json
from fractions import Fraction

import networkx as nx
import numpy as np

from builders import hops
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    MetricDP,
    OneSided,
    Problem,
    PureLDP,
    Utility,
    UtilityOptimizedLDP,
    certify,
    constraints,
    solve,
)

LABELS = ("a", "b", "c", "d")
HOPS = hops(4) * 0.7
NOTIONS = {
    "pure": PureLDP("log(7/2)"),
    "decimal": PureLDP("0.3"),
    "event": ApproximateLDP(0.5, 0.1),
    "entry": ApproximateLDP(0.5, 0.1, "entry"),
    "graph": GraphDP(1.0, nx.path_graph(LABELS)),
    "metric": MetricDP(1.0, HOPS),
    "one-sided": OneSided(0.7, ["b"]),
    "utility-optimized": UtilityOptimizedLDP(0.7, ["b"]),
}
GAIN = (np.random.default_rng(5).random((4, 3)) / 4 + np.eye(4, 3)).round(3)
HALF = constraints.linear(GAIN.round(1), lower=0.5, upper=2.2, name="half")


def stated(notion="pure", objective="expected", sense="gain", blocks=()):
    prior = np.array([0.4, 0.3, 0.2, 0.1]) if objective == "expected" else None
    utility = Utility(GAIN, sense)
    return Problem(
        prior, utility, NOTIONS[notion], inputs=LABELS, objective=objective, constraints=blocks
    )


def proof_of(*args, form=None, **kwargs):
    return certify(solve(stated(*args, **kwargs), form=form))


def moved_mass(data):
    row = data["mechanism"]["masses"][0]
    row[0], row[1] = row[0] - 1, row[1] + 1


def put(*path):
    """Set the value at a path of keys."""
    *keys, last, value = path

    def change(data):
        for key in keys:
            data = data[key]
        data[last] = value(data[last]) if callable(value) else value

    return change


def scaled(text, factor):
    return str(Fraction(text) * factor)


TAMPERED = {
    "one unit of mass": (moved_mass, "achieved"),
    "a bound one ulp lower": (
        put("claim", "bound", lambda b: scaled(b, 1 - Fraction(1, 2**53))),
        "bound",
    ),
    "a better value": (
        put("claim", "achieved", lambda a: scaled(a, 1 + Fraction(1, 2**300))),
        "achieved",
    ),
    "a smaller gap": (put("claim", "gap", "0"), "gap"),
    "a smaller relative gap": (put("claim", "relative_gap", "0x0.0p+0"), "relative_gap"),
    "no residual": (put("claim", "residuals", "unbiased", "0x0.0p+0"), "residual of 'unbiased'"),
    "a multiplier": (put("multipliers", "constraints", "unbiased", 0, "0x1.8p+3"), "bound"),
    "a row's multiplier": (put("multipliers", "row_sums", 1, "-0x1.0p+0"), "bound"),
    "less epsilon": (put("statement", "privacy", "epsilon", "log(2)"), "privacy"),
    "more epsilon": (put("statement", "privacy", "epsilon", "log(4)"), "bound"),
    "another prior": (put("statement", "prior", [0.25, 0.25, 0.5]), "achieved"),
    "another loss": (put("statement", "utility", 0, 0, 0.5), "achieved"),
    "another target": (
        put("statement", "constraints", 0, "lower", 0, -0.9),
        "residual of 'unbiased'",
    ),
}


def unbiased_proof():
    """A certificate in which every kind of number matters."""
    block = constraints.unbiased([-1, 0, 1], [-3, -1, 1, 3])
    loss = np.square(np.subtract.outer([-1, 0, 1], [-3, -1, 1, 3])).astype(float)
    problem = Problem(
        [0.5, 0.3, 0.2], Utility(loss, "loss"), PureLDP("log(3)"), constraints=[block]
    )
    return certify(solve(problem))


def tamper(data, name):
    """Change the document in one place; the number that no longer holds."""
    change, number = TAMPERED[name]
    if name == "a bound one ulp lower":
        # of a loss: higher is better
        data["claim"]["bound"] = scaled(data["claim"]["bound"], 1 + Fraction(1, 2**52))
    else:
        change(data)
    return number


BAD = {
    "nothing": "",
    "a list": "[]",
    "nan": '{"format": NaN}',
    "a key twice": '{"format": "x", "format": "x"}',
    "deep": "[" * 100_000 + "]" * 100_000,
    "another file": '{"inputs": [], "outputs": [], "channel": []}',
}
WRONG = {
    "an unknown key": put("hint", 1),
    "another format": put("format", "ldpopt certificate 9"),
    "masses that do not sum": put("mechanism", "masses", 0, 0, 1),
    "a negative mass": put("mechanism", "masses", 0, 0, -1),
    "a mass that is a float": put("mechanism", "masses", 0, 0, 1.0),
    "too few rows": put("mechanism", "masses", lambda rows: rows[1:]),
    "fewer bits": put("mechanism", "bits", 16),
    "an infinite number": put("statement", "prior", 0, 1e999),
    "an integer beyond floats": put("statement", "utility", 0, 0, 10**400),
    "a truth value": put("statement", "prior", 0, True),
    "a prior that does not sum": put("statement", "prior", 0, 0.6),
    "a negative budget": put("statement", "privacy", "epsilon", -1.0),
    "an unknown notion": put("statement", "privacy", "kind", "homemade"),
    "a label twice": put("statement", "inputs", ["a", "a", "b"]),
    "a decimal multiplier": put("multipliers", "row_sums", 0, "0.5"),
    "a nan multiplier": put("multipliers", "row_sums", 0, "nan"),
    "a huge exponent": put("multipliers", "row_sums", 0, "0x1.0p+9999"),
    "no rational": put("claim", "bound", "1e99999999"),
    "a rational over zero": put("claim", "bound", "1/00"),
    "a rational beyond floats": put("claim", "bound", "1" * 400),
    "a missing multiplier": put("multipliers", "constraints", {}),
    "an event of no output": put("multipliers", "privacy", [[0, 1, [9], "0x1.0p+0"]]),
    "an event twice": put("multipliers", "privacy", [[0, 1, [1, 1], "0x1.0p+0"]]),
    "a negative multiplier": put("multipliers", "privacy", [[0, 1, [1], "-0x1.0p+0"]]),
    "a side outside": put("statement", "constraints", 0, "rows", 0, 0, [7, 0, 1.0]),
}


def bad_text(name, data):
    """What stands in a file of a wrong kind, or with one wrong part."""
    if name in BAD:
        return BAD[name]
    if name == "an unknown key":
        data["hint"] = 0
    WRONG[name](data)
    return json.dumps(data)


HUGE = [
    put("multipliers", "privacy", 0, 3, "0x1.fffffffffffffp+1023"),
    put("multipliers", "constraints", "half", 0, "-0x1.fffffffffffffp+1023"),
    put(
        "statement",
        "privacy",
        "distance",
        [[0 if x == y else 1e300 for y in range(4)] for x in range(4)],
    ),
    put("statement", "privacy", "epsilon", 1e4),
    put("statement", "utility", [[1e308] * 3] * 4),
    put("statement", "constraints", 0, "upper", 0, 5e-324),
    put("claim", "relative_gap", "-0x1.fffffffffffffp+1023"),
]
