"""The command line: a thin shell over the public names, one verb a stage, nouns are files.

`shell` turns errors into exit codes, `output` speaks; the other files hold the verbs. Everything heavy is imported
inside the verbs: ``ldpopt --help`` costs little more than ``import ldpopt``.
"""

from __future__ import annotations

from ldpopt.cli.auditing import audit
from ldpopt.cli.certifying import certify
from ldpopt.cli.comparing import compare
from ldpopt.cli.drawing import plot, sweep
from ldpopt.cli.listing import vertices
from ldpopt.cli.shell import app
from ldpopt.cli.solving import check, export, models, solve, solvers
from ldpopt.cli.surveying import estimate, privatize

__all__ = ["app", "main"]

for _verb in (
    check,
    solve,
    compare,
    audit,
    certify,
    vertices,
    privatize,
    estimate,
    sweep,
    plot,
    export,
    solvers,
    models,
):
    app.command()(_verb)


def main() -> None:
    """Run the command line of this process, and end it with the exit code."""
    app()
