"""Utilities: what output ``y`` is worth to someone whose true answer is ``x``, one function each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.checks import Float, frozen, real_array, require_memory, short_repr, whole_number

COPIES = 24.0
"""Bytes that a number takes while a matrix is made, checked and copied."""


@dataclass(frozen=True, eq=False)
class Utility:
    r"""A gain (to maximise) or a loss (to minimise) for every pair of input and output.

    Parameters
    ----------
    matrix : array_like, shape (n, m)
        ``matrix[x, y]``: what reporting ``y`` is worth when the truth is ``x``; finite.
    sense : {"gain", "loss"}
        Whether more is better or worse.

    Raises
    ------
    StatementError
        If the matrix is empty, ragged, not two-dimensional or not finite, or the sense is unknown.

    Examples
    --------
    >>> absolute_error([0, 1, 2]).matrix[0]
    array([0., 1., 2.])
    """

    matrix: Float
    sense: Literal["gain", "loss"] = "gain"

    def __post_init__(self) -> None:
        """Check the statement and freeze the array."""
        if not isinstance(self.sense, str) or self.sense not in ("gain", "loss"):
            raise StatementError(f"the sense of a utility is 'gain' or 'loss', not {short_repr(self.sense)}")
        matrix = real_array(self.matrix, f"{self.sense} matrix")
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise StatementError(f"the {self.sense} matrix has shape {matrix.shape}; it needs (inputs, outputs)")
        bad = np.argwhere(~np.isfinite(matrix))
        if len(bad):
            x, y = map(int, bad[0])
            raise StatementError(f"{self.sense}[{x}, {y}] = {matrix[x, y]} is not finite", do="state finite numbers")
        object.__setattr__(self, "matrix", frozen(matrix))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def gain(self) -> Float:
        """The matrix to maximise: itself, or minus the loss."""
        return self.matrix if self.sense == "gain" else -self.matrix


def identity(n: int, m: int | None = None) -> Utility:
    r"""Gain 1 for a truthful report and 0 for any other: :math:`g(x, y) = [x = y]`.

    Parameters
    ----------
    n : int
        Number of inputs.
    m : int, optional
        Number of outputs, ``n`` unless told.

    Returns
    -------
    Utility
        A gain of shape ``(n, m)``.

    Raises
    ------
    StatementError
        If a size is no positive whole number, or the matrix would not fit into memory.

    References
    ----------
    Zhou, Lu and Wu 2019, section 2.1.

    Examples
    --------
    >>> identity(2).matrix
    array([[1., 0.],
           [0., 1.]])
    """
    n = whole_number(n, "n", 1)
    m = n if m is None else whole_number(m, "m", 1)
    require_memory(COPIES * n * m, f"a {n} x {m} utility")
    return Utility(np.eye(n, m), "gain")


def absolute_error(values: ArrayLike, outputs: ArrayLike | None = None) -> Utility:
    r"""Loss :math:`|v_x - w_y|` between numbers on a line.

    Parameters
    ----------
    values : array_like, shape (n,)
        The number behind each input.
    outputs : array_like, shape (m,), optional
        The number behind each output, ``values`` unless told.

    Returns
    -------
    Utility
        A loss of shape ``(n, m)``, in the unit of the values.

    Raises
    ------
    StatementError
        If a value is not a finite number.

    Examples
    --------
    >>> absolute_error([0, 1, 3]).matrix[0]
    array([0., 1., 3.])
    """
    return Utility(np.abs(_differences(values, outputs)), "loss")


def squared_error(values: ArrayLike, outputs: ArrayLike | None = None) -> Utility:
    r"""Loss :math:`(v_x - w_y)^2` between numbers on a line.

    Parameters
    ----------
    values : array_like, shape (n,)
        The number behind each input.
    outputs : array_like, shape (m,), optional
        The number behind each output, ``values`` unless told.

    Returns
    -------
    Utility
        A loss of shape ``(n, m)``, in the squared unit of the values.

    Raises
    ------
    StatementError
        If a value is not a finite number.

    Examples
    --------
    >>> squared_error([0, 1, 3]).matrix[0]
    array([0., 1., 9.])
    """
    with np.errstate(over="ignore"):
        return Utility(_differences(values, outputs) ** 2, "loss")


def table(matrix: ArrayLike, sense: Literal["gain", "loss"] = "gain") -> Utility:
    """A gain or loss given number by number.

    Parameters
    ----------
    matrix : array_like, shape (n, m)
        The numbers.
    sense : {"gain", "loss"}
        Whether more is better or worse.

    Returns
    -------
    Utility
        The same numbers, checked.

    Raises
    ------
    StatementError
        As `Utility`.

    Examples
    --------
    >>> table([[1, 0], [0, 2]], "loss").sense
    'loss'
    """
    return Utility(np.asarray(real_array(matrix, f"{sense} matrix" if isinstance(sense, str) else "matrix")), sense)


NAMED = ("identity", "absolute_error", "squared_error")
"""Utilities that a `Problem` or a model file may name."""


def named(name: str, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Utility:
    """Build the utility of that name for two alphabets.

    Labels that are numbers count with their value; any other alphabet counts by position 0, 1, 2, ...

    Parameters
    ----------
    name : str
        One of `NAMED`.
    inputs, outputs : sequence of hashable
        The labels.

    Returns
    -------
    Utility
        Shape ``(len(inputs), len(outputs))``.

    Raises
    ------
    StatementError
        If the name is unknown, or the labels of an error utility cannot be compared.

    Examples
    --------
    >>> named("absolute_error", ("low", "mid", "high"), ("low", "mid", "high")).matrix[2]
    array([2., 1., 0.])
    """
    if not isinstance(name, str) or name not in NAMED:
        raise StatementError(
            f"unknown utility {short_repr(name)}", do=f"name one of {', '.join(NAMED)}, or give a matrix"
        )
    n, m = len(inputs), len(outputs)
    require_memory(COPIES * n * m, f"a {n} x {m} utility")
    if name == "identity":
        position = {label: y for y, label in enumerate(outputs)}
        matrix = np.zeros((n, m))
        for x, label in enumerate(inputs):
            if label in position:
                matrix[x, position[label]] = 1.0
        if not matrix.any():
            raise StatementError("the identity utility is zero everywhere: no output is also an input")
        return Utility(matrix, "gain")
    values, targets = _numbers(inputs, outputs, name)
    return absolute_error(values, targets) if name == "absolute_error" else squared_error(values, targets)


def numeric(labels: Sequence[Hashable]) -> bool:
    """Whether labels count with their value and not by position; truth values count 0 and 1."""
    kinds = (int, float, np.integer, np.floating)
    return all(isinstance(label, kinds) and not isinstance(label, np.timedelta64) for label in labels)


def resolve(utility: Any, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Utility:
    """Turn a name, a `Utility` or a gain array into a `Utility` of the alphabets' shape.

    Raises
    ------
    StatementError
        If the shape does not fit the alphabets.
    """
    if isinstance(utility, str):
        found = named(utility, inputs, outputs)
    else:
        found = utility if isinstance(utility, Utility) else Utility(utility, "gain")
    if found.shape != (len(inputs), len(outputs)):
        raise StatementError(
            f"the utility has shape {found.shape} but there are {len(inputs)} inputs and {len(outputs)} outputs",
            do="give one row for each input and one column for each output",
        )
    return found


def _differences(values: ArrayLike, outputs: ArrayLike | None) -> Float:
    rows = real_array(values, "list of input values")
    columns = rows if outputs is None else real_array(outputs, "list of output values")
    for name, array in (("input", rows), ("output", columns)):
        if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
            raise StatementError(f"the {name} values are no non-empty list of finite numbers")
    require_memory(COPIES * len(rows) * len(columns), f"a {len(rows)} x {len(columns)} utility")
    with np.errstate(over="ignore"):  # a `Utility` refuses what is not finite
        return np.subtract.outer(rows, columns)


def _numbers(inputs: Sequence[Hashable], outputs: Sequence[Hashable], name: str) -> tuple[ArrayLike, ArrayLike]:
    if numeric(inputs) and numeric(outputs):
        # A sign turns truth values into the 0 and 1 that they count as.
        inputs, outputs = ([+label for label in labels] for labels in (inputs, outputs))  # type: ignore[operator]
        return real_array(inputs, "list of input labels"), real_array(outputs, "list of output labels")
    if tuple(inputs) == tuple(outputs):
        return np.arange(len(inputs)), np.arange(len(outputs))
    position = {label: x for x, label in enumerate(inputs)}
    if all(label in position for label in outputs):
        return np.arange(len(inputs)), np.array([position[label] for label in outputs])
    raise StatementError(
        f"{name} needs numbers: the labels are neither numbers nor are the outputs among the inputs",
        do=f"pass utility.{name}(values, outputs) with the numbers behind the labels",
    )
