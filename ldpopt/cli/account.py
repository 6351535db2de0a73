"""The command account: what all reports of a person reveal together."""

from collections.abc import Callable
from typing import Annotated, Any

from ldpopt.cli import options
from ldpopt.cli.options import new_file, option
from ldpopt.cli.printing import say, show, working
from ldpopt.cli.questions import is_survey, read_survey_file
from ldpopt.foundation.display import Facts, Table
from ldpopt.foundation.labels import text_of


def account(
    file: options.QuestionsPath,
    waves: Annotated[int, option("--waves N", "How often each person reports.", min=1)] = 1,
    delta: Annotated[float, option("--delta D", "Delta of the epsilon.", min=0.0, max=1.0)] = 1e-6,
    people: Annotated[
        int | None, option("--shuffled N", "Number of people whose reports are shuffled.", min=1)
    ] = None,
    certificate: Annotated[
        str | None, new_file("--certificate FILE", "Write the proof, for `ldpopt certify`.")
    ] = None,
    json: options.Json = None,
) -> None:
    """Show what all reports of a person reveal together.

    FILE is a survey, a mechanism or a design. Every number is proved from the probabilities
    themselves, for people who choose later answers by earlier reports, too. With --shuffled a
    trusted party removes names and order.
    """
    from ldpopt.accounting.sentences import ANSWERS, ATTAINED

    with working(f"adding up {file}") as describe:
        curve = _curve(file, waves, people, lambda part: describe(f"adding up {file}: {part}"))
        describe(f"adding up {file}")
        epsilon = curve.epsilon(delta)
        # of shuffled reports it would take longer than all else
        at_least = None if people is not None else curve.epsilon_lower(delta)
        guess = curve.guess()
    sum_of_budgets = curve.epsilon(0.0)
    if certificate is not None:
        curve.prove(delta).save(certificate)
    reports = sum(times * source.reports for source, times in curve.sources)
    data = {
        "reports": reports,
        "people": people,
        "sum_of_budgets": sum_of_budgets,
        "delta": delta,
        "epsilon": epsilon,
        "epsilon_lower": at_least,
    }
    data |= {"guess": guess, "is_attained": curve.is_attained, "sentence": curve.in_words}
    data |= {"answers": curve.answers}
    rows: list[list[Any]] = [[0.0, sum_of_budgets], *([[delta, epsilon]] if delta else [])]
    among = "" if people is None else f", shuffled among {people:,} people"
    parts = [Table(["delta", "epsilon"], rows, digits=6), curve.in_words]
    assumed = ANSWERS.say(curve)
    parts += [("answers", assumed)] if assumed else []
    parts += filter(None, [ATTAINED.say(curve)])
    show(Facts(f"{file}: {reports} reports of a person{among}", parts), data, json)


def _curve(file: str, waves: int, people: int | None, progress: Callable[[str], None]) -> Any:
    """The curve of a survey, or of a mechanism or design."""
    from ldpopt.accounting import compose, shuffled
    from ldpopt.surveys.account import account_of
    from ldpopt.surveys.files import read_source

    if is_survey(file):
        survey = read_survey_file(file)
        if survey.choices:
            say(
                f"note: the numbers are for whoever chooses epsilon {text_of(survey.choices[-1])}; "
                "in Python `Survey.account(choice=...)` has those of the other choices"
            )
        if survey.stage is not None:
            say(f"note: {survey.stage.promise(survey.epsilon)}")
        return account_of(survey, waves, people, progress=progress)
    source: Any = read_source(file)
    source_or_shuffled = source if people is None else shuffled(source, people)
    return (
        source_or_shuffled
        if people is not None and waves == 1
        else compose([(source_or_shuffled, waves)])
    )
