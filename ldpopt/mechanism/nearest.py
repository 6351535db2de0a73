r"""The private channel that is nearest to a given one, by linear programs.

.. math:: \min_P \; \max_x T_x + \frac{w}{n} \sum_x T_x,
          \qquad T_x = \sum_y \max(P(x, y) - C(x, y), 0)
"""

from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np

from ldpopt.auditing.exact_matrices import ROW_SUM_TOLERANCE
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import RowBlock
from ldpopt.foundation.sentences import above_text
from ldpopt.mechanism.rounding import (
    ChannelAudit,
    Rounded,
    largest_move,
    no_private_channel,
    round_private,
)
from ldpopt.privacy import Comparisons, Ties

AVERAGE_WEIGHT = 1e-3  # weight of the average total variation beside the largest
# a rounding that moves at most this mass is accepted: the channel was private up to tolerances
SMALL_MOVE = 1e-6
# largest violation of a generated row that is a rounding error of the solver
SOLVER_TOLERANCE = 1e-8
PRICINGS = (None, "devex", "dantzig", "steepest")
LEAST_TOLERANCE = 1e-10  # smallest tolerance of HiGHS
MAX_SECONDS = 20.0  # time for the linear programs; a channel of 30 answers takes .2 to 5 s


def nearest_private(
    channel: Float,
    privacy: Any,
    inputs: Sequence[Hashable],
    outputs: Sequence[Hashable],
    audit: ChannelAudit,
) -> tuple[Rounded, tuple[str, ...]]:
    """The nearest private rounding of a row-stochastic channel, (n, m), and notes on its cost."""
    ties = privacy.ties(inputs, outputs)
    comparisons = privacy.comparisons(inputs, outputs) if ties is None else None
    part = privacy.compared_part(inputs, outputs) if ties is None else None
    best, last = round_private(channel, ties, audit, comparisons, part)
    if best is None:
        raise no_private_channel(privacy, last)
    notes, channel = cleaning_of(channel), np.maximum(channel, 0.0)
    channel = channel / channel.sum(axis=1, keepdims=True)
    if best.moved > SMALL_MOVE:
        program = _Program(channel, privacy, ties or comparisons, inputs, outputs)
        solution, is_finished = program.solved(Deadline.after(MAX_SECONDS))
        if not is_finished:
            notes.append(
                "a nearer channel may exist: the linear program was not solved within "
                f"{MAX_SECONDS:g} s"
            )
        other = None
        if solution is not None:
            other, _ = round_private(solution, ties, audit, comparisons, part)
        if other is not None and (moved := largest_move(other.channel, channel)) < best.moved:
            best = Rounded(other.channel, other.audit, moved)
    average = float(np.maximum(best.channel - channel, 0).sum(axis=1).mean())
    cost = (
        f"at most {above_text(best.moved, 3)} of a row's probability moved (total variation), "
        f"{average:.3g} on average"
    )
    return best, (*notes, cost)


def moved_least(
    channel: Float,
    privacy: Any,
    comparisons: Comparisons,
    inputs: Sequence[Hashable],
    pricing: str | None = None,
) -> Float | None:
    """The channel of a simplex solver that moves the least mass under some comparisons; None if it
    was not solved in time.

    Its vertices satisfy the comparisons up to rounding errors, while the channels of other solvers
    may be off by their tolerances, which a small budget multiplies. ``pricing`` is how HiGHS
    chooses edges, one of `PRICINGS`: it ends at other vertices, if one has lost its digits.
    """
    program = _Program(channel, privacy, comparisons, inputs)
    program.pricing = pricing
    solution, is_finished = program.solved(Deadline.after(MAX_SECONDS))
    return solution if is_finished else None


def cleaning_of(channel: Float) -> list[str]:
    """Notes on what makes a matrix row-stochastic, if a `Mechanism` would refuse it as it is."""
    below = float(-min(channel.min(), 0.0))
    sums = channel.sum(axis=1)
    clipped = float(np.maximum(-channel, 0.0).sum(axis=1).max())
    off = float(np.abs(np.maximum(channel, 0.0).sum(axis=1) - 1).max())
    notes = []
    if below > ROW_SUM_TOLERANCE:
        notes.append(
            f"negative entries, down to {-below:.3g}, became 0: at most {clipped:.3g} in a row"
        )
    if max(off, float(np.abs(sums - 1).max())) > ROW_SUM_TOLERANCE:
        notes.append(
            f"rows with sums from {sums.min():.6g} to {sums.max():.6g} were divided by the sum of "
            f"their positive entries, which differs from 1 by up to {off:.3g}"
        )
    return notes


