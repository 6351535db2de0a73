"""From answers to reports: the columns of a questionnaire in dataframes and files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.privatizing import privatize_file, privatize_frame
from ldpopt.mechanism.sampling import Random
from ldpopt.surveys.questionnaire import Questionnaire


def randomize_frame(
    survey: Questionnaire, table: Any, rng: Random, key: Any, id: Any, again: bool
) -> Any:
    """Replace the columns of all questions in a dataframe by reports; see `Survey.privatize`."""
    keyed = Keyed.read(key, id, rng)
    return privatize_frame(table, survey.asked, rng, keyed, survey.one_question, again)


def randomize_file(
    survey: Questionnaire,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    keep: Sequence[str],
    rng: Random,
    key: Any,
    id: str | None,
    again: bool,
) -> int:
    """Write the reports of a file of answers; see `Survey.privatize_file`."""
    return privatize_file(
        source,
        target,
        survey.asked,
        keep=survey.kept(keep),
        rng=rng,
        keyed=Keyed.read(key, id, rng),
        one_question=survey.one_question,
        again=again,
    )
