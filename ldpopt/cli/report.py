"""The command report: one page about a model's mechanism, for people who decide about a survey."""

from pathlib import Path
from typing import Annotated

import typer

from ldpopt.cli import options
from ldpopt.cli.printing import require_writable, show, working
from ldpopt.foundation.files import replacing


def report(
    model: options.ModelPath,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="The page, as HTML.")],
    budgets: Annotated[
        bool,
        typer.Option(
            "--budgets/--no-budgets",
            help="Include a slider for budgets from a quarter to four times that of the model.",
        ),
    ] = True,
    time_limit: options.TimeLimit = None,
    json: options.Json = None,
) -> None:
    """Write one page about a mechanism, for people who decide.

    It has the question in words, what each person risks, the mechanism, how precise the estimates are for a given
    number of people, the proof, and how to repeat the computation. It needs no network, and scripts only for the
    slider. For a model with a workload it describes the design.
    """
    from ldpopt.plotting.report import report as page
    from ldpopt.problem.modelfile import read_model

    require_writable(output)
    found = read_model(model)
    source = Path(model).read_text(encoding="utf-8")
    with working(f"reporting on {Path(model).name}"):
        text = page(found, source=source, title=Path(model).stem, budgets=budgets, time_limit=time_limit)
    with replacing(output) as stream:
        stream.write(text)
    data = {"file": output, "title": found.title, "bytes": len(text.encode())}
    show(f"{output}: open it in a browser", data, json)
