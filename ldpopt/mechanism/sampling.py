"""Exact sampling: integer masses over ``2**bits``, integer alias tables, and sources of random
bits.
"""

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.exact_matrices import require_matrix, require_stochastic
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation import seeds
from ldpopt.foundation.labels import read_positions
from ldpopt.foundation.numbers import is_whole, positions, real_array, short_repr
from ldpopt.native import choose_early, choose_reports, draw_reports

BITS = 53  # bits of a word, and of a mass: a multiple of 2**-53 is its own integer mass
MAX_BITS = 62  # largest word length; the sum of a row of masses fits in int64
# words per chunk: a chunk fits in the cache, and 10**8 draws need little more memory than their
# result
CHUNK = 1 << 15
# Words that `AliasTable.draw` takes at once: 64 KB. Larger arrays get fresh pages from the system
# each time in processes with a fixed threshold of trimming, such as workers of Dask, and a page
# fault costs as much as sixty draws (benchmarks/cluster.py).
PIECE = 1 << 13
# bits of a word up to which a generator of numpy draws 32; of longer ones it takes the first of 64
NARROW = 32
FIRST = 16  # bits of a word that are read first; of the system, they are drawn first
# bits of a number of cells up to which the first bits leave few words undecided, at most 1 of 16
MOST_EARLY = 12
EARLY_PIECE = 1 << 14  # rows that draw their first bits at once
# entries of rows that are rounded at once: other memory does not depend on the number of rows
BLOCK = 1 << 20
MAX_ROW_SUM_ERROR = 1e-6  # largest distance of a row sum from 1 that `round_rows` distributes
Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
Places = NDArray[np.int32]
Random = seeds.Random


