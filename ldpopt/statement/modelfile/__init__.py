"""Model files: one problem in TOML, read strictly, and written so that it reads back equal.

A file states a problem and nothing else: no code, no paths. The keys before the first table are ``title``, ``source``
and ``objective`` (``"expected"``, the default, or ``"worst_case"``, which takes no prior); the tables are
``[alphabet]``, ``[prior]``, ``[utility]``, ``[privacy]``, ``[[constraints]]``, ``[solver]`` and ``[expect]``.

Each idea has its file: `schema` says what may stand there, `build` makes the problem, `parts` goes back to tables,
`text` knows lines and words. pydantic is imported in `schema` and nowhere else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.files import replacing
from ldpopt.statement.modelfile.text import LARGEST_FILE, Page, format_tables
from ldpopt.statement.problem import Problem

__all__ = ["Expect", "Model", "load_model", "read_model", "save_model"]


@dataclass(frozen=True)
class Expect:
    """Expected value of the solved model: ``abs(solution.value - value) <= tolerance``."""

    value: float
    tolerance: float = 1e-9


@dataclass(frozen=True)
class Model:
    """A problem with the other entries of its file: title, source, solver settings and expected value.

    Attributes
    ----------
    problem : Problem
        The statement.
    title, source : str
        Title and source; empty if the file does not state them.
    solver : str
        As `solve` takes it.
    time_limit : float or None
        Seconds.
    expect : Expect or None
        Checked by a test, shown by the command line.
    """

    problem: Problem
    title: str = ""
    source: str = ""
    solver: str = "auto"
    time_limit: float | None = None
    expect: Expect | None = None


def load_model(path: str | os.PathLike[str]) -> Problem:
    """Read the problem of a model file.

    Parameters
    ----------
    path : path-like
        A TOML file.

    Returns
    -------
    Problem
        The statement, checked.

    Raises
    ------
    ModelFileError
        If the file is invalid; the message names file, key and line.
    LdpoptError
        If the prior is a data set whose package is not installed.
    """
    return read_model(path).problem


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file with its title, source, solver settings and expected value.

    Parameters
    ----------
    path : path-like
        A TOML file.

    Returns
    -------
    Model
        The problem and the other entries.

    Raises
    ------
    ModelFileError
        If the file is invalid; the message names file, key and line.
    LdpoptError
        If the prior is a data set whose package is not installed.
    """
    # Imported here, because the import of pydantic takes time.
    from ldpopt.statement.modelfile.build import Builder
    from ldpopt.statement.modelfile.schema import StatedFile, check

    page = Page(path)
    stated = check(page, StatedFile, page.data)
    problem = Builder(page, stated).problem()
    expect = Expect(stated.expect.value, stated.expect.tolerance) if stated.expect else None
    return Model(problem, stated.title, stated.source, stated.solver.name, stated.solver.time_limit, expect)


def save_model(problem: Problem | Model, path: str | os.PathLike[str]) -> None:
    """Write a problem, or a model with its title and expectation, as a file that reads back equal; atomic.

    Parameters
    ----------
    problem : Problem or Model
        What to write. A data set is written as its numbers, a grid as its edges, a distance as its matrix.
    path : path-like
        Written atomically.

    Raises
    ------
    StatementError
        If a part cannot be written to a model file: labels that are neither text nor numbers, another constraint.
    ModelFileError
        If the file cannot be written.
    """
    text = format_tables(_statement(problem if isinstance(problem, Model) else Model(problem)))
    if len(text) > LARGEST_FILE:
        raise StatementError(f"the model takes {len(text):,} bytes; a model file has at most {LARGEST_FILE:,}")
    try:
        with replacing(path) as stream:
            stream.write(text)
    except UnicodeEncodeError as error:
        raise ModelFileError(f"cannot write the model: {error}", where=os.fspath(path)) from None


def _statement(model: Model) -> dict[str, Any]:
    """Build the tables of a file, in their order, from plain Python values."""
    from ldpopt.statement.modelfile.parts import problem_tables

    stated: dict[str, Any] = {key: text for key in ("title", "source") if (text := getattr(model, key))}
    stated |= problem_tables(model.problem)
    limit = {} if model.time_limit is None else {"time_limit": float(model.time_limit)}
    if model.solver != "auto" or limit:
        stated["solver"] = {"name": model.solver} | limit
    if model.expect is not None:
        stated["expect"] = {"value": float(model.expect.value), "tolerance": float(model.expect.tolerance)}
    return stated
