r"""Maximum likelihood and its errors.

Steps have the outer products of the scores as their matrix, which is never indefinite, and are
halved until the likelihood rises; near the maximum they are Newton steps with the observed
information

.. math:: H = - \sum_i w_i \, \frac{\partial^2 \log q_i}{\partial \theta \, \partial \theta^T} ,

in closed form for the softmax, else by central differences of the exact score with steps of 1e-5,
of columns of deviation 1. Errors are those of :math:`H^{-1}`; with weights, strata ``h`` or
clusters ``u``

.. math:: H^{-1} B H^{-1}, \qquad
          B = \sum_h \frac{n_h}{n_h - 1} \sum_{u \in h} (s_u - \bar s_h)(s_u - \bar s_h)^T,
          \qquad s_u = \sum_{i \in u} w_i \, \nabla \log q_i .

A finite population has no part in ``B``: coefficients are those of a model, not of a population.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ldpopt.errors import LimitReachedError, StatementError
from ldpopt.estimation.regression.columns import Units
from ldpopt.estimation.regression.margins import unexplained
from ldpopt.foundation.numbers import Float, Int, short_repr

STEPS = 200  # largest number of steps by outer products
NEAR = 30.0  # twice the log-likelihood that a step may gain, below which Newton steps begin,
NEARER = 1e-3  # and where the information must be positive
MANY = 20_000  # rows, from which on the search begins at the maximum of a part of them,
THINNED = 10  # each tenth
NEWTON_STEPS = 12  # with one matrix, which
SLOW = 0.1  # is computed again if a step gains more than this share of the one before
ROUNDS = 20  # matrices
DONE = 1e-18  # twice what a step may gain at the maximum: 1e-9 standard errors
ROUNDING = 1e-12  # share of the log-likelihood that is rounding
SHORTEST = 1e-10  # part of a step
DIFFERENCE = 1e-5
LARGEST = 15.0  # coefficient, of a column of deviation 1, that no maximum has
DO = (
    "leave out covariates or merge answers: without a maximum, some group of people seems to give "
    'one answer only, or nobody gives one of the answers, such as "no answer"'
)


class Likelihood(Protocol):
    """A log-likelihood of ``d`` coefficients."""

    def value_and_gradient(self, theta: Float) -> tuple[float, Float]:
        """The value, and the gradient of shape (d,)."""

    def scores(self, theta: Float) -> tuple[float, Float]:
        """The value, and the gradients of the rows, shape (M, d)."""

    def information(self, theta: Float) -> Float | None:
        """Minus the second derivatives, shape (d, d), where they have a closed form."""

    def thinned(self, step: int) -> Likelihood:
        """The same of some of the rows."""

    @property
    def start(self) -> Float:
        """Where the search begins, shape (d,)."""

    @property
    def weights(self) -> Float:
        """Weight of each row, shape (M,)."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The maximum of a likelihood."""

    theta: Float  # (d,)
    value: float
    information: Float  # (d, d): observed

    @property
    def covariance(self) -> Float:
        """Inverse of the observed information."""
        return _inverse(self.information)


def maximize(model: Likelihood, done: float = DONE) -> Fit:
    """Find the most likely coefficients, until a step gains no more than ``done``.

    Raises
    ------
    LimitReachedError
        If a coefficient passes `LARGEST`, or there is no maximum near.
    """
    theta = _start(model)
    for near in (NEAR, NEARER):
        point = _climb(model, theta, near)
        with suppress(np.linalg.LinAlgError):  # the information is not positive yet
            return _newton(model, point, done)
        theta = point.theta
    raise _no_maximum("the likelihood has no maximum near", "information")


def _start(model: Likelihood) -> Float:
    """Where the search begins: with very many rows, at the maximum of a part of them."""
    if len(model.weights) >= MANY:
        with suppress(LimitReachedError):
            return maximize(model.thinned(THINNED), NEARER).theta
    return model.start


def _newton(model: Likelihood, point: _Reached, done: float) -> Fit:
    """Newton steps to the maximum.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the information is not positive somewhere.
    """
    for _ in range(ROUNDS):
        root = np.linalg.cholesky(observed(model, point.theta))
        last = np.inf
        for _ in range(NEWTON_STEPS):
            step = np.linalg.solve(root.T, np.linalg.solve(root, point.gradient))
            gain = float(point.gradient @ step)
            if gain <= done:
                return Fit(point.theta, point.value, observed(model, point.theta))
            if gain > SLOW * last:
                break
            last = gain
            point = _halved(model, point, step, gain)
    raise _no_maximum(f"the likelihood still rises from {point.value:.6g}", "steps")


@dataclass(frozen=True, eq=False)
class _Reached:
    """Coefficients, with the likelihood and its gradient there."""

    theta: Float
    value: float
    gradient: Float


