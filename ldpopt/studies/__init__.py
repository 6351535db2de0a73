"""Product: many problems or many people at once: sweeps over epsilon and priors, simulations,
experiments.

In: a problem, a mechanism or protocols, and a grid. Out: a table; an interrupted run keeps its
finished rows.
"""
