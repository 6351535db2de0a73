"""The method for marginals and other workloads that only see in which attributes answers differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.certificate.design_bound import Statement, least_ratio
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.methods.product.generation import Reduced
from ldpopt.designing.methods.product.realize import left_inverse_of, masses
from ldpopt.designing.pricing import LISTED
from ldpopt.designing.record import Design
from ldpopt.designing.task import Task

MOST = 4096
"""Most answers."""


@dataclass(frozen=True)
class Products:
    """Sets that depend on few attributes, with all their images; a bound in closed form.

    By symmetry the variance is the same for every answer, so that average and worst case have the same design.
    """

    least: int = LISTED + 1

    def suits(self, task: Task) -> bool:
        """Attributes known, answers weighted alike, Gram matrix in the scheme."""
        sizes, r = task.workload.sizes, task.weights
        if (
            sizes is None
            or not task.is_pure
            or not self.least <= task.n <= MOST
            or task.n != len(r)
            or (r != r[0]).any()
        ):
            return False
        return Scheme(sizes).eigenvalues(task.workload.gram) is not None

    def solve(self, task: Task) -> Design | None:
        """Design and proof; None where channels of moderate size cannot tell all that is wanted."""
        sizes, epsilon = task.workload.sizes, task.epsilon
        assert sizes is not None
        scheme = Scheme(sizes)
        eigenvalues = scheme.eigenvalues(task.workload.gram)
        assert eigenvalues is not None
        reduced = Reduced(scheme, eigenvalues, float(np.exp(-epsilon)), float(-np.expm1(-epsilon)))
        orbits = reduced.generate(task.gap, task.deadline)
        if orbits is None:
            return None
        channel = np.ldexp(masses(orbits, epsilon).astype(np.float64), -53)
        statement = Statement.of(task.workload.matrix, task.weights, task.merged)
        spectrum = Spectrum.of(statement, scheme)
        assert spectrum is not None
        proof = ProductBound.best(spectrum, least_ratio(epsilon))
        inverse = left_inverse_of(scheme, channel, eigenvalues)
        note = f"{len(orbits.images)} sets with all their images, {orbits.rounds} rounds of pricing"
        return task.finish(channel, inverse, proof, task.weights, note)
