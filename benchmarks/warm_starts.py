"""Would a sweep gain by warm starts? Forty budgets, cold and from what a nearby budget left; rewrites nothing.

    python benchmarks/warm_starts.py

For simplex: HiGHS alone, cold, from the basis of the budget before, and from that of the first of every eight. For
event-wise delta: all of `solve`, cold, and with the rows that are tight at the budget before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

from ldpopt import (
    ApproximateLDP,
    GraphDP,
    Mechanism,
    MetricDP,
    Problem,
    PureLDP,
    Utility,
    certify,
    formulate,
    solve,
    utility,
)
from ldpopt.foundation.budget import Budget
from ldpopt.privacy.notion import with_epsilon
from ldpopt.solvers.highs_ import Highs
from ldpopt.solving.formulation import add_rows
from ldpopt.solving.methods import row_generation

EPSILONS = np.linspace(0.1, 4.0, 40)
SIMPLEX = (
    ("pure", 20),
    ("worst case", 20),
    ("worst case", 29),
    ("path", 20),
    ("path", 30),
    ("metric", 20),
    ("metric", 28),
)
OTHER_METHODS = (("pure", 40), ("pure", 60), ("metric", 40))
EVENTS = (8, 12, 16, 20)


def cpu() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def problem(kind: str, n: int) -> Problem:
    """A random prior, and the error in steps; for the metric, random places in a square of side 3."""
    rng = np.random.default_rng(n)
    prior, steps = rng.dirichlet(np.ones(n)), utility.absolute_error(np.arange(n))
    if kind == "metric":
        points = 3 * rng.random((n, 2))
        distance = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
        return Problem(prior, Utility(distance, "loss"), MetricDP(1.0, distance))
    if kind == "worst case":
        return Problem(None, steps, PureLDP(1.0), objective="worst_case")
    notions = {"pure": PureLDP(1.0), "path": GraphDP(1.0, nx.path_graph(n)), "event": ApproximateLDP(1.0, 0.05)}
    return Problem(prior, steps, notions[kind])


def at_budgets(kind: str, n: int) -> Iterator[Problem]:
    """The problem at each budget."""
    stated = problem(kind, n)
    for epsilon in EPSILONS:
        yield replace(stated, privacy=with_epsilon(stated.privacy, Budget(float(epsilon))))


def whole(kind: str, n: int) -> float:
    """CPU seconds of `solve` and `certify` at all budgets."""
    began = cpu()
    for one in at_budgets(kind, n):
        certify(solve(one), exact=False)
    return cpu() - began


def simplex(kind: str, n: int, every: int) -> tuple[float, list[float]]:
    """CPU seconds of HiGHS, with bases kept: none (1), those of the first of ``every``, or always the last one (0)."""
    programs, solver, basis, values = [formulate(one) for one in at_budgets(kind, n)], Highs(), None, []
    began = cpu()
    for place, program in enumerate(programs):
        first = bool(every) and place % every == 0
        start = None if basis is None or first else solver.unpack_warm_start(solver.pack_warm_start(basis))
        found = solver.solve(program, warm_start=start)
        if first or not every:
            basis = found.warm_start
        values.append(float(program.objective @ found.point))
    return cpu() - began, values


class RememberedRows(row_generation._Generation):
    """Row generation that begins with rows of the run before, which have the coefficients of its own budget."""

    kept: tuple[Any, ...] = ()

    def __init__(self, *how: Any) -> None:
        super().__init__(*how)
        privacy, self.blocks = self.problem.privacy, []
        b = privacy.epsilon.b
        for block in RememberedRows.kept:
            upper = np.full(len(block), np.nextafter(b * privacy.delta, 1.0))
            own = replace(block, coefficient=np.where(block.coefficient > 0, b, -1.0), upper=upper)
            self.program = add_rows(self.program, own, self.problem)
            self.seen.add(row_generation._key(own))
            self.blocks.append(own)
        RememberedRows.last = self

    def _add(self, blocks: list[Any]) -> None:
        self.blocks += [block for block in blocks if row_generation._key(block) not in self.seen]
        super()._add(blocks)

    def tight(self, mechanism: Mechanism) -> Iterator[Any]:
        """The rows that hold with equality at a mechanism."""
        for block in self.blocks:
            keep = block.upper - block.activity(mechanism.channel) < 1e-9
            inside = keep[block.row]
            row = (np.cumsum(keep) - 1)[block.row[inside]]
            parts = {name: getattr(block, name)[inside] for name in ("x", "y", "coefficient")}
            if keep.any():
                yield replace(block, row=row, lower=block.lower[keep], upper=block.upper[keep], **parts)


def events(n: int, keep: bool) -> tuple[float, int]:
    """CPU seconds and rounds of `solve` at all budgets."""
    RememberedRows.kept, rounds = (), 0
    began = cpu()
    for one in at_budgets("event", n):
        answer = solve(one)
        rounds += RememberedRows.last.rounds
        RememberedRows.kept = tuple(RememberedRows.last.tight(answer.mechanism)) if keep else ()
    return cpu() - began, rounds


def main() -> None:
    """Print the tables."""
    for kind, n in (*SIMPLEX, *OTHER_METHODS, *(("event", n) for n in EVENTS)):
        solve(problem(kind, n))  # loads and compiles
    print("| problem | n | solve and certify | HiGHS, cold | from the basis before | from the first of 8 | apart |")
    print("|---|---|---|---|---|---|---|")
    for kind, n in SIMPLEX:
        told, values = zip(*(simplex(kind, n, every) for every in (1, 0, 8)), strict=True)
        apart = np.ptp(values, axis=0).max() / np.abs(values).max()
        print(f"| {kind} | {n} | {whole(kind, n):.2f} | {' | '.join(f'{one:.2f}' for one in told)} | {apart:.0e} |")
    for kind, n in OTHER_METHODS:
        print(f"| {kind} | {n} | {whole(kind, n):.2f} | no simplex | | | |")
    row_generation._Generation = RememberedRows  # type: ignore[misc]
    print("\n| n | solve, cold | rounds | with the rows before | rounds |\n|---|---|---|---|---|")
    for n in EVENTS:
        (cold, rounds), (warm, fewer) = events(n, False), events(n, True)
        print(f"| {n} | {cold:.2f} | {rounds} | {warm:.2f} | {fewer} |")


if __name__ == "__main__":
    main()
