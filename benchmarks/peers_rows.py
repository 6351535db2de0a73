"""One table of every job that has a peer, worst ratio first; a section of peers.md.

    python benchmarks/peers.py --rows all        # 10 to 15 minutes; rewrites the section
    python benchmarks/peers.py --rows "worst case 40" start    # these, by the start of their names

Every cell is a process of its own, in turn with those beside it, three rounds. CPU seconds with
those of children, imports left out except for commands. In a process: the median of the runs of
a quarter of a second after a first one; a job of more than a second runs once.
"""

from __future__ import annotations

import compileall
import importlib.metadata
import json
import math
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).parent
TITLE = "All rows, worst first"
ROUNDS = 3
LIMIT = 15.0  # CPU seconds of a run
LONG = 5.0  # a cell that takes longer has one round
TOO_LONG = f"> {LIMIT:.0f}"
OURS = "ldpopt"
FLOOR = "import numpy"  # beside commands that have no peer
LINEAR = ("HiGHS simplex", "PIQP", "Clarabel")
PACKAGES = ("numpy", "highspy", "piqp", "clarabel", "dp-accounting", "polars", "duckdb")
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "NUMBA", "RAYON")} | {
    "POLARS_MAX_THREADS": "1"
}
CSV_ROWS, TABLE_ROWS = 10_000_000, 5_000_000
LABELS = ["never", "once", "often"]
ABSENT = "not installed here"

Job = Callable[[], Any]


@dataclass
class Row:
    """A row: what is measured, and the columns beside ours."""

    name: str
    kind: str
    size: float = 0
    peers: tuple[str, ...] = ()
    cells: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cells = {name: [] for name in (OURS, *self.peers)}

    def seconds(self, column: str) -> list[float]:
        """The seconds of the rounds of a column."""
        return [each["seconds"] for each in self.cells[column] if "seconds" in each]

    @property
    def ratio(self) -> float:
        """Our median over that of the best peer; at least that, if ours took too long; nan if there
        is no figure to compare with.
        """
        best = min((median(s) for name in self.peers if (s := self.seconds(name))), default=0.0)
        took_long = self.cells[OURS][0].get("failed") == TOO_LONG
        ours = [LIMIT] if took_long else self.seconds(OURS)
        return median(ours) / best if best and ours else math.nan

    def cell(self, column: str) -> str:
        """The text of a cell."""
        if column not in self.cells:
            return ""
        spent = self.seconds(column)
        if not spent:
            return str(self.cells[column][0]["failed"])
        ends = f" ({min(spent):.2g} to {max(spent):.2g})" if len(spent) > 1 else " (once)"
        return f"{median(spent):.3g}{ends}"


def rows() -> list[Row]:
    """All rows."""
    sizes = {
        "random": (5, 10, 20, 40, 80, 200),
        "worst case": (20, 40, 60),
        "event-wise": (8, 20, 28),
        "entry-wise": (20,),
        "path": (30,),
        "small world": (30,),
        "grid": (36, 100),
        "metric": (16, 25, 36),
    }
    listed = [Row(f"{kind} {n}", kind, n, LINEAR) for kind, each in sizes.items() for n in each]
    listed += [
        Row(f"composition of {k:,} reports", "composition", k, ("dp-accounting",))
        for k in (1_000, 10_000, 1_000_000)
    ]
    listed.append(Row("composition of 20 questions", "questions", 1000, ("dp-accounting",)))
    by_hand = ("numpy by hand", "polars by hand")
    listed += [Row(f"encode {n} answers", "encode", n, by_hand) for n in (16, 1000)]
    listed.append(Row("aggregate 16 answers", "aggregate", 16, by_hand))
    tables = ("polars by hand", "DuckDB by hand")
    listed.append(Row(f"CSV of {CSV_ROWS:,} rows", "csv", CSV_ROWS, tables))
    for name in commands():
        peer = BY_HAND.get(name, FLOOR)
        listed.append(Row(f"start of {name}", f"start:{name}", 1000, (peer,)))
    for n in (20, 22):
        listed.append(Row(f"design of {n}, default", "design", n))
        listed.append(Row(f"design of {n}, gap=1e-3", "design 1e-3", n))
    return listed


