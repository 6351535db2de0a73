"""Marginals and other workloads whose Gram matrix depends only on the attributes in which two answers differ."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_statement import Statement, least_ratio
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.limits import DesignLimits
from ldpopt.designing.methods.method import DesignMethod, DesignTask, RawDesign
from ldpopt.designing.methods.product.generation import ENTRIES, Orbits, ReducedProgram
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float

MASSES = 1 << 53  # sum of the masses of a row


class ProductDesign(DesignMethod):
    """Sets that depend on few attributes, with all their images; a bound in closed form.

    By symmetry the variance is the same for every answer, so that average and worst case have the same design.
    """

    name = "product"

    def suits(self, form: DesignForm, limits: DesignLimits) -> bool:
        """More answers than are listed, attributes known, equal weights, Gram matrix in the scheme."""
        n = form.problem.workload.shape[1]
        is_between = limits.listed_answers < n <= limits.product_answers
        return form.problem.outputs is None and is_between and form.scheme is not None

    def because(self, form: DesignForm, limits: DesignLimits) -> str:
        """The reason names the structure of the Gram matrix."""
        return "the Gram matrix depends only on the attributes in which two answers differ: the bound is in closed form"

    def solve(self, task: DesignTask) -> RawDesign:
        """Find sets with all their images; multipliers of the scheme prove the bound."""
        form, scheme = task.form, task.form.scheme
        assert scheme is not None
        eigenvalues = scheme.eigenvalues(form.problem.workload.gram)
        assert eigenvalues is not None
        reduced = ReducedProgram(scheme, eigenvalues, float(np.exp(-form.epsilon)), float(-np.expm1(-form.epsilon)))
        orbits = reduced.generate(task.gap, task.deadline)
        if orbits is None:
            what = f"sets with all their images would make a channel of more than {ENTRIES:,} entries"
            raise NotRepresentableError(what, do="design for fewer attributes, or for a simpler workload")
        channel = np.ldexp(masses(orbits, form.epsilon).astype(np.float64), -53)
        weights = form.problem.all_weights
        statement = Statement.of(form.problem.workload.matrix, weights, form.classes)
        spectrum = Spectrum.of(statement, scheme)
        assert spectrum is not None
        bound = ProductBound.best(spectrum, least_ratio(form.epsilon))
        note = f"{len(orbits.images)} sets with all their images"
        left_inverse = left_inverse_of(scheme, channel, eigenvalues)
        return RawDesign(channel, left_inverse, weights, (bound,), orbits.rounds, (note,))


def masses(orbits: Orbits, epsilon: Budget) -> NDArray[np.int64]:
    """Integer masses, shape ``(n, m)``: two in each column, with a ratio of at most ``e**epsilon``."""
    # All rows have the same sum, whatever the masses are; a constant column brings it to `MASSES`.
    ratio = 1 / epsilon.enclosure()[0]
    columns = []
    for images, q in zip(orbits.images, orbits.q, strict=True):
        share = Fraction(float(images.mean()))
        theta = Fraction(float(q)) / (len(images) * (ratio + (1 - ratio) * share))
        # The low masses are rounded up, and the high ones down so far that the rows sum to at most 1.
        high = int(theta * MASSES) - int((1 - share) / (share + (1 - share) * ratio)) - 1
        low = -int(-(high * ratio) // 1)
        columns.append(np.where(images > 0, high, low).astype(np.int64).T)
    found = np.hstack(columns)
    rest = MASSES - found.sum(axis=1)
    return found if not rest.any() else np.column_stack([found, rest])


def left_inverse_of(scheme: Scheme, channel: Float, eigenvalues: Float) -> Float:
    """``X`` with ``W X`` the best unbiased estimator: ``1/n + S g_y``, ``S`` the inverse of the needed information."""
    found = information(scheme, np.ldexp(channel, 53).astype(np.int64))
    assert found is not None
    have = np.array([float(value) for value in found]).reshape(scheme.shape)
    needed = (eigenvalues > 1e-12 * eigenvalues.ravel()[1:].max()) & (have > 0)
    needed.flat[0] = False
    inverse = np.where(needed, 1 / np.where(have > 0, have, 1.0), 0.0)
    over = channel - channel.min(axis=0)
    scores = (over - over.mean(axis=0)) / channel.mean(axis=0)
    return np.asarray(scheme.matrix(inverse) @ scores + 1 / scheme.n)


def information(scheme: Scheme, masses: NDArray[np.int64]) -> list[Fraction] | None:
    """Eigenvalues of the information of a channel with two masses in each column; None if it is not in the scheme."""
    # Columns with the same masses and sets of the same size are counted together.
    n = scheme.n
    high, low = masses.max(axis=0), masses.min(axis=0)
    inside = masses == high
    if not (inside | (masses == low)).all():
        return None
    inside &= high > low
    found = [Fraction(0)] * 2 ** len(scheme.sizes)
    for key in {*zip(high.tolist(), low.tolist(), inside.sum(axis=0).tolist(), strict=True)}:
        chosen = (high == key[0]) & (low == key[1]) & (inside.sum(axis=0) == key[2])
        sets = inside[:, chosen].astype(np.float64)
        pairs = scheme.eigenvalues((sets @ sets.T).astype(np.int64))
        if pairs is None:
            return None
        step, mass = key[0] - key[1], key[1] * n + (key[0] - key[1]) * key[2]
        if step:
            share = Fraction(step * step * n, MASSES * mass)
            found = [have + share * int(more) for have, more in zip(found, pairs.ravel(), strict=True)]
    return found
