"""Core: privacy notions: each file defines one, writes its rows and audits channels against it.

In: a budget, and a graph, a distance or sensitive answers. Out: rows or `Ties` over a channel, an
audit, and a table for files. A new notion is one file and one line here.
"""

from ldpopt.privacy import neighbors as neighbors
from ldpopt.privacy.approximate import ApproximateLDP as ApproximateLDP
from ldpopt.privacy.comparisons import Comparisons as Comparisons
from ldpopt.privacy.cone import ColumnCone as ColumnCone
from ldpopt.privacy.cone import OddsBound as OddsBound
from ldpopt.privacy.curve import CurveLDP as CurveLDP
from ldpopt.privacy.gaussian import GaussianLDP as GaussianLDP
from ldpopt.privacy.graph import GraphDP as GraphDP
from ldpopt.privacy.information import InformationPrivacy as InformationPrivacy
from ldpopt.privacy.intersection import Intersection as Intersection
from ldpopt.privacy.leakage import PML as PML
from ldpopt.privacy.metric import MetricDP as MetricDP
from ldpopt.privacy.notion import ConeNotion as ConeNotion
from ldpopt.privacy.notion import Notion as Notion
from ldpopt.privacy.notion import SeparableNotion as SeparableNotion
from ldpopt.privacy.notion import TiedNotion as TiedNotion
from ldpopt.privacy.notion import installed as installed
from ldpopt.privacy.one_sided import OneSided as OneSided
from ldpopt.privacy.pairwise import PairwiseLDP as PairwiseLDP
from ldpopt.privacy.pufferfish import Secrets as Secrets
from ldpopt.privacy.pure import PureLDP as PureLDP
from ldpopt.privacy.ties import Ties as Ties
from ldpopt.privacy.utility_optimized import UtilityOptimizedLDP as UtilityOptimizedLDP
