r"""From a problem to its linear program: the only place where ``(x, y)`` becomes a column number.

Two forms of one polytope are kept, because each checks the other:

* ``"pairwise"``, the definition: columns ``P[x, y]``, one row for each tied pair and output (Zhou, Lu and Wu 2019,
  eq. (20): ``n**2 (n-1)`` rows);
* ``"compact"``, where all pairs are tied alike: columns ``Q[x, y] >= 0`` and ``M[y] >= 0`` with
  ``P[x, y] = Q[x, y] + b M[y]``, so that ``b M[y]`` is at most the column's minimum; ``n m`` rows
  ``Q[x, y] - beta M[y] <= delta``. With ``b = exp(-epsilon)`` and ``beta = 1 - b`` every coefficient lies in [0, 1].

``b`` is rounded down and ``beta`` up, so that a program is a relaxation of the problem for the real ``e**epsilon``: a
bound proved for the program, its floats read exactly, holds for the problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.checks import Float, require_memory, short_repr
from ldpopt.foundation.rows import Int, RowBlock
from ldpopt.solvers.program import LinearProgram, Span
from ldpopt.statement.problem import Problem

Form = Literal["compact", "pairwise"]

USUAL = 10
"""Powers of two by which a worst case's utility may differ from 1 and still be stated in its own unit."""

BYTES_PER_NONZERO = 200
"""Memory that a simplex solver takes for each non-zero of a program, factors included (measured with HiGHS)."""


@dataclass(frozen=True, eq=False)
class Structure:
    r"""What a channel program was made from.

    Attributes
    ----------
    form : {"compact", "pairwise"}
        Which columns it has.
    weighted : float array, shape (n, m)
        Objective over the channel: ``prior[x] * utility[x, y]``; zeros for a worst-case objective.
    maximize : bool
        Direction.
    b, beta, delta : float
        Of the compact form: :math:`e^{-\epsilon}` rounded down, its complement rounded up, slack.
    """

    form: Form
    weighted: Float
    maximize: bool
    b: float = 0.0
    beta: float = 0.0
    delta: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.weighted.shape[0], self.weighted.shape[1]

    def channel(self, point: Float) -> Float:
        """Read the channel out of a point of the program, shape (n, m); not yet repaired."""
        n, m = self.shape
        entries = point[: n * m].reshape(n, m)
        return entries + self.b * point[n * m : n * m + m] if self.form == "compact" else entries.copy()

    def row_sums(self, activity: Float) -> Float:
        """Duals of the row sums, shape (n,)."""
        return activity[: self.shape[0]]

    def compressed(self, block: RowBlock) -> tuple[Int, Int, Float]:
        """Rows over the channel as compressed rows over the columns."""
        n, m = self.shape
        row, column, value = block.row, block.x * m + block.y, block.coefficient
        if self.form == "compact":
            row = np.concatenate([row, row])
            column = np.concatenate([column, n * m + block.y])
            value = np.concatenate([value, self.b * value])
        return compress(row, column, value, len(block), n * m + m + 1)


@dataclass(frozen=True)
class Size:
    """How large a form of the program is: counted, not built."""

    form: str
    rows: float
    columns: float
    nonzeros: float

    @property
    def memory(self) -> float:
        """Bytes that a simplex solver would take."""
        return BYTES_PER_NONZERO * self.nonzeros


def default_form(problem: Problem) -> Form:
    """Compact wherever all pairs of inputs are tied alike."""
    ties = problem.privacy.ties(problem.inputs) if hasattr(problem.privacy, "ties") else None
    return "compact" if ties is not None and ties.is_complete else "pairwise"


def size(problem: Problem, form: Form) -> Size:
    """Count the program's rows, columns and non-zeros without building it.

    Raises
    ------
    NotRepresentableError
        If the notion has no such form.
    """
    n, m = problem.utility.shape
    extra = sum(len(block) for block in problem.constraints), sum(len(block.x) for block in problem.constraints)
    rows, columns, nonzeros = n + extra[0], n * m, float(n * m + extra[1])
    if problem.objective == "worst_case":
        rows, columns, nonzeros = rows + n, columns + 1, nonzeros + n * m
    ties = problem.privacy.ties(problem.inputs) if hasattr(problem.privacy, "ties") else None
    if form == "compact":
        if ties is None or not ties.is_complete:
            raise NotRepresentableError(f"{problem.privacy!r} has no compact form", do='use form="pairwise"')
        return Size(form, rows + n * m, columns + m, 2 * nonzeros + 2 * n * m)
    pairs = n * (n - 1) if ties is None or ties.first is None else len(ties.first)
    each, width = float(m), 2.0 * m
    if getattr(problem.privacy, "form", "") == "event" and problem.privacy.delta:
        each, width = 2.0**m - 2 if m < 1000 else np.inf, m * 2.0**m if m < 1000 else np.inf
    return Size(form, rows + pairs * each, columns, nonzeros + pairs * width)


