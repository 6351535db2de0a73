"""Certificates: what a mechanism is worth, exactly, and what no private mechanism exceeds.

`record` makes them; `duals` has the safe bound, with `columns` for the compact form and `grid` for its arithmetic;
`files` writes and reads them, with `statement` for the problem; `verdict` checks one again; `rational` is another way.
"""

from ldpopt.certificate.duals import Multipliers, PairRows, bound
from ldpopt.certificate.rational import exact_optimum
from ldpopt.certificate.record import Certificate, certify
from ldpopt.certificate.verdict import Recheck, recheck

__all__ = ["Certificate", "Multipliers", "PairRows", "Recheck", "bound", "certify", "exact_optimum", "recheck"]
