"""Files of certificates with wrong multipliers, masses or labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ldpopt as lo
from ldpopt.certificate import Certificate
from ldpopt.errors import ModelFileError


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    path = tmp_path / "proof.json"
    problem = lo.Problem([0.5, 0.5], "identity", lo.PureLDP("log(3)"), inputs=["a", "b"])
    lo.certify(lo.solve(problem, form="pairwise")).save(path)
    return path, json.loads(path.read_text())


def test_multipliers_are_positive_and_masses_sum_to_one(saved: Any) -> None:
    path, data = saved
    assert Certificate.load(path).recheck() == ()
    rows = data["multipliers"]["privacy"]
    assert rows
    for number in ("0x0.0p+0", "-0x1p-1074", "-0x1p-1"):
        data["multipliers"]["privacy"] = [*rows, [0, 1, [0], number]]
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError):
            Certificate.load(path)
    data["multipliers"]["privacy"] = [[0, 1, [0], "0x1p-1074"], *rows]
    path.write_text(json.dumps(data))
    assert Certificate.load(path)
    first = data["mechanism"]["masses"][0]
    for wrong in ([first[0] + 1, first[1]], [first[0] - 1, first[1]], [2**53 + 1, -1], [2**54, 0]):
        data["mechanism"]["masses"][0] = wrong
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError, match=r"masses"):
            Certificate.load(path)


def test_labels_in_files_are_text_or_numbers(saved: Any) -> None:
    path, data = saved
    data["statement"]["inputs"] = data["statement"]["outputs"] = ["a", 1]
    path.write_text(json.dumps(data))
    assert Certificate.load(path).problem.inputs == ("a", 1)
    for wrong in (None, [None], {}):
        data["statement"]["inputs"] = ["a", wrong]
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError):
            Certificate.load(path)
