"""The canonical form at a basis, by sparse elimination; its test of optimality, and pivots to a
basis that passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ldpopt.errors import InfeasibleError, StatementError, UnboundedError
from ldpopt.foundation import optional
from ldpopt.foundation.numbers import require_function, require_kind
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.exact.simplex.standard_form import Row, StandardForm, standard_form

Simplify = Callable[[Any], Any]


def basic_rows(form: StandardForm, chosen: Sequence[int]) -> list[Row]:
    """Rows of ``B``, non-zero entries only."""
    return [{k: row[j] for k, j in enumerate(chosen) if row[j] != 0} for row in form.matrix]


def solve_rows(
    matrix: Sequence[Row], sides: Sequence[Sequence[Any]], simplify: Simplify | None
) -> list[list[Any]]:
    """Solve ``matrix @ X = sides`` by sparse elimination and back substitution."""
    rows = [dict(row) for row in matrix]
    right = [list(side) for side in sides]
    solution: list[list[Any]] = [[]] * len(rows)
    for r, pivot in reversed(_triangularize(rows, right, simplify)):
        value = right[r]
        for k, factor in rows[r].items():
            if k != pivot:
                value = [v - factor * x for v, x in zip(value, solution[k], strict=True)]
        value = [v / rows[r][pivot] for v in value]
        solution[pivot] = [simplify(v) for v in value] if simplify else value
    return solution


def _triangularize(
    rows: list[Row], right: list[list[Any]], simplify: Simplify | None
) -> list[tuple[int, int]]:
    """Eliminate in place; return the pivots (row, column) in order."""
    # The next pivot is in the row with the fewest entries, in the column with the fewest remaining
    # rows.
    within: list[set[int]] = [set() for _ in rows]
    for r, row in enumerate(rows):
        for k in row:
            within[k].add(r)
    remaining = set(range(len(rows)))
    order = []
    while remaining:
        r = min(remaining, key=lambda i: len(rows[i]))
        remaining.discard(r)
        if not rows[r]:
            problem = "the basis is singular: its columns are linearly dependent"
            raise StatementError(
                problem,
                code="singular-basis",
                do="choose other columns (the bases of the binary models need epsilon > 0)",
            )
        for k in rows[r]:
            within[k].discard(r)
        pivot = min(rows[r], key=lambda k: len(within[k]))
        order.append((r, pivot))
        for other in within[pivot].copy():
            factor = rows[other][pivot] / rows[r][pivot]
            for k, value in rows[r].items():
                entry = rows[other].get(k, 0) - factor * value
                entry = simplify(entry) if simplify else entry
                if k == pivot or entry == 0:
                    rows[other].pop(k, None)
                    within[k].discard(other)
                else:
                    rows[other][k] = entry
                    within[k].add(other)
            right[other] = [a - factor * b for a, b in zip(right[other], right[r], strict=True)]
    return order


@dataclass(frozen=True)
class CanonicalForm:
    r"""A standard form, solved for the columns of a basis.

    Attributes
    ----------
    form : StandardForm
        The standard form.
    basis : tuple of int
        Positions of the basic columns.
    basic_solution : dict of str to number
        ``x`` by column, zeros outside the basis.
    reduced_costs : dict of str to number
        :math:`\sigma` by column, zeros in the basis.
    multipliers : tuple, shape (rows,)
        :math:`c_B B^{-1}`: the dual solution.
    simplify : callable or None
        Function applied to every number.
    """

    form: StandardForm
    basis: tuple[int, ...]
    basic_solution: dict[str, Any]
    reduced_costs: dict[str, Any]
    multipliers: tuple[Any, ...] = field(repr=False)
    simplify: Simplify | None = field(default=None, repr=False)

    @cached_property
    def objective(self) -> Any:
        """Value of the basic solution, in the program's own direction and unit."""
        total = sum(
            c * x for c, x in zip(self.form.cost, self.basic_solution.values(), strict=True)
        )
        value = self.form.constant + self.form.sign * total
        return self.simplify(value) if self.simplify else value

    @property
    def is_feasible(self) -> bool:
        """Whether no basic variable is negative."""
        return all(value >= 0 for value in self.basic_solution.values())

    @property
    def is_degenerate(self) -> bool:
        """Whether a basic variable is zero: then this point has several bases."""
        return any(self.basic_solution[self.form.names[position]] == 0 for position in self.basis)

    @property
    def is_optimal(self) -> bool:
        """Theorem 1's test: the basis is feasible, and no reduced cost is positive.

        True proves optimality. False disproves it only if the point is feasible and not degenerate:
        a degenerate vertex may pass the test with another basis.
        """
        return self.is_feasible and all(cost <= 0 for cost in self.reduced_costs.values())

    @property
    def is_unique(self) -> bool:
        """Whether all reduced costs outside the basis are negative as well: then no other point is
        optimal.

        False if one of them is zero, although at a degenerate vertex the optimum may still be
        unique.
        """
        inside = set(self.basis)
        outside = (self.form.names[j] for j in range(self.form.shape[1]) if j not in inside)
        return self.is_optimal and all(self.reduced_costs[name] < 0 for name in outside)

    @property
    def point(self) -> dict[str, Any]:
        """The basic solution as the program's own variables."""
        return self.form.point(tuple(self.basic_solution.values()))

    def tableau(self) -> optional.pandas.DataFrame:
        """Tabulate :math:`B^{-1} A` and :math:`B^{-1} b`, one row per basic column; the last row
        has the reduced costs.

        The last entry is the objective.
        """
        sides = [
            [*row, right] for row, right in zip(self.form.matrix, self.form.right, strict=True)
        ]
        solved = solve_rows(basic_rows(self.form, self.basis), sides, self.simplify)
        names = self.form.names
        table = {names[position]: solved[k] for k, position in enumerate(self.basis)}
        table["sigma"] = [*self.reduced_costs.values(), self.objective]
        return optional.pandas.DataFrame.from_dict(
            table, orient="index", columns=[*names, "b"], dtype=object
        )


