"""Certificates: the exact value of a mechanism, and a bound on the value of every private mechanism.

What proves stands here and imports nothing that searches: `program_bound` and `program_value` for a problem,
`design_bound` and its neighbors for a design; `record` has the claims, `recheck` computes them again.
"""

from ldpopt.certificate.program_bound import Multipliers, PairRows, bound
from ldpopt.certificate.recheck import Recheck, recheck
from ldpopt.certificate.record import Certificate

__all__ = ["Certificate", "Multipliers", "PairRows", "Recheck", "bound", "recheck"]
