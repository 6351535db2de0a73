"""Vector protocols under their names in the literature."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import whole_number
from ldpopt.mean.banded import Piecewise
from ldpopt.mean.duchi import Duchi
from ldpopt.mean.hybrid import Hybrid
from ldpopt.mean.random_censoring import RandomCensoring
from ldpopt.mean.sampled import Sampled

Maker = TypeVar("Maker", bound=Callable[..., Any])
PARAMETERS = """

    Parameters
    ----------
    epsilon : float or str
        Budget of the whole report in nats, positive."""
ATTRIBUTES = """
    attributes : int
        Number of attributes ``m``, at least 1."""
RETURNED = """

    Returns
    -------
    {kind}
        The protocol for {what}.

    Raises
    ------
    StatementError
        If a parameter is out of range.

    References
    ----------
    {source}

    Examples
    --------
    >>> {call}
    {found}
    """


def _published(source: str, call: str, found: str) -> Callable[[Maker], Maker]:
    """Complete the docstring of a function by its parameters, source and example."""

    def complete(maker: Maker) -> Maker:
        is_vector = "attributes" in maker.__annotations__
        kind = maker.__annotations__["return"].__name__
        problem = "vectors" if is_vector else "numbers in [0, 1]"
        rest = RETURNED.format(kind=kind, what=problem, source=source, call=call, found=found)
        maker.__doc__ = f"{maker.__doc__}{PARAMETERS}{ATTRIBUTES if is_vector else ''}{rest}"
        return maker

    return complete


@_published("Liu and Zhou 2023, Corollary 1.", "rcp_opt(1.0).audit().epsilon", "inf")
def rcp_opt(epsilon: float | str) -> RandomCensoring:
    """Make RCP_Opt, the optimized interval: **not** epsilon-LDP at any epsilon; see
    `RandomCensoring`.
    """
    return RandomCensoring(epsilon, delta1=1.0, delta2=math.exp(-Budget(epsilon)))


@_published(
    "Liu and Zhou 2023, Algorithms 4-7.", "rcp_multiple(1.0, 36).audit().verdict", "'certified'"
)
def rcp_multiple(epsilon: float | str, attributes: int) -> Sampled:
    """Make RCP_Multiple: one sampled attribute, a censored bit, Horvitz-Thompson on the bits."""
    return Sampled(RandomCensoring(epsilon), attributes, "horvitz_thompson")


@_published(
    "Liu and Zhou 2023, Algorithm 8.", "rcp_multiple_opt(1.0, 36).audit().verdict", "'violated'"
)
def rcp_multiple_opt(epsilon: float | str, attributes: int) -> Sampled:
    """Make RCP_Multiple_Opt: like `rcp_opt` **not** epsilon-LDP."""
    return Sampled(rcp_opt(epsilon), attributes, "horvitz_thompson")


@_published("Nguyen et al. 2016.", "harmony(1.0, 36).audit().verdict", "'certified'")
def harmony(epsilon: float | str, attributes: int) -> Sampled:
    """Make Harmony: one sampled attribute, Duchi's two points, Horvitz-Thompson."""
    return Sampled(Duchi(epsilon), attributes, "horvitz_thompson")


@_published("Wang et al. 2019, algorithm 4.", "piecewise_vector(10.0, 36).chosen", "4")
def piecewise_vector(epsilon: float | str, attributes: int) -> Sampled:
    """Make the piecewise mechanism for vectors, with ``max(1, min(m, floor(epsilon / 2.5)))``
    attributes a person.
    """
    return _split(Piecewise, epsilon, attributes)


@_published("Wang et al. 2019, algorithm 4.", "hybrid_vector(10.0, 3).chosen", "3")
def hybrid_vector(epsilon: float | str, attributes: int) -> Sampled:
    """Make the hybrid mechanism for vectors, with as many attributes as `piecewise_vector`."""
    return _split(Hybrid, epsilon, attributes)


def _split(kind: type[Piecewise] | type[Hybrid], epsilon: float | str, attributes: int) -> Sampled:
    """Return the protocol that reports ``k`` sampled attributes, each with ``epsilon / k`` (Wang et
    al. 2019).
    """
    budget = Budget(epsilon)
    k = max(1, min(whole_number(attributes, "attributes", 1), int(budget / 2.5)))
    return Sampled(
        kind(budget if k == 1 else Budget(budget.lower_nats / k)), attributes, "horvitz_thompson", k
    )