def chosen(names: Iterable[str]) -> list[Row]:
    """The rows of these names, or whose names begin with one of the texts; all for ``all``."""
    listed = rows()
    exact = {row.name for row in listed}
    return [
        row
        for row in listed
        if any(
            name in ("all", row.name) or (name not in exact and row.name.startswith(name))
            for name in names
        )
    ]


# Jobs of one process.


def problem_of(kind: str, n: int) -> Any:
    """The problem of a row, the same in every process."""
    import networkx as nx

    from ldpopt import ApproximateLDP, GraphDP, MetricDP, Problem, PureLDP, Utility

    rng = np.random.default_rng(1000 + n)
    prior = rng.dirichlet(np.ones(n))
    gain = Utility(rng.random((n, n)), "gain")
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    if kind == "worst case":
        return Problem(None, Utility(steps, "loss"), PureLDP(1.0), objective="worst_case")
    if kind == "path":
        return Problem(prior, Utility(steps, "loss"), GraphDP(1.0, nx.path_graph(n)))
    if kind == "metric":
        points = rng.random((n, 2)) * math.sqrt(n)
        far = np.sqrt(((points[:, None] - points) ** 2).sum(2))
        return Problem(prior, Utility(far, "loss"), MetricDP(1.0, far))
    if kind in ("small world", "grid"):
        if kind == "grid":
            graph = nx.grid_2d_graph(math.isqrt(n), math.isqrt(n))
            places = np.array(list(graph), float)
            far = np.sqrt(((places[:, None] - places) ** 2).sum(2))
        else:
            graph = nx.connected_watts_strogatz_graph(n, 4, 0.3, seed=n)
            far = np.asarray(nx.floyd_warshall_numpy(graph), float)
        names = list(graph)
        privacy = GraphDP(1.0, graph)
        return Problem(prior, Utility(far, "loss"), privacy, inputs=names, outputs=names)
    notions = {
        "random": lambda: PureLDP(1.0),
        "event-wise": lambda: ApproximateLDP(1.0, 0.05),
        "entry-wise": lambda: ApproximateLDP(1.0, 0.05, "entry"),
    }
    return Problem(prior, gain, notions[kind]())


def write_program(kind: str, n: int, path: Path) -> None:
    """Write the program that ldpopt formulates as arrays, to be minimized."""
    from ldpopt import formulate

    program = formulate(problem_of(kind, n))
    sign = -1.0 if program.maximize else 1.0
    names = ("start", "index", "value", "row_lower", "row_upper", "column_lower", "column_upper")
    arrays = {name: np.asarray(getattr(program, name)) for name in names}
    np.savez(path, objective=sign * program.objective, sign=sign, **arrays)


def piqp(data: Any) -> float:
    """Solve by PIQP with its own tolerances."""
    import piqp
    from scipy.sparse import csc_matrix, csr_matrix

    size = len(data["objective"])
    shape = (len(data["row_lower"]), size)
    matrix = csr_matrix((data["value"], data["index"], data["start"]), shape=shape)
    lower, upper, least, most = (
        np.where(np.abs(data[name]) > 1e20, np.sign(data[name]) * np.inf, data[name])
        for name in ("row_lower", "row_upper", "column_lower", "column_upper")
    )
    is_equal = lower == upper
    rest = csc_matrix(matrix[~is_equal])
    solver = piqp.SparseSolver()
    solver.settings.verbose = False
    quadratic = csc_matrix((size, size))
    equations = csc_matrix(matrix[is_equal]), lower[is_equal]
    bounds = rest, lower[~is_equal], upper[~is_equal], least, most
    solver.setup(quadratic, data["objective"], *equations, *bounds)
    status = solver.solve()
    if status != piqp.PIQP_SOLVED:
        raise RuntimeError(str(status))
    return float(data["objective"] @ np.array(solver.result.x))


def linear_job(column: str, order: dict[str, Any]) -> Callable[[], tuple[Job, ...]]:
    """A job of a linear program, and before each run what it gets: ours a new problem."""
    if column == OURS:
        from ldpopt import certify, solve

        def ours() -> tuple[Job, ...]:
            problem = problem_of(order["kind"], int(order["size"]))
            return (lambda: float(certify(solve(problem)).achieved),)

        return ours
    import peers

    data = dict(np.load(order["file"]))
    solvers: dict[str, Callable[[Any], float]] = {
        "HiGHS simplex": lambda arrays: peers.highs(arrays, solver="simplex", threads=1),
        "PIQP": piqp,
        "Clarabel": peers.clarabel,
    }
    return lambda: (lambda: float(data["sign"]) * solvers[column](data),)


