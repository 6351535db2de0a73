"""Product: protocols for means, one per file: bounded answers become reports, reports an unbiased
`Estimate` of the mean.

A new protocol is a subclass of `NumberProtocol` with ``published=True`` in its own file, imported
here.
"""

from ldpopt.mean.banded import Piecewise
from ldpopt.mean.designed import Designed, designed
from ldpopt.mean.duchi import Duchi
from ldpopt.mean.duchi_vector import DuchiVector
from ldpopt.mean.hybrid import Hybrid
from ldpopt.mean.laplace import Laplace
from ldpopt.mean.literature import (
    harmony,
    hybrid_vector,
    piecewise_vector,
    rcp_multiple,
    rcp_multiple_opt,
    rcp_opt,
)
from ldpopt.mean.protocol import NumberProtocol, VectorProtocol
from ldpopt.mean.random_censoring import NoPrivacy, RandomCensoring
from ldpopt.mean.sampled import Sampled, sampled
from ldpopt.mean.square_wave import SquareWave

__all__ = [
    "Designed",
    "Duchi",
    "DuchiVector",
    "Hybrid",
    "Laplace",
    "NoPrivacy",
    "Piecewise",
    "NumberProtocol",
    "RandomCensoring",
    "Sampled",
    "SquareWave",
    "VectorProtocol",
    "designed",
    "harmony",
    "hybrid_vector",
    "piecewise_vector",
    "rcp_multiple",
    "rcp_multiple_opt",
    "rcp_opt",
    "sampled",
]
