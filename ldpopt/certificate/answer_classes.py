"""Answers that a workload does not tell apart count as one: that loses nothing.

Averaging the rows of such answers keeps a channel private, its estimator unbiased, and the average variance.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.rays import definition_of


@dataclass(frozen=True, eq=False)
class AnswerClasses:
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


def merge(matrix: Float) -> AnswerClasses:
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
    return AnswerClasses(first[order].astype(np.int64), rank[classes.ravel()].astype(np.int64))


def merged_by(privacy: Any, matrix: Float, inputs: Sequence[Hashable]) -> AnswerClasses:
    """Classes of answers that count as one: where all pairs are tied alike, those with equal columns of the workload.

    Under other notions the average of two rows may break a tie with a third.
    """
    everyone = np.arange(len(inputs))
    return merge(matrix) if is_pure(privacy, inputs) else AnswerClasses(everyone, everyone)


def is_pure(privacy: Any, inputs: Sequence[Hashable]) -> bool:
    """Whether all answers are tied alike, at distance 1."""
    ties = definition_of(privacy, inputs)
    return ties.is_complete and ties.distance is None
