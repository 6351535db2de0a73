r"""The dual bound on every private channel, proved from a statement and any numbers as multipliers
of its rows.

.. math:: u(P) \le \sum_r \mu_r s_r + \max_{P'} \sum_{x,y} c'_{xy} P'(x, y),
          \qquad c' = c - \sum_r \mu_r a_r,

where ``s_r`` is the upper or lower bound of row ``r``, by the sign of its multiplier. The maximum
is over row-stochastic channels (pairwise form) or channels of the compact form. The rows of the
library's privacy notions are built again, from the statement and a rational enclosure of
``e**-epsilon``: the solver's rows are not trusted. A notion of pairs has multipliers of pairs and
events, `PairRows`; one that compares averages has multipliers of its comparisons and outputs,
`ComparisonRows`; rows of side constraints and of plug-ins are taken as they are stated. Whatever
the multipliers are, the bound holds: wrong ones make it weak.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np

from ldpopt.certificate.compact import (
    MIN_COARSE_ENTRIES,
    coarse_integers,
    columns_bound,
    is_tight,
)
from ldpopt.certificate.integers import GRID, Integers, integers
from ldpopt.certificate.program_digits import ProgramDigits
from ldpopt.errors import CertificateError, NotRepresentableError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import Comparisons, Ties
from ldpopt.privacy.comparisons import coefficient
from ldpopt.problem.problem import Problem

Form = Literal["compact", "pairwise"]
# advice if others were given
MULTIPLIERS = "use the multipliers of a solution of this problem, with this notion"
# Number of entries from which pairs are relaxed in 64-bit integers, which loosens the bound by
# about 1e-13
MIN_ENTRIES = 100_000
BLOCK = 1 << 21  # number of entries whose costs are in memory at once
# Bound on utilities plus multipliers: up to it a unit is at most 1, and every cost in units is a
# float
LARGEST_SUM = 2.0**60
# bits of the largest sum of costs and multipliers: costs stay int64 whatever multipliers are added
BITS = 61
# The natural logarithm of 2, in two parts; the product of the first one with a whole number below
# 2**13 is exact
LN2 = float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
TERMS = 18  # terms of the series of ``exp(-r)`` up to 0.7; the rest is below 1e-19
LARGEST_EXPONENT = 700.0  # above this, ``exp(-x)`` is near the smallest floats and is replaced by 0


@dataclass(frozen=True, eq=False)
class PairRows:
    r"""Rows :math:`P_x(S) \le e^{\epsilon d(x, x')} P_{x'}(S) + \delta` with their multipliers.

    They are scaled as in a program: :math:`b P_x(S) - P_{x'}(S) \le b \delta` with :math:`b =
    e^{-\epsilon d}`. Of a notion without ties each row has a ratio ``b`` of its own, and the right
    side is `Notion.excess` of it.
    """

    first: Int  # x, shape (rows,)
    second: Int  # x', shape (rows,)
    row: Int  # row of each output of an event S, not decreasing, shape (nnz,)
    y: Int  # that output, shape (nnz,)
    value: Float  # positive multipliers, shape (rows,)
    ratio: Float | None = None  # b of each row, shape (rows,), of a notion without ties

    @classmethod
    def joined(cls, parts: "list[PairRows]") -> "PairRows":
        """Concatenate several sets of rows."""
        if len(parts) <= 1:
            nothing = np.zeros(0, np.int64)
            return parts[0] if parts else cls(nothing, nothing, nothing, nothing, np.zeros(0))
        offsets = np.cumsum([0, *(len(part.value) for part in parts)]).tolist()
        columns = [
            (p.first, p.second, p.row + k, p.y, p.value)
            for p, k in zip(parts, offsets, strict=False)
        ]
        ratios = [part.ratio for part in parts if part.ratio is not None]
        ratio = np.concatenate(ratios) if ratios else None
        first, second, row, y, value = map(np.concatenate, zip(*columns, strict=True))
        return cls(first, second, row, y, value, ratio)


@dataclass(frozen=True, eq=False)
class ComparisonRows:
    r"""Rows :math:`v_r \cdot c_y \le e^{\epsilon_r} u_r \cdot c_y` of a notion's comparisons, with
    multipliers.

    They are scaled as in a program: :math:`\sum_x (b_r v_{rx} - u_{rx}) P(x, y) \le 0` with
    :math:`b_r = e^{-\epsilon_r}`.
    """

    comparison: Int  # r, its place in `Notion.comparisons`, shape (rows,)
    y: Int  # output, shape (rows,)
    value: Float  # positive multipliers, shape (rows,)


NO_COMPARISONS = ComparisonRows(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Numbers that prove a bound, for the gain to be maximized (a loss counts with the sign
    changed).

    Any numbers are multipliers: the proof needs no feasibility, only the signs that are stated
    here, and the bound is weak where they are far from optimal. None stands for the multipliers
    that a form or an objective does not have; ``row_sums`` is needed for the compact form, because
    its maximum over the channels is not taken input by input.
    """

    # privacy is in the structure of the columns (compact), or in rows with multipliers (pairwise)
    form: Form
    row_sums: Float | None  # multipliers of the row sums, shape (n,), for the compact form
    # weights of the inputs, for a worst-case objective: >= 0, with any sum, shape (n,)
    worst_case: Float | None
    # multipliers of all privacy rows (pairwise form), or of the generated events (compact form)
    pairs: PairRows
    # multipliers of side constraints, and of a plug-in notion's rows
    blocks: tuple[tuple[RowBlock, Float], ...]
    # multipliers of the comparisons of a notion that has no ties
    comparisons: ComparisonRows = NO_COMPARISONS


