"""Matrices of scaled, stacked and reordered workloads, built when they are needed.

They are functions of workloads and no closures, so that a workload can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float

if TYPE_CHECKING:
    from ldpopt.problem.workload import Workload


def scaled_rows(workload: Workload, number: float) -> Float:
    """Every row times a number."""
    return number * workload.matrix


def scaled_gram(workload: Workload, number: float) -> Float:
    """The Gram matrix of such rows."""
    return number**2 * workload.gram


def stacked_rows(parts: Sequence[Workload]) -> Float:
    """The rows of all, one after the other."""
    return np.vstack([part.matrix for part in parts])


def stacked_gram(parts: Sequence[Workload]) -> Float:
    """The Gram matrix of such rows."""
    return np.asarray(np.sum([part.gram for part in parts], axis=0))


def ordered_rows(workload: Workload, order: NDArray[np.int64]) -> Float:
    """The answers in another order."""
    return workload.matrix[:, order]


def ordered_gram(workload: Workload, order: NDArray[np.int64]) -> Float:
    """The Gram matrix of such rows."""
    return workload.gram[np.ix_(order, order)]