def formulate(problem: Problem, form: Form | None = None) -> LinearProgram:
    """Set up the linear program of a problem.

    Parameters
    ----------
    problem : Problem
        The statement.
    form : {"compact", "pairwise"}, optional
        Default: the compact form wherever the notion has one. For an event-wise delta the compact form is the
        entry-wise relaxation, to which `solve` adds violated events; the pairwise form lists all events.

    Returns
    -------
    LinearProgram
        Rows ``row_sum``, ``privacy``, ``worst_case`` and the side constraints by name; its ``structure`` reads a
        channel out of a point.

    Raises
    ------
    NotRepresentableError
        If the notion has no such form.
    StatementError
        If the program would not fit into memory (nothing is built then).

    Notes
    -----
    Compact: ``n m + n`` rows and about ``4 n m`` non-zeros. Mathematics: docs, "The compact program".

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> formulate(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))).shape
    (12, 12)
    >>> formulate(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0)), "pairwise").shape
    (21, 9)
    """
    form = default_form(problem) if form is None else form
    if not isinstance(form, str) or form not in ("compact", "pairwise"):
        raise StatementError(f"form = {short_repr(form)} is unknown", do='use "compact" or "pairwise"')
    counted = size(problem, form)
    require_memory(counted.memory, f"the {form} program ({counted.rows:.3g} rows, {counted.nonzeros:.3g} non-zeros)")
    program = _compact(problem) if form == "compact" else _pairwise(problem)
    if problem.objective == "worst_case":
        program = _with_worst_case(program, problem)
    for block in problem.constraints:
        program = add_rows(program, block, problem)
    return program


def add_rows(program: LinearProgram, block: RowBlock, problem: Problem) -> LinearProgram:
    """Return the program with one more block of rows over the channel at its end."""
    start, index, value = program.structure.compressed(block)
    return _append(program, block.name, start, index, value, block.lower, block.upper, _axes(problem), block)


def compress(row: Int, column: Int, value: Float, n_rows: int, n_columns: int) -> tuple[Int, Int, Float]:
    """Sum duplicates and sort triplets into compressed rows."""
    key, inverse = np.unique(row * n_columns + column, return_inverse=True)
    summed = np.bincount(inverse, value, len(key))
    key, summed = key[summed != 0], summed[summed != 0]
    start = np.searchsorted(key, np.arange(n_rows + 1) * n_columns)
    return start, key % n_columns, summed


def _weighted(problem: Problem) -> Float:
    if problem.prior is None:
        return np.zeros(problem.utility.shape)
    return problem.prior[:, None] * problem.utility.matrix


