"""Checks of user input: numbers are read, or refused with a message."""

import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from types import UnionType
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError, shows_values

Float = NDArray[np.float64]
Int = NDArray[np.int64]

# Types that are not numbers, although numpy or float() converts some of them without an error
NON_NUMBER_TYPES = (
    *(bool, np.bool_, str, bytes, complex, np.complexfloating),
    *(np.datetime64, np.timedelta64, type(None), type(np.ma.masked)),
)
MAX_AXES = 32  # lists within lists that are looked through for an entry that is no number
# largest number of bits of a denominator; products of two such numbers are still fast
MAX_BITS = 5000

BLOCK = 1 << 20  # number of entries of a matrix that are computed at once


def real_array(values: ArrayLike, name: str) -> Float:
    """Copy into a float64 array; refuse ragged and masked arrays, and entries that are not
    numbers.
    """
    require_room(values, name)
    if (array := _floats(values)) is None:
        name = f"the {name} is not a rectangular array of real numbers"
        do = "give numbers only, in rows of one length, without missing entries"
        raise StatementError(name, code="rectangle", where=_misfit(values, ()), do=do)
    return array


def _misfit(values: Any, place: tuple[int, ...]) -> str:
    """Describe the first entry that is not a number, or the first row of another length; never the
    entry itself.
    """
    here = f"entry {', '.join(map(str, place))}" if place else "all of it"
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        is_number = isinstance(
            values, (int, float, Fraction, Decimal, np.number)
        ) and not isinstance(values, NON_NUMBER_TYPES)
        return "" if is_number else f"{here} is of type {type(values).__name__}"
    if len(place) > MAX_AXES:
        return "lists in lists without an end"
    values = [row.tolist() if isinstance(row, np.ndarray) else row for row in values]
    sizes = [len(row) if isinstance(row, (list, tuple)) else 0 for row in values]
    for number, row in enumerate(values):
        if place_of_misfit := _misfit(row, (*place, number)):
            return place_of_misfit
        if sizes[number] != sizes[0]:
            return f"row {number} has {sizes[number]} entries, row 0 has {sizes[0]}"
    return ""


def percentage(text: str) -> float | None:
    """Read text such as "5%" as a share, 0.05; None if it is not a percentage."""
    number, sign, behind = text.strip().partition("%")
    if not sign or behind:
        return None
    try:
        return float(number) / 100
    except ValueError:
        return None


def _floats(values: Any) -> Float | None:
    """New array, or None if it cannot be made: an error of numpy may quote an answer, so none is
    raised.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values.copy()
    try:
        if contains_non_numbers(values) or contains_non_numbers(array := np.asarray(values)):
            return None
        with np.errstate(over="raise"):  # of extended precision
            return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return None


def any_array(values: Any, name: str) -> NDArray[Any]:
    """Convert to an array of any type; a ragged or masked argument gives an array of dimension
    0.
    """
    require_room(values, name)
    try:
        with warnings.catch_warnings(action="ignore"):  # of a masked entry, which becomes nan
            array = np.asarray(values)
    except ValueError:
        array = np.array(None)
    return np.array(None) if np.ma.is_masked(values) else array


def are_below(array: NDArray[Any], size: int) -> bool:
    """Whether all whole numbers of an array are from 0 on and below a size, in one pass."""
    if not array.size:
        return True
    if array.dtype.kind == "i":  # a negative number is a large one without its sign
        size = min(size, int(np.iinfo(array.dtype).max) + 1)
        array = array.view(f"u{array.dtype.itemsize}")
    return int(array.max()) < size


def real_number(
    value: Any, name: str, low: float = -np.inf, high: float = np.inf, *, do: str = ""
) -> float:
    """Read a number in a range as a float; nan, text and truth values are refused."""
    try:
        plain = value[()] if isinstance(value, np.ndarray) else value
        number = float("nan" if isinstance(plain, NON_NUMBER_TYPES) else plain)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not low <= number <= high:
        limits = "is not a number" if np.isnan(number) else f"is not in [{low:g}, {high:g}]"
        code = "real-number" if np.isnan(number) else "range"
        do = do or (
            f"give a number from {low:g} to {high:g}"
            if low > -np.inf or high < np.inf
            else "give a number"
        )
        raise StatementError(f"{name} = {short_repr(value)} {limits}", code=code, do=do)
    return number


def positive_seconds(time_limit: Any) -> float | None:
    """Read a time limit; None means no limit."""
    if time_limit is None:
        return None
    seconds = real_number(time_limit, "time_limit")
    if not 0 < seconds < float("inf"):
        do = "give a number of seconds above 0, or None for no limit"
        raise StatementError(
            f"time_limit = {seconds} is not a positive number of seconds", code="time-limit", do=do
        )
    return seconds


def summed(values: Float, axis: int | None = None) -> Any:
    """Sum without a warning on overflow: the caller checks for infinite sums."""
    with np.errstate(over="ignore"):
        return values.sum(axis=axis)


def row_blocks(array: NDArray[Any]) -> list[slice]:
    """Slices of the rows of a matrix with about `BLOCK` entries each, for which little other memory
    is needed.
    """
    size = max(1, BLOCK // max(1, array.shape[1]))
    return [slice(begin, begin + size) for begin in range(0, len(array), size)]


def normalized(weights: Float) -> Float:
    """Finite weights divided by their sum, also if it overflows."""
    if not weights.any():
        raise StatementError(
            "the weights sum to 0 and cannot be normalized",
            code="zero-weights",
            do="give at least one positive weight",
        )
    # Scaling by a power of two is exact.
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])
    return np.asarray(weights / weights.sum())


def inner_share(value: Any, name: str, *, do: str = "") -> float:
    """Read a number strictly between 0 and 1 as a float."""
    number = real_number(value, name, do=do)
    if not 0 < number < 1:
        do = do or "give a number above 0 and below 1"
        raise StatementError(
            f"{name} = {short_repr(value)} is not between 0 and 1", code="share", do=do
        )
    return number


def rational(value: Any, name: str, kind: str, low: int, high: float = math.inf) -> Fraction:
    """Read a number in a range exactly; text such as ``"2/3"`` is a rational."""
    try:
        text = str(value).lower() if isinstance(value, (str, Decimal)) else ""
        is_refused = isinstance(value, NON_NUMBER_TYPES) and not isinstance(value, str)
        plain = value.item() if isinstance(value, np.generic) else value
        # Fraction would compute a power of ten of any size.
        number = None if is_refused or len(text.partition("e")[2]) > 4 else Fraction(plain)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        number = None
    if number is None or not low <= number <= high:
        raise StatementError(
            f"{name} = {short_repr(value)} is not a {kind}",
            code="rational",
            do=f"give a number from {low} to {high}",
        )
    if number.denominator.bit_length() > MAX_BITS:
        bits = number.denominator.bit_length()
        raise StatementError(
            f"{name} has a denominator of {bits} bits",
            code="denominator",
            do=f"give at most {MAX_BITS} bits",
        )
    return number


def whole_number(value: Any, name: str, least: int = 0, most: int = sys.maxsize) -> int:
    """Read a whole number in a range, by default within the machine's integers."""
    if is_whole(value, least, most):
        return int(value)
    wrong = (
        "not a whole number"
        if not is_whole(value)
        else f"less than {least}"
        if value < least
        else f"more than {most}"
    )
    code = "range" if is_whole(value) else "whole-number"
    limits = f", at least {least}" if most == sys.maxsize else f" from {least} to {most}"
    raise StatementError(
        f"{name} = {short_repr(value)} is {wrong}",
        code=code,
        do=f"give a whole number{limits}",
    )


