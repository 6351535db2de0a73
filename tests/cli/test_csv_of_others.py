"""CSV with another separator or in another encoding, at every command that reads a table."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer.main

from builders import cli_json, cli_output, run_cli
from ldpopt import Mechanism, Survey
from ldpopt.cli.app import app
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
SEMICOLON = ["--separator", ";", "--encoding", "latin-1"]
READ = {"ANSWERS", "REPORTS", "DATABASE|TABLE"}  # arguments that are tables


@pytest.fixture(autouse=True)
def files(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files of all tests."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey; answers and reports with commas in UTF-8, and the same with semicolons in
    latin-1."""
    folder = tmp_path_factory.mktemp("tables")
    survey = Survey({"smokes": COIN, "größe": COIN})
    survey.save(folder / "s.json")
    COIN.save(folder / "coin.json")
    ages = Mechanism((np.ones((5, 5)) + 4 * np.eye(5)) / 9, [20, 30, 40, 55, 62])
    Survey({"age": Question(ages, edges=(0, 25, 35, 50, 60, 70))}).save(folder / "pilot.json")
    cells = ["no", "yes", "yes", "no"] * 50
    answers = pd.DataFrame({"smokes": cells, "größe": cells[::-1]})
    answers["region"] = ["Köln", 'an "Eck"; dort', "two\nlines", "a, b", "Köln"] * 40
    answers["age"] = [20, 30, 40, 55, 62] * 40
    answers["w"] = [1.5, 1, 1, 2] * 50
    reports = survey.privatize(answers, rng=1)
    earlier = survey.privatize(answers, rng=2)
    for name, table in {"answers": answers, "reports": reports, "earlier": earlier}.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_csv(folder / f"{name}_de.csv", index=False, sep=";", encoding="latin-1")
        table.to_csv(folder / f"{name}_tab.txt", index=False, sep="\t", encoding="utf-16")
    return folder


CALLS: dict[str, list[str]] = {
    "survey estimate": ["s.json", "reports.csv"],
    "survey estimate by": ["s.json", "reports.csv", "--by", "region", "--weights", "w"],
    "survey estimate against": ["s.json", "reports.csv", "--against", "earlier.csv"],
    "survey estimate differences": [
        *("s.json", "reports.csv", "--by", "region", "--differences=Köln")
    ],
    "estimate": ["coin.json", "reports.csv", "-c", "größe"],
    "survey regress": ["s.json", "reports.csv", "smokes ~ age + C(region)"],
    "survey adapt": ["pilot.json", "reports.csv", "--quantile", ".5", "-o", "second.json"],
    "survey plan": ["s.json", "--people", "500", "--weights", "reports.csv", "w"],
    "plan": ["coin.json", "--people", "500", "--weights", "reports.csv", "w"],
    "experiment": [
        *("answers.csv", "-c", "age", "--range", "0:100", "--people", "50", "--epsilon", "1"),
        *("--sets", "1", "--protocol", "Duchi"),
    ],
}


def call(name: str, words: list[str], ending: str = ".csv") -> list[str]:
    """A command line, whose tables are in files of another ending."""
    command = [word for word in name.split() if word in ("survey", *_names())]
    return [*command[:2], *(word.replace(".csv", ending) for word in words)]


def _names() -> set[str]:
    return {name.split()[-1] for name in _commands()}


@cache
def _commands() -> dict[str, Any]:
    """Every command by its name."""
    found = {}

    def walk(command: Any, name: str) -> None:
        if hasattr(command, "commands"):
            for part, inner in command.commands.items():
                walk(inner, f"{name} {part}".strip())
        else:
            found[name] = command

    walk(typer.main.get_command(app), "")
    return found


@pytest.mark.parametrize("name", CALLS)
def test_the_same_numbers(name: str) -> None:
    if name == "survey regress":
        pytest.importorskip("formulaic")
    plain = cli_json(*call(name, CALLS[name]))
    same = [
        cli_json(*call(name, CALLS[name], "_de.csv"), *SEMICOLON),
        cli_json(
            *call(name, CALLS[name], "_tab.txt"), "--separator", "tab", "--encoding", "utf-16"
        ),
    ]
    for found in same:
        assert _without_times(found) == _without_times(plain)


def _without_times(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            key: _without_times(part)
            for key, part in data.items()
            if key not in ("seconds", "origin_known")
        }
    return [_without_times(part) for part in data] if isinstance(data, list) else data


@pytest.mark.parametrize("name", ["privatize", "survey privatize"])
def test_what_is_written_has_commas(name: str) -> None:
    file, options = ("s.json", []) if "survey" in name else ("coin.json", ["-c", "größe"])
    text = ["--seed", "3", "--keep", "region", *options]
    cli_output(*name.split(), file, "answers.csv", "-o", "one.csv", *text)
    cli_output(*name.split(), file, "answers_de.csv", "-o", "two.csv", *text, *SEMICOLON)
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    assert "Köln" in Path("two.csv").read_text("utf-8")


def test_values_and_export() -> None:
    for suffix, options in (("", []), ("_de", SEMICOLON)):
        path = f"reports{suffix}.csv"
        cli_output("survey", "values", "s.json", path, "-o", f"v{suffix}.csv", *options)
        cli_output("survey", "export", path, "-o", f"e{suffix}.csv", *options)
    assert Path("v.csv").read_bytes() == Path("v_de.csv").read_bytes()
    assert pd.read_csv("e_de.csv").equals(pd.read_csv("reports.csv"))


