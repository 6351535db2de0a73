"""Files of surveys in JSON: the scheme, and the mechanism or design of each question."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ldpopt.certificate.design_certificate import certificate_from_dict, is_design
from ldpopt.certificate.documents import digest_of, flaws_of
from ldpopt.designing.record import Design, FormulaDesign, ProvedDesign
from ldpopt.designing.saved import AnyDesign, load_design
from ldpopt.errors import ModelFileError
from ldpopt.estimation.chosen import ChosenSource
from ldpopt.estimation.report_model import ReportModel
from ldpopt.estimation.sample import Sample
from ldpopt.foundation.documents import UNCHANGED, Entry, plain_labels, reading_json
from ldpopt.foundation.files import FilePath, replacing, strict_object
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.files import finite_or_none, made_by, require_digest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.problem.workload import Workload
from ldpopt.surveys.joint import JOINT, JointQuestion, read_joint, same_workload
from ldpopt.surveys.model_files import (
    choices_to_dict,
    model_to_dict,
    more_to_dict,
    read_edges_of,
    read_labels_of_choices,
    read_mechanism,
    read_model,
    read_sources_of_choices,
)
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.numbers import NumberQuestion, Numbers
from ldpopt.surveys.questionnaire import Kind, Questionnaire
from ldpopt.surveys.repeat import RepeatedQuestion, repeated
from ldpopt.surveys.technique import Technique
from ldpopt.surveys.ticks import TicksQuestion, tick_labels, tick_workload
from ldpopt.surveys.tree_files import (
    CONDITION,
    TOGETHER,
    condition_to_dict,
    questions_of_trees,
    read_condition,
    read_stated_pairs,
    read_trees,
    together_to_dict,
)

FORMAT = "ldpopt survey 1"
KEYS = (
    "format",
    "title",
    "made_by",
    "scheme",
    "epsilon",
    "stated_epsilon",
    "weights",
    "order",
    "questions",
    "digest",
)
OPTIONAL = ("words", "sample", "fields", "choices", *TOGETHER)
SAMPLE = ("strata", "clusters", "population", "margins")  # keys of a sample, beside the weights
TICKS = ("ticks", "columns")  # keys of a question with several ticks
MORE = ("edges", "technique", "number", "repeat")  # keys that some questions have
MAX_FILE_BYTES = 2**30


def write_survey_file(survey: Questionnaire, path: FilePath) -> None:
    """Write a survey; see `Survey.save`."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "title": survey.title,
        "made_by": made_by(),
        "scheme": survey.scheme,
        "epsilon": finite_or_none(survey.epsilon),
        "stated_epsilon": None if survey.limit is None else survey.limit.exact_text,
        "weights": survey.weights,
    }
    if sample := survey.sample.to_dict():
        data["sample"] = sample
    if survey.fields:
        data["fields"] = {name: list(values) for name, values in survey.fields.items()}
    words = survey.words.to_dict()
    if words:
        data["words"] = words
    if survey.choices:
        data["choices"] = plain_labels(survey.choices)
    if survey.joint is not None:
        data["joint"] = survey.joint.certificate.to_dict()
    data |= together_to_dict(survey)
    # keys of an object have no order in JSON, but a joint report has one, of places
    data["order"] = list(survey.questions)
    data["questions"] = {
        name: _question_to_dict(question) for name, question in survey.questions.items()
    }
    data["digest"] = digest_of(data)
    with replacing(path) as stream:
        stream.write(json.dumps(data, indent=1) + "\n")


