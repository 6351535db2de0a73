"""The points of a sweep that differ in their budget alone, solved one after the other."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

from ldpopt.foundation.budget import Budget
from ldpopt.problem.problem import Problem
from ldpopt.solving.along_budgets import AlongBudgets, ProvedAnswer, can_follow

# Budgets of a block, the first of which starts without a basis: a process that goes on in the
# middle of one searches at most so many budgets again
BLOCK = 8
# Distance of two budgets up to which a search from the vertex of the other one takes at most 0.8 of
# the time of one without a basis (`benchmarks/choices.py`)
FARTHEST = 0.8
MOST_STARTS = 4096  # vertices that are kept: of as many priors at one budget
Line = tuple[int, int]  # positions of a case and a prior


class GridPoint(NamedTuple):
    """A point of a grid: positions of its case, budget and prior."""

    case: int
    budget: int
    prior: int


@dataclass(eq=False)
class Chains:
    """Answers of points by their case, budget and prior.

    The budgets are ordered by size and cut into blocks, also where two are far apart. Within a
    block each search starts from the vertex of the next smaller budget, which is found first if it
    is not known: what a point returns depends on the grid, not on which points were solved before
    it or by which process.
    """

    budgets: Sequence[Budget]
    problem: Callable[[GridPoint], Problem]
    _places: tuple[int, ...] = field(init=False)  # positions of the budgets by size
    _rank: dict[int, int] = field(init=False)
    _first: list[int] = field(init=False)  # for each rank that of the first budget of its block
    _programs: dict[Any, AlongBudgets] = field(default_factory=dict)
    _follows: dict[int, bool] = field(default_factory=dict)
    _known: OrderedDict[tuple[Line, int], Any] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        places = sorted(range(len(self.budgets)), key=lambda place: float(self.budgets[place]))
        self._places = tuple(places)
        self._rank = {place: rank for rank, place in enumerate(places)}
        length = ceil(len(places) / ceil(len(places) / BLOCK))
        self._first = []
        for rank, place in enumerate(places):
            epsilon = float(self.budgets[place])
            is_first = rank % length == 0
            is_first = is_first or epsilon - float(self.budgets[places[rank - 1]]) > FARTHEST
            self._first.append(rank if is_first else self._first[-1])

    def answer(self, point: GridPoint, problem: Problem) -> ProvedAnswer | None:
        """The proved answer of a point; None if its problem is not one of those that a chain
        solves, or its answer proves too large a gap.
        """
        case, budget, prior = point
        if case not in self._follows:
            self._follows[case] = can_follow(problem)
        if not self._follows[case]:
            return None
        shape = problem.utility.shape, problem.utility.sense
        if shape not in self._programs:
            self._programs[shape] = AlongBudgets(shape[0], maximize=shape[1] == "gain")
        program = self._programs[shape]
        line = case, prior
        rank = self._rank[budget]
        start = rank
        while start > self._first[rank] and (line, start - 1) not in self._known:
            start -= 1
        for place in range(start, rank):
            earlier = self.problem(GridPoint(case, self._places[place], prior))
            self._search(program, line, place, earlier)
        vertex = self._search(program, line, rank, problem)
        return None if vertex is None else program.answer(problem, vertex)

    def _search(self, program: AlongBudgets, line: Line, rank: int, problem: Problem) -> Any:
        """The vertex at a budget, from that of the budget before it in the block."""
        basis = None if rank == self._first[rank] else self._known[line, rank - 1]
        vertex = program.vertex(problem, basis)
        self._known[line, rank] = None if vertex is None else vertex.basis
        if len(self._known) > MOST_STARTS:
            self._known.popitem(last=False)
        return vertex
