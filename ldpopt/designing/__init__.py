"""Optimal designs: the private mechanism from which a workload is estimated with the smallest error.

In: a `Workload`, a budget, perhaps a guess of the distribution. Out: a `Design` with mechanism, unbiased estimator,
errors, and a certificate in rationals that no private mechanism does better.

A design is an optimal experimental design in the sense of approximate design theory: private columns are the design
points, their probabilities the weights, and the proof is the equivalence theorem (no column has a larger sensitivity
than the optimum allows). The average variance is L-optimality, the worst case is minimax. What searches here may fail;
`prove_design` is the only finish.
"""

from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.designing.comparison import DesignComparison, Peer, compare_designs
from ldpopt.designing.design import design
from ldpopt.designing.record import Design
from ldpopt.designing.saving import load_design, save_design
from ldpopt.designing.subsets import FrequencyDesign

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
