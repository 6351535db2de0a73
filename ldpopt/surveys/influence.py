"""How far one report can move the numbers of a question of a survey."""

from __future__ import annotations

from ldpopt.errors import LdpoptError
from ldpopt.estimation.influence import Influence, people_text
from ldpopt.foundation.display import label
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.files import finite_or_none
from ldpopt.surveys.estimates import numbers_of
from ldpopt.surveys.questionnaire import Questionnaire

SHOWN = 8  # questions in a sentence


def influence_of_question(survey: Questionnaire, name: str) -> Influence:
    """The influence of one report on the numbers of a question among all people; see
    `Survey.influence`.
    """
    survey.require(name)
    source = numbers_of(survey, name)
    if isinstance(source, YesNoPatterns):
        factor = source.pattern.questions / source.size
        return source.influence_of_named(source.questions[name]).times(factor)
    influence: Influence = source.influence
    return influence.times(survey.times_drawn)


def most_people(survey: Questionnaire, name: str) -> float | None:
    """As how many people a false report on a question counts at most; None if its reports do not
    show the numbers of the question, or the count is not finite.
    """
    try:
        people = influence_of_question(survey, name).most_people
    except LdpoptError:
        return None
    return finite_or_none(people)


def most_people_text(survey: Questionnaire) -> str:
    """As how many people a false report on any question counts at most; empty if nothing is
    estimated.
    """
    each = (most_people(survey, name) for name in survey.questions)
    most = max((people for people in each if people is not None), default=None)
    return "" if most is None else people_text(most)


def influence_in_words(survey: Questionnaire) -> str:
    """As how many people a false report counts, by question; empty if nothing is estimated."""
    each = {name: most_people(survey, name) for name in survey.questions}
    known = {name: people for name, people in each.items() if people is not None}
    if not known:
        return ""
    shown = [f"{label(name)} {people_text(people)}" for name, people in known.items()]
    texts = ", ".join(shown[:SHOWN]) + (", ..." if len(shown) > SHOWN else "")
    detail = f" ({texts})" if len(shown) > 1 else ""
    return f"A false report counts as up to {most_people_text(survey)} people{detail}."
