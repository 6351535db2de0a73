"""Pointwise maximal leakage: no report makes an adversary with a prior much better off.

Pure privacy compares each answer with the worst other one, of which there may be hardly anybody.
Leakage compares it with all people together: a report that is rare for everybody may be likely for
none. What an adversary who knows how frequent the answers are can learn is bounded, and much less
randomness is needed.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.averages import EVERYONE, Odds, average_odds, averaged
from ldpopt.auditing.exact_matrices import exact
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.privacy.comparisons import Average, Comparisons
from ldpopt.privacy.distributions import PriorNotion
from ldpopt.privacy.notion import inputs_of


@dataclass(frozen=True, init=False, repr=False)
class PML(PriorNotion):
    r"""No report is much likelier under one answer than on average: :math:`P(x, y) \le e^\epsilon
    \sum_{x'} \pi_{x'} P(x', y)`.

    Whatever an adversary with this prior wants to guess, no report multiplies the chance to be
    right by more than :math:`e^\epsilon`.

    Parameters
    ----------
    epsilon : float or str
        Nats in (0, 10000], or ``"log(p/q)"`` for an exactly rational :math:`e^\epsilon`.
    prior : array_like, shape (n,), or mapping label -> weight, optional
        The prior of the adversary; default: ``None``, the prior of the problem. A float means the
        decimal that is written for it.

    Raises
    ------
    StatementError
        If epsilon is not in its range, or the prior has other numbers than weights. Where it is
        used: if there is no prior, or it is one of other inputs.

    Notes
    -----
    The promise is about one prior, and none follows for another one. The prior of a problem is that
    of its floats, read exactly; a stated one is the decimals that are written. An answer of
    probability 0 is protected as all others. n comparisons; an audit takes O(n m) operations.

    References
    ----------
    Saeidian, Cervia, Oechtering and Skoglund 2023, "Pointwise maximal leakage", theorem 1.

    Examples
    --------
    >>> from ldpopt import Problem, solve
    >>> round(solve(Problem({"a": 5, "b": 3, "c": 2}, "identity", PML("log(3/2)"))).value, 9)
    0.6
    """

    kind: ClassVar[str] = "leakage"

    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons:
        """Each input against the average over the prior."""
        labels = read_alphabet(inputs)
        mean = positive_part(self.weights(labels))
        n = len(labels)
        single: list[Average] = [{x: Fraction(1)} for x in range(n)]
        return Comparisons(n, tuple(single), (mean,) * n, (self.epsilon,) * n)

    def audit(self, channel: Any) -> Audit:
        """Decide the claim from the channel's numbers, exactly: the largest entry of each column
        against its average.
        """
        return average_odds(
            odds_over_average(self, channel), exact(channel).outputs, f"leakage of {self.epsilon!r}"
        )


def positive_part(weights: tuple[Fraction, ...]) -> dict[int, Fraction]:
    """The weights that are not 0, by position."""
    return {x: weight for x, weight in enumerate(weights) if weight}


def odds_over_average(privacy: PriorNotion, channel: Any, *, reverse: bool = False) -> list[Odds]:
    """Each row over the average of all rows, in integers; ``reverse``: the average over each
    row.
    """
    matrix = exact(channel)
    labels = inputs_of(privacy, channel)
    weights = privacy.weights(labels)
    scale = lcm(*(weight.denominator for weight in weights))
    rows = matrix.entries.tolist()
    mean = averaged(rows, [int(weight * scale) for weight in weights])
    odds = []
    for x, row in enumerate(rows):
        scaled = [scale * mass for mass in row]
        over, under = (mean, scaled) if reverse else (scaled, mean)
        names = (EVERYONE, labels[x]) if reverse else (labels[x], EVERYONE)
        denominator = scale * matrix.denominator
        nouns = ("", "answer") if reverse else ("answer", "")
        odds.append(Odds(over, under, denominator, privacy.epsilon, names, nouns=nouns))
    return odds
