"""A regression as numbers: from a formula and a table to coefficients and their covariance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.regression.columns import (
    Reports,
    ReportTable,
    SampleColumns,
    Units,
    complete,
    models_of,
    read_clear,
    read_reports,
)
from ldpopt.estimation.regression.families import Family, Mixture, Ordered, Softmax
from ldpopt.estimation.regression.fit import maximize, sandwich
from ldpopt.estimation.regression.formulas import (
    INTERCEPT,
    Matrices,
    ParsedFormula,
    outcome_values,
    read_formula,
)
from ldpopt.estimation.regression.moments import least_squares
from ldpopt.estimation.regression.prepared import Scaling, equal_rows, require_independent
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.numbers import Float, Int, short_repr
from ldpopt.tables.coding import MISSING, Missing

Kind = Literal["logit", "ordered", "mean"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coefficients of the columns as they were: those of the outcome, then those of protected
    covariates and behaviors.
    """

    values: Float  # (d,)
    covariance: Float  # (d, d)
    n_outcome: int
    llf: float | None


@dataclass(frozen=True, eq=False)
class RegressionRows:
    """The rows of a regression: different people, with a weight each."""

    kind: Kind
    statement: ParsedFormula
    matrices: Matrices
    outcome: Reports | None  # None: a clear number
    numbers: Float | None  # (M,): the outcome of a mean, or the value of its report
    covariates: tuple[Reports, ...]
    frame: Any  # the clear columns of M rows
    codes: Mapping[str, Int]  # reports of these rows
    place: Int  # (N,): the row of each person
    units: Units  # of the people

    @property
    def is_robust(self) -> bool:
        """Whether errors are by sums over units, as those of a sample or a linear model."""
        return self.units.is_sample or self.kind == "mean"

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.place)

    @cached_property
    def weights(self) -> Float:
        """Sum of the weights of each row, with mean 1 for a person, shape (M,)."""
        each = self.units.weights
        if each is None:
            return np.bincount(self.place).astype(np.float64)
        return np.bincount(self.place, each / each.mean()).astype(np.float64)

    @cached_property
    def shown(self) -> list[int]:
        """Positions of the columns with coefficients: an ordered model has no column of ones."""
        names = self.matrices.names
        is_left = self.kind == "ordered"
        return [i for i, name in enumerate(names) if not (is_left and name == INTERCEPT)]

    @cached_property
    def designs(self) -> list[Float]:
        """The matrix of each combination of answers of protected covariates, shape (M, k)."""
        return [self.matrices.of(self.frame, cell) for cell in self.matrices.cells]

    @cached_property
    def cells(self) -> Float:
        """What the reports of protected covariates say of each combination, shape (C, M): their
        probabilities, or for a linear model their values.
        """
        product = np.ones((len(self.matrices.cells), len(self.weights)))
        for place, reports in enumerate(self.covariates):
            table = reports.values() if self.kind == "mean" else reports.likelihood
            rows = table.T[[cell[place] for cell in self.matrices.cells]]
            product *= rows[:, self.codes[self.statement.covariates[place]]]
        return product

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """The answers of the outcome; none of a number."""
        return () if self.outcome is None else self.outcome.answers

    def fit(self, columns: Sequence[int] | None = None) -> Fitted:
        """Fit all columns, or some of them.

        Raises
        ------
        StatementError
            If they depend linearly on each other.
        LimitReachedError
            If there is no maximum.
        """
        chosen = self.shown if columns is None else list(columns)
        names = [self.matrices.names[place] for place in chosen]
        is_every = len(chosen) == len(self.matrices.names)
        raw = self.designs if is_every else [matrix[:, chosen] for matrix in self.designs]
        scaling = Scaling.of(raw, self.kind == "ordered")
        scaled = [scaling.applied(matrix) for matrix in raw]
        require_independent(scaled, names)
        if self.kind == "mean":
            return self._by_moments(scaled, scaling)
        return self._by_likelihood(scaled, scaling)

    def _by_moments(self, scaled: list[Float], scaling: Scaling) -> Fitted:
        """The linear model."""
        assert self.numbers is not None
        solution, bread, equations = least_squares(scaled, self.cells, self.numbers, self.weights)
        covariance = sandwich(bread, equations, self.place, self._mean_one)
        back = scaling.back
        return Fitted(back @ solution, back @ covariance @ back.T, len(solution), None)

    def _by_likelihood(self, scaled: list[Float], scaling: Scaling) -> Fitted:
        """A likelihood of the reports."""
        from scipy.linalg import block_diag

        assert self.outcome is not None
        clear = np.zeros((len(self.weights), 0))
        of_clear = np.zeros((0, 0))
        if self.covariates:
            raw = self.matrices.of_clear(self.statement)[self._first]
            names = [f"covariate {number}" for number in range(raw.shape[1])]
            clear_scaling = Scaling.of([raw], False)
            clear = clear_scaling.applied(raw)
            of_clear = clear_scaling.back
            require_independent([clear], names)
        codes = self.codes[self.statement.outcome]
        away = None if self.outcome.away is None else self.outcome.away.T[:, codes]
        family: Family = (Ordered if self.kind == "ordered" else Softmax)(
            len(self.answers), scaled[0].shape[1]
        )
        likelihood = np.ascontiguousarray(self.outcome.likelihood.T[:, codes])
        model = Mixture(family, scaled, clear, likelihood, self.cells, away, self.weights)
        maximum = maximize(model)
        covariance = maximum.covariance
        if self.is_robust:
            scores = model.scores(maximum.theta)[1]
            covariance = sandwich(covariance, scores, self.place, self._mean_one)
        theta = maximum.theta
        back = np.eye(len(theta))
        first, second, _ = model.blocks
        values = theta.copy()
        if isinstance(family, Ordered):
            values[first], back[first, first] = _ordered_back(family, theta[first], scaling)
        else:
            blocks = len(self.answers) - 1
            back[first, first] = block_diag(*[scaling.back] * blocks)
            values[first] = back[first, first] @ theta[first]
        if self.covariates:
            back[second, second] = block_diag(*[of_clear] * (len(scaled) - 1))
            values[second] = back[second, second] @ theta[second]
        llf = maximum.value * (1.0 if self.units.weights is None else self.units.weights.mean())
        return Fitted(values, back @ covariance @ back.T, first.stop, float(llf))

    @cached_property
    def _first(self) -> Int:
        """The first person of each row."""
        return np.unique(self.place, return_index=True)[1]

    @property
    def _mean_one(self) -> Units:
        """The units, with weights of mean 1."""
        each = self.units.weights
        weights = None if each is None else each / each.mean()
        return replace(self.units, weights=weights)


