"""Outputs priced by the workers of a cluster: each takes a block of outputs, with what these see and their trees.

Costs and losses are sent once to each worker; in a round a block's views and trees go there and come back. An output
is priced by the same loop with the same numbers as on this machine, so that the answer is the same bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, short_repr
from ldpopt.foundation.rows import Int
from ldpopt.privacy.ties import Mask

LEAST_INPUTS = 600
"""Number of inputs from which prices take long enough to be sent away."""

BLOCKS = 4
"""Blocks of outputs for each thread of the cluster, as some take longer than others."""

AT_ONCE = 8
"""Outputs that a worker prices between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class Places:
    """What all blocks need: it is sent once to each worker.

    Attributes
    ----------
    roots, costs, table : arrays, shapes (m,), (m, n) and (n, n)
        As in `Views`.
    order, above, fall : arrays, shape (n,)
        The handover.
    """

    roots: Int
    costs: Float
    table: Float
    order: Int
    above: Int
    fall: Float

    @cached_property
    def rough(self) -> NDArray[np.float32]:
        """The table in single precision, made by each worker."""
        return self.table.astype(np.float32)


@dataclass(frozen=True, eq=False)
class Block:
    """Some outputs with their trees and views; what a worker changes."""

    outputs: Int
    parent: NDArray[Any]
    side: NDArray[np.int8]
    seen: Mask
    price: Float
    pivots: int = 0

    @classmethod
    def of(cls, outputs: Int, parent: NDArray[Any], side: NDArray[np.int8], seen: Mask) -> Block:
        """A block that is not priced yet."""
        return cls(outputs, parent, side, seen, np.zeros(len(outputs)))


class Cluster:
    """The workers of a Dask client.

    Parameters
    ----------
    client : dask.distributed.Client
        Its workers have the same version of this package.
    places : Places
        Sent to all of them now.

    Raises
    ------
    StatementError
        If it is no client of Dask.
    LdpoptError
        If the cluster fails, or has no workers.
    """

    def __init__(self, client: Any, places: Places) -> None:
        self.client = require_client(client)
        with failures_told():
            self.places = client.scatter(places, broadcast=True)

    def price(self, blocks: list[Block], sums: Float, enough: Float, deadline: Deadline) -> list[Block]:
        """Price blocks of outputs, in their order; after the deadline they come back as they are.

        Blocks wait for a worker, so that they are told the moment, by the clock on the wall: that of the workers has
        to be right to a second or so.
        """
        until = inf if deadline.left is None else time.time() + deadline.left
        sent = [
            self.client.submit(_priced, self.places, block, sums, enough[block.outputs], until, pure=False)
            for block in blocks
        ]
        with failures_told():
            return list(self.client.gather(sent))

    @property
    def threads(self) -> int:
        """Number of threads of all workers, at least 1."""
        return max(1, sum(int(count) for count in self.client.nthreads().values()))


@contextmanager
def failures_told() -> Iterator[None]:
    """Raise whatever Dask or a worker raises as an `LdpoptError` of one line."""
    try:
        yield
    except Exception as error:
        what = f"the cluster failed: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        do = "see that it has workers with this version of ldpopt, or solve without an executor"
        raise LdpoptError(what, do=do) from error


def require_client(executor: Any) -> Any:
    """Return a client of Dask."""
    if all(hasattr(executor, name) for name in ("submit", "scatter", "gather", "nthreads")):
        return executor
    raise StatementError(
        f"executor = {short_repr(executor)} is not a client of Dask",
        do="pass a dask.distributed.Client; without one, solve() uses the cores of this machine",
    )


def _priced(places: Places, block: Block, sums: Float, enough: Float, until: float) -> Block:
    """Price a block until a moment of `time.time`; runs in a worker."""
    from ldpopt.solving.methods.rays.view_loops import Handover, look

    rows = np.arange(len(block.outputs))
    parent, side, seen = block.parent.copy(), block.side.copy(), block.seen.copy()  # what arrives may be read-only
    price, pivots = block.price.copy(), 0
    handover = Handover(places.order, places.above, places.fall)
    roots, costs = places.roots[block.outputs], places.costs[block.outputs]
    for part in np.array_split(rows, max(1, len(rows) // AT_ONCE)):
        if time.time() < until:
            pivots += look(
                part, roots, costs, sums, parent, side, places.table, places.rough, handover, seen, enough, price
            )
    return Block(block.outputs, parent, side, seen, price, pivots)
