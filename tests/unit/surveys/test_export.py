"""Reports for SPSS and Stata: codes that mean what the codebook says, whatever draws them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import cli_json, cli_output, refused, run_cli
from ldpopt import Mechanism, Question, ReportModel, Survey, Workload
from ldpopt.surveys.codebook import codebook, matrix_of
from ldpopt.surveys.export import export_reports
from ldpopt.tables.csv_format import reading_csv_as

pyreadstat = pytest.importorskip("pyreadstat")

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
THREE = Mechanism([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], ["never", "once", "often"])
FORCED = Mechanism([[0.5, 0.5], [0.0, 1.0]], ["no", "yes"])
MANY = Workload.frequencies([f"answer {k}" for k in range(30)])
LONG = "In the last three months, how often were you absent although not ill? (größer, ≥ 3)"
WORDS = {"questions": {"absence": {"text": LONG, "answers": {"often": "twice or more"}}}}
ABSENCE = "how often were you absent, really"  # a name of more than 32 letters


def back(path: Any) -> tuple[Any, Any]:
    """The table and the labels of a file."""
    read = pyreadstat.read_sav if Path(path).suffix == ".sav" else pyreadstat.read_dta
    return read(str(path))


def exported(survey: Survey, answers: pd.DataFrame, folder: Path, ending: str, **how: Any) -> Any:
    """The reports of answers as CSV, and the file for another program that was read again."""
    answers.to_csv(folder / "answers.csv", index=False)
    keep = [name for name in answers if name not in _answered(survey)]
    survey.privatize_file(folder / "answers.csv", folder / "reports.csv", keep=keep, rng=3)
    done = export_reports(str(folder / "reports.csv"), str(folder / f"r{ending}"), survey, **how)
    plain = pd.read_csv(folder / "reports.csv", dtype=str, keep_default_na=False)
    assert done.reports == len(plain) == len(answers)
    return plain, *back(folder / f"r{ending}")


def _answered(survey: Survey) -> set[str]:
    questions = survey.questions.items()
    return {column for name, each in questions for column in getattr(each, "columns", ()) or [name]}


@pytest.mark.parametrize("ending", [".sav", ".dta"])
@pytest.mark.parametrize("scheme", ["split", "one_question", "fake_data"])
def test_codes_and_labels(tmp_path: Path, scheme: Any, ending: str) -> None:
    survey = Survey({"smokes": COIN, "absence": THREE}, scheme=scheme, title="Absence", words=WORDS)
    n = 90
    answers = pd.DataFrame(
        {
            "smokes": ["no", "yes", "yes"] * 30,
            "absence": ["never", "once", "often"] * 30,
            "region": ["Köln", "North, upper", "7"] * 30,
            "weight": ["1.5", "2", "0.25"] * 30,
        }
    )
    plain, frame, meta = exported(survey, answers, tmp_path, ending)
    assert list(frame) == ["smokes", "absence", "region", "weight"]
    assert frame["region"].tolist() == answers["region"].tolist()
    assert frame["weight"].tolist() == answers["weight"].tolist()  # a text: nobody said a weight
    for name, law in survey.randomizers.items():
        codes = [None if x != x else int(x) for x in frame[name].tolist()]
        texts = [None if code is None else str(law.outputs[code - 1]) for code in codes]
        assert texts == [report or None for report in plain[name]]
        labels = dict(meta.variable_value_labels[name])
        assert sorted(labels) == list(range(1, len(law.outputs) + 1))
        likely = [row["likely"] for row in codebook(survey) if row["column"] == name]
        for code, label in labels.items():
            answer = likely[int(code) - 1].replace("often", "twice or more")
            answer = answer if name == "absence" else likely[int(code) - 1]
            assert label == f"report {int(code)} of {len(law.outputs)}: mostly {answer}"
    assert (scheme == "one_question") == any(frame["smokes"].isna())
    variables = meta.column_names_to_labels
    assert variables["smokes"] == "RANDOM REPORT, not the answer: smokes"
    assert variables["absence"].startswith("RANDOM REPORT, not the answer: In the last three")
    assert (variables["absence"] == f"RANDOM REPORT, not the answer: {LONG}") == (ending == ".sav")
    assert variables["region"] == "region (not protected)"
    assert meta.file_label == "Absence"
    assert len(frame) == n


@pytest.mark.parametrize("ending", [".sav", ".dta"])
@pytest.mark.parametrize("answers", [("no", "yes"), ("no", "yes", "at times")])
def test_joint_reports(tmp_path: Path, answers: tuple[str, ...], ending: str) -> None:
    survey = Survey({"a": answers, "b": ["x", "y"]}, epsilon=2.0, scheme="joint")
    table = pd.DataFrame({"a": [*answers] * 12, "b": ["x", "y"] * 6 * len(answers)})
    plain, frame, meta = exported(survey, table, tmp_path, ending)
    if len(answers) == 2:  # a list of answers
        names = [f"joint_report_{k}" for k in range(1, 5)]
        assert list(frame) == names
        for place, name in enumerate(names):
            is_in = [str(place) in report.split(" ") for report in plain["joint report"]]
            assert frame[name].tolist() == [float(each) for each in is_in]
            assert meta.column_names_to_labels[name].endswith(
                ["a: no", "a: yes", "b: x", "b: y"][place]
            )
        return
    assert list(frame) == ["joint_report"]
    law = survey.randomizers["joint report"]
    texts = [str(law.outputs[int(code) - 1]) for code in frame["joint_report"]]
    assert texts == plain["joint report"].tolist()
    labels = list(meta.variable_value_labels["joint_report"].values())
    assert len(set(labels)) == len(law.outputs)
    assert labels[0].startswith(f"report 1 of {len(labels)}: mostly no / x")


def test_sets_have_a_column_for_each_answer(tmp_path: Path) -> None:
    from ldpopt import PureLDP, design

    survey = Survey({"q": design(MANY, PureLDP(1.0))})
    table = pd.DataFrame({"q": [f"answer {k % 30}" for k in range(60)], "q 1": ["x"] * 60})
    plain, frame, meta = exported(survey, table, tmp_path, ".sav")
    assert frame.shape == (60, 31)
    size = survey.randomizers["q"].size
    members = frame[[name for name in frame if name != "q_1"]]
    assert set(members.sum(axis=1)) == {size}
    for report, row in zip(plain["q"], members.to_numpy(), strict=True):
        assert np.flatnonzero(row).tolist() == sorted(map(int, report.split(" ")))
    assert meta.column_names_to_labels[members.columns[4]].endswith(": answer 4")


def test_ticks(tmp_path: Path) -> None:
    survey = Survey.from_toml(_ticks(tmp_path))
    table = pd.DataFrame({"used": ["tea", "", "tea;wine"] * 8, "q": ["no", "yes", "no"] * 8})
    plain, frame, meta = exported(survey, table, tmp_path, ".dta")
    law: Any = survey.randomizers["used"]
    texts = [str(law.outputs[int(code) - 1]) for code in frame["used"]]
    assert texts == plain["used"].tolist()
    assert "tea" in " ".join(meta.variable_value_labels["used"].values())


def test_several_mechanisms_and_certain_reports(tmp_path: Path) -> None:
    model = ReportModel({"a": COIN, "b": FORCED}, column="card")
    survey = Survey({"q": Question(model), "r": FORCED})
    table = pd.DataFrame(
        {"q": ["no", "yes"] * 6, "r": ["no", "yes"] * 6, "card": ["a", "a", "b"] * 4}
    )
    table.to_csv(tmp_path / "a.csv", index=False)
    survey.privatize_file(tmp_path / "a.csv", tmp_path / "r.csv", rng=1)
    export_reports(str(tmp_path / "r.csv"), str(tmp_path / "r.sav"), survey)
    frame, meta = back(tmp_path / "r.sav")
    assert frame["card"].tolist() == table["card"].tolist()
    assert dict(meta.variable_value_labels["q"]) == {
        1: "report 1 of 2: no, by card",
        2: "report 2 of 2: yes, by card",
    }
    assert dict(meta.variable_value_labels["r"]) == {
        1: "report 1 of 2: only no",
        2: "report 2 of 2: mostly yes",
    }


def test_missing_reports_empty_tables_and_dates(tmp_path: Path) -> None:
    survey = Survey({"q": Question(COIN, missing="leave_out")}, weights="w")
    day = datetime.date(2027, 3, 31)
    table = pd.DataFrame({"q": ["no", None, "yes"], "w": [1.5, 2.0, 0.5], "day": [day] * 3})
    table.to_parquet(tmp_path / "a.parquet")
    survey.privatize_file(tmp_path / "a.parquet", tmp_path / "r.parquet", keep=["day"], rng=1)
    for ending in (".sav", ".dta"):
        export_reports(str(tmp_path / "r.parquet"), str(tmp_path / f"r{ending}"), survey)
        frame, _ = back(tmp_path / f"r{ending}")
        assert frame["q"].isna().tolist() == [False, True, False]
        assert frame["w"].tolist() == [1.5, 2.0, 0.5]
        assert frame["day"].tolist() == [day] * 3
    table[:0].to_csv(tmp_path / "a.csv", index=False)
    survey.privatize_file(tmp_path / "a.csv", tmp_path / "r.csv", keep=["day"])
    for ending in (".sav", ".dta"):
        done = export_reports(str(tmp_path / "r.csv"), str(tmp_path / f"r{ending}"), survey)
        assert done.reports == 0
        frame, meta = back(tmp_path / f"r{ending}")
        assert sorted(frame) == ["day", "q", "w"]
        assert set(meta.variable_value_labels["q"]) == {1, 2}


def test_a_table_of_unknown_reports(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text("smokes,absence\nno,once\n")
    with refused("no-origin"):
        export_reports(str(tmp_path / "raw.csv"), str(tmp_path / "raw.sav"))
    survey = Survey({"smokes": COIN, "absence": THREE})
    survey.privatize_file(tmp_path / "raw.csv", tmp_path / "r.csv")
    assert not export_reports(str(tmp_path / "r.csv"), str(tmp_path / "r.sav")).is_known
    frame, meta = back(tmp_path / "r.sav")
    assert frame.to_numpy().tolist() == [[1.0, 1.0]]
    assert meta.column_names_to_labels["smokes"] == "RANDOM REPORT, not the answer: smokes"
    other = Survey({"smokes": THREE, "absence": THREE})
    with refused("other-mechanism"):
        export_reports(str(tmp_path / "r.csv"), str(tmp_path / "other.sav"), other)


def survey_of_kind(kind: str, folder: Path) -> Survey:
    """A survey that a device can draw."""
    from ldpopt import PureLDP, design

    if kind == "ticks":
        return Survey.from_toml(_ticks(folder))
    answers: dict[str, Any] = {"a": ["no", "yes"], "b": ["x", "y"]}
    if kind == "joint":
        return Survey(answers | {"c": ["u", "v", "w"]}, epsilon=2.0, scheme="joint", words=FEW)
    if kind == "patterns":
        return Survey(answers, epsilon=2.0, scheme="joint", words=FEW)
    if kind == "sets":
        return Survey({"a": design(MANY, PureLDP(1.0))})
    scheme: Any = kind
    questions = {"smokes": COIN, "absence": Question(THREE, "leave_out")}
    if kind == "fake_data":
        questions["absence"] = THREE
    return Survey(questions, scheme=scheme, words=WORDS, title="Absence")


FEW = {"questions": {"b": {"text": "Which?", "answers": {"x": "The first"}}}}


def _ticks(folder: Path) -> str:
    (folder / "s.toml").write_text(
        'epsilon = 2\n[question.used]\nticks = ["tea", "beer", "wine"]\n[question.q]\n'
        'labels = ["no", "yes"]\n'
    )
    return str(folder / "s.toml")


@pytest.mark.parametrize(
    "kind", ["split", "one_question", "fake_data", "joint", "patterns", "sets", "ticks"]
)
def test_a_database_knows_what_its_reports_mean(tmp_path: Path, kind: str) -> None:
    """From its form and words alone, the same as with the survey."""
    from ldpopt.fieldwork.store import Store

    survey = survey_of_kind(kind, tmp_path)
    database = f"sqlite:///{tmp_path / 'reports.db'}"
    with Store(database, survey):
        pass
    for ending in (".sav", ".dta"):
        alone = export_reports(database, str(tmp_path / f"alone{ending}"))
        known = export_reports(database, str(tmp_path / f"known{ending}"), survey)
        assert alone == known
        assert alone.reports == 0
        metas = [back(tmp_path / f"{name}{ending}")[1] for name in ("alone", "known")]
        for part in ("column_names_to_labels", "variable_value_labels", "file_label"):
            assert getattr(metas[0], part) == getattr(metas[1], part)
        assert all(text.startswith("RANDOM REPORT") for text in metas[0].column_labels)
        assert set(metas[0].variable_value_labels) == set(metas[0].column_names)


def test_an_entry_that_is_no_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("q\nno\nmaybe\n")
    with refused("unknown-label") as caught:
        export_reports(str(tmp_path / "r.csv"), str(tmp_path / "r.sav"), Survey({"q": COIN}))
    assert "maybe" not in str(caught.value)
    assert "row 3" in str(caught.value)
    joint = Survey({"a": ["no", "yes"], "b": ["x", "y"]}, epsilon=2.0, scheme="joint")
    (tmp_path / "j.csv").write_text("joint report\n0 9\n")
    with refused("set"):
        export_reports(str(tmp_path / "j.csv"), str(tmp_path / "j.sav"), joint)


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey = Survey({"q": COIN, ABSENCE: THREE}, title="Absence")
    survey.save("s.json")
    table = pd.DataFrame({"q": ["no", "yes"] * 30, ABSENCE: ["never", "once", "often"] * 20})
    table.assign(region=["N", "S"] * 30, REGION="x").to_csv("a.csv", index=False)
    survey.privatize_file("a.csv", "r.csv", keep=["region", "REGION"], rng=1)
    told = run_cli("survey", "export", "r.csv", "-o", "r.sav", "--survey", "s.json")
    assert told.exit_code == 0
    assert "REGION_2" in told.stderr
    frame, _ = back("r.sav")
    assert list(frame)[2:] == ["region", "REGION_2"]
    data = cli_json("survey", "export", "r.csv", "-o", "r.dta")
    assert data["reports"] == 60
    assert set(data["renamed"]) == {ABSENCE, "REGION"}
    assert "60 reports" in cli_output("survey", "export", "r.csv", "-o", "r.parquet")
    found = [cli_json("survey", "estimate", "s.json", f"r.{end}") for end in ("csv", "parquet")]
    assert found[0]["estimates"] == found[1]["estimates"]
    rows = cli_json("survey", "codebook", "s.json", "-o", "book.sav")["reports"]
    frame, meta = back("book.sav")
    assert frame["times"].tolist() == [row["times"] for row in rows]
    assert frame["likely"].tolist() == [row["likely"] for row in rows]
    assert meta.file_label == "Codebook of reports: Absence"
    rows = cli_json("survey", "estimate", "s.json", "r.csv", "-o", "e.dta")["estimates"]
    frame, _ = back("e.dta")
    assert frame["estimate"].tolist() == [row["estimate"] for row in rows]
    cli_output("survey", "values", "s.json", "r.csv", "-o", "v.sav")
    assert back("v.sav")[0].shape == (60, 5)
    refusal = run_cli("survey", "export", "r.csv", "-o", "r.xlsx")
    assert refusal.exit_code == 2
    assert ".sav" in refusal.stderr


def test_the_matrix_is_that_of_the_masses(tmp_path: Path) -> None:
    survey = Survey({"q": COIN, "absence": FORCED.then(COIN)})
    survey.save(tmp_path / "s.json")
    cli_output("survey", "codebook", tmp_path / "s.json", "--matrix", "-o", tmp_path / "p.csv")
    rows = pd.read_csv(tmp_path / "p.csv")
    for name, law in survey.randomizers.items():
        own = rows[rows["column"] == name]
        table = own.pivot(index="answer", columns="code", values="probability")
        expected = np.array(law.counts, dtype=object) / law.denominator
        assert (table.loc[[str(x) for x in law.inputs]].to_numpy() == expected.astype(float)).all()
    joint = Survey({"a": ["no", "yes"], "b": ["x", "y"]}, epsilon=2.0, scheme="joint")
    with refused("unlisted"):
        matrix_of(joint)


def test_csv_of_other_programs_is_exported(tmp_path: Path) -> None:
    survey = Survey({"q": COIN})
    (tmp_path / "r.csv").write_bytes("q;gebiet\nno;Köln\nyes;Köln\n".encode("latin-1"))
    with reading_csv_as(separator=";", encoding="latin-1"):
        export_reports(str(tmp_path / "r.csv"), str(tmp_path / "r.sav"), survey)
    frame, _ = back(tmp_path / "r.sav")
    assert frame["gebiet"].tolist() == ["Köln", "Köln"]
    assert frame["q"].tolist() == [1.0, 2.0]