def bound(problem: Problem, multipliers: Multipliers) -> Fraction:
    """Bound the value of every private channel, from above for a gain."""
    return bound_of(ProgramDigits.of(problem), multipliers)


def bound_of(digits: ProgramDigits, multipliers: Multipliers) -> Fraction:
    """As `bound`, for a problem whose numbers are read already.

    The bound holds for any multipliers: ``u(P) <= bound`` for every private channel ``P`` of a
    gain, ``u(P) >= bound`` of a loss. Wrong multipliers make it weak, never wrong. Of three ways
    the first that fits is taken: 64-bit integers for row sums alone, 64-bit integers for pairs
    alone, Python's integers for everything.
    """
    # O(n m) integer operations, plus one for each non-zero of the rows with a multiplier. Proofs:
    # docs, "Certificates".
    problem = digits.problem
    sign = 1 if problem.utility.sense == "gain" else -1
    utility = problem.utility.matrix
    # If the utility does not depend on the report, the gap may have no scale: no rounding error may
    # be added to it.
    has_stakes = bool((utility != utility[:, :1]).any())
    has_row_sums_only = (
        multipliers.form == "compact"
        and not len(multipliers.pairs.value)
        and not multipliers.blocks
    )
    row_sums = multipliers.row_sums
    if has_stakes and has_row_sums_only and problem.prior is not None and row_sums is not None:
        costs, duals, bits = coarse_integers(sign * problem.prior, utility, row_sums)
        if utility.size > MIN_COARSE_ENTRIES or is_tight(costs, duals):
            total = sign * columns_bound(costs, duals, _compact_ties(problem))
            return Fraction(total << max(-bits, 0), 1 << max(bits, 0))
    if has_stakes and multipliers.form == "pairwise" and utility.size > MIN_ENTRIES:
        by_blocks = _bound_by_blocks(problem, multipliers, sign)
        if by_blocks is not None:
            return by_blocks
    cost_grid = digits.bits  # multipliers are in the utility's unit, which may be tiny
    shares, grid = weights(digits, multipliers)
    costs = sign * shares[:, None] * digits.utility
    cost_grid += grid - GRID
    constant = relaxed_pairs(costs, problem, multipliers.pairs, cost_grid)
    _relax_comparisons(costs, problem, multipliers.comparisons, cost_grid)
    for block, values in multipliers.blocks:
        if values.any():
            require_valid(problem, block)
        constant += relaxed(costs, block, values, cost_grid)
    if multipliers.form == "pairwise":
        best = sum(_best_entries(costs, problem))
    else:
        best = columns_bound(
            costs, integers(multipliers.row_sums, grid=cost_grid) << GRID, _compact_ties(problem)
        )
    return sign * Fraction(constant + best, 1 << (GRID + cost_grid))


