"""The bound that multipliers prove, and a mechanism's distance from it, exactly: for status and certificate.

`duals` has the bound, with `columns` for the compact form and `grid` for its arithmetic; `gaps` has values and gaps.
"""
