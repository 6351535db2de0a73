"""The command init: a model file to begin with."""

from shlex import quote
from typing import Annotated

import typer

from ldpopt.cli import options
from ldpopt.cli.options import argument, option
from ldpopt.cli.printing import show, write_new


def init(
    file: Annotated[str, argument("FILE", "The model file to write.")] = "model.toml",
    answers: Annotated[str, option("--answers A,B,...", "The possible answers.")] = "no,yes",
    epsilon: Annotated[str, option("--epsilon E", "Privacy budget in nats, or 'log(3)'.")] = "1.0",
    title: Annotated[str, option("--title TEXT", "Title of the model.")] = "My question",
    estimate: Annotated[
        bool, option("--estimate", "Write a workload for `ldpopt design`, not a utility.")
    ] = False,
    json: options.Json = None,
) -> None:
    """Write a model file with comments, as a starting point.

    It can be solved as it is; an existing file is not replaced.
    """
    from ldpopt.problem.modelfile.template import template

    inputs = [answer.strip() for answer in answers.split(",")]
    if len(inputs) < 2 or not all(inputs) or len(set(inputs)) < len(inputs):
        raise typer.BadParameter(
            f"--answers {answers!r} needs two or more different answers, with commas between"
        )
    path = write_new(file, template(title, inputs, epsilon, estimate=estimate))
    command = "design" if estimate else "solve"
    show(
        f"{path}: edit it, then `ldpopt {command} {quote(str(path))}`",
        {"file": str(path), "answers": inputs},
        json,
    )
