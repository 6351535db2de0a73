"""Staircase noise: optimal among all noises that depend on the sensitivity alone."""

import math
from fractions import Fraction

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import real_number, require_choice
from ldpopt.noise.level_noise import LevelNoise
from ldpopt.noise.noise import read_noise_budget, read_positive
from ldpopt.noise.partition import NeighborPartition

MIN_GAMMA = 1e-200  # smallest ``gamma``, the optimum at 900 nats; below it, moments underflow


class Staircase(LevelNoise):
    r"""Steps of width ``sensitivity``, the innermost of half-width ``gamma * sensitivity``.

    .. math:: p(r) \propto e^{-\epsilon \lceil |r|/\Delta - \gamma \rceil^+}, \qquad
              \gamma^*_{1} = \frac{1}{1 + e^{\epsilon/2}}

    Parameters
    ----------
    sensitivity : float
        Largest change of the answer between neighbors, positive.
    epsilon : float or str
        Nats, positive, or ``"log(3)"``.
    gamma : float, optional
        Share of the innermost step, ``0 < gamma < 1`` (default: optimal for ``loss``).
    loss : {"l1", "l2"}
        Without ``gamma``: minimize the expected absolute or squared noise; default: ``"l1"``.

    Raises
    ------
    StatementError
        If the sensitivity or epsilon is not positive, ``gamma`` is not in (0, 1), or the loss is
        unknown.

    Notes
    -----
    The neighbor-set partition of ``[0, sensitivity]``. With ``b = exp(-epsilon)``, the l2 optimum
    is ``((b (1 + b) / 2)**(1/3) - b) / (1 - b)``. `sample` is for simulation.

    References
    ----------
    Geng and Viswanath 2016.

    Examples
    --------
    >>> round(Staircase(1.0, 1.0).rate, 12), round(Staircase(1.0, 1.0).gamma, 4)
    (1.0, 0.3775)
    """

    def __init__(
        self,
        sensitivity: float,
        epsilon: float | str,
        gamma: float | None = None,
        *,
        loss: str = "l1",
    ) -> None:
        size = read_positive(sensitivity, "sensitivity")
        budget = read_noise_budget(epsilon)
        require_choice(loss, ("l1", "l2"), "loss")
        self.gamma = real_number(
            best_gamma(float(budget), loss) if gamma is None else gamma, "gamma"
        )
        if not MIN_GAMMA <= self.gamma < 1:
            problem = f"gamma = {self.gamma} is not in [{MIN_GAMMA:g}, 1)"
            raise StatementError(
                problem, do="leave gamma out for the best one, or give a number between 0 and 1"
            )
        super().__init__(
            NeighborPartition([(0, size)], Fraction(self.gamma) * Fraction(size)), budget
        )


def best_gamma(epsilon: float, loss: str) -> float:
    """Return the innermost share that minimizes the expected absolute (``"l1"``) or squared
    (``"l2"``) noise.
    """
    if loss == "l1":
        return math.exp(-epsilon / 2) / (1 + math.exp(-epsilon / 2))
    # For small epsilon (b (1 + b) / 2)**(1/3) and b are both near 1: subtract 1 from each first.
    root = (-epsilon + math.log1p(math.expm1(-epsilon) / 2)) / 3
    return (math.expm1(root) - math.expm1(-epsilon)) / -math.expm1(-epsilon)
