"""Workloads: the numbers that are to be estimated, as a matrix over the answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.estimation.workload_rows import (
    Permutation,
    marginal_rows,
    parities,
    product_symmetries,
    range_rows,
    reversal,
)
from ldpopt.estimation.workload_statements import (
    MOST,
    Alphabet,
    alphabet,
    attributes,
    labels_of,
    numbers,
    read_table,
    require_entries,
)
from ldpopt.foundation.checks import (
    Float,
    frozen,
    real_number,
    require_memory,
    short_repr,
    whole_number,
)
from ldpopt.foundation.labels import codes, listed


class Workload:
    r"""What is to be estimated: the numbers ``W p`` for the unknown distribution ``p`` of the answers.

    Parameters
    ----------
    matrix : array_like, shape (k, n), or DataFrame
        One row a number that is wanted, one column an answer. One row may be given as a vector. A table is labelled by
        its columns (the answers) and its index (the names).
    inputs : sequence of hashable, optional
        The answers; default: 0, 1, 2, ..., or the columns of a table. A table is put in the order stated here.
    names : sequence of hashable, optional
        What the rows are called; default: 0, 1, 2, ..., or the index of a table.

    Attributes
    ----------
    shape : tuple of int
        ``(k, n)``.
    matrix : ndarray, shape (k, n)
        Built when it is first asked for.
    gram : ndarray, shape (n, n)
        ``W^T W``: all that the best mechanism depends on.

    Raises
    ------
    StatementError
        If an entry is not finite, all entries are 0, or the shape or a label does not fit.

    Notes
    -----
    ``2 * w`` doubles every number, and so multiplies its variance by 4. ``v + w`` asks for the rows of both.

    Examples
    --------
    >>> w = Workload([[1, 0, 0], [1, 1, 0]], inputs=["low", "middle", "high"], names=["low", "at most middle"])
    >>> (2 * w + Workload.mean([1, 2, 3], inputs=w.inputs)).shape
    (3, 3)
    """

    shape: tuple[int, int]
    inputs: tuple[Hashable, ...]
    names: tuple[Hashable, ...]
    symmetries: tuple[Permutation, ...] = ()
    """Permutations of the answers that may leave the Gram matrix as it is; each is checked before it is used."""

    candidates: Float | None = None
    """Indicators of sets that a design may begin with, for many answers."""

    sizes: tuple[int, ...] | None = None
    """Numbers of values of the attributes, where the answers are all combinations, the last running fastest."""

    def __init__(
        self,
        matrix: ArrayLike,
        inputs: Sequence[Hashable] | None = None,
        names: Sequence[Hashable] | None = None,
    ) -> None:
        array, inputs, names = read_table(matrix, inputs, names)
        require_entries(array)
        self.shape = (array.shape[0], array.shape[1])
        self.inputs = labels_of(inputs, self.shape[1], "input")
        self.names = labels_of(names, self.shape[0], "name")
        self._build: Callable[[], Float] = lambda: frozen(array)

    @classmethod
    def _structured(
        cls,
        shape: tuple[int, int],
        build: Callable[[], Float],
        inputs: Sequence[Hashable],
        names: Sequence[Hashable],
        gram: Callable[[], Float] | None = None,
        symmetries: Sequence[Permutation] = (),
    ) -> Workload:
        """Make one whose matrix is built when it is needed."""
        made = object.__new__(cls)
        made.shape, made.inputs, made.names = shape, tuple(inputs), tuple(names)
        made._build, made._gram, made.symmetries = build, gram, tuple(symmetries)
        return made

    _gram: Callable[[], Float] | None = None

    def __repr__(self) -> str:
        """Size and labels, shortened."""
        return (
            f"Workload({self.shape[0]} numbers {listed(self.names)} of {self.shape[1]} answers {listed(self.inputs)})"
        )

    @cached_property
    def matrix(self) -> Float:
        """The rows, shape ``(k, n)``, read-only."""
        require_memory(8.0 * self.shape[0] * self.shape[1], f"a workload of shape {self.shape}")
        return frozen(self._build())

    @cached_property
    def gram(self) -> Float:
        """``W^T W``, shape ``(n, n)``, read-only."""
        require_memory(8.0 * self.shape[1] ** 2, f"the Gram matrix of {self.shape[1]} answers")
        if self._gram is not None:
            return frozen(self._gram())
        matrix = self.matrix
        return frozen(np.asarray(matrix.T @ matrix))

    unit: float | None = None
    """The number that it is the identity times, where that is known without building a matrix."""

    def __mul__(self, factor: float) -> Workload:
        """Every number times a factor."""
        number = real_number(factor, "factor of a workload", -MOST, MOST)
        if number == 0:
            raise StatementError("a workload times 0 asks for nothing", do="leave it out")
        gram = None if self._gram is None else (lambda: number**2 * self.gram)
        made = Workload._structured(
            self.shape, lambda: number * self.matrix, self.inputs, self.names, gram, self.symmetries
        )
        made.unit = None if self.unit is None else self.unit * number
        made.sizes = self.sizes
        return made

    __rmul__ = __mul__

    def __add__(self, other: Workload) -> Workload:
        """The rows of both."""
        return Workload.stack(self, other)

    @classmethod
    def stack(cls, *parts: Workload) -> Workload:
        """Ask for the rows of several workloads about the same answers, in the order of the first one's labels.

        Raises
        ------
        StatementError
            If there are none, or the labels are not the same.
        """
        if not parts or not all(isinstance(part, Workload) for part in parts):
            raise StatementError("stack takes workloads, at least one", do="pass Workload.prefix(n), ...")
        inputs = parts[0].inputs
        aligned = [part.align(inputs) for part in parts]
        made = cls._structured(
            (sum(part.shape[0] for part in parts), len(inputs)),
            lambda: np.vstack([part.matrix for part in aligned]),
            inputs,
            tuple(name for part in parts for name in part.names),
            lambda: np.sum([part.gram for part in aligned], axis=0),
            [swap for part in aligned for swap in part.symmetries],
        )
        made.sizes = next((part.sizes for part in aligned if part.sizes is not None), None)
        return made

    def align(self, inputs: Sequence[Hashable]) -> Workload:
        """Put the answers into another order, by label.

        Raises
        ------
        StatementError
            If a label is missing on either side.
        """
        names = labels_of(inputs, len(tuple(inputs)), "input")
        if names == self.inputs:
            return self
        if set(names) != set(self.inputs):
            odd = next(iter(set(names) ^ set(self.inputs)))
            raise StatementError(
                f"the label {short_repr(odd)} is on one side only",
                where="the answers of a workload",
                do=f"the workload has {listed(self.inputs)}, the other side {listed(names)}",
            )
        order = codes(list(names), self.inputs, "input")
        back = np.argsort(order)
        return Workload._structured(
            self.shape,
            lambda: self.matrix[:, order],
            names,
            self.names,
            lambda: self.gram[np.ix_(order, order)],
            [back[swap[order]] for swap in self.symmetries],
        )

    # The usual ones.

    @classmethod
    def frequencies(cls, inputs: Alphabet) -> Workload:
        """Ask for the share of every answer.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers, or their number.
        """
        names = alphabet(inputs)
        n = len(names)
        made = cls._structured((n, n), lambda: np.eye(n), names, names, lambda: np.eye(n), [reversal(n)])
        made.unit = 1.0
        return made

    @classmethod
    def prefix(cls, inputs: Alphabet) -> Workload:
        """Ask for the distribution function: the share of answers up to each one, in the order given.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers in their order, or their number. The last share is always 1 and costs nothing.
        """
        names = alphabet(inputs)
        n, place = len(names), np.arange(len(names))
        return cls._structured(
            (n, n),
            lambda: np.tril(np.ones((n, n))),
            names,
            [f"<= {name}" for name in names],
            lambda: n - np.maximum.outer(place, place).astype(np.float64),
            [reversal(n)],
        )

    @classmethod
    def ranges(cls, inputs: Alphabet) -> Workload:
        """Ask for the share of every range of neighboring answers, ``n (n + 1) / 2`` of them.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers in their order, or their number.
        """
        names = alphabet(inputs)
        n, place = len(names), np.arange(len(names))
        count = n * (n + 1) // 2
        require_memory(100.0 * count, f"the names of {count} ranges")
        gram = (np.minimum.outer(place, place) + 1.0) * (n - np.maximum.outer(place, place))
        return cls._structured(
            (count, n),
            lambda: range_rows(n),
            names,
            [f"{names[low]} .. {names[high]}" for low in range(n) for high in range(low, n)],
            lambda: gram,
            [reversal(n)],
        )

    @classmethod
    def mean(cls, values: ArrayLike, inputs: Sequence[Hashable] | None = None) -> Workload:
        """Ask for the mean of a number that every answer stands for.

        Parameters
        ----------
        values : array_like, shape (n,), or mapping label -> number
            The numbers.
        inputs : sequence of hashable, optional
            The answers; default: the keys of a mapping, else 0, 1, 2, ...
        """
        return cls.means({"mean": values}, inputs)

    @classmethod
    def means(cls, values: Mapping[Hashable, Any], inputs: Sequence[Hashable] | None = None) -> Workload:
        """Ask for several means.

        Parameters
        ----------
        values : mapping name -> numbers
            For every mean its numbers, a vector or a mapping label -> number.
        inputs : sequence of hashable, optional
            As in `mean`.
        """
        if not isinstance(values, Mapping) or not values:
            raise StatementError("means take a mapping from a name to its numbers", do='pass {"age": [...]}')
        first = next(iter(values.values()))
        if inputs is None and isinstance(first, Mapping):
            inputs = list(first)
        rows = [numbers(row, inputs) for row in values.values()]
        sizes = {row.shape for row in rows}
        if len(sizes) > 1 or rows[0].ndim != 1:
            raise StatementError("the lists of numbers are no vectors of one length")
        made = cls(np.array(rows), inputs, list(values))
        made.symmetries = (reversal(made.shape[1]),)
        return made

    @classmethod
    def marginals(cls, shape: Sequence[Any] | Mapping[Hashable, Any], k: int) -> Workload:
        """Ask for all k-way marginals of answers that are combinations of attributes.

        Parameters
        ----------
        shape : sequence of int or of label lists, or mapping name -> labels
            The attributes: how many values each has, or which.
        k : int
            Attributes a table, from 1 to their number.

        Notes
        -----
        The answers are tuples, the last attribute running fastest.

        Examples
        --------
        >>> Workload.marginals({"sex": ["f", "m"], "age": [0, 1, 2]}, 1).names[:3]
        ('sex=f', 'sex=m', 'age=0')
        """
        parts = attributes(shape)
        ways = whole_number(k, "k", 1, len(parts))
        levels = [values for _, values in parts]
        inputs = list(itertools.product(*levels))
        sizes = [len(values) for values in levels]
        require_memory(
            8.0 * math.prod(sizes) * math.comb(len(sizes), ways) * max(sizes) ** ways, "a table of marginals"
        )
        cells = [
            dict(zip(chosen, cell, strict=True))
            for chosen in itertools.combinations(range(len(sizes)), ways)
            for cell in itertools.product(*(range(sizes[place]) for place in chosen))
        ]
        made = cls._structured(
            (len(cells), len(inputs)),
            lambda: marginal_rows(sizes, cells),
            inputs,
            [", ".join(f"{parts[a][0]}={levels[a][value]}" for a, value in cell.items()) for cell in cells],
            symmetries=product_symmetries(sizes),
        )
        made.candidates = parities(sizes, ways)
        made.sizes = tuple(sizes)
        return made
