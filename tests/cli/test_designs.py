"""The command line from a workload to an estimate: design, certify, privatize, estimate, compare,
check, plot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ldpopt_check as checker
from builders import THOROUGH, cli_json, cli_output, run_cli
from ldpopt import (
    DesignCertificate,
    Mechanism,
    PureLDP,
    Workload,
    design,
    load_design,
    techniques,
)


def test_design_prints_errors_bound_and_audit(folder: Path) -> None:
    text = cli_output(
        "design", "workload.toml", "--by-answer", "--plot", "out.png", "--json", "out.json"
    )
    for part in (
        "A survey",
        "P(report | answer)",
        "average variance",
        "relative gap",
        "bits",
        "certified",
        "perhaps",
    ):
        assert part in text
    data = json.loads(Path("out.json").read_text())
    best = design(Workload.prefix(["no", "perhaps", "yes"]), PureLDP(1.0))
    assert data["value"] == data["average_variance"] == best.value
    assert (data["bound"], data["reports"], data["bits"]) == (best.bound, best.n_reports, best.bits)
    assert [entry["answer"] for entry in data["variances"]] == ["no", "perhaps", "yes"]
    assert Mechanism.load("out.json").channel.tolist() == best.mechanism.channel.tolist()
    assert data["audit"]["verdict"] == "certified"
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")


def test_the_design_file_serves_the_whole_survey(folder: Path) -> None:
    cli_output("design", "workload.toml", "-o", "design.json", "--certificate", "proof.json")
    assert Path("design.json").read_text() == Path("proof.json").read_text()
    assert "the certificate holds" in cli_output("certify", "design.json")
    assert cli_json("audit", "design.json")["epsilon"] == pytest.approx(1.0, abs=1e-12)
    assert run_cli("audit", "design.json", "--model", "workload.toml").exit_code == 0
    answers = ["no"] * 300 + ["perhaps"] * 500 + ["yes"] * 200
    Path("many.csv").write_text("answer\n" + "\n".join(answers) + "\n")
    cli_output(
        "privatize", "design.json", "many.csv", "-c", "answer", "-o", "reports.csv", "--seed", 1
    )
    found = cli_json("estimate", "design.json", "reports.csv", "-c", "answer")
    assert found["method"] == "design"
    assert [entry["number"] for entry in found["estimates"]] == ["<= no", "<= perhaps", "<= yes"]
    for entry, truth in zip(found["estimates"], (0.3, 0.8, 1.0), strict=True):
        assert abs(entry["estimate"] - truth) <= 4 * entry["std_error"] + 1e-9
    reports = np.array(Path("reports.csv").read_text().split()[1:], int)
    again = load_design("design.json").estimate(reports).values
    assert [entry["estimate"] for entry in found["estimates"]] == pytest.approx(again, abs=1e-12)
    assert "std error" in cli_output(
        "estimate", "design.json", "reports.csv", "-c", "answer", "--plot", "e.png"
    )
    refused = run_cli(
        "estimate", "design.json", "reports.csv", "-c", "answer", "--method", "maximum_likelihood"
    )
    assert refused.exit_code == 2
    assert "its own unbiased estimator" in refused.stderr


def test_frequencies_of_many_answers_have_sets_as_reports(folder: Path) -> None:
    labels = [f"class {k}" for k in range(21)]
    Path("many.toml").write_text(
        f'[alphabet]\ninputs = {json.dumps(labels)}\n[workload]\nkind = "frequencies"\n'
        '[privacy]\nkind = "pure"\nepsilon = 1\n'
    )
    data = cli_json("design", "many.toml", "-o", "design.json")
    assert data["mechanism"] is None
    assert cli_json("certify", "design.json")["holds"]
    answers = [labels[k] for k in np.random.default_rng(0).integers(0, 3, 4000)]
    Path("many.csv").write_text("answer\n" + "\n".join(answers) + "\n")
    cli_output(
        "privatize", "design.json", "many.csv", "-c", "answer", "-o", "reports.csv", "--seed", 1
    )
    found = cli_json("estimate", "design.json", "reports.csv", "-c", "answer")["estimates"]
    assert len(found) == 21
    for place, entry in enumerate(found):
        assert abs(entry["estimate"] - (place < 3) / 3) <= 5 * entry["std_error"] + 0.03
    Path("bad.csv").write_text("answer\n1 2 x\n")
    refused = run_cli("estimate", "design.json", "bad.csv", "-c", "answer")
    assert refused.exit_code == 2
    assert "not a set of" in refused.stderr
    for verb in (("audit", "design.json"), ("plot", "design.json", "-o", "out.png")):
        refused = run_cli(*verb)
        assert refused.exit_code == 2
        assert "too many possible reports" in refused.stderr
    Path("design.json").write_text(
        Path("design.json").read_text().replace('"bound": "', '"bound": "9')
    )
    assert run_cli("certify", "design.json").exit_code == 1


def test_certify_of_a_model_with_a_workload(folder: Path) -> None:
    assert "the certificate holds" in cli_output("certify", "workload.toml", "-o", "proof.json")
    assert DesignCertificate.load("proof.json").recheck() == ()


def test_compare_shows_the_mechanisms_of_the_literature(folder: Path) -> None:
    text = cli_output("compare", "workload.toml", "--json", "found.json")
    for name in (
        "optimum",
        "subset selection",
        "unary encoding",
        "factorization",
        "certified bound",
    ):
        assert name in text
    data = json.loads(Path("found.json").read_text())["design"]
    assert all(peer["ratio"] >= 1 - 1e-6 for peer in data["literature"])
    assert len(data["literature"]) + len(data["left_out"]) == 7


def test_mechanisms_of_ones_own_are_compared_at_their_epsilon(folder: Path) -> None:
    Path("shares.toml").write_text(
        '[alphabet]\ninputs = ["no", "yes"]\n[workload]\nkind = "frequencies"\n'
        '[prior]\nvalues = [0.8, 0.2]\n[privacy]\nkind = "pure"\nepsilon = 1\n'
    )
    techniques.unrelated("7/10", "1/12").save("unrelated.json")
    techniques.mangat("7/10").save("mangat.json")
    own = ("--mechanism", "unrelated.json", "--mechanism", "mangat.json")
    text = " ".join(cli_output("compare", "shares.toml", *own, "--json", "told.json").split())
    assert "1.427 times the people of the optimum" in text
    assert "no optimum to compare with" in text
    unrelated, mangat = json.loads(Path("told.json").read_text())["design"]["own"]
    assert (unrelated["name"], round(unrelated["people"], 4)) == ("unrelated", 1.4274)
    assert (mangat["epsilon"], mangat["people"], mangat["optimum"]) == (None, None, None)
    if THOROUGH:
        cli_output("plot", "shares.toml", *own, "-o", "own.png")
    cli_output("design", "shares.toml", "-o", "found.json")
    cli_output("plot", "found.json", "--kind", "design", *own, "-o", "own.png")
    Path("again").mkdir()
    Path("again/mangat.json").write_text(Path("mangat.json").read_text())
    for words in (
        (
            "compare",
            "shares.toml",
            "--mechanism",
            "mangat.json",
            "--mechanism",
            "again/mangat.json",
        ),
        ("compare", "workload.toml", "--mechanism", "mangat.json"),
        ("compare", "coin", "--mechanism", "mangat.json"),
        ("plot", "mangat.json", "--mechanism", "mangat.json", "-o", "own.png"),
    ):
        assert run_cli(*words).exit_code == 2


def test_a_model_with_both_is_compared_twice(folder: Path) -> None:
    both = (
        Path("workload.toml").read_text()
        + '[prior]\nuniform = true\n[utility]\nkind = "identity"\n'
    )
    Path("both.toml").write_text(both)
    data = cli_json("compare", "both.toml")
    assert data["sense"] == "gain"
    assert data["design"]["value"] > 0
    checked = cli_json("check", "both.toml")
    assert checked["outputs"] == 3
    assert checked["workload"]["rows"] == 3
    assert cli_json("solve", "both.toml")["value"] > 0


def test_check_shows_the_workload(folder: Path) -> None:
    text = cli_output("check", "workload.toml")
    for part in (
        "3 numbers of 3 answers",
        "rank:",
        "distinguished",
        "symmetries",
        "column generation",
    ):
        assert part in text
    workload = cli_json("check", "workload.toml")["workload"]
    assert workload["symmetries"] == 2
    assert workload["plan"][0]["method"] == "column generation"
    Path("models").mkdir()
    Path("models/workload.toml").write_text(Path("workload.toml").read_text())
    assert "3 of 3" in cli_output("models", "models")
    assert cli_json("models", "models")["models"][0]["numbers"] == 3


def test_an_expected_variance_is_checked(folder: Path) -> None:
    Path("wrong.toml").write_text(Path("workload.toml").read_text() + "[expect]\nvariance = 1\n")
    for verb in ("design", "compare"):
        result = run_cli(verb, "wrong.toml")
        assert result.exit_code == 1
        assert "expects 1.0" in result.stderr
    assert run_cli("design", "workload.toml", "--gap", "0").exit_code == 1


def test_a_design_is_drawn_beside_others(folder: Path) -> None:
    cli_output("design", "workload.toml", "-o", "design.json")
    if THOROUGH:
        cli_output("plot", "workload.toml", "-o", "peers.png")
        cli_output("plot", "design.json", "-o", "heat.svg")
    cli_output("plot", "design.json", "--kind", "design", "-o", "peers.svg")
    assert Path("peers.svg").stat().st_size > 10_000


def test_a_design_of_limited_influence_is_read_by_every_command(
    folder: Path,
) -> None:
    """As for those without a cap: estimates, certificates and the independent checker."""
    path = Path("workload.toml")
    path.write_text(
        '[alphabet]\ninputs = ["a", "b", "c", "d"]\n[workload]\nkind = "frequencies"\n'
        '[privacy]\nkind = "pure"\nepsilon = "log(3)"\n'
    )
    made = ("--influence", "2.25", "-o", "design.json", "--json", "told.json")
    shown = cli_output("design", path, *made)
    assert "2.25 for each number" in shown
    told = json.loads(Path("told.json").read_text())
    assert told["value"] == pytest.approx(7.047959, abs=1e-5)
    Path("reports.csv").write_text("q\n0\n1\n2\n2\n")
    found = cli_json("estimate", "design.json", "reports.csv", "-c", "q")
    assert found["method"] == "design"
    assert "holds" in cli_output("certify", "design.json")
    cli_output("design", path, "--liars", "1%", "--people", "10000", "-o", "liars.json")
    assert "holds" in cli_output("certify", "liars.json")
    for name in ("design.json", "liars.json"):
        assert checker.check(Path(name))


def test_frequencies_of_many_answers_have_a_cap(folder: Path) -> None:
    """From the model to estimates for liars, certificates and the independent checker."""
    names = [f"town {place}" for place in range(40)]
    path = Path("workload.toml")
    path.write_text(
        f'[alphabet]\ninputs = {names}\n[workload]\nkind = "frequencies"\n'
        '[privacy]\nkind = "pure"\nepsilon = 2.0\n'
    )
    shown = cli_output("design", path, "--influence", "1.8", "-o", "design.json")
    assert "1.8 for each number" in shown
    people = [names[place % 7] for place in range(2000)]
    Path("answers.csv").write_text("town\n" + "\n".join(people) + "\n")
    call = ("answers.csv", "-c", "town", "--seed", "1", "-o", "reports.csv")
    cli_output("privatize", "design.json", *call)
    found = cli_json("estimate", "design.json", "reports.csv", "-c", "town", "--liars", "1%")
    assert found["liars"] == 0.01
    shares = [row["estimate"] for row in found["estimates"]]
    np.testing.assert_allclose(shares[:7], 1 / 7, atol=0.1)
    np.testing.assert_allclose(shares[7:], 0, atol=0.1)
    cli_output("design", path, "--liars", "1%", "--people", "10000", "-o", "liars.json")
    for name in ("design.json", "liars.json"):
        assert "holds" in cli_output("certify", name)
        assert checker.check(Path(name))
    least = run_cli("design", str(path), "--influence", "1.2")
    assert least.exit_code == 2
    assert run_cli("estimate", "design.json", "answers.csv", "-c", "town").exit_code


@pytest.mark.parametrize("more", [{}, {"influence": 3.0}], ids=["free", "capped"])
def test_an_audit_of_sets_without_a_list_leads_to_their_certificate(
    tmp_path: Path, more: dict[str, float]
) -> None:
    file = str(tmp_path / "design.json")
    design(Workload.frequencies(60), PureLDP(1.0), **more).save(file)
    refused = run_cli("audit", file)
    assert refused.exit_code == 2
    assert "ldpopt certify" in refused.stderr
    assert "certified" in cli_output("certify", file)
