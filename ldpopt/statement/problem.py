"""Problem: who answers what, what a good answer is worth, and how private it must be."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.checks import Float, frozen, normalized, real_array, short_repr, summed
from ldpopt.foundation.clock import NO_LIMIT, Deadline
from ldpopt.foundation.labels import first_duplicate, labels, require_labels
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import Notion, Ties
from ldpopt.privacy.answers import check_alphabet, definition_of, require_notion, ties_of
from ldpopt.statement.utility import Utility, resolve

PRIOR_TOLERANCE = 1e-9
"""How far a prior given as numbers may sum from 1; weights by label are normalised instead."""


@dataclass(frozen=True, eq=False)
class Problem:
    r"""State a problem: choose the channel ``P`` of most utility among those that are private.

    .. math:: \max_P \sum_x \pi_x \sum_y u(x, y) P(x, y)
              \quad\text{or}\quad \max_P \min_x \sum_y u(x, y) P(x, y)

    over row-stochastic ``P`` that keep the privacy notion and every side constraint; a loss is minimised.

    Parameters
    ----------
    prior : array_like, shape (n,), mapping label -> weight, or None
        Probabilities that sum to 1 within 1e-9 (used as they are), or non-negative weights by label (normalised; the
        labels become the inputs). None where the objective is ``"worst_case"``.
    utility : str, Utility or array_like, shape (n, m)
        The name of a function in `ldpopt.utility`, a Utility, or a gain.
    privacy : privacy notion
        `PureLDP`, `ApproximateLDP`, `GraphDP`, `MetricDP` or a plug-in.
    inputs, outputs : sequence of hashable, optional
        Distinct labels; 0, 1, 2, ... unless told, outputs as the inputs where the utility is square.
    objective : {"expected", "worst_case"}
        Average over the prior, or the worst input.
    constraints : sequence of RowBlock
        Side constraints, see `ldpopt.constraints`.

    Raises
    ------
    StatementError
        Naming the number, the label and the remedy.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> problem = Problem({"no": 2, "yes": 8}, "identity", PureLDP(0.1))
    >>> problem.inputs, problem.prior.tolist()
    (('no', 'yes'), [0.2, 0.8])
    """

    prior: Float | None
    utility: Utility
    privacy: Any
    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    objective: Literal["expected", "worst_case"]
    constraints: tuple[RowBlock, ...]

    def __init__(
        self,
        prior: ArrayLike | Mapping[Any, float] | None,
        utility: str | Utility | ArrayLike = "identity",
        privacy: Notion | None = None,
        *,
        inputs: Sequence[Hashable] | None = None,
        outputs: Sequence[Hashable] | None = None,
        objective: Literal["expected", "worst_case"] = "expected",
        constraints: Sequence[RowBlock] | RowBlock = (),
    ) -> None:
        if not isinstance(objective, str) or objective not in ("expected", "worst_case"):
            raise StatementError(
                f"objective = {short_repr(objective)} is unknown", do='state "expected" or "worst_case"'
            )
        require_notion(privacy)
        for given, kind in ((inputs, "input"), (outputs, "output")):
            if given is not None:
                _require_labels(given, kind)
        weights, names = _prior(prior, objective, inputs)
        matrix = utility if isinstance(utility, (str, Utility)) else Utility(utility, "gain")  # type: ignore[arg-type]
        n = _size(weights, names, inputs, matrix)
        names = _labels(names if names is not None else inputs, n, "input")
        m = len(outputs) if outputs is not None else n if isinstance(matrix, str) else matrix.shape[1]
        targets = _labels(outputs if outputs is not None else names if m == n else None, m, "output")
        blocks = (constraints,) if isinstance(constraints, RowBlock) else constraints
        if not isinstance(blocks, (tuple, list)):
            raise StatementError(f"a {type(blocks).__name__} is no list of side constraints", do="pass a list of them")
        blocks = tuple(blocks)
        _check_blocks(blocks, n, m)
        for name, value in (
            ("prior", None if weights is None else frozen(weights)),
            ("utility", resolve(matrix, names, targets)),
            ("privacy", privacy),
            ("inputs", names),
            ("outputs", targets),
            ("objective", objective),
            ("constraints", blocks),
        ):
            object.__setattr__(self, name, value)
        check_alphabet(privacy, names, targets)

    def __repr__(self) -> str:
        """Sizes and notion."""
        n, m = self.utility.shape
        return f"Problem({n} inputs, {m} outputs, {self.objective} {self.utility.sense}, {self.privacy!r})"

    def ties(self, deadline: Deadline = NO_LIMIT) -> Ties | None:
        """Ties of the notion on this alphabet, computed once and kept; None where the notion is not a tied one.

        Parameters
        ----------
        deadline : Deadline
            A metric's ties take O(n^3): work stops with OutOfTimeError where the deadline is over.
        """
        known: dict[str, Ties | None] = self.__dict__
        if "_ties" not in known:
            known["_ties"] = ties_of(self.privacy, self.inputs, self.outputs, deadline)
        return known["_ties"]

    def definition(self) -> Ties | None:
        """All ties of the notion's definition, implied ones included; kept. None where it is not a tied notion."""
        known: dict[str, Ties | None] = self.__dict__
        if "_definition" not in known:
            known["_definition"] = definition_of(self.privacy, self.inputs, self.outputs)
        return known["_definition"]

    @property
    def is_trivial(self) -> bool:
        """Whether there is only one input, so that privacy asks for nothing."""
        return len(self.inputs) == 1


