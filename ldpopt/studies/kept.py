"""The best mechanisms of many problems that differ in their prior only: one that is kept serves a
near prior, with a proof of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldpopt.certificate.program_certificate import Certificate, prove
from ldpopt.errors import CertificateError, StatementError
from ldpopt.foundation.display import Facts, HasFacts, Table, thinned
from ldpopt.foundation.numbers import Float, Int, listed_items, real_number, require_kind
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.certify import certify, read_multipliers
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.columns import ColumnBasis
from ldpopt.solving.methods.direct import Direct
from ldpopt.solving.methods.extreme_columns import ExtremeColumns
from ldpopt.solving.methods.method import solver_named
from ldpopt.solving.plan import plan
from ldpopt.solving.solution import Solution
from ldpopt.solving.solve import solve

KEPT = 64  # mechanisms of one family of problems that may serve the next prior
CREDIT = 4  # misses, more than hits, before fewer attempts are made
FAMILIES = 8  # families, with one statement but for the prior, of which mechanisms are kept
LARGEST_GAP = 0.5  # relative gap from which on nothing would have to be solved at all
# relative gap of unchanged multipliers above which a prior is too far to try: priors that are 10 %
# apart have .02 to .1, unrelated ones more than 1
FAR = 0.3
BASIC = 1  # HiGHS's number for the status of a column or row in the basis
SAME = 1e-12  # relative difference of values up to which mechanisms count as the same one
BASES = 16  # bases of one mechanism that are tried
TIGHT = 1e-9  # distance up to which a row is tight, or a column at 0
# scales of the multipliers of equations, and least scale of others, relative to the largest one
FREE, TINY = 30.0, 1e-12
REFINED = 3  # solutions for the residual: the second and third remove rounding errors
ROUNDOFF = 1e-12  # of a gap in floats


@dataclass(frozen=True, eq=False)
class BestOf(HasFacts):
    """Result of `best_of`, in the order of the problems.

    Attributes
    ----------
    certificates : tuple of Certificate
        One for each problem, with its mechanism, exact value, bound, gap and audit.
    solved : tuple of bool
        Whether the problem was solved; else a mechanism of an earlier one serves it.
    calls : int
        Number of solver calls: one for each problem that was solved, and one for a mechanism that
        needed multipliers from the middle of the optimal ones.
    gap : float
        Relative gap up to which a kept mechanism was accepted.
    """

    certificates: tuple[Certificate, ...]
    solved: tuple[bool, ...]
    calls: int
    gap: float

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanism of each problem; near problems may have the same one."""
        return tuple(proof.mechanism for proof in self.certificates if proof.mechanism is not None)

    @property
    def values(self) -> Float:
        """Expected or worst-case gain or loss of each mechanism for its problem, shape (k,)."""
        return np.array([float(proof.achieved) for proof in self.certificates])

    @property
    def relative_gaps(self) -> Float:
        """Certified relative gap of each, shape (k,)."""
        return np.array([proof.relative_gap for proof in self.certificates])

    def __len__(self) -> int:
        return len(self.certificates)

    def __iter__(self) -> Iterator[Certificate]:
        return iter(self.certificates)

    def __repr__(self) -> str:
        return f"BestOf({len(self)} problems, {self.calls} solver calls)"

    def facts(self) -> Facts:
        """Number of solver calls and largest gap; value, gap and origin of each problem."""
        numbers = self.values.tolist(), self.relative_gaps.tolist()
        shown = list(zip(*numbers, self.solved, strict=True))
        rows, more = thinned([(k, *row) for k, row in enumerate(shown)])
        cells = [
            [k, value, f"{gap:.2g}", "solved" if is_solved else "kept"]
            for k, value, gap, is_solved in rows
        ]
        table = Table(["problem", "value", "relative gap", "mechanism"], cells, words=["mechanism"])
        largest = float(self.relative_gaps.max())
        counts = [("solver calls", str(self.calls)), ("largest gap", f"{largest:.2g}")]
        return Facts(f"Best of {len(self)} problems{more}", [*counts, table])


