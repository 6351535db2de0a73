"""Repeated surveys: the realized utility of mechanisms, and the accuracy of frequency estimates."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import MechanismSource
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.inversion import estimate_frequencies, why_not_estimable
from ldpopt.foundation import optional
from ldpopt.foundation.files import FilePath, write_csv
from ldpopt.foundation.numbers import (
    Float,
    frozen,
    listed_items,
    require_kind,
    require_memory,
    short_repr,
    whole_number,
)
from ldpopt.foundation.seeds import VERSION, Purpose, Random, child_seed, generator_of, seed_of
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.prior import read_prior
from ldpopt.problem.utility import Utility, resolve
from ldpopt.processes.checkpoint import Checkpoint
from ldpopt.processes.pool import run
from ldpopt.processes.run import RunOptions

__all__ = ["Setting", "SimulationGrid", "SimulationResult", "simulate", "simulate_grid"]


class Setting(NamedTuple):
    """A mechanism to simulate, with the answers of its population: the arguments of `simulate`."""

    mechanism: Mechanism
    prior: Any
    utility: Any = "identity"


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Result of a repeated survey.

    Attributes
    ----------
    utilities : float array, shape (repeats,)
        Realised utility of each survey: the average over its people, in the utility's own unit; nan
        without a utility.
    expected : float
        Expected utility of the mechanism under the prior.
    frequencies : float array, shape (repeats, n)
        Shares of the true answers in each survey.
    estimates : float array, shape (repeats, n), or None
        The same, estimated from the reports by inversion; None if the reports do not determine the
        frequencies.
    confidence : float
        Coverage of `interval`.
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
        """Standard error of `mean`: sample deviation of the surveys over the root of their
        number.
        """
        return float(self.utilities.std(ddof=1) / np.sqrt(self.repeats))

    @property
    def error(self) -> float:
        """Root mean squared error of the estimated shares, over surveys and answers; nan without
        estimates.
        """
        if self.estimates is None:
            return float("nan")
        return float(np.sqrt(np.mean((self.estimates - self.frequencies) ** 2)))

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
        low, high = self.interval
        error = (
            f"{self.mean:.6g} +- {self.std_error:.2g} [{low:.6g}, {high:.6g}], expected "
            f"{self.expected:.6g}"
        )
        return f"SimulationResult({self.repeats} surveys of {self.population}: {error})"

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a table with one row per survey and answer: utility, true share, estimated
        share.
        """
        n = len(self.labels)
        estimates = (
            np.full(self.frequencies.shape, np.nan) if self.estimates is None else self.estimates
        )
        columns = {
            "repeat": np.repeat(np.arange(self.repeats), n),
            "utility": np.repeat(self.utilities, n),
        }
        shares = {"frequency": self.frequencies.reshape(-1), "estimate": estimates.reshape(-1)}
        return optional.pandas.DataFrame(
            {**columns, "answer": list(self.labels) * self.repeats, **shares}
        )


@dataclass(frozen=True, eq=False)
class SimulationGrid:
    """Result of `simulate_grid`.

    Attributes
    ----------
    cells : dict (name, people) -> SimulationResult
        In the order of the settings; people vary fastest.
    """

    cells: dict[tuple[Hashable, int], SimulationResult]

    def __repr__(self) -> str:
        names = {name for name, _ in self.cells}
        populations = {people for _, people in self.cells}
        return f"SimulationGrid({len(names)} settings, {len(populations)} numbers of people)"

    def records(self) -> Iterator[dict[str, Any]]:
        """One row for each cell: average utility with its standard error, expected utility, error
        of the estimates.
        """
        for (name, people), result in self.cells.items():
            numbers = {key: getattr(result, key) for key in ("std_error", "expected", "error")}
            yield {
                "setting": name,
                "people": people,
                "repeats": result.repeats,
                "utility": result.mean,
                **numbers,
            }

    def to_frame(self) -> optional.pandas.DataFrame:
        """The table as a DataFrame."""
        return optional.pandas.DataFrame(list(self.records()))

    def to_csv(self, path: FilePath | None = None) -> str:
        """Return the table as CSV with exact floats; with a path, also write it atomically."""
        return write_csv(self.records(), path)


