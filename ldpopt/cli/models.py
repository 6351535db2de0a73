"""The command models: the models that come with the package, or those of a folder."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.options import argument
from ldpopt.cli.printing import BAD_STATEMENT, say, show
from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.foundation.display import Facts, Table, privacy_text


def models(
    folder: Annotated[
        str | None, argument("DIR", "A folder of model files (default: those of ldpopt).")
    ] = None,
    json: options.Json = None,
) -> None:
    """List the models that come with ldpopt, or those of a folder.

    Prints name, size, privacy notion and title; the size is answers x reports + numbers of a
    workload. A model that comes with ldpopt is used by its name: `ldpopt solve coin`. Exit code 2
    if a file is not a model.
    """
    from ldpopt.problem.modelfile.page import shipped

    home = shipped("models") if folder is None else Path(folder)
    if not (paths := sorted(home.glob("*.toml"))):
        problem = "has no model files" if home.is_dir() else "is not a folder"
        raise ModelFileError(
            f"{home} {problem}",
            code="folder",
            do="name a folder with *.toml files: ldpopt models DIR",
        )
    entries = [_entry(path) for path in paths]
    kinds = [entry.pop("kind") for entry in entries]
    rows = [
        [e["name"], _size_text(e), kind, e["title"]] for e, kind in zip(entries, kinds, strict=True)
    ]
    headings = ["model", "size", "privacy", "title"]
    show(Facts("", [Table(headings, rows, words=headings, cut=True)]), {"models": entries}, json)
    if incomplete := [entry for entry in entries if "needs" in entry]:
        needs = "; ".join(sorted({entry["needs"] for entry in incomplete}))
        say(f"note: {', '.join(entry['name'] for entry in incomplete)}: {needs}")
    if broken := [entry["error"] for entry in entries if "error" in entry]:
        for line in broken:
            say(line)
        raise typer.Exit(BAD_STATEMENT)


def _entry(path: Path) -> dict[str, Any]:
    """A model as JSON data."""
    from ldpopt.problem.modelfile import read_model

    sizes = dict.fromkeys(("inputs", "outputs", "numbers"))
    entry: dict[str, Any] = {"name": path.stem, "title": "", "privacy": "", "kind": ""} | sizes
    try:
        model = read_model(path)
    except LdpoptError as error:
        is_missing = not isinstance(error, StatementError)  # a package that the model's data need
        return entry | ({"needs": error.do} if is_missing else {"error": error.one_line})
    entry |= {"title": model.title, "privacy": privacy_text(model.privacy)}
    entry["kind"] = getattr(model.privacy, "kind", "") or type(model.privacy).__name__
    if model.design is not None:
        entry["numbers"], entry["inputs"] = model.design.workload.shape
    if model.problem is not None:
        entry["inputs"], entry["outputs"] = model.problem.utility.shape
    return entry


def _size_text(entry: dict[str, Any]) -> str:
    """Answers x reports of a utility, numbers of answers of a workload."""
    if entry["numbers"] and not entry["outputs"]:
        return f"{entry['numbers']:,} of {entry['inputs']:,}"
    shape = f"{entry['inputs'] or '-'} x {entry['outputs'] or '-'}"
    return f"{shape} + {entry['numbers']:,}" if entry["numbers"] else shape
