"""Frequencies from the reports of a mechanism: unbiased inversion or maximum likelihood."""

from typing import Any, Literal

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import LikelihoodBand, NormalBand, Scales, ScoreBand, effects_of
from ldpopt.estimation.counts import Counts, source_of
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.identified import PEOPLE, require_shown
from ldpopt.estimation.influence import ReportValues
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.estimation.likelihood import (
    likelihood_covariance,
    most_likely,
    weighted_covariance,
)
from ldpopt.estimation.linear import estimator_of, left_inverse
from ldpopt.foundation.numbers import Float, require_choice, require_kind
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.workload import Workload


def estimate_frequencies(
    mechanism: Mechanism,
    reports: Any,
    *,
    method: Literal["inversion", "maximum_likelihood"] = "inversion",
    confidence: float = 0.95,
    intervals: Literal["score", "normal"] = "score",
    simultaneous: bool = False,
    check_fit: bool = True,
    weights: Any = None,
    numbers: Workload | None = None,
    liars: float = 0.0,
) -> Estimate:
    r"""Estimate the frequency of each true answer from the reports of a mechanism.

    With :math:`q` the frequencies of the ``N`` reports and :math:`P` the channel, inversion is
    linear and unbiased,

    .. math:: \hat\pi = A q, \quad A P^T = I, \quad
              \operatorname{Cov} = A (\operatorname{diag} q - q q^T) A^T / N,

    and maximum likelihood stays on the simplex,

    .. math:: \hat\pi = \arg\max_{\pi \ge 0, \, \sum \pi = 1} \sum_y q_y \log (P^T \pi)_y, \quad
              \operatorname{Cov} = (J^{-1} - \hat\pi \hat\pi^T) / N, \quad
              J = P \operatorname{diag}(P^T \hat\pi)^{-1} P^T .

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism of the reports; for all frequencies, its ``n`` rows must be linearly
        independent. Its integer masses are used.
    reports : Counts, or sequence of labels, shape (N,), or mapping or Series label -> count
        Counts, or anything that `Counts.of` takes. An ambiguous Series is refused: ``dict(series)``
        are counts, ``series.to_list()`` are reports.
    method : {"inversion", "maximum_likelihood"}
        Inversion is unbiased and may give negative frequencies; maximum likelihood never does, but
        is biased near 0; default: ``"inversion"``.
    confidence : float
        Coverage of each single interval, ``0 < confidence < 1``; default: ``0.95``.
    intervals : {"score", "normal"}
        Score intervals keep their coverage for labels never seen, few reports and large epsilon;
        normal ones are ``values -+ z std_error``. After maximum likelihood they are always normal.
        Default: ``"score"``.
    simultaneous : bool
        Whether all intervals hold at once with this confidence (Bonferroni), instead of each.
        Default: ``False``.
    check_fit : bool
        Whether reports that hardly come from the mechanism (p-value below 1e-3, see
        `goodness_of_fit`) cause a warning, and below 1e-6 an error; `Estimate.fit` has the p-value
        in any case. Default: ``True``.
    weights : array_like, shape (N,), optional
        Weight of each report, if these are a list; default: all 1. They may be related to the
        answers: see `ldpopt.estimation.band`.
    numbers : Workload, optional
        What is estimated, of the answers ``mechanism.inputs``, by inversion; default: the
        frequencies. Numbers that the reports show can be estimated even if they do not show all
        frequencies.
    liars : float
        Share of the weight of people who may have sent anything, ``0 <= liars < 1``: each interval
        after inversion is widened by what they can do, see `Influence`. Standard errors and
        p-values are those of true reports. Default: ``0.0``.

    Returns
    -------
    Estimate
        ``n`` frequencies that sum to 1, in the order of ``mechanism.inputs``, or the ``numbers``;
        `Estimate.norm_sub` makes frequencies non-negative. Intervals after inversion are not
        clipped (a negative end is honest); after maximum likelihood they are clipped to [0, 1], and
        the standard error of an estimate at or near 0 is approximate.

    Raises
    ------
    StatementError
        If there are no reports, one is impossible, or the reports do not show a number: different
        answers give the same distribution of reports, or only reports tell them apart that
        practically nobody gives. Theory: docs, "What reports show". Or if liars are counted on
        with maximum likelihood.
    LimitReachedError
        If the likelihood could not be brought within 1e-9 nats per report of its maximum.

    Notes
    -----
    With more outputs than inputs there are many left inverses ``A``; the one used is generalized
    least squares, ``(P D P^T)^-1 P D`` with ``D`` the inverse of the report frequencies under
    uniform answers. It does not depend on the reports, so the estimate stays unbiased, and its
    estimates sum to 1. The maximum of the likelihood is found by interior-point Newton steps, which
    end when a bound of the distance to it is below 1e-12 nats per report.

    With weights the covariances have the sums of their squares in place of :math:`q / N`. A score
    interval, and one after maximum likelihood, is never shorter than it would be for weights that
    are unrelated to the answers, so that it may be longer than the standard error beside it says.
    It covers what it states if some ten people with the largest weights are among the reports;
    `Estimate.effect` says what the weights cost.

    O(n^2 m) time for each method (times the number of steps, 10 to 40, for maximum likelihood), O(n
    m + n^2) memory.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> estimate_frequencies(coin, {"no": 600, "yes": 400}).values.round(12)
    array([0.7, 0.3])
    """
    require_choice(method, ("inversion", "maximum_likelihood"), "method")
    cls = type(mechanism)
    do = (
        f"pass {cls.__name__.lower()}.mechanism"
        if hasattr(cls, "mechanism")
        else "pass Mechanism(channel)"
    )
    require_kind(mechanism, Mechanism, "estimate_frequencies()", do)
    require_choice(intervals, ("score", "normal"), "intervals")
    liars = read_liars(liars, method)
    names = mechanism.inputs
    if numbers is not None:
        _require_numbers(numbers, mechanism, method)
        names = numbers.names
    channel = mechanism.counts / mechanism.denominator
    counts = Counts.of(mechanism, reports, weights=weights).require_some()
    require_possible(channel, counts)
    fit = checked_fit(source_of(mechanism, "estimate_frequencies"), counts, check_fit)
    wanted, estimator, inverse = _estimators(mechanism, numbers)
    require_shown(estimator, channel, wanted, names, 1 / counts.scale)
    if method == "inversion":
        matrices = (estimator, wanted, channel, inverse)
        band: Any = ScoreBand.of(
            counts, *matrices, answers=mechanism.inputs, is_exact=simultaneous and len(names) > 1
        )
        if intervals == "normal":
            drawn = {key: getattr(band, key) for key in ("effect", "freedom", "influence_values")}
            band = NormalBand(band.values, band.errors, band.covariance, **drawn)
    else:
        band = likelihood_band(channel, counts)
    is_all = numbers is None
    estimate = Estimate.of_band(
        band,
        counts,
        confidence,
        simultaneous=simultaneous,
        method=method if is_all else "design",
        labels=names,
        fit=fit,
        is_distribution=is_all,
    )
    return widened(estimate, liars, lambda: ReportValues(estimator, wanted, channel))


