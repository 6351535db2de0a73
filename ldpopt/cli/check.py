"""The command check: size and plan of a model, or the budgets of a survey, before anything is
computed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpopt.cli import options
from ldpopt.cli.printing import picked, say, show
from ldpopt.cli.questions import is_survey, read_survey_file, survey_tables
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.display import Facts, Part, Table, label, privacy_text

if TYPE_CHECKING:
    from ldpopt.problem.modelfile import Model
    from ldpopt.problem.problem import Problem
    from ldpopt.surveys.statement import UnsolvedSurvey

MOST_ANSWERS = 8  # of which the extreme rays are counted, in less than a second


def check(file: options.ModelOrSurveyPath, json: options.Json = None) -> None:
    """Validate a model or a survey; show its size and the plan.

    For a utility: rows, columns, non-zeros and memory of each form of the linear program, and the
    methods that `solve` will try, in this order, with the reason. For a workload: its rows and
    rank, the answers that it distinguishes, its symmetries, and the methods that `design` will use.
    For two distributions to test: the number of their answers. For a survey: how a person's budget
    is divided, between which budgets people choose, and what a question costs that is asked twice.
    """
    from ldpopt.problem.modelfile import read_model

    if is_survey(file):
        _check_survey(file, json)
        return
    model = read_model(file)
    data: dict[str, Any] = {"title": model.title, "privacy": privacy_text(model.privacy)}
    parts: list[Part] = [("privacy", data["privacy"])]
    parts += _privacy_parts(model, data)
    if model.problem is not None:
        data |= _problem_data(model)
        parts += _problem_parts(data)
    if model.design is not None:
        data["workload"] = _workload_data(model)
        parts += _workload_parts(model, data["workload"])
    if model.hypotheses is not None:
        data["test"] = {"answers": len(model.inputs)}
        parts.append(("test", f"two distributions of {len(model.inputs):,} answers: `ldpopt test`"))
    show(Facts(model.title or file, parts), data, json)


def _privacy_parts(model: Model, data: dict[str, Any]) -> list[Part]:
    """What a notion that compares averages promises, how many comparisons it has, and how many
    extreme rays if the answers are few.
    """
    from ldpopt.privacy.cones.rays import rays_of
    from ldpopt.privacy.sentences import promises_of

    inputs = model.inputs
    promises = promises_of(model.privacy, inputs)
    if not promises:
        return []
    parts: list[Part] = [("promise", text) for text in promises]
    comparisons = model.privacy.comparisons(inputs)
    if comparisons is None:
        return parts
    data["comparisons"] = len(comparisons)
    shown: list[Part] = [("comparisons", f"{len(comparisons):,}")]
    if len(inputs) <= MOST_ANSWERS:
        data["rays"] = len(rays_of(model.privacy, inputs))
        shown.append(("extreme rays", f"{data['rays']:,}"))
    return [*shown, *parts]


def _problem_data(model: Model) -> dict[str, Any]:
    """Sizes of the program, and the plan."""
    from ldpopt.solving.formulation import available_forms
    from ldpopt.solving.plan import plan

    problem = model.require_problem()
    forms = available_forms(problem)
    data: dict[str, Any] = dict(zip(("inputs", "outputs"), problem.utility.shape, strict=True))
    data |= {
        "objective": problem.objective,
        "sense": problem.utility.sense,
        "default_form": forms[0],
    }
    data |= {"order": _order(problem), "forms": [_size(problem, form) for form in forms]}
    steps = plan(problem, model.solver)
    return data | {
        "plan": [{"method": step.method.name, "because": step.because} for step in steps]
    }


def _order(problem: Problem) -> list[Any] | None:
    """The answers as stated, if their labels are not numbers and the loss is the distance in this
    order; else None.
    """
    from ldpopt.foundation.labels import label_numbers
    from ldpopt.problem.utility import name_of

    has_numbers = problem.utility.sense == "gain" or label_numbers(problem.inputs) is not None
    known = None if has_numbers else name_of(problem.utility, problem.inputs, problem.outputs)
    return None if known is None else list(problem.inputs)


def _size(problem: Problem, form: Any) -> dict[str, Any]:
    """Size of a form of the program."""
    from ldpopt.solving.formulation import size

    program = size(problem, form)
    numbers = picked(program, "rows", "columns", "nonzeros")
    counts = {key: round(value) if value < 2**53 else value for key, value in numbers.items()}
    return {"form": form} | counts | {"memory_bytes": program.memory}


def _problem_parts(data: dict[str, Any]) -> list[Part]:
    """What is printed about a utility."""
    aim = f"{data['objective'].replace('_', '-')} {data['sense']}"
    utility = f"{data['inputs']:,} answers, {data['outputs']:,} reports, {aim}"
    rows = []
    for form, *numbers, memory in (size.values() for size in data["forms"]):
        rows.append(
            [
                f"{form} (default)" if form == data["default_form"] else form,
                *numbers,
                _memory_text(memory),
            ]
        )
    table = Table(["program", "rows", "columns", "non-zeros", "memory"], rows, digits=3)
    names = data["order"] or []
    shown = ", ".join(map(label, names[:8])) + ", ..." * (len(names) > 8)
    order = [("order", f"{shown} (as stated)")] if names else []
    return [("utility", utility), *order, table, *_plan_parts(data["plan"])]


def _plan_parts(plan: list[dict[str, str]]) -> list[Part]:
    """The methods of a plan in their order, with the reasons."""
    return [
        ("then" if k else "plan", f"{step['method']}: {step['because']}")
        for k, step in enumerate(plan)
    ]


def _workload_data(model: Model) -> dict[str, Any]:
    """Sizes and symmetries, and the plan that `design` follows."""
    from ldpopt.designing.design_form import LARGEST, DesignForm
    from ldpopt.designing.plan import plan_design

    problem = model.require_design()
    form = DesignForm(problem)
    rows, answers = problem.workload.shape
    is_listed = form.unit is None or answers <= LARGEST
    data: dict[str, Any] = {"rows": rows, "answers": answers}
    data |= {
        "rank": form.rank if is_listed else answers,
        "distinguished": form.n if is_listed else answers,
    }
    try:
        plan = [
            {"method": step.method.name, "because": step.because} for step in plan_design(problem)
        ]
    except (StatementError, NotRepresentableError) as error:
        plan = [{"method": "none", "because": error.what}]
        return data | {"symmetries": 1, "is_symmetric": False, "plan": plan}
    data |= {"symmetries": form.symmetries if is_listed else 1}
    data["least_influence"] = _least_influence(problem)
    return data | {"is_symmetric": form.is_exchangeable if is_listed else True, "plan": plan}


def _least_influence(problem: Any) -> float | None:
    """The least influence of a report in people, for any mechanism and unbiased estimator; None for
    other notions than pure privacy, or if no number depends on the answers.
    """
    import numpy as np

    from ldpopt.estimation.influence import least_in_people
    from ldpopt.privacy import PureLDP

    is_constant = bool((np.ptp(problem.workload.matrix, axis=1) == 0).all())
    if not isinstance(problem.privacy, PureLDP) or is_constant:
        return None
    return least_in_people(float(problem.privacy.epsilon))


def _workload_parts(model: Model, data: dict[str, Any]) -> list[Part]:
    """What is printed about a workload."""
    problem = model.require_design()
    weights = "equal" if problem.weights is None else "the prior"
    aim = "worst-case" if problem.objective == "worst_case" else "average"
    least = data.get("least_influence")
    influence = []
    if least is not None:
        text = f"a false report counts as {least:.3g} people or more, by any mechanism"
        influence.append(("influence", text))
    return [
        ("workload", f"{data['rows']:,} numbers of {data['answers']:,} answers, {aim} variance"),
        ("weights", "for the worst case" if problem.objective == "worst_case" else weights),
        ("rank", "not computed" if data["rank"] is None else data["rank"]),
        ("distinguished", f"{data['distinguished']:,} of {data['answers']:,} answers"),
        (
            "symmetries found",
            f"{data['symmetries']:,}{', all permutations' if data['is_symmetric'] else ''}",
        ),
        *influence,
        *_plan_parts(data["plan"]),
    ]


def _memory_text(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def _check_survey(path: str, json: str | None) -> None:
    """Show how a person's budget is divided, in a statement (TOML) or in a solved survey (JSON)."""
    from ldpopt.surveys.overview import lines_of_repeated
    from ldpopt.surveys.risks import CERTAIN, MUST_ANSWER, Risks
    from ldpopt.surveys.statement import read_survey

    if Path(path).suffix.lower() != ".toml":
        survey = read_survey_file(path)
        tables, data = survey_tables(survey)
        facts = Risks(survey)
        sentence = CERTAIN.say(facts)
        data["warning"] = MUST_ANSWER.say(facts)
        solved: list[Part] = [*tables, f"scheme: {survey.scheme}, solved", sentence]
        show(Facts(survey.title, solved), data | {"sentence": sentence}, json)
        _warn(data["warning"])
        return
    statement = read_survey(path)
    entries: list[dict[str, Any]] = []
    for name, question in statement.section.question.items():
        law = statement.sources[name].randomizer if name in statement.sources else None
        answers = question.answer_count if law is None else len(law.inputs)
        epsilon = statement.budgets.get(name) if law is None else law.audit().epsilon
        entry = {"question": name, "answers": answers, "epsilon": epsilon}
        entries.append(entry | {"missing": question.missing, "mechanism": question.mechanism})
    title = statement.section.words.first.title
    data = {"title": title, "epsilon": statement.section.epsilon}
    data |= {"scheme": statement.scheme, "questions": entries}
    choices = statement.section.choices
    parts: list[Part] = []
    if choices is not None:
        data["choices"] = choices
        parts = [f"each person chooses epsilon: {', '.join(map(str, choices))}; the budgets above "
                 "are those of the largest"]  # fmt: skip
    prices = _prices_of_repeats(statement)
    data["repeated"] = list(prices)
    data["people_of_repeated"] = prices
    parts += lines_of_repeated(list(prices))
    parts += [
        f"{label(name)}: {price:.2f} times as many people as asked once, for the same errors if "
        "nobody is careless"
        for name, price in prices.items()
        if price is not None
    ]
    data["warning"] = MUST_ANSWER.say(statement.section.asked)
    rows = [
        [label(e["question"]), *(e[key] for key in ("answers", "epsilon", "missing"))]
        for e in entries
    ]
    table = Table(["question", "answers", "epsilon", "missing"], rows, words=["missing"], digits=5)
    show(
        Facts(title, [table, f"scheme: {statement.why or statement.scheme}", *parts]),
        data,
        json,
    )
    _warn(data["warning"])


