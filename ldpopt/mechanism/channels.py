"""Channels that users pass: read, checked, identified by a hash, and held as exact masses."""

import hashlib
import math
from collections.abc import Hashable, Iterable
from dataclasses import FrozenInstanceError
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.exact_matrices import require_matrix, require_stochastic
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.display import Table, label
from ldpopt.foundation.documents import plain_labels
from ldpopt.foundation.labelled import read_labelled
from ldpopt.foundation.labels import Names, check_labels, listed
from ldpopt.foundation.numbers import Float, frozen
from ldpopt.mechanism.sampling import BITS, round_rows

MAX_SHOWN = 20  # largest number of rows and columns of a channel that is shown as a table
MAX_LIKELIEST = 3  # number of reports of each answer that are shown of a larger channel


def read_channel(
    channel: Any, inputs: Names | None, outputs: Names | None
) -> tuple[Float, tuple[Hashable, ...], tuple[Hashable, ...]]:
    """The numbers of a channel and its labels: those given, into whose order it is put, its own, or
    positions.
    """
    try:
        table = read_labelled(channel, "channel")
        rows, columns = (*table.axes, None)[:2]
        for labels, kind in ((inputs, "input"), (outputs, "output")):
            if labels is not None and not hasattr(labels, "__len__"):
                raise StatementError(
                    f"the {kind}s are not a list", code="list", do="pass a list of labels"
                )
            if labels is not None and table.has_labels:
                check_labels(labels, len(labels), kind)
        values = table.to(inputs, outputs)
    except StatementError as error:
        raise error.restated(MechanismError) from None
    require_matrix(values)
    n, m = values.shape
    names = check_labels(rows if inputs is None else inputs, n, "input")
    reports: Names | None = columns if outputs is None else outputs
    return (
        values,
        names,
        check_labels(names if reports is None and m == n else reports, m, "output"),
    )


def digest(
    kind: str,
    labels: Iterable[Iterable[Hashable]],
    numbers: Iterable[Fraction | int | NDArray[Any]],
) -> str:
    """Return the SHA-256 of alphabets and exact numbers in hexadecimal digits, the same on every
    machine.
    """
    sha = hashlib.sha256(f"{kind}\n".encode())
    for alphabet in labels:
        text = "".join(f"{_text(name)}\n" for name in alphabet)
        sha.update(f"{text}--\n".encode("utf-8", "surrogatepass"))
    for number in numbers:
        sha.update(
            number.astype("<i8").tobytes()
            if isinstance(number, np.ndarray)
            else f"{number}\n".encode()
        )
    return sha.hexdigest()


def _text(name: Hashable) -> str:
    """Return the same text for labels that are equal, such as 1, 1.0 and True."""
    if isinstance(name, int):
        return str(int(name))
    if isinstance(name, float) and math.isfinite(name):
        return str(Fraction(name))
    return repr(name)


