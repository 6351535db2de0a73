"""The page of a model: its template (``page.html.j2``, with every sentence) filled with the results
for each budget.
"""

import math
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ldpopt.accounting import compose
from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.display import filled
from ldpopt.foundation.numbers import require_kind, short_repr, whole_number
from ldpopt.foundation.sentences import at_most_text
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.report.definition import DEFINITION, PrivacyFacts
from ldpopt.plotting.report.results import Result, solve_at
from ldpopt.plotting.report.sentences import say
from ldpopt.plotting.report.survey_page import survey_page
from ldpopt.plotting.report.words import MIN_HALF_WIDTH, program
from ldpopt.privacy.notion import has_epsilon
from ldpopt.privacy.sentences import promises_of
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile import Model
from ldpopt.problem.problem import Problem
from ldpopt.surveys.groups import Group
from ldpopt.surveys.survey import Survey

MULTIPLES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)  # multiples of the budget to choose from
MAX_LISTED_ESTIMATES = 20  # largest number of estimates in the table of precision
# numbers of respondents in the table of precision, if none is given
PEOPLE = (100, 1_000, 10_000, 100_000)
# largest difference of two probabilities of a distribution that is called uniform
UNIFORM_TOLERANCE = 1e-12
MAX_NATS = 600.0  # from which a factor is written as a power of ten
FLOAT_ERROR = Fraction(1, 1 << 40)
NUMBERS_OF_REPORTS = (1, 5, 12)  # after which the best guess is stated
# probabilities of an answer before the report, in the picture of the risk
BELIEFS = (0.01, 0.1, 0.5, 0.9)


