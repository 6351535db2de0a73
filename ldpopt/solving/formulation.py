r"""The linear program of a problem; only this module maps an entry ``(x, y)`` to a column number.

* ``"pairwise"``, the definition: columns ``P[x, y]``, one row for each tied pair and output;
* ``"compact"``, if all pairs have the same constraint: columns ``Q[x, y] >= 0`` and ``M[y] >= 0``
  with ``P[x, y] = Q[x, y] + b M[y]``, rows ``Q[x, y] - beta M[y] <= delta``, ``b = exp(-epsilon)``,
  ``beta = 1 - b``. If only one input may report an output, then ``M[y] = 0`` and the output's other
  entries are 0;
* ``"events"``, for an event-wise delta: columns ``P[x, y]`` and ``E[x, x', y] >= 0``, rows
  ``b P[x, y] - P[x', y] <= E[x, x', y]`` and ``sum_y E[x, x', y] <= b delta``;
* ``"averages"``, if averages of many entries are compared: columns ``P[x, y]`` and ``A[g, y] >=
  0``, rows ``sum_x w[g, x] P[x, y] - A[g, y] = 0`` for each distinct average, and each comparison
  as a row of two non-zeros;
* ``"relaxation"``, the rows from which row generation starts: the compact form of the entry-wise
  notion, which is weaker than the event-wise one; without ties, row sums or a few rows.

``b`` is rounded down and ``beta`` up: a bound proved for the program, its floats read exactly,
holds for the problem.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labelled import Labels
from ldpopt.foundation.numbers import (
    Float,
    Int,
    require_choice,
    require_kind,
    require_memory,
)
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import Ties
from ldpopt.problem.problem import Problem
from ldpopt.solvers.program import Span
from ldpopt.solving.channel_program import ChannelProgram, Structure, compress
from ldpopt.solving.compact_arrays import KEPT_ENTRIES, compact_arrays, complete_arrays
from ldpopt.solving.shared_averages import SharedAverages

ProgramForm = Literal["compact", "pairwise", "events", "averages", "relaxation"]

# largest binary exponent of a worst case's utility at which it is not scaled
MAX_UNSCALED_EXPONENT = 10
# Memory of a simplex solver per non-zero of the program, factors included (measured with HiGHS)
BYTES_PER_NONZERO = 200


@dataclass(frozen=True)
class Size:
    """Numbers of rows, columns and non-zeros of a form of the program."""

    form: str
    rows: float
    columns: float
    nonzeros: float

    @property
    def memory(self) -> float:
        """Bytes that a simplex solver needs, about."""
        return BYTES_PER_NONZERO * self.nonzeros


def default_form(problem: Problem) -> ProgramForm:
    """The smallest exact form: for an event-wise delta events, compact if all tied pairs have one
    constraint, averages if large ones are compared again and again, and else pairwise.
    """
    ties = problem.ties()
    if ties is not None and ties.is_shared:
        return "events"
    if ties is None and (comparisons := problem.comparisons()) is not None:
        shared = SharedAverages.of(comparisons)
        m = len(problem.outputs)
        is_smaller = shared.size(m)[1] < comparisons.size(m)[1]
        return "averages" if shared.averages and is_smaller else "pairwise"
    return (
        "compact"
        if ties is not None and ties.is_compact and not problem.privacy.is_separated
        else "pairwise"
    )


def relaxed_form(problem: Problem) -> ProgramForm:
    """The form that row generation starts from: the relaxation of a notion with generated rows,
    else the exact form.
    """
    forms = available_forms(problem)
    return "relaxation" if "relaxation" in forms else forms[0]


def available_forms(problem: Problem) -> tuple[ProgramForm, ...]:
    """Forms that a problem has, the default first."""
    forms: tuple[ProgramForm, ...] = (default_form(problem), "pairwise")
    if problem.privacy.is_separated:
        forms = (*forms, "relaxation")
    comparisons = problem.comparisons() if problem.ties() is None else None
    if comparisons is not None and SharedAverages.of(comparisons).averages:
        forms = (*forms, "averages")
    return tuple(dict.fromkeys(forms))


def size(problem: Problem, form: ProgramForm) -> Size:
    """Count the program's rows, columns and non-zeros without building it."""
    n, m = problem.utility.shape
    rows = n + sum(len(block) for block in problem.constraints)
    columns = n * m
    nonzeros = float(n * m + sum(len(block.x) for block in problem.constraints))
    if problem.objective == "worst_case":
        rows, columns, nonzeros = rows + n, columns + 1, nonzeros + n * m
    if (ties := _ties_of(problem, form)) is not None and form == "events":
        pairs = _n_pairs(ties)
        return Size(form, rows + pairs * (m + 1), columns + pairs * m, nonzeros + 4 * pairs * m)
    if ties is not None and form in ("compact", "relaxation"):
        caps = float(n * m)
        if not ties.is_complete:
            capped = np.count_nonzero(ties.capped_inputs())
            caps = float(capped * np.count_nonzero(ties.tied_outputs(m)))
        return Size(form, rows + caps, columns + m, 2 * nonzeros + 2 * caps)
    comparisons = problem.comparisons() if ties is None else None
    if form == "averages" and comparisons is not None:
        shared = SharedAverages.of(comparisons)
        more, entries = shared.size(m)
        added = len(shared.averages) * float(np.count_nonzero(comparisons.tied_outputs(m)))
        return Size(form, rows + more, columns + added, nonzeros + entries)
    privacy_rows, privacy_nonzeros = (
        pairwise_size(ties, n, m) if comparisons is None else comparisons.size(m)
    )
    return Size(form, rows + privacy_rows, columns, nonzeros + privacy_nonzeros)


