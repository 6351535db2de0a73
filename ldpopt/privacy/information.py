"""Local information privacy: a report changes the probability of every answer little.

Beside leakage, which keeps reports from speaking for an answer, it keeps them from speaking against
one: no report may rule out an answer that was possible before. Both bounds are about the average
over a prior, which everybody is assumed to know.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.averages import average_odds
from ldpopt.auditing.exact_matrices import exact
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.privacy.comparisons import Average, Comparisons
from ldpopt.privacy.distributions import PriorNotion
from ldpopt.privacy.leakage import odds_over_average, positive_part


@dataclass(frozen=True, init=False, repr=False)
class InformationPrivacy(PriorNotion):
    r"""A report changes the probability of every answer by a factor from :math:`e^{-\epsilon}` to
    :math:`e^\epsilon`.

    .. math:: e^{-\epsilon} \le \frac{P(x, y)}{\sum_{x'} \pi_{x'} P(x', y)} \le e^\epsilon

    Parameters
    ----------
    epsilon : float or str
        Nats in (0, 10000], or ``"log(p/q)"`` for an exactly rational :math:`e^\epsilon`.
    prior : array_like, shape (n,), or mapping label -> weight, optional
        The prior; default: ``None``, the prior of the problem. A float means the decimal that is
        written for it.

    Raises
    ------
    StatementError
        If epsilon is not in its range, or the prior has other numbers than weights. Where it is
        used: if there is no prior, or it is one of other inputs.

    Notes
    -----
    Implies pure privacy at 2 epsilon, and so the same inequalities at 2 epsilon for every other
    prior. The prior of a problem is that of its floats, read exactly; a stated one is the decimals
    that are written. 2 n comparisons; an audit takes O(n m) operations.

    References
    ----------
    Jiang, Seif, Tandon and Li 2021, "Context-aware local information privacy", definition 3.

    Examples
    --------
    >>> from ldpopt import Problem, solve
    >>> problem = Problem({"a": 5, "b": 3, "c": 2}, "identity", InformationPrivacy(1.0))
    >>> round(solve(problem).value, 9)
    0.725799244
    """

    kind: ClassVar[str] = "information"

    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons:
        """Each input against the average over the prior, and then the average against each
        input.
        """
        labels = read_alphabet(inputs)
        n = len(labels)
        mean = (positive_part(self.weights(labels)),) * n
        single: tuple[Average, ...] = tuple({x: Fraction(1)} for x in range(n))
        return Comparisons(n, single + mean, mean + single, (self.epsilon,) * (2 * n))

    def audit(self, channel: Any) -> Audit:
        """Decide the claim from the channel's numbers, exactly: the largest and the smallest entry
        of each column against its average.
        """
        odds = odds_over_average(self, channel) + odds_over_average(self, channel, reverse=True)
        return average_odds(odds, exact(channel).outputs, f"information of {self.epsilon!r}")
