"""A certificate for the independent checker, written by hand, and changes of it."""

from __future__ import annotations

import copy
import functools
import tempfile
from pathlib import Path
from typing import Any

from ldpopt_check import UNIT, ClaimError, NotCheckedError

EPS = "log(3)"
GOOD: dict[str, Any] = {
    "format": "ldpopt certificate 1",
    "statement": {
        "inputs": [0, 1],
        "outputs": [0, 1],
        "objective": "expected",
        "prior": [0.5, 0.5],
        "sense": "gain",
        "utility": [[1.0, 0.0], [0.0, 1.0]],
        "privacy": {"kind": "pure", "epsilon": EPS},
        "constraints": [],
    },
    "mechanism": {"bits": 53, "masses": [[UNIT * 3 // 4, UNIT // 4], [UNIT // 4, UNIT * 3 // 4]]},
    "multipliers": {
        "form": "compact",
        "row_sums": ["0x1.8p-2", "0x1.8p-2"],
        "worst_case": None,
        "privacy": [],
        "constraints": {},
    },
    "claim": {
        "achieved": "3/4",
        "bound": "3/4",
        "gap": "0",
        "relative_gap": "0x0.0p+0",
        "residuals": {},
    },
}


def with_changes(*changes: tuple[str, Any], of: Any = GOOD) -> Any:
    """A copy with other values at paths such as ``statement.prior``."""
    data = copy.deepcopy(of)
    for path, value in changes:
        *places, last = path.split(".")
        table = data
        for place in places:
            table = table[place]
        table[last] = value
    return data


def tabled(kind: str = "pure", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "epsilon": EPS, **more}


def refused(function: Any, *given: Any) -> bool:
    try:
        function(*given)
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        ArithmeticError,
        ClaimError,
        NotCheckedError,
    ):
        return True
    return False


def designs() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """One small design of every kind that the library saves: workload, notion, options."""
    import networkx as nx
    import numpy as np

    import ldpopt as lo
    from ldpopt.designing.methods.method import DesignLimits

    places = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1], [1.4, 1.3]])
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    line = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) * 0.1
    two = nx.Graph([("a", "b"), ("b", "c"), ("d", "e")])
    return {
        "sets": (
            lo.Workload.prefix(list("abcde")),
            lo.PureLDP(1.0),
            {"weights": [0.3, 0.3, 0.2, 0.1, 0.1]},
        ),
        "worst": (lo.Workload.prefix(4), lo.PureLDP("log(3)"), {"objective": "worst_case"}),
        "classes": (lo.Workload([[1, 1, 0, 0.5], [0, 0, 2, 0.25]]), lo.PureLDP("log(3)"), {}),
        "elliptope": (lo.Workload.prefix(22), lo.PureLDP(1.0), {"gap": 0.02}),
        "mean": (lo.Workload.mean(range(21)), lo.PureLDP(1.0), {"gap": 0.02}),
        "product": (
            lo.Workload.marginals({"a": range(2), "b": range(3), "c": range(4)}, 2),
            lo.PureLDP(1.0),
            {},
        ),
        "pairs": (lo.Workload.marginals((3,) * 4, 1), lo.PureLDP(1.5), {}),
        "moments": (lo.Workload.marginals((2,) * 5, 1), lo.PureLDP(1.0), {}),
        "alike": (
            lo.Workload.marginals({"a": range(3), "b": range(7)}, 1),
            lo.PureLDP(1.0),
            {"objective": "worst_case"},
        ),
        "blocks": (lo.Workload.frequencies(7), lo.PureLDP(1.0), {}),
        "questions": (
            2.0 * lo.Workload.marginals((2,) * 4, 1) + lo.Workload.marginals((2,) * 4, 3),
            lo.PureLDP("log(4)"),
            {"limits": DesignLimits(product_answers=2)},  # so that the channel is not listed
        ),
        "four": (
            lo.Workload.marginals((2,) * 6, 1),
            lo.PureLDP(4.0),
            {"limits": DesignLimits(product_answers=2)},
        ),
        "frequencies": (lo.Workload.frequencies(60), lo.PureLDP("log(3)"), {}),
        "capped frequencies": (
            -1.5 * lo.Workload.frequencies(30),
            lo.PureLDP("log(3)"),
            {"influence": 3.75},
        ),
        "liars among many": (
            lo.Workload.frequencies(25),
            lo.PureLDP("log(4)"),
            {"liars": 0.01, "people": 1000},
        ),
        "cycle": (lo.Workload.prefix(5), lo.GraphDP(1.0, nx.cycle_graph(5)), {}),
        "edges": (
            lo.Workload.frequencies(list("abcd")),
            lo.GraphDP("log(3)", nx.Graph([("a", "b"), ("b", "c"), ("c", "d"), ("b", "d")])),
            {"objective": "worst_case"},
        ),
        "parts": (
            lo.Workload.frequencies(list("abcde")),
            lo.GraphDP(1.0, two, parts="separate"),
            {},
        ),
        "places": (lo.Workload.frequencies(4), lo.MetricDP(1.0, apart), {}),
        "line": (lo.Workload.prefix(5), lo.MetricDP("log(20)", line), {}),
        "one_sided": (lo.Workload.frequencies(list("abcd")), lo.OneSided("log(4)", ["a", "c"]), {}),
    }


ALL_SETS = ("elliptope", "alike")
"""Designs with more than 20 answers whose bound is checked for every set: seconds a file."""

SLOW = ("product", "pairs", "moments", "alike", "four", "liars among many")
"""Designs that take three quarters of the time to make, of all."""


@functools.cache
def saved(name: str) -> str:
    """The file of a design as the library writes it, as text."""
    import ldpopt as lo

    workload, privacy, options = designs()[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "design.json"
        lo.save_design(lo.design(workload, privacy, **options), path)
        return path.read_text(encoding="utf-8")


def is_short(name: str) -> bool:
    """Whether a file is checked in milliseconds."""
    return len(saved(name)) < 10_000
