"""Solvers with enforced time limits: a large program is solved in a child process, which can be
killed.

A C library may ignore time limits and Ctrl-C, and a crash ends its whole process. Small programs,
which take a fraction of a second, are solved in this process.
"""

import json
import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np

from ldpopt.errors import LdpoptError, SolverOptionError
from ldpopt.foundation.numbers import positive_seconds, require_kind
from ldpopt.foundation.plugins import at_address
from ldpopt.processes.child import Child, EndedError, LateError
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.refinement import in_floats
from ldpopt.solvers.solver import Arrays, Outcome, Solver, Status, check_outcome, require_solver

# Seconds after the time limit at which a solver is killed; it may stop by itself before, with a
# better answer
KILL_DELAY = 0.75
# smallest time limit for a solver in seconds, also after a slow start; it is less than `KILL_DELAY`
MIN_TIME = 0.1
# Environment variable; 0 keeps every solver in this process: time limits are not enforced, Ctrl-C
# may wait
PROCESS_VARIABLE = "LDPOPT_SOLVER_PROCESS"
UNSCALED_EXPONENT = 10  # largest costs between ``2**-10`` and ``2**10`` stay as they are


class Guarded(Solver):
    """A solver with enforced time limits, which Ctrl-C always ends; its outcomes are checked.

    ``address`` is the ``module:class`` of the solver for the child process, empty for a solver that
    always runs in this process; ``detail`` is the argument of the class, if not empty.
    """

    def __init__(self, solver: Solver, address: str, detail: str = "") -> None:
        self.solver, self.name = solver, solver.name
        self.features = solver.features  # type: ignore[misc]
        self._address = address, detail

    def solve(
        self, program: LinearProgram, *, time_limit: float | None = None, **options: Any
    ) -> Outcome:
        """Solve a small program here, a large one in a child process that is killed at the limit
        plus `KILL_DELAY`.

        The start of the process and the import of the solver count; the solver gets the time that
        is left. A kill at the limit is `Status.LIMIT`. If the solver crashed, or something else
        killed it, the status is `Status.FAILED`, and ``raw_status`` names the signal.
        """
        return self._answer(program, None, time_limit, options)

    def refine(
        self,
        program: LinearProgram,
        outcome: Outcome,
        *,
        time_limit: float | None = None,
        **options: Any,
    ) -> Outcome:
        """Improve a rough answer where `solve` would find one, within the same limits."""
        require_kind(outcome, Outcome, "refine()", "pass what solve returned")
        return self._answer(program, outcome, time_limit, options)

    def _answer(
        self,
        program: LinearProgram,
        rough: Outcome | None,
        time_limit: float | None,
        options: dict[str, Any],
    ) -> Outcome:
        """Solve, or refine a rough answer, with costs near 1; the result is checked."""
        require_kind(program, LinearProgram, "solve()", "pass the program of formulate(problem)")
        time_limit = positive_seconds(time_limit)
        program, exponent = with_unit_costs(program)
        rough = None if rough is None else in_costs(rough, -exponent)
        is_small = program.nnz <= self.solver.in_process_nonzeros
        if is_small or not self._address[0] or os.environ.get(PROCESS_VARIABLE) == "0":
            outcome = _answer_of(self.solver, program, rough, time_limit, options)
        else:
            outcome = self._answer_in_child(program, rough, time_limit, options)
        return in_costs(check_outcome(outcome, self.solver, program), exponent)

    def _answer_in_child(
        self,
        program: LinearProgram,
        rough: Outcome | None,
        time_limit: float | None,
        options: dict[str, Any],
    ) -> Any:
        """Solve in a child process; the raw status says if it was killed, crashed or was slow to
        start.
        """
        if rough is not None:
            options["warm_start"] = rough.warm_start
            rough = replace(rough, warm_start=None)
        plain, start = self._plain_options(options)
        began = time.perf_counter()
        started = math.inf
        deadline = math.inf if time_limit is None else began + time_limit + KILL_DELAY
        try:
            with _borrowed_child(self._address) as child:
                child.load(self._address, deadline)
                started = time.perf_counter() - began
                limit = (
                    None
                    if time_limit is None
                    else min(time_limit, max(time_limit - started, MIN_TIME))
                )
                arguments = self._address, _without_names(program), rough, limit, start, plain
                outcome, start = child.call(_solve, *arguments, deadline=deadline)
        except EndedError as error:
            return Outcome(Status.FAILED, str(error))
        except LateError:
            outcome = Outcome(Status.LIMIT, f"stopped from outside: {time_limit:.3g} s were over")
            start = {}
        if not isinstance(outcome, Outcome):
            return outcome
        raw_status = outcome.raw_status
        if outcome.status is Status.LIMIT and time_limit is not None and started > time_limit / 2:
            is_started = started < math.inf
            why = (
                f"starting the solver took {started:.1f} s"
                if is_started
                else "the solver is still starting"
            )
            raw_status = f"{raw_status}; {why}"
        return replace(
            outcome, raw_status=raw_status, warm_start=self.solver.unpack_warm_start(start)
        )

    def _plain_options(self, options: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
        """Options of types of JSON, and the warm start among them as arrays."""
        warm_start = options.pop("warm_start", None)
        try:
            plain = json.loads(json.dumps(options, default=_plain))
        except TypeError as error:
            problem = f"an option cannot be sent to the process of {self.name}: {error}"
            raise SolverOptionError(
                problem, code="option-value", do="pass numbers, text and lists"
            ) from None
        return plain, {} if warm_start is None else self.solver.pack_warm_start(warm_start)


def _plain(value: Any) -> Any:
    """Convert a numpy number or array to types of JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a plain value")


Address = tuple[str, str]
"""A solver's ``module:class`` and the argument of the class."""


def _without_names(program: LinearProgram) -> LinearProgram:
    parts = {field.name: getattr(program, field.name) for field in fields(LinearProgram)}
    return LinearProgram(**parts | {"rows": (), "columns": ()})


def _load_solver(address: Address) -> None:
    _solver(address).load()


def _answer_of(
    solver: Solver,
    program: LinearProgram,
    rough: Outcome | None,
    time_limit: float | None,
    options: dict[str, Any],
) -> Any:
    """What the solver returns: its answer, or a rough one that it refined."""
    if rough is None:
        return solver.solve(program, time_limit=time_limit, **options)
    return solver.refine(program, rough, time_limit=time_limit, **options)


def _solve(
    address: Address,
    program: LinearProgram,
    rough: Outcome | None,
    time_limit: float | None,
    start: Arrays,
    options: dict[str, Any],
) -> tuple[Any, Arrays]:
    """Return the outcome without its warm start, and the warm start as arrays; runs in the
    child.
    """
    solver = _solver(address)
    warm_start = solver.unpack_warm_start(start)
    if rough is not None:
        rough = replace(rough, warm_start=warm_start)
    elif warm_start is not None:
        options["warm_start"] = warm_start
    outcome = _answer_of(solver, program, rough, time_limit, options)
    if not isinstance(outcome, Outcome) or outcome.warm_start is None:
        return outcome, {}
    return replace(outcome, warm_start=None), solver.pack_warm_start(outcome.warm_start)


@cache
def _solver(address: Address) -> Solver:
    location, detail = address
    factory = at_address(location)
    return require_solver(factory(detail) if detail else factory())


class _Child(Child):
    """A child process, and the solvers that it has imported."""

    def __init__(self) -> None:
        try:
            super().__init__()
        except (OSError, ValueError) as error:
            raise _process_error(str(error)) from None
        self.is_idle = False
        self.loaded: list[Address] = []
        self.loading: Address | None = None

    def load(self, address: Address, deadline: float) -> None:
        """Import a solver, if it is not imported yet; after a missed deadline the child continues
        importing it.
        """
        if address in self.loaded:
            return
        try:
            if self.loading is None:
                self.send(_load_solver, address)
                self.loading = address
            self.receive(deadline)
        except EndedError as error:
            raise _process_error(str(error)) from None
        finally:
            if not self.is_busy:
                self.loading = None
        self.loaded.append(address)


_LOCK = threading.RLock()
_CHILDREN: dict[int, list[_Child]] = {}


def living_children() -> list[_Child]:
    """The living children of this process; a fork must not use those of its parent."""
    if os.getpid() not in _CHILDREN:
        import atexit

        _CHILDREN[os.getpid()] = []
        atexit.register(stop_all)
    return _CHILDREN[os.getpid()]


def _take_child(address: Address) -> _Child:
    """Return an idle child, preferably one that has imported the solver, or a new one."""
    with _LOCK:
        while free := [
            child
            for child in living_children()
            if child.is_idle and child.loading in (None, address)
        ]:
            child = max(free, key=lambda child: address in (child.loading, *child.loaded))
            if child.is_alive():
                child.is_idle = False
                return child
            child.kill()
            living_children().remove(child)
        child = _Child()
        living_children().append(child)
        return child


@contextmanager
def _borrowed_child(address: Address) -> Iterator[_Child]:
    """A child for one program; unless it is dead, it is kept for the next one."""
    child = _take_child(address)
    try:
        yield child
    finally:
        with _LOCK:
            child.is_idle = True
            if child.is_dead and child in living_children():
                living_children().remove(child)


def stop_all() -> None:
    """Kill every child process; later solves start new ones."""
    with _LOCK:
        children = living_children()
        _CHILDREN[os.getpid()] = []
    for child in children:
        child.kill()


def _process_error(why: str) -> LdpoptError:
    do = (
        f"set {PROCESS_VARIABLE}=0 to solve in this process, where time limits and Ctrl-C may not "
        "work at once"
    )
    return LdpoptError(f"no process could be started for the solver: {why}", code="process", do=do)


def with_unit_costs(program: LinearProgram) -> tuple[LinearProgram, int]:
    """Divide the costs by a power of two that brings the largest near 1: tolerances of solvers are
    absolute.
    """
    exponent = int(np.frexp(np.abs(program.objective).max(initial=0.0))[1])
    if abs(exponent) <= UNSCALED_EXPONENT:
        return program, 0
    return replace(program, objective=np.ldexp(program.objective, -exponent)), exponent


def in_costs(outcome: Outcome, exponent: int) -> Outcome:
    """Multiply the multipliers of a program with unit costs by ``2**exponent``; the point is the
    same.
    """
    if not exponent:
        return outcome
    both = outcome.row_duals, outcome.column_duals
    with np.errstate(over="ignore"):
        rows, columns = (
            None if duals is None else in_floats(np.ldexp(duals, exponent)) for duals in both
        )
    return replace(outcome, row_duals=rows, column_duals=columns)
