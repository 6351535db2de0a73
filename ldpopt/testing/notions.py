"""check_notion: its rows, audit, ties and table are compared with each other on small problems."""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from ldpopt.auditing.audits import Audit
from ldpopt.errors import LdpoptError, NotRepresentableError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.privacy.notion import Notion, SeparableNotion, TiedNotion, require_notion
from ldpopt.privacy.ties import Ties
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solvers import Status, find
from ldpopt.solving.certify import certify
from ldpopt.solving.formulation import add_rows, formulate, relaxed_form
from ldpopt.solving.solve import solve
from ldpopt.testing.border import border_channels
from ldpopt.testing.conditions import chosen_checks, require, require_none

# reduction of epsilon in the test that a notion is not stricter than its epsilon
EPSILON_STEP = 0.01
# largest mass that a repair may move, and difference of values that should be equal
TOLERANCE = 1e-7
CHANNELS = 12  # number of random channels on which rows and audit must agree
HALVINGS = 30  # of the interval in which a drawn channel becomes private


@dataclass
class _CheckedNotion:
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
        return Problem(
            [1 / n] * n, Utility(gain, "gain"), notion, inputs=self.inputs, outputs=self.outputs
        )

    @cached_property
    def rows(self) -> RowBlock | None:
        """All rows of the definition, as in the program; None if a notion that generates rows
        refuses to list them.
        """
        ties = self.problem(self.notion, np.eye(*self.shape)).ties()
        if ties is not None and not ties.is_shared:
            return ties.rows(len(self.outputs))
        return self.listed_rows()

    def listed_rows(self) -> RowBlock | None:
        """What `Notion.rows` returns; None if it refuses, and the notion generates rows."""
        try:
            rows: RowBlock = self.notion.rows(self.inputs, len(self.outputs))
        except NotRepresentableError:
            if not self.notion.is_separated:
                raise
            return None
        if rows is None:  # a refusal is an error, not a missing result
            raise AssertionError(f"{_returned(self.notion, 'rows', rows)}, not a RowBlock")
        return rows

    def relaxed(self, gain: Float) -> Float:
        """The best channel under all rows, listed or generated, before it is repaired."""
        if self.rows is not None:
            return self.best(gain, self.rows)[1]
        answer = solve(self.problem(self.notion, gain))
        if answer.program is None or answer.outcome is None or answer.outcome.point is None:
            raise AssertionError(f"solve() generated no rows: {answer.raw_status}")
        return answer.program.structure.channel(answer.outcome.point)

    def excess(self, channel: Float) -> float:
        """Largest violation of a row by a channel."""
        block = self.rows
        if block is None:
            block = self.notion.separate(channel, self.inputs)
        return 0.0 if block is None else float(block.violation(channel).max(initial=0.0))

    @cached_property
    def gains(self) -> list[Float]:
        """The identity, and two random gains."""
        return [np.eye(*self.shape), *self.rng.random((2, *self.shape))]

    def best(self, gain: Float, block: RowBlock) -> tuple[float, Float]:
        """Value and channel of the program that has only these rows."""
        problem = self.problem(_NoPrivacy(), gain)
        program = add_rows(formulate(problem, "pairwise"), block, problem)
        outcome = find("highs").solve(program)
        if outcome.status is not Status.OPTIMAL or outcome.point is None:
            raise AssertionError(
                f"the program of its rows is {outcome.status.value}: {outcome.raw_status}"
            )
        return float(program.objective @ outcome.point), program.structure.channel(outcome.point)

    def audit(self, channel: Float, notion: Any = None) -> Audit:
        measured: Audit = (notion or self.notion).audit(
            Mechanism(channel, self.inputs, self.outputs)
        )
        return measured


class _NoPrivacy(Notion):
    """A notion that every channel satisfies."""

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
    """Run every check on a privacy notion.

    Parameters
    ----------
    notion : Notion
        With an epsilon of about 1, so that privacy is neither trivial nor total.
    inputs, outputs : sequence of hashable, optional
        Alphabets of at most 5 labels; default: the notion's own inputs, or 0, 1, 2; outputs default
        to the inputs.
    post_processing : bool
        Whether the notion claims to be closed under post-processing; default: ``False``.
    only : sequence of str, optional
        Names of some checks: "results", "rows and audit", "strictness", "private channels",
        "tightness", "ties", "events", "table", "certificate", "post-processing"; default: all.

    Raises
    ------
    AssertionError
        If a check fails; the message names each one and its result.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> check_notion(PureLDP(1.0), post_processing=True)
    """
    require_notion(notion)
    first = tuple(inputs) if inputs is not None else notion.alphabet or (0, 1, 2)
    checked = _CheckedNotion(notion, first, first if outputs is None else tuple(outputs))
    usual = [name for name in _CHECKS if post_processing or name != "post-processing"]
    chosen = usual if only is None else chosen_checks(only, _CHECKS)
    wrong = _failure("results", checked) if "results" in chosen else ""
    # The other checks use the results.
    failures = [wrong] if wrong else [_failure(title, checked) for title in chosen]
    require_none([failure for failure in failures if failure], repr(notion))


