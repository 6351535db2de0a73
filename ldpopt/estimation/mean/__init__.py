"""Mean estimation under local privacy, one protocol per file, each with its true privacy in closed form.

In: bounded answers of users. Out: private reports, and an unbiased `Estimate` of the mean with its standard error.
"""

from ldpopt.estimation.mean.designed import Designed, designed
from ldpopt.estimation.mean.duchi import Duchi
from ldpopt.estimation.mean.duchi_vector import DuchiVector
from ldpopt.estimation.mean.hybrid import Hybrid
from ldpopt.estimation.mean.laplace import Laplace
from ldpopt.estimation.mean.literature import (
    harmony,
    hybrid_vector,
    piecewise_vector,
    rcp_multiple,
    rcp_multiple_opt,
    rcp_opt,
)
from ldpopt.estimation.mean.no_privacy import NoPrivacy
from ldpopt.estimation.mean.piecewise import Piecewise
from ldpopt.estimation.mean.protocol import Protocol
from ldpopt.estimation.mean.random_censoring import RandomCensoring
from ldpopt.estimation.mean.randomizer import VectorProtocol
from ldpopt.estimation.mean.sampled import Sampled, sampled
from ldpopt.estimation.mean.square_wave import SquareWave

__all__ = [
    "Designed",
    "Duchi",
    "DuchiVector",
    "Hybrid",
    "Laplace",
    "NoPrivacy",
    "Piecewise",
    "Protocol",
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
