"""Rows a second and peak memory of privatizing and estimating tables in files, and of draws in
memory; seconds until a command has started; writes benchmarks/tables.md.

    python benchmarks/tables.py [ROWS]

"Row by row" is what `ldpopt privatize` and `ldpopt estimate` did before pyarrow: csv of the
standard library and a dictionary of labels. "By hand" is what a person writes with numpy: floats,
without an exact law. Each case runs in a process of its own, three times;
CPU seconds of all its threads.
"""

from __future__ import annotations

import compileall
import csv
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np

ROWS, RUNS = 10_000_000, 3
LABELS = ("never", "rarely", "sometimes", "often", "always")


def mechanism():
    from ldpopt import Mechanism

    channel = np.ones((5, 5)) + 2 * np.eye(5)
    return Mechanism(channel / channel.sum(axis=1, keepdims=True), LABELS)


def row_by_row_privatize(folder, channel):
    position = {label: code for code, label in enumerate(channel.inputs)}
    with (
        open(folder / "in.csv", newline="") as source,
        open(folder / "out.csv", "w", newline="") as target,
    ):
        reader = csv.reader(source, strict=True)
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(next(reader))
        while chunk := [(reader.line_num, row) for row in islice(reader, 1 << 16)]:
            codes = np.array([position.get(row[0], -1) for _, row in chunk])
            reports = channel.sampler.draw(codes).tolist()
            writer.writerows([channel.outputs[code]] for code in reports)


def row_by_row_estimate(folder, channel):
    from ldpopt import estimate_frequencies

    seen: Counter[str] = Counter()
    with open(folder / "in.csv", newline="") as source:
        reader = csv.reader(source, strict=True)
        next(reader)
        for row in reader:
            if row[0] not in channel.outputs:
                raise ValueError(row[0])
            seen[row[0]] += 1
    estimate_frequencies(channel, seen)


def privatize(ending):
    def run(folder, channel):
        from ldpopt.mechanism.privatizing import privatize_file
        from ldpopt.mechanism.questions import Question

        privatize_file(
            folder / f"in.{ending}", folder / f"out.{ending}", {"answer": Question(channel)}
        )

    return run


def estimate(ending):
    def run(folder, channel):
        from ldpopt import Counts, estimate_frequencies

        estimate_frequencies(channel, Counts.of(channel, folder / f"in.{ending}", column="answer"))

    return run


def drawn_by_hand(codes, share, rng):
    """Randomized response of 5 answers with numpy."""
    reports = rng.integers(0, 4, len(codes))
    reports += reports >= codes
    return np.where(rng.random(len(codes)) < share, codes, reports)


def draw_by_hand(folder, channel):
    codes = np.load(folder / "codes.npy")
    drawn_by_hand(codes, float(channel.channel[0, 0]), np.random.default_rng(1))


def draw(rng):
    def run(folder, channel):
        channel.sampler.draw(np.load(folder / "codes.npy"), rng=rng)

    return run


def labels_by_hand(folder, channel):
    names = np.array(channel.inputs)
    order = np.argsort(names)
    labels = names[np.load(folder / "codes.npy")]
    codes = order[np.searchsorted(names[order], labels)]
    names[drawn_by_hand(codes, float(channel.channel[0, 0]), np.random.default_rng(1))]


def labels(rng):
    def run(folder, channel):
        names = np.array(channel.inputs)
        channel.privatize(names[np.load(folder / "codes.npy")], rng=rng)

    return run


COMMANDS = {
    "python -c 'import numpy'": ["-c", "import numpy"],
    "python -c 'import numpy, pyarrow'": ["-c", "import numpy, pyarrow"],
    "ldpopt --help": ["-m", "ldpopt", "--help"],
    "ldpopt privatize, 1000 rows": [
        *("-m", "ldpopt", "privatize", "coin.json", "small/in.csv"),
        *("-c", "answer", "-o", "small/started.csv"),
    ],
    "ldpopt estimate, 1000 rows": [
        *("-m", "ldpopt", "estimate", "coin.json", "small/in.csv", "-c", "answer")
    ],
}


CASES = {
    "privatize, CSV, row by row": row_by_row_privatize,
    "privatize, CSV": privatize("csv"),
    "privatize, Parquet": privatize("parquet"),
    "estimate, CSV, row by row": row_by_row_estimate,
    "estimate, CSV": estimate("csv"),
    "estimate, Parquet": estimate("parquet"),
    "draw, codes, by hand": draw_by_hand,
    "draw, codes, seeded": draw(1),
    "draw, codes, system": draw(None),
    "labels, by hand": labels_by_hand,
    "labels, seeded": labels(1),
    "labels, system": labels(None),
}


