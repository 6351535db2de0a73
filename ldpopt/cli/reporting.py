"""The command report: one page on a model's mechanism, for those who decide about a survey."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli.output import Json, ModelPath, printable, require_writable, wait_for
from ldpopt.cli.output import report as tell
from ldpopt.cli.solving import TimeLimit
from ldpopt.foundation.files import replacing


def report(
    model: ModelPath,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="The page, as HTML.")],
    budgets: Annotated[
        bool,
        typer.Option(
            "--budgets/--no-budgets", help="Include a slider for budgets from a quarter to four times the stated one."
        ),
    ] = True,
    time_limit: TimeLimit = None,
    json: Json = None,
) -> None:
    """Write one page about a model's mechanism, for people who decide without reading code.

    It has the question in words, what each person risks, the mechanism, how precise the estimates are for a given
    number of people, the proof, and how to repeat the computation. It needs no network and no scripts. For a model
    with a workload it describes the design.
    """
    from ldpopt.plotting.report import report as write
    from ldpopt.problem.modelfile import read_model

    require_writable(output)
    stated = read_model(model)
    source = Path(model).read_text(encoding="utf-8")
    text = wait_for(
        lambda: write(stated, source=source, title=Path(model).stem, budgets=budgets, time_limit=time_limit),
        f"reporting on {Path(model).name}",
    )
    with replacing(output) as stream:
        stream.write(text)
    data = {"file": output, "title": stated.title, "bytes": len(text.encode())}
    tell(data, json, lambda: print(printable(f"{output}: open it in a browser")))
