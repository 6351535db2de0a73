"""The command plan: how many people a survey needs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.options import option
from ldpopt.cli.printing import say, show
from ldpopt.cli.questions import is_survey, read_survey_file, refuse_options
from ldpopt.foundation.display import Facts, Part, Table, label
from ldpopt.foundation.numbers import percentage

Numbers = Callable[[Any, int], dict[str, Any]]  # the planned numbers of one row of a `Precision`


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
            "Design effect of weights: N sum w^2 / (sum w)^2.",
            min=1.0,
        ),
    ] = 1.0,
    weights: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="TABLE COLUMN",
            help="Take the design effect from a column of weights, of other people.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        option(
            "--epsilon A:B:N",
            "Also plan with the optimal mechanism at these budgets (N from A to B).",
        ),
    ] = None,
    json: options.Json = None,
) -> None:
    """Show how many people a survey needs.

    For each answer, and the worst distribution of the answers: how many people are needed for a
    half-width, or which half-width a number of people yields. With --epsilon also for the optimal
    mechanism under epsilon-LDP at several budgets. For a survey: the worst answer of each question;
    numbers of people are for the whole survey, even if each person is asked only one question.
    """
    if half_width is None and people is None:
        raise typer.BadParameter("give --half-width, --people, or both")
    wanted = (
        half_width
        if half_width is None or percentage(half_width) is not None
        else _number(half_width)
    )

    if weights is not None:
        from ldpopt.estimation.reports import read_effect

        effect = read_effect(*weights)

    def numbers(found: Any, place: int) -> dict[str, Any]:
        found = replace(found, variances=found.variances * effect)
        needed = {} if wanted is None else {"people": int(found.people(wanted)[place])}
        return needed | (
            {} if people is None else {"half_width": float(found.half_width(people)[place])}
        )

    headings = [] if half_width is None else [f"people for +-{half_width}"]
    headings += [] if people is None else [f"half-width of {people:,}"]
    more = (", all at once" if simultaneous else "") + (
        f", design effect {effect:.4g} (of weights that are unrelated to the answers; of others "
        "it may be larger)"
        if effect > 1
        else ""
    )
    title = f"{100 * confidence:g} % intervals{more}, worst distribution"
    if is_survey(file):
        refuse_options({"--simultaneous": simultaneous, "--epsilon": epsilon}, file)
        data = _plan_survey(file, confidence, numbers, effect > 1)
        rows = [
            [label(e["question"]), label(e["worst"]), *list(e.values())[2:]]
            for e in data["questions"]
        ]
        parts: list[Part] = [
            Table(["question", "worst answer", *headings], rows, words=["worst answer"], digits=4)
        ]
    else:
        data = _plan_mechanism(
            file, {"confidence": confidence, "simultaneous": simultaneous}, epsilon, numbers
        )
        worst = data["worst"] | {"answer": f"worst: {data['worst']['answer']}"}
        rows = [[label(e["answer"]), *list(e.values())[1:]] for e in [*data["answers"], worst]]
        parts = [Table(["answer", *headings], rows, digits=4)]
        if data["curve"]:
            rows = [list(entry.values()) for entry in data["curve"]]
            over = "the best mechanism for the same numbers, its worst one"
            parts.append(Table(["epsilon", *headings], rows, over, digits=4))
    show(Facts(title, parts), data, json)


def _number(text: str) -> float:
    """Read a half-width that is not a percentage."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"'{text}' is not a number such as 0.05, nor a percentage such as 5%"
        ) from None


def _plan_survey(
    file: str, confidence: float, numbers: Numbers, has_effect: bool
) -> dict[str, Any]:
    """Numbers for the worst answer of each question."""
    survey = read_survey_file(file)
    entries = []
    if survey.weights is not None and not has_effect:
        what = (
            "note: the numbers are for equal weights, and the survey has weights in "
            f"{label(survey.weights)}"
        )
        say(f"{what}: add their effect with --weights or --weights-effect")
    for name in survey.questions:
        found = survey.precision(name, confidence=confidence)
        worst = int(found.variances.argmax())
        entries.append({"question": name, "worst": found.names[worst]} | numbers(found, worst))
    return {"confidence": confidence, "epsilon": survey.epsilon, "questions": entries}


def _plan_mechanism(
    file: str, how: dict[str, Any], epsilon: str | None, numbers: Numbers
) -> dict[str, Any]:
    """Numbers for each answer, and for the best mechanisms at other budgets."""
    from ldpopt.estimation.planning import precision
    from ldpopt.surveys.files import read_source

    source = read_source(file)
    found = precision(source, **how)
    answers = [{"answer": name} | numbers(found, place) for place, name in enumerate(found.names)]
    curve = []
    for budget in [] if epsilon is None else options.parse_grid(epsilon):
        other = precision(_best_mechanism(source, budget), **how)
        curve.append({"epsilon": budget} | numbers(other, int(other.variances.argmax())))
    worst = answers[int(found.variances.argmax())]
    return {"confidence": how["confidence"], "answers": answers, "worst": worst, "curve": curve}


def _best_mechanism(source: Any, budget: str) -> Any:
    """The best mechanism for the same numbers at another budget."""
    from ldpopt.designing import Design, design
    from ldpopt.frequencies import SubsetSelection
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.privacy import PureLDP

    if isinstance(source, Design):
        return design(source.workload, PureLDP(budget), weights=source.weights)
    return SubsetSelection(
        list(source.inputs if isinstance(source, Mechanism) else source.workload.inputs), budget
    )
