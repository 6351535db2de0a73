"""The rows of a workload: a matrix over the answers, and what is known of it beside its entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import Names, check_labels, listed
from ldpopt.foundation.numbers import Float, frozen, require_memory
from ldpopt.problem import workload_matrices as matrices

# share of a workload's squares below which the constant part of each row is subtracted before
# squaring
CANCELS = 1e-3


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a workload beside its matrix, so that designs need not search for it; see
    the properties of `WorkloadRows`.
    """

    symmetries: tuple[matrices.Permutation, ...] = ()
    candidates: Float | None = None
    sizes: tuple[int, ...] | None = None
    tables: tuple[tuple[int, float], ...] | None = None
    attributes: tuple[tuple[Hashable, tuple[Hashable, ...]], ...] = ()
    unit: float | None = None
    gram: Callable[[], Float] | None = None
    """Builds the Gram matrix; None: computed from the matrix."""

    plain: Mapping[str, Any] | None = None
    """Table of a model file; None: the matrix is written."""


class WorkloadRows:
    """A matrix over the answers with names of its rows; built on first use, here or in another
    process.
    """

    shape: tuple[int, int]
    inputs: tuple[Hashable, ...]
    names: tuple[Hashable, ...]

    def __init__(
        self, matrix: ArrayLike, inputs: Names | None = None, names: Names | None = None
    ) -> None:
        array, inputs, names = matrices.read_matrix(matrix, inputs, names)
        matrices.require_entries(array)
        self.shape = (array.shape[0], array.shape[1])
        self.inputs = check_labels(inputs, self.shape[1], "input", StatementError, "the workload")
        self.names = check_labels(names, self.shape[0], "name", StatementError, "the workload")
        self._known = Known()
        self._build: Callable[[], Float] = partial(frozen, array)

    @classmethod
    def _lazy(cls, build: Callable[[], Float], inputs: Names, names: Names, known: Known) -> Self:
        """Rows that a function builds; labels and what is known are right."""
        made = object.__new__(cls)
        made.shape = (len(names), len(inputs))
        made.inputs = tuple(inputs)
        made.names = tuple(names)
        made._known = known
        made._build = build
        return made

    def to_plain(self) -> dict[str, Any]:
        """Table ``[workload]`` of a model file: the kind of the workload, or its rows."""
        if self._known.plain is not None:
            return dict(self._known.plain)
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
        build = self._known.gram
        with np.errstate(over="ignore", under="ignore"):
            gram = np.asarray(self.matrix.T @ self.matrix) if build is None else build()
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

    @property
    def symmetries(self) -> tuple[matrices.Permutation, ...]:
        """Permutations of the answers that may leave the Gram matrix unchanged; each is checked
        before it is used.
        """
        return self._known.symmetries

    @property
    def candidates(self) -> Float | None:
        """Indicators of sets of answers with which a design for many answers may begin."""
        return self._known.candidates

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Numbers of values of the attributes if the answers are all their combinations, the last
        running fastest.
        """
        return self._known.sizes

    @property
    def tables(self) -> tuple[tuple[int, float], ...] | None:
        """Marginals: for each stack of tables the number of attributes of a table, and the factor
        of its cells.
        """
        return self._known.tables

    @property
    def attributes(self) -> tuple[tuple[Hashable, tuple[Hashable, ...]], ...]:
        """Name and values of each attribute, if there are `tables`."""
        return self._known.attributes

    @property
    def unit(self) -> float | None:
        """The factor of a known multiple of the identity."""
        return self._known.unit
