"""What the executors of Spark do with batches, without Spark; and tables of Spark itself, in the
thorough set, where Java and pyspark are installed."""

from __future__ import annotations

import numpy as np

import ldpopt as lo
from builders import refused
from executors import drawer_of, drawn, people
from ldpopt.mechanism.questions import Question
from ldpopt.tables.spark import is_spark

COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])


def test_a_partition_with_missing_answers_or_ids_twice_is_refused_at_its_end():
    frame = people()
    drawer = drawer_of(frame, {"smokes": Question(COIN)})
    frame.loc[[3, 200], "smokes"] = None
    with refused("missing-answer") as caught:
        drawn(frame, drawer, 50)
    assert caught.value.what.startswith("2 answers")
    left_out = drawer_of(frame, {"smokes": Question(COIN, "leave_out")})
    assert drawn(frame, left_out, 50)["smokes"].isna().sum() == 2
    twice = people()
    twice.loc[7, "id"] = "p390"
    with refused("duplicate-id"):
        drawn(twice, drawer, 50)


def test_labels_of_several_kinds_have_no_type_in_spark():
    mixed = lo.Mechanism(np.full((2, 2), 0.5), inputs=["no", "yes"], outputs=["no", 1])
    with refused("mixed-labels"):
        drawer_of(people(), {"smokes": Question(mixed)}).kinds(list(people().columns))


def test_nothing_else_is_a_table_of_spark():
    assert not is_spark(people())
    assert not is_spark(None)
