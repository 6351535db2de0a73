"""Core: long runs of independent points: in worker processes or on a cluster, with a checkpoint.

In: a task, its points and the file of those that are finished. Out: the result of every point;
whatever ends a run, finished results are kept and no process is left. `child` is a single process
that can be stopped at any moment.
"""