def report(
    problem: Problem | DesignProblem | Model | Survey,
    *,
    source: str = "",
    title: str = "",
    people: int | None = None,
    waves: int | None = None,
    where: Literal["device", "office"] | None = None,
    keep: Sequence[str] = (),
    groups: Sequence[Group] | None = None,
    to: str | None = None,
    budgets: bool = True,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> str:
    r"""Write a page of HTML about a problem's mechanism or a survey, for people who decide about a
    survey.

    Its precision is the half-width :math:`1.96\, \sigma / \sqrt N` of a 95 % interval, with
    :math:`\sigma` the standard deviation of one respondent's value: under the assumed distribution,
    for a survey under the worst one.

    Parameters
    ----------
    problem : Problem, DesignProblem, Model or Survey
        What the page is about.
    source, title : str
        The text of its file, and a title for one that has none; default: ``""``.
    people : int, optional
        Number of people who will answer; default: only the precision of some round numbers is
        shown.
    waves : int, optional
        How often the same people answer a survey; default: as its words say, else 1.
    where : {"device", "office"}, optional
        Where reports are drawn: on the respondents' devices, or on the machine of those who ask.
        Default: the page has both, to tick one.
    keep : sequence of str
        Columns that are kept unprotected beside the reports; default: ``()``.
    groups : sequence of Group, optional
        Groups of the people who are asked, by columns that are kept or come with the link, as
        `ldpopt.surveys.groups.read_groups` reads them. ``[Group(people, {})]``: each person has a
        link without fields; an empty sequence: anybody can answer. Default: the page has both, to
        tick one.
    to : str, optional
        Where the page for respondents sends reports, for the fingerprint of that page; default: as
        the survey's words say, else there is none.
    budgets : bool
        Whether the page of a problem has other budgets to choose from; default: ``True``.
    time_limit : float, optional
        Seconds for each budget; default: none.
    progress : callable, optional
        Called with a message before each budget is solved; default: nothing is shown.

    Raises
    ------
    StatementError
        If the object is none of these, or an argument does not fit.
    """
    if isinstance(problem, Model):
        title = problem.title or title
        problem = problem.design if problem.design is not None else problem.require_problem()
    require_kind(problem, (Problem, DesignProblem, Survey), "report()")
    if where not in (None, "device", "office"):
        raise StatementError(
            f"where = {short_repr(where)} is unknown",
            code="choice",
            do="pass 'device', 'office' or None",
        )
    if isinstance(keep, str):
        raise StatementError(
            f"keep = {keep!r} is one text",
            code="text",
            do="pass a list of columns, such as ['region']",
        )
    wanted = None if people is None else whole_number(people, "people", 1)
    sizes = list(PEOPLE) if wanted is None else sorted({max(1, wanted // 2), wanted, 2 * wanted})
    title = (isinstance(problem, Survey) and problem.title) or title or "A private survey"
    words: dict[str, Any] = {"title": title, "source": source, "program": program()}
    words |= {"where": where, "keep": keep, "wanted": wanted, "belief_ranges": belief_ranges}
    used = [("people", people), ("waves", waves), ("where", where), ("to", to)]
    words["options"] = _options([*used, *(("keep", column) for column in keep)], groups)
    if isinstance(problem, Survey):
        times = (problem.words.waves or 1) if waves is None else whole_number(waves, "waves", 1)
        return survey_page(problem, sizes, times, groups, to, **words)
    _require_unused(waves=waves, groups=groups, to=to)
    results, index = _results(problem, budgets, time_limit, progress or (lambda message: None))
    return _problem_page(problem, results, index, sizes, **words)


def _options(used: Sequence[tuple[str, Any]], groups: Sequence[Group] | None) -> str:
    """The options of a command that writes the page again."""
    text = "".join(
        f" --{name} {shlex.quote(str(value))}" for name, value in used if value is not None
    )
    if not groups:
        return text
    return text + (" --groups groups.csv" if groups[0].fields else " --invited")


def _require_unused(**arguments: Any) -> None:
    """Refuse arguments that are for a survey."""
    for name, value in arguments.items():
        if value is not None:
            raise StatementError(
                f"{name} = {short_repr(value)} is for a survey",
                code=name,
                do=f"leave {name} out, or pass a Survey",
            )


def _problem_page(
    problem: Problem | DesignProblem,
    results: Sequence[Result],
    index: int,
    sizes: Sequence[int],
    **words: Any,
) -> str:
    """The page of a problem as HTML; ``index`` is the place of its result among those for other
    budgets.
    """
    prior = problem.weights if isinstance(problem, DesignProblem) else problem.prior
    facts: dict[str, Any] = {
        "problem": problem,
        "is_design": isinstance(problem, DesignProblem),
        "results": results,
        "own": index,
        "people": sizes,
        "most_likely_reports": most_likely_reports,
        "guesses": guesses,
        "say": say,
        "risks": next(
            (result.facts for result in results if result.facts.rules_out), results[index].facts
        ),
        "is_uniform": prior is None or bool(np.ptp(prior) < UNIFORM_TOLERANCE),
        "precision_rows": lambda result: precision_rows(result, sizes),
        "at_most": at_most,
        "definition": lambda privacy: DEFINITION.say(PrivacyFacts(privacy)),
        "promises_of": lambda privacy: promises_of(privacy, _inputs_of(problem)),
        "infinity": math.inf,
    }
    return filled(Path(__file__).parent, **facts, **words)


def _inputs_of(problem: Problem | DesignProblem) -> Sequence[Any]:
    """The answers of a problem."""
    return problem.workload.inputs if isinstance(problem, DesignProblem) else problem.inputs


def at_most(privacy: Any, distance: float, factor: float = math.inf) -> str:
    """The factor of the odds at a distance, rounded up: that of the budget, or a smaller one of the
    audit; empty for a notion without a single epsilon.
    """
    if not has_epsilon(privacy):
        return ""
    nats = float(privacy.epsilon) * distance
    if nats > MAX_NATS:
        return f"10^{math.floor(nats / math.log(10)) + 1}"
    of_budget = Budget(privacy.epsilon).enclosure(Fraction(distance))[1]
    # the exponential of an audited epsilon is rounded
    of_audit = Fraction(factor) * (1 + FLOAT_ERROR) if factor < math.inf else of_budget
    return at_most_text(max(min(of_budget, of_audit), Fraction(1)))


def guesses(mechanism: Mechanism | None) -> list[str]:
    """What the best adversary guesses after one report, and after several."""
    if mechanism is None:
        return []
    once = compose([mechanism])
    return [compose([(once, times)]).in_words for times in NUMBERS_OF_REPORTS]


def _results(
    problem: Problem | DesignProblem,
    budgets: bool,
    time_limit: float | None,
    progress: Callable[[str], None],
) -> tuple[list[Result], int]:
    """Results by budget, and the index of the problem's own; other budgets without a solution are
    left out.
    """
    progress("solving")
    result = solve_at(problem, 1, time_limit)
    if not budgets or not result.epsilon > 0:
        return [result], 0
    results = []
    for multiple in MULTIPLES:
        if multiple != 1:
            progress(f"solving at {multiple:g} times the budget")
        with suppress(LdpoptError):
            results.append(result if multiple == 1 else solve_at(problem, multiple, time_limit))
    return results, results.index(result)


def most_likely_reports(
    mechanism: Mechanism, most: int
) -> list[tuple[Any, list[tuple[Any, float]]]]:
    """Return at most ``most`` answers, each with its three most likely reports and their
    probabilities.
    """
    rows = []
    for x in _spread(len(mechanism.inputs), most):
        best = np.argsort(-mechanism.channel[x], kind="stable")[:3]
        rows.append(
            (
                mechanism.inputs[x],
                [(mechanism.outputs[y], float(mechanism.channel[x, y])) for y in best],
            )
        )
    return rows


def precision_rows(
    result: Result, sizes: Sequence[int]
) -> list[tuple[str, list[float], float | None, bool]]:
    """Return some numbers that are not fixed: half-widths, how many times as many people, whether
    they are shares.
    """
    rows = []
    precision = result.precision
    assert precision is not None
    for k in _spread(len(result.words), MAX_LISTED_ESTIMATES):
        if precision.half_width(1)[k] >= MIN_HALF_WIDTH:
            times = (
                float(precision.variances[k]) / result.truthful[k]
                if result.truthful[k] > 0
                else None
            )
            widths = [float(precision.half_width(n)[k]) for n in sizes]
            rows.append((result.words[k], widths, times, result.is_share[k]))
    return rows


def belief_ranges(factor: float) -> list[tuple[float, float, float]]:
    """Return each of `BELIEFS`, and the least and the largest probability that one report can make
    of it.
    """
    return [(p, p / (p + factor * (1 - p)), factor * p / (1 - p + factor * p)) for p in BELIEFS]


def _spread(count: int, most: int) -> Sequence[int]:
    """Return at most ``most`` indices below ``count``, evenly spread."""
    indices: list[int] = np.unique(
        np.linspace(0, count - 1, min(count, most)).round().astype(int)
    ).tolist()
    return indices