class _Program:
    """Variables: entries P, (n, m), their excesses over the given ones, (n, m), column minima,
    (m,), largest row.
    """

    def __init__(
        self,
        channel: Float,
        privacy: Any,
        ties: Ties | Comparisons | None,
        inputs: Sequence[Hashable],
        outputs: Sequence[Hashable] = (),
    ) -> None:
        self.given, self.privacy, self.ties, self.inputs = channel, privacy, ties, inputs
        self.outputs = outputs  # a notion without ties and comparisons needs them
        self.shape = channel.shape
        # tangents can be added without end, and the repair removes what the solver leaves
        self.tolerance = 0.0 if ties is not None else SOLVER_TOLERANCE
        self.pricing: str | None = None
        self.is_generated = False  # whether rows of a notion without ties are generated

    def solved(self, deadline: Deadline) -> tuple[Float | None, bool]:
        """The nearest channel up to the solver's tolerances or that of the last relaxation; whether
        it is final.
        """
        from scipy.optimize import linprog
        from scipy.sparse import vstack

        n, m = self.shape
        size = self.given.size
        solve = cast(Any, linprog)
        identity = np.arange(size)
        distance = self._rows(size, (identity, identity, 1.0), (identity, size + identity, -1.0))
        largest = self._rows(
            n, (identity // m, size + identity, 1.0), (np.arange(n), 2 * size + m, -1.0)
        )
        blocks = [(distance, self.given.reshape(-1)), (largest, np.zeros(n)), *self._privacy_rows()]
        sums = self._rows(n, (identity // m, identity, 1.0))
        cost = np.zeros(sums.shape[1])
        cost[size : 2 * size] = AVERAGE_WEIGHT / n
        cost[-1] = 1.0
        upper = np.full(len(cost), np.inf)
        if self.ties is not None:
            upper[:size] = np.where(self.ties.allowed(m).reshape(-1), np.inf, 0.0)
        bounds = np.stack([np.zeros(len(cost)), upper], axis=1)
        channel = None
        while not deadline.is_over:
            rows, sides = (
                vstack([rows for rows, _ in blocks]),
                np.concatenate([side for _, side in blocks]),
            )
            options: Any = {"method": "highs", "options": self._options(deadline)}
            solution = solve(cost, rows, sides, sums, np.ones(n), bounds, **options)
            if solution.status != 0:
                break
            channel = np.maximum(solution.x[:size].reshape(n, m), 0.0)
            channel /= channel.sum(axis=1, keepdims=True)
            # a program with all rows of its notion from the start needs no others
            is_generated = self.privacy.is_separated and (
                self.ties is not None or self.is_generated
            )
            violated = self.privacy.separate(channel, self.inputs) if is_generated else None
            if violated is None or violated.violation(channel).max(initial=0.0) <= self.tolerance:
                return channel, True
            blocks += self._of_block(violated)
        return channel, False

    def _options(self, deadline: Deadline) -> dict[str, Any]:
        """Options of HiGHS; a constant repairs what it leaves of comparisons."""
        options: dict[str, Any] = {"time_limit": deadline.left}
        # a row that is generated again, within the tolerance of the solver, would be so without end
        if isinstance(self.ties, Comparisons) or self.is_generated:
            tolerances = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
            options |= dict.fromkeys(tolerances, LEAST_TOLERANCE)
            options["simplex_dual_edge_weight_strategy"] = self.pricing
        return options

    def _privacy_rows(self) -> list[tuple[Any, Float]]:
        """Rows of the notion: by column minima, for pairs, or those that it writes."""
        (n, m), ties = self.shape, self.ties
        if ties is None:
            try:
                return self._of_block(self.privacy.labelled_rows(self.inputs, self.outputs))
            except NotRepresentableError:
                if not self.privacy.is_separated:
                    raise
                self.is_generated = True
            try:
                return self._of_block(self.privacy.starting_rows(self.inputs, self.outputs))
            except NotRepresentableError:
                return []  # all of its rows are generated
        if isinstance(ties, Comparisons) or not ties.is_compact:
            return self._of_block(ties.rows(m))
        tied = np.flatnonzero(ties.tied_outputs(m))
        capped = np.flatnonzero(ties.capped_inputs())
        minimum = 2 * self.given.size
        y, x = (part.reshape(-1) for part in np.meshgrid(tied, np.arange(n)))
        below = self._rows(
            len(x), (np.arange(len(x)), minimum + y, 1.0), (np.arange(len(x)), x * m + y, -1.0)
        )
        y, x = (part.reshape(-1) for part in np.meshgrid(tied, capped))
        b = float(ties.ratio(up=False))
        above = self._rows(
            len(x), (np.arange(len(x)), x * m + y, b), (np.arange(len(x)), minimum + y, -1.0)
        )
        return [(below, np.zeros(below.shape[0])), (above, np.full(len(x), b * ties.delta))]

    def _of_block(self, block: RowBlock) -> list[tuple[Any, Float]]:
        """Rows over the entries as upper bounds."""
        rows = self._rows(
            len(block), (block.row, block.x * self.shape[1] + block.y, block.coefficient)
        )
        upper = np.isfinite(block.upper)
        lower = np.isfinite(block.lower)
        return [
            (rows[np.flatnonzero(upper)], block.upper[upper]),
            (-rows[np.flatnonzero(lower)], -block.lower[lower]),
        ]

    def _rows(self, count: int, *terms: tuple[Any, Any, Any]) -> Any:
        """A sparse matrix of some rows over all variables from triplets (row, variable,
        coefficient).
        """
        from scipy.sparse import csr_array

        parts = [np.broadcast_arrays(*term) for term in terms]
        row, column, value = (
            np.concatenate([part[k] for part in parts] or [np.zeros(0)]) for k in range(3)
        )
        width = 2 * self.given.size + self.shape[1] + 1
        return csr_array((value, (row.astype(int), column.astype(int))), shape=(count, width))
