"""Marginals and other workloads whose Gram matrix depends only on the attributes in which two
answers differ.

Column generation among sets with all their images, in a reduced program.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ldpopt.certificate.design_bound import Bound
from ldpopt.certificate.design_bound_moments import MomentLevels
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_statement import Statement, least_ratio
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask, RawDesign
from ldpopt.designing.methods.product.moments import best_bound
from ldpopt.designing.methods.product.sets import (
    LISTED,
    generators,
    lifted,
    masks,
    orbit,
    placements,
    spaces,
)
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import Budget, round_up
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int

MASSES = 1 << 53  # sum of the masses of a row
# largest number of combinations of attributes that a set may depend on, unless the workload needs
# more
POINTS = 64
ENTRIES = 4_000_000  # largest number of entries of a channel
ROUNDS = 60  # limit on rounds of pricing
ADDED = 6  # sets that are added from each space in a round
SEARCHES = 4  # rounds in which sets of many combinations are sought
# largest number of attributes for the bound by pairs, whose program has 3 * 2**d unknowns
MOST_PAIRED = 8
SIZES = 300  # largest number of sizes of sets in the linear program of the bound by pairs
MIXED = (0.0, 0.25, 0.5, 0.75)  # weights of equal costs in the multipliers that are tried for it
USED = 1e-9  # probability below which a set is left out
STEPS = 200  # limit on Newton steps; 20 to 40 are usual
TO_BORDER = 0.95  # share of the distance to the boundary that a step goes
Key = tuple[int, bytes]  # a set: the number of its space, and its indicator there


@dataclass(frozen=True, eq=False)
class Orbits:
    """Sets with all their images."""

    images: list[Float]  # indicators of each orbit, shape (images, n)
    q: Float  # probability of each orbit
    rounds: int  # of pricing


class ReducedProgram:
    """A workload whose Gram matrix has given eigenvalues over the sets of attributes, shape ``(2,)
    * d``.

    A set is used with all its images under the permutations that leave the problem unchanged, all
    equally likely. The information is then a multiple of the identity on each eigenspace of the
    scheme, so that a set is described by few numbers: its information on each *type*, which is a
    class of subsets of attributes that the workload does not distinguish. The value is the sum of
    ``cost / information`` over the types, and `solve_reduced` mixes the sets.

    Sets are sought in *spaces*: those that depend on the attributes of a space only. The eigenvalue
    of the constant is not used. ``base`` is ``e**-epsilon``, ``spread`` is ``1 - e**-epsilon``.
    """

    def __init__(self, scheme: Scheme, eigenvalues: Float, base: float, spread: float) -> None:
        self.scheme = scheme
        self.base = base
        self.spread = spread
        self.classes = scheme.interchangeable(eigenvalues)
        flat = eigenvalues.ravel().copy()
        flat[0] = 0.0
        flat[flat <= 1e-12 * flat.max()] = 0.0
        d = len(scheme.sizes)
        bits = (np.arange(2**d)[:, None] >> np.arange(d)[::-1]) & 1
        counted = np.array(
            [
                [row[np.array(self.classes) == kind].sum() for kind in set(self.classes)]
                for row in bits
            ]
        )
        needed = np.flatnonzero(flat > 0)
        types, place = np.unique(counted[needed], axis=0, return_inverse=True)
        self.type_of = np.full(2**d, len(types))
        self.type_of[needed] = place.ravel()
        ranks = np.bincount(place.ravel(), weights=scheme.ranks.ravel()[needed])
        self.cost = flat[needed[np.unique(place.ravel(), return_index=True)[1]]] * ranks**2
        largest = max(np.prod(np.array(scheme.sizes)[bits[mask] == 1]) for mask in needed)
        self.spaces = spaces(scheme.sizes, self.classes, int(max(POINTS, largest)))
        # of the parts of each space
        self.types = [self.type_of[masks(space, d)] for space in self.spaces]
        self.most = ENTRIES // scheme.n
        self.orbits: dict[Key, Float | None] = {}

    def generate(self, gap: float, deadline: Deadline = NO_LIMIT) -> Orbits | None:
        """Find the best sets; None if no set with few enough images makes the workload
        estimable.
        """
        keys, information = self._first()
        if (information.max(axis=0, initial=0.0) == 0).any():
            return None
        searches, rounds = 0, 0
        while rounds < ROUNDS:
            rounds += 1
            q, value = solve_reduced(np.asarray(self.cost, dtype=np.float64), information, gap / 10)
            prices = self.cost / (q @ information) ** 2
            more = self._costliest(prices, value * (1 + gap / 4))
            if not len(more[0]) and searches < SEARCHES:
                searches += 1
                self._search(prices, value, [keys[a] for a in np.flatnonzero(q > USED)])
                more = self._costliest(prices, value * (1 + gap / 4))
            known = {*keys}
            fresh = [a for a, key in enumerate(more[0]) if key not in known]
            if (not fresh and searches == SEARCHES) or deadline.is_over:
                break
            keys = keys + [more[0][a] for a in fresh]
            information = np.vstack([information, more[1][fresh]])
        return self._orbits(keys[: len(q)], self._fewest(keys, information[: len(q)], q), rounds)

    def _fewest(self, keys: list[Key], information: Float, q: Float) -> Float:
        """Probabilities of the sets of some keys, (sets,), with the information of ``q`` or more
        and the fewest images: a vertex, so that at most types + 1 sets have any.

        ``information`` is (sets, types). Sets that were found in the last round have none in ``q``.
        """
        from scipy.optimize import linprog

        sizes = []
        for key in keys[: len(q)]:
            images = self._images(key)
            assert images is not None
            sizes.append(len(images) * len(placements(self.spaces[key[0]].places, self.classes)))
        scale = q @ information
        weights = np.ones((1, len(q)))
        more = -(information / scale).T
        solution = linprog(sizes, A_ub=more, b_ub=-np.ones(len(scale)), A_eq=weights, b_eq=[1.0])
        return np.asarray(solution.x) if solution.status == 0 else q

    def _first(self) -> tuple[list[Key], Float]:
        """Sets that together have information on all types, if there are any."""
        keys, information = self._costliest(1 / np.sqrt(self.cost), 0.0)
        for place in np.flatnonzero(information.max(axis=0, initial=0.0) == 0):
            unit = np.eye(len(self.cost))[place]
            self._search(unit, 0.0, [])
            more = self._costliest(unit, 0.0)
            keys = keys + more[0]
            information = np.vstack([information, more[1]])
        return keys, information

    def _costliest(self, prices: Float, least: float) -> tuple[list[Key], Float]:
        """The costliest sets of each space that cost more than ``least``, and their information on
        each type.
        """
        keys: list[Key] = []
        information: list[Float] = []
        padded = np.append(prices, 0.0)
        for place, (space, types) in enumerate(zip(self.spaces, self.types, strict=True)):
            if not len(space.sets):
                continue
            parts = space.information(self.scheme.n, self.base, self.spread)
            cost = parts @ padded[types]
            added = 0
            for a in np.argsort(-cost):
                if not cost[a] > least or added == ADDED:
                    break
                key = (place, space.sets[a].tobytes())
                if self._images(key) is None:
                    continue
                added += 1
                keys.append(key)
                information.append(
                    np.bincount(types, weights=parts[a], minlength=len(padded))[:-1].astype(
                        np.float64
                    )
                )
        return keys, np.array(information, dtype=np.float64).reshape(-1, len(prices))

    def _search(self, prices: Float, value: float, used: list[Key]) -> None:
        """Search for sets in the spaces that are not listed; the used sets are among the starts."""
        padded = np.append(prices, 0.0)
        for space, types in zip(self.spaces, self.types, strict=True):
            if space.scheme.n <= LISTED:
                continue
            starts = [np.zeros((0, space.scheme.n))]
            for place, indicator in used:
                part = self.spaces[place]
                if set(part.places) <= set(space.places):
                    inner = tuple(space.places.index(attribute) for attribute in part.places)
                    starts.append(lifted(np.frombuffer(indicator)[None], inner, space.scheme))
            space.search(
                padded[types], value, self.scheme.n, self.base, self.spread, np.vstack(starts)
            )

    def _images(self, key: Key) -> Float | None:
        """Images of a set in its own attributes; None if the channel would be too large."""
        if key not in self.orbits:
            space = self.spaces[key[0]]
            inner = [self.classes[place] for place in space.places]
            spots = len(placements(space.places, self.classes))
            self.orbits[key] = orbit(
                np.frombuffer(key[1]), generators(space.scheme, inner), self.most // spots
            )
        return self.orbits[key]

    def _orbits(self, keys: list[Key], q: Float, rounds: int) -> Orbits:
        """The used sets with all their images over all answers."""
        images = []
        kept = np.flatnonzero(q > USED)
        for a in kept:
            part = self._images(keys[a])
            assert part is not None
            spots = placements(self.spaces[keys[a][0]].places, self.classes)
            images.append(np.vstack([lifted(part, spot, self.scheme) for spot in spots]))
        return Orbits(images, q[kept] / q[kept].sum(), rounds)


def solve_reduced(cost: Float, information: Float, gap: float) -> tuple[Float, float]:
    r"""Probabilities of the sets, and the value; ``cost`` has the shape ``(c,)``, ``information``
    ``(m, c)``.

    A set with all its images has the information ``s_j`` on the class ``j`` of eigenspaces, ``c_j =
    mu_j rank_j^2``:

    .. math:: \min_{q \ge 0, \sum q = 1} \sum_j \frac{c_j}{\sum_A q_A s_j(A)} .

    The value is homogeneous: ``sum q`` is added to it in place of the equation, and the result is
    scaled. This average master with a system of ``c`` rows takes 0.7 to 1.1 ms; the general one
    with images took 14 to 459 ms.

    """
    scale = information.max(axis=0)
    information = information / scale
    cost = cost / scale
    cost, unit = cost / cost.sum(), cost.sum()
    q = np.full(len(information), 1.0 / len(information))
    q *= np.sqrt((cost / (q @ information)).sum())
    slack = np.ones(len(q))
    for _ in range(STEPS):
        s = q @ information
        price = information @ (cost / s**2)
        value = float((cost / s).sum())
        # value * sum q is the value at a total of 1, (value of the prices)^2 / largest its bound.
        if 1 - value / (q.sum() * price.max()) <= gap:
            break
        level = float(q @ slack) / len(q) * 0.1
        # I: information. (2 I diag(c / s^3) I^T + diag(slack / q)) dq = price - 1 + level / q, by a
        # small matrix.
        spread = q / slack
        right = price - 1 + level / q
        small = np.diag(s**3 / (2 * cost)) + (information.T * spread) @ information
        dq = spread * (
            right - information @ np.linalg.solve(small, information.T @ (spread * right))
        )
        dslack = (level - slack * dq) / q - slack
        steepest = max(float((-dq / q).max()), float((-dslack / slack).max()))
        length = min(1.0, TO_BORDER / steepest) if steepest > 0 else 1.0
        q = q + length * dq
        slack = slack + length * dslack
    return q / q.sum(), value * float(q.sum()) * unit


class ProductDesign(DesignMethod):
    """Sets that depend on few attributes, with all their images; a bound in closed form.

    By symmetry the variance is the same for every answer, so that average and worst case have the
    same design.
    """

    name = "product"

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """More answers than are listed, attributes known, equal weights, Gram matrix in the
        scheme.
        """
        is_between = (
            limits.listed_answers < form.problem.workload.shape[1] <= limits.product_answers
        )
        if form.problem.outputs is not None or not is_between or form.scheme is None:
            return None
        return (
            "the Gram matrix depends only on the attributes in which two answers differ: the "
            "bound is in closed form"
        )

    def solve(self, task: DesignTask) -> RawDesign:
        """Find sets with all their images; multipliers of the scheme prove the bound."""
        form = task.form
        scheme = task.form.scheme
        assert scheme is not None
        eigenvalues = scheme.eigenvalues(form.problem.workload.gram)
        assert eigenvalues is not None
        reduced = ReducedProgram(
            scheme, eigenvalues, float(np.exp(-form.epsilon)), float(-np.expm1(-form.epsilon))
        )
        orbits = reduced.generate(task.gap, task.deadline)
        if orbits is None:
            problem = (
                f"sets with all their images would make a channel of more than {ENTRIES:,} entries"
            )
            raise NotRepresentableError(
                problem,
                code="large-channel",
                do="design for fewer attributes, or for a simpler workload",
            )
        channel = np.ldexp(masses(orbits, form.epsilon).astype(np.float64), -53)
        weights = form.problem.all_weights
        spectrum = Spectrum.of(
            Statement.of(form.problem.workload.matrix, weights, form.classes), scheme
        )
        assert spectrum is not None
        left_inverse, inverse = left_inverse_of(scheme, channel, eigenvalues)
        bounds = best_bounds(spectrum, least_ratio(form.epsilon), inverse, task.gap, task.deadline)
        note = f"{len(orbits.images)} sets with all their images"
        return RawDesign(channel, left_inverse, weights, bounds, orbits.rounds, (note,))


def best_bounds(
    spectrum: Spectrum, base: Fraction, inverse: Float, gap: float, deadline: Deadline
) -> tuple[Bound, ...]:
    """The bound in closed form, and that by pairs, or for binary attributes that by moments; the
    largest first.
    """
    closed = ProductBound.best(spectrum, base)
    levels = MomentLevels.of(spectrum)
    if levels is None:
        # The inverse of the information is best if no set is; between it and equal costs something
        # better may be.
        tried = [inverse.ravel() ** (1 - power) * closed.eigenvalues**power for power in MIXED]
        fits = 1 < len(spectrum.scheme.sizes) <= MOST_PAIRED
        bounds = [closed, *(pairs_bound(spectrum, base, sigma) for sigma in tried if fits)]
        return tuple(sorted(bounds, key=lambda bound: -bound.value_of(spectrum)))
    value = float(
        (np.array(spectrum.mu, dtype=np.float64) * spectrum.scheme.ranks.ravel()) @ inverse.ravel()
    )
    by_moments = best_bound(levels, base, value, gap, deadline)
    is_larger = by_moments.value_of(levels) > closed.value_of(spectrum)
    return (by_moments, closed) if is_larger else (closed, by_moments)


def pairs_bound(spectrum: Spectrum, base: Fraction, sigma: Float) -> ProductBound:
    """The bound by pairs for multiples of ``sigma``; a linear program finds which eigenvalues are
    raised.
    """
    scheme = spectrum.scheme
    mu = np.array(list(map(float, spectrum.mu)))
    nu = sigma**2 * (mu + float(spectrum.beside))
    sigma = sigma / np.sqrt(nu.max())
    raised = _raised(scheme, nu / nu.max(), float(base))
    bound = ProductBound(scheme.sizes, sigma, 0.0, raised)
    factor = float((sigma * mu) @ scheme.ranks.ravel()) / (
        scheme.n * float(bound.least_level(spectrum, base))
    )
    bound = replace(bound, eigenvalues=sigma * factor, raised=raised * factor**2)
    return replace(bound, level=round_up(bound.least_level(spectrum, base)))


def _raised(scheme: Scheme, nu: Float, b: float) -> Float:
    """The raised eigenvalues, at least ``nu``, with the smallest level for sets of all sizes.

    A linear program. Its unknowns are the raised eigenvalues, the positive and the negative parts
    of the coefficients of pairs, and the level; a row for each size of the sets.
    """
    from scipy.optimize import linprog

    count = len(nu)
    n = scheme.n
    columns = [scheme.entries(unit.reshape(scheme.shape)) * scheme.ranks for unit in np.eye(count)]
    entries = np.array([column.ravel() for column in columns]).T
    m = np.unique(np.linspace(1, n, min(n, SIZES)).round())[:, None] / n
    ones = np.ones((1, count - 1))
    none = np.zeros((count - 1, 1))
    rows = [
        m * entries[0] - m**2 * (np.arange(count) == 0),
        m * ones,
        -np.maximum(2 * m - 1, 0) * ones,
    ]
    rows.append(-((b / (1 - b) + m) ** 2))
    equal = np.hstack([entries[1:], -np.eye(count - 1), np.eye(count - 1), none])
    limits = [(None, None), *((least, None) for least in nu[1:]), *[(0, None)] * (2 * count - 1)]
    solution = linprog(
        np.eye(3 * count - 1)[-1], np.hstack(rows), np.zeros(len(m)), equal, none.ravel(), limits
    )
    return np.full(count, 1.0) if solution.x is None else np.asarray(solution.x[:count])


def masses(orbits: Orbits, epsilon: Budget) -> Int:
    """Integer masses, shape ``(n, m)``: two in each column, with a ratio of at most
    ``e**epsilon``.
    """
    # All rows have the same sum, whatever the masses are; a constant column brings it to `MASSES`.
    ratio = 1 / epsilon.enclosure()[0]
    columns = []
    for images, q in zip(orbits.images, orbits.q, strict=True):
        share = Fraction(float(images.mean()))
        theta = Fraction(float(q)) / (len(images) * (ratio + (1 - ratio) * share))
        # The low masses are rounded up, and the high ones down so far that the rows sum to at most
        # 1.
        high = int(theta * MASSES) - int((1 - share) / (share + (1 - share) * ratio)) - 1
        low = -int(-(high * ratio) // 1)
        columns.append(np.where(images > 0, high, low).astype(np.int64).T)
    counts = np.hstack(columns)
    remainders = MASSES - counts.sum(axis=1)
    return counts if not remainders.any() else np.column_stack([counts, remainders])


def left_inverse_of(scheme: Scheme, channel: Float, eigenvalues: Float) -> tuple[Float, Float]:
    """``X`` with ``W X`` the best unbiased estimator: ``1/n + S g_y``; and ``S``, the inverse of
    needed information.
    """
    parts = information(scheme, np.ldexp(channel, 53).astype(np.int64))
    assert parts is not None
    have = np.array([float(value) for value in parts]).reshape(scheme.shape)
    needed = (eigenvalues > 1e-12 * eigenvalues.ravel()[1:].max()) & (have > 0)
    needed.flat[0] = False
    inverse = np.where(needed, 1 / np.where(have > 0, have, 1.0), 0.0)
    over = channel - channel.min(axis=0)
    scores = (over - over.mean(axis=0)) / channel.mean(axis=0)
    return np.asarray(scheme.matrix(inverse) @ scores + 1 / scheme.n), inverse


def information(scheme: Scheme, masses: Int) -> list[Fraction] | None:
    """Eigenvalues of the information of a channel with two masses in each column; None if it is not
    in the scheme.
    """
    # Columns with the same masses and sets of the same size are counted together.
    n = scheme.n
    high = masses.max(axis=0)
    low = masses.min(axis=0)
    inside = masses == high
    if not (inside | (masses == low)).all():
        return None
    inside &= high > low
    energies = [Fraction(0)] * 2 ** len(scheme.sizes)
    for key in {*zip(high.tolist(), low.tolist(), inside.sum(axis=0).tolist(), strict=True)}:
        chosen = (high == key[0]) & (low == key[1]) & (inside.sum(axis=0) == key[2])
        sets = inside[:, chosen].astype(np.float64)
        pairs = scheme.eigenvalues((sets @ sets.T).astype(np.int64))
        if pairs is None:
            return None
        step = key[0] - key[1]
        mass = key[1] * n + (key[0] - key[1]) * key[2]
        if step:
            share = Fraction(step * step * n, MASSES * mass)
            energies = [
                have + share * int(more) for have, more in zip(energies, pairs.ravel(), strict=True)
            ]
    return energies
