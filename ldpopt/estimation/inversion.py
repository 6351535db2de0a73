"""Frequencies from reports: unbiased inversion or maximum likelihood, with standard errors and intervals."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.intervals import norm_sub, score_intervals
from ldpopt.estimation.likelihood import most_likely
from ldpopt.estimation.linear import left_inverse, weighted_left_inverse
from ldpopt.foundation.display import Facts, HasFacts, Table, label
from ldpopt.foundation.numbers import Float, frozen, inner_share, short_repr
from ldpopt.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    import pandas as pd

LARGEST_COVARIANCE = 1000
"""Most numbers of a workload whose covariance matrix is kept in an estimate."""


@dataclass(frozen=True, eq=False)
class Estimate(HasFacts):
    r"""Estimates with standard errors and intervals.

    Parameters
    ----------
    values : array_like, shape (n,)
        The estimates; a scalar becomes shape (1,).
    std_error : array_like, shape (n,)
        Standard errors, in the unit of the values.
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

    def __post_init__(self) -> None:
        """Check the shapes, fill in the interval and freeze the arrays."""
        half_width = normal_quantile(self.confidence)
        values = np.atleast_1d(np.array(self.values, dtype=np.float64))
        std_error = np.atleast_1d(np.array(self.std_error, dtype=np.float64))
        interval = self.interval
        if interval is None and std_error.shape == values.shape:
            interval = np.stack([values - half_width * std_error, values + half_width * std_error], axis=-1)
        object.__setattr__(self, "values", values)
        n = len(values)
        given: tuple[tuple[str, Any, tuple[int, ...]], ...] = (
            ("values", values, (n,)),
            ("std_error", std_error, (n,)),
            ("covariance", self.covariance, (n, n)),
            ("interval", interval, (n, 2)),
        )
        for name, array, shape in given:
            if array is None:
                continue
            checked = np.array(array, dtype=np.float64)
            if checked.shape != shape:
                raise StatementError(f"{name} of an estimate has shape {checked.shape}; it needs {shape}")
            object.__setattr__(self, name, frozen(checked))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
            if len(self.labels) != n:
                raise StatementError(f"{len(self.labels)} labels for {n} estimates")

    def __repr__(self) -> str:
        """Each value with its standard error and interval, at most ten of them."""
        rows = [f"Estimate({self.method}, {self.n_reports} reports, {100 * self.confidence:g}% intervals)"]
        for place in range(min(10, len(self.values))):
            name = "" if self.labels is None else f"{self.labels[place]!r}: "
            low, high = self.interval[place]
            rows.append(f"  {name}{self.values[place]:.6g} +- {self.std_error[place]:.2g}  [{low:.6g}, {high:.6g}]")
        if len(self.values) > 10:
            rows.append(f"  ... {len(self.values) - 10} more")
        return "\n".join(rows)

    def facts(self) -> Facts:
        """Each estimate with its standard error and interval; of frequencies also the nearest distribution."""
        names = range(len(self.values)) if self.labels is None else map(label, self.labels)
        headings = ["number" if self.method == "design" else "answer", "estimate", "std error", "low", "high"]
        columns = [names, self.values.tolist(), self.std_error.tolist(), *self.interval.T.tolist()]
        if self.method == "inversion" and len(self.values) > 1:
            headings.append("norm sub")
            columns.append(self.norm_sub().values.tolist())
        method = self.method.replace("_", " ")
        title = f"{self.n_reports:,} reports, {method}, {100 * self.confidence:g} % intervals"
        return Facts(title, [Table(headings, list(zip(*columns, strict=True)), digits=5)])

    def norm_sub(self) -> Estimate:
        r"""Frequencies made non-negative with sum 1 (Norm-Sub; Wang et al. 2020).

        .. math:: \max(\hat f_x - \delta, 0), \quad \delta \text{ such that they sum to 1}

        The nearest point of the simplex: never further from the true frequencies, but biased. Standard errors are those
        of the unbiased estimates, intervals theirs clipped to [0, 1].

        Raises
        ------
        StatementError
            If the labels are not those of frequencies: the unbiased estimates of a mean or of a workload.
        """
        if len(self.values) < 2 or self.labels is None:
            raise StatementError("Norm-Sub is for frequencies of at least two labels")
        clipped = np.clip(self.interval, 0.0, 1.0)
        method = f"{self.method}, norm_sub"
        rest = (self.n_reports, self.confidence, method, self.labels, self.covariance, clipped)
        return Estimate(norm_sub(self.values), self.std_error, *rest)

    def to_frame(self) -> pd.DataFrame:
        """Return a table: one row for each value, columns estimate, std_error, low, high."""
        import pandas as pd

        index = None if self.labels is None else pd.Index(list(self.labels), name="answer", tupleize_cols=False)
        low, high = self.interval.T
        columns = {"estimate": self.values, "std_error": self.std_error, "low": low, "high": high}
        return pd.DataFrame(columns, index=index)


