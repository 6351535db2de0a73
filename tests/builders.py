"""Shared by tests: numbers of cases, limits of time, processes, random problems, plain
definitions."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import Phase, settings

import ldpopt as lo
from ldpopt.errors import LdpoptError, StatementError

# Errors.


@contextmanager
def refused(
    code: str, kind: type[LdpoptError] = StatementError
) -> Iterator[pytest.ExceptionInfo[LdpoptError]]:
    """Expect an error of a kind and a code; its sentence may change."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.code == code, f"{caught.value.code!r} in place of {code!r}: {caught.value}"


def without_blanks(label: Any) -> Any:
    """What tells a label from others: texts that differ in blanks only are refused in one
    alphabet.
    """
    return " ".join(label.split()) if isinstance(label, str) else label


# Solvers.


def where_installed(*names: str) -> list[Any]:
    """Parameters of a test over solvers; one whose optional package is missing is skipped."""
    packages = {"cbc": "pulp", "cvxpy": "cvxpy", "piqp": "piqp"}

    def marked(name: str) -> Any:
        package = packages.get(name.partition(":")[0], "highspy")
        is_missing = importlib.util.find_spec(package) is None
        return pytest.param(name, marks=pytest.mark.skipif(is_missing, reason=f"needs {package}"))

    return [marked(name) for name in names]


# Objects that take long to make.


class MadeLater(Mapping[str, Any]):
    """Objects by name, each made when it is first asked for: collecting tests makes none."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = makers
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


# Numbers of cases.

THOROUGH = os.environ.get("LDPOPT_TESTS") == "thorough"
"""Whether the thorough set runs: more random cases, and tests that take long."""

NEW_CASES = "LDPOPT_NEW_CASES" in os.environ
"""Whether random cases are new ones; otherwise they are the same each time, so that a failure is
due to a change."""


def cases(usual: int) -> settings:
    """Settings of hypothesis: a quarter as many examples in the usual set, and at least 2, twice as
    many in the thorough one."""
    return settings(max_examples=2 * usual if THOROUGH else max(2, usual // 4))


FUZZ = int(os.environ.get("LDPOPT_FUZZ", "8000" if THOROUGH else "120"))
"""Number of random statements, files and command lines in tests/refusals."""


def fuzz_cases(share: float) -> settings:
    """Settings for a share of `FUZZ` cases: the same each time, unless the environment sets other
    ones."""
    # tracing takes longer than any limit
    untraced = [phase for phase in Phase if phase is not Phase.explain]
    usual = not NEW_CASES and "LDPOPT_FUZZ" not in os.environ
    return settings(max_examples=max(1, int(FUZZ * share)), derandomize=usual, phases=untraced)


def sample_or_all(cases: Iterable[Any], size: int) -> list[Any]:
    """Return all cases in the thorough set, and otherwise some of them, spread over the list."""
    found = list(cases)
    return found if THOROUGH else found[:: max(1, len(found) // size)]


def pairs_or_turns(first: Iterable[Any], second: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return all pairs in the thorough set, and otherwise each of the first with one of the second,
    in turns."""
    both = itertools.product(first, second) if THOROUGH else zip(first, itertools.cycle(second))
    return list(both)


def thorough_or(usual: Any, thorough: Any) -> Any:
    """Return the second value in the thorough set, and the first otherwise."""
    return thorough if THOROUGH else usual


# Limits of time. Every limit in a test is ``seconds(...)``.


def slowness() -> float:
    """Slowness of this machine, at least 1, measured once for each session by the start of a
    process.

    A process starts in 0.2 s on a machine of slowness 1. ``LDPOPT_SLOWNESS=3`` sets it.
    """
    if "LDPOPT_SLOWNESS" not in os.environ:  # the workers of pytest-xdist inherit it
        least = 10.0
        for _ in range(2):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import numpy"], check=False)
            least = min(least, time.perf_counter() - began)
        os.environ["LDPOPT_SLOWNESS"] = f"{max(1.0, least / 0.2):.2f}"
    return float(os.environ["LDPOPT_SLOWNESS"])


def seconds(usual: float) -> float:
    """A limit that grows with the slowness of the machine."""
    return usual * slowness()


# Processes.


@functools.cache
def _command_line() -> Any:
    """The application; typer makes its commands once, since that takes 60 times as long as a
    refusal."""
    from typer import testing

    from ldpopt.cli import printing
    from ldpopt.cli.app import app

    testing._get_command = functools.cache(testing._get_command)
    printing.LONG_TASK = 1e6  # a busy machine adds no lines
    return app


