"""The command before the field work: plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.output import Json, MechanismPath, label, number, print_table, report
from ldpopt.cli.running import parse_grid

if TYPE_CHECKING:
    from ldpopt.estimation.planning import Precision


def plan(
    mechanism: MechanismPath,
    half_width: Annotated[
        float | None, typer.Option(help="Half-width of the intervals: 0.02 is two percentage points.")
    ] = None,
    people: Annotated[int | None, typer.Option(min=1, help="How many people answer.")] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Simultaneous intervals: all hold at once.")
    ] = False,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="A:B:N", help="Also plan with the optimal mechanism at these budgets (N from A to B)."),
    ] = None,
    json: Json = None,
) -> None:
    """Show how many people a survey needs.

    For each answer, and the worst distribution of the answers: how many people are needed for a half-width, or which
    half-width a number of people yields. With --epsilon also for the optimal mechanism under epsilon-LDP at several
    budgets.
    """
    from ldpopt.cli.instruments import read_instrument
    from ldpopt.estimation.planning import precision

    if half_width is None and people is None:
        raise typer.BadParameter("state --half-width, --people, or both")
    source = read_instrument(mechanism).source
    found = precision(source, confidence=confidence, simultaneous=simultaneous)
    wanted = _Wanted(half_width, people)
    answers = [{"answer": name, **wanted.of(found, place)} for place, name in enumerate(found.names)]
    worst = answers[int(found.variances.argmax())]
    curve = [
        {"epsilon": budget, **wanted.worst(_best(source, budget, confidence, simultaneous))}
        for budget in ([] if epsilon is None else parse_grid(epsilon))
    ]
    data = {"confidence": confidence, "answers": answers, "worst": worst, "curve": curve}

    def show() -> None:
        title = f"{100 * confidence:g} % intervals{', all at once' if simultaneous else ''}, worst distribution"
        rows = [*answers, worst | {"answer": f"worst: {worst['answer']}"}]
        print_table(["answer", *wanted.headings], [_texts(entry) for entry in rows], title=title)
        if curve:
            print("\nthe best mechanism for the same numbers, its worst one")
            print_table(["epsilon", *wanted.headings], [_texts(entry) for entry in curve])

    report(data, json, show)


class _Wanted:
    """What is asked of a plan."""

    def __init__(self, half_width: float | None, people: int | None) -> None:
        self.half_width, self.people = half_width, people
        self.headings = [] if half_width is None else [f"people for +-{half_width:g}"]
        self.headings += [] if people is None else [f"half-width of {people:,}"]

    def worst(self, found: Precision) -> dict[str, Any]:
        """Numbers for the answer that needs most people."""
        return self.of(found, int(found.variances.argmax()))

    def of(self, found: Precision, place: int) -> dict[str, Any]:
        """Numbers for one answer."""
        answer: dict[str, Any] = {}
        if self.half_width is not None:
            answer["people"] = int(found.people(self.half_width)[place])
        if self.people is not None:
            answer["half_width"] = float(found.half_width(self.people)[place])
        return answer


def _best(source: Any, budget: Any, confidence: float, simultaneous: bool) -> Precision:
    """What the best mechanism for the same numbers gives at another budget."""
    from ldpopt.designing import Design, design
    from ldpopt.estimation.planning import precision
    from ldpopt.frequencies import SubsetSelection
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.privacy import PureLDP

    if isinstance(source, Design):
        best: Any = design(source.workload, PureLDP(budget), weights=source.weights)
    else:
        answers = source.inputs if isinstance(source, Mechanism) else source.workload.inputs
        best = SubsetSelection(list(answers), budget)
    return precision(best, confidence=confidence, simultaneous=simultaneous)


def _texts(entry: dict[str, Any]) -> list[str]:
    """A row of a plan as text."""
    first, *rest = entry.values()
    head = number(first) if isinstance(first, float) else label(first)
    return [head, *(f"{value:,}" if isinstance(value, int) else number(value, 4) for value in rest)]
