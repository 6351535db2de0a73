"""From reports to numbers: frequencies with intervals, protocols for frequencies and for means.

In: reports drawn from a mechanism or protocol. Out: an `Estimate` with standard errors and intervals.
"""