def best_of(problems: Iterable[Problem], *, gap: float = 1e-9) -> BestOf:
    r"""Find the best mechanisms of many problems, and call a solver only where none that is known
    is proved to be as good.

    .. math:: \frac{b_{\pi'}(B) - u_{\pi'}(P)}{|b_{\pi'}(B)|} \le \mathrm{gap}
              \;\Rightarrow\; P \text{ serves } \pi'

    Parameters
    ----------
    problems : iterable of Problem
        In any order; problems that differ in the prior only profit, such as the priors of a
        robustness study. Others (of another alphabet, utility, notion or side constraint) are
        solved.
    gap : float
        Largest relative gap of a mechanism that is kept, from 0 to 0.5; default: ``1e-9``.

    Returns
    -------
    BestOf
        A certificate for each problem, in their order, and the number of solver calls.

    Raises
    ------
    StatementError
        If an item is no problem, there is none, or the gap is outside its range.
    NoSolutionError
        If a problem has no mechanism; the message names its place.

    Notes
    -----
    A kept channel stays private, whatever the prior; its value is one product. Its multipliers
    follow the new prior by two triangular solves, first by the basis of its solve, then from the
    middle of the optimal ones. Any multipliers prove a bound, so that each problem has a
    certificate of its own: value, bound and audit are exact as those of `certify`. After misses
    fewer attempts are made: unrelated priors cost little more than by `solve`. Problems that
    `solve` would not give to a simplex method as a whole (large ones, an event-wise delta) and
    worst cases are solved.

    Which mechanism serves a problem depends on the order, within the gap.

    References
    ----------
    Docs, "Certificates", Proposition 8.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> near = [Problem([p, 0.7 - p, 0.3], "identity", PureLDP(1.0)) for p in (0.4, 0.41, 0.42)]
    >>> found = best_of(near)
    >>> found.calls, found.values.round(6).tolist(), bool((found.relative_gaps < 1e-9).all())
    (1, [0.576117, 0.576117, 0.576117], True)
    """
    items = listed_items(problems, "problems", "pass a list of problems")
    gap = real_number(gap, "gap", 0.0, LARGEST_GAP)
    for k, problem in enumerate(items):
        require_kind(problem, Problem, f"best_of(), problem {k}")
    if not items:
        do = "pass at least one Problem"
        raise StatementError("no problems", code="no-problems", where="best_of", do=do)
    families: list[_Family] = []
    every: list[_Family] = []
    results: list[tuple[Certificate, bool]] = []
    for k, problem in enumerate(items):
        family = next((each for each in families if each.has(problem)), None)
        if family is None:
            family = _Family(problem)
            every.append(family)
            families = [family, *families[: FAMILIES - 1]]
        proof = family.served(problem, gap)
        results.append((family.solved(problem, k), True) if proof is None else (proof, False))
    certificates, solved = zip(*results, strict=True)
    calls = sum(solved) + sum(family.centers for family in every)
    return BestOf(tuple(certificates), tuple(solved), calls, gap)


@dataclass(eq=False)
class _Family:
    """Problems with one statement but for the prior: kept mechanisms, and what trying them gave."""

    first: Problem
    kept: list[_Kept] = field(default_factory=list)
    misses: int = 0  # attempts that failed, minus those that did not; at least 0
    passed: int = 0  # problems since the last attempt
    centers: int = 0  # solver calls for central multipliers

    def has(self, problem: Problem) -> bool:
        """Whether a problem belongs to it: labels, utility, notion and constraints are the same."""
        return problem is self.first or (
            (problem.prior is None) == (self.first.prior is None)
            and (problem.inputs, problem.outputs) == (self.first.inputs, self.first.outputs)
            and problem.utility.sense == self.first.utility.sense
            and np.array_equal(problem.utility.matrix, self.first.utility.matrix)
            and _is_same_notion(problem, self.first)
            and _are_same_rows(problem, self.first)
        )

    def served(self, problem: Problem, gap: float) -> Certificate | None:
        """The proof of the best kept mechanism for a problem; None if its gap is too large, or if
        misses say not to try.
        """
        self.passed += 1
        if problem.prior is None or not self.kept:
            return None
        # After too many misses waiting doubles: a few problems, and then log2 of them, are tried.
        if self.passed < 2 ** max(self.misses - CREDIT, 0):
            return None
        self.passed = 0
        proof = self._proof(problem, gap)
        self.misses = max(self.misses + (1 if proof is None else -1), 0)
        return proof

    def _proof(self, problem: Problem, gap: float) -> Certificate | None:
        """The proof of the best kept mechanism, by the bases with which it was found, then by
        central multipliers.
        """
        sign = 1.0 if problem.utility.sense == "gain" else -1.0
        assert problem.prior is not None
        values = sign * np.array([problem.prior @ kept.values for kept in self.kept])
        best = np.flatnonzero(values >= values.max() - SAME * abs(values.max()))[:BASES]
        for k in best:
            proof: Certificate | None = self.kept[k].proof(problem, gap, _Corner)
            if proof is not None:
                return proof
        kept = self.kept[best[-1]]  # the oldest: its call is for all that follow
        before = kept.calls
        proof = kept.proof(problem, gap, _Face)
        self.centers += kept.calls - before
        return proof

    def solved(self, problem: Problem, place: int) -> Certificate:
        """Solve and certify a problem, and keep its mechanism for others."""
        method = plan(problem)[0].method
        is_simplex = problem.prior is not None and isinstance(method, (Direct, ExtremeColumns))
        solution = solve(problem)
        if solution.repaired is None:
            error = solution.no_solution()
            code = "" if error.code == type(error).__name__ else error.code
            where = f"problem {place} of the list"
            raise type(error)(error.what, code=code, where=where, do=error.do, solution=solution)
        proof = certify(solution)
        if is_simplex and (kept := _Kept.of(solution)) is not None:
            self.kept = [kept, *self.kept[: KEPT - 1]]
        return proof


