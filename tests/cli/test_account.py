"""The command account, and its certificate on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import cli_json, cli_output, run_cli


def test_the_account_of_waves_is_certified_and_a_changed_file_is_refused(folder: Path) -> None:
    cli_output("design", "workload.toml", "-o", "design.json")
    text = cli_output("account", "design.json", "--waves", 3, "--certificate", "account.json")
    assert "3 reports of a person" in text
    assert "of 100 times" in text
    assert "chosen by earlier reports, too" in " ".join(text.split())
    data = cli_json("account", "design.json", "--waves", 3)
    assert data["answers"] == "adaptive"
    assert data["sum_of_budgets"] == pytest.approx(3.0, abs=1e-12)
    assert data["epsilon"] <= data["sum_of_budgets"]
    shown = cli_output("certify", "account.json", "--independent")
    assert "the certificate holds" in shown
    changed = json.loads(Path("account.json").read_text())
    changed["reports"][0]["times"] = 4
    Path("account.json").write_text(json.dumps(changed))
    assert run_cli("certify", "account.json").exit_code == 1


def test_the_account_of_shuffled_surveys(folder: Path) -> None:
    Path("s.toml").write_text('epsilon = 1.0\n[question.a]\nlabels = ["no", "yes"]\n')
    found = cli_json("account", "s.toml", "--shuffled", 50)
    assert found["people"] == 50
    assert found["epsilon"] < found["sum_of_budgets"]
