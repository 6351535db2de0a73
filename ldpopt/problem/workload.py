"""Workloads: the numbers that are to be estimated, as a matrix over the answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import Names, check_labels
from ldpopt.foundation.numbers import require_memory, whole_number
from ldpopt.problem import workload_algebra as algebra
from ldpopt.problem import workload_matrices as matrices
from ldpopt.problem.workload_rows import Known, WorkloadRows

LISTED = 4096  # most combinations of attributes for which symmetries and candidates are listed


class Workload(WorkloadRows):
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

    def __mul__(self, factor: float) -> Workload:
        """Every number times a factor."""
        return algebra.scaled(self, factor)

    __rmul__ = __mul__

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
        return algebra.stacked(parts)

    def align(self, inputs: Names) -> Workload:
        """Put the answers into another order, by label; the same labels are needed on both
        sides.
        """
        return algebra.ordered(self, inputs)

    def with_missing(self, label: Hashable) -> Workload:
        """The same numbers, and the share of a further answer that stands for a missing one.

        It contributes nothing to the other numbers, so that these, divided by the rest, are numbers
        of those who answered. Numbers that are equal for all other answers are left out.

        Parameters
        ----------
        label : hashable
            The further answer, which becomes the last one.

        Raises
        ------
        StatementError
            If the further answer is one of the answers already, or no label.

        Examples
        --------
        >>> Workload.prefix(["bad", "fair", "good"]).with_missing("no answer").names
        ('<= bad', '<= fair', 'no answer')
        """
        if self.unit == 1:
            return Workload.frequencies((*self.inputs, label))
        return Workload(*algebra.with_further_answer(self, label))

    # The usual workloads.

    @classmethod
    def frequencies(cls, inputs: matrices.Alphabet) -> Workload:
        """Estimate the share of every answer.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers, or their number.

        Raises
        ------
        StatementError
            If there are fewer than two answers, or two are the same.
        """
        names = matrices.read_answers(inputs)
        identity = partial(np.eye, len(names))
        known = Known(
            symmetries=(matrices.reversal(len(names)),),
            unit=1.0,
            gram=identity,
            plain={"kind": "frequencies"},
        )
        return cls._lazy(identity, names, names, known)

    @classmethod
    def prefix(cls, inputs: matrices.Alphabet) -> Workload:
        """Estimate the distribution function: the share of answers up to each one, in the order
        given.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers in their order, or their number. The last share is always 1 and has variance
            0.

        Raises
        ------
        StatementError
            If there are fewer than two answers, or two are the same.
        """
        names = matrices.read_answers(inputs)
        n = len(names)
        rows = matrices.unique_names(f"<= {name}" for name in names)
        known = Known(
            symmetries=(matrices.reversal(n),),
            gram=partial(matrices.prefix_gram, n),
            plain={"kind": "prefix"},
        )
        return cls._lazy(partial(np.tri, n), names, rows, known)

    @classmethod
    def ranges(cls, inputs: matrices.Alphabet) -> Workload:
        """Estimate the share of every range of neighboring answers, ``n (n + 1) / 2`` of them.

        Parameters
        ----------
        inputs : int or sequence of hashable
            The answers in their order, or their number.

        Raises
        ------
        StatementError
            If there are fewer than two answers, two are the same, or their ranges do not fit into
            the memory.
        """
        names = matrices.read_answers(inputs)
        n = len(names)
        count = n * (n + 1) // 2
        require_memory(8.0 * n * count, f"a table of {count} ranges")
        rows = matrices.unique_names(
            f"{names[low]} .. {names[high]}" for low in range(n) for high in range(low, n)
        )
        known = Known(
            symmetries=(matrices.reversal(n),),
            gram=partial(matrices.range_gram, n),
            plain={"kind": "ranges"},
        )
        return cls._lazy(partial(matrices.range_rows, n), names, rows, known)

    @classmethod
    def mean(cls, values: ArrayLike, inputs: Names | None = None) -> Workload:
        """Estimate the mean of a number that every answer has.

        Parameters
        ----------
        values : array_like, shape (n,), or mapping or Series label -> number
            The numbers.
        inputs : sequence of hashable, optional
            The answers; default: the labels of the numbers, else 0, 1, 2, ...

        Raises
        ------
        StatementError
            If a value is not a number of at most 1e100 in size, or the labels are not those of the
            answers.
        """
        made = cls.means({"mean": values}, inputs)
        plain = {"kind": "mean", "values": made.matrix[0].tolist()}
        made._known = replace(made._known, plain=plain)
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

        Raises
        ------
        StatementError
            If there are no means, or their lists of numbers do not fit each other or the answers.
        """
        if not isinstance(values, Mapping) or not values:
            raise StatementError(
                "means take a mapping from a name to its numbers", do='pass {"age": [...]}'
            )
        rows, inputs = matrices.read_means(values, inputs)
        made = cls(rows, inputs, list(values))
        made._known = Known(symmetries=(matrices.reversal(made.shape[1]),))
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

        Raises
        ------
        StatementError
            If the attributes have no values or too many combinations, or ``k`` or a label does not
            fit.

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
        is_listed = len(answers) <= LISTED
        is_plain = inputs is None or answers == tuple(itertools.product(*levels))
        known = Known(
            symmetries=tuple(matrices.product_symmetries(sizes)) if is_listed else (),
            candidates=matrices.parities(sizes, ways) if is_listed else None,
            sizes=tuple(sizes),
            tables=((ways, 1.0),) if is_plain else None,
            attributes=tuple(parts) if is_plain else (),
            plain={"kind": "marginals", "shape": matrices.plain_shape(parts), "k": ways},
        )
        return cls._lazy(
            partial(matrices.marginal_rows, sizes, cells),
            answers,
            matrices.unique_names(named),
            known,
        )
