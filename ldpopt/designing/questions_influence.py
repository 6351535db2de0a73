"""How far one report of a design for tables of many questions moves its numbers."""

from itertools import product

import numpy as np

from ldpopt.designing.questions_counts import TableCounts, signs
from ldpopt.foundation.numbers import Float


def influence_ends(counts: TableCounts) -> tuple[Float, Float]:
    """By how much a report raises and lowers each number at most, each of shape (k,)."""
    ends = {ways: _ends_of(counts, ways) for ways in {len(chosen) for chosen, _ in counts.tables}}
    raises = []
    lowers = []
    for chosen, factor in counts.tables:
        least, most = ends[len(chosen)]
        # A share is from 0 to 1; that of the table of no question is 1.
        moved = (most, 1 - least) if chosen else (0.0, 0.0)
        up, down = moved if factor > 0 else moved[::-1]
        raises.append(np.full(2 ** len(chosen), abs(factor) * up))
        lowers.append(np.full(2 ** len(chosen), abs(factor) * down))
    return np.concatenate(raises), np.concatenate(lowers)


def _ends_of(counts: TableCounts, ways: int) -> tuple[float, float]:
    """The least and the largest value of a report for a cell of a table of some number of
    questions: over all kinds, and the parts of the kind that its questions can be in.
    """
    least = most = 1.0
    d = len(counts.workload.attributes)
    for place, kind in enumerate(counts.kinds):
        sizes = (*kind.parts, d - kind.questions)
        for parts in product(range(len(sizes)), repeat=ways):
            if any(parts.count(part) > size for part, size in enumerate(sizes)):
                continue
            # each answer to a question may be the one that counts as 0
            cells = signs(ways) @ counts.patterns(place, parts)[0] / 2**ways
            least = min(least, float(cells.min()))
            most = max(most, float(cells.max()))
    return least, most
