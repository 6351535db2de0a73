r"""Test whether reports can come from a mechanism: raw answers, or reports of another mechanism,
are recognized.

For a mechanism the test compares the shares ``q`` of the reports with the nearest distribution that
some answers give, ``q* = P^T p*`` with the most likely ``p*``: the statistic is ``G = N KL(q ||
q*)``. Its p-value is the largest probability, over all answers, of a value at least as large. Of
two outputs, and of few reports, it is computed exactly (`ldpopt.estimation.exact_fit`). Otherwise,
for respondents drawn at random and ``m`` outputs,

.. math:: \Pr(N \, \mathrm{KL}(q \,\|\,
          P^T p) \ge G) \le e^{-G} \Big( \frac{e G}{m - 1} \Big)^{m-1}, \qquad G > m - 1

(Agrawal 2020, Theorem 1.2), and the divergence from the true distribution is at least that from the
nearest one: the bound is a p-value for every number of reports, not an approximation. The second
p-value is that of the output whose share is furthest outside of what any answer gives: exactly that
of two outcomes, times ``m``. The p-value is twice the smaller one. For a protocol the share of the
reports that support a label is that of two outcomes, with probabilities from ``q`` to ``p``; the
p-value is that of the furthest label, times the number of labels. For designs of tables of many
questions it is a bound by :math:`e^{-N \mathrm{kl}}` (Chernoff).
"""

import warnings
from typing import Any

from ldpopt.errors import LimitReachedError, StatementError
from ldpopt.estimation.counts import Counts, ReportSource, source_of
from ldpopt.foundation.numbers import truth
from ldpopt.mechanism.mechanism import Mechanism

DOUBTFUL = 1e-3  # p-value below which estimates come with a warning
IMPOSSIBLE = 1e-6  # p-value below which they are refused


def goodness_of_fit(source: Mechanism | ReportSource, reports: Any) -> float:
    r"""Return a p-value for the hypothesis that the reports come from this mechanism, whatever the
    answers are.

    Parameters
    ----------
    source : Mechanism, design or frequency protocol
        The supposed source of the reports.
    reports : Counts, or anything that `Counts.of` takes
        The reports, without weights.

    Returns
    -------
    float
        Valid for every number of reports, whatever the answers are: reports of the source get a
        value of at most ``a`` with probability at most ``a``. It is exact, up to 1e-8 of itself and
        never too small, for a mechanism of two outputs, and for one of ``n`` answers and ``m``
        outputs if :math:`m \binom{N+n-1}{N} \binom{N+m-1}{N} \le` 2e5 (three by three: 21 reports;
        four by four: 9); otherwise it is an upper bound. A large value proves nothing: some raw
        answers look like reports.

    Raises
    ------
    StatementError
        If there are no reports, they are weighted, or one cannot come from the source.

    Notes
    -----
    It sees naive forgers only, who all send one report. Forgers who send each report that has their
    target equally often have, for randomized response and sets, the law of some answers while every
    other answer is not rare: no test of any size sees them, although each counts as many people as
    `Influence` says. So no test promises that nobody lied, and nothing here removes liars; state
    how many there may be: ``estimate(..., liars=0.01)``. Theory: docs, "Influence".

    O(sqrt(N)) time for two outputs; up to a second for the exact value of more outputs, once for a
    mechanism and a number of reports, then microseconds; otherwise the time of the most likely
    frequencies, see `estimate_frequencies`.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> round(goodness_of_fit(coin, {"no": 20}), 8), round(0.75**20 + 0.25**20, 8)
    (0.00317121, 0.00317121)
    >>> goodness_of_fit(coin, {"no": 700, "yes": 300})
    1.0
    >>> goodness_of_fit(coin, {"no": 900, "yes": 100}) < 1e-20
    True
    """
    counts = Counts.of(source, reports).require_some()
    if counts.is_weighted:
        raise StatementError(
            "weighted counts have no p-value",
            code="weights",
            do="count the reports without weights",
        )
    return source_of(source, "goodness_of_fit").p_value(counts)


def checked_fit(source: ReportSource, counts: Counts, check: bool) -> float | None:
    """Return the p-value of unweighted reports, None if unknown; warn or refuse if they hardly come
    from the source.
    """
    check = truth(check, "check_fit")
    if counts.is_weighted:
        return None
    try:
        p_value = source.p_value(counts)
    except LimitReachedError:
        return None
    if check and p_value < DOUBTFUL:
        problem = (
            "the reports do not look like reports of this mechanism (p-value "
            f"{max(p_value, 1e-300):.0e})"
        )
        do = (
            "pass reports and the mechanism that drew them, no raw answers; check_fit=False "
            "estimates all the same"
        )
        if p_value < IMPOSSIBLE:
            raise StatementError(problem, code="fit", do=do)
        warnings.warn(f"{problem}; {do}", stacklevel=3)
    return p_value
