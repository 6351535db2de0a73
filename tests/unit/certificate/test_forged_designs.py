"""Forged designs of every kind, sealed with a digest of their own: `recheck` refuses each that claims too much."""

from __future__ import annotations

import json
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from ldpopt import GraphDP, MetricDP, OneSided, PureLDP, Workload, design, load_design, save_design
from ldpopt.certificate.design_value import with_first_row
from ldpopt.certificate.documents import digest_of
from ldpopt.certificate.frequency_certificate import FrequencyCertificate
from ldpopt.errors import LdpoptError

PURE = PureLDP(1.0)
LINE = np.abs(np.subtract.outer(np.arange(5), np.arange(5))).astype(float)

DESIGNS = {
    "frequencies": lambda: design(Workload.frequencies(5), PURE),
    "answers alike": lambda: design(Workload.frequencies(21), PURE, outputs=21, gap=0.1),
    "sets": lambda: design(Workload.prefix(6), PURE, weights=[1, 2, 3, 4, 5, 6]),
    "sets, worst case": lambda: design(Workload.prefix(6), PURE, objective="worst_case"),
    "classes": lambda: design(Workload([[1, 1, 0, 0, 2], [0, 0, 1, 1, 2]]), PURE),
    "elliptope": lambda: design(Workload.prefix(24), PURE, gap=1e-2),
    "elliptope, worst case": lambda: design(Workload.prefix(24), PURE, objective="worst_case", gap=5e-2),
    "product": lambda: design(Workload.marginals([3, 3, 3], 2), PURE, gap=5e-2),
    "product, worst case": lambda: design(Workload.marginals([2] * 5, 2), PURE, objective="worst_case", gap=5e-2),
    "mean": lambda: design(Workload.mean(range(25)), PURE, gap=1e-3),
    "mean, worst case": lambda: design(Workload.mean(range(25)), PURE, objective="worst_case", gap=1e-2),
    "graph": lambda: design(Workload.prefix(5), GraphDP(1.0, nx.path_graph(5))),
    "graph, worst case": lambda: design(Workload.prefix(5), GraphDP(1.0, nx.cycle_graph(5)), objective="worst_case"),
    "metric": lambda: design(Workload.ranges(5), MetricDP(0.5, LINE)),
    "one-sided": lambda: design(Workload.prefix(4), OneSided(1.0, [0, 1])),
}


@pytest.fixture(scope="module", params=sorted(DESIGNS))
def saved(request, tmp_path_factory):
    """A file of each kind as data, and its place."""
    path = tmp_path_factory.mktemp("forged") / "design.json"
    save_design(DESIGNS[request.param](), path)
    data = json.loads(path.read_text())
    del data["about"]
    return data, path


def refused(data, path, *, seal=True):
    """Whether it is refused in words, or a failure is named."""
    path.write_text(json.dumps({**data, "digest": digest_of(data)} if seal else data))
    try:
        return load_design(path).certificate.recheck() != ()
    except LdpoptError:
        return True


def test_a_saved_certificate_holds(saved):
    data, path = saved
    assert not refused(data, path)


def with_sums(left):
    """With the first row that the others leave."""
    return with_first_row(np.array(left)).tolist()


@pytest.mark.parametrize("share", [0.9, 1e-3, 1e-6])
def test_a_multiple_of_the_weights_in_every_column(share, saved):
    """The estimate of a proof by ``(1 + E)^-1 X`` does not see it, the one by ``W X`` is off by the share."""
    data, path = saved
    left, r = np.array(data["left_inverse"]), np.array(data["weights"]) / np.sum(data["weights"])
    forged = (left + share * r[:, None]).tolist()
    for inverse in (forged, with_sums(forged)):
        for more in (Fraction(1), 1 + Fraction(1, 10**9), Fraction(3, 2)):
            claim = {"achieved": str(Fraction(data["achieved"]) * more), "bias": str(Fraction(data["achieved"]))}
            assert refused({**data, "left_inverse": inverse, **claim}, path)


