"""Optimal designs: the private mechanism from which a workload is estimated with the smallest error.

In: a `Workload`, a budget, perhaps a guess of the distribution. Out: a `Design` with mechanism, unbiased estimator,
errors, and a certificate in rationals that no private mechanism does better.
"""

from ldpopt.estimation.designs.certificate_ import DesignCertificate
from ldpopt.estimation.designs.comparison import DesignComparison, Peer, compare_designs
from ldpopt.estimation.designs.design_ import design
from ldpopt.estimation.designs.record import Design
from ldpopt.estimation.designs.saving import load_design, save_design
from ldpopt.estimation.designs.subsets import FrequencyDesign

__all__ = [
    "Design",
    "DesignCertificate",
    "DesignComparison",
    "FrequencyDesign",
    "Peer",
    "compare_designs",
    "design",
    "load_design",
    "save_design",
]