def question(n: int, epsilon: float) -> Any:
    """Randomized response."""
    from ldpopt.frequencies import RandomizedResponse

    return RandomizedResponse(n, epsilon).mechanism


def composition_job(column: str, order: dict[str, Any]) -> Job:
    """The epsilon of many reports at delta 1e-9: of one question, or of 20 different ones."""
    times = int(order["size"])
    asked = [(10, 0.5)]
    if order["kind"] == "questions":
        asked = [(2 + i % 7, 0.1 + 0.05 * i) for i in range(20)]
    if column == OURS:
        from ldpopt.accounting import compose

        channels = [(question(n, epsilon), times) for n, epsilon in asked]
        return lambda: float(compose(channels).epsilon(1e-9))
    from dp_accounting.pld import privacy_loss_distribution as losses

    def theirs() -> float:
        total = None
        for n, epsilon in asked:
            noise = n / (math.exp(epsilon) + n - 1)
            each = losses.from_randomized_response(noise, n, value_discretization_interval=1e-4)
            each = each.self_compose(times)
            total = each if total is None else total.compose(each)
        return float(total.get_epsilon_for_delta(1e-9))

    return theirs


def table_job(column: str, order: dict[str, Any]) -> Job:
    """Reports of many answers, or the estimate from them, in memory; seeded, at epsilon 1.

    By hand means floats of a generator that is not made for secrets.
    """
    from ldpopt.frequencies import RandomizedResponse

    n = int(order["size"])
    encodes = order["kind"] == "encode"
    answers = np.random.default_rng(0).integers(0, n, TABLE_ROWS)
    kept = math.e / (math.e + n - 1)
    protocol = RandomizedResponse(n, 1.0)
    if column == OURS:
        if encodes:
            return lambda: len(protocol.privatize(answers, rng=1))
        return lambda: float(protocol.estimate(answers).values[0])
    if column == "numpy by hand":

        def by_numpy() -> float:
            if not encodes:
                shares = np.bincount(answers, minlength=n) / TABLE_ROWS
                return float(((shares - (1 - kept) / (n - 1)) / (kept - (1 - kept) / (n - 1)))[0])
            rng = np.random.Generator(np.random.SFC64(1))
            other = rng.integers(0, n - 1, TABLE_ROWS)
            other += other >= answers
            return len(np.where(rng.random(TABLE_ROWS) < kept, answers, other))

        return by_numpy
    import polars as pl

    column_of = pl.Series("x", answers)

    def by_polars() -> float:
        if not encodes:
            counts = dict(column_of.value_counts().iter_rows())
            low = (1 - kept) / (n - 1)
            return float((counts[0] / TABLE_ROWS - low) / (kept - low))
        rng = np.random.Generator(np.random.SFC64(1))
        other = pl.Series(rng.integers(0, n - 1, TABLE_ROWS))
        other = other + (other >= column_of).cast(pl.Int64)
        return len(column_of.zip_with(pl.Series(rng.random(TABLE_ROWS) < kept), other))

    return by_polars


def design_job(order: dict[str, Any]) -> Job:
    """The variance of the design for prefix sums."""
    from ldpopt import PureLDP, Workload, design

    workload = Workload.prefix(int(order["size"]))
    options = {"gap": 1e-3} if order["kind"].endswith("1e-3") else {}
    return lambda: float(design(workload, PureLDP(1.0), **options).value)


def seconds() -> float:
    """CPU seconds of this process and its children, also of those that still run."""
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    spent = sum(part.ru_utime + part.ru_stime for part in usage)
    for task in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        for child in task.read_text().split():
            with suppress(OSError):
                times = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:15]
                spent += sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return spent