def test_other_estimators(saved):
    data, path = saved
    left = np.array(data["left_inverse"])
    rng = np.random.default_rng(0)
    others = [1.001 * left, 0 * left, left[:, ::-1], left + 1e-6 * rng.standard_normal(left.shape)]
    rows = np.flatnonzero(left.any(axis=1))
    swapped = left.copy()
    swapped[rows[:2]] = left[rows[1::-1]]
    others.append(swapped)
    for inverse in others:
        assert refused({**data, "left_inverse": inverse.tolist()}, path)
        assert refused({**data, "left_inverse": with_sums(inverse), "bias": "1000"}, path)
    bent = left.copy()
    bent[0, 0] = np.nextafter(bent[0, 0], np.inf)
    assert refused({**data, "left_inverse": bent.tolist()}, path)


def test_better_claims_are_refused(saved):
    data, path = saved
    achieved, bound = Fraction(data["achieved"]), Fraction(data["bound"])
    assert refused({**data, "achieved": str(achieved * (1 - Fraction(1, 10**12)))}, path)
    assert refused({**data, "bound": str(bound + (achieved - bound) / 2 + achieved / 10**9)}, path)
    assert refused({**data, "bias": "0"}, path) or data["bias"] == "0"
    assert refused({**data, "multipliers": {"kind": "none"}}, path)


def test_other_statements(saved):
    """Of another workload, other weights, another budget, or less private masses."""
    data, path = saved
    workload = np.array(data["workload"])
    constant = workload + np.arange(len(workload))[:, None]
    assert not refused({**data, "workload": constant.tolist()}, path)
    for other in (1.001 * workload, workload[:, ::-1], workload + np.eye(*workload.shape)):
        if not np.array_equal(other, workload):
            unlike = {**data, "workload": other.tolist()}
            # The same up to the order of answers or signs may be estimated as well.
            assert refused(unlike, path) or np.array_equal(other, workload[:, ::-1])
    privacy = data["privacy"]
    for epsilon in ("0.3", "1.5"):
        assert refused({**data, "privacy": {**privacy, "epsilon": epsilon}}, path)
    masses = np.array(data["masses"], dtype=object)
    masses[0, 0], masses[0, 1] = masses[0, 0] + masses[0, 1] - 1, 1
    assert refused({**data, "masses": masses.tolist()}, path)


def test_every_number_of_the_multipliers_counts(saved):
    data, path = saved
    proof = data["multipliers"]
    for key, value in proof.items():
        if key == "kind" or value is None or isinstance(value, dict):
            continue
        array = np.array(value, dtype=float)
        if not array.any():
            continue
        for factor in (1.01, 0.99):
            other = (factor * array).tolist()
            assert refused({**data, "multipliers": {**proof, key: other}}, path), key


def test_labels_names_and_title_are_bound_by_the_digest(saved):
    data, path = saved
    sealed = {**data, "digest": digest_of(data)}
    for key in ("inputs", "names"):
        assert len(data[key]) < 2 or refused({**sealed, key: data[key][::-1]}, path, seal=False)


def test_frequencies_of_many_answers_have_a_law_of_their_own(tmp_path):
    path = tmp_path / "design.json"
    save_design(design(Workload.frequencies(30), PURE), path)
    data = json.loads(path.read_text())
    del data["about"]
    assert isinstance(load_design(path).certificate, FrequencyCertificate)
    assert not refused(data, path)
    achieved, bound = Fraction(data["achieved"]), Fraction(data["bound"])
    proof = data["multipliers"]
    forged = [
        {"achieved": str(achieved * (1 - Fraction(1, 10**12)))},
        {"bound": str(bound + achieved / 10**9)},
        {"unit": 1.01},
        {"unit": 0.99},
        {"size": data["size"] + 1},
        {"mass": data["mass"] + 1},
        {"mass": data["mass"] - 2**30},
        {"privacy": {"kind": "pure", "epsilon": "1.1"}},
        {"privacy": {"kind": "pure", "epsilon": "0.9"}},
        {"inputs": list(range(29))},
        {"inputs": list(range(31))},
        {"multipliers": {"kind": "none"}},
        {"multipliers": {**proof, "level": 0.99 * proof["level"]}},
        {"multipliers": {**proof, "level": 1.01 * proof["level"]}},
        {"multipliers": {**proof, "eigenvalues": [0.0, 1.01 * proof["eigenvalues"][1]]}},
        {"multipliers": {**proof, "sizes": [5, 6]}},
        {"bound": "1e999999999"},
        {"objective": "worst_case"},
    ]
    for change in forged:
        assert refused({**data, **change}, path), change
