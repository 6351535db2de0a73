r"""check_notion: what a privacy notion must get right before it may serve as a plug-in.

A plug-in's own test is one line, ``check_notion(MyNotion(1.0))``; pytest is not needed. The notion's rows, its audit,
its ties and its table are held against each other on small problems, and each failure says in words what came back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.auditing.audits import Audit, audit_by
from ldpopt.certificate import certify
from ldpopt.errors import LdpoptError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import Float
from ldpopt.foundation.rows import RowBlock
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.privacy.answers import (
    alphabet_of,
    check_alphabet,
    is_separated,
    notes_of,
    require_notion,
    rows_of,
    separated,
)
from ldpopt.privacy.notion import is_declared, with_epsilon
from ldpopt.privacy.tables import plain_fields, read_fields
from ldpopt.solvers import Status, find
from ldpopt.solving.formulation import add_rows, formulate
from ldpopt.solving.solve import solve
from ldpopt.statement.problem import Problem
from ldpopt.statement.utility import Utility
from ldpopt.testing.chosen import known_checks

STEP = 0.01
"""How much less epsilon is tried, to see that a notion does not ask for more than it says."""

NEAR = 1e-7
"""Probability by which a solver's channel may have to move to be private."""

CHANNELS = 12
"""Random channels on which rows and audit have to agree."""


@dataclass
class _Checked:
    """A notion under test, with its alphabets."""

    notion: Any
    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.inputs), len(self.outputs)

    def problem(self, notion: Any, gain: Float) -> Problem:
        n = len(self.inputs)
        return Problem([1 / n] * n, Utility(gain, "gain"), notion, inputs=self.inputs, outputs=self.outputs)

    @cached_property
    def rows(self) -> RowBlock:
        """All rows of the definition, as its program has them."""
        ties = self.problem(self.notion, np.eye(*self.shape)).ties()
        if ties is not None and not ties.is_shared:
            return ties.rows(len(self.outputs))
        return rows_of(self.notion, self.inputs, len(self.outputs))

    @cached_property
    def gains(self) -> list[Float]:
        """Truth, and two gains at random."""
        return [np.eye(*self.shape), *self.rng.random((2, *self.shape))]

    def best(self, gain: Float, block: RowBlock) -> tuple[float, Float]:
        """Value and channel of the program that has these rows and nothing else."""
        problem = self.problem(_Free(), gain)
        program = add_rows(formulate(problem, "pairwise"), block, problem)
        outcome = find("highs").solve(program)
        if outcome.status is not Status.OPTIMAL or outcome.point is None:
            raise AssertionError(f"the program of its rows is {outcome.status.value}: {outcome.raw_status}")
        return float(program.objective @ outcome.point), program.structure.channel(outcome.point)

    def audit(self, channel: Float, notion: Any = None) -> Audit:
        return audit_by(self.notion if notion is None else notion, Mechanism(channel, self.inputs, self.outputs))


class _Free:
    """No notion: every channel will do."""

    def rows(self, inputs: Sequence[Hashable], n_outputs: int) -> RowBlock:
        none = np.zeros(0, np.int64)
        return RowBlock("privacy", none, none, none, np.zeros(0), np.zeros(0), np.zeros(0))

    def audit(self, channel: Any) -> Audit:
        return Audit(0.0, 0.0, None, "certified")


