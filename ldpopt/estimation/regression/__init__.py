r"""Product: regressions on reports, coefficients as if the protected answers were known.

In: a formula, a table with columns of reports and clear columns, and the mechanism of each column
of reports. Out: a `Regression`, whose attributes have the names of statsmodels' results.

A person with clear covariates ``z`` and reports ``y`` has the log-likelihood

.. math:: \log q_i = \log \sum_x p_x(z_i; \theta) \, P_i(y_i \mid x) ,

a sum over the answers that nobody sees (`families`); it is maximized in `fit`. The linear model
needs no distribution (`moments`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from ldpopt.estimation.regression.columns import SampleColumns
from ldpopt.estimation.regression.problem import Kind, state
from ldpopt.estimation.regression.result import Regression
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.numbers import inner_share, require_choice
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.tables.coding import Missing

__all__ = ["Regression", "regress"]


def regress(
    formula: str,
    table: Any,
    protected: Mapping[str, Mechanism | ReportModel],
    *,
    kind: Kind = "logit",
    sample: SampleColumns | None = None,
    confidence: float = 0.95,
    missing: Missing = "refuse",
) -> Regression:
    r"""Regress answers on covariates where some of them are protected: the outcome, covariates, or
    both.

    .. math:: \max_\theta \sum_i w_i \log \sum_{c, x}
              \Pr(c \mid z_i) \, p_x(c, z_i; \theta) \, P_i(r_i \mid c) \, P_i(y_i \mid x)

    with ``x`` the answer to the outcome's question and ``c`` those of protected covariates, whose
    reports are ``y`` and ``r``, and :math:`\Pr(c \mid z)` a softmax of the formula's clear terms.

    Parameters
    ----------
    formula : str
        As ``"smokes ~ age + C(region)"``. A protected covariate is a factor, also in products with
        other columns; functions of it are refused. Columns are found by `formulaic`, numpy's
        functions by ``np.``.
    table : dataframe
        Of any library; protected columns have reports, others what they say.
    protected : mapping of column -> Mechanism or ReportModel
        What drew the reports of each protected column.
    kind : {"logit", "ordered", "mean"}
        Logits of the answers against the first one; cumulative logits of ordered answers, with the
        cuts in place of an intercept; or the mean of a number, by least squares of unbiased values:
        the labels if they are numbers, else 0 and 1 of two answers. Default: ``"logit"``.
    sample : Sample, optional
        Columns of weights, strata and clusters, and known margins, to which weights are fitted;
        errors are then those of a sample, also if it names no column. A population counts as very
        large: errors are then too large, never too small. Default: none.
    confidence : float
        Coverage of each interval, ``0 < confidence < 1``. Default: ``0.95``.
    missing : {"refuse", "leave_out"}
        What is done with people who have a missing entry. Default: ``"refuse"``.

    Returns
    -------
    Regression
        ``params``, ``bse``, ``pvalues``, ``conf_int()``, ``predict(table)``, ``test(formula)``.

    Raises
    ------
    StatementError
        If nothing in the formula is protected, it has a function of a protected column or linearly
        dependent covariates, people chose their mechanism and it is not among the covariates, or
        reports do not show the answers.
    LimitReachedError
        If the likelihood has no maximum, as when a group of people seems to give one answer only.

    Notes
    -----
    People with behaviors (`ReportModel`) have one share for all covariates. Two columns that one
    report answers together cannot be in one formula: their reports are not independent given the
    answers.

    Columns have mean 0 and deviation 1 during the fit, and people with equal rows are one row: O(M
    d^2) for a step with ``M`` different rows and ``d`` coefficients, some 10 to 20 steps.

    Errors are those of the observed information; of a sample, and for ``kind="mean"``, robust.
    Theory: `ldpopt.estimation.regression.fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> told = [("no", 20, 60), ("yes", 20, 40), ("no", 50, 45), ("yes", 50, 55)]
    >>> table = pd.DataFrame([t[:2] for t in told for _ in range(t[2])], columns=["smokes", "age"])
    >>> regress("smokes ~ age", table, {"smokes": coin}).params.round(3).to_dict()
    {'Intercept': -1.682, 'age': 0.042}
    """
    require_choice(kind, get_args(Kind), "kind")
    inner_share(confidence, "confidence", do="pass a coverage such as 0.95")
    problem = state(formula, table, protected, kind, sample, missing)
    fitted = problem.fit()
    return Regression(formula, kind, float(confidence), fitted.llf, fitted, problem)
