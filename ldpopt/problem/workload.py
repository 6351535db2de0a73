"""Workloads: the numbers that are to be estimated, as a matrix over the answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import Names, check_labels, codes, listed
from ldpopt.foundation.numbers import (
    Float,
    frozen,
    real_number,
    require_memory,
    short_repr,
    whole_number,
)
from ldpopt.problem import workload_matrices as matrices

# share of a workload's squares below which the constant part of each row is subtracted before
# squaring
CANCELS = 1e-3

LISTED = 4096  # most combinations of attributes for which symmetries and candidates are listed


class Workload:
    r"""The numbers to be estimated: ``W p`` for the unknown distribution ``p`` of the answers.

    ``2 * w`` doubles every number, which multiplies the variance by 4. ``v + w`` has the rows of
    both.

    Parameters
    ----------
    matrix : array_like or sparse matrix, shape (k, n), or DataFrame, Series or mapping
        One row for each number to be estimated, one column for each answer. A single row may be a
        vector. Truth values count as 0 and 1. A table is labelled by its columns (the answers) and
        its index (the names), a Series by its index (the answers).
    inputs : sequence of hashable, optional
        The answers; default: the labels of the matrix, else 0, 1, 2, ... Labelled data are put into
        this order.
    names : sequence of hashable, optional
        Names of the rows; default: the index of a table, else 0, 1, 2, ... A labelled table is put
        into this order.

    Attributes
    ----------
    shape : tuple of int
        ``(k, n)``.
    matrix : ndarray, shape (k, n)
        Built on first use.
    gram : ndarray, shape (n, n)
        ``W^T W``: the best mechanism depends on nothing else.

    Raises
    ------
    StatementError
        If an entry is not finite, all entries are 0, or the shape or a label does not fit.

    Examples
    --------
    >>> answers = ["low", "middle", "high"]
    >>> w = Workload([[1, 0, 0], [1, 1, 0]], inputs=answers, names=["low", "at most middle"])
    >>> (2 * w + Workload.mean([1, 2, 3], inputs=w.inputs)).shape
    (3, 3)
    """

    shape: tuple[int, int]
    inputs: tuple[Hashable, ...]
    names: tuple[Hashable, ...]
    symmetries: tuple[matrices.Permutation, ...] = ()
    """Permutations of the answers that may leave the Gram matrix unchanged; each is checked before
    it is used."""

    candidates: Float | None = None
    """Indicators of sets of answers with which a design for many answers may begin."""

    sizes: tuple[int, ...] | None = None
    """Numbers of values of the attributes if the answers are all their combinations, the last
    running fastest."""

    tables: tuple[tuple[int, float], ...] | None = None
    """Marginals: for each stack of tables the number of attributes of a table, and the factor of
    its cells."""

    attributes: tuple[tuple[Hashable, tuple[Hashable, ...]], ...] = ()
    """Name and values of each attribute, if there are `tables`."""

    unit: float | None = None
    """The factor of a known multiple of the identity."""

    # Functions that build the matrices, and the table of a model file; None: computed from the
    # matrix.
    _gram: Callable[[], Float] | None = None
    _table: Mapping[str, Any] | None = None

    def __init__(
        self, matrix: ArrayLike, inputs: Names | None = None, names: Names | None = None
    ) -> None:
        array, inputs, names = matrices.read_matrix(matrix, inputs, names)
        matrices.require_entries(array)
        self.shape = (array.shape[0], array.shape[1])
        self.inputs = check_labels(inputs, self.shape[1], "input", StatementError, "the workload")
        self.names = check_labels(names, self.shape[0], "name", StatementError, "the workload")
        self._build: Callable[[], Float] = partial(frozen, array)

    @classmethod
    def _lazy(
        cls, build: Callable[[], Float], inputs: Names, names: Names, **known: Any
    ) -> Workload:
        """Workload with attributes that are known; its matrix is built on first use, here or in
        another process.
        """
        made = object.__new__(cls)
        known |= {
            "shape": (len(names), len(inputs)),
            "inputs": tuple(inputs),
            "names": tuple(names),
            "_build": build,
        }
        vars(made).update(known)
        return made

    def to_plain(self) -> dict[str, Any]:
        """Table ``[workload]`` of a model file: the kind of the workload, or its rows."""
        if self._table is not None:
            return dict(self._table)
        names = {} if self.names == tuple(range(self.shape[0])) else {"names": list(self.names)}
        return {"kind": "matrix"} | names | {"rows": self.matrix.tolist()}

    def __repr__(self) -> str:
        k, n = self.shape
        return f"Workload({k} numbers {listed(self.names)} of {n} answers {listed(self.inputs)})"

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
            gram = np.asarray(self.matrix.T @ self.matrix) if self._gram is None else self._gram()
        matrices.require_scale(math.sqrt(np.diag(gram).max()))
        return frozen(gram)

    @cached_property
    def contrast_gram(self) -> Float:
        """Gram matrix that is the same for a design: with little cancellation, since a constant per
        row is subtracted.

        It is `gram` itself if the rows are not nearly constant.
        """
        gram = self.gram
        trace = float(np.trace(self.gram))
        if trace - gram.sum() / len(gram) > CANCELS * trace:
            return gram
        moved = self.matrix - self.matrix[:, :1]
        return frozen(np.asarray(moved.T @ moved))

    def __mul__(self, factor: float) -> Workload:
        """Every number times a factor."""
        number = real_number(factor, "factor of a workload", -matrices.LARGEST, matrices.LARGEST)
        if number == 0:
            raise StatementError(
                "a workload times 0 has nothing to estimate", do="multiply by another number"
            )
        known: dict[str, Any] = {
            key: getattr(self, key) for key in ("symmetries", "sizes", "attributes")
        }
        known["_gram"] = None if self._gram is None else partial(self._scaled, number, is_gram=True)
        known["_table"] = matrices.scaled_table(self._table, number)
        known["unit"] = None if self.unit is None else self.unit * number
        known["tables"] = (
            None
            if self.tables is None
            else tuple((ways, weight * number) for ways, weight in self.tables)
        )
        return Workload._lazy(partial(self._scaled, number), self.inputs, self.names, **known)

    __rmul__ = __mul__

    def _scaled(self, number: float, is_gram: bool = False) -> Float:
        return number**2 * self.gram if is_gram else number * self.matrix

    def __add__(self, other: Workload) -> Workload:
        """The rows of both."""
        return Workload.stack(self, other)

    @classmethod
    def stack(cls, *parts: Workload) -> Workload:
        """Estimate the rows of several workloads about the same answers, in the order of the first
        one's labels.

        A repeated name gets a number: "mean", "mean (2)".

        Raises
        ------
        StatementError
            If there are none, or the labels are not the same.
        """
        if not parts or not all(isinstance(part, Workload) for part in parts):
            raise StatementError(
                "stack takes workloads, at least one", do="pass Workload.prefix(n), ..."
            )
        inputs = parts[0].inputs
        aligned = [part.align(inputs) for part in parts]
        table = None
        if any(part._table is not None for part in aligned):
            table = {
                "part": [plain for part in aligned for plain in matrices.tables_of(part.to_plain())]
            }
        names = matrices.unique_names(name for part in parts for name in part.names)
        known: dict[str, Any] = {"_gram": partial(_stacked, aligned, is_gram=True), "_table": table}
        known["symmetries"] = tuple(swap for part in aligned for swap in part.symmetries)
        known["sizes"] = next((part.sizes for part in aligned if part.sizes is not None), None)
        if all(
            part.tables is not None and part.attributes == parts[0].attributes for part in aligned
        ):
            known["attributes"] = parts[0].attributes
            known["tables"] = tuple(table for part in aligned for table in part.tables or ())
        return cls._lazy(partial(_stacked, aligned), inputs, names, **known)

    def align(self, inputs: Names) -> Workload:
        """Put the answers into another order, by label; the same labels are needed on both
        sides.
        """
        if inputs == self.inputs:
            return self
        names = check_labels(inputs, len(self.inputs), "input", StatementError, "the workload")
        if names == self.inputs:
            return self
        if set(names) != set(self.inputs):
            odd = next(iter(set(names) ^ set(self.inputs)))
            problem = f"the label {short_repr(odd)} is not in both lists"
            do = f"the workload has {listed(self.inputs)}, the inputs are {listed(names)}"
            raise StatementError(problem, where="the answers of a workload", do=do)
        order = codes(list(names), self.inputs, "input")
        swaps = (np.argsort(order)[swap[order]] for swap in self.symmetries)
        gram = partial(self._ordered, order, True)
        return Workload._lazy(
            partial(self._ordered, order), names, self.names, _gram=gram, symmetries=tuple(swaps)
        )

    def with_missing(self, label: Hashable) -> Workload:
        """The same numbers, and the share of a further answer that stands for a missing one.

        It contributes nothing to the other numbers, so that these, divided by the rest, are numbers
        of those who answered. Numbers that are equal for all other answers are left out.

        Parameters
        ----------
        label : hashable
            The further answer, which becomes the last one.

        Examples
        --------
        >>> Workload.prefix(["bad", "fair", "good"]).with_missing("no answer").names
        ('<= bad', '<= fair', 'no answer')
        """
        inputs = (*self.inputs, label)
        if self.unit == 1:
            return Workload.frequencies(inputs)
        varying = np.ptp(self.matrix, axis=1) > 0
        rows = np.pad(self.matrix[varying], ((0, 1), (0, 1)))
        rows[-1, -1] = 1
        names = [name for name, varies in zip(self.names, varying, strict=True) if varies]
        return Workload(rows, inputs, matrices.unique_names([*names, label]))

    def _ordered(self, order: NDArray[np.int64], is_gram: bool = False) -> Float:
        return self.gram[np.ix_(order, order)] if is_gram else self.matrix[:, order]

    # The usual workloads.

    @classmethod
    def frequencies(cls, inputs: matrices.Alphabet) -> Workload:
        """Estimate the share of every answer.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers, or their number.
        """
        names = matrices.read_answers(inputs)
        known: dict[str, Any] = {
            "symmetries": (matrices.reversal(len(names)),),
            "_table": {"kind": "frequencies"},
        }
        identity = partial(np.eye, len(names))
        return cls._lazy(identity, names, names, _gram=identity, unit=1.0, **known)

    @classmethod
    def prefix(cls, inputs: matrices.Alphabet) -> Workload:
        """Estimate the distribution function: the share of answers up to each one, in the order
        given.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers in their order, or their number. The last share is always 1 and has variance
            0.
        """
        names = matrices.read_answers(inputs)
        n = len(names)
        rows = matrices.unique_names(f"<= {name}" for name in names)
        gram = partial(matrices.prefix_gram, n)
        known: dict[str, Any] = {
            "symmetries": (matrices.reversal(n),),
            "_table": {"kind": "prefix"},
        }
        return cls._lazy(partial(np.tri, n), names, rows, _gram=gram, **known)

    @classmethod
    def ranges(cls, inputs: matrices.Alphabet) -> Workload:
        """Estimate the share of every range of neighboring answers, ``n (n + 1) / 2`` of them.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers in their order, or their number.
        """
        names = matrices.read_answers(inputs)
        n = len(names)
        count = n * (n + 1) // 2
        require_memory(8.0 * n * count, f"a table of {count} ranges")
        rows = matrices.unique_names(
            f"{names[low]} .. {names[high]}" for low in range(n) for high in range(low, n)
        )
        known: dict[str, Any] = {
            "symmetries": (matrices.reversal(n),),
            "_table": {"kind": "ranges"},
        }
        return cls._lazy(
            partial(matrices.range_rows, n),
            names,
            rows,
            _gram=partial(matrices.range_gram, n),
            **known,
        )

    @classmethod
    def mean(cls, values: ArrayLike, inputs: Names | None = None) -> Workload:
        """Estimate the mean of a number that every answer has.

        Parameters
        ----------
        values : array_like, shape (n,), or mapping or Series label -> number
            The numbers.
        inputs : sequence of hashable, optional
            The answers; default: the labels of the numbers, else 0, 1, 2, ...
        """
        made = cls.means({"mean": values}, inputs)
        made._table = {"kind": "mean", "values": made.matrix[0].tolist()}
        return made

    @classmethod
    def means(cls, values: Mapping[Hashable, Any], inputs: Names | None = None) -> Workload:
        """Estimate several means.

        Parameters
        ----------
        values : mapping name -> numbers
            For every mean its numbers: a vector in the order of the answers, or a mapping or Series
            by label.
        inputs : sequence of hashable, optional
            As in `mean`.
        """
        if not isinstance(values, Mapping) or not values:
            raise StatementError(
                "means take a mapping from a name to its numbers", do='pass {"age": [...]}'
            )
        rows, inputs = matrices.read_means(values, inputs)
        made = cls(rows, inputs, list(values))
        made.symmetries = (matrices.reversal(made.shape[1]),)
        return made

    @classmethod
    def marginals(
        cls, shape: Sequence[Any] | Mapping[Hashable, Any], k: int, inputs: Names | None = None
    ) -> Workload:
        """Estimate all k-way marginals of answers that are combinations of attributes.

        Parameters
        ----------
        shape : sequence of int or of label lists, or mapping name -> labels
            The attributes: for each the number of its values, or their labels.
        k : int
            Number of attributes of each table, from 1 to all.
        inputs : sequence of hashable, optional
            Labels of the combinations, the last attribute running fastest; default: tuples of the
            values.

        Examples
        --------
        >>> Workload.marginals({"sex": ["f", "m"], "age": [0, 1, 2]}, 1).names[:3]
        ('sex=f', 'sex=m', 'age=0')
        """
        parts = matrices.read_attributes(shape)
        ways = whole_number(k, "k", 1, len(parts))
        levels = [values for _, values in parts]
        sizes = [len(values) for values in levels]
        # the first ones are distinct
        answers = tuple(itertools.product(*levels)) if inputs is None else tuple(inputs)
        if inputs is not None:
            answers = check_labels(
                answers, math.prod(sizes), "input", StatementError, "the workload"
            )
        most = math.comb(len(sizes), ways) * max(sizes) ** ways
        require_memory(200.0 * most, "the names of the cells of marginals")
        cells = [
            dict(zip(chosen, cell, strict=True))
            for chosen in itertools.combinations(range(len(sizes)), ways)
            for cell in itertools.product(*(range(sizes[place]) for place in chosen))
        ]
        named = (
            ", ".join(f"{parts[a][0]}={levels[a][value]}" for a, value in cell.items())
            for cell in cells
        )
        table = {"kind": "marginals", "shape": matrices.plain_shape(parts), "k": ways}
        known: dict[str, Any] = {"_table": table, "sizes": tuple(sizes)}
        if len(answers) <= LISTED:
            known["symmetries"] = tuple(matrices.product_symmetries(sizes))
            known["candidates"] = matrices.parities(sizes, ways)
        if inputs is None or answers == tuple(itertools.product(*levels)):
            known |= {"tables": ((ways, 1.0),), "attributes": tuple(parts)}
        return cls._lazy(
            partial(matrices.marginal_rows, sizes, cells),
            answers,
            matrices.unique_names(named),
            **known,
        )


def _stacked(parts: Sequence[Workload], is_gram: bool = False) -> Float:
    return np.asarray(
        sum(part.gram for part in parts) if is_gram else np.vstack([part.matrix for part in parts])
    )
