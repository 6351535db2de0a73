"""The command design: the mechanism from which a model's workload is estimated best."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ldpopt.cli import options
from ldpopt.cli.options import new_file, new_picture, option, share_option
from ldpopt.cli.printing import (
    audit_data,
    picked,
    require_expected,
    require_gap,
    save_picture,
    show,
    working,
)
from ldpopt.foundation.display import Facts, Table, label, privacy_text, thinned

if TYPE_CHECKING:
    from ldpopt.problem.modelfile import Model


def design(
    model: options.ModelPath,
    epsilon: options.Epsilon = None,
    gap: Annotated[
        float | None,
        option(
            "--gap G",
            "Relative gap to reach (default: 1e-6); exit 1 if a given one is missed.",
            min=0.0,
        ),
    ] = None,
    time_limit: options.TimeLimit = None,
    outputs: Annotated[
        int | None, option("--outputs M", "Largest number of different reports.", min=2)
    ] = None,
    influence: Annotated[
        float | None,
        option("--influence I", "Largest influence of a report on each number.", min=0.0),
    ] = None,
    liars: Annotated[
        float | None,
        share_option("--liars SHARE", "Share of liars to design for, such as .01; with --people."),
    ] = None,
    people: Annotated[
        int | None, option("--people N", "Number of people, with --liars.", min=1)
    ] = None,
    by_answer: Annotated[
        bool, option("--by-answer", "Print the variance for each true answer.")
    ] = False,
    output: Annotated[
        str | None, new_file("-o --output FILE", "Mechanism, estimator, proof in one JSON file.")
    ] = None,
    proof: Annotated[
        str | None, new_file("--certificate FILE", "The same file, for `ldpopt certify`.")
    ] = None,
    plot: Annotated[
        str | None, new_picture("--plot FILE", "Variance by answer; `ldpopt plot` compares others.")
    ] = None,
    json: options.Json = None,
) -> None:
    """Find the best mechanism for estimating a model's workload.

    No private mechanism has a smaller variance than the bound. The file written by -o is all that a
    survey needs: `privatize`, `estimate`, `audit`, `plot` and `certify` read it. Exit code 1 if the
    model's [expect] is not met or a given gap is missed; 3 if there is no design.
    """
    from ldpopt.designing.saved import save_design

    loaded = options.read_model_at(model, epsilon)
    loaded.require_design(model)
    if influence is not None or liars is not None:
        loaded = replace(loaded, expect=None)  # which is the variance without a cap
    with working(f"designing {Path(model).name}"):
        best = run_design(
            loaded,
            gap,
            time_limit,
            outputs=outputs,
            influence=influence,
            liars=liars,
            people=people,
        )
    data = _data(loaded, best, is_by_answer=by_answer or json is not None)
    show(_facts(loaded, model, best, data, by_answer), data, json)
    for path in (output, proof):
        if path is not None:
            save_design(best, path, title=loaded.title)
    if plot is not None:
        from ldpopt import plotting as pictures

        save_picture(plot, pictures.design(best))
    require_gap(best.relative_gap, gap, best.notes[-1] if best.notes else "")
    require_expected(loaded, best.value, "variance")


def run_design(model: Model, gap: float | None, time_limit: float | None, **options: Any) -> Any:
    """Design for a model, by default within its own time limit; options that are None are left
    out.
    """
    from ldpopt.designing.design import design

    stated = {name: value for name, value in options.items() if value is not None}
    arguments: dict[str, Any] = vars(model.require_design()) | stated
    arguments["time_limit"] = model.time_limit if time_limit is None else time_limit
    return design(**arguments, gap=1e-6 if gap is None else gap)


def _data(model: Model, design: Any, is_by_answer: bool) -> dict[str, Any]:
    """A design as JSON data; the mechanism is null if its reports are too many to list."""
    problem = model.require_design()
    is_listed = design.codec.form == "labels"
    variances = (
        zip(problem.workload.inputs, design.variance().tolist(), strict=True)
        if is_by_answer
        else ()
    )
    k, n = problem.workload.shape
    privacy = privacy_text(problem.privacy)
    data: dict[str, Any] = {
        "title": model.title,
        "objective": problem.objective,
        "privacy": privacy,
    }
    data |= {"numbers": k, "answers": n}
    data |= picked(
        design,
        "value",
        "average_variance",
        "worst_variance",
        "bound",
        "relative_gap",
        "exact",
        "bits",
    )
    data["influence"] = design.influence.most_people
    return data | {
        "reports": design.n_reports if is_listed else None,
        "variances": [{"answer": answer, "variance": variance} for answer, variance in variances],
        "mechanism": design.mechanism.to_dict() if is_listed else None,
        "audit": audit_data(design.certificate.audit),
    }


def _facts(model: Model, path: str, design: Any, data: dict[str, Any], by_answer: bool) -> Facts:
    """The facts of a design under the title of its model, and what the model expects."""
    facts = design.facts()
    *parts, remark = facts.parts
    if model.expect is not None and model.expect.variance is not None:
        parts.append(
            ("model expects", f"{model.expect.variance:.9g} within {model.expect.tolerance:g}")
        )
    parts.append(remark)
    if by_answer:
        few, more = thinned(data["variances"])
        rows = [[label(entry["answer"]), entry["variance"]] for entry in few]
        title = f"{data['answers']:,} answers{more}" if more else ""
        parts.append(Table(["answer", "variance"], rows, title, digits=9))
    return Facts(f"{model.title or path}: {facts.title}", parts)
