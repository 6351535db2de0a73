"""What a question of a survey file has of its own in place of labels and a budget: a mechanism's
file, a technique, several mechanisms with a column; and behaviors beside any of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.estimation.behaviors import UNIFORM
from ldpopt.estimation.inversion import why_not_estimable
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.edges import read_edges
from ldpopt.foundation.labels import text_of
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.modelfile.page import Key, Page
from ldpopt.surveys.files import read_source
from ldpopt.surveys.technique import Technique
from ldpopt.tables.coding import DECIMAL

if TYPE_CHECKING:
    from ldpopt.surveys.sections import QuestionSection

OWN = ("mechanism", "technique", "mechanisms")  # keys that state what draws the reports
ORDERED = (None, "frequencies", "prefix")  # workloads from which quantiles follow


def own_source(page: Page, name: str, question: QuestionSection) -> Any:
    """What a question names itself to draw its reports; None if it is to be found."""
    key = ("question", name)
    if question.mechanism is not None:
        source = read_own(page, (*key, "mechanism"), question.mechanism)
    elif question.technique is not None:
        with page.at(*key, "technique"):
            source = Technique.read(question.technique).mechanism()
    elif question.mechanisms is not None:
        laws = {
            _name(text): listed(page, (*key, "mechanisms", text), read_own(page, place, path))
            for text, path in question.mechanisms.items()
            for place in [(*key, "mechanisms", text)]
        }
        with page.at(*key, "mechanisms"):
            model = ReportModel(laws, column=question.channel, assigned=question.assigned)
        return with_behaviors(page, key, model, question.behaviors)
    else:
        return None
    return with_behaviors(page, key, source, question.behaviors)


def read_own(page: Page, key: Key, path: str) -> Any:
    """Read a mechanism or design; its path is relative to the folder of the survey."""
    try:
        return read_source(Path(page.path).parent / path)
    except LdpoptError as error:
        raise page.error(key, f"{path}: {error.what}", error.do, code="file") from None


def listed(page: Page, key: Key, source: Any) -> Mechanism:
    """The mechanism of a source; sets that are drawn by a formula are none."""
    law = source if isinstance(source, Mechanism) else getattr(source, "mechanism", None)
    if not isinstance(law, Mechanism):
        raise page.error(
            key,
            "its reports are sets that are drawn by a formula, and a model needs the probability "
            "of each report",
            "give a mechanism, or ask fewer answers",
            code="unlisted",
        )
    return law


def with_behaviors(page: Page, key: Key, source: Any, behaviors: Mapping[str, Any] | None) -> Any:
    """A source with the behaviors of people who do not follow the rule."""
    if not behaviors:
        return source
    laws: Any = None
    if isinstance(source, ReportModel):
        laws = {part.name: part.mechanism for part in source.parts}
    law: Any = listed(page, (*key, "behaviors"), source) if laws is None else None
    reports = {text_of(y): y for each in (laws or {None: law}).values() for y in each.outputs}
    rows = {name: _row(row, reports) for name, row in behaviors.items()}
    with page.at(*key, "behaviors"):
        if laws is None:
            return ReportModel(law, behaviors=rows)
        return ReportModel(laws, column=source.column, behaviors=rows, assigned=source.assigned)


def _row(row: Any, reports: Mapping[str, Hashable]) -> Any:
    """A behavior with the labels of the reports, whose names are texts in a file."""
    if isinstance(row, dict):
        return {reports.get(key, key): share for key, share in row.items()}
    if isinstance(row, list) or row == UNIFORM:
        return row
    return reports.get(text_of(row), row)


def _name(text: str) -> Hashable:
    """The name of a mechanism: a number if it reads as one, as the column of a table."""
    if not DECIMAL.fullmatch(text):
        return text
    number = float(text)
    return int(number) if number.is_integer() else number


def require_fitting_own(page: Page, name: str, question: QuestionSection) -> None:
    """Refuse keys that need each other and are alone, or of which one is enough."""
    key = ("question", name)
    _require_mechanisms_possible(page, key, question)
    if question.behaviors is not None:
        _require_behaviors_possible(page, key, question)
    if question.edges is not None:
        _require_edges_possible(page, key, question)


def _require_mechanisms_possible(page: Page, key: Key, question: QuestionSection) -> None:
    """Refuse two sources, and several mechanisms without a column that names them."""
    stated = [each for each in OWN if getattr(question, each) is not None]
    if len(stated) > 1:
        raise page.error(
            (*key, stated[1]),
            f"a question has {stated[0]} or {stated[1]}, not both",
            "remove one",
            code="two-sources",
        )
    if question.mechanisms is not None and question.channel is None:
        raise page.error(
            (*key, "channel"),
            "the key channel is missing: nothing says which mechanism a person has",
            'name a column of the table, such as channel = "half"',
            code="channel",
        )
    for other, is_stated in (("channel", question.channel), ("assigned", not question.assigned)):
        if is_stated and question.mechanisms is None:
            raise page.error(
                (*key, other),
                f"{other} has no effect without several mechanisms",
                'remove it, or give mechanisms = { a = "a.json", b = "b.json" }',
                code="no-effect",
            )
    if question.mechanisms is not None and len(question.mechanisms) < 2:
        raise page.error(
            (*key, "mechanisms"),
            f"there are {len(question.mechanisms)} mechanisms",
            'give two or more, or one by mechanism = "FILE"',
            code="mechanism-count",
        )


def _require_behaviors_possible(page: Page, key: Key, question: QuestionSection) -> None:
    """Refuse behaviors beside numbers that are not shares of answers, and none."""
    reason = ""
    if not question.behaviors:
        reason = "there are no behaviors"
    elif question.ticks is not None:
        reason = "sets of ticks have no behaviors"
    elif question.workload not in (None, "frequencies"):
        reason = f"behaviors are beside the shares of answers, not {question.workload}"
    if reason:
        do = 'write { cheater = "no" }; with labels, without ticks and workload; or remove the key'
        raise page.error((*key, "behaviors"), reason, do, code="impossible-behavior")


def _require_edges_possible(page: Page, key: Key, question: QuestionSection) -> None:
    """Refuse edges of answers without an order, or of another number of answers."""
    reason = ""
    if question.ticks is not None:
        reason = "ticks have no order, and no edges"
    elif question.workload not in ORDERED:
        reason = f"no quantile follows from the workload {question.workload}"
    if reason:
        do = 'ask for frequencies, or workload = "prefix"; or remove the edges'
        raise page.error((*key, "edges"), reason, do, code="edges-workload")
    if question.labels is not None or isinstance(question.prior, dict):
        with page.at(*key, "edges"):
            missing = question.missing_answer
            read_edges(question.edges, len([x for x in question.inputs if x != missing]))


def why_not_shown(source: Mechanism | ReportModel) -> str:
    """Why the reports of a mechanism or model do not show the shares; empty if they do."""
    if isinstance(source, Mechanism):
        return why_not_estimable(source)
    try:
        _ = source.left_inverse
    except StatementError as error:
        return f"the shares cannot be estimated: {error.what}; {error.do}"
    return ""
