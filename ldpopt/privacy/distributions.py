"""Distributions of answers that are part of a notion: read exactly, and in the order of the inputs.

A number means the decimal that a person writes for it: ``0.6`` is 6/10, and ``"1/3"`` is a third.
Distributions are divided by their sums in rationals, so that averages of a constant column are
equal, which exact repairs rely on.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Set
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isfinite
from typing import Any, Self

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, decimal_of
from ldpopt.foundation.labelled import Labels, positions_of, take_labels
from ldpopt.foundation.labels import Names, check_labels, read_alphabet
from ldpopt.foundation.numbers import Float, rational, require_room, shaped_array, short_repr
from ldpopt.privacy.notion import ConeNotion
from ldpopt.privacy.plain import Table, as_label, at_key, plain_budget, read_table, required
from ldpopt.privacy.sentences import DEPENDS, IMPOSSIBLE, NotionFacts, as_note

# largest distance from 1 of the sum of probabilities without labels, as for a problem's prior
SUM_TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True)
class Distribution:
    """Probabilities of answers, exactly; without labels they are read by position."""

    weights: tuple[Fraction, ...]
    labels: Labels | None = None

    @classmethod
    def read(cls, values: Any, name: str) -> Distribution:
        """Read probabilities, or weights by label.

        Numbers without labels sum to 1 within 1e-9, weights by label have any positive sum; both
        are divided by it.

        Raises
        ------
        StatementError
            If there are no numbers, one is negative or not a number, the sum is 0, or that of
            numbers without labels is not 1.
        """
        if isinstance(values, Distribution):
            return values
        require_room(values, name)
        plain, (labels, _) = take_labels(values, name, ("input",))
        is_unordered = isinstance(plain, (str, bytes, Set)) or getattr(plain, "ndim", 1) == 0
        if is_unordered or not hasattr(plain, "__len__") or not len(plain):
            raise StatementError(
                f"the {name} {short_repr(values)} has no weights",
                code="distribution",
                do='give weights by label, such as {"yes": 1, "no": 9}',
            )
        weights = [exact_weight(weight, name) for weight in plain]
        total = sum(weights, Fraction(0))
        if labels is None and abs(total - 1) > SUM_TOLERANCE:
            shown = f"{float(total):.12g}" if total < sys.float_info.max else "more than 1e308"
            raise StatementError(
                f"the {name} sums to {shown}, not 1",
                code="sum",
                do="divide the numbers by their sum, or give weights by label",
            )
        if not total:
            raise StatementError(
                f"all weights of the {name} are 0", code="zero-weights", do="give positive weights"
            )
        return cls(tuple(weight / total for weight in weights), labels)

    @classmethod
    def of_prior(cls, prior: Float, inputs: Names) -> Distribution:
        """The prior of a problem, its floats read exactly and divided by their sum."""
        labels = tuple(read_alphabet(inputs))
        numbers = shaped_array(prior, "prior", len(labels))
        if not (np.isfinite(numbers) & (numbers >= 0)).all() or not numbers.any():
            raise StatementError(
                "the prior is not one of finite numbers >= 0 with a positive sum",
                code="prior",
                do="bind the prior of a problem",
            )
        weights = [Fraction(weight) for weight in numbers.tolist()]
        total = sum(weights, Fraction(0))
        return cls(tuple(weight / total for weight in weights), labels)

    def to(self, inputs: Names, name: str) -> tuple[Fraction, ...]:
        """The probabilities in the order of the inputs; other labels or numbers are refused."""
        inputs = read_alphabet(inputs)
        if self.labels is not None:
            order = positions_of(self.labels, inputs, name, "input")
            return tuple(self.weights[position] for position in order.tolist())
        if len(self.weights) != len(inputs):
            raise StatementError(
                f"the {name} has {len(self.weights)} entries for {len(inputs)} inputs",
                code="entries",
                do="give one entry for each input",
            )
        return self.weights

    def average(self, inputs: Names, name: str) -> dict[int, Fraction]:
        """The positive probabilities by position of the input."""
        weights = self.to(inputs, name)
        return {x: weight for x, weight in enumerate(weights) if weight}

    def to_plain(self) -> Any:
        """Numbers as files hold them: a table by label if the labels are texts, else a list of
        pairs or of numbers.
        """
        numbers = [plain_number(weight) for weight in self.weights]
        if self.labels is None:
            return numbers
        if all(isinstance(label, str) for label in self.labels):
            return dict(zip(self.labels, numbers, strict=True))
        return [[label, number] for label, number in zip(self.labels, numbers, strict=True)]

    @classmethod
    def from_plain(cls, values: Any, name: str, inputs: Names) -> Distribution:
        """Read what `to_plain` wrote, or a user: a table by label, pairs of label and weight, or
        numbers.

        Keys of a table are texts, also those of labels that are numbers.
        """
        if isinstance(values, dict):
            return cls.read(by_labels(values, inputs), name)
        is_pairs = isinstance(values, list) and any(isinstance(part, list) for part in values)
        if not is_pairs:
            return cls.read(values, name)
        if not all(isinstance(part, list) and len(part) == 2 for part in values):
            raise StatementError(
                f"the {name} is neither a list of numbers nor of pairs of label and weight",
                code="weight-pairs",
                do='write { yes = 0.6, no = 0.4 }, or [["yes", 0.6], ["no", 0.4]]',
            )
        names = [as_label(part[0]) for part in values]
        labels = check_labels(names, len(values), "input", StatementError)
        return cls.read(dict(zip(labels, (part[1] for part in values), strict=True)), name)


def by_labels(table: dict[Any, Any], inputs: Names) -> dict[Any, Any]:
    """A table of a file with labels for keys: texts that stand for labels that are numbers."""
    labels = read_alphabet(inputs)
    known = set(labels)
    numbers = {str(label): label for label in labels if not isinstance(label, str)}
    return {key if key in known else numbers.get(key, key): part for key, part in table.items()}


def exact_weight(weight: Any, name: str) -> Fraction:
    """A weight >= 0 exactly; a float means the decimal that a person writes for it."""
    number = weight.item() if isinstance(weight, np.generic) else weight
    exact = decimal_of(number) if type(number) is float and isfinite(number) else number
    return rational(exact, f"a weight of the {name}", "weight", 0, inf)


def plain_number(number: Fraction) -> float | str:
    """A number if its decimal means exactly the rational, else the text of its fraction."""
    decimal = float(number)
    return decimal if decimal_of(decimal) == number else str(number)


@dataclass(frozen=True)
class PriorNotion(ConeNotion):
    """A notion whose definition has a prior: the one that is stated, else that of the problem.

    A problem binds its prior to the notion (`bound_to`), so that nobody writes the same prior
    twice: a sweep over priors, or a front, has a notion of each of its priors. The constructor of a
    problem is the only one that binds, and a copy of a problem with another prior binds again. A
    notion with a stated prior keeps it: the prior of an adversary may differ from that of the
    survey. Where there is neither, as for a worst case, the notion means nothing, and is refused.
    """

    epsilon: Budget
    prior: Distribution | None = None
    bound: Distribution | None = field(default=None, init=False, repr=False)
    """The prior of the problem; it counts when two notions are compared."""

    def __init__(self, epsilon: float | str, prior: Any = None) -> None:
        object.__setattr__(self, "epsilon", Budget.positive(epsilon))
        stated = None if prior is None else Distribution.read(prior, "prior of the notion")
        object.__setattr__(self, "prior", stated)
        object.__setattr__(self, "bound", None)

    def __repr__(self) -> str:
        prior = "" if self.prior is None else f", prior={self.prior.to_plain()!r}"
        return f"{type(self).__name__}({self.epsilon!r}{prior})"

    @property
    def alphabet(self) -> tuple[Hashable, ...] | None:
        """The labels of the stated prior, in its order."""
        source = self.bound if self.prior is None else self.prior
        return None if source is None else source.labels

    @property
    def known_inputs(self) -> tuple[Hashable, ...] | None:
        """The labels of the prior, or as many positions as it has numbers."""
        if self.alphabet is not None or self.prior is None:
            return self.alphabet
        return tuple(range(len(self.prior.weights)))

    def bound_to(self, prior: Float | None, inputs: Names) -> Self:
        """A copy with the prior of a problem; without one, an earlier one is forgotten."""
        copy = type(self)(self.epsilon, self.prior)
        if prior is not None and self.prior is None:
            object.__setattr__(copy, "bound", Distribution.of_prior(prior, inputs))
        return copy

    def standing_alone(self) -> Self:
        """The notion with the prior that it uses as the stated one."""
        return self if self.bound is None else type(self)(self.epsilon, self.bound)

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse a prior of other inputs, and a notion without any."""
        self.weights(inputs)

    def weights(self, inputs: Names) -> tuple[Fraction, ...]:
        """The prior's probabilities in the order of the inputs, with the sum 1."""
        return self._distribution().to(inputs, "prior of the notion")

    def _distribution(self) -> Distribution:
        source = self.bound if self.prior is None else self.prior
        if source is None:
            raise StatementError(
                f"{type(self).__name__} depends on a prior, and neither the notion nor the problem "
                "states one",
                code="notion-prior",
                do="give the notion its prior: {label: weight}",
            )
        return source

    def notes(self, inputs: Names) -> tuple[str, ...]:
        """Whose prior it is, and which answers it rules out."""
        facts = NotionFacts(self, inputs)
        notes = [text for topic in (DEPENDS, IMPOSSIBLE) if (text := as_note(topic.say(facts)))]
        if self.prior is not None:
            notes.append("the prior of the notion is stated, and need not be that of the problem")
        return tuple(notes)

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """Epsilon and the stated prior; the prior of a problem is in the problem's own part."""
        stated = {} if self.prior is None else {"prior": self.prior.to_plain()}
        return {"epsilon": plain_budget(self.epsilon)} | stated

    @classmethod
    def from_plain(cls, table: Table, inputs: Names) -> Self:
        """Read epsilon, and a prior that is stated."""
        prior = read_table(table).get("prior")
        if prior is None:
            return cls(required(table, "epsilon"))
        with at_key("prior"):
            stated = Distribution.from_plain(prior, "prior of the notion", inputs)
            stated.to(inputs, "prior of the notion")
        return cls(required(table, "epsilon"), stated)

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """A prior with the weights n, ..., 1."""
        labels = read_alphabet(inputs)
        weights = range(len(labels), 0, -1)
        return cls(epsilon, dict(zip(labels, weights, strict=True)))
