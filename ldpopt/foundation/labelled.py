"""Numbers with labels: series, tables and mappings are read by their labels, never by position;
plain arrays are.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.errors import StatementError, shows_values
from ldpopt.foundation.labels import check_labels, is_among, nearest
from ldpopt.foundation.numbers import Float, Int, real_array, short_repr

Labels = tuple[Hashable, ...]

# Names that pandas, polars and arrow give to a column of counts
COUNT_COLUMNS = ("count", "counts", "len", "count_all")


@dataclass(frozen=True, eq=False)
class Labelled:
    """An array, in the order given, and the labels of its axes."""

    values: Float
    axes: tuple[Labels | None, ...]  # of rows, then of columns; None if an axis is read by position
    what: str  # name of the array in messages
    kinds: tuple[str, ...]  # kind of the labels of each axis: "input", "output", ...

    @property
    def has_labels(self) -> bool:
        """Whether any axis has labels."""
        return any(axis is not None for axis in self.axes)

    def to(self, *alphabets: Sequence[Hashable] | None) -> Float:
        """Values with labelled axes in the order of matching alphabets; None leaves an axis
        unchanged.
        """
        values = self.values
        for axis, (labels, alphabet) in enumerate(zip(self.axes, alphabets, strict=False)):
            if labels is not None and alphabet is not None:
                values = values.take(
                    positions_of(labels, alphabet, self.what, self.kinds[axis]), axis
                )
        return values


def read_labelled(given: Any, what: str, kinds: tuple[str, ...] = ("input", "output")) -> Labelled:
    """Read a vector or matrix of real numbers and the labels of its axes, of the given kinds.

    It may be an array, a Series or DataFrame, a mapping label -> number, a mapping or Series of
    such, or a list of mappings. ``what`` is its name in messages.
    """
    plain, (rows, columns) = (
        (given, (None, None)) if type(given) is np.ndarray else take_labels(given, what, kinds)
    )
    values = real_array(plain, what)
    axes = (rows, columns)[: max(1, min(values.ndim, 2))]
    for axis, labels in enumerate(axes):
        if labels is not None and (axis >= values.ndim or len(labels) != values.shape[axis]):
            what = (
                f"the {what} is not a rectangular array of real numbers: its labels do not "
                "fit its shape"
            )
            raise StatementError(
                what, do="give a vector or a matrix with one label for each row and column"
            )
    return Labelled(values, axes, what, kinds)


def take_labels(
    given: Any, what: str, kinds: tuple[str, ...] = ("input", "output")
) -> tuple[Any, tuple[Labels | None, Labels | None]]:
    """Separate rows and columns from their labels; the numbers are not checked."""
    kind = kinds[0]
    column_kind = kinds[-1]
    if _is_table(given):
        index = getattr(given, "index", None)
        rows = None if index is None else distinct_labels(index, what, kind)
        return given.to_numpy(), (rows, distinct_labels(given.columns, what, column_kind))
    rows = None
    if is_labelled(given):
        rows, given = distinct_labels(given.keys(), what, kind), _parts(given)
    if not isinstance(given, (list, tuple)) or not any(map(is_labelled, given)):
        return given, (rows, None)
    if not all(map(is_labelled, given)):
        raise StatementError(
            f"some rows of the {what} have labels and others have none", do="label all rows or none"
        )
    columns = distinct_labels(given[0].keys(), what, column_kind)
    return [_row(part, columns, what, column_kind) for part in given], (rows, columns)


def is_labelled(given: Any) -> bool:
    """Whether the argument is a mapping, a pandas Series or a table."""
    return isinstance(given, Mapping) or is_series(given) or _is_table(given)


def is_series(given: Any) -> bool:
    """Whether the argument is a pandas Series: numbers or labels, each with a label of its own."""
    return hasattr(given, "to_numpy") and hasattr(given, "index") and getattr(given, "ndim", 0) == 1


def _is_table(given: Any) -> bool:
    return hasattr(given, "to_numpy") and hasattr(given, "columns")


def _parts(given: Any) -> Any:
    """Entries of a mapping or Series, in order."""
    if isinstance(given, Mapping):
        return list(given.values())
    values = given.to_numpy()
    return list(values) if values.dtype == object else values


def _row(part: Any, columns: Labels, what: str, kind: str) -> list[Any]:
    values = _parts(part)
    labels = distinct_labels(part.keys(), what, kind)
    return [values[position] for position in positions_of(labels, columns, what, kind)]


def distinct_labels(names: Any, what: str, kind: str) -> Labels:
    """Labels as a tuple of distinct hashable values; numpy scalars become plain values."""
    raw = names.tolist() if hasattr(names, "tolist") else list(names)
    return check_labels(raw, len(raw), kind, StatementError, f"the {what}")


def positions_of(
    labels: Sequence[Hashable], alphabet: Sequence[Hashable], what: str, kind: str
) -> Int:
    """Position of each letter of the alphabet among the labels; refuse labels and letters without a
    match.
    """
    position = {label: index for index, label in enumerate(labels)}
    known = set(alphabet)
    for label in labels:
        if label not in known:
            wrong = f"the {what} names {short_repr(label)}, which is not an {kind}"
            raise StatementError(wrong, do=_advice(label, labels, alphabet))
    for label in alphabet:
        if label not in position:
            wrong = f"the {what} has no entry for {kind} {short_repr(label)}"
            raise StatementError(wrong, do=f"add the entry, or leave this {kind} out")
    return np.fromiter((position[label] for label in alphabet), np.int64, len(alphabet))


def _advice(label: Hashable, labels: Sequence[Hashable], alphabet: Sequence[Hashable]) -> str:
    """What to do about an unknown label; labels 0, 1, 2, ... are perhaps only the numbers of
    rows.
    """
    if tuple(labels) == tuple(range(len(labels))):
        return (
            f"label it by {nearest('', alphabet)}; or pass .to_numpy(), which is read by position"
        )
    return nearest(label, alphabet)


def same_labels(one: Sequence[Hashable] | None, other: Sequence[Hashable] | None) -> bool:
    """Whether both have the same labels, in any order."""
    return (
        one is not None and other is not None and len(one) == len(other) and set(one) == set(other)
    )


def as_counts(given: Any, alphabet: Sequence[Hashable], kind: str) -> Mapping[Hashable, Any] | None:
    """Distinguish counts by label from a list of labels: return label -> count, or None for a list
    of labels.
    """
    # A mapping holds counts. The labels of a Series may be its values, or its index
    # (value_counts()); a Series that can be read both ways is refused.
    if isinstance(given, Mapping):
        return given
    if not is_series(given):
        return _counted_table(given, kind)
    if (
        len(given) > len(alphabet)
        and getattr(given.index, "step", None) == 1
        and given.name != "count"
    ):
        return None  # the index is row numbers: there are more rows than labels
    known = set(alphabet)
    index = given.index.tolist()
    values = given.to_list()
    if any(isinstance(value, str) for value in values):
        return None  # texts are not counts
    names_labels = any(is_among(label, known) for label in index)
    is_counted = getattr(given, "name", None) == "count"  # the name that value_counts() gives
    if all(is_among(value, known) for value in values):
        if values and (is_counted or (names_labels and len(index) <= len(alphabet))):
            what = f"the Series could hold {kind}s, or counts of the {kind}s in its index"
            raise StatementError(
                what, do=f"pass dict(series) for counts, series.to_list() for {kind}s"
            )
        return None
    has_row_numbers = len(index) > len(alphabet) and index == list(range(len(index)))
    return (
        _by_label(index, values, kind)
        if is_counted or (names_labels and not has_row_numbers)
        else None
    )


def _counted_table(given: Any, kind: str) -> Mapping[Hashable, Any] | None:
    """Counts by label from the result of ``value_counts()`` in polars or arrow; None for anything
    else.
    """
    fields = getattr(getattr(given, "type", None), "fields", None)  # of an arrow array of structs
    if fields is not None and [field.name for field in fields] == ["values", "counts"]:
        labels = given.field(0).to_pylist()
        counts = given.field(1).to_pylist()
    elif not hasattr(given, "columns"):
        return None
    else:
        from ldpopt.foundation.optional import narwhals as nw

        frame = nw.from_native(given, pass_through=True, eager_only=True)
        names = list(frame.columns)
        counting = [name for name in names if name in COUNT_COLUMNS]
        if len(names) != 2 or len(counting) != 1:
            what = f"a table with the columns {short_repr(names)} is not counts by {kind}"
            do = (
                f"pass table['NAME'] for {kind}s, or give column= to Counts.of; or labels "
                "and 'count'"
            )
            raise StatementError(what, do=do)
        (of,) = (name for name in names if name not in counting)
        labels = frame[of].to_list()
        counts = frame[counting[0]].to_list()
    return _by_label(labels, counts, kind)


def _by_label(labels: Sequence[Any], counts: Sequence[Any], kind: str) -> Mapping[Hashable, Any]:
    """Counts by label; the message about a duplicate does not quote it, since it may be an
    answer.
    """
    try:
        return dict(zip(distinct_labels(labels, "counts", kind), counts, strict=True))
    except StatementError:
        if shows_values():
            raise
    what = f"a {kind} label occurs twice, or is not a label"
    raise StatementError(what, where="the counts", do="give each label once")
