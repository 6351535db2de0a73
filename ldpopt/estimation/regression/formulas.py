"""Formulas: the outcome, the protected columns and the matrices of covariates, by `formulaic`."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import Float, require_kind, short_repr

INTERCEPT = "Intercept"
CONTEXT = {"np": np}


@dataclass(frozen=True, eq=False)
class ParsedFormula:
    """What a formula says, by the columns that it names."""

    formula: str
    outcome: str  # a column; of a mean it may be a function of clear columns
    terms: Any  # terms of the right side
    covariates: tuple[str, ...]  # protected columns among them
    inputs: tuple[str, ...]  # all other columns of the right side
    clear: tuple[str, ...]  # these, and the clear columns of the outcome

    @property
    def clear_terms(self) -> list[Any]:
        """Terms without protected columns."""
        inside = set(self.covariates)
        return [
            term
            for term in self.terms
            if not any(inside & set(_names(factor, inside)) for factor in term.factors)
        ]


def read_formula(
    formula: str, columns: Sequence[Any], protected: Collection[str], kind: str
) -> ParsedFormula:
    """Read a formula about the columns of a table, some of which are protected.

    Raises
    ------
    StatementError
        If it has no outcome, names an unknown column, or has a function of a protected one.
    """
    require_kind(formula, str, "regress()", 'pass a formula such as "smokes ~ age"')
    left, terms = _sides(formula)
    factors = [factor for term in terms for factor in term.factors]
    for factor in (left, *factors):
        _require_columns(factor, columns)
        _require_plain(factor, protected)
    outcome = _plain_name(left)
    if outcome is None or outcome not in columns:
        if kind != "mean":
            raise StatementError(
                f"the outcome {left.expr!r} is not a column",
                code="outcome",
                where=formula,
                do='name a column before the "~"; a function of it needs kind="mean"',
            )
        outcome = left.expr
    used = dict.fromkeys(name for factor in factors for name in _names(factor, columns))
    if outcome in used:
        raise StatementError(
            f"{outcome!r} is on both sides",
            code="outcome-again",
            where=formula,
            do="leave it out after the tilde",
        )
    covariates = tuple(name for name in used if name in protected)
    if outcome not in protected and not covariates:
        known = f"protected are {', '.join(map(short_repr, protected))}; " if protected else ""
        raise StatementError(
            "no column of the formula is protected: reports have no part in it",
            code="no-protected",
            where=formula,
            do=f"{known}name the mechanisms of its protected columns, or use statsmodels",
        )
    first = _names(left, columns) if outcome not in protected else []
    inputs = tuple(name for name in used if name not in covariates)
    clear = tuple(dict.fromkeys([*first, *inputs]))
    return ParsedFormula(formula, outcome, terms, covariates, inputs, clear)


def _sides(formula: str) -> tuple[Any, list[Any]]:
    """The factor of the outcome, and the terms of the covariates."""
    formulaic = optional.formulaic
    try:
        read = formulaic.Formula(formula)
        left, right = (list(side) for side in (read.lhs, read.rhs))
    except (formulaic.errors.FormulaicError, AttributeError, SyntaxError, ValueError, TypeError):
        left = right = []
    if len(left) != 1 or len(left[0].factors) != 1:
        raise StatementError(
            f"{short_repr(formula)} is not a formula of one outcome",
            code="formula",
            do='write outcome ~ covariates, such as "smokes ~ age + C(region)"',
        )
    return next(iter(left[0].factors)), right


def _names(factor: Any, columns: Collection[Any]) -> list[str]:
    """Columns in a factor."""
    if factor.expr in columns:
        return [factor.expr]
    if factor.eval_method.value != "python":
        return []
    names = {str(name) for name in factor.required_variables}
    with suppress(SyntaxError):  # names in backticks, which formulaic has found
        names |= {each.id for each in ast.walk(_parsed(factor)) if isinstance(each, ast.Name)}
    return [name for name in columns if name in names]


def _parsed(factor: Any) -> ast.Expression:
    return ast.parse(str(factor.expr), mode="eval")


def _plain_name(factor: Any) -> str | None:
    """The column ``x`` of the factors ``x``, ``C(x)`` and ``C(x, ...)``; None of others."""
    if factor.eval_method.value == "lookup":
        return str(factor.expr)
    try:
        call: Any = _parsed(factor).body
    except SyntaxError:
        return None
    if not isinstance(call, ast.Call) or getattr(call.func, "id", None) != "C" or not call.args:
        return None
    return getattr(call.args[0], "id", None)


def _require_columns(factor: Any, columns: Sequence[Any]) -> None:
    """Refuse a name that is not a column."""
    if factor.eval_method.value != "lookup" or factor.expr in columns:
        return
    raise StatementError(
        f"unknown column {factor.expr!r}",
        code="column",
        where="the formula",
        do=nearest(factor.expr, columns),
    )


def _require_plain(factor: Any, protected: Collection[str]) -> None:
    """Refuse a function of a protected column: of a report it has no meaning."""
    inside = _names(factor, protected)
    if inside and _plain_name(factor) not in inside:
        raise StatementError(
            f"{factor.expr!r} is a function of the protected column {inside[0]!r}",
            code="function-of-protected",
            where="the formula",
            do=f"use {inside[0]} or C({inside[0]}), a factor of its answers; products with other "
            "columns are allowed",
        )


class Matrices:
    """Matrices of the covariates: one for each combination of answers of protected covariates."""

    def __init__(
        self, statement: ParsedFormula, frame: Any, levels: Mapping[str, Sequence[Hashable]]
    ):
        self.levels = {name: tuple(levels[name]) for name in statement.covariates}
        self.frame = frame
        some = frame.assign(**self._columns(next(iter(self.cells)), len(frame)))
        self.spec = _matrix(statement.terms, some).model_spec
        self.names = tuple(self.spec.column_names)

    @property
    def cells(self) -> list[tuple[int, ...]]:
        """Combinations of positions of answers; one, of nothing, without protected covariates."""
        return list(product(*(range(len(each)) for each in self.levels.values())))

    def _columns(self, cell: Sequence[Any], size: int) -> dict[str, Any]:
        """Columns of the protected covariates, of one combination or with positions by row."""
        pandas: Any = optional.pandas
        return {
            name: pandas.Categorical.from_codes(np.full(size, code), categories=list(labels))
            for (name, labels), code in zip(self.levels.items(), cell, strict=True)
        }

    def of(self, frame: Any, cell: Sequence[Any]) -> Float:
        """The matrix of one combination, shape (N, k)."""
        columns = self._columns(cell, len(frame))
        return _finite(_matrix(self.spec, frame.assign(**columns)))

    def of_answers(self, frame: Any, codes: Mapping[str, Any]) -> Float:
        """The matrix with an answer of each row, shape (N, k)."""
        return self.of(frame, [codes[name] for name in self.levels])

    def of_clear(self, statement: ParsedFormula) -> Float:
        """The matrix of the terms without protected columns, with a column of ones."""
        ones = optional.formulaic.Formula("1")
        terms = [*ones, *(term for term in statement.clear_terms if str(term) not in ("1", "0"))]
        return _finite(_matrix(terms, self.frame))

    def subset(self, terms: Any, formula: str) -> list[int]:
        """Positions of the columns of a smaller formula.

        Raises
        ------
        StatementError
            If it has others.
        """
        spec = optional.formulaic.ModelSpec(
            formula=optional.formulaic.Formula(list(terms)),
            transform_state=self.spec.transform_state,
            encoder_state=self.spec.encoder_state,
            materializer=self.spec.materializer,
        )
        head = self.frame.iloc[:1]
        head = head.assign(**self._columns(self.cells[0], len(head)))
        names = _matrix(spec, head).model_spec.column_names
        others = [name for name in names if name not in self.names]
        if others or len(names) == len(self.names):
            raise StatementError(
                f"{others[0]!r} is not in the fitted model" if others else "nothing is left out",
                code="nested",
                where=formula,
                do="leave out terms of the fitted formula",
            )
        return [self.names.index(name) for name in names]


def outcome_values(statement: ParsedFormula, frame: Any) -> Float:
    """Numbers of a clear outcome, shape (N,)."""
    read = optional.formulaic.Formula(statement.formula).lhs
    matrix = _finite(_matrix(list(read), frame, ensure_full_rank=False))
    if matrix.shape[1] != 1:
        raise StatementError(
            f"the outcome {statement.outcome!r} is not a number",
            code="outcome-number",
            do='pass a column of numbers, or use kind="logit"',
        )
    return matrix[:, 0]


def _matrix(source: Any, frame: Any, **options: Any) -> Any:
    """The matrix of terms, or of what was learned from an earlier frame."""
    formulaic = optional.formulaic
    spec = source if hasattr(source, "get_model_matrix") else formulaic.Formula(list(source))
    matrix = None
    has_levels = True
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # formulaic takes an unknown level for the first one
            warnings.simplefilter("error", formulaic.errors.DataMismatchWarning)
            matrix = spec.get_model_matrix(
                frame, context=CONTEXT, na_action="ignore", output="numpy", **options
            )
    except formulaic.errors.DataMismatchWarning:
        has_levels = False
    except (formulaic.errors.FormulaicError, ValueError, TypeError, KeyError, NameError):
        matrix = None
    if not has_levels:  # outside of the block: errors of formulaic may contain entries
        raise StatementError(
            "an entry is not among the levels of its factor",
            code="unknown-level",
            where="the formula",
            do="use the levels that the fitted table has",
        )
    if matrix is None:
        raise StatementError(
            "a term of the formula cannot be computed from the table",
            code="term",
            where="the formula",
            do="check the functions that it names, and that they are of columns of numbers",
        )
    return matrix


def _finite(matrix: Any) -> Float:
    """Numbers of a matrix, if all are finite."""
    numbers = np.asarray(matrix, dtype=np.float64)
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0].tolist()
        name = matrix.model_spec.column_names[column]
        raise StatementError(
            f"{name!r} is not a finite number",
            code="non-finite",
            where=f"row {row}",
            do="use functions that are defined for all rows, and the labels of the fitted table",
        )
    return numbers
