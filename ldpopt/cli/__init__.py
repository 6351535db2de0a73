"""The command line: a thin shell over the public names, one verb a stage, nouns are files.

`verbs` lists them, `shell` turns errors into exit codes, `interrupts` hears Ctrl-C, `output` speaks; the other files
hold the verbs. Everything heavy is imported inside the verbs: ``ldpopt --help`` costs little more than typer.
"""

from ldpopt.cli.interrupts import end_at_once

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process, and end it with the exit code."""
    end_at_once()
    from ldpopt.cli.verbs import app

    app()
