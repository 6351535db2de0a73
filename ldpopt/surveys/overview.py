"""The questions of a survey as a table: answers, treatment of missing ones, audited budgets."""

from collections.abc import Sequence
from typing import Any

from ldpopt.foundation.display import Facts, Table, label
from ldpopt.surveys.questionnaire import Questionnaire


def entries_of(survey: Questionnaire) -> list[dict[str, Any]]:
    """The number of answers, audited budget, treatment of missing answers, gap and digest of each
    question.
    """
    entries = []
    for name, asked in survey.questions.items():
        has_answer = asked.missing_answer is not None
        column = survey.column_of(name)
        proof = survey.certificates.get(column)
        entry = {
            "question": name,
            "answers": len(asked.inputs),
            "epsilon": survey.budgets[name],
            "missing": "answer" if has_answer else asked.missing.removesuffix("_out"),
            "relative_gap": None if proof is None else proof.relative_gap,
            "digest": survey.asked[column].randomizer.digest,
        }
        entries.append(entry)
    return entries


def table_of(entries: Sequence[dict[str, Any]]) -> Table:
    """The entries as a table, without the digests."""
    rows = [[label(entry["question"]), *list(entry.values())[1:-1]] for entry in entries]
    headings = ["question", "answers", "true epsilon", "missing", "relative gap"]
    return Table(headings, rows, words=["missing"], digits=5)


def facts_of(survey: Questionnaire) -> Facts:
    """The questions, what a person spends, and the scheme."""
    spent = f"each person spends epsilon {survey.epsilon:.6g}; {survey.scheme}"
    return Facts(survey.title or "Survey", [table_of(entries_of(survey)), spent])
