"""The command examples: the short studies that come with the package."""

import ast
import shutil
from pathlib import Path
from typing import Annotated

from ldpopt.cli import options
from ldpopt.cli.options import option
from ldpopt.cli.printing import show
from ldpopt.foundation.display import Facts, Table
from ldpopt.foundation.files import file_errors


def examples(
    copy: Annotated[str | None, option("--copy DIR", "Copy them into this new folder.")] = None,
    json: options.Json = None,
) -> None:
    """List the examples that come with ldpopt.

    They are short studies in Python, and need pip install "ldpopt[all]".
    """
    from ldpopt.problem.modelfile.page import shipped

    folder = shipped("examples")
    docstrings = {
        path.name: ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        for path in folder.glob("*.py")
    }
    entries = [
        {"name": name, "title": docstrings[name].strip().splitlines()[0]}
        for name in sorted(docstrings)
    ]
    if copy is not None:
        with file_errors("cannot copy the examples", copy, "name a new folder"):
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    where = str(folder if copy is None else Path(copy))
    table = Table(
        ["example", "title"],
        [[entry["name"], entry["title"]] for entry in entries],
        words=["title"],
    )
    show(Facts("", [table, f"in {where}"]), {"folder": where, "examples": entries}, json)