def _ordered_back(family: Ordered, theta: Float, scaling: Scaling) -> tuple[Float, Float]:
    """Coefficients, then cuts, of the columns as they were, and their derivatives."""
    cuts = family.answers - 1
    slopes = theta[cuts:] / scaling.deviations
    shift = scaling.means / scaling.deviations
    values = np.concatenate([slopes, family.cuts(theta) + shift @ theta[cuts:]])
    back = np.zeros((len(theta), len(theta)))
    back[: len(slopes), cuts:] = np.diag(1 / scaling.deviations)
    back[len(slopes) :, :cuts] = family.cuts_by_theta(theta)
    back[len(slopes) :, cuts:] = shift
    return values, back


def state(
    formula: str,
    table: Any,
    protected: Mapping[str, Any],
    kind: Kind,
    sample: SampleColumns | None,
    missing: Missing,
) -> RegressionRows:
    """Read the table for a formula; see `regress`."""
    source = ReportTable(table)
    models = models_of(protected, source.columns)
    statement = read_formula(formula, source.columns, models, kind)
    used = [name for name in (statement.outcome, *statement.covariates) if name in models]
    for name in used:
        _require_usable(models[name], name, statement, kind)
    frame = source.frame(statement.clear)
    units = source.units(sample)
    for margin in units.margins:
        if margin.column in models:
            raise StatementError(
                f"the column {margin.column!r} has reports, and cannot be a margin",
                code="protected-margin",
                do="name a column that is not protected",
            )
    reports = {name: read_reports(source, name, models[name]) for name in used}
    present = {name: frame[name].notna().to_numpy() for name in statement.clear}
    present |= {name: each.codes != MISSING for name, each in reports.items()}
    rows = complete(present, missing)
    if units.weights is not None:
        rows = rows[units.weights[rows] > 0]
    if not len(rows):
        raise StatementError(
            "there are no people with an answer to each question of the formula",
            code="no-reports",
            do="collect reports first; weights must not all be 0",
        )
    return _assembled(
        kind, statement, frame.iloc[rows].reset_index(drop=True), reports, rows, units
    )