def _bound_by_blocks(problem: Problem, multipliers: Multipliers, sign: int) -> Fraction | None:
    """Bound from pairs alone, some outputs at a time; None if there are other rows, a delta, or
    large numbers. ``sign`` is 1 for a gain and -1 for a loss.
    """
    prior, utility, pairs = problem.prior, problem.utility.matrix, multipliers.pairs
    # not cached: a metric has many pairs
    ties = problem.privacy.definition(problem.inputs, problem.outputs)
    if multipliers.blocks or prior is None or ties is None or ties.delta or ties.owner is not None:
        return None
    if not np.abs(utility).max() + pairs.value.sum() < LARGEST_SUM:
        return None
    total, bits = pairs_bound(
        sign * prior, utility, pairs, ties.budget, _tied_distances(problem, ties, pairs)
    )
    return sign * total * Fraction(2) ** -bits


def weights(digits: ProgramDigits, multipliers: Multipliers) -> tuple[Integers, int]:
    """Prior, for a worst case the multipliers of the inputs, as integers; and their fractional
    bits.

    The weights of a worst case sum to exactly 1: the largest one takes what rounding left. The
    smallest gain is at most the mean under any such weights, so that they prove a bound.
    """
    if digits.prior is not None:
        return digits.prior
    duals = multipliers.worst_case
    n = len(digits.problem.inputs)
    duals = (
        np.full(n, 1 / n) if duals is None or not 0 < duals.sum() < np.inf else duals / duals.sum()
    )
    shares = integers(duals)
    shares[int(np.argmax(duals))] += (1 << GRID) - int(shares.sum())
    return shares, GRID


def _best_entries(costs: Integers, problem: Problem) -> list[int]:
    """Largest cost of each input, over the outputs that it may report."""
    notion = problem.definition() or problem.comparisons()
    if notion is None or notion.owner is None:
        return [int(largest) for largest in costs.max(axis=1)]
    allowed = notion.allowed(costs.shape[1])
    return [
        int(row[permitted if permitted.any() else ...].max())
        for row, permitted in zip(costs, allowed, strict=True)
    ]


def _compact_ties(problem: Problem) -> Ties:
    """Ties of the compact form, from the statement."""
    ties = problem.definition()
    if ties is None or not ties.is_compact:
        raise CertificateError(
            f"{problem.privacy!r} has no compact form", do="use multipliers of the pairwise rows"
        )
    return ties


