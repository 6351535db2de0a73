"""The command certify with files of programs: verdicts, exit codes, one line for each error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import run_cli, run_python
from certificate_cases import (
    BAD,
    HALF,
    HUGE,
    TAMPERED,
    WRONG,
    bad_text,
    proof_of,
    put,
    tamper,
    unbiased_proof,
)
from ldpopt.certificate import Certificate

MODEL = """
[alphabet]
inputs = ["no", "yes"]
[prior]
values = [0.5, 0.5]
[privacy]
kind = "pure"
epsilon = "log(3)"
"""


def test_the_verb_certifies_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("coin.toml").write_text(MODEL)
    made = run_cli("certify", "coin.toml", "-o", "one.json")
    assert made.exit_code == 0
    assert "the certificate holds" in made.stdout
    assert run_cli("solve", "coin.toml", "--certificate", "two.json").exit_code == 0
    assert Certificate.load("one.json") == Certificate.load("two.json")
    data = json.loads(run_cli("certify", "two.json", "--json", "-").stdout)
    assert data["holds"] is True
    assert data["claimed"] == data["found"]
    assert data["audit"]["verdict"] == "certified"
    assert run_cli("certify", "two.json", "-o", "three.json").exit_code == 2
    assert not Path("three.json").exists()
    Path("odd.toml").write_text(MODEL.replace('"log(3)"', "1.0"))
    assert run_cli("certify", "odd.toml", "--gap", "0").exit_code == 1
    assert run_cli("certify", "coin.toml", "-o", "nowhere/one.json").exit_code == 2


@pytest.fixture(scope="module")
def unbiased():
    return unbiased_proof()


def saved(proof, path, change):
    """Save a proof, and change its file."""
    proof.save(path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_told_in_one_line(tmp_path, unbiased, name):
    path = tmp_path / "bad.json"
    numbers = []
    saved(unbiased, path, lambda data: numbers.append(tamper(data, name)))
    result = run_cli("certify", path)
    assert result.exit_code == 1
    assert f"{numbers[0]}:" in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_proves_nothing_has_no_bound(tmp_path):
    path = tmp_path / "proof.json"
    saved(proof_of("event", "worst_case"), path, put("statement", "privacy", "form", "entry"))
    result = run_cli("certify", path, "--json", "-")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["found"] is None


@pytest.mark.parametrize("name", [*BAD, *WRONG])
def test_a_bad_file_is_refused_in_one_line(tmp_path, unbiased, name):
    path = tmp_path / "bad.json"
    unbiased.save(path)
    path.write_text(bad_text(name, json.loads(path.read_text())))
    result = run_cli("certify", path)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "bad.json" in result.stderr


@pytest.mark.parametrize("change", HUGE)
def test_huge_numbers_end_in_a_verdict(tmp_path, change):
    path = tmp_path / "proof.json"
    saved(proof_of("metric", "worst_case", blocks=[HALF]), path, change)
    for extra in ([], ["--json", "-"]):
        result = run_cli("certify", path, *extra)
        assert result.exit_code == 1, result.exception
        assert result.stderr.count("\n") == 1


WITHOUT_SOLVERS = """
import sys
sys.modules.update(dict.fromkeys(["highspy", "pulp", "cvxpy", "scipy.optimize"]))
from ldpopt.cli import main
sys.argv[1:] = ["certify", "proof.json", "--json", "-"]
main()
"""


def test_the_command_needs_no_solver(tmp_path, unbiased):
    unbiased.save(tmp_path / "proof.json")
    done = run_python(WITHOUT_SOLVERS, cwd=tmp_path)
    assert done.stderr == ""
    assert json.loads(done.stdout)["holds"] is True
