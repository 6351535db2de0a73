"""Solvers that crash, hang, are killed or refuse: limits hold, errors are clear, and no process is
left over."""

from __future__ import annotations

import _thread
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

import ldpopt as lo
from builders import refused, seconds, thorough_or
from ldpopt import solvers
from ldpopt.errors import LdpoptError, SolverOptionError
from ldpopt.solvers import Status, guarded
from ldpopt.solvers.highs_ import Highs
from ldpopt.solving.formulation import formulate

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

LOADING = seconds(0.8)
"""Seconds that a plug-in's package takes to load."""

PLUG_IN = """
import ctypes, os, re, signal, subprocess, time
from ldpopt.errors import NotRepresentableError
from ldpopt.solvers import Outcome, Solver, Status

LOADING = {loading}


class Faulty(Solver):
    name = "faulty"

    def solve(self, program, *, time_limit=None, how="", file="", **options):
        if "said" in options:
            print(options["said"])
            ctypes.CDLL(None).puts(b"a line of C")
        if how == "signal":
            os.kill(os.getpid(), options["number"])
        if how == "exit":
            os._exit(3)
        if how == "hang":
            helper = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL)
            if file:
                with open(file + "~", "w") as stream:
                    stream.write(f"{os.getpid()} {helper.pid}")
                os.rename(file + "~", file)
            re.match("(a+)+$", "a" * 40 + "b")  # for hours, and nobody else gets a turn
        if how == "wait":
            time.sleep(0.3)
        if how == "ours":
            raise NotRepresentableError("no such form", where="here", do="that")
        if how == "python":
            raise ZeroDivisionError("by zero")
        if how == "memory":
            raise MemoryError
        if how == "own":
            raise type("OwnError", (Exception,), {})("of the plug-in")
        if how == "nonsense":
            return Outcome(Status.OPTIMAL, "told", __import__("numpy").array([0.5]))
        if how == "limit":
            return Outcome(Status.LIMIT, f"told {time_limit}")
        return Outcome(Status.FAILED, str(os.getpid()))


class Slow(Faulty):
    def load(self):
        time.sleep(LOADING)
"""


@pytest.fixture
def program() -> lo.LinearProgram:
    return formulate(lo.Problem([0.5, 0.3, 0.2], "identity", lo.PureLDP("log(3)")))


@pytest.fixture(scope="module")
def plug_in(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plug-in")
    (folder / "faulty_plug_in.py").write_text(PLUG_IN.replace("{loading}", str(LOADING)))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        guarded.stop_all()  # what runs already knows other paths
        yield folder
    guarded.stop_all()
    assert not guarded.living_children()


@pytest.fixture
def faulty(plug_in, monkeypatch):
    import faulty_plug_in

    point = types.SimpleNamespace(
        name="faulty", load=lambda: faulty_plug_in.Faulty, value="faulty_plug_in:Faulty"
    )
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [point] if "solvers" in group else []
    )
    return solvers.find("faulty")


@pytest.fixture
def made(monkeypatch):
    """Processes that a test has started."""
    guarded.stop_all()
    found = []
    kind = guarded._Child
    monkeypatch.setattr(guarded, "_Child", lambda: found.append(kind()) or found[-1])
    return found


def test_a_process_of_its_own_says_the_same(program, monkeypatch):
    here = solvers.find("highs").solve(program)
    monkeypatch.setattr(Highs, "in_process_nonzeros", 0)
    there = solvers.find("highs").solve(program)
    again = solvers.find("highs").solve(program, warm_start=there.warm_start)
    for other in (there, again):
        assert (other.status, other.raw_status) == (here.status, here.raw_status)
        assert np.allclose(other.point, here.point, rtol=0, atol=1e-15)
    assert np.array_equal(there.point, here.point)
    assert np.array_equal(there.row_duals, here.row_duals)
    assert np.array_equal(there.column_duals, here.column_duals)
    assert list(there.warm_start.row_status) == list(here.warm_start.row_status)
    assert list(there.warm_start.col_status) == list(here.warm_start.col_status)


@pytest.mark.parametrize(("most", "started"), [(0, 0), (-1, 1)])
def test_a_process_is_for_programs_above_the_limit_alone(program, monkeypatch, made, most, started):
    """At the limit of its solver a program is solved here, with one non-zero more it is not."""
    monkeypatch.setattr(Highs, "in_process_nonzeros", program.nnz + most)
    assert solvers.find("highs").solve(program).status is Status.OPTIMAL
    assert len(made) == started


def test_the_limits_are_those_of_the_page():
    page = (Path(__file__).parents[3] / "docs" / "promises.md").read_text(encoding="utf-8")
    said = re.search(r"more than (\d+) (\d+) non-zeros \((\d+) for CBC, any for cvxpy\)", page)
    usual, of_cbc = int(said[1] + said[2]), int(said[3])
    limits = {"highs": usual, "piqp": usual, "cbc": of_cbc, "cvxpy": 0}
    assert {name: solvers.find(name).solver.in_process_nonzeros for name in limits} == limits
    assert "ends within a second of the limit" in page
    assert guarded.KILL_DELAY < 1