def canonical_form(
    program: LinearProgram | StandardForm,
    basis: Iterable[int | str],
    *,
    simplify: Simplify | None = None,
) -> CanonicalForm:
    r"""Solve a program for the columns of a basis: basic solution, reduced costs, Theorem 1's test.

    Parameters
    ----------
    program : LinearProgram or StandardForm
        A LinearProgram goes through `standard_form`.
    basis : iterable of int or str
        As many columns of the standard form as it has rows: positions from 0, or names.
    simplify : callable, optional
        Applied to every number computed. Symbolic entries need one that finds zeros, such as
        ``sympy.cancel``.

    Returns
    -------
    CanonicalForm
        Exact if the entries are.

    Raises
    ------
    StatementError
        If the basis has the wrong size or is singular (as for the binary models at ``epsilon =
        0``).
    NotRepresentableError
        If a LinearProgram is too large for `standard_form`.

    Notes
    -----
    Two sparse eliminations, one with ``B`` and one with its transpose. Pivots are chosen by
    sparsity, not by size, so with floats the accuracy depends on the condition of the basis.
    Mathematics: docs, "Optimality proofs by reduced costs".

    References
    ----------
    Zhou, Lu and Wu 2019, Theorem 1 and equations (5)-(9) and (16)-(18).

    Examples
    --------
    >>> from ldpopt.solving.exact.simplex import MODEL_I, binary_standard_form
    >>> program = binary_standard_form(["1/2", "1/2"], "log(3)")
    >>> table = canonical_form(program, MODEL_I["B1"].columns)
    >>> print(table.objective, table.reduced_costs["x5"], table.is_optimal)
    3/4 -1/8 True
    """
    form = program if isinstance(program, StandardForm) else standard_form(program)
    if simplify is not None:
        require_function(simplify, "simplify")
    chosen = form.positions(basis)
    basic = basic_rows(form, chosen)
    solved = solve_rows(basic, [[right] for right in form.right], simplify)
    prices = [
        row[0] for row in solve_rows(_transposed(basic), [[form.cost[j]] for j in chosen], simplify)
    ]
    x = [0 * cost for cost in form.cost]
    for k, position in enumerate(chosen):
        x[position] = solved[k][0]
    sigma = _reduced_costs(form, prices, set(chosen), simplify)
    by_name = [dict(zip(form.names, values, strict=True)) for values in (x, sigma)]
    return CanonicalForm(form, chosen, by_name[0], by_name[1], tuple(prices), simplify)


def _transposed(rows: list[Row]) -> list[Row]:
    """Transpose a square sparse matrix."""
    columns: list[Row] = [{} for _ in rows]
    for r, entries in enumerate(rows):
        for k, value in entries.items():
            columns[k][r] = value
    return columns


