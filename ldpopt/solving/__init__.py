"""From a problem to its solution: the program, the plan, the methods, the repaired and audited answer.

In: a `Problem`. Out: a `Solution`. `plan` is the one place where the method is chosen.
"""
