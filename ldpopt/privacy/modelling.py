r"""Privacy as constraints of a model that the user builds, in cvxpy or PuLP.

For ties at distance d: ``P[x, y] <= r**d P[x', y] + delta``, with ``r = exp(epsilon)``. If all
inputs are tied alike, column minima ``M[y] <= P[x, y]`` replace the pairs: ``P[x, y] <= r M[y] +
delta`` has n m rows instead of n (n-1) m. An event-wise delta is exact: ``sum_y max(P[x, y] - r
P[x', y], 0) <= delta``, the hockey-stick divergence. A list of comparisons of averages is written
as two products of a sparse matrix with the channel; each distinct budget has a ratio of its own,
which a parameter may replace.
"""

from __future__ import annotations

import warnings
from collections.abc import Container, Hashable, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.foundation.numbers import Float, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.comparisons import Average, Comparisons
from ldpopt.privacy.ties import Ties

if TYPE_CHECKING:
    import cvxpy
    import pulp

# Number of excesses of an event-wise delta, n (n-1) m, from which a hint is given: a cvxpy model of
# 22 inputs and outputs takes 20 times as long as `solve` (.6 s), one of 30 some 30 to 100 times
MANY_EXCESSES = 10_000
LEAST_INPUTS_WITH_MINIMA = 4  # number of inputs from which column minima have fewer rows than pairs


Form = Ties | Comparisons
"""What has a ratio ``exp(epsilon d)`` that a model may replace."""


def distinct_ratios(form: Form) -> Float:
    r"""``exp(epsilon d)`` of the distinct distances d, or budgets, in ascending order, shape
    (k,).
    """
    ratios = _ratios(form)
    if not np.isfinite(ratios).all():
        problem = f"exp(epsilon d) overflows for {np.isinf(ratios).sum()} distances or budgets"
        raise StatementError(
            problem, do="leave such distant pairs out, or choose a smaller epsilon"
        )
    return ratios


def ratio_parameter(form: Form) -> Any:
    """The ratios as a cvxpy parameter; as fixed numbers if one is infinite as a float.

    With a parameter a user changes the budget without building the model again. A ratio that is
    infinite as a float cannot be a parameter; as a number it is divided by, and its reciprocal is
    0.
    """
    import cvxpy as cp

    ratios = _ratios(form)
    values = ratios if _has_many(form) else ratios[0]
    return (
        cp.Parameter(np.shape(values), pos=True, name="ratio", value=values)
        if np.isfinite(values).all()
        else values
    )


def _has_many(form: Form) -> bool:
    """Whether the ratio of a model has one entry for each distance or budget."""
    if isinstance(form, Ties):
        return form.distance is not None
    return len(form.ratios[0]) > 1


def _ratios(form: Form) -> Float:
    if isinstance(form, Comparisons):
        return form.ratios[0]
    distances = np.ones(1) if form.distance is None else np.unique(form.distance)
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(float(form.budget) * distances))