def pairwise_size(ties: Ties | None, n: int, m: int) -> tuple[float, float]:
    """Rows and non-zeros of the privacy constraints in the pairwise form; without ties, those of
    all pairs.
    """
    if ties is None:
        return n * (n - 1) * float(m) + n * m, n * (n - 1) * 2.0 * m + n * m
    pairs = _n_pairs(ties)
    zeros = 0 if ties.owner is None else n * m - int(np.count_nonzero(ties.allowed(m)))
    if ties.is_shared:
        events = 2.0**m if m < 1000 else np.inf
        return pairs * (events - 2) + zeros, pairs * m * events + zeros
    shared = float(np.count_nonzero(ties.tied_outputs(m)))
    return pairs * shared + zeros, pairs * 2 * shared + zeros


def formulate(
    problem: Problem, form: ProgramForm | None = None, deadline: Deadline = NO_LIMIT
) -> ChannelProgram:
    """Build the linear program of a problem, which is exact for every notion unless a relaxation is
    requested.

    Parameters
    ----------
    problem : Problem
        The problem.
    form : {"compact", "pairwise", "events", "averages", "relaxation"}, optional
        Column minima; all pairs, with all events of an event-wise delta; auxiliary variables for an
        event-wise delta, or for averages that are compared; or a weaker relaxation (of an
        event-wise delta the entry-wise one), to which `solve` adds violated rows. Default: the
        smallest exact form.
    deadline : Deadline, optional
        Deadline of the whole call; default: ``NO_LIMIT``.

    Returns
    -------
    ChannelProgram
        Rows ``row_sum``, ``privacy``, ``worst_case`` and the side constraints by name; its
        ``structure`` reads a channel out of a point.

    Raises
    ------
    NotRepresentableError
        If the notion has no such form.
    StatementError
        If the argument is not a problem, or the program would not fit into memory (then nothing is
        built).

    Notes
    -----
    Compact: ``n m + n`` rows and about ``4 n m`` non-zeros; events: ``n (n - 1) (m + 1) + n`` rows.
    Mathematics: docs, "The compact program" and "Event-wise delta: generating rows".

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> formulate(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))).shape
    (12, 12)
    >>> formulate(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0)), "pairwise").shape
    (21, 9)
    >>> print(formulate(Problem([0.6, 0.4], "identity", PureLDP("log(2)")), "pairwise"))
    pairwise program: 6 rows, 4 columns, 12 non-zeros
    columns  P: 4
    rows     row_sum: 2, privacy: 4
    maximize 0.6 P[0,0] + 0.4 P[1,1]
    row_sum[0]      P[0,0] + P[0,1] = 1
    row_sum[1]      P[1,0] + P[1,1] = 1
    privacy[0,1,0]  0.5 P[0,0] - P[1,0] <= 0
    privacy[0,1,1]  0.5 P[0,1] - P[1,1] <= 0
    ... 2 more rows of privacy
    """
    require_kind(problem, Problem, "formulate()")
    require_kind(deadline, Deadline, "formulate()", "leave it out, or pass Deadline.after(seconds)")
    form = default_form(problem) if form is None else form
    require_choice(form, get_args(ProgramForm), "form")
    problem.ties(deadline)  # may take long; the problem keeps the result
    counted = size(problem, form)
    require_memory(
        counted.memory,
        f"the {form} program ({counted.rows:.3g} rows, {counted.nonzeros:.3g} non-zeros)",
    )
    builders = {
        "pairwise": _pairwise,
        "events": _events,
        "averages": _averages,
        "relaxation": _relaxation,
    }
    program = builders[form](problem) if form in builders else _compact(problem, form)
    deadline.check("setting up the program")
    if problem.objective == "worst_case":
        program = _with_worst_case(program, problem)
    for block in problem.constraints:
        program = add_rows(program, block, problem)
    is_named = program.problem is problem and program.form == form
    return program if is_named else replace(program, problem=problem, form=form)


