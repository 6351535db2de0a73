"""The command survey form: the page on which respondents draw their reports themselves."""

import hashlib
from typing import Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.options import new_file, option
from ldpopt.cli.printing import refuse, show
from ldpopt.cli.questions import read_any_survey
from ldpopt.foundation.display import Facts
from ldpopt.foundation.files import readable, replacing


def form(
    path: options.QuestionsPath,
    output: Annotated[str | None, new_file("-o --output FILE", "The page, as HTML.")] = None,
    to: Annotated[
        str | None, option("--to URL", "Address for reports, as https://.../reports; '': none.")
    ] = None,
    language: Annotated[
        str | None, option("--language LANG", "en, de, fr, or that of the survey's words.")
    ] = None,
    invited: Annotated[
        bool, option("--invited", "Ask only whoever has a link of `survey invite`.")
    ] = False,
    check: Annotated[
        str | None, option("--check FILE", "Require that FILE is this page, byte by byte.")
    ] = None,
    json: options.Json = None,
    module: Annotated[
        str | None, new_file("--module FILE", "Write the module that draws in other pages.")
    ] = None,
) -> None:
    """Write the page on which respondents draw their reports.

    They do so on their own devices. The page is one file of HTML that can be mailed or put on any
    server. It draws with the masses that were audited, and sends the reports and nothing else. The
    same survey gives the same page.
    """
    from ldpopt.fieldwork.form_page import draw_module, page
    from ldpopt.surveys.form import form_digest
    from ldpopt.surveys.influence import influence_in_words
    from ldpopt.tables.files import require_other_file

    if output is check is json is module is None:
        raise typer.BadParameter("name the page to write with -o")
    for written in (output, json, module):
        require_other_file(path, written or "-")
    survey = read_any_survey(path)
    asked = survey.form()
    facts: list[Any] = [("form", form_digest(asked)), ("words", survey.words_digest)]
    if output is not None or check is not None:
        text = page(survey, to, language, invited=invited).encode()
        facts += [("page", hashlib.sha256(text).hexdigest()), ("bytes", len(text))]
        if check is not None:
            if readable(check).read_bytes() != text:
                do = "write the page again with -o, with the same --to, --language and --invited"
                refuse(f"{check} is not the page of {path}", do)
            facts.append(f"{check}: the same page")
    if output is not None:
        with replacing(output, binary=True) as stream:
            stream.write(text)
        facts.append(f"{output}: open it in a browser")
    if module is not None:
        with replacing(module) as stream:
            stream.write(draw_module(asked))
        facts.append(f"{module}: a module of JavaScript")
    if influence := influence_in_words(survey):
        facts.append(influence)
    data = {"digest": form_digest(asked), "words": survey.words_digest, "form": asked}
    show(Facts("SHA-256", facts), data, json)
