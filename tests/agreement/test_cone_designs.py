"""Designs under notions that are lists of comparisons, against values of other programs."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

import ldpopt_check as checker
from builders import notions_of_averages, refused, sample_or_all, thorough_or
from ldpopt import (
    PML,
    ColumnCone,
    GraphDP,
    InformationPrivacy,
    MetricDP,
    OddsBound,
    OneSided,
    PairwiseLDP,
    PureLDP,
    Secrets,
    UtilityOptimizedLDP,
    Workload,
    design,
)
from ldpopt.designing.record import Design
from ldpopt.errors import NotRepresentableError
from ldpopt.privacy.cones.rays import rays_of
from tampering import with_digest

PRIOR = {0: 4, 1: 3, 2: 2, 3: 1}
SECRETS = {"ill": [0.6, 0.2, 0.1, 0.1], "well": [0.1, 0.2, 0.3, 0.4]}
CASES = {
    "PML .2": (PML(0.2, PRIOR), 4.013624),
    "LIP .5": (InformationPrivacy(0.5, PRIOR), 2.635930),
    "two notions": (PureLDP(1.5) & GraphDP(0.7, nx.path_graph(4)), 2.578528),
    "PML 1": (PML(1.0, PRIOR), 0.220682),
    "secrets": (Secrets(0.5, SECRETS), 0.399229),
}


def of_a_conic_solver(privacy, n):
    """Sum of the variances of all frequencies with equal weights, over all rays."""
    import cvxpy as cp

    rays = rays_of(privacy, range(n)).columns.vectors
    theta = cp.Variable(len(rays), nonneg=True)
    moments = np.stack([np.outer(c, c) / c.mean() for c in rays]).reshape(len(rays), -1)
    information = cp.reshape(theta @ moments, (n, n), order="C")
    errors = cp.sum([cp.matrix_frac(axis, information) for axis in np.eye(n)])
    program = cp.Problem(cp.Minimize(errors), [theta @ rays == 1])
    return float(program.solve(solver="CLARABEL")) - 1


@pytest.mark.parametrize("case", sample_or_all(CASES, 2))
def test_frequencies(case):
    """The values are of a program apart from the library, for each number on average."""
    privacy, value = CASES[case]
    best = design(Workload.frequencies(4), privacy)
    assert abs(best.value / 4 - value) < 1e-6
    assert best.relative_gap < 1e-6
    assert best.certificate.audit.verdict == "certified"
    assert best.value == pytest.approx(of_a_conic_solver(privacy, 4), rel=1e-5)


def response(n, s, a):
    """Channel of Murakami and Kawamoto (2019): randomized response over the sensitive answers, and
    a report of its own for each other answer."""
    t = s + a - 1
    channel = np.zeros((n, n))
    channel[:, :s] = 1 / t
    channel[range(n), range(n)] = [a / t if x < s else (a - 1) / t for x in range(n)]
    return channel


def variance_of(channel):
    """Sum of the variances of the best linear estimates of the frequencies at equal weights."""
    mean = channel.mean(axis=0)
    information = (channel / mean) @ channel.T
    return np.trace(np.linalg.inv(information)) - 1


@pytest.mark.parametrize(
    ("n", "s", "epsilon", "value", "is_optimal"),
    [
        (6, 2, "1", 2.617316130908, True),
        (5, 4, "log(1.9)", 21.818458, False),
        (5, 4, "log(2.1)", 15.735537, True),
        (5, 4, "log(3)", 6.2, True),
    ],
)
def test_utility_optimized_designs(n, s, epsilon, value, is_optimal):
    """Below ``a = 2`` pairs of the four sensitive answers beat the response of single ones."""
    notion = UtilityOptimizedLDP(epsilon, range(s))
    best = design(Workload.frequencies(n), notion, gap=1e-9)
    assert best.value == pytest.approx(value, abs=1e-6)
    assert best.relative_gap < 1e-9
    assert best.mechanism.audit(notion).verdict == "certified"
    plain = variance_of(response(n, s, np.exp(float(notion.epsilon))))
    assert (best.value > plain * (1 - 1e-8)) == is_optimal
    if not is_optimal:
        assert abs(plain - 21.925926) < 1e-6


def test_reports_of_one_answer_have_its_label():
    """The labels say which reports the notion protects; a file has masses only."""
    best = design(Workload.frequencies(list("abc")), UtilityOptimizedLDP("log(3)", ["a"]))
    outputs = best.mechanism.outputs
    for y, column in zip(outputs, best.mechanism.channel.T, strict=True):
        givers = [x for x, mass in zip("abc", column, strict=True) if mass]
        assert givers == [y] if y in ("b", "c") else givers == list("abc")
    assert {"b", "c"} <= set(outputs)


BOUNDS = ColumnCone(
    [
        OddsBound({0: 1, 1: 1}, {2: 1, 3: 2}, 1.0),
        OddsBound({2: 1}, {0: 1}, "log(2)"),
        OddsBound({3: 1}, {1: 1}, "log(2)"),
        OddsBound({1: 1}, {2: 1}, 2.0),
        OddsBound({0: 1}, {1: 1}, 2.0),
    ]
)
PRIVACIES = {name: privacy for name, (privacy, _) in CASES.items()} | {
    "prior of the weights": PML(0.7),
    "bounds": BOUNDS,
    "units": UtilityOptimizedLDP("log(3)", [0, 2]),
    "pairs": PairwiseLDP.of_answers({0: 0.5, 1: 1, 2: 2, 3: 3}),
    "units and prior": UtilityOptimizedLDP("log(3)", [0, 2]) & PML(1.2, PRIOR),
    "metric and one-sided": MetricDP(0.5, np.abs(np.subtract.outer(range(4), range(4))))
    & OneSided(2.0, [1, 3]),
}


OBJECTIVES = {name: ["average", "worst_case"] for name in PRIVACIES} | thorough_or(
    # one of each structure has both
    {name: ["average"] for name in ("LIP .5", "PML 1", "pairs", "units and prior")}
    | {name: ["worst_case"] for name in ("two notions", "metric and one-sided")},
    {},
)


@pytest.mark.parametrize(
    ("name", "objective"), [(name, each) for name in PRIVACIES for each in OBJECTIVES[name]]
)
def test_files_are_read_and_checked_again(name, objective, tmp_path):
    """By the library, and by the checker, which lists the rays by its own code."""
    privacy = PRIVACIES[name]
    if name == "prior of the weights" and objective == "worst_case":
        with refused("notion-prior"):
            design(Workload.prefix(4), privacy, objective=objective)
        return
    best = design(Workload.prefix(4), privacy, objective=objective)
    path = tmp_path / "design.json"
    best.save(path)
    read = Design.load(path)
    assert read.certificate.recheck() == ()
    assert read.mechanism.outputs == best.mechanism.outputs
    assert (read.value, read.bound) == (best.value, best.bound)
    _, bound, gap = checker.check(path)
    assert float(bound) == pytest.approx(best.bound, rel=1e-12)
    assert gap <= bound * 1e-6


@pytest.mark.parametrize(
    "name", ["units and prior", "bounds", *thorough_or([], ["two notions", "secrets"])]
)
def test_a_changed_file_is_refused(name, tmp_path):
    """A budget that is a little smaller, a mass that moved by one, a bound that is larger."""
    best = design(Workload.prefix(4), PRIVACIES[name])
    path = tmp_path / "design.json"
    best.save(path)
    plain = json.loads(path.read_text())
    del plain["about"]  # it would refuse most changes before anything is proved

    def smaller_budget(data):
        part = data["privacy"]
        part = part["notions"][0] if "notions" in part else part
        part = part["bounds"][1] if "bounds" in part else part
        assert isinstance(part["epsilon"], (float, str))
        part["epsilon"] = {1.5: 1.49999, 0.5: 0.49999, "log(3)": "log(2.999)"}.get(
            part["epsilon"], "log(1.9999)"
        )

    def larger_bound(data):
        above, below = (int(part) for part in data["bound"].split("/"))
        data["bound"] = data["achieved"] = f"{above * 1000 + above // 100}/{below * 1000}"

    def moved_mass(data):
        """From the largest to the smallest report of the answer that has it."""
        row = data["masses"][0]
        row[row.index(max(row))] -= 2**20
        row[row.index(min(row))] += 2**20

    def verdict(data):
        path.write_text(json.dumps(with_digest(data)))
        try:
            checker.check(path)
        except checker.ClaimError:
            return "refused"
        return "holds"

    assert verdict(plain) == "holds"
    for change in (smaller_budget, larger_bound, moved_mass):
        data = json.loads(json.dumps(plain))
        change(data)
        assert verdict(data) == "refused", change.__name__


@pytest.mark.parametrize("n", thorough_or([4, 5], [4, 6, 7]))
@pytest.mark.parametrize("name", notions_of_averages(3))
def test_the_checker_lists_as_many_rays(n, name):
    privacy = notions_of_averages(n)[name]
    table = {"kind": privacy.kind} | privacy.to_plain(range(n), explicit=True)
    notion = checker.averaged(table, checker.labels(list(range(n))), [], None)
    rays = {tuple(ray) for ray in checker.averaged_rays(notion)}
    assert len(rays) == len(rays_of(privacy, range(n)))


def test_the_prior_of_a_notion_is_the_weights():
    weights = {0: 1, 1: 2, 2: 3, 3: 4}
    work = Workload.frequencies(4)
    bound = design(work, PML(0.7), weights=weights)
    stated = design(work, PML(0.7, weights), weights=weights)
    assert bound.value == pytest.approx(stated.value, rel=1e-9)
    with refused("notion-prior"):
        design(work, PML(0.7), objective="worst_case")


def test_few_reports():
    """Joined reports stay within the comparisons; reports of one answer alone cannot be joined."""
    best = design(Workload.frequencies(4), InformationPrivacy(0.5, PRIOR), outputs=4)
    assert len(best.mechanism.outputs) == 4
    assert best.certificate.audit.verdict == "certified"
    assert best.value >= 4 * 2.635930 - 1e-5
    with refused("unit-outputs"):
        design(Workload.frequencies(3), UtilityOptimizedLDP(1.0, [0]), outputs=3)


def test_a_notion_on_sums_over_reports_is_refused():
    from ldpopt import ApproximateLDP

    with refused("no-cone", NotRepresentableError):
        design(Workload.frequencies(4), ApproximateLDP(1.0, 0.1))
