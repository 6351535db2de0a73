"""Marginals and other workloads that depend only on the attributes in which answers differ."""

from __future__ import annotations

import numpy as np

from ldpopt.certificate.design_bound import Statement, least_ratio
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.limits import DesignLimits
from ldpopt.designing.methods.method import DesignMethod, DesignTask, RawDesign
from ldpopt.designing.methods.product.generation import Reduced
from ldpopt.designing.methods.product.realize import left_inverse_of, masses
from ldpopt.errors import NotRepresentableError


class ProductDesign(DesignMethod):
    """Sets that depend on few attributes, with all their images; a bound in closed form.

    By symmetry the variance is the same for every answer, so that average and worst case have the same design.
    """

    name = "product"

    def suits(self, form: DesignForm, limits: DesignLimits) -> bool:
        """More answers than are listed, attributes known, answers weighted alike, Gram matrix in the scheme."""
        n = form.problem.workload.shape[1]
        is_between = limits.listed_answers < n <= limits.product_answers
        return form.problem.outputs is None and is_between and form.scheme is not None

    def because(self, form: DesignForm, limits: DesignLimits) -> str:
        """Structure."""
        return "the Gram matrix depends only on the attributes in which two answers differ: the bound is in closed form"

    def solve(self, task: DesignTask) -> RawDesign:
        """Sets with all their images, and the multipliers of the scheme."""
        form, scheme = task.form, task.form.scheme
        assert scheme is not None
        eigenvalues = scheme.eigenvalues(form.problem.workload.gram)
        assert eigenvalues is not None
        reduced = Reduced(scheme, eigenvalues, float(np.exp(-form.epsilon)), float(-np.expm1(-form.epsilon)))
        orbits = reduced.generate(task.gap, task.deadline)
        if orbits is None:
            raise NotRepresentableError("no set with few enough images makes the workload estimable")
        channel = np.ldexp(masses(orbits, form.epsilon).astype(np.float64), -53)
        weights = form.problem.all_weights
        statement = Statement.of(form.problem.workload.matrix, weights, form.classes)
        spectrum = Spectrum.of(statement, scheme)
        assert spectrum is not None
        bound = ProductBound.best(spectrum, least_ratio(form.epsilon))
        note = f"{len(orbits.images)} sets with all their images"
        left_inverse = left_inverse_of(scheme, channel, eigenvalues)
        return RawDesign(channel, left_inverse, weights, (bound,), orbits.rounds, (note,))
