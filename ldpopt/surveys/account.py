"""What the reports of a person reveal together: the privacy curve of a questionnaire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ldpopt.accounting.curve import PrivacyCurve, compose
from ldpopt.accounting.privacy_loss import OneOf
from ldpopt.accounting.shuffling import shuffled
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import whole_number
from ldpopt.surveys.choices import of_choice, require_no_choices
from ldpopt.surveys.models import require_no_model
from ldpopt.surveys.questionnaire import Questionnaire


def account_of(
    survey: Questionnaire,
    waves: int = 1,
    people: int | None = None,
    choice: Any = None,
    *,
    progress: Callable[[str], None] | None = None,
) -> PrivacyCurve:
    """Return the curve of all reports of a person; see `Survey.account`.

    ``progress`` is told which question of shuffled reports is next, as these take long.
    """
    waves = whole_number(waves, "waves", 1)
    laws = [question.randomizer for question in survey.asked.values()]
    if choice is not None:
        laws = [source.randomizer for source in of_choice(survey, choice).values()]
    if people is not None:
        _require_shuffled(survey)
        # questions with the same probabilities have the same bounds, which take the time
        curves: dict[bytes, PrivacyCurve] = {}
        for place, law in enumerate(laws, 1):
            if (key := _key(law)) in curves:
                continue
            if progress is not None:
                progress(f"question {place} of {len(laws)}")
            curves[key] = shuffled(law, people)
            _ = curves[key].sources[0][0].losses  # which the composition needs, and which are kept
        return compose([(curves[_key(law)], waves) for law in laws])
    sources = [source for law in laws for source, _ in compose([law]).sources]
    if survey.one_question is not None:
        has_fakes = survey.one_question.fake_data
        sent = len(sources) if has_fakes else 1
        sources = [OneOf(tuple(sources), is_attained=not has_fakes, reports=sent)]
    return compose([(source, waves) for source in sources])


def _key(law: Any) -> bytes:
    """The probabilities of the reports of a mechanism, with their shape."""
    shape = repr(law.counts.shape).encode()
    masses: bytes = law.counts.tobytes()
    return shape + masses


def _require_shuffled(survey: Questionnaire) -> None:
    """Refuse a survey for whose shuffled reports there is no bound."""
    if survey.one_question is not None:
        raise StatementError(
            "nobody knows how many people answer a question that is drawn",
            code="one-question",
            do="shuffle the reports of a survey in which everybody answers all questions",
        )
    do = "leave `people` out: the curve of reports that are not shuffled holds"
    require_no_choices(survey, "nobody knows how many have the same mechanism", do)
    require_no_model(
        {name: each for name, each in survey.asked.items() if each.beside},
        "there is no bound for the shuffled reports of different mechanisms",
        do,
    )
    for name, question in survey.asked.items():
        if not hasattr(question.randomizer, "counts"):
            raise StatementError(
                f"the probabilities of the reports on {name!r} are not listed, which "
                "the bound needs",
                code="unlisted",
                do=do,
            )
