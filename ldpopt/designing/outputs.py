"""A limit on the number of reports: whether it binds, and the best design known under it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.designing.allowed import Allowed
from ldpopt.designing.at_most import limited, limited_for_all
from ldpopt.designing.column_generation import Optimum
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.fewer_reports import balanced, variances
from ldpopt.designing.realize import estimable
from ldpopt.errors import StatementError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import short_repr


def require_outputs(outputs: object, n: int) -> None:
    """Refuse a limit below the number of answers.

    Fewer would do for a workload of small rank, but its rounded channel would not be unbiased exactly.
    """
    if isinstance(outputs, bool) or not isinstance(outputs, (int, np.integer)):
        raise StatementError(f"outputs = {short_repr(outputs)} is not a whole number", do=f"state at least {n}")
    if outputs < n:
        raise StatementError(
            f"{outputs} reports cannot tell {n} answers apart: no unbiased estimator exists once masses are rounded",
            do=f"state outputs >= {n}, or leave it out",
        )


def has_more(optimum: Optimum, allowed: Allowed, outputs: int | None) -> bool:
    """Whether a design takes more reports, with those that make every contrast estimable."""
    if outputs is None:
        return False
    columns, _ = estimable(optimum.contrasts, optimum.columns, optimum.q, allowed.response, 0.0)
    return len(columns) > outputs


def with_outputs(
    optimum: Optimum, allowed: Allowed, outputs: int | None, deadline: Deadline, *, for_all: bool = False
) -> Optimum:
    """Find the best design known with at most so many reports, for the average or for the largest variance."""
    assert outputs is not None
    made = (limited_for_all if for_all else limited)(optimum, allowed, outputs, deadline)
    n = len(optimum.contrasts.weights)
    contrasts = Contrasts(optimum.contrasts.gram, np.full(n, 1 / n)) if for_all else optimum.contrasts
    even = balanced(contrasts, allowed.cone, outputs)
    if even is None:
        return made
    even = replace(even, dual=made.dual)
    better = variances(even).max() < variances(made).max() if for_all else even.value < made.value
    return even if better else made
