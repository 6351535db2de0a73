"""Exact simplex pivots: from an almost optimal basis to one that passes the test."""

from __future__ import annotations

from dataclasses import replace

from ldpopt.errors import InfeasibleError, UnboundedError
from ldpopt.solving.exact.simplex.canonical import CanonicalForm, canonical_form
from ldpopt.solving.exact.simplex.elimination import basic_rows, solve_rows


def improve(table: CanonicalForm) -> CanonicalForm:
    """Pivot until Theorem 1's test passes.

    Parameters
    ----------
    table : CanonicalForm
        A canonical form in Fractions, at any basis. A solver's final basis needs few pivots or none.

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
    From an infeasible basis the dual simplex method first finds a feasible one, with costs lowered such that no reduced
    cost is positive. Then the primal method continues with the true costs. Ties go to the first column (Bland's rule),
    so neither cycles. Every pivot repeats the elimination: for a few pivots, or for small programs.

    References
    ----------
    R. Bland, New finite pivoting rules for the simplex method, Mathematics of Operations Research 1977.

    Examples
    --------
    >>> from ldpopt.solving.exact.simplex import MODEL_II, binary_standard_form
    >>> table = canonical_form(binary_standard_form(["1/10", "9/10"], "log(3)", "1/5"), MODEL_II["B1"].columns)
    >>> better = improve(table)
    >>> print(table.is_optimal, better.is_optimal, better.objective)
    False True 23/25
    """
    form = table.form
    if not table.is_feasible:
        table = _feasible(table)
    while True:
        entering = next((j for j, cost in enumerate(table.reduced_costs.values()) if cost > 0), None)
        if entering is None:
            return table
        table = canonical_form(form, _exchange(table.basis, _leaving(table, entering), entering))


def _leaving(table: CanonicalForm, entering: int) -> int:
    """Position in the basis whose variable reaches 0 first when the entering variable increases."""
    form, x = table.form, list(table.basic_solution.values())
    column = solve_rows(basic_rows(form, table.basis), [[row[entering]] for row in form.matrix], None)
    ratios = [
        (x[j] / step[0], j, k) for k, (j, step) in enumerate(zip(table.basis, column, strict=True)) if step[0] > 0
    ]
    if not ratios:
        raise UnboundedError(f"the objective is unbounded along {form.names[entering]!r}", do="bound it")
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
    form, sigma = table.form, list(table.reduced_costs.values())
    basic = basic_rows(form, table.basis)
    transposed = [{r: row[k] for r, row in enumerate(basic) if k in row} for k in range(len(basic))]
    unit = [[1 if k == leaving else 0] for k in range(len(basic))]
    weights = [(r, value[0]) for r, value in enumerate(solve_rows(transposed, unit, None)) if value[0] != 0]
    inside = set(table.basis)
    outside = [j for j in range(form.shape[1]) if j not in inside]
    steps = {j: sum(weight * form.matrix[r][j] for r, weight in weights) for j in outside}
    ratios = [(sigma[j] / step, j) for j, step in steps.items() if step < 0]
    if not ratios:
        raise InfeasibleError(
            f"no point satisfies the rows: {form.names[table.basis[leaving]]!r} cannot be raised to 0",
            do="relax a row",
        )
    return min(ratios)[1]


def _exchange(basis: tuple[int, ...], leaving: int, entering: int) -> tuple[int, ...]:
    return (*basis[:leaving], entering, *basis[leaving + 1 :])
