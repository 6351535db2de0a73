"""Core: certificates: the exact value of a mechanism, and a bound on the value of every private
mechanism.

This package proves, and imports nothing that searches. Programs: `program_bound` (with the
arithmetic of `compact` and `pairs`), `program_certificate` with value and claim, `program_files`.
Designs: bound and value are apart, so that any bound goes with any estimator. `design_statement`
has workload and cone in integers, and proves mean squared error and bias of the estimator that is
used; `design_bound` proves a bound by a matrix (`design_bound_elliptope` for many answers),
`design_bound_product` and `design_bound_mean` for workloads of a special structure;
`design_certificate` and `frequency_certificate` have the claims. Also trusted: `auditing`, and
`privacy` with its lists of extreme rays.
"""

from ldpopt.certificate.program_bound import Multipliers, PairRows, bound
from ldpopt.certificate.program_certificate import Certificate, Recheck, recheck

__all__ = ["Certificate", "Multipliers", "PairRows", "Recheck", "bound", "recheck"]