@dataclass(eq=False)
class _Kept:
    """A mechanism with the program of its problem, the optimum and its multipliers, and the faces
    of multipliers that were needed so far.
    """

    program: ChannelProgram
    mechanism: Mechanism
    point: Float
    outcome: Outcome
    values: Float  # gain or loss of each input, shape (n,)
    faces: dict[type, Any] = field(default_factory=dict)  # _Corner, _ColumnCorner or _Face
    calls: int = 0  # solver calls for central multipliers

    @classmethod
    def of(cls, solution: Solution) -> _Kept | None:
        """The mechanism of a solution; None if its program is not linear in the prior alone."""
        program, outcome = solution.program, solution.outcome
        if program is None or outcome is None or outcome.point is None:
            return None
        is_linear = np.array_equal(
            _objective(program, program.structure.weighted), program.objective
        )
        if outcome.row_duals is None or not is_linear:
            return None
        utility = solution.problem.utility.matrix
        values = (utility * solution.mechanism.channel).sum(axis=1)
        return cls(program, solution.mechanism, outcome.point, outcome, values)

    def proof(
        self, problem: Problem, gap: float, kind: type[_Corner | _Face]
    ) -> Certificate | None:
        """The certificate of the mechanism for another prior; None if its gap is too large."""
        assert problem.prior is not None
        weighted = problem.prior[:, None] * problem.utility.matrix
        program = replace(self.program, objective=_objective(self.program, weighted))
        value = float(problem.prior @ self.values)
        if self.outcome.row_duals is None or _gap(program, self.outcome.row_duals, value) > FAR:
            return None
        if kind not in self.faces:
            self.faces[kind] = self._face(kind)
        if (face := self.faces[kind]) is None:
            return None
        duals = face.moved(program.objective)
        if not _gap(program, duals, value) <= 2 * gap + ROUNDOFF:
            return None
        with suppress(CertificateError):
            proof = prove(problem, self.mechanism, read_multipliers(problem, program, duals))
            if proof.relative_gap <= gap:
                return proof
        return None

    def _face(self, kind: type[_Corner | _Face]) -> Any:
        """The basis of the solve, or central multipliers, which need another call of a solver."""
        if kind is _Corner and isinstance(self.outcome.warm_start, ColumnBasis):
            return _ColumnCorner(self.program, self.outcome.warm_start)
        if kind is _Corner:
            return _Corner.of(self.program, self.outcome.warm_start)
        self.calls += 1
        central = _central(self.program)
        return None if central is None else _Face.of(self.program, self.point, central)


def _central(program: ChannelProgram) -> Float | None:
    """Multipliers by an interior point without a corner; None if it fails."""
    options: dict[str, Any] = {"solver": "ipm", "run_crossover": "off", "refined": False}
    outcome = solver_named("highs").solve(program, **options)
    return outcome.row_duals if outcome.status is Status.OPTIMAL else None


@dataclass(frozen=True, eq=False)
class _Corner:
    """A basis of ``A v - s = 0``, by which multipliers follow the costs: ``B^T y = c_B``."""

    basic: Int  # columns and slacks
    rows: int
    factors: Any

    @classmethod
    def of(cls, program: ChannelProgram, basis: Any) -> _Corner | None:
        """Factor the basis of a solver; None without one, or if it is singular."""
        if not hasattr(basis, "col_status"):
            return None
        # imported here because the import is slow
        from scipy.sparse import eye_array, hstack
        from scipy.sparse.linalg import splu

        rows, columns = program.shape
        status = np.array([*map(int, basis.col_status), *map(int, basis.row_status)])
        basic = np.flatnonzero(status == BASIC)
        if len(status) != rows + columns or len(basic) != rows:
            return None
        matrix = hstack([program.matrix.tocsc(), -eye_array(rows, format="csc")], format="csc")
        try:
            return cls(basic, rows, splu(matrix[:, basic]))
        except RuntimeError:
            return None

    def moved(self, objective: Float) -> Float:
        """The multipliers for other costs."""
        costs = np.append(objective, np.zeros(self.rows))
        return np.asarray(np.nan_to_num(self.factors.solve(costs[self.basic], trans="T")))