def _reduced_costs(
    form: StandardForm, prices: list[Any], basic: set[int], simplify: Simplify | None
) -> list[Any]:
    r""":math:`c - y A` for the multipliers ``y``; zero for basic columns."""
    sigma = list(form.cost)
    for price, row in zip(prices, form.matrix, strict=True):
        for j, value in enumerate(row):
            if value != 0 and price != 0:
                sigma[j] = sigma[j] - price * value
    reduced = [0 * cost if j in basic else cost for j, cost in enumerate(sigma)]
    return [simplify(cost) for cost in reduced] if simplify else reduced


def improve(table: CanonicalForm) -> CanonicalForm:
    """Pivot until Theorem 1's test passes.

    Parameters
    ----------
    table : CanonicalForm
        A canonical form in Fractions, at any basis. A solver's final basis needs few pivots or
        none.

    Returns
    -------
    CanonicalForm
        ``is_optimal`` holds.

    Raises
    ------
    InfeasibleError, UnboundedError
        If the program has no optimum, which exact arithmetic proves.

    Notes
    -----
    From an infeasible basis the dual simplex method first finds a feasible one; the primal method
    continues. Ties go to the first column (Bland's rule), so neither cycles. Every pivot repeats
    the elimination.

    References
    ----------
    R. Bland, New finite pivoting rules for the simplex method, Mathematics of Operations Research
    1977.

    Examples
    --------
    >>> from ldpopt.solving.exact.simplex import MODEL_II, binary_standard_form
    >>> program = binary_standard_form(["1/10", "9/10"], "log(3)", "1/5")
    >>> table = canonical_form(program, MODEL_II["B1"].columns)
    >>> better = improve(table)
    >>> print(table.is_optimal, better.is_optimal, better.objective)
    False True 23/25
    """
    require_kind(table, CanonicalForm, "improve()", "pass canonical_form(program, basis)")
    form = table.form
    if not table.is_feasible:
        table = _feasible(table)
    while True:
        entering = next(
            (j for j, cost in enumerate(table.reduced_costs.values()) if cost > 0), None
        )
        if entering is None:
            return table
        table = canonical_form(form, _exchange(table.basis, _leaving(table, entering), entering))


def _leaving(table: CanonicalForm, entering: int) -> int:
    """Position in the basis whose variable reaches 0 first when the entering variable increases."""
    form = table.form
    x = list(table.basic_solution.values())
    column = solve_rows(
        basic_rows(form, table.basis), [[row[entering]] for row in form.matrix], None
    )
    steps = enumerate(zip(table.basis, column, strict=True))
    ratios = [(x[j] / step[0], j, k) for k, (j, step) in steps if step[0] > 0]
    if not ratios:
        raise UnboundedError(
            f"the objective is unbounded along {form.names[entering]!r}", do="bound this variable"
        )
    return min(ratios)[2]


def _feasible(table: CanonicalForm) -> CanonicalForm:
    """Dual simplex with lowered costs; the result has the true costs."""
    form = table.form
    costs = zip(form.cost, table.reduced_costs.values(), strict=True)
    lowered = replace(form, cost=tuple(c - max(sigma, 0 * sigma) for c, sigma in costs))
    table = canonical_form(lowered, table.basis)
    while True:
        x = list(table.basic_solution.values())
        negative = [(j, k) for k, j in enumerate(table.basis) if x[j] < 0]
        if not negative:
            return canonical_form(form, table.basis)
        leaving = min(negative)[1]
        table = canonical_form(lowered, _exchange(table.basis, leaving, _entering(table, leaving)))


def _entering(table: CanonicalForm, leaving: int) -> int:
    """Entering column that keeps all reduced costs non-positive when a basic variable leaves."""
    form = table.form
    sigma = list(table.reduced_costs.values())
    basic = basic_rows(form, table.basis)
    unit = [[1 if k == leaving else 0] for k in range(len(basic))]
    weights = [
        (r, value[0])
        for r, value in enumerate(solve_rows(_transposed(basic), unit, None))
        if value[0] != 0
    ]
    inside = set(table.basis)
    outside = [j for j in range(form.shape[1]) if j not in inside]
    steps = {j: sum(weight * form.matrix[r][j] for r, weight in weights) for j in outside}
    ratios = [(sigma[j] / step, j) for j, step in steps.items() if step < 0]
    if not ratios:
        problem = (
            f"no point satisfies the rows: {form.names[table.basis[leaving]]!r} cannot "
            "be raised to 0"
        )
        raise InfeasibleError(problem, do="relax a row")
    return min(ratios)[1]


def _exchange(basis: tuple[int, ...], leaving: int, entering: int) -> tuple[int, ...]:
    return (*basis[:leaving], entering, *basis[leaving + 1 :])
