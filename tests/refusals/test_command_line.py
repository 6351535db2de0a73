"""Wrong input on the command line: exit code 2, one line that says what to do, and no file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import cli_output, run_cli
from ldpopt import Mechanism, Survey

PRIVATIZE = "privatize coin.json answers.csv -c answer -o out.csv"
EXPERIMENT = "experiment hours.csv -c hours --people 9 --epsilon 1 --range"

REFUSED = {
    # usage
    "frobnicate": "No such command 'frobnicate'",
    "--frobnicate": "No such option: --frobnicate",
    "solve": "Missing argument 'MODEL'",
    "solve coin.toml --form square": "'square' is not one of",
    "solve coin.toml --time-limit 0": "greater than or equal to 0.001",
    "solve coin.toml --time-limit soon": "valid number",
    "design workload.toml --time-limit 0": "greater than or equal to 0.001",
    "design workload.toml --outputs 1": "greater than or equal to 2",
    "export coin.toml --to xls": "'xls' is not one of",
    "export coin.toml --to lp --json -": "add -o FILE",
    "plan coin.json": "give --half-width, --people, or both",
    # models
    "solve missing.toml": "do: check the path",
    "solve coyn": "did you mean 'coin'?",
    "solve .": "Is a directory",
    "solve coin.json": "this is a mechanism, not a model",
    "solve broken.toml": "broken.toml:1",
    "check latin.toml": "saved as UTF-8",
    "check prior.toml": 'weights = {"a" = 0.3, ...}',
    "check binary.toml": "binary.toml:1",
    "compare missing.toml": "do: check the path",
    "solve coin.toml --solver nobody": "name one of auto, cbc, columns, cvxpy, highs, interior",
    "solve coin.toml --solver cvxpy:nobody": "cvxpy has no solver 'NOBODY' here",
    "design coin.toml": "add [workload]",
    "design missing.toml": "do: check the path",
    "solve workload.toml": "has a workload and no utility",
    "sweep workload.toml --epsilon 1": "has a workload and no utility",
    "vertices workload.toml": "has a workload and no utility",
    "export workload.toml --to lp": "has a workload and no utility",
    "plot workload.toml --kind mechanism -o out.png": "has a workload and no utility",
    "certify workload.toml --solver cbc": "--solver is for a utility",
    # mechanisms and certificates
    "audit coin.toml": "a model is solved first",
    "plan coin --people 10": "a model is solved first",
    "account coin.toml": "a model is solved first",
    "audit other.json": "the key 'inputs' is missing",
    "audit missing.json": "do: check the path",
    "audit .": "Is a directory",
    "audit coin.json --delta 0.1": "--delta is given without --epsilon: give both",
    "audit coin.json --epsilon 1 --model coin.toml": "give either --model or --epsilon",
    "certify missing.json": "do: check the path",
    "certify coin.json": "solve MODEL --certificate FILE` or save() writes one; `ldpopt audit",
    # output files
    "solve coin.toml --json missing/out.json": "name a file in an existing folder",
    "solve coin.toml --json .": "cannot write the file: it is a folder",
    "compare coin.toml --json .": "cannot write the file: it is a folder",
    "check coin.toml --json .": "cannot write the file: it is a folder",
    "vertices coin.toml --json .": "cannot write the file: it is a folder",
    "audit coin.json --json .": "cannot write the file: it is a folder",
    "plot coin.json --kind design -o out.png": "write one with `ldpopt design",
    "solve coin -o -": "--json - writes to stdout",
    "report coin -o -": "--json - writes to stdout",
    "sweep coin --epsilon 1 -o -": "--json - writes to stdout",
    "simulate coin --people 10 -o -": "--json - writes to stdout",
    "estimate coin.json answers.csv -c answer -o -": "--json - writes to stdout",
    "estimate coin.json answers.csv -c answer -o table.docx": ".docx",
    "init new.toml --answers yes": "two or more different answers",
    "init new.toml --answers yes,yes": "two or more different answers",
    "init new.toml --answers yes,": "two or more different answers",
    # tables
    "privatize coin.json answers.csv -o out.csv": "name the column of the table with -c",
    "privatize coin.json missing.csv -c answer -o out.csv": "do: check the path",
    "privatize coin.json . -c answer -o out.csv": "has not the name of a table",
    "privatize coin.json semicolons.csv -c job -o out.csv": "';'",
    "privatize coin.json latin.csv -c answer -o out.csv": "latin.csv, row 3",
    "privatize coin.json answers.csv -c answer -o - --json -": "cannot both go to stdout",
    f"{PRIVATIZE} --key k": "--key and --id belong together",
    f"{PRIVATIZE} --key k --id name --seed 1": "not from both",
    f"{PRIVATIZE} --missing-answer maybe": "is not an input of the mechanism",
    f"{PRIVATIZE} --dask tcp://x:1": "is for a folder",
    "estimate coin.json missing.csv -c answer": "do: check the path",
    "estimate coin.json answers.csv -c name": "answers.csv, column name, row 2",
    "estimate coin.json answers.csv -c name -c answer": "2 columns are given: estimate one at "
    "a time",
    "estimate coin.json answers.csv -c answer --dask tcp://x:1": "is for a folder",
    "estimate constant.json answers.csv -c answer": "the channel has rank 1",
    # surveys
    "solve questions.json": "the survey is solved: go on with",
    "plot questions.json -o out.png": "ldpopt survey report questions.json",
    "privatize questions.json answers.csv -c answer -o out.csv": "--column is for a mechanism or "
    "a design",
    "privatize questions.json answers.csv --missing leave_out -o out.csv": "--missing is for a "
    "mechanism or a design",
    "estimate questions.json answers.csv --method maximum_likelihood": "--method is for a "
    "mechanism or a design",
    "plan questions.json --people 10 --epsilon 1": "--epsilon is for a mechanism or a design",
    "design questions.toml": "ldpopt survey solve questions.toml",
    "compare questions.toml": 'scheme = "best"',
    "simulate questions.json --people 9": "ldpopt survey simulate questions.json",
    "sweep questions.toml --epsilon 1": "ldpopt survey plan questions.toml",
    "vertices questions.toml": "ldpopt survey --help",
    "export questions.json -o out.lp": "ldpopt survey solve questions.json",
    "survey solve short.toml": "should be a list of at least 2 items",
    "survey solve prior_sum.toml": "the prior sums to 1.1",
    "survey solve split.toml": "'splt': should be 'split'",
    "survey collect questions.json --until soon": "is not a date such as",
    "survey invite questions.json 0 -o out.csv --page https://x": "greater than or equal to 1",
    "survey invite questions.json 3 -o out.csv --page x": "is not the address of a page",
    "survey export nothing -o out.csv": "do: check the path",
    "survey form questions.json -o out.html --to ftp://x": "https://collect.example.org/reports",
    "survey report questions.json": "Missing option '-o'",
    "survey report questions.json -o out.html --people 0": "greater than or equal to 1",
    "survey report questions.json -o out.html --where cloud": "'cloud' is not one of",
    "report questions.json -o out.html --no-budgets": "--no-budgets is for a model",
    "report coin.json -o out.html": "this is a mechanism",
    "certify questions.json --solver highs": "--solver is for a model",
    "audit questions.json --model coin.toml": "--model is for a mechanism or a design",
    "account questions.json --waves 0": "greater than or equal to 1",
    "account questions.json --delta 2": "less than or equal to 1",
    "estimate questions.json answers.csv --weights answer": "has reports, not weights",
    "vertices anes96_party": "take too long to list",
    # many runs
    "sweep coin.toml --epsilon 1 -j 0": "jobs = 0 is not a number of processes",
    "simulate coin.json --people 1e15 --prior no=1,yes=1": "do: take fewer people",
    "simulate coin.json --people 10 --checkpoint x": "needs a --seed",
    "simulate coin.json --people 10 --prior no=1,maybe=1": "names 'maybe'",
    "simulate coin.json --people 10 -j 2 --dask tcp://x:1": "give one of them",
    f"{EXPERIMENT} 0:50": "row 53",
    f"{EXPERIMENT} 9:1": "is empty",
    f"{EXPERIMENT} 0:inf": "is infinite",
    f"{EXPERIMENT} -1e308:1e308": "is infinite",
    f"{EXPERIMENT} 0:60 --people 1e15": "do: take fewer people",
    f"{EXPERIMENT} 0:60 --protocol duchi": "did you mean 'Duchi'",
    "experiment hours.csv -c hour --range 0:60 --people 9 --epsilon 1": "did you mean 'hours'",
}
"""Words of the message by command; empty quotes are two characters."""


BY_CODE = {
    "experiment hours.csv -c name --range 0:50 --people 9 --epsilon 1": "non-number",
    "design workload.toml --gap 2": "range",
    "models missing": "folder",
    "solve coin.toml --epsilon -1": "negative-epsilon",
    "audit list.json": "json",
    "audit coin.json --epsilon plenty": "epsilon",
    "audit coin.json --epsilon=-1": "negative-epsilon",
    "audit coin.json --epsilon inf": "epsilon",
    "audit coin.json --epsilon 1 --delta 2": "range",
    "solve coin.toml -o missing/out.json": "folder",
    "solve coin.toml -o .": "folder",
    "solve coin.toml --plot out.doc": "picture-format",
    "design workload.toml --plot out.doc": "picture-format",
    "design workload.toml -o missing/out.json": "folder",
    "design workload.toml --certificate .": "folder",
    "plot coin.json -o out": "picture-format",
    "plot coin.json --kind polytope -o out.png": "model",
    "plot impossible.toml --kind polytope -o out.png": "plane",
    "init coin.toml": "existing-file",
    "privatize coin.json answers.csv -c answer -o missing/out.csv": "folder",
    "privatize twins.json answers.csv -c answer -o out.csv": "same-text",
    f"{PRIVATIZE} -c answer": "duplicate",
    f"{PRIVATIZE} --keep age": "column",
    "estimate coin.json answers.csv -c answer --confidence 2": "share",
    "solve questions.toml": "survey",
    "check cut.json": "json",
    "survey solve questions.json": "solved-survey",
    "survey solve coin.toml": "survey",
    "survey solve questions.toml -o .": "folder",
    "survey collect coin.json": "survey",
    "survey collect questions.json --to nothing": "address",
    "survey report questions.json -o nowhere/out.html": "folder",
    "report coin -o out.html --waves 3": "waves",
    "certify cut.json": "json",
    "audit questions.json --epsilon lots": "epsilon",
    "audit coin.json --model questions.toml": "survey",
    "export coin -o out.foo": "format",
    "export coin -o nowhere/out.lp": "folder",
    "sweep coin.toml --epsilon a:b:c": "grid",
    "sweep coin.toml --epsilon 1:2:0": "grid",
    "sweep coin.toml --epsilon 0:nan:3": "grid",
    "sweep coin.toml --epsilon ''": "epsilon",
    "sweep coin.toml --epsilon 1 --delta much": "entry",
    "sweep impossible.toml --epsilon 1 --prior-grid 3": "prior-grid",
    "sweep coin.toml coin.toml --epsilon 1": "duplicate",
    "sweep coin.toml limit.toml --epsilon 1": "settings",
    "simulate coin.json --people 1.5": "entry",
    "simulate coin.json --people some": "entry",
    "simulate coin.json --people 10 --epsilon 1": "epsilon",
    "simulate coin.json --people 10 --delta 0.1": "delta",
    "simulate coin.json --people 10 --prior no=1,yes=x": "weights",
    "simulate coin.json --people 10 --prior no=1,no=2,yes=1": "duplicate",
    "simulate coin.json coin.json --people 10": "duplicate",
    "simulate coin.json --people 10 --dask nowhere": "scheduler",
    f"{EXPERIMENT} 50": "range",
    f"{EXPERIMENT} 0:60 -c hours": "duplicate-column",
}
"""Code of the error by command: the sentence may change."""


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("survey") / "questions.json"
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    Survey({"answer": coin, "name": coin}).save(path)
    return path


@pytest.fixture
def files(folder: Path, coin: str, questions: Path) -> None:
    Path("broken.toml").write_text("x = [")
    Path("binary.toml").write_bytes(b"\xff\xfe\x00")
    Path("latin.toml").write_bytes(b'source = "a survey"\ntitle = "Gr\xf6\xdfe"\n' + coin.encode())
    Path("prior.toml").write_text('[alphabet]\ninputs = ["a", "b"]\n[prior]\na = 0.3\nb = 0.7\n')
    Path("limit.toml").write_text(coin + "\n[solver]\ntime_limit = 3.0\n")
    Path("questions.toml").write_text('epsilon = 1\n[question.answer]\nlabels = ["no", "yes"]\n')
    Path("questions.json").write_bytes(questions.read_bytes())
    Path("cut.json").write_bytes(questions.read_bytes()[:500])
    Path("short.toml").write_text('epsilon = 1\n[question.answer]\nlabels = ["no"]\n')
    Path("prior_sum.toml").write_text(
        'epsilon = 1\n[question.a]\nlabels = ["no", "yes"]\nprior = [0.5, 0.6]\n'
    )
    Path("split.toml").write_text(
        'epsilon = 1\nscheme = "splt"\n[question.a]\nlabels = ["no", "yes"]\n'
    )
    Path("other.json").write_text('{"channel": 3}')
    Path("list.json").write_text("[1, 2]")
    Path("latin.csv").write_bytes(b"answer\nyes\nn\xf6\n")
    Path("semicolons.csv").write_text("id;job\n1;none\n")
    Path("hours.csv").write_text(
        "hours,age,name\n" + "".join(f"{k % 60},{20 + k % 50},x\n" for k in range(300))
    )
    Mechanism([[0.5, 0.5], [0.5, 0.5]], ["no", "yes"]).save("constant.json")
    Mechanism([[0.5, 0.5], [0.5, 0.5]], ["1", 1]).save("twins.json")


def _error(text: str) -> dict[str, str]:
    """The error in the one line of JSON that a refused command writes."""
    assert text.count("\n") == 1
    written = json.loads(text)
    assert list(written) == ["error"]
    error: dict[str, str] = written["error"]
    assert list(error) == ["code", "kind", "what", "where", "do"]
    return error


@pytest.mark.parametrize(("command", "words"), REFUSED.items(), ids=REFUSED)
def test_wrong_commands_are_refused_on_one_line(files: None, command: str, words: str) -> None:
    before = sorted(os.listdir())
    result = run_cli(*command.split())
    assert result.exit_code == 2, result.output
    if command.endswith("--json -"):
        assert _error(result.stdout)["code"] == "usage"
    else:
        assert result.stdout == ""
    assert result.stderr.startswith("ldpopt: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(("command", "code"), BY_CODE.items(), ids=BY_CODE)
def test_wrong_commands_are_refused_with_a_code(files: None, command: str, code: str) -> None:
    before = sorted(os.listdir())
    result = run_cli(*command.split(), "--json", "-")
    assert result.exit_code == 2, result.output
    assert _error(result.stdout)["code"] == code
    assert result.stderr.startswith("ldpopt: ")
    assert result.stderr.count("\n") == 1
    assert sorted(os.listdir()) == before


IN_JSON = {
    "frobnicate": "usage UsageError",
    "solve": "usage MissingParameter",
    "solve coin.toml --form square": "usage BadParameter",
    "solve coin.toml --nothing": "usage NoSuchOption",
    "plan coin.json": "usage BadParameter",
    "models missing": "folder ModelFileError",
    "solve coyn": "ModelFileError",
    "audit coin.toml": "kind-of-file ModelFileError",
    "estimate coin.json answers.csv -c none": "column ModelFileError",
    "sweep coin.toml --epsilon 0:1": "grid StatementError",
    "survey solve coin.toml": "survey ModelFileError",
    "plot coin.json -o missing/out.png": "folder ModelFileError",
    "plot impossible.toml -o out.png": "conflict InfeasibleError",
    "certify other.json": "missing-key ModelFileError",
}
"""Code (default: the name of the class) and class of the error, by command."""


@pytest.mark.parametrize(("command", "code"), IN_JSON.items(), ids=IN_JSON)
def test_an_error_is_written_where_the_json_would_have_gone(
    files: None, command: str, code: str
) -> None:
    plain = run_cli(*command.split())
    result = run_cli(*command.split(), "--json", "-")
    error = _error(result.stdout)
    assert [error["code"], error["kind"]] == [code.split()[0], code.split()[-1]]
    assert (result.exit_code, result.stderr) == (plain.exit_code, plain.stderr)
    line = [error["what"], error["where"] and f"where: {error['where']}", f"do: {error['do']}"]
    assert " ".join(" | ".join(filter(None, line)).split()) in result.stderr
    result = run_cli(*command.split(), "--json=error.json")
    assert result.stdout == ""
    assert _error(Path("error.json").read_text()) == error


def test_json_has_an_error_or_a_result_and_never_both(files: None) -> None:
    claim = "certify proof.json --independent --json -"
    cli_output("solve", "coin.toml", "--certificate", "proof.json")
    Path("proof.json").write_text(Path("proof.json").read_text().replace("1.0", "0.9"))
    result = run_cli("solve", "impossible.toml", "--json", "-")
    assert "status" in json.loads(result.stdout)
    result = run_cli(*claim.split())
    assert result.exit_code == 1
    assert _error(result.stdout)["code"] == "claim"


def test_an_error_replaces_no_file_that_the_command_reads(files: None) -> None:
    before = Path("other.json").read_bytes()
    assert run_cli("audit", "other.json", "--json", "other.json").exit_code == 2
    assert Path("other.json").read_bytes() == before
    before = Path("coin.toml").read_bytes()
    assert run_cli("solve", "coyn", "--json", "coin.toml").exit_code == 2
    assert Path("coin.toml").read_bytes() == before


TABLES = {
    "answer\nyes\nmaybe\n": ("unknown answer: ", "row 3"),
    "answer\nyes\nYes\n": ("row 3", "known: no, yes"),
    "anwser\nyes\n": ("unknown column 'answer'", "did you mean 'anwser'"),
    "answer,answer\nyes,no\n": ("duplicate column 'answer': 2",),
    "answer,b\nyes\n": ("1 fields", "row 2"),
    "answer\nyes\n\nno\n": ("1 answer is missing", "row 3"),
    "": ("empty",),
    'answer\n"yes\n': ("not a CSV", "not closed"),
}


@pytest.mark.parametrize(("table", "words"), TABLES.items(), ids=map(repr, TABLES))
def test_a_bad_table_leaves_the_old_reports(
    folder: Path, table: str, words: tuple[str, ...]
) -> None:
    Path("bad.csv").write_text(table)
    Path("out.csv").write_text("old")
    before = sorted(os.listdir())
    result = run_cli("privatize", "coin.json", "bad.csv", "-c", "answer", "-o", "out.csv")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert all(word in result.stderr for word in words)
    assert Path("out.csv").read_text() == "old"
    assert sorted(os.listdir()) == before
    assert run_cli("privatize", "coin.json", "bad.csv", "-c", "answer", "-o", "-").stdout == ""


def test_kinds_of_privacy_are_listed_once(folder: Path, coin: str) -> None:
    Path("model.toml").write_text(coin.replace('"pure"', '"prue"'))
    assert run_cli("check", "model.toml").stderr.count("pure") == 2  # did you mean, and in the list


def test_an_option_settles_what_models_disagree_on(files: None) -> None:
    assert (
        run_cli("sweep", "coin.toml", "limit.toml", "--epsilon", "1", "--time-limit", "2").exit_code
        == 0
    )


def test_an_infeasible_model_has_exit_code_3(folder: Path) -> None:
    assert run_cli("plot", "impossible.toml", "-o", "out.png").exit_code == 3


def test_unexpected_errors_are_not_swallowed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ldpopt.problem.modelfile.read_model", broken)
    assert isinstance(run_cli("check", "coin.toml").exception, ZeroDivisionError)


def test_labels_do_not_control_the_terminal(folder: Path, coin: str) -> None:
    Path("rude.toml").write_text(coin.replace('"no"', r'"[red]\u001b[2J\n"'))
    text = run_cli("solve", "rude.toml").stdout
    assert "\x1b[2J" not in text
    assert "[red]" in text


def test_files_are_written_although_the_reader_of_stdout_is_gone(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-u", "-m", "ldpopt", "check", "coin.toml", "--json", "found.json"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("found.json").read_text().endswith("}\n")


@pytest.mark.parametrize(
    "command",
    [
        "solve coin.toml -o coin.toml",
        "solve coin.toml -o x.json --json coin.toml",
        "plot coin.json -o coin.toml",
    ],
)
def test_a_result_does_not_replace_a_model(folder: Path, command: str) -> None:
    before = Path("coin.toml").read_bytes()
    result = run_cli(*command.split())
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert Path("coin.toml").read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        "estimate coin.json reports.csv -c answer -o reports.csv",
        "experiment reports.csv -c answer --range 0:1 --people 9 --epsilon 1 -o reports.csv",
    ],
)
def test_a_result_does_not_replace_the_table_that_is_read(folder: Path, command: str) -> None:
    cli_output("privatize", "coin.json", "answers.csv", "-c", "answer", "-o", "reports.csv")
    before = Path("reports.csv").read_bytes()
    result = run_cli(*command.split())
    assert result.exit_code == 2
    assert "would replace the file that is read" in result.stderr
    assert Path("reports.csv").read_bytes() == before
