"""A design beside its peers: none is better, ratios are right, what is left out has a reason."""

from __future__ import annotations

import json

import numpy as np
import pytest

from builders import refused, thorough_or
from ldpopt import (
    Counts,
    Mechanism,
    PureLDP,
    Survey,
    Workload,
    compare_designs,
    design,
    load_design,
    save_design,
)
from ldpopt.designing import literature
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.frequency_design import FrequencyDesign
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.problem.design_problem import DesignProblem


@pytest.mark.parametrize(
    "how", [*thorough_or([], [{}]), {"weights": [1, 2, 3, 0, 4]}, {"objective": "worst_case"}]
)
def test_no_mechanism_of_the_literature_is_better(how: dict) -> None:
    found = compare_designs(Workload.ranges(5), PureLDP(1.0), **how)
    assert len(found.others) == 7
    assert not found.left_out
    r = np.array(how.get("weights", [1] * 5), float)
    for other in found.others:
        assert other.value >= found.best.bound
        assert other.ratio == pytest.approx(other.value / found.best.value)
        assert other.worst == pytest.approx(other.variances.max())
        assert other.average == pytest.approx(other.variances @ r / r.sum())
        assert other.value == (other.worst if "objective" in how else pytest.approx(other.average))
    assert [other.value for other in found.others] == sorted(other.value for other in found.others)
    assert list(found.to_frame().index) == ["optimum", *(other.name for other in found.others)]


@pytest.mark.long
def test_worst_cases_use_the_estimator_for_the_least_favorable_weights() -> None:
    """By minimax it is an average at some weights, with the estimator that is best for these."""
    workload = Workload.prefix(5)
    found = compare_designs(workload, PureLDP(1.0), objective="worst_case")
    channel = literature.randomized_response(5, 1.0).channel
    worst = next(other for other in found.others if other.name == "randomized response").worst
    rng = np.random.default_rng(0)
    for r in rng.dirichlet(np.ones(5), 200):
        assert literature.variance_of(workload, channel, r) <= worst * (1 + 1e-9)


def test_mechanisms_for_too_many_answers_are_left_out_with_a_reason() -> None:
    found = compare_designs(Workload.frequencies(5000), PureLDP(1.0))
    assert set(found.left_out) == {"Hadamard response", "hierarchy", "factorization"}
    assert all("5,000 answers" in why for why in found.left_out.values())
    subset = next(other for other in found.others if other.name == "subset selection")
    assert subset.ratio == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "n, unit, epsilon, ratio",
    [
        pytest.param(10**6, 1.0, 3.0, 1.0030, marks=pytest.mark.long),
        (10**5, -2.0, 1.0, 1.0025),
    ],
)
def test_many_frequencies_have_a_short_protocol_near_the_bound(n, unit, epsilon, ratio) -> None:
    found = compare_designs(unit * Workload.frequencies(n), PureLDP(epsilon))
    best = found.best
    linear = next(other for other in found.others if other.name == "linear hash")
    assert linear.ratio == pytest.approx(ratio, abs=1e-4)
    short = best.short_protocol
    assert linear.value == pytest.approx(unit**2 * short.total_variance)
    assert linear.note.startswith(f"{short.bits} bits; ")
    assert short.audit().verdict == "certified"
    assert f"LinearHash, {short.bits} bits, {ratio:.4f} times" in best.notes[-1]
    assert (
        dict(part for part in best.facts().parts if len(part) == 2)["shorter reports"]
        == best.short_reports
    )


def test_a_linear_hash_is_named_only_if_it_is_near_and_shorter(monkeypatch) -> None:
    monkeypatch.setattr(literature, "STEPS", 10)  # the longest search is of another mechanism
    assert "linear hash" not in {
        other.name for other in compare_designs(Workload.prefix(5), PureLDP(1.0)).others
    }
    for n, epsilon in ((21, 3.0), (30, 12.0), *thorough_or([], [(2 * 10**4, 20.0)])):
        best = design(Workload.frequencies(n), PureLDP(epsilon))
        assert (best.short_protocol, best.short_reports, len(best.notes)) == (None, "", 1)


@pytest.mark.parametrize("epsilon", [1e-6, 30.0, 800.0])
def test_budgets_at_the_ends_of_the_floats(epsilon: float) -> None:
    found = compare_designs(Workload.frequencies(4), PureLDP(epsilon))
    assert len(found.others) + len(found.left_out) == 8


@pytest.mark.parametrize(
    "make", [lambda: Workload.prefix(["a", "b", "c"]), lambda: 2 * Workload.frequencies(30)]
)
def test_a_saved_design_gives_the_same_estimates(make, tmp_path) -> None:
    best = design(make(), PureLDP("log(3)"))
    save_design(best, tmp_path / "design.json")
    again = load_design(tmp_path / "design.json")
    assert (again.value, again.bound) == (best.value, best.bound)
    answers = [best.workload.inputs[k % 3] for k in range(99)]
    draw = (
        type(best).privatize
        if isinstance(best, FrequencyDesign)
        else lambda d, x, rng: d.mechanism.sample(x, rng=rng)
    )
    reports = draw(best, answers, rng=1)
    assert np.array_equal(draw(again, answers, rng=1), reports)
    one = best.estimate(reports)
    other = again.estimate(reports)
    assert np.array_equal(one.values, other.values)
    assert one.labels == other.labels


