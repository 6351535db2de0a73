"""Graphs and metrics for which the inverse of the kernel ``exp(-epsilon d)`` gives the optimum."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpopt.closed_forms.form import ClosedForm
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labelled import Labelled
from ldpopt.foundation.numbers import Float, frozen
from ldpopt.privacy import MetricDP, Notion
from ldpopt.privacy.metric import read_distance
from ldpopt.problem.prior import read_prior

# largest relative gap between the channel's value and the bound that the multipliers prove
MAX_GAP = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel(ClosedForm):
    r"""Result of `kernel`; ``K = exp(-epsilon d)``.

    Parameters
    ----------
    distance : ndarray, shape (n, n)
        Lengths of shortest paths by the given distance.
    column_weights : ndarray, shape (n,)
        :math:`K^{-1} 1 \ge 0`.
    dual : ndarray, shape (n,)
        :math:`K^{-1} \pi \ge 0`; sums to the value.
    gap : float
        Relative gap between the channel's value and the bound by the dual, caused by rounding.
    """

    distance: Float = field(repr=False)
    column_weights: Float = field(repr=False)
    dual: Float = field(repr=False)
    gap: float
    prior: Float = field(repr=False)

    @property
    def privacy(self) -> Notion:
        """Metric privacy for the distance."""
        return MetricDP(
            self.epsilon, self.distance, None if isinstance(self.inputs, range) else self.inputs
        )

    @property
    def channel(self) -> Float:
        """``K diag(K^-1 1)`` in floats, shape ``(n, n)``, rows divided by their sums."""
        channel = np.exp(-float(self.epsilon) * self.distance) * self.column_weights
        return np.asarray(channel / channel.sum(axis=1, keepdims=True))


def kernel(distance: Any, prior: Any, epsilon: float | str) -> Kernel:
    r"""Find the largest probability of a truthful report under a graph or a metric, by its kernel.

    .. math:: K_{ij} = e^{-\epsilon d(i,j)}, \qquad u^* = 1^T K^{-1} \pi \quad
              \text{if } K^{-1} 1 \ge 0 \text{ and } K^{-1} \pi \ge 0

    Parameters
    ----------
    distance : array_like, shape (n, n), or DataFrame or mapping of mappings, or networkx graph
        Symmetric, finite, positive off the diagonal; replaced by its shortest-path closure. A
        connected graph stands for its hop distance, in the order of its nodes.
    prior : array_like, shape (n,), or mapping label -> weight
        As in `top_k`; labels are aligned with the nodes of a graph, or with a labelled distance.
    epsilon : float or str
        Budget of distance 1 in nats, ``0 < epsilon <= 10000``, or ``"log(3)"``.

    Returns
    -------
    Kernel
        Value, ``dual``, ``column_weights``, ``gap``; channel ``(n, n)``, sampled by its alias
        table.

    Raises
    ------
    StatementError
        If the distance is not a metric, or the prior or budget is ill posed.
    NotRepresentableError
        If the theorem does not apply (the message names a negative entry of ``K^-1 1`` or ``K^-1
        prior``), or if float accuracy is too low to decide.

    Utility
    -------
    Expected share of truthful reports: the identity gain.

    Notes
    -----
    The channel is private by the triangle inequality; every private channel has ``p_ij >= K_ij
    p_jj``, so with ``y = K^-1 prior >= 0`` its utility is at most ``sum y``. The computed y is
    scaled such that ``K y >= prior`` holds; its bound must agree with the channel's value within
    1e-9. O(n**3).

    References
    ----------
    Brenner and Nissim 2010: on general graphs no mechanism is optimal for all priors.

    Examples
    --------
    >>> kernel([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [0.3, 0.4, 0.3], "log(3)").column_weights
    array([0.75, 0.5 , 0.75])
    """
    budget = Budget(epsilon)
    metric, weights, inputs = _read(distance, prior)
    if not budget:
        problem = (
            "at epsilon = 0 all reports have the same distribution, and the kernel theorem "
            "does not apply"
        )
        raise StatementError(problem, do="give epsilon > 0")
    matrix = np.exp(-float(budget) * metric)
    try:
        columns, dual = np.linalg.solve(
            matrix, np.stack([np.ones(len(weights)), weights], axis=1)
        ).T
    except np.linalg.LinAlgError:
        raise NotRepresentableError(
            "the kernel exp(-epsilon d) is singular in floats", do="use solve"
        ) from None
    for name, vector in (("1", columns), ("prior", dual)):
        worst = int(np.argmin(vector))
        if vector[worst] < -1e-12 * np.abs(vector).max():
            problem = (
                f"the kernel theorem does not apply: (K^-1 {name})[{inputs[worst]!r}] = "
                f"{vector[worst]:.6g} < 0"
            )
            do = (
                "solve(Problem(prior, 'identity', GraphDP(epsilon, graph) or "
                "MetricDP(epsilon, distance)))"
            )
            raise NotRepresentableError(problem, code="kernel", do=do)
    columns, dual = np.maximum(columns, 0), np.maximum(dual, 0)
    value = float(weights @ columns / (matrix @ columns).max())
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = np.where(weights > 0, weights / (matrix @ dual), 0).max()
    bound = float(dual.sum() * stretch)
    gap = max(0.0, bound - value) / bound if bound < np.inf else np.inf
    if not gap <= MAX_GAP:
        problem = (
            f"float accuracy is too low for the kernel theorem: relative gap {gap:.3g} at "
            f"epsilon = {budget!r}"
        )
        raise NotRepresentableError(problem, do="use solve, or a larger epsilon")
    common: Any = {
        "value": float(dual.sum()),
        "inputs": inputs,
        "epsilon": budget,
        "prior": weights,
    }
    return Kernel(
        **common,
        distance=frozen(metric),
        column_weights=frozen(columns),
        dual=frozen(dual),
        gap=gap,
    )


def _read(distance: Any, prior: Any) -> tuple[Float, Float, Any]:
    """Read the metric, closed by shortest paths, the prior and the labels, in the order of a
    labelled distance.
    """
    table = _read_graph(distance) if hasattr(distance, "adj") else read_distance(distance)
    weights, labels = read_prior(prior, table.axes[0])
    n = len(weights)
    if table.values.shape != (n, n):
        problem = f"the distance has shape {table.values.shape}; the prior has {n} answers"
        raise StatementError(problem, do="give a distance for each pair of answers")
    if np.isinf(table.values).any():
        raise StatementError(
            "some answers are infinitely far apart",
            do="solve each connected part as its own problem",
        )
    metric = table.values
    for middle in range(n):  # the private channels are the same, and the triangle inequality holds
        metric = np.minimum(metric, metric[:, [middle]] + metric[[middle], :])
    return metric, weights, table.axes[0] or labels or range(n)


def _read_graph(graph: Any) -> Labelled:
    """Read the hop distances of a graph, in the order of its nodes."""
    if graph.is_directed():
        raise StatementError(
            "the graph is directed; neighbors are mutual", do="pass graph.to_undirected()"
        )
    nodes = tuple(graph)
    return Labelled(hop_distances(graph, nodes), (nodes, nodes), "graph", ("input", "input"))


def hop_distances(graph: Any, nodes: Sequence[Hashable]) -> Float:
    """Return the number of edges between all pairs of nodes, infinite between parts of the
    graph.
    """
    import networkx as nx
    from scipy.sparse.csgraph import shortest_path

    return np.asarray(
        shortest_path(nx.to_scipy_sparse_array(graph, nodes, weight=None), unweighted=True)
    )
