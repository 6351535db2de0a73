r"""Pricing of outputs in floats by row-sum multipliers ``y`` (docs, "Certificates"), and private
channels near others.

:math:`g_j = \beta \sum_x (c_{xj} - y_x)^+ + b \sum_x (c_{xj} - y_x)` is positive for no output if
``y`` is feasible.
"""

import numpy as np

from ldpopt.certificate.compact import OutputSums, least_shift
from ldpopt.foundation.numbers import Float


def best_bound(costs: Float, duals: Float, b: float, beta: float, delta: float = 0.0) -> float:
    r"""Bound :math:`\sum_x y_x + n t` of costs (n, m), with the best shift ``t``, plus the part of
    the slack.
    """
    shift = float(least_shift(costs, duals, b, beta, may_fall=not delta))
    total = float(duals.sum()) + len(duals) * shift
    if delta:
        total += delta * float(OutputSums.of(costs, duals + shift).positive.sum())
    return total


def project_to_private(channel: Float, b: float, delta: float = 0.0) -> Float:
    """A private channel near one, shape (n, k), whose ratios and row sums are slightly wrong."""
    # Entries are raised to their floors b (max - delta), and missing row mass is added. The result
    # is private up to rounding; it is repaired and audited later.
    top = channel.max(axis=0)
    raised: Float = np.maximum(channel, b * (top - delta))
    sums = raised.sum(axis=1)
    # Rows are scaled up only if delta is 0; otherwise their differences could exceed delta.
    total = max(1.0, float(sums.max())) if delta else float(sums.max())
    lack = total / float(sums.min()) - 1
    # Missing mass is added to one column, together with a share of equal rows, so that the column
    # stays private.
    room = (1 - b) / max(b, 1e-100)
    share = min(1.0, lack / (room + delta * (1 + room) + 1e-300) + lack)
    raised *= (1 - share) / total
    raised[:, int(np.argmax(top))] += share + (1 - share) * (1 - sums / total)
    return raised