def _prices_of_repeats(statement: UnsolvedSurvey) -> dict[str, float | None]:
    """By which factor the average variance of the shares is larger if a question is asked twice,
    at its prior or else at equal shares; None unless it asks for plain shares of its labels.
    """
    from ldpopt.mechanism.questions import Question
    from ldpopt.surveys.survey import Survey

    prices: dict[str, float | None] = {}
    for name, section in statement.section.question.items():
        if not section.repeat:
            continue
        prices[name] = None
        is_plain = section.workload in (None, "frequencies") and section.number is None
        if name not in statement.budgets or not is_plain or section.missing == "answer":
            continue
        labels = section.inputs
        stated = section.weights
        prior = stated if isinstance(stated, list) else [1.0] * len(labels)
        if isinstance(stated, dict):
            prior = [stated[each] for each in labels]
        guess = dict(zip(labels, prior, strict=True))
        budget = statement.budgets[name].exact_text
        twice, once = (
            Survey({name: Question(labels, repeat=repeat)}, epsilon=budget)
            .precision(name, prior=guess)
            .variances[: len(labels)]
            .sum()
            for repeat in (True, False)
        )
        prices[name] = float(twice / once)
    return prices


def _warn(text: str) -> None:
    """Say what is probably not meant, if there is something."""
    if text:
        say(f"warning: {text}")