def estimate_frequencies(
    mechanism: Mechanism,
    reports: Any,
    *,
    method: Literal["inversion", "maximum_likelihood"] = "inversion",
    confidence: float = 0.95,
    intervals: Literal["score", "normal"] = "score",
    simultaneous: bool = False,
) -> Estimate:
    r"""Estimate the frequency of each true answer from the reports of a mechanism.

    With :math:`q` the frequencies of the ``N`` reports and :math:`P` the channel, inversion is linear and unbiased,

    .. math:: \hat\pi = A q, \quad A P^T = I, \quad
              \operatorname{Cov} = A (\operatorname{diag} q - q q^T) A^T / N,

    and maximum likelihood stays on the simplex,

    .. math:: \hat\pi = \arg\max_{\pi \ge 0, \, \sum \pi = 1} \sum_y q_y \log (P^T \pi)_y, \quad
              \operatorname{Cov} = (J^{-1} - \hat\pi \hat\pi^T) / N, \quad
              J = P \operatorname{diag}(P^T \hat\pi)^{-1} P^T .

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism of the reports; its ``n`` rows must be linearly independent. Its integer masses are used.
    reports : Counts, or sequence of labels, shape (N,), or mapping or Series label -> count
        Counts, or what `Counts.of` takes: output labels, or how often each was seen (``series.value_counts()``). An
        ambiguous Series is refused: ``dict(series)`` are counts, ``series.to_list()`` are reports.
    method : {"inversion", "maximum_likelihood"}
        Inversion is unbiased and may give negative frequencies; maximum likelihood never does, but is biased near 0;
        default: ``"inversion"``.
    confidence : float
        Coverage of each single interval, ``0 < confidence < 1``; default: ``0.95``.
    intervals : {"score", "normal"}
        Score intervals keep their coverage for labels never seen, few reports and large epsilon; normal ones are
        ``values -+ z std_error``. After maximum likelihood they are always normal. Default: ``"score"``.
    simultaneous : bool
        Whether all intervals hold at once with this confidence (Bonferroni), instead of each. Default: ``False``.

    Returns
    -------
    Estimate
        ``n`` frequencies that sum to 1, in the order of ``mechanism.inputs``; `Estimate.norm_sub` makes them
        non-negative. Intervals after inversion are not clipped (a negative end is honest); after maximum likelihood
        they are clipped to [0, 1], and where an estimate is at or near 0 its standard error is approximate.

    Raises
    ------
    StatementError
        If there are no reports, a report is not an output or has probability 0 under every input, a count is not a
        whole number ``>= 0``, the confidence is outside (0, 1), or the rows of the channel are linearly dependent.
    LimitReachedError
        If the likelihood could not be brought within 1e-9 nats per report of its maximum.

    Notes
    -----
    With more outputs than inputs there are many left inverses ``A``; the one used is generalized least squares,
    ``(P D P^T)^-1 P D`` with ``D`` the inverse of the report frequencies under uniform answers. It does not depend
    on the reports, so the estimate stays unbiased, and its estimates sum to 1 (those of the plain pseudo-inverse need
    not). With as many outputs as inputs it is the inverse.

    The maximum is found by interior-point Newton steps (the plain EM iteration takes thousands). From any ``pi`` on
    the simplex, the largest log-likelihood per report is at most
    :math:`\max_x \sum_y q_y P_{xy} / (P^T \pi)_y - 1` away: steps end when that is below 1e-12, and a result above
    1e-9 is refused.

    O(n^2 m) time for each method (times the number of steps, 10 to 40, for maximum likelihood), O(n m + n^2) memory.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> estimate_frequencies(coin, {"no": 600, "yes": 400}).values.round(12)
    array([0.7, 0.3])
    """
    if not isinstance(method, str) or method not in ("inversion", "maximum_likelihood"):
        raise StatementError(
            f"method {short_repr(method)} is unknown",
            where="estimate_frequencies",
            do="use 'inversion' or 'maximum_likelihood'",
        )
    if not isinstance(mechanism, Mechanism):
        raise StatementError(
            f"a {type(mechanism).__name__} is not a mechanism",
            where="estimate_frequencies",
            do=f"pass {_where_it_is(mechanism)}",
        )
    if not isinstance(intervals, str) or intervals not in ("score", "normal"):
        raise StatementError(f"intervals {short_repr(intervals)} are unknown", do="use 'score' or 'normal'")
    z = interval_quantile(confidence, len(mechanism.inputs), simultaneous)
    channel = mechanism.counts / mechanism.denominator
    counts = Counts.of(mechanism, reports).require_some()
    _require_possible(counts.values, channel, mechanism)
    inverse = left_inverse(mechanism)  # refuses linearly dependent rows
    names, share = mechanism.inputs, float(confidence)
    if method == "inversion" and intervals == "score":
        wanted = np.eye(len(names))
        return linear_estimate(counts, inverse, wanted, channel, inverse, z, share, method, names)
    if method == "inversion":
        values = inverse @ (counts.values / counts.total)
        covariance = covariance_of_mean(inverse, values, counts)
    else:
        values, covariance = _maximize_likelihood(channel, counts)
    std_error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    found = np.stack([values - z * std_error, values + z * std_error], axis=-1)
    if method == "maximum_likelihood":
        found = np.clip(found, 0.0, 1.0)
    return Estimate(values, std_error, counts.n_reports, share, method, names, covariance, found)