@pytest.mark.parametrize("key", ["left_inverse", "names"])
def test_nothing_is_estimated_by_a_file_that_was_changed(key, tmp_path) -> None:
    best = design(Workload.prefix(["a", "b"]), PureLDP(1.0))
    path = tmp_path / "design.json"
    save_design(best, path)
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, key: data[key][::-1]}))
    with refused("changed-file", ModelFileError):
        load_design(path).estimate([0, 1] * 50)
    Survey({"q": best}).save(path)
    data = json.loads(path.read_text())
    data["questions"]["q"]["design"][key].reverse()
    path.write_text(json.dumps(data))
    with refused("changed-file", ModelFileError):
        Survey.load(path).estimate({"q": Counts.of(best, [0, 1] * 50)})


def test_facts() -> None:
    form = DesignForm(DesignProblem(Workload([[1, 0, 1, 0], [2, 0, 2, 0]]), PureLDP(1.0)))
    assert (form.rank, form.n, form.symmetries, form.is_exchangeable) == (1, 2, 2, False)
    assert DesignForm(DesignProblem(Workload.prefix(6), PureLDP(1.0))).symmetries == 2


def test_a_design_problem_reads_its_weights_by_label() -> None:
    workload = Workload.prefix(["a", "b"])
    assert DesignProblem(workload, PureLDP(1.0), {"b": 3, "a": 1}).weights.tolist() == [0.25, 0.75]
    assert DesignProblem(workload, PureLDP(1.0), [0.5, 0.5]).weights is None
    for wrong in ({"a": 1, "c": 2}, [0.5, 0.5, 0.5], [float("nan"), 1], [0, 0]):
        with pytest.raises(StatementError):
            DesignProblem(workload, PureLDP(1.0), wrong)
    with pytest.raises(StatementError, match="no weights"):
        DesignProblem(workload, PureLDP(1.0), [0.4, 0.6], "worst_case")
    assert DesignProblem([[1, 0]], PureLDP(1.0), [1, 3]).all_weights.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("workload", [Workload.prefix(3), Workload.frequencies(30)])
def test_the_file_of_a_design_has_title_epsilon_and_digest(workload, tmp_path) -> None:
    path = tmp_path / "design.json"
    best = design(workload, PureLDP("log(3)"))
    save_design(best, path, title="Income")
    data = json.loads(path.read_text())
    about = data["about"]
    assert (about["title"], about["digest"]) == ("Income", best.digest)
    assert about["epsilon"] == best.certificate.audit.epsilon
    assert about["made_by"].startswith("ldpopt ")
    for change in ("f" * 64, None, 3):
        path.write_text(json.dumps(data | {"about": about | {"digest": change}}))
        with pytest.raises(ModelFileError, match="digest"):
            load_design(path)
    path.write_text(json.dumps({key: value for key, value in data.items() if key != "about"}))
    assert load_design(path).digest == best.digest


@pytest.mark.parametrize(
    "workload",
    [
        Workload.prefix(range(thorough_or(4, 6))),
        *thorough_or([], [2 * Workload.frequencies(range(6))]),
    ],
)
def test_each_mechanism_has_the_influence_of_its_estimator(workload, monkeypatch) -> None:
    monkeypatch.setattr(literature, "STEPS", 10)  # the longest search is of another mechanism
    n = workload.shape[1]
    r = np.full(n, 1.0 / n)
    wanted = np.asarray(workload.matrix)
    spans = np.ptp(wanted, axis=1)

    def influence(channel):
        centered = channel - r @ channel
        information = (centered / (r @ channel)) @ centered.T / n
        # one eigenvalue is 0, or a rounding error that the default threshold may keep
        inverse = np.linalg.pinv(information, rcond=1e-12) @ (centered / (r @ channel)) / n
        values = wanted @ (inverse - inverse.mean(axis=0) + 1 / n)
        each = np.maximum(values.max(1) - wanted.min(1), wanted.max(1) - values.min(1))
        return (each[spans > 0] / spans[spans > 0]).max()

    protocols = {
        "randomized response": literature.randomized_response(n, 1.0),
        "unary encoding": literature.unary_encoding(n, 1.0),
        "local hashing": literature.local_hashing(n, 1.0),
    }
    found = compare_designs(workload, PureLDP(1.0))
    rows = {row.name: row for row in found.literature}
    for name, protocol in protocols.items():
        assert rows[name].influence == pytest.approx(influence(protocol.channel)), name
    assert rows["hierarchy"].influence == pytest.approx(influence(literature.hierarchy(n, 1.0)))
    frame = found.to_frame()
    assert frame.loc["optimum", "influence"] == found.best.influence.most_people
    assert found.to_dict()["influence"] == found.best.influence.most_people
    assert "influence" in found.summary()
    mine = Mechanism(protocols["randomized response"].channel, workload.inputs)
    for how in ({}, {"weights": np.arange(1.0, n + 1)}, {"objective": "worst_case"}):
        # a square channel has one unbiased estimator
        own = compare_designs(workload, PureLDP(1.0), others={"mine": mine}, **how).own[0]
        assert own.influence == pytest.approx(rows["randomized response"].influence)