def test_rows_are_generated_in_one_warm_process(monkeypatch, made):
    prior = np.random.default_rng(2).dirichlet(np.ones(6))
    problem = lo.Problem(prior, "identity", lo.ApproximateLDP(0.5, 0.1))
    here = lo.solve(problem)
    monkeypatch.setattr(Highs, "in_process_nonzeros", 0)
    there = lo.solve(problem)
    assert "row generation" in there.notes[-1]
    assert there.value == pytest.approx(here.value, abs=1e-15)
    assert len(made) == 1


@pytest.mark.parametrize(
    "options, words",
    [
        ({"how": "signal", "number": int(signal.SIGSEGV)}, "crashed with SIGSEGV"),
        ({"how": "signal", "number": int(signal.SIGABRT)}, "crashed with SIGABRT"),
        (
            {"how": "signal", "number": int(signal.SIGKILL)},
            "killed by SIGKILL, for example because memory ran",
        ),
        ({"how": "exit"}, "exit code 3"),
    ],
    ids=["segfault", "abort", "kill", "exit"],
)
def test_a_crash_names_the_solver_the_signal_and_what_to_do(faulty, options, words):
    answer = lo.solve(lo.Problem([0.5, 0.5], "identity", lo.PureLDP(1)), solver="faulty", **options)
    assert answer.status is Status.FAILED
    with pytest.raises(lo.errors.NoSolutionError, match=rf"faulty \(compact\).*{words}") as caught:
        answer.mechanism  # noqa: B018
    assert caught.value.do
    # the next one is well again
    assert faulty.solve(formulate(answer.problem)).raw_status.isdecimal()


@pytest.mark.parametrize(
    "how, kind, words",
    [
        ("ours", lo.errors.NotRepresentableError, r"no such form\n  where: here\n  do: that"),
        ("python", ZeroDivisionError, "by zero"),
        ("memory", MemoryError, "raise MemoryError"),
        ("own", RuntimeError, "OwnError: of the plug-in"),
    ],
)
def test_errors_come_back_as_themselves(faulty, program, how, kind, words):
    with pytest.raises(kind, match=words):
        faulty.solve(program, how=how)


def test_options_are_plain_and_refusals_come_back(program, monkeypatch, faulty):
    with refused("option-value", SolverOptionError):
        faulty.solve(program, how=object())
    assert faulty.solve(program, number=np.float64(2.5), list=(1, None)).raw_status.isdecimal()
    monkeypatch.setattr(Highs, "in_process_nonzeros", 0)
    with refused("option", SolverOptionError) as caught:
        solvers.find("highs").solve(program, nonsense=1)
    assert "nonsense" in str(caught.value)


@pytest.mark.parametrize("how", thorough_or(["", "hang"], ["", "signal", "exit", "hang"]))
def test_what_a_solver_prints_goes_to_stderr(faulty, program, capfd, monkeypatch, how):
    """All of it, however the solver ends; buffers as they are where nobody has switched them
    off."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    guarded.stop_all()
    said = "a line of the solver's own"
    faulty.solve(program)  # its process has started
    assert (
        faulty.solve(
            program, time_limit=seconds(0.3), how=how, said=said, number=int(signal.SIGKILL)
        ).point
        is None
    )
    guarded.stop_all()
    out, err = capfd.readouterr()
    assert (out, err) == ("", f"{said}\na line of C\n")


def test_a_limit_ends_a_solver_that_never_looks_up(faulty, program, tmp_path):
    faulty.solve(program)  # its process has started
    began = time.perf_counter()
    limit = seconds(0.2)
    outcome = faulty.solve(program, time_limit=limit, how="hang", file=str(tmp_path / "pids"))
    # bounds of time are loose here: benchmarks/faults.py measures
    assert time.perf_counter() - began < seconds(5)
    assert (outcome.status, outcome.raw_status) == (
        Status.LIMIT,
        f"stopped from outside: {limit:.3g} s were over",
    )
    assert_gone(tmp_path / "pids")


def test_an_outcome_of_another_program_is_refused_in_words(faulty, program):
    with refused("outcome", LdpoptError) as caught:
        faulty.solve(program, how="nonsense")
    for part in ("'faulty'", "point of shape (1,)", "(12,)"):
        assert part in str(caught.value)


def test_starting_a_solver_counts_and_is_not_lost(plug_in, program, made):
    import faulty_plug_in

    slow = guarded.Guarded(faulty_plug_in.Slow(), "faulty_plug_in:Slow")
    outcome = slow.solve(program, time_limit=0.1)
    said = "stopped from outside: 0.1 s were over; the solver is still starting"
    assert (outcome.status, outcome.raw_status) == (Status.LIMIT, said)
    assert slow.solve(program).raw_status.isdecimal()  # by the process that went on starting
    assert len(made) == 1
    guarded.stop_all()
    outcome = slow.solve(program, time_limit=1.9 * LOADING, how="limit")
    assert outcome.status is Status.LIMIT
    told = re.fullmatch(r"told (.*); starting the solver took .* s", outcome.raw_status)
    assert float(told[1]) <= 0.9 * LOADING  # what the start has left


def test_ctrl_c_ends_the_wait_and_the_solver(faulty, program, tmp_path):
    pids = tmp_path / "pids"

    def press() -> None:
        waited_for(pids)
        _thread.interrupt_main()

    # a job in the background ignores it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            faulty.solve(program, how="hang", file=str(pids))
    finally:
        signal.signal(signal.SIGINT, before)
    assert_gone(pids)


def test_a_killed_parent_takes_solver_and_helpers_along(plug_in, tmp_path):
    code = f"""
