"""The page for respondents: one file of HTML that asks, draws the reports with the audited masses,
and sends them.
"""

import base64
import hashlib
import json
import re
import tomllib
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from ldpopt.errors import StatementError
from ldpopt.fieldwork.messages import message_bytes
from ldpopt.fieldwork.sentences import (
    BOUND,
    ESTIMATES,
    RANDOM,
    SCHEME,
    UNANSWERED,
    WAVES,
    PromiseFacts,
)
from ldpopt.foundation.display import filled
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import require_kind, require_text, short_repr, truth
from ldpopt.foundation.sentences import Topic, at_most_text
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.surveys.form import form_digest
from ldpopt.surveys.joint import JOINT
from ldpopt.surveys.survey import Survey
from ldpopt.surveys.ticks import NONE, SEPARATOR

HERE = Path(__file__).parent
LANGUAGES = tuple(sorted(path.stem for path in (HERE / "words").glob("*.toml")))
MAX_BUTTONS = 12  # largest number of answers that are buttons; more are a menu
PLACE = re.compile(r"\{(\w+)\}")
USED_BY_SCRIPT = re.compile(r"\bwords\.(\w+)")
# Where reports are sent: a page of the web, or a path on the server of this page
WEB_ADDRESS = re.compile(
    r"https?://[\w.-]+(:\d{1,5})?(/[\w.~!$&*+=:@%/-]*)?(\?[\w.~!$&*+=:@%/?-]*)?", re.ASCII
)
PATH = re.compile(r"/?[\w.~-]+(/[\w.~-]+)*", re.ASCII)
# What stands before the first slash of an address without https://; "." and ".." are folders
HOST = re.compile(r"localhost|(?=.*\w).*[.:].*", re.ASCII | re.IGNORECASE)
Words = dict[str, str]


def page(
    survey: Survey,
    to: str | None = None,
    language: str | None = None,
    *,
    invited: bool = False,
) -> str:
    r"""Return the page for respondents as HTML: it draws the reports on the device where the
    answers are given.

    The page shows, rounded up, how far a report and all reports of a person can change the odds of
    two answers,

    .. math:: \max_i e^{\epsilon_i}, \qquad \prod_i e^{\epsilon_i} .

    Parameters
    ----------
    survey : Survey
        Its ``words`` have the texts of questions and answers, consent and contact.
    to : str, optional
        Where the reports are sent: the address of a collector's ``/reports`` with ``https://``, or
        a path on the server of the page; one whose first part has a dot begins with ``./``.
        Default: that of the survey's words; with ``""`` nothing is sent, and the respondent passes
        the report on.
    language : str, optional
        ``"en"``, ``"de"``, ``"fr"``, or the language that the survey has all words for. Default:
        that of the survey's words.
    invited : bool
        Whether the collector keeps reports with an invitation only. The page then asks nobody whose
        link has none. Default: ``False``.

    Returns
    -------
    str
        One file that loads nothing. The same survey gives the same text; `Survey.form` is inside
        it.

    Raises
    ------
    StatementError
        If reports cannot be sent to the address, the page lacks words of the language, or the
        survey has no form; see `Survey.form`.

    Notes
    -----
    A content security policy admits the page's own script and style by their hashes, and
    connections to ``to`` only. About 30 KB and the masses. Threats: docs, "What is promised";
    source: docs, "Fieldwork".

    Examples
    --------
    >>> from ldpopt import Mechanism, Survey
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> address = "https://collect.example.org/reports"
    >>> text = page(Survey({"smokes": coin}), to=address)
    >>> text == page(Survey({"smokes": coin}), to=address), "at most 3 times" in text
    (True, True)
    """
    require_kind(survey, Survey, "page()")
    if not isinstance(to, (str, type(None))):
        raise StatementError(
            f"to = {short_repr(to)} is not text",
            code="text",
            do="pass the address of a collector, or None",
        )
    form = survey.form()
    stated = survey.words
    to = stated.to if to is None else to
    language = stated.language if language is None else language
    words = read_words(language, survey)
    questions = [_question(name, asked, survey, words) for name, asked in form["questions"].items()]
    script = _script(form)
    digest = form_digest(form)
    keys = ("name", "text", "answers", "ticks")
    shown = [
        {key: question[key] for key in keys if key != "ticks" or question[key]}
        for question in questions
    ]
    data = {"form": form, "digest": digest, "wording": stated.digest, "bytes": message_bytes(form)}
    data |= {"to": to, "invited": truth(invited, "invited")}
    data |= {"shared": stated.shared, "shown": shown}
    data["parts"] = shown if survey.joint is None else [_joint_part(survey, shown, words)]
    data["words"] = {key: words[key] for key in sorted(set(USED_BY_SCRIPT.findall(script)))}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return filled(
        HERE,
        **_frame(survey, digest, language, words, f"script-src '{_hash(script)}'", _source(to)),
        script=script,
        data=text,
        to=to,
        until=fill(words["until"], date=stated.until) if stated.until else "",
        promise=_promise(survey, words),
        questions=questions,
        consent=stated.first.consent,
    )