def _assembled(
    kind: Kind,
    statement: ParsedFormula,
    frame: Any,
    reports: dict[str, Reports],
    rows: Int,
    units: Units,
) -> RegressionRows:
    """The problem of the people at some rows: those with equal entries become one row."""
    codes: dict[str, Int] = {name: each.codes[rows] for name, each in reports.items()}
    outcome = reports.get(statement.outcome)
    numbers = None
    if kind == "mean":
        if outcome is None:
            numbers = outcome_values(statement, frame)
        else:
            numbers = (outcome.values() @ _numbers(outcome.answers))[codes[statement.outcome]]
    elif outcome is None:
        outcome = read_clear(frame, statement.outcome)
        codes[statement.outcome] = outcome.codes
    covariates = [name for name in statement.covariates]
    matrices = Matrices(statement, frame, {name: reports[name].answers for name in covariates})
    keys = [_key(frame[name]) for name in statement.clear]
    keys += [*codes.values(), *([] if numbers is None else [numbers])]
    first, place = equal_rows(keys)
    return RegressionRows(
        kind,
        statement,
        matrices,
        None if kind == "mean" else outcome,
        None if numbers is None else numbers[first],
        tuple(reports[name] for name in covariates),
        frame.iloc[first],
        {name: each[first] for name, each in codes.items()},
        place,
        units.at(rows),
    )


def _key(column: Any) -> Any:
    """A column as numbers that are equal if and only if entries are."""
    if column.dtype.kind in "fiub":
        return column.to_numpy()
    return column.astype("category").cat.codes.to_numpy()


def _numbers(answers: Sequence[Hashable]) -> Float:
    """The number of each answer: the label, or of two answers 0 and 1."""
    if all(isinstance(answer, (int, float)) for answer in answers):
        return np.array(answers, dtype=np.float64)
    if len(answers) == 2:
        return np.array([0.0, 1.0])
    raise StatementError(
        f"{len(answers)} answers of the outcome, such as {short_repr(answers[0])}, are no numbers",
        code="answer-numbers",
        do='use kind="logit" or "ordered", or answers that are numbers',
    )


def _require_usable(model: ReportModel, name: str, statement: ParsedFormula, kind: Kind) -> None:
    """Refuse models whose reports this formula cannot use."""
    where = f"column {name!r}"
    if model.behaviors and (kind == "mean" or name != statement.outcome):
        raise StatementError(
            f"people with the behavior {model.behaviors[0]!r} have no answer here",
            code="behaviors-of-covariate",
            where=where,
            do='use behaviors for the outcome of kind="logit" or "ordered"',
        )
    if not model.assigned and kind != "mean" and model.column not in statement.clear:
        raise StatementError(
            "people chose their mechanism, and it is not among the covariates",
            code="chosen-channels",
            where=where,
            do=f"add {model.column or 'the column of the mechanisms'} to the formula",
        )
