"""Columns of all sets where only their size matters, checked in integers for any number of answers.

Of a form that is nearly the same for all answers, the average over all permutations is priced size by size; what floats
leave beside it is bounded entry by entry.
"""

from __future__ import annotations

from fractions import Fraction

from ldpopt.certificate.exactly import Exactly


def hold_by_size(form: Exactly, line: Exactly, weights: Exactly, base: Fraction) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for all sets, for equal weights ``r``; False where that does not follow.

    Parameters
    ----------
    form, line, weights : Exactly
        ``N``, ``y`` and ``r``.
    base : Fraction
        Small entry of the columns over the large one.
    """
    n = len(line.whole)
    if n < 2 or any(int(r) != int(weights.whole[0]) for r in weights.whole):
        return False
    low, high = base.numerator, base.denominator
    diagonal = sum(int(form.whole[x, x]) for x in range(n))
    across, total = int(form.whole.sum()) - diagonal, int(line.whole.sum())
    # Averages times n (n - 1) and n, and what they leave.
    rest = n * (n - 1) * form.whole - across
    for x in range(n):
        rest[x, x] += across - (n - 1) * diagonal
    off, off_line = int(abs(rest).sum()), int(abs(n * line.whole - total).sum())
    for k in range(n + 1):
        mass, squares = k * high + (n - k) * low, k * high**2 + (n - k) * low**2
        cost = (n - 1) * diagonal * squares + across * (mass**2 - squares) + off * high**2
        right = (total * mass - off_line * high) * int(weights.whole[0]) * mass
        if right * (n - 1) * form.denominator < cost * line.denominator * weights.denominator:
            return False
    return True
