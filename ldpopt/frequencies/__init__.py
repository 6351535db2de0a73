"""Product: protocols for frequencies, one per file: a label per user becomes a report, reports an
unbiased `Estimate`.

`ldpopt.design` for ``Workload.frequencies`` with equal weights is the best `SubsetSelection`, and
never worse than any. A new protocol is a subclass of `FrequencyProtocol` with ``published=True`` in
its own file, imported here; what it writes is in `rule`.
"""

from ldpopt.frequencies.choice import Choice, best
from ldpopt.frequencies.linear_hash import LinearHash
from ldpopt.frequencies.local_hashing import LocalHashing
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.randomized_response import RandomizedResponse
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.frequencies.unary import UnaryEncoding

__all__ = [
    "Choice",
    "FrequencyProtocol",
    "LinearHash",
    "LocalHashing",
    "RandomizedResponse",
    "SubsetSelection",
    "UnaryEncoding",
    "best",
]
