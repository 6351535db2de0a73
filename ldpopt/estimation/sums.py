"""Sums of the numbers of a source, as a source of their own."""

from collections.abc import Sequence
from typing import Any

from ldpopt.estimation.counts import Counts, ListedSource
from ldpopt.foundation.numbers import Float


class Sums(ListedSource):
    """Sums of the numbers of a source."""

    wanted: Any = None
    names: Any = None

    def __init__(self, source: ListedSource, matrix: Float) -> None:
        self.source = source
        self.names = tuple(range(len(matrix)))
        self.mechanism = source.mechanism
        self.estimator = matrix @ source.estimator
        self.wanted = matrix @ source.wanted

    @property
    def channel(self) -> Float:
        """That of the source."""
        return self.source.channel

    @property
    def blocks(self) -> Sequence[slice]:
        """Those of the source."""
        return self.source.blocks

    def frequencies(self, counts: Counts) -> Float:
        """Those of the source."""
        return self.source.frequencies(counts)
