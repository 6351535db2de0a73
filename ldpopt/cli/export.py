"""The command export: a model's linear program for other tools."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.options import option
from ldpopt.cli.printing import require_writable_or_stdout, say, show
from ldpopt.errors import ModelFileError
from ldpopt.foundation.files import replacing


def export(
    model: options.ModelPath,
    to: Annotated[
        Literal["lp", "mps"] | None,
        option("--to", "Format (default: by the file's ending, or LP)."),
    ] = None,
    output: Annotated[
        str, option("-o --output FILE", "'-' for stdout.", callback=require_writable_or_stdout)
    ] = "-",
    form: Annotated[
        options.ProgramForm | None, option("--form", "Form (default: the smallest exact one).")
    ] = None,
    json: options.Json = None,
) -> None:
    """Write a model's program as LP or MPS.

    Rows and columns have readable names.
    """
    from ldpopt.problem.modelfile import read_model
    from ldpopt.solving.formulation import formulate

    if json == "-" and output == "-":
        raise typer.BadParameter("the program and the JSON cannot both go to stdout: add -o FILE")
    ending = Path(output).suffix.lstrip(".").lower()
    if to is None and output != "-" and ending not in ("lp", "mps"):
        problem = f"unknown format {ending!r} of a program"
        do = "use the ending .lp or .mps, or name the format with --to"
        raise ModelFileError(problem, code="format", where=output, do=do)
    kind = to or ("mps" if ending == "mps" else "lp")
    program = formulate(read_model(model).require_problem(model), form)
    if program.form == "relaxation":
        say("note: this is the entry-wise relaxation; `ldpopt solve` adds violated events")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"program.{kind}"
        program.write(path)
        text = path.read_text(encoding="utf-8")
    rows, columns = program.shape
    data: dict[str, Any] = {"file": output, "format": kind, "form": program.form}
    data |= {"rows": rows, "columns": columns, "nonzeros": program.nnz}
    if output == "-":
        sys.stdout.write(text)
    else:
        with replacing(output) as stream:
            stream.write(text)
    done = f"{output}: {program.form}, {rows} rows, {columns} columns, {program.nnz} non-zeros"
    show(None if output == "-" else done, data, json)
