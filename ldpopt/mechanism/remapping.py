"""Bayesian remapping: each report is replaced by what is best, on average, for those who send it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.checks import Float
from ldpopt.foundation.labelled import Labels
from ldpopt.statement.prior import read_prior
from ldpopt.statement.utility import Utility, resolve


def merged_reports(channel: Float, inputs: Labels, prior: Any, worth: Utility) -> NDArray[np.int64]:
    """Position of the best guess for each report, shape (m,); of equal ones the first."""
    joint = read_prior(prior, inputs)[0][:, None] * channel
    return np.asarray(np.argmax(joint.T @ worth.gain, axis=1))


def merged_counts(counts: NDArray[np.int64], best: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Masses after each report is replaced by its guess, shape (n, size): added as integers."""
    merged = np.zeros((len(counts), size), np.int64)
    np.add.at(merged.T, best, counts.T)
    return merged


def read_worth(inputs: Labels, utility: Any, outputs: Sequence[Hashable] | None = None) -> tuple[Utility, Labels]:
    """Read what guesses are worth, and their labels: those given, the utility's own, the inputs, or positions."""
    given = utility if isinstance(utility, (str, Utility)) else Utility(utility, "gain")
    targets = inputs if outputs is None else tuple(outputs)
    if outputs is None and isinstance(given, Utility):
        own = given.outputs if given.outputs is None or set(given.outputs) != set(inputs) else inputs
        targets = own or (inputs if given.shape[1] == len(inputs) else tuple(range(given.shape[1])))
    return resolve(given, inputs, targets), targets