def measure(order: dict[str, Any]) -> dict[str, Any]:
    """What one process measures."""
    kind, column = order["kind"], order["column"]
    if kind in ("composition", "questions"):
        prepared = composition_job(column, order)
    elif kind in ("encode", "aggregate"):
        prepared = table_job(column, order)
    elif kind.startswith("design"):
        prepared = design_job(order)
    else:
        prepared = None
        linear = linear_job(column, order)
    spent: list[float] = []
    began = seconds()
    while len(spent) < 2 or (seconds() - began < 0.25 and len(spent) < 50):
        job = prepared if prepared is not None else linear()[0]
        at = seconds()
        most = math.ceil(at + LIMIT)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        value = job()
        spent.append(seconds() - at)
        if spent[0] > 1.0:
            break
    return {"seconds": median(spent[1:] or spent), "value": value}


# Commands and tables in files.

BY_HAND = {"privatize": "polars by hand", "estimate": "polars by hand"}
COMMANDS: dict[str, list[str]] = {  # small jobs; a command that is not here prints its help
    "audit": ["coin.json"],
    "account": ["coin.json"],
    "certify": ["solved.json"],
    "check": ["model.toml"],
    "compare": ["small.toml"],
    "design": ["prefix.toml"],
    "estimate": ["coin.json", "reports.csv", "-c", "absence"],
    "examples": [],
    "export": ["model.toml", "--to", "lp"],
    "models": [],
    "plan": ["coin.json", "--people", "1000"],
    "privatize": ["coin.json", "rows.csv", "-c", "absence", "-o", "reports.csv"],
    "simulate": ["model.toml", "--people", "1000", "--seed", "1"],
    "solve": ["model.toml"],
    "solvers": [],
    "sweep": ["model.toml", "--epsilon", "0.5:2:4"],
    "survey account": ["survey.json"],
    "survey audit": ["survey.json"],
    "survey check": ["survey.toml"],
    "survey plan": ["survey.json", "--people", "1000"],
    "survey solve": ["survey.toml"],
    "vertices": ["small.toml"],
}
POLARS_ENCODE = """
import sys
import numpy as np, polars as pl
names = ["never", "once", "often"]
answers = pl.read_csv(sys.argv[1], schema={"absence": pl.Enum(names)})["absence"]
rng = np.random.default_rng()
codes = answers.to_physical().to_numpy()
other = rng.integers(0, 2, len(codes), dtype=np.uint8)
drawn = np.where(rng.random(len(codes)) < 0.6, codes, other + (other >= codes))
labels = pl.Series(drawn, dtype=pl.UInt32).cat.to(pl.Enum(names))
pl.DataFrame({"absence": labels}).write_csv(sys.argv[2])
"""
POLARS_ESTIMATE = """
import sys
import polars as pl
reports = pl.read_csv(sys.argv[1])["absence"]
shares = {name: count / len(reports) for name, count in reports.value_counts().iter_rows()}
errors = {name: (share * (1 - share) / len(reports)) ** 0.5 / 0.4 for name, share in shares.items()}
print({name: ((share - 0.2) / 0.4, errors[name]) for name, share in shares.items()})
"""
DUCKDB_ENCODE = """
import sys
import duckdb
others = "CASE WHEN absence = 'never' THEN ['once', 'often'] WHEN absence = 'once' "
others += "THEN ['never', 'often'] ELSE ['never', 'once'] END"
draw = f"CASE WHEN random() < 0.6 THEN absence ELSE ({others})[1 + (random() * 2)::INT % 2] END"
with duckdb.connect(config={"threads": 1}) as connection:
    source = f"read_csv('{sys.argv[1]}', columns={{'absence': 'VARCHAR'}}, header=true)"
    connection.execute(f"COPY (SELECT {draw} AS absence FROM {source}) TO '{sys.argv[2]}'")
"""


def commands() -> list[str]:
    """The names of the commands of ldpopt, those of surveys too."""
    from typer.main import get_command

    from ldpopt.cli.app import app

    top = get_command(app)
    found = ["--help"]
    for name, command in sorted(getattr(top, "commands", {}).items()):
        inner = getattr(command, "commands", None)
        found += [name] if inner is None else [f"{name} {each}" for each in sorted(inner)]
    return found


