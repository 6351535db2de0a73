"""What people are told and can do, who is invited, and what groups are worth: the claims of the
page that depend on how a survey is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.display import label
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.sentences import Sentence, Topic
from ldpopt.plotting.report.guesses import RightGuesses
from ldpopt.plotting.report.words import MIN_HALF_WIDTH
from ldpopt.surveys.groups import SMALL, SMALLEST, Group
from ldpopt.surveys.questionnaire import Questionnaire

RIGHT_TO_LEFT = ("ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi")
MAX_LISTED = 500  # most groups in the table


@dataclass(frozen=True, eq=False)
class AskedFacts(RightGuesses):
    """How a survey is asked: ``beside`` are clear columns, ``groups`` are by some of them, and
    ``has_links`` is whether each person has a link of their own (None: it is not known).
    """

    where: Literal["device", "office"] | None = None
    beside: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    has_links: bool | None = None

    def drawn(self, where: Literal["device", "office"]) -> AskedFacts:
        """The same where reports are drawn at a place."""
        return replace(self, where=where)

    def invited(self, by_links: bool) -> AskedFacts:
        """The same where people are invited, or anybody can answer."""
        return replace(self, has_links=by_links)

    @property
    def beside_text(self) -> str:
        """The clear columns."""
        return ", ".join(map(label, self.beside))

    @property
    def fields_text(self) -> str:
        """The fields that a link has."""
        return ", ".join(map(label, self.survey.fields))

    @property
    def least(self) -> Group | None:
        """The smallest group."""
        return min(self.groups, key=lambda group: group.people, default=None)

    @cached_property
    def can_miss(self) -> bool:
        """Whether some question has an answer that stands for a missing one."""
        return any(each.missing_answer is not None for each in self.survey.questions.values())


WITHDRAWAL = Topic(
    "withdrawal",
    (
        Sentence(
            "office",
            lambda facts: facts.where == "office",
            "The reports stay in the order of the answers. As long as the machine of those who ask "
            "has the answers, a person's report can be removed; without answers and order nobody "
            "knows which report is whose.",
        ),
        Sentence(
            "device, beside",
            lambda facts: bool(facts.beside),
            "A report cannot be withdrawn after it is sent: nothing but {facts.beside_text} beside "
            "it says whose it may be. Until it is drawn a person just leaves the page, and nothing "
            "is sent.",
        ),
        Sentence(
            "device",
            lambda facts: not facts.beside,
            "A report cannot be withdrawn after it is sent: nobody knows which one is whose. Until "
            "it is drawn a person just leaves the page, and nothing is sent.",
        ),
    ),
)

INVITED = Topic(
    "invited",
    (
        Sentence(
            "fields",
            lambda facts: bool(facts.has_links and facts.fields_text),
            "Each person has a link for one report, which carries {facts.fields_text}. Whoever has "
            "the list of links and the database sees who took part, and that a report is from one "
            "of the people of its group who took part.",
        ),
        Sentence(
            "links",
            lambda facts: bool(facts.has_links),
            "Each person has a link for one report. Whoever has the list of links and the database "
            "sees who took part.",
        ),
        Sentence(
            "open",
            lambda facts: not facts.has_links,
            "Anybody who has the address of the page can answer, and nothing keeps a person from "
            "answering several times.",
        ),
    ),
)

SMALL_GROUPS = Topic(
    "small groups",
    (
        Sentence(
            "few",
            lambda facts: facts.least is not None and facts.least.people < SMALLEST,
            "The group {facts.least.name} has {facts.least.people} people: its reports are nearly "
            "those of single persons, and its results are worth nothing. Merge groups of fewer "
            f"than {SMALLEST}.",
        ),
        Sentence(
            "small",
            lambda facts: facts.least is not None and facts.least.people < SMALL,
            "The group {facts.least.name} has {facts.least.people} people: that costs them privacy "
            "and gives hardly any result. Merge groups of fewer than "
            f"{SMALL}.",
        ),
    ),
)

QUARTER = Topic(
    "groups",
    (
        Sentence(
            "quarter",
            lambda facts: bool(facts.beside) and not facts.groups,
            "For a group of people, such as those of one {facts.beside[0]}, the results are less "
            "precise: in a quarter of the people the widths are twice as large.",
        ),
    ),
)

WIDTHS = Topic(
    "widths",
    (
        Sentence(
            "both",
            lambda facts: facts.can_miss and bool(facts.unanswered),
            "The widths hold if nearly everybody answers: shares are of the people who answer, and "
            "where people without an answer have no report, the numbers of people are those who "
            "answer.",
        ),
        Sentence(
            "answer",
            lambda facts: facts.can_miss,
            "The widths hold if nearly everybody answers: where no answer counts as an answer, "
            "shares are of the people who answer.",
        ),
        Sentence(
            "left out",
            lambda facts: bool(facts.unanswered),
            "Where people without an answer have no report, the numbers of people are those who "
            "answer.",
        ),
    ),
)

TOPICS = (WITHDRAWAL, INVITED, SMALL_GROUPS, QUARTER, WIDTHS)


def told(survey: Questionnaire) -> list[dict[str, Any]]:
    """What people are told, in each language: consent, contact and retention, word by word."""
    texts = []
    for code in survey.words.languages:
        words = survey.words.in_language(code)
        is_rtl = code.partition("-")[0] in RIGHT_TO_LEFT
        stated = [
            (name, getattr(words, name)) for name in ("title", "consent", "contact", "retention")
        ]
        parts = {name: text for name, text in stated if text}
        texts.append({"language": code, "direction": "rtl" if is_rtl else "ltr", "parts": parts})
    return texts


def group_rows(
    survey: Questionnaire, groups: Sequence[Group]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Questions, and a row for each group: its name, number of people, and the largest half-width
    of each question if all of them answer.
    """
    questions = {}
    for name in survey.questions:
        try:
            questions[name] = survey.precision(name)  # type: ignore[attr-defined]
        except LdpoptError:
            continue  # nothing can be estimated, as the page says
    rows = []
    for group in groups[:MAX_LISTED]:
        widths = []
        for precision in questions.values():
            half = precision.half_width(group.people)
            estimated = half[np.asarray(precision.half_width(1)) >= MIN_HALF_WIDTH]
            widths.append(float(estimated.max()) if len(estimated) else None)
        rows.append({"name": group.name, "people": group.people, "widths": widths})
    return list(questions), rows


def require_kept(groups: Sequence[Group], beside: Sequence[str]) -> None:
    """Refuse groups by a column that is not kept beside the reports."""
    for name in groups[0].fields if groups else ():
        if name not in beside:
            raise StatementError(
                f"groups are by {name!r}, which is not kept beside the reports",
                code="group-column",
                do=f"keep it (--keep {name}), or make it a field of the survey; "
                f"{nearest(name, beside)}",
            )