@dataclass(frozen=True, eq=False)
class _ColumnCorner:
    """A basis of extreme columns, by which multipliers follow the costs."""

    program: ChannelProgram
    basis: ColumnBasis

    def moved(self, objective: Float) -> Float:
        """The multipliers for other costs."""
        sign = 1.0 if self.program.maximize else -1.0
        n, m = self.program.structure.shape
        return sign * self.basis.row_duals(sign * objective[: n * m].reshape(n, m))


@dataclass(frozen=True, eq=False)
class _Face:
    """Multipliers in the face of optimal ones, and the factors by which they follow the costs.

    The support ``S`` of the optimum is tight for all optimal multipliers: ``A_S^T y = c_S``. For
    other costs the nearest solution is taken, in units of the multipliers themselves, so that small
    ones, which may have no other sign, change little.
    """

    duals: Float
    support: Int  # columns
    rows: Int  # tight ones, whose multipliers may change
    matrix: Any  # rows by support
    scales: Float  # of the rows
    factors: Any

    @classmethod
    def of(cls, program: ChannelProgram, point: Float, multipliers: Float) -> _Face | None:
        """Factor the equations of the support of an optimum; None if they are singular."""
        # imported here because the import is slow
        from scipy.sparse import csc_array, diags_array
        from scipy.sparse.linalg import splu

        activity = program.activity(point)
        distances = np.minimum(
            np.abs(activity - program.row_lower), np.abs(activity - program.row_upper)
        )
        rows = np.flatnonzero(distances < TIGHT)
        support = np.flatnonzero(point > TIGHT)
        duals = np.zeros(program.shape[0])
        duals[rows] = multipliers[rows]
        is_free = (program.row_lower == program.row_upper)[rows]
        largest = float(np.abs(duals).max(initial=0.0)) or 1.0
        scales = np.where(is_free, FREE * largest, np.maximum(np.abs(duals[rows]), TINY * largest))
        matrix = csc_array(program.matrix[rows][:, support])
        try:
            factors = splu(csc_array(matrix.T @ diags_array(scales**2) @ matrix))
        except RuntimeError:  # the support is no vertex
            return None
        return cls(duals, support, rows, matrix, scales, factors)

    def moved(self, objective: Float) -> Float:
        """The multipliers for other costs."""
        duals = self.duals.copy()
        for _ in range(REFINED):
            left = objective[self.support] - self.matrix.T @ duals[self.rows]
            duals[self.rows] += self.scales**2 * (self.matrix @ self.factors.solve(left))
        return np.asarray(np.nan_to_num(duals))


def _objective(program: ChannelProgram, weighted: Float) -> Float:
    """Costs of the columns of a program for other weights of the entries."""
    structure = program.structure
    costs = np.zeros(program.shape[1])
    costs[: weighted.size] = weighted.reshape(-1)
    if structure.form == "compact":
        m = weighted.shape[1]
        costs[weighted.size : weighted.size + m] = structure.b * weighted.sum(axis=0)
    return costs


def _gap(program: ChannelProgram, duals: Float, value: float) -> float:
    """Relative gap that multipliers may prove, by floats: a miss should cost little."""
    sign = 1.0 if program.maximize else -1.0
    reduced = sign * (program.objective - program.adjoint(duals))
    y = sign * duals
    upper, lower = program.row_upper, program.row_lower
    # No entry of a channel is above 1: a column without a bound has that one.
    bound = float(np.maximum(reduced, 0.0) @ np.minimum(program.column_upper, 1.0))
    bound += float(np.maximum(y, 0.0) @ np.where(np.isfinite(upper), upper, 1.0))
    bound += float(np.minimum(y, 0.0) @ np.where(np.isfinite(lower), lower, -1.0))
    return (bound - sign * value) / (abs(bound) or 1.0)


def _is_same_notion(one: Problem, other: Problem) -> bool:
    """Whether two notions are one object, equal, or equal in a file."""
    first, second = one.privacy, other.privacy
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if bool(first == second):
        return True
    try:
        plain = [each.privacy.to_plain(each.inputs, explicit=True) for each in (one, other)]
    except StatementError:
        return False
    return repr(plain[0]) == repr(plain[1])


def _are_same_rows(one: Problem, other: Problem) -> bool:
    """Whether two problems have the same side constraints."""
    parts = ("row", "x", "y", "coefficient", "lower", "upper")
    return len(one.constraints) == len(other.constraints) and all(
        first is second
        or (
            first.name == second.name
            and all(np.array_equal(getattr(first, part), getattr(second, part)) for part in parts)
        )
        for first, second in zip(one.constraints, other.constraints, strict=True)
    )
