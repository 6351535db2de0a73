"""Model files: one problem in TOML, read strictly, and written so that it reads back equal.

A file states a problem and nothing else: no code, no paths. The keys before the first table are ``title``, ``source``
and ``objective`` (``"expected"``, the default, or ``"worst_case"``, which takes no prior); the tables are
``[alphabet]``, ``[prior]``, ``[utility]``, ``[workload]``, ``[privacy]``, ``[[constraints]]``, ``[solver]`` and
``[expect]``.

Each idea has its file: `schema` says what may stand there, `build` makes the problem, `workload` what is to be
estimated, `parts` goes back to tables, `text` knows lines and words. pydantic is imported in `schema` and nowhere else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.files import replacing, require_path
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile.shipped import model_path
from ldpopt.problem.modelfile.text import LARGEST_FILE, Page, format_tables
from ldpopt.problem.problem import Problem

if TYPE_CHECKING:
    from ldpopt.problem.modelfile.schema import StatedFile

__all__ = ["Expect", "Model", "load_model", "read_model", "save_model"]


@dataclass(frozen=True)
class Expect:
    """Expected values of the solved model: ``abs(solution.value - value) <= tolerance``, and so for the variance.

    Attributes
    ----------
    value : float or None
        Of the utility.
    tolerance : float
        Of both.
    variance : float or None
        Of the design for the workload.
    """

    value: float | None
    tolerance: float = 1e-9
    variance: float | None = None


@dataclass(frozen=True)
class Model:
    """A problem with the other entries of its file: title, source, solver settings and expected value.

    Attributes
    ----------
    problem : Problem or None
        What `solve` takes; None if the file states a workload and no utility.
    title, source : str
        Title and source; empty if the file does not state them.
    solver : str
        As `solve` takes it.
    time_limit : float or None
        Seconds.
    expect : Expect or None
        Checked by a test, shown by the command line.
    design : DesignProblem or None
        What `ldpopt.design` takes; None if the file states no workload.
    """

    problem: Problem | None
    title: str = ""
    source: str = ""
    solver: str = "auto"
    time_limit: float | None = None
    expect: Expect | None = None
    design: DesignProblem | None = None

    def require_problem(self, where: str = "") -> Problem:
        """Return the problem, or refuse a model without a utility."""
        if self.problem is None:
            do = "use `ldpopt design`, `compare` or `check`; or add [utility]"
            raise StatementError("the model states a workload and no utility", where=where, do=do)
        return self.problem

    def require_design(self, where: str = "") -> DesignProblem:
        """Return what is to be estimated, or refuse a model without a workload."""
        if self.design is None:
            do = 'add [workload], for example with kind = "frequencies"'
            raise StatementError("the model states no workload", where=where, do=do)
        return self.design

    def at(self, epsilon: float | str) -> Model:
        """Return the same model at another budget; what its file expects does not hold there.

        Raises
        ------
        StatementError
            If epsilon is no budget, or the notion has none.
        """
        notion = with_epsilon(self.privacy, Budget(epsilon))
        problem = None if self.problem is None else replace(self.problem, privacy=notion)
        design = None if self.design is None else replace(self.design, privacy=notion)
        return replace(self, problem=problem, design=design, expect=None)

    @property
    def privacy(self) -> Any:
        """The notion."""
        return self.require_problem().privacy if self.design is None else self.design.privacy


def load_model(path: str | os.PathLike[str]) -> Problem:
    """Read the problem of a model file.

    Parameters
    ----------
    path : path-like
        A TOML file, or the name of a model that comes with the package, such as ``"coin"``.

    Returns
    -------
    Problem
        The statement, checked.

    Raises
    ------
    ModelFileError
        If the file is invalid; the message names file, key and line.
    LdpoptError
        If the prior is a data set whose package is not installed, or the file states a workload and no utility.
    """
    return read_model(path).require_problem(os.fspath(path))


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file with its title, source, solver settings and expected value.

    Parameters
    ----------
    path : path-like
        A TOML file, or the name of a model that comes with the package, such as ``"coin"``.

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
    from ldpopt.problem.modelfile.build import Builder
    from ldpopt.problem.modelfile.schema import StatedFile, check

    require_path(path)
    page = Page(model_path(path))
    stated = check(page, StatedFile, page.data)
    builder = Builder(page, stated)
    problem, design = builder.problem(), builder.design()
    limit, expect = stated.solver.time_limit, _expect(page, stated)
    return Model(problem, stated.title, stated.source, stated.solver.name, limit, expect, design)


def _expect(page: Page, stated: StatedFile) -> Expect | None:
    """Read the expectation; a model without a utility may state its variance as its value."""
    found = stated.expect
    if found is None:
        return None
    value, variance = found.value, found.variance
    if value is None and variance is None:
        raise page.error(("expect",), "[expect] is empty", "state value, or variance for a workload")
    if variance is not None and stated.workload is None:
        raise page.error(("expect", "variance"), "a variance is that of a workload, and there is none", "state value")
    if stated.workload is None or stated.utility is not None:
        return Expect(value, found.tolerance, variance)
    if value is not None and variance is not None:
        raise page.error(("expect", "value"), "a value is that of a utility, and there is none", "state variance only")
    return Expect(None, found.tolerance, value if variance is None else variance)


def save_model(problem: Problem | DesignProblem | Model, path: str | os.PathLike[str]) -> None:
    """Write a problem, or a model with its title and expectation, as a file that reads back equal; atomic.

    Parameters
    ----------
    problem : Problem or DesignProblem or Model
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
    if not isinstance(problem, (Problem, DesignProblem, Model)):
        what = f"save_model() takes a Problem, a DesignProblem or a Model, not a {type(problem).__name__}"
        raise StatementError(what, do="pass solution.problem" if hasattr(problem, "problem") else "state a Problem")
    if isinstance(problem, DesignProblem):
        problem = Model(None, design=problem)
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
    from ldpopt.problem.modelfile.parts import model_tables

    stated: dict[str, Any] = {key: text for key in ("title", "source") if (text := getattr(model, key))}
    stated |= model_tables(model.problem, model.design)
    limit = {} if model.time_limit is None else {"time_limit": float(model.time_limit)}
    if model.solver != "auto" or limit:
        stated["solver"] = {"name": model.solver} | limit
    if model.expect is not None:
        numbers = {key: getattr(model.expect, key) for key in ("value", "variance", "tolerance")}
        stated["expect"] = {key: float(number) for key, number in numbers.items() if number is not None}
    return stated
