"""Data sets: what the wheels hold is what the documentation counts."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from builders import refused, run_python
from ldpopt import datasets
from ldpopt.errors import LdpoptError

ROWS = {"anes96": 944, "fair": 6366, "randhie": 20190, "modechoice": 210}
COUNTS = {
    "anes96:PID": [200, 180, 108, 37, 94, 150, 175],
    "anes96:selfLR": [16, 103, 147, 256, 170, 218, 34],
    "anes96:educ": [13, 52, 248, 187, 90, 227, 127],
    "anes96:income": [
        *(19, 12, 17, 19, 18, 13, 11, 17, 10, 15, 23, 35),
        *(26, 39, 68, 70, 62, 48, 51, 100, 103, 53, 47, 68),
    ],
    "anes96:vote": [551, 393],
    "fair:affairs": [4313, 2053],
    "fair:rate_marriage": [99, 348, 993, 2242, 2684],
    "fair:religious": [1021, 2267, 2422, 656],
    "randhie:health": [302, 1560, 7309, 11019],
    "modechoice:mode": [58, 63, 30, 59],
}
LABELS = {
    "anes96:PID": ("SD", "WD", "ID", "II", "IR", "WR", "SR"),
    "anes96:vote": ("Clinton", "Dole"),
    "fair:affairs": ("no", "yes"),
    "fair:rate_marriage": ("very poor", "poor", "fair", "good", "very good"),
    "randhie:health": ("poor", "fair", "good", "excellent"),
    "modechoice:mode": ("air", "train", "bus", "car"),
}


@pytest.fixture(autouse=True)
def _needs_statsmodels(request: pytest.FixtureRequest) -> None:
    if "missing" not in request.node.name:
        pytest.importorskip("statsmodels", reason='the data sets need pip install "ldpopt[data]"')


def test_every_data_set_has_a_source_and_counts() -> None:
    files = {name.split(":")[0] for name in datasets.QUESTIONS}
    assert files <= datasets.SOURCES.keys(), f"SOURCES has no {files - datasets.SOURCES.keys()}"
    listed = {name for name, (_, labels) in datasets.QUESTIONS.items() if labels is not None}
    assert listed <= COUNTS.keys(), f"COUNTS has no counts of {listed - COUNTS.keys()}"


@pytest.mark.parametrize("name", list(datasets.QUESTIONS))
def test_every_data_set_is_complete(name: str) -> None:
    data = datasets.load(name)
    assert data.name == name
    file = name.split(":")[0]
    assert file in ROWS, f"ROWS has no number of respondents of {file!r}"
    assert data.rows == ROWS[file] == data.counts.sum() == len(data.sample)
    assert len(data.labels) == len(set(data.labels)) == len(data.counts) > 1
    assert (data.counts > 0).all()
    assert data.prior.sum() == pytest.approx(1, abs=1e-12)
    assert data.source
    assert data.license
    assert data.question
    assert name in repr(data)
    for label, count in zip(data.labels, data.counts, strict=True):
        assert (data.sample == label).sum() == count
    assert not data.codes.flags.writeable


def test_available_data_sets_can_be_loaded() -> None:
    assert datasets.available() == tuple(datasets.QUESTIONS)


@pytest.mark.parametrize("name", COUNTS)
def test_published_counts(name: str) -> None:
    data = datasets.load(name)
    assert data.counts.tolist() == COUNTS[name]
    assert data.labels == LABELS.get(name, data.labels)


def test_health_is_decided_by_exactly_one_column() -> None:
    columns = [datasets.read_table("randhie")[column] for column in ("hlthp", "hlthf", "hlthg")]
    assert set(np.unique(columns)) == {0, 1}
    assert np.sum(columns, axis=0).max() == 1


def test_numbers_are_labels_in_order() -> None:
    visits = datasets.load("randhie:mdvis")
    assert visits.labels == tuple(sorted(visits.labels))
    assert visits.labels[0] == 0
    assert visits.sample.mean() == pytest.approx(2.8604, abs=1e-4)


def test_an_unknown_name_names_the_nearest() -> None:
    with refused("data-set") as caught:
        datasets.load("anes96:pid")
    assert "'anes96:PID'" in caught.value.do
    with refused("data-set") as caught:
        datasets.load("zzz")
    assert "anes96:PID, " in caught.value.do


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "statsmodels"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    datasets.read_table.cache_clear()
    with refused("package", LdpoptError) as caught:
        datasets.load("fair:affairs")
    assert "statsmodels" in caught.value.one_line
    assert 'pip install "ldpopt[data]"' in caught.value.do
    assert datasets.available() == ()


def test_an_unknown_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def codes() -> np.ndarray:
        return np.array([0, 7.5])

    monkeypatch.setattr(datasets, "CODES", {"fair:affairs": codes, "anes96:age": codes})
    for name in datasets.CODES:  # with labels and without
        with refused("answer-code", LdpoptError) as caught:
            datasets.load(name)
        assert "7.5" in caught.value.what


def test_importing_is_cheap() -> None:
    code = (
        "import sys, ldpopt.problem.datasets; sys.exit(any(m in sys.modules for m in ('pandas', "
        "'statsmodels')))"
    )
    assert run_python(code).returncode == 0
