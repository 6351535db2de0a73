"""The cases of benchmarks/speed.py: methods, sizes, gains, budgets and priors."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

SIZES = (10, 20, 40, 80, 160, 320, 640, 1000, 2000, 5000)
GAINS = ("identity", "absolute", "random")
EPSILONS = (0.1, 1, 5)
# method: (package, exponent of n in its number of rows, a lower bound of the growth of its time)
OTHERS = {
    "HiGHS, compact": ("highspy", 2),
    "HiGHS, pairwise": ("highspy", 3),
    "cvxpy, HiGHS": ("cvxpy", 3),
    "cvxpy, Clarabel": ("clarabel", 3),
    "PuLP, CBC": ("pulp", 3),
    "linopy, HiGHS": ("linopy", 3),
    "scipy linprog": ("scipy", 3),
    "qif": ("qif", 3),
}
CHOICE_SIZES = (10, 20, 30, 40, 50, 60, 80, 110, 160, 320)

Case = dict[str, Any]


def series(options: argparse.Namespace) -> Iterator[list[Case]]:
    """Yield lists of cases that differ in size only, ascending; the measurement stops after one
    that is too slow."""
    every = options.all
    for gain in GAINS:
        for epsilon in EPSILONS:
            for prior in ("uniform", "random"):
                largest = 1000 if epsilon != 1 else 5000 if prior == "random" else 2000
                sizes = [n for n in SIZES if every or n <= largest]
                yield [case("ldpopt", n, gain, epsilon, prior) for n in sizes]
    for method in OTHERS:
        for gain in GAINS:
            for epsilon in EPSILONS if every else (1,):
                yield [case(method, n, gain, epsilon, "random") for n in SIZES]
    for gain in GAINS:
        for epsilon in EPSILONS:
            yield [case("choices", n, gain, epsilon, "random") for n in CHOICE_SIZES]
    yield [case("formulate", 320, "random", 1, "random")]


def case(method: str, n: int, gain: str, epsilon: float, prior: str) -> Case:
    """One method on one problem."""
    return {"method": method, "n": n, "gain": gain, "epsilon": epsilon, "prior": prior}


def key(one: Case) -> str:
    """Name of a case in the raw figures."""
    return "|".join(str(one[name]) for name in ("method", "n", "gain", "epsilon", "prior"))
