"""Repeated surveys: the realized utility of a mechanism, and the accuracy of frequency estimates."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.estimation.inversion import estimate_frequencies, normal_quantile
from ldpopt.foundation.checks import Float, frozen, require_memory, whole_number
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.statement.prior import read_prior
from ldpopt.statement.utility import Utility, resolve
from ldpopt.workers.board import Lost
from ldpopt.workers.checkpoint import Checkpoint
from ldpopt.workers.run import run

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
    jobs: int = 1,
    executor: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
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
        Makes the surveys repeatable, the same ones with any number of processes; None seeds from the operating system.
    jobs : int
        Processes; default: ``1``. -1 for one on each core.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Works instead of processes of our own.
    checkpoint : str or path-like, optional
        A file to which each survey is appended as soon as it is finished; needs a number as ``rng``.
    progress : callable, optional
        Called with (finished, total) after each survey.

    Returns
    -------
    SimulationResult
        Utilities ``(repeats,)``, true and estimated frequencies ``(repeats, n)``.

    Raises
    ------
    StatementError
        If the prior is none, a number is out of range, or a checkpoint has no number to repeat its surveys by.
    ModelFileError
        If the checkpoint is that of another simulation, or cannot be written.
    LdpoptError
        If worker processes died three times at the same survey.
    KeyboardInterrupt
        After Ctrl-C or SIGTERM; the checkpoint has all finished surveys.

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
    # Every survey has a seed of its own, so that nobody's draws depend on who makes the others.
    seed: Any = np.random.default_rng(rng).bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
    task = _Surveys(mechanism, weights, worth, population, seed, _determines_frequencies(mechanism))
    record = None if checkpoint is None else _record(checkpoint, task, rng)
    places = {place: place for place in range(repeats)}
    done = run(task, places, jobs=jobs, executor=executor, checkpoint=record, progress=progress)
    if done.interrupted:
        raise KeyboardInterrupt(f"{len(done.results)} of {repeats} surveys are finished")
    for place, found in done.results.items():
        if isinstance(found, Lost):
            raise LdpoptError(found.reason, where=f"survey {place}")
    utilities, frequencies, estimates = zip(*(done.results[place] for place in places), strict=True)
    return SimulationResult(
        frozen(np.array(utilities)),
        float(weights @ (worth * mechanism.channel).sum(axis=1)),
        frozen(np.array(frequencies)),
        frozen(np.array(estimates)) if task.is_estimable else None,
        population,
        float(confidence),
        mechanism.inputs,
    )


@dataclass(frozen=True)
class _Surveys:
    """The task of a simulation: hold one survey; its utility, true and estimated frequencies."""

    mechanism: Mechanism
    weights: Float
    worth: Float
    population: int
    seed: np.random.SeedSequence
    is_estimable: bool

    def __call__(self, place: int) -> tuple[float, list[float], list[float] | None]:
        own = np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, place))
        generator, mechanism = np.random.default_rng(own), self.mechanism
        counts = generator.multinomial(self.population, self.weights / self.weights.sum())
        answers = np.repeat(np.arange(len(mechanism.inputs)), counts)
        reports = mechanism.sampler.draw(answers, rng=generator)
        estimate = None
        if self.is_estimable:
            seen = np.bincount(reports, minlength=len(mechanism.outputs))
            tally = dict(zip(mechanism.outputs, seen.tolist(), strict=True))
            estimate = estimate_frequencies(mechanism, tally).values.tolist()
        utility = float(self.worth[answers, reports].mean())
        return utility, (counts / self.population).tolist(), estimate


def _record(path: str | os.PathLike[str], task: _Surveys, rng: Any) -> Checkpoint:
    """The checkpoint of a simulation; its surveys are those of a number."""
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        what = "the surveys of a checkpoint have to be those of the next start"
        raise StatementError(what, where="simulate", do="pass a number as rng")
    statement = {
        "mechanism": task.mechanism.digest,
        "prior": task.weights.tolist(),
        "utility": task.worth.tolist(),
        "population": task.population,
        "rng": int(rng),
    }
    title = f"surveys of {task.population} people, rng = {rng}"
    return Checkpoint(path, statement, title, pack=list, unpack=tuple)


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
