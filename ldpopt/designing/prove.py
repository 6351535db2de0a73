"""The only finish of a design: exact value, exact bound, audit. Nothing that a method found is trusted."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np

from ldpopt.certificate.design_bound import NoBound
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.certificate.design_statement import Cone, Statement, cone_of
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.method import RawDesign
from ldpopt.errors import PrivacyViolationError


def prove_design(form: DesignForm, raw: RawDesign) -> DesignCertificate:
    """Value of the channel with its estimator, and the bound of the first multipliers that hold, in rationals."""
    # The last multipliers that are tried treat all answers alike. If none hold, the bound is 0.
    problem, channel = form.problem, raw.channel
    assert isinstance(channel, np.ndarray)
    assert raw.left_inverse is not None
    workload = problem.workload
    statement = Statement.of(workload.matrix, raw.weights, form.classes)
    rays = form.private_columns.rays
    cone = cone_of(problem.privacy, workload.inputs) if rays is None else rays
    candidates = chain(raw.bounds, _bound_of_equal_answers(statement, cone))
    multipliers = next((one for one in candidates if one.holds(statement, cone)), NoBound())
    certificate = DesignCertificate.of(
        *(workload, problem.privacy, raw.weights, problem.objective),
        *(channel, raw.left_inverse, multipliers, form.classes),
    )
    if certificate.audit.verdict != "certified":
        what = f"the channel that was found is not private: epsilon {certificate.audit.epsilon:.9g} found"
        where = f"inputs and output {certificate.audit.witness}"
        raise PrivacyViolationError(what, where=where, do="report this as a defect of ldpopt, with the problem")
    return certificate


def _bound_of_equal_answers(statement: Statement, cone: Cone) -> Iterator[ProductBound]:
    """Under pure privacy with equal weights, the multipliers that treat all answers alike; else nothing."""
    spectrum = Spectrum.of(statement, Scheme((len(statement.weights.whole),))) if isinstance(cone, Fraction) else None
    if spectrum is not None and isinstance(cone, Fraction):
        yield ProductBound.best(spectrum, cone)


def better(one: DesignCertificate, two: DesignCertificate) -> DesignCertificate:
    """The design with the smaller value, and the multipliers with the larger bound."""
    best = one if one.achieved <= two.achieved else two
    bound = one if one.bound >= two.bound else two
    # An estimator with a bias within rounding may be better than the bound by as little.
    proved = min(bound.bound, best.achieved)
    return replace(best, weights=bound.weights, multipliers=bound.multipliers, bound=proved)