def write_tables(folder, rows):
    """The same answers as CSV and Parquet, in batches."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    np.save(folder / "codes.npy", rng.integers(0, 5, rows))
    names = pa.array(LABELS)
    schema = pa.schema([("answer", pa.string())])
    with (
        open(folder / "in.csv", "w") as stream,
        pq.ParquetWriter(folder / "in.parquet", schema) as writer,
    ):
        stream.write("answer\n")
        for start in range(0, rows, 1 << 20):
            answers = names.take(pa.array(rng.integers(0, 5, min(1 << 20, rows - start))))
            stream.write("\n".join(answers.to_pylist()) + "\n")
            writer.write_batch(pa.record_batch([answers], schema=schema))


def measure_one(name, folder):
    """CPU seconds and peak memory of one case; prints JSON."""
    channel = mechanism()
    CASES[name](Path(folder) / "small", channel)  # imports what is needed
    start = time.process_time()
    CASES[name](Path(folder), channel)
    print(json.dumps([time.process_time() - start, peak_megabytes()]))


def peak_megabytes():
    """Largest resident memory of this process; the other figure of the system would contain that of
    its parent."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name, folder):
    args = [sys.executable, __file__, "--one", name, str(folder)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return [
        json.loads(subprocess.run(args, check=True, capture_output=True, text=True, env=env).stdout)
        for _ in range(RUNS)
    ]


def started(folder):
    """CPU seconds of each command, start of Python included."""
    folder = Path(folder)
    mechanism().save(folder / "coin.json")
    home = Path(__file__).parents[1]
    compileall.compile_dir(home / "ldpopt", quiet=1)  # as pip does for every package
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env["PYTHONPATH"] = str(home)
    found = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, arguments in COMMANDS.items():
            before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            (folder / "small" / "started.csv").unlink(missing_ok=True)
            subprocess.run(
                [sys.executable, *arguments], check=True, capture_output=True, env=env, cwd=folder
            )
            found[name].append(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before)
    return found


def page(rows, found, starts):
    """The tables in Markdown; a case is compared with the first one of its verb."""
    before = {}
    for name, runs in found.items():
        before.setdefault(name.partition(",")[0], np.median([second for second, _ in runs]))
    lines = [
        "# Tables: privatized and estimated from files",
        "",
        f"{rows:,} rows of one column, five labels. CPU seconds, median (range) of {RUNS} "
        "processes each; the time to",
        "import the library is in none. Parquet was refused before: it is compared with CSV, "
        "row by row.",
        f"Made by `python benchmarks/tables.py`, Python {platform.python_version()}, "
        f"{platform.machine()}, shared.",
        "",
        "| case | CPU s | million rows a CPU s | times as fast | peak MB |",
        "|---|---|---|---|---|",
    ]
    for name, runs in found.items():
        seconds = sorted(second for second, _ in runs)
        middle = float(np.median(seconds))
        times = before[name.partition(",")[0]] / middle
        spread = f"{middle:.2f} ({seconds[0]:.2f} to {seconds[-1]:.2f})"
        peak = max(peak for _, peak in runs)
        lines.append(
            f"| {name} | {spread} | {rows / middle / 1e6:.2f} | {times:.2f} | {peak:.0f} |"
        )
    lines += ["", "Below 1 we are behind: draws by hand have floats and no exact law."]
    lines += ["", "## Start", "", "| command | CPU s, median (range) |", "|---|---|"]
    for name, seconds in starts.items():
        middle = float(np.median(seconds))
        lines.append(f"| {name} | {middle:.2f} ({min(seconds):.2f} to {max(seconds):.2f}) |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--one" in sys.argv:
        measure_one(*sys.argv[2:])
        sys.exit()
    size = int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "small").mkdir()
        write_tables(Path(name) / "small", 1000)
        write_tables(Path(name), size)
        results = {case: measure(case, name) for case in CASES}
        starts = started(name)
    place = Path(__file__).with_suffix(".md")
    _, mark, commands = place.read_text().partition("\n## The commands\n")  # measured by hand
    place.write_text(page(size, results, starts) + mark + commands)
