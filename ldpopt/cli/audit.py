"""The command audit: the true privacy of a mechanism."""

import math
from typing import Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.options import option
from ldpopt.cli.printing import audit_data, refuse, show
from ldpopt.cli.questions import read_mechanism
from ldpopt.foundation.display import Facts, Table


def audit(
    mechanism: options.MechanismPath,
    epsilon: Annotated[str | None, option("--epsilon E", "Epsilon to check: nats, or 'log(3)'.")] = None,
    delta: Annotated[float | None, option("--delta D", "Delta to check, together with --epsilon.")] = None,
    form: Annotated[
        Literal["event", "entry"], option("--form", "Check delta for every set of reports, or for single reports.")
    ] = "event",
    model: Annotated[str | None, option("--model MODEL", "Check the privacy notion of this model.")] = None,
    json: options.Json = None,
) -> None:
    """Recompute the privacy of a mechanism exactly.

    Prints the true epsilon, the delta curve and a witness. If an epsilon, delta or model to check is given, the exit
    code is 1 if the mechanism does not satisfy it. Epsilon is null or inf if no budget is large enough.
    """
    claim = _claim(epsilon, delta, form, model)
    channel = read_mechanism(mechanism)
    found, pure = channel.audit(claim), channel.audit()
    claimed = float(getattr(claim, "epsilon", None) or 0.0)
    end = pure.epsilon if math.isfinite(pure.epsilon) else max(2.0, 2 * claimed)
    curve = [(at, pure.delta_at(at)) for at in sorted({*(round(end * k / 4, 3) for k in range(4)), end, claimed})]
    data = audit_data(found) | {"claim": None if claim is None else found.claim, "pure_epsilon": pure.epsilon}
    data |= {"witness": found.witness, "curve": [{"epsilon": at, "delta": least} for at, least in curve]}
    table = Table(["epsilon", "least delta"], curve, "delta curve (every event, all pairs of answers)")
    rows = [("true epsilon", f"{pure.epsilon:.12g}{_odds(channel, pure)}")]
    *claims, witness = found.facts().parts
    show(Facts("", [*rows, *([] if claim is None else claims), witness, table]), data, json)
    if claim is not None and found.verdict != "certified":
        what = f"the claim {found.claim} is {found.verdict}: epsilon {found.epsilon:.9g}, delta {found.delta:.9g}"
        refuse(what, "claim these numbers, or use a mechanism that `ldpopt solve` finds for the claim")


def _claim(epsilon: str | None, delta: float | None, form: Any, model: str | None) -> Any:
    """Build the claimed notion, or None."""
    if model is not None:
        if epsilon is not None or delta is not None:
            raise typer.BadParameter("the claim is given twice: give either --model or --epsilon")
        from ldpopt.problem.modelfile import read_model

        return read_model(options.find_model(model)).privacy
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
    column = mechanism.outputs.index(y)
    over, under = (mechanism.channel[mechanism.inputs.index(name), column] for name in (x, other))
    return f" (P = {over:.6g} against {under:.6g})"
