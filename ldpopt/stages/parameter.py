"""The mechanism that tells most about a parameter near the value that a pilot found."""

from __future__ import annotations

from typing import Any

from ldpopt.errors import StatementError
from ldpopt.estimation.estimate import Estimate
from ldpopt.foundation.numbers import require_kind
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.convex import best_channel
from ldpopt.polytope.convex_optimum import ConvexOptimum
from ldpopt.polytope.convex_utility import fisher_information
from ldpopt.privacy.notion import Notion
from ldpopt.stages.families import AnswerFamily


def optimum(family: AnswerFamily, theta: float, epsilon: Notion | float | str) -> ConvexOptimum:
    r"""Find the private mechanism with the largest Fisher information at a value of the parameter.

    .. math:: \max_P \sum_y \frac{(\sum_x p_x s_x P_{xy})^2}{\sum_x p_x P_{xy}}, \qquad
              s_x = \frac{\partial \log p_x}{\partial \theta}

    Parameters
    ----------
    family : AnswerFamily
        Distributions of the answers, such as `GaussianMean`.
    theta : float
        Value of the parameter; beyond the domain, its end.
    epsilon : Notion, float or str
        The budget of pure privacy in nats, or a notion that `convex.best_channel` takes.

    Returns
    -------
    ConvexOptimum
        With a proof; ``value`` is the information of one report, so that no private survey of ``N``
        people has an unbiased estimate with a standard error below ``1 / sqrt(N bound)`` at this
        value.

    Raises
    ------
    StatementError
        If the family or the budget does not fit, or the distribution does not depend on the
        parameter there.

    Examples
    --------
    >>> from ldpopt.stages import GaussianMean
    >>> round(optimum(GaussianMean(1.0, (-3, 3)), 0.0, 1.0).value, 5)
    0.13595
    """
    require_kind(
        family, AnswerFamily, "optimum()", "pass GaussianMean(sd, domain) or family_of(...)"
    )
    value = family.read(theta)
    scores = family.scores(value)
    if not scores.any():
        raise StatementError(
            f"the distribution does not depend on the parameter at {value:g}",
            code="no-information",
            do="give a family whose probabilities change there",
        )
    names = family.inputs
    by_label = dict(zip(names, scores.tolist(), strict=True))
    shares = dict(zip(names, family.probabilities(value).tolist(), strict=True))
    return best_channel(fisher_information(by_label, shares), epsilon, inputs=names)


def adapted(
    family: AnswerFamily, pilot: Estimate | float, epsilon: Notion | float | str
) -> Mechanism:
    """The mechanism of the second stage: that with the most information at the pilot's value.

    Parameters
    ----------
    family : AnswerFamily
        Distributions of the answers.
    pilot : Estimate or float
        The parameter as the pilot found it, one number; beyond the domain, its end is taken.
    epsilon : Notion, float or str
        As in `optimum`.

    Returns
    -------
    Mechanism
        Exactly private, whatever the pilot found.

    Raises
    ------
    StatementError
        As `optimum`, and if the pilot has several numbers.

    Notes
    -----
    `optimum` returns the same with its proof. The estimate of all reports is `stages.estimate`.

    Examples
    --------
    >>> from ldpopt.stages import GaussianMean
    >>> adapted(GaussianMean(1.0, (-3, 3)), 0.7, 1.0).outputs
    (0, 1)
    """
    value: Any = pilot
    if isinstance(pilot, Estimate):
        if len(pilot.values) != 1:
            raise StatementError(
                f"the pilot has {len(pilot.values)} numbers",
                code="pilot",
                do="pass an estimate of the parameter alone, or its value",
            )
        value = float(pilot.values[0])
    return optimum(family, value, epsilon).mechanism


def information(family: AnswerFamily, theta: float, mechanism: Mechanism) -> float:
    """The Fisher information of one report of a mechanism at a value of the parameter."""
    value = family.read(theta)
    shares = family.probabilities(value)
    masses = shares @ mechanism.channel
    slopes = (shares * family.scores(value)) @ mechanism.channel
    return float((slopes[masses > 0] ** 2 / masses[masses > 0]).sum())