def _failure(title: str, checked: _CheckedNotion) -> str:
    """Run one check; return how it failed, or nothing."""
    try:
        _CHECKS[title](checked)
    except (AssertionError, LdpoptError) as error:
        return f"  {title}: {error}"
    return ""


def _results(checked: _CheckedNotion) -> None:
    """Every method returns an object of the right type and size."""
    notion, (n, m) = checked.notion, checked.shape
    uniform = Mechanism(np.full((n, m), 1 / m), checked.inputs, checked.outputs)
    _result(notion, "check", lambda: notion.check(checked.inputs, checked.outputs))
    notes = _result(notion, "notes", lambda: notion.notes(checked.inputs))
    is_text = isinstance(notes, tuple) and all(isinstance(note, str) for note in notes)
    require(is_text, f"{_returned(notion, 'notes', notes)}, not a tuple of sentences")
    audit = _result(notion, "audit", lambda: notion.audit(uniform))
    require(isinstance(audit, Audit), f"{_returned(notion, 'audit', audit)}, not an Audit")
    for method in ("ties", "definition"):
        ties = _result(
            notion, method, partial(getattr(notion, method), checked.inputs, checked.outputs)
        )
        if ties is not None or isinstance(notion, TiedNotion):
            _require_ties(notion, method, ties, n, m)
    if checked.inputs == checked.outputs:
        rows = _result(notion, "rows", checked.listed_rows)
        if rows is not None or not notion.is_separated:
            _require_rows(notion, "rows", rows, n, m)
    if isinstance(notion, SeparableNotion):
        block = _result(
            notion, "separate", lambda: notion.separate(uniform.channel, checked.inputs)
        )
        if block is not None:
            _require_rows(notion, "separate", block, n, m)


def _result(notion: Notion, method: str, call: Callable[[], Any]) -> Any:
    """Result of a method; an unexpected error is named with class and method."""
    try:
        return call()
    except (LdpoptError, AssertionError):
        raise
    except Exception as error:
        raise AssertionError(
            f"{type(notion).__name__}.{method}() failed: {type(error).__name__}: {error}"
        ) from error


def _returned(notion: Notion, method: str, result: Any) -> str:
    value = (
        short_repr(result)
        if isinstance(result, (str, int, float, type(None)))
        else f"a {type(result).__name__}"
    )
    return f"{type(notion).__name__}.{method}() returned {value}"


def _require_ties(notion: Notion, method: str, ties: Any, n: int, m: int) -> None:
    """Require ties of the right size; `Ties` checks the rest itself."""
    returned = _returned(notion, method, ties)
    require(isinstance(ties, Ties), f"{returned}, not Ties")
    require(ties.n == n, f"{returned} of {ties.n} inputs, not {n}")
    if ties.owner is not None:
        require(
            np.shape(ties.owner) == (m,),
            f"{returned} with {np.size(ties.owner)} owners for {m} outputs",
        )


def _require_rows(notion: Notion, method: str, block: Any, n: int, m: int) -> None:
    """Require rows over the entries of a channel of the right shape."""
    returned = _returned(notion, method, block)
    require(isinstance(block, RowBlock), f"{returned}, not a RowBlock")
    wrong = block.fault(n, m)
    require(not wrong, f"{returned}: {wrong}")


def _rows_and_audit(checked: _CheckedNotion) -> None:
    """Rows and audit agree on which channels are private."""
    for gain in checked.gains:
        channel = checked.relaxed(gain)
        fixed = repair(channel, checked.notion, inputs=checked.inputs, outputs=checked.outputs)
        problem = (
            f"rows() allow a channel at distance {fixed.moved:.3g} from the channels that "
            "audit() certifies"
        )
        require(fixed.moved <= TOLERANCE, problem)
    private = checked.relaxed(checked.gains[0])
    for _ in range(CHANNELS):
        other = checked.rng.dirichlet(np.full(checked.shape[1], 0.5), checked.shape[0])
        channel = private + checked.rng.random() * (other - private)
        excess = checked.excess(channel)
        verdict = checked.audit(channel / channel.sum(axis=1, keepdims=True)).verdict
        if excess > 1e-6:
            problem = f"audit() says {verdict!r} for a channel that violates a row by {excess:.3g}"
            require(verdict == "violated", problem)


