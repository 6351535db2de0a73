r"""Best private channels for convex utilities under any notion whose private columns form a cone.

A sublinear utility is largest for sums of extreme rays: a linear program finds their weights, over
all rays at once, and its prices prove a bound (`ray_certificate`). Theory: docs, "Rays".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.mechanism.rounding import MAX_NOISE
from ldpopt.polytope.exact_utilities import ExactUtility
from ldpopt.polytope.ray_certificate import RayCertificate
from ldpopt.privacy.cones.columns import Columns
from ldpopt.privacy.cones.rays import whole_rays_of

TOLERANCE = 1e-10  # of the simplex solver, whose vertex is exact up to rounding errors


@dataclass(frozen=True, eq=False)
class RayOptimum:
    """The best sum of rays: the channel, its columns and weights, and a bound."""

    mechanism: Mechanism
    columns: Float  # rays in use, the largest entry of each 1, shape (k, n)
    weights: Float  # shape (k,)
    bound: Fraction | float
    certificate: RayCertificate | None  # None if the utility has no exact form


def best_of_rays(
    utility: Callable[[Float], Float],
    exact: ExactUtility | None,
    privacy: Any,
    inputs: Sequence[Hashable],
    deadline: Deadline,
) -> RayOptimum:
    """Maximize a sublinear function of the columns, from shape (n, m) to (m,), over all rays."""
    rays = whole_rays_of(privacy, inputs, deadline=deadline)
    columns = rays.columns
    values = np.asarray(utility(columns.vectors.T))
    if not np.isfinite(values).all():
        raise StatementError(
            f"the utility is infinite at a private column under {privacy!r}",
            code="infinite-value",
            do="state a smaller epsilon, or a notion whose columns have no zeros",
        )
    weights, prices = _solve(columns, values, deadline)
    used = np.flatnonzero(weights > MAX_NOISE * weights.max())
    vectors = columns.vectors[used]
    channel = vectors.T * weights[used]
    names = privacy.reports(inputs, channel)
    fixed = repair(channel, privacy, inputs=inputs, outputs=names).mechanism
    if exact is None:
        excess = (values - columns.vectors @ prices) / columns.vectors.sum(axis=1)
        bound = float(prices.sum() + len(prices) * max(excess.max(), 0.0))
        return RayOptimum(fixed, vectors, weights[used], bound, None)
    rational = [Fraction(price) for price in prices.tolist()]
    proof = RayCertificate.of(exact, privacy, inputs, fixed, rational, rays)
    return RayOptimum(fixed, vectors, weights[used], proof.bound, proof)


def _solve(columns: Columns, values: Float, deadline: Deadline) -> tuple[Float, Float]:
    """Weights of the rays, and prices of the answers.

    A column is ``base + spread shape``, so that ``sum theta shape`` is a constant ``t`` with
    ``base sum theta + spread t = 1``: well conditioned also where all columns are nearly constant.
    """
    from scipy.optimize import linprog

    count, n = columns.shapes.shape
    scale = float(np.abs(values).max()) or 1.0
    rows = np.vstack(
        [
            np.hstack([columns.shapes.T, -np.ones((n, 1))]),
            np.append(np.full(count, columns.base), columns.spread),
        ]
    )
    options: Any = {
        "time_limit": deadline.left,
        "dual_feasibility_tolerance": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE,
    }
    result: Any = linprog(
        np.append(-values / scale, 0.0),
        A_eq=rows,
        b_eq=np.append(np.zeros(n), 1.0),
        bounds=[(0, None)] * count + [(None, None)],
        method="highs-ds",
        options=options,
    )
    if result.status != 0:
        raise LdpoptError(
            f"the program over {count:,} rays was not solved: {result.message}",
            code="ray-program",
            do="give a longer time_limit, or merge answers",
        )
    # A price in this form is that of the channel's rows times the spread.
    prices = -result.eqlin.marginals[:n] * scale / columns.spread
    return np.asarray(result.x[:count]), np.asarray(prices)
