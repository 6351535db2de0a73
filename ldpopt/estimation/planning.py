r"""Sample sizes: how many people are needed for a half-width, and the half-width that a number of
people give.

A number :math:`t = w \cdot p` is estimated by the mean of one value :math:`v_y` a report. For a
respondent drawn at random from answers of distribution ``p`` the variance of that value is

.. math:: \sigma^2(p) = \sum_x p_x b_x - \Big( \sum_x p_x w_x \Big)^2,
          \qquad b_x = \sum_y P(y \mid x) \, v_y^2,

and ``N`` people give a half-width of :math:`z \sigma / \sqrt N`. A number ``t = a / D`` among the
share ``D`` of people who were asked and answered has the variance of :math:`(v_a - t v_D) / D`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import ListedSource, ReportSource, source_of
from ldpopt.estimation.intervals import interval_quantile
from ldpopt.estimation.linear import linear_variances
from ldpopt.foundation.labelled import is_labelled, read_labelled
from ldpopt.foundation.numbers import Float, percentage, real_array, short_repr, whole_number
from ldpopt.mechanism.mechanism import Mechanism

MIXTURES = 101  # shares of one of two answers at which the variance of a ratio is computed
Source = Mechanism | ReportSource

MOST_PEOPLE = 1e15


@dataclass(frozen=True, eq=False)
class Precision:
    """Variance of one respondent's value for each number that is estimated, with sample sizes and
    half-widths.

    Made by `precision`.

    Attributes
    ----------
    names : tuple of hashable
        The numbers: answers, or rows of a design's workload.
    variances : ndarray, shape (k,)
        Of one respondent's value.
    quantile : float
        ``z`` of the intervals.
    spans : ndarray, shape (k,)
        The largest minus the least possible value of each number: 1 for a share.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> precision(coin).people(0.02).tolist(), precision(coin).half_width(9604).round(4).tolist()
    ([9604, 9604], [0.02, 0.02])
    """

    names: tuple[Hashable, ...]
    variances: Float
    quantile: float
    spans: Float

    def people(self, half_width: Any) -> Any:
        """People needed for each number; half-widths are one number ``> 0``, or a mapping or Series
        by name.

        Text such as ``"5%"`` is a percentage of the number's span: five percentage points of a
        share. More than 1e15 people, and a half-width as wide as the span, are refused.
        """
        if isinstance(half_width, str) and (share := percentage(half_width)) is not None:
            wanted = share * np.where(self.spans > 0, self.spans, 1.0)
        elif is_labelled(half_width):
            wanted = read_labelled(half_width, "half-widths", ("number",)).to(self.names)
        else:
            given = real_array(half_width, "half-width")
            if given.shape not in ((), (1,), self.variances.shape):
                raise StatementError(
                    f"half-widths of shape {given.shape} for {len(self.variances)} numbers",
                    code="shape",
                    do="give one half-width, or one for each number",
                )
            wanted = np.broadcast_to(given, self.variances.shape)
        if not (wanted > 0).all():
            raise StatementError(
                f"the half-width {wanted.min():g} is not positive",
                code="sign",
                do="pass a number such as 0.02",
            )
        if (is_useless := (wanted >= self.spans) & (self.spans > 0)).any():
            place = int(is_useless.argmax())
            raise StatementError(
                f"the half-width {wanted[place]:g} is not below {self.spans[place]:g}, the "
                "whole range of the number",
                code="range",
                where=f"number {short_repr(self.names[place])}",
                do="percentage points are hundredths: pass 0.05 or '5%' for five; did you mean "
                f"{wanted[place] / 100:g}?",
            )
        with np.errstate(over="ignore"):  # refused below
            people = np.ceil(self.variances * (self.quantile / wanted) ** 2 * (1 - 1e-12))
        if not (people <= MOST_PEOPLE).all():
            raise StatementError(
                f"{people.max():.3g} people are needed",
                code="people",
                do="pass a larger half-width or epsilon",
            )
        return np.maximum(1.0, people).astype(np.int64)

    def half_width(self, people: int) -> Float:
        """Half-width of each interval that a number of people gives."""
        return self.quantile * np.sqrt(self.variances / whole_number(people, "people", 1))


def precision(
    source: Source, *, confidence: float = 0.95, prior: Any = None, simultaneous: bool = False
) -> Precision:
    """Return the variances of the numbers that a mechanism, protocol or design estimates; see
    `plan_sample`.

    The worst distribution of a number has at most two answers, since the variance is concave in its
    value and its second moment, and is found exactly.
    """
    numbers = source_of(source, "plan_sample")
    variances = numbers.variances(prior)
    z = interval_quantile(confidence, len(variances), simultaneous)
    return Precision(numbers.names, variances, z, numbers.spans)


def plan_sample(
    source: Source,
    *,
    half_width: Any,
    confidence: float = 0.95,
    prior: Any = None,
    simultaneous: bool = False,
) -> int:
    r"""Return the number of people needed for intervals of a given half-width.

    .. math:: N = \max_i \lceil z^2 \sigma_i^2 / h_i^2 \rceil

    Parameters
    ----------
    source : Mechanism, design or frequency protocol
        Will draw the reports.
    half_width : float or str, or mapping or Series name -> float
        Half the length of each interval, in the unit of what is estimated: 0.02 is two percentage
        points, and so is ``"2%"``, which is a percentage of the span of all possible values.
    confidence : float
        Coverage of the intervals, ``0 < confidence < 1``; default: ``0.95``.
    prior : array_like, shape (n,), or mapping or Series label -> weight, optional
        A guess of the distribution of answers; default: for each number the worst one.
    simultaneous : bool
        Whether all intervals hold at once (Bonferroni) with this confidence; default: ``False``.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    StatementError
        If frequencies cannot be estimated from the mechanism, or an argument does not fit.

    Notes
    -----
    This is the normal approximation; with fewer than about 50 people the intervals are wider.
    `Precision` has the sample size for each answer, and the half-widths for a given number of
    people.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> plan_sample(coin, half_width=0.02)
    9604
    >>> plan_sample(coin, half_width=0.02, prior={"no": 0.9, "yes": 0.1})
    8068
    """
    plan = precision(source, confidence=confidence, prior=prior, simultaneous=simultaneous)
    return int(plan.people(half_width).max())


def ratio_variances(
    source: ListedSource, excluded: Sequence[int], priors: Float, prior: Float | None
) -> Float:
    r"""Variances of one value in :math:`t = a / D`, shape (k,), with ``D`` the share of the
    people who are in none of the ``excluded`` numbers; of these numbers their own.

    ``priors`` has a distribution of the source's answers for each answer of the question, and
    ``prior`` is that of these answers; default: for each number the worst of two answers.
    """
    excluded = list(excluded)
    second = source.channel
    values, wanted = source.estimator, source.wanted
    in_all = 1 - values[excluded].sum(axis=0)
    share = 1 - wanted[excluded].sum(axis=0)

    def of(distribution: Float) -> Float:
        those = float(share @ distribution)
        if not those > 0:
            return np.zeros(len(values))
        t = (wanted @ distribution / those)[:, None]
        return np.asarray((values - t * in_all) ** 2 @ second.T @ distribution / those**2)

    size = len(priors)
    if prior is not None:
        mixtures = [prior @ priors]
    else:
        pairs = combinations(range(size), 2)
        steps = np.linspace(0, 1, MIXTURES)
        mixtures = [s * priors[x] + (1 - s) * priors[y] for x, y in pairs for s in steps]
    if not any(share @ each > 0 for each in mixtures):
        raise StatementError(
            "nobody is asked the question", code="nobody-asked", do="guess other shares"
        )
    found = np.max([of(each) for each in mixtures], axis=0)
    known = None if prior is None else mixtures[0]
    found[excluded] = linear_variances(second, values[excluded], wanted[excluded], known)
    return np.asarray(found)
