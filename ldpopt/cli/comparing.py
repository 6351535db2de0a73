"""The command compare: all methods for a problem side by side, all mechanisms for a workload."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.output import Json, ModelPath, number, print_table, printable, report, say, wait_for
from ldpopt.cli.peering import (
    compare_peers,
    finish_peers,
    peers_of_optimum,
    peers_record,
    show_peers,
    show_peers_of_optimum,
)
from ldpopt.cli.shell import BAD_STATEMENT, NO_SOLUTION, refuse
from ldpopt.cli.solving import TimeLimit, require_expected
from ldpopt.errors import LdpoptError, NoSolutionError, NotRepresentableError

if TYPE_CHECKING:
    from ldpopt.closed_forms.recognize import Match
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.problem.modelfile import Model
    from ldpopt.problem.problem import Problem

MAX_PAIRWISE_NONZEROS = 200_000
"""Largest number of non-zeros for which the other form is solved too."""

MAX_ENTRIES = {False: 16, True: 9}
"""Largest number of entries of a channel for the best extreme point, without and with delta."""


@dataclass(frozen=True)
class Answer:
    """Result of one method: a mechanism, and a bound on all others if the method has one."""

    value: float
    mechanism: Mechanism
    bound: float | None = None
    relative_gap: float | None = None


@dataclass(frozen=True)
class Method:
    """A method: its name, and a function that runs it."""

    name: str
    run: Callable[[], Answer]


@dataclass(frozen=True)
class Line:
    """One row of the comparison; ``error`` is the reason for no answer, ``applies`` is False if none was expected."""

    method: str
    seconds: float
    answer: Answer | None = None
    verdict: str = ""
    error: str = ""
    is_unsolvable: bool = False
    applies: bool = True

    @property
    def solver(self) -> str:
        """The method without its form."""
        return self.method.partition(" (")[0]


Gap = Annotated[
    float | None,
    typer.Option("--gap", min=0.0, help="Largest certified relative gap to accept (1e-6; of a design, if stated)."),
]


def compare(model: ModelPath, time_limit: TimeLimit = None, gap: Gap = None, json: Json = None) -> None:
    """Compare the methods for a utility, or the mechanisms for a workload.

    For a utility: the closed forms that apply, and each installed solver in each form that it supports. If a method
    fails, the others continue. Then, for a utility and for a workload: the mechanisms from the literature, with the
    ratio of their value to the optimum. Exit code 1 if a mechanism is not private, a gap is too large, or the model's
    [expect] is not met.
    """
    from ldpopt.problem.modelfile import read_model

    stated = read_model(model)
    limit = stated.time_limit if time_limit is None else time_limit
    data: dict[str, Any] = {}
    shows: list[Callable[[], None]] = []
    finish: list[Callable[[], None]] = []
    if stated.problem is not None:
        problem = stated.problem
        lines, done = _run_all(problem, limit)
        data |= _side_by_side(lines, problem)
        optimum = _best_mechanism(lines, data["best"])
        data["peers"] = wait_for(lambda: peers_of_optimum(problem, optimum), "mechanisms of the literature")
        shows.append(lambda: _show(stated.title or model, data))
        shows.append(lambda: show_peers_of_optimum(problem, data["peers"]))
        finish.append(lambda: _finish(stated, lines, done, data, 1e-6 if gap is None else gap))
    if stated.design is not None:
        found = wait_for(lambda: compare_peers(stated, gap, limit), f"comparing {Path(model).name}")
        data["design"] = peers_record(found)
        shows.append(lambda: show_peers(stated, model, data["design"], is_first=stated.problem is None))
        finish.append(lambda: finish_peers(stated, found, gap))

    def show() -> None:
        for one in shows:
            one()

    report(data, json, show)
    for one in finish:
        one()


def _run_all(problem: Problem, limit: float | None) -> tuple[list[Line], tuple[int, int]]:
    """Run all methods, until Ctrl-C; how many of how many were."""
    planned = methods(problem, limit)
    lines: list[Line] = []
    try:
        lines += (wait_for(partial(_run, method, problem), method.name) for method in planned)
    except KeyboardInterrupt:
        if not lines:
            raise
    done = len(lines), len(planned)
    return [line for line in lines if line.applies or not _has_answer_in_other_form(line, lines)], done


def _finish(stated: Model, lines: list[Line], done: tuple[int, int], data: dict[str, Any], gap: float) -> None:
    """Say what failed, and end with an exit code where a claim does not hold."""
    failed = [line for line in lines if line.error]
    for who, why in dict.fromkeys((line.method if line.applies else line.solver, line.error) for line in failed):
        say(f"note: {who}: {why}")
    if done[0] < done[1]:
        raise KeyboardInterrupt(f"{done[0]} of {done[1]} methods are finished")
    _exit_on_failure(lines, data, gap)
    require_expected(stated, data["best"])


def methods(problem: Problem, time_limit: float | None) -> list[Method]:
    """All methods, in the order of the rows."""
    from ldpopt.closed_forms.recognize import recognize

    formulas = [Method(f"closed form {c.name}", partial(_closed_form, c, problem)) for c in recognize(problem)]
    programs = [
        Method(f"{solver} ({form})", partial(_solver, problem, solver, form, time_limit))
        for form in _forms(problem)
        for solver in _installed()
    ]
    return (
        (formulas or [_inapplicable("closed form", "no family of closed forms fits")])
        + programs
        + _extreme_points(problem)
    )


def _inapplicable(name: str, why: str) -> Method:
    """A method that this problem is not for."""

    def run() -> Answer:
        raise NotRepresentableError(why)

    return Method(name, run)


def _extreme_points(problem: Problem) -> list[Method]:
    """The best extreme point, if the optimum is one and the list is short."""
    n, m = problem.utility.shape
    ties = problem.ties() if n * m <= max(MAX_ENTRIES.values()) else None
    why = ""
    if problem.prior is None or problem.constraints:
        why = "with a worst case or a side constraint the optimum need not be an extreme point"
    elif ties is None:
        why = "there are too many extreme points to list, or the notion ties nothing"
    elif not ties.is_mutual:
        why = "extreme points are listed of notions that tie both ways"
    elif n * m > MAX_ENTRIES[ties.delta > 0]:
        why = "there are too many extreme points to list"
    elif ties.budget.ratio is None and (ties.delta or not ties.is_complete):
        why = 'e^epsilon is not rational: state epsilon as "log(p/q)"'
    name = "best extreme point"
    return [_inapplicable(name, why) if why else Method(name, partial(_best_point, problem))]


def _best_point(problem: Problem) -> Answer:
    from ldpopt.polytope.vertices import extreme_points

    best = extreme_points(problem.privacy, *problem.utility.shape, inputs=problem.inputs).best(problem)
    return Answer(float(best.value), best.mechanism)


def _installed() -> Iterator[str]:
    from ldpopt.solvers import installed

    states = installed()
    first = [name for name in ("highs", "cbc", "cvxpy") if name in states]
    for name in first + [name for name in states if name not in first]:
        if states[name] == "installed":
            yield name


def _forms(problem: Problem) -> Iterator[Any]:
    """Yield the default form, and the other one if it exists and is small."""
    from ldpopt.solving.formulation import default_form, size

    chosen = default_form(problem)
    yield chosen
    other: Any = "pairwise" if chosen == "compact" else "compact"
    try:
        if size(problem, other).nonzeros <= MAX_PAIRWISE_NONZEROS:
            yield other
    except NotRepresentableError:
        return


def _closed_form(match: Match, problem: Problem) -> Answer:
    form = match.build()
    return Answer(float(form.value), match.mechanism(form, problem))


def _solver(problem: Problem, solver: str, form: Any, time_limit: float | None) -> Answer:
    from ldpopt.solving.certify import certify
    from ldpopt.solving.solve import solve

    solution = solve(problem, solver=solver, form=form, time_limit=time_limit)
    mechanism = solution.mechanism
    certificate = certify(solution, exact=False)
    return Answer(solution.value, mechanism, float(certificate.bound), certificate.relative_gap)


def _run(method: Method, problem: Problem) -> Line:
    """Run one method; an error becomes part of its row."""
    began = time.perf_counter()
    try:
        answer = method.run()
        seconds = time.perf_counter() - began
        return Line(method.name, seconds, answer, problem.privacy.audit(answer.mechanism).verdict)
    except LdpoptError as error:
        seconds, unsolvable = time.perf_counter() - began, isinstance(error, NoSolutionError)
        applies = not isinstance(error, NotRepresentableError)
        return Line(method.name, seconds, error=printable(error.what), is_unsolvable=unsolvable, applies=applies)
    except Exception as error:
        text = printable(f"{type(error).__name__}: {error}")
        return Line(method.name, time.perf_counter() - began, error=text)


def _has_answer_in_other_form(line: Line, lines: list[Line]) -> bool:
    """Whether the line's solver has an answer in the other form."""
    return any(other.answer is not None and other.solver == line.solver for other in lines)


