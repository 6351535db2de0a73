"""The command audit: the true privacy of a mechanism."""

import math
from typing import Annotated, Any, Literal

import typer

from ldpopt.cli import options, questions
from ldpopt.cli.options import option
from ldpopt.cli.printing import audit_data, refuse, show
from ldpopt.foundation.display import Facts, Table


def audit(
    file: options.QuestionsPath,
    epsilon: Annotated[
        str | None, option("--epsilon E", "Epsilon to check: nats, or 'log(3)'.")
    ] = None,
    delta: Annotated[
        float | None, option("--delta D", "Delta to check, together with --epsilon.")
    ] = None,
    form: Annotated[
        Literal["event", "entry"],
        option("--form", "Check delta for every set of reports, or for single reports."),
    ] = "event",
    model: Annotated[
        str | None, option("--model MODEL", "Check the privacy notion of this model.")
    ] = None,
    json: options.Json = None,
) -> None:
    """Recompute the privacy of a mechanism or a survey exactly.

    Prints the true epsilon, the delta curve and a witness; of a survey the true epsilon of each
    question and of a person, with which an epsilon to check is compared. If an epsilon, delta or
    model to check is given, the exit code is 1 if the mechanism does not satisfy it. Epsilon is
    null or inf if no budget is large enough.
    """
    claim = _claim(epsilon, delta, form, model)
    if questions.is_survey(file):
        questions.refuse_options({"--delta": delta is not None, "--model": model}, file)
        _audit_survey(file, epsilon, json)
        return
    channel = questions.read_mechanism(file)
    measured = channel.audit(claim)
    pure = channel.audit()
    claimed = float(getattr(claim, "epsilon", None) or 0.0)
    end = pure.epsilon if math.isfinite(pure.epsilon) else max(2.0, 2 * claimed)
    curve = [
        (at, pure.delta_at(at))
        for at in sorted({*(round(end * k / 4, 3) for k in range(4)), end, claimed})
    ]
    data = audit_data(measured) | {
        "claim": None if claim is None else measured.claim,
        "pure_epsilon": pure.epsilon,
    }
    data |= {
        "witness": measured.witness,
        "curve": [{"epsilon": at, "delta": least} for at, least in curve],
    }
    table = Table(
        ["epsilon", "least delta"], curve, "delta curve (every event, all pairs of answers)"
    )
    rows = [("true epsilon", f"{pure.epsilon:.12g}{_odds(channel, pure)}")]
    *claims, witness = measured.facts().parts
    show(Facts("", [*rows, *([] if claim is None else claims), witness, table]), data, json)
    if claim is not None and measured.verdict != "certified":
        problem = (
            f"the claim {measured.claim} is {measured.verdict}: "
            f"{measured.numbers_text().partition(':')[0]}"
        )
        refuse(
            problem,
            "claim these numbers, or use a mechanism that `ldpopt solve` finds for the claim",
        )


def _audit_survey(file: str, epsilon: str | None, json: str | None) -> None:
    """Show the true epsilon of each question and of a person; exit 1 if that is above a claim."""
    from ldpopt.foundation.budget import Budget
    from ldpopt.surveys.overview import spent_in_words

    survey = questions.read_survey_file(file)
    holds = epsilon is None or survey.odds <= Budget(epsilon).enclosure()[0]
    tables, data = questions.survey_tables(survey)
    spent = f"a person spends {spent_in_words(survey, 9)} ({survey.scheme})"
    show(Facts(survey.title, [*tables, spent]), data | {"claim": epsilon, "holds": holds}, json)
    if not holds:
        spent = spent_in_words(survey, 9)
        problem = f"the claim epsilon = {epsilon} is violated: a person spends {spent}"
        refuse(problem, "claim this epsilon, or solve the survey with a smaller one")


def _claim(epsilon: str | None, delta: float | None, form: Any, model: str | None) -> Any:
    """Build the claimed notion, or None."""
    if model is not None:
        if epsilon is not None or delta is not None:
            raise typer.BadParameter("the claim is given twice: give either --model or --epsilon")
        from ldpopt.problem.modelfile import read_model

        path = options.find_file(model)
        questions.require_no_survey(path)
        return read_model(path).privacy
    if epsilon is None:
        if delta is not None:
            raise typer.BadParameter("--delta is given without --epsilon: give both")
        return None
    from ldpopt.privacy import ApproximateLDP, PureLDP

    return PureLDP(epsilon) if delta is None else ApproximateLDP(epsilon, delta, form)


def _odds(mechanism: Any, pure: Any) -> str:
    """The two probabilities with the largest ratio."""
    if pure.witness is None:
        return " (all rows are equal)"
    x, other, y = pure.witness
    over, under = (
        mechanism.channel[mechanism.inputs.index(name), mechanism.outputs.index(y)]
        for name in (x, other)
    )
    return f" (P = {over:.6g} against {under:.6g})"
