"""Joint reports in the collector: one column, whose reports are checked, counted and estimated."""

import json

import numpy as np
import pytest

from ldpopt import Survey
from ldpopt.fieldwork import Store
from ldpopt.fieldwork.messages import InvalidMessageError, MessageReader
from ldpopt.surveys.form import form_digest

pytest.importorskip("sqlalchemy", reason="sqlalchemy is in the extra 'collect'")
SURVEY = Survey({name: ["no", "yes"] for name in "abcd"}, epsilon=5.0, scheme="joint")


def message(report: object, number: int = 0) -> bytes:
    data = {
        "form": form_digest(SURVEY.form()),
        "words": SURVEY.words_digest,
        "id": f"{number:032x}",
        "reports": {"joint report": report},
    }
    return json.dumps(data).encode()


def test_joint_reports_are_kept_and_estimated(tmp_path):
    url = f"sqlite:///{tmp_path}/reports.db"
    answers = np.random.default_rng(1).integers(0, 2, size=(300, 4))
    drawn = SURVEY.joint.source.privatize(answers, np.random.default_rng(2))
    with Store(url, SURVEY) as store:
        texts = [" ".join(map(str, row)) for row in drawn.tolist()]
        store.add([store.reader.read(message(text, number)) for number, text in enumerate(texts)])
    assert SURVEY.count(url)["joint report"].n_reports == 300
    assert SURVEY.estimate(url)["a"].labels == ("no", "yes")


@pytest.mark.parametrize(
    "wrong", [None, "", "0", "0 1 4 6", "6 4 2 0", "0 2 4 8", "00 2 4 6", "0 2 4 6 7", 0, "a b c d"]
)
def test_reports_that_are_no_pattern_are_refused(wrong):
    size = SURVEY.form()["columns"]["joint report"]["patterns"]["size"]
    good = " ".join(str(2 * place) for place in range(size))
    reader = MessageReader(SURVEY.form(), [SURVEY.words_digest], False)
    assert reader.read(message(good)).reports == {"joint report": good}
    with pytest.raises(InvalidMessageError, match="joint report"):
        reader.read(message(wrong))
