"""The best mechanisms of many priors: agreement with cold solves, proofs, the count of calls,
order, families and refusals."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import distances, random_problem, refused, thorough_or
from ldpopt import constraints
from ldpopt.errors import InfeasibleError, StatementError
from ldpopt.studies import BestOf, best_of, kept


def near(problem, count, spread, seed):
    """Problems whose priors are a factor of about ``1 + spread`` apart."""
    rng = np.random.default_rng(seed)
    priors = problem.prior * np.exp(spread * rng.normal(size=(count, len(problem.prior))))
    return [replace(problem, prior=prior / prior.sum()) for prior in priors]


ROW = constraints.linear(np.eye(6), upper=1.5, name="little truth")
FAMILIES = {
    "pure": random_problem(lo.PureLDP(1.0), 8, rng=1),
    "pure, a loss": random_problem(lo.PureLDP(2.0), 7, 5, rng=2, sense="loss"),
    "entry-wise": random_problem(lo.ApproximateLDP(1.0, 0.05, "entry"), 6, rng=3),
    "event-wise": random_problem(lo.ApproximateLDP(1.0, 0.05), 5, rng=4),
    "path": random_problem(lo.GraphDP(1.0, nx.path_graph(7)), 7, rng=5, sense="loss"),
    "metric": random_problem(lo.MetricDP(0.7, distances(range(6))), 6, rng=6),
    "one-sided": random_problem(lo.OneSided(1.0, sensitive=[0, 1]), 6, rng=7),
    "owned outputs": random_problem(lo.UtilityOptimizedLDP(1.0, sensitive=[0, 1]), 5, rng=8),
    "a prior of its own": random_problem(lo.PML(0.5), 4, rng=9),
    "side constraint": replace(random_problem(lo.PureLDP(1.0), 6, rng=10), constraints=[ROW]),
    "no privacy to speak of": random_problem(lo.PureLDP(30.0), 5, rng=11),
    "no budget": random_problem(lo.PureLDP(0.0), 5, rng=12),
}


@pytest.mark.parametrize("spread", thorough_or([0.05], [1e-3, 0.05, 1.0]))
@pytest.mark.parametrize("name", FAMILIES)
def test_values_are_those_of_cold_solves_and_every_one_is_proved(name, spread):
    problems = near(FAMILIES[name], 8, spread, 1)
    found = best_of(problems)
    cold = [lo.solve(problem).value for problem in problems]
    assert found.values.tolist() == pytest.approx(cold, rel=1e-9, abs=1e-12)
    assert len(found) == len(found.mechanisms) == 8
    for problem, proof in zip(problems, found.certificates, strict=True):
        assert proof.problem is problem
        assert proof.relative_gap <= 1e-9
        assert proof.recheck() == ()
        assert proof.mechanism.audit(problem.privacy).verdict == proof.audit.verdict == "certified"
    assert sum(found.solved) <= found.calls <= 16


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.6])
def test_a_hundred_near_priors_need_at_most_five_calls(epsilon):
    rng = np.random.default_rng(20)
    prior = rng.dirichlet(np.ones(20))
    problem = lo.Problem(prior, lo.Utility(rng.random((20, 20)), "gain"), lo.PureLDP(epsilon))
    found = best_of(near(problem, 100, 0.01, 3))
    assert found.calls <= 5
    assert found.relative_gaps.max() <= 1e-9
    assert ("solver calls", str(found.calls)) in found.facts().parts
    assert repr(found) == f"BestOf(100 problems, {found.calls} solver calls)"


def test_a_kept_mechanism_is_proved_as_long_as_its_multipliers_follow():
    """Both kinds of multipliers: a mechanism is proved only if it is as good as the optimum."""
    counts = {kept._Corner: [0, 0], kept._Face: [0, 0]}
    for seed in range(6):
        problem = random_problem(lo.PureLDP(1.0), 6, rng=seed)
        first = kept._Kept.of(lo.solve(problem))
        for spread in (0.01, 0.3):
            for other in near(problem, 5, spread, seed):
                is_best = float(other.prior @ first.values) >= (1 - 1e-9) * lo.solve(other).value
                for kind, count in counts.items():
                    proof = first.proof(other, 1e-9, kind)
                    assert proof is None or (is_best and proof.bound >= proof.achieved)
                    count[0] += is_best
                    count[1] += proof is not None
    for best, proved in counts.values():
        assert 10 < best < 60
        assert proved > best / 2


def test_the_order_of_the_problems_does_not_matter_within_the_gap():
    problems = near(FAMILIES["pure"], 20, 0.03, 2)
    order = np.random.default_rng(0).permutation(20)
    one, other = best_of(problems), best_of([problems[k] for k in order])
    assert other.values == pytest.approx(one.values[order], rel=2e-9)
    again = best_of(iter(problems))
    assert again.values.tolist() == one.values.tolist()
    assert again.solved == one.solved


def test_families_do_not_mix():
    pure, path = FAMILIES["pure"], FAMILIES["path"]
    others = [
        replace(pure, privacy=lo.PureLDP(1.5)),
        replace(pure, utility=lo.Utility(pure.utility.matrix + 1, "gain")),
        replace(pure, utility=lo.Utility(pure.utility.matrix, "loss")),
        lo.Problem(pure.prior, pure.utility.matrix, pure.privacy, inputs=range(1, 9)),
        replace(pure, constraints=[constraints.linear(np.eye(8), upper=1.0, name="a")]),
    ]
    family = kept._Family(pure)
    assert not any(family.has(other) for other in [*others, path])
    parts = near(pure, 6, 1e-4, 1), near(path, 6, 1e-4, 1)
    mixed = [part for pair in zip(*parts, strict=True) for part in pair]
    found = best_of([*mixed, *others])
    cold = [lo.solve(problem).value for problem in [*mixed, *others]]
    assert found.values.tolist() == pytest.approx(cold, rel=1e-9)
    assert sum(found.solved[:12]) <= 4
    assert all(found.solved[12:])


def test_equal_notions_of_different_objects_are_one_family():
    prior = np.full(5, 0.2)
    problems = [
        lo.Problem(prior, "absolute_error", lo.GraphDP(1.0, nx.path_graph(5))) for _ in range(2)
    ]
    assert kept._Family(problems[0]).has(problems[1])
    assert best_of(problems).solved == (True, False)


def test_worst_cases_and_unrelated_priors_are_solved():
    worst = replace(FAMILIES["pure"], prior=None, objective="worst_case")
    assert best_of([worst, worst]).solved == (True, True)
    rng = np.random.default_rng(5)
    problems = [replace(FAMILIES["pure"], prior=rng.dirichlet(np.ones(8))) for _ in range(40)]
    found = best_of(problems)
    assert found.calls <= 40 + 12
    assert found.relative_gaps.max() <= 1e-9


def test_a_larger_gap_accepts_more():
    problems = near(FAMILIES["pure"], 30, 0.4, 4)
    fine, rough = (best_of(problems, gap=gap) for gap in (1e-9, 0.05))
    assert rough.calls < fine.calls
    assert rough.relative_gaps.max() <= 0.05
    assert (rough.values >= 0.95 * fine.values).all()


@pytest.mark.parametrize(
    ("problems", "gap", "code"),
    [
        ([], 1e-9, "no-problems"),
        ([FAMILIES["pure"]], -1e-9, "gap"),
        ([FAMILIES["pure"]], 0.9, "gap"),
        ([FAMILIES["pure"]], float("nan"), "gap"),
    ],
)
def test_wrong_arguments_are_refused(problems, gap, code):
    with pytest.raises(StatementError) as caught:
        best_of(problems, gap=gap)
    assert caught.value.code in {code, "range", "real-number", "number"}


def test_what_is_no_problem_is_refused_with_its_place():
    for wrong in ([FAMILIES["pure"], "pure"], FAMILIES["pure"], 3):
        with pytest.raises(StatementError):
            best_of(wrong)
    with pytest.raises(StatementError, match="problem 1"):
        best_of([FAMILIES["pure"], lo.PureLDP(1.0)])


def test_a_problem_without_a_mechanism_names_its_place():
    rows = [
        constraints.linear(np.eye(6), lower=5.9, name="much"),
        constraints.linear(np.eye(6), upper=1.0, name="little"),
    ]
    impossible = replace(FAMILIES["side constraint"], constraints=rows)
    with refused("conflict", InfeasibleError) as caught:
        best_of([FAMILIES["side constraint"], impossible])
    assert "problem 1" in caught.value.where
    assert caught.value.solution.problem is impossible


def test_the_package_has_the_two_names():
    assert {BestOf, best_of} == {getattr(lo.studies, name) for name in lo.studies.__all__}
    with pytest.raises(AttributeError):
        _ = lo.studies.best


def test_a_result_is_a_sequence_of_certificates() -> None:
    problem = lo.Problem([0.4, 0.6], "identity", lo.PureLDP(1.0))
    found = best_of([problem, problem])
    assert list(found) == list(found.certificates)
    assert len(found) == 2
