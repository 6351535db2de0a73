"""Designs for many answers: a bound without listing sets, sets drawn from its moments, their probabilities.

In: the contrasts of a workload with more than 20 answers, the columns of a budget, possible symmetries. Out: a design
and the multipliers that prove how near it is to the best.
"""

from ldpopt.designing.methods.relaxation.columns import generate_large

__all__ = ["generate_large"]