def is_whole(value: Any, least: int | None = None, most: int | None = None) -> bool:
    """Whether the value is an integer in a range; truth values, time spans and floats such as 2.0
    are not.
    """
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, NON_NUMBER_TYPES)
    return bool(
        is_integer and (least is None or value >= least) and (most is None or value <= most)
    )


def contains_non_numbers(values: Any) -> bool:
    """Whether nested lists and arrays contain text, truth values, masked entries or the like."""
    if isinstance(values, np.ndarray):
        is_wrong = values.dtype.kind not in "iufO" or np.ma.is_masked(values)
        return is_wrong or (
            values.dtype == object and contains_non_numbers(values.reshape(-1).tolist())
        )
    if not isinstance(values, (list, tuple)):
        return False
    kinds = set(map(type, values))
    nested = any(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds)
    is_none = any(issubclass(kind, NON_NUMBER_TYPES) for kind in kinds)
    return is_none or (nested and any(map(contains_non_numbers, values)))


def short_repr(value: Any) -> str:
    """A value on one line, in at most 60 characters."""
    try:
        text = repr(value).replace("\n", " ")
    except ValueError:  # Python does not print integers of more than 4300 digits
        text = f"a number of too many digits ({type(value).__name__})"
    return text if len(text) <= 60 else text[:56] + " ..."


def quoted(value: Any) -> str:
    """The answer of a person after a space, for a message; empty unless messages may quote
    answers.
    """
    return f" {short_repr(value)}" if shows_values() else ""


def require_kind(
    value: Any, kind: type | UnionType | tuple[type, ...], where: str, do: str = ""
) -> None:
    """Refuse an object of another type."""
    if not isinstance(value, kind):
        kinds = get_args(kind) if isinstance(kind, UnionType) else kind
        name = " or ".join(
            each.__name__ for each in (kinds if isinstance(kinds, tuple) else (kinds,))
        )
        raise StatementError(
            f"{where} takes a {name}, not a {type(value).__name__}",
            code="type",
            do=do or f"pass a {name}",
        )


def listed_items(values: Any, name: str, do: str = "") -> list[Any]:
    """Read a list, vector, range, set or generator as a list; text, a mapping, a single number and
    None are refused.
    """
    is_read = (
        isinstance(values, Iterable)
        and not isinstance(values, (str, bytes, bytearray, Mapping))
        and getattr(values, "ndim", 1) == 1
    )
    if not is_read:
        raise StatementError(
            f"{name} = {short_repr(values)} is not a list",
            code="list",
            do=do or "pass a list, also for a single one",
        )
    require_room(values, name)
    return list(values)


