"""Symmetry: permutations of the answers that leave workload and weights unchanged, and coordinates
in blocks.

If one is its own inverse, half of the columns suffice: the information has no entries between its
two eigenspaces.
"""

from collections.abc import Sequence

import numpy as np

from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import Cone
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import Columns

SAME = 1e-12  # relative difference up to which two Gram matrices are the same
LARGEST_KEY = 52  # answers whose sets are numbers that floats hold exactly
LARGEST_GROUP = 4  # largest number of permutations that are averaged over one by one
Permutations = Int


def symmetry_group(contrasts: Contrasts, hints: Sequence[Permutations], cone: Cone) -> Permutations:
    """A small group of symmetries, one a row, the identity first.

    The hints and the reversal of the order are tried. The value is convex, so the average of a
    design over a group of symmetries is at least as good: it is enough to seek designs in which all
    images of a column have the same probability. That divides the number of columns by the size of
    the group.
    """
    n = len(contrasts.weights)
    members = [np.arange(n)]
    for hint in (*hints, np.arange(n)[::-1]):
        if _is_symmetry(contrasts, hint) and not _is_in(hint, members) and cone.is_symmetric(hint):
            members = _closure([*members, hint]) or members
    return np.array(members)


def _is_symmetry(contrasts: Contrasts, order: Permutations) -> bool:
    """Whether a permutation leaves the weights and the Gram matrix of the workload unchanged."""
    r = contrasts.weights
    gram = contrasts.centered
    if not np.array_equal(r[order], r):
        return False
    return bool(np.abs(gram[np.ix_(order, order)] - gram).max() <= SAME * np.abs(gram).max())


def _is_in(order: Permutations, members: Sequence[Permutations]) -> bool:
    return any(np.array_equal(order, member) for member in members)


def _closure(members: list[Permutations]) -> list[Permutations] | None:
    """All products; None if there are too many."""
    products = list(members)
    for first in products:
        for second in members:
            product = first[second]
            if not _is_in(product, products):
                products.append(product)
            if len(products) > LARGEST_GROUP:
                return None
    return products


def involutions(permutations: Permutations) -> Permutations:
    """A group of permutations if each is its own inverse; else the identity and one that is, if
    any.
    """
    involutory = [
        order for order in permutations if np.array_equal(order[order], np.arange(len(order)))
    ]
    return np.array(involutory if len(involutory) == len(permutations) else involutory[:2])


def representatives(shapes: Float, permutations: Permutations) -> Float:
    """One column of every orbit."""
    if not len(shapes):
        return shapes
    kept: dict[bytes, int] = {}
    for place, shape in enumerate(shapes):
        kept.setdefault(min(shape[order].tobytes() for order in permutations), place)
    return np.asarray(shapes[list(kept.values())])


def new_representatives(shapes: Float, columns: Columns, permutations: Permutations) -> Float:
    """One column of every orbit of which none is among the columns yet."""
    known = {shape.tobytes() for shape in columns.shapes}
    shapes = representatives(shapes, permutations)
    is_new = [
        not any(shape[order].tobytes() in known for order in permutations) for shape in shapes
    ]
    return np.asarray(shapes[np.array(is_new, dtype=bool)]).reshape(-1, columns.shapes.shape[1])


def all_images(shapes: Float, q: Float, permutations: Permutations) -> tuple[Float, Float]:
    """All images of columns, each with its share of the probability; equal images are joined."""
    images = np.vstack([shapes[:, order] for order in permutations])
    shares = np.tile(q / len(permutations), len(permutations))
    first, place = _distinct(images)
    total: Float = np.bincount(place, weights=shares, minlength=len(first)).astype(np.float64)
    return images[first], total


def _distinct(shapes: Float) -> tuple[Int, Int]:
    """Places of the first of equal shapes, in their order, and for each shape the place of its
    equals there.
    """
    n = shapes.shape[1]
    is_set = n <= LARGEST_KEY and not ((shapes != 0) & (shapes != 1)).any()
    # a set is a number, which is sorted in a tenth of the time of a row
    keys = shapes @ 2.0 ** np.arange(n)[::-1] if is_set else shapes
    axis = None if is_set else 0
    _, first, place = np.unique(keys, axis=axis, return_index=True, return_inverse=True)
    return first, place.ravel()


class Blocks:
    """Contrasts in blocks: coordinates of scores, of which each permutation fixes or negates all of
    a block.

    ``bases`` are orthonormal, shape ``(n, d)`` each, the first one of the vectors that all
    permutations fix; ``grams`` are the Gram matrices of the centered workload in them, over the
    square of ``unit``, by which scores are divided.
    """

    def __init__(self, contrasts: Contrasts, permutations: Permutations, unit: float) -> None:
        bases = [contrasts.basis]
        for order in permutations[1:]:
            bases = [half for basis in bases for half in _halves(basis, order)]
        self.weights = contrasts.weights
        self.unit = unit
        self.bases = [basis for basis in bases if basis.shape[1]]
        self.has_fixed = bool(bases[0].shape[1])
        self.grams = [basis.T @ contrasts.centered @ basis / unit**2 for basis in self.bases]

    def scores(self, columns: Columns) -> list[Float]:
        """Coordinates of the scores of columns in each block, one column a row."""
        scores = columns.scores(self.weights) / self.unit
        return [np.ascontiguousarray(scores @ basis) for basis in self.bases]

    def over_answers(self, blocks: list[Float]) -> Float:
        """A quadratic form that is given in blocks, rewritten for vectors over all answers, shape
        ``(n, n)``.
        """
        parts = [basis @ block @ basis.T for basis, block in zip(self.bases, blocks, strict=True)]
        return np.asarray(np.sum(parts, axis=0) / self.unit**2)

    def line_over_answers(self, slope: Float) -> Float:
        """The linear form over all answers of one in the first block."""
        return np.asarray(
            self.bases[0] @ slope / self.unit if self.has_fixed else np.zeros(len(self.weights))
        )


def _halves(basis: Float, order: Permutations) -> tuple[Float, Float]:
    """Vectors that a permutation fixes, and those whose sign it changes."""
    moved = basis.T @ basis[order]
    values, vectors = np.linalg.eigh((moved + moved.T) / 2)
    return basis @ vectors[:, values > 0], basis @ vectors[:, values <= 0]
