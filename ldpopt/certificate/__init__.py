"""Certificates: the exact value of a mechanism, and a bound on the value of every private mechanism.

What proves stands here and imports nothing that searches. For a problem: `program_bound` (with the arithmetic of
`compact` and `pairs`), `program_value`, and `record` with the claim, its file in `program_files`. For a design: bound
and value apart, so that any bound goes with any estimator. `design_bound` has the statement and the bound by a form
(`design_bound_elliptope` for many answers, `design_bound_rays` for graphs, metrics and one-sided notions);
`design_bound_product` and `design_bound_mean` are for workloads of a structure; `design_value` proves mean squared
error and bias of the estimator that is used; `design_certificate` and `frequency_certificate` have the claims. What is
trusted beside this room: `auditing`, and `privacy` with the list of all extreme rays of a cone.
"""

from ldpopt.certificate.program_bound import Multipliers, PairRows, bound
from ldpopt.certificate.record import Certificate, Recheck, recheck

__all__ = ["Certificate", "Multipliers", "PairRows", "Recheck", "bound", "recheck"]
