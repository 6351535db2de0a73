"""What sweep, simulate and experiment share: models, grids of numbers, processes, clusters and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.errors import LdpoptError, StatementError

if TYPE_CHECKING:
    from ldpopt.problem.problem import Problem

Jobs = Annotated[int, typer.Option("-j", "--jobs", metavar="N", help="Number of processes; -1: one per core.")]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Work on the Dask cluster of this scheduler, such as tcp://host:8786."),
]
CheckpointFile = Annotated[
    str | None,
    typer.Option("--checkpoint", metavar="FILE", help="File to which finished work is appended; it is not done again."),
]
Table = Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="The table as CSV.")]
Deltas = Annotated[
    str | None, typer.Option("--delta", metavar="GRID", help="Deltas, in the same form (default: the model's own).")
]
People = Annotated[str, typer.Option(metavar="GRID", help="Numbers of people: a list such as 1000,10000.")]

CONNECT_SECONDS = 10
"""How long to wait for the scheduler of a cluster."""


@contextmanager
def executor_of(dask: str | None, jobs: int) -> Iterator[Any]:
    """The client of a cluster, or None for processes of this machine.

    Raises
    ------
    LdpoptError
        If Dask is not installed, or nothing answers.
    """
    if dask is None:
        yield None
        return
    if jobs != 1:
        raise typer.BadParameter("--dask works on a cluster, --jobs on this machine; state one of them")
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError:
        what = "--dask needs dask.distributed, which is not installed"
        raise LdpoptError(what, do='pip install "ldpopt[dask]"') from None
    try:
        get_address_host_port(dask)  # a client of an address that cannot be read prints a traceback when it ends
        client = Client(dask, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = str(error).partition("\n")[0]
        do = "start it with `dask scheduler`, and workers with `dask worker ADDRESS`"
        raise LdpoptError(f"no scheduler of Dask answers: {why}", where=dask, do=do) from None
    with client:
        yield client


@dataclass(frozen=True)
class Models:
    """Models of one run, and the solver and time limit that hold for all of them."""

    problems: dict[Hashable, Problem]
    solver: str
    time_limit: float | None

    @classmethod
    def read(cls, models: list[str], solver: str | None, time_limit: float | None) -> Models:
        """Read the files."""
        from ldpopt.problem.modelfile import read_model

        stated = [read_model(model) for model in models]
        problems = zip(names_of(models), models, stated, strict=True)
        return cls(
            {name: one.require_problem(path) for name, path, one in problems},
            solver or _alike("solver", [one.solver for one in stated]),
            _alike("time_limit", [one.time_limit for one in stated]) if time_limit is None else time_limit,
        )


def names_of(models: list[str]) -> list[str]:
    """Names of model files in the table: without folder and ending.

    Raises
    ------
    StatementError
        If two are the same.
    """
    names = [Path(model).stem for model in models]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise StatementError(f"two models are called {twice!r}", do="rename one of the files")
    return names


def _alike(key: str, values: list[Any]) -> Any:
    """The value that all models state.

    Raises
    ------
    StatementError
        If two state different ones.
    """
    if any(value != values[0] for value in values):
        option = "--" + key.replace("_", "-")
        stated = ", ".join(map(repr, values))
        raise StatementError(f"the models state different values of {key}: {stated}", do=f"give {option}")
    return values[0]


def parse_grid(text: str, option: str = "--epsilon") -> list[str]:
    """Numbers of ``start:stop:count`` (both ends included), or of a list with commas.

    Raises
    ------
    StatementError
        If it is neither.

    Examples
    --------
    >>> parse_grid("0.5:2:4")
    ['0.5', '1.0', '1.5', '2.0']
    """
    if ":" not in text:
        return [part.strip() for part in text.split(",")]
    import numpy as np

    try:
        start, stop, count = text.split(":")
        ends, points = (float(start), float(stop)), int(count)
    except ValueError:
        ends, points = (math.nan, math.nan), 0
    if not all(map(math.isfinite, ends)) or not 1 <= points <= 1_000_000:
        raise StatementError(f"{text!r} is not a grid", where=option, do="state start:stop:count, such as 0.1:5:25")
    return [repr(value) for value in np.linspace(*ends, points).tolist()]


def parse_deltas(text: str) -> list[float]:
    """Deltas of a grid.

    Raises
    ------
    StatementError
        If one is no number.
    """
    try:
        return [float(part) for part in parse_grid(text, "--delta")]
    except ValueError:
        do = "state start:stop:count, or a list such as 0,0.05,0.1"
        raise StatementError(f"{text!r} contains an entry that is not a number", where="--delta", do=do) from None


def parse_people(text: str) -> list[int]:
    """Numbers of people.

    Raises
    ------
    StatementError
        If one is no whole number.
    """
    numbers = [float(part) if _is_number(part) else math.nan for part in parse_grid(text, "--people")]
    if not all(number.is_integer() and number >= 1 for number in numbers):
        do = "state a list such as 1000,10000, or start:stop:count"
        raise StatementError(f"{text!r} contains an entry that is not a number of people", where="--people", do=do)
    return [int(number) for number in numbers]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
