"""Alphabets: the labels of inputs and outputs, and positions of reports among them."""

import difflib
import re
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from itertools import compress, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import MechanismError, StatementError, shows_values
from ldpopt.foundation.numbers import any_array, are_below, quoted, require_room, short_repr

Refusal = type[MechanismError] | type[StatementError]
Names = Sequence[Hashable]  # labels in their order

# A number as text, as in tables and model files
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*", re.ASCII)
# smallest ratio of `difflib` at which a known name is suggested for an unknown one
MIN_SIMILARITY = 0.65


def is_hashable(value: Any) -> bool:
    """Whether a value has a hash; a tuple, or an object of another kind, may have parts without
    one.
    """
    try:
        hash(value)
    except (TypeError, ValueError):
        return False
    return True


def check_labels(
    labels: Sequence[Hashable] | None,
    size: int | None,
    kind: str,
    error: Refusal = MechanismError,
    where: str = "",
) -> tuple[Hashable, ...]:
    """Labels of an alphabet, distinct and ``size`` of them (None: any number); default: 0, 1, 2,
    ...
    """
    if labels is None:
        return tuple(range(size or 0))
    _require_labels(labels, kind, error, where)
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    if size is not None and len(names) != size:
        do = f"give one label for each {kind}"
        raise error(
            f"{len(names)} {kind} labels for {size} {kind}s", code="label-count", where=where, do=do
        )
    if len(set(names)) < len(names) and (duplicate := first_duplicate(names)) is not None:
        raise error(
            f"duplicate {kind} label {short_repr(duplicate[0])}",
            code="duplicate-label",
            where=where,
            do="give each label once",
        )
    _require_apart(names, kind, error, where)
    return names


def _require_apart(names: Sequence[Hashable], kind: str, error: Refusal, where: str) -> None:
    """Refuse two texts that differ in blanks at their ends or in the number of blanks: nobody tells
    them apart in a table.
    """
    blank = [name for name in names if isinstance(name, str) and name != " ".join(name.split())]
    if not blank:
        return
    plain: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str):
            continue
        other = plain.setdefault(" ".join(name.split()), name)
        if other != name:
            raise error(
                f"the {kind} labels {short_repr(other)} and {short_repr(name)} differ in blanks "
                "only",
                code="blanks",
                where=where,
                do="write one label for one answer",
            )


def read_alphabet(labels: Any, kind: str = "input") -> Names:
    """Labels of an alphabet that a notion is asked about; a range is left as it is."""
    if isinstance(labels, range):
        require_room(labels, f"list of {kind} labels")
        return labels
    if labels is None:
        _require_labels(labels, kind, StatementError, "")  # refuses it: there is no default here
    return check_labels(labels, None, kind, StatementError)


def _require_labels(labels: Any, kind: str, error: Refusal, where: str) -> None:
    """Require a sequence of hashable labels; a set has no order."""
    do = "pass a list of labels"
    is_list = (
        hasattr(labels, "__iter__")
        and hasattr(labels, "__len__")
        and getattr(labels, "ndim", 1) == 1
    )
    if isinstance(labels, (bytes, set, frozenset)) or not is_list:
        raise error(
            f"a {type(labels).__name__} is not a list of {kind} labels",
            code="label-list",
            where=where,
            do=do,
        )
    require_room(labels, f"list of {kind} labels")
    for position, label in enumerate(labels):
        if type(label) in (int, str):
            continue
        name = f"the {kind} label {short_repr(label)} at {position}"
        if not is_hashable(label):
            raise error(
                f"{name} is not hashable",
                code="unhashable-label",
                where=where,
                do="use texts, numbers or tuples of them",
            )
        if not _equals_itself(label):
            raise error(
                f"{name} is not equal to itself, as nan",
                code="nan-label",
                where=where,
                do="use a text in its place",
            )


def _equals_itself(label: Hashable) -> bool:
    try:
        return bool(label == label)
    except (TypeError, ValueError, ArithmeticError):
        return False


