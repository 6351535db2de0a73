"""Names of the columns of a survey: each belongs to one question, or to something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ldpopt.errors import StatementError
from ldpopt.estimation.sample import Sample
from ldpopt.mechanism.questions import Question


def require_own_columns(
    asked: Mapping[str, Question],
    names: Sequence[str] | Mapping[str, Question],
    channels: Sequence[str],
    fields: Mapping[str, Sequence[str]],
    sample: Sample,
) -> None:
    """Refuse a column with the answers to two questions, or with something else as well.

    ``asked`` are the questions by the columns of their reports, ``channels`` the columns that say
    which mechanism a person has.
    """
    taken = _columns_of(asked) | {*names}
    if shared := [name for name in channels if name in taken]:
        raise StatementError(
            f"the column {shared[0]!r}, which names mechanisms, is a question",
            code="channel-column",
            do="name the column that says which mechanism each person has",
        )
    if shared := [name for name in fields if name in {*taken, *channels}]:
        raise StatementError(
            f"the field {shared[0]!r} is a question, or names mechanisms",
            code="field-column",
            do="give the field another name",
        )
    if shared := [name for name in sample.columns if name in taken]:
        is_weights = shared[0] == sample.weights
        raise StatementError(
            f"the column {shared[0]!r} of the {'weights' if is_weights else 'sample'} is a "
            "question",
            code="weights" if is_weights else "sample-column",
            do="name another column",
        )
    if sample.weights in channels:  # as strata it is as good as any other column
        raise StatementError(
            f"the column {sample.weights!r} of the weights says which mechanism a person has",
            code="channel-weights",
            do="name another column",
        )


def _columns_of(asked: Mapping[str, Question]) -> set[str]:
    """The columns of answers and reports; one with the answers to two questions is refused."""
    readers: dict[str, str] = {}  # questions by the columns of their answers
    for name, question in asked.items():
        for column in question.parts or (name,):
            if readers.setdefault(column, name) != name:
                raise StatementError(
                    f"the column {column!r} has the answers to two questions, "
                    f"{readers[column]!r} and {name!r}",
                    code="shared-column",
                    do="give each question, and each of its ticks, a column of its own",
                )
    for name in asked:
        if (other := readers.get(name, name)) != name:
            raise StatementError(
                f"the column {name!r} has answers to {other!r}, and would get the reports on "
                f"{name!r}",
                code="shared-column",
                do="rename the question or the column",
            )
    return {*readers, *asked}
