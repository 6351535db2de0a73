"""A file of another kind than a command reads is refused by its name, and the message says what
reads it, or what writes the file that is wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpopt as lo
from builders import refused, run_cli
from ldpopt.foundation.kinds import kind_of
from ldpopt.surveys.export import export_reports

SURVEY = """epsilon = 2.0
[question.smokes]
labels = ["no", "yes"]
[question.drinks]
labels = ["no", "yes"]
"""
MODEL = """[alphabet]
inputs = ["no", "yes"]
[prior]
uniform = true
[utility]
kind = "identity"
[privacy]
kind = "pure"
epsilon = 1.0
"""
NAMES = {
    "s.toml": "a survey in TOML",
    "s.json": "a survey in JSON",
    "m.toml": "a model in TOML",
    "coin.json": "a mechanism",
    "design.json": "a design",
    "proof.json": "a certificate",
    "key.json": "a secret key",
    "counts.json": "counts",
    "answers.csv": "a table",
}
READS = {  # the files that a command reads, and the command
    "m.toml s.toml s.json": ("check", "FILE"),
    "m.toml": ("solve", "FILE"),
    "s.toml": ("survey", "solve", "FILE"),
    "s.toml s.json coin.json design.json": ("audit", "FILE"),
    "s.toml s.json m.toml proof.json design.json": ("certify", "FILE"),
    "answers.csv": ("privatize", "coin.json", "FILE", "-c", "smokes", "-o", "out.csv"),
    "answers.csv ": ("survey", "privatize", "s.json", "FILE", "-o", "out.csv"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("kinds")
    (place / "s.toml").write_text(SURVEY)
    (place / "m.toml").write_text(MODEL)
    lo.Survey.from_toml(place / "s.toml").save(place / "s.json")
    solution = lo.solve(lo.Problem({"no": 0.5, "yes": 0.5}, "identity", lo.PureLDP(1.0)))
    solution.mechanism.save(place / "coin.json")
    lo.certify(solution).save(place / "proof.json")
    design = lo.design(lo.Workload.frequencies(["no", "yes"]), lo.PureLDP(1.0))
    lo.save_design(design, place / "design.json")
    lo.SecretKey.new().save(place / "key.json")
    lo.Counts.of(solution.mechanism, ["no", "yes", "no"]).save(place / "counts.json")
    people = np.arange(40)
    answers = {
        name: np.where(people % k, "no", "yes") for name, k in (("smokes", 3), ("drinks", 5))
    }
    pd.DataFrame(answers).to_csv(place / "answers.csv", index=False)
    return place


def test_each_kind_is_recognized(folder: Path) -> None:
    for file, name in NAMES.items():
        kind = kind_of(folder / file)
        assert kind is not None, file
        assert kind.name == name
    (folder / "other.json").write_text('{"a": 1}')
    assert kind_of(folder / "other.json") is None
    assert kind_of(folder / "nosuch.json") is None


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("file", NAMES)
def test_commands_name_the_kind_that_they_do_not_read(
    folder: Path, read: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("out.csv").unlink(missing_ok=True)
    result = run_cli(*(file if word == "FILE" else word for word in READS[read]))
    if file in read.split():
        assert result.exit_code == 0, result.stderr
        return
    assert result.exit_code == 2
    kinds = [NAMES[file], "a survey of several questions", "a survey with its mechanisms"]
    kinds += ["not a survey: it has no [question.NAME]"]  # a model in place of a survey
    assert any(kind in result.stderr for kind in kinds), result.stderr
    assert "| do: " in result.stderr


def test_a_file_that_is_not_there_is_written_by_a_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for words, writer in {
        "survey plan no.json --people 100": "ldpopt survey solve SURVEY.toml -o FILE",
        "survey report no.json -o x.html": "ldpopt survey solve SURVEY.toml -o FILE",
        "survey collect no.json --to sqlite:///x.db": "ldpopt survey solve SURVEY.toml -o FILE",
        "survey solve no.toml": "ldpopt survey init FILE",
        "audit no.json": "ldpopt solve MODEL -o FILE",
        "certify no.json": "ldpopt solve MODEL --certificate FILE",
        "solve no.toml": "ldpopt init FILE",
    }.items():
        result = run_cli(*words.split())
        assert result.exit_code == 2
        assert "no." in result.stderr
        assert writer in result.stderr, result.stderr


def test_answers_in_place_of_reports_are_refused_as_such(folder: Path) -> None:
    survey = lo.Survey.load(folder / "s.json")
    with refused("answers") as caught:
        survey.estimate(folder / "answers.csv")
    assert "survey privatize" in str(caught.value)
    with refused("answers"):
        survey.estimate(pd.read_csv(folder / "answers.csv"))
    with refused("answers"):
        survey.regress("smokes ~ 1", pd.read_csv(folder / "answers.csv"))
    table = pd.read_csv(folder / "answers.csv")
    table.loc[3, "smokes"] = "perhaps"  # neither an answer nor a report
    with refused("unknown-label"):
        survey.estimate(table)


@pytest.mark.parametrize("cap", [None, 2.7])
def test_answers_in_place_of_sets_are_refused_as_such(cap: float | None) -> None:
    cities = [f"city {k}" for k in range(30)]
    best = lo.design(lo.Workload.frequencies(cities), lo.PureLDP(1.0), influence=cap)
    survey = lo.Survey({"city": best})
    with refused("answers"):
        survey.estimate(pd.DataFrame({"city": cities}))
    with refused("report-set"):
        survey.estimate(pd.DataFrame({"city": ["nowhere"] * 3}))


def test_a_list_of_answers_in_a_survey_leads_to_labels(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SURVEY.replace("labels", "answers", 1))
    with refused("labels-as-answers") as caught:
        lo.Survey.from_toml(path)
    assert "labels = ['no', 'yes']" in str(caught.value)
    assert "question.smokes.answers" in str(caught.value)


def test_answers_are_not_exported_as_reports(folder: Path) -> None:
    survey = lo.Survey.load(folder / "s.json")
    target = folder / "exported.csv"
    with refused("answers"):
        export_reports(str(folder / "answers.csv"), str(target), survey)
    assert not target.exists()
