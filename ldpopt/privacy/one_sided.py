"""One-sided privacy: only some answers are sensitive."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.one_sided import one_sided_divergence
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.privacy.notion import TiedNotion, read_labels, require_known, shape_of
from ldpopt.privacy.ties import Ties


@dataclass(frozen=True)
class OneSided(TiedNotion):
    r"""No report reveals that an answer is sensitive: :math:`P(x, y) \le e^\epsilon P(x', y)` for
    sensitive ``x``.

    It holds for every sensitive ``x`` and every other ``x'``. The other answers are not protected:
    a report may reveal that an answer is *not* sensitive.

    Parameters
    ----------
    epsilon : float or str
        Nats in [0, 10000], or ``"log(p/q)"``.
    sensitive : sequence of hashable
        Labels of the sensitive inputs; if all inputs are sensitive, this is pure privacy.

    Raises
    ------
    StatementError
        If epsilon is out of range, or the labels are not a list of distinct ones.

    References
    ----------
    Kotsogiannis, Doudalis, Haney, Machanavajjhala and Mehrotra 2020, "One-sided differential
    privacy", definition 3.3, for a data set of one record.

    Examples
    --------
    >>> from ldpopt import Problem, solve
    >>> problem = Problem({"ill": 1, "well": 1}, "identity", OneSided("log(4)", ["ill"]))
    >>> solve(problem).mechanism.channel.tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """

    kind: ClassVar[str] = "one_sided"
    epsilon: Budget
    sensitive: tuple[Hashable, ...]

    def __init__(self, epsilon: float | str, sensitive: Names) -> None:
        object.__setattr__(self, "epsilon", Budget(epsilon))
        object.__setattr__(self, "sensitive", read_labels(sensitive, "sensitive"))

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse a sensitive label that is not an input."""
        require_known(self.sensitive, inputs, "sensitive", "input")

    def ties(
        self, inputs: Names, outputs: Names | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties:
        """Ties from every sensitive input to all others."""
        self.check(inputs, ())
        sensitive = set(self.sensitive)
        capped = np.array([x in sensitive for x in inputs], bool)
        return Ties(self.epsilon, len(inputs), capped=None if capped.all() else capped)

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """The first input is sensitive."""
        return cls(epsilon, read_alphabet(inputs)[:1])

    def audit(self, channel: Any) -> Audit:
        """Decide the claim from the channel's numbers, exactly; the labels of a plain array are
        positions.
        """
        inputs, _ = shape_of(channel)
        require_known(self.sensitive, inputs, "sensitive", "input")
        sensitive = set(self.sensitive)
        rows = [x for x, label in enumerate(inputs) if label in sensitive]
        return one_sided_divergence(channel, self.epsilon, rows)
