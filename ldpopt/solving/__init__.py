"""Core: from a problem to its solution: the program, the plan, the methods, and the repaired and
audited mechanism.

In: a `Problem`. Out: a `Solution`. The method is chosen in `plan` and nowhere else.
"""
