"""The mechanism whose privacy constraints are all tight."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.studies.literature.problems import distances, exactly_private, read_problem, require_mutual_ties

ROUNDING = 1e-12  # share of the largest weight down to which negative weights are rounding errors


def tight_constraints(problem: Any) -> Mechanism:
    r"""Let every pair of inputs have the ratio ``exp(epsilon d)`` at the report of one of them.

    .. math:: P(x, y) = w_y e^{-\epsilon d(x, y)}, \qquad \sum_y w_y e^{-\epsilon d(x, y)} = 1 \text{ for all } x

    Parameters
    ----------
    problem : Problem or MetricDP
        Pure, graph or metric privacy; d is the hop distance of a graph, and 1 for pure privacy.

    Returns
    -------
    Mechanism
        Exactly private, shape ``(n, n)``: reports are inputs. For pure privacy it is randomized response.

    Raises
    ------
    NotRepresentableError
        If a weight ``w`` is negative, which happens for small epsilon, or for the reasons of `exponential`.

    Notes
    -----
    O(n^3). It needs no prior. `closed_forms.kernel` says when it exists and is optimal for the identity.

    References
    ----------
    Chatzikokolakis, ElSalamony and Palamidessi 2017, section 3.

    Examples
    --------
    >>> from ldpopt import PureLDP, Problem
    >>> tight_constraints(Problem([0.2, 0.8], "identity", PureLDP("log(3)"))).channel.round(9).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    problem = read_problem(problem)
    ties = require_mutual_ties(problem)
    kernel = np.exp(-float(ties.budget) * distances(ties))
    try:
        weights = np.linalg.solve(kernel, np.ones(len(kernel)))
    except np.linalg.LinAlgError:
        raise NotRepresentableError("the matrix exp(-epsilon d) is singular", do="use a larger epsilon") from None
    worst = int(np.argmin(weights))
    if not weights[worst] >= -ROUNDING * np.abs(weights).max():
        what = f"it does not exist at this epsilon: its weight of {problem.inputs[worst]!r} is {weights[worst]:.3g}"
        raise NotRepresentableError(what, do="use a larger epsilon")
    return exactly_private(problem, kernel * np.maximum(weights, 0.0), problem.inputs)