def add_rows(program: ChannelProgram, block: RowBlock, problem: Problem) -> ChannelProgram:
    """Append a block of rows over the channel to a program."""
    matrix = program.structure.compressed(block)
    sides = block.lower, block.upper
    return _append(program, block.name, matrix, sides, _axes(problem), block)


def _weighted(problem: Problem) -> Float:
    if problem.prior is None:
        return np.zeros(problem.utility.shape)
    return problem.prior[:, None] * problem.utility.matrix


def _axes(problem: Problem) -> tuple[Labels, Labels]:
    return problem.inputs, problem.outputs


def _ties_of(problem: Problem, form: ProgramForm) -> Ties | None:
    """The ties of a form, if the problem has this form."""
    if form == default_form(problem) or form in (forms := available_forms(problem)):
        return problem.ties()
    message = f"{problem.privacy!r} has no {form} form"
    if form == "compact" and "relaxation" in forms:
        message = f"the compact form of {problem.privacy!r} is a relaxation"
        raise NotRepresentableError(
            message, code="relaxation", do=f'use form="{forms[0]}", or request form="relaxation"'
        )
    raise NotRepresentableError(message, code="form", do=f'use form="{forms[0]}"')


def _n_pairs(ties: Ties) -> float:
    return float(
        np.count_nonzero(ties.capped_inputs()) * (ties.n - 1) if ties.is_compact else ties.number
    )


def _compact(problem: Problem, form: ProgramForm) -> ChannelProgram:
    ties = _ties_of(problem, form)
    assert ties is not None
    n, m = problem.utility.shape
    inputs, outputs = _axes(problem)
    budget = ties.budget
    is_gain = problem.utility.sense == "gain"
    structure = Structure(
        "compact", _weighted(problem), is_gain, budget.b, budget.beta, ties.delta, ties
    )
    numbers = structure.b, structure.beta, structure.delta
    axes = inputs, outputs
    if ties.is_complete and n * m <= KEPT_ENTRIES:
        arrays = complete_arrays(n, m, *numbers)
    else:
        capped = np.flatnonzero(ties.capped_inputs())
        shared = np.flatnonzero(ties.tied_outputs(m))
        axes = tuple(inputs[x] for x in capped), tuple(outputs[y] for y in shared)
        is_free = np.append(ties.allowed(m).reshape(-1), ties.tied_outputs(m))
        arrays = compact_arrays((n, m), capped, shared, is_free, *numbers)
    weighted = structure.weighted
    size = len(axes[0]) * len(axes[1])
    return ChannelProgram(
        np.concatenate([weighted.reshape(-1), structure.b * weighted.sum(axis=0)]),
        structure.maximize,
        *arrays,
        (Span("row_sum", 0, n, (inputs,)), Span("privacy", n, n + size, axes)),
        (Span("Q", 0, n * m, (inputs, outputs)), Span("M", n * m, n * m + m, (outputs,))),
        structure,
        problem,
        form,
    )