def _prior(
    prior: Any, objective: str, inputs: Sequence[Hashable] | None
) -> tuple[Float | None, Sequence[Hashable] | None]:
    """Probabilities and, for a mapping, its labels."""
    if objective == "worst_case":
        if prior is not None:
            raise StatementError("a worst-case objective takes no prior", do='pass None, or objective="expected"')
        return None, None
    if prior is None:
        raise StatementError("an expected objective needs a prior", do='pass one, or objective="worst_case"')
    if hasattr(prior, "to_dict") and not isinstance(prior, Mapping):
        prior = prior.to_dict()
    if isinstance(prior, Mapping):
        return _weights(prior, inputs)
    weights = real_array(prior, "prior")
    if weights.ndim != 1 or not weights.size:
        raise StatementError(f"the prior has shape {weights.shape}; it needs (n,) with n >= 1")
    _check_weights(weights, range(len(weights)), "prior")
    total = float(summed(weights))
    if abs(total - 1) > PRIOR_TOLERANCE:
        raise StatementError(
            f"the prior sums to {total:.12g}, not 1",
            do="divide it by its sum, or pass weights by label: {label: weight}",
        )
    return weights, None


def _weights(prior: Mapping[Any, float], inputs: Sequence[Hashable] | None) -> tuple[Float, Sequence[Hashable]]:
    names = list(prior) if inputs is None else list(inputs)
    if not names:
        raise StatementError("the prior is empty")
    for label in prior:
        if label not in set(names):
            raise StatementError(f"the prior gives a weight to {short_repr(label)}, which is no input")
    for label in names:
        if label not in prior:
            raise StatementError(
                f"the prior gives no weight to input {short_repr(label)}", do="state 0 if it never occurs"
            )
    weights = real_array([prior[label] for label in names], "prior")
    _check_weights(weights, names, "weight")
    return normalized(weights), names


def _check_weights(weights: Float, names: Sequence[Any], what: str) -> None:
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        x = int(bad[0])
        raise StatementError(
            f"{what}[{short_repr(names[x])}] = {weights[x]} is no probability", do="state finite numbers >= 0"
        )


def _size(weights: Float | None, names: Any, inputs: Any, utility: str | Utility) -> int:
    """Return the number of inputs, from whichever part of the statement says it first."""
    if weights is not None:
        return len(weights)
    if inputs is not None:
        return len(inputs)
    if isinstance(utility, Utility):
        return utility.shape[0]
    raise StatementError("nothing says how many inputs there are", do="pass inputs=[...] or a utility matrix")


def _require_labels(given: Any, kind: str) -> None:
    try:
        require_labels(given, kind)
    except MechanismError as error:
        raise StatementError(error.what, do=error.do) from None


def _labels(names: Sequence[Hashable] | None, size: int, kind: str) -> tuple[Hashable, ...]:
    if names is not None:
        duplicate = first_duplicate([*names])
        if duplicate is not None:
            raise StatementError(f"the {kind} label {short_repr(duplicate[0])} stands twice")
    try:
        return labels(names, size, kind)
    except MechanismError as error:
        raise StatementError(error.what) from None


def _check_blocks(blocks: Sequence[RowBlock], n: int, m: int) -> None:
    for block in blocks:
        if not isinstance(block, RowBlock):
            raise StatementError(
                f"{short_repr(block)} is no side constraint", do="use a function of ldpopt.constraints"
            )
        if block.name in ("privacy", "row_sum", "worst_case"):
            raise StatementError(f"the name {block.name!r} is taken by the program itself", do="rename the constraint")
        if len(block.x) and (block.x.max() >= n or block.y.max() >= m):
            raise StatementError(
                f"constraint {block.name!r} speaks of input {block.x.max()} and output {block.y.max()}; "
                f"there are {n} inputs and {m} outputs"
            )
    twice = first_duplicate([block.name for block in blocks])
    if twice is not None:
        raise StatementError(f"two side constraints are named {short_repr(twice[0])}", do="give each a name of its own")
