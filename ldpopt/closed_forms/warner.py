"""Warner's randomized response: answers by a coin, and k-ary randomized response on n letters."""

import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.closed_forms.form import ClosedForm, ResponseForm, read_delta
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, round_up
from ldpopt.foundation.numbers import Float, is_whole, rational, short_repr
from ldpopt.mechanism.exact_draws import Codes
from ldpopt.mechanism.mechanism import Mechanism


@dataclass(frozen=True, eq=False, kw_only=True)
class MinimaxResponse(ResponseForm):
    """Result of `randomized_response` and `minimax`: k-ary randomized response; the truth with
    probability delta.
    """

    def exact_value(self) -> tuple[Fraction, Fraction]:
        """Return rational bounds of the value for the real ``e**epsilon``."""
        share = Fraction(self.delta)
        n = len(self.inputs)
        low, high = (
            share + (1 - share) * alpha / (alpha + n - 1) for alpha in self.epsilon.enclosure()
        )
        return low, high

    @property
    def response(self) -> tuple[Codes, Codes]:
        """All answers are members, each at its own position."""
        letters = np.arange(len(self.inputs))
        return letters, letters


@dataclass(frozen=True, eq=False, kw_only=True)
class Coin(ClosedForm):
    """Result of `coin`; the value is the smaller of the two probabilities of the truth.

    Parameters
    ----------
    yes_given_yes, yes_given_no : Fraction
        Exact probabilities of the report "yes".
    """

    yes_given_yes: Fraction = field(repr=False)
    yes_given_no: Fraction = field(repr=False)

    def delta_at(self, epsilon: float | str) -> float:
        r"""Return the least delta at which the coin is (epsilon, delta)-private, rounded up.

        .. math:: \delta(e) = \max(0,\ p - e^e q,\ (1-q) - e^e (1-p)), \quad
                  p = \Pr(\text{yes} \mid \text{yes}),\ q = \Pr(\text{yes} \mid \text{no})
        """
        alpha = Budget(epsilon).enclosure()[0]
        p = self.yes_given_yes
        q = self.yes_given_no
        return max(0.0, round_up(p - alpha * q), round_up(1 - q - alpha * (1 - p)))

    @property
    def channel(self) -> Float:
        """Rows no, yes; columns no, yes; shape ``(2, 2)``."""
        p = float(self.yes_given_yes)
        q = float(self.yes_given_no)
        return np.array([[float(1 - self.yes_given_no), q], [float(1 - self.yes_given_yes), p]])

    @cached_property
    def mechanism(self) -> Mechanism:
        """The two rows as a `Mechanism`; exactly private if the budget is finite."""
        if math.isfinite(self.epsilon):
            return super().mechanism
        return Mechanism(self.channel, self.inputs)


def randomized_response(n: int, epsilon: float | str) -> MinimaxResponse:
    r"""k-ary randomized response on ``n`` letters.

    .. math:: P(y \mid x) = \frac{e^{\epsilon}[y=x] + [y \ne x]}{e^{\epsilon} + n - 1}

    Parameters
    ----------
    n : int
        Alphabet size, ``n >= 1``.
    epsilon : float or str
        Privacy budget in nats, ``0 <= epsilon <= 10000``, or ``"log(3)"``.

    Returns
    -------
    MinimaxResponse
        Value; channel ``(n, n)`` and sampler on request.

    Raises
    ------
    StatementError
        If ``n`` or ``epsilon`` is out of range.

    Utility
    -------
    Truth probability ``e**epsilon / (e**epsilon + n - 1)`` for every prior.

    References
    ----------
    Warner 1965 for two letters.

    Examples
    --------
    >>> randomized_response(2, "log(3)").value
    0.75
    """
    return minimax(n, epsilon)


def minimax(n: int, epsilon: float | str, delta: float = 0.0) -> MinimaxResponse:
    r"""Find the mechanism with the largest minimal truth probability over all answers.

    .. math:: \max_P \min_i p_{ii} = \delta + (1-\delta) \frac{e^\epsilon}{e^\epsilon + n - 1}

    Parameters
    ----------
    n : int
        Alphabet size, ``n >= 1``.
    epsilon : float or str
        Privacy budget in nats, ``0 <= epsilon <= 10000``, or ``"log(3)"``.
    delta : float
        ``0 <= delta <= 1``, event-wise or entry-wise; default: ``0.0``.

    Returns
    -------
    MinimaxResponse
        Value; channel ``(n, n)`` and sampler on request.

    Raises
    ------
    StatementError
        If an argument is out of range.

    Notes
    -----
    The uniform prior is the worst one; `top_k` then reports all letters.

    References
    ----------
    Holohan, Leith and Mason 2017 for two letters.

    Examples
    --------
    >>> minimax(3, "log(4)", delta=0.25).value
    0.75
    """
    if not is_whole(n, 1, sys.maxsize):
        raise StatementError(
            f"n = {short_repr(n)} is not an alphabet size",
            code="alphabet",
            do="state a whole number >= 1",
        )
    budget = Budget(epsilon)
    share = read_delta(delta)
    value = share + (1 - share) / (1 + (int(n) - 1) * budget.b)
    return MinimaxResponse(value=value, inputs=range(int(n)), epsilon=budget, delta=share)


def coin(truth: Any = Fraction(1, 2), yes: Any = Fraction(1, 2)) -> Coin:
    r"""Answer by coins: with probability ``truth`` the truth, otherwise "yes" with probability
    ``yes``.

    .. math:: \Pr(\text{yes} \mid \text{yes}) = t + (1-t) y,
              \qquad \Pr(\text{yes} \mid \text{no}) = (1-t) y

    Parameters
    ----------
    truth, yes : float, Fraction or str
        Probabilities, read exactly; text such as ``"2/3"`` is a rational; default: ``Fraction(1,
        2)``.

    Returns
    -------
    Coin
        Two-sided budget (``ln 3`` at the default; inf if a report reveals the answer), delta curve,
        channel ``(2, 2)`` with rows and columns no, yes.

    Raises
    ------
    StatementError
        If an argument is not a probability.

    References
    ----------
    Warner 1965; Dwork and Roth 2014, section 3.2.

    Examples
    --------
    >>> fair = coin()
    >>> fair.epsilon, fair.delta_at(0)
    ('log(3)', 0.5)
    """
    shares = (
        rational(truth, "truth", "probability", 0, 1),
        rational(yes, "yes", "probability", 0, 1),
    )
    p = shares[0] + (1 - shares[0]) * shares[1]
    q = (1 - shares[0]) * shares[1]
    ratios = [_ratio(p, q), _ratio(1 - q, 1 - p)]
    budget: Any = (
        math.inf if None in ratios else Budget(f"log({max(r for r in ratios if r is not None)})")
    )
    return Coin(
        value=float(min(p, 1 - q)),
        inputs=("no", "yes"),
        epsilon=budget,
        yes_given_yes=p,
        yes_given_no=q,
    )


def _ratio(larger: Fraction, smaller: Fraction) -> Fraction | None:
    """Return the ratio of a column's two entries; None (infinite) if only the smaller one is
    zero.
    """
    if larger == smaller:
        return Fraction(1)
    return larger / smaller if smaller else None
