"""The units of a sample whose reports are sets of a few sizes: how often each size, and each
answer in a set of a size, and the errors that follow from these sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.estimation.counts import Counts
from ldpopt.estimation.sampled import SampledNumbers
from ldpopt.foundation.numbers import Float, Int, require_memory


def totals_of(sizes: int, n: int) -> Int:
    """Of each column the column of all sets of its size, which is the first of the size."""
    return np.repeat(np.arange(sizes) * (n + 1), n + 1)


def entries_of(ordered: NDArray[Any], sizes: Int, known: tuple[int, ...], n: int) -> Int:
    """Columns of sets, from rows that are filled up in front: that of the size, those of the
    answers, and -1 in place of what a smaller set has not.
    """
    start = np.searchsorted(known, sizes) * (n + 1)
    entries = np.where(ordered < 0, -1, start[:, None] + 1 + ordered)
    return np.concatenate([start[:, None], entries], axis=1)


@dataclass(frozen=True, eq=False)
class SizesNoise:
    """The variance of the values of sets by randomization alone: of the people with an answer, and
    of all others.
    """

    values: Float  # of a set in the frequency of an answer in it, and out of it, (s, 2)
    squares: tuple[float, float]  # means of their squares, of people with the answer and of others
    places: Any  # (k,): of the frequencies

    def at(self, rows: slice) -> SizesNoise:
        """That of some of the frequencies."""
        return replace(self, places=self.places[rows])

    def covariance(self, squares: Float) -> Float:
        """That of the sums of people with some squared weights: the diagonal, (k, k)."""
        rows = squares.reshape(len(self.values), -1)
        inside, outside = self.values.T
        of_size = rows[:, 0]
        people = of_size.sum()
        truth = outside @ of_size + (inside - outside) @ rows[:, 1:][:, self.places]
        truth = np.clip(truth, 0.0, people)
        of_truth, others = self.squares
        return np.diag(truth * (of_truth - 1) + (people - truth) * others)


def numbers_of_sample(
    counts: Counts, estimates: Float, values: Float, squares: tuple[float, float]
) -> SampledNumbers | None:
    """What is known from a sample of the errors of frequencies; None without a sample."""
    if counts.sampled is None:
        return None
    k = len(estimates)
    require_memory(8.0 * k * len(counts.values), "the influence of reports on estimates")
    deviations = np.zeros((k, len(values), k + 1))
    deviations[:, :, 0] = values[:, 1] - estimates[:, None]
    answers = np.arange(k)
    deviations[answers, :, answers + 1] = values[:, 0] - values[:, 1]
    return SampledNumbers(
        counts.sampled,
        deviations.reshape(k, -1),
        counts.total,
        SizesNoise(values, squares, answers),
    )
