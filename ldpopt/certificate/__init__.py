"""Certificates: the exact value of a mechanism, and a bound on the value of every private mechanism.

`record` makes them; `duals` has the bound, with `columns` for the compact form and `grid` for its arithmetic;
`files` writes and reads them, with `statement` for the problem; `verdict` checks one again;
`rational` is an independent method.
"""

from ldpopt.certificate.duals import Multipliers, PairRows, bound
from ldpopt.certificate.rational import exact_optimum
from ldpopt.certificate.record import Certificate, certify
from ldpopt.certificate.verdict import Recheck, recheck

__all__ = ["Certificate", "Multipliers", "PairRows", "Recheck", "bound", "certify", "exact_optimum", "recheck"]