def closed_page(survey: Survey, language: str | None = None) -> str:
    """The page after the last day: without questions, and without a script."""
    language = survey.words.language if language is None else language
    words = read_words(language, survey)
    frame = _frame(survey, form_digest(survey.form()), language, words, "script-src 'none'")
    return filled(HERE, "closed", **frame)


def _frame(
    survey: Survey, digest: str, language: str, words: Words, scripts: str, connect: str = "'none'"
) -> dict[str, Any]:
    """What every page has: head, policy, and the fingerprints."""
    style = (HERE / "page.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; {scripts}; style-src '{_hash(style)}'; img-src data:; "
        f"connect-src {connect}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    return {
        "words": SimpleNamespace(**words),  # a word may have the name of a method of dict
        "policy": policy,
        "style": style,
        "language": language,
        "title": survey.title or words["untitled"],
        "digest": digest,
        "wording": survey.words_digest,
        "contact": survey.words.first.contact,
    }


def _script(form: dict[str, Any]) -> str:
    """All modules as one, since a page cannot import a part of itself."""
    parts = [draw_module(form)]
    parts += [(HERE / name).read_text(encoding="utf-8") for name in ("outbox.js", "page.js")]
    body = re.sub(r"^export ", "", "\n".join(parts), flags=re.MULTILINE)
    return f'"use strict";\n(() => {{\n{body}}})();\n'


def draw_module(form: dict[str, Any]) -> str:
    """Return the module that draws the reports of a form in other pages: ``draw.js``, with
    ``joint.js`` for patterns.
    """
    module = (HERE / "draw.js").read_text(encoding="utf-8")
    if any("patterns" in column for column in form["columns"].values()):
        joint = (HERE / "joint.js").read_text(encoding="utf-8")
        module += re.sub(r"^import .*\n", "", joint, flags=re.MULTILINE)
    return module


def read_words(language: str, survey: Survey) -> Words:
    """Return the words of a language, with those of the survey if it is in this language."""
    require_text(language, "language")
    names = (language, language.split("-")[0])
    known = next((name for name in names if name in LANGUAGES), None)
    reference = _words_file("en")
    words = {} if known is None else _words_file(known)
    stated = survey.words.in_language(language).words
    for key, text in stated.items():
        _require_word(key, text, reference)
    words |= stated
    if missing := [key for key in reference if key not in words]:
        raise StatementError(
            f"the page has no language {short_repr(language)}: {len(missing)} words are "
            f"missing, as {missing[0]!r}",
            code="language",
            do=f"use {', '.join(LANGUAGES)}, or give all words in [form.words]",
        )
    return words


def _require_word(key: str, text: str, reference: Words) -> None:
    """Refuse a word that the page does not have, or without the places for its numbers."""
    if key not in reference:
        raise StatementError(
            f"the page has no word {key!r}",
            code="word",
            where="form.words",
            do=nearest(key, reference),
        )
    places = PLACE.findall(reference[key])
    if set(PLACE.findall(text)) != set(places):
        shown = " ".join(f"{{{place}}}" for place in places) or "no places in braces"
        raise StatementError(
            f"the word {key!r} lacks a place for a number, or has another",
            code="place",
            where="form.words",
            do=f"use {shown}",
        )


