"""What a privacy notion is: rows that write it, an audit that recomputes it, ties that describe its shape."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ldpopt.auditing.divergence import ULPS, Audit
from ldpopt.errors import MechanismError, NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import Float, short_repr
from ldpopt.foundation.labelled import take_labels
from ldpopt.foundation.rows import Int, RowBlock


@runtime_checkable
class Notion(Protocol):
    """A linear privacy notion.

    A plug-in needs `rows` and `audit`. It may also have ``ties(inputs) -> Ties`` (then the compact form and the exact
    repair of columns serve it) and ``separate(channel, inputs) -> RowBlock | None`` (then `rows` may be too many to
    write: they are generated as they are violated).
    """

    def rows(self, inputs: Sequence[Hashable], n_outputs: int) -> RowBlock:
        """Write the definition as linear rows over the channel's entries."""
        ...

    def audit(self, channel: Any) -> Audit:
        """Recompute epsilon and delta from the numbers, without looking at `rows`."""
        ...


@dataclass(frozen=True)
class Ties:
    r"""Rows tied output by output: :math:`P(x, y) \le e^{\epsilon d} P(x', y) + \delta`.

    Attributes
    ----------
    budget : Budget
        epsilon.
    n : int
        Number of inputs.
    first, second : int arrays or None
        Ordered pairs (x, x'); None ties all pairs at distance 1.
    distance : float array or None
        ``d`` of each pair, positive.
    delta : float
        Slack of every entry.
    is_shared : bool
        Whether a pair's outputs share one ``delta`` (an event-wise notion): then the ties are its relaxation.
    """

    budget: Budget
    n: int
    first: Int | None = None
    second: Int | None = None
    distance: Float | None = None
    delta: float = 0.0
    is_shared: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether all pairs of inputs are tied alike, so that column minima describe the notion."""
        return self.first is None

    def pairs(self) -> tuple[Int, Int]:
        """Ordered pairs, written out."""
        if self.first is not None and self.second is not None:
            return self.first, self.second
        first, second = np.nonzero(~np.eye(self.n, dtype=bool))
        return first, second

    def ratio(self, *, up: bool) -> Float:
        r""":math:`e^{-\epsilon d}` of each pair, bounded from above or below (shape () where all are alike)."""
        if self.distance is None:
            b = self.budget.b
            return np.array(np.nextafter(b, 1.0) if up and self.budget > 0 else b)
        exponent = float(self.budget) * self.distance
        slack = (4 + exponent) * ULPS
        return np.minimum(np.exp(-exponent) * (1 + slack if up else 1 - slack), 1.0)

    def rows(self, n_outputs: int) -> RowBlock:
        r"""Write every pair and output as one row, divided by :math:`e^{\epsilon d}`: coefficients lie in [-1, 1].

        The ratio is rounded down: what the row excludes is excluded for the real ``e**epsilon`` as well, so a bound
        that holds under these rows holds for the notion.
        """
        first, second = self.pairs()
        ratio = np.broadcast_to(self.ratio(up=False), first.shape)
        size, m = len(first) * n_outputs, n_outputs
        entry = np.empty((len(first), m, 2), np.int64)
        entry[:, :, 0], entry[:, :, 1] = first[:, None], second[:, None]
        value = np.empty((len(first), m, 2))
        value[:, :, 0], value[:, :, 1] = ratio[:, None], -1.0
        upper = np.repeat(np.nextafter(ratio * self.delta, 1.0) if self.delta else np.zeros(len(first)), m)
        y = np.broadcast_to(np.arange(m)[None, :, None], entry.shape)
        row = np.repeat(np.arange(size), 2)
        return RowBlock(
            "privacy", row, entry.reshape(-1), y.reshape(-1), value.reshape(-1), np.full(size, -np.inf), upper
        )


def installed() -> dict[str, type]:
    """Notions that other packages offer under the entry point group ``ldpopt.privacy``, by name."""
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group="ldpopt.privacy")}


def positions(labels: Sequence[Hashable], inputs: Sequence[Hashable], what: str) -> dict[Hashable, int]:
    """Match the labels of a graph or table with the inputs, one to one.

    Raises
    ------
    StatementError
        If one of either side is missing on the other.
    """
    place = {label: x for x, label in enumerate(inputs)}
    for label in labels:
        if label not in place:
            raise StatementError(f"{what} names {label!r}, which is no input", do=f"the inputs are {list(inputs)[:8]}")
    known = set(labels)
    for label in inputs:
        if label not in known:
            raise StatementError(f"input {label!r} is missing from {what}", do="add it, or take it out of the inputs")
    return place


def shape_of(channel: Any) -> tuple[tuple[Hashable, ...], bool]:
    """Inputs of a mechanism or labelled table, or positions of a plain array; and whether they are real labels."""
    if hasattr(channel, "inputs"):
        return tuple(channel.inputs), True
    channel, (rows, _) = take_labels(channel, "channel")
    if rows is not None:
        return rows, True
    if not hasattr(channel, "__len__") or getattr(channel, "ndim", 1) == 0:
        raise MechanismError(
            f"{short_repr(channel)} is no channel", do="pass a Mechanism or an array (inputs, outputs)"
        )
    return tuple(range(len(channel))), False


def no_rows(what: str, count: float) -> NotRepresentableError:
    """Error for a definition that has too many rows to write down."""
    return NotRepresentableError(
        f"{what} has {count:.3g} rows", do="let solve() generate the violated ones, or take fewer outputs"
    )
