"""The commands init, models and examples: what a newcomer begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ldpopt.cli.output import Json, new_file, print_table, printable, report, say
from ldpopt.cli.shell import BAD_STATEMENT
from ldpopt.cli.solving import notion
from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.foundation.files import replacing


def init(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The model file to write.")] = "model.toml",
    answers: Annotated[str, typer.Option(metavar="A,B,...", help="The possible answers.")] = "no,yes",
    epsilon: Annotated[str, typer.Option(metavar="E", help="Privacy budget in nats, or 'log(3)'.")] = "1.0",
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title of the model.")] = "My question",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="State a workload for `ldpopt design` (a survey), not a utility.")
    ] = False,
    json: Json = None,
) -> None:
    """Write a model file with comments, as a starting point.

    It can be solved as it is; an existing file is not replaced.
    """
    from ldpopt.problem.modelfile.template import template

    path = new_file(file)
    inputs = [answer.strip() for answer in answers.split(",")]
    if len(inputs) < 2 or not all(inputs) or len(set(inputs)) < len(inputs):
        raise typer.BadParameter(f"--answers {answers!r} needs two or more different answers, with commas between")
    text = template(title, inputs, epsilon, estimate=estimate)
    with replacing(path) as stream:
        stream.write(text)
    verb = "design" if estimate else "solve"
    data = {"file": str(path), "answers": inputs}
    report(data, json, lambda: print(printable(f"{path}: edit it, then `ldpopt {verb} {path}`")))


def models(
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="A folder of model files (default: those of ldpopt).")
    ] = None,
    json: Json = None,
) -> None:
    """List the models that come with ldpopt, or those of a folder.

    Prints name, size, privacy notion and title. A model that comes with ldpopt is used by its name:
    `ldpopt solve coin`. Exit code 2 if a file is not a model.
    """
    from ldpopt.problem.modelfile.page import shipped

    home = shipped("models") if folder is None else Path(folder)
    paths = sorted(home.glob("*.toml"))
    if not paths:
        what = "has no model files" if home.is_dir() else "is not a folder"
        raise ModelFileError(f"{home} {what}", do="name a folder with *.toml files: ldpopt models DIR")
    entries = [_entry(path) for path in paths]
    rows = [[e["name"], _shown_entry(e), e["privacy"], printable(e["title"])[:70]] for e in entries]
    headings = ["model", "size", "privacy", "title"]
    report({"models": entries}, json, lambda: print_table(headings, rows, words=["size", "privacy", "title"]))
    wanting = [entry["name"] for entry in entries if "needs" in entry]
    if wanting:
        needs = sorted({entry["needs"] for entry in entries if "needs" in entry})
        say(f"note: {', '.join(wanting)}: {'; '.join(needs)}")
    broken = [entry["error"] for entry in entries if "error" in entry]
    for line in broken:
        say(line)
    if broken:
        raise typer.Exit(BAD_STATEMENT)


def _entry(path: Path) -> dict[str, Any]:
    """A model's line in the list."""
    from ldpopt.problem.modelfile import read_model

    keys = ("inputs", "outputs", "numbers")
    entry: dict[str, Any] = {"name": path.stem, "title": "", "privacy": ""} | dict.fromkeys(keys)
    try:
        stated = read_model(path)
    except LdpoptError as error:
        is_missing = not isinstance(error, StatementError)  # a package that the model's data need
        return entry | ({"needs": error.do} if is_missing else {"error": error.one_line})
    entry |= {"title": stated.title, "privacy": notion(stated.privacy)}
    if stated.design is not None:
        entry["numbers"], entry["inputs"] = stated.design.workload.shape
    if stated.problem is not None:
        entry["inputs"], entry["outputs"] = stated.problem.utility.shape
    return entry


def _shown_entry(entry: dict[str, Any]) -> str:
    parts = (
        [] if entry["numbers"] and not entry["outputs"] else [f"{entry['inputs'] or '-'} x {entry['outputs'] or '-'}"]
    )
    if entry["numbers"]:
        parts.append(f"{entry['numbers']:,} numbers of {entry['inputs']:,}")
    return ", ".join(parts)


def examples(
    copy: Annotated[str | None, typer.Option("--copy", metavar="DIR", help="Copy them into this new folder.")] = None,
    json: Json = None,
) -> None:
    """List the examples that come with ldpopt: short studies in Python.

    They need pip install "ldpopt[all]".
    """
    import ast
    import shutil

    from ldpopt.problem.modelfile.page import shipped

    home = shipped("examples")
    found = {path.name: ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "" for path in home.glob("*.py")}
    entries = [{"name": name, "title": found[name].strip().splitlines()[0]} for name in sorted(found)]
    if copy is not None:
        try:
            shutil.copytree(home, copy, ignore=shutil.ignore_patterns("__pycache__"))
        except OSError as error:
            why = error.strerror or str(error)
            raise ModelFileError(f"cannot copy the examples: {why}", where=copy, do="name a new folder") from None
    where = str(home if copy is None else Path(copy))

    def show() -> None:
        print_table(["example", "title"], [[e["name"], printable(e["title"])] for e in entries], words=["title"])
        print(printable(f"in {where}"))

    report({"folder": where, "examples": entries}, json, show)