def _strictness(checked: _CheckedNotion) -> None:
    """Rows, ties, comparisons and separated rows allow the channels at the border of what the audit
    certifies.
    """
    notion = checked.notion
    problem = checked.problem(notion, checked.gains[0])
    m = checked.shape[1]
    blocks = {} if checked.rows is None else {"rows()": checked.rows}
    if (definition := problem.definition()) is not None and not definition.is_shared:
        blocks["definition()"] = definition.rows(m)
    comparisons = None if problem.ties() is not None else problem.comparisons()
    if comparisons is not None:
        blocks["comparisons()"] = comparisons.rows(m)

    def is_private(channel: Float) -> bool:
        return checked.audit(channel).verdict == "certified"

    for channel in border_channels(checked.shape, is_private, checked.rng, CHANNELS):
        if notion.is_separated and (block := notion.separate(channel, checked.inputs)) is not None:
            blocks["separate()"] = block
        for name, block in blocks.items():
            excess = float(block.violation(channel).max(initial=0.0))
            require(
                excess <= TOLERANCE,
                f"{name} is stricter than audit(): it excludes a certified channel by {excess:.3g}",
            )
        blocks.pop("separate()", None)


def _tightness(checked: _CheckedNotion) -> None:
    """The optimum is private at epsilon, and not at epsilon - 0.01 if the value there is
    smaller.
    """
    name = next((name for name in ("epsilon", "mu") if hasattr(checked.notion, name)), "")
    gain = checked.gains[0]
    answer = solve(checked.problem(checked.notion, gain))
    audit = checked.audit(answer.mechanism.channel)
    require(audit.verdict == "certified", f"the optimum is {audit.verdict} at its own budget")
    budget = float(getattr(checked.notion, name, 0.0))
    if not is_dataclass(checked.notion) or budget <= EPSILON_STEP:
        return
    found = getattr(audit, name)
    require(found <= budget * (1 + 1e-12), f"audit() finds {name} {found:.17g} of {budget:.17g}")
    notion: Any = checked.notion
    less = replace(notion, **{name: Budget(budget - EPSILON_STEP)})
    lower = solve(checked.problem(less, gain))
    problem = f"{name} - {EPSILON_STEP} has a larger value: {lower.value} > {answer.value}"
    require(lower.value <= answer.value + TOLERANCE, problem)
    if lower.value < answer.value - 1e-9:
        verdict = checked.audit(answer.mechanism.channel, less).verdict
        require(
            verdict == "violated", f"the optimum at {name} is {verdict} at {name} - {EPSILON_STEP}"
        )


def _ties(checked: _CheckedNotion) -> None:
    """Ties, their definition, the rows and the compact program have the same optimum."""
    for gain in checked.gains:
        problem = checked.problem(checked.notion, gain)
        m = len(checked.outputs)
        ties = problem.ties()
        if ties is None:
            return
        definition = problem.definition()
        assert definition is not None
        value, _ = checked.best(gain, ties.rows(m))
        values = {"definition()": checked.best(gain, definition.rows(m))[0]}
        if not checked.notion.is_separated and checked.inputs == checked.outputs:
            values["rows()"] = checked.best(gain, checked.notion.rows(checked.inputs, m))[0]
        if ties.is_compact:
            program = formulate(problem, relaxed_form(problem))
            point = find("highs").solve(program).point
            values["the compact program"] = (
                np.nan if point is None else float(program.objective @ point)
            )
        for name, other in values.items():
            message = f"the optimum is {value:.12g} by ties(), {other:.12g} by {name}"
            require(bool(abs(other - value) <= TOLERANCE), message)


