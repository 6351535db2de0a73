"""Outputs priced by the workers of a Dask cluster, in blocks with their views and trees: bit for
bit as here.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int, short_repr
from ldpopt.native import improve_views, in_units
from ldpopt.privacy.ties import Mask
from ldpopt.solving.log import LOG

LEAST_INPUTS = 600  # number of inputs from which pricing takes long enough to send it to a cluster
# number of blocks of outputs per thread of the cluster, because some take longer than others
BLOCKS = 4
ATTEMPTS = 4  # how often blocks are sent, if workers die
# Errors of Dask after the death of all workers with a copy of the data, or of three with a block
LOST = ("FutureCancelledError", "CancelledError", "KilledWorker")
AT_ONCE = 8  # number of outputs that a worker prices between two checks of the deadline


class Handover(NamedTuple):
    """To which input each input hands its cost over, if it is not seen (`views`)."""

    order: Int  # inputs, each after the one that takes its cost
    above: Int  # the input that takes each one's cost
    fall: Float  # exp(-loss) to that input


@dataclass(frozen=True, eq=False)
class SharedData:
    """The data that all blocks need, which are sent to each worker once."""

    roots: Int  # (m,): as in `Trees`
    costs: Float  # (m, n)
    table: Float  # (n, n): losses
    handover: Handover

    @cached_property
    def rough(self) -> tuple[NDArray[np.uint16], float]:
        """The table in units, computed by each worker."""
        return in_units(self.table)


@dataclass(frozen=True, eq=False)
class OutputShare:
    """Some outputs with their trees and views, which a worker changes."""

    outputs: Int
    parent: NDArray[Any]
    side: NDArray[np.int8]
    seen: Mask
    price: Float
    pivots: int = 0


class Cluster:
    """The workers of a Dask client, which must have the same version of this package; the data are
    sent to them now.
    """

    def __init__(self, client: Any, data: SharedData) -> None:
        self.client = require_client(client)
        self._given = data
        with one_line_errors():
            self.data = self._sent()

    def _sent(self) -> Any:
        """Send the data to each worker, under a new name."""
        return self.client.scatter(self._given, broadcast=True, hash=False)

    def improve(
        self, blocks: list[OutputShare], sums: Float, enough: Float, deadline: Deadline
    ) -> list[OutputShare]:
        """Improve the views of blocks of outputs, in this order; after the deadline they come back
        unchanged. If workers died that held all copies of the data, all of it is sent once more.
        """
        with one_line_errors():
            for _ in range(ATTEMPTS - 1):
                try:
                    return self._improved(blocks, sums, enough, deadline)
                except Exception as error:
                    reason = type(error).__name__
                    if reason not in LOST:
                        raise
                LOG.warning("workers of the cluster died (%s); all is sent again", reason)
                self.data = self._sent()
            return self._improved(blocks, sums, enough, deadline)

    def _improved(
        self, blocks: list[OutputShare], sums: Float, enough: Float, deadline: Deadline
    ) -> list[OutputShare]:
        """Improve the views of blocks, once."""
        # As blocks wait for a worker, the deadline is sent as a time of day, so the workers' clocks
        # must agree with this machine's to about a second.
        until = inf if deadline.left is None else time.time() + deadline.left
        sent = [
            self.client.submit(
                improved_block, self.data, block, sums, enough[block.outputs], until, pure=False
            )
            for block in blocks
        ]
        return list(self.client.gather(sent))

    @property
    def threads(self) -> int:
        """Number of threads of all workers, at least 1."""
        return max(1, sum(int(count) for count in self.client.nthreads().values()))


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Raise any error of Dask or a worker as an `LdpoptError` with a message of one line."""
    try:
        yield
    except Exception as error:
        problem = f"the cluster failed: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        do = "check that it has workers with this version of ldpopt, or solve without an executor"
        raise LdpoptError(problem, code="cluster", do=do) from error


def require_client(executor: Any) -> Any:
    """Return a client of Dask; raise an error if it is something else."""
    if all(hasattr(executor, name) for name in ("submit", "scatter", "gather", "nthreads")):
        return executor
    problem = f"executor = {short_repr(executor)} is not a client of Dask"
    raise StatementError(
        problem,
        code="dask-client",
        do="pass a dask.distributed.Client; without one, solve() uses the cores of this machine",
    )


def improved_block(
    data: SharedData, block: OutputShare, sums: Float, enough: Float, until: float
) -> OutputShare:
    """Improve a block's views until a time of `time.time`; runs in a worker."""
    rows = np.arange(len(block.outputs))
    # received arrays may be read-only
    parent = block.parent.copy()
    side = block.side.copy()
    seen = block.seen.copy()
    price = block.price.copy()
    pivots = 0
    roots = data.roots[block.outputs]
    costs = data.costs[block.outputs]
    for part in np.array_split(rows, max(1, len(rows) // AT_ONCE)):
        if time.time() < until:
            losses = data.table, *data.rough, *data.handover
            pivots += improve_views(
                part, roots, parent, side, costs, sums, *losses, seen, enough, price
            )
    return OutputShare(block.outputs, parent, side, seen, price, pivots)
