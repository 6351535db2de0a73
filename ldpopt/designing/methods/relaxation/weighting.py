r"""The average master by first-order steps: cheap for tens of thousands of columns.

With ``q = w^2 / |w|^2`` the only constraint is the center. Its multipliers are updated a few times; L-BFGS minimises

.. math:: \log \operatorname{tr}(G M^{-1}) + \lambda \cdot c + \tfrac{\rho}{2} |c|^2,
          \quad M = \sum_A q_A g_A g_A^T, \quad c = \sum_A q_A g_A .

The remaining center is removed by a factor near 1 for each column.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldpopt.designing.symmetry import Blocks
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

STEPS = 100  # limit on steps of L-BFGS for each update of the multipliers
TRIES = 3  # limit on updates of the multipliers
CURVATURE = 30.0  # curvature of the penalty of the center
CENTERED = 1e-4  # center, relative to the largest coordinate of a column, that is small enough to be removed


def descend(
    function: Callable[[Float], tuple[float, Float]], start: Float, options: dict[str, float], deadline: Deadline
) -> tuple[Float, float]:
    """Minimize a function of value and gradient by L-BFGS until the deadline; the best point and its value."""
    from scipy.optimize import minimize

    def stop(_: Float) -> None:
        if deadline.is_over:
            raise StopIteration

    found = minimize(function, start, jac=True, method="L-BFGS-B", callback=stop, options=options)  # type: ignore[call-overload]
    return np.asarray(found.x), float(found.fun)


@dataclass(frozen=True, eq=False)
class Weighted:
    """A design on given columns."""

    q: Float  # probabilities, with center 0, shape (m,)
    value: float  # tr(G M^-1)
    price: list[Float]  # M^-1 G M^-1 for each block
    slope: Float  # multipliers of the center, in coordinates of the first block


class FirstOrderMaster:
    """The program on columns with given scores; a ``lift`` adds this share of an equal Gram matrix."""

    def __init__(self, blocks: Blocks, scores: list[Float], lift: float) -> None:
        total = float(sum(np.trace(gram) for gram in blocks.grams))
        n = sum(len(gram) for gram in blocks.grams)
        self.scores, self.plain = scores, blocks.grams
        self.grams = [gram + lift * total / n * np.eye(len(gram)) for gram in blocks.grams]
        self.fixed = scores[0] if blocks.has_fixed else np.zeros((len(scores[0]), 0))
        self.unit = max(float(np.abs(self.fixed).max(initial=0.0)), 1e-300)
        self.multipliers = np.zeros(self.fixed.shape[1])

    def solve(self, q: Float, slope: Float | None, tolerance: float, deadline: Deadline) -> Weighted:
        """Minimize from given probabilities and multipliers."""
        how = {"maxiter": STEPS, "maxfun": 2 * STEPS, "maxcor": 10, "ftol": tolerance, "gtol": 1e-12}
        root, (value, price) = np.sqrt(q), self.objective(q, self.grams)
        if slope is not None:
            self.multipliers = slope * self.unit / value
        for _ in range(TRIES):
            root, _ = descend(self._evaluate, root, how, deadline)
            root = root / np.linalg.norm(root)
            center = (root**2) @ self.fixed / self.unit
            self.multipliers = self.multipliers + CURVATURE * center
            if np.abs(center).max(initial=0.0) <= CENTERED or deadline.is_over:
                break
        q = self.centered(root**2)
        value, price = self.objective(q, self.grams)
        return Weighted(q, self.objective(q, self.plain)[0], price, self.multipliers / self.unit * value)

    def centered(self, q: Float) -> Float:
        """Probabilities times factors near 1, with which the center is 0."""
        rows = np.column_stack([np.ones(len(q)), self.fixed])
        for _ in range(3):
            off = np.eye(rows.shape[1])[0] - q @ rows
            change = rows @ np.linalg.lstsq((rows.T * q) @ rows, off, rcond=1e-13)[0]
            q = q * np.maximum(1 + change, 0.1)
        return np.asarray(q / q.sum())

    def objective(self, q: Float, grams: list[Float]) -> tuple[float, list[Float]]:
        """``tr(G M^-1)`` and the blocks of ``M^-1 G M^-1``."""
        value, price = 0.0, []
        for scores, gram in zip(self.scores, grams, strict=True):
            inverse = np.linalg.inv((scores.T * q) @ scores)
            value += float(np.sum(inverse * gram))
            price.append(inverse @ gram @ inverse)
        return value, price

    def costs(self, price: list[Float]) -> Float:
        """``g N g`` of every column."""
        parts = [np.einsum("ad,ad->a", scores @ form, scores) for scores, form in zip(self.scores, price, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    def _evaluate(self, root: Float) -> tuple[float, Float]:
        """Objective with the penalty of the center, and its gradient."""
        total = float(root @ root)
        q = root**2 / total
        value, price = self.objective(q, self.grams)
        center = q @ self.fixed / self.unit
        by_center = self.multipliers + CURVATURE * center
        gradient = self.fixed @ (by_center / self.unit) - self.costs(price) / value
        gradient = 2 * root / total * (gradient - q @ gradient)
        return float(np.log(value) + self.multipliers @ center + CURVATURE / 2 * (center @ center)), gradient
