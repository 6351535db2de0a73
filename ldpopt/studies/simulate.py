"""Repeated surveys: the realized utility of a mechanism, and the accuracy of frequency estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.estimation.inversion import estimate_frequencies, normal_quantile
from ldpopt.foundation.checks import Float, frozen, require_memory, whole_number
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.statement.prior import read_prior
from ldpopt.statement.utility import Utility, resolve

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Result of a repeated survey.

    Attributes
    ----------
    utilities : float array, shape (repeats,)
        Realised utility of each survey: the average over its people, in the utility's own unit.
    expected : float
        Expected utility of the mechanism under the prior.
    frequencies : float array, shape (repeats, n)
        Shares of the true answers in each survey.
    estimates : float array, shape (repeats, n), or None
        The same, estimated from the reports by inversion; None if the reports do not determine the frequencies.
    population : int
        People in each survey.
    confidence : float
        Coverage of `interval`.
    labels : tuple
        The mechanism's inputs.
    """

    utilities: Float
    expected: float
    frequencies: Float
    estimates: Float | None
    population: int
    confidence: float
    labels: tuple[Any, ...]

    @property
    def repeats(self) -> int:
        """Number of surveys."""
        return len(self.utilities)

    @property
    def mean(self) -> float:
        """Average realised utility."""
        return float(self.utilities.mean())

    @property
    def std_error(self) -> float:
        """Standard error of `mean`: sample deviation of the surveys over the root of their number."""
        return float(self.utilities.std(ddof=1) / np.sqrt(self.repeats))

    @property
    def interval(self) -> tuple[float, float]:
        """Normal confidence interval of the expected utility."""
        half_width = normal_quantile(self.confidence) * self.std_error
        return self.mean - half_width, self.mean + half_width

    @property
    def band(self) -> tuple[float, float]:
        """Quantiles of the surveys; a share ``confidence`` of the surveys lies between them."""
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(self.utilities, [tail, 1 - tail])
        return float(low), float(high)

    def __repr__(self) -> str:
        """Mean, standard error and expected value."""
        low, high = self.interval
        return (
            f"SimulationResult({self.repeats} surveys of {self.population}: {self.mean:.6g} +- {self.std_error:.2g} "
            f"[{low:.6g}, {high:.6g}], expected {self.expected:.6g})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per survey and answer: utility, true share, estimated share."""
        import pandas as pd

        n = len(self.labels)
        estimates = np.full(self.frequencies.shape, np.nan) if self.estimates is None else self.estimates
        return pd.DataFrame(
            {
                "repeat": np.repeat(np.arange(self.repeats), n),
                "utility": np.repeat(self.utilities, n),
                "answer": list(self.labels) * self.repeats,
                "frequency": self.frequencies.reshape(-1),
                "estimate": estimates.reshape(-1),
            }
        )


def simulate(
    mechanism: Mechanism,
    prior: Any,
    *,
    population: int,
    repeats: int,
    utility: str | Utility | ArrayLike = "identity",
    confidence: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> SimulationResult:
    r"""Run a survey many times: draw the answers from the prior, the reports with the mechanism's sampler.

    .. math:: \bar u = \frac{1}{N} \sum_{i=1}^N u(x_i, y_i), \qquad x_i \sim \pi, \quad y_i \sim P(x_i, \cdot)

    Parameters
    ----------
    mechanism : Mechanism
        What is simulated; reports are drawn from its exact integer masses.
    prior : array_like, shape (n,), or mapping or Series label -> weight
        Probabilities of the answers.
    population : int
        People in each survey, at least 1.
    repeats : int
        Number of surveys, at least 2, so that there is a standard error.
    utility : str, Utility or array_like, shape (n, m)
        As in `Problem`; default: ``"identity"``.
    confidence : float
        Coverage of the interval and the band; default: ``0.95``.
    rng : numpy.random.Generator or int, optional
        Makes the surveys repeatable; None seeds from the operating system.

    Returns
    -------
    SimulationResult
        Utilities ``(repeats,)``, true and estimated frequencies ``(repeats, n)``.

    Raises
    ------
    StatementError
        If the prior is none, or a number is out of range.

    Notes
    -----
    O(repeats * population) time, memory for one survey at a time.

    References
    ----------
    Zhou, Lu and Wu 2019, figures 4 and 8.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> found = simulate(coin, [0.2, 0.8], population=10_000, repeats=20, rng=1)
    >>> abs(found.mean - found.expected) < 4 * found.std_error
    True
    """
    population, repeats = whole_number(population, "population", 1), whole_number(repeats, "repeats", 2)
    normal_quantile(confidence)
    weights, _ = read_prior(prior, mechanism.inputs)
    worth = resolve(utility, mechanism.inputs, mechanism.outputs).matrix
    n = len(mechanism.inputs)
    require_memory(24 * population + 16 * repeats * n, f"a survey of {population} people")
    generator = np.random.default_rng(rng)
    utilities, frequencies = np.empty(repeats), np.empty((repeats, n))
    estimates: Float | None = np.empty((repeats, n)) if _determines_frequencies(mechanism) else None
    for place in range(repeats):
        counts = generator.multinomial(population, weights / weights.sum())
        answers = np.repeat(np.arange(n), counts)
        reports = mechanism.sampler.draw(answers, rng=generator)
        utilities[place] = worth[answers, reports].mean()
        frequencies[place] = counts / population
        if estimates is not None:
            seen = np.bincount(reports, minlength=len(mechanism.outputs))
            tally = dict(zip(mechanism.outputs, seen.tolist(), strict=True))
            estimates[place] = estimate_frequencies(mechanism, tally).values
    return SimulationResult(
        frozen(utilities),
        float(weights @ (worth * mechanism.channel).sum(axis=1)),
        frozen(frequencies),
        None if estimates is None else frozen(estimates),
        population,
        float(confidence),
        mechanism.inputs,
    )


def _determines_frequencies(mechanism: Mechanism) -> bool:
    """Whether the rows are linearly independent, so that reports determine frequencies."""
    try:
        estimate_frequencies(mechanism, {_likely(mechanism): 1})
    except StatementError:
        return False
    return True


def _likely(mechanism: Mechanism) -> Any:
    """An output that is possible under some input."""
    return mechanism.outputs[int(mechanism.channel.max(axis=0).argmax())]
