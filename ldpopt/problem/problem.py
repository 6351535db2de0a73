"""Problem: inputs and their prior, the utility of reports, and the required privacy."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.labelled import Labels, same_labels
from ldpopt.foundation.labels import check_labels, first_duplicate, listed
from ldpopt.foundation.numbers import Float, require_choice, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import Comparisons, Notion, TiedNotion, Ties
from ldpopt.privacy.notion import require_notion
from ldpopt.problem.prior import read_prior
from ldpopt.problem.utility import Utility, bare_gain, resolve


@dataclass(frozen=True, eq=False)
class Problem(HasFacts):
    r"""A problem: choose the private channel ``P`` with the largest utility.

    .. math:: \max_P \sum_x \pi_x \sum_y u(x, y) P(x, y)
              \quad\text{or}\quad \max_P \min_x \sum_y u(x, y) P(x, y)

    over row-stochastic ``P`` that satisfy the privacy notion and every side constraint; a loss is
    minimized.

    Parameters
    ----------
    prior : array_like, shape (n,), mapping or Series label -> weight, or None
        Probabilities that sum to 1 within 1e-9 (used as they are), or non-negative weights by label
        (normalized). None if the objective is ``"worst_case"``.
    utility : str, Utility, array_like, shape (n, m), or DataFrame or mapping of mappings
        The name of a function in `ldpopt.utility`, a Utility, or a matrix of gains; default:
        ``"identity"``. For losses pass ``Utility(matrix, "loss")``.
    privacy : privacy notion
        `PureLDP`, `ApproximateLDP`, `GraphDP`, `MetricDP` or a plug-in; there is no default.
    inputs, outputs : sequence of hashable, optional
        Distinct labels. Default for the inputs: the labels of the first part that has any (prior,
        utility, constraints, distance), else 0, 1, 2, ...; for the outputs: the labels of the
        utility or the constraints, else the inputs if there are as many, else 0, 1, 2, ... Parts
        with labels are put into this order; parts without labels are read by position.
    objective : {"expected", "worst_case"}
        Average over the prior, or the worst input; default: ``"expected"``.
    constraints : sequence of RowBlock
        Side constraints, see `ldpopt.constraints`; default: ``()``.

    Raises
    ------
    StatementError
        If a part is invalid or the parts do not fit; the message names the number and the label.

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
        require_choice(objective, ("expected", "worst_case"), "objective")
        require_notion(privacy)
        assert privacy is not None
        stated_inputs = _stated(inputs, "input")
        stated_outputs = _stated(outputs, "output")
        weights, prior_labels = _read_weights(prior, objective, stated_inputs)
        utility = utility if isinstance(utility, (str, Utility)) else bare_gain(utility)
        blocks = _read_blocks(constraints)
        parts = [stated_inputs, prior_labels, *_labels_of("inputs", utility, *blocks, privacy)]
        names = _inputs(parts, weights, utility, privacy)
        targets = _outputs(
            [stated_outputs, *_labels_of("outputs", utility, *blocks)], names, utility
        )
        object.__setattr__(self, "prior", weights)
        object.__setattr__(self, "utility", resolve(utility, names, targets))
        # the prior of a notion is that of the problem, unless the notion states one
        object.__setattr__(self, "privacy", privacy.bound_to(weights, names))
        object.__setattr__(self, "inputs", names)
        object.__setattr__(self, "outputs", targets)
        object.__setattr__(self, "objective", objective)
        rows = tuple(_fitting(block, names, targets) for block in blocks)
        object.__setattr__(self, "constraints", rows)
        self.privacy.check(names, targets)

    def __repr__(self) -> str:
        n, m = self.utility.shape
        return (
            f"Problem({n} inputs, {m} outputs, {self.objective} {self.utility.sense}, "
            f"{self.privacy!r})"
        )

    def facts(self) -> Facts:
        """Alphabet, prior, objective, notion and side constraints."""
        n, m = self.utility.shape
        lines = [
            ("inputs", f"{n}: {listed(self.inputs)}"),
            ("outputs", f"{m}: {listed(self.outputs)}"),
        ]
        if self.prior is not None:
            lines.append(
                (
                    "prior",
                    ", ".join(f"{p:.4g}" for p in self.prior[:6]) + (", ..." if n > 6 else ""),
                )
            )
        lines += [("objective", f"{self.objective.replace('_', '-')} {self.utility.sense}")]
        lines += [("privacy", repr(self.privacy))]
        lines += (
            [("constraints", ", ".join(block.name for block in self.constraints))]
            if self.constraints
            else []
        )
        return Facts("Problem", lines)

    def ties(self, deadline: Deadline = NO_LIMIT) -> Ties | None:
        """Ties of the notion on this alphabet, computed once by a deadline; None if the notion has
        no ties.
        """
        known: dict[str, Ties | None] = self.__dict__
        if "_ties" not in known:
            known["_ties"] = self.privacy.ties(self.inputs, self.outputs, deadline)
        return known["_ties"]

    def definition(self) -> Ties | None:
        """All ties of the notion's definition, including implied ones, computed once; None if it
        has no ties.
        """
        known: dict[str, Ties | None] = self.__dict__
        if "_definition" not in known:
            # without a definition of its own, what a notion writes is all of it
            is_written = type(self.privacy).definition in (Notion.definition, TiedNotion.definition)
            known["_definition"] = (
                self.ties() if is_written else self.privacy.definition(self.inputs, self.outputs)
            )
        return known["_definition"]

    def comparisons(self) -> Comparisons | None:
        """The notion's comparisons on this alphabet, computed once; None if it is not a list of
        comparisons.
        """
        known: dict[str, Comparisons | None] = self.__dict__
        if "_comparisons" not in known:
            known["_comparisons"] = self.privacy.comparisons(self.inputs, self.outputs)
        return known["_comparisons"]

    @property
    def is_trivial(self) -> bool:
        """Whether there is only one input, so that every channel is private."""
        return len(self.inputs) == 1


