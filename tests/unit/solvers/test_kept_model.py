"""A thread's model of HiGHS is used again: nothing of an earlier program, option or clock stays."""

from __future__ import annotations

import threading

import numpy as np

from builders import refused
from ldpopt import Problem, PureLDP, Utility
from ldpopt.errors import SolverOptionError
from ldpopt.solvers import Outcome, Status
from ldpopt.solvers.highs_ import Highs
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import formulate


def program(n: int, seed: int = 0) -> ChannelProgram:
    """The program of random gains."""
    gain = np.random.default_rng(seed).random((n, n))
    return formulate(Problem(np.full(n, 1 / n), Utility(gain, "gain"), PureLDP(1.0)))


def numbers(outcome: Outcome) -> list[list[float]]:
    """Point and multipliers."""
    parts = outcome.point, outcome.row_duals, outcome.column_duals
    return [part.tolist() for part in parts if part is not None]


def in_new_thread(made: ChannelProgram) -> list[list[float]]:
    """The numbers of a model that was never used."""
    found: list[list[list[float]]] = []
    thread = threading.Thread(target=lambda: found.append(numbers(Highs().solve(made))))
    thread.start()
    thread.join()
    return found[0]


def test_an_earlier_program_leaves_nothing_behind() -> None:
    first = Highs().solve(program(12))
    states = list(map(int, first.warm_start.col_status))
    stopped = Highs().solve(program(9), simplex_iteration_limit=0, refined=False)
    assert stopped.status is Status.LIMIT
    with refused("option", SolverOptionError):
        Highs().solve(program(9), no_such_option=1)
    for n in (3, 12, 7):
        assert numbers(Highs().solve(program(n, 1))) == in_new_thread(program(n, 1))
    assert states == list(map(int, first.warm_start.col_status))
    again = Highs().solve(program(12), warm_start=first.warm_start)
    assert np.allclose(numbers(again)[0], numbers(first)[0], rtol=0, atol=1e-12)


def test_a_time_limit_counts_its_own_run_only() -> None:
    for _ in range(40):
        Highs().solve(program(20))
    assert Highs().solve(program(4), time_limit=0.05).status is Status.OPTIMAL
