"""The command plan: how many people a survey needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.options import option, share_option
from ldpopt.cli.plan_differences import plan_differences
from ldpopt.cli.printing import picked, say, show
from ldpopt.cli.questions import is_survey, read_survey_file, refuse_options
from ldpopt.estimation.options import Reading
from ldpopt.foundation.display import Facts, Part, Table, label
from ldpopt.foundation.numbers import percentage

if TYPE_CHECKING:
    from ldpopt.estimation.planning import Precision


def plan(
    file: options.QuestionsPath,
    half_width: options.HalfWidth = None,
    people: Annotated[int | None, option("--people N", "How many people answer.", min=1)] = None,
    confidence: options.Confidence = 0.95,
    simultaneous: options.Simultaneous = False,
    effect: Annotated[
        float,
        option(
            "--weights-effect D",
            "Design effect of weights, as estimate says it of other people, or N sum w^2 / "
            "(sum w)^2 if they are unrelated to the answers.",
            min=1.0,
        ),
    ] = 1.0,
    weights: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="TABLE COLUMN",
            help="Take the design effect from a column of weights, of other people: if these are "
            "unrelated to the answers, and at most.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        option(
            "--epsilon A:B:N",
            "Also plan with the optimal mechanism at these budgets (N from A to B).",
        ),
    ] = None,
    difference: Annotated[
        str | None,
        option(
            "--difference D",
            "How many people in each of two groups find this difference: .1, or 10%.",
        ),
    ] = None,
    power: Annotated[
        float, share_option("--power P", "Probability that the difference is found: .8, or 80%.")
    ] = 0.8,
    level: Annotated[
        float, share_option("--level A", "Probability of finding one where there is none.")
    ] = 0.05,
    ratio: Annotated[
        float, option("--ratio K", "People in the second group for each one in the first.")
    ] = 1.0,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Show how many people a survey needs.

    For each answer, and the worst distribution of the answers: how many people are needed for a
    half-width, or which half-width a number of people yields. With --epsilon also for the optimal
    mechanism under epsilon-LDP at several budgets. For a survey: the worst answer of each question;
    numbers of people are for the whole survey, even if each person is asked only one question.
    With --difference: how many people in two groups find a difference between them.
    """
    from ldpopt.tables.files import require_csv

    require_csv([] if weights is None else [weights[0]])
    if difference is not None:
        others = (half_width, people, epsilon, weights)
        if any(each is not None for each in others) or confidence != 0.95 or simultaneous:
            raise typer.BadParameter(
                "--difference goes with --power, --level, --ratio and --weights-effect only"
            )
        if percentage(difference) is None:
            _number(difference)
        plan_differences(
            file, difference, json, effect=effect, power=power, level=level, ratio=ratio
        )
        return
    requested = _request(
        file, half_width, people, Reading(confidence, simultaneous), effect, weights, epsilon
    )
    planned = _plan_survey(requested) if requested.is_survey else _plan_mechanism(requested)
    _print(requested, planned, json)


@dataclass(frozen=True)
class PlanRequest:
    """What is to be planned, after everything that can be refused beforehand was refused."""

    file: str
    is_survey: bool
    half_width: str | None  # as it was written
    wanted: str | float | None  # the half-width: a percentage or a number
    people: int | None
    reading: Reading
    effects: tuple[float, ...]  # of weights: one, or if unrelated to the answers and at most
    epsilon: str | None  # other budgets

    def numbers(self, precision: Precision, place: int) -> dict[str, Any]:
        """The planned numbers of one row of a precision."""
        numbers: dict[str, Any] = {}
        for effect, which in zip(self.effects, ("", "_at_most"), strict=False):
            weighted = replace(precision, variances=precision.variances * effect)
            if self.wanted is not None:
                numbers[f"people{which}"] = int(weighted.people(self.wanted)[place])
            if self.people is not None:
                numbers[f"half_width{which}"] = float(weighted.half_width(self.people)[place])
        return numbers

    @property
    def headings(self) -> list[str]:
        """Headings of the planned numbers."""
        headings = [] if self.half_width is None else [f"people for +-{self.half_width}"]
        headings += [] if self.people is None else [f"half-width of {self.people:,}"]
        return headings + [f"{each}, at most" for each in headings if len(self.effects) > 1]

    @property
    def words_of_effect(self) -> str:
        """What the design effect is of; empty if weights are equal."""
        if max(self.effects) <= 1:
            return ""
        if len(self.effects) == 1:
            return f", design effect {self.effects[0]:.4g}"
        unrelated, most = self.effects
        return (
            f", design effect {unrelated:.4g} if weights are unrelated to the answers, and at most "
            f"{most:.4g}"
        )