def with_privacy(problem: Problem, privacy: Notion) -> Problem:
    """The same problem with another notion, which is checked; no other part is read again."""
    changed = object.__new__(Problem)
    for part in fields(Problem):
        object.__setattr__(changed, part.name, getattr(problem, part.name))
    require_notion(privacy)
    object.__setattr__(changed, "privacy", privacy.bound_to(problem.prior, problem.inputs))
    changed.privacy.check(problem.inputs, problem.outputs)
    return changed


def _stated(labels: Sequence[Hashable] | None, kind: str) -> Labels | None:
    return None if labels is None else check_labels(labels, None, kind, StatementError)


def _read_weights(
    prior: Any, objective: str, inputs: Labels | None
) -> tuple[Float | None, Labels | None]:
    """Probabilities of the inputs, and their labels; both are None for a worst case."""
    if objective == "worst_case":
        if prior is not None:
            raise StatementError(
                "a worst-case objective takes no prior",
                code="worst-case-prior",
                do='pass prior=None, or objective="expected"',
            )
        return None, None
    if prior is None:
        raise StatementError(
            "an expected objective needs a prior",
            code="missing-prior",
            do='pass a prior, or objective="worst_case"',
        )
    return read_prior(prior, inputs)


def _labels_of(axis: str, *parts: Any) -> list[Labels | None]:
    """Labels of the rows or columns of each part of a problem; None for a part without labels."""
    labels = [getattr(part, axis, None) for part in parts]
    return [names if isinstance(names, tuple) else None for names in labels]


def _inputs(
    parts: Sequence[Labels | None], weights: Float | None, utility: str | Utility, privacy: Any
) -> Labels:
    """Labels of the first part that has labels, else those of the notion, else 0, 1, 2, ..."""
    names = next((part for part in parts if part is not None), None)
    if names is None and isinstance(utility, Utility) and privacy.alphabet is None:
        numbers = utility.numbers[0]
        names = numbers if weights is None or len(weights) == utility.shape[0] else None
    if weights is not None:
        size = len(weights)
    elif names is not None:
        size = len(names)
    elif isinstance(utility, Utility):
        size = utility.shape[0]
    elif (known := privacy.known_inputs) is not None:
        names = known
        size = len(known)
    else:
        raise StatementError(
            "the number of inputs is unknown",
            code="inputs",
            do="pass inputs=[...] or a utility matrix",
        )
    return check_labels(names, size, "input", StatementError)


def _outputs(parts: Sequence[Labels | None], inputs: Labels, utility: str | Utility) -> Labels:
    """Labels of the first part that has labels; the inputs if these have the same labels."""
    names = next((part for part in parts if part is not None), None)
    is_square = isinstance(utility, str) or utility.shape[1] == len(inputs)
    if names is None and isinstance(utility, Utility) and len(set(utility.numbers)) == 2:
        names = utility.numbers[1]  # reports have other values than answers
    if parts[0] is None and (same_labels(names, inputs) or (names is None and is_square)):
        return inputs
    if names is not None:
        return names
    assert isinstance(utility, Utility)
    return tuple(range(utility.shape[1]))


def _read_blocks(constraints: Any) -> tuple[RowBlock, ...]:
    """Side constraints as a tuple; refuse duplicate names."""
    blocks = (constraints,) if isinstance(constraints, RowBlock) else constraints
    if not isinstance(blocks, (tuple, list)):
        raise StatementError(
            f"a {type(blocks).__name__} is not a list of side constraints",
            do="pass a list or tuple",
        )
    for block in blocks:
        if not isinstance(block, RowBlock):
            problem = f"{short_repr(block)} is not a side constraint"
            raise StatementError(
                problem, code="constraint", do="use a function of ldpopt.constraints"
            )
        if block.name in ("privacy", "row_sum", "worst_case"):
            raise StatementError(
                f"the name {block.name!r} is already used by the program",
                code="reserved-name",
                do="rename the constraint",
            )
    if (twice := first_duplicate([block.name for block in blocks])) is not None:
        problem = f"duplicate constraint name {short_repr(twice[0])}"
        raise StatementError(
            problem, code="duplicate-name", do="give each constraint a name of its own"
        )
    return tuple(blocks)


def _fitting(block: RowBlock, inputs: Labels, outputs: Labels) -> RowBlock:
    """The block in the order of the alphabets; refuse other labels, shapes or positions."""
    n = len(inputs)
    m = len(outputs)
    rows = n if block.inputs is None else len(block.inputs)
    columns = m if block.outputs is None else len(block.outputs)
    name = f"constraint {short_repr(block.name)}"
    do = "use the same number of inputs and outputs in all parts of the problem"
    if wrong := block.misfit(n, m):
        raise StatementError(f"{name} does not fit: {wrong}", code="shape", do=do)
    if wrong := block.fault(rows, columns):
        raise StatementError(f"{name} does not fit: {wrong}", code="positions", do=do)
    return block.to(inputs, outputs)
