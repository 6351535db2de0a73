r"""Comparisons of averages: the meaning of every notion that speaks of one report at a time.

A column ``c`` of a channel has the probabilities of one report under all answers. A *comparison*
``(v, u, epsilon)`` bounds one average of it by another one,

.. math:: \sum_x v_x c_x \le e^\epsilon \sum_x u_x c_x,
          \qquad v, u \ge 0, \quad \sum_x v_x = \sum_x u_x = 1 .

Pairs of rows are the case in which both averages are single entries. Both averages of a constant
column are equal, so that for ``epsilon > 0`` a constant satisfies each comparison strictly: a
constant that is large enough makes any column private, which is how channels are repaired.

A notion may also let one answer have reports of its own, which reveal it: their columns are 0 at
all other answers, and no comparison is about them.

The list says all that the rest of the library has to know of a notion. Programs, repairs, bounds,
extreme rays and certificate files are made from it, so that a notion that writes the list has
everything that pure privacy has. The audit alone does not read it: it computes the definition from
the numbers of a channel, and would notice a list that says something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import frexp, inf, lcm
from numbers import Integral, Rational

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, round_down
from ldpopt.foundation.numbers import (
    Float,
    Int,
    any_array,
    listed_items,
    positions,
    require_kind,
    require_memory,
    whole_number,
)
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.ties import Ties

Average = Mapping[int, Fraction]
"""Weights of inputs by position, positive, with the sum 1; inputs of weight 0 are left out."""

TIED = -1  # owner of a report that is compared
LARGEST_SCALE = 40  # largest binary exponent of the scale of a row
NOBODY = -2  # owner of a report that no answer may give


@dataclass(frozen=True, eq=False)
class Comparisons:
    r"""A list of comparisons :math:`\sum_x v_x c_x \le e^{\epsilon d} \sum_x u_x c_x` of columns.

    Attributes
    ----------
    n : int
        Number of inputs.
    over, under : tuple of mappings position -> Fraction
        The averages ``v`` and ``u``, one of each for a comparison; positive weights that sum to 1.
    budget : tuple of Budget
        The budget of each comparison, in nats, positive.
    multiple : tuple of Fraction
        The factor ``d`` of each budget, such as a distance; default: 1 for all.
    units : tuple of int
        Inputs that may have reports of their own, which no comparison is about.
    owner : int array, shape (m,), or None
        For each output the only input that may report it, `TIED` for an output that is compared,
        `NOBODY` for an output that no input may report; None: all outputs are compared.

    Raises
    ------
    StatementError
        If an average has other weights, a budget is 0, a part is of another kind, or the parts do
        not fit together.
    """

    n: int
    over: tuple[Average, ...]
    under: tuple[Average, ...]
    budget: tuple[Budget, ...]
    multiple: tuple[Fraction, ...] = ()
    units: tuple[int, ...] = ()
    owner: Int | None = field(default=None)

    def __post_init__(self) -> None:
        """Read the fields; refuse parts that do not fit together, and comparisons without an
        inside.
        """
        object.__setattr__(self, "n", whole_number(self.n, "n"))
        self._read("over", Mapping)
        self._read("under", Mapping)
        self._read("budget", Budget)
        self._read("multiple", Rational)
        count = len(self.over)
        if not self.multiple:
            object.__setattr__(self, "multiple", (Fraction(1),) * count)
        if any(len(part) != count for part in (self.under, self.budget, self.multiple)):
            raise _unfit("the averages and budgets differ in number", "number")
        for average in chain(self.over, self.under):
            self._check_average(average)
        for budget, multiple in zip(self.budget, self.multiple, strict=True):
            if not (budget > 0 and multiple > 0):
                raise StatementError(
                    "at epsilon = 0 a comparison leaves no room between its two averages",
                    code="zero-epsilon",
                    do="merge the answers that reports must not tell apart, or give epsilon > 0",
                )
        units = listed_items(self.units, "units")
        object.__setattr__(self, "units", tuple(positions(units, "units", None, self.n).tolist()))
        if self.owner is not None:
            owner = any_array(self.owner, "owner")
            is_whole_vector = owner.ndim == 1 and (owner.dtype.kind in "iu" or not owner.size)
            if not is_whole_vector or not ((owner >= NOBODY) & (owner < self.n)).all():
                raise _unfit("an owner is not one of the inputs", "owner")
            object.__setattr__(self, "owner", owner.astype(np.int64))

    def _read(self, name: str, kind: type) -> None:
        """Read a field as a tuple of objects of one kind."""
        parts = tuple(listed_items(getattr(self, name), name))
        for part in {type(part): part for part in parts}.values():
            require_kind(part, kind, f"{name} of Comparisons")
        object.__setattr__(self, name, parts)

    def _check_average(self, average: Average) -> None:
        """Refuse an average of other inputs, or whose weights are not positive with the sum 1."""
        if not all(isinstance(x, Integral) for x in average):
            raise _unfit("an average names an input that is not a whole number", "type")
        if not all(isinstance(weight, Rational) for weight in average.values()):
            raise _unfit("a weight of an average is not a rational number", "type")
        if any(not 0 <= x < self.n for x in average):
            raise _unfit(f"an average names an input beyond 0, ..., {self.n - 1}", "average-input")
        if sum(average.values()) != 1 or min(average.values()) <= 0:
            raise _unfit("the weights of an average are not positive with the sum 1", "weights")

    @classmethod
    def of_ties(cls, ties: Ties) -> Comparisons | None:
        """Each tied pair as a comparison of two entries; None if the ties have a delta."""
        require_kind(ties, Ties, "Comparisons.of_ties()")
        if ties.delta or ties.is_shared:
            return None
        first, second = ties.pairs()
        distance = np.ones(len(first)) if ties.distance is None else ties.distance
        one = Fraction(1)
        unit = [{x: one} for x in range(ties.n)]
        owned = () if ties.owner is None else sorted({x for x in ties.owner.tolist() if x >= 0})
        return cls(
            ties.n,
            tuple(unit[x] for x in first.tolist()),
            tuple(unit[x] for x in second.tolist()),
            (ties.budget,) * len(first),
            tuple(map(Fraction, distance.tolist())),
            tuple(owned),
            ties.owner,
        )

    def __repr__(self) -> str:
        return f"Comparisons(<{len(self)} of {self.n} inputs>)"

    def __len__(self) -> int:
        return len(self.over)

    @cached_property
    def enclosures(self) -> tuple[tuple[Fraction, Fraction], ...]:
        r"""Rationals around :math:`e^{\epsilon d}` of each comparison."""
        pairs = zip(self.budget, self.multiple, strict=True)
        return tuple(budget.enclosure(multiple) for budget, multiple in pairs)

    @cached_property
    def ratios(self) -> tuple[Float, Int]:
        r"""The distinct :math:`e^{\epsilon d}` in floats, ascending, and the place of each
        comparison's among them.
        """
        pairs = zip(self.budget, self.multiple, strict=True)
        with np.errstate(over="ignore"):
            values = np.exp([float(budget) * float(multiple) for budget, multiple in pairs])
        distinct, place = np.unique(values, return_inverse=True)
        return distinct, place

    @cached_property
    def scales(self) -> Float:
        r"""Powers of two near :math:`1 / (1 - e^{-\epsilon d})`, by which rows of programs are
        multiplied.

        For a small budget a row bounds a difference of nearly equal averages. Solvers accept rows
        that are violated by a fixed tolerance; the constant that repairs a column is this violation
        divided by ``1 - exp(-epsilon d)``.
        """
        rooms = [float(1 - 1 / high) for _, high in self.enclosures]
        return np.array([2.0 ** min(max(-frexp(room)[1], 0), LARGEST_SCALE) for room in rooms])

    def allows_unit(self, x: int) -> bool:
        """Whether a report of one answer alone is certain to be private: as a report of its own, or
        by all comparisons.
        """
        if x in self.units:
            return True
        zero = Fraction(0)
        return all(
            over.get(x, zero) <= low * under.get(x, zero)
            for over, under, (low, _) in zip(self.over, self.under, self.enclosures, strict=True)
        )

    def __and__(self, other: Comparisons) -> Comparisons:
        """The comparisons of both; a report of one answer alone is allowed where both allow it."""
        if self.n != other.n:
            raise _unfit(f"{self.n} inputs and {other.n} inputs", "inputs")
        units = tuple(x for x in range(self.n) if self._is_common_unit(other, x))
        return Comparisons(
            self.n,
            self.over + other.over,
            self.under + other.under,
            self.budget + other.budget,
            self.multiple + other.multiple,
            units,
            _common_owner(self, other),
        )

    def _is_common_unit(self, other: Comparisons, x: int) -> bool:
        """Whether one of two lists gives an input reports of its own, and both allow them."""
        is_named = x in self.units or x in other.units
        return is_named and self.allows_unit(x) and other.allows_unit(x)

    def tied_outputs(self, m: int) -> NDArray[np.bool_]:
        """Mask of the outputs that are compared, shape (m,)."""
        m = self._outputs(m)
        return np.ones(m, bool) if self.owner is None else np.asarray(self.owner == TIED)

    def allowed(self, m: int) -> NDArray[np.bool_]:
        """Mask of the entries that may be positive, shape (n, m): only the owner reports an output
        with an owner.
        """
        m = self._outputs(m)
        if self.owner is None:
            return np.ones((self.n, m), bool)
        return np.asarray((self.owner == TIED) | (self.owner == np.arange(self.n)[:, None]))

    def _outputs(self, m: int) -> int:
        """Read a number of outputs; comparisons with owners are about one number of them."""
        m = whole_number(m, "the number of outputs")
        if self.owner is not None and len(self.owner) != m:
            raise _unfit(f"there are {len(self.owner)} outputs, not {m}", "outputs")
        return m

    @cached_property
    def _sparse(self) -> tuple[Int, Int, Float]:
        """Comparison, input and scaled coefficient ``v / e**(epsilon d) - u`` of each non-zero,
        rounded down.
        """
        row = []
        inputs = []
        value = []
        for r, (over, under, (_, high)) in enumerate(
            zip(self.over, self.under, self.enclosures, strict=True)
        ):
            for x in sorted(over.keys() | under.keys()):
                row.append(r)
                inputs.append(x)
                value.append(self.scales[r] * round_down(coefficient(over, under, high, x)))
        return np.array(row, np.int64), np.array(inputs, np.int64), np.array(value, float)

    @cached_property
    def conditions(self) -> Float:
        """Rows ``(u - v / a) / (1 - 1 / a)``, shape (k, n), that are not negative at a private
        column, and 1 at the constant 1.
        """
        rows = np.zeros((len(self), self.n))
        parts = zip(self.over, self.under, self.enclosures, strict=True)
        for row, (over, under, (_, high)) in zip(rows, parts, strict=True):
            for x in over.keys() | under.keys():
                row[x] = float(-coefficient(over, under, high, x) / (1 - 1 / high))
        return rows

    def size(self, m: int) -> tuple[float, float]:
        """Numbers of rows and non-zeros of a program of m outputs, without building it."""
        tied = float(np.count_nonzero(self.tied_outputs(m)))
        zeros = float(np.count_nonzero(~self.allowed(m)))
        weights = sum(
            len(over.keys() | under.keys())
            for over, under in zip(self.over, self.under, strict=True)
        )
        return len(self) * tied + zeros, weights * tied + zeros

    def rows(self, n_outputs: int) -> RowBlock:
        r"""Write each comparison and output as one row :math:`\sum_x (v_x e^{-\epsilon d} - u_x)
        P(x, y) \le 0`, multiplied by its scale.

        Row ``r k + j`` is comparison ``r`` for the ``j``-th of ``k`` compared outputs. A
        coefficient is computed with the upper end of the enclosure, and rounded down: since columns
        are not negative, no private channel is excluded. The last rows are for entries that must be
        0.

        Parameters
        ----------
        n_outputs : int
            Number of outputs.

        Returns
        -------
        RowBlock
            Rows named ``"privacy"``.

        Raises
        ------
        StatementError
            If the owners are about another number of outputs, or the rows do not fit into memory.
        """
        tied = np.flatnonzero(self.tied_outputs(n_outputs))
        k = len(tied)
        require_memory(150.0 * self.size(n_outputs)[1], "the rows of the notion")
        row, inputs, value = self._sparse
        block = (row[:, None] * k + np.arange(k)).reshape(-1)
        order = np.argsort(block, kind="stable")
        x = np.repeat(inputs, k)[order]
        y = np.tile(tied, len(inputs))[order]
        zero_x, zero_y = np.nonzero(~self.allowed(n_outputs))
        size = len(self) * k
        total = size + len(zero_x)
        return RowBlock(
            "privacy",
            np.concatenate([block[order], size + np.arange(len(zero_x))]),
            np.concatenate([x, zero_x]),
            np.concatenate([y, zero_y]),
            np.concatenate([np.repeat(value, k)[order], np.ones(len(zero_x))]),
            np.full(total, -inf),
            np.zeros(total),
        )

    @cached_property
    def whole(self) -> list[tuple[dict[int, int], dict[int, int], int]]:
        """Averages in integers over a common denominator of each comparison: over, under,
        denominator.
        """
        integers = []
        for over, under in zip(self.over, self.under, strict=True):
            weights = (*over.values(), *under.values())
            scale = lcm(*(weight.denominator for weight in weights))
            integers.append((_scaled(over, scale), _scaled(under, scale), scale))
        return integers


def coefficient(over: Average, under: Average, ratio: Fraction, x: int) -> Fraction:
    """``v_x / ratio - u_x`` of a comparison."""
    zero = Fraction(0)
    return over.get(x, zero) / ratio - under.get(x, zero)


def _scaled(average: Average, scale: int) -> dict[int, int]:
    return {x: int(weight * scale) for x, weight in average.items()}


def _common_owner(first: Comparisons, second: Comparisons) -> Int | None:
    """Owner of each output under two lists.

    An output that one list gives to an answer, and the other compares, belongs to the answer if the
    other list allows its column, and otherwise to nobody; so does one of two owners.
    """
    if first.owner is None and second.owner is None:
        return None
    sizes = {len(part.owner) for part in (first, second) if part.owner is not None}
    if len(sizes) > 1:
        raise _unfit(f"{sizes} outputs", "outputs")
    m = sizes.pop()
    tied = [TIED] * m
    owners = [tied if part.owner is None else part.owner.tolist() for part in (first, second)]
    common = []
    for one, two in zip(*owners, strict=True):
        if one == two:
            common.append(one)
        elif TIED not in (one, two):
            common.append(NOBODY)
        else:
            owner = max(one, two)  # the other one is TIED, or NOBODY below it
            other = second if two == TIED else first
            is_private = owner >= 0 and other.allows_unit(owner)
            common.append(owner if is_private else NOBODY)
    return np.array(common, np.int64)


def _unfit(problem: str, code: str) -> StatementError:
    return StatementError(
        f"the comparisons do not fit together: {problem}",
        code=code,
        where="the comparisons of a privacy notion",
        do="correct the notion",
    )
