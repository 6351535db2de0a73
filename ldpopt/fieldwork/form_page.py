"""The page for respondents: one file of HTML that asks, draws the reports with the audited masses,
and sends them.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from ldpopt.errors import StatementError
from ldpopt.fieldwork.frame_words import Words
from ldpopt.fieldwork.messages import message_bytes
from ldpopt.fieldwork.page_data import page_questions, page_texts
from ldpopt.foundation.display import filled
from ldpopt.foundation.numbers import require_kind, short_repr, truth
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.surveys.form import form_digest
from ldpopt.surveys.survey import Survey

HERE = Path(__file__).parent
SCRIPTS = ("outbox.js", "answers.js", "ask.js", "receipt.js", "page.js")
COMMENT = re.compile(r"^ */\*\*[\s\S]*?\*/\n|^ *//.*\n|  // .*$|^\n", re.MULTILINE)
USED_BY_SCRIPT = re.compile(r"\bwords(?:\(\))?\.(\w+)")
USED_BY_TEMPLATE = re.compile(r"data-word=\"(\w+)\"")
# Where reports are sent: a page of the web, or a path on the server of this page
WEB_ADDRESS = re.compile(
    r"https?://[\w.-]+(:\d{1,5})?(/[\w.~!$&*+=:@%/-]*)?(\?[\w.~!$&*+=:@%/?-]*)?", re.ASCII
)
PATH = re.compile(r"/?[\w.~-]+(/[\w.~-]+)*", re.ASCII)
# What stands before the first slash of an address without https://; "." and ".." are folders
HOST = re.compile(r"localhost|(?=.*\w).*[.:].*", re.ASCII | re.IGNORECASE)


def page(
    survey: Survey,
    to: str | None = None,
    language: str | None = None,
    *,
    invited: bool = False,
) -> str:
    r"""Return the page for respondents as HTML: it draws the reports on the device where the
    answers are given.

    The page shows, rounded up, how often a guess with the probability :math:`p` is right at most
    after a report, and after all reports of a person,

    .. math:: \frac{a p}{1 - p + a p}, \qquad a = \max_i e^{\epsilon_i}, \quad
        a = \prod_i e^{\epsilon_i} .

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
        The only language of the page: ``"en"``, ``"de"``, ``"fr"``, or one that the survey has all
        words for. Default: all languages of the survey's words; readers change between them, and
        begin with one that their browser asks for.
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
    connections to ``to`` only. About 55 KB, the masses, and 10 KB a further language. Threats:
    docs, "What is promised"; source: docs, "Fieldwork".

    Examples
    --------
    >>> from ldpopt import Mechanism, Survey
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> address = "https://collect.example.org/reports"
    >>> text = page(Survey({"smokes": coin}), to=address)
    >>> text == page(Survey({"smokes": coin}), to=address), "at most 75 of 100" in text
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
    languages = page_texts(survey, language)
    first = next(iter(languages))
    script = _script(form)
    policy = f"script-src '{_hash(script)}'"
    data = {
        "form": form,
        "digest": form_digest(form),
        "wording": stated.digest,
        "bytes": message_bytes(form),
        "to": to,
        "invited": truth(invited, "invited"),
        "shared": stated.shared,
        "questions": page_questions(survey),
        "agreement": _agreement(survey),
        "languages": _for_script(languages, script),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    words, texts = languages[first]
    return filled(
        HERE,
        **_frame(survey, first, words, texts, policy, _source(to)),
        **{key: texts[key] for key in ("until", "promise", "consent", "retention")},
        script=script,
        data=text,
        to=to,
        choices=survey.choices,
    )


def _for_script(
    languages: Mapping[str, tuple[Words, dict[str, Any]]], script: str
) -> dict[str, dict[str, Any]]:
    """What the script needs of each language: all of it, if readers can change to another one."""
    used = set(USED_BY_SCRIPT.findall(script))
    written = {"title", "consent", "contact", "retention", "until", "promise"}
    if len(languages) > 1:
        template = (HERE / "page.html.j2").read_text(encoding="utf-8")
        used |= set(USED_BY_TEMPLATE.findall(template))
        written = set()
    return {
        code: {
            "words": {key: words[key] for key in sorted(used)},
            "texts": {key: text for key, text in texts.items() if text and key not in written},
        }
        for code, (words, texts) in languages.items()
    }


def _agreement(survey: Survey) -> int:
    """The probability that an answer in a joint pattern is true, in units of ``2**-53``."""
    drawn = None if survey.joint is None else survey.joint.randomizer
    return int((1 + drawn.pattern.bias) / 2 * 2**53) if isinstance(drawn, YesNoPatterns) else 0


def closed_page(survey: Survey, language: str | None = None) -> str:
    """The page after the last day, in all languages: without questions, and without a script."""
    languages = page_texts(survey, language)
    first = next(iter(languages))
    ended = {code: (words["direction"], words["ended"]) for code, (words, _) in languages.items()}
    frame = _frame(survey, first, *languages[first], "script-src 'none'")
    return filled(HERE, "closed", ended=ended, **frame)


def _frame(
    survey: Survey,
    language: str,
    words: Words,
    texts: dict[str, Any],
    scripts: str,
    connect: str = "'none'",
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
        "title": texts["title"],
        "digest": form_digest(survey.form()),
        "wording": survey.words_digest,
        "contact": texts["contact"],
    }


def _script(form: dict[str, Any]) -> str:
    """All modules as one, since a page cannot import a part of itself; without comments, which are
    in the files.
    """
    parts = [draw_module(form)]
    parts += [(HERE / name).read_text(encoding="utf-8") for name in SCRIPTS]
    body = re.sub(r"^export ", "", COMMENT.sub("", "\n".join(parts)), flags=re.MULTILINE)
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
