"""The binary models of Zhou, Lu and Wu as printed: standard form and the bases of their proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from ldpopt.certificate.simplex.form import StandardForm, exact
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import short_repr


@dataclass(frozen=True)
class BinaryBasis:
    """A basis of the binary models, as Zhou, Lu and Wu choose it.

    Attributes
    ----------
    columns : tuple of str
        Six of ``x1`` to ``x8``.
    region : {"first", "middle", "last"}
        Where it is optimal, in the words of `closed_forms.binary`.
    """

    columns: tuple[str, ...]
    region: Literal["first", "middle", "last"]

    def interval(self, alpha: Any) -> tuple[Any, Any]:
        """Range of ``prior[0]`` in which its reduced costs are not positive, ends included."""
        low, high = 1 / (alpha + 1), alpha / (alpha + 1)
        return {"first": (high, 1), "middle": (low, high), "last": (0, low)}[self.region]


def _basis(digits: str, region: Literal["first", "middle", "last"]) -> BinaryBasis:
    return BinaryBasis(tuple(f"x{digit}" for digit in digits), region)


MODEL_I = {"B1": _basis("123478", "middle"), "B2": _basis("124678", "last"), "B3": _basis("123578", "first")}
"""Bases of section 2.2.2, equations (7)-(9)."""

MODEL_II = {"B1": _basis("123478", "middle"), "B2": _basis("123458", "first"), "B3": _basis("123467", "last")}
"""Bases of section 3.2.2, equations (16)-(18). Those of Model I for the outer regions are not feasible here."""


def binary_standard_form(
    prior: Sequence[Any],
    epsilon: float | str | None = None,
    delta: Any = 0,
    *,
    alpha: Any = None,
    printed: bool = False,
) -> StandardForm:
    r"""Models I and II of Zhou, Lu and Wu in the standard form of their proof: 6 rows, 8 columns.

    .. math:: \alpha x_1 + x_2 - x_3 = 1 - \delta \quad x_1 + \alpha x_2 - x_4 = 1 - \delta \quad
              x_1 + \alpha x_2 + x_5 = \alpha + \delta \quad \alpha x_1 + x_2 + x_6 = \alpha + \delta \quad
              x_1 + x_7 = 1 \quad x_2 + x_8 = 1

    with :math:`x_1 = p_{00}`, :math:`x_2 = p_{11}`, maximizing :math:`\pi_0 x_1 + \pi_1 x_2`.

    Parameters
    ----------
    prior : sequence of 2 numbers
        Read exactly; text such as ``"1/3"`` is a rational, other objects (symbols) are kept.
    epsilon : float or str, optional
        ``"log(p/q)"`` makes ``alpha`` the exact rational. Any other budget has an irrational ``alpha``: a rational
        below it stands in, ``2**-180`` away relatively, as in `closed_forms.binary`.
    delta : number
        In [0, 1], read like the prior; 0 is Model I.
    alpha : number, optional
        :math:`e^\epsilon` itself, instead of ``epsilon``, read like the prior.
    printed : bool
        Keep the right-hand side that section 3.2.2 prints for rows 3 and 4, :math:`\alpha`, which lacks
        :math:`\delta` (docs, "Errata").

    Raises
    ------
    StatementError
        If a number is out of range, or not exactly one of ``epsilon`` and ``alpha`` is given.

    Examples
    --------
    >>> form = binary_standard_form([0.25, 0.75], "log(3)", "1/10")
    >>> print(*form.right)
    9/10 9/10 31/10 31/10 1 1
    """
    if (epsilon is None) == (alpha is None):
        raise StatementError("give either epsilon or alpha = e**epsilon")
    weights, slack = tuple(exact(weight) for weight in prior), exact(delta)
    ratio = exact(alpha) if epsilon is None else Budget(epsilon).enclosure()[0]
    if len(weights) != 2:
        raise StatementError(f"the binary models have two answers; the prior has {len(weights)}")
    if isinstance(slack, Fraction) and not 0 <= slack <= 1:
        raise StatementError(f"delta = {short_repr(delta)} is not in [0, 1]")
    if isinstance(ratio, Fraction) and ratio < 1:
        raise StatementError(f"alpha = {short_repr(alpha)} is less than 1: epsilon would be negative")
    for weight in weights:
        if isinstance(weight, Fraction) and not 0 <= weight <= 1:
            raise StatementError(f"the prior has the weight {float(weight):g}, which is no probability")
    one, zero = Fraction(1), Fraction(0)
    left = [(ratio, one), (one, ratio), (one, ratio), (ratio, one), (one, zero), (zero, one)]
    signs = [-one, -one, one, one, one, one]
    upper = ratio if printed else ratio + slack
    return StandardForm(
        tuple((*pair, *(signs[i] if i == k else zero for k in range(6))) for i, pair in enumerate(left)),
        (1 - slack, 1 - slack, upper, upper, one, one),
        (*weights, *[zero] * 6),
        tuple(f"x{k}" for k in range(1, 9)),
    )