def prepare(place: Path, size: int) -> None:
    """Write what the commands read; a table of answers of some rows."""
    from ldpopt import Mechanism

    channel = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    Mechanism(channel, LABELS).save(str(place / "coin.json"))
    for name, model in (
        ("model", "anes96_party"),
        ("prefix", "anes96_party_prefix"),
        ("small", "coin"),
    ):
        shutil.copy(HERE.parent / "models" / f"{model}.toml", place / f"{name}.toml")
    codes = np.random.default_rng(1).integers(0, 3, size)
    lines = np.array([f"{label}\n".encode() for label in LABELS], dtype=object)[codes]
    (place / "rows.csv").write_bytes(b"absence\n" + b"".join(lines))
    if size == 1000:
        ours = [str(Path(sys.executable).parent / "ldpopt")]
        for words in (
            ["privatize", *COMMANDS["privatize"]],
            ["solve", "model.toml", "--certificate", "solved.json"],
            ["survey", "init", "survey.toml"],
            ["survey", "solve", "survey.toml", "-o", "survey.json"],
        ):
            subprocess.run([*ours, *words], cwd=place, check=True, capture_output=True)


def command_of(row: Row, column: str, python: str) -> list[str]:
    """The command line of a cell."""
    ours = str(Path(sys.executable).parent / "ldpopt")
    if row.kind == "csv":
        if column == OURS:
            return [ours, "privatize", *COMMANDS["privatize"]]
        script = POLARS_ENCODE if column.startswith("polars") else DUCKDB_ENCODE
        return [python, "-c", script, "rows.csv", "reports.csv"]
    name = row.kind.removeprefix("start:")
    if column == OURS:
        words = name.split()
        if name == "--help":
            return [ours, "--help"]
        return [ours, *words, *COMMANDS.get(name, ["--help"])]
    if column == FLOOR:
        return [python, "-c", FLOOR]
    if name == "privatize":
        return [python, "-c", POLARS_ENCODE, "rows.csv", "by_hand.csv"]
    return [python, "-c", POLARS_ESTIMATE, "reports.csv"]


def run(command: list[str], cwd: Path | None, limit: float) -> tuple[float, str, str]:
    """Run a command; its CPU seconds with children, its output, and why it failed."""
    at = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=os.environ | THREADS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=8 * limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return 0.0, "", TOO_LONG
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = now.ru_utime + now.ru_stime - at.ru_utime - at.ru_stime
    failed = ""
    if process.returncode == -signal.SIGXCPU:
        failed = TOO_LONG
    elif process.returncode:
        last = (errors.strip() or "killed").splitlines()[-1]
        failed = ABSENT if "ModuleNotFoundError" in last else last.replace("|", "/")[:60]
    return spent, output, failed


def cell(row: Row, column: str, python: str, place: Path) -> dict[str, Any]:
    """Measure one cell once."""
    if row.kind == "csv" or row.kind.startswith("start:"):
        folder = place / ("big" if row.kind == "csv" else "small")
        if not folder.exists():
            folder.mkdir()
            prepare(folder, int(row.size))
        spent, _, failed = run(command_of(row, column, python), folder, 4 * LIMIT)
        return {"failed": failed} if failed else {"seconds": spent}
    order = {"kind": row.kind, "size": row.size, "column": column}
    if row.peers == LINEAR:
        path = place / f"{row.name}.npz"
        if not path.exists():
            write_program(row.kind, int(row.size), path)
        order["file"] = str(path)
    command = [sys.executable if column == OURS else python, str(HERE / "peers.py")]
    _, output, failed = run([*command, "--row", json.dumps(order)], None, LIMIT)
    return {"failed": failed} if failed else dict(json.loads(output.splitlines()[-1]))


def measured(row: Row, python: str, place: Path, rounds: int) -> None:
    """Measure a row: its columns in turn, some rounds."""
    for _ in range(rounds):
        for column, done in row.cells.items():
            if done and ("failed" in done[0] or done[0]["seconds"] > LONG):
                continue
            done.append(cell(row, column, python, place))


def difference(listed: list[Row]) -> str:
    """The largest difference of a value of a linear program, and where it is."""
    largest = 0.0
    where = ""
    for row in listed:
        values = {name: done[0].get("value") for name, done in row.cells.items() if done}
        if row.peers != LINEAR or values.get(OURS) is None:
            continue
        for name in LINEAR:
            value = values.get(name)
            apart = 0.0 if value is None else abs(value / values[OURS] - 1)
            if apart > largest:
                largest = apart
                where = f" ({name}, {row.name})"
    return f"{largest:.0e}{where}"