def _climb(model: Likelihood, theta: Float, near: float) -> _Reached:
    """Steps by outer products of scores until the maximum is near."""
    for _ in range(STEPS):
        value, scores = model.scores(theta)
        gradient = model.weights @ scores
        matrix = (scores * model.weights[:, None]).T @ scores
        ridge = 1e-12 * max(float(np.trace(matrix)), np.finfo(float).tiny)
        step = np.linalg.solve(matrix + ridge * np.eye(len(theta)), gradient)
        gain = float(gradient @ step)
        if gain < near:
            break
        theta = _halved(model, _Reached(theta, value, gradient), step, gain).theta
    return _Reached(theta, *model.value_and_gradient(theta))


def _halved(model: Likelihood, start: _Reached, step: Any, gain: float) -> _Reached:
    """A step, halved until the likelihood rises by a small part of what it promises.

    Raises
    ------
    LimitReachedError
        If a coefficient passes `LARGEST`: the maximum is at infinity.
    """
    size = 1.0
    slack = ROUNDING * (1 + abs(start.value))
    while size > SHORTEST:
        there = start.theta + size * step
        reached = _Reached(there, *model.value_and_gradient(there))
        if reached.value >= start.value + 1e-4 * size * gain - slack:
            if not (np.abs(there) <= LARGEST).all():
                raise _no_maximum(
                    f"a coefficient passed {LARGEST:g} standard deviations of its column",
                    "separation",
                )
            return reached
        size /= 2
    return start


def observed(model: Likelihood, theta: Float) -> Float:
    """The observed information, shape (d, d)."""
    if (known := model.information(theta)) is not None:
        return known
    rows = [
        model.value_and_gradient(theta - shift)[1] - model.value_and_gradient(theta + shift)[1]
        for shift in DIFFERENCE * np.eye(len(theta))
    ]
    matrix = np.array(rows) / (2 * DIFFERENCE)
    return np.asarray((matrix + matrix.T) / 2)


def _no_maximum(what: str, code: str) -> LimitReachedError:
    return LimitReachedError(what, code=code, where="the likelihood", do=DO)


def _inverse(matrix: Float) -> Float:
    """Inverse of a positive definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    if not values[0] > 64 * len(matrix) * np.finfo(float).eps * values[-1]:
        raise _no_maximum("the reports do not show all coefficients", "flat")
    return np.asarray((vectors / values) @ vectors.T)


def sandwich(bread: Float, scores: Float, place: Int | None, units: Units) -> Float:
    """``bread @ B @ bread.T`` with the scores of different rows, shape (M, d), of which ``place``
    has one for each person.

    Raises
    ------
    StatementError
        If a stratum has one unit.
    """
    people = scores if place is None else scores[place]
    if units.weights is not None:
        people = people * units.weights[:, None]
        if units.margins:
            people = unexplained(people, units.weights, units.margins)
    meat = spread(people, units)
    return np.asarray(bread @ meat @ bread.T)


def spread(people: Float, units: Units) -> Float:
    """``B`` of the weighted scores of people, shape (N, d)."""
    number = np.arange(len(people)) if units.clusters is None else _nested(units)
    sums = people if units.clusters is None else _sums(people, number)
    strata = np.zeros(len(sums), dtype=np.int64)
    if units.strata is not None:
        strata[number] = units.strata
    sizes = np.bincount(strata)
    if (sizes == 1).any():
        unit = "person" if units.clusters is None else "cluster"
        place = int(np.argmax(sizes == 1))
        name = f"stratum {short_repr(units.names[place])}" if units.names else ""
        raise StatementError(
            f"a single {unit} does not show how {unit}s differ",
            code="one-unit",
            where=name,
            do="merge it with another stratum" if name else "name another column of clusters",
        )
    away = sums - (_sums(sums, strata) / sizes[:, None])[strata]
    factor = sizes / np.maximum(sizes - 1, 1)
    return np.asarray((away * factor[strata][:, None]).T @ away)


def freedom(units: Units) -> int | None:
    """Degrees of freedom of Student's t, clusters less strata; None without clusters."""
    if units.clusters is None:
        return None
    strata = 1 if units.strata is None else int(units.strata.max()) + 1
    return int(_nested(units).max()) + 1 - strata


def _nested(units: Units) -> Int:
    """Numbers of the clusters; those of different strata are different."""
    assert units.clusters is not None
    strata = 0 if units.strata is None else units.strata
    _, number = np.unique(units.clusters + (units.clusters.max() + 1) * strata, return_inverse=True)
    return np.asarray(number, dtype=np.int64)


def _sums(rows: Float, number: Int) -> Float:
    """Sums of rows by number."""
    from scipy.sparse import csr_array

    size = int(number.max()) + 1
    ones = np.ones(len(number))
    which: Any = csr_array((ones, (number, np.arange(len(number)))), shape=(size, len(number)))
    return np.asarray(which @ rows)
