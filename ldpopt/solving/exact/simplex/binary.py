"""The binary models of Zhou, Lu and Wu in the standard form of their paper, with the bases of its
proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import listed_items, rational, short_repr
from ldpopt.solving.exact.simplex.standard_form import StandardForm, exact


@dataclass(frozen=True)
class BinaryBasis:
    """A basis of the binary models in the paper of Zhou, Lu and Wu.

    Attributes
    ----------
    columns : tuple of str
        Six of ``x1`` to ``x8``.
    region : {"first", "middle", "last"}
        The region in which the basis is optimal, as in `closed_forms.binary`.
    """

    columns: tuple[str, ...]
    region: Literal["first", "middle", "last"]

    def interval(self, alpha: Any) -> tuple[Any, Any]:
        """Range of ``prior[0]`` in which its reduced costs are not positive, ends included."""
        if isinstance(alpha, (str, float)):
            alpha = exact(alpha)
        elif not hasattr(alpha, "free_symbols"):  # an expression of sympy stays one
            alpha = rational(alpha, "alpha", "ratio e**epsilon", 1)
        low = 1 / (alpha + 1)
        high = alpha / (alpha + 1)
        return {"first": (high, 1), "middle": (low, high), "last": (0, low)}[self.region]


def _basis(digits: str, region: Literal["first", "middle", "last"]) -> BinaryBasis:
    return BinaryBasis(tuple(f"x{digit}" for digit in digits), region)


# Bases of section 2.2.2, equations (7)-(9)
MODEL_I = {
    "B1": _basis("123478", "middle"),
    "B2": _basis("124678", "last"),
    "B3": _basis("123578", "first"),
}
# Bases of section 3.2.2, equations (16)-(18). The bases of Model I for the outer regions are not
# feasible here.
MODEL_II = {
    "B1": _basis("123478", "middle"),
    "B2": _basis("123458", "first"),
    "B3": _basis("123467", "last"),
}


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
              x_1 + \alpha x_2 + x_5 = \alpha + \delta
              \quad \alpha x_1 + x_2 + x_6 = \alpha + \delta \quad
              x_1 + x_7 = 1 \quad x_2 + x_8 = 1

    with :math:`x_1 = p_{00}`, :math:`x_2 = p_{11}`, maximizing :math:`\pi_0 x_1 + \pi_1 x_2`.

    Parameters
    ----------
    prior : sequence of 2 numbers
        Read exactly; text such as ``"1/3"`` is a rational, other objects (symbols) are unchanged.
    epsilon : float or str, optional
        ``"log(p/q)"`` makes ``alpha`` the exact rational. For any other budget ``alpha`` is
        irrational and replaced by a rational below it, at a relative distance of ``2**-180``, as in
        `closed_forms.binary`.
    delta : number
        In [0, 1], read like the prior; 0 is Model I; default: ``0``.
    alpha : number, optional
        :math:`e^\epsilon` itself, instead of ``epsilon``, read like the prior.
    printed : bool
        Use the right-hand side :math:`\alpha` of rows 3 and 4 as printed in section 3.2.2, without
        :math:`\delta` (docs, "Errata"); default: ``False``.

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
        parameters = (
            "neither epsilon nor alpha is" if epsilon is None else "both epsilon and alpha are"
        )
        raise StatementError(f"{parameters} given", do="give either epsilon or alpha = e**epsilon")
    weights = tuple(exact(weight) for weight in listed_items(prior, "prior"))
    slack = exact(delta)
    ratio = exact(alpha) if epsilon is None else Budget(epsilon).enclosure()[0]
    _require_ranges(weights, slack, ratio)
    unit = Fraction(1)
    zero = Fraction(0)
    left = [(ratio, unit), (unit, ratio), (unit, ratio), (ratio, unit), (unit, zero), (zero, unit)]
    signs = [-unit, -unit, unit, unit, unit, unit]
    upper = ratio if printed else ratio + slack
    return StandardForm(
        tuple(
            (*pair, *(signs[i] if i == k else zero for k in range(6)))
            for i, pair in enumerate(left)
        ),
        (1 - slack, 1 - slack, upper, upper, unit, unit),
        (*weights, *[zero] * 6),
        tuple(f"x{k}" for k in range(1, 9)),
    )


def _require_ranges(weights: tuple[Any, ...], delta: Any, alpha: Any) -> None:
    """Refuse numbers out of range; symbols are not checked."""
    if len(weights) != 2:
        problem = f"the binary models have two answers; the prior has {len(weights)}"
        raise StatementError(problem, do="give two probabilities")
    if isinstance(delta, Fraction) and not 0 <= delta <= 1:
        raise StatementError(
            f"delta = {short_repr(float(delta))} is not in [0, 1]", do="give a probability"
        )
    if isinstance(alpha, Fraction) and alpha < 1:
        problem = f"alpha = {short_repr(float(alpha))} is less than 1: epsilon would be negative"
        raise StatementError(problem, do="give alpha = e**epsilon >= 1")
    for weight in weights:
        if isinstance(weight, Fraction) and not 0 <= weight <= 1:
            problem = f"the prior weight {float(weight):g} is not a probability"
            raise StatementError(problem, do="give a share from 0 to 1")
