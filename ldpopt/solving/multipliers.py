"""A solver's duals as the multipliers of a certificate's bound; nothing in this translation is trusted."""

from __future__ import annotations

import numpy as np

from ldpopt.certificate.program_bound import Multipliers, PairRows
from ldpopt.errors import CertificateError
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import RowBlock
from ldpopt.problem.problem import Problem
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import may_be_worst
from ldpopt.solving.solution import Solution


def multipliers_of(solution: Solution) -> Multipliers:
    """The multipliers of a solution's program."""
    program, outcome = solution.program, solution.outcome
    if program is None or outcome is None or outcome.row_duals is None:
        raise CertificateError(f"{solution.solver} returned no duals", do="solve with highs, cbc or cvxpy")
    return read_multipliers(solution.problem, program, outcome.row_duals)


def read_multipliers(problem: Problem, program: ChannelProgram, row_duals: Float) -> Multipliers:
    """The multipliers of a program's rows; duals that are not finite count as 0."""
    duals = np.where(np.isfinite(row_duals), row_duals, 0.0)
    if problem.utility.sense == "loss":
        duals = -duals
    named = {span.name: duals[span.slice] for span in program.rows if span.block is None}
    blocks = [(span.name, span.block, duals[span.slice]) for span in program.rows if span.block is not None]
    pairs, others = _split_blocks(blocks, is_tied=bool(blocks) and problem.ties() is not None)
    form = program.structure.form
    row_sums = named["row_sum"] if form == "compact" else None
    worst_case = _worst_case(problem, np.abs(named["worst_case"])) if "worst_case" in named else None
    return Multipliers(form, row_sums, worst_case, PairRows.joined(pairs), tuple(others))


def _worst_case(problem: Problem, weights: Float) -> Float:
    """Weights of the inputs that may be the worst case; rounding errors at others would count with their true gains."""
    counted = np.where(may_be_worst(problem), weights, 0.0)
    return counted if counted.any() else weights


def _split_blocks(
    written: list[tuple[str, RowBlock, Float]], *, is_tied: bool
) -> tuple[list[PairRows], list[tuple[RowBlock, Float]]]:
    """Separate privacy rows that a notion with ties implies from all other blocks, with their multipliers."""
    pairs: list[PairRows] = []
    blocks: list[tuple[RowBlock, Float]] = []
    for name, block, values in written:
        tied = pair_rows(block, values) if is_tied and name == "privacy" else None
        if tied is None:
            blocks.append((block, values))
        else:
            pairs.append(tied)
    return pairs, blocks


def pair_rows(block: RowBlock, values: Float) -> PairRows | None:
    """The pairs and events of a notion's rows with positive multipliers; None if the rows have another shape.

    Rows of one entry, which must be 0, are left out: the problem implies them.
    """
    under = block.coefficient < 0
    over = ~under & (np.bincount(block.row[under], minlength=len(block)) > 0)[block.row]
    if not np.array_equal(block.row[under], block.row[over]) or not np.array_equal(block.y[under], block.y[over]):
        return None
    ends = np.searchsorted(block.row[under], np.arange(len(block)))
    starts = ends[block.row[under]]
    first, second = block.x[over], block.x[under]
    if (first != first[starts]).any() or (second != second[starts]).any():
        return None
    tied = np.bincount(block.row[under], minlength=len(block)) > 0
    kept = np.flatnonzero((values > 0) & tied)
    row_number = np.full(len(block), -1)
    row_number[kept] = np.arange(len(kept))
    is_kept = row_number[block.row[under]] >= 0
    ends = ends[kept]
    return PairRows(
        first[ends], second[ends], row_number[block.row[under]][is_kept], block.y[under][is_kept], values[kept]
    )
