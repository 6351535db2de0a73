"""Block designs: sets of one size in which every two answers are together equally often.

All sets of the best size estimate frequencies best, and so do any balanced ones. They come from
hyperplanes of spaces (Singer), residues in finite fields (Paley), and difference families found by
a search; each is checked.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ldpopt.designing.column_generation import Optimum
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import Cone, Dual, Staircases
from ldpopt.foundation.fields import Field, field
from ldpopt.foundation.numbers import Float, Int

LARGEST = 200  # largest number of answers for which designs are built
NODES = 10_000  # limit on steps of the search for a difference family
SEARCHED = 40  # largest number of answers for which it is tried
# relative difference up to which a Gram matrix counts as unchanged by all permutations
SAME = 1e-12


def balanced_design(contrasts: Contrasts, cone: Cone, most: int | None = None) -> Optimum | None:
    """Balanced sets for a workload that no permutation of the answers changes.

    Every two answers are together in equally many sets, so the information is a multiple of the
    identity on contrasts, as it is for all sets of the size. The best size is known in closed form,
    and so are the multipliers. With a limit ``most`` on the number of sets, another size than the
    best one may be used; the multipliers stay those of the best size. None if the workload has
    another form, or if no such sets are known.
    """
    n = len(contrasts.weights)
    scale = _scale(contrasts)
    if not isinstance(cone, Staircases) or scale is None:
        return None
    sizes = np.arange(1, n)
    mass = cone.base + cone.spread * sizes / n
    information = cone.spread**2 * sizes * (n - sizes) / n / mass**2
    for k in np.argsort(-information, kind="stable"):
        if most is None and information[k] < information.max() * (1 - SAME):
            return None
        sets = block_design(n, int(sizes[k]))
        if sets is not None and (most is None or len(sets) <= most):
            break
    else:
        return None
    value = scale * (n - 1) ** 2 / information[k]
    best = scale * (n - 1) ** 2 / information.max()
    dual = Dual(
        contrasts.weights,
        (n - 1) / information.max() * (np.eye(n) - 1 / n),
        best,
        best,
        np.zeros(n),
    )
    return Optimum(contrasts, cone.columns(sets), np.full(len(sets), 1 / len(sets)), value, dual)


def _scale(contrasts: Contrasts) -> float | None:
    """Factor of the projection onto contrasts in the centered workload's Gram matrix; None if it is
    not a multiple.
    """
    r = contrasts.weights
    gram = contrasts.centered
    n = len(r)
    scale = float(np.trace(gram)) / (n - 1)
    return (
        scale
        if np.ptp(r) == 0 and np.abs(gram - scale * (np.eye(n) - 1 / n)).max() <= SAME * scale
        else None
    )


@lru_cache(maxsize=256)
def block_design(n: int, size: int) -> Float | None:
    """Indicators of balanced sets of ``size`` of ``n`` answers, as few as are found, shape ``(b,
    n)``; None if none are found with at most as many sets as there are pairs of answers.
    """
    if not 0 < size < n <= LARGEST:
        return None
    best: Float | None = None
    for in_set in (size, n - size):
        for sets in _built(n, in_set):
            if is_balanced(sets, in_set) and (best is None or len(sets) < len(best)):
                best = sets if in_set == size else 1 - sets
    if best is None or len(best) > n:
        # each block gives n sets, its shifts: fewer sets than are known, or than all pairs
        most = (n - 1) // 2 if best is None else (len(best) - 1) // n
        found = _searched(n, min(size, n - size), most)
        if found is not None:
            best = found if 2 * size <= n else 1 - found
    return best if best is not None and len(best) <= n * (n - 1) // 2 else None


def is_balanced(sets: Float, size: int) -> bool:
    """Whether all sets have the size, and every two answers are together in equally many of
    them.
    """
    together = sets.T @ sets
    pairs = together[~np.eye(len(together), dtype=bool)]
    return bool((sets.sum(axis=1) == size).all() and (pairs == pairs[:1]).all())


def _built(n: int, size: int) -> Iterator[Float]:
    """Sets that may be balanced."""
    if size == 1:
        yield np.eye(n)
        return
    yield from _hyperplanes(n, size)
    finite = field(n)
    if finite is not None:
        yield from _residues(finite, size)
        yield from _affine(finite, size)
    if n == 2 * size and size % 2 == 0:
        yield from _with_a_point(n, size)


def _hyperplanes(n: int, size: int) -> Iterator[Float]:
    """Hyperplanes of a projective space over ``q`` elements: all shifts of the powers of trace 0
    (Singer).
    """
    for q in range(2, n):
        power = q
        dimension = 1
        while (power - 1) // (q - 1) < n:
            power = power * q
            dimension = dimension + 1
        if (power - 1) // (q - 1) != n or dimension < 3 or (power // q - 1) // (q - 1) != size:
            continue
        finite = field(power) if field(q) is not None else None
        if finite is not None:
            yield _shifts(n, [np.flatnonzero(~finite.trace(np.arange(n), q).any(axis=1))])


def _shifts(n: int, blocks: list[Int]) -> Float:
    """All shifts of some blocks."""
    sets = np.zeros((len(blocks), n, n))
    for k, block in enumerate(blocks):
        sets[k, np.arange(n)[:, None], (block + np.arange(n)[:, None]) % n] = 1.0
    return sets.reshape(-1, n)


def _residues(finite: Field, size: int) -> Iterator[Float]:
    """Block designs of translates of cosets of powers in a field, without zero and with zero; the
    fewest cosets.
    """
    n = len(finite.elements)
    for zero in (0, 1):
        if size - zero < 2 or (n - 1) % (size - zero):
            continue
        classes = (n - 1) // (size - zero)
        for used in (d for d in range(1, classes + 1) if classes % d == 0):
            blocks = [finite.powers[k::classes] for k in range(used)]
            sets = np.vstack([_translates(finite, block, zero) for block in blocks])
            if is_balanced(sets, size):
                yield sets
                break


def _translates(finite: Field, block: Int, zero: int) -> Float:
    """Indicators of all translates of a block of elements, with 0 added if ``zero`` is 1; shape
    ``(n, n)``.
    """
    n = len(finite.elements)
    moved = (
        finite.elements[:, None, :] + np.vstack([block, np.zeros((zero, finite.e), np.int64)])[None]
    )
    sets = np.zeros((n, n))
    sets[np.arange(n)[:, None], finite.numbers(moved)] = 1.0
    return sets


def _affine(finite: Field, size: int) -> Iterator[Float]:
    """Hyperplanes of an affine space: elements for which the trace of a multiple has one value."""
    n = len(finite.elements)
    if n % size or field(n // size) is None:
        return
    q = n // size
    degree = np.log(n) / np.log(q)
    if abs(degree - round(degree)) > 1e-9 or round(degree) < 2:
        return
    places = finite.numbers(finite.powers)
    sets = []
    for shift in range((n - 1) // (q - 1)):
        values = np.zeros(n, np.int64)
        values[places] = finite.numbers(finite.trace(np.arange(n - 1) + shift, q))
        sets += [values == value for value in np.unique(values)]
    yield np.array(sets, dtype=np.float64)


def _with_a_point(n: int, size: int) -> Iterator[Float]:
    """Sets of half the answers: a symmetric design with one more point in every set, and
    complements (Hadamard).
    """
    smaller = block_design(n - 1, size - 1)
    if smaller is not None and len(smaller) == n - 1:
        sets = np.column_stack([smaller, np.ones(n - 1)])
        yield np.vstack([sets, 1 - sets])


def _searched(n: int, size: int, most: int) -> Float | None:
    """At most ``most`` blocks of integers modulo ``n`` in which every difference occurs equally
    often.
    """
    if n > SEARCHED:
        return None
    for count in range(1, most + 1):
        if count * size * (size - 1) % (n - 1) == 0:
            search = _DifferenceSearch(n, size, count)
            sets = (
                _shifts(n, [np.array(block) for block in search.blocks])
                if search.extended()
                else None
            )
            if sets is not None and is_balanced(sets, size):
                return sets
    return None


class _DifferenceSearch:
    """Depth-first search for a difference family: blocks of integers modulo ``n``.

    Every difference has to occur equally often among all ordered pairs of a block. Then all shifts
    of the blocks are balanced sets. A number is added while no difference occurs too often. Each
    block may begin with 0, since a shift of it gives the same sets.
    """

    def __init__(self, n: int, size: int, count: int) -> None:
        self.n = n
        self.size = size
        self.count = count
        self.each = count * size * (size - 1) // (n - 1)
        self.seen = [0] * n
        self.blocks: list[list[int]] = [[0]]
        self.nodes = 0

    def extended(self) -> bool:
        """Complete the blocks; False if that is impossible or takes too long."""
        block = self.blocks[-1]
        if len(block) == self.size:
            if len(self.blocks) == self.count:
                return True
            self.blocks.append([0])
            if self.extended():
                return True
            self.blocks.pop()
            return False
        for x in range(block[-1] + 1, self.n):
            self.nodes += 1
            if self.nodes > NODES:
                return False
            differences = [d for z in block for d in (x - z, z - x + self.n)]
            for d in differences:
                self.seen[d] += 1
            if all(self.seen[d] <= self.each for d in differences):
                block.append(x)
                if self.extended():
                    return True
                block.pop()
            for d in differences:
                self.seen[d] -= 1
        return False