def check_notion(
    notion: Any,
    inputs: Sequence[Hashable] | None = None,
    outputs: Sequence[Hashable] | None = None,
    *,
    post_processing: bool = False,
    only: Sequence[str] | None = None,
) -> None:
    """Put a privacy notion through every check.

    Parameters
    ----------
    notion : Notion
        With a budget at which it is neither void nor absolute, about 1.
    inputs, outputs : sequence of hashable, optional
        Alphabets of at most 5 labels that it fits; default: those that it knows, or 0, 1, 2. Outputs default to the
        inputs.
    post_processing : bool
        Whether it is claimed that randomizing reports keeps the notion. Default: ``False``.
    only : sequence of str, optional
        Names of some checks: "rows and audit", "tightness", "ties", "events", "table", "certificate",
        "post-processing"; default: all.

    Raises
    ------
    AssertionError
        Naming each check that failed, and what came back.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> check_notion(PureLDP(1.0), post_processing=True)
    """
    require_notion(notion)
    known = alphabet_of(notion)
    first = tuple(inputs) if inputs is not None else (0, 1, 2) if known is None else known
    checked = _Checked(notion, first, first if outputs is None else tuple(outputs))
    usual = [name for name in _CHECKS if post_processing or name != "post-processing"]
    chosen = usual if only is None else known_checks(only, _CHECKS)
    failures = [failure for title in chosen if (failure := _failure(title, checked))]
    if failures:
        raise AssertionError("\n".join([f"{notion!r} fails {len(failures)} of the checks", *failures]))


def _failure(title: str, checked: _Checked) -> str:
    """Run one check; return how it failed, or nothing."""
    try:
        _CHECKS[title](checked)
    except (AssertionError, LdpoptError) as error:
        return f"  {title}: {error}"
    return ""


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _rows_and_audit(checked: _Checked) -> None:
    """Private by the rows is private by the audit, and the other way round."""
    check_alphabet(checked.notion, checked.inputs, checked.outputs)
    notes_of(checked.notion, checked.inputs)
    for gain in checked.gains:
        _, channel = checked.best(gain, checked.rows)
        fixed = repair(channel, checked.notion, inputs=checked.inputs, outputs=checked.outputs)
        what = f"rows() allow a channel that is {fixed.moved:.3g} away from any that audit() certifies"
        _require(fixed.moved <= NEAR, what)
    _, private = checked.best(checked.gains[0], checked.rows)
    for _ in range(CHANNELS):
        other = checked.rng.dirichlet(np.full(checked.shape[1], 0.5), checked.shape[0])
        channel = private + checked.rng.random() * (other - private)
        excess = float(checked.rows.violation(channel).max(initial=0.0))
        verdict = checked.audit(channel / channel.sum(axis=1, keepdims=True)).verdict
        if excess > 1e-6:
            what = f"audit() says {verdict!r} of a channel that is out of a row by {excess:.3g}"
            _require(verdict == "violated", what)


def _tightness(checked: _Checked) -> None:
    """The optimum is private at epsilon, and not at epsilon - 0.01 where less budget is worth less."""
    is_budgeted = is_dataclass(checked.notion) and hasattr(checked.notion, "epsilon")
    gain = checked.gains[0]
    answer = solve(checked.problem(checked.notion, gain))
    found = checked.audit(answer.mechanism.channel)
    _require(found.verdict == "certified", f"the optimum is {found.verdict} at its own budget")
    if not is_budgeted or float(checked.notion.epsilon) <= STEP:
        return
    epsilon = float(checked.notion.epsilon)
    _require(found.epsilon <= epsilon * (1 + 1e-12), f"audit() finds epsilon {found.epsilon:.17g} of {epsilon:.17g}")
    less = with_epsilon(checked.notion, Budget(epsilon - STEP))
    lower = solve(checked.problem(less, gain))
    _require(lower.value <= answer.value + NEAR, f"epsilon - {STEP} is worth more: {lower.value} > {answer.value}")
    if lower.value < answer.value - 1e-9:
        verdict = checked.audit(answer.mechanism.channel, less).verdict
        _require(verdict == "violated", f"the optimum at epsilon is {verdict} at epsilon - {STEP}")