def read_survey_file(path: FilePath, kind: type[Kind]) -> Kind:
    """Read a survey of a kind; see `Survey.load`.

    Every key is read, or refused by its name. What the file says twice is compared: the budget, the
    digest of each mechanism, and the answers of a joint report or of ticks.
    """
    do = "write one with `ldpopt survey solve SURVEY.toml -o FILE`"
    with reading_json(path, "a survey", do):
        name = os.fspath(path)
        data = strict_object(path, MAX_FILE_BYTES)
        if data.get("format") != FORMAT:
            raise ValueError(f"the format is {short_repr(data.get('format'))}, not {FORMAT!r}")
        _require_digest(data, name)
        is_joint = data.get("scheme") == "joint"
        optional = [
            key for key in ("words", "sample", "fields", "choices", *TOGETHER) if key in data
        ]
        table = Entry(data, name).table(*KEYS, *optional, *(["joint"] if is_joint else []))
        table["made_by"].text()
        order = [entry.text() for entry in table["order"].list()]
        parts = table["questions"].parts()
        if sorted(order) != sorted(parts):
            raise table["order"].error("it does not name every question once", code="order")
        pairs = read_stated_pairs(table, order)
        trees = questions_of_trees(table, order)
        together = {each for names in trees.values() for each in names}
        questions: Any = {
            key: _read_question(parts[key], is_part=is_joint or key in together) for key in order
        }
        if is_joint:
            source = read_joint(data["joint"], questions, f"{name}: joint", pairs)
            questions = JointQuestion.of(questions, source, pairs)
        else:
            questions = read_trees(table, questions, trees, pairs)
        survey = kind(
            questions,
            epsilon=data["stated_epsilon"],
            scheme=data["scheme"],
            title=table["title"].text(),
            weights=data["weights"],
            sample=_read_sample(table["sample"]) if "sample" in data else None,
            words=data.get("words"),
            pairs=pairs,
            fields=data.get("fields"),
            choices=read_labels_of_choices(table),
        )
        if data["epsilon"] != finite_or_none(survey.epsilon):
            raise table["epsilon"].error(f"the reports have epsilon {survey.epsilon:.9g}")
        if survey.joint is not None:
            _require_budget(survey, table["stated_epsilon"])
        return survey


def _require_digest(data: dict[str, Any], name: str) -> None:
    """Refuse a file that was changed after it was written, or that cannot show that it was not."""
    do = "write it again: `ldpopt survey solve SURVEY.toml -o survey.json`"
    if "digest" not in data:
        problem = "the survey has no digest, which shows that nothing in it was changed"
        raise ModelFileError(problem, code="no-digest", where=name, do=do)
    if flaws := flaws_of(Entry(data, name)):
        raise ModelFileError(flaws[0], code="changed-file", where=name, do=do)


def _require_budget(survey: Questionnaire, stated: Entry) -> None:
    """Refuse a joint report for another budget than that of the survey."""
    certificate: Any = survey.certificates[JOINT]
    budget = getattr(certificate, "epsilon", None) or certificate.privacy.epsilon
    if survey.limit is None or budget.enclosure() != survey.limit.enclosure():
        raise stated.error(f"the joint report is for epsilon = {budget!r}")


def _read_sample(entry: Entry) -> Sample:
    """Read how people are drawn."""
    keys = [key for key in SAMPLE if key in entry.parts()]
    table = entry.table(*keys)
    return Sample(**{key: table[key].value for key in keys})


def read_source(path: FilePath) -> Mechanism | AnyDesign:
    """Read a file that has a mechanism or a design."""
    return load_design(path) if is_design(path) else Mechanism.load(path)


def _question_to_dict(question: Question) -> dict[str, Any]:
    """A question as JSON data: treatment of missing answers, digest, and mechanism or design."""
    answer = None if question.missing_answer is None else plain_labels([question.missing_answer])[0]
    source = question.source
    data: dict[str, Any] = {"missing": question.missing, "missing_answer": answer}
    data |= more_to_dict(question) | condition_to_dict(question)
    if isinstance(question, NumberQuestion):
        data["number"] = question.number.to_dict()
    if isinstance(question, RepeatedQuestion):
        data |= question.form | {"repeat": True}
    if isinstance(question, TicksQuestion):
        data |= {"ticks": list(question.ticks), "columns": list(question.columns)}
    if isinstance(source, Workload):
        answers = {"inputs": plain_labels(source.inputs), "names": plain_labels(source.names)}
        return data | {
            "answers": {**answers, "rows": None if source.unit == 1 else source.matrix.tolist()}
        }
    if isinstance(source, ReportModel):
        return data | {"model": model_to_dict(source)}
    if isinstance(source, ChosenSource):
        return data | {"choices": choices_to_dict(source)}
    randomizer: Any = question.randomizer
    data["digest"] = randomizer.digest
    if isinstance(source, FormulaDesign):
        return data | {"sets": source.certificate.to_dict()}
    if isinstance(source, Design):
        return data | {"design": source.certificate.to_dict()}
    return data | {"mechanism": randomizer.to_dict()}


