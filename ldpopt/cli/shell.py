"""The frame of all commands: exit codes, one line per error, no traceback on closed pipes and Ctrl-C."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ldpopt.cli.interrupts import INTERRUPTED, interrupts_raise
from ldpopt.cli.output import is_working, say
from ldpopt.errors import CertificateError, LdpoptError, NoSolutionError, PrivacyViolationError

FALSE_CLAIM = 1
"""A claim does not hold: an audit, an expected value, a certificate."""

BAD_STATEMENT = 2
"""A bad statement, file or usage."""

NO_SOLUTION = 3
"""No mechanism: the problem is infeasible, or a limit was reached."""

EXIT_CODES = "Exit codes: 0 done; 1 a claim does not hold; 2 bad statement, file or usage; 3 no solution."


USAGE_ERROR: Any = typer.BadParameter.__mro__[2]
"""Base class of all usage errors: from click or from typer itself, depending on the version of typer."""


class Shell(TyperGroup):
    """The group of commands; it turns errors into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; the library's errors become a line and an exit code, others keep their traceback."""
        try:
            with interrupts_raise():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(0) from None
        except KeyboardInterrupt as error:
            _interrupted(str(error))
        except LdpoptError as error:
            say(error.one_line)
            raise typer.Exit(exit_code(error)) from None
        except MemoryError:
            say("out of memory | do: take fewer inputs, outputs or points")
            raise typer.Exit(BAD_STATEMENT) from None

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Parse and run; a usage error becomes one line."""
        extra |= {"standalone_mode": False, "prog_name": "ldpopt"}
        _prepare_streams()
        try:
            code = super().main(*args, **extra)
        except USAGE_ERROR as error:
            _explain(error)
            code = BAD_STATEMENT
        except typer.Abort:
            code = INTERRUPTED
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            say(f"{name}{error.strerror or error}")
            code = BAD_STATEMENT
        except SystemExit:  # from typer, if the reader of --help closed the pipe
            code = 0
        sys.exit(_flushed(code if isinstance(code, int) else 0))


def exit_code(error: LdpoptError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, NoSolutionError):
        return NO_SOLUTION
    return FALSE_CLAIM if isinstance(error, (PrivacyViolationError, CertificateError)) else BAD_STATEMENT


def refuse(message: str) -> NoReturn:
    """End with the exit code of a claim that does not hold."""
    say(message)
    raise typer.Exit(FALSE_CLAIM)


def _explain(error: Any) -> None:
    """Print a usage error on one line."""
    context = getattr(error, "ctx", None)
    command = "ldpopt" if context is None else context.command_path
    say(f"{error.format_message()} | do: see '{command} --help'")


def _interrupted(done: str) -> NoReturn:
    say(f"interrupted: {done}" if done else "interrupted")
    if is_working():
        # A solver in compiled code cannot be stopped, and must not run longer than its objects exist.
        _end_at_once(_flushed(INTERRUPTED))
    raise typer.Exit(INTERRUPTED)


def leave(ended: SystemExit) -> NoReturn:
    """End the process; at once if a table was left before its end, as the thread that reads it outlives Python."""
    if "ldpopt.tables.csv_" in sys.modules and isinstance(ended.code, int):
        from ldpopt.tables.csv_ import is_reading

        if is_reading():
            _end_at_once(ended.code)
    raise ended


def _end_at_once(code: int) -> NoReturn:
    if "ldpopt.solvers.guarded" in sys.modules:
        from ldpopt.solvers.guarded import stop_all

        stop_all()
    os._exit(code)


def _prepare_streams() -> None:
    """Make closed streams, and labels outside the terminal's encoding, harmless."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the process ends
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flushed(code: int) -> int:
    """Flush the streams and return the exit code; that of an error if results are lost.

    Without this, the interpreter would try again to write the remaining buffer, print an error and exit with 120.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            _redirect_to_null(stream)
            if code == 0 and stream is sys.stdout and not isinstance(error, BrokenPipeError):
                say(error.strerror or str(error))
                code = BAD_STATEMENT
    return code


def _redirect_to_null(stream: IO[str]) -> None:
    with suppress(OSError, ValueError):  # the stream is not a file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


app = typer.Typer(
    cls=Shell,
    help="Find optimal mechanisms for local differential privacy, with proof.",
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("ldpopt"))
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find optimal mechanisms for local differential privacy, with proof."""
    if context.invoked_subcommand is None:
        print(context.get_help())
