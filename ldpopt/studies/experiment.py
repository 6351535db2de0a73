r"""Compare mean protocols on many data sets: errors, their closed forms, ranks, Friedman's test,
time.

The data sets may be answers of a table, drawn with replacement (`Resampled`).
"""

from __future__ import annotations

import math
import os
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.estimation.reports import read_numbers
from ldpopt.foundation import optional
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.files import require_path
from ldpopt.foundation.labels import first_duplicate, nearest
from ldpopt.foundation.numbers import (
    Float,
    listed_items,
    quoted,
    real_array,
    real_number,
    require_function,
    require_kind,
    require_memory,
    require_text,
    short_repr,
    whole_number,
)
from ldpopt.foundation.seeds import VERSION, Purpose, generator_of
from ldpopt.processes.checkpoint import Checkpoint
from ldpopt.processes.pool import run
from ldpopt.processes.run import RunOptions
from ldpopt.tables.files import position_of, reading

# Protocols of `ldpopt.mean` whose only parameter is the budget
PROTOCOLS = ("Duchi", "Piecewise", "Hybrid", "Laplace", "SquareWave", "RandomCensoring")
__all__ = ["Friedman", "MeanExperiment", "Run", "compare_means", "compare_means_grid", "friedman"]
Make = Callable[[float], Any]
Data = Callable[[int, np.random.Generator], Any]
# Number of users over whom a variance is averaged that is not a quadratic; a quadratic uses exact
# moments
MAX_SAMPLED_USERS = 20_000


class Run(NamedTuple):
    """One protocol at one budget on one data set."""

    algorithm: str
    epsilon: float
    data_set: int
    rmse: float
    theory: float
    seconds: float


