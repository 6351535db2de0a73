"""certify(solution): the certificate that a solver's duals prove; nothing in their translation is
trusted.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ldpopt.certificate.program_bound import (
    NO_COMPARISONS,
    ComparisonRows,
    Multipliers,
    PairRows,
)
from ldpopt.certificate.program_certificate import Certificate, in_float, prove
from ldpopt.errors import CertificateError
from ldpopt.foundation.numbers import Float, real_number, require_kind, truth
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import Comparisons
from ldpopt.problem.problem import Problem
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import may_be_worst
from ldpopt.solving.solution import Solution


def certify(solution: Solution, *, exact: bool = True, gap: float | None = None) -> Certificate:
    """Prove the value of a solution's mechanism, and a bound on the value of every private channel.

    Parameters
    ----------
    solution : Solution
        A solution with a mechanism and duals.
    exact : bool
        Whether value and bound are Fractions, or the same numbers rounded to floats; default:
        ``True``.
    gap : float, optional
        Largest relative gap to accept; default: any.

    Returns
    -------
    Certificate
        Value, bound and gap; the verdict of its audit is ``"certified"``.

    Raises
    ------
    NoSolutionError
        If the solution has no mechanism.
    CertificateError
        If the relative gap exceeds ``gap``, or the solver returned no duals.

    Notes
    -----
    O(n m) integer operations, plus one per non-zero of the rows with a multiplier.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP, solve
    >>> proof = certify(solve(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))))
    >>> proof.relative_gap < 1e-12, proof.achieved <= proof.bound
    (True, True)
    """
    do = (
        "pass what solve() returned; audit(mechanism) proves privacy alone, "
        "design.certificate.recheck() a design"
    )
    require_kind(solution, Solution, "certify()", do)
    gap = None if gap is None else real_number(gap, "gap")
    exact = truth(exact, "exact")
    if solution.proved is not None and solution.proved.is_of(solution):
        certificate = solution.proved.certificate
    else:
        certificate = prove(solution.problem, solution.mechanism, multipliers_of(solution))
    if gap is not None and certificate.relative_gap > gap:
        raise CertificateError(
            f"the certified gap is {certificate.relative_gap:.3g}, more than the requested "
            f"{gap:.3g}",
            code="gap",
            where=f"{solution.solver}: {in_float(certificate.achieved):.12g} achieved, bound "
            f"{in_float(certificate.bound):.12g}",
            do="solve again with solver='highs', or with tighter tolerances",
        )
    if exact:
        return certificate
    achieved, best, distance = (
        in_float(value) for value in (certificate.achieved, certificate.bound, certificate.gap)
    )
    return replace(certificate, exact=False, achieved=achieved, bound=best, gap=distance)


def multipliers_of(solution: Solution) -> Multipliers:
    """The multipliers of a solution's program."""
    program, outcome = solution.program, solution.outcome
    if solution.multipliers is not None:
        return solution.multipliers
    if program is None or outcome is None or outcome.row_duals is None:
        raise CertificateError(
            f"{solution.solver} returned no duals", do="solve with highs, cbc or cvxpy"
        )
    return read_multipliers(solution.problem, program, outcome.row_duals)


def read_multipliers(problem: Problem, program: ChannelProgram, row_duals: Float) -> Multipliers:
    """The multipliers of a program's rows; duals that are not finite count as 0."""
    duals = np.where(np.isfinite(row_duals), row_duals, 0.0)
    if problem.utility.sense == "loss":
        duals = -duals
    named = {span.name: duals[span.slice] for span in program.rows if span.block is None}
    blocks = [
        (span.name, span.block, duals[span.slice])
        for span in program.rows
        if span.block is not None
    ]
    # Privacy rows of a notion with ties, comparisons or an excess for each ratio follow from the
    # statement; a certificate has to list all others.
    is_tied = bool(blocks) and problem.ties() is not None
    has_excess = bool(blocks) and not is_tied
    has_excess = has_excess and problem.privacy.excess(Fraction(1)) is not None
    compared = NO_COMPARISONS
    if problem.ties() is None and (comparisons := problem.comparisons()) is not None:
        parts = [values for name, _, values in blocks if name == "privacy"]
        # a report that is the same for all answers has a program without rows of the notion
        values = parts[0] if parts else named.get("privacy", np.zeros(0))
        compared = comparison_rows(comparisons, len(problem.outputs), values)
        blocks = [block for block in blocks if block[0] != "privacy"]
    tied = [
        pair_rows(block, values, with_ratio=has_excess)
        if (is_tied or has_excess) and name == "privacy"
        else None
        for name, block, values in blocks
    ]
    pairs = [rows for rows in tied if rows is not None]
    others = tuple(
        (block, values)
        for (_, block, values), rows in zip(blocks, tied, strict=True)
        if rows is None
    )
    form = program.structure.form
    row_sums = named["row_sum"] if form == "compact" else None
    worst_case = np.abs(named["worst_case"]) if "worst_case" in named else None
    if (
        worst_case is not None
        and (counted := np.where(may_be_worst(problem), worst_case, 0.0)).any()
    ):
        worst_case = counted  # rounding errors at other inputs would count with their true gains
    return Multipliers(form, row_sums, worst_case, PairRows.joined(pairs), others, compared)


def comparison_rows(comparisons: Comparisons, m: int, values: Float) -> ComparisonRows:
    """Positive multipliers of `Comparisons.rows` by comparison and output.

    Rows of one entry, which must be 0, are left out: the problem implies them.
    """
    tied = np.flatnonzero(comparisons.tied_outputs(m))
    kept = np.flatnonzero(values[: len(comparisons) * len(tied)] > 0)
    if not len(kept):
        return NO_COMPARISONS
    comparison = kept // len(tied)
    return ComparisonRows(
        comparison, tied[kept % len(tied)], values[kept] * comparisons.scales[comparison]
    )


def pair_rows(block: RowBlock, values: Float, *, with_ratio: bool = False) -> PairRows | None:
    """The pairs and events of a notion's rows with positive multipliers; None if the rows have
    another shape.

    Rows of one entry, which must be 0, are left out: the problem implies them. With a ratio, it is
    the positive coefficient of each row, whose negative ones are all -1.
    """
    under = block.coefficient < 0
    over = ~under & (np.bincount(block.row[under], minlength=len(block)) > 0)[block.row]
    if not np.array_equal(block.row[under], block.row[over]) or not np.array_equal(
        block.y[under], block.y[over]
    ):
        return None
    ends = np.searchsorted(block.row[under], np.arange(len(block)))
    starts = ends[block.row[under]]
    first = block.x[over]
    second = block.x[under]
    if (first != first[starts]).any() or (second != second[starts]).any():
        return None
    heights = block.coefficient[over]
    if with_ratio and (
        (block.coefficient[under] != -1).any() or (heights != heights[starts]).any()
    ):
        return None
    tied = np.bincount(block.row[under], minlength=len(block)) > 0
    kept = np.flatnonzero((values > 0) & tied)
    row_number = np.full(len(block), -1)
    row_number[kept] = np.arange(len(kept))
    rows = row_number[block.row[under]]
    is_kept = rows >= 0
    ends = ends[kept]
    ratio = heights[ends] if with_ratio else None
    y = block.y[under][is_kept]
    return PairRows(first[ends], second[ends], rows[is_kept], y, values[kept], ratio)
