"""ProblemForm: the properties of a problem that decide how it is solved, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from ldpopt.certificate.program_bound import Form
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Int
from ldpopt.privacy import Ties
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solving.formulation import default_form
from ldpopt.solving.limits import Limits

MAX_LOSS = 700.0  # largest privacy loss along a tie; beyond it ``exp(-loss)`` underflows
# floats that the interior point by outputs stores for each tie and output: points, steps, products
TIE_ARRAYS = 12


@dataclass(frozen=True, eq=False)
class ProblemForm:
    """Sizes, objective and ties of a problem."""

    n: int  # number of inputs
    m: int  # number of outputs
    is_expected: bool  # whether the objective is an expected value, not a worst case
    has_side_rows: bool  # whether there are side constraints
    # the pairs of inputs that the notion ties output by output; None if the notion only has rows
    ties: Ties | None
    # whether the program is a relaxation, to which violated rows of the notion are added
    has_generated_rows: bool
    utility: Utility | None = None
    is_averaged: bool = False  # whether the program has columns for the averages of comparisons

    @classmethod
    def of(cls, problem: Problem, deadline: Deadline = NO_LIMIT) -> ProblemForm:
        """Read a problem; for a metric this drops implied pairs, which takes ``n**3``
        operations.
        """
        n, m = problem.utility.shape
        ties = problem.ties(deadline)
        expected = problem.objective == "expected"
        return cls(
            n,
            m,
            expected,
            bool(problem.constraints),
            ties,
            problem.privacy.is_separated,
            problem.utility,
            default_form(problem) == "averages",
        )

    @property
    def entries(self) -> int:
        """Number of entries of the channel."""
        return self.n * self.m

    @cached_property
    def has_distances_as_losses(self) -> bool:
        """Whether losses are 0 for the truth and satisfy the triangle inequality; takes ``n**3``
        operations.
        """
        if self.utility is None or self.utility.sense != "loss" or self.n != self.m:
            return False
        loss = self.utility.matrix
        most = 1e-9 * float(np.abs(self.utility.matrix).max())
        is_metric = all(bool((loss <= loss[:, [k]] + loss[k] + most).all()) for k in range(self.n))
        return is_metric and not loss.diagonal().any()

    @property
    def pair_nonzeros(self) -> float:
        """Number of non-zeros of the privacy rows, of which there is one per tied pair and
        output.
        """
        return 0.0 if self.ties is None else 2.0 * self.ties.number * self.m

    @property
    def default_form(self) -> Form:
        """Compact if all tied pairs have the same constraint."""
        return "compact" if self.ties is not None and self.ties.is_compact else "pairwise"

    @property
    def program_name(self) -> str:
        """Name of the program that is solved as a whole."""
        return "averages" if self.is_averaged else self.default_form

    @property
    def is_event_wise(self) -> bool:
        """Whether all outputs of a pair share one delta."""
        return (
            self.ties is not None
            and self.ties.is_complete
            and self.ties.is_shared
            and self.ties.delta > 0
        )

    def event_nonzeros(self, limits: Limits) -> int:
        """Non-zeros of generated rows from which the interior point for events is faster."""
        return limits.event_nonzeros if self.is_expected else limits.event_worst_nonzeros

    @property
    def is_plain_compact(self) -> bool:
        """Whether all pairs have the same constraint, for an expected value without other rows."""
        has_no_rows = self.is_expected and not self.has_side_rows and not self.has_generated_rows
        return has_no_rows and self.ties is not None and self.ties.is_complete

    @cached_property
    def is_mutual(self) -> bool:
        """Whether every tie has its reverse and every input has a tie, as for graphs and
        metrics.
        """
        if self.ties is None or self.ties.delta or self.ties.is_compact:
            return False
        if self.ties_all_pairs:
            return self.n > 1
        first, second = self.ties.pairs()
        forward = _distinct(first * self.n + second)
        reverse = _distinct(second * self.n + first)
        return bool(np.array_equal(forward, reverse)) and bool(
            np.bincount(first, minlength=self.n).all()
        )

    @cached_property
    def ties_all_pairs(self) -> bool:
        """Whether all ordered pairs are tied, and listed in order: then no pairs need be sorted."""
        return self.ties is not None and self.ties.has_all_pairs

    def fits_graph_interior(self, limits: Limits) -> bool:
        """Whether the interior point by outputs has an interior that floats resolve, and memory for
        its factors.
        """
        if self.tie_numbers > limits.graph_numbers:
            return False  # checked first, as `graph_numbers` takes long for many ties
        return self.has_interior(limits) and self.graph_numbers <= limits.graph_numbers

    @property
    def tie_numbers(self) -> float:
        """Floats that the interior point by outputs stores for ties alone."""
        return TIE_ARRAYS * float(0 if self.ties is None else self.ties.number) * self.m

    def has_interior(self, limits: Limits) -> bool:
        """Whether ties are mutual and hold for every output, with losses that are not too small or
        large for floats.
        """
        if not self.is_mutual or self.ties is None or self.ties.owner is not None:
            return False
        return limits.graph_least_loss < self.losses[0] and self.losses[1] < MAX_LOSS

    @cached_property
    def graph_numbers(self) -> float:
        """Floats that the interior point by outputs stores: factors level by level, and arrays of
        ties.
        """
        from ldpopt.solving.interior.levels import VertexLevels

        if self.ties is None or self.ties.is_compact:
            return inf
        return self.m * VertexLevels.of(self.n, *self.ties.pairs()).numbers + self.tie_numbers

    @cached_property
    def is_connected(self) -> bool:
        """Whether ties are mutual, with the same distance both ways, and connect all inputs."""
        if (
            not self.is_mutual
            or self.ties is None
            or self.ties.owner is not None
            or self.ties.capped is not None
        ):
            return False
        if self.ties_all_pairs:
            distance = self.ties.table
            return bool((distance == distance.T).all())
        # imported here because the import is slow and most problems do not need it
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        first, second = self.ties.pairs()
        distance = np.ones(len(first)) if self.ties.distance is None else self.ties.distance
        forward = np.argsort(first * self.n + second)
        reverse = np.argsort(second * self.n + first)
        graph = csr_array((distance, (first, second)), shape=(self.n, self.n))
        is_alike = len(_distinct(first * self.n + second)) == len(first)
        is_alike = is_alike and bool(np.array_equal(distance[forward], distance[reverse]))
        return is_alike and int(connected_components(graph, directed=False)[0]) == 1

    @cached_property
    def losses(self) -> tuple[float, float]:
        """Smallest and largest privacy loss along a tie, in nats."""
        if self.ties is None:
            return 0.0, 0.0
        least, most = self.ties.distance_range
        return float(self.ties.budget) * least, float(self.ties.budget) * most


def _distinct(keys: Int) -> Int:
    """The distinct integers in ascending order; sixty times as fast as `numpy.unique` for millions
    of them.
    """
    ordered = np.sort(keys)
    return ordered[np.append(True, np.diff(ordered) > 0)] if len(ordered) else ordered
