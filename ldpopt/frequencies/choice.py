"""The choice of a frequency protocol for a number of labels and a budget, with its reason."""

import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import whole_number
from ldpopt.frequencies.linear_hash import LinearHash
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.randomized_response import RandomizedResponse

# Of protocols with at most this many times the smallest variance, the one with the shortest reports
# is chosen
NEAR = 1.02
# largest number of labels for which a report may take one random word for each label
MOST_LABELS = 1 << 14


@dataclass(frozen=True)
class Choice:
    """A protocol and the reason for it.

    Made by `best`.

    Attributes
    ----------
    variances : dict name -> float
        Total variance of one person's report under each protocol that was compared.
    bits : dict name -> float
        Length of a report.
    """

    protocol: FrequencyProtocol
    why: str
    variances: dict[str, float]
    bits: dict[str, float]


def best(inputs: int | Sequence[Hashable], epsilon: float | str, people: int) -> Choice:
    """Choose a protocol: the smallest variance, and among protocols within 2 % of it the shortest
    reports.

    Parameters
    ----------
    inputs : int or sequence of hashable
        The labels, at least two; a number ``d`` stands for ``0 .. d-1``.
    epsilon : float or str
        Budget in nats, positive.
    people : int
        How many will report, ``>= 1``.

    Returns
    -------
    Choice
        Protocol and reason.

    Raises
    ------
    StatementError
        If there are fewer than two labels, epsilon is not positive, or there are no people.

    Notes
    -----
    Subset selection at its best size is optimal among all mechanisms for frequencies of equal
    weights (docs, "Estimation"), so the choice is never more than 2 % above the optimum, up to
    16384 labels. Beyond, protocols that take one random word for each label are left out, and the
    choice is usually `LinearHash`, up to ten million labels. With a public coin its reports are
    still shorter: ``LinearHash(inputs, epsilon, public_coin=True)``.

    Examples
    --------
    >>> best(["no", "yes"], 1.0, 1000).protocol
    RandomizedResponse(2 labels, epsilon=1.0)
    """
    size = whole_number(people, "people", 1)
    count = len(RandomizedResponse(inputs, epsilon).inputs)
    kinds = [
        kind
        for kind in FrequencyProtocol.PUBLISHED
        if count <= MOST_LABELS or not kind.draws_each_label
    ]
    made: dict[str, FrequencyProtocol] = {kind.__name__: kind(inputs, epsilon) for kind in kinds}
    with suppress(StatementError):  # too many labels for it
        made[LinearHash.__name__] = LinearHash(inputs, epsilon)
    variances = {name: protocol.total_variance for name, protocol in made.items()}
    bits = {name: float(protocol.bits) for name, protocol in made.items()}
    near = [name for name in made if variances[name] <= NEAR * min(variances.values())]
    chosen = min(near, key=lambda name: (bits[name], variances[name]))
    error = math.sqrt(variances[chosen] / (count * size))
    ratios = {
        name: math.sqrt(variances[name] / variances[chosen]) for name in made if name != chosen
    }
    others = ", ".join(f"{name} {ratio:.3g} times" for name, ratio in ratios.items())
    summary = (
        f"{size:,} people give a standard error of {error:.2g} a label with "
        f"{bits[chosen]:.0f} bits each"
    )
    return Choice(made[chosen], f"{chosen}: {summary}; {others}", variances, bits)
