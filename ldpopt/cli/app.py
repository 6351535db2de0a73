"""The frame of all commands: exit codes, one line per error, no traceback on closed pipes and
Ctrl-C.
"""

import atexit
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ldpopt.cli import (
    account,
    audit,
    certify,
    check,
    compare,
    design,
    estimate,
    examples,
    experiment,
    export,
    init,
)

# isort: split
from ldpopt.cli import (
    key,
    models,
    plan,
    plot,
    privatize,
    report,
    simulate,
    solve,
    solvers,
    sweep,
    test,
    vertices,
)
from ldpopt.cli.interrupts import INTERRUPTED, raise_on_interrupt
from ldpopt.cli.options import option
from ldpopt.cli.printing import (
    BAD_STATEMENT,
    FALSE_CLAIM,
    NO_SOLUTION,
    expect_json,
    say,
    say_error,
    show_error,
)
from ldpopt.cli.survey import survey
from ldpopt.errors import CertificateError, LdpoptError, NoSolutionError, PrivacyViolationError

# All commands but those on surveys, in the order of ``ldpopt --help``: each is the function in the
# file of its name
FIRST = (
    init,
    check,
    solve,
    design,
    compare,
    audit,
    account,
    certify,
    vertices,
    test,
    plan,
    key,
    privatize,
    estimate,
    sweep,
)
OTHERS = (simulate, experiment, plot, report, export, solvers, models, examples)
COMMANDS = tuple(vars(file)[file.__name__.rpartition(".")[2]] for file in FIRST + OTHERS)
CHECK_PATH = "check the path, the free space and the permissions"
FREE_SPACE = f" | do: {CHECK_PATH}"
EXIT_CODES = (
    "Exit codes: 0 done; 1 a claim does not hold; 2 bad statement, file or usage; 3 no solution."
)
# Base class of all usage errors: from click or from typer itself, depending on the version of typer
USAGE_ERROR: Any = typer.BadParameter.__mro__[2]


def run() -> NoReturn:
    """Run the command line, and end the process with its exit code."""
    try:
        app()
    except SystemExit as ended:
        # The thread of arrow that reads a table can outlive Python, and then aborts the process:
        # end without it, after what is registered for the end.
        if "ldpopt.tables.csv_" in sys.modules and isinstance(ended.code, int):
            from ldpopt.tables.csv_ import has_read

            if has_read():
                atexit._run_exitfuncs()
                os._exit(ended.code)
        raise
    raise AssertionError("the application ends with an exit code")


class Shell(TyperGroup):
    """The group of commands; it turns errors into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; the library's errors become a line and an exit code, others keep their
        traceback.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(0) from None
        except KeyboardInterrupt as error:
            say(f"interrupted: {error}" if str(error) else "interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except LdpoptError as error:
            say_error(error)
            is_false = isinstance(error, (PrivacyViolationError, CertificateError))
            code = (
                NO_SOLUTION
                if isinstance(error, NoSolutionError)
                else FALSE_CLAIM
                if is_false
                else BAD_STATEMENT
            )
            raise typer.Exit(code) from None
        except MemoryError:
            do = "take fewer inputs, outputs or points"
            say_error(LdpoptError("out of memory", code="memory", do=do), "MemoryError")
            raise typer.Exit(BAD_STATEMENT) from None
        finally:
            # no command runs, whose files an exception would have to clean up: end at once again
            raise_on_interrupt(False)

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Parse and run; a usage error becomes one line."""
        extra |= {"standalone_mode": False, "prog_name": "ldpopt"}
        _prepare_streams()
        words = args[0] if args else extra.get("args")
        expect_json(sys.argv[1:] if words is None else list(words))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("once", UserWarning)
                warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
                code = super().main(*args, **extra)
        except USAGE_ERROR as error:
            context = getattr(error, "ctx", None)
            command = "ldpopt" if context is None else context.command_path
            do = f"see '{command} --help'"
            say(f"{error.format_message()} | do: {do}")
            usage = LdpoptError(error.format_message(), code="usage", do=do)
            show_error(usage, type(error).__name__)
            code = BAD_STATEMENT
        except typer.Abort:
            code = INTERRUPTED
        except OSError as error:
            what = str(error.strerror or error)
            where = str(error.filename or "")
            refusal = LdpoptError(what, code="file", where=where, do=CHECK_PATH)
            say_error(refusal, type(error).__name__)
            code = BAD_STATEMENT
        except SystemExit:  # from typer, if the reader of --help closed the pipe
            code = 0
        sys.exit(_flushed(code if isinstance(code, int) else 0))


def _prepare_streams() -> None:
    """Make closed streams, and labels outside the terminal's encoding, harmless."""
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the process ends
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flushed(code: int) -> int:
    """Flush the streams, which the interpreter would try again, and return the exit code: an error
    if text is lost.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            with suppress(OSError, ValueError):  # the stream is not a file, as in a test
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if code == 0 and stream is sys.stdout and not isinstance(error, BrokenPipeError):
                say(f"{error.strerror or error}{FREE_SPACE}")
                code = BAD_STATEMENT
    return code


app = typer.Typer(
    cls=Shell,
    help="Find optimal mechanisms for local differential privacy, with proof.",
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in COMMANDS:
    app.command()(_command)
app.add_typer(survey, name="survey")


def _print_version(is_given: bool) -> None:
    if is_given:
        from importlib.metadata import version

        print(version("ldpopt"))
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: Annotated[
        bool, option("--version", "Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find optimal mechanisms for local differential privacy, with proof."""
    if context.invoked_subcommand is None:
        print(context.get_help())
