"""Core: loops in C over numpy arrays: one table of their arguments, which are checked before a
pointer is passed.

The functions are those of the C files beside this one; they release the interpreter's lock. ``pip
install -e .`` builds their library, and ``python hatch_build.py`` builds it again after a change of
the C files.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import LdpoptError

LIBRARY = Path(__file__).with_name("loops.bin")  # not .so, which Python would take for a module
REBUILD = "run pip install -e . in the folder of the repository, or python hatch_build.py"


@cache
def library() -> ctypes.CDLL:
    """The library of all loops; an error if it is missing, or was built from other sources than
    those beside it.
    """
    try:
        loaded = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        problem = f"the library of the loops in C is missing: {error}"
        raise LdpoptError(problem, code="library", where=str(LIBRARY), do=REBUILD) from None
    sources = sorted(LIBRARY.parent.glob("*.[ch]"))
    if (
        sources
        and loaded.sources() != crc32(b"".join(path.read_bytes() for path in sources)) & 0x7FFFFFFF
    ):
        raise LdpoptError(
            "the C files have changed since their library was built",
            code="old-library",
            where=str(LIBRARY),
            do=REBUILD,
        )
    return loaded


@cache
def matrix_product() -> int:
    """Address of BLAS's product of matrices, for the loops that use it."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__["dgemm"]
    python = ctypes.pythonapi
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", python))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", python)
    )
    return int(pointer(capsule, name(capsule)))


class _Lengths(ctypes.Structure):
    """The C structure of `Lengths`."""

    _fields_ = (
        *(
            (name, ctypes.c_void_p)
            for name in ("start", "neighbor", "loss", "table", "rough", "place")
        ),
        ("unit", ctypes.c_double),
        *((name, ctypes.c_int64) for name in ("inputs", "rough_columns", "is_metric")),
    )


@dataclass(frozen=True, eq=False)
class Lengths:
    """Losses along ties, either as compressed rows or in a table of all pairs of inputs; the other
    one is empty.
    """

    start: NDArray[np.int64]  # compressed rows, with neighbors in ascending order
    neighbor: NDArray[np.int32]
    loss: NDArray[np.float64]
    table: NDArray[np.float64]  # (n, n) or (0, 0): infinite without a tie
    rough: NDArray[np.uint16]  # the same in units, rounded down to at most `MOST_UNITS`
    unit: float
    is_metric: bool  # whether all pairs are tied, and each tie is a shortest chain

    @property
    def nodes(self) -> int:
        """The number of inputs."""
        return len(self.table) or len(self.start) - 1

    @cached_property
    def structure(self) -> Any:
        """The C structure with pointers to these arrays."""
        sizes: dict[Any, Any] = {}
        arrays = (
            self.start,
            self.neighbor,
            self.loss,
            self.table,
            self.rough,
            np.arange(len(self.table)),
        )
        values = [
            length.converted(value, sizes)[0] for length, value in zip(LENGTHS, arrays, strict=True)
        ]
        lengths = _Lengths(*values, self.unit, len(self.table), len(self.rough), self.is_metric)
        lengths.place_array = arrays[-1]  # kept as long as the pointer
        return lengths


# largest loss in units, as in pivots.c; 1 / unit does not overflow
MOST_UNITS, LEAST_UNIT = 16000, 1e-300
ROWS = 500  # rows of a table that are rounded at once


def in_units(table: NDArray[np.float64]) -> tuple[NDArray[np.uint16], float]:
    """Losses in units, rounded down, of which the largest finite one has at most `MOST_UNITS`; and
    the unit.
    """
    rough = np.empty(table.shape, np.uint16)
    unit = max(float(np.max(table, where=np.isfinite(table), initial=0.0)) / MOST_UNITS, LEAST_UNIT)
    for begin in range(0, len(table), ROWS):
        rough[begin : begin + ROWS] = np.minimum(table[begin : begin + ROWS] / unit, MOST_UNITS)
    return rough, unit