class CvxpyRows:
    """Constraints on an expression of shape (n, m), each with a label.

    The channel is an expression whose entries the user's model decides. Constraints are collected
    in the order in which they are made, and labelled by what they state: nonnegative, row_sum,
    column_minimum, privacy, privacy_zero, or the name of a block of rows.
    """

    def __init__(self, channel: Any) -> None:
        import cvxpy as cp

        self.cp, self.channel = cp, channel
        self.constraints: list[cvxpy.Constraint] = []

    def add(self, constraint: Any, label: str) -> None:
        """Keep a constraint under a label."""
        self.constraints.append(constraint.set_label(label))

    def add_channel(self) -> None:
        """Every row is a probability distribution."""
        self.add(self.channel >= 0, "nonnegative")
        self.add(self.cp.sum(self.channel, axis=1) == 1, "row_sum")

    def add_form(
        self, privacy: Any, inputs: Names, outputs: Names, form: Form | None, ratio: Any
    ) -> None:
        """Constrain what defines a notion: ties, comparisons, or rows of its own."""
        if form is None:
            self.add_block(privacy.labelled_rows(inputs, outputs))
        elif isinstance(form, Ties):
            self.add_ties(form, ratio)
        else:
            self.add_comparisons(form, ratio)

    def add_ties(self, ties: Ties, ratio: Any) -> None:
        """Constrain tied rows; ``ratio`` is a scalar or, for ties at k distinct distances, has
        shape (k,).
        """
        n, m = self.channel.shape
        tied = np.flatnonzero(ties.tied_outputs(m))
        zero = np.nonzero(~ties.allowed(m))
        if len(zero[0]):
            self.add(self.channel[zero] == 0, "privacy_zero")
        if not len(tied):
            return
        channel = self.channel if len(tied) == m else self.channel[:, tied]
        if ties.is_compact and not ties.is_shared and n >= LEAST_INPUTS_WITH_MINIMA:
            self._add_minima(ties, channel, ratio, len(tied))
        else:
            self._add_pairs(ties, channel, ratio)

    def _add_minima(self, ties: Ties, channel: Any, ratio: Any, m: int) -> None:
        """Rows between every entry and the minimum of its column.

        The new variable ``M[y]`` is at most every entry of its column; the best choice is the
        minimum. Capped inputs only are compared with it.
        """
        minima = self.cp.reshape(self.cp.Variable(m, name="M", nonneg=True), (1, m), order="C")
        capped = np.flatnonzero(ties.capped_inputs())
        self.add(self.cp.vstack([minima] * ties.n) <= channel, "column_minimum")
        above = channel if len(capped) == ties.n else channel[capped]
        excess, slack = self._excess(
            above, self.cp.vstack([minima] * len(capped)), ratio, ties.delta
        )
        self.add(excess <= slack, "privacy")

    def _add_pairs(self, ties: Ties, channel: Any, ratio: Any) -> None:
        """Rows between the inputs of every pair; of their sum over outputs for an event-wise
        delta.
        """
        first, second = ties.pairs()
        if ties.distance is not None:
            ratio = ratio[np.searchsorted(np.unique(ties.distance), ties.distance)]
            ratio = self.cp.reshape(ratio, (len(first), 1), order="C")
            ratio = self.cp.hstack([ratio] * channel.shape[1])
            ratio = ratio if ratio.parameters() else ratio.value
        excess, slack = self._excess(channel[first], channel[second], ratio, ties.delta)
        if ties.is_shared:
            excess = self.cp.sum(self.cp.pos(excess), axis=1)
        self.add(excess <= slack, "privacy")

    def _excess(self, above: Any, below: Any, ratio: Any, delta: float) -> tuple[Any, Any]:
        """``above - ratio * below`` and delta; both divided by a known ratio: coefficients are at
        most 1.
        """
        if hasattr(ratio, "parameters"):
            return above - self.cp.multiply(ratio, below), delta
        small = 1 / np.asarray(ratio)
        return self.cp.multiply(small, above) - below, small * delta

    def add_comparisons(self, comparisons: Comparisons, ratio: Any) -> None:
        """Constrain averages; ``ratio`` is a scalar or, for k distinct budgets, has shape (k,)."""
        m = self.channel.shape[1]
        tied = np.flatnonzero(comparisons.tied_outputs(m))
        zero = np.nonzero(~comparisons.allowed(m))
        if len(zero[0]):
            self.add(self.channel[zero] == 0, "privacy_zero")
        if not len(tied):
            return
        channel = self.channel if len(tied) == m else self.channel[:, tied]
        over = _average_rows(comparisons.over, comparisons.n) @ channel
        under = _average_rows(comparisons.under, comparisons.n) @ channel
        if _has_many(comparisons):
            ratio = self.cp.reshape(ratio[comparisons.ratios[1]], (len(comparisons), 1), order="C")
            ratio = self.cp.hstack([ratio] * len(tied))
            ratio = ratio if ratio.parameters() else ratio.value
        excess, _ = self._excess(over, under, ratio, 0.0)
        self.add(excess <= 0, "privacy")

    def add_block(self, block: RowBlock) -> None:
        """Constrain linear rows over the entries."""
        import scipy.sparse as sp

        m = self.channel.shape[1]
        entries = self.cp.vec(self.channel, order="C")
        table = sp.csr_array(
            (block.coefficient, (block.row, block.x * m + block.y)), (len(block), entries.size)
        )
        upper = np.flatnonzero(np.isfinite(block.upper))
        lower = np.flatnonzero(np.isfinite(block.lower))
        if len(upper):
            self.add(table[upper] @ entries <= block.upper[upper], block.name)
        if len(lower):
            self.add(table[lower] @ entries >= block.lower[lower], block.name)


def _average_rows(rows: Sequence[Average], n: int) -> Any:
    """Averages as a sparse matrix, (rows, n)."""
    from scipy.sparse import csr_array

    row = [r for r, average in enumerate(rows) for _ in average]
    column = [x for average in rows for x in average]
    value = [float(weight) for average in rows for weight in average.values()]
    return csr_array((value, (row, column)), (len(rows), n))