def row_sums(problem: Problem) -> ChannelProgram:
    """The program over a channel's entries whose only rows are the row sums."""
    n, m = problem.utility.shape
    inputs, outputs = _axes(problem)
    maximize = problem.utility.sense == "gain"
    structure = Structure("pairwise", _weighted(problem), maximize)
    return ChannelProgram(
        structure.weighted.reshape(-1),
        maximize,
        np.arange(n + 1) * m,
        np.arange(n * m, dtype=np.int32 if n * m < 1 << 31 else np.int64),
        np.broadcast_to(1.0, n * m),
        np.ones(n),
        np.ones(n),
        np.broadcast_to(0.0, n * m),
        np.broadcast_to(np.inf, n * m),
        (Span("row_sum", 0, n, (inputs,)),),
        (Span("P", 0, n * m, (inputs, outputs)),),
        structure,
    )


def program_of_pairs(
    problem: Problem, first: Int, second: Int, output: Int, ratio: Float
) -> ChannelProgram:
    """The pairwise program with these privacy rows only: ``ratio P[first, output] <= P[second,
    output]``.
    """
    program = add_rows(
        row_sums(problem), RowBlock.of_pairs("privacy", first, second, output, ratio), problem
    )
    return program if problem.prior is not None else _with_worst_case(program, problem)


def _pairwise(problem: Problem) -> ChannelProgram:
    program = row_sums(problem)
    m = len(problem.outputs)
    ties = problem.ties()
    if ties is None and (comparisons := problem.comparisons()) is not None:
        return add_rows(program, comparisons.rows(m), problem)
    if ties is None or problem.privacy.is_separated:
        rows = problem.privacy.labelled_rows(problem.inputs, problem.outputs)
        return add_rows(program, rows, problem)
    return add_rows(program, ties.rows(m), problem)


def _relaxation(problem: Problem) -> ChannelProgram:
    """The program from which row generation starts: the ties of single outputs, else the notion's
    rows if they are few, else row sums alone.
    """
    ties = _ties_of(problem, "relaxation")
    if ties is not None and ties.is_compact:
        return _compact(problem, "relaxation")
    program = row_sums(problem)
    m = len(problem.outputs)
    with suppress(NotRepresentableError):
        block = (
            problem.privacy.starting_rows(problem.inputs, problem.outputs)
            if ties is None
            else ties.rows(m)
        )
        program = add_rows(program, block, problem)
    return program


def _events(problem: Problem) -> ChannelProgram:
    """Row sums, and for every pair ``b P[x, y] - P[x', y] <= E[x, x', y]``, ``sum_y E[x, x', y] <=
    b delta``.
    """
    ties = _ties_of(problem, "events")
    assert ties is not None
    program = row_sums(problem)
    n, m = problem.utility.shape
    inputs, outputs = _axes(problem)
    first, second = ties.pairs()
    pairs = tuple(
        f"{inputs[x]},{inputs[k]}" for x, k in zip(first.tolist(), second.tolist(), strict=True)
    )
    size = len(pairs) * m
    outcomes = np.arange(m)
    excess = n * m + np.arange(size)
    entries = [(ends[:, None] * m + outcomes).reshape(-1) for ends in (first, second)]
    ratio = np.repeat(np.broadcast_to(ties.ratio(up=False), len(pairs)), m)
    value = np.stack([ratio, -np.ones(size), -np.ones(size)], axis=1).reshape(-1)
    limits = np.nextafter(ratio[::m] * ties.delta, 1.0)
    infinite = np.full(size, np.inf)
    zero = np.zeros(size)
    wider = replace(
        program,
        objective=np.append(program.objective, zero),
        column_lower=np.append(program.column_lower, zero),
        column_upper=np.append(program.column_upper, infinite),
        columns=(*program.columns, Span("E", n * m, n * m + size, (pairs, outputs))),
    )
    index = np.stack([*entries, excess], axis=1).reshape(-1)
    matrix = np.arange(size + 1) * 3, index, value
    wider = _append(wider, "excess", matrix, (-infinite, zero), (pairs, outputs), None)
    matrix = np.arange(len(pairs) + 1) * m, excess, np.ones(size)
    return _append(wider, "privacy", matrix, (-infinite[::m], limits), (pairs,), None)


