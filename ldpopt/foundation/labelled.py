"""Numbers with labels: series, tables and mappings are read by their labels, never by position;
plain arrays are.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
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
    name: str  # in messages, such as "utility"
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
                    positions_of(labels, alphabet, self.name, self.kinds[axis]), axis
                )
        return values


def read_labelled(source: Any, name: str, kinds: tuple[str, ...] = ("input", "output")) -> Labelled:
    """Read a vector or matrix of real numbers and the labels of its axes, of the given kinds.

    It may be an array, a Series or DataFrame, a mapping label -> number, a mapping or Series of
    such, or a list of mappings. ``name`` is its name in messages.
    """
    plain, (rows, columns) = (
        (source, (None, None)) if type(source) is np.ndarray else take_labels(source, name, kinds)
    )
    values = real_array(plain, name)
    axes = (rows, columns)[: max(1, min(values.ndim, 2))]
    for axis, labels in enumerate(axes):
        if labels is not None and (axis >= values.ndim or len(labels) != values.shape[axis]):
            name = (
                f"the {name} is not a rectangular array of real numbers: its labels do not "
                "fit its shape"
            )
            raise StatementError(
                name,
                code="label-count",
                do="give a vector or a matrix with one label for each row and column",
            )
    return Labelled(values, axes, name, kinds)


def take_labels(
    source: Any, name: str, kinds: tuple[str, ...] = ("input", "output")
) -> tuple[Any, tuple[Labels | None, Labels | None]]:
    """Separate rows and columns from their labels; the numbers are not checked."""
    kind = kinds[0]
    column_kind = kinds[-1]
    if _is_table(source):
        index = getattr(source, "index", None)
        rows = None if index is None else distinct_labels(index, name, kind)
        return source.to_numpy(), (rows, distinct_labels(source.columns, name, column_kind))
    rows = None
    if is_labelled(source):
        rows, source = distinct_labels(source.keys(), name, kind), _parts(source)
    if not isinstance(source, (list, tuple)) or not any(map(is_labelled, source)):
        return source, (rows, None)
    if not all(map(is_labelled, source)):
        raise StatementError(
            f"some rows of the {name} have labels and others have none",
            code="partial-labels",
            do="label all rows or none",
        )
    columns = distinct_labels(source[0].keys(), name, column_kind)
    return [_row(part, columns, name, column_kind) for part in source], (rows, columns)


def is_labelled(source: Any) -> bool:
    """Whether the argument is a mapping, a pandas Series or a table."""
    return isinstance(source, Mapping) or is_series(source) or _is_table(source)


def is_series(source: Any) -> bool:
    """Whether the argument is a pandas Series: numbers or labels, each with a label of its own."""
    return (
        hasattr(source, "to_numpy") and hasattr(source, "index") and getattr(source, "ndim", 0) == 1
    )


def _is_table(source: Any) -> bool:
    return hasattr(source, "to_numpy") and hasattr(source, "columns")


def _parts(source: Any) -> Any:
    """Entries of a mapping or Series, in order."""
    if isinstance(source, Mapping):
        return list(source.values())
    values = source.to_numpy()
    return list(values) if values.dtype == object else values


def _row(part: Any, columns: Labels, name: str, kind: str) -> list[Any]:
    values = _parts(part)
    labels = distinct_labels(part.keys(), name, kind)
    return [values[position] for position in positions_of(labels, columns, name, kind)]


def distinct_labels(names: Any, name: str, kind: str) -> Labels:
    """Labels as a tuple of distinct hashable values; numpy scalars become plain values."""
    raw = names.tolist() if hasattr(names, "tolist") else names
    if not isinstance(raw, Iterable):
        raise StatementError(
            f"{short_repr(names)} is not a list of {kind}s", code="list", do="pass a list of labels"
        )
    raw = list(raw)
    return check_labels(raw, len(raw), kind, StatementError, f"the {name}")


def positions_of(
    labels: Sequence[Hashable], alphabet: Sequence[Hashable], name: str, kind: str
) -> Int:
    """Position of each letter of the alphabet among the labels; refuse labels and letters without a
    match.
    """
    position = {label: index for index, label in enumerate(labels)}
    known = set(alphabet)
    for label in labels:
        if label not in known:
            wrong = f"the {name} names {short_repr(label)}, which is none of the {kind}s"
            raise StatementError(wrong, code="unknown-label", do=_advice(label, labels, alphabet))
    for label in alphabet:
        if label not in position:
            wrong = f"the {name} has no entry for {kind} {short_repr(label)}"
            raise StatementError(
                wrong, code="missing-label", do=f"add the entry, or leave this {kind} out"
            )
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


def same_labels(first: Sequence[Hashable] | None, second: Sequence[Hashable] | None) -> bool:
    """Whether both have the same labels, in any order."""
    return (
        first is not None
        and second is not None
        and len(first) == len(second)
        and set(first) == set(second)
    )


def as_counts(
    source: Any, alphabet: Sequence[Hashable], kind: str
) -> Mapping[Hashable, Any] | None:
    """Distinguish counts by label from a list of labels: return label -> count, or None for a list
    of labels.
    """
    # A mapping holds counts. The labels of a Series may be its values, or its index
    # (value_counts()); a Series that can be read both ways is refused.
    if isinstance(source, Mapping):
        return source
    if not is_series(source):
        return _counted_table(source, kind)
    if (
        len(source) > len(alphabet)
        and getattr(source.index, "step", None) == 1
        and source.name != "count"
    ):
        return None  # the index is row numbers: there are more rows than labels
    known = set(alphabet)
    index = source.index.tolist()
    values = source.to_list()
    if any(isinstance(value, str) for value in values):
        return None  # texts are not counts
    names_labels = any(is_among(label, known) for label in index)
    is_counted = getattr(source, "name", None) == "count"  # the name that value_counts() gives
    if all(is_among(value, known) for value in values):
        if values and (is_counted or (names_labels and len(index) <= len(alphabet))):
            problem = f"the Series could hold {kind}s, or counts of the {kind}s in its index"
            raise StatementError(
                problem,
                code="series",
                do=f"pass dict(series) for counts, series.to_list() for {kind}s",
            )
        return None
    has_row_numbers = len(index) > len(alphabet) and index == list(range(len(index)))
    return (
        _by_label(index, values, kind)
        if is_counted or (names_labels and not has_row_numbers)
        else None
    )


def _counted_table(source: Any, kind: str) -> Mapping[Hashable, Any] | None:
    """Counts by label from the result of ``value_counts()`` in polars or arrow; None for anything
    else.
    """
    fields = getattr(getattr(source, "type", None), "fields", None)  # of an arrow array of structs
    if fields is not None and [field.name for field in fields] == ["values", "counts"]:
        labels = source.field(0).to_pylist()
        counts = source.field(1).to_pylist()
    elif not isinstance(getattr(source, "columns", None), Iterable):
        return None
    else:
        from ldpopt.foundation.optional import narwhals as nw

        try:
            frame = nw.from_native(source, pass_through=True, eager_only=True)
        except nw.exceptions.DuplicateError:
            raise StatementError(
                f"the table has a column name twice: it is not counts by {kind}",
                code="duplicate-column",
                do="rename a column",
            ) from None
        if not isinstance(frame, nw.DataFrame):
            return None
        names = list(frame.columns)
        counting = [name for name in names if name in COUNT_COLUMNS]
        if len(names) != 2 or len(counting) != 1:
            problem = f"a table with the columns {short_repr(names)} is not counts by {kind}"
            do = (
                f"pass table['NAME'] for {kind}s, or give column= to Counts.of; or labels "
                "and 'count'"
            )
            raise StatementError(problem, code="counts-table", do=do)
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
    problem = f"a {kind} label occurs twice, or is not a label"
    raise StatementError(
        problem, code="duplicate-label", where="the counts", do="give each label once"
    )