def run_cli(*args: object, stdin: str | None = None) -> Any:
    """Call the command line in this process; the result has ``exit_code``, ``stdout``, ``stderr``,
    ``exception``."""
    from typer.testing import CliRunner

    return CliRunner().invoke(_command_line(), [str(arg) for arg in args], input=stdin)


def cli_output(*args: object, stdin: str | None = None) -> str:
    """What a successful command prints."""
    result = run_cli(*args, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def cli_json(*args: object) -> Any:
    """The one JSON object that a command prints, and strictly JSON."""

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(cli_output(*args, "--json", "-"), parse_constant=refuse)


def start_cli(*args: str, **options: Any) -> subprocess.Popen[str]:
    """Start the command line in a process of its own, with pipes for its output unless the options
    differ."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([sys.executable, "-m", "ldpopt", *args], **pipes)


def run_python(code: str, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, and capture its output."""
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False, **options
    )


def load_script(path: Path) -> Any:
    """Import a script as a module without running its main part; it can import the scripts beside
    it."""
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses need their module there
    spec.loader.exec_module(module)
    return module


# Problems.


def random_problem(
    notion: Any,
    n: int,
    m: int | None = None,
    *,
    rng: np.random.Generator | int = 0,
    sense: str = "gain",
    objective: str = "expected",
    **options: Any,
) -> lo.Problem:
    """A problem with a prior uniform on the simplex and utilities uniform on [0, 1]; m is n if not
    given."""
    rng = np.random.default_rng(rng)
    prior = rng.dirichlet(np.ones(n))
    utility = lo.Utility(rng.random((n, m or n)), sense)
    return lo.Problem(
        prior if objective == "expected" else None, utility, notion, objective=objective, **options
    )


def distances(points: Any, others: Any = None) -> np.ndarray:
    """Distances between points on a line, as floats."""
    return np.abs(np.subtract.outer(points, points if others is None else others)).astype(float)


def hops(n: int) -> np.ndarray:
    """Distances along a path of n nodes."""
    return distances(np.arange(n))


def star(n: int) -> nx.Graph:
    """A center with n - 1 leaves."""
    return nx.star_graph(n - 1)


# Definitions for reference calculations, without code of the library.


def all_events(m: int) -> Iterator[tuple[int, ...]]:
    """Every non-empty set of outputs."""
    return itertools.chain.from_iterable(
        itertools.combinations(range(m), size) for size in range(1, m + 1)
    )


def single_events(m: int) -> Iterator[tuple[int, ...]]:
    """Every set of one output."""
    return ((y,) for y in range(m))


def pairwise_rows(
    n: int, m: int, ratio: np.ndarray, delta: float = 0.0, form: str = "entry"
) -> Any:
    """Privacy by its definition: ``P[i, S] - ratio[i, k] P[k, S] <= delta`` for all i != k and
    events S.

    Returns the rows, shape (rows, n * m), and their bounds.
    """
    rows = []
    for i, k in itertools.permutations(range(n), 2):
        for event in single_events(m) if form == "entry" else all_events(m):
            row = np.zeros((n, m))
            row[i, list(event)], row[k, list(event)] = 1, -ratio[i, k]
            rows.append(row.ravel())
    return np.array(rows).reshape(-1, n * m), np.full(len(rows), delta)


def coin(ratio):
    """Randomized response whose two entries have exactly this ratio."""
    truth = ratio / (1 + ratio)
    return np.array([[truth, 1 - truth], [1 - truth, truth]], dtype=object)


def truth_or_another(n: int, epsilon: float) -> np.ndarray:
    """Randomized response: the truth, or each other answer ``exp(epsilon)`` times less often."""
    rows = np.exp(epsilon * np.eye(n))
    return rows / rows.sum(axis=1, keepdims=True)


