"""Every model file solves to what it expects, with a certificate and an audit."""

from __future__ import annotations

from pathlib import Path

import pytest

import ldpopt
from ldpopt.problem.modelfile import Model, read_model, save_model

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.toml"))
UTILITY = [path for path in MODELS if "[workload" not in path.read_text(encoding="utf-8")]
WORKLOAD = [path for path in MODELS if path not in UTILITY]


def test_there_are_models() -> None:
    assert len(UTILITY) >= 12
    assert len(WORKLOAD) >= 3


def _read(path: Path) -> Model:
    if 'dataset = "' in path.read_text(encoding="utf-8"):
        pytest.importorskip("statsmodels", reason='the data set needs pip install "ldpopt[data]"')
    model = read_model(path)
    assert model.title
    assert model.source
    assert model.expect is not None, f"{path.name} expects nothing: state [expect]"
    return model


@pytest.mark.parametrize("path", WORKLOAD, ids=[path.stem for path in WORKLOAD])
def test_workload_is_designed_to_its_expected_variance(path: Path, tmp_path: Path) -> None:
    model = _read(path)
    found = ldpopt.design(**vars(model.design))
    assert found.value == pytest.approx(model.expect.variance, abs=model.expect.tolerance, rel=0)
    assert found.relative_gap <= 1e-6
    save_model(model, tmp_path / "saved.toml")
    again = read_model(tmp_path / "saved.toml")
    assert (again.title, again.source, again.expect) == (model.title, model.source, model.expect)
    assert again.design.workload.to_plain() == model.design.workload.to_plain()
    assert ldpopt.design(**vars(again.design)).value == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("path", UTILITY, ids=[path.stem for path in UTILITY])
def test_model_solves_to_its_expected_value(path: Path) -> None:
    model = _read(path)
    solution = ldpopt.solve(model.problem, solver=model.solver, time_limit=model.time_limit)
    assert solution.value == pytest.approx(model.expect.value, abs=model.expect.tolerance, rel=0)
    certificate = ldpopt.certify(solution)
    assert certificate.relative_gap <= 1e-9
    assert certificate.audit.verdict == "certified"
    assert solution.mechanism.audit(model.problem.privacy).verdict == "certified"


@pytest.mark.parametrize("path", UTILITY, ids=[path.stem for path in UTILITY])
def test_a_saved_model_solves_alike(path: Path, tmp_path: Path) -> None:
    model = read_model(path)
    save_model(model, tmp_path / "saved.toml")
    again = read_model(tmp_path / "saved.toml")
    assert (again.title, again.source, again.expect) == (model.title, model.source, model.expect)
    assert again.problem.utility.matrix.tolist() == model.problem.utility.matrix.tolist()
    assert ldpopt.solve(again.problem).value == pytest.approx(ldpopt.solve(model.problem).value, abs=1e-12)
