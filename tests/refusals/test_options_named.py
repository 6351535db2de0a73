"""A message names only options of the commands that can print it.

Every text of the package that names an option, such as ``--missing``, is found in the code. A
command's own file may name its own options; another file has a row below with the commands whose
message it may be. A text that gives a whole command line, `ldpopt plan --people 1000`, is checked
against that command.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

import ldpopt
from builders import refused, run_cli
from ldpopt import GraphDP, Mechanism, MetricDP, OneSided, Problem, PureLDP
from ldpopt.cli.app import app

ROOT = Path(ldpopt.__file__).parent
OPTION = re.compile(r"(?<![\w<-])--[a-z][a-z-]*")
COMMAND_LINE = re.compile(r"ldpopt (survey )?([a-z]+)((?: [^`;:]*)?)")
EVERYWHERE = {"--help", "--version"}

ALL_WITH = "every command that has it"
COMMANDS = {  # files that are not a command's own: by option, the commands that can print the text
    ("estimation/reports.py", "--keep"): ["privatize", "survey privatize"],
    ("estimation/units.py", "--keep"): ["privatize", "survey privatize"],
    ("fieldwork/about.py", "--changed-words"): ["survey collect"],
    ("fieldwork/connections.py", "--port"): ["survey collect"],
    ("fieldwork/connections.py", "--host"): ["survey collect"],
    ("fieldwork/links.py", "--people"): ["survey invite"],
    ("fieldwork/links.py", "--groups"): ["survey invite"],
    ("fieldwork/links.py", "--smallest"): ["survey invite"],
    ("fieldwork/links.py", "--separator"): ["survey invite", "survey status"],
    ("processes/presence.py", "--checkpoint"): ALL_WITH,
    ("studies/simulate.py", "--seed"): ["simulate"],
    ("plotting/report/page.py", "--groups"): ["report", "survey report"],
    ("plotting/report/page.py", "--invited"): ["report", "survey report"],
    ("plotting/report/people.py", "--keep"): ["report", "survey report"],
    ("surveys/export.py", "--survey"): ["survey export"],
    ("surveys/regressions.py", "--separator"): ["survey regress"],
    ("surveys/regressions.py", "--encoding"): ["survey regress"],
    ("tables/csv_.py", "--encoding"): ALL_WITH,
    ("tables/files.py", "--separator"): ALL_WITH,
    ("tables/files.py", "--encoding"): ALL_WITH,
    ("surveys/comparisons.py", "--followers"): ["estimate", "survey estimate"],
    ("surveys/comparisons.py", "--differences"): ["estimate", "survey estimate"],
    ("tables/coding.py", "--missing-answer"): ["privatize"],
    ("tables/coding.py", "--missing"): ["privatize", "estimate"],
    ("tables/origin.py", "--again"): ["privatize", "survey privatize"],
    ("cli/questions.py", "--column"): ["privatize", "estimate"],
    ("cli/questions.py", "--dask"): ["privatize", "estimate"],
    ("cli/questions.py", "--recursive"): ["privatize", "estimate"],
    ("tables/folder.py", "--recursive"): ["privatize", "estimate"],
    ("cli/printing.py", "--json"): ALL_WITH,
    ("cli/printing.py", "--gap"): ["solve"],
    ("cli/printing.py", "--time-limit"): ["solve", "design"],
    ("cli/conclusions.py", "--differences"): ["estimate", "survey estimate"],
    ("cli/conclusions.py", "--against"): ["estimate", "survey estimate"],
    ("cli/conclusions.py", "--quantile"): ["estimate", "survey estimate"],
    ("cli/conclusions.py", "--test"): ["estimate", "survey estimate"],
    ("cli/conclusions.py", "--consistent"): ["estimate", "survey estimate"],
    ("estimation/regression/columns.py", "--missing"): ["survey regress"],
    ("surveys/regressions.py", "--keep"): ["privatize", "survey privatize"],
    ("estimation/regression/columns.py", "--kind"): ["survey regress"],
    ("cli/conclusions.py", "--by"): ["estimate", "survey estimate"],
    ("cli/conclusions.py", "--pair"): ["estimate", "survey estimate"],
    ("cli/conclusions.py", "--method"): ["estimate", "survey estimate"],
    ("cli/options.py", "--epsilon"): ["plan", "simulate", "experiment", "sweep"],
    ("cli/options.py", "--delta"): ["simulate", "sweep"],
    ("cli/options.py", "--people"): ["simulate", "experiment"],
    ("cli/options.py", "--dask"): ["privatize", "estimate", "sweep"],
    ("cli/options.py", "--jobs"): ["privatize", "estimate", "sweep"],
}


def commands() -> dict[str, set[str]]:
    """Options by command."""
    found = {}

    def walk(command: Any, name: str) -> None:
        if hasattr(command, "commands"):
            for part, inner in command.commands.items():
                walk(inner, f"{name} {part}".strip())
            return
        options = {text for each in command.params for text in (*each.opts, *each.secondary_opts)}
        found[name] = {text for text in options if text.startswith("--")}

    walk(typer.main.get_command(app), "")
    return found


OPTIONS = commands()


def texts() -> list[tuple[str, int, str]]:
    """Every text of the code that names an option: its file, line and words; no documentation, and
    no declaration of an option."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text("utf-8")
        if not OPTION.search(source):
            continue
        tree = ast.parse(source)
        skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_declared = isinstance(node, ast.Call) and name_of(node.func) in (
                *("option", "Option", "share_option", "new_file", "new_picture", "startswith"),
            )
            if is_declared:
                skipped |= {id(argument) for argument in node.args[:1]}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and id(node) not in skipped and OPTION.search(text):
                found.append((path.relative_to(ROOT).as_posix(), node.lineno, text))
    return found