def dense_rows(
    objective: Any, rows: Any, lower: float, upper: Any, *, column_upper: Any = np.inf
) -> Any:
    """The linear program: maximize ``objective @ v``, ``lower <= rows @ v <= upper``, ``v >= 0``
    and ``v <= column_upper``.
    """
    from ldpopt.solvers.program import LinearProgram, Span

    matrix = np.array(rows, dtype=float)
    size, width = matrix.shape
    row, column = np.nonzero(matrix)
    start = np.searchsorted(row, np.arange(size + 1))
    sides = [
        np.array(np.broadcast_to(np.asarray(side, dtype=float), length))
        for side, length in ((lower, size), (upper, size), (0.0, width), (column_upper, width))
    ]
    spans = [
        (Span(name, 0, length, (tuple(map(str, range(length))),)),)
        for name, length in (("row", size), ("v", width))
    ]
    costs = np.array(objective, dtype=float)
    return LinearProgram(costs, True, start, column, matrix[row, column], *sides, *spans)


def nearly_equal_pairs(seed, n=6, m=9):
    """Rational rows whose excesses differ by less than floats see."""
    rng = np.random.default_rng(seed)
    base = [
        Fraction(int(v), 10**6) for v in rng.multinomial(10**6 - 100 * m, np.full(m, 1 / m)) + 100
    ]
    rows = []
    for _ in range(n):
        row = [
            v + Fraction(int(step), 3 * 10**17)
            for v, step in zip(base, rng.integers(-9, 10, m), strict=True)
        ]
        rows.append([v / sum(row) for v in row])
    rows[0] = [*rows[0][:-2], rows[0][-2] + Fraction(1, 20), rows[0][-1] - Fraction(1, 20)]
    return rows


def listed_channels(polytope: Any) -> list[Any]:
    """Return all vertices of a notion's half-spaces as channels, by the double description
    method."""
    from ldpopt.privacy.cones.double_description import enumerate_vertices

    return list(
        map(polytope.channel, enumerate_vertices(polytope.coefficients, polytope.bounds)[0])
    )


def is_vertex(polytope: Any, channel: Any) -> bool:
    """Whether a channel is private and the rows of the half-spaces that are tight there have full
    rank, exactly."""
    from ldpopt.privacy.cones.double_description import rank

    slacks = polytope.slacks(channel)
    tight = [row for row, slack in zip(polytope.coefficients, slacks, strict=True) if not slack]
    return min(slacks, default=Fraction(0)) >= 0 and rank(tight) == polytope.n * (polytope.m - 1)


def listed_sets(d, parts, inside):
    """Rows of all reports of a kind of sets for ``d`` questions, by choices of parts and flips, and
    the set of each."""
    rows = []
    sets = []
    cells = list(itertools.product(*(range(part + 1) for part in parts)))
    words = [part for part, size in enumerate(parts) for _ in range(size)] + [-1] * (d - sum(parts))
    for placed in sorted(set(itertools.permutations(words))):
        used = [i for i in range(d) if placed[i] >= 0]
        for flips in itertools.product((0, 1), repeat=len(used)):
            row = [0] * d
            for i, flip in zip(used, flips, strict=True):
                row[i] = 1 + 2 * placed[i] + flip
            rows.append(row)
            one = []
            for x in itertools.product((0, 1), repeat=d):
                flipped = [(placed[i], x[i] ^ flip) for i, flip in zip(used, flips, strict=True)]
                ones = tuple(
                    sum(bit for own, bit in flipped if own == part) for part in range(len(parts))
                )
                one.append(inside[cells.index(ones)])
            sets.append(one)
    return rows, np.array(sets, dtype=float)


def notions_of_averages(n: int) -> dict[str, Any]:
    """Nine notions on the answers 0, ..., n - 1; the prior is proportional to n, ..., 1."""
    import networkx as nx

    from ldpopt import PML, GraphDP, InformationPrivacy, PairwiseLDP, PureLDP, Secrets

    prior = dict(enumerate(range(n, 0, -1)))
    path = nx.path_graph(n)
    odd = [2 * x + 1 for x in range(n)]
    secrets = {"up": dict(enumerate(odd)), "down": dict(enumerate(odd[::-1]))}
    pairs = {(x, z): f"{2 + x % 3}/4" for x, z in itertools.permutations(range(n), 2)}
    return {
        "PML .2": PML(0.2, prior),
        "PML 1": PML(1.0, prior),
        "LIP .5": InformationPrivacy(0.5, prior),
        "secrets": Secrets(0.5, secrets),
        "pairs": PairwiseLDP(pairs),
        "pure 1": PureLDP(1.0),
        "path": GraphDP("log(2)", path),
        "pure and path": PureLDP(1.5) & GraphDP(0.7, path),
        "PML and path": PML(0.5, prior) & GraphDP("log(2)", path),
    }