@dataclass(frozen=True, eq=False)
class MeanExperiment:
    """Result of `compare_means`; arrays have shape ``(sets, budgets, algorithms)``.

    Attributes
    ----------
    rmse : ndarray
        Root mean squared error over the attributes, in units where each attribute spans [0, 1].
    theory : ndarray
        The same by the closed form: the root of the average variance over the attributes, for these
        answers.
    seconds : ndarray
        CPU time to randomize and to estimate.
    """

    algorithms: tuple[str, ...]
    epsilons: tuple[float, ...]
    users: int
    rmse: Float
    theory: Float
    seconds: Float

    def __repr__(self) -> str:
        sets, budgets, algorithms = self.rmse.shape
        return (
            f"MeanExperiment({algorithms} algorithms, {budgets} budgets, {sets} sets of "
            f"{self.users} users)"
        )

    def friedman(self, epsilon: float, algorithms: Sequence[str] | None = None) -> Friedman:
        """Test at one budget whether the algorithms (default: all) differ in error over the data
        sets.
        """
        epsilon = real_number(epsilon, "epsilon")
        if epsilon not in self.epsilons:
            raise StatementError(
                f"epsilon = {epsilon!r} was not run",
                code="epsilon",
                do=f"pass one of {list(self.epsilons)}",
            )
        chosen = (
            self.algorithms if algorithms is None else listed_items(algorithms, "algorithms")
        ) or self.algorithms
        for name in chosen:
            if name not in self.algorithms:
                raise StatementError(
                    f"algorithm {name!r} was not run",
                    code="algorithm",
                    do=nearest(name, self.algorithms),
                )
        return friedman(
            self.rmse[:, self.epsilons.index(epsilon)][
                :, [self.algorithms.index(name) for name in chosen]
            ]
        )

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return one row per budget and algorithm: mean and standard error over the sets, theory,
        seconds.
        """
        sets = len(self.rmse)
        spread = (
            self.rmse.std(axis=0, ddof=1) / math.sqrt(sets)
            if sets > 1
            else np.zeros(self.rmse.shape[1:])
        )
        rmse, theory, seconds = (
            table.mean(axis=0).ravel() for table in (self.rmse, self.theory, self.seconds)
        )
        epsilon, name = zip(*product(self.epsilons, self.algorithms), strict=True)
        columns = {"epsilon": epsilon, "algorithm": name, "rmse": rmse, "std_error": spread.ravel()}
        return optional.pandas.DataFrame({**columns, "theory": theory, "seconds": seconds})


def compare_means(
    algorithms: Mapping[str, Make],
    data: Data,
    *,
    epsilons: Sequence[float] = (0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 5.0, 8.0, 10.0),
    sets: int = 30,
    users: int = 800_000,
    seed: int = 0,
    jobs: int = 1,
    executor: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MeanExperiment:
    r"""Run every protocol at every budget on every data set, and compare the errors of the
    estimated means.

    .. math:: \mathrm{RMSE} = \sqrt{\frac1m \sum_{j=1}^m (\hat\mu_j - \mu_j)^2}, \qquad
              \text{theory} = \sqrt{\frac1m \sum_{j=1}^m \operatorname{Var} \hat\mu_j}

    Parameters
    ----------
    algorithms : mapping name -> function of epsilon
        Each returns a protocol for vectors of ``m`` attributes, such as
        ``mean.sampled(mean.Duchi(epsilon), attributes=m)``. Its domain decides whether it gets the
        answers in [0, 1] or in [-1, 1].
    data : callable
        ``data(users, generator)`` returns answers in [0, 1], shape ``(users, m)``.
    epsilons : sequence of float
        Budgets in nats, distinct; default: ``(0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 5.0, 8.0, 10.0)``.
    sets : int
        Number of data sets; each is generated once, and all protocols run on it; default: ``30``.
    users : int
        Users ``n`` in each; default: ``800000``.
    seed : int
        Seed of each run, which does not depend on the other runs: resumed and added runs repeat;
        default: ``0``.
    jobs, executor, progress
        As in `sweep`; default: ``1`` and ``None`` and ``None``. Each process generates the data
        sets that it needs.
    checkpoint : str or path-like, optional
        A file to which each run is appended as soon as it is finished, by data set, budget and
        name. Runs in it are not repeated; more data sets, budgets, names and numbers of users may
        be added to it.

    Returns
    -------
    MeanExperiment
        Errors, closed forms and CPU seconds, shape ``(sets, budgets, algorithms)``.

    Raises
    ------
    StatementError
        If a number is out of range, or the data have the wrong shape or range.
    ModelFileError
        If the checkpoint belongs to another experiment (another seed or other data) or cannot be
        written.

    Notes
    -----
    Theory is for the given answers, not for users drawn at random; with ``m`` attributes the mean
    error is about ``1 / (4 m)`` smaller, since the root is concave. Memory: one data set in single
    precision, in two scalings.

    References
    ----------
    Liu and Zhou 2023, sections 5.3-5.6.

    Examples
    --------
    >>> from ldpopt import mean
    >>> duchi = {"Duchi": lambda epsilon: mean.sampled(mean.Duchi(epsilon), attributes=36)}
    >>> def data(users, generator):
    ...     return generator.beta(2, 5, (users, 36))
    >>> compare_means(duchi, data, epsilons=[1.0], sets=2, users=900)
    MeanExperiment(1 algorithms, 1 budgets, 2 sets of 900 users)
    """
    grid: Any = {"users": [users], "epsilons": epsilons, "sets": sets, "seed": seed}
    options = RunOptions(jobs, executor, checkpoint, progress)
    return next(iter(compare_means_grid(algorithms, data, **grid, **vars(options)).values()))


def compare_means_grid(
    algorithms: Mapping[str, Make],
    data: Data,
    *,
    users: Iterable[int],
    epsilons: Sequence[float] = (0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 5.0, 8.0, 10.0),
    sets: int = 30,
    seed: int = 0,
    jobs: int = 1,
    executor: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, MeanExperiment]:
    """Compare mean protocols at several distinct numbers of users; see `compare_means`.

    Parameters
    ----------
    algorithms, data, users
        As in `compare_means`.
    epsilons
        As there; default: ``(0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 5.0, 8.0, 10.0)``.
    sets, seed, jobs
        As there; default: ``30`` and ``0`` and ``1``.
    executor, progress, checkpoint : optional
        As there; numbers of users may be added to a checkpoint, too.

    Returns
    -------
    dict int -> MeanExperiment
        The experiment with each number of users. Every run is the same as in an experiment of its
        own.

    Raises
    ------
    StatementError
        If there is no algorithm, the budgets or numbers of users are not distinct, or the data do
        not fit.
    ModelFileError
        If the checkpoint is that of another experiment, or cannot be written.
    """
    budgets = tuple(float(Budget(epsilon)) for epsilon in listed_items(epsilons, "epsilons"))
    sets = whole_number(sets, "sets", 1)
    sizes = [whole_number(size, "users", 1) for size in listed_items(users, "users")]
    require_kind(algorithms, Mapping, "algorithms=", "pass {name: function of epsilon, ...}")
    for name, make in algorithms.items():
        require_text(name, "the name of an algorithm")
        require_function(make, f"the algorithm {short_repr(name)}", "pass a function of epsilon")
    require_function(data, "data", "pass a function of (users, generator)")
    seed = whole_number(seed, "seed", most=2**128)
    if (
        not algorithms
        or not budgets
        or len(set(budgets)) < len(budgets)
        or not sizes
        or len(set(sizes)) < len(sizes)
    ):
        problem = (
            f"cannot compare {len(algorithms)} algorithms at the budgets {list(budgets)} with "
            f"{sizes} users"
        )
        raise StatementError(
            problem,
            code="comparison",
            do="give at least one algorithm, and distinct budgets and numbers of users",
        )
    keys = [_RunKey(*key) for key in product(sizes, range(sets), budgets, algorithms)]
    task = _Runs(algorithms, data, seed)
    record = None if checkpoint is None else _checkpoint(checkpoint, data, min(sizes), seed)
    done = run(
        task,
        {key: key for key in keys},
        RunOptions(jobs, executor, record, progress),
    )
    runs = done.complete(
        "runs", lambda key: f"{key.name}, epsilon = {key.epsilon!r}, data set {key.data_set}"
    )
    shape = len(sizes), sets, len(budgets), len(algorithms)
    fields = ("rmse", "theory", "seconds")
    rmse, theory, seconds = (
        np.reshape([getattr(runs[key], field) for key in keys], shape) for field in fields
    )
    numbers_by_size = zip(sizes, rmse, theory, seconds, strict=True)
    return {
        size: MeanExperiment(tuple(algorithms), budgets, size, *numbers)
        for size, *numbers in numbers_by_size
    }


class _Population:
    """A data set scaled to [0, 1] and to [-1, 1], with its moments."""

    def __init__(self, answers: Any, users: int) -> None:
        unit = np.asarray(answers)
        if unit.ndim != 2 or len(unit) != users or unit.dtype.kind != "f":
            problem = (
                f"the data are {unit.dtype} of shape {unit.shape}; expected ({users}, "
                "attributes), as floats"
            )
            raise StatementError(
                problem,
                code="data-shape",
                do="let data(users, generator) return one row for each user",
            )
        if not (unit.min() >= 0 and unit.max() <= 1):
            problem = f"the data are outside [0, 1]: from {unit.min():g} to {unit.max():g}"
            raise StatementError(problem, code="data-range", do="scale every attribute into [0, 1]")
        self._scaled = {0.0: unit}
        self.means = unit.mean(axis=0, dtype=np.float64)
        self.squares = np.einsum("ij,ij->j", unit, unit, dtype=np.float64) / users
        self.sample = np.asarray(unit[:: max(1, users // MAX_SAMPLED_USERS)], np.float64)

    def answers(self, low: float) -> Any:
        """The answers in [0, 1], or in [-1, 1] if ``low`` is -1."""
        if low not in self._scaled:
            self._scaled[low] = 2 * self._scaled[0.0] - 1
        return self._scaled[low]


def _measure(
    protocol: Any, population: _Population, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Error, its closed form and CPU seconds of one run."""
    low, high = protocol.domain
    answers = population.answers(float(low))
    start = time.process_time()
    means = protocol.estimate(protocol.privatize(answers, rng=rng)).values
    seconds = time.process_time() - start
    width = high - low
    rmse = math.sqrt(float(np.mean(((means - (low + width * population.means)) / width) ** 2)))
    return (
        rmse,
        math.sqrt(float(np.mean(_variances(protocol, population))) / len(answers)) / width,
        seconds,
    )


