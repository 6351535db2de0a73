"""ChannelProgram: a linear program over the entries of a channel, with the data from which it was
built.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.certificate.program_bound import Form
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import Ties
from ldpopt.privacy.modelling import CvxpyRows, form_of, ratio_parameter
from ldpopt.problem.problem import Problem
from ldpopt.solvers.program import LinearProgram

if TYPE_CHECKING:
    import cvxpy


@dataclass(frozen=True, eq=False)
class Structure:
    """The data from which a channel program was built; ``b`` to ``ties`` belong to the compact
    form.
    """

    form: Form
    weighted: Float  # (n, m): prior[x] * utility[x, y]; zeros for a worst-case objective
    maximize: bool
    b: float = 0.0  # exp(-epsilon), rounded down
    beta: float = 0.0  # 1 - exp(-epsilon), rounded up
    delta: float = 0.0
    ties: Ties | None = None

    @property
    def is_complete(self) -> bool:
        """Whether it is a compact form with caps for every input and output, as interior points
        need it.
        """
        return self.form == "compact" and (self.ties is None or self.ties.is_complete)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.weighted.shape[0], self.weighted.shape[1]

    def channel(self, point: Float) -> Float:
        """The channel at a point of the program, shape (n, m); not yet repaired."""
        n, m = self.shape
        entries = point[: n * m].reshape(n, m)
        return (
            entries + self.b * point[n * m : n * m + m]
            if self.form == "compact"
            else entries.copy()
        )

    def compressed(self, block: RowBlock) -> tuple[Int, Int, Float]:
        """Compressed rows over the columns, from rows over the channel."""
        n, m = self.shape
        row = block.row.astype(np.int64)
        column = block.x.astype(np.int64) * m + block.y
        value = block.coefficient
        if self.form == "compact":
            row, column = np.concatenate([row, row]), np.concatenate([column, n * m + block.y])
            value = np.concatenate([value, self.b * value])
        return compress(row, column, value, len(block), n * m + m + 1)


@dataclass(frozen=True, repr=False, eq=False)
class ChannelProgram(LinearProgram):
    """The linear program of a problem; `structure.channel` returns the channel at a point."""

    structure: Structure
    problem: Problem | None = None  # that of `formulate`
    form: str = ""

    @property
    def title(self) -> str:
        """Name of the form; a relaxation is called one."""
        return (
            "relaxation of the program"
            if self.form == "relaxation"
            else f"{self.form} program".strip()
        )

    def to_cvxpy(self) -> cvxpy.Problem:
        r"""Build a cvxpy model of the problem, with a variable ``P`` of shape (n, m).

        Returns
        -------
        cvxpy.Problem
            Its parameters are ``prior``, shape (n,), for an expected value, and ``ratio``, the
            :math:`e^\epsilon` of `Notion.constraints`, if the notion has one that floats represent:
            changing their values compiles nothing again. The constraints are labelled as those of
            `Notion.constraints`, side constraints by their names.

        Examples
        --------
        >>> from ldpopt import Problem, PureLDP, formulate
        >>> model = formulate(Problem([0.5, 0.5], "identity", PureLDP("log(3)"))).to_cvxpy()
        >>> round(float(model.solve(solver="CLARABEL")), 6)
        0.75
        >>> model.param_dict["ratio"].value = 9.0
        >>> round(float(model.solve(solver="CLARABEL")), 6), model.var_dict["P"].shape
        (0.9, (2, 2))
        """
        import cvxpy as cp

        if (problem := self.problem) is None:
            raise StatementError(
                "only a program of formulate() has a cvxpy model", do="call formulate(problem)"
            )
        rows = CvxpyRows(cp.Variable(problem.utility.shape, name="P"))
        rows.add_channel()
        privacy = problem.privacy
        form = form_of(privacy, problem.inputs, problem.outputs)
        if self.form == "relaxation":
            form = problem.ties()
        if isinstance(form, Ties):
            form = _with_form(form, self.form)
        if form is None and self.form == "relaxation":
            for block in self._blocks("privacy"):
                rows.add_block(block)
        else:
            ratio = None if form is None else ratio_parameter(form)
            rows.add_form(privacy, problem.inputs, problem.outputs, form, ratio)
        for block in problem.constraints:
            rows.add_block(block)
        expected = cp.sum(cp.multiply(problem.utility.matrix, rows.channel), axis=1)
        if problem.prior is not None:
            objective = (
                cp.Parameter(len(problem.prior), nonneg=True, name="prior", value=problem.prior)
                @ expected
            )
        else:
            objective = cp.min(expected) if self.maximize else cp.max(expected)
        return cp.Problem(
            (cp.Maximize if self.maximize else cp.Minimize)(objective), rows.constraints
        )

    def _blocks(self, name: str) -> list[RowBlock]:
        """Blocks of rows over the channel with a name."""
        return [span.block for span in self.rows if span.block is not None and span.name == name]

    @property
    def is_plain_compact(self) -> bool:
        """Whether its only rows are those of the complete compact form: row sums and caps."""
        return self.structure.is_complete and [span.name for span in self.rows] == [
            "row_sum",
            "privacy",
        ]


def _with_form(ties: Ties, form: str) -> Ties:
    """The ties as a form writes them: as pairs, or without a common delta of all outputs."""
    if form == "pairwise" and ties.is_compact and ties.owner is None:
        first, second = ties.pairs()
        return replace(ties, first=first, second=second, capped=None)
    return replace(ties, is_shared=False) if form == "relaxation" else ties


def compress(
    row: Int, column: Int, value: Float, n_rows: int, n_columns: int
) -> tuple[Int, Int, Float]:
    """Compressed rows of triplets, with duplicate ones added."""
    key = row * n_columns + column
    if (key[1:] > key[:-1]).all() and value.all():
        return np.searchsorted(row, np.arange(n_rows + 1)), column, value
    key, inverse = np.unique(key, return_inverse=True)
    summed = np.bincount(inverse, value, len(key))
    key, summed = key[summed != 0], summed[summed != 0]
    return np.searchsorted(key, np.arange(n_rows + 1) * n_columns), key % n_columns, summed


def program_blocks(program: LinearProgram, values: Any) -> dict[str, Float]:
    """Split a vector over the rows by block name; blocks of one name are joined."""
    parts: dict[str, list[Float]] = {}
    for span in program.rows:
        parts.setdefault(span.name, []).append(values[span.slice])
    return {name: np.concatenate(part) for name, part in parts.items()}
