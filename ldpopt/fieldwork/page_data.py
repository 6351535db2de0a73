"""What the script of the page for respondents reads: questions, and texts in every language."""

from fractions import Fraction
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.fieldwork.frame_words import Words, chance_text, fill, read_words
from ldpopt.fieldwork.sentences import (
    BOUND,
    CHOICE,
    ESTIMATES,
    INFLUENCE,
    RANDOM,
    SCHEME,
    STAGE,
    TWICE,
    UNANSWERED,
    WARNING,
    WAVES,
    PromiseFacts,
)
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.sentences import Topic, above_text
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.choices import promises_of
from ldpopt.surveys.form_words import QuestionWords
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.survey import Survey
from ldpopt.surveys.ticks import TicksQuestion

# Chances of the guesses that the promise is about
GUESSES = {"half": Fraction(1, 2), "few": Fraction(1, 100)}
OF_QUESTION = ("text", "heading", "row")


def page_texts(survey: Survey, language: str | None) -> dict[str, tuple[Words, dict[str, Any]]]:
    """The words of the page and the texts of the survey by language, the first one in front."""
    codes = survey.words.languages if language is None else (language,)
    facts = PromiseFacts(survey, survey.words.waves or survey.words.wave)
    texts = {}
    for code in codes:
        words = read_words(code, survey)
        for name, stated in survey.words.in_language(code).questions.items():
            _require_one_no_answer(name, survey.questions[name], stated, words)
        texts[code] = words, _texts(facts, code, words)
    return texts


def _require_one_no_answer(
    name: str, question: Question, stated: QuestionWords, words: Words
) -> None:
    """Refuse an answer that reads like the one for missing answers, which the page words itself."""
    if question.missing_answer is None:
        return
    missing = text_of(question.missing_answer)
    shown = stated.answers.get(missing, words["no_answer"])
    if isinstance(question, TicksQuestion):
        answers = tuple(question.ticks)
    else:
        answers = tuple(map(text_of, question.inputs))
    for label in answers:
        own = stated.answers.get(label, label)
        if label != missing and own.strip().casefold() == shown.casefold():
            raise StatementError(
                f"an answer, and the one for missing answers, are both {own!r} on the page",
                code="same-words",
                where=f"question {name}",
                do='remove the answer: missing = "answer" adds it; or give it words of its own',
            )


def _texts(facts: PromiseFacts, code: str, words: Words) -> dict[str, Any]:
    """What the page shows of a survey in one language."""
    survey = facts.survey
    stated = survey.words.in_language(code)
    until = fill(words["until"], date=survey.words.until) if survey.words.until else ""
    return {
        "title": stated.title or words["untitled"],
        "consent": stated.consent,
        "contact": stated.contact,
        "retention": stated.retention,
        "until": until,
        "promise": promise(facts, words, stated.questions),
        "sections": stated.sections,
        "fields": stated.fields,
        "choices": _choice_texts(survey, words),
        "questions": {name: _question_texts(asked) for name, asked in stated.questions.items()},
    }


def _choice_texts(survey: Questionnaire, words: Words) -> dict[str, str]:
    """What each choice of an epsilon promises, by the exact odds of a person who made it."""
    if not survey.choices:
        return {}
    return {
        choice: fill(
            words["choice_option"],
            epsilon=choice.replace(".", words["decimal"]),
            times=above_text(odds, 3).replace(".", words["decimal"]),
            half=chance_text(odds, GUESSES["half"], words),
        )
        for choice, odds in promises_of(survey)
    }


def _question_texts(stated: QuestionWords) -> dict[str, Any]:
    """The words of a question that are not its labels."""
    texts = {key: text for key in OF_QUESTION if (text := getattr(stated, key))}
    return texts | ({"answers": stated.answers} if stated.answers else {})


def page_questions(survey: Survey) -> list[dict[str, Any]]:
    """Where each question stands: its section, and the matrix of which it is a row."""
    places = {
        name: {"section": stated.section, "matrix": stated.matrix}
        for name, stated in survey.words.first.questions.items()
    }
    return [
        {"name": name} | {key: text for key, text in places[name].items() if text}
        for name in survey.questions
    ]


def promise(facts: PromiseFacts, words: Words, stated: dict[str, QuestionWords]) -> list[str]:
    """The sentences that are true of the survey, with chances from the exact odds."""
    survey = facts.survey
    chances = _chances(facts.odds, words) | {
        f"{key}_all": text for key, text in _chances(facts.total, words).items()
    }
    in_all = _chances(facts.total**facts.waves, words)
    said: list[tuple[Topic, dict[str, Any]]] = [
        (RANDOM, {}),
        (SCHEME, {"count": facts.count}),
        (TWICE, {}),
        # before what says that all that follows is about the largest choice
        (INFLUENCE, {"people": facts.people.replace(".", words["decimal"])}),
        (CHOICE, {}),
        (WARNING, {}),
        (BOUND, chances),
        (WAVES, {"wave": survey.words.wave, "waves": facts.waves} | in_all),
        (STAGE, {}),
    ]
    # a joint report shows only that one of them was left out
    shown = survey.unprotected if survey.joint is None else survey.unprotected[:1]
    said += [(UNANSWERED, {"question": _question_text(name, stated)}) for name in shown]
    said += [(ESTIMATES, {})]
    return [fill(words[key], **numbers) for topic, numbers in said if (key := topic.say(facts))]


def _chances(odds: Fraction, words: Words) -> dict[str, str]:
    """What guesses with a chance of a half and of one in a hundred become."""
    return {key: chance_text(odds, chance, words) for key, chance in GUESSES.items()}


def _question_text(name: str, stated: dict[str, QuestionWords]) -> str:
    """The question as it is asked; without words for it, its name."""
    return stated[name].text or name
