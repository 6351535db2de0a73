"""The rule of a frequency protocol: all that a new protocol writes."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import check_labels, codes, read_positions
from ldpopt.foundation.numbers import Float, is_whole, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import BITS, Random
from ldpopt.privacy import PureLDP

Positions = NDArray[np.int64]


def is_budget(value: Any) -> bool:
    """Whether it can only be meant as a budget: a number that is not whole by its type, or the
    text of one.
    """
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, str):
        with suppress(StatementError):
            return Budget(value) >= 0
        return False
    return isinstance(value, (float, np.floating, Fraction, Decimal))


def is_labels(value: Any) -> bool:
    """Whether it can only be meant as labels: several values, which are no text."""
    is_sized = hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0
    return is_sized and not isinstance(value, (str, bytes))


class Rule(ABC):
    """How one answer becomes a report, which labels a report supports, and how private it is.

    A new protocol is a `FrequencyProtocol` that writes what follows; estimates, intervals and the
    audit are computed from it alone.

    1. `p` and `q`, set by its constructor: the exact probabilities of the draws that a report
       supports the true label, and any other one. The constructor ends with
       `_require_distinguishable`.
    2. `_randomize` draws reports; `_support` counts the reports that support each label.
    3. `_ratio`, `_delta` and `_witness`: the largest ratio of the probabilities of a report under
       two labels, the hockey-stick divergence of two labels, and a report that attains the ratio.
       By symmetry they are the same for every two labels.

    It may also write `bits`, the length of a report, and `mechanism`, the channel, which is
    refused by default; `_channel` makes it from a matrix.
    """

    # whether a report takes one random word for each label
    draws_each_label: ClassVar[bool] = False
    # attributes in the text of a protocol, beside labels and budget
    _shown: ClassVar[tuple[str, ...]] = ()
    inputs: Sequence[Hashable]
    p: Fraction
    q: Fraction

    def __init__(self, inputs: int | Sequence[Hashable], epsilon: float | str) -> None:
        self._require_order(inputs, epsilon)
        self.epsilon = Budget.positive(epsilon)
        is_number = is_whole(inputs, most=sys.maxsize)
        if not is_number and (
            isinstance(inputs, str)
            or not hasattr(inputs, "__len__")
            or not getattr(inputs, "ndim", 1)
        ):
            problem = f"inputs = {short_repr(inputs)} are not labels"
            raise StatementError(
                problem, code="labels", do="pass a list of labels, or their number"
            )
        size = int(inputs) if is_number else len(inputs)  # type: ignore[arg-type]
        if size < 2:
            raise StatementError(
                f"{size} labels: at least two are needed", code="few-labels", do="pass more labels"
            )
        if is_number:
            self.inputs = range(size)
        else:
            self.inputs = check_labels(inputs, size, "input")  # type: ignore[arg-type]

    def __repr__(self) -> str:
        more = "".join(f", {name}={getattr(self, name)!r}" for name in self._shown)
        return f"{type(self).__name__}({len(self.inputs)} labels, epsilon={self.epsilon!r}{more})"

    def _require_order(self, inputs: Any, epsilon: Any) -> None:
        """Refuse a budget in the place of the labels, or labels in the place of the budget."""
        if not is_budget(inputs) and (is_labels(inputs) or not is_labels(epsilon)):
            return
        kind = type(self).__name__
        raise StatementError(
            f"{kind}({short_repr(inputs)}, {short_repr(epsilon)}) has a budget in place of the "
            "labels, or labels in place of the budget",
            code="exchanged",
            do=f"pass the labels or their number first: {kind}(labels, epsilon)",
        )

    @abstractmethod
    def _randomize(self, answers: Positions, rng: Random) -> NDArray[Any]:
        """Draw the reports of answers, which are given as positions."""

    @abstractmethod
    def _support(self, reports: Any, weights: Float | None) -> tuple[Any, int]:
        """Return the number of reports that support each label, or the sum of their weights, and
        that of reports.
        """

    @abstractmethod
    def _ratio(self) -> Fraction:
        """Return the largest ratio of the probabilities of a report under two labels."""

    @abstractmethod
    def _delta(self, alpha: Fraction) -> Fraction:
        """Return the hockey-stick divergence of two labels at the ratio ``alpha``, before it is
        clipped at 0.
        """

    @abstractmethod
    def _witness(self) -> Any:
        """Return a report that attains the ratio for the first two labels."""

    @property
    def bits(self) -> int:
        """Bits of a report in its shortest code."""
        return len(self.inputs)

    @property
    def mechanism(self) -> Mechanism:
        """The channel, exactly private, if its reports are few enough to list."""
        problem = f"{self!r} has too many possible reports to list"
        raise NotRepresentableError(
            problem, code="channel", do="use privatize and estimate, which need no channel"
        )

    def _channel(self, channel: Float, outputs: Sequence[Hashable]) -> Mechanism:
        """Round a channel to integer masses that keep the budget."""
        from ldpopt.mechanism.repair import repair

        return repair(channel, PureLDP(self.epsilon), inputs=self.inputs, outputs=outputs).mechanism

    def _codes(self, x: Any, kind: str) -> Positions:
        """Return the positions of labels; labels 0 .. d-1 are their own positions."""
        if isinstance(self.inputs, range):
            return read_positions(x, len(self.inputs), kind)
        return codes(x, self.inputs, kind)

    def _require_distinguishable(self) -> None:
        """Refuse a budget so small that ``p`` and ``q`` are equal in 53-bit words."""
        if not self.p > self.q:
            problem = (
                f"epsilon = {self.epsilon!r} is too small for words of {BITS} bits and "
                f"{len(self.inputs)} labels"
            )
            raise StatementError(
                problem, code="small-budget", do="pass a larger epsilon or fewer labels"
            )
