"""Surveys drawn with a key."""

from __future__ import annotations

import pandas as pd

from ldpopt import Mechanism, SecretKey, Survey
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
KEY = SecretKey(bytes(range(32)))


def test_missing_answers_draw_nothing_and_a_survey_draws_each_question_by_its_name() -> None:
    people = 20
    ids = [f"p{place}" for place in range(3 * people)]
    frame = pd.DataFrame(
        {"a": ["yes", None, "no"] * people, "b": ["no", "no", "yes"] * people, "id": ids}
    )
    survey = Survey({"a": Question(COIN, "leave_out"), "b": COIN})
    found = survey.privatize(frame, key=KEY, id="id")
    said = frame.dropna()
    assert found["a"].isna().tolist() == [False, True, False] * people
    assert (
        found["a"].dropna().tolist()
        == COIN.sample(said["a"].tolist(), key=KEY, id=said["id"].tolist(), question="a").tolist()
    )
    assert (
        found["b"].tolist()
        == COIN.sample(frame["b"].tolist(), key=KEY, id=ids, question="b").tolist()
    )