def relaxed_pairs(costs: Integers, problem: Problem, pairs: PairRows, cost_grid: int) -> int:
    """Move privacy rows into the objective, in place; return the constant term.

    For the row ``b P_x(S) - P_x'(S) <= b delta`` with the multiplier ``v`` the costs of ``x`` fall
    by ``v b`` in each output of ``S``, those of ``x'`` rise by ``v``, and the constant is ``v b
    delta``, rounded up. The ratio ``b`` is rounded down: channels are not negative, so that the
    bound can only rise.
    """
    if not len(pairs.value):
        return 0
    scaled = integers(pairs.value, grid=cost_grid)
    if pairs.ratio is None:
        ratios, delta = _ratios(problem, pairs)
        slack = Fraction(delta)
        constant = sum(
            -(-int(v) * slack.numerator // slack.denominator) for v in scaled * ratios if delta
        )
    else:
        ratios = integers(pairs.ratio)
        constant = _heights(problem, pairs, pairs.ratio, scaled)
    first = pairs.first[pairs.row]
    second = pairs.second[pairs.row]
    np.subtract.at(costs, (first, pairs.y), (scaled * ratios)[pairs.row])
    np.add.at(costs, (second, pairs.y), scaled[pairs.row] << GRID)
    return constant


def _heights(problem: Problem, pairs: PairRows, ratio: Float, scaled: Integers) -> int:
    """Constant term of rows with ratios of their own: multipliers times `Notion.excess`, rounded
    up.

    The ratio is a float that anybody may have chosen: the row ``b P_x(S) - P_x'(S) <= excess(b)``
    holds for every private channel whatever ``b`` is, so that a wrong one only weakens the bound.
    """
    if (pairs.first == pairs.second).any():
        problem_text = "a multiplier belongs to a pair of the same input"
        raise CertificateError(problem_text, code="same-input", do=MULTIPLIERS)
    total = 0
    known: dict[float, Fraction] = {}
    for b, value in zip(ratio.tolist(), scaled, strict=True):
        if b not in known:
            height = problem.privacy.excess(Fraction(b)) if 0 < b < np.inf else None
            if height is None:
                message = f"{problem.privacy!r} has no rows with the ratio {b:.6g}"
                raise CertificateError(message, code="row-ratio", do=MULTIPLIERS)
            known[b] = height
        total -= -((int(value) * known[b].numerator) << GRID) // known[b].denominator
    return total


def require_valid(problem: Problem, block: RowBlock) -> None:
    """Refuse rows that a notion generated and does not state to be valid.

    What `Notion.rows` lists is the definition itself, which is part of the statement: it is trusted
    as it is for a notion that generates nothing. A generated row is the result of a search, and an
    error in it would make a bound that does not hold; so the notion has to recognize it.
    """
    if block.name != "privacy" or not problem.privacy.is_separated or _is_listed(problem, block):
        return
    labelled = replace(block, inputs=problem.inputs, outputs=problem.outputs)
    if not problem.privacy.is_valid(labelled):
        raise CertificateError(
            f"{type(problem.privacy).__name__}.is_valid() does not state that all private channels "
            "satisfy the generated rows",
            code="generated-rows",
            do="write is_valid(block), or excess(ratio) for rows of events",
        )


def _is_listed(problem: Problem, block: RowBlock) -> bool:
    """Whether a block is the list of all rows of the notion, number by number: the same rows in
    another order or with other coefficients are not the definition.
    """
    try:
        rows = problem.privacy.starting_rows(problem.inputs, problem.outputs)
    except NotRepresentableError:
        return False
    parts = ("row", "x", "y", "coefficient", "lower", "upper")
    return all(np.array_equal(getattr(rows, part), getattr(block, part)) for part in parts)


def _ratios(problem: Problem, pairs: PairRows) -> tuple[Integers, float]:
    """``exp(-epsilon d)`` of each row over ``2**GRID``, rounded down, and delta."""
    ties = problem.definition()
    if ties is None:
        message = f"{problem.privacy!r} ties no pairs of inputs, but a multiplier belongs to a pair"
        raise CertificateError(message, do=MULTIPLIERS)
    levels, row_number = np.unique(_tied_distances(problem, ties, pairs), return_inverse=True)
    return np.array([ratio_below(ties.budget, float(d)) for d in levels], dtype=object)[
        row_number
    ], ties.delta


def _tied_distances(problem: Problem, ties: Ties, pairs: PairRows) -> Float:
    """Distance of the pair of each row; raises if the statement does not imply a row."""
    notion = f"{problem.privacy!r}"
    table = ties.table
    chosen = np.empty(len(pairs.value))
    for begin in range(0, len(chosen), BLOCK):
        part = slice(begin, begin + BLOCK)
        chosen[part] = table[pairs.first[part], pairs.second[part]]
    if (chosen <= 0).any():
        k = int(np.argmax(chosen <= 0))
        names = problem.inputs[pairs.first[k]], problem.inputs[pairs.second[k]]
        message = f"{notion} does not tie {names[0]!r} to {names[1]!r}, but a multiplier does"
        raise CertificateError(message, code="untied", do=MULTIPLIERS)
    if ties.delta and not ties.is_shared and (np.bincount(pairs.row) > 1).any():
        message = (
            f"{notion} has no rows for events of several outputs, but a multiplier belongs "
            "to such a row"
        )
        raise CertificateError(message, code="event", do=MULTIPLIERS)
    owned = ~ties.tied_outputs(len(problem.outputs))[pairs.y]
    if owned.any():
        name = problem.outputs[pairs.y[int(np.argmax(owned))]]
        raise CertificateError(
            f"{notion} has no rows for output {name!r}, but a multiplier for one",
            code="owned",
            do=MULTIPLIERS,
        )
    return chosen


def ratio_below(epsilon: Budget, distance: float) -> int:
    """``exp(-epsilon d)`` over ``2**GRID``, rounded down; 0 if it is smaller than the grid."""
    if float(epsilon) * distance > GRID:
        return 0
    high = epsilon.enclosure(Fraction(distance))[1]
    return (high.denominator << GRID) // high.numerator


def _relax_comparisons(
    costs: Integers, problem: Problem, rows: ComparisonRows, cost_grid: int
) -> None:
    """Move comparisons into the objective, in place; their sides are 0, so that no constant
    arises.

    For the row of comparison ``r`` and output ``y`` with the multiplier ``w`` the cost of ``x``
    falls by ``w (v_x / a - u_x)``. The coefficient is computed in rationals with the upper end of
    the enclosure of ``a``, and rounded down: channels are not negative, so that the bound can only
    rise.
    """
    if not len(rows.value):
        return
    comparisons = problem.comparisons()
    if problem.definition() is not None or comparisons is None:
        message = f"{problem.privacy!r} has no comparisons, but a multiplier belongs to one"
        raise CertificateError(message, code="no-comparisons", do=MULTIPLIERS)
    if not (rows.value > 0).all() or not rows.comparison.max() < len(comparisons):
        message = f"a multiplier is not one of the {len(comparisons)} comparisons"
        raise CertificateError(message, code="comparison", do=MULTIPLIERS)
    tied = comparisons.tied_outputs(costs.shape[1])
    if not tied[rows.y].all():
        name = problem.outputs[rows.y[int(np.argmin(tied[rows.y]))]]
        message = f"{problem.privacy!r} has no rows for output {name!r}, but a multiplier for one"
        raise CertificateError(message, code="owned", do=MULTIPLIERS)
    scaled = integers(rows.value, grid=cost_grid)
    places = zip(rows.comparison.tolist(), rows.y.tolist(), scaled.tolist(), strict=True)
    coefficients: dict[int, list[tuple[int, int]]] = {}
    for r, y, multiplier in places:
        if r not in coefficients:
            coefficients[r] = _whole_coefficients(comparisons, r)
        for x, weight in coefficients[r]:
            costs[x, y] -= multiplier * weight


def _whole_coefficients(comparisons: Comparisons, r: int) -> list[tuple[int, int]]:
    """Input and coefficient ``v_x / a - u_x`` over ``2**GRID`` of a comparison, rounded down."""
    over = comparisons.over[r]
    under = comparisons.under[r]
    high = comparisons.enclosures[r][1]
    return [
        (x, math.floor(coefficient(over, under, high, x) * (1 << GRID)))
        for x in over.keys() | under.keys()
    ]


def relaxed(costs: Integers, block: RowBlock, values: Float, cost_grid: int) -> int:
    """Move other rows into the objective, in place; return the constant term.

    The side is the upper one for a positive multiplier, the lower one for a negative one; a
    multiplier whose side is infinite counts as 0.
    """
    side = np.where(values > 0, block.upper, block.lower)
    values = np.where(np.isfinite(side), values, 0.0)
    chosen = values[block.row] != 0
    row = block.row[chosen]
    coefficient = block.coefficient[chosen]
    scaled = integers(values, grid=cost_grid)
    # Channels are non-negative: coefficients are rounded so that a row reduces the costs by less.
    rounded = np.where(values[row] > 0, integers(coefficient), integers(coefficient, up=True))
    np.subtract.at(costs, (block.x[chosen], block.y[chosen]), scaled[row] * rounded)
    used = np.flatnonzero(values)
    return int(
        (
            scaled[used]
            * np.where(values[used] > 0, integers(side[used], up=True), integers(side[used]))
        ).sum()
    )


def exponential_below(exponent: Float) -> Float:
    """``exp(-exponent)`` rounded down by less than the share ``(10 + 2 exponent) 2**-50``,
    identical on every machine.

    Only sums and products of floats are used: a library's exponential differs between processors,
    and so would the bounds of a certificate. Rounding errors are below the margin of ``(5 +
    exponent) 2**-50``: a fifth of it here, and another eighth of ``exponent 2**-50`` if the
    exponent itself is a rounded product.
    """
    capped = np.minimum(exponent, LARGEST_EXPONENT)
    halvings = np.floor(capped / LN2[0])
    remainder = (capped - halvings * LN2[0]) - halvings * LN2[1]
    power = np.ones_like(remainder)
    for k in range(TERMS, 0, -1):
        power = 1 - power * remainder / k
    power = np.ldexp(power * (1 - (5 + capped) * 2.0**-50), -halvings.astype(np.int64))
    return np.where(exponent > LARGEST_EXPONENT, 0.0, power)


def pairs_bound(
    weights: Float, utility: Float, pairs: PairRows, budget: Budget, distance: Float
) -> tuple[int, int]:
    """Upper bound on the value of every private channel, as an integer and its fractional bits.

    ``weights`` are those of the inputs, (n,), ``utility`` is (n, m), ``distance`` has the ``d`` of
    each row. The bound is the integer over ``2**bits``.
    """
    # The multiplier v of a row lowers the cost of its first input by v e**(-epsilon d), and raises
    # that of the second by v. The bound is the sum of the inputs' largest costs, in 64-bit
    # integers: costs rounded up, decreases down.
    (n, m), y, rows = utility.shape, pairs.y, pairs.row
    if (y[1:] < y[:-1]).any():
        order = np.argsort(y, kind="stable")
        y, rows = y[order], rows[order]
    size = max(1, BLOCK // n)
    starts = np.searchsorted(y, np.arange(0, m + size, size))
    parts = [slice(start, stop) for start, stop in pairwise(starts)]
    most = max(
        float(np.bincount(y[part], pairs.value[rows[part]]).max(initial=0.0)) for part in parts
    )
    # so many that no cost with its multipliers overflows 64 bits
    bits = BITS - int(np.frexp(np.abs(weights).max() * np.abs(utility).max() + most)[1])
    best = np.full(n, np.iinfo(np.int64).min)  # of each input the largest cost so far
    for begin, part in zip(range(0, m, size), parts, strict=True):
        # The next float is above the product that was rounded; a power of two rounds nothing.
        costs = np.nextafter(weights[:, None] * utility[:, begin : begin + size], np.inf)
        scaled = np.ceil(np.ldexp(costs, bits)).astype(np.int64)
        at = y[part] - begin
        row = rows[part]
        value = np.rint(np.ldexp(pairs.value[row], bits))
        less = np.floor(value * exponential_below(budget.rounded_up * distance[row]))
        np.subtract.at(scaled, (pairs.first[row], at), less.astype(np.int64))
        np.add.at(scaled, (pairs.second[row], at), value.astype(np.int64))
        np.maximum(best, scaled.max(axis=1), out=best)
    return sum(best.tolist()), bits
