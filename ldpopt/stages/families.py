r"""Families of distributions of the answers with one parameter.

A number of a family is reported by its bin: the answers are finitely many. With :math:`p_x(\theta)`
the probability of bin ``x``, a report of a channel ``P`` has the probability
:math:`\sum_x p_x(\theta) P_{xy}`, and what a bin tells of the parameter is its score
:math:`\partial \log p_x / \partial \theta`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import read_alphabet
from ldpopt.foundation.numbers import Float, Int, real_array, real_number, short_repr, whole_number
from ldpopt.problem.prior import read_prior

STEP = 1e-5  # of numeric derivatives, as a share of the domain
BINS = 60
GRID = 400  # parts of the domain at which a likelihood is computed
MOST_BINS = 2000
REACH = 3.0  # standard deviations beyond the domain that have bins of their own


class AnswerFamily(ABC):
    """Distributions of the answers, one for each value of a parameter within a domain.

    Attributes
    ----------
    domain : tuple of float
        Least and largest value of the parameter.
    inputs : tuple of hashable
        The answers, in their order.
    """

    domain: tuple[float, float]
    inputs: tuple[Hashable, ...]

    @abstractmethod
    def probabilities(self, theta: float) -> Float:
        """Probability of each answer, shape (n,), at a value of the parameter."""

    def scores(self, theta: float) -> Float:
        """Derivatives of the logarithms of the probabilities, shape (n,); 0 for an answer that
        nobody gives.
        """
        low, high = self.domain
        step = STEP * (high - low)
        value = self.read(theta)
        before = max(low, value - step)
        after = min(high, value + step)
        p = self.probabilities(value)
        slope = (self.probabilities(after) - self.probabilities(before)) / (after - before)
        return np.asarray(np.divide(slope, p, out=np.zeros_like(p), where=p > 0))

    @cached_property
    def on_grid(self) -> tuple[Float, Float]:
        """Values over the domain in equal steps, and the probabilities at each, shape (., n)."""
        values = np.linspace(*self.domain, GRID + 1)
        return values, np.array([self.probabilities(value) for value in values])

    def read(self, theta: Any) -> float:
        """Read a value of the parameter; one beyond the domain becomes its end."""
        return float(np.clip(real_number(theta, "the parameter"), *self.domain))

    def __repr__(self) -> str:
        low, high = self.domain
        return f"{type(self).__name__}({low:g} to {high:g}, {len(self.inputs)} answers)"


class GaussianMean(AnswerFamily):
    r"""The mean of normally distributed numbers with a known standard deviation, by bins.

    .. math:: p_x(\theta) = \Phi\!\left(\frac{b_{x+1} - \theta}{\sigma}\right)
              - \Phi\!\left(\frac{b_x - \theta}{\sigma}\right)

    Parameters
    ----------
    sd : float
        Standard deviation, positive, in the unit of the numbers.
    domain : tuple of float
        Least and largest value that the mean may have.
    bins : int
        Number of bins of equal length from 3 deviations below the domain to 3 above; the outer ones
        are unbounded. From 2 to 2000; default: ``60``.

    Raises
    ------
    StatementError
        If the deviation is not positive, or the domain is not an interval.

    Examples
    --------
    >>> family = GaussianMean(1.0, (-3, 3), bins=12)
    >>> family.code([-9.0, 0.2, 0.9]).tolist(), family.probabilities(0.0).round(3)[5:7]
    ([0, 6, 6], array([0.341, 0.341]))
    """

    def __init__(self, sd: float, domain: tuple[float, float], *, bins: int = BINS) -> None:
        self.sd = _positive(sd, "sd")
        self.domain = _read_domain(domain)
        low, high = self.domain
        reach = REACH * self.sd
        self.edges = np.linspace(
            low - reach, high + reach, whole_number(bins, "bins", 2, MOST_BINS) + 1
        )
        self.inputs = tuple(range(len(self.edges) - 1))

    def probabilities(self, theta: float) -> Float:
        """Probability of each bin, shape (n,)."""
        from scipy.special import ndtr

        z = (self.edges[1:-1] - self.read(theta)) / self.sd
        # each bin from the nearer tail: differences of numbers near 1 would cancel
        upper = ndtr(-np.append(z, np.inf)), ndtr(-np.append(-np.inf, z))
        lower = ndtr(np.append(z, np.inf)), ndtr(np.append(-np.inf, z))
        is_right = np.append(-np.inf, z) > 0
        return np.asarray(np.where(is_right, upper[1] - upper[0], lower[0] - lower[1]))

    def scores(self, theta: float) -> Float:
        """Derivatives of the logarithms of the probabilities of the bins, shape (n,)."""
        z = (self.edges[1:-1] - self.read(theta)) / self.sd
        density = np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * self.sd)
        slope = np.append(0.0, density) - np.append(density, 0.0)
        p = self.probabilities(theta)
        return np.asarray(np.divide(slope, p, out=np.zeros_like(p), where=p > 0))

    def code(self, numbers: Any) -> Int:
        """The bin of each number, shape (N,), which is what a person's device reports on.

        Raises
        ------
        StatementError
            If a number is missing.
        """
        values = real_array(numbers, "list of numbers")
        if np.isnan(values).any():
            raise StatementError(
                "a number is missing (nan)",
                code="missing-answer",
                do="leave out people who did not answer",
            )
        return np.searchsorted(self.edges[1:-1], values, side="right")


class Rate(AnswerFamily):
    r"""The rate of a number of events with the Poisson distribution, such as visits in a year.

    .. math:: p_x(\theta) = e^{-\theta} \theta^x / x!, \quad x < m; \qquad
              p_m = 1 - \sum_{x < m} p_x

    Parameters
    ----------
    domain : tuple of float
        Least and largest rate, above 0.
    most : int, optional
        Answers are 0, 1, ..., ``most``, which means "or more". Default: such that a larger number
        has a probability below 1e-3 at the largest rate.

    Raises
    ------
    StatementError
        If the domain is no interval of positive numbers, or needs more than 2000 answers.

    Examples
    --------
    >>> Rate((0.5, 4), most=3).probabilities(1.0).round(3)
    array([0.368, 0.368, 0.184, 0.08 ])
    """

    def __init__(self, domain: tuple[float, float], *, most: int | None = None) -> None:
        self.domain = _read_domain(domain)
        _positive(self.domain[0], "the least rate")
        if most is None:
            rate = self.domain[1]
            most = math.ceil(rate + 3.3 * math.sqrt(rate) + 3)
        self.most = whole_number(most, "most", 1, MOST_BINS - 1)
        self.inputs = tuple(range(self.most + 1))

    def probabilities(self, theta: float) -> Float:
        """Probability of each number of events, shape (n,)."""
        from scipy.special import gammainc, gammaln

        rate = self.read(theta)
        x = np.arange(len(self.inputs))
        p = np.exp(x * math.log(rate) - rate - gammaln(x + 1))
        p[-1] = gammainc(x[-1], rate)  # of so many or more
        return np.asarray(p)

    def code(self, numbers: Any) -> Int:
        """The answer of each number of events, shape (N,): the largest one stands for more.

        Raises
        ------
        StatementError
            If a number is not a whole number from 0 on.
        """
        values = real_array(numbers, "list of numbers")
        if not (values == np.floor(values)).all() or (values < 0).any():
            raise StatementError(
                "a number of events is not a whole number from 0 on",
                code="number-of-events",
                do="pass counts; leave out people who did not answer",
            )
        return np.minimum(values, self.most).astype(np.int64)


class FamilyOf(AnswerFamily):
    """A family that a function states; made by `family_of`."""

    def __init__(
        self,
        function: Callable[[float], Any],
        domain: tuple[float, float],
        inputs: tuple[Hashable, ...],
    ) -> None:
        self._function = function
        self.domain = domain
        self.inputs = inputs

    def probabilities(self, theta: float) -> Float:
        """What the function returns, checked."""
        value = self.read(theta)
        return read_prior(self._function(value), self.inputs, f"distribution at {value:g}")[0]


def family_of(
    function: Callable[[float], Any],
    domain: tuple[float, float],
    inputs: Sequence[Hashable] | None = None,
) -> AnswerFamily:
    """State a family by a function of the parameter.

    Parameters
    ----------
    function : callable
        From a value of the parameter to the probabilities of the answers, shape (n,), or by label;
        smooth: derivatives are central differences.
    domain : tuple of float
        Least and largest value of the parameter.
    inputs : sequence of hashable, optional
        Labels of the answers. Default: ``0, 1, ...``.

    Returns
    -------
    AnswerFamily
        With numeric scores.

    Raises
    ------
    StatementError
        If the function or the domain does not fit, or the function returns no distribution.

    Examples
    --------
    >>> family_of(lambda t: [1 - t, t], (0.1, 0.9), ["no", "yes"]).scores(0.5).round(6)
    array([-2.,  2.])
    """
    if not callable(function):
        raise StatementError(
            f"{short_repr(function)} is not a function",
            code="function",
            do="pass a function of one number, or a family such as GaussianMean",
        )
    ends = _read_domain(domain)
    if inputs is None:
        first, labels = read_prior(function((ends[0] + ends[1]) / 2), None, "distribution")
        inputs = range(len(first)) if labels is None else labels
    family = FamilyOf(function, ends, tuple(read_alphabet(inputs)))
    for end in ends:
        family.probabilities(end)
    return family


def _read_domain(domain: Any) -> tuple[float, float]:
    """Read the ends of a domain."""
    if not isinstance(domain, (tuple, list)) or len(domain) != 2:
        raise StatementError(
            f"domain = {short_repr(domain)} is not (least, largest)",
            code="domain",
            do="pass two numbers",
        )
    low, high = (real_number(end, "an end of the domain", -1e150, 1e150) for end in domain)
    if not low < high:
        raise StatementError(
            f"the domain from {low:g} to {high:g} is empty",
            code="domain",
            do="pass (least, largest)",
        )
    return low, high


def _positive(value: Any, name: str) -> float:
    """Read a positive number."""
    number = real_number(value, name, 0.0, 1e150)
    if not number > 0:
        raise StatementError(
            f"{name} = {number:g} is not positive", code="positive", do="pass a number above 0"
        )
    return number
