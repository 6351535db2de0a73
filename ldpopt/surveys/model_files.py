"""Questions with models, techniques and edges as JSON data, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from math import inf, isinf
from typing import Any

from ldpopt.designing.record import Design
from ldpopt.estimation.behaviors import exact_probability
from ldpopt.estimation.chosen import ChosenSource
from ldpopt.estimation.counts import source_of
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.foundation.labels import plain_label
from ldpopt.mechanism.files import require_digest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.models import ModelQuestion

INFINITE = {"-inf": -inf, "inf": inf}  # JSON has no infinity
MODEL = ("column", "assigned", "mechanisms", "behaviors")


def more_to_dict(question: Question) -> dict[str, Any]:
    """The edges of the classes of a question and its technique, if it has them."""
    data: dict[str, Any] = {}
    if question.edges is not None:
        data["edges"] = [str(edge) if isinf(edge) else edge for edge in question.edges]
    technique = question.technique if isinstance(question, ModelQuestion) else None
    return data if technique is None else data | {"technique": technique.to_dict()}


def read_edges_of(entry: Entry) -> list[float]:
    """Read the edges of classes: numbers, and at the ends perhaps the texts of infinite ones."""
    return [
        INFINITE[part.value] if part.value in ("-inf", "inf") else part.number()
        for part in entry.list()
    ]


def model_to_dict(model: ReportModel) -> dict[str, Any]:
    """A model: each mechanism with its name and digest, and the behaviors as they were stated."""
    mechanisms = [
        {
            "name": None if model.is_one else plain_label(part.name),
            "digest": part.mechanism.digest,
            "mechanism": part.mechanism.to_dict(),
        }
        for part in model.parts
    ]
    behaviors = [
        {"name": name, "gives": _behavior_to_dict(row)} for name, row in model.stated.items()
    ]
    return {
        "column": model.column,
        "assigned": model.assigned,
        "mechanisms": mechanisms,
        "behaviors": behaviors,
    }


def choices_to_dict(source: ChosenSource) -> list[dict[str, Any]]:
    """The mechanism or design of each choice, with its digest."""
    entries = []
    for part in source.parts:
        entry = {"choice": plain_label(part.name), "digest": part.mechanism.digest}
        if isinstance(part.source, Design):
            entry["design"] = part.source.certificate.to_dict()
        else:
            entry["mechanism"] = part.mechanism.to_dict()
        entries.append(entry)
    return entries


def read_labels_of_choices(table: Mapping[str, Entry]) -> list[Any] | None:
    """Read from which budgets each person chooses; None if there is no choice."""
    return list(table["choices"].labels()) if "choices" in table else None


def read_sources_of_choices(entry: Entry, read: Callable[[Entry], Any]) -> ChosenSource:
    """Read them; ``read`` reads what draws the reports of one choice."""
    sources: dict[Hashable, Any] = {}
    parts = entry.list()
    for part in parts:
        kind = "design" if "design" in part.parts() else "mechanism"
        each = part.table("choice", "digest", kind)
        source = source_of(read(each[kind]), entry.key)
        require_digest(each["digest"].text(), source.digest, entry.path)
        name = each["choice"]
        sources[Entry([name.value], name.path, name.key).labels()[0]] = source
    if len(sources) < len(parts) or len(parts) < 2:
        raise entry.error("there are not two different choices or more", code="menu")
    return ChosenSource(sources)


def _behavior_to_dict(row: Any) -> Any:
    """A behavior: a report or "uniform", or probabilities by place or by report."""
    if hasattr(row, "keys"):
        shares = [str(exact_probability(row[report])) for report in row]
        return {"reports": plain_labels(list(row)), "shares": shares}
    if isinstance(row, Iterable) and not isinstance(row, (str, tuple)):
        return {"reports": None, "shares": [str(exact_probability(share)) for share in row]}
    return plain_label(row)


def _read_behavior(entry: Entry) -> Any:
    """Read a behavior."""
    if not isinstance(entry.value, dict):
        return Entry([entry.value], entry.path, entry.key).labels()[0]
    table = entry.table("reports", "shares")
    shares = [share.rational() for share in table["shares"].list()]
    if table["reports"].value is None:
        return shares
    reports = table["reports"].labels()
    if len(set(reports)) < len(reports) or len(reports) != len(shares):
        raise table["reports"].error("there is not one probability for each report")
    return dict(zip(reports, shares, strict=True))


def read_mechanism(entry: Entry) -> Mechanism:
    """Read a mechanism."""
    table = entry.table("inputs", "outputs", "channel")
    return Mechanism(table["channel"].value, table["inputs"].labels(), table["outputs"].labels())


def read_model(entry: Entry) -> ReportModel:
    """Read a model; the digest of each mechanism is compared with it."""
    table = entry.table(*MODEL)
    assigned = table["assigned"].value
    if not isinstance(assigned, bool):
        raise table["assigned"].error("it should be true or false", code="truth-value")
    column = None if table["column"].value is None else table["column"].text()
    laws: dict[Hashable, Mechanism] = {}
    parts = table["mechanisms"].list()
    for part in parts:
        each = part.table("name", "digest", "mechanism")
        law = read_mechanism(each["mechanism"])
        require_digest(each["digest"].text(), law.digest, entry.path)
        name = each["name"]
        key = None if name.value is None else Entry([name.value], name.path, name.key).labels()[0]
        laws[key] = law
    behaviors: dict[str, Any] = {}
    for part in (stated := table["behaviors"].list()):
        named = part.table("name", "gives")
        behaviors[named["name"].text()] = _read_behavior(named["gives"])
    is_one = None in laws
    if (is_one and len(parts) > 1) or len(laws) < len(parts) or len(behaviors) < len(stated):
        raise entry.error("two mechanisms or two behaviors have the same name", code="same-name")
    if is_one and (column is not None or not assigned):
        raise entry.error("one mechanism has no column, and everybody has it", code="one-mechanism")
    return ReportModel(
        laws[None] if is_one else laws, column=column, behaviors=behaviors, assigned=assigned
    )
