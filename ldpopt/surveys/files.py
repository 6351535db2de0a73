"""Surveys as files: one file has the statement, and the mechanism or design of each question."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ldpopt.certificate.design_certificate import certificate_from_dict, is_design
from ldpopt.designing.frequency_design import FrequencyDesign
from ldpopt.designing.record import Design
from ldpopt.designing.saving import design_of, load_design
from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.estimation.counts import source_of
from ldpopt.foundation.files import replacing, strict_json
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.files import labels_of, plain_labels, require_digest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.origins import finite, made_by
from ldpopt.mechanism.privatizing import Rule

if TYPE_CHECKING:
    from ldpopt.surveys.survey import Survey

FORMAT = "ldpopt survey 1"

MAX_FILE_BYTES = 2**30


def save(survey: Survey, path: str | os.PathLike[str]) -> None:
    """Write a survey; see `Survey.save`."""
    data = {
        "format": FORMAT,
        "title": survey.title,
        "made_by": made_by(),
        "scheme": survey.scheme,
        "epsilon": finite(survey.epsilon),
        "stated_epsilon": None if survey.stated is None else survey.stated.text,
        "weights": survey.weights,
        "questions": {name: _question(survey, name) for name in survey.rules},
    }
    with replacing(path) as stream:
        stream.write(json.dumps(data, indent=1) + "\n")


def load(path: str | os.PathLike[str], survey: type[Survey]) -> Survey:
    """Read a survey; see `Survey.load`."""
    name = os.fspath(path)
    try:
        data = strict_json(path, MAX_FILE_BYTES)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            stated = data.get("format") if isinstance(data, dict) else data
            raise ValueError(f"the format is {short_repr(stated)}, not {FORMAT!r}")
        questions = {key: _read(entry, f"{name}: {key}") for key, entry in data["questions"].items()}
        options = {"scheme": data["scheme"], "title": data["title"], "weights": data["weights"]}
        return survey(questions, epsilon=data["stated_epsilon"], **options)
    except OSError as error:
        what = f"cannot read the survey: {error.strerror or error}"
        raise ModelFileError(what, where=name, do="check the path") from None
    except LdpoptError as error:
        raise ModelFileError(error.what, where=error.where or name, do=error.do) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        do = "write one with `ldpopt survey solve SURVEY.toml -o FILE`"
        raise ModelFileError(f"not a survey in JSON: {error}", where=name, do=do) from None


def read_question(path: str | os.PathLike[str]) -> Mechanism | Design | FrequencyDesign:
    """Read the mechanism or design of a question."""
    if is_design(path):
        found: Design | FrequencyDesign = load_design(path)
        return found
    mechanism: Mechanism = Mechanism.load(path)
    return mechanism


def _question(survey: Survey, name: str) -> dict[str, Any]:
    rule, design = survey.rules[name], survey.designs.get(name)
    answer = None if rule.missing_answer is None else plain_labels([rule.missing_answer])[0]
    data: dict[str, Any] = {"missing": rule.missing, "missing_answer": answer, "digest": rule.mechanism.digest}
    if design is not None:
        return data | {"sets" if isinstance(design, FrequencyDesign) else "design": design.certificate.to_dict()}
    mechanism: Any = rule.mechanism
    return data | {"mechanism": mechanism.to_dict()}


def _read(entry: Any, where: str) -> Any:
    """A question with its rule."""
    source: Any
    if "sets" in entry or "design" in entry:
        source = design_of(certificate_from_dict(entry.get("sets", entry.get("design")), where))
    else:
        stated = entry["mechanism"]
        source = Mechanism(stated["channel"], labels_of(stated["inputs"]), labels_of(stated["outputs"]))
    answer = entry["missing_answer"]
    policy = (entry["missing"], None if answer is None else labels_of([answer])[0])
    rule = Rule(source_of(source, where).law, *policy)
    require_digest(entry["digest"], rule.mechanism.digest, where)
    return (source, rule) if not isinstance(source, Mechanism) else rule