def round_rows(channel: NDArray[np.float64], bits: int = BITS) -> Counts:
    r"""Round the rows of a channel to integer masses by largest remainder.

    .. math:: K_{xy} \approx 2^{\text{bits}} P_{xy} / \textstyle\sum_{y'} P_{xy'}, \quad
              \textstyle\sum_y K_{xy} = 2^{\text{bits}}

    Parameters
    ----------
    channel : ndarray of float64, shape (n, m)
        Probabilities; the difference of a row's sum from 1 is distributed in proportion to its
        entries.
    bits : int
        Binary digits of the total, ``1 <= bits <= 62``; default: ``53``.

    Returns
    -------
    ndarray of int64, shape (n, m)
        Each row sums to exactly ``2**bits``. A row on the grid is unchanged; zeros stay zero; a
        positive entry below ``2**-bits`` may become zero; of equal remainders the lowest column is
        raised first. Each mass is less than 1 away from the normalized row, up to float rounding.
        O(n m log m) time.

    Raises
    ------
    MechanismError
        If an entry is not a probability, or a row does not sum to 1 within 1e-6.
    StatementError
        If ``bits`` is out of range.

    Examples
    --------
    >>> round_rows(np.array([[0.1, 0.2, 0.7]]), bits=4)
    array([[ 2,  3, 11]])
    """
    total = _total(bits)
    array = real_array(channel, "channel")
    require_matrix(array)
    require_stochastic(array, MAX_ROW_SUM_ERROR)
    sums = array.sum(axis=1)
    masses = np.empty(array.shape, np.int64)
    for part in chunks(len(array), max(1, BLOCK // array.shape[1])):
        masses[part] = _rounded(array[part], sums[part], total)
    return masses


def _rounded(array: NDArray[np.float64], sums: NDArray[np.float64], total: int) -> Counts:
    """Round some rows, whose sums are ``sums``, to integers with the sum ``total``."""
    # Scaling by a power of two, the floor and the subtraction are exact: only the small remainders
    # are rounded.
    scaled = array * float(total)
    floors = np.floor(scaled)
    masses = floors.astype(np.int64)
    remainder = scaled - floors
    missing = total - masses.sum(axis=1)
    if not missing.any() and not remainder.any():
        return masses
    remainder += (missing - remainder.sum(axis=1))[:, None] * (array / sums[:, None])
    shift = np.floor(remainder)
    remainder -= shift
    masses = np.maximum(masses + shift.astype(np.int64), 0)

    # zeros are ranked last, after every positive entry, so they are never raised
    positive = array > 0
    order = np.argsort(np.where(positive, -remainder, 1.0), axis=1, kind="stable")
    count = np.clip(total - masses.sum(axis=1), 0, positive.sum(axis=1))[:, None]
    masses[np.arange(len(masses))[:, None], order] += np.arange(array.shape[1]) < count
    # Float rounding of the remainders can leave a unit too much or too little; the largest mass
    # absorbs it.
    masses[np.arange(len(masses)), masses.argmax(axis=1)] += total - masses.sum(axis=1)
    return masses


class AliasTable:
    r"""Integer alias tables: one exact draw from a row takes one word and one comparison.

    The columns are padded to :math:`2^a \ge m`, ``a >= 1``; a cell has the mass :math:`W =
    2^{\text{bits}-a}`. The top ``a`` bits of a uniform word choose the cell ``y``; the others are
    compared with ``threshold[x, y]``:

    .. math:: \text{out} = y \text{ where } \text{low} < \text{threshold}_{xy},
              \text{ else } \text{alias}_{xy}

    Built in O(m log m) per row, 12 bytes per cell. There is no protection against timing attacks:
    the time of a draw may depend on the answer.

    Parameters
    ----------
    counts : ndarray of int64, shape (n, m)
        Masses; each row sums to exactly ``2**bits``.
    bits : int
        Bits of a word, ``a <= bits <= 62``; default: ``53``.

    Raises
    ------
    MechanismError
        If the masses are not whole numbers, are out of range, or a row has another sum.
    StatementError
        If ``bits`` is out of range.

    Attributes
    ----------
    threshold : ndarray of int64, shape (n, 2**a)
        Mass of each cell for its own output, ``0 <= threshold <= W``.
    alias : ndarray of int32, shape (n, 2**a)
        Output of the remaining mass of the cell.

    Examples
    --------
    >>> AliasTable(np.array([[3, 12, 1]]), bits=4).realized()
    array([[ 3, 12,  1]])
    """

    threshold: Counts
    alias: NDArray[np.int32]

    def __init__(self, counts: Counts, bits: int = BITS) -> None:
        total = _total(bits)
        masses = np.asarray(counts)
        if masses.ndim != 2 or 0 in masses.shape or masses.dtype.kind not in "iu":
            problem = (
                f"masses are {masses.dtype} of shape {masses.shape}; expected whole numbers "
                "(inputs, outputs)"
            )
            do = "round a channel of floats with ldpopt.mechanism.sampling.round_rows"
            raise MechanismError(problem, code="mass-array", do=do)
        # with bounded masses, no sum is right by overflow
        bad = np.argwhere((masses < 0) | (masses > total))
        if len(bad):
            x, y = map(int, bad[0])
            problem = f"mass {masses[x, y]} lies outside 0 .. 2**{bits}"
            where = f"row {x}, column {y}"
            do = "round a channel of floats with round_rows"
            raise MechanismError(problem, code="mass", where=where, do=do)
        for x, row in enumerate(masses):
            if (row_total := sum(row.tolist())) != total:
                problem = f"the masses sum to {row_total}, not 2**{bits} = {total}"
                do = "round with ldpopt.mechanism.sampling.round_rows"
                raise MechanismError(problem, code="mass-sum", where=f"row {x}", do=do)
        self.bits, (self.inputs, self.outputs) = bits, masses.shape
        self._cell_bits = max(1, (self.outputs - 1).bit_length())
        if self._cell_bits > bits:
            problem = f"{self.outputs} outputs need words of {self._cell_bits} bits, not {bits}"
            raise MechanismError(problem, code="cell-bits", do=f"give bits >= {self._cell_bits}")
        self.low_bits = bits - self._cell_bits
        padded = np.zeros((self.inputs, 1 << self._cell_bits), dtype=np.int64)
        padded[:, : self.outputs] = masses
        self.threshold, self.alias = _alias_tables(padded, 1 << self.low_bits)
        self.threshold.setflags(write=False)
        self.alias.setflags(write=False)

    def __repr__(self) -> str:
        return f"AliasTable({self.inputs} inputs, {self.outputs} outputs, bits={self.bits})"

    def choose(self, codes: Counts, words: Words) -> Counts:
        """Map uniform words, ``0 <= word < 2**bits``, to outputs of the rows ``codes``; both have
        shape (N,).
        """
        rows = positions(codes, "rows", None, self.inputs)
        drawn = np.empty(len(rows), dtype=np.int32)
        self._choose(rows, positions(words, "words", len(rows), 1 << self.bits), 0, drawn)
        return drawn.astype(np.int64)

    def _choose(self, rows: Counts, words: Any, dropped: int, drawn: Places) -> None:
        """Write the outputs of rows for words without their lowest ``dropped`` bits."""
        vectors = np.ascontiguousarray(rows), np.ascontiguousarray(words).view(np.int64)
        choose_reports(*vectors, self.threshold, self.alias, dropped, self.low_bits, drawn)

    def draw(self, codes: Counts, *, rng: Random = None) -> Counts:
        """Draw one output for each row number in ``codes``, shape (N,); other memory does not
        depend on ``N``.
        """
        return self.draw_places(codes, rng).astype(np.int64)

    def draw_places(self, codes: Counts, rng: Random = None) -> Places:
        """Draw as `draw`, as numbers of 32 bits, which tables take as they are."""
        # The system's words are used as they come, without a shifted copy.
        dropped = 64 - self.bits if rng is None else 0
        rows = read_positions(codes, self.inputs, "input code")
        drawn = np.empty(len(rows), dtype=np.int32)
        if rng is not None and self._is_early and self.bits > NARROW:
            self._draw_with_seed(rows, rng, drawn)
            return drawn
        source = whole_words(rng, self.bits + dropped)
        draw = self._draw_early if rng is None and self._is_early else None
        for part in chunks(len(rows), PIECE if draw is None else EARLY_PIECE):
            if draw is not None:
                draw(rows[part], drawn[part])
                continue
            self._choose(rows[part], source(part.stop - part.start), dropped, drawn[part])
        return drawn

    @property
    def _is_early(self) -> bool:
        """Whether the first 16 bits of a word nearly always decide."""
        return self._cell_bits <= MOST_EARLY and self.bits > FIRST

    @cached_property
    def early(self) -> NDArray[np.uint32]:
        """The table of `choose_early`, shape (n, 2**a)."""
        later = self.bits - FIRST
        edge = 2 * (self.threshold >> later) + ((self.threshold & ((1 << later) - 1)) > 0)
        is_full = self.threshold == 1 << self.low_bits  # its edge may not fit
        cells = np.arange(1 << self._cell_bits)
        table = np.where(is_full, cells, edge << 16 | self.alias)
        return np.ascontiguousarray(table, dtype=np.uint32)

    def _draw_with_seed(self, rows: Counts, rng: Random, drawn: Places) -> None:
        """Write the outputs of rows from the words of a generator, of which few need more than 16
        bits.
        """
        tables = self.threshold, self.early
        shifts = 64 - self.bits, self.low_bits, FIRST - self._cell_bits
        with seeds.words_of(seeds.generator_of(rng)) as generator:
            draw_reports(np.ascontiguousarray(rows), *tables, *shifts, *generator, drawn)

    def _draw_early(self, rows: Counts, drawn: Places) -> None:
        """Write the outputs of rows from 16 bits of the system each; rows that these leave
        undecided draw the others.
        """
        # The word is the same as if it had been drawn at once, and so is its output.
        firsts = np.frombuffer(os.urandom(2 * len(rows)), np.uint16)
        undecided = np.empty(len(rows), np.int64)
        vectors = np.ascontiguousarray(rows), firsts
        late = undecided[
            : choose_early(*vectors, self.early, FIRST - self._cell_bits, drawn, undecided)
        ]
        if not len(late):
            return
        later = self.bits - FIRST
        words = whole_words(None, later)(len(late))
        words |= firsts[late].astype(np.uint64) << np.uint64(later)
        again = np.empty(len(late), np.int32)
        self._choose(rows[late], words, 0, again)
        drawn[late] = again

    def realized(self) -> Counts:
        r"""Recompute the masses from the finished table: the number of words that map to each
        output, shape (n, m).

        .. math:: K_{xy} = \text{threshold}_{xy} + \sum_{y' : \text{alias}_{xy'} =
                  y} (W - \text{threshold}_{xy'})
        """
        masses = self.threshold.copy()
        np.add.at(
            masses,
            (np.arange(self.inputs)[:, None], self.alias),
            (1 << self.low_bits) - self.threshold,
        )
        return masses[:, : self.outputs]


def chunks(size: int, length: int = CHUNK) -> Iterator[slice]:
    """Cut ``range(size)`` into slices of at most ``length``; by default they fit in the cache."""
    return (slice(start, min(start + length, size)) for start in range(0, size, length))


def bit_source(rng: Random, bits: int = BITS) -> Callable[[int], Words]:
    """Return a function ``size -> size uniform words below 2**bits``; a generator that is passed
    advances.
    """
    _total(bits)
    return whole_words(rng, bits)


def whole_words(rng: Random, bits: int = 64) -> Callable[[int], Words]:
    """Return a function ``size -> size uniform words of so many bits``; a generator that is passed
    advances.
    """
    if rng is None:
        return lambda size: (
            np.frombuffer(os.urandom(8 * size), dtype=np.uint64) >> np.uint64(64 - bits)
        )
    # A power of two divides the generator's range, so no word is ever rejected and all are equally
    # likely.
    generator = seeds.generator_of(rng)
    drawn = bits if bits <= NARROW else 64
    last = (1 << drawn) - 1

    def draw(size: int) -> Words:
        words = generator.integers(0, last, size, np.uint64, endpoint=True)
        words >>= np.uint64(drawn - bits)
        return words

    return draw


def _alias_tables(masses: Counts, weight: int) -> tuple[Counts, NDArray[np.int32]]:
    """Thresholds and aliases in closed form: cells above ``weight`` fill up cells below it."""
    # With cumulative deficits D of the small cells and surpluses E of the large ones, small cell i
    # takes from the first large cell j with E[j] > D[i-1]. Large cell j falls to the weight at the
    # first i with D[i] >= E[j], keeps weight + E[j] - D[i] and takes the rest from large cell j +
    # 1.
    threshold = np.minimum(masses, weight)
    alias = np.empty(masses.shape, dtype=np.int32)
    alias[:] = np.arange(masses.shape[1], dtype=np.int32)
    for row, kept, donors in zip(masses, threshold, alias, strict=True):
        small = np.flatnonzero(row < weight)
        large = np.flatnonzero(row > weight)
        if not len(large):
            continue
        deficit = np.cumsum(weight - row[small])
        surplus = np.cumsum(row[large] - weight)
        donors[small] = large[
            np.searchsorted(surplus, np.concatenate(([0], deficit[:-1])), side="right")
        ]
        kept[large] = weight + surplus - deficit[np.searchsorted(deficit, surplus, side="left")]
        donors[large[:-1]] = large[1:]
    return threshold, alias


def _total(bits: int) -> int:
    """Number of different words of so many bits."""
    if not is_whole(bits, 1, MAX_BITS):
        problem = f"bits = {short_repr(bits)} is not a word length"
        do = f"pass a whole number from 1 to {MAX_BITS}"
        raise StatementError(problem, code="word-length", do=do)
    return 1 << int(bits)