def first_duplicate(names: Sequence[Hashable]) -> tuple[Hashable] | None:
    """First label that occurs again, in a 1-tuple; None if there is none."""
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            return (name,)
        seen.add(name)
    return None


def codes(x: Any, alphabet: Sequence[Hashable], kind: str) -> NDArray[np.int64]:
    """Positions of labels in their alphabet."""
    # The letters of a text and the names of a mapping or frame are not labels, and a set has no
    # order.
    if (
        isinstance(x, (str, bytes, Mapping, set, frozenset))
        or not hasattr(x, "__len__")
        or getattr(x, "ndim", 1) != 1
    ):
        problem = f"{kind}s are a vector of labels, not a {type(x).__name__}{quoted(x)}"
        raise StatementError(problem, code="label-vector", do="pass a list, also for a single one")
    if tuple(alphabet) == tuple(range(len(alphabet))):  # numbers from 0 are their own positions
        array = any_array(x, f"list of {kind}s")
        is_whole_numbers = array.dtype.kind in "iu" and array.ndim == 1
        if is_whole_numbers and are_below(array, len(alphabet)):
            return array.astype(np.int64, copy=False)
    if isinstance(x, np.ndarray) and (texts := _codes_of_texts(x, alphabet)) is not None:
        return texts
    values = x.tolist() if hasattr(x, "tolist") else list(x)
    position = {label: index for index, label in enumerate(alphabet)}
    try:
        return np.fromiter(map(position.__getitem__, values), np.int64, len(values))
    except (KeyError, TypeError, ValueError):
        index = next(
            (index for index, value in enumerate(values) if not is_among(value, position)), None
        )
        if index is None:
            raise
    # Raised outside the block, since the error of the look-up contains the answer.
    raise no_label(values[index], alphabet, kind, f"entry {index}")


def _codes_of_texts(x: NDArray[Any], alphabet: Sequence[Hashable]) -> NDArray[np.int64] | None:
    """Positions of an array of texts in an alphabet of texts; None if it is another array, or an
    entry is no label.
    """
    width = x.dtype.itemsize // 4
    if x.dtype.kind != "U" or not x.dtype.isnative or not width or not len(x):
        return None
    fits = [type(name) is str and len(name) <= width and name[-1:] != "\0" for name in alphabet]
    names = np.array(list(compress(alphabet, fits)), dtype=x.dtype)
    if not len(names):
        return None
    from ldpopt.native import find_texts

    places = np.empty(len(x), dtype=np.int64)
    slots = np.empty(1 << (2 * len(names)).bit_length(), dtype=np.int32)
    rows, known = (np.ascontiguousarray(each).view("u4").reshape(-1, width) for each in (x, names))
    if find_texts(rows, known, slots, places) < len(x):
        return None
    return places if all(fits) else np.flatnonzero(fits)[places]


def read_positions(x: Any, size: int, kind: str) -> NDArray[np.int64]:
    """Read a vector of whole numbers from 0 to ``size - 1``, which are their own positions."""
    array = any_array(x, f"list of {kind}s")
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise StatementError(
            f"{kind}s of shape {array.shape} are not a vector of whole numbers",
            code="position-vector",
            do="pass a list",
        )
    if not are_below(array, size):
        wrong = np.flatnonzero((array < 0) | (array >= size))
        problem = f"the {kind}{quoted(int(array[wrong[0]]))} is not in 0 .. {size - 1}"
        raise StatementError(
            problem,
            code="positions",
            where=f"entry {wrong[0]}",
            do=f"correct the entry, or state more than {size} labels",
        )
    return array.astype(np.int64, copy=False)