def _side_by_side(lines: list[Line], problem: Problem) -> dict[str, Any]:
    """Differences from the best value, and gaps to the tightest certified bound."""
    is_gain = problem.utility.sense == "gain"
    answers = [line.answer for line in lines if line.answer is not None]
    values = [answer.value for answer in answers]
    bounds = [answer.bound for answer in answers if answer.bound is not None]
    best = (max if is_gain else min)(values, default=math.nan)
    bound = (min if is_gain else max)(bounds, default=math.nan)
    rows = []
    for line in lines:
        answer = line.answer
        row: dict[str, Any] = dict.fromkeys(("method", "value", "difference", "relative_gap", "verdict"))
        row |= {"method": line.method, "seconds": line.seconds, "error": line.error or None, "applies": line.applies}
        if answer is not None:
            missing = abs(bound - answer.value) / (abs(bound) or 1.0)
            gap = answer.relative_gap if answer.relative_gap is not None else missing
            row |= {"value": answer.value, "difference": answer.value - best, "relative_gap": gap}
            row["verdict"] = line.verdict
        rows.append(row)
    return {"sense": problem.utility.sense, "best": best, "bound": bound, "rows": rows}


def _best_mechanism(lines: list[Line], best: float) -> Mechanism | None:
    """Mechanism of the first method with the best value."""
    found = (line.answer.mechanism for line in lines if line.answer is not None and line.answer.value == best)
    return next(found, None)


