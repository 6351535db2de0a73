"""Find the closed forms that apply to a problem; nothing is solved."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ldpopt.closed_forms.binary import binary
from ldpopt.closed_forms.bins import bins
from ldpopt.closed_forms.form import ClosedForm
from ldpopt.closed_forms.kernel import hop_distances, kernel
from ldpopt.closed_forms.path_graph import path_graph
from ldpopt.closed_forms.top_k import top_k
from ldpopt.closed_forms.warner import minimax
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.labels import label_numbers
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import GraphDP, MetricDP
from ldpopt.problem.problem import Problem


@dataclass(frozen=True)
class Match:
    """A closed form whose family fits the problem.

    ``build`` raises NotRepresentableError or StatementError if the condition of the theorem fails
    (a kernel with a negative entry, a loss that is not monotone).
    """

    name: str  # of the function in `ldpopt.closed_forms`
    build: Callable[[], ClosedForm]
    order: tuple[int, ...]  # for each answer of the form, its code in the problem

    def mechanism(self, form: ClosedForm, problem: Problem) -> Mechanism:
        """Return the form's mechanism in the order of the problem, with the labels of the
        problem.
        """
        positions = np.argsort(self.order)
        return Mechanism(
            form.mechanism.channel[np.ix_(positions, positions)], problem.inputs, problem.outputs
        )


def recognize(problem: Problem) -> list[Match]:
    """List the closed forms that may apply to a problem, the most special first."""
    # Each family is optimal if its condition holds, so all that can be built agree. O(n**2).
    n, m = problem.utility.shape
    if n != m or problem.constraints:
        return []
    privacy: Any = problem.privacy
    ties = problem.definition()
    is_truth = problem.utility.sense == "gain" and np.array_equal(problem.utility.matrix, np.eye(n))
    same = tuple(range(n))
    if ties is not None and ties.is_complete:
        return _all_pairs(problem, is_truth, ties.budget, ties.delta, same)
    prior = problem.prior
    if prior is None or not is_truth:
        return []
    if isinstance(privacy, GraphDP) and privacy.notes(problem.inputs):
        return []  # the families below are for connected graphs
    matches = []
    line = _line(privacy, problem)
    if line:
        # the form then has labels too
        weights = {problem.inputs[code]: float(prior[code]) for code in line}
        matches.append(Match("path_graph", lambda: path_graph(weights, privacy.epsilon), line))
    if isinstance(privacy, (GraphDP, MetricDP)):
        read: Any = (
            privacy.matrix
            if isinstance(privacy, MetricDP)
            else partial(hop_distances, privacy.graph)
        )
        matches.append(
            Match("kernel", lambda: kernel(read(problem.inputs), prior, privacy.epsilon), same)
        )
    return matches


def closed_form(problem: Problem) -> ClosedForm | None:
    """Return the first closed form whose condition holds, or None."""
    for candidate in recognize(problem):
        with suppress(NotRepresentableError, StatementError):
            return candidate.build()
    return None


def _all_pairs(
    problem: Problem, is_truth: bool, epsilon: Any, delta: float, same: tuple[int, ...]
) -> list[Match]:
    """Return the families for notions that compare all pairs of answers alike."""
    n = len(same)
    prior = problem.prior
    if prior is None:
        return [Match("minimax", lambda: minimax(n, epsilon, delta), same)] if is_truth else []
    if is_truth:
        truthful = [Match("binary", lambda: binary(prior, epsilon, delta), same)] if n == 2 else []
        return [*truthful, Match("top_k", lambda: top_k(prior, epsilon, delta), same)]
    if problem.utility.sense != "loss" or delta:
        return []
    # If the labels are numbers, the answers are ordered by them; otherwise they keep the order of
    # the problem.
    numbers = label_numbers(problem.inputs)
    order = np.arange(n) if numbers is None else np.argsort(np.array(numbers), kind="stable")
    rank = np.argsort(order)
    table = problem.utility.matrix[np.ix_(order, order)]
    return [
        Match(
            "bins",
            lambda: bins(prior, rank, epsilon, lambda v, w: float(table[int(v), int(w)])),
            same,
        )
    ]


def _line(privacy: Any, problem: Problem) -> tuple[int, ...]:
    """Return the codes of the inputs along the path; empty if the graph, which is connected, is not
    a path.
    """
    if not isinstance(privacy, GraphDP):
        return ()
    import networkx as nx

    degrees = [sum(other != node for other in privacy.graph[node]) for node in privacy.graph]
    if degrees.count(1) != 2 or max(degrees) > 2:
        return ()
    codes = {label: code for code, label in enumerate(problem.inputs)}
    ends = [node for node, degree in zip(privacy.graph, degrees, strict=True) if degree == 1]
    walk = nx.dfs_preorder_nodes(privacy.graph, min(ends, key=codes.__getitem__))
    return tuple(codes[label] for label in walk)
