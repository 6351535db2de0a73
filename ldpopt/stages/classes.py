"""Families of a number that is asked by classes: the outer classes stand for everything beyond."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ldpopt.stages.families import GaussianMean, Rate

if TYPE_CHECKING:
    from ldpopt.foundation.numbers import Float


class NormalClasses(GaussianMean):
    """The mean of normally distributed numbers, by classes with the given ends."""

    def __init__(
        self,
        sd: float,
        domain: tuple[float, float],
        edges: Sequence[float],
        inputs: Sequence[Hashable],
    ) -> None:
        super().__init__(sd, domain, bins=2)
        self.edges = np.array(edges, dtype=np.float64)
        self.inputs = tuple(inputs)


class RateClasses(Rate):
    """The rate of a number of events, by classes that begin with given numbers, the first with 0;
    the last one has no end.
    """

    def __init__(
        self, domain: tuple[float, float], starts: Sequence[float], inputs: Sequence[Hashable]
    ) -> None:
        super().__init__(domain, most=1)
        self.starts = np.array(starts, dtype=np.float64)
        self.inputs = tuple(inputs)

    def probabilities(self, theta: float) -> Float:
        """Probability of each class, shape (n,)."""
        from scipy.special import gammainc, gammaincc

        rate = self.read(theta)
        inner = self.starts[1:]
        below = np.concatenate([[0.0], gammaincc(inner, rate), [1.0]])
        above = np.concatenate([[1.0], gammainc(inner, rate), [0.0]])
        # each class from the nearer tail: differences of numbers near 1 would cancel
        is_right = self.starts > rate
        return np.asarray(np.where(is_right, above[:-1] - above[1:], np.diff(below)))
