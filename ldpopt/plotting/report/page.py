"""The page as a whole."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.numbers import short_repr
from ldpopt.plotting.report.frames import Frame, frame
from ldpopt.plotting.report.parts import belief_picture, mechanism_table, paragraphs, precision_table
from ldpopt.plotting.report.style import SCRIPT, STYLE
from ldpopt.plotting.report.words import has_one_factor, notion, question, risk
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile import Model
from ldpopt.problem.problem import Problem

FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""Multiples of the budget that the slider goes through."""

Progress = Callable[[str], None]


def report(
    asked: Problem | DesignProblem | Model,
    *,
    source: str = "",
    title: str = "",
    budgets: bool = True,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> str:
    r"""Write one page that says what a mechanism does, for people who decide about a survey.

    Its precision is the half-width :math:`1.96\, \sigma / \sqrt N` of a 95 % interval, with :math:`\sigma` the standard
    deviation of one respondent's value under the assumed distribution.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> text = report(Problem([0.7, 0.3], "identity", PureLDP("log(3)")), budgets=False)
    >>> text.startswith("<!DOCTYPE html>"), "What each person risks" in text
    (True, True)
    """
    if isinstance(asked, Model):
        title = asked.title or title
        asked = asked.design if asked.design is not None else asked.require_problem()
    if not isinstance(asked, (Problem, DesignProblem)):
        raise StatementError(f"{short_repr(asked)} is not a problem", do="pass a Problem, a DesignProblem or a Model")
    frames, own = _frames(asked, budgets, time_limit, progress or (lambda _: None))
    title = title or "A private survey"
    body = [
        f"<header><h1>{escape(title)}</h1><p>{escape(_summary(asked, frames[own]))}</p></header>",
        f"<section><h2>The question</h2>{paragraphs(question(asked))}</section>",
        _slider(frames, own),
        *(_frame(asked, found, place, place == own) for place, found in enumerate(frames)),
        _proof(frames[own]),
        _repeat(source),
    ]
    head = f"<title>{escape(title)}</title><style>{STYLE}</style>"
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    script = f"<script>{SCRIPT}</script>" if len(frames) > 1 else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{viewport}{head}</head>\n'
        f"<body><main>{''.join(body)}</main>{script}</body></html>\n"
    )


def _frames(
    asked: Problem | DesignProblem, budgets: bool, time_limit: float | None, progress: Progress
) -> tuple[list[Frame], int]:
    """Solutions by budget, and the place of the stated one; another budget without a solution is left out."""
    progress("solving")
    stated = frame(asked, None, time_limit)
    if not budgets or float(stated.epsilon) <= 0:
        return [stated], 0
    before: list[Frame] = []
    after: list[Frame] = []
    for factor in FACTORS:
        if factor == 1:
            continue
        progress(f"solving at {factor:g} times the budget")
        try:
            (before if factor < 1 else after).append(frame(asked, factor, time_limit))
        except LdpoptError:
            continue
    return [*before, stated, *after], len(before)


def _summary(asked: Problem | DesignProblem, found: Frame) -> str:
    delta = getattr(asked.privacy, "delta", 0.0)
    budget = f"epsilon = {float(found.epsilon):.4g}" + (f", delta = {delta:g}" if delta else "")
    return (
        f"{notion(asked.privacy)}, {budget}. {found.aim.capitalize()}: {found.value:.6g}. Proved: no mechanism with "
        f"this privacy is better by more than {found.relative_gap:.1e} of that value."
    )


def _slider(frames: list[Frame], own: int) -> str:
    if len(frames) == 1:
        return ""
    values = ",".join(f"{float(found.epsilon):.4g}" for found in frames)
    return (
        '<section id="slider" hidden><label for="budget">Privacy budget epsilon: '
        f"<output>{float(frames[own].epsilon):.4g}</output></label>"
        f'<input id="budget" type="range" min="0" max="{len(frames) - 1}" value="{own}" data-values="{values}">'
        '<p class="ends"><span>more private</span><span>more precise</span></p></section>'
    )


def _frame(asked: Problem | DesignProblem, found: Frame, place: int, is_stated: bool) -> str:
    privacy = asked.privacy if is_stated else with_epsilon(asked.privacy, found.epsilon)
    picture = belief_picture(found.factor) if has_one_factor(privacy) and found.factor < 1e6 else ""
    shown = (
        "There are too many different reports to list them."
        if found.mechanism is None
        else mechanism_table(found.mechanism)
    )
    stated = " (as stated)" if is_stated else ""
    return (
        f'<div class="frame{" stated" if is_stated else ""}" data-place="{place}">'
        f'<p class="budget">epsilon = {float(found.epsilon):.4g}{stated}: {escape(found.aim)} {found.value:.6g}</p>'
        f"<section><h2>What each person risks</h2>{paragraphs(risk(privacy, found.factor))}{picture}</section>"
        f"<section><h2>The mechanism</h2>{shown}</section>"
        f"<section><h2>What is learned, and how precisely</h2>{_precision(found)}</section></div>"
    )


def _precision(found: Frame) -> str:
    if found.precision is not None:
        return precision_table(found.precision)
    if found.mechanism is None:
        return f"<p>{escape(found.aim.capitalize())} of one respondent: {found.value:.6g}.</p>"
    return paragraphs(
        [
            "The shares of the answers cannot be estimated from these reports, because different populations give the "
            "same distribution of reports. This mechanism is optimal for single reports. To estimate shares, state a "
            "workload and use `ldpopt design`."
        ]
    )


def _proof(found: Frame) -> str:
    link = (
        f'<p><a download="certificate.json" href="data:application/json;base64,{found.proof}">Save the certificate</a> '
        "that is included in this page, and check it with one of these commands:</p>"
        if found.proof
        else "<p>The certificate is too large for this page. Write it with the option --certificate of ldpopt solve or "
        "ldpopt design, and check it with one of these commands:</p>"
    )
    return (
        f"<section><h2>What is proved</h2>{paragraphs(_proved(found))}{link}"
        "<pre>ldpopt certify certificate.json\nldpopt certify --independent certificate.json</pre></section>"
    )


def _proved(found: Frame) -> list[str]:
    return [
        "The privacy was checked in exact integer arithmetic, for the very probabilities with which reports are drawn.",
        f"The {found.aim} of this mechanism is {found.value:.9g}. Exact arithmetic proves that no mechanism with this "
        f"privacy is better by more than {found.relative_gap:.1e} of that value.",
    ]


def _repeat(source: str) -> str:
    from ldpopt import __version__

    shown = f"<p>The model file:</p><pre>{escape(source)}</pre>" if source else ""
    return (
        f"<section><h2>How to repeat it</h2><p>This page was written by ldpopt {escape(__version__)}. Anybody can "
        f"repeat the computation; the value and the bound agree up to rounding.</p>{shown}"
        "<pre>pip install ldpopt\nldpopt report model.toml -o report.html</pre></section>"
    )
