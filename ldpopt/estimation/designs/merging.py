"""Answers that a workload does not tell apart count as one: that loses nothing.

Averaging the rows of such answers keeps a channel private, its estimator unbiased, and the average variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.checks import Float


@dataclass(frozen=True, eq=False)
class Merged:
    """Classes of answers with equal columns of the workload.

    Attributes
    ----------
    first : int array, shape (c,)
        One answer of each class, ascending.
    classes : int array, shape (n,)
        Class of every answer.
    """

    first: NDArray[np.int64]
    classes: NDArray[np.int64]


def merge(matrix: Float) -> Merged:
    """Find the classes.

    Examples
    --------
    >>> import numpy as np
    >>> merge(np.array([[1.0, 0.0, 1.0]])).classes.tolist()
    [0, 1, 0]
    """
    _, first, classes = np.unique(matrix.T + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    return Merged(first[order].astype(np.int64), rank[classes.ravel()].astype(np.int64))
