r"""certify(solution): the mechanism's exact value, an upper bound on every private channel's, and the gap between them.

The bound needs no trust in the solver. For any multipliers of the rows (here: the solver's duals, however rough),

.. math:: u(P) \le \sum_r \mu_r s_r + \max_{P'} \sum_{x,y} c'_{xy} P'(x, y), \qquad c' = c - \sum_r \mu_r a_r,

where ``s_r`` is the side of row ``r`` that the sign of its multiplier picks, and the maximum runs over row-stochastic
channels (pairwise form) or over column-tied ones (compact form, where one shift of the row duals makes every output's
pricing non-positive). Programs round ``e**-epsilon`` so that they are relaxations, and here their floats are read
exactly in integers: the bound holds for the real ``e**epsilon``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.divergence import Audit
from ldpopt.errors import CertificateError
from ldpopt.formulation import Structure
from ldpopt.problem import Problem
from ldpopt.program import LinearProgram, Span
from ldpopt.solution import Solution
from ldpopt.utility import Float

Exact = NDArray[np.object_]

STAKE_SHARE = 100
"""A bound smaller than this share of the stake is measured against the stake: losses may be 0."""

GRID = 320
"""Fractional bits of the integers in a bound: anything finer is rounded, upward where it matters."""


@dataclass(frozen=True)
class Certificate:
    """A proof that a mechanism is private and how near it is to the best.

    Attributes
    ----------
    achieved : Fraction
        Value of the mechanism's integer masses; prior and utility read exactly. A float where not ``exact``.
    bound : Fraction
        No private channel gains more (or loses less), for the real ``e**epsilon``.
    gap : Fraction
        Distance between the two: how much better anything could be.
    relative_gap : float
        ``gap`` over ``abs(bound)``, or over a hundredth of the stake (the prior's average spread of the utility)
        where the bound is smaller than that, as that of a loss may be.
    exact : bool
        Whether the numbers are rationals.
    audit : Audit
        The exact check of the privacy claim.
    residuals : dict of str to float
        Largest violation of each side constraint by the mechanism: rounding to the grid moves equations by about 1e-15.
    """

    achieved: Fraction | float
    bound: Fraction | float
    gap: Fraction | float
    relative_gap: float
    exact: bool
    audit: Audit
    residuals: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "achieved": float(self.achieved),
            "bound": float(self.bound),
            "gap": float(self.gap),
            "relative_gap": self.relative_gap,
        }


def certify(solution: Solution, *, exact: bool = True, gap: float | None = None) -> Certificate:
    """Prove the value of a solution's mechanism and bound what any private channel could reach.

    Parameters
    ----------
    solution : Solution
        With a mechanism and duals.
    exact : bool
        Hand out Fractions; otherwise the same numbers rounded to floats.
    gap : float, optional
        Largest relative gap to accept.

    Returns
    -------
    Certificate
        Its audit says ``"certified"``.

    Raises
    ------
    NoSolutionError
        If the solution has no mechanism.
    CertificateError
        If the relative gap exceeds ``gap``, or the solver gave no duals to bound with.

    Notes
    -----
    O(n m) integer operations, plus one for each non-zero of the rows with a multiplier.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP, solve
    >>> proof = certify(solve(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))))
    >>> proof.relative_gap < 1e-12, proof.achieved <= proof.bound
    (True, True)
    """
    mechanism, problem, outcome = solution.mechanism, solution.problem, solution.outcome
    if solution.program is None or outcome is None or outcome.row_duals is None:
        raise CertificateError(f"{solution.solver} gave no duals", do="solve with highs, cbc or cvxpy")
    sign = 1 if problem.utility.sense == "gain" else -1
    weights = _weights(solution)
    worth = _integers(problem.utility.matrix)
    achieved = _achieved(solution, worth)
    costs = sign * weights[:, None] * worth
    bound = sign * (_bound(solution.program, sign * np.asarray(outcome.row_duals), costs) + _dropped(problem))
    distance = (bound - achieved) * sign
    spread = worth.max(axis=1) - worth.min(axis=1)
    stake = Fraction(int((weights * spread).sum()), 1 << 2 * GRID)
    scale = max(abs(bound), stake / STAKE_SHARE)
    relative = float(distance / scale) if scale else 0.0
    if gap is not None and relative > gap:
        raise CertificateError(
            f"the certified gap is {relative:.3g}, more than the {gap:.3g} asked for",
            where=f"{solution.solver}: {float(achieved):.12g} achieved, bound {float(bound):.12g}",
            do="solve again with solver='highs', or with tighter tolerances",
        )
    audit = mechanism.audit(problem.privacy)
    residuals = {block.name: float(block.violation(mechanism.channel).max()) for block in problem.constraints}
    if exact:
        return Certificate(achieved, bound, distance, relative, True, audit, residuals)
    return Certificate(float(achieved), float(bound), float(distance), relative, False, audit, residuals)


def _integers(array: Any, *, up: bool = False) -> Exact:
    """Floats as integers over ``2**GRID``; what is finer is dropped (or rounded up)."""
    mantissa, exponent = np.frexp(np.asarray(array, float))
    whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
    shift = exponent.astype(np.int64) - 53 + GRID
    left = whole << np.maximum(shift, 0).astype(object)
    if (shift >= 0).all():
        return np.asarray(left, dtype=object)
    right = np.maximum(-shift, 0).astype(object)
    return np.asarray(-(-left >> right) if up else left >> right, dtype=object)


def _dropped(problem: Problem) -> Fraction:
    """Bound what `_integers` leaves out of the value of any channel: nothing, but for numbers below ``2**-267``."""
    parts = [problem.utility.matrix] if problem.prior is None else [problem.utility.matrix, problem.prior]
    if all((np.frexp(part)[1][part != 0] >= 53 - GRID).all() for part in parts):
        return Fraction(0)
    largest = Fraction(float(np.abs(problem.utility.matrix).max()))
    return Fraction(len(problem.inputs), 1 << GRID) * (largest + 2)


def _weights(solution: Solution) -> Exact:
    """Prior over ``2**GRID``; for a worst case, the multipliers of the inputs' rows, which any prior may replace."""
    if solution.problem.prior is not None:
        return _integers(solution.problem.prior)
    duals = np.abs(solution.duals["worst_case"])
    duals = duals / duals.sum() if duals.sum() > 0 else np.full(len(duals), 1 / len(duals))
    weights = _integers(duals)
    weights[int(np.argmax(duals))] += (1 << GRID) - int(weights.sum())
    return weights


