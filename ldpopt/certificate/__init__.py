"""Certificates: the exact value of a mechanism, and a bound on the value of every private mechanism.

`record` makes them, with the bound of `ldpopt.solving.bounds`, which decides what is optimal, too; `files` writes and
reads them, with `statement` for the problem; `verdict` checks one again; `rational` is an independent method.
"""

from ldpopt.certificate.rational import exact_optimum
from ldpopt.certificate.record import Certificate, certify
from ldpopt.certificate.verdict import Recheck, recheck
from ldpopt.solving.bounds.duals import Multipliers, PairRows, bound

__all__ = ["Certificate", "Multipliers", "PairRows", "Recheck", "bound", "certify", "exact_optimum", "recheck"]
