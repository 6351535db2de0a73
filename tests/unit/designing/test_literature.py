"""Mechanisms of the literature are private channels, and none of them is better than the design."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from builders import refused
from ldpopt import PureLDP, Workload, design
from ldpopt.designing import literature
from ldpopt.designing.literature import factorization
from ldpopt.designing.realize import left_inverse
from ldpopt.errors import NotRepresentableError
from ldpopt.frequencies import LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding

N, EPSILON = 6, 1.0
WORKLOAD = Workload.prefix(N)
CHANNELS = {
    "randomized response": literature.randomized_response(N, EPSILON).channel,
    "subset selection": literature.subset_selection(N, EPSILON, 2).channel,
    "local hashing": literature.local_hashing(N, EPSILON).channel,
    "unary encoding": literature.unary_encoding(N, EPSILON).channel,
    "symmetric unary encoding": literature.unary_encoding(
        N, EPSILON, 1 / (1 + np.exp(-EPSILON / 2))
    ).channel,
    "Hadamard response in blocks": literature.hadamard_response(N, EPSILON, 2),
    "Hadamard response": literature.hadamard_response(N, EPSILON),
    "hierarchy": literature.hierarchy(N, EPSILON),
    "factorization": factorization(WORKLOAD, EPSILON, starts=2),
}


@pytest.fixture(scope="module")
def best():
    return design(WORKLOAD, PureLDP(EPSILON))


@pytest.mark.parametrize("name", CHANNELS)
def test_private_and_not_better(name, best):
    channel = CHANNELS[name]
    assert np.allclose(channel.sum(axis=1), 1)
    assert (channel.max(axis=0) <= np.exp(EPSILON) * channel.min(axis=0) * (1 + 1e-9)).all()
    assert literature.variance_of(WORKLOAD, channel) >= best.bound


def all_sets(n):
    """Indicators of all sets in the order of a channel: by size."""
    chosen = [part for size in range(n + 1) for part in combinations(range(n), size)]
    return np.array([[x in part for x in range(n)] for part in chosen], dtype=float)


def own_variance(channel, supported, p, q):
    """Total variance of a protocol's own estimator: ``(1 - q) / (p - q)`` for a supported answer,
    else less."""
    values = (supported - q) / (p - q)
    means = channel @ values
    assert np.allclose(means, np.eye(len(channel)), atol=1e-8)
    return np.sum(channel @ values**2 - means**2, axis=1)


@pytest.mark.parametrize("n, epsilon", [(3, 4.0), (4, 1.0), (6, 0.5), (9, 2.0)])
def test_channels_are_those_of_the_protocols(n, epsilon):
    """The protocols' own estimators have the variances of the protocols, and the best estimators
    are not worse."""
    frequencies = Workload.frequencies(n)
    selection = SubsetSelection(n, epsilon, size=2)
    truth = RandomizedResponse(n, epsilon)
    chosen = literature.subset_selection(n, epsilon, 2).channel
    # For these two their own estimators are the best.
    assert literature.variance_of(frequencies, chosen) == pytest.approx(
        float(selection.total_variance), rel=1e-9
    )
    found = literature.variance_of(frequencies, literature.randomized_response(n, epsilon).channel)
    assert found == pytest.approx(float(truth.total_variance), rel=1e-9)
    bits = UnaryEncoding(n, epsilon)
    channel = literature.unary_encoding(n, epsilon).channel
    assert own_variance(channel, all_sets(n), float(bits.p), float(bits.q)) == pytest.approx(
        float(bits.total_variance)
    )
    assert literature.variance_of(frequencies, channel) <= float(bits.total_variance)


@pytest.mark.parametrize(
    "n, epsilon, buckets", [(3, 4.0, None), (4, 1.0, 2), (6, 0.5, None), (5, 2.0, 20)]
)
def test_local_hashing_has_empty_buckets(n, epsilon, buckets):
    """They are reported too, without information: many buckets for few answers are not randomized
    response."""
    protocol = LocalHashing(n, epsilon, buckets=buckets)
    channel = literature.local_hashing(n, epsilon, buckets).channel
    # For an ideal hash, whose buckets collide with probability 1/g: the protocol's hash is pairwise
    # independent.
    found = own_variance(channel, all_sets(n), float(protocol.p), float(protocol.q))
    assert found == pytest.approx(float(protocol.total_variance), rel=1e-6)
    assert literature.variance_of(Workload.frequencies(n), channel) <= found.max()


@pytest.mark.parametrize("n", [2, 3, 6, 9])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_variances_without_a_channel_are_those_of_the_channel(n, epsilon):
    workload = Workload.prefix(n) + 3 * Workload.mean(np.arange(n) ** 2.0)
    diagonal = literature.centered_diagonal(workload)
    r = np.full(n, 1 / n)
    for protocol in (
        literature.subset_selection(n, epsilon, max(1, n // 2)),
        literature.randomized_response(n, epsilon),
        literature.unary_encoding(n, epsilon),
        literature.local_hashing(n, epsilon),
    ):
        estimator = workload.matrix @ left_inverse(protocol.channel, r)
        plain = protocol.channel @ (estimator**2).sum(axis=0) - (workload.matrix**2).sum(axis=0)
        assert protocol.variances(diagonal) == pytest.approx(plain, rel=1e-9)
        assert literature.variances_of(workload, protocol.channel, r) == pytest.approx(
            plain, rel=1e-9
        )


def test_hadamard_blocks_are_for_large_budgets():
    """One block is the scheme for small budgets; by the paper's rule there are about
    exp(epsilon)."""
    frequencies = Workload.frequencies(12)
    one = literature.hadamard_response(12, 4.0, 1)
    assert literature.hadamard_response(12, 0.5).shape == (12, 16)
    ruled = literature.hadamard_response(12, 4.0)
    assert ruled.shape == (12, 32)
    assert literature.variance_of(frequencies, ruled) < literature.variance_of(frequencies, one) / 8


def test_levels_of_a_hierarchy_are_equally_likely():
    """Of 5 answers it has levels of 2, 4 and 5 nodes."""
    channel = literature.hierarchy(5, 1.0)
    assert channel.shape[1] == 2 + 4 + 5
    assert channel[:, :2].sum(axis=1) == pytest.approx(1 / 3)
    assert (channel[0, :2] == channel[2, :2]).all()


def test_too_many_sets():
    protocol = literature.local_hashing(30, 1.0)
    with refused("many-sets", NotRepresentableError):
        _ = protocol.channel
