"""Dataframes of Dask: a function of each partition, lazily as a dataframe or at once as results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def is_partitioned(table: Any) -> bool:
    """Whether it is a dataframe of Dask; Dask is not imported to tell."""
    if "dask" not in sys.modules or not type(table).__module__.startswith("dask"):
        return False
    import dask.dataframe as dd

    return isinstance(table, dd.DataFrame)


def mapped(table: Any, function: Callable[[Any, int], Any], like: Any) -> Any:
    """Replace each partition lazily by a function of it and its number; index and divisions stay."""
    import dask
    import dask.dataframe as dd

    shared = dask.delayed(_Once(function), pure=False)
    parts = [_call(shared, part, number) for number, part in enumerate(table.to_delayed())]
    return dd.from_delayed(parts, meta=like, divisions=table.divisions, verify_meta=False)


def gathered(table: Any, function: Callable[[Any, int], Any]) -> list[Any]:
    """Results of a function of each partition and its number; only they travel."""
    import dask

    shared = dask.delayed(_Once(function), pure=False)
    return list(dask.compute(*(_call(shared, part, number) for number, part in enumerate(table.to_delayed()))))


class _Once:
    """A function that is sent once for all partitions, and is no task itself."""

    def __init__(self, function: Callable[[Any, int], Any]) -> None:
        self.function = function


def _call(shared: Any, part: Any, number: int) -> Any:
    import dask

    return dask.delayed(_called, pure=False)(shared, part, number)


def _called(shared: _Once, part: Any, number: int) -> Any:
    return shared.function(part, number)
