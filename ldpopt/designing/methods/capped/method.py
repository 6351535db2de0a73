"""Designs of least variance whose influence is within caps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ldpopt.certificate.capped_certificate import CappedCertificate
from ldpopt.certificate.capped_statement import CappedStatement
from ldpopt.certificate.design_bound import Bound, NoBound
from ldpopt.certificate.design_bound_capped import CappedBound
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.capped.exclusion import no_design
from ldpopt.designing.methods.capped.program import CappedDual
from ldpopt.designing.methods.capped.search import CappedOptimum
from ldpopt.designing.methods.capped.task import RAISED, CappedTask
from ldpopt.designing.methods.capped.values import clipped, least_biased, unbiased
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask
from ldpopt.designing.realize import MARGINS
from ldpopt.errors import CertificateError, LdpoptError, StatementError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair

RARE = 1e-13  # probability of a report that is left out
RAISED_CAPS = (1e-8, 1e-7, 1e-6, 1e-5)  # by which part caps are raised in searches near the least
LAST_DIGITS = (1e-16, 1e-15, 1e-14)  # margins of large multipliers
FINE = 1e-9  # share of the bound that a margin of smaller ones costs at most
NEAR = 1e-9  # by which part a cap may be below the least one that was found


class CappedInfluence(DesignMethod):
    """Extreme columns and values of reports together, by an interior point method."""

    name = "capped influence"
    is_optimal = True

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """A cap on the influence."""
        if form.problem.influence is None:
            return None
        return (
            "the influence of a report has a cap: columns and values are found together, and all "
            "columns are priced"
        )

    def solve(self, task: DesignTask) -> CappedCertificate:
        """Find the design and prove it."""
        return designed(CappedTask(task.form), task.form.problem.caps, task)


def designed(capped: CappedTask, caps: Float, task: DesignTask) -> CappedCertificate:
    """The best design within some caps, with its proof.

    Raises
    ------
    StatementError
        If it is proved that no private design is within them.
    CertificateError
        If none was found, and this is not proved.
    """
    capped_rows = np.isfinite(caps[capped.used])
    if (capped.limits(caps)[capped_rows] <= 0).any():
        raise _outside(capped, caps, task)
    found = capped.found(caps, task.gap, task.deadline)
    bounds = list(bounds_of(capped, found.multipliers))
    try:
        if found.is_unbiased:
            return _proved(capped, caps, found, bounds)
    except CertificateError:
        if task.deadline.is_over:
            raise
    if no_design(capped, caps, task.deadline):
        raise _outside(capped, caps, task, is_excluded=True)
    for part in RAISED_CAPS:  # near the least cap no multipliers are finite
        other = capped.found(caps, task.gap, task.deadline, part)
        if other.is_unbiased:
            # the bounds are for the least favorable weights of the first search
            other = replace(other, multipliers=found.multipliers)
            return _proved(capped, caps, other, bounds)
    least, design = capped.least(capped_rows, task.deadline)
    if (caps[capped.used][capped_rows] < least * (1 - NEAR)).any():
        raise _outside(capped, caps, task, least)
    at = replace(found, vectors=design.vectors, weights=design.weights, is_unbiased=False)
    return _proved(capped, caps, at, bounds)


def _outside(
    capped: CappedTask,
    caps: Float,
    task: DesignTask,
    least: float | None = None,
    *,
    is_excluded: bool = False,
) -> LdpoptError:
    """The error for caps within which no design was found: whether it is proved that there is none,
    and the least common cap.
    """
    capped_rows = np.isfinite(caps[capped.used])
    if least is None:
        least, _ = capped.least(capped_rows, task.deadline)
    names = capped.form.problem.workload.names
    places = capped.used[capped_rows]
    lowest = places[int(caps[places].argmin())]
    enough = f"{least * (1 + RAISED):.15g}"
    cap = f"influence of {caps[lowest]:.9g} on {short_repr(names[lowest])}"
    cap += ", and its caps on the other numbers" if len(np.unique(caps[places])) > 1 else ""
    is_excluded = is_excluded or no_design(capped, caps, task.deadline)
    return outside(cap, f"{enough} on all capped numbers", enough, is_excluded)


def outside(cap: str, least: str, enough: str, is_excluded: bool) -> LdpoptError:
    """The error for a cap in words, within which no design was found: it is a fault of the
    statement only if it is proved that there is none.
    """
    do = f"give influence >= {enough}, or a larger epsilon"
    if is_excluded:
        problem = f"no private design has an {cap}: the least one is {least}"
        return StatementError(problem, code="least-influence", do=do)
    return CertificateError(
        f"no design with an {cap} was found, and it is not proved that there is none; one of "
        f"{least} is known",
        code="unknown-influence",
        do=do,
    )


def _proved(
    capped: CappedTask, caps: Float, found: CappedOptimum, bounds: Iterable[Bound]
) -> CappedCertificate:
    """A channel in integer masses with its best values, and the first bound that holds."""
    form = capped.form
    problem = form.problem
    workload = problem.workload
    mechanism, kept = _private(form, found)
    channel = mechanism.channel[form.classes.first]
    x = found.multipliers
    scaled = capped.rows / capped.unit
    if found.is_unbiased:
        centered = unbiased(channel, scaled, found.values[:, kept], x.weights)
    else:
        centered = least_biased(channel, scaled, capped.limits(caps) / capped.unit)
    rows = np.repeat(capped.middle[:, None], channel.shape[1], axis=1)
    rows[capped.used] += capped.unit * centered
    values = clipped(rows, capped.matrix, caps)
    weights = form.weights_of(x.weights) if form.is_worst_case else problem.all_weights
    statement = CappedStatement.of(workload.matrix, weights, caps, form.classes)
    cone = capped.exact_cone
    multipliers = next(
        (bound for bound in bounds if bound.holds(statement, cone)),  # type: ignore[arg-type]
        NoBound(),
    )
    return CappedCertificate.of(
        workload, problem.privacy, weights, problem.objective, caps, mechanism, values, multipliers
    )


def _private(form: DesignForm, found: CappedOptimum) -> tuple[Mechanism, Int]:
    """The nearest mechanism whose masses are exactly private, and the columns that it has."""
    private = form.private_columns
    channel = found.channel
    kept = np.lexsort(-found.vectors.T[::-1])
    kept = kept[channel.max(axis=0)[kept] > RARE]
    channel = channel[:, kept]
    channel = channel / channel.sum(axis=1, keepdims=True)
    names = private.privacy.reports(private.inputs, channel)
    fixed = repair(channel, private.privacy, inputs=private.inputs, outputs=names)
    rounded = fixed.mechanism.channel
    is_used = rounded.max(axis=0) > 0
    rounded = rounded[:, is_used][form.classes.classes]
    problem = form.problem
    inputs = problem.workload.inputs
    mechanism = Mechanism(rounded, inputs, problem.privacy.reports(inputs, rounded))
    return mechanism, kept[is_used]


def bounds_of(capped: CappedTask, x: CappedDual) -> Iterable[CappedBound]:
    """Multipliers in the unit of the workload, with growing margins: near the least influence they
    are so large that the last digits matter.
    """
    unit = capped.unit
    slope = np.zeros(capped.matrix.shape)
    slope[capped.used] = unit * x.slope
    line = unit**2 * x.line
    size = float(np.abs(line).max())
    is_large = size * len(line) * MARGINS[0] > FINE * abs(unit**2 * x.value(capped.rows / unit))
    for margin in (0.0, *(LAST_DIGITS if is_large else ()), *MARGINS):
        yield CappedBound(slope, line + margin * size)


def least_cap(form: DesignForm, deadline: Deadline) -> float:
    """The least influence of a design, raised so that designs have it."""
    capped = CappedTask(form)
    if not len(capped.used):
        return 0.0
    every = np.ones(len(capped.used), dtype=bool)
    return float(capped.least(every, deadline)[0]) * (1 + RAISED)
