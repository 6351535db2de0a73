r"""Likelihoods of reports: a linear predictor behind answers that nobody sees.

A *family* has the probabilities :math:`p_x(z; \theta)` of the answers of a person with covariates
``z``. With :math:`L_x = P(y \mid x)` for the report ``y`` of that person, all that a likelihood
needs is

.. math:: h = \sum_x p_x L_x \qquad \text{and its slopes} \qquad
          \frac{\partial h}{\partial \eta_a}

in the predictors :math:`\eta`. For the softmax the slopes are :math:`p_a (L_a - h)`, so that the
score of a person is the outer product of (posterior - prior probabilities of the answers) and the
covariates: no Jacobian of shape (N, n, d) is made. For cumulative logits
:math:`F_a = \Pr(x \le a) = \Lambda(c_a - z \cdot b)` they are
:math:`F_a (1 - F_a) (L_a - L_{a+1})`.

A *mixture* has these for each combination ``c`` of answers of protected covariates, whose own
probabilities are a softmax of the clear covariates, and behaviors of people who follow no rule:

.. math:: q = g_0 \sum_c \pi_c(z) \, P(r \mid c) \, h_c
              + \sum_c \pi_c(z) \, P(r \mid c) \sum_b g_b P(y \mid b) .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Protocol

import numpy as np

from ldpopt.foundation.numbers import Float

FEW = -2.0  # logit of a behavior at the start


class Family(Protocol):
    """Probabilities of the answers by linear predictors."""

    @property
    def start(self) -> Float:
        """Coefficients where the search begins, shape (d,)."""

    def value(self, theta: Float, matrix: Float, likelihood: Float) -> tuple[Float, Float]:
        """The probability of each report, shape (M,), and its slopes in the predictors, (a, M), by
        the likelihood of each answer, (n, M).
        """

    def gradient(self, theta: Float, slopes: Float, matrix: Float) -> Float:
        """Sum over people of weighted slopes in the coefficients, shape (d,)."""

    def scores(self, theta: Float, slopes: Float, matrix: Float) -> Float:
        """The same for each person, shape (M, d)."""

    def shares(self, theta: Float, matrix: Float) -> Float:
        """Probabilities of the answers, shape (n, M)."""


@dataclass(frozen=True)
class Softmax:
    """Logits of the answers against the first one; with two answers logistic regression."""

    answers: int
    columns: int

    @property
    def start(self) -> Float:
        """Equal probabilities."""
        return np.zeros((self.answers - 1) * self.columns)

    def _terms(self, theta: Float, matrix: Float) -> tuple[Float, Float]:
        """Terms of the first answer, shape (M,), and of the others, (n - 1, M)."""
        others = theta.reshape(self.answers - 1, self.columns) @ matrix.T
        top = np.maximum(others.max(axis=0, initial=0.0), 0.0)
        others -= top
        np.exp(others, out=others)
        np.negative(top, out=top)
        return np.exp(top, out=top), others

    def value(self, theta: Float, matrix: Float, likelihood: Float) -> tuple[Float, Float]:
        """Slopes are ``p_a (L_a - h)``."""
        first, others = self._terms(theta, matrix)
        total = first + others.sum(axis=0)
        first *= likelihood[0]
        h = first
        for answer, term in enumerate(others, 1):
            h += term * likelihood[answer]
        h /= total
        slopes = likelihood[1:] - h
        slopes *= others
        slopes /= total
        return h, slopes

    def gradient(self, theta: Float, slopes: Float, matrix: Float) -> Float:
        """One block of coefficients for each answer."""
        return np.asarray((slopes @ matrix).ravel())

    def scores(self, theta: Float, slopes: Float, matrix: Float) -> Float:
        """Outer products of slopes and covariates."""
        each = [slope[:, None] * matrix for slope in slopes]
        return each[0] if len(each) == 1 else np.hstack(each)

    def shares(self, theta: Float, matrix: Float) -> Float:
        """Probabilities of the answers."""
        first, others = self._terms(theta, matrix)
        every = np.vstack([first, others])
        return np.asarray(every / every.sum(axis=0))

    def information(self, theta: Float, matrix: Float, likelihood: Float, weights: Float) -> Float:
        r"""The observed information of reports of the outcome alone, shape (d, d).

        With prior probabilities ``p`` and posterior ones :math:`r_x = p_x L_x / h` it is the sum of
        :math:`(\operatorname{diag} p - p p^T - \operatorname{diag} r + r r^T) \otimes z z^T`.
        """
        prior = self.shares(theta, matrix)
        posterior = prior * likelihood
        posterior /= posterior.sum(axis=0)
        size = self.columns
        blocks = np.empty((self.answers - 1, size, self.answers - 1, size))
        for a, b in combinations_with_replacement(range(self.answers - 1), 2):
            factor = posterior[a + 1] * posterior[b + 1] - prior[a + 1] * prior[b + 1]
            if a == b:
                factor += prior[a + 1] - posterior[a + 1]
            part = matrix.T @ (matrix * (factor * weights)[:, None])
            blocks[a, :, b] = part
            blocks[b, :, a] = part.T
        return blocks.reshape(len(theta), len(theta))


@dataclass(frozen=True)
class Ordered:
    """Cumulative logits with common coefficients (McCullagh 1980): the first cut, logarithms of
    the distances of the next ones, coefficients.
    """

    answers: int
    columns: int

    @property
    def start(self) -> Float:
        """Equal probabilities."""
        cuts = np.log(np.arange(1, self.answers) / np.arange(self.answers - 1, 0, -1))
        return np.concatenate([cuts[:1], np.log(np.diff(cuts)), np.zeros(self.columns)])

    def cuts(self, theta: Float) -> Float:
        """The cuts, ascending, shape (n - 1,)."""
        gaps = np.exp(theta[1 : self.answers - 1])
        return np.asarray(theta[0] + np.concatenate([[0.0], np.cumsum(gaps)]))

    def cuts_by_theta(self, theta: Float) -> Float:
        """Derivatives of the cuts, shape (n - 1, n - 1)."""
        gaps = np.concatenate([[1.0], np.exp(theta[1 : self.answers - 1])])
        return np.asarray(np.tril(np.ones((self.answers - 1, self.answers - 1))) * gaps)

    def _below(self, theta: Float, matrix: Float) -> Float:
        """Probabilities of the answers up to each, shape (n - 1, M)."""
        from scipy.special import expit

        predictor = matrix @ theta[self.answers - 1 :]
        return np.asarray(expit(self.cuts(theta)[:, None] - predictor))

    def value(self, theta: Float, matrix: Float, likelihood: Float) -> tuple[Float, Float]:
        """Slopes in the cuts, that in the predictor being minus their sum."""
        below = self._below(theta, matrix)
        steps = likelihood[:-1] - likelihood[1:]
        return likelihood[-1] + (below * steps).sum(axis=0), below * (1 - below) * steps

    def gradient(self, theta: Float, slopes: Float, matrix: Float) -> Float:
        """Cuts, then coefficients."""
        of_cuts = slopes.sum(axis=1) @ self.cuts_by_theta(theta)
        return np.concatenate([of_cuts, -slopes.sum(axis=0) @ matrix])

    def scores(self, theta: Float, slopes: Float, matrix: Float) -> Float:
        """The same for each person."""
        of_cuts = slopes.T @ self.cuts_by_theta(theta)
        return np.hstack([of_cuts, -slopes.sum(axis=0)[:, None] * matrix])

    def shares(self, theta: Float, matrix: Float) -> Float:
        """Probabilities of the answers."""
        ends = np.pad(self._below(theta, matrix), ((1, 1), (0, 0)), constant_values=(0.0, 1.0))
        ends[0], ends[-1] = 0.0, 1.0
        return np.asarray(np.diff(ends, axis=0))


@dataclass(frozen=True, eq=False)
class Mixture:
    """Reports of people with these covariates: rows are different people, with a weight each."""

    family: Family
    matrices: Sequence[Float]  # (M, k) for each combination of answers of protected covariates
    clear: Float  # (M, l): covariates of these answers
    likelihood: Float  # (n, M): of the outcome's report
    cells: Float  # (C, M): of the covariates' reports
    away: Float | None  # (b, M): of the outcome's report under behaviors
    weights: Float  # (M,)

    @cached_property
    def of_cells(self) -> Softmax:
        """Probabilities of the answers of protected covariates."""
        return Softmax(len(self.matrices), self.clear.shape[1])

    @property
    def start(self) -> Float:
        """Where the search begins."""
        nobody = np.full(0 if self.away is None else len(self.away), FEW)
        return np.concatenate([self.family.start, self.of_cells.start, nobody])

    @cached_property
    def blocks(self) -> tuple[slice, slice, slice]:
        """Coefficients of the outcome, of protected covariates, and logits of behaviors."""
        first = len(self.family.start)
        second = first + len(self.of_cells.start)
        return slice(0, first), slice(first, second), slice(second, None)

    @property
    def is_plain(self) -> bool:
        """Whether the report of the outcome is all that is random."""
        return len(self.matrices) == 1 and self.away is None

    def thinned(self, step: int) -> Mixture:
        """The same of each row whose number is a multiple of a step."""
        return Mixture(
            self.family,
            [matrix[::step] for matrix in self.matrices],
            self.clear[::step],
            self.likelihood[:, ::step],
            self.cells[:, ::step],
            None if self.away is None else self.away[:, ::step],
            self.weights[::step],
        )

    def value_and_gradient(self, theta: Float) -> tuple[float, Float]:
        """The log-likelihood, minus infinity where a report has probability 0, and its gradient,
        shape (d,).
        """
        q, outcome, cells, away = self._evaluated(theta)
        first = theta[self.blocks[0]]
        gradient = np.zeros(len(theta))
        for slopes, matrix in zip(outcome, self.matrices, strict=True):
            slopes *= self.weights
            gradient[self.blocks[0]] += self.family.gradient(first, slopes, matrix)
        if not self.is_plain:
            gradient[self.blocks[1]] = ((cells * self.weights) @ self.clear).ravel()
            gradient[self.blocks[2]] = away @ self.weights
        return self._log(q), gradient

    def scores(self, theta: Float) -> tuple[float, Float]:
        """The log-likelihood, and the score of each person, shape (M, d)."""
        q, outcome, cells, away = self._evaluated(theta)
        first = theta[self.blocks[0]]
        each = [
            self.family.scores(first, slopes, matrix)
            for slopes, matrix in zip(outcome, self.matrices, strict=True)
        ]
        if self.is_plain:
            return self._log(q), each[0]
        of_cells = [slope[:, None] * self.clear for slope in cells]
        return self._log(q), np.hstack([sum(each[1:], each[0]), *of_cells, away.T])

    def information(self, theta: Float) -> Float | None:
        """The observed information, shape (d, d), where it has a closed form."""
        if not self.is_plain or not isinstance(self.family, Softmax):
            return None
        return self.family.information(theta, self.matrices[0], self.likelihood, self.weights)

    def _log(self, q: Float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.weights @ np.log(q))
        return value if np.isfinite(value) else -np.inf

    def _evaluated(self, theta: Float) -> tuple[Float, list[Float], Float, Float]:
        """Probabilities ``q`` of the reports, shape (M,), and slopes of ``log q`` in the predictors
        of the outcome, by combination; of the covariates, (C - 1, M); of the behaviors, (b, M).
        """
        first, second, third = (theta[block] for block in self.blocks)
        each = [self.family.value(first, matrix, self.likelihood) for matrix in self.matrices]
        none = np.empty((0, len(self.weights)))
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.is_plain:
                ((q, slopes),) = each
                slopes /= q
                return q, [slopes], none, none
            share, others = self._behaviors(third)
            prior = self.of_cells.shares(second, self.clear)
            reached = prior * self.cells
            wandering = 0.0 if self.away is None else others @ self.away
            mixed = [share * h + wandering for h, _ in each]
            q = sum(
                (part * m for part, m in zip(reached, mixed, strict=True)), np.zeros(len(none.T))
            )
            outcome = [
                slopes * (share * part / q) for part, (_, slopes) in zip(reached, each, strict=True)
            ]
            cells = reached[1:] * np.array(mixed[1:]).reshape(-1, len(q)) / q - prior[1:]
            away = none
            if self.away is not None:
                away = others[:, None] * (self.away * (reached.sum(axis=0) / q) - 1)
        return q, outcome, cells, away

    def _behaviors(self, logits: Float) -> tuple[float, Float]:
        """Share of those who follow the rule, and of each behavior."""
        terms = np.exp(np.append(0.0, logits) - max(0.0, *logits, 0.0))
        terms /= terms.sum()
        return float(terms[0]), terms[1:]