def _achieved(solution: Solution, worth: Exact) -> Fraction:
    """Exact value of the masses under the problem's objective."""
    mechanism, problem = solution.mechanism, solution.problem
    by_input = (mechanism.masses * worth).sum(axis=1)
    unit = Fraction(1, mechanism.denominator << GRID)
    if problem.prior is not None:
        total = int((_integers(problem.prior) * by_input).sum())
        return Fraction(total, 1 << GRID) * unit
    worst = min(by_input) if problem.utility.sense == "gain" else max(by_input)
    return int(worst) * unit


def _bound(program: LinearProgram, multipliers: Float, costs: Exact) -> Fraction:
    """Upper bound on ``sum costs * P``, costs over ``2**(2 GRID)``, from any multipliers of the rows."""
    structure: Structure = program.structure
    multipliers = np.where(np.isfinite(multipliers), multipliers, 0.0)
    reduced, constant = costs.copy(), 0
    for span in program.rows:
        if span.block is not None:
            constant += _relax(reduced, span, multipliers[span.slice])
    if structure.form == "pairwise":
        best = int(reduced.max(axis=1).sum())
    else:
        sums = next(span for span in program.rows if span.name == "row_sum")
        best = _columns_bound(reduced, _integers(multipliers[sums.slice]) << GRID, structure)
    return Fraction(constant + best, 1 << 2 * GRID)


def _relax(reduced: Exact, span: Span, multipliers: Float) -> int:
    """Move a block's rows into the objective, in place; return the constant that they add."""
    block = span.block
    assert block is not None
    side = np.where(multipliers > 0, block.upper, block.lower)
    multipliers = np.where(np.isfinite(side), multipliers, 0.0)
    chosen = multipliers[block.row] != 0
    scaled = _integers(multipliers)
    terms = scaled[block.row[chosen]] * _integers(block.coefficient[chosen])
    np.subtract.at(reduced, (block.x[chosen], block.y[chosen]), terms)
    used = np.flatnonzero(multipliers)
    sides = np.where(multipliers[used] > 0, _integers(side[used], up=True), _integers(side[used]))
    return int((scaled[used] * sides).sum())


def _columns_bound(costs: Exact, duals: Exact, structure: Structure) -> int:
    r"""Bound over columns tied by ``P[x, y] <= exp(epsilon) P[x', y] + delta``.

    With ``d = costs - y - t`` an output can only improve on ``sum(y + t)`` where
    :math:`\beta \sum_x d^+_x + b \sum_x d_x > 0`; the least shift ``t`` for which none does is guessed in floats and
    checked in integers. An entry-wise slack adds ``delta * sum d^+``.
    """
    beta, b = (int(v) for v in _integers(np.array([structure.beta, structure.b])))
    shift = _guess(costs - duals[:, None], structure)
    step = max(1, abs(shift) >> 60, int(np.abs(costs).max()) >> 60)
    columns = np.arange(costs.shape[1])
    while True:
        excess = costs[:, columns] - (duals + shift)[:, None]
        pricing = beta * np.maximum(excess, 0).sum(axis=0) + b * excess.sum(axis=0)
        columns = columns[np.asarray(pricing > 0, dtype=bool)]
        if not len(columns):
            break
        shift += step
        step *= 2
    total = int((duals + shift).sum())
    if structure.delta:
        slack = int(np.maximum(costs - (duals + shift)[:, None], 0).sum())
        delta = int(_integers(np.array([structure.delta]), up=True)[0])
        total += -(-slack * delta >> GRID)
    return total


def _guess(difference: Exact, structure: Structure) -> int:
    r"""Least shift in floats; an output's pricing has the root :math:`\max_k (\beta S_k + b S_n) / (\beta k + b n)`."""
    scale = 1 << 2 * GRID
    floats = np.array([[float(Fraction(int(v), scale)) for v in row] for row in difference])
    order = -np.sort(-floats, axis=0)
    sums = np.cumsum(order, axis=0)
    k = np.arange(1, len(floats) + 1)[:, None]
    weight = structure.beta * k + structure.b * len(floats)
    roots = (structure.beta * sums + structure.b * sums[-1]) / weight
    root = int(Fraction(float(roots.max())) * scale)
    # Without slack a lower bound comes from any shift; with it, the duals as they are balance slack and sums.
    return max(root, 0) if structure.delta else root
