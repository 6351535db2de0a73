"""Channels that users pass: read, checked, and identified by a hash."""

import hashlib
import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.exact_matrices import require_matrix
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.display import Table, label
from ldpopt.foundation.labelled import read_labelled
from ldpopt.foundation.labels import Names, check_labels
from ldpopt.foundation.numbers import Float

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
        for given, kind in ((inputs, "input"), (outputs, "output")):
            if given is not None and table.has_labels:
                check_labels(given, len(given), kind)
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
    found = hashlib.sha256(f"{kind}\n".encode())
    for alphabet in labels:
        text = "".join(f"{_text(name)}\n" for name in alphabet)
        found.update(f"{text}--\n".encode("utf-8", "surrogatepass"))
    for number in numbers:
        found.update(
            number.astype("<i8").tobytes()
            if isinstance(number, np.ndarray)
            else f"{number}\n".encode()
        )
    return found.hexdigest()


def _text(name: Hashable) -> str:
    """Return the same text for labels that are equal, such as 1, 1.0 and True."""
    if isinstance(name, int):
        return str(int(name))
    if isinstance(name, float) and math.isfinite(name):
        return str(Fraction(name))
    return repr(name)


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
        rest = (
            f"{others} others {probability_text(max(0.0, 1.0 - float(row[order].sum())))}"
            if others
            else ""
        )
        rows.append([label(name), ", ".join(named), rest])
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
