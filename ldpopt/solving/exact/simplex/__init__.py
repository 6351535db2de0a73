r"""Canonical form of a linear program at a basis: the textbook proof of optimality, as a table to
check.

A standard form is :math:`\max Z = c x` over :math:`A x = b`, :math:`x \ge 0`. With a basis ``B``
(columns of ``A``, as many as rows, independent) it reads :math:`Z = Z_0 + \sum_j \sigma_j x_j` over
the other columns, with reduced costs

.. math:: \sigma_N = c_N - c_B B^{-1} N, \qquad x_B = B^{-1} b .

If :math:`x_B \ge 0` and all :math:`\sigma_j \le 0`, then ``x_B`` is optimal (Zhou, Lu and Wu 2019,
Theorem 1). Number types are kept: Fractions stay exact, floats stay floats, sympy expressions stay
symbolic.
"""

from ldpopt.solving.exact.simplex.binary import MODEL_I, MODEL_II, BinaryBasis, binary_standard_form
from ldpopt.solving.exact.simplex.canonical import CanonicalForm, canonical_form, improve
from ldpopt.solving.exact.simplex.standard_form import (
    StandardForm,
    Variable,
    basis_of,
    standard_form,
)

__all__ = [
    "BinaryBasis",
    "CanonicalForm",
    "MODEL_I",
    "MODEL_II",
    "StandardForm",
    "Variable",
    "basis_of",
    "binary_standard_form",
    "canonical_form",
    "improve",
    "standard_form",
]
