"""The only finish of a design: exact value, exact bound, audit. What a method found is trusted in nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ldpopt.certificate.columns import holds
from ldpopt.certificate.design_bound import Multipliers, Statement
from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.method import RawDesign
from ldpopt.errors import PrivacyViolationError
from ldpopt.foundation.checks import frozen
from ldpopt.mechanism.mechanism import Mechanism


def prove_design(form: DesignForm, raw: RawDesign) -> DesignCertificate:
    """Value of the channel with its estimator, and the bound of the first multipliers that hold, in rationals.

    If no multipliers hold, which takes a budget at the end of the floats, they are zeros, and the bound is 0.
    """
    problem, channel = form.problem, raw.channel
    assert isinstance(channel, np.ndarray)
    assert raw.left_inverse is not None
    workload = problem.workload
    statement = Statement.of(workload.matrix, raw.weights, form.classes)
    about = problem.privacy, workload.inputs, form.allowed.rays
    confirmed = (one for one in raw.bounds if holds(statement, one, *about))
    proof = next(confirmed, Multipliers(np.zeros((form.n, form.n)), np.zeros(form.n)))
    mechanism = Mechanism(channel[form.classes.classes], workload.inputs, range(channel.shape[1]))
    certificate = DesignCertificate(
        workload,
        problem.privacy,
        frozen(raw.weights),
        problem.objective,
        mechanism,
        frozen(raw.left_inverse),
        proof,
        proof.value_above(statement, channel, raw.left_inverse, problem.objective),
        max(proof.bound_below(statement), Fraction(0)),
    )
    if certificate.audit.verdict != "certified":
        what = f"the channel that was found is not private: epsilon {certificate.audit.epsilon:.9g} found"
        raise PrivacyViolationError(what, where=f"inputs and output {certificate.audit.witness}")
    return certificate


def better(one: DesignCertificate, two: DesignCertificate) -> DesignCertificate:
    """The estimator with the smaller value, and the multipliers with the larger bound."""
    best = one if one.achieved <= two.achieved else two
    bound = one if one.bound >= two.bound else two
    return replace(best, weights=bound.weights, multipliers=bound.multipliers, bound=bound.bound)
