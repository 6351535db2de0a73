"""The record of estimates with standard errors and intervals, and estimates that are linear in the
reports.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation import contrasts, differences, quantiles, significance
from ldpopt.estimation.band import Band, NormalBand, ProjectedBand
from ldpopt.estimation.counts import Counts, new_people
from ldpopt.estimation.intervals import interval_quantile, norm_sub
from ldpopt.estimation.liars import (
    liars_in_words,
    plain_band,
    projected,
    require_no_liars,
    share_of_liars,
)
from ldpopt.estimation.significance import Significance
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts, Table, label, shown
from ldpopt.foundation.numbers import Float, frozen, real_array, require_kind

NO_ERROR = "no standard error is known where all reports say the same: see the interval"
PROJECTED = ", norm_sub"  # what `Estimate.norm_sub` adds to the name of a method
SHOWN = 5  # names in a sentence


@dataclass(frozen=True, eq=False)
class Estimate(HasFacts):
    r"""Estimates with standard errors and intervals.

    Parameters
    ----------
    values : array_like, shape (n,)
        The estimates; a scalar becomes shape (1,).
    std_error : array_like, shape (n,)
        Standard errors, in the unit of the values; nan where none is known: one of 0 beside an
        interval of positive length is no error, but that of reports that are all equal.
    n_reports : int
        Number of reports used.
    confidence : float
        Nominal coverage of each single interval, ``0 < confidence < 1``; default: ``0.95``.
    method : str
        Method of estimation; default: ``"inversion"``.
    labels : sequence of hashable, optional
        Labels of the values.
    covariance : array_like, shape (n, n), optional
        Covariance of the estimates.
    interval : array_like, shape (n, 2), optional
        Lower and upper ends; default: the normal interval ``values -+ z std_error``, not clipped.
    fit : float, optional
        P-value of the reports, see `goodness_of_fit`; None for weighted reports.
    is_distribution : bool
        Whether the values are the frequencies of all answers, which sum to 1. Default: ``False``.
    effect : array_like, shape (n,), optional
        Design effect of the weights, at least about 1: so many times fewer reports of equal weights
        have intervals as wide; None for reports of equal weights. See `ldpopt.estimation.band`.
    simultaneous : bool
        Whether all intervals hold at once with the confidence (Bonferroni). Default: ``False``.
    band : Band, optional
        What has the intervals at any confidence; default: normal ones.
    people : frozenset of int
        Tokens of the counts whose reports were used, by which estimates of the same people are
        recognized; of none it gets a new one. Default: ``frozenset()``.
    scale : tuple, optional
        Labels of which the values are positions, for a quantile without edges.

    Raises
    ------
    StatementError
        If the confidence is not between 0 and 1, or a shape does not fit.

    Examples
    --------
    >>> Estimate([0.5], [0.25], n_reports=4).interval.round(2)
    array([[0.01, 0.99]])
    """

    values: Float
    std_error: Float
    n_reports: int
    confidence: float = 0.95
    method: str = "inversion"
    labels: tuple[Hashable, ...] | None = None
    covariance: Float | None = None
    interval: Float = None  # type: ignore[assignment]
    fit: float | None = None
    is_distribution: bool = False
    effect: Float | None = None
    simultaneous: bool = False
    band: Band | None = None
    people: frozenset[int] = frozenset()
    scale: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        """Check the shapes, fill in the interval and freeze the arrays."""
        values = np.atleast_1d(real_array(self.values, "values of an estimate"))
        z = interval_quantile(self.confidence, len(values), self.simultaneous)
        std_error = np.atleast_1d(real_array(self.std_error, "standard errors"))
        interval = self.interval
        if interval is None and std_error.shape == values.shape:
            interval = np.stack([values - z * std_error, values + z * std_error], axis=-1)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "people", self.people or new_people())
        n = len(values)
        arrays: dict[str, Any] = {
            "std_error": std_error,
            "covariance": self.covariance,
            "interval": interval,
            "effect": self.effect,
        }
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("values", "std_error", "effect"), (n,))
        shapes |= {"covariance": (n, n), "interval": (n, 2)}
        for name, array in ({"values": values} | arrays).items():
            if array is None:
                continue
            checked = real_array(array, f"{name} of an estimate")
            shape = shapes[name]
            if checked.shape != shape:
                raise StatementError(
                    f"{name} of an estimate has shape {checked.shape}; it needs {shape}",
                    code="shape",
                    do=f"give one entry of {name} for each of the {n} values",
                )
            if name == "interval":  # the last one
                is_unknown = (std_error == 0) & (checked[:, 0] < checked[:, 1])
                errors = frozen(np.where(is_unknown, np.nan, std_error))
                object.__setattr__(self, "std_error", errors)
            object.__setattr__(self, name, frozen(checked))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
            if len(self.labels) != n:
                raise StatementError(
                    f"{len(self.labels)} labels for {n} estimates",
                    code="labels",
                    do="give one label for each value",
                )

    def __repr__(self) -> str:
        wider = f" widened for {100 * self.liars:g}% of liars" if self.liars else ""
        rows = [
            f"Estimate({self.method}, {self.n_reports} reports, "
            f"{100 * self.confidence:g}% intervals{wider})"
        ]
        for place in range(min(10, len(self.values))):
            name = "" if self.labels is None else f"{self.labels[place]!r}: "
            value, low, high = (shown(column[place], 6) for column in self.shown)
            error = self.shown_errors[place]
            spread = "" if error is None else f" +- {error:.2g}"
            rows.append(f"  {name}{value}{spread}  [{low}, {high}]")
        if len(self.values) > 10:
            rows.append(f"  ... {len(self.values) - 10} more")
        return "\n".join(rows)

    @property
    def shown(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Values, lower and upper ends for tables: of positions in a scale its labels."""
        columns = (self.values.tolist(), *self.interval.T.tolist())
        if self.scale is None:
            return columns
        scale = self.scale
        values, low, high = ([label(scale[int(place)]) for place in each] for each in columns)
        return values, low, high

    @property
    def shown_errors(self) -> list[float | None]:
        """Standard errors, None where none is known: of reports that are all equal, or of one, only
        the interval shows what is known.
        """
        is_position = self.scale is not None
        errors = self.std_error.tolist()
        return [None if is_position or np.isnan(error) else error for error in errors]

    @property
    def nearest_shares(self) -> list[float] | None:
        """Values of `norm_sub` for tables; None of what are not unbiased frequencies of several
        answers.
        """
        is_unbiased = self.method != "maximum_likelihood" and not isinstance(
            plain_band(self.band), ProjectedBand
        )
        if not (self.is_distribution and is_unbiased and len(self.values) > 1):
            return None
        nearest: list[float] = self.norm_sub().values.tolist()
        return nearest

    def facts(self) -> Facts:
        """Each estimate with its standard error and interval; of frequencies also the nearest
        distribution.
        """
        names = range(len(self.values)) if self.labels is None else map(label, self.labels)
        headings = [
            "number" if self.method == "design" else "answer",
            "estimate",
            "std error",
            "low",
            "high",
        ]
        values, low, high = self.shown
        columns: list[Any] = [names, values, self.shown_errors, low, high]
        if (nearest := self.nearest_shares) is not None:
            headings.append("norm sub")
            columns.append(nearest)
        method = self.method.replace("_", " ")
        title = f"{self.n_reports:,} reports, {method}, {100 * self.confidence:g} % intervals"
        table = Table(headings, list(zip(*columns, strict=True)), digits=5)
        notes = [NO_ERROR] if self.scale is None and None in self.shown_errors else []
        notes += liars_in_words(self.liars)
        return Facts(title, [table, *notes, *cost_of_weights({"": self})])

    def norm_sub(self) -> Estimate:
        r"""Frequencies made non-negative with sum 1 (Norm-Sub; Wang et al. 2020).

        .. math:: \max(\hat f_x - \delta, 0), \quad \delta \text{ such that they sum to 1}

        The nearest point of the simplex: never further from the true frequencies, but biased.
        Standard errors are those of the unbiased estimates, intervals theirs clipped to [0, 1].

        Raises
        ------
        StatementError
            If these are not the frequencies of all answers, at least two, see `is_distribution`:
            shares up to an answer, ranges, means, ticks, some of the answers, or shares among
            those who answered.
        """
        if len(self.values) < 2 or not self.is_distribution:
            raise StatementError(
                f"Norm-Sub is for frequencies of at least two answers; these {len(self.values)} "
                "values are not the frequencies of all answers",
                code="frequencies",
                do="estimate the frequencies of all answers, as estimate_frequencies does",
            )
        values = norm_sub(self.values)
        return replace(
            self,
            values=values,
            method=f"{self.method}{PROJECTED}",
            interval=np.clip(self.interval, 0.0, 1.0),
            band=projected(values, self.bounds),
        )

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a table: one row for each value, columns estimate, std_error, low, high."""
        index = None
        if self.labels is not None:
            index = optional.pandas.Index(list(self.labels), name="answer", tupleize_cols=False)
        values, low, high = self.shown
        columns = {"estimate": values, "std_error": self.std_error, "low": low, "high": high}
        if self.liars:
            columns["liars"] = [self.liars] * len(values)
        return optional.pandas.DataFrame(columns, index=index)

    @classmethod
    def of_band(
        cls,
        band: Band,
        counts: Counts,
        confidence: float,
        *,
        simultaneous: bool = False,
        **fields: Any,
    ) -> Estimate:
        """Make the record of the numbers of a band, estimated from some counts."""
        require_kind(counts, Counts, "Estimate.of_band()", "pass what was counted")
        if not (hasattr(type(band), "ends") and hasattr(type(band), "contrast")):
            raise StatementError(
                f"a {type(band).__name__} is not a band", code="band", do="pass Estimate.bounds"
            )
        z = interval_quantile(confidence, len(band.values), simultaneous)
        return cls(
            band.values,
            band.errors,
            counts.n_reports,
            float(confidence),
            covariance=band.covariance,
            interval=band.ends(z),
            effect=band.effect,
            simultaneous=simultaneous,
            band=band,
            people=counts.people,
            **fields,
        )

    @property
    def bounds(self) -> Band:
        """The band of the values; normal intervals if none was given."""
        return self.band or NormalBand(self.values, self.std_error, self.covariance)

    @property
    def liars(self) -> float:
        """Share of people who may have sent anything: each interval is widened by what they can do,
        the share times the influence of one report; 0 if all reports are taken as true.
        """
        return share_of_liars(self.band)

    def at(self, confidence: float) -> Estimate:
        """Return the same estimates with intervals of another confidence.

        Raises
        ------
        StatementError
            If the confidence is not between 0 and 1.

        Examples
        --------
        >>> Estimate([0.5], [0.25], n_reports=4).at(0.5).interval.round(2)
        array([[0.33, 0.67]])
        """
        z = interval_quantile(confidence, len(self.values), self.simultaneous)
        return replace(self, confidence=float(confidence), interval=self.bounds.ends(z))

    def __sub__(self, other: Any) -> Estimate:
        r"""Differences of the same numbers of other people, with intervals by square and add.

        .. math:: \Big[ a - b - \sqrt{(a - l_a)^2 + (u_b - b)^2}, \;
                  a - b + \sqrt{(u_a - a)^2 + (b - l_b)^2} \Big]

        for intervals :math:`[l, u]` of each (Newcombe 1998; Zou and Donner 2008).

        Parameters
        ----------
        other : Estimate
            The same numbers, matched by their labels, estimated from independent reports.

        Returns
        -------
        Estimate
            With the confidence of the first.

        Raises
        ------
        StatementError
            If the labels are not the same, or reports of the same people are in both. Two loads of
            the same file are not recognized as the same people.

        Examples
        --------
        >>> north = Estimate([0.5], [0.03], 100)
        >>> south = Estimate([0.4], [0.04], 100)
        >>> (north - south).interval.round(3)
        array([[0.002, 0.198]])
        """
        if not isinstance(other, Estimate):
            return NotImplemented
        return differences.difference(self, other)

    def contrast(self, matrix: Any, labels: Sequence[Hashable] | None = None) -> Estimate:
        r"""Estimate sums and differences of the numbers.

        .. math:: B \hat t, \qquad \operatorname{Cov} = B C B^T

        Intervals of estimates that are linear in the reports are score intervals again, with the
        variance of the sum itself.

        Parameters
        ----------
        matrix : array_like, shape (r, k) or (k,), or mapping or Series label -> factor, or table
            One row for each sum. A mapping by label need not name all labels; a mapping of
            mappings, or a table, has named rows.
        labels : sequence of hashable, optional
            Names of the sums; default: the names of the rows, if they have any.

        Returns
        -------
        Estimate
            Of shape (r,).

        Raises
        ------
        StatementError
            If a shape or label does not fit, or the covariance of the estimates is not known.

        Examples
        --------
        >>> coin = Estimate([0.4, 0.6], [0.1, 0.1], 90, covariance=[[0.01, -0.01], [-0.01, 0.01]])
        >>> coin.contrast([-1, 1]).values.round(2), coin.contrast([-1, 1]).std_error.round(2)
        (array([0.2]), array([0.2]))
        """
        return contrasts.contrast(self, matrix, labels)

    def function(
        self,
        f: Callable[[Float], Any],
        labels: Sequence[Hashable] | None = None,
        *,
        gradient: Any = None,
    ) -> Estimate:
        r"""Estimate a smooth function of the numbers, with normal intervals (delta method).

        .. math:: f(\hat t), \qquad \operatorname{Var} \approx g^T C g, \quad
                  g = \nabla f(\hat t)

        Parameters
        ----------
        f : callable
            Of an array of shape (k,), the values in the order of `labels`; returns a number, or an
            array of shape (r,). `ldpopt.estimation.functions` has some.
        labels : sequence of hashable, optional
            Names of the results.
        gradient : array_like, shape (k,) or (r, k), or callable, optional
            Derivatives at the values; default: central differences with steps of 1e-6 times the
            value, at least 1e-6.

        Returns
        -------
        Estimate
            Of shape (r,).

        Raises
        ------
        StatementError
            If the result or a derivative is not a finite number, a shape does not fit, the
            covariance of the estimates is not known, or intervals are widened for liars.

        Examples
        --------
        >>> share = Estimate([0.4], [0.1], 90, covariance=[[0.01]])
        >>> share.function(lambda t: t[0] / (1 - t[0])).std_error.round(3)
        array([0.278])
        """
        require_no_liars(self, "function()")
        return contrasts.function(self, f, labels, gradient)

    def quantile(self, p: float, *, edges: Any = None) -> Estimate:
        r"""Estimate a quantile of ordered answers, with an interval (Woodruff 1952).

        With the score interval :math:`[L_j, H_j]` of each share :math:`F_j` of the answers up to
        the ``j``-th, linear between edges,

        .. math:: [\min \{t : H(t) \ge p\}, \; \max \{t : L(t) \le p\}] .

        The estimate is where the isotonic regression of the estimated shares reaches ``p``.

        Parameters
        ----------
        p : float
            ``0 < p < 1``: 0.5 for the median.
        edges : array_like, shape (n + 1,), optional
            Ends of the classes of a number, ascending; the first may be ``-inf`` and the last
            ``inf``. Default: answers without edges, of which one is the quantile.

        Returns
        -------
        Estimate
            One number. Without edges it and the ends of its interval are positions in
            `Estimate.scale`, the answers.

        Raises
        ------
        StatementError
            If these are not the frequencies of all answers, or the shares up to each answer (a
            design for the workload "prefix"), ``p`` or the edges do not fit, or intervals are
            widened for liars.

        Examples
        --------
        >>> from ldpopt import Mechanism, estimate_frequencies
        >>> coin = Mechanism([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
        >>> ages = estimate_frequencies(coin, {0: 300, 1: 400, 2: 300})
        >>> ages.quantile(0.5, edges=[0, 30, 60, 90]).values.round(6)
        array([45.])
        """
        require_no_liars(self, "quantile()")
        return quantiles.quantile(self, p, edges)

    def test(self, values: Any = 0.0) -> Significance:
        r"""Test whether one number has a value, or frequencies have given shares.

        The p-value of one number is one minus the confidence at which its interval touches the
        value,

        .. math:: p = 2 (1 - \Phi(z^*)), \quad
                  z^* = \sup \{z : \text{the value is not in the interval of quantile } z\},

        so that it is below 0.05 exactly if the value is outside of the 95 % interval; it is 0 for
        a value that no answers give. Frequencies are tested against shares :math:`p_0` by

        .. math:: T = N (A (\hat q - q_0))^T
                  (A (\operatorname{diag} q_0 - q_0 q_0^T) A^T)^{+} A (\hat q - q_0),
                  \quad q_0 = P^T p_0,

        which is chi-square with ``n - 1`` degrees; for a square channel it is Pearson's statistic
        of the reports. With weights it is divided by the mean design effect (Rao and Scott 1981).

        Parameters
        ----------
        values : float, or array_like, shape (n,), or mapping or Series label -> share
            The value of one number, or shares of all answers that sum to 1. Default: ``0.0``.

        Returns
        -------
        Significance
            ``statistic``, ``freedom``, ``p_value`` and ``hypothesis``.

        Raises
        ------
        StatementError
            If there are several numbers that are not the frequencies of all answers, the values do
            not fit, or intervals are widened for liars.

        Examples
        --------
        >>> Estimate([0.5], [0.25], n_reports=4).test(0.01).p_value.__round__(4)
        0.05
        """
        require_no_liars(self, "test()")
        return significance.significance_of(self, values)

    def mean(self, values: Any = None) -> Estimate:
        r"""Estimate the mean of numbers behind the answers, :math:`\sum_x v_x \hat p_x`.

        Parameters
        ----------
        values : array_like, shape (n,), or mapping or Series label -> number, optional
            The number of each answer; default: the labels, if these are numbers.

        Raises
        ------
        StatementError
            If these are not the frequencies of all answers, or the numbers do not fit.
        """
        return contrasts.mean(self, values)

    def deviation(self, values: Any = None) -> Estimate:
        r"""Estimate the standard deviation of numbers behind the answers.

        .. math:: \sqrt{\hat m_2 - \hat m_1^2 + \operatorname{Var} \hat m_1}

        with the estimated means of the numbers and of their squares; normal intervals.

        Parameters
        ----------
        values : array_like, shape (n,), or mapping or Series label -> number, optional
            The number of each answer; default: the labels, if these are numbers.

        Raises
        ------
        StatementError
            If these are not the frequencies of all answers, the numbers do not fit, the estimated
            variance is not positive, or intervals are widened for liars.
        """
        require_no_liars(self, "deviation()")
        return contrasts.deviation(self, values)


def cost_of_weights(estimates: Mapping[str, Estimate]) -> list[str]:
    """What unequal weights, or strata and clusters, cost, in a sentence with the largest design
    effect by name; none without them.
    """
    effects = [
        f"{name} {each.effect.max():.3g}".strip()
        for name, each in estimates.items()
        if each.effect is not None
    ]
    if not effects:
        return []
    shown = f"{', '.join(effects[:SHOWN])}{', ...' if len(effects) > SHOWN else ''}"
    is_sample = any(each.bounds.influence_values is not None for each in estimates.values())
    return [
        f"design effect of the {'sample' if is_sample else 'weights'}, at most: {shown} (intervals "
        "are as wide as with so many times fewer reports of equal weights"
        f"{', of people drawn one by one' if is_sample else ''})"
    ]
