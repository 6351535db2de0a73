"""The command line: a thin shell over the public functions, one command (verb) per task, on files.

`verbs` lists the commands, `shell` turns errors into exit codes, `interrupts` handles Ctrl-C, `output` prints. The
other files contain the commands. Large libraries are imported inside them, so ``ldpopt --help`` is fast.
"""

from ldpopt.cli.interrupts import exit_on_interrupt

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process, and end the process with its exit code."""
    exit_on_interrupt()
    from ldpopt.cli.shell import leave
    from ldpopt.cli.verbs import app

    try:
        app()
    except SystemExit as ended:
        leave(ended)
