"""Vector protocols under their names in the literature."""

import math
from fractions import Fraction

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import whole_number
from ldpopt.mean.banded import Piecewise
from ldpopt.mean.duchi import Duchi
from ldpopt.mean.hybrid import Hybrid
from ldpopt.mean.random_censoring import RandomCensoring
from ldpopt.mean.sampled import Sampled


def rcp_opt(epsilon: float | str) -> RandomCensoring:
    """Make RCP_Opt, the optimized interval: **not** epsilon-LDP at any epsilon; see
    `RandomCensoring`.

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
    """Make RCP_Multiple_Opt: like `rcp_opt` **not** epsilon-LDP.

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
    """Make the piecewise mechanism for vectors, with ``max(1, min(m, floor(epsilon / 2.5)))``
    attributes a person.

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
    return _split(Piecewise, epsilon, attributes)


def hybrid_vector(epsilon: float | str, attributes: int) -> Sampled:
    """Make the hybrid mechanism for vectors, with as many attributes as `piecewise_vector`.

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
    return _split(Hybrid, epsilon, attributes)


def _split(kind: type[Piecewise] | type[Hybrid], epsilon: float | str, attributes: int) -> Sampled:
    """Return the protocol that reports ``k`` sampled attributes, each with ``epsilon / k`` (Wang et
    al. 2019).
    """
    budget = Budget(epsilon)
    k = max(1, min(whole_number(attributes, "attributes", 1), int(budget / 2.5)))
    return Sampled(kind(budget.share(Fraction(1, k))), attributes, "horvitz_thompson", k)
