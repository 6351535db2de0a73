r"""How far a private channel is from the best one for any convex objective, by its tangent plane.

A convex function lies above each of its tangent planes, and the least value of a tangent plane over
private channels is a linear program, which the library proves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from ldpopt.certificate.program_certificate import Certificate, prove
from ldpopt.errors import CertificateError, MechanismError, StatementError
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.labelled import Labelled, same_labels
from ldpopt.foundation.labels import Names, check_labels
from ldpopt.foundation.numbers import (
    Float,
    real_array,
    real_number,
    require_choice,
    require_function,
)
from ldpopt.foundation.rows import RowBlock
from ldpopt.mechanism.channels import read_channel
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import Notion
from ldpopt.privacy.notion import require_notion
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solving.certify import multipliers_of
from ldpopt.solving.solve import solve

LINES = 50  # number of random lines on which the subgradient inequality is tried
ORDERS = 6  # orders of magnitude of the steps along them
# Violation of the inequality that is no rounding error, relative to value and tangent plane
ACCEPTED_EXCESS = 1e-11
INNER_SHARE = 0.1  # share of the uniform report in the inner channel, which has no zeros
# largest violation of a side constraint by the channel: that of a solver's tolerances
ACCEPTED_RESIDUAL = 1e-6
ASSUMPTION = {
    "loss": "the bound holds if gradient() is a subgradient of a convex value()",
    "gain": "the bound holds if gradient() is a supergradient of a concave value()",
}


@dataclass(frozen=True, eq=False)
class ConvexProof(HasFacts):
    """How far a private channel is from the best one, if a function is convex.

    Attributes
    ----------
    value : float
        Objective at `mechanism`, as the function returned it.
    bound : float
        No private channel that satisfies the constraints has a smaller loss (or a larger gain), if
        the gradient is a subgradient of a convex function.
    gap : float
        Distance between the two. It is that of `program` rounded up: a rational, whatever the
        function's rounding errors are.
    mechanism : Mechanism
        The channel, made exactly private and audited.
    program : Certificate
        Proof that no private channel improves the tangent plane at `mechanism` by more than its
        ``gap``; it can be saved and checked again.
    assumption : str
        What is not proved, in a sentence.
    """

    value: float
    bound: float
    gap: float
    mechanism: Mechanism
    program: Certificate = field(repr=False)
    assumption: str

    def facts(self) -> Facts:
        """Value, bound, gap, the assumption, and the mechanism."""
        numbers = {"value": self.value, "bound": self.bound, "gap": self.gap}
        rows = [(name, f"{number:.12g}") for name, number in numbers.items()]
        rows += [*self.program.residual_facts(), ("assumption", self.assumption)]
        return Facts("Convex objective", [*rows, *self.mechanism.facts().parts])


class _Objective(NamedTuple):
    """A loss to minimize, with its gradient; a gain counts with the sign changed."""

    value_of: Callable[[Float], Any]
    gradient_of: Callable[[Float], Any]
    sign: float

    def value(self, channel: Float) -> float:
        """The loss of a channel, which must be a finite number."""
        number = self.value_of(channel.copy())
        try:
            # NaN is a number here: it is refused below, with the channel's least entry
            is_nan = isinstance(number, (float, np.floating)) and bool(np.isnan(number))
            number = number if is_nan else real_number(number, "value()")
        except StatementError as error:
            raise StatementError(
                error.what, code="returned-value", do="return one real number"
            ) from None
        if not np.isfinite(number):
            raise StatementError(
                f"value() is {number} at a channel with the least entry {channel.min():.3g}",
                code="infinite-value",
                do="leave out reports that are never used, or make value() finite there",
            )
        return self.sign * number

    def gradient(self, channel: Float) -> Float:
        """The gradient of the loss at a channel, which must be a finite matrix of its shape."""
        try:
            matrix = real_array(self.gradient_of(channel.copy()), "gradient()")
        except StatementError as error:
            raise StatementError(
                error.what, code="returned-gradient", do="return a matrix"
            ) from None
        if matrix.shape != channel.shape:
            problem = f"gradient() has the shape {matrix.shape}, the channel {channel.shape}"
            raise StatementError(
                problem, code="gradient-shape", do="return one number for each entry"
            )
        if not np.isfinite(matrix).all():
            x, y = map(int, np.argwhere(~np.isfinite(matrix))[0])
            raise StatementError(
                f"gradient()[{x}, {y}] is {matrix[x, y]} where P[{x}, {y}] = {channel[x, y]:.3g}",
                code="infinite-gradient",
                do="leave out reports that are never used, or make gradient() finite there",
            )
        return self.sign * matrix


def certify_convex(
    P: Any,  # noqa: N803
    privacy: Notion,
    value: Callable[[Float], Any],
    gradient: Callable[[Float], Any],
    *,
    sense: Literal["loss", "gain"] = "loss",
    constraints: Sequence[RowBlock] | RowBlock = (),
    inputs: Names | None = None,
) -> ConvexProof:
    r"""Prove how far a channel is from the best private one, for a convex objective of one's own.

    .. math:: f(P') \ge f(C) + \langle G, P' - C \rangle
              \ge f(C) + \min_{P''} \langle G, P'' \rangle - \langle G, C \rangle,
              \qquad G \in \partial f(C)

    The minimum over private channels is a linear program, and its bound is proved in rationals.

    Parameters
    ----------
    P : array_like, shape (n, m), or Mechanism, DataFrame or mapping of mappings
        The channel, such as the optimum of a model in cvxpy. It is made exactly private first:
        `ConvexProof.mechanism` is the channel ``C`` of the equation.
    privacy : privacy notion
        What all compared channels satisfy.
    value : callable
        ``f``: from a row-stochastic array (n, m) to a number. Convex for a loss, concave for a
        gain, and finite also at channels that are not private. Rows are in the order of the
        inputs, and so are columns with the same labels.
    gradient : callable
        From the same array to a subgradient, an array (n, m) (for a gain a supergradient).
    sense : {"loss", "gain"}
        Whether the objective is minimized or maximized; default: ``"loss"``.
    constraints : sequence of RowBlock
        Side constraints on all channels, see `ldpopt.constraints`; default: ``()``.
    inputs : sequence of hashable, optional
        Labels of the rows; a labelled channel is put into this order. Default: those of the
        channel.

    Returns
    -------
    ConvexProof
        Value, bound, gap, mechanism, and the certificate of the linear program.

    Raises
    ------
    StatementError
        If the value or gradient is not finite or has another shape, or if the subgradient
        inequality fails where it is tried: the function is not convex, or the gradient is wrong.
    MechanismError
        If ``P`` is not a channel, or violates a side constraint.
    NoSolutionError
        If the linear program has no solution.

    Notes
    -----
    That the function is convex cannot be proved from its values. The inequality is tried along 50
    random lines with row sums 0, on both sides of a channel without zeros, and between it, the
    channel and drawn channels, which finds common mistakes; the proof says what it assumes. About
    170 calls of ``value``, and one linear program.

    References
    ----------
    Frank and Wolfe 1956.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpopt import PureLDP
    >>> coin, squares = [[0.75, 0.25], [0.25, 0.75]], lambda C: ((C - np.eye(2)) ** 2).sum()
    >>> proof = certify_convex(coin, PureLDP("log(3)"), squares, lambda C: 2 * (C - np.eye(2)))
    >>> proof.value, proof.gap < 1e-12
    (0.25, True)
    """
    require_notion(privacy)
    require_function(value, "value")
    require_function(gradient, "gradient")
    require_choice(sense, ("loss", "gain"), "sense")
    mechanism = _in_order(P, privacy, inputs)
    objective = _Objective(value, gradient, 1.0 if sense == "loss" else -1.0)
    channel = np.asarray(mechanism.channel)
    loss = objective.value(channel)
    slope = objective.gradient(channel)
    _try_inequality(objective, channel, loss, slope)
    program = _tangent_program(mechanism, privacy, objective.sign * slope, sense, constraints)
    gap = round_up(Fraction(program.gap))
    number = objective.sign * loss
    bound = number - gap if sense == "loss" else number + gap
    return ConvexProof(number, bound, gap, mechanism, program, ASSUMPTION[sense])


def _in_order(channel: Any, privacy: Notion, inputs: Names | None) -> Mechanism:
    """The channel made private; its reports are in the order of the answers if both have the same
    labels.
    """
    if isinstance(channel, Mechanism):
        axes = channel.inputs, channel.outputs
        table = Labelled(channel.channel, axes, "channel", ("input", "output"))
        names = channel.inputs if inputs is None else check_labels(tuple(inputs), None, "input")
        reports = names if same_labels(channel.outputs, names) else channel.outputs
        return Mechanism.private(table.to(names, reports), privacy, names, reports)
    values, names, reports = read_channel(channel, inputs, None)
    if reports != names and same_labels(reports, names):
        values, names, reports = read_channel(channel, names, names)
    return Mechanism.private(values, privacy, names, reports)


def _tangent_program(
    mechanism: Mechanism,
    privacy: Notion,
    slope: Float,
    sense: Literal["loss", "gain"],
    constraints: Sequence[RowBlock] | RowBlock,
) -> Certificate:
    """Certificate of a mechanism for the linear part of an objective: its gap bounds that of the
    objective.
    """
    n = len(mechanism.inputs)
    utility = Utility(slope * n, sense, mechanism.inputs, mechanism.outputs)
    problem = Problem(
        np.full(n, 1 / n),
        utility,
        privacy,
        inputs=mechanism.inputs,
        outputs=mechanism.outputs,
        constraints=constraints,
    )
    for block in problem.constraints:
        off = float(block.violation(np.asarray(mechanism.channel)).max(initial=0.0))
        if off > ACCEPTED_RESIDUAL:
            problem_text = f"the channel violates the constraint {block.name!r} by {off:.3g}"
            do = "pass a channel that satisfies it; making it private may have moved it"
            raise MechanismError(problem_text, code="constraint", do=do)
    solution = solve(problem)
    if solution.repaired is None:
        raise solution.no_solution()
    proof = prove(problem, mechanism, multipliers_of(solution))
    if proof.audit.verdict != "certified":  # pragma: no cover - Mechanism.private audits it
        raise CertificateError("the channel is not private", do="report this as an error")
    return proof


def _try_inequality(objective: _Objective, channel: Float, loss: float, slope: Float) -> None:
    """Refuse an objective that lies below a tangent plane at one of the channels that are tried."""
    for at, to in _trials(channel):
        is_own = at is channel
        base, plane = (loss, slope) if is_own else (objective.value(at), objective.gradient(at))
        tangent = float((plane * (to - at)).sum())
        there = objective.value(to)
        scale = max(abs(base), abs(there), float(np.abs(plane * at).sum()))
        if there - base - tangent < -ACCEPTED_EXCESS * scale:
            kind, side = ("convex", "below") if objective.sign > 0 else ("concave", "above")
            excess = base + tangent - there
            problem = f"value() lies {side} the plane of gradient() by {excess:.3g}"
            do = f"correct the gradient, or state a {kind} value()"
            raise StatementError(problem, code="tangent", do=do)


def _trials(channel: Float) -> Iterator[tuple[Float, Float]]:
    """Pairs of channels, at the first of which a tangent plane is compared with the value at the
    second.
    """
    # An inner channel has no zeros: there is room on both sides of it, where a gradient that is
    # wrong or a function that is concave shows, also if a report of the given channel is unused.
    n, m = channel.shape
    rng = np.random.default_rng(0)
    inner = (1 - INNER_SHARE) * channel + INNER_SHARE / m
    yield channel, inner
    yield inner, channel
    for _ in range(LINES if m > 1 else 0):
        line = rng.normal(size=(n, m))
        line -= line.mean(axis=1, keepdims=True)
        share = 0.5 * 10.0 ** -int(rng.integers(0, ORDERS))
        step = share * inner.min() / np.abs(line).max()
        yield inner, inner + step * line
        yield inner, inner - step * line
        yield channel, 0.5 * channel + 0.5 * rng.dirichlet(np.ones(m), n)