def _words_file(language: str) -> Words:
    return tomllib.loads((HERE / "words" / f"{language}.toml").read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    """A text's hash as a content security policy has it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _source(to: str) -> str:
    """Where the page may connect to, as a content security policy has it."""
    if not to:
        return "'none'"
    if WEB_ADDRESS.fullmatch(to):
        parts = urlsplit(to)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"
    first = to.split("/")[0]
    # "collect.example.org/reports" is a path to a browser, and no report would ever arrive
    if HOST.fullmatch(first) and WEB_ADDRESS.fullmatch(f"https://{to}"):
        raise StatementError(
            f"{short_repr(to)} is a path on the server of the page, not the address of {first}",
            code="address-scheme",
            do=f"give https://{to}, or ./{to} if it is a path",
        )
    if PATH.fullmatch(to):
        return "'self'"
    raise StatementError(
        f"{short_repr(to)} is not an address that reports can be sent to",
        code="address",
        do='give one such as "https://collect.example.org/reports", or a path such as "reports"',
    )


def _question(name: str, asked: dict[str, Any], survey: Survey, words: Words) -> dict[str, Any]:
    """What the template and the script show of a question."""
    stated = survey.words.first.questions.get(name)
    ticks = getattr(survey.questions[name], "ticks", ())
    stated_texts = {} if stated is None else stated.answers
    decline = asked["missing_answer"]
    texts = {decline: words["no_answer"]} | ({NONE: words["none"]} if ticks else {})
    texts |= stated_texts
    answers = [texts.get(text, text) for text in asked["answers"]]
    hint = words["may_decline"] if decline is not None else ""
    if asked["missing"] == "leave_out":
        hint = words["may_leave_out"]
    if ticks:
        answers = [
            " + ".join(texts.get(tick, tick) for tick in text.split(SEPARATOR))
            for text in asked["answers"]
        ]
        choices: list[tuple[Any, str]] = [
            (tick, texts.get(tick, tick)) for tick in ticks if tick != decline
        ]
        choices += [(tick, texts[tick]) for tick in (NONE, decline) if tick is not None]
        hint = " ".join(filter(None, (words["several"], hint)))
    else:
        choices = list(enumerate(answers))
        # no answer comes last
        choices.sort(key=lambda choice: asked["answers"][choice[0]] == decline)
        choices += [("", words["leave_out"])] if asked["missing"] == "leave_out" else []
    return {
        "name": name,
        "text": _question_text(survey, name),
        "answers": answers,
        "choices": choices,
        "ticks": list(ticks),
        "is_menu": not ticks and len(choices) > MAX_BUTTONS,
        "hint": hint,
    }


def _joint_part(survey: Survey, shown: list[dict[str, Any]], words: Words) -> dict[str, Any]:
    """What the script shows of a joint report: the answers that the report names, or the rows of
    its channel.
    """
    part = {"name": JOINT, "text": words["together"]}
    drawn = survey.asked[JOINT].randomizer
    if isinstance(drawn, YesNoPatterns):
        named = [
            f"{question['text']} {answer}" for question in shown for answer in question["answers"]
        ]
        return part | {"answers": named, "agreement": int((1 + drawn.pattern.bias) / 2 * 2**53)}
    combinations = product(*(question["answers"] for question in shown))
    return part | {"answers": [" + ".join(row) for row in combinations]}


def _promise(survey: Survey, words: Words) -> list[str]:
    """The sentences that are true of the survey, with numbers from the exact odds."""
    wave = survey.words.wave
    facts = PromiseFacts(survey, survey.words.waves or wave)
    total = bound_text(facts.total, words)
    in_all = bound_text(facts.total**facts.waves, words)
    said: list[tuple[Topic, dict[str, Any]]] = [
        (RANDOM, {}),
        (SCHEME, {"count": facts.count}),
        (BOUND, {"odds": bound_text(facts.odds, words), "total": total}),
        (WAVES, {"wave": wave, "waves": facts.waves, "total": in_all}),
    ]
    # a joint report shows only that one of them was left out
    shown = survey.unprotected if survey.joint is None else survey.unprotected[:1]
    said += [(UNANSWERED, {"question": _question_text(survey, name)}) for name in shown]
    said += [(ESTIMATES, {})]
    return [fill(words[key], **numbers) for topic, numbers in said if (key := topic.say(facts))]


def _question_text(survey: Survey, name: str) -> str:
    """The question as it is asked; without words for it, its name."""
    stated = survey.words.first.questions.get(name)
    return (stated.text if stated else "") or name


def fill(text: str, **values: object) -> str:
    """Replace the places of a text, such as ``{odds}``; other braces stay."""
    return PLACE.sub(lambda place: str(values[place[1]]), text)


def bound_text(ratio: Fraction, words: Words) -> str:
    """A number of three digits that is not below the ratio, as the language writes numbers."""
    return at_most_text(ratio, words["thousands"], words["decimal"])
