"""From answers to reports: the columns of a questionnaire in dataframes and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldpopt.foundation.files import FilePath
from ldpopt.mechanism.engines import privatize_table
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.sampling import Random
from ldpopt.surveys.questionnaire import Questionnaire


def randomize_frame(
    survey: Questionnaire, table: Any, rng: Random, keyed: Keyed | None, again: bool
) -> Any:
    """Replace the columns of all questions in a dataframe by reports; see `Survey.privatize`."""
    return privatize_table(table, survey.asked, rng, keyed, survey.one_question, again)


def randomize_file(
    survey: Questionnaire, source: FilePath, target: FilePath, keep: Sequence[str], **options: Any
) -> int:
    """Write the reports of a file of answers; see `Survey.privatize_file`.

    The ``options`` are those of `privatize_file`: ``rng``, ``keyed`` and ``again``.
    """
    options |= {"keep": survey.kept(keep), "one_question": survey.one_question}
    return privatize_file(source, target, survey.asked, **options)