class Channel:
    r"""A row-stochastic array with labels, and the integer masses by which it is sampled.

    The facts of a `Mechanism`, without its verbs: the array ``channel[x, y] = Pr(report y | answer
    x)`` is what the user or a solver gave, and `counts` are the masses over ``2**53`` that are
    drawn. Files, digests and audits need no more than this.

    It is frozen, so that it is its own copy, and equal to another one if labels and channels are.

    Parameters
    ----------
    channel : array_like, shape (n, m), or DataFrame or mapping of mappings
        Probabilities, as for `Mechanism`.
    inputs, outputs : sequence of hashable, optional
        Labels, as for `Mechanism`.

    Raises
    ------
    MechanismError
        If it is not row-stochastic, or the labels do not fit.
    """

    channel: Float
    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    notes: tuple[str, ...] = ()  # what `private` changed

    def __init__(
        self, channel: Any, inputs: Names | None = None, outputs: Names | None = None
    ) -> None:
        values, names, reports = read_channel(channel, inputs, outputs)
        require_stochastic(values)
        # `__setattr__` refuses every assignment: the fields are set once, here
        object.__setattr__(self, "channel", frozen(values))
        object.__setattr__(self, "inputs", names)
        object.__setattr__(self, "outputs", reports)

    @classmethod
    def _of_counts(
        cls, counts: NDArray[np.int64], inputs: tuple[Hashable, ...], outputs: tuple[Hashable, ...]
    ) -> Self:
        """The channel of masses over ``2**53`` and of labels that are read already: the masses are
        compared with the definition, in integers, and the labels are not.
        """
        total = 1 << BITS
        if np.count_nonzero(counts < 0) or np.count_nonzero(counts.sum(axis=1) != total):
            raise MechanismError(
                "the masses of a row are negative, or do not sum to 2**53",
                code="masses",
                do="round the channel with round_rows",
            )
        made = cls.__new__(cls)
        object.__setattr__(made, "channel", frozen(counts / total))
        object.__setattr__(made, "inputs", inputs)
        object.__setattr__(made, "outputs", outputs)
        object.__setattr__(made, "counts", frozen(counts))
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(
            f"a {type(self).__name__} is frozen: {name!r} cannot be set; make a new "
            f"{type(self).__name__}(channel)"
        )

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"a {type(self).__name__} is frozen: {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        """Whether both have the same labels in the same order and the same channel, and so the same
        masses.
        """
        if not isinstance(other, Channel):
            return NotImplemented
        same_labels = (self.inputs, self.outputs) == (other.inputs, other.outputs)
        return same_labels and np.array_equal(self.channel, other.channel)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.inputs, self.outputs, (self.channel + 0.0).tobytes()))  # -0.0 equals 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            type(self),
            (self.channel, self.inputs, self.outputs),
            {"notes": self.notes} if self.notes else None,
        )

    def __copy__(self, memo: Any = None) -> Self:
        return self

    __deepcopy__ = __copy__

    def __repr__(self) -> str:
        n, m = self.channel.shape
        return (
            f"{type(self).__name__}({n} inputs, {m} outputs, inputs={listed(self.inputs)}, "
            f"outputs={listed(self.outputs)})"
        )

    @property
    def denominator(self) -> int:
        """``2**53``, the sum of the masses of a row."""
        return 1 << BITS

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The masses as an int64 array, for arithmetic that cannot overflow."""
        return frozen(round_rows(self.channel))

    @property
    def masses(self) -> NDArray[np.object_]:
        """Integer masses, shape ``(n, m)`` of Python ints; a row sums to exactly `denominator`."""
        return frozen(self.counts.astype(object))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of labels and masses, by which files of reports and counts are recognized."""
        return digest("mechanism", (self.inputs, self.outputs), (self.counts,))

    @property
    def odds(self) -> Fraction | None:
        """Largest ratio of the probabilities of a report under two inputs, exactly; None if it is
        unbounded.
        """
        ratios = [
            (int(column.max()), int(column.min())) for column in self.counts.T if column.any()
        ]
        return (
            max(Fraction(*pair) for pair in ratios) if all(least for _, least in ratios) else None
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the keys inputs, outputs and channel, with plain Python values."""
        labels = {"inputs": plain_labels(self.inputs), "outputs": plain_labels(self.outputs)}
        return {**labels, "channel": self.channel.tolist()}


def channel_table(channel: Float, inputs: Names, outputs: Names) -> Table:
    """Return the channel as a table; of a large one the likeliest reports of the first answers."""
    n, m = channel.shape
    likeliest = _likeliest_reports(channel, inputs, outputs)
    if max(n, m) > MAX_SHOWN:
        return likeliest
    rows = [
        [label(name), *map(probability_text, row)]
        for name, row in zip(inputs, channel.tolist(), strict=True)
    ]
    return Table(
        ["answer", *map(label, outputs)], rows, f"P(report | answer), {n} x {m}", narrow=likeliest
    )


def _likeliest_reports(channel: Float, inputs: Names, outputs: Names) -> Table:
    """Return the likeliest reports of the first answers, and the probability of all other reports
    together.
    """
    n, m = channel.shape
    rows = []
    for name, row in zip(inputs[:MAX_SHOWN], channel, strict=False):
        order = row.argsort(kind="stable")[::-1][:MAX_LIKELIEST]
        named = [
            f"{label(outputs[y])}: {probability_text(float(row[y]))}" for y in order if row[y] > 0
        ]
        others = int((row > 0).sum()) - len(named)
        together = (
            f"{others} others {probability_text(max(0.0, 1.0 - float(row[order].sum())))}"
            if others
            else ""
        )
        rows.append([label(name), ", ".join(named), together])
    if n > MAX_SHOWN:
        rows.append(["...", f"and {n - MAX_SHOWN} answers more", ""])
    title = f"P(report | answer), {n} x {m}, {int(channel.any(axis=0).sum())} reports in use"
    return Table(
        ["answer", "likeliest reports", "together"],
        rows,
        title,
        words=("likeliest reports", "together"),
    )


def probability_text(p: float, digits: int = 4) -> str:
    """Some digits of a probability; of a small one, one digit and the power of ten."""
    return "0" if p == 0 else "1" if p == 1 else f"{p:.{digits}f}" if p >= 5e-4 else f"{p:.0e}"
