"""The baseline without privacy: the censored bit itself, "No-DP" in the paper's tables."""

from __future__ import annotations

import math

from ldpopt.auditing.divergence import Audit
from ldpopt.mean.protocol import Privacy, read_domain
from ldpopt.mean.random_censoring import RandomCensoring
from ldpopt.mechanism.exact_draws import TOTAL


class NoPrivacy(RandomCensoring):
    r"""Report whether a number in [0, 1] exceeds a uniform threshold: one bit, and no privacy.

    .. math:: \Pr(1 \mid x) = x, \qquad V(x) = x (1 - x)

    Notes
    -----
    Its true epsilon is infinite and its delta is 1: report 1 proves ``x != 0``, report 0 proves ``x != 1``. It is a
    baseline of protocols that send a bit, and no lower bound for others: for fixed answers the error of bits is
    ``sum x (1 - x) / N**2``, which reports of real numbers undercut.

    References
    ----------
    Liu and Zhou 2023, equations (3)-(7) and Theorem 3.

    Examples
    --------
    >>> NoPrivacy().worst_case_variance, NoPrivacy().audit().delta_at(5.0)
    (0.25, 1.0)
    """

    def __init__(self, *, domain: tuple[float, float] | None = None) -> None:
        """Set the domain: there is no budget."""
        self._data_domain = read_domain(domain)
        self._set_masses(0, TOTAL)

    def __repr__(self) -> str:
        return "NoPrivacy()" if self._data_domain is None else f"NoPrivacy(domain={self._data_domain})"

    def audit(self) -> Audit:
        """Return epsilon ``inf`` and delta 1 at every budget: each report excludes an answer."""
        epsilon, witness, verdict = self._privacy()
        return Audit(epsilon, self._delta(0.0), witness, verdict, "any epsilon", curve=lambda _: 1.0)

    def _privacy(self) -> Privacy:
        return math.inf, (1.0, 0.0, 1), "violated"
