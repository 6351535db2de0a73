r"""Divergence of some rows from all rows: the true one-sided or utility-optimized privacy of a
channel.

One-sided privacy (Kotsogiannis and others 2020) protects sensitive inputs: for each of them, ``x``,
and every input ``x'``,

.. math:: P(y \mid x) \le e^\epsilon P(y \mid x') .

Nothing is claimed of the other inputs. Utility-optimized privacy (Murakami and Kawamoto 2019) also
has invertible reports, each of which one input alone may send: these are not compared, and any mass
of another input on them violates the claim for every epsilon.

All ``x'`` count, so only two numbers of a column matter: the largest entry of the sensitive rows,
and the smallest of all rows.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.audits import Audit, Pairs, Witness
from ldpopt.auditing.divergence import decide_all, least_epsilon_all, pure_audit
from ldpopt.auditing.exact_matrices import ExactChannel, exact
from ldpopt.foundation.budget import Budget, round_up


def one_sided_divergence(
    channel: Any,
    budget: Budget,
    over: Sequence[int] | None = None,
    owners: Mapping[Hashable, int] | None = None,
) -> Audit:
    r"""Audit of ``P[x, y] <= e**epsilon P[x', y]`` for the inputs ``x`` in ``over`` and all ``x'``,
    in O(n m).

    ``over`` are positions of inputs, by default all. ``owners`` maps outputs to the only input that
    may report them, a position; they are not compared. Mass of another input on such an output is
    added to delta, and is the witness; it violates the claim for every epsilon.
    """
    matrix, foreign = _without_owned(exact(channel), owners or {})
    rows = range(matrix.shape[0]) if over is None else sorted(over)
    claim = f"epsilon = {budget!r}" + (
        f" for {len(rows)} of {matrix.shape[0]} inputs" if over is not None else ""
    )
    if owners is not None:
        claim += f" except for {len(owners)} invertible reports"
    first = np.repeat(np.array(rows, np.int64), matrix.shape[0])
    second = np.tile(np.arange(matrix.shape[0]), len(rows))
    is_pair = first != second
    pairs = Pairs(first[is_pair], second[is_pair], np.ones(int(is_pair.sum())))
    compared = _columns_audit(matrix, budget, np.array(rows, np.int64), pairs, claim)
    if foreign is None:
        return compared
    mass, witness = foreign
    delta = min(compared.delta + mass, 1.0)
    return replace(
        compared,
        epsilon=math.inf,
        delta=delta,
        witness=witness,
        verdict="violated",
        curve=lambda _: delta,
    )


def _columns_audit(
    matrix: ExactChannel, budget: Budget, rows: NDArray[np.int64], pairs: Pairs, claim: str
) -> Audit:
    """Compare the largest entry of some rows with the smallest entry of all rows, column by
    column.
    """
    if not len(rows) or not matrix.shape[1]:
        return Audit(0.0, 0.0, None, "certified", claim, lambda _: 0.0)
    worst = least_epsilon_all(matrix, rows)
    verdict = decide_all(matrix, budget, rows)
    return pure_audit(
        matrix, worst, lambda at: decide_all(matrix, at, rows), pairs, budget, verdict, claim
    )


def _without_owned(
    matrix: ExactChannel, owners: Mapping[Hashable, int]
) -> tuple[ExactChannel, tuple[float, Witness] | None]:
    """Leave out the outputs with owners; also return their largest mass at other inputs, with a
    witness.
    """
    owned = [y for y, label in enumerate(matrix.outputs) if label in owners]
    kept = [y for y, label in enumerate(matrix.outputs) if label not in owners]
    names = tuple(matrix.outputs[y] for y in kept)
    others = replace(
        matrix, numerators=matrix.numerators[:, kept], floats=matrix.floats[:, kept], outputs=names
    )
    worst, where = 0, None
    by_input = np.zeros(matrix.shape[0], dtype=object)
    for y in owned:
        owner = owners[matrix.outputs[y]]
        for x in np.flatnonzero(matrix.numerators[:, y] != 0):
            if x != owner:
                by_input[x] += int(matrix.numerators[x, y])
                if by_input[x] > worst:
                    worst = by_input[x]
                    where = (matrix.inputs[x], matrix.inputs[owner], matrix.outputs[y])
    return others, None if where is None else (
        round_up(Fraction(int(worst), matrix.denominator)),
        where,
    )
