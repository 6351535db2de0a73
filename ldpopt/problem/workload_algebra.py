"""The algebra of workloads: multiples, sums, another order of the answers, a missing answer.

The results build their matrices on first use, from those of the workloads that they are made of.
"""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import Names, check_labels, codes, listed
from ldpopt.foundation.numbers import Float, real_number, short_repr
from ldpopt.problem import workload_matrices as matrices
from ldpopt.problem.workload_rows import Known, WorkloadRows

W = TypeVar("W", bound=WorkloadRows)


def scaled(workload: W, factor: float) -> W:
    """Every number times a factor."""
    number = real_number(factor, "factor of a workload", -matrices.LARGEST, matrices.LARGEST)
    if number == 0:
        raise StatementError(
            "a workload times 0 has nothing to estimate",
            code="zero-factor",
            do="multiply by another number",
        )
    known = Known(
        symmetries=workload.symmetries,
        sizes=workload.sizes,
        tables=None
        if workload.tables is None
        else tuple((ways, weight * number) for ways, weight in workload.tables),
        attributes=workload.attributes,
        unit=None if workload.unit is None else workload.unit * number,
        gram=None if workload._known.gram is None else partial(_scaled_gram, workload, number),
        plain=matrices.scaled_table(workload._known.plain, number),
    )
    return workload._lazy(
        partial(_scaled_rows, workload, number), workload.inputs, workload.names, known
    )


def stacked(parts: Sequence[W]) -> W:
    """The rows of several workloads, in the order of the first one's labels."""
    inputs = parts[0].inputs
    aligned = [ordered(part, inputs) for part in parts]
    plain = None
    if any(part._known.plain is not None for part in aligned):
        plain = {
            "part": [table for part in aligned for table in matrices.tables_of(part.to_plain())]
        }
    are_marginals = all(
        part.tables is not None and part.attributes == parts[0].attributes for part in aligned
    )
    known = Known(
        symmetries=tuple(swap for part in aligned for swap in part.symmetries),
        sizes=next((part.sizes for part in aligned if part.sizes is not None), None),
        tables=tuple(table for part in aligned for table in part.tables or ())
        if are_marginals
        else None,
        attributes=parts[0].attributes if are_marginals else (),
        gram=partial(_stacked_gram, aligned),
        plain=plain,
    )
    names = matrices.unique_names(name for part in parts for name in part.names)
    return parts[0]._lazy(partial(_stacked_rows, aligned), inputs, names, known)


def ordered(workload: W, inputs: Names) -> W:
    """The same numbers, with the answers in another order, by label."""
    if inputs is workload.inputs:
        return workload
    names = check_labels(inputs, len(workload.inputs), "input", StatementError, "the workload")
    if names == workload.inputs:
        return workload
    if set(names) != set(workload.inputs):
        odd = next(iter(set(names) ^ set(workload.inputs)))
        problem = f"the label {short_repr(odd)} is not in both lists"
        do = f"the workload has {listed(workload.inputs)}, the inputs are {listed(names)}"
        raise StatementError(problem, code="labels", where="the answers of a workload", do=do)
    order = codes(list(names), workload.inputs, "input")
    known = Known(
        symmetries=tuple(np.argsort(order)[swap[order]] for swap in workload.symmetries),
        gram=partial(_ordered_gram, workload, order),
    )
    return workload._lazy(partial(_ordered_rows, workload, order), names, workload.names, known)


def with_further_answer(
    workload: WorkloadRows, label: Hashable
) -> tuple[Float, Names, tuple[Hashable, ...]]:
    """Rows, answers and names with the share of a further answer that contributes nothing else."""
    (label,) = check_labels((label,), 1, "input", StatementError, "the workload")
    varying = np.ptp(workload.matrix, axis=1) > 0
    rows = np.pad(workload.matrix[varying], ((0, 1), (0, 1)))
    rows[-1, -1] = 1
    names = [name for name, varies in zip(workload.names, varying, strict=True) if varies]
    return rows, (*workload.inputs, label), matrices.unique_names([*names, label])


def _scaled_rows(workload: WorkloadRows, number: float) -> Float:
    return number * workload.matrix


def _scaled_gram(workload: WorkloadRows, number: float) -> Float:
    return number**2 * workload.gram


def _ordered_rows(workload: WorkloadRows, order: NDArray[np.int64]) -> Float:
    return workload.matrix[:, order]


def _ordered_gram(workload: WorkloadRows, order: NDArray[np.int64]) -> Float:
    return workload.gram[np.ix_(order, order)]


def _stacked_rows(parts: Sequence[WorkloadRows]) -> Float:
    return np.vstack([part.matrix for part in parts])


def _stacked_gram(parts: Sequence[WorkloadRows]) -> Float:
    return np.asarray(sum(part.gram for part in parts))
