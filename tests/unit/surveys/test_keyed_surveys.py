"""Surveys drawn with a key."""

from __future__ import annotations

import pandas as pd

from ldpopt import Mechanism, SecretKey, Survey
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
KEY = SecretKey(bytes(range(32)))


def test_missing_answers_draw_nothing_and_a_survey_draws_each_question_by_its_name() -> None:
    frame = pd.DataFrame(
        {"a": ["yes", None, "no"], "b": ["no", "no", "yes"], "id": ["x", "y", "z"]}
    )
    survey = Survey({"a": Question(COIN, "leave_out"), "b": COIN})
    found = survey.privatize(frame, key=KEY, id="id")
    assert found["a"].isna().tolist() == [False, True, False]
    assert (
        found["a"].tolist()[::2]
        == COIN.sample(["yes", "no"], key=KEY, id=["x", "z"], question="a").tolist()
    )
    assert (
        found["b"].tolist()
        == COIN.sample(["no", "no", "yes"], key=KEY, id=["x", "y", "z"], question="b").tolist()
    )