def versions() -> str:
    """Versions of the packages here."""
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} {ABSENT}")
    return ", ".join(found)


NOTES = """\
`python benchmarks/peers.py --rows all`, {date}; {versions}; {load}.

CPU seconds with those of children. Each cell is a process of its own, in turn with those beside it,
{rounds} rounds: median (least to most), or once where a run takes more than {long:.0f} s.
"> {limit:.0f}": ended after so many seconds. The last column is ours over the best peer, in bold
where ldpopt is behind; no row was left out.

- Linear programs: "ldpopt" is `solve` and `certify`, from the problem to a mechanism that is
  private exactly and whose gap is proved. The solvers get the arrays of the program that ldpopt
  formulates, and end at a point that is private up to their tolerances; HiGHS with one thread, all
  with their own tolerances. Largest relative difference of a value: {difference}.
- Composition: the epsilon at delta 1e-9 of randomized response over 10 answers at epsilon 0.5; of
  20 questions, 1000 times each.
- Encode, aggregate: {table:,} codes in memory at epsilon 1. CSV: one column of texts, from file to
  file, start included. *By hand* means floats of a generator that is not made for secrets.
- Start: a small job of each command (1000 rows, a model of 7 answers), or its help where it has no
  job here, beside a script of polars that does the same. Those without one are in the second
  table, beside `import numpy`, which is no peer but the least that is possible.
- Designs of prefix sums have no peer here: the default call stands beside the one with a gap.
"""


def section(listed: list[Row], load: str, rounds: int) -> str:
    """The text of the section, worst first; rows without a peer at the end, and those beside what
    is none in a table of their own.
    """
    head = (OURS, *LINEAR, "others", "ratio to the best")
    lines = [f"| | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    ordered = sorted(listed, key=lambda row: -1.0 if math.isnan(row.ratio) else row.ratio)[::-1]
    for row in ordered:
        if FLOOR in row.peers:
            continue
        others = "; ".join(f"{name}: {row.cell(name)}" for name in row.peers if name not in LINEAR)
        ratio = "" if math.isnan(row.ratio) else f"{row.ratio:.2f}"
        if ratio and not row.seconds(OURS):
            ratio = f"> {ratio}"
        ratio = f"**{ratio}**" if row.ratio > 1 else ratio
        cells = [row.cell(name) for name in (OURS, *LINEAR)]
        lines.append(f"| {row.name} | {' | '.join(cells)} | {others} | {ratio} |")
    if any(FLOOR in row.peers for row in listed):
        lines += ["", f"| | {OURS} | `{FLOOR}` | ratio |", "|---|---|---|---|"]
    for row in ordered:
        if FLOOR in row.peers:
            ratio = "" if math.isnan(row.ratio) else f"{row.ratio:.2f}"
            lines.append(f"| {row.name} | {row.cell(OURS)} | {row.cell(FLOOR)} | {ratio} |")
    notes = NOTES.format(
        date=datetime.now(UTC).date(),
        versions=versions(),
        load=load,
        rounds=rounds,
        limit=LIMIT,
        long=LONG,
        table=TABLE_ROWS,
        difference=difference(listed),
    )
    return notes + "\n" + "\n".join(lines)


def compared(names: Iterable[str], python: str, rounds: int = ROUNDS) -> str:
    """Measure the rows of these names and return their section."""
    listed = chosen(list(names))
    if not listed:
        raise SystemExit(f"no such row; the rows are: {', '.join(row.name for row in rows())}")
    compileall.compile_dir(
        HERE.parent / OURS, quiet=1
    )  # as pip does for every package, the peers too
    began = time.perf_counter()
    first = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        for row in listed:
            measured(row, python, Path(place), rounds)
            text = "; ".join(f"{name} {row.cell(name)}" for name in row.cells)
            print(f"{row.name}: {text}", file=sys.stderr, flush=True)
    minutes = (time.perf_counter() - began) / 60
    load = f"load {first:.1f} at the beginning and {os.getloadavg()[0]:.1f} at the end, "
    load += f"{os.cpu_count()} cores, {minutes:.0f} minutes"
    return section(listed, load, rounds)