def _variances(protocol: Any, population: _Population) -> Float:
    """Average variance of a user's contribution, by attribute, in the protocol's own unit."""
    low, high = protocol.domain
    width = high - low
    if len(protocol.knots) == 2:
        # Without knots inside the domain the variance is quadratic in the answer: three values
        # determine it, and the moments of the answers, scaled to [0, 1], average it.
        start, middle, end = (float(protocol.variance(x)) for x in (low, (low + high) / 2, high))
        bend = 2 * (start + end - 2 * middle)
        average = start + (end - start - bend) * population.means + bend * population.squares
    else:
        average = np.asarray(protocol.variance(low + width * population.sample)).mean(axis=0)
    # The mean over those who reported an attribute is that of a part of the people, drawn at
    # random: the spread of the answers adds the variance of this sample.
    if getattr(protocol, "method", "") == "ratio":
        spread = population.squares - population.means**2
        average = average + (protocol.attributes / protocol.chosen - 1) * width**2 * spread
    return np.asarray(average)


class _RunKey(NamedTuple):
    """A run: number of users, number of the data set, budget, name of the algorithm."""

    users: int
    data_set: int
    epsilon: float
    name: str


class _Runs:
    """The task of an experiment: run one protocol at one budget on one data set; keeps the last
    data set.
    """

    def __init__(self, algorithms: Mapping[str, Make], data: Data, seed: int) -> None:
        self._algorithms = dict(algorithms)
        self._data = data
        self._seed = seed
        self._protocols: dict[tuple[float, str], Any] = {}
        self._last: tuple[tuple[int, int], _Population] | None = None

    def __call__(self, key: _RunKey) -> Run:
        users, index, epsilon, name = key
        if self._last is None or self._last[0] != (users, index):
            rng = generator_of(self._seed, Purpose.DATA_SETS, [index])
            self._last = (users, index), _Population(self._data(users, rng), users)
        if (epsilon, name) not in self._protocols:
            self._protocols[epsilon, name] = self._algorithms[name](epsilon)
        part = [index, zlib.crc32(f"{name}|{epsilon!r}".encode())]
        draws = generator_of(self._seed, Purpose.EXPERIMENT, part)
        return Run(
            name, epsilon, index, *_measure(self._protocols[epsilon, name], self._last[1], draws)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without data sets and protocols: each process makes its own."""
        return self.__dict__ | {"_protocols": {}, "_last": None}


def _checkpoint(path: str | os.PathLike[str], data: Data, users: int, seed: int) -> Checkpoint:
    """Open the checkpoint of an experiment; a small sample identifies the data."""
    require_path(path)
    sample = np.ascontiguousarray(data(min(16, users), generator_of(seed, Purpose.DATA_SETS)))
    statement = {"seed": seed, "draws": VERSION, "data": zlib.crc32(sample.tobytes())}
    title = f"means of data {statement['data']:x}, seed {seed}"
    return Checkpoint(path, statement, title, pack=list, unpack=lambda plain: Run(*plain))


class Friedman(NamedTuple):
    """Friedman's test of equal algorithms."""

    statistic: float
    p_value: float
    mean_ranks: Float


def friedman(errors: ArrayLike) -> Friedman:
    r"""Friedman's rank test: do the algorithms (columns) differ over the data sets (rows)?

    .. math:: \chi^2 = \frac{12 l}{k (k+1)} \Bigl( \sum_j \bar I_j^2 - \frac{k (k+1)^2}{4} \Bigr)

    Parameters
    ----------
    errors : array_like, shape (l, k)
        Smaller is better; ``l >= 2`` data sets and ``k >= 3`` algorithms.

    Returns
    -------
    Friedman
        The statistic (corrected for ties), its p-value by chi-square with ``k - 1`` degrees of
        freedom, mean ranks.

    Raises
    ------
    StatementError
        If there are fewer than two rows or three columns, or an error is not finite.

    References
    ----------
    Friedman 1937; Liu and Zhou 2023, equations (22) and (23).

    Examples
    --------
    >>> friedman([[1, 2, 3], [1, 3, 2], [1, 2, 3]]).mean_ranks.round(2)
    array([1.  , 2.33, 2.67])
    """
    from scipy.stats import friedmanchisquare, rankdata

    table = real_array(errors, "table of errors")
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 3 or not np.isfinite(table).all():
        problem = f"errors of shape {table.shape} cannot be ranked"
        raise StatementError(
            problem, code="rank-table", do="pass 2 or more rows, 3 or more columns, all finite"
        )
    test = friedmanchisquare(*table.T)
    return Friedman(float(test.statistic), float(test.pvalue), rankdata(table, axis=1).mean(axis=0))


class Resampled:
    """Numbers from ``low`` to ``high`` in columns of a table, drawn with replacement: `data` of
    `compare_means`.
    """

    def __init__(self, path: str, columns: Sequence[str], low: float, high: float) -> None:
        self.low = real_number(low, "low")
        self.high = real_number(high, "high")
        if not self.low < self.high:
            raise StatementError(
                f"the range from {low!r} to {high!r} is empty",
                code="empty-range",
                do="pass the least answer first",
            )
        if not math.isfinite(self.high - self.low):
            do = "pass bounds of the answers; protocols for means need them"
            raise StatementError(
                f"the range from {low!r} to {high!r} is infinite", code="infinite-range", do=do
            )
        if (twice := first_duplicate(columns)) is not None:
            raise StatementError(
                f"column {twice[0]!r} is named twice",
                code="duplicate-column",
                where=path,
                do="name each column once",
            )
        with reading(path) as table:
            positions = [position_of(table, column) for column in columns]
            chunks = [np.empty((0, len(positions)), np.float32)]
            row = table.first_row
            for batch in table.batches([], positions):
                chunks.append(
                    self._scaled(batch, [f"{path}, column {column}" for column in columns], row)
                )
                row += len(batch[0])
        self._answers = np.concatenate(chunks)
        if not len(self._answers):
            raise StatementError(
                "the table has no rows",
                code="empty-table",
                where=path,
                do="pass a table with at least one person",
            )

    def __len__(self) -> int:
        return len(self._answers)

    def __call__(self, users: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw the answers of this many people, scaled into [0, 1]; shape (users, columns)."""
        n_bytes = users * (8 + 4 * self._answers.shape[1])
        require_memory(n_bytes, f"a data set of {users:,} people", do="take fewer people")
        return self._answers[rng.integers(0, len(self._answers), users)]

    def _scaled(
        self, batch: Sequence[Any], where: Sequence[str], first_row: int
    ) -> NDArray[np.float32]:
        """The answers in the arrow arrays of a batch, scaled into [0, 1]."""
        columns = []
        for column, name in zip(batch, where, strict=True):
            answers = read_numbers(column, name, first_row, "answer")
            wrong = np.flatnonzero(~((self.low <= answers) & (answers <= self.high)))
            if len(wrong):
                problem = (
                    f"the answer{quoted(float(answers[wrong[0]]))} is not from {self.low:g} to "
                    f"{self.high:g}"
                )
                do = "pass the range of all possible answers; leave people without an answer out"
                raise StatementError(
                    problem,
                    code="answer-range",
                    where=f"{name}, row {first_row + int(wrong[0])}",
                    do=do,
                )
            columns.append((answers - self.low) / (self.high - self.low))
        return np.stack(columns, axis=1).astype(np.float32)


def protocols(names: Sequence[str], attributes: int) -> Mapping[str, Callable[[float], Any]]:
    """Protocols by name in which each person reports one of several attributes."""
    for name in names:
        if name not in PROTOCOLS:
            raise StatementError(
                f"unknown protocol {name!r}", code="protocol", do=nearest(name, PROTOCOLS)
            )
    return {name: partial(_protocol, name, attributes) for name in names}


def _protocol(name: str, attributes: int, epsilon: float) -> Any:
    from ldpopt import mean

    return mean.sampled(getattr(mean, name)(epsilon), attributes=attributes)
