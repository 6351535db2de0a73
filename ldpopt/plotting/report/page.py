"""The page: its template (``page.html.j2``, with every sentence of it) filled with the results for each budget."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.accounting import compose
from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.display import filled
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.report.results import Precision, Result, solve_at
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile import Model
from ldpopt.problem.problem import Problem

MULTIPLES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)  # multiples of the budget on the slider
MAX_LISTED_ESTIMATES = 20  # largest number of estimates in the table of precision
PEOPLE = (100, 1_000, 10_000, 100_000)  # numbers of respondents in the table of precision
MIN_HALF_WIDTH = 1e-6  # smaller half-widths are rounding errors of the probabilities, and are written as 0
NORMAL_QUANTILE = 1.959963984540054  # Half-width of a 95 % interval in standard deviations
NUMBERS_OF_REPORTS = (1, 5, 12)  # after which the best guess is stated
BELIEFS = (0.01, 0.1, 0.5, 0.9)  # probabilities of an answer before the report, in the picture of the risk


def report(
    problem: Problem | DesignProblem | Model,
    *,
    source: str = "",
    title: str = "",
    budgets: bool = True,
    time_limit: float | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> str:
    r"""Write a page of HTML about a problem's mechanism, for people who decide about a survey.

    Its precision is the half-width :math:`1.96\, \sigma / \sqrt N` of a 95 % interval, with :math:`\sigma` the standard
    deviation of one respondent's value under the assumed distribution. ``source`` is the text of the model file, and
    ``progress`` is called with a message before each budget is solved.
    """
    from ldpopt import __version__

    if isinstance(problem, Model):
        title = problem.title or title
        problem = problem.design if problem.design is not None else problem.require_problem()
    if not isinstance(problem, (Problem, DesignProblem)):
        what = f"{short_repr(problem)} is not a problem"
        raise StatementError(what, do="pass a Problem, a DesignProblem or a Model")
    results, own = _results(problem, budgets, time_limit, progress)
    return filled(
        Path(__file__).parent,
        title=title or "A private survey",
        problem=problem,
        is_design=isinstance(problem, DesignProblem),
        results=results,
        own=own,
        source=source,
        version=__version__,
        people=PEOPLE,
        most_likely_reports=most_likely_reports,
        precision_rows=precision_rows,
        belief_ranges=belief_ranges,
        guesses=guesses,
        power=lambda privacy, distance: math.exp(min(float(privacy.epsilon) * distance, 700.0)),
    )


def guesses(mechanism: Mechanism | None) -> list[str]:
    """What the best adversary guesses after one report, and after several."""
    if mechanism is None:
        return []
    once = compose([mechanism])
    return [compose([(once, times)]).in_words for times in NUMBERS_OF_REPORTS]


def _results(
    problem: Problem | DesignProblem, budgets: bool, time_limit: float | None, progress: Callable[[str], None]
) -> tuple[list[Result], int]:
    """Results by budget, and the index of the problem's own; other budgets without a solution are left out."""
    progress("solving")
    own = solve_at(problem, 1, time_limit)
    if not budgets or own.epsilon <= 0:
        return [own], 0
    found = []
    for multiple in MULTIPLES:
        if multiple != 1:
            progress(f"solving at {multiple:g} times the budget")
        try:
            found.append(own if multiple == 1 else solve_at(problem, multiple, time_limit))
        except LdpoptError:
            continue
    return found, found.index(own)


def most_likely_reports(mechanism: Mechanism, most: int) -> list[tuple[Any, list[tuple[Any, float]]]]:
    """Return at most ``most`` answers, each with its three most likely reports and their probabilities."""
    rows = []
    for x in _spread(len(mechanism.inputs), most):
        best = np.argsort(-mechanism.channel[x], kind="stable")[:3]
        rows.append((mechanism.inputs[x], [(mechanism.outputs[y], float(mechanism.channel[x, y])) for y in best]))
    return rows


def precision_rows(precision: Precision) -> list[tuple[Any, list[float], float | None]]:
    """Return some numbers, each with its half-widths by `PEOPLE` and how many times as many people privacy takes."""
    rows = []
    for k in _spread(len(precision.names), MAX_LISTED_ESTIMATES):
        deviation, truthful = float(precision.deviation[k]), float(precision.truthful[k])
        widths = [NORMAL_QUANTILE * deviation / people**0.5 for people in PEOPLE]
        times = (deviation / truthful) ** 2 if truthful > 0 else None
        rows.append((precision.names[k], [width if width >= MIN_HALF_WIDTH else 0 for width in widths], times))
    return rows


def belief_ranges(factor: float) -> list[tuple[float, float, float]]:
    """Return each of `BELIEFS`, and the least and the largest probability that one report can make of it."""
    return [(p, p / (p + factor * (1 - p)), factor * p / (1 - p + factor * p)) for p in BELIEFS]


def _spread(count: int, most: int) -> Sequence[int]:
    """Return at most ``most`` indices below ``count``, evenly spread."""
    indices: list[int] = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()
    return indices