def _show(title: str, data: dict[str, Any]) -> None:
    rows = []
    for row in data["rows"]:
        state = "failed" if row["applies"] else "does not apply"
        shown = [row["method"], state, "", "", "", f"{row['seconds']:.3f}" if row["applies"] else ""]
        if row["value"] is not None:
            away, gap = f"{row['difference']:.1e}", f"{row['relative_gap']:.1e}"
            shown[1:5] = [f"{row['value']:.12g}", away, gap, row["verdict"]]
        rows.append(shown)
    rows.append(["certified bound", number(data["bound"], 12), f"{data['bound'] - data['best']:.1e}", "", "", ""])
    headings = ["method", data["sense"], "difference", "relative gap", "audit", "seconds"]
    print_table(headings, rows, title=title)


def _exit_on_failure(lines: list[Line], data: dict[str, Any], gap: float) -> None:
    """End with an exit code if no method has an answer, or one is not private or has a large gap."""
    if math.isnan(data["best"]):
        raise typer.Exit(NO_SOLUTION if any(line.is_unsolvable for line in lines) else BAD_STATEMENT)
    for line, row in zip(lines, data["rows"], strict=True):
        if line.answer is not None and line.verdict != "certified":
            refuse(f"the mechanism of {line.method} is {line.verdict}")
        if row["relative_gap"] is not None and row["relative_gap"] > gap:
            refuse(f"the relative gap of {line.method} is {row['relative_gap']:.3g}, more than {gap:g}")
