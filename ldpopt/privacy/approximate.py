"""Approximate local differential privacy, event-wise or entry-wise."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.divergence import approximate_divergence
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.foundation.numbers import Float, real_number, require_choice, shaped_array, whole_number
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.curve import CurveLDP
from ldpopt.privacy.graph import GraphDP, edge_pairs
from ldpopt.privacy.notion import Notion, SeparableNotion, TiedNotion
from ldpopt.privacy.plain import MisstatedError, Table, plain_budget, read_table, required
from ldpopt.privacy.ties import Ties, no_rows

if TYPE_CHECKING:
    import networkx as nx

MAX_ROWS = 2_000_000
# Smallest excess of an event that is a violation, for small and for large epsilon; repair removes
# smaller ones
MIN_EXCESS = 1e-14, 1e-13


@dataclass(frozen=True)
class ApproximateLDP(TiedNotion, SeparableNotion):
    r"""(epsilon, delta)-LDP: :math:`P_x(S) \le e^\epsilon P_{x'}(S) + \delta` for every set ``S``
    of reports.

    Parameters
    ----------
    epsilon : float or str
        Nats in [0, 10000], or ``"log(p/q)"``.
    delta : float
        In [0, 1].
    form : {"event", "entry"}
        ``"event"`` is the definition above. ``"entry"`` requires it for single reports only, as eq.
        (20) of Zhou, Lu and Wu 2019: with ``m`` outputs it allows an event-wise delta up to ``(m -
        1) delta`` and is not closed under post-processing. The two agree for two outputs; default:
        ``"event"``.
    graph : networkx.Graph, optional
        Compare the two ends of every edge only, as `GraphDP` does; undirected and connected, its
        nodes are the inputs. Default: all pairs of inputs.

    Raises
    ------
    StatementError
        If epsilon or delta is out of range, the form unknown, or the graph directed, empty or in
        several parts.

    Examples
    --------
    >>> ApproximateLDP(0.1, 0.15).audit([[0.15, 0.85], [0, 1]]).delta
    0.15
    """

    kind: ClassVar[str] = "approximate"
    epsilon: Budget
    delta: float
    form: Literal["event", "entry"] = "event"
    graph: nx.Graph[Any] | None = None

    def __init__(
        self,
        epsilon: float | str,
        delta: float,
        form: Literal["event", "entry"] = "event",
        *,
        graph: nx.Graph[Any] | None = None,
    ) -> None:
        budget = Budget(epsilon)
        value = real_number(delta, "delta", 0, 1, do="give a probability, usually far below 0.1")
        require_choice(form, ("event", "entry"), "form")
        object.__setattr__(self, "epsilon", budget)
        object.__setattr__(self, "delta", value)
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "graph", None if graph is None else GraphDP(budget, graph).graph)

    def __repr__(self) -> str:
        graph = "" if self.graph is None else ", graph=<" + repr(self._edges).partition("<")[2][:-1]
        return (
            f"ApproximateLDP(epsilon={self.epsilon!r}, delta={self.delta!r}, "
            f"form={self.form!r}{graph})"
        )

    @classmethod
    def of_curve(cls, points: Sequence[tuple[float | str, float]]) -> Notion:
        r"""Several budgets at once: :math:`P_x(S) \le e^{\epsilon_k} P_{x'}(S) + \delta_k` for all
        ``k``.

        Parameters
        ----------
        points : sequence of (epsilon, delta)
            At least one; each epsilon once, in nats or ``"log(p/q)"``, each delta in [0, 1].

        Returns
        -------
        Notion
            A `CurveLDP`; for a single point an `ApproximateLDP`.

        Raises
        ------
        StatementError
            If there is no point, a number is out of range, or an epsilon occurs twice.

        Examples
        --------
        >>> ApproximateLDP.of_curve([(0.5, 0.1), (1.0, 0.01)])
        ApproximateLDP.of_curve([(0.5, 0.1), (1.0, 0.01)])
        """
        curve = CurveLDP(points)
        return curve if len(curve.points) > 1 else cls(*curve.points[0])

    @property
    def _edges(self) -> GraphDP | None:
        """The pure notion along the same edges, which reads and writes the graph."""
        return None if self.graph is None else GraphDP(self.epsilon, self.graph)

    @property
    def alphabet(self) -> tuple[Hashable, ...] | None:
        """The graph's nodes, in its order; None without a graph."""
        return None if self._edges is None else self._edges.alphabet

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse a graph whose nodes are not the inputs."""
        if self._edges is not None:
            self._edges.check(inputs, outputs)

    @property
    def is_separated(self) -> bool:
        """Whether events are constrained, so that their rows are generated."""
        return self.form == "event" and self.delta > 0

    def ties(
        self, inputs: Names, outputs: Names | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties:
        """All pairs, or both directions of every edge, with slack ``delta`` in every entry: the
        entry-wise notion, a relaxation of the event-wise one.
        """
        slack: Any = {"delta": self.delta, "is_shared": self.is_separated}
        if self._edges is not None:
            return replace(self._edges.ties(inputs, outputs), **slack)
        return Ties(self.epsilon, len(read_alphabet(inputs)), **slack)

    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """One row for each ordered pair and output (entry-wise), or for each pair and event
        (event-wise, if few).
        """
        ties = self.ties(inputs)
        if not self.is_separated:
            return ties.rows(n_outputs)
        n_outputs = whole_number(n_outputs, "n_outputs")
        first, second = ties.pairs()
        if len(first) * 2.0 ** min(n_outputs, 1000) > MAX_ROWS:
            raise no_rows("event-wise privacy", len(first) * 2.0 ** min(n_outputs, 1000))
        events = list(
            chain.from_iterable(
                combinations(range(n_outputs), size) for size in range(1, n_outputs)
            )
        )
        member = np.zeros((len(events), n_outputs), bool)
        for row, event in enumerate(events):
            member[row, list(event)] = True
        pair = np.repeat(np.arange(len(first)), len(events))
        return ties.rows_of_events(first[pair], second[pair], np.tile(member, (len(first), 1)))

    def separate(self, channel: Float, inputs: Names) -> RowBlock | None:
        r"""Most violated event of every ordered pair, :math:`S = \{y : P(x,y) > e^\epsilon
        P(x',y)\}`; None if none is.

        The separation is exact, so that adding these rows leads to the event-wise optimum; it takes
        O(n^2 m).
        """
        if not self.is_separated:
            return None
        channel = shaped_array(channel, "channel", len(read_alphabet(inputs)), None)
        events: list[tuple[int, int, np.ndarray[Any, Any]]] = []
        min_excess = float(np.clip(1e-9 * self.epsilon, *MIN_EXCESS))
        ratio = float(min(self.epsilon.enclosure()[0], Fraction(10**300)))
        ties = self.ties(inputs)
        tied = np.zeros((ties.n, ties.n), bool)
        tied[ties.pairs()] = True
        for x in range(len(inputs)):
            excess_by_output = channel[x] - ratio * channel
            worse = np.flatnonzero(
                np.maximum(excess_by_output, 0).sum(axis=1) > self.delta + min_excess
            )
            events += [(x, int(k), excess_by_output[k] > 0) for k in worse if tied[x, k]]
        if not events:
            return None
        first = np.array([f[0] for f in events])
        second = np.array([f[1] for f in events])
        return ties.rows_of_events(first, second, np.array([f[2] for f in events]))

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """``neighbors`` is a table, certificates have ``edges``; ``curve`` has pairs of an epsilon
        and a delta in place of all others.
        """
        return ("epsilon", "delta", "form", "neighbors", "edges", "curve")

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """Numbers and form; the graph as `GraphDP` writes it."""
        graph = {} if self._edges is None else self._edges.to_plain(inputs, explicit=explicit)
        own = {"epsilon": plain_budget(self.epsilon), "delta": self.delta, "form": self.form}
        return own | graph

    @classmethod
    def from_plain(cls, table: Table, inputs: Names) -> Any:
        """Read numbers, form and graph; or the points of a curve."""
        if "curve" in read_table(table):
            if others := [key for key in table if key != "curve"]:
                do = "a curve has its epsilons and deltas in its points"
                raise MisstatedError(f"curve and {others[0]} are both given", "curve", do=do)
            return cls.of_curve(table["curve"])
        epsilon = required(table, "epsilon")
        delta = required(table, "delta")
        graph = None
        if {"edges", "neighbors"} & set(table):
            ends = {key: table[key] for key in ("edges", "neighbors") if key in table}
            graph = GraphDP.from_plain({"epsilon": epsilon, **ends}, inputs).graph
        return cls(epsilon, delta, table.get("form", "event"), graph=graph)

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """Event-wise, with delta 0.1."""
        return cls(epsilon, 0.1)

    def audit(self, channel: Any) -> Audit:
        """Decide the claim from the channel's numbers, exactly."""
        pairs = None if self.graph is None else edge_pairs(self.graph, channel)
        return approximate_divergence(channel, self.epsilon, self.delta, self.form, pairs)
