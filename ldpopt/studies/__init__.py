"""Product: many problems or many people at once: sweeps over epsilon and priors, simulations,
experiments.

In: a problem, a mechanism or protocols, and a grid. Out: a table; an interrupted run keeps its
finished rows.
"""

from typing import Any

__all__ = ["BestOf", "best_of"]


def __getattr__(name: str) -> Any:
    """The names of this package that are imported when they are used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ldpopt.studies import kept

    return getattr(kept, name)
