"""Randomized response as practitioners know it: their designs by name.

Rows are the answers "no" and "yes" (not a carrier, a carrier). Probabilities are numbers or texts
such as ``"1/6"``; ``0.1`` means 1/10, and masses are within ``2**-53`` of the exact ones. What a
design protects is its audit:
``techniques.warner("1/6").audit().epsilon`` is log 5, and that of designs with a report that only
one answer can give is infinite.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb, isfinite
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.budget import decimal_of
from ldpopt.foundation.numbers import rational, short_repr, whole_number
from ldpopt.mechanism.mechanism import Mechanism

ANSWERS = ("no", "yes")


def warner(p: Any) -> Mechanism:
    r"""Return Warner's design (1965): the statement is about carriers with probability ``p``, else
    about all others.

    .. math:: \Pr(\text{yes} \mid \text{carrier}) = p, \quad
              \Pr(\text{yes} \mid \text{other}) = 1 - p

    Parameters
    ----------
    p : float, Fraction or str
        ``0 <= p <= 1``; at 1/2 reports show nothing.

    Returns
    -------
    Mechanism
        From "no" and "yes" to the answers "no" and "yes" to the statement. Epsilon is
        :math:`|\log (p / (1 - p))|`.

    Raises
    ------
    StatementError
        If ``p`` is not a probability.

    Examples
    --------
    >>> round(warner("1/6").audit().epsilon, 6)
    1.609438
    """
    share = _probability(p, "p")
    return _binary([share, 1 - share], ANSWERS)


def crosswise(share: Any) -> Mechanism:
    r"""Return the crosswise model (Yu, Tian and Tang 2008): are the answers to this question and to
    another one, whose ``share`` of yes is known, the same or different?

    .. math:: \Pr(\text{same} \mid \text{no}) = \Pr(\text{different} \mid \text{yes}) =
              1 - \text{share}

    Parameters
    ----------
    share : float, Fraction or str
        Share of people whose answer to the other question is yes: ``"1/6"`` for a birthday in two
        of twelve months.

    Raises
    ------
    StatementError
        If ``share`` is not a probability.
    """
    q = _probability(share, "share")
    return _binary([1 - q, q], ("same", "different"))


def two_stage(truth: Any, p: Any) -> Mechanism:
    r"""Return the two-stage design (Mangat and Singh 1990): the truth with probability ``truth``,
    else Warner's statement with ``p``.

    Raises
    ------
    StatementError
        If an argument is not a probability.
    """
    first = _probability(truth, "truth")
    kept = first + (1 - first) * _probability(p, "p")
    return _binary([kept, 1 - kept], ANSWERS)


def forced(no: Any, yes: Any) -> Mechanism:
    r"""Return forced response (Boruch 1971): a die says "no" or "yes" with these probabilities, and
    else the answer is true.

    Parameters
    ----------
    no, yes : float, Fraction or str
        Probabilities of a forced answer, with a sum of at most 1. With ``no = 0`` the report "no"
        is true for certain, and epsilon is infinite.

    Raises
    ------
    StatementError
        If an argument is not a probability, or the sum is above 1.
    """
    return polytomous([no, yes], answers=ANSWERS)


def polytomous(shares: Sequence[Any], *, answers: Sequence[Any] | None = None) -> Mechanism:
    r"""Return forced response for several answers: answer ``j`` is forced with probability
    ``shares[j]``, and else the answer is true.

    .. math:: P(j \mid i) = s_j + [i = j] \Big( 1 - \sum_k s_k \Big)

    Parameters
    ----------
    shares : sequence of float, Fraction or str
        Probabilities of a forced answer, with a sum of at most 1.
    answers : sequence of hashable, optional
        Names of the answers; default: 0, 1, ...

    Raises
    ------
    StatementError
        If a share is not a probability, or the sum is above 1.
    """
    forced_shares = _probabilities(shares)
    truth = 1 - sum(forced_shares, Fraction(0))
    if truth < 0:
        raise StatementError(
            f"forced answers have the probability {float(1 - truth):g} together",
            code="sum",
            do="give probabilities with a sum of at most 1",
        )
    rows = [
        [share + (truth if place == row else 0) for place, share in enumerate(forced_shares)]
        for row in range(len(forced_shares))
    ]
    return Mechanism(rows, answers, answers)


def unrelated(p: Any, share: Any) -> Mechanism:
    r"""Return the unrelated question (Greenberg et al. 1969): the sensitive question with
    probability ``p``, else another one whose ``share`` of yes is known.

    .. math:: \Pr(\text{yes} \mid \text{no}) = (1 - p) \, \text{share}, \quad
              \Pr(\text{yes} \mid \text{yes}) = p + (1 - p) \, \text{share}

    Raises
    ------
    StatementError
        If an argument is not a probability.
    """
    sensitive = _probability(p, "p")
    yes = (1 - sensitive) * _probability(share, "share")
    return Mechanism([[1 - yes, yes], [1 - sensitive - yes, sensitive + yes]], ANSWERS, ANSWERS)


def mangat(p: Any) -> Mechanism:
    r"""Return Mangat's design (1994): carriers say yes; all others use Warner's card with ``p``.

    The report "no" comes from "no" only, so that epsilon is infinite.

    Raises
    ------
    StatementError
        If ``p`` is not a probability.
    """
    share = _probability(p, "p")
    return Mechanism([[share, 1 - share], [0, 1]], ANSWERS, ANSWERS)


def triangular(share: Any) -> Mechanism:
    r"""Return the triangular model (Yu, Tian and Tang 2008): "neither" this trait nor another one,
    whose ``share`` is known, or "at least one".

    The report "neither" comes from "no" only, so that epsilon is infinite.

    Raises
    ------
    StatementError
        If ``share`` is not a probability.
    """
    q = _probability(share, "share")
    return Mechanism([[1 - q, q], [0, 1]], ANSWERS, ("neither", "at least one"))


def kuk(no: Any, yes: Any, draws: int = 1) -> Mechanism:
    r"""Return Kuk's design (1990): the number of red cards in some draws from a pack, whose share
    of red is ``yes`` for carriers and ``no`` for others.

    .. math:: P(k \mid x) = \binom{d}{k} s_x^k (1 - s_x)^{d - k}

    Parameters
    ----------
    no, yes : float, Fraction or str
        Shares of red cards in the two packs.
    draws : int
        Number of draws, with the card put back, from 1 to 64. Default: ``1``.

    Raises
    ------
    StatementError
        If a share is not a probability, or the number of draws is out of range.
    """
    number = whole_number(draws, "draws", 1, 64)
    shares = _probability(no, "no"), _probability(yes, "yes")
    rows = [
        [comb(number, k) * s**k * (1 - s) ** (number - k) for k in range(number + 1)]
        for s in shares
    ]
    return Mechanism(rows, ANSWERS, None)


def item_count(shares: Sequence[Any]) -> Mechanism:
    r"""Return the item count technique (Miller 1984): how many of a list of items apply, the
    sensitive one among others with known, independent ``shares``.

    The counts 0 and of all items tell the answer for certain, so that epsilon is infinite.

    Parameters
    ----------
    shares : sequence of float, Fraction or str
        Shares of people to whom each of the other items applies, at most 64.

    Raises
    ------
    StatementError
        If a share is not a probability, or there are none or too many.
    """
    law = [Fraction(1)]
    for share in _probabilities(shares):
        longer = [*law, Fraction(0)], [Fraction(0), *law]
        law = [a * (1 - share) + b * share for a, b in zip(*longer, strict=True)]
    return Mechanism([[*law, 0], [0, *law]], ANSWERS, None)


def cheating_detection(p1: Any, p2: Any, *, column: str | None = None) -> ReportModel:
    r"""Return the cheating detection model (Clark and Desharnais 1998): two random halves of the
    people with different probabilities of a forced "yes", in which some always say "no".

    .. math:: \Pr(\text{yes} \mid \text{half } i) =
              p_\text{yes} + p_i \, p_\text{no}, \qquad
              p_\text{no} + p_\text{yes} + p_\text{cheater} = 1

    Parameters
    ----------
    p1, p2 : float, Fraction or str
        Probabilities of a forced "yes" in the halves 1 and 2, which differ.
    column : str, optional
        Column of a table that has the half, 1 or 2, of each person.

    Returns
    -------
    ReportModel
        Of the answers "no" and "yes", and the behavior "cheater".

    Raises
    ------
    StatementError
        If an argument is not a probability, or both are the same.

    Examples
    --------
    >>> model = cheating_detection(0.25, 0.75)
    >>> seen = {1: {"yes": 430, "no": 570}, 2: {"yes": 740, "no": 260}}
    >>> model.estimate(seen).std_error.round(4).tolist()
    [0.0418, 0.0245, 0.0222]
    """
    shares = [_probability(p, name) for p, name in ((p1, "p1"), (p2, "p2"))]
    if shares[0] == shares[1]:
        raise StatementError(
            f"both halves have the probability {float(shares[0]):g}",
            code="same-halves",
            do="give different probabilities, such as 0.25 and 0.75: cheaters are seen by them",
        )
    halves = {number: forced(0, share) for number, share in enumerate(shares, 1)}
    return ReportModel(halves, column=column, behaviors={"cheater": "no"})


def _probability(value: Any, name: str) -> Fraction:
    """A probability, exactly; a float means the decimal that a person writes for it."""
    exact = decimal_of(value) if type(value) is float and isfinite(value) else value
    return rational(exact, name, "probability", 0, 1)


def _probabilities(shares: Any) -> list[Fraction]:
    """A sequence of probabilities, not empty."""
    if isinstance(shares, str) or not isinstance(shares, Iterable):
        raise StatementError(
            f"shares = {short_repr(shares)} is not a sequence",
            code="sequence",
            do='pass a list of probabilities, such as ["1/12", "1/12"]',
        )
    read = [_probability(share, "share") for share in shares]
    whole_number(len(read), "number of shares", 1, 64)
    return read


def _binary(row: list[Fraction], reports: Sequence[Any]) -> Mechanism:
    """A channel on no and yes that is the same with both exchanged; the row of no is given."""
    return Mechanism([row, row[::-1]], ANSWERS, reports)