def _averages(problem: Problem) -> ChannelProgram:
    """Row sums, the averages as columns, and every comparison as a row of two non-zeros."""
    _ties_of(problem, "averages")  # refuses a problem without this form
    comparisons = problem.comparisons()
    assert comparisons is not None
    shared = SharedAverages.of(comparisons)
    program = row_sums(problem)
    n, m = problem.utility.shape
    _, outputs = _axes(problem)
    tied = np.flatnonzero(comparisons.tied_outputs(m))
    names = tuple(outputs[y] for y in tied.tolist())
    size = len(shared.averages) * len(tied)
    groups = tuple(map(str, range(len(shared.averages))))
    allowed = comparisons.allowed(m).reshape(-1)
    zero = np.zeros(size)
    wider = replace(
        program,
        objective=np.append(program.objective, zero),
        column_lower=np.append(program.column_lower, zero),
        column_upper=np.append(np.where(allowed, np.inf, 0.0), np.full(size, np.inf)),
        columns=(*program.columns, Span("A", n * m, n * m + size, (groups, names))),
    )
    matrix = shared.definitions(tied, m, n * m)
    wider = _append(wider, "average", matrix, (zero, zero), (groups, names), None)
    rows = len(comparisons) * len(tied)
    sides = np.full(rows, -np.inf), np.zeros(rows)
    labels = tuple(map(str, range(len(comparisons))))
    matrix = shared.comparison_rows(tied, m, n * m)
    return _append(wider, "privacy", matrix, sides, (labels, names), None)


def _with_worst_case(program: ChannelProgram, problem: Problem) -> ChannelProgram:
    """Add a free column ``worst`` and the rows that bound it; utilities far from 1 are scaled by a
    power of two.
    """
    n, m = problem.utility.shape
    inputs, _ = _axes(problem)
    columns = program.shape[1]
    x, y = np.divmod(np.arange(n * m), m)
    utility = worst_case_utility(problem)
    exponent = int(np.frexp(np.abs(utility).max())[1]) - 1
    exponent = exponent if abs(exponent) > MAX_UNSCALED_EXPONENT else 0
    block = RowBlock(
        "worst_case", x, x, y, -np.ldexp(utility.reshape(-1), -exponent), np.zeros(n), np.zeros(n)
    )
    start, index, value = program.structure.compressed(block)
    rows = np.concatenate([np.repeat(np.arange(n), np.diff(start)), np.arange(n)])
    start, index, value = compress(
        rows,
        np.concatenate([index, np.full(n, columns)]),
        np.concatenate([value, np.ones(n)]),
        n,
        columns + 1,
    )
    wider = replace(
        program,
        objective=np.append(program.objective, np.ldexp(1.0, exponent)),
        column_lower=np.append(program.column_lower, -np.inf),
        column_upper=np.append(program.column_upper, np.inf),
        columns=(*program.columns, Span("worst", columns, columns + 1)),
    )
    lower, upper = (
        (np.full(n, -np.inf), np.zeros(n))
        if program.maximize
        else (np.zeros(n), np.full(n, np.inf))
    )
    return _append(wider, "worst_case", (start, index, value), (lower, upper), (inputs,), None)


def worst_case_utility(problem: Problem) -> Float:
    """The utility with smaller gains for inputs that are never the worst case, because large ones
    spoil the scaling.
    """
    gain = problem.utility.gain
    is_counted = may_be_worst(problem)
    beyond = float(gain.max(axis=1).min()) + (float(np.abs(gain[is_counted]).max()) or 1.0)
    if beyond < np.inf:
        gain = np.where(is_counted[:, None], gain, beyond)
    return gain if problem.utility.sense == "gain" else -gain


def may_be_worst(problem: Problem) -> NDArray[np.bool_]:
    """Whether each input may be the worst case: its smallest gain is at most the smallest of the
    inputs' best gains.
    """
    gain = problem.utility.gain
    return np.asarray(gain.min(axis=1) <= gain.max(axis=1).min())


def _append(
    program: ChannelProgram,
    name: str,
    matrix: tuple[Int, Int, Float],
    sides: tuple[Float, Float],
    axes: tuple[Labels, ...],
    block: RowBlock | None,
) -> ChannelProgram:
    """A program with more rows: starts, columns and coefficients, and lower and upper sides."""
    start, index, value = matrix
    lower, upper = sides
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
