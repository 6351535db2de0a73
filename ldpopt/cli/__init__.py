"""Product: the command line: a thin shell over the public functions, one command per task, on
files.

`app` runs the commands and turns errors into exit codes; `options` has the options that commands
share, `printing` what they print, `questions` the files that a survey works on. Every other file is
the command of its name. Large libraries are imported inside the commands, so ``ldpopt --help`` is
fast.
"""

import gc

from ldpopt.cli.interrupts import exit_on_interrupt

__all__ = ["main"]

# New objects after which garbage is sought: imports make many and no garbage, and a search takes a
# tenth of a short command.
OBJECTS = 50_000


def main() -> None:
    """Run the command line of this process, and end the process with its exit code."""
    exit_on_interrupt()
    gc.set_threshold(OBJECTS)
    from ldpopt.cli.app import run

    run()