def _ties(checked: _Checked) -> None:
    """Ties, their definition, the rows and the compact program have one optimum."""
    for gain in checked.gains:
        problem, m = checked.problem(checked.notion, gain), len(checked.outputs)
        ties = problem.ties()
        if ties is None:
            return
        definition = problem.definition()
        assert definition is not None
        value, _ = checked.best(gain, ties.rows(m))
        found = {"definition()": checked.best(gain, definition.rows(m))[0]}
        if not ties.is_shared and checked.inputs == checked.outputs:
            found["rows()"] = checked.best(gain, rows_of(checked.notion, checked.inputs, m))[0]
        if ties.is_compact:
            program = formulate(problem, "compact")
            point = find("highs").solve(program).point
            found["the compact program"] = np.nan if point is None else float(program.objective @ point)
        for name, other in found.items():
            _require(bool(abs(other - value) <= NEAR), f"the optimum is {value:.12g} by ties(), {other:.12g} by {name}")


def _events(checked: _Checked) -> None:
    """``separate`` finds rows that a channel violates, and none where there are none."""
    if not is_separated(checked.notion):
        return
    n, m = checked.shape
    truth = 0.99 * np.eye(n, m) + 0.01 / m
    truth /= truth.sum(axis=1, keepdims=True)
    private = solve(checked.problem(checked.notion, checked.gains[0])).mechanism.channel
    if checked.audit(truth).verdict == "violated":
        block = separated(checked.notion, truth, checked.inputs)
        if block is None:
            raise AssertionError("separate() finds no row that the truth violates, and audit() says it does")
        least = float(block.violation(truth).min())
        _require(least > 0, "separate() returned a row that the channel does not violate")
    block = separated(checked.notion, private, checked.inputs)
    worst = 0.0 if block is None else float(block.violation(private).max())
    _require(worst <= NEAR, f"separate() finds a private channel out of a row by {worst:.3g}")


def _table(checked: _Checked) -> None:
    """What is stated, written as JSON and read again, is the same notion."""
    notion, kind = checked.notion, type(checked.notion)
    if not is_declared(notion) and not is_dataclass(notion):
        return
    stated = notion.stated(checked.inputs) if is_declared(notion) else plain_fields(notion)
    _require(isinstance(stated, dict), f"stated() returned {type(stated).__name__}, not a dict")
    try:
        table = json.loads(json.dumps(stated, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"stated() returned what JSON cannot hold: {error}") from None
    _require(table == stated, f"stated() returned other values than JSON has: {stated}")
    again = kind.from_stated(table, checked.inputs) if is_declared(notion) else read_fields(kind, table)
    _require(type(again) is kind, f"from_stated() returned a {type(again).__name__}")
    rows = _Checked(again, checked.inputs, checked.outputs).rows
    parts = ("row", "x", "y", "coefficient", "lower", "upper")
    same = all(np.array_equal(getattr(rows, part), getattr(checked.rows, part)) for part in parts)
    _require(same, "the notion that was read again writes other rows")


def _certificate(checked: _Checked) -> None:
    """The optimum is certified."""
    for gain in checked.gains:
        proof = certify(solve(checked.problem(checked.notion, gain)))
        _require(proof.audit.verdict == "certified", f"the audit says {proof.audit.verdict}")
        _require(proof.relative_gap <= NEAR, f"the certified gap is {proof.relative_gap:.3g}")


def _post_processing(checked: _Checked) -> None:
    """Randomizing the reports of a private channel leaves it private."""
    m = checked.shape[1]
    for gain in checked.gains:
        channel = solve(checked.problem(checked.notion, gain)).mechanism.channel
        for after in (checked.rng.dirichlet(np.full(m, 0.3), m), np.eye(m)[checked.rng.integers(0, m, m)]):
            fixed = repair(channel @ after, checked.notion, inputs=checked.inputs, outputs=checked.outputs)
            _require(fixed.moved <= 1e-9, f"randomized reports are {fixed.moved:.3g} away from private ones")


_CHECKS: dict[str, Callable[[_Checked], None]] = {
    "rows and audit": _rows_and_audit,
    "tightness": _tightness,
    "ties": _ties,
    "events": _events,
    "table": _table,
    "certificate": _certificate,
    "post-processing": _post_processing,
}
