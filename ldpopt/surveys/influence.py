"""How far one report can move the numbers of a question of a survey."""

from __future__ import annotations

from ldpopt.estimation.influence import Influence
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.surveys.estimates import numbers_of
from ldpopt.surveys.questionnaire import Questionnaire


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
