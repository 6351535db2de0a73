"""Product: closed forms: families of problems whose optimal mechanism is known without a solver,
one family per file.

In: a prior and a budget. Out: a `ClosedForm` with the optimal value, the mechanism and an exact
sampler.
"""

from ldpopt.closed_forms.binary import Binary, binary
from ldpopt.closed_forms.bins import Bins, bins
from ldpopt.closed_forms.form import ClosedForm
from ldpopt.closed_forms.kernel import Kernel, kernel
from ldpopt.closed_forms.path_graph import PathGraph, path_graph
from ldpopt.closed_forms.top_k import TopK, least_epsilon, top_k
from ldpopt.closed_forms.unknown_prior import Robust, robust_value, worst_prior, worst_prior_in_ball
from ldpopt.closed_forms.warner import Coin, MinimaxResponse, coin, minimax, randomized_response

__all__ = [
    "Binary",
    "Bins",
    "ClosedForm",
    "Coin",
    "Kernel",
    "PathGraph",
    "MinimaxResponse",
    "Robust",
    "TopK",
    "binary",
    "bins",
    "coin",
    "kernel",
    "least_epsilon",
    "minimax",
    "path_graph",
    "randomized_response",
    "robust_value",
    "top_k",
    "worst_prior",
    "worst_prior_in_ball",
]
