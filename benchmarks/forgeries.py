"""Forged and true files, read by the library, the command line and the checker.

python benchmarks/forgeries.py                # 3000 forged files; rewrites forgeries.md
python benchmarks/forgeries.py --count 300

Files of every kind are changed as in ``tests/tampering.py`` and, key by key, as in
``tests/every_key.py``, with digests that fit: some changes make a file false, others leave it true.
Forged bytes are repeated keys, texts that are no JSON, and numbers that none is. As many true files
are the originals in other layouts: keys in another order, other spaces, another title.

The command line runs in this process, and for 100 of the files as a program. Exit code 1 if a false
file is accepted, a true one refused, or if library, command line and checker disagree.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS), str(TESTS / "agreement"), str(TESTS.parent)]

from test_every_key import is_declared, is_same, plain  # noqa: E402

from builders import run_cli  # noqa: E402
from every_key import changed, plans, sealed, shown  # noqa: E402
from forged_bytes import forged_bytes  # noqa: E402
from genuine import KINDS, READ_BY_CHECKER, accepted, files  # noqa: E402
from tampering import account_tamperings, tamperings  # noqa: E402

PROGRAMS = 100
READ_BY_COMMANDS = {"design": "certify", "account": "certify", "program": "certify"} | {
    "survey": "certify",
    "mechanism": "audit",
}
LONGEST = 20_000
"""Characters of the largest file that is changed."""


class Forgery(NamedTuple):
    """A file, and whether it is false; None if that is for the readers to prove."""

    kind: str
    how: str
    what: str
    text: str | bytes
    is_false: bool | None


def forgeries(kind: str, name: str) -> Iterator[Forgery]:
    """Forged files that are made of a true one, of several ways in turn."""
    text = files(kind)[name]
    data = json.loads(text)
    ways = [_by_key(kind, data), _in_bytes(kind, text)]
    if kind in ("design", "account"):
        ways.append(_by_meaning(kind, data))
    for group in zip_longest(*ways):
        yield from filter(None, group)


def _by_meaning(kind: str, data: Any) -> Iterator[Forgery]:
    every = list(account_tamperings(data) if kind == "account" else tamperings(data, 60))
    random.Random(0).shuffle(every)
    for what, other, is_false in every:
        yield Forgery(kind, "a number or label", what, json.dumps(other), is_false)


def _by_key(kind: str, data: Any) -> Iterator[Forgery]:
    every = list(plans(data))
    random.Random(1).shuffle(every)
    written = json.dumps(data)
    for place, what, value in every:
        other = changed(written, place, value)
        new = sealed(other)
        is_false = None
        if not is_same(plain(new), plain(data)) and not is_declared(kind, shown(place), what):
            is_false = True
        how = "a key" if what in ("taken away", "renamed") or "unread" in what else "a value"
        yield Forgery(kind, how, f"{shown(place)}: {what}", json.dumps(new), is_false)
        if not is_same(other, data) and "digest" in data and kind not in ("mechanism",):
            yield Forgery(kind, "not sealed", f"{shown(place)}: {what}", json.dumps(other), True)


def _in_bytes(kind: str, text: str) -> Iterator[Forgery]:
    for what, raw in forged_bytes(text):
        yield Forgery(kind, "no JSON", what, raw, True)


def true_files(kind: str, name: str) -> Iterator[Forgery]:
    """The same file in other layouts."""
    data = json.loads(files(kind)[name])
    draw = random.Random(2)
    while True:
        other = shuffled(data, draw)
        comment = "about" if kind == "design" else ""
        if draw.random() < 0.3 and kind in ("design", "mechanism", "survey"):
            table = other[comment] if comment else other
            table["title"] = "".join(draw.choices("abc é☃", k=9))
            other = sealed(other)
        text = json.dumps(other, indent=draw.choice([None, 0, 3]), ensure_ascii=draw.random() < 0.5)
        mark = "\ufeff" if draw.random() < 0.2 else ""
        yield Forgery(kind, "true", name, mark + text, False)


def shuffled(data: Any, draw: random.Random) -> Any:
    """The same values with the keys of every object in another order."""
    if isinstance(data, dict):
        first = [key for key in data if key == "format"]
        rest = [key for key in data if key != "format"]
        draw.shuffle(rest)
        return {key: shuffled(data[key], draw) for key in first + rest}
    return [shuffled(part, draw) for part in data] if isinstance(data, list) else data


def spread(count: int, make: Any) -> list[Forgery]:
    """About that many files, in equal parts of all kinds and all files of a kind."""
    chosen: list[Forgery] = []
    for kind in KINDS:
        names = [name for name in files(kind) if len(files(kind)[name]) < LONGEST]
        size = -(-count // (len(KINDS) * len(names)))
        for name in names:
            chosen += islice(make(kind, name), size)
    return chosen


class Verdicts:
    """What each reader says of files: false ones accepted, true ones refused."""

    def __init__(self) -> None:
        self.files: Counter[tuple[str, str, str]] = Counter()
        self.wrong: Counter[tuple[str, str, str]] = Counter()
        self.lines: list[str] = []

    def add(self, reader: str, forgery: Forgery, verdict: bool, proved: bool) -> None:
        """Count a verdict; of a file that is true if it is proved, that of the library is right if
        all agree with it."""
        key = reader, forgery.kind, forgery.how
        self.files[key] += 1
        is_false = forgery.is_false if forgery.is_false is not None else not proved
        if verdict == is_false:
            self.wrong[key] += 1
            word = "accepted" if verdict else "refused"
            self.lines.append(f"{reader} {word} {forgery.kind}, {forgery.how}, {forgery.what}")


def read(path: Path, every: list[Forgery], programs: int) -> Verdicts:
    """Give all files to all readers."""
    verdicts = Verdicts()
    for place, forgery in enumerate(every):
        ours, theirs = accepted(forgery.kind, path, forgery.text)
        proved = ours
        verdicts.add("library", forgery, ours, proved)
        if theirs is not None:
            verdicts.add("checker", forgery, theirs, proved)
        command = READ_BY_COMMANDS.get(forgery.kind)
        if command is None:
            continue
        verdicts.add("command line", forgery, run_cli(command, path).exit_code == 0, proved)
        if place % max(1, len(every) // programs) == 0:
            done = subprocess.run(
                [sys.executable, "-m", "ldpopt", command, str(path)], capture_output=True
            )
            verdicts.add("program", forgery, done.returncode == 0, proved)
            if b"Traceback" in done.stderr + done.stdout:
                verdicts.lines.append(f"a traceback: {forgery.kind}, {forgery.what}")
    return verdicts


def page(forged: Verdicts, true: Verdicts) -> str:
    """Tables by kind of file and by way of forging."""
    lines = ["# Forged files", "", __doc__.split("\n\n")[2].replace("``", "`"), ""]
    readers = ("library", "checker", "command line", "program")
    lines += ["| reader | forged files | judged wrongly | true files | refused |"]
    lines += ["|---|---|---|---|---|"]
    for reader in readers:
        numbers = [
            sum(count for key, count in table.items() if key[0] == reader)
            for table in (forged.files, forged.wrong, true.files, true.wrong)
        ]
        lines.append(f"| {reader} | {' | '.join(map(str, numbers))} |")
    ways = sorted({how for _, _, how in forged.files})
    lines += ["", "Forged files by kind and way, and how many of them a reader judged wrongly:", ""]
    lines += [f"| kind | read by | {' | '.join(ways)} |", "|---" * (len(ways) + 2) + "|"]
    for kind in KINDS:
        checked = "library, checker" if kind in READ_BY_CHECKER else "library"
        line = f"{checked}{', ' + READ_BY_COMMANDS[kind] if kind in READ_BY_COMMANDS else ''}"
        cells = []
        for how in ways:
            wrong = sum(forged.wrong[reader, kind, how] for reader in readers)
            cells.append(f"{forged.files['library', kind, how]} ({wrong})")
        lines.append(f"| {kind} | {line} | {' | '.join(cells)} |")
    wrong = forged.lines + true.lines
    lines += ["", *(f"- {line}" for line in wrong)] if wrong else []
    return "\n".join([*lines, ""])


def main() -> int:
    """Read all files, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--programs", type=int, default=PROGRAMS)
    parser.add_argument("-o", "--output", default=str(Path(__file__).with_suffix(".md")))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        forged = read(path, spread(options.count, forgeries), options.programs)
        true = read(path, spread(options.count, true_files), options.programs)
    text = page(forged, true)
    Path(options.output).write_text(text, encoding="utf-8")
    print(text)
    return int(bool(forged.lines or true.lines))


if __name__ == "__main__":
    sys.exit(main())
