r"""A proof that no private design keeps some caps, by multipliers of the least influence.

Whoever keeps caps ``I`` has a mean squared error of at most :math:`\sum_j I_j^2`, since no value is
further than ``I_j`` from the truth. If caps are too small, the bound on the error grows without end
as its multipliers grow; once it is above that sum, and its condition holds exactly, there is no
such design. The multipliers come from a linear program in floats; the proof uses rationals only.
Theory: docs, "Influence".
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ldpopt.certificate.capped_statement import CappedStatement
from ldpopt.certificate.design_bound_capped import CappedBound
from ldpopt.designing.methods.capped.task import CappedTask
from ldpopt.errors import CertificateError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

MARGINS = (1e-13, 1e-11, 1e-9, 1e-7)  # added to prices, whose sum is 1
ROOM = 4.0  # by which part the bound is to exceed the largest error


def no_design(capped: CappedTask, caps: Float, deadline: Deadline) -> bool:
    """Whether it is proved that no private design keeps the caps; False says nothing."""
    is_capped = np.isfinite(caps[capped.used])
    limits = capped.limits(caps)[is_capped]
    places = capped.used[is_capped]
    statement = CappedStatement.of(
        capped.form.problem.workload.matrix[places],
        capped.form.problem.all_weights,
        caps[places],
        capped.form.classes,
    )
    # a cap of half of the span leaves one value, which is not unbiased for all answers
    if any(reach is not None and reach <= 0 for reach in statement.reach):
        return True
    if not (limits > 0).all():
        return False
    try:
        _, least = capped.least_factor(is_capped, limits, deadline)
    except CertificateError:  # hardly any room: no factor is found in floats
        return False
    largest = sum((Fraction(cap) ** 2 for cap in caps[places].tolist()), Fraction(0))
    for margin in MARGINS:
        surplus = 2 * (least.factor - 1 - margin)
        if surplus <= 0:
            break
        # h_B(z) <= 2 B |z|, and sum_j B_j |K_j.v| <= y.v for the limits that are the caps
        scale = (ROOM * float(largest) + float(statement.constant)) / surplus
        line = least.line + margin / len(least.line)
        bound = CappedBound(scale * least.slope, 2 * scale * line)
        if bound.value(statement) > largest and bound.holds(statement, capped.exact_cone):
            return True
    return False
