"""A product of matrices with the largest term in place of the sum, on all cores."""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.threads import in_threads
from ldpopt.native import raise_to_products

ROWS = 64  # number of rows that a thread computes at a time


def max_product(left: Float, right: Float) -> Float:
    r"""Largest terms :math:`\max_k a_{ik} b_{kj}` of the product of two matrices, at least 0; nan does not count.

    Takes about a tenth of a nanosecond for each term, on all cores.
    """
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    found = np.zeros((len(left), right.shape[1]))

    def work(begin: int) -> None:
        raise_to_products(left[begin : begin + ROWS], right, found[begin : begin + ROWS])

    in_threads(work, range(0, len(left), ROWS))
    return found
