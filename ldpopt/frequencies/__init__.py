"""Standard frequency protocols, one per file: estimator, variance and exact true privacy of each.

`ldpopt.design` for ``Workload.frequencies`` with equal weights is the best `SubsetSelection`, and never worse than any.

In: a label per user. Out: private reports, and an unbiased `Estimate` of the frequency of each label.
"""

from ldpopt.frequencies.choice import Choice, best
from ldpopt.frequencies.local_hashing import LocalHashing
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.randomized_response import RandomizedResponse
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.frequencies.unary import UnaryEncoding

__all__ = [
    "Choice",
    "FrequencyProtocol",
    "LocalHashing",
    "RandomizedResponse",
    "SubsetSelection",
    "UnaryEncoding",
    "best",
]
