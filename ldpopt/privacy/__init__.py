"""Privacy notions: each file defines one, writes its rows and audits channels against it.

In: a budget and what it is counted by (a graph, a distance, sensitive answers). Out: rows or `Ties` over a channel, an
audit, and the notion as a plain table for files.
"""

from ldpopt.privacy import neighbors
from ldpopt.privacy.approximate import ApproximateLDP
from ldpopt.privacy.graph import GraphDP
from ldpopt.privacy.metric import MetricDP
from ldpopt.privacy.notion import Notion, SeparableNotion, TiedNotion
from ldpopt.privacy.one_sided import OneSided
from ldpopt.privacy.pure import PureLDP
from ldpopt.privacy.stated import installed
from ldpopt.privacy.ties import Ties
from ldpopt.privacy.utility_optimized import UtilityOptimizedLDP

__all__ = [
    "ApproximateLDP",
    "GraphDP",
    "MetricDP",
    "Notion",
    "OneSided",
    "PureLDP",
    "SeparableNotion",
    "TiedNotion",
    "Ties",
    "UtilityOptimizedLDP",
    "installed",
    "neighbors",
]
