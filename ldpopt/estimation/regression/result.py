"""The result of a regression, with the names of statsmodels' results."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.regression.columns import ReportTable, complete
from ldpopt.estimation.regression.families import Ordered, Softmax
from ldpopt.estimation.regression.fit import freedom
from ldpopt.estimation.regression.formulas import read_formula
from ldpopt.estimation.regression.problem import Fitted, RegressionRows
from ldpopt.estimation.significance import Significance
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts, label
from ldpopt.foundation.display import Table as Rows
from ldpopt.foundation.numbers import Float
from ldpopt.tables.coding import MISSING, Coder

NAMES = {"logit": "logistic regression", "ordered": "ordered logits", "mean": "linear model"}


@dataclass(frozen=True, eq=False, repr=False)
class Regression(HasFacts):
    """Coefficients of protected answers, as if the answers were known; made by `regress`.

    Attributes have the names of statsmodels' results. With more than two answers ``params``,
    ``bse`` and ``pvalues`` are tables with a column for each answer but the first.

    Attributes
    ----------
    formula, kind : str
        What was fitted.
    confidence : float
        Coverage of the intervals.
    nobs : int
        Number of people.
    llf : float or None
        Log-likelihood of the reports; None for ``kind="mean"``, which has none.

    Examples
    --------
    >>> import pandas as pd
    >>> from ldpopt import Mechanism, regress
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> told = [("no", 0, 60), ("yes", 0, 40), ("no", 1, 45), ("yes", 1, 55)]
    >>> table = pd.DataFrame([(y, z) for y, z, n in told for _ in range(n)], columns=["y", "z"])
    >>> regress("y ~ z", table, {"y": coin}).params.round(3).to_dict()
    {'Intercept': -0.847, 'z': 1.253}
    """

    formula: str
    kind: str
    confidence: float
    llf: float | None
    _fitted: Fitted = field(repr=False)
    _problem: RegressionRows = field(repr=False)

    def __repr__(self) -> str:
        return self.summary()

    @property
    def nobs(self) -> int:
        """Number of people."""
        return self._problem.n_people

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """Answers of the outcome, of which the logits of several compare the others with the
        first; none of a number.
        """
        return self._problem.answers

    @property
    def cuts(self) -> tuple[str, ...]:
        """Names of the cuts of an ordered model, which are the last of its coefficients."""
        if self.kind != "ordered":
            return ()
        return tuple(f"{low}/{high}" for low, high in pairwise(self.answers))

    @property
    def _terms(self) -> list[str]:
        return [self._problem.matrices.names[place] for place in self._problem.shown]

    @property
    def _is_wide(self) -> bool:
        """Whether there is a block of coefficients for each answer but the first."""
        return self.kind == "logit" and len(self._problem.answers) > 2

    @property
    def _labels(self) -> list[Hashable]:
        """Names of the coefficients."""
        if self._is_wide:
            return [(answer, term) for answer in self.answers[1:] for term in self._terms]
        return [*self._terms, *self.cuts]

    @property
    def _index(self) -> Any:
        pandas = optional.pandas
        if self._is_wide:
            return pandas.MultiIndex.from_product(
                [self._problem.answers[1:], self._terms], names=["answer", "term"]
            )
        return pandas.Index(self._labels, name="term")

    def _shaped(self, values: Float) -> Any:
        """A number for each coefficient: a series, or a table with a column for each answer."""
        pandas = optional.pandas
        if not self._is_wide:
            return pandas.Series(values, index=self._index)
        answers = list(self._problem.answers[1:])
        table = values.reshape(len(answers), -1).T
        columns = pandas.Index(answers, name="answer", tupleize_cols=False)
        return pandas.DataFrame(
            table, index=pandas.Index(self._terms, name="term"), columns=columns
        )

    @property
    def _values(self) -> Float:
        return self._fitted.values[: self._fitted.n_outcome]

    @property
    def _errors(self) -> Float:
        return np.sqrt(np.diag(self._fitted.covariance)[: self._fitted.n_outcome])

    @property
    def _p_values(self) -> Float:
        z = np.abs(self._values / self._errors)
        from scipy.special import ndtr, stdtr

        number = freedom(self._problem.units)
        return np.asarray(2 * (ndtr(-z) if number is None else stdtr(number, -z)))

    @property
    def params(self) -> Any:
        """Coefficients: a Series, or with more than two answers a DataFrame (terms x answers).

        Those of an ordered model are followed by the cuts.
        """
        return self._shaped(self._values)

    @property
    def bse(self) -> Any:
        """Standard errors, as `params`."""
        return self._shaped(self._errors)

    @property
    def pvalues(self) -> Any:
        """Two-sided p-values of the hypotheses that a coefficient is 0 (Wald), as `params`."""
        return self._shaped(self._p_values)

    def cov_params(self) -> Any:
        """Return the covariance of the coefficients, a DataFrame of shape (k, k)."""
        size = self._fitted.n_outcome
        covariance = self._fitted.covariance[:size, :size]
        return optional.pandas.DataFrame(covariance, index=self._index, columns=self._index)

    def conf_int(self) -> Any:
        """Return the ends of the intervals, a DataFrame with the columns 0 and 1.

        With clusters the quantile is that of Student's t with clusters - strata degrees.
        """
        ends = self._ends()
        return optional.pandas.DataFrame(ends, index=self._index, columns=[0, 1])

    def _ends(self) -> Float:
        from scipy.special import stdtrit

        number = freedom(self._problem.units)
        z = normal_quantile(self.confidence)
        if number is not None:
            z = float(stdtrit(number, (1 + self.confidence) / 2))
        return np.stack([self._values - z * self._errors, self._values + z * self._errors], axis=1)

    @property
    def behaviors(self) -> Any:
        """Shares of the people who do not follow the rule, a DataFrame with the columns
        ``estimate`` and ``std_error``; without behaviors it has no rows.
        """
        outcome = self._problem.outcome
        names = [] if outcome is None else list(outcome.behaviors)
        place = slice(len(self._fitted.values) - len(names), None)
        terms = np.exp(np.append(0.0, self._fitted.values[place]))
        shares = (terms / terms.sum())[1:]
        gradient = np.diag(shares) - np.outer(shares, shares)
        covariance = gradient @ self._fitted.covariance[place, place] @ gradient
        columns = {"estimate": shares, "std_error": np.sqrt(np.diag(covariance))}
        return optional.pandas.DataFrame(columns, index=names)

    def predict(self, table: Any) -> Any:
        """Return what the model expects of people with these covariates.

        Parameters
        ----------
        table : dataframe
            The columns of the formula. A protected covariate has answers here, not reports.

        Returns
        -------
        Series or DataFrame
            The probability of the second of two answers, or the number (``kind="mean"``); with
            more answers a table with the probability of each.

        Raises
        ------
        StatementError
            If a column is missing, or has an entry that the fitted table did not have.
        """
        problem = self._problem
        matrices = problem.matrices
        source = ReportTable(table)
        frame = source.frame(problem.statement.inputs)
        codes = {
            name: source.codes(name, Coder(levels, "answer"), f"column {name!r}")
            for name, levels in matrices.levels.items()
        }
        present = {name: frame[name].notna() for name in frame.columns}
        complete(present | {name: each != MISSING for name, each in codes.items()}, "refuse")
        matrix = matrices.of_answers(frame, codes)[:, problem.shown]
        return self._expected(matrix, table.index if hasattr(table, "index") else None)

    def _expected(self, matrix: Float, index: Any) -> Any:
        """What is expected of people with these rows."""
        pandas = optional.pandas
        answers = self._problem.answers
        if self.kind == "mean":
            return pandas.Series(matrix @ self._values, index=index)
        family: Any = Softmax(len(answers), matrix.shape[1])
        theta = self._values
        if self.kind == "ordered":
            family = Ordered(len(answers), matrix.shape[1])
            theta = _ordered_theta(self._values, matrix.shape[1])
        shares = family.shares(theta, matrix).T
        if len(answers) == 2:
            return pandas.Series(shares[:, 1], index=index)
        columns = pandas.Index(list(answers), name="answer", tupleize_cols=False)
        return pandas.DataFrame(shares, index=index, columns=columns)

    def test(self, formula: str) -> Significance:
        """Test a smaller model within this one: the terms that it leaves out have no effect.

        The likelihood ratio, chi-square with a degree for each coefficient that is left out; of a
        sample with weights, strata or clusters, and of a linear model, the statistic of Wald with
        the covariance of the coefficients, since the ratio has no chi-square law then. Covariates
        of protected covariates stay as they are.

        Parameters
        ----------
        formula : str
            The formula without some of its terms, with the same outcome.

        Returns
        -------
        Significance
            The statistic, its degrees of freedom and p-value.

        Raises
        ------
        StatementError
            If the smaller model is not within this one.
        """
        problem = self._problem
        columns = [*problem.statement.clear, *problem.codes, problem.statement.outcome]
        smaller = _smaller(formula, list(dict.fromkeys(columns)), problem)
        kept = set(problem.matrices.subset(smaller, formula))
        dropped = [i for i, place in enumerate(problem.shown) if place not in kept]
        if not dropped:
            raise StatementError(
                "only the column of ones is left out, which an ordered model does not have",
                code="nested",
                where=formula,
                do="leave out terms of the fitted formula",
            )
        words = ", ".join(self._terms[i] for i in dropped)
        hypothesis = f"no effect of {words}"
        blocks = len(problem.answers) - 1 if self._is_wide else 1
        places = [b * len(self._terms) + i for b in range(blocks) for i in dropped]
        if problem.is_robust:
            values = self._values[places]
            covariance = self._fitted.covariance[np.ix_(places, places)]
            statistic = float(values @ np.linalg.solve(covariance, values))
        else:
            fitted = problem.fit([place for place in problem.shown if place in kept])
            assert self.llf is not None
            assert fitted.llf is not None
            statistic = max(0.0, 2 * (self.llf - fitted.llf))
        from scipy.special import chdtrc

        return Significance(
            statistic, len(places), float(chdtrc(len(places), statistic)), hypothesis
        )

    def to_frame(self) -> Any:
        """Return a table: a row for each coefficient, columns estimate, std_error, p_value, low and
        high.
        """
        low, high = self._ends().T
        columns = {
            "estimate": self._values,
            "std_error": self._errors,
            "p_value": self._p_values,
            "low": low,
            "high": high,
        }
        return optional.pandas.DataFrame(columns, index=self._index)

    def facts(self) -> Facts:
        """Each coefficient with its error, p-value and interval."""
        headings = ["coefficient", "estimate", "std error", "p-value", "low", "high"]
        # in full: levels of a column differ at the end of the name
        names = [
            ": ".join(map(str, name)) if isinstance(name, tuple) else str(name)
            for name in self._labels
        ]
        ends = self._ends().T.tolist()
        columns = [names, self._values.tolist(), self._errors.tolist(), self._p_values.tolist()]
        parts: list[Any] = [("people", self.nobs)]
        if self.llf is not None:
            parts.append(("log-likelihood", self.llf))
        parts += [
            (f"share of {name}", f"{share:.4g} +- {error:.2g}")
            for name, (share, error) in zip(
                self.behaviors.index, self.behaviors.to_numpy(), strict=True
            )
        ]
        parts.append(Rows(headings, list(zip(*columns, *ends, strict=True)), digits=4))
        first = self._problem.answers[:1]
        if self._is_wide:
            parts.append(f"Coefficients are logits against {label(first[0])}.")
        title = f"{NAMES[self.kind]}: {self.formula}, {100 * self.confidence:g} % intervals"
        return Facts(title, parts)


def _ordered_theta(values: Float, columns: int) -> Float:
    """Coefficients and cuts in the order and form that the family has."""
    cuts = values[columns:]
    return np.concatenate([cuts[:1], np.log(np.diff(cuts)), values[:columns]])


def _smaller(formula: str, columns: list[Any], problem: RegressionRows) -> Any:
    """Terms of a smaller formula with the same outcome."""
    protected = [name for name in columns if name in problem.codes]
    statement = read_formula(
        formula, columns, {*protected, problem.statement.outcome}, problem.kind
    )
    if statement.outcome != problem.statement.outcome:
        raise StatementError(
            f"the outcome is {statement.outcome!r}, not {problem.statement.outcome!r}",
            code="other-outcome",
            where=formula,
            do="leave out terms of the fitted formula",
        )
    return statement.terms