KINDS: dict[str, tuple[np.dtype[Any], ...]] = {
    kind: (np.dtype(kind),) for kind in ("f8", "u1", "u2", "u4", "i8", "i4", "i1", "b1")
}
KINDS["node"] = np.dtype(np.int16), np.dtype(np.int32)
NO_BYTES = ctypes.c_char * 0


@dataclass(frozen=True)
class Argument:
    """An argument of a loop: an array with its type and sizes, a number, or losses along ties."""

    name: str
    kind: str  # a key of KINDS; "i8", "f8" without sizes: a number; "lengths"; "address"
    # names of sizes, with +1 where there is one more; None: not an array
    shape: tuple[str, ...] | None
    is_written: bool

    @classmethod
    def read(cls, text: str) -> Argument:
        """Read ``name kind[size, size]``, with ``!`` if the array is written."""
        parts = re.fullmatch(r"(\w+) (\w+)(?:\[([\w+, ]+)\](!?))?", text)
        assert parts is not None, text
        name, kind, shape, mark = parts.groups()
        return cls(name, kind, None if shape is None else tuple(shape.split(", ")), bool(mark))

    @property
    def types(self) -> tuple[Any, ...]:
        """C types of the values that are passed for it; for an array of nodes also the number of
        bytes of a node.
        """
        if self.shape is not None:
            return (ctypes.c_void_p, ctypes.c_int64) if self.kind == "node" else (ctypes.c_void_p,)
        return ({"f8": ctypes.c_double, "i8": ctypes.c_int64}.get(self.kind, ctypes.c_void_p),)

    def converted(self, value: Any, sizes: dict[Any, Any]) -> tuple[Any, ...]:
        """What is passed for a value; an array is compared with the sizes, to which those of new
        names are added.
        """
        if self.shape is None:
            if self.kind != "lengths":
                return (value,)
            if value.nodes != sizes["n"]:
                raise ValueError(f"losses between {value.nodes} nodes, not {sizes['n']}")
            return (ctypes.addressof(value.structure),)
        if not isinstance(value, np.ndarray) or value.dtype not in KINDS[self.kind]:
            raise TypeError(
                f"{self.name} has the type {getattr(value, 'dtype', type(value))}, not {self.kind}"
            )
        flags, shape, is_writeable = value.flags, value.shape, value.flags.writeable
        if not (flags.c_contiguous and flags.aligned and (is_writeable or not self.is_written)):
            raise ValueError(
                f"{self.name} is not contiguous, not aligned, or read-only although the loop "
                "writes to it"
            )
        if sizes.get(self.shape) != shape:  # the shape of an earlier array with the same names
            wanted = []
            for size, length in zip(self.shape, shape, strict=False):
                name, _, more = size.partition("+")
                wanted.append(sizes.setdefault(name, length - int(more or 0)) + int(more or 0))
            if shape != tuple(wanted) or len(self.shape) != value.ndim:
                raise ValueError(
                    f"{self.name} has the shape {shape}, not {wanted} = [{', '.join(self.shape)}]"
                )
            sizes[self.shape] = shape
        # a buffer takes a quarter of the time of ``ctypes.data``, but must be writeable
        array: Any = value
        pointer = (
            ctypes.addressof(NO_BYTES.from_buffer(array)) if is_writeable else array.ctypes.data
        )
        return (pointer, value.itemsize) if self.kind == "node" else (pointer,)


def _arguments(text: str) -> tuple[Argument, ...]:
    """The arguments of a text that separates them by semicolons."""
    return tuple(map(Argument.read, text.split("; ")))


