"""Pure local differential privacy."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.divergence import max_divergence
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.privacy.notion import TiedNotion
from ldpopt.privacy.ties import Ties


@dataclass(frozen=True)
class PureLDP(TiedNotion):
    r"""Any two answers give every report with similar probabilities: :math:`P(x, y) \le e^\epsilon
    P(x', y)`.

    Parameters
    ----------
    epsilon : float or str
        Nats in [0, 10000], or ``"log(p/q)"`` for an exactly rational :math:`e^\epsilon`.

    Raises
    ------
    StatementError
        If epsilon is negative, nan, infinite or not a number.

    References
    ----------
    Zhou, Lu and Wu 2019, section 2, with delta = 0; Dwork and Roth 2014.

    Examples
    --------
    >>> PureLDP("log(3)").audit([[0.75, 0.25], [0.25, 0.75]]).verdict
    'certified'
    """

    kind: ClassVar[str] = "pure"
    epsilon: Budget

    def __init__(self, epsilon: float | str) -> None:
        object.__setattr__(self, "epsilon", Budget(epsilon))

    def ties(
        self, inputs: Names, outputs: Names | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties:
        """All pairs of inputs alike; the pairwise form has ``n (n-1) m`` rows."""
        return Ties(self.epsilon, len(read_alphabet(inputs)))

    def audit(self, channel: Any) -> Audit:
        """Decide the claim from the channel's numbers, exactly."""
        return max_divergence(channel, self.epsilon)
