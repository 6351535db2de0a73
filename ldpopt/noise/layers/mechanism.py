r"""Finite mechanisms from a graph: weights that fall with the breadth-first layer, and ways to make them private.

Neighbors' layers differ by at most one (Lemma 1), so the *weights* of neighbors are within ``e**epsilon``. Their sums
are not: where the graph looks different from different nodes, the normalized mechanism may need up to 2 epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import NoSolutionError, NotRepresentableError, PrivacyViolationError, StatementError
from ldpopt.foundation.checks import Float, frozen, short_repr
from ldpopt.foundation.rows import Int
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair as rounded
from ldpopt.noise.layers.repairs import REPAIRS, Case, Spread
from ldpopt.privacy import GraphDP
from ldpopt.privacy.neighbors import bfs_partition
from ldpopt.solving.solve import solve
from ldpopt.statement.problem import Problem
from ldpopt.statement.utility import Utility, resolve

if TYPE_CHECKING:
    import networkx as nx

Value = Mapping[Any, Hashable] | Callable[[Any], Hashable]
Repair = Literal["best", "none", "budget", "columns", "balls", "window"]


@dataclass(frozen=True, eq=False)
class Layered:
    """What `bfs_mechanism` found.

    Attributes
    ----------
    mechanism : Mechanism
        Inputs are the nodes, outputs the query's values; exactly private along the edges.
    repair : {"none", "budget", "columns", "balls", "window"}
        The way it was made private; ``"none"`` where the normalized weights already are.
    value : float
        Expected gain or loss of the mechanism.
    normalizers : ndarray, shape (n,)
        Sums of the weights of each input, before any repair.
    unrepaired_epsilon : float
        True epsilon of the normalized weights along the edges, to float accuracy; at most twice the budget.
    levels : int array, shape (n, m)
        Number of the layer of each input that holds each value.
    tried : dict
        For each repair its value, or the reason why it has none.
    problem : Problem
        The statement that the optimum belongs to.
    """

    mechanism: Mechanism
    repair: str
    value: float
    normalizers: Float = field(repr=False)
    unrepaired_epsilon: float
    levels: Int = field(repr=False)
    tried: dict[str, float | str]
    problem: Problem = field(repr=False)

    @cached_property
    def optimum(self) -> float:
        """Value of the best private mechanism of all, by the linear program; solved when first asked for."""
        return solve(self.problem).value

    @property
    def ratio(self) -> float:
        """How many times worse than the optimum, at least 1 up to rounding: loss by loss, or for gains inverted."""
        worse, better = self.value, self.optimum
        if self.problem.utility.sense == "gain":
            worse, better = better, worse
        return worse / better if better else (1.0 if worse == better else float("inf"))


def bfs_mechanism(
    graph: nx.Graph[Any],
    epsilon: float | str,
    value: Value | None = None,
    repair: Repair = "best",
    *,
    prior: ArrayLike | Mapping[Any, float] | None = None,
    utility: str | Utility | ArrayLike | None = None,
) -> Layered:
    r"""Report a value with a probability that falls by ``e**-epsilon`` for each layer it lies away.

    .. math:: P(x, r) \propto e^{-\epsilon L(x, r)}, \qquad L(x, r) = \min \{ d(x, x') : f(x') = r \}

    Parameters
    ----------
    graph : networkx.Graph
        The neighbor relation, undirected and connected.
    epsilon : float or str
        Budget of one edge in nats, ``0 < epsilon <= 10000``, or ``"log(3)"``.
    value : mapping or callable, optional
        Query value :math:`f` of a node; the nodes themselves unless told.
    repair : {"best", "none", "budget", "columns", "balls", "window"}
        ``"budget"``: the largest budget in ``[epsilon/2, epsilon]`` found whose normalized weights keep epsilon.
        ``"columns"``: one weight for each value, such that all rows sum to one. ``"balls"``: weights for the distances
        to every set of inputs that a value serves well, too. ``"window"``: additive noise on a group of integers that
        holds all values, each point of it then replaced by the best report for it.
        ``"best"``: whichever has most utility.
    prior : array_like, shape (n,), or mapping label -> weight, optional
        Of the nodes; uniform unless told.
    utility : str, Utility or array_like, shape (n, m), optional
        As in `Problem`; the loss :math:`L` (steps from the truth) unless told.

    Returns
    -------
    Layered
        Mechanism, the repair chosen, value, normalizers, the true epsilon without repair; ``ratio`` when asked for.

    Raises
    ------
    StatementError
        If the graph, budget, prior or repair is ill posed.
    PrivacyViolationError
        If ``"none"`` was asked for and the normalizers differ too much; the true epsilon is named.
    NoSolutionError
        If no column weights make the rows sum to one.
    NotRepresentableError
        If the values are no integers, nor tuples of them, so that there is no window.

    Notes
    -----
    Any weights :math:`w_r e^{-\epsilon L(x, r)}` with equal row sums are private by Lemma 1; so is noise on an
    Abelian group, where all normalizers are equal, and what is computed from it. At half the budget both the weights
    and their sums stay within ``e**(epsilon/2)``.
    O(n (nodes + edges)) for the layers; a linear program in m weights (``"columns"``) or up to n m (``"balls"``).

    References
    ----------
    Wu, Xia and He, section 4; McSherry and Talwar 2007 for the factor 2. Theory: docs, "Neighbor graphs".

    Examples
    --------
    >>> import networkx as nx
    >>> star = bfs_mechanism(nx.star_graph("cabd"), 1.0)
    >>> star.repair, round(star.unrepaired_epsilon, 4), star.mechanism.audit(star.problem.privacy).verdict
    ('columns', 1.2499, 'certified')
    """
    if not isinstance(repair, str) or repair not in ("best", *REPAIRS):
        raise StatementError(f"repair = {short_repr(repair)} is unknown", do=f"name one of {('best', *REPAIRS)}")
    privacy = GraphDP(epsilon, graph)
    if not privacy.epsilon:
        raise StatementError("at epsilon = 0 every report is the same constant", do="state epsilon > 0")
    inputs, outputs, levels = level_matrix(graph, value)
    worth = Utility(levels.astype(float), "loss") if utility is None else resolve(utility, inputs, outputs)
    weights = np.full(len(inputs), 1 / len(inputs)) if prior is None else prior
    problem = Problem(weights, worth, privacy, inputs=inputs, outputs=outputs)
    case = Case(problem, levels, Spread.of(levels, privacy.ties(inputs).pairs()), value)
    best: tuple[float, str, Mechanism] | None = None
    tried: dict[str, float | str] = {}
    for name in REPAIRS if repair == "best" else (repair,):
        try:
            channel = REPAIRS[name](case)
        except (PrivacyViolationError, NoSolutionError, NotRepresentableError) as reason:
            if repair != "best":
                raise
            tried[name] = reason.what
            continue
        mechanism = rounded(channel, privacy, inputs=inputs, outputs=outputs).mechanism
        tried[name] = reached = mechanism.expected(problem.prior, worth)
        gain = reached if worth.sense == "gain" else -reached
        if best is None or gain > best[0] + 1e-9 * abs(best[0]):
            best = gain, name, mechanism
    assert best is not None  # the calibrated budget always exists
    _, name, mechanism = best
    sums = np.exp(case.spread.log_sums(float(privacy.epsilon)))
    true = case.spread.loss(float(privacy.epsilon))
    reached = mechanism.expected(problem.prior, worth)
    return Layered(mechanism, name, reached, frozen(sums), true, levels, tried, problem)


def level_matrix(
    graph: nx.Graph[Any], value: Value | None = None
) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...], Int]:
    """Number of the layer that holds each value, for each node.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected and connected.
    value : mapping or callable, optional
        Query value of a node; the nodes themselves unless told.

    Returns
    -------
    tuple
        Nodes in the order of the graph, values in the order in which the nodes show them, int array ``(n, m)``.

    Raises
    ------
    StatementError
        If the graph is no undirected graph, or a value is out of reach of a node.

    Examples
    --------
    >>> import networkx as nx
    >>> level_matrix(nx.path_graph([-1, 0, 1]), abs)[2].tolist()
    [[0, 1], [1, 0], [0, 1]]
    """
    inputs = tuple(graph)
    layers = [bfs_partition(graph, node, value) for node in inputs]
    place: dict[Any, int] = {}
    for partition in layers:
        place.setdefault(next(iter(partition[0])), len(place))
    levels = np.full((len(inputs), len(place)), -1, dtype=np.int64)
    for row, partition in zip(levels, layers, strict=True):
        for number, layer in enumerate(partition):
            row[[place[held] for held in layer]] = number
    if (levels < 0).any():
        x, r = np.argwhere(levels < 0)[0]
        raise StatementError(f"the value {list(place)[r]!r} is out of reach of node {inputs[x]!r}", do="join the parts")
    return inputs, tuple(place), frozen(levels)


def _read(utility: str | Utility | ArrayLike) -> str | Utility:
    return utility if isinstance(utility, (str, Utility)) else Utility(np.asarray(utility, dtype=float), "gain")