def name_of(function: ast.expr) -> str:
    """The name of a function that is called, without what it belongs to."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


def own_commands(path: str) -> list[str]:
    """The commands of a command's own file."""
    name = Path(path).stem.rstrip("_")
    if name == "survey":
        return [command for command in OPTIONS if command.startswith("survey ")]
    return [command for command in (name, f"survey {name}") if command in OPTIONS]


def lines_in(text: str) -> list[tuple[str, list[str]]]:
    """Whole command lines in a text: the command, and the options that it gives."""
    found = []
    for match in COMMAND_LINE.finditer(text):
        command = f"{match[1] or ''}{match[2]}"
        if command in OPTIONS:
            found.append((command, OPTION.findall(match[3])))
    return found


def test_every_option_that_a_message_names_is_one_of_its_command() -> None:
    unknown = []
    used = set()
    for path, line, text in texts():
        in_lines = lines_in(text)
        for command, options in in_lines:
            unknown += [
                f"{path}:{line}: `ldpopt {command}` has no {option}"
                for option in options
                if option not in OPTIONS[command] | EVERYWHERE
            ]
        rest = COMMAND_LINE.sub(
            lambda match: "" if f"{match[1] or ''}{match[2]}" in OPTIONS else match[0], text
        )
        for option in set(OPTION.findall(rest)) - EVERYWHERE:
            printed_by = COMMANDS.get((path, option), own_commands(path))
            used.add((path, option))
            if printed_by == ALL_WITH:
                printed_by = [name for name, options in OPTIONS.items() if option in options]
            if not printed_by:
                unknown.append(f"{path}:{line}: which commands print {option}? Add them above")
            elif path.startswith("cli/") and (path, option) not in COMMANDS:
                if not any(option in OPTIONS[command] for command in printed_by):
                    unknown.append(f"{path}:{line}: {printed_by} have no {option}")
            else:
                unknown += [
                    f"{path}:{line}: {command} has no {option}"
                    for command in printed_by
                    if option not in OPTIONS[command]
                ]
    assert not unknown, "\n".join(unknown)
    assert set(COMMANDS) <= used, f"no text names these any more: {set(COMMANDS) - used}"


def test_estimate_names_only_options_that_it_has(tmp_path: Path) -> None:
    Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save(tmp_path / "m.json")
    (tmp_path / "reports.csv").write_text("smokes\nno\n\nNA\nyes\n")
    done = run_cli("estimate", tmp_path / "m.json", tmp_path / "reports.csv", "-c", "smokes")
    assert done.exit_code == 2
    assert "--missing leave_out" in done.stderr
    assert set(OPTION.findall(done.stderr)) <= OPTIONS["estimate"]
    done = run_cli(
        *("privatize", tmp_path / "m.json", tmp_path / "reports.csv", "-c", "smokes"),
        *("-o", tmp_path / "out.csv"),
    )
    assert "--missing-answer" in done.stderr
    assert set(OPTION.findall(done.stderr)) <= OPTIONS["privatize"]


@pytest.mark.parametrize(
    ("notion", "inputs"),
    [
        (MetricDP(1.0, [[0, 2], [2, 0]]), (0, 1)),
        (MetricDP(1.0, [[0, 2], [2, 0]], ["a", "b"]), ("a", "b")),
        (GraphDP(1.0, ldpopt.neighbors.path(["a", "b", "c"])), ("a", "b", "c")),
    ],
)
def test_a_problem_has_the_inputs_that_its_notion_knows(notion: object, inputs: object) -> None:
    assert Problem(None, "identity", notion, objective="worst_case").inputs == inputs


@pytest.mark.parametrize(
    "notion", [PureLDP(1.0), OneSided(1.0, ["a"]), MetricDP(1.0, lambda a, b: abs(a - b))]
)
def test_inputs_that_nobody_knows_are_asked_for(notion: object) -> None:
    with refused("inputs"):
        Problem(None, "identity", notion, objective="worst_case")