def no_label(value: Any, alphabet: Iterable[Hashable], kind: str, where: str) -> StatementError:
    """Error for an answer or report that is not in an alphabet; it is quoted only if messages may
    quote answers.
    """
    if value is None or (isinstance(value, float) and value != value):
        do = f"leave missing {kind}s out, or give them a label of their own"
        return StatementError(f"1 {kind} is missing", code="missing-entry", where=where, do=do)
    do = (
        nearest(value, alphabet)
        if shows_values()
        else f"correct it, or name another column; {known_names(alphabet)}"
    )
    kinds = sorted({type(name).__name__ for name in alphabet})
    kind_of_value = type(value).__name__
    types = (
        ""
        if kind_of_value in kinds
        else f": the entry is of type {kind_of_value}, the labels are of type {' and '.join(kinds)}"
    )
    return StatementError(
        f"unknown {kind}{quoted(value)}: not a label of the mechanism{types}",
        code="unknown-label",
        where=where,
        do=do,
    )


def plain_label(label: Hashable) -> str | int | float:
    """A label as JSON holds it: text and numbers unchanged, anything else as text."""
    value = label.item() if isinstance(label, np.generic) else label
    return value if isinstance(value, (str, int, float)) else str(value)


def text_of(label: Any) -> str:
    """A label as text; a combination of attributes with commas, such as ``no, yes``."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def is_among(value: Any, known: Container[Hashable]) -> bool:
    """Whether a value is one of the known ones; a value that cannot be hashed is not."""
    try:
        return value in known
    except (TypeError, ValueError):
        return False


def label_array(names: Sequence[Hashable]) -> NDArray[Any]:
    """Labels as an array to index by code: typed if all are of one kind, else of objects."""
    if len(kinds := {type(name) for name in names}) == 1 and kinds <= {int, float, str, bool}:
        return np.array(names)
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def labels_at(names: Sequence[Hashable], places: NDArray[Any]) -> NDArray[Any]:
    """Labels by their codes; numbers from 0 are their own codes."""
    if all(type(name) is int and name == place for place, name in enumerate(names)):
        return places.astype(np.int64, copy=False)
    array: NDArray[Any] = label_array(names)[places]
    return array


def label_numbers(names: Iterable[Any]) -> list[Any] | None:
    """Numbers of labels that are numbers, also as text, ``["1", 2.5] -> [1.0, 2.5]``; None if a
    label is not a number.

    Truth values are 0 and 1; time spans are not numbers. Whole numbers may be beyond floats.
    """
    numbers = []
    for name in names:
        is_text = isinstance(name, str) and NUMBER.fullmatch(name) is not None
        is_number = isinstance(name, (int, float, np.integer, np.floating)) and not isinstance(
            name, np.timedelta64
        )
        if not (is_text or is_number):
            return None
        numbers.append(float(name) if is_text else +name)
    return numbers


def listed(names: Sequence[Hashable]) -> str:
    """The first labels, as a list in text."""
    first = ", ".join(map(short_repr, names[:6]))
    return f"[{first}{', ...' if len(names) > 6 else ''}]"


def nearest(name: Any, known: Iterable[Any]) -> str:
    """Suggest the nearest of the known names, and list them: ``did you mean 'epsilon'? known:
    epsilon, delta``.
    """
    names = [_as_text(label) for label in islice(known, 1000)]
    return f"{suggestion(name, names)}{known_names(names)}"


def known_names(known: Iterable[Any]) -> str:
    """List the first known names."""
    names = [_as_text(name) for name in islice(known, 17)]
    return f"known: {', '.join(names[:16])}{', ...' if len(names) > 16 else ''}"


def suggestion(name: Any, known: Iterable[Any]) -> str:
    """Question for the known name that differs by case or by a few letters; empty if there is
    none.
    """
    by_case = {
        label.casefold(): label
        for label in reversed([_as_text(label) for label in islice(known, 1000)])
    }
    near = difflib.get_close_matches(_as_text(name).strip().casefold(), by_case, 1, MIN_SIMILARITY)
    return f"did you mean {by_case[near[0]]!r}? " if near else ""


def _as_text(name: Any) -> str:
    return name[:60] if isinstance(name, str) else short_repr(name)
