"""Any list of bounds between averages of a column."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any, ClassVar, Self

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.averages import Odds, average_odds, averaged
from ldpopt.auditing.exact_matrices import exact
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import Names, nearest, read_alphabet
from ldpopt.foundation.numbers import listed_items, short_repr
from ldpopt.privacy.comparisons import Comparisons
from ldpopt.privacy.distributions import Distribution
from ldpopt.privacy.notion import ConeNotion, inputs_of
from ldpopt.privacy.plain import (
    MisstatedError,
    Table,
    at_key,
    plain_budget,
    read_table,
    required,
)


@dataclass(frozen=True)
class OddsBound:
    r"""One bound of a `ColumnCone`: :math:`\sum_x v_x P(x, y) \le e^\epsilon \sum_x u_x P(x, y)`.

    Parameters
    ----------
    over, under : mapping label -> weight
        The averages ``v`` and ``u``; weights are divided by their sum, and labels that are left out
        have weight 0. A float means the decimal that is written for it.
    epsilon : float or str
        Nats in (0, 10000], or ``"log(p/q)"``.

    Raises
    ------
    StatementError
        If epsilon is not in its range, or an average is not a mapping of weights.

    Examples
    --------
    >>> OddsBound({"young": 1}, {"young": 1, "old": 3}, "log(3)").epsilon.ratio
    Fraction(3, 1)
    """

    over: Distribution
    under: Distribution
    epsilon: Budget

    def __init__(
        self, over: Mapping[Hashable, Any], under: Mapping[Hashable, Any], epsilon: float | str
    ) -> None:
        object.__setattr__(self, "over", _read_average(over, "over"))
        object.__setattr__(self, "under", _read_average(under, "under"))
        object.__setattr__(self, "epsilon", Budget.positive(epsilon))

    def to_plain(self) -> dict[str, Any]:
        """Its averages and budget as files hold them."""
        return {
            "over": self.over.to_plain(),
            "under": self.under.to_plain(),
            "epsilon": plain_budget(self.epsilon),
        }


@dataclass(frozen=True)
class ColumnCone(ConeNotion):
    r"""A list of bounds between averages of a column: :math:`v_r \cdot c_y \le e^{\epsilon_r} u_r
    \cdot c_y`.

    Parameters
    ----------
    bounds : sequence of OddsBound
        At least one; they hold for every report.

    Raises
    ------
    StatementError
        If there is no bound, or an element is not an `OddsBound`. Where it is used: if a bound
        names a label that is not an input.

    Notes
    -----
    Every notion of the library that is not about events is such a list; see `Notion.comparisons`.
    An audit takes O(bounds n m) operations, and its epsilon is the largest log ratio of all bounds.

    Examples
    --------
    >>> from ldpopt import Mechanism
    >>> notion = ColumnCone([OddsBound({"a": 1}, {"a": 1, "b": 1}, "log(3/2)")])
    >>> notion.audit(Mechanism([[0.75, 0.25], [0.25, 0.75]], ["a", "b"])).verdict
    'certified'
    """

    kind: ClassVar[str] = "cone"
    bounds: tuple[OddsBound, ...]

    def __init__(self, bounds: Sequence[OddsBound]) -> None:
        read = tuple(listed_items(bounds, "bounds", "pass a list of OddsBound"))
        for bound in read:
            if not isinstance(bound, OddsBound):
                raise StatementError(
                    f"{short_repr(bound)} is not a bound of a cone",
                    code="odds-bound",
                    do="pass OddsBound(over, under, epsilon)",
                )
        if not read:
            raise StatementError(
                "a cone without bounds promises nothing",
                code="no-bounds",
                do="give at least one OddsBound",
            )
        object.__setattr__(self, "bounds", read)

    def __repr__(self) -> str:
        return f"ColumnCone(<{len(self.bounds)} bounds>)"

    def _averages(self, inputs: Names) -> list[tuple[dict[int, Any], dict[int, Any]]]:
        """The averages of each bound by position."""
        labels = read_alphabet(inputs)
        position = {label: x for x, label in enumerate(labels)}
        pairs = []
        for bound in self.bounds:
            sides = []
            for side in (bound.over, bound.under):
                names = side.labels or ()
                for name in names:
                    if name not in position:
                        raise StatementError(
                            f"a bound names {short_repr(name)}, which is not an input",
                            code="unknown-label",
                            do=nearest(name, labels),
                        )
                weights = zip(names, side.weights, strict=True)
                sides.append({position[name]: weight for name, weight in weights if weight})
            pairs.append((sides[0], sides[1]))
        return pairs

    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons:
        """The bounds in their order."""
        pairs = self._averages(inputs)
        return Comparisons(
            len(inputs),
            tuple(over for over, _ in pairs),
            tuple(under for _, under in pairs),
            tuple(bound.epsilon for bound in self.bounds),
        )

    def audit(self, channel: Any) -> Audit:
        """Decide the claim bound by bound from the channel's numbers, exactly."""
        matrix = exact(channel)
        labels = inputs_of(self, channel)
        masses = matrix.entries.tolist()
        odds = []
        for k, (over, under) in enumerate(self._averages(labels)):
            scale = lcm(*(weight.denominator for weight in (*over.values(), *under.values())))
            sides = [
                averaged(masses, [int(side.get(x, 0) * scale) for x in range(len(labels))])
                for side in (over, under)
            ]
            names = (f"average over of bound {k}", f"average under of bound {k}")
            budget = self.bounds[k].epsilon
            denominator = scale * matrix.denominator
            odds.append(Odds(sides[0], sides[1], denominator, budget, names, nouns=("", "")))
        return average_odds(odds, matrix.outputs, f"{len(odds)} bounds")

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """State each bound by labels, with exact numbers."""
        return {"bounds": [bound.to_plain() for bound in self.bounds]}

    @classmethod
    def from_plain(cls, table: Table, inputs: Names) -> Self:
        """Read a list of tables with ``over``, ``under`` and ``epsilon``."""
        bounds = required(table, "bounds")
        if not isinstance(bounds, list):
            raise MisstatedError(
                f"{short_repr(bounds)} is not a list of bounds",
                "bounds",
                do="write bounds = [{ over = { a = 1 }, under = { b = 1 }, epsilon = 0.5 }]",
            )
        read = []
        for k, bound in enumerate(bounds):
            with at_key("bounds", k):
                read.append(_read_bound(read_table(bound), inputs))
        with at_key("bounds"):
            cone = cls(read)
            cone._averages(inputs)
        return cone

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """Each input against the average of all."""
        labels = read_alphabet(inputs)
        mean = dict.fromkeys(labels, 1)
        return cls([OddsBound({x: 1}, mean, epsilon) for x in labels])


def _read_bound(parts: Table, inputs: Names) -> OddsBound:
    """Read the table of a bound."""
    known = ("over", "under", "epsilon")
    for key in parts:
        if key not in known:
            raise MisstatedError(f"unknown key {short_repr(key)}", key, do=nearest(key, known))
    sides: dict[str, Any] = {}
    for key in known:
        if key not in parts:
            problem = f"the key {key} of a bound is missing"
            raise MisstatedError(problem, key, code="missing-key", do=f"add {key}")
    for side in known[:2]:
        with at_key(side):
            sides[side] = Distribution.from_plain(parts[side], f"average {side}", inputs)
    with at_key("epsilon"):
        return OddsBound(sides["over"], sides["under"], parts["epsilon"])


def _read_average(weights: Any, side: str) -> Distribution:
    """An average by label."""
    read = Distribution.read(weights, f"average {side}")
    if read.labels is None:
        raise StatementError(
            f"the average {side} of a bound has no labels",
            code="unlabelled",
            do='give weights by label, such as {"young": 1, "old": 3}',
        )
    return read