def read_ratio(ratio: Any, ties: Form | None) -> Any:
    """Ratio of a model: a number, an array (k,) or a parameter of such a shape; None:
    ``e**epsilon`` of the notion.
    """
    if ties is None:
        if ratio is None:
            return None
        raise StatementError(
            "this notion writes fixed rows, which have no ratio",
            code="no-ratio",
            do="leave ratio out",
        )
    ratios = distinct_ratios(ties)
    k = len(ratios)
    has_many = _has_many(ties)
    if ratio is None:
        return ratios if has_many else ratios[0]
    shape = getattr(ratio, "shape", np.shape(ratio))
    if shape == () and has_many:
        return _single_ratio(ratio, ties, k)
    if not has_many and shape not in ((), (1,)):
        problem = f"ratio has shape {shape}, but this notion has one ratio"
        raise StatementError(problem, do="pass a number, or a scalar cp.Parameter")
    if has_many and shape != (k,):
        raise StatementError(
            f"ratio has shape {shape}, but there are {k} distances or budgets",
            do="see notion.ratios()",
        )
    if hasattr(ratio, "value"):
        return _parameter(ratio)
    return np.array([_number(entry) for entry in ratio]) if has_many else _number(ratio)


def _single_ratio(ratio: Any, form: Form, k: int) -> Any:
    """One number or parameter for k ratios: a number is raised to the distances of ties."""
    has_value = hasattr(ratio, "value")
    if (has_value and k > 1) or isinstance(form, Comparisons) or form.distance is None:
        problem = f"one number or parameter cannot stand for {k} ratios"
        do = f"pass {k} numbers or a cp.Parameter({k}, pos=True), as notion.ratios() has them"
        raise StatementError(problem, code="single-ratio", do=do)
    if not has_value:
        return _number(ratio) ** np.unique(form.distance)
    import cvxpy as cp

    return cp.reshape(_parameter(ratio), (1,), order="C")


def _parameter(ratio: Any) -> Any:
    """A parameter or constant expression in place of a ratio; a value that it has is at least 1.

    An expression of variables would make the product with the channel not convex.
    """
    if not hasattr(ratio, "is_constant") or not ratio.is_constant():
        problem = f"ratio = {short_repr(ratio)} is neither a number nor a parameter"
        raise StatementError(problem, code="ratio", do="pass e**epsilon, or a cp.Parameter")
    if ratio.value is not None:
        for entry in np.ravel(ratio.value):
            _number(entry)
    return ratio


def _number(ratio: Any) -> float:
    try:
        value = float(ratio)
    except (TypeError, ValueError):
        problem = f"ratio = {short_repr(ratio)} is not a number"
        raise StatementError(problem, do="pass e**epsilon, or a cp.Parameter") from None
    if not 1 <= value < np.inf:
        problem = f"ratio = {value:g} is not e**epsilon of a budget"
        raise StatementError(problem, code="ratio", do="pass a finite number of at least 1")
    return value


def shape_of_channel(channel: Any) -> tuple[int, int]:
    """Shape (n, m) of a cvxpy expression."""
    shape = getattr(channel, "shape", None)
    if (
        not hasattr(channel, "is_affine")
        or shape is None
        or len(shape) != 2
        or not channel.is_affine()
        or channel.is_complex()
    ):
        problem = (
            f"{short_repr(channel)} is not a real affine cvxpy expression of shape "
            "(inputs, outputs)"
        )
        raise StatementError(
            problem,
            code="expression",
            do="pass cp.Variable((n, m)), or an affine expression of variables",
        )
    n, m = shape
    return n, m


def cvxpy_constraints(
    privacy: Any, channel: Any, ratio: Any, inputs: Names | None, outputs: Names | None
) -> list[cvxpy.Constraint]:
    """Constraints under which an expression is a private channel; see `Notion.constraints`."""
    n, m = shape_of_channel(channel)
    inputs, outputs = labels_of(privacy, n, m, inputs, outputs)
    privacy.check(inputs, outputs)
    form = form_of(privacy, inputs, outputs)
    _hint(form, n, m)
    model = CvxpyRows(channel)
    model.add_channel()
    model.add_form(privacy, inputs, outputs, form, read_ratio(ratio, form))
    return model.constraints