def linear_estimate(
    counts: Counts,
    estimator: Float,
    wanted: Float,
    channel: Float,
    inverse: Float,
    z: float,
    confidence: float,
    method: str,
    names: tuple[Hashable, ...],
) -> Estimate:
    """Estimate ``wanted @ p``, shape (k,), from ``estimator``, shape (k, m), with score intervals of quantile ``z``.

    ``channel`` and its left ``inverse``, shape (n, m), give the frequencies at which variances are taken. Of many
    numbers of a workload the covariance is not kept.
    """
    share = counts.values / counts.total
    values = estimator @ share
    if len(values) <= LARGEST_COVARIANCE or estimator is inverse:
        covariance = covariance_of_mean(estimator, values, counts)
        spread = np.diag(covariance)
    else:
        covariance = None
        spread = (estimator - values[:, None]) ** 2 @ (counts.squares / counts.total**2)
    error = np.sqrt(np.maximum(spread, 0.0))
    interval = score_intervals(values, wanted, estimator, channel, norm_sub(inverse @ share), counts.scale, z)
    return Estimate(values, error, counts.n_reports, confidence, method, names, covariance, interval)


def _where_it_is(given: Any) -> str:
    """How to get the mechanism of something that has one."""
    name = type(given).__name__.lower()
    return f"its mechanism: {name}.mechanism" if hasattr(type(given), "mechanism") else "Mechanism(channel)"


def why_not_estimable(mechanism: Mechanism) -> str:
    """Say why frequencies cannot be estimated from a mechanism, and what works; empty where they can.

    Examples
    --------
    >>> why_not_estimable(Mechanism([[0.5, 0.5], [0.5, 0.5]])).partition(":")[0]
    'frequencies cannot be estimated from this mechanism'
    """
    try:
        left_inverse(mechanism)
    except StatementError as error:
        what = error.what.partition(":")[0]
        return (
            f"frequencies cannot be estimated from this mechanism: {what}; `ldpopt design` finds the best one for them"
        )
    return ""


def _require_possible(seen: NDArray[Any], channel: Float, mechanism: Mechanism) -> None:
    """Refuse reports that no input can cause."""
    impossible = np.flatnonzero((seen > 0) & (channel.max(axis=0) == 0))
    if len(impossible):
        raise StatementError(
            f"report {mechanism.outputs[impossible[0]]!r} has probability 0 under every input, yet was seen "
            f"{seen[impossible[0]]} times",
            do="pass the mechanism that made these reports",
        )


def covariance_of_mean(numbers: Float, mean: Float, counts: Counts) -> Float:
    r"""Covariance of a weighted mean of the numbers that reports count for, shape ``(k, m)``.

    .. math:: \sum_y s_y (V_y - \hat t) (V_y - \hat t)^T / W^2, \quad s_y = \sum w^2, \quad W = \sum w
    """
    centered = numbers - mean[:, None]
    covariance = (centered * (counts.squares / counts.total**2)) @ centered.T
    return np.asarray((covariance + covariance.T) / 2)


def _maximize_likelihood(channel: Float, counts: Counts) -> tuple[Float, Float]:
    """Most likely frequencies, and their covariance."""
    values = most_likely(channel, counts.values / counts.total)
    # An output of estimated probability 0 has infinite information: a small floor keeps it finite.
    expected = np.where(channel.max(axis=0) > 0, np.maximum(values @ channel, 1e-12), 0.0)
    efficient = weighted_left_inverse(channel, expected, tolerance=0.0)
    spread = (efficient * expected) @ efficient.T - np.outer(values, values)
    return values, (spread + spread.T) / 2 * counts.scale


def normal_quantile(confidence: float) -> float:
    r"""Return ``z`` with :math:`\Pr(|Z| \le z) = \text{confidence}` for a standard normal ``Z``.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    share = inner_share(confidence, "confidence", do="state a coverage such as 0.95")
    return -NormalDist().inv_cdf((1 - share) / 2)


def interval_quantile(confidence: float, count: int, simultaneous: bool) -> float:
    """Return ``z`` of each of so many intervals, alone or all at once (Bonferroni)."""
    alone = normal_quantile(confidence)
    return normal_quantile(1.0 - (1.0 - confidence) / count) if simultaneous and count > 1 else alone
