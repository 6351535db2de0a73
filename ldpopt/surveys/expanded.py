"""A survey file with its matrices written as questions, in the order of the file, and with the
defaults of all questions.
"""

from __future__ import annotations

from collections.abc import Mapping

from ldpopt.errors import StatementError
from ldpopt.privacy.plain import MisstatedError
from ldpopt.problem.modelfile.page import Key, Page, line_of
from ldpopt.problem.modelfile.schema import check
from ldpopt.surveys.fields import read_fields
from ldpopt.surveys.sections import QuestionSection, SurveySection


def read_sections(page: Page) -> SurveySection:
    """The tables of a file: every question of it, also those of matrices, and texts that are there
    in every language.
    """
    survey = check(page, SurveySection, page.data)
    questions = _questions(page, survey)
    if not questions:
        raise page.error(
            ("question",),
            "the survey has no question",
            "add a table [question.NAME] with labels",
            code="missing-key",
        )
    if survey.missing is not None:
        questions = {name: each.treating(survey.missing) for name, each in questions.items()}
    survey = survey.model_copy(update={"question": questions})
    _require_fields(page, survey)
    _require_languages(page, survey)
    return survey


def _questions(page: Page, survey: SurveySection) -> dict[str, QuestionSection]:
    """Questions and rows of matrices, in the order in which the file has them."""
    if not survey.matrix:
        return survey.question
    parts: dict[Key, Mapping[str, QuestionSection]] = {
        ("question", name): {name: each} for name, each in survey.question.items()
    }
    parts |= {("matrix", name): each.questions(name) for name, each in survey.matrix.items()}
    questions: dict[str, QuestionSection] = {}
    for key in sorted(parts, key=lambda key: line_of(page.text, key) or 0):
        for name, section in parts[key].items():
            if name in questions:
                raise page.error(
                    key,
                    f"two questions are called {name!r}, one of them as a row of a matrix",
                    "give the question or the row another name",
                    code="same-question",
                )
            questions[name] = section
            if key[0] == "matrix":
                page.aliases["question", name] = key
    return questions


def _require_fields(page: Page, survey: SurveySection) -> None:
    """Refuse fields that cannot come with a link, or that have the name of a question."""
    for name in survey.field:
        labels = ("labels",) if survey.fields[name] else ()
        with page.at("field", name, *labels):
            read_fields({name: survey.fields[name]}, survey.weights)
        if name in survey.question:
            raise page.error(
                ("field", name),
                f"the field {name!r} has the name of a question",
                "give it another name",
                code="field-column",
            )
    with page.at("field"):
        read_fields(survey.fields, survey.weights)


def _require_languages(page: Page, survey: SurveySection) -> None:
    """Refuse texts that are not there in every language of the survey, and headings of nothing."""
    try:
        _ = survey.words
    except MisstatedError as error:
        raise page.error(
            _key_in_file(page, error.key), error.what, error.do, code=error.code
        ) from None
    except StatementError as error:
        raise page.error(("form",), error.what, error.do, code=error.code) from None


def _key_in_file(page: Page, key: Key) -> Key:
    """Where the file has a text that the words have under a key."""
    if key[0] == "matrices":
        return ("matrix", *key[1:2], "text", *key[2:])
    tables = {"questions": "question", "fields": "field", "title": "title"}
    if key[0] not in tables:
        return ("form", *key)
    # the words of a row are among the rows of its matrix
    if key[0] == "questions" and key[2:3] == ("row",):
        _, matrix = page.aliases["question", key[1]]
        return ("matrix", matrix, "rows", str(key[1])[len(str(matrix)) + 1 :], *key[3:])
    return (tables[str(key[0])], *key[1:])