def _read_question(entry: Entry, *, is_part: bool) -> Question:
    """Read what `_question_to_dict` returned; the parts of a joint report have answers alone."""
    stated = entry.parts()
    known = ("answers",) if is_part else ("sets", "design", "model", "choices", "mechanism")
    source = next((key for key in known if key in stated), known[-1])
    ticks = [key for key in TICKS if any(key in stated for key in TICKS)]
    digest = () if is_part or source in ("model", "choices") else ("digest",)
    keys = (*(("edges", "number") if is_part else MORE), *CONDITION)
    more = [key for key in keys if key in stated]
    table = entry.table("missing", "missing_answer", *ticks, *digest, *more, source)
    instead = _read_label(table["missing_answer"])
    missing: Any = table["missing"].text("refuse", "leave_out")
    drawn = _read_source(table[source])
    fields = _read_fields(table)
    if ticks and ("technique" in more or source == "model"):
        raise table["ticks"].error("a technique or a model has no ticks", code="ticks-of-model")
    numbers = _read_number(table["number"], source, ticks + more) if "number" in more else None
    if "technique" in more or source == "model":
        technique = _read_technique(table["technique"], drawn) if "technique" in more else None
        question: Question = ModelQuestion(drawn, missing, instead, technique=technique, **fields)
    elif numbers is not None:
        question = NumberQuestion(drawn, missing, instead, number=numbers, **fields)
    elif not ticks:
        question = Question(drawn, missing, instead, **fields)
    else:
        names, columns = (tuple(part.text() for part in table[key].list()) for key in TICKS)
        question = TicksQuestion(drawn, missing, instead, names, columns, **fields)
        workload = getattr(drawn, "workload", drawn)
        if not is_part and not same_workload(workload, tick_workload(names)):
            raise table["ticks"].error("the design is of other ticks")
        if is_part and tuple(workload.inputs) != tick_labels(names):
            raise table["ticks"].error("the answers are not the sets of these ticks")
    if question.repeat:
        question = repeated(question)
    if digest:
        require_digest(table["digest"].text(), question.randomizer.digest, entry.path)
    return question


def _read_fields(table: Mapping[str, Entry]) -> dict[str, Any]:
    """Read those of the keys that a question of any kind can have."""
    fields = read_condition(table)
    fields["edges"] = read_edges_of(table["edges"]) if "edges" in table else None
    fields["repeat"] = "repeat" in table
    if fields["repeat"] and table["repeat"].value is not True:
        raise table["repeat"].error("it should be true, or not be there", code="truth-value")
    return fields


def _read_label(entry: Entry) -> Any:
    """Read a label, or None."""
    value = entry.value
    return None if value is None else Entry([value], entry.path, entry.key).labels()[0]


def _read_number(entry: Entry, source: str, keys: Sequence[str]) -> Numbers:
    """Read the numbers of a question, which has nothing else that says what its answers are."""
    if source == "model" or {"technique", *TICKS} & set(keys):
        raise entry.error(
            "ticks, a technique or a model are about no number", code="number-of-model"
        )
    return Numbers.read(entry.value)


def _read_technique(entry: Entry, source: Any) -> Technique:
    """Read the technique of a question, which must be that of its mechanism."""
    technique = Technique.read(entry.value)
    law = source.mechanism if isinstance(source, ReportModel) else source
    if not isinstance(law, Mechanism) or technique.mechanism().digest != law.digest:
        raise entry.error("the mechanism is not that of this technique", code="technique")
    return technique


def _read_source(entry: Entry) -> Any:
    """Read a mechanism, a design, or the answers of a part of a joint report."""
    kind = entry.key.rpartition(".")[2]
    if kind == "choices":
        return read_sources_of_choices(entry, _read_source)
    if kind in ("mechanism", "model"):
        return read_mechanism(entry) if kind == "mechanism" else read_model(entry)
    if kind == "answers":
        table = entry.table("inputs", "names", "rows")
        inputs = table["inputs"].labels()
        names = table["names"].labels()
        if table["rows"].value is not None:
            return Workload(table["rows"].value, inputs, names)
        if names != inputs:
            raise table["names"].error("these are not the answers, whose shares are estimated")
        return Workload.frequencies(inputs)
    claim = certificate_from_dict(entry.value, f"{entry.path}: {entry.key}")
    design = ProvedDesign.of(claim)
    if claim.flaws:
        raise ModelFileError(claim.flaws[0], code="changed-file", where=entry.path, do=UNCHANGED)
    if isinstance(design, FormulaDesign) != (kind == "sets"):
        raise entry.error(
            "a design with a list of reports is no design of sets, nor is one of sets"
        )
    return design
