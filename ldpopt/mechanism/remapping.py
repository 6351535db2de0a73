"""Bayesian remapping: each report is replaced by what is best, on average, for those who send it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.foundation.labelled import Labels
from ldpopt.statement.prior import read_prior
from ldpopt.statement.utility import Utility, resolve

if TYPE_CHECKING:
    from ldpopt.mechanism.mechanism import Mechanism


def remapped(
    mechanism: Mechanism, prior: Any, utility: Any, outputs: Sequence[Hashable] | None
) -> tuple[Float, Labels, Labels]:
    """Channel and labels after the best rule for the reports; the masses of merged reports are added exactly."""
    worth, targets = read_worth(mechanism.inputs, utility, outputs)
    joint = read_prior(prior, mechanism.inputs)[0][:, None] * mechanism.channel
    best = np.argmax(joint.T @ worth.gain, axis=1)
    counts = np.zeros((len(mechanism.inputs), len(targets)), np.int64)
    np.add.at(counts.T, best, mechanism.counts.T)
    return counts / mechanism.denominator, mechanism.inputs, targets


def read_worth(inputs: Labels, utility: Any, outputs: Sequence[Hashable] | None = None) -> tuple[Utility, Labels]:
    """Read what guesses are worth, and their labels: those given, the utility's own, the inputs, or positions."""
    given = utility if isinstance(utility, (str, Utility)) else Utility(utility, "gain")
    targets = inputs if outputs is None else tuple(outputs)
    if outputs is None and isinstance(given, Utility):
        own = given.outputs if given.outputs is None or set(given.outputs) != set(inputs) else inputs
        targets = own or (inputs if given.shape[1] == len(inputs) else tuple(range(given.shape[1])))
    return resolve(given, inputs, targets), targets
