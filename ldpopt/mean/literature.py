"""Vector protocols under their names in the literature."""

from __future__ import annotations

import math

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import whole_number
from ldpopt.mean.duchi import Duchi
from ldpopt.mean.hybrid import Hybrid
from ldpopt.mean.piecewise import Piecewise
from ldpopt.mean.protocol import lower_nats
from ldpopt.mean.random_censoring import RandomCensoring
from ldpopt.mean.sampled import Sampled


def rcp_opt(epsilon: float | str) -> RandomCensoring:
    """Make RCP_Opt, the optimized interval: **not** epsilon-LDP at any epsilon; see `RandomCensoring`.

    Parameters
    ----------
    epsilon : float or str
        Budget of the whole report in nats, positive.

    Returns
    -------
    RandomCensoring
        The protocol for numbers in [0, 1].

    Raises
    ------
    StatementError
        If a parameter is out of range.

    References
    ----------
    Liu and Zhou 2023, Corollary 1.

    Examples
    --------
    >>> rcp_opt(1.0).audit().epsilon
    inf
    """
    return RandomCensoring(epsilon, delta1=1.0, delta2=math.exp(-Budget(epsilon)))


def rcp_multiple(epsilon: float | str, attributes: int) -> Sampled:
    """Make RCP_Multiple: one sampled attribute, a censored bit, Horvitz-Thompson on the bits.

    Parameters
    ----------
    epsilon : float or str
        Budget of the whole report in nats, positive.
    attributes : int
        Number of attributes ``m``, at least 1.

    Returns
    -------
    Sampled
        The protocol for vectors.

    Raises
    ------
    StatementError
        If a parameter is out of range.

    References
    ----------
    Liu and Zhou 2023, Algorithms 4-7.

    Examples
    --------
    >>> rcp_multiple(1.0, 36).audit().verdict
    'certified'
    """
    return Sampled(RandomCensoring(epsilon), attributes, "horvitz_thompson")


def rcp_multiple_opt(epsilon: float | str, attributes: int) -> Sampled:
    """Make RCP_Multiple_Opt: **not** epsilon-LDP, as `rcp_opt`.

    Parameters
    ----------
    epsilon : float or str
        Budget of the whole report in nats, positive.
    attributes : int
        Number of attributes ``m``, at least 1.

    Returns
    -------
    Sampled
        The protocol for vectors.

    Raises
    ------
    StatementError
        If a parameter is out of range.

    References
    ----------
    Liu and Zhou 2023, Algorithm 8.

    Examples
    --------
    >>> rcp_multiple_opt(1.0, 36).audit().verdict
    'violated'
    """
    return Sampled(rcp_opt(epsilon), attributes, "horvitz_thompson")


def harmony(epsilon: float | str, attributes: int) -> Sampled:
    """Make Harmony: one sampled attribute, Duchi's two points, Horvitz-Thompson.

    Parameters
    ----------
    epsilon : float or str
        Budget of the whole report in nats, positive.
    attributes : int
        Number of attributes ``m``, at least 1.

    Returns
    -------
    Sampled
        The protocol for vectors.

    Raises
    ------
    StatementError
        If a parameter is out of range.

    References
    ----------
    Nguyen et al. 2016.

    Examples
    --------
    >>> harmony(1.0, 36).audit().verdict
    'certified'
    """
    return Sampled(Duchi(epsilon), attributes, "horvitz_thompson")


def piecewise_vector(epsilon: float | str, attributes: int) -> Sampled:
    """Make the piecewise mechanism for vectors, see `split`.

    Parameters
    ----------
    epsilon : float or str
        Budget of the whole report in nats, positive.
    attributes : int
        Number of attributes ``m``, at least 1.

    Returns
    -------
    Sampled
        The protocol for vectors.

    Raises
    ------
    StatementError
        If a parameter is out of range.

    References
    ----------
    Wang et al. 2019, algorithm 4.

    Examples
    --------
    >>> piecewise_vector(10.0, 36).chosen
    4
    """
    return split(Piecewise, epsilon, attributes)


def hybrid_vector(epsilon: float | str, attributes: int) -> Sampled:
    """Make the hybrid mechanism for vectors, see `split`.

    Parameters
    ----------
    epsilon : float or str
        Budget of the whole report in nats, positive.
    attributes : int
        Number of attributes ``m``, at least 1.

    Returns
    -------
    Sampled
        The protocol for vectors.

    Raises
    ------
    StatementError
        If a parameter is out of range.

    References
    ----------
    Wang et al. 2019, algorithm 4.

    Examples
    --------
    >>> hybrid_vector(10.0, 3).chosen
    3
    """
    return split(Hybrid, epsilon, attributes)


def split(kind: type[Piecewise] | type[Hybrid], epsilon: float | str, attributes: int) -> Sampled:
    r"""Report ``k`` sampled attributes with ``epsilon / k`` each, estimated by Horvitz-Thompson.

    .. math:: k = \max(1, \min(m, \lfloor \epsilon / 2.5 \rfloor))

    Parameters
    ----------
    kind : type
        Protocol of one attribute.
    epsilon : float or str
        Budget of the whole report in nats, positive.
    attributes : int
        Number of attributes ``m``, at least 1.

    Returns
    -------
    Sampled
        The vector protocol; its audit covers the whole report.

    References
    ----------
    Wang et al. 2019, section IV.
    """
    budget = Budget(epsilon)
    k = max(1, min(whole_number(attributes, "attributes", 1), int(budget / 2.5)))
    protocol = kind(budget if k == 1 else Budget(lower_nats(budget) / k))
    return Sampled(protocol, attributes, "horvitz_thompson", k)
