r"""Ties: pairs of inputs whose rows a notion compares, their distances, and the outputs that are
compared.

Ties are the meaning of a notion in numbers, from which its rows in programs, the compact form,
cones of columns and bounds are made. There are four shapes: all inputs against all others
(``first`` is None), some inputs against all others (``capped``), listed ordered pairs with
distances, and a table of all distances (`TableTies`). Rows of programs and bounds round each ratio
in the direction that keeps every channel feasible that is private for the real ``e**epsilon``: what
is solved may be a little too wide, never too narrow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.exact_matrices import ULPS
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import (
    Float,
    Int,
    any_array,
    positions,
    real_number,
    require_memory,
    shaped_array,
    truth,
    whole_number,
)
from ldpopt.foundation.rows import RowBlock

Mask = NDArray[np.bool_]


def _mask(values: Any, name: str) -> Mask:
    """Read a vector of truth values, also as 0 and 1."""
    array = any_array(values, name)
    if array.ndim != 1 or array.dtype.kind not in "biu":
        raise _unfit(f"{name} is not a vector of truth values")
    return array.astype(bool, copy=False)


def _owners(values: Any, name: str) -> Int:
    """Read a vector of positions, or -1."""
    array = any_array(values, name)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise _unfit(f"{name} is not a vector of whole numbers")
    return array.astype(np.int64, copy=False)


def _distances(values: Any, name: str) -> Float:
    """Read a vector of real numbers."""
    return shaped_array(values, name, None)


@dataclass(frozen=True)
class Ties:
    r"""Bounds between two rows, for every output: :math:`P(x, y) \le e^{\epsilon d} P(x', y) +
    \delta`.

    Attributes
    ----------
    first, second : int arrays or None
        Ordered pairs (x, x'); None: each capped input is compared with all others, at distance 1.
    distance : float array or None
        ``d`` of each pair, positive.
    delta : float
        Slack of every entry, in [0, 1].
    is_shared : bool
        Whether all outputs of a pair share one ``delta`` (an event-wise notion): the ties are a
        relaxation.
    capped : bool array, shape (n,), or None
        Without pairs: the inputs ``x`` that are compared with all others; None for every input.
    owner : int array, shape (m,), or None
        For each output the only input that may report it, or -1 for a tied output; None: all
        outputs are tied.
    """

    budget: Budget
    n: int
    first: Int | None = None
    second: Int | None = None
    distance: Float | None = None
    delta: float = 0.0
    is_shared: bool = False
    capped: Mask | None = None
    owner: Int | None = None

    def __post_init__(self) -> None:
        """Read the fields, and refuse arrays that do not fit together."""
        try:
            self._read_fields()
        except StatementError as error:
            raise _unfit(error.what) from None
        self._check_pairs()
        if self.capped is not None and self.capped.shape != (self.n,):
            raise _unfit(f"capped has the shape {self.capped.shape}, not ({self.n},)")
        if self.owner is not None and not ((self.owner >= -1) & (self.owner < self.n)).all():
            raise _unfit(f"an owner is neither one of the {self.n} inputs nor -1")

    def _read_fields(self) -> None:
        """Convert numbers and lists."""
        object.__setattr__(self, "budget", Budget(self.budget))
        object.__setattr__(self, "n", whole_number(self.n, "n"))
        object.__setattr__(self, "delta", real_number(self.delta, "delta", 0, 1))
        object.__setattr__(self, "is_shared", truth(self.is_shared, "is_shared"))
        for name, read in READERS.items():
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, read(array, f"{name} of the ties"))

    def _check_pairs(self) -> None:
        """Refuse pairs that do not fit together, name no input, or tie an input to itself."""
        first, second, distance = self.first, self.second, self.distance
        if first is None or second is None:
            if not (first is None and second is None and distance is None):
                raise _unfit("first, second and distance go together")
            return
        if len(first) != len(second) or (distance is not None and len(distance) != len(first)):
            raise _unfit("first, second and distance differ in length")
        ends = [
            end for array in (first, second) if len(array) for end in (array.min(), array.max())
        ]
        if ends and not (min(ends) >= 0 and max(ends) < self.n):
            raise _unfit(f"a pair names an input that is not one of 0, ..., {self.n - 1}")
        if (first == second).any():
            raise _unfit("a pair ties an input to itself")
        if distance is not None and not (np.isfinite(distance) & (distance > 0)).all():
            raise _unfit("a distance is not positive and finite")

    @property
    def is_compact(self) -> bool:
        """Whether a compact program exists, with variables for the minima and maxima of columns."""
        return self.first is None

    @property
    def number(self) -> int:
        """Number of listed pairs; 0 if `first` and `second` are None."""
        return 0 if self.first is None else len(self.first)

    @property
    def has_all_pairs(self) -> bool:
        """Whether all ordered pairs are listed, and in order: then no pairs need be sorted."""
        if self.first is None or self.second is None or self.number != self.n * (self.n - 1):
            return False
        keys = self.first * self.n + self.second
        return bool((keys[1:] > keys[:-1]).all())

    @property
    def distance_range(self) -> tuple[float, float]:
        """Smallest and largest distance."""
        if self.distance is None or not len(self.distance):
            return 1.0, 1.0
        return float(self.distance.min()), float(self.distance.max())

    @property
    def table(self) -> Float:
        """Distance of each ordered pair, shape (n, n); 0 without a tie.

        Of the pair ``(x, x')`` at ``[x, x']``; distances of ties are positive, so that 0 has one
        meaning.
        """
        table = np.zeros((self.n, self.n))
        table[self.pairs()] = 1.0 if self.distance is None else self.distance
        return table

    @property
    def is_complete(self) -> bool:
        """Whether all pairs of inputs are tied, at the same distance and for every output."""
        return self.first is None and self.capped is None and self.owner is None

    @property
    def is_plain(self) -> bool:
        """Whether they say that the entries of a column differ by a factor of at most
        ``e**epsilon``, and no more.
        """
        return self.is_complete and not self.delta and self.n > 1

    @property
    def is_mutual(self) -> bool:
        """Whether each pair is tied both ways at the same distance, for every output.

        Rays of columns are listed and generated for mutual ties alone, or for all inputs against
        all.
        """
        if self.owner is not None:  # its output is not compared
            return False
        if self.is_complete:
            return True
        tied = self.distances()
        return all(tied.get((k, x)) == d for (x, k), d in tied.items())

    def distances(self) -> dict[tuple[int, int], float]:
        """Distance of each ordered pair of tied inputs."""
        first, second = (end.tolist() for end in self.pairs())
        each = [1.0] * len(first) if self.distance is None else self.distance.tolist()
        return dict(zip(zip(first, second, strict=True), each, strict=True))

    def capped_inputs(self) -> Mask:
        """Mask of the inputs that are compared with all others, shape (n,); for ties without
        pairs.
        """
        return np.ones(self.n, bool) if self.capped is None else self.capped

    def tied_outputs(self, m: int) -> Mask:
        """Mask of the tied outputs, shape (m,): those without an owner."""
        m = self._outputs(m)
        return np.ones(m, bool) if self.owner is None else np.asarray(self.owner < 0)

    def allowed(self, m: int) -> Mask:
        """Mask of the entries that may be positive, shape (n, m): only the owner reports an output
        with an owner.

        An entry that may not be positive is 0 in every private channel: an output with an owner
        reveals its owner, so that no other input may give it.
        """
        m = self._outputs(m)
        if self.owner is None:
            return np.ones((self.n, m), bool)
        return np.asarray((self.owner < 0) | (self.owner == np.arange(self.n)[:, None]))

    def _outputs(self, m: int) -> int:
        """Read a number of outputs; ties with owners are about one number of them."""
        m = whole_number(m, "the number of outputs")
        require_memory(float(m) * max(1, self.n), "the outputs")
        if self.owner is not None and len(self.owner) != m:
            raise _unfit(f"the ties are about {len(self.owner)} outputs, not {m}")
        return m

    def _number_of_rows(self, m: int) -> int:
        """Number of rows for m outputs: one for each pair and output."""
        if self.first is not None:
            return self.number * m
        return self.n * max(0, self.n - 1) * m

    def pairs(self) -> tuple[Int, Int]:
        """Ordered pairs of tied inputs, also if `first` and `second` are None."""
        if self.first is not None and self.second is not None:
            return self.first, self.second
        first, second = np.nonzero(~np.eye(self.n, dtype=bool) & self.capped_inputs()[:, None])
        return first, second

    def ratio(self, *, up: bool) -> Float:
        r""":math:`e^{-\epsilon d}` of each pair, bounded from above or below; shape () if all are
        equal.

        ``up`` false is for rows and bounds, which must not exclude a private channel; true is for
        repairs, whose result must be private. The margin covers the error of an exponential and of
        the product in its argument.
        """
        up = truth(up, "up")
        if self.distance is None:
            b = self.budget.b
            return np.array(np.nextafter(b, 1.0) if up and self.budget > 0 else b)
        return self._ratio(self.distance, up)

    def ratio_table(self, *, up: bool) -> Float:
        """The ratios as a table, shape (n, n): that of the pair ``(x, x')`` at ``[x', x]``; 0
        without a tie.
        """
        ratios = np.zeros((self.n, self.n))
        ratios[self.pairs()[::-1]] = self.ratio(up=up)
        return ratios

    def _ratio(self, distance: Float, up: bool) -> Float:
        """The ratio at some distances."""
        exponent = float(self.budget) * distance
        slack = (4 + exponent) * ULPS
        return np.minimum(np.exp(-exponent) * (1 + slack if up else 1 - slack), 1.0)

    def rows(self, n_outputs: int) -> RowBlock:
        r"""Write every pair and output as one row, divided by :math:`e^{\epsilon d}`: coefficients
        lie in [-1, 1].

        The ratio is rounded down: every channel that is private for the real ``e**epsilon``
        satisfies the rows, so a bound under these rows holds for the notion. The last rows are for
        entries that must be 0, one row each.
        """
        n_outputs = whole_number(n_outputs, "n_outputs")
        require_memory(150.0 * self._number_of_rows(n_outputs), "the rows of the notion")
        first, second = self.pairs()
        ratio = np.broadcast_to(self.ratio(up=False), first.shape)
        outputs = np.flatnonzero(self.tied_outputs(n_outputs))
        size = len(first) * len(outputs)
        m = len(outputs)
        entry = np.empty((len(first), m, 2), np.int64)
        entry[:, :, 0] = first[:, None]
        entry[:, :, 1] = second[:, None]
        value = np.empty((len(first), m, 2))
        value[:, :, 0] = ratio[:, None]
        value[:, :, 1] = -1.0
        upper = np.repeat(
            np.nextafter(ratio * self.delta, 1.0) if self.delta else np.zeros(len(first)), m
        )
        y = np.broadcast_to(outputs[None, :, None], entry.shape)
        row = np.repeat(np.arange(size), 2)
        zero_x, zero_y = np.nonzero(~self.allowed(n_outputs))
        total = size + len(zero_x)
        return RowBlock(
            "privacy",
            np.concatenate([row, size + np.arange(len(zero_x))]),
            np.concatenate([entry.reshape(-1), zero_x]),
            np.concatenate([y.reshape(-1), zero_y]),
            np.concatenate([value.reshape(-1), np.ones(len(zero_x))]),
            np.full(total, -np.inf),
            np.concatenate([upper, np.zeros(len(zero_x))]),
        )

    def rows_of_events(self, first: Int, second: Int, member: NDArray[Any]) -> RowBlock:
        """Write ``b P_x(S) - P_x'(S) <= b delta`` for the pairs and events given, of ties at
        distance 1.

        The upper side ``b delta`` is rounded up, for the same reason as ``b`` is rounded down.

        ``b = e**-epsilon`` is rounded down, so that no private channel is excluded. ``member``,
        shape (rows, m), is a mask of the outputs of each row's event.
        """
        b = self.budget.b
        first = positions(first, "first inputs", None, self.n)
        size = len(first)
        second = positions(second, "second inputs", size, self.n)
        member = any_array(member, "mask of the events")
        if member.shape[:1] != (size,) or member.ndim != 2 or member.dtype.kind not in "biuf":
            raise _unfit(f"the mask of the events has the shape {member.shape}, not ({size}, m)")
        row, y = np.nonzero(member)
        x = np.stack([first[row], second[row]], axis=1).reshape(-1)
        value = np.tile([b, -1.0], len(row))
        upper = np.full(size, np.nextafter(b * self.delta, 1.0) if self.delta else 0.0)
        return RowBlock(
            "privacy", np.repeat(row, 2), x, np.repeat(y, 2), value, np.full(size, -np.inf), upper
        )


class TableTies(Ties):
    """Ties of all pairs at the distances of a table, (n, n); lists of pairs, three times as large,
    are made if read.
    """

    is_compact = is_complete = False
    has_all_pairs = True
    _table: Float

    def __new__(cls, *_: Any, **fields: Any) -> Any:
        """Plain ties if fields are given, as by `dataclasses.replace`."""
        return Ties(**fields) if fields else super().__new__(cls)

    def __init__(self, budget: Budget, table: Float) -> None:
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "n", len(table))
        object.__setattr__(self, "delta", 0.0)
        object.__setattr__(self, "is_shared", False)
        object.__setattr__(self, "capped", None)
        object.__setattr__(self, "owner", None)
        object.__setattr__(self, "_table", table)

    @property
    def table(self) -> Float:
        """Distance of each ordered pair, shape (n, n)."""
        return self._table

    @cached_property
    def first(self) -> Int:
        """First inputs of the pairs."""
        return np.repeat(np.arange(self.n), self.n - 1)

    @cached_property
    def second(self) -> Int:
        """Second inputs of the pairs."""
        return np.nonzero(~np.eye(self.n, dtype=bool))[1]

    @cached_property
    def distance(self) -> Float:
        """Distances of the pairs."""
        return self.table[~np.eye(self.n, dtype=bool)]

    @property
    def is_plain(self) -> bool:
        """Whether they say that the entries of a column differ by a factor of at most
        ``e**epsilon``, and no more.
        """
        return self.is_complete and not self.delta and self.n > 1

    @property
    def is_mutual(self) -> bool:
        """Whether distances are symmetric."""
        return bool((self.table == self.table.T).all())

    @property
    def number(self) -> int:
        """Number of pairs."""
        return self.n * (self.n - 1)

    @cached_property
    def distance_range(self) -> tuple[float, float]:
        """Smallest and largest distance."""
        if self.n == 1:
            return 1.0, 1.0
        return min(float(np.delete(row, x).min()) for x, row in enumerate(self.table)), float(
            self.table.max()
        )

    def ratio_table(self, *, up: bool) -> Float:
        """The ratios as a table, computed a row at a time."""
        up = truth(up, "up")
        ratios = np.empty_like(self.table)
        for x, row in enumerate(self.table.T):
            ratios[x] = self._ratio(row, up)
        np.fill_diagonal(ratios, 0.0)
        return ratios


READERS: dict[str, Callable[[Any, str], Any]] = {
    "first": positions,
    "second": positions,
    "owner": _owners,
    "distance": _distances,
    "capped": _mask,
}
"""How the arrays of `Ties` are read."""


def _unfit(problem: str) -> StatementError:
    return StatementError(problem, where="the ties of a privacy notion", do="correct the notion")


def no_rows(subject: str, count: float) -> NotRepresentableError:
    """Error for a definition that has too many rows to write down."""
    return NotRepresentableError(
        f"{subject} has {count:.3g} rows",
        code="rows",
        do="let solve() generate the violated ones, or take fewer outputs",
    )
