"""Privacy notions: each file defines one, writes its rows and audits channels against it."""

from ldpopt.privacy.approximate import ApproximateLDP
from ldpopt.privacy.graph import GraphDP
from ldpopt.privacy.metric import MetricDP
from ldpopt.privacy.notion import Notion, SeparableNotion, Ties, installed
from ldpopt.privacy.pure import PureLDP

__all__ = ["ApproximateLDP", "GraphDP", "MetricDP", "Notion", "PureLDP", "SeparableNotion", "Ties", "installed"]
