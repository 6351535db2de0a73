"""The record of estimates with standard errors and intervals, and estimates that are linear in the
reports.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import ScoreBand
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.identified import unseen_variances
from ldpopt.estimation.intervals import binomial_intervals, norm_sub
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts, Table, label
from ldpopt.foundation.numbers import Float, frozen, inner_share, real_array, truth

LARGEST_COVARIANCE = 1000  # largest number of estimates of which the covariance matrix is kept
NO_ERROR = "no standard error is known where all reports say the same: see the interval"
PROJECTED = ", norm_sub"  # what `Estimate.norm_sub` adds to the name of a method
SHOWN = 5  # names in a sentence
SAME = 1e-9  # relative difference up to which two values of reports are the same


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

    def __post_init__(self) -> None:
        """Check the shapes, fill in the interval and freeze the arrays."""
        half_width = normal_quantile(self.confidence)
        values = np.atleast_1d(real_array(self.values, "values of an estimate"))
        std_error = np.atleast_1d(real_array(self.std_error, "standard errors"))
        interval = self.interval
        if interval is None and std_error.shape == values.shape:
            interval = np.stack(
                [values - half_width * std_error, values + half_width * std_error], axis=-1
            )
        object.__setattr__(self, "values", values)
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
        rows = [
            f"Estimate({self.method}, {self.n_reports} reports, "
            f"{100 * self.confidence:g}% intervals)"
        ]
        for place in range(min(10, len(self.values))):
            name = "" if self.labels is None else f"{self.labels[place]!r}: "
            low, high = self.interval[place]
            error = self.shown_errors[place]
            spread = "" if error is None else f" +- {error:.2g}"
            rows.append(f"  {name}{self.values[place]:.6g}{spread}  [{low:.6g}, {high:.6g}]")
        if len(self.values) > 10:
            rows.append(f"  ... {len(self.values) - 10} more")
        return "\n".join(rows)

    @property
    def shown_errors(self) -> list[float | None]:
        """Standard errors, None where none is known: of reports that are all equal, or of one, only
        the interval shows what is known.
        """
        return [None if np.isnan(error) else error for error in self.std_error.tolist()]

    @property
    def nearest_shares(self) -> list[float] | None:
        """Values of `norm_sub` for tables; None of what are not unbiased frequencies of several
        answers.
        """
        is_unbiased = self.method != "maximum_likelihood" and not self.method.endswith(PROJECTED)
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
        columns = [names, self.values.tolist(), self.shown_errors, *self.interval.T.tolist()]
        if (nearest := self.nearest_shares) is not None:
            headings.append("norm sub")
            columns.append(nearest)
        method = self.method.replace("_", " ")
        title = f"{self.n_reports:,} reports, {method}, {100 * self.confidence:g} % intervals"
        table = Table(headings, list(zip(*columns, strict=True)), digits=5)
        notes = [NO_ERROR] if None in self.shown_errors else []
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
        return replace(
            self,
            values=norm_sub(self.values),
            method=f"{self.method}{PROJECTED}",
            interval=np.clip(self.interval, 0.0, 1.0),
        )

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a table: one row for each value, columns estimate, std_error, low, high."""
        index = None
        if self.labels is not None:
            index = optional.pandas.Index(list(self.labels), name="answer", tupleize_cols=False)
        low, high = self.interval.T
        columns = {"estimate": self.values, "std_error": self.std_error, "low": low, "high": high}
        return optional.pandas.DataFrame(columns, index=index)


def cost_of_weights(estimates: Mapping[str, Estimate]) -> list[str]:
    """What unequal weights cost, in a sentence with the largest design effect by name; none without
    weights.
    """
    effects = [
        f"{name} {each.effect.max():.3g}".strip()
        for name, each in estimates.items()
        if each.effect is not None
    ]
    if not effects:
        return []
    shown = f"{', '.join(effects[:SHOWN])}{', ...' if len(effects) > SHOWN else ''}"
    return [
        f"design effect of the weights, at most: {shown} (intervals are as wide as with so many "
        "times fewer reports of equal weights)"
    ]


def linear_estimate(
    counts: Counts,
    estimator: Float,
    wanted: Float,
    channel: Float,
    inverse: Float,
    z: float,
    confidence: float,
) -> Estimate:
    """Estimate ``wanted @ p``, shape (k,), by an ``estimator``, shape (k, m), with score intervals
    of quantile ``z``.

    If these hold all at once (``z`` is larger than for one), those of numbers that are a count of
    reports are binomial.

    ``channel`` and its left ``inverse``, shape (n, m), give the frequencies at which variances are
    taken.
    """
    share = counts.values / counts.total
    frequencies = norm_sub(inverse @ share)
    band = ScoreBand(estimator, wanted, channel, frequencies, counts)
    has_covariance = len(estimator) <= LARGEST_COVARIANCE or estimator is inverse
    variances = band.variances(has_covariance=has_covariance)
    unseen = unseen_variances(estimator, channel, frequencies, 1 / counts.scale)
    error = np.sqrt(np.maximum(variances + unseen, 0.0))
    interval = band.ends(z)
    if z > normal_quantile(confidence):
        low = estimator.min(axis=1)
        span = np.ptp(estimator, axis=1)
        part = (estimator - low[:, None]) / np.where(span > 0, span, 1.0)[:, None]
        is_count = (span > 0) & (np.minimum(np.abs(part), np.abs(1 - part)).max(axis=1) < SAME)
        scale = np.broadcast_to(band.scales.interval, len(is_count))[is_count]
        ends = binomial_intervals(part[is_count] @ share, scale, z)
        interval[is_count] = low[is_count, None] + span[is_count, None] * ends
    covariance = band.covariance if has_covariance else None
    return Estimate(
        band.values,
        error,
        counts.n_reports,
        confidence,
        covariance=covariance,
        interval=interval,
        effect=band.scales.design_effects(counts, len(error)),
    )


def normal_quantile(confidence: float) -> float:
    r"""Return ``z`` with :math:`\Pr(|Z| \le z) = \text{confidence}` for a standard normal ``Z``:
    1.96 for 0.95.
    """
    return -NormalDist().inv_cdf(
        (1 - inner_share(confidence, "confidence", do="pass a coverage such as 0.95")) / 2
    )


def interval_quantile(confidence: float, count: int, simultaneous: bool) -> float:
    """Return ``z`` of each of ``count`` intervals, which hold alone or all at once (Bonferroni)."""
    alone = normal_quantile(confidence)
    simultaneous = truth(simultaneous, "simultaneous")
    return (
        normal_quantile(1.0 - (1.0 - confidence) / count) if simultaneous and count > 1 else alone
    )
