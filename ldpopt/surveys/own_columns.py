"""Questions that not everybody is asked, with a column of reports of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpopt.estimation.intervals import interval_quantile
from ldpopt.estimation.planning import Precision, ratio_variances
from ldpopt.mechanism.conditions import NOT_ASKED, share_asked
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.shared import read_priors


def precision_among_asked(
    name: str, question: Question, numbers: Any, confidence: float, stated: Mapping[str, Any]
) -> Precision:
    """Variances of the numbers of a question in a column of its own, among the people who were
    asked and answered.
    """
    chain = {**question.before, name: question}
    priors = read_priors(chain, stated)
    share = share_asked(name, chain, priors)
    not_asked = question.place_of(NOT_ASKED)
    codes = [code for code in range(len(question.inputs)) if code != not_asked]
    prior = priors.get(name)
    if prior is None:
        codes = [code for code in codes if code != question.missing_code]
    rows = np.zeros((len(codes), len(question.inputs)))
    rows[:, not_asked] = 1 - share
    rows[np.arange(len(codes)), codes] = share
    excluded = question.excluded_places(numbers.names)
    weights = None if prior is None else prior[codes]
    variances = ratio_variances(numbers, excluded, rows, weights)
    z = interval_quantile(confidence, len(variances), False)
    return Precision(tuple(numbers.names), variances, z, numbers.spans)
