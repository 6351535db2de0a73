"""Gaussian privacy: two answers are as hard to tell apart as two normal distributions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.gaussian import gaussian_divergence
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget, decimal_of, log_enclosure, round_up
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.foundation.normal import normal_cdf
from ldpopt.foundation.numbers import Float, rational, shaped_array
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import plain
from ldpopt.privacy.curve import read_ratio
from ldpopt.privacy.notion import SeparableNotion

LARGEST = 20  # masses over 2**53 have probits of at most 8.3: a larger mu would allow all of them
MIN_EXCESS = 1e-14  # smallest distance from the curve that is a violation; repair removes smaller
FAR = 0.01  # distance from the curve from which an event has several tangents
SHARES = (1.0, 0.5, 0.2)  # of the sum of the event's masses, at which they touch
STEPS = 60  # halvings of the interval in which a tangent is sought


@dataclass(frozen=True)
class GaussianLDP(SeparableNotion):
    r"""mu-Gaussian privacy: telling two answers apart is at least as hard as N(0, 1) from
    N(mu, 1).

    .. math:: \Phi^{-1}(P_x(S)) \le \Phi^{-1}(P_{x'}(S)) + \mu \quad \text{for all } x, x', S

    Parameters
    ----------
    mu : float or str
        In (0, 20], without unit: the distance of the two means in standard deviations. A float is
        the decimal of its shortest writing; ``"1/3"`` is one third.

    Raises
    ------
    StatementError
        If ``mu`` is not a number in this range.

    Notes
    -----
    Equivalent to (epsilon, delta)-privacy for every epsilon with
    :math:`\delta = \Phi(\mu/2 - \epsilon/\mu) - e^\epsilon \Phi(-\mu/2 - \epsilon/\mu)`. Closed
    under post-processing; a report that one answer alone can give is never private.

    References
    ----------
    Dong, Roth and Su 2022.

    Examples
    --------
    >>> GaussianLDP(1).audit([[0.65, 0.35], [0.35, 0.65]]).verdict
    'certified'
    """

    kind: ClassVar[str] = "gaussian"
    mu: Budget  # a float that stores the exact number

    def __init__(self, mu: float | str) -> None:
        object.__setattr__(self, "mu", _read_mu(mu))

    def __repr__(self) -> str:
        return f"GaussianLDP({self.mu!r})"

    @property
    def exact_mu(self) -> Fraction:
        """``mu`` as a rational."""
        return Fraction(self.mu.nats or 0)

    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """Refused: the definition is a curve, which has infinitely many tangents."""
        raise NotRepresentableError(
            f"{self!r} is not a list of rows: its curve has infinitely many tangents",
            code="curved",
            do="let solve() generate the violated ones",
        )

    def separate(self, channel: Float, inputs: Names) -> RowBlock | None:
        r"""Tangents of the curve at the violated events of the largest likelihood ratios; None if
        there are none.

        A row is ``b P_x(S) - P_x'(S) <= excess(b)``. Violations are found in floats, in
        O(n^2 m log m).
        """
        values = shaped_array(channel, "channel", len(read_alphabet(inputs)), None)
        found = list(_violated(values, float(self.exact_mu)))
        if not found:
            return None
        first, second, member, ratio = (list(part) for part in zip(*found, strict=True))
        upper = [round_up(self.excess(Fraction(b))) for b in ratio]
        ends = np.array(first), np.array(second)
        return RowBlock.of_events(
            "privacy", *ends, np.array(member), *map(np.array, (ratio, upper))
        )

    def excess(self, ratio: Fraction) -> Fraction:
        r""":math:`b \Phi(z + \mu) - \Phi(z)` at :math:`z = \ln b / \mu - \mu / 2`, rounded up.

        It is the height of the tangent with the slope ``1 / b`` over the origin, divided by the
        slope.
        """
        return _tangent(self.exact_mu, read_ratio(ratio))

    def audit(self, channel: Any) -> Audit:
        """Decide the claim from the channel's numbers, exactly; the audit has the least ``mu``."""
        return gaussian_divergence(channel, self.exact_mu, repr(self.mu))

    def notes(self, inputs: Names) -> tuple[str, ...]:
        """What no epsilon bounds."""
        return (
            f"{self!r} bounds no ratio of probabilities: there is a delta for each epsilon, as "
            "audit(mechanism).delta_at(epsilon) says",
        )

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """``mu`` as a number, or as text if no float means exactly it."""
        return {"mu": plain.plain_budget(self.mu)}

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """A notion with ``mu`` of the size of the budget, as the tests of all kinds need one that
        grows with epsilon; the two numbers mean different things.
        """
        return cls(round(float(Budget(epsilon)), 6))


def _read_mu(mu: Any) -> Budget:
    """The exact number."""
    number = rational(mu, "mu", "number above 0 and up to 20", 0, LARGEST)
    number = decimal_of(float(mu)) if isinstance(mu, (float, np.floating)) else number
    if number == 0:
        raise StatementError(
            "at mu = 0 reports do not depend on the answer", code="zero-mu", do="give mu > 0"
        )
    return Budget(number)


@lru_cache(maxsize=65536)
def _tangent(mu: Fraction, ratio: Fraction) -> Fraction:
    """See `GaussianLDP.excess`."""
    # z lies between two rationals; Phi rises, so that each end errs to the side of a larger excess
    if ratio >= 1:
        ends = log_enclosure(ratio)
    else:
        low, high = log_enclosure(1 / ratio)
        ends = -high, -low
    low, high = (end / mu - mu / 2 for end in ends)
    return ratio * normal_cdf(high + mu)[1] - normal_cdf(low)[0]


def _violated(values: Float, mu: float) -> Iterator[tuple[int, int, np.ndarray[Any, Any], float]]:
    """Pair, mask of the event, and ratio of a tangent, for each violated event.

    Of an event and its complement, with the pair reversed, the one below the middle of the curve is
    taken, where tangents have slopes of at least 1.
    """
    from scipy.special import ndtr, ndtri

    n, m = values.shape
    for x in range(n):
        for k in range(n):
            if x == k:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                order = np.argsort(-np.nan_to_num(values[x] / values[k], posinf=np.inf))
            w = np.minimum(np.cumsum(values[x][order])[:-1], 1.0)
            u = np.minimum(np.cumsum(values[k][order])[:-1], 1.0)
            beyond = (w > ndtr(ndtri(u) + mu) + MIN_EXCESS) & (w + u <= 1 + MIN_EXCESS)
            for j in np.flatnonzero(beyond).tolist():
                member = np.zeros(m, bool)
                member[order[: j + 1]] = True
                total = float(w[j] + u[j])
                shares = SHARES if w[j] - ndtr(ndtri(u[j]) + mu) > FAR else (1.0,)
                for share in shares:
                    yield x, k, member, _ratio_of(share * total, mu)


def _ratio_of(total: float, mu: float) -> float:
    """Ratio of the tangent at the point of the curve whose coordinates have a given sum: it cuts
    off deeper than the tangent above the event, which may be vertical.
    """
    from scipy.special import ndtr

    low = -40.0
    high = -mu / 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        if ndtr(middle) + ndtr(middle + mu) < total:
            low = middle
        else:
            high = middle
    return min(1.0, math.exp(mu * high + mu * mu / 2))
