r"""Columns of all sets at once: a form in signs that is positive with a diagonal added, checked in integers.

With signs ``s`` a staircase column is ``v = a + h s``, ``a = (1 + base) / 2``, ``h = (1 - base) / 2``. The condition
``v N v <= (y.v)(r.v)`` is a quadratic form in ``z = (1, s)``. A diagonal whose sum is 0 changes nothing where all
squares are 1; if the form with it is positive semidefinite, the condition holds for every set. (The elliptope, as for
cuts of graphs.)
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from ldpopt.certificate.exact_products import product
from ldpopt.certificate.exactly import Exactly, Whole
from ldpopt.certificate.inequalities import Inequalities
from ldpopt.foundation.checks import Float

BITS = 62
"""Bits of the factor in which a form is written out again."""


def is_positive(
    form: Exactly,
    line: Exactly,
    weights: Exactly,
    base: Fraction,
    shift: Float,
    inequalities: Inequalities | None = None,
) -> bool:
    """Whether the condition holds for all signs, in exact arithmetic.

    Parameters
    ----------
    form, line, weights : Exactly
        ``N``, ``y`` and ``r``.
    base : Fraction
        Small entry of the columns over the large one.
    shift : ndarray, shape (n + 1,)
        Diagonal; its first entry is replaced by minus the sum of the others.
    inequalities : Inequalities, optional
        What is taken off because no set makes it negative; default: nothing.
    """
    given = Exactly.of(shift)
    diagonal = given.whole.copy()
    diagonal[0] = -int(diagonal[1:].sum())
    # Everything times 2: 2 v = (1 + base) + (1 - base) s, over the denominator of base.
    low, high = base.numerator, base.denominator
    right = _in_signs(line.whole, high + low, high - low)
    mass = _in_signs(weights.whole, high + low, high - low)
    outer = right[:, None] * mass
    twice = (outer + outer.T) * form.denominator
    cost = _form_in_signs(form.whole, high + low, high - low)
    scale = line.denominator * weights.denominator
    total = (twice - 2 * scale * cost) * given.denominator
    unit = 8 * high * high * form.denominator * scale
    total[np.diag_indices_from(total)] += unit * diagonal
    if inequalities is None:
        return is_semidefinite(total)
    taken = inequalities.exact()
    if taken is None:
        return False
    return is_semidefinite(total * taken.denominator - (unit * given.denominator) * taken.whole)


def _form_in_signs(form: Whole, constant: int, step: int) -> Whole:
    """A quadratic form of the columns as one of ``(1, s)``."""
    sums = form.sum(axis=0)
    cost = np.empty((len(form) + 1, len(form) + 1), dtype=object)
    cost[1:, 1:] = step * step * form
    cost[0, 1:] = cost[1:, 0] = constant * step * sums
    cost[0, 0] = constant * constant * int(sums.sum())
    return cost


def _in_signs(vector: Whole, constant: int, step: int) -> Whole:
    """A linear form of the columns as one of ``(1, s)``."""
    return np.concatenate([np.array([constant * int(vector.sum())], dtype=object), step * vector])


def is_semidefinite(matrix: Whole) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite: a factor in integers, and a dominant rest.

    True is a proof. False may also mean that the smallest eigenvalue is too near 0 for floats.

    Examples
    --------
    >>> import numpy as np
    >>> is_semidefinite(np.array([[2, 1], [1, 2]], dtype=object))
    True
    """
    sizes = [int(entry).bit_length() for entry in np.diag(matrix)]
    # Rows and columns times powers of two bring the diagonal near 1.
    powers = np.array([-(-size // 2) for size in sizes], dtype=object)
    most = int(powers.max(initial=0)) + BITS
    scaled = matrix << (most - powers)
    scaled = scaled << (most - powers)[:, None]
    if (np.abs(scaled) >> (2 * most)).any():
        return False  # an entry above the geometric mean of its diagonal ones: floats might not hold it
    floats = (scaled >> (2 * most - 1000)).astype(np.float64) / 2.0**1000 if 2 * most > 1000 else _floats(scaled, most)
    for slack in (1e-14, 1e-13, 1e-12, 1e-11, 1e-10):
        try:
            factor = cholesky(floats - slack * len(floats) * np.eye(len(floats)), lower=True)
        except LinAlgError:
            return False
        whole: Whole = np.ldexp(factor, BITS - 8).astype(np.int64).astype(object)
        rest = scaled - (product(whole, whole.T) << (2 * (most - BITS + 8)))
        diagonal = np.diag(rest).copy()
        # A row's sum has the diagonal's absolute value, so where this holds the diagonal is not negative.
        if bool((2 * diagonal >= np.abs(rest).sum(axis=1)).all()):
            return True
    return False


def _floats(scaled: Whole, most: int) -> Float:
    return np.array([[float(Fraction(int(entry), 1 << (2 * most))) for entry in row] for row in scaled])
