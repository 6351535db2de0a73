"""Files of surveys in JSON: the scheme, and the mechanism or design of each question."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from ldpopt.certificate.design_certificate import certificate_from_dict, is_design
from ldpopt.designing.design import AnyDesign, load_design
from ldpopt.designing.record import Design, FormulaDesign, ProvedDesign
from ldpopt.foundation.documents import plain_labels, reading_json
from ldpopt.foundation.files import FilePath, replacing, strict_object
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.files import finite_or_none, labels_of, made_by, require_digest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.problem.workload import Workload
from ldpopt.surveys.joint import JointQuestion, read_joint
from ldpopt.surveys.questionnaire import Kind, Questionnaire
from ldpopt.surveys.ticks import TicksQuestion

FORMAT = "ldpopt survey 1"
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
    words = survey.words.to_dict()
    if words:
        data["words"] = words
    if survey.joint is not None:
        data["joint"] = survey.joint.certificate.to_dict()
    data["questions"] = {
        name: _question_to_dict(question) for name, question in survey.questions.items()
    }
    with replacing(path) as stream:
        stream.write(json.dumps(data, indent=1) + "\n")


def read_survey_file(path: FilePath, kind: type[Kind]) -> Kind:
    """Read a survey of a kind; see `Survey.load`."""
    do = "write one with `ldpopt survey solve SURVEY.toml -o FILE`"
    with reading_json(path, "a survey", do):
        name = os.fspath(path)
        data = strict_object(path, MAX_FILE_BYTES)
        if data.get("format") != FORMAT:
            raise ValueError(f"the format is {short_repr(data.get('format'))}, not {FORMAT!r}")
        questions: Any = {
            key: _question_from_dict(entry, f"{name}: {key}")
            for key, entry in data["questions"].items()
        }
        options = {key: data[key] for key in ("scheme", "title", "weights")} | {
            "words": data.get("words")
        }
        if data["scheme"] == "joint":
            questions = JointQuestion.of(
                questions, read_joint(data["joint"], questions, f"{name}: joint")
            )
        return kind(questions, epsilon=data["stated_epsilon"], **options)


def read_source(path: FilePath) -> Mechanism | AnyDesign:
    """Read a file that has a mechanism or a design."""
    return load_design(path) if is_design(path) else Mechanism.load(path)


def _question_to_dict(question: Question) -> dict[str, Any]:
    """A question as JSON data: treatment of missing answers, digest, and mechanism or design."""
    answer = None if question.missing_answer is None else plain_labels([question.missing_answer])[0]
    source = question.source
    data: dict[str, Any] = {"missing": question.missing, "missing_answer": answer}
    if isinstance(question, TicksQuestion):
        data |= {"ticks": list(question.ticks), "columns": list(question.columns)}
    if isinstance(source, Workload):
        answers = {"inputs": plain_labels(source.inputs), "names": plain_labels(source.names)}
        return data | {
            "answers": {**answers, "rows": None if source.unit == 1 else source.matrix.tolist()}
        }
    randomizer: Any = question.randomizer
    data["digest"] = randomizer.digest
    if isinstance(source, FormulaDesign):
        return data | {"sets": source.certificate.to_dict()}
    if isinstance(source, Design):
        return data | {"design": source.certificate.to_dict()}
    return data | {"mechanism": randomizer.to_dict()}


def _question_from_dict(entry: Any, where: str) -> Question:
    """Read what `_question_to_dict` returned."""
    source: Any
    ticks = {key: tuple(map(str, entry[key])) for key in ("ticks", "columns") if key in entry}
    kind: Callable[..., Question] = TicksQuestion if ticks else Question
    answer = entry["missing_answer"]
    instead = None if answer is None else labels_of([answer])[0]
    if "answers" in entry:
        inputs, names, rows = (entry["answers"][key] for key in ("inputs", "names", "rows"))
        labels = labels_of(inputs)
        workload = (
            Workload.frequencies(labels)
            if rows is None
            else Workload(rows, labels, labels_of(names))
        )
        return kind(workload, entry["missing"], instead, **ticks)
    if "sets" in entry or "design" in entry:
        source = ProvedDesign.of(
            certificate_from_dict(entry.get("sets", entry.get("design")), where)
        )
    else:
        table = entry["mechanism"]
        source = Mechanism(
            table["channel"], labels_of(table["inputs"]), labels_of(table["outputs"])
        )
    question = kind(source, entry["missing"], instead, **ticks)
    require_digest(entry["digest"], question.randomizer.digest, where)
    return question