def _events(checked: _CheckedNotion) -> None:
    """``separate`` finds violated rows if and only if there are any."""
    if not checked.notion.is_separated:
        return
    n, m = checked.shape
    truth = 0.99 * np.eye(n, m) + 0.01 / m
    truth /= truth.sum(axis=1, keepdims=True)
    private = solve(checked.problem(checked.notion, checked.gains[0])).mechanism.channel
    if checked.audit(truth).verdict == "violated":
        block = checked.notion.separate(truth, checked.inputs)
        if block is None:
            raise AssertionError(
                "separate() finds no row that the identity channel violates, but audit() does"
            )
        least = float(block.violation(truth).min())
        require(least > 0, "separate() returned a row that the channel does not violate")
    block = checked.notion.separate(private, checked.inputs)
    worst = 0.0 if block is None else float(block.violation(private).max())
    require(
        worst <= TOLERANCE,
        f"separate() returns a row that a private channel violates by {worst:.3g}",
    )


def _private_channels(checked: _CheckedNotion) -> None:
    """Rows that ``separate`` returns anywhere hold for all channels that the audit certifies: drawn
    channels are mixed with a constant one until they are private.
    """
    if not checked.notion.is_separated:
        return
    n, m = checked.shape
    private = []
    blocks = []
    for _ in range(CHANNELS):
        drawn = checked.rng.dirichlet(np.full(m, 0.5), n)
        constant = np.repeat(drawn.mean(axis=0)[None], n, axis=0)
        low, high = 0.0, 1.0  # share of the drawn channel
        for _ in range(HALVINGS):
            share = (low + high) / 2
            mixed = share * drawn + (1 - share) * constant
            is_private = checked.audit(mixed).verdict == "certified"
            low, high = (share, high) if is_private else (low, share)
        private.append(low * drawn + (1 - low) * constant)
        for share in (low, high, 1.0):
            mixed = share * drawn + (1 - share) * constant
            blocks.append(checked.notion.separate(mixed, checked.inputs))
    for channel, block in product(private, blocks):
        worst = 0.0 if block is None else float(block.violation(channel).max(initial=0.0))
        problem = f"separate() cuts off a channel that audit() certifies, by {worst:.3g}"
        require(worst <= TOLERANCE, problem)


def _table(checked: _CheckedNotion) -> None:
    """The notion's table, written as JSON and read again, gives the same notion."""
    notion = checked.notion
    kind = type(checked.notion)
    if not is_dataclass(notion) and kind.to_plain is Notion.to_plain:
        return
    plain = notion.to_plain(checked.inputs)
    require(isinstance(plain, dict), f"to_plain() returned {type(plain).__name__}, not a dict")
    try:
        table = json.loads(json.dumps(plain, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"to_plain() returned a value that JSON cannot hold: {error}"
        ) from None
    require(table == plain, f"to_plain() returned values that change in JSON: {plain}")
    again = kind.from_plain(table, checked.inputs)
    require(type(again) is kind, f"from_plain() returned a {type(again).__name__}")
    rows = _CheckedNotion(again, checked.inputs, checked.outputs).rows
    if rows is None or checked.rows is None:
        same_table = again.to_plain(checked.inputs) == plain
        require(same_table, "the notion read from its table has another table")
        return
    parts = ("row", "x", "y", "coefficient", "lower", "upper")
    same = all(np.array_equal(getattr(rows, part), getattr(checked.rows, part)) for part in parts)
    require(same, "the notion read from its table has different rows")


def _certificate(checked: _CheckedNotion) -> None:
    """The optimum is certified."""
    for gain in checked.gains:
        proof = certify(solve(checked.problem(checked.notion, gain)))
        require(proof.audit.verdict == "certified", f"the audit says {proof.audit.verdict}")
        require(proof.relative_gap <= TOLERANCE, f"the certified gap is {proof.relative_gap:.3g}")


def _post_processing(checked: _CheckedNotion) -> None:
    """A private channel stays private when its reports are randomized."""
    m = checked.shape[1]
    for gain in checked.gains:
        channel = solve(checked.problem(checked.notion, gain)).mechanism.channel
        for after in (
            checked.rng.dirichlet(np.full(m, 0.3), m),
            np.eye(m)[checked.rng.integers(0, m, m)],
        ):
            fixed = repair(
                channel @ after, checked.notion, inputs=checked.inputs, outputs=checked.outputs
            )
            problem = (
                f"the channel with randomized reports is at distance {fixed.moved:.3g} from "
                "private channels"
            )
            require(fixed.moved <= 1e-9, problem)


_CHECKS: dict[str, Callable[[_CheckedNotion], None]] = {
    "results": _results,
    "rows and audit": _rows_and_audit,
    "strictness": _strictness,
    "tightness": _tightness,
    "ties": _ties,
    "events": _events,
    "private channels": _private_channels,
    "table": _table,
    "certificate": _certificate,
    "post-processing": _post_processing,
}
