"""Relations by steps between integers: Cayley graphs, and windows of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import is_whole, short_repr
from ldpopt.privacy.neighbors.relation import distinct, graph_of

if TYPE_CHECKING:
    from ldpopt.privacy.neighbors.relation import Graph


def cayley(elements: int | range, generators: Iterable[int]) -> Graph:
    """Tie integers that differ by a generator: modulo ``N``, or within a range.

    Parameters
    ----------
    elements : int or range
        ``N >= 2`` for the cyclic group of 0 .. N-1; a range for a window of the integers.
    generators : iterable of int
        Steps, used both ways; 0 (and multiples of N) tie nothing.

    Returns
    -------
    networkx.Graph
        On the cyclic group every node looks like every other (vertex-transitive); at the ends of a range it does not.

    Raises
    ------
    StatementError
        If there are no elements, or a generator is not an integer.

    Examples
    --------
    >>> sorted(cayley(8, [1, 3])[0]), sorted(cayley(range(8), [1, 3])[0])
    ([1, 3, 5, 7], [1, 3])
    """
    steps = list(generators)
    wrong = [step for step in steps if not is_whole(step)]
    if wrong:
        raise StatementError(f"the generator {short_repr(wrong[0])} is not an integer")
    if isinstance(elements, range):
        held = elements
        return graph_of(distinct(held), ((x, x + int(s)) for x in held for s in steps if s and x + int(s) in held))
    if not is_whole(elements, 2):
        raise StatementError(
            f"{short_repr(elements)} is not a group of integers", do="pass N >= 2 for 0 .. N-1, or a range"
        )
    n = int(elements)
    return graph_of(range(n), ((x, (x + int(s)) % n) for x in range(n) for s in steps if s % n))