import sys, types, importlib.metadata
sys.path.insert(0, {str(plug_in)!r})
import faulty_plug_in
point = types.SimpleNamespace(
    name="faulty", load=lambda: faulty_plug_in.Faulty, value="faulty_plug_in:Faulty"
)
importlib.metadata.entry_points = lambda group: [point]
import ldpopt as lo
problem = lo.Problem([0.5, 0.5], "identity", lo.PureLDP(1))
lo.solve(problem, solver="faulty", how="hang", file="pids")
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) as parent:
        waited_for(tmp_path / "pids")
        parent.kill()
    assert_gone(tmp_path / "pids")


def test_a_process_stays_warm_and_two_solves_at_once_have_two(faulty, program):
    first, second = (faulty.solve(program).raw_status for _ in range(2))
    assert first == second
    found: list[str] = []

    def solve() -> None:
        found.append(faulty.solve(program, how="wait").raw_status)

    threads = [threading.Thread(target=solve) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2
    os.kill(int(first), signal.SIGKILL)  # while nobody needs it
    time.sleep(0.1)
    assert faulty.solve(program).raw_status.isdecimal()


def test_without_a_process_the_error_says_so_and_the_switch_helps(program, monkeypatch, tmp_path):
    monkeypatch.setattr(Highs, "in_process_nonzeros", 0)
    guarded.stop_all()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with refused("process", LdpoptError) as caught:
        solvers.find("highs").solve(program)
    assert f"{guarded.PROCESS_VARIABLE}=0" in str(caught.value)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with refused("process", LdpoptError) as caught:
        solvers.find("highs").solve(program)
    assert "exit code 1" in str(caught.value)
    monkeypatch.setenv(guarded.PROCESS_VARIABLE, "0")
    assert solvers.find("highs").solve(program).status is Status.OPTIMAL


def waited_for(file: Path) -> None:
    end = time.perf_counter() + seconds(20)
    while not file.exists() and time.perf_counter() < end:
        time.sleep(0.02)


def assert_gone(pids: Path) -> None:
    """The processes end, or have ended and wait for the process that adopted them."""
    numbers = list(map(int, pids.read_text().split()))
    assert len(numbers) == 2
    end = time.perf_counter() + seconds(5)
    while (left := [n for n in numbers if is_running(n)]) and time.perf_counter() < end:
        time.sleep(0.02)
    assert not left


def is_running(pid: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return found.stdout.strip()[:1] not in ("", "Z")


class InThisProcess(solvers.Solver):
    """A plug-in that answers at once, with what it was made with."""

    name = "nonsense"
    in_process_nonzeros = float("inf")

    def __init__(self, outcome):
        self.outcome = outcome

    def solve(self, program, *, time_limit=None, **options):
        return self.outcome


@pytest.mark.parametrize(
    ("outcome", "what"),
    [
        (None, "None, which is not an Outcome"),
        (solvers.Outcome("optimal", ""), "the status 'optimal', which is not a Status"),
        (solvers.Outcome(Status.OPTIMAL, ""), "the status OPTIMAL without a point"),
        (
            solvers.Outcome(Status.OPTIMAL, "", np.zeros(3)),
            "point of shape (3,); the program needs (12,)",
        ),
        (solvers.Outcome(Status.OPTIMAL, "", [0.0] * 12), "which is not an array of numbers"),
        (
            solvers.Outcome(Status.OPTIMAL, "", np.full(12, np.nan)),
            "a point with a number that is not finite",
        ),
    ],
)
def test_a_solver_that_returns_nonsense_is_named(monkeypatch, outcome, what):
    point = types.SimpleNamespace(name="nonsense", load=lambda: lambda: InThisProcess(outcome))
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [point] if "solvers" in group else []
    )
    with pytest.raises(LdpoptError) as caught:
        lo.solve(lo.Problem([0.5, 0.3, 0.2], "identity", lo.PureLDP(1.0)), solver="nonsense")
    assert what in str(caught.value)
    assert "'nonsense'" in str(caught.value)


def test_a_broken_plug_in_does_not_hide_the_others(monkeypatch):
    point = types.SimpleNamespace(name="broken", load=lambda: __import__("no_such_module"))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    assert solvers.installed()["highs"] == "installed"
    assert solvers.installed()["broken"].startswith("cannot be loaded: ModuleNotFoundError")