def _request(
    file: str,
    half_width: str | None,
    people: int | None,
    reading: Reading,
    effect: float,
    weights: tuple[str, str] | None,
    epsilon: str | None,
) -> PlanRequest:
    """Refuse options that do not go with the file, and read the design effect of the weights."""
    if half_width is None and people is None:
        raise typer.BadParameter("give --half-width, --people, or both, or --difference")
    is_text = half_width is None or percentage(half_width) is not None
    wanted = half_width if is_text else _number(half_width)
    effects: tuple[float, ...] = (effect,)
    if weights is not None:
        from ldpopt.estimation.reports import read_effects

        effects = read_effects(*weights)
    is_for_survey = is_survey(file)
    if is_for_survey:
        options_of_mechanisms = {"--simultaneous": reading.simultaneous, "--epsilon": epsilon}
        refuse_options(options_of_mechanisms, file)
    return PlanRequest(file, is_for_survey, half_width, wanted, people, reading, effects, epsilon)


def _number(text: str | None) -> float:
    """Read a half-width that is not a percentage."""
    try:
        return float(text or "")
    except ValueError:
        raise typer.BadParameter(
            f"'{text}' is not a number such as 0.05, nor a percentage such as 5%"
        ) from None


def _plan_survey(requested: PlanRequest) -> dict[str, Any]:
    """Numbers for the worst answer of each question."""
    survey = read_survey_file(requested.file)
    confidence = requested.reading.confidence
    entries = []
    if survey.weights is not None and max(requested.effects) <= 1:
        note = (
            "note: the numbers are for equal weights, and the survey has weights in "
            f"{label(survey.weights)}"
        )
        say(f"{note}: add their effect with --weights or --weights-effect")
    if survey.channels:
        say(
            "note: the numbers are for as many people with each mechanism, by the column "
            f"{', '.join(map(label, survey.channels))}"
        )
    if some := [name for name, each in survey.questions.items() if each.only_if]:
        say(
            f"note: {', '.join(map(label, some))}: as if all answers to the questions before were "
            "equally common; survey.precision(others=) takes a guess of them"
        )
    if some := [name for name, each in survey.questions.items() if each.repeat]:
        say(
            f"note: {', '.join(map(label, some))}: as if nobody were careless; "
            'survey.precision(prior={..., "inconsistent": share}) takes a guess'
        )
    for name in survey.questions:
        precision = survey.precision(name, confidence=confidence)
        worst = int(precision.variances.argmax())
        entry = {"question": name, "worst": precision.names[worst]}
        entries.append(entry | requested.numbers(precision, worst))
    return {"confidence": confidence, "epsilon": survey.epsilon, "questions": entries}


def _plan_mechanism(requested: PlanRequest) -> dict[str, Any]:
    """Numbers for each answer, and for the best mechanisms at other budgets."""
    from ldpopt.estimation.planning import precision
    from ldpopt.surveys.files import read_source

    reading = picked(requested.reading, "confidence", "simultaneous")
    source = read_source(requested.file)
    stated = precision(source, **reading)
    answers = [
        {"answer": name} | requested.numbers(stated, place)
        for place, name in enumerate(stated.names)
    ]
    curve = []
    for budget in [] if requested.epsilon is None else options.parse_grid(requested.epsilon):
        best = precision(_best_mechanism(source, budget), **reading)
        numbers = requested.numbers(best, int(best.variances.argmax()))
        curve.append({"epsilon": budget} | numbers)
    worst = answers[int(stated.variances.argmax())]
    confidence = requested.reading.confidence
    return {"confidence": confidence, "answers": answers, "worst": worst, "curve": curve}


def _print(requested: PlanRequest, planned: dict[str, Any], json: str | None) -> None:
    """Show the numbers of each question, or of each answer and at other budgets."""
    headings = requested.headings
    if requested.is_survey:
        rows = [
            [label(entry["question"]), label(entry["worst"]), *list(entry.values())[2:]]
            for entry in planned["questions"]
        ]
        words = ["worst answer"]
        parts: list[Part] = [Table(["question", *words, *headings], rows, words=words, digits=4)]
    else:
        worst = planned["worst"] | {"answer": f"worst: {planned['worst']['answer']}"}
        rows = [
            [label(entry["answer"]), *list(entry.values())[1:]]
            for entry in [*planned["answers"], worst]
        ]
        parts = [Table(["answer", *headings], rows, digits=4)]
        if planned["curve"]:
            rows = [list(entry.values()) for entry in planned["curve"]]
            over = "the mechanism with the best average for the same numbers, its worst number"
            parts.append(Table(["epsilon", *headings], rows, over, digits=4))
    title = f"{100 * requested.reading.confidence:g} % intervals"
    title += ", all at once" if requested.reading.simultaneous else ""
    title += requested.words_of_effect
    show(Facts(f"{title}, worst distribution", parts), planned, json)


def _best_mechanism(source: Any, budget: str) -> Any:
    """The best mechanism for the same numbers at another budget."""
    from ldpopt.designing.design import design
    from ldpopt.designing.record import Design
    from ldpopt.frequencies import SubsetSelection
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.privacy import PureLDP

    if isinstance(source, Design):
        return design(source.workload, PureLDP(budget), weights=source.weights)
    return SubsetSelection(
        list(source.inputs if isinstance(source, Mechanism) else source.workload.inputs), budget
    )