def form_of(privacy: Any, inputs: Names, outputs: Names | None) -> Form | None:
    """Ties or comparisons that define a notion; None if it writes rows of its own."""
    if (ties := exact_ties(privacy, privacy.ties(inputs, outputs))) is not None:
        return ties
    return None if privacy.is_separated else privacy.comparisons(inputs, outputs)


def _hint(form: Form | None, n: int, m: int) -> None:
    """Warn of a model that takes much longer than the library's own method."""
    excesses = n * (n - 1) * m
    if isinstance(form, Ties) and form.is_shared and excesses >= MANY_EXCESSES:
        warnings.warn(
            f"an event-wise delta of {n} inputs and {m} outputs needs {excesses:,} excesses in a "
            "model of your own, which may take minutes; solve(Problem(prior, utility, notion, "
            "constraints=...)) adds only the events that matter",
            stacklevel=4,
        )


def own_ratios(privacy: Any, inputs: Names | None) -> Float:
    """Ratios of a notion's ties, shape (k,); its own inputs are the default."""
    names = privacy.alphabet if inputs is None else read_alphabet(inputs)
    if (form := form_of(privacy, (0, 1) if names is None else names, None)) is None:
        raise StatementError(
            "this notion writes fixed rows, which have no ratio",
            code="no-ratio",
            do="leave ratio out",
        )
    return distinct_ratios(form)


def exact_ties(privacy: Any, ties: Ties | None) -> Ties | None:
    """The ties of a notion if they define it; None if it has none, or writes further rows than
    those of its ties.
    """
    return None if ties is not None and privacy.is_separated and not ties.is_shared else ties


def labels_of(
    privacy: Any, n: int, m: int, inputs: Names | None, outputs: Names | None
) -> tuple[Names, Names]:
    """Labels of the rows and columns: those given, the notion's own, or positions."""
    if inputs is None:
        inputs = privacy.alphabet if privacy.alphabet is not None else range(n)
    if outputs is None:
        outputs = inputs if m == n else range(m)
    inputs, outputs = read_alphabet(inputs), read_alphabet(outputs, "output")
    for labels, size, kind in ((inputs, n, "input"), (outputs, m, "output")):
        if len(labels) != size:
            wrong = f"there are {len(labels)} {kind} labels, but P has shape ({n}, {m})"
            raise StatementError(wrong, code="label-count", do=f"give one label for each {kind}")
    return tuple(inputs), tuple(outputs)


def add_to_pulp(privacy: Any, model: pulp.LpProblem, channel: Mapping[Any, Any]) -> None:
    """Add the rows under which ``channel[input, output]`` is a private channel to a model; see
    `Notion.add_to`.
    """
    inputs, outputs = axes_of(channel)
    privacy.check(inputs, outputs)
    form = form_of(privacy, inputs, outputs)
    if not hasattr(model, "variables"):
        raise StatementError(
            f"{short_repr(model)} is not a PuLP model", do='pass pulp.LpProblem("name")'
        )
    _hint(form, len(inputs), len(outputs))
    rows = PulpRows(model, channel, inputs, outputs)
    rows.add_channel()
    if form is None:
        rows.add_block(privacy.labelled_rows(inputs, outputs))
    elif isinstance(form, Ties):
        rows.add_ties(form, distinct_ratios(form))
    else:
        rows.add_block(form.rows(len(outputs)))


