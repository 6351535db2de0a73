"""What a report tells someone who knows the prior: vulnerabilities before and after it, and what is lost between."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.checks import Float
from ldpopt.foundation.labelled import Labels
from ldpopt.mechanism.remapping import read_worth
from ldpopt.statement.prior import read_prior
from ldpopt.statement.utility import Utility


@dataclass(frozen=True)
class Leakage:
    r"""Expected gain of an adversary before and after a report.

    Attributes
    ----------
    prior_vulnerability : float
        :math:`V(\pi) = \max_z \sum_x \pi_x g(x, z)`: the best guess without a report.
    posterior_vulnerability : float
        :math:`V(\pi, P) = \sum_y \max_z \sum_x \pi_x P(x, y) g(x, z)`.
    guess : hashable
        The best guess without a report.
    guesses : dict
        The best guess for every report.
    """

    prior_vulnerability: float
    posterior_vulnerability: float
    guess: Hashable
    guesses: dict[Hashable, Hashable] = field(repr=False)

    @property
    def additive(self) -> float:
        """Posterior minus prior vulnerability, at least 0 up to rounding."""
        return self.posterior_vulnerability - self.prior_vulnerability

    @property
    def multiplicative(self) -> float:
        """Posterior over prior vulnerability, at least 1 up to rounding for gains; nan if both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.float64(self.posterior_vulnerability) / self.prior_vulnerability)


def leakage(channel: Float, inputs: Labels, outputs: Labels, prior: Any, gain: Any) -> Leakage:
    """Vulnerabilities of a channel, shape (n, m), for a gain of every input and guess."""
    worth, targets = read_worth(inputs, gain)
    if worth.sense != "gain":
        raise StatementError("vulnerability is a gain, and a loss is given", do="use inference_error(prior, loss)")
    weights = read_prior(prior, inputs)[0]
    before = weights @ worth.matrix
    after = (weights[:, None] * channel).T @ worth.matrix
    best = after.argmax(axis=1).tolist()
    return Leakage(
        float(before.max()),
        math.fsum(after.max(axis=1).tolist()),
        targets[int(before.argmax())],
        {report: targets[guess] for report, guess in zip(outputs, best, strict=True)},
    )


def inference_error(channel: Float, inputs: Labels, prior: Any, loss: Any) -> float:
    """Least expected loss of a guess from the report."""
    given = loss if isinstance(loss, (str, Utility)) else Utility(loss, "loss")
    worth, _ = read_worth(inputs, given)
    if worth.sense != "loss":
        raise StatementError("the inference error is a loss, and a gain is given", do="use leakage(prior, gain)")
    joint = read_prior(prior, inputs)[0][:, None] * channel
    return math.fsum((joint.T @ worth.matrix).min(axis=1).tolist())
