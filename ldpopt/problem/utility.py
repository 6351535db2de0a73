"""Utilities: the value of each output ``y`` if the true answer is ``x``; one function for each
utility.
"""

import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import Labelled, Labels, read_labelled
from ldpopt.foundation.labels import check_labels, label_numbers
from ldpopt.foundation.numbers import (
    Float,
    frozen,
    real_array,
    require_memory,
    short_repr,
    whole_number,
)

LARGEST_WHOLE = 2.0**53  # smallest number from which floats skip whole numbers
BYTES_PER_ENTRY = 24.0  # memory for each entry while a matrix is built, checked and copied


@dataclass(frozen=True, eq=False)
class Utility:
    r"""A gain (to maximize) or a loss (to minimize) for every pair of input and output.

    Parameters
    ----------
    matrix : array_like, shape (n, m), or DataFrame or mapping of mappings
        ``matrix[x, y]`` is the value of the report ``y`` if the true answer is ``x``; finite.
    sense : {"gain", "loss"}
        Whether large values are good or bad; default: ``"gain"``.
    inputs, outputs : sequence of hashable, optional
        Labels of the rows and columns; those of a DataFrame or mapping are put into this order. A
        `Problem` aligns labelled rows and columns with its alphabets; without labels they go by
        position.

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
    inputs: Labels | None = field(default=None, repr=False)
    outputs: Labels | None = field(default=None, repr=False)
    # the numbers behind inputs and outputs, which label them in a problem that has no other labels
    numbers: tuple[Labels | None, Labels | None] = field(default=(None, None), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.sense, str) or self.sense not in ("gain", "loss"):
            problem = f"the sense of a utility is 'gain' or 'loss', not {short_repr(self.sense)}"
            raise StatementError(
                problem, code="sense", do="give 'gain' to maximize, 'loss' to minimize"
            )
        table = read_labelled(self.matrix, f"{self.sense} matrix")
        matrix = table.values
        if matrix.ndim != 2 or 0 in matrix.shape:
            problem = (
                f"the {self.sense} matrix has shape {matrix.shape}; it needs (inputs, outputs)"
            )
            raise StatementError(
                problem, code="shape", do="give one row for each input, one column for each output"
            )
        if not (is_finite := np.isfinite(matrix)).all():
            x, y = map(int, np.argwhere(~is_finite)[0])
            raise StatementError(
                f"{self.sense}[{x}, {y}] = {matrix[x, y]} is not finite",
                code="infinite-entry",
                do="give finite numbers",
            )
        (n, m), (inputs, outputs) = matrix.shape, table.axes
        inputs = (
            inputs if self.inputs is None else check_labels(self.inputs, n, "input", StatementError)
        )
        outputs = (
            outputs
            if self.outputs is None
            else check_labels(self.outputs, m, "output", StatementError)
        )
        object.__setattr__(self, "matrix", frozen(table.to(inputs, outputs)))
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "outputs", outputs)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def gain(self) -> Float:
        """Matrix to maximize: the gain, or minus the loss."""
        return self.matrix if self.sense == "gain" else -self.matrix

    def to(self, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> "Utility":
        """The same utility with labelled rows and columns in the order of two alphabets."""
        rows = None if self.inputs is None else tuple(inputs)
        columns = None if self.outputs is None else tuple(outputs)
        if (rows, columns) == (self.inputs, self.outputs):
            return self
        table = Labelled(
            self.matrix, (self.inputs, self.outputs), f"{self.sense} matrix", ("input", "output")
        )
        return Utility(table.to(rows, columns), self.sense, rows, columns)


def identity(n: int, m: int | None = None) -> Utility:
    r"""Gain 1 for a truthful report and 0 for any other: :math:`g(x, y) = [x = y]` (Zhou, Lu and Wu
    2019, 2.1).

    Parameters
    ----------
    n : int
        Number of inputs.
    m : int, optional
        Number of outputs; default: ``n``.

    Returns
    -------
    Utility
        A gain of shape ``(n, m)``.

    Raises
    ------
    StatementError
        If a number is not a whole one of at least 1, or the matrix does not fit into the memory.

    Examples
    --------
    >>> identity(2).matrix
    array([[1., 0.],
           [0., 1.]])
    """
    n = whole_number(n, "n", 1)
    m = n if m is None else whole_number(m, "m", 1)
    require_memory(BYTES_PER_ENTRY * n * m, f"a {n} x {m} utility")
    return Utility(np.eye(n, m), "gain")


def absolute_error(values: Any, outputs: Any = None) -> Utility:
    r"""Loss :math:`|v_x - w_y|` between numbers on a line.

    Parameters
    ----------
    values : array_like, shape (n,), or mapping or Series label -> number
        Value of each input.
    outputs : array_like, shape (m,), or mapping or Series label -> number, optional
        Value of each output; default: ``values``. In a `Problem` without other labels the numbers
        of a list are the labels, so that a report says its value.

    Returns
    -------
    Utility
        A loss of shape ``(n, m)``, in the unit of the values.

    Raises
    ------
    StatementError
        If a value is not a finite number, or the largest loss is beyond floats.

    Examples
    --------
    >>> absolute_error([0, 1, 3]).matrix[0]
    array([0., 1., 3.])
    """
    difference, labels = _differences(values, outputs)
    return Utility(np.abs(difference), "loss", **labels)


def squared_error(values: Any, outputs: Any = None) -> Utility:
    r"""Loss :math:`(v_x - w_y)^2` between numbers on a line.

    Parameters
    ----------
    values : array_like, shape (n,), or mapping or Series label -> number
        Value of each input.
    outputs : array_like, shape (m,), or mapping or Series label -> number, optional
        Value of each output; default: ``values``. In a `Problem` without other labels the numbers
        of a list are the labels, so that a report says its value.

    Returns
    -------
    Utility
        A loss of shape ``(n, m)``, in the squared unit of the values.

    Raises
    ------
    StatementError
        If a value is not a finite number, or the largest loss is beyond floats.

    Examples
    --------
    >>> squared_error([0, 1, 3]).matrix[0]
    array([0., 1., 9.])
    """
    difference, labels = _differences(values, outputs)
    with np.errstate(over="ignore"):  # a `Utility` refuses numbers that are not finite
        return Utility(difference**2, "loss", **labels)


def table(matrix: Any, sense: Literal["gain", "loss"] = "gain") -> Utility:
    """A gain or loss given as a matrix.

    Parameters
    ----------
    matrix : array_like, shape (n, m), or DataFrame or mapping of mappings
        The numbers.
    sense : {"gain", "loss"}
        Whether large values are good or bad; default: ``"gain"``.

    Raises
    ------
    StatementError
        If the matrix is empty or not rectangular, an entry is not a finite number, or the sense is
        unknown.

    Examples
    --------
    >>> table([[1, 0], [0, 2]], "loss").sense
    'loss'
    """
    return Utility(matrix, sense)


# Utilities that a `Problem` or a model file may name; all but the identity are functions of the
# labels' numbers
NAMED: dict[str, Callable[..., Utility]] = {
    function.__name__: function for function in (identity, absolute_error, squared_error)
}


def named(name: str, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Utility:
    """Utility of a name in `NAMED` for two alphabets, shape (n, m), by the numbers of labels, or
    else 0, 1, 2, ...
    """
    if not isinstance(name, str) or name not in NAMED:
        raise StatementError(
            f"unknown utility {short_repr(name)}",
            code="utility-name",
            do=f"use {', '.join(NAMED)} or a matrix",
        )
    n = len(inputs)
    m = len(outputs)
    require_memory(BYTES_PER_ENTRY * n * m, f"a {n} x {m} utility")
    if name == "identity":
        position = {label: y for y, label in enumerate(outputs)}
        matrix = np.zeros((n, m))
        for x, label in enumerate(inputs):
            if label in position:
                matrix[x, position[label]] = 1.0
        if not matrix.any():
            problem = "the identity utility is zero everywhere: no output is also an input"
            raise StatementError(
                problem, code="identity", do="name outputs that are inputs, or give a matrix"
            )
        return Utility(matrix, "gain")
    return NAMED[name](*_numbers(inputs, outputs, name))


def name_of(
    utility: Utility, inputs: Sequence[Hashable], outputs: Sequence[Hashable]
) -> str | None:
    """Name in `NAMED` of a utility for two alphabets; None if it has none."""
    for name in NAMED:
        with suppress(StatementError):
            same = named(name, inputs, outputs)
            if same.sense == utility.sense and np.array_equal(same.matrix, utility.matrix):
                return name
    return None


def resolve(utility: Any, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Utility:
    """Utility of a name, a `Utility` or a gain array, in the order of two alphabets; refuse other
    shapes and labels.
    """
    if isinstance(utility, str):
        resolved = named(utility, inputs, outputs)
    else:
        resolved = (utility if isinstance(utility, Utility) else Utility(utility, "gain")).to(
            inputs, outputs
        )
    if resolved.shape != (len(inputs), len(outputs)):
        problem = (
            f"the utility has shape {resolved.shape} but there are {len(inputs)} inputs and "
            f"{len(outputs)} outputs"
        )
        raise StatementError(
            problem,
            code="utility-shape",
            do="give one row for each input and one column for each output",
        )
    return resolved


def bare_gain(matrix: Any) -> Utility:
    """Read a matrix without a sense as a gain, with a warning if it looks like a loss: 0 if true,
    never less.
    """
    gain = read = Utility(matrix, "gain")
    n, m = gain.shape
    if read.inputs is not None and read.outputs is not None and {*read.inputs} == {*read.outputs}:
        read = read.to(read.inputs, read.inputs)  # reports in the order of the answers
    if (
        n == m > 1
        and not read.matrix.diagonal().any()
        and read.matrix.min() >= 0
        and read.matrix.any()
    ):
        problem = "the matrix is read as a gain, and no true report gains anything: is it a loss?"
        warnings.warn(
            f"{problem} Pass Utility(matrix, 'loss'), or Utility(matrix, 'gain') if not",
            stacklevel=3,
        )
    return gain


def _differences(values: Any, outputs: Any) -> tuple[Float, dict[str, Any]]:
    """Differences of numbers, shape (n, m), and the labels and numbers of the two lists."""
    rows = read_numbers(values, "input")
    columns = rows if outputs is None else read_numbers(outputs, "output")
    n = len(rows.values)
    m = len(columns.values)
    require_memory(BYTES_PER_ENTRY * n * m, f"a {n} x {m} utility")
    with np.errstate(over="ignore"):  # a `Utility` refuses numbers that are not finite
        difference = np.subtract.outer(rows.values, columns.values)
    numbers = tuple(map(_as_labels, (rows.values, columns.values)))
    return difference, {"inputs": rows.axes[0], "outputs": columns.axes[0], "numbers": numbers}


def _as_labels(values: Float) -> Labels | None:
    """Numbers as labels, whole ones without a point if all are; None if two are equal."""
    is_whole = bool((values == np.rint(values)).all() and np.abs(values).max() < LARGEST_WHOLE)
    labels = tuple(values.astype(np.int64).tolist() if is_whole else values.tolist())
    return labels if len(set(labels)) == len(labels) else None


def read_numbers(numbers: Any, kind: str) -> Labelled:
    """Read the values of labels, finite numbers: a list by position, a mapping or Series by
    label.
    """
    labelled = read_labelled(numbers, f"list of {kind} values", (kind,))
    if (
        labelled.values.ndim != 1
        or not labelled.values.size
        or not np.isfinite(labelled.values).all()
    ):
        problem = f"the {kind} values are not a non-empty list of finite numbers"
        raise StatementError(problem, code="values", do="give one finite number for each label")
    return labelled


def _numbers(
    inputs: Sequence[Hashable], outputs: Sequence[Hashable], name: str
) -> tuple[ArrayLike, ArrayLike]:
    """Numbers of the labels of two alphabets, or else the positions of both among the inputs."""
    numbers = label_numbers(inputs)
    targets = label_numbers(outputs)
    if numbers is not None and targets is not None:
        return real_array(numbers, "list of input labels"), real_array(
            targets, "list of output labels"
        )
    _require_one_kind([*inputs, *outputs], name)
    position = {label: x for x, label in enumerate(inputs)}
    if all(label in position for label in outputs):
        return np.arange(len(inputs)), np.array([position[label] for label in outputs])
    problem = (
        f"{name} needs numbers: the labels are neither numbers nor are the outputs among the inputs"
    )
    raise StatementError(
        problem,
        code="numbers",
        do=f"pass utility.{name}(values, outputs) with the numbers behind the labels",
    )


def _require_one_kind(labels: Sequence[Hashable], name: str) -> None:
    """Refuse numbers mixed with other labels: either numbers or steps on a scale may be meant."""
    are_numbers = [label_numbers([label]) is not None for label in labels]
    if any(are_numbers) and not all(are_numbers):
        number, other = (short_repr(labels[are_numbers.index(which)]) for which in (True, False))
        problem = f"{name} needs labels of one kind: {number} is a number, {other} is not"
        do = (
            f"give a number for each label (0, 1, 2, ... for steps): utility.{name}(values), or "
            "values in a file"
        )
        raise StatementError(problem, code="label-kinds", do=do)