class Loop:
    """A loop in C, from ``name: argument; argument``.

    Its sizes are passed first, in the order in which the arguments name them, but those with ``_``.
    """

    def __init__(self, text: str) -> None:
        self.name, _, arguments = text.partition(": ")
        self.arguments = _arguments(arguments)
        sizes = dict.fromkeys(
            size.partition("+")[0] for argument in self.arguments for size in argument.shape or ()
        )
        self.sizes = [size for size in sizes if not size.startswith("_")]  # those that are passed

    def __repr__(self) -> str:
        return f"Loop({self.name})"

    @cached_property
    def _function(self) -> Any:
        """The function of the library, with the types of its results and arguments."""
        function = getattr(library(), self.name)
        function.argtypes = [ctypes.c_int64 for _ in self.sizes] + [
            t for argument in self.arguments for t in argument.types
        ]
        function.restype = ctypes.c_int64
        return function

    def __call__(self, *values: Any) -> int:
        """Check the arguments and run the loop; its result is not negative."""
        function = self._function
        sizes = dict[Any, Any]()
        passed: list[Any] = []
        for argument, value in zip(self.arguments, values, strict=True):
            passed += argument.converted(value, sizes)
        result = int(function(*[sizes[size] for size in self.sizes], *passed))
        if result < 0:
            raise MemoryError(f"no memory for the loop {self.name} with the sizes {sizes}")
        return result


# Losses along ties, as a structure
LENGTHS = _arguments(
    "start i8[_rows]; neighbor i4[_ties]; loss f8[_ties]; table f8[_inputs, _inputs]; rough "
    "u2[_inputs, _inputs]; "
    "place i8[_inputs]"
)

# products.c, columns.c, chains.c
raise_to_products = Loop(
    "raise_to_products: left f8[rows, terms]; right f8[terms, columns]; found f8[rows, columns]!"
)
raise_columns = Loop(
    "raise_columns: block f8[n, few]!; ends i8[n+1]; partner i4[_ties]; ratio f8[_ties]; room "
    "f8; is_whole i8"
)
count_implied = Loop("count_implied: distance f8[n, n]; x i8")
mark_implied = Loop("mark_implied: distance f8[n, n]; begin i8; stop i8; found b1[n, n]!")
kernel_tree = Loop("kernel_tree: root i8; table f8[n, n]; parent node[n]!; reached f8[n]!")
is_shortest = Loop("is_shortest: reached f8[n]; table f8[n, n]")

# trees.c, pivots.c, views.c: trees of some outputs
READ = "outputs i8[some]; roots i8[_m]; parents node[_m, n]; sides i1[_m, n]"
WRITTEN = "outputs i8[some]; roots i8[_m]; parents node[_m, n]!; sides i1[_m, n]!"
write_rays = Loop(f"write_rays: {READ}; lengths lengths; rays f8[some, n]!")
price_trees = Loop(
    "price_trees: outputs i8[some]; roots i8[m]; parents node[m, n]; sides i1[m, n]; costs f8[m, "
    "n]; priced f8[n]; "
    "lengths lengths; share f8[n]!; found f8[_two, m]!"
)
hang_from_root = Loop(f"hang_from_root: {WRITTEN}; costs f8[_m, n]; sums f8[n]; lengths lengths")
write_multipliers = Loop(
    "write_multipliers: root i8; parent node[n]; side i1[n]; costs f8[n]; lengths lengths; spare "
    "f8; node i8[n]!; "
    "value f8[n]!"
)
improve_trees = Loop(
    f"improve_trees: {WRITTEN}; costs f8[_m, n]; sums f8[n]; lengths lengths; most i8; "
    "is_best b1[_m]!"
)
improve_views = Loop(
    f"improve_views: {WRITTEN}; costs f8[_m, n]; sums f8[n]; table f8[n, n]; rough u2[n, n]; unit "
    "f8; order i8[n]; "
    "above i8[n]; fall f8[n]; views b1[_m, n]!; enough f8[_m]; price f8[_m]!"
)
write_extended_rays = Loop(
    f"write_extended_rays: {READ}; table f8[n, n]; views b1[_m, n]; rays f8[some, n]!"
)