def axes_of(channel: Mapping[Any, Any]) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Inputs and outputs of a mapping (input, output) -> variable, in order of appearance; every
    pair must be there.
    """
    is_table = isinstance(channel, Mapping) and len(channel) > 0
    if not is_table or not all(isinstance(key, tuple) and len(key) == 2 for key in channel):
        problem = f"P is {short_repr(channel)}, not a mapping (input, output) -> variable"
        raise StatementError(
            problem, do='pass pulp.LpVariable.dicts("P", [(x, y) for x in inputs for y in outputs])'
        )
    inputs = tuple(dict.fromkeys(x for x, _ in channel))
    outputs = tuple(dict.fromkeys(y for _, y in channel))
    for x in inputs:
        for y in outputs:
            if (x, y) not in channel:
                problem = f"P has no variable for input {x!r} and output {y!r}"
                raise StatementError(
                    problem,
                    code="variable",
                    do="give a variable for every pair of an input and an output",
                )
    return inputs, outputs


class PulpRows:
    """Rows of a PuLP model over the variables of a channel, named by labels as in the library's own
    programs.
    """

    def __init__(
        self, model: Any, channel: Mapping[Any, Any], inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        import pulp

        self.pulp, self.model, self.inputs, self.outputs = pulp, model, inputs, outputs
        self.channel = [[channel[x, y] for y in outputs] for x in inputs]
        self.names = {variable.name for variable in model.variables()}

    def add(self, constraint: Any, name: str) -> None:
        """Add a constraint; its name gets a number if it is taken."""
        self.model += constraint, _free(name, self.model.constraints)

    def variable(self, name: str) -> Any:
        """New variable of at least 0, with the next free number in its name."""
        full = _free(name, self.names)
        self.names.add(full)
        return self.pulp.LpVariable(full, 0)

    def add_channel(self) -> None:
        """Every row is a probability distribution."""
        for x, row in zip(self.inputs, self.channel, strict=True):
            self.add(self.pulp.lpSum(row) == 1, f"row_sum({x})")
            for y, variable in zip(self.outputs, row, strict=True):
                if getattr(variable, "lowBound", None) is None or variable.lowBound < 0:
                    self.add(variable >= 0, f"nonnegative({x},{y})")

    def add_ties(self, ties: Ties, ratio: Float) -> None:
        """Constrain tied rows; ``ratio`` has shape (k,) for ties at k distinct distances."""
        n = len(self.inputs)
        m = len(self.outputs)
        for x, y in zip(*np.nonzero(~ties.allowed(m)), strict=True):
            self.add(self.channel[x][y] == 0, f"privacy_zero({self.inputs[x]},{self.outputs[y]})")
        tied = np.flatnonzero(ties.tied_outputs(m)).tolist()
        if ties.is_compact and not ties.is_shared and n >= LEAST_INPUTS_WITH_MINIMA:
            self._add_minima(ties, tied, 1 / float(ratio[0]))
            return
        first, second = (end.tolist() for end in ties.pairs())
        which = np.zeros(len(first), int)
        if ties.distance is not None:
            which = np.searchsorted(np.unique(ties.distance), ties.distance)
        for x, k, b in zip(first, second, (1 / ratio[which]).tolist(), strict=True):
            self._add_pair(ties, x, k, b, tied)

    def _add_minima(self, ties: Ties, tied: Sequence[int], b: float) -> None:
        """Rows between every entry and the minimum of its column, divided by the ratio."""
        capped = np.flatnonzero(ties.capped_inputs()).tolist()
        for y in tied:
            minimum = self.variable(f"M({self.outputs[y]})")
            for x, label in enumerate(self.inputs):
                self.add(
                    minimum <= self.channel[x][y], f"column_minimum({label},{self.outputs[y]})"
                )
            for x in capped:
                name = f"privacy({self.inputs[x]},{self.outputs[y]})"
                self.add(b * self.channel[x][y] - minimum <= b * ties.delta, name)

    def _add_pair(self, ties: Ties, x: int, k: int, b: float, tied: Sequence[int]) -> None:
        """Rows between two inputs, divided by the ratio; of their sum over outputs for an
        event-wise delta.

        For an event-wise delta each output gets an excess variable of at least ``b P[x, y] - P[x',
        y]`` and at least 0; their sum over the outputs is at most ``b delta``, which is the
        hockey-stick divergence divided by the ratio.
        """
        names = f"{self.inputs[x]},{self.inputs[k]}"
        excesses = []
        for y in tied:
            difference = b * self.channel[x][y] - self.channel[k][y]
            name = f"({names},{self.outputs[y]})"
            if ties.is_shared:
                excesses.append(self.variable(f"excess{name}"))
                self.add(difference <= excesses[-1], f"excess{name}")
            else:
                self.add(difference <= b * ties.delta, f"privacy{name}")
        if ties.is_shared:
            self.add(self.pulp.lpSum(excesses) <= b * ties.delta, f"privacy({names})")

    def add_block(self, block: RowBlock) -> None:
        """Add linear rows over the entries."""
        for row in range(len(block)):
            mine = block.row == row
            entries = zip(block.x[mine], block.y[mine], block.coefficient[mine], strict=True)
            left = self.pulp.lpSum(float(a) * self.channel[x][y] for x, y, a in entries)
            if np.isfinite(block.upper[row]):
                self.add(left <= float(block.upper[row]), f"{block.name}({row})")
            if np.isfinite(block.lower[row]):
                self.add(left >= float(block.lower[row]), f"{block.name}_lower({row})")


def _free(name: str, taken: Container[str]) -> str:
    """Return the name, with the next free number if it is taken."""
    return next(
        full
        for full in chain([name], (f"{name}_{number}" for number in count(2)))
        if full not in taken
    )