def test_from_stdin() -> None:
    text = Path("reports.csv").read_text("utf-8").replace(",", ";").replace("a; b", "ab")
    told = run_cli("estimate", "coin.json", "-", "-c", "smokes", "--separator", ";", stdin=text)
    assert told.exit_code == 0, told.stderr
    assert told.stdout == run_cli("estimate", "coin.json", "reports.csv", "-c", "smokes").stdout


def test_every_command_that_reads_a_table_has_both_options() -> None:
    readers = {
        name
        for name, command in _commands().items()
        for each in command.params
        if getattr(each, "metavar", None) in READ or "--groups" in each.opts
    }
    assert len(readers) >= 7
    for name in readers | {"plan", "survey plan"}:
        options = {text for each in _commands()[name].params for text in each.opts}
        assert {"--separator", "--encoding"} <= options, name
    used = {" ".join(call(name, [])) for name in CALLS}
    assert readers <= used | {
        *("privatize", "survey privatize", "survey values", "survey export"),
        *("survey report", "report", "survey invite"),  # tables of groups have their own tests
    }


@pytest.mark.parametrize("option", [SEMICOLON[:2], SEMICOLON[2:]])
@pytest.mark.parametrize("ending", [".parquet", ".sav", ".xlsx"])
def test_other_files_are_refused(option: list[str], ending: str) -> None:
    table = pd.read_csv("reports.csv")
    if ending == ".sav":
        pytest.importorskip("pyreadstat").write_sav(table[["smokes"]], "reports.sav")
    elif ending == ".xlsx":
        table.to_excel("reports.xlsx", index=False)
    else:
        table.to_parquet("reports.parquet")
    words = {
        "survey privatize": ["s.json", "reports.csv", "-o", "new.txt"],
        "survey values": ["s.json", "reports.csv", "-o", "new.txt"],
        "survey export": ["reports.csv", "-o", "new.txt"],
        **{name: words for name, words in CALLS.items() if "answers.csv" not in words},
    }
    for name, line in words.items():
        told = run_cli(*call(name, line, ending), *option)
        assert told.exit_code == 2, name
        assert "are for tables in CSV" in told.stderr, name
    assert not Path("new.txt").exists()


def test_one_of_two_tables_may_be_another_file() -> None:
    pd.read_csv("earlier.csv").to_parquet("earlier.parquet")
    plain = cli_json(*call("survey estimate", CALLS["survey estimate against"]))
    line = ["s.json", "reports_de.csv", "--against", "earlier.parquet", *SEMICOLON]
    assert cli_json("survey", "estimate", *line)["differences"] == plain["differences"]


def test_a_database_and_a_folder_are_refused() -> None:
    Path("parts").mkdir()
    for source in ("parts", "sqlite:///reports.db"):
        told = run_cli("survey", "estimate", "s.json", source, *SEMICOLON)
        assert told.exit_code == 2
        assert "are for tables in CSV" in told.stderr


@pytest.mark.parametrize("name", [name for name in CALLS if "plan" not in name])
def test_the_refusal_of_another_separator_names_the_option(name: str) -> None:
    if name == "survey regress":
        pytest.importorskip("formulaic")
    told = run_cli(*call(name, CALLS[name], "_de.csv"), "--encoding", "latin-1")
    assert told.exit_code == 2
    assert "--separator ';'" in told.stderr
    told = run_cli(*call(name, CALLS[name]), "--separator", "|")
    assert told.exit_code == 2
    assert "--separator ','" in told.stderr


@pytest.mark.parametrize("name", [name for name in CALLS if "answers.csv" not in CALLS[name]])
def test_the_refusal_of_another_encoding_names_the_option(name: str) -> None:
    if name == "survey regress":
        pytest.importorskip("formulaic")
    told = run_cli(*call(name, CALLS[name], "_de.csv"), "--separator", ";")
    assert told.exit_code == 2
    assert "--encoding latin-1" in told.stderr
    told = run_cli(*call(name, CALLS[name]), "--encoding", "ascii")
    assert told.exit_code == 2
    assert "ascii" in told.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--separator", ""], "separator"),
        (["--separator", ";;"], "separator"),
        (["--separator", "a"], "separator"),
        (["--separator", '"'], "separator"),
        (["--separator", "\n"], "separator"),
        (["--separator", "."], "separator"),
        (["--separator", "é"], "separator"),
        (["--encoding", "klingon"], "encoding"),
        (["--encoding", ""], "encoding"),
        (["--encoding", "rot13"], "encoding"),
        (["--encoding", "hex"], "encoding"),
    ],
)
def test_what_is_no_separator_or_encoding_is_refused(options: list[str], code: str) -> None:
    told = run_cli("survey", "estimate", "s.json", "reports.csv", *options, "--json", "-")
    assert told.exit_code == 2
    assert f'"code": "{code}"' in told.stdout


def test_decimal_commas_stay_refused() -> None:
    rows = ["smokes;größe;w", *["no;yes;1,5"] * 40]
    Path("commas.csv").write_text("\n".join(rows), "utf-8")
    line = ["survey", "estimate", "s.json", "commas.csv", "--separator", ";", "--weights", "w"]
    told = run_cli(*line)
    assert told.exit_code == 2
    assert "row 2" in told.stderr


def test_the_format_ends_with_the_command() -> None:
    cli_json("survey", "estimate", "s.json", "reports_de.csv", *SEMICOLON)
    assert cli_json("survey", "estimate", "s.json", "reports.csv")["estimates"]