def simulate(
    mechanism: Mechanism,
    prior: Any,
    *,
    population: int,
    repeats: int,
    utility: str | Utility | ArrayLike | None = "identity",
    confidence: float = 0.95,
    rng: Random = None,
    jobs: int = 1,
    executor: Any = None,
    checkpoint: FilePath | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationResult:
    r"""Run a survey many times: draw the answers from the prior, the reports with the mechanism's
    sampler.

    .. math:: \bar u = \frac{1}{N} \sum_{i=1}^N u(x_i, y_i),
              \qquad x_i \sim \pi, \quad y_i \sim P(x_i, \cdot)

    Parameters
    ----------
    mechanism : Mechanism
        Reports are drawn from its exact integer masses.
    prior : array_like, shape (n,), or mapping or Series label -> weight
        Probabilities of the answers.
    population : int
        People in each survey, at least 1.
    repeats : int
        Number of surveys, at least 2, so that there is a standard error.
    utility : str, Utility or array_like, shape (n, m), or None
        As in `Problem`; default: ``"identity"``. None leaves utilities out.
    confidence : float
        Coverage of the interval and the band; default: ``0.95``.
    rng : numpy.random.Generator, SeedSequence or int, optional
        Makes the surveys repeatable, with any number of processes; None seeds from the operating
        system.
    jobs, executor, progress
        As in `sweep`; default: ``1`` and ``None`` and ``None``.
    checkpoint : str or path-like, optional
        A file to which each survey is appended as soon as it is finished; needs a number as
        ``rng``.

    Returns
    -------
    SimulationResult
        Utilities ``(repeats,)``, true and estimated frequencies ``(repeats, n)``.

    Raises
    ------
    StatementError
        If the prior is invalid, a number is out of range, or there is a checkpoint but ``rng`` is
        not a number.
    ModelFileError
        If the checkpoint is that of another simulation, or cannot be written.

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
    options: Any = {"repeats": repeats, "confidence": confidence, "rng": rng}
    options |= vars(RunOptions(jobs, executor, checkpoint, progress))
    setting = Setting(mechanism, prior, utility)
    return next(iter(simulate_grid({"": setting}, [population], **options).cells.values()))


def simulate_grid(
    settings: Mapping[Hashable, Setting],
    populations: Iterable[int],
    *,
    repeats: int,
    confidence: float = 0.95,
    rng: Random = None,
    jobs: int = 1,
    executor: Any = None,
    checkpoint: FilePath | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationGrid:
    """Run the surveys of several mechanisms, each with several numbers of people; see `simulate`.

    Parameters
    ----------
    settings : mapping name -> Setting
        Mechanisms, each with a prior and a utility, such as those of models at many budgets and
        deltas.
    populations : iterable of int
        Numbers of people, each at least 1.
    repeats : int
        Surveys in each cell of the grid, at least 2.
    confidence, jobs
        As in `simulate`; default: ``0.95`` and ``1``.
    rng, executor, progress, checkpoint : optional
        As in `simulate`; settings, numbers of people and repeats may be added to a checkpoint.

    Returns
    -------
    SimulationGrid
        A `SimulationResult` for each setting and number of people.

    Raises
    ------
    StatementError
        If there are no settings or numbers of people, a number is invalid, or a checkpoint has no
        draws that can be repeated.
    ModelFileError
        If the checkpoint is that of another simulation, or cannot be written.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> grid = simulate_grid({"coin": Setting(coin, [0.2, 0.8])}, [100, 10_000], repeats=50, rng=1)
    >>> [round(cell.error, 3) for cell in grid.cells.values()]
    [0.086, 0.009]
    """
    require_kind(settings, Mapping, "settings=", "pass {name: Setting(...), ...}")
    sizes = [
        whole_number(people, "population", 1) for people in listed_items(populations, "populations")
    ]
    repeats = whole_number(repeats, "repeats", 2)
    normal_quantile(confidence)
    if not settings or not sizes:
        problem = "a simulation without settings or people"
        raise StatementError(
            problem, code="empty-grid", do="pass at least one setting and one number of people"
        )
    models = {name: _Model.of(_setting(setting)) for name, setting in settings.items()}
    for model in models.values():
        n_bytes = 24 * max(sizes) + 16 * repeats * len(model.weights)
        require_memory(
            n_bytes, f"a survey of {max(sizes):,} people", do="take fewer people or repeats"
        )
    seed = seed_of(rng, Purpose.SIMULATION)
    task = _Simulation({model.digest: model for model in models.values()}, seed)
    record = None if checkpoint is None else _checkpoint(checkpoint, rng)
    keys = [
        _SurveyKey(digest, people, repeat)
        for digest in task.models
        for people in sizes
        for repeat in range(repeats)
    ]
    done = run(
        task,
        {key: key for key in keys},
        RunOptions(jobs, executor, record, progress),
    )
    surveys = done.complete(
        "surveys", lambda key: f"survey {key.repeat} of {key.population} people"
    )
    cells = {}
    for (name, model), people in product(models.items(), sizes):
        runs = (surveys[_SurveyKey(model.digest, people, k)] for k in range(repeats))
        utilities, frequencies, estimates = zip(*runs, strict=True)
        estimated = frozen(np.array(estimates)) if model.is_estimable else None
        numbers = (
            frozen(np.array(utilities, float)),
            model.expected,
            frozen(np.array(frequencies)),
            estimated,
        )
        cells[name, people] = SimulationResult(
            *numbers, people, float(confidence), model.mechanism.inputs
        )
    return SimulationGrid(cells)


def _setting(given: Any) -> Setting:
    """Read a setting: a `Setting`, or a tuple of its fields."""
    if not isinstance(given, tuple) or not 2 <= len(given) <= len(Setting._fields):
        raise StatementError(
            f"{short_repr(given)} is not a setting",
            code="simulated-setting",
            do="pass Setting(mechanism, prior)",
        )
    return Setting(*given)


class _Survey(NamedTuple):
    """A simulated survey: its average utility, if any, the shares of the true answers, the
    estimated shares.
    """

    utility: float | None
    frequencies: list[float]
    estimates: list[float] | None


class _SurveyKey(NamedTuple):
    """A survey of a simulation: the digest of its model, its number of people, its number among the
    repeats.
    """

    model: str
    population: int
    repeat: int


@dataclass(frozen=True, eq=False)
class _Model:
    """A setting as arrays: prior (n,), utilities (n, m) or None."""

    mechanism: Mechanism
    weights: Float
    utilities: Float | None
    is_estimable: bool

    @classmethod
    def of(cls, setting: Setting) -> _Model:
        """Check a setting, and read prior and utility as arrays."""
        mechanism, prior, utility = setting
        require_kind(
            mechanism,
            Mechanism,
            "simulate()",
            "pass a Mechanism, such as design.mechanism or solution.mechanism",
        )
        weights, _ = read_prior(prior, mechanism.inputs)
        utilities = (
            None
            if utility is None
            else resolve(utility, mechanism.inputs, mechanism.outputs).matrix
        )
        return cls(mechanism, weights, utilities, not why_not_estimable(mechanism))

    @property
    def expected(self) -> float:
        """Expected utility under the prior; nan without a utility."""
        expected = (
            None
            if self.utilities is None
            else (self.utilities * self.mechanism.channel).sum(axis=1)
        )
        return np.nan if expected is None else float(self.weights @ expected)

    @cached_property
    def digest(self) -> str:
        """Hash of everything the surveys depend on: mechanism, prior, utilities."""
        utilities = b"" if self.utilities is None else self.utilities.tobytes()
        return hashlib.sha256(
            self.mechanism.digest.encode() + self.weights.tobytes() + utilities
        ).hexdigest()[:16]


@dataclass(frozen=True)
class _Simulation:
    """The task of a simulation: simulate one survey, here or in another process."""

    models: Mapping[str, _Model]
    seed: np.random.SeedSequence

    def __call__(self, key: _SurveyKey) -> _Survey:
        """Simulate one survey from its own seed, so the result does not depend on order or number
        of processes.
        """
        model = self.models[key.model]
        number = zlib.crc32(f"{key.model} {key.population}".encode())
        generator = generator_of(child_seed(self.seed, number, key.repeat), Purpose.SIMULATION)
        counts = generator.multinomial(key.population, model.weights / model.weights.sum())
        answers = np.repeat(np.arange(len(model.mechanism.inputs)), counts)
        reports = model.mechanism.sampler.draw(answers, rng=generator)
        utility = (
            None if model.utilities is None else float(model.utilities[answers, reports].mean())
        )
        estimates = None
        if model.is_estimable:
            seen = MechanismSource(model.mechanism).counts_of_array(reports)
            estimates = estimate_frequencies(model.mechanism, seen, check_fit=False).values.tolist()
        return _Survey(utility, (counts / key.population).tolist(), estimates)


def _checkpoint(path: FilePath, rng: Any) -> Checkpoint:
    """Open the checkpoint of a simulation; its entries depend only on the seed, so other settings
    may share it.
    """
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        problem = "a checkpoint needs draws that can be repeated"
        raise StatementError(
            problem, code="seed", where="simulate", do="pass a number as rng (--seed)"
        )
    title = f"surveys, rng = {rng}"
    return Checkpoint(
        path,
        {"surveys": int(rng), "draws": VERSION},
        title,
        pack=list,
        unpack=lambda plain: _Survey(*plain),
    )
