"""Utility-optimized privacy: sensitive and other answers, protected and invertible reports."""

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.one_sided import one_sided_divergence
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.foundation.numbers import Float, Int, shaped_array, short_repr, whole_number
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.notion import TiedNotion, read_labels, require_known, shape_of
from ldpopt.privacy.ties import Ties


@dataclass(frozen=True)
class UtilityOptimizedLDP(TiedNotion):
    r"""Sensitive answers are protected; other answers may be revealed.

    Protected reports obey :math:`P(x, y) \le e^\epsilon P(x', y)` for all inputs. Every other
    report is invertible: it has the label of an input that is not sensitive, and only this input
    gives it.

    Parameters
    ----------
    epsilon : float or str
        Nats in [0, 10000], or ``"log(p/q)"``.
    sensitive : sequence of hashable
        Labels of the sensitive inputs; if all inputs are sensitive, this is pure privacy.
    protected : sequence of hashable, optional
        Labels of the protected reports; default: the sensitive labels, and every output that is not
        an input's label.

    Raises
    ------
    StatementError
        If epsilon is out of range, or the labels are not a list of distinct ones.

    Notes
    -----
    The definition calls an invertible report positive for exactly one input. Here an invertible
    report may also have probability 0 for all inputs.

    References
    ----------
    Murakami and Kawamoto 2019, "Utility-optimized local differential privacy mechanisms for
    distribution estimation", definition 3.

    Examples
    --------
    >>> from ldpopt import Problem, solve
    >>> notion = UtilityOptimizedLDP("log(4)", ["ill"])
    >>> solve(Problem({"ill": 1, "well": 1}, "identity", notion)).mechanism.channel.tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """

    kind: ClassVar[str] = "utility_optimized"
    epsilon: Budget
    sensitive: tuple[Hashable, ...]
    protected: tuple[Hashable, ...] | None = None

    def __init__(
        self, epsilon: float | str, sensitive: Names, protected: Names | None = None
    ) -> None:
        object.__setattr__(self, "epsilon", Budget(epsilon))
        object.__setattr__(self, "sensitive", read_labels(sensitive, "sensitive"))
        reports = None if protected is None else read_labels(protected, "protected")
        object.__setattr__(self, "protected", reports)

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse labels that are not in the alphabets, and inputs that have neither an own nor a
        protected report.
        """
        self._owners(inputs, outputs)

    def ties(
        self, inputs: Names, outputs: Names | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties:
        """All pairs of inputs for protected reports; other reports have an owner."""
        owner = self._owners(inputs, inputs if outputs is None else outputs)
        return Ties(self.epsilon, len(inputs), owner=owner if (owner >= 0).any() else None)

    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """Rows of the ties if the outputs have the labels of the inputs; `ties` takes other labels
        of outputs.
        """
        n_outputs = whole_number(n_outputs, "n_outputs")
        if n_outputs == len(read_alphabet(inputs)):
            return self.ties(inputs).rows(n_outputs)
        if set(inputs) == set(self.sensitive) and self.protected is None:
            # all outputs are protected, whatever their labels
            return Ties(self.epsilon, len(inputs)).rows(n_outputs)
        problem = (
            f"which reports are protected depends on their labels, and {n_outputs} outputs are "
            "not those of the "
        )
        raise NotRepresentableError(
            f"{problem}{len(inputs)} inputs",
            code="output-labels",
            do="use ties(inputs, outputs).rows(n_outputs)",
        )

    def reports(self, inputs: Names, columns: Float) -> tuple[Hashable, ...]:
        """A column of one answer that is not sensitive has its label; the others, which are
        protected, have numbers that are no labels of answers.
        """
        if self.protected is not None:
            raise StatementError(
                "the reports are chosen freely, and the notion names those that are protected",
                code="named-reports",
                do="leave `protected` out",
            )
        answers = read_alphabet(inputs)
        columns = shaped_array(columns, "columns", len(answers), None)
        numbers = (number for number in count() if number not in set(answers))
        names: list[Hashable] = []
        for column in columns.T:
            givers = np.flatnonzero(column > 0)
            is_own = len(givers) == 1 and answers[givers[0]] not in self.sensitive
            names.append(answers[givers[0]] if is_own else next(numbers))
        return tuple(names)

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """The first input is sensitive."""
        return cls(epsilon, read_alphabet(inputs)[:1])

    def audit(self, channel: Any) -> Audit:
        """Decide the claim from the channel's numbers, exactly; the labels of a plain array are
        positions.
        """
        inputs, is_labelled = shape_of(channel)
        require_known(self.sensitive, inputs, "sensitive", "input")
        outputs = channel.outputs if is_labelled else range(len(channel[0]))
        position = {label: x for x, label in enumerate(inputs)}
        sensitive = set(self.sensitive)
        others = {y for y in outputs if y in position and y not in sensitive}
        if self.protected is not None:
            if unfit := [y for y in outputs if y not in others and y not in self.protected]:
                raise _unfit(unfit[0])
            others -= set(self.protected)
        return one_sided_divergence(channel, self.epsilon, None, {y: position[y] for y in others})

    def _owners(self, inputs: Names, outputs: Names) -> Int:
        """Owner of each report, or -1 for a protected one, shape (m,)."""
        require_known(self.sensitive, inputs, "sensitive", "input")
        require_known(self.protected or (), outputs, "protected", "output")
        position = {label: x for x, label in enumerate(inputs)}
        sensitive = set(self.sensitive)
        is_own = {y: y in position and y not in sensitive for y in outputs}
        if self.protected is not None:
            chosen = set(self.protected)
            if unfit := [y for y in outputs if y not in chosen and not is_own[y]]:
                raise _unfit(unfit[0])
            is_own = {y: y not in chosen for y in outputs}
        owner = np.array([position[y] if is_own[y] else -1 for y in outputs], np.int64)
        if (owner >= 0).all() and (silent := sorted(set(range(len(inputs))) - set(owner.tolist()))):
            problem = (
                f"no report is protected, so input {short_repr(inputs[silent[0]])} has "
                "nothing to report"
            )
            raise StatementError(
                problem, code="silent-input", do="add an output, or name a protected one"
            )
        return owner


def _unfit(label: Hashable) -> StatementError:
    problem = (
        f"report {short_repr(label)} is neither protected nor the label of an input that is "
        "not sensitive"
    )
    return StatementError(problem, code="unowned-report", do="add this report to protected")
