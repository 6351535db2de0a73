"""Several ticks: cells and columns are the same answers, one share for each tick, and no cell in a
message."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import cli_json, cli_output, refused, run_cli, thorough_or
from ldpopt import Survey, Workload
from ldpopt.fieldwork import page
from ldpopt.mechanism.keyed import SecretKey
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

TICKS = ["alcohol", "tobacco", "other drugs"]
SURVEY = """
epsilon = 4.0
[question.used]
ticks = ["alcohol", "tobacco", "other drugs"]
text = "What did you use?"
answers = { alcohol = "Beer or wine" }
"""
COLUMNS = SURVEY.replace(
    '["alcohol", "tobacco", "other drugs"]',
    '{ alcohol = "q1", tobacco = "q2", "other drugs" = "q3" }',
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ticked = np.random.default_rng(1).random((1200, 3)) < [0.6, 0.3, 0.1]
    cells = ["; ".join(np.array(TICKS)[row][::-1]) for row in ticked]  # in any order, with spaces
    pd.DataFrame({"used": cells, "id": range(1200)}).to_csv("cells.csv", index=False)
    table = pd.DataFrame(ticked.astype(int), columns=["q1", "q2", "q3"])
    table.assign(id=range(1200)).to_csv("columns.csv", index=False)
    (tmp_path / "s.toml").write_text(SURVEY)
    (tmp_path / "c.toml").write_text(COLUMNS)
    cli_output("key", "k")
    return tmp_path


def test_the_numbers_are_marginals_with_labels_that_a_table_can_contain():
    found = tick_workload(TICKS)
    assert (found.matrix == Workload.marginals((2,) * 3, 1).matrix).all()
    assert found.inputs[:4] == ("none", "other drugs", "tobacco", "tobacco;other drugs")


def test_cells_and_columns_give_the_same_reports_and_a_share_for_each_tick(folder):
    tables = []
    for name, table in (("s", "cells"), ("c", "columns")):
        cli_output("survey", "solve", f"{name}.toml", "-o", f"{name}.json")
        cli_output(
            "survey",
            "privatize",
            f"{name}.json",
            f"{table}.csv",
            "-o",
            "r.csv",
            "--key",
            "k",
            "--id",
            "id",
        )
        tables.append(pd.read_csv("r.csv"))
        rows = cli_json("survey", "estimate", f"{name}.json", "r.csv")["estimates"]
        assert [row["answer"] for row in rows] == TICKS
        truth = pd.read_csv("columns.csv")[["q1", "q2", "q3"]].mean()
        assert all(
            abs(row["estimate"] - true) < 5 * row["std_error"]
            for row, true in zip(rows, truth, strict=True)
        )
        assert len(cli_json("survey", "plan", f"{name}.json", "--people", 1000)["questions"]) == 1
        frame = pd.read_csv(f"{table}.csv", keep_default_na=False)
        assert Survey.load(f"{name}.json").privatize(frame, rng=1)["used"].notna().all()
    assert tables[0].equals(tables[1])
    rows = cli_json("survey", "simulate", "c.json", "--people", 200, "--repeats", 5, "--seed", 1)[
        "estimates"
    ]
    assert [row["truth"] for row in rows] == pytest.approx([0.5] * 3)


@pytest.mark.parametrize("rule", ["refuse", "answer", "leave"])
def test_an_empty_cell_is_no_tick_and_a_missing_one_is_missing(folder, rule):
    for name, text in (("s", SURVEY), ("c", COLUMNS)):
        Path(f"{name}.toml").write_text(text + f'missing = "{rule}"\n')
        Survey.from_toml(f"{name}.toml").save(f"{name}.json")
    pd.DataFrame({"used": ["", "NA", "tobacco", "none"] * 300}).to_csv("m.csv", index=False)
    columns = {"q1": [0, None, 0, 0] * 300, "q2": [0, 0, 1, 0] * 300, "q3": [0] * 1200}
    pd.DataFrame(columns).to_csv("n.csv", index=False)
    for name, table in (("s", "m"), ("c", "n")):
        found = run_cli("survey", "privatize", f"{name}.json", f"{table}.csv", "-o", "r.csv")
        if rule == "refuse":
            assert found.exit_code == 2
            assert "300 answers are missing" in found.stderr
            continue
        assert found.exit_code == 0, found.stderr
        rows = cli_json("survey", "estimate", f"{name}.json", "r.csv")["estimates"]
        assert [row["answer"] for row in rows] == [
            *TICKS,
            *(["no answer"] if rule == "answer" else []),
        ]
        for row, true in zip(rows, [0, 1 / 3, 0, 1 / 4], strict=False):
            assert abs(row["estimate"] - true) < 5 * row["std_error"]
        assert rows[0]["n_reports"] == (1200 if rule == "answer" else 900)


def test_simulated_ticks_beside_missing_answers(folder):
    Path("c.toml").write_text(COLUMNS + 'missing = "answer"\n')
    Path("shares.toml").write_text('[used]\nalcohol = 0.6\n"no answer" = 0.2\n')
    options = ["--people", 1500, "--repeats", 6, "--seed", 1, "--shares", "shares.toml"]
    rows = cli_json("survey", "simulate", "c.toml", *options)["estimates"]
    assert [row["truth"] for row in rows] == pytest.approx([0.6, 0, 0, 0.2])
    assert all(row["rmse"] < row["half_width"] for row in rows)


@pytest.mark.parametrize("table", ["cells", "columns"])
def test_an_unknown_tick_is_found_and_no_cell_is_printed(folder, table):
    frame = pd.read_csv(f"{table}.csv", keep_default_na=False, dtype=str)
    frame.iloc[7, 0] = "heroin;alcohol"
    frame.to_csv("bad.csv", index=False)
    found = run_cli(
        "survey", "privatize", f"{'s' if table == 'cells' else 'c'}.toml", "bad.csv", "-o", "r.csv"
    )
    assert found.exit_code == 2
    assert "row 9" in found.stderr
    assert "heroin" not in found.stderr


def test_the_page_asks_for_each_tick(folder):
    survey = Survey.from_toml("s.toml")
    assert survey.form()["questions"]["used"]["ticks"] == list(TICKS)
    found = page(survey)
    assert "Beer or wine" in found
    assert "Tick all that apply" in found
    assert "None of these" in found


def test_a_joint_report_may_have_ticks(folder):
    joint = SURVEY.replace("epsilon", 'scheme = "joint"\nepsilon')
    Path("j.toml").write_text(joint + '[question.smokes]\nlabels = ["no", "yes"]\n')
    one = Survey.from_toml("j.toml")
    table = pd.DataFrame({"used": ["tobacco", ""] * 1500, "smokes": ["yes", "no"] * 1500})
    found = one.estimate(one.privatize(table, rng=1))["used"]
    assert found.labels == tuple(TICKS)
    assert (np.abs(found.values - [0, 0.5, 0]) < 5 * found.std_error).all()


def test_the_best_scheme_for_ticks_has_the_least_variance_that_surveys_have(folder):
    other = '[question.smokes]\nlabels = ["no", "yes"]\n'
    uniform = {"used": [1 / 8] * 8, "smokes": [0.5, 0.5]}
    for epsilon, more in (
        *thorough_or([], [("0.5", "")]),
        ("6.0", ""),
        ("2.0", '[question.p]\nlabels = ["a", "b", "c", "d", "e"]\n'),
    ):
        priors = uniform | ({"p": [0.2] * 5} if more else {})
        found = {}
        for scheme in (
            ("split", "one_question", "best")
            if more
            else ("split", "one_question", "joint", "best")
        ):
            Path("b.toml").write_text(
                SURVEY.replace("epsilon = 4.0", f'scheme = "{scheme}"\nepsilon = {epsilon}')
                + other
                + more
            )
            survey = Survey.from_toml("b.toml")
            each = [
                survey.precision(name, prior=prior).variances.mean()
                for name, prior in priors.items()
            ]
            found[scheme] = np.mean(each)
        assert found["best"] == pytest.approx(min(found.values()), rel=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"tobacco"', '"to;bacco"', "'to;bacco'"),
        ('"tobacco"', '"none"', "'none'"),
        ('["alcohol", "tobacco", "other drugs"]', '["a"]', "1 ticks"),
        ('["alcohol", "tobacco", "other drugs"]', str([f"t{k}" for k in range(17)]), "17 ticks"),
        ("text =", 'labels = ["a", "b"]\ntext =', "labels has no effect together with ticks"),
        ("alcohol =", "beer =", "not an answer"),
    ],
)
def test_wrong_ticks_are_refused(folder, old, new, words):
    Path("s.toml").write_text(SURVEY.replace(old, new) + '[question.b]\nlabels = ["no", "yes"]\n')
    found = run_cli("survey", "solve", "s.toml")
    assert found.exit_code == 2
    assert words in found.stderr


def test_ticks_are_read_back(folder):
    Survey.from_toml("c.toml").save("c.json")
    one = Survey.load("c.json").questions["used"]
    assert isinstance(one, TicksQuestion)
    assert (one.ticks, one.columns) == (tuple(TICKS), ("q1", "q2", "q3"))


MANY = [f"habit {k}" for k in range(12)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """A solved survey with more ticks than sets that are listed, and answers."""
    path = tmp_path_factory.mktemp("many")
    ticks = "[" + ", ".join(f'"{tick}"' for tick in MANY) + "]"
    (path / "m.toml").write_text(
        f'epsilon = 3.0\n[question.used]\nticks = {ticks}\nmissing = "leave"\n'
    )
    Survey.from_toml(path / "m.toml").save(path / "m.json")
    return path, np.random.default_rng(2).random((3000, 12)) < np.linspace(0.1, 0.8, 12)


def test_twelve_ticks_are_drawn_by_formula_and_estimated(many):
    path, ticked = many
    survey = Survey.load(path / "m.json")
    frame = pd.DataFrame({"used": [";".join(np.array(MANY)[row]) for row in ticked]})
    frame.loc[5, "used"] = None
    key = SecretKey(bytes(range(32)))
    ids = [f"person {k}" for k in range(len(frame))]
    reports = survey.privatize(frame.assign(id=ids), key=key, id="id")["used"]
    assert reports.isna().tolist() == [k == 5 for k in range(len(frame))]
    changed = frame.assign(id=ids)
    changed.loc[7, "used"] = MANY[3]
    again = survey.privatize(changed[::-1], key=key, id="id")["used"][::-1]
    assert (again == reports)[reports.notna()].sum() >= len(frame) - 2
    estimate = survey.estimate(pd.DataFrame({"used": reports}))["used"]
    assert estimate.labels == tuple(MANY)
    assert estimate.n_reports == 2999
    z = (estimate.values - ticked.mean(axis=0)) / estimate.std_error
    assert np.abs(z).max() < 4
    wide = survey.estimate(pd.DataFrame({"used": reports}), simultaneous=True)["used"]
    # z of 0.05 / 24
    np.testing.assert_allclose(
        np.ptp(wide.interval, axis=1), 2 * 3.0781 * wide.std_error, rtol=1e-3
    )
    known = survey.precision("used").variances
    assert known.shape == (12,)
    assert estimate.std_error.max() ** 2 * 2999 <= known[0] * (1 + 1e-9)
    by_column = TicksQuestion(
        survey.questions["used"].source, "leave_out", None, tuple(MANY), tuple("abcdefghijkl")
    )
    codes = by_column.combine(ticked[10:60].T.astype(np.int64))
    assert [by_column.inputs[code] for code in codes] == frame["used"][10:60].replace(
        "", "none"
    ).tolist()


def test_many_ticks_and_no_place_for_them_are_refused_in_words(many):
    path, _ = many
    survey = Survey.load(path / "m.json")
    with refused("answer-count") as error:
        survey.form()
    assert " 4,096 " in error.value.what
    with refused("fake-sets"):
        Survey(
            {"one": survey.questions["used"], "two": survey.questions["used"]}, scheme="fake_data"
        )
    with refused("missing-tick"):
        TicksQuestion(survey.questions["used"].source, "refuse", MANY[-1], tuple(MANY))
    with refused("tick-count"):
        tick_workload([f"{k}" for k in range(17)])
    assert survey.account(waves=2).epsilon(0.0) == pytest.approx(6.0)
    with refused("unlisted") as error:
        survey.account(people=1000)
    assert "'used'" in error.value.what


STATED = "epsilon = 4.0\n[question.used]\nticks = {{ {} }}\n{}"


@pytest.mark.parametrize(
    ("ticks", "more", "code"),
    [
        ('beer = "q1", wine = "q1"', "", "tick-column"),
        ('beer = "q1", wine = "q2"', '[question.q1]\nlabels = ["no", "yes"]\n', "shared-column"),
        (
            'beer = "q1", wine = "q2"',
            '[question.a]\nticks = { x = "q1", y = "q3" }',
            "shared-column",
        ),
        (
            'beer = "a", wine = "q2"',
            '[question.a]\nticks = { x = "q1", y = "q3" }',
            "shared-column",
        ),
    ],
)
def test_a_column_is_that_of_one_question(tmp_path: Path, ticks: str, more: str, code: str) -> None:
    (tmp_path / "s.toml").write_text(STATED.format(ticks, more))
    with refused(code):
        Survey.from_toml(tmp_path / "s.toml")
    for command in ("check", "survey solve"):
        done = run_cli(*command.split(), tmp_path / "s.toml")
        if command != "check":
            assert done.exit_code == 2
            assert "Traceback" not in done.stderr


def test_weights_and_ticks_have_columns_of_their_own(tmp_path: Path) -> None:
    text = 'weights = "q1"\n' + STATED.format('beer = "q1", wine = "q2"', "")
    (tmp_path / "s.toml").write_text(text)
    with refused("weights"):
        Survey.from_toml(tmp_path / "s.toml")


def test_the_same_tick_twice_is_refused_by_name(tmp_path: Path) -> None:
    with refused("same-tick"):
        tick_workload(["beer", "beer"])


def test_a_question_may_have_the_name_of_one_of_its_columns(tmp_path: Path) -> None:
    """Its reports are in the place of these answers, as those of any question are."""
    (tmp_path / "s.toml").write_text(STATED.format('beer = "used", wine = "q2"', ""))
    survey = Survey.from_toml(tmp_path / "s.toml")
    reports = survey.privatize(pd.DataFrame({"used": [0, 1], "q2": [1, 1]}), rng=1)
    assert list(reports.columns) == ["used"]


def test_another_sign_between_ticks_is_refused_with_the_right_one(folder: Path) -> None:
    survey = Survey.from_toml("s.toml")
    with refused("unknown-label") as raised:
        survey.privatize(pd.DataFrame({"used": ["alcohol|tobacco"]}))
    assert "write ';' between several ticks" in str(raised.value)
    assert "alcohol|tobacco" not in str(raised.value)
