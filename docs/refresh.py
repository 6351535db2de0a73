"""Make the outputs in the documentation anew: ``python docs/refresh.py [FILE ...]``.

It runs the examples of the README and of all docstrings and the commands of ``command_line.md``, or
those of the named files, and writes what they print over what stands there if the two differ.
Seconds, rounding errors and draws without a seed are no difference. After a change of seeded draws
this is the one command; read the changes (``git diff``) before they are committed.
"""

import doctest
import importlib
import shlex
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from types import ModuleType
from typing import Any

HOME = Path(__file__).parents[1]
sys.path[:0] = [str(HOME / "tests"), str(HOME / "tests" / "cli")]

import test_documented_commands as commands  # noqa: E402

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
Change = tuple[int, int, list[str]]  # the lines from one number to before another one, and new ones


class Runner(doctest.DocTestRunner):
    """Runs examples, and keeps what the failing ones print."""

    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS)
        self.changes: list[Change] = []

    def report_failure(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        """Keep the new output of an example."""
        first = (test.lineno or 0) + example.lineno + example.source.count("\n")
        margin = " " * example.indent
        lines = [margin + (line or "<BLANKLINE>") for line in got.splitlines()]
        self.changes.append((first, first + example.want.count("\n"), lines))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        """Say which example does not run: no output replaces it."""
        print(f"{test.name}: {example.source.strip()} raises {exc_info[1]!r}", file=sys.stderr)


def rewritten(path: Path, changes: list[Change]) -> None:
    """Write new lines over old ones, from the last to the first."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for first, last, new in sorted(changes, reverse=True):
        lines[first:last] = new
    if changes:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{path.relative_to(HOME)}: {len(changes)} outputs")


def examples_of(path: Path) -> list[doctest.DocTest]:
    """The examples of a page, or of the docstrings of a module."""
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
        return [doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)]
    name = ".".join(path.relative_to(HOME).with_suffix("").parts).removesuffix(".__init__")
    module: ModuleType = importlib.import_module(name)
    return doctest.DocTestFinder(exclude_empty=True).find(module)


def refresh_examples(path: Path) -> None:
    """Run the examples of a page or module, and write their outputs."""
    runner = Runner()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for test in examples_of(path):
            runner.run(test, out=lambda text: None)
    rewritten(path, runner.changes)


def _places(lines: list[str]) -> list[int]:
    """Numbers of the lines with a command, in blocks of a console."""
    found = []
    is_console = False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            is_console = line == "```console"
        elif is_console and line.startswith("$ "):
            found.append(number)
    return found


def refresh_commands(path: Path) -> None:
    """Run the commands of a page in their order, and write their outputs."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = _places(lines)
    changes: list[Change] = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        commands.make_files(Path(folder))
        for (command, shown), start in zip(commands.documented(), starts, strict=True):
            printed = commands.run_documented(command, Path(folder))
            if printed is None:
                continue
            head = shown[:1] == ["..."]
            new = printed[len(printed) - len(shown) + 1 :] if head else printed
            try:
                commands.same(shown, printed, shlex.split(command)[1] in commands.RANDOM)
            except AssertionError:
                first = start + 1
                changes.append((first, first + len(shown), [*shown[:head], *new]))
    rewritten(path, changes)


def main(names: list[str]) -> None:
    """Refresh the named files, or all."""
    named = [Path(name).resolve() for name in names]
    modules = sorted(
        path
        for path in (HOME / "ldpopt").rglob("*.py")
        if path.name != "__main__.py" and ">>> " in path.read_text(encoding="utf-8")
    )
    for path in named or [HOME / "README.md", *modules, commands.PAGE]:
        refresh_commands(path) if path == commands.PAGE else refresh_examples(path)


if __name__ == "__main__":
    main(sys.argv[1:])
