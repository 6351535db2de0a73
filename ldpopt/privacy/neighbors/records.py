"""The relation of the central model: data sets that differ by one record."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import short_repr, whole_number
from ldpopt.privacy.neighbors.relation import MOST_CELLS, graph_of

if TYPE_CHECKING:
    from ldpopt.privacy.neighbors.relation import Graph

MOST_COUNTS = 500_000
"""Of all histograms of a graph together; histograms are no more than `MOST_CELLS`."""


def histograms(bins: int, most: int) -> Graph:
    """Tie histograms that differ by one record: the data sets of the central model, up to the order of records.

    Parameters
    ----------
    bins : int
        Kinds of records, at least 1.
    most : int
        Largest number of records, at least 0.

    Returns
    -------
    networkx.Graph
        Nodes are tuples of counts with a sum of at most ``most``: ``C(most + bins, bins)`` of them.

    Raises
    ------
    StatementError
        If there is no bin or a negative number of records.

    Notes
    -----
    A linear query is a ``value`` such as ``lambda h: 3 * h[0] + 5 * h[1]``, that is ``A h`` made hashable; its steps
    are the columns of A.

    Examples
    --------
    >>> sorted(histograms(2, 1))
    [(0, 0), (0, 1), (1, 0)]
    """
    bins, most = whole_number(bins, "bins", 1), whole_number(most, "most")
    count, few, many = 1, min(bins, most), max(bins, most)
    for k in range(1, few + 1):
        count = count * (many + k) // k  # C(many + k, k)
        if count > MOST_CELLS or count * bins > MOST_COUNTS:
            raise StatementError(
                f"there are too many histograms of {short_repr(bins)} bins and up to {short_repr(most)} records",
                do="no channel has so many inputs: merge bins, or take fewer records",
            )
    # Counts are the gaps between bars among stars; what is right of the last bar is left out.
    held = [tuple(b - a - 1 for a, b in pairwise((-1, *bars))) for bars in combinations(range(most + bins), bins)]
    fuller = ((h, (*h[:k], h[k] + 1, *h[k + 1 :])) for h in held if sum(h) < most for k in range(bins))
    return graph_of(held, fuller)
