"""A certificate for the independent checker, written by hand, and changes of it."""

from __future__ import annotations

import copy
from typing import Any

from ldpopt_check import UNIT, ClaimError

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
    "claim": {"achieved": "3/4", "bound": "3/4", "gap": "0", "relative_gap": "0x0.0p+0", "residuals": {}},
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
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, ClaimError):
        return True
    return False