def _axes(problem: Problem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(map(str, problem.inputs)), tuple(map(str, problem.outputs))


def _compact(problem: Problem) -> LinearProgram:
    ties = problem.privacy.ties(problem.inputs)
    if not ties.is_complete:
        raise NotRepresentableError(f"{problem.privacy!r} has no compact form", do='use form="pairwise"')
    (n, m), inputs, outputs = problem.utility.shape, *_axes(problem)
    maximize = problem.utility.sense == "gain"
    structure = Structure("compact", _weighted(problem), maximize, ties.budget.b, ties.budget.beta, ties.delta)
    q = np.arange(n * m).reshape(n, m)
    floors = n * m + np.arange(m)
    sums = np.concatenate([q, np.broadcast_to(floors, (n, m))], axis=1)
    caps = np.stack([q, np.broadcast_to(floors, (n, m))], axis=2)
    index = np.concatenate([sums.reshape(-1), caps.reshape(-1)])
    value = np.concatenate([np.tile(np.repeat([1.0, structure.b], m), n), np.tile([1.0, -structure.beta], n * m)])
    start = np.concatenate([np.arange(n) * 2 * m, n * 2 * m + np.arange(n * m + 1) * 2])
    weighted = structure.weighted
    return _without_zeros(
        LinearProgram(
            np.concatenate([weighted.reshape(-1), structure.b * weighted.sum(axis=0)]),
            maximize,
            start,
            index,
            value,
            np.concatenate([np.ones(n), np.full(n * m, -np.inf)]),
            np.concatenate([np.ones(n), np.full(n * m, structure.delta)]),
            np.zeros(n * m + m),
            np.full(n * m + m, np.inf),
            (Span("row_sum", 0, n, (inputs,)), Span("privacy", n, n + n * m, (inputs, outputs))),
            (Span("Q", 0, n * m, (inputs, outputs)), Span("M", n * m, n * m + m, (outputs,))),
            structure,
        )
    )


def _pairwise(problem: Problem) -> LinearProgram:
    (n, m), inputs, outputs = problem.utility.shape, *_axes(problem)
    maximize = problem.utility.sense == "gain"
    structure = Structure("pairwise", _weighted(problem), maximize)
    program = LinearProgram(
        structure.weighted.reshape(-1),
        maximize,
        np.arange(n + 1) * m,
        np.arange(n * m),
        np.ones(n * m),
        np.ones(n),
        np.ones(n),
        np.zeros(n * m),
        np.full(n * m, np.inf),
        (Span("row_sum", 0, n, (inputs,)),),
        (Span("P", 0, n * m, (inputs, outputs)),),
        structure,
    )
    return add_rows(program, problem.privacy.rows(problem.inputs, m), problem)


def _with_worst_case(program: LinearProgram, problem: Problem) -> LinearProgram:
    """Add a free column ``worst`` and the rows that keep it on the right side of every input's expectation.

    Utilities far from 1 are stated in a unit of their own: solvers drop coefficients that are small.
    """
    (n, m), inputs, _ = problem.utility.shape, *_axes(problem)
    columns = program.shape[1]
    x, y = np.divmod(np.arange(n * m), m)
    worth = _of_worst_cases(problem)
    exponent = int(np.frexp(np.abs(worth).max())[1]) - 1
    exponent = exponent if abs(exponent) > USUAL else 0
    gains = np.ldexp(worth.reshape(-1), -exponent)
    block = RowBlock("worst_case", x, x, y, -gains, np.zeros(n), np.zeros(n))
    start, index, value = program.structure.compressed(block)
    rows = np.concatenate([np.repeat(np.arange(n), np.diff(start)), np.arange(n)])
    start, index, value = compress(
        rows, np.concatenate([index, np.full(n, columns)]), np.concatenate([value, np.ones(n)]), n, columns + 1
    )
    wider = replace(
        program,
        objective=np.append(program.objective, np.ldexp(1.0, exponent)),
        column_lower=np.append(program.column_lower, -np.inf),
        column_upper=np.append(program.column_upper, np.inf),
        columns=(*program.columns, Span("worst", columns, columns + 1)),
    )
    lower, upper = (np.full(n, -np.inf), np.zeros(n)) if program.maximize else (np.zeros(n), np.full(n, np.inf))
    return _append(wider, "worst_case", start, index, value, lower, upper, (inputs,), None)


def _of_worst_cases(problem: Problem) -> Float:
    """Set the gains of inputs that are never the worst case near those of the others, whose unit they would spoil."""
    gain = problem.utility.gain
    best = float(gain.max(axis=1).min())  # no channel gains more in every case
    never = gain.min(axis=1) > best
    beyond = best + (float(np.abs(gain[~never]).max()) or 1.0)
    if beyond < np.inf:
        gain = np.where(never[:, None], beyond, gain)
    return gain if problem.utility.sense == "gain" else -gain


def _append(
    program: LinearProgram,
    name: str,
    start: Int,
    index: Int,
    value: Float,
    lower: Float,
    upper: Float,
    axes: tuple[tuple[str, ...], ...],
    block: RowBlock | None,
) -> LinearProgram:
    first = program.shape[0]
    return replace(
        program,
        start=np.concatenate([program.start, program.start[-1] + start[1:]]),
        index=np.concatenate([program.index, index]),
        value=np.concatenate([program.value, value]),
        row_lower=np.concatenate([program.row_lower, lower]),
        row_upper=np.concatenate([program.row_upper, upper]),
        rows=(*program.rows, Span(name, first, first + len(lower), axes, block)),
    )


def _without_zeros(program: LinearProgram) -> LinearProgram:
    """Drop coefficients that are exactly 0 (``beta`` at epsilon = 0, ``b`` beyond epsilon = 745)."""
    keep = program.value != 0
    if keep.all():
        return program
    kept = np.concatenate([[0], np.cumsum(keep)])
    return replace(program, start=kept[program.start], index=program.index[keep], value=program.value[keep])


def program_blocks(program: LinearProgram, values: Any) -> dict[str, Float]:
    """Split a vector over the rows by block name; blocks added in rounds are joined."""
    parts: dict[str, list[Float]] = {}
    for span in program.rows:
        parts.setdefault(span.name, []).append(values[span.slice])
    return {name: np.concatenate(part) for name, part in parts.items()}
