r"""Counting and decoding of linear hashes: which labels the points of a projective space support.

The label with digits ``x_1 .. x_(t-1)`` in base ``q`` is the vector ``(x_1, .., x_(t-1), 1)`` over
the field of ``q`` elements. A report is a vector up to its unit, a point of the projective space,
and supports the labels whose vectors are orthogonal to it: every two labels are supported by
equally many points. The support of all labels is a Fourier transform: along the line of all
multiples of a label's vector, the transform of the counts is that of the numbers of reports by
their product with the vector.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.fields import field
from ldpopt.foundation.numbers import Float, Int
from ldpopt.frequencies.rule import Positions
from ldpopt.mechanism.sampling import CHUNK, chunks


def length_of(n: int, q: int) -> int:
    """Digits of a label's vector: those of the largest label in base ``q``, at least one, and the
    1.
    """
    digits = 1
    while q**digits < n:
        digits += 1
    return digits + 1


def number_of_points(q: int, length: int) -> int:
    """Number of points of the projective space of vectors of this length."""
    return int((q**length - 1) // (q - 1))


class Arithmetic:
    """Tables of a field, whose elements are the numbers ``0 .. q-1`` with their digits modulo
    ``p``.
    """

    def __init__(self, q: int) -> None:
        finite = field(q)
        if finite is None:
            raise StatementError(
                f"there is no field of {q} elements",
                code="finite-field",
                do="pass a power of a prime, such as 4, 5 or 7",
            )
        self.q, self.p, self.e = q, finite.p, finite.e
        digits = np.arange(q)[:, None] // self.p ** np.arange(self.e) % self.p
        self.sums = finite.numbers(digits[:, None] + digits[None])
        self.negative = finite.numbers(-digits)
        powers = finite.numbers(finite.powers)
        logarithm = np.zeros(q, np.int64)
        logarithm[powers] = np.arange(q - 1)
        self.products = powers[(logarithm[:, None] + logarithm) % (q - 1)]
        self.products[0] = self.products[:, 0] = 0
        self.inverse = powers[-logarithm % (q - 1)]
        trace = np.zeros(q, np.int64)
        trace[powers] = finite.trace(np.arange(q - 1), self.p)[:, 0]
        # The trace of a product of two elements is the product of the digits of one and the dual
        # digits of the other.
        basis = self.p ** np.arange(self.e)
        self.dual = trace[self.products[:, basis]] @ basis
        self.characters = np.exp(-2j * np.pi / self.p * trace[self.products])


@dataclass(frozen=True, eq=False)
class ProjectiveSpace:
    """Points of the space of vectors of a length over a field; each point has a number."""

    field: Arithmetic
    length: int

    @property
    def size(self) -> int:
        """Number of points."""
        return number_of_points(self.field.q, self.length)

    def digits(self, answers: Positions) -> Int:
        """Digits of labels, shape (t - 1, N), the largest first."""
        return np.asarray(
            answers // self.field.q ** np.arange(self.length - 2, -1, -1)[:, None] % self.field.q
        )

    def product(self, vectors: Int, digits: Int) -> Int:
        """Products of vectors and labels without their last digits, shape (N,)."""
        total = np.zeros(vectors.shape[1], np.int64)
        for left, right in zip(vectors, digits, strict=True):
            total = self.field.sums[total, self.field.products[left, right]]
        return total

    def numbers(self, vectors: Int) -> Int:
        """Numbers of the points of vectors other than 0, shape (t, N): the first digit that is not
        0 becomes 1.
        """
        q, t = self.field.q, self.length
        lead = (vectors != 0).argmax(axis=0)
        unit = self.field.inverse[vectors[lead, np.arange(vectors.shape[1])]]
        place = q ** (t - 1 - lead)
        value = q ** np.arange(t - 1, -1, -1) @ self.field.products[vectors, unit]
        # points with a later lead come first
        return np.asarray(value - place + (place - 1) // (q - 1))


def points_of_numbers(space: ProjectiveSpace, array: NDArray[Any], source: str) -> Int:
    """Numbers of the points that private reports are; those of another ``source`` are refused."""
    if (
        array.ndim != 1
        or array.dtype.kind not in "iu"
        or (array >= space.size).any()
        or (array < 0).any()
    ):
        raise StatementError(
            f"a report cannot come from {source}", code="reports", do="pass what privatize returned"
        )
    return array.astype(np.int64)


def points_of_hashes(space: ProjectiveSpace, array: NDArray[Any], source: str) -> Int:
    """Numbers of the points of reports of a public hash; -1 for the vector 0."""
    q, t = space.field.q, space.length
    if array.ndim != 1 or array.dtype.names is None or set(array.dtype.names) != {"hash", "value"}:
        raise StatementError(
            "the reports need the fields hash and value",
            code="fields",
            do="pass what privatize returned",
        )
    hashes, values = (array[name].astype(np.int64) for name in ("hash", "value"))
    is_possible = (hashes >= 0) & (hashes < q ** (t - 1)) & (values >= 0) & (values < q)
    if not is_possible.all():
        where = f"entry {int(is_possible.argmin())}"
        do = "pass the reports of this protocol"
        raise StatementError(
            f"a report cannot come from {source}", code="reports", where=where, do=do
        )
    vectors = np.vstack([space.digits(hashes), space.field.negative[values]])
    points = np.full(len(array), -1)
    is_point = vectors.any(axis=0)
    points[is_point] = space.numbers(vectors[:, is_point])
    return points


def support_of_labels(space: ProjectiveSpace, n: int, numbers: Int, sums: Float) -> Float:
    """Support of every label, shape (n,): the number, or weight, of the reports whose points are
    orthogonal to its vector.

    ``numbers`` are those of the points that were reported, ascending, and ``sums`` the number or
    weight of the reports of each.
    """
    q = space.field.q
    start = 1
    total = np.zeros(1)  # of the point (0, .., 0, 1), which supports no label
    # points whose first digit that is not 0 is followed by so many digits
    for followers in range(1, space.length):
        rows = q if followers < space.length - 1 else -(-n // len(total))
        part = slice(*np.searchsorted(numbers, (start, start + q**followers)))
        total = (
            _slices(space.field, numbers[part] - start, sums[part], rows, followers - 1) + total
        ).ravel()
        start += q**followers
    return np.asarray(total[:n])


def _slices(finite: Arithmetic, vectors: Int, sums: Float, rows: int, length: int) -> Float:
    """Support of labels ``(x, y, 1)`` by points ``(1, u)``, one row for each ``x``; ``length``
    digits of ``y``.
    """
    from scipy.fft import fftn

    q = finite.q
    first, last = np.divmod(vectors, q)
    support = np.full((rows, q**length), float(sums.sum()) / q)
    multiples = np.arange(1, q)
    # the transform at -a is the conjugate of that at a
    multiples = multiples[multiples <= finite.negative[1:]]
    for part in chunks(len(multiples), max(1, CHUNK // support.shape[1])):
        lines = np.empty((len(multiples[part]), 2, support.shape[1]))
        for line, multiple in zip(lines, multiples[part], strict=True):
            waves = finite.characters[multiple, last]
            sheet = np.empty(support.shape[1], np.complex128)
            for wave, side in ((waves.real, sheet.real), (waves.imag, sheet.imag)):
                side[:] = np.bincount(first, sums * wave, minlength=len(sheet))
            at = np.zeros(1, np.int64)  # the places of the multiple of (y, 1)
            for _ in range(length):
                at = np.add.outer(at * q, finite.dual[finite.products[multiple]]).ravel()
            spectrum = fftn(
                sheet.reshape((finite.p,) * (finite.e * length)), overwrite_x=True
            ).ravel()[at]
            line[:] = spectrum.real, -spectrum.imag
        # The number of points with the product c is a transform of the line; x + c = 0.
        weight = np.where(multiples[part] == finite.negative[multiples[part]], 1, 2) / q
        waves = finite.characters[:rows, multiples[part]] * weight
        support += np.stack([waves.real, waves.imag], axis=2).reshape(rows, -1) @ lines.reshape(
            -1, support.shape[1]
        )
    return support