def truth(value: Any, name: str) -> bool:
    """Read a truth value; numbers, texts and arrays are not taken for one."""
    if not isinstance(value, (bool, np.bool_)):
        raise StatementError(
            f"{name} = {short_repr(value)} is neither True nor False",
            code="truth",
            do="give True or False",
        )
    return bool(value)


def require_text(value: Any, name: str) -> None:
    """Refuse an object that is not text."""
    if not isinstance(value, str):
        raise StatementError(
            f"{name} = {short_repr(value)} is not text", code="text", do="pass text"
        )


def require_function(value: Any, name: str, do: str = "") -> None:
    """Refuse an object that cannot be called."""
    if not callable(value):
        raise StatementError(
            f"{name} = {short_repr(value)} is not a function",
            code="function",
            do=do or "pass a function",
        )


def positions(values: Any, name: str, size: int | None = None, below: int | None = None) -> Int:
    """Read a vector of whole numbers from 0 on, below a number; of a length, if it is given."""
    array = any_array(values, name)
    is_whole_vector = array.ndim == 1 and (array.dtype.kind in "iu" or not array.size)
    if not is_whole_vector or (size is not None and len(array) != size):
        length = "" if size is None else f" of length {size}"
        raise StatementError(
            f"the {name} is not a vector of whole numbers{length}",
            code="position-vector",
            do="give whole numbers from 0 on",
        )
    if not are_below(array, sys.maxsize if below is None else below):
        limit = "" if below is None else f" to {below - 1}"
        raise StatementError(
            f"the {name} has numbers that are not from 0{limit}",
            code="positions",
            do="correct the entries",
        )
    return array.astype(np.int64, copy=False)


def shaped_array(values: Any, name: str, *shape: int | None) -> Float:
    """Read a real array of a shape, in which None stands for any length."""
    array = values if type(values) is np.ndarray and values.dtype == float else None
    array = real_array(values, name) if array is None else array
    fits = array.ndim == len(shape) and all(
        size is None or size == there for size, there in zip(shape, array.shape, strict=True)
    )
    if not fits:
        words = ", ".join("any" if size is None else str(size) for size in shape)
        raise StatementError(
            f"the {name} has the shape {array.shape}, not ({words})",
            code="shape",
            do="give an array of this shape",
        )
    return array


def require_choice(value: Any, choices: Iterable[str], name: str) -> None:
    """Refuse a value that is not one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise StatementError(
            f"{name} = {short_repr(value)} is unknown",
            code="choice",
            do=f"use {' or '.join(map(repr, choices))}",
        )


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, made read-only."""
    array.setflags(write=False)
    return array


def require_room(values: Any, name: str) -> None:
    """Refuse a range that would not fit into memory as a list; other objects are in memory
    already.
    """
    if isinstance(values, range):
        # len() has the same limit
        size = min((values.stop - values.start) // values.step + 1, sys.maxsize)
        require_memory(100.0 * size, f"the {name}")


# Advice for a matrix that does not fit into memory
SMALLER = "use a smaller alphabet, or a closed form (closed_forms.top_k never builds the matrix)"


MEMORY_SHARE = 0.8  # largest share of this machine's memory that an object may take
# bytes up to which the memory is not looked up, which reads files of the system
ALWAYS_FITS = 1 << 22


# Where Linux says how much memory a container may use
_CONTAINER_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


def memory() -> int:
    """The bytes of memory that this process may use: those of the machine, or the limit of its
    container or of the process, which are often far below.
    """
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (
        AttributeError,
        ValueError,
        OSError,
    ):  # pragma: no cover - no such call on this platform
        machine = 16 * 2**30
    return min(machine, *_limits())


def _limits() -> list[int]:
    """Limits of this process and of its container; sys.maxsize if there is none."""
    found = [sys.maxsize, sys.maxsize]
    for path in _CONTAINER_LIMITS:
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
        except (OSError, ValueError):
            continue
        found += [int(text)] if text.isdecimal() else []
    try:
        import resource
    except ImportError:  # pragma: no cover - not on this platform
        return found
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return [*found, sys.maxsize if limit == resource.RLIM_INFINITY else limit]


def require_memory(n_bytes: float, name: str, do: str = SMALLER) -> None:
    """Refuse an object that would not fit into this machine's memory, before it is built."""
    if n_bytes > ALWAYS_FITS and n_bytes > MEMORY_SHARE * (physical := memory()):
        needed, there = (f"{size / 2**30:.3g} GiB" for size in (n_bytes, physical))
        raise StatementError(
            f"{name} would take {needed} of memory; this machine has {there}", code="memory", do=do
        )


def read_size(size: int) -> int:
    """Read the number of draws."""
    if not is_whole(size, 0, sys.maxsize):
        raise StatementError(
            f"size = {short_repr(size)} is not a number of draws",
            code="draws",
            do="give a whole number >= 0",
        )
    require_memory(64.0 * size, f"{size:.3g} draws")
    return int(size)
