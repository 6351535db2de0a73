"""Memoised reports with a fresh layer: each answer has one permanent report, and every publication
is drawn from it; the curve of `Permanent`.
"""

from math import comb
from typing import Any

from ldpopt.accounting.curve import PrivacyCurve, compared, compose, read_channel
from ldpopt.accounting.permanent_reports import MAX_TERMS, Permanent
from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import is_labelled
from ldpopt.foundation.numbers import whole_number
from ldpopt.mechanism.mechanism import Mechanism


def permanent(first: Any, fresh: Any, times: int, *, pairs: Any = None) -> PrivacyCurve:
    r"""What repeated publications reveal if each draws afresh from one permanent report.

    .. math:: \Pr[y_1 \dots y_T \mid x] = \sum_z P_{xz} \prod_t R_{z y_t}

    Parameters
    ----------
    first : Mechanism, design or array of shape (n, k)
        Draws the permanent report, once, or with a key.
    fresh : Mechanism, design or array of shape (k, m)
        Draws every publication from the permanent report; an array is read in the order of the
        first one's reports.
    times : int
        Number of publications, at least 1.
    pairs : sequence of (answer, answer), or a notion, optional
        The ordered pairs that are compared; default: all.

    Returns
    -------
    PrivacyCurve
        For an answer that stays the same. Its epsilon never exceeds that of ``first``, nor
        ``times`` that of ``first.then(fresh)``. If the answer changes, the permanent report may
        change: then the publications are ``times`` reports of ``fresh``.

    Raises
    ------
    StatementError, MechanismError
        If the layers do not fit, or there are too many reports to compare.

    Notes
    -----
    Exact. All numbers of reports are listed: :math:`\binom{T + m - 1}{m - 1}` of them for ``m``
    reports.

    Examples
    --------
    >>> curve = permanent([[0.75, 0.25], [0.25, 0.75]], [[0.75, 0.25], [0.25, 0.75]], 10)
    >>> round(curve.epsilon(0.0), 4)
    1.0986
    """
    mechanism = read_channel(first)
    layer = read_channel(fresh)
    times = whole_number(times, "times", 1)
    n, k = mechanism.counts.shape
    inputs, m = layer.counts.shape
    if inputs != k:
        problem = f"the fresh layer has {inputs} inputs, and the permanent report is one of {k}"
        do = "give a fresh layer for the outputs of the first mechanism"
        raise StatementError(problem, code="fresh-layer", do=do)
    channel = compared(mechanism, pairs)
    terms = comb(times + m - 1, m - 1) * (n * k + len(channel.first))
    if terms > MAX_TERMS:
        problem = f"{times} publications of {m} reports are {terms:,} probabilities to compare"
        do = "take fewer publications, or a fresh layer with fewer reports"
        raise StatementError(problem, code="publications", do=do)
    # without labels the rows of the layer are in the order of the permanent reports
    has_labels = is_labelled(fresh) or isinstance(getattr(fresh, "mechanism", fresh), Mechanism)
    masses = layer.counts_after(mechanism) if has_labels else layer.counts
    return compose([Permanent(channel, masses, times)])
