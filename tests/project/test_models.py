"""Every model file is solved to the value that it expects, also after it was saved and read
again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ldpopt
from builders import THOROUGH, run_cli
from ldpopt.problem.modelfile import Model, read_model, save_model

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.toml"))


def read(path: Path, saved: Path) -> tuple[Model, Model]:
    """The model of a file, and the same from a file that `save_model` has written."""
    if 'dataset = "' in path.read_text(encoding="utf-8"):
        pytest.importorskip("statsmodels", reason='the data set needs pip install "ldpopt[data]"')
    model = read_model(path)
    for key in ("title", "source", "expect"):
        assert getattr(model, key), f"{path.name} has no {key}"
    comment = path.read_text(encoding="utf-8").split("[expect]")[1]
    assert "#" in comment, f"no comment in {path.name} says where its expected value is from"
    save_model(model, saved)
    again = read_model(saved)
    assert (again.title, again.source, again.expect) == (model.title, model.source, model.expect)
    return model, again


def test_there_are_models() -> None:
    assert len(MODELS) >= 15


@pytest.mark.parametrize("path", MODELS, ids=[path.stem for path in MODELS])
def test_model_has_its_expected_value(path: Path, tmp_path: Path) -> None:
    model, again = read(path, tmp_path / "saved.toml")
    if model.design is not None:
        found = ldpopt.design(**vars(model.design))
        assert found.value == pytest.approx(
            model.expect.variance, abs=model.expect.tolerance, rel=0
        )
        assert found.relative_gap <= 1e-6
        assert again.design.workload.to_plain() == model.design.workload.to_plain()
        if THOROUGH:
            assert ldpopt.design(**vars(again.design)).value == pytest.approx(found.value, rel=1e-9)
        return
    if model.hypotheses is not None:
        assert again.hypotheses == model.hypotheses
        assert run_cli("test", path).exit_code == 0
    solution = ldpopt.solve(model.problem, solver=model.solver, time_limit=model.time_limit)
    assert solution.value == pytest.approx(model.expect.value, abs=model.expect.tolerance, rel=0)
    certificate = ldpopt.certify(solution)
    assert certificate.relative_gap <= 1e-9
    assert certificate.audit.verdict == "certified"
    assert solution.mechanism.audit(model.problem.privacy).verdict == "certified"
    assert again.problem.utility.matrix.tolist() == model.problem.utility.matrix.tolist()
    if THOROUGH:
        assert ldpopt.solve(again.problem).value == pytest.approx(solution.value, abs=1e-12)


QUICKLY_COMPARED = ("coin", "worst_case", "zhou_model_2", "zhou_nary")
"""Models that are compared in the usual set; the thorough set compares all."""


@pytest.mark.parametrize("path", MODELS, ids=[path.stem for path in MODELS])
def test_compare_is_the_same_in_python_and_by_command(path: Path, tmp_path: Path) -> None:
    if not THOROUGH and path.stem not in QUICKLY_COMPARED:
        return
    model = read(path, tmp_path / "saved.toml")[0]
    printed = run_cli("compare", path, "--json", tmp_path / "data.json")
    assert printed.exit_code == 0, printed.stderr
    given = json.loads((tmp_path / "data.json").read_text())
    if model.design is not None:
        how = vars(model.design)
        found = ldpopt.compare_designs(
            how.pop("workload"),
            how.pop("privacy"),
            weights=how["weights"],
            objective=how["objective"],
        )
        assert given.pop("design") == json.loads(json.dumps(found.to_dict()))
    if model.problem is None:
        return
    found = ldpopt.compare(model.problem, time_limit=model.time_limit)
    data = found.to_dict()
    for row in (*given["rows"], *data["rows"]):
        assert row.pop("seconds") >= 0
    assert given == json.loads(json.dumps(data))

    def plain(text: str) -> list[str]:
        """Lines under the title, without seconds and the width of columns."""
        body = text[re.search("^method", text, re.M).start() :]
        return [
            re.sub(r"[ \u2500]+", " ", re.sub(r"\d+\.\d{3}$", "#", line)).strip()
            for line in body.splitlines()
        ]

    lines = plain(found.summary())
    assert plain(printed.stdout)[: len(lines)] == lines
