"""Long runs of independent points: in worker processes or on a cluster, with a checkpoint.

In: a task, its points and the file of those that are finished. Out: the result of every point; whatever ends a
run, what is finished is kept and no process is left.
"""
