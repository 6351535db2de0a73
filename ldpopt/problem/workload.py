"""Workloads: the numbers that are to be estimated, as a matrix over the answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import codes, listed
from ldpopt.foundation.numbers import (
    Float,
    frozen,
    real_number,
    require_memory,
    short_repr,
    whole_number,
)
from ldpopt.problem import workload_combinations as later
from ldpopt.problem.workload_rows import (
    Permutation,
    marginal_rows,
    parities,
    prefix_gram,
    prefix_rows,
    product_symmetries,
    range_gram,
    range_rows,
    reversal,
)
from ldpopt.problem.workload_statements import (
    MOST,
    Alphabet,
    alphabet,
    apart,
    attributes,
    labels_of,
    numbers,
    read_table,
    require_entries,
    require_unit,
    stated_shape,
    tables_of,
    weighted,
)

CANCELS = 1e-3
"""Share of a workload's squares below which what depends on the answer is computed apart from what does not."""


class Workload:
    r"""The numbers to be estimated: ``W p`` for the unknown distribution ``p`` of the answers.

    Parameters
    ----------
    matrix : array_like or sparse matrix, shape (k, n), or DataFrame, Series or mapping
        One row for each number to be estimated, one column for each answer. A single row may be a vector. Truth values
        count as 0 and 1. A table is labelled by its columns (the answers) and its index (the names), a Series by its
        index (the answers).
    inputs : sequence of hashable, optional
        The answers; default: the labels of the matrix, else 0, 1, 2, ... Labelled data are put into this order.
    names : sequence of hashable, optional
        Names of the rows; default: the index of a table, else 0, 1, 2, ... A labelled table is put into this order.

    Attributes
    ----------
    shape : tuple of int
        ``(k, n)``.
    matrix : ndarray, shape (k, n)
        Built on first use.
    gram : ndarray, shape (n, n)
        ``W^T W``: all that the best mechanism depends on.

    Raises
    ------
    StatementError
        If an entry is not finite, all entries are 0, or the shape or a label does not fit.

    Notes
    -----
    ``2 * w`` doubles every number, which multiplies the variance by 4. ``v + w`` has the rows of both.

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
        self._build: Callable[[], Float] = partial(frozen, array)

    @classmethod
    def _structured(
        cls,
        shape: tuple[int, int],
        build: Callable[[], Float],
        inputs: Sequence[Hashable],
        names: Sequence[Hashable],
        gram: Callable[[], Float] | None = None,
        symmetries: Sequence[Permutation] = (),
        stated: Mapping[str, Any] | None = None,
    ) -> Workload:
        """Make one whose matrix is built when it is needed."""
        made = object.__new__(cls)
        made.shape, made.inputs, made.names = shape, tuple(inputs), tuple(names)
        made._build, made._gram, made.symmetries, made._stated = build, gram, tuple(symmetries), stated
        return made

    _gram: Callable[[], Float] | None = None
    _stated: Mapping[str, Any] | None = None

    def stated(self) -> dict[str, Any]:
        """Return the workload as the table ``[workload]`` of a model file: by its name, or else its rows."""
        if self._stated is not None:
            return dict(self._stated)
        names = {} if self.names == tuple(range(self.shape[0])) else {"names": list(self.names)}
        return {"kind": "matrix"} | names | {"rows": self.matrix.tolist()}

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
        with np.errstate(over="ignore", under="ignore"):
            found = self._product() if self._gram is None else self._gram()
        require_unit(math.sqrt(np.diag(found).max()))
        return frozen(found)

    def _product(self) -> Float:
        matrix = self.matrix
        return np.asarray(matrix.T @ matrix)

    @cached_property
    def contrast_gram(self) -> Float:
        """Gram matrix of the rows, perhaps less a constant each: the same for a design, and little cancels in it."""
        gram, trace = self.gram, float(np.trace(self.gram))
        if trace - gram.sum() / len(gram) > CANCELS * trace:
            return gram
        moved = self.matrix - self.matrix[:, :1]
        return frozen(np.asarray(moved.T @ moved))

    unit: float | None = None
    """The number that it is the identity times, where that is known without building a matrix."""

    def __mul__(self, factor: float) -> Workload:
        """Every number times a factor."""
        number = real_number(factor, "factor of a workload", -MOST, MOST)
        if number == 0:
            raise StatementError("a workload times 0 asks for nothing", do="leave it out")
        gram = None if self._gram is None else partial(later.scaled_gram, self, number)
        made = Workload._structured(
            *(self.shape, partial(later.scaled_rows, self, number), self.inputs, self.names, gram, self.symmetries),
            stated=weighted(self._stated, number),
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

        A name that occurs again gets a number: "mean", "mean (2)".

        Raises
        ------
        StatementError
            If there are none, or the labels are not the same.
        """
        if not parts or not all(isinstance(part, Workload) for part in parts):
            raise StatementError("stack takes workloads, at least one", do="pass Workload.prefix(n), ...")
        inputs = parts[0].inputs
        aligned = [part.align(inputs) for part in parts]
        named = any(part._stated is not None for part in aligned)
        made = cls._structured(
            (sum(part.shape[0] for part in parts), len(inputs)),
            partial(later.stacked_rows, aligned),
            inputs,
            apart(name for part in parts for name in part.names),
            partial(later.stacked_gram, aligned),
            [swap for part in aligned for swap in part.symmetries],
            {"part": [table for part in aligned for table in tables_of(part.stated())]} if named else None,
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
        names = labels_of(inputs, len(self.inputs), "input")
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
            partial(later.ordered_rows, self, order),
            names,
            self.names,
            partial(later.ordered_gram, self, order),
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
        made = cls._structured((n, n), partial(np.eye, n), names, names, partial(np.eye, n), [reversal(n)])
        made.unit, made._stated = 1.0, {"kind": "frequencies"}
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
        n = len(names)
        return cls._structured(
            (n, n),
            partial(prefix_rows, n),
            names,
            apart(f"<= {name}" for name in names),
            partial(prefix_gram, n),
            [reversal(n)],
            {"kind": "prefix"},
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
        n = len(names)
        count = n * (n + 1) // 2
        require_memory(8.0 * n * count, f"a table of {count} ranges")
        return cls._structured(
            (count, n),
            partial(range_rows, n),
            names,
            apart(f"{names[low]} .. {names[high]}" for low in range(n) for high in range(low, n)),
            partial(range_gram, n),
            [reversal(n)],
            {"kind": "ranges"},
        )

    @classmethod
    def mean(cls, values: ArrayLike, inputs: Sequence[Hashable] | None = None) -> Workload:
        """Ask for the mean of a number that every answer stands for.

        Parameters
        ----------
        values : array_like, shape (n,), or mapping or Series label -> number
            The numbers.
        inputs : sequence of hashable, optional
            The answers; default: the labels of the numbers, else 0, 1, 2, ...
        """
        made = cls.means({"mean": values}, inputs)
        made._stated = {"kind": "mean", "values": made.matrix[0].tolist()}
        return made

    @classmethod
    def means(cls, values: Mapping[Hashable, Any], inputs: Sequence[Hashable] | None = None) -> Workload:
        """Ask for several means.

        Parameters
        ----------
        values : mapping name -> numbers
            For every mean its numbers: a vector in the order of the answers, or a mapping or Series by label.
        inputs : sequence of hashable, optional
            As in `mean`.
        """
        if not isinstance(values, Mapping) or not values:
            raise StatementError("means take a mapping from a name to its numbers", do='pass {"age": [...]}')
        rows, inputs = numbers(values, inputs)
        made = cls(rows, inputs, list(values))
        made.symmetries = (reversal(made.shape[1]),)
        return made

    @classmethod
    def marginals(
        cls, shape: Sequence[Any] | Mapping[Hashable, Any], k: int, inputs: Sequence[Hashable] | None = None
    ) -> Workload:
        """Ask for all k-way marginals of answers that are combinations of attributes.

        Parameters
        ----------
        shape : sequence of int or of label lists, or mapping name -> labels
            The attributes: how many values each has, or which.
        k : int
            Attributes a table, from 1 to their number.
        inputs : sequence of hashable, optional
            Labels of the combinations, the last attribute running fastest; default: tuples of the values.

        Examples
        --------
        >>> Workload.marginals({"sex": ["f", "m"], "age": [0, 1, 2]}, 1).names[:3]
        ('sex=f', 'sex=m', 'age=0')
        """
        parts = attributes(shape)
        ways = whole_number(k, "k", 1, len(parts))
        levels = [values for _, values in parts]
        sizes = [len(values) for values in levels]
        answers = labels_of(list(itertools.product(*levels)) if inputs is None else inputs, math.prod(sizes), "input")
        require_memory(
            8.0 * math.prod(sizes) * math.comb(len(sizes), ways) * max(sizes) ** ways, "a table of marginals"
        )
        cells = [
            dict(zip(chosen, cell, strict=True))
            for chosen in itertools.combinations(range(len(sizes)), ways)
            for cell in itertools.product(*(range(sizes[place]) for place in chosen))
        ]
        made = cls._structured(
            (len(cells), len(answers)),
            partial(marginal_rows, sizes, cells),
            answers,
            apart(", ".join(f"{parts[a][0]}={levels[a][value]}" for a, value in cell.items()) for cell in cells),
            symmetries=product_symmetries(sizes),
            stated={"kind": "marginals", "shape": stated_shape(parts), "k": ways},
        )
        made.candidates = parities(sizes, ways)
        made.sizes = tuple(sizes)
        return made