def require_possible(channel: Float, counts: Counts) -> None:
    """Refuse counts of a report that no answer causes."""
    impossible = np.flatnonzero((counts.values > 0) & (channel.max(axis=0) == 0))
    if len(impossible):
        report = counts.labels[impossible[0]]
        times = counts.values[impossible[0]]
        raise StatementError(
            f"report {report!r} has probability 0 under every input, yet was seen {times} times",
            code="impossible-report",
            do="pass the mechanism that made these reports",
        )


def likelihood_band(channel: Float, counts: Counts) -> LikelihoodBand:
    """The most likely frequencies, with normal intervals within [0, 1]."""
    values = most_likely(channel, counts.values / counts.total)
    covariance = likelihood_covariance(channel, values, counts.scale)
    scales = Scales.of(counts)
    spread = np.maximum(np.diag(covariance), 0.0)
    if counts.is_weighted:
        heavy, plain = (
            weighted_covariance(channel, values, each.values / each.total * counts.scale)
            for each in (counts.with_squared_weights, counts)
        )
        scales = Scales.of(counts, effects_of(np.diag(heavy), np.diag(plain), counts.scale))
        expected = np.sqrt(effects_of(spread, np.diag(plain), counts.scale))
        covariance = heavy * expected * expected[:, None]
    errors, width = (
        np.sqrt(spread * (each / counts.scale)) for each in (scales.error, scales.interval)
    )
    effect = scales.design_effects(counts, len(values))
    return LikelihoodBand(
        values, errors, covariance, width, (0.0, 1.0), effect, channel=channel, counts=counts
    )


def _estimators(mechanism: Mechanism, numbers: Workload | None) -> tuple[Float, Float, Float]:
    """What is estimated, shape (k, n), its estimator, (k, m), and that of frequencies, (n, m)."""
    if numbers is None:
        inverse = left_inverse(mechanism)  # refuses linearly dependent rows
        return np.eye(len(inverse)), inverse, inverse
    wanted = np.asarray(numbers.matrix, dtype=np.float64)
    return wanted, *estimator_of(mechanism, wanted, numbers.names)


def _require_numbers(numbers: Any, mechanism: Mechanism, method: str) -> None:
    """Refuse numbers that are not of the mechanism's answers, and another method than inversion."""
    require_kind(numbers, Workload, "estimate_frequencies()", "pass Workload(matrix, inputs)")
    if numbers.inputs != mechanism.inputs:
        raise StatementError(
            "the numbers are not about the answers of the mechanism",
            code="numbers",
            do="pass Workload(matrix, inputs=mechanism.inputs)",
        )
    if method != "inversion":
        raise StatementError(
            "numbers are estimated by inversion only",
            code="method-of-numbers",
            do='use method="inversion"',
        )


def why_not_estimable(mechanism: Mechanism) -> str:
    """Return why frequencies cannot be estimated from a mechanism, and what to do; empty if they
    can.
    """
    channel = mechanism.counts / mechanism.denominator
    names = mechanism.inputs
    try:
        require_shown(left_inverse(mechanism), channel, np.eye(len(names)), names, PEOPLE)
    except StatementError as error:
        why = f"frequencies cannot be estimated from this mechanism: {error.what.partition(':')[0]}"
        return f"{why}; `ldpopt design` finds the best one for them"
    return ""