# ties.c: loops over the ties of every output
PAIRS = "first i8[pairs]; second i8[pairs]; ratio f8[pairs]"
POINT = "at f8[m, n]; t f8[m, pairs]; ties f8[m, pairs]; aim f8[m, pairs]; p f8[m, n]"
add_adjoint = Loop(f"add_adjoint: {PAIRS}; ties f8[m, pairs]; found f8[m, n]!")
add_weights = Loop(
    "add_weights: ratio f8[pairs]; pair_edge i8[pairs]; t f8[m, pairs]; ties f8[m, pairs]; off "
    "f8[m, edges]!"
)
add_multiplier_steps = Loop(f"add_multiplier_steps: {PAIRS}; {POINT}; found f8[m, n]!")
write_steps = Loop(f"write_steps: {PAIRS}; {POINT}; t_step f8[m, pairs]!; ties_step f8[m, pairs]!")

# levels.c
LEVELS = "start i8[count+1]; low i8[edges]; high i8[edges]; inner i8[count+1]; cross i8[count+1]"
factor = Loop(
    f"factor: matrix_product address; {LEVELS}; scale f8[m, n]; excess f8[m, n]!; off "
    "f8[m, edges]; "
    "blocks f8[m, numbers]!; gain f8[m, n]; total f8[sums, sum_numbers]!"
)
solve_levels = Loop(
    f"solve_levels: {LEVELS}; off f8[m, edges]; blocks f8[m, numbers]; right f8[m, n]!; "
    "found f8[m, n]!"
)

# simplex.c
invert_matrix = Loop("invert_matrix: matrix f8[rows, rows]!; inverse f8[rows, rows]!")
exchange_columns = Loop(
    "exchange_columns: gains f8[n, m]; weight f8[n]; inverse f8[rows, rows]!; level f8[rows]!; "
    "dual f8[rows]!; output i4[rows]!; ones u1[rows, n]!; b f8; tolerance f8; limit i8; held i8"
)

# sets.c
choose_sets = Loop(
    "choose_sets: d i8; parts i8; bits i8; words i8[rows, count]; own i8[rows]; is_held b1[rows]; "
    "found i4[rows, k]!; is_done b1[rows]!"
)

# texts.c
find_texts = Loop(
    "find_texts: rows u4[count, width]; known u4[labels, width]; slots i4[size]!; found i8[count]!"
)
write_fields = Loop(
    "write_fields: codes i4[columns, rows]; begin i8[fields+1]; text u1[bytes]; out u1[room]!"
)
read_fields = Loop(
    "read_fields: text u1[bytes]; separator i8; places i4[columns]; keys i8[wanted, sizes]!; "
    "slots i4[wanted, size]!; known i8[wanted]!; ends i8[wanted, texts+1]!; "
    "pool u1[wanted, room]!; found i4[wanted, rows]!"
)

# draws.c
choose_reports = Loop(
    "choose_reports: codes i8[count]; words i8[count]; threshold i8[rows, cells]; alias "
    "i4[rows, cells]; dropped i8; low_bits i8; found i4[count]!"
)
choose_early = Loop(
    "choose_early: codes i8[count]; firsts u2[count]; table u4[rows, cells]; low_bits i8; "
    "found i4[count]!; undecided i8[count]!"
)
draw_reports = Loop(
    "draw_reports: codes i8[count]; threshold i8[rows, cells]; table u4[rows, cells]; dropped i8; "
    "low_bits i8; first_bits i8; next address; state address; found i4[count]!"
)

# counts.c
count_codes = Loop("count_codes: codes i8[count]; counts i8[turns, places]!")

# responses.c
draw_responses = Loop(
    "draw_responses: answers i8[count]; index i8[inputs]; members i8[k]; truth i8; is_uniform i8; "
    "delta i8; next address; state address; other i8[piece]!; found i8[count]!"
)
respond_early = Loop(
    "respond_early: own i8[count]; firsts u2[count]; keeping i8; each i8; others i8; "
    "found i8[count]!; undecided i8[count]!"
)
