"""certify(solution): the certificate that the solver's multipliers prove."""

from __future__ import annotations

from dataclasses import replace

from ldpopt.certificate.program_certificate import Certificate, in_float, prove
from ldpopt.errors import CertificateError
from ldpopt.foundation.numbers import real_number, require_kind
from ldpopt.solving.multipliers import multipliers_of
from ldpopt.solving.solution import Solution


def certify(solution: Solution, *, exact: bool = True, gap: float | None = None) -> Certificate:
    """Prove the value of a solution's mechanism, and a bound on the value of every private channel.

    Parameters
    ----------
    solution : Solution
        A solution with a mechanism and duals.
    exact : bool
        Whether value and bound are Fractions, or the same numbers rounded to floats; default: ``True``.
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
    require_kind(solution, Solution, "certify()")
    gap = None if gap is None else real_number(gap, "gap")
    mechanism = solution.mechanism
    found = prove(solution.problem, mechanism, multipliers_of(solution))
    if gap is not None and found.relative_gap > gap:
        raise CertificateError(
            f"the certified gap is {found.relative_gap:.3g}, more than the requested {gap:.3g}",
            where=f"{solution.solver}: {in_float(found.achieved):.12g} achieved, bound {in_float(found.bound):.12g}",
            do="solve again with solver='highs', or with tighter tolerances",
        )
    if exact:
        return found
    achieved, best, distance = (in_float(value) for value in (found.achieved, found.bound, found.gap))
    return replace(found, exact=False, achieved=achieved, bound=best, gap=distance)
